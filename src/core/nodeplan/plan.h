/* core/nodeplan/plan.h - what an agent should do next: wanted minus observed.
 *
 * Levels, not events: both lists are always full.  The same code runs in the
 * agent and in the simulator.  It only plans; every action is idempotent and is
 * planned again until the observation shows it done.  docs/spec/node.md */
#ifndef CORE_NODEPLAN_PLAN_H
#define CORE_NODEPLAN_PLAN_H
#include <stdbool.h>
#include <stdint.h>
#include "base/vec.h"

/* Every order, name and report carries all three. */
struct member_ref {
    uint64_t session;
    uint32_t attempt; /* from 1 */
    uint32_t member;  /* from 0; member 0 is the main one */
};
int member_ref_cmp(struct member_ref a, struct member_ref b);

/* How far a container has come, as its node reports it. */
enum member_phase {
    MEMBER_NONE = 0,  /* not reported yet */
    MEMBER_PREPARING, /* claimed; image, folders, network */
    MEMBER_READY,     /* created, held at the start barrier */
    MEMBER_STARTING,  /* barrier open, command not yet running */
    MEMBER_RUNNING,
    MEMBER_STOPPING,  /* told to end, not yet gone */
    MEMBER_EXITED,    /* ran and is proved gone */
    MEMBER_FAILED,    /* never ran and is proved gone */
    MEMBER_PHASES
};
const char *member_phase_name(enum member_phase p);

struct member_end { /* of EXITED and FAILED */
    int32_t exit_code;  /* 0..255; -1: unknown */
    int32_t signal;     /* that killed it, or 0 */
    bool oom;           /* the memory limit ended it */
    bool timed_out;     /* the supervisor ended it at its time limit */
    bool fatal;         /* FAILED: trying again cannot help (no such image) */
    bool fenced;        /* it ended because its agent was not answered any more */
    bool vanished;      /* set by the manager alone: the node did not say so, it has it no more */
    char detail[128];   /* for people, may be "" */
    int64_t cpu_us, mem_peak_bytes; /* that it used; 0: not known */
};

struct member_report {
    struct member_ref ref;
    enum member_phase phase;
    bool orphan;           /* made for another cluster or store incarnation: kept, shown */
    uint32_t signal_done;  /* number of the last signal wish carried out */
    struct member_end end; /* until then, `detail` alone: what it waits for, what it runs */
};

enum want_act {
    WANT_HOLD = 1, /* create it, keep it at the barrier */
    WANT_RUN,      /* create it if need be, let it run */
    WANT_STOP,     /* end it: TERM, grace, KILL */
};

struct member_want {
    struct member_ref ref;
    enum want_act act;
    bool fresh;         /* never seen in a report of its node: may be created.  What was
                           there once and is not any more must not run a second time. */
    uint32_t signal_no; /* 0: none wished yet; numbered, each done once */
    int32_t signal;
    int64_t grace_ms;   /* for WANT_STOP */
    bool preempted;     /* for WANT_STOP: it makes room for another */
};

bool member_wants_same(const struct member_want *a, uint32_t n_a, const struct member_want *b,
                       uint32_t n_b);

enum plan_act {
    PLAN_CREATE = 1, /* needs the body (the session's document) */
    PLAN_GO,
    PLAN_SIGNAL,
    PLAN_STOP,
    PLAN_CLEAN, /* not wanted any more: end it if it lives, remove all traces */
};

struct plan_step {
    enum plan_act act;
    struct member_ref ref;
    uint32_t signal_no;
    int32_t signal;
    int64_t grace_ms;
    bool preempted;
};
struct plan { VEC(struct plan_step) steps; };

/* Both arrays sorted by ref, without doubles (CHECK).  Orphans get no step.
 * A wanted member that is not there is created only when the wish is fresh;
 * else the report that does not list it tells the manager that it is gone.
 * An EXITED or FAILED member that is wanted gets no step: its report is what
 * the manager waits for.  Steps come in order of ref: cleaning and stopping
 * first, so that devices are free before something new is created. */
void plan_node(const struct member_want *want, uint32_t n_want,
               const struct member_report *have, uint32_t n_have, struct plan *out);
void plan_done(struct plan *p);

#endif
