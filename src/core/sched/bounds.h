/* core/sched/bounds.h - what a group's nodes have free at most, by devices.
 *
 * One look at all of them a walk, at most: within a pass room only shrinks, so what was
 * too little stays too little.  Promises and constraints are not looked at: they only
 * take away. */
#ifndef CORE_SCHED_BOUNDS_H
#define CORE_SCHED_BOUNDS_H
#include "core/model/world.h"

struct bounds { /* of one group; zeroed is ready */
    VEC(uint32_t) nodes; /* indexes */
    uint64_t regroupings, walk; /* for which these hold */
    /* Over nodes with at least k devices free. */
    int64_t cpu[NODE_DEVICES_MAX + 1], mem[NODE_DEVICES_MAX + 1];
    uint64_t members[NODE_DEVICES_MAX + 1]; /* how many times k devices are free; [0]: no bound */
};
/* By the maxima: false when so many choices of this size cannot fit, nor anything else of
 * the family that is as large as *ret_corner. */
bool bounds_allow(struct world *w, struct bounds *b, const struct queue_entry *e,
                  uint32_t choices, struct slots *ret_corner);
/* Node by node: exact, were nothing promised and no constraint in the way. */
bool bounds_fit(struct world *w, struct bounds *b, const struct queue_entry *e,
                uint32_t choices);
void bounds_done(struct bounds *b);

#endif
