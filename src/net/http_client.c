/* net/http_client.c - calls and their connections; see http_client.h.
 *
 * A call is waiting, under way (it has a connection of its own), or over.  An idle
 * connection belongs to the pool and closes itself when anything happens on it. */
#include "net/http_client.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "net/http_client_impl.h"
#include "net/tls.h"

enum { CALL_MS = 30000 };

static void start_waiting(struct http_client *c);
static void call_begin(struct http_call *k, bool fresh);

/* ---- lists and life ---- */

static void list_remove(struct call_list *l, struct http_call *k)
{
    if (k->prev != NULL) k->prev->next = k->next;
    else l->first = k->next;
    if (k->next != NULL) k->next->prev = k->prev;
    else l->last = k->prev;
    k->prev = k->next = NULL;
    l->n--;
}

static void list_add(struct call_list *l, struct http_call *k)
{
    k->prev = l->last;
    k->next = NULL;
    if (l->last != NULL) l->last->next = k;
    else l->first = k;
    l->last = k;
    l->n++;
}

static void call_unlink(struct http_call *k)
{
    if (k->client == NULL) return;
    list_remove(k->list, k);
    if (k->counted) k->client->n_pooled--;
    k->counted = false;
    k->client = NULL;
}

static void call_enlist(struct http_call *k, struct call_list *l, bool counted)
{
    if (k->list != NULL) list_remove(k->list, k);
    k->list = l;
    list_add(l, k);
    k->counted = counted;
    if (counted) k->client->n_pooled++;
}

static void call_free(struct http_call *k)
{
    call_unlink(k);
    net_conn_close(STEAL(k->conn));
    net_timer_free(STEAL(k->timer));
    if (k->held) {
        k->dead = true;
        return;
    }
    strbuf_done(&k->out);
    strbuf_done(&k->in);
    strbuf_done(&k->body);
    mem_free(k);
}

/* ---- the pool ---- */

struct kept {
    struct http_client *client;
    struct net_conn *conn;
    struct kept *next;
};

static void kept_drop(struct kept *p)
{
    struct kept **at = &p->client->kept;
    while (*at != p) at = &(*at)->next;
    *at = p->next;
    net_conn_close(p->conn);
    mem_free(p);
}

static void kept_on_data(struct net_conn *conn, struct str data, void *arg)
{
    (void)conn;
    (void)data; /* an answer to nothing: this peer is confused */
    kept_drop(arg);
}

static void kept_on_close(struct net_conn *conn, const struct err *why, void *arg)
{
    (void)conn;
    (void)why;
    kept_drop(arg);
}

static void keep(struct http_client *c, struct net_conn *conn)
{
    static const struct net_conn_ops ops = {.on_data = kept_on_data, .on_close = kept_on_close};
    struct kept *p = mem_alloc(sizeof(*p));
    *p = (struct kept){.client = c, .conn = conn, .next = c->kept};
    c->kept = p;
    net_conn_set_ops(conn, &ops, p);
    net_conn_set_idle(conn, c->opts.keep_ms);
}

static struct net_conn *take_kept(struct http_client *c)
{
    struct kept *p = c->kept; /* the one used last is the least likely to be stale */
    if (p == NULL) return NULL;
    struct net_conn *conn = p->conn;
    c->kept = p->next;
    mem_free(p);
    return conn;
}

/* ---- ends ---- */

/* The connection is free again, or useless. */
static void release_conn(struct http_call *k, bool reusable)
{
    struct net_conn *conn = STEAL(k->conn);
    struct http_client *c = k->client;
    net_timer_stop(k->timer);
    call_unlink(k);
    if (conn == NULL) return;
    if (reusable && net_conn_is_open(conn) && net_conn_queued(conn) == 0 &&
        !net_conn_paused(conn))
        keep(c, conn);
    else
        net_conn_close(conn);
}

static void call_over(struct http_call *k, const struct err *err, struct net_conn *upgraded)
{
    struct http_client *c = k->client;
    bool whole = err == NULL && k->head_done && k->decoder.done;
    release_conn(k, whole && k->head.keep_alive && k->head.status != 101);
    start_waiting(c);
    bool before = k->held;
    k->held = true;
    struct http_answer a = {.err = err};
    if (err == NULL) {
        a.status = k->head.status;
        a.head = &k->head;
        a.body = strbuf_str(&k->body);
    }
    switch (k->kind) {
    case CALL_BUFFERED:
        k->on_done(k->arg, &a);
        break;
    case CALL_STREAM:
        k->stream.on_end(k->arg, err);
        break;
    case CALL_UPGRADE:
        k->on_upgrade(k->arg, upgraded, &a);
        break;
    }
    k->held = before;
    call_free(k);
}

static void call_fail(struct http_call *k, int code, const char *text)
{
    struct err e = {0};
    (void)err_set(&e, code, "%s", text);
    call_over(k, &e, NULL);
}

static void on_timeout(void *arg)
{
    struct http_call *k = arg;
    if (k->early.code != 0) {
        struct err e = k->early;
        call_over(k, &e, NULL);
        return;
    }
    call_fail(k, ERR_TIMEOUT, "no answer within the time allowed");
}

/* ---- answers ---- */

static void upgraded(struct http_call *k)
{
    static const struct net_conn_ops none;
    struct net_conn *conn = k->conn;
    if (k->kind != CALL_UPGRADE || !str_eq_nocase(k->head.upgrade, str_of(k->protocol))) {
        call_fail(k, ERR_INVALID, "the server changed to a protocol that was not asked for");
        return;
    }
    k->conn = NULL;
    net_conn_pause(conn);
    net_conn_set_ops(conn, &none, NULL);
    net_conn_set_idle(conn, 0);
    net_conn_set_deadline(conn, 0);
    net_conn_unread(conn, str_n(k->in.p + k->used, k->in.n - k->used));
    call_over(k, NULL, conn);
}

/* False: more bytes are needed, or the call is over. */
static bool read_head(struct http_call *k)
{
    int64_t n = http_scan(&k->scan, k->in.p, k->in.n);
    if (n == 0) return false;
    struct err e = {0};
    if (n < 0 || n == 2) {
        call_fail(k, ERR_INVALID, "the answer is no HTTP");
        return false;
    }
    if (http_parse_response(str_n(k->in.p, (size_t)n), k->method, &k->head, &e) != 0) {
        (void)err_prefix(&e, "malformed answer");
        call_over(k, &e, NULL);
        return false;
    }
    if (k->head.status < 200 && k->head.status != 101) { /* an interim answer */
        strbuf_drop(&k->in, (size_t)n);
        k->scan = (struct http_scan){0};
        return k->in.n > 0;
    }
    k->used = (size_t)n;
    k->head_done = true;
    http_body_init(&k->decoder, &k->head);
    if (k->head.status == 101) {
        upgraded(k);
        return false;
    }
    if (k->kind == CALL_STREAM) {
        net_timer_stop(k->timer);
        net_conn_set_idle(k->conn, k->idle_ms);
        if (k->stream.on_head != NULL) k->stream.on_head(k->arg, &k->head);
    }
    return !k->dead;
}

static void give(struct http_call *k, struct str data)
{
    if (data.n == 0) return;
    if (k->kind == CALL_STREAM) {
        k->stream.on_data(k->arg, data);
        return;
    }
    if (k->body.n + data.n > k->body_max) {
        call_fail(k, ERR_LIMIT, "the answer is larger than is taken");
        return;
    }
    strbuf_put(&k->body, data);
}

static void read_body(struct http_call *k, struct str rest)
{
    struct err e = {0};
    while (!k->dead && rest.n > 0 && !k->decoder.done) {
        struct str data;
        if (http_body_feed(&k->decoder, &rest, &data, &e) != 0) {
            (void)err_prefix(&e, "malformed answer");
            call_over(k, &e, NULL);
            return;
        }
        give(k, data);
    }
    if (k->dead || !k->decoder.done) return;
    if (rest.n > 0) k->head.keep_alive = false; /* more than was asked for */
    call_over(k, NULL, NULL);
}

static void on_data(struct net_conn *conn, struct str data, void *arg)
{
    struct http_call *k = arg;
    (void)conn;
    k->held = true;
    k->got_bytes = true;
    if (k->head_done) {
        read_body(k, data);
    } else {
        strbuf_put(&k->in, data);
        if (k->in.full) {
            call_fail(k, ERR_LIMIT, "the head of the answer is too large");
        } else {
            while (!k->dead && !k->head_done && read_head(k)) continue;
            if (!k->dead && k->head_done) {
                /* The head stays for its slices; the rest is read from beside it. */
                struct str rest = str_n(k->in.p + k->used, k->in.n - k->used);
                k->in.n = k->used;
                if (k->decoder.done && rest.n == 0) call_over(k, NULL, NULL);
                else read_body(k, rest);
            }
        }
    }
    k->held = false;
    if (k->dead) call_free(k);
}

static void on_close(struct net_conn *conn, const struct err *why, void *arg)
{
    struct http_call *k = arg;
    (void)conn;
    k->conn = NULL;
    if (why == NULL && k->head_done && k->decoder.kind == HTTP_BODY_UNTIL_CLOSE) {
        k->decoder.done = true;
        call_over(k, NULL, NULL);
        return;
    }
    if (k->reused && !k->got_bytes && k->idempotent) {
        k->reused = false;
        call_begin(k, true);
        return;
    }
    struct err e = {0};
    if (why != NULL && !k->opened) {
        e = *why;
    } else {
        /* It was sent: whether it had an effect is not known. */
        (void)err_set(&e, why != NULL && why->code == ERR_TIMEOUT ? ERR_TIMEOUT : ERR_UNKNOWN,
                      "the connection ended before the answer did%s%s", why != NULL ? ": " : "",
                      why != NULL ? why->text : "");
    }
    call_over(k, &e, NULL);
}

static void on_open(struct net_conn *conn, void *arg)
{
    struct http_call *k = arg;
    (void)conn;
    k->opened = true;
}

/* ---- beginnings ---- */

static const struct net_conn_ops call_ops = {
    .on_open = on_open, .on_data = on_data, .on_close = on_close,
};

static void fail_later(struct http_call *k)
{
    net_timer_set(k->timer, 0, 0);
}

/* Takes or makes a connection and sends; k is in `active`. */
static void call_begin(struct http_call *k, bool fresh)
{
    struct http_client *c = k->client;
    struct net_conn *conn = fresh ? NULL : take_kept(c);
    k->reused = conn != NULL;
    k->opened = conn != NULL;
    if (conn != NULL) {
        net_conn_set_ops(conn, &call_ops, k);
        net_conn_set_idle(conn, 0);
    } else {
        const struct net_conn_opts o = {.tls = c->opts.tls,
                                        .tls_name = c->tls_name[0] != '\0' ? c->tls_name : NULL,
                                        .connect_ms = c->opts.connect_ms};
        conn = net_dial(c->loop, str_of(c->addr), &o, &call_ops, k, &k->early);
        if (conn == NULL) {
            fail_later(k);
            return;
        }
    }
    k->conn = conn;
    (void)net_conn_write(conn, strbuf_str(&k->out));
}

static void start_waiting(struct http_client *c)
{
    while (c->waiting.first != NULL && c->n_pooled < c->opts.conns_max) {
        struct http_call *k = c->waiting.first;
        call_enlist(k, &c->active, true);
        call_begin(k, false);
    }
}

void http_call_start(struct http_call *k, int64_t timeout_ms)
{
    struct http_client *c = k->client;
    k->timer = net_timer_new(c->loop, on_timeout, k);
    if (k->early.code == 0 && c->waiting.n >= c->opts.waiting_max)
        (void)err_set(&k->early, ERR_UNAVAILABLE, "too many calls wait already");
    if (k->early.code != 0) {
        call_enlist(k, &c->refused, false);
        fail_later(k);
        return;
    }
    if (timeout_ms == 0) timeout_ms = CALL_MS;
    if (timeout_ms > 0) net_timer_set(k->timer, timeout_ms, 0);
    if (k->kind == CALL_UPGRADE) {
        call_enlist(k, &c->active, false);
        call_begin(k, true);
        return;
    }
    call_enlist(k, &c->waiting, false);
    start_waiting(c);
}

void http_client_drop_kept(struct http_client *c)
{
    while (c->kept != NULL) kept_drop(c->kept);
}

void http_call_cancel(struct http_call *k)
{
    if (k == NULL) return;
    struct http_client *c = k->client;
    call_free(k);
    if (c != NULL) start_waiting(c);
}

void http_call_pause(struct http_call *k)
{
    if (k->conn != NULL) net_conn_pause(k->conn);
}

void http_call_resume(struct http_call *k)
{
    if (k->conn != NULL) net_conn_resume(k->conn);
}
