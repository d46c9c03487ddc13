/* bench/place.c - one placement search among 10,000 nodes, and one change of a node.
 *
 *     place [SEARCHES]
 *
 * Nodes of 8 GPUs and 6 models; all but a few GPUs busy, then none.  For each strategy:
 * nanoseconds of CPU time a search by the index, and by looking at every node, which
 * names the same one.  docs/spec/scheduling.md, "Placement" */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/bitset.h"
#include "base/check.h"
#include "base/rng.h"
#include "core/sched/place.h"
#include "core/sched/sched.h"

#define NODES 10000u
#define SLOW_EVERY 200u

static int64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void hold(struct world *w, uint32_t at, struct slots amount, uint32_t devices)
{
    (void)ledger_add(w, &(struct alloc){.ref = {.session = 1 + w->allocs.n, .attempt = 1},
                                        .node = at + 1,
                                        .slots = amount,
                                        .devices = devices,
                                        .revoked = true});
}

static struct world *filled(struct rng *r, uint32_t busy_pct)
{
    struct world *w = world_new();
    const char *why = NULL;
    struct group g = group_make(1, "g", BLOCKED_SKIP);
    bool fine = world_put_group(w, &g);
    for (uint32_t i = 1; i <= NODES && fine; i++) {
        struct node n = {.id = i, .group = 1, .n_devices = 8};
        n.capacity = (struct slots){{128000, INT64_C(768) << 30, 8}};
        text_fmt(n.name, sizeof(n.name), "n%u", i);
        for (uint32_t d = 0; d < 8; d++) {
            n.devices[d].health = DEVICE_HEALTHY;
            text_fmt(n.devices[d].model, sizeof(n.devices[d].model), "m%u", i % 6);
        }
        fine = world_put_node(w, &n);
    }
    fine = fine && world_ready(w, &why);
    CHECK(fine);
    VEC_EACH(n, &w->nodes) {
        n->heard = true;
        node_refresh(w, n);
        for (uint32_t d = 0; d < 8; d++) {
            if (rng_below(r, 100) >= busy_pct) continue;
            hold(w, n->id - 1, (struct slots){{1000 * (int64_t)rng_below(r, 16), 1 << 30, 1}},
                 1u << d);
        }
    }
    sched_sync(w);
    return w;
}

static struct session drawn(struct rng *r, enum place_strategy by)
{
    struct session s = {.group = 1, .n_roles = 1, .members = 1, .strategy = by};
    s.roles[0].count = 1;
    s.roles[0].slots = (struct slots){{1000 * (1 + (int64_t)rng_below(r, 32)),
                                       (1 + (int64_t)rng_below(r, 64)) << 30,
                                       (int64_t)rng_below(r, 3)}};
    if (rng_below(r, 2))
        text_fmt(s.where.gpu_models, sizeof(s.where.gpu_models), "m%u", (unsigned)rng_below(r, 6));
    return s;
}

static void measure(struct world *w, const char *load, enum place_strategy by, uint32_t searches)
{
    struct rng r = {17};
    struct place p = {0}, slow = {.every_node = true};
    int64_t fast_ns = 0, slow_ns = 0, change_ns = 0;
    uint32_t slows = 0;
    for (uint32_t i = 0; i < searches; i++) {
        struct session s = drawn(&r, by);
        int64_t began = now_ns();
        bool found = place_decide(w, &s, PLACE_NOW, &p);
        fast_ns += now_ns() - began;
        if (i % SLOW_EVERY == 0) {
            began = now_ns();
            bool same = place_decide(w, &s, PLACE_NOW, &slow) == found;
            slow_ns += now_ns() - began;
            CHECK(same);
            CHECK(!found || p.picks.v[0].node == slow.picks.v[0].node);
            slows++;
        }
        struct node *n = &w->nodes.v[rng_below(&r, NODES)];
        struct alloc *a = world_allocs_of_node(w, n);
        began = now_ns();
        if (a) ledger_release(w, a); /* and back again */
        sched_sync(w);
        if (n->used_devices != 0xff) {
            hold(w, n->id - 1, (struct slots){{1000, 1 << 30, 1}},
                 bits_take_low(~n->used_devices, 1));
        }
        sched_sync(w);
        change_ns += now_ns() - began;
    }
    printf("%-6s %-16s %9lld %9lld %9lld\n", load, place_strategy_name(by),
           (long long)(fast_ns / searches), (long long)(slow_ns / slows),
           (long long)(change_ns / searches / 2));
    place_done(&p);
    place_done(&slow);
}

int main(int argc, char **argv)
{
    long searches = argc > 1 ? strtol(argv[1], NULL, 10) : 20000;
    if (searches < 1 || searches > 10000000) {
        fprintf(stderr, "usage: place [SEARCHES]\n");
        return 2;
    }
    printf("ns of CPU time: one search by the index, by every node; one change of a node\n");
    printf("%-6s %-16s %9s %9s %9s\n", "load", "strategy", "index", "every", "change");
    for (uint32_t busy = 0; busy < 100; busy += 97) {
        struct rng r = {busy};
        struct world *w = filled(&r, busy);
        for (enum place_strategy by = STRATEGY_CONCENTRATED; by < PLACE_STRATEGIES; by++) {
            measure(w, busy ? "full" : "empty", by, (uint32_t)searches);
        }
        world_free(w);
    }
    return 0;
}
