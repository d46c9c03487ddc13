/* core/sched/filter.h - which nodes a session may use at all, whatever is free there.
 *
 * What a session says about where it may run, and what nodes say about themselves.
 * Pure.  A model is asked of the nodes of members that use devices, and of all
 * devices there: nobody gets a device that it did not ask for.  A designated node
 * is never relaxed.  docs/spec/scheduling.md, "Placement" */
#ifndef CORE_SCHED_FILTER_H
#define CORE_SCHED_FILTER_H
#include "core/model/world.h"

enum filter { /* in the order in which they are asked */
    FILTER_NONE = 0, /* it may be used */
    FILTER_NODE,     /* another node is designated */
    FILTER_ARCH,
    FILTER_LABELS,
    FILTER_MODEL,
    FILTER_FAILED,   /* this session failed to start there too often in a row */
    FILTERS
};
const char *filter_name(enum filter f); /* "node", "arch", "labels", "gpu_model", "failed" */

/* Whether it asks anything of nodes beyond its group and its amounts. */
bool filter_asks(const struct session *s);
/* What keeps a member with this need off the node at index `at`; of its group or not. */
enum filter filter_node(const struct world *w, const struct session *s, const struct slots *need,
                        uint32_t at);
static inline bool filter_admits(const struct world *w, const struct session *s,
                                 const struct slots *need, uint32_t at)
{
    return filter_node(w, s, need, at) == FILTER_NONE;
}
/* The part of it that is said about every node with the same arch, labels and devices:
 * FILTER_ARCH, FILTER_LABELS or FILTER_MODEL, or none. */
enum filter filter_kind(const struct session *s, const struct slots *need, const struct node *n);

/* How often it failed to start there since it last ran; 0: never, or not known any more. */
uint32_t filter_failures(const struct session *s, uint32_t node);
/* Whether the node at index `at` is left out for that, since nodes that take new work could
 * hold the session without it. */
bool filter_passed_over(const struct world *w, const struct session *s, uint32_t at);

#endif
