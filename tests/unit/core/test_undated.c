/* Blocked sessions that cannot be dated, or wait for who is overdue, wake nobody in vain. */
#include "harness.h"

#include "core/sched/plan.h"

/* All nodes are closed: after `undated_ms` there is nothing that could be kept for it, and
 * nothing to do until something happens. */
static void no_node_to_close(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_BACKFILL);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 0);
    struct event ev = {.kind = EVENT_NODE_CORDON, .u.cordon = {l->nodes[n1].id, true}};
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    struct session s = lab_request(1, 2, 1, 0);
    uint64_t id = lab_run(l, &s);
    int64_t end = l->now_ms + 2 * GROUP_UNDATED_MS;
    uint32_t ticks = 0;
    while (l->now_ms < end && ticks < 10000) {
        int64_t next = step_next_deadline(l->w);
        assert_true(next > l->now_ms);
        lab_report(l, n1); /* it does not fall silent */
        int64_t wait = next - l->now_ms < 5000 ? next - l->now_ms : 5000;
        lab_tick(l, wait);
        ticks++;
    }
    assert_int_equal(lab_state(l, id), SESSION_PENDING);
    assert_true(ticks < 1000);
    lab_free(l);
}

static uint64_t ask(struct lab *l, int64_t cpu, int64_t limit_ms, int32_t priority)
{
    struct session s = lab_request(1, cpu, 1, 0);
    s.time_limit_ms = limit_ms;
    s.priority = priority;
    return lab_run(l, &s);
}

/* A node is kept for one that cannot be dated; then somebody who goes before it is promised
 * room there.  That promise stands, and the pass comes to its end. */
static void promised_to_one_ahead(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_BACKFILL);
    struct event ev = {.kind = EVENT_GROUP_PUT, .u.group = l->w->groups.v[0]};
    ev.u.group.undated_ms = 1000;
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    for (int i = 0; i < 2; i++) { /* on each node one without a limit, and one with */
        lab_join(l, i == 0 ? "n1" : "n2", 4, 8, 0);
        ask(l, 1, 0, 10);
        ask(l, 3, (i + 1) * INT64_C(3600000), 10);
    }
    lab_settle(l);
    uint64_t undated = ask(l, 4, 3600000, 10);
    lab_tick(l, 1000);
    assert_null(plan_of(l->w, undated));
    uint64_t ahead = ask(l, 3, 600000, 50);
    for (int i = 0; i < 100 && l->fx.more; i++) lab_tick(l, 0);
    assert_false(l->fx.more);
    assert_non_null(plan_of(l->w, ahead));
    assert_int_equal(plan_of(l->w, ahead)->at_ms, 3600000 + l->now_ms - 1000);
    lab_free(l);
}

/* Its limit and its grace are over and it still holds all: those who are promised its room
 * look again once a second, not at every instant. */
static void overdue(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_BACKFILL);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 0);
    uint64_t deaf = ask(l, 4, 10000, 10);
    lab_settle(l);
    uint64_t one = ask(l, 2, 60000, 10), two = ask(l, 2, 60000, 10), three = ask(l, 4, 60000, 10);
    int64_t from = l->now_ms + 10000, end = from + 120000;
    uint32_t ticks = 0;
    while (l->now_ms < end && ticks < 10000) {
        int64_t next = step_next_deadline(l->w);
        lab_report(l, n1);
        lab_tick(l, next - l->now_ms < 5000 ? next - l->now_ms : 5000);
        ticks += l->now_ms >= from;
    }
    assert_int_equal(lab_state(l, deaf), SESSION_STOPPING);
    assert_true(ticks < 1000);
    lab_exit(l, n1, deaf, 0, 0);
    assert_int_equal(lab_state(l, one), SESSION_ALLOCATED);
    assert_int_equal(lab_state(l, two), SESSION_ALLOCATED);
    assert_int_equal(lab_state(l, three), SESSION_PENDING);
    lab_free(l);
}

/* So many that cannot be dated, no two of which say anything about each other, that a pass
 * takes several steps; behind them one whose promise may come forward.  The pass goes on
 * where it stopped, and comes to its end. */
static void many_before_one_that_is_looked_at(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_BACKFILL);
    lab_join(l, "n1", 400, 400, 0);
    uint32_t n2 = lab_join(l, "n2", 4, 8, 0);
    struct session all = lab_request(1, 400, 400, 0);
    lab_run(l, &all); /* without a limit: of n1 nothing is ever promised */
    uint64_t one = ask(l, 3, 3600000, 10), two = ask(l, 1, 7200000, 10);
    lab_settle(l);
    l->more_coming = true;
    for (int64_t i = 0; i < 150; i++) {
        struct session s = lab_request(1, 20 + i, 200 - i, 0);
        s.priority = 50;
        lab_run(l, &s);
    }
    uint64_t behind = ask(l, 4, 600000, 10);
    l->more_coming = false;
    lab_tick(l, 0);
    for (int i = 0; i < 100 && l->fx.more; i++) lab_tick(l, 0);
    assert_false(l->fx.more);
    assert_true(plan_of(l->w, behind)->at_ms > l->now_ms + 7000000);
    lab_stop(l, two, 0);
    lab_act(l, n2); /* it is gone, and what was promised may come forward */
    for (int i = 0; i < 100 && l->fx.more; i++) lab_tick(l, 0);
    assert_false(l->fx.more);
    assert_true(plan_of(l->w, behind)->at_ms < l->now_ms + 3700000);
    assert_int_equal(lab_state(l, one), SESSION_RUNNING);
    lab_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_node_to_close),
                                       cmocka_unit_test(promised_to_one_ahead),
                                       cmocka_unit_test(overdue),
                                       cmocka_unit_test(many_before_one_that_is_looked_at)};
    return RUN(tests);
}
