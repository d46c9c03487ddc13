/* agent/netns/proof.h - whether the walls hold, seen from where a container would be.
 *
 * That the table was loaded does not say that it works: another one may accept first, a
 * kernel may lack a piece.  So before anybody gets a way out, two namespaces that are
 * wired as containers try what must not be possible.  docs/spec/node.md, "Network" */
#ifndef AGENT_NETNS_PROOF_H
#define AGENT_NETNS_PROOF_H
#include "agent/netns/addr_pool.h"

/* In the network namespace of the calling thread.  ERR_DENIED: what was reached that must
 * not be, or that nothing was sent and so nothing proved.  Leaves nothing. */
int proof_walls(struct addr_pool *pool, struct err *err);

#endif
