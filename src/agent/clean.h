/* agent/clean.h - the end of a container's traces.
 *
 * Each part may be repeated, and what is absent is fine.  Both run on a worker.
 * docs/spec/node.md */
#ifndef AGENT_CLEAN_H
#define AGENT_CLEAN_H
#include "agent/crun_node.h"

#define CLEAN_TRASH ".trash-"

/* Proves a container gone: kills its groups until empty, waits for its
 * supervisor to leave (or ends it), removes runtime state and groups, and writes
 * the record of its end if none is there.  Its directory stays.
 * ERR_UNAVAILABLE: not proved, nothing may be freed; anything else: it is gone,
 * though perhaps not all of its traces are. */
int clean_bury(const struct crun_node *n, const char *name, const char *why, struct err *err);
/* Buries it, keeps its logs, removes its directory; then keeps the kept logs
 * within their bytes. */
int clean_all(const struct crun_node *n, const char *name, struct err *err);
/* Where the groups of a container are: an engine's are known only to what was written down
 * when it was there, and are none before. */
int clean_groups(const struct crun_node *n, const char *name, struct cgroup_set *ret,
                 struct err *err);
/* What earlier agents left half done: trash, groups and runtime state of nobody. */
void clean_strays(const struct crun_node *n);
/* Removes the oldest directories of kept logs until all take at most that much, and
 * says how much they take.  Reads them all: not for every end. */
int clean_logs(int logs, int64_t keep_bytes, int64_t *ret_bytes, struct err *err);

#endif
