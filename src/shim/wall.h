/* shim/wall.h - what the runtime leaves open.  docs/spec/node.md */
#ifndef SHIM_WALL_H
#define SHIM_WALL_H
#include <stdbool.h>
#include <sys/types.h>
#include "base/err.h"

/* The root of a container that is held: set-user-id files and file capabilities count for
 * nothing there, and without `devices` neither does a node of any device. */
int wall_root(pid_t pid, bool devices, struct err *err);

#endif
