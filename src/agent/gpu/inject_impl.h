/* agent/gpu/inject_impl.h - the parts of inject.c, for its own files alone. */
#ifndef AGENT_GPU_INJECT_IMPL_H
#define AGENT_GPU_INJECT_IMPL_H
#include "agent/gpu/inject.h"
#include "host/file.h"

struct inject_files {
    struct cdi cdi;
    struct ldcache libs;
};
struct inject {
    char root_path[GRANT_PATH], cdi_dirs[CDI_DIRS][GRANT_PATH];
    const char *const *hooks;
    int root;
    struct inject_files *files;
    uint32_t n_devices;
    struct inject_device devices[NODE_DEVICES_MAX];
};

/* The driver's libraries and nvidia-smi, for an image without them. */
int inject_libs(const struct inject *j, const struct inject_ask *ask, struct grant *g,
                struct err *err);
/* Beside each library that is granted, the names by which programs ask for it: what a hook
 * would make with the loader's cache. */
void inject_sonames(const struct inject *j, struct grant *g);
/* RDMA, GPUDirect Storage, IMEX: what was asked for. */
int inject_fabric(const struct inject *j, const struct inject_ask *ask, struct grant *g,
                  struct err *err);
/* Processors and memory near the devices, where they suffice. */
void inject_near(const struct inject *j, const struct inject_ask *ask, struct grant *g);

#endif
