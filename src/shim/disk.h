/* shim/disk.h - a container's writable layer in a file of bounded size.
 *
 * The mount hangs on a descriptor and then in the container's own namespace; no
 * one else ever sees it, and with the last of both the kernel takes mount and
 * loop device away.  docs/spec/node.md, "Disk" */
#ifndef SHIM_DISK_H
#define SHIM_DISK_H
#include "base/err.h"

/* Mounts the file `disk` of a container's directory, nowhere yet, and copies what is
 * prepared in `u` there.  A descriptor for move_mount, or a code. */
int disk_open(int dir, struct err *err);

#endif
