/* Tests of manager/api_join.c: who gets in, under which names, and what they hear. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "harness.h"
#include "net/http_server.h"
#include "net/tls.h"

static void ask(struct rig *r, const char *name, const char *role, int status, const char *text)
{
    struct fake_node n = {.r = r};
    AUTO_REPLY struct reply p;
    assert_true(TEXT_SET(n.name, str_of(name)));
    fake_node_ask(&n, role, &p);
    if (p.status != status || !reply_has(&p, text))
        fail_msg("%s %s: %d %s", role, name, p.status, p.body.p);
    fake_node_done(&n);
}

/* A name must fit wherever it is kept: as common name, and beside the token. */
static void test_names(void **state)
{
    (void)state;
#define TEN "0123456789"
    static const struct { const char *name, *role; int status; const char *text; } cases[] = {
        {TEN TEN TEN TEN TEN "0123456", "agent", 200, "CERTIFICATE"},
        {TEN TEN TEN TEN TEN "0123456", "proxy", 200, "CERTIFICATE"},
        {TEN TEN TEN TEN TEN "01234567", "agent", 400, "57"},
        {TEN TEN TEN TEN TEN "01234567", "proxy", 400, "57"},
        {TEN TEN TEN TEN TEN TEN "012", "agent", 400, "57"},
        {"", "agent", 400, "node"},
        {"a:b", "agent", 400, "node"},
        {"n1", "manager", 400, "role"},
    };
#undef TEN
    struct rig r;
    rig_open(&r);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        ask(&r, cases[i].name, cases[i].role, cases[i].status, cases[i].text);
    rig_close(&r);
}

/* A machine that lost its directory joins again and is believed at once, whatever
 * the manager went through in between. */
static void test_a_new_life_counts_on(void **state)
{
    (void)state;
    static const struct { const char *name; bool restart, forget; } between[] = {
        {"nothing", false, false}, {"restart", true, false}, {"forget", false, true},
        {"forget and restart", true, true}, {"nothing", false, false},
    };
    struct rig r;
    uint64_t last = 0;
    rig_open(&r);
    for (size_t i = 0; i < ARRAY_LEN(between); i++) {
        struct fake_node n;
        struct sync_answer a;
        fake_node_join(&r, "n1", 4, &n);
        if (n.epoch <= last) fail_msg("before \"%s\": start %d", between[i].name, (int)n.epoch);
        n.epoch += 6; /* starts of this life */
        fake_node_beat(&n, NULL, 0, 20, &a); /* checks that it is answered 200 */
        last = n.epoch;
        wire_free(&wire_sync_answer, &a);
        fake_node_done(&n);
        if (between[i].forget) {
            AUTO_REPLY struct reply p;
            rig_call(&r, &(struct call){.method = "POST", .target = "/api/v1/nodes/n1/forget"},
                     &p);
            assert_int_equal(p.status, 200);
        }
        if (!between[i].restart) continue;
        rig_kill(&r);
        rig_start(&r);
        if (between[i].forget) last = 0; /* nobody knows that there was one */
    }
    ask(&r, "n1", "proxy", 200, "CERTIFICATE"); /* another thing of that name */
    rig_close(&r);
}

/* ---- a node's certificate does not make it the manager ---- */

static void on_anything(void *arg, struct http_req *req)
{
    bool *heard = arg;
    *heard = true;
    http_reply_json(req, 200, STR("{}"));
}

static void on_answer(void *arg, const struct http_answer *a)
{
    int *status = arg;
    *status = a->status;
}

/* Status of a call to an impostor at the manager's own address; 0: not even sent. */
static int call_impostor(struct rig *r, const struct fake_node *n, bool any_name, bool *ret_heard)
{
    struct err err = {0};
    char origin[64];
    int status = -1;
    struct tls_server_opts so = {.cert_pem = str_of(n->cert), .key_pem = str_of(n->key)};
    struct tls_ctx *theirs = tls_server_new(&so, &err);
    assert_non_null(theirs);
    struct http_server_opts ho = {.tls = theirs};
    struct http_server *s =
        http_server_listen(r->loop, STR("127.0.0.1:0"), &ho, on_anything, ret_heard, &err);
    assert_non_null(s);
    text_fmt(origin, sizeof(origin), "https://127.0.0.1:%u", http_server_port(s));
    struct tls_client_opts co = {.ca_pem = str_of(n->ca), .skip_name = any_name};
    struct tls_ctx *ours = tls_client_new(&co, &err);
    assert_non_null(ours);
    struct http_client_opts cl = {.tls = ours};
    struct http_client *c = http_client_new(r->loop, str_of(origin), &cl, &err);
    assert_non_null(c);
    struct http_request rq = {.method = "GET", .target = STR("/"), .timeout_ms = RIG_WAIT_MS};
    http_call(c, &rq, on_answer, &status);
    for (bool done = false; !done; done = status >= 0) net_loop_run_until(r->loop, &done, 10);
    http_client_free(c);
    http_server_free(s);
    tls_ctx_free(ours);
    tls_ctx_free(theirs);
    return status;
}

static void test_a_node_cannot_pass_for_the_manager(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    bool heard = false;
    rig_open(&r);
    fake_node_join(&r, "localhost", 4, &n); /* not even under this name */
    assert_int_equal(call_impostor(&r, &n, false, &heard), 0);
    assert_false(heard);
    assert_int_equal(call_impostor(&r, &n, true, &heard), 200); /* only the name was wrong */
    assert_true(heard);
    fake_node_done(&n);
    rig_close(&r);
}

/* Where a node says that it can be dialled: it goes into tickets and to proxies. */
static void test_data_addresses(void **state)
{
    (void)state;
#define ESCAPED "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1"
    static const struct { const char *addr; int status; } cases[] = {
        {"10.0.0.1:7413", 200}, {"[fd00::1]:7413", 200}, {"gpu-1.example:7413", 200},
        {"", 400}, {"10.0.0.1", 400}, {"10.0.0.1:0x1", 400}, {"10.0.0.1:99999", 400},
        {"unix:/run/x", 400}, {"fd:3", 400}, {"a b:1", 400}, {"a\n:1", 400},
        {ESCAPED ESCAPED ESCAPED ":1", 400},
    };
#undef ESCAPED
    struct rig r;
    struct fake_node n;
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_REPLY struct reply p;
        n.data_addr = cases[i].addr;
        fake_node_begin(&n, NULL, 0, 20, &p);
        rig_wait(&r, &p.done);
        if (p.status != cases[i].status || (p.status == 400 && !reply_has(&p, "info.data_addr")))
            fail_msg("%s: %d %s", cases[i].addr, p.status, p.body.p);
    }
    fake_node_done(&n);
    rig_close(&r);
}

/* ---- another certificate before the own one ends */

static void on_reply(void *arg, const struct http_answer *a)
{
    struct reply *p = arg;
    p->status = a->status;
    strbuf_put(&p->body, a->body);
    p->done = true;
}

static void renew(const struct fake_node *n, const char *csr, struct reply *p)
{
    AUTO_STRBUF struct strbuf body;
    strbuf_init(&body, 65536);
    wire_print(&wire_renew_request, &(struct renew_request){.csr = (char *)(uintptr_t)csr}, &body);
    memset(p, 0, sizeof(*p));
    strbuf_init(&p->body, 1 << 20);
    http_call(n->client,
              &(struct http_request){.method = "POST", .target = STR("/agent/v1/renew"),
                                     .content_type = "application/json",
                                     .body = strbuf_str(&body), .timeout_ms = RIG_WAIT_MS},
              on_reply, p);
    rig_wait(n->r, &p->done);
}

static void test_a_certificate_is_renewed_for_its_own_name(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    struct err err = {0};
    struct pki_info info;
    struct renew_answer a;
    AUTO_FREE char *csr = NULL;
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    assert_int_equal(pki_csr_new(n.key, STR("agent:n2"), &csr, &err), 0);
    AUTO_REPLY struct reply good;
    renew(&n, csr, &good);
    assert_int_equal(good.status, 200);
    assert_int_equal(wire_parse(&wire_renew_answer, strbuf_str(&good.body), &a, &err), 0);
    assert_int_equal(pki_cert_info(str_of(a.cert), &info, &err), 0);
    assert_string_equal(info.cn, "agent:n1"); /* whatever it asked for */
    int64_t days = (info.not_after - net_wall_ms() / 1000 + 60) / (24 * 60 * 60);
    assert_int_equal(days, 90);
    wire_free(&wire_renew_answer, &a);
    AUTO_REPLY struct reply bad;
    renew(&n, "no request", &bad);
    assert_int_equal(bad.status, 400);
    struct fake_node stranger = {.r = &r};
    AUTO_REPLY struct reply asked, refused;
    assert_true(TEXT_SET(stranger.name, STR("n3")));
    fake_node_ask(&stranger, "agent", &asked); /* connects without a certificate */
    renew(&stranger, csr, &refused);
    assert_int_equal(refused.status, 401);
    fake_node_done(&stranger);
    fake_node_done(&n);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_node_cannot_pass_for_the_manager),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_a_new_life_counts_on),
        cmocka_unit_test(test_data_addresses),
        cmocka_unit_test(test_a_certificate_is_renewed_for_its_own_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
