/* sim/rotation_fleet.h - the parts of a simulated fleet, and who may call whom.
 *
 * A rotor has three kinds of state: what physically is (engine, run, memory), what
 * is on its disk (note, record) and what its agent holds in memory.  An agent that
 * dies loses the last alone; a reboot ends the first.  Only `fleet_*` functions of
 * the file named by each block change that block. */
#ifndef SIM_ROTATION_FLEET_H
#define SIM_ROTATION_FLEET_H
#include "base/heap.h"
#include "base/rng.h"
#include "base/vec.h"
#include "sim/rotation.h"

#define NOBODY UINT32_MAX
#define FLEET_SLOTS 64u              /* requests an engine answers at once */
#define FLEET_TICK_MS 5000
#define FLEET_HOLD_MS INT64_C(60000) /* a request is held so long, then refused */
#define FLEET_BIND_MS INT64_C(300000) /* refusals count as backlog for so long */
#define FLEET_KINDS (ROTATION_POOLS_MAX + 1) /* the training pool is the last */
#define HOUR_MS INT64_C(3600000)

enum fleet_event {
    EV_ARRIVE = 0, EV_DIRECT, EV_DONE, EV_HOLD_OUT, EV_RETRY, EV_TICK, EV_STEP, EV_LOADED,
    EV_ENGINE_GONE, EV_ENGINE_BACK, EV_RUN_ARRIVE, EV_RUN_END, EV_AGENT_UP, EV_FAULT, EV_OPERATOR,
    EV_LATE,
    FLEET_EVENTS
};

/* ---- requests and pools (rotation_proxy.c) ---- */

enum request_state { REQUEST_FREE = 0, REQUEST_HELD, REQUEST_RUNNING, REQUEST_AWAY };

struct request {
    enum request_state state; /* AWAY: its client was answered, and asks again */
    bool direct, large;       /* past the proxy; with a body that is not kept */
    uint32_t pool, rotor, stamp, prefill_ms, decode_ms;
    int64_t came_ms, begun_ms; /* first asked; its last begin */
};

struct held { uint32_t slot, stamp; };

struct service { /* a pool; the training pool is one too */
    char name[16];
    bool training, batch;     /* batch: items wait without limit, nobody holds a line */
    int32_t priority;
    uint32_t engine;          /* pools of one engine are co-resident */
    uint32_t keep;
    int64_t load_ms;
    VEC(struct held) queue;   /* from head on; entries whose stamp is old are passed over */
    uint32_t head, n_held;
    VEC(int64_t) refusals;    /* times, from refused_head on */
    uint32_t refused_head;
    uint64_t version;         /* manager: of its claims */
    int64_t fails_until_ms;   /* fault: no load succeeds */
    uint32_t seen_waiting;    /* manager: as the proxy last said */
    int64_t seen_oldest_ms, seen_at_ms;
    VEC(uint32_t) waits;      /* of requests that are done */
};

/* ---- what physically is (rotation_engine.c, rotation_train.c) ---- */

struct engine {
    bool alive, loading, terming; /* terming: it was told to end */
    bool armed;               /* its restart policy */
    bool open, routed;        /* admission and routes at the proxy */
    bool intruder;            /* nobody of ours started it */
    uint32_t pool, serial;    /* serial: of its events */
    uint64_t start, counter;  /* identity of the process; work it has done */
    int64_t active_ms;        /* truth: when work last came or ended, or a load ended */
};

struct box_run {
    bool there, executing;    /* its container is; its program runs */
    bool leftover;            /* it ended, and a process still holds the devices */
    uint32_t run, serial;
    uint64_t fence;
    int64_t begun_ms;
    bool exited, well;        /* the exit file: durable */
};

struct machine_faults { /* until when */
    int64_t metrics_ms, stuck_ms, driver_ms, port_ms, noise_ms, device_ms, cut_ms, disk_ms,
            memory_ms, verify_ms;
};

/* ---- on disk ---- */

struct note { uint32_t bound; uint64_t epoch; uint32_t run; uint64_t fence; };

struct record {
    enum wayback_phase phase; /* NONE: there is none */
    bool corrupt, kept;       /* kept: flagged, the declared spec was put back */
    uint32_t pool, run, boot;
    uint64_t epoch, fence, start;
    uint32_t serial;          /* truth: which engine it is the way back of */
};

/* ---- in the agent's memory (rotation_agent.c, rotation_way.c) ---- */

enum move_stage { MOVE_NONE = 0, MOVE_DRAIN, MOVE_STOP, MOVE_LOAD };

struct agent {
    bool up;
    uint32_t life;
    struct quiet quiet;
    struct clock_anchors at;
    int64_t view_ms;          /* when the manager last answered; < 0: never */
    bool pinned, reserved, known;
    uint64_t view_epoch;
    uint32_t next_run;        /* NOBODY: no run is queued */
    struct pool_view { uint32_t waiting; int64_t oldest_ms, at_ms; uint64_t version; }
        view[FLEET_KINDS];
    uint32_t fails[FLEET_KINDS];
    int64_t backed_until_ms[FLEET_KINDS];
    enum move_stage stage;
    bool interrupts;          /* the move under way is branch 3's */
    int64_t stage_ms;
    bool driving, recovering; /* a record is being worked off; what it means is not clear yet */
    enum wayback_phase phase; /* that is worked on; the one on disk may be the one before */
    bool durable, waits;      /* waits: looks again, now and then, whether it is done */
    enum fact acked, asked;   /* of the phase: the manager's answer; the second asking's */
    int64_t phase_ms;
    uint32_t tries;           /* of the verification */
    uint32_t recoveries;      /* of this record, in this life */
    uint32_t boot;
};

struct rotor {
    uint32_t index, boot, step; /* step: the one event that makes a move or a record go on */
    struct engine engine;
    struct box_run run;
    int64_t memory_free_ms;   /* devices are free from then on */
    VEC(uint32_t) running;    /* slots of requests */
    struct note note;
    struct record disk;
    bool quarantined, down;   /* nothing is started here; rebooting */
    struct agent agent;
    struct machine_faults fault;
    int64_t pin_until_ms, reserve_until_ms;
    enum rotation_use use;
    struct { /* oracle */
        bool torn_down;       /* an engine was stopped for a run and is not back yet */
        bool moving;          /* towards note.bound */
        bool draining;        /* a drain has begun, and neither was given up nor led to a run */
        int64_t moved_ms;     /* the last move was over */
        int64_t intruded_ms;
    } truth;
};

/* ---- the manager (rotation_manager.c) ---- */

struct binding {
    uint32_t bound, run;      /* run: the rotor has it, or may have it */
    uint64_t epoch;
    bool claim;               /* on its way to `bound`, not there yet */
    bool unheard;             /* since the manager came back from a backup */
    struct record copy;
};

enum run_state { RUN_QUEUED = 0, RUN_CLAIMED, RUN_ENDED };
struct run {
    enum run_state state;
    bool fails;
    uint32_t rotor;
    int64_t length_ms;
    uint64_t fence;
};

struct fleet {
    const struct rotation_options *options;
    struct rotation_result *result;
    struct rotate_limits limits;
    struct rng rng, demand;    /* demand: runs and clients, the same for every policy */
    int64_t now_ms;
    bool resting;              /* the span is over: no traffic, runs or faults any more */
    struct heap events;
    uint64_t seq;
    struct rotation_arrivals arrivals;
    struct rotation_request coming;
    uint32_t n_rotors, n_pools; /* pools[n_pools] trains */
    struct rotor rotors[ROTATION_ROTORS_MAX];
    struct service pools[FLEET_KINDS];
    VEC(struct request) requests;
    VEC(uint32_t) spare;
    uint64_t n_held, n_running, n_away, n_direct;
    uint64_t starts;           /* of engines: identities */
    uint32_t direct_rotor;
    int64_t direct_until_ms;
    struct binding binding[ROTATION_ROTORS_MAX];
    struct binding backup[ROTATION_ROTORS_MAX];
    VEC(struct run) runs;
    uint32_t first_queued, n_queued;
    int64_t away_until_ms, mute_until_ms, lossy_until_ms;
};

/* rotation.c */
void fleet_at(struct fleet *f, int64_t at_ms, enum fleet_event kind, uint32_t slot,
              uint32_t stamp);
uint64_t fleet_below(struct fleet *f, uint64_t n);
bool fleet_chance(struct fleet *f, uint32_t one_in); /* never without faults */
void fleet_broken(struct fleet *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void fleet_say(struct fleet *f, const struct rotor *r, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static inline bool fleet_is_broken(const struct fleet *f, enum rotation_break b)
{
    return f->options->broken == b;
}

/* rotation_proxy.c */
void fleet_arrive(struct fleet *f);
void fleet_direct(struct fleet *f);
void fleet_late(struct fleet *f, struct rotor *r); /* work, just as its engine is drained */
void fleet_done(struct fleet *f, uint32_t slot, uint32_t stamp);
void fleet_hold_out(struct fleet *f, uint32_t slot, uint32_t stamp);
void fleet_retry(struct fleet *f, uint32_t slot, uint32_t stamp);
void fleet_pump(struct fleet *f, uint32_t engine); /* those held go where there is room */
void fleet_abort(struct fleet *f, struct rotor *r); /* all that runs there, visibly */
void fleet_interrupt(struct fleet *f, struct rotor *r); /* the bounded drain is over */
uint32_t fleet_waiting(struct fleet *f, uint32_t pool, int64_t *ret_oldest_ms);
uint32_t fleet_in_flight(const struct fleet *f, const struct rotor *r, bool co);
bool fleet_serves(const struct fleet *f, const struct rotor *r, uint32_t pool);

/* rotation_engine.c */
void fleet_engine_start(struct fleet *f, struct rotor *r, uint32_t pool);
void fleet_engine_loaded(struct fleet *f, struct rotor *r, uint32_t serial);
void fleet_engine_term(struct fleet *f, struct rotor *r);
void fleet_engine_die(struct fleet *f, struct rotor *r);
void fleet_engine_back(struct fleet *f, struct rotor *r, uint32_t serial);
void fleet_engine_open(struct fleet *f, struct rotor *r); /* admission and routes */
bool fleet_engine_healthy(const struct rotor *r);
bool fleet_memory_free(const struct fleet *f, const struct rotor *r);
/* What the agent can read of it. */
struct quiet_sample fleet_engine_sample(struct fleet *f, const struct rotor *r);
struct quiet_profile fleet_engine_profile(const struct fleet *f, uint32_t pool);

/* rotation_train.c */
void fleet_run_arrive(struct fleet *f);
void fleet_run_create(struct fleet *f, struct rotor *r, uint32_t run, uint64_t fence);
void fleet_run_go(struct fleet *f, struct rotor *r);
void fleet_run_ended(struct fleet *f, struct rotor *r, uint32_t serial);
void fleet_run_stop(struct fleet *f, struct rotor *r); /* by force: it starts over elsewhere */
void fleet_run_reap(struct fleet *f, struct rotor *r);

/* rotation_manager.c */
void fleet_manager_report(struct fleet *f, struct rotor *r); /* levels; and back comes the view */
enum rotate_claim fleet_manager_claim(struct fleet *f, struct rotor *r, uint32_t pool,
                                      uint64_t *ret_epoch);
/* The run that the last view offered. */
enum rotate_claim fleet_manager_claim_run(struct fleet *f, struct rotor *r, uint64_t *ret_fence);
enum fact fleet_manager_ack(struct fleet *f, struct rotor *r);
enum fact fleet_manager_copy(struct fleet *f, struct rotor *r, struct record *ret);
uint32_t fleet_manager_take(struct fleet *f, struct rotor *r); /* others: a run, or NOBODY */
uint32_t fleet_manager_bound(const struct fleet *f, uint32_t pool);
uint32_t fleet_manager_claims(const struct fleet *f, uint32_t pool, uint32_t but);

/* rotation_agent.c */
void fleet_agent_start(struct fleet *f, struct rotor *r);
void fleet_agent_die(struct fleet *f, struct rotor *r);
void fleet_agent_tick(struct fleet *f, struct rotor *r);
void fleet_agent_step(struct fleet *f, struct rotor *r); /* EV_STEP: a move or a record goes on */
void fleet_agent_later(struct fleet *f, struct rotor *r, int64_t pause_ms); /* it does so then */
bool fleet_agent_maybe_die(struct fleet *f, struct rotor *r); /* at a step; true: it did */
void fleet_reboot(struct fleet *f, struct rotor *r);

/* rotation_facts.c */
struct snapshot {
    struct gate_facts facts;  /* .here.candidates points into this struct */
    struct rotate_candidate candidates[FLEET_KINDS];
    uint32_t pools[FLEET_KINDS]; /* of the candidates */
};
void fleet_facts(struct fleet *f, struct rotor *r, struct snapshot *ret);
enum fact fleet_sees(const struct fleet *f, const struct rotor *r, bool truth); /* by the driver */

/* rotation_move.c */
void fleet_move_begin(struct fleet *f, struct rotor *r, uint32_t pool, uint64_t epoch);
void fleet_move_step(struct fleet *f, struct rotor *r);
void fleet_move_resume(struct fleet *f, struct rotor *r); /* after a restart: is it as noted? */
void fleet_move_release(struct fleet *f, struct rotor *r);

/* rotation_way.c */
void fleet_way_try(struct fleet *f, struct rotor *r, struct gate_facts *facts); /* ten passed */
void fleet_way_step(struct fleet *f, struct rotor *r);
void fleet_way_from(struct fleet *f, struct rotor *r, enum wayback_phase phase, bool durable);
void fleet_way_close(struct rotor *r); /* the record is removed */
/* rotation_recover.c */
void fleet_recover(struct fleet *f, struct rotor *r);

/* rotation_policy.c */
void fleet_policy_start(struct fleet *f);
void fleet_policy_tick(struct fleet *f, struct rotor *r);

/* rotation_fault.c */
void fleet_fault(struct fleet *f);
void fleet_operator(struct fleet *f, struct rotor *r);

/* rotation_oracle.c */
void oracle_event(struct fleet *f); /* after every event */
void oracle_engine_start(struct fleet *f, const struct rotor *r);
void oracle_run_start(struct fleet *f, const struct rotor *r);
void oracle_run_stopped(struct fleet *f, const struct rotor *r);
void oracle_move(struct fleet *f, const struct rotor *r, uint32_t pool);
void oracle_drain(struct fleet *f, const struct rotor *r, const struct gate_facts *facts);
void oracle_asked_again(struct fleet *f, const struct rotor *r); /* and the drain goes on */
void oracle_term(struct fleet *f, const struct rotor *r);
void oracle_rest(struct fleet *f); /* at the very end */

#endif
