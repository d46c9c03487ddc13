/* A certificate is renewed in time, in a running process, and only by one that serves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cluster.h"
#include "enrol/renew.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/log.h"
#include "net/tls.h"
#include "wire/objects.h"

#define PATIENCE_MS 30000

enum script { GOOD, OTHER_NAME, OTHER_KEY, RUBBISH, ABSENT };

struct fixture {
    struct cluster cluster;
    struct net_loop *loop;
    struct http_server *server;
    struct identity id;
    char dir[64], url[64];
    enum script script;
    uint32_t asked, renewed;
};

static void on_call(void *arg, struct http_req *r)
{
    struct fixture *f = arg;
    struct renew_request rq;
    struct renew_answer a = {0};
    struct pki_pair pair = {0};
    struct err err = {0};
    AUTO_STRBUF struct strbuf json;
    strbuf_init(&json, 65536);
    assert_true(str_eq(r->tls_cn, STR("agent:n1")));
    if (str_eq(r->path, STR("/hello"))) {
        http_reply_json(r, 200, STR("{}"));
        return;
    }
    assert_true(str_eq(r->path, STR("/agent/v1/renew")));
    f->asked++;
    if (f->script == ABSENT || f->script == RUBBISH) {
        if (f->script == ABSENT) http_reply_problem(r, 404, "not_found", "no such path");
        else http_reply_json(r, 200, STR("{\"cert\":\"x\"}"));
        return;
    }
    if (wire_parse(&wire_renew_request, r->body, &rq, &err) != 0) fail_msg("%s", err.text);
    struct pki_leaf leaf = {.cn = f->script == OTHER_NAME ? STR("agent:n2") : r->tls_cn,
                            .days = 90, .server = true, .client = true};
    int rc = f->script == OTHER_KEY ? pki_leaf_create(&f->cluster.ca, PKI_P256, &leaf, &pair, &err)
                                    : pki_csr_sign(&f->cluster.ca, str_of(rq.csr), &leaf, &a.cert,
                                                   &err);
    if (rc != 0) fail_msg("%s", err.text);
    if (f->script == OTHER_KEY) a.cert = STEAL(pair.cert);
    wire_print(&wire_renew_answer, &a, &json);
    http_reply_json(r, 200, strbuf_str(&json));
    pki_pair_done(&pair);
    wire_free(&wire_renew_request, &rq);
    wire_free(&wire_renew_answer, &a);
}

static char *read_file(const struct fixture *f, const char *name)
{
    char path[IDENTITY_PATH_MAX], *text = NULL;
    assert_int_equal(identity_path(f->dir, name, path, NULL), 0);
    assert_int_equal(pki_file_read(path, &text, NULL), 0);
    return text;
}

/* The member's certificate again, for so many more seconds. */
static void live_for(struct fixture *f, uint32_t seconds)
{
    char path[IDENTITY_PATH_MAX], *csr = NULL, *cert = NULL, *key = read_file(f, "node.key");
    struct pki_leaf leaf = {.cn = STR("agent:n1"), .seconds = seconds, .server = true,
                            .client = true};
    assert_int_equal(pki_csr_new(key, leaf.cn, &csr, NULL), 0);
    assert_int_equal(pki_csr_sign(&f->cluster.ca, str_of(csr), &leaf, &cert, NULL), 0);
    assert_int_equal(identity_path(f->dir, "node.crt", path, NULL), 0);
    assert_int_equal(pki_file_write(path, str_of(cert), 0644, NULL), 0);
    mem_free(csr);
    mem_free(cert);
    pki_key_free(key);
}

static void fixture_init(struct fixture *f, enum script script)
{
    struct err err = {0};
    struct pki_pair pair = {0};
    memset(f, 0, sizeof(*f));
    f->script = script;
    text_fmt(f->dir, sizeof(f->dir), "/tmp/test-renew-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    cluster_init(&f->cluster);
    cluster_member(&f->cluster, f->dir, "agent", "n1", &f->id);
    f->loop = net_loop_new();
    struct pki_leaf leaf = {.cn = STR("manager"), .sans = {STR("127.0.0.1")}, .n_sans = 1,
                            .days = 1, .server = true};
    assert_int_equal(pki_leaf_create(&f->cluster.ca, PKI_P256, &leaf, &pair, &err), 0);
    struct tls_server_opts o = {.cert_pem = str_of(pair.cert), .key_pem = str_of(pair.key),
                                .client_ca_pem = str_of(f->cluster.ca.cert),
                                .client_required = true};
    struct tls_ctx *tls = tls_server_new(&o, &err);
    assert_non_null(tls);
    f->server = http_server_listen(f->loop, STR("127.0.0.1:0"),
                                   &(struct http_server_opts){.tls = tls}, on_call, f, &err);
    assert_non_null(f->server);
    text_fmt(f->url, sizeof(f->url), "https://127.0.0.1:%u", http_server_port(f->server));
    tls_ctx_free(tls);
    pki_pair_done(&pair);
}

static void fixture_done(struct fixture *f)
{
    static const char *const files[] = {"node.key", "node.crt", "ca.crt", "identity.json"};
    char path[IDENTITY_PATH_MAX];
    http_server_free(f->server);
    net_loop_free(f->loop);
    cluster_done(&f->cluster);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        assert_int_equal(identity_path(f->dir, files[i], path, NULL), 0);
        unlink(path);
    }
    rmdir(f->dir);
}

static void on_renewed(void *arg) { ((struct fixture *)arg)->renewed++; }

static struct renew *begin(struct fixture *f)
{
    struct err err = {0};
    struct renew_opts o = {.dir = f->dir, .manager = f->url, .identity = &f->id, .retry_ms = 20,
                           .on_renewed = on_renewed, .arg = f};
    struct renew *r = renew_new(f->loop, &o, &err);
    if (r == NULL) fail_msg("%s", err.text);
    return r;
}

static void turn(struct fixture *f)
{
    static const bool never;
    (void)net_loop_run_until(f->loop, &never, 10);
}

#define UNTIL(f, condition) \
    do { \
        int64_t until_ = net_now_ms() + PATIENCE_MS; \
        while (!(condition)) { \
            if (net_now_ms() > until_) fail_msg("never: %s", #condition); \
            turn(f); \
        } \
    } while (0)

static void on_hello(void *arg, const struct http_answer *a) { *(int *)arg = a->status; }

/* Over a fresh connection; 0: it was not let in. */
static int hello(struct fixture *f, struct tls_ctx *tls)
{
    struct err err = {0};
    int status = -1;
    struct http_client *c = http_client_new(f->loop, str_of(f->url),
                                            &(struct http_client_opts){.tls = tls}, &err);
    assert_non_null(c);
    http_call(c, &(struct http_request){.method = "GET", .target = STR("/hello")}, on_hello,
              &status);
    UNTIL(f, status >= 0);
    http_client_free(c);
    return status;
}

static void states(void **state)
{
    static const struct pki_info cert = {.not_before = 1000, .not_after = 10000};
    static const struct { int64_t now; enum renew_state is; } cases[] = {
        {0, RENEW_EARLY}, {999, RENEW_EARLY}, {1000, RENEW_FRESH}, {6999, RENEW_FRESH},
        {7000, RENEW_DUE}, {10000, RENEW_DUE}, {10001, RENEW_OVER},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t due = 0;
        assert_int_equal(renew_state_of(&cert, cases[i].now, &due), cases[i].is);
        assert_int_equal(due, 7000);
    }
}

static void one_that_is_fresh_is_kept(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f, GOOD);
    struct renew *r = begin(&f);
    for (int i = 0; i < 20; i++) turn(&f);
    assert_int_equal(f.asked, 0);
    renew_free(r);
    fixture_done(&f);
}

/* The running process goes on with contexts that it made when the old one was good. */
static void the_old_one_ends_and_nobody_notices(void **state)
{
    struct fixture f;
    struct err err = {0};
    struct tls_ctx *reloaded = NULL, *stale = NULL;
    (void)state;
    fixture_init(&f, GOOD);
    live_for(&f, 4);
    time_t over = time(NULL) + 5;
    assert_int_equal(identity_client_tls(f.dir, false, &reloaded, &err), 0);
    assert_int_equal(identity_client_tls(f.dir, false, &stale, &err), 0);
    AUTO_FREE char *before = read_file(&f, "node.crt");
    struct renew *r = begin(&f);
    UNTIL(&f, f.renewed == 1);
    AUTO_FREE char *after = read_file(&f, "node.crt");
    assert_string_not_equal(before, after);
    assert_int_equal(tls_ctx_reload(reloaded, &err), 0);
    UNTIL(&f, time(NULL) > over);
    assert_int_equal(hello(&f, stale), 0);
    assert_int_equal(hello(&f, reloaded), 200);
    assert_int_equal(f.asked, 1);
    renew_free(r);
    tls_ctx_free(reloaded);
    tls_ctx_free(stale);
    fixture_done(&f);
}

static void what_does_not_serve_is_not_kept(void **state)
{
    static const enum script scripts[] = {OTHER_NAME, OTHER_KEY, RUBBISH, ABSENT};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
        struct fixture f;
        fixture_init(&f, scripts[i]);
        live_for(&f, 60);
        AUTO_FREE char *before = read_file(&f, "node.crt");
        struct renew *r = begin(&f);
        UNTIL(&f, f.asked == 3); /* it goes on asking */
        AUTO_FREE char *after = read_file(&f, "node.crt");
        assert_string_equal(before, after);
        assert_int_equal(f.renewed, 0);
        f.script = GOOD;
        UNTIL(&f, f.renewed == 1);
        renew_free(r);
        fixture_done(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states),
        cmocka_unit_test(one_that_is_fresh_is_kept),
        cmocka_unit_test(the_old_one_ends_and_nobody_notices),
        cmocka_unit_test(what_does_not_serve_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
