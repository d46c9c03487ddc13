/* The table of states: owners, deadlines, ways out, and every pair of states. */
#include "harness.h"

/* May row follow column?  In the order pending, reserved, allocated, preparing,
 * ready, starting, running, stopping, ended. */
static const char *const FOLLOWS[SESSION_STATES] = {
    [SESSION_PENDING] = ".ra....se",
    [SESSION_RESERVED] = "p.a....se",
    [SESSION_ALLOCATED] = "p..prsrse",
    [SESSION_PREPARING] = "p...rsrse",
    [SESSION_READY] = "p....srse",
    [SESSION_STARTING] = "p.....rse",
    [SESSION_RUNNING] = ".......se",
    [SESSION_STOPPING] = "p.......e",
    [SESSION_ENDED] = ".........",
};

static void every_pair(void **state)
{
    (void)state;
    for (enum session_state from = SESSION_PENDING; from < SESSION_STATES; from++) {
        for (enum session_state to = SESSION_PENDING; to < SESSION_STATES; to++) {
            char c = FOLLOWS[from][to - 1];
            bool wanted = c != '.';
            if (session_may_follow(from, to) != wanted) {
                fail_msg("%s -> %s", session_state_name(from), session_state_name(to));
            }
        }
    }
}

static const struct {
    enum session_state state;
    const char *name;
    enum state_owner owner;
    enum state_holds holds;
    int64_t deadline_ms; /* entered at 1,000 from PENDING by SAMPLE; 0: none */
    enum deadline_then then;
} ROWS[] = {
    {SESSION_PENDING, "pending", OWNER_SCHEDULER, HOLDS_NOTHING, 1000 + 70, THEN_END},
    {SESSION_RESERVED, "reserved", OWNER_SCHEDULER, HOLDS_PROMISE, 1000 + 50 + 30000,
     THEN_PENDING},
    {SESSION_ALLOCATED, "allocated", OWNER_AGENT, HOLDS_DEVICES, 1000 + 60000, THEN_REVOKE},
    {SESSION_PREPARING, "preparing", OWNER_AGENT, HOLDS_DEVICES, 1000 + 1800000, THEN_FAIL},
    {SESSION_READY, "ready", OWNER_MANAGER, HOLDS_DEVICES, 1000 + 1800000, THEN_FAIL},
    {SESSION_STARTING, "starting", OWNER_AGENT, HOLDS_DEVICES, 1000 + 300000, THEN_FAIL},
    {SESSION_RUNNING, "running", OWNER_AGENT, HOLDS_DEVICES, 1000 + 60, THEN_STOP},
    {SESSION_STOPPING, "stopping", OWNER_AGENT, HOLDS_DEVICES, 1000 + 50 + 30000, THEN_ALARM},
    {SESSION_ENDED, "ended", OWNER_NOBODY, HOLDS_NOTHING, 0, THEN_NOTHING},
};

static void table(void **state)
{
    (void)state;
    assert_int_equal(ARRAY_LEN(ROWS), SESSION_STATES - 1);
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct session s = {.state = ROWS[i].state, .time_limit_ms = 60, .grace_ms = 50,
                            .pending_timeout_ms = 70, .deadline_ms = 4321};
        const struct state_row *row = session_row(s.state);
        assert_string_equal(row->name, ROWS[i].name);
        assert_int_equal(row->owner, ROWS[i].owner);
        assert_int_equal(row->holds, ROWS[i].holds);
        assert_int_equal(row->then, ROWS[i].then);
        assert_int_equal(session_deadline(&s, SESSION_PENDING, 1000), ROWS[i].deadline_ms);
    }
}

static void deadlines_that_may_be_missing(void **state)
{
    (void)state;
    struct session s = {.state = SESSION_PENDING, .deadline_ms = 4321};
    assert_int_equal(session_deadline(&s, SESSION_ALLOCATED, 1000), 0);
    s.state = SESSION_RUNNING;
    assert_int_equal(session_deadline(&s, SESSION_STARTING, 1000), 0);
    s.state = SESSION_READY; /* keeps the deadline of PREPARING, not its own */
    assert_int_equal(session_deadline(&s, SESSION_PREPARING, 1000), 4321);
}

/* SES2: no state but the last is without a way out, and the wait is bounded or
 * asked for. */
static void ses2_every_state_has_a_way_out(void **state)
{
    (void)state;
    for (enum session_state s = SESSION_PENDING; s < SESSION_ENDED; s++) {
        const struct state_row *row = session_row(s);
        assert_true(session_may_follow(s, SESSION_ENDED));
        if (s != SESSION_STOPPING) assert_true(session_may_follow(s, SESSION_STOPPING));
        assert_true(row->deadline != DEADLINE_NONE);
        assert_true(row->then != THEN_NOTHING);
        assert_true(row->owner != OWNER_NOBODY);
        assert_int_equal(row->deadline == DEADLINE_FIXED, row->limit_ms > 0);
    }
    assert_int_equal(session_row(SESSION_ENDED)->next, 0); /* nothing resurrects it */
}

static void names(void **state)
{
    (void)state;
    for (enum session_outcome i = 0; i < OUTCOMES; i++) {
        assert_non_null(session_outcome_name(i));
    }
    for (enum session_kind i = KIND_BATCH; i < SESSION_KINDS; i++) {
        assert_non_null(session_kind_name(i));
    }
    for (enum on_blocked i = BLOCKED_STOP; i < BLOCKED_KINDS; i++) {
        assert_non_null(on_blocked_name(i));
    }
    for (enum verdict i = 0; i < VERDICTS; i++) assert_non_null(verdict_name(i));
    for (enum history_what i = HISTORY_SUBMITTED; i < HISTORY_KINDS; i++) {
        assert_non_null(history_name(i));
    }
    assert_string_equal(session_outcome_name(OUTCOME_TIMED_OUT), "timed_out");
    assert_string_equal(session_kind_name(KIND_SERVICE), "service");
}

static void roles(void **state)
{
    (void)state;
    struct session s = {.n_roles = 3, .members = 6};
    struct slots total;
    static const uint32_t counts[] = {1, 3, 2}, expected[] = {0, 1, 1, 1, 2, 2};
    for (uint32_t i = 0; i < 3; i++) {
        s.roles[i].count = counts[i];
        s.roles[i].slots = lab_slots(i + 1, 0, 0);
    }
    for (uint32_t m = 0; m < 6; m++) {
        assert_ptr_equal(session_role_of(&s, m), &s.roles[expected[m]]);
    }
    assert_true(session_total(&s, &total));
    assert_int_equal(total.v[SLOT_CPU], 13000);
    s.roles[2].slots.v[SLOT_MEM] = INT64_MAX;
    assert_false(session_total(&s, &total));
    assert_int_equal(total.v[SLOT_CPU], 13000);
}

static const struct { const char *text; bool ok; uint64_t id; } IDS[] = {
    {"s17", true, 17},  {"17", true, 17},   {"s1", true, 1},
    {"s0", false, 0},   {"", false, 0},     {"s", false, 0},
    {"ss1", false, 0},  {"s-1", false, 0},  {"s17x", false, 0},
    {"S17", false, 0},  {"s 17", false, 0}, {"s18446744073709551616", false, 0},
    {"s18446744073709551615", true, UINT64_MAX},
};

static void ids(void **state)
{
    (void)state;
    char text[24];
    for (size_t i = 0; i < ARRAY_LEN(IDS); i++) {
        uint64_t id = 99;
        if (session_id_parse(str_of(IDS[i].text), &id) != IDS[i].ok) fail_msg("%s", IDS[i].text);
        assert_true(id == (IDS[i].ok ? IDS[i].id : 99));
    }
    session_id_format(UINT64_MAX, text);
    assert_string_equal(text, "s18446744073709551615");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair),
        cmocka_unit_test(table),
        cmocka_unit_test(deadlines_that_may_be_missing),
        cmocka_unit_test(ses2_every_state_has_a_way_out),
        cmocka_unit_test(names),
        cmocka_unit_test(roles),
        cmocka_unit_test(ids),
    };
    return RUN(tests);
}
