/* agent/prepare.h - from a claim to a living supervisor, or back.
 *
 * Built on the loop, run on a worker.  What fails undoes what was done, in
 * reverse, goes on through further failures and reports the first.
 * docs/spec/node.md */
#ifndef AGENT_PREPARE_H
#define AGENT_PREPARE_H
#include "agent/crun_node.h"
#include "agent/driver.h"
#include "agent/image/manifest.h"

struct prepare {
    const struct crun_node *node;
    struct memo_conf conf;
    struct cgroup_limits limits;
    struct strbuf config; /* of the runtime */
    struct image_record image; /* its layers; none: the host */
    int64_t disk_bytes;   /* most that it may write; 0: not limited */
    bool probe;           /* put a device there that nobody may open */
    uint32_t uid, gid;
    char home[MEMO_PATH], workdir[MEMO_PATH], hostname[65];
    bool wired;                   /* it has a network */
    struct wiring wiring;
    struct strbuf hosts, hostfile;
    /* results */
    int sock, pidfd; /* the first connection, and the supervisor */
    pid_t pid;
};

/* Whether this can ever run here: if not, err says why, for the user. */
int prepare_check(const struct crun_node *node, const struct container_spec *spec,
                  struct err *err);
/* dir: of the claim; takes the environment down there. */
int prepare_init(struct prepare *p, const struct crun_node *node,
                 const struct container_spec *spec, int dir, struct err *err);
void prepare_done(struct prepare *p);
/* dir as above.  On failure nothing but the claim is left. */
int prepare_run(struct prepare *p, int dir, struct err *err);
/* A new supervisor for a container that lost its own; same results. */
int prepare_resume(struct prepare *p, const struct crun_node *node, int dir, struct err *err);

#endif
