/* core/model/account.c - names of limits, and which can be. */
#include "core/model/account.h"

#include "base/check.h"
#include "base/mem.h"

static const char *const LIMIT_NAMES[] = {
    [LIMIT_CPU] = "cpu",         [LIMIT_MEM] = "mem",         [LIMIT_GPU] = "gpu",
    [LIMIT_RUNNING] = "running", [LIMIT_PENDING] = "pending", [LIMIT_CONTAINERS] = "containers"};
_Static_assert(ARRAY_LEN(LIMIT_NAMES) == LIMIT_KINDS, "one name a kind");

const char *limit_name(enum limit_kind k)
{
    CHECK(k < LIMIT_KINDS);
    return LIMIT_NAMES[k];
}

bool limits_sane(const struct limits *l)
{
    if (l->set >> LIMIT_KINDS != 0) return false;
    for (enum limit_kind k = LIMIT_CPU; k < LIMIT_KINDS; k++) {
        if (limit_has(l, k) && l->max[k] < 0) return false;
    }
    return true;
}
