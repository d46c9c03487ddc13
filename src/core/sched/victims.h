/* core/sched/victims.h - who may be made to go, and the cheapest of them on one node.
 *
 * Candidates stand in the order of eviction: priority, the group's order, number.  Pure.
 * docs/spec/scheduling.md, "Preemption" */
#ifndef CORE_SCHED_VICTIMS_H
#define CORE_SCHED_VICTIMS_H
#include "core/model/world.h"

struct victim {
    uint64_t id;
    uint32_t slot;     /* in w->sessions */
    int32_t priority;
    int64_t rank[2];   /* in the group's order: smaller goes first */
    int64_t devices, cpu; /* that it holds in all */
    bool taken;
};

struct victim_part { /* what one victim holds on one node */
    uint32_t at;       /* index of the node */
    uint32_t victim;   /* index in v */
    struct slots slots; /* gpu: devices that another could be given */
};

struct victims {
    VEC(struct victim) v;
    VEC(struct victim_part) parts; /* by node, then by victim */
    bool fewest; /* the group counts heads before devices */
};
/* Whether `v` may be made to go for `s` by its group's policy. */
bool victims_eligible(const struct world *w, const struct session *s, const struct session *v);
/* All of them; false: there is none. */
bool victims_collect(const struct world *w, const struct session *s, struct victims *ret);
void victims_done(struct victims *v);

/* What a set of victims costs: less is better, member by member. */
struct victims_cost { int64_t priority, amount[2], rank, cpu; };
int victims_cost_cmp(const struct victims_cost *a, const struct victims_cost *b);

struct victims_choice { /* zeroed is ready */
    VEC(uint32_t) v; /* indexes, in the order of eviction */
    struct victims_cost cost;
};
/* Of the parts [first, first + n), all on one node, those whose leaving covers `miss` (what is
 * not missed is <= 0).  All of a lower priority go before one of a higher; in a priority the
 * fewest devices, then the fewest victims, then the group's order; who turns out not to be
 * needed stays.  Those that are taken already are passed over.  False: all would not do. */
bool victims_choose(const struct victims *all, uint32_t first, uint32_t n,
                    const struct slots *miss, struct victims_choice *ret);

#endif
