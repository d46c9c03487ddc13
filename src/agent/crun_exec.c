/* agent/crun_exec.c - a command inside a container, for one client.
 *
 * Bytes pass between the client's connection, as carry frames, and the helper
 * `rota-shim exec`, as messages.  Neither side is read faster than the other
 * takes.  docs/spec/node.md */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "agent/crun_impl.h"
#include "agent/docker/spec.h"
#include "agent/gpu/grant.h"
#include "base/check.h"
#include "base/mem.h"
#include "host/file.h"
#include "net/conn.h"
#include "wire/carry.h"
#include "wire/objects.h"
#include "wire/table.h"

struct crun_exec {
    struct crun *driver;
    struct net_conn *conn; /* NULL: the client is gone */
    int sock, pidfd;
    pid_t pid;
    struct net_watch *on_sock, *on_pidfd;
    bool full;      /* the client does not take more: the helper is not read */
    bool stuck;     /* the helper does not take more: the client is not read */
    bool answered;  /* the end was sent */
    bool reaped;    /* the helper has ended; its last words may still be unread */
    struct strbuf in; /* of the client, not yet a whole frame or not yet taken */
};

static void drop_client(struct crun_exec *x)
{
    /* Closing our end tells the helper to hang the command up. */
    x->conn = NULL;
    net_watch_free(x->on_sock);
    x->on_sock = NULL;
    file_close(&x->sock);
}

static void forget(struct crun_exec *x)
{
    struct crun *c = x->driver;
    for (uint32_t i = 0; i < c->execs.n; i++)
        if (c->execs.v[i] == x) {
            VEC_REMOVE(&c->execs, i);
            break;
        }
    net_watch_free(x->on_sock);
    net_watch_free(x->on_pidfd);
    file_close(&x->sock);
    file_close(&x->pidfd);
    strbuf_done(&x->in);
    mem_free(x);
}

/* Last call of every callback: both sides are done with it. */
static void forget_if_done(struct crun_exec *x)
{
    if (x->reaped && !x->conn) forget(x);
}

void crun_exec_free(struct crun_exec *x)
{
    net_conn_close(x->conn);
    forget(x);
}

static void watch(struct crun_exec *x)
{
    if (x->on_sock)
        net_watch_set(x->on_sock, (x->full ? 0 : NET_READ) | (x->stuck ? NET_WRITE : 0));
}

/* ---- to the client ---- */

static void put_frame(struct crun_exec *x, enum carry_type type, struct str payload)
{
    uint8_t head[CARRY_HEAD];
    carry_head_put(head, type, (uint32_t)payload.n);
    struct str v[] = {str_n((const char *)head, sizeof(head)), payload};
    if (x->conn && !net_conn_writev(x->conn, v, 2)) x->full = true;
}

static void answer(struct crun_exec *x, int32_t code, struct str text)
{
    AUTO_STRBUF struct strbuf b;
    struct carry_end end = {.exit_code = code};
    if (x->answered || !x->conn) return;
    x->answered = true;
    if (code > 128 && code < 193) end.signal = code - 128;
    TEXT_CLIP(end.detail, text);
    strbuf_init(&b, 4096);
    wire_print(&wire_carry_end, &end, &b);
    put_frame(x, CARRY_END, strbuf_str(&b));
    struct net_conn *conn = x->conn;
    drop_client(x);
    net_conn_finish(conn);
}

static void take(struct crun_exec *x, char kind, const char *data, size_t n)
{
    struct shim_code c;
    switch (kind) {
    case SHIM_OUT:
        put_frame(x, CARRY_STDOUT, str_n(data, n));
        break;
    case SHIM_ERR:
        put_frame(x, CARRY_STDERR, str_n(data, n));
        break;
    case SHIM_EXIT:
        if (!shim_payload(&c, sizeof(c), data, n)) break;
        c.text[sizeof(c.text) - 1] = 0;
        answer(x, c.code, str_of(c.text));
        break;
    default:
        break;
    }
}

/* ---- to the helper ---- */

/* False: it does not take more now. */
static bool send_helper(struct crun_exec *x, enum shim_kind kind, const void *data, size_t n)
{
    char buf[SHIM_MSG_MAX];
    CHECK(n < sizeof(buf));
    if (x->sock < 0) return true;
    buf[0] = (char)kind;
    if (n) memcpy(buf + 1, data, n);
    if (send(x->sock, buf, n + 1, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno != EAGAIN) return true;
    x->stuck = true;
    return false;
}

/* How many payload bytes of a frame the helper took: stdin may go in parts. */
static bool pass_frame(struct crun_exec *x, enum carry_type type, const char *p, size_t n,
                       size_t *done)
{
    struct shim_resize r;
    struct shim_signal s = {0};
    switch (type) {
    case CARRY_STDIN:
        while (*done < n) {
            size_t part = n - *done < SHIM_DATA_MAX ? n - *done : SHIM_DATA_MAX;
            if (!send_helper(x, SHIM_INPUT, p + *done, part)) return false;
            *done += part;
        }
        return true;
    case CARRY_STDIN_END:
        return send_helper(x, SHIM_EOF, NULL, 0);
    case CARRY_RESIZE:
        carry_resize_get((const uint8_t *)p, &r.rows, &r.cols);
        return send_helper(x, SHIM_RESIZE, &r, sizeof(r));
    case CARRY_SIGNAL:
        s.signum = (uint8_t)p[0];
        return send_helper(x, SHIM_SIGNAL, &s, sizeof(s));
    case CARRY_COMMAND:
    case CARRY_STDOUT:
    case CARRY_STDERR:
    case CARRY_END:
    case CARRY_ERROR:
    case CARRY_NOTICE:
        return true;
    }
    UNREACHABLE();
}

/* Passes whole frames on.  A frame that was taken in part is cut down to its
 * rest: a smaller frame of the same type. */
static void pump(struct crun_exec *x)
{
    while (!x->stuck && x->in.n >= CARRY_HEAD && x->conn) {
        enum carry_type type;
        uint32_t n;
        struct err err = {0};
        if (carry_head_get((const uint8_t *)x->in.p, CARRY_FROM_CLIENT, &type, &n, &err) < 0) {
            put_frame(x, CARRY_ERROR, str_of(err.text));
            struct net_conn *conn = x->conn;
            drop_client(x);
            net_conn_finish(conn);
            return;
        }
        if (x->in.n < CARRY_HEAD + n) return;
        size_t done = 0;
        if (pass_frame(x, type, x->in.p + CARRY_HEAD, n, &done)) {
            strbuf_drop(&x->in, CARRY_HEAD + n);
        } else if (done) {
            strbuf_drop(&x->in, done);
            carry_head_put((uint8_t *)x->in.p, type, n - (uint32_t)done);
        }
    }
}

static void on_data(struct net_conn *conn, struct str data, void *arg)
{
    struct crun_exec *x = arg;
    strbuf_put(&x->in, data);
    if (x->in.full) { /* cannot be while we pause in time */
        net_conn_abort(conn);
        drop_client(x);
        forget_if_done(x);
        return;
    }
    pump(x);
    if (x->conn && x->stuck) net_conn_pause(x->conn); /* else what is held is less than a frame */
    watch(x);
    forget_if_done(x);
}

static void on_drain(struct net_conn *conn, void *arg)
{
    struct crun_exec *x = arg;
    (void)conn;
    x->full = false;
    watch(x);
}

static void on_close(struct net_conn *conn, const struct err *why, void *arg)
{
    (void)conn;
    (void)why;
    drop_client(arg);
    forget_if_done(arg);
}

/* No on_eof: the end of input is a frame, so a connection that ends is a client
 * that left. */
static const struct net_conn_ops client_ops = {
    .on_data = on_data, .on_drain = on_drain, .on_close = on_close,
};

static void read_helper(struct crun_exec *x)
{
    char buf[SHIM_MSG_MAX];
    while (x->sock >= 0 && !x->full) {
        ssize_t n = recv(x->sock, buf, sizeof(buf), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (n <= 0) {
            answer(x, -1, STR("the helper was lost"));
            return;
        }
        take(x, buf[0], buf + 1, (size_t)n - 1);
    }
}

static void on_sock(void *arg, int events)
{
    struct crun_exec *x = arg;
    if (events & NET_WRITE) {
        x->stuck = false;
        pump(x);
        if (x->conn && !x->stuck) net_conn_resume(x->conn);
    }
    if (events & NET_READ) read_helper(x);
    watch(x);
    forget_if_done(x);
}

static void on_helper_gone(void *arg, int events)
{
    struct crun_exec *x = arg;
    (void)events;
    if (waitpid(x->pid, NULL, WNOHANG) == 0) return;
    /* What it said before is in the socket, and ends there. */
    x->reaped = true;
    net_watch_free(x->on_pidfd);
    x->on_pidfd = NULL;
    forget_if_done(x);
}

/* ---- start ---- */

static int process_fd(struct crun_member *m, const char *const *argv, bool tty, struct err *err)
{
    const char **envp = NULL;
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, BUNDLE_MAX);
    int rc = claim_read_env(m->dir, &envp, err);
    if (rc < 0) return rc;
    struct grant grant;
    claim_give_grant(&m->claim, &grant);
    struct bundle_process p = {.grant = &grant,
                               .uid = (uint32_t)m->claim.uid, .gid = (uint32_t)m->claim.gid,
                               .workdir = m->claim.workdir[0] ? m->claim.workdir : NULL,
                               .argv = argv, .envp = envp, .tty = tty};
    struct docker_exec_spec d = {.uid = p.uid, .gid = p.gid, .workdir = p.workdir, .argv = argv,
                                 .envp = envp, .tty = tty};
    if (m->driver->node.docker) rc = docker_exec_spec(&d, &b, err);
    else rc = bundle_exec(&m->driver->node.bundle, &p, &b, err);
    claim_free_env(envp);
    grant_done(&grant);
    if (rc < 0) return rc;
    AUTO_FD int fd = memfd_create("process", MFD_CLOEXEC);
    if (fd < 0 || write(fd, b.p, b.n) != (ssize_t)b.n)
        return err_sys(err, ERR_IO, errno, "cannot write the command down");
    int ret = fd;
    fd = -1;
    return ret;
}

int crun_exec_start(struct crun_member *m, const char *const *argv, bool tty,
                    struct net_conn *conn, struct err *err)
{
    struct crun *c = m->driver;
    int pair[2];
    pid_t pid = 0;
    if (!argv[0] || !argv[0][0]) return err_set(err, ERR_INVALID, "the command is empty");
    AUTO_FD int spec = process_fd(m, argv, tty, err);
    if (spec < 0) return spec;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_sys(err, ERR_IO, errno, "cannot make a socket pair");
    AUTO_FD int ours = pair[0];
    AUTO_FD int theirs = pair[1];
    fcntl(ours, F_SETFL, O_NONBLOCK);
    struct crun_spawn s = {
        .mode = tty ? "exec-tty" : "exec", .dir = m->dir, .fd3 = theirs, .fd4 = spec};
    int pidfd = crun_node_spawn(&c->node, &s, &pid, err);
    if (pidfd < 0) return pidfd;
    struct crun_exec *x = mem_alloc(sizeof(*x));
    *x = (struct crun_exec){.driver = c, .conn = conn, .sock = ours, .pidfd = pidfd, .pid = pid};
    ours = -1;
    strbuf_init(&x->in, 4 * CARRY_PAYLOAD_MAX + 1024 * 1024);
    x->on_sock = net_watch_new(c->loop, x->sock, on_sock, x);
    x->on_pidfd = net_watch_new(c->loop, x->pidfd, on_helper_gone, x);
    net_watch_set(x->on_pidfd, NET_READ);
    watch(x);
    net_conn_set_ops(conn, &client_ops, x);
    net_conn_resume(conn);
    VEC_PUSH(&c->execs, x);
    return 0;
}
