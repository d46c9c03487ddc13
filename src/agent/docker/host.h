/* agent/docker/host.h - the engine of this node, as the docker driver knows it.
 *
 * Whether it answers, which it is and whether it keeps its promises is found out on a worker
 * (watch.h): until then nothing is created.  docs/spec/node.md, "Engines" */
#ifndef AGENT_DOCKER_HOST_H
#define AGENT_DOCKER_HOST_H
#include "agent/crun_node.h"
#include "agent/docker/api.h"
#include "agent/docker/spec.h"
#include "agent/driver.h"


struct docker_host {
    char socket[MEMO_PATH]; /* path */
    char helper[MEMO_PATH]; /* rotad */
    char filter[MEMO_PATH]; /* our system call filter as a file */
    char tag[16];           /* of this agent, in the names of its containers */
    _Atomic int kind;       /* enum docker_kind, of the one that answered last */
    _Atomic bool ready;     /* it answers, and its promises were seen kept */
    uint64_t nofile, nproc;
};

/* config->docker_socket: "unix:///path".  Talks to nobody yet. */
int docker_host_open(const struct driver_config *config, struct docker_host **ret,
                     struct err *err);
/* Writes the filter down, once the node has its directories. */
int docker_host_files(struct docker_host *h, const struct crun_node *n, struct err *err);
void docker_host_free(struct docker_host *h); /* NULL is fine */

/* ---- one member ---- */

/* Whether its image can ever work here. */
int docker_check(const struct container_spec *s, struct err *err);
/* The engine's part of its files: `image` now, the rest as text for bundle/config.json. */
int docker_config(const struct crun_node *n, enum docker_kind kind, const struct container_spec *s,
                  int dir, struct strbuf *b, struct err *err);
/* The engine's word that nothing of it is left, or ERR_UNAVAILABLE. */
int docker_bury(const struct crun_node *n, const char *name, struct err *err);
/* Removes containers of this agent that no claim knows.  Their number, or a code. */
int docker_sweep(const struct crun_node *n, struct err *err);

#endif
