/* Who is placed, who is blocked, and whom that holds back. */
#include "harness.h"

static uint64_t ask(struct lab *l, int64_t cpu, int64_t gpu)
{
    struct session s = lab_request(1, cpu, 1, gpu);
    return lab_run(l, &s);
}

/* Seed experiment 1: 4 slots; 2 run, 4 ask, 1 behind. */
static void strict_order(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 0);
    uint64_t current = ask(l, 2, 0);
    lab_settle(l);
    uint64_t alice = ask(l, 4, 0), bob = ask(l, 1, 0);
    lab_expect_why(l, alice, WHY_NO_CAPACITY,
                   "needs 2 more CPU: n1 has 2 of 4 free, 4 asked (1 node: 1 busy); "
                   "place 1 of 2 in the queue");
    lab_expect_why(l, bob, WHY_SKIPPED, "waits behind s2, which is ahead in the queue and "
                                        "does not fit yet; place 2 of 2 in the queue");
    lab_exit(l, n1, current, 0, 0);
    assert_int_equal(lab_state(l, alice), SESSION_ALLOCATED);
    assert_int_equal(lab_state(l, bob), SESSION_PENDING);
    lab_settle(l);
    lab_exit(l, n1, alice, 0, 0);
    assert_int_equal(lab_state(l, bob), SESSION_ALLOCATED);
    lab_free(l);
}

static void best_effort(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    lab_join(l, "n1", 4, 8, 0);
    ask(l, 2, 0);
    uint64_t alice = ask(l, 4, 0), bob = ask(l, 1, 0), carol = ask(l, 4, 0), dave = ask(l, 1, 0);
    assert_int_equal(lab_state(l, alice), SESSION_PENDING);
    assert_int_equal(lab_state(l, bob), SESSION_ALLOCATED);
    assert_int_equal(lab_state(l, carol), SESSION_PENDING);
    assert_int_equal(lab_state(l, dave), SESSION_ALLOCATED);
    lab_expect_why(l, carol, WHY_NO_CAPACITY, NULL);
    lab_free(l);
}

/* The head that leaves lets those behind go, although nothing was freed. */
static void a_head_that_leaves(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 4, 8, 0);
    ask(l, 2, 0);
    uint64_t head = ask(l, 4, 0), behind = ask(l, 1, 0);
    assert_int_equal(lab_state(l, behind), SESSION_PENDING);
    lab_stop(l, head, -1);
    assert_int_equal(lab_outcome(l, head), OUTCOME_CANCELLED);
    assert_int_equal(lab_state(l, behind), SESSION_ALLOCATED);
    lab_free(l);
}

/* A blocked head holds back only who could use a node that it could use. */
static void fences_by_nodes(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "c1", 8, 8, 0); /* more cpu than any gpu node */
    uint32_t g1 = lab_join(l, "g1", 4, 8, 2);
    uint64_t holder = ask(l, 1, 2);
    assert_int_equal(lab_state(l, holder), SESSION_ALLOCATED);
    uint64_t head = ask(l, 1, 1);    /* waits for a gpu: fences g1 */
    uint64_t small = ask(l, 1, 0);   /* could use g1: held back */
    uint64_t wide = ask(l, 6, 0);    /* only fits c1: passes */
    uint64_t wide2 = ask(l, 6, 0);   /* blocked on c1: fences it as well */
    uint64_t wide3 = ask(l, 6, 0);
    assert_int_equal(lab_state(l, head), SESSION_PENDING);
    assert_int_equal(lab_state(l, small), SESSION_PENDING);
    assert_int_equal(lab_state(l, wide), SESSION_ALLOCATED);
    assert_int_equal(lab_state(l, wide2), SESSION_PENDING);
    lab_expect_why(l, head, WHY_NO_CAPACITY,
                   "needs 1 more GPU: g1 has 0 of 2 free, 1 asked (2 nodes: 1 busy, 1 too small); "
                   "place 1 of 4 in the queue");
    struct why why;
    static const struct { int which; int blocker; } expected[] = {{1, 0}, {3, 2}};
    uint64_t ids[] = {head, small, wide2, wide3};
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        explain_session(l->w, world_session(l->w, ids[expected[i].which]), &why);
        assert_int_equal(why.kind, WHY_SKIPPED);
        assert_true(why.blocker == ids[expected[i].blocker]);
    }
    lab_settle(l);
    lab_exit(l, g1, holder, 0, 0);
    assert_int_equal(lab_state(l, head), SESSION_ALLOCATED);
    assert_int_equal(lab_state(l, small), SESSION_ALLOCATED);
    lab_free(l);
}

static void the_impossible_blocks_nobody(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 4, 8, 0);
    struct event ev = {.kind = EVENT_SUBMIT, .u.submit = {lab_request(1, 64, 1, 0), true}};
    for (int i = 0; i < 3; i++) assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    ev.u.submit.session = lab_request(2, 3, 1, 0); /* each would fit, both never do */
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    uint64_t id = ask(l, 1, 0);
    assert_int_equal(lab_state(l, id), SESSION_ALLOCATED);
    lab_expect_why(l, 2, WHY_NO_CAPACITY, NULL);
    lab_expect_why(l, 4, WHY_NO_CAPACITY, NULL);
    lab_free(l);
}

/* Waiting for a time of its own, a session is no obstacle. */
static void back_off_blocks_nobody(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 0);
    uint64_t first = ask(l, 4, 0);
    lab_set(l, n1, first, 0, MEMBER_FAILED, &(struct member_end){.exit_code = -1});
    lab_report(l, n1);
    uint64_t second = ask(l, 1, 0);
    assert_int_equal(lab_state(l, first), SESSION_PENDING);
    assert_int_equal(lab_state(l, second), SESSION_ALLOCATED);
    lab_settle(l);
    lab_tick(l, 10000); /* its time has come: now it is a head like any other */
    assert_int_equal(lab_state(l, first), SESSION_PENDING);
    uint64_t third = ask(l, 1, 0);
    assert_int_equal(lab_state(l, third), SESSION_PENDING);
    lab_expect_why(l, third, WHY_SKIPPED, NULL);
    lab_free(l);
}

/* GNG1: two gangs that fit once: one has all, the other nothing. */
static void gng1_all_or_nothing(void **state)
{
    (void)state;
    for (enum on_blocked b = BLOCKED_STOP; b < BLOCKED_KINDS; b++) {
        struct lab *l = lab_new(b);
        uint32_t n1 = lab_join(l, "n1", 4, 8, 1);
        lab_join(l, "n2", 4, 8, 1);
        struct session gang = lab_request(2, 1, 1, 1);
        uint64_t one = lab_run(l, &gang), two = lab_run(l, &gang);
        assert_int_equal(lab_state(l, one), SESSION_ALLOCATED);
        assert_int_equal(lab_state(l, two), SESSION_PENDING);
        assert_int_equal(lab_rows(l), 2);
        lab_expect_why(l, two, WHY_NO_CAPACITY, NULL);
        lab_settle(l);
        lab_exit(l, n1, one, 0, 0); /* half of it is free: not enough */
        assert_int_equal(lab_state(l, two), SESSION_PENDING);
        lab_settle(l);
        assert_int_equal(lab_state(l, two), SESSION_RUNNING);
        lab_free(l);
    }
}

/* PRI8: a thousand in the same millisecond start in the order of submission. */
static void pri8_order_by_sequence(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    uint32_t n1 = lab_join(l, "n1", 1, 8, 0);
    struct session s = lab_request(1, 1, 1, 0);
    for (int i = 0; i < 1000; i++) lab_run(l, &s);
    for (uint64_t id = 1; id <= 1000; id++) {
        assert_int_equal(lab_state(l, id), SESSION_ALLOCATED);
        assert_int_equal(lab_rows(l), 1);
        lab_exit(l, n1, id, 0, 0);
        lab_forget(l, n1, id);
    }
    lab_free(l);
}

static void priority_goes_first(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    uint32_t n1 = lab_join(l, "n1", 1, 8, 0);
    struct session s = lab_request(1, 1, 1, 0);
    static const int32_t priorities[] = {10, 10, 0, 100, 50, 10};
    static const uint64_t order[] = {1, 4, 5, 2, 6, 3}; /* the first was alone when it came */
    for (size_t i = 0; i < ARRAY_LEN(priorities); i++) {
        s.priority = priorities[i];
        lab_run(l, &s);
    }
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        assert_int_equal(lab_state(l, order[i]), SESSION_ALLOCATED);
        lab_exit(l, n1, order[i], 0, 0);
        lab_forget(l, n1, order[i]);
    }
    lab_free(l);
}

/* More than one step can judge: the pass goes on where it stopped. */
static void slices(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    struct session s = lab_request(1, 1, 1, 0);
    for (int i = 0; i < 1500; i++) lab_run(l, &s);
    lab_join(l, "n1", 1200, 4000, 0);
    assert_false(l->fx.more); /* the harness reported after joining: two steps */
    uint32_t placed = lab_rows(l);
    assert_int_equal(placed, 1200);
    lab_expect_why(l, 1200, WHY_PLACED, NULL);
    lab_expect_why(l, 1201, WHY_NO_CAPACITY, NULL);
    lab_free(l);
}

static void a_slice_says_that_there_is_more(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    struct session s = lab_request(1, 1, 1, 0);
    for (int i = 0; i < 2500; i++) lab_run(l, &s);
    struct event ev = {.kind = EVENT_NODE_JOIN};
    ev.u.join.node = (struct node){.name = "n1", .group = 1, .capacity = lab_slots(9000, 9000, 0)};
    static const struct { uint32_t rows; bool more; } expected[] = {
        {1000, true}, {2000, true}, {2500, false}, {2500, false}};
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        lab_step(l, &ev);
        ev = (struct event){.kind = EVENT_TICK};
        assert_int_equal(lab_rows(l), expected[i].rows);
        assert_int_equal(l->fx.more, expected[i].more);
        if (i == 0) { /* not forgotten: there is room, and it says so */
            lab_expect_why(l, 2000, WHY_PLACED, "there is room: it starts next");
        }
    }
    lab_free(l);
}

/* Who comes behind a session that holds back all is not even looked at. */
static void behind_the_head_costs_nothing(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 0);
    uint64_t first = ask(l, 3, 0);
    lab_settle(l);
    uint64_t head = ask(l, 2, 0), walks = l->w->walks, behind[5];
    for (int i = 0; i < 5; i++) behind[i] = ask(l, 1, 0);
    assert_int_equal(l->w->walks, walks);
    struct session urgent = lab_request(1, 1, 1, 0);
    urgent.priority = 50;
    assert_int_equal(lab_state(l, lab_run(l, &urgent)), SESSION_ALLOCATED);
    assert_int_equal(l->w->walks, walks + 1);
    lab_settle(l);
    lab_stop(l, head, 0); /* nothing is held back any more; there is no room, though */
    assert_true(l->w->walks > walks + 1);
    walks = l->w->walks;
    ask(l, 1, 0);
    assert_int_equal(l->w->walks, walks);
    lab_exit(l, n1, first, 0, 0);
    for (int i = 0; i < 3; i++) assert_int_equal(lab_state(l, behind[i]), SESSION_ALLOCATED);
    assert_int_equal(lab_state(l, behind[3]), SESSION_PENDING);
    lab_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strict_order),
        cmocka_unit_test(best_effort),
        cmocka_unit_test(a_head_that_leaves),
        cmocka_unit_test(fences_by_nodes),
        cmocka_unit_test(the_impossible_blocks_nobody),
        cmocka_unit_test(back_off_blocks_nobody),
        cmocka_unit_test(gng1_all_or_nothing),
        cmocka_unit_test(pri8_order_by_sequence),
        cmocka_unit_test(priority_goes_first),
        cmocka_unit_test(slices),
        cmocka_unit_test(a_slice_says_that_there_is_more),
        cmocka_unit_test(behind_the_head_costs_nothing),
    };
    return RUN(tests);
}
