/* Answers that last: streams and their bounds, events, upgrades, and how a server
 * with such clients stops. */
#include "server.h"

static void streams(void **state)
{
    struct world *w = start(state, (struct http_server_opts){0});
    raw_send(&w->raw, ONE("/stream"));
    WAIT(w->loop, w->held != NULL && has(&w->raw.got, "\r\n\r\n"));
    assert_true(has(&w->raw.got, "Transfer-Encoding: chunked\r\n"));
    assert_true(http_stream_write(w->held, STR("hello")));
    WAIT(w->loop, has(&w->raw.got, "5\r\nhello\r\n"));
    http_stream_end(w->held);
    WAIT(w->loop, has(&w->raw.got, "0\r\n\r\n"));
    raw_send(&w->raw, ONE("/next"));
    WAIT(w->loop, has(&w->raw.got, "/next"));
    raw_send(&w->raw, "GET /stream HTTP/1.0\r\n\r\n"); /* no chunks for 1.0: ends by close */
    WAIT(w->loop, w->requests == 3);
    (void)http_stream_write(w->held, STR("plain"));
    http_stream_end(w->held);
    WAIT(w->loop, w->raw.eof);
    assert_true(str_ends(strbuf_str(&w->raw.got), STR("Connection: close\r\n\r\nplain")));
}

static void aborted_stream(void **state)
{
    struct world *w = start(state, (struct http_server_opts){0});
    raw_send(&w->raw, ONE("/stream"));
    WAIT(w->loop, w->held != NULL);
    (void)http_stream_write(w->held, STR("half"));
    WAIT(w->loop, has(&w->raw.got, "half"));
    http_stream_abort(w->held);
    WAIT(w->loop, w->raw.closed);
    assert_int_not_equal(w->raw.why.code, 0);
    assert_false(has(&w->raw.got, "0\r\n\r\n"));
}

/* A reader that stands still is cut off at the bound, not fed for ever. */
static void stalled_stream(void **state)
{
    struct world *w = start(state, (struct http_server_opts){.stream_max = 256 * 1024});
    raw_send(&w->raw, ONE("/stream"));
    WAIT(w->loop, w->held != NULL);
    net_conn_pause(w->raw.conn);
    char *block = mem_array(16 * 1024, 1);
    size_t most = 0;
    bool was_full = false;
    for (int i = 0; i < 10000 && w->closed == 0; i++) {
        if (!http_stream_write(w->held, str_n(block, 16 * 1024))) was_full = true;
        if (w->held != NULL && http_stream_queued(w->held) > most)
            most = http_stream_queued(w->held);
        test_turns(w->loop, 1);
    }
    mem_free(block);
    assert_int_equal(w->closed, 1);
    assert_true(was_full);
    assert_true(most <= 256 * 1024);
}

static void stream_drains(void **state)
{
    struct world *w = start(state, (struct http_server_opts){.stream_max = 256 * 1024});
    raw_send(&w->raw, ONE("/stream"));
    WAIT(w->loop, w->held != NULL);
    net_conn_pause(w->raw.conn);
    char *block = mem_array(16 * 1024, 1);
    while (http_stream_write(w->held, str_n(block, 16 * 1024))) test_turns(w->loop, 1);
    mem_free(block);
    assert_int_equal(w->drained, 0);
    net_conn_resume(w->raw.conn);
    WAIT(w->loop, w->drained == 1);
    http_stream_end(w->held);
    WAIT(w->loop, has(&w->raw.got, "\r\n0\r\n\r\n"));
}

/* A client that takes nothing for write_idle is cut though little is queued. */
static void stalled_answer(void **state)
{
    struct world *w = start(state, (struct http_server_opts){
                                       .stream_max = 64 * 1024 * 1024, .write_idle_ms = 30});
    raw_send(&w->raw, ONE("/stream"));
    WAIT(w->loop, w->held != NULL);
    net_conn_pause(w->raw.conn);
    char *block = mem_array(16 * 1024 * 1024, 1);
    (void)http_stream_write(w->held, str_n(block, 16 * 1024 * 1024));
    mem_free(block);
    WAIT(w->loop, w->closed == 1);
}

static void events(void **state)
{
    struct world *w = start(state, (struct http_server_opts){.write_idle_ms = 10});
    raw_send(&w->raw, ONE("/events"));
    WAIT(w->loop, w->held != NULL && has(&w->raw.got, "\r\n\r\n"));
    assert_true(has(&w->raw.got, "Content-Type: text/event-stream\r\n"));
    (void)http_sse_event(w->held, STR("7"), STR("change"), STR("a\nb"));
    (void)http_sse_comment(w->held, STR("still here"));
    WAIT(w->loop, has(&w->raw.got, "id: 7\nevent: change\ndata: a\ndata: b\n\n"));
    WAIT(w->loop, has(&w->raw.got, ": still here\n\n"));
    int64_t until = net_now_ms() + 40; /* silence is no fault of a stream */
    WAIT(w->loop, net_now_ms() > until);
    assert_int_equal(w->closed, 0);
    (void)http_sse_event(w->held, STR(""), STR(""), STR("x"));
    WAIT(w->loop, has(&w->raw.got, "\ndata: x\n\n"));
}

static void upgrades(void **state)
{
    struct world *w = start(state, (struct http_server_opts){.keepalive_ms = 10});
    raw_send(&w->raw, "GET /upgrade HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n"
                      "Upgrade: rota-carry\r\n\r\nearly");
    WAIT(w->loop, w->upgraded != NULL);
    WAIT(w->loop, has(&w->raw.got, "HTTP/1.1 101 Switching Protocols\r\n"));
    assert_int_equal(http_server_conns(w->server), 0);
    struct raw other;
    raw_init(&other);
    other.conn = w->upgraded;
    net_conn_set_ops(other.conn, &raw_ops, &other);
    test_turns(w->loop, 5);
    assert_int_equal(other.got.n, 0); /* paused until its owner is ready */
    net_conn_resume(other.conn);
    WAIT(w->loop, has(&other.got, "early"));
    raw_send(&w->raw, " later");
    WAIT(w->loop, has(&other.got, "early later"));
    raw_send(&other, "back");
    WAIT(w->loop, has(&w->raw.got, "\r\n\r\nback"));
    int64_t until = net_now_ms() + 30;
    WAIT(w->loop, net_now_ms() > until);
    assert_false(other.closed);
    raw_done(&other);
    w->upgraded = NULL;
}

static void on_stopped(void *arg, uint32_t cut)
{
    struct world *w = arg;
    w->stopped++;
    w->cut = cut;
}

static void stops(void **state)
{
    struct world *w = start(state, (struct http_server_opts){0});
    struct raw idle;
    raw_dial(w->loop, &idle, str_of(w->addr), NULL);
    raw_send(&idle, ONE("/"));
    raw_send(&w->raw, ONE("/hold"));
    WAIT(w->loop, w->held != NULL && has(&idle.got, "200"));
    http_server_stop(w->server, 5000, on_stopped, w);
    WAIT(w->loop, idle.eof);
    assert_int_equal(w->stopped, 0);
    http_reply(w->held, 200, NULL, STR("done"));
    WAIT(w->loop, w->stopped == 1);
    assert_int_equal(w->cut, 0);
    WAIT(w->loop, w->raw.eof);
    assert_true(has(&w->raw.got, "Connection: close\r\n"));
    raw_done(&idle);
}

static void stops_in_the_end(void **state)
{
    struct world *w = start(state, (struct http_server_opts){0});
    raw_send(&w->raw, ONE("/hold"));
    WAIT(w->loop, w->held != NULL);
    http_server_stop(w->server, 10, on_stopped, w);
    WAIT(w->loop, w->stopped == 1);
    assert_int_equal(w->cut, 1);
    assert_int_equal(w->closed, 1);
}

static void freed_in_handler(void **state)
{
    struct world *w = start(state, (struct http_server_opts){0});
    struct raw other;
    raw_dial(w->loop, &other, str_of(w->addr), NULL);
    raw_send(&other, ONE("/hold"));
    WAIT(w->loop, w->held != NULL);
    raw_send(&w->raw, ONE("/free"));
    WAIT(w->loop, w->server == NULL);
    WAIT(w->loop, w->raw.eof || w->raw.closed);
    assert_int_equal(w->closed, 1);
    raw_done(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(streams), CASE(aborted_stream), CASE(stalled_stream), CASE(stream_drains),
        CASE(stalled_answer), CASE(events), CASE(upgrades), CASE(stops), CASE(stops_in_the_end),
        CASE(freed_in_handler),
    };
    return RUN(tests);
}
