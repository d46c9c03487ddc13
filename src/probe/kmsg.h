/* probe/kmsg.h - Xids in the kernel's log, which go on when the library does not. */
#ifndef PROBE_KMSG_H
#define PROBE_KMSG_H
#include <stdbool.h>
#include "base/str.h"
#include "wire/probe.h"

/* One record or line: "4,1093,72712345,-;NVRM: Xid (PCI:0000:3b:00): 79, ...", with or
 * without what stands before "NVRM".  False: it tells of no Xid.  at_ms stays 0. */
bool kmsg_parse(struct str line, struct probe_event *ret);

struct kmsg;
/* From now on: what was logged before counts for nothing.  NULL: it cannot be read. */
struct kmsg *kmsg_open(const char *path, struct err *err);
void kmsg_close(struct kmsg *k);
/* To poll for input; -1: a plain file, which one has to look at. */
int kmsg_fd(const struct kmsg *k);
/* The next Xid that is there; false: none for now. */
bool kmsg_next(struct kmsg *k, struct probe_event *ret);

#endif
