/* tests/unit/manager/test_event.c - followers: order, resumption, slow readers. */
#include "harness.h"
#include "wire/accounts.h"

struct follower {
    struct rig *r;
    struct http_call *call;
    struct http_sse *sse;
    VEC(char *) ids;
    VEC(char *) names; /* "session.state" */
    int status;
    bool headed, ended, enough;
    uint32_t want;
};

static void on_event(void *arg, struct str id, struct str event, struct str data)
{
    struct follower *f = arg;
    struct event_view v;
    struct err err = {0};
    if (wire_parse(&wire_event_view, data, &v, &err) != 0) fail_msg("%s", err.text);
    assert_true(str_eq(id, str_of(v.id)));
    assert_true(str_eq(event, str_of(v.event)));
    VEC_PUSH(&f->ids, mem_strndup(id.p, id.n));
    VEC_PUSH(&f->names, mem_strndup(event.p, event.n));
    wire_free(&wire_event_view, &v);
    f->enough = f->ids.n >= f->want;
}

static void on_head(void *arg, const struct http_head *h)
{
    struct follower *f = arg;
    f->status = h->status;
    f->headed = true;
}
static void on_data(void *arg, struct str data)
{
    struct follower *f = arg;
    struct err err = {0};
    assert_int_equal(http_sse_feed(f->sse, data, &err), 0);
}
static void on_end(void *arg, const struct err *err)
{
    struct follower *f = arg;
    (void)err;
    f->call = NULL;
    f->ended = f->headed = true;
}

static void follow_as(struct rig *r, struct follower *f, const char *token, const char *target,
                      const char *last)
{
    static const struct http_stream_ops ops = {on_head, on_data, on_end};
    char auth[AUTH_TOKEN_TEXT + 16];
    memset(f, 0, sizeof(*f));
    f->r = r;
    f->sse = http_sse_new(65536, on_event, f);
    text_fmt(auth, sizeof(auth), "Bearer %s", token);
    struct http_header headers[2] = {{STR("Authorization"), str_of(auth)},
                                     {STR("Last-Event-ID"), str_of(last)}};
    struct http_request rq = {.method = "GET", .target = str_of(target), .headers = headers,
                              .n_headers = last ? 2 : 1, .timeout_ms = RIG_WAIT_MS};
    f->call = http_call_stream(r->people, &rq, &ops, f);
    rig_wait(r, &f->headed);
    assert_int_equal(f->status, 200);
}

static void follow(struct rig *r, struct follower *f, const char *target, const char *last)
{
    follow_as(r, f, r->token, target, last);
}

static void follow_until(struct follower *f, uint32_t n)
{
    f->want = n;
    f->enough = f->ids.n >= n;
    rig_wait(f->r, &f->enough);
}

static void follower_done(struct follower *f)
{
    if (f->call) http_call_cancel(f->call);
    http_sse_free(f->sse);
    VEC_EACH(t, &f->ids) mem_free(*t);
    VEC_EACH(t, &f->names) mem_free(*t);
    VEC_DONE(&f->ids);
    VEC_DONE(&f->names);
}

static void test_live_entries_come_as_they_are_stored(void **state)
{
    (void)state;
    struct rig r;
    struct follower f, one;
    rig_open(&r);
    rig_submit(&r, "{\"command\":[\"x\"]}"); /* before: not seen */
    follow(&r, &f, "/api/v1/events", NULL);
    follow(&r, &one, "/api/v1/events?session=s3", NULL);
    rig_submit(&r, "{\"command\":[\"x\"]}");
    rig_submit(&r, "{\"command\":[\"x\"]}");
    follow_until(&f, 2);
    follow_until(&one, 1);
    assert_string_equal(f.names.v[0], "session.submitted");
    assert_string_equal(one.ids.v[0], f.ids.v[1]);
    follower_done(&f);
    follower_done(&one);
    rig_close(&r);
}

static void test_resumes_without_gaps_or_doubles(void **state)
{
    (void)state;
    struct rig r;
    struct follower all, rest;
    rig_open(&r);
    follow(&r, &all, "/api/v1/events", "0.0");
    for (int i = 0; i < 10; i++) rig_submit(&r, "{\"command\":[\"x\"]}");
    follow_until(&all, 10);
    for (uint32_t from = 0; from < 10; from += 3) {
        follow(&r, &rest, "/api/v1/events", all.ids.v[from]);
        follow_until(&rest, 9 - from);
        for (uint32_t i = 0; i < rest.ids.n; i++)
            assert_string_equal(rest.ids.v[i], all.ids.v[from + 1 + i]);
        follower_done(&rest);
    }
    /* And over a restart: the stream ends, its last id goes on. */
    char last[64];
    text_fmt(last, sizeof(last), "%s", all.ids.v[4]);
    follower_done(&all);
    rig_kill(&r);
    rig_start(&r);
    follow(&r, &rest, "/api/v1/events", last);
    follow_until(&rest, 5);
    rig_submit(&r, "{\"command\":[\"x\"]}");
    follow_until(&rest, 6);
    follower_done(&rest);
    rig_close(&r);
}

/* A reader that takes nothing makes the manager hold no more than one queue, and misses nothing. */
static void test_a_slow_reader_costs_little_and_misses_nothing(void **state)
{
    (void)state;
    struct rig r;
    struct follower f;
    rig_open(&r);
    follow(&r, &f, "/api/v1/events", NULL);
    http_call_pause(f.call);
    struct event ev = {.kind = EVENT_SUBMIT, .actor = 1};
    struct session *s = &ev.u.submit.session;
    s->user = s->project = s->group = 1;
    s->kind = KIND_BATCH;
    s->n_roles = s->members = 1;
    s->roles[0] = (struct role){.name = "main", .count = 1};
    s->roles[0].slots.v[SLOT_CPU] = 1;
    s->roles[0].slots.v[SLOT_MEM] = 1;
    const uint32_t n = 20000;
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(turns_step(r.m->turns, &ev)->verdict, VERDICT_OK);
        bool now = true;
        if (i % 500 == 0) net_loop_run_until(r.loop, &now, 0);
    }
    AUTO_REPLY struct reply p; /* everything is stored once this is answered */
    assert_int_equal(rig_call(&r, &(struct call){.target = "/api/v1/queue?limit=1"}, &p), 200);
    assert_int_equal(r.m->events.streams.n, 1); /* not cut off */
    assert_true(f.ids.n < n);
    http_call_resume(f.call);
    follow_until(&f, n);
    for (uint32_t i = 1; i < n; i++) {
        struct event_cursor a, b;
        assert_true(event_cursor_parse(str_of(f.ids.v[i - 1]), &a));
        assert_true(event_cursor_parse(str_of(f.ids.v[i]), &b));
        assert_true(b.turn > a.turn || (b.turn == a.turn && b.index == a.index + 1));
    }
    follower_done(&f);
    rig_close(&r);
}

static void test_lost_turns_end_the_stream(void **state)
{
    (void)state;
    struct rig r;
    struct follower f;
    rig_open(&r);
    follow(&r, &f, "/api/v1/events", NULL);
    store_fault(r.m->store, 1, STORE_FAULT_FAIL);
    AUTO_REPLY struct reply p;
    rig_call(&r, &(struct call){.method = "POST", .target = "/api/v1/sessions",
                                .body = "{\"command\":[\"x\"]}"}, &p);
    assert_int_equal(p.status, 503);
    rig_wait(&r, &f.ended);
    assert_int_equal(f.ids.n, 0);
    assert_int_equal(r.m->events.streams.n, 0);
    follower_done(&f);
    rig_ready(&r);
    rig_close(&r);
}

static void test_cursors(void **state)
{
    (void)state;
    const struct { const char *text; bool ok; } cases[] = {
        {"1.0", true}, {"0.0", true}, {"9223372036854775807.4294967295", true}, {"", false},
        {"1", false}, {"1.", false}, {".1", false}, {"1.0.0", false}, {"-1.0", false},
        {"1.4294967296", false}, {"18446744073709551615.0", false}, {"a.b", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct event_cursor c;
        if (event_cursor_parse(str_of(cases[i].text), &c) != cases[i].ok)
            fail_msg("%s", cases[i].text);
    }
}

static void submit_as(struct rig *r, const char *token)
{
    AUTO_REPLY struct reply p;
    struct call c = {.method = "POST", .target = "/api/v1/sessions", .token = token,
                     .body = "{\"command\":[\"x\"]}"};
    assert_int_equal(rig_call(r, &c, &p), 201);
}

/* A member hears of its own sessions alone, read up and live. */
static void test_a_members_own(void **state)
{
    (void)state;
    struct rig r;
    struct follower f, all;
    struct token_view v;
    AUTO_REPLY struct reply user;
    AUTO_REPLY struct reply token;
    rig_open(&r);
    struct call make = {.method = "POST", .target = "/api/v1/users", .body = "{\"name\":\"bob\"}"};
    struct call give = {.method = "POST", .target = "/api/v1/users/bob/tokens"};
    assert_int_equal(rig_call(&r, &make, &user), 201);
    assert_int_equal(rig_call(&r, &give, &token), 201);
    assert_int_equal(wire_parse(&wire_token_view, strbuf_str(&token.body), &v, NULL), 0);
    submit_as(&r, r.token);
    submit_as(&r, v.token);
    follow_as(&r, &f, v.token, "/api/v1/events", "0.0");
    follow(&r, &all, "/api/v1/events", "0.0");
    submit_as(&r, r.token);
    submit_as(&r, v.token);
    follow_until(&f, 2);
    follow_until(&all, 5); /* bob was added, four were submitted */
    assert_int_equal(f.ids.n, 2);
    assert_string_equal(f.ids.v[0], all.ids.v[2]);
    assert_string_equal(f.ids.v[1], all.ids.v[4]);
    follower_done(&f);
    follower_done(&all);
    wire_free(&wire_token_view, &v);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_live_entries_come_as_they_are_stored),
        cmocka_unit_test(test_resumes_without_gaps_or_doubles),
        cmocka_unit_test(test_a_slow_reader_costs_little_and_misses_nothing),
        cmocka_unit_test(test_lost_turns_end_the_stream),
        cmocka_unit_test(test_cursors),
        cmocka_unit_test(test_a_members_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
