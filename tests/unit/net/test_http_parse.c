/* Heads, bodies and targets as tables: what is taken, and above all what is not. */
#include "net/http_parse.h"
#include "test.h"

static int parse(const char *text, struct http_head *h, struct err *err)
{
    struct http_scan s = {0};
    size_t n = strlen(text);
    int64_t head = http_scan(&s, text, n);
    if (head < 0) return (int)head;
    if (head == 0) return 1; /* incomplete */
    return http_parse_request(str_n(text, (size_t)head), h, err);
}

#define GET "GET / HTTP/1.1\r\nHost: a\r\n"

static const struct {
    const char *name, *text;
    int rc, status;
} request_rows[] = {
    {"plain", GET "\r\n", 0, 0},
    {"1.0 without host", "GET / HTTP/1.0\r\n\r\n", 0, 0},
    {"absolute target", "GET http://a/b HTTP/1.1\r\nHost: a\r\n\r\n", 0, 0},
    {"asterisk", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 0, 0},
    {"unknown method", "BREW / HTTP/1.1\r\nHost: a\r\n\r\n", 0, 0},
    {"empty value", GET "X:\r\n\r\n", 0, 0},
    {"utf-8 value", GET "X: \xc3\xa4\r\n\r\n", 0, 0},
    {"length", GET "Content-Length: 18\r\n\r\n", 0, 0},
    {"chunked", GET "Transfer-Encoding: Chunked\r\n\r\n", 0, 0},
    {"not complete", "GET / HTTP/1.1\r\nHost: a\r\n", 1, 0},
    {"bare LF line", "GET / HTTP/1.1\nHost: a\r\n\r\n", ERR_INVALID, 0},
    {"bare LF end", GET "X: y\n\n", ERR_INVALID, 0},
    {"LF CR", GET "\n\r\n", ERR_INVALID, 0},
    {"CR within value", GET "X: a\rb\r\n\r\n", ERR_INVALID, 400},
    {"CR CR LF", GET "X: a\r\r\n\r\n", ERR_INVALID, 400},
    {"control in value", GET "X: a\x01z\r\n\r\n", ERR_INVALID, 400},
    {"delete in value", GET "X: a\x7fz\r\n\r\n", ERR_INVALID, 400},
    {"folded", GET "X: a\r\n b\r\n\r\n", ERR_INVALID, 400},
    {"folded by tab", GET "X: a\r\n\tb\r\n\r\n", ERR_INVALID, 400},
    {"fold as first header", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", ERR_INVALID, 400},
    {"space before colon", GET "Content-Length : 1\r\n\r\n", ERR_INVALID, 400},
    {"tab before colon", GET "X\t: 1\r\n\r\n", ERR_INVALID, 400},
    {"no colon", GET "X\r\n\r\n", ERR_INVALID, 400},
    {"empty name", GET ": x\r\n\r\n", ERR_INVALID, 400},
    {"name with bracket", GET "X(: x\r\n\r\n", ERR_INVALID, 400},
    {"name with high byte", GET "X\xff: x\r\n\r\n", ERR_INVALID, 400},
    {"both lengths", GET "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
     ERR_INVALID, 400},
    {"both, other order", GET "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
     ERR_INVALID, 400},
    {"zero length and chunked", GET "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n",
     ERR_INVALID, 400},
    {"two equal lengths", GET "Content-Length: 3\r\nContent-Length: 3\r\n\r\n", ERR_INVALID,
     400},
    {"two lengths", GET "Content-Length: 3\r\ncontent-length: 4\r\n\r\n", ERR_INVALID, 400},
    {"list of lengths", GET "Content-Length: 3, 3\r\n\r\n", ERR_INVALID, 400},
    {"signed length", GET "Content-Length: +3\r\n\r\n", ERR_INVALID, 400},
    {"negative length", GET "Content-Length: -3\r\n\r\n", ERR_INVALID, 400},
    {"hex length", GET "Content-Length: 0x3\r\n\r\n", ERR_INVALID, 400},
    {"empty length", GET "Content-Length: \r\n\r\n", ERR_INVALID, 400},
    {"spaced length", GET "Content-Length: 1 2\r\n\r\n", ERR_INVALID, 400},
    {"long length", GET "Content-Length: 0000000000000000003\r\n\r\n", ERR_INVALID, 400},
    {"overflowing length", GET "Content-Length: 18446744073709551617\r\n\r\n", ERR_INVALID,
     400},
    {"gzip, chunked", GET "Transfer-Encoding: gzip, chunked\r\n\r\n", ERR_UNSUPPORTED, 501},
    {"chunked twice in one", GET "Transfer-Encoding: chunked, chunked\r\n\r\n",
     ERR_UNSUPPORTED, 501},
    {"chunked twice", GET "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
     ERR_INVALID, 400},
    {"xchunked", GET "Transfer-Encoding: xchunked\r\n\r\n", ERR_UNSUPPORTED, 501},
    {"vertical tab chunked", GET "Transfer-Encoding: \x0b""chunked\r\n\r\n", ERR_INVALID, 400},
    {"quoted chunked", GET "Transfer-Encoding: \"chunked\"\r\n\r\n", ERR_UNSUPPORTED, 501},
    {"identity", GET "Transfer-Encoding: identity\r\n\r\n", ERR_UNSUPPORTED, 501},
    {"chunked in 1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", ERR_INVALID,
     400},
    {"no host", "GET / HTTP/1.1\r\n\r\n", ERR_INVALID, 400},
    {"two hosts", GET "Host: a\r\n\r\n", ERR_INVALID, 400},
    {"host with path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", ERR_INVALID, 400},
    {"host with user", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", ERR_INVALID, 400},
    {"host list", "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", ERR_INVALID, 400},
    {"two spaces", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", ERR_INVALID, 400},
    {"leading space", " GET / HTTP/1.1\r\nHost: a\r\n\r\n", ERR_INVALID, 400},
    {"trailing space", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", ERR_INVALID, 400},
    {"tab for space", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", ERR_INVALID, 400},
    {"space in target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", ERR_INVALID, 400},
    {"fragment", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", ERR_INVALID, 400},
    {"high byte in target", "GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n", ERR_INVALID, 400},
    {"relative target", "GET a HTTP/1.1\r\nHost: a\r\n\r\n", ERR_INVALID, 400},
    {"asterisk of GET", "GET * HTTP/1.1\r\nHost: a\r\n\r\n", ERR_INVALID, 400},
    {"no target", "GET HTTP/1.1\r\nHost: a\r\n\r\n", ERR_INVALID, 400},
    {"no version", "GET /\r\nHost: a\r\n\r\n", ERR_INVALID, 400},
    {"version 2", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", ERR_UNSUPPORTED, 505},
    {"version 1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", ERR_UNSUPPORTED, 505},
    {"version 1.10", "GET / HTTP/1.10\r\nHost: a\r\n\r\n", ERR_INVALID, 400},
    {"lower version", "GET / http/1.1\r\nHost: a\r\n\r\n", ERR_INVALID, 400},
    {"brackets in method", "G[T / HTTP/1.1\r\nHost: a\r\n\r\n", ERR_INVALID, 400},
    {"empty line", "\r\n\r\n", ERR_INVALID, 400},
};

static void requests(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(request_rows); i++) {
        struct http_head h;
        struct err err = {0};
        int rc = parse(request_rows[i].text, &h, &err);
        const char *name = request_rows[i].name;
        if (rc != request_rows[i].rc)
            fail_msg("%s: got %d, expected %d", name, rc, request_rows[i].rc);
        if (request_rows[i].status != 0 && http_parse_status(&err) != request_rows[i].status)
            fail_msg("%s: status %d, expected %d", name, http_parse_status(&err),
                     request_rows[i].status);
    }
}

static void fields(void **state)
{
    (void)state;
    struct http_head h;
    assert_int_equal(parse("POST /a/b?c=d HTTP/1.1\r\nHost: x:8080\r\nConnection: foo , Upgrade\r\n"
                           "UPGRADE: rota-carry\r\nExpect: 100-Continue\r\nX-A:  v w \r\n"
                           "Content-Length: 12\r\nx-a: second\r\n\r\n", &h, NULL), 0);
    assert_int_equal(h.method, HTTP_POST);
    assert_true(str_eq(h.target, STR("/a/b?c=d")));
    assert_true(str_eq(h.host, STR("x:8080")));
    assert_true(str_eq(h.upgrade, STR("rota-carry")));
    assert_true(h.expect_continue);
    assert_true(h.keep_alive);
    assert_int_equal(h.body, HTTP_BODY_LENGTH);
    assert_int_equal(h.length, 12);
    assert_int_equal(h.n_headers, 7);
    assert_true(str_eq(http_head_get(&h, STR("x-A")), STR("v w")));
    assert_null(http_head_get(&h, STR("x-b")).p);
    assert_true(http_head_has_token(&h, STR("connection"), STR("FOO")));
    assert_false(http_head_has_token(&h, STR("connection"), STR("fo")));

    assert_int_equal(parse(GET "Connection: close\r\nUpgrade: x\r\n\r\n", &h, NULL), 0);
    assert_false(h.keep_alive);
    assert_int_equal(h.upgrade.n, 0); /* not named by Connection */
    assert_int_equal(parse("GET / HTTP/1.0\r\n\r\n", &h, NULL), 0);
    assert_false(h.keep_alive);
    assert_int_equal(parse("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", &h, NULL), 0);
    assert_true(h.keep_alive);
}

/* A NUL cannot stand in the table of texts. */
static void nul_bytes(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "GE@ / HTTP/1.1\r\nHost: a\r\n\r\n", "GET /@ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHo@st: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a@\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: @y\r\n\r\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        char text[128];
        size_t n = strlen(heads[i]);
        memcpy(text, heads[i], n);
        *(char *)memchr(text, '@', n) = '\0';
        struct http_head h;
        struct http_scan s = {0};
        assert_int_equal(http_scan(&s, text, n), n);
        assert_int_equal(http_parse_request(str_n(text, n), &h, NULL), ERR_INVALID);
    }
}

static void limits(void **state)
{
    (void)state;
    struct strbuf b;
    struct http_head h;
    struct err err = {0};
    strbuf_init(&b, 1 << 20);
    strbuf_puts(&b, "GET /");
    for (int i = 0; i < HTTP_TARGET_MAX; i++) strbuf_putc(&b, 'a');
    strbuf_puts(&b, " HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_int_equal(parse(b.p, &h, &err), ERR_LIMIT);
    assert_int_equal(http_parse_status(&err), 414);

    for (int n = HTTP_HEADERS_MAX - 1; n <= HTTP_HEADERS_MAX; n++) { /* and Host */
        strbuf_reset(&b);
        strbuf_puts(&b, GET);
        for (int i = 0; i < n; i++) strbuf_puts(&b, "a: b\r\n");
        strbuf_puts(&b, "\r\n");
        err = (struct err){0};
        assert_int_equal(parse(b.p, &h, &err), n < HTTP_HEADERS_MAX ? 0 : ERR_LIMIT);
        if (n == HTTP_HEADERS_MAX) assert_int_equal(http_parse_status(&err), 431);
    }

    strbuf_reset(&b);
    strbuf_puts(&b, GET "X: ");
    while (b.n < HTTP_HEAD_MAX) strbuf_putc(&b, 'a');
    struct http_scan s = {0};
    assert_int_equal(http_scan(&s, b.p, HTTP_HEAD_MAX - 1), 0);
    assert_int_equal(http_scan(&s, b.p, HTTP_HEAD_MAX), ERR_LIMIT);
    strbuf_done(&b);
}

/* However the bytes are cut, the head ends at the same place. */
static void scan_in_pieces(void **state)
{
    (void)state;
    static const char text[] = GET "X: y\r\n\r\nbody\r\n\r\n";
    size_t want = sizeof(GET "X: y\r\n\r\n") - 1;
    for (size_t first = 0; first < sizeof(text); first++) {
        struct http_scan s = {0};
        int64_t got = http_scan(&s, text, first);
        if (got == 0) got = http_scan(&s, text, sizeof(text) - 1);
        assert_int_equal(got, want);
    }
    struct http_scan s = {0};
    for (size_t n = 0; n < want; n++) assert_int_equal(http_scan(&s, text, n), 0);
    assert_int_equal(http_scan(&s, text, want), want);
}

static void responses(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        enum http_method to;
        int rc, status;
        enum http_body_kind body;
        bool keep;
    } rows[] = {
        {"length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", HTTP_GET, 0, 200,
         HTTP_BODY_LENGTH, true},
        {"zero", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", HTTP_GET, 0, 200, HTTP_BODY_NONE,
         true},
        {"until close", "HTTP/1.1 200 OK\r\n\r\n", HTTP_GET, 0, 200, HTTP_BODY_UNTIL_CLOSE, false},
        {"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP_GET, 0, 200,
         HTTP_BODY_CHUNKED, true},
        {"to HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", HTTP_HEAD, 0, 200,
         HTTP_BODY_NONE, true},
        {"204", "HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n", HTTP_GET, 0, 204,
         HTTP_BODY_NONE, true},
        {"304", "HTTP/1.1 304 Not Modified\r\n\r\n", HTTP_GET, 0, 304, HTTP_BODY_NONE, true},
        {"101", "HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: y\r\n\r\n", HTTP_GET, 0, 101,
         HTTP_BODY_NONE, true},
        {"no reason", "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\n", HTTP_GET, 0, 200,
         HTTP_BODY_LENGTH, true},
        {"1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", HTTP_GET, 0, 200, HTTP_BODY_LENGTH,
         false},
        {"both", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
         HTTP_GET, ERR_INVALID, 0, HTTP_BODY_NONE, false},
        {"short status", "HTTP/1.1 20 OK\r\n\r\n", HTTP_GET, ERR_INVALID, 0, HTTP_BODY_NONE, false},
        {"status 099", "HTTP/1.1 099 OK\r\n\r\n", HTTP_GET, ERR_INVALID, 0, HTTP_BODY_NONE, false},
        {"no status", "HTTP/1.1\r\n\r\n", HTTP_GET, ERR_INVALID, 0, HTTP_BODY_NONE, false},
        {"icy", "ICY 200 OK\r\n\r\n", HTTP_GET, ERR_INVALID, 0, HTTP_BODY_NONE, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http_head h;
        int rc = http_parse_response(str_of(rows[i].text), rows[i].to, &h, NULL);
        if (rc != rows[i].rc) fail_msg("%s: got %d", rows[i].name, rc);
        if (rc != 0) continue;
        if (h.status != rows[i].status || h.body != rows[i].body || h.keep_alive != rows[i].keep)
            fail_msg("%s: status %d body %d keep %d", rows[i].name, h.status, (int)h.body,
                     h.keep_alive);
    }
}

/* Feeds in pieces of `piece` bytes; the content goes to out. */
static int feed_all(struct http_body *b, const char *text, size_t n, size_t piece,
                    struct strbuf *out, size_t *ret_left)
{
    size_t at = 0;
    while (at < n && !b->done) {
        size_t take = n - at < piece ? n - at : piece;
        struct str in = str_n(text + at, take), data;
        while (in.n > 0 && !b->done) {
            int rc = http_body_feed(b, &in, &data, NULL);
            if (rc != 0) return rc;
            strbuf_put(out, data);
        }
        at += take - in.n;
    }
    *ret_left = n - at;
    return 0;
}

static void chunks(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *content;
        int rc;
        bool done;
        size_t left;
    } rows[] = {
        {"one", "3\r\nabc\r\n0\r\n\r\nNEXT", "abc", 0, true, 4},
        {"two", "1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", "abc", 0, true, 0},
        {"hex", "A\r\n0123456789\r\n0\r\n\r\n", "0123456789", 0, true, 0},
        {"leading zeros", "003\r\nabc\r\n000\r\n\r\n", "abc", 0, true, 0},
        {"extension", "3;a=b\r\nabc\r\n0;x\r\n\r\n", "abc", 0, true, 0},
        {"trailers", "0\r\nA: b\r\nC: d\r\n\r\nX", "", 0, true, 1},
        {"empty", "0\r\n\r\n", "", 0, true, 0},
        {"unfinished", "3\r\nab", "ab", 0, false, 0},
        {"bare LF after size", "3\nabc\r\n0\r\n\r\n", NULL, ERR_INVALID, false, 0},
        {"bare LF after data", "3\r\nabc\n0\r\n\r\n", NULL, ERR_INVALID, false, 0},
        {"bare LF at the end", "0\r\n\n", NULL, ERR_INVALID, false, 0},
        {"LF in extension", "3;a\nabc\r\n", NULL, ERR_INVALID, false, 0},
        {"too long data", "3\r\nabcd\r\n0\r\n\r\n", NULL, ERR_INVALID, false, 0},
        {"no size", "\r\nabc", NULL, ERR_INVALID, false, 0},
        {"empty size with extension", ";a\r\nabc", NULL, ERR_INVALID, false, 0},
        {"signed", "+3\r\nabc", NULL, ERR_INVALID, false, 0},
        {"prefixed", "0x3\r\nabc", NULL, ERR_INVALID, false, 0},
        {"space before", " 3\r\nabc", NULL, ERR_INVALID, false, 0},
        {"space after", "3 \r\nabc", NULL, ERR_INVALID, false, 0},
        {"underscore", "1_0\r\nabc", NULL, ERR_INVALID, false, 0},
        {"huge", "FFFFFFFFFFFFFFFF\r\n", NULL, ERR_LIMIT, false, 0},
        {"overflow", "10000000000000003\r\nabc\r\n", NULL, ERR_LIMIT, false, 0},
        {"bad trailer", "0\r\n : b\r\n\r\n", NULL, ERR_INVALID, false, 0},
        {"control in trailer", "0\r\nA: \x01\r\n\r\n", NULL, ERR_INVALID, false, 0},
    };
    static const size_t pieces[] = {1, 2, 3, 7, 1000};
    struct strbuf out;
    strbuf_init(&out, 4096);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (size_t p = 0; p < ARRAY_LEN(pieces); p++) {
            struct http_head h = {.body = HTTP_BODY_CHUNKED};
            struct http_body b;
            size_t left = 0;
            strbuf_reset(&out);
            http_body_init(&b, &h);
            int rc = feed_all(&b, rows[i].text, strlen(rows[i].text), pieces[p], &out, &left);
            if (rc != rows[i].rc) fail_msg("%s/%zu: got %d", rows[i].name, pieces[p], rc);
            if (rc != 0) continue;
            if (b.done != rows[i].done || left != rows[i].left ||
                !str_eq(strbuf_str(&out), str_of(rows[i].content)))
                fail_msg("%s/%zu: done %d, left %zu, '%s'", rows[i].name, pieces[p], b.done, left,
                         out.p);
        }
    strbuf_done(&out);
}

static void bounded_chunk_lines(void **state)
{
    (void)state;
    struct strbuf b, out;
    size_t left;
    strbuf_init(&b, 1 << 20);
    strbuf_init(&out, 4096);
    struct http_head h = {.body = HTTP_BODY_CHUNKED};
    struct http_body body;
    strbuf_puts(&b, "3;");
    for (int i = 0; i < 2000; i++) strbuf_putc(&b, 'x');
    http_body_init(&body, &h);
    assert_int_equal(feed_all(&body, b.p, b.n, 100, &out, &left), ERR_LIMIT);
    strbuf_reset(&b);
    strbuf_puts(&b, "0\r\n");
    for (int i = 0; i < 2000; i++) strbuf_puts(&b, "a: b\r\n");
    http_body_init(&body, &h);
    assert_int_equal(feed_all(&body, b.p, b.n, 100, &out, &left), ERR_LIMIT);
    strbuf_done(&b);
    strbuf_done(&out);
}

static void paths(void **state)
{
    (void)state;
    static const struct { const char *raw, *path; } rows[] = {
        {"/", "/"}, {"/a/b", "/a/b"}, {"/a%20b", "/a b"}, {"/%41", "/A"}, {"/a%2Eb", "/a.b"},
        {"/..a", "/..a"}, {"/a..", "/a.."}, {"/...", "/..."}, {"/%C3%A4", "/\xc3\xa4"},
        {"/a//b", "/a//b"}, {"/a+b", "/a+b"},
        {"", NULL}, {"a", NULL}, {"/..", NULL}, {"/.", NULL}, {"/a/../b", NULL}, {"/a/.", NULL},
        {"/%2e%2e/b", NULL}, {"/a/%2E.", NULL}, {"/a%2fb", NULL}, {"/a%00b", NULL}, {"/a%", NULL},
        {"/a%4", NULL}, {"/a%zz", NULL}, {"/%ff", NULL}, {"/%c0%ae%c0%ae/", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char dst[64];
        struct str got = {0};
        int rc = http_path_decode(str_of(rows[i].raw), dst, sizeof(dst), &got, NULL);
        if ((rc == 0) != (rows[i].path != NULL)) fail_msg("'%s': %d", rows[i].raw, rc);
        if (rc == 0 && !str_eq(got, str_of(rows[i].path)))
            fail_msg("'%s': '%s'", rows[i].raw, got.p);
    }
    char small[4];
    struct str got;
    assert_int_equal(http_path_decode(STR("/abc"), small, sizeof(small), &got, NULL), ERR_LIMIT);
}

static void queries(void **state)
{
    (void)state;
    static const struct { const char *query, *name, *value; } rows[] = {
        {"a=1&b=2", "a", "1"}, {"a=1&b=2", "b", "2"}, {"a=1&a=2", "a", "1"}, {"a", "a", ""},
        {"a=", "a", ""}, {"a=b%20c+d", "a", "b c d"}, {"a=b=c", "a", "b=c"}, {"x&a=1", "a", "1"},
        {"", "a", NULL}, {"b=1", "a", NULL}, {"ab=1", "a", NULL}, {"a=%0", "a", NULL},
        {"a=%00", "a", NULL}, {"a=%zz", "a", NULL}, {"a=0123456789012345", "a", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char dst[16];
        struct str got = {0};
        struct str query = str_of(rows[i].query), name = str_of(rows[i].name);
        bool ok = http_query_get(query, name, dst, sizeof(dst), &got);
        if (ok != (rows[i].value != NULL)) fail_msg("'%s': %d", rows[i].query, ok);
        if (ok && !str_eq(got, str_of(rows[i].value))) fail_msg("'%s': '%s'", rows[i].query, got.p);
    }
    static const struct { const char *value; bool sound; } values[] = {
        {"", true}, {"a+b", true}, {"%20", true}, {"%c3%a4", true}, {"%00", false}, {"%", false},
        {"a%2", false}, {"%zz", false}, {"%20%0x", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(values); i++)
        if (http_query_is_sound(str_of(values[i].value)) != values[i].sound)
            fail_msg("'%s'", values[i].value);
    struct strbuf b;
    strbuf_init(&b, 100);
    http_escape(&b, STR("a b/c~\xc3\xa4?"), true);
    assert_string_equal(b.p, "a%20b/c~%C3%A4%3F");
    strbuf_reset(&b);
    http_escape(&b, STR("a/b"), false);
    assert_string_equal(b.p, "a%2Fb");
    strbuf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests), cmocka_unit_test(fields), cmocka_unit_test(nul_bytes),
        cmocka_unit_test(limits), cmocka_unit_test(scan_in_pieces), cmocka_unit_test(responses),
        cmocka_unit_test(chunks), cmocka_unit_test(bounded_chunk_lines), cmocka_unit_test(paths),
        cmocka_unit_test(queries),
    };
    return RUN(tests);
}
