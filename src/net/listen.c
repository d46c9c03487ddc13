/* net/listen.c - listening sockets; see conn.h.
 *
 * Out of descriptors is not an error of the listener: it rests for a moment and
 * the backlog waits, instead of spinning on a readable socket. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "net/conn.h"

enum { ACCEPT_BURST = 64, REST_MS = 100 };

struct net_listener {
    struct net_watch *watch;
    struct net_timer *rest;
    void (*on_accept)(void *arg, int fd);
    void *arg;
    int fd;
    bool paused, resting, busy, closed;
    bool unlink_path;
    dev_t dev; /* of the socket file: never remove a successor's */
    ino_t ino;
    char path[108];
    char addr[NET_ADDR_TEXT_MAX];
    uint16_t port;
};

static void listener_update(struct net_listener *s)
{
    net_watch_set(s->watch, s->paused || s->resting ? 0 : NET_READ);
}

static void rest_over(void *arg)
{
    struct net_listener *s = arg;
    s->resting = false;
    listener_update(s);
}

static void listener_free(struct net_listener *s)
{
    net_watch_free(s->watch);
    net_timer_free(s->rest);
    close(s->fd);
    mem_free(s);
}

static void on_readable(void *arg, int events)
{
    (void)events;
    struct net_listener *s = arg;
    s->busy = true;
    for (int i = 0; i < ACCEPT_BURST && !s->paused && !s->closed; i++) {
        int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            s->on_accept(s->arg, fd);
            continue;
        }
        if (errno == ECONNABORTED || errno == EINTR) continue;
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            s->resting = true;
            listener_update(s);
            net_timer_set(s->rest, REST_MS, 0);
        }
        break;
    }
    s->busy = false;
    if (s->closed) listener_free(s);
}

/* Is somebody listening there? */
static bool unix_is_live(const struct net_addr *a)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return true; /* unknown: do not take it away */
    int rc = connect(fd, (const struct sockaddr *)&a->sa, a->sa_len);
    bool dead = rc != 0 && (errno == ECONNREFUSED || errno == ENOENT);
    close(fd);
    return !dead;
}

static int bind_unix(int fd, const struct net_addr *a, uint32_t mode, struct net_listener *s,
                     struct err *err)
{
    struct stat st;
    if (lstat(a->host, &st) == 0) {
        if (!S_ISSOCK(st.st_mode))
            return err_set(err, ERR_CONFLICT, "%.180s exists and is no socket", a->host);
        if (unix_is_live(a))
            return err_set(err, ERR_CONFLICT, "somebody listens on %.180s already", a->host);
        (void)unlink(a->host);
    }
    /* Nobody may connect between bind and chmod: the file is made without rights. */
    mode_t old = umask(0777);
    int rc = bind(fd, (const struct sockaddr *)&a->sa, a->sa_len);
    int code = errno;
    umask(old);
    if (rc != 0) return err_sys(err, ERR_IO, code, "listen on %.160s", a->host);
    if (chmod(a->host, mode != 0 ? mode : 0600) != 0 || lstat(a->host, &st) != 0)
        return err_sys(err, ERR_IO, errno, "listen on %.160s", a->host);
    (void)TEXT_SET(s->path, str_of(a->host));
    s->unlink_path = true;
    s->dev = st.st_dev;
    s->ino = st.st_ino;
    return 0;
}

static int open_socket(const struct net_addr *a, const struct net_listen_opts *o,
                       struct net_listener *s, struct err *err)
{
    static const int on = 1;
    if (a->kind == NET_ADDR_NAME)
        return err_set(err, ERR_INVALID, "listening needs a number, not the name %.180s", a->host);
    if (a->kind == NET_ADDR_FD) {
        int listening = 0;
        socklen_t len = sizeof(listening);
        if (getsockopt(a->fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) != 0 || !listening)
            return err_set(err, ERR_INVALID, "descriptor %d is no listening socket", a->fd);
        s->fd = a->fd;
        (void)fcntl(s->fd, F_SETFD, FD_CLOEXEC);
        return 0;
    }
    s->fd = socket(a->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s->fd < 0) return err_sys(err, ERR_IO, errno, "socket");
    if (a->kind == NET_ADDR_UNIX) {
        int rc = bind_unix(s->fd, a, o->unix_mode, s, err);
        if (rc != 0) return rc;
    } else {
        setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        if (bind(s->fd, (const struct sockaddr *)&a->sa, a->sa_len) != 0)
            return err_sys(err, errno == EADDRINUSE ? ERR_CONFLICT : ERR_IO, errno,
                           "listen on %.160s port %u", a->host, (unsigned)a->port);
    }
    if (listen(s->fd, o->backlog > 0 ? o->backlog : 512) != 0)
        return err_sys(err, ERR_IO, errno, "listen on %.180s", a->host);
    return 0;
}

static void set_addr(struct net_listener *s)
{
    struct sockaddr_storage sa = {0};
    socklen_t len = sizeof(sa);
    if (getsockname(s->fd, (struct sockaddr *)&sa, &len) != 0) return;
    net_addr_format((const struct sockaddr *)&sa, len, s->addr, sizeof(s->addr));
    struct net_addr a;
    if (sa.ss_family != AF_UNIX && net_addr_parse(str_of(s->addr), 0, &a, NULL) == 0)
        s->port = a.port;
}

struct net_listener *net_listen(struct net_loop *l, struct str addr,
                                const struct net_listen_opts *opts,
                                void (*on_accept)(void *arg, int fd), void *arg, struct err *err)
{
    static const struct net_listen_opts none;
    struct net_addr a;
    if (net_addr_parse(addr, 0, &a, err) != 0) return NULL;
    struct net_listener *s = mem_alloc(sizeof(*s));
    s->fd = -1;
    if (open_socket(&a, opts != NULL ? opts : &none, s, err) != 0) {
        if (s->fd >= 0) close(s->fd);
        if (s->unlink_path) (void)unlink(s->path);
        mem_free(s);
        return NULL;
    }
    s->on_accept = on_accept;
    s->arg = arg;
    set_addr(s);
    s->rest = net_timer_new(l, rest_over, s);
    s->watch = net_watch_new(l, s->fd, on_readable, s);
    listener_update(s);
    return s;
}

struct str net_listener_addr(const struct net_listener *s)
{
    return str_of(s->addr);
}

uint16_t net_listener_port(const struct net_listener *s)
{
    return s->port;
}

int net_listener_fd(const struct net_listener *s)
{
    return s->fd;
}

void net_listener_pause(struct net_listener *s, bool paused)
{
    if (s->paused == paused) return;
    s->paused = paused;
    listener_update(s);
}

void net_listener_close(struct net_listener *s)
{
    if (s == NULL) return;
    struct stat st;
    if (s->unlink_path && lstat(s->path, &st) == 0 && st.st_dev == s->dev && st.st_ino == s->ino)
        (void)unlink(s->path);
    s->closed = true;
    if (s->busy)
        net_watch_set(s->watch, 0); /* freed when its own callback returns */
    else
        listener_free(s);
}
