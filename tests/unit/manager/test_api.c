/* tests/unit/manager/test_api.c - people's requests against a whole manager. */
#include "harness.h"
#include "wire/ticket.h"

static void answer_free(struct sync_answer *a) { wire_free(&wire_sync_answer, a); }

static void beat(struct fake_node *n, uint64_t session, enum member_phase phase, int32_t exit_code)
{
    struct member_report m = {.ref = {session, 1, 0}, .phase = phase,
                              .end = {.exit_code = exit_code}};
    struct sync_answer a;
    fake_node_beat(n, session ? &m : NULL, session ? 1 : 0, 10, &a);
    answer_free(&a);
}

static void expect(struct rig *r, const struct call *c, int status, const char *text)
{
    AUTO_REPLY struct reply p;
    rig_call(r, c, &p);
    if (p.status != status || (text && !reply_has(&p, text)))
        fail_msg("%s %s: %d %s", c->method ? c->method : "GET", c->target, p.status, p.body.p);
}

static void expect_state(struct rig *r, const char *id, enum session_state state,
                         enum session_outcome outcome)
{
    char path[64];
    struct session_view v;
    text_fmt(path, sizeof(path), "/api/v1/sessions/%s", id);
    rig_get(r, path, &wire_session_view, &v);
    if (v.state != state || v.outcome != outcome) fail_msg("%s is in state %d", id, v.state);
    wire_free(&wire_session_view, &v);
}

/* From submission to its end, with a restart in between; both kinds of it. */
static void life_case(bool graceful)
{
    struct rig r;
    struct fake_node n;
    AUTO_STRBUF struct strbuf before;
    AUTO_STRBUF struct strbuf after;
    AUTO_REPLY struct reply ended;
    strbuf_init(&before, 1 << 20);
    strbuf_init(&after, 1 << 20);
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    beat(&n, 0, MEMBER_NONE, 0);
    uint64_t id = rig_submit(&r, "{\"name\":\"train\",\"command\":[\"x\"],\"cpu_milli\":2000}");
    assert_int_equal(id, 1);
    expect_state(&r, "train", SESSION_ALLOCATED, OUTCOME_NONE);
    beat(&n, 0, MEMBER_NONE, 0);
    beat(&n, id, MEMBER_RUNNING, -1);
    expect_state(&r, "s1", SESSION_RUNNING, OUTCOME_NONE);
    rig_dump(&r, &before);

    http_client_free(STEAL(n.client));
    if (graceful) rig_stop(&r);
    else rig_kill(&r);
    rig_start(&r);
    fake_node_connect(&n);
    rig_dump(&r, &after);
    assert_string_equal(after.p, before.p); /* MGR8: the same map before and after */
    expect_state(&r, "s1", SESSION_RUNNING, OUTCOME_NONE);

    rig_begin(&r, &(struct call){.target = "/api/v1/sessions/s1?wait=ended&timeout_ms=15000"},
              &ended);
    beat(&n, id, MEMBER_EXITED, 3);
    rig_wait(&r, &ended.done);
    assert_true(reply_has(&ended, "\"exit_code\":3"));
    assert_true(reply_has(&ended, "\"nodes\":[\"n1\"]"));
    assert_true(reply_has(&ended, "\"command\":[\"x\"]"));
    expect_state(&r, "s1", SESSION_ENDED, OUTCOME_FAILED);
    expect(&r, &(struct call){.target = "/api/v1/sessions?state=live"}, 200, "\"items\":[]");
    expect(&r, &(struct call){.target = "/api/v1/sessions/s1/why"}, 200, "exit code 3");
    /* MGR1: what has ended is not queued again, and holds nothing. */
    http_client_free(STEAL(n.client));
    rig_kill(&r);
    rig_start(&r);
    expect(&r, &(struct call){.target = "/api/v1/queue"}, 200, "\"items\":[]");
    expect(&r, &(struct call){.target = "/api/v1/nodes/n1"}, 200,
           "\"used\":{\"cpu_milli\":0,\"mem_bytes\":0,\"gpu\":0}");
    fake_node_done(&n);
    rig_close(&r);
}

static void test_life_with_a_stop_between(void **state)
{
    (void)state;
    life_case(true);
}
static void test_life_with_a_kill_between(void **state)
{
    (void)state;
    life_case(false);
}

#define LONG_KEY \
    "0123456789012345678901234567890123456789012345678901234567890123" \
    "0123456789012345678901234567890123456789012345678901234567890123"
static const struct { struct call c; int status; const char *text; } bad_requests[] = {
    {{.target = "/api/v1/sessions?limit=-1"}, 400, "\"field\":\"limit\""}, /* SES11 */
    {{.target = "/api/v1/sessions?limit=0"}, 400, "1 to 1000"},
    {{.target = "/api/v1/sessions?limit=1001"}, 400, "1 to 1000"},
    {{.target = "/api/v1/sessions?limit=999999999999"}, 400, "\"field\":\"limit\""},
    {{.target = "/api/v1/sessions?limit=99999999999999999999999"}, 400, "limit"},
    {{.target = "/api/v1/sessions?limit=1e3"}, 400, "limit"},
    {{.target = "/api/v1/sessions?limit="}, 400, "limit"},
    {{.target = "/api/v1/sessions?limt=1"}, 400, "limt"},
    {{.target = "/api/v1/sessions?limit=1&limit=2"}, 400, "twice"},
    {{.target = "/api/v1/sessions?name=%00"}, 400, "\"field\":\"name\""},
    {{.target = "/api/v1/sessions?owner=%zz"}, 400, "\"field\":\"owner\""},
    {{.target = "/api/v1/sessions?state=gone"}, 400, "state"},
    {{.target = "/api/v1/sessions?owner=nobody"}, 400, "owner"},
    {{.target = "/api/v1/sessions?cursor=x"}, 400, "cursor"},
    {{.target = "/api/v1/sessions/s9"}, 404, "s9"},
    {{.target = "/api/v1/sessions/nobody"}, 404, "nobody"},
    {{.target = "/api/v1/sessions/NO_NAME"}, 404, "not_found"},
    {{.target = "/api/v1/sessions/s9/why"}, 404, "not_found"},
    {{.target = "/api/v1/sessions/s1?wait=forever"}, 400, "wait"},
    {{.target = "/api/v1/sessions/s1?timeout_ms=-5"}, 400, "timeout_ms"},
    {{.target = "/api/v1/nodes/n9"}, 404, "n9"},
    {{.target = "/api/v1/groups/g9"}, 404, "not_found"},
    {{.target = "/api/v1/queue?group=g9"}, 400, "group"},
    {{.target = "/api/v1/queue?cursor=0.0"}, 400, "cursor"},
    {{.target = "/api/v1/events", .last_event = "x"}, 400, "TURN.INDEX"},
    {{.target = "/api/v1/events", .last_event = "99999999.0"}, 409, "Last-Event-ID"},
    {{.method = "POST", .target = "/api/v1/sessions/s9/stop"}, 404, "s9"},
    {{.method = "POST", .target = "/api/v1/sessions/s9/signal", .body = "{}"}, 400, "signal"},
    {{.method = "POST", .target = "/api/v1/sessions", .body = "{"}, 400, "invalid"},
    {{.method = "POST", .target = "/api/v1/sessions", .body = "[]"}, 400, "invalid"},
    {{.method = "POST", .target = "/api/v1/sessions", .body = ""}, 400, "command"},
    {{.method = "POST", .target = "/api/v1/sessions", .body = "{\"comand\":[\"x\"]}"}, 400,
     "command"},
    {{.method = "POST", .target = "/api/v1/sessions",
      .body = "{\"command\":[\"x\"],\"cpu_milli\":9223372036854775807}"}, 400, "cpu_milli"},
    {{.method = "POST", .target = "/api/v1/sessions",
      .body = "{\"command\":[\"x\"],\"name\":\"a\\u0000b\"}"}, 400, "invalid"},
    {{.method = "POST", .target = "/api/v1/sessions",
      .body = "{\"command\":[\"x\"],\"group\":\"g9\"}"}, 400, "\"field\":\"group\""},
    {{.method = "POST", .target = "/api/v1/sessions",
      .body = "{\"command\":[\"x\"],\"project\":\"p9\"}"}, 400, "\"field\":\"project\""},
    {{.method = "POST", .target = "/api/v1/sessions", .body = "{\"command\":[\"x\"]}",
      .key = LONG_KEY}, 400, "Idempotency-Key"},
    {{.method = "PUT", .target = "/api/v1/groups/UPPER", .body = "{}"}, 400, "name"},
    {{.method = "PUT", .target = "/api/v1/groups/g", .body = "{\"on_blocked\":\"x\"}"}, 400,
     "on_blocked"},
    {{.method = "POST", .target = "/api/v1/tokens/join", .body = "{\"valid_ms\":1}"}, 400,
     "valid_ms"},
};

static void test_bad_requests(void **state)
{
    (void)state;
    struct rig r;
    AUTO_STRBUF struct strbuf before;
    AUTO_STRBUF struct strbuf after;
    strbuf_init(&before, 1 << 20);
    strbuf_init(&after, 1 << 20);
    rig_open(&r);
    rig_dump(&r, &before);
    uint64_t turn = turns_newest(r.m->turns);
    for (size_t i = 0; i < ARRAY_LEN(bad_requests); i++) {
        const struct call *c = &bad_requests[i].c;
        AUTO_REPLY struct reply p;
        rig_call(&r, c, &p);
        if (p.status != bad_requests[i].status || !reply_has(&p, bad_requests[i].text))
            fail_msg("%s %s: %d %s", c->target, c->body ? c->body : "", p.status, p.body.p);
    }
    rig_dump(&r, &after);
    assert_string_equal(after.p, before.p); /* QTA11: a refusal has no side effects */
    assert_int_equal(turns_newest(r.m->turns), turn);
    rig_close(&r);
}

static void test_idempotency(void **state)
{
    (void)state;
    const char *doc = "{\"command\":[\"x\"],\"name\":\"a\"}";
    struct rig r;
    AUTO_REPLY struct reply one;
    AUTO_REPLY struct reply two;
    rig_open(&r);
    struct call c = {.method = "POST", .target = "/api/v1/sessions", .body = doc, .key = "k1"};
    rig_begin(&r, &c, &one); /* both at once: the second finds the first not yet stored */
    rig_begin(&r, &c, &two);
    rig_wait(&r, &one.done);
    rig_wait(&r, &two.done);
    assert_int_equal(one.status, 201);
    assert_int_equal(two.status, 201);
    assert_true(reply_has(&one, "\"id\":\"s1\"") && reply_has(&two, "\"id\":\"s1\""));
    assert_string_equal(one.location, "/api/v1/sessions/s1");
    expect(&r, &c, 201, "\"id\":\"s1\"");
    struct call other = c;
    other.body = "{\"command\":[\"y\"]}";
    expect(&r, &other, 422, "idempotency_mismatch");
    rig_kill(&r);
    rig_start(&r);
    expect(&r, &c, 201, "\"id\":\"s1\""); /* survives */
    expect(&r, &other, 422, "idempotency_mismatch");
    expect(&r, &(struct call){.method = "DELETE", .target = "/api/v1/sessions/s1"}, 200, "ended");
    expect(&r, &c, 201, "\"state\":\"ended\"");
    c.key = NULL;
    expect(&r, &c, 201, "\"id\":\"s2\""); /* the name is free again */
    expect(&r, &c, 409, "name_taken");
    rig_close(&r);
}

static void test_lists_and_cursors(void **state)
{
    (void)state;
    struct rig r;
    struct session_list list;
    rig_open(&r);
    for (int i = 0; i < 7; i++) rig_submit(&r, "{\"command\":[\"x\"]}");
    expect(&r, &(struct call){.method = "DELETE", .target = "/api/v1/sessions/s4"}, 200, "ended");
    static const struct { const char *target; uint64_t ids[4]; const char *next; } cases[] = {
        {"/api/v1/sessions?limit=3", {7, 6, 5}, "5"},
        {"/api/v1/sessions?limit=3&cursor=5", {3, 2, 1}, ""},
        {"/api/v1/sessions?state=all&limit=3&cursor=6", {5, 4, 3}, "3"},
        {"/api/v1/sessions?state=ended", {4}, ""},
        {"/api/v1/sessions?name=s6", {6}, ""},
        {"/api/v1/sessions?state=all&name=s4", {4}, ""},
        {"/api/v1/sessions?group=default&owner=admin&limit=1", {7}, "7"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        rig_get(&r, cases[i].target, &wire_session_list, &list);
        uint32_t n = 0;
        while (cases[i].ids[n]) n++;
        assert_int_equal(list.items.n, n);
        for (uint32_t k = 0; k < n; k++) {
            char id[24];
            session_id_format(cases[i].ids[k], id);
            assert_string_equal(list.items.v[k].id, id);
        }
        assert_string_equal(list.next, cases[i].next);
        wire_free(&wire_session_list, &list);
    }
    struct queue_list q;
    rig_get(&r, "/api/v1/queue?limit=4", &wire_queue_list, &q);
    assert_int_equal(q.items.n, 4);
    assert_string_equal(q.items.v[0].id, "s1");
    char target[64];
    text_fmt(target, sizeof(target), "/api/v1/queue?cursor=%s", q.next);
    wire_free(&wire_queue_list, &q);
    rig_get(&r, target, &wire_queue_list, &q);
    assert_int_equal(q.items.n, 2);
    assert_string_equal(q.items.v[0].id, "s6");
    wire_free(&wire_queue_list, &q);
    rig_close(&r);
}

static void test_waiting(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    AUTO_REPLY struct reply placed;
    AUTO_REPLY struct reply running;
    AUTO_REPLY struct reply over;
    rig_open(&r);
    uint64_t id = rig_submit(&r, "{\"command\":[\"x\"]}");
    rig_begin(&r, &(struct call){.target = "/api/v1/sessions/s1?wait=placed"}, &placed);
    rig_begin(&r, &(struct call){.target = "/api/v1/sessions/s1?wait=running"}, &running);
    rig_call(&r, &(struct call){.target = "/api/v1/sessions/s1?wait=ended&timeout_ms=1"}, &over);
    assert_int_equal(over.status, 200); /* as it is when the time is over */
    assert_true(reply_has(&over, "\"state\":\"pending\""));
    assert_false(placed.done);
    fake_node_join(&r, "n1", 4, &n);
    beat(&n, 0, MEMBER_NONE, 0);
    rig_wait(&r, &placed.done);
    assert_true(reply_has(&placed, "\"nodes\":[\"n1\"]"));
    assert_false(running.done);
    beat(&n, id, MEMBER_RUNNING, -1);
    rig_wait(&r, &running.done);
    assert_true(reply_has(&running, "\"state\":\"running\""));
    fake_node_done(&n);
    rig_close(&r);
}

/* ---- signals, stops, tickets ---- */

static void test_acting_on_sessions(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    struct sync_answer a;
    rig_open(&r);
    struct call sig = {.method = "POST", .target = "/api/v1/sessions/s1/signal",
                       .body = "{\"signal\":\"INT\"}"};
    struct call stop = {.method = "POST", .target = "/api/v1/sessions/s1/stop",
                        .body = "{\"grace_ms\":500}"};
    uint64_t id = rig_submit(&r, "{\"command\":[\"x\"]}");
    expect(&r, &sig, 409, "not_running");
    fake_node_join(&r, "n1", 4, &n);
    beat(&n, 0, MEMBER_NONE, 0);
    beat(&n, id, MEMBER_RUNNING, -1);
    expect(&r, &sig, 200, "running");
    struct member_report m = {.ref = {id, 1, 0}, .phase = MEMBER_RUNNING, .end = {.exit_code = -1}};
    fake_node_beat(&n, &m, 1, 10, &a);
    assert_int_equal(a.wants.v[0].signal, 2);
    assert_int_equal(a.wants.v[0].signal_no, 1);
    answer_free(&a);
    expect(&r, &stop, 200, "\"state\":\"stopping\"");
    expect(&r, &stop, 200, "\"state\":\"stopping\""); /* twice is fine */
    fake_node_beat(&n, &m, 1, 10, &a);
    assert_int_equal(a.wants.v[0].act, WANT_STOP);
    assert_int_equal(a.wants.v[0].grace_ms, 500);
    answer_free(&a);
    beat(&n, id, MEMBER_EXITED, 0);
    expect_state(&r, "s1", SESSION_ENDED, OUTCOME_CANCELLED);
    expect(&r, &stop, 409, "\"code\":\"ended\"");
    expect(&r, &sig, 409, "\"code\":\"ended\"");
    fake_node_done(&n);
    rig_close(&r);
}

static void test_changing_what_waits(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    rig_open(&r);
    struct call post = {.method = "POST", .target = "/api/v1/sessions"};
    struct call patch = {.method = "PATCH", .target = "/api/v1/sessions/s1",
                         .body = "{\"priority\":70,\"time_limit\":\"2h\"}"};
    uint64_t id = rig_submit(&r, "{\"command\":[\"x\"],\"hold\":true}");
    fake_node_join(&r, "n1", 4, &n);
    beat(&n, 0, MEMBER_NONE, 0);
    expect(&r, &patch, 200, "\"priority\":70");
    expect(&r, &patch, 200, "\"time_limit_ms\":7200000");
    post.body = "{\"command\":[\"x\"],\"after\":[\"s1\"]}";
    expect(&r, &post, 201, "\"after\":[\"s1:success\"]");
    post.body = "{\"command\":[\"x\"],\"after\":[\"s77\"]}";
    expect(&r, &post, 400, "there is no session");
    post.body = "{\"command\":[\"x\"],\"start_in\":\"1h\"}";
    expect(&r, &post, 201, "\"start_in_ms\":3");
    patch.body = "{\"hold\":\"no\"}";
    expect(&r, &patch, 200, "\"state\":\"allocated\"");
    expect(&r, &patch, 409, "\"code\":\"too_late\"");
    beat(&n, id, MEMBER_RUNNING, -1);
    beat(&n, id, MEMBER_EXITED, 1);
    expect_state(&r, "s2", SESSION_ENDED, OUTCOME_FAILED);
    post.body = "{\"command\":[\"x\"],\"after\":[\"s1:failure\"]}"; /* it did, long ago */
    expect(&r, &post, 201, "\"state\":\"allocated\"");
    post.body = "{\"command\":[\"x\"],\"after\":[\"s1\"]}";
    expect(&r, &post, 422, "impossible");
    fake_node_done(&n);
    rig_close(&r);
}

static void test_arrays(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r);
    struct call post = {.method = "POST", .target = "/api/v1/sessions",
                        .body = "{\"name\":\"a\",\"command\":[\"x\"],\"array\":\"10-30:10%2\"}"};
    expect(&r, &post, 201, "\"array_count\":3");
    expect(&r, &(struct call){.target = "/api/v1/sessions/a-30"}, 200, "\"array_index\":30");
    expect(&r, &(struct call){.target = "/api/v1/sessions/a-30"}, 200, "10-30:10%2"); /* its spec */
    rig_kill(&r);
    rig_start(&r);
    expect(&r, &(struct call){.target = "/api/v1/sessions/s3"}, 200, "10-30:10%2");
    rig_close(&r);
}

static void take_ticket(struct rig *r, const char *action, struct ticket *ret)
{
    AUTO_REPLY struct reply p;
    struct ticket_answer answer;
    struct err err = {0};
    char body[64];
    uint8_t key[TICKET_KEY_PUBLIC];
    text_fmt(body, sizeof(body), "{\"action\":\"%s\"}", action);
    rig_call(r, &(struct call){.method = "POST", .target = "/api/v1/sessions/s1/tickets",
                               .body = body}, &p);
    assert_int_equal(p.status, 201);
    assert_int_equal(wire_parse(&wire_ticket_answer, strbuf_str(&p.body), &answer, &err), 0);
    assert_true(ticket_key_parse(str_of(r->m->authority.ticket_key), key));
    if (ticket_verify(str_of(answer.ticket), key, r->m->cluster, net_wall_ms() / 1000, ret,
                      &err) != 0)
        fail_msg("%s", err.text);
    assert_string_equal(answer.proxy_url, "http://127.0.0.1:7412");
    wire_free(&wire_ticket_answer, &answer);
}

static void test_tickets(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    struct ticket t;
    struct call logs = {.method = "POST", .target = "/api/v1/sessions/s1/tickets",
                        .body = "{\"action\":\"logs\"}"};
    struct call exec = logs, far = logs;
    exec.body = "{\"action\":\"exec\"}";
    far.body = "{\"action\":\"logs\",\"member\":5}";
    rig_open(&r);
    expect(&r, &logs, 404, "s1");
    uint64_t id = rig_submit(&r, "{\"command\":[\"x\"]}");
    expect(&r, &logs, 409, "not_running"); /* no node yet */
    fake_node_join(&r, "n1", 4, &n);
    beat(&n, 0, MEMBER_NONE, 0);
    take_ticket(&r, "logs", &t); /* placed is enough for logs: they are held */
    assert_int_equal(t.session, id);
    assert_int_equal(t.attempt, 1);
    assert_string_equal(t.node, "n1");
    assert_string_equal(t.addr, "127.0.0.1:9");
    assert_int_equal(t.action, TICKET_LOGS);
    expect(&r, &exec, 409, "not_running");
    expect(&r, &far, 400, "member");
    beat(&n, id, MEMBER_RUNNING, -1);
    take_ticket(&r, "exec", &t);
    assert_int_equal(t.action, TICKET_EXEC);
    beat(&n, id, MEMBER_EXITED, 0);
    take_ticket(&r, "logs", &t); /* logs outlive the session */
    assert_string_equal(t.node, "n1");
    expect(&r, &exec, 409, "ended");
    fake_node_done(&n);
    rig_close(&r);
}

static void test_nodes_and_groups(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    beat(&n, 0, MEMBER_NONE, 0);
    expect(&r, &(struct call){.method = "POST", .target = "/api/v1/nodes/n1/cordon"}, 200,
           "\"state\":\"cordoned\"");
    rig_submit(&r, "{\"command\":[\"x\"]}");
    expect_state(&r, "s1", SESSION_PENDING, OUTCOME_NONE);
    expect(&r, &(struct call){.target = "/api/v1/sessions/s1/why"}, 200, "\"cordoned\":1");
    expect(&r, &(struct call){.method = "POST", .target = "/api/v1/nodes/n1/uncordon"}, 200,
           "\"state\":\"ready\"");
    expect_state(&r, "s1", SESSION_ALLOCATED, OUTCOME_NONE);
    expect(&r, &(struct call){.method = "POST", .target = "/api/v1/nodes/n1/forget"}, 409,
           "n1 is heard and holds sessions");
    expect(&r, &(struct call){.method = "POST", .target = "/api/v1/nodes/n1/forget",
                              .body = "{\"force\":true}"}, 200, "n1");
    expect(&r, &(struct call){.target = "/api/v1/nodes"}, 200, "\"items\":[]");
    expect_state(&r, "s1", SESSION_ENDED, OUTCOME_LOST);
    expect(&r, &(struct call){.method = "PUT", .target = "/api/v1/groups/fast",
                              .body = "{\"on_blocked\":\"skip\",\"time_limit_batch\":\"2h\"}"},
           201, "\"time_limit_batch_ms\":7200000");
    expect(&r, &(struct call){.method = "PUT", .target = "/api/v1/groups/fast",
                              .body = "{\"on_blocked\":\"stop\"}"},
           200, "\"time_limit_batch_ms\":7200000");
    fake_node_done(&n);
    rig_kill(&r);
    rig_start(&r);
    expect(&r, &(struct call){.target = "/api/v1/groups/fast"}, 200, "\"on_blocked\":\"stop\"");
    expect(&r, &(struct call){.method = "POST", .target = "/api/v1/sessions",
                              .body = "{\"command\":[\"x\"],\"group\":\"fast\"}"}, 201,
           "\"time_limit_ms\":7200000");
    rig_close(&r);
}

static void test_impossible(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    beat(&n, 0, MEMBER_NONE, 0);
    expect(&r, &(struct call){.method = "POST", .target = "/api/v1/sessions",
                              .body = "{\"command\":[\"x\"],\"cpu_milli\":5000}"},
           422, "impossible");
    expect(&r, &(struct call){.method = "POST", .target = "/api/v1/sessions",
                              .body = "{\"command\":[\"x\"],\"cpu_milli\":5000,"
                                      "\"allow_impossible\":true}"}, 201, "pending");
    fake_node_done(&n);
    rig_close(&r);
}

/* A commit that is lost is told to who waits for it, and a repeat with the same key is safe. */
static void test_lost_commit_and_the_same_key_again(void **state)
{
    (void)state;
    const enum store_fault_kind kinds[] = {STORE_FAULT_FAIL, STORE_FAULT_UNKNOWN_STORED,
                                           STORE_FAULT_UNKNOWN_LOST};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct rig r;
        rig_open(&r);
        AUTO_REPLY struct reply p;
        struct call c = {.method = "POST", .target = "/api/v1/sessions",
                         .body = "{\"command\":[\"x\"]}", .key = "k"};
        expect(&r, &(struct call){.target = "/api/v1/sessions"}, 200, "[]"); /* nothing under way */
        store_fault(r.m->store, 1, kinds[i]);
        rig_call(&r, &c, &p);
        assert_int_equal(p.status, 503);
        assert_true(reply_has(&p, "Idempotency-Key"));
        assert_string_equal(p.retry_after, "1");
        rig_ready(&r);
        expect(&r, &c, 201, "\"id\":\"s1\"");
        expect(&r, &(struct call){.target = "/api/v1/sessions?state=all"}, 200, "\"next\":\"\"");
        assert_int_equal(turns_world(r.m->turns)->n_sessions, 1);
        rig_close(&r);
    }
}

/* A body that just fits, and whose stored form, with its defaults, does not. */
static void test_the_longest_submission(void **state)
{
    (void)state;
    static const struct { size_t command, env, role; int status; } cases[] = {
        {65000, 65000, 44740, 413}, {65000, 65000, 44000, 201},
    };
    static const char *const heads[] = {"{\"command\":[\"", "\"],\"env\":{\"A\":\"",
                                        "\"},\"roles\":[{\"name\":\"a\",\"command\":[\""};
    struct rig r;
    rig_open(&r);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const size_t n[] = {cases[i].command, cases[i].env, cases[i].role};
        AUTO_STRBUF struct strbuf b;
        strbuf_init(&b, 1 << 20);
        for (size_t part = 0; part < 3; part++) {
            strbuf_puts(&b, heads[part]);
            for (size_t k = 0; k < n[part]; k++) strbuf_puts(&b, "\\u0001");
        }
        strbuf_puts(&b, "\"]}],\"allow_impossible\":true}");
        while (!b.full && b.n < (1 << 20) - 1) strbuf_putc(&b, ' ');
        assert_false(b.full);
        AUTO_REPLY struct reply p;
        rig_call(&r, &(struct call){.method = "POST", .target = "/api/v1/sessions", .body = b.p},
                 &p);
        if (p.status != cases[i].status) fail_msg("%zu: %d %s", i, p.status, p.body.p);
    }
    rig_close(&r);
}

/* A full disk costs one world, not one for each try: reads go on, what would be
 * stored is refused until a moment has passed, and then it is tried again. */
static void test_a_full_disk(void **state)
{
    (void)state;
    const struct call good = {.method = "POST", .target = "/api/v1/sessions",
                              .body = "{\"command\":[\"x\"]}"};
    const struct { struct call c; int status; } meanwhile[] = {
        {good, 503},
        {{.method = "POST", .target = "/api/v1/sessions/s1/stop"}, 503},
        {{.method = "POST", .target = "/api/v1/sessions/s1/signal",
          .body = "{\"signal\":\"INT\"}"}, 503},
        {{.method = "POST", .target = "/api/v1/nodes/n1/cordon"}, 503},
        {{.method = "POST", .target = "/api/v1/nodes/n1/forget"}, 503},
        {{.method = "PUT", .target = "/api/v1/groups/g", .body = "{}"}, 503},
        {{.method = "POST", .target = "/api/v1/tokens/join"}, 503},
        {{.target = "/readyz"}, 503},
        {{.target = "/api/v1/sessions/s1"}, 200}, {{.target = "/api/v1/sessions"}, 200},
        {{.target = "/api/v1/queue"}, 200}, {{.target = "/api/v1/nodes"}, 200},
    };
    struct rig r;
    rig_open(&r);
    expect(&r, &good, 201, "s1");
    store_fault(r.m->store, 1, STORE_FAULT_FULL);
    expect(&r, &good, 503, "unavailable");
    while (!turns_world(r.m->turns)) { /* it is loaded again at once */
        const bool never = false;
        net_loop_run_until(r.loop, &never, 1);
    }
    for (size_t i = 0; i < ARRAY_LEN(meanwhile); i++) {
        AUTO_REPLY struct reply p;
        rig_call(&r, &meanwhile[i].c, &p);
        if (p.status != meanwhile[i].status)
            fail_msg("%s: %d %s", meanwhile[i].c.target, p.status, p.body.p);
    }
    assert_int_equal(turns_stats(r.m->turns)->failed, 1);
    rig_ready(&r);
    expect(&r, &good, 201, "s2");
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_longest_submission),
        cmocka_unit_test(test_a_full_disk),
        cmocka_unit_test(test_life_with_a_stop_between),
        cmocka_unit_test(test_life_with_a_kill_between),
        cmocka_unit_test(test_bad_requests),
        cmocka_unit_test(test_idempotency),
        cmocka_unit_test(test_lists_and_cursors),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_acting_on_sessions),
        cmocka_unit_test(test_changing_what_waits), cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_tickets),
        cmocka_unit_test(test_nodes_and_groups),
        cmocka_unit_test(test_impossible),
        cmocka_unit_test(test_lost_commit_and_the_same_key_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
