/* agent/meters.h - what runs here is measured each second and told each ten.
 *
 * A summary lists what has changed since the one before; counters are the kernel's own,
 * so that a summary that got lost, or an agent that was restarted, costs precision in
 * time and nothing else.  While nothing runs there is no timer and nothing is told.
 * docs/spec/node.md, "Utilisation" */
#ifndef AGENT_METERS_H
#define AGENT_METERS_H
#include "agent/driver.h"
#include "wire/sync.h"

struct meters;

#define METERS_PERIOD_MS 1000
#define METERS_TELL_MS 10000
#define METERS_KEPT 300 /* points of each container: five minutes */

struct meters_opts {
    int64_t period_ms, tell_ms; /* 0: as above */
    /* What the devices do, at most NODE_DEVICES_MAX of them; NULL: nothing is known. */
    uint32_t (*devices)(void *arg, struct use_device *ret);
    void *arg;
};

struct meters *meters_new(struct net_loop *loop, const struct driver *driver,
                          const struct meters_opts *o);
void meters_free(struct meters *m); /* NULL is fine */
void meters_changed(struct meters *m); /* the driver's list may be another */
/* Adds the summary, if one is due.  The lists are borrowed until the next call. */
void meters_fill(struct meters *m, struct sync_request *rq);
/* The manager may not have what it was told: the next summary has everything. */
void meters_again(struct meters *m);

/* The last readings of all members, sorted by ref; and the points of one. */
struct meters_now { struct member_ref ref; struct meter m; };
uint32_t meters_list(const struct meters *m, struct meters_now **ret); /* the caller frees */
const struct meter_ring *meters_ring(const struct meters *m, struct member_ref ref); /* or NULL */

#endif
