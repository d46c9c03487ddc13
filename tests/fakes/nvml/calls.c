/* fakes/nvml/calls.c - the functions of libnvidia-ml.so.1 that the probe uses. */
#include <stdio.h>
#include <string.h>

#include "probe/nvml.h"
#include "world.h"

#define EXPORT __attribute__((visibility("default")))
#define ONE_PARAMETER_(name, symbol, args) EXPORT int symbol args;
NVML_FUNCTIONS(ONE_PARAMETER_)

/* The body sees `f`, the world, and of a device's function `g`, its GPU. */
#define CALL(symbol, params, ...) \
    int symbol params \
    { \
        const struct fake *f; \
        int code = world_enter(#symbol, -1, &f); \
        if (code) return code; \
        __VA_ARGS__; \
        (void)f; \
        world_leave(); \
        return code; \
    }
#define DEVICE_CALL(symbol, params, ...) \
    int symbol params \
    { \
        const struct fake *f; \
        int at = world_gpu(device); \
        if (at < 0) return NVML_INVALID; \
        int code = world_enter(#symbol, at, &f); \
        if (code) return code; \
        const struct fake_gpu *g = &f->gpu[at]; \
        __VA_ARGS__; \
        (void)g; \
        world_leave(); \
        return code; \
    }

static int put_text(char *dst, uint32_t n, const char *text)
{
    return text_set(dst, n, str_of(text)) ? NVML_OK : NVML_SMALL;
}

CALL(nvmlInit_v2, (void), )
int nvmlShutdown(void) { return NVML_OK; }
CALL(nvmlSystemGetDriverVersion, (char *text, uint32_t n), code = put_text(text, n, f->driver))
/* Its own version: a mismatch makes it another than the driver's. */
CALL(nvmlSystemGetNVMLVersion, (char *text, uint32_t n), {
    char all[FAKE_WORD + 8];
    text_fmt(all, sizeof(all), "12.%s", f->mismatch ? "999.1" : f->driver);
    code = put_text(text, n, all);
})

static uint32_t listed(const struct fake *f, uint32_t index)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n_gpus; i++) {
        if (f->gpu[i].gone) continue;
        if (n++ == index) return i;
    }
    return FAKE_GPUS;
}

CALL(nvmlDeviceGetCount_v2, (uint32_t *n), {
    *n = 0;
    for (uint32_t i = 0; i < f->n_gpus; i++) *n += !f->gpu[i].gone;
})

static bool says(const struct fake_rule *r, uint32_t gpu)
{
    return r->gpu == (int32_t)gpu && strcmp(r->call, "nvmlDeviceGetHandleByIndex_v2") == 0;
}

CALL(nvmlDeviceGetHandleByIndex_v2, (uint32_t index, nvml_device *ret), {
    uint32_t at = listed(f, index);
    if (at == FAKE_GPUS) code = NVML_INVALID;
    else if (f->gpu[at].lost) code = NVML_LOST;
    for (uint32_t i = 0; i < f->n_fail; i++)
        if (says(&f->fail[i], at)) code = f->fail[i].code;
    if (code == 0) *ret = world_handle(at);
})

DEVICE_CALL(nvmlDeviceGetName, (nvml_device device, char *text, uint32_t n),
            code = put_text(text, n, g->model))
DEVICE_CALL(nvmlDeviceGetUUID, (nvml_device device, char *text, uint32_t n),
            code = put_text(text, n, g->uuid))
DEVICE_CALL(nvmlDeviceGetMinorNumber, (nvml_device device, uint32_t *ret), *ret = g->minor)

static void put_pci(const char *address, struct nvml_pci *ret)
{
    *ret = (struct nvml_pci){.device_id = 0x233510de};
    (void)sscanf(address, "%x:%x:%x", &ret->domain, &ret->bus, &ret->device);
    text_fmt(ret->bus_id, sizeof(ret->bus_id), "%08X:%02X:%02X.0", ret->domain, ret->bus,
             ret->device);
    text_fmt(ret->legacy, sizeof(ret->legacy), "%04X:%02X:%02X.0", ret->domain & 0xffff, ret->bus,
             ret->device);
}
DEVICE_CALL(nvmlDeviceGetPciInfo_v3, (nvml_device device, struct nvml_pci *ret),
            put_pci(g->pci, ret))

static uint64_t used(const struct fake *f, uint32_t gpu)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < f->n_processes; i++)
        if (f->process[i].gpu == gpu) sum += f->process[i].mem;
    return sum;
}
enum { RESERVED = 512 << 20 }; /* what the driver keeps for itself */

DEVICE_CALL(nvmlDeviceGetMemoryInfo, (nvml_device device, struct nvml_memory *ret), {
    uint64_t u = used(f, (uint32_t)at) + RESERVED;
    *ret = (struct nvml_memory){g->mem, g->mem > u ? g->mem - u : 0, u};
})
DEVICE_CALL(nvmlDeviceGetMemoryInfo_v2, (nvml_device device, struct nvml_memory2 *ret), {
    uint64_t u = used(f, (uint32_t)at), taken = u + RESERVED;
    if (ret->version != NVML_VERSION(struct nvml_memory2, 2)) code = 25;
    else *ret = (struct nvml_memory2){ret->version, 0, g->mem, RESERVED,
                                      g->mem > taken ? g->mem - taken : 0, u};
})
DEVICE_CALL(nvmlDeviceGetUtilizationRates, (nvml_device device, struct nvml_use *ret), {
    if (g->mig) code = NVML_UNSUPPORTED;
    else *ret = (struct nvml_use){g->sm, g->mem_use};
})
DEVICE_CALL(nvmlDeviceGetPowerUsage, (nvml_device device, uint32_t *ret), *ret = g->power_mw)
DEVICE_CALL(nvmlDeviceGetTemperature, (nvml_device device, uint32_t sensor, uint32_t *ret), {
    if (sensor != NVML_SENSOR_GPU) code = NVML_INVALID;
    else *ret = g->temperature;
})
DEVICE_CALL(nvmlDeviceGetMigMode, (nvml_device device, uint32_t *current, uint32_t *pending),
            *current = *pending = g->mig)

/* ---- processes ---- */

/* Only the bytes of the entries are written; what a driver of that version has. */
static int put_processes(const struct fake *f, uint32_t gpu, uint32_t stride, uint32_t *n,
                         void *to)
{
    uint32_t room = *n;
    if (f->stride) stride = f->stride;
    *n = 0;
    for (uint32_t i = 0; i < f->n_processes; i++) *n += f->process[i].gpu == gpu;
    if (*n > room) return NVML_SMALL;
    uint8_t *p = to;
    for (uint32_t i = 0; i < f->n_processes; i++) {
        const struct fake_process *one = &f->process[i];
        if (one->gpu != gpu) continue;
        uint32_t none = UINT32_MAX;
        memset(p, 0, stride);
        memcpy(p, &one->pid, 4);
        memcpy(p + 8, &one->mem, 8);
        if (stride >= 24) memcpy(p + 16, &none, 4);
        if (stride >= 24) memcpy(p + 20, &none, 4);
        p += stride;
    }
    return NVML_OK;
}

#define PROCESSES(symbol, stride, of) \
    DEVICE_CALL(symbol, (nvml_device device, uint32_t *n, void *to), { \
        if (of) code = put_processes(f, (uint32_t)at, stride, n, to); \
        else *n = 0; \
    })
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, 24, true)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, 24, true)
PROCESSES(nvmlDeviceGetComputeRunningProcesses, 16, true)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, 24, false)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, 24, false)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses, 16, false)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3, 24, false)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2, 24, false)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses, 16, false)

/* ---- topology ---- */

DEVICE_CALL(nvmlDeviceGetTopologyCommonAncestor,
            (nvml_device device, nvml_device other, uint32_t *ret), {
    int to = world_gpu(other);
    if (to < 0) code = NVML_INVALID;
    else if (f->ancestor[at][to]) *ret = f->ancestor[at][to];
    else *ret = g->numa == f->gpu[to].numa ? NVML_PATH_NODE : NVML_PATH_SYSTEM;
})

static bool linked(const struct fake *f, int a, int b)
{
    bool a_switch = false, b_switch = false, direct = false;
    for (uint32_t i = 0; i < f->gpu[a].n_links; i++) {
        a_switch |= f->gpu[a].peer[i] == FAKE_SWITCH;
        direct |= f->gpu[a].peer[i] == b;
    }
    for (uint32_t i = 0; i < f->gpu[b].n_links; i++) b_switch |= f->gpu[b].peer[i] == FAKE_SWITCH;
    return direct || (a_switch && b_switch);
}

DEVICE_CALL(nvmlDeviceGetP2PStatus,
            (nvml_device device, nvml_device other, uint32_t what, uint32_t *ret), {
    int to = world_gpu(other);
    if (to < 0) code = NVML_INVALID;
    else *ret = what == NVML_P2P_NVLINK && !linked(f, at, to) ? 5 : NVML_P2P_OK;
})
DEVICE_CALL(nvmlDeviceGetNvLinkState, (nvml_device device, uint32_t link, uint32_t *ret), {
    if (g->n_links == 0 || link >= FAKE_LINKS) code = NVML_UNSUPPORTED;
    else *ret = link < g->n_links;
})
DEVICE_CALL(nvmlDeviceGetNvLinkRemotePciInfo_v2,
            (nvml_device device, uint32_t link, struct nvml_pci *ret), {
    if (link >= g->n_links) code = NVML_INVALID;
    else put_pci(g->peer[link] == FAKE_SWITCH ? "0000:F0:00.0" : f->gpu[g->peer[link]].pci, ret);
})
DEVICE_CALL(nvmlDeviceGetNvLinkRemoteDeviceType,
            (nvml_device device, uint32_t link, uint32_t *ret), {
    if (link >= g->n_links) code = NVML_INVALID;
    else *ret = g->peer[link] == FAKE_SWITCH ? NVML_PEER_SWITCH : NVML_PEER_GPU;
})
DEVICE_CALL(nvmlDeviceGetMemoryAffinity,
            (nvml_device device, uint32_t n, unsigned long *set, uint32_t scope), {
    if (!g->has_numa || n == 0 || scope != NVML_SCOPE_NODE) code = NVML_UNSUPPORTED;
    else {
        memset(set, 0, n * sizeof(*set));
        set[0] = 1ul << g->numa;
    }
})
/* Eight processors a node. */
DEVICE_CALL(nvmlDeviceGetCpuAffinity, (nvml_device device, uint32_t n, unsigned long *set), {
    if (!g->has_numa || n == 0) code = NVML_UNSUPPORTED;
    else {
        memset(set, 0, n * sizeof(*set));
        set[0] = 0xfful << (g->numa * 8);
    }
})
static int put_fabric(const struct fake_gpu *g, uint8_t cluster[16], uint32_t *clique,
                      uint8_t *state)
{
    if (!g->has_fabric) return NVML_UNSUPPORTED;
    for (uint8_t i = 0; i < 16; i++) cluster[i] = (uint8_t)(i * 17);
    *clique = g->clique;
    *state = NVML_FABRIC_DONE;
    return NVML_OK;
}
DEVICE_CALL(nvmlDeviceGetGpuFabricInfo, (nvml_device device, struct nvml_fabric *ret), {
    *ret = (struct nvml_fabric){0};
    code = put_fabric(g, ret->cluster, &ret->clique, &ret->state);
})
DEVICE_CALL(nvmlDeviceGetGpuFabricInfoV, (nvml_device device, struct nvml_fabric2 *ret), {
    if (ret->version != NVML_VERSION(struct nvml_fabric2, 2)) code = 25;
    else code = put_fabric(g, ret->cluster, &ret->clique, &ret->state);
})

/* ---- faults ---- */

DEVICE_CALL(nvmlDeviceGetTotalEccErrors,
            (nvml_device device, uint32_t kind, uint32_t counter, uint64_t *ret), {
    if (!g->has_ecc) code = NVML_UNSUPPORTED;
    else *ret = kind == NVML_UNCORRECTED && counter == NVML_VOLATILE ? g->ecc : 0;
})
DEVICE_CALL(nvmlDeviceGetRetiredPagesPendingStatus, (nvml_device device, uint32_t *ret),
            *ret = g->retired)
DEVICE_CALL(nvmlDeviceGetRemappedRows,
            (nvml_device device, uint32_t *corrected, uint32_t *uncorrected, uint32_t *pending,
             uint32_t *failed), {
    *corrected = *uncorrected = 0;
    *pending = g->remap;
    *failed = g->remap_failed;
})
DEVICE_CALL(nvmlDeviceGetFieldValues, (nvml_device device, int n, struct nvml_field *v), {
    for (int i = 0; i < n; i++) {
        v[i].code = v[i].id == NVML_FIELD_RECOVERY ? NVML_OK : NVML_UNSUPPORTED;
        v[i].type = 1;
        v[i].value.u64 = 0;
        v[i].value.u32 = g->recovery;
    }
})

/* ---- events ---- */

static uint32_t watched; /* mask of the one set there is */

CALL(nvmlEventSetCreate, (nvml_events *ret), {
    watched = 0;
    *ret = &watched;
})
int nvmlEventSetFree(nvml_events set)
{
    (void)set;
    return NVML_OK;
}
DEVICE_CALL(nvmlDeviceRegisterEvents, (nvml_device device, uint64_t types, nvml_events set), {
    if (set != &watched || types != NVML_EVENT_XID) code = NVML_INVALID;
    else watched |= 1u << at;
})

static int wait_event(const char *name, struct nvml_event *ret, uint32_t timeout_ms)
{
    const struct fake *f;
    struct fake_xid x;
    int code = world_enter(name, -1, &f);
    if (code) return code;
    world_leave();
    if (!world_next_xid(watched, timeout_ms, &x)) return NVML_TIMEOUT;
    ret->device = world_handle(x.gpu);
    ret->type = NVML_EVENT_XID;
    ret->data = x.xid;
    return NVML_OK;
}
int nvmlEventSetWait_v2(nvml_events set, struct nvml_event *ret, uint32_t timeout_ms)
{
    (void)set;
    int code = wait_event("nvmlEventSetWait_v2", ret, timeout_ms);
    if (code == 0) ret->gpu_instance = ret->compute_instance = UINT32_MAX;
    return code;
}
int nvmlEventSetWait(nvml_events set, struct nvml_event *ret, uint32_t timeout_ms)
{
    (void)set;
    return wait_event("nvmlEventSetWait", ret, timeout_ms);
}
