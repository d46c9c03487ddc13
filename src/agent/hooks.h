/* agent/hooks.h - the administrator's programs around each container of this node.
 *
 * The prolog runs before a container is made, the epilog when it is proved gone, and until
 * it has ended the devices are not free: the member is reported as stopping.  What owes an
 * epilog is written down before its prolog begins and taken back after the epilog, so an
 * agent that was restarted runs it (again), and a lock that the program inherits keeps
 * two from running at once.  An epilog that failed marks the node and is tried again each
 * minute; what it cleaned after is not held back by it, but gets no successor here before
 * it has passed.  docs/spec/node.md, "Prolog, epilog, health" */
#ifndef AGENT_HOOKS_H
#define AGENT_HOOKS_H
#include "core/model/node.h"
#include "core/nodeplan/plan.h"
#include "base/err.h"
#include "net/loop.h"

#define HOOKS_USER 64

struct hooks;

struct hooks_opts {
    const char *dir;            /* of the agent; absolute.  Records are in DIR/hooks */
    const char *prolog, *epilog; /* absolute, or "" */
    int64_t timeout_ms;         /* of each */
    int64_t retry_ms;           /* of an epilog that failed; 0: 60 s */
    void (*on_change)(void *arg); /* reports or the node's mark may be otherwise */
    void *arg;
};

/* Takes up what an earlier agent left. */
int hooks_open(struct net_loop *loop, const struct hooks_opts *o, struct hooks **ret,
               struct err *err);
void hooks_free(struct hooks *h); /* kills what runs: the next agent does it again */

/* The UUID of device `index`, for ROTA_GPUS. */
void hooks_set_uuid(struct hooks *h, uint32_t index, const char *uuid);

struct hooks_ask {
    struct member_ref ref;
    const char *user;
    uint32_t devices; /* mask */
};
/* May it be made now?  ERR_UNAVAILABLE: not yet, on_change says when to ask again; another
 * error: its prolog failed here, told once. */
int hooks_ready(struct hooks *h, const struct hooks_ask *ask, struct err *err);
void hooks_made(struct hooks *h, struct member_ref ref);

/* What the driver lists, sorted, and who is wished for: begins the epilogs that are due. */
void hooks_settle(struct hooks *h, const struct member_report *v, uint32_t n,
                  bool (*wanted)(const void *arg, struct member_ref ref), const void *arg);
/* Its devices are not free, whatever the driver says. */
bool hooks_holds(const struct hooks *h, struct member_ref ref);
/* One report for each that is held, sorted by ref; the caller frees the array. */
uint32_t hooks_list(const struct hooks *h, struct member_report **ret);
/* Why nothing new should come to this node: an epilog failed.  Or "". */
const char *hooks_mark(const struct hooks *h);

#endif
