/* agent/crun_link.c - what a supervisor says, and what its silence means.
 * docs/spec/node.md */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "agent/crun_impl.h"
#include "base/check.h"
#include "base/mem.h"
#include "host/file.h"

#define SILENT_MS 4000
#define CONNECT_MS 20
#define RESUMES 3

static void set_phase(struct crun_member *m, enum member_phase phase)
{
    if (m->report.phase == phase) return;
    m->report.phase = phase;
    crun_changed(m->driver);
}

/* ---- the end ---- */

static void take_status(struct member_end *end, const struct memo_exit *e)
{
    int status = (int)e->status;
    end->exit_code = -1;
    if (!e->known) return;
    if (WIFSIGNALED(status)) {
        end->signal = WTERMSIG(status);
        end->exit_code = 128 + end->signal;
    } else {
        end->exit_code = WEXITSTATUS(status);
    }
}

void crun_take_exit(struct crun_member *m)
{
    struct memo_exit e = {0};
    struct member_end *end = &m->report.end;
    *end = (struct member_end){.exit_code = -1};
    crun_unlink(m);
    if (memo_read_exit(m->dir, &e, NULL) < 0) {
        /* Only a disk that takes nothing comes here: then say what is known. */
        e.ran = m->started;
        TEXT_CLIP(e.text, STR("the record of its end cannot be read"));
    }
    if (e.ran) take_status(end, &e);
    end->oom = e.oom;
    end->timed_out = e.timed_out;
    end->fenced = e.fenced;
    end->fatal = !e.ran && e.fatal;
    TEXT_CLIP(end->detail, str_of(e.text));
    if (e.ran && e.cpu_us > 0) end->cpu_us = e.cpu_us;
    if (e.ran && e.mem_peak_bytes > 0) end->mem_peak_bytes = e.mem_peak_bytes;
    set_phase(m, e.ran ? MEMBER_EXITED : MEMBER_FAILED);
}

/* ---- messages ---- */

static void on_ended(struct crun_member *m, bool ran)
{
    if (ran) {
        crun_take_exit(m);
        return;
    }
    /* Never ran: only after its groups and state are gone it is reported. */
    crun_unlink(m);
    crun_start_job(m, CRUN_BURY);
}

static void on_created(struct crun_member *m)
{
    m->created = true;
    if (m->wired && m->report.phase == MEMBER_PREPARING) set_phase(m, MEMBER_READY);
}

static void on_started(struct crun_member *m)
{
    m->started = m->wired = true;
    if (m->report.phase < MEMBER_STOPPING) set_phase(m, MEMBER_RUNNING);
}

/* False: the link is gone. */
static bool take(struct crun_member *m, char kind, const void *data, size_t n)
{
    struct shim_hello h;
    switch (kind) {
    case SHIM_HELLO:
        if (shim_payload(&h, sizeof(h), data, n) && h.signal_done > m->report.signal_done) {
            m->report.signal_done = h.signal_done;
            crun_changed(m->driver);
        }
        m->silent_ms = 0;
        if (h.state >= SHIM_IS_HELD) on_created(m);
        if (h.state == SHIM_IS_RUNNING) on_started(m);
        return true;
    case SHIM_CREATED:
        on_created(m);
        return true;
    case SHIM_STARTED:
        on_started(m);
        return true;
    case SHIM_EXIT:
        on_ended(m, true);
        return false;
    case SHIM_FAILED:
        on_ended(m, false);
        return false;
    default:
        return true;
    }
}

static void on_sock(void *arg, int events)
{
    struct crun_member *m = arg;
    char buf[SHIM_MSG_MAX];
    (void)events;
    for (;;) {
        ssize_t n = recv(m->sock, buf, sizeof(buf), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) break;
        if (n <= 0) {
            crun_unlink(m);
            break;
        }
        if (!take(m, buf[0], buf + 1, (size_t)n - 1)) break;
    }
    crun_next(m);
}

void crun_hear_all(struct crun *c, int64_t timeout_ms)
{
    int64_t until = net_now_ms() + timeout_ms;
    for (uint32_t i = 0; i < c->members.n; i++) {
        struct crun_member *m = c->members.v[i];
        while (m->sock >= 0 && m->silent_ms && net_now_ms() < until) {
            struct pollfd p = {.fd = m->sock, .events = POLLIN};
            if (poll(&p, 1, (int)(until - net_now_ms())) > 0) on_sock(m, NET_READ);
        }
    }
}

void crun_hear_last(struct crun_member *m)
{
    struct crun *c = m->driver;
    const struct member_ref ref = m->ref;
    on_sock(m, NET_READ);
    m = crun_find(c, ref);
    if (m && m->sock >= 0 && m->silent_ms && net_now_ms() >= m->silent_ms) crun_unlink(m);
}

void crun_link(struct crun_member *m, int sock)
{
    CHECK(m->sock < 0);
    m->sock = sock;
    m->go_sent = m->stop_sent = false; /* a new supervisor may not know */
    m->on_sock = net_watch_new(m->driver->loop, sock, on_sock, m);
    net_watch_set(m->on_sock, NET_READ);
}

/* ---- supervisors that are children of ours ---- */

struct crun_child {
    struct crun *driver;
    int pidfd;
    pid_t pid;
    struct net_watch *watch;
};

static void free_child(struct crun_child *ch)
{
    net_watch_free(ch->watch);
    file_close(&ch->pidfd);
    mem_free(ch);
}

static void on_child(void *arg, int events)
{
    struct crun_child *ch = arg;
    struct crun *c = ch->driver;
    (void)events;
    if (waitpid(ch->pid, NULL, WNOHANG) == 0) return;
    for (uint32_t i = 0; i < c->children.n; i++)
        if (c->children.v[i] == ch) {
            VEC_REMOVE(&c->children, i);
            break;
        }
    free_child(ch);
}

void crun_watch_child(struct crun *c, int pidfd, pid_t pid)
{
    struct crun_child *ch = mem_alloc(sizeof(*ch));
    *ch = (struct crun_child){.driver = c, .pidfd = pidfd, .pid = pid};
    ch->watch = net_watch_new(c->loop, pidfd, on_child, ch);
    net_watch_set(ch->watch, NET_READ);
    VEC_PUSH(&c->children, ch);
}

void crun_forget_children(struct crun *c)
{
    for (uint32_t i = 0; i < c->children.n; i++) free_child(c->children.v[i]);
    VEC_DONE(&c->children);
}

void crun_unlink(struct crun_member *m)
{
    net_watch_free(m->on_sock);
    m->on_sock = NULL;
    file_close(&m->sock);
    file_close(&m->input);
}

bool crun_send(struct crun_member *m, enum shim_kind kind, const void *data, size_t n)
{
    char buf[64];
    CHECK(n + 1 <= sizeof(buf));
    if (m->sock < 0) return false;
    buf[0] = (char)kind;
    if (n) memcpy(buf + 1, data, n);
    /* A full or broken socket shows as end of file, and then all is asked again. */
    return send(m->sock, buf, n + 1, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)(n + 1);
}

/* ---- silence ---- */

static void try_connect(struct crun_member *m)
{
    int sock = crun_node_connect(m->dir, NULL);
    if (m->silent_ms == 0) m->silent_ms = net_now_ms() + SILENT_MS;
    if (sock < 0) {
        crun_retry_at(m, CONNECT_MS);
        return;
    }
    crun_link(m, sock);
    crun_await_greeting(m);
}

static void bury(struct crun_member *m, const char *why)
{
    TEXT_CLIP(m->why, str_of(why));
    crun_start_job(m, CRUN_BURY);
}

void crun_overrule(struct crun_member *m)
{
    if (m->busy || m->sock < 0 || m->report.phase >= MEMBER_EXITED) return; /* under way */
    crun_unlink(m);
    bury(m, "its supervisor did not stop it in time: outcome unknown");
}

void crun_settle(struct crun_member *m)
{
    struct memo_exit end;
    struct adopt_facts f = adopt_look(&m->driver->node, m->dir);
    f.silent = m->silent_ms && net_now_ms() >= m->silent_ms;
    f.spent = m->resumed >= RESUMES;
    switch (adopt_decide(&f)) {
    case ADOPT_REMOVE:
        m->clean = true;
        crun_next(m);
        break;
    case ADOPT_AGAIN: /* under a living agent: what it reported must get an end */
        bury(m, "its supervisor was lost before the command ran");
        break;
    case ADOPT_REBOOTED:
        bury(m, "this machine restarted under it: outcome unknown");
        break;
    case ADOPT_ENDED:
        on_ended(m, memo_read_exit(m->dir, &end, NULL) == 0 && end.ran);
        break;
    case ADOPT_CONNECT:
        try_connect(m);
        break;
    case ADOPT_KILL:
        bury(m, "its supervisor was lost: outcome unknown");
        break;
    case ADOPT_RESUME:
        m->resumed++;
        crun_start_job(m, CRUN_RESUME);
        break;
    }
}
