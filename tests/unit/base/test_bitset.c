/* Sets of devices: exhaustive over all masks of 10 devices. */
#include "test.h"

#include "base/bitset.h"

static void takes_the_lowest(void **state)
{
    (void)state;
    for (uint32_t mask = 0; mask < 1024; mask++) {
        for (uint32_t n = 0; n <= 11; n++) {
            uint32_t expected = 0, left = n;
            for (uint32_t bit = 0; bit < 10 && left > 0; bit++) {
                if (!(mask >> bit & 1)) continue;
                expected |= 1u << bit;
                left--;
            }
            if (left > 0) expected = 0; /* fewer than n */
            assert_int_equal(bits_take_low(mask, n), expected);
        }
    }
}

static void edges(void **state)
{
    (void)state;
    assert_int_equal(bits_take_low(UINT32_MAX, 32), UINT32_MAX);
    assert_int_equal(bits_take_low(UINT32_MAX, 33), 0);
    assert_int_equal(bits_take_low(0x80000000u, 1), 0x80000000u);
    assert_int_equal(bits_count(0xf0f0u), 8);
    assert_int_equal(bits_low(0x50u), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_lowest),
        cmocka_unit_test(edges),
    };
    return RUN(tests);
}
