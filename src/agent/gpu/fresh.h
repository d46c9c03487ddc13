/* agent/gpu/fresh.h - keeps what is known of vendors' files on this machine up to date.
 *
 * Read once before anything runs, then on a worker every FRESH_MS: a driver that is
 * installed or a CDI file that is made anew counts without a restart.
 * docs/spec/node.md, "Devices in a container" */
#ifndef AGENT_GPU_FRESH_H
#define AGENT_GPU_FRESH_H
#include "agent/gpu/inject.h"
#include "net/loop.h"

#define FRESH_MS 10000
#define FRESH_HOOKS 16

struct fresh;
/* hooks: paths separated by ':', or "".  On success it owns an inject that has read once. */
int fresh_new(struct net_loop *loop, const char *hooks, struct fresh **ret, struct err *err);
void fresh_free(struct fresh *f); /* NULL is fine; waits for a reading under way */
struct inject *fresh_inject(struct fresh *f);

#endif
