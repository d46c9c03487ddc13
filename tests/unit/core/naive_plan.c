/* The plan without any structure: what is held at an instant is summed anew each time.
 *
 * The same rules as core/sched/plan.c, tried at the present and at each instant at which
 * something comes free. */
#include "naive_plan.h"

#include "base/bitset.h"
#include "core/model/order.h"
#include "core/sched/devmap.h"

struct naive_hold {
    int64_t from_ms, until_ms;
    uint64_t session;
    uint32_t devices;
    struct slots slots;
};
struct naive_line {
    VEC(struct naive_hold) holds;
    VEC(struct reservation) reserved; /* part 0 is here */
    const struct session *viewer;
};
struct naive_span { int64_t from_ms, until_ms; };

static int64_t end_after(int64_t at_ms, int64_t len_ms)
{
    return len_ms == 0 ? PLAN_NEVER : at_ms + len_ms;
}

/* What should be over holds still: it ends at the next instant, at the earliest. */
static int64_t not_yet(const struct world *w, int64_t end_ms)
{
    return end_ms > w->now_ms ? end_ms : w->now_ms + 1;
}

static void gather(const struct world *w, uint32_t node, const struct session *viewer,
                   struct naive_line *ret)
{
    VEC_CLEAR(&ret->holds);
    ret->viewer = viewer;
    VEC_EACH(a, &w->allocs) {
        if (!a->live || a->node != node) continue;
        int64_t end_ms = ledger_end(world_session(w, a->ref.session), a);
        VEC_PUSH(&ret->holds, ((struct naive_hold){.until_ms = not_yet(w, end_ms),
                                                   .session = a->ref.session,
                                                   .devices = a->devices,
                                                   .slots = a->slots}));
    }
    VEC_EACH(s, &w->sessions) {
        const struct promise *p = s->id > 0 && s->id != viewer->id ? plan_of(w, s->id) : NULL;
        for (uint32_t m = 0; p && m < p->picks.n; m++) {
            if (p->picks.v[m].node != node) continue;
            VEC_PUSH(&ret->holds,
                     ((struct naive_hold){.from_ms = p->at_ms,
                                          .until_ms = not_yet(w, p->end_ms),
                                          .session = s->id,
                                          .devices = p->picks.v[m].devices,
                                          .slots = session_role_of(s, m)->slots}));
        }
    }
    VEC_EACH(r, &w->reservations) {
        for (uint32_t i = 0; i < r->n_parts; i++) {
            if (r->parts[i].node != node) continue;
            struct reservation here = *r;
            here.parts[0] = r->parts[i];
            VEC_PUSH(&ret->reserved, here);
        }
    }
}

static void line_done(struct naive_line *t)
{
    VEC_DONE(&t->holds);
    VEC_DONE(&t->reserved);
}

static bool active(const struct reservation *r, int64_t at_ms)
{
    return r->start_ms <= at_ms && at_ms < r->end_ms;
}

/* The reservation that the hold counts as part of. */
static const struct reservation *whose(const struct world *w, const struct naive_line *t,
                                       const struct naive_hold *h, int64_t at_ms)
{
    const struct session *s = world_session(w, h->session);
    VEC_EACH(r, &t->reserved) {
        if (s && active(r, at_ms) && reservation_covers(r, &r->parts[0], s, h->devices)) return r;
    }
    return NULL;
}

/* What the reservation still takes when its owner holds so much of it. */
static void add_reserved(const struct world *w, const struct naive_line *t,
                         const struct reservation *r, int64_t at_ms, struct slots *used)
{
    struct slots rest = r->slots;
    VEC_EACH(h, &t->holds) {
        if (h->from_ms > at_ms || at_ms >= h->until_ms) continue;
        if (whose(w, t, h, at_ms) != r) continue;
        for (int k = 0; k < SLOT_KINDS; k++) rest.v[k] -= h->slots.v[k];
    }
    for (int k = 0; k < SLOT_KINDS; k++) {
        if (rest.v[k] > 0) used->v[k] += rest.v[k];
    }
}

/* What is held at an instant. */
static struct slots used_at(const struct world *w, const struct naive_line *t, int64_t at_ms)
{
    struct slots used = {{0}};
    VEC_EACH(h, &t->holds) {
        if (h->from_ms > at_ms || at_ms >= h->until_ms) continue;
        for (int k = 0; k < SLOT_KINDS; k++) used.v[k] += h->slots.v[k];
    }
    VEC_EACH(r, &t->reserved) {
        if (!active(r, at_ms) || (t->viewer && reservation_admits(r, t->viewer))) continue;
        add_reserved(w, t, r, at_ms, &used);
    }
    return used;
}

static void least(const struct slots *capacity, const struct slots *used, struct slots *free)
{
    for (int k = 0; k < SLOT_KINDS; k++) {
        int64_t left = capacity->v[k] > used->v[k] ? capacity->v[k] - used->v[k] : 0;
        if (left < free->v[k]) free->v[k] = left;
    }
}

static void span_room(const struct world *w, uint32_t node, const struct naive_line *t,
                     const struct naive_span *win, struct room *ret)
{
    const struct node *n = world_node(w, node);
    struct room room = w->rooms.v[node - 1];
    room.devices = node_healthy_devices(n);
    room.free = room.capacity;
    struct slots used = used_at(w, t, win->from_ms);
    least(&room.capacity, &used, &room.free);
    VEC_EACH(h, &t->holds) {
        if (h->from_ms >= win->until_ms || h->until_ms <= win->from_ms) continue;
        room.devices &= ~h->devices;
        if (h->from_ms <= win->from_ms) continue;
        used = used_at(w, t, h->from_ms);
        least(&room.capacity, &used, &room.free);
    }
    VEC_EACH(r, &t->reserved) {
        if (r->start_ms >= win->until_ms || r->end_ms <= win->from_ms) continue;
        if (!t->viewer || !reservation_admits(r, t->viewer)) room.devices &= ~r->parts[0].devices;
        if (r->start_ms <= win->from_ms) continue;
        used = used_at(w, t, r->start_ms);
        least(&room.capacity, &used, &room.free);
    }
    room.free.v[SLOT_GPU] = bits_count(room.devices);
    *ret = room;
}


struct naive_spot { /* a node that may be used at all */
    uint32_t node;
    struct naive_line line;
    struct room room; /* in the window that is tried */
};
struct naive_search {
    const struct world *w;
    const struct session *s;
    VEC(struct naive_spot) spots;    /* by name */
    VEC(uint64_t) instants;    /* in order */
    VEC(struct place_pick) picks;
};

void naive_window(const struct world *w, uint32_t node, const struct session *s, int64_t until_ms,
                 struct room *ret)
{
    struct naive_line t = {0};
    gather(w, node, s, &t);
    span_room(w, node, &t, &(struct naive_span){w->now_ms, until_ms}, ret);
    line_done(&t);
}

/* ---- what is to be looked at */

static bool may_use(const struct world *w, const struct session *s, uint32_t node)
{
    const struct room *r = &w->rooms.v[node - 1];
    return r->group == s->group && r->usable && place_hosts_at(w, s, node - 1);
}

/* Whether something comes free at this very instant. */
static bool grows(const struct world *w, uint32_t node, const struct naive_line *line,
                  int64_t at_ms)
{
    struct room before, after;
    span_room(w, node, line, &(struct naive_span){at_ms - 1, at_ms}, &before);
    span_room(w, node, line, &(struct naive_span){at_ms, at_ms + 1}, &after);
    return (after.devices & ~before.devices) != 0 || !slots_fit(&after.free, &before.free);
}

static void add_spot(struct naive_search *x, uint32_t node)
{
    const struct node *n = world_node(x->w, node);
    uint32_t at = x->spots.n;
    struct naive_spot spot = {.node = node};

    for (; at > 0; at--) {
        const struct node *before = world_node(x->w, x->spots.v[at - 1].node);
        if (str_natural_cmp(str_of(n->name), str_of(before->name)) > 0) break;
    }
    gather(x->w, node, x->s, &spot.line);
    VEC_EACH(h, &spot.line.holds) {
        if (h->until_ms < PLAN_NEVER && grows(x->w, node, &spot.line, h->until_ms)) {
            VEC_PUSH(&x->instants, (uint64_t)h->until_ms);
        }
    }
    VEC_EACH(r, &spot.line.reserved) {
        if (r->end_ms > x->w->now_ms && grows(x->w, node, &spot.line, r->end_ms)) {
            VEC_PUSH(&x->instants, (uint64_t)r->end_ms);
        }
    }
    VEC_INSERT(&x->spots, at, spot);
}

static void search_begin(struct naive_search *x)
{
    VEC_PUSH(&x->instants, (uint64_t)x->w->now_ms);
    for (uint32_t node = 1; node <= x->w->rooms.n; node++) {
        if (may_use(x->w, x->s, node)) add_spot(x, node);
    }
    order_sort(x->instants.v, x->instants.n, sizeof(*x->instants.v), order_cmp_u64);
}

static void search_done(struct naive_search *x)
{
    VEC_EACH(spot, &x->spots) line_done(&spot->line);
    VEC_DONE(&x->spots);
    VEC_DONE(&x->instants);
    VEC_DONE(&x->picks);
}

/* ---- one instant */

static void take(struct naive_search *x, struct naive_spot *spot, uint32_t member)
{
    const struct slots *need = &session_role_of(x->s, member)->slots;
    const char *links = x->w->nodes.v[spot->node - 1].links;
    uint32_t devices = devmap_pick(links, spot->room.devices, (uint32_t)need->v[SLOT_GPU]);
    bool fits = slots_sub(&spot->room.free, need, &spot->room.free);
    (void)fits;
    spot->room.devices &= ~devices;
    x->picks.v[member] = (struct place_pick){spot->node, devices};
}

/* In the order of choice: first the nodes that could not take `need` now.  Round 0 or 1. */
static bool in_round(const struct naive_search *x, const struct naive_spot *spot,
                     const struct slots *need, uint32_t round)
{
    bool fits_now = slots_fit(need, &x->w->rooms.v[spot->node - 1].free);
    return fits_now == (round == 1);
}

static bool role_fits(struct naive_search *x, uint32_t role)
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

static bool one_node_fits(struct naive_search *x)
{
    struct slots total;
    bool sane = session_total(x->s, &total);
    (void)sane;
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

static bool all_fit(struct naive_search *x)
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

static bool fits_at(struct naive_search *x, int64_t at_ms)
{
    struct naive_span win = {at_ms, end_after(at_ms, x->s->time_limit_ms)};
    if (win.until_ms <= win.from_ms) return false;
    VEC_EACH(spot, &x->spots) {
        span_room(x->w, spot->node, &spot->line, &win, &spot->room);
    }
    return all_fit(x);
}

/* ---- who stands in the way */

/* As if nothing without a limit were held either. */
static bool fits_empty(struct naive_search *x)
{
    struct naive_line empty = {.viewer = x->s};
    VEC_EACH(spot, &x->spots) {
        span_room(x->w, spot->node, &empty, &(struct naive_span){0, 1}, &spot->room);
    }
    return all_fit(x);
}

/* Of the nodes that could host a member, the one with fewest that never end; of these the
 * first submitted. */
static uint64_t blocker(struct naive_search *x)
{
    uint64_t found = 0;
    uint32_t fewest = UINT32_MAX;
    if (!fits_empty(x)) return 0;
    VEC_EACH(spot, &x->spots) {
        uint64_t first = 0;
        uint32_t n = 0;
        if (!place_hosts_at(x->w, x->s, spot->node - 1)) continue;
        VEC_EACH(h, &spot->line.holds) {
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

bool naive_earliest(const struct world *w, const struct session *s, struct promise *ret,
                   uint64_t *ret_blocker)
{
    struct naive_search x = {.w = w, .s = s};
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
        VEC_DONE(&ret->picks);
        *ret = (struct promise){.session = s->id, .at_ms = tried_ms, .first_ms = tried_ms,
                                .end_ms = end_after(tried_ms, s->time_limit_ms)};
        ret->picks.v = STEAL(x.picks.v);
        ret->picks.n = x.picks.n;
        ret->picks.cap = x.picks.cap;
    } else {
        *ret_blocker = blocker(&x);
    }
    search_done(&x);
    return found;
}
