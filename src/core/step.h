/* core/step.h - the only way the world changes.
 *
 *     an event with its time  ->  step()  ->  changes to store, things to send
 *
 * Pure: same world, same event, same effects, byte for byte.  The manager, the
 * simulator and the tests are equal callers.  Effects are levels, or are
 * repeated until observed; nothing may leave before the turn that holds the
 * changes is durable. */
#ifndef CORE_STEP_H
#define CORE_STEP_H
#include <stdbool.h>
#include <stdint.h>
#include "core/model/world.h"

enum event_kind {
    EVENT_TICK = 1,  /* time alone: deadlines fire, the pass goes on */
    EVENT_SUBMIT,
    EVENT_STOP,      /* a person ends a session */
    EVENT_SIGNAL,    /* a person signals a running session */
    EVENT_NODE_JOIN, /* an agent introduces itself (again): capacity, devices, addresses */
    EVENT_NODE_REPORT,
    EVENT_NODE_CORDON,
    EVENT_NODE_FORGET, /* an operator swears that the machine is gone for good */
    EVENT_GROUP_PUT,
    EVENT_DOMAIN_PUT,
    EVENT_PROJECT_PUT,
    EVENT_USER_PUT,
    EVENT_UPDATE,    /* a person changes what may still change of a session */
    EVENT_RESERVE,     /* devices are kept for somebody in a window of time */
    EVENT_UNRESERVE,
    EVENT_REQUEUE,   /* a person sends a session back to its place in the queue */
    EVENT_SILENCE_ACCEPT, /* an operator takes all nodes that are silent now to be down */
    EVENT_NODE_FENCED,    /* the fence command has succeeded for a silent node */
    EVENT_DEVICE,    /* an operator returns a device, or quarantines it */
    EVENT_KINDS
};

/* What a submission says; the caller has checked text lengths, step checks the rest. */
struct event_submit {
    struct session session; /* name, user, project, group, kind, priority, roles, limits, flags,
                               dependencies; array_index of the first task;
                               time_limit_ms -1: the group's default, 0: none;
                               fence_ms -1: wanted, for as long as the group says; 0: not */
    bool allow_impossible;
    uint32_t array_count;   /* 0: no array.  Task i has index first + i * step */
    uint32_t array_step;    /* from 1 */
    /* How a dependency that is not live has ended; OUTCOME_NONE: it must be live. */
    enum session_outcome depend_outcome[SESSION_DEPENDS_MAX];
};
struct event_stop {
    uint64_t session;
    enum session_outcome cause;
    int64_t grace_ms; /* -1: its own */
};
struct event_signal { uint64_t session; int32_t signal; };
enum update_field { UPDATE_PRIORITY = 1, UPDATE_TIME_LIMIT = 2, UPDATE_HOLD = 4,
                    UPDATE_PREEMPTIBLE = 8 };
struct event_update {
    uint64_t session;
    uint32_t fields;       /* mask of enum update_field */
    int32_t priority;
    int64_t time_limit_ms; /* 0: none */
    bool hold, preemptible;
};
/* The last error that a device's driver told of (NVIDIA: Xid), who held it then (0: nobody),
 * and whether that session has to end. */
struct device_error { uint32_t xid; uint64_t session; bool kill; };
struct event_join {
    uint32_t orders_done; /* wishes for devices that it has carried out */
    struct device_error errors[NODE_DEVICES_MAX];
    struct node node;     /* id 0; name, group, capacity, devices, boot_id, ... */
};
struct event_report {
    uint32_t node;
    uint64_t epoch, seq;  /* of the agent; anything not newer is ignored */
    uint64_t turn;        /* the last list of wishes it acted on */
    const struct member_report *members; /* full list, sorted by ref */
    uint32_t n_members;
};
/* Its id, since, end and parts are given; start_ms 0: now; n_parts: how many nodes. */
struct event_reserve {
    struct reservation reservation;
    int64_t length_ms;
    uint32_t node; /* the only one that may be taken, 0: any */
};
struct event_unreserve { uint32_t reservation; };
struct event_fenced { uint32_t node; int64_t heard_ms; /* as it was when the command began */ };
struct event_device { uint32_t node, index; enum device_order order; char why[40]; };
struct event_cordon {
    uint32_t node;
    bool on;
    bool drain;          /* on: it is to become empty ... */
    int64_t deadline_ms; /* ... after so long at the latest; 0: whenever they end */
    char reason[96];
};
struct event_forget { uint32_t node; bool force; /* although it is heard and holds something */ };

struct event {
    enum event_kind kind;
    int64_t now_ms;  /* core time; earlier than the world's is taken as the world's */
    int64_t wall_ms; /* for people; no decision reads it */
    uint32_t actor;  /* user id, 0: the system */
    bool more_coming; /* another event of this very instant follows: the pass waits for it */
    union {
        struct event_submit submit;
        struct event_stop stop;
        struct event_signal signal;
        struct event_update update;
        uint64_t requeue; /* session */
        struct event_join join;
        struct event_report report;
        struct event_cordon cordon;
        struct event_fenced fenced;
        struct event_device device;
        struct event_forget forget;
        struct event_reserve reserve;
        struct event_unreserve unreserve;
        struct group group; /* id 0: find by name, else create */
        struct domain domain; /* id 0: create, else change; likewise the next two */
        struct project project;
        struct user user;
    } u;
};

/* The verdict on an event that somebody waits for.  Refusing is normal. */
enum verdict {
    VERDICT_OK = 0,
    VERDICT_NOT_FOUND,      /* session, node, group, domain, project, user */
    VERDICT_NAME_TAKEN,
    VERDICT_BAD_VALUE,      /* `text` names the value and what was expected */
    VERDICT_IMPOSSIBLE,     /* no node of the group could ever hold it */
    VERDICT_OVER_LIMIT,     /* a limit that it could never meet, or too many wait already */
    VERDICT_DENIED,         /* the group is not open to the project */
    VERDICT_ENDED,          /* too late: it has ended */
    VERDICT_NOT_RUNNING,    /* a signal needs a running session */
    VERDICT_NOT_EMPTY,      /* a node that is heard and holds something */
    VERDICT_TOO_LATE,       /* what was asked to change can change no more */
    VERDICT_STALE,          /* a report older than one already seen: ignored */
    VERDICT_FULL,           /* a bound of the world was reached */
    VERDICTS
};
const char *verdict_name(enum verdict v);

enum change_kind {
    CHANGE_SESSION = 1, /* row of the session as it is now (ENDED: its last) */
    CHANGE_ALLOC,       /* row as it is now */
    CHANGE_ALLOC_GONE,  /* released: the row as it last was */
    CHANGE_NODE,
    CHANGE_NODE_GONE,
    CHANGE_GROUP,
    CHANGE_DOMAIN,
    CHANGE_PROJECT,
    CHANGE_USER,
    CHANGE_RESERVATION,
    CHANGE_RESERVATION_GONE, /* removed, or its time is over */
    CHANGE_HISTORY,     /* something people want to read later */
    CHANGE_KINDS
};

enum history_what {
    HISTORY_SUBMITTED = 1, HISTORY_STATE, HISTORY_ATTEMPT_REVOKED, HISTORY_ALARM, HISTORY_SIGNAL,
    HISTORY_NODE_JOINED, HISTORY_NODE_UNREACHABLE, HISTORY_NODE_BACK, HISTORY_NODE_CORDON,
    HISTORY_NODE_QUARANTINED, HISTORY_NODE_FORGOTTEN, HISTORY_GROUP, HISTORY_UPDATED,
    HISTORY_ACCOUNT, HISTORY_RESERVED, HISTORY_UNRESERVED, HISTORY_SILENCE_ACCEPTED,
    HISTORY_NODE_FENCED, HISTORY_DEVICE, HISTORY_NODE_DRAIN, HISTORY_KINDS
};
const char *history_name(enum history_what w); /* "session.state", ... */

struct history {
    enum history_what what;
    uint64_t session; /* 0: none */
    uint32_t node;    /* 0: none */
    uint32_t actor;
    enum session_state state;
    enum session_outcome outcome;
    uint32_t attempt;
    int64_t wall_ms, now_ms;
    char text[160];
};

struct change { /* a copy: the world may move on while the store writes it */
    enum change_kind kind;
    union {
        struct session session; /* the first part of its row */
        struct session_row session_row;
        struct alloc alloc; /* the first part of its row, whose end is all zero but for GONE */
        struct alloc_row alloc_row;
        struct node node;
        struct group group;
        struct domain domain;
        struct project project;
        struct user user;
        struct reservation reservation;
        struct history history;
    } u;
};

struct effects {
    enum verdict verdict;
    char text[160];        /* of a refusal: one sentence with the numbers */
    char field[32];        /* the offending field, or "" */
    uint64_t session;      /* id given by EVENT_SUBMIT; of the holder for VERDICT_NAME_TAKEN */
    uint32_t node;         /* id given by EVENT_NODE_JOIN */
    uint32_t account;      /* id of the domain, project or user that was put */
    uint32_t reservation;  /* id given by EVENT_RESERVE */
    uint32_t accepted;     /* nodes, by EVENT_SILENCE_ACCEPT */
    VEC(struct change) changes;
    VEC(uint32_t) nodes;   /* whose list of wishes changed (no doubles) */
    bool more;             /* the pass was sliced: send another EVENT_TICK at once */
};

/* The caller counts w->turn up before the first event of a turn: rows are marked
 * with it, and a node that acted on that turn's wishes must report them.
 * `out` is zeroed or was used before; it is reset here and grows as needed. */
void step(struct world *w, const struct event *ev, struct effects *out);
void effects_done(struct effects *e);
void effects_reset(struct effects *e); /* keeps the memory */

/* Judges a submission as step would, and changes nothing.  OK: *ret is the session, or the
 * first of its tasks, as it would wait, with the number that it would get. */
enum verdict step_check(struct world *w, const struct event *ev, struct effects *out,
                        struct session *ret);

/* The full list of wishes for a node, sorted by ref: what a sync answers. */
void step_wants(const struct world *w, const struct node *n, struct member_want **ret,
                uint32_t *ret_n);
/* When the next deadline fires, in core time; INT64_MAX when none. */
int64_t step_next_deadline(const struct world *w);

#endif
