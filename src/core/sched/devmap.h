/* core/sched/devmap.h - which devices of a node.
 *
 * docs/spec/node.md, "Topology" */
#ifndef CORE_SCHED_DEVMAP_H
#define CORE_SCHED_DEVMAP_H
#include <stdint.h>
#include "core/model/linkmap.h"

/* `count` devices out of the mask `free`, which has as many (CHECK).  Of all such sets the
 * one whose worst pair is best; of these the one with the most bandwidth inside; of these
 * the one that leaves most bandwidth among the devices left free; of these the lowest
 * indexes.  `links` is the node's map (core/model/linkmap.h); an empty one, or one in which
 * all free pairs are alike, gives the lowest indexes at once. */
uint32_t devmap_pick(const char *links, uint32_t free, uint32_t count);
/* What a pair counts for in these sums: about GB/s in one direction. */
uint32_t devmap_weight(enum link_path path);

#endif
