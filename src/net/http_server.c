/* net/http_server.c - connections, requests and their deadlines; see http_server.h.
 *
 * One request at a time: what a client sends early waits in `in` or `later` (and
 * soon in the socket).  A struct hconn is freed in one place, and never while our
 * own code still stands on it (held). */
#include "net/http_server.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "net/http_server_impl.h"
#include "net/tls.h"

enum { IN_MAX = 512 * 1024, KEEP_BYTES = 16 * 1024 };

static void server_maybe_stopped(struct http_server *s)
{
    if (s->stopping && s->n_conns == 0 && !s->stop_told) net_timer_set(s->stop_timer, 0, 0);
}

/* ---- life of a connection ---- */

static void unlink_conn(struct hconn *h)
{
    struct http_server *s = h->srv;
    if (s == NULL) return;
    if (h->prev != NULL) h->prev->next = h->next;
    else s->conns = h->next;
    if (h->next != NULL) h->next->prev = h->prev;
    h->srv = NULL;
    s->n_conns--;
    s->bodies -= h->body.n;
    if (!s->stopping && s->n_conns < s->opts.conns_max) net_listener_pause(s->listener, false);
    server_maybe_stopped(s);
}

static void drop_owned(struct hconn *h)
{
    for (uint32_t i = 0; i < h->n_owned; i++) mem_free(h->owned[i]);
    h->n_owned = 0;
}

void hconn_free(struct hconn *h)
{
    unlink_conn(h);
    h->conn = NULL;
    if (h->held) {
        h->dead = true;
        return;
    }
    drop_owned(h);
    mem_free(h->owned);
    mem_free(h->path);
    strbuf_done(&h->in);
    strbuf_done(&h->body);
    strbuf_done(&h->later);
    strbuf_done(&h->extra);
    mem_free(h);
}

/* Brackets around code that may end the connection under itself. */
static bool hold(struct hconn *h)
{
    bool before = h->held;
    h->held = true;
    return before;
}

static void unhold(struct hconn *h, bool before)
{
    h->held = before;
    if (!before && h->dead) hconn_free(h);
}

void hconn_gone(struct hconn *h)
{
    net_conn_close(h->conn);
    h->conn = NULL;
    if (h->phase == H_HEAD || h->phase == H_BODY) {
        hconn_free(h);
        return;
    }
    unlink_conn(h); /* a client that left takes no place */
    if (h->on_close == NULL) return; /* freed when the handler answers */
    bool before = hold(h);
    void (*fn)(struct http_req *, void *) = h->on_close;
    h->on_close = NULL;
    fn(&h->req, h->on_close_arg);
    h->dead = true;
    unhold(h, before);
}

/* ---- requests ---- */

static void refuse(struct hconn *h, int status, const char *code, const char *detail)
{
    h->phase = H_WAIT;
    h->close_after = true;
    http_reply_problem(&h->req, status, code, "%s", detail);
}

static void reset_buffer(struct strbuf *b)
{
    if (b->cap <= KEEP_BYTES) {
        strbuf_reset(b);
        return;
    }
    size_t max = b->max;
    strbuf_done(b);
    strbuf_init(b, max);
}

void hconn_request_done(struct hconn *h)
{
    if (h->conn == NULL) { /* the client had left */
        hconn_free(h);
        return;
    }
    drop_owned(h);
    strbuf_reset(&h->extra);
    h->on_close = NULL;
    h->on_drain = NULL;
    h->req.user = NULL;
    if (h->close_after || h->srv->stopping) {
        struct net_conn *c = h->conn;
        hconn_free(h);
        net_conn_finish(c);
        return;
    }
    h->phase = H_HEAD;
    h->scan = (struct http_scan){0};
    h->skipped_line = false;
    h->chunked = false;
    h->head_only = false;
    h->guarded = false;
    h->srv->bodies -= h->body.n;
    reset_buffer(&h->body);
    if (h->used < h->in.n) {
        strbuf_drop(&h->in, h->used);
    } else {
        reset_buffer(&h->in);
    }
    h->used = 0;
    if (!h->held) { /* answered later: what came meanwhile is read on the next turn */
        net_conn_unread(h->conn, strbuf_str(&h->later));
        net_conn_unread(h->conn, strbuf_str(&h->in));
        reset_buffer(&h->in);
        reset_buffer(&h->later);
    }
    size_t queued = net_conn_queued(h->conn);
    const struct http_server_opts *o = &h->srv->opts;
    net_conn_set_idle(h->conn, queued > 0 ? o->write_idle_ms : o->keepalive_ms);
    /* A client that sends requests but reads no answers gets no more of them. */
    h->blocked = queued > REPLY_HIGH;
    if (h->blocked) h->conn->was_full = true;
    if (net_conn_paused(h->conn)) net_conn_resume(h->conn);
}

/* Path and query out of the target: origin-form, absolute-form or "*". */
static bool fill_target(struct hconn *h, struct err *err)
{
    struct str t = h->head.target, path;
    if (h->head.method == HTTP_CONNECT)
        return err_set(err, ERR_INVALID, "this server is no proxy for CONNECT") == 0;
    if (t.p[0] != '/' && !str_eq(t, STR("*"))) {
        struct str scheme;
        (void)str_cut(&t, ':', &scheme);
        t = str_n(t.p + 2, t.n - 2);
        const char *slash = memchr(t.p, '/', t.n);
        t = slash != NULL ? str_n(slash, t.n - (size_t)(slash - t.p)) : STR("/");
    }
    (void)str_cut(&t, '?', &path);
    h->req.query = t;
    if (str_eq(path, STR("*"))) {
        h->req.path = path;
        return true;
    }
    if (path.n >= h->path_cap) {
        h->path_cap = path.n + 64;
        h->path = mem_resize(h->path, h->path_cap, 1);
    }
    return http_path_decode(path, h->path, h->path_cap, &h->req.path, err) == 0;
}

static void dispatch(struct hconn *h, struct str body)
{
    struct http_req *r = &h->req;
    struct err err = {0};
    r->method = h->head.method;
    r->method_text = h->head.method_text;
    r->target = h->head.target;
    r->body = body;
    h->head_only = r->method == HTTP_HEAD;
    h->close_after = !h->head.keep_alive;
    h->phase = H_WAIT;
    net_conn_set_idle(h->conn, 0);
    net_conn_set_deadline(h->conn, 0);
    if (!fill_target(h, &err)) {
        refuse(h, 400, "bad_target", err.text);
        return;
    }
    h->srv->handler(h->srv->arg, r);
}

static void refuse_large(struct hconn *h)
{
    refuse(h, 413, "too_large", "the body is larger than this server takes");
}

/* A body follows: how much of it is taken? */
static void expect_body(struct hconn *h)
{
    const struct http_server_opts *o = &h->srv->opts;
    h->body_max = o->body_max;
    if (o->body_limit != NULL) {
        size_t limit = o->body_limit(h->srv->arg, &h->req);
        if (limit < h->body_max) h->body_max = limit;
    }
}

/* The head is complete at the front of `in`. */
static void head_done(struct hconn *h, size_t head_bytes)
{
    const struct http_server_opts *o = &h->srv->opts;
    struct err err = {0};
    h->used = head_bytes;
    if (h->cn[0] == '\0') (void)TEXT_SET(h->cn, net_conn_peer_cn(h->conn));
    h->req = (struct http_req){.peer = str_of(h->peer),
                               .tls_cn = str_of(h->cn),
                               .is_tls = net_conn_is_tls(h->conn),
                               .is_unix = str_starts(str_of(h->peer), STR("unix")),
                               .head = &h->head};
    if (http_parse_request(str_n(h->in.p, head_bytes), &h->head, &err) != 0) {
        refuse(h, http_parse_status(&err), "bad_request", err.text);
        return;
    }
    http_body_init(&h->decoder, &h->head);
    struct str rest = str_n(h->in.p + head_bytes, h->in.n - head_bytes);
    if (h->decoder.done) {
        dispatch(h, (struct str){"", 0});
        return;
    }
    expect_body(h);
    if (h->head.body == HTTP_BODY_LENGTH && h->head.length > h->body_max) {
        refuse_large(h);
        return;
    }
    if (h->head.body == HTTP_BODY_LENGTH && rest.n >= h->head.length) {
        h->used += (size_t)h->head.length;
        dispatch(h, str_n(rest.p, (size_t)h->head.length));
        return;
    }
    h->phase = H_BODY;
    net_conn_set_deadline(h->conn, o->body_ms);
    net_conn_set_idle(h->conn, o->body_idle_ms);
    if (h->head.expect_continue && rest.n == 0)
        (void)net_conn_write(h->conn, STR("HTTP/1.1 100 Continue\r\n\r\n"));
}

/* Moves bytes of `in` behind the head into the body. */
static void feed_body(struct hconn *h)
{
    struct str rest = str_n(h->in.p + h->used, h->in.n - h->used), data;
    struct err err = {0};
    while (rest.n > 0 && !h->decoder.done) {
        if (http_body_feed(&h->decoder, &rest, &data, &err) != 0) {
            refuse(h, 400, "bad_request", err.text);
            return;
        }
        if (h->body.n + data.n > h->body_max) {
            refuse_large(h);
            return;
        }
        if (data.n > h->srv->opts.bodies_max - h->srv->bodies) {
            refuse(h, 503, "unavailable", "too many bodies are under way: ask again");
            return;
        }
        h->srv->bodies += data.n;
        strbuf_put(&h->body, data);
    }
    /* The head stays where its slices point; what follows the body moves up to it. */
    memmove(h->in.p + h->used, rest.p, rest.n);
    h->in.n = h->used + rest.n;
    h->in.p[h->in.n] = '\0';
    if (h->decoder.done) dispatch(h, strbuf_str(&h->body));
}

static void read_head(struct hconn *h)
{
    int64_t n = http_scan(&h->scan, h->in.p, h->in.n);
    if (n == 2 && !h->skipped_line) { /* some clients end a body with an extra CRLF */
        h->skipped_line = true;
        strbuf_drop(&h->in, 2);
        h->scan = (struct http_scan){0};
    } else if (n > 0) {
        head_done(h, (size_t)n);
    } else if (n < 0) {
        h->used = h->in.n;
        h->req = (struct http_req){.peer = str_of(h->peer), .head = &h->head};
        bool large = n == ERR_LIMIT;
        refuse(h, large ? 431 : 400, "bad_request",
               large ? "the head is too large" : "a line of the head ends without CR");
    }
}

/* Takes requests out of `in` as long as they are complete and answered at once. */
static void advance(struct hconn *h)
{
    bool before = hold(h);
    while (!h->dead && h->conn != NULL && !h->blocked) {
        size_t had = h->in.n;
        enum hconn_phase phase = h->phase;
        if (phase == H_HEAD && h->in.n > 0) read_head(h);
        else if (phase == H_BODY && h->in.n > h->used) feed_body(h);
        else break;
        if (h->phase == phase && h->in.n == had) break; /* needs more bytes */
    }
    if (!h->dead && h->conn != NULL && h->phase == H_HEAD && h->in.n > 0 && !h->guarded) {
        h->guarded = true; /* once a head: its time counts from its first byte */
        net_conn_set_deadline(h->conn, h->srv->opts.head_ms);
    }
    if (!h->dead && h->conn != NULL && (h->phase == H_WAIT || h->phase == H_STREAM) &&
        h->in.n - h->used > LATER_PAUSE)
        net_conn_pause(h->conn);
    unhold(h, before);
}

static void on_data(struct net_conn *c, struct str data, void *arg)
{
    struct hconn *h = arg;
    if (h->phase == H_WAIT || h->phase == H_STREAM || h->blocked) {
        strbuf_put(&h->later, data);
        if (h->later.n + h->in.n - h->used > LATER_PAUSE) net_conn_pause(c);
        return;
    }
    const char *before = h->in.p;
    strbuf_put(&h->in, data);
    CHECK(!h->in.full);
    if (h->phase == H_BODY && h->in.p != before) { /* the buffer moved: so does the head */
        bool again = http_parse_request(str_n(h->in.p, h->used), &h->head, NULL) == 0;
        CHECK(again);
    }
    advance(h);
}

static void on_drain(struct net_conn *c, void *arg)
{
    struct hconn *h = arg;
    if (h->phase == H_STREAM && h->on_drain != NULL) {
        bool before = hold(h);
        h->on_drain(&h->req, h->on_drain_arg);
        unhold(h, before);
    } else if (h->blocked) {
        h->blocked = false;
        strbuf_put(&h->in, strbuf_str(&h->later));
        CHECK(!h->in.full);
        reset_buffer(&h->later);
        net_conn_resume(c);
        advance(h);
    }
}

static void on_eof(struct net_conn *c, void *arg)
{
    struct hconn *h = arg;
    if (h->phase != H_HEAD) {
        hconn_gone(h);
        return;
    }
    hconn_free(h);
    net_conn_finish(c); /* answers that are on their way still leave */
}

static void on_close(struct net_conn *c, const struct err *why, void *arg)
{
    (void)c;
    (void)why;
    hconn_gone(arg);
}

static void on_idle(struct net_conn *c, void *arg)
{
    struct hconn *h = arg;
    if (h->phase == H_STREAM && net_conn_queued(c) == 0) {
        h->guarded = false;
        return;
    }
    if ((h->phase == H_HEAD && h->in.n > 0 && !h->blocked) || h->phase == H_BODY) {
        bool before = hold(h);
        h->used = h->in.n;
        refuse(h, 408, "too_slow", "the request did not come in time");
        unhold(h, before);
        return;
    }
    hconn_gone(h);
}

static void on_open(struct net_conn *c, void *arg)
{
    struct hconn *h = arg;
    net_conn_set_deadline(c, h->srv->opts.head_ms);
}

static void on_accept(void *arg, int fd)
{
    static const struct net_conn_ops plain_ops = {
        .on_data = on_data, .on_eof = on_eof, .on_drain = on_drain,
        .on_close = on_close, .on_idle = on_idle,
    }, tls_ops = {
        .on_open = on_open, .on_data = on_data, .on_eof = on_eof, .on_drain = on_drain,
        .on_close = on_close, .on_idle = on_idle,
    };
    struct http_server *s = arg;
    const struct net_conn_opts opts = {.tls = s->opts.tls, .connect_ms = s->opts.head_ms};
    struct hconn *h = mem_alloc(sizeof(*h));
    h->srv = s;
    h->loop = s->loop;
    strbuf_init(&h->in, IN_MAX);
    strbuf_init(&h->body, s->opts.body_max);
    strbuf_init(&h->later, IN_MAX);
    strbuf_init(&h->extra, REPLY_HEADERS_MAX);
    h->next = s->conns;
    if (s->conns != NULL) s->conns->prev = h;
    s->conns = h;
    if (++s->n_conns >= s->opts.conns_max) net_listener_pause(s->listener, true);
    h->conn = net_conn_adopt_fd(s->loop, fd, true, &opts, s->opts.tls ? &tls_ops : &plain_ops, h);
    (void)TEXT_SET(h->peer, net_conn_peer(h->conn));
    net_conn_set_marks(h->conn, REPLY_LOW, REPLY_HIGH, REPLY_MAX);
    if (s->opts.tls == NULL) net_conn_set_deadline(h->conn, s->opts.head_ms);
}

/* ---- the server ---- */

static void set_default(int64_t *v, int64_t value)
{
    if (*v == 0) *v = value;
}

static void stop_timer(void *arg)
{
    struct http_server *s = arg;
    s->stop_told = true; /* first: the ends below would ask for this again */
    while (s->conns != NULL) {
        s->n_cut++;
        hconn_gone(s->conns);
    }
    if (s->on_stopped != NULL) s->on_stopped(s->on_stopped_arg, s->n_cut);
}

struct http_server *http_server_listen(struct net_loop *l, struct str addr,
                                       const struct http_server_opts *opts,
                                       void (*handler)(void *arg, struct http_req *req),
                                       void *arg, struct err *err)
{
    struct http_server *s = mem_alloc(sizeof(*s));
    struct http_server_opts *o = &s->opts;
    if (opts != NULL) *o = *opts;
    if (o->body_max == 0) o->body_max = 1024 * 1024;
    if (o->bodies_max == 0) o->bodies_max = 256 * 1024 * 1024;
    if (o->stream_max == 0) o->stream_max = 1024 * 1024;
    if (o->conns_max == 0) o->conns_max = 8192;
    set_default(&o->head_ms, 10000);
    set_default(&o->body_idle_ms, 30000);
    set_default(&o->body_ms, 120000);
    set_default(&o->keepalive_ms, 75000);
    set_default(&o->write_idle_ms, 60000);
    s->listener = net_listen(l, addr, &o->listen, on_accept, s, err);
    if (s->listener == NULL) {
        mem_free(s);
        return NULL;
    }
    o->tls = tls_ctx_ref(o->tls);
    s->loop = l;
    s->handler = handler;
    s->arg = arg;
    s->stop_timer = net_timer_new(l, stop_timer, s);
    strbuf_init(&s->head, HTTP_HEAD_MAX);
    strbuf_init(&s->text, 4 * 1024 * 1024);
    return s;
}

struct str http_server_addr(const struct http_server *s)
{
    return net_listener_addr(s->listener);
}

uint16_t http_server_port(const struct http_server *s)
{
    return net_listener_port(s->listener);
}

struct net_listener *http_server_listener(struct http_server *s)
{
    return s->listener;
}

uint32_t http_server_conns(const struct http_server *s)
{
    return s->n_conns;
}

void http_server_stop(struct http_server *s, int64_t drain_ms,
                      void (*on_done)(void *arg, uint32_t cut), void *arg)
{
    if (s->stopping) return;
    s->stopping = true;
    s->on_stopped = on_done;
    s->on_stopped_arg = arg;
    net_listener_pause(s->listener, true);
    net_timer_set(s->stop_timer, drain_ms, 0);
    for (struct hconn *h = s->conns, *next; h != NULL; h = next) {
        next = h->next;
        if (h->phase != H_HEAD || h->in.n > 0 || h->held) continue;
        struct net_conn *c = h->conn;
        hconn_free(h);
        net_conn_finish(c);
    }
    server_maybe_stopped(s);
}

void http_server_free(struct http_server *s)
{
    if (s == NULL) return;
    s->stopping = true;
    s->stop_told = true;
    while (s->conns != NULL) hconn_gone(s->conns);
    net_listener_close(s->listener);
    net_timer_free(s->stop_timer);
    tls_ctx_free(s->opts.tls);
    strbuf_done(&s->head);
    strbuf_done(&s->text);
    mem_free(s);
}

const char *http_server_date(struct http_server *s)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int64_t now = net_wall_ms() / 1000;
    if (now == s->date_s) return s->date;
    struct tm tm;
    time_t t = (time_t)now;
    gmtime_r(&t, &tm);
    text_fmt(s->date, sizeof(s->date), "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT",
             days + 3 * tm.tm_wday, tm.tm_mday, months + 3 * tm.tm_mon, tm.tm_year + 1900,
             tm.tm_hour, tm.tm_min, tm.tm_sec);
    s->date_s = now;
    return s->date;
}
