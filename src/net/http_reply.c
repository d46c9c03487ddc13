/* net/http_reply.c - answers, streams and upgrades; see http_server.h.
 *
 * One write for an answer: head and body leave together.  Everything here does
 * nothing but release the request when the client has left. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "net/http_server_impl.h"

/* ---- reading a request ---- */

struct str http_header(const struct http_req *r, const char *name)
{
    return http_head_get(r->head, str_of(name));
}

bool http_query(struct http_req *r, const char *name, struct str *ret)
{
    struct hconn *h = hconn_of(r);
    if (r->query.n == 0) return false;
    char *value = mem_array(r->query.n + 1, 1);
    if (!http_query_get(r->query, str_of(name), value, r->query.n + 1, ret)) {
        mem_free(value);
        return false;
    }
    h->owned = mem_resize(h->owned, h->n_owned + 1, sizeof(*h->owned));
    h->owned[h->n_owned++] = value;
    return true;
}

struct net_loop *http_req_loop(const struct http_req *r)
{
    return hconn_of_const(r)->loop;
}

bool http_req_gone(const struct http_req *r)
{
    return hconn_of_const(r)->conn == NULL;
}

void http_req_on_close(struct http_req *r, void (*fn)(struct http_req *r, void *arg), void *arg)
{
    struct hconn *h = hconn_of(r);
    h->on_close = fn;
    h->on_close_arg = arg;
}

/* ---- heads ---- */

static void put_value(struct strbuf *b, struct str v)
{
    for (size_t i = 0; i < v.n; i++) {
        unsigned char c = (unsigned char)v.p[i];
        strbuf_putc(b, c < 0x20 || c == 0x7f ? ' ' : (char)c);
    }
}

void http_reply_header(struct http_req *r, const char *name, struct str value)
{
    struct strbuf *b = &hconn_of(r)->extra;
    if (b->n + strlen(name) + value.n + 4 > REPLY_HEADERS_MAX) return;
    strbuf_puts(b, name);
    strbuf_puts(b, ": ");
    put_value(b, value);
    strbuf_puts(b, "\r\n");
}

static void begin_head(struct hconn *h, int status, const char *content_type)
{
    struct strbuf *b = &h->srv->head;
    strbuf_reset(b);
    strbuf_puts(b, "HTTP/1.1 ");
    strbuf_u64(b, (uint64_t)status);
    strbuf_putc(b, ' ');
    strbuf_puts(b, http_status_text(status));
    strbuf_puts(b, "\r\nDate: ");
    strbuf_puts(b, http_server_date(h->srv));
    strbuf_puts(b, "\r\n");
    if (content_type != NULL) {
        strbuf_puts(b, "Content-Type: ");
        strbuf_puts(b, content_type);
        strbuf_puts(b, "\r\n");
    }
    if (h->extra.n > 0) strbuf_put(b, strbuf_str(&h->extra));
}

static void end_head(struct hconn *h)
{
    struct strbuf *b = &h->srv->head;
    if (h->close_after || h->srv->stopping) {
        h->close_after = true;
        strbuf_puts(b, "Connection: close\r\n");
    } else if (h->head.minor == 0) {
        strbuf_puts(b, "Connection: keep-alive\r\n");
    }
    strbuf_puts(b, "\r\n");
    CHECK(!b->full); /* extra headers are bounded, the rest is short */
}

static bool has_no_body(int status)
{
    return status < 200 || status == 204 || status == 304;
}

/* ---- whole answers ---- */

void http_reply(struct http_req *r, int status, const char *content_type, struct str body)
{
    struct hconn *h = hconn_of(r);
    if (h->conn == NULL) {
        hconn_request_done(h);
        return;
    }
    CHECK(h->phase == H_WAIT);
    CHECK(status >= 200 && status <= 599);
    begin_head(h, status, content_type);
    if (!has_no_body(status)) {
        strbuf_puts(&h->srv->head, "Content-Length: ");
        strbuf_u64(&h->srv->head, body.n);
        strbuf_puts(&h->srv->head, "\r\n");
    }
    end_head(h);
    struct str parts[2] = {strbuf_str(&h->srv->head), body};
    bool head_only = h->head_only || has_no_body(status);
    (void)net_conn_writev(h->conn, parts, head_only ? 1 : 2);
    hconn_request_done(h);
}

void http_reply_json(struct http_req *r, int status, struct str body)
{
    http_reply(r, status, "application/json", body);
}

static void reply_problem(struct http_req *r, int status, const char *code, const char *field,
                          const char *detail)
{
    struct strbuf b;
    strbuf_init(&b, 16 * 1024);
    strbuf_puts(&b, "{\"type\":\"about:blank\",\"title\":");
    strbuf_json(&b, str_of(http_status_text(status)));
    strbuf_puts(&b, ",\"status\":");
    strbuf_u64(&b, (uint64_t)status);
    strbuf_puts(&b, ",\"code\":");
    strbuf_json(&b, str_of(code));
    strbuf_puts(&b, ",\"detail\":");
    strbuf_json(&b, str_of(detail));
    if (field[0] != '\0') {
        strbuf_puts(&b, ",\"field\":");
        strbuf_json(&b, str_of(field));
    }
    strbuf_puts(&b, "}\n");
    http_reply(r, status, "application/problem+json", strbuf_str(&b));
    strbuf_done(&b);
}

void http_reply_problem(struct http_req *r, int status, const char *code, const char *fmt, ...)
{
    char detail[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(detail, sizeof(detail), fmt, ap);
    va_end(ap);
    reply_problem(r, status, code, "", detail);
}

int http_status_of_err(int err_code)
{
    static const struct {
        int code, status;
    } table[] = {
        {ERR_INVALID, 400},     {ERR_NOT_FOUND, 404}, {ERR_CONFLICT, 409},
        {ERR_LIMIT, 413},       {ERR_DENIED, 403},    {ERR_UNKNOWN, 503},
        {ERR_UNAVAILABLE, 503}, {ERR_TIMEOUT, 504},   {ERR_UNSUPPORTED, 501},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (table[i].code == err_code) return table[i].status;
    return 500;
}

void http_reply_err(struct http_req *r, const struct err *e)
{
    reply_problem(r, http_status_of_err(e->code), err_code_name(e->code), e->field, e->text);
}

/* ---- streams ---- */

void http_stream_start(struct http_req *r, int status, const char *content_type)
{
    struct hconn *h = hconn_of(r);
    h->phase = H_STREAM;
    if (h->conn == NULL) return;
    size_t max = h->srv->opts.stream_max;
    net_conn_set_marks(h->conn, max / 4, max / 2, max);
    h->guarded = false;
    h->chunked = h->head.minor == 1;
    if (!h->chunked) h->close_after = true;
    begin_head(h, status, content_type);
    if (h->chunked) strbuf_puts(&h->srv->head, "Transfer-Encoding: chunked\r\n");
    end_head(h);
    (void)net_conn_write(h->conn, strbuf_str(&h->srv->head));
}

/* A stream may be silent for long, but a client that takes nothing of what is
 * queued is cut off: the clock starts when the queue begins. */
static void guard_stream(struct hconn *h)
{
    bool queued = net_conn_queued(h->conn) > 0;
    if (queued == h->guarded) return;
    h->guarded = queued;
    net_conn_set_idle(h->conn, queued ? h->srv->opts.write_idle_ms : 0);
}

bool http_stream_write(struct http_req *r, struct str data)
{
    struct hconn *h = hconn_of(r);
    if (h->conn == NULL || data.n == 0 || h->head_only) return true;
    CHECK(h->phase == H_STREAM);
    bool more;
    if (h->chunked) {
        char size[24];
        int n = text_fmt(size, sizeof(size), "%zx\r\n", data.n);
        struct str parts[3] = {str_n(size, (size_t)n), data, STR("\r\n")};
        more = net_conn_writev(h->conn, parts, 3);
    } else {
        more = net_conn_write(h->conn, data);
    }
    guard_stream(h);
    return more;
}

size_t http_stream_queued(const struct http_req *r)
{
    const struct hconn *h = hconn_of_const(r);
    return h->conn != NULL ? net_conn_queued(h->conn) : 0;
}

void http_stream_on_drain(struct http_req *r, void (*fn)(struct http_req *r, void *arg), void *arg)
{
    struct hconn *h = hconn_of(r);
    h->on_drain = fn;
    h->on_drain_arg = arg;
}

void http_stream_end(struct http_req *r)
{
    struct hconn *h = hconn_of(r);
    if (h->conn != NULL) {
        CHECK(h->phase == H_STREAM);
        net_conn_set_marks(h->conn, REPLY_LOW, REPLY_HIGH, REPLY_MAX);
        if (h->chunked && !h->head_only) (void)net_conn_write(h->conn, STR("0\r\n\r\n"));
    }
    hconn_request_done(h);
}

void http_stream_abort(struct http_req *r)
{
    struct hconn *h = hconn_of(r);
    struct net_conn *c = h->conn;
    hconn_free(h);
    if (c != NULL) net_conn_abort(c);
}

/* ---- server-sent events ---- */

void http_sse_start(struct http_req *r)
{
    http_reply_header(r, "Cache-Control", STR("no-store"));
    http_reply_header(r, "X-Accel-Buffering", STR("no"));
    http_stream_start(r, 200, "text/event-stream");
}

static void put_field(struct strbuf *b, const char *name, struct str v)
{
    strbuf_puts(b, name);
    put_value(b, v);
    strbuf_putc(b, '\n');
}

bool http_sse_event(struct http_req *r, struct str id, struct str event, struct str data)
{
    struct hconn *h = hconn_of(r);
    if (h->conn == NULL) return true;
    struct strbuf *b = &h->srv->text;
    strbuf_reset(b);
    if (id.n > 0) put_field(b, "id: ", id);
    if (event.n > 0) put_field(b, "event: ", event);
    struct str line;
    bool more = true;
    while (more) {
        more = str_cut(&data, '\n', &line);
        put_field(b, "data: ", line);
    }
    strbuf_putc(b, '\n');
    if (b->full) { /* a piece of an event would be a lie */
        b->full = false;
        return true;
    }
    return http_stream_write(r, strbuf_str(b));
}

bool http_sse_comment(struct http_req *r, struct str text)
{
    struct hconn *h = hconn_of(r);
    if (h->conn == NULL) return true;
    struct strbuf *b = &h->srv->text;
    strbuf_reset(b);
    put_field(b, ": ", text);
    strbuf_putc(b, '\n');
    return http_stream_write(r, strbuf_str(b));
}

/* ---- leaving HTTP ---- */

bool http_wants_upgrade(const struct http_req *r, const char *protocol)
{
    return r->head->upgrade.n > 0 && str_eq_nocase(r->head->upgrade, str_of(protocol));
}

struct net_conn *http_upgrade(struct http_req *r, const char *protocol)
{
    struct hconn *h = hconn_of(r);
    struct net_conn *c = h->conn;
    if (c == NULL) {
        hconn_request_done(h);
        return NULL;
    }
    CHECK(h->phase == H_WAIT);
    static const struct net_conn_ops none;
    struct strbuf *b = &h->srv->head;
    strbuf_reset(b);
    strbuf_puts(b, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ");
    strbuf_puts(b, protocol);
    strbuf_puts(b, "\r\n");
    if (h->extra.n > 0) strbuf_put(b, strbuf_str(&h->extra));
    strbuf_puts(b, "\r\n");
    (void)net_conn_write(c, strbuf_str(b));
    net_conn_pause(c);
    net_conn_set_ops(c, &none, NULL);
    net_conn_set_idle(c, 0);
    net_conn_set_deadline(c, 0);
    net_conn_set_marks(c, 128 * 1024, 256 * 1024, 64 * 1024 * 1024);
    net_conn_unread(c, strbuf_str(&h->later));
    net_conn_unread(c, str_n(h->in.p + h->used, h->in.n - h->used));
    hconn_free(h);
    return c;
}
