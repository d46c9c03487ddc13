/* agent/cgroup.h - makes a container's control groups and sets their limits.
 *
 * Ours alone: the runtime is told to leave control groups be.  On every
 * hierarchy CTRL/PARENT/TAG/NAME, where TAG stands for the state directory, so
 * that two agents on one machine never touch each other's.  PARENT is /rota, or
 * a group that somebody else keeps for us: a unit of systemd with Delegate=yes,
 * which is then the only one to write above it.  docs/spec/node.md */
#ifndef AGENT_CGROUP_H
#define AGENT_CGROUP_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "host/cgroup.h"

#define CGROUP_PARENT "/rota"

struct cgroup_host {
    struct cgroup_set parent; /* CTRL/PARENT/TAG of each hierarchy */
    char under[CGROUP_PATH];  /* PARENT */
    /* Where supervisors go once their container runs, so that no unit holds them whose end
     * they must outlive: CTRL/PARENT/TAG/supervisors of the hierarchy by which processes are
     * told apart (version 2, or name=systemd), or "". */
    char supervisors[CGROUP_PATH];
    bool hybrid;              /* version 1, with version 2 mounted beside */
    char hide[CGROUP_PATH];   /* where version 2 is mounted beside, or "" */
};

#define CGROUP_DEVICES 128

struct cgroup_device { bool block; uint32_t major, minor; char access[4]; }; /* of r, w, m */
struct cgroup_limits {
    int64_t cpu_milli;
    int64_t mem_bytes;
    uint32_t pids_max;
    /* "0-15,32-47" and "0", or "": any.  Welcome: what cannot be had is as the parent has it. */
    char cpus[512], mems[64];
    uint32_t n_devices; /* beside those that all have */
    struct cgroup_device devices[CGROUP_DEVICES];
};

/* Finds the hierarchies and makes the parents.  under: PARENT, "/" and names; "": /rota.
 * Deeper than one name it must exist already: ERR_NOT_FOUND says whose it is. */
int cgroup_host_open(const char *state_dir, const char *under, struct cgroup_host *ret,
                     struct err *err);
/* As cgroup_host_open on a given table of mounts, without touching anything. */
int cgroup_host_parse(const char *mountinfo, const char *under, const char *tag,
                      struct cgroup_host *ret, struct err *err);
/* Whether this may be PARENT: absolute, plain, short. */
bool cgroup_parent_good(const char *under);
/* Makes the parents again where somebody has removed them, being empty. */
int cgroup_host_make(const struct cgroup_host *h, struct err *err);
/* Removes CTRL/rota/TAG where it is empty. */
void cgroup_host_remove(const struct cgroup_host *h);

/* Where the groups of a container are or would be.  ERR_LIMIT: path too long. */
int cgroup_of(const struct cgroup_host *h, const char *name, struct cgroup_set *ret,
              struct err *err);
/* All or nothing.  ERR_NOT_FOUND: the parents are gone. */
int cgroup_make(const struct cgroup_set *s, const struct cgroup_limits *limits, struct err *err);
/* Calls found() for each container that has any group here. */
void cgroup_each(const struct cgroup_host *h, void (*found)(void *arg, const char *name),
                 void *arg);
/* From outside: whether a process is in these groups, in all that limit anything. */
bool cgroup_holds(const struct cgroup_host *h, const char *name, int64_t pid);
/* Whether containers may be kept to some processors here. */
bool cgroup_host_pins(const struct cgroup_host *h);
const char *cgroup_host_text(const struct cgroup_host *h); /* "cgroups v1 (hybrid)" */

#endif
