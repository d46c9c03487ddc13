/* core/sched/frontier.h - what a family is known not to start.
 *
 * A point says: no request of the family that asks at least so much cpu, memory and time
 * can start now (or can be dated at all).  It holds until a node is freed on which a
 * member at the point's corner fits; then it is woken, and true again if others took what
 * was freed before anybody asked.  Sessions of several roles on many nodes have no
 * amounts: a family is then one request.  docs/spec/scheduling.md, "One pass" */
#ifndef CORE_SCHED_FRONTIER_H
#define CORE_SCHED_FRONTIER_H
#include "core/model/world.h"

/* A pass begins: what was freed since the last one is taken in. */
void frontier_begin(struct world *w);
/* What was freed in the midst of a pass. */
void frontier_take(struct world *w);
/* It cannot start now. */
bool frontier_now(struct world *w, const struct queue_entry *e);
/* As frontier_now for those who must not change anything: false also means "not known". */
bool frontier_shut(const struct world *w, const struct queue_entry *e);
/* Sessions ahead that are promised room for ever, in order. */
struct endless { VEC(uint64_t) v; };
/* It cannot be dated, with these ahead. */
bool frontier_ever(struct world *w, const struct queue_entry *e, const struct endless *ahead);
/* What to remember of an entry (MARK_*), until something known of its family is taken back. */
uint32_t frontier_stamp(struct world *w, const struct queue_entry *e);
/* A search failed; `limit_ms` 0 when no promise played a part in that. */
void frontier_add_now(struct world *w, const struct queue_entry *e, int64_t limit_ms);
void frontier_add_ever(struct world *w, const struct queue_entry *e,
                       const struct endless *ahead);
/* Forgets all of it: everything is searched for again. */
void frontier_clear(struct world *w);

#endif
