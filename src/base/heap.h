/* base/heap.h - a binary heap of (key, tie, slot), smallest first, total order.
 *
 * Entries are not removed early: the owner drops stale ones when they surface
 * (compare `stamp` with the object's own). */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H
#include <stdbool.h>
#include <stdint.h>

struct heap_item { int64_t key; uint64_t tie; uint32_t slot, stamp; };
struct heap { struct heap_item *v; uint32_t n, cap; };

void heap_push(struct heap *h, struct heap_item item);
bool heap_pop(struct heap *h, struct heap_item *ret);
const struct heap_item *heap_top(const struct heap *h); /* NULL when empty */
void heap_done(struct heap *h);

#endif
