/* net/dial.c - how a connection comes to life: dialled or adopted; see conn.h.
 *
 * Addresses of a name are tried one after the other within one deadline.  Each
 * attempt has its own poll handle, since a handle cannot change its descriptor. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "net/conn.h"
#include "net/conn_impl.h"

enum { CONNECT_MS = 10000 };

struct attempt {
    uv_poll_t uv; /* first: freed through it */
    struct net_conn *c;
};

struct lookup {
    uv_getaddrinfo_t uv; /* first */
    struct net_conn *c;  /* NULL: nobody waits any more */
};

struct dial {
    struct net_addr addr;
    struct lookup *lookup;
    struct addrinfo *list;
    const struct addrinfo *next;
    struct attempt *attempt;
    int fd; /* of the attempt */
    struct err err; /* of the last attempt */
};

static void try_next(struct net_conn *c);

static void attempt_drop(struct dial *d)
{
    if (d->attempt != NULL) uv_close((uv_handle_t *)&d->attempt->uv, net_handle_freed);
    d->attempt = NULL;
    if (d->fd >= 0) close(d->fd);
    d->fd = -1;
}

void dial_free(struct net_conn *c)
{
    struct dial *d = STEAL(c->dial);
    attempt_drop(d);
    if (d->lookup != NULL) {
        d->lookup->c = NULL; /* its callback frees it */
        uv_cancel((uv_req_t *)&d->lookup->uv);
    }
    if (d->list != NULL) uv_freeaddrinfo(d->list);
    mem_free(d);
}

static void set_tcp_options(int fd)
{
    static const int on = 1, idle_s = 30, every_s = 10, count = 3, unacked_ms = 60000;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    /* A peer that vanished without a word is found out within a minute. */
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacked_ms, sizeof(unacked_ms));
}

static void set_peer(struct net_conn *c)
{
    struct sockaddr_storage sa = {0};
    socklen_t len = sizeof(sa);
    uid_t uid;
    gid_t gid;
    pid_t pid;
    if (getpeername(c->fd, (struct sockaddr *)&sa, &len) != 0)
        text_fmt(c->peer, sizeof(c->peer), "?");
    else if (sa.ss_family != AF_UNIX)
        net_addr_format((const struct sockaddr *)&sa, len, c->peer, sizeof(c->peer));
    else if (net_conn_peer_cred(c, &uid, &gid, &pid))
        text_fmt(c->peer, sizeof(c->peer), "unix:uid=%u,pid=%d", (unsigned)uid, (int)pid);
    else
        text_fmt(c->peer, sizeof(c->peer), "unix");
    if (sa.ss_family == AF_INET || sa.ss_family == AF_INET6) set_tcp_options(c->fd);
}

bool net_conn_peer_cred(const struct net_conn *c, uid_t *ret_uid, gid_t *ret_gid, pid_t *ret_pid)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);
    int domain;
    socklen_t domain_len = sizeof(domain);
    if (c->fd < 0 || getsockopt(c->fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_len) != 0)
        return false;
    if (domain != AF_UNIX) return false;
    if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0) return false;
    *ret_uid = cred.uid;
    *ret_gid = cred.gid;
    *ret_pid = cred.pid;
    return true;
}

/* The socket of the attempt is connected: the connection takes it. */
static void take(struct net_conn *c)
{
    struct dial *d = c->dial;
    int fd = d->fd;
    d->fd = -1;
    dial_free(c);
    conn_set_fd(c, fd);
    set_peer(c);
    conn_connected(c);
}

static void on_attempt(uv_poll_t *h, int status, int events)
{
    (void)events;
    struct net_conn *c = ((struct attempt *)h)->c;
    struct dial *d = c->dial;
    int code = 0;
    socklen_t len = sizeof(code);
    getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &code, &len);
    if (code == 0 && status < 0) code = ECONNREFUSED;
    if (code == 0) {
        take(c);
        return;
    }
    (void)err_sys(&d->err, ERR_UNAVAILABLE, code, "connect to %s", d->addr.host);
    try_next(c);
}

/* 0 when under way (or connected: the poll will say so). */
static int attempt_start(struct net_conn *c, const struct sockaddr *sa, socklen_t len)
{
    struct dial *d = c->dial;
    d->fd = socket(sa->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (d->fd < 0) return err_sys(&d->err, ERR_IO, errno, "socket");
    if (connect(d->fd, sa, len) != 0 && errno != EINPROGRESS) {
        int code = errno;
        attempt_drop(d);
        int kind = code == ENOENT ? ERR_NOT_FOUND : ERR_UNAVAILABLE;
        return err_sys(&d->err, kind, code, "connect to %s", d->addr.host);
    }
    struct attempt *a = mem_alloc(sizeof(*a));
    a->c = c;
    CHECK(uv_poll_init(net_loop_uv(c->loop), &a->uv, d->fd) == 0);
    uv_poll_start(&a->uv, UV_WRITABLE, on_attempt);
    d->attempt = a;
    return 0;
}

/* From events: tries the rest of the list, ends c when nothing is left. */
static void try_next(struct net_conn *c)
{
    struct dial *d = c->dial;
    attempt_drop(d);
    while (d->next != NULL) {
        const struct addrinfo *ai = d->next;
        d->next = ai->ai_next;
        if (attempt_start(c, ai->ai_addr, ai->ai_addrlen) == 0) return;
    }
    struct err e = d->err;
    conn_end(c, &e);
}

static void on_lookup(uv_getaddrinfo_t *h, int status, struct addrinfo *list)
{
    struct lookup *k = (struct lookup *)h;
    struct net_conn *c = k->c;
    mem_free(k);
    if (c == NULL) {
        if (list != NULL) uv_freeaddrinfo(list);
        return;
    }
    struct dial *d = c->dial;
    d->lookup = NULL;
    d->list = list;
    d->next = list;
    if (status != 0)
        (void)err_set(&d->err, ERR_UNAVAILABLE, "the name %.200s is not known: %s", d->addr.host,
                      uv_strerror(status));
    try_next(c);
}

static void lookup_start(struct net_conn *c)
{
    struct dial *d = c->dial;
    struct lookup *k = mem_alloc(sizeof(*k));
    k->c = c;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    char port[8];
    text_fmt(port, sizeof(port), "%u", (unsigned)d->addr.port);
    int rc = uv_getaddrinfo(net_loop_uv(c->loop), &k->uv, on_lookup, d->addr.host, port, &hints);
    if (rc == 0) {
        d->lookup = k;
        return;
    }
    mem_free(k);
    (void)err_set(&c->err, ERR_IO, "look up %.200s: %s", d->addr.host, uv_strerror(rc));
    conn_fail_later(c);
}

struct net_conn *net_dial(struct net_loop *l, struct str addr, const struct net_conn_opts *opts,
                          const struct net_conn_ops *ops, void *arg, struct err *err)
{
    struct net_addr a;
    if (net_addr_parse(addr, 0, &a, err) != 0) return NULL;
    if (a.kind == NET_ADDR_FD) {
        (void)err_set(err, ERR_INVALID, "a descriptor cannot be dialled");
        return NULL;
    }
    struct net_conn *c = conn_make(l, false, opts, ops, arg);
    const char *name = opts != NULL && opts->tls_name != NULL ? opts->tls_name : a.host;
    if (c->tls != NULL && conn_tls_begin(c, name, err) != 0) {
        net_conn_close(c);
        return NULL;
    }
    c->state = CONN_DIAL;
    c->dial = mem_alloc(sizeof(*c->dial));
    c->dial->fd = -1;
    c->dial->addr = a;
    int64_t limit = opts != NULL && opts->connect_ms > 0 ? opts->connect_ms : CONNECT_MS;
    net_conn_set_deadline(c, limit);
    if (a.kind == NET_ADDR_NAME) {
        lookup_start(c);
    } else if (attempt_start(c, (const struct sockaddr *)&a.sa, a.sa_len) != 0) {
        c->err = c->dial->err;
        conn_fail_later(c);
    }
    return c;
}

struct net_conn *net_conn_adopt_fd(struct net_loop *l, int fd, bool server,
                                   const struct net_conn_opts *opts,
                                   const struct net_conn_ops *ops, void *arg)
{
    struct net_conn *c = conn_make(l, server, opts, ops, arg);
    conn_set_fd(c, fd);
    set_peer(c);
    if (c->tls == NULL) {
        c->state = CONN_OPEN;
        if (c->ops.on_open != NULL) {
            c->open_due = true;
            conn_kick(c);
        }
        net_conn_set_idle(c, c->idle_ms);
    } else {
        c->state = CONN_HANDSHAKE;
        const char *name = opts->tls_name != NULL ? opts->tls_name : "";
        if (conn_tls_begin(c, name, &c->err) != 0) {
            conn_fail_later(c);
            return c;
        }
        int64_t limit = opts->connect_ms > 0 ? opts->connect_ms : CONNECT_MS;
        net_conn_set_deadline(c, limit);
    }
    conn_update(c);
    return c;
}
