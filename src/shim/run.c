/* shim/run.c - the supervisor's loop, for a new container and for one whose
 * supervisor was lost.
 *
 * One thread of control: descriptors and two deadlines.  It wakes only when
 * something happened.  docs/spec/node.md */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/check.h"
#include "base/str.h"
#include "host/file.h"
#include "host/proc.h"
#include "shim/fds.h"
#include "shim/super.h"

enum { P_LISTEN, P_RUNTIME, P_INIT, P_TIMER, P_INPUT, P_CHILD, P_READY, P_GUEST, P_CLIENTS,
       P_N = P_CLIENTS + SUPER_CLIENTS };

/* Nothing of the agent's may stay open here: whoever waits for the end of a pipe
 * of the agent would wait for this process. */
static int detach(struct err *err)
{
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "rota-shim");
    fcntl(SHIM_AGENT_FD, F_SETFD, FD_CLOEXEC);
    fcntl(SHIM_AGENT_FD, F_SETFL, O_NONBLOCK);
    fcntl(SHIM_LOCK_FD, F_SETFD, FD_CLOEXEC);
    syscall(SYS_close_range, SHIM_LOCK_FD + 1, ~0U, 0);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) return err_sys(err, ERR_IO, errno, "cannot open /dev/null");
    for (int fd = 0; fd <= 2; fd++)
        if (dup2(null, fd) < 0) return err_sys(err, ERR_IO, errno, "cannot set a descriptor");
    close(null);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN); /* the agent may be stopped with all its group */
    return 0;
}

static int child_fd(struct err *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "cannot watch children");
    return fd;
}

/* Reaps strangers alone: the runtime and init have their own waiters. */
static void reap_strangers(struct super *s, int fd)
{
    struct signalfd_siginfo info[4];
    while (read(fd, info, sizeof(info)) > 0) continue;
    for (;;) {
        siginfo_t si = {0};
        if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) < 0 || si.si_pid == 0) return;
        if (si.si_pid == s->runtime || si.si_pid == (pid_t)s->life.pid) return;
        waitpid(si.si_pid, NULL, WNOHANG);
    }
}

static int64_t earliest(int64_t a, int64_t b) { return a == 0 || (b != 0 && b < a) ? b : a; }

/* CLOCK_BOOTTIME: a machine that slept has not stopped the clock of a limit. */
static void arm(struct super *s, int timer)
{
    int64_t at = earliest(s->create_until_ms, s->kill_at_ms);
    if (!s->life.timed_out && s->phase >= SUPER_STARTING) at = earliest(at, s->life.limit_boot_ms);
    at = earliest(at, s->move_at_ms);
    struct itimerspec t = {.it_value = {at / 1000, at % 1000 * 1000000}};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &t, NULL);
}

static void on_time(struct super *s)
{
    int64_t now = proc_boot_ms();
    if (s->create_until_ms && now >= s->create_until_ms) {
        super_fail(s, "the container runtime did not finish in time");
        return;
    }
    if (s->phase >= SUPER_STARTING && s->life.limit_boot_ms && now >= s->life.limit_boot_ms &&
        !s->life.timed_out) {
        s->life.timed_out = true;
        super_life(s, NULL);
        super_stop(s, s->conf.grace_ms, false);
    }
    if (s->move_at_ms && now >= s->move_at_ms) super_move(s);
    if (s->kill_at_ms && now >= s->kill_at_ms) {
        s->kill_at_ms = 0;
        super_kill(s);
    }
}

static void on_events(struct super *s, struct pollfd *p)
{
    if (p[P_CHILD].revents) reap_strangers(s, p[P_CHILD].fd);
    if (p[P_RUNTIME].revents) super_created(s);
    if (p[P_READY].revents) super_ready(s);
    if (p[P_GUEST].revents && s->guest.conn >= 0) engine_heard(s);
    else if (p[P_GUEST].revents) engine_accept(s);
    if (p[P_INIT].revents && s->phase != SUPER_ENDED) super_finish(s);
    if (p[P_TIMER].revents && s->phase != SUPER_ENDED) on_time(s);
    if (p[P_INPUT].revents) control_input_flush(s);
    for (int i = 0; i < SUPER_CLIENTS && s->phase != SUPER_ENDED; i++)
        if (p[P_CLIENTS + i].revents && s->clients[i].fd >= 0) control_read(s, &s->clients[i]);
    if (p[P_LISTEN].revents && s->phase != SUPER_ENDED) control_accept(s);
}

static int loop(struct super *s, struct err *err)
{
    struct pollfd p[P_N];
    AUTO_FD int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (timer < 0) return err_sys(err, ERR_IO, errno, "cannot make a timer");
    AUTO_FD int children = child_fd(err);
    if (children < 0) return children;
    while (s->phase != SUPER_ENDED) {
        arm(s, timer);
        bool full = control_input_full(s);
        p[P_LISTEN] = (struct pollfd){.fd = s->listener, .events = POLLIN};
        p[P_RUNTIME] = (struct pollfd){.fd = s->runtime_fd, .events = POLLIN};
        p[P_INIT] = (struct pollfd){.fd = s->pidfd, .events = POLLIN};
        p[P_TIMER] = (struct pollfd){.fd = timer, .events = POLLIN};
        p[P_INPUT] = (struct pollfd){.fd = s->input_n ? s->input : -1, .events = POLLOUT};
        p[P_READY] = (struct pollfd){.fd = s->ready, .events = POLLIN};
        int asked = s->phase == SUPER_RUNNING ? s->guest.listener : -1;
        p[P_GUEST] = (struct pollfd){.fd = s->guest.conn >= 0 ? s->guest.conn : asked,
                                     .events = POLLIN};
        p[P_CHILD] = (struct pollfd){.fd = children, .events = POLLIN};
        for (int i = 0; i < SUPER_CLIENTS; i++) {
            bool deaf = full && s->clients[i].typed;
            p[P_CLIENTS + i] = (struct pollfd){.fd = deaf ? -1 : s->clients[i].fd,
                                               .events = POLLIN};
        }
        if (poll(p, P_N, -1) < 0) {
            if (errno == EINTR) continue;
            return err_sys(err, ERR_IO, errno, "cannot wait for events");
        }
        on_events(s, p);
    }
    return 0;
}

static int begin(struct super *s, struct err *err)
{
    uint64_t start = 0;
    int rc = super_open(s, err);
    if (rc == 0) rc = proc_boot_id(s->life.boot_id, err);
    if (rc == 0) rc = proc_start_time(getpid(), &start, err);
    s->life.shim_pid = getpid();
    s->life.shim_start = (int64_t)start;
    return rc;
}

int super_run_main(void)
{
    static struct super s;
    struct err err = {0};
    int rc = detach(&err);
    if (rc == 0) rc = begin(&s, &err);
    if (rc == 0) rc = super_life(&s, &err);
    if (rc == 0) rc = control_listen(&s, &err);
    if (rc < 0) return 1; /* no record: the agent finds a free lock and no go */
    control_add(&s, SHIM_AGENT_FD);
    if (super_create(&s, &err) < 0) super_fail(&s, err.text);
    if (loop(&s, &err) < 0) return 1;
    return 0;
}

/* ---- adopt ---- */

/* The container's own end of its output, read-only: it is a pipe to itself. */
static int reopen(int64_t pid, int fd)
{
    char path[48];
    struct stat st;
    text_fmt(path, sizeof(path), "/proc/%lld/fd/%d", (long long)pid, fd);
    int got = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (got >= 0 && (fstat(got, &st) < 0 || !S_ISFIFO(st.st_mode))) file_close(&got);
    return got;
}

static int adopt(struct super *s, struct err *err)
{
    struct memo_life old = {0};
    int rc = memo_read_life(s->dir, &old, err);
    if (rc < 0) return rc;
    if (strcmp(old.boot_id, s->life.boot_id) != 0)
        return err_set(err, ERR_NOT_FOUND, "it belongs to an earlier boot");
    old.shim_pid = s->life.shim_pid;
    old.shim_start = s->life.shim_start;
    s->life = old;
    rc = super_life(s, err);
    if (rc < 0) return rc;
    s->phase = memo_went(s->dir, s->life.boot_id) ? SUPER_RUNNING : SUPER_HELD;
    rc = control_listen(s, err);
    if (rc < 0) return rc;
    s->pidfd = proc_open(s->life.pid, (uint64_t)s->life.start, err);
    if (s->pidfd < 0) return 0; /* gone already: its record is all there is to do */
    if (s->phase == SUPER_RUNNING) super_go_again(s);
    super_move_later(s);
    int out = reopen(s->life.pid, 1), err_stream = reopen(s->life.pid, 2);
    rc = log_start(&s->log, s->dir, out, err_stream, false, err);
    if (rc == 0 && s->life.timed_out) super_stop(s, s->conf.grace_ms, false);
    return rc;
}

int super_adopt_main(void)
{
    static struct super s;
    struct err err = {0};
    int rc = detach(&err);
    if (rc == 0) rc = begin(&s, &err);
    if (rc == 0) rc = adopt(&s, &err);
    if (rc < 0) return 1;
    control_add(&s, SHIM_AGENT_FD);
    if (s.pidfd < 0) super_finish(&s);
    return loop(&s, &err) < 0;
}
