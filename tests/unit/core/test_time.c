/* Deadlines fire at their instant, before a restart and after it; silence of
 * nodes is told and forgiven. */
#include "harness.h"


static uint64_t bring(struct lab *l, enum member_phase phase)
{
    struct session req = lab_request(1, 1, 1, 0);
    req.pending_timeout_ms = 40000;
    req.time_limit_ms = 3600000;
    uint64_t id = lab_run(l, &req);
    if (phase != MEMBER_NONE) lab_say(l, 0, id, 0, phase);
    return id;
}

static const struct {
    const char *name;
    enum member_phase phase;
    bool node, stopped;
    int64_t after_ms;
    enum session_state then;
    uint32_t failed_starts;
    bool alarm;
} CASES[] = {
    {"pending", MEMBER_NONE, false, false, 40000, SESSION_ENDED, 0, false},
    {"allocated", MEMBER_NONE, true, false, 60000, SESSION_PENDING, 0, false},
    {"preparing", MEMBER_PREPARING, true, false, 1800000, SESSION_PENDING, 1, false},
    {"ready", MEMBER_READY, true, false, 1800000, SESSION_PENDING, 1, false},
    {"starting", MEMBER_STARTING, true, false, 300000, SESSION_PENDING, 1, false},
    {"running", MEMBER_RUNNING, true, false, 3600000, SESSION_STOPPING, 0, false},
    {"stopping", MEMBER_RUNNING, true, true, 60000, SESSION_STOPPING, 0, true},
};

static void ses2_deadlines(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        for (int restarted = 0; restarted < 2; restarted++) {
            struct lab *l = lab_new(BLOCKED_STOP);
            if (CASES[i].node) lab_join(l, "n1", 4, 8, 0);
            uint64_t id = bring(l, CASES[i].phase);
            if (CASES[i].stopped) lab_stop(l, id, -1);
            enum session_state before = lab_state(l, id);
            int64_t deadline = lab_stored(l, id)->deadline_ms;
            assert_int_equal(deadline, l->now_ms + CASES[i].after_ms);
            if (restarted) lab_restart(l);
            l->now_ms = deadline - 1;
            if (CASES[i].node) lab_report_at(l, 0, 0);
            else lab_tick(l, 0);
            assert_int_equal(lab_state(l, id), before);
            assert_int_equal(lab_stored(l, id)->deadline_ms, deadline);
            assert_true(step_next_deadline(l->w) <= deadline);
            lab_tick(l, 1);
            const struct session *s = lab_stored(l, id);
            if (lab_state(l, id) != CASES[i].then) fail_msg("%s", CASES[i].name);
            assert_int_equal(s->failed_starts, CASES[i].failed_starts);
            assert_int_equal(s->alarm, CASES[i].alarm);
            bool anew = CASES[i].then == SESSION_PENDING; /* once that one is proved gone */
            assert_int_equal(s->unproved, anew);
            if (CASES[i].node) assert_true(lab_rows(l) >= 1); /* still held in any case */
            lab_free(l);
        }
    }
}

static void outcomes_of_time(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    uint64_t waited = bring(l, MEMBER_NONE);
    lab_tick(l, 40000);
    assert_int_equal(lab_outcome(l, waited), OUTCOME_TIMED_OUT);
    lab_join(l, "n1", 4, 8, 0);
    uint64_t ran = bring(l, MEMBER_RUNNING);
    lab_tick(l, 3600000);
    assert_int_equal(lab_want(l, 0, ran, 0), WANT_STOP);
    lab_tick(l, 60000); /* grace and 30 s without a proof: alarm, once */
    assert_int_equal(lab_changes(l, CHANGE_HISTORY), 1);
    assert_int_equal(lab_change(l, CHANGE_HISTORY)->u.history.what, HISTORY_ALARM);
    lab_tick(l, 3600000);
    assert_int_equal(lab_changes(l, CHANGE_HISTORY), 0);
    lab_restart(l);
    lab_tick(l, 10000);
    assert_true(world_session(l->w, ran)->alarm);
    lab_exit(l, 0, ran, 0, 137);
    assert_int_equal(lab_outcome(l, ran), OUTCOME_TIMED_OUT);
    assert_int_equal(lab_end(l, ran)->exit_code, 137);
    lab_free(l);
}

/* A proof that comes at the instant of the deadline counts. */
static void the_event_comes_first(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 4, 8, 0);
    uint64_t id = bring(l, MEMBER_NONE);
    l->now_ms += 60000;
    lab_say(l, 0, id, 0, MEMBER_PREPARING);
    assert_int_equal(lab_state(l, id), SESSION_PREPARING);
    assert_int_equal(lab_stored(l, id)->attempt, 1);
    lab_free(l);
}

/* CLK5: less than no time never passes. */
static void clk5_time_never_goes_back(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_tick(l, 5000);
    l->now_ms -= 4000;
    lab_tick(l, 0);
    assert_int_equal(l->w->now_ms, 6000);
    lab_free(l);
}

/* AGT1, PLC4: a silent node is told of; nothing on it is stopped, nothing new put
 * there; when it is back, all is as before. */
static void agt1_silence_stops_nothing(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 4, 8, 0);
    uint64_t id = bring(l, MEMBER_RUNNING);
    lab_tick(l, NODE_UNREACHABLE_MS - 1);
    assert_false(world_node(l->w, 1)->unreachable);
    lab_tick(l, 1);
    assert_true(world_node(l->w, 1)->unreachable);
    assert_int_equal(lab_changes(l, CHANGE_HISTORY), 1);
    assert_int_equal(lab_change(l, CHANGE_HISTORY)->u.history.what, HISTORY_NODE_UNREACHABLE);
    lab_tick(l, 60000);
    assert_int_equal(l->fx.changes.n, 0); /* told once */
    uint64_t late = bring(l, MEMBER_NONE);
    assert_int_equal(lab_state(l, late), SESSION_PENDING);
    assert_int_equal(lab_state(l, id), SESSION_RUNNING);
    assert_int_equal(lab_rows(l), 1);
    lab_report(l, 0);
    assert_false(world_node(l->w, 1)->unreachable);
    assert_int_equal(lab_change(l, CHANGE_HISTORY)->u.history.what, HISTORY_NODE_BACK);
    assert_int_equal(lab_state(l, id), SESSION_RUNNING);
    assert_int_equal(lab_state(l, late), SESSION_ALLOCATED); /* usable again, in the same step */
    lab_tick(l, NODE_UNREACHABLE_MS); /* and its silence is noticed again */
    assert_true(world_node(l->w, 1)->unreachable);
    lab_free(l);
}

/* AGT4, AGT5, AGT8, AGT17: whoever is back before the day is over finds all as it was,
 * however long it ran before: same attempt, same wish, nothing started elsewhere. */
static void agt4_agt5_agt8_agt17_back_in_time(void **state)
{
    (void)state;
    static const struct { int64_t ran_ms, silent_ms; } AWAY[] = {
        {3600000, 1000}, {5000, 40000}, {5000, 60000}, {5000, NODE_LOST_MS - 1}};
    for (size_t i = 0; i < ARRAY_LEN(AWAY); i++) {
        struct lab *l = lab_new(BLOCKED_STOP);
        struct session req = lab_request(1, 1, 1, 0);
        uint32_t n1 = lab_join(l, "n1", 4, 8, 0);
        uint64_t id = lab_run(l, &req);
        lab_settle(l);
        l->now_ms += AWAY[i].ran_ms;
        lab_report(l, n1);
        (void)lab_join(l, "n2", 4, 8, 0); /* room elsewhere */
        lab_tick(l, AWAY[i].silent_ms);
        assert_int_equal(lab_state(l, id), SESSION_RUNNING);
        lab_report(l, n1);
        assert_int_equal(lab_state(l, id), SESSION_RUNNING);
        assert_int_equal(lab_stored(l, id)->attempt, 1);
        assert_int_equal(lab_want(l, n1, id, 0), WANT_RUN);
        assert_int_equal(lab_rows(l), 1);
        lab_free(l);
    }
}

/* GNG7: a member's node is silent: it is said as soon as the limit allows. */
static void gng7_a_gang_without_one_of_its_nodes(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    struct session pair = lab_request(2, 4, 1, 0);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 0);
    (void)lab_join(l, "n2", 4, 8, 0);
    uint64_t id = lab_run(l, &pair);
    lab_settle(l);
    l->now_ms += NODE_UNREACHABLE_MS;
    lab_report(l, n1);
    struct why why = {0};
    char text[256];
    struct strbuf b;
    strbuf_init(&b, sizeof(text));
    explain_session(l->w, world_session(l->w, id), &why);
    explain_text(l->w, world_session(l->w, id), &why, &b);
    text_clip(text, sizeof(text), strbuf_str(&b));
    strbuf_done(&b);
    assert_non_null(strstr(text, "n2 (unreachable)"));
    assert_null(strstr(text, "n1 (unreachable)"));
    lab_free(l);
}

/* CLK11: each wait has a deadline of its own, counted from its own start. */
static void clk11_every_attempt_waits_anew(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    struct session req = lab_request(1, 1, 1, 0);
    uint32_t n1 = lab_join(l, "n1", 8, 8, 0);
    uint64_t id = lab_run(l, &req);
    for (uint32_t attempt = 1; attempt <= 4; attempt++) {
        assert_int_equal(lab_stored(l, id)->attempt, attempt);
        assert_int_equal(lab_stored(l, id)->deadline_ms, l->now_ms + 60000);
        l->now_ms += 59999;
        lab_report_at(l, n1, 0);
        assert_int_equal(lab_stored(l, id)->attempt, attempt);
        lab_tick(l, 1);
        assert_int_equal(lab_state(l, id), SESSION_PENDING); /* it may still be obeyed */
        lab_report(l, n1); /* nothing of it there */
    }
    lab_free(l);
}

/* A new manager has heard nobody: silence counts from its start. */
static void silence_counts_from_the_start(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 4, 8, 0);
    uint64_t id = bring(l, MEMBER_RUNNING);
    lab_tick(l, 14000);
    lab_restart(l);
    lab_tick(l, 5000);
    uint64_t late = bring(l, MEMBER_NONE);
    assert_false(world_node(l->w, 1)->unreachable);
    assert_int_equal(lab_state(l, late), SESSION_PENDING); /* nothing new before it is heard */
    lab_tick(l, NODE_UNREACHABLE_MS - 1);
    assert_false(world_node(l->w, 1)->unreachable);
    lab_tick(l, 1);
    assert_true(world_node(l->w, 1)->unreachable);
    assert_int_equal(lab_state(l, id), SESSION_RUNNING);
    lab_free(l);
}

static void lost_after_a_day(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    struct session pair = lab_request(2, 4, 1, 0);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 0), n2 = lab_join(l, "n2", 4, 8, 0);
    uint64_t id = lab_run(l, &pair);
    lab_settle(l);
    while (l->now_ms < 1000 + NODE_LOST_MS - 10000) { /* n2 goes on beating */
        l->now_ms += 10000;
        lab_act(l, n2);
    }
    assert_int_equal(lab_state(l, id), SESSION_RUNNING);
    assert_true(world_node(l->w, l->nodes[n1].id)->unreachable);
    lab_tick(l, 10000);
    assert_int_equal(lab_state(l, id), SESSION_STOPPING); /* n2's part must be proved gone */
    lab_restart(l);
    lab_report(l, n2);
    assert_int_equal(lab_state(l, id), SESSION_STOPPING);
    lab_exit(l, n2, id, 1, 143);
    assert_int_equal(lab_outcome(l, id), OUTCOME_LOST);
    assert_int_equal(lab_rows(l), 1); /* the lost node's devices stay held */
    lab_restart(l);
    assert_int_equal(lab_rows(l), 1);
    uint64_t next = lab_run(l, &pair);
    lab_forget(l, n2, id);
    lab_report(l, n2);
    assert_int_equal(lab_state(l, next), SESSION_PENDING);
    /* It returns after all: told to clean up, and then it is free. */
    lab_report_at(l, n1, l->w->turn);
    assert_int_equal(lab_rows(l), 1);
    lab_settle(l);
    assert_int_equal(lab_state(l, next), SESSION_RUNNING);
    assert_int_equal(lab_rows(l), 2);
    lab_free(l);
}

/* Held for a node that was lost, of a session that is gone: freed when an
 * operator gives the node up. */
static void lost_then_forgotten(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 4, 8, 0);
    uint64_t id = bring(l, MEMBER_STARTING), waits = bring(l, MEMBER_NONE);
    lab_tick(l, NODE_LOST_MS);
    assert_int_equal(lab_outcome(l, id), OUTCOME_LOST);
    assert_string_equal(lab_end(l, id)->detail, "node n1 was silent for 24 hours");
    assert_int_equal(lab_rows(l), 2);
    lab_step(l, &(struct event){.kind = EVENT_NODE_FORGET, .u.forget = {1, true}});
    assert_int_equal(lab_rows(l), 0);
    assert_int_equal(lab_outcome(l, waits), OUTCOME_LOST);
    lab_restart(l);
    lab_free(l);
}

/* Ended sessions leave no timers behind. */
static void timers_do_not_pile_up(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 4, 8, 0);
    struct session req = lab_request(1, 1, 1, 0);
    req.time_limit_ms = 86400000;
    for (uint32_t i = 0; i < 400; i++) {
        uint64_t id = lab_run(l, &req);
        lab_say(l, 0, id, 0, MEMBER_RUNNING);
        lab_exit(l, 0, id, 0, 0);
        lab_forget(l, 0, id);
        lab_report(l, 0);
    }
    assert_true(l->w->timers.n < 100);
    assert_true(l->w->sessions.n < 4);
    lab_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ses2_deadlines),
        cmocka_unit_test(outcomes_of_time),
        cmocka_unit_test(the_event_comes_first),
        cmocka_unit_test(clk5_time_never_goes_back),
        cmocka_unit_test(agt1_silence_stops_nothing),
        cmocka_unit_test(agt4_agt5_agt8_agt17_back_in_time),
        cmocka_unit_test(gng7_a_gang_without_one_of_its_nodes),
        cmocka_unit_test(clk11_every_attempt_waits_anew),
        cmocka_unit_test(silence_counts_from_the_start),
        cmocka_unit_test(lost_after_a_day),
        cmocka_unit_test(lost_then_forgotten),
        cmocka_unit_test(timers_do_not_pile_up),
    };
    return RUN(tests);
}
