/* core/sched/advance.h - which nodes and devices a reservation would get.
 *
 * Free throughout its window, beside what is held, promised and reserved, also for its
 * own owner.  Of these nodes, those that have no room now come first, then by name. */
#ifndef CORE_SCHED_ADVANCE_H
#define CORE_SCHED_ADVANCE_H
#include "core/model/world.h"

struct advance_miss { /* why not */
    uint32_t nodes;   /* of the group, or 1 that was named */
    uint32_t able;    /* that take new work and are large enough */
    uint32_t free;    /* that are also free throughout the window */
    uint32_t node;    /* the first by name that is able and not free; 0: none */
    uint64_t session; /* first submitted of those that hold it in the window; 0: it is
                         promised or reserved */
    int64_t until_ms; /* when that one goes; INT64_MAX: it has no limit */
};

/* For each of r->n_parts a node of its own and devices; `node`: the only one that may be
 * taken, 0: any of the group.  False: fewer are free, `r` is as it was. */
bool advance_decide(struct world *w, struct reservation *r, uint32_t node,
                    struct advance_miss *ret_miss);

#endif
