/* probe/nvidia_impl.h - the parts of nvidia.c.  For src/probe/nvidia*.c alone. */
#ifndef PROBE_NVIDIA_IMPL_H
#define PROBE_NVIDIA_IMPL_H
#include "probe/nvidia.h"
#include "probe/nvml.h"

struct nvidia_known { /* names outlive the device's silence */
    nvml_device handle;      /* NULL: it gives none */
    char uuid[48], pci[20], model[64];
};

struct nvidia {
    const struct tree *t;
    char *path;              /* given, or NULL */
    struct nvml lib;         /* library NULL: not open */
    bool initialised;
    int64_t initialised_ms, scanned_ms;
    bool has_pci;            /* such a GPU is on the bus, at the last scan */
    uint32_t n_known;
    struct nvidia_known known[NODE_DEVICES_MAX]; /* by the library's index */
    /* Topology changes with the devices and seldom else. */
    VEC(struct probe_link) links;
    int64_t links_ms;
    char links_of[NODE_DEVICES_MAX][48];
    uint32_t n_links_of;
    nvml_events events;
    bool events_all;         /* each device tells */
    bool handles_changed;    /* since the events were asked for */
};

/* ---- nvidia_proc.c: what the kernel's part says ---- */
struct nvidia_listed { char uuid[48], pci[20], model[64]; int64_t minor; };
struct nvidia_list { struct nvidia_listed v[NODE_DEVICES_MAX]; uint32_t n; };
/* "550.54.15"; false: the driver is not loaded, or says something else. */
bool nvidia_proc_version(const struct tree *t, char *ret, size_t cap);
void nvidia_proc_list(const struct tree *t, struct nvidia_list *ret);
bool nvidia_on_bus(const struct tree *t);
/* The first word of a text that is a version; false: none. */
bool nvidia_version_in(const char *text, char *ret, size_t cap);
/* Whether they are of one release: a part that only one of them says counts for nothing. */
bool nvidia_same_version(const char *a, const char *b);

/* ---- nvidia_device.c ---- */
/* Everything of one device that is known by its name already. */
void nvidia_facts(struct nvidia *n, nvml_device h, struct probe_device *d);
/* True when the code says that the device cannot be used; d may learn why. */
bool nvidia_judge(struct probe_device *d, int code);

/* ---- nvidia_processes.c ---- */
void nvidia_processes(const struct nvml *lib, nvml_device h, struct probe_device *d);
/* The size of the `count` entries that begin a buffer whose bytes were all `poison`
 * before; 0: they make no sense. */
uint32_t nvidia_stride(const uint8_t *buf, size_t n, uint32_t count, uint8_t poison);

/* ---- nvidia_links.c ---- */
/* first: where NVIDIA's devices begin in the report, in the order of n->known. */
void nvidia_links(struct nvidia *n, struct probe_report *r, uint32_t first);

/* ---- nvidia_events.c ---- */
void nvidia_events_begin(struct nvidia *n);
void nvidia_events_end(struct nvidia *n);

#endif
