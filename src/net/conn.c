/* net/conn.c - life, events and deadlines of a connection; see conn.h.
 *
 * Invariants: callbacks come from poll and timer events alone; the timer serves
 * silence, the deadline and what must come "on a later turn"; conn_release is the
 * one way out. */
#include "net/conn.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "net/conn_impl.h"
#include "net/tls.h"

enum { TIMER_NEVER = -1 };

static void conn_on_poll(uv_poll_t *h, int status, int events);
static void conn_on_timer(uv_timer_t *h);

/* ---- life ---- */

struct net_conn *conn_make(struct net_loop *l, bool server, const struct net_conn_opts *opts,
                           const struct net_conn_ops *ops, void *arg)
{
    static const struct net_conn_opts none;
    if (opts == NULL) opts = &none;
    struct net_conn *c = mem_alloc(sizeof(*c));
    c->loop = l;
    c->fd = -1;
    c->server = server;
    c->ops = *ops;
    c->arg = arg;
    c->filter = &net_filter_plain;
    c->tls = tls_ctx_ref(opts->tls);
    c->low = 128 * 1024;
    c->high = 256 * 1024;
    c->max = 64 * 1024 * 1024;
    c->idle_ms = opts->idle_ms;
    c->last_ms = net_loop_now_ms(l);
    c->timer_due = TIMER_NEVER;
    uv_timer_init(net_loop_uv(l), &c->timer);
    uv_handle_set_data((uv_handle_t *)&c->timer, c);
    c->handles = 1;
    strbuf_init(&c->unread, NET_UNREAD_MAX);
    return c;
}

static void on_handle_closed(uv_handle_t *h)
{
    struct net_conn *c = uv_handle_get_data(h);
    CHECK(c->handles > 0);
    if (--c->handles == 0) mem_free(c);
}

static void orphan_unlink(struct net_conn *c)
{
    struct net_conn **head = net_loop_orphans(c->loop);
    if (c->orphan_prev != NULL)
        c->orphan_prev->orphan_next = c->orphan_next;
    else if (*head == c)
        *head = c->orphan_next;
    if (c->orphan_next != NULL) c->orphan_next->orphan_prev = c->orphan_prev;
    c->orphan_prev = c->orphan_next = NULL;
}

/* Lets go of everything but the struct, which lives until the handles are closed. */
void conn_release(struct net_conn *c)
{
    c->state = CONN_CLOSED;
    if (c->finishing) orphan_unlink(c);
    if (c->dial != NULL) dial_free(c);
    c->filter->done(c);
    tls_ctx_free(STEAL(c->tls));
    if (c->poll_made) uv_close((uv_handle_t *)&c->poll, on_handle_closed);
    uv_close((uv_handle_t *)&c->timer, on_handle_closed);
    if (c->fd >= 0) close(c->fd);
    c->fd = -1;
    mem_free(STEAL(c->out.p));
    c->out = (struct out_queue){0};
    strbuf_done(&c->unread);
}

void conn_end(struct net_conn *c, const struct err *why)
{
    if (c->state == CONN_CLOSED) return;
    c->state = CONN_CLOSED;
    if (c->ops.on_close != NULL) c->ops.on_close(c, why, c->arg);
    conn_release(c);
}

void net_conn_close(struct net_conn *c)
{
    if (c == NULL || c->state == CONN_CLOSED) return;
    conn_release(c);
}

void net_conn_abort(struct net_conn *c)
{
    if (c->state == CONN_CLOSED) return;
    struct linger hard = {.l_onoff = 1, .l_linger = 0};
    if (c->fd >= 0) setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    conn_release(c);
}

/* ---- polling ---- */

void conn_set_fd(struct net_conn *c, int fd)
{
    CHECK(c->fd < 0);
    CHECK(!c->poll_made);
    c->fd = fd;
    CHECK(uv_poll_init(net_loop_uv(c->loop), &c->poll, fd) == 0);
    uv_handle_set_data((uv_handle_t *)&c->poll, c);
    c->poll_made = true;
    c->handles++;
}

static void poll_set(struct net_conn *c, int events)
{
    if (events == c->events) return;
    c->events = events;
    if (events == 0)
        uv_poll_stop(&c->poll);
    else
        uv_poll_start(&c->poll, events, conn_on_poll);
}

void conn_poll_stop(struct net_conn *c)
{
    poll_set(c, 0);
}

/* Waits for exactly what can move.  Changing costs system calls: hence reading
 * stays on while a request is answered. */
void conn_update(struct net_conn *c)
{
    if (c->state == CONN_CLOSED || c->state == CONN_DIAL) return;
    int events = 0;
    if (c->state == CONN_HANDSHAKE) {
        events = c->want_write ? UV_WRITABLE : UV_READABLE;
    } else {
        bool reads = !c->eof && (!c->paused || c->finishing);
        if (reads) events |= UV_READABLE;
        if (c->out.n > 0 || c->want_write || (c->shut_wanted && !c->shut_done))
            events |= UV_WRITABLE;
    }
    poll_set(c, events);
}

/* ---- the timer ---- */

static int64_t conn_due(const struct net_conn *c)
{
    int64_t due = c->idle_ms > 0 ? c->last_ms + c->idle_ms : TIMER_NEVER;
    if (c->deadline_ms > 0 && (due == TIMER_NEVER || c->deadline_ms < due)) due = c->deadline_ms;
    return due;
}

static void conn_rearm(struct net_conn *c)
{
    if (c->kicked || c->state == CONN_CLOSED) return;
    int64_t due = conn_due(c);
    /* An early timer is harmless: it looks again.  So only earlier dues cost. */
    if (due == TIMER_NEVER || (c->timer_due != TIMER_NEVER && c->timer_due <= due)) return;
    int64_t now = net_loop_now_ms(c->loop);
    c->timer_due = due;
    uv_timer_start(&c->timer, conn_on_timer, due > now ? (uint64_t)(due - now) : 1, 0);
}

/* Something is to be told on a later turn. */
void conn_kick(struct net_conn *c)
{
    if (c->kicked || c->state == CONN_CLOSED) return;
    c->kicked = true;
    c->timer_due = net_loop_now_ms(c->loop);
    uv_timer_start(&c->timer, conn_on_timer, 0, 0);
}

void conn_fail_later(struct net_conn *c)
{
    c->failed = true;
    c->out.n = 0;
    conn_kick(c);
}

void net_conn_set_idle(struct net_conn *c, int64_t ms)
{
    CHECK(ms >= 0);
    c->idle_ms = ms;
    c->last_ms = net_loop_now_ms(c->loop);
    conn_rearm(c);
}

void net_conn_set_deadline(struct net_conn *c, int64_t ms)
{
    CHECK(ms >= 0);
    c->deadline_ms = ms > 0 ? net_loop_now_ms(c->loop) + ms : 0;
    conn_rearm(c);
}

/* It was we who slept, not the peer, when its bytes are there already. */
static bool bytes_wait(const struct net_conn *c)
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    return c->state == CONN_OPEN && !c->paused && !c->eof && poll(&p, 1, 0) == 1 &&
           (p.revents & POLLIN) != 0;
}

static void conn_timed_out(struct net_conn *c)
{
    bool deadline = c->deadline_ms > 0 && c->deadline_ms <= net_loop_now_ms(c->loop);
    if (!deadline && bytes_wait(c)) {
        c->last_ms = net_loop_now_ms(c->loop);
        return;
    }
    c->deadline_ms = 0;
    c->idle_ms = 0;
    if (c->state == CONN_OPEN && c->ops.on_idle != NULL) {
        c->ops.on_idle(c, c->arg);
        return;
    }
    struct err e = {0};
    const char *what = "nothing moved for too long";
    if (c->state == CONN_DIAL) what = "no connection within the time allowed";
    else if (c->state == CONN_HANDSHAKE) what = "no TLS handshake within the time allowed";
    else if (deadline) what = "the time allowed is over";
    (void)err_set(&e, ERR_TIMEOUT, "%s", what);
    conn_end(c, &e);
}

/* ---- events ---- */

static void conn_opened(struct net_conn *c)
{
    c->state = CONN_OPEN;
    c->deadline_ms = 0;
    c->last_ms = net_loop_now_ms(c->loop);
    if (c->ops.on_open != NULL) {
        c->ops.on_open(c, c->arg);
        if (c->state == CONN_CLOSED) return;
    }
    conn_writable(c);
    if (c->state == CONN_OPEN && c->filter->pending(c)) conn_kick(c);
}

static void conn_handshake(struct net_conn *c)
{
    int rc = c->filter->handshake(c);
    if (rc == 1) {
        conn_opened(c);
    } else if (rc == NET_FAIL) {
        struct err e = c->err;
        conn_end(c, &e);
    }
}

void conn_connected(struct net_conn *c)
{
    c->state = CONN_HANDSHAKE;
    conn_handshake(c);
    conn_update(c);
}

static void conn_on_poll(uv_poll_t *h, int status, int events)
{
    struct net_conn *c = uv_handle_get_data((uv_handle_t *)h);
    if (status < 0) c->events = 0; /* libuv stopped it: the socket has an error */
    if (c->state == CONN_HANDSHAKE) {
        conn_handshake(c);
        conn_update(c);
        return;
    }
    if (events & UV_WRITABLE) conn_writable(c);
    bool moved = false;
    if (c->state == CONN_OPEN && (status < 0 || (events & UV_READABLE)))
        moved = (c->splice_in != NULL && c->splice_in(c)) || conn_read(c);
    if (c->state == CONN_OPEN && status < 0 && !moved) {
        int code = 0;
        socklen_t len = sizeof(code);
        getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &code, &len);
        struct err e = {0};
        (void)err_sys(&e, ERR_IO, code != 0 ? code : ECONNRESET, "connection lost");
        conn_end(c, &e);
    }
    conn_update(c);
}

static void conn_on_timer(uv_timer_t *h)
{
    struct net_conn *c = uv_handle_get_data((uv_handle_t *)h);
    bool kicked = c->kicked;
    c->kicked = false;
    c->timer_due = TIMER_NEVER;
    if (c->failed) {
        struct err e = c->err;
        conn_end(c, &e);
        return;
    }
    if (kicked && c->open_due) {
        c->open_due = false;
        conn_opened(c);
    }
    if (kicked && c->state == CONN_OPEN) {
        if (c->shut_done && c->eof)
            conn_end(c, NULL);
        else if (!c->paused && (c->unread.n > 0 || c->filter->pending(c)))
            conn_read(c);
    }
    if (c->state == CONN_CLOSED) return;
    int64_t due = conn_due(c);
    if (due != TIMER_NEVER && due <= net_loop_now_ms(c->loop)) conn_timed_out(c);
    if (c->state == CONN_CLOSED) return;
    conn_update(c);
    conn_rearm(c);
}

/* ---- facts ---- */

void net_conn_set_ops(struct net_conn *c, const struct net_conn_ops *ops, void *arg)
{
    c->ops = *ops;
    c->arg = arg;
    c->splice_in = NULL;
    c->splice_out = NULL;
}

bool net_conn_is_open(const struct net_conn *c)
{
    return c->state == CONN_OPEN && !c->failed;
}

int net_conn_fd(const struct net_conn *c)
{
    return c->fd;
}

struct net_loop *net_conn_loop(const struct net_conn *c)
{
    return c->loop;
}

struct str net_conn_peer(const struct net_conn *c)
{
    return str_of(c->peer);
}

struct str net_conn_peer_cn(const struct net_conn *c)
{
    return str_of(c->cn);
}

bool net_conn_is_tls(const struct net_conn *c)
{
    return c->tls != NULL;
}

uint64_t net_conn_bytes_in(const struct net_conn *c)
{
    return c->bytes_in;
}

uint64_t net_conn_bytes_out(const struct net_conn *c)
{
    return c->bytes_out;
}
