/* core/model/group.c - names of policies. */
#include "core/model/group.h"

#include "base/check.h"
#include "base/mem.h"

static const char *const BLOCKED_NAMES[] = {[BLOCKED_STOP] = "stop", [BLOCKED_SKIP] = "skip"};
_Static_assert(ARRAY_LEN(BLOCKED_NAMES) == BLOCKED_KINDS, "one name a policy");

const char *on_blocked_name(enum on_blocked b)
{
    CHECK(b >= BLOCKED_STOP);
    CHECK(b < BLOCKED_KINDS);
    return BLOCKED_NAMES[b];
}
