/* net/tls.h - who may speak TLS with us, and how we know the other side.
 *
 * TLS 1.3 alone unless 1.2 is allowed.  Contexts are counted: whoever keeps one
 * takes a reference.  A reload changes new connections, never a running one. */
#ifndef NET_TLS_H
#define NET_TLS_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/str.h"

struct tls_ctx;

#define TLS_FINGERPRINT_BYTES 32

/* PEM text is given as a file name or in memory; memory wins. */
struct tls_server_opts {
    const char *cert_file, *key_file; /* certificate first, then its chain.  Append the CA's
                                       * own certificate where clients pin it */
    struct str cert_pem, key_pem;
    const char *client_ca_file;       /* client certificates that we accept; none: not asked */
    struct str client_ca_pem;
    bool client_required;             /* else asked for, and refused only when wrong */
    bool allow_tls12;
};
struct tls_ctx *tls_server_new(const struct tls_server_opts *o, struct err *err);

struct tls_client_opts {
    const char *ca_file;              /* neither CA nor pin: the system's CAs */
    struct str ca_pem;
    /* SHA-256 of a certificate (DER) in the server's chain, its own or its CA's.  A
     * pinned CA is then trusted for this connection; names are still checked for
     * a chain, and not for a pinned leaf. */
    bool has_pin;
    uint8_t pin[TLS_FINGERPRINT_BYTES];
    const char *cert_file, *key_file; /* our own certificate, if we have one */
    struct str cert_pem, key_pem;
    bool skip_name;                   /* any name in a valid chain will do */
    bool allow_tls12;
};
struct tls_ctx *tls_client_new(const struct tls_client_opts *o, struct err *err);

/* Reads the same files again; on failure the old ones stay in force. */
int tls_ctx_reload(struct tls_ctx *t, struct err *err);
struct tls_ctx *tls_ctx_ref(struct tls_ctx *t); /* NULL gives NULL */
void tls_ctx_free(struct tls_ctx *t);           /* drops one reference; NULL is fine */

#endif
