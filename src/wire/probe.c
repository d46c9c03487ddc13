/* wire/probe.c - tables of the device probe's reports.
 *
 * What a report says twice or says of devices that it does not list is an error of
 * the whole report: the probe is another program, perhaps of another version, with
 * a vendor's code inside. */
#include "wire/probe.h"

#define NEED .flags = WIRE_REQUIRED
#define OMIT .flags = WIRE_OMIT
/* A number that may be unknown, and is left out then. */
#define MAYBE(top) .flags = WIRE_OMIT, .min = PROBE_UNKNOWN, .max = (top), .def = PROBE_UNKNOWN
#define BYTES_MAX (INT64_C(1) << 50)

const struct wire_name names_probe_vendor[] = {
    {PROBE_NVIDIA, "nvidia"}, {PROBE_AMD, "amd"}, {PROBE_INTEL, "intel"}, {0, NULL},
};

#define LINK(n) {PROBE_PATH_LINK1 + (n) - 1, "link" #n}
const struct wire_name names_probe_path[] = {
    {PROBE_PATH_UNKNOWN, "unknown"}, {PROBE_PATH_SYSTEM, "system"}, {PROBE_PATH_NODE, "node"},
    {PROBE_PATH_HOST, "host"},       {PROBE_PATH_SWITCH, "switch"}, LINK(1),
    LINK(2),  LINK(3),  LINK(4),  LINK(5),  LINK(6),  LINK(7),  LINK(8),  LINK(9),  LINK(10),
    LINK(11), LINK(12), LINK(13), LINK(14), LINK(15), LINK(16), LINK(17), LINK(18), {0, NULL},
};
_Static_assert(ARRAY_LEN(names_probe_path) == PROBE_PATHS + 1, "each path has its name");

static const struct wire_field node_fields[] = {
    WIRE_F_TEXT(struct probe_node, path, "path", NEED, .min = 1),
    WIRE_F_U32(struct probe_node, major, "major", NEED, .max = 4095),
    WIRE_F_U32(struct probe_node, minor, "minor", NEED, .max = (1 << 20) - 1),
};
static const struct wire_table node_table = WIRE_TABLE("node", struct probe_node, node_fields);

static const struct wire_field process_fields[] = {
    WIRE_F_U32(struct probe_process, pid, "pid", NEED, .min = 1, .max = INT32_MAX),
    WIRE_F_I64(struct probe_process, mem_bytes, "mem_bytes", MAYBE(BYTES_MAX)),
};
static const struct wire_table process_table =
    WIRE_TABLE("process", struct probe_process, process_fields);

#define D struct probe_device
static const struct wire_field device_fields[] = {
    WIRE_F_ENUM(D, vendor, "vendor", names_probe_vendor, NEED),
    WIRE_F_U32(D, index, "index", NEED, .max = 1023),
    WIRE_F_TEXT(D, uuid, "uuid", OMIT),
    WIRE_F_TEXT(D, model, "model", OMIT),
    WIRE_F_TEXT(D, pci, "pci", OMIT),
    WIRE_F_I64(D, mem_bytes, "mem_bytes", MAYBE(BYTES_MAX)),
    WIRE_F_I64(D, mem_used_bytes, "mem_used_bytes", MAYBE(BYTES_MAX)),
    WIRE_F_I64(D, sm_percent, "sm_percent", MAYBE(100)),
    WIRE_F_I64(D, mem_percent, "mem_percent", MAYBE(100)),
    WIRE_F_I64(D, power_mw, "power_mw", MAYBE(100 * 1000 * 1000)),
    WIRE_F_I64(D, temperature_c, "temperature_c", MAYBE(1000)),
    WIRE_F_I64(D, numa_node, "numa_node", MAYBE(65535)),
    WIRE_F_TEXT(D, cpus, "cpus", OMIT),
    WIRE_F_BOOL(D, mig, "mig", OMIT),
    WIRE_F_BOOL(D, lost, "lost", OMIT),
    WIRE_F_I64(D, ecc_uncorrected, "ecc_uncorrected", MAYBE(INT64_MAX)),
    WIRE_F_I64(D, retired_pending, "retired_pending", MAYBE(1)),
    WIRE_F_I64(D, remap_pending, "remap_pending", MAYBE(1)),
    WIRE_F_I64(D, remap_failed, "remap_failed", MAYBE(1)),
    WIRE_F_I64(D, recovery_action, "recovery_action", MAYBE(1000)),
    WIRE_F_TEXT(D, fabric, "fabric", OMIT),
    WIRE_F_ARRAY(D, nodes, n_nodes, "nodes", &node_table, OMIT),
    WIRE_F_BOOL(D, processes_known, "processes_known", OMIT),
    WIRE_F_LIST(D, processes, "processes", &process_table, PROBE_PROCESSES_MAX, OMIT),
};
static const struct wire_table device_table = WIRE_TABLE("device", D, device_fields);
#undef D

void probe_device_init(struct probe_device *d) { wire_init(&device_table, d); }

static const struct wire_field link_fields[] = {
    WIRE_F_U32(struct probe_link, a, "a", NEED, .max = NODE_DEVICES_MAX - 1),
    WIRE_F_U32(struct probe_link, b, "b", NEED, .max = NODE_DEVICES_MAX - 1),
    WIRE_F_ENUM(struct probe_link, path, "path", names_probe_path, NEED),
};
static const struct wire_table link_table = WIRE_TABLE("link", struct probe_link, link_fields);

static const struct wire_field event_fields[] = {
    WIRE_F_TEXT(struct probe_event, uuid, "uuid", OMIT),
    WIRE_F_TEXT(struct probe_event, pci, "pci", OMIT),
    WIRE_F_U32(struct probe_event, xid, "xid", NEED, .min = 1, .max = UINT32_MAX),
    WIRE_F_I64(struct probe_event, at_ms, "at_ms", NEED, .min = 0, .max = INT64_MAX),
    WIRE_F_TEXT(struct probe_event, text, "text", OMIT),
};
static const struct wire_table event_table = WIRE_TABLE("event", struct probe_event, event_fields);

static int wrong(struct err *err, const char *field, const char *what, uint32_t at)
{
    err_set(err, ERR_INVALID, "entry %u %s", at, what);
    err_field(err, field);
    return ERR_INVALID;
}

/* The fields that name a device name one only. */
static int check_devices(const struct probe_report *r, struct err *err)
{
    for (uint32_t i = 0; i < r->n_devices; i++) {
        const struct probe_device *d = &r->devices[i];
        if (!d->uuid[0] && (r->complete || !d->pci[0])) {
            return wrong(err, "devices", "has no name: a UUID, or where the report is not "
                                         "complete a PCI address", i);
        }
        for (uint32_t k = 0; k < i; k++) {
            if (d->uuid[0] && strcmp(d->uuid, r->devices[k].uuid) == 0)
                return wrong(err, "devices", "has the UUID of one before it", i);
            if (d->pci[0] && strcmp(d->pci, r->devices[k].pci) == 0)
                return wrong(err, "devices", "has the PCI address of one before it", i);
        }
    }
    return 0;
}

static int finish_report(void *obj, struct err *err)
{
    const struct probe_report *r = obj;
    bool linked[NODE_DEVICES_MAX][NODE_DEVICES_MAX] = {{false}};
    for (uint32_t i = 0; i < r->links.n; i++) {
        const struct probe_link *l = &r->links.v[i];
        if (l->a >= l->b || l->b >= r->n_devices)
            return wrong(err, "links", "is not of two devices of the list, the lower one first", i);
        if (linked[l->a][l->b]) return wrong(err, "links", "stands there twice", i);
        linked[l->a][l->b] = true;
    }
    for (uint32_t i = 0; i < r->events.n; i++) {
        if (!r->events.v[i].uuid[0] && !r->events.v[i].pci[0])
            return wrong(err, "events", "names no device: a UUID or a PCI address", i);
    }
    if (r->complete && r->mismatch)
        return wrong(err, "complete", "cannot be where the versions differ", 0);
    return check_devices(r, err);
}

#define R struct probe_report
static const struct wire_field report_fields[] = {
    WIRE_F_U64(R, seq, "seq", NEED, .min = 1, .max = INT64_MAX),
    WIRE_F_BOOL(R, complete, "complete", NEED),
    WIRE_F_TEXT(R, driver, "driver", OMIT),
    WIRE_F_TEXT(R, library, "library", OMIT),
    WIRE_F_BOOL(R, mismatch, "mismatch", OMIT),
    WIRE_F_TEXT(R, error, "error", OMIT),
    WIRE_F_BOOL(R, xid_nvml, "xid_nvml", OMIT),
    WIRE_F_BOOL(R, xid_kmsg, "xid_kmsg", OMIT),
    WIRE_F_ARRAY(R, devices, n_devices, "devices", &device_table, NEED),
    WIRE_F_LIST(R, links, "links", &link_table, PROBE_LINKS_MAX, OMIT),
    WIRE_F_LIST(R, events, "events", &event_table, PROBE_EVENTS_MAX, OMIT),
};
const struct wire_table wire_probe_report = WIRE_TABLE("probe report", R, report_fields,
                                                       .finish = finish_report,
                                                       .max_bytes = (size_t)1 << 20);
