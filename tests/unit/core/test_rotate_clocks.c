/* Four clocks, and the proof that an engine is quiet: tables at the edges, the same
 * answer from the whole history of samples, and never more than what truly was. */
#include "harness.h"

#include "base/rng.h"
#include "core/rotate/clocks.h"

static const struct rotate_limits LIM = {300000, 60000, 1200000, 900000, 30000, 60000, 600000};
#define N(a) (sizeof(a) / sizeof(*(a)))
#define UNK INT64_MIN
#define S INT64_C(1000)

static struct reading reading(int64_t v)
{
    return v == UNK ? (struct reading){0} : READING(v);
}
static void assert_reading(const char *name, struct reading got, int64_t want)
{
    bool fine = want == UNK ? !got.known : got.known && got.v == want;
    if (!fine) fail_msg("%s: %lld %d", name, (long long)got.v, got.known);
}

/* ---- limits ---- */

static void test_limits(void **state)
{
    (void)state;
    assert_null(rotate_limits_wrong(&LIM));
    assert_null(rotate_limits_wrong(&ROTATE_LIMITS_DEFAULT));
    assert_memory_equal(&LIM, &ROTATE_LIMITS_DEFAULT, sizeof(LIM));
    for (int i = 0; i < 7; i++) {
        struct rotate_limits bad = LIM;
        int64_t *all[] = {&bad.idle_ms, &bad.dwell_ms, &bad.quiet_ms, &bad.release_ms,
                          &bad.stale_ms, &bad.gap_ms, &bad.stuck_ms};
        const int64_t values[] = {0, -1, INT64_MIN, INT64_MAX};
        for (size_t v = 0; v < N(values); v++) {
            *all[i] = values[v];
            assert_non_null(rotate_limits_wrong(&bad));
        }
    }
    struct rotate_limits order = LIM;
    order.dwell_ms = LIM.idle_ms + 1;
    assert_non_null(rotate_limits_wrong(&order));
    order.dwell_ms = LIM.idle_ms;
    assert_null(rotate_limits_wrong(&order));
    order.quiet_ms = LIM.idle_ms - 1;
    assert_non_null(rotate_limits_wrong(&order));
    order.quiet_ms = LIM.idle_ms;
    assert_null(rotate_limits_wrong(&order));
    order.release_ms = 365 * 86400 * S;
    assert_null(rotate_limits_wrong(&order));
    order.release_ms++;
    assert_non_null(rotate_limits_wrong(&order));
}

/* The window that guards the destructive move is four times the harmless one's. */
static void test_windows_are_unequal(void **state)
{
    (void)state;
    assert_int_equal(LIM.idle_ms, 5 * 60 * S);
    assert_int_equal(LIM.dwell_ms, 60 * S);
    assert_int_equal(LIM.quiet_ms, 20 * 60 * S);
    assert_int_equal(LIM.release_ms, 15 * 60 * S);
    assert_int_equal(LIM.quiet_ms, 4 * LIM.idle_ms);
}

/* ---- the clocks ---- */

static const struct {
    const char *name;
    int64_t bound, event, engine, moved, run_end, now;
    int64_t idle, release, dwell;
} CLOCKS[] = {
    {"since the bind", 100, 100, 100, 100, 100, 150, 50, 50, 50},
    {"since the last event", 100, 130, 110, 100, 100, 150, 20, 50, 50},
    {"since direct traffic", 100, 130, 149, 100, 100, 150, 1, 50, 50},
    {"since the bind, after all", 140, 130, 120, 100, 100, 150, 10, 10, 50},
    {"since the end of a run", 100, 100, 100, 100, 120, 150, 50, 30, 50},
    {"a move that failed", 100, 100, 100, 145, 100, 150, 50, 50, 5},
    {"now", 150, 150, 150, 150, 150, 150, 0, 0, 0},
    {"bind unknown", UNK, 130, 110, 100, 100, 150, UNK, UNK, 50},
    {"event unknown", 100, UNK, 110, 100, 100, 150, UNK, 50, 50},
    {"engine unknown", 100, 130, UNK, 100, 100, 150, UNK, 50, 50},
    {"move unknown", 100, 130, 110, UNK, 100, 150, 20, 50, UNK},
    {"run end unknown", 100, 130, 110, 100, UNK, 150, 20, UNK, 50},
    {"an anchor of the future", 100, 151, 110, 151, 151, 150, UNK, UNK, UNK},
    {"since the machine's start", 0, 0, 0, 0, 0, 150, 150, 150, 150},
    {"an anchor of another kind", -5, -5, -5, -5, -5, 150, UNK, UNK, UNK},
};

static void test_anchors(void **state)
{
    (void)state;
    for (size_t i = 0; i < N(CLOCKS); i++) {
        struct clock_anchors a = {reading(CLOCKS[i].bound), reading(CLOCKS[i].event),
                                  reading(CLOCKS[i].engine), reading(CLOCKS[i].moved),
                                  reading(CLOCKS[i].run_end)};
        assert_reading(CLOCKS[i].name, clocks_idle(&a, CLOCKS[i].now), CLOCKS[i].idle);
        assert_reading(CLOCKS[i].name, clocks_release(&a, CLOCKS[i].now), CLOCKS[i].release);
        assert_reading(CLOCKS[i].name, clocks_dwell(&a, CLOCKS[i].now), CLOCKS[i].dwell);
    }
}

static void test_passes_at_the_window(void **state)
{
    (void)state;
    const int64_t windows[] = {LIM.idle_ms, LIM.dwell_ms, LIM.quiet_ms, LIM.release_ms};
    for (size_t i = 0; i < N(windows); i++) {
        int64_t w = windows[i];
        assert_false(clocks_pass(READING(w - 1), w));
        assert_true(clocks_pass(READING(w), w));
        assert_true(clocks_pass(READING(w + 1), w));
        assert_false(clocks_pass((struct reading){.v = w + 1}, w));
        assert_reading("left", clocks_left(READING(0), w), w);
        assert_reading("left", clocks_left(READING(w - 1), w), 1);
        assert_reading("left", clocks_left(READING(w), w), 0);
        assert_reading("left", clocks_left(READING(w + 5), w), 0);
        assert_reading("left", clocks_left(reading(UNK), w), UNK);
    }
}

static void test_stale_is_unknown(void **state)
{
    (void)state;
    for (int f = 0; f < 3; f++) {
        assert_int_equal(clocks_fresh(&LIM, (enum fact)f, 0), f);
        assert_int_equal(clocks_fresh(&LIM, (enum fact)f, 30 * S), f);
        assert_int_equal(clocks_fresh(&LIM, (enum fact)f, 30 * S + 1), FACT_UNKNOWN);
        assert_int_equal(clocks_fresh(&LIM, (enum fact)f, -1), FACT_UNKNOWN);
    }
}

static void test_backoff(void **state)
{
    (void)state;
    const int64_t minutes[] = {0, 1, 2, 4, 8, 16, 30, 30, 30};
    for (uint32_t i = 0; i < N(minutes); i++) {
        assert_int_equal(clocks_backoff_ms(i, CLOCKS_BIND_BACKOFF_FIRST_MS,
                                           CLOCKS_BIND_BACKOFF_MOST_MS), minutes[i] * 60 * S);
    }
    assert_int_equal(clocks_backoff_ms(UINT32_MAX, 1, INT64_MAX), INT64_MAX);
}

/* ---- is the engine quiet? ---- */

enum kind { COUNTER = 1, GAUGE = 2, BOTH = 3 };
struct point { int64_t at, start, counter, gauge; bool failed, loading; };

static void take(struct quiet *q, enum kind k, struct point p)
{
    struct quiet_profile profile = {.counter = k & COUNTER, .gauge = k & GAUGE};
    struct quiet_sample s = {.at_ms = p.at * S, .failed = p.failed, .loading = p.loading,
                             .start = reading(p.start)};
    if (k & COUNTER) s.counter = reading(p.counter);
    if (k & GAUGE) s.gauge = reading(p.gauge);
    quiet_add(&LIM, &profile, q, &s);
}

static const struct {
    const char *name;
    enum kind kind;
    struct point points[6];
    int64_t now, span; /* seconds */
    enum fact quiet;
} SAMPLES[] = {
    {"never sampled", BOTH, {{0}}, 0, UNK, FACT_UNKNOWN},
    {"the first proves nothing", BOTH, {{.at = 5, 1, 7, 0}}, 5, 0, FACT_NO},
    {"two alike prove silence", BOTH, {{.at = 5, 1, 7, 0}, {.at = 15, 1, 7, 0}}, 15, 10, FACT_YES},
    {"not now minus anchor", BOTH, {{.at = 5, 1, 7, 0}, {.at = 15, 1, 7, 0}}, 45, 10, FACT_YES},
    {"older than 30 s", BOTH, {{.at = 5, 1, 7, 0}, {.at = 15, 1, 7, 0}}, 46, UNK, FACT_UNKNOWN},
    {"a sample of the future", BOTH, {{.at = 5, 1, 7, 0}, {.at = 15, 1, 7, 0}}, 14, UNK,
     FACT_UNKNOWN},
    {"the last failed", BOTH, {{.at = 5, 1, 7, 0}, {.at = 15, 1, 7, 0}, {.at = 16, .failed = true}},
     17, UNK, FACT_UNKNOWN},
    {"one between failed", BOTH,
     {{.at = 5, 1, 7, 0}, {.at = 10, .failed = true}, {.at = 15, 1, 7, 0}}, 15, 10, FACT_YES},
    {"the counter went up", BOTH, {{.at = 5, 1, 7, 0}, {.at = 15, 1, 8, 0}}, 15, 0, FACT_NO},
    {"the counter went down", BOTH, {{.at = 5, 1, 7, 0}, {.at = 15, 1, 6, 0}}, 15, 0, FACT_NO},
    {"the engine restarted", BOTH, {{.at = 5, 1, 7, 0}, {.at = 15, 2, 7, 0}}, 15, 0, FACT_NO},
    {"identity lost", BOTH, {{.at = 5, 1, 7, 0}, {.at = 15, UNK, 7, 0}}, 15, 0, FACT_NO},
    {"identity found", BOTH, {{.at = 5, UNK, 7, 0}, {.at = 15, 1, 7, 0}}, 15, 0, FACT_NO},
    {"a gauge above zero", BOTH, {{.at = 5, 1, 7, 0}, {.at = 15, 1, 7, 1}}, 15, 0, FACT_NO},
    {"a gauge above zero, then not", BOTH,
     {{.at = 5, 1, 7, 0}, {.at = 15, 1, 7, 1}, {.at = 25, 1, 7, 0}}, 25, 10, FACT_YES},
    {"a gauge below zero is no reading", BOTH, {{.at = 5, 1, 7, 0}, {.at = 15, 1, 7, -1}}, 15, UNK,
     FACT_UNKNOWN},
    {"no counter where one is promised", BOTH, {{.at = 5, 1, 7, 0}, {.at = 15, 1, UNK, 0}}, 15,
     UNK, FACT_UNKNOWN},
    {"no gauge where one is promised", BOTH, {{.at = 5, 1, 7, 0}, {.at = 15, 1, 7, UNK}}, 15, UNK,
     FACT_UNKNOWN},
    {"nothing is promised", 0, {{.at = 5, 1, 7, 0}, {.at = 15, 1, 7, 0}}, 15, UNK, FACT_UNKNOWN},
    {"loading a model is busy", BOTH,
     {{.at = 5, 1, 7, 0}, {.at = 15, 1, 7, 0, .loading = true}}, 15, 0, FACT_NO},
    {"a hole, bridged by the counter", BOTH, {{.at = 5, 1, 7, 0}, {.at = 905, 1, 7, 0}}, 905, 900,
     FACT_YES},
    {"a hole, bridged by bytes on the port", COUNTER,
     {{.at = 5, 1, 7, 0}, {.at = 905, 1, 7, 0}}, 905, 900, FACT_YES},
    {"a hole without identity", BOTH, {{.at = 5, UNK, 7, 0}, {.at = 66, UNK, 7, 0}}, 66, 0,
     FACT_NO},
    {"a gauge alone, no hole", GAUGE, {{.at = 5, 1, 0, 0}, {.at = 65, 1, 0, 0}}, 65, 60, FACT_YES},
    {"a gauge alone, a hole of 61 s", GAUGE,
     {{.at = 5, 1, 0, 0}, {.at = 66, 1, 0, 0}, {.at = 76, 1, 0, 0}}, 76, 10, FACT_YES},
    {"a sample twice", BOTH, {{.at = 5, 1, 7, 0}, {.at = 15, 1, 7, 0}, {.at = 15, 1, 7, 0}}, 15,
     10, FACT_YES},
    {"time went back: anew", BOTH,
     {{.at = 500, 1, 7, 0}, {.at = 900, 1, 7, 0}, {.at = 20, 1, 7, 0}, {.at = 30, 1, 7, 0}}, 30,
     10, FACT_YES},
};

static void test_samples(void **state)
{
    (void)state;
    for (size_t i = 0; i < N(SAMPLES); i++) {
        struct quiet q = {0};
        for (int p = 0; p < 6 && SAMPLES[i].points[p].at > 0; p++) {
            take(&q, SAMPLES[i].kind, SAMPLES[i].points[p]);
        }
        int64_t want = SAMPLES[i].span == UNK ? UNK : SAMPLES[i].span * S;
        assert_reading(SAMPLES[i].name, quiet_span(&LIM, &q, SAMPLES[i].now * S), want);
        assert_int_equal(quiet_now(&LIM, &q, SAMPLES[i].now * S), SAMPLES[i].quiet);
    }
}

/* A client that asks every two minutes never lets the clock pass, though no gauge sees it. */
static void test_slow_client(void **state)
{
    (void)state;
    struct quiet q = {0};
    for (int64_t at = 1; at < 4 * 3600; at += 10) {
        take(&q, BOTH, (struct point){.at = at, .start = 1, .counter = at / 120});
        struct reading span = quiet_span(&LIM, &q, at * S);
        assert_true(span.known && span.v < 120 * S);
    }
}

/* Shown after ten minutes; it refuses all the same. */
static void test_stuck_signal(void **state)
{
    (void)state;
    struct quiet q = {0};
    for (int64_t at = 10; at <= 1500; at += 10) {
        take(&q, BOTH, (struct point){.at = at, .start = 1, .counter = 7, .gauge = 1});
        assert_int_equal(quiet_stuck(&LIM, &q, at * S), at >= 610);
        assert_int_equal(quiet_now(&LIM, &q, at * S), FACT_NO);
    }
    assert_false(quiet_stuck(&LIM, &q, 1600 * S)); /* stale: nothing is known */
    take(&q, BOTH, (struct point){.at = 1510, .start = 1, .counter = 8, .gauge = 1});
    assert_false(quiet_stuck(&LIM, &q, 1510 * S));
    for (int64_t at = 1520; at <= 3000; at += 10) { /* a gauge alone is never stuck */
        take(&q, GAUGE, (struct point){.at = at, .start = 1, .gauge = 1});
        assert_false(quiet_stuck(&LIM, &q, at * S));
    }
    q = (struct quiet){0};
    for (int64_t at = 10; at <= 1500; at += 10) { /* a gauge of zero over a flat counter is quiet */
        take(&q, BOTH, (struct point){.at = at, .start = 1, .counter = 7});
        assert_false(quiet_stuck(&LIM, &q, at * S));
    }
}

static void test_agent_restart(void **state)
{
    (void)state;
    struct quiet q = {0};
    take(&q, BOTH, (struct point){.at = 5, .start = 1, .counter = 7});
    take(&q, BOTH, (struct point){.at = 15, .start = 1, .counter = 7});
    assert_reading("anchor", quiet_anchor(&q), 5 * S);
    struct quiet with = q;
    quiet_resume(&with); /* counter and identity prove what happened meanwhile */
    take(&with, BOTH, (struct point){.at = 500, .start = 1, .counter = 7});
    assert_reading("bridged", quiet_span(&LIM, &with, 500 * S), 495 * S);

    struct quiet without = {0};
    take(&without, GAUGE, (struct point){.at = 5, .start = 1});
    take(&without, GAUGE, (struct point){.at = 15, .start = 1});
    quiet_resume(&without);
    assert_reading("anchor", quiet_anchor(&without), UNK);
    take(&without, GAUGE, (struct point){.at = 20, .start = 1});
    assert_reading("anew", quiet_span(&LIM, &without, 20 * S), 0);

    struct quiet nameless = {0};
    take(&nameless, BOTH, (struct point){.at = 5, .start = UNK, .counter = 7});
    quiet_resume(&nameless);
    assert_reading("no identity", quiet_anchor(&nameless), UNK);
}

/* ---- laws ---- */

/* The page's sentence over the whole history: the anchor is the last good sample that is
 * the first, has another start, another counter, a gauge above zero, or a hole before it
 * that nothing bridges. */
static int64_t naive_span(const struct point *p, int n, enum kind k, int64_t now)
{
    int last = -1, anchor = -1;
    if (n == 0 || p[n - 1].failed) return UNK;
    for (int i = 0; i < n; i++) {
        if (p[i].failed) continue;
        bool cumulative = (k & COUNTER) && p[i].start != UNK;
        bool moves = last < 0 || p[i].start != p[last].start || p[i].loading ||
                     ((k & COUNTER) && p[i].counter != p[last].counter) ||
                     ((k & GAUGE) && p[i].gauge > 0) ||
                     (p[i].at - p[last].at > 60 && !cumulative);
        if (moves) anchor = i;
        last = i;
    }
    if (now - p[last].at > 30) return UNK;
    return (p[last].at - p[anchor].at) * S;
}

static struct point any_point(struct rng *r, const struct point *before)
{
    struct point p = *before;
    p.failed = rng_below(r, 5) == 0;
    p.loading = rng_below(r, 30) == 0;
    p.at += 1 + (int64_t)rng_below(r, rng_below(r, 6) == 0 ? 300 : 30);
    if (rng_below(r, 12) == 0) p.start = rng_below(r, 3) == 0 ? UNK : p.at;
    if (rng_below(r, 6) == 0) p.counter += (int64_t)rng_below(r, 5) - 1;
    p.gauge = rng_below(r, 8) == 0 ? 2 : 0;
    return p;
}

static void test_against_the_whole_history(void **state)
{
    (void)state;
    struct rng r = {11};
    uint64_t known = 0;
    for (int round = 0; round < 3000; round++) {
        enum kind k = (enum kind)(1 + round % 3);
        struct point p[24], before = {.at = 1, .start = 1};
        struct quiet q = {0};
        for (int n = 0; n < 24; n++) {
            p[n] = before = any_point(&r, &before);
            take(&q, k, p[n]);
            int64_t now = p[n].at + (int64_t)rng_below(&r, 40);
            int64_t want = naive_span(p, n + 1, k, now);
            assert_reading("history", quiet_span(&LIM, &q, now * S), want);
            known += want != UNK && want > 0;
        }
    }
    assert_true(known > 1000);
}

/* An engine that truly works at times which nobody sees, restarts, and fails to answer:
 * what the clock claims was silent, was. */
static void test_never_more_than_the_truth(void **state)
{
    (void)state;
    struct rng r = {12};
    uint64_t passed = 0;
    for (int round = 0; round < 400; round++) {
        struct quiet q = {0};
        int64_t worked = 0, start = 1, counter = 0, sample_at = 1;
        uint64_t busy = 20 + rng_below(&r, 4000); /* seconds between requests */
        for (int64_t now = 1; now < 7200; now++) {
            if (rng_below(&r, busy) == 0) worked = now, counter++;
            if (rng_below(&r, 5000) == 0) worked = now, start = now, counter = 0;
            if (now == sample_at) {
                bool fails = rng_below(&r, 4) == 0;
                take(&q, COUNTER, (struct point){.at = now, .start = start, .counter = counter,
                                                 .failed = fails});
                sample_at += 1 + (int64_t)rng_below(&r, rng_below(&r, 9) == 0 ? 400 : 10);
            }
            struct reading span = quiet_span(&LIM, &q, now * S);
            if (!span.known) continue;
            int64_t last_s = q.last_ms / S;
            assert_true(worked > last_s || span.v <= (last_s - worked) * S);
            passed += clocks_pass(span, LIM.quiet_ms);
        }
    }
    assert_true(passed > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_windows_are_unequal),
        cmocka_unit_test(test_anchors),
        cmocka_unit_test(test_passes_at_the_window),
        cmocka_unit_test(test_stale_is_unknown),
        cmocka_unit_test(test_backoff),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_slow_client),
        cmocka_unit_test(test_stuck_signal),
        cmocka_unit_test(test_agent_restart),
        cmocka_unit_test(test_against_the_whole_history),
        cmocka_unit_test(test_never_more_than_the_truth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
