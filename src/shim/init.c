/* shim/init.c - process 1 of every container.
 *
 * It starts the job in a process group of its own, passes signals on to that
 * group, reaps whatever is left to it, and when the job ends it writes the exact
 * wait status to the file on descriptor 3 and leaves; its end is the end of the
 * whole pid namespace.  It waits for nothing else.
 *
 * It runs as the job's user, so it makes itself undumpable first: nobody of that
 * user may then trace it or reach its descriptors.
 *
 * With a fence it also ends when the agent had no answer for too long.  It looks
 * by itself, at an instant of CLOCK_BOOTTIME: neither a dead agent nor a machine
 * that slept holds it up, and nothing that the job may send it does, for it looks
 * at the clock after every signal.  docs/spec/node.md, "Silence" */
#include "shim/init.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "host/memo.h"
#include "host/proc.h"
#include "host/pulse.h"
#include "shim/fds.h"
#include "shim/guest.h"

#define TORN_MS 100 /* until a file that was being written is read again */

struct fence {
    int64_t after_ms;          /* 0: none */
    const volatile char *map;
    int64_t pulse_ms;          /* the last one that could be read */
    timer_t timer;
};

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

_Noreturn void init_leave(int status)
{
    char text[MEMO_STATUS_LEN];
    memo_format_status(status, text);
    ssize_t ignored = write(INIT_STATUS_FD, text, sizeof(text));
    (void)ignored;
    guest_linger();
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* ---- the fence */

/* All others of the namespace first: the disk, for the status, may hang.  Only process 1 has
 * a namespace of its own: from anywhere else this would be the whole machine. */
static _Noreturn void cut_off(void)
{
    char text[MEMO_STATUS_LEN];
    if (getpid() == 1) kill(-1, SIGKILL);
    memo_format_fenced(text);
    ssize_t ignored = write(INIT_STATUS_FD, text, sizeof(text));
    (void)ignored;
    _exit(128 + SIGKILL);
}

static void fence_arm(const struct fence *f, int64_t at_ms)
{
    struct itimerspec t = {.it_value = {at_ms / 1000, at_ms % 1000 * 1000000}};
    timer_settime(f->timer, TIMER_ABSTIME, &t, NULL);
}

/* Leaves when the time is over; else wakes when it may be. */
static void fence_look(struct fence *f)
{
    int64_t now = proc_boot_ms(), pulse = 0;
    if (f->after_ms == 0 || now < f->pulse_ms + f->after_ms) return;
    if (pulse_read(f->map, &pulse)) {
        f->pulse_ms = pulse;
        if (now >= pulse + f->after_ms) cut_off();
        fence_arm(f, pulse + f->after_ms);
        return;
    }
    if (now >= f->pulse_ms + f->after_ms + 10 * TORN_MS) cut_off(); /* what was read last counts */
    fence_arm(f, now + TORN_MS);
}

/* The job is not begun without its fence, nor when its time is over already. */
static void fence_begin(struct fence *f, int64_t after_ms)
{
    struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMAX};
    if (after_ms == 0) return;
    f->map = pulse_map(INIT_PULSE_FD);
    close(INIT_PULSE_FD);
    if (!f->map || timer_create(CLOCK_BOOTTIME, &how, &f->timer) < 0) {
        say("the command", "its fence cannot be set");
        init_leave(126 << 8);
    }
    f->after_ms = after_ms;
    if (!pulse_read(f->map, &f->pulse_ms)) f->pulse_ms = proc_boot_ms() - after_ms;
    fence_arm(f, f->pulse_ms + after_ms);
    fence_look(f);
}

/* Reaps all; leaves when the job is among them. */
static void reap(pid_t job)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == job) init_leave(status);
}

int init_main(int64_t fence_ms, char *const *argv)
{
    struct fence fence = {0};
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
    fence_begin(&fence, fence_ms);
    pid_t job = fork();
    if (job < 0) {
        say(argv[0], strerror(errno));
        init_leave(126 << 8);
    }
    if (job == 0) run_job(argv);
    setpgid(job, job); /* also here, so that no early signal meets an empty group */
    /* Only now does a signal reach the job: before, process 1 would lose it. */
    ssize_t ignored = write(INIT_READY_FD, "r", 1);
    (void)ignored;
    close(INIT_READY_FD);
    for (;;) {
        siginfo_t info = {0};
        int sig = sigwaitinfo(&all, &info);
        fence_look(&fence);
        if (sig == SIGCHLD) reap(job);
        else if (sig > 0 && !(sig == SIGRTMAX && info.si_code == SI_TIMER)) kill(-job, sig);
    }
}
