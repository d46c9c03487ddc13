/* agent/rootfs.h - what a container sees as its file system.
 *
 * Image `host`: an overlay on this machine's own root, so that programs, Python
 * environments and drivers are there without any registry.  What is not for
 * guests is covered in the upper layer: every directory at the top but the
 * system's own is replaced by an empty one or by nothing, and so are secrets in
 * /etc.  The host is seen as it was when the container began.
 * docs/spec/node.md */
#ifndef AGENT_ROOTFS_H
#define AGENT_ROOTFS_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"

#define ROOTFS_PATH 256

struct rootfs_cover {
    char path[ROOTFS_PATH]; /* relative to the root */
    bool dir;               /* an empty directory; else nothing at all */
    uint16_t mode;
};
struct rootfs_bind { char path[ROOTFS_PATH]; };

struct rootfs_host { /* learned once, when the agent starts; then only read */
    VEC(struct rootfs_cover) covers;
    VEC(struct rootfs_bind) binds; /* file systems mounted below /usr, /opt, /etc */
    struct strbuf resolv;          /* name servers that a container can reach, or empty */
    struct strbuf resolv_own;      /* as the host has it */
};
int rootfs_host_open(struct rootfs_host *ret, struct err *err);
void rootfs_host_done(struct rootfs_host *h);

struct rootfs_user {
    uint32_t uid, gid;
    const char *home, *hostname, *workdir;
    const char *hosts, *hostfile; /* of a gang, or NULL */
    bool host_network;            /* it asks the host's own resolver */
};
/* Who is known inside, and which name servers: texts of the files below /etc. */
struct rootfs_names { struct str passwd, group, resolv; };
int rootfs_put_names(const char *upper, const struct rootfs_user *u,
                     const struct rootfs_names *names, struct err *err);
/* Whether a directory of the user's own may be made at this path, which anybody chose: plain,
 * and where nothing is that is mounted or that the system looks at.  Else none is made. */
bool rootfs_own_path(const char *path);
/* Fills the upper layer `upper` (absolute) of one container. */
int rootfs_fill(const struct rootfs_host *h, const char *upper, const struct rootfs_user *u,
                struct err *err);

#endif
