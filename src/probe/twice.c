/* probe/twice.c - see twice.h. */
#include "probe/twice.h"

#include <string.h>

#include "probe/nvml.h" /* NVML_NO_INDEX */

bool twice_same_device(const char *uuid, const char *pci, const struct probe_event *e)
{
    if (pci[0] && e->pci[0]) return strcmp(pci, e->pci) == 0;
    return uuid[0] && strcmp(uuid, e->uuid) == 0;
}

/* The library has no number for an Xid that is newer than it. */
static bool same_xid(const struct twice_event *told, const struct probe_event *e,
                     enum twice_source from)
{
    return told->xid == e->xid || (from == TWICE_NVML && e->xid == NVML_NO_INDEX);
}

bool twice_told(struct twice *t, enum twice_source from, const struct probe_event *e)
{
    for (uint32_t i = 0; i < t->n; i++) {
        struct twice_event *told = &t->v[i];
        int64_t apart = e->at_ms - told->at_ms;
        if (told->matched || told->from == from || apart > TWICE_MS || apart < -TWICE_MS) continue;
        if (!same_xid(told, e, from) || !twice_same_device(told->uuid, told->pci, e)) continue;
        told->matched = true;
        return true;
    }
    if (t->n == TWICE_MAX) memmove(&t->v[0], &t->v[1], --t->n * sizeof(t->v[0]));
    struct twice_event *next = &t->v[t->n++];
    *next = (struct twice_event){.from = from, .xid = e->xid, .at_ms = e->at_ms};
    (void)TEXT_SET(next->uuid, str_of(e->uuid));
    (void)TEXT_SET(next->pci, str_of(e->pci));
    return false;
}
