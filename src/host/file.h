/* host/file.h - small files that outlive a crash, and directory trees.
 *
 * Everything is relative to a directory descriptor and never follows a symbolic
 * link at the last step, so that what a container leaves behind cannot redirect
 * us.  docs/spec/node.md */
#ifndef HOST_FILE_H
#define HOST_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"

enum file_sync {
    FILE_ORDERED = 1, /* whole or absent after a crash of ours; a power cut may lose it */
    FILE_DURABLE,     /* also after a power cut: fsync, rename, fsync of the directory */
    FILE_DURABLE_NEW, /* the same for a name that is not there yet, at half the price: a power
                         cut meanwhile may leave it cut off, which its reader takes for none */
};

/* Closes and forgets; a negative descriptor is none. */
void file_close(int *fd);
#define AUTO_FD __attribute__((cleanup(file_close)))

/* Replaces `name` with exactly these bytes, mode 0600. */
int file_write(int dir, const char *name, const void *data, size_t n, enum file_sync sync,
               struct err *err);
/* The whole file, terminated.  ERR_NOT_FOUND; ERR_LIMIT if it has cap bytes or more. */
int file_read(int dir, const char *name, char *buf, size_t cap, size_t *ret_n, struct err *err);
/* One write(2) into an existing file: how the kernel's control files are set. */
int file_put(int dir, const char *name, const char *text, struct err *err);
bool file_exists(int dir, const char *name);
/* mkdir that is content with what is there already. */
int file_mkdir(int dir, const char *name, unsigned mode, struct err *err);
int file_open_dir(int dir, const char *name, struct err *err); /* descriptor or code */
/* Removes a file or a whole tree, however deep; absent is fine.  Goes on after
 * a failure and reports the first. */
int file_remove_tree(int dir, const char *name, struct err *err);
/* Sum of the sizes of the regular files directly in a directory. */
int64_t file_dir_bytes(int dir);

#endif
