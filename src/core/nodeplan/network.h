/* core/nodeplan/network.h - what a container may reach.  docs/spec/node.md, "Network" */
#ifndef CORE_NODEPLAN_NETWORK_H
#define CORE_NODEPLAN_NETWORK_H

enum network_mode {
    NETWORK_DEFAULT = 0, /* nothing was said: outbound where the node can, else none */
    NETWORK_OUTBOUND,    /* out, by its node's address; nobody reaches it */
    NETWORK_NONE,        /* loopback, and the other members of its gang */
    NETWORK_HOST,        /* the node's own network, where its group allows that */
    NETWORK_MODES
};

#endif
