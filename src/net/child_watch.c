/* net/child_watch.c - children on the loop, and one waited for; see child.h.
 *
 * The end is told when the pidfd says so and both streams have ended; a
 * grandchild that keeps a stream open delays it by DRAIN_MS at most. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "net/child_impl.h"
#include "net/loop_impl.h"

enum { DRAIN_MS = 200 };

struct stream {
    struct child *child;
    struct net_watch *watch;
    int fd, no;
};

struct child {
    struct net_loop *loop;
    struct net_watch *watch;
    struct net_timer *drain;
    struct child_ops ops;
    void *arg;
    struct stream streams[2];
    struct child_exit exit;
    pid_t pid;
    int pidfd;
    bool ended, abandoned, held, dead;
};

static void stream_close(struct stream *s)
{
    if (s->fd < 0) return;
    net_watch_free(s->watch);
    close(s->fd);
    s->fd = -1;
}

static void destroy(struct child *c)
{
    if (c->held) {
        c->dead = true;
        return;
    }
    if (c->abandoned) net_loop_not_at_free(c->loop, c);
    stream_close(&c->streams[0]);
    stream_close(&c->streams[1]);
    net_watch_free(c->watch);
    net_timer_free(c->drain);
    close(c->pidfd);
    mem_free(c);
}

static void tell(struct child *c)
{
    if (!c->abandoned && c->ops.on_exit != NULL) {
        c->held = true;
        c->ops.on_exit(c->arg, &c->exit);
        c->held = false;
    }
    destroy(c);
}

static void maybe_tell(struct child *c)
{
    if (c->ended && c->streams[0].fd < 0 && c->streams[1].fd < 0) tell(c);
}

static void on_drained(void *arg)
{
    struct child *c = arg;
    stream_close(&c->streams[0]);
    stream_close(&c->streams[1]);
    maybe_tell(c);
}

static void on_end(void *arg, int events)
{
    struct child *c = arg;
    (void)events;
    if (!child_reap(c->pidfd, &c->exit)) return;
    c->ended = true;
    net_watch_set(c->watch, 0);
    if (c->streams[0].fd >= 0 || c->streams[1].fd >= 0) net_timer_set(c->drain, DRAIN_MS, 0);
    maybe_tell(c);
}

static void on_output(void *arg, int events)
{
    struct stream *s = arg;
    struct child *c = s->child;
    (void)events;
    char *buf = net_loop_buffer(c->loop);
    ssize_t n = read(s->fd, buf, NET_READ_BYTES);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n > 0) {
        c->held = true;
        c->ops.on_output(c->arg, s->no, str_n(buf, (size_t)n));
        c->held = false;
        if (c->dead) destroy(c);
        return;
    }
    stream_close(s);
    maybe_tell(c);
}

struct child *child_spawn(struct net_loop *l, const struct child_spec *spec,
                          const struct child_ops *ops, void *arg, struct err *err)
{
    struct child_start st;
    if (child_start(spec, ops->on_output != NULL, &st, err) != 0) return NULL;
    struct child *c = mem_alloc(sizeof(*c));
    c->loop = l;
    c->ops = *ops;
    c->arg = arg;
    c->pid = st.pid;
    c->pidfd = st.pidfd;
    c->drain = net_timer_new(l, on_drained, c);
    c->watch = net_watch_new(l, st.pidfd, on_end, c);
    net_watch_set(c->watch, NET_READ);
    for (int i = 0; i < 2; i++) {
        struct stream *s = &c->streams[i];
        *s = (struct stream){.child = c, .fd = st.out[i], .no = i + 1};
        if (s->fd < 0) continue;
        s->watch = net_watch_new(l, s->fd, on_output, s); /* makes it non-blocking */
        net_watch_set(s->watch, NET_READ);
    }
    return c;
}

pid_t child_pid(const struct child *c)
{
    return c->pid;
}

int child_pidfd(const struct child *c)
{
    return c->pidfd;
}

bool child_signal(struct child *c, int signum)
{
    return !c->ended && syscall(SYS_pidfd_send_signal, c->pidfd, signum, NULL, 0) == 0;
}

static void forget(void *arg)
{
    destroy(arg);
}

void child_free(struct child *c, bool kill)
{
    if (c == NULL || c->abandoned) return;
    if (kill) (void)child_signal(c, SIGKILL);
    if (c->ended) {
        destroy(c);
        return;
    }
    /* Stays on the loop, silent, until it can be reaped (by init, where the loop
     * ends before). */
    c->abandoned = true;
    net_loop_at_free(c->loop, forget, c);
    stream_close(&c->streams[0]);
    stream_close(&c->streams[1]);
}

/* ---- one child, waited for ---- */

static int64_t left_ms(int64_t deadline)
{
    int64_t left = deadline - net_now_ms();
    return left > 0 ? left : 0;
}

static bool read_some(int *fd, struct strbuf *out)
{
    char buf[4096];
    ssize_t n = read(*fd, buf, sizeof(buf));
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (n <= 0) {
        close(*fd);
        *fd = -1;
        return false;
    }
    size_t room = out == NULL || out->full ? 0 : out->max - out->n;
    if (room > 0) strbuf_put(out, str_n(buf, (size_t)n < room ? (size_t)n : room));
    return true;
}

int child_run(const struct child_spec *spec, int64_t timeout_ms, struct strbuf *ret_output,
              struct child_exit *ret, struct err *err)
{
    struct child_start st;
    int rc = child_start(spec, ret_output != NULL, &st, err);
    if (rc != 0) return rc;
    int64_t deadline = net_now_ms() + timeout_ms;
    bool ended = false, killed = false;
    while (!ended || st.out[0] >= 0 || st.out[1] >= 0) {
        struct pollfd p[3] = {{.fd = ended ? -1 : st.pidfd, .events = POLLIN},
                              {.fd = st.out[0], .events = POLLIN},
                              {.fd = st.out[1], .events = POLLIN}};
        int got = poll(p, 3, (int)left_ms(deadline));
        if (got < 0 && errno != EINTR) break;
        if (got == 0 && ended) break; /* a grandchild holds a stream open */
        if (got == 0 && !killed) {
            (void)syscall(SYS_pidfd_send_signal, st.pidfd, SIGKILL, NULL, 0);
            killed = true;
            deadline = net_now_ms() + 5000; /* a kill does not take that long */
            continue;
        }
        if (got == 0) break;
        if (p[1].revents != 0) (void)read_some(&st.out[0], ret_output);
        if (p[2].revents != 0) (void)read_some(&st.out[1], ret_output);
        if (p[0].revents != 0 && child_reap(st.pidfd, ret)) {
            ended = true;
            int64_t drain = net_now_ms() + DRAIN_MS;
            if (drain < deadline || killed) deadline = drain;
        }
    }
    if (st.out[0] >= 0) close(st.out[0]);
    if (st.out[1] >= 0) close(st.out[1]);
    close(st.pidfd);
    if (!ended || killed)
        return err_set(err, ERR_TIMEOUT, "%.80s did not end in time", spec->argv[0]);
    return 0;
}
