/* A node that is to become empty: until its date everybody may end by himself. */
#include "harness.h"

static enum verdict drain(struct lab *l, uint32_t node, int64_t deadline_ms, const char *reason)
{
    struct event ev = {.kind = EVENT_NODE_CORDON, .actor = 1};
    ev.u.cordon = (struct event_cordon){.node = node, .on = true, .drain = true,
                                        .deadline_ms = deadline_ms};
    TEXT_SET(ev.u.cordon.reason, str_of(reason));
    return lab_step(l, &ev);
}

static enum verdict uncordon(struct lab *l, uint32_t node)
{
    struct event ev = {.kind = EVENT_NODE_CORDON, .actor = 1};
    ev.u.cordon = (struct event_cordon){.node = node};
    return lab_step(l, &ev);
}

/* Both nodes go on beating. */
static void pass(struct lab *l, int64_t ms)
{
    int64_t until = l->now_ms + ms;
    while (l->now_ms < until) {
        l->now_ms = l->now_ms + 5000 < until ? l->now_ms + 5000 : until;
        for (uint32_t i = 0; i < l->n_nodes; i++) lab_report(l, i);
        lab_tick(l, 0);
    }
}

static const struct {
    enum session_kind kind;
    enum member_phase phase;
    enum session_state then; /* at the date */
    bool again;
} CASES[] = {
    {KIND_BATCH, MEMBER_RUNNING, SESSION_STOPPING, true},
    {KIND_INTERACTIVE, MEMBER_RUNNING, SESSION_STOPPING, false},
    {KIND_SERVICE, MEMBER_RUNNING, SESSION_STOPPING, false},
    {KIND_BATCH, MEMBER_PREPARING, SESSION_PENDING, true}, /* elsewhere once it is gone there */
};

static void at_its_date_and_not_before(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        for (int restarted = 0; restarted < 2; restarted++) {
            struct lab *l = lab_new(BLOCKED_STOP);
            struct session req = lab_request(1, 4, 1, 0);
            req.kind = CASES[i].kind;
            lab_join(l, "n1", 4, 8, 0);
            uint64_t id = lab_run(l, &req);
            lab_say(l, 0, id, 0, CASES[i].phase);
            lab_join(l, "n2", 4, 8, 0);
            assert_int_equal(drain(l, 1, 600000, "new fans"), VERDICT_OK);
            enum session_state before = lab_state(l, id);
            if (restarted) lab_restart(l);
            if (restarted) lab_tick(l, 0);
            int64_t date_ms = world_node(l->w, 1)->drain_ms;
            assert_true(date_ms > l->now_ms);
            assert_string_equal(world_node(l->w, 1)->cordon_reason, "new fans");
            pass(l, date_ms - l->now_ms - 1);
            assert_int_equal(lab_state(l, id), before);
            lab_tick(l, 1);
            if (lab_state(l, id) != CASES[i].then) fail_msg("%zu", i);
            if (CASES[i].then == SESSION_STOPPING) {
                assert_int_equal(lab_want(l, 0, id, 0), WANT_STOP);
                lab_exit(l, 0, id, 0, 143);
            } else {
                lab_forget(l, 0, id);
                lab_report(l, 0);
            }
            if (CASES[i].again) assert_int_equal(lab_stored(l, id)->attempt, 2);
            else assert_int_equal(lab_outcome(l, id), OUTCOME_PREEMPTED);
            assert_int_equal(world_node(l->w, 1)->drain_ms, 0);
            assert_true(world_node(l->w, 1)->draining);
            lab_free(l);
        }
    }
}

static void without_a_date_nobody_is_stopped(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    struct session req = lab_request(1, 1, 1, 0);
    lab_join(l, "n1", 4, 8, 0);
    uint64_t id = lab_run(l, &req);
    lab_settle(l);
    drain(l, 1, 0, "");
    pass(l, 3600000);
    assert_int_equal(lab_state(l, id), SESSION_RUNNING);
    uint64_t late = lab_run(l, &req);
    assert_int_equal(lab_state(l, late), SESSION_PENDING);
    uncordon(l, 1);
    assert_false(world_node(l->w, 1)->draining);
    assert_int_equal(lab_state(l, late), SESSION_ALLOCATED);
    lab_free(l);
}

/* Called off in time, and what cannot be is refused. */
static void called_off(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    struct session req = lab_request(1, 1, 1, 0);
    lab_join(l, "n1", 4, 8, 0);
    uint64_t id = lab_run(l, &req);
    lab_settle(l);
    assert_int_equal(drain(l, 1, -1, ""), VERDICT_BAD_VALUE);
    assert_int_equal(drain(l, 7, 1, ""), VERDICT_NOT_FOUND);
    assert_false(world_node(l->w, 1)->cordoned);
    drain(l, 1, 60000, "x");
    pass(l, 50000);
    uncordon(l, 1);
    assert_string_equal(world_node(l->w, 1)->cordon_reason, "");
    pass(l, 60000);
    assert_int_equal(lab_state(l, id), SESSION_RUNNING);
    lab_free(l);
}

/* SES4: silent at its date: its sessions are told when it is back, nothing is guessed. */
static void ses4_silent_at_its_date(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    struct session req = lab_request(1, 1, 1, 0);
    lab_join(l, "n1", 4, 8, 0);
    uint64_t id = lab_run(l, &req);
    lab_settle(l);
    drain(l, 1, 60000, "");
    lab_tick(l, 60000);
    assert_int_equal(lab_state(l, id), SESSION_STOPPING);
    assert_int_equal(lab_rows(l), 1);
    lab_report(l, 0);
    assert_int_equal(lab_want(l, 0, id, 0), WANT_STOP);
    lab_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_its_date_and_not_before),
        cmocka_unit_test(without_a_date_nobody_is_stopped),
        cmocka_unit_test(called_off),
        cmocka_unit_test(ses4_silent_at_its_date),
    };
    return RUN(tests);
}
