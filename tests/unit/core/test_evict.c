/* Preemption as it happens: victims told to stop, their room promised, and what becomes of it. */
#include "harness.h"

#include "core/sched/plan.h"

static void policy(struct lab *l, enum preempt_mode mode, enum preempt_scope scope,
                   int64_t min_runtime_ms)
{
    struct event ev = {.kind = EVENT_GROUP_PUT, .u.group = l->w->groups.v[0]};
    ev.u.group.preempt = (struct preempt_policy){.enabled = true, .mode = mode, .scope = scope,
                                                 .order = VICTIM_NEWEST,
                                                 .min_runtime_ms = min_runtime_ms};
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
}

static struct lab *evict_lab(enum preempt_mode mode)
{
    struct lab *l = lab_new(BLOCKED_SKIP);
    policy(l, mode, SCOPE_USER, 0);
    return l;
}

static struct session request(int64_t gpu, int32_t priority)
{
    struct session s = lab_request(1, 1, 1, gpu);
    s.priority = priority;
    s.preemptible = true;
    return s;
}

static uint64_t submit(struct lab *l, int64_t gpu, int32_t priority)
{
    struct session s = request(gpu, priority);
    return lab_run(l, &s);
}

static uint64_t running(struct lab *l, int64_t gpu, int32_t priority)
{
    uint64_t id = submit(l, gpu, priority);
    lab_settle(l);
    assert_int_equal(lab_state(l, id), SESSION_RUNNING);
    return id;
}

#define EXPECT_STATE(id, state) assert_int_equal(lab_state(l, id), SESSION_##state)

static void the_victim_stops_and_the_other_starts(void **state)
{
    (void)state;
    struct lab *l = evict_lab(PREEMPT_TERMINATE);
    lab_join(l, "n1", 8, 8, 1);
    uint64_t low = running(l, 1, 0), high = submit(l, 1, 10);
    EXPECT_STATE(low, STOPPING);
    EXPECT_STATE(high, RESERVED);
    assert_int_equal(lab_stored(l, low)->outcome, OUTCOME_PREEMPTED);
    assert_int_equal(lab_want(l, 0, low, 0), WANT_STOP);
    assert_int_equal(world_session(l->w, high)->deadline_ms, l->now_ms + 30000 + 30000);
    lab_settle(l);
    EXPECT_STATE(high, RUNNING);
    assert_int_equal(lab_outcome(l, low), OUTCOME_PREEMPTED);
    lab_free(l);
}

static void both_are_told(void **state)
{
    (void)state;
    for (int again = 0; again < 2; again++) {
        struct lab *l = evict_lab(again ? PREEMPT_REQUEUE : PREEMPT_TERMINATE);
        lab_join(l, "n1", 8, 8, 1);
        uint64_t low = running(l, 1, 0), high = submit(l, 1, 10);
        lab_expect_why(l, high, WHY_PREEMPTING,
                       "gets room on n1 when s1 has left; after 1 min without it, it waits again");
        lab_expect_why(l, low, WHY_STOPPING,
                       again ? "stopping on n1: it makes room for another, then it waits to run "
                               "again"
                             : "stopping on n1: it makes room for another");
        lab_free(l);
    }
}

static void it_is_off_until_somebody_says_so(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    lab_join(l, "n1", 8, 8, 1);
    uint64_t low = running(l, 1, 0), high = submit(l, 1, 10);
    EXPECT_STATE(low, RUNNING);
    EXPECT_STATE(high, PENDING);
    policy(l, PREEMPT_TERMINATE, SCOPE_USER, 0);
    EXPECT_STATE(high, RESERVED);
    lab_free(l);
}

static void the_free_part_is_kept(void **state)
{
    (void)state;
    struct lab *l = evict_lab(PREEMPT_TERMINATE);
    lab_join(l, "n1", 8, 8, 2);
    uint64_t low = running(l, 1, 0), high = submit(l, 2, 10);
    EXPECT_STATE(high, RESERVED);
    struct session other = request(1, 50);
    other.user = 2; /* who may not make anybody go: the scope is the user */
    uint64_t id = lab_run(l, &other);
    EXPECT_STATE(id, PENDING);
    struct session small = lab_request(1, 7, 1, 0); /* the victim leaves the CPU that it needs */
    uint64_t seven = lab_run(l, &small);
    EXPECT_STATE(seven, ALLOCATED);
    EXPECT_STATE(low, STOPPING);
    lab_settle(l);
    EXPECT_STATE(high, RUNNING);
    EXPECT_STATE(id, PENDING);
    lab_free(l);
}

static void two_preemptors_on_one_node(void **state)
{
    (void)state;
    struct lab *l = evict_lab(PREEMPT_TERMINATE);
    lab_join(l, "n1", 8, 8, 2);
    uint64_t a = running(l, 1, 0), b = running(l, 1, 0);
    uint64_t one = submit(l, 1, 10), two = submit(l, 1, 10), three = submit(l, 1, 10);
    EXPECT_STATE(a, STOPPING);
    EXPECT_STATE(b, STOPPING);
    EXPECT_STATE(one, RESERVED);
    EXPECT_STATE(two, RESERVED);
    EXPECT_STATE(three, PENDING);
    lab_settle(l);
    EXPECT_STATE(one, RUNNING);
    EXPECT_STATE(two, RUNNING);
    EXPECT_STATE(three, PENDING);
    lab_free(l);
}

/* PRI11: the wait for a victim is derived anew, so one that ends by itself counts. */
static void a_victim_that_ended_by_itself_counts(void **state)
{
    (void)state;
    struct lab *l = evict_lab(PREEMPT_TERMINATE);
    lab_join(l, "n1", 8, 8, 1);
    uint64_t low = running(l, 1, 0), high = submit(l, 1, 10);
    EXPECT_STATE(high, RESERVED);
    lab_forget(l, 0, low); /* killed by hand, deleted behind the agent's back */
    lab_report(l, 0);
    EXPECT_STATE(high, ALLOCATED);
    assert_int_equal(lab_outcome(l, low), OUTCOME_PREEMPTED);
    lab_free(l);
}

/* PRI10: it takes room elsewhere when that comes first. */
static void it_moves_when_there_is_room_elsewhere(void **state)
{
    (void)state;
    struct lab *l = evict_lab(PREEMPT_TERMINATE);
    lab_join(l, "n1", 8, 8, 1);
    uint64_t low = running(l, 1, 0), high = submit(l, 1, 10);
    EXPECT_STATE(high, RESERVED);
    lab_join(l, "n2", 8, 8, 1);
    EXPECT_STATE(high, ALLOCATED);
    EXPECT_STATE(low, STOPPING);
    uint64_t next = submit(l, 1, 0); /* what was promised is not kept any more */
    EXPECT_STATE(next, PENDING);
    lab_settle(l);
    EXPECT_STATE(next, RUNNING);
    lab_free(l);
}

static void a_promise_has_a_deadline(void **state)
{
    (void)state;
    struct lab *l = evict_lab(PREEMPT_TERMINATE);
    lab_join(l, "n1", 8, 8, 1);
    struct session s = request(1, 0);
    s.grace_ms = 5000;
    uint64_t low = lab_run(l, &s);
    lab_settle(l);
    uint64_t high = submit(l, 1, 10);
    EXPECT_STATE(high, RESERVED);
    for (int i = 0; i < 4; i++) { /* the container will not die */
        l->now_ms += 8000;
        lab_report(l, 0);
    }
    EXPECT_STATE(high, RESERVED);
    l->now_ms += 2999;
    lab_report(l, 0);
    EXPECT_STATE(high, RESERVED);
    lab_tick(l, 1);
    EXPECT_STATE(high, PENDING);
    EXPECT_STATE(low, STOPPING);
    assert_true(world_session(l->w, low)->alarm);
    lab_act(l, 0);
    EXPECT_STATE(high, ALLOCATED);
    lab_free(l);
}

static void a_restart_derives_the_promise(void **state)
{
    (void)state;
    struct lab *l = evict_lab(PREEMPT_TERMINATE);
    lab_join(l, "n1", 8, 8, 2);
    uint64_t low = running(l, 1, 0), high = submit(l, 2, 10);
    int64_t deadline_ms = world_session(l->w, high)->deadline_ms;
    lab_restart(l);
    lab_tick(l, 1); /* nobody spoke yet */
    EXPECT_STATE(high, RESERVED);
    struct session other = request(1, 50);
    other.user = 2;
    uint64_t id = lab_run(l, &other);
    lab_report_at(l, 0, l->nodes[0].turn);
    EXPECT_STATE(high, RESERVED);
    EXPECT_STATE(id, PENDING);
    assert_int_equal(world_session(l->w, high)->deadline_ms, deadline_ms);
    lab_settle(l);
    EXPECT_STATE(high, RUNNING);
    assert_int_equal(lab_outcome(l, low), OUTCOME_PREEMPTED);
    lab_free(l);
}

static void a_promise_on_a_lost_node_is_void(void **state)
{
    (void)state;
    struct lab *l = evict_lab(PREEMPT_TERMINATE);
    lab_join(l, "n1", 8, 8, 1);
    uint64_t low = running(l, 1, 0), high = submit(l, 1, 10);
    lab_step(l, &(struct event){.kind = EVENT_NODE_FORGET, .u.forget = {l->nodes[0].id, true}});
    EXPECT_STATE(high, PENDING);
    assert_int_equal(lab_outcome(l, low), OUTCOME_LOST);
    lab_free(l);
}

static void the_preemptor_gives_up(void **state)
{
    (void)state;
    struct lab *l = evict_lab(PREEMPT_TERMINATE);
    lab_join(l, "n1", 8, 8, 2);
    uint64_t low = running(l, 1, 0), high = submit(l, 2, 10);
    struct session other = request(1, 0);
    other.user = 2;
    uint64_t next = lab_run(l, &other);
    EXPECT_STATE(next, PENDING);
    lab_stop(l, high, -1);
    assert_int_equal(lab_outcome(l, high), OUTCOME_CANCELLED);
    EXPECT_STATE(next, ALLOCATED);
    EXPECT_STATE(low, STOPPING); /* it was told: that cannot be taken back */
    lab_free(l);
}

/* ---- queued again */

static void requeue_keeps_all_but_the_run(void **state)
{
    (void)state;
    struct lab *l = evict_lab(PREEMPT_REQUEUE);
    lab_join(l, "n1", 8, 8, 1);
    uint64_t low = running(l, 1, 0), later = submit(l, 1, 0), high = submit(l, 1, 10);
    EXPECT_STATE(low, STOPPING);
    lab_exit(l, 0, low, 0, 0); /* PRE13: an end inside the grace is no success */
    EXPECT_STATE(low, PENDING);
    EXPECT_STATE(high, ALLOCATED);
    assert_int_equal(lab_stored(l, low)->restarts, 1);
    assert_int_equal(lab_stored(l, low)->outcome, OUTCOME_NONE);
    assert_int_equal(lab_stored(l, low)->started_ms, 0);
    lab_settle(l);
    lab_exit(l, 0, high, 0, 0);
    EXPECT_STATE(low, ALLOCATED); /* before the one that came after it */
    EXPECT_STATE(later, PENDING);
    lab_settle(l);
    EXPECT_STATE(low, RUNNING);
    assert_int_equal(lab_stored(l, low)->attempt, 2);
    lab_exit(l, 0, low, 0, 0);
    assert_int_equal(lab_outcome(l, low), OUTCOME_SUCCEEDED);
    lab_free(l);
}

static void requeue_survives_a_restart(void **state)
{
    (void)state;
    struct lab *l = evict_lab(PREEMPT_REQUEUE);
    lab_join(l, "n1", 8, 8, 1);
    uint64_t low = running(l, 1, 0), high = submit(l, 1, 10);
    lab_restart(l);
    lab_settle(l);
    EXPECT_STATE(high, RUNNING);
    EXPECT_STATE(low, PENDING);
    assert_int_equal(lab_stored(l, low)->restarts, 1);
    lab_free(l);
}

/* PRE14 */
static void requeue_needs_no_old_host(void **state)
{
    (void)state;
    struct lab *l = evict_lab(PREEMPT_REQUEUE);
    lab_join(l, "n1", 8, 8, 1);
    uint64_t low = running(l, 1, 0), high = submit(l, 1, 10);
    lab_step(l, &(struct event){.kind = EVENT_NODE_FORGET, .u.forget = {l->nodes[0].id, true}});
    EXPECT_STATE(low, PENDING);
    EXPECT_STATE(high, PENDING);
    assert_int_equal(lab_stored(l, low)->restarts, 1);
    lab_join(l, "n2", 8, 8, 1);
    EXPECT_STATE(high, ALLOCATED);
    EXPECT_STATE(low, PENDING);
    lab_free(l);
}

static void a_stop_ends_what_would_wait_again(void **state)
{
    (void)state;
    struct lab *l = evict_lab(PREEMPT_REQUEUE);
    lab_join(l, "n1", 8, 8, 1);
    uint64_t low = running(l, 1, 0), high = submit(l, 1, 10);
    lab_stop(l, low, 1000);
    EXPECT_STATE(low, STOPPING);
    lab_settle(l);
    assert_int_equal(lab_outcome(l, low), OUTCOME_CANCELLED);
    EXPECT_STATE(high, RUNNING);
    lab_free(l);
}

static void a_gang_counts_one_restart(void **state)
{
    (void)state;
    struct lab *l = evict_lab(PREEMPT_REQUEUE);
    lab_join(l, "n1", 8, 8, 2);
    lab_join(l, "n2", 8, 8, 2);
    struct session gang = lab_request(4, 1, 1, 1);
    gang.priority = 0;
    gang.preemptible = true;
    uint64_t low = lab_run(l, &gang);
    lab_settle(l);
    EXPECT_STATE(low, RUNNING);
    uint64_t high = submit(l, 1, 10);
    lab_exit(l, 0, low, 0, 143);
    EXPECT_STATE(low, STOPPING);
    assert_true(lab_state(l, high) == SESSION_ALLOCATED || lab_state(l, high) == SESSION_RESERVED);
    lab_settle(l);
    EXPECT_STATE(high, RUNNING);
    EXPECT_STATE(low, PENDING);
    assert_int_equal(lab_stored(l, low)->restarts, 1); /* GNG10: once, not once a member */
    lab_free(l);
}

/* ---- when */

static void the_minimum_runtime_ends_at_its_instant(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    policy(l, PREEMPT_TERMINATE, SCOPE_USER, 10000);
    lab_join(l, "n1", 8, 8, 1);
    uint64_t low = running(l, 1, 0), high = submit(l, 1, 10);
    EXPECT_STATE(high, PENDING);
    assert_int_equal(step_next_deadline(l->w), world_session(l->w, low)->started_ms + 10000);
    lab_tick(l, 9999);
    EXPECT_STATE(high, PENDING);
    lab_tick(l, 1);
    EXPECT_STATE(high, RESERVED);
    EXPECT_STATE(low, STOPPING);
    lab_free(l);
}

static void who_is_not_running_yet_may_go_as_soon_as_it_does(void **state)
{
    (void)state;
    struct lab *l = evict_lab(PREEMPT_TERMINATE);
    lab_join(l, "n1", 8, 8, 1);
    uint64_t low = submit(l, 1, 0);
    EXPECT_STATE(low, ALLOCATED);
    uint64_t high = submit(l, 1, 10);
    EXPECT_STATE(high, PENDING);
    lab_settle(l);
    EXPECT_STATE(high, RUNNING);
    assert_int_equal(lab_outcome(l, low), OUTCOME_PREEMPTED);
    lab_free(l);
}

/* PRE8: its own sessions of lower priority fill the limit. */
static void a_limit_is_judged_as_if_they_were_gone(void **state)
{
    (void)state;
    struct lab *l = evict_lab(PREEMPT_TERMINATE);
    lab_join(l, "n1", 8, 8, 4);
    lab_limit(l, LEVEL_PROJECT, 1, LIMIT_GPU, 2);
    uint64_t low = running(l, 2, 0), high = submit(l, 2, 10);
    EXPECT_STATE(high, RESERVED);
    EXPECT_STATE(low, STOPPING);
    uint64_t other = submit(l, 1, 5); /* full: of what stops and of what is promised */
    EXPECT_STATE(other, PENDING);
    lab_settle(l);
    EXPECT_STATE(high, RUNNING);
    lab_free(l);
}

/* A head that has a promise does not wait for it when somebody could make room now. */
static void a_promised_head_preempts_when_it_can(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_BACKFILL);
    policy(l, PREEMPT_TERMINATE, SCOPE_USER, 10000);
    lab_join(l, "n1", 8, 8, 1);
    struct session s = request(1, 0);
    s.time_limit_ms = 3600000;
    uint64_t low = lab_run(l, &s);
    lab_settle(l);
    s.priority = 10;
    uint64_t high = lab_run(l, &s);
    EXPECT_STATE(high, PENDING);
    assert_non_null(plan_of(l->w, high));
    lab_tick(l, 10000);
    EXPECT_STATE(high, RESERVED);
    assert_null(plan_of(l->w, high));
    EXPECT_STATE(low, STOPPING);
    uint64_t next = lab_run(l, &s); /* dated beside what is promised to the other */
    EXPECT_STATE(next, PENDING);
    const struct promise *p = plan_of(l->w, next);
    assert_non_null(p);
    assert_true(p->at_ms >= world_session(l->w, high)->deadline_ms + 3600000);
    lab_settle(l);
    EXPECT_STATE(high, RUNNING);
    EXPECT_STATE(next, PENDING);
    lab_free(l);
}

/* What is promised to those behind keeps nobody from making room, however long it would run,
 * and although the one that runs began a moment after the promise was made. */
static void promises_behind_do_not_protect(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct lab *l = lab_new(BLOCKED_BACKFILL);
        policy(l, PREEMPT_TERMINATE, SCOPE_USER, 0);
        lab_join(l, "n1", 8, 16, 8);
        struct session req = request(6, 10);
        req.time_limit_ms = 120000;
        uint64_t runs = lab_run(l, &req);
        req = request(8, 10);
        req.time_limit_ms = 600000;
        uint64_t big = lab_run(l, &req);
        assert_non_null(plan_of(l->w, big));
        lab_tick(l, 500);
        lab_settle(l); /* only now its clock begins */
        EXPECT_STATE(runs, RUNNING);
        req = request(4, 50);
        req.time_limit_ms = i == 0 ? 60000 : 86400000; /* or far beyond what was promised */
        uint64_t boss = lab_run(l, &req);
        EXPECT_STATE(boss, RESERVED);
        EXPECT_STATE(runs, STOPPING);
        lab_settle(l);
        EXPECT_STATE(boss, RUNNING);
        EXPECT_STATE(big, PENDING);
        lab_free(l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_victim_stops_and_the_other_starts),
        cmocka_unit_test(both_are_told),
        cmocka_unit_test(it_is_off_until_somebody_says_so),
        cmocka_unit_test(the_free_part_is_kept),
        cmocka_unit_test(two_preemptors_on_one_node),
        cmocka_unit_test(a_victim_that_ended_by_itself_counts),
        cmocka_unit_test(it_moves_when_there_is_room_elsewhere),
        cmocka_unit_test(a_promise_has_a_deadline),
        cmocka_unit_test(a_restart_derives_the_promise),
        cmocka_unit_test(a_promise_on_a_lost_node_is_void),
        cmocka_unit_test(the_preemptor_gives_up),
        cmocka_unit_test(requeue_keeps_all_but_the_run),
        cmocka_unit_test(requeue_survives_a_restart),
        cmocka_unit_test(requeue_needs_no_old_host),
        cmocka_unit_test(a_stop_ends_what_would_wait_again),
        cmocka_unit_test(a_gang_counts_one_restart),
        cmocka_unit_test(a_limit_is_judged_as_if_they_were_gone),
        cmocka_unit_test(a_promised_head_preempts_when_it_can),
        cmocka_unit_test(the_minimum_runtime_ends_at_its_instant),
        cmocka_unit_test(who_is_not_running_yet_may_go_as_soon_as_it_does),
        cmocka_unit_test(promises_behind_do_not_protect),
    };
    return RUN(tests);
}
