/* agent/netns/netns.h - the network of this node's containers.
 *
 * What the node can do is learned once, when the driver starts.  A container is wired
 * after the runtime made its namespaces and before the barrier opens; everything that
 * is made goes with its namespace, but for its address, which is given back when it is
 * proved gone.  Workers call these; docs/spec/node.md, "Network" */
#ifndef AGENT_NETNS_NETNS_H
#define AGENT_NETNS_NETNS_H
#include <pthread.h>
#include <stdbool.h>
#include "agent/netns/addr_pool.h"
#include "agent/netns/wiring.h"
#include "base/err.h"

struct netns_config {
    bool on;                /* false: containers have loopback alone */
    const char *run_dir;    /* NULL: ADDR_POOL_DIR */
    char net_addr[48];      /* where other nodes reach this one, or "" */
};

struct netns_node {
    bool on;
    bool outbound, gangs;   /* what this node can do */
    bool near;              /* ... also between members of a gang on this very machine */
    bool bridged;           /* ... by a bridge in each, see vxlan.c */
    char note[96];          /* for the node's facts: what it cannot, and why; or "" */
    int run;                /* the run directory */
    int users;              /* a lock that all agents of the machine share while they live */
    struct addr_pool pool;
    pthread_mutex_t lock;   /* of the pool: a lock on a file does not hold threads apart */
    struct in_addr addr;    /* net_addr; 0: none */
    bool forwarding;        /* under the lock: looked after once */
};

/* Never fails: what cannot be had is noted. */
void netns_open(const struct netns_config *c, struct netns_node *ret);
void netns_close(struct netns_node *n);

/* Removes what agents set on this machine, when none lives and no container is left.
 * run_dir as in the configuration. */
int netns_purge(const char *run_dir, struct err *err);

/* Whether a wiring can be kept here; err says why not, for the user. */
int netns_check(const struct netns_node *n, const struct wiring *w, struct err *err);
/* Wires the container whose process 1 is `pidfd`, as the file in its directory `dir`
 * says; `path` is that directory's.  Repeatable: what an earlier agent began is replaced.
 * On failure nothing is left. */
int netns_attach(struct netns_node *n, int dir, const char *path, int pidfd, struct err *err);
/* The container is gone: gives back what it held. */
void netns_release(struct netns_node *n, int dir, const char *path);

#endif
