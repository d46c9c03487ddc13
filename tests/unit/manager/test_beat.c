/* tests/unit/manager/test_beat.c - nodes that beat, are held, and hear. */
#include "harness.h"
#include "wire/carry.h"

static struct member_report member(uint64_t session, enum member_phase phase, int32_t exit_code)
{
    return (struct member_report){.ref = {session, 1, 0}, .phase = phase,
                                  .end = {.exit_code = exit_code}};
}

static void answer_free(struct sync_answer *a) { wire_free(&wire_sync_answer, a); }

static void test_first_beat_is_answered_at_once_and_makes_a_node(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    struct sync_answer a;
    struct node_view v;
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    int64_t before = net_now_ms();
    fake_node_beat(&n, NULL, 0, 10000, &a);
    assert_true(net_now_ms() - before < 5000); /* not held for its poll */
    assert_int_equal(a.wants.n, 0);
    assert_true(a.turn > 0 && a.node_id > 0);
    answer_free(&a);
    rig_get(&r, "/api/v1/nodes/n1", &wire_node_view, &v);
    assert_string_equal(v.state, "ready");
    assert_int_equal(v.capacity.cpu_milli, 4000);
    wire_free(&wire_node_view, &v);
    fake_node_done(&n);
    rig_close(&r);
}

static void test_held_until_there_is_something_to_hear(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    struct sync_answer a;
    AUTO_REPLY struct reply p;
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    fake_node_beat(&n, NULL, 0, 10, &a);
    answer_free(&a);
    fake_node_begin(&n, NULL, 0, 10000, &p);
    uint64_t id = rig_submit(&r, "{\"command\":[\"true\"],\"env\":{\"A\":\"b\"}}");
    fake_node_finish(&n, &p, &a);
    assert_int_equal(a.wants.n, 1);
    assert_int_equal(a.wants.v[0].ref.session, id);
    assert_int_equal(a.wants.v[0].act, WANT_RUN);
    assert_int_equal(a.bodies.n, 1); /* it does not list it: here is what it takes */
    assert_non_null(strstr(a.bodies.v[0].spec, "\"A\":\"b\""));
    assert_string_equal(a.bodies.v[0].owner, "admin");
    assert_int_equal(a.bodies.v[0].uid, user_own_id(1));
    assert_int_equal(a.bodies.v[0].peers.n, 1);
    assert_string_equal(a.bodies.v[0].peers.v[0].node, "n1");
    assert_string_equal(a.bodies.v[0].peers.v[0].addr, "127.0.0.1"); /* of its data port */
    answer_free(&a);
    fake_node_done(&n);
    rig_close(&r);
}

static void test_bodies_travel_where_they_lack(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    struct sync_answer a;
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    fake_node_beat(&n, NULL, 0, 10, &a);
    answer_free(&a);
    uint64_t id = rig_submit(&r, "{\"command\":[\"true\"]}");
    for (int lost = 0; lost < 2; lost++) { /* an answer that got lost is made again */
        n.turn = 0;
        fake_node_beat(&n, NULL, 0, 10, &a);
        assert_int_equal(a.bodies.n, 1);
        answer_free(&a);
    }
    struct member_report m = member(id, MEMBER_PREPARING, -1);
    fake_node_beat(&n, &m, 1, 10, &a);
    assert_int_equal(a.wants.n, 1);
    assert_int_equal(a.bodies.n, 0); /* listed: it has it */
    answer_free(&a);
    fake_node_done(&n);
    rig_close(&r);
}

static void test_beats_that_change_nothing_store_nothing(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    struct sync_answer a;
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    fake_node_beat(&n, NULL, 0, 10, &a);
    answer_free(&a);
    uint64_t turn = turns_newest(r.m->turns);
    for (int i = 0; i < 5; i++) {
        fake_node_beat(&n, NULL, 0, 1, &a);
        assert_int_equal(a.turn, turn);
        answer_free(&a);
    }
    assert_int_equal(turns_newest(r.m->turns), turn);
    n.cpu_milli = 8000; /* and one that says something new does */
    fake_node_beat(&n, NULL, 0, 10, &a);
    assert_true(a.turn > turn);
    answer_free(&a);
    fake_node_done(&n);
    rig_close(&r);
}

static void test_a_newer_beat_releases_the_older(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    struct sync_answer a;
    AUTO_REPLY struct reply older;
    AUTO_REPLY struct reply newer;
    AUTO_REPLY struct reply echo;
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    fake_node_beat(&n, NULL, 0, 10, &a);
    answer_free(&a);
    uint64_t turn = n.turn;
    fake_node_begin(&n, NULL, 0, 20000, &older);
    fake_node_begin(&n, NULL, 0, 20000, &newer);
    fake_node_finish(&n, &older, &a);
    /* Released by an answer that its node ignores: of a turn below the one it acted on. */
    assert_true(a.turn < turn);
    answer_free(&a);
    assert_false(newer.done);
    assert_int_equal(beat_held(r.m), 1);
    n.seq -= 2; /* an echo of what was superseded */
    fake_node_begin(&n, NULL, 0, 10, &echo);
    rig_wait(&r, &echo.done);
    assert_int_equal(echo.status, 409);
    n.seq++;
    assert_false(newer.done);
    rig_submit(&r, "{\"command\":[\"true\"]}");
    fake_node_finish(&n, &newer, &a);
    assert_int_equal(a.wants.n, 1);
    answer_free(&a);
    fake_node_done(&n);
    rig_close(&r);
}

/* An agent that starts changes its list before the first answer has come. */
static void test_beats_before_the_first_answer_all_get_real_ones(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    struct sync_answer a;
    AUTO_REPLY struct reply one;
    AUTO_REPLY struct reply two;
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    rig_submit(&r, "{\"command\":[\"x\"]}");
    fake_node_begin(&n, NULL, 0, 10000, &one);
    fake_node_begin(&n, NULL, 0, 10000, &two);
    fake_node_finish(&n, &one, &a);
    assert_int_equal(a.wants.n, 1);
    answer_free(&a);
    fake_node_finish(&n, &two, &a);
    assert_int_equal(a.wants.n, 1);
    answer_free(&a);
    assert_int_equal(beat_held(r.m), 0);
    fake_node_done(&n);
    rig_close(&r);
}

static void test_a_node_that_left_is_not_held(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    struct sync_answer a;
    AUTO_REPLY struct reply p;
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    fake_node_beat(&n, NULL, 0, 10, &a);
    answer_free(&a);
    fake_node_begin(&n, NULL, 0, 20000, &p);
    while (beat_held(r.m) == 0) {
        bool now = false;
        net_loop_run_until(r.loop, &now, 1);
    }
    http_client_free(n.client); /* cancels the call */
    n.client = NULL;
    while (beat_held(r.m) == 1) {
        bool now = false;
        net_loop_run_until(r.loop, &now, 1);
    }
    fake_node_connect(&n);
    fake_node_beat(&n, NULL, 0, 10, &a);
    answer_free(&a);
    fake_node_done(&n);
    rig_close(&r);
}

static void expect_beat(struct rig *r, struct fake_node *n, int status, const char *code)
{
    AUTO_REPLY struct reply p;
    fake_node_begin(n, NULL, 0, 10, &p);
    rig_wait(r, &p.done);
    if (p.status != status || !reply_has(&p, code)) fail_msg("%d %s", p.status, p.body.p);
}

static void test_who_may_beat(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    assert_true(TEXT_SET(n.name, STR("n2"))); /* with n1's certificate */
    expect_beat(&r, &n, 403, "denied");
    assert_true(TEXT_SET(n.name, STR("n1")));
    n.cluster[0] = n.cluster[0] == 'a' ? 'b' : 'a';
    expect_beat(&r, &n, 409, "another cluster");
    fake_node_done(&n);
    rig_close(&r);
}

/* A node that knows another incarnation of the store hears of ours; its report is not believed. */
static void test_another_incarnation(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    struct sync_answer a;
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    n.incarnation[0] = n.incarnation[0] == 'a' ? 'b' : 'a';
    n.turn = 1000;
    struct member_report m = member(99, MEMBER_RUNNING, -1);
    fake_node_beat(&n, &m, 1, 10000, &a);
    assert_string_equal(a.incarnation, r.m->incarnation);
    assert_null(world_node_named(turns_world(r.m->turns), STR("n1")));
    answer_free(&a);
    fake_node_done(&n);
    rig_close(&r);
}

/* AGT13: what the node lost without a word is freed by its next list; but only by a list of a
 * node that knew of it. */
static void test_vanished_members_free_their_place(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    struct sync_answer a;
    struct session_view v;
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    fake_node_beat(&n, NULL, 0, 10, &a);
    answer_free(&a);
    uint64_t old_turn = n.turn;
    uint64_t id = rig_submit(&r, "{\"command\":[\"x\"]}");
    fake_node_beat(&n, NULL, 0, 10, &a);
    answer_free(&a);
    struct member_report m = member(id, MEMBER_RUNNING, -1);
    fake_node_beat(&n, &m, 1, 10, &a);
    answer_free(&a);
    uint64_t turn = n.turn;
    n.turn = old_turn; /* a list that knows nothing of it proves nothing */
    fake_node_beat(&n, NULL, 0, 10, &a);
    answer_free(&a);
    rig_get(&r, "/api/v1/sessions/s1", &wire_session_view, &v);
    assert_int_equal(v.state, SESSION_RUNNING);
    wire_free(&wire_session_view, &v);
    n.turn = turn;
    fake_node_beat(&n, NULL, 0, 10, &a);
    answer_free(&a);
    rig_get(&r, "/api/v1/sessions/s1", &wire_session_view, &v);
    assert_int_equal(v.state, SESSION_ENDED);
    assert_int_equal(v.outcome, OUTCOME_FAILED);
    wire_free(&wire_session_view, &v);
    fake_node_done(&n);
    rig_close(&r);
}

/* Both lists are full: what a node that lists 3,200 members hears next, it hears 100 ms
 * after the last answer, with all that has changed until then. */
static void test_long_lists_leave_seldom(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    struct sync_answer a;
    AUTO_REPLY struct reply p;
    VEC(struct member_report) list = {0};
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    fake_node_beat(&n, NULL, 0, 10, &a);
    answer_free(&a);
    for (uint64_t id = 1; id <= 3200; id++) VEC_PUSH(&list, member(1000 + id, MEMBER_RUNNING, 0));
    int64_t began = net_now_ms();
    fake_node_beat(&n, list.v, list.n, 10, &a);
    answer_free(&a);
    fake_node_begin(&n, list.v, list.n, 10000, &p);
    rig_submit(&r, "{\"command\":[\"true\"],\"cpu_milli\":100}");
    rig_submit(&r, "{\"command\":[\"true\"],\"cpu_milli\":100}");
    fake_node_finish(&n, &p, &a);
    int64_t took = net_now_ms() - began;
    assert_true(took >= 100 && took < 5000);
    assert_in_range(a.wants.n, 1, 2); /* both, unless this machine was slower than the pause */
    answer_free(&a);
    VEC_DONE(&list);
    fake_node_done(&n);
    rig_close(&r);
}

static void is_in_state(struct rig *r, uint64_t id, enum session_state want)
{
    char target[64];
    struct session_view v;
    text_fmt(target, sizeof(target), "/api/v1/sessions/%llu", (unsigned long long)id);
    rig_get(r, target, &wire_session_view, &v);
    assert_int_equal(v.state, want);
    wire_free(&wire_session_view, &v);
}

/* What the other side holds is named, not sent; what it does not hold comes in full. */
static void test_lists_that_are_known_do_not_travel(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    struct sync_answer a;
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    n.protocol = SYNC_PROTOCOL;
    n.list_no = 1;
    fake_node_beat(&n, NULL, 0, 10, &a);
    assert_int_equal(a.protocol, SYNC_PROTOCOL);
    assert_int_equal(a.list_no, 1);
    assert_true(a.wants_no > 0 && !a.same);
    n.wants_no = a.wants_no;
    answer_free(&a);
    uint64_t id = rig_submit(&r, "{\"command\":[\"true\"]}");
    n.brief = true; /* its list of nothing, named: the body comes all the same */
    fake_node_beat(&n, NULL, 0, 10, &a);
    assert_false(a.same);
    assert_int_equal(a.wants.n, 1);
    assert_int_equal(a.bodies.n, 1);
    assert_true(a.wants_no != n.wants_no);
    n.wants_no = a.wants_no;
    answer_free(&a);
    struct member_report m = member(id, MEMBER_RUNNING, -1);
    n.brief = false;
    n.list_no = 2;
    fake_node_beat(&n, &m, 1, 10, &a);
    n.wants_no = a.wants_no; /* it is not fresh any more */
    answer_free(&a);
    n.brief = true;
    for (int i = 0; i < 3; i++) {
        fake_node_beat(&n, NULL, 0, 10, &a);
        assert_true(a.same);
        assert_int_equal(a.wants.n, 0);
        assert_int_equal(a.wants_no, n.wants_no);
        assert_int_equal(a.list_no, 2);
        answer_free(&a);
        is_in_state(&r, id, SESSION_RUNNING); /* named is listed: it is not gone */
    }
    n.wants_no ^= 1; /* it acts on some other list: it gets this one */
    fake_node_beat(&n, NULL, 0, 10, &a);
    assert_false(a.same);
    assert_int_equal(a.wants.n, 1);
    answer_free(&a);
    fake_node_done(&n);
    rig_close(&r);
}

/* A list that is not known here says nothing, least of all that nothing is there. */
static void test_a_list_that_is_not_known_is_asked_for(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    struct sync_answer a;
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    n.protocol = SYNC_PROTOCOL;
    n.list_no = 1;
    fake_node_beat(&n, NULL, 0, 10, &a);
    answer_free(&a);
    uint64_t id = rig_submit(&r, "{\"command\":[\"true\"]}");
    struct member_report m = member(id, MEMBER_RUNNING, -1);
    n.list_no = 2;
    fake_node_beat(&n, &m, 1, 10, &a);
    answer_free(&a);
    n.brief = true;
    const uint64_t wrong[] = {1, 3};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        n.list_no = wrong[i];
        fake_node_beat(&n, NULL, 0, 10, &a);
        assert_true(a.again);
        assert_int_equal(a.list_no, 0);
        assert_int_equal(a.turn, 0); /* nothing to act on */
        answer_free(&a);
        is_in_state(&r, id, SESSION_RUNNING);
    }
    n.list_no = 2;
    n.epoch++; /* the agent was restarted: its numbers are others */
    fake_node_beat(&n, NULL, 0, 10, &a);
    assert_true(a.again);
    answer_free(&a);
    n.list_no = 0;
    AUTO_REPLY struct reply p;
    fake_node_begin(&n, NULL, 0, 10, &p);
    rig_wait(&r, &p.done);
    assert_int_equal(p.status, 400);
    fake_node_done(&n);
    rig_close(&r);
}

/* An agent of the version before knows none of the new fields. */
static void test_an_agent_of_the_version_before_is_understood(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    AUTO_REPLY struct reply p;
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    fake_node_begin(&n, NULL, 0, 10, &p);
    rig_wait(&r, &p.done);
    assert_int_equal(p.status, 200);
    static const char *const news[] = {"list_no", "wants_no", "same", "again"};
    struct str said = strbuf_str(&p.body);
    for (size_t i = 0; i < ARRAY_LEN(news); i++)
        assert_null(memmem(said.p, said.n, news[i], strlen(news[i])));
    assert_non_null(memmem(said.p, said.n, "\"protocol\":1", 12));
    fake_node_done(&n);
    rig_close(&r);
}

static void call(struct rig *r, const struct call *c, int status, const char *text)
{
    AUTO_REPLY struct reply p;
    rig_call(r, c, &p);
    if (p.status != status || (text && !reply_has(&p, text)))
        fail_msg("%s: %d %s", c->target, p.status, p.body.p);
}

/* Containers of another store: shown, and ended when somebody says so, until they are gone. */
static void test_orphans_are_ended_by_a_person_alone(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    struct sync_answer a;
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    n.protocol = SYNC_PROTOCOL;
    n.list_no = 1;
    struct member_report both[2] = {member(5, MEMBER_RUNNING, -1), member(6, MEMBER_RUNNING, -1)};
    both[0].orphan = both[1].orphan = true;
    for (int i = 0; i < 2; i++) {
        fake_node_beat(&n, both, 2, 10, &a);
        assert_int_equal(a.orphans_end.n, 0);
        answer_free(&a);
    }
    call(&r, &(struct call){.target = "/api/v1/admin/orphans"}, 200,
         "{\"node\":\"n1\",\"ref\":\"s5.1.0\",\"phase\":\"running\"},");
    call(&r, &(struct call){.target = "/api/v1/admin/orphans?node=n2"}, 200, "\"items\":[]");
    static const char *const wrong[] = {"s7.1.0", "s5.2.0", "s5.1", "", "s5.1.0.0", "x"};
    struct call end = {.method = "POST", .target = "/api/v1/nodes/n1/orphans"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        char body[64];
        text_fmt(body, sizeof(body), "{\"ref\":\"%s\"}", wrong[i]);
        end.body = body;
        call(&r, &end, wrong[i][0] ? 404 : 400, NULL);
    }
    end.body = "{\"ref\":\"s5.1.0\"}";
    call(&r, &end, 200, "\"ending\":true");
    call(&r, &end, 200, NULL); /* again is the same */
    for (int i = 0; i < 2; i++) { /* said until it is gone */
        fake_node_beat(&n, both, 2, 10, &a);
        assert_int_equal(a.orphans_end.n, 1);
        assert_int_equal(a.orphans_end.v[0].session, 5);
        answer_free(&a);
    }
    n.list_no = 2;
    fake_node_beat(&n, &both[1], 1, 10, &a);
    assert_int_equal(a.orphans_end.n, 0);
    answer_free(&a);
    call(&r, &(struct call){.target = "/api/v1/admin/orphans"}, 200,
         "\"items\":[{\"node\":\"n1\",\"ref\":\"s6.1.0\",\"phase\":\"running\"}]");
    fake_node_done(&n);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_beat_is_answered_at_once_and_makes_a_node),
        cmocka_unit_test(test_held_until_there_is_something_to_hear),
        cmocka_unit_test(test_bodies_travel_where_they_lack),
        cmocka_unit_test(test_beats_that_change_nothing_store_nothing),
        cmocka_unit_test(test_a_newer_beat_releases_the_older),
        cmocka_unit_test(test_lists_that_are_known_do_not_travel),
        cmocka_unit_test(test_a_list_that_is_not_known_is_asked_for),
        cmocka_unit_test(test_an_agent_of_the_version_before_is_understood),
        cmocka_unit_test(test_beats_before_the_first_answer_all_get_real_ones),
        cmocka_unit_test(test_a_node_that_left_is_not_held),
        cmocka_unit_test(test_who_may_beat),
        cmocka_unit_test(test_another_incarnation),
        cmocka_unit_test(test_vanished_members_free_their_place),
        cmocka_unit_test(test_long_lists_leave_seldom),
        cmocka_unit_test(test_orphans_are_ended_by_a_person_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
