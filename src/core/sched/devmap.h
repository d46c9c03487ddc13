/* core/sched/devmap.h - which devices of a node. */
#ifndef CORE_SCHED_DEVMAP_H
#define CORE_SCHED_DEVMAP_H
#include <stdint.h>

/* `count` devices out of the mask `free`, which has as many (CHECK).  Lowest
 * index first: links between devices are not known. */
uint32_t devmap_pick(uint32_t free, uint32_t count);

#endif
