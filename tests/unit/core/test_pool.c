/* The queue of a group against a sorted array, and what refused shapes share. */
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
        assert_int_equal(w->shape_by_key.n, 0); /* shapes go with their last session */
        world_free(w);
    }
}

static void shapes_are_shared(void **state)
{
    (void)state;
    struct world *w = bare(4);
    struct pool_queue *q = &w->queues.v[0];
    for (uint32_t i = 0; i < 3; i++) add(w, i, 10, i + 1, 1 + (i == 2));
    uint32_t small = pool_entry(w, &w->sessions.v[0])->shape;
    uint32_t large = pool_entry(w, &w->sessions.v[2])->shape;
    assert_int_equal(pool_entry(w, &w->sessions.v[1])->shape, small);
    assert_int_not_equal(small, large);
    assert_int_equal(q->open, 3);
    pool_refuse(w, small);
    assert_int_equal(q->open, 1);
    assert_true(pool_refused(w, small));
    assert_false(pool_refused(w, large));
    add(w, 3, 50, 4, 1); /* an arrival of the refused shape is not open either */
    assert_int_equal(q->open, 1);
    pool_remove(w, &w->sessions.v[2]);
    assert_int_equal(q->open, 0);
    world_free(w);
}

/* A refused shape opens again when a node could host one of it, not before. */
static void freed_room_opens_shapes(void **state)
{
    (void)state;
    static const struct { const char *name; int64_t cpu, gib; bool usable; bool small, large; }
    CASES[] = {
        {"too little for both", 0, 9, true, false, false},
        {"enough for the small", 1, 9, true, true, false},
        {"enough for both", 2, 9, true, true, true},
        {"enough, without memory", 2, 0, true, false, false},
        {"closed", 2, 9, false, false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct world *w = bare(2);
        struct node *n = world_add_node(w);
        memcpy(n->name, "n1", 3);
        n->group = 1;
        n->heard = CASES[i].usable;
        n->capacity = lab_slots(CASES[i].cpu, CASES[i].gib, 0);
        node_refresh(w, n);
        add(w, 0, 10, 1, 1);
        add(w, 1, 10, 2, 2);
        uint32_t small = pool_entry(w, &w->sessions.v[0])->shape;
        uint32_t large = pool_entry(w, &w->sessions.v[1])->shape;
        pool_refuse(w, small);
        pool_refuse(w, large);
        pool_freed(w, n);
        pool_freed(w, n);
        pool_reopen(w);
        if (pool_refused(w, small) == CASES[i].small) fail_msg("%s: small", CASES[i].name);
        if (pool_refused(w, large) == CASES[i].large) fail_msg("%s: large", CASES[i].name);
        assert_int_equal(w->queues.v[0].open, CASES[i].small + CASES[i].large);
        world_free(w);
    }
}

/* Opened by a room that was filled again: no search is needed to refuse it. */
static void filled_rooms_leave_no_hope(void **state)
{
    (void)state;
    struct world *w = bare(2);
    struct node *n = world_add_node(w);
    memcpy(n->name, "n1", 3);
    n->group = 1;
    n->heard = true;
    n->capacity = lab_slots(2, 9, 0);
    node_refresh(w, n);
    add(w, 0, 10, 1, 2);
    uint32_t shape = pool_entry(w, &w->sessions.v[0])->shape;
    pool_reopen(w);
    assert_false(pool_hopeless(w, shape)); /* never refused: nobody knows */
    pool_refuse(w, shape);
    pool_freed(w, n);
    pool_reopen(w);
    assert_false(pool_hopeless(w, shape));
    n->capacity.v[SLOT_CPU] = 1000;
    node_refresh(w, n);
    assert_true(pool_hopeless(w, shape));
    add(w, 1, 10, 2, 1);
    assert_false(pool_hopeless(w, pool_entry(w, &w->sessions.v[1])->shape));
    pool_reopen(w); /* not looked at in that pass: other rooms may have grown before this one */
    assert_false(pool_hopeless(w, shape));
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_order),
        cmocka_unit_test(shapes_are_shared),
        cmocka_unit_test(freed_room_opens_shapes),
        cmocka_unit_test(filled_rooms_leave_no_hope),
    };
    return RUN(tests);
}
