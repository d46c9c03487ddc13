/* Stop is accepted in every state but the last, and frees only on proof. */
#include "harness.h"

/* Brings a gang of one (two: READY needs a barrier) into the state. */
static uint64_t bring(struct lab *l, enum session_state to)
{
    struct session req = lab_request(2, 1, 1, 0);
    uint64_t id = lab_run(l, &req);
    static const enum member_phase phases[SESSION_STATES] = {
        [SESSION_PREPARING] = MEMBER_PREPARING, [SESSION_READY] = MEMBER_READY,
        [SESSION_STARTING] = MEMBER_STARTING,   [SESSION_RUNNING] = MEMBER_RUNNING,
    };
    for (uint32_t m = 0; phases[to] && m < 2; m++) lab_set(l, 0, id, m, phases[to], NULL);
    if (phases[to]) lab_report(l, 0);
    if (to == SESSION_STOPPING) lab_stop(l, id, -1);
    assert_int_equal(lab_state(l, id), to);
    return id;
}

static void ses2_stop_in_every_state(void **state)
{
    (void)state;
    for (enum session_state s = SESSION_PENDING; s < SESSION_ENDED; s++) {
        if (s == SESSION_RESERVED) continue; /* nothing promises room yet */
        struct lab *l = lab_new(BLOCKED_STOP);
        if (s != SESSION_PENDING) lab_join(l, "n1", 4, 8, 0);
        uint64_t id = bring(l, s);
        if (s > SESSION_ALLOCATED) lab_restart(l);
        assert_int_equal(lab_stop(l, id, -1), VERDICT_OK);
        assert_true(l->fx.session == id);
        enum session_state then = s == SESSION_PENDING ? SESSION_ENDED : SESSION_STOPPING;
        assert_int_equal(lab_state(l, id), then);
        assert_int_equal(lab_rows(l), s == SESSION_PENDING ? 0 : 2);
        lab_settle(l);
        assert_int_equal(lab_outcome(l, id), OUTCOME_CANCELLED);
        assert_int_equal(lab_rows(l), 0);
        assert_int_equal(lab_stop(l, id, -1), VERDICT_ENDED);
        lab_free(l);
    }
}

/* SES8: between the placement and the creation. */
static void ses8_before_the_node_knows(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 0);
    uint64_t id = bring(l, SESSION_ALLOCATED), made = l->w->turn;
    lab_stop(l, id, -1);
    lab_report_at(l, n1, made - 1); /* of before: no proof */
    assert_int_equal(lab_rows(l), 2);
    lab_report(l, n1);
    assert_int_equal(lab_rows(l), 0);
    assert_int_equal(lab_outcome(l, id), OUTCOME_CANCELLED);
    assert_int_equal(l->w->nodes.v[0].used.v[SLOT_CPU], 0);
    lab_free(l);
}

static void the_shorter_grace_wins(void **state)
{
    (void)state;
    static const struct { int64_t first, second, wanted; } CASES[] = {
        {-1, -1, 30000}, {-1, 5000, 5000},   {5000, -1, 5000},
        {5000, 9000, 5000}, {9000, 0, 0},    {0, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct lab *l = lab_new(BLOCKED_STOP);
        lab_join(l, "n1", 4, 8, 0);
        uint64_t id = bring(l, SESSION_RUNNING);
        assert_int_equal(lab_stop(l, id, CASES[i].first), VERDICT_OK);
        uint32_t changes = l->fx.changes.n;
        assert_true(changes > 0);
        assert_int_equal(lab_stop(l, id, CASES[i].second), VERDICT_OK);
        const struct session *s = lab_stored(l, id);
        assert_int_equal(s->grace_ms, CASES[i].wanted);
        assert_int_equal(s->deadline_ms, l->now_ms + CASES[i].wanted + SESSION_ALARM_AFTER_MS);
        struct member_want *wants;
        uint32_t n;
        step_wants(l->w, world_node(l->w, 1), &wants, &n);
        assert_int_equal(n, 2);
        assert_int_equal(wants[0].act, WANT_STOP);
        assert_int_equal(wants[1].grace_ms, CASES[i].wanted);
        mem_free(wants);
        lab_free(l);
    }
}

static void causes(void **state)
{
    (void)state;
    for (enum session_outcome cause = 0; cause <= OUTCOMES; cause++) {
        struct lab *l = lab_new(BLOCKED_STOP);
        uint32_t n1 = lab_join(l, "n1", 4, 8, 0);
        struct session req = lab_request(1, 1, 1, 0);
        uint64_t id = lab_run(l, &req);
        lab_settle(l);
        struct event ev = {.kind = EVENT_STOP, .u.stop = {id, cause, -1}};
        bool ok = cause == OUTCOME_CANCELLED || cause == OUTCOME_TIMED_OUT ||
                  cause == OUTCOME_PREEMPTED || cause == OUTCOME_IDLE;
        assert_int_equal(lab_step(l, &ev), ok ? VERDICT_OK : VERDICT_BAD_VALUE);
        lab_exit(l, n1, id, 0, 0); /* whatever the code: the cause stands */
        assert_int_equal(lab_outcome(l, id), ok ? cause : OUTCOME_SUCCEEDED);
        lab_free(l);
    }
}

/* SES4: one node that says nothing holds up no end on another. */
static void ses4_a_mute_node_delays_only_its_own(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    struct session req = lab_request(1, 4, 1, 0);
    uint32_t nodes[] = {lab_join(l, "n1", 4, 8, 0), lab_join(l, "n2", 4, 8, 0)};
    uint64_t ids[] = {lab_run(l, &req), lab_run(l, &req)};
    lab_settle(l);
    lab_stop(l, ids[0], 0); /* of the node that is mute from now on */
    lab_stop(l, ids[1], 0);
    lab_act(l, nodes[1]);
    assert_int_equal(lab_outcome(l, ids[1]), OUTCOME_CANCELLED);
    lab_tick(l, SESSION_ALARM_AFTER_MS + 1);
    assert_true(world_session(l->w, ids[0])->alarm);
    lab_act(l, nodes[0]);
    assert_int_equal(lab_outcome(l, ids[0]), OUTCOME_CANCELLED);
    lab_free(l);
}

/* QTA14: whatever comes twice, or together with its opposite, is booked once. */
static void qta14_released_once(void **state)
{
    (void)state;
    for (int stop_first = 0; stop_first < 2; stop_first++) {
        struct lab *l = lab_new(BLOCKED_STOP);
        struct session req = lab_request(1, 1, 1, 1);
        uint32_t n1 = lab_join(l, "n1", 4, 8, 2);
        uint64_t id = lab_run(l, &req), stays = lab_run(l, &req);
        lab_settle(l);
        if (stop_first) lab_stop(l, id, -1);
        lab_exit(l, n1, id, 0, 0);
        assert_int_equal(lab_stop(l, id, -1), VERDICT_ENDED);
        for (int again = 0; again < 3; again++) {
            lab_report(l, n1); /* it is still in the list */
            assert_int_equal(lab_changes(l, CHANGE_ALLOC_GONE), 0);
        }
        assert_int_equal(lab_rows(l), 1);
        assert_int_equal(world_node(l->w, 1)->used.v[SLOT_GPU], 1);
        assert_int_equal(lab_state(l, stays), SESSION_RUNNING);
        lab_free(l);
    }
}

static void bad_stops(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 4, 8, 0);
    uint64_t id = bring(l, SESSION_RUNNING);
    assert_int_equal(lab_stop(l, id + 1, -1), VERDICT_NOT_FOUND);
    assert_int_equal(lab_stop(l, 0, -1), VERDICT_NOT_FOUND);
    assert_int_equal(lab_stop(l, UINT64_MAX, -1), VERDICT_NOT_FOUND);
    assert_int_equal(lab_stop(l, id, -2), VERDICT_BAD_VALUE);
    assert_int_equal(lab_stop(l, id, INT64_MAX), VERDICT_BAD_VALUE);
    assert_int_equal(lab_state(l, id), SESSION_RUNNING);
    assert_int_equal(lab_stop(l, id, INT64_C(3653) * 86400000), VERDICT_OK); /* the most there is */
    lab_free(l);
}

/* It waits, but an earlier attempt is not proved gone: it is still held. */
static void a_waiting_session_that_holds(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 0);
    uint64_t id = bring(l, SESSION_ALLOCATED);
    lab_set(l, n1, id, 0, MEMBER_FAILED, &(struct member_end){.exit_code = -1});
    lab_say(l, n1, id, 1, MEMBER_READY);
    assert_int_equal(lab_state(l, id), SESSION_PENDING);
    assert_int_equal(lab_rows(l), 1);
    assert_int_equal(lab_stop(l, id, -1), VERDICT_OK);
    assert_int_equal(lab_state(l, id), SESSION_STOPPING);
    lab_restart(l);
    lab_settle(l);
    assert_int_equal(lab_outcome(l, id), OUTCOME_CANCELLED);
    lab_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ses2_stop_in_every_state), cmocka_unit_test(ses8_before_the_node_knows),
        cmocka_unit_test(the_shorter_grace_wins),   cmocka_unit_test(causes),
        cmocka_unit_test(ses4_a_mute_node_delays_only_its_own),
        cmocka_unit_test(qta14_released_once), cmocka_unit_test(bad_stops),
        cmocka_unit_test(a_waiting_session_that_holds),
    };
    return RUN(tests);
}
