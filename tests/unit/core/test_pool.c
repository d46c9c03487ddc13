/* The queue of a group against a sorted array, and what makes a family. */
#include "harness.h"

#include "base/rng.h"
#include "core/model/pool.h"

static void add(struct world *w, uint32_t slot, int32_t priority, uint64_t id, int64_t cpu)
{
    struct session *s = &w->sessions.v[slot];
    *s = lab_request(1, cpu, 1, 0);
    s->id = id;
    s->priority = priority;
    s->state = SESSION_PENDING;
    s->members = 1;
    pool_add(w, s);
}

static bool before(const struct session *a, const struct session *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->id < b->id;
}

static struct world *bare(uint32_t slots)
{
    struct world *w = world_new();
    struct group g = group_make(1, "g", BLOCKED_SKIP);
    assert_true(world_put_group(w, &g));
    for (uint32_t i = 0; i < slots; i++) (void)world_add_session(w);
    return w;
}

static void compare(const struct world *w, struct session **sorted, uint32_t n)
{
    uint32_t got;
    const struct queue_entry *e = pool_entries(w, 1, &got);
    assert_int_equal(got, n);
    for (uint32_t i = 0; i < n; i++) {
        assert_true(e[i].seq == sorted[i]->id);
        assert_int_equal(pool_place(w, sorted[i]), i + 1);
    }
}

static void keeps_the_order(void **state)
{
    (void)state;
    enum { N = 150 };
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct rng r = {seed};
        struct world *w = bare(N);
        struct session *sorted[N];
        uint32_t n = 0, next = 0;
        while (next < N || n > 0) {
            /* Mostly to the back and from the front, sometimes anywhere. */
            if (next < N && (n == 0 || rng_below(&r, 2))) {
                add(w, next, rng_below(&r, 4) ? 10 : (int32_t)rng_below(&r, 3), next + 1, 1);
                uint32_t at = n++;
                struct session *s = &w->sessions.v[next++];
                for (; at > 0 && before(s, sorted[at - 1]); at--) sorted[at] = sorted[at - 1];
                sorted[at] = s;
            } else {
                uint32_t at = rng_below(&r, 2) ? 0 : (uint32_t)rng_below(&r, n);
                pool_remove(w, sorted[at]);
                for (n--; at < n; at++) sorted[at] = sorted[at + 1];
            }
            compare(w, sorted, n);
        }
        assert_int_equal(w->family_by_key.n, 0); /* families go with their last session */
        world_free(w);
    }
}

static uint32_t family(const struct world *w, uint32_t slot)
{
    return pool_entry(w, &w->sessions.v[slot])->family;
}

/* What differs in amounts of one choice alone is of one family. */
static void families_are_shared(void **state)
{
    (void)state;
    struct world *w = bare(6);
    add(w, 0, 10, 1, 1);
    add(w, 1, 50, 2, 7);
    assert_int_equal(family(w, 0), family(w, 1));
    static const struct { const char *name; uint32_t members; int64_t gpu; bool one_node, same; }
    CASES[] = {
        {"a device", 1, 1, false, false},
        {"a gang", 2, 0, false, false},
        {"all on one node", 2, 0, true, true},
    };
    for (uint32_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct session *s = &w->sessions.v[2];
        *s = lab_request(CASES[i].members, 1, 1, CASES[i].gpu);
        s->id = 3 + i;
        s->members = CASES[i].members;
        s->one_node = CASES[i].one_node;
        s->state = SESSION_PENDING;
        pool_add(w, s);
        if ((family(w, 2) == family(w, 0)) != CASES[i].same) fail_msg("%s", CASES[i].name);
        pool_remove(w, s);
    }
    pool_remove(w, &w->sessions.v[0]);
    pool_remove(w, &w->sessions.v[1]);
    assert_int_equal(w->family_by_key.n, 0);
    world_free(w);
}

/* Every order of a group against the rule that it is named for. */
static void orders(void **state)
{
    (void)state;
    static const int64_t limits[] = {3000, 0, 1000, 2000};
    static const int64_t cpus[] = {1, 1, 4, 1};
    static const struct { enum queue_order order; uint64_t ids[4]; } CASES[] = {
        {ORDER_FIFO, {1, 2, 3, 4}},     {ORDER_LIFO, {4, 3, 2, 1}},
        {ORDER_SHORTEST, {3, 4, 1, 2}}, {ORDER_SMALLEST, {4, 1, 3, 2}},
        {ORDER_LONGEST, {2, 1, 4, 3}},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct world *w = bare(4);
        for (uint32_t k = 0; k < 4; k++) {
            add(w, k, 10, k + 1, cpus[k]);
            pool_remove(w, &w->sessions.v[k]);
            w->sessions.v[k].time_limit_ms = limits[k];
            pool_add(w, &w->sessions.v[k]);
        }
        w->groups.v[0].order = CASES[i].order;
        pool_resort(w, 1);
        uint32_t n;
        const struct queue_entry *e = pool_entries(w, 1, &n);
        assert_int_equal(n, 4);
        for (uint32_t k = 0; k < 4; k++) {
            if (e[k].seq != CASES[i].ids[k]) fail_msg("order %s", queue_order_name(CASES[i].order));
        }
        world_free(w);
    }
}

/* Where a due pass has to begin. */
static void passes_begin_where_something_changed(void **state)
{
    (void)state;
    struct world *w = bare(4);
    struct pool_queue *q = &w->queues.v[0];
    for (uint32_t i = 0; i < 3; i++) add(w, i, 10, i + 1, 1);
    q->due = false;
    add(w, 3, 5, 4, 1); /* behind all */
    assert_true(q->due);
    assert_int_equal(q->from, 3);
    pool_remove(w, &w->sessions.v[0]);
    assert_int_equal(q->from, 0);
    q->due = false;
    pool_park(w, &w->sessions.v[2]);
    assert_true(pool_entry(w, &w->sessions.v[2])->parked);
    pool_wake(w, &w->sessions.v[2]);
    assert_false(pool_entry(w, &w->sessions.v[2])->parked);
    assert_int_equal(q->from, 1);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_order),
        cmocka_unit_test(families_are_shared),
        cmocka_unit_test(orders),
        cmocka_unit_test(passes_begin_where_something_changed),
    };
    return RUN(tests);
}
