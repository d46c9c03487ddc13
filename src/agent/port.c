/* agent/port.c - see port.h.  A request is judged in this order: the peer's
 * certificate, the path, the ticket, the ticket's node and action. */
#include "agent/port.h"
#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>
#include "agent/carry.h"
#include "agent/forward.h"
#include "net/http_server.h"
#include "net/log.h"
#include "wire/carry.h"

#define CARRIES_MAX 1024
#define CONNS_MAX 2048

struct port {
    struct http_server *server;
    struct net_watch *watch;
    struct carry_host host;
    struct forward_host forwards;
    struct identity id;
};

static bool from_proxy(const struct http_req *r)
{
    return str_starts(r->tls_cn, STR("proxy:"));
}

static bool path_action(struct str path, enum ticket_action *ret)
{
    const struct str prefix = STR("/carry/v1/");
    if (!str_starts(path, prefix)) return false;
    return ticket_action_parse(str_n(path.p + prefix.n, path.n - prefix.n), ret);
}

/* The ticket of a request for this node and this action. */
static int judge(const struct port *p, const struct http_req *r, enum ticket_action action,
                 struct ticket *ret, struct err *err)
{
    struct ticket t;
    struct str text = http_header(r, CARRY_TICKET_HEADER);
    if (text.p == NULL) return err_set(err, ERR_DENIED, "a ticket is required");
    int rc = ticket_verify(text, p->id.ticket_key, p->id.cluster, net_wall_ms() / 1000, &t, err);
    if (rc != 0) return rc;
    if (strcmp(t.node, p->id.name) != 0) {
        return err_set(err, ERR_DENIED, "the ticket is for node %s, this is %s", t.node,
                       p->id.name);
    }
    if (t.action != action) {
        return err_set(err, ERR_DENIED, "the ticket permits %s alone",
                       ticket_action_name(t.action));
    }
    *ret = t;
    return 0;
}

static int read_query(struct http_req *r, struct carry_opts *o, struct err *err)
{
    struct str v;
    uint64_t n;
    if (http_query(r, "follow", &v)) o->follow = str_eq(v, STR("1"));
    if (http_query(r, "tail", &v)) {
        if (!str_to_u64(v, &o->tail)) {
            return err_set(err, ERR_INVALID, "tail: expected a number of lines");
        }
        o->has_tail = true;
    }
    if (http_query(r, "member", &v) && (!str_to_u64(v, &n) || n != o->ref.member)) {
        return err_set(err, ERR_DENIED, "the ticket is for member %u", o->ref.member);
    }
    return 0;
}

static void start_forward(struct port *p, struct http_req *r, const struct carry_opts *o)
{
    struct str v = {0};
    uint64_t port = 0;
    if (!http_query(r, "port", &v) || !str_to_u64(v, &port) || port == 0 || port > UINT16_MAX)
        http_reply_problem(r, 400, "invalid", "port: expected a number from 1 to 65535");
    else forward_start(&p->forwards, r, o->ref, (uint16_t)port);
}

static void on_request(void *arg, struct http_req *r)
{
    struct port *p = arg;
    struct carry_opts o = {0};
    struct ticket t = {0};
    struct err err = {0};
    if (!from_proxy(r)) {
        http_reply_problem(r, 403, "denied", "only proxies of this cluster may dial here");
    } else if (r->method != HTTP_GET || !path_action(r->path, &o.action)) {
        http_reply_problem(r, 404, "not_found", "nothing is served at this path");
    } else if (!http_wants_upgrade(r, CARRY_UPGRADE)) {
        http_reply_problem(r, 426, "invalid", "an upgrade to " CARRY_UPGRADE " is required");
    } else if (judge(p, r, o.action, &t, &err) != 0) {
        http_reply_err(r, &err);
    } else if (p->host.live + p->forwards.live >= CARRIES_MAX) {
        http_reply_problem(r, 503, "unavailable", "this node carries as many streams as it can");
    } else {
        o.ref = (struct member_ref){t.session, t.attempt, t.member};
        if (read_query(r, &o, &err) != 0) {
            http_reply_err(r, &err);
            return;
        }
        if (o.action == TICKET_PORT) {
            start_forward(p, r, &o);
            return;
        }
        struct net_conn *conn = http_upgrade(r, CARRY_UPGRADE);
        if (conn != NULL) carry_start(&p->host, conn, &o);
    }
}

static void on_inotify(void *arg, int events)
{
    struct port *p = arg;
    char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    int last = -1;
    (void)events;
    ssize_t n = read(p->host.inotify_fd, buf, sizeof(buf));
    for (ssize_t at = 0; n > 0 && at < n;) {
        const struct inotify_event *e = (const struct inotify_event *)(const void *)(buf + at);
        at += (ssize_t)(sizeof(*e) + e->len);
        if ((e->mask & IN_Q_OVERFLOW) != 0) carry_wake_all(&p->host);
        else if (e->wd != last) carry_wake_log(&p->host, e->wd);
        last = e->wd;
    }
}

struct port *port_new(struct net_loop *loop, const struct port_opts *o, struct err *err)
{
    struct port *p = mem_alloc(sizeof(*p));
    p->id = o->identity;
    p->host = (struct carry_host){.loop = loop, .driver = o->driver, .act = o->act};
    p->forwards = (struct forward_host){.loop = loop, .driver = o->driver};
    p->host.inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (p->host.inotify_fd < 0) {
        err_sys(err, ERR_IO, errno, "watch logs");
        mem_free(p);
        return NULL;
    }
    p->watch = net_watch_new(loop, p->host.inotify_fd, on_inotify, p);
    net_watch_set(p->watch, NET_READ);
    p->server = http_server_listen(loop, str_of(o->listen),
                                   &(struct http_server_opts){.tls = o->tls, .conns_max = CONNS_MAX,
                                                              .body_max = 4096},
                                   on_request, p, err);
    if (p->server == NULL) {
        port_free(p);
        return NULL;
    }
    return p;
}

void port_free(struct port *p)
{
    if (p == NULL) return;
    carry_end_all(&p->host);
    forward_end_all(&p->forwards);
    http_server_free(p->server);
    net_watch_free(p->watch);
    close(p->host.inotify_fd);
    mem_free(p);
}

struct str port_addr(const struct port *p) { return http_server_addr(p->server); }

void port_changed(struct port *p)
{
    carry_wake_all(&p->host);
    forward_changed(&p->forwards);
}
