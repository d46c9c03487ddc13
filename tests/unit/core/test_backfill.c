/* Promises, by named cases: what starts beside them, when they move, when they are void. */
#include "harness.h"

#include "core/sched/plan.h"
#include "core/sched/reserve.h"

static uint64_t ask(struct lab *l, uint32_t members, int64_t cpu, int64_t limit_s)
{
    struct session s = lab_request(members, cpu, 1, 0);
    s.time_limit_ms = limit_s * 1000;
    return lab_run(l, &s);
}

static struct lab *lab_of(uint32_t depth)
{
    struct lab *l = lab_new(BLOCKED_BACKFILL);
    struct event ev = {.kind = EVENT_GROUP_PUT, .u.group = l->w->groups.v[0]};
    ev.u.group.reserve_depth = depth;
    for (int k = 0; k < SESSION_KINDS; k++) ev.u.group.time_limit_ms[k] = 0;
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    return l;
}

static int64_t promised_in(const struct lab *l, uint64_t session) /* seconds from now; -1: not */
{
    const struct promise *p = plan_of(l->w, session);
    return p ? (p->at_ms - l->w->now_ms) / 1000 : -1;
}

/* One of 4 CPU runs for 100 s, the head wants 6: at 100 s, when 2 are left for others. */
static void beside_a_promise(void **state)
{
    (void)state;
    static const struct { const char *name; int64_t cpu, limit_s; bool starts; } CASES[] = {
        {"ends before it", 4, 100, true},   {"ends a second too late", 4, 101, false},
        {"fits in what is left", 2, 0, true}, {"does not", 3, 0, false},
        {"as long as the promise, too large", 4, 500, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct lab *l = lab_of(1);
        lab_join(l, "n1", 8, 16, 0);
        ask(l, 1, 4, 100);
        lab_settle(l);
        uint64_t head = ask(l, 1, 6, 50);
        assert_int_equal(promised_in(l, head), 100);
        uint64_t behind = ask(l, 1, CASES[i].cpu, CASES[i].limit_s);
        if ((lab_state(l, behind) == SESSION_ALLOCATED) != CASES[i].starts)
            fail_msg("%s", CASES[i].name);
        assert_int_equal(promised_in(l, head), 100);
        assert_int_equal(promised_in(l, behind), -1); /* one is promised, no more */
        lab_free(l);
    }
}

/* Two ahead of it are promised, the third is not; unlimited, all are. */
static void as_many_as_the_group_says(void **state)
{
    (void)state;
    static const uint32_t depths[] = {1, 2, 3, GROUP_RESERVE_ALL};
    for (size_t d = 0; d < ARRAY_LEN(depths); d++) {
        struct lab *l = lab_of(depths[d]);
        lab_join(l, "n1", 4, 16, 0);
        ask(l, 1, 4, 100);
        lab_settle(l);
        for (uint32_t i = 0; i < 5; i++) {
            uint64_t id = ask(l, 1, 4, 10);
            int64_t at_s = i < depths[d] ? 100 + 10 * (int64_t)i : -1;
            assert_int_equal(promised_in(l, id), at_s);
        }
        lab_free(l);
    }
}

/* Somebody ends before his limit: the promise moves forward, and first_ms tells from where. */
static void an_early_end_brings_it_forward(void **state)
{
    (void)state;
    struct lab *l = lab_of(8);
    uint32_t n1 = lab_join(l, "n1", 4, 16, 0);
    uint64_t a = ask(l, 1, 2, 100), b = ask(l, 1, 2, 40);
    lab_settle(l);
    uint64_t head = ask(l, 1, 4, 10);
    assert_int_equal(promised_in(l, head), 100);
    int64_t first_ms = plan_of(l->w, head)->at_ms;
    lab_exit(l, n1, a, 0, 0);
    assert_int_equal(promised_in(l, head), 40);
    assert_true(plan_of(l->w, head)->first_ms == first_ms);
    lab_settle(l);
    lab_exit(l, n1, b, 0, 0);
    assert_int_equal(lab_state(l, head), SESSION_ALLOCATED);
    assert_null(plan_of(l->w, head));
    lab_free(l);
}

/* A promised start is a timer event, and nobody's end. */
static void a_promise_is_due(void **state)
{
    (void)state;
    struct lab *l = lab_of(1);
    uint32_t n1 = lab_join(l, "n1", 8, 16, 0);
    uint64_t a = ask(l, 1, 8, 100);
    lab_settle(l);
    uint64_t head = ask(l, 1, 8, 10);
    int64_t at_ms = plan_of(l->w, head)->at_ms;
    int64_t next_ms = step_next_deadline(l->w);
    assert_true(next_ms <= at_ms);
    l->now_ms = at_ms - 1000;
    lab_report(l, n1);
    lab_exit(l, n1, a, 0, 0); /* a second early */
    assert_int_equal(lab_state(l, head), SESSION_ALLOCATED);
    lab_free(l);
}

/* Whoever should be gone is not: the promise is made again, and tried once a second. */
static void an_overdue_promise(void **state)
{
    (void)state;
    struct lab *l = lab_of(1);
    uint32_t n1 = lab_join(l, "n1", 4, 16, 0);
    uint64_t a = ask(l, 1, 4, 100);
    lab_settle(l);
    uint64_t head = ask(l, 1, 4, 10), behind = ask(l, 1, 4, 5);
    int64_t at_ms = plan_of(l->w, head)->at_ms;
    l->now_ms = at_ms;
    lab_report(l, n1); /* its limit: STOPPING, and its grace begins */
    assert_int_equal(lab_state(l, a), SESSION_STOPPING);
    assert_int_equal(promised_in(l, head), 30);
    l->now_ms += 31000;
    lab_report(l, n1); /* past it, and still there */
    assert_int_equal(lab_state(l, head), SESSION_PENDING);
    assert_true(step_next_deadline(l->w) >= l->w->now_ms + 1);
    lab_tick(l, 1);
    assert_true(step_next_deadline(l->w) > l->w->now_ms + 500); /* it does not spin */
    lab_forget(l, n1, a);
    lab_report(l, n1);
    assert_int_equal(lab_state(l, head), SESSION_ALLOCATED);
    assert_int_equal(lab_state(l, behind), SESSION_PENDING);
    lab_free(l);
}

/* A node that goes takes the promise along: another one is made. */
static void a_lost_node_makes_it_void(void **state)
{
    (void)state;
    struct lab *l = lab_of(8);
    lab_join(l, "n1", 4, 16, 0);
    uint32_t n2 = lab_join(l, "n2", 4, 16, 0);
    ask(l, 1, 4, 300);
    ask(l, 1, 4, 100);
    lab_settle(l);
    uint64_t head = ask(l, 1, 4, 10);
    assert_int_equal(promised_in(l, head), 100);
    assert_int_equal(plan_of(l->w, head)->picks.v[0].node, l->nodes[n2].id);
    lab_step(l, &(struct event){.kind = EVENT_NODE_CORDON,
                                .u.cordon = {l->nodes[n2].id, true}});
    assert_int_equal(promised_in(l, head), 300);
    lab_step(l, &(struct event){.kind = EVENT_NODE_CORDON,
                                .u.cordon = {l->nodes[n2].id, false}});
    assert_int_equal(promised_in(l, head), 100);
    lab_free(l);
}

/* Who comes before promised ones has its promise first; theirs are made again behind it. */
static void higher_order_comes_first(void **state)
{
    (void)state;
    struct lab *l = lab_of(2);
    lab_join(l, "n1", 4, 16, 0);
    ask(l, 1, 4, 100);
    lab_settle(l);
    uint64_t a = ask(l, 1, 4, 10), b = ask(l, 1, 4, 10);
    struct session urgent = lab_request(1, 4, 1, 0);
    urgent.time_limit_ms = 7000;
    urgent.priority = 50;
    uint64_t u = lab_run(l, &urgent);
    assert_int_equal(promised_in(l, u), 100);
    assert_int_equal(promised_in(l, a), 107);
    assert_int_equal(promised_in(l, b), -1);
    lab_stop(l, u, 0);
    assert_int_equal(promised_in(l, a), 100);
    assert_int_equal(promised_in(l, b), 110);
    lab_free(l);
}

/* What holds for ever is never promised; after a while the head's nodes are shut to others. */
static void undated_heads_do_not_starve(void **state)
{
    (void)state;
    struct lab *l = lab_of(8);
    uint32_t n1 = lab_join(l, "n1", 4, 16, 0), n2 = lab_join(l, "n2", 4, 16, 0);
    uint64_t a = ask(l, 1, 2, 0), b = ask(l, 1, 2, 0), c = ask(l, 1, 3, 0);
    lab_settle(l);
    assert_int_equal(world_allocs_of_session(l->w, world_session(l->w, c))->node,
                     l->nodes[n2].id);
    uint64_t head = ask(l, 1, 4, 100);
    assert_int_equal(promised_in(l, head), -1);
    uint64_t small = ask(l, 1, 1, 0); /* starts beside it, on n2 */
    assert_int_equal(lab_state(l, small), SESSION_ALLOCATED);
    lab_settle(l);
    lab_exit(l, n2, small, 0, 0);
    for (int i = 0; i < 61; i++) { /* ten minutes and more */
        l->now_ms += 10000;
        lab_report(l, n1);
        lab_report(l, n2);
    }
    uint64_t other = ask(l, 1, 1, 0); /* n2 has one in the way, n1 two: n2 is kept */
    assert_int_equal(lab_state(l, other), SESSION_PENDING);
    lab_settle(l);
    lab_exit(l, n1, a, 0, 0);
    assert_int_equal(lab_state(l, other), SESSION_ALLOCATED);
    assert_int_equal(world_allocs_of_session(l->w, world_session(l->w, other))->node,
                     l->nodes[n1].id);
    lab_settle(l);
    lab_exit(l, n2, c, 0, 0);
    assert_int_equal(lab_state(l, head), SESSION_ALLOCATED);
    lab_settle(l);
    lab_exit(l, n2, head, 0, 0); /* nothing is shut any more */
    uint64_t last = ask(l, 1, 4, 0);
    assert_int_equal(lab_state(l, last), SESSION_ALLOCATED);
    assert_int_equal(lab_state(l, b), SESSION_RUNNING);
    lab_free(l);
}

/* For what could never run nothing is shut, however long it waits; nor for what could no
 * more, once its node is gone. */
static void nothing_is_shut_in_vain(void **state)
{
    (void)state;
    struct lab *l = lab_of(8);
    uint32_t n1 = lab_join(l, "n1", 4, 16, 0), n2 = lab_join(l, "n2", 2, 16, 0);
    struct session gang = lab_request(9, 1, 1, 0); /* 6 CPU in all */
    struct event ev = {.kind = EVENT_SUBMIT};
    ev.u.submit.session = gang;
    ev.u.submit.allow_impossible = true;
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    ask(l, 1, 3, 0); /* runs on n1 for ever */
    lab_settle(l);
    uint64_t head = ask(l, 1, 4, 100); /* n1 could hold it: that one is kept for it */
    for (int i = 0; i < 61; i++) {
        l->now_ms += 10000;
        lab_report(l, n1);
        lab_report(l, n2);
    }
    uint64_t big = ask(l, 1, 2, 0), small = ask(l, 1, 1, 0);
    assert_int_equal(lab_state(l, big), SESSION_ALLOCATED); /* n2, although a gang waits ahead */
    assert_int_equal(lab_state(l, small), SESSION_PENDING);
    assert_int_equal(lab_state(l, head), SESSION_PENDING);
    lab_free(l);
}

/* Six failures, a minute apart: the head is lowered by ten, and queues with its number. */
static void a_blocked_head_is_lowered(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    uint32_t n1 = lab_join(l, "n1", 4, 16, 0);
    ask(l, 1, 2, 0);
    lab_settle(l);
    struct session big = lab_request(1, 4, 1, 0), small = lab_request(1, 1, 1, 0);
    big.priority = 15;
    uint64_t head = lab_run(l, &big), behind = lab_run(l, &small);
    for (uint32_t minute = 1; minute <= 5; minute++) {
        assert_int_equal(lab_stored(l, head)->blocked_tries, minute);
        assert_int_equal(lab_stored(l, head)->lowered, 0);
        assert_int_equal(lab_state(l, behind), SESSION_PENDING);
        if (minute == 3) lab_restart(l); /* counted by the store */
        lab_report(l, n1);
        for (int s = 0; s < 6; s++) {
            l->now_ms += 10000;
            lab_report(l, n1);
        }
    }
    assert_int_equal(lab_stored(l, head)->lowered, 10);
    assert_int_equal(lab_stored(l, head)->priority, 15);
    if (l->fx.more) lab_tick(l, 0);
    assert_int_equal(lab_state(l, behind), SESSION_ALLOCATED); /* 10 comes before 5 */
    lab_free(l);
}

/* PRI7: what one priority or amount is refused says nothing of others that ask less. */
static void pri7_each_is_judged_on_its_own(void **state)
{
    (void)state;
    struct lab *l = lab_of(8);
    lab_join(l, "n1", 4, 16, 0);
    ask(l, 1, 2, 0);
    struct session s = lab_request(1, 4, 1, 0);
    s.priority = 100;
    lab_run(l, &s);
    s.priority = 1;
    lab_run(l, &s);
    s = lab_request(1, 2, 1, 0);
    s.priority = 1;
    assert_int_equal(lab_state(l, lab_run(l, &s)), SESSION_ALLOCATED);
    lab_free(l);
}

/* GNG2: a limit is judged for the gang as a whole: one starts, the other holds nothing. */
static void gng2_limits_of_a_whole_gang(void **state)
{
    (void)state;
    struct lab *l = lab_of(8);
    lab_join(l, "n1", 8, 16, 0);
    struct limits *limits = &world_project(l->w, 1)->limits;
    limits->set = 1u << LIMIT_CPU;
    limits->max[LIMIT_CPU] = 3000;
    uint64_t one = ask(l, 2, 1, 0), two = ask(l, 2, 1, 0), single = ask(l, 1, 1, 0);
    assert_int_equal(lab_state(l, one), SESSION_ALLOCATED);
    assert_int_equal(lab_state(l, two), SESSION_PENDING);
    assert_int_equal(lab_state(l, single), SESSION_ALLOCATED); /* it blocks nobody */
    assert_int_equal(lab_rows(l), 3);
    assert_null(plan_of(l->w, two)); /* nor is it promised what it may not use */
    lab_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beside_a_promise),
        cmocka_unit_test(as_many_as_the_group_says),
        cmocka_unit_test(an_early_end_brings_it_forward),
        cmocka_unit_test(a_promise_is_due),
        cmocka_unit_test(an_overdue_promise),
        cmocka_unit_test(a_lost_node_makes_it_void),
        cmocka_unit_test(higher_order_comes_first),
        cmocka_unit_test(undated_heads_do_not_starve),
        cmocka_unit_test(nothing_is_shut_in_vain),
        cmocka_unit_test(a_blocked_head_is_lowered),
        cmocka_unit_test(pri7_each_is_judged_on_its_own),
        cmocka_unit_test(gng2_limits_of_a_whole_gang),
    };
    return RUN(tests);
}
