/* probe/nvidia_device.c - the facts of one device, each unknown until it was read. */
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "probe/nvidia_impl.h"
#include "probe/survey.h"

#define BYTES_MAX ((uint64_t)1 << 50)

bool nvidia_judge(struct probe_device *d, int code)
{
    if (code == NVML_LOST) d->lost = true;
    if (code == NVML_RESET && d->recovery_action <= 0) d->recovery_action = 1;
    return code == NVML_LOST || code == NVML_RESET;
}

static bool good(struct probe_device *d, int code)
{
    (void)nvidia_judge(d, code);
    return code == NVML_OK;
}

static void read_memory(const struct nvml *l, nvml_device h, struct probe_device *d)
{
    struct nvml_memory2 two = {.version = NVML_VERSION(struct nvml_memory2, 2)};
    struct nvml_memory one = {0};
    /* The newer one does not count what the driver keeps for itself as used. */
    if (good(d, NVML_CALL(l, memory2, h, &two))) {
        survey_put(&d->mem_bytes, two.total, BYTES_MAX);
        survey_put(&d->mem_used_bytes, two.used, BYTES_MAX);
    } else if (good(d, NVML_CALL(l, memory, h, &one))) {
        survey_put(&d->mem_bytes, one.total, BYTES_MAX);
        survey_put(&d->mem_used_bytes, one.used, BYTES_MAX);
    }
}

static void read_use(const struct nvml *l, nvml_device h, struct probe_device *d)
{
    struct nvml_use use = {0};
    uint32_t v = 0;
    if (good(d, NVML_CALL(l, use, h, &use))) {
        survey_put(&d->sm_percent, use.gpu, 100);
        survey_put(&d->mem_percent, use.memory, 100);
    }
    if (good(d, NVML_CALL(l, power, h, &v))) survey_put(&d->power_mw, v, 100 * 1000 * 1000);
    if (good(d, NVML_CALL(l, temperature, h, NVML_SENSOR_GPU, &v)))
        survey_put(&d->temperature_c, v, 1000);
}

static int64_t field_value(const struct nvml_field *f)
{
    switch (f->type) {
    case 1:
    case 5: return f->value.u32;
    case 2:
    case 3:
    case 4: return f->value.u64 <= INT64_MAX ? (int64_t)f->value.u64 : PROBE_UNKNOWN;
    case 6: return f->value.u16;
    default: return PROBE_UNKNOWN;
    }
}

static void read_faults(const struct nvml *l, nvml_device h, struct probe_device *d)
{
    uint64_t errors = 0;
    uint32_t v = 0, corrected = 0, uncorrected = 0, pending = 0, failed = 0;
    struct nvml_field f = {.id = NVML_FIELD_RECOVERY, .code = NVML_MISSING};
    if (good(d, NVML_CALL(l, ecc, h, NVML_UNCORRECTED, NVML_VOLATILE, &errors)))
        survey_put(&d->ecc_uncorrected, errors, INT64_MAX);
    if (good(d, NVML_CALL(l, retired, h, &v))) d->retired_pending = v != 0;
    if (good(d, NVML_CALL(l, remapped, h, &corrected, &uncorrected, &pending, &failed))) {
        d->remap_pending = pending != 0;
        d->remap_failed = failed != 0;
    }
    if (good(d, NVML_CALL(l, fields, h, 1, &f)) && good(d, f.code)) {
        int64_t action = field_value(&f);
        if (action > d->recovery_action && action <= 1000) d->recovery_action = action;
    }
}

static void read_fabric(const struct nvml *l, nvml_device h, struct probe_device *d)
{
    struct nvml_fabric2 two = {.version = NVML_VERSION(struct nvml_fabric2, 2)};
    struct nvml_fabric one = {0};
    int code = NVML_CALL(l, fabric2, h, &two);
    if (code == NVML_OK) {
        one = (struct nvml_fabric){.status = two.status, .clique = two.clique, .state = two.state};
        memcpy(one.cluster, two.cluster, sizeof(one.cluster));
    } else {
        code = NVML_CALL(l, fabric, h, &one);
    }
    if (!good(d, code) || one.state != NVML_FABRIC_DONE || one.status != NVML_OK) return;
    AUTO_STRBUF struct strbuf text;
    strbuf_init(&text, sizeof(d->fabric) - 1);
    for (size_t i = 0; i < sizeof(one.cluster); i++) strbuf_fmt(&text, "%02x", one.cluster[i]);
    strbuf_fmt(&text, ".%u", one.clique);
    TEXT_CLIP(d->fabric, strbuf_str(&text));
}

/* "0-7,16" of a mask. */
static void put_list(const unsigned long *mask, uint32_t words, char *ret, size_t cap)
{
    AUTO_STRBUF struct strbuf b;
    uint32_t bits = words * 64, from = 0;
    strbuf_init(&b, cap - 1);
#define BIT(i) ((i) < bits && (mask[(i) / 64] >> ((i) % 64) & 1))
    for (uint32_t i = 0; i < bits; i++) {
        if (!BIT(i)) continue;
        for (from = i; BIT(i + 1);) i++;
        strbuf_fmt(&b, b.n ? ",%u" : "%u", from);
        if (i > from) strbuf_fmt(&b, "-%u", i);
    }
#undef BIT
    if (!b.full) text_clip(ret, cap, strbuf_str(&b)); /* half a list would be another list */
}

/* Where the kernel does not say. */
static void read_place(const struct nvml *l, nvml_device h, struct probe_device *d)
{
    unsigned long cpus[16] = {0}, nodes[16] = {0};
    if (d->numa_node == PROBE_UNKNOWN &&
        NVML_CALL(l, nodes, h, ARRAY_LEN(nodes), nodes, NVML_SCOPE_NODE) == NVML_OK) {
        for (int64_t i = 0; i < 1024 && d->numa_node == PROBE_UNKNOWN; i++)
            if (nodes[i / 64] >> (i % 64) & 1) d->numa_node = i;
    }
    if (!d->cpus[0] && NVML_CALL(l, cpus, h, ARRAY_LEN(cpus), cpus) == NVML_OK)
        put_list(cpus, ARRAY_LEN(cpus), d->cpus, sizeof(d->cpus));
}

void nvidia_facts(struct nvidia *n, nvml_device h, struct probe_device *d)
{
    const struct nvml *l = &n->lib;
    uint32_t v = 0, pending = 0;
    char path[32];
    if (good(d, NVML_CALL(l, minor, h, &v)) && v < 1 << 20) {
        text_fmt(path, sizeof(path), "nvidia%u", v);
        survey_node(n->t, d, path);
    }
    if (good(d, NVML_CALL(l, mig, h, &v, &pending))) d->mig = v == 1;
    read_memory(l, h, d);
    read_use(l, h, d);
    read_faults(l, h, d);
    read_fabric(l, h, d);
    survey_place(n->t, d);
    read_place(l, h, d);
    nvidia_processes(l, h, d);
}
