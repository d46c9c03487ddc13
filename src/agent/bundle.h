/* agent/bundle.h - the runtime's configuration of one container, as JSON.
 *
 * What is promised here: namespaces of its own, no capability, no new
 * privileges, the system call filter, hidden and read-only kernel files.
 * docs/spec/node.md */
#ifndef AGENT_BUNDLE_H
#define AGENT_BUNDLE_H
#include "agent/driver.h"
#include "agent/rootfs.h"
#include "base/strbuf.h"

#define BUNDLE_MAX (4 * 1024 * 1024)
#define BUNDLE_INIT "/run/rota-init" /* where the container finds its process 1 */

struct bundle_host { /* the same for every container of this node */
    const char *shim_path;
    const struct rootfs_host *rootfs;
    const char *filter_base64; /* or NULL: filter_json */
    const char *filter_json;
    uint64_t nofile;           /* open files: what the agent itself may grant */
    uint64_t memlock;          /* locked memory of those that need it: the same */
};

/* `root` is the absolute path of the root file system once mounted. */
int bundle_config(const struct bundle_host *h, const struct container_spec *spec,
                  const char *root, struct strbuf *b, struct err *err);
/* Directories that root alone can replace in every image: there a runtime may go itself. */
bool bundle_is_ours(const char *dir);
/* The command, behind what brings it to any other directory: the rest of an open list, and its
 * bracket. */
void bundle_command(struct strbuf *b, const char *workdir, const char *const *argv);
/* The process of `exec`: as the container's own, with another command. */
struct bundle_process {
    uint32_t uid, gid;
    const char *workdir;
    const char *const *argv;
    const char *const *envp;
    bool tty;
    const struct grant *grant; /* groups, locked memory; or NULL */
};
int bundle_exec(const struct bundle_host *h, const struct bundle_process *p, struct strbuf *b,
                struct err *err);

#endif
