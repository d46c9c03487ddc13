/* agent/gpu/inventory.h - the devices of this machine: which is which, and how it is.
 *
 * An index, once told, means the same device as long as anybody may hold it: devices are
 * matched by UUID, never by the order of a report.  What is told outside was written down
 * before; faults outlive the agent.  A report that is not complete, or none at all, takes
 * nothing away and permits nothing.  docs/spec/node.md, "Devices" */
#ifndef AGENT_GPU_INVENTORY_H
#define AGENT_GPU_INVENTORY_H
#include "core/nodeplan/health.h"
#include "wire/probe.h"
#include "wire/sync.h"
#include "wire/xid.h"

struct inventory;

struct inventory_opts {
    int dir;              /* of the agent's state; borrowed while it lives */
    uint32_t expect;      /* devices that the machine should have; 0: whatever there is */
    uint32_t simulated;   /* pretended ones: always healthy, unless ordered otherwise */
    const char *model;    /* of these; borrowed */
    const char *name;     /* of the node, for their UUIDs; borrowed */
    /* The session that holds a device; 0: nobody. */
    uint64_t (*holder)(void *arg, uint32_t index);
    void *arg;
};

/* ERR_CORRUPT: the file was not written by us; it is never overwritten. */
int inventory_open(const struct inventory_opts *o, struct inventory **ret, struct err *err);
void inventory_free(struct inventory *v); /* NULL is fine */

/* What the probe said, at wall clock now_ms; `era` names the boot and the driver's life. */
int inventory_take(struct inventory *v, const struct probe_report *r, uint64_t era,
                   int64_t now_ms, struct err *err);
/* The probe is silent: nothing is known of any real device. */
void inventory_silent(struct inventory *v, const char *why);
/* Wishes of operators: those numbered above the last one done are done.  The answer's list. */
int inventory_order(struct inventory *v, const struct sync_device_order *orders, uint32_t n,
                    int64_t now_ms, struct err *err);

/* What to tell: fills devices, n_devices and orders_done; the rest is left alone. */
void inventory_tell(const struct inventory *v, struct sync_info *ret);
/* What a session may be started on. */
uint32_t inventory_usable(const struct inventory *v);
/* For people: "2 of 8 GPUs are missing", why the probe is silent; "" when all is well. */
void inventory_note(const struct inventory *v, char *ret, size_t cap);
bool inventory_heard(const struct inventory *v); /* a report has come since the start */
/* What the last complete report said of a device; NULL: it is not there now. */
const struct probe_device *inventory_device(const struct inventory *v, uint32_t index);

#endif
