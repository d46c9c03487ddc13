/* agent/epoch.h - one agent per directory, and how often it has started.
 *
 * The start count is durable before anything is sent: what an earlier agent of this
 * node may still say on a slow connection carries a lower one and is ignored. */
#ifndef AGENT_EPOCH_H
#define AGENT_EPOCH_H
#include <stdint.h>
#include "base/err.h"

/* Takes DIR/lock for as long as the process lives and raises DIR/epoch by one.
 * ERR_CONFLICT: another agent runs here.  *ret_lock is never closed. */
int epoch_begin(const char *dir, uint64_t *ret_epoch, int *ret_lock, struct err *err);
/* An agent of this node's name counted up to `last` in a directory that is no more:
 * *epoch is raised above it, durably first, where it is not above yet. */
int epoch_after(const char *dir, uint64_t last, uint64_t *epoch, struct err *err);

#endif
