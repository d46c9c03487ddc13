/* core/model/order.c - heap sort over items of any size. */
#include "core/model/order.h"

#include <string.h>

#include "base/check.h"

static void swap(char *a, char *b, size_t bytes)
{
    char part[64];
    while (bytes > 0) {
        size_t n = bytes < sizeof(part) ? bytes : sizeof(part);
        memcpy(part, a, n);
        memcpy(a, b, n);
        memcpy(b, part, n);
        a += n;
        b += n;
        bytes -= n;
    }
}

/* Lets the item at `at` sink until both its children are smaller. */
static void sink(char *v, uint32_t at, uint32_t n, size_t bytes,
                 int (*cmp)(const void *, const void *))
{
    for (;;) {
        uint64_t child = (uint64_t)at * 2 + 1;
        if (child >= n) return;
        if (child + 1 < n && cmp(v + child * bytes, v + (child + 1) * bytes) < 0) child++;
        if (cmp(v + at * bytes, v + child * bytes) >= 0) return;
        swap(v + at * bytes, v + child * bytes, bytes);
        at = (uint32_t)child;
    }
}

void order_sort(void *items, uint32_t n, size_t bytes, int (*cmp)(const void *, const void *))
{
    CHECK(bytes > 0);
    char *v = items;
    for (uint32_t i = n / 2; i > 0; i--) sink(v, i - 1, n, bytes, cmp);
    for (uint32_t last = n; last > 1; last--) {
        swap(v, v + (size_t)(last - 1) * bytes, bytes);
        sink(v, 0, last - 1, bytes, cmp);
    }
}

int order_cmp_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

int order_cmp_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

uint32_t order_unique(uint32_t *v, uint32_t n)
{
    if (n < 2) return n;
    order_sort(v, n, sizeof(*v), order_cmp_u32);
    uint32_t kept = 1;
    for (uint32_t i = 1; i < n; i++) {
        if (v[i] != v[kept - 1]) v[kept++] = v[i];
    }
    CHECK(kept <= n);
    return kept;
}
