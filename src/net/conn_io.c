/* net/conn_io.c - reading, writing and ending a connection; see conn.h.
 *
 * Invariant: a queue that is not empty waits for room on the socket, so that
 * every owed on_drain comes.  What the owner calls never calls back: it kicks the
 * timer where something is to be told. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/check.h"
#include "base/mem.h"
#include "net/conn.h"
#include "net/conn_impl.h"

enum {
    FINISH_IDLE_MS = 5000, /* nobody waits for a connection that finishes */
    LINGER_MS = 1000,      /* after our end: let the peer read it before a reset could */
    LINGER_BYTES = 1 << 20,
};

/* ---- reading ---- */

static void conn_eof(struct net_conn *c)
{
    c->eof = true;
    if (c->finishing || c->ops.on_eof == NULL) {
        if (!c->finishing || c->out.n == 0) conn_end(c, NULL);
        return;
    }
    c->ops.on_eof(c, c->arg);
    if (c->state == CONN_OPEN && c->shut_done) conn_end(c, NULL);
}

static void conn_give_unread(struct net_conn *c)
{
    struct strbuf taken = c->unread;
    strbuf_init(&c->unread, NET_UNREAD_MAX);
    c->ops.on_data(c, strbuf_str(&taken), c->arg);
    strbuf_done(&taken);
    if (c->state == CONN_OPEN && c->ssl != NULL) conn_kick(c); /* an end may wait behind it */
}

/* After our own end: read away what still comes, so that closing does not reset
 * the peer before it has read our last bytes. */
static void conn_linger(struct net_conn *c)
{
    ssize_t n = recv(c->fd, net_loop_buffer(c->loop), NET_READ_BYTES, 0);
    if (n > 0) {
        c->discarded += (size_t)n;
        if (c->discarded <= LINGER_BYTES) return;
    } else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (c->out.n > 0 && n == 0) {
        c->eof = true; /* it may still read */
        return;
    }
    conn_end(c, NULL);
}

/* True when something came (bytes, the end or a failure). */
bool conn_read(struct net_conn *c)
{
    if (c->finishing) {
        conn_linger(c);
        return true;
    }
    if (c->paused || c->eof) return false;
    if (c->unread.n > 0) {
        conn_give_unread(c);
        return true;
    }
    char *buf = net_loop_buffer(c->loop);
    size_t got = 0;
    ssize_t n;
    do {
        n = c->filter->read(c, buf + got, NET_READ_BYTES - got);
        if (n > 0) got += (size_t)n;
        /* A filter yields record by record: gather them for one callback. */
    } while (n > 0 && c->ssl != NULL && got < NET_READ_BYTES / 2);
    if (got > 0) {
        c->bytes_in += got;
        c->last_ms = net_loop_now_ms(c->loop);
        c->ops.on_data(c, str_n(buf, got), c->arg);
        if (c->state != CONN_OPEN) return true;
    }
    if (n == NET_FAIL) {
        struct err e = c->err;
        conn_end(c, &e);
    } else if (n == NET_EOF) {
        if (c->paused || c->finishing || c->unread.n > 0) {
            /* Told when reading goes on, after what was put back: the socket says it again. */
            if (c->ssl != NULL) conn_kick(c);
        } else {
            conn_eof(c);
        }
    } else if (n > 0 && c->filter->pending(c)) {
        conn_kick(c);
    }
    return got > 0 || n != NET_AGAIN;
}

void net_conn_pause(struct net_conn *c)
{
    c->paused = true;
    conn_update(c);
}

void net_conn_resume(struct net_conn *c)
{
    if (!c->paused) return;
    c->paused = false;
    conn_update(c);
    if (c->unread.n > 0 || (c->state == CONN_OPEN && c->filter->pending(c))) conn_kick(c);
}

bool net_conn_paused(const struct net_conn *c)
{
    return c->paused;
}

void net_conn_unread(struct net_conn *c, struct str data)
{
    if (c->state == CONN_CLOSED || data.n == 0) return;
    struct strbuf b;
    strbuf_init(&b, NET_UNREAD_MAX);
    strbuf_put(&b, data);
    strbuf_put(&b, strbuf_str(&c->unread));
    CHECK(!b.full); /* the owner never holds more than that */
    strbuf_done(&c->unread);
    c->unread = b;
    if (!c->paused) conn_kick(c);
}

/* ---- writing ---- */

static void out_append(struct out_queue *q, const char *p, size_t n)
{
    if (n == 0) return;
    if (q->start + q->n + n > q->cap) {
        if (q->start > 0) memmove(q->p, q->p + q->start, q->n);
        q->start = 0;
        if (q->n + n > q->cap) {
            size_t cap = q->cap < 4096 ? 4096 : q->cap;
            while (cap < q->n + n) cap *= 2;
            q->p = mem_resize(q->p, cap, 1);
            q->cap = cap;
        }
    }
    memcpy(q->p + q->start + q->n, p, n);
    q->n += n;
}

static void out_take(struct out_queue *q, size_t n)
{
    CHECK(n <= q->n);
    q->start += n;
    q->n -= n;
    if (q->n > 0) return;
    q->start = 0;
    if (q->cap > 16 * 1024) { /* an idle connection keeps little */
        mem_free(STEAL(q->p));
        q->cap = 0;
    }
}

static void wrote(struct net_conn *c, size_t n)
{
    c->bytes_out += n;
    c->last_ms = net_loop_now_ms(c->loop);
}

/* Writes what the socket takes.  False: failed, c->err is set.  No callbacks. */
static bool conn_flush(struct net_conn *c)
{
    while (c->out.n > 0) {
        ssize_t n = c->filter->write(c, c->out.p + c->out.start, c->out.n);
        if (n == NET_FAIL) return false;
        if (n < 0) return true;
        wrote(c, (size_t)n);
        out_take(&c->out, (size_t)n);
    }
    if (c->shut_wanted && !c->shut_done) {
        int rc = c->filter->shutdown(c);
        if (rc == NET_FAIL) return false;
        c->shut_done = rc == 1;
        if (c->shut_done && c->finishing) net_conn_set_deadline(c, LINGER_MS);
    }
    return true;
}

/* The socket has room: flush, then tell. */
void conn_writable(struct net_conn *c)
{
    if (c->splice_out != NULL) {
        c->splice_out(c);
        if (c->state != CONN_OPEN) return;
    }
    if (!conn_flush(c)) {
        struct err e = c->err;
        conn_end(c, &e);
        return;
    }
    if (c->shut_done && c->eof) {
        conn_end(c, NULL);
        return;
    }
    if (c->was_full && c->out.n <= c->low) {
        c->was_full = false;
        if (c->ops.on_drain != NULL) c->ops.on_drain(c, c->arg);
    }
}

bool net_conn_writev(struct net_conn *c, const struct str *v, uint32_t n)
{
    CHECK(n <= 16);
    if (c->state == CONN_CLOSED || c->failed || c->shut_wanted) return true;
    size_t total = 0, skip = 0;
    for (uint32_t i = 0; i < n; i++) total += v[i].n;
    bool direct = c->state == CONN_OPEN && c->out.n == 0;
    if (direct && c->ssl == NULL && total > 0) {
        struct iovec iov[16];
        for (uint32_t i = 0; i < n; i++)
            iov[i] = (struct iovec){(void *)(uintptr_t)v[i].p, v[i].n};
        struct msghdr m = {.msg_iov = iov, .msg_iovlen = n};
        ssize_t put = sendmsg(c->fd, &m, MSG_NOSIGNAL);
        if (put < 0 && errno != EAGAIN && errno != EINTR) {
            (void)err_sys(&c->err, ERR_IO, errno, "write");
            conn_fail_later(c);
            return true;
        }
        if (put > 0) skip = (size_t)put;
        wrote(c, skip);
    }
    if (c->out.n + total - skip > c->max) {
        (void)err_set(&c->err, ERR_LIMIT, "more than %zu bytes wait for the peer", c->max);
        conn_fail_later(c);
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        size_t gone = skip < v[i].n ? skip : v[i].n;
        skip -= gone;
        out_append(&c->out, v[i].p + gone, v[i].n - gone);
    }
    if (direct && c->ssl != NULL && !conn_flush(c)) conn_fail_later(c);
    if (c->out.n > 0 && c->state == CONN_OPEN) conn_update(c);
    if (c->out.n > c->high) c->was_full = true;
    return c->out.n <= c->high;
}

bool net_conn_write(struct net_conn *c, struct str data)
{
    return net_conn_writev(c, &data, 1);
}

void net_conn_set_marks(struct net_conn *c, size_t low, size_t high, size_t max)
{
    CHECK(low <= high);
    CHECK(high <= max);
    c->low = low;
    c->high = high;
    c->max = max;
}

size_t net_conn_queued(const struct net_conn *c)
{
    return c->out.n;
}

/* ---- ending ---- */

void net_conn_shutdown(struct net_conn *c)
{
    if (c->state == CONN_CLOSED || c->shut_wanted) return;
    c->shut_wanted = true;
    if (c->state == CONN_OPEN && !conn_flush(c)) conn_fail_later(c);
    conn_update(c);
    if (c->shut_done && c->eof) conn_kick(c);
}

void net_conn_finish(struct net_conn *c)
{
    if (c == NULL || c->state == CONN_CLOSED) return;
    if (c->state != CONN_OPEN || c->failed) {
        conn_release(c);
        return;
    }
    net_conn_set_ops(c, &(const struct net_conn_ops){0}, NULL);
    c->finishing = true;
    c->was_full = false;
    struct net_conn **head = net_loop_orphans(c->loop);
    c->orphan_next = *head;
    if (*head != NULL) (*head)->orphan_prev = c;
    *head = c;
    c->deadline_ms = 0;
    net_conn_set_idle(c, FINISH_IDLE_MS);
    c->shut_wanted = true;
    if (!conn_flush(c) || (c->shut_done && c->eof)) {
        conn_release(c);
        return;
    }
    conn_update(c);
}

int net_conn_release_fd(struct net_conn *c, struct strbuf *pending)
{
    if (c->state != CONN_OPEN || c->ssl != NULL || c->failed || c->out.n > 0) return -1;
    if (c->unread.n > 0) {
        if (pending == NULL) return -1;
        strbuf_put(pending, strbuf_str(&c->unread));
    }
    conn_poll_stop(c);
    int fd = c->fd;
    c->fd = -1;
    conn_release(c);
    return fd;
}

/* ---- the plain filter ---- */

static ssize_t plain_read(struct net_conn *c, char *p, size_t n)
{
    ssize_t got = recv(c->fd, p, n, 0);
    if (got >= 0) return got;
    if (errno == EAGAIN || errno == EINTR) return NET_AGAIN;
    (void)err_sys(&c->err, ERR_IO, errno, "read");
    return NET_FAIL;
}

static ssize_t plain_write(struct net_conn *c, const char *p, size_t n)
{
    ssize_t put = send(c->fd, p, n, MSG_NOSIGNAL);
    if (put > 0) return put;
    if (put == 0 || errno == EAGAIN || errno == EINTR) return NET_AGAIN;
    (void)err_sys(&c->err, ERR_IO, errno, "write");
    return NET_FAIL;
}

static int plain_handshake(struct net_conn *c)
{
    (void)c;
    return 1;
}

static int plain_shutdown(struct net_conn *c)
{
    /* A peer that is gone already makes this fail; the read tells that better. */
    (void)shutdown(c->fd, SHUT_WR);
    return 1;
}

static bool plain_pending(const struct net_conn *c)
{
    (void)c;
    return false;
}

static void plain_done(struct net_conn *c)
{
    (void)c;
}

const struct net_filter net_filter_plain = {
    plain_read, plain_write, plain_handshake, plain_shutdown, plain_pending, plain_done,
};
