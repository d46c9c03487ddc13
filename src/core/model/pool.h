/* core/model/pool.h - the pending sessions of a group, in their total order.
 *
 * Order: priority down, then submission number up; no two are equal.  Entries of
 * equal shape share what a search found: a refused shape stays refused until a
 * node's room grows to where the shape could use it. */
#ifndef CORE_MODEL_POOL_H
#define CORE_MODEL_POOL_H
#include "core/model/world.h"

void pool_add(struct world *w, struct session *s);
void pool_remove(struct world *w, struct session *s);
/* The entries in order; *ret_n of them. */
const struct queue_entry *pool_entries(const struct world *w, uint32_t group, uint32_t *ret_n);
/* Place of a pending session from 1. */
uint32_t pool_place(const struct world *w, const struct session *s);
const struct queue_entry *pool_entry(const struct world *w, const struct session *s);
/* The node's room may have grown: once a step, before the pass, what was refused
 * and could use it now is opened again. */
void pool_freed(struct world *w, const struct node *n);
void pool_reopen(struct world *w);
/* Something that a pass could use changed, but no room grew. */
void pool_due(struct world *w, uint32_t group);
/* It was refused until the newest opening, and others have taken what was freed
 * then: a search would find nothing now either.  False: only a search can tell. */
bool pool_hopeless(const struct world *w, uint32_t shape);
/* No entry of this shape fits until something is freed. */
void pool_refuse(struct world *w, uint32_t shape);
bool pool_refused(const struct world *w, uint32_t shape);
void pool_queue_done(struct pool_queue *q);

#endif
