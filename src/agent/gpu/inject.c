/* agent/gpu/inject.c - see inject.h. */
#include "agent/gpu/inject.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "agent/gpu/inject_impl.h"
#include "base/bitset.h"
#include "base/check.h"
#include "base/mem.h"
#include "base/str.h"

int inject_new(const struct inject_opts *o, struct inject **ret, struct err *err)
{
    struct inject *j = mem_alloc(sizeof(*j));
    TEXT_CLIP(j->root_path, str_of(o->root));
    for (int i = 0; i < CDI_DIRS; i++) TEXT_CLIP(j->cdi_dirs[i], str_of(o->cdi_dirs[i]));
    j->hooks = o->hooks;
    j->root = open(o->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (j->root < 0) {
        mem_free(j);
        return err_sys(err, ERR_IO, errno, "%s", o->root);
    }
    j->files = mem_alloc(sizeof(*j->files));
    *ret = j;
    return 0;
}

static void files_free(struct inject_files *f)
{
    if (!f) return;
    cdi_done(&f->cdi);
    ldcache_done(&f->libs);
    mem_free(f);
}

void inject_free(struct inject *j)
{
    if (!j) return;
    files_free(j->files);
    close(j->root);
    mem_free(j);
}

struct inject_files *inject_read(const struct inject *j)
{
    struct inject_files *f = mem_alloc(sizeof(*f));
    const char *const dirs[CDI_DIRS] = {j->cdi_dirs[0], j->cdi_dirs[1]};
    AUTO_FD int root = open(j->root_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cdi_load(&f->cdi, dirs);
    if (root >= 0) ldcache_load(root, &f->libs, NULL); /* without it: no libraries to give */
    return f;
}

void inject_take(struct inject *j, struct inject_files *files)
{
    files_free(j->files);
    j->files = files;
}

void inject_device_of(const struct probe_device *d, uint32_t index, struct inject_device *ret)
{
    *ret = (struct inject_device){.index = index, .vendor = d->vendor, .vendor_index = d->index,
                                  .numa_node = d->numa_node, .n_nodes = d->n_nodes};
    TEXT_CLIP(ret->uuid, str_of(d->uuid));
    TEXT_CLIP(ret->cpus, str_of(d->cpus));
    CHECK(d->n_nodes <= PROBE_NODES_MAX);
    memcpy(ret->nodes, d->nodes, d->n_nodes * sizeof(*d->nodes));
}

void inject_set_devices(struct inject *j, const struct inject_device *devices, uint32_t n)
{
    CHECK(n <= NODE_DEVICES_MAX);
    memcpy(j->devices, devices, n * sizeof(*devices));
    j->n_devices = n;
}

const char *inject_remark(const struct inject *j) { return j->files->cdi.why; }

/* ---- one device */

static const struct inject_device *device_at(const struct inject *j, uint32_t index)
{
    for (uint32_t i = 0; i < j->n_devices; i++)
        if (j->devices[i].index == index) return &j->devices[i];
    return NULL;
}

static const char *kind_of(enum probe_vendor vendor)
{
    switch (vendor) {
    case PROBE_NVIDIA: return "nvidia.com/gpu";
    case PROBE_AMD: return "amd.com/gpu";
    case PROBE_INTEL: return "intel.com/gpu";
    case PROBE_VENDORS: break;
    }
    return "none";
}

static int by_cdi(const struct inject *j, const struct inject_device *d, struct grant *g,
                  struct err *err)
{
    const struct cdi_file *file;
    const struct cdi_item *item;
    const struct cdi_rules rules = {.hooks = j->hooks, .root = j->root};
    struct err why = {0};
    char index[12];
    text_fmt(index, sizeof(index), "%u", d->vendor_index);
    int rc = cdi_find(&j->files->cdi, kind_of(d->vendor), d->uuid, &file, &item, &why);
    if (rc == ERR_NOT_FOUND)
        rc = cdi_find(&j->files->cdi, kind_of(d->vendor), index, &file, &item, &why);
    if (rc < 0) {
        if (err) *err = why;
        return rc;
    }
    rc = cdi_apply(&file->spec.edits, &rules, g, err);
    if (rc == 0) rc = cdi_apply(&item->edits, &rules, g, err);
    if (rc < 0) {
        err_prefix(err, "%s", file->name);
        return rc == ERR_NOT_FOUND ? ERR_IO : rc; /* not "no file names it" */
    }
    for (uint32_t i = 0; i < g->nodes.n && d->n_nodes > 0; i++)
        if (g->nodes.v[i].major == d->nodes[0].major && g->nodes.v[i].minor == d->nodes[0].minor)
            return 0;
    if (d->n_nodes == 0) return 0;
    return err_set(err, ERR_CONFLICT, "%s does not give %s, which %s=%s should be", file->name,
                   d->nodes[0].path, kind_of(d->vendor), item->name);
}

/* A node of this machine under its own path. */
static int add_own(const struct inject *j, const char *path, bool needed, struct grant *g,
                   struct err *err)
{
    struct grant_node n = {.access = "rw", .mode = 0666};
    struct err why = {0};
    if (!TEXT_SET(n.path, str_of(path)) || !TEXT_SET(n.host, str_of(path)))
        return err_set(err, ERR_LIMIT, "%.80s: too long", path);
    int rc = cdi_look(j->root, path, &n, &why);
    if (rc == ERR_NOT_FOUND && !needed) return 0;
    if (rc < 0) {
        if (err) *err = why;
        return rc;
    }
    return grant_add_node(g, &n, err);
}

static int by_list(const struct inject *j, const struct inject_device *d, struct grant *g,
                   struct err *err)
{
    static const char *const nvidia[] = {"/dev/nvidiactl", "/dev/nvidia-uvm",
                                         "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"};
    int rc = 0;
    if (d->n_nodes == 0)
        return err_set(err, ERR_NOT_FOUND, "device %u (%s) has no node in /dev", d->index, d->uuid);
    for (uint32_t i = 0; i < d->n_nodes && rc == 0; i++)
        rc = add_own(j, d->nodes[i].path, true, g, err);
    for (size_t i = 0; i < ARRAY_LEN(nvidia) && rc == 0 && d->vendor == PROBE_NVIDIA; i++)
        rc = add_own(j, nvidia[i], false, g, err);
    if (rc == 0 && d->vendor == PROBE_AMD) rc = add_own(j, "/dev/kfd", true, g, err);
    return rc;
}

/* ---- what must not be in it */

static bool owns(const struct inject_device *d, const struct grant_node *n)
{
    for (uint32_t i = 0; i < d->n_nodes; i++)
        if (d->nodes[i].major == n->major && d->nodes[i].minor == n->minor) return !n->block;
    return false;
}

static int no_others(const struct inject *j, uint32_t mask, const struct grant *g, struct err *err)
{
    VEC_EACH(n, &g->nodes) {
        const struct inject_device *other = NULL;
        bool own = false;
        for (uint32_t i = 0; i < j->n_devices; i++) {
            const struct inject_device *d = &j->devices[i];
            if (!owns(d, n)) continue;
            if ((mask >> d->index & 1) != 0) own = true;
            else other = d;
        }
        if (own || !other) continue; /* what two have belongs to neither alone */
        return err_set(err, ERR_CONFLICT, "%s would be given, which is device %u (%s): the CDI "
                       "file is wrong", n->host, other->index, other->uuid);
    }
    return 0;
}

/* ---- all of it */

static int give_devices(const struct inject *j, const struct inject_ask *ask, struct grant *g,
                        struct err *err)
{
    for (uint32_t left = ask->devices; left != 0; left &= left - 1) {
        const struct inject_device *d = device_at(j, bits_low(left));
        if (!d)
            return err_set(err, ERR_NOT_FOUND, "this node has no device %u any more",
                           bits_low(left));
        if (d->simulated) continue;
        struct err why = {0};
        int rc = by_cdi(j, d, g, &why);
        if (rc == ERR_NOT_FOUND) {
            rc = by_list(j, d, g, &why);
            if (rc == 0 && d->vendor == PROBE_NVIDIA) rc = inject_libs(j, ask, g, &why);
        } else if (rc == 0 && d->vendor == PROBE_NVIDIA) {
            inject_sonames(j, g);
        }
        if (rc < 0) {
            if (err) *err = why;
            return rc;
        }
    }
    return no_others(j, ask->devices, g, err);
}

int inject_make(const struct inject *j, const struct inject_ask *ask, struct grant *ret,
                struct err *err)
{
    *ret = (struct grant){0};
    int rc = give_devices(j, ask, ret, err);
    if (rc == 0) rc = inject_fabric(j, ask, ret, err);
    if (rc == 0) inject_near(j, ask, ret);
    return rc;
}
