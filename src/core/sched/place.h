/* core/sched/place.h - where a session's members would go, all or none.
 *
 * Strategy `concentrated`: of the nodes with room, the one with the fewest
 * capabilities that the member does not use, then the one with least left of
 * gpu, cpu, mem in this order, then the first in natural name order.  Pure: the
 * world is only read, members of one search see each other.
 * docs/spec/scheduling.md, "Placement" */
#ifndef CORE_SCHED_PLACE_H
#define CORE_SCHED_PLACE_H
#include "core/model/world.h"

enum place_scope {
    PLACE_NOW = 1, /* on usable nodes, beside what they hold */
    PLACE_EVER,    /* on all nodes of the group, as if they were empty and well */
};

struct place_pick { uint32_t node, devices; };

/* Zeroed is ready; reused from search to search.  A search that failed leaves in
 * `view` what the members placed before left over, and the demand that failed. */
struct place {
    VEC(struct place_pick) picks; /* by member number */
    VEC(struct room) copy;        /* by node index, when more than one choice is made */
    const struct room *view;      /* the copy, or the world's own: valid until it changes */
    struct slots demand;          /* of the first member (or whole session) that fits nowhere */
};
/* Could it run if the group's nodes had nothing else to do? */
bool place_possible(const struct world *w, const struct session *s, struct place *p);
bool place_decide(const struct world *w, const struct session *s, enum place_scope scope,
                  struct place *p);
void place_done(struct place *p);

/* Why the last search failed: nodes of the group by the filter that removed them. */
struct place_miss {
    uint32_t nodes, unreachable, cordoned, too_small, busy;
    uint32_t nearest_node; /* that lacks least; 0 when no node is left to compare */
    struct slots asked, free, missing;
};
void place_explain(const struct world *w, const struct session *s, enum place_scope scope,
                   const struct place *failed, struct place_miss *ret);
/* Whether a node of this capacity could host any member (or, with one_node, all). */
bool place_hosts(const struct session *s, const struct slots *capacity);

#endif
