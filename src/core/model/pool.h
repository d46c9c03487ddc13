/* core/model/pool.h - the pending sessions of a group, in their total order.
 *
 * Order: priority down, then the group's order, then submission number up; no two are
 * equal.  What a search found is remembered by family (sched/frontier.h).  Before
 * anything of a session changes that its place or its eligibility depends on, it is
 * removed, and added again afterwards. */
#ifndef CORE_MODEL_POOL_H
#define CORE_MODEL_POOL_H
#include "core/model/world.h"

void pool_add(struct world *w, struct session *s);
void pool_remove(struct world *w, struct session *s);
/* The group's order became another: all entries are sorted anew. */
void pool_resort(struct world *w, uint32_t group);
/* The entries in order; *ret_n of them. */
const struct queue_entry *pool_entries(const struct world *w, uint32_t group, uint32_t *ret_n);
/* Place of a pending session from 1. */
uint32_t pool_place(const struct world *w, const struct session *s);
const struct queue_entry *pool_entry(const struct world *w, const struct session *s);
bool pool_before(const struct queue_entry *a, const struct queue_entry *b);
/* As it would be, were it added now; family MAP_NONE. */
struct queue_entry pool_entry_of(const struct world *w, const struct session *s);
/* The node's room may have grown, or a promise on it is gone: what was refused and could
 * use it now is looked at again. */
void pool_freed(struct world *w, const struct node *n);
/* Something that a pass could use changed, but no room grew. */
void pool_due(struct world *w, uint32_t group);
/* It waits for something of its own; pool_wake, or adding it again, ends that. */
void pool_park(struct world *w, const struct session *s);
void pool_wake(struct world *w, const struct session *s);
void pool_queue_done(struct pool_queue *q);

#endif
