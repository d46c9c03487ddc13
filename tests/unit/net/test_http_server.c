/* The server seen from a raw client: what it answers, what it refuses, and that
 * no client can hold it up. */
#include "server.h"

static void answers(void **state)
{
    struct world *w = start(state, (struct http_server_opts){0});
    raw_send(&w->raw, ONE("/a%20b?x"));
    WAIT(w->loop, has(&w->raw.got, "\r\n\r\n/a b"));
    assert_true(has(&w->raw.got, "HTTP/1.1 200 OK\r\nDate: "));
    assert_true(has(&w->raw.got, "\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n"));
    raw_send(&w->raw, ONE("/query?p=1&q=a%26b+c"));
    WAIT(w->loop, has(&w->raw.got, "\r\n\r\na&b c"));
    raw_send(&w->raw, "GET /header HTTP/1.1\r\nHost: a\r\nX-In: in\r\n\r\n");
    WAIT(w->loop, has(&w->raw.got, "204 No Content"));
    assert_true(has(&w->raw.got, "X-Copy: in\r\n"));
    assert_true(has(&w->raw.got, "X-Bad: a  Set-Cookie: b\r\n"));
    assert_int_equal(text_count(&w->raw.got, "Content-Length"), 2);
    raw_send(&w->raw, ONE("/problem"));
    WAIT(w->loop, has(&w->raw.got, "}\n"));
    assert_true(has(&w->raw.got, "HTTP/1.1 409 Conflict\r\n"));
    assert_true(has(&w->raw.got, "application/problem+json"));
    assert_true(has(&w->raw.got, "\"status\":409,\"code\":\"conflict\","
                                 "\"detail\":\"it \\\"is\\\" there\",\"field\":\"name\"}"));
    raw_send(&w->raw, "HEAD /abcd HTTP/1.1\r\nHost: a\r\n\r\n" ONE("/last"));
    WAIT(w->loop, has(&w->raw.got, "/last"));
    assert_false(has(&w->raw.got, "/abcd"));
    assert_int_equal(text_count(&w->raw.got, "Content-Length: 5\r\n"), 3);
    assert_int_equal(w->requests, 6);
    assert_false(w->raw.closed);
}

/* Cut anywhere, the same two requests give the same two answers. */
static void pieces(void **state)
{
    struct world *w = start(state, (struct http_server_opts){0});
    static const char text[] = "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody"
                               "POST /y HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                               "2\r\nab\r\n1;z\r\nc\r\n0\r\nT: u\r\n\r\n\r\n";
    for (size_t cut = 1; cut < sizeof(text) - 1; cut += 3) {
        int want = w->requests + 2;
        strbuf_reset(&w->raw.got);
        (void)net_conn_write(w->raw.conn, str_n(text, cut));
        test_turns(w->loop, 3);
        (void)net_conn_write(w->raw.conn, str_n(text + cut, sizeof(text) - 1 - cut));
        WAIT(w->loop, w->requests == want && has(&w->raw.got, "\r\n\r\nabc"));
        assert_true(has(&w->raw.got, "\r\n\r\nbody"));
        assert_int_equal(text_count(&w->raw.got, "200 OK"), 2);
    }
}

/* A body that comes long after its head moves the buffer that the head lies in. */
static void head_outlives_its_buffer(void **state)
{
    struct world *w = start(state, (struct http_server_opts){0});
    char body[50 * 1000 + 1];
    memset(body, 'b', sizeof(body) - 1);
    body[sizeof(body) - 1] = '\0';
    for (int i = 0; i < 4; i++) {
        strbuf_reset(&w->raw.got);
        raw_send(&w->raw, "POST /query?q=still+here HTTP/1.1\r\nHost: a\r\n"
                          "Content-Length: 100000\r\n\r\n");
        test_turns(w->loop, 3);
        raw_send(&w->raw, body);
        test_turns(w->loop, 3);
        raw_send(&w->raw, body);
        WAIT(w->loop, w->requests == i + 1 && has(&w->raw.got, "\r\n\r\nstill here"));
        raw_done(&w->raw);
        raw_dial(w->loop, &w->raw, http_server_addr(w->server), NULL);
    }
}

static void byte_by_byte(void **state)
{
    struct world *w = start(state, (struct http_server_opts){0});
    static const char text[] = "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                               "2\r\nab\r\n0\r\n\r\n";
    for (size_t i = 0; i < sizeof(text) - 1; i++) {
        (void)net_conn_write(w->raw.conn, str_n(text + i, 1));
        test_turns(w->loop, 2);
    }
    WAIT(w->loop, has(&w->raw.got, "\r\n\r\nab"));
}

static void pipelined(void **state)
{
    struct world *w = start(state, (struct http_server_opts){0});
    struct strbuf b;
    strbuf_init(&b, 1 << 20);
    for (int i = 0; i < 500; i++)
        strbuf_fmt(&b, "GET /%03d HTTP/1.1\r\nHost: a\r\n\r\n", i);
    (void)net_conn_write(w->raw.conn, strbuf_str(&b));
    WAIT(w->loop, has(&w->raw.got, "/499"));
    assert_int_equal(w->requests, 500);
    assert_int_equal(text_count(&w->raw.got, "200 OK"), 500);
    strbuf_done(&b);
}

/* One at a time: the second waits until the first, held, is answered. */
static void pipelined_behind_held(void **state)
{
    struct world *w = start(state, (struct http_server_opts){0});
    raw_send(&w->raw, ONE("/hold") ONE("/second"));
    WAIT(w->loop, w->held != NULL);
    raw_send(&w->raw, ONE("/third"));
    test_turns(w->loop, 10);
    assert_int_equal(w->requests, 1);
    http_reply(w->held, 200, NULL, STR("first"));
    assert_int_equal(w->requests, 1); /* never from inside our own call */
    WAIT(w->loop, w->requests == 3 && has(&w->raw.got, "/third"));
    char *first = strstr(w->raw.got.p, "first"), *second = strstr(w->raw.got.p, "/second");
    assert_true(first != NULL && second != NULL && first < second);
}

/* A client that sends without end and reads nothing costs a bounded amount. */
static void flood_behind_held(void **state)
{
    struct world *w = start(state, (struct http_server_opts){0});
    raw_send(&w->raw, ONE("/hold"));
    WAIT(w->loop, w->held != NULL);
    struct strbuf one, b;
    strbuf_init(&one, 4096);
    strbuf_init(&b, 1 << 20);
    strbuf_puts(&one, "GET /x HTTP/1.1\r\nHost: a\r\nX: ");
    while (one.n < 2000) strbuf_putc(&one, 'x');
    strbuf_puts(&one, "\r\n\r\n");
    int per_block = 0;
    for (; b.n < 512 * 1024; per_block++) strbuf_put(&b, strbuf_str(&one));
    for (int i = 0; i < 40; i++) { /* 20 MiB */
        (void)net_conn_write(w->raw.conn, strbuf_str(&b));
        test_turns(w->loop, 5);
    }
    assert_true(net_conn_queued(w->raw.conn) > 4 * 1024 * 1024); /* the server stopped reading */
    assert_int_equal(w->requests, 1);
    net_conn_pause(w->raw.conn); /* and reads no answers either */
    http_reply(w->held, 200, NULL, STR("first"));
    test_turns(w->loop, 200);
    int before = w->requests;
    test_turns(w->loop, 200);
    assert_int_equal(w->requests, before);
    net_conn_resume(w->raw.conn);
    WAIT(w->loop, w->requests == per_block * 40 + 1);
    strbuf_done(&b);
    strbuf_done(&one);
}

/* A client that asks much and reads nothing gets no more than a bounded queue. */
static void unread_answers(void **state)
{
    struct world *w = start(state, (struct http_server_opts){.write_idle_ms = 5000});
    struct strbuf b;
    strbuf_init(&b, 1 << 20);
    for (int i = 0; i < 200; i++) strbuf_puts(&b, ONE("/large"));
    net_conn_pause(w->raw.conn);
    (void)net_conn_write(w->raw.conn, strbuf_str(&b));
    test_turns(w->loop, 300);
    int stuck = w->requests;
    assert_in_range(stuck, 1, 199);
    test_turns(w->loop, 100);
    assert_int_equal(w->requests, stuck);
    net_conn_resume(w->raw.conn);
    WAIT(w->loop, w->requests == 200 && w->raw.got.n > 200 * LARGE_BYTES);
    assert_int_equal(text_count(&w->raw.got, "200 OK"), 200);
    strbuf_done(&b);
}

static void target_forms(void **state)
{
    struct world *w = start(state, (struct http_server_opts){0});
    raw_send(&w->raw, "GET http://other/a/b?q=1 HTTP/1.1\r\nHost: a\r\n\r\n"
                      "GET http://other HTTP/1.1\r\nHost: a\r\n\r\n"
                      "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"
                      "GET http://other/query?q=%2B HTTP/1.1\r\nHost: a\r\n\r\n");
    WAIT(w->loop, w->requests == 4 && has(&w->raw.got, "\r\n\r\n+"));
    assert_true(has(&w->raw.got, "\r\n\r\n/a/bHTTP"));
    assert_true(has(&w->raw.got, "\r\n\r\n/HTTP"));
    assert_true(has(&w->raw.got, "\r\n\r\n*HTTP"));
}

static void refusals(void **state)
{
    static const struct {
        const char *name, *text, *status;
    } rows[] = {
        {"both lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
                         "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400 Bad Request"},
        {"bare LF", "GET / HTTP/1.1\nHost: a\n\n", "400 Bad Request"},
        {"no host", "GET / HTTP/1.1\r\n\r\n", "400 Bad Request"},
        {"version", "GET / HTTP/3.0\r\n\r\n", "505 "},
        {"coding", "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", "501 "},
        {"dots", "GET /a/%2e%2e/b HTTP/1.1\r\nHost: a\r\n\r\n", "400 Bad Request"},
        {"nul", "GET /a%00 HTTP/1.1\r\nHost: a\r\n\r\n", "400 Bad Request"},
        {"connect", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", "400 Bad Request"},
        {"large", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 104857600\r\n\r\n", "413 "},
        {"chunk", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
         "400 Bad Request"},
    };
    struct world *w = *state;
    listen_with(w, (struct http_server_opts){0});
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        raw_done(&w->raw);
        raw_dial(w->loop, &w->raw, str_of(w->addr), NULL);
        raw_send(&w->raw, rows[i].text);
        raw_send(&w->raw, ONE("/smuggled"));
        WAIT(w->loop, w->raw.eof || w->raw.closed);
        if (!has(&w->raw.got, rows[i].status))
            fail_msg("%s: %s", rows[i].name, w->raw.got.p);
        assert_true(has(&w->raw.got, "\r\nConnection: close\r\n"));
        assert_int_equal(text_count(&w->raw.got, "\r\nDate: "), 1);
        assert_int_equal(w->requests, 0);
    }
    WAIT(w->loop, http_server_conns(w->server) == 0);
}

static void body_limit(void **state)
{
    struct world *w = start(state, (struct http_server_opts){.body_max = 1000});
    struct strbuf b;
    strbuf_init(&b, 1 << 20);
    strbuf_puts(&b, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
    for (int i = 0; i < 1000; i++) strbuf_putc(&b, 'b');
    (void)net_conn_write(w->raw.conn, strbuf_str(&b));
    WAIT(w->loop, w->requests == 1);
    assert_int_equal(w->body.n, 1000);
    strbuf_reset(&b);
    strbuf_puts(&b, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 11; i++) {
        strbuf_puts(&b, "64\r\n");
        for (int j = 0; j < 100; j++) strbuf_putc(&b, 'c');
        strbuf_puts(&b, "\r\n");
    }
    (void)net_conn_write(w->raw.conn, strbuf_str(&b));
    WAIT(w->loop, has(&w->raw.got, "413 "));
    assert_int_equal(w->requests, 1);
    strbuf_done(&b);
}

/* Bytes that trickle do not put off the end of a body either. */
static void trickling_body(void **state)
{
    struct world *w = start(state, (struct http_server_opts){.body_ms = 60});
    int64_t end = net_now_ms() + 5000;
    const bool never = false;
    raw_send(&w->raw, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
    while (!w->raw.eof && !w->raw.closed && net_now_ms() < end) {
        raw_send(&w->raw, "a");
        (void)net_loop_run_until(w->loop, &never, 5);
    }
    assert_true(has(&w->raw.got, "408 "));
    assert_int_equal(w->requests, 0);
}

static size_t known_or_4(void *arg, const struct http_req *r)
{
    (void)arg;
    return http_header(r, "X-Known").n > 0 ? SIZE_MAX : 4;
}

static void strangers_send_less(void **state)
{
    static const struct {
        const char *text, *answer;
    } rows[] = {
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nabcd", "200 "},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", "413 "},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde", "413 "},
        {"POST / HTTP/1.1\r\nHost: a\r\nX-Known: y\r\nContent-Length: 5\r\n\r\nabcde",
         "200 "},
        {"POST / HTTP/1.1\r\nHost: a\r\nX-Known: y\r\nContent-Length: 9\r\n\r\n", "413 "},
    };
    struct world *w = *state;
    listen_with(w, (struct http_server_opts){.body_max = 8, .body_limit = known_or_4});
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        raw_done(&w->raw);
        raw_dial(w->loop, &w->raw, str_of(w->addr), NULL);
        raw_send(&w->raw, rows[i].text);
        WAIT(w->loop, has(&w->raw.got, " "));
        if (!has(&w->raw.got, rows[i].answer)) fail_msg("row %zu: '%s'", i, w->raw.got.p);
    }
}

/* Many bodies that never end: together they hold no more than was allowed, and
 * what was held is free again when their clients have left or were answered. */
static void bodies_share_a_limit(void **state)
{
    static const char part[] = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                               "60\r\n0123456789012345678901234567890123456789";
    static const char rest[] = "01234567890123456789012345678901234567890123456789012345"
                               "\r\n0\r\n\r\n";
    struct world *w = start(state, (struct http_server_opts){.bodies_max = 100});
    struct raw second, third;
    raw_send(&w->raw, part);
    raw_dial(w->loop, &second, str_of(w->addr), NULL);
    raw_send(&second, part);
    test_turns(w->loop, 20);
    raw_dial(w->loop, &third, str_of(w->addr), NULL);
    raw_send(&third, part); /* 3 x 40 > 100 */
    WAIT(w->loop, third.eof);
    assert_true(has(&third.got, "503 "));
    assert_int_equal(w->raw.got.n + second.got.n, 0);
    raw_done(&third);
    raw_done(&second);
    WAIT(w->loop, http_server_conns(w->server) == 1);
    raw_send(&w->raw, rest); /* 96 in all: fits only where the others' bytes are gone */
    WAIT(w->loop, has(&w->raw.got, "200 "));
    raw_send(&w->raw, part);
    raw_send(&w->raw, rest);
    WAIT(w->loop, w->requests == 2);
    assert_int_equal(w->body.n, 96);
}

static void expects_continue(void **state)
{
    struct world *w = start(state, (struct http_server_opts){.body_max = 10});
    raw_send(&w->raw, "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
                      "Expect: 100-continue\r\n\r\n");
    WAIT(w->loop, has(&w->raw.got, "HTTP/1.1 100 Continue\r\n\r\n"));
    assert_int_equal(w->requests, 0);
    raw_send(&w->raw, "abc");
    WAIT(w->loop, has(&w->raw.got, "\r\n\r\nabc"));
    raw_send(&w->raw, "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n"
                      "Expect: 100-continue\r\n\r\n");
    WAIT(w->loop, has(&w->raw.got, "413 "));
    assert_int_equal(text_count(&w->raw.got, "100 Continue"), 1);
}

/* A client that shouts a large body and gets its refusal must be able to read it. */
static void large_body_sees_413(void **state)
{
    struct world *w = start(state, (struct http_server_opts){0});
    raw_send(&w->raw, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 104857600\r\n\r\n");
    char *junk = mem_array(64 * 1024, 1);
    for (int i = 0; i < 8 && w->raw.conn != NULL; i++) {
        (void)net_conn_write(w->raw.conn, str_n(junk, 64 * 1024));
        test_turns(w->loop, 2);
    }
    mem_free(junk);
    WAIT(w->loop, has(&w->raw.got, "413 "));
    assert_int_equal(w->raw.why.code, 0);
}

static void keep_alive_rules(void **state)
{
    static const struct {
        const char *text;
        bool stays;
    } rows[] = {
        {ONE("/"), true},
        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", false},
        {"GET / HTTP/1.0\r\n\r\n", false},
        {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true},
    };
    struct world *w = *state;
    listen_with(w, (struct http_server_opts){0});
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        raw_done(&w->raw);
        raw_dial(w->loop, &w->raw, str_of(w->addr), NULL);
        raw_send(&w->raw, rows[i].text);
        WAIT(w->loop, has(&w->raw.got, "200 OK"));
        if (rows[i].stays) {
            raw_send(&w->raw, ONE("/again"));
            WAIT(w->loop, has(&w->raw.got, "/again"));
        } else {
            WAIT(w->loop, w->raw.eof);
        }
    }
}

static void slow_clients(void **state)
{
    static const struct {
        const char *name, *text, *answer;
    } rows[] = {
        {"says nothing", "", NULL},
        {"slow head", "GET / HTT", "408 "},
        {"slow body", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab", "408 "},
        {"between requests", ONE("/"), "200 OK"},
    };
    struct world *w = *state;
    listen_with(w, (struct http_server_opts){
                       .head_ms = 20, .body_idle_ms = 20, .keepalive_ms = 20});
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        raw_done(&w->raw);
        raw_dial(w->loop, &w->raw, str_of(w->addr), NULL);
        raw_send(&w->raw, rows[i].text);
        WAIT(w->loop, w->raw.eof || w->raw.closed);
        if (rows[i].answer != NULL && !has(&w->raw.got, rows[i].answer))
            fail_msg("%s: '%s'", rows[i].name, w->raw.got.p);
        if (rows[i].answer == NULL) assert_int_equal(w->raw.got.n, 0);
        WAIT(w->loop, http_server_conns(w->server) == 0);
    }
}

/* Bytes that trickle do not put the head's deadline off. */
static void trickling_head(void **state)
{
    struct world *w = start(state, (struct http_server_opts){.head_ms = 60});
    int64_t end = net_now_ms() + 5000;
    const bool never = false;
    raw_send(&w->raw, "GET / HTTP/1.1\r\nX: ");
    while (!w->raw.eof && !w->raw.closed && net_now_ms() < end) {
        raw_send(&w->raw, "a");
        (void)net_loop_run_until(w->loop, &never, 5);
    }
    assert_true(has(&w->raw.got, "408 "));
}

/* A held request outlives every idle limit, and is told when its client leaves. */
static void held_and_left(void **state)
{
    struct world *w = start(state, (struct http_server_opts){
                                       .head_ms = 10, .body_idle_ms = 10, .keepalive_ms = 10});
    raw_send(&w->raw, ONE("/hold"));
    WAIT(w->loop, w->held != NULL);
    int64_t until = net_now_ms() + 40;
    WAIT(w->loop, net_now_ms() > until);
    assert_int_equal(w->closed, 0);
    net_conn_close(STEAL(w->raw.conn));
    WAIT(w->loop, w->closed == 1);
    assert_null(w->held);
    assert_int_equal(http_server_conns(w->server), 0);
}

static void left_without_callback(void **state)
{
    struct world *w = start(state, (struct http_server_opts){0});
    raw_send(&w->raw, ONE("/hold-plain"));
    WAIT(w->loop, w->held != NULL);
    net_conn_abort(STEAL(w->raw.conn));
    WAIT(w->loop, http_req_gone(w->held));
    assert_true(str_eq(w->held->path, STR("/hold-plain"))); /* still readable */
    http_reply(w->held, 200, NULL, STR("to nobody"));
}

static void connections_are_counted(void **state)
{
    struct world *w = start(state, (struct http_server_opts){.conns_max = 2});
    struct raw a, b;
    raw_dial(w->loop, &a, str_of(w->addr), NULL);
    raw_dial(w->loop, &b, str_of(w->addr), NULL); /* waits in the backlog */
    raw_send(&w->raw, ONE("/1"));
    raw_send(&a, ONE("/2"));
    raw_send(&b, ONE("/3"));
    WAIT(w->loop, w->requests == 2);
    test_turns(w->loop, 10);
    assert_int_equal(w->requests, 2);
    net_conn_close(STEAL(a.conn));
    WAIT(w->loop, has(&b.got, "/3"));
    raw_done(&a);
    raw_done(&b);
}

static void half_closed(void **state)
{
    struct world *w = start(state, (struct http_server_opts){0});
    raw_send(&w->raw, ONE("/x"));
    net_conn_shutdown(w->raw.conn); /* as `printf | nc` does */
    WAIT(w->loop, has(&w->raw.got, "\r\n\r\n/x"));
    WAIT(w->loop, http_server_conns(w->server) == 0);
}

static void unix_socket(void **state)
{
    struct world *w = *state;
    struct err err = {0};
    text_fmt(w->path, sizeof(w->path), "/tmp/rota-test-%d.sock", (int)getpid());
    char addr[80];
    text_fmt(addr, sizeof(addr), "unix:%s", w->path);
    w->server = http_server_listen(w->loop, str_of(addr), NULL, handler, w, &err);
    assert_non_null(w->server);
    assert_null(http_server_listen(w->loop, str_of(addr), NULL, handler, w, &err));
    assert_int_equal(err.code, ERR_CONFLICT); /* a live one is not taken over */
    raw_done(&w->raw);
    raw_dial(w->loop, &w->raw, str_of(addr), NULL);
    raw_send(&w->raw, ONE("/hold-plain"));
    WAIT(w->loop, w->held != NULL);
    assert_true(w->held->is_unix);
    assert_true(str_starts(w->held->peer, STR("unix:uid=")));
    http_reply(w->held, 200, NULL, STR("ok"));
    WAIT(w->loop, has(&w->raw.got, "ok"));
    http_server_free(STEAL(w->server));
    assert_int_not_equal(access(w->path, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(answers), CASE(pieces), CASE(head_outlives_its_buffer), CASE(byte_by_byte),
        CASE(pipelined), CASE(pipelined_behind_held), CASE(flood_behind_held), CASE(refusals),
        CASE(unread_answers), CASE(target_forms), CASE(body_limit), CASE(expects_continue),
        CASE(strangers_send_less), CASE(bodies_share_a_limit), CASE(trickling_body),
        CASE(large_body_sees_413), CASE(keep_alive_rules),
        CASE(slow_clients), CASE(trickling_head), CASE(held_and_left),
        CASE(left_without_callback), CASE(connections_are_counted), CASE(half_closed),
        CASE(unix_socket),
    };
    return RUN(tests);
}
