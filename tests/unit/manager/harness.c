/* tests/unit/manager/harness.c */
#include "harness.h"
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/check.h"
#include "manager/turn.h"
#include "net/pki.h"
#include "net/tls.h"

void dir_make(char ret[64])
{
    text_fmt(ret, 64, "/tmp/rota-manager-XXXXXX");
    assert_non_null(mkdtemp(ret));
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

void dir_remove(const char *dir) { nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

/* ---- the manager ---- */

static void on_end(void *arg, int code)
{
    struct rig *r = arg;
    r->end_code = code;
}

static bool tick_done;
static void tick_over(void *arg)
{
    (void)arg;
    tick_done = true;
}

void rig_ready(struct rig *r)
{
    struct net_timer *t = net_timer_new(r->loop, tick_over, NULL);
    for (int i = 0; !turns_world(r->m->turns) || !turns_accepting(r->m->turns); i++) {
        assert_in_range(i, 0, RIG_WAIT_MS);
        tick_done = false;
        net_timer_set(t, 1, 0);
        net_loop_run_until(r->loop, &tick_done, 1000);
    }
    net_timer_free(t);
}

static void read_token(struct rig *r)
{
    char path[96];
    text_fmt(path, sizeof(path), "%s/admin.token", r->dir);
    char *text = NULL;
    struct err err = {0};
    if (pki_file_read(path, &text, &err) != 0) fail_msg("%s", err.text);
    assert_true(TEXT_SET(r->token, str_n(text, strcspn(text, "\n"))));
    mem_free(text);
}

void rig_start(struct rig *r)
{
    struct settings s;
    struct err err = {0};
    settings_defaults(&s);
    assert_true(TEXT_SET(s.dir, str_of(r->dir)));
    assert_true(TEXT_SET(s.listen, STR("127.0.0.1:0")));
    assert_true(TEXT_SET(s.agent_listen, STR("127.0.0.1:0")));
    for (s.n_fence = 0; s.n_fence < r->n_fence; s.n_fence++)
        assert_true(TEXT_SET(s.fence[s.n_fence], str_of(r->fence[s.n_fence])));
    r->loop = net_loop_new();
    r->end_code = -1;
    if (manager_open(&s, r->loop, on_end, r, &r->m, &err) != 0) fail_msg("%s", err.text);
    rig_ready(r);
    read_token(r);
    char origin[64];
    text_fmt(origin, sizeof(origin), "http://127.0.0.1:%u", http_server_port(r->m->people));
    r->people = http_client_new(r->loop, str_of(origin), NULL, &err);
    assert_non_null(r->people);
}

void rig_open(struct rig *r)
{
    memset(r, 0, sizeof(*r));
    log_setup(LOG_ERROR + 1, LOG_LOGFMT, NULL);
    dir_make(r->dir);
    rig_start(r);
}

void rig_kill(struct rig *r)
{
    http_client_free(r->people);
    manager_close(r->m);
    net_loop_free(r->loop);
    r->people = NULL;
    r->m = NULL;
    r->loop = NULL;
}

static void set_true(void *arg) { *(bool *)arg = true; }

void rig_stop(struct rig *r)
{
    bool done = false;
    manager_stop(r->m, set_true, &done);
    rig_wait(r, &done);
    rig_kill(r);
}

void rig_close(struct rig *r)
{
    if (r->m) rig_stop(r);
    dir_remove(r->dir);
}

void rig_wait(struct rig *r, const bool *done)
{
    assert_true(net_loop_run_until(r->loop, done, RIG_WAIT_MS));
}

/* ---- people ---- */

void reply_done(struct reply *p) { strbuf_done(&p->body); }

bool reply_has(const struct reply *p, const char *text)
{
    return p->body.p && strstr(p->body.p, text) != NULL;
}

static void on_done(void *arg, const struct http_answer *a)
{
    struct reply *p = arg;
    p->status = a->status;
    strbuf_put(&p->body, a->body);
    if (a->status) {
        text_clip(p->retry_after, sizeof(p->retry_after), http_answer_header(a, "Retry-After"));
        text_clip(p->location, sizeof(p->location), http_answer_header(a, "Location"));
    }
    p->done = true;
}

static void reply_init(struct reply *p)
{
    memset(p, 0, sizeof(*p));
    strbuf_init(&p->body, (size_t)64 << 20);
}

void rig_begin(struct rig *r, const struct call *c, struct reply *p)
{
    char auth[AUTH_TOKEN_TEXT + 16];
    struct http_header headers[3];
    uint32_t n = 0;
    text_fmt(auth, sizeof(auth), "Bearer %s", c->token ? c->token : r->token);
    if (!c->token || c->token[0])
        headers[n++] = (struct http_header){STR("Authorization"), str_of(auth)};
    if (c->key) headers[n++] = (struct http_header){STR("Idempotency-Key"), str_of(c->key)};
    if (c->last_event)
        headers[n++] = (struct http_header){STR("Last-Event-ID"), str_of(c->last_event)};
    struct http_request rq = {.method = c->method ? c->method : "GET",
                              .target = str_of(c->target),
                              .content_type = c->body ? "application/json" : NULL,
                              .body = c->body ? str_of(c->body) : (struct str){NULL, 0},
                              .headers = headers,
                              .n_headers = n,
                              .timeout_ms = RIG_WAIT_MS};
    reply_init(p);
    http_call(r->people, &rq, on_done, p);
}

int rig_call(struct rig *r, const struct call *c, struct reply *p)
{
    rig_begin(r, c, p);
    rig_wait(r, &p->done);
    return p->status;
}

static void parse_reply(const struct reply *p, int status, const struct wire_table *t, void *ret)
{
    struct err err = {0};
    if (p->status != status) fail_msg("status %d: %s", p->status, p->body.p ? p->body.p : "");
    if (wire_parse(t, strbuf_str(&p->body), ret, &err) != 0)
        fail_msg("%s: %s in %s", err.field, err.text, p->body.p);
}

void rig_get(struct rig *r, const char *target, const struct wire_table *t, void *ret)
{
    AUTO_REPLY struct reply p;
    rig_call(r, &(struct call){.target = target}, &p);
    parse_reply(&p, 200, t, ret);
}

uint64_t rig_submit(struct rig *r, const char *doc)
{
    AUTO_REPLY struct reply p;
    struct session_view v;
    uint64_t id = 0;
    rig_call(r, &(struct call){.method = "POST", .target = "/api/v1/sessions", .body = doc}, &p);
    parse_reply(&p, 201, &wire_session_view, &v);
    assert_true(session_id_parse(str_of(v.id), &id));
    wire_free(&wire_session_view, &v);
    return id;
}

void rig_dump(struct rig *r, struct strbuf *out)
{
    AUTO_REPLY struct reply p;
    assert_int_equal(rig_call(r, &(struct call){.target = "/api/v1/admin/dump"}, &p), 200);
    strbuf_put(out, strbuf_str(&p.body));
}

/* ---- nodes ---- */

static void node_client(struct fake_node *n, const struct tls_client_opts *o)
{
    struct err err = {0};
    char origin[64];
    http_client_free(n->client);
    tls_ctx_free(n->tls);
    n->tls = tls_client_new(o, &err);
    if (!n->tls) fail_msg("%s", err.text);
    text_fmt(origin, sizeof(origin), "https://127.0.0.1:%u", http_server_port(n->r->m->agents));
    struct http_client_opts co = {.tls = n->tls};
    n->client = http_client_new(n->r->loop, str_of(origin), &co, &err);
    if (!n->client) fail_msg("%s", err.text);
}

void fake_node_connect(struct fake_node *n)
{
    struct tls_client_opts o = {.ca_pem = str_of(n->ca),
                                .cert_pem = str_of(n->cert),
                                .key_pem = str_of(n->key)};
    node_client(n, &o);
}

static void join_token(struct rig *r, struct join_token_answer *ret)
{
    AUTO_REPLY struct reply p;
    rig_call(r, &(struct call){.method = "POST", .target = "/api/v1/tokens/join"}, &p);
    parse_reply(&p, 201, &wire_join_token_answer, ret);
}

void fake_node_ask(struct fake_node *n, const char *role, struct reply *p)
{
    struct rig *r = n->r;
    struct err err = {0};
    struct join_token_answer token;
    char *csr = NULL;
    join_token(r, &token);
    struct tls_client_opts o = {.has_pin = true};
    assert_true(pki_fingerprint_parse(str_of(token.ca_sha256), o.pin));
    node_client(n, &o);
    assert_int_equal(pki_key_new(PKI_P256, &n->key, &err), 0);
    assert_int_equal(pki_csr_new(n->key, STR("anybody"), &csr, &err), 0);
    struct join_request rq;
    wire_init(&wire_join_request, &rq);
    rq.protocol = WIRE_PROTOCOL;
    rq.token = token.token;
    text_clip(rq.node, sizeof(rq.node), str_of(n->name));
    text_clip(rq.role, sizeof(rq.role), str_of(role));
    rq.csr = csr;
    AUTO_STRBUF struct strbuf body;
    strbuf_init(&body, 65536);
    wire_print(&wire_join_request, &rq, &body);
    reply_init(p);
    struct http_request hr = {.method = "POST",
                              .target = STR("/agent/v1/join"),
                              .content_type = "application/json",
                              .body = strbuf_str(&body),
                              .timeout_ms = RIG_WAIT_MS};
    http_call(n->client, &hr, on_done, p);
    rig_wait(r, &p->done);
    wire_free(&wire_join_token_answer, &token);
    mem_free(csr);
}

void fake_node_join(struct rig *r, const char *name, int cpu, struct fake_node *ret)
{
    struct fake_node n = {
        .r = r, .epoch = 1, .cpu_milli = cpu * 1000, .mem_bytes = INT64_C(64) << 30};
    AUTO_REPLY struct reply p;
    struct join_answer a;
    assert_true(TEXT_SET(n.name, str_of(name)));
    fake_node_ask(&n, "agent", &p);
    parse_reply(&p, 200, &wire_join_answer, &a);
    n.cert = STEAL(a.cert);
    n.ca = STEAL(a.ca);
    text_clip(n.cluster, sizeof(n.cluster), str_of(a.cluster));
    text_clip(n.incarnation, sizeof(n.incarnation), str_of(a.incarnation));
    n.epoch = a.epoch + 1;
    wire_free(&wire_join_answer, &a);
    fake_node_connect(&n);
    *ret = n;
}

void fake_node_done(struct fake_node *n)
{
    http_client_free(n->client);
    tls_ctx_free(n->tls);
    pki_key_free(n->key);
    mem_free(n->cert);
    mem_free(n->ca);
    memset(n, 0, sizeof(*n));
}

void fake_node_begin(struct fake_node *n, const struct member_report *members, uint32_t count,
                     int64_t poll_ms, struct reply *p)
{
    struct sync_request rq;
    wire_init(&wire_sync_request, &rq);
    rq.protocol = n->protocol ? n->protocol : SYNC_PROTOCOL_MIN;
    text_clip(rq.cluster, sizeof(rq.cluster), str_of(n->cluster));
    text_clip(rq.incarnation, sizeof(rq.incarnation), str_of(n->incarnation));
    rq.turn = n->turn;
    text_clip(rq.node, sizeof(rq.node), str_of(n->name));
    text_clip(rq.boot_id, sizeof(rq.boot_id), STR("boot-1"));
    rq.epoch = n->epoch;
    rq.seq = ++n->seq;
    rq.full = !n->brief;
    rq.list_no = n->list_no;
    rq.wants_no = n->wants_no;
    rq.used_ms = n->used_ms;
    for (uint32_t i = 0; i < n->n_used; i++) VEC_PUSH(&rq.used, n->used[i]);
    text_clip(rq.info.version, sizeof(rq.info.version), STR("test"));
    text_clip(rq.info.data_addr, sizeof(rq.info.data_addr),
              str_of(n->data_addr ? n->data_addr : "127.0.0.1:9"));
    text_clip(rq.info.group, sizeof(rq.info.group), STR("default"));
    if (n->unhealthy != NULL) TEXT_CLIP(rq.info.unhealthy, str_of(n->unhealthy));
    rq.info.cpu_milli = n->cpu_milli;
    rq.info.mem_bytes = n->mem_bytes;
    rq.poll_ms = poll_ms;
    for (uint32_t i = 0; i < count; i++) VEC_PUSH(&rq.members, members[i]);
    AUTO_STRBUF struct strbuf body;
    strbuf_init(&body, (size_t)1 << 24);
    wire_print(&wire_sync_request, &rq, &body);
    wire_free(&wire_sync_request, &rq);
    reply_init(p);
    struct http_request hr = {.method = "POST",
                              .target = STR("/agent/v1/sync"),
                              .content_type = "application/json",
                              .body = strbuf_str(&body),
                              .timeout_ms = RIG_WAIT_MS};
    http_call(n->client, &hr, on_done, p);
}

void fake_node_finish(struct fake_node *n, struct reply *p, struct sync_answer *ret)
{
    rig_wait(n->r, &p->done);
    parse_reply(p, 200, &wire_sync_answer, ret);
    if (ret->turn > n->turn) n->turn = ret->turn;
}

void fake_node_beat(struct fake_node *n, const struct member_report *members, uint32_t count,
                    int64_t poll_ms, struct sync_answer *ret)
{
    AUTO_REPLY struct reply p;
    fake_node_begin(n, members, count, poll_ms, &p);
    fake_node_finish(n, &p, ret);
}
