/* core/nodeplan/claim.c - sums that saturate: too much held never looks like room. */
#include "core/nodeplan/claim.h"

#include "base/check.h"

static int64_t sum(int64_t a, int64_t b)
{
    int64_t ret = 0;
    CHECK(a >= 0);
    return __builtin_add_overflow(a, b, &ret) ? INT64_MAX : ret;
}

void claim_add(struct claim *held, const struct claim *one)
{
    held->cpu_milli = sum(held->cpu_milli, one->cpu_milli);
    held->mem_bytes = sum(held->mem_bytes, one->mem_bytes);
    held->devices |= one->devices;
}

bool claim_fits(const struct claim *held, const struct claim *wanted,
                const struct claim *capacity)
{
    if (wanted->cpu_milli < 0 || wanted->mem_bytes < 0) return false;
    if (wanted->devices & ~capacity->devices) return false;
    if (wanted->devices & held->devices) return false;
    return sum(held->cpu_milli, wanted->cpu_milli) <= capacity->cpu_milli &&
           sum(held->mem_bytes, wanted->mem_bytes) <= capacity->mem_bytes;
}
