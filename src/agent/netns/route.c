/* agent/netns/route.c - see route.h. */
#include "agent/netns/route.h"
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

int route_up(struct netlink *nl, uint32_t index, struct err *err)
{
    struct ifinfomsg i = {.ifi_family = AF_UNSPEC, .ifi_index = (int)index, .ifi_flags = IFF_UP,
                          .ifi_change = IFF_UP};
    int rc = netlink_begin(nl, RTM_NEWLINK, &i, sizeof(i), "bring a link up", err);
    if (rc == 0) netlink_end(nl);
    return rc;
}

int route_addr(struct netlink *nl, uint32_t index, struct in_addr addr, uint8_t prefix,
               struct err *err)
{
    struct ifaddrmsg a = {.ifa_family = AF_INET, .ifa_prefixlen = prefix, .ifa_index = index};
    int rc = netlink_begin(nl, NETLINK_DO(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE), &a,
                           sizeof(a), "set an address", err);
    if (rc < 0) return rc;
    netlink_put(nl, IFA_LOCAL, &addr, sizeof(addr));
    netlink_put(nl, IFA_ADDRESS, &addr, sizeof(addr));
    netlink_end(nl);
    return 0;
}

int route_neighbour(struct netlink *nl, uint32_t index, struct in_addr addr, const uint8_t mac[6],
                    struct err *err)
{
    struct ndmsg d = {.ndm_family = AF_INET, .ndm_ifindex = (int)index,
                      .ndm_state = NUD_PERMANENT};
    int rc = netlink_begin(nl, NETLINK_DO(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE), &d,
                           sizeof(d), "name a neighbour", err);
    if (rc < 0) return rc;
    netlink_put(nl, NDA_DST, &addr, sizeof(addr));
    netlink_put(nl, NDA_LLADDR, mac, 6);
    netlink_end(nl);
    return 0;
}

static int add_route(struct netlink *nl, const struct rtmsg *r, uint32_t index, const char *what,
                     struct err *err)
{
    int rc = netlink_begin(nl, NETLINK_DO(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE), r,
                           sizeof(*r), what, err);
    if (rc == 0) netlink_put_u32(nl, RTA_OIF, index);
    return rc;
}

int route_on_link(struct netlink *nl, uint32_t index, struct in_addr to, uint8_t prefix,
                  struct err *err)
{
    struct rtmsg r = {.rtm_family = AF_INET, .rtm_dst_len = prefix, .rtm_table = RT_TABLE_MAIN,
                      .rtm_protocol = RTPROT_STATIC, .rtm_scope = RT_SCOPE_LINK,
                      .rtm_type = RTN_UNICAST};
    int rc = add_route(nl, &r, index, "set a route to a neighbour", err);
    if (rc < 0) return rc;
    netlink_put(nl, RTA_DST, &to, sizeof(to));
    netlink_end(nl);
    return 0;
}

int route_default(struct netlink *nl, uint32_t index, struct in_addr gateway, struct err *err)
{
    struct rtmsg r = {.rtm_family = AF_INET, .rtm_table = RT_TABLE_MAIN,
                      .rtm_protocol = RTPROT_STATIC, .rtm_scope = RT_SCOPE_UNIVERSE,
                      .rtm_type = RTN_UNICAST};
    int rc = add_route(nl, &r, index, "set the way out", err);
    if (rc < 0) return rc;
    netlink_put(nl, RTA_GATEWAY, &gateway, sizeof(gateway));
    netlink_end(nl);
    return 0;
}
