/* agent/docker/exec.c - a command inside an engine's container: bytes between our three
 * descriptors, or a terminal of our own, and the engine's connection.
 *
 * Reads from each side only what the other takes.  docs/spec/node.md, "Engines" */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>
#include "agent/docker/api.h"
#include "agent/docker/helper.h"
#include "agent/docker/http.h"
#include "agent/docker/spec.h"
#include "base/mem.h"
#include "host/file.h"

#define BUF 16384
#define START_MS 120000
#define LATE_MS 5000  /* until the engine knows how the command ended */
#define FRAME_HEAD 8

struct exec {
    const struct helper_opts *o;
    char id[DOCKER_ID];
    int in, out, err_fd; /* ours; a terminal is all three */
    int winch;           /* tells of a new size; -1 */
    struct docker_stream s;
    size_t left;         /* of a frame's payload */
    int to;              /* where it goes */
    size_t head_n;
    unsigned char head[FRAME_HEAD];
};

/* ---- our side ---- */

static int hand_over(const char *path, int fd)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    char byte = 0;
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec v = {&byte, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control,
                       .msg_controllen = sizeof(control)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    if (!TEXT_SET(a.sun_path, str_of(path))) return -1;
    AUTO_FD int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s < 0 || connect(s, (struct sockaddr *)&a, sizeof(a)) < 0) return -1;
    return sendmsg(s, &m, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

/* A pair of our own: its master goes to whoever started us, and all that comes through the
 * other end passes unchanged, because the terminal that counts is in the container. */
static int make_terminal(struct exec *x, struct err *err)
{
    struct termios t;
    sigset_t set;
    AUTO_FD int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
        return err_sys(err, ERR_IO, errno, "cannot make a terminal");
    int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0 || tcgetattr(slave, &t) < 0)
        return err_sys(err, ERR_IO, errno, "cannot make a terminal");
    cfmakeraw(&t);
    tcsetattr(slave, TCSANOW, &t);
    setsid();
    ioctl(slave, TIOCSCTTY, 0); /* or SIGWINCH would not come */
    sigemptyset(&set);
    sigaddset(&set, SIGWINCH);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGHUP, SIG_IGN);
    x->winch = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (hand_over(x->o->console, master) < 0)
        return err_sys(err, ERR_IO, errno, "cannot hand the terminal over");
    x->in = x->out = x->err_fd = slave;
    return 0;
}

static void on_size(struct exec *x)
{
    struct signalfd_siginfo info;
    struct winsize w = {0};
    while (x->winch >= 0 && read(x->winch, &info, sizeof(info)) > 0) continue;
    if (ioctl(x->in, TIOCGWINSZ, &w) == 0 && w.ws_row && w.ws_col)
        docker_exec_resize(x->o->socket, x->id, w.ws_row, w.ws_col, NULL);
}

static bool write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t w = write(fd, p, n);
        struct pollfd room = {.fd = fd, .events = POLLOUT};
        if (w < 0 && errno == EAGAIN) poll(&room, 1, -1);
        else if (w < 0 && errno != EINTR) return false;
        if (w > 0) {
            p += w;
            n -= (size_t)w;
        }
    }
    return true;
}

/* ---- the engine's side ---- */

/* Without a terminal: frames of a stream's number, three zeros and a length. */
static bool take_frames(struct exec *x, struct str in)
{
    while (in.n > 0) {
        if (x->left > 0) {
            size_t n = in.n < x->left ? in.n : x->left;
            if (!write_all(x->to, in.p, n)) return false;
            x->left -= n;
            in = str_n(in.p + n, in.n - n);
            continue;
        }
        x->head[x->head_n++] = (unsigned char)*in.p;
        in = str_n(in.p + 1, in.n - 1);
        if (x->head_n < FRAME_HEAD) continue;
        const unsigned char *h = x->head;
        if (h[0] > 2 || h[1] || h[2] || h[3]) return false; /* no frame: not guessed at */
        x->head_n = 0;
        x->to = h[0] == 2 ? x->err_fd : x->out;
        x->left = (size_t)h[4] << 24 | (size_t)h[5] << 16 | (size_t)h[6] << 8 | h[7];
    }
    return true;
}

static bool take_output(struct exec *x, struct str in)
{
    return x->o->console ? write_all(x->out, in.p, in.n) : take_frames(x, in);
}

/* Until the command has closed its streams. */
static int relay(struct exec *x, struct err *err)
{
    char buf[BUF];
    bool open = true;
    for (;;) {
        struct str part = {0};
        struct pollfd p[3] = {{.fd = x->s.fd, .events = POLLIN},
                              {.fd = open ? x->in : -1, .events = POLLIN},
                              {.fd = x->winch, .events = POLLIN}};
        bool held = x->s.n > x->s.at; /* came together with the head */
        if (!held && poll(p, 3, -1) < 0 && errno != EINTR)
            return err_sys(err, ERR_IO, errno, "cannot wait for the command");
        if (!held && p[2].revents) on_size(x);
        if (!held && p[1].revents) {
            ssize_t n = read(x->in, buf, sizeof(buf));
            if (n > 0 && docker_send(&x->s, str_n(buf, (size_t)n), NULL) < 0) open = false;
            if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
                open = false;
                shutdown(x->s.fd, SHUT_WR);
            }
        }
        if (!held && !p[0].revents) continue;
        int rc = docker_read(&x->s, 60000, &part, err);
        if (rc < 0) return rc;
        if (part.n == 0) return 0;
        if (!take_output(x, part)) return err_set(err, ERR_IO, "the engine's stream is unreadable");
    }
}

/* ---- one command ---- */

static void write_pid(struct exec *x)
{
    struct docker_exec_state st = {0};
    char text[32];
    if (!x->o->pid_file || docker_exec_inspect(x->o->socket, x->id, &st, NULL) < 0) return;
    if (st.pid < 2) return;
    int n = text_fmt(text, sizeof(text), "%lld", (long long)st.pid);
    file_write(AT_FDCWD, x->o->pid_file, text, (size_t)n, FILE_ORDERED, NULL);
}

static int start(struct exec *x, struct err *err)
{
    char target[DOCKER_ID + 32];
    text_fmt(target, sizeof(target), "/exec/%s/start", x->id);
    const char *body = x->o->console ? "{\"Detach\":false,\"Tty\":true}"
                                     : "{\"Detach\":false,\"Tty\":false}";
    struct docker_call c = {.socket = x->o->socket, .method = "POST", .target = target,
                            .body = str_of(body), .upgrade = true, .timeout_ms = START_MS};
    int rc = docker_open(&c, &x->s, err);
    if (rc < 0 || x->s.raw) return rc;
    AUTO_STRBUF struct strbuf why;
    struct str part;
    strbuf_init(&why, 65536);
    while (docker_read(&x->s, START_MS, &part, NULL) == 0 && part.n && !why.full)
        strbuf_put(&why, part);
    docker_close(&x->s);
    return docker_refused(x->s.status, strbuf_str(&why), err);
}

/* How it ended, as soon as the engine knows: the streams may be closed a moment before. */
static int ended(struct exec *x, int *ret_code, struct err *err)
{
    struct docker_exec_state st = {.running = true};
    for (int waited = 0;; waited += 10) {
        int rc = docker_exec_inspect(x->o->socket, x->id, &st, err);
        if (rc < 0) return rc;
        if (!st.running) break;
        if (waited >= LATE_MS) return err_set(err, ERR_TIMEOUT, "the command closed its streams "
                                              "and goes on: its end is not known");
        poll(NULL, 0, 10);
    }
    *ret_code = (int)(st.exit_code & 255);
    return 0;
}

int helper_exec(const struct helper_opts *o, int *ret_code, struct err *err)
{
    AUTO_FREE struct exec *x = mem_alloc(sizeof(*x));
    AUTO_FREE char *spec = mem_alloc(DOCKER_SPEC_MAX);
    size_t n = 0;
    *x = (struct exec){.o = o, .in = 0, .out = 1, .err_fd = 2, .winch = -1};
    int fd = open(o->process ? o->process : "", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "cannot read the command");
    ssize_t got = pread(fd, spec, DOCKER_SPEC_MAX - 1, 0);
    close(fd);
    if (got <= 0) return err_set(err, ERR_IO, "cannot read the command");
    n = (size_t)got;
    int rc = docker_exec_create(o->socket, o->name, str_n(spec, n), x->id, err);
    if (rc == 0 && o->console) rc = make_terminal(x, err);
    if (rc == 0) rc = start(x, err);
    if (rc < 0) return rc;
    write_pid(x);
    if (o->console) on_size(x);
    rc = relay(x, err);
    docker_close(&x->s);
    return rc < 0 ? rc : ended(x, ret_code, err);
}
