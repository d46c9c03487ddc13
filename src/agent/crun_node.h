/* agent/crun_node.h - what all containers of this node have in common.
 *
 * Learned when the driver starts and only read afterwards, so that workers may
 * use it without a lock.  docs/spec/node.md */
#ifndef AGENT_CRUN_NODE_H
#define AGENT_CRUN_NODE_H
#include <stdbool.h>
#include <sys/types.h>
#include "agent/bundle.h"
#include "agent/cgroup.h"
#include "agent/image/store.h"
#include "agent/netns/netns.h"
#include "agent/rootfs.h"
#include "base/err.h"
#include "host/memo.h"
#include "host/proc.h"

struct docker_host;

struct crun_node {
    struct docker_host *docker; /* who makes the containers, or NULL: we, with crun */
    char state_dir[192];
    char shim[MEMO_PATH], crun[MEMO_PATH], crun_root[MEMO_PATH];
    char boot_id[PROC_BOOT_ID];
    int containers, logs, runtime; /* descriptors of the directories */
    int64_t log_keep_bytes;
    _Atomic int64_t *kept_bytes; /* of all kept logs; workers add, and look only when over */
    struct netns_node *net;        /* of all containers; never NULL once open */
    struct cgroup_host cgroups;
    struct rootfs_host rootfs;
    struct image_store images;
    int64_t disk_bytes;  /* what each may write when the session says nothing; 0: no limit */
    struct bundle_host bundle;
    struct strbuf filter, filter_json;
    bool slow; /* the probe asked for the runtime's documented way */
};

int crun_node_open(const struct driver_config *config, struct crun_node *n, struct err *err);
void crun_node_close(struct crun_node *n);
/* Switches to the documented way: the filter as JSON, the runtime's own start. */
void crun_node_slow(struct crun_node *n);

/* A supervisor or helper.  Its pidfd, or a code. */
struct crun_spawn {
    const char *mode; /* of rota-shim */
    int dir;          /* it works there */
    int fd3, fd4;     /* its descriptors 3 and 4; fd4 may be -1 */
};
int crun_node_spawn(const struct crun_node *n, const struct crun_spawn *s, pid_t *ret_pid,
                    struct err *err);
/* A connection to the supervisor of that directory, non-blocking. */
int crun_node_connect(int dir, struct err *err);
/* The lock of a container's directory: its descriptor, or ERR_CONFLICT while a
 * supervisor (or the child that is about to become one) lives. */
int crun_node_lock(int dir, struct err *err);

#endif
