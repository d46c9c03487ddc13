/* agent/netns/vxlan.h - the network of one gang, as one member sees it.
 *
 * Each member has a device of its own with a number (VNI) of its own; where the others
 * are is written into it, so nothing is learned, flooded or asked for.  Its packets
 * leave through the machine's network, the device itself lives in the container's.
 * docs/spec/node.md, "Network" */
#ifndef AGENT_NETNS_VXLAN_H
#define AGENT_NETNS_VXLAN_H
#include "agent/netns/netlink.h"
#include "agent/netns/wiring.h"

#define VXLAN_OVERHEAD 50 /* outer Ethernet's share, IPv4, UDP, VXLAN, inner Ethernet */

struct vxlan_way {
    uint32_t mtu; /* of the device that packets leave by */
    bool bridged; /* behind a bridge: before Linux 6.5, see vxlan.c */
};

/* ERR_CONFLICT: its number is taken on this machine; ERR_UNSUPPORTED: no such devices
 * here. */
int vxlan_make(struct netlink *host, struct netlink *in, int ns, const struct wiring *w,
               struct vxlan_way way, struct err *err);
/* What is left of an earlier one. */
int vxlan_remove(struct netlink *in, struct err *err);

#endif
