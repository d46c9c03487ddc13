/* The trace of requests, the daily curve, and what holds of every simulated fleet. */
#include "test.h"

#include "base/err.h"
#include "sim/rotation.h"

#define HOUR_MS INT64_C(3600000)
#define HEAD "TIMESTAMP,ContextTokens,GeneratedTokens\n"

/* ---- the trace ---- */

static const struct {
    const char *name, *text;
    const char *rows;  /* at:context:generated of each */
    int64_t span_ms;
} TRACE_CASES[] = {
    {"one", HEAD "2023-11-16 18:17:03.9799600,4808,10\n", "0:4808:10 ", 1000},
    {"no end of the last line", HEAD "2023-11-16 18:17:03.9799600,4808,10", "0:4808:10 ", 1000},
    {"carriage returns and empty lines", HEAD "\r\n2023-11-16 18:17:03.0,1,2\r\n\n", "", 0},
    {"ten millionths are cut off", HEAD "2023-11-16 18:17:03.9799600,1,1\n"
     "2023-11-16 18:17:04.0319999,2,2\n", "0:1:1 52:2:2 ", 1052},
    {"out of order", HEAD "2023-11-16 18:17:05.000,5,1\n2023-11-16 18:17:04.000,4,1\n",
     "0:4:1 1000:5:1 ", 2000},
    {"equals stay in order", HEAD "2023-11-16 18:17:05.000,1,1\n2023-11-16 18:17:05.000,2,1\n"
     "2023-11-16 18:17:05.000,3,1\n", "0:1:1 0:2:1 0:3:1 ", 1000},
    {"over midnight", HEAD "2023-11-16 23:59:59.000,1,1\n2023-11-17 00:00:01.000,2,1\n",
     "0:1:1 2000:2:1 ", 3000},
    {"over a leap day", HEAD "2024-02-28 23:59:59.000,1,1\n2024-03-01 00:00:00.000,2,1\n",
     "0:1:1 86401000:2:1 ", 86402000},
    {"over a year", HEAD "2023-12-31 23:59:59.000,1,1\n2024-01-01 00:00:00.000,2,1\n",
     "0:1:1 1000:2:1 ", 2000},
    {"no fraction of a second", HEAD "2023-11-16 18:17:03,7,8\n", "0:7:8 ", 1000},
    {"no tokens at all", HEAD "2023-11-16 18:17:03.000,0,0\n", "0:0:0 ", 1000},
    {"nothing", "", "", 0},
    {"only the names", HEAD, "", 0},
    {"a missing cell", HEAD "2023-11-16 18:17:03.000,1\n", "", 0},
    {"one too many", HEAD "2023-11-16 18:17:03.000,1,2,3\n", "", 0},
    {"a negative number", HEAD "2023-11-16 18:17:03.000,-1,2\n", "", 0},
    {"a number too large", HEAD "2023-11-16 18:17:03.000,10000001,2\n", "", 0},
    {"month 13", HEAD "2023-13-16 18:17:03.000,1,2\n", "", 0},
    {"hour 24", HEAD "2023-11-16 24:17:03.000,1,2\n", "", 0},
    {"another form of date", HEAD "2023/11/16 18:17:03.000,1,2\n", "", 0},
    {"cut off", HEAD "2023-11-16 18:1", "", 0},
    {"a fraction cut off", HEAD "2023-11-16 18:17:03.9,1,2\n", "", 0},
};

static void test_traces(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_N(TRACE_CASES); i++) {
        struct rotation_trace t = {.span_ms = 77};
        struct err err = {0};
        int rc = rotation_trace_parse(str_of(TRACE_CASES[i].text), &t, &err);
        struct strbuf b;
        strbuf_init(&b, 4096);
        if (rc != 0) assert_int_equal(t.span_ms, 77); /* untouched */
        VEC_EACH(r, &t.rows)
            strbuf_fmt(&b, "%lld:%u:%u ", (long long)r->at_ms, r->context, r->generated);
        int64_t span = rc == 0 ? t.span_ms : 0;
        if (!str_eq(strbuf_str(&b), str_of(TRACE_CASES[i].rows)) || span != TRACE_CASES[i].span_ms)
            fail_msg("%s: got \"%s\", %lld ms, %s", TRACE_CASES[i].name, b.n ? b.p : "",
                     (long long)span, err.text);
        strbuf_done(&b);
        rotation_trace_done(&t);
    }
}

static void test_errors_name_the_line(void **state)
{
    (void)state;
    struct rotation_trace t;
    struct err err = {0};
    struct str bad = STR(HEAD "2023-11-16 18:17:03.0000000,1,2\nnonsense\n");
    assert_int_equal(rotation_trace_parse(bad, &t, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "line 3"));
    assert_int_equal(rotation_trace_parse(STR(HEAD), &t, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "no request"));
}

static void test_a_day(void **state)
{
    (void)state;
    uint32_t most = 0;
    int64_t dead = 0;
    for (int64_t at = 0; at < 24 * HOUR_MS; at += 60000) {
        uint32_t c = rotation_trace_curve(at);
        assert_true(c <= 1000);
        assert_int_equal(c, rotation_trace_curve(at + 48 * HOUR_MS));
        if (c > most) most = c;
        dead += c == 0;
    }
    assert_int_equal(most, 1000);
    assert_in_range(dead, 4 * 60, 12 * 60); /* a night long enough to train in */
}

/* Tiles follow each other; each pool has its share, shifted by its hours; nobody asks at night. */
static void test_arrivals(void **state)
{
    (void)state;
    struct rotation_trace t;
    rotation_trace_make(&t, 3);
    struct rotation_arrivals a, again;
    rotation_arrivals_init(&a, &t, 3, 9, 0);
    rotation_arrivals_init(&again, &t, 3, 9, 0);
    int64_t last = 0;
    uint64_t count[3] = {0};
    for (;;) {
        struct rotation_request r = rotation_arrivals_next(&a), s = rotation_arrivals_next(&again);
        assert_true(r.at_ms == s.at_ms && r.pool == s.pool && r.context == s.context);
        assert_true(r.at_ms >= last);
        assert_true(r.pool < 3);
        assert_true(rotation_trace_curve(r.at_ms + r.pool * 3 * HOUR_MS) > 0);
        last = r.at_ms;
        if (last >= 3 * 24 * HOUR_MS) break;
        count[r.pool]++;
    }
    for (int i = 1; i < 3; i++)
        assert_in_range(count[i], count[0] * 9 / 10, count[0] * 11 / 10);
    rotation_trace_done(&t);
}

/* One request a day, at midnight: it never comes, and nobody waits for it for ever. */
static void test_a_trace_that_sleeps(void **state)
{
    (void)state;
    struct rotation_trace t = {.span_ms = 24 * HOUR_MS};
    VEC_PUSH(&t.rows, (struct rotation_row){.context = 1});
    struct rotation_arrivals a;
    rotation_arrivals_init(&a, &t, 1, 9, 0);
    assert_int_equal(rotation_arrivals_next(&a).at_ms, ROTATION_NEVER_MS);
    assert_int_equal(rotation_arrivals_next(&a).at_ms, ROTATION_NEVER_MS);
    struct rotation_options o = {.seed = 2, .span_ms = 24 * HOUR_MS, .rotors = 2, .pools = 1};
    struct rotation_result r;
    rotation_run(&o, &t, &r);
    assert_true(r.ok);
    assert_int_equal(r.requests, 0);
    assert_true(r.runs_done > 0);
    rotation_trace_done(&t);
}

/* ---- fleets ---- */

static struct rotation_result run(enum rotation_policy policy, uint64_t seed, uint32_t rotors)
{
    struct rotation_trace t;
    rotation_trace_make(&t, 3);
    struct rotation_options o = {.seed = seed, .span_ms = 24 * HOUR_MS, .rotors = rotors,
                                 .pools = 3, .keep = 1, .policy = policy};
    struct rotation_result r;
    rotation_run(&o, &t, &r);
    rotation_trace_done(&t);
    return r;
}

static void test_every_policy_has_the_same_work(void **state)
{
    (void)state;
    struct rotation_result first = run(ROTATION_ROTA, 5, 5);
    for (int p = 0; p < ROTATION_POLICIES; p++) {
        struct rotation_result r = run((enum rotation_policy)p, 5, 5);
        int64_t hours = 0;
        for (int u = 0; u < ROTATION_USES; u++) hours += r.use_ms[u];
        assert_true(r.ok);
        assert_int_equal(hours, 5 * 24 * HOUR_MS); /* every hour of every rotor is somewhere */
        assert_int_equal(r.requests, first.requests);
        assert_int_equal(r.runs, first.runs);
        assert_int_equal(r.done + r.lost, r.requests);
        assert_int_equal(r.wait.requests, r.done);
        assert_true(r.wait.p50_ms <= r.wait.p99_ms && r.wait.p99_ms <= r.wait.most_ms);
        assert_true(r.use_ms[USE_TRAINING] >= r.wasted_ms);
    }
}

static void test_rota_loses_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct rotation_result rota = run(ROTATION_ROTA, seed, 6);
        struct rotation_result box = run(ROTATION_BOX, seed, 6);
        assert_true(rota.ok);
        assert_int_equal(rota.lost, 0);
        assert_int_equal(rota.wasted_ms, 0);
        assert_int_equal(rota.direct_aborted, 0);
        assert_true(rota.drains > 0);
        assert_int_equal(rota.drains, rota.restores + rota.aborted_drains);
        assert_true(rota.use_ms[USE_SERVING] + rota.use_ms[USE_TRAINING] >
                    box.use_ms[USE_SERVING] + box.use_ms[USE_TRAINING]);
        assert_int_equal(box.moves + box.drains + box.refused, 0);
        int64_t serves = 3 * 24 * HOUR_MS; /* three boxes of pools: idle most of the day */
        assert_true(box.use_ms[USE_IDLE] > serves / 2 && box.use_ms[USE_SERVING] < serves / 2);
    }
}

static void test_a_seed_is_a_history(void **state)
{
    (void)state;
    for (int p = 0; p < ROTATION_POLICIES; p++) {
        enum rotation_policy policy = (enum rotation_policy)p;
        assert_true(run(policy, 4, 4).hash == run(policy, 4, 4).hash);
        assert_true(run(policy, 4, 4).hash != run(policy, 5, 4).hash);
    }
}

/* One rotor, one pool, up to the most that is allowed: no shape of a fleet breaks it. */
static void test_shapes(void **state)
{
    (void)state;
    static const struct { uint32_t rotors, pools; } shapes[] = {
        {1, 1}, {1, ROTATION_POOLS_MAX}, {2, 1}, {ROTATION_ROTORS_MAX, 1}, {3, ROTATION_POOLS_MAX}};
    struct rotation_trace t;
    rotation_trace_make(&t, 3);
    for (size_t i = 0; i < ARRAY_N(shapes); i++) {
        struct rotation_options o = {.seed = 2, .span_ms = 6 * HOUR_MS, .clock_ms = 6 * HOUR_MS,
            .rotors = shapes[i].rotors, .pools = shapes[i].pools, .keep = 1, .faults = true};
        struct rotation_result r;
        rotation_run(&o, &t, &r);
        assert_true(r.aborted_drains + r.restores <= r.drains);
        if (!r.ok) fail_msg("%u rotors, %u pools: %s", o.rotors, o.pools, r.why);
    }
    rotation_trace_done(&t);
}

/* ---- words ---- */

static void test_words(void **state)
{
    (void)state;
    for (int i = 0; i < ROTATION_BREAKS; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(rotation_break_name((enum rotation_break)i),
                                    rotation_break_name((enum rotation_break)k));
    for (int i = 0; i < ROTATION_FAULTS; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(rotation_fault_name((enum rotation_fault)i),
                                    rotation_fault_name((enum rotation_fault)k));
    assert_string_equal(rotation_policy_name(ROTATION_HASTY), "hasty");
    assert_string_equal(rotation_use_name(USE_DOWN), "down");
    assert_string_equal(rotation_fault_name(FAULT_LATE_WORK), "late_work");
    assert_string_equal(rotation_break_name(BREAK_ANY_PRIORITY), "any_priority");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_traces),
        cmocka_unit_test(test_errors_name_the_line),
        cmocka_unit_test(test_a_day),
        cmocka_unit_test(test_arrivals),
        cmocka_unit_test(test_a_trace_that_sleeps),
        cmocka_unit_test(test_every_policy_has_the_same_work),
        cmocka_unit_test(test_rota_loses_nothing),
        cmocka_unit_test(test_a_seed_is_a_history),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
