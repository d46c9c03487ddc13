/* core/model/meter.h - what a container has used, and how much that is over a window.
 *
 * Counters are the kernel's own and count from the container's start: whoever reads
 * them anew, an agent that was restarted for example, goes on where the last one was.
 * What cannot be read is METER_UNKNOWN, which is neither zero nor idle.
 * docs/spec/node.md, "Utilisation" */
#ifndef CORE_MODEL_METER_H
#define CORE_MODEL_METER_H
#include <stdint.h>
#include "base/fact.h"

#define METER_UNKNOWN INT64_C(-1)

struct meter {
    int64_t cpu_us;                           /* counter */
    int64_t mem_bytes, mem_peak_bytes, pids;  /* now, ever, now */
    int64_t io_read_bytes, io_write_bytes;    /* counters: of block devices */
    int64_t net_rx_bytes, net_tx_bytes;       /* counters: all interfaces but loopback */
};
#define METER_NONE ((struct meter){-1, -1, -1, -1, -1, -1, -1, -1})

struct meter_point { int64_t at_ms, cpu_us, mem_bytes; };
/* The last `cap` points, oldest forgotten first; the array is the caller's. */
struct meter_ring {
    struct meter_point *v;
    uint32_t cap, n, next;
};
/* Times must rise; a point that is not later than the last one is left out. */
void meter_put(struct meter_ring *r, struct meter_point p);
/* 0 is the oldest; CHECKs i < r->n. */
struct meter_point meter_at(const struct meter_ring *r, uint32_t i);

/* A window is known when points cover it: one at or before its begin, none farther from
 * the next than gap_ms, the last one not older than gap_ms. */
struct meter_window { int64_t now_ms, window_ms, gap_ms; };

/* Thousandths of a core over the window, on average.  Unknown when the window is not
 * covered, a reading in it is unknown, or the counter went back (another container). */
struct reading meter_cpu_milli(const struct meter_ring *r, struct meter_window w);
/* Whether it used less than `milli` on average over the whole window.  UNKNOWN never
 * permits: neither a container that is younger than the window nor one whose figures
 * cannot be read is idle. */
enum fact meter_idle(const struct meter_ring *r, struct meter_window w, int64_t milli);
/* The most that it used between two points of the window; unknown as above, but the
 * window need not be covered: two points in it are enough. */
struct reading meter_cpu_peak_milli(const struct meter_ring *r, struct meter_window w);

#endif
