/* Reasons, expected starts and checks, as people get them. */
#include "harness.h"

static void expect(struct rig *r, const struct call *c, int status, const char *text)
{
    AUTO_REPLY struct reply p;
    rig_call(r, c, &p);
    if (p.status != status || (text && !reply_has(&p, text)))
        fail_msg("%s: %d %s, not %d %s", c->target, p.status, p.body.p, status, text ? text : "");
}

#define JOB(cpu, more) \
    "{\"roles\":[{\"name\":\"main\",\"cpu\":\"" cpu "\",\"mem\":\"1G\"}]," more \
    "\"command\":[\"x\"]}"

static void get_why(struct rig *r, const char *id, struct why_view *ret)
{
    char target[64];
    text_fmt(target, sizeof(target), "/api/v1/sessions/%s/why", id);
    rig_get(r, target, &wire_why_view, ret);
}

/* s1 has the only node for an hour, s2 and s3 wait for it. */
static void with_queue(struct rig *r, struct fake_node *n)
{
    rig_open(r);
    struct sync_answer a;
    fake_node_join(r, "n1", 4, n);
    fake_node_beat(n, NULL, 0, 0, &a);
    wire_free(&wire_sync_answer, &a);
    assert_int_equal(rig_submit(r, JOB("3", "\"time_limit\":\"1h\",")), 1);
    assert_int_equal(rig_submit(r, JOB("4", "\"time_limit\":\"2h\",")), 2);
    assert_int_equal(rig_submit(r, JOB("1", "\"time_limit\":\"3h\",")), 3);
}

static void test_why(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    struct why_view v;
    with_queue(&r, &n);
    get_why(&r, "s2", &v);
    assert_int_equal(v.kind, WHY_NO_CAPACITY);
    assert_string_equal(v.estimate, "dated");
    assert_string_equal(v.rests_on, "s1");
    assert_string_equal(v.node, "n1");
    assert_in_range(v.expected_in_ms, 3500000, 3600000);
    wire_free(&wire_why_view, &v);
    get_why(&r, "s3", &v);
    assert_int_equal(v.kind, WHY_SKIPPED);
    assert_string_equal(v.blocker, "s2");
    const char *text = "would delay s2, which is ahead and is promised n1 in ";
    assert_true(str_starts(str_of(v.text), str_of(text)));
    assert_string_equal(v.rests_on, "s2");
    wire_free(&wire_why_view, &v);
    expect(&r, &(struct call){.method = "PATCH", .target = "/api/v1/users/admin",
                              .body = "{\"limits\":{\"running\":1}}"}, 200, NULL);
    get_why(&r, "s3", &v);
    assert_int_equal(v.kind, WHY_OVER_QUOTA);
    assert_int_equal(v.n_excess, 1);
    assert_string_equal(v.excess[0].level, "user");
    assert_string_equal(v.excess[0].name, "admin");
    assert_string_equal(v.excess[0].what, "running");
    assert_int_equal(v.excess[0].used, 1);
    assert_int_equal(v.excess[0].limit, 1);
    assert_string_equal(v.estimate, "over");
    assert_int_equal(v.expected_in_ms, -1);
    wire_free(&wire_why_view, &v);
    fake_node_done(&n);
    rig_close(&r);
}

static void test_queue(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    struct queue_list q;
    with_queue(&r, &n);
    assert_int_equal(rig_submit(&r, JOB("1", "\"hold\":true,")), 4);
    rig_get(&r, "/api/v1/queue", &wire_queue_list, &q);
    assert_int_equal(q.items.n, 3);
    assert_in_range(q.items.v[0].expected_in_ms, 3500000, 3600000);
    assert_in_range(q.items.v[1].expected_in_ms, 3 * 3500000, 3 * 3600000);
    assert_int_equal(q.items.v[2].expected_in_ms, -1);
    assert_string_equal(q.items.v[2].reason, "held until `rota release s4`; place 3 of 3 in the "
                                             "queue");
    wire_free(&wire_queue_list, &q);
    fake_node_done(&n);
    rig_close(&r);
}

static const struct { const char *body; int status; const char *text; } CHECKS[] = {
    {JOB("1", "\"time_limit\":\"30m\","), 200, "\"kind\":\"placed\""},
    {JOB("1", "\"time_limit\":\"30m\","), 200, "\"expected\":\"now on n1\""},
    {JOB("1", "\"time_limit\":\"2h\","), 200, "\"kind\":\"skipped\""},
    {JOB("1", "\"time_limit\":\"2h\",\"priority\":50,"), 200, "\"kind\":\"placed\""},
    {JOB("4", "\"priority\":50,"), 200, "\"rests_on\":\"s1\""},
    {JOB("2", "\"hold\":true,"), 200, "\"wait\":\"hold\""},
    {JOB("5", ""), 422, "impossible"},
    {JOB("1", "\"group\":\"none\","), 400, "\"field\":\"group\""},
    {JOB("1", "\"priority\":500,"), 400, "\"field\":\"priority\""},
    {JOB("1", "\"name\":\"s9\","), 400, "\"field\":\"name\""},
};

static void test_check(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    AUTO_STRBUF struct strbuf before, after;
    with_queue(&r, &n);
    strbuf_init(&before, 1 << 20);
    strbuf_init(&after, 1 << 20);
    rig_dump(&r, &before);
    for (size_t i = 0; i < ARRAY_LEN(CHECKS); i++) {
        expect(&r, &(struct call){.method = "POST", .target = "/api/v1/sessions/check",
                                  .body = CHECKS[i].body}, CHECKS[i].status, CHECKS[i].text);
    }
    expect(&r, &(struct call){.method = "POST", .target = "/api/v1/sessions/check?x=1",
                              .body = CHECKS[0].body}, 400, NULL);
    rig_dump(&r, &after); /* nothing came of it */
    assert_string_equal(before.p, after.p);
    assert_int_equal(rig_submit(&r, CHECKS[0].body), 4);
    fake_node_done(&n);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_why),
        cmocka_unit_test(test_queue),
        cmocka_unit_test(test_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
