/* agent/netns/route.h - addresses, neighbours and routes of a link, into a batch.
 * docs/spec/node.md, "Network" */
#ifndef AGENT_NETNS_ROUTE_H
#define AGENT_NETNS_ROUTE_H
#include <netinet/in.h>
#include <stdint.h>
#include "agent/netns/netlink.h"

enum route_mac { ROUTE_MAC_HOST = 0x10, ROUTE_MAC_INSIDE, ROUTE_MAC_GANG, ROUTE_MAC_PORT };

int route_up(struct netlink *nl, uint32_t index, struct err *err);
int route_addr(struct netlink *nl, uint32_t index, struct in_addr addr, uint8_t prefix,
               struct err *err);
int route_neighbour(struct netlink *nl, uint32_t index, struct in_addr addr, const uint8_t mac[6],
                    struct err *err);
int route_on_link(struct netlink *nl, uint32_t index, struct in_addr to, uint8_t prefix,
                  struct err *err);
int route_default(struct netlink *nl, uint32_t index, struct in_addr gateway, struct err *err);

#endif
