/* wire/objects.h - what people and programs exchange with the manager, and its tables.
 *
 * `wire_thing` is the table of `struct thing`.  Instants (*_at) are texts as in
 * wire/time.h; ids of sessions are "s17"; durations are milliseconds. */
#ifndef WIRE_OBJECTS_H
#define WIRE_OBJECTS_H
#include "core/explain.h"
#include "core/model/world.h"
#include "core/nodeplan/network.h"
#include "core/step.h"
#include "wire/names.h"
#include "wire/table.h"
#include "wire/time.h"

#define SPEC_COMMAND_MAX 256
#define SPEC_COMMAND_BYTES 65536
#define SPEC_ENV_MAX 128
#define SPEC_LABELS_MAX 32
#define SPEC_CPU_MILLI 1000              /* of a container that says nothing */
#define SPEC_MEM_BYTES (512 * 1024 * INT64_C(1024))
#define SPEC_PRIORITY 10
#define SPEC_GRACE_MS 30000
#define WIRE_PROTOCOL 1

/* ---- a submission ---- */
enum on_disconnect { DISCONNECT_KEEP = 1, DISCONNECT_REQUEUE };
enum choice { CHOICE_DEFAULT = 0, CHOICE_YES, CHOICE_NO };
struct role_spec {
    char name[16];
    uint32_t count;
    int64_t cpu_milli, mem_bytes, gpu; /* of one member */
    struct wire_texts command;         /* n 0: the session's */
};
/* After parsing there is at least one role: the short form (cpu_milli, mem_bytes, gpu,
 * containers) has become a role named "main" and reads -1 / 0 itself. */
struct session_spec {
    char name[SESSION_NAME_MAX + 1]; /* "": the manager gives one */
    char group[64], project[64];     /* "default" */
    enum session_kind kind;
    char image[256];                 /* "host" */
    struct wire_texts command;       /* n 0 only when every role has its own */
    struct wire_map env;
    char *workdir;                   /* absolute, or NULL */
    int32_t priority;
    uint32_t n_roles;
    struct role_spec roles[SESSION_ROLES_MAX];
    int64_t cpu_milli, mem_bytes, gpu; /* short form; -1: not given */
    uint32_t containers;               /* short form; 0: not given */
    int64_t disk_bytes;                /* of each writable root; -1: its node's; 0: no limit */
    bool rdma, gds, imex;              /* devices of the fabric beside its GPUs */
    bool one_node, stop_on_member;
    enum on_device_fault on_device_fault;
    int64_t time_limit_ms;           /* -1: the group's default for its kind; 0: none */
    int64_t grace_ms;
    int64_t pending_timeout_ms;      /* 0: waits for ever */
    enum on_disconnect on_disconnect;
    bool stdin_open, tty;
    bool allow_impossible;
    struct wire_texts after;         /* "s17", "train:end": starts after these have ended */
    char array[48];                  /* "0-99%10"; "": one session.  wire/array.h */
    int64_t start_in_ms;             /* 0: at once */
    char start_at[40];               /* an instant, instead of start_in_ms */
    bool hold;
    enum choice preemptible;         /* CHOICE_DEFAULT: batch yes, others no */
    uint32_t restart_max;            /* times it is restarted after a failure */
    char gpu_models[48];             /* "a100|h100" */
    struct wire_map node_labels;     /* all of them */
    char arch[16];
    char node[NODE_NAME_MAX + 1], prefer_node[NODE_NAME_MAX + 1]; /* one of both */
    enum place_strategy strategy;    /* 0: its group's */
    enum network_mode network;
    struct wire_map labels;
};
extern const struct wire_table wire_session_spec;
/* What decisions read: name, kind, priority, roles, limits, flags.  Owner, project, group, the
 * number of a named node and a time limit of -1 (left as it is) are the caller's. */
void session_spec_shape(const struct session_spec *spec, struct session *ret);

struct update_request { /* PATCH of a session: what is absent stays as it is */
    int32_t priority;      /* -1: absent */
    int64_t time_limit_ms; /* -1: absent; 0: none */
    enum choice hold, preemptible;
};
extern const struct wire_table wire_update_request;
/* "s17:end" -> "s17", DEPEND_END; without a kind DEPEND_SUCCESS.  False: no such kind. */
bool wire_dependency_parse(struct str text, struct str *ret_session, enum depend_on *ret_on);

struct forget_request { bool force; };
struct cordon_request { char reason[96]; int64_t deadline_ms; /* of a drain; 0: none */ };
struct orphan_request { char ref[40]; }; /* "s17.1.0" */
struct orphan_view {
    char node[NODE_NAME_MAX + 1], ref[40];
    char phase[16];
    bool ending; /* somebody has said so */
};
struct orphan_list { VEC(struct orphan_view) items; char next[64]; };
struct silence_answer { uint32_t accepted; /* nodes */ };
struct device_request { char device[48]; enum device_order order; char why[40]; };
struct stop_request { int64_t grace_ms; };  /* -1: the session's own */
struct signal_request { char signal[16]; }; /* "INT", "SIGINT" or "2" */
struct ticket_request { char action[16]; uint32_t member; }; /* as ticket.h names them */
struct ticket_answer { char *ticket; char proxy_url[256]; char expires_at[WIRE_TIME_TEXT]; };
struct preempt_request {
    enum choice enabled;
    enum preempt_mode mode;
    enum preempt_scope scope;
    enum preempt_order order;
    int64_t min_runtime_ms;
};
struct group_request { /* PUT: what is absent stays as it is (0 / -1) */
    enum queue_order order;
    enum on_blocked on_blocked;
    uint32_t reserve_depth, test_depth; /* 0: absent; GROUP_RESERVE_ALL: all */
    int64_t undated_ms, lower_after, lower_by;
    enum place_strategy strategy;
    struct preempt_request preempt;
    enum choice host_network;
    int64_t time_limit_batch_ms, time_limit_interactive_ms, time_limit_service_ms, time_max_ms;
    int64_t fence_after_ms;
    struct wire_texts projects; /* n 0: absent; "*" alone: everybody */
};
extern const struct wire_table wire_orphan_request, wire_orphan_view, wire_orphan_list;
extern const struct wire_table wire_silence_answer, wire_forget_request, wire_device_request,
    wire_cordon_request, wire_stop_request, wire_signal_request, wire_ticket_request,
    wire_ticket_answer, wire_group_request;
/* "INT", "SIGINT", "int", "2" -> 2.  False: no signal that may be sent (1..31). */
bool signal_parse(struct str s, int32_t *ret);

/* ---- what people read ---- */
struct slots_view { int64_t cpu_milli, mem_bytes, gpu; };
struct role_view { char name[16]; uint32_t count; int64_t cpu_milli, mem_bytes, gpu; };
struct session_view {
    char id[24], name[SESSION_NAME_MAX + 1], owner[64], project[64], group[64];
    enum session_kind kind;
    enum session_state state;
    enum session_outcome outcome;
    int32_t priority;
    uint32_t attempt, failed_starts, members;
    struct slots_view total;     /* over all members */
    uint32_t n_roles;
    struct role_view roles[SESSION_ROLES_MAX];
    struct wire_texts nodes;     /* each once, natural order */
    char submitted_at[WIRE_TIME_TEXT], started_at[WIRE_TIME_TEXT], ended_at[WIRE_TIME_TEXT];
    int64_t time_limit_ms;       /* 0: none */
    int64_t age_ms;              /* since it entered its state */
    int32_t exit_code;           /* -1: none or unknown */
    int32_t signal;
    bool oom, alarm;
    int64_t cpu_us, cpu_used_milli;  /* in all, and at the moment; -1: not known */
    int64_t mem_used_bytes, mem_peak_bytes; /* -1: not known; the most of one container */
    bool preemptible, hold;
    int32_t lowered;             /* the scheduler's, off its priority */
    uint32_t restarts, restart_max;
    char array[24];              /* id of its first task, or "" */
    uint32_t array_index, array_count, array_limit;
    struct wire_texts after;     /* what it still waits for: "s17:success" */
    int64_t start_in_ms;         /* until it may start; 0: it may */
    char detail[160];
    char reason[512];            /* why it is where it is, one sentence */
    char *spec;                  /* the submission as JSON, where one session is shown; or NULL */
};
struct device_view {
    uint32_t index;
    char uuid[48], model[32];
    char pci[16];
    int64_t mem_bytes;
    enum device_health health;
    char why[40];                /* it is not healthy ... */
    int64_t since_ms;            /* ... and since when: wall clock, 0: it is */
    bool simulated;
    char numa[8];                /* its NUMA node, or "": not known */
    struct wire_texts links;     /* to each device of the node, as nvidia-smi calls it; or none */
    char session[24];            /* that holds it, or "" */
};
struct node_view {
    uint32_t id;
    char name[NODE_NAME_MAX + 1], group[64];
    char state[16];              /* "ready", "cordoned", "quarantined", "unreachable", "unheard" */
    bool cordoned, unreachable, quarantined;
    char cordon_reason[96], cordoned_by[64], cordoned_at[WIRE_TIME_TEXT];
    int64_t drain_in_ms;         /* until who is still there has to go; 0: not */
    char unhealthy[128];
    char labels[256], arch[16];
    struct wire_texts failed_by; /* sessions in a row that failed to start there */
    struct slots_view capacity, used;
    uint32_t sessions;           /* members on it */
    uint32_t n_devices;
    struct device_view devices[NODE_DEVICES_MAX];
    bool simulated;              /* some of its devices are */
    int64_t silent_ms;           /* since its last report */
    char data_addr[64], version[24], facts[128], boot_id[40];
};
struct group_view {
    uint32_t id;
    char name[64];
    enum queue_order order;
    enum on_blocked on_blocked;
    uint32_t reserve_depth, test_depth;
    int64_t undated_ms;
    uint32_t lower_after;
    int32_t lower_by;
    enum place_strategy strategy;
    struct preempt_policy preempt;
    bool host_network;
    int64_t time_limit_batch_ms, time_limit_interactive_ms, time_limit_service_ms; /* 0: none */
    int64_t time_max_ms;         /* 0: no bound */
    int64_t fence_after_ms;
    bool restricted;             /* to some projects */
    struct wire_texts projects;  /* those of them that the reader may see */
    uint32_t nodes, pending, live;
};
struct event_view {              /* a line of history */
    char id[32];                 /* "TURN.INDEX" */
    char event[32];              /* "session.state" */
    char at[WIRE_TIME_TEXT];
    char session[24], name[SESSION_NAME_MAX + 1];
    char node[NODE_NAME_MAX + 1];
    char actor[64];              /* "" : the system */
    char state[16], outcome[16];
    uint32_t attempt;
    char text[160];
};
struct excess_view {             /* a limit that is in the way */
    char level[16], name[64];    /* "project", "vision" */
    char what[16];               /* "gpu", "running" */
    int64_t used, asked, limit;
};
struct why_view {
    char session[24], name[SESSION_NAME_MAX + 1];
    enum session_state state;
    enum why_kind kind;
    char text[1024];
    char wait[16];               /* WAITING, for what: "hold", "dependency", ... */
    uint32_t n_excess;           /* OVER_QUOTA: all of them */
    struct excess_view excess[QUOTA_EXCESSES_MAX];
    char estimate[16];           /* "dated", or why there is no date; "": nothing waits */
    int64_t expected_in_ms;      /* -1: no date */
    char expected[512];          /* the same in words, and what it rests on */
    char rests_on[24];           /* who has to end before, or stands in the way */
    char node[NODE_NAME_MAX + 1]; /* where its first container would be */
    char blocker[24];            /* SKIPPED: the session ahead */
    uint32_t place, queue_length;
    uint32_t nodes, unreachable, cordoned, quarantined, unhealthy, too_small, busy;
    uint32_t filtered;           /* by its constraints */
    char nearest_node[NODE_NAME_MAX + 1];
    struct slots_view missing;
    int64_t since_ms;            /* for how long already */
    int64_t retry_in_ms;         /* WAITING */
    uint32_t failed_starts;
};
struct queue_entry_view {
    uint32_t place;
    char id[24], name[SESSION_NAME_MAX + 1], owner[64], group[64];
    int32_t priority;
    struct slots_view total;
    int64_t waiting_ms;
    char kind[16];               /* enum why_kind: "no_capacity" */
    char reason[1024];
    int64_t expected_in_ms;      /* -1: no date */
    char expected[512];          /* in words, and what it rests on */
};
struct version_view { char version[24]; uint32_t protocol; char cluster[33], incarnation[33]; };
struct join_token_answer { char *token; char ca_sha256[65]; char agent_url[256]; };
struct problem {                 /* RFC 9457 */
    char type[128], title[64];
    uint32_t status;
    char code[32], detail[512], field[64];
};
struct session_list { VEC(struct session_view) items; char next[64]; };
struct node_list { VEC(struct node_view) items; char next[64]; };
struct group_list { VEC(struct group_view) items; char next[64]; };
struct event_list { VEC(struct event_view) items; char next[64]; };
struct queue_list { VEC(struct queue_entry_view) items; char next[64]; };
extern const struct wire_table wire_session_view, wire_node_view, wire_group_view,
    wire_event_view, wire_why_view, wire_queue_entry_view, wire_version_view,
    wire_join_token_answer, wire_problem, wire_session_list, wire_node_list, wire_group_list,
    wire_event_list, wire_queue_list;

/* ---- joining and carrying; struct ticket is in wire/ticket.h ---- */
struct join_request {
    uint32_t protocol;
    char *token;
    char node[NODE_NAME_MAX + 1]; /* the proxy's name when role is "proxy" */
    char role[16];                /* "agent" (default), "proxy" */
    char *csr;                    /* PEM */
};
struct join_answer {
    uint32_t protocol;
    char cluster[33], incarnation[33];
    uint32_t node_id;             /* 0: not yet known (the first sync gives it), or a proxy */
    uint64_t epoch;               /* of the last agent of that name; the next begins above it */
    char *cert, *ca;              /* PEM */
    char ticket_key[48];          /* base64, Ed25519 public key */
};
struct renew_request { char *csr; }; /* PEM; of whom the client certificate says */
struct renew_answer { char *cert; };
struct exec_request { struct wire_texts argv; bool tty; struct wire_map env; };
struct carry_end { int32_t exit_code, signal; bool oom, timed_out; char detail[160]; };
extern const struct wire_table wire_renew_request, wire_renew_answer;
extern const struct wire_table wire_join_request, wire_join_answer, wire_exec_request,
    wire_carry_end;

#endif
