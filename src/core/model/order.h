/* core/model/order.h - sorting without libc, so that core links with nothing.
 *
 * Heap sort: not stable, hence every comparison used here is a total order. */
#ifndef CORE_MODEL_ORDER_H
#define CORE_MODEL_ORDER_H
#include <stddef.h>
#include <stdint.h>

void order_sort(void *items, uint32_t n, size_t bytes, int (*cmp)(const void *, const void *));
/* Sorts and removes doubles; returns how many are left. */
uint32_t order_unique(uint32_t *v, uint32_t n);
int order_cmp_u32(const void *a, const void *b);
int order_cmp_u64(const void *a, const void *b);

#endif
