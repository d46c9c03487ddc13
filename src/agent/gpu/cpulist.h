/* agent/gpu/cpulist.h - sets of processors as the kernel writes them: "0-15,32-47".
 * docs/spec/node.md, "Devices in a container" */
#ifndef AGENT_GPU_CPULIST_H
#define AGENT_GPU_CPULIST_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPULIST_MAX 4096

struct cpulist { uint64_t word[CPULIST_MAX / 64]; };

/* False: not such a list, or a number beyond. */
bool cpulist_parse(const char *text, struct cpulist *ret);
/* False: does not fit; `ret` is "" then. */
bool cpulist_format(const struct cpulist *l, char *ret, size_t cap);
void cpulist_add(struct cpulist *l, const struct cpulist *more);
void cpulist_keep(struct cpulist *l, const struct cpulist *only);
uint32_t cpulist_count(const struct cpulist *l);
/* Of this process. */
void cpulist_own(struct cpulist *ret);

#endif
