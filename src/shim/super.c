/* shim/super.c - the supervisor's steps: create, hold, start, stop, end.
 * docs/spec/node.md */
#include "shim/notice.h"
#include "shim/super.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/check.h"
#include "base/str.h"
#include "host/file.h"
#include "host/proc.h"
#include "host/pulse.h"
#include "shim/disk.h"
#include "shim/fds.h"
#include "shim/launch.h"
#include "shim/wall.h"

#define PIPE_BYTES (1024 * 1024)
#define CREATE_MS 60000
#define ENGINE_CREATE_MS (30 * 60000) /* it may have an image to fetch */
#define KILL_MS 10000
#define DRAIN_MS 200
#define MOVE_AFTER_MS 1000

int super_life(struct super *s, struct err *err) { return memo_write_life(s->dir, &s->life, err); }

int super_open(struct super *s, struct err *err)
{
    for (int i = 0; i < SUPER_CLIENTS; i++) s->clients[i].fd = -1;
    s->runtime_fd = s->pidfd = s->ready = s->listener = s->console = s->input = -1;
    s->log.fd = s->log.wake = -1;
    s->guest = (struct super_guest){.listener = -1, .conn = -1, .fds = {-1, -1, -1, -1, -1, -1},
                                    .use = {-1, -1, -1}};
    s->dir = file_open_dir(AT_FDCWD, ".", err);
    if (s->dir < 0) return s->dir;
    return memo_read_conf(s->dir, &s->conf, err);
}

enum shim_state super_state(const struct super *s)
{
    switch (s->phase) {
    case SUPER_CREATING: return SHIM_IS_CREATING;
    case SUPER_HELD: return SHIM_IS_HELD;
    case SUPER_STARTING: return SHIM_IS_STARTING;
    case SUPER_RUNNING: return SHIM_IS_RUNNING;
    case SUPER_ENDED: break; /* nobody connects any more */
    }
    return SHIM_IS_UNKNOWN;
}

/* ---- create ---- */

/* The container gets a read-write reopening of the pipe's write end: being a
 * reader itself, it neither dies nor stops when the supervisor does. */
static int output_pipe(int *ret_read, int *ret_write, struct err *err)
{
    int p[2];
    char path[40];
    if (pipe2(p, O_CLOEXEC) < 0) return err_sys(err, ERR_IO, errno, "cannot make a pipe");
    fcntl(p[1], F_SETPIPE_SZ, PIPE_BYTES); /* smaller is slower, no more */
    text_fmt(path, sizeof(path), "/proc/self/fd/%d", p[1]);
    int w = open(path, O_RDWR | O_CLOEXEC);
    int code = errno;
    close(p[1]);
    if (w < 0) {
        close(p[0]);
        return err_sys(err, ERR_IO, code, "cannot reopen a pipe");
    }
    *ret_read = p[0];
    *ret_write = w;
    return 0;
}

static int input_pipe(struct super *s, int *ret_read, struct err *err)
{
    int p[2];
    if (pipe2(p, O_CLOEXEC) < 0) return err_sys(err, ERR_IO, errno, "cannot make a pipe");
    *ret_read = p[0];
    s->input = p[1];
    fcntl(p[1], F_SETFL, O_NONBLOCK);
    if (!s->conf.stdin_open) file_close(&s->input);
    return 0;
}

static int ready_pipe(struct super *s, int *ret_write, struct err *err)
{
    int p[2];
    if (pipe2(p, O_CLOEXEC | O_NONBLOCK) < 0)
        return err_sys(err, ERR_IO, errno, "cannot make a pipe");
    s->ready = p[0];
    *ret_write = p[1];
    return 0;
}

struct job_fds { int in, out, err, ready, log_out, log_err; };

static void job_fds_close(struct job_fds *f)
{
    file_close(&f->in);
    file_close(&f->out);
    file_close(&f->err);
    file_close(&f->ready);
    file_close(&f->log_out);
    file_close(&f->log_err);
}

static int make_fds(struct super *s, struct job_fds *f, struct err *err)
{
    int rc = output_pipe(&f->log_out, &f->out, err);
    if (rc == 0) rc = output_pipe(&f->log_err, &f->err, err);
    if (rc == 0) rc = input_pipe(s, &f->in, err);
    if (rc == 0) rc = ready_pipe(s, &f->ready, err);
    if (rc == 0 && s->conf.engine) {
        if (s->conf.tty) file_close(&s->input);
        return engine_listen(s, err);
    }
    if (rc == 0 && s->conf.tty) {
        file_close(&s->input); /* the terminal is the input */
        s->console = launch_console_listen("con", err);
        rc = s->console < 0 ? s->console : 0;
    }
    return rc;
}

int super_create(struct super *s, struct err *err)
{
    __attribute__((cleanup(job_fds_close))) struct job_fds f = {-1, -1, -1, -1, -1, -1};
    int rc = make_fds(s, &f, err);
    if (rc < 0) return rc;
    AUTO_FD int status =
        openat(s->dir, "status", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (status < 0) return err_sys(err, ERR_IO, errno, "cannot create the status file");
    AUTO_FD int pulse = s->conf.fence_ms > 0
                            ? openat(s->dir, PULSE_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (s->conf.fence_ms > 0 && pulse < 0)
        return err_sys(err, ERR_IO, errno, "cannot open its pulse");
    AUTO_FD int disk = -1;
    if (s->conf.disk) disk = rc = disk_open(s->dir, err);
    if (rc < 0) return rc;
    struct launch l = {.conf = &s->conf,
                       .overlay = true,
                       .in = f.in,
                       .out = f.out,
                       .err_fd = f.err,
                       .status = status,
                       .ready = f.ready,
                       .pulse = pulse,
                       .dir = s->dir,
                       .disk = disk,
                       .spec = -1,
                       .log = "error",
                       .args = {"create", "--bundle=bundle", "--pid-file=" LAUNCH_DIR "pid",
                                pulse < 0 ? "--preserve-fds=2" : "--preserve-fds=3",
                                s->conf.name}};
    if (s->conf.engine) { /* what the job gets goes to init itself, once it is there */
        l.status = l.ready = l.pulse = -1;
        l.locked = true;
        l.args[3] = s->conf.name;
        l.args[4] = NULL;
    } else if (s->conf.tty) {
        l.args[4] = "--console-socket=" LAUNCH_DIR "con";
        l.args[5] = s->conf.name;
    }
    s->phase = SUPER_CREATING;
    s->create_until_ms = proc_boot_ms() + (s->conf.engine ? ENGINE_CREATE_MS : CREATE_MS);
    s->runtime = launch_runtime(&l, err);
    if (s->runtime < 0) return s->runtime;
    s->runtime_fd = proc_open_child(s->runtime, err);
    if (s->runtime_fd < 0) return s->runtime_fd;
    if (s->conf.engine) {
        if (pulse < 0) pulse = fcntl(status, F_DUPFD_CLOEXEC, 5); /* one that init closes */
        const int held[GUEST_N] = {f.in, f.out, f.err, status, f.ready, pulse};
        memcpy(s->guest.fds, held, sizeof(held));
        f.in = f.out = f.err = status = f.ready = pulse = -1;
    }
    /* With a terminal the streams carry only what the runtime itself says. */
    rc = log_start(&s->log, s->dir, f.log_out, f.log_err, s->conf.tty || s->conf.stdin_open, err);
    if (rc == 0) f.log_out = f.log_err = -1;
    return rc;
}

static int read_pid(struct super *s, struct err *err)
{
    char buf[32];
    size_t n = 0;
    uint64_t pid = 0, start = 0;
    int rc = file_read(s->dir, "pid", buf, sizeof(buf), &n, err);
    if (rc < 0) return rc;
    if (!str_to_u64(str_trim(str_n(buf, n)), &pid) || pid < 2 || pid > INT32_MAX)
        return err_set(err, ERR_CORRUPT, "the runtime wrote no pid");
    /* No child of ours where an engine started it: then by its start time. */
    if (!s->conf.engine) s->pidfd = proc_open_child((int64_t)pid, err);
    if (!s->conf.engine && s->pidfd < 0) return s->pidfd;
    rc = proc_start_time((int64_t)pid, &start, err);
    if (rc == 0 && s->conf.engine) rc = s->pidfd = proc_open((int64_t)pid, start, err);
    if (rc < 0) return rc;
    s->life.pid = (int64_t)pid;
    s->life.start = (int64_t)start;
    s->is_child = !s->conf.engine;
    return super_life(s, err);
}

/* The terminal replaces the pipes: same log, other source. */
static int use_terminal(struct super *s, int master, struct err *err)
{
    fcntl(master, F_SETFL, O_NONBLOCK);
    s->input = fcntl(master, F_DUPFD_CLOEXEC, 5);
    log_finish(&s->log, 1);
    return log_start(&s->log, s->dir, master, -1, true, err);
}

static int take_terminal(struct super *s, struct err *err)
{
    int master = launch_console_take(s->console, 1000, err);
    if (master < 0) return master;
    file_close(&s->console);
    unlinkat(s->dir, "con", 0);
    return use_terminal(s, master, err);
}

/* Where the engine put it is written down by the helper. */
static int take_guest(struct super *s, struct err *err)
{
    int master = -1;
    int rc = memo_read_conf(s->dir, &s->conf, err);
    if (rc == 0) rc = engine_meet(s, &master, err);
    return rc == 0 && master >= 0 ? use_terminal(s, master, err) : rc;
}

static int take_container(struct super *s, struct err *err)
{
    int rc = read_pid(s, err);
    if (rc < 0) return rc;
    if (s->conf.engine) return take_guest(s, err);
    return s->conf.tty ? take_terminal(s, err) : 0;
}

static void forget_runtime(struct super *s)
{
    s->runtime = 0;
    file_close(&s->runtime_fd);
}

/* The runtime's own start.  Its success shows in the job; its failure leaves a
 * container that waits at a barrier which nobody will open. */
static void started(struct super *s, int status)
{
    char text[sizeof(s->end.text)];
    if (s->ready >= 0) super_ready(s); /* what the job has said counts more */
    if (status == 0 || s->phase != SUPER_STARTING) return;
    launch_error(s->dir, "error", text, sizeof(text));
    super_fail(s, text);
}

void super_created(struct super *s)
{
    struct err err = {0};
    int status = 0;
    if (waitpid(s->runtime, &status, WNOHANG) != s->runtime) return;
    forget_runtime(s);
    if (s->phase >= SUPER_STARTING) {
        s->create_until_ms = 0;
        started(s, status);
        return;
    }
    if (status != 0) {
        char text[sizeof(s->end.text)];
        launch_error(s->dir, "error", text, sizeof(text));
        super_fail(s, text);
        return;
    }
    if (take_container(s, &err) < 0) {
        super_fail(s, err.text);
        return;
    }
    s->phase = SUPER_HELD;
    s->create_until_ms = 0;
    if (wall_root((pid_t)s->life.pid, strcmp(s->conf.lower, "/") == 0, &err) < 0) {
        super_fail(s, err.text);
        return;
    }
    struct shim_created made = {s->life.pid, (uint64_t)s->life.start};
    control_tell(s, SHIM_CREATED, &made, sizeof(made));
    if (s->go_wanted) super_go(s);
}

/* ---- go ---- */

/* One byte into the runtime's own barrier, which its `start` would write. */
static bool open_fifo(struct super *s)
{
    char path[MEMO_PATH + MEMO_NAME + 16];
    text_fmt(path, sizeof(path), "%s/%s/exec.fifo", s->conf.crun_root, s->conf.name);
    AUTO_FD int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return false;
    if (write(fd, "1", 1) != 1) return false;
    unlink(path); /* as `start` does: the runtime takes the container for running */
    return true;
}

static int start_slowly(struct super *s, struct err *err)
{
    __attribute__((cleanup(job_fds_close))) struct job_fds f = {-1, -1, -1, -1, -1, -1};
    int rc = output_pipe(&f.log_out, &f.out, err);
    if (rc < 0) return rc;
    struct launch l = {.conf = &s->conf, .in = f.log_out, .out = f.out, .err_fd = f.out,
                       .status = -1, .ready = -1, .pulse = -1, .dir = s->dir, .spec = -1,
                       .log = "error", .args = {"start", s->conf.name}};
    s->runtime = launch_runtime(&l, err);
    if (s->runtime < 0) return s->runtime;
    s->runtime_fd = proc_open_child(s->runtime, err);
    s->create_until_ms = proc_boot_ms() + CREATE_MS;
    return s->runtime_fd < 0 ? s->runtime_fd : 0;
}

static int open_barrier(struct super *s, struct err *err)
{
    if (s->conf.engine) return engine_go(s, err);
    return !s->conf.slow && open_fifo(s) ? 0 : start_slowly(s, err);
}

void super_go(struct super *s)
{
    struct err err = {0};
    s->go_wanted = true;
    if (s->phase != SUPER_HELD) return;
    s->life.started_wall_us = proc_wall_us();
    s->life.limit_boot_ms = s->conf.limit_ms ? proc_boot_ms() + s->conf.limit_ms : 0;
    if (super_life(s, &err) < 0 || memo_write_go(s->dir, s->life.boot_id, &err) < 0 ||
        open_barrier(s, &err) < 0) {
        super_fail(s, err.text);
        return;
    }
    s->phase = SUPER_STARTING;
}

/* The one before may have died between its record and the act.  Where nobody
 * reads any more this does nothing. */
void super_go_again(struct super *s)
{
    if (s->conf.engine) engine_again(s);
    else open_fifo(s);
}

void super_ready(struct super *s)
{
    char byte;
    ssize_t n = read(s->ready, &byte, 1);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    file_close(&s->ready);
    if (n <= 0 || s->phase != SUPER_STARTING) return; /* its end comes by itself */
    s->phase = SUPER_RUNNING;
    s->create_until_ms = 0;
    control_tell(s, SHIM_STARTED, NULL, 0);
    super_move_later(s);
    if (s->stopping) proc_signal(s->pidfd, SIGTERM);
}

/* The kernel may take 15 ms for it: not while a short job could end. */
void super_move_later(struct super *s)
{
    if (s->conf.home[0]) s->move_at_ms = proc_boot_ms() + MOVE_AFTER_MS;
}

void super_move(struct super *s)
{
    char path[MEMO_PATH + 16];
    s->move_at_ms = 0;
    text_fmt(path, sizeof(path), "%s/cgroup.procs", s->conf.home);
    file_put(AT_FDCWD, path, "0", NULL); /* where it cannot be, we stay where we are */
}

/* ---- stop and signals ---- */

void super_stop(struct super *s, int64_t grace_ms, bool preempted)
{
    if (s->phase == SUPER_ENDED) return;
    if (s->phase < SUPER_STARTING) {
        super_fail(s, "stopped before it started");
        return;
    }
    if (grace_ms < 0) grace_ms = 0;
    if (grace_ms > INT32_MAX) grace_ms = INT32_MAX;
    int64_t at = proc_boot_ms() + grace_ms;
    bool sooner = !s->stopping || at < s->kill_at_ms;
    if (preempted && sooner) { /* before the signal, whose handler may look for it */
        int64_t until_ms = proc_wall_us() / 1000 + grace_ms;
        (void)notice_preempt((pid_t)s->life.pid, s->pidfd, until_ms / 1000);
    }
    /* One that is starting gets it when it can hear. */
    if (!s->stopping && s->phase == SUPER_RUNNING) proc_signal(s->pidfd, SIGTERM);
    if (sooner) s->kill_at_ms = at;
    s->stopping = true;
}

void super_signal(struct super *s, uint32_t no, int signum)
{
    if (s->phase != SUPER_RUNNING || no <= (uint32_t)s->life.signal_done) return;
    if (signum < 1 || signum > 64) return;
    s->life.signal_done = no;
    super_life(s, NULL); /* before the act: better once too few than twice */
    if (signum == SIGKILL) super_stop(s, 0, false);
    else proc_signal(s->pidfd, signum);
    struct shim_hello h = {SHIM_PROTO, no, super_state(s)};
    control_tell(s, SHIM_HELLO, &h, sizeof(h));
}

/* ---- end ---- */

static void end_now(struct super *s, enum shim_kind kind)
{
    struct err err = {0};
    s->end.ended_wall_us = proc_wall_us();
    /* Without its record the end would be unknown: then better stay silent and
     * let the agent find what is left. */
    if (memo_write_exit(s->dir, &s->end, &err) == 0)
        control_tell(s, kind, s->end.text, strlen(s->end.text));
    s->phase = SUPER_ENDED;
}

void super_kill(struct super *s)
{
    if (s->conf.engine) {
        engine_look(s);
        s->guest.killed = true;
        if (s->pidfd >= 0) proc_signal(s->pidfd, SIGKILL); /* process 1: its end is everybody's */
    }
    cgroup_kill(&s->conf.cgroups, KILL_MS, NULL);
}

void super_fail(struct super *s, const char *text)
{
    /* The runtime may not have entered its control group yet. */
    if (s->runtime > 0) kill(s->runtime, SIGKILL);
    if (s->runtime > 0) waitpid(s->runtime, NULL, 0);
    forget_runtime(s);
    super_kill(s);
    engine_forget(s);
    log_finish(&s->log, DRAIN_MS);
    s->end = (struct memo_exit){.mem_peak_bytes = -1, .cpu_us = -1};
    text_clip(s->end.text, sizeof(s->end.text), str_of(text));
    end_now(s, SHIM_FAILED);
}

static void find_status(struct super *s)
{
    int own = 0, job = 0;
    /* It is dead, but may be reaped a moment later. */
    bool have_own = s->is_child && waitpid((pid_t)s->life.pid, &own, 0) == (pid_t)s->life.pid;
    if (memo_read_status(s->dir, &job, &s->end.fenced, NULL) == 0) {
        s->end.known = true;
        s->end.status = job;
    } else if (s->conf.engine && s->phase >= SUPER_STARTING && engine_killed(s, &s->end.oom)) {
        s->end.known = true;
        s->end.status = SIGKILL;
    } else if (have_own) {
        s->end.known = true;
        s->end.status = own;
    } else {
        TEXT_CLIP(s->end.text, STR("it ended while nobody watched: outcome unknown"));
    }
}

void super_finish(struct super *s)
{
    struct cgroup_usage use = {-1, -1, -1};
    s->end = (struct memo_exit){.ran = s->phase >= SUPER_STARTING,
                                .timed_out = s->life.timed_out,
                                .started_wall_us = s->life.started_wall_us};
    if (s->conf.engine) engine_look(s);
    find_status(s);
    cgroup_kill(&s->conf.cgroups, KILL_MS, NULL); /* helpers that were running beside it */
    log_finish(&s->log, DRAIN_MS);
    cgroup_read(&s->conf.cgroups, &use);
    if (s->conf.engine && use.cpu_us < 0) use = s->guest.use; /* the engine was faster */
    s->end.mem_peak_bytes = use.mem_peak_bytes;
    s->end.cpu_us = use.cpu_us;
    s->end.oom = (s->end.oom || use.oom_kills > 0) && s->end.known && s->end.status != 0;
    if (s->end.fenced) TEXT_CLIP(s->end.text, STR(MEMO_FENCED_TEXT));
    if (!s->end.ran) TEXT_CLIP(s->end.text, STR("the container ended before it was started"));
    end_now(s, s->end.ran ? SHIM_EXIT : SHIM_FAILED);
}
