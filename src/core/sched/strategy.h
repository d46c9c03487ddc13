/* core/sched/strategy.h - which of the nodes with room: one total order each.
 *
 * A node's standing is a short list of numbers, compared from the left; the smaller
 * wins.  Ties go to nodes where this session has not failed, then by natural name
 * order, which is settled by the caller.  Integers only.
 * docs/spec/scheduling.md, "Placement" */
#ifndef CORE_SCHED_STRATEGY_H
#define CORE_SCHED_STRATEGY_H
#include "core/model/world.h"

#define STRATEGY_TERMS 4
#define STRATEGY_GPU_WEIGHT 16000 /* best_fit: a device counts as so many milli-cores */

struct standing { int64_t v[STRATEGY_TERMS]; };

/* What a session is placed by: its own strategy, or its group's. */
enum place_strategy strategy_of(const struct world *w, const struct session *s);
/* The room fits the need (CHECK).  Of round_robin nothing but 0: its order is that of names. */
void strategy_stand(enum place_strategy by, const struct slots *need, const struct room *r,
                    struct standing *ret);
int strategy_cmp(const struct standing *a, const struct standing *b);
/* Whether a node that was best for a member stays best for an equal one while it fits. */
bool strategy_fills(enum place_strategy by);
/* Kinds of slot that a node has and the member does not need. */
uint32_t strategy_unused(const struct slots *need, const struct slots *capacity);
/* What counts first where amounts are compared: gpu, cpu, mem. */
bool strategy_larger(const struct slots *a, const struct slots *b);

#endif
