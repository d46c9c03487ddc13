/* shim/init.c - process 1 of every container.
 *
 * It starts the job in a process group of its own, passes signals on to that
 * group, reaps whatever is left to it, and when the job ends it writes the exact
 * wait status to the file on descriptor 3 and leaves; its end is the end of the
 * whole pid namespace.  It waits for nothing else.
 *
 * It runs as the job's user, so it makes itself undumpable first: nobody of that
 * user may then trace it or reach its descriptors.  docs/spec/node.md */
#include "shim/init.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "host/memo.h"
#include "shim/fds.h"

static void say(const char *name, const char *why)
{
    struct iovec v[] = {
        {(char *)"rota: cannot run ", 17}, {(char *)name, strlen(name)}, {(char *)": ", 2},
        {(char *)why, strlen(why)},        {(char *)"\n", 1},
    };
    ssize_t ignored = writev(STDERR_FILENO, v, 5);
    (void)ignored;
}

static _Noreturn void run_job(char *const *argv)
{
    setpgid(0, 0);
    /* Without a terminal this fails, and nothing needs it. */
    tcsetpgrp(STDIN_FILENO, getpid());
    sigset_t none;
    sigemptyset(&none);
    /* What somebody up there ignored (nohup does) is not the job's affair either.  The
     * two that cannot be changed, and the C library's own, say no. */
    for (int sig = 1; sig < NSIG; sig++) signal(sig, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(argv[0], argv);
    int code = errno;
    bool absent = code == ENOENT || code == ENOTDIR;
    say(argv[0], absent ? "there is no such command" : strerror(code));
    _exit(absent ? 127 : 126);
}

static _Noreturn void leave(int status)
{
    char text[MEMO_STATUS_LEN];
    memo_format_status(status, text);
    ssize_t ignored = write(INIT_STATUS_FD, text, sizeof(text));
    (void)ignored;
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* Reaps all; leaves when the job is among them. */
static void reap(pid_t job)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == job) leave(status);
}

int init_main(char *const *argv)
{
    prctl(PR_SET_DUMPABLE, 0);
    fcntl(INIT_STATUS_FD, F_SETFD, FD_CLOEXEC);
    fcntl(INIT_READY_FD, F_SETFD, FD_CLOEXEC);
    /* Blocked, a signal waits for us; otherwise the kernel drops for process 1
     * every signal without a handler. */
    sigset_t all;
    sigfillset(&all);
    /* The supervisor may be gone when it is told: that is not the job's affair.
     * Blocked, even an ignored signal would be kept and passed on. */
    sigdelset(&all, SIGPIPE);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_SETMASK, &all, NULL);
    pid_t job = fork();
    if (job < 0) {
        say(argv[0], strerror(errno));
        leave(126 << 8);
    }
    if (job == 0) run_job(argv);
    setpgid(job, job); /* also here, so that no early signal meets an empty group */
    /* Only now does a signal reach the job: before, process 1 would lose it. */
    ssize_t ignored = write(INIT_READY_FD, "r", 1);
    (void)ignored;
    close(INIT_READY_FD);
    for (;;) {
        int sig = sigwaitinfo(&all, NULL);
        if (sig == SIGCHLD) reap(job);
        else if (sig > 0) kill(-job, sig);
    }
}
