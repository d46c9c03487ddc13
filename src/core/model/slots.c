/* core/model/slots.c - arithmetic on amounts that says no instead of wrapping. */
#include "core/model/slots.h"

#include "base/check.h"
#include "base/fmt.h"

static const char *const NAMES[] = {"cpu", "mem", "gpu"};
_Static_assert(sizeof(NAMES) / sizeof(NAMES[0]) == SLOT_KINDS, "one name a kind");

const char *slot_name(enum slot_kind k)
{
    CHECK(k < SLOT_KINDS);
    return NAMES[k];
}

static const char *const LABELS[] = {"CPU", "memory", "GPU"};
_Static_assert(sizeof(LABELS) / sizeof(LABELS[0]) == SLOT_KINDS, "one label a kind");

const char *slot_label(enum slot_kind k)
{
    CHECK(k < SLOT_KINDS);
    return LABELS[k];
}

void slot_print(struct strbuf *b, enum slot_kind k, int64_t amount)
{
    switch (k) {
    case SLOT_CPU: fmt_cpu(b, amount); return;
    case SLOT_MEM: fmt_bytes(b, amount); return;
    case SLOT_GPU: strbuf_i64(b, amount); return;
    case SLOT_KINDS: break;
    }
    UNREACHABLE();
}

bool slots_valid(const struct slots *s)
{
    for (int k = 0; k < SLOT_KINDS; k++) {
        if (s->v[k] < 0 || s->v[k] > SLOT_MAX) return false;
    }
    return true;
}

bool slots_add(const struct slots *a, const struct slots *b, struct slots *ret)
{
    struct slots sum;
    for (int k = 0; k < SLOT_KINDS; k++) {
        if (__builtin_add_overflow(a->v[k], b->v[k], &sum.v[k])) return false;
    }
    *ret = sum;
    return true;
}

bool slots_sub(const struct slots *a, const struct slots *b, struct slots *ret)
{
    struct slots left;
    for (int k = 0; k < SLOT_KINDS; k++) {
        if (__builtin_sub_overflow(a->v[k], b->v[k], &left.v[k]) || left.v[k] < 0) return false;
    }
    *ret = left;
    return true;
}

bool slots_mul(const struct slots *a, uint32_t times, struct slots *ret)
{
    struct slots product;
    for (int k = 0; k < SLOT_KINDS; k++) {
        if (__builtin_mul_overflow(a->v[k], (int64_t)times, &product.v[k])) return false;
    }
    *ret = product;
    return true;
}

bool slots_fit(const struct slots *need, const struct slots *room)
{
    for (int k = 0; k < SLOT_KINDS; k++) {
        if (need->v[k] > room->v[k]) return false;
    }
    return true;
}

bool slots_zero(const struct slots *s)
{
    for (int k = 0; k < SLOT_KINDS; k++) {
        if (s->v[k] != 0) return false;
    }
    return true;
}
