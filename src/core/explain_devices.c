/* core/explain_devices.c - the GPUs that are out of use, in plain words.
 *
 * Who waits for a GPU is told which of them nobody is given, and why; who holds one that
 * went bad is told as long as it is so.  docs/spec/node.md, "Devices" */
#include "base/check.h"
#include "core/explain.h"

#define REASONS_MAX 4 /* so many are named, the rest is a number */

static bool known(const struct device *d) { return d->uuid[0] != '\0'; }

static bool same_reason(const struct device *a, const struct device *b)
{
    return a->health == b->health && strcmp(a->why, b->why) == 0;
}

static void put_reason(const struct device *d, struct strbuf *out)
{
    strbuf_puts(out, device_health_name(d->health));
    if (d->why[0] != '\0' && d->health != DEVICE_GONE) strbuf_fmt(out, ": %s", d->why);
}

/* "; 2 of 8 GPUs of n1 are quarantined: Xid 79", once for each reason. */
static void put_out(const struct node *n, uint32_t *named, uint32_t *more, struct strbuf *out)
{
    for (uint32_t i = 0; i < n->n_devices; i++) {
        const struct device *d = &n->devices[i];
        uint32_t same = 0;
        bool told = false;
        if (!known(d) || d->health == DEVICE_HEALTHY) continue;
        for (uint32_t k = 0; k < n->n_devices; k++) {
            if (!known(&n->devices[k]) || !same_reason(d, &n->devices[k])) continue;
            told = told || k < i;
            same++;
        }
        if (told) continue;
        if (*named == REASONS_MAX) {
            *more += same;
            continue;
        }
        (*named)++;
        strbuf_fmt(out, "; %u of %u GPU%s of %s %s ", same, n->n_devices,
                   n->n_devices == 1 ? "" : "s", n->name, same == 1 ? "is" : "are");
        put_reason(d, out);
    }
}

void explain_devices_out(const struct world *w, const struct session *s, struct strbuf *out)
{
    uint32_t named = 0, more = 0;
    struct slots total;
    if (!session_total(s, &total) || total.v[SLOT_GPU] == 0) return;
    VEC_EACH(n, &w->nodes) {
        /* Of a node that is not heard, that is what is to be said. */
        bool counts = n->name[0] != '\0' && n->group == s->group && !n->unreachable;
        if (counts) put_out(n, &named, &more, out);
    }
    if (more == 0) return;
    strbuf_fmt(out, "; %u more GPU%s out of use", more, more == 1 ? " is" : "s are");
}

void explain_devices_held(const struct world *w, const struct session *s, struct strbuf *out)
{
    for (struct alloc *a = world_allocs_of_session(w, s); a; a = world_next_of_session(w, a)) {
        const struct node *n = world_node(w, a->node);
        CHECK(n != NULL);
        for (uint32_t i = 0; i < n->n_devices; i++) {
            const struct device *d = &n->devices[i];
            bool bad = known(d) && d->health != DEVICE_HEALTHY;
            if (!bad || a->revoked || !(a->devices >> i & 1)) continue;
            strbuf_fmt(out, "; its GPU %u of %s is ", i, n->name);
            put_reason(d, out);
        }
    }
}
