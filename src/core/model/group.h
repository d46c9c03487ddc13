/* core/model/group.h - nodes with one policy.  docs/spec/scheduling.md */
#ifndef CORE_MODEL_GROUP_H
#define CORE_MODEL_GROUP_H
#include <stdint.h>
#include "core/model/session.h"

#define GROUP_RESERVE_DEPTH 8u        /* blocked sessions that get a promise */
#define GROUP_RESERVE_ALL UINT32_MAX  /* conservative */
#define GROUP_TEST_DEPTH 10000u       /* searches a pass for those behind */
#define GROUP_UNDATED_MS 600000       /* a head that cannot be dated waits so long, then shuts */
#define GROUP_LOWER_AFTER 5u          /* failed attempts; the next one lowers.  0: never */
#define GROUP_LOWER_BY 10
#define GROUP_PROJECTS_MAX 16
#define GROUP_FENCE_MS 600000
#define GROUP_FENCE_MIN_MS 30000 /* a call that gets lost takes ten seconds */
#define GROUP_FENCE_MAX_MS (INT64_C(12) * 60 * 60 * 1000) /* well before its node is lost */

enum on_blocked { /* what a blocked head does to those behind it */
    BLOCKED_STOP = 1, /* strict order: they are skipped, naming it */
    BLOCKED_SKIP,     /* best effort: they are tried; the head can starve */
    BLOCKED_BACKFILL, /* they are tried where that delays no promise (default) */
    BLOCKED_KINDS
};
const char *on_blocked_name(enum on_blocked b);

enum queue_order { /* inside a priority; the submission number settles ties */
    ORDER_FIFO = 1,
    ORDER_LIFO,
    /* For simulations of published logs alone: they starve people. */
    ORDER_SHORTEST, /* least time limit first */
    ORDER_SMALLEST, /* least time limit x cpu first */
    ORDER_LONGEST,  /* greatest time limit first */
    QUEUE_ORDERS
};
const char *queue_order_name(enum queue_order o);

enum preempt_mode { PREEMPT_TERMINATE = 1, PREEMPT_REQUEUE, PREEMPT_MODES };
enum preempt_scope { /* whose sessions may be victims */
    SCOPE_USER = 1, SCOPE_PROJECT, SCOPE_DOMAIN, SCOPE_GROUP, PREEMPT_SCOPES
};
enum preempt_order { VICTIM_NEWEST = 1, VICTIM_OLDEST, VICTIM_SMALLEST, VICTIM_FEWEST,
                     PREEMPT_ORDERS };
const char *preempt_mode_name(enum preempt_mode m);
const char *preempt_scope_name(enum preempt_scope s);
const char *preempt_order_name(enum preempt_order o);

struct preempt_policy {
    bool enabled;
    enum preempt_mode mode;
    enum preempt_scope scope;
    enum preempt_order order;
    int64_t min_runtime_ms; /* nobody is a victim before it ran so long */
};

struct group {
    uint32_t id; /* from 1 */
    char name[64];
    enum queue_order order;
    enum on_blocked on_blocked;
    uint32_t reserve_depth, test_depth;
    int64_t undated_ms;
    bool backfill_shortest; /* those behind are tried shortest first (simulations) */
    uint32_t lower_after;   /* stop: failed attempts before a head is lowered; 0: never */
    int32_t lower_by;
    enum place_strategy strategy;
    uint32_t round_robin_node; /* the node that round_robin chose last; 0: none yet */
    struct preempt_policy preempt;
    bool host_network;      /* sessions may use the network of the machine itself */
    int64_t time_limit_ms[SESSION_KINDS]; /* default by kind; 0: none */
    int64_t fence_ms;    /* of sessions that are to wait again when their node is cut off */
    int64_t time_max_ms; /* the most a session may ask for, none included; 0: no bound */
    uint32_t n_projects;                  /* who may use it; 0: everybody */
    uint32_t projects[GROUP_PROJECTS_MAX];
};
/* Fills every policy with its default; id and name stay. */
void group_defaults(struct group *g);
/* A group with every default but one; the name must fit (CHECK). */
struct group group_make(uint32_t id, const char *name, enum on_blocked on_blocked);
/* Whether each value is in its range. */
bool group_sane(const struct group *g);

#endif
