/* bench/rotate.c - one decision about a rotor: the loop with 16 candidates, and the gate.
 *
 *     rotate [--rounds N]
 *
 * The facts change with every decision, over all branches.  The last line has the mean of
 * each; the exit status says whether the dearest keeps to the target. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "base/check.h"
#include "base/rng.h"
#include "base/str.h"
#include "core/rotate/gate.h"

#define CANDIDATES 16u
#define SNAPSHOTS 1024u
#define TARGET_NS 2000

struct snapshot {
    struct gate_facts f;
    struct rotate_candidate candidates[CANDIDATES];
    char names[CANDIDATES][16];
};

static struct snapshot snapshots[SNAPSHOTS];

static int64_t now_ns(void)
{
    struct timespec t;
    CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* One fact in sixteen is a reason to stay, so that all branches are met. */
static enum fact mostly(struct rng *r, enum fact usual)
{
    return rng_below(r, 16) == 0 ? FACT_YES : usual;
}

static void fill_candidates(struct rng *r, struct snapshot *s)
{
    for (uint32_t i = 0; i < CANDIDATES; i++) {
        struct rotate_candidate *c = &s->candidates[i];
        text_fmt(s->names[i], sizeof(s->names[i]), "pool-%u", i);
        *c = (struct rotate_candidate){
            .name = s->names[i], .priority = (int32_t)rng_below(r, 4),
            .waiting = rng_below(r, 8) == 0 ? 0 : 3, .oldest_ms = (int64_t)rng_below(r, 3) * 1000,
            .readable = FACT_YES, .fresh = FACT_YES, .fits = mostly(r, FACT_YES),
            .co_resident = mostly(r, FACT_NO), .backed_off = mostly(r, FACT_NO)};
    }
}

static void fill(struct rng *r, struct snapshot *s)
{
    bool work = rng_below(r, 2) == 0;
    fill_candidates(r, s);
    s->f = (struct gate_facts){
        .here = {.state = ROTATE_SERVING, .run_live = mostly(r, FACT_NO),
                 .in_flight = mostly(r, FACT_NO), .co_in_flight = mostly(r, FACT_NO),
                 .pinned = mostly(r, FACT_NO), .reserved = mostly(r, FACT_NO),
                 .engine = rng_below(r, 8) == 0 ? ENGINE_ACTIVE : ENGINE_QUIET,
                 .cur_prio = READING((int64_t)rng_below(r, 5)),
                 .idle_ms = READING((int64_t)rng_below(r, 900) * 1000),
                 .dwell_ms = READING((int64_t)rng_below(r, 900) * 1000),
                 .candidates = s->candidates, .n_candidates = work ? CANDIDATES : 0},
        .run_fits = FACT_YES, .queued = mostly(r, FACT_NO),
        .quiet_ms = READING((int64_t)rng_below(r, 2400) * 1000),
        .demand_manager = mostly(r, FACT_NO), .demand_node = mostly(r, FACT_NO),
        .epochs_agree = FACT_YES, .way_back = FACT_YES};
}

/* Nanoseconds for one; `count` keeps the compiler from leaving it out. */
static int64_t time_loop(uint32_t rounds, uint64_t *count)
{
    int64_t began = now_ns();
    for (uint32_t i = 0; i < rounds; i++) {
        const struct gate_facts *f = &snapshots[i % SNAPSHOTS].f;
        count[rotate_decide(&ROTATE_LIMITS_DEFAULT, &f->here).branch]++;
    }
    return (now_ns() - began) / rounds;
}

static int64_t time_gate(uint32_t rounds, uint64_t *count)
{
    int64_t began = now_ns();
    for (uint32_t i = 0; i < rounds; i++) {
        const struct gate_facts *f = &snapshots[i % SNAPSHOTS].f;
        count[gate_decide(&ROTATE_LIMITS_DEFAULT, f).headline]++;
    }
    return (now_ns() - began) / rounds;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"rounds", required_argument, NULL, 'r'}, {0}};
    int64_t rounds = 2000000;
    int c;
    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (c != 'r' || !str_to_i64(str_of(optarg), &rounds) || rounds < 1) return 2;
        if (rounds > UINT32_MAX) return 2;
    }
    struct rng r = {1};
    uint64_t branches[ROTATE_BRANCHES] = {0}, checks[GATE_CHECKS] = {0};
    for (uint32_t i = 0; i < SNAPSHOTS; i++) fill(&r, &snapshots[i]);
    int64_t loop_ns = time_loop((uint32_t)rounds, branches);
    int64_t gate_ns = time_gate((uint32_t)rounds, checks);
    for (int b = 1; b < ROTATE_BRANCHES; b++) CHECK(branches[b] > 0 || rounds < SNAPSHOTS);
    printf("rotate: a decision of the loop %" PRId64 " ns (%u candidates in every second), "
           "of the gate %" PRId64 " ns, at most %d\n", loop_ns, CANDIDATES, gate_ns, TARGET_NS);
    return loop_ns < TARGET_NS && gate_ns < TARGET_NS ? 0 : 1;
}
