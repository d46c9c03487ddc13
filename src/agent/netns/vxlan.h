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

/* mtu: of the device that packets leave by.  ERR_CONFLICT: its number is taken on this
 * machine; ERR_UNSUPPORTED: no such devices here. */
int vxlan_make(struct netlink *host, struct netlink *in, int ns, const struct wiring *w,
               uint32_t mtu, struct err *err);

#endif
