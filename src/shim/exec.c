/* shim/exec.c - one command inside a running container.
 *
 * Lives as long as the command or the agent's end of the socket: when that
 * closes, the command gets SIGHUP and a moment later SIGKILL.  Reads from the
 * command only what the socket takes, so a slow client slows the command, not
 * us.  docs/spec/node.md */
#include "shim/exec.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include "base/str.h"
#include "host/file.h"
#include "host/memo.h"
#include "host/proc.h"
#include "shim/fds.h"
#include "shim/launch.h"
#include "wire/shim.h"

#define INPUT_MAX (2 * SHIM_DATA_MAX)
#define HANGUP_MS 1000
#define DRAIN_MS 200
#define TTY_LEFT_MAX (1024 * 1024) /* more than a terminal's buffers hold */

struct exec {
    int dir, agent, in, out[2], runtime_fd;
    pid_t runtime;
    bool tty, eof, hung_up;
    int64_t until_us;   /* kill (hung up) or stop draining (ended) then; 0: none */
    int status;         /* of the runtime; -1: still running */
    int due[2];         /* bytes that the ended command left in its streams, at most */
    char error[32], pid_file[32], console[32];
    uint32_t input_n;
    char input[INPUT_MAX];
    struct memo_conf conf;
};

static void signal_job(struct exec *x, int signum)
{
    char buf[32];
    size_t n = 0;
    uint64_t pid;
    /* The runtime waits for the job, so the number cannot belong to another. */
    if (x->status >= 0 || file_read(x->dir, x->pid_file, buf, sizeof(buf), &n, NULL) < 0) return;
    if (str_to_u64(str_trim(str_n(buf, n)), &pid) && pid > 1 && pid < INT32_MAX)
        kill((pid_t)pid, signum);
}

static void hang_up(struct exec *x)
{
    if (x->hung_up) return;
    x->hung_up = true;
    file_close(&x->agent);
    signal_job(x, SIGHUP);
    x->until_us = proc_mono_us() + HANGUP_MS * 1000;
}

static void send_agent(struct exec *x, enum shim_kind kind, const void *data, size_t n)
{
    char buf[SHIM_MSG_MAX];
    if (x->agent < 0) return;
    buf[0] = (char)kind;
    memcpy(buf + 1, data, n);
    if (send(x->agent, buf, n + 1, MSG_NOSIGNAL) < 0) hang_up(x);
}

static void flush_input(struct exec *x)
{
    while (x->input_n > 0 && x->in >= 0) {
        ssize_t w = write(x->in, x->input, x->input_n);
        if (w < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (w < 0) {
            file_close(&x->in);
            x->input_n = 0;
            return;
        }
        x->input_n -= (uint32_t)w;
        memmove(x->input, x->input + w, x->input_n);
    }
    if (!x->eof || x->input_n) return;
    if (!x->tty) {
        file_close(&x->in);
        return;
    }
    if (x->in >= 0 && write(x->in, "\004", 1) == 1) x->eof = false;
}

static void read_agent(struct exec *x)
{
    char buf[SHIM_MSG_MAX];
    struct shim_resize r;
    struct shim_signal sig;
    ssize_t n = recv(x->agent, buf, sizeof(buf), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        hang_up(x);
        return;
    }
    const char *data = buf + 1;
    size_t len = (size_t)n - 1;
    if (buf[0] == SHIM_INPUT && x->in >= 0 && len <= INPUT_MAX - x->input_n) {
        memcpy(x->input + x->input_n, data, len);
        x->input_n += (uint32_t)len;
    }
    if (buf[0] == SHIM_EOF) x->eof = true;
    if (buf[0] == SHIM_RESIZE && x->tty && shim_payload(&r, sizeof(r), data, len)) {
        struct winsize w = {.ws_row = r.rows, .ws_col = r.cols};
        ioctl(x->in, TIOCSWINSZ, &w);
    }
    if (buf[0] == SHIM_SIGNAL && shim_payload(&sig, sizeof(sig), data, len) && sig.signum > 0 &&
        sig.signum <= 64)
        signal_job(x, sig.signum);
    flush_input(x);
}

static void read_out(struct exec *x, int i)
{
    char buf[SHIM_DATA_MAX];
    ssize_t n = read(x->out[i], buf, sizeof(buf));
    if (n > 0) {
        x->due[i] = n < x->due[i] ? x->due[i] - (int)n : 0;
        send_agent(x, i == 1 ? SHIM_ERR : SHIM_OUT, buf, (size_t)n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        file_close(&x->out[i]);
    }
}

static void on_ended(struct exec *x)
{
    int status = 0;
    if (waitpid(x->runtime, &status, WNOHANG) != x->runtime) return;
    x->status = status;
    x->until_us = proc_mono_us() + DRAIN_MS * 1000;
    file_close(&x->runtime_fd);
    for (int i = 0; i < 2; i++) { /* a terminal hides what is on its way */
        x->due[i] = TTY_LEFT_MAX;
        if (!x->tty && (x->out[i] < 0 || ioctl(x->out[i], FIONREAD, &x->due[i]) < 0)) x->due[i] = 0;
    }
}

/* What the command said itself is due however slowly the client takes it; whoever
 * it left behind in its streams may go on for ever. */
static bool left_over(const struct exec *x)
{
    for (int i = 0; i < 2; i++) {
        struct pollfd p = {.fd = x->out[i], .events = POLLIN};
        if (x->due[i] > 0 && poll(&p, 1, 0) > 0 && (p.revents & POLLIN)) return true;
    }
    return false;
}

static void on_deadline(struct exec *x)
{
    if (x->status >= 0 && left_over(x)) {
        x->until_us = proc_mono_us() + DRAIN_MS * 1000;
        return;
    }
    if (x->status >= 0) {
        file_close(&x->out[0]); /* somebody kept the streams: enough waited */
        file_close(&x->out[1]);
        return;
    }
    signal_job(x, SIGKILL);
    kill(x->runtime, SIGKILL);
    x->until_us = proc_mono_us() + HANGUP_MS * 1000;
}

static void exec_loop(struct exec *x)
{
    while (x->status < 0 || x->out[0] >= 0 || x->out[1] >= 0) {
        bool full = x->input_n > INPUT_MAX - SHIM_DATA_MAX;
        int64_t left = x->until_us ? (x->until_us - proc_mono_us()) / 1000 : -1;
        if (x->until_us && left <= 0) {
            on_deadline(x);
            continue;
        }
        bool out_open = x->out[0] >= 0 || x->out[1] >= 0;
        struct pollfd p[3] = {{.fd = x->agent, .events = (short)((full ? 0 : POLLIN))},
                              {.fd = x->input_n || x->eof ? x->in : -1, .events = POLLOUT},
                              {.fd = x->runtime_fd, .events = POLLIN}};
        struct pollfd q[5] = {p[0], p[1], p[2], {.fd = x->out[0], .events = POLLIN},
                              {.fd = x->out[1], .events = POLLIN}};
        /* First learn whether the socket takes more; only then read output. */
        struct pollfd room = {.fd = x->agent, .events = POLLOUT};
        if (out_open && x->agent >= 0 && poll(&room, 1, 0) == 0) {
            q[0].events |= POLLOUT;
            q[3].fd = q[4].fd = -1;
        }
        if (poll(q, 5, (int)left) < 0 && errno != EINTR) return;
        if (q[2].revents) on_ended(x);
        if (q[1].revents) flush_input(x);
        if (q[0].revents & ~POLLOUT) read_agent(x);
        if (q[3].revents) read_out(x, 0);
        if (q[4].revents) read_out(x, 1);
    }
}

/* ---- start ---- */

static int start_runtime(struct exec *x, struct err *err)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, err_fds[2] = {-1, -1};
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err_fds, O_CLOEXEC) < 0)
        return err_sys(err, ERR_IO, errno, "cannot make a pipe");
    int listener = x->tty ? launch_console_listen(x->console, err) : -1;
    if (x->tty && listener < 0) return listener;
    char pid_opt[64], console_opt[64];
    text_fmt(pid_opt, sizeof(pid_opt), "--pid-file=" LAUNCH_DIR "%s", x->pid_file);
    text_fmt(console_opt, sizeof(console_opt), "--console-socket=" LAUNCH_DIR "%s", x->console);
    struct launch l = {.conf = &x->conf,
                       .in = in[0],
                       .out = out[1],
                       .err_fd = err_fds[1],
                       .status = -1,
                       .pulse = -1,
                       .ready = -1,
                       .dir = x->dir,
                       .spec = SHIM_SPEC_FD,
                       .log = x->error,
                       .args = {"exec", "--process=/proc/self/fd/9", pid_opt}};
    int n = 3;
    if (x->tty) l.args[n++] = console_opt;
    l.args[n] = x->conf.name;
    x->runtime = launch_runtime(&l, err);
    close(in[0]);
    close(out[1]);
    close(err_fds[1]);
    if (x->runtime < 0) return x->runtime;
    x->runtime_fd = proc_open_child(x->runtime, err);
    if (x->runtime_fd < 0) return x->runtime_fd;
    x->in = in[1];
    x->out[0] = out[0];
    x->out[1] = err_fds[0];
    if (x->tty) {
        int master = launch_console_take(listener, 10000, err);
        close(listener);
        unlink(x->console);
        if (master < 0) return 0; /* the runtime failed; its words are on their way */
        close(x->in);
        close(x->out[0]);
        x->in = fcntl(master, F_DUPFD_CLOEXEC, 5);
        x->out[0] = master;
    }
    fcntl(x->in, F_SETFL, O_NONBLOCK);
    fcntl(x->out[0], F_SETFL, O_NONBLOCK);
    fcntl(x->out[1], F_SETFL, O_NONBLOCK);
    return 0;
}

/* The runtime makes its log at once, and writes only when it fails. */
static bool complained(const struct exec *x)
{
    struct stat st;
    return fstatat(x->dir, x->error, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > 0;
}

static void report(struct exec *x, const char *failure)
{
    struct shim_code c = {.code = 126};
    if (failure) TEXT_CLIP(c.text, str_of(failure));
    else c.code = WIFEXITED(x->status) ? WEXITSTATUS(x->status) : 128 + WTERMSIG(x->status);
    /* The runtime complains only when the command never ran. */
    if (!failure && complained(x)) {
        launch_error(x->dir, x->error, c.text, sizeof(c.text));
        if (c.code == 1 || c.code == LAUNCH_FAILED || c.code == 255)
            c.code = strstr(c.text, "not found") || strstr(c.text, "No such file") ? 127 : 126;
    }
    send_agent(x, SHIM_EXIT, &c, sizeof(c));
    unlinkat(x->dir, x->error, 0);
    unlinkat(x->dir, x->pid_file, 0);
}

int exec_main(bool tty)
{
    static struct exec x;
    struct err err = {0};
    x = (struct exec){.agent = SHIM_AGENT_FD, .in = -1, .out = {-1, -1}, .runtime_fd = -1,
                      .tty = tty, .status = -1};
    prctl(PR_SET_NAME, "rota-exec");
    signal(SIGPIPE, SIG_IGN);
    fcntl(SHIM_AGENT_FD, F_SETFD, FD_CLOEXEC);
    fcntl(SHIM_SPEC_FD, F_SETFD, FD_CLOEXEC);
    syscall(SYS_close_range, SHIM_SPEC_FD + 1, ~0U, 0);
    text_fmt(x.error, sizeof(x.error), "exec.%d.error", (int)getpid());
    text_fmt(x.pid_file, sizeof(x.pid_file), "exec.%d.pid", (int)getpid());
    text_fmt(x.console, sizeof(x.console), "exec.%d.con", (int)getpid());
    x.dir = file_open_dir(AT_FDCWD, ".", &err);
    if (x.dir < 0 || memo_read_conf(x.dir, &x.conf, &err) < 0 || start_runtime(&x, &err) < 0) {
        report(&x, err.text);
        return 1;
    }
    exec_loop(&x);
    report(&x, NULL);
    return 0;
}
