/* Sorting, against insertion into an array. */
#include "harness.h"

#include "base/rng.h"
#include "core/model/order.h"

static void sorts_u32(void **state)
{
    (void)state;
    struct rng r = {7};
    for (uint32_t n = 0; n < 120; n++) {
        uint32_t v[120], sorted[120];
        for (uint32_t i = 0; i < n; i++) {
            v[i] = (uint32_t)rng_below(&r, 50);
            uint32_t at = i;
            for (; at > 0 && sorted[at - 1] > v[i]; at--) sorted[at] = sorted[at - 1];
            sorted[at] = v[i];
        }
        order_sort(v, n, sizeof(*v), order_cmp_u32);
        if (n > 0) assert_memory_equal(v, sorted, n * sizeof(*v));
    }
}

struct wide { uint64_t key; char rest[150]; };

static void sorts_wide_items(void **state)
{
    (void)state;
    struct rng r = {8};
    struct wide v[200];
    for (uint32_t i = 0; i < 200; i++) {
        v[i].key = rng_next(&r);
        memset(v[i].rest, (int)(v[i].key & 0xff), sizeof(v[i].rest));
    }
    order_sort(v, 200, sizeof(*v), order_cmp_u64);
    for (uint32_t i = 0; i < 200; i++) {
        if (i > 0) assert_true(v[i - 1].key < v[i].key);
        for (size_t k = 0; k < sizeof(v[i].rest); k++) {
            assert_int_equal((unsigned char)v[i].rest[k], v[i].key & 0xff);
        }
    }
}

static void unique(void **state)
{
    (void)state;
    uint32_t v[] = {3, 1, 3, 3, 2, 1};
    assert_int_equal(order_unique(v, 6), 3);
    assert_int_equal(v[0], 1);
    assert_int_equal(v[1], 2);
    assert_int_equal(v[2], 3);
    assert_int_equal(order_unique(v, 0), 0);
    assert_int_equal(order_unique(v, 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_u32),
        cmocka_unit_test(sorts_wide_items),
        cmocka_unit_test(unique),
    };
    return RUN(tests);
}
