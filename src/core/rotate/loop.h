/* core/rotate/loop.h - should this rotor bind itself to another pool?
 *
 * Asked once per rotor per tick.  Pure: it reads the facts it is given and names
 * one of nine branches; seven of them say stay.  The same code runs in the agent
 * and in the simulator.  docs/spec/rotation.md, "The loop" */
#ifndef CORE_ROTATE_LOOP_H
#define CORE_ROTATE_LOOP_H
#include "base/fact.h"
#include "core/rotate/clocks.h"

enum rotate_state {
    ROTATE_UNBOUND = 0,
    ROTATE_SERVING,   /* a pool */
    ROTATE_TRAINING,  /* a run, with a way-back record */
    ROTATE_TRAINPOOL, /* a training pool, bound directly: no record */
    ROTATE_STATES
};

enum rotate_engine {
    ENGINE_UNKNOWN = 0,
    ENGINE_QUIET,
    ENGINE_ACTIVE,
    ENGINE_ABSENT,
    ENGINE_STATES
};

enum rotate_branch { /* values are the page's branch numbers */
    ROTATE_NONE = 0, /* no branch was asked: in transition, or a run with a record has ended */
    ROTATE_STAY_TRAINING = 1,
    ROTATE_STAY_IN_FLIGHT,
    ROTATE_MOVE_PREEMPT,
    ROTATE_STAY_PINNED,
    ROTATE_STAY_RESERVED,
    ROTATE_STAY_NOT_IDLE,
    ROTATE_STAY_ENGINE_BUSY,
    ROTATE_MOVE_IDLE,
    ROTATE_STAY_HANDOVER,
    ROTATE_BRANCHES
};

enum rotate_action {
    ROTATE_STAY = 0,
    ROTATE_WAIT,    /* a transition is under way: no decision is taken inside it */
    ROTATE_MOVE,    /* from the bound pool to the target */
    ROTATE_BIND,    /* an unbound rotor to the target */
    ROTATE_RELEASE, /* a training pool's rotor, to UNBOUND */
    ROTATE_RESTORE, /* the run with a record is over: put the engine back */
    ROTATE_ACTIONS
};

struct rotate_candidate { /* another pool; {0} is none */
    const char *name;
    int32_t priority;
    bool training;          /* a training pool: for UNBOUND rotors, after every serving pool */
    bool lost;              /* its claim was lost on this tick */
    uint32_t waiting;       /* its backlog, less the claims on it */
    int64_t oldest_ms;      /* how long its oldest item waits */
    enum fact readable, fresh, fits, co_resident, backed_off;
};

struct rotate_facts { /* one snapshot; {0} knows nothing, and so stays */
    enum rotate_state state;
    bool transition;           /* a move is under way */
    enum fact run_live;
    enum fact in_flight;       /* of the bound pool */
    enum fact co_in_flight;    /* of a co-resident pool */
    enum fact pinned, reserved;
    enum rotate_engine engine;
    struct reading cur_prio;   /* highest of the bound pool and co-residents with work here */
    struct reading idle_ms;    /* clocks_idle; clocks_release in TRAINPOOL */
    struct reading dwell_ms;   /* clocks_dwell */
    const struct rotate_candidate *candidates;
    uint32_t n_candidates;
};

#define ROTATE_NO_TARGET UINT32_MAX
struct rotate_verdict {
    enum rotate_branch branch; /* the first that matches: the headline */
    enum rotate_action action;
    uint32_t matched;          /* all that match: bit 1 << branch */
    uint32_t target;           /* of MOVE and BIND: index of a candidate, else ROTATE_NO_TARGET */
};
/* MOVE and BIND need a claim (claim.h).  Who loses it marks the candidate lost and
 * asks again: the answer is then the next candidate's, or a reason to stay. */
struct rotate_verdict rotate_decide(const struct rotate_limits *lim, const struct rotate_facts *f);

/* Not known to be quiet: quiet_now as the loop's engine.  An engine that is not
 * there is ENGINE_ABSENT, which only the caller can know. */
enum rotate_engine rotate_engine_of(enum fact quiet);

/* One word, as in case files; one sentence, for people. */
const char *rotate_state_name(enum rotate_state s);
const char *rotate_engine_name(enum rotate_engine e);
const char *rotate_action_name(enum rotate_action a);
const char *rotate_branch_name(enum rotate_branch b);
const char *rotate_branch_text(enum rotate_branch b);

#endif
