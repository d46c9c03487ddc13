/* agent/gpu/inject.h - what a container that was given devices must find inside.
 *
 * The device's own CDI entry where there is one, by UUID, else by the vendor's index; the
 * name "all" never.  Else our own list.  Whatever says so, nothing is granted that is
 * another device's own.  What this machine has is read beforehand (inject_read, slow); a
 * grant is made from memory and a few looks at /dev.
 * docs/spec/node.md, "Devices in a container" */
#ifndef AGENT_GPU_INJECT_H
#define AGENT_GPU_INJECT_H
#include "agent/gpu/cdi.h"
#include "agent/gpu/grant.h"
#include "agent/gpu/ldcache.h"
#include "wire/probe.h"
#include "wire/sync.h"

struct inject_device { /* of the inventory */
    uint32_t index;    /* on this node: a bit of the mask */
    bool simulated;    /* it is told of, and nothing else */
    enum probe_vendor vendor;
    uint32_t vendor_index;
    char uuid[48];
    char cpus[128];    /* near it, or "" */
    int64_t numa_node; /* PROBE_UNKNOWN */
    uint32_t n_nodes;
    struct probe_node nodes[PROBE_NODES_MAX]; /* the first is its own alone */
};
void inject_device_of(const struct probe_device *d, uint32_t index, struct inject_device *ret);

struct inject_opts {
    const char *root;                /* "/", or what stands for it in tests */
    const char *cdi_dirs[CDI_DIRS];  /* weakest first; absolute */
    const char *const *hooks;        /* that may run, NULL-terminated, or NULL; kept */
};
struct inject_ask {
    uint32_t devices;  /* mask */
    bool rdma, gds, imex;
    const char *image; /* "host" has the driver's files already */
    int64_t cpu_milli, mem_bytes;
};

struct inject;
/* ERR_IO: there is no such root. */
int inject_new(const struct inject_opts *o, struct inject **ret, struct err *err);
void inject_free(struct inject *j); /* NULL is fine */
/* What the machine has, from its files; may take a while.  Touches `j` only to read its
 * options, so a worker may do it; inject_take brings the result in. */
struct inject_files *inject_read(const struct inject *j);
void inject_take(struct inject *j, struct inject_files *files); /* and frees what was */
void inject_set_devices(struct inject *j, const struct inject_device *devices, uint32_t n);
/* The same from what this node tells and the inventory has seen; seen() gives NULL for a
 * device that is not there.  inject_told.c */
void inject_set_told(struct inject *j, const struct sync_info *told,
                     const struct probe_device *(*seen)(void *arg, uint32_t index), void *arg);
/* How the devices that are told reach each other, from the report: for sync_info.links. */
void inject_links(const struct probe_report *r, const struct sync_info *told,
                  char ret[LINK_TEXT]);
/* A remark for people: a CDI file that could not be taken, or "". */
const char *inject_remark(const struct inject *j);
/* `ret` is zeroed first and is the caller's, also on failure: grant_done. */
int inject_make(const struct inject *j, const struct inject_ask *ask, struct grant *ret,
                struct err *err);

#endif
