/* agent/netns/wiring.h - how one container is to be wired, and its file.
 *
 * Made from what the manager said, kept in the container's directory until it is
 * cleaned: an agent that comes back before the barrier opened wires it again.
 * docs/spec/node.md, "Network" */
#ifndef AGENT_NETNS_WIRING_H
#define AGENT_NETNS_WIRING_H
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/nodeplan/network.h"

#define WIRING_MEMBERS_MAX 512
#define WIRING_BYTES_MAX 32768 /* of the file */
#define WIRING_GANG_LINK "rota0"

struct wiring_peer {
    uint32_t member;
    struct in_addr node; /* where its node is reached */
    uint32_t vni;
};
struct wiring { /* zeroed: loopback alone */
    enum network_mode mode;
    struct in_addr addr;      /* outbound: its own; 0: none taken */
    uint32_t member, members; /* members > 1: a gang */
    uint32_t vni;             /* its own, 24 bits */
    uint16_t port;            /* host, member 0: where the others meet it; 0: none */
    VEC(struct wiring_peer) peers; /* the others, by member */
};
void wiring_done(struct wiring *p);
void wiring_copy(const struct wiring *from, struct wiring *to);

/* The number of a member's network: any two that are alive at the same time on one
 * machine differ, but for chance.  Another attempt gets another. */
uint32_t wiring_vni(const char *incarnation, uint64_t session, uint32_t attempt, uint32_t member);
/* In the gang's own network: 198.18.x.y by member number, and a MAC of it. */
struct in_addr wiring_gang_addr(uint32_t member);
void wiring_mac(uint8_t kind, struct in_addr addr, uint8_t ret[6]);

int wiring_write(int dir, const struct wiring *p, struct err *err);
int wiring_read(int dir, struct wiring *ret, struct err *err); /* ERR_NOT_FOUND: loopback */

#endif
