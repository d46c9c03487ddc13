/* probe/nvidia_proc.c - /proc/driver/nvidia and the PCI bus, without any library. */
#include <string.h>

#include "base/str.h"
#include "probe/nvidia_impl.h"
#include "probe/survey.h"

static bool is_version(struct str s)
{
    uint32_t dots = 0;
    if (s.n == 0 || s.n > 24 || s.p[0] == '.' || s.p[s.n - 1] == '.') return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '.') dots++;
        else if (s.p[i] < '0' || s.p[i] > '9') return false;
    }
    return dots >= 1 && dots <= 3;
}

bool nvidia_version_in(const char *text, char *ret, size_t cap)
{
    struct str rest = str_of(text), line, one;
    (void)str_cut(&rest, '\n', &line);
    while (line.n > 0) {
        (void)str_cut(&line, ' ', &one);
        if (is_version(one)) return text_set(ret, cap, one);
    }
    return false;
}

bool nvidia_same_version(const char *a, const char *b)
{
    struct str x = str_of(a), y = str_of(b), p, q;
    while (x.n > 0 && y.n > 0) {
        (void)str_cut(&x, '.', &p);
        (void)str_cut(&y, '.', &q);
        if (!str_eq(p, q)) return false;
    }
    return true;
}

bool nvidia_proc_version(const struct tree *t, char *ret, size_t cap)
{
    char text[1024];
    if (tree_read(t->proc, "driver/nvidia/version", text, sizeof(text)) <= 0) return false;
    return nvidia_version_in(text, ret, cap);
}

/* "Model: \t\t NVIDIA H200" */
static bool split(struct str line, struct str *key, struct str *value)
{
    if (!str_cut(&line, ':', key)) return false;
    *key = str_trim(*key);
    *value = str_trim(line);
    return true;
}

static bool read_listed(const struct tree *t, const char *name, struct nvidia_listed *ret)
{
    char path[128], text[2048];
    *ret = (struct nvidia_listed){.minor = PROBE_UNKNOWN};
    if (!survey_pci(str_of(name), ret->pci)) return false;
    text_fmt(path, sizeof(path), "driver/nvidia/gpus/%s/information", name);
    int n = tree_read(t->proc, path, text, sizeof(text));
    struct str rest = str_n(text, n > 0 ? (size_t)n : 0);
    while (rest.n > 0) {
        struct str line, key, value;
        int64_t minor;
        (void)str_cut(&rest, '\n', &line);
        if (!split(line, &key, &value)) continue;
        if (str_eq(key, STR("Model"))) TEXT_CLIP(ret->model, value);
        /* Question marks: the driver has not looked at the device yet. */
        if (str_eq(key, STR("GPU UUID")) && value.n > 0 && !memchr(value.p, '?', value.n))
            (void)TEXT_SET(ret->uuid, value);
        if (str_eq(key, STR("Device Minor")) && str_to_i64(value, &minor) && minor >= 0)
            ret->minor = minor;
    }
    return true;
}

void nvidia_proc_list(const struct tree *t, struct nvidia_list *ret)
{
    struct tree_names names;
    ret->n = 0;
    if (tree_list(t->proc, "driver/nvidia/gpus", "", &names) < 0) return;
    for (uint32_t i = 0; i < names.n && ret->n < NODE_DEVICES_MAX; i++)
        if (read_listed(t, names.v[i], &ret->v[ret->n])) ret->n++;
}

bool nvidia_on_bus(const struct tree *t)
{
    struct tree_names names;
    if (tree_list(t->sys, "bus/pci/devices", "", &names) < 0) return false;
    for (uint32_t i = 0; i < names.n; i++) {
        char path[128];
        int64_t vendor, class;
        text_fmt(path, sizeof(path), "bus/pci/devices/%s/vendor", names.v[i]);
        if (!tree_number(t->sys, path, &vendor) || vendor != 0x10de) continue;
        text_fmt(path, sizeof(path), "bus/pci/devices/%s/class", names.v[i]);
        /* A display, or a 3D controller as data centre parts are. */
        if (tree_number(t->sys, path, &class) && (class >> 8 == 0x300 || class >> 8 == 0x302))
            return true;
    }
    return false;
}
