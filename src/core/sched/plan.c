/* core/sched/plan.c - the earliest instant at which a session could start, and where.
 *
 * Room comes free only where something that is held ends, so these instants and the
 * present are all that have to be tried.  Ready times bound each node from below: only
 * nodes under the best so far are looked at exactly.  On nodes that could take a member
 * now nothing is promised while others do: what is free stays usable; then by name.
 * docs/spec/scheduling.md, "The plan" */
#include "core/sched/plan.h"

#include "base/check.h"
#include "base/heap.h"
#include "core/model/order.h"
#include "core/sched/devmap.h"
#include "core/sched/promise.h"
#include "core/sched/strategy.h"

struct spot { /* a node of the group that may be used at all, and could host a member */
    uint32_t node, pos;
    bool admitted;        /* for members of the first role */
    uint32_t times;       /* as many fit in the window that begins at `at_ms` */
    struct room room;     /* while members are put there */
};
struct search {
    const struct world *w;
    const struct session *s;
    struct promises *book;
    struct outlook *o;
    VEC(struct spot) spots; /* by name */
    struct heap heap;
    VEC(uint64_t) instants;
    VEC(struct place_pick) picks;
};

static struct window window_at(const struct search *x, int64_t at_ms)
{
    return (struct window){at_ms, timeline_end(at_ms, x->s->time_limit_ms)};
}

static const struct timeline *line_of(struct search *x, uint32_t node)
{
    return outlook_line(x->book, x->w, node, x->s);
}

static bool admits(const struct search *x, uint32_t node, const struct slots *need)
{
    return place_admits(x->w, x->s, PLACE_NOW, need, node - 1);
}

static int64_t since_now(const struct search *x, int64_t ready_ms)
{
    if (ready_ms == READY_FREE) return x->w->now_ms;
    return ready_ms > x->w->now_ms ? ready_ms : x->w->now_ms + 1;
}

/* No member that needs so much fits the node before. */
static int64_t bound(const struct search *x, uint32_t pos, const struct slots *need)
{
    int64_t devices_ms = x->o->ready[need->v[SLOT_GPU]].v[pos];
    if (devices_ms == PLAN_NEVER) return PLAN_NEVER;
    devices_ms = since_now(x, devices_ms);
    if (slots_fit(need, &x->w->rooms.v[x->o->nodes.v[pos] - 1].free)) return devices_ms;
    if (x->o->first_end.v[pos] == PLAN_NEVER) return PLAN_NEVER;
    int64_t first_ms = since_now(x, x->o->first_end.v[pos]);
    return first_ms > devices_ms ? first_ms : devices_ms;
}

static bool fits_now(const struct search *x, uint32_t node, const struct slots *need)
{
    return slots_fit(need, &x->w->rooms.v[node - 1].free);
}

/* ---- all on one node */

/* The room is that of the window; the members of one role, or of all. */
static void put(struct search *x, uint32_t node, struct room *room, uint32_t member)
{
    const struct slots *need = &session_role_of(x->s, member)->slots;
    const char *links = x->w->nodes.v[node - 1].links;
    uint32_t devices = devmap_pick(links, room->devices, (uint32_t)need->v[SLOT_GPU]);
    bool fits = slots_sub(&room->free, need, &room->free);
    CHECK(fits);
    room->devices &= ~devices;
    x->picks.v[member] = (struct place_pick){node, devices};
}

static struct room room_at(struct search *x, uint32_t node, int64_t at_ms)
{
    struct room room = x->w->rooms.v[node - 1];
    struct window win = window_at(x, at_ms);
    timeline_window(line_of(x, node), &win, &room.free, &room.devices);
    return room;
}

static int64_t on_one_node(struct search *x)
{
    struct slots total;
    int64_t best_ms = PLAN_NEVER;
    uint32_t best = 0;
    bool best_fits_now = true;
    bool sane = session_total(x->s, &total);
    CHECK(sane); /* submission refused sums that overflow */
    if (total.v[SLOT_GPU] > NODE_DEVICES_MAX) return PLAN_NEVER;
    const int64_t *ready = x->o->ready[total.v[SLOT_GPU]].v;
    for (uint32_t pos = 0; pos < x->o->nodes.n; pos++) {
        if (ready[pos] > best_ms || ready[pos] == PLAN_NEVER) continue;
        uint32_t node = x->o->nodes.v[pos];
        int64_t at_ms = bound(x, pos, &total);
        if (at_ms > best_ms || at_ms == PLAN_NEVER) continue;
        bool now = fits_now(x, node, &total);
        if (at_ms == best_ms && (now || !best_fits_now)) continue;
        if (!admits(x, node, &total)) continue;
        at_ms = timeline_earliest(line_of(x, node), &total, at_ms, x->s->time_limit_ms);
        if (at_ms > best_ms || at_ms == PLAN_NEVER) continue;
        if (at_ms == best_ms && (now || !best_fits_now)) continue;
        best_ms = at_ms;
        best = node;
        best_fits_now = now;
    }
    if (best_ms == PLAN_NEVER) return PLAN_NEVER;
    struct room room = room_at(x, best, best_ms);
    for (uint32_t m = 0; m < x->s->members; m++) put(x, best, &room, m);
    return best_ms;
}

/* ---- gangs */

static uint32_t capacity_times(const struct room *r, const struct slots *need, uint32_t enough)
{
    int64_t n = enough;
    for (int k = 0; k < SLOT_KINDS; k++) {
        if (need->v[k] > 0 && r->capacity.v[k] / need->v[k] < n) n = r->capacity.v[k] / need->v[k];
    }
    return (uint32_t)n;
}

static void find_spots(struct search *x)
{
    VEC_CLEAR(&x->spots);
    for (uint32_t pos = 0; pos < x->o->nodes.n; pos++) {
        uint32_t node = x->o->nodes.v[pos];
        if (x->o->ready[0].v[pos] == PLAN_NEVER || !place_hosts_at(x->w, x->s, node - 1)) continue;
        bool admitted = admits(x, node, &x->s->roles[0].slots);
        VEC_PUSH(&x->spots, ((struct spot){.node = node, .pos = pos, .admitted = admitted}));
    }
}

/* The smallest `n` of what is offered stay in a heap with the greatest on top. */
static void offer(struct heap *least, uint32_t n, int64_t at_ms, uint64_t tie)
{
    struct heap_item gone;
    const struct heap_item *top = heap_top(least);
    if (least->n == n && -top->key <= at_ms) return;
    if (least->n == n) heap_pop(least, &gone);
    heap_push(least, (struct heap_item){.key = -at_ms, .tie = tie});
}

/* `count` members of the shape do not fit before, whatever is promised. */
static int64_t role_bound(struct search *x, const struct slots *need, uint32_t count)
{
    struct heap least = {0};
    uint64_t tie = 0;
    int64_t gpus = need->v[SLOT_GPU], last_ms = PLAN_NEVER;
    CHECK(count > 0);
    VEC_EACH(spot, &x->spots) {
        uint32_t n = capacity_times(&x->w->rooms.v[spot->node - 1], need, count);
        if (!admits(x, spot->node, need)) continue;
        for (uint32_t m = 1; m <= n && m * gpus <= NODE_DEVICES_MAX; m++) {
            int64_t at_ms = x->o->ready[m * gpus].v[spot->pos];
            if (at_ms == PLAN_NEVER) break;
            offer(&least, count, since_now(x, at_ms), tie++);
        }
    }
    if (least.n == count) last_ms = -heap_top(&least)->key;
    heap_done(&least);
    return last_ms;
}

/* How many members the spot takes at an instant. */
static void count_at(struct search *x, struct spot *spot, int64_t at_ms, uint32_t enough)
{
    struct window win = window_at(x, at_ms);
    spot->times = 0;
    if (!spot->admitted) return;
    if (since_now(x, x->o->ready[x->s->roles[0].slots.v[SLOT_GPU]].v[spot->pos]) > at_ms) return;
    spot->times = timeline_times(line_of(x, spot->node), &win, &x->s->roles[0].slots, enough);
}

static uint64_t count_all(struct search *x, int64_t at_ms)
{
    uint64_t sum = 0;
    VEC_EACH(spot, &x->spots) {
        count_at(x, spot, at_ms, x->s->members);
        sum += spot->times;
    }
    return sum;
}

static void push_growth(struct search *x, uint32_t i, int64_t after_ms)
{
    const struct spot *spot = &x->spots.v[i];
    int64_t ready_ms = x->o->ready[x->s->roles[0].slots.v[SLOT_GPU]].v[spot->pos];
    if (ready_ms == PLAN_NEVER) return;
    ready_ms = since_now(x, ready_ms);
    if (ready_ms <= after_ms) ready_ms = timeline_next_growth(line_of(x, spot->node), after_ms);
    if (ready_ms == PLAN_NEVER) return;
    heap_push(&x->heap, (struct heap_item){.key = ready_ms, .tie = spot->pos, .slot = i});
}

/* Members that are all alike: room grows at one node after another.  What shrinks in
 * between makes the sum too large, never too small: it is counted anew before it counts. */
static int64_t like_members(struct search *x)
{
    uint32_t n = x->s->members;
    struct heap_item item;
    int64_t at_ms = role_bound(x, &x->s->roles[0].slots, n);
    if (at_ms == PLAN_NEVER) return PLAN_NEVER;
    uint64_t sum = count_all(x, at_ms);
    if (sum >= n) return at_ms;
    for (uint32_t i = 0; i < x->spots.n; i++) push_growth(x, i, at_ms);
    while (heap_pop(&x->heap, &item)) {
        struct spot *spot = &x->spots.v[item.slot];
        const struct heap_item *next;
        CHECK(item.key >= at_ms);
        at_ms = item.key;
        sum -= spot->times;
        count_at(x, spot, at_ms, n);
        sum += spot->times;
        push_growth(x, item.slot, at_ms);
        next = heap_top(&x->heap);
        if (sum < n || (next && next->key == at_ms)) continue;
        sum = count_all(x, at_ms);
        if (sum >= n) return at_ms;
    }
    return PLAN_NEVER;
}

/* ---- putting the members of a gang */

static bool role_fits(struct search *x, uint32_t role)
{
    const struct slots *need = &x->s->roles[role].slots;
    uint32_t member = 0, left = x->s->roles[role].count;
    for (uint32_t i = 0; i < role; i++) member += x->s->roles[i].count;
    for (uint32_t round = 0; round < 2; round++) {
        VEC_EACH(spot, &x->spots) {
            if (left == 0) return true;
            if (!slots_fit(need, &spot->room.free)) continue;
            if (fits_now(x, spot->node, need) != (round == 1)) continue;
            if (!admits(x, spot->node, need)) continue;
            for (; left > 0 && slots_fit(need, &spot->room.free); left--) {
                put(x, spot->node, &spot->room, member++);
            }
        }
    }
    return left == 0;
}

/* The largest first: they fit fewer places. */
static void role_order(const struct session *s, uint32_t ret[SESSION_ROLES_MAX])
{
    for (uint32_t i = 0; i < s->n_roles; i++) {
        uint32_t at = i;
        for (; at > 0 && strategy_larger(&s->roles[i].slots, &s->roles[ret[at - 1]].slots); at--) {
            ret[at] = ret[at - 1];
        }
        ret[at] = i;
    }
}

/* On the rooms that the spots have. */
static bool all_fit(struct search *x)
{
    uint32_t order[SESSION_ROLES_MAX];
    role_order(x->s, order);
    for (uint32_t i = 0; i < x->s->n_roles; i++) {
        if (!role_fits(x, order[i])) return false;
    }
    return true;
}

static bool put_at(struct search *x, int64_t at_ms)
{
    bool alike = x->s->n_roles == 1; /* then it is known who takes any */
    VEC_EACH(spot, &x->spots) {
        spot->room = (struct room){0};
        if (!alike || spot->times > 0) spot->room = room_at(x, spot->node, at_ms);
    }
    return all_fit(x);
}

/* Several roles: each instant at which something comes free is tried with the placement
 * itself; more room does not always help it. */
static int64_t unlike_members(struct search *x)
{
    int64_t from_ms = x->w->now_ms;
    for (uint32_t i = 0; i < x->s->n_roles; i++) {
        int64_t at_ms = role_bound(x, &x->s->roles[i].slots, x->s->roles[i].count);
        if (at_ms == PLAN_NEVER) return PLAN_NEVER;
        if (at_ms > from_ms) from_ms = at_ms;
    }
    VEC_CLEAR(&x->instants);
    if (from_ms == x->w->now_ms) VEC_PUSH(&x->instants, (uint64_t)from_ms);
    VEC_EACH(spot, &x->spots) {
        int64_t at_ms = timeline_next_growth(line_of(x, spot->node), from_ms - 1);
        for (; at_ms < PLAN_NEVER; at_ms = timeline_next_growth(line_of(x, spot->node), at_ms)) {
            VEC_PUSH(&x->instants, (uint64_t)at_ms);
        }
    }
    order_sort(x->instants.v, x->instants.n, sizeof(*x->instants.v), order_cmp_u64);
    for (uint32_t i = 0; i < x->instants.n; i++) {
        if (i > 0 && x->instants.v[i] == x->instants.v[i - 1]) continue;
        if (put_at(x, (int64_t)x->instants.v[i])) return (int64_t)x->instants.v[i];
    }
    return PLAN_NEVER;
}

static int64_t gang(struct search *x)
{
    find_spots(x);
    if (x->s->n_roles > 1) return unlike_members(x);
    int64_t at_ms = like_members(x);
    if (at_ms == PLAN_NEVER) return PLAN_NEVER;
    bool fits = put_at(x, at_ms);
    CHECK(fits);
    return at_ms;
}

/* ---- who stands in the way */

/* As if nothing were held. */
static bool fits_empty(struct search *x)
{
    find_spots(x);
    VEC_EACH(spot, &x->spots) {
        spot->room = x->w->rooms.v[spot->node - 1];
        spot->room.free = spot->room.capacity;
        spot->room.devices = node_healthy_devices(world_node(x->w, spot->node));
        spot->room.free.v[SLOT_GPU] = __builtin_popcount(spot->room.devices);
        struct slots total;
        bool one = x->s->one_node || x->s->members == 1;
        bool fits = one && session_total(x->s, &total) && slots_fit(&total, &spot->room.free);
        if (fits && admits(x, spot->node, &total)) return true;
    }
    return x->s->members > 1 && !x->s->one_node && all_fit(x);
}

/* Of the nodes that could host a member, the one with fewest that never end; of these the
 * first submitted. */
static uint64_t blocker(struct search *x)
{
    uint64_t found = 0;
    uint32_t fewest = UINT32_MAX;
    if (!fits_empty(x)) return 0;
    VEC_EACH(spot, &x->spots) {
        const struct line *line = &x->book->lines.v[spot->node - 1];
        uint64_t first = line->first_endless;
        uint32_t n = line->n_endless;
        VEC_EACH(p, &line->promised) {
            if (p->hold.until_ms < PLAN_NEVER || p->session == x->s->id) continue;
            n++;
            if (first == 0 || p->session < first) first = p->session;
        }
        if (n == 0 || n >= fewest) continue;
        fewest = n;
        found = first;
    }
    return found;
}

/* ---- */

static void search_done(struct search *x)
{
    VEC_DONE(&x->spots);
    VEC_DONE(&x->instants);
    VEC_DONE(&x->picks);
    heap_done(&x->heap);
}

static bool search(struct search *x, struct promise *ret, uint64_t *ret_blocker)
{
    const struct session *s = x->s;
    x->o = outlook_of(x->book, x->w, s->group);
    VEC_RESERVE(&x->picks, s->members);
    x->picks.n = s->members;
    int64_t at_ms = s->one_node || s->members == 1 ? on_one_node(x) : gang(x);
    if (at_ms == PLAN_NEVER) {
        *ret_blocker = blocker(x);
        return false;
    }
    promise_done(ret);
    *ret = (struct promise){.session = s->id, .at_ms = at_ms, .first_ms = at_ms,
                            .end_ms = timeline_end(at_ms, s->time_limit_ms)};
    ret->picks.v = STEAL(x->picks.v);
    ret->picks.n = x->picks.n;
    ret->picks.cap = x->picks.cap;
    return true;
}

bool plan_earliest(const struct world *w, const struct session *s, struct promise *ret,
                   uint64_t *ret_blocker)
{
    struct promises own = {0};
    struct search x = {.w = w, .s = s, .book = promises_read(w)};
    CHECK(s->members >= 1);
    if (!x.book) { /* a world that no step has gone over yet */
        x.book = &own;
        outlook_reserved(&own, w);
    }
    bool found = search(&x, ret, ret_blocker);
    search_done(&x);
    outlook_done(&own);
    return found;
}

void plan_window(const struct world *w, uint32_t node, const struct session *s, int64_t until_ms,
                 struct room *ret)
{
    struct promises *book = promises_read(w);
    struct room room = w->rooms.v[node - 1];
    CHECK(until_ms > w->now_ms);
    if (book && plan_promised(w, node)) {
        struct window win = {w->now_ms, until_ms};
        timeline_window(outlook_line(book, w, node, s), &win, &room.free, &room.devices);
    }
    *ret = room;
}
