/* Any bytes as a request, a response, a target or an event stream.
 *
 * Beyond not crashing: what is accepted lies within the input, holds no byte that
 * two readers could take differently, and does not depend on how the input was
 * cut into pieces. */
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "net/http_client.h"
#include "net/http_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool within(struct str s, struct str whole)
{
    return s.n == 0 || (s.p >= whole.p && s.p + s.n <= whole.p + whole.n);
}

static void check_clean(struct str s)
{
    for (size_t i = 0; i < s.n; i++) CHECK((unsigned char)s.p[i] >= 0x20 || s.p[i] == '\t');
}

/* The content and the rest, fed in pieces of `piece` bytes. */
static int feed(const struct http_head *h, struct str in, size_t piece, struct strbuf *out,
                size_t *ret_left)
{
    struct http_body b;
    http_body_init(&b, h);
    while (in.n > 0 && !b.done) {
        struct str part = str_n(in.p, in.n < piece ? in.n : piece), data;
        size_t given = part.n;
        while (part.n > 0 && !b.done) {
            int rc = http_body_feed(&b, &part, &data, NULL);
            if (rc != 0) return rc;
            CHECK(within(data, in));
            strbuf_put(out, data);
        }
        in = str_n(in.p + (given - part.n), in.n - (given - part.n));
    }
    *ret_left = in.n;
    return b.done ? 0 : 1;
}

static void check_body(const struct http_head *h, struct str rest)
{
    struct strbuf whole, cut;
    size_t left_whole = 0, left_cut = 0;
    strbuf_init(&whole, 1 << 20);
    strbuf_init(&cut, 1 << 20);
    int a = feed(h, rest, rest.n + 1, &whole, &left_whole);
    int b = feed(h, rest, 1, &cut, &left_cut);
    CHECK(a == b);
    if (a >= 0) {
        CHECK(left_whole == left_cut);
        CHECK(str_eq(strbuf_str(&whole), strbuf_str(&cut)));
    }
    strbuf_done(&whole);
    strbuf_done(&cut);
}

static void check_head(const struct http_head *h, struct str head)
{
    uint32_t lengths = 0, codings = 0;
    CHECK(h->n_headers <= HTTP_HEADERS_MAX);
    for (uint32_t i = 0; i < h->n_headers; i++) {
        CHECK(within(h->headers[i].name, head));
        CHECK(within(h->headers[i].value, head));
        CHECK(h->headers[i].name.n > 0);
        check_clean(h->headers[i].name);
        check_clean(h->headers[i].value);
        lengths += str_eq_nocase(h->headers[i].name, STR("content-length"));
        codings += str_eq_nocase(h->headers[i].name, STR("transfer-encoding"));
    }
    CHECK(lengths + codings <= 1);
    CHECK(h->body != HTTP_BODY_CHUNKED || codings == 1);
    CHECK(h->body != HTTP_BODY_LENGTH || lengths == 1);
}

static void message(struct str in, bool request)
{
    struct http_scan s = {0}, piecewise = {0};
    struct err err = {0};
    int64_t n = http_scan(&s, in.p, in.n), m = 0;
    for (size_t i = 1; i <= in.n && m == 0; i++) m = http_scan(&piecewise, in.p, i);
    CHECK(n == m);
    if (n <= 0) return;
    CHECK((size_t)n <= in.n);
    static struct http_head h;
    struct str head = str_n(in.p, (size_t)n);
    int rc = request ? http_parse_request(head, &h, &err)
                     : http_parse_response(head, HTTP_GET, &h, &err);
    if (rc != 0) {
        CHECK(http_parse_status(&err) >= 400);
        CHECK(err.text[0] != '\0');
        return;
    }
    check_head(&h, head);
    if (request) {
        CHECK(within(h.target, head));
        CHECK(h.target.n > 0);
        check_clean(h.target);
        CHECK(h.body != HTTP_BODY_UNTIL_CLOSE);
    }
    check_body(&h, str_n(in.p + n, in.n - (size_t)n));
}

static void target(struct str in)
{
    char path[256], value[64];
    struct str got;
    if (http_path_decode(in, path, sizeof(path), &got, NULL) == 0) {
        CHECK(got.n > 0);
        CHECK(got.p[0] == '/');
        CHECK(str_is_utf8(got));
        CHECK(memmem(got.p, got.n, "/../", 4) == NULL);
        CHECK(!str_ends(got, STR("/..")));
    }
    if (http_query_get(in, STR("a"), value, sizeof(value), &got)) {
        CHECK(got.n < sizeof(value));
        CHECK(memchr(got.p, '\0', got.n) == NULL);
    }
    struct strbuf b;
    strbuf_init(&b, 1 << 20);
    http_escape(&b, in, true);
    check_clean(strbuf_str(&b));
    strbuf_done(&b);
}

static void on_event(void *arg, struct str id, struct str event, struct str data)
{
    strbuf_put(arg, id);
    strbuf_put(arg, event);
    strbuf_put(arg, data);
    strbuf_putc(arg, '|');
}

static void events(struct str in)
{
    struct strbuf whole, cut;
    strbuf_init(&whole, 1 << 20);
    strbuf_init(&cut, 1 << 20);
    struct http_sse *a = http_sse_new(1000, on_event, &whole);
    struct http_sse *b = http_sse_new(1000, on_event, &cut);
    int rc = http_sse_feed(a, in, NULL), rc_cut = 0;
    for (size_t i = 0; i < in.n && rc_cut == 0; i++)
        rc_cut = http_sse_feed(b, str_n(in.p + i, 1), NULL);
    CHECK(rc == rc_cut);
    if (rc == 0) CHECK(str_eq(strbuf_str(&whole), strbuf_str(&cut)));
    http_sse_free(a);
    http_sse_free(b);
    strbuf_done(&whole);
    strbuf_done(&cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    /* A copy of exactly that size: reading past it is seen. */
    char *copy = mem_strndup((const char *)data + 1, size - 1);
    struct str in = str_n(copy, size - 1);
    switch (data[0]) {
    case 'q': message(in, true); break;
    case 'r': message(in, false); break;
    case 't': target(in); break;
    case 'e': events(in); break;
    default: break;
    }
    mem_free(copy);
    return 0;
}
