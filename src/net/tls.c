/* net/tls.c - see tls.h.
 *
 * Whether texts came from files or memory, they are loaded from memory by one
 * path.  No tickets and no session cache: each connection proves itself anew. */
#include "net/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>

#include "base/check.h"
#include "base/mem.h"
#include "net/pki.h"
#include "net/tls_impl.h"

enum { CHAIN_MAX = 16, CA_MAX = 64 };

struct text { /* where a PEM text comes from; both NULL: not given */
    char *file, *pem;
};

struct tls_ctx {
    uint32_t refs;
    SSL_CTX *ssl;
    bool server, client_required, allow_tls12, has_pin, skip_name;
    uint8_t pin[TLS_FINGERPRINT_BYTES];
    struct text cert, key, ca;
};

int tls_err(struct err *err, int code, const char *what)
{
    unsigned long e = ERR_peek_last_error();
    const char *reason = e != 0 ? ERR_reason_error_string(e) : NULL;
    ERR_clear_error();
    if (reason == NULL) return err_set(err, code, "%s", what);
    return err_set(err, code, "%s: %s", what, reason);
}

bool tls_common_name(X509 *cert, char *dst, size_t cap)
{
    X509_NAME *name = X509_get_subject_name(cert);
    int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
    if (at < 0) return false;
    unsigned char *utf8 = NULL;
    int n = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
    bool ok = n > 0 && text_set(dst, cap, str_n((const char *)utf8, (size_t)n));
    OPENSSL_free(utf8);
    return ok;
}

bool tls_cert_sha256(X509 *cert, uint8_t ret[TLS_FINGERPRINT_BYTES])
{
    unsigned n = 0;
    return X509_digest(cert, EVP_sha256(), ret, &n) == 1 && n == TLS_FINGERPRINT_BYTES;
}

/* ---- loading ---- */

static void text_init(struct text *t, const char *file, struct str pem)
{
    if (pem.n > 0) t->pem = mem_strndup(pem.p, pem.n);
    else if (file != NULL) t->file = mem_strndup(file, strlen(file));
}

static bool text_given(const struct text *t)
{
    return t->pem != NULL || t->file != NULL;
}

/* A reader over the text; NULL when the file does not read. */
static BIO *text_open(const struct text *t, char **hold, struct err *err)
{
    *hold = NULL;
    if (t->pem != NULL) return BIO_new_mem_buf(t->pem, -1);
    if (pki_file_read(t->file, hold, err) != 0) return NULL;
    return BIO_new_mem_buf(*hold, -1);
}

static int load_cert(SSL_CTX *ssl, const struct text *t, struct err *err)
{
    char *hold;
    BIO *bio = text_open(t, &hold, err);
    if (bio == NULL) return err != NULL ? err->code : ERR_IO;
    X509 *leaf = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    int rc = leaf != NULL && SSL_CTX_use_certificate(ssl, leaf) == 1 ? 0 : -1;
    X509_free(leaf);
    for (int i = 0; rc == 0 && i < CHAIN_MAX; i++) {
        X509 *more = PEM_read_bio_X509(bio, NULL, NULL, NULL);
        if (more == NULL) {
            ERR_clear_error(); /* the end of the text */
            break;
        }
        if (SSL_CTX_add0_chain_cert(ssl, more) != 1) {
            X509_free(more);
            rc = -1;
        }
    }
    BIO_free(bio);
    pki_key_free(hold);
    return rc == 0 ? 0 : tls_err(err, ERR_INVALID, "the certificate cannot be used");
}

static int load_key(SSL_CTX *ssl, const struct text *t, struct err *err)
{
    char *hold;
    BIO *bio = text_open(t, &hold, err);
    if (bio == NULL) return err != NULL ? err->code : ERR_IO;
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, "");
    int rc = key != NULL && SSL_CTX_use_PrivateKey(ssl, key) == 1 &&
             SSL_CTX_check_private_key(ssl) == 1 ? 0 : -1;
    EVP_PKEY_free(key);
    BIO_free(bio);
    pki_key_free(hold);
    return rc == 0 ? 0 : tls_err(err, ERR_INVALID, "the private key cannot be used");
}

static int load_ca(SSL_CTX *ssl, const struct text *t, bool server, struct err *err)
{
    char *hold;
    BIO *bio = text_open(t, &hold, err);
    if (bio == NULL) return err != NULL ? err->code : ERR_IO;
    X509_STORE *store = SSL_CTX_get_cert_store(ssl);
    int n = 0;
    for (; n < CA_MAX; n++) {
        X509 *ca = PEM_read_bio_X509(bio, NULL, NULL, NULL);
        if (ca == NULL) break;
        if (server) SSL_CTX_add_client_CA(ssl, ca);
        int ok = X509_STORE_add_cert(store, ca);
        X509_free(ca);
        if (ok != 1) break;
    }
    BIO_free(bio);
    pki_key_free(hold);
    if (n == 0) return tls_err(err, ERR_INVALID, "no CA certificate could be read");
    ERR_clear_error();
    return 0;
}

/* ---- pins ---- */

/* Trusts the pinned certificate alone and verifies the chain up to it. */
static int verify_below(X509_STORE_CTX *xs, X509 *pinned)
{
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *own = X509_STORE_CTX_new();
    int ok = 0;
    if (store != NULL && own != NULL && X509_STORE_add_cert(store, pinned) == 1 &&
        X509_STORE_CTX_init(own, store, X509_STORE_CTX_get0_cert(xs),
                            X509_STORE_CTX_get0_untrusted(xs)) == 1) {
        X509_VERIFY_PARAM_set1(X509_STORE_CTX_get0_param(own), X509_STORE_CTX_get0_param(xs));
        ok = X509_verify_cert(own) == 1;
        X509_STORE_CTX_set_error(xs, X509_STORE_CTX_get_error(own));
    }
    X509_STORE_CTX_free(own);
    X509_STORE_free(store);
    return ok;
}

static int verify_pin(X509_STORE_CTX *xs, void *arg)
{
    const struct tls_ctx *t = arg;
    uint8_t got[TLS_FINGERPRINT_BYTES];
    X509 *leaf = X509_STORE_CTX_get0_cert(xs);
    if (leaf != NULL && tls_cert_sha256(leaf, got) && memcmp(got, t->pin, sizeof(got)) == 0) {
        X509_STORE_CTX_set_error(xs, X509_V_OK);
        return 1;
    }
    STACK_OF(X509) *chain = X509_STORE_CTX_get0_untrusted(xs);
    for (int i = 0; i < sk_X509_num(chain); i++) {
        X509 *cert = sk_X509_value(chain, i);
        if (tls_cert_sha256(cert, got) && memcmp(got, t->pin, sizeof(got)) == 0)
            return verify_below(xs, cert);
    }
    X509_STORE_CTX_set_error(xs, X509_V_ERR_CERT_UNTRUSTED);
    return 0;
}

/* ---- contexts ---- */

static int build_trust(struct tls_ctx *t, SSL_CTX *ssl, struct err *err)
{
    if (text_given(&t->ca)) {
        int rc = load_ca(ssl, &t->ca, t->server, err);
        if (rc != 0) return rc;
    } else if (!t->server && !t->has_pin) {
        SSL_CTX_set_default_verify_paths(ssl);
    }
    int mode = SSL_VERIFY_NONE;
    if (!t->server) mode = SSL_VERIFY_PEER;
    else if (text_given(&t->ca)) mode = SSL_VERIFY_PEER;
    if (t->server && t->client_required) mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    SSL_CTX_set_verify(ssl, mode, NULL);
    if (t->has_pin) SSL_CTX_set_cert_verify_callback(ssl, verify_pin, t);
    return 0;
}

static int build(struct tls_ctx *t, SSL_CTX **ret, struct err *err)
{
    SSL_CTX *ssl = SSL_CTX_new(t->server ? TLS_server_method() : TLS_client_method());
    if (ssl == NULL) return tls_err(err, ERR_IO, "TLS cannot be set up");
    SSL_CTX_set_min_proto_version(ssl, t->allow_tls12 ? TLS1_2_VERSION : TLS1_3_VERSION);
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_num_tickets(ssl, 0);
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(ssl, 1); /* one read for a record's head and body */
    int rc = build_trust(t, ssl, err);
    if (rc == 0 && text_given(&t->cert)) {
        rc = load_cert(ssl, &t->cert, err);
        if (rc == 0) rc = load_key(ssl, &t->key, err);
    }
    if (rc != 0) {
        SSL_CTX_free(ssl);
        return rc;
    }
    *ret = ssl;
    return 0;
}

static struct tls_ctx *finish(struct tls_ctx *t, struct err *err)
{
    t->refs = 1;
    if (text_given(&t->cert) != text_given(&t->key)) {
        (void)err_set(err, ERR_INVALID, "a certificate needs its key, and a key its certificate");
    } else if (build(t, &t->ssl, err) == 0) {
        return t;
    }
    tls_ctx_free(t);
    return NULL;
}

struct tls_ctx *tls_server_new(const struct tls_server_opts *o, struct err *err)
{
    struct tls_ctx *t = mem_alloc(sizeof(*t));
    t->server = true;
    t->client_required = o->client_required;
    t->allow_tls12 = o->allow_tls12;
    text_init(&t->cert, o->cert_file, o->cert_pem);
    text_init(&t->key, o->key_file, o->key_pem);
    text_init(&t->ca, o->client_ca_file, o->client_ca_pem);
    if (!text_given(&t->cert) || (o->client_required && !text_given(&t->ca))) {
        (void)err_set(err, ERR_INVALID, "a TLS server needs a certificate%s",
                      o->client_required ? " and a CA for its clients" : "");
        t->refs = 1;
        tls_ctx_free(t);
        return NULL;
    }
    return finish(t, err);
}

struct tls_ctx *tls_client_new(const struct tls_client_opts *o, struct err *err)
{
    struct tls_ctx *t = mem_alloc(sizeof(*t));
    t->allow_tls12 = o->allow_tls12;
    t->skip_name = o->skip_name;
    t->has_pin = o->has_pin;
    memcpy(t->pin, o->pin, sizeof(t->pin));
    text_init(&t->cert, o->cert_file, o->cert_pem);
    text_init(&t->key, o->key_file, o->key_pem);
    text_init(&t->ca, o->ca_file, o->ca_pem);
    return finish(t, err);
}

int tls_ctx_reload(struct tls_ctx *t, struct err *err)
{
    SSL_CTX *fresh;
    int rc = build(t, &fresh, err);
    if (rc != 0) return rc;
    SSL_CTX_free(t->ssl); /* running connections hold their own reference */
    t->ssl = fresh;
    return 0;
}

struct tls_ctx *tls_ctx_ref(struct tls_ctx *t)
{
    if (t != NULL) t->refs++;
    return t;
}

void tls_ctx_free(struct tls_ctx *t)
{
    if (t == NULL) return;
    CHECK(t->refs > 0);
    if (--t->refs > 0) return;
    SSL_CTX_free(t->ssl);
    mem_free(t->cert.file);
    mem_free(t->cert.pem);
    mem_free(t->ca.file);
    mem_free(t->ca.pem);
    mem_free(t->key.file);
    pki_key_free(t->key.pem);
    mem_free(t);
}

SSL_CTX *tls_ctx_ssl(const struct tls_ctx *t)
{
    return t->ssl;
}

bool tls_ctx_checks_name(const struct tls_ctx *t)
{
    return !t->skip_name;
}
