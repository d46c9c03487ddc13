/* A proxy between a person and an agent that only echoes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "../enrol/cluster.h"
#include "base/strbuf.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/log.h"
#include "net/tls.h"
#include "proxy/front.h"
#include "wire/carry.h"

struct fixture {
    struct cluster cluster;
    char dir[64], agent_dir[96], proxy_dir[96];
    struct net_loop *loop;
    struct http_server *agent;
    struct net_conn *agent_conn;
    struct front *front;
    char agent_addr[64], target[128];
    struct http_req *held; /* a request that the agent leaves unanswered */
    enum { ANSWER_ECHO, REFUSE, SILENT, HOLD_READING } mode;
    bool reached;
    bool echo_closed;
};

/* ---- the agent ---- */

static void echo_data(struct net_conn *c, struct str data, void *arg)
{
    (void)arg;
    net_conn_write(c, data);
}

static void echo_eof(struct net_conn *c, void *arg)
{
    (void)arg;
    net_conn_shutdown(c);
}

static void echo_close(struct net_conn *c, const struct err *why, void *arg)
{
    struct fixture *f = arg;
    (void)c, (void)why;
    f->agent_conn = NULL;
    f->echo_closed = true;
}

static const struct net_conn_ops echo_ops = {.on_data = echo_data, .on_eof = echo_eof,
                                             .on_close = echo_close};

static void on_agent_request(void *arg, struct http_req *r)
{
    struct fixture *f = arg;
    f->reached = true;
    text_clip(f->target, sizeof(f->target), r->target);
    assert_true(str_eq(r->tls_cn, STR("proxy:p1")));
    assert_non_null(http_header(r, CARRY_TICKET_HEADER).p);
    switch (f->mode) {
    case REFUSE: http_reply_problem(r, 403, "denied", "not on this node"); return;
    case SILENT: f->held = r; return;
    case ANSWER_ECHO:
    case HOLD_READING: break;
    }
    f->agent_conn = http_upgrade(r, CARRY_UPGRADE);
    assert_non_null(f->agent_conn);
    net_conn_set_ops(f->agent_conn, &echo_ops, f);
    if (f->mode == ANSWER_ECHO) net_conn_resume(f->agent_conn);
}

static void fixture_init(struct fixture *f, const char *agent_name)
{
    struct err err = {0};
    struct identity agent, proxy;
    struct tls_ctx *tls = NULL, *dial = NULL;
    memset(f, 0, sizeof(*f));
    text_fmt(f->dir, sizeof(f->dir), "/tmp/test-proxy-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    text_fmt(f->agent_dir, sizeof(f->agent_dir), "%s/agent", f->dir);
    text_fmt(f->proxy_dir, sizeof(f->proxy_dir), "%s/proxy", f->dir);
    cluster_init(&f->cluster);
    cluster_member(&f->cluster, f->agent_dir, "agent", agent_name, &agent);
    cluster_member(&f->cluster, f->proxy_dir, "proxy", "p1", &proxy);
    f->loop = net_loop_new();
    assert_int_equal(identity_server_tls(f->agent_dir, &tls, &err), 0);
    f->agent = http_server_listen(f->loop, STR("127.0.0.1:0"),
                                  &(struct http_server_opts){.tls = tls}, on_agent_request, f,
                                  &err);
    assert_non_null(f->agent);
    text_clip(f->agent_addr, sizeof(f->agent_addr), http_server_addr(f->agent));
    assert_int_equal(identity_client_tls(f->proxy_dir, true, &dial, &err), 0);
    f->front = front_new(f->loop, &(struct front_opts){.listen = "127.0.0.1:0", .agents = dial,
                                                       .identity = proxy, .dial_ms = 500}, &err);
    if (f->front == NULL) fail_msg("%s", err.text);
    tls_ctx_free(tls);
    tls_ctx_free(dial);
}

static void drop_dir(const char *dir)
{
    static const char *const files[] = {"node.key", "node.crt", "ca.crt", "identity.json", ""};
    char path[160];
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        text_fmt(path, sizeof(path), "%s/%s", dir, files[i]);
        remove(path);
    }
}

static void fixture_done(struct fixture *f)
{
    front_free(f->front);
    net_conn_close(f->agent_conn);
    http_server_free(f->agent);
    net_loop_free(f->loop);
    cluster_done(&f->cluster);
    drop_dir(f->agent_dir);
    drop_dir(f->proxy_dir);
    remove(f->dir);
}

/* ---- the person ---- */

struct person {
    struct http_client *http;
    struct http_call *call;
    struct net_conn *conn;
    int status;
    bool answered, closed;
    size_t got;
    uint8_t next; /* expected byte: 0, 1, 2 ... 250, 0 ... */
    char problem[256];
};

static void person_data(struct net_conn *c, struct str data, void *arg)
{
    struct person *p = arg;
    (void)c;
    for (size_t i = 0; i < data.n; i++) {
        if ((uint8_t)data.p[i] != p->next) fail_msg("byte %zu is wrong", p->got + i);
        p->next = (uint8_t)((p->next + 1) % 251);
    }
    p->got += data.n;
}

static void person_close(struct net_conn *c, const struct err *why, void *arg)
{
    struct person *p = arg;
    (void)c, (void)why;
    p->conn = NULL;
    p->closed = true;
}

static const struct net_conn_ops person_ops = {.on_data = person_data, .on_close = person_close};

static void person_answer(void *arg, struct net_conn *conn, const struct http_answer *a)
{
    struct person *p = arg;
    p->call = NULL;
    p->answered = true;
    p->status = a->status;
    p->conn = conn;
    if (conn != NULL) {
        net_conn_set_ops(conn, &person_ops, p);
        net_conn_resume(conn);
    } else {
        text_clip(p->problem, sizeof(p->problem), a->status ? a->body : str_of(a->err->text));
    }
}

static void person_start(struct fixture *f, struct person *p, const char *target,
                         const char *ticket, const char *upgrade)
{
    struct err err = {0};
    char origin[96];
    const struct http_header h = {STR(CARRY_TICKET_HEADER), str_of(ticket)};
    struct str addr = front_addr(f->front);
    memset(p, 0, sizeof(*p));
    text_fmt(origin, sizeof(origin), "http://%.*s", (int)addr.n, addr.p);
    p->http = http_client_new(f->loop, str_of(origin), NULL, &err);
    assert_non_null(p->http);
    p->call = http_call_upgrade(p->http,
                                &(struct http_request){.method = "GET", .target = str_of(target),
                                                       .headers = &h,
                                                       .n_headers = ticket != NULL,
                                                       .timeout_ms = 5000},
                                upgrade, person_answer, p);
}

static void person_open(struct fixture *f, struct person *p)
{
    char ticket[TICKET_TEXT_MAX];
    cluster_ticket(&f->cluster, "n1", f->agent_addr, TICKET_LOGS, net_wall_ms() / 1000, ticket);
    person_start(f, p, "/carry/v1/logs?follow=1&tail=7", ticket, CARRY_UPGRADE);
    assert_true(net_loop_run_until(f->loop, &p->answered, 5000));
}

static void person_done(struct person *p)
{
    net_conn_close(p->conn);
    http_client_free(p->http);
}

static void person_send(struct person *p, size_t n)
{
    uint8_t buf[251 * 64];
    if (p->conn == NULL) return;
    for (size_t i = 0; i < sizeof(buf); i++) buf[i] = (uint8_t)(i % 251);
    for (; n > 0; n -= n < sizeof(buf) ? n : sizeof(buf)) {
        net_conn_write(p->conn, str_n((const char *)buf, n < sizeof(buf) ? n : sizeof(buf)));
    }
}

static bool wait_bytes(struct fixture *f, struct person *p, size_t n)
{
    const bool never = false;
    for (int i = 0; i < 2000 && p->got < n; i++) net_loop_run_until(f->loop, &never, 5);
    return p->got == n;
}

static bool wait_idle(struct fixture *f)
{
    const bool never = false;
    for (int i = 0; i < 1000 && front_live(f->front) > 0; i++) {
        net_loop_run_until(f->loop, &never, 5);
    }
    return front_live(f->front) == 0;
}

/* ---- cases ---- */

static void bytes_pass_both_ways(void **state)
{
    struct fixture f;
    struct person p;
    (void)state;
    fixture_init(&f, "n1");
    person_open(&f, &p);
    assert_int_equal(p.status, 101);
    assert_string_equal(f.target, "/carry/v1/logs?follow=1&tail=7"); /* as the person sent it */
    assert_int_equal(front_live(f.front), 1);
    person_send(&p, 251 * 64 * 40);
    assert_true(wait_bytes(&f, &p, 251 * 64 * 40));
    net_conn_close(p.conn); /* the person leaves: so does the other side */
    p.conn = NULL;
    assert_true(net_loop_run_until(f.loop, &f.echo_closed, 5000));
    assert_true(wait_idle(&f));
    person_done(&p);
    fixture_done(&f);
}

static void the_agents_end_is_passed_on(void **state)
{
    struct fixture f;
    struct person p;
    (void)state;
    fixture_init(&f, "n1");
    person_open(&f, &p);
    net_conn_close(f.agent_conn);
    f.agent_conn = NULL;
    assert_true(net_loop_run_until(f.loop, &p.closed, 5000));
    assert_int_equal(front_live(f.front), 0);
    person_done(&p);
    fixture_done(&f);
}

static void who_is_refused(void **state)
{
    struct fixture f;
    struct person p;
    char good[TICKET_TEXT_MAX], old[TICKET_TEXT_MAX], forged[TICKET_TEXT_MAX];
    struct cluster other;
    (void)state;
    fixture_init(&f, "n1");
    cluster_init(&other);
    int64_t now = net_wall_ms() / 1000;
    cluster_ticket(&f.cluster, "n1", f.agent_addr, TICKET_LOGS, now, good);
    cluster_ticket(&f.cluster, "n1", f.agent_addr, TICKET_LOGS, now - 100, old);
    cluster_ticket(&other, "n1", f.agent_addr, TICKET_LOGS, now, forged);
    const struct { const char *target, *ticket, *upgrade; int status; } cases[] = {
        {"/carry/v1/logs", NULL, CARRY_UPGRADE, 401},
        {"/carry/v1/logs", old, CARRY_UPGRADE, 403},
        {"/carry/v1/logs", forged, CARRY_UPGRADE, 403},
        {"/carry/v1/logs", "rubbish", CARRY_UPGRADE, 400},
        {"/carry/v1/exec", good, CARRY_UPGRADE, 403},
        {"/carry/v1/shell", good, CARRY_UPGRADE, 404},
        {"/", good, CARRY_UPGRADE, 404},
        {"/carry/v1/logs", good, "websocket", 426},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        person_start(&f, &p, cases[i].target, cases[i].ticket, cases[i].upgrade);
        assert_true(net_loop_run_until(f.loop, &p.answered, 5000));
        if (p.status != cases[i].status) fail_msg("case %zu: %d %s", i, p.status, p.problem);
        person_done(&p);
    }
    assert_false(f.reached); /* nobody of them got as far as the agent */
    cluster_done(&other);
    fixture_done(&f);
}

static void what_the_agent_says_is_passed_on(void **state)
{
    struct fixture f;
    struct person p;
    (void)state;
    fixture_init(&f, "n1");
    f.mode = REFUSE;
    person_open(&f, &p);
    assert_int_equal(p.status, 403);
    assert_non_null(strstr(p.problem, "not on this node"));
    person_done(&p);
    fixture_done(&f);
}

static void an_agent_that_is_away_or_silent(void **state)
{
    struct fixture f;
    struct person p;
    char ticket[TICKET_TEXT_MAX];
    (void)state;
    fixture_init(&f, "n1");
    cluster_ticket(&f.cluster, "n1", "127.0.0.1:1", TICKET_LOGS, net_wall_ms() / 1000, ticket);
    person_start(&f, &p, "/carry/v1/logs", ticket, CARRY_UPGRADE);
    assert_true(net_loop_run_until(f.loop, &p.answered, 5000));
    assert_int_equal(p.status, 502);
    person_done(&p);
    f.mode = SILENT;
    person_open(&f, &p);
    assert_int_equal(p.status, 502);
    assert_int_equal(front_live(f.front), 0);
    person_done(&p);
    http_reply_problem(f.held, 503, "unavailable", "too late");
    fixture_done(&f);
}

static void another_node_at_the_address_gets_nothing(void **state)
{
    struct fixture f;
    struct person p;
    (void)state;
    fixture_init(&f, "n2"); /* the ticket says n1 */
    person_open(&f, &p);
    assert_int_equal(p.status, 502);
    assert_non_null(strstr(p.problem, "another node"));
    person_done(&p);
    fixture_done(&f);
}

static void a_person_who_leaves_early_takes_the_call_along(void **state)
{
    struct fixture f;
    struct person p;
    char ticket[TICKET_TEXT_MAX];
    (void)state;
    fixture_init(&f, "n1");
    f.mode = SILENT;
    cluster_ticket(&f.cluster, "n1", f.agent_addr, TICKET_LOGS, net_wall_ms() / 1000, ticket);
    person_start(&f, &p, "/carry/v1/logs", ticket, CARRY_UPGRADE);
    assert_true(net_loop_run_until(f.loop, &f.reached, 5000));
    assert_int_equal(front_live(f.front), 1);
    http_call_cancel(p.call);
    int64_t from = net_now_ms();
    assert_true(wait_idle(&f));
    assert_true(net_now_ms() - from < 400); /* not only when the time for the dial is over */
    person_done(&p);
    http_reply_problem(f.held, 503, "unavailable", "too late");
    fixture_done(&f);
}

static void a_proxy_that_ends_answers_who_waits(void **state)
{
    struct fixture f;
    struct person p;
    char ticket[TICKET_TEXT_MAX];
    (void)state;
    fixture_init(&f, "n1");
    f.mode = SILENT;
    cluster_ticket(&f.cluster, "n1", f.agent_addr, TICKET_LOGS, net_wall_ms() / 1000, ticket);
    person_start(&f, &p, "/carry/v1/logs", ticket, CARRY_UPGRADE);
    assert_true(net_loop_run_until(f.loop, &f.reached, 5000));
    front_free(f.front);
    f.front = NULL;
    assert_true(net_loop_run_until(f.loop, &p.answered, 5000));
    assert_int_equal(p.status, 503);
    person_done(&p);
    http_reply_problem(f.held, 503, "unavailable", "too late");
    fixture_done(&f);
}

/* An agent that does not read: the proxy holds little, and the person is held up. */
static void a_slow_side_holds_the_other_up(void **state)
{
    enum { BYTES = 40 << 20 };
    struct fixture f;
    struct person p;
    bool never = false;
    (void)state;
    fixture_init(&f, "n1");
    f.mode = HOLD_READING;
    person_open(&f, &p);
    net_conn_set_marks(p.conn, 1, 2, (size_t)64 << 20);
    person_send(&p, BYTES / (251 * 64) * (251 * 64));
    for (int i = 0; i < 40; i++) net_loop_run_until(f.loop, &never, 5);
    assert_true(net_conn_queued(p.conn) > BYTES / 5); /* kernels and proxy took no more */
    net_conn_resume(f.agent_conn);
    assert_true(wait_bytes(&f, &p, BYTES / (251 * 64) * (251 * 64)));
    person_done(&p);
    fixture_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_pass_both_ways),
        cmocka_unit_test(the_agents_end_is_passed_on),
        cmocka_unit_test(who_is_refused),
        cmocka_unit_test(what_the_agent_says_is_passed_on),
        cmocka_unit_test(an_agent_that_is_away_or_silent),
        cmocka_unit_test(another_node_at_the_address_gets_nothing),
        cmocka_unit_test(a_person_who_leaves_early_takes_the_call_along),
        cmocka_unit_test(a_proxy_that_ends_answers_who_waits),
        cmocka_unit_test(a_slow_side_holds_the_other_up),
    };
    log_setup(LOG_ERROR, LOG_LOGFMT, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
