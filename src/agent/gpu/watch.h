/* agent/gpu/watch.h - keeps a device probe running, and knows when it is silent.
 *
 * The probe is a child of its own (wire/probe.h).  It is never waited for: a probe that
 * says nothing until its deadline is killed and replaced, after a pause that doubles; one
 * that does not die, held by its driver in the kernel, is left behind.
 * docs/spec/node.md, "Devices" */
#ifndef AGENT_GPU_WATCH_H
#define AGENT_GPU_WATCH_H
#include "net/loop.h"
#include "wire/probe.h"

struct watch;

struct watch_opts {
    const char *const *argv; /* NULL-terminated, argv[0] absolute; borrowed while it lives */
    int64_t first_ms;  /* until the first report of a probe; 0: 10 s */
    int64_t silent_ms; /* between two; 0: 5 s */
    int64_t pause_ms;  /* before the next one starts; 0: 1 s, doubled up to 64 times that */
    void (*on_report)(void *arg, const struct probe_report *r);
    void (*on_silent)(void *arg, const char *why); /* once, until a report comes */
    void *arg;
};

struct watch *watch_new(struct net_loop *loop, const struct watch_opts *o);
void watch_free(struct watch *w); /* NULL is fine; kills the probe */
/* Of the probe that runs, for tests; 0: none. */
int64_t watch_pid(const struct watch *w);

#endif
