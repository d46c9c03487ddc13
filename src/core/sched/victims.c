/* core/sched/victims.c - candidates, and the choice among those of one node.
 *
 * The choice goes from the highest priority that is needed down to the lowest: what a
 * priority must give is what all below it cannot.  Up to EXACT candidates of one priority
 * are tried in every combination; of more, the smallest are taken until they do, and given
 * back in reverse.  docs/spec/scheduling.md, "Preemption" */
#include "core/sched/victims.h"

#include "base/bitset.h"
#include "base/check.h"
#include "core/model/order.h"

#define EXACT 10u

static uint32_t domain_of(const struct world *w, const struct session *s)
{
    const struct project *p = world_project(w, s->project);
    CHECK(p != NULL);
    return p->domain;
}

static bool in_scope(const struct world *w, enum preempt_scope scope, const struct session *s,
                     const struct session *v)
{
    switch (scope) {
    case SCOPE_USER: return v->user == s->user;
    case SCOPE_PROJECT: return v->project == s->project;
    case SCOPE_DOMAIN: return domain_of(w, v) == domain_of(w, s);
    case SCOPE_GROUP: return true;
    case PREEMPT_SCOPES: break;
    }
    UNREACHABLE();
}

/* The one who asks counts with the priority that it queues with, the other with the one that
 * people gave it, which is never less: hence no two can evict each other in turn. */
bool victims_eligible(const struct world *w, const struct session *s, const struct session *v)
{
    const struct group *g = world_group(w, s->group);
    CHECK(g != NULL);
    return v->state == SESSION_RUNNING && v->group == s->group && v->preemptible &&
           v->kind != KIND_SERVICE && v->priority < session_order_priority(s) &&
           w->now_ms - v->started_ms >= g->preempt.min_runtime_ms &&
           in_scope(w, g->preempt.scope, s, v);
}

/* ---- candidates */

static int cmp_victims(const void *a, const void *b)
{
    const struct victim *x = a, *y = b;
    if (x->priority != y->priority) return x->priority < y->priority ? -1 : 1;
    for (int i = 0; i < 2; i++) {
        if (x->rank[i] != y->rank[i]) return x->rank[i] < y->rank[i] ? -1 : 1;
    }
    return x->id > y->id ? -1 : x->id < y->id;
}

static int cmp_parts(const void *a, const void *b)
{
    const struct victim_part *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->victim < y->victim ? -1 : x->victim > y->victim;
}

static struct victim victim_of(const struct world *w, const struct session *s,
                               enum preempt_order order)
{
    struct victim v = {.id = s->id, .slot = (uint32_t)(s - w->sessions.v),
                       .priority = s->priority};
    for (struct alloc *a = world_allocs_of_session(w, s); a; a = world_next_of_session(w, a)) {
        v.devices += a->slots.v[SLOT_GPU];
        v.cpu += a->slots.v[SLOT_CPU];
    }
    switch (order) {
    case VICTIM_NEWEST:
    case VICTIM_FEWEST: v.rank[0] = -s->started_ms; return v;
    case VICTIM_OLDEST: v.rank[0] = s->started_ms; return v;
    case VICTIM_SMALLEST:
        v.rank[0] = v.devices;
        v.rank[1] = v.cpu;
        return v;
    case PREEMPT_ORDERS: break;
    }
    UNREACHABLE();
}

static void add_parts(const struct world *w, struct victims *all, uint32_t victim)
{
    const struct session *s = &w->sessions.v[all->v.v[victim].slot];
    uint32_t first = all->parts.n;
    for (struct alloc *a = world_allocs_of_session(w, s); a; a = world_next_of_session(w, a)) {
        if (a->revoked) continue;
        const struct node *n = world_node(w, a->node);
        CHECK(n != NULL);
        struct victim_part *p = NULL;
        for (uint32_t i = first; i < all->parts.n && !p; i++) {
            if (all->parts.v[i].at == a->node - 1) p = &all->parts.v[i];
        }
        if (!p) {
            p = VEC_ADD(&all->parts);
            *p = (struct victim_part){.at = a->node - 1, .victim = victim};
        }
        for (int k = SLOT_CPU; k <= SLOT_MEM; k++) p->slots.v[k] += a->slots.v[k];
        p->slots.v[SLOT_GPU] += bits_count(a->devices & node_givable_devices(n));
    }
}

bool victims_collect(const struct world *w, const struct session *s, struct victims *ret)
{
    const struct group *g = world_group(w, s->group);
    VEC(uint32_t) slots = {0};
    CHECK(g != NULL);
    CHECK(ret->v.n == 0);
    ret->fewest = g->preempt.order == VICTIM_FEWEST;
    VEC_EACH(a, &w->allocs) { /* who runs has rows: far fewer than there are sessions */
        if (!a->live || a->revoked) continue;
        const struct session *v = world_session(w, a->ref.session);
        CHECK(v != NULL);
        if (victims_eligible(w, s, v)) VEC_PUSH(&slots, (uint32_t)(v - w->sessions.v));
    }
    slots.n = order_unique(slots.v, slots.n);
    for (uint32_t i = 0; i < slots.n; i++) {
        VEC_PUSH(&ret->v, victim_of(w, &w->sessions.v[slots.v[i]], g->preempt.order));
    }
    order_sort(ret->v.v, ret->v.n, sizeof(*ret->v.v), cmp_victims);
    for (uint32_t i = 0; i < ret->v.n; i++) add_parts(w, ret, i);
    order_sort(ret->parts.v, ret->parts.n, sizeof(*ret->parts.v), cmp_parts);
    VEC_DONE(&slots);
    return ret->v.n > 0;
}

void victims_done(struct victims *v)
{
    VEC_DONE(&v->v);
    VEC_DONE(&v->parts);
}

/* ---- the choice on one node */

int victims_cost_cmp(const struct victims_cost *a, const struct victims_cost *b)
{
    if (a->priority != b->priority) return a->priority < b->priority ? -1 : 1;
    for (int i = 0; i < 2; i++) {
        if (a->amount[i] != b->amount[i]) return a->amount[i] < b->amount[i] ? -1 : 1;
    }
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

static void add(struct slots *sum, const struct slots *more)
{
    for (int k = 0; k < SLOT_KINDS; k++) sum->v[k] += more->v[k]; /* of one node: no overflow */
}

static void sub(struct slots *from, const struct slots *less)
{
    for (int k = 0; k < SLOT_KINDS; k++) from->v[k] -= less->v[k]; /* may go below 0: too much */
}

static bool covers(const struct slots *sum, const struct slots *miss)
{
    for (int k = 0; k < SLOT_KINDS; k++) {
        if (miss->v[k] > 0 && sum->v[k] < miss->v[k]) return false;
    }
    return true;
}

static bool nothing(const struct slots *miss) { return covers(&(struct slots){{0}}, miss); }

struct band { /* candidates of one priority on one node, in the order of eviction */
    const struct victims *all;
    const struct victim_part *const *v;
    uint32_t n;
};

struct subset { struct slots slots; int64_t devices; uint32_t heads; };

/* Whether mask `a` is a better choice than `b`: devices, heads, then who goes first anyway. */
static bool cheaper(const struct victims *all, const struct subset *sets, uint32_t a, uint32_t b)
{
    const struct subset *x = &sets[a], *y = &sets[b];
    if (all->fewest && x->heads != y->heads) return x->heads < y->heads;
    if (x->devices != y->devices) return x->devices < y->devices;
    if (x->heads != y->heads) return x->heads < y->heads;
    uint32_t differ = a ^ b;
    return differ != 0 && (a & (differ & -differ)) != 0;
}

/* Every combination of at most EXACT candidates. */
static uint32_t best_mask(const struct band *band, const struct slots *must)
{
    struct subset sets[1u << EXACT];
    uint32_t best = 0, end = UINT32_C(1) << band->n;
    CHECK(band->n <= EXACT);
    sets[0] = (struct subset){.heads = 0};
    for (uint32_t mask = 1; mask < end; mask++) {
        const struct victim_part *p = band->v[bits_low(mask)];
        struct subset *set = &sets[mask];
        *set = sets[mask & (mask - 1)];
        add(&set->slots, &p->slots);
        set->devices += band->all->v.v[p->victim].devices;
        set->heads++;
        if (!covers(&set->slots, must)) continue;
        if (best == 0 || cheaper(band->all, sets, mask, best)) best = mask;
    }
    CHECK(best != 0); /* all of them cover it */
    return best;
}

/* Too many to try everything: small ones first, then those in reverse that need not go. */
static void pick_greedily(const struct band *band, struct slots must, bool *ret_taken)
{
    uint32_t *taken = mem_array(band->n, sizeof(*taken)), n = 0;
    for (bool done = false; !done;) {
        uint32_t best = UINT32_MAX;
        int64_t least = 0;
        for (uint32_t i = 0; i < band->n; i++) {
            int64_t devices = band->all->v.v[band->v[i]->victim].devices;
            if (ret_taken[i] || (best != UINT32_MAX && devices >= least)) continue;
            best = i;
            least = devices;
        }
        CHECK(best != UINT32_MAX); /* all of them cover it */
        ret_taken[best] = true;
        taken[n++] = best;
        sub(&must, &band->v[best]->slots);
        done = nothing(&must);
    }
    while (n > 0) {
        uint32_t i = taken[--n];
        struct slots without = must;
        add(&without, &band->v[i]->slots);
        if (!nothing(&without)) continue;
        ret_taken[i] = false;
        must = without;
    }
    mem_free(taken);
}

/* Takes what the band must give off `miss`, and those who give it into `ret`. */
static void pick(const struct band *band, const struct slots *must, struct slots *miss,
                 struct victims_choice *ret)
{
    bool *taken = mem_array(band->n, sizeof(*taken));
    if (band->n <= EXACT) {
        uint32_t mask = best_mask(band, must);
        for (uint32_t i = 0; i < band->n; i++) taken[i] = (mask >> i & 1) != 0;
    } else {
        pick_greedily(band, *must, taken);
    }
    for (uint32_t i = 0; i < band->n; i++) {
        if (!taken[i]) continue;
        VEC_PUSH(&ret->v, band->v[i]->victim);
        sub(miss, &band->v[i]->slots);
    }
    mem_free(taken);
}

static void price(const struct victims *all, struct victims_choice *c)
{
    struct victims_cost cost = {0};
    int64_t heads = c->v.n, devices = 0;
    for (uint32_t i = 0; i < c->v.n; i++) {
        const struct victim *v = &all->v.v[c->v.v[i]];
        if (v->priority > cost.priority) cost.priority = v->priority;
        if (i == 0 || v->rank[0] > cost.rank) cost.rank = v->rank[0];
        devices += v->devices;
        cost.cpu += v->cpu;
    }
    cost.amount[0] = all->fewest ? heads : devices;
    cost.amount[1] = all->fewest ? devices : heads;
    c->cost = cost;
}

bool victims_choose(const struct victims *all, uint32_t first, uint32_t n,
                    const struct slots *miss, struct victims_choice *ret)
{
    VEC(const struct victim_part *) v = {0};
    struct slots below = {{0}}, left = *miss;
    uint32_t end = 0;
    CHECK(first + n <= all->parts.n);
    VEC_CLEAR(&ret->v);
    for (uint32_t i = first; i < first + n; i++) {
        CHECK(all->parts.v[i].at == all->parts.v[first].at);
        if (!all->v.v[all->parts.v[i].victim].taken) VEC_PUSH(&v, &all->parts.v[i]);
    }
    while (end < v.n && !covers(&below, miss)) add(&below, &v.v[end++]->slots);
    bool enough = covers(&below, miss);
    /* The last of them may be in the middle of its priority: all of that may be chosen from. */
    while (enough && end > 0 && end < v.n &&
           all->v.v[v.v[end]->victim].priority == all->v.v[v.v[end - 1]->victim].priority) {
        add(&below, &v.v[end++]->slots);
    }
    while (enough && end > 0) {
        uint32_t begin = end;
        int32_t priority = all->v.v[v.v[end - 1]->victim].priority;
        while (begin > 0 && all->v.v[v.v[begin - 1]->victim].priority == priority) {
            sub(&below, &v.v[--begin]->slots);
        }
        struct slots must = left;
        sub(&must, &below);
        struct band band = {.all = all, .v = &v.v[begin], .n = end - begin};
        if (!nothing(&must)) pick(&band, &must, &left, ret);
        end = begin;
    }
    CHECK(!enough || nothing(&left));
    (void)order_unique(ret->v.v, ret->v.n);
    price(all, ret);
    VEC_DONE(&v);
    return enough;
}
