/* agent/netns/vxlan.c - see vxlan.h. */
#include "agent/netns/vxlan.h"
#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include "agent/netns/route.h"
#include "agent/netns/wall.h"

#define GANG_PREFIX 16
/* Since Linux 6.5; younger than the headers we build with.  Otherwise packets between two
 * devices of one machine take a short cut on which they keep the sender's route, and the
 * receiver throws them away. */
#define VXLAN_LOCALBYPASS 31

static int make_device(struct netlink *host, int ns, const struct wiring *w, uint32_t mtu,
                       struct err *err)
{
    struct ifinfomsg i = {.ifi_family = AF_UNSPEC};
    uint16_t port = htons(WALL_GANG_PORT);
    uint8_t mac[6];
    int rc = netlink_begin(host, NETLINK_DO(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL), &i,
                           sizeof(i), "make the gang's link", err);
    if (rc < 0) return rc;
    netlink_put_text(host, IFLA_IFNAME, WIRING_GANG_LINK);
    /* Made in the container's namespace at once: its packets still use the machine's
     * network, and there is no moment in which it could be left behind here. */
    netlink_put_u32(host, IFLA_NET_NS_FD, (uint32_t)ns);
    netlink_put_u32(host, IFLA_MTU, mtu - VXLAN_OVERHEAD);
    wiring_mac(ROUTE_MAC_GANG, wiring_gang_addr(w->member), mac);
    netlink_put(host, IFLA_ADDRESS, mac, sizeof(mac));
    size_t info = netlink_nest(host, IFLA_LINKINFO, NULL, 0);
    netlink_put_text(host, IFLA_INFO_KIND, "vxlan");
    size_t data = netlink_nest(host, IFLA_INFO_DATA, NULL, 0);
    netlink_put_u32(host, IFLA_VXLAN_ID, w->vni);
    netlink_put(host, IFLA_VXLAN_PORT, &port, sizeof(port));
    netlink_put_u8(host, IFLA_VXLAN_LEARNING, 0);
    netlink_put_u8(host, IFLA_VXLAN_UDP_CSUM, 1);
    netlink_put_u8(host, VXLAN_LOCALBYPASS, 0);
    netlink_nest_end(host, data);
    netlink_nest_end(host, info);
    netlink_end(host);
    return netlink_flush(host, err);
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
               uint32_t mtu, struct err *err)
{
    uint32_t index = 0;
    uint8_t mac[6];
    int rc = make_device(host, ns, w, mtu, err);
    if (rc == 0) rc = netlink_find(in, WIRING_GANG_LINK, &index, NULL, err);
    if (rc == 0)
        rc = route_addr(in, index, wiring_gang_addr(w->member), GANG_PREFIX, err);
    if (rc == 0) rc = route_up(in, index, err);
    for (uint32_t i = 0; i < w->peers.n && rc == 0; i++) {
        const struct wiring_peer *e = &w->peers.v[i];
        struct in_addr addr = wiring_gang_addr(e->member);
        wiring_mac(ROUTE_MAC_GANG, addr, mac);
        rc = put_place(in, index, e, mac, err);
        if (rc == 0) rc = route_neighbour(in, index, addr, mac, err);
    }
    return rc < 0 ? rc : netlink_flush(in, err);
}
