/* probe/drm.c - /sys/class/drm.  docs/spec/node.md, "Devices" */
#include "probe/drm.h"

#include <string.h>

#include "base/err.h"

static bool is_card(const char *name)
{
    const char *digits = name + strlen("card");
    return *digits && strspn(digits, "0123456789") == strlen(digits); /* not "card0-DP-1" */
}

/* False: of another vendor, or on no PCI bus. */
static bool read_card(const struct tree *t, const char *name, int64_t vendor,
                      struct drm_card *ret)
{
    char path[96], link[64];
    int64_t found;
    struct tree_names renders;
    *ret = (struct drm_card){.device_id = PROBE_UNKNOWN};
    if (!TEXT_SET(ret->name, str_of(name))) return false;
    if (!drm_number(t, ret, "vendor", &found) || found != vendor) return false;
    text_fmt(path, sizeof(path), "class/drm/%s/device", name);
    if (!tree_link(t->sys, path, link, sizeof(link))) return false;
    if (!survey_pci(str_of(link), ret->pci)) return false;
    (void)drm_number(t, ret, "device", &ret->device_id);
    text_fmt(path, sizeof(path), "class/drm/%s/device/drm", name);
    if (tree_list(t->sys, path, "renderD", &renders) == 0 && renders.n > 0)
        (void)TEXT_SET(ret->render, str_of(renders.v[0]));
    return true;
}

int drm_list(const struct tree *t, int64_t vendor, struct drm_cards *ret)
{
    struct tree_names names;
    ret->n = 0;
    int rc = tree_list(t->sys, "class/drm", "card", &names);
    if (rc < 0) return rc == ERR_NOT_FOUND ? 0 : rc;
    for (uint32_t i = 0; i < names.n; i++) {
        struct drm_card c;
        if (!is_card(names.v[i]) || !read_card(t, names.v[i], vendor, &c)) continue;
        if (ret->n == ARRAY_LEN(ret->v)) return ERR_LIMIT;
        ret->v[ret->n++] = c;
    }
    return 0;
}

int drm_read(const struct tree *t, const struct drm_card *c, const char *file, char *buf,
             size_t cap)
{
    char path[192];
    text_fmt(path, sizeof(path), "class/drm/%s/device/%s", c->name, file);
    return tree_read(t->sys, path, buf, cap);
}

bool drm_number(const struct tree *t, const struct drm_card *c, const char *file, int64_t *ret)
{
    char path[192];
    text_fmt(path, sizeof(path), "class/drm/%s/device/%s", c->name, file);
    return tree_number(t->sys, path, ret);
}

/* The first of the files that is there, divided. */
static void sensor(const struct tree *t, const struct drm_card *c, const char *const files[],
                   int64_t divide, int64_t max, int64_t *to)
{
    char dir[96], path[192];
    struct tree_names names;
    int64_t v;
    text_fmt(dir, sizeof(dir), "class/drm/%s/device/hwmon", c->name);
    if (tree_list(t->sys, dir, "hwmon", &names) < 0) return;
    for (uint32_t i = 0; i < names.n; i++) {
        for (uint32_t k = 0; files[k]; k++) {
            text_fmt(path, sizeof(path), "%s/%s/%s", dir, names.v[i], files[k]);
            if (!tree_number(t->sys, path, &v) || v < 0 || v / divide > max) continue;
            *to = v / divide;
            return;
        }
    }
}

void drm_common(const struct tree *t, const struct drm_card *c, struct probe_device *d)
{
    static const char *const power[] = {"power1_average", "power1_input", NULL}; /* microwatts */
    static const char *const heat[] = {"temp1_input", "temp2_input", NULL}; /* thousandths */
    char path[48];
    (void)TEXT_SET(d->pci, str_of(c->pci));
    sensor(t, c, power, 1000, 100 * 1000 * 1000, &d->power_mw);
    sensor(t, c, heat, 1000, 1000, &d->temperature_c);
    survey_place(t, d);
    text_fmt(path, sizeof(path), "dri/%s", c->render);
    if (c->render[0]) survey_node(t, d, path);
    text_fmt(path, sizeof(path), "dri/%s", c->name);
    survey_node(t, d, path);
}

void drm_model(const struct drm_card *c, const char *maker, struct probe_device *d)
{
    if (c->device_id < 0) text_fmt(d->model, sizeof(d->model), "%s GPU", maker);
    else text_fmt(d->model, sizeof(d->model), "%s GPU 0x%04x", maker, (unsigned)c->device_id);
}

void drm_links(const struct tree *t, struct probe_report *r, uint32_t first)
{
    for (uint32_t a = first; a < r->n_devices; a++)
        for (uint32_t b = a + 1; b < r->n_devices; b++)
            survey_link(r, a, b, survey_path(t, &r->devices[a], &r->devices[b]));
}
