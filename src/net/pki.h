/* net/pki.h - the cluster's own certificate authority.
 *
 * Small and plain: P-256 or Ed25519 keys, certificates with one common name, DNS
 * and IP names, and a lifetime.  Everything is PEM text; private keys are wiped
 * from memory when freed and written with mode 0600. */
#ifndef NET_PKI_H
#define NET_PKI_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "base/str.h"

enum pki_alg { PKI_P256, PKI_ED25519 };

#define PKI_PEM_MAX (64 * 1024) /* longest PEM that is read */
#define PKI_CN_MAX 64
#define PKI_SANS_MAX 16

struct pki_pair { /* PEM, owned, terminated; zeroed is empty */
    char *cert, *key;
};
void pki_pair_done(struct pki_pair *p); /* wipes the key */
void pki_key_free(char *key_pem);       /* wipes; NULL is fine */

/* A self-signed CA: path length 0, signs certificates only. */
int pki_ca_create(struct str cn, uint32_t days, enum pki_alg alg, struct pki_pair *ret,
                  struct err *err);
int pki_key_new(enum pki_alg alg, char **ret_key, struct err *err);
/* A signing request for that key, signed by it. */
int pki_csr_new(const char *key_pem, struct str cn, char **ret_csr, struct err *err);

struct pki_leaf { /* what the certificate shall say; nothing is taken from the request
                   * but its key */
    struct str cn;
    struct str sans[PKI_SANS_MAX]; /* "node-1", "10.0.0.7", "::1" */
    uint32_t n_sans;
    uint32_t days, seconds; /* its life, together */
    bool server, client;
};
/* Checks the request's own signature, then signs. */
int pki_csr_sign(const struct pki_pair *ca, struct str csr_pem, const struct pki_leaf *leaf,
                 char **ret_cert, struct err *err);
/* Key, request and signature in one: for a service beside its CA. */
int pki_leaf_create(const struct pki_pair *ca, enum pki_alg alg, const struct pki_leaf *leaf,
                    struct pki_pair *ret, struct err *err);

struct pki_info {
    char cn[PKI_CN_MAX + 1];
    int64_t not_before, not_after; /* seconds since 1970 */
    bool is_ca;
    uint8_t sha256[32];            /* of the certificate (DER) */
};
int pki_cert_info(struct str cert_pem, struct pki_info *ret, struct err *err);
/* Do this certificate and this key belong together? */
int pki_pair_check(const struct pki_pair *p, struct err *err);

#define PKI_FINGERPRINT_TEXT 65 /* 64 hex digits and the end */
void pki_fingerprint_format(const uint8_t sha256[32], char dst[PKI_FINGERPRINT_TEXT]);
bool pki_fingerprint_parse(struct str hex, uint8_t ret[32]);

/* Written beside, synced, renamed over: never half a file.  mode as for open. */
int pki_file_write(const char *path, struct str text, uint32_t mode, struct err *err);
/* The whole file, terminated, at most PKI_PEM_MAX bytes; *ret is the caller's. */
int pki_file_read(const char *path, char **ret, struct err *err);
/* CERT and KEY paths; the key with mode 0600 and before the certificate. */
int pki_pair_write(const struct pki_pair *p, const char *cert_path, const char *key_path,
                   struct err *err);
int pki_pair_read(const char *cert_path, const char *key_path, struct pki_pair *ret,
                  struct err *err);

#endif
