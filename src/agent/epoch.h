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

#endif
