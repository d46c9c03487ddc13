/* fakes/nvml/world.h - the world behind one call of the library.
 *
 *     int nvmlX(...) { return world_call("nvmlX", gpu, &call) ? ... }
 *
 * Every call looks first whether the scenario has changed. */
#ifndef FAKE_NVML_WORLD_H
#define FAKE_NVML_WORLD_H
#include "fake.h"

/* Enters a call: reads the scenario again, blocks for as long as it says that this call
 * hangs, and answers what it says the call answers.  0: go on, *ret is the world, held
 * until world_leave.  Else an error of the library; nothing is held. */
int world_enter(const char *call, int gpu, const struct fake **ret);
void world_leave(void);

/* The gpu behind a handle; -1: it is none. */
int world_gpu(const void *handle);
void *world_handle(uint32_t gpu);

/* The oldest Xid that is due and not told yet, of a gpu in `mask`.  Waits so long. */
bool world_next_xid(uint32_t mask, uint32_t timeout_ms, struct fake_xid *ret);

#endif
