/* core/sched/leaving.h - rooms as they will be once those who are leaving have left.
 *
 * Who is leaving: sessions that are stopping and did not outlast their grace, and rows of
 * attempts that are over.  Others may be added, to see what their leaving would give.
 * Beside everything that is promised to RESERVED sessions.  Pure. */
#ifndef CORE_SCHED_LEAVING_H
#define CORE_SCHED_LEAVING_H
#include "core/model/world.h"

struct gone { struct slots slots; uint32_t devices; };

struct leaving { /* zeroed is ready */
    VEC(struct gone) nodes; /* by node index */
    VEC(const struct session *) sessions; /* that end: they leave their limits as well */
};
/* Whether whoever holds the row is leaving. */
bool leaving_row(const struct world *w, const struct alloc *a);
void leaving_collect(struct leaving *l, const struct world *w);
void leaving_add(struct leaving *l, const struct world *w, const struct session *s);
/* The one that was added last, or any other. */
void leaving_remove(struct leaving *l, const struct world *w, const struct session *s);
/* Whether the row is among what leaves. */
bool leaving_has(const struct leaving *l, const struct world *w, const struct alloc *a);
void leaving_room(const struct leaving *l, const struct world *w, uint32_t at, struct room *ret);
/* By how much the node's rows and promises exceed its capacity even then: a room shows 0. */
int64_t leaving_overdrawn(const struct leaving *l, const struct world *w, uint32_t at,
                          enum slot_kind k);
void leaving_done(struct leaving *l);

#endif
