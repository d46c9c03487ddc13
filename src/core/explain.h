/* core/explain.h - why a session is where it is, and when it may expect to start.
 *
 * Computed from the present world whenever somebody asks, by the same functions
 * that decide; nothing is stored, so nothing can be stale. */
#ifndef CORE_EXPLAIN_H
#define CORE_EXPLAIN_H

#include "base/strbuf.h"
#include "core/model/silence.h"
#include "core/model/wait.h"
#include "core/model/world.h"
#include "core/sched/forecast.h"
#include "core/sched/quota.h"

enum why_kind {
    WHY_NONE = 0,    /* ended, or running as it should */
    WHY_PLACED,      /* room was found; or is there, and the next pass will use it */
    WHY_WAITING,     /* for something of its own: `wait` */
    WHY_OVER_QUOTA,  /* a limit would be exceeded: `excess` has all of them */
    WHY_NO_CAPACITY, /* within its limits, but there is no room */
    WHY_SKIPPED,     /* a named session ahead is blocked, or what it was promised is in the way */
    WHY_PREEMPTING,  /* room is promised to it, and others are on their way out */
    WHY_STARTING,    /* on its nodes, not yet running */
    WHY_STOPPING,
    WHY_RUNNING,
    WHY_KINDS
};
const char *why_kind_name(enum why_kind k); /* "no_capacity", ... */

enum why_skip { /* how the one ahead holds it back */
    SKIP_NONE = 0,
    SKIP_ORDER,   /* the group keeps strict order, and it could use the same nodes */
    SKIP_PROMISE, /* it would still be there when `at_node` is promised to that one */
    SKIP_CLOSED,  /* that one cannot be dated, and `at_node` is kept free for it */
    WHY_SKIPS
};

#define WHY_FILTERS 6
#define WHY_LEAVING 4 /* of those who leave for it, so many are named */

struct why {
    enum why_kind kind;
    uint32_t viewer;         /* who reads the text; 0: somebody who may read all of it */
    enum wait_kind wait;     /* WAITING */
    uint32_t array_active;   /* WAIT_ARRAY: tasks at work */
    int64_t retry_ms;        /* WAIT_START and WAIT_BACKOFF: until when */
    uint64_t blocker;        /* SKIPPED: the session ahead */
    enum why_skip skip;
    uint32_t at_node;        /* SKIP_PROMISE, SKIP_CLOSED, PREEMPTING: the first of its nodes */
    int64_t promised_ms;     /* SKIP_PROMISE: from when on */
    uint32_t reservation;    /* NO_CAPACITY: `at_node` is reserved for others in its time */
    uint32_t n_leaving;      /* PREEMPTING: who leaves, or would have to, for it */
    uint64_t leaving[WHY_LEAVING];
    uint32_t n_excess;       /* OVER_QUOTA */
    struct quota_excess excess[QUOTA_EXCESSES_MAX];
    uint32_t place;          /* place in its group's queue from 1, 0: not queued */
    uint32_t queue_length;
    /* Nodes of the group removed by each filter, and what the nearest lacks. */
    uint32_t nodes, unreachable, cordoned, quarantined, unhealthy, too_small, busy;
    uint32_t filtered[WHY_FILTERS]; /* by its constraints: enum filter, sched/filter.h */
    uint32_t nearest_node;   /* 0: none */
    /* For the first member that does not fit (one_node: for all): what it asks,
     * what the nearest node has free beside the members before it, what lacks. */
    struct slots asked, free, missing;
    int64_t since_ms;        /* core time since when */
    /* The node of its own that has been silent for longest; 0: none is. */
    uint32_t silent_node;
    enum silence_verdict silence;
    int64_t heard_ms, fence_end_ms, release_ms; /* the last two if it asked for a fence */
    struct forecast expected; /* kind NONE until somebody fills it */
};

/* All but `viewer` and `expected`.  A pending session need not be in the world: it may be what
 * a submission would be (step_check). */
void explain_session(const struct world *w, const struct session *s, struct why *ret);
/* Adds when it may expect to start.  One that is not in the world is PLACED if it could start
 * at once, though what others behind it were promised has to give way; and PREEMPTING if others
 * would be made to leave for it. */
void explain_expected(const struct world *w, const struct session *s, struct why *why);

/* One plain sentence or two, with the numbers:
 * "needs 2 more CPU: n1 has 2 of 4 free, 4 asked". */
void explain_text(const struct world *w, const struct session *s, const struct why *why,
                  struct strbuf *out);
/* The expected start alone: "in 40 min on n1, when s12 (prep) has to end"; "" when there is
 * nothing to say. */
void explain_expected_text(const struct world *w, const struct session *s, const struct why *why,
                           struct strbuf *out);
/* "s17 (train)"; for who may not read it "a batch session of another project (2 CPU, 1 GPU),
 * waiting for 3 min": `asking` is whose reason it is. */
void explain_other(const struct world *w, const struct session *other,
                   const struct session *asking, bool hidden, struct strbuf *out);
/* "; 2 of 8 GPUs of n1 are quarantined: Xid 79" for one that asks for GPUs; "; its GPU 0 of n1
 * is suspect: ..." for one that holds them.  Nothing while all is well. */
void explain_devices_out(const struct world *w, const struct session *s, struct strbuf *out);
void explain_devices_held(const struct world *w, const struct session *s, struct strbuf *out);
/* Whether the viewer may not read that one. */
bool explain_hides(const struct world *w, const struct why *why, const struct session *other);

#endif
