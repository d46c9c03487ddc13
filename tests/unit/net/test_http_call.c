/* Origins, what an answer means, a unix socket, and streams cut into events. */
#include "net/http_client.h"
#include "net/http_server.h"
#include "test.h"

static void origins(void **state)
{
    (void)state;
    struct net_loop *loop = net_loop_new();
    static const struct { const char *origin; bool ok; } rows[] = {
        {"http://a", true}, {"http://a:1", true}, {"http://a/", true}, {"http://[::1]:2", true},
        {"unix:/x", true}, {"https://a", false}, {"http://a/b", false}, {"http://", false},
        {"http://:80", false}, {"ftp://a", false}, {"a", false}, {"", false},
        {"http://u@a", false}, {"http://a:0x1", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0};
        struct http_client *c = http_client_new(loop, str_of(rows[i].origin), NULL, &err);
        if ((c != NULL) != rows[i].ok) fail_msg("'%s': %s", rows[i].origin, err.text);
        http_client_free(c);
    }
    net_loop_free(loop);
}

static void meanings(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *type, *body;
        int code;
        const char *text, *field;
    } rows[] = {
        {200, "text/plain", "", 0, "", ""},
        {204, "text/plain", "", 0, "", ""},
        {404, "text/html", "<p>", ERR_NOT_FOUND, "the server answered 404 Not Found", ""},
        {401, "text/html", "", ERR_DENIED, "the server answered 401 Unauthorized", ""},
        {413, "text/html", "", ERR_LIMIT, "the server answered 413 Content Too Large", ""},
        {503, "text/html", "", ERR_UNAVAILABLE, "the server answered 503 Service Unavailable", ""},
        {502, "text/html", "", ERR_UNAVAILABLE, "the server answered 502 Bad Gateway", ""},
        {499, "text/html", "", ERR_INVALID, "the server answered 499 ", ""},
        {301, "text/html", "", ERR_INVALID, "the server answered 301 Moved Permanently", ""},
        {400, "application/problem+json",
         "{\"code\":\"conflict\",\"detail\":\"a\\u00e4\\\"b\\\\\",\"field\":\"x.y\"}",
         ERR_CONFLICT, "a?\"b\\", "x.y"},
        {409, "application/problem+json", "{\"code\":\"other\",\"detail\":\"d\"}",
         ERR_CONFLICT, "d", ""},
        {409, "application/problem+json", "{\"detail\":\"cut\\u00", ERR_CONFLICT,
         "the server answered 409 Conflict", ""},
        {409, "application/problem+json", "{\"detail\":\"cut\\", ERR_CONFLICT,
         "the server answered 409 Conflict", ""},
        {409, "application/problem+json", "", ERR_CONFLICT, "the server answered 409 Conflict", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http_head h = {.status = rows[i].status, .n_headers = 1};
        h.headers[0] = (struct http_header){STR("content-type"), str_of(rows[i].type)};
        struct http_answer a = {.status = rows[i].status, .body = str_of(rows[i].body), .head = &h};
        struct err err = {0};
        int rc = http_answer_err(&a, &err);
        if (rc != rows[i].code || strcmp(err.text, rows[i].text) != 0 ||
            strcmp(err.field, rows[i].field) != 0)
            fail_msg("%zu: %d '%s' '%s'", i, rc, err.text, err.field);
    }
    struct err failed = {.code = ERR_TIMEOUT, .text = "slow"}, err = {0};
    const struct http_answer none = {.err = &failed};
    assert_int_equal(http_answer_err(&none, &err), ERR_TIMEOUT);
    assert_string_equal(err.text, "slow");
    assert_null(http_answer_header(&none, "x").p);
}

static void handler(void *arg, struct http_req *r)
{
    (void)arg;
    assert_true(r->is_unix);
    http_reply_json(r, 200, http_header(r, "host"));
}

static void on_done(void *arg, const struct http_answer *a)
{
    if (a->err != NULL) fail_msg("%s", a->err->text);
    assert_true(str_eq(http_answer_header(a, "content-type"), STR("application/json")));
    strbuf_put(arg, a->body);
}

static void unix_socket(void **state)
{
    (void)state;
    struct net_loop *loop = net_loop_new();
    struct err err = {0};
    struct strbuf got;
    char addr[64];
    strbuf_init(&got, 100);
    text_fmt(addr, sizeof(addr), "unix:/tmp/rota-test-call-%d", (int)getpid());
    struct http_server *s = http_server_listen(loop, str_of(addr), NULL, handler, NULL, &err);
    struct http_client *c = http_client_new(loop, str_of(addr), NULL, &err);
    assert_true(s != NULL && c != NULL);
    const struct http_request rq = {.method = "GET", .target = STR("/")};
    (void)http_call(c, &rq, on_done, &got);
    WAIT(loop, got.n > 0);
    assert_string_equal(got.p, "localhost");
    http_client_free(c);
    http_server_free(s);
    net_loop_free(loop);
    strbuf_done(&got);
}

static void on_event(void *arg, struct str id, struct str event, struct str data)
{
    strbuf_fmt(arg, "[%.*s|%.*s|%.*s]", (int)id.n, id.p, (int)event.n, event.p, (int)data.n,
               data.p);
}

static void events(void **state)
{
    (void)state;
    static const char text[] = ": hello\nid: 7\nevent: a\ndata: x\ndata: y\n\n"
                               "data:z\r\n\r\nid\rdata: w\r\r\nevent: none\n\ndata: cut";
    for (size_t piece = 1; piece < sizeof(text); piece++) {
        struct strbuf out;
        strbuf_init(&out, 4096);
        struct http_sse *s = http_sse_new(1000, on_event, &out);
        for (size_t at = 0; at < sizeof(text) - 1; at += piece) {
            size_t n = sizeof(text) - 1 - at < piece ? sizeof(text) - 1 - at : piece;
            assert_int_equal(http_sse_feed(s, str_n(text + at, n), NULL), 0);
        }
        assert_string_equal(out.p, "[7|a|x\ny][7||z][||w]");
        http_sse_free(s);
        strbuf_done(&out);
    }
    struct http_sse *s = http_sse_new(10, on_event, NULL);
    assert_int_equal(http_sse_feed(s, STR("data: 0123456789"), NULL), ERR_LIMIT);
    http_sse_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(origins), cmocka_unit_test(meanings), cmocka_unit_test(unix_socket),
        cmocka_unit_test(events),
    };
    return RUN(tests);
}
