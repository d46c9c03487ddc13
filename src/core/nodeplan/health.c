/* core/nodeplan/health.c - see health.h.
 *
 * Faults only grow: of two the worse stands, of equal ones the first, which says where
 * it began. */
#include "core/nodeplan/health.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/str.h"

static const char *const HEALTH_NAMES[] = {
    [DEVICE_UNREADABLE] = "unreadable", [DEVICE_HEALTHY] = "healthy",
    [DEVICE_SUSPECT] = "suspect",       [DEVICE_QUARANTINED] = "quarantined",
    [DEVICE_RECOVERING] = "recovering", [DEVICE_GONE] = "gone",
};
_Static_assert(ARRAY_LEN(HEALTH_NAMES) == DEVICE_HEALTHS, "one name a state");

const char *device_health_name(enum device_health h)
{
    CHECK(h < DEVICE_HEALTHS);
    return HEALTH_NAMES[h];
}

static const char *const ORDER_NAMES[] = {
    [DEVICE_ORDER_NONE] = "none", [DEVICE_ORDER_RETURN] = "return",
    [DEVICE_ORDER_QUARANTINE] = "quarantine",
};
_Static_assert(ARRAY_LEN(ORDER_NAMES) == DEVICE_ORDERS, "one name an order");

const char *device_order_name(enum device_order o)
{
    CHECK(o < DEVICE_ORDERS);
    return ORDER_NAMES[o];
}

/* How bad a fault is. */
static int rank(enum device_health fault)
{
    switch (fault) {
    case DEVICE_UNREADABLE: return 0; /* none */
    case DEVICE_SUSPECT: return 1;
    case DEVICE_RECOVERING: return 2;
    case DEVICE_QUARANTINED: return 3;
    case DEVICE_HEALTHY: case DEVICE_GONE: case DEVICE_HEALTHS: break;
    }
    UNREACHABLE();
}

static bool raise_fault(struct health *h, enum device_health fault, const char *why, int64_t now_ms)
{
    CHECK(fault != DEVICE_UNREADABLE);
    if (rank(fault) <= rank(h->fault)) return false;
    if (h->fault == DEVICE_UNREADABLE) h->since_ms = now_ms;
    h->fault = fault;
    h->shown_by = 0;
    TEXT_CLIP(h->why, str_of(why));
    return true;
}

static bool clear(struct health *h)
{
    bool had = h->fault != DEVICE_UNREADABLE || h->was_absent;
    *h = (struct health){.era = h->era};
    return had;
}

/* What one count alone says, worst first; false: nothing wrong that is known. */
static bool count_fault(enum health_count which, int64_t v, enum device_health *ret,
                        const char **ret_why)
{
    if (v <= 0) return false; /* not known, too: it permits nothing, for it clears nothing */
    switch (which) {
    case COUNT_ECC:
        *ret = DEVICE_QUARANTINED;
        *ret_why = "uncorrected memory errors";
        return true;
    case COUNT_REMAP_FAILED:
        *ret = DEVICE_QUARANTINED;
        *ret_why = "a memory row could not be remapped";
        return true;
    case COUNT_RETIRED:
        *ret = DEVICE_RECOVERING;
        *ret_why = "retired pages wait for a reset";
        return true;
    case COUNT_REMAP:
        *ret = DEVICE_RECOVERING;
        *ret_why = "remapped rows wait for a reset";
        return true;
    case COUNT_RECOVERY: /* 1 reset, 2 reboot, 3 drain its peers, 4 drain and reset */
        *ret = v == 1 || v == 4 ? DEVICE_RECOVERING : DEVICE_QUARANTINED;
        *ret_why = v == 1 || v == 4 ? "its driver asks for a reset"
                   : v == 2         ? "its driver asks for a reboot"
                                    : "its driver asks for recovery";
        return true;
    case HEALTH_COUNTS: break;
    }
    UNREACHABLE();
}

static bool raise_counts(struct health *h, const struct health_facts *f, int64_t now_ms,
                         bool *ret_clean)
{
    bool changed = false, clean = !f->lost;
    if (f->lost) changed = raise_fault(h, DEVICE_QUARANTINED, "it fell off the bus", now_ms);
    for (int k = 0; k < HEALTH_COUNTS; k++) {
        enum device_health fault;
        const char *why;
        if (!count_fault((enum health_count)k, f->counts[k], &fault, &why)) continue;
        clean = false;
        if (!raise_fault(h, fault, why, now_ms)) continue;
        h->shown_by = (uint32_t)k + 1;
        changed = true;
    }
    *ret_clean = clean;
    return changed;
}

/* Whether a reset was seen: the machine or its driver began anew, or the count that raised
 * the fault, which nothing else takes back, is 0 again. */
static bool was_reset(const struct health *h, const struct health_facts *f)
{
    bool new_era = h->era != 0 && f->era != 0 && h->era != f->era;
    return new_era || (h->shown_by > 0 && f->counts[h->shown_by - 1] == 0);
}

static bool look_seen(struct health *h, const struct health_facts *f, int64_t now_ms)
{
    bool clean, changed = raise_counts(h, f, now_ms, &clean), reset = was_reset(h, f);
    if (clean && reset && !h->ordered && h->fault != DEVICE_UNREADABLE) {
        clear(h);
        changed = true;
    }
    if (h->was_absent) {
        h->was_absent = false;
        if (!reset) raise_fault(h, DEVICE_SUSPECT, "it was gone for a while", now_ms);
        changed = true;
    }
    if (f->era != 0 && h->era != f->era) {
        h->era = f->era;
        changed = true;
    }
    return changed;
}

bool health_look(struct health *h, const struct health_facts *f, int64_t now_ms)
{
    switch (f->look) {
    case LOOK_NONE: case LOOK_MISMATCH: return false;
    case LOOK_ABSENT:
        if (h->was_absent || h->era == 0) return false;
        h->was_absent = true;
        if (h->fault == DEVICE_UNREADABLE) h->since_ms = now_ms;
        return true;
    case LOOK_SEEN: return look_seen(h, f, now_ms);
    case HEALTH_LOOKS: break;
    }
    UNREACHABLE();
}

bool health_xid(struct health *h, uint32_t xid, enum xid_act act, int64_t now_ms)
{
    char why[40];
    text_fmt(why, sizeof(why), "Xid %u", xid);
    switch (act) {
    case XID_APPLICATION: return false;
    case XID_UNKNOWN: return raise_fault(h, DEVICE_SUSPECT, why, now_ms);
    case XID_RESET: case XID_KILL: return raise_fault(h, DEVICE_RECOVERING, why, now_ms);
    case XID_RECOVERY: /* until the action itself is read, which may say worse */
        return raise_fault(h, DEVICE_RECOVERING, why, now_ms);
    case XID_QUARANTINE: return raise_fault(h, DEVICE_QUARANTINED, why, now_ms);
    case XID_ACTS: break;
    }
    UNREACHABLE();
}

bool health_order(struct health *h, enum device_order order, const char *why, int64_t now_ms)
{
    switch (order) {
    case DEVICE_ORDER_RETURN: return clear(h);
    case DEVICE_ORDER_QUARANTINE:
        h->ordered = true;
        raise_fault(h, DEVICE_QUARANTINED, why[0] ? why : "by an operator", now_ms);
        return true;
    case DEVICE_ORDER_NONE: return false;
    case DEVICE_ORDERS: break;
    }
    UNREACHABLE();
}

bool health_tested(struct health *h, bool passed, int64_t now_ms)
{
    if (passed && h->ordered) return false;
    return passed ? clear(h) : raise_fault(h, DEVICE_QUARANTINED, "its test failed", now_ms);
}

static bool say(struct health_state *ret, enum device_health health, const char *why)
{
    ret->health = health;
    TEXT_CLIP(ret->why, str_of(why));
    return true;
}

/* What is so only as long as the look says it; a fault that is kept is worse than these. */
static bool passing(const struct health_facts *f, struct health_state *ret)
{
    switch (f->look) {
    case LOOK_NONE: return say(ret, DEVICE_UNREADABLE, "it could not be read");
    case LOOK_MISMATCH: return say(ret, DEVICE_UNREADABLE, "driver and library differ");
    case LOOK_SEEN: return f->shared && say(ret, DEVICE_SUSPECT, "it is split up (MIG)");
    case LOOK_ABSENT: case HEALTH_LOOKS: break;
    }
    UNREACHABLE();
}

void health_state(const struct health *h, const struct health_facts *f, struct health_state *ret)
{
    struct health_state state = {.health = DEVICE_HEALTHY, .since_ms = h->since_ms};
    CHECK(h->fault != DEVICE_HEALTHY);
    CHECK(h->fault != DEVICE_GONE);
    if (f->look == LOOK_ABSENT) say(&state, DEVICE_GONE, "the machine no longer has it");
    else if (h->fault != DEVICE_UNREADABLE) say(&state, h->fault, h->why);
    else (void)passing(f, &state);
    *ret = state;
}
