/* agent/gpu/inject_told.c - from the inventory's devices, numbered as this node tells them, to
 * what inject and the scheduler need.  Devices are matched by UUID, never by place. */
#include <string.h>
#include "agent/gpu/inject.h"
#include "agent/gpu/inject_impl.h"
#include "base/check.h"

_Static_assert((int)PROBE_PATH_UNKNOWN == LINK_UNKNOWN, "the same in both");
_Static_assert((int)PROBE_PATH_SYSTEM == LINK_SYSTEM, "the same in both");
_Static_assert((int)PROBE_PATH_NODE == LINK_NODE, "the same in both");
_Static_assert((int)PROBE_PATH_HOST == LINK_HOST, "the same in both");
_Static_assert((int)PROBE_PATH_SWITCH == LINK_SWITCH, "the same in both");
_Static_assert((int)PROBE_PATH_LINK1 == LINK_DIRECT1, "the same in both");
_Static_assert((int)PROBE_PATHS == LINK_PATHS, "the same in both");

void inject_set_told(struct inject *j, const struct sync_info *told,
                     const struct probe_device *(*seen)(void *arg, uint32_t index), void *arg)
{
    struct inject_device v[NODE_DEVICES_MAX];
    uint32_t n = 0;
    CHECK(told->n_devices <= NODE_DEVICES_MAX);
    for (uint32_t i = 0; i < told->n_devices; i++) {
        const struct sync_device *d = &told->devices[i];
        const struct probe_device *real = d->simulated ? NULL : seen(arg, d->index);
        if (real && strcmp(real->uuid, d->uuid) == 0) inject_device_of(real, d->index, &v[n++]);
        else if (d->simulated)
            v[n++] = (struct inject_device){.index = d->index, .simulated = true,
                                            .numa_node = PROBE_UNKNOWN};
    }
    inject_set_devices(j, v, n); /* what is not seen now cannot be given */
}

static uint32_t index_of(const struct sync_info *told, const char *uuid)
{
    for (uint32_t i = 0; i < told->n_devices; i++)
        if (uuid[0] && strcmp(told->devices[i].uuid, uuid) == 0) return i;
    return NODE_DEVICES_MAX;
}

void inject_links(const struct probe_report *r, const struct sync_info *told, char ret[LINK_TEXT])
{
    linkmap_clear(ret, told->n_devices);
    VEC_EACH(l, &r->links) {
        if (l->a >= r->n_devices || l->b >= r->n_devices || l->path >= PROBE_PATHS) continue;
        uint32_t a = index_of(told, r->devices[l->a].uuid);
        uint32_t b = index_of(told, r->devices[l->b].uuid);
        if (a == b || a == NODE_DEVICES_MAX || b == NODE_DEVICES_MAX) continue;
        linkmap_set(ret, a, b, (enum link_path)l->path);
    }
    if (r->links.n == 0) ret[0] = '\0'; /* nothing is known: any is as good */
}
