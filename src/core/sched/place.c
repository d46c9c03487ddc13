/* core/sched/place.c - the search.
 *
 * Rooms come from the world, but for those in `seen`: nodes already chosen, rooms
 * that somebody gave, nodes that changed since the index was brought up to date, and
 * nodes with promises.  These few are looked at one by one; of all others the index
 * names the best, or each is looked at where there is no index.
 *
 * With strategies that fill, a node once chosen stays the best for equal members while
 * they fit, so a role costs one choice a node that it uses. */
#include "core/sched/place.h"

#include "base/bitset.h"
#include "base/check.h"
#include "core/sched/devmap.h"
#include "core/sched/index.h"
#include "core/sched/plan.h"
#include "core/sched/sched.h"
#include "core/sched/strategy.h"

#define NO_NODE UINT32_MAX
#define LOOKS_MAX 200000u /* at nodes, for each other order of a gang's roles */
#define STALE_MAX 256u /* more changed nodes than this: looking at all is no worse */

struct search {
    const struct world *w;
    const struct session *s;
    struct place *p;
    const struct place_index *index; /* NULL: every node is looked at */
    enum place_strategy by;
    uint32_t after; /* round_robin: number of the node chosen last */
    uint32_t best;  /* of the present choice, or NO_NODE */
    struct standing stand;
};

static bool one_choice(const struct session *s) { return s->one_node || s->members == 1; }

/* ---- rooms */

static struct room emptied(const struct room *r)
{
    struct room all = *r;
    all.usable = r->group != 0;
    all.free = r->capacity;
    all.devices = node_all_devices((uint32_t)r->capacity.v[SLOT_GPU]);
    return all;
}

static bool marked(const struct place *p, uint32_t at)
{
    return (p->marks.v[at / 64] >> (at % 64) & 1) != 0;
}

static struct room *find_seen(const struct place *p, uint32_t at)
{
    CHECK(marked(p, at));
    VEC_EACH(seen, &p->seen)
        if (seen->node == at + 1) return &seen->room;
    UNREACHABLE();
}

static struct room *see(struct place *p, uint32_t at, struct room room)
{
    CHECK(!marked(p, at));
    VEC_PUSH(&p->seen, ((struct place_room){at + 1, room}));
    p->marks.v[at / 64] |= UINT64_C(1) << (at % 64);
    return &p->seen.v[p->seen.n - 1].room;
}

static struct room world_room(const struct world *w, enum place_scope scope, uint32_t at)
{
    return scope == PLACE_EVER ? emptied(&w->rooms.v[at]) : w->rooms.v[at];
}

struct room place_left(const struct world *w, const struct place *p, uint32_t at)
{
    CHECK(at < w->rooms.n);
    return marked(p, at) ? *find_seen(p, at) : world_room(w, p->scope, at);
}

static bool could_take(const struct session *s, const struct room *r)
{
    struct slots total;
    if (r->group != s->group || !r->usable) return false;
    if (s->one_node) return session_total(s, &total) && slots_fit(&total, &r->free);
    for (uint32_t i = 0; i < s->n_roles; i++) {
        if (slots_fit(&s->roles[i].slots, &r->free)) return true;
    }
    return false;
}

/* A node with promises has, for this session, what is free until its time limit. */
static void see_window(struct search *h, uint32_t at)
{
    const struct session *s = h->s;
    struct room r = h->w->rooms.v[at];
    if (marked(h->p, at) || !could_take(s, &r)) return; /* promises leave no more than that */
    int64_t until_ms = s->time_limit_ms > 0 ? h->w->now_ms + s->time_limit_ms : PLAN_NEVER;
    plan_window(h->w, at + 1, s, until_ms, &r);
    (void)see(h->p, at, r);
}

static void see_promised(struct search *h)
{
    const struct world *w = h->w;
    if (!h->index) {
        for (uint32_t at = 0; at < w->rooms.n; at++) {
            if (w->rooms.v[at].group == h->s->group && plan_promised(w, at + 1)) see_window(h, at);
        }
        return;
    }
    VEC_EACH(at, &w->changed) {
        if (plan_promised(w, *at + 1)) see_window(h, *at);
        if (!marked(h->p, *at)) (void)see(h->p, *at, w->rooms.v[*at]);
    }
    uint32_t n;
    const uint32_t *reserved = index_reserved(h->index, &n);
    for (uint32_t i = 0; i < n; i++) see_window(h, reserved[i]);
}

static struct search begin(const struct world *w, const struct session *s, enum place_scope scope,
                           struct place *p)
{
    struct search h = {.w = w, .s = s, .p = p, .by = strategy_of(w, s)};
    const struct group *g = world_group(w, s->group);
    uint32_t words = (w->rooms.n + 63) / 64;
    p->scope = scope;
    VEC_CLEAR(&p->seen);
    VEC_CLEAR(&p->marks);
    VEC_RESERVE(&p->marks, words);
    p->marks.n = words;
    if (words > 0) memset(p->marks.v, 0, words * sizeof(*p->marks.v));
    if (h.by == STRATEGY_ROUND_ROBIN && g) h.after = g->round_robin_node;
    p->last = 0;
    VEC_EACH(given, &p->given) (void)see(p, given->node - 1, given->room);
    bool stale = !w->sched || !w->sched->index || w->changed.n > STALE_MAX;
    if (!stale && !p->every_node && scope == PLACE_NOW) h.index = w->sched->index;
    if (scope == PLACE_NOW) see_promised(&h);
    return h;
}

/* ---- one choice */

static int cmp_names(const struct search *h, uint32_t a, uint32_t b)
{
    const struct sched *sched = h->w->sched;
    int order;
    if (sched && sched->index && index_cmp_names(sched->index, a, b, &order)) return order;
    return str_natural_cmp(str_of(h->w->nodes.v[a].name), str_of(h->w->nodes.v[b].name));
}

/* In the order of names, those behind the last one come first; all before any that failed. */
static void stand_in_turn(const struct search *h, uint32_t at, bool failed, struct standing *ret)
{
    bool known = h->after != 0 && world_node(h->w, h->after) != NULL;
    bool behind = !known || cmp_names(h, at, h->after - 1) > 0;
    *ret = (struct standing){{failed, !behind}};
}

static bool better(const struct search *h, uint32_t at, bool failed, const struct standing *stand)
{
    if (h->best == NO_NODE) return true;
    int order = strategy_cmp(stand, &h->stand);
    bool best_failed = filter_failures(h->s, h->best + 1) > 0;
    if (order == 0 && failed != best_failed) order = failed ? 1 : -1;
    if (order == 0) order = cmp_names(h, at, h->best);
    return order < 0;
}

static bool takes(const struct search *h, uint32_t at, const struct slots *need,
                  const struct room *r)
{
    if (r->group != h->s->group || !r->usable || !slots_fit(need, &r->free)) return false;
    return place_admits(h->w, h->s, h->p->scope, need, at);
}

static void consider(struct search *h, uint32_t at, const struct slots *need, const struct room *r)
{
    struct standing stand;
    if (!takes(h, at, need, r)) return;
    bool failed = filter_failures(h->s, at + 1) > 0;
    if (h->by == STRATEGY_ROUND_ROBIN) stand_in_turn(h, at, failed, &stand);
    else strategy_stand(h->by, need, r, &stand);
    if (!better(h, at, failed, &stand)) return;
    h->best = at;
    h->stand = stand;
}

/* The node that the session names, if it may still be looked at. */
static bool takes_named(const struct search *h, const struct slots *need)
{
    uint32_t at = h->s->where.node - 1;
    if (at >= h->w->rooms.n) return false;
    struct room r = place_left(h->w, h->p, at);
    return takes(h, at, need, &r);
}

static void ask_index(struct search *h, const struct slots *need)
{
    struct index_query q = {
        .s = h->s, .need = *need, .by = h->by, .marks = h->p->marks.v, .after = h->after};
    uint32_t at;
    if (h->w->rooms.n > 0 && index_best(h->w, &q, &at)) consider(h, at, need, &h->w->rooms.v[at]);
}

static void look_at_all(struct search *h, const struct slots *need)
{
    for (uint32_t i = 0; i < h->w->rooms.n; i++) {
        if (h->w->rooms.v[i].group != h->s->group || marked(h->p, i)) continue;
        struct room r = world_room(h->w, h->p->scope, i);
        consider(h, i, need, &r);
    }
}

/* Index of the node to fill next with members that need so much, or NO_NODE. */
static uint32_t choose(struct search *h, const struct slots *need)
{
    if (h->s->where.node != 0 && takes_named(h, need)) return h->s->where.node - 1;
    if (h->s->where.node != 0 && !h->s->where.node_preferred) return NO_NODE;
    h->best = NO_NODE;
    VEC_EACH(seen, &h->p->seen) consider(h, seen->node - 1, need, &seen->room);
    if (h->index) ask_index(h, need);
    else look_at_all(h, need);
    return h->best;
}

/* ---- members */

/* Gives the member its part of the room, which is node `at`'s. */
static void take(struct search *h, struct room *r, uint32_t at, const struct slots *need,
                 uint32_t member)
{
    const char *links = h->w->nodes.v[at].links;
    uint32_t devices = devmap_pick(links, r->devices, (uint32_t)need->v[SLOT_GPU]);
    bool fits = slots_sub(&r->free, need, &r->free);
    CHECK(fits);
    r->devices &= ~devices;
    CHECK((int64_t)bits_count(r->devices) == r->free.v[SLOT_GPU]);
    h->p->picks.v[member] = (struct place_pick){at + 1, devices};
}

static bool place_role(struct search *h, uint32_t role)
{
    const struct session *s = h->s;
    const struct slots *need = &s->roles[role].slots;
    uint32_t member = 0, left = s->roles[role].count;
    for (uint32_t i = 0; i < role; i++) member += s->roles[i].count;
    while (left > 0) {
        uint32_t at = choose(h, need);
        if (at == NO_NODE) {
            h->p->demand = *need;
            return false;
        }
        struct room *r = marked(h->p, at) ? find_seen(h->p, at)
                                          : see(h->p, at, world_room(h->w, h->p->scope, at));
        bool fill = strategy_fills(h->by) || at + 1 == s->where.node;
        do {
            take(h, r, at, need, member++);
            left--;
        } while (fill && left > 0 && slots_fit(need, &r->free));
        h->after = h->p->last = at + 1;
    }
    return true;
}

static bool place_on_one(struct search *h)
{
    struct slots total;
    bool sane = session_total(h->s, &total);
    CHECK(sane); /* submission refused sums that overflow */
    uint32_t at = choose(h, &total);
    if (at == NO_NODE) {
        h->p->demand = total;
        return false;
    }
    struct room r = place_left(h->w, h->p, at);
    h->p->last = at + 1;
    for (uint32_t m = 0; m < h->s->members; m++) {
        take(h, &r, at, &session_role_of(h->s, m)->slots, m);
    }
    return true;
}

static bool place_roles(const struct world *w, const struct session *s, enum place_scope scope,
                        struct place *p, const uint32_t order[SESSION_ROLES_MAX])
{
    struct search h = begin(w, s, scope, p);
    for (uint32_t i = 0; i < s->n_roles; i++) {
        if (!place_role(&h, order[i])) return false;
    }
    return true;
}

/* The largest first: they fit fewer places. */
static void largest_first(const struct session *s, uint32_t order[SESSION_ROLES_MAX])
{
    for (uint32_t i = 0; i < s->n_roles; i++) {
        uint32_t at = i;
        for (; at > 0; at--) {
            if (!strategy_larger(&s->roles[i].slots, &s->roles[order[at - 1]].slots)) break;
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
}

/* The next order of n items in the order of orders; false: it was the last. */
static bool next_order(uint32_t v[SESSION_ROLES_MAX], uint32_t n)
{
    uint32_t at = n - 1, with = n - 1;
    while (at > 0 && v[at - 1] >= v[at]) at--;
    if (at == 0) return false;
    while (v[with] <= v[at - 1]) with--;
    uint32_t swapped = v[at - 1];
    v[at - 1] = v[with];
    v[with] = swapped;
    for (uint32_t a = at, b = n - 1; a < b; a++, b--) {
        swapped = v[a];
        v[a] = v[b];
        v[b] = swapped;
    }
    return true;
}

/* Greedy in every order of the roles; a failure leaves what the first order left. */
static bool place_gang(const struct world *w, const struct session *s, enum place_scope scope,
                       struct place *p)
{
    uint32_t first[SESSION_ROLES_MAX] = {0}, turn[SESSION_ROLES_MAX] = {0, 1, 2, 3};
    largest_first(s, first);
    if (place_roles(w, s, scope, p, first)) return true;
    bool quick = scope == PLACE_NOW && !p->every_node && w->sched && w->sched->index;
    uint64_t looks = (uint64_t)s->members * w->rooms.n; /* at most, in one order */
    if (s->n_roles == 1 || (!quick && looks > LOOKS_MAX)) return false;
    while (next_order(turn, s->n_roles)) {
        uint32_t order[SESSION_ROLES_MAX] = {0};
        for (uint32_t i = 0; i < s->n_roles; i++) order[i] = first[turn[i]];
        if (place_roles(w, s, scope, p, order)) return true;
    }
    return place_roles(w, s, scope, p, first);
}
_Static_assert(SESSION_ROLES_MAX == 4, "24 orders at most");

bool place_decide(const struct world *w, const struct session *s, enum place_scope scope,
                  struct place *p)
{
    CHECK(s->members >= 1);
    CHECK(s->members <= SESSION_MEMBERS_MAX);
    VEC_CLEAR(&p->picks);
    VEC_RESERVE(&p->picks, s->members);
    p->picks.n = s->members;
    if (!one_choice(s)) return place_gang(w, s, scope, p);
    struct search h = begin(w, s, scope, p);
    return place_on_one(&h);
}

void place_done(struct place *p)
{
    VEC_DONE(&p->picks);
    VEC_DONE(&p->given);
    VEC_DONE(&p->seen);
    VEC_DONE(&p->marks);
}
