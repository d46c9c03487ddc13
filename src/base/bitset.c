/* base/bitset.c - picking devices out of a mask, lowest number first, so that
 * the same free set always yields the same devices. */
#include "base/bitset.h"

uint32_t bits_take_low(uint32_t mask, uint32_t n)
{
    if (n > bits_count(mask)) return 0;
    uint32_t taken = 0;
    for (; n > 0; n--) {
        uint32_t lowest = mask & (~mask + 1);
        taken |= lowest;
        mask ^= lowest;
    }
    return taken;
}
