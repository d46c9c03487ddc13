/* agent/netns/veth.h - a pair of links: one end in the machine, one in a container.
 *
 * Neither end asks for anybody's address: both know each other's MAC, so that no ARP
 * passes and the machine's end needs no address.  The pair goes with the container's
 * namespace.  docs/spec/node.md, "Network" */
#ifndef AGENT_NETNS_VETH_H
#define AGENT_NETNS_VETH_H
#include <net/if.h>
#include <netinet/in.h>
#include "agent/netns/netlink.h"

#define VETH_INSIDE "eth0"

void veth_name(struct in_addr addr, char ret[IFNAMSIZ]); /* of the machine's end */
/* host: speaks for the machine's namespace, in: for the one of the container. */
int veth_make(struct netlink *host, struct netlink *in, int ns, struct in_addr addr,
              struct err *err);

#endif
