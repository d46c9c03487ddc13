/* base/vec.c - how dense arrays grow.
 *
 * Room doubles, and stops at 2^31 items: `n + 1` in VEC_ADD can then never wrap
 * around, which is what makes the macros safe. */
#include "base/vec.h"

#define VEC_MOST (UINT32_C(1) << 31)

void *vec_grow_(void *v, uint32_t *cap, uint32_t need, size_t bytes)
{
    CHECK(need > *cap);
    CHECK(need <= VEC_MOST);
    uint32_t room = *cap > 0 ? *cap : 4;
    while (room < need) room *= 2;
    void *grown = mem_resize(v, room, bytes);
    *cap = room;
    return grown;
}
