/* agent/forward.c - see forward.h.
 *
 * Life: DIALLING (the request is held, the socket inside connects) -> RELAYING (both
 * ends belong to a relay) -> gone.  A socket keeps its namespace alive, and with it the
 * container's links: when the container is gone its forwards may say the rest of what
 * they hold, for LINGER_MS, and no longer. */
#include "agent/forward.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>
#include "agent/netns/enter.h"
#include "base/check.h"
#include "base/mem.h"
#include "host/file.h"
#include "host/proc.h"
#include "net/conn.h"
#include "wire/carry.h"

#define CONNECT_MS 5000
#define LINGER_MS 10000

struct forward {
    struct forward_host *host;
    struct forward *next, *prev;
    struct member_ref ref;
    uint16_t port;
    struct http_req *req;    /* DIALLING */
    int fd;                  /* DIALLING */
    struct net_watch *watch; /* DIALLING */
    struct net_relay *relay; /* RELAYING */
    struct net_timer *timer; /* DIALLING: gives up; RELAYING: the container is gone */
};

static void forward_free(struct forward *f)
{
    if (f->prev) f->prev->next = f->next;
    else f->host->first = f->next;
    if (f->next) f->next->prev = f->prev;
    CHECK(f->host->live > 0);
    f->host->live--;
    net_watch_free(f->watch);
    net_timer_free(f->timer);
    file_close(&f->fd);
    mem_free(f);
}

static void refuse(struct forward *f, int status, const char *code, const char *text)
{
    http_req_on_close(f->req, NULL, NULL);
    http_reply_problem(f->req, status, code, "%s", text);
    forward_free(f);
}

static void refuse_port(struct forward *f, const char *why)
{
    char text[128];
    text_fmt(text, sizeof(text), "%s port %u in the session", why, f->port);
    refuse(f, 409, "conflict", text);
}

/* ---- into the container ---- */

static int make_socket(void *arg, struct err *err)
{
    struct forward *f = arg;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(f->port),
                            .sin_addr = {htonl(INADDR_LOOPBACK)}};
    AUTO_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    if (fd < 0) return err_sys(err, ERR_IO, errno, "cannot make a socket in the session");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0 && errno != EINPROGRESS) {
        return err_sys(err, errno == ECONNREFUSED ? ERR_NOT_FOUND : ERR_IO, errno,
                       "cannot connect to port %u in the session", f->port);
    }
    f->fd = fd;
    fd = -1;
    return 0;
}

static int enter(struct forward *f, struct err *err)
{
    const struct driver *d = f->host->driver;
    struct driver_place place = {0};
    if (!d->ops->place)
        return err_set(err, ERR_UNSUPPORTED, "the sessions of this node have no network");
    if (!d->ops->place(d->self, f->ref, &place) || place.pid <= 0)
        return err_set(err, ERR_CONFLICT, "the session's container does not run here");
    AUTO_FD int pidfd = proc_open(place.pid, place.start, err);
    if (pidfd < 0) return pidfd;
    return enter_run(pidfd, make_socket, f, err);
}

/* ---- relaying ---- */

static void on_relay_done(void *arg, const struct net_relay_result *r)
{
    (void)r;
    forward_free(arg);
}

static void join(struct forward *f)
{
    struct forward_host *h = f->host;
    net_timer_stop(f->timer);
    http_req_on_close(f->req, NULL, NULL);
    struct net_conn *person = http_upgrade(f->req, CARRY_UPGRADE);
    f->req = NULL;
    if (!person) {
        forward_free(f);
        return;
    }
    net_watch_free(f->watch);
    f->watch = NULL;
    static const struct net_conn_ops none = {0};
    struct net_conn *inside = net_conn_adopt_fd(h->loop, f->fd, false, NULL, &none, NULL);
    f->fd = -1;
    f->relay = net_conn_relay(person, inside, 0, on_relay_done, f);
}

static void on_connected(void *arg, int events)
{
    struct forward *f = arg;
    int error = 0;
    socklen_t n = sizeof(error);
    (void)events;
    if (getsockopt(f->fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0) error = errno;
    if (error == 0) join(f);
    else refuse_port(f, error == ECONNREFUSED ? "nothing listens on" : "cannot connect to");
}

static void on_timer(void *arg)
{
    struct forward *f = arg;
    if (!f->relay) {
        refuse_port(f, "nothing accepts on");
        return;
    }
    net_relay_close(f->relay);
    forward_free(f);
}

/* The client left while the container was being dialled. */
static void on_req_close(struct http_req *r, void *arg)
{
    (void)r;
    forward_free(arg);
}

void forward_start(struct forward_host *h, struct http_req *r, struct member_ref ref,
                   uint16_t port)
{
    struct forward *f = mem_alloc(sizeof(*f));
    struct err err = {0};
    f->host = h;
    f->ref = ref;
    f->port = port;
    f->req = r;
    f->fd = -1;
    f->timer = net_timer_new(h->loop, on_timer, f);
    f->next = h->first;
    if (h->first) h->first->prev = f;
    h->first = f;
    h->live++;
    http_req_on_close(r, on_req_close, f);
    int rc = enter(f, &err);
    if (rc == ERR_NOT_FOUND) refuse_port(f, "nothing listens on");
    else if (rc < 0) refuse(f, http_status_of_err(err.code), err_code_name(err.code), err.text);
    if (rc < 0) return;
    net_timer_set(f->timer, CONNECT_MS, 0);
    f->watch = net_watch_new(h->loop, f->fd, on_connected, f);
    net_watch_set(f->watch, NET_WRITE);
}

/* ---- the node's forwards ---- */

void forward_changed(struct forward_host *h)
{
    const struct driver *d = h->driver;
    struct driver_place place;
    for (struct forward *f = h->first; f; f = f->next) {
        if (!f->relay || net_timer_armed(f->timer)) continue;
        if (!d->ops->place(d->self, f->ref, &place)) net_timer_set(f->timer, LINGER_MS, 0);
    }
}

void forward_end_all(struct forward_host *h)
{
    while (h->first) {
        struct forward *f = h->first;
        if (f->relay) {
            net_relay_close(f->relay);
            forward_free(f);
        } else {
            refuse(f, 503, "unavailable", "this agent is ending: ask again");
        }
    }
}
