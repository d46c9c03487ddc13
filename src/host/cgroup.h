/* host/cgroup.h - the control groups of one container: enter, read, kill, remove.
 *
 * Version 1 (also hybrid): one directory per hierarchy, entered by the single
 * thread that writes "0" to each `tasks`: writing cgroup.procs would wait for a
 * grace period of the kernel, 10 to 15 ms.  Version 2: one directory, entered by
 * clone3(CLONE_INTO_CGROUP) for the same reason.
 * Who makes them and sets their limits is the agent.  docs/spec/node.md */
#ifndef HOST_CGROUP_H
#define HOST_CGROUP_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/err.h"

#define CGROUP_MAX 16
#define CGROUP_PATH 256

enum cgroup_version { CGROUP_NONE = 0, CGROUP_V1, CGROUP_V2 };

struct cgroup_set {
    enum cgroup_version version;
    uint32_t n;
    struct cgroup_at {
        char name[32];         /* controllers as the mount names them: "cpu,cpuacct" */
        char dir[CGROUP_PATH]; /* of this container */
    } at[CGROUP_MAX];
};

/* The directory that holds a version 1 controller, or the only one of version 2. */
const char *cgroup_dir(const struct cgroup_set *s, const char *controller);

/* fork() whose child is inside: 0 in the child, the pid in the parent, or a
 * code.  With version 1 the child has still to call cgroup_enter. */
pid_t cgroup_fork(const struct cgroup_set *s, struct err *err);
/* Version 1: moves the calling, single thread.  Version 2: nothing to do. */
int cgroup_enter(const struct cgroup_set *s, struct err *err);

struct cgroup_usage { /* -1: not known */
    int64_t mem_peak_bytes, cpu_us, oom_kills;
};
void cgroup_read(const struct cgroup_set *s, struct cgroup_usage *ret);

enum cgroup_live { CGROUP_LIVE_UNKNOWN = 0, CGROUP_EMPTY, CGROUP_LIVING };
/* Whether any process is left; an absent group is empty. */
enum cgroup_live cgroup_living(const struct cgroup_set *s);
/* Kills until nothing is left, frozen processes too. */
int cgroup_kill(const struct cgroup_set *s, int64_t timeout_ms, struct err *err);
/* Removes the directories; absent is fine.  Goes on and reports the first failure. */
int cgroup_remove(const struct cgroup_set *s, struct err *err);

#endif
