/* probe/nvml.h - what we know of NVIDIA's management library, in our own words.
 *
 * Names of functions, numbers and layouts are facts of its binary interface; no
 * header of the vendor is used.  The library is opened while running, each symbol is
 * optional: what is missing answers NVML_MISSING, as the library itself does where
 * the driver is older than it.
 *
 * Before each call its name goes to nvml_calling, which another thread reads to say
 * where a wedged driver holds us. */
#ifndef PROBE_NVML_H
#define PROBE_NVML_H
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"

enum nvml_code {
    NVML_OK = 0, NVML_UNINITIALIZED = 1, NVML_INVALID = 2, NVML_UNSUPPORTED = 3,
    NVML_NO_PERMISSION = 4, NVML_NOT_FOUND = 6, NVML_SMALL = 7, NVML_NO_POWER = 8,
    NVML_NO_DRIVER = 9, NVML_TIMEOUT = 10, NVML_IRQ = 11, NVML_NO_LIBRARY = 12,
    NVML_MISSING = 13, NVML_INFOROM = 14, NVML_LOST = 15, NVML_RESET = 16,
    NVML_BLOCKED = 17, NVML_MISMATCH = 18, NVML_UNKNOWN = 999,
};
enum { /* arguments and answers */
    NVML_PATH_INTERNAL = 0, NVML_PATH_SINGLE = 10, NVML_PATH_MULTIPLE = 20, NVML_PATH_HOST = 30,
    NVML_PATH_NODE = 40, NVML_PATH_SYSTEM = 50,
    NVML_P2P_NVLINK = 2, NVML_P2P_OK = 0,
    NVML_PEER_GPU = 0, NVML_PEER_SWITCH = 2,
    NVML_LINKS_MAX = 36,
    NVML_UNCORRECTED = 1, NVML_VOLATILE = 0,
    NVML_SENSOR_GPU = 0, NVML_SCOPE_NODE = 0,
    NVML_FIELD_RECOVERY = 230,
    NVML_FABRIC_DONE = 3,
    NVML_EVENT_XID = 8,
    NVML_NO_INDEX = 999, /* eventData of an Xid that the library does not know */
};

typedef void *nvml_device; /* of the library's making; the same for one device while initialised */
typedef void *nvml_events;

struct nvml_pci {
    char legacy[16];
    uint32_t domain, bus, device, device_id, subsystem_id;
    char bus_id[32]; /* "00000000:3B:00.0" */
};
struct nvml_memory { uint64_t total, free, used; };
struct nvml_memory2 { uint32_t version, pad; uint64_t total, reserved, free, used; };
struct nvml_use { uint32_t gpu, memory; };
struct nvml_event {
    nvml_device device;
    uint64_t type, data;
    uint32_t gpu_instance, compute_instance; /* not written by the older call */
};
struct nvml_field {
    uint32_t id, scope;
    int64_t at_us, took_us;
    uint32_t type;   /* 0 double, 1 and 5 int, 2 to 4 long, 6 short */
    int32_t code;
    union { uint64_t u64; uint32_t u32; uint16_t u16; } value;
};
struct nvml_fabric { uint8_t cluster[16]; int32_t status; uint32_t clique; uint8_t state; };
struct nvml_fabric2 { /* as above, with a version before and a mask of its health behind */
    uint32_t version;
    uint8_t cluster[16];
    int32_t status;
    uint32_t clique;
    uint8_t state;
    uint32_t health;
};
_Static_assert(sizeof(struct nvml_pci) == 68, "layout of the library's interface");
_Static_assert(sizeof(struct nvml_memory2) == 40, "layout of the library's interface");
_Static_assert(sizeof(struct nvml_event) == 32, "layout of the library's interface");
_Static_assert(sizeof(struct nvml_field) == 40, "layout of the library's interface");
_Static_assert(sizeof(struct nvml_fabric) == 28, "layout of the library's interface");
_Static_assert(sizeof(struct nvml_fabric2) == 36, "layout of the library's interface");
/* Versions of structs: the size, and a number in the highest byte. */
#define NVML_VERSION(type, n) ((uint32_t)sizeof(type) | ((uint32_t)(n) << 24))

/* name in struct nvml, the library's symbol, its parameters */
#define NVML_FUNCTIONS(F) \
    F(init, nvmlInit_v2, (void)) \
    F(shutdown, nvmlShutdown, (void)) \
    F(driver_version, nvmlSystemGetDriverVersion, (char *, uint32_t)) \
    F(library_version, nvmlSystemGetNVMLVersion, (char *, uint32_t)) \
    F(count, nvmlDeviceGetCount_v2, (uint32_t *)) \
    F(by_index, nvmlDeviceGetHandleByIndex_v2, (uint32_t, nvml_device *)) \
    F(name, nvmlDeviceGetName, (nvml_device, char *, uint32_t)) \
    F(uuid, nvmlDeviceGetUUID, (nvml_device, char *, uint32_t)) \
    F(pci, nvmlDeviceGetPciInfo_v3, (nvml_device, struct nvml_pci *)) \
    F(minor, nvmlDeviceGetMinorNumber, (nvml_device, uint32_t *)) \
    F(memory, nvmlDeviceGetMemoryInfo, (nvml_device, struct nvml_memory *)) \
    F(memory2, nvmlDeviceGetMemoryInfo_v2, (nvml_device, struct nvml_memory2 *)) \
    F(use, nvmlDeviceGetUtilizationRates, (nvml_device, struct nvml_use *)) \
    F(power, nvmlDeviceGetPowerUsage, (nvml_device, uint32_t *)) \
    F(temperature, nvmlDeviceGetTemperature, (nvml_device, uint32_t, uint32_t *)) \
    F(mig, nvmlDeviceGetMigMode, (nvml_device, uint32_t *, uint32_t *)) \
    F(compute3, nvmlDeviceGetComputeRunningProcesses_v3, (nvml_device, uint32_t *, void *)) \
    F(compute2, nvmlDeviceGetComputeRunningProcesses_v2, (nvml_device, uint32_t *, void *)) \
    F(compute1, nvmlDeviceGetComputeRunningProcesses, (nvml_device, uint32_t *, void *)) \
    F(graphics3, nvmlDeviceGetGraphicsRunningProcesses_v3, (nvml_device, uint32_t *, void *)) \
    F(graphics2, nvmlDeviceGetGraphicsRunningProcesses_v2, (nvml_device, uint32_t *, void *)) \
    F(graphics1, nvmlDeviceGetGraphicsRunningProcesses, (nvml_device, uint32_t *, void *)) \
    F(mps3, nvmlDeviceGetMPSComputeRunningProcesses_v3, (nvml_device, uint32_t *, void *)) \
    F(mps2, nvmlDeviceGetMPSComputeRunningProcesses_v2, (nvml_device, uint32_t *, void *)) \
    F(mps1, nvmlDeviceGetMPSComputeRunningProcesses, (nvml_device, uint32_t *, void *)) \
    F(ancestor, nvmlDeviceGetTopologyCommonAncestor, (nvml_device, nvml_device, uint32_t *)) \
    F(p2p, nvmlDeviceGetP2PStatus, (nvml_device, nvml_device, uint32_t, uint32_t *)) \
    F(link_state, nvmlDeviceGetNvLinkState, (nvml_device, uint32_t, uint32_t *)) \
    F(link_peer, nvmlDeviceGetNvLinkRemotePciInfo_v2, \
      (nvml_device, uint32_t, struct nvml_pci *)) \
    F(link_type, nvmlDeviceGetNvLinkRemoteDeviceType, (nvml_device, uint32_t, uint32_t *)) \
    F(nodes, nvmlDeviceGetMemoryAffinity, (nvml_device, uint32_t, unsigned long *, uint32_t)) \
    F(cpus, nvmlDeviceGetCpuAffinity, (nvml_device, uint32_t, unsigned long *)) \
    F(ecc, nvmlDeviceGetTotalEccErrors, (nvml_device, uint32_t, uint32_t, uint64_t *)) \
    F(retired, nvmlDeviceGetRetiredPagesPendingStatus, (nvml_device, uint32_t *)) \
    F(remapped, nvmlDeviceGetRemappedRows, \
      (nvml_device, uint32_t *, uint32_t *, uint32_t *, uint32_t *)) \
    F(fields, nvmlDeviceGetFieldValues, (nvml_device, int, struct nvml_field *)) \
    F(fabric2, nvmlDeviceGetGpuFabricInfoV, (nvml_device, struct nvml_fabric2 *)) \
    F(fabric, nvmlDeviceGetGpuFabricInfo, (nvml_device, struct nvml_fabric *)) \
    F(set_create, nvmlEventSetCreate, (nvml_events *)) \
    F(set_free, nvmlEventSetFree, (nvml_events)) \
    F(set_add, nvmlDeviceRegisterEvents, (nvml_device, uint64_t, nvml_events)) \
    F(set_wait2, nvmlEventSetWait_v2, (nvml_events, struct nvml_event *, uint32_t)) \
    F(set_wait, nvmlEventSetWait, (nvml_events, struct nvml_event *, uint32_t))

struct nvml {
    void *library;
#define NVML_POINTER_(name, symbol, args) int (*name) args;
    NVML_FUNCTIONS(NVML_POINTER_)
#undef NVML_POINTER_
};

/* The symbol's name while a call is under way, else NULL. */
extern const char *_Atomic nvml_calling;
static inline int nvml_called_(int code)
{
    atomic_store(&nvml_calling, NULL);
    return code;
}
/* NVML_CALL(&n, count, &count): an enum nvml_code, or one that we do not know. */
#define NVML_CALL(n, fn, ...) \
    ((n)->fn ? (atomic_store(&nvml_calling, #fn), nvml_called_((n)->fn(__VA_ARGS__))) \
             : NVML_MISSING)

/* ERR_NOT_FOUND: there is no such library; ERR_INVALID: it is none of this kind. */
int nvml_open(const char *path, struct nvml *ret, struct err *err);
void nvml_close(struct nvml *n); /* does not shut it down */
const char *nvml_symbol(const char *name); /* "nvmlDeviceGetCount_v2" of "count" */
const char *nvml_text(int code);           /* "the GPU is lost" */
/* The file that holds the library's code, links followed; "" when unknown. */
void nvml_file(const struct nvml *n, char *ret, size_t cap);

#endif
