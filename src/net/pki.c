/* net/pki.c - keys, requests and certificates; see pki.h.
 *
 * A certificate says only what struct pki_leaf says: of a request nothing is used
 * but its key, and that only after the request's own signature was checked. */
#include "net/pki.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "net/tls_impl.h"

enum { DAYS_MAX = 36500, BACKDATE_S = 300 /* clocks of a cluster differ a little */ };

void pki_key_free(char *key_pem)
{
    if (key_pem == NULL) return;
    mem_zero_secret(key_pem, strlen(key_pem));
    mem_free(key_pem);
}

void pki_pair_done(struct pki_pair *p)
{
    mem_free(p->cert);
    pki_key_free(p->key);
    *p = (struct pki_pair){0};
}

/* ---- PEM ---- */

static char *bio_text(BIO *bio)
{
    char *p = NULL;
    long n = BIO_get_mem_data(bio, &p);
    return n > 0 ? mem_strndup(p, (size_t)n) : NULL;
}

static char *key_to_pem(EVP_PKEY *key)
{
    BIO *bio = BIO_new(BIO_s_secmem());
    char *text = NULL;
    if (bio != NULL && PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1)
        text = bio_text(bio);
    BIO_free(bio);
    return text;
}

static char *cert_to_pem(X509 *cert)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    if (bio != NULL && PEM_write_bio_X509(bio, cert) == 1) text = bio_text(bio);
    BIO_free(bio);
    return text;
}

static BIO *open_text(struct str pem)
{
    return pem.n > 0 && pem.n <= PKI_PEM_MAX ? BIO_new_mem_buf(pem.p, (int)pem.n) : NULL;
}

static EVP_PKEY *key_from_pem(const char *pem)
{
    BIO *bio = open_text(str_of(pem));
    EVP_PKEY *key = bio != NULL ? PEM_read_bio_PrivateKey(bio, NULL, NULL, "") : NULL;
    BIO_free(bio);
    return key;
}

static X509 *cert_from_pem(struct str pem)
{
    BIO *bio = open_text(pem);
    X509 *cert = bio != NULL ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    BIO_free(bio);
    return cert;
}

/* ---- keys ---- */

static EVP_PKEY *make_key(enum pki_alg alg)
{
    if (alg == PKI_ED25519) return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    return EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
}

/* Ed25519 hashes by itself. */
static const EVP_MD *digest_for(EVP_PKEY *key)
{
    return EVP_PKEY_is_a(key, "ED25519") ? NULL : EVP_sha256();
}

int pki_key_new(enum pki_alg alg, char **ret_key, struct err *err)
{
    EVP_PKEY *key = make_key(alg);
    char *pem = key != NULL ? key_to_pem(key) : NULL;
    EVP_PKEY_free(key);
    if (pem == NULL) return tls_err(err, ERR_IO, "no key could be made");
    *ret_key = pem;
    return 0;
}

/* ---- certificates ---- */

static bool set_name(X509_NAME *name, struct str cn)
{
    return cn.n > 0 && cn.n <= PKI_CN_MAX && str_is_utf8(cn) &&
           X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8,
                                      (const unsigned char *)cn.p, (int)cn.n, -1, 0) == 1;
}

static bool add_ext(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    bool ok = ext != NULL && X509_add_ext(cert, ext, -1) == 1;
    X509_EXTENSION_free(ext);
    return ok;
}

/* Version, a random serial of 127 bits, and the lifetime. */
static X509 *cert_blank(uint32_t days, uint32_t seconds)
{
    unsigned char serial[16];
    X509 *cert = X509_new();
    BIGNUM *bn = NULL;
    bool ok = cert != NULL && RAND_bytes(serial, sizeof(serial)) == 1;
    if (ok) {
        serial[0] &= 0x7f;
        bn = BN_bin2bn(serial, sizeof(serial), NULL);
        ok = bn != NULL && BN_to_ASN1_INTEGER(bn, X509_get_serialNumber(cert)) != NULL &&
             X509_set_version(cert, X509_VERSION_3) == 1 &&
             X509_gmtime_adj(X509_getm_notBefore(cert), -BACKDATE_S) != NULL &&
             X509_time_adj_ex(X509_getm_notAfter(cert), (int)days, (long)seconds, NULL) != NULL;
    }
    BN_free(bn);
    if (ok) return cert;
    X509_free(cert);
    return NULL;
}

int pki_ca_create(struct str cn, uint32_t days, enum pki_alg alg, struct pki_pair *ret,
                  struct err *err)
{
    if (days == 0 || days > DAYS_MAX) return err_set(err, ERR_INVALID, "days: 1 to %d", DAYS_MAX);
    EVP_PKEY *key = make_key(alg);
    X509 *cert = cert_blank(days, 0);
    struct pki_pair p = {0};
    if (key != NULL && cert != NULL && set_name(X509_get_subject_name(cert), cn) &&
        X509_set_issuer_name(cert, X509_get_subject_name(cert)) == 1 &&
        X509_set_pubkey(cert, key) == 1 &&
        add_ext(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
        add_ext(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign") &&
        add_ext(cert, cert, NID_subject_key_identifier, "hash") &&
        X509_sign(cert, key, digest_for(key)) > 0) {
        p.cert = cert_to_pem(cert);
        p.key = key_to_pem(key);
    }
    X509_free(cert);
    EVP_PKEY_free(key);
    if (p.cert == NULL || p.key == NULL) {
        pki_pair_done(&p);
        return tls_err(err, ERR_INVALID, "the CA could not be made");
    }
    *ret = p;
    return 0;
}

int pki_csr_new(const char *key_pem, struct str cn, char **ret_csr, struct err *err)
{
    EVP_PKEY *key = key_from_pem(key_pem);
    X509_REQ *req = X509_REQ_new();
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    if (key != NULL && req != NULL && bio != NULL && X509_REQ_set_version(req, 0) == 1 &&
        set_name(X509_REQ_get_subject_name(req), cn) && X509_REQ_set_pubkey(req, key) == 1 &&
        X509_REQ_sign(req, key, digest_for(key)) > 0 && PEM_write_bio_X509_REQ(bio, req) == 1)
        text = bio_text(bio);
    BIO_free(bio);
    X509_REQ_free(req);
    EVP_PKEY_free(key);
    if (text == NULL) return tls_err(err, ERR_INVALID, "the signing request could not be made");
    *ret_csr = text;
    return 0;
}

/* DNS and IP names, built as values: nothing of them is parsed as configuration. */
static bool add_sans(X509 *cert, const struct pki_leaf *leaf)
{
    if (leaf->n_sans == 0) return true;
    GENERAL_NAMES *names = GENERAL_NAMES_new();
    bool ok = names != NULL;
    for (uint32_t i = 0; ok && i < leaf->n_sans; i++) {
        char text[256];
        unsigned char ip[16];
        GENERAL_NAME *g = GENERAL_NAME_new();
        ok = g != NULL && TEXT_SET(text, leaf->sans[i]) && text[0] != '\0';
        int ip_n = ok && inet_pton(AF_INET, text, ip) == 1 ? 4 : 0;
        if (ok && ip_n == 0 && inet_pton(AF_INET6, text, ip) == 1) ip_n = 16;
        ASN1_STRING *s = ip_n > 0 ? (ASN1_STRING *)ASN1_OCTET_STRING_new()
                                  : (ASN1_STRING *)ASN1_IA5STRING_new();
        ok = ok && s != NULL &&
             ASN1_STRING_set(s, ip_n > 0 ? (const void *)ip : text,
                             ip_n > 0 ? ip_n : (int)strlen(text)) == 1;
        if (!ok) {
            ASN1_STRING_free(s);
            GENERAL_NAME_free(g);
            break;
        }
        GENERAL_NAME_set0_value(g, ip_n > 0 ? GEN_IPADD : GEN_DNS, s);
        ok = sk_GENERAL_NAME_push(names, g) > 0;
        if (!ok) GENERAL_NAME_free(g);
    }
    ok = ok && X509_add1_ext_i2d(cert, NID_subject_alt_name, names, 0, 0) == 1;
    GENERAL_NAMES_free(names);
    return ok;
}

static const char *usage_of(const struct pki_leaf *leaf)
{
    if (leaf->server) return leaf->client ? "serverAuth,clientAuth" : "serverAuth";
    return "clientAuth";
}

/* The CA's certificate and key as objects; both or an error. */
static int open_ca(const struct pki_pair *ca, X509 **ret_cert, EVP_PKEY **ret_key, struct err *err)
{
    X509 *cert = cert_from_pem(str_of(ca->cert));
    EVP_PKEY *key = key_from_pem(ca->key);
    if (cert != NULL && key != NULL && X509_check_ca(cert) > 0 &&
        X509_check_private_key(cert, key) == 1) {
        *ret_cert = cert;
        *ret_key = key;
        return 0;
    }
    X509_free(cert);
    EVP_PKEY_free(key);
    return tls_err(err, ERR_INVALID, "this is no CA with its key");
}

static int sign_leaf(const struct pki_pair *ca, EVP_PKEY *subject, const struct pki_leaf *leaf,
                     char **ret_cert, struct err *err)
{
    CHECK(leaf->n_sans <= PKI_SANS_MAX);
    if ((leaf->days == 0 && leaf->seconds == 0) || leaf->days > DAYS_MAX ||
        (!leaf->server && !leaf->client))
        return err_set(err, ERR_INVALID, "a certificate needs a lifetime and a use");
    X509 *ca_cert = NULL;
    EVP_PKEY *ca_key = NULL;
    int rc = open_ca(ca, &ca_cert, &ca_key, err);
    if (rc != 0) return rc;
    X509 *cert = cert_blank(leaf->days, leaf->seconds);
    char *text = NULL;
    if (cert != NULL && set_name(X509_get_subject_name(cert), leaf->cn) &&
        X509_set_issuer_name(cert, X509_get_subject_name(ca_cert)) == 1 &&
        X509_set_pubkey(cert, subject) == 1 &&
        add_ext(cert, ca_cert, NID_basic_constraints, "critical,CA:FALSE") &&
        add_ext(cert, ca_cert, NID_key_usage, "critical,digitalSignature") &&
        add_ext(cert, ca_cert, NID_ext_key_usage, usage_of(leaf)) &&
        add_ext(cert, ca_cert, NID_subject_key_identifier, "hash") &&
        add_ext(cert, ca_cert, NID_authority_key_identifier, "keyid") && add_sans(cert, leaf) &&
        X509_sign(cert, ca_key, digest_for(ca_key)) > 0)
        text = cert_to_pem(cert);
    X509_free(cert);
    X509_free(ca_cert);
    EVP_PKEY_free(ca_key);
    if (text == NULL) return tls_err(err, ERR_INVALID, "the certificate could not be made");
    *ret_cert = text;
    return 0;
}

int pki_csr_sign(const struct pki_pair *ca, struct str csr_pem, const struct pki_leaf *leaf,
                 char **ret_cert, struct err *err)
{
    BIO *bio = open_text(csr_pem);
    X509_REQ *req = bio != NULL ? PEM_read_bio_X509_REQ(bio, NULL, NULL, NULL) : NULL;
    BIO_free(bio);
    EVP_PKEY *key = req != NULL ? X509_REQ_get0_pubkey(req) : NULL;
    int rc;
    if (key == NULL)
        rc = tls_err(err, ERR_INVALID, "this is no signing request");
    else if (X509_REQ_verify(req, key) != 1)
        rc = tls_err(err, ERR_DENIED, "the signing request is not signed by its own key");
    else
        rc = sign_leaf(ca, key, leaf, ret_cert, err);
    X509_REQ_free(req);
    return rc;
}

int pki_leaf_create(const struct pki_pair *ca, enum pki_alg alg, const struct pki_leaf *leaf,
                    struct pki_pair *ret, struct err *err)
{
    EVP_PKEY *key = make_key(alg);
    struct pki_pair p = {0};
    if (key != NULL) p.key = key_to_pem(key);
    int rc = p.key == NULL ? tls_err(err, ERR_IO, "no key could be made")
                           : sign_leaf(ca, key, leaf, &p.cert, err);
    EVP_PKEY_free(key);
    if (rc != 0) {
        pki_pair_done(&p);
        return rc;
    }
    *ret = p;
    return 0;
}

/* ---- facts ---- */

static bool asn1_seconds(const ASN1_TIME *t, int64_t *ret)
{
    struct tm tm;
    if (ASN1_TIME_to_tm(t, &tm) != 1) return false;
    *ret = (int64_t)timegm(&tm);
    return true;
}

int pki_cert_info(struct str cert_pem, struct pki_info *ret, struct err *err)
{
    struct pki_info info = {0};
    X509 *cert = cert_from_pem(cert_pem);
    bool ok = cert != NULL && asn1_seconds(X509_get0_notBefore(cert), &info.not_before) &&
              asn1_seconds(X509_get0_notAfter(cert), &info.not_after) &&
              tls_cert_sha256(cert, info.sha256);
    if (ok) {
        info.is_ca = X509_check_ca(cert) > 0;
        (void)tls_common_name(cert, info.cn, sizeof(info.cn));
    }
    X509_free(cert);
    if (!ok) return tls_err(err, ERR_INVALID, "this is no certificate");
    ERR_clear_error();
    *ret = info;
    return 0;
}

int pki_pair_check(const struct pki_pair *p, struct err *err)
{
    X509 *cert = p->cert != NULL ? cert_from_pem(str_of(p->cert)) : NULL;
    EVP_PKEY *key = p->key != NULL ? key_from_pem(p->key) : NULL;
    bool ok = cert != NULL && key != NULL && X509_check_private_key(cert, key) == 1;
    X509_free(cert);
    EVP_PKEY_free(key);
    return ok ? 0 : tls_err(err, ERR_INVALID, "the certificate and the key do not belong together");
}
