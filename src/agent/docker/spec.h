/* agent/docker/spec.h - what an engine is told about one container, as JSON.
 *
 * What is promised here is what bundle.h promises, as far as an engine can be asked for it:
 * namespaces of its own, no network, no capability, no new privileges, our system call
 * filter, limits of memory without swap, CPU and processes, no mount of the host but our init
 * and its socket.  docs/spec/node.md, "Engines" */
#ifndef AGENT_DOCKER_SPEC_H
#define AGENT_DOCKER_SPEC_H
#include "agent/docker/api.h"
#include "agent/driver.h"
#include "base/strbuf.h"
#include "host/memo.h"

#define DOCKER_SPEC_MAX (4 * 1024 * 1024)
#define DOCKER_LABEL_AGENT "rota.agent"
#define DOCKER_IMAGE_MAX 512
/* An image of ours that holds nothing: what runs there is mounted in.  Not for sessions.
   Podman knows no other tag of what it imports. */
#define DOCKER_PROBE "probe"
#define DOCKER_PROBE_TAG "rota/probe:latest"

/* Which kind of image is meant; *ret_ref is what is behind the prefix. */
enum docker_source { DOCKER_FROM_NOTHING = 0, DOCKER_FROM_REGISTRY, DOCKER_FROM_LAYOUT };
int docker_source_of(const char *image, enum docker_source *ret, const char **ret_ref,
                     struct err *err);

struct docker_frame { /* the same for every container of this node */
    enum docker_kind kind;
    const char *shim_path;
    const char *filter_json, *filter_path; /* one filter: Docker takes the text, Podman a path */
    uint64_t nofile, nproc;                /* what the agent itself may grant */
    const char *agent;                     /* the label's value: whose container it is */
};

/* ctl: the absolute path of the directory with the supervisor's socket.  The image is left
 * out: whoever creates the container puts the id of the one it has found in. */
int docker_spec(const struct docker_frame *f, const struct container_spec *s, const char *ctl,
                struct strbuf *b, struct err *err);
/* The spec with the image in it. */
void docker_spec_with_image(struct str spec, const char *image, struct strbuf *b);

struct docker_exec_spec {
    uint32_t uid, gid;
    const char *workdir; /* or NULL */
    const char *const *argv, *const *envp;
    bool tty;
};
int docker_exec_spec(const struct docker_exec_spec *s, struct strbuf *b, struct err *err);

/* The container's name in the engine: "rota-s17.1.0.TAG". */
void docker_name(struct member_ref ref, const char *tag, char ret[MEMO_NAME]);

#endif
