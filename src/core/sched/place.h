/* core/sched/place.h - where a session's members would go, all or none.
 *
 * Of the nodes that its constraints admit and that have room, the preferred one if
 * there is one, else the best by the session's strategy (sched/strategy.h).  Pure: the
 * world is only read, members of one search see each other.
 *
 * Members that are all alike are placed whenever they can be.  Several roles are placed
 * greedily, the largest first, and then in each other order (for a large gang among many
 * nodes only where the index makes that quick): in rare cases all of that fails where
 * another way exists.
 * docs/spec/scheduling.md, "Placement" */
#ifndef CORE_SCHED_PLACE_H
#define CORE_SCHED_PLACE_H
#include "core/model/world.h"
#include "core/sched/filter.h"

enum place_scope {
    PLACE_NOW = 1, /* on usable nodes, beside what they hold and all that is promised */
    PLACE_EVER,    /* on all nodes of the group, as if they were empty and well */
};

struct place_pick { uint32_t node, devices; };
struct place_room { uint32_t node; struct room room; }; /* node: its number */

/* Zeroed is ready; reused from search to search. */
struct place {
    VEC(struct place_pick) picks;  /* by member number */
    uint32_t last;                 /* the node that was chosen last: round_robin goes on there */
    /* Set by whoever asks "what if": rooms to be taken, as they are, instead of those that
     * the world has now.  Each node once.  They stay until they are cleared. */
    VEC(struct place_room) given;
    bool every_node;               /* look at all of them instead of asking the index */
    /* A search that failed leaves what the members placed before left over, and the demand
     * that failed; valid until the world changes. */
    struct slots demand;           /* of the first member (or whole session) that fits nowhere */
    enum place_scope scope;
    VEC(struct place_room) seen;   /* rooms that are not, or not only, the world's */
    VEC(uint64_t) marks;           /* a bit for each node in `seen` */
};
/* Could it run if the group's nodes had nothing else to do? */
bool place_possible(const struct world *w, const struct session *s, struct place *p);
bool place_decide(const struct world *w, const struct session *s, enum place_scope scope,
                  struct place *p);
void place_done(struct place *p);
/* What the last search left of the node at index `at`. */
struct room place_left(const struct world *w, const struct place *p, uint32_t at);

/* Why the last search failed: nodes of the group by the filter that removed them. */
struct place_miss {
    uint32_t nodes, unreachable, cordoned, quarantined, unhealthy, too_small, busy;
    uint32_t filtered[FILTERS];
    uint32_t nearest_node; /* that lacks least; 0 when no node is left to compare */
    struct slots asked, free, missing;
};
void place_explain(const struct world *w, const struct session *s, enum place_scope scope,
                   const struct place *failed, struct place_miss *ret);
/* Whether a node of this capacity could host any member (or, with one_node, all). */
bool place_hosts(const struct session *s, const struct slots *capacity);
/* The same of the node at index `at`, by all that it says about itself. */
bool place_hosts_at(const struct world *w, const struct session *s, uint32_t at);
/* Whether its constraints admit the node for a member with this need.  A node where it
 * failed is out for now, not for ever. */
bool place_admits(const struct world *w, const struct session *s, enum place_scope scope,
                  const struct slots *need, uint32_t at);

#endif
