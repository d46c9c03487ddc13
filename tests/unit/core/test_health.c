/* Whether a device is fit: every fault met by every look, and the rules of each Xid. */
#include "harness.h"

#include "core/nodeplan/health.h"

#define NOW 5000

static const enum device_health FAULTS[] = {DEVICE_UNREADABLE, DEVICE_SUSPECT, DEVICE_RECOVERING,
                                            DEVICE_QUARANTINED};

static int rank_of(enum device_health h)
{
    for (int i = 0; i < 4; i++) {
        if (FAULTS[i] == h) return i;
    }
    fail_msg("%d is no fault", (int)h);
    return -1;
}

struct world_case {
    struct health before, after;
    struct health_facts f;
};

static bool dirty(const struct health_facts *f)
{
    for (int k = 0; k < HEALTH_COUNTS; k++) {
        if (f->counts[k] > 0) return true;
    }
    return f->lost;
}

static bool reset_seen(const struct world_case *c)
{
    const struct health *h = &c->before;
    bool new_era = h->era && c->f.era && h->era != c->f.era;
    return new_era || (h->shown_by && c->f.counts[h->shown_by - 1] == 0);
}

static void judge(struct world_case *c)
{
    struct health_state state;
    c->after = c->before;
    bool changed = health_look(&c->after, &c->f, NOW);
    health_state(&c->after, &c->f, &state);
    const struct health *was = &c->before, *is = &c->after;
    assert_int_equal(changed, memcmp(was, is, sizeof(*is)) != 0);
    if (c->f.look == LOOK_NONE || c->f.look == LOOK_MISMATCH) assert_false(changed);
    /* Nobody is healthy who was not seen, or has a fault. */
    bool fine = c->f.look == LOOK_SEEN && is->fault == DEVICE_UNREADABLE && !c->f.shared;
    assert_int_equal(state.health == DEVICE_HEALTHY, fine);
    assert_int_equal(state.health == DEVICE_GONE, c->f.look == LOOK_ABSENT);
    assert_int_equal(state.why[0] == '\0', state.health == DEVICE_HEALTHY);
    if (c->f.look == LOOK_SEEN && dirty(&c->f)) assert_true(is->fault != DEVICE_UNREADABLE);
    /* A fault goes only after a reset, of a device that reads clean, and never an order. */
    if (rank_of(is->fault) < rank_of(was->fault)) {
        assert_int_equal(c->f.look, LOOK_SEEN);
        assert_true(reset_seen(c));
        assert_false(dirty(&c->f));
        assert_false(was->ordered);
    } else if (was->fault != DEVICE_UNREADABLE) {
        assert_int_equal(is->since_ms, was->since_ms);
    }
}

static void each_count(struct world_case *c)
{
    static const int64_t values[] = {HEALTH_UNKNOWN, 0, 1, 2, 3, 4};
    for (int k = 0; k < HEALTH_COUNTS; k++) {
        for (size_t v = 0; v < ARRAY_LEN(values); v++) {
            for (int other = -1; other < 1; other++) {
                for (int i = 0; i < HEALTH_COUNTS; i++) c->f.counts[i] = other;
                c->f.counts[k] = values[v];
                judge(c);
            }
        }
    }
}

static void each_look(struct world_case *c)
{
    for (int look = 0; look < HEALTH_LOOKS; look++) {
        for (unsigned bits = 0; bits < 16; bits++) {
            c->f.look = (enum health_look)look;
            c->f.lost = bits & 1;
            c->f.shared = bits & 2;
            c->f.era = bits >> 2; /* unknown, and three */
            each_count(c);
        }
    }
}

static void every_fault_meets_every_look(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(FAULTS); i++) {
        for (unsigned bits = 0; bits < 4; bits++) {
            for (uint32_t shown = 0; shown <= HEALTH_COUNTS; shown++) {
                for (uint64_t era = 0; era < 2; era++) {
                    struct world_case c = {.before = {.fault = FAULTS[i], .era = era,
                                                      .shown_by = shown}};
                    bool out = FAULTS[i] != DEVICE_UNREADABLE;
                    if (out) TEXT_CLIP(c.before.why, STR("Xid 79"));
                    c.before.since_ms = out ? 77 : 0;
                    c.before.ordered = out && (bits & 1);
                    c.before.was_absent = bits & 2;
                    each_look(&c);
                }
            }
        }
    }
}

static void an_xid_does_what_its_rule_says(void **state)
{
    (void)state;
    static const struct { enum xid_act act; enum device_health fault; bool kills; } rows[] = {
        {XID_UNKNOWN, DEVICE_SUSPECT, false},        {XID_APPLICATION, DEVICE_UNREADABLE, false},
        {XID_RESET, DEVICE_RECOVERING, false},       {XID_KILL, DEVICE_RECOVERING, true},
        {XID_QUARANTINE, DEVICE_QUARANTINED, false}, {XID_RECOVERY, DEVICE_RECOVERING, false},
    };
    assert_int_equal(ARRAY_LEN(rows), XID_ACTS);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (size_t k = 0; k < ARRAY_LEN(FAULTS); k++) {
            struct health h = {.fault = FAULTS[k]};
            bool worse = rank_of(rows[i].fault) > (int)k;
            assert_int_equal(health_xid(&h, 94, rows[i].act, NOW), worse);
            assert_int_equal(h.fault, worse ? rows[i].fault : FAULTS[k]);
            if (worse) assert_string_equal(h.why, "Xid 94");
            assert_int_equal(health_kills(rows[i].act), rows[i].kills);
        }
    }
}

/* An operator's word stands against reset and test, until the operator takes it back. */
static void an_order_stands(void **state)
{
    (void)state;
    struct health h = {.era = 1};
    struct health_facts clean = {.look = LOOK_SEEN, .era = 2};
    assert_true(health_order(&h, DEVICE_ORDER_QUARANTINE, "fan is loud", NOW));
    assert_string_equal(h.why, "fan is loud");
    health_look(&h, &clean, NOW);
    assert_false(health_tested(&h, true, NOW));
    assert_int_equal(h.fault, DEVICE_QUARANTINED);
    assert_true(health_order(&h, DEVICE_ORDER_RETURN, "", NOW));
    assert_int_equal(h.fault, DEVICE_UNREADABLE);
    assert_false(health_order(&h, DEVICE_ORDER_NONE, "", NOW));
    assert_true(health_tested(&h, false, NOW));
    assert_int_equal(h.fault, DEVICE_QUARANTINED);
    assert_true(health_tested(&h, true, NOW));
    assert_int_equal(h.fault, DEVICE_UNREADABLE);
}

/* The same driver, the same boot: it came back, but nothing explains why. */
static void who_was_gone_is_suspect(void **state)
{
    (void)state;
    struct health h = {0};
    struct health_facts seen = {.look = LOOK_SEEN, .era = 7}, absent = {.look = LOOK_ABSENT};
    assert_false(health_look(&h, &absent, NOW)); /* never seen: nothing to miss */
    assert_true(health_look(&h, &seen, NOW));
    assert_true(health_look(&h, &absent, NOW));
    assert_false(health_look(&h, &absent, NOW));
    assert_true(health_look(&h, &seen, NOW));
    assert_int_equal(h.fault, DEVICE_SUSPECT);
    assert_true(health_look(&h, &absent, NOW));
    seen.era = 8; /* a reboot explains it */
    assert_true(health_look(&h, &seen, NOW));
    assert_int_equal(h.fault, DEVICE_UNREADABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_meets_every_look),
        cmocka_unit_test(an_xid_does_what_its_rule_says),
        cmocka_unit_test(an_order_stands),
        cmocka_unit_test(who_was_gone_is_suspect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
