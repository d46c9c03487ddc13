/* tests/unit/manager/test_account.c - accounts, tokens, limits, and what a member sees. */
#include "harness.h"
#include "wire/accounts.h"

static void expect(struct rig *r, const struct call *c, int status, const char *text)
{
    AUTO_REPLY struct reply p;
    rig_call(r, c, &p);
    if (p.status != status || (text && !reply_has(&p, text)))
        fail_msg("%s %s: %d %s, not %d %s", c->method ? c->method : "GET", c->target, p.status,
                 p.body.p, status, text ? text : "");
}

static void post(struct rig *r, const char *target, const char *body, int status, const char *text)
{
    expect(r, &(struct call){.method = "POST", .target = target, .body = body}, status, text);
}

static void patch(struct rig *r, const char *target, const char *body, int status,
                  const char *text)
{
    expect(r, &(struct call){.method = "PATCH", .target = target, .body = body}, status, text);
}

/* A new token of this user; returns its id. */
static void token_of(struct rig *r, const char *user, char ret[AUTH_TOKEN_TEXT], char ret_id[16])
{
    AUTO_REPLY struct reply p;
    char target[128];
    struct token_view v;
    text_fmt(target, sizeof(target), "/api/v1/users/%s/tokens", user);
    struct call c = {.method = "POST", .target = target, .body = "{\"name\":\"laptop\"}"};
    assert_int_equal(rig_call(r, &c, &p), 201);
    assert_int_equal(wire_parse(&wire_token_view, strbuf_str(&p.body), &v, NULL), 0);
    assert_true(TEXT_SET(*(char (*)[AUTH_TOKEN_TEXT])ret, str_of(v.token)));
    text_fmt(ret_id, 16, "%s", v.id);
    wire_free(&wire_token_view, &v);
}

struct bob { char token[AUTH_TOKEN_TEXT], id[16]; };

static void with_bob(struct rig *r, struct bob *ret)
{
    rig_open(r);
    post(r, "/api/v1/users", "{\"name\":\"bob\",\"uid\":1001,\"gid\":1001}", 201,
         "\"role\":\"member\"");
    token_of(r, "bob", ret->token, ret->id);
}

static const struct { const char *method, *target, *body; int status; const char *text; } PUTS[] = {
    {"POST", "/api/v1/domains", "{\"name\":\"far\",\"limits\":{\"gpu\":8}}", 201, "\"gpu\":8"},
    {"POST", "/api/v1/domains", "{\"name\":\"far\"}", 409, "name_taken"},
    {"POST", "/api/v1/domains", "{}", 400, "\"field\":\"name\""},
    {"POST", "/api/v1/domains", "{\"name\":\"A\"}", 400, "\"field\":\"name\""},
    {"POST", "/api/v1/domains", "{\"name\":\"x\",\"limits\":{\"gpu\":-2}}", 400, "limits.gpu"},
    {"POST", "/api/v1/domains", "{\"name\":\"x\",\"limits\":{\"gpus\":2}}", 400, "limits.gpus"},
    {"PATCH", "/api/v1/domains/far", "{\"limits\":{\"mem\":\"2G\",\"running\":0}}", 200,
     "\"limits\":{\"mem_bytes\":2147483648,\"gpu\":8,\"running\":0}"},
    {"PATCH", "/api/v1/domains/far", "{\"limits\":{\"gpu\":-1}}", 200,
     "\"limits\":{\"mem_bytes\":2147483648,\"running\":0}"},
    {"PATCH", "/api/v1/domains/far", "{\"name\":\"near\"}", 400, "cannot be changed"},
    {"PATCH", "/api/v1/domains/near", "{}", 404, "not_found"},
    {"POST", "/api/v1/projects", "{\"name\":\"vision\",\"domain\":\"far\"}", 201, "\"far\""},
    {"POST", "/api/v1/projects", "{\"name\":\"speech\",\"domain\":\"none\"}", 400,
     "\"field\":\"domain\""},
    {"POST", "/api/v1/projects", "{\"name\":\"speech\",\"limits\":{\"cpu\":\"1.5\"}}", 201,
     "\"domain\":\"default\",\"limits\":{\"cpu_milli\":1500}"},
    {"PATCH", "/api/v1/projects/speech", "{\"domain\":\"far\"}", 400, "\"field\":\"domain\""},
    {"PATCH", "/api/v1/projects/speech", "{\"limits\":{\"pending\":3}}", 200, "\"pending\":3"},
    {"POST", "/api/v1/users", "{\"name\":\"eve\",\"role\":\"owner\"}", 400, "\"field\":\"role\""},
    {"POST", "/api/v1/users", "{\"name\":\"eve\",\"uid\":0}", 400, "\"field\":\"uid\""},
    {"POST", "/api/v1/users", "{\"name\":\"eve\"}", 201, "\"uid\":21000000"},
    {"PATCH", "/api/v1/users/eve", "{\"uid\":12,\"role\":\"admin\"}", 200, "\"uid\":12"},
    {"PATCH", "/api/v1/users/eve", "{\"role\":\"member\"}", 200, "\"role\":\"member\""},
    {"PATCH", "/api/v1/users/admin", "{\"role\":\"member\"}", 400, "last administrator"},
    {"PATCH", "/api/v1/users/admin", "{\"disabled\":\"yes\"}", 400, "last administrator"},
    {"PATCH", "/api/v1/users/nobody", "{}", 404, "nobody"},
    {"POST", "/api/v1/users/nobody/tokens", "{}", 404, "not_found"},
    {"DELETE", "/api/v1/tokens/012345678901", NULL, 404, "not_found"},
    {"GET", "/api/v1/users", NULL, 200, "\"name\":\"eve\""},
    {"GET", "/api/v1/projects", NULL, 200, "\"name\":\"vision\""},
    {"GET", "/api/v1/domains", NULL, 200, "\"name\":\"far\""},
    {"GET", "/api/v1/users/eve", NULL, 200, "\"used\":{\"cpu_milli\":0"},
    {"GET", "/api/v1/quota?user=nobody", NULL, 400, "\"field\":\"user\""},
    {"GET", "/api/v1/quota?project=vision", NULL, 400, "\"field\":\"project\""},
    {"GET", "/api/v1/quota?project=speech&user=eve", NULL, 200, "\"level\":\"project\""},
    {"GET", "/api/v1/whoami", NULL, 200, "\"projects\":[\"default\",\"speech\"]"},
};

static void test_putting(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r);
    for (size_t i = 0; i < ARRAY_LEN(PUTS); i++) {
        expect(&r, &(struct call){.method = PUTS[i].method, .target = PUTS[i].target,
                                  .body = PUTS[i].body}, PUTS[i].status, PUTS[i].text);
    }
    rig_kill(&r);
    rig_start(&r); /* all of it was stored */
    expect(&r, &(struct call){.target = "/api/v1/domains/far"}, 200,
           "\"limits\":{\"mem_bytes\":2147483648,\"running\":0}");
    expect(&r, &(struct call){.target = "/api/v1/users/eve"}, 200, "\"uid\":12");
    expect(&r, &(struct call){.target = "/api/v1/projects/vision"}, 200, "\"far\"");
    rig_close(&r);
}

/* Everything that a member may not do, or that is not there for it; s1 is not its own. */
static const struct {
    const char *method, *target, *body;
    int status;
    const char *text;
} AS_BOB[] = {
    {"GET", "/api/v1/sessions/s1", NULL, 404, "s1"},
    {"GET", "/api/v1/sessions/s1?wait=ended", NULL, 404, "s1"},
    {"GET", "/api/v1/sessions/s1/why", NULL, 404, "s1"},
    {"GET", "/api/v1/sessions/s1/history", NULL, 404, "s1"},
    {"PATCH", "/api/v1/sessions/s1", "{\"priority\":1}", 404, "s1"},
    {"DELETE", "/api/v1/sessions/s1", NULL, 404, "s1"},
    {"POST", "/api/v1/sessions/s1/stop", "{}", 404, "s1"},
    {"POST", "/api/v1/sessions/s1/signal", "{\"signal\":\"INT\"}", 404, "s1"},
    {"POST", "/api/v1/sessions/s1/tickets", "{\"action\":\"logs\"}", 404, "s1"},
    {"GET", "/api/v1/sessions/secret", NULL, 404, "secret"},
    {"POST", "/api/v1/sessions", "{\"command\":[\"x\"],\"after\":[\"s1\"]}", 400, "after"},
    {"GET", "/api/v1/sessions?owner=admin", NULL, 400, "no such user"},
    {"GET", "/api/v1/users", NULL, 403, "list account"},
    {"GET", "/api/v1/domains", NULL, 403, "list account"},
    {"GET", "/api/v1/projects", NULL, 403, "list account"},
    {"GET", "/api/v1/users/admin", NULL, 404, "admin"},
    {"GET", "/api/v1/users/nobody", NULL, 404, "nobody"},
    {"GET", "/api/v1/domains/far", NULL, 404, "far"},
    {"GET", "/api/v1/projects/vision", NULL, 404, "vision"},
    {"GET", "/api/v1/projects/default", NULL, 200, "default"},
    {"GET", "/api/v1/users/bob", NULL, 200, "\"uid\":1001"},
    {"POST", "/api/v1/users", "{\"name\":\"eve\"}", 403, "create account"},
    {"PATCH", "/api/v1/users/bob", "{\"role\":\"admin\"}", 403, "update account"},
    {"PATCH", "/api/v1/projects/default", "{}", 403, "update account"},
    {"GET", "/api/v1/users/admin/tokens", NULL, 404, "not_found"},
    {"POST", "/api/v1/users/admin/tokens", "{}", 404, "not_found"},
    {"GET", "/api/v1/users/bob/tokens", NULL, 200, "laptop"},
    {"GET", "/api/v1/quota?user=admin", NULL, 400, "no such user"},
    {"GET", "/api/v1/quota", NULL, 200, "\"level\":\"user\",\"name\":\"bob\""},
    {"GET", "/api/v1/whoami", NULL, 200, "\"role\":\"member\""},
    {"PUT", "/api/v1/groups/default", "{}", 403, "update group"},
    {"GET", "/api/v1/groups", NULL, 200, "default"},
    {"GET", "/api/v1/nodes", NULL, 200, "items"},
    {"POST", "/api/v1/nodes/n1/cordon", "{}", 403, "update node"},
    {"POST", "/api/v1/tokens/join", "{}", 403, "create node"},
    {"GET", "/api/v1/admin/dump", NULL, 403, "admin cluster"},
    {"GET", "/api/v1/admin/snapshot", NULL, 403, "admin cluster"},
    {"POST", "/api/v1/sessions/s1/requeue", NULL, 404, "s1"},
    {"POST", "/api/v1/sessions/check", "{\"command\":[\"x\"],\"after\":[\"s1\"]}", 400, "after"},
    {"POST", "/api/v1/reservations", "{\"user\":\"bob\",\"length\":\"1h\",\"cpu\":1}", 403,
     "create reservation"},
    {"DELETE", "/api/v1/reservations/r1", NULL, 403, "delete reservation"},
    {"GET", "/api/v1/version", NULL, 200, "version"},
};

static void test_a_member(void **state)
{
    (void)state;
    struct rig r;
    struct bob bob;
    with_bob(&r, &bob);
    post(&r, "/api/v1/domains", "{\"name\":\"far\"}", 201, NULL);
    post(&r, "/api/v1/projects", "{\"name\":\"vision\",\"domain\":\"far\"}", 201, NULL);
    assert_int_equal(rig_submit(&r, "{\"name\":\"secret\",\"command\":[\"x\"]}"), 1);
    for (size_t i = 0; i < ARRAY_LEN(AS_BOB); i++) {
        expect(&r, &(struct call){.method = AS_BOB[i].method, .target = AS_BOB[i].target,
                                  .body = AS_BOB[i].body, .token = bob.token}, AS_BOB[i].status,
               AS_BOB[i].text);
    }
    expect(&r, &(struct call){.method = "PUT", .target = "/api/v1/groups/far",
                              .body = "{\"projects\":[\"vision\"]}"}, 201, "vision");
    expect(&r, &(struct call){.target = "/api/v1/groups/far", .token = bob.token}, 200,
           "\"restricted\":true,\"projects\":[]");
    /* Its own is there for it, and for the administrator. */
    expect(&r, &(struct call){.method = "POST", .target = "/api/v1/sessions", .token = bob.token,
                              .body = "{\"name\":\"mine\",\"command\":[\"x\"]}"}, 201, "\"bob\"");
    expect(&r, &(struct call){.target = "/api/v1/sessions/mine", .token = bob.token}, 200, "mine");
    expect(&r, &(struct call){.target = "/api/v1/sessions/s2"}, 200, "mine");
    static const char *const lists[] = {"/api/v1/sessions?state=all", "/api/v1/queue",
                                        "/api/v1/sessions"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        AUTO_REPLY struct reply list;
        struct call c = {.target = lists[i], .token = bob.token};
        assert_int_equal(rig_call(&r, &c, &list), 200);
        assert_true(reply_has(&list, "mine"));
        assert_false(reply_has(&list, "secret"));
        assert_false(reply_has(&list, "\"admin\""));
        if (i == 1) assert_true(reply_has(&list, "of another user"));
    }
    rig_close(&r);
}

#define RESERVE "{\"length\":\"1h\",\"start_in\":\"9h\",\"cpu\":1,"

/* Of those that are for others it sees when and how much, not for whom. */
static void test_reservations_of_others(void **state)
{
    (void)state;
    struct rig rig, *r = &rig;
    struct bob bob;
    struct fake_node n;
    struct sync_answer a;
    struct call list = {.target = "/api/v1/reservations", .token = bob.token};
    with_bob(r, &bob);
    post(r, "/api/v1/domains", "{\"name\":\"far\"}", 201, NULL);
    post(r, "/api/v1/projects", "{\"name\":\"vision\",\"domain\":\"far\"}", 201, NULL);
    fake_node_join(r, "n1", 8, &n);
    fake_node_beat(&n, NULL, 0, 10, &a);
    wire_free(&wire_sync_answer, &a);
    static const char *const bodies[] = {
        RESERVE "\"user\":\"admin\",\"name\":\"hush\"}",
        RESERVE "\"project\":\"vision\",\"name\":\"hush2\"}",
        RESERVE "\"user\":\"bob\",\"name\":\"for-him\"}",
        RESERVE "\"project\":\"default\",\"name\":\"for-us\"}",
    };
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) post(r, list.target, bodies[i], 201, "name");
    expect(r, &list, 200, "{\"id\":\"r1\",\"group\":");
    expect(r, &list, 200, "{\"id\":\"r2\",\"group\":");
    expect(r, &list, 200, "\"name\":\"for-him\",\"user\":\"bob\"");
    expect(r, &list, 200, "\"name\":\"for-us\",\"project\":\"default\"");
    list.target = "/api/v1/reservations/r2";
    expect(r, &list, 200, "{\"id\":\"r2\",\"group\":");
    list.token = NULL;
    expect(r, &list, 200, "\"project\":\"vision\"");
    fake_node_done(&n);
    rig_close(r);
}

static void test_tokens(void **state)
{
    (void)state;
    struct rig r;
    struct bob bob, second;
    char path[64];
    with_bob(&r, &bob);
    token_of(&r, "bob", second.token, second.id);
    rig_kill(&r);
    rig_start(&r);
    struct call who = {.target = "/api/v1/whoami", .token = bob.token};
    struct call who2 = {.target = "/api/v1/whoami", .token = second.token};
    expect(&r, &who, 200, bob.id);
    expect(&r, &who, 200, "\"token_name\":\"laptop\"");
    /* Shown once: the list has its id alone. */
    AUTO_REPLY struct reply list;
    rig_call(&r, &(struct call){.target = "/api/v1/users/bob/tokens"}, &list);
    assert_true(reply_has(&list, bob.id));
    assert_false(reply_has(&list, bob.token));
    /* Whose user is disabled opens nothing; what is revoked neither, for good. */
    patch(&r, "/api/v1/users/bob", "{\"disabled\":\"yes\"}", 200, "\"disabled\":true");
    expect(&r, &who, 401, "unauthorized");
    patch(&r, "/api/v1/users/bob", "{\"disabled\":\"no\"}", 200, NULL);
    expect(&r, &who, 200, "bob");
    text_fmt(path, sizeof(path), "/api/v1/tokens/%s", bob.id);
    expect(&r, &(struct call){.method = "DELETE", .target = path, .token = second.token}, 200,
           bob.id);
    expect(&r, &who, 401, "unauthorized");
    rig_kill(&r);
    rig_start(&r);
    expect(&r, &who, 401, "unauthorized");
    expect(&r, &who2, 200, "bob");
    post(&r, "/api/v1/users/bob/tokens", "{\"valid_ms\":3600000}", 201, "expires_at");
    post(&r, "/api/v1/users/bob/tokens", "{\"valid\":\"1h\",\"nam\":\"x\"}", 400, "name");
    rig_close(&r);
}

/* Who revokes the last token of an administrator finds another one after the next start. */
static void test_the_last_admin_token(void **state)
{
    (void)state;
    struct rig r;
    struct bob bob;
    struct whoami_view v;
    char path[64], before[AUTH_TOKEN_TEXT];
    with_bob(&r, &bob); /* his token is none of an administrator */
    rig_get(&r, "/api/v1/whoami", &wire_whoami_view, &v);
    text_fmt(path, sizeof(path), "/api/v1/tokens/%s", v.token);
    wire_free(&wire_whoami_view, &v);
    memcpy(before, r.token, sizeof(before));
    expect(&r, &(struct call){.method = "DELETE", .target = path}, 200, NULL);
    expect(&r, &(struct call){.target = "/api/v1/whoami"}, 401, NULL);
    rig_kill(&r);
    rig_start(&r);
    assert_string_not_equal(r.token, before);
    expect(&r, &(struct call){.target = "/api/v1/whoami"}, 200, "\"user\":\"admin\"");
    expect(&r, &(struct call){.target = "/api/v1/whoami", .token = bob.token}, 200, "bob");
    memcpy(before, r.token, sizeof(before));
    rig_kill(&r);
    rig_start(&r);
    assert_string_equal(r.token, before);
    rig_close(&r);
}

static void test_limits_and_groups(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r);
    post(&r, "/api/v1/projects", "{\"name\":\"vision\",\"limits\":{\"gpu\":0}}", 201, NULL);
    post(&r, "/api/v1/sessions", "{\"command\":[\"x\"],\"gpu\":1,\"project\":\"vision\"}", 422,
         "over a limit: project vision uses 0 of 0 GPU, 1 asked");
    post(&r, "/api/v1/sessions", "{\"command\":[\"x\"],\"project\":\"vision\"}", 201, NULL);
    expect(&r, &(struct call){.method = "PUT", .target = "/api/v1/groups/default", .body =
               "{\"order\":\"lifo\",\"on_blocked\":\"backfill\",\"reserve_depth\":1,"
               "\"fence_after\":\"30s\","
               "\"test_depth\":9,\"undated_ms\":5,\"lower_after\":0,\"lower_by\":7,"
               "\"strategy\":\"best_fit\",\"preempt\":{\"enabled\":\"yes\",\"mode\":\"requeue\","
               "\"scope\":\"group\",\"order\":\"oldest\",\"min_runtime\":\"1m\"},"
               "\"time_limit_batch\":\"1h\",\"time_max\":\"2h\",\"projects\":[\"vision\"]}"}, 200,
           NULL);
    rig_kill(&r);
    rig_start(&r);
    expect(&r, &(struct call){.target = "/api/v1/groups/default"}, 200,
           "\"order\":\"lifo\",\"on_blocked\":\"backfill\",\"time_limit_batch_ms\":3600000");
    expect(&r, &(struct call){.target = "/api/v1/groups/default"}, 200,
           "\"time_max_ms\":7200000,\"fence_after_ms\":30000,\"reserve_depth\":1,\"test_depth\":9,"
           "\"undated_ms\":5,"
           "\"lower_after\":0,\"lower_by\":7,\"strategy\":\"best_fit\","
           "\"preempt\":{\"enabled\":true,\"mode\":\"requeue\",\"scope\":\"group\","
           "\"order\":\"oldest\","
           "\"min_runtime_ms\":60000},\"host_network\":false,"
           "\"restricted\":true,\"projects\":[\"vision\"]");
    post(&r, "/api/v1/sessions", "{\"command\":[\"x\"]}", 403, "not open to project default");
    post(&r, "/api/v1/sessions",
         "{\"command\":[\"x\"],\"project\":\"vision\",\"time_limit\":\"3h\"}", 400,
         "allows at most 2 h");
    struct call open = {.method = "PUT", .target = "/api/v1/groups/default",
                        .body = "{\"projects\":[\"*\"]}"};
    expect(&r, &open, 200, "\"projects\":[]");
    post(&r, "/api/v1/sessions", "{\"command\":[\"x\"]}", 201, "\"time_limit_ms\":3600000");
    post(&r, "/api/v1/sessions", "{\"command\":[\"x\"],\"network\":\"host\"}", 403,
         "does not let sessions use the network of its machines");
    post(&r, "/api/v1/sessions", "{\"command\":[\"x\"],\"network\":\"moon\"}", 400,
         "network");
    open.body = "{\"host_network\":\"yes\"}";
    expect(&r, &open, 200, "\"host_network\":true");
    rig_kill(&r);
    rig_start(&r);
    post(&r, "/api/v1/sessions", "{\"command\":[\"x\"],\"network\":\"host\"}", 201, NULL);
    open.body = "{\"projects\":[\"nobodys\"]}";
    expect(&r, &open, 400, "nobodys");
    open.body = "{\"reserve_depth\":0}";
    expect(&r, &open, 400, "reserve_depth");
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_putting),
        cmocka_unit_test(test_a_member),
        cmocka_unit_test(test_reservations_of_others),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_the_last_admin_token),
        cmocka_unit_test(test_limits_and_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
