/* enrol/join.h - becoming part of a cluster, once.
 *
 * A join token names a secret and the fingerprint of the cluster's authority:
 *
 *     rota-join-SECRET.SHA256-OF-THE-CA-IN-HEX
 *
 * so the first connection already knows whom to trust.  The key is made here and
 * stays; the manager signs it.  docs/spec/node.md, "Joining" */
#ifndef ENROL_JOIN_H
#define ENROL_JOIN_H
#include "enrol/identity.h"

struct net_loop;

struct join_opts {
    const char *dir;        /* where the identity is kept */
    const char *manager;    /* "https://host:port" */
    const char *token_file; /* NULL: only an identity that is there already will do */
    const char *role;       /* "agent", "proxy" */
    const char *name;
};

/* The identity of dir, joining first if there is none.  While the manager cannot be
 * reached it is asked again, for ever: a node may boot before its manager.  Runs
 * the loop.  An identity of another name or role is ERR_CONFLICT. */
int join_run(struct net_loop *loop, const struct join_opts *o, struct identity *ret,
             struct err *err);

/* Cuts a token into its parts; for tests. */
int join_token_parse(struct str token, uint8_t ret_ca_sha256[32], struct err *err);

#endif
