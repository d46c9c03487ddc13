/* probe/nvidia_links.c - how the devices reach each other.
 *
 * NVLink beats PCIe where the driver says that the two can use it.  Links that end
 * at a switch reach every other device that has such links, with as many as the one
 * that has fewer. */
#include <string.h>

#include "host/proc.h"
#include "probe/nvidia_impl.h"
#include "probe/survey.h"

enum { REFRESH_MS = 60000, LINKS_MOST = PROBE_PATH_LINK18 - PROBE_PATH_LINK1 + 1 };

struct fan { /* links of one device */
    uint32_t to_switch, to[NODE_DEVICES_MAX];
};

static int find_pci(const struct nvidia *n, const struct nvml_pci *pci)
{
    char address[20], bus_id[sizeof(pci->bus_id) + 1] = {0};
    memcpy(bus_id, pci->bus_id, sizeof(pci->bus_id));
    if (!survey_pci(str_of(bus_id), address)) return -1;
    for (uint32_t i = 0; i < n->n_known; i++)
        if (strcmp(n->known[i].pci, address) == 0) return (int)i;
    return -1;
}

static void count_link(struct nvidia *n, uint32_t at, uint32_t link, struct fan *fan)
{
    nvml_device h = n->known[at].handle;
    struct nvml_pci pci = {0};
    uint32_t type = NVML_PEER_GPU;
    bool typed = NVML_CALL(&n->lib, link_type, h, link, &type) == NVML_OK;
    if (typed && type == NVML_PEER_SWITCH) {
        fan->to_switch++;
        return;
    }
    if (typed && type != NVML_PEER_GPU) return;
    if (NVML_CALL(&n->lib, link_peer, h, link, &pci) != NVML_OK) return;
    int peer = find_pci(n, &pci);
    if (peer >= 0) fan->to[peer]++;
    else if (!typed) fan->to_switch++; /* an older driver: no GPU, so a switch */
}

static void count_links(struct nvidia *n, uint32_t at, struct fan *fan)
{
    *fan = (struct fan){0};
    if (!n->known[at].handle) return;
    for (uint32_t link = 0; link < NVML_LINKS_MAX; link++) {
        uint32_t active = 0;
        int code = NVML_CALL(&n->lib, link_state, n->known[at].handle, link, &active);
        if (code == NVML_MISSING || (code != NVML_OK && link == 0)) return;
        if (code == NVML_OK && active == 1) count_link(n, at, link, fan);
    }
}

static enum probe_path by_bus(struct nvidia *n, uint32_t a, uint32_t b)
{
    uint32_t level = 0;
    if (NVML_CALL(&n->lib, ancestor, n->known[a].handle, n->known[b].handle, &level) != NVML_OK)
        return PROBE_PATH_UNKNOWN;
    switch (level) {
    case NVML_PATH_INTERNAL:
    case NVML_PATH_SINGLE:
    case NVML_PATH_MULTIPLE: return PROBE_PATH_SWITCH;
    case NVML_PATH_HOST: return PROBE_PATH_HOST;
    case NVML_PATH_NODE: return PROBE_PATH_NODE;
    case NVML_PATH_SYSTEM: return PROBE_PATH_SYSTEM;
    default: return PROBE_PATH_UNKNOWN;
    }
}

static enum probe_path by_link(struct nvidia *n, uint32_t a, uint32_t b, const struct fan *fans)
{
    uint32_t direct = fans[a].to[b] < fans[b].to[a] ? fans[a].to[b] : fans[b].to[a];
    uint32_t through = fans[a].to_switch < fans[b].to_switch ? fans[a].to_switch
                                                             : fans[b].to_switch;
    uint32_t count = direct > through ? direct : through, status = 0;
    if (count == 0) return PROBE_PATH_UNKNOWN;
    int code = NVML_CALL(&n->lib, p2p, n->known[a].handle, n->known[b].handle, NVML_P2P_NVLINK,
                         &status);
    if (code == NVML_OK && status != NVML_P2P_OK) return PROBE_PATH_UNKNOWN;
    /* Through a switch the driver must say so: it may not be configured. */
    if (code != NVML_OK && direct == 0) return PROBE_PATH_UNKNOWN;
    return PROBE_PATH_LINK1 + (count < LINKS_MOST ? count : LINKS_MOST) - 1;
}

static void look(struct nvidia *n, const struct probe_report *r, uint32_t first)
{
    struct fan fans[NODE_DEVICES_MAX];
    for (uint32_t i = 0; i < n->n_known; i++) count_links(n, i, &fans[i]);
    VEC_CLEAR(&n->links);
    for (uint32_t a = 0; a < n->n_known; a++) {
        for (uint32_t b = a + 1; b < n->n_known; b++) {
            const struct probe_device *x = &r->devices[first + a], *y = &r->devices[first + b];
            enum probe_path path = PROBE_PATH_UNKNOWN;
            if (n->known[a].handle && n->known[b].handle) {
                path = by_link(n, a, b, fans);
                if (path == PROBE_PATH_UNKNOWN) path = by_bus(n, a, b);
            }
            if (path == PROBE_PATH_UNKNOWN) path = survey_path(n->t, x, y);
            if (path != PROBE_PATH_UNKNOWN) *VEC_ADD(&n->links) = (struct probe_link){a, b, path};
        }
    }
}

static bool same_devices(struct nvidia *n, const struct probe_report *r, uint32_t first)
{
    uint32_t count = r->n_devices - first;
    bool same = n->n_links_of == count;
    for (uint32_t i = 0; i < count; i++) {
        const struct probe_device *d = &r->devices[first + i];
        const char *name = d->lost ? "" : d->uuid;
        same = same && strcmp(n->links_of[i], name) == 0;
        (void)TEXT_SET(n->links_of[i], str_of(name));
    }
    n->n_links_of = count;
    return same;
}

void nvidia_links(struct nvidia *n, struct probe_report *r, uint32_t first)
{
    int64_t now = proc_boot_ms();
    if (r->n_devices - first != n->n_known) return; /* not all are known by name */
    if (!same_devices(n, r, first) || now - n->links_ms > REFRESH_MS) {
        look(n, r, first);
        n->links_ms = now;
    }
    VEC_EACH (l, &n->links) survey_link(r, first + l->a, first + l->b, l->path);
}
