/* enrol/renew.h - a fresh certificate before the old one ends, in a running process.
 *
 * Asked for over a connection that the present certificate proves, with the same key, when
 * two thirds of its life are over.  The file is replaced whole and then on_renewed is called:
 * whoever holds TLS contexts made from it reloads them (tls_ctx_reload).  Until all that has
 * succeeded the old one serves.  docs/spec/node.md, "Joining" */
#ifndef ENROL_RENEW_H
#define ENROL_RENEW_H
#include "enrol/identity.h"
#include "net/loop.h"
#include "net/pki.h"

struct renew;

struct renew_opts {         /* texts are copied */
    const char *dir;        /* of the identity */
    const char *manager;    /* "https://host:port" */
    const struct identity *identity;
    int64_t retry_ms;       /* after a failure; 0: a minute */
    void (*on_renewed)(void *arg);
    void *arg;
};

struct renew *renew_new(struct net_loop *loop, const struct renew_opts *o, struct err *err);
void renew_free(struct renew *r); /* NULL is fine */

enum renew_state {
    RENEW_FRESH = 1, /* nothing to do yet */
    RENEW_DUE,
    RENEW_EARLY,     /* not valid yet by this machine's clock, which is behind */
    RENEW_OVER,      /* nobody takes it any more: only a join token helps */
};
/* Of a certificate at that second; in *ret_due_s, when it is due. */
enum renew_state renew_state_of(const struct pki_info *cert, int64_t now_s, int64_t *ret_due_s);

#endif
