/* agent/netns/wall.h - what containers may send through the machine: one fixed table.
 *
 * Loaded once when an agent starts and never touched for a container: its rules go by
 * the prefix of interface names.  From a container the outside is reached, by the
 * machine's address; neither the machine, nor another container, nor link-local
 * addresses, nor the port that carries gangs' packets.  Nobody reaches a container
 * unasked.  docs/spec/node.md, "Network" */
#ifndef AGENT_NETNS_WALL_H
#define AGENT_NETNS_WALL_H
#include <stdbool.h>
#include "base/err.h"

#define WALL_PREFIX "rb"   /* of the machine's ends of containers' links */
#define WALL_TABLE "rota_walls"
#define WALL_GANG_PORT 7414 /* UDP: gangs' packets between nodes */

/* Loads the table in this network namespace, in one transaction.  ERR_UNSUPPORTED: nft
 * is not here, or refuses. */
int wall_load(struct err *err);
/* Whether packets are passed on; *ret_set: it had to be set now.  `dir` gets a note that
 * it was us, for wall_remove. */
int wall_forward(int dir, bool *ret_set, struct err *err);
/* Removes the table, and forwarding where the note says that we set it. */
int wall_remove(int dir, struct err *err);

#endif
