/* host/archive.h - files and folders as a stream, and back: what `rota cp` carries.
 *
 * The stream is ustar with pax records for long names and large files, a folder before
 * what is in it.  Both directions need memory for one block, however much is copied.
 * Unpacking trusts nothing in the stream: it writes through the descriptor of the folder
 * that it made itself, one plain name at a time.  docs/spec/node.md, "Copying" */
#ifndef HOST_ARCHIVE_H
#define HOST_ARCHIVE_H
#include "base/err.h"

#define ARCHIVE_DEPTH 64   /* folders in folders */
#define ARCHIVE_PATH 4096

struct archive {
    int fd;                                   /* blocking; written or read */
    void (*note)(void *arg, const char *text); /* what was left out, and why */
    void *arg;
    int skipped;                              /* how many notes */
};

/* Both go on after what they can leave out and note; they fail, naming the place, where
 * nothing more can be copied.  ERR_UNAVAILABLE: the other end of the stream went away. */

/* `path` may be a link to what is packed; links below it stay links. */
int archive_pack(struct archive *a, const char *path, struct err *err);
/* Into the folder `path` as `name`; as `path` itself where no such folder is, or when
 * `name` is "".  A file appears whole or not at all. */
int archive_unpack(struct archive *a, const char *path, const char *name, struct err *err);

#endif
