/* core/sched/preempt.h - which running sessions would have to go, and for what.
 *
 * Pure: decides, changes nothing.  Victims are preemptible, of strictly lower priority,
 * past the group's minimum runtime, in its scope, on nodes that fit the request.  No
 * victims when any placement exists without.  Limits are judged as if they were gone.  A
 * choice is returned only after a dry run of the very same placement with them gone has
 * succeeded; each victim is needed: given back one by one in reverse, the request would
 * no longer fit.  docs/spec/scheduling.md, "Preemption" */
#ifndef CORE_SCHED_PREEMPT_H
#define CORE_SCHED_PREEMPT_H
#include "core/model/world.h"
#include "core/sched/place.h"

struct preempt { /* zeroed is ready */
    VEC(uint64_t) victims;        /* ids, in the order of eviction */
    VEC(struct place_pick) picks; /* by member: where it will run once they are gone */
};
/* False: nobody may be made to go for it, or it would not help. */
/* The least priority among those of a group who run and are preemptible; INT32_MAX: none.
 * Who does not queue above it need not ask. */
int32_t preempt_floor(const struct world *w, uint32_t group);
bool preempt_decide(const struct world *w, const struct session *s, struct preempt *ret);
void preempt_done(struct preempt *p);

#endif
