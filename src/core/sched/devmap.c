/* core/sched/devmap.c - lowest index first: the same free set, the same answer. */
#include "core/sched/devmap.h"

#include "base/bitset.h"
#include "base/check.h"

uint32_t devmap_pick(uint32_t free, uint32_t count)
{
    CHECK(count <= bits_count(free));
    uint32_t taken = bits_take_low(free, count);
    CHECK(bits_count(taken) == count);
    CHECK((taken & ~free) == 0);
    return taken;
}
