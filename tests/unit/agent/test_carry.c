/* The data port as a proxy sees it: who may come in, and what comes out. */
#include "test.h"

#include "../enrol/cluster.h"
#include "agent/port.h"
#include "base/strbuf.h"
#include "host/proc.h"
#include "net/http_client.h"
#include "net/log.h"
#include "net/tls.h"
#include "wire/carry.h"
#include "wire/shim.h"

#define F0 "logs/1.1.0/log.000000000000"

struct fixture {
    struct cluster cluster;
    char dir[64], proxy_dir[96], agent_dir[96], origin[128];
    struct net_loop *loop;
    struct driver d;
    struct driver_ops ops; /* the driver's, with exec and input taped */
    struct driver taped;
    struct bodies *bodies;
    struct act *act;
    struct port *port;
    struct tls_ctx *proxy_tls;
    struct identity agent_id, proxy_id;
    char tape[256];
    struct net_conn *exec_conn;
    uint64_t turn;
    bool stubborn, ended;
    uint32_t asked;
    size_t taken;
};

static struct fixture *taping; /* the one that the driver's operations write to */

static int tape_exec(void *self, struct member_ref ref, const char *const *argv, bool tty,
                     struct net_conn *conn, struct err *err)
{
    (void)self, (void)ref;
    if (strcmp(argv[0], "refuse") == 0) return err_set(err, ERR_CONFLICT, "not running");
    size_t n = strlen(taping->tape);
    for (; *argv != NULL; argv++) {
        n += (size_t)text_fmt(taping->tape + n, sizeof(taping->tape) - n, "%s ", *argv);
    }
    if (tty) text_fmt(taping->tape + n, sizeof(taping->tape) - n, "tty");
    taping->exec_conn = conn;
    return 0;
}

static int tape_input(void *self, struct member_ref ref, uint8_t frame, const void *data,
                      uint32_t n, struct err *err)
{
    (void)self, (void)ref;
    if (taping->stubborn) { /* a job that takes input slowly */
        if (n > SHIM_DATA_MAX) return err_set(err, ERR_INVALID, "too much at a time");
        if (++taping->asked % 3 != 0) return err_set(err, ERR_UNAVAILABLE, "not now");
        for (uint32_t i = 0; i < n; i++) {
            uint8_t want = (uint8_t)((taping->taken + i) % 251);
            if (((const uint8_t *)data)[i] != want) fail_msg("byte %zu", taping->taken + i);
        }
        taping->taken += n;
        taping->ended = frame == CARRY_STDIN_END;
        return 0;
    }
    size_t at = strlen(taping->tape);
    text_fmt(taping->tape + at, sizeof(taping->tape) - at, "%c%.*s ", (char)frame, (int)n,
             (const char *)data);
    return 0;
}

static void on_change(void *arg)
{
    struct fixture *f = arg;
    if (f->act != NULL) act_run(f->act);
    if (f->port != NULL) port_changed(f->port);
}

static void fixture_init(struct fixture *f)
{
    struct err err = {0};
    struct tls_ctx *tls = NULL;
    memset(f, 0, sizeof(*f));
    test_dir_new(f->dir);
    text_fmt(f->agent_dir, sizeof(f->agent_dir), "%s/agent", f->dir);
    text_fmt(f->proxy_dir, sizeof(f->proxy_dir), "%s/proxy", f->dir);
    cluster_init(&f->cluster);
    cluster_member(&f->cluster, f->agent_dir, "agent", "n1", &f->agent_id);
    cluster_member(&f->cluster, f->proxy_dir, "proxy", "p1", &f->proxy_id);
    f->loop = net_loop_new();
    struct driver_config c = {.state_dir = f->dir, .on_change = on_change, .arg = f};
    assert_int_equal(fake_driver_new(f->loop, &c, &f->d, &err), 0);
    f->ops = *f->d.ops;
    f->ops.exec = tape_exec;
    f->ops.attach_input = tape_input;
    f->taped = (struct driver){.ops = &f->ops, .self = f->d.self};
    taping = f;
    assert_int_equal(bodies_open(NULL, &f->bodies, &err), 0);
    f->act = act_new(&f->taped, f->bodies, CLUSTER_INCARNATION);
    if (identity_server_tls(f->agent_dir, &tls, &err) != 0) fail_msg("%s", err.text);
    f->port = port_new(f->loop, &(struct port_opts){.listen = "127.0.0.1:0", .tls = tls,
                                                    .driver = &f->taped, .act = f->act,
                                                    .identity = f->agent_id}, &err);
    if (f->port == NULL) fail_msg("%s", err.text);
    tls_ctx_free(tls);
    struct str addr = port_addr(f->port);
    text_fmt(f->origin, sizeof(f->origin), "https://%.*s", (int)addr.n, addr.p);
    assert_int_equal(identity_client_tls(f->proxy_dir, true, &f->proxy_tls, &err), 0);
}

static void fixture_done(struct fixture *f)
{
    port_free(f->port);
    act_free(f->act);
    bodies_free(f->bodies);
    f->d.ops->free(f->d.self);
    net_conn_close(f->exec_conn);
    tls_ctx_free(f->proxy_tls);
    net_loop_free(f->loop);
    cluster_done(&f->cluster);
    test_dir_free(f->dir);
}

/* The manager's wish: session 1 with this command, or nothing. */
static void want(struct fixture *f, enum want_act act, const char *command)
{
    struct sync_answer a = {.turn = ++f->turn};
    struct sync_body b = {.session = 1, .attempt = 1};
    char spec[256];
    if (command != NULL) {
        text_fmt(spec, sizeof(spec), "{\"command\":[\"%s\"]}", command);
        b.spec = mem_strndup(spec, strlen(spec));
        VEC_PUSH(&a.wants, ((struct member_want){.ref = {1, 1, 0}, .act = act, .fresh = true}));
        VEC_PUSH(&a.bodies, b);
    }
    act_apply(f->act, &a);
    wire_free(&wire_sync_answer, &a);
    act_run(f->act);
}

/* ---- the client ---- */

struct client {
    struct http_client *http;
    struct net_conn *conn;
    struct strbuf in;   /* frames as they came */
    char said[4096];    /* "Ohello\n|2err\n|" without heads, streams joined */
    char last;
    int status;
    char problem[256];
    bool answered, closed;
    size_t bytes[256];  /* of payload, by type */
};

static void client_frames(struct client *c)
{
    while (c->in.n >= CARRY_HEAD) {
        enum carry_type type;
        uint32_t n;
        struct err err;
        if (carry_head_get((const uint8_t *)c->in.p, CARRY_FROM_AGENT, &type, &n, &err) != 0) {
            fail_msg("%s", err.text);
        }
        if (c->in.n < CARRY_HEAD + n) return;
        c->bytes[type & 0xff] += n;
        size_t at = strlen(c->said);
        if (c->last != (char)type) {
            at += (size_t)text_fmt(c->said + at, sizeof(c->said) - at, "%s%c", at > 0 ? "|" : "",
                                   (char)type);
            c->last = (char)type;
        }
        text_fmt(c->said + at, sizeof(c->said) - at, "%.*s", (int)n, c->in.p + CARRY_HEAD);
        strbuf_drop(&c->in, CARRY_HEAD + n);
    }
}

static void client_data(struct net_conn *conn, struct str data, void *arg)
{
    struct client *c = arg;
    (void)conn;
    strbuf_put(&c->in, data);
    assert_false(c->in.full);
    client_frames(c);
}

static void client_close(struct net_conn *conn, const struct err *why, void *arg)
{
    struct client *c = arg;
    (void)conn, (void)why;
    c->conn = NULL;
    c->closed = true;
}

static const struct net_conn_ops client_ops = {.on_data = client_data, .on_close = client_close};

static void client_answer(void *arg, struct net_conn *conn, const struct http_answer *a)
{
    struct client *c = arg;
    c->answered = true;
    c->conn = conn;
    c->status = a != NULL ? a->status : 0;
    if (conn == NULL) {
        text_clip(c->problem, sizeof(c->problem), a->status ? a->body : str_of(a->err->text));
        return;
    }
    net_conn_set_ops(conn, &client_ops, c);
    net_conn_resume(conn);
}

struct call { const char *target, *ticket, *upgrade; struct tls_ctx *tls; };

static void client_start(struct fixture *f, struct client *c, const struct call *call)
{
    struct err err = {0};
    const struct http_header h = {STR(CARRY_TICKET_HEADER), str_of(call->ticket)};
    memset(c, 0, sizeof(*c));
    strbuf_init(&c->in, 1 << 20);
    c->http = http_client_new(f->loop, str_of(f->origin),
                              &(struct http_client_opts){.tls = call->tls, .conns_max = 1}, &err);
    assert_non_null(c->http);
    http_call_upgrade(c->http,
                      &(struct http_request){.method = "GET", .target = str_of(call->target),
                                             .headers = &h, .n_headers = call->ticket ? 1 : 0,
                                             .timeout_ms = 5000},
                      call->upgrade, client_answer, c);
    assert_true(net_loop_run_until(f->loop, &c->answered, 5000));
}

static void client_open(struct fixture *f, struct client *c, enum ticket_action action,
                        const char *query)
{
    char ticket[TICKET_TEXT_MAX], target[128];
    cluster_ticket(&f->cluster, "n1", "127.0.0.1:1", action, net_wall_ms() / 1000, ticket);
    text_fmt(target, sizeof(target), "/carry/v1/%s%s", ticket_action_name(action), query);
    client_start(f, c, &(struct call){target, ticket, CARRY_UPGRADE, f->proxy_tls});
    if (c->status != 101) fail_msg("%d %s", c->status, c->problem);
}

static void client_done(struct client *c)
{
    net_conn_close(c->conn);
    http_client_free(c->http);
    strbuf_done(&c->in);
}

static void client_send(struct client *c, enum carry_type type, const char *payload)
{
    uint8_t head[CARRY_HEAD];
    carry_head_put(head, type, (uint32_t)strlen(payload));
    struct str v[2] = {str_n((const char *)head, sizeof(head)), str_of(payload)};
    net_conn_writev(c->conn, v, payload[0] != '\0' ? 2 : 1);
}

static void wait_said(struct fixture *f, struct client *c, const char *part)
{
    const bool never = false;
    for (int i = 0; i < 1000 && strstr(c->said, part) == NULL; i++) {
        net_loop_run_until(f->loop, &never, 5);
    }
    if (strstr(c->said, part) == NULL) fail_msg("\"%s\" is not in \"%s\"", part, c->said);
}

static void record(struct fixture *f, uint64_t seq, char stream, char flag, const char *text)
{
    char line[256];
    text_fmt(line, sizeof(line), "%012llx %012x %014x %c %c %s\n", (unsigned long long)seq, 1u, 2u,
             stream, flag, text);
    test_append(f->dir, F0, line);
}

/* ---- who may come in ---- */

static void only_proxies_with_a_good_ticket(void **state)
{
    struct fixture f;
    struct client c;
    char good[TICKET_TEXT_MAX], other_node[TICKET_TEXT_MAX], old[TICKET_TEXT_MAX];
    struct tls_ctx *agent_tls = NULL, *nobody = NULL;
    struct err err;
    (void)state;
    fixture_init(&f);
    int64_t now = net_wall_ms() / 1000;
    cluster_ticket(&f.cluster, "n1", "a:1", TICKET_LOGS, now, good);
    cluster_ticket(&f.cluster, "n2", "a:1", TICKET_LOGS, now, other_node);
    cluster_ticket(&f.cluster, "n1", "a:1", TICKET_LOGS, now - 100, old);
    assert_int_equal(identity_client_tls(f.agent_dir, true, &agent_tls, &err), 0);
    nobody = tls_client_new(&(struct tls_client_opts){.ca_pem = str_of(f.cluster.ca.cert),
                                                      .skip_name = true}, &err);
    assert_non_null(nobody);
    const struct { struct call call; int status; } cases[] = {
        {{"/carry/v1/logs", good, CARRY_UPGRADE, f.proxy_tls}, 101},
        {{"/carry/v1/logs", good, CARRY_UPGRADE, agent_tls}, 403},   /* another agent */
        {{"/carry/v1/logs", good, CARRY_UPGRADE, nobody}, 0},        /* no certificate */
        {{"/carry/v1/logs", NULL, CARRY_UPGRADE, f.proxy_tls}, 403},
        {{"/carry/v1/logs", other_node, CARRY_UPGRADE, f.proxy_tls}, 403},
        {{"/carry/v1/logs", old, CARRY_UPGRADE, f.proxy_tls}, 403},
        {{"/carry/v1/logs", "rubbish", CARRY_UPGRADE, f.proxy_tls}, 400},
        {{"/carry/v1/exec", good, CARRY_UPGRADE, f.proxy_tls}, 403}, /* not what it permits */
        {{"/carry/v1/shell", good, CARRY_UPGRADE, f.proxy_tls}, 404},
        {{"/carry/v1/logs", good, "websocket", f.proxy_tls}, 426},
        {{"/carry/v1/logs?member=1", good, CARRY_UPGRADE, f.proxy_tls}, 403},
        {{"/carry/v1/logs?tail=-1", good, CARRY_UPGRADE, f.proxy_tls}, 400},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        client_start(&f, &c, &cases[i].call);
        if (c.status != cases[i].status) fail_msg("case %zu: %d %s", i, c.status, c.problem);
        client_done(&c);
    }
    tls_ctx_free(agent_tls);
    tls_ctx_free(nobody);
    fixture_done(&f);
}

/* ---- ports; what passes through them: tests/e2e/port_forward ---- */

static bool place_nowhere(void *self, struct member_ref ref, struct driver_place *ret)
{
    (void)self, (void)ref, (void)ret;
    return false;
}

static bool place_here(void *self, struct member_ref ref, struct driver_place *ret)
{
    (void)self, (void)ref;
    ret->pid = getpid();
    return proc_start_time(ret->pid, &ret->start, NULL) == 0;
}

static void a_port_that_cannot_be_reached(void **state)
{
    struct fixture f;
    struct client c;
    char good[TICKET_TEXT_MAX];
    (void)state;
    fixture_init(&f);
    cluster_ticket(&f.cluster, "n1", "a:1", TICKET_PORT, net_wall_ms() / 1000, good);
    const struct {
        bool (*place)(void *self, struct member_ref ref, struct driver_place *ret);
        const char *query, *says;
    } cases[] = {
        {place_here, "", "a number from 1 to 65535"},
        {place_here, "?port=0", "a number from 1 to 65535"},
        {place_here, "?port=65536", "a number from 1 to 65535"},
        {NULL, "?port=1", "have no network"},
        {place_nowhere, "?port=1", "does not run here"},
        {geteuid() == 0 ? place_here : NULL, "?port=1",
         geteuid() == 0 ? "nothing listens on port 1 in the session" : "have no network"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char target[64];
        f.ops.place = cases[i].place;
        text_fmt(target, sizeof(target), "/carry/v1/port%s", cases[i].query);
        client_start(&f, &c, &(struct call){target, good, CARRY_UPGRADE, f.proxy_tls});
        if (c.status < 400 || c.status > 501 || strstr(c.problem, cases[i].says) == NULL)
            fail_msg("case %zu: %d %s", i, c.status, c.problem);
        client_done(&c);
    }
    fixture_done(&f);
}

/* ---- logs ---- */

static void follows_from_before_the_start_to_the_end(void **state)
{
    struct fixture f;
    struct client c;
    (void)state;
    fixture_init(&f);
    client_open(&f, &c, TICKET_LOGS, "?follow=1"); /* nobody here has heard of it yet */
    want(&f, WANT_RUN, "sleep:100000");
    test_file(f.dir, F0, "");
    record(&f, 0, 'o', 'F', "one");
    record(&f, 1, 'e', 'F', "two");
    port_changed(f.port); /* the directory is new: the driver says so */
    wait_said(&f, &c, "Oone\n|2two\n");
    record(&f, 2, 'o', 'P', "thr");
    record(&f, 3, 'o', 'F', "ee");
    wait_said(&f, &c, "|Othree\n"); /* by inotify alone */
    want(&f, WANT_STOP, "sleep:100000");
    record(&f, 4, 'o', 'F', "last");
    assert_true(net_loop_run_until(f.loop, &c.closed, 5000));
    assert_non_null(strstr(c.said, "last\n|X{"));
    assert_non_null(strstr(c.said, "\"signal\":15"));
    client_done(&c);
    fixture_done(&f);
}

static void past_logs_and_tails(void **state)
{
    static const struct { const char *query, *want; } cases[] = {
        {"", "Oa\n|2b\n|Oc\n|X{"}, {"?tail=1", "Oc\n|X{"}, {"?tail=0", "X{"},
        {"?follow=1&tail=2", "2b\n|Oc\n|X{"},
    };
    struct fixture f;
    (void)state;
    fixture_init(&f);
    want(&f, WANT_RUN, "exit:7");
    test_file(f.dir, F0, "");
    record(&f, 0, 'o', 'F', "a");
    record(&f, 1, 'e', 'F', "b");
    record(&f, 2, 'o', 'F', "c");
    for (size_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
        struct client c;
        /* The second time it was cleaned already: its end is remembered. */
        if (i == ARRAY_LEN(cases)) want(&f, WANT_STOP, NULL);
        client_open(&f, &c, TICKET_LOGS, cases[i % ARRAY_LEN(cases)].query);
        assert_true(net_loop_run_until(f.loop, &c.closed, 5000));
        const char *end = cases[i % ARRAY_LEN(cases)].want;
        if (strncmp(c.said, end, strlen(end)) != 0) fail_msg("case %zu: %s", i, c.said);
        assert_non_null(strstr(c.said, "\"exit_code\":7"));
        client_done(&c);
    }
    fixture_done(&f);
}

static void without_follow_a_running_one_just_closes(void **state)
{
    struct fixture f;
    struct client c;
    (void)state;
    fixture_init(&f);
    want(&f, WANT_RUN, "sleep:100000");
    test_file(f.dir, F0, "");
    record(&f, 0, 'o', 'F', "so far");
    client_open(&f, &c, TICKET_LOGS, "");
    assert_true(net_loop_run_until(f.loop, &c.closed, 5000));
    assert_string_equal(c.said, "Oso far\n");
    client_done(&c);
    fixture_done(&f);
}

static void losses_are_told(void **state)
{
    struct fixture f;
    struct client c;
    (void)state;
    fixture_init(&f);
    want(&f, WANT_RUN, "exit:0");
    test_file(f.dir, F0, "");
    record(&f, 0, 'o', 'F', "a");
    record(&f, 9, 'o', 'F', "b");
    client_open(&f, &c, TICKET_LOGS, "");
    assert_true(net_loop_run_until(f.loop, &c.closed, 5000));
    assert_non_null(strstr(c.said, "Oa\n|N8 pieces of output were lost before this point|Ob\n|X{"));
    client_done(&c);
    fixture_done(&f);
}

/* A client that takes nothing costs no memory here and gets every byte later. */
static void a_slow_client_holds_nothing_up(void **state)
{
    enum { LINES = 60000 };
    struct fixture f;
    struct client c;
    struct strbuf text;
    bool never = false;
    (void)state;
    fixture_init(&f);
    want(&f, WANT_RUN, "exit:0");
    strbuf_init(&text, 32 << 20);
    size_t bytes = 0;
    for (unsigned i = 0; i < LINES; i++) {
        strbuf_fmt(&text, "%012x %012x %014x o F line %06u and as much again and again and again\n",
                   i, 0u, 0u, i);
        bytes += strlen("line 000000 and as much again and again and again\n");
    }
    test_file(f.dir, F0, text.p);
    strbuf_done(&text);
    client_open(&f, &c, TICKET_LOGS, "?follow=1");
    net_conn_pause(c.conn);
    net_loop_run_until(f.loop, &never, 100);
    assert_true(c.bytes['O'] < bytes);
    net_conn_resume(c.conn);
    assert_true(net_loop_run_until(f.loop, &c.closed, 20000));
    assert_int_equal(c.bytes['O'], bytes);
    assert_true(c.bytes['X'] > 0);
    client_done(&c);
    fixture_done(&f);
}

/* ---- exec and attach ---- */

static void exec_hands_the_connection_over(void **state)
{
    struct fixture f;
    struct client c;
    bool never = false;
    (void)state;
    fixture_init(&f);
    want(&f, WANT_RUN, "sleep:100000");
    client_open(&f, &c, TICKET_EXEC, "");
    client_send(&c, CARRY_COMMAND, "{\"argv\":[\"sh\",\"-c\"],\"tty\":true,\"env\":{\"A\":\"1\"}}");
    for (int i = 0; i < 1000 && f.exec_conn == NULL; i++) net_loop_run_until(f.loop, &never, 5);
    assert_string_equal(f.tape, "/usr/bin/env A=1 sh -c tty");
    assert_non_null(f.exec_conn);
    client_done(&c);
    fixture_done(&f);
}

static void exec_that_cannot_be(void **state)
{
    static const struct { enum carry_type type; const char *payload, *want; } cases[] = {
        {CARRY_COMMAND, "{\"argv\":[\"refuse\"]}", "Enot running"},
        {CARRY_COMMAND, "{\"argv\":[]}", "E"},
        {CARRY_COMMAND, "{\"agrv\":[\"x\"]}", "E"},
        {CARRY_COMMAND, "nonsense", "E"},
        {CARRY_STDIN, "x", "Ethe first frame of an exec names the command"},
        {CARRY_STDOUT, "x", "E"}, /* an agent's frame */
    };
    struct fixture f;
    (void)state;
    fixture_init(&f);
    want(&f, WANT_RUN, "sleep:100000");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct client c;
        client_open(&f, &c, TICKET_EXEC, "");
        client_send(&c, cases[i].type, cases[i].payload);
        assert_true(net_loop_run_until(f.loop, &c.closed, 5000));
        if (strncmp(c.said, cases[i].want, strlen(cases[i].want)) != 0) {
            fail_msg("case %zu: %s", i, c.said);
        }
        assert_null(f.exec_conn);
        client_done(&c);
    }
    fixture_done(&f);
}

static void attach_holds_input_until_it_runs(void **state)
{
    struct fixture f;
    struct client c;
    bool never = false;
    (void)state;
    fixture_init(&f);
    want(&f, WANT_HOLD, "sleep:100000");
    client_open(&f, &c, TICKET_ATTACH, "");
    client_send(&c, CARRY_STDIN, "early");
    net_loop_run_until(f.loop, &never, 30);
    assert_string_equal(f.tape, "");
    want(&f, WANT_RUN, "sleep:100000");
    for (int i = 0; i < 1000 && f.tape[0] == '\0'; i++) net_loop_run_until(f.loop, &never, 5);
    assert_string_equal(f.tape, "Iearly ");
    client_send(&c, CARRY_STDIN_END, "");
    for (int i = 0; i < 1000 && f.tape[7] == '\0'; i++) net_loop_run_until(f.loop, &never, 5);
    assert_string_equal(f.tape, "Iearly Z ");
    test_file(f.dir, F0, "");
    record(&f, 0, 'o', 'F', "out");
    port_changed(f.port);
    wait_said(&f, &c, "Oout\n");
    client_done(&c);
    fixture_done(&f);
}

static void a_job_that_reads_slowly_loses_no_input(void **state)
{
    enum { FRAMES = 6, BYTES = 50000 };
    struct fixture f;
    struct client c;
    (void)state;
    fixture_init(&f);
    f.stubborn = true;
    want(&f, WANT_RUN, "sleep:100000");
    client_open(&f, &c, TICKET_ATTACH, "");
    for (uint32_t i = 0; i < FRAMES; i++) {
        uint8_t head[CARRY_HEAD], bytes[BYTES];
        for (uint32_t k = 0; k < BYTES; k++) bytes[k] = (uint8_t)((i * BYTES + k) % 251);
        carry_head_put(head, CARRY_STDIN, BYTES);
        struct str v[2] = {str_n((const char *)head, sizeof(head)),
                           str_n((const char *)bytes, BYTES)};
        net_conn_writev(c.conn, v, 2);
    }
    client_send(&c, CARRY_STDIN_END, "");
    assert_true(net_loop_run_until(f.loop, &f.ended, 20000));
    assert_int_equal(f.taken, (size_t)FRAMES * BYTES);
    assert_string_equal(c.said, ""); /* nothing to complain about */
    client_done(&c);
    fixture_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_proxies_with_a_good_ticket),
        cmocka_unit_test(a_port_that_cannot_be_reached),
        cmocka_unit_test(follows_from_before_the_start_to_the_end),
        cmocka_unit_test(past_logs_and_tails),
        cmocka_unit_test(without_follow_a_running_one_just_closes),
        cmocka_unit_test(losses_are_told),
        cmocka_unit_test(a_slow_client_holds_nothing_up),
        cmocka_unit_test(exec_hands_the_connection_over),
        cmocka_unit_test(exec_that_cannot_be),
        cmocka_unit_test(a_job_that_reads_slowly_loses_no_input),
        cmocka_unit_test(attach_holds_input_until_it_runs),
    };
    log_setup(LOG_ERROR, LOG_LOGFMT, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
