/* core/sched/promise.h - the book of promises; what plan.h promises is written here.
 *
 * A promise is kept with the request that it was made for: what it holds does not
 * change when the session does. */
#ifndef CORE_SCHED_PROMISE_H
#define CORE_SCHED_PROMISE_H
#include "core/sched/plan.h"
#include "core/sched/timeline.h"

struct kept {
    struct promise p;
    uint32_t n_roles;
    struct role roles[SESSION_ROLES_MAX];
};
struct promises {
    VEC(struct kept) kept; /* by session */
};

/* Adds the promises on a node, but that of session `own`. */
void promise_gather(const struct world *w, uint32_t node, uint64_t own, struct timeline *ret);
void promise_done(struct promise *p);

#endif
