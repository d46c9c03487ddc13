/* core/sched/plan.h - the future: when room comes free, and what is promised of it.
 *
 * A promise keeps named devices, cpu and memory on named nodes for a session from an
 * instant on for as long as its time limit says.  It is computed from the time limits of
 * what runs; what runs without a limit runs for ever and is never promised.  A session
 * past its limit still holds: it ends at now + 1 at the earliest.  Reservations
 * (model/reservation.h) take room as promises do, from all but their owner.
 *
 * Promises belong to the life of a manager; they are not stored.  Everything here is
 * exact: compare tests/unit/core/test_plan_*.  docs/spec/scheduling.md, "One pass" */
#ifndef CORE_SCHED_PLAN_H
#define CORE_SCHED_PLAN_H
#include "core/model/world.h"
#include "core/sched/place.h"

#define PLAN_NEVER INT64_MAX

struct promise {
    uint64_t session;
    int64_t at_ms, end_ms;    /* [at, end); end PLAN_NEVER: no limit */
    int64_t first_ms;         /* the first instant that it was ever promised */
    VEC(struct place_pick) picks; /* by member */
};

/* Brings the profile up to date with nodes whose rows, room or use changed (w->changed). */
void plan_sync(struct world *w);
/* Frees what hangs on the world. */
void plan_free(struct world *w);

/* The earliest instant >= now at which all members fit until their limit beside every
 * promise but its own, and where.  False: it cannot be dated; *ret_blocker names a session
 * without a time limit that stands in the way, or 0 (no set of nodes could hold it now). */
bool plan_earliest(const struct world *w, const struct session *s, struct promise *ret,
                   uint64_t *ret_blocker);
/* Keeps it; the session has none yet (CHECK).  The picks are moved, not copied. */
void plan_keep(struct world *w, struct promise *p);
/* Gives up the promise of a session; false: it had none. */
bool plan_drop(struct world *w, uint64_t session);
const struct promise *plan_of(const struct world *w, uint64_t session); /* NULL: none */
/* The next instant at which a promise is due or a reservation begins or ends. */
int64_t plan_next_ms(const struct world *w);

/* Whether anything at all is promised or reserved. */
bool plan_any(const struct world *w);
/* Whether a node carries promises, or a reservation: then place.h asks for its room in a window. */
bool plan_promised(const struct world *w, uint32_t node);
/* What of the node is free from now until `until_ms` (PLAN_NEVER: for ever) beside all
 * promises but those of `s` itself and reservations that `s` may use.  Free of the room is
 * the least over the window; devices are those free throughout. */
void plan_window(const struct world *w, uint32_t node, const struct session *s, int64_t until_ms,
                 struct room *ret);

/* ---- one node: bounds by which a pass knows that a look would be in vain (plan_node.c) */

/* The first instant at which the node could take a member of `s` (or all, on one node)
 * until its limit, beside all promises but its own; PLAN_NEVER: none. */
int64_t plan_when(const struct world *w, uint32_t node, const struct session *s);
/* The node has `need` free now; the first instant at which it has not, beside all promises. */
int64_t plan_until(const struct world *w, uint32_t node, const struct slots *need);
/* Whether it could have `need` free for `len_ms` (0: for ever) at any time, if promises
 * without an end were not kept. */
bool plan_ever(const struct world *w, uint32_t node, const struct slots *need, int64_t len_ms);

#endif
