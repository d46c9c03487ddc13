/* cli/sink.c - output without blocking, on descriptors that stay blocking.
 *
 * Standard output is shared with whoever started us, so O_NONBLOCK is not ours to
 * set.  Instead poll says whether there is room, and then at most PIPE_BUF bytes
 * are written, which a pipe with room takes whole.  Files always have room.
 * The loop would set O_NONBLOCK on what it watches: it is given an epoll
 * descriptor that watches the real one. */
#include "cli/sink.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { MARK = 256 * 1024, HELD_MAX = 64 * 1024 * 1024 };

struct sink {
    const struct sink_ops *ops;
    void *arg;
    struct net_watch *watch; /* NULL: a file, always ready */
    int fd, epoll;
    struct strbuf held;
    size_t done; /* bytes of held that are written */
    bool broken, asked_to_stop;
};

static size_t waiting(const struct sink *s) { return s->held.n - s->done; }

static void give_up(struct sink *s, int problem)
{
    s->broken = true;
    strbuf_reset(&s->held);
    s->done = 0;
    if (s->watch) net_watch_set(s->watch, 0);
    s->ops->on_broken(s->arg, problem);
}

static bool has_room(const struct sink *s)
{
    if (!s->watch) return true;
    struct pollfd p = {.fd = s->fd, .events = POLLOUT};
    return poll(&p, 1, 0) == 1;
}

/* Writes what goes at once; returns how much, or -1 when the sink broke. */
static ssize_t push(struct sink *s, struct str data)
{
    size_t done = 0;
    while (done < data.n && has_room(s)) {
        size_t n = data.n - done;
        if (s->watch && n > PIPE_BUF) n = PIPE_BUF;
        ssize_t wrote = write(s->fd, data.p + done, n);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0 && errno == EAGAIN) break;
        if (wrote < 0) return give_up(s, errno), -1;
        done += (size_t)wrote;
    }
    return (ssize_t)done;
}

static void on_ready(void *arg, int events)
{
    (void)events;
    struct sink *s = arg;
    ssize_t n = push(s, str_n(s->held.p + s->done, waiting(s)));
    if (n < 0) return;
    s->done += (size_t)n;
    if (waiting(s) == 0) {
        strbuf_reset(&s->held);
        s->done = 0;
        net_watch_set(s->watch, 0);
    } else if (s->done > MARK) {
        strbuf_drop(&s->held, s->done);
        s->done = 0;
    }
    if (waiting(s) == 0 || (s->asked_to_stop && waiting(s) < MARK)) {
        s->asked_to_stop = false;
        s->ops->on_drain(s->arg);
    }
}

struct sink *sink_new(struct net_loop *l, int fd, const struct sink_ops *ops, void *arg)
{
    struct sink *s = mem_alloc(sizeof(*s));
    *s = (struct sink){.ops = ops, .arg = arg, .fd = fd, .epoll = -1};
    strbuf_init(&s->held, HELD_MAX);
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event ev = {.events = EPOLLOUT};
    /* EPERM: a file or the like, which cannot be polled and does not block. */
    if (s->epoll >= 0 && epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev) == 0)
        s->watch = net_watch_new(l, s->epoll, on_ready, s);
    return s;
}

void sink_free(struct sink *s)
{
    if (!s) return;
    net_watch_free(s->watch);
    if (s->epoll >= 0) close(s->epoll);
    strbuf_done(&s->held);
    mem_free(s);
}

bool sink_put(struct sink *s, struct str data)
{
    if (s->broken || data.n == 0) return true;
    if (waiting(s) == 0) {
        ssize_t n = push(s, data);
        if (n < 0) return true;
        data = str_n(data.p + n, data.n - (size_t)n);
        if (data.n == 0) return true;
    }
    strbuf_put(&s->held, data);
    if (s->held.full) return give_up(s, ENOBUFS), true; /* the marks were not kept */
    net_watch_set(s->watch, NET_READ);
    s->asked_to_stop = waiting(s) >= MARK;
    return !s->asked_to_stop;
}

bool sink_empty(const struct sink *s) { return waiting(s) == 0; }

bool sink_blocked(const struct sink *s) { return s->asked_to_stop; }
