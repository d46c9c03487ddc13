/* The client against our own server and against raw peers that misbehave. */
#include "net/http_client.h"
#include "net/http_server.h"
#include "test.h"

struct world {
    int fds; /* open before the case */
    struct net_loop *loop;
    struct http_server *server;
    struct http_client *client;
    struct net_listener *listener; /* a peer that answers by script */
    struct net_conn *peers[8];
    int n_peers, n_sent;           /* connections, and script lines used */
    const char *const *script;     /* answer to each request; NULL: close without one */
    struct strbuf asked;
    char origin[80];
    struct http_req *held;
    int requests, left;
    /* answers */
    int done, heads, ends, status;
    struct err err;
    struct strbuf body;
    struct net_conn *conn;
};

static void on_left(struct http_req *r, void *arg)
{
    (void)r;
    ((struct world *)arg)->left++;
    ((struct world *)arg)->held = NULL;
}

static void handler(void *arg, struct http_req *r)
{
    struct world *w = arg;
    w->requests++;
    if (str_eq(r->path, STR("/hold"))) {
        w->held = r;
        http_req_on_close(r, on_left, w);
    } else if (str_eq(r->path, STR("/stream"))) {
        w->held = r;
        http_req_on_close(r, on_left, w);
        http_stream_start(r, 200, "text/plain");
    } else if (str_eq(r->path, STR("/upgrade"))) {
        struct net_conn *c = http_upgrade(r, "rota-carry");
        (void)net_conn_write(c, STR("welcome"));
        net_conn_finish(c);
    } else if (str_eq(r->path, STR("/problem"))) {
        struct err e = {0};
        (void)err_set(&e, ERR_CONFLICT, "it \"is\"\nthere");
        err_field(&e, "name");
        http_reply_err(r, &e);
    } else if (str_eq(r->path, STR("/big"))) {
        char *p = mem_array(200000, 1);
        memset(p, 'b', 200000);
        http_reply(r, 200, NULL, str_n(p, 200000));
        mem_free(p);
    } else {
        http_reply_header(r, "X-Method", r->method_text);
        http_reply(r, 201, "text/plain", r->body.n > 0 ? r->body : r->target);
    }
}

/* ---- the scripted peer ---- */

static void peer_on_data(struct net_conn *c, struct str data, void *arg)
{
    struct world *w = arg;
    strbuf_put(&w->asked, data);
    if (!has(&w->asked, "\r\n\r\n")) return;
    strbuf_reset(&w->asked);
    const char *answer = w->script[w->n_sent++];
    if (answer != NULL) (void)net_conn_write(c, str_of(answer));
    bool closes = answer == NULL || strstr(answer, "close") != NULL;
    if (!closes) return;
    for (int i = 0; i < w->n_peers; i++)
        if (w->peers[i] == c) w->peers[i] = NULL;
    net_conn_finish(c);
}

static void peer_on_close(struct net_conn *c, const struct err *why, void *arg)
{
    struct world *w = arg;
    (void)why;
    for (int i = 0; i < w->n_peers; i++)
        if (w->peers[i] == c) w->peers[i] = NULL;
}

static void peer_accept(void *arg, int fd)
{
    static const struct net_conn_ops ops = {.on_data = peer_on_data, .on_close = peer_on_close};
    struct world *w = arg;
    assert_true(w->n_peers < 8);
    w->peers[w->n_peers++] = net_conn_adopt_fd(w->loop, fd, true, NULL, &ops, w);
}

/* ---- fixture ---- */

static int setup(void **state)
{
    struct world *w = mem_alloc(sizeof(*w));
    w->fds = test_fds();
    w->loop = net_loop_new();
    strbuf_init(&w->body, 1 << 24);
    strbuf_init(&w->asked, 1 << 20);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    http_client_free(w->client);
    http_server_free(w->server);
    net_listener_close(w->listener);
    for (int i = 0; i < w->n_peers; i++) net_conn_close(w->peers[i]);
    strbuf_done(&w->body);
    strbuf_done(&w->asked);
    net_loop_free(w->loop);
    assert_int_equal(test_fds(), w->fds);
    mem_free(w);
    return 0;
}

static struct world *start(void **state, struct http_client_opts opts)
{
    struct world *w = *state;
    struct err err = {0};
    w->server = http_server_listen(w->loop, STR("127.0.0.1:0"), NULL, handler, w, &err);
    assert_non_null(w->server);
    text_fmt(w->origin, sizeof(w->origin), "http://127.0.0.1:%u",
             (unsigned)http_server_port(w->server));
    w->client = http_client_new(w->loop, str_of(w->origin), &opts, &err);
    if (w->client == NULL) fail_msg("%s", err.text);
    return w;
}

static struct world *start_script(void **state, const char *const *script)
{
    struct world *w = *state;
    struct err err = {0};
    w->script = script;
    w->listener = net_listen(w->loop, STR("127.0.0.1:0"), NULL, peer_accept, w, &err);
    assert_non_null(w->listener);
    text_fmt(w->origin, sizeof(w->origin), "http://127.0.0.1:%u",
             (unsigned)net_listener_port(w->listener));
    struct http_client_opts opts = {.conns_max = 1};
    w->client = http_client_new(w->loop, str_of(w->origin), &opts, &err);
    assert_non_null(w->client);
    return w;
}

static void on_done(void *arg, const struct http_answer *a)
{
    struct world *w = arg;
    w->done++;
    w->status = a->status;
    w->err = (struct err){0};
    if (a->err != NULL) w->err = *a->err;
    strbuf_reset(&w->body);
    strbuf_put(&w->body, a->body);
    if (a->status == 201) assert_true(http_answer_header(a, "x-method").n > 0);
}

static struct http_call *get(struct world *w, const char *target)
{
    const struct http_request rq = {.method = "GET", .target = str_of(target)};
    return http_call(w->client, &rq, on_done, w);
}

/* ---- cases ---- */

static void calls(void **state)
{
    struct world *w = start(state, (struct http_client_opts){0});
    (void)get(w, "/a?b=c");
    assert_int_equal(w->done, 0);
    WAIT(w->loop, w->done == 1);
    assert_int_equal(w->status, 201);
    assert_string_equal(w->body.p, "/a?b=c");
    const struct http_header extra = {STR("X-A"), STR("b c")};
    const struct http_request post = {.method = "POST", .target = STR("/p"), .body = STR("hello"),
                                      .content_type = "text/plain", .headers = &extra,
                                      .n_headers = 1};
    (void)http_call(w->client, &post, on_done, w);
    WAIT(w->loop, w->done == 2);
    assert_string_equal(w->body.p, "hello");
    const struct http_request head = {.method = "HEAD", .target = STR("/h")};
    (void)http_call(w->client, &head, on_done, w);
    WAIT(w->loop, w->done == 3);
    assert_int_equal(w->body.n, 0);
    (void)get(w, "/big");
    WAIT(w->loop, w->done == 4);
    assert_int_equal(w->body.n, 200000);
    assert_int_equal(http_server_conns(w->server), 1); /* one connection served all four */
}

static void many_wait_in_order(void **state)
{
    struct world *w = start(state, (struct http_client_opts){.conns_max = 2});
    for (int i = 0; i < 50; i++) (void)get(w, "/x");
    WAIT(w->loop, w->done == 50);
    assert_int_equal(w->requests, 50);
    assert_int_equal(http_server_conns(w->server), 2);
}

static void too_many_wait(void **state)
{
    struct world *w = start(state, (struct http_client_opts){.conns_max = 1, .waiting_max = 2});
    for (int i = 0; i < 4; i++) (void)get(w, "/hold"); /* one goes, two wait, one is refused */
    WAIT(w->loop, w->done == 1);
    assert_int_equal(w->err.code, ERR_UNAVAILABLE);
}

static void bad_requests(void **state)
{
    struct world *w = start(state, (struct http_client_opts){0});
    static const struct http_header evil = {{"X", 1}, {"a\r\nY: b", 7}};
    const struct http_request rows[] = {
        {.method = "GET", .target = STR("/a b")},
        {.method = "GET", .target = STR("")},
        {.method = "GET", .target = STR("/a\r\nX: y")},
        {.method = "G T", .target = STR("/")},
        {.method = "GET", .target = STR("/"), .headers = &evil, .n_headers = 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        (void)http_call(w->client, &rows[i], on_done, w);
        WAIT(w->loop, w->done == (int)i + 1);
        assert_int_equal(w->err.code, ERR_INVALID);
    }
    assert_int_equal(w->requests, 0);
}

static void timeouts(void **state)
{
    struct world *w = start(state, (struct http_client_opts){0});
    const struct http_request rq = {.method = "GET", .target = STR("/hold"), .timeout_ms = 150};
    (void)http_call(w->client, &rq, on_done, w);
    WAIT(w->loop, w->done == 1);
    assert_int_equal(w->err.code, ERR_TIMEOUT);
    WAIT(w->loop, w->left == 1); /* and the server is told */
}

static void cancels(void **state)
{
    struct world *w = start(state, (struct http_client_opts){.conns_max = 1});
    struct http_call *first = get(w, "/hold");
    struct http_call *second = get(w, "/never");
    WAIT(w->loop, w->held != NULL);
    http_call_cancel(second);
    (void)get(w, "/third");
    http_call_cancel(first);
    WAIT(w->loop, w->left == 1 && w->done == 1);
    assert_string_equal(w->body.p, "/third");
    assert_int_equal(w->requests, 2);
}

static void refused(void **state)
{
    struct world *w = start(state, (struct http_client_opts){0});
    http_server_free(STEAL(w->server));
    (void)get(w, "/x");
    WAIT(w->loop, w->done == 1);
    assert_int_equal(w->err.code, ERR_UNAVAILABLE);
}

static void too_large(void **state)
{
    struct world *w = start(state, (struct http_client_opts){.body_max = 100000});
    (void)get(w, "/big");
    WAIT(w->loop, w->done == 1);
    assert_int_equal(w->err.code, ERR_LIMIT);
    (void)get(w, "/small");
    WAIT(w->loop, w->done == 2);
    assert_int_equal(w->status, 201);
}

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

/* The peer closes a kept connection just as the next request goes out. */
static void stale_connection(void **state)
{
    static const char *const script[] = {OK, NULL, OK};
    struct world *w = start_script(state, script);
    (void)get(w, "/1");
    WAIT(w->loop, w->done == 1);
    (void)get(w, "/2"); /* answered by a close: sent again on a fresh one */
    WAIT(w->loop, w->done == 2);
    assert_int_equal(w->status, 200);
    assert_int_equal(w->n_peers, 2);
    assert_int_equal(w->n_sent, 3);
}

static void stale_post_is_not_repeated(void **state)
{
    static const char *const script[] = {OK, NULL, OK};
    struct world *w = start_script(state, script);
    (void)get(w, "/1");
    WAIT(w->loop, w->done == 1);
    const struct http_request rq = {.method = "POST", .target = STR("/2")};
    (void)http_call(w->client, &rq, on_done, w);
    WAIT(w->loop, w->done == 2);
    assert_int_equal(w->err.code, ERR_UNKNOWN);
    assert_int_equal(w->n_sent, 2);
}

static void fresh_is_not_repeated(void **state)
{
    static const char *const script[] = {NULL, OK};
    struct world *w = start_script(state, script);
    (void)get(w, "/1");
    WAIT(w->loop, w->done == 1);
    assert_int_equal(w->err.code, ERR_UNKNOWN);
    assert_int_equal(w->n_sent, 1);
}

static void answers_of_all_kinds(void **state)
{
    static const char *const script[] = {
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" OK),
        "HTTP/1.1 200 OK\r\nX: close\r\n\r\nuntil the end",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nclose",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nclose\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
        "nonsense\r\n\r\n",
        OK,
    };
    static const struct { int status; const char *body; int code; } want[] = {
        {200, "abc", 0}, {200, "ok", 0}, {200, "until the end", 0}, {204, "", 0},
        {0, "", ERR_UNKNOWN}, {0, "", ERR_UNKNOWN}, {0, "", ERR_INVALID}, {0, "", ERR_INVALID},
        {0, "", ERR_INVALID}, {0, "", ERR_INVALID}, {200, "ok", 0},
    };
    struct world *w = start_script(state, script);
    for (int i = 0; i < (int)ARRAY_LEN(want); i++) {
        (void)get(w, "/x");
        WAIT(w->loop, w->done == i + 1);
        if (w->status != want[i].status || w->err.code != want[i].code ||
            strcmp(w->body.p, want[i].body) != 0)
            fail_msg("%d: status %d, code %d (%s), '%s'", i, w->status, w->err.code, w->err.text,
                     w->body.p);
    }
}

/* Bytes nobody asked for end a kept connection instead of answering the next. */
static void answer_to_nothing(void **state)
{
    static const char *const script[] = {OK "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", OK};
    struct world *w = start_script(state, script);
    (void)get(w, "/1");
    WAIT(w->loop, w->done == 1);
    (void)get(w, "/2");
    WAIT(w->loop, w->done == 2);
    assert_string_equal(w->body.p, "ok");
    assert_int_equal(w->n_peers, 2);
}

static void on_head(void *arg, const struct http_head *h)
{
    struct world *w = arg;
    w->heads++;
    w->status = h->status;
}

static void on_data(void *arg, struct str data)
{
    strbuf_put(&((struct world *)arg)->body, data);
}

static void on_end(void *arg, const struct err *err)
{
    struct world *w = arg;
    w->ends++;
    w->err = (struct err){0};
    if (err != NULL) w->err = *err;
}

static const struct http_stream_ops stream_ops = {on_head, on_data, on_end};

static void streams(void **state)
{
    struct world *w = start(state, (struct http_client_opts){0});
    const struct http_request rq = {.method = "GET", .target = STR("/stream"), .timeout_ms = 1000};
    (void)http_call_stream(w->client, &rq, &stream_ops, w);
    WAIT(w->loop, w->heads == 1);
    (void)http_stream_write(w->held, STR("one"));
    WAIT(w->loop, has(&w->body, "one"));
    (void)http_stream_write(w->held, STR("two"));
    WAIT(w->loop, has(&w->body, "onetwo"));
    http_stream_end(w->held);
    WAIT(w->loop, w->ends == 1);
    assert_int_equal(w->err.code, 0);
    struct http_call *k = http_call_stream(w->client, &rq, &stream_ops, w);
    WAIT(w->loop, w->heads == 2);
    http_call_cancel(k);
    WAIT(w->loop, w->left == 1);
    assert_int_equal(w->ends, 1);
    (void)http_call_stream(w->client, &rq, &stream_ops, w);
    WAIT(w->loop, w->heads == 3);
    http_stream_abort(w->held);
    WAIT(w->loop, w->ends == 2);
    assert_int_equal(w->err.code, ERR_UNKNOWN); /* a cut is not an end */
}

/* Back-pressure reaches the server: a paused call costs a bounded amount. */
static void paused_stream(void **state)
{
    struct world *w = start(state, (struct http_client_opts){0});
    const struct http_request rq = {.method = "GET", .target = STR("/stream")};
    struct http_call *k = http_call_stream(w->client, &rq, &stream_ops, w);
    WAIT(w->loop, w->heads == 1);
    http_call_pause(k);
    char block[64 * 1024] = {0};
    size_t sent = 0;
    do {
        sent += sizeof(block);
        (void)http_stream_write(w->held, str_n(block, sizeof(block)));
        test_turns(w->loop, 2);
    } while (http_stream_queued(w->held) == 0);
    assert_int_equal(w->body.n, 0);
    http_call_resume(k);
    http_stream_end(w->held);
    WAIT(w->loop, w->ends == 1);
    assert_int_equal(w->err.code, 0);
    assert_int_equal(w->body.n, sent);
}

/* The server ends a kept connection: the client notices before it needs it. */
static void kept_connection_ends(void **state)
{
    struct world *w = start(state, (struct http_client_opts){0});
    struct err err = {0};
    const struct http_server_opts opts = {.keepalive_ms = 10};
    http_server_free(w->server);
    w->server = http_server_listen(w->loop, STR("127.0.0.1:0"), &opts, handler, w, &err);
    assert_non_null(w->server);
    http_client_free(w->client);
    text_fmt(w->origin, sizeof(w->origin), "http://127.0.0.1:%u",
             (unsigned)http_server_port(w->server));
    w->client = http_client_new(w->loop, str_of(w->origin), NULL, &err);
    (void)get(w, "/1");
    WAIT(w->loop, w->done == 1 && http_server_conns(w->server) == 0);
    test_turns(w->loop, 10); /* the end reaches us */
    const struct http_request rq = {.method = "POST", .target = STR("/2")};
    (void)http_call(w->client, &rq, on_done, w);
    WAIT(w->loop, w->done == 2);
    assert_int_equal(w->status, 201);
}

static void silent_stream(void **state)
{
    struct world *w = start(state, (struct http_client_opts){0});
    const struct http_request rq = {.method = "GET", .target = STR("/stream"), .idle_ms = 20};
    (void)http_call_stream(w->client, &rq, &stream_ops, w);
    WAIT(w->loop, w->ends == 1);
    assert_int_equal(w->heads, 1);
    assert_int_equal(w->err.code, ERR_TIMEOUT);
}

static void on_upgrade(void *arg, struct net_conn *c, const struct http_answer *a)
{
    struct world *w = arg;
    w->done++;
    w->conn = c;
    w->status = a->status;
}

static void upgrades(void **state)
{
    struct world *w = start(state, (struct http_client_opts){0});
    struct http_request rq = {.method = "GET", .target = STR("/upgrade")};
    (void)http_call_upgrade(w->client, &rq, "rota-carry", on_upgrade, w);
    WAIT(w->loop, w->done == 1);
    assert_int_equal(w->status, 101);
    struct raw r;
    raw_init(&r);
    r.conn = w->conn;
    net_conn_set_ops(r.conn, &raw_ops, &r);
    net_conn_resume(r.conn);
    WAIT(w->loop, r.eof);
    assert_string_equal(r.got.p, "welcome");
    raw_done(&r);
    rq.target = STR("/no");
    (void)http_call_upgrade(w->client, &rq, "rota-carry", on_upgrade, w);
    WAIT(w->loop, w->done == 2);
    assert_null(w->conn);
    assert_int_equal(w->status, 201);
}

static void on_problem(void *arg, const struct http_answer *a)
{
    struct world *w = arg;
    w->done++;
    assert_int_equal(http_answer_err(a, &w->err), ERR_CONFLICT);
}

static void problems(void **state)
{
    struct world *w = start(state, (struct http_client_opts){0});
    const struct http_request rq = {.method = "GET", .target = STR("/problem")};
    (void)http_call(w->client, &rq, on_problem, w);
    WAIT(w->loop, w->done == 1);
    assert_string_equal(w->err.text, "it \"is\" there");
    assert_string_equal(w->err.field, "name");
}

static void on_done_frees(void *arg, const struct http_answer *a)
{
    struct world *w = arg;
    (void)a;
    w->done++;
    http_client_free(STEAL(w->client));
}

static void freed_in_callback(void **state)
{
    struct world *w = start(state, (struct http_client_opts){.conns_max = 1});
    const struct http_request rq = {.method = "GET", .target = STR("/1")};
    (void)http_call(w->client, &rq, on_done_frees, w);
    (void)get(w, "/2");
    WAIT(w->loop, w->done == 1);
    test_turns(w->loop, 20);
    assert_int_equal(w->done, 1);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(calls), CASE(many_wait_in_order), CASE(too_many_wait), CASE(bad_requests),
        CASE(timeouts), CASE(cancels), CASE(refused), CASE(too_large), CASE(stale_connection),
        CASE(stale_post_is_not_repeated), CASE(fresh_is_not_repeated),
        CASE(answers_of_all_kinds), CASE(answer_to_nothing), CASE(streams), CASE(paused_stream),
        CASE(kept_connection_ends), CASE(silent_stream), CASE(upgrades), CASE(problems),
        CASE(freed_in_callback),
    };
    return RUN(tests);
}
