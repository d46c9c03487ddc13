/* agent/disk.h - a bound on what a container writes to its root.
 *
 * The upper layer of its overlay lives in a file of that size with a file system
 * of its own (ext4), which only the container's own mount namespace ever mounts:
 * when that ends, mount and loop device end with it, whoever was killed before.
 * The file takes what was written, not its size.  docs/spec/node.md, "Disk" */
#ifndef AGENT_DISK_H
#define AGENT_DISK_H
#include <stdint.h>
#include "base/err.h"

#define DISK_MIN (INT64_C(16) << 20)
#define DISK_FILE "disk"

/* Makes the file in a container's directory.  Runs on a worker.  ERR_UNSUPPORTED: this node
 * has no mkfs.ext4. */
int disk_make(int dir, int64_t bytes, struct err *err);

#endif
