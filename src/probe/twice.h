/* probe/twice.h - one Xid is told by two: the library and the kernel's log.
 *
 * What one of them has told and the other tells within some seconds is the same; two
 * from the same source are two. */
#ifndef PROBE_TWICE_H
#define PROBE_TWICE_H
#include <stdbool.h>
#include "wire/probe.h"

enum twice_source { TWICE_NVML = 1, TWICE_KMSG };
enum { TWICE_MS = 5000, TWICE_MAX = 64 };

struct twice {
    struct twice_event {
        enum twice_source from;
        bool matched;
        char uuid[48], pci[20];
        uint32_t xid;
        int64_t at_ms;
    } v[TWICE_MAX];
    uint32_t n;
};

/* True: it was told already, by the other. */
bool twice_told(struct twice *t, enum twice_source from, const struct probe_event *e);
bool twice_same_device(const char *uuid, const char *pci, const struct probe_event *e);

#endif
