/* agent/gpu/gpu.h - the devices of this node, as the agent deals with them: the probe, the
 * inventory, and who holds what.
 *
 * docs/spec/node.md, "Devices" */
#ifndef AGENT_GPU_GPU_H
#define AGENT_GPU_GPU_H
#include "agent/bodies.h"
#include "agent/config.h"
#include "agent/driver.h"
#include "agent/gpu/inject.h"
#include "agent/gpu/inventory.h"

struct gpu;

struct gpu_opts {
    const struct agent_config *config; /* borrowed while it lives */
    const char *name;                  /* of the node; likewise */
    void (*on_change)(void *arg);      /* gpu_tell and gpu_usable say something else */
    void *arg;
};

/* Opens the inventory and waits for a first report, up to GPU_FIRST_MS: what is said of
 * devices before would be a guess. */
#define GPU_FIRST_MS 10000
int gpu_new(struct net_loop *loop, const struct gpu_opts *o, struct gpu **ret, struct err *err);
void gpu_free(struct gpu *g); /* NULL is fine */
/* Who holds a device is asked of these from now on. */
void gpu_set_holders(struct gpu *g, const struct driver *driver, const struct bodies *bodies);
/* An operator's wishes, from an answer. */
void gpu_order(struct gpu *g, const struct sync_device_order *v, uint32_t n);

/* Devices, n_devices, their links, orders_done. */
void gpu_tell(const struct gpu *g, struct sync_info *ret);
/* What a container may be given of them now. */
void gpu_inject(const struct gpu *g, struct inject *j);
/* What the devices did at the last look (meters_opts.devices); at most NODE_DEVICES_MAX. */
uint32_t gpu_figures(const struct gpu *g, struct use_device *ret);
uint32_t gpu_usable(const struct gpu *g);                  /* mask */
void gpu_note(const struct gpu *g, char *ret, size_t cap); /* for people, or "" */

#endif
