/* cli/carry.h - one connection into a container: ticket, proxy, frames.
 *
 * The manager gives a ticket, the proxy takes it and passes bytes; nothing is
 * retried here.  docs/spec/node.md, "Carry" */
#ifndef CLI_CARRY_H
#define CLI_CARRY_H
#include "cli/api.h"
#include "wire/carry.h"

struct carry;

struct carry_ops {
    void (*on_open)(void *arg); /* the agent has answered; may be NULL */
    /* Set: what comes after the answer are no frames.  The connection is the receiver's,
     * paused, and the carry is to be freed.  Also called with NULL, for `ask` below. */
    void (*on_raw)(void *arg, struct net_conn *conn);
    void (*on_frame)(void *arg, enum carry_type type, struct str payload);
    void (*on_drain)(void *arg); /* after carry_send returned false; may be NULL */
    /* Over, once; not after carry_free.  code names the manager's problem when that is
     * what stopped it, "closed" an end in order, "" anything else. */
    void (*on_over)(void *arg, const char *code, const struct err *why);
};
struct carry_target {
    const char *session; /* "s17" */
    uint32_t member;
    const char *action;  /* as wire/ticket.h names them */
    const char *query;   /* "follow=1", or "" */
    bool ask;            /* whether there is a ticket, and no more: on_raw */
};
/* Never NULL; failures come by on_over. */
struct carry *carry_open(struct api *a, const struct carry_target *target,
                         const struct carry_ops *ops, void *arg);
void carry_free(struct carry *c); /* NULL is fine */
/* Splits what is longer than a frame.  False: wait for on_drain before more. */
bool carry_send(struct carry *c, enum carry_type type, struct str payload);
void carry_pause(struct carry *c); /* no frames until resumed */
void carry_resume(struct carry *c);

#endif
