/* agent/netns/netns.c - see netns.h. */
#include "agent/netns/netns.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "agent/netns/enter.h"
#include "agent/netns/netlink.h"
#include "agent/netns/proof.h"
#include "agent/netns/veth.h"
#include "agent/netns/vxlan.h"
#include "agent/netns/wall.h"
#include "base/check.h"
#include "base/mem.h"
#include "host/file.h"
#include "net/log.h"

#define MTU_UNKNOWN 1500u
#define MTU_MAX 65535u

/* ---- what this node can do ---- */

/* In a namespace of a thread's own that nobody else sees and that is gone after. */
struct trial { bool bridged; int rc; struct err err; };

static int try_vxlan(struct netlink *nl, bool bridged, struct err *err)
{
    struct wiring w = {.members = 2, .vni = 1};
    AUTO_FD int here = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (here < 0) return err_sys(err, ERR_IO, errno, "cannot open a network namespace");
    return vxlan_make(nl, nl, here, &w, (struct vxlan_way){MTU_UNKNOWN, bridged}, err);
}

static void *trial_thread(void *arg)
{
    struct trial *t = arg;
    struct netlink nl;
    if (unshare(CLONE_NEWNET) < 0) {
        t->rc = err_sys(&t->err, ERR_IO, errno, "cannot make a network namespace");
        return NULL;
    }
    t->rc = netlink_open(&nl, &t->err);
    if (t->rc < 0) return NULL;
    t->rc = try_vxlan(&nl, t->bridged, &t->err);
    netlink_close(&nl);
    return NULL;
}

static bool can_vxlan(bool bridged)
{
    struct trial t = {.bridged = bridged};
    pthread_t thread;
    if (pthread_create(&thread, NULL, trial_thread, &t) != 0) return false;
    pthread_join(thread, NULL);
    if (t.rc < 0) log_event(LOG_WARN, "network.gangs", LOG_ERR(&t.err));
    return t.rc == 0;
}

static bool is_linux(unsigned major, unsigned minor)
{
    struct utsname u;
    struct str rest, word;
    uint64_t a, b;
    if (uname(&u) < 0) return false;
    rest = str_of(u.release);
    if (!str_cut(&rest, '.', &word) || !str_to_u64(word, &a)) return false;
    str_cut(&rest, '.', &word);
    if (!str_to_u64(word, &b)) return false;
    return a > major || (a == major && b >= minor);
}

static int open_users(int run, int how, struct err *err)
{
    AUTO_FD int fd = openat(run, "users", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, how) < 0)
        return err_sys(err, errno == EWOULDBLOCK ? ERR_CONFLICT : ERR_IO, errno,
                       "cannot lock the machine's network");
    int ret = fd;
    fd = -1;
    return ret;
}

int netns_purge(const char *run_dir, struct err *err)
{
    const char *dir = run_dir ? run_dir : ADDR_POOL_DIR;
    struct addr_pool pool;
    if (!file_exists(AT_FDCWD, dir)) return 0;
    AUTO_FD int run = file_open_dir(AT_FDCWD, dir, err);
    if (run < 0) return run;
    AUTO_FD int users = open_users(run, LOCK_EX | LOCK_NB, err);
    if (users == ERR_CONFLICT) return 0; /* another agent lives by it */
    int rc = users < 0 ? users : addr_pool_open(dir, &pool, err);
    if (rc < 0) return rc;
    addr_pool_collect(&pool);
    if (addr_pool_taken(&pool) == 0) rc = wall_remove(run, err);
    addr_pool_close(&pool);
    return rc;
}

static int open_outbound(struct netns_node *n, const char *dir, struct err *err)
{
    int rc = addr_pool_open(dir, &n->pool, err);
    if (rc == 0) rc = n->run = file_open_dir(AT_FDCWD, dir, err);
    if (rc < 0) return rc;
    addr_pool_collect(&n->pool);
    n->users = rc = open_users(n->run, LOCK_SH, err);
    if (rc >= 0) rc = wall_load(err);
    return rc < 0 ? rc : proof_walls(&n->pool, err);
}

void netns_open(const struct netns_config *c, struct netns_node *ret)
{
    struct netns_node n = {.on = c->on, .run = -1, .users = -1, .pool = {.dir = -1, .lock = -1}};
    struct err err = {0};
    pthread_mutex_init(&ret->lock, NULL);
    if (n.on) {
        n.outbound = open_outbound(&n, c->run_dir ? c->run_dir : ADDR_POOL_DIR, &err) == 0;
        n.gangs = can_vxlan(false);
        n.bridged = n.gangs && !is_linux(6, 5) && can_vxlan(true); /* vxlan.c says why */
        n.near = n.gangs && (n.bridged || is_linux(6, 5));
        if (c->net_addr[0] && inet_pton(AF_INET, c->net_addr, &n.addr) != 1) n.addr.s_addr = 0;
        if (!n.outbound) log_event(LOG_WARN, "network.outbound", LOG_ERR(&err));
        text_fmt(n.note, sizeof(n.note), "%s%s%s", n.outbound ? "" : "; no way out: ",
                 n.outbound ? "" : err.text,
                 n.near ? "" : n.gangs ? "; gangs: a member a node" : "; no VXLAN");
    }
    ret->on = n.on;
    ret->outbound = n.outbound;
    ret->gangs = n.gangs;
    ret->near = n.near;
    ret->bridged = n.bridged;
    memcpy(ret->note, n.note, sizeof(n.note));
    ret->run = n.run;
    ret->users = n.users;
    ret->pool = n.pool;
    ret->addr = n.addr;
    ret->forwarding = false;
}

void netns_close(struct netns_node *n)
{
    addr_pool_close(&n->pool);
    file_close(&n->run);
    file_close(&n->users);
    pthread_mutex_destroy(&n->lock);
}

int netns_check(const struct netns_node *n, const struct wiring *w, struct err *err)
{
    if (!n->on) return 0;
    if (w->mode == NETWORK_OUTBOUND && !n->outbound)
        return err_set(err, ERR_UNSUPPORTED,
                       "this node has no way out for containers (%s)", n->note);
    if (w->mode != NETWORK_HOST && w->members > 1 && !n->gangs)
        return err_set(err, ERR_UNSUPPORTED,
                       "this node cannot join the containers of a gang (its kernel has no VXLAN): "
                       "ask for network host where the group allows it");
    for (uint32_t i = 0; i < w->peers.n; i++) {
        bool here = ntohl(w->peers.v[i].node.s_addr) >> 24 == IN_LOOPBACKNET;
        if (w->mode != NETWORK_HOST && here && !n->near)
            return err_set(err, ERR_UNSUPPORTED,
                           "two members of a gang cannot talk on this machine: it has no bridges, "
                           "or Linux 6.5. Ask for network host where the group allows it");
    }
    return 0;
}

/* ---- one container ---- */

struct inside { /* the container, from within and without */
    struct netlink nl;
    int ns;
    int dir;
    const char *path;
};

static int open_inside(void *arg, struct err *err)
{
    struct inside *in = arg;
    in->ns = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (in->ns < 0) return err_sys(err, ERR_IO, errno, "cannot open the network namespace");
    /* Of links that come: nothing leaves by IPv6, so nobody should try it.  Where the
     * kernel has none, there is nothing to turn off. */
    file_put(AT_FDCWD, "/proc/sys/net/ipv6/conf/default/disable_ipv6", "1", NULL);
    /* There is nobody here to keep port 80 from. */
    file_put(AT_FDCWD, "/proc/sys/net/ipv4/ip_unprivileged_port_start", "0", NULL);
    return netlink_open(&in->nl, err);
}

static void close_inside(struct inside *in)
{
    netlink_close(&in->nl);
    file_close(&in->ns);
}

/* The MTU of the device that has our address. */
static uint32_t underlay_mtu(struct in_addr addr)
{
    struct ifaddrs *all = NULL;
    struct ifreq r = {0};
    AUTO_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || getifaddrs(&all) < 0) return MTU_UNKNOWN;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        struct sockaddr_in at;
        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET) continue;
        memcpy(&at, i->ifa_addr, sizeof(at));
        if (at.sin_addr.s_addr == addr.s_addr) TEXT_CLIP(r.ifr_name, str_of(i->ifa_name));
    }
    freeifaddrs(all);
    if (!r.ifr_name[0] || ioctl(fd, SIOCGIFMTU, &r) < 0 || r.ifr_mtu < 576) return MTU_UNKNOWN;
    return (uint32_t)r.ifr_mtu < MTU_MAX ? (uint32_t)r.ifr_mtu : MTU_MAX;
}

static bool is_loopback(struct in_addr a) { return ntohl(a.s_addr) >> 24 == IN_LOOPBACKNET; }

/* Packets that never leave this machine are as long as they can be. */
static uint32_t gang_mtu(const struct netns_node *n, const struct wiring *w)
{
    bool away = false;
    for (uint32_t i = 0; i < w->peers.n; i++) away |= !is_loopback(w->peers.v[i].node);
    return away ? underlay_mtu(n->addr) : MTU_MAX;
}

static int set_forwarding(struct netns_node *n, struct err *err)
{
    bool set = false;
    int rc = 0;
    pthread_mutex_lock(&n->lock);
    if (!n->forwarding) rc = wall_forward(n->run, &set, err);
    n->forwarding = n->forwarding || rc == 0;
    pthread_mutex_unlock(&n->lock);
    if (set) log_event(LOG_WARN, "network.forwarding",
                       LOG_S("set", "net.ipv4.ip_forward=1, for containers"));
    return rc;
}

static int take_addr(struct netns_node *n, const struct inside *in, struct wiring *w,
                     struct err *err)
{
    int rc = 0;
    if (w->addr.s_addr != 0) return 0; /* of an earlier agent */
    pthread_mutex_lock(&n->lock);
    rc = addr_pool_take(&n->pool, in->path, &w->addr, err);
    pthread_mutex_unlock(&n->lock);
    return rc < 0 ? rc : wiring_write(in->dir, w, err);
}

static int make_way_out(struct netns_node *n, struct wiring *w, struct netlink *host,
                        struct inside *in, struct err *err)
{
    char name[IFNAMSIZ];
    int rc = set_forwarding(n, err);
    if (rc == 0) rc = take_addr(n, in, w, err);
    if (rc < 0) return rc;
    rc = veth_make(host, &in->nl, in->ns, w->addr, err);
    if (rc != ERR_CONFLICT) return rc;
    /* The kernel takes a dead namespace apart some time later: of the address' last owner. */
    veth_name(w->addr, name);
    rc = netlink_remove(host, name, err);
    return rc < 0 ? rc : veth_make(host, &in->nl, in->ns, w->addr, err);
}

static int wire(struct netns_node *n, struct wiring *w, struct inside *in, struct err *err)
{
    struct netlink host;
    bool out = w->mode == NETWORK_OUTBOUND || (w->mode == NETWORK_DEFAULT && n->outbound);
    int rc = netlink_open(&host, err);
    if (rc < 0) return rc;
    /* Of an earlier agent, half made perhaps. */
    rc = netlink_remove(&in->nl, VETH_INSIDE, err);
    if (rc == 0) rc = vxlan_remove(&in->nl, err);
    if (rc == 0 && out) rc = make_way_out(n, w, &host, in, err);
    if (rc == 0 && w->members > 1)
        rc = vxlan_make(&host, &in->nl, in->ns, w,
                        (struct vxlan_way){gang_mtu(n, w), n->bridged}, err);
    if (rc < 0) {
        netlink_remove(&in->nl, VETH_INSIDE, NULL);
        vxlan_remove(&in->nl, NULL);
    }
    netlink_close(&host);
    return rc;
}

/* In the machine's network the others of a gang meet member 0 at a port that all of them
 * computed; taken by somebody else, another attempt gets another. */
static int check_port(const struct wiring *w, struct err *err)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(w->port)};
    if (w->member != 0 || w->port == 0) return 0;
    AUTO_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "cannot make a socket");
    if (bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0) return 0;
    return err_sys(err, ERR_CONFLICT, errno, "port %u of this node cannot be had", w->port);
}

int netns_attach(struct netns_node *n, int dir, const char *path, int pidfd, struct err *err)
{
    struct wiring w = {0};
    struct inside in = {.ns = -1, .nl = {.fd = -1}, .dir = dir, .path = path};
    if (!n->on) return 0;
    int rc = wiring_read(dir, &w, err);
    if (rc == ERR_NOT_FOUND) return 0;
    if (rc < 0) return rc;
    if (w.mode == NETWORK_HOST) {
        rc = check_port(&w, err);
    } else {
        rc = netns_check(n, &w, err);
        if (rc == 0) rc = enter_run(pidfd, open_inside, &in, err);
        if (rc == 0) rc = wire(n, &w, &in, err);
        close_inside(&in);
    }
    wiring_done(&w);
    if (rc < 0) netns_release(n, dir, path);
    if (rc < 0) err_prefix(err, "network");
    return rc;
}

void netns_release(struct netns_node *n, int dir, const char *path)
{
    struct wiring w = {0};
    if (!n->on || wiring_read(dir, &w, NULL) < 0) return;
    if (w.addr.s_addr != 0) {
        pthread_mutex_lock(&n->lock);
        addr_pool_give(&n->pool, path, w.addr);
        pthread_mutex_unlock(&n->lock);
    }
    wiring_done(&w);
}
