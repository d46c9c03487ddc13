/* probe/survey.c - a report while it is being filled.  docs/spec/node.md, "Devices" */
#include "probe/survey.h"

#include <stdio.h>

void survey_begin(struct probe_report *r)
{
    wire_init(&wire_probe_report, r);
    r->complete = true;
}

void survey_fail(struct probe_report *r, const char *fmt, ...)
{
    va_list ap;
    r->complete = false;
    if (r->error[0]) return;
    va_start(ap, fmt);
    (void)vsnprintf(r->error, sizeof(r->error), fmt, ap);
    va_end(ap);
}

struct probe_device *survey_add(struct probe_report *r, enum probe_vendor vendor, uint32_t index)
{
    if (r->n_devices == NODE_DEVICES_MAX) {
        survey_fail(r, "there are more than %d devices", NODE_DEVICES_MAX);
        return NULL;
    }
    struct probe_device *d = &r->devices[r->n_devices++];
    probe_device_init(d);
    d->vendor = vendor;
    d->index = index;
    return d;
}

void survey_put(int64_t *to, uint64_t v, uint64_t max)
{
    if (v <= max) *to = (int64_t)v;
}

static bool hex(struct str s, size_t most, uint32_t *ret)
{
    uint32_t v = 0;
    if (s.n == 0 || s.n > most) return false;
    for (size_t i = 0; i < s.n; i++) {
        const char *digits = "0123456789abcdef", *at = memchr(digits, s.p[i] | 0x20, 16);
        if (!at) return false;
        v = v << 4 | (uint32_t)(at - digits);
    }
    *ret = v;
    return true;
}

bool survey_pci(struct str text, char ret[20])
{
    uint32_t domain, bus, device, function = 0;
    struct str head, rest = text;
    if (!str_cut(&rest, ':', &head) || !hex(head, 8, &domain)) return false;
    if (!str_cut(&rest, ':', &head) || !hex(head, 2, &bus)) return false;
    bool more = str_cut(&rest, '.', &head);
    if (!hex(head, 2, &device) || device > 31) return false;
    if (more && (!hex(rest, 1, &function) || function > 7)) return false;
    text_fmt(ret, 20, "%04x:%02x:%02x.%x", domain, bus, device, function);
    return true;
}

void survey_place(const struct tree *t, struct probe_device *d)
{
    char path[96], list[sizeof(d->cpus) + 1];
    int64_t node;
    if (!d->pci[0]) return;
    text_fmt(path, sizeof(path), "bus/pci/devices/%s/numa_node", d->pci);
    if (tree_number(t->sys, path, &node) && node >= 0)
        survey_put(&d->numa_node, (uint64_t)node, 65535);
    text_fmt(path, sizeof(path), "bus/pci/devices/%s/local_cpulist", d->pci);
    /* A list that was cut off would name processors that are not meant. */
    int n = tree_read(t->sys, path, list, sizeof(list));
    if (n > 0 && strspn(list, "0123456789,-") == (size_t)n) (void)TEXT_SET(d->cpus, str_of(list));
}

void survey_node(const struct tree *t, struct probe_device *d, const char *path)
{
    uint32_t major, minor;
    if (d->n_nodes == PROBE_NODES_MAX || !tree_device(t->dev, path, &major, &minor)) return;
    if (major > 4095 || minor >= 1 << 20) return;
    struct probe_node *n = &d->nodes[d->n_nodes];
    if (text_fmt(n->path, sizeof(n->path), "/dev/%s", path) >= (int)sizeof(n->path) - 1) return;
    n->major = major;
    n->minor = minor;
    d->n_nodes++;
}

/* "pci0000:3a/0000:3a:00.0/0000:3b:00.0": bridges from the host's to the device itself. */
static bool bridges(const struct tree *t, const struct probe_device *d, char ret[512])
{
    char path[64], link[512];
    text_fmt(path, sizeof(path), "bus/pci/devices/%s", d->pci);
    if (!d->pci[0] || !tree_target(t->sys, path, link, sizeof(link))) return false;
    const char *from = strstr(link, "/pci");
    if (!from) return false;
    text_clip(ret, 512, str_of(from + 1));
    return true;
}

enum probe_path survey_path(const struct tree *t, const struct probe_device *a,
                            const struct probe_device *b)
{
    char one[512], two[512];
    uint32_t shared = 0;
    if (bridges(t, a, one) && bridges(t, b, two)) {
        struct str x = str_of(one), y = str_of(two), p, q;
        while (str_cut(&x, '/', &p) && str_cut(&y, '/', &q) && str_eq(p, q)) shared++;
    }
    /* The host's bridge and its port: more than these is a switch between them. */
    if (shared > 2) return PROBE_PATH_SWITCH;
    if (shared > 0) return PROBE_PATH_HOST;
    if (a->numa_node == PROBE_UNKNOWN || b->numa_node == PROBE_UNKNOWN) return PROBE_PATH_UNKNOWN;
    return a->numa_node == b->numa_node ? PROBE_PATH_NODE : PROBE_PATH_SYSTEM;
}

void survey_link(struct probe_report *r, uint32_t a, uint32_t b, enum probe_path path)
{
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    if (path == PROBE_PATH_UNKNOWN || low == high) return;
    VEC_EACH (l, &r->links) {
        if (l->a != low || l->b != high) continue;
        if (path > l->path) l->path = path;
        return;
    }
    *VEC_ADD(&r->links) = (struct probe_link){low, high, path};
}

/* ---- taking out ---- */

static void drop_device(struct probe_report *r, uint32_t at)
{
    VEC_DONE(&r->devices[at].processes);
    memmove(&r->devices[at], &r->devices[at + 1],
            (r->n_devices - at - 1) * sizeof(r->devices[0]));
    r->n_devices--;
    for (uint32_t i = r->links.n; i-- > 0;) {
        struct probe_link *l = &r->links.v[i];
        if (l->a == at || l->b == at) {
            VEC_REMOVE(&r->links, i);
            continue;
        }
        l->a -= l->a > at;
        l->b -= l->b > at;
    }
}

static bool named_before(const struct probe_report *r, uint32_t at)
{
    const struct probe_device *d = &r->devices[at];
    for (uint32_t i = 0; i < at; i++) {
        const struct probe_device *e = &r->devices[i];
        if (d->uuid[0] && strcmp(d->uuid, e->uuid) == 0) return true;
        if (d->pci[0] && strcmp(d->pci, e->pci) == 0) return true;
    }
    return false;
}

/* Texts come from files and libraries: what is no plain character would grow when written. */
static void plain(char *text)
{
    for (char *c = text; *c; c++)
        if (*c < ' ' || *c > '~') *c = '?';
}

void survey_end(struct probe_report *r)
{
    for (uint32_t i = 0; i < r->n_devices; i++) {
        plain(r->devices[i].uuid);
        plain(r->devices[i].model);
        plain(r->devices[i].cpus);
    }
    plain(r->driver);
    plain(r->library);
    plain(r->error);
    for (uint32_t i = r->n_devices; i-- > 0;) {
        const struct probe_device *d = &r->devices[i];
        if (!d->uuid[0])
            survey_fail(r, "the UUID of %s is not known", d->pci[0] ? d->pci : "a GPU");
        bool twice = named_before(r, i);
        if (twice) survey_fail(r, "two devices are called %s, %s", d->uuid, d->pci);
        if (twice || (!d->uuid[0] && !d->pci[0])) drop_device(r, i);
    }
}
