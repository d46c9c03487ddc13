/* core/model/session.h - one request for 1..N containers that start together,
 * and the table of its states: who owns each, its deadline, and where then.
 *
 * docs/spec/scheduling.md, "States of a session" */
#ifndef CORE_MODEL_SESSION_H
#define CORE_MODEL_SESSION_H
#include <stdbool.h>
#include <stdint.h>
#include "base/str.h"
#include "core/model/slots.h"
#include "core/nodeplan/plan.h"

#define SESSION_ROLES_MAX 4
#define SESSION_MEMBERS_MAX 512
#define SESSION_NAME_MAX 63
#define SESSION_START_TRIES 3               /* then ENDED failed */
#define SESSION_BACKOFF_FIRST_MS 10000
#define SESSION_BACKOFF_MAX_MS 300000
#define SESSION_ALARM_AFTER_MS 30000        /* past the grace, without proof of the end */
#define SESSION_PRIORITY_MAX 100
#define SESSION_DEPENDS_MAX 8
#define SESSION_FAILED_NODES 4               /* of which it remembers failed starts */
#define SESSION_ARRAY_MAX 1000              /* tasks of one submission */
#define SESSION_RESTARTS_MAX 1000
#define SESSION_TIME_MAX_MS (INT64_C(3653) * 24 * 60 * 60 * 1000) /* ten years */

enum session_state {
    SESSION_PENDING = 1,
    SESSION_RESERVED,  /* room promised, victims ending */
    SESSION_ALLOCATED, /* the agents must take it */
    SESSION_PREPARING,
    SESSION_READY,     /* every member at the barrier */
    SESSION_STARTING,
    SESSION_RUNNING,
    SESSION_STOPPING,
    SESSION_ENDED,     /* final: nothing resurrects it */
    SESSION_STATES
};

enum session_outcome { /* set at ENDED; from STOPPING on it is the cause */
    OUTCOME_NONE = 0,
    OUTCOME_SUCCEEDED,
    OUTCOME_FAILED,
    OUTCOME_CANCELLED,
    OUTCOME_TIMED_OUT,
    OUTCOME_PREEMPTED,
    OUTCOME_IDLE,
    OUTCOME_LOST,
    OUTCOMES
};

enum session_kind { KIND_BATCH = 1, KIND_INTERACTIVE, KIND_SERVICE, SESSION_KINDS };

enum state_owner { OWNER_SCHEDULER = 1, OWNER_AGENT, OWNER_MANAGER, OWNER_NOBODY };
enum state_holds { HOLDS_NOTHING = 1, HOLDS_PROMISE, HOLDS_DEVICES };
enum deadline_rule {
    DEADLINE_NONE = 1,
    DEADLINE_PENDING,   /* the session's pending timeout, if any */
    DEADLINE_PROMISE,   /* victims' grace + 30 s */
    DEADLINE_FIXED,     /* limit_ms of the row, from entering the state */
    DEADLINE_INHERITED, /* PREPARING's, which READY keeps; its limit if that was skipped */
    DEADLINE_TIME_LIMIT,
    DEADLINE_GRACE,     /* grace + SESSION_ALARM_AFTER_MS: alarm, still held */
    DEADLINE_RULES
};
enum deadline_then {
    THEN_NOTHING = 1,
    THEN_END,     /* nobody waited for it any longer */
    THEN_PENDING, /* the promise is void */
    THEN_REVOKE,  /* the attempt is over; no fault of the session's */
    THEN_FAIL,    /* the same, and counted as a failed start */
    THEN_STOP,
    THEN_ALARM,   /* once; everything stays held */
    DEADLINE_THENS
};

struct state_row {
    const char *name;
    enum state_owner owner;
    enum state_holds holds;
    enum deadline_rule deadline;
    int64_t limit_ms;        /* DEADLINE_FIXED */
    enum deadline_then then;
    uint16_t next;           /* bit (1 << state) for each state that may follow */
};
const struct state_row *session_row(enum session_state s); /* CHECKs the range */
const char *session_state_name(enum session_state s);      /* "pending", ... */
const char *session_outcome_name(enum session_outcome o);  /* "succeeded", "timed_out", ... */
const char *session_kind_name(enum session_kind k);

enum place_strategy { /* which of the nodes with room.  docs/spec/scheduling.md, "Placement" */
    STRATEGY_CONCENTRATED = 1, STRATEGY_DISPERSED, STRATEGY_ROUND_ROBIN, STRATEGY_LEAST_ALLOCATED,
    STRATEGY_MOST_ALLOCATED, STRATEGY_BEST_FIT, PLACE_STRATEGIES
};
const char *place_strategy_name(enum place_strategy s);

enum depend_on { DEPEND_SUCCESS = 1, DEPEND_END, DEPEND_FAILURE, DEPEND_KINDS };
const char *depend_on_name(enum depend_on d); /* "success", "end", "failure" */
struct dependency { /* one that is met leaves the list; one that cannot be met ends the session */
    uint64_t session;
    enum depend_on on;
} __attribute__((packed, aligned(4))); /* every session has room for eight */

/* When a device of it goes bad, or is gone. */
enum on_device_fault { DEVICE_FAULT_KEEP = 0, DEVICE_FAULT_REQUEUE, DEVICE_FAULTS };

struct constraint { /* where it may run; {0}: anywhere in its group */
    char gpu_models[48];  /* "a100|h100": any of them; "": any at all */
    char labels[96];      /* "disk=ssd,zone=a": all of them, sorted by key */
    char arch[16];        /* "x86_64"; "": any */
    uint32_t node;        /* designated, 0: none */
    bool node_preferred;  /* tried first, others allowed; else it runs there or waits */
};

struct failed_start { uint32_t node, times; }; /* in a row, since the session last ran */

struct role { /* members of one shape; members are numbered role after role */
    char name[16];
    uint32_t count;
    struct slots slots; /* of one member */
};

/* Small on purpose: what decisions read.  Command, image, environment are in
 * the document, which stays in the store.  There are a hundred thousand: fields are in an
 * order that leaves no gaps. */
struct session {
    uint64_t id; /* the submission sequence number as well */
    uint64_t array;     /* id of its first task; 0: no array */
    int64_t blocked_ms; /* core time of its next attempt as a blocked head; 0: it is none */
    struct role roles[SESSION_ROLES_MAX]; /* n_roles of them */
    uint32_t user, project, group;
    char name[SESSION_NAME_MAX + 1]; /* unique among the owner's live sessions */
    enum session_kind kind;
    enum session_state state;
    enum session_outcome outcome;
    int32_t priority;    /* 0..100, as people set it */
    enum on_device_fault on_device_fault;
    int32_t fence_ms;    /* its containers end when their agent was not answered for so long, and
                            it waits again; 0: they go on, and are held.  model/silence.h */
    int32_t lowered;     /* by the scheduler: it queues at priority - lowered, not below 0 */
    bool preemptible;
    bool hold;           /* waits until it is released */
    bool unproved;       /* PENDING: its attempt may still run; silence_unproved() */
    bool requeue;        /* STOPPING: waits again once all is proved gone, instead of ending */
    bool one_node;       /* all members on one node */
    bool stop_on_member; /* any member's end with failure stops the rest */
    bool alarm;          /* STOPPING past its grace: somebody should look */
    enum place_strategy strategy; /* 0: its group's */
    struct constraint where;
    uint32_t n_depends;
    struct dependency depends[SESSION_DEPENDS_MAX];
    uint32_t array_index, array_count; /* the tasks are numbered array .. array + count - 1 */
    uint32_t array_limit; /* tasks at once; 0: no bound */
    uint32_t restart_max; /* restarts after a failure; 0: never */
    uint32_t failures;    /* after which it was restarted */
    uint32_t restarts;    /* after failures, evictions, requeues: it finds the number inside */
    uint32_t blocked_tries; /* failed attempts as a blocked head, one a minute at most */
    uint32_t n_roles, members;
    uint32_t attempt;       /* number of the current one; 0: none yet */
    uint32_t failed_starts; /* in a row */
    uint32_t n_failed_on;   /* and on which nodes, the newest last */
    struct failed_start failed_on[SESSION_FAILED_NODES];
    /* Core time.  0: not yet, or none. */
    int64_t submitted_ms, since_ms, deadline_ms, not_before_ms, started_ms, ended_ms;
    int64_t start_after_ms; /* not before this core time */
    int64_t time_limit_ms, grace_ms, pending_timeout_ms;
    int64_t submitted_wall_ms, started_wall_ms, ended_wall_ms; /* for people only */
    uint32_t signal_no; /* number of the last signal wish */
    int32_t signal;
    /* Indexes of the world, not stored. */
    uint32_t first_alloc;  /* chain of ledger rows, MAP_NONE when none */
    uint32_t timer_stamp;
};
/* As it is stored, and leaves a step. */
struct session_row {
    struct session session;
    struct member_end end; /* of the main member, or of the one that failed first; model/ends.h */
};

/* When the state that it enters at `now_ms` is over, or 0: s->state is the
 * new state, s->deadline_ms still that of the state before. */
int64_t session_deadline(const struct session *s, enum session_state before, int64_t now_ms);
/* Whether its turn has not come yet, by what it says itself: it blocks nobody.
 * model/wait.h knows the rest. */
static inline bool session_waits(const struct session *s, int64_t now_ms)
{
    return s->state == SESSION_PENDING && (s->hold || s->unproved || s->n_depends > 0 ||
                                           s->not_before_ms > now_ms || s->start_after_ms > now_ms);
}
/* The session that its document is kept under: tasks of an array have one. */
static inline uint64_t session_document(const struct session *s)
{
    return s->array ? s->array : s->id;
}
/* The priority that it queues with. */
static inline int32_t session_order_priority(const struct session *s)
{
    return s->priority > s->lowered ? s->priority - s->lowered : 0;
}
/* The role of a member number; CHECKs member < members. */
const struct role *session_role_of(const struct session *s, uint32_t member);
/* Sum over all members; false on overflow. */
bool session_total(const struct session *s, struct slots *ret);
bool session_may_follow(enum session_state from, enum session_state to);
static inline bool session_live(const struct session *s) { return s->state != SESSION_ENDED; }
/* "s17"; and back (also accepts plain "17"). */
void session_id_format(uint64_t id, char ret[24]);
bool session_id_parse(struct str text, uint64_t *ret);

#endif
