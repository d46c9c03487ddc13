/* tests/unit/core/test_meter.c - CPU over a window: known, or unknown, never a guess. */
#include "core/model/meter.h"
#include "../base/test.h"

#define CAP 8
static struct meter_point room[CAP];
static struct meter_ring ring_of(const struct meter_point *p, uint32_t n)
{
    struct meter_ring r = {.v = room, .cap = CAP};
    for (uint32_t i = 0; i < n; i++) meter_put(&r, p[i]);
    return r;
}
static const struct meter_window minute = {.now_ms = 60000, .window_ms = 60000, .gap_ms = 25000};

static void test_ring(void **state)
{
    (void)state;
    struct meter_ring r = {.v = room, .cap = CAP};
    for (int i = 0; i < 20; i++) {
        meter_put(&r, (struct meter_point){.at_ms = i, .cpu_us = i * 10});
        meter_put(&r, (struct meter_point){.at_ms = i, .cpu_us = 1}); /* the same moment again */
        assert_int_equal(r.n, i + 1 < CAP ? i + 1 : CAP);
        assert_int_equal(meter_at(&r, r.n - 1).cpu_us, i * 10);
        assert_int_equal(meter_at(&r, 0).at_ms, i < CAP ? 0 : i - CAP + 1);
    }
}

#define P(at, cpu) {.at_ms = (at), .cpu_us = (cpu)}
static const struct {
    const char *what;
    uint32_t n;
    struct meter_point p[6];
    int64_t milli; /* -1: unknown */
} cases[] = {
    {"nothing", 0, {P(0, 0)}, -1},
    {"one point", 1, {P(0, 0)}, -1},
    {"still", 4, {P(0, 5), P(20000, 5), P(40000, 5), P(60000, 5)}, 0},
    {"a tenth of a core", 4, {P(0, 0), P(20000, 1000000), P(40000, 5000000), P(60000, 6000000)},
     100},
    {"begins before it", 4, {P(-10000, 0), P(10000, 0), P(30000, 0), P(50000, 0)}, 0},
    {"younger than the window", 3, {P(1000, 0), P(21000, 0), P(41000, 0)}, -1},
    {"a gap in it", 3, {P(0, 0), P(10000, 0), P(60000, 0)}, -1},
    {"silent since", 3, {P(-10000, 0), P(10000, 0), P(30000, 0)}, -1},
    {"a reading is unknown", 4, {P(0, 0), P(20000, -1), P(40000, 0), P(60000, 0)}, -1},
    {"the last is unknown", 4, {P(0, 0), P(20000, 0), P(40000, 0), P(60000, -1)}, -1},
    {"the counter went back", 4, {P(0, 9), P(20000, 9), P(40000, 1), P(60000, 2)}, -1},
    {"all of it is old", 2, {P(-90000, 0), P(-70000, 0)}, -1},
};

static void test_window(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct meter_ring r = ring_of(cases[i].p, cases[i].n);
        struct reading got = meter_cpu_milli(&r, minute);
        if (got.known != (cases[i].milli >= 0) || (got.known && got.v != cases[i].milli))
            fail_msg("%s: known %d, %lld", cases[i].what, got.known, (long long)got.v);
        enum fact idle = meter_idle(&r, minute, 100), want = FACT_UNKNOWN;
        if (cases[i].milli >= 0) want = cases[i].milli < 100 ? FACT_YES : FACT_NO;
        if (idle != want) fail_msg("%s: idle %d", cases[i].what, idle);
    }
}

/* IDL5: whichever reading is taken away, what was idle is idle no more. */
static void test_idl5_unknown_is_not_idle(void **state)
{
    (void)state;
    const struct meter_point still[] = {P(0, 5), P(20000, 5), P(40000, 5), P(60000, 5)};
    for (size_t hole = 0; hole < ARRAY_LEN(still); hole++) {
        struct meter_point p[ARRAY_LEN(still)];
        memcpy(p, still, sizeof(p));
        p[hole].cpu_us = METER_UNKNOWN;
        struct meter_ring r = ring_of(p, ARRAY_LEN(p));
        assert_int_equal(meter_idle(&r, minute, 100), FACT_UNKNOWN);
    }
}

static void test_peak(void **state)
{
    (void)state;
    const struct meter_point p[] = {P(-1000, 0), P(0, 9000000), P(1000, 9500000), P(2000, 9600000)};
    struct meter_ring r = ring_of(p, ARRAY_LEN(p));
    struct reading peak = meter_cpu_peak_milli(&r, minute);
    assert_true(peak.known);
    assert_int_equal(peak.v, 500);
    r = ring_of(p, 1);
    assert_false(meter_cpu_peak_milli(&r, minute).known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_idl5_unknown_is_not_idle),
        cmocka_unit_test(test_peak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
