/* net/child.c - see child.h.
 *
 * The child begins in our memory on a stack of its own while we stand still (as
 * posix_spawn does), so a failed exec is seen without a pipe.  Descriptors are
 * first moved out of each other's way, then to their numbers, then the rest is
 * closed by one call. */
#include "net/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "net/child_impl.h"
#include "net/loop_impl.h"

enum { STACK_BYTES = 64 * 1024, INPUT_MAX = 1024 * 1024 };

extern char **environ;

/* ---- in the child ---- */

/* The address sanitizer notes which stack memory is in use; exec never returns
 * to take such notes back, so the child's own functions take none. */
#define IN_CHILD __attribute__((no_sanitize("address")))

struct start { /* shared with the child while it runs in our memory */
    const struct child_spec *spec;
    const char *path;       /* with a slash, or NULL: search */
    const char *const *envp;
    struct child_fd fds[CHILD_FDS_MAX + 3];
    uint32_t n_fds;
    sigset_t mask;
    pid_t parent;
    int failed_errno;
    const char *failed_step;
};

IN_CHILD static int step_failed(struct start *s, const char *step)
{
    s->failed_errno = errno;
    s->failed_step = step;
    return 127;
}

IN_CHILD static void reset_signals(void)
{
    struct sigaction dfl = {.sa_handler = SIG_DFL};
    for (int i = 1; i < 65; i++)
        if (i != SIGKILL && i != SIGSTOP) (void)sigaction(i, &dfl, NULL);
}

IN_CHILD static bool place_fds(struct start *s)
{
    /* Above every wanted number first: no target is overwritten before it is read. */
    int top = 3;
    for (uint32_t i = 0; i < s->n_fds; i++)
        if (s->fds[i].theirs >= top) top = s->fds[i].theirs + 1;
    for (uint32_t i = 0; i < s->n_fds; i++) {
        s->fds[i].ours = fcntl(s->fds[i].ours, F_DUPFD_CLOEXEC, top);
        if (s->fds[i].ours < 0) return false;
    }
    for (uint32_t i = 0; i < s->n_fds; i++)
        if (dup2(s->fds[i].ours, s->fds[i].theirs) < 0) return false;
    /* Everything else closes at exec: nothing of ours is inherited by accident. */
    unsigned from = 0;
    for (;;) { /* the gaps between the wanted numbers, in order */
        unsigned next = ~0U;
        for (uint32_t i = 0; i < s->n_fds; i++) {
            unsigned t = (unsigned)s->fds[i].theirs;
            if (t >= from && t < next) next = t;
        }
        unsigned last = next == ~0U ? ~0U : next - 1;
        if (next != from && syscall(SYS_close_range, from, last, 1U << 2) != 0) return false;
        if (next == ~0U) return true;
        from = next + 1;
    }
}

IN_CHILD static int child_main(void *arg)
{
    struct start *s = arg;
    const struct child_spec *spec = s->spec;
    reset_signals();
    if (spec->new_session && setsid() < 0) return step_failed(s, "setsid");
    if (spec->parent_death_signal != 0) {
        if (prctl(PR_SET_PDEATHSIG, spec->parent_death_signal) != 0)
            return step_failed(s, "parent death signal");
        if (getppid() != s->parent) raise(spec->parent_death_signal);
    }
    if (!place_fds(s)) return step_failed(s, "descriptors");
    if (spec->cwd != NULL && chdir(spec->cwd) != 0) return step_failed(s, "chdir");
    if (spec->before_exec != NULL) {
        int rc = spec->before_exec(spec->before_exec_arg);
        if (rc != 0) {
            errno = rc;
            return step_failed(s, "prepare");
        }
    }
    (void)sigprocmask(SIG_SETMASK, &s->mask, NULL);
    char *const *argv = (char *const *)(uintptr_t)spec->argv;
    char *const *envp = (char *const *)(uintptr_t)s->envp;
    if (s->path != NULL) (void)execve(s->path, argv, envp);
    else (void)execvpe(argv[0], argv, envp);
    return step_failed(s, "exec");
}

/* ---- in the parent ---- */

static int spawn(struct start *s, int *ret_pidfd, pid_t *ret_pid, struct err *err)
{
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) return err_sys(err, ERR_IO, errno, "spawn");
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    s->mask = none;
    s->parent = getpid();
    int pidfd = -1;
    /* No handler of ours may run in the child while it shares our memory. */
    sigset_t before;
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = clone(child_main, stack + STACK_BYTES,
                      CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, s, &pidfd);
    int code = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    munmap(stack, STACK_BYTES);
    if (pid < 0) return err_sys(err, ERR_IO, code, "spawn");
    if (s->failed_step != NULL) {
        siginfo_t info;
        while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED) != 0 && errno == EINTR) continue;
        close(pidfd);
        int kind = s->failed_errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
        if (s->failed_errno == EACCES) kind = ERR_DENIED;
        return err_sys(err, kind, s->failed_errno, "%.80s: %s", s->spec->argv[0], s->failed_step);
    }
    *ret_pidfd = pidfd;
    *ret_pid = pid;
    return 0;
}

static bool names(const struct start *s, int fd)
{
    for (uint32_t i = 0; i < s->n_fds; i++)
        if (s->fds[i].theirs == fd) return true;
    return false;
}

static void map_fd(struct start *s, int ours, int theirs)
{
    s->fds[s->n_fds++] = (struct child_fd){ours, theirs};
}

/* What the child reads as stdin: the input in a memory file, or an empty pipe
 * (never /dev/null: some runtimes give their stdin to another user). */
static int stdin_for(struct str input)
{
    if (input.p == NULL) {
        int p[2];
        if (pipe2(p, O_CLOEXEC) != 0) return -1;
        close(p[1]);
        return p[0];
    }
    int fd = memfd_create("stdin", MFD_CLOEXEC);
    size_t at = 0;
    while (fd >= 0 && at < input.n) {
        ssize_t n = write(fd, input.p + at, input.n - at);
        if (n <= 0) {
            close(fd);
            return -1;
        }
        at += (size_t)n;
    }
    if (fd >= 0 && lseek(fd, 0, SEEK_SET) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

int child_start(const struct child_spec *spec, bool capture, struct child_start *ret,
                struct err *err)
{
    struct start s = {.spec = spec, .path = spec->path};
    struct child_start out = {.out = {-1, -1}};
    int temp[4] = {-1, -1, -1, -1};
    CHECK(spec->n_fds <= CHILD_FDS_MAX);
    CHECK(spec->argv[0] != NULL);
    if (spec->input.n > INPUT_MAX) return err_set(err, ERR_LIMIT, "the input is too large");
    s.envp = spec->envp != NULL ? spec->envp : (const char *const *)environ;
    for (uint32_t i = 0; i < spec->n_fds; i++) map_fd(&s, spec->fds[i].ours, spec->fds[i].theirs);
    int rc = 0;
    if (!names(&s, 0) && spec->inherit_stdio && spec->input.p == NULL) {
        map_fd(&s, 0, 0);
    } else if (!names(&s, 0)) {
        temp[0] = stdin_for(spec->input);
        if (temp[0] < 0) rc = err_sys(err, ERR_IO, errno, "stdin");
        map_fd(&s, temp[0], 0);
    }
    for (int i = 1; rc == 0 && i <= 2; i++) {
        if (names(&s, i)) continue;
        if (capture) {
            int p[2];
            if (pipe2(p, O_CLOEXEC) != 0) {
                rc = err_sys(err, ERR_IO, errno, "pipe");
                break;
            }
            out.out[i - 1] = p[0];
            temp[i] = p[1];
            map_fd(&s, p[1], i);
        } else if (spec->inherit_stdio) {
            map_fd(&s, i, i);
        } else {
            if (temp[3] < 0) temp[3] = open("/dev/null", O_WRONLY | O_CLOEXEC);
            if (temp[3] < 0) rc = err_sys(err, ERR_IO, errno, "/dev/null");
            map_fd(&s, temp[3], i);
        }
    }
    if (rc == 0) rc = spawn(&s, &out.pidfd, &out.pid, err);
    for (uint32_t i = 0; i < ARRAY_LEN(temp); i++)
        if (temp[i] >= 0) close(temp[i]);
    if (rc != 0) {
        if (out.out[0] >= 0) close(out.out[0]);
        if (out.out[1] >= 0) close(out.out[1]);
        return rc;
    }
    *ret = out;
    return 0;
}

bool child_reap(int pidfd, struct child_exit *ret)
{
    siginfo_t info = {0};
    int rc;
    do rc = waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG);
    while (rc != 0 && errno == EINTR);
    if (rc == 0 && info.si_pid == 0) return false;
    if (rc != 0) { /* somebody reaped it for us: the outcome is lost */
        *ret = (struct child_exit){.code = 255};
        return true;
    }
    *ret = (struct child_exit){.code = info.si_status};
    if (info.si_code != CLD_EXITED)
        *ret = (struct child_exit){.code = 128 + info.si_status, .signum = info.si_status};
    return true;
}
