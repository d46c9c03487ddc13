/* core/sched/advance.c - nodes by name, each with its room in the window.
 *
 * docs/spec/scheduling.md, "Reservations" */
#include "core/sched/advance.h"

#include "base/bitset.h"
#include "base/check.h"
#include "core/sched/devmap.h"
#include "core/sched/promise.h"

struct hunt {
    struct world *w;
    struct promises *book;
    const struct reservation *r;
    uint32_t node;
};

static bool asked_for(const struct hunt *h, uint32_t node) { return !h->node || h->node == node; }

static bool able(const struct hunt *h, uint32_t node)
{
    const struct room *room = &h->w->rooms.v[node - 1];
    uint32_t healthy = node_healthy_devices(world_node(h->w, node));
    return room->usable && slots_fit(&h->r->slots, &room->capacity) &&
           (int64_t)bits_count(healthy) >= h->r->slots.v[SLOT_GPU];
}

static bool is_free(const struct hunt *h, uint32_t node, uint32_t *ret_devices)
{
    struct window win = {h->r->start_ms, h->r->end_ms};
    struct slots free;
    timeline_window(outlook_line(h->book, h->w, node, NULL), &win, &free, ret_devices);
    return slots_fit(&h->r->slots, &free);
}

static void blame(const struct hunt *h, uint32_t node, struct advance_miss *miss)
{
    const struct node *n = world_node(h->w, node);
    if (miss->node != 0) return;
    miss->node = node;
    for (struct alloc *a = world_allocs_of_node(h->w, n); a; a = world_next_of_node(h->w, a)) {
        if (a->end_ms <= h->r->start_ms) continue;
        if (miss->session != 0 && miss->session < a->ref.session) continue;
        miss->session = a->ref.session;
        miss->until_ms = a->end_ms;
    }
}

/* Round 0: nodes that have no room for a part now; round 1: the others. */
static void take_round(const struct hunt *h, const struct outlook *o, bool fits_now,
                       struct reservation *draft)
{
    for (uint32_t pos = 0; pos < o->nodes.n && draft->n_parts < h->r->n_parts; pos++) {
        uint32_t node = o->nodes.v[pos], devices;
        if (!asked_for(h, node) || !able(h, node) || !is_free(h, node, &devices)) continue;
        if (slots_fit(&h->r->slots, &h->w->rooms.v[node - 1].free) != fits_now) continue;
        uint32_t count = (uint32_t)h->r->slots.v[SLOT_GPU];
        devices = devmap_pick(world_node(h->w, node)->links, devices, count);
        draft->parts[draft->n_parts++] = (struct reservation_part){node, devices};
    }
}

bool advance_decide(struct world *w, struct reservation *r, uint32_t node,
                    struct advance_miss *ret_miss)
{
    struct hunt h = {.w = w, .r = r, .node = node};
    struct reservation draft = *r;
    struct advance_miss miss = {0};
    CHECK(r->n_parts >= 1);
    CHECK(r->n_parts <= RESERVATION_PARTS_MAX);
    CHECK(r->start_ms < r->end_ms);
    (void)promises_of(w);
    h.book = promises_read(w);
    const struct outlook *o = outlook_of(h.book, w, r->group);
    draft.n_parts = 0;
    take_round(&h, o, false, &draft);
    take_round(&h, o, true, &draft);
    if (draft.n_parts == r->n_parts) {
        *r = draft;
        return true;
    }
    for (uint32_t pos = 0; pos < o->nodes.n; pos++) {
        uint32_t at = o->nodes.v[pos], devices;
        if (!asked_for(&h, at)) continue;
        miss.nodes++;
        if (!able(&h, at)) continue;
        miss.able++;
        if (is_free(&h, at, &devices)) miss.free++;
        else blame(&h, at, &miss);
    }
    *ret_miss = miss;
    return false;
}
