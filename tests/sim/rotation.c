/* tests/sim/rotation.c - many seeds of the simulated fleet of rotors, or one with its log.
 *
 *     rotation [--seeds N] [--first S] [--hours N] [--calm] [--log] [--cover] [--hash]
 *     rotation --breaks         each break of the fleet is found, and by its oracle
 *     rotation --kill-each      an agent dies at each step of a history, one by one
 *     rotation --break NAME     with the other options: the fleet is broken so
 *
 * Every 10th seed is run twice, and both runs must be the same event for event.
 * --cover demands that every branch, fault and phase was met.  Prints what was
 * exercised and, last, "N passed, N failed". */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"
#include "base/str.h"
#include "sim/rotation.h"

#define BREAK_SEEDS 300u
#define KILL_SEEDS 3u

struct plan {
    uint64_t seeds, first, hours;
    bool calm, log, hash, cover, breaks, kills;
    enum rotation_break broken;
    struct rotation_trace trace;
    struct rotation_result sum;
    uint64_t passed, failed, fleet_hours;
};

static void say(const char *line) { puts(line); }
static unsigned long long u(uint64_t v) { return v; }

static uint64_t number(const char *text)
{
    uint64_t v = 0;
    if (!str_to_u64(str_of(text), &v)) {
        fprintf(stderr, "rotation: expected a number, got \"%s\"\n", text);
        exit(2);
    }
    return v;
}

static enum rotation_break break_of(const char *name)
{
    for (int i = 0; i < ROTATION_BREAKS; i++)
        if (strcmp(rotation_break_name((enum rotation_break)i), name) == 0)
            return (enum rotation_break)i;
    fprintf(stderr, "rotation: there is no break \"%s\"\n", name);
    exit(2);
}

static struct rotation_options options_of(const struct plan *p, uint64_t seed)
{
    return (struct rotation_options){
        .seed = seed, .span_ms = (int64_t)p->hours * 3600000,
        .clock_ms = (int64_t)(seed * 5 % 24) * 3600000,
        .rotors = 2 + (uint32_t)(seed % 5), .pools = 2 + (uint32_t)(seed % 3),
        .keep = 1 + (uint32_t)(seed % 2), .faults = !p->calm, .co_resident = seed % 4 == 1,
        .broken = p->broken, .say = p->log ? say : NULL};
}

/* ---- many seeds ---- */

static void add(struct rotation_result *sum, const struct rotation_result *r)
{
    sum->hash = (sum->hash ^ r->hash) * UINT64_C(0x100000001b3);
    sum->events += r->events;
    sum->requests += r->requests;
    sum->reheld += r->reheld;
    sum->aborted += r->aborted;
    sum->runs_begun += r->runs_begun;
    sum->binds += r->binds;
    sum->moves += r->moves;
    sum->interrupts += r->interrupts;
    sum->drains += r->drains;
    sum->aborted_drains += r->aborted_drains;
    sum->restores += r->restores;
    for (int i = 0; i < ROTATE_BRANCHES; i++) sum->branches[i] += r->branches[i];
    for (int i = 0; i < GATE_CHECKS; i++) sum->checks[i] += r->checks[i];
    for (int i = 0; i < CLAIM_ANSWERS; i++) sum->claims[i] += r->claims[i];
    for (int i = 0; i < ROTATION_FAULTS; i++) sum->faults[i] += r->faults[i];
    for (int i = 0; i < WAYBACK_PHASES; i++)
        for (int k = 0; k < WAYBACK_ACTIONS; k++) sum->recoveries[i][k] += r->recoveries[i][k];
}

static void print_sum(const struct plan *p)
{
    const struct rotation_result *s = &p->sum;
    printf("%llu fleet-hours, %llu events, %llu requests (%llu held again, %llu cut off), "
           "%llu runs begun\n", u(p->fleet_hours), u(s->events), u(s->requests), u(s->reheld),
           u(s->aborted), u(s->runs_begun));
    printf("%llu binds, %llu moves (%llu interrupt), %llu drains (%llu given up), %llu restores\n",
           u(s->binds), u(s->moves), u(s->interrupts), u(s->drains), u(s->aborted_drains),
           u(s->restores));
    printf("branches:");
    for (int i = 1; i < ROTATE_BRANCHES; i++) printf(" %d:%llu", i, u(s->branches[i]));
    printf("\nchecks:");
    for (int i = 1; i < GATE_CHECKS; i++)
        printf(" %s:%llu", gate_check_name((enum gate_check)i), u(s->checks[i]));
    printf("\nclaims:");
    for (int i = 0; i < CLAIM_ANSWERS; i++)
        printf(" %s:%llu", rotate_claim_name((enum rotate_claim)i), u(s->claims[i]));
    printf("\nfaults:");
    for (int i = 0; i < ROTATION_FAULTS; i++)
        printf(" %s:%llu", rotation_fault_name((enum rotation_fault)i), u(s->faults[i]));
    printf("\nrecoveries:");
    for (int i = 0; i < WAYBACK_PHASES; i++)
        for (int k = 0; k < WAYBACK_ACTIONS; k++)
            if (s->recoveries[i][k] > 0)
                printf(" %s/%s:%llu", wayback_phase_name((enum wayback_phase)i),
                       wayback_action_name((enum wayback_action)k), u(s->recoveries[i][k]));
    printf("\n");
}

static void count(struct plan *p, bool fine, const char *what, const char *name)
{
    p->passed += fine;
    p->failed += !fine;
    if (!fine) printf("%s: %s\n", what, name);
}

/* The first five checks are the loop's refusals too, so that the gate is never asked, and
 * what is queued for an open engine does not stay queued. */
static void cover(struct plan *p)
{
    const struct rotation_result *s = &p->sum;
    for (int i = 1; i < ROTATE_BRANCHES; i++)
        count(p, s->branches[i] > 0, "branch never met",
              rotate_branch_name((enum rotate_branch)i));
    for (int i = GATE_NOT_QUIET; i < GATE_CHECKS; i++)
        count(p, s->checks[i] > 0, "check never met", gate_check_name((enum gate_check)i));
    for (int i = 0; i < CLAIM_ANSWERS; i++) {
        if (i == CLAIM_HELD || i == CLAIM_NO_RUN) continue; /* of calls that cross: too rare */
        count(p, s->claims[i] > 0, "answer to a claim never met",
              rotate_claim_name((enum rotate_claim)i));
    }
    for (int i = 0; i < ROTATION_FAULTS; i++)
        count(p, s->faults[i] > 0, "fault never met", rotation_fault_name((enum rotation_fault)i));
    for (int i = WAYBACK_TMP; i < WAYBACK_PHASES; i++) {
        uint64_t n = 0;
        for (int k = 0; k < WAYBACK_ACTIONS; k++) n += s->recoveries[i][k];
        count(p, n > 0, "phase never recovered from", wayback_phase_name((enum wayback_phase)i));
    }
    count(p, s->recoveries[WAYBACK_ENDED][WAYBACK_QUARANTINE_ROTOR] > 0, "never met",
          "a rotor in quarantine");
    count(p, s->recoveries[WAYBACK_VERIFYING][WAYBACK_RESTORE_DECLARED] > 0, "never met",
          "a declared spec put back");
    count(p, s->reheld > 0 && s->aborted > 0, "never met", "a bounded drain that cuts off");
}

static void run_seeds(struct plan *p)
{
    for (uint64_t seed = p->first; seed < p->first + p->seeds; seed++) {
        struct rotation_options o = options_of(p, seed);
        struct rotation_result r, again;
        rotation_run(&o, &p->trace, &r);
        add(&p->sum, &r);
        p->fleet_hours += o.rotors * p->hours;
        if (r.ok && seed % 10 == 0) {
            rotation_run(&o, &p->trace, &again);
            if (again.hash != r.hash) {
                r.ok = false;
                text_clip(r.why, sizeof(r.why), STR("a second run differs"));
            }
        }
        p->passed += r.ok;
        p->failed += !r.ok;
        if (!r.ok)
            printf("seed %llu broke at %lld ms: %s\n", u(seed), (long long)r.at_ms, r.why);
    }
    print_sum(p);
    if (p->cover) cover(p);
    if (p->hash) printf("hash %016llx\n", u(p->sum.hash));
}

/* ---- each break has its oracle ---- */

static const struct { enum rotation_break broken; const char *found[3]; } FOUND[] = {
    {BREAK_RUN_BESIDE_ENGINE, {"a run starts beside an engine"}},
    {BREAK_ENGINE_BESIDE_RUN, {"an engine starts beside a run"}},
    {BREAK_LOSE_RECORD, {"so is its way back"}},
    {BREAK_IGNORE_GATE, {"drains although"}},
    {BREAK_UNKNOWN_IS_FINE, {"moves away from a run", "drains an engine that was active",
                             "drains although"}},
    {BREAK_SKIP_SECOND_ASKING, {"is drained over", "is drained with", "is drained while"}},
    {BREAK_DROP_REQUEST, {"requests came"}},
    {BREAK_NO_CLAIM, {"rotors move to"}},
    {BREAK_TWO_RUNS, {"is on r", "starts without its claim"}},
    {BREAK_KILL_RUN, {"a live run is stopped"}},
    {BREAK_IGNORE_PIN, {"moves although pinned", "drains although held"}},
    {BREAK_IGNORE_DWELL, {"moves within the dwell"}},
    {BREAK_IGNORE_KEEP, {"keeps its rotors"}},
    {BREAK_NO_RESTORE, {"its record is at RESTORING", "its record is at VERIFYING"}},
    {BREAK_FORGET_RUN, {"is with nobody"}},
    {BREAK_IGNORE_INTRUDER, {"an engine stays beside a run"}},
    {BREAK_SILENT_DEATH, {"requests run in no engine"}},
    {BREAK_IGNORE_RESERVE, {"moves although reserved", "drains although held"}},
    {BREAK_NO_MEASURE, {"on devices that are not free"}},
    {BREAK_ANY_PRIORITY, {"leaves work for what is no more urgent"}},
};
_Static_assert(sizeof(FOUND) / sizeof(*FOUND) + 1 == ROTATION_BREAKS, "one per break");

static void run_breaks(struct plan *p)
{
    for (size_t i = 0; i < ARRAY_LEN(FOUND); i++) {
        struct rotation_result r = {.ok = true};
        uint64_t seed = 0;
        p->broken = FOUND[i].broken;
        while (r.ok && seed++ < BREAK_SEEDS) {
            struct rotation_options o = options_of(p, seed);
            rotation_run(&o, &p->trace, &r);
        }
        bool right = false;
        for (int k = 0; k < 3 && !r.ok && FOUND[i].found[k]; k++)
            right = right || strstr(r.why, FOUND[i].found[k]);
        printf("%-20s %s (seed %llu)\n", rotation_break_name(p->broken),
               r.ok ? "not found" : r.why, u(seed));
        count(p, right, "not found as it should be", rotation_break_name(p->broken));
    }
}

/* ---- an agent dies at each step ---- */

static void kill_each(struct plan *p, uint64_t seed)
{
    struct rotation_options o = {.seed = seed, .span_ms = INT64_C(6) * 3600000, .rotors = 2,
                                 .clock_ms = INT64_C(20) * 3600000, .pools = 1};
    struct rotation_result r;
    rotation_run(&o, &p->trace, &r);
    count(p, r.ok && r.drains > 0 && r.restores > 0, "nothing is drained without a kill", r.why);
    for (uint64_t steps = r.steps, k = 1; k <= steps; k++) {
        o.kill_at_step = (uint32_t)k;
        rotation_run(&o, &p->trace, &r);
        add(&p->sum, &r);
        p->passed += r.ok;
        p->failed += !r.ok;
        if (!r.ok) printf("seed %llu, killed at step %llu: %s\n", u(seed), u(k), r.why);
    }
}

static void run_kills(struct plan *p)
{
    for (uint64_t seed = 1; seed <= KILL_SEEDS; seed++) kill_each(p, seed);
    for (int i = WAYBACK_TMP; i <= WAYBACK_RESTORED; i++) {
        uint64_t n = 0;
        for (int k = 0; k < WAYBACK_ACTIONS; k++) n += p->sum.recoveries[i][k];
        count(p, n > 0, "nobody was killed at", wayback_phase_name((enum wayback_phase)i));
    }
    print_sum(p);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"seeds", required_argument, NULL, 'n'}, {"first", required_argument, NULL, 'f'},
        {"hours", required_argument, NULL, 'o'}, {"calm", no_argument, NULL, 'c'},
        {"log", no_argument, NULL, 'l'}, {"cover", no_argument, NULL, 'v'},
        {"break", required_argument, NULL, 'b'}, {"breaks", no_argument, NULL, 'B'},
        {"kill-each", no_argument, NULL, 'k'}, {"hash", no_argument, NULL, 'h'}, {0}};
    static struct plan p = {.seeds = 10, .first = 1, .hours = 8};
    int opt;
    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (opt == 'n') p.seeds = number(optarg);
        else if (opt == 'f') p.first = number(optarg);
        else if (opt == 'o') p.hours = number(optarg);
        else if (opt == 'c') p.calm = true;
        else if (opt == 'l') p.log = true;
        else if (opt == 'v') p.cover = true;
        else if (opt == 'b') p.broken = break_of(optarg);
        else if (opt == 'B') p.breaks = true;
        else if (opt == 'k') p.kills = true;
        else if (opt == 'h') p.hash = true;
        else return 2;
    }
    rotation_trace_make(&p.trace, 7);
    if (p.breaks) run_breaks(&p);
    else if (p.kills) run_kills(&p);
    else run_seeds(&p);
    rotation_trace_done(&p.trace);
    printf("%llu passed, %llu failed\n", u(p.passed), u(p.failed));
    return p.failed == 0 && p.passed > 0 ? 0 : 1;
}
