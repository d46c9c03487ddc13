/* What a family is known not to start, and what takes that back. */
#include "harness.h"

#include "core/model/pool.h"
#include "core/sched/frontier.h"

static const struct endless NOBODY = {{0}};

static struct queue_entry entry(const struct world *w, int64_t cpu, int64_t gib, int64_t limit_ms)
{
    struct queue_entry e = *pool_entry(w, &w->sessions.v[0]);
    e.cpu = cpu * 1000;
    e.mem = gib << 30;
    e.limit_ms = limit_ms;
    return e;
}

/* A node of so much, and one session that waits. */
static struct world *bare(int64_t cpu, int64_t gib)
{
    struct world *w = world_new();
    struct group g = group_make(1, "g", BLOCKED_SKIP);
    assert_true(world_put_group(w, &g));
    struct node *n = world_add_node(w);
    memcpy(n->name, "n1", 3);
    n->group = 1;
    n->heard = true;
    n->capacity = lab_slots(cpu, gib, 0);
    node_refresh(w, n);
    struct session *s = world_add_session(w);
    *s = lab_request(1, 1, 1, 0);
    s->id = 1;
    s->members = 1;
    s->state = SESSION_PENDING;
    pool_add(w, s);
    frontier_begin(w);
    return w;
}

static void points_cover_what_asks_more(void **state)
{
    (void)state;
    struct world *w = bare(2, 8);
    struct queue_entry refused = entry(w, 4, 4, 1000);
    frontier_add_now(w, &refused, refused.limit_ms);
    static const struct { int64_t cpu, gib, limit; bool shut; } CASES[] = {
        {4, 4, 1000, true}, {5, 4, 1000, true},  {4, 5, 1000, true}, {4, 4, INT64_MAX, true},
        {3, 4, 1000, false}, {4, 3, 1000, false}, {4, 4, 999, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct queue_entry e = entry(w, CASES[i].cpu, CASES[i].gib, CASES[i].limit);
        if (frontier_now(w, &e) != CASES[i].shut) fail_msg("case %zu", i);
        if (frontier_shut(w, &e) != CASES[i].shut) fail_msg("case %zu", i);
        assert_false(frontier_ever(w, &e, &NOBODY));
    }
    frontier_add_now(w, &refused, 0); /* no promise: however short */
    struct queue_entry e = entry(w, 4, 4, 1);
    assert_true(frontier_now(w, &e));
    assert_int_equal(w->families.v[e.family].n_now, 1); /* the first said less */
    frontier_clear(w);
    assert_false(frontier_now(w, &e));
    world_free(w);
}

/* A point is woken by a node that could take its corner, and by no other. */
static void freed_room_wakes(void **state)
{
    (void)state;
    static const struct { const char *name; int64_t cpu, gib; bool usable; bool small, large; }
    CASES[] = {
        {"too little for both", 0, 9, true, true, true},
        {"enough for the small", 1, 9, true, false, true},
        {"enough for both", 2, 9, true, false, false},
        {"enough, without memory", 2, 0, true, true, true},
        {"closed", 2, 9, false, true, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct world *w = bare(CASES[i].cpu, CASES[i].gib);
        struct queue_entry small = entry(w, 1, 1, 0), large = entry(w, 2, 1, 0);
        w->nodes.v[0].cordoned = !CASES[i].usable;
        node_refresh(w, &w->nodes.v[0]);
        frontier_add_now(w, &large, 0);
        frontier_add_now(w, &small, 0);
        /* The small one says all that the large one did, until it is woken. */
        pool_freed(w, &w->nodes.v[0]);
        pool_freed(w, &w->nodes.v[0]);
        frontier_begin(w);
        if (frontier_now(w, &small) != CASES[i].small) fail_msg("%s: small", CASES[i].name);
        if (CASES[i].small && frontier_now(w, &large) != CASES[i].large)
            fail_msg("%s: large", CASES[i].name);
        world_free(w);
    }
}

/* Woken by a room that was filled again before anybody asked: it holds as before. */
static void filled_rooms_leave_no_hope(void **state)
{
    (void)state;
    struct world *w = bare(2, 9);
    struct queue_entry e = entry(w, 2, 1, 0);
    frontier_add_now(w, &e, 0);
    pool_freed(w, &w->nodes.v[0]);
    frontier_begin(w);
    assert_false(frontier_shut(w, &e)); /* nobody knows yet */
    w->nodes.v[0].capacity.v[SLOT_CPU] = 1000;
    node_refresh(w, &w->nodes.v[0]);
    assert_true(frontier_now(w, &e));
    assert_true(frontier_shut(w, &e));
    w->nodes.v[0].capacity.v[SLOT_CPU] = 2000;
    node_refresh(w, &w->nodes.v[0]);
    pool_freed(w, &w->nodes.v[0]);
    frontier_begin(w);
    frontier_begin(w); /* not asked in that pass: what was freed then is forgotten */
    assert_false(frontier_now(w, &e));
    world_free(w);
}

/* What cannot be dated is woken by all that could hold it when empty. */
static void undated_until_something_ends(void **state)
{
    (void)state;
    struct world *w = bare(2, 9);
    struct queue_entry fits = entry(w, 2, 1, 0), never = entry(w, 3, 1, 0);
    frontier_add_ever(w, &never, &NOBODY);
    frontier_add_ever(w, &fits, &NOBODY);
    assert_true(frontier_ever(w, &never, &NOBODY));
    assert_false(frontier_now(w, &never));
    pool_freed(w, &w->nodes.v[0]);
    frontier_begin(w);
    assert_false(frontier_ever(w, &fits, &NOBODY));
    world_free(w);
}

static void the_set_is_small(void **state)
{
    (void)state;
    struct world *w = bare(1, 1);
    for (int64_t i = 0; i < 3 * FAMILY_POINTS; i++) { /* none says what another does */
        struct queue_entry e = entry(w, 100 + i, 100 - i, 0);
        frontier_add_now(w, &e, 0);
        assert_true(frontier_now(w, &e));
        assert_true(w->families.v[e.family].n_now <= FAMILY_POINTS);
    }
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_cover_what_asks_more),
        cmocka_unit_test(freed_room_wakes),
        cmocka_unit_test(filled_rooms_leave_no_hope),
        cmocka_unit_test(undated_until_something_ends),
        cmocka_unit_test(the_set_is_small),
    };
    return RUN(tests);
}
