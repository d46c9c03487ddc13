/* shim/control.c - the supervisor's socket and what it is told there.
 *
 * Only root is listened to.  A client that does not read is dropped; one that
 * sends nonsense is ignored.  docs/spec/node.md */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>
#include "host/file.h"
#include "shim/super.h"

int control_listen(struct super *s, struct err *err)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "sock"};
    AUTO_FD int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    unlink("sock");
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 16) < 0)
        return err_sys(err, ERR_IO, errno, "cannot listen on the supervisor's socket");
    s->listener = fd;
    fd = -1;
    return 0;
}

static bool send_to(struct super_client *c, enum shim_kind kind, const void *data, size_t n)
{
    char buf[SHIM_MSG_MAX];
    if (c->fd < 0 || n + 1 > sizeof(buf)) return false;
    buf[0] = (char)kind;
    if (n) memcpy(buf + 1, data, n);
    if (send(c->fd, buf, n + 1, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)(n + 1)) return true;
    file_close(&c->fd);
    return false;
}

void control_tell(struct super *s, enum shim_kind kind, const void *data, size_t n)
{
    for (int i = 0; i < SUPER_CLIENTS; i++) send_to(&s->clients[i], kind, data, n);
}

/* Says how far things are: the same messages that a client present all along has
 * seen. */
static void greet(struct super *s, struct super_client *c)
{
    struct shim_hello h = {SHIM_PROTO, (uint32_t)s->life.signal_done, super_state(s)};
    struct shim_created made = {s->life.pid, (uint64_t)s->life.start};
    if (!send_to(c, SHIM_HELLO, &h, sizeof(h))) return;
    if (s->phase >= SUPER_HELD && s->phase <= SUPER_RUNNING)
        send_to(c, SHIM_CREATED, &made, sizeof(made));
    if (s->phase == SUPER_RUNNING) send_to(c, SHIM_STARTED, NULL, 0);
}

static bool is_root(int fd)
{
    struct ucred cred;
    socklen_t n = sizeof(cred);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) == 0 && cred.uid == 0;
}

void control_add(struct super *s, int fd)
{
    for (int i = 0; i < SUPER_CLIENTS; i++) {
        if (s->clients[i].fd >= 0) continue;
        s->clients[i] = (struct super_client){.fd = fd};
        greet(s, &s->clients[i]);
        return;
    }
    close(fd);
}

void control_accept(struct super *s)
{
    int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    if (is_root(fd)) control_add(s, fd);
    else close(fd);
}

static void close_input(struct super *s)
{
    /* A terminal's end of input is a key, and its master must stay open. */
    if (s->conf.tty) {
        static const char end_of_transmission = 4;
        ssize_t ignored = s->input >= 0 ? write(s->input, &end_of_transmission, 1) : 0;
        (void)ignored;
        s->input_eof = false;
        return;
    }
    file_close(&s->input);
}

void control_input_flush(struct super *s)
{
    while (s->input_n > 0 && s->input >= 0) {
        ssize_t w = write(s->input, s->input_buf, s->input_n);
        if (w < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (w < 0) {
            file_close(&s->input); /* nobody reads any more */
            s->input_n = 0;
            return;
        }
        s->input_n -= (uint32_t)w;
        memmove(s->input_buf, s->input_buf + w, s->input_n);
    }
    if (s->input_eof && s->input_n == 0) close_input(s);
}

bool control_input_full(const struct super *s)
{
    return s->input_n > SUPER_INPUT_MAX - SHIM_DATA_MAX;
}

static void take_input(struct super *s, const char *data, size_t n)
{
    if (s->input < 0 || s->input_eof || n > SUPER_INPUT_MAX - s->input_n) return;
    memcpy(s->input_buf + s->input_n, data, n);
    s->input_n += (uint32_t)n;
    control_input_flush(s);
}

static void take_resize(struct super *s, const char *data, size_t n)
{
    struct shim_resize r;
    if (!s->conf.tty || s->input < 0 || !shim_payload(&r, sizeof(r), data, n)) return;
    struct winsize w = {.ws_row = r.rows, .ws_col = r.cols};
    ioctl(s->input, TIOCSWINSZ, &w);
}

static void take(struct super *s, char kind, const char *data, size_t n)
{
    struct shim_stop stop;
    struct shim_signal sig;
    switch (kind) {
    case SHIM_GO:
        super_go(s);
        break;
    case SHIM_STOP:
        if (!shim_payload(&stop, sizeof(stop), data, n)) break;
        super_stop(s, stop.grace_ms, stop.preempted != 0);
        break;
    case SHIM_SIGNAL:
        if (shim_payload(&sig, sizeof(sig), data, n)) super_signal(s, sig.no, sig.signum);
        break;
    case SHIM_INPUT:
        take_input(s, data, n);
        break;
    case SHIM_EOF:
        s->input_eof = true;
        control_input_flush(s);
        break;
    case SHIM_RESIZE:
        take_resize(s, data, n);
        break;
    default: /* of a later version */
        break;
    }
}

void control_read(struct super *s, struct super_client *c)
{
    char buf[SHIM_MSG_MAX];
    ssize_t n = recv(c->fd, buf, sizeof(buf), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n > 0 && buf[0] == SHIM_INPUT) c->typed = true;
    if (n <= 0) file_close(&c->fd);
    else take(s, buf[0], buf + 1, (size_t)n - 1);
}
