/* agent/gpu/inject_more.c - what devices need around them: libraries, fabric, processors. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/gpu/cpulist.h"
#include "agent/gpu/inject_impl.h"
#include "base/bitset.h"
#include "base/mem.h"
#include "base/str.h"

#define LIBS_DIR "/usr/local/nvidia/lib64"
#define SMI "/usr/bin/nvidia-smi"

/* ---- libraries */

static bool there(const struct inject *j, const char *path)
{
    struct stat st;
    return fstatat(j->root, path + 1, &st, 0) == 0;
}

/* Path under the root that stands for this machine. */
static bool host_path(const struct inject *j, const char *path, char ret[GRANT_PATH])
{
    const char *root = strcmp(j->root_path, "/") == 0 ? "" : j->root_path;
    return text_fmt(ret, GRANT_PATH, "%s%s", root, path) < GRANT_PATH - 1;
}

static int add_lib(const struct inject *j, const char *path, const char *dir, const char *name,
                   struct grant *g)
{
    struct grant_mount m = {0};
    if (!host_path(j, path, m.from)) return ERR_LIMIT;
    if (text_fmt(m.to, sizeof(m.to), "%s/%s", dir, name) >= GRANT_PATH - 1) return ERR_LIMIT;
    return grant_add_mount(g, &m, NULL);
}

int inject_libs(const struct inject *j, const struct inject_ask *ask, struct grant *g,
                struct err *err)
{
    struct grant_mount smi = {.to = SMI};
    if (strcmp(ask->image, "host") == 0) return 0;
    VEC_EACH(lib, &j->files->libs.libs) {
        if (!there(j, lib->path)) continue; /* the cache may be older than the files */
        if (add_lib(j, lib->path, LIBS_DIR, lib->name, g) < 0)
            return err_set(err, ERR_LIMIT, "too many libraries of the driver");
        if (strcmp(lib->name, "libcuda.so.1") == 0)
            add_lib(j, lib->path, LIBS_DIR, "libcuda.so", g); /* as Numba and others ask */
    }
    if (there(j, SMI) && host_path(j, SMI, smi.from)) {
        int rc = grant_add_mount(g, &smi, err);
        if (rc < 0) return rc;
    }
    return j->files->libs.libs.n > 0 ? grant_add_libs(g, LIBS_DIR, err) : 0;
}

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

void inject_sonames(const struct inject *j, struct grant *g)
{
    uint32_t granted = g->mounts.n;
    VEC_EACH(lib, &j->files->libs.libs) {
        char path[GRANT_PATH], dir[GRANT_PATH];
        if (!host_path(j, lib->path, path)) continue;
        for (uint32_t i = 0; i < granted; i++) {
            const struct grant_mount *m = &g->mounts.v[i];
            if (!same_file(m->from, path)) continue;
            TEXT_CLIP(dir, str_n(m->to, (size_t)(strrchr(m->to, '/') - m->to)));
            if (dir[0] == 0) break;
            add_lib(j, lib->path, dir, lib->name, g);
            if (strcmp(lib->name, "libcuda.so.1") == 0)
                add_lib(j, lib->path, dir, "libcuda.so", g);
            break;
        }
    }
}

/* ---- fabric */

/* All devices of /dev/DIR whose names begin so; *ret_n counts them. */
static int add_all(const struct inject *j, const char *dir, const char *begins, struct grant *g,
                   uint32_t *ret_n, struct err *err)
{
    int rc = 0, fd = openat(j->root, dir + 1, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        if (fd >= 0) close(fd);
        return 0;
    }
    const struct dirent *e;
    while (rc == 0 && (e = readdir(d)) != NULL) {
        struct grant_node n = {.access = "rw", .mode = 0666};
        if (!str_starts(str_of(e->d_name), str_of(begins))) continue;
        text_fmt(n.path, sizeof(n.path), "%s/%s", dir, e->d_name);
        TEXT_SET(n.host, str_of(n.path));
        if (cdi_look(j->root, n.path, &n, NULL) < 0) continue; /* no device */
        rc = grant_add_node(g, &n, err);
        if (rc == 0) ++*ret_n;
    }
    closedir(d);
    return rc;
}

static int lacks(const char *what, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "this node has no %s", what);
}

int inject_fabric(const struct inject *j, const struct inject_ask *ask, struct grant *g,
                  struct err *err)
{
    uint32_t verbs = 0, storage = 0, channels = 0, n = 0;
    int rc = 0;
    if (ask->rdma) {
        g->memlock = true;
        rc = add_all(j, "/dev/infiniband", "uverbs", g, &verbs, err);
        if (rc == 0) rc = add_all(j, "/dev/infiniband", "rdma_cm", g, &n, err);
        if (rc == 0 && verbs == 0) rc = lacks("RDMA devices (/dev/infiniband/uverbs*)", err);
    }
    if (ask->gds && rc == 0) {
        rc = add_all(j, "/dev", "nvidia-fs", g, &storage, err);
        if (rc == 0 && storage == 0) rc = lacks("GPUDirect Storage (/dev/nvidia-fs*)", err);
    }
    if (ask->imex && rc == 0) {
        rc = add_all(j, "/dev/nvidia-caps-imex-channels", "channel0", g, &channels, err);
        if (rc == 0 && channels == 0) rc = lacks("IMEX channel 0", err);
    }
    return rc;
}

/* ---- processors */

/* "Node 0 MemTotal:       65536 kB" */
static int64_t node_memory(const struct inject *j, int64_t node)
{
    char path[96], text[4096];
    size_t n = 0;
    uint64_t kib;
    text_fmt(path, sizeof(path), "sys/devices/system/node/node%lld/meminfo", (long long)node);
    AUTO_FD int root = openat(j->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || file_read(root, path, text, sizeof(text), &n, NULL) < 0) return -1;
    const char *p = strstr(text, "MemTotal:");
    if (!p) return -1;
    p += strlen("MemTotal:");
    p += strspn(p, " ");
    return str_to_u64(str_n(p, strspn(p, "0123456789")), &kib) && kib < INT64_MAX / 1024
               ? (int64_t)kib * 1024 : -1;
}

void inject_near(const struct inject *j, const struct inject_ask *ask, struct grant *g)
{
    struct cpulist near = {{0}}, nodes = {{0}}, own, one;
    bool cpus_known = ask->devices != 0, nodes_known = ask->devices != 0;
    int64_t mem = 0;
    for (uint32_t i = 0; i < j->n_devices; i++) {
        const struct inject_device *d = &j->devices[i];
        if ((ask->devices >> d->index & 1) == 0) continue;
        cpus_known = cpus_known && d->cpus[0] && cpulist_parse(d->cpus, &one);
        if (cpus_known) cpulist_add(&near, &one);
        nodes_known = nodes_known && d->numa_node >= 0 && d->numa_node < CPULIST_MAX;
        if (nodes_known) nodes.word[d->numa_node / 64] |= UINT64_C(1) << (d->numa_node % 64);
    }
    if (!cpus_known) return;
    cpulist_own(&own);
    cpulist_keep(&near, &own);
    if ((int64_t)cpulist_count(&near) * 1000 < ask->cpu_milli) return;
    if (!cpulist_format(&near, g->cpus, sizeof(g->cpus))) return;
    /* Memory that must be near and is not there ends a job: only with room to spare. */
    for (int64_t n = 0; n < CPULIST_MAX && nodes_known; n++) {
        if ((nodes.word[n / 64] >> (n % 64) & 1) == 0) continue;
        int64_t bytes = node_memory(j, n);
        nodes_known = bytes > 0;
        mem += bytes;
    }
    if (nodes_known && ask->mem_bytes <= mem / 2) cpulist_format(&nodes, g->mems, sizeof(g->mems));
}
