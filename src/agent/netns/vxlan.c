/* agent/netns/vxlan.c - see vxlan.h. */
#include "agent/netns/vxlan.h"
#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include "agent/netns/route.h"
#include "agent/netns/wall.h"

#define GANG_PREFIX 16
#define PORT_LINK "rotavx"   /* the device, where WIRING_GANG_LINK is the end of a pair; no */
#define PAIR_LINK "rotavp"   /* name begins with that one: libraries match by prefix */
#define BRIDGE_LINK "rotavb"
/* Since Linux 6.5; younger than the headers we build with.  Otherwise packets between two
 * devices of one machine take a short cut on which they keep the sender's route, and the
 * receiver throws them away.  A kernel that cannot be told so gets a pair of links and a
 * bridge between the device and the programs: a pair takes the route off, and the short
 * cut works (a bridge alone does not, on 6.1). */
#define VXLAN_LOCALBYPASS 31

static int make_device(struct netlink *host, int ns, const struct wiring *w,
                       struct vxlan_way way, struct err *err)
{
    struct ifinfomsg i = {.ifi_family = AF_UNSPEC};
    uint16_t port = htons(WALL_GANG_PORT);
    uint8_t mac[6];
    int rc = netlink_begin(host, NETLINK_DO(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL), &i,
                           sizeof(i), "make the gang's link", err);
    if (rc < 0) return rc;
    netlink_put_text(host, IFLA_IFNAME, way.bridged ? PORT_LINK : WIRING_GANG_LINK);
    /* Made in the container's namespace at once: its packets still use the machine's
     * network, and there is no moment in which it could be left behind here. */
    netlink_put_u32(host, IFLA_NET_NS_FD, (uint32_t)ns);
    netlink_put_u32(host, IFLA_MTU, way.mtu - VXLAN_OVERHEAD);
    wiring_mac(way.bridged ? ROUTE_MAC_PORT : ROUTE_MAC_GANG, wiring_gang_addr(w->member), mac);
    netlink_put(host, IFLA_ADDRESS, mac, sizeof(mac));
    size_t info = netlink_nest(host, IFLA_LINKINFO, NULL, 0);
    netlink_put_text(host, IFLA_INFO_KIND, "vxlan");
    size_t data = netlink_nest(host, IFLA_INFO_DATA, NULL, 0);
    netlink_put_u32(host, IFLA_VXLAN_ID, w->vni);
    netlink_put(host, IFLA_VXLAN_PORT, &port, sizeof(port));
    netlink_put_u8(host, IFLA_VXLAN_LEARNING, 0);
    netlink_put_u8(host, IFLA_VXLAN_UDP_CSUM, 1);
    if (!way.bridged) netlink_put_u8(host, VXLAN_LOCALBYPASS, 0);
    netlink_nest_end(host, data);
    netlink_nest_end(host, info);
    netlink_end(host);
    return netlink_flush(host, err);
}

static int begin_link(struct netlink *in, const char *name, uint32_t mtu, const char *what,
                      struct err *err)
{
    struct ifinfomsg i = {.ifi_family = AF_UNSPEC};
    int rc = netlink_begin(in, NETLINK_DO(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL), &i, sizeof(i),
                           what, err);
    if (rc < 0) return rc;
    netlink_put_text(in, IFLA_IFNAME, name);
    netlink_put_u32(in, IFLA_MTU, mtu - VXLAN_OVERHEAD);
    return 0;
}

static int make_bridge(struct netlink *in, uint32_t mtu, struct err *err)
{
    int rc = begin_link(in, BRIDGE_LINK, mtu, "make the gang's bridge", err);
    if (rc < 0) return rc;
    size_t info = netlink_nest(in, IFLA_LINKINFO, NULL, 0);
    netlink_put_text(in, IFLA_INFO_KIND, "bridge");
    size_t data = netlink_nest(in, IFLA_INFO_DATA, NULL, 0);
    netlink_put_u8(in, IFLA_BR_MCAST_SNOOPING, 0);
    netlink_nest_end(in, data);
    netlink_nest_end(in, info);
    netlink_end(in);
    return 0;
}

static int make_pair(struct netlink *in, const struct wiring *w, uint32_t mtu, struct err *err)
{
    struct ifinfomsg there = {.ifi_family = AF_UNSPEC};
    uint8_t mac[6];
    int rc = begin_link(in, WIRING_GANG_LINK, mtu, "make the link to the gang's bridge", err);
    if (rc < 0) return rc;
    wiring_mac(ROUTE_MAC_GANG, wiring_gang_addr(w->member), mac);
    netlink_put(in, IFLA_ADDRESS, mac, sizeof(mac));
    size_t info = netlink_nest(in, IFLA_LINKINFO, NULL, 0);
    netlink_put_text(in, IFLA_INFO_KIND, "veth");
    size_t data = netlink_nest(in, IFLA_INFO_DATA, NULL, 0);
    size_t peer = netlink_nest(in, VETH_INFO_PEER, &there, sizeof(there));
    netlink_put_text(in, IFLA_IFNAME, PAIR_LINK);
    netlink_put_u32(in, IFLA_MTU, mtu - VXLAN_OVERHEAD);
    netlink_nest_end(in, peer);
    netlink_nest_end(in, data);
    netlink_nest_end(in, info);
    netlink_end(in);
    return netlink_flush(in, err);
}

static int put_under(struct netlink *in, uint32_t port, uint32_t bridge, struct err *err)
{
    struct ifinfomsg i = {.ifi_family = AF_UNSPEC, .ifi_index = (int)port};
    int rc = netlink_begin(in, RTM_NEWLINK, &i, sizeof(i), "put the gang's link under its bridge",
                           err);
    if (rc < 0) return rc;
    netlink_put_u32(in, IFLA_MASTER, bridge);
    netlink_end(in);
    return route_up(in, port, err);
}

/* Joins the device `port` and a new pair by a bridge; *ret: the pair's end for programs. */
static int bridge_over(struct netlink *in, const struct wiring *w, struct vxlan_way way,
                       uint32_t port, uint32_t *ret, struct err *err)
{
    uint32_t bridge = 0, pair = 0;
    int rc = make_bridge(in, way.mtu, err);
    if (rc == 0) rc = make_pair(in, w, way.mtu, err);
    if (rc == 0) rc = netlink_find(in, BRIDGE_LINK, &bridge, NULL, err);
    if (rc == 0) rc = netlink_find(in, PAIR_LINK, &pair, NULL, err);
    if (rc == 0) rc = netlink_find(in, WIRING_GANG_LINK, ret, NULL, err);
    if (rc == 0) rc = put_under(in, port, bridge, err);
    if (rc == 0) rc = put_under(in, pair, bridge, err);
    return rc < 0 ? rc : route_up(in, bridge, err);
}

/* Where the packets for one member go: to its node, under its number. */
static int put_place(struct netlink *in, uint32_t index, const struct wiring_peer *e,
                     const uint8_t mac[6], struct err *err)
{
    struct ndmsg d = {.ndm_family = AF_BRIDGE, .ndm_ifindex = (int)index,
                      .ndm_state = NUD_PERMANENT, .ndm_flags = NTF_SELF};
    int rc = netlink_begin(in, NETLINK_DO(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE), &d,
                           sizeof(d), "place a member of the gang", err);
    if (rc < 0) return rc;
    netlink_put(in, NDA_LLADDR, mac, 6);
    netlink_put(in, NDA_DST, &e->node, sizeof(e->node));
    netlink_put_u32(in, NDA_VNI, e->vni);
    netlink_end(in);
    return 0;
}

int vxlan_make(struct netlink *host, struct netlink *in, int ns, const struct wiring *w,
               struct vxlan_way way, struct err *err)
{
    uint32_t port = 0, link = 0; /* the device itself, and what has the address */
    uint8_t mac[6];
    int rc = make_device(host, ns, w, way, err);
    if (rc == 0)
        rc = netlink_find(in, way.bridged ? PORT_LINK : WIRING_GANG_LINK, &port, NULL, err);
    link = port;
    if (rc == 0 && way.bridged) rc = bridge_over(in, w, way, port, &link, err);
    if (rc == 0) rc = route_addr(in, link, wiring_gang_addr(w->member), GANG_PREFIX, err);
    if (rc == 0) rc = route_up(in, link, err);
    for (uint32_t i = 0; i < w->peers.n && rc == 0; i++) {
        const struct wiring_peer *e = &w->peers.v[i];
        struct in_addr addr = wiring_gang_addr(e->member);
        wiring_mac(ROUTE_MAC_GANG, addr, mac);
        rc = put_place(in, port, e, mac, err);
        if (rc == 0) rc = route_neighbour(in, link, addr, mac, err);
    }
    return rc < 0 ? rc : netlink_flush(in, err);
}

int vxlan_remove(struct netlink *in, struct err *err)
{
    int rc = netlink_remove(in, WIRING_GANG_LINK, err);
    if (rc == 0) rc = netlink_remove(in, BRIDGE_LINK, err);
    return rc < 0 ? rc : netlink_remove(in, PORT_LINK, err);
}
