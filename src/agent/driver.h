/* agent/driver.h - the one interface behind which containers are made.
 *
 * A driver owns everything about its containers on this node: the durable
 * claim, the processes, cgroups, mounts, logs and the record of the end.  It is
 * asked for levels and reports levels: `list` tells all it knows at any time,
 * `on_change` only says that something in that list changed.  Every call may be
 * repeated; a call that asks for what already is does nothing.
 *
 * One thread, the agent's loop.  Calls return at once; slow work happens in
 * children and on the worker pool, and its result shows in `list`.
 * docs/spec/node.md */
#ifndef AGENT_DRIVER_H
#define AGENT_DRIVER_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "core/nodeplan/claim.h"
#include "host/cgroup.h"
#include "core/nodeplan/plan.h" /* struct member_ref, struct member_report */

struct net_loop;
struct net_conn;
struct grant; /* agent/gpu/grant.h */
struct wiring; /* agent/netns/wiring.h */
struct netns_config; /* agent/netns/netns.h */

/* What it takes to start one member.  Pointers are borrowed for the call. */
struct container_spec {
    struct member_ref ref;      /* session, attempt, member */
    char incarnation[33];       /* store incarnation that ordered it */
    const char *image;          /* "host", "oci:DIR[:TAG]", "docker://REFERENCE" */
    const char *const *argv;    /* NULL-terminated; empty: what the image says */
    const char *const *envp;    /* NULL-terminated "NAME=value", complete */
    uint32_t env_defaults;      /* the first of them: an image's own go before these */
    const char *workdir;        /* absolute inside the container, or NULL: the image's, or "/" */
    const char *hostname;
    uint32_t uid, gid;
    int64_t cpu_milli;          /* > 0 */
    int64_t mem_bytes;          /* > 0 */
    uint32_t pids_max;
    int64_t shm_bytes;
    int64_t disk_bytes;         /* most it may write to its root; 0: no limit, -1: the node's */
    int64_t limit_ms;           /* time limit from the start; 0: none */
    int64_t grace_ms;           /* SIGTERM to SIGKILL */
    int64_t fence_ms;           /* ends when nothing was answered for so long; 0: never */
    bool stdin_open, tty;
    struct claim claim;         /* what it holds of the node, as the manager counts */
    const struct grant *grant;  /* device nodes, mounts, processors; its variables are in envp
                                 * already.  NULL: nothing */
    const struct wiring *wiring; /* its network; NULL: loopback alone */
    const char *hosts;          /* lines of /etc/hosts that name its gang, or NULL */
    const char *hostfile;       /* the same for MPI, at /run/rota/hostfile, or NULL */
};

/* What the driver found out about this node's isolation, for the node's state. */
struct driver_facts {
    bool simulated; /* nothing really runs */
    bool proved;    /* a probe container saw every promise kept from inside */
    char note[160]; /* "cgroups v1; fast start", or what is slower or weaker and why */
};

/* Where the kernel accounts for one member. */
struct driver_place {
    struct cgroup_set groups;
    int64_t pid;    /* of its process 1, 0: not known */
    uint64_t start; /* its start time: a pid alone is used again */
};

/* Frames that reach a client are those of wire/carry.h. */
struct driver_ops {
    const char *name;
    void (*facts)(void *self, struct driver_facts *ret);
    /* The store incarnation that orders from now on; members of another are
     * listed as orphans.  Until it is known nothing is an orphan. */
    void (*set_incarnation)(void *self, const char *incarnation);
    /* What was sent at that instant of CLOCK_BOOTTIME has been answered; may be NULL: then a
     * spec with fence_ms is refused by `create`. */
    void (*answered)(void *self, int64_t sent_boot_ms);
    /* Claims durably and begins; from now on the member is in `list`.  An error
     * means nothing was begun and nothing is listed.  A request that can never
     * work here (an image this node does not know) is no error: it is listed as
     * FAILED and fatal, because that is what the manager must hear.
     * ERR_UNAVAILABLE: what lives here leaves no room; ask again when the list
     * has changed. */
    int (*create)(void *self, const struct container_spec *spec, struct err *err);
    void (*go)(void *self, struct member_ref ref);      /* opens the start barrier */
    /* TERM, grace, KILL.  Preempted: the job is told until when it may go on. */
    void (*stop)(void *self, struct member_ref ref, int64_t grace_ms, bool preempted);
    void (*signal)(void *self, struct member_ref ref, uint32_t no, int signum);
    /* The manager has committed the end (or never wanted it): remove all traces
     * but the logs.  Running members are killed first. */
    void (*clean)(void *self, struct member_ref ref);
    /* Fills the array that the caller frees with mem_free; sorted by ref. */
    uint32_t (*list)(void *self, struct member_report **ret);
    /* Of a member whose command runs; false: it does not, or nothing accounts for it.
     * NULL: never. */
    bool (*place)(void *self, struct member_ref ref, struct driver_place *ret);
    /* Where the member's log.SEQ files are, live or kept; false if none. */
    bool (*log_dir)(void *self, struct member_ref ref, char *ret_path, uint32_t cap);
    /* Runs a command inside a running member.  Takes the connection over and
     * speaks carry frames on it until the command has ended. */
    int (*exec)(void *self, struct member_ref ref, const char *const *argv, bool tty,
                struct net_conn *conn, struct err *err);
    /* Hands a client's stdin, resize and signal frames to a member started with
     * stdin_open or tty; output is read from the logs by the caller. */
    int (*attach_input)(void *self, struct member_ref ref, uint8_t frame, const void *data,
                        uint32_t n, struct err *err);
    /* Which devices may be claimed from now on; what lives keeps its own. */
    void (*set_devices)(void *self, uint32_t mask);
    void (*free)(void *self); /* leaves containers and supervisors running */
};

struct driver {
    const struct driver_ops *ops;
    void *self;
};

struct driver_config {
    const char *state_dir;  /* absolute, root-owned 0700; containers/, logs/ below */
    const char *shim_path;  /* rota-shim, static */
    const char *cgroup_parent; /* as cgroup_host_open takes it; NULL: /rota */
    const char *image_program; /* whose `image-fetch` fetches images; NULL: this one */
    const char *registry_auth; /* file with credentials, or NULL */
    const char *registries_insecure; /* without TLS: "host:port,host:port", or NULL */
    int64_t image_cache_bytes; /* 0: 50 GiB, or a quarter of the disk */
    int64_t disk_bytes;     /* most a container may write to its root unless it says so; 0: all */
    const char *docker_socket; /* docker driver: "unix:///path" */
    const char *helper_path;   /* docker driver: rotad, whose role `engine` talks to it */
    int64_t log_keep_bytes; /* kept logs of ended members */
    struct claim capacity;  /* of the node; cpu_milli 0: not bounded */
    int64_t late_ms;        /* after a stop's grace, until a supervisor counts as hung; 0: 10 s */
    const struct netns_config *net; /* NULL: containers have loopback alone */
    void (*on_change)(void *arg);
    void *arg;
};

/* Adopts what an earlier agent left before returning. */
int crun_driver_new(struct net_loop *loop, const struct driver_config *config,
                    struct driver *ret, struct err *err);
/* The same containers, made by Docker or Podman over their API.  Begins also while the
 * engine is away: what lives is adopted, and nothing is created until it has answered. */
int docker_driver_new(struct net_loop *loop, const struct driver_config *config,
                      struct driver *ret, struct err *err);
/* Containers that exist in memory and files alone, for tests and benchmarks:
 * argv[0] "sleep:MS" runs for MS milliseconds, "exit:N" ends with N, "fail" fails to start. */
int fake_driver_new(struct net_loop *loop, const struct driver_config *config,
                    struct driver *ret, struct err *err);

#endif
