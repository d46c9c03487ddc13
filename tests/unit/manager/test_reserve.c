/* tests/unit/manager/test_reserve.c - reservations over the API, and after a restart. */
#include "harness.h"
#include "wire/reserve.h"

static void expect(struct rig *r, const struct call *c, int status, const char *text)
{
    AUTO_REPLY struct reply p;
    rig_call(r, c, &p);
    if (p.status != status || (text && !reply_has(&p, text)))
        fail_msg("%s %s: %d %s, not %d %s", c->method ? c->method : "GET", c->target, p.status,
                 p.body.p, status, text ? text : "");
}

static void kill_and_start(struct rig *r, struct fake_node *n)
{
    http_client_free(STEAL(n->client));
    rig_kill(r);
    rig_start(r);
    fake_node_connect(n);
}

#define LIST "/api/v1/reservations"

static const struct { const char *body; int status; const char *text; } ADDED[] = {
    {"{}", 400, "length_ms"},
    {"{\"length\":\"1h\",\"cpu\":1}", 400, "either a user or a project"},
    {"{\"length\":\"1h\",\"cpu\":1,\"user\":\"admin\",\"project\":\"default\"}", 400, "either"},
    {"{\"length\":\"1h\",\"cpu\":1,\"user\":\"eve\"}", 400, "no such user"},
    {"{\"length\":\"1h\",\"cpu\":1,\"project\":\"eve\"}", 400, "no such project"},
    {"{\"length\":\"1h\",\"cpu\":1,\"user\":\"admin\",\"group\":\"eve\"}", 400, "no such group"},
    {"{\"length\":\"1h\",\"cpu\":1,\"user\":\"admin\",\"node\":\"n9\"}", 400, "no such node"},
    {"{\"length\":\"1h\",\"cpu\":1,\"user\":\"admin\",\"start_at\":\"soon\"}", 400, "start_at"},
    {"{\"length\":\"1h\",\"cpu\":1,\"user\":\"admin\",\"start_at\":\"2001-01-01T00:00:00Z\"}", 400,
     "past"},
    {"{\"length\":\"1h\",\"cpu\":1,\"user\":\"admin\",\"start_in\":\"1h\","
     "\"start_at\":\"2101-01-01T00:00:00Z\"}", 400, "give one of both"},
    {"{\"length\":\"1h\",\"user\":\"admin\"}", 400, "devices, CPU or memory"},
    {"{\"length\":\"1h\",\"cpu\":5,\"user\":\"admin\"}", 422, "0 are large enough"},
    {"{\"length\":\"1h\",\"cpu\":3,\"user\":\"admin\",\"name\":\"demo\"}", 201,
     "\"state\":\"active\""},
    {"{\"length\":\"1h\",\"cpu\":3,\"project\":\"default\"}", 422, "promised or reserved"},
    {"{\"length\":\"1h\",\"cpu\":3,\"project\":\"default\",\"start_in\":\"2h\",\"node\":\"n1\"}",
     201, "\"state\":\"planned\""},
};

static void test_added_listed_removed(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    struct sync_answer a;
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    fake_node_beat(&n, NULL, 0, 10, &a);
    wire_free(&wire_sync_answer, &a);
    for (size_t i = 0; i < ARRAY_LEN(ADDED); i++) {
        expect(&r, &(struct call){.method = "POST", .target = LIST, .body = ADDED[i].body},
               ADDED[i].status, ADDED[i].text);
    }
    expect(&r, &(struct call){.target = LIST "/r1"}, 200, "\"name\":\"demo\",\"user\":\"admin\"");
    expect(&r, &(struct call){.target = LIST "/2"}, 200,
           "\"each\":{\"cpu_milli\":3000,\"mem_bytes\":0,\"gpu\":0},"
           "\"nodes\":[{\"node\":\"n1\",\"devices\":\"\"}]");
    expect(&r, &(struct call){.target = LIST "/r3"}, 404, "not_found");
    kill_and_start(&r, &n);
    expect(&r, &(struct call){.target = LIST}, 200, "\"r2\"");
    expect(&r, &(struct call){.method = "DELETE", .target = LIST "/r1"}, 200, "\"r1\"");
    expect(&r, &(struct call){.method = "DELETE", .target = LIST "/r1"}, 404, "not_found");
    kill_and_start(&r, &n);
    expect(&r, &(struct call){.target = LIST "/r1"}, 404, "not_found");
    expect(&r, &(struct call){.target = LIST "/r2"}, 200, "\"project\":\"default\"");
    fake_node_done(&n);
    rig_close(&r);
}

static void test_ids(void **state)
{
    (void)state;
    uint32_t id = 7;
    assert_true(wire_reservation_id(STR("r3"), &id));
    assert_int_equal(id, 3);
    assert_true(wire_reservation_id(STR("12"), &id));
    assert_int_equal(id, 12);
    static const char *const not[] = {"", "r", "r0", "0", "s3", "rr3", "r-1", "r4294967296", "r3 "};
    for (size_t i = 0; i < ARRAY_LEN(not); i++)
        assert_false(wire_reservation_id(str_of(not[i]), &id));
    assert_int_equal(id, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_added_listed_removed),
                                       cmocka_unit_test(test_ids)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
