/* core/sched/plan.c - the earliest instant at which a session could start, and where.
 *
 * Room comes free only where something that is held ends, so these instants and the
 * present are all that have to be tried, in order.  On nodes that could take a member now
 * nothing is promised while others do: what is free stays usable; then by name.
 * docs/spec/scheduling.md, "The plan" */
#include "core/sched/plan.h"

#include "base/check.h"
#include "core/model/order.h"
#include "core/sched/devmap.h"
#include "core/sched/promise.h"

struct spot { /* a node that may be used at all */
    uint32_t node;
    struct timeline timeline;
    struct room room; /* in the window that is tried */
};
struct search {
    const struct world *w;
    const struct session *s;
    VEC(struct spot) spots;    /* by name */
    VEC(uint64_t) instants;    /* in order */
    VEC(struct place_pick) picks;
};

void plan_window(const struct world *w, uint32_t node, const struct session *s, int64_t until_ms,
                 struct room *ret)
{
    struct timeline t = {0};
    timeline_gather(w, node, s->id, &t);
    timeline_window(w, node, &t, &(struct window){w->now_ms, until_ms}, ret);
    timeline_done(&t);
}

/* ---- what is to be looked at */

static bool may_use(const struct world *w, const struct session *s, uint32_t node)
{
    const struct room *r = &w->rooms.v[node - 1];
    if (r->group != s->group || !r->usable) return false;
    return true;
}

static void add_spot(struct search *x, uint32_t node)
{
    const struct node *n = world_node(x->w, node);
    uint32_t at = x->spots.n;
    struct spot spot = {.node = node};
    CHECK(n != NULL);
    while (at > 0 && str_natural_cmp(str_of(n->name),
                                     str_of(world_node(x->w, x->spots.v[at - 1].node)->name)) < 0) {
        at--;
    }
    timeline_gather(x->w, node, x->s->id, &spot.timeline);
    VEC_EACH(h, &spot.timeline.holds) {
        if (h->until_ms < PLAN_NEVER) VEC_PUSH(&x->instants, (uint64_t)h->until_ms);
    }
    VEC_INSERT(&x->spots, at, spot);
}

static void search_begin(struct search *x)
{
    VEC_PUSH(&x->instants, (uint64_t)x->w->now_ms);
    for (uint32_t node = 1; node <= x->w->rooms.n; node++) {
        if (may_use(x->w, x->s, node)) add_spot(x, node);
    }
    order_sort(x->instants.v, x->instants.n, sizeof(*x->instants.v), order_cmp_u64);
}

static void search_done(struct search *x)
{
    VEC_EACH(spot, &x->spots) timeline_done(&spot->timeline);
    VEC_DONE(&x->spots);
    VEC_DONE(&x->instants);
    VEC_DONE(&x->picks);
}

/* ---- one instant */

static void take(struct search *x, struct spot *spot, uint32_t member)
{
    const struct slots *need = &session_role_of(x->s, member)->slots;
    uint32_t devices = devmap_pick(spot->room.devices, (uint32_t)need->v[SLOT_GPU]);
    bool fits = slots_sub(&spot->room.free, need, &spot->room.free);
    CHECK(fits);
    spot->room.devices &= ~devices;
    x->picks.v[member] = (struct place_pick){spot->node, devices};
}

/* In the order of choice: first the nodes that could not take `need` now.  Round 0 or 1. */
static bool in_round(const struct search *x, const struct spot *spot, const struct slots *need,
                     uint32_t round)
{
    bool fits_now = slots_fit(need, &x->w->rooms.v[spot->node - 1].free);
    return fits_now == (round == 1);
}

static bool role_fits(struct search *x, uint32_t role)
{
    const struct slots *need = &x->s->roles[role].slots;
    uint32_t member = 0, left = x->s->roles[role].count;
    for (uint32_t i = 0; i < role; i++) member += x->s->roles[i].count;
    for (uint32_t round = 0; round < 2; round++) {
        VEC_EACH(spot, &x->spots) {
            if (!in_round(x, spot, need, round)) continue;
            if (!place_admits(x->w, x->s, PLACE_NOW, need, spot->node - 1)) continue;
            for (; left > 0 && slots_fit(need, &spot->room.free); left--) take(x, spot, member++);
        }
    }
    return left == 0;
}

static bool one_node_fits(struct search *x)
{
    struct slots total;
    bool sane = session_total(x->s, &total);
    CHECK(sane);
    for (uint32_t round = 0; round < 2; round++) {
        VEC_EACH(spot, &x->spots) {
            if (!in_round(x, spot, &total, round)) continue;
            if (!slots_fit(&total, &spot->room.free)) continue;
            if (!place_admits(x->w, x->s, PLACE_NOW, &total, spot->node - 1)) continue;
            for (uint32_t m = 0; m < x->s->members; m++) take(x, spot, m);
            return true;
        }
    }
    return false;
}

static bool larger(const struct slots *a, const struct slots *b)
{
    static const enum slot_kind ranking[] = {SLOT_GPU, SLOT_CPU, SLOT_MEM};
    for (size_t i = 0; i < ARRAY_LEN(ranking); i++) {
        if (a->v[ranking[i]] != b->v[ranking[i]]) return a->v[ranking[i]] > b->v[ranking[i]];
    }
    return false;
}

/* The largest first: they fit fewer places. */
static void role_order(const struct session *s, uint32_t ret[SESSION_ROLES_MAX])
{
    for (uint32_t i = 0; i < s->n_roles; i++) {
        uint32_t at = i;
        for (; at > 0 && larger(&s->roles[i].slots, &s->roles[ret[at - 1]].slots); at--) {
            ret[at] = ret[at - 1];
        }
        ret[at] = i;
    }
}

static bool all_fit(struct search *x)
{
    uint32_t order[SESSION_ROLES_MAX];
    VEC_CLEAR(&x->picks);
    VEC_RESERVE(&x->picks, x->s->members);
    x->picks.n = x->s->members;
    if (x->s->one_node || x->s->members == 1) return one_node_fits(x);
    role_order(x->s, order);
    for (uint32_t i = 0; i < x->s->n_roles; i++) {
        if (!role_fits(x, order[i])) return false;
    }
    return true;
}

static bool fits_at(struct search *x, int64_t at_ms)
{
    struct window win = {at_ms, timeline_end(at_ms, x->s->time_limit_ms)};
    if (win.until_ms <= win.from_ms) return false;
    VEC_EACH(spot, &x->spots) {
        timeline_window(x->w, spot->node, &spot->timeline, &win, &spot->room);
    }
    return all_fit(x);
}

/* ---- who stands in the way */

/* As if nothing without a limit were held either. */
static bool fits_empty(struct search *x)
{
    struct timeline empty = {0};
    VEC_EACH(spot, &x->spots) {
        timeline_window(x->w, spot->node, &empty, &(struct window){0, 1}, &spot->room);
    }
    return all_fit(x);
}

/* Of the nodes that could host a member, the one with fewest that never end; of these the
 * first submitted. */
static uint64_t blocker(struct search *x)
{
    uint64_t found = 0;
    uint32_t fewest = UINT32_MAX;
    if (!fits_empty(x)) return 0;
    VEC_EACH(spot, &x->spots) {
        uint64_t first = 0;
        uint32_t n = 0;
        if (!place_hosts_at(x->w, x->s, spot->node - 1)) continue;
        VEC_EACH(h, &spot->timeline.holds) {
            if (h->until_ms < PLAN_NEVER) continue;
            n++;
            if (first == 0 || h->session < first) first = h->session;
        }
        if (n == 0 || n >= fewest) continue;
        fewest = n;
        found = first;
    }
    return found;
}

bool plan_earliest(const struct world *w, const struct session *s, struct promise *ret,
                   uint64_t *ret_blocker)
{
    struct search x = {.w = w, .s = s};
    bool found = false;
    int64_t tried_ms = -1;
    search_begin(&x);
    for (uint32_t i = 0; !found && i < x.instants.n; i++) {
        int64_t at_ms = (int64_t)x.instants.v[i];
        if (at_ms == tried_ms) continue;
        tried_ms = at_ms;
        found = fits_at(&x, at_ms);
    }
    if (found) {
        promise_done(ret);
        *ret = (struct promise){.session = s->id, .at_ms = tried_ms, .first_ms = tried_ms,
                                .end_ms = timeline_end(tried_ms, s->time_limit_ms)};
        ret->picks.v = STEAL(x.picks.v);
        ret->picks.n = x.picks.n;
        ret->picks.cap = x.picks.cap;
    } else {
        *ret_blocker = blocker(&x);
    }
    search_done(&x);
    return found;
}
