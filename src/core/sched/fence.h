/* core/sched/fence.h - whom a blocked session holds back in a group that says stop.
 *
 * A blocked session fences the nodes that could host it at all, also while they
 * are full or silent; a session behind it is held back when it could use one of
 * these nodes.  Who can only use other nodes passes.  What could not run even if
 * all nodes were empty fences nothing: waiting for it would help nobody. */
#ifndef CORE_SCHED_FENCE_H
#define CORE_SCHED_FENCE_H
#include "core/model/world.h"
#include "core/sched/place.h"

struct fence { /* zeroed is ready */
    VEC(bool) nodes; /* by node index */
    uint32_t open;   /* nodes of the group outside of it */
    struct place scratch;
};
void fence_begin(struct fence *f, const struct world *w, uint32_t group);
void fence_add(struct fence *f, const struct world *w, const struct session *blocked);
bool fence_holds(const struct fence *f, const struct world *w, const struct session *s);
void fence_done(struct fence *f);

/* The blocked session ahead that holds `s` back, or NULL; `s` may be one that is not in the
 * queue yet.  By present facts, not by what the last pass remembered. */
const struct session *fence_blocker(const struct world *w, const struct session *s);

#endif
