/* probe/nvidia.h - the GPUs of NVIDIA: /proc/driver/nvidia and the management library.
 *
 * The kernel's version is compared with the library's before the library is
 * initialised, and at each look with the library that lies there now: what is
 * started next would load that one.  One device that answers no more is lost; it
 * does not hide the others. */
#ifndef PROBE_NVIDIA_H
#define PROBE_NVIDIA_H
#include <stdbool.h>
#include <stdint.h>
#include "probe/tree.h"
#include "wire/probe.h"

struct nvidia;

/* path: of the library; NULL: the system's, where the machine has such a GPU.  t is
 * borrowed. */
struct nvidia *nvidia_new(const char *path, const struct tree *t);
void nvidia_free(struct nvidia *n);
/* Adds its devices and links.  Any call in here may never come back. */
void nvidia_read(struct nvidia *n, struct probe_report *r);
/* Waits so long for an Xid; true: one came. */
bool nvidia_wait(struct nvidia *n, uint32_t timeout_ms, struct probe_event *ret);

#endif
