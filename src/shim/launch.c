/* shim/launch.c - children that run the container runtime.  docs/spec/node.md */
#include "shim/launch.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/str.h"
#include "host/cgroup.h"
#include "host/file.h"
#include "shim/fds.h"

static int mount_overlay(const struct launch *l, struct err *err)
{
    const struct memo_conf *c = l->conf;
    char opts[MEMO_LOWER + 64];
    const char *in = l->disk >= 0 ? "d/" : "";
    /* Nobody gains by a set-user-id file, and devices are what the runtime makes; the host's
     * own are behind the control group, which its probe container must see. */
    unsigned long flags = MS_NOSUID | (strcmp(c->lower, "/") == 0 ? 0 : MS_NODEV);
    if (l->disk >= 0 && move_mount(l->disk, "", AT_FDCWD, "d", MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return err_sys(err, ERR_IO, errno, "cannot mount the container's disk");
    /* Relative to the container's directory.  volatile: nothing here outlives
     * the container, so fsync may cost nothing. */
    text_fmt(opts, sizeof(opts), "lowerdir=%s,upperdir=%su,workdir=%sw,volatile", c->lower, in, in);
    if (mount("overlay", "m", "overlay", flags, opts) == 0) return 0;
    if (errno == EINVAL) { /* kernels before 5.10 do not know volatile */
        text_fmt(opts, sizeof(opts), "lowerdir=%s,upperdir=%su,workdir=%sw", c->lower, in, in);
        if (mount("overlay", "m", "overlay", flags, opts) == 0) return 0;
    }
    return err_sys(err, ERR_IO, errno, "cannot mount the container's file system");
}

static int private_mounts(const struct launch *l, struct err *err)
{
    const struct memo_conf *c = l->conf;
    if (unshare(CLONE_NEWNS) < 0)
        return err_sys(err, ERR_IO, errno, "cannot make a mount namespace");
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return err_sys(err, ERR_IO, errno, "cannot make the mounts private");
    if (c->hide[0] && umount2(c->hide, MNT_DETACH) < 0)
        return err_sys(err, ERR_IO, errno, "cannot hide %s", c->hide);
    if (l->overlay) {
        int rc = mount_overlay(l, err);
        if (rc < 0) return rc;
    }
    /* Read-only on itself, the runtime need not copy itself before it starts;
     * where this fails it only costs time. */
    if (mount(c->crun, c->crun, NULL, MS_BIND, NULL) == 0)
        mount(NULL, c->crun, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL);
    return 0;
}

/* Puts descriptors where they belong: first all of them out of the way. */
static int place_fds(const struct launch *l, struct err *err)
{
    enum { N = 8 };
    const int from[N] = {l->in, l->out, l->err_fd, l->status, l->ready, l->pulse, l->dir, l->spec};
    const int to[N] = {0, 1, 2, INIT_STATUS_FD, INIT_READY_FD, INIT_PULSE_FD, LAUNCH_DIR_FD,
                       LAUNCH_SPEC_FD};
    int high[N];
    for (int i = 0; i < N; i++) {
        high[i] = from[i] < 0 ? -1 : fcntl(from[i], F_DUPFD_CLOEXEC, 32);
        if (from[i] >= 0 && high[i] < 0)
            return err_sys(err, ERR_IO, errno, "cannot copy a descriptor");
    }
    for (int i = 0; i < N; i++)
        if (high[i] >= 0 && dup2(high[i], to[i]) < 0)
            return err_sys(err, ERR_IO, errno, "cannot place a descriptor");
    return 0;
}

static _Noreturn void child(const struct launch *l)
{
    struct err err = {0};
    const struct memo_conf *c = l->conf;
    char root[MEMO_PATH + 16], log[64];
    const char *argv[LAUNCH_ARGS + 8];
    size_t n = 0;
    text_fmt(root, sizeof(root), "--%s=%s", c->engine ? "socket" : "root", c->crun_root);
    argv[n++] = c->engine ? "rotad" : "crun";
    if (c->engine) argv[n++] = "engine";
    argv[n++] = root;
    if (!c->engine) argv[n++] = "--cgroup-manager=disabled";
    text_fmt(log, sizeof(log), "--log=" LAUNCH_DIR "%s", l->log);
    argv[n++] = log;
    for (size_t i = 0; i < LAUNCH_ARGS && l->args[i]; i++) argv[n++] = l->args[i];
    argv[n] = NULL;
    /* An engine's helper touches no container: it stays where the supervisor is. */
    bool entered = c->engine ||
                   (cgroup_enter(&c->cgroups, &err) == 0 && private_mounts(l, &err) == 0);
    if (l->locked) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        fcntl(SHIM_LOCK_FD, F_SETFD, 0);
    }
    if (entered && place_fds(l, &err) == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        signal(SIGPIPE, SIG_DFL);
        char *const env[] = {(char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
        execve(c->crun, (char *const *)argv, env);
        err_sys(&err, ERR_IO, errno, "cannot run %s", c->crun);
    }
    file_write(l->dir, l->log, err.text, strlen(err.text), FILE_ORDERED, NULL);
    _exit(LAUNCH_FAILED);
}

pid_t launch_runtime(const struct launch *l, struct err *err)
{
    unlinkat(l->dir, l->log, 0);
    static const struct cgroup_set ours;
    pid_t pid = cgroup_fork(l->conf->engine ? &ours : &l->conf->cgroups, err);
    if (pid == 0) child(l);
    return pid;
}

void launch_error(int dir, const char *log, char *ret, size_t cap)
{
    char buf[4096];
    size_t n = 0;
    text_clip(ret, cap, STR("the container runtime failed without a word"));
    if (file_read(dir, log, buf, sizeof(buf), &n, NULL) < 0 || n == 0) return;
    struct str rest = str_n(buf, n), line = rest;
    str_cut(&rest, '\n', &line);
    /* The runtime's lines begin with a time: "2026-01-01T00:00:00.0Z: text". */
    struct str text = line, stamp;
    if (str_cut(&text, ' ', &stamp) && stamp.n > 20 && str_ends(stamp, STR("Z:"))) line = text;
    text_clip(ret, cap, line);
    for (char *p = ret; *p; p++)
        if ((unsigned char)*p < ' ') *p = ' ';
}

int launch_console_listen(const char *name, struct err *err)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    if (!TEXT_SET(a.sun_path, str_of(name))) return err_set(err, ERR_LIMIT, "socket name too long");
    AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    unlink(name);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 1) < 0)
        return err_sys(err, ERR_IO, errno, "cannot listen for the terminal");
    int ret = fd;
    fd = -1;
    return ret;
}

static int take_fd(int conn)
{
    char byte[64];
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec v = {byte, sizeof(byte)};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control,
                       .msg_controllen = sizeof(control)};
    if (recvmsg(conn, &m, MSG_CMSG_CLOEXEC) < 0) return -1;
    const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
        c->cmsg_len != CMSG_LEN(sizeof(int)))
        return -1;
    int fd;
    memcpy(&fd, CMSG_DATA(c), sizeof(fd));
    return fd;
}

int launch_console_take(int listener, int timeout_ms, struct err *err)
{
    struct pollfd p = {.fd = listener, .events = POLLIN};
    if (poll(&p, 1, timeout_ms) <= 0)
        return err_set(err, ERR_TIMEOUT, "the runtime offers no terminal");
    AUTO_FD int conn = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (conn < 0) return err_sys(err, ERR_IO, errno, "cannot accept the terminal");
    return launch_take_master(conn, timeout_ms, err);
}

int launch_take_master(int conn, int timeout_ms, struct err *err)
{
    struct pollfd p = {.fd = conn, .events = POLLIN};
    int fd = poll(&p, 1, timeout_ms) > 0 ? take_fd(conn) : -1;
    if (fd < 0) return err_set(err, ERR_IO, "the runtime's terminal did not arrive");
    return fd;
}
