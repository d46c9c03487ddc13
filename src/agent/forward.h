/* agent/forward.h - bytes to and from a port that a container listens on.
 *
 * The agent's own thread steps into the container's network for the moment in which a
 * socket is made, and connects to 127.0.0.1 there; nothing is opened on the machine.
 * Only when somebody inside has accepted is the client's request upgraded, so that a port
 * where nobody listens is an answer and not a broken stream.  docs/spec/node.md, "Carry" */
#ifndef AGENT_FORWARD_H
#define AGENT_FORWARD_H
#include "agent/driver.h"
#include "net/http_server.h"

struct forward_host { /* what every forward of a node shares */
    struct net_loop *loop;
    const struct driver *driver;
    uint32_t live;
    struct forward *first;
};

/* Owns the request from now on. */
void forward_start(struct forward_host *h, struct http_req *r, struct member_ref ref,
                   uint16_t port);
void forward_changed(struct forward_host *h); /* the driver's list did */
void forward_end_all(struct forward_host *h); /* at once */

#endif
