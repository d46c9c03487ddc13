/* A cluster for tests: an authority, and identities as joining would leave them. */
#ifndef TEST_CLUSTER_H
#define TEST_CLUSTER_H
#include "base/mem.h"
#include "enrol/identity.h"
#include "net/pki.h"

#define CLUSTER_ID "0123456789abcdef0123456789abcdef"
#define CLUSTER_INCARNATION "1111111111111111aaaaaaaaaaaaaaaa"

struct cluster {
    struct pki_pair ca;
    uint8_t ticket_public[TICKET_KEY_PUBLIC], ticket_secret[TICKET_KEY_SECRET];
};

static inline void cluster_init(struct cluster *c)
{
    struct err err = {0};
    memset(c, 0, sizeof(*c));
    if (pki_ca_create(STR("test cluster"), 1, PKI_P256, &c->ca, &err) != 0) {
        fail_msg("%s", err.text);
    }
    ticket_key_new(c->ticket_public, c->ticket_secret);
}

static inline void cluster_done(struct cluster *c) { pki_pair_done(&c->ca); }

/* What dir of a member that has joined looks like. */
static inline void cluster_member(const struct cluster *c, const char *dir, const char *role,
                                  const char *name, struct identity *ret)
{
    struct err err = {0};
    struct pki_pair pair = {0};
    char cn[96], cert[IDENTITY_PATH_MAX], key[IDENTITY_PATH_MAX], ca[IDENTITY_PATH_MAX];
    identity_cn(role, name, cn, sizeof(cn));
    struct pki_leaf leaf = {.cn = str_of(cn), .sans = {STR("127.0.0.1")}, .n_sans = 1, .days = 1,
                            .server = true, .client = true};
    int rc = pki_leaf_create(&c->ca, PKI_P256, &leaf, &pair, &err);
    if (rc == 0) rc = identity_dir(dir, &err);
    if (rc == 0) rc = identity_path(dir, "node.crt", cert, &err);
    if (rc == 0) rc = identity_path(dir, "node.key", key, &err);
    if (rc == 0) rc = identity_path(dir, "ca.crt", ca, &err);
    if (rc == 0) rc = pki_pair_write(&pair, cert, key, &err);
    if (rc == 0) rc = pki_file_write(ca, str_of(c->ca.cert), 0644, &err);
    memset(ret, 0, sizeof(*ret));
    TEXT_SET(ret->role, str_of(role));
    TEXT_SET(ret->name, str_of(name));
    TEXT_SET(ret->cluster, STR(CLUSTER_ID));
    TEXT_SET(ret->incarnation, STR(CLUSTER_INCARNATION));
    memcpy(ret->ticket_key, c->ticket_public, sizeof(ret->ticket_key));
    if (rc == 0) rc = identity_save(dir, ret, &err);
    if (rc != 0) fail_msg("%s", err.text);
    pki_pair_done(&pair);
}

/* A ticket for session 1, attempt 1 that is good for a minute. */
static inline void cluster_ticket(const struct cluster *c, const char *node, const char *addr,
                                  enum ticket_action action, int64_t now_s,
                                  char ret[TICKET_TEXT_MAX])
{
    struct ticket t = {.session = 1, .attempt = 1, .action = action, .user = 1,
                       .exp_s = now_s + 60};
    TEXT_SET(t.node, str_of(node));
    TEXT_SET(t.addr, str_of(addr));
    TEXT_SET(t.cluster, STR(CLUSTER_ID));
    ticket_sign(&t, c->ticket_secret, ret);
}

#endif
