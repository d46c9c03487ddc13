/* host/archive_impl.h - the stream's blocks.  POSIX.1-2001, pax interchange format. */
#ifndef HOST_ARCHIVE_IMPL_H
#define HOST_ARCHIVE_IMPL_H
#include <stddef.h>
#include <stdint.h>
#include "host/archive.h"

#define TAR_BLOCK 512
#define TAR_PAX_MAX (16 * 1024) /* two paths and numbers */
#define TAR_CHUNK (64 * 1024)

enum tar_type { TAR_FILE = '0', TAR_LINK = '2', TAR_FOLDER = '5', TAR_PAX = 'x' };

struct tar_head {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100];
    char magic[6], version[2], uname[32], gname[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct tar_head) == TAR_BLOCK, "a header is one block");

struct tar_entry {
    char type;
    unsigned mode;
    uint64_t size;
    int64_t mtime;
    char path[ARCHIVE_PATH], link[ARCHIVE_PATH];
};

int tar_write(int fd, const void *data, size_t n, struct err *err);
int tar_read(int fd, void *data, size_t n, struct err *err);
unsigned tar_sum(const struct tar_head *h);
/* 1: an entry; 0: the end of the stream, in order. */
int tar_next(int fd, struct tar_entry *e, struct err *err);
static inline size_t tar_padding(uint64_t size)
{
    return (size_t)((TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
}
/* A name from outside, fit for a terminal; valid until the next call of this thread. */
const char *tar_shown(const char *name);

#endif
