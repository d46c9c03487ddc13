/* agent/netns/addr_pool.h - addresses of containers, for the whole machine.
 *
 * Several agents may live on one machine and share its interfaces, so an address
 * is taken for all of them: a symbolic link DIR/ip/A.B.C.D that points to the
 * container's directory.  Making it is one step, whole or not at all; one whose
 * container's directory is gone belongs to nobody, and whoever finds no free address
 * collects those first.  docs/spec/node.md, "Network" */
#ifndef AGENT_NETNS_ADDR_POOL_H
#define AGENT_NETNS_ADDR_POOL_H
#include <netinet/in.h>
#include <stdint.h>
#include "base/err.h"

#define ADDR_POOL_DIR "/run/rota/net"
#define ADDR_POOL_FIRST 0xC6130002u /* 198.19.0.2: of a block that is for tests of networks */
#define ADDR_POOL_SIZE 65000u

struct addr_pool {
    int dir;            /* DIR/ip */
    int lock;           /* DIR/lock: held while links are made and collected */
    uint32_t first, size; /* host order */
    uint32_t next;        /* where the next search begins, kept under the lock */
};

int addr_pool_open(const char *dir, struct addr_pool *ret, struct err *err);
void addr_pool_close(struct addr_pool *p);
/* An address for the container with the directory `owner` (absolute).
 * ERR_UNAVAILABLE: all are taken. */
int addr_pool_take(struct addr_pool *p, const char *owner, struct in_addr *ret, struct err *err);
/* Gives it back, if it is still that container's. */
void addr_pool_give(struct addr_pool *p, const char *owner, struct in_addr addr);
/* Removes every link whose container's directory is gone. */
void addr_pool_collect(struct addr_pool *p);
/* How many are taken, by anybody. */
uint32_t addr_pool_taken(const struct addr_pool *p);

#endif
