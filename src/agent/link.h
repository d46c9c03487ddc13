/* agent/link.h - the conversation with the manager: all that is, for all that is wanted.
 *
 * Two requests may be under way: one is held by the manager until its wishes
 * change or 2 s are over (beat and poll at once); when something changes here a
 * second goes out and the manager answers the first.  Answers may be lost, late
 * or double: only the turn counts.  docs/spec/node.md, "Sync" */
#ifndef AGENT_LINK_H
#define AGENT_LINK_H
#include "agent/act.h"
#include "enrol/identity.h"
#include "net/loop.h"

struct meters;
struct tls_ctx;
struct link;

struct link_opts { /* texts and info are copied */
    const char *manager; /* "https://host:port"; "http://..." in tests */
    struct tls_ctx *tls; /* borrowed by reference; NULL in tests */
    struct identity identity;
    struct sync_info info;
    char boot_id[40];
    uint64_t epoch;  /* of this start of the agent: higher than any before */
    struct act *act;
    struct meters *meters; /* what is used; NULL: nothing is told of it */
    int64_t poll_ms;  /* 0: NODE_BEAT_MS */
    int64_t slack_ms; /* past the poll, before a call is given up; 0: 8 s */
    int64_t retry_ms; /* first pause after a failure, doubled up to 5 s; 0: 200 ms */
    /* The manager's store began anew: keep the identity.  May be NULL. */
    void (*on_incarnation)(void *arg, const struct identity *id);
    /* Operators' wishes for devices, in each answer until they are carried out.  May be NULL. */
    void (*on_orders)(void *arg, const struct sync_device_order *v, uint32_t n);
    void *arg;
};

struct link *link_new(struct net_loop *loop, const struct link_opts *o, struct err *err);
void link_free(struct link *s); /* NULL is fine */
/* The node is otherwise than it was said to be; nothing happens when it is not. */
void link_set_info(struct link *s, const struct sync_info *info);
/* Something changed here: act on it, tell the manager. */
void link_changed(struct link *s);

struct link_state { /* for people and tests */
    bool connected;      /* the last call was answered */
    uint64_t turn, seq;
    uint64_t answers, failures;
};
void link_state_get(const struct link *s, struct link_state *ret);

#endif
