/* probe/nvidia_events.c - Xids as the library tells them. */
#include <string.h>
#include <time.h>

#include "host/proc.h"
#include "probe/nvidia_impl.h"

void nvidia_events_begin(struct nvidia *n)
{
    n->events_all = false;
    if (NVML_CALL(&n->lib, set_create, &n->events) != NVML_OK) {
        n->events = NULL;
        return;
    }
    n->events_all = n->lib.set_wait2 || n->lib.set_wait;
    for (uint32_t i = 0; i < n->n_known; i++) {
        if (!n->known[i].handle) continue;
        int code = NVML_CALL(&n->lib, set_add, n->known[i].handle, NVML_EVENT_XID, n->events);
        if (code != NVML_OK) n->events_all = false;
    }
}

void nvidia_events_end(struct nvidia *n)
{
    if (n->events) (void)NVML_CALL(&n->lib, set_free, n->events);
    n->events = NULL;
    n->events_all = false;
}

static void nap(uint32_t ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    (void)nanosleep(&t, NULL);
}

static void name_event(const struct nvidia *n, nvml_device device, struct probe_event *e)
{
    for (uint32_t i = 0; i < n->n_known; i++) {
        if (n->known[i].handle != device) continue;
        (void)TEXT_SET(e->uuid, str_of(n->known[i].uuid));
        (void)TEXT_SET(e->pci, str_of(n->known[i].pci));
    }
}

bool nvidia_wait(struct nvidia *n, uint32_t timeout_ms, struct probe_event *ret)
{
    struct nvml_event got = {0};
    if (!n->events) {
        nap(timeout_ms);
        return false;
    }
    int code = n->lib.set_wait2 ? NVML_CALL(&n->lib, set_wait2, n->events, &got, timeout_ms)
                                : NVML_CALL(&n->lib, set_wait, n->events, &got, timeout_ms);
    if (code != NVML_OK) {
        if (code != NVML_TIMEOUT) nap(timeout_ms); /* it may say so without waiting */
        return false;
    }
    struct probe_event e = {.at_ms = proc_wall_us() / 1000};
    name_event(n, got.device, &e);
    if (got.type != NVML_EVENT_XID || got.data == 0 || got.data > UINT32_MAX) return false;
    if (!e.uuid[0] && !e.pci[0]) return false; /* of nothing that we list */
    e.xid = (uint32_t)got.data;
    *ret = e;
    return true;
}
