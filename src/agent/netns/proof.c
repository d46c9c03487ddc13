/* agent/netns/proof.c - see proof.h.
 *
 * A yard is a namespace that no process is in: its descriptor holds it.  Its address is
 * claimed in the name of our process, so one of an agent that was killed is collected. */
#include "agent/netns/proof.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "agent/netns/enter.h"
#include "agent/netns/netlink.h"
#include "agent/netns/veth.h"
#include "agent/netns/wall.h"
#include "base/check.h"
#include "base/str.h"
#include "host/file.h"

#define SILENCE_MS 200 /* on one machine an answer takes microseconds */
#define TRIES_MAX 10

struct yard {
    int ns, rc;
    struct netlink nl;
    struct in_addr addr;
    struct err err;
};

struct try { /* one connection that must not be made */
    int fd;
    const char *who;
    struct sockaddr_in to;
};

/* ---- yards ---- */

static void *yard_thread(void *arg)
{
    struct yard *y = arg;
    if (unshare(CLONE_NEWNET) == 0) y->ns = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (y->ns < 0) y->rc = err_sys(&y->err, ERR_IO, errno, "cannot make a network namespace");
    else y->rc = netlink_open(&y->nl, &y->err);
    return NULL;
}

static int yard_open(struct yard *y, struct netlink *host, struct addr_pool *pool,
                     const char *owner, struct err *err)
{
    pthread_t thread;
    char name[IFNAMSIZ];
    int rc = pthread_create(&thread, NULL, yard_thread, y);
    if (rc != 0) return err_sys(err, ERR_IO, rc, "cannot start a thread");
    pthread_join(thread, NULL);
    if (y->rc < 0) {
        *err = y->err;
        return y->rc;
    }
    rc = addr_pool_take(pool, owner, &y->addr, err);
    if (rc < 0) return rc;
    veth_name(y->addr, name);
    rc = netlink_remove(host, name, err); /* of the address' last owner */
    return rc < 0 ? rc : veth_make(host, &y->nl, y->ns, y->addr, err);
}

static void yard_close(struct yard *y, struct netlink *host, struct addr_pool *pool,
                       const char *owner)
{
    char name[IFNAMSIZ];
    if (y->addr.s_addr != 0) {
        veth_name(y->addr, name);
        netlink_remove(host, name, NULL);
        addr_pool_give(pool, owner, y->addr);
    }
    netlink_close(&y->nl);
    file_close(&y->ns);
}

/* ---- tries ---- */

static int open_listener(void *arg, struct err *err)
{
    struct try *t = arg;
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t n = sizeof(a);
    t->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (t->fd < 0 || bind(t->fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(t->fd, 8) < 0 ||
        getsockname(t->fd, (struct sockaddr *)&a, &n) < 0)
        return err_sys(err, ERR_IO, errno, "cannot listen");
    t->to = a;
    return 0;
}

static int open_try(void *arg, struct err *err)
{
    struct try *t = arg;
    t->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (t->fd < 0) return err_sys(err, ERR_IO, errno, "cannot make a socket");
    (void)connect(t->fd, (struct sockaddr *)&t->to, sizeof(t->to)); /* later tells */
    return 0;
}

/* There is somebody who would accept; a refusal is some other wall's. */
static bool accepted(const struct try *t)
{
    int error = 0;
    socklen_t n = sizeof(error);
    struct pollfd p = {.fd = t->fd, .events = POLLOUT};
    if (poll(&p, 1, 0) != 1) return false;
    return getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0 || error == 0;
}

/* This machine's addresses, each as something to try. */
static uint32_t list_machine(const struct sockaddr_in *port, struct try *v, uint32_t cap)
{
    struct ifaddrs *all = NULL;
    uint32_t n = 0;
    if (getifaddrs(&all) < 0) return 0;
    for (const struct ifaddrs *i = all; i && n < cap; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || i->ifa_flags & IFF_LOOPBACK)
            continue;
        v[n] = (struct try){.fd = -1, .who = "a container reaches its machine"};
        memcpy(&v[n].to, i->ifa_addr, sizeof(v[n].to));
        v[n++].to.sin_port = port->sin_port;
    }
    freeifaddrs(all);
    return n;
}

/* Whether the machine's end of a yard's link has got anything. */
static bool arrived(struct in_addr addr)
{
    struct ifaddrs *all = NULL;
    char name[IFNAMSIZ];
    bool some = false;
    veth_name(addr, name);
    if (getifaddrs(&all) < 0) return false;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        const struct rtnl_link_stats *s = i->ifa_data;
        bool it = i->ifa_addr && i->ifa_addr->sa_family == AF_PACKET && s;
        if (it && strcmp(i->ifa_name, name) == 0) some = s->rx_packets > 0;
    }
    freeifaddrs(all);
    return some;
}

static int judge(const struct yard *from, const struct try *v, uint32_t n, struct err *err)
{
    char text[INET_ADDRSTRLEN];
    for (uint32_t i = 0; i < n; i++) {
        if (!accepted(&v[i])) continue;
        inet_ntop(AF_INET, &v[i].to.sin_addr, text, sizeof(text));
        return err_set(err, ERR_DENIED, "the walls leak: %s at %s", v[i].who, text);
    }
    if (arrived(from->addr)) return 0;
    return err_set(err, ERR_DENIED, "the walls are not proved: nothing passed the link");
}

static int try_all(const struct yard *a, const struct yard *b, struct err *err)
{
    struct try v[TRIES_MAX], machine = {.fd = -1}, other = {.fd = -1};
    uint32_t n = 0;
    int rc = open_listener(&machine, err);
    if (rc == 0) rc = enter_run(b->ns, open_listener, &other, err);
    if (rc == 0) n = list_machine(&machine.to, v, TRIES_MAX - 2);
    other.to.sin_addr = b->addr;
    static const char *const whos[] = {"a container reaches another",
                                       "the machine reaches a container"};
    for (uint32_t i = 0; i < 2; i++) /* from a, and from here */
        v[n + i] = (struct try){.fd = -1, .to = other.to, .who = whos[i]};
    for (uint32_t i = 0; i < n + 1 && rc == 0; i++) rc = enter_run(a->ns, open_try, &v[i], err);
    if (rc == 0) rc = open_try(&v[n + 1], err);
    if (rc == 0) {
        poll(NULL, 0, SILENCE_MS);
        rc = judge(a, v, n + 2, err);
    }
    for (uint32_t i = 0; i < n + 2; i++) file_close(&v[i].fd);
    file_close(&machine.fd);
    file_close(&other.fd);
    return rc;
}

int proof_walls(struct addr_pool *pool, struct err *err)
{
    struct yard a = {.ns = -1, .nl = {.fd = -1}}, b = {.ns = -1, .nl = {.fd = -1}};
    struct netlink host;
    char owner[32];
    text_fmt(owner, sizeof(owner), "/proc/%d", (int)getpid());
    int rc = netlink_open(&host, err);
    if (rc < 0) return rc;
    rc = yard_open(&a, &host, pool, owner, err);
    if (rc == 0) rc = yard_open(&b, &host, pool, owner, err);
    if (rc == 0) rc = try_all(&a, &b, err);
    yard_close(&a, &host, pool, owner);
    yard_close(&b, &host, pool, owner);
    netlink_close(&host);
    return rc;
}
