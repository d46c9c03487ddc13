/* net/tls_impl.h - OpenSSL inside net/ alone. */
#ifndef NET_TLS_IMPL_H
#define NET_TLS_IMPL_H
#include <openssl/ssl.h>
#include "base/err.h"
#include "base/str.h"
#include "net/tls.h"

SSL_CTX *tls_ctx_ssl(const struct tls_ctx *t);
bool tls_ctx_checks_name(const struct tls_ctx *t);
/* Fills err from OpenSSL's queue and empties that. */
int tls_err(struct err *err, int code, const char *what);
/* Common name of a certificate; false if there is none or it does not fit. */
bool tls_common_name(X509 *cert, char *dst, size_t cap);
bool tls_cert_sha256(X509 *cert, uint8_t ret[TLS_FINGERPRINT_BYTES]);

#endif
