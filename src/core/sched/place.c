/* core/sched/place.c - the search.
 *
 * It works on a copy of the rooms.  Once a node is chosen, it stays the best for
 * equal members while they fit (it only gets fuller), so each choice fills a
 * node and a role costs one scan a node that it uses. */
#include "core/sched/place.h"

#include "base/bitset.h"
#include "base/check.h"
#include "core/sched/devmap.h"

/* What counts first when remainders are compared. */
static const enum slot_kind RANKING[] = {SLOT_GPU, SLOT_CPU, SLOT_MEM};
_Static_assert(ARRAY_LEN(RANKING) == SLOT_KINDS, "each kind is ranked");

static bool one_choice(const struct session *s) { return s->one_node || s->members == 1; }

static void load_rooms(const struct world *w, const struct session *s, enum place_scope scope,
                       struct place *p)
{
    p->view = w->rooms.v;
    if (scope == PLACE_NOW && one_choice(s)) return; /* nothing is taken off between choices */
    VEC_CLEAR(&p->copy);
    VEC_RESERVE(&p->copy, w->rooms.n);
    p->copy.n = w->rooms.n;
    p->view = p->copy.v;
    if (w->rooms.n == 0) return;
    memcpy(p->copy.v, w->rooms.v, w->rooms.n * sizeof(*w->rooms.v));
    if (scope == PLACE_NOW) return;
    VEC_EACH(r, &p->copy) {
        r->usable = r->group != 0;
        r->free = r->capacity;
        r->devices = node_all_devices((uint32_t)r->capacity.v[SLOT_GPU]);
    }
}

static uint32_t unused_kinds(const struct room *r, const struct slots *need)
{
    uint32_t unused = 0;
    for (int k = 0; k < SLOT_KINDS; k++) unused += r->capacity.v[k] > 0 && need->v[k] == 0;
    return unused;
}

static bool better(const struct world *w, const struct place *p, uint32_t at_a, uint32_t at_b,
                   const struct slots *need)
{
    const struct room *a = &p->view[at_a], *b = &p->view[at_b];
    uint32_t unused_a = unused_kinds(a, need), unused_b = unused_kinds(b, need);
    if (unused_a != unused_b) return unused_a < unused_b;
    for (size_t i = 0; i < ARRAY_LEN(RANKING); i++) {
        int64_t left_a = a->free.v[RANKING[i]], left_b = b->free.v[RANKING[i]];
        if (left_a != left_b) return left_a < left_b;
    }
    return str_natural_cmp(str_of(w->nodes.v[at_a].name), str_of(w->nodes.v[at_b].name)) < 0;
}

#define NO_NODE UINT32_MAX

/* Index of the node to fill next with members that need so much, or NO_NODE. */
static uint32_t choose(const struct world *w, uint32_t group, const struct slots *need,
                       const struct place *p)
{
    uint32_t best = NO_NODE;
    for (uint32_t i = 0; i < w->rooms.n; i++) {
        const struct room *r = &p->view[i];
        if (r->group != group || !r->usable || !slots_fit(need, &r->free)) continue;
        if (best == NO_NODE || better(w, p, i, best, need)) best = i;
    }
    return best;
}

/* Gives the member its part of the room, which is node `at`'s. */
static void take(struct place *p, struct room *r, uint32_t at, const struct slots *need,
                 uint32_t member)
{
    uint32_t devices = devmap_pick(r->devices, (uint32_t)need->v[SLOT_GPU]);
    bool fits = slots_sub(&r->free, need, &r->free);
    CHECK(fits);
    r->devices &= ~devices;
    CHECK((int64_t)bits_count(r->devices) == r->free.v[SLOT_GPU]);
    p->picks.v[member] = (struct place_pick){at + 1, devices};
}

static bool place_role(const struct world *w, const struct session *s, uint32_t role,
                       struct place *p)
{
    const struct slots *need = &s->roles[role].slots;
    uint32_t member = 0, left = s->roles[role].count;
    CHECK(p->view == p->copy.v);
    for (uint32_t i = 0; i < role; i++) member += s->roles[i].count;
    while (left > 0) {
        uint32_t at = choose(w, s->group, need, p);
        if (at == NO_NODE) {
            p->demand = *need;
            return false;
        }
        struct room *r = &p->copy.v[at];
        for (; left > 0 && slots_fit(need, &r->free); left--) take(p, r, at, need, member++);
    }
    return true;
}

static bool place_on_one(const struct world *w, const struct session *s, struct place *p)
{
    struct slots total;
    bool sane = session_total(s, &total);
    CHECK(sane); /* submission refused sums that overflow */
    uint32_t at = choose(w, s->group, &total, p);
    if (at == NO_NODE) {
        p->demand = total;
        return false;
    }
    struct room r = p->view[at];
    for (uint32_t m = 0; m < s->members; m++) take(p, &r, at, &session_role_of(s, m)->slots, m);
    return true;
}

static bool larger(const struct slots *a, const struct slots *b)
{
    for (size_t i = 0; i < ARRAY_LEN(RANKING); i++) {
        if (a->v[RANKING[i]] != b->v[RANKING[i]]) return a->v[RANKING[i]] > b->v[RANKING[i]];
    }
    return false;
}

bool place_decide(const struct world *w, const struct session *s, enum place_scope scope,
                  struct place *p)
{
    CHECK(s->members >= 1);
    CHECK(s->members <= SESSION_MEMBERS_MAX);
    load_rooms(w, s, scope, p);
    VEC_CLEAR(&p->picks);
    VEC_RESERVE(&p->picks, s->members);
    p->picks.n = s->members;
    if (one_choice(s)) return place_on_one(w, s, p);

    uint32_t order[SESSION_ROLES_MAX]; /* the largest first: they fit fewer places */
    for (uint32_t i = 0; i < s->n_roles; i++) {
        uint32_t at = i;
        for (; at > 0 && larger(&s->roles[i].slots, &s->roles[order[at - 1]].slots); at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    for (uint32_t i = 0; i < s->n_roles; i++) {
        if (!place_role(w, s, order[i], p)) return false;
    }
    return true;
}

void place_done(struct place *p)
{
    VEC_DONE(&p->picks);
    VEC_DONE(&p->copy);
    p->view = NULL;
}

/* How often `need` fits, at most `enough` times. */
static uint32_t times(const struct slots *need, const struct slots *capacity, uint32_t enough)
{
    int64_t n = enough;
    for (int k = 0; k < SLOT_KINDS; k++) {
        if (need->v[k] > 0 && capacity->v[k] / need->v[k] < n) n = capacity->v[k] / need->v[k];
    }
    CHECK(n >= 0);
    return (uint32_t)n;
}

/* The usual cases need no copy of all rooms: one choice, and members that are all alike. */
static bool plainly_possible(const struct world *w, const struct session *s)
{
    uint32_t left = one_choice(s) ? 1 : s->members;
    if (!one_choice(s) && s->n_roles > 1) return false;
    for (uint32_t i = 0; i < w->rooms.n && left > 0; i++) {
        const struct room *r = &w->rooms.v[i];
        if (r->group != s->group) continue;
        left -= one_choice(s) ? place_hosts(s, &r->capacity)
                              : times(&s->roles[0].slots, &r->capacity, left);
    }
    return left == 0;
}

bool place_possible(const struct world *w, const struct session *s, struct place *p)
{
    return plainly_possible(w, s) || place_decide(w, s, PLACE_EVER, p);
}

bool place_hosts(const struct session *s, const struct slots *capacity)
{
    if (s->one_node) {
        struct slots total;
        return session_total(s, &total) && slots_fit(&total, capacity);
    }
    for (uint32_t i = 0; i < s->n_roles; i++) {
        if (slots_fit(&s->roles[i].slots, capacity)) return true;
    }
    return false;
}

/* ---- why not */

static struct slots lacks(const struct slots *asked, const struct slots *free)
{
    struct slots missing = {{0}};
    for (int k = 0; k < SLOT_KINDS; k++) {
        if (asked->v[k] > free->v[k]) missing.v[k] = asked->v[k] - free->v[k];
    }
    return missing;
}

/* Nodes that are large enough come before those that never will be. */
static bool nearer(const struct world *w, const struct place *p, uint32_t a, uint32_t b)
{
    const struct room *ra = &p->view[a], *rb = &p->view[b];
    bool large_a = slots_fit(&p->demand, &ra->capacity);
    if (large_a != slots_fit(&p->demand, &rb->capacity)) return large_a;
    struct slots la = lacks(&p->demand, &ra->free), lb = lacks(&p->demand, &rb->free);
    if (memcmp(&la, &lb, sizeof(la)) != 0) return larger(&lb, &la);
    return str_natural_cmp(str_of(w->nodes.v[a].name), str_of(w->nodes.v[b].name)) < 0;
}

void place_explain(const struct world *w, const struct session *s, enum place_scope scope,
                   const struct place *failed, struct place_miss *ret)
{
    struct place_miss miss = {.asked = failed->demand};
    uint32_t nearest = UINT32_MAX;
    CHECK(failed->view != NULL || w->rooms.n == 0);
    for (uint32_t i = 0; i < w->rooms.n; i++) {
        const struct room *r = &failed->view[i];
        const struct node *n = &w->nodes.v[i];
        if (r->group != s->group) continue;
        miss.nodes++;
        if (scope == PLACE_NOW && (n->unreachable || !n->heard)) miss.unreachable++;
        else if (scope == PLACE_NOW && n->cordoned) miss.cordoned++;
        else if (!slots_fit(&failed->demand, &r->capacity)) miss.too_small++;
        else miss.busy++;
        if (r->usable && (nearest == UINT32_MAX || nearer(w, failed, i, nearest))) nearest = i;
    }
    if (nearest != UINT32_MAX) {
        miss.nearest_node = nearest + 1;
        miss.free = failed->view[nearest].free;
        miss.missing = lacks(&miss.asked, &miss.free);
        CHECK(!slots_zero(&miss.missing));
    }
    CHECK(miss.unreachable + miss.cordoned + miss.too_small + miss.busy == miss.nodes);
    *ret = miss;
}
