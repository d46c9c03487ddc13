/* core/sched/reserved.c - what reservations take off a node's timeline.
 *
 * In its window a reservation takes what its owner's sessions do not hold of it already:
 * its devices, and of the rest what is left of its amounts.
 * docs/spec/scheduling.md, "Reservations" */
#include "base/check.h"
#include "core/model/order.h"
#include "core/sched/promise.h"

struct part { /* of a reservation, on the node that is looked at */
    const struct world *w;
    uint32_t node;
    const struct line *line;
    const struct session *viewer;
    const struct reservation *r;
    VEC(uint64_t) instants; /* at which what it takes may change */
};

/* The part of the reservation on that node. */
static const struct reservation_part *part_on(const struct reservation *r, uint32_t node)
{
    for (uint32_t i = 0; i < r->n_parts; i++) {
        if (r->parts[i].node == node) return &r->parts[i];
    }
    UNREACHABLE();
}

static bool active(const struct reservation *r, int64_t at_ms)
{
    return r->start_ms <= at_ms && at_ms < r->end_ms;
}

/* Whether the hold counts as part of this reservation, and of none before it. */
static bool covers(const struct part *p, uint64_t session, const struct hold *h, int64_t at_ms)
{
    const struct session *s = world_session(p->w, session);
    int64_t until_ms = h->until_ms;
    if (until_ms <= p->w->now_ms) until_ms = p->w->now_ms + 1; /* overdue: it holds still */
    if (!s || h->from_ms > at_ms || at_ms >= until_ms) return false;
    VEC_EACH(id, &p->line->reserved) {
        const struct reservation *r = world_reservation(p->w, *id);
        CHECK(r != NULL);
        if (r != p->r && !active(r, at_ms)) continue;
        if (reservation_covers(r, part_on(r, p->node), s, h->devices)) return r == p->r;
        if (r == p->r) return false;
    }
    UNREACHABLE();
}

/* What it takes at an instant beside what its owner holds. */
static struct slots uncovered(const struct part *p, int64_t at_ms)
{
    struct slots left = p->r->slots;
    VEC_EACH(row, &p->line->rows) {
        uint64_t session = p->w->allocs.v[row->slot].ref.session;
        if (!covers(p, session, &row->hold, at_ms)) continue;
        for (int k = 0; k < SLOT_KINDS; k++) left.v[k] -= row->hold.slots.v[k];
    }
    VEC_EACH(one, &p->line->promised) {
        if (p->viewer && p->viewer->id == one->session) continue;
        if (!covers(p, one->session, &one->hold, at_ms)) continue;
        for (int k = 0; k < SLOT_KINDS; k++) left.v[k] -= one->hold.slots.v[k];
    }
    for (int k = 0; k < SLOT_KINDS; k++) {
        if (left.v[k] < 0) left.v[k] = 0;
    }
    return left;
}

static void note(struct part *p, int64_t from_ms, int64_t until_ms)
{
    if (until_ms <= p->w->now_ms) until_ms = p->w->now_ms + 1;
    if (active(p->r, from_ms)) VEC_PUSH(&p->instants, (uint64_t)from_ms);
    if (active(p->r, until_ms)) VEC_PUSH(&p->instants, (uint64_t)until_ms);
}

static void hold_part(struct part *p, struct timeline *ret)
{
    const struct reservation *r = p->r;
    VEC_CLEAR(&p->instants);
    VEC_PUSH(&p->instants, (uint64_t)r->start_ms);
    VEC_PUSH(&p->instants, (uint64_t)r->end_ms);
    VEC_EACH(row, &p->line->rows) note(p, row->hold.from_ms, row->hold.until_ms);
    VEC_EACH(one, &p->line->promised) note(p, one->hold.from_ms, one->hold.until_ms);
    VEC_EACH(id, &p->line->reserved) {
        const struct reservation *other = world_reservation(p->w, *id);
        note(p, other->start_ms, other->end_ms);
    }
    order_sort(p->instants.v, p->instants.n, sizeof(*p->instants.v), order_cmp_u64);
    for (uint32_t i = 0; i + 1 < p->instants.n; i++) {
        int64_t from_ms = (int64_t)p->instants.v[i], until_ms = (int64_t)p->instants.v[i + 1];
        struct hold h = {.from_ms = from_ms > p->w->now_ms ? from_ms : p->w->now_ms,
                         .until_ms = until_ms,
                         .devices = part_on(r, p->node)->devices & p->line->healthy};
        if (h.from_ms >= h.until_ms) continue;
        h.slots = uncovered(p, h.from_ms);
        timeline_hold(ret, &h);
    }
}

void reserved_hold(const struct world *w, uint32_t node, const struct line *line,
                   const struct session *viewer, struct timeline *ret)
{
    struct part p = {.w = w, .node = node, .line = line, .viewer = viewer};
    VEC_EACH(id, &line->reserved) {
        p.r = world_reservation(w, *id);
        CHECK(p.r != NULL);
        if (viewer && reservation_admits(p.r, viewer)) continue;
        hold_part(&p, ret);
    }
    VEC_DONE(&p.instants);
}

bool reserved_for(const struct world *w, const struct line *line, const struct session *s)
{
    VEC_EACH(id, &line->reserved) {
        const struct reservation *r = world_reservation(w, *id);
        CHECK(r != NULL);
        if (reservation_admits(r, s)) return true;
    }
    return false;
}
