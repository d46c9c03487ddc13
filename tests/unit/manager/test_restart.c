/* tests/unit/manager/test_restart.c - killed at every step of a start, and with nobody to hear. */
#include "harness.h"

static void answer_free(struct sync_answer *a) { wire_free(&wire_sync_answer, a); }

static void expect(struct rig *r, const char *method, const char *target, int status,
                   const char *text)
{
    AUTO_REPLY struct reply p;
    rig_call(r, &(struct call){.method = method, .target = target}, &p);
    if (p.status != status || !reply_has(&p, text))
        fail_msg("%s %s: %d %s", method, target, p.status, p.body.p);
}

/* The manager dies and comes back; the node dials it again. */
static void kill_and_start(struct rig *r, struct fake_node *n)
{
    http_client_free(STEAL(n->client));
    rig_kill(r);
    rig_start(r);
    fake_node_connect(n);
}

static void beat_phases(struct fake_node *n, uint64_t id, enum member_phase a, enum member_phase b,
                        struct sync_answer *ret)
{
    struct member_report m[2] = {
        {.ref = {id, 1, 0}, .phase = a, .end = {.exit_code = a == MEMBER_EXITED ? 0 : -1}},
        {.ref = {id, 1, 1}, .phase = b, .end = {.exit_code = b == MEMBER_EXITED ? 0 : -1}},
    };
    fake_node_beat(n, a ? m : NULL, a ? 2 : 0, 10, ret);
}

/* MGR2: a gang of two, with a kill after each of the steps of its start. */
static void test_killed_at_every_step_of_a_start(void **state)
{
    (void)state;
    static const enum member_phase steps[] = {MEMBER_NONE, MEMBER_PREPARING, MEMBER_READY,
                                              MEMBER_STARTING, MEMBER_RUNNING, MEMBER_EXITED};
    for (size_t at = 0; at <= ARRAY_LEN(steps); at++) {
        struct rig r;
        struct fake_node n;
        struct sync_answer a;
        rig_open(&r);
        fake_node_join(&r, "n1", 4, &n);
        fake_node_beat(&n, NULL, 0, 10, &a);
        answer_free(&a);
        uint64_t id = rig_submit(&r, "{\"command\":[\"x\"],\"containers\":2}");
        for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
            if (i == at) kill_and_start(&r, &n);
            beat_phases(&n, id, steps[i], steps[i], &a);
            enum want_act act = steps[i] >= MEMBER_READY ? WANT_RUN : WANT_HOLD;
            uint32_t wants = steps[i] == MEMBER_EXITED ? 0 : 2;
            assert_int_equal(a.wants.n, wants);
            if (wants) assert_int_equal(a.wants.v[1].act, act);
            answer_free(&a);
        }
        if (at == ARRAY_LEN(steps)) kill_and_start(&r, &n);
        expect(&r, "GET", "/api/v1/sessions/s1", 200, "\"outcome\":\"succeeded\"");
        expect(&r, "GET", "/api/v1/nodes/n1", 200,
               "\"used\":{\"cpu_milli\":0,\"mem_bytes\":0,\"gpu\":0}");
        assert_null(world_audit(turns_world(r.m->turns)));
        fake_node_done(&n);
        rig_close(&r);
    }
}

/* SES2: in a transient state, the manager killed, the agent away: a stop is taken all the same. */
static void test_stop_while_the_agent_is_away(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    struct sync_answer a;
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    fake_node_beat(&n, NULL, 0, 10, &a);
    answer_free(&a);
    uint64_t id = rig_submit(&r, "{\"command\":[\"x\"]}");
    struct member_report m = {.ref = {id, 1, 0}, .phase = MEMBER_PREPARING,
                              .end = {.exit_code = -1}};
    fake_node_beat(&n, &m, 1, 10, &a);
    answer_free(&a);
    expect(&r, "GET", "/api/v1/sessions/s1", 200, "\"state\":\"preparing\"");
    kill_and_start(&r, &n);
    const struct session *s = world_session(turns_world(r.m->turns), id);
    assert_true(s->deadline_ms > 0 && s->deadline_ms < INT64_MAX); /* it will leave by itself */
    expect(&r, "DELETE", "/api/v1/sessions/s1", 200, "\"state\":\"stopping\"");
    fake_node_beat(&n, &m, 1, 10, &a); /* back again */
    assert_int_equal(a.wants.v[0].act, WANT_STOP);
    answer_free(&a);
    m.phase = MEMBER_FAILED;
    fake_node_beat(&n, &m, 1, 10, &a);
    answer_free(&a);
    expect(&r, "GET", "/api/v1/sessions/s1", 200, "\"outcome\":\"cancelled\"");
    fake_node_done(&n);
    rig_close(&r);
}

/* AGT2: lists are whole, whatever their length: 0 and 150. */
static void test_long_and_empty_lists(void **state)
{
    (void)state;
    enum { N = 150 };
    struct rig r;
    struct fake_node n;
    struct sync_answer a;
    static struct member_report list[N];
    rig_open(&r);
    fake_node_join(&r, "n1", 1000, &n);
    fake_node_beat(&n, NULL, 0, 10, &a);
    answer_free(&a);
    for (uint32_t i = 0; i < N; i++) {
        uint64_t id = rig_submit(&r, "{\"command\":[\"x\"],\"mem_bytes\":1048576}");
        list[i] = (struct member_report){.ref = {id, 1, 0}, .phase = MEMBER_RUNNING,
                                         .end = {.exit_code = -1}};
    }
    fake_node_beat(&n, NULL, 0, 10, &a);
    assert_int_equal(a.wants.n, N);
    assert_int_equal(a.bodies.n, N);
    answer_free(&a);
    fake_node_beat(&n, list, N, 10, &a);
    assert_int_equal(a.wants.n, N);
    answer_free(&a);
    struct session_list live;
    rig_get(&r, "/api/v1/sessions?limit=1000", &wire_session_list, &live);
    assert_int_equal(live.items.n, N);
    for (uint32_t i = 0; i < N; i++) assert_int_equal(live.items.v[i].state, SESSION_RUNNING);
    wire_free(&wire_session_list, &live);
    fake_node_beat(&n, NULL, 0, 10, &a); /* all are gone */
    assert_int_equal(a.wants.n, 0);
    answer_free(&a);
    rig_get(&r, "/api/v1/sessions?limit=1000", &wire_session_list, &live);
    assert_int_equal(live.items.n, 0);
    wire_free(&wire_session_list, &live);
    fake_node_done(&n);
    rig_close(&r);
}

/* Another one holds the directory: the second does not start, and harms nothing. */
static void test_two_managers_on_one_directory(void **state)
{
    (void)state;
    struct rig r;
    struct settings s;
    struct err err = {0};
    struct manager *second = NULL;
    rig_open(&r);
    settings_defaults(&s);
    assert_true(TEXT_SET(s.dir, str_of(r.dir)));
    assert_true(TEXT_SET(s.listen, STR("127.0.0.1:0")));
    assert_true(TEXT_SET(s.agent_listen, STR("127.0.0.1:0")));
    assert_int_equal(manager_open(&s, r.loop, NULL, NULL, &second, &err), ERR_CONFLICT);
    assert_null(second);
    rig_submit(&r, "{\"command\":[\"x\"]}");
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_at_every_step_of_a_start),
        cmocka_unit_test(test_stop_while_the_agent_is_away),
        cmocka_unit_test(test_long_and_empty_lists),
        cmocka_unit_test(test_two_managers_on_one_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
