/* probe/drm.h - display and compute cards as the kernel lists them, of one vendor. */
#ifndef PROBE_DRM_H
#define PROBE_DRM_H
#include "probe/survey.h"

struct drm_card {
    char name[24];      /* "card0" */
    char pci[20];
    char render[24];    /* "renderD128", or "" */
    int64_t device_id;  /* 0x74a1, or PROBE_UNKNOWN */
};
struct drm_cards { struct drm_card v[64]; uint32_t n; };

/* Cards on the PCI bus whose vendor has that number.  0, also when there are none;
 * ERR_IO when they do not read. */
int drm_list(const struct tree *t, int64_t vendor, struct drm_cards *ret);
/* A file of the card's device: "gpu_busy_percent". */
int drm_read(const struct tree *t, const struct drm_card *c, const char *file, char *buf,
             size_t cap);
bool drm_number(const struct tree *t, const struct drm_card *c, const char *file, int64_t *ret);
/* "AMD GPU 0x74a1": where nothing says its name. */
void drm_model(const struct drm_card *c, const char *maker, struct probe_device *d);
/* Power, temperature, place and nodes, which are alike for all vendors. */
void drm_common(const struct tree *t, const struct drm_card *c, struct probe_device *d);
/* Paths over the bus between the report's devices from `first` on. */
void drm_links(const struct tree *t, struct probe_report *r, uint32_t first);

#endif
