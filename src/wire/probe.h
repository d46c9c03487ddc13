/* wire/probe.h - what the device probe tells the agent.
 *
 * The probe is a process of its own (`rotad probe`), the only one that loads a
 * vendor's library.  It writes one report after another to standard output, each a
 * line of JSON, and one at once when something happened.  It ends when nobody reads
 * it any more, or when its parent does; standard input means nothing to it.  The
 * agent believes nothing of it unchecked and never waits for it: a probe that is
 * silent past its deadline makes the devices unreadable, which is neither zero nor
 * healthy.
 *
 * A call of a library that does not come back holds up the reading, not the telling:
 * the reports go on, without devices, not complete, with the call's name in `error`
 * and with what the kernel's log says meanwhile.  After PROBE_STALL_MS the probe ends
 * itself; where the call holds it in the kernel it cannot, and falls silent.
 *
 * Numbers that could not be read are PROBE_UNKNOWN; texts are "".
 * docs/spec/node.md, "Devices" */
#ifndef WIRE_PROBE_H
#define WIRE_PROBE_H
#include <stdbool.h>
#include <stdint.h>
#include "core/model/node.h" /* NODE_DEVICES_MAX */
#include "wire/table.h"

#define PROBE_UNKNOWN INT64_C(-1)
#define PROBE_PROCESSES_MAX 256
#define PROBE_EVENTS_MAX 256
#define PROBE_NODES_MAX 8
#define PROBE_LINKS_MAX (NODE_DEVICES_MAX * (NODE_DEVICES_MAX - 1) / 2)
#define PROBE_INTERVAL_MS 1000 /* between reports */
#define PROBE_STALL_MS 20000   /* in one reading: it gives up */

enum probe_vendor { PROBE_NVIDIA = 1, PROBE_AMD, PROBE_INTEL, PROBE_VENDORS };
/* How two devices reach each other; the larger the better. */
enum probe_path {
    PROBE_PATH_UNKNOWN = 0,
    PROBE_PATH_SYSTEM, /* across sockets */
    PROBE_PATH_NODE,   /* same NUMA node, other host bridges */
    PROBE_PATH_HOST,   /* same host bridge */
    PROBE_PATH_SWITCH, /* PCIe switches only */
    PROBE_PATH_LINK1,  /* LINK1 + n - 1: n direct links (NVLink, xGMI), up to 18 */
    PROBE_PATH_LINK18 = PROBE_PATH_LINK1 + 17,
    PROBE_PATHS
};

struct probe_node { char path[64]; uint32_t major, minor; }; /* a character device under /dev */
struct probe_process { uint32_t pid; int64_t mem_bytes; };
struct probe_device {
    enum probe_vendor vendor;
    uint32_t index;                 /* as the vendor counts */
    char uuid[48];                  /* "GPU-...", "AMD-...", "INTEL-..."; "": not known, which only
                                     * a report that is not complete may say */
    char model[64], pci[20];        /* "0000:3b:00.0" */
    int64_t mem_bytes, mem_used_bytes;
    int64_t sm_percent, mem_percent, power_mw, temperature_c;
    int64_t numa_node;              /* PROBE_UNKNOWN: none */
    char cpus[128];                 /* "0-15,32-47": near it */
    bool mig;                       /* MIG mode on: not offered as a whole device */
    bool lost;                      /* listed, but calls say that it fell off the bus */
    int64_t ecc_uncorrected;        /* volatile, since the driver loaded */
    int64_t retired_pending, remap_pending, remap_failed; /* 0, 1 */
    int64_t recovery_action;        /* of the driver: 0 none, 1 GPU reset, 2 node reboot, 3 drain
                                     * peers, 4 drain and reset */
    char fabric[56];                /* cluster and clique of the NVLink fabric, or "" */
    uint32_t n_nodes;
    struct probe_node nodes[PROBE_NODES_MAX]; /* /dev/nvidia0, /dev/dri/renderD128 ... */
    bool processes_known;           /* the list is what there is; false: it could not be read */
    VEC(struct probe_process) processes;
};
struct probe_link { uint32_t a, b; enum probe_path path; }; /* positions in devices[], a < b */
/* Something that happened: an Xid (code > 0).  One of uuid and pci may be "". */
struct probe_event {
    char uuid[48], pci[20];
    uint32_t xid;
    int64_t at_ms; /* wall clock */
    char text[128];
};

struct probe_report {
    uint64_t seq;                   /* from 1 */
    bool complete;                  /* every vendor that is present was read: absent means gone */
    char driver[32], library[32];   /* versions: of the kernel's part, of the library */
    bool mismatch;                  /* these differ: nothing new may start on them */
    char error[160];                /* why it is not complete, for people */
    bool xid_nvml, xid_kmsg;        /* who tells of Xids; neither: they go unseen */
    uint32_t n_devices;
    struct probe_device devices[NODE_DEVICES_MAX];
    VEC(struct probe_link) links;
    VEC(struct probe_event) events; /* since the report before */
};
extern const struct wire_table wire_probe_report;
/* Nothing known: wire_init reaches lists as they are parsed alone. */
void probe_device_init(struct probe_device *d);
extern const struct wire_name names_probe_vendor[], names_probe_path[];

#endif
