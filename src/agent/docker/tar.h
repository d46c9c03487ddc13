/* agent/docker/tar.h - the heads of a ustar archive, which is how engines take files. */
#ifndef AGENT_DOCKER_TAR_H
#define AGENT_DOCKER_TAR_H
#include <stdint.h>

#define TAR_BLOCK 512
#define TAR_NAME_MAX 99
#define TAR_BYTES_MAX ((INT64_C(8) << 30) - 1) /* eleven octal digits */

struct tar_entry {
    const char *name; /* at most TAR_NAME_MAX bytes; a directory's ends in '/' */
    uint32_t mode, uid, gid;
    int64_t bytes;    /* 0 of a directory */
};
void tar_head(const struct tar_entry *e, char ret[TAR_BLOCK]);

#endif
