/* probe/intel.c - see intel.h.  docs/spec/node.md, "Devices" */
#include "probe/intel.h"

#include <string.h>

#include "probe/drm.h"

#define BYTES_MAX ((uint64_t)1 << 50)

/* The third region of the card is its memory, where all of it can be reached. */
static int64_t region_bytes(const struct tree *t, const struct drm_card *c)
{
    char text[2048];
    struct str rest, line = {0};
    uint64_t at[2] = {0};
    if (drm_read(t, c, "resource", text, sizeof(text)) <= 0) return 0;
    rest = str_of(text);
    for (int i = 0; i < 3; i++) (void)str_cut(&rest, '\n', &line);
    for (int i = 0; i < 2; i++) {
        struct str one;
        (void)str_cut(&line, ' ', &one);
        if (one.n < 3 || one.n > 18 || !str_starts(one, STR("0x"))) return 0;
        for (size_t k = 2; k < one.n; k++) {
            const char *digits = "0123456789abcdef", *d = memchr(digits, one.p[k], 16);
            if (!d) return 0;
            at[i] = at[i] << 4 | (uint64_t)(d - digits);
        }
    }
    return at[0] && at[1] > at[0] && at[1] - at[0] < BYTES_MAX ? (int64_t)(at[1] - at[0] + 1) : 0;
}

static void read_memory(const struct tree *t, const struct drm_card *c, struct probe_device *d)
{
    static const char *const files[] = {"lmem_total_bytes", "prelim_lmem_total_bytes"};
    int64_t sum = 0, v;
    char path[96];
    for (int tile = 0; tile < 8; tile++) {
        text_fmt(path, sizeof(path), "tile%d/physical_vram_size_bytes", tile);
        if (drm_number(t, c, path, &v) && v > 0 && v < INT64_MAX / 16) sum += v;
    }
    for (size_t i = 0; i < ARRAY_LEN(files) && sum == 0; i++) {
        text_fmt(path, sizeof(path), "class/drm/%s/%s", c->name, files[i]);
        if (tree_number(t->sys, path, &v) && v > 0) sum = v;
    }
    if (sum == 0) sum = region_bytes(t, c);
    /* Anything smaller is a window, not the memory. */
    if (sum >= INT64_C(1) << 30) survey_put(&d->mem_bytes, (uint64_t)sum, BYTES_MAX);
}

static bool is_discrete(const struct tree *t, const struct drm_card *c)
{
    char path[96], driver[16];
    const char *bus = strchr(c->pci, ':');
    text_fmt(path, sizeof(path), "class/drm/%s/device/driver", c->name);
    if (!bus || strncmp(bus, ":00:", 4) == 0) return false;
    if (!tree_link(t->sys, path, driver, sizeof(driver))) return false;
    return strcmp(driver, "xe") == 0 || strcmp(driver, "i915") == 0;
}

void intel_read(const struct tree *t, struct probe_report *r)
{
    struct drm_cards cards;
    uint32_t first = r->n_devices;
    if (drm_list(t, 0x8086, &cards) < 0) {
        survey_fail(r, "/sys/class/drm does not read");
        return;
    }
    for (uint32_t i = 0; i < cards.n; i++) {
        const struct drm_card *c = &cards.v[i];
        struct probe_device *d = is_discrete(t, c)
                                     ? survey_add(r, PROBE_INTEL, r->n_devices - first) : NULL;
        if (!d) continue;
        text_fmt(d->uuid, sizeof(d->uuid), "INTEL-%s", c->pci);
        drm_model(c, "Intel", d);
        drm_common(t, c, d);
        read_memory(t, c, d);
    }
    drm_links(t, r, first);
}
