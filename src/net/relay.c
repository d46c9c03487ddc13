/* net/relay.c - two connections joined; see conn.h.
 *
 * Each side is read only while the other takes: at most one read buffer and the
 * high mark are held per direction.  Small traffic is copied, which costs the
 * same two system calls and no descriptors.  A direction that fills a large read
 * gets a pipe, and from then on its bytes are spliced past us; both sides must be
 * plain, and bytes that were copied before must have left first.
 * Invariant: while a pipe holds bytes, its source is paused. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/conn.h"
#include "net/conn_impl.h"

enum { BULK_BYTES = 64 * 1024, PIPE_BYTES = 1 << 20 };

struct direction { /* from side i to the other */
    uint64_t moved; /* bytes read */
    size_t held;    /* bytes in the pipe */
    int pipe[2];    /* -1: copied */
    bool ended;     /* the source sends no more */
    bool no_pipe;   /* none to be had */
};

struct net_relay {
    struct net_conn *side[2];
    struct direction dir[2];
    void (*on_done)(void *arg, const struct net_relay_result *r);
    void *arg;
};

static int index_of(const struct net_relay *r, const struct net_conn *c)
{
    return r->side[0] == c ? 0 : 1;
}

static void relay_free(struct net_relay *r)
{
    for (int i = 0; i < 2; i++) {
        if (r->dir[i].pipe[0] < 0) continue;
        close(r->dir[i].pipe[0]);
        close(r->dir[i].pipe[1]);
    }
    mem_free(r);
}

static void relay_over(struct net_relay *r, const struct err *why)
{
    struct net_relay_result res = {.a_to_b = r->dir[0].moved, .b_to_a = r->dir[1].moved};
    if (why != NULL) res.err = *why;
    void (*on_done)(void *, const struct net_relay_result *) = r->on_done;
    void *arg = r->arg;
    relay_free(r);
    if (on_done != NULL) on_done(arg, &res);
}

/* ---- spliced ---- */

/* Moves what the pipe of direction i holds into its target. */
static void push(struct net_relay *r, int i)
{
    struct direction *d = &r->dir[i];
    struct net_conn *from = r->side[i], *to = r->side[!i];
    while (d->held > 0) {
        ssize_t n = splice(d->pipe[0], NULL, to->fd, NULL, d->held,
                           SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
        if (n > 0) {
            d->held -= (size_t)n;
            to->bytes_out += (uint64_t)n;
            to->last_ms = net_loop_now_ms(to->loop);
            continue;
        }
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) break;
        (void)err_sys(&to->err, ERR_IO, n < 0 ? errno : EPIPE, "write");
        conn_fail_later(to);
        return;
    }
    to->want_write = d->held > 0;
    conn_update(to);
    if (d->held > 0) net_conn_pause(from);
    else net_conn_resume(from);
}

static void splice_out(struct net_conn *c)
{
    struct net_relay *r = c->arg;
    int i = !index_of(r, c);
    if (r->dir[i].held > 0) push(r, i);
}

static bool splice_in(struct net_conn *c)
{
    struct net_relay *r = c->arg;
    int i = index_of(r, c);
    struct direction *d = &r->dir[i];
    if (d->pipe[0] < 0 || c->paused || c->unread.n > 0 || r->side[!i]->out.n > 0) return false;
    ssize_t n = splice(c->fd, NULL, d->pipe[1], NULL, PIPE_BYTES,
                       SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
    if (n <= 0) return false; /* the ordinary read finds out why */
    d->held += (size_t)n;
    d->moved += (uint64_t)n;
    c->bytes_in += (uint64_t)n;
    c->last_ms = net_loop_now_ms(c->loop);
    push(r, i);
    return true;
}

static void open_pipe(struct net_relay *r, int i)
{
    struct direction *d = &r->dir[i];
    if (r->side[0]->ssl != NULL || r->side[1]->ssl != NULL ||
        pipe2(d->pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        d->pipe[0] = d->pipe[1] = -1;
        d->no_pipe = true;
        return;
    }
    (void)fcntl(d->pipe[0], F_SETPIPE_SZ, PIPE_BYTES); /* refused above the user's limit */
    /* What was copied has to leave before the first spliced byte may. */
    net_conn_set_marks(r->side[!i], 0, r->side[!i]->high, r->side[!i]->max);
}

/* ---- copied ---- */

static void on_data(struct net_conn *c, struct str data, void *arg)
{
    struct net_relay *r = arg;
    int i = index_of(r, c);
    struct direction *d = &r->dir[i];
    struct net_conn *to = r->side[!i];
    d->moved += data.n;
    bool more = net_conn_write(to, data);
    if (data.n >= BULK_BYTES && d->pipe[0] < 0 && !d->no_pipe) open_pipe(r, i);
    if (d->pipe[0] >= 0 && to->out.n > 0) {
        to->was_full = true; /* on_drain, once it is empty */
        more = false;
    }
    if (!more) net_conn_pause(c);
}

static void on_drain(struct net_conn *c, void *arg)
{
    struct net_relay *r = arg;
    int i = !index_of(r, c);
    if (r->dir[i].held == 0) net_conn_resume(r->side[i]);
}

/* ---- ends ---- */

static void on_eof(struct net_conn *c, void *arg)
{
    struct net_relay *r = arg;
    int i = index_of(r, c);
    r->dir[i].ended = true;
    if (!r->dir[!i].ended) {
        net_conn_shutdown(r->side[!i]);
        return;
    }
    net_conn_finish(r->side[0]);
    net_conn_finish(r->side[1]);
    relay_over(r, NULL);
}

static void on_close(struct net_conn *c, const struct err *why, void *arg)
{
    struct net_relay *r = arg;
    struct net_conn *other = r->side[!index_of(r, c)];
    if (why == NULL && r->dir[0].ended && r->dir[1].ended) {
        net_conn_finish(other);
    } else {
        /* A cut must not look like an end, to neither of the two. */
        struct linger hard = {.l_onoff = 1, .l_linger = 0};
        (void)setsockopt(net_conn_fd(c), SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
        net_conn_abort(other);
    }
    relay_over(r, why);
}

struct net_relay *net_conn_relay(struct net_conn *a, struct net_conn *b, int64_t idle_ms,
                                 void (*on_done)(void *arg, const struct net_relay_result *r),
                                 void *arg)
{
    static const struct net_conn_ops ops = {
        .on_data = on_data, .on_eof = on_eof, .on_drain = on_drain, .on_close = on_close,
    };
    struct net_relay *r = mem_alloc(sizeof(*r));
    r->side[0] = a;
    r->side[1] = b;
    r->on_done = on_done;
    r->arg = arg;
    for (int i = 0; i < 2; i++) {
        struct net_conn *c = r->side[i];
        r->dir[i].pipe[0] = r->dir[i].pipe[1] = -1;
        net_conn_set_ops(c, &ops, r);
        c->splice_in = splice_in;
        c->splice_out = splice_out;
        net_conn_set_deadline(c, 0);
        net_conn_set_idle(c, 0);
    }
    /* What moves in either direction moves on side a, read or written. */
    net_conn_set_idle(a, idle_ms);
    net_conn_resume(a);
    net_conn_resume(b);
    return r;
}

void net_relay_close(struct net_relay *r)
{
    net_conn_abort(r->side[0]);
    net_conn_abort(r->side[1]);
    relay_free(r);
}
