/* core/sched/index_search.c - the best node of the index, without looking at all.
 *
 * In a bucket all have as many devices free and are sorted by (cpu, mem, name): for
 * concentrated and best_fit the first that fits is its best, for dispersed the first by
 * name of the last amounts that fit.  The formulas with capacities have no such order:
 * there every entry is scored of the blocks that could still hold a better one.
 * docs/spec/scheduling.md, "Placement" */
#include "base/bitset.h"
#include "base/check.h"
#include "core/sched/filter.h"
#include "core/sched/blocks.h"
#include "core/sched/sched.h"

#define NO_NODE UINT32_MAX

struct hunt {
    const struct world *w;
    const struct place_index *x;
    const struct index_query *q;
    uint32_t best; /* NO_NODE: none yet */
    bool best_failed;
    struct standing stand;
};

static bool marked(const struct hunt *h, uint32_t at)
{
    return (h->q->marks[at / 64] >> (at % 64) & 1) != 0;
}

static bool failed(const struct hunt *h, uint32_t at)
{
    return h->q->s->n_failed_on > 0 && filter_failures(h->q->s, at + 1) > 0;
}

static bool allowed(const struct hunt *h, uint32_t at)
{
    if (marked(h, at)) return false;
    return h->q->s->n_failed_on == 0 || !filter_passed_over(h->w, h->q->s, at);
}

static bool fits(const struct hunt *h, const struct index_entry *e)
{
    return e->cpu >= h->q->need.v[SLOT_CPU] && e->mem >= h->q->need.v[SLOT_MEM];
}

static void offer(struct hunt *h, uint32_t at)
{
    struct standing stand;
    bool bad = failed(h, at);
    strategy_stand(h->q->by, &h->q->need, &h->w->rooms.v[at], &stand);
    if (h->best != NO_NODE) {
        int order = strategy_cmp(&stand, &h->stand);
        if (order == 0 && bad != h->best_failed) order = bad ? 1 : -1;
        if (order == 0) order = index_rank(h->x, at) < index_rank(h->x, h->best) ? -1 : 1;
        if (order > 0) return;
    }
    h->best = at;
    h->best_failed = bad;
    h->stand = stand;
}

/* From `spot` on: the first allowed entry with the amounts of `like` where it has not
 * failed, else the first where it has.  All with these amounts fit. */
static uint32_t first_of_equals(const struct hunt *h, const struct index_bucket *b,
                                struct index_spot spot, const struct index_entry *like)
{
    uint32_t second = NO_NODE;
    for (; spot.block < b->blocks.n; spot = (struct index_spot){spot.block + 1, 0}) {
        const struct index_block *block = b->blocks.v[spot.block];
        for (uint32_t i = spot.entry; i < block->n; i++) {
            const struct index_entry *e = &block->e[i];
            if (e->cpu != like->cpu || e->mem != like->mem) return second;
            if (!allowed(h, e->node)) continue;
            if (!failed(h, e->node)) return e->node;
            if (second == NO_NODE) second = e->node;
        }
    }
    return second;
}

/* With least left over. */
static bool offer_first(struct hunt *h, const struct index_bucket *b)
{
    struct index_spot spot = blocks_from(b, h->q->need.v[SLOT_CPU], 0);
    for (; spot.block < b->blocks.n; spot = (struct index_spot){spot.block + 1, 0}) {
        const struct index_block *block = b->blocks.v[spot.block];
        if (block->mem_max < h->q->need.v[SLOT_MEM]) continue;
        for (; spot.entry < block->n; spot.entry++) {
            const struct index_entry *e = &block->e[spot.entry];
            if (!fits(h, e) || !allowed(h, e->node)) continue;
            offer(h, first_of_equals(h, b, spot, e));
            return true;
        }
    }
    return false;
}

/* With most left over. */
static bool offer_last(struct hunt *h, const struct index_bucket *b)
{
    for (uint32_t at = b->blocks.n; at > 0; at--) {
        const struct index_block *block = b->blocks.v[at - 1];
        if (block->e[block->n - 1].cpu < h->q->need.v[SLOT_CPU]) return false;
        if (block->mem_max < h->q->need.v[SLOT_MEM]) continue;
        for (uint32_t i = block->n; i > 0; i--) {
            const struct index_entry *e = &block->e[i - 1];
            if (!fits(h, e) || !allowed(h, e->node)) continue;
            offer(h, first_of_equals(h, b, blocks_from(b, e->cpu, e->mem), e));
            return true;
        }
    }
    return false;
}

/* The best that an entry of the block could be, all nodes being of one capacity. */
static void bound(const struct hunt *h, const struct index_class *c,
                  const struct index_block *block, uint32_t gpu, struct standing *ret)
{
    const struct slots *need = &h->q->need;
    const struct index_entry *first = &block->e[0], *last = &block->e[block->n - 1];
    bool most = h->q->by == STRATEGY_MOST_ALLOCATED;
    struct room r = {.capacity = c->capacity};
    r.free.v[SLOT_CPU] = most ? first->cpu : last->cpu;
    r.free.v[SLOT_MEM] = most ? block->mem_min : block->mem_max;
    r.free.v[SLOT_GPU] = gpu;
    for (int k = 0; k < SLOT_KINDS; k++) {
        if (r.free.v[k] < need->v[k]) r.free.v[k] = need->v[k]; /* less would not fit */
    }
    strategy_stand(h->q->by, need, &r, ret);
}

/* Whether none of the block can win.  Behind `seen`, which was offered, its equals stand in
 * the order of names: they lose. */
static bool is_beaten(const struct hunt *h, const struct index_class *c,
                      const struct index_block *block, uint32_t gpu,
                      const struct index_entry *seen)
{
    const struct index_entry *first = &block->e[0], *last = &block->e[block->n - 1];
    struct standing best;
    if (h->best == NO_NODE || c->mixed) return false;
    if (seen && h->q->s->n_failed_on == 0 && first->cpu == seen->cpu && last->cpu == seen->cpu &&
        first->mem == seen->mem && last->mem == seen->mem) {
        return true;
    }
    bound(h, c, block, gpu, &best);
    return strategy_cmp(&best, &h->stand) > 0;
}

static void offer_all(struct hunt *h, const struct index_class *c, uint32_t gpu)
{
    const struct index_bucket *b = &c->buckets[gpu];
    const struct index_entry *seen = NULL;
    uint32_t first = blocks_from(b, h->q->need.v[SLOT_CPU], 0).block;
    /* The last are best where most is to be left: what is found there cuts the rest off. */
    if (h->q->by == STRATEGY_LEAST_ALLOCATED) (void)offer_last(h, b);
    for (uint32_t at = first; at < b->blocks.n; at++) {
        const struct index_block *block = b->blocks.v[at];
        if (block->mem_max < h->q->need.v[SLOT_MEM]) continue;
        if (is_beaten(h, c, block, gpu, seen)) continue;
        for (uint32_t i = 0; i < block->n; i++) {
            const struct index_entry *e = &block->e[i];
            if (!fits(h, e) || !allowed(h, e->node)) continue;
            offer(h, e->node);
            seen = e;
        }
    }
}

static void hunt_class(struct hunt *h, const struct index_class *c)
{
    uint32_t least = (uint32_t)h->q->need.v[SLOT_GPU];
    uint32_t open = c->filled >> least << least;
    while (open != 0) {
        /* From the most devices where most is to be left. */
        bool down = h->q->by == STRATEGY_DISPERSED || h->q->by == STRATEGY_LEAST_ALLOCATED;
        uint32_t g = down ? 31 - (uint32_t)__builtin_clz(open) : bits_low(open);
        const struct index_bucket *b = &c->buckets[g];
        open &= ~(UINT32_C(1) << g);
        switch (h->q->by) {
        case STRATEGY_CONCENTRATED:
            if (offer_first(h, b)) return;
            break;
        case STRATEGY_DISPERSED:
            if (offer_last(h, b)) return;
            break;
        case STRATEGY_BEST_FIT: (void)offer_first(h, b); break;
        case STRATEGY_LEAST_ALLOCATED:
        case STRATEGY_MOST_ALLOCATED: offer_all(h, c, g); break;
        case STRATEGY_ROUND_ROBIN:
        case PLACE_STRATEGIES: UNREACHABLE();
        }
    }
}

/* Some node of the class: all say the same about themselves, but for those that changed
 * since and are marked.  NULL: all did. */
static const struct node *sample(const struct hunt *h, const struct index_class *c)
{
    for (uint32_t open = c->filled; open != 0; open &= open - 1) {
        VEC_EACH(block, &c->buckets[bits_low(open)].blocks) {
            for (uint32_t i = 0; i < (*block)->n; i++) {
                uint32_t at = (*block)->e[i].node;
                const struct node *n = &h->w->nodes.v[at];
                if (h->x->nodes.v[at].stamp == n->kind_stamp) return n;
                CHECK(marked(h, at));
            }
        }
    }
    return NULL;
}

static bool filtered(const struct hunt *h, const struct index_class *c)
{
    if (!filter_asks(h->q->s)) return false;
    const struct node *n = sample(h, c);
    return !n || filter_kind(h->q->s, &h->q->need, n) != FILTER_NONE;
}

static bool hopeless(const struct hunt *h, const struct index_class *c)
{
    bool counts = h->q->by == STRATEGY_CONCENTRATED || h->q->by == STRATEGY_DISPERSED;
    if (c->group != h->q->s->group || c->n == 0) return true;
    if (c->filled >> h->q->need.v[SLOT_GPU] == 0) return true;
    if (counts && h->best != NO_NODE) {
        uint32_t unused = 0;
        for (int k = 0; k < SLOT_KINDS; k++) unused += (c->kinds >> k & 1) && !h->q->need.v[k];
        if ((int64_t)unused > h->stand.v[0]) return true;
    }
    return filtered(h, c);
}

/* Rank of the first name behind that of the node chosen last, which may be too new for
 * the index; 0: it is gone, or was the last of all. */
static uint32_t first_behind(const struct hunt *h)
{
    const struct place_index *x = h->x;
    const struct node *last = world_node(h->w, h->q->after);
    if (!last) return 0;
    if (last->id <= x->nodes.n && x->nodes.v[last->id - 1].named) {
        return x->nodes.v[last->id - 1].rank + 1;
    }
    for (uint32_t i = 0; i < x->names.n; i++) {
        const char *name = h->w->nodes.v[x->names.v[i]].name;
        if (str_natural_cmp(str_of(name), str_of(last->name)) > 0) return i;
    }
    return 0;
}

/* The next in the order of names that takes it; where it has failed comes last. */
static void hunt_by_name(struct hunt *h)
{
    const struct place_index *x = h->x;
    uint32_t first = first_behind(h);
    for (uint32_t i = 0; i < x->names.n; i++) {
        uint32_t at = x->names.v[(first + i) % x->names.n];
        const struct room *r = &h->w->rooms.v[at];
        if (x->nodes.v[at].where != INDEXED_BLOCK || r->group != h->q->s->group) continue;
        if (!slots_fit(&h->q->need, &r->free) || marked(h, at)) continue;
        if (!filter_admits(h->w, h->q->s, &h->q->need, at)) continue;
        if (h->best == NO_NODE) h->best = at;
        if (!failed(h, at)) {
            h->best = at;
            return;
        }
    }
}

bool index_best(const struct world *w, const struct index_query *q, uint32_t *ret_at)
{
    CHECK(w->sched != NULL);
    CHECK(w->sched->index != NULL);
    struct hunt h = {.w = w, .x = w->sched->index, .q = q, .best = NO_NODE};
    if (q->need.v[SLOT_GPU] > NODE_DEVICES_MAX) return false;
    if (q->by == STRATEGY_ROUND_ROBIN) {
        hunt_by_name(&h);
    } else {
        VEC_EACH(c, &h.x->classes)
            if (!hopeless(&h, *c)) hunt_class(&h, *c);
    }
    if (h.best == NO_NODE) return false;
    CHECK(!marked(&h, h.best));
    *ret_at = h.best;
    return true;
}
