/* From placed to running to ended, by what the nodes report. */
#include "harness.h"

static uint64_t one(struct lab *l)
{
    struct session s = lab_request(1, 2, 1, 0);
    return lab_run(l, &s);
}

static void a_session_runs(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 0);
    uint64_t id = one(l);
    assert_int_equal(lab_state(l, id), SESSION_ALLOCATED);
    assert_int_equal(l->fx.nodes.n, 1);
    assert_int_equal(lab_want(l, n1, id, 0), WANT_RUN); /* alone: no barrier */
    lab_say(l, n1, id, 0, MEMBER_PREPARING);
    assert_int_equal(lab_state(l, id), SESSION_PREPARING);
    lab_say(l, n1, id, 0, MEMBER_STARTING);
    assert_int_equal(lab_state(l, id), SESSION_STARTING);
    lab_say(l, n1, id, 0, MEMBER_RUNNING);
    assert_int_equal(lab_state(l, id), SESSION_RUNNING);
    assert_int_equal(lab_stored(l, id)->started_ms, l->now_ms);
    lab_report(l, n1); /* the same again: nothing is written */
    assert_int_equal(l->fx.changes.n, 0);
    assert_int_equal(l->fx.nodes.n, 0);
    lab_say(l, n1, id, 0, MEMBER_PREPARING); /* levels may fall back: the state does not */
    assert_int_equal(lab_state(l, id), SESSION_RUNNING);
    lab_exit(l, n1, id, 0, 0);
    assert_int_equal(lab_outcome(l, id), OUTCOME_SUCCEEDED);
    assert_int_equal(lab_rows(l), 0);
    assert_int_equal(lab_changes(l, CHANGE_ALLOC_GONE), 1);
    assert_int_equal(lab_change(l, CHANGE_ALLOC_GONE)->u.alloc.phase, MEMBER_EXITED);
    assert_int_equal(l->fx.nodes.n, 1); /* it may clean up now */
    lab_free(l);
}

static const struct {
    const char *name;
    struct member_end end;
    enum session_outcome outcome;
} ENDS[] = {
    {"code 0", {.exit_code = 0}, OUTCOME_SUCCEEDED},
    {"code 3", {.exit_code = 3}, OUTCOME_FAILED},
    {"unknown code", {.exit_code = -1}, OUTCOME_FAILED},
    {"a code that cannot be", {.exit_code = 70000}, OUTCOME_FAILED},
    {"signal", {.exit_code = 137, .signal = 9}, OUTCOME_FAILED},
    {"oom", {.exit_code = 137, .signal = 9, .oom = true}, OUTCOME_FAILED},
    {"its time limit", {.exit_code = 143, .timed_out = true}, OUTCOME_TIMED_OUT},
};

/* So fast that the first report already is the last. */
static void all_between_two_reports(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ENDS); i++) {
        struct lab *l = lab_new(BLOCKED_STOP);
        uint32_t n1 = lab_join(l, "n1", 4, 8, 0);
        uint64_t id = one(l);
        lab_set(l, n1, id, 0, MEMBER_EXITED, &ENDS[i].end);
        lab_report(l, n1);
        if (lab_outcome(l, id) != ENDS[i].outcome) fail_msg("%s", ENDS[i].name);
        const struct session *s = lab_stored(l, id);
        assert_true(s->started_ms > 0);
        assert_int_equal(s->ended_ms, l->now_ms);
        const struct member_end *end = lab_end(l, id);
        assert_int_equal(end->oom, ENDS[i].end.oom);
        assert_true(end->exit_code <= 255);
        lab_free(l);
    }
}

/* GNG5: the state of a gang is that of its slowest member. */
static void gng5_a_gang_is_as_far_as_its_slowest(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    struct session req = lab_request(2, 4, 1, 0);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 0), n2 = lab_join(l, "n2", 4, 8, 0);
    uint64_t id = lab_run(l, &req);
    lab_say(l, n1, id, 0, MEMBER_READY);
    assert_int_equal(lab_state(l, id), SESSION_ALLOCATED);
    assert_int_equal(lab_want(l, n1, id, 0), WANT_HOLD);
    lab_say(l, n2, id, 1, MEMBER_PREPARING);
    assert_int_equal(lab_state(l, id), SESSION_PREPARING);
    assert_int_equal(lab_want(l, n1, id, 0), WANT_HOLD); /* nobody runs before all are there */
    int64_t deadline = lab_stored(l, id)->deadline_ms;
    l->now_ms += 5000;
    lab_say(l, n2, id, 1, MEMBER_READY);
    assert_int_equal(lab_state(l, id), SESSION_READY);
    assert_int_equal(lab_stored(l, id)->deadline_ms, deadline);
    assert_int_equal(l->fx.nodes.n, 2);
    assert_int_equal(lab_want(l, n1, id, 0), WANT_RUN);
    assert_int_equal(lab_want(l, n2, id, 1), WANT_RUN);
    lab_say(l, n1, id, 0, MEMBER_RUNNING);
    assert_int_equal(lab_state(l, id), SESSION_STARTING);
    lab_say(l, n2, id, 1, MEMBER_STARTING);
    assert_int_equal(lab_state(l, id), SESSION_STARTING);
    lab_say(l, n2, id, 1, MEMBER_RUNNING);
    assert_int_equal(lab_state(l, id), SESSION_RUNNING);
    lab_free(l);
}

/* Every pair of phases of a gang of two, reported at once. */
static void every_pair_of_phases(void **state)
{
    (void)state;
    static const enum session_state at[] = {
        [MEMBER_NONE] = SESSION_ALLOCATED,    [MEMBER_PREPARING] = SESSION_PREPARING,
        [MEMBER_READY] = SESSION_READY,       [MEMBER_STARTING] = SESSION_STARTING,
        [MEMBER_RUNNING] = SESSION_RUNNING,   [MEMBER_STOPPING] = SESSION_RUNNING,
    };
    for (enum member_phase a = MEMBER_NONE; a <= MEMBER_STOPPING; a++) {
        for (enum member_phase b = MEMBER_NONE; b <= MEMBER_STOPPING; b++) {
            struct lab *l = lab_new(BLOCKED_STOP);
            struct session req = lab_request(2, 2, 1, 0);
            uint32_t n1 = lab_join(l, "n1", 4, 8, 0);
            uint64_t id = lab_run(l, &req);
            lab_set(l, n1, id, 0, a, NULL);
            lab_say(l, n1, id, 1, b);
            enum member_phase slow = a < b ? a : b, fast = a < b ? b : a;
            enum session_state wanted = at[slow];
            if (slow == MEMBER_READY && fast > MEMBER_READY) wanted = SESSION_STARTING;
            assert_int_equal(lab_state(l, id), wanted);
            lab_free(l);
        }
    }
}

struct gang { struct lab *l; uint32_t n1, n2; uint64_t id; };

static struct gang running_gang(bool stop_on_member)
{
    struct gang g = {.l = lab_new(BLOCKED_STOP)};
    struct session req = lab_request(2, 4, 1, 0);
    req.stop_on_member = stop_on_member;
    g.n1 = lab_join(g.l, "n1", 4, 8, 0);
    g.n2 = lab_join(g.l, "n2", 4, 8, 0);
    g.id = lab_run(g.l, &req);
    lab_settle(g.l);
    assert_int_equal(lab_state(g.l, g.id), SESSION_RUNNING);
    return g;
}

static void a_gang_ends_with_its_main(void **state)
{
    (void)state;
    struct gang g = running_gang(true);
    lab_exit(g.l, g.n1, g.id, 0, 0);
    assert_int_equal(lab_state(g.l, g.id), SESSION_STOPPING);
    assert_int_equal(lab_rows(g.l), 1); /* the proved one is free already */
    assert_int_equal(lab_want(g.l, g.n2, g.id, 1), WANT_STOP);
    assert_int_equal(lab_want(g.l, g.n1, g.id, 0), 0);
    lab_restart(g.l);
    lab_exit(g.l, g.n2, g.id, 1, 143); /* the others' codes are ours, not theirs */
    assert_int_equal(lab_outcome(g.l, g.id), OUTCOME_SUCCEEDED);
    assert_int_equal(lab_end(g.l, g.id)->exit_code, 0);
    lab_free(g.l);
}

static void a_failing_member_ends_its_gang(void **state)
{
    (void)state;
    struct gang g = running_gang(true);
    lab_exit(g.l, g.n2, g.id, 1, 5);
    assert_int_equal(lab_state(g.l, g.id), SESSION_STOPPING);
    lab_exit(g.l, g.n1, g.id, 0, 0);
    assert_int_equal(lab_outcome(g.l, g.id), OUTCOME_FAILED);
    assert_int_equal(lab_end(g.l, g.id)->exit_code, 5);
    lab_free(g.l);
}

/* "It never ran", of what was running: no retry, its gang ends. */
static void a_running_member_that_never_ran(void **state)
{
    (void)state;
    struct gang g = running_gang(true);
    lab_set(g.l, g.n2, g.id, 1, MEMBER_FAILED, &(struct member_end){.exit_code = -1});
    lab_report(g.l, g.n2);
    assert_int_equal(lab_state(g.l, g.id), SESSION_STOPPING);
    lab_settle(g.l);
    assert_int_equal(lab_outcome(g.l, g.id), OUTCOME_FAILED);
    assert_int_equal(lab_stored(g.l, g.id)->attempt, 1);
    lab_free(g.l);
}

static void a_member_may_leave(void **state)
{
    (void)state;
    struct gang g = running_gang(true);
    lab_exit(g.l, g.n2, g.id, 1, 0); /* its part is done */
    assert_int_equal(lab_state(g.l, g.id), SESSION_RUNNING);
    assert_int_equal(lab_rows(g.l), 1);
    lab_exit(g.l, g.n1, g.id, 0, 0);
    assert_int_equal(lab_outcome(g.l, g.id), OUTCOME_SUCCEEDED);
    lab_free(g.l);
    g = running_gang(false);
    lab_exit(g.l, g.n2, g.id, 1, 5); /* failing is its own affair */
    assert_int_equal(lab_state(g.l, g.id), SESSION_RUNNING);
    lab_restart(g.l);
    lab_exit(g.l, g.n1, g.id, 0, 0);
    assert_int_equal(lab_outcome(g.l, g.id), OUTCOME_SUCCEEDED);
    lab_free(g.l);
}

/* SES1, SES10, seed 4: a failed start holds nothing, is never ready, lets others
 * go first, and comes to an end. */
static void ses1_ses10_failed_starts(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 0);
    struct session four = lab_request(1, 4, 1, 0);
    uint64_t alice = lab_run(l, &four), bob = lab_run(l, &four);
    struct member_end end = {.exit_code = -1, .detail = "no such image"};
    static const int64_t pauses[] = {10000, 20000};
    for (uint32_t try = 1; try <= 3; try++) {
        assert_int_equal(lab_state(l, alice), SESSION_ALLOCATED);
        lab_set(l, n1, alice, 0, MEMBER_FAILED, &end);
        assert_int_equal(lab_report(l, n1), VERDICT_OK);
        lab_forget(l, n1, alice);
        if (try == 1) { /* in the same step */
            assert_int_equal(lab_state(l, bob), SESSION_ALLOCATED);
            lab_exit(l, n1, bob, 0, 0);
            lab_forget(l, n1, bob);
        }
        assert_int_equal(lab_rows(l), 0);
        if (try == 3) break;
        assert_int_equal(lab_state(l, alice), SESSION_PENDING);
        lab_expect_why(l, alice, WHY_WAITING, NULL);
        lab_restart(l);
        lab_report(l, n1);
        lab_tick(l, pauses[try - 1] - 1);
        assert_int_equal(lab_state(l, alice), SESSION_PENDING);
        lab_report(l, n1);
        assert_true(step_next_deadline(l->w) == l->now_ms + 1);
        lab_tick(l, 1);
    }
    assert_int_equal(lab_outcome(l, alice), OUTCOME_FAILED);
    assert_string_equal(lab_end(l, alice)->detail, "no such image");
    assert_int_equal(lab_stored(l, alice)->started_ms, 0);
    lab_free(l);
}

/* SES5: the node refuses what it was given: that is heard, the session waits once and
 * for longer each time, and where another node has room by then it goes there. */
static void ses5_refused_by_the_node(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 1);
    struct session asks = lab_request(1, 1, 1, 1);
    struct member_end end = {.exit_code = -1, .detail = "no free device"};
    uint64_t id = lab_run(l, &asks);
    lab_set(l, n1, id, 0, MEMBER_FAILED, &end);
    lab_report(l, n1);
    lab_forget(l, n1, id);
    assert_int_equal(lab_state(l, id), SESSION_PENDING);
    assert_int_equal(lab_rows(l), 0);
    for (int64_t ms = 0; ms < SESSION_BACKOFF_FIRST_MS - 1000; ms += 1000) {
        l->now_ms += 1000;
        lab_report(l, n1); /* room is there all the time: no loop */
        assert_int_equal(lab_stored(l, id)->attempt, 1);
    }
    lab_step(l, &(struct event){.kind = EVENT_NODE_CORDON, .u.cordon = {1, true}});
    uint32_t n2 = lab_join(l, "n2", 4, 8, 1);
    lab_tick(l, 1000);
    assert_int_equal(lab_stored(l, id)->attempt, 2);
    lab_act(l, n2);
    lab_settle(l);
    assert_int_equal(lab_state(l, id), SESSION_RUNNING);
    assert_int_equal(lab_want(l, n2, id, 0), WANT_RUN);
    assert_int_equal(world_session(l->w, id)->failed_starts, 0);
    lab_free(l);
}

static void fatal_is_not_tried_again(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    struct session req = lab_request(2, 4, 1, 0);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 0), n2 = lab_join(l, "n2", 4, 8, 0);
    uint64_t id = lab_run(l, &req);
    lab_say(l, n1, id, 0, MEMBER_READY);
    lab_set(l, n2, id, 1, MEMBER_FAILED, &(struct member_end){.fatal = true, .detail = "no"});
    lab_report(l, n2);
    assert_int_equal(lab_state(l, id), SESSION_STOPPING); /* n1 still holds it */
    assert_int_equal(lab_want(l, n1, id, 0), WANT_STOP);
    lab_settle(l);
    assert_int_equal(lab_outcome(l, id), OUTCOME_FAILED);
    assert_string_equal(lab_end(l, id)->detail, "no");
    lab_free(l);
}

/* A revoked attempt keeps its devices until its node proves it gone. */
static void a_revoked_attempt_holds(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    struct session req = lab_request(2, 4, 1, 0), small = lab_request(1, 4, 1, 0);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 0), n2 = lab_join(l, "n2", 4, 8, 0);
    uint64_t id = lab_run(l, &req);
    lab_say(l, n1, id, 0, MEMBER_READY);
    lab_set(l, n2, id, 1, MEMBER_FAILED, &(struct member_end){.detail = "disk full"});
    lab_report(l, n2);
    lab_forget(l, n2, id);
    assert_int_equal(lab_state(l, id), SESSION_PENDING);
    assert_int_equal(lab_rows(l), 1);
    assert_int_equal(lab_want(l, n1, id, 0), 0);
    lab_restart(l);
    lab_report(l, n2);
    uint64_t other = lab_run(l, &small), late = lab_run(l, &small);
    assert_int_equal(lab_state(l, other), SESSION_ALLOCATED);
    assert_int_equal(lab_state(l, late), SESSION_PENDING);
    lab_report(l, n1); /* it still lists the member: no proof */
    assert_int_equal(lab_state(l, late), SESSION_PENDING);
    lab_forget(l, n1, id);
    lab_report(l, n1);
    assert_int_equal(lab_state(l, late), SESSION_ALLOCATED);
    lab_free(l);
}

/* An older list proves nothing about a row that it never heard of. */
static void old_turns_prove_nothing(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 0);
    uint64_t before = l->w->turn, id = one(l), made = l->w->turn;
    lab_report_at(l, n1, before);
    assert_int_equal(lab_state(l, id), SESSION_ALLOCATED);
    lab_report_at(l, n1, made);
    assert_int_equal(lab_state(l, id), SESSION_PENDING); /* the node does not have it */
    assert_string_equal(ends_of(l->w, world_session(l->w, id))->detail,
                        "the node no longer has it");
    lab_free(l);
}

/* AGT13: a container that was deleted behind the agent's back is free at the next
 * report; what may have run does not run again. */
static void agt13_deleted_containers(void **state)
{
    (void)state;
    for (enum member_phase phase = MEMBER_PREPARING; phase <= MEMBER_STOPPING; phase++) {
        struct lab *l = lab_new(BLOCKED_SKIP);
        uint32_t n1 = lab_join(l, "n1", 4, 8, 0);
        uint64_t id = one(l);
        lab_say(l, n1, id, 0, phase);
        lab_forget(l, n1, id);
        lab_report(l, n1);
        assert_int_equal(lab_rows(l), 0);
        if (phase < MEMBER_STARTING) {
            assert_int_equal(lab_state(l, id), SESSION_PENDING);
        } else {
            assert_int_equal(lab_outcome(l, id), OUTCOME_FAILED);
            assert_int_equal(lab_end(l, id)->exit_code, -1);
            assert_string_equal(lab_end(l, id)->detail,
                                "outcome unknown: the node no longer has it");
        }
        lab_free(l);
    }
}

/* MGR1: after a restart the ended are not queued again and hold nothing. */
static void mgr1_the_ended_stay_ended(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 0);
    uint64_t a = one(l), b = one(l);
    lab_settle(l);
    lab_exit(l, n1, a, 0, 0);
    lab_exit(l, n1, b, 0, 1);
    lab_restart(l);
    lab_settle(l);
    assert_int_equal(lab_rows(l), 0);
    assert_null(world_session(l->w, a));
    assert_int_equal(l->w->queues.v[0].n, 0);
    assert_int_equal(lab_stop(l, b, -1), VERDICT_ENDED);
    assert_true(one(l) == b + 1); /* ids are not given again */
    lab_free(l);
}

static void signals(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 0);
    uint64_t id = one(l);
    struct event ev = {.kind = EVENT_SIGNAL, .u.signal = {id, 2}};
    assert_int_equal(lab_step(l, &ev), VERDICT_NOT_RUNNING);
    lab_settle(l);
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    assert_int_equal(l->fx.nodes.n, 1);
    lab_settle(l);
    assert_int_equal(l->nodes[n1].list.v[0].signal_done, 1);
    assert_int_equal(world_allocs_of_session(l->w, world_session(l->w, id))->signal_done, 1);
    ev.u.signal.signal = 65;
    assert_int_equal(lab_step(l, &ev), VERDICT_BAD_VALUE);
    ev.u.signal.signal = 0;
    assert_int_equal(lab_step(l, &ev), VERDICT_BAD_VALUE);
    ev.u.signal = (struct event_signal){id + 1, 15};
    assert_int_equal(lab_step(l, &ev), VERDICT_NOT_FOUND);
    world_session(l->w, id)->signal_no = UINT32_MAX; /* as if */
    ev.u.signal.session = id;
    assert_int_equal(lab_step(l, &ev), VERDICT_FULL);
    lab_exit(l, n1, id, 0, 0);
    assert_int_equal(lab_step(l, &ev), VERDICT_ENDED);
    lab_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_runs),
        cmocka_unit_test(all_between_two_reports),
        cmocka_unit_test(gng5_a_gang_is_as_far_as_its_slowest),
        cmocka_unit_test(every_pair_of_phases),
        cmocka_unit_test(a_gang_ends_with_its_main),
        cmocka_unit_test(a_failing_member_ends_its_gang),
        cmocka_unit_test(a_running_member_that_never_ran),
        cmocka_unit_test(a_member_may_leave),
        cmocka_unit_test(ses1_ses10_failed_starts),
        cmocka_unit_test(ses5_refused_by_the_node), cmocka_unit_test(fatal_is_not_tried_again),
        cmocka_unit_test(a_revoked_attempt_holds),
        cmocka_unit_test(old_turns_prove_nothing),
        cmocka_unit_test(agt13_deleted_containers),
        cmocka_unit_test(mgr1_the_ended_stay_ended),
        cmocka_unit_test(signals),
    };
    return RUN(tests);
}
