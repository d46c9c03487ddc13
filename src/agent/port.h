/* agent/port.h - the data port: where proxies reach into this node's containers.
 *
 * TLS with a certificate of the cluster on both sides; the peer must be a proxy and
 * show a ticket that the manager signed for one container of this node.  Bytes of
 * logs, exec, attach and ports pass here and never through the manager.
 * docs/spec/proxy.md */
#ifndef AGENT_PORT_H
#define AGENT_PORT_H
#include "agent/act.h"
#include "enrol/identity.h"
#include "net/loop.h"

struct tls_ctx;
struct port;

struct port_opts {
    const char *listen;
    struct tls_ctx *tls;      /* with required client certificates */
    const struct driver *driver;
    struct act *act;
    struct identity identity; /* whose tickets, which node */
};

struct port *port_new(struct net_loop *loop, const struct port_opts *o, struct err *err);
void port_free(struct port *p); /* NULL is fine */
struct str port_addr(const struct port *p); /* where it really listens */
/* The driver's list changed: somebody may be waiting for it. */
void port_changed(struct port *p);

#endif
