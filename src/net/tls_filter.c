/* net/tls_filter.c - TLS as a filter over a connection's socket; see conn_impl.h.
 *
 * An end without close_notify is a failure: a cut must never look like an end. */
#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <sys/socket.h>

#include "net/conn_impl.h"
#include "net/tls_impl.h"

int conn_tls_begin(struct net_conn *c, const char *name, struct err *err)
{
    SSL *ssl = SSL_new(tls_ctx_ssl(c->tls));
    if (ssl == NULL) return tls_err(err, ERR_IO, "TLS cannot be set up");
    if (c->server) {
        SSL_set_accept_state(ssl);
    } else {
        unsigned char ip[16];
        bool is_ip = inet_pton(AF_INET, name, ip) == 1 || inet_pton(AF_INET6, name, ip) == 1;
        bool is_name = !is_ip && name[0] != '\0' && name[0] != '/';
        bool check = tls_ctx_checks_name(c->tls);
        SSL_set_connect_state(ssl);
        if (is_name) SSL_set_tlsext_host_name(ssl, name);
        if (check && is_ip) X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name);
        if (check && is_name) SSL_set1_host(ssl, name);
        if (check && !is_ip && !is_name) {
            SSL_free(ssl);
            return err_set(err, ERR_INVALID, "TLS here needs the name that the certificate has");
        }
    }
    c->ssl = ssl;
    c->filter = &net_filter_tls;
    return 0;
}

/* What a call that did not succeed means. */
static int outcome(struct net_conn *c, int rc, const char *what)
{
    int saved = errno;
    c->want_write = false;
    switch (SSL_get_error(c->ssl, rc)) {
    case SSL_ERROR_WANT_READ:
        return NET_AGAIN;
    case SSL_ERROR_WANT_WRITE:
        c->want_write = true;
        return NET_AGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return NET_EOF;
    case SSL_ERROR_SYSCALL:
        ERR_clear_error();
        if (saved == 0 || rc == 0)
            (void)err_set(&c->err, ERR_IO, "%s: the peer went away without an end", what);
        else
            (void)err_sys(&c->err, ERR_IO, saved, "%s", what);
        return NET_FAIL;
    default:
        break;
    }
    long verify = SSL_get_verify_result(c->ssl);
    if (!SSL_is_init_finished(c->ssl) && verify != X509_V_OK) {
        ERR_clear_error();
        (void)err_set(&c->err, ERR_DENIED, "TLS: the peer's certificate is not accepted: %s",
                      X509_verify_cert_error_string(verify));
        return NET_FAIL;
    }
    (void)tls_err(&c->err, ERR_IO, what);
    return NET_FAIL;
}

static ssize_t filter_read(struct net_conn *c, char *p, size_t n)
{
    size_t got = 0;
    errno = 0;
    ERR_clear_error();
    int rc = SSL_read_ex(c->ssl, p, n, &got);
    if (rc == 1) return (ssize_t)got;
    return outcome(c, rc, "TLS read");
}

static ssize_t filter_write(struct net_conn *c, const char *p, size_t n)
{
    size_t put = 0;
    errno = 0;
    ERR_clear_error();
    int rc = SSL_write_ex(c->ssl, p, n, &put);
    if (rc == 1) return (ssize_t)put;
    int out = outcome(c, rc, "TLS write");
    if (out == NET_EOF) {
        (void)err_set(&c->err, ERR_IO, "TLS write: the peer has ended");
        return NET_FAIL;
    }
    return out;
}

static int filter_handshake(struct net_conn *c)
{
    if (SSL_get_fd(c->ssl) < 0) SSL_set_fd(c->ssl, c->fd);
    errno = 0;
    ERR_clear_error();
    int rc = SSL_do_handshake(c->ssl);
    if (rc != 1) {
        int out = outcome(c, rc, "TLS handshake");
        if (out != NET_EOF) return out;
        (void)err_set(&c->err, ERR_IO, "TLS handshake: the peer has ended");
        return NET_FAIL;
    }
    c->want_write = false;
    X509 *peer = SSL_get0_peer_certificate(c->ssl);
    if (peer != NULL && SSL_get_verify_result(c->ssl) == X509_V_OK)
        (void)tls_common_name(peer, c->cn, sizeof(c->cn));
    return 1;
}

static int filter_shutdown(struct net_conn *c)
{
    errno = 0;
    ERR_clear_error();
    int rc = SSL_shutdown(c->ssl);
    if (rc < 0 && outcome(c, rc, "TLS end") == NET_AGAIN && c->want_write) return NET_AGAIN;
    c->want_write = false;
    ERR_clear_error();
    (void)shutdown(c->fd, SHUT_WR);
    return 1;
}

static bool filter_pending(const struct net_conn *c)
{
    return SSL_has_pending(c->ssl) == 1 || (SSL_get_shutdown(c->ssl) & SSL_RECEIVED_SHUTDOWN) != 0;
}

static void filter_done(struct net_conn *c)
{
    SSL_free(c->ssl);
    c->ssl = NULL;
    c->filter = &net_filter_plain;
}

const struct net_filter net_filter_tls = {
    filter_read, filter_write, filter_handshake, filter_shutdown, filter_pending, filter_done,
};
