/* probe/nvidia.c - which devices there are, in what state the driver is. */
#include "probe/nvidia.h"

#include <string.h>

#include "base/mem.h"
#include "host/proc.h"
#include "probe/nvidia_impl.h"
#include "probe/survey.h"

enum { SCAN_MS = 30000, AGAIN_MS = 30000 };

struct nvidia *nvidia_new(const char *path, const struct tree *t)
{
    struct nvidia *n = mem_alloc(sizeof(*n));
    n->t = t;
    n->path = path ? mem_strndup(path, strlen(path)) : NULL;
    n->scanned_ms = -SCAN_MS - 1;
    return n;
}

static void shut(struct nvidia *n)
{
    nvidia_events_end(n);
    if (n->initialised) (void)NVML_CALL(&n->lib, shutdown);
    n->initialised = false;
    for (uint32_t i = 0; i < n->n_known; i++) n->known[i].handle = NULL;
}

static void unload(struct nvidia *n)
{
    shut(n);
    nvml_close(&n->lib);
}

void nvidia_free(struct nvidia *n)
{
    if (!n) return;
    unload(n);
    VEC_DONE(&n->links);
    mem_free(n->path);
    mem_free(n);
}

/* ---- without the library ---- */

/* What the kernel lists, when the library cannot be asked. */
static void list_kernels(struct nvidia *n, struct probe_report *r)
{
    struct nvidia_list list;
    nvidia_proc_list(n->t, &list);
    for (uint32_t i = 0; i < list.n; i++) {
        struct probe_device *d = survey_add(r, PROBE_NVIDIA, i);
        char path[32];
        if (!d) return;
        (void)TEXT_SET(d->uuid, str_of(list.v[i].uuid));
        (void)TEXT_SET(d->pci, str_of(list.v[i].pci));
        (void)TEXT_SET(d->model, str_of(list.v[i].model));
        survey_place(n->t, d);
        if (list.v[i].minor < 0) continue;
        text_fmt(path, sizeof(path), "nvidia%u", (uint32_t)list.v[i].minor);
        survey_node(n->t, d, path);
    }
}

static bool is_there(struct nvidia *n, const struct probe_report *r)
{
    int64_t now = proc_boot_ms();
    if (n->path || r->driver[0] || tree_exists(n->t->proc, "driver/nvidia/version")) return true;
    if (now - n->scanned_ms > SCAN_MS) {
        n->has_pci = nvidia_on_bus(n->t);
        n->scanned_ms = now;
    }
    return n->has_pci;
}

/* ---- versions ---- */

/* Of the file that is there now, which the next program would load; else what the library
 * says of itself, after the number of CUDA that stands before. */
static void library_version(struct nvidia *n, char *ret, size_t cap)
{
    char file[512], text[80] = "";
    nvml_file(&n->lib, file, sizeof(file));
    const char *so = strstr(file, ".so.");
    if (so && nvidia_version_in(so + 4, ret, cap)) return;
    if (NVML_CALL(&n->lib, library_version, text, sizeof(text) - 1) != NVML_OK) return;
    struct str rest = str_of(text), cuda;
    (void)str_cut(&rest, '.', &cuda);
    (void)text_set(ret, cap, rest);
}

static bool versions_agree(struct nvidia *n, struct probe_report *r)
{
    library_version(n, r->library, sizeof(r->library));
    if (!r->driver[0] && n->initialised)
        (void)NVML_CALL(&n->lib, driver_version, r->driver, sizeof(r->driver) - 1);
    if (!r->driver[0] || !r->library[0] || nvidia_same_version(r->driver, r->library)) return true;
    r->mismatch = true;
    survey_fail(r, "the NVIDIA driver is %s, its library %s", r->driver, r->library);
    return false;
}

/* ---- devices ---- */

static void take_name(struct nvidia *n, uint32_t index, nvml_device h, struct probe_device *d)
{
    struct nvidia_known *k = &n->known[index];
    struct nvml_pci pci = {0};
    char text[96] = "", bus_id[sizeof(pci.bus_id) + 1] = {0};
    if (k->handle != h) n->handles_changed = true;
    k->handle = h;
    int code = NVML_CALL(&n->lib, uuid, h, text, sizeof(text) - 1);
    if (code == NVML_OK) (void)TEXT_SET(k->uuid, str_of(text));
    (void)nvidia_judge(d, code);
    code = NVML_CALL(&n->lib, pci, h, &pci);
    memcpy(bus_id, pci.bus_id, sizeof(pci.bus_id));
    if (code == NVML_OK) (void)survey_pci(str_of(bus_id), k->pci);
    (void)nvidia_judge(d, code);
    text[0] = '\0';
    code = NVML_CALL(&n->lib, name, h, text, sizeof(text) - 1);
    if (code == NVML_OK) TEXT_CLIP(k->model, str_of(text));
    (void)nvidia_judge(d, code);
}

static void put_name(const struct nvidia_known *k, struct probe_device *d)
{
    (void)TEXT_SET(d->uuid, str_of(k->uuid));
    (void)TEXT_SET(d->pci, str_of(k->pci));
    (void)TEXT_SET(d->model, str_of(k->model));
}

static bool is_known(const struct nvidia *n, const struct nvidia_listed *l)
{
    for (uint32_t i = 0; i < n->n_known; i++)
        if (strcmp(n->known[i].pci, l->pci) == 0) return true;
    return false;
}

/* Devices that gave no handle in this life of the library are those that the kernel lists
 * and nobody is; where there are as many, in its order. */
static void name_the_mute(struct nvidia *n)
{
    struct nvidia_list list;
    uint32_t mute = 0, left = 0, at = 0;
    for (uint32_t i = 0; i < n->n_known; i++) mute += !n->known[i].uuid[0];
    if (mute == 0) return;
    nvidia_proc_list(n->t, &list);
    for (uint32_t i = 0; i < list.n; i++)
        if (!is_known(n, &list.v[i])) list.v[left++] = list.v[i];
    if (left != mute) return;
    for (uint32_t i = 0; i < n->n_known; i++) {
        struct nvidia_known *k = &n->known[i];
        if (k->uuid[0]) continue;
        (void)TEXT_SET(k->uuid, str_of(list.v[at].uuid));
        (void)TEXT_SET(k->pci, str_of(list.v[at].pci));
        (void)TEXT_SET(k->model, str_of(list.v[at++].model));
    }
}

static void read_devices(struct nvidia *n, struct probe_report *r, uint32_t count)
{
    int codes[NODE_DEVICES_MAX];
    uint32_t first = r->n_devices;
    if (count != n->n_known) memset(n->known, 0, sizeof(n->known));
    n->n_known = count;
    for (uint32_t i = 0; i < count; i++) {
        nvml_device h = NULL;
        struct probe_device *d = survey_add(r, PROBE_NVIDIA, i);
        codes[i] = NVML_CALL(&n->lib, by_index, i, &h);
        if (codes[i] == NVML_OK) {
            take_name(n, i, h, d);
        } else {
            d->lost = true; /* whatever it says, nobody can use it */
            n->known[i].handle = NULL;
        }
    }
    name_the_mute(n);
    for (uint32_t i = 0; i < count; i++) {
        struct probe_device *d = &r->devices[first + i];
        put_name(&n->known[i], d);
        if (codes[i] == NVML_OK) nvidia_facts(n, n->known[i].handle, d);
        if (!d->uuid[0]) survey_fail(r, "GPU %u: %s", i, nvml_text(codes[i]));
    }
    nvidia_links(n, r, first);
}

static int initialise(struct nvidia *n)
{
    if (n->initialised) return NVML_OK;
    int code = NVML_CALL(&n->lib, init);
    n->initialised = code == NVML_OK;
    n->initialised_ms = proc_boot_ms();
    return code;
}

static void failed(struct nvidia *n, struct probe_report *r, const char *call, int code)
{
    if (code == NVML_MISMATCH) r->mismatch = true;
    survey_fail(r, "%s: %s", nvml_symbol(call), nvml_text(code));
    shut(n);
    list_kernels(n, r);
}

/* A device that is back, or was given a new handle by a reset, shows after a new beginning
 * only. */
static void begin_again_if_lost(struct nvidia *n, const struct probe_report *r)
{
    bool lost = false;
    for (uint32_t i = 0; i < r->n_devices; i++)
        lost |= r->devices[i].vendor == PROBE_NVIDIA && r->devices[i].lost;
    if (lost && proc_boot_ms() - n->initialised_ms > AGAIN_MS) shut(n);
}

static void ask(struct nvidia *n, struct probe_report *r)
{
    uint32_t count = 0;
    int code = initialise(n);
    if (code) {
        failed(n, r, "init", code);
        return;
    }
    if (!versions_agree(n, r)) { /* the kernel's version came from the library just now */
        shut(n);
        list_kernels(n, r);
        return;
    }
    code = NVML_CALL(&n->lib, count, &count);
    if (code) {
        failed(n, r, "count", code);
        return;
    }
    if (count > NODE_DEVICES_MAX - r->n_devices) {
        survey_fail(r, "there are %u devices, more than %d", count, NODE_DEVICES_MAX);
        count = NODE_DEVICES_MAX - r->n_devices;
    }
    read_devices(n, r, count);
    if (!n->events || n->handles_changed) {
        nvidia_events_end(n);
        nvidia_events_begin(n);
        n->handles_changed = false;
    }
    r->xid_nvml = n->events_all;
    begin_again_if_lost(n, r);
}

void nvidia_read(struct nvidia *n, struct probe_report *r)
{
    struct err err = {0};
    (void)nvidia_proc_version(n->t, r->driver, sizeof(r->driver));
    if (!is_there(n, r)) {
        unload(n);
        return;
    }
    const char *path = n->path ? n->path : "libnvidia-ml.so.1";
    if (!n->lib.library && nvml_open(path, &n->lib, &err) < 0) {
        survey_fail(r, "NVIDIA's management library does not load: %s", err.text);
        list_kernels(n, r);
        return;
    }
    if (versions_agree(n, r)) {
        ask(n, r);
        return;
    }
    unload(n); /* or the library of before would stay for ever */
    list_kernels(n, r);
}
