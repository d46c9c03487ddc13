/* core/model/pool.h - the pending sessions of a group, in their total order.
 *
 * Order: priority down, then submission number up; no two are equal.  Entries of
 * equal shape share what a search found: a refused shape stays refused until
 * something is freed in the group, which begins a new generation. */
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
/* Room may have grown: what was refused is tried again. */
void pool_freed(struct world *w, uint32_t group);
/* Something that a pass could use changed, but no room grew. */
void pool_due(struct world *w, uint32_t group);
/* No entry of this shape fits until something is freed. */
void pool_refuse(struct world *w, uint32_t group, uint32_t shape);
bool pool_refused(const struct world *w, uint32_t group, uint32_t shape);
void pool_queue_done(struct pool_queue *q);

#endif
