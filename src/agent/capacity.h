/* agent/capacity.h - how much of this machine sessions may have.
 *
 * What the kernel lets this process use (affinity, its own cgroups' limits),
 * less a reserve for the machine itself.  docs/spec/node.md, "Capacity" */
#ifndef AGENT_CAPACITY_H
#define AGENT_CAPACITY_H
#include "agent/config.h"

struct capacity { int64_t cpu_milli, mem_bytes; };

/* proc and cgroup are "/proc" and "/sys/fs/cgroup", others in tests; cpus is the
 * number in our affinity mask. */
int capacity_measure(const char *proc, const char *cgroup, uint32_t cpus, struct capacity *ret,
                     struct err *err);
/* What is offered: configured amounts, else `have` less the reserve.  ERR_INVALID
 * when nothing would be left. */
int capacity_offer(const struct capacity *have, const struct agent_config *c,
                   struct capacity *ret, struct err *err);
uint32_t capacity_cpus(void); /* in this process's affinity mask */
int capacity_boot_id(const char *proc, char ret[40], struct err *err);

#endif
