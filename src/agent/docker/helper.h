/* agent/docker/helper.h - `rotad engine`: what a container's supervisor runs where it would
 * run a runtime, and what asks the engine for it.
 *
 *     rotad engine --socket=PATH --log=FILE create NAME
 *     rotad engine --socket=PATH --log=FILE state NAME
 *     rotad engine --socket=PATH --log=FILE exec --process=FILE --pid-file=FILE
 *                  [--console-socket=FILE] NAME
 *
 * A process of its own, in the container's directory of the agent: an engine that hangs
 * holds up one container.  Failures go to --log, one line.  docs/spec/node.md, "Engines" */
#ifndef AGENT_DOCKER_HELPER_H
#define AGENT_DOCKER_HELPER_H
#include "base/err.h"

struct helper_opts {
    const char *socket, *log, *process, *pid_file, *console, *name;
};

int helper_main(int argc, char **argv);

int helper_exec(const struct helper_opts *o, int *ret_code, struct err *err);
/* One line "PATH" of /proc/PID/cgroup and the mounts, into the groups of exactly this
 * container: what does not carry its id in the path is left out. */
struct cgroup_set;
int helper_groups(const char *mountinfo, const char *membership, const char *id,
                  struct cgroup_set *ret, struct err *err);

#endif
