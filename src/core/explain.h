/* core/explain.h - why a session is where it is.
 *
 * Computed from the present world whenever somebody asks, by the same functions
 * that decide; nothing is stored, so nothing can be stale. */
#ifndef CORE_EXPLAIN_H
#define CORE_EXPLAIN_H

#include "base/strbuf.h"
#include "core/model/world.h"

enum why_kind {
    WHY_NONE = 0,    /* ended, or running as it should */
    WHY_PLACED,      /* room was found; or is there, and the next pass will use it */
    WHY_WAITING,     /* back-off after a failed start */
    WHY_NO_CAPACITY,
    WHY_SKIPPED,     /* a named session ahead is blocked */
    WHY_STARTING,    /* on its nodes, not yet running */
    WHY_STOPPING,
    WHY_RUNNING,
    WHY_KINDS
};
const char *why_kind_name(enum why_kind k); /* "no_capacity", ... */

#define WHY_FILTERS 6

struct why {
    enum why_kind kind;
    uint64_t blocker;        /* SKIPPED: the session ahead */
    bool blocker_hidden;     /* set by who asks for somebody that may not read it */
    uint32_t place;          /* place in its group's queue from 1, 0: not queued */
    uint32_t queue_length;
    /* Nodes of the group removed by each filter, and what the nearest lacks. */
    uint32_t nodes, unreachable, cordoned, quarantined, too_small, busy;
    uint32_t filtered[WHY_FILTERS]; /* by its constraints: enum filter, sched/filter.h */
    uint32_t nearest_node;   /* 0: none */
    /* For the first member that does not fit (one_node: for all): what it asks,
     * what the nearest node has free beside the members before it, what lacks. */
    struct slots asked, free, missing;
    int64_t since_ms;        /* core time since when */
    int64_t retry_ms;        /* WAITING: when */
};

void explain_session(const struct world *w, const struct session *s, struct why *ret);
/* One plain sentence or two, with the numbers:
 * "needs 2 more CPU: n1 has 2 of 4 free, 4 asked". */
void explain_text(const struct world *w, const struct session *s, const struct why *why,
                  struct strbuf *out);

/* "s17 (train)"; for who may not read it "a batch session of another project (2 CPU, 1 GPU),
 * waiting for 3 min": `asking` is whose reason it is. */
void explain_other(const struct world *w, const struct session *other,
                   const struct session *asking, bool hidden, struct strbuf *out);

#endif
