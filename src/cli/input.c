/* cli/input.c - reads standard input only as fast as the other side takes it.
 *
 * The terminal's old settings are restored by input_free, and at exit should we
 * leave another way. */
#include "cli/input.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"

enum { CHUNK = 32 * 1024 };

struct input {
    input_send *send;
    void *arg;
    struct net_watch *watch; /* NULL: a file, read when there is room */
    struct net_timer *soon;  /* files: the next chunk on a later turn */
    struct net_signal *resized;
    int fd, epoll;
    bool tty, ended;
};

static struct termios saved;
static bool is_raw;

static void restore(void)
{
    if (is_raw) (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &saved);
    is_raw = false;
}

static void make_raw(void)
{
    if (tcgetattr(STDIN_FILENO, &saved) < 0) return;
    struct termios raw = saved;
    cfmakeraw(&raw);
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0) return;
    is_raw = true;
    static bool registered;
    if (!registered) (void)atexit(restore);
    registered = true;
}

static void send_size(void *arg, int signum)
{
    (void)signum;
    struct input *in = arg;
    struct winsize w = {0};
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &w) < 0 || w.ws_row == 0 || w.ws_col == 0) return;
    uint8_t payload[4];
    carry_resize_put(payload, w.ws_row, w.ws_col);
    (void)in->send(in->arg, CARRY_RESIZE, str_n((const char *)payload, sizeof(payload)));
}

static void rest(struct input *in)
{
    if (in->watch) net_watch_set(in->watch, 0);
    else net_timer_stop(in->soon);
}

static void read_some(struct input *in)
{
    char buf[CHUNK];
    ssize_t n = read(in->fd, buf, sizeof(buf));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) {
        in->ended = true;
        rest(in);
        (void)in->send(in->arg, CARRY_STDIN_END, str_n(NULL, 0));
        return;
    }
    if (!in->send(in->arg, CARRY_STDIN, str_n(buf, (size_t)n))) rest(in);
    else if (!in->watch) net_timer_set(in->soon, 0, 0);
}

static void on_readable(void *arg, int events)
{
    (void)events;
    read_some(arg);
}

static void on_soon(void *arg) { read_some(arg); }

struct input *input_new(struct net_loop *l, int fd, bool tty, input_send *send, void *arg)
{
    struct input *in = mem_alloc(sizeof(*in));
    *in = (struct input){.send = send, .arg = arg, .fd = fd, .tty = tty, .epoll = -1};
    in->epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event ev = {.events = EPOLLIN};
    if (in->epoll >= 0 && epoll_ctl(in->epoll, EPOLL_CTL_ADD, fd, &ev) == 0)
        in->watch = net_watch_new(l, in->epoll, on_readable, in);
    in->soon = net_timer_new(l, on_soon, in);
    if (tty && isatty(STDIN_FILENO)) {
        make_raw();
        in->resized = net_signal_new(l, SIGWINCH, send_size, in);
    }
    return in;
}

void input_ready(struct input *in)
{
    if (in->tty) send_size(in, 0);
    if (in->ended) return;
    if (in->watch) net_watch_set(in->watch, NET_READ);
    else net_timer_set(in->soon, 0, 0);
}

void input_free(struct input *in)
{
    if (!in) return;
    restore();
    net_watch_free(in->watch);
    net_timer_free(in->soon);
    net_signal_free(in->resized);
    if (in->epoll >= 0) close(in->epoll);
    mem_free(in);
}
