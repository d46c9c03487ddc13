/* agent/gauge.h - reads what one container uses, again and again.
 *
 * Descriptors are kept open, so that a reading is one pread a file (a microsecond, a
 * tenth of opening it).  The network is read through the container's own process
 * directory, a descriptor that means that process or nobody: it pins no namespace and
 * can never show another's.  docs/spec/node.md, "Utilisation" */
#ifndef AGENT_GAUGE_H
#define AGENT_GAUGE_H
#include "base/str.h"
#include "core/model/meter.h"
#include "host/cgroup.h"

struct gauge {
    enum cgroup_version version;
    int cpu, mem, peak, pids, io, proc; /* -1: cannot be read */
};

/* `pid` is its process 1 with its start time; 0: the network stays unknown. */
void gauge_open(struct gauge *g, const struct cgroup_set *groups, int64_t pid, uint64_t start);
void gauge_close(struct gauge *g);
/* What cannot be read becomes METER_UNKNOWN; the network is kept as it is. */
void gauge_read(const struct gauge *g, struct meter *m);
/* The network's counters alone: these cost as much as all others together. */
void gauge_read_net(const struct gauge *g, struct meter *m);

/* The kernel's texts.  METER_UNKNOWN where the number is not there. */
int64_t gauge_key(struct str text, struct str key);     /* "key 12" on a line of its own */
void gauge_io_v1(struct str text, struct meter *m);     /* "8:0 Read 4096" */
void gauge_io_v2(struct str text, struct meter *m);     /* "8:0 rbytes=4096 wbytes=0 ..." */
void gauge_net(struct str text, struct meter *m);       /* /proc/PID/net/dev */

#endif
