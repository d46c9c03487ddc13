/* base/heap.c - a binary heap.
 *
 * The order compares every member, so two runs that push the same items pop
 * them in the same order whatever happened in between. */
#include "base/heap.h"

#include "base/check.h"
#include "base/vec.h"

static bool before(const struct heap_item *a, const struct heap_item *b)
{
    if (a->key != b->key) return a->key < b->key;
    if (a->tie != b->tie) return a->tie < b->tie;
    if (a->slot != b->slot) return a->slot < b->slot;
    return a->stamp < b->stamp;
}

void heap_push(struct heap *h, struct heap_item item)
{
    VEC_RESERVE(h, h->n + 1);
    uint32_t at = h->n++;
    while (at > 0) {
        uint32_t parent = (at - 1) / 2;
        if (!before(&item, &h->v[parent])) break;
        h->v[at] = h->v[parent];
        at = parent;
    }
    h->v[at] = item;
}

bool heap_pop(struct heap *h, struct heap_item *ret)
{
    CHECK(h->n <= h->cap);
    if (h->n == 0) return false;
    *ret = h->v[0];
    struct heap_item last = h->v[--h->n];
    uint32_t at = 0;
    for (;;) {
        uint64_t child = (uint64_t)at * 2 + 1; /* 64 bits: a full heap must not wrap */
        if (child >= h->n) break;
        if (child + 1 < h->n && before(&h->v[child + 1], &h->v[child])) child++;
        if (!before(&h->v[child], &last)) break;
        h->v[at] = h->v[child];
        at = (uint32_t)child;
    }
    if (h->n > 0) h->v[at] = last;
    return true;
}

const struct heap_item *heap_top(const struct heap *h) { return h->n > 0 ? &h->v[0] : NULL; }

void heap_done(struct heap *h) { VEC_DONE(h); }
