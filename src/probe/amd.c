/* probe/amd.c - see amd.h.  docs/spec/node.md, "Devices" */
#include "probe/amd.h"

#include <string.h>

#include "probe/drm.h"

#define NODES "class/kfd/kfd/topology/nodes"
#define XGMI 11 /* type of a link */
#define BYTES_MAX ((uint64_t)1 << 50)

struct kfd_node { /* of the device at the same place of the report */
    int64_t number, gpu_id;
};

/* ---- faults ---- */

bool amd_uncorrected(struct str text, int64_t *ret)
{
    while (text.n > 0) {
        struct str line, key;
        int64_t v;
        (void)str_cut(&text, '\n', &line);
        if (!str_cut(&line, ':', &key) || !str_eq(str_trim(key), STR("ue"))) continue;
        if (!str_to_i64(str_trim(line), &v) || v < 0) return false;
        *ret = v;
        return true;
    }
    return false;
}

static void read_counts(const struct tree *t, const struct drm_card *c, struct probe_device *d)
{
    char dir[96], text[256];
    struct tree_names names;
    text_fmt(dir, sizeof(dir), "class/drm/%s/device/ras", c->name);
    if (tree_list(t->sys, dir, "", &names) < 0) return;
    for (uint32_t i = 0; i < names.n; i++) {
        char file[96];
        int64_t v;
        if (!str_ends(str_of(names.v[i]), STR("_err_count"))) continue;
        text_fmt(file, sizeof(file), "ras/%s", names.v[i]);
        if (drm_read(t, c, file, text, sizeof(text)) <= 0) continue;
        if (!amd_uncorrected(str_of(text), &v)) continue;
        int64_t had = d->ecc_uncorrected == PROBE_UNKNOWN ? 0 : d->ecc_uncorrected;
        d->ecc_uncorrected = v <= INT64_MAX - had ? had + v : INT64_MAX;
    }
}

/* "0x00000001 : 0x00001000 : P": reserved, pending, or failed to be. */
static void read_bad_pages(const struct tree *t, const struct drm_card *c, struct probe_device *d)
{
    char text[8192];
    if (drm_read(t, c, "ras/gpu_vram_bad_pages", text, sizeof(text)) < 0) return;
    struct str rest = str_of(text);
    d->retired_pending = d->remap_failed = 0;
    while (rest.n > 0) {
        struct str line;
        (void)str_cut(&rest, '\n', &line);
        if (str_ends(line, STR(": P"))) d->retired_pending = 1;
        if (str_ends(line, STR(": F"))) d->remap_failed = 1;
    }
}

/* ---- KFD ---- */

/* "key value" of a file of such lines. */
static bool property(struct str text, const char *name, int64_t *ret)
{
    while (text.n > 0) {
        struct str line, key;
        (void)str_cut(&text, '\n', &line);
        if (str_cut(&line, ' ', &key) && str_eq(key, str_of(name)))
            return str_to_i64(str_trim(line), ret);
    }
    return false;
}

static struct kfd_node find_node(const struct tree *t, const struct drm_card *c)
{
    struct tree_names names;
    struct kfd_node none = {PROBE_UNKNOWN, PROBE_UNKNOWN};
    int64_t render;
    if (!c->render[0] || !str_to_i64(str_of(c->render + strlen("renderD")), &render)) return none;
    if (tree_list(t->sys, NODES, "", &names) < 0) return none;
    for (uint32_t i = 0; i < names.n; i++) {
        char path[128], text[4096];
        struct kfd_node k;
        int64_t minor;
        text_fmt(path, sizeof(path), NODES "/%s/properties", names.v[i]);
        if (tree_read(t->sys, path, text, sizeof(text)) <= 0) continue;
        if (!property(str_of(text), "drm_render_minor", &minor) || minor != render) continue;
        text_fmt(path, sizeof(path), NODES "/%s/gpu_id", names.v[i]);
        if (!str_to_i64(str_of(names.v[i]), &k.number)) continue;
        if (!tree_number(t->sys, path, &k.gpu_id)) k.gpu_id = PROBE_UNKNOWN;
        return k;
    }
    return none;
}

static void read_processes(const struct tree *t, struct kfd_node k, struct probe_device *d)
{
    struct tree_names pids;
    if (k.gpu_id <= 0 || tree_list(t->sys, "class/kfd/kfd/proc", "", &pids) < 0) return;
    d->processes_known = true;
    for (uint32_t i = 0; i < pids.n; i++) {
        char path[160];
        int64_t pid, mem;
        text_fmt(path, sizeof(path), "class/kfd/kfd/proc/%s/vram_%lld", pids.v[i],
                 (long long)k.gpu_id);
        if (!str_to_i64(str_of(pids.v[i]), &pid) || pid <= 0 || pid > INT32_MAX) continue;
        if (!tree_number(t->sys, path, &mem) || mem <= 0) continue; /* it does not use this one */
        if (d->processes.n == PROBE_PROCESSES_MAX) {
            d->processes_known = false;
            return;
        }
        struct probe_process one = {.pid = (uint32_t)pid, .mem_bytes = PROBE_UNKNOWN};
        survey_put(&one.mem_bytes, (uint64_t)mem, BYTES_MAX);
        VEC_PUSH(&d->processes, one);
    }
}

static void read_links(const struct tree *t, struct probe_report *r, uint32_t first,
                       const struct kfd_node *nodes)
{
    for (uint32_t a = first; a < r->n_devices; a++) {
        char dir[96];
        struct tree_names names;
        text_fmt(dir, sizeof(dir), NODES "/%lld/io_links", (long long)nodes[a - first].number);
        if (nodes[a - first].number < 0 || tree_list(t->sys, dir, "", &names) < 0) continue;
        for (uint32_t i = 0; i < names.n; i++) {
            char path[192], text[1024];
            int64_t type, to;
            text_fmt(path, sizeof(path), "%s/%s/properties", dir, names.v[i]);
            if (tree_read(t->sys, path, text, sizeof(text)) <= 0) continue;
            if (!property(str_of(text), "type", &type) || type != XGMI) continue;
            if (!property(str_of(text), "node_to", &to)) continue;
            for (uint32_t b = first; b < r->n_devices; b++)
                if (nodes[b - first].number == to) survey_link(r, a, b, PROBE_PATH_LINK1);
        }
    }
}

/* ---- devices ---- */

static void read_model(const struct tree *t, const struct drm_card *c, struct kfd_node k,
                       struct probe_device *d)
{
    char path[128], text[sizeof(d->model)];
    if (drm_read(t, c, "product_name", text, sizeof(text)) > 0) {
        TEXT_CLIP(d->model, str_of(text));
        return;
    }
    drm_model(c, "AMD", d);
    text_fmt(path, sizeof(path), NODES "/%lld/name", (long long)k.number);
    if (k.number >= 0 && tree_read(t->sys, path, text, sizeof(text)) > 0)
        text_fmt(d->model, sizeof(d->model), "AMD %.40s", text);
}

static void read_facts(const struct tree *t, const struct drm_card *c, struct probe_device *d)
{
    char text[64];
    int64_t v;
    int rc = drm_read(t, c, "mem_info_vram_total", text, sizeof(text));
    if (rc == ERR_IO) d->lost = true; /* the kernel has it on its list, and no answer */
    if (rc > 0 && str_to_i64(str_of(text), &v) && v >= 0)
        survey_put(&d->mem_bytes, (uint64_t)v, BYTES_MAX);
    if (drm_number(t, c, "mem_info_vram_used", &v) && v >= 0)
        survey_put(&d->mem_used_bytes, (uint64_t)v, BYTES_MAX);
    if (drm_number(t, c, "gpu_busy_percent", &v) && v >= 0)
        survey_put(&d->sm_percent, (uint64_t)v, 100);
    if (drm_number(t, c, "mem_busy_percent", &v) && v >= 0)
        survey_put(&d->mem_percent, (uint64_t)v, 100);
    read_counts(t, c, d);
    read_bad_pages(t, c, d);
}

/* 1: it is listed; 0: it is none of ours; a code: it does not read. */
static int unique_id(const struct tree *t, const struct drm_card *c, char ret[48])
{
    char text[32];
    int n = drm_read(t, c, "unique_id", text, sizeof(text));
    if (n == ERR_IO) return n;
    if (n <= 0 || strspn(text, "0123456789abcdefABCDEF") != (size_t)n) return 0;
    if (strspn(text, "0") == (size_t)n) return 0;
    text_fmt(ret, 48, "AMD-%s", text);
    return 1;
}

void amd_read(const struct tree *t, struct probe_report *r)
{
    struct drm_cards cards;
    struct kfd_node nodes[NODE_DEVICES_MAX];
    uint32_t first = r->n_devices;
    if (drm_list(t, 0x1002, &cards) < 0) {
        survey_fail(r, "/sys/class/drm does not read");
        return;
    }
    for (uint32_t i = 0; i < cards.n; i++) {
        const struct drm_card *c = &cards.v[i];
        char uuid[48];
        int rc = unique_id(t, c, uuid);
        if (rc < 0) survey_fail(r, "the unique id of %s does not read", c->pci);
        struct probe_device *d = rc > 0 ? survey_add(r, PROBE_AMD, r->n_devices - first) : NULL;
        if (!d) continue;
        (void)TEXT_SET(d->uuid, str_of(uuid));
        struct kfd_node k = nodes[r->n_devices - first - 1] = find_node(t, c);
        drm_common(t, c, d);
        survey_node(t, d, "kfd");
        read_model(t, c, k, d);
        read_facts(t, c, d);
        read_processes(t, k, d);
    }
    drm_links(t, r, first);
    read_links(t, r, first, nodes);
}
