/* tests/sim/cluster.c - many seeds of the simulated cluster, or one with its trace.
 *
 *     cluster [--seeds N] [--first S] [--trace] [--hash]
 *
 * Each seed is run once; every 50th twice, and both runs must be the same
 * message for message; --hash prints a number over all messages, which another
 * process must print too.  Prints the counts of what was exercised and, last,
 * "N passed, N failed". */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/str.h"
#include "sim/cluster.h"

static void say(const char *line) { puts(line); }

static void add(struct sim_result *sum, const struct sim_result *r)
{
    sum->steps += r->steps;
    sum->delivered += r->delivered;
    sum->lost += r->lost;
    sum->doubled += r->doubled;
    sum->turns += r->turns;
    sum->reloads += r->reloads;
    sum->leader_kills += r->leader_kills;
    sum->agent_kills += r->agent_kills;
    sum->reboots += r->reboots;
    sum->forgotten += r->forgotten;
    sum->hermits += r->hermits;
    sum->timed_out += r->timed_out;
    sum->hash = (sum->hash ^ r->hash) * UINT64_C(0x100000001b3);
    sum->sessions += r->sessions;
    sum->succeeded += r->succeeded;
    sum->failed += r->failed;
    sum->cancelled += r->cancelled;
    sum->evictions += r->evictions;
    sum->preempted += r->preempted;
    sum->fenced += r->fenced;
    sum->sleeps += r->sleeps;
    sum->released += r->released;
    sum->lost_sessions += r->lost_sessions;
}

static void print_sum(const struct sim_result *s)
{
    printf("%llu sessions: %llu succeeded, %llu failed, %llu cancelled, %llu timed out, "
           "%llu lost, %llu preempted (%llu times made to go)\n",
           (unsigned long long)s->sessions, (unsigned long long)s->succeeded,
           (unsigned long long)s->failed, (unsigned long long)s->cancelled,
           (unsigned long long)s->timed_out, (unsigned long long)s->lost_sessions,
           (unsigned long long)s->preempted, (unsigned long long)s->evictions);
    printf("%llu steps, %llu turns, %llu reloads after a bad commit\n",
           (unsigned long long)s->steps, (unsigned long long)s->turns,
           (unsigned long long)s->reloads);
    printf("%llu messages: %llu lost, %llu doubled; %llu leaders and %llu agents killed, "
           "%llu reboots, %llu nodes forgotten, %llu silent for a day\n",
           (unsigned long long)s->delivered, (unsigned long long)s->lost,
           (unsigned long long)s->doubled, (unsigned long long)s->leader_kills,
           (unsigned long long)s->agent_kills, (unsigned long long)s->reboots,
           (unsigned long long)s->forgotten, (unsigned long long)s->hermits);
    printf("%llu times somebody slept, %llu containers ended for silence, %llu rows released "
           "for it\n",
           (unsigned long long)s->sleeps, (unsigned long long)s->fenced,
           (unsigned long long)s->released);
}

static uint64_t number(const char *text)
{
    uint64_t v = 0;
    if (!str_to_u64(str_of(text), &v)) {
        fprintf(stderr, "cluster: expected a number, got \"%s\"\n", text);
        exit(2);
    }
    return v;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"seeds", required_argument, NULL, 'n'},
                                            {"first", required_argument, NULL, 'f'},
                                            {"trace", no_argument, NULL, 't'},
                                            {"hash", no_argument, NULL, 'h'},
                                            {0}};
    uint64_t seeds = 1000, first = 1;
    bool trace = false, hash = false;
    int opt;
    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (opt == 'n') seeds = number(optarg);
        else if (opt == 'f') first = number(optarg);
        else if (opt == 't') trace = true;
        else if (opt == 'h') hash = true;
        else return 2;
    }
    struct sim_result sum = {0};
    uint64_t passed = 0, failed = 0;
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        struct sim_options o = {.seed = seed, .trace = trace, .say = say};
        struct sim_result r, again;
        sim_run(&o, &r);
        add(&sum, &r);
        if (r.ok && seed % 50 == 0) {
            sim_run(&o, &again);
            if (again.hash != r.hash) {
                r.ok = false;
                text_clip(r.why, sizeof(r.why), STR("a second run differs"));
            }
        }
        passed += r.ok;
        failed += !r.ok;
        if (!r.ok)
            printf("seed %llu broke at %lld ms: %s\n", (unsigned long long)seed,
                   (long long)r.at_ms, r.why);
    }
    print_sum(&sum);
    if (hash) printf("hash %016llx\n", (unsigned long long)sum.hash);
    printf("%llu passed, %llu failed\n", (unsigned long long)passed, (unsigned long long)failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}
