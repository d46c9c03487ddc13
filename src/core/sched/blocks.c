/* core/sched/blocks.c - a sorted list cut into blocks: an update moves little.
 *
 * A full block is cut in halves, an empty one goes.  docs/spec/scheduling.md, "Placement" */
#include "core/sched/blocks.h"

#include "base/check.h"

static int cmp(const struct place_index *x, const struct index_entry *a,
               const struct index_entry *b)
{
    if (a->cpu != b->cpu) return a->cpu < b->cpu ? -1 : 1;
    if (a->mem != b->mem) return a->mem < b->mem ? -1 : 1;
    uint32_t rank_a = x->nodes.v[a->node].rank, rank_b = x->nodes.v[b->node].rank;
    return rank_a < rank_b ? -1 : rank_a > rank_b;
}

/* The first block whose last entry is not before `e`; blocks.n: all are. */
static uint32_t block_for(const struct place_index *x, const struct index_bucket *b,
                          const struct index_entry *e)
{
    uint32_t low = 0, high = b->blocks.n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        const struct index_block *block = b->blocks.v[mid];
        CHECK(block->n > 0);
        if (cmp(x, &block->e[block->n - 1], e) < 0) low = mid + 1;
        else high = mid;
    }
    return low;
}

/* The first entry of the block that is not before `e`. */
static uint32_t entry_for(const struct place_index *x, const struct index_block *block,
                          const struct index_entry *e)
{
    uint32_t low = 0, high = block->n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (cmp(x, &block->e[mid], e) < 0) low = mid + 1;
        else high = mid;
    }
    return low;
}

static void measure(struct index_block *block)
{
    CHECK(block->n > 0);
    block->mem_min = block->mem_max = block->e[0].mem;
    for (uint32_t i = 1; i < block->n; i++) {
        if (block->e[i].mem > block->mem_max) block->mem_max = block->e[i].mem;
        if (block->e[i].mem < block->mem_min) block->mem_min = block->e[i].mem;
    }
}

static void cut_in_halves(struct index_bucket *b, uint32_t at)
{
    struct index_block *first = b->blocks.v[at], *second = mem_alloc(sizeof(*second));
    uint32_t keep = INDEX_BLOCK / 2;
    CHECK(first->n == INDEX_BLOCK);
    second->n = first->n - keep;
    memcpy(second->e, &first->e[keep], second->n * sizeof(*second->e));
    first->n = keep;
    measure(first);
    measure(second);
    VEC_INSERT(&b->blocks, at + 1, second);
}

void blocks_add(const struct place_index *x, struct index_bucket *b, const struct index_entry *e)
{
    uint32_t at = block_for(x, b, e);
    if (at == b->blocks.n && at > 0) at--; /* behind all: the last block grows */
    if (b->blocks.n == 0) VEC_PUSH(&b->blocks, mem_alloc(sizeof(struct index_block)));
    if (b->blocks.v[at]->n == INDEX_BLOCK) {
        const struct index_block *first = b->blocks.v[at];
        cut_in_halves(b, at);
        if (cmp(x, &first->e[first->n - 1], e) < 0) at++;
    }
    struct index_block *block = b->blocks.v[at];
    uint32_t i = entry_for(x, block, e);
    CHECK(block->n < INDEX_BLOCK);
    CHECK(i == block->n || cmp(x, &block->e[i], e) != 0);
    memmove(&block->e[i + 1], &block->e[i], (block->n - i) * sizeof(*block->e));
    block->e[i] = *e;
    block->n++;
    if (block->n == 1 || e->mem > block->mem_max) block->mem_max = e->mem;
    if (block->n == 1 || e->mem < block->mem_min) block->mem_min = e->mem;
}

void blocks_remove(const struct place_index *x, struct index_bucket *b, const struct index_entry *e)
{
    uint32_t at = block_for(x, b, e);
    CHECK(at < b->blocks.n);
    struct index_block *block = b->blocks.v[at];
    uint32_t i = entry_for(x, block, e);
    CHECK(i < block->n);
    CHECK(block->e[i].node == e->node);
    memmove(&block->e[i], &block->e[i + 1], (block->n - i - 1) * sizeof(*block->e));
    block->n--;
    if (block->n == 0) {
        mem_free(block);
        VEC_REMOVE(&b->blocks, at);
    } else if (e->mem == block->mem_max || e->mem == block->mem_min) {
        measure(block);
    }
}

bool blocks_have(const struct place_index *x, const struct index_bucket *b,
                 const struct index_entry *e)
{
    uint32_t at = block_for(x, b, e);
    if (at == b->blocks.n) return false;
    uint32_t i = entry_for(x, b->blocks.v[at], e);
    CHECK(i < b->blocks.v[at]->n);
    const struct index_entry *found = &b->blocks.v[at]->e[i];
    return found->node == e->node && found->cpu == e->cpu && found->mem == e->mem;
}

struct index_spot blocks_from(const struct index_bucket *b, int64_t cpu, int64_t mem)
{
    uint32_t low = 0, high = b->blocks.n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        const struct index_block *block = b->blocks.v[mid];
        const struct index_entry *last = &block->e[block->n - 1];
        if (last->cpu < cpu || (last->cpu == cpu && last->mem < mem)) low = mid + 1;
        else high = mid;
    }
    struct index_spot spot = {low, 0};
    if (low == b->blocks.n) return spot;
    const struct index_block *block = b->blocks.v[low];
    uint32_t first = 0, end = block->n;
    while (first < end) {
        uint32_t mid = first + (end - first) / 2;
        const struct index_entry *e = &block->e[mid];
        if (e->cpu < cpu || (e->cpu == cpu && e->mem < mem)) first = mid + 1;
        else end = mid;
    }
    CHECK(first < block->n);
    spot.entry = first;
    return spot;
}

void blocks_done(struct index_bucket *b)
{
    VEC_EACH(block, &b->blocks) mem_free(*block);
    VEC_DONE(&b->blocks);
}

const char *blocks_audit(const struct place_index *x, const struct index_bucket *b, uint32_t *n)
{
    const struct index_entry *before = NULL;
    VEC_EACH(at, &b->blocks) {
        const struct index_block *block = *at;
        int64_t mem_max = 0, mem_min = INT64_MAX;
        if (block->n == 0 || block->n > INDEX_BLOCK) return "a block of the index is empty";
        for (uint32_t i = 0; i < block->n; i++) {
            const struct index_entry *e = &block->e[i];
            if (before && cmp(x, before, e) >= 0) return "a bucket of the index is out of order";
            if (e->mem > mem_max) mem_max = e->mem;
            if (e->mem < mem_min) mem_min = e->mem;
            before = e;
            (*n)++;
        }
        if (mem_max != block->mem_max) return "a block of the index knows another maximum";
        if (mem_min != block->mem_min) return "a block of the index knows another minimum";
    }
    return NULL;
}
