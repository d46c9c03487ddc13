/* manager/authority.c - making, keeping and using the cluster's keys. */
#include "manager/authority.h"
#include <errno.h>
#include <sodium.h>
#include <unistd.h>
#include "base/check.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "net/addr.h"

#define CA_DAYS (30 * 365)
#define LEAF_DAYS (10 * 365) /* made at each start */
#define PART_DAYS 90         /* of agents and proxies, who renew theirs in time */

static int open_ca(const char *dir, struct authority *a, struct err *err)
{
    char cert[512], key[512];
    text_fmt(cert, sizeof(cert), "%s/ca.crt", dir);
    text_fmt(key, sizeof(key), "%s/ca.key", dir);
    /* The key is written first: a certificate without its key cannot appear. */
    if (access(cert, F_OK) == 0) {
        int rc = pki_pair_read(cert, key, &a->ca, err);
        if (rc != 0) return err_prefix(err, "the cluster's CA");
    } else {
        int rc = pki_ca_create(STR("rota cluster"), CA_DAYS, PKI_P256, &a->ca, err);
        if (rc == 0) rc = pki_pair_write(&a->ca, cert, key, err);
        if (rc != 0) return err_prefix(err, "making the cluster's CA");
    }
    struct pki_info info;
    int rc = pki_cert_info(str_of(a->ca.cert), &info, err);
    if (rc != 0) return err_prefix(err, "%s", cert);
    pki_fingerprint_format(info.sha256, a->ca_sha256);
    return 0;
}

static int open_ticket_key(const char *dir, struct authority *a, struct err *err)
{
    char path[512];
    text_fmt(path, sizeof(path), "%s/ticket.key", dir);
    uint8_t public[TICKET_KEY_PUBLIC];
    if (access(path, F_OK) == 0) {
        char *text = NULL;
        int rc = pki_file_read(path, &text, err);
        if (rc != 0) return rc;
        size_t n = 0;
        bool ok = sodium_hex2bin(a->ticket_secret, sizeof(a->ticket_secret), text, strlen(text),
                                 "\n", &n, NULL) == 0 && n == sizeof(a->ticket_secret);
        pki_key_free(text);
        if (!ok) return err_set(err, ERR_CORRUPT, "%s is not a ticket key", path);
    } else {
        ticket_key_new(public, a->ticket_secret);
        char hex[2 * TICKET_KEY_SECRET + 2];
        sodium_bin2hex(hex, sizeof(hex), a->ticket_secret, sizeof(a->ticket_secret));
        hex[2 * TICKET_KEY_SECRET] = '\n';
        int rc = pki_file_write(path, str_n(hex, sizeof(hex) - 1), 0600, err);
        mem_zero_secret(hex, sizeof(hex));
        if (rc != 0) return rc;
    }
    if (crypto_sign_ed25519_sk_to_pk(public, a->ticket_secret) != 0)
        return err_set(err, ERR_CORRUPT, "%s is not a ticket key", path);
    ticket_key_format(public, a->ticket_key);
    return 0;
}

static void add_san(struct pki_leaf *leaf, struct str name)
{
    for (uint32_t i = 0; i < leaf->n_sans; i++)
        if (str_eq(leaf->sans[i], name)) return;
    if (name.n > 0 && leaf->n_sans < PKI_SANS_MAX) leaf->sans[leaf->n_sans++] = name;
}

static int make_server(const char *host, struct authority *a, struct err *err)
{
    struct pki_leaf leaf = {.cn = STR("manager"), .days = LEAF_DAYS, .server = true};
    add_san(&leaf, STR("localhost"));
    add_san(&leaf, STR("127.0.0.1"));
    add_san(&leaf, STR("::1"));
    char name[256] = "";
    if (gethostname(name, sizeof(name) - 1) == 0) add_san(&leaf, str_of(name));
    add_san(&leaf, str_of(host));
    struct pki_pair pair = {0};
    int rc = pki_leaf_create(&a->ca, PKI_P256, &leaf, &pair, err);
    if (rc != 0) return err_prefix(err, "the manager's certificate");
    /* Joining agents pin the CA, so the chain shows it. */
    struct strbuf chain;
    strbuf_init(&chain, 2 * PKI_PEM_MAX);
    strbuf_puts(&chain, pair.cert);
    strbuf_puts(&chain, a->ca.cert);
    mem_free(pair.cert);
    pair.cert = strbuf_steal(&chain);
    a->server = pair;
    return 0;
}

int authority_open(const char *dir, const char *host, struct authority *ret, struct err *err)
{
    if (sodium_init() < 0) return err_set(err, ERR_IO, "libsodium does not start");
    struct authority a = {0};
    int rc = open_ca(dir, &a, err);
    if (rc == 0) rc = open_ticket_key(dir, &a, err);
    if (rc == 0) rc = make_server(host, &a, err);
    if (rc != 0) {
        authority_done(&a);
        return rc;
    }
    *ret = a;
    mem_zero_secret(&a, sizeof(a));
    return 0;
}

void authority_done(struct authority *a)
{
    pki_pair_done(&a->ca);
    pki_pair_done(&a->server);
    mem_zero_secret(a, sizeof(*a));
}

int authority_sign(const struct authority *a, struct str csr, struct str cn, char **ret_cert,
                   struct err *err)
{
    struct pki_leaf leaf = {.cn = cn, .days = PART_DAYS, .server = true, .client = true};
    return pki_csr_sign(&a->ca, csr, &leaf, ret_cert, err);
}
