/* shim/engine.c - the supervisor of a container that another engine starts: what differs
 * from one that a runtime of ours makes.  docs/spec/node.md, "Engines" */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/str.h"
#include "host/file.h"
#include "host/proc.h"
#include "shim/guest.h"
#include "shim/launch.h"
#include "shim/super.h"

#define MEET_MS 10000
#define ASK_MS 12000
#define SOCKET GUEST_DIR "/sock"

void engine_forget(struct super *s)
{
    for (int i = 0; i < GUEST_N; i++) file_close(&s->guest.fds[i]);
    file_close(&s->guest.listener);
    file_close(&s->guest.conn);
}

/* The directory is the agent's; whoever may connect is in the container, which sees
 * nothing else of it. */
int engine_listen(struct super *s, struct err *err)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = SOCKET};
    AUTO_FD int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    unlink(SOCKET);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || chmod(SOCKET, 0666) < 0 ||
        listen(fd, 4) < 0)
        return err_sys(err, ERR_IO, errno, "cannot listen for the container");
    s->guest.listener = fd;
    fd = -1;
    return 0;
}

static int send_fds(struct super *s)
{
    char kind[2] = {GUEST_FDS, s->conf.tty ? 't' : '-'};
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int) * GUEST_N)];
    } control = {0};
    struct iovec v = {kind, sizeof(kind)};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control,
                       .msg_controllen = sizeof(control)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * GUEST_N);
    memcpy(CMSG_DATA(c), s->guest.fds, sizeof(int) * GUEST_N);
    return sendmsg(s->guest.conn, &m, MSG_NOSIGNAL) == sizeof(kind) ? 0 : -1;
}

/* The first that connects; anybody but the container's process 1 is turned away. */
static int meet(struct super *s, struct err *err)
{
    int64_t until = proc_mono_us() / 1000 + MEET_MS;
    for (;;) {
        int64_t left = until - proc_mono_us() / 1000;
        struct pollfd p[2] = {{.fd = s->guest.listener, .events = POLLIN},
                              {.fd = s->pidfd, .events = POLLIN}};
        if (left <= 0 || poll(p, 2, (int)left) == 0)
            return err_set(err, ERR_TIMEOUT, "the container's init does not report");
        if (!p[0].revents && p[1].revents)
            return err_set(err, ERR_IO, "the container's init ended before it reported: is the "
                           "image for this machine, and may it reach " GUEST_SOCKET "?");
        AUTO_FD int fd = accept4(s->guest.listener, NULL, NULL, SOCK_CLOEXEC);
        struct ucred who;
        socklen_t n = sizeof(who);
        if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0) continue;
        if (who.pid != (pid_t)s->life.pid) continue;
        /* The job may open what it has by name (/dev/stdout). */
        for (int i = GUEST_IN; i <= GUEST_ERR; i++)
            (void)!fchown(s->guest.fds[i], who.uid, who.gid);
        s->guest.conn = fd;
        fd = -1;
        return 0;
    }
}

int engine_meet(struct super *s, int *ret_master, struct err *err)
{
    int rc = meet(s, err);
    if (rc == 0 && send_fds(s) < 0)
        rc = err_sys(err, ERR_IO, errno, "cannot pass the container its streams");
    file_close(&s->guest.listener);
    unlink(SOCKET);
    for (int i = 0; i < GUEST_N; i++) file_close(&s->guest.fds[i]);
    if (rc == 0 && s->conf.tty) {
        rc = launch_take_master(s->guest.conn, MEET_MS, err);
        if (rc >= 0) *ret_master = rc;
    }
    return rc < 0 ? rc : 0;
}

int engine_go(struct super *s, struct err *err)
{
    char go = GUEST_GO;
    if (send(s->guest.conn, &go, 1, MSG_NOSIGNAL) == 1) return 0;
    return err_sys(err, ERR_IO, errno, "the container's init does not listen");
}

void engine_again(struct super *s) { (void)engine_listen(s, NULL); }

void engine_accept(struct super *s)
{
    struct ucred who;
    socklen_t n = sizeof(who);
    AUTO_FD int fd = accept4(s->guest.listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0) return;
    if (who.pid != (pid_t)s->life.pid) return;
    file_close(&s->guest.listener);
    unlink(SOCKET);
    s->guest.conn = fd;
    fd = -1;
    engine_go(s, NULL);
}

/* The counters go with the container's groups, and those are the engine's to remove. */
void engine_look(struct super *s)
{
    struct cgroup_usage now = {-1, -1, -1};
    cgroup_read(&s->conf.cgroups, &now);
    if (now.cpu_us >= 0) s->guest.use = now;
}

void engine_heard(struct super *s)
{
    char kind = 0;
    ssize_t n = recv(s->guest.conn, &kind, 1, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    engine_look(s);
    file_close(&s->guest.conn); /* init has waited for this */
}

/* Runs the helper to its end, or not longer than we may wait. */
static bool ask(struct super *s)
{
    AUTO_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct launch l = {.conf = &s->conf, .in = null, .out = null, .err_fd = null, .status = -1,
                       .ready = -1, .dir = s->dir, .spec = -1, .log = "error",
                       .args = {"state", s->conf.name}};
    pid_t pid = null < 0 ? -1 : launch_runtime(&l, NULL);
    if (pid < 0) return false;
    AUTO_FD int fd = proc_open_child(pid, NULL);
    if (fd < 0 || !proc_wait_gone(fd, ASK_MS)) kill(pid, SIGKILL);
    int status = 0;
    return waitpid(pid, &status, 0) == pid && status == 0;
}

/* Init leaves without a word only when it is killed.  The engine says so too; where it is
 * away we know it of those that we killed ourselves. */
bool engine_killed(struct super *s, bool *ret_oom)
{
    char buf[64] = "";
    size_t n = 0;
    struct str rest, code = {0};
    unlinkat(s->dir, "state", 0);
    if (!ask(s) || file_read(s->dir, "state", buf, sizeof(buf), &n, NULL) < 0)
        return s->guest.killed;
    rest = str_trim(str_n(buf, n));
    *ret_oom = str_cut(&rest, ' ', &code) && str_eq(rest, STR("oom"));
    return str_eq(code, STR("137"));
}
