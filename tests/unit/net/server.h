/* The server under test, its handler and one raw client: shared by the tests of
 * requests and of streams. */
#ifndef TEST_NET_SERVER_H
#define TEST_NET_SERVER_H
#include "net/http_server.h"
#include "test.h"

enum { LARGE_BYTES = 100000 };

struct world {
    int fds; /* open before the case */
    struct net_loop *loop;
    struct http_server *server;
    struct http_server_opts opts;
    struct raw raw;
    char addr[64], path[64];
    /* what the handler saw and keeps */
    int requests, closed, drained, stopped;
    uint32_t cut;
    struct http_req *held;
    struct strbuf body;
    struct net_conn *upgraded;
};

static inline void on_close(struct http_req *r, void *arg)
{
    struct world *w = arg;
    assert_ptr_equal(r, w->held);
    w->held = NULL;
    w->closed++;
}

static inline void on_drain(struct http_req *r, void *arg)
{
    (void)r;
    ((struct world *)arg)->drained++;
}

static inline void handler(void *arg, struct http_req *r)
{
    struct world *w = arg;
    struct str v;
    w->requests++;
    strbuf_reset(&w->body);
    strbuf_put(&w->body, r->body);
    if (str_eq(r->path, STR("/hold"))) {
        w->held = r;
        http_req_on_close(r, on_close, w);
    } else if (str_eq(r->path, STR("/hold-plain"))) {
        w->held = r;
    } else if (str_eq(r->path, STR("/stream"))) {
        w->held = r;
        http_req_on_close(r, on_close, w);
        http_stream_on_drain(r, on_drain, w);
        http_stream_start(r, 200, "text/plain");
    } else if (str_eq(r->path, STR("/events"))) {
        w->held = r;
        http_req_on_close(r, on_close, w);
        http_sse_start(r);
    } else if (str_eq(r->path, STR("/upgrade"))) {
        assert_true(http_wants_upgrade(r, "rota-carry"));
        w->upgraded = http_upgrade(r, "rota-carry");
    } else if (str_eq(r->path, STR("/query"))) {
        http_reply(r, 200, "text/plain", http_query(r, "q", &v) ? v : STR("none"));
    } else if (str_eq(r->path, STR("/header"))) {
        http_reply_header(r, "X-Copy", http_header(r, "x-in"));
        http_reply_header(r, "X-Bad", STR("a\r\nSet-Cookie: b"));
        http_reply(r, 204, NULL, STR(""));
    } else if (str_eq(r->path, STR("/problem"))) {
        struct err e = {0};
        (void)err_set(&e, ERR_CONFLICT, "it \"is\" there");
        err_field(&e, "name");
        http_reply_err(r, &e);
    } else if (str_eq(r->path, STR("/large"))) {
        char *p = mem_array(LARGE_BYTES, 1);
        http_reply(r, 200, NULL, str_n(p, LARGE_BYTES));
        mem_free(p);
    } else if (str_eq(r->path, STR("/free"))) {
        http_server_free(STEAL(w->server));
        http_reply(r, 200, NULL, STR(""));
    } else {
        http_reply(r, 200, "text/plain", r->body.n > 0 ? r->body : r->path);
    }
}

static inline void listen_with(struct world *w, struct http_server_opts opts)
{
    struct err err = {0};
    w->server = http_server_listen(w->loop, STR("127.0.0.1:0"), &opts, handler, w, &err);
    if (w->server == NULL) fail_msg("%s", err.text);
    assert_true(TEXT_SET(w->addr, http_server_addr(w->server)));
}

static inline int setup(void **state)
{
    struct world *w = mem_alloc(sizeof(*w));
    w->fds = test_fds();
    w->loop = net_loop_new();
    strbuf_init(&w->body, 1 << 26);
    raw_init(&w->raw);
    *state = w;
    return 0;
}

static inline int teardown(void **state)
{
    struct world *w = *state;
    raw_done(&w->raw);
    http_server_free(w->server);
    net_conn_close(w->upgraded);
    strbuf_done(&w->body);
    net_loop_free(w->loop);
    assert_int_equal(test_fds(), w->fds);
    mem_free(w);
    return 0;
}

static inline struct world *start(void **state, struct http_server_opts opts)
{
    struct world *w = *state;
    listen_with(w, opts);
    strbuf_done(&w->raw.got);
    raw_dial(w->loop, &w->raw, str_of(w->addr), NULL);
    return w;
}

#define ONE(target) "GET " target " HTTP/1.1\r\nHost: a\r\n\r\n"

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
