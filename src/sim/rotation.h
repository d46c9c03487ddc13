/* sim/rotation.h - a fleet of rotors on a trace of requests and a queue of training runs.
 *
 * The core's own functions decide (core/rotate); this is the world around them:
 * engines that load, clients that ask again, agents that die, a manager that goes
 * away.  The same options and trace give the same history, event by event
 * (result.hash).  docs/spec/rotation.md */
#ifndef SIM_ROTATION_H
#define SIM_ROTATION_H
#include "base/strbuf.h"
#include "core/rotate/claim.h"
#include "core/rotate/gate.h"
#include "core/rotate/loop.h"
#include "core/rotate/wayback.h"
#include "sim/rotation_trace.h"

#define ROTATION_ROTORS_MAX 64u
#define ROTATION_POOLS_MAX 8u
#define ROTATION_DAYS_MAX 400

enum rotation_policy {
    ROTATION_ROTA = 0, /* core/rotate decides */
    ROTATION_BOX,      /* one box per workload, for good */
    ROTATION_EAGER,    /* follows the demand of this second; a run is stopped for it */
    ROTATION_HASTY,    /* as eager, but a run is left to its end */
    ROTATION_POLICIES
};
const char *rotation_policy_name(enum rotation_policy p);

/* What the world does to the fleet when faults are asked for. */
enum rotation_fault {
    FAULT_AGENT_KILL = 0, FAULT_STEP_KILL, FAULT_REBOOT, FAULT_ENGINE_CRASH, FAULT_ENGINE_INTRUDES,
    FAULT_METRICS, FAULT_GAUGE_STUCK, FAULT_DRIVER, FAULT_PORT, FAULT_NOISE, FAULT_DEVICE,
    FAULT_MANAGER_AWAY, FAULT_MANAGER_OLD, FAULT_CALLS_LOST, FAULT_PROXY_MUTE,
    FAULT_PIN, FAULT_RESERVE, FAULT_DISK_FULL, FAULT_RECORD_CORRUPT, FAULT_MEMORY_STUCK,
    FAULT_BIND_FAILS, FAULT_VERIFY_FAILS, FAULT_RUN_CRASH, FAULT_LATE_WORK,
    ROTATION_FAULTS
};
const char *rotation_fault_name(enum rotation_fault f);

/* What may be broken in the fleet itself, to see that an oracle finds it. */
enum rotation_break {
    BREAK_NOTHING = 0,
    BREAK_RUN_BESIDE_ENGINE, BREAK_ENGINE_BESIDE_RUN, BREAK_LOSE_RECORD, BREAK_IGNORE_GATE,
    BREAK_UNKNOWN_IS_FINE, BREAK_SKIP_SECOND_ASKING, BREAK_DROP_REQUEST, BREAK_NO_CLAIM,
    BREAK_TWO_RUNS, BREAK_KILL_RUN, BREAK_IGNORE_PIN, BREAK_IGNORE_DWELL, BREAK_IGNORE_KEEP,
    BREAK_NO_RESTORE, BREAK_FORGET_RUN, BREAK_IGNORE_INTRUDER, BREAK_SILENT_DEATH,
    BREAK_IGNORE_RESERVE, BREAK_NO_MEASURE, BREAK_ANY_PRIORITY,
    ROTATION_BREAKS
};
const char *rotation_break_name(enum rotation_break b);

struct rotation_options {
    uint64_t seed;
    int64_t span_ms;          /* traffic and accounts; then all has to come to rest */
    int64_t clock_ms;         /* time of the day at the beginning, for the daily curve */
    uint32_t rotors, pools;
    uint32_t keep;            /* so many of the most urgent pools keep a rotor at all hours */
    enum rotation_policy policy;
    bool faults;
    bool co_resident;         /* the last pool is served by the engine of the first */
    enum rotation_break broken;
    uint32_t kill_at_step;    /* the agent dies at this step of a drain or restore; 0: at none */
    void (*say)(const char *line); /* what happens, line by line; may be NULL */
};

enum rotation_use { /* where the hours of a rotor go */
    USE_SERVING = 0, /* a request in flight */
    USE_TRAINING,    /* a run live */
    USE_LOADING, USE_DRAINING, USE_RESTORING, USE_IDLE, USE_UNBOUND, USE_DOWN,
    ROTATION_USES
};
const char *rotation_use_name(enum rotation_use u);

struct rotation_wait { int64_t mean_ms, p50_ms, p99_ms, most_ms; uint64_t requests; };

struct rotation_result {
    bool ok;
    char why[256];            /* the first oracle that broke */
    int64_t at_ms;
    uint64_t hash, events;
    int64_t use_ms[ROTATION_USES];
    int64_t wasted_ms;        /* of training: by runs that were stopped and began anew */
    struct rotation_wait wait, pool_wait[ROTATION_POOLS_MAX];
    uint64_t requests, done, lost, refused, reheld, aborted, direct, direct_aborted;
    uint64_t runs, runs_done, runs_failed, runs_begun, runs_requeued;
    uint64_t ticks, moves, interrupts, binds, drains, aborted_drains, restores, failed_binds;
    uint64_t branches[ROTATE_BRANCHES], checks[GATE_CHECKS], claims[CLAIM_ANSWERS];
    uint64_t recoveries[WAYBACK_PHASES][WAYBACK_ACTIONS];
    uint64_t faults[ROTATION_FAULTS];
    uint64_t steps;           /* of drains and restores; what kill_at_step counts */
};

/* Runs one history.  options are in range: seed any, span_ms, rotors, pools > 0. */
void rotation_run(const struct rotation_options *options, const struct rotation_trace *trace,
                  struct rotation_result *ret);

/* ---- the report (rotation_report.c) ---- */
/* n results of the same options but for the policy, side by side. */
void rotation_report_text(struct strbuf *b, const struct rotation_options *options,
                          const struct rotation_result *results,
                          const enum rotation_policy *policies, uint32_t n);
void rotation_report_json(struct strbuf *b, const struct rotation_options *options,
                          const struct rotation_result *results,
                          const enum rotation_policy *policies, uint32_t n);

#endif
