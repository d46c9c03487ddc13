/* The pass against the naive one: same starts, same devices, same promises, every time. */
#include "twins.h"

#include <stdlib.h>

#define WORLDS 150

static uint64_t below(struct twins *t, uint64_t n) { return rng_below(&t->rng, n); }

static void submit(struct twins *t)
{
    static const int64_t limits[] = {10000, 20000, 30000, 60000, 100000};
    uint32_t members = below(t, 4) ? 1 : 2 + (uint32_t)below(t, 3);
    struct session s = lab_request(members, 1 + (int64_t)below(t, 4), 1 + (int64_t)below(t, 4),
                                   below(t, 2) ? (int64_t)below(t, 5) : 0);
    s.one_node = below(t, 4) == 0;
    s.user = 1 + (uint32_t)below(t, 3);
    s.project = 1 + (uint32_t)below(t, 3);
    s.group = 1 + (uint32_t)below(t, t->n_groups);
    s.priority = below(t, 3) ? 10 : (int32_t)below(t, 3) * 10;
    if (below(t, 3)) s.time_limit_ms = limits[below(t, ARRAY_LEN(limits))];
    if (below(t, 12) == 0) s.start_after_ms = t->now_ms + 1000 * (int64_t)below(t, 20);
    struct event ev = {.kind = EVENT_SUBMIT, .u.submit = {.session = s, .allow_impossible = true}};
    ev.more_coming = below(t, 4) == 0;
    if (below(t, 20) == 0) {
        ev.u.submit.array_count = 4;
        ev.u.submit.array_step = 1;
        ev.u.submit.session.array_limit = 1 + (uint32_t)below(t, 2);
    }
    twins_step(t, ev);
}

static uint64_t some_session(struct twins *t)
{
    return 1 + below(t, t->fast->last_session + 1);
}

static void update(struct twins *t)
{
    struct event ev = {.kind = EVENT_UPDATE};
    ev.u.update.session = some_session(t);
    const struct session *s = world_session(t->fast, ev.u.update.session);
    if (!s || s->state != SESSION_PENDING) return;
    ev.u.update.fields = below(t, 2) ? UPDATE_PRIORITY : UPDATE_HOLD;
    ev.u.update.priority = (int32_t)below(t, 4) * 10;
    ev.u.update.hold = below(t, 3) == 0;
    twins_step(t, ev);
}

static void happen(struct twins *t)
{
    switch (below(t, 16)) {
    case 0: case 1: case 2: case 3: case 4: case 5: submit(t); return;
    case 6:
        twins_step(t, (struct event){.kind = EVENT_STOP,
                                     .u.stop = {some_session(t), OUTCOME_CANCELLED, 0}});
        twins_run(t, t->now_ms); /* at once: nobody stays longer than he said */
        return;
    case 7:
        twins_step(t, (struct event){.kind = EVENT_NODE_CORDON,
                                     .u.cordon = {1 + (uint32_t)below(t, t->n_nodes),
                                                  below(t, 3) == 0}});
        return;
    case 8: update(t); return;
    default: twins_run(t, t->now_ms + (int64_t)below(t, 8000)); return;
    }
}

static void one_world(uint64_t seed, uint32_t nodes, uint32_t events, uint64_t sums[4])
{
    struct twins *t = twins_new(seed, nodes);
    for (uint32_t i = 0; i < events; i++) happen(t);
    sums[0] += t->placed;
    sums[1] += t->promised;
    sums[2] += t->moved;
    sums[3] += t->seen;
    twins_free(t);
}

static void same_as_the_naive_pass(void **state)
{
    (void)state;
    const char *more = getenv("ROTA_TWINS"), *from = getenv("ROTA_TWINS_FIRST");
    uint64_t worlds = more ? strtoull(more, NULL, 10) : WORLDS, sums[4] = {0};
    uint64_t first = from ? strtoull(from, NULL, 10) : 0;
    for (uint64_t seed = first; seed < first + worlds; seed++) {
        struct rng r = {seed * 31 + 7};
        if (getenv("ROTA_TWINS_SAY")) print_message("seed %llu\n", (unsigned long long)seed);
        one_world(seed, 2 + (uint32_t)rng_below(&r, 8), 80, sums);
    }
    print_message("%llu starts, %llu promise-steps, %llu of them earlier than first promised\n",
                  (unsigned long long)sums[0], (unsigned long long)sums[1],
                  (unsigned long long)sums[2]);
    if (more) return;
    assert_true(sums[0] > 10 * WORLDS); /* the worlds are lively, or this proves little */
    assert_true(sums[1] > 20 * WORLDS);
    assert_true(sums[2] > WORLDS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_the_naive_pass),
    };
    return RUN(tests);
}
