/* sim/cluster.h - clients, a leader with its store, machines: one seed, one history.
 *
 * The same options give the same history, message by message (result.hash). */
#ifndef SIM_CLUSTER_H
#define SIM_CLUSTER_H
#include "core/sched/place.h"
#include "sim/leader.h"
#include "sim/machine.h"

struct sim_options {
    uint64_t seed;
    bool trace; /* one line an event, to standard output by the caller's `say` */
    void (*say)(const char *line);
};

struct sim_result {
    bool ok;
    char why[256];
    int64_t at_ms; /* where it broke, or how long it took */
    uint64_t hash;
    uint64_t steps, delivered, lost, doubled, turns, reloads;
    uint64_t leader_kills, agent_kills, reboots, forgotten, hermits;
    uint64_t sessions, succeeded, failed, cancelled, timed_out, lost_sessions;
    uint64_t evictions, preempted;
    uint64_t fenced, sleeps, released; /* containers that ended for silence; machines and leaders
                                          that slept; rows released for silence */
};

struct told { /* by a report about a current row, before its step */
    struct member_ref ref;
    uint32_t failed_starts;
    bool ran;   /* its command began, or trying again cannot help: never anew */
    bool unborn; /* its start failed */
    bool fatal; /* its end ends the others */
};

struct cluster {
    struct post post;
    struct disk disk;
    struct leader leader;
    uint32_t n_machines;
    struct machine machines[LEADER_MACHINES_MAX];
    VEC(struct job) jobs; /* fixed after the start: machines point into it */
    bool chaos;           /* faults happen */
    bool fencing;         /* some jobs are to run again when their machine is cut off */
    struct machine *hermit; /* silent for more than a day; NULL: nobody is */
    VEC(struct told) told; /* oracle: what the report at hand says of sessions */
    struct place scratch;        /* oracle */
    const struct sim_options *options;
    struct sim_result *result;
};

void sim_run(const struct sim_options *options, struct sim_result *ret);

#define SIM_DAY_MS INT64_C(86400000)

/* Used by the parts. */
void cluster_send(struct cluster *c, struct letter l); /* through cuts, losses, delays */
struct job *cluster_job(struct cluster *c, const struct job *job);
struct job *cluster_job_of(struct cluster *c, uint64_t session); /* NULL: nobody's */
void cluster_broken(struct cluster *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void cluster_say(struct cluster *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
