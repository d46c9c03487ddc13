/* agent/netns/veth.c - see veth.h. */
#include "agent/netns/veth.h"
#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include "agent/netns/wiring.h"
#include "agent/netns/route.h"
#include "agent/netns/wall.h"
#include "base/str.h"

#define GATEWAY 0xA9FE0101u /* 169.254.1.1: the next hop's name, nobody's address */

void veth_name(struct in_addr addr, char ret[IFNAMSIZ])
{
    text_fmt(ret, IFNAMSIZ, WALL_PREFIX "%08x", ntohl(addr.s_addr));
}

static int make_pair(struct netlink *host, int ns, struct in_addr addr, struct err *err)
{
    struct ifinfomsg up = {.ifi_family = AF_UNSPEC, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
    struct ifinfomsg there = {.ifi_family = AF_UNSPEC};
    char name[IFNAMSIZ];
    uint8_t mac[6];
    veth_name(addr, name);
    int rc = netlink_begin(host, NETLINK_DO(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL), &up,
                           sizeof(up), "make the container's link", err);
    if (rc < 0) return rc;
    netlink_put_text(host, IFLA_IFNAME, name);
    wiring_mac(ROUTE_MAC_HOST, addr, mac);
    netlink_put(host, IFLA_ADDRESS, mac, sizeof(mac));
    size_t info = netlink_nest(host, IFLA_LINKINFO, NULL, 0);
    netlink_put_text(host, IFLA_INFO_KIND, "veth");
    size_t data = netlink_nest(host, IFLA_INFO_DATA, NULL, 0);
    size_t peer = netlink_nest(host, VETH_INFO_PEER, &there, sizeof(there));
    netlink_put_text(host, IFLA_IFNAME, VETH_INSIDE);
    netlink_put_u32(host, IFLA_NET_NS_FD, (uint32_t)ns);
    wiring_mac(ROUTE_MAC_INSIDE, addr, mac);
    netlink_put(host, IFLA_ADDRESS, mac, sizeof(mac));
    netlink_nest_end(host, peer);
    netlink_nest_end(host, data);
    netlink_nest_end(host, info);
    netlink_end(host);
    return netlink_flush(host, err);
}

static int wire_inside(struct netlink *in, struct in_addr addr, struct err *err)
{
    struct in_addr gateway = {htonl(GATEWAY)};
    uint32_t index = 0;
    uint8_t mac[6];
    int rc = netlink_find(in, VETH_INSIDE, &index, NULL, err);
    wiring_mac(ROUTE_MAC_HOST, addr, mac);
    if (rc == 0) rc = route_addr(in, index, addr, 32, err);
    if (rc == 0) rc = route_up(in, index, err);
    if (rc == 0) rc = route_neighbour(in, index, gateway, mac, err);
    if (rc == 0) rc = route_on_link(in, index, gateway, 32, err);
    if (rc == 0) rc = route_default(in, index, gateway, err);
    return rc < 0 ? rc : netlink_flush(in, err);
}

static int wire_outside(struct netlink *host, struct in_addr addr, struct err *err)
{
    char name[IFNAMSIZ];
    uint32_t index = 0;
    uint8_t mac[6];
    veth_name(addr, name);
    int rc = netlink_find(host, name, &index, NULL, err);
    wiring_mac(ROUTE_MAC_INSIDE, addr, mac);
    if (rc == 0) rc = route_neighbour(host, index, addr, mac, err);
    if (rc == 0) rc = route_on_link(host, index, addr, 32, err);
    return rc < 0 ? rc : netlink_flush(host, err);
}

int veth_make(struct netlink *host, struct netlink *in, int ns, struct in_addr addr,
              struct err *err)
{
    int rc = make_pair(host, ns, addr, err);
    if (rc == 0) rc = wire_inside(in, addr, err);
    if (rc == 0) rc = wire_outside(host, addr, err);
    return rc;
}
