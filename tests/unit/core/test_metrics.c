/* What an answer of an engine proves: numbers, lines, sums, and what is never taken for zero. */
#include "harness.h"

#include "base/rng.h"
#include "base/strbuf.h"
#include "core/rotate/metrics.h"

#define K METRICS_KNOWN

/* ---- numbers ---- */

static const struct { const char *text; enum metrics_state state; bool negative, rounded;
                      int64_t milli; } NUMBERS[] = {
    {"0", K, false, false, 0},
    {"-0", K, false, false, 0},
    {"-0.0", K, false, false, 0},
    {"0e999999999999", K, false, false, 0},
    {"1", K, false, false, 1000},
    {"+1", K, false, false, 1000},
    {"1.", K, false, false, 1000},
    {".5", K, false, false, 500},
    {"7.000", K, false, false, 7000},
    {"12.345", K, false, false, 12345},
    {"-2", K, true, false, 2000},
    {"8.128902e+06", K, false, false, 8128902000},
    {"8.128902E6", K, false, false, 8128902000},
    {"1.79080983295e+09", K, false, false, 1790809832950},
    {"125e-3", K, false, false, 125},
    {"9007199254740991", K, false, false, INT64_C(9007199254740991000)},
    {"9223372036854775.807", K, false, false, INT64_MAX},
    {"9223372036854775.808", METRICS_TOO_BIG, false, false, 0},
    {"18446744073709551615", METRICS_TOO_BIG, false, false, 0},
    {"1e400", METRICS_TOO_BIG, false, false, 0},
    {"-1e400", METRICS_TOO_BIG, false, false, 0},
    {"1e999999999999999999", METRICS_TOO_BIG, false, false, 0},
    /* what is above zero stays above zero */
    {"0.0001", K, false, true, 1},
    {"1e-300", K, false, true, 1},
    {"1e-999999999999", K, false, true, 1},
    {"-0.0001", K, true, true, 1},
    {"2.3518979474117756", K, false, true, 2352},
    {"0.00012864679652016083", K, false, true, 1},
    {"1.00000000000000000000", K, false, false, 1000},
    {"1.00000000000000000000000001", K, false, true, 1001},
    {"100000000000000000000000e-20", K, false, false, 1000000},
    {"NaN", METRICS_NAN, false, false, 0},
    {"nan", METRICS_NAN, false, false, 0},
    {"+Inf", METRICS_NAN, false, false, 0},
    {"-Inf", METRICS_NAN, false, false, 0},
    {"Inf", METRICS_NAN, false, false, 0},
    {"-infinity", METRICS_NAN, false, false, 0},
    {"", METRICS_MALFORMED, false, false, 0},
    {"+", METRICS_MALFORMED, false, false, 0},
    {"-", METRICS_MALFORMED, false, false, 0},
    {".", METRICS_MALFORMED, false, false, 0},
    {"e5", METRICS_MALFORMED, false, false, 0},
    {"1e", METRICS_MALFORMED, false, false, 0},
    {"1e+", METRICS_MALFORMED, false, false, 0},
    {"1.2.3", METRICS_MALFORMED, false, false, 0},
    {"--1", METRICS_MALFORMED, false, false, 0},
    {"0x10", METRICS_MALFORMED, false, false, 0},
    {"1_000", METRICS_MALFORMED, false, false, 0},
    {"1,5", METRICS_MALFORMED, false, false, 0},
    {"12 ", METRICS_MALFORMED, false, false, 0},
    {"Infin", METRICS_MALFORMED, false, false, 0},
    {"null", METRICS_MALFORMED, false, false, 0},
};

static void numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(NUMBERS); i++) {
        struct metrics_number n = metrics_number(str_of(NUMBERS[i].text));
        if (n.state != NUMBERS[i].state || n.negative != NUMBERS[i].negative ||
            n.rounded != NUMBERS[i].rounded || n.milli != NUMBERS[i].milli) {
            fail_msg("\"%s\": state %d negative %d rounded %d milli %lld", NUMBERS[i].text,
                     (int)n.state, n.negative, n.rounded, (long long)n.milli);
        }
    }
}

/* However a number is written, it is the same number. */
static void notations_agree(void **state)
{
    (void)state;
    struct rng rng = {17};
    for (int i = 0; i < 20000; i++) {
        uint64_t milli = rng_next(&rng) >> (1 + rng_below(&rng, 63));
        unsigned long long whole = milli / 1000, part = milli % 1000;
        int zeros = (int)rng_below(&rng, 6);
        char texts[4][64];
        text_fmt(texts[0], 64, "%llu.%03llu", whole, part);
        text_fmt(texts[1], 64, "%llue-3", (unsigned long long)milli);
        text_fmt(texts[2], 64, "%.*s%llu.%03lluE+00", zeros, "000000", whole, part);
        text_fmt(texts[3], 64, "%llu%.*se-%d", (unsigned long long)milli, zeros, "000000",
                 zeros + 3);
        for (size_t k = 0; k < 4; k++) {
            struct metrics_number n = metrics_number(str_of(texts[k]));
            if (n.state != K || n.rounded || (uint64_t)n.milli != milli) {
                fail_msg("%s: %lld", texts[k], (long long)n.milli);
            }
        }
    }
}

/* ---- answers ---- */

/* Counters a and b, b only once it has happened; gauge g{kind="run"}; the process in `start`. */
static struct metrics_profile profile(void)
{
    struct metrics_profile p = {
        .format = METRICS_PROMETHEUS, .identity = METRICS_BY_METRIC, .digits = METRICS_DIGITS_MAX,
        .n_counters = 2, .n_gauges = 1, .identity_metric = "start",
        .counters = {{.name = "a"}, {.name = "b", .optional = true}},
        .gauges = {{.name = "g", .n_labels = 1, .labels = {{"kind", "run"}}}},
    };
    return p;
}

#define G "g{kind=\"run\"} 0\n"
#define S "start 5\n"
static const struct { const char *name, *text; struct metrics_value counter, gauge; } ANSWERS[] = {
    {"all", "a 1\nb 2\n" G S, {K, 3000}, {K, 0}},
    {"series are added", "a{x=\"1\"} 1\na{x=\"2\"} 2.5\n" G S, {K, 3500}, {K, 0}},
    {"only the label asked for", "a 1\n" G "g{kind=\"wait\"} 7\n" S, {K, 1000}, {K, 0}},
    {"above zero", "a 1\ng{kind=\"run\"} 0.0001\n" S, {K, 1000}, {K, 1}},
    {"no gauge of that label", "a 1\ng{kind=\"wait\"} 0\n" S, {K, 1000}, {METRICS_ABSENT, 0}},
    {"a missing counter is not zero", "b 2\n" G S, {METRICS_ABSENT, 0}, {K, 0}},
    {"a described counter is not there", "# TYPE a counter\n" G S, {METRICS_ABSENT, 0}, {K, 0}},
    {"a longer name is another", "a_total 1\naa 1\n" G S, {METRICS_ABSENT, 0}, {K, 0}},
    {"a histogram is another", "a_bucket{le=\"1\"} 1\na_sum 1\n" G S, {METRICS_ABSENT, 0}, {K, 0}},
    {"not a number", "a NaN\n" G S, {METRICS_NAN, 0}, {K, 0}},
    {"infinite", "a 1\ng{kind=\"run\"} +Inf\n" S, {K, 1000}, {METRICS_NAN, 0}},
    {"a negative gauge", "a 1\ng{kind=\"run\"} -1\n" S, {K, 1000}, {METRICS_NEGATIVE, 0}},
    {"minus one and one are not zero",
     "a 1\ng{kind=\"run\",w=\"1\"} -1\ng{kind=\"run\",w=\"2\"} 1\n" S,
     {K, 1000}, {METRICS_NEGATIVE, 0}},
    {"one bad series is enough", "a{x=\"1\"} 4\na{x=\"2\"} NaN\na{x=\"3\"} 4\n" G S,
     {METRICS_NAN, 0}, {K, 0}},
    {"a negative counter", "a -1\n" G S, {METRICS_NEGATIVE, 0}, {K, 0}},
    {"a counter with more than thousandths", "a 1.0001\n" G S, {METRICS_ROUNDED, 0}, {K, 0}},
    {"the last number a double counts", "a 9007199254740991\n" G S,
     {K, INT64_C(9007199254740991000)}, {K, 0}},
    {"where a double loses one", "a 9.007199254740992e+15\n" G S, {METRICS_TOO_BIG, 0}, {K, 0}},
    {"a sum that is too big", "a{x=\"1\"} 9007199254740991\na{x=\"2\"} 9007199254740991\n" G S,
     {METRICS_TOO_BIG, 0}, {K, 0}},
    {"a gauge that is too big", "a 1\ng{kind=\"run\"} 1e300\n" S, {K, 1000}, {METRICS_TOO_BIG, 0}},
    {"times are not values", "a 1 1700000000000\n" G S, {K, 1000}, {K, 0}},
    {"exemplars are not values", "a 1 # {id=\"x\"} 7 1.5\n" G S "# EOF\n", {K, 1000}, {K, 0}},
    {"blanks and remarks", "\n \t\n#\n# a 9\n  a \t1\n\tg{ kind = \"run\" , } 0\r\n" S,
     {K, 1000}, {K, 0}},
    {"escapes", "a{x=\"\\\\ \\\" \\n }{,=\"} 1\n" G S, {K, 1000}, {K, 0}},
};

static void answers(void **state)
{
    (void)state;
    struct metrics_profile p = profile();
    for (size_t i = 0; i < ARRAY_LEN(ANSWERS); i++) {
        struct metrics m = metrics_read(&p, str_of(ANSWERS[i].text), 0);
        if (m.counter.state != ANSWERS[i].counter.state ||
            m.counter.milli != ANSWERS[i].counter.milli ||
            m.gauge.state != ANSWERS[i].gauge.state || m.gauge.milli != ANSWERS[i].gauge.milli) {
            fail_msg("%s: counter %d %lld, gauge %d %lld, line %u", ANSWERS[i].name,
                     (int)m.counter.state, (long long)m.counter.milli, (int)m.gauge.state,
                     (long long)m.gauge.milli, m.line);
        }
        assert_int_equal(m.start.state, K);
        assert_int_equal(m.start.milli, 5000);
        enum fact busy = m.gauge.state != K ? FACT_UNKNOWN : m.gauge.milli ? FACT_YES : FACT_NO;
        assert_int_equal(metrics_busy(&m), busy);
    }
}

/* Optional terms may be missing, but then something else must be there. */
static void all_optional_and_none_there(void **state)
{
    (void)state;
    struct metrics_profile p = profile();
    p.counters[0].optional = true;
    struct metrics m = metrics_read(&p, STR(G S), 0);
    assert_int_equal(m.counter.state, METRICS_ABSENT);
    m = metrics_read(&p, STR("b 2\n" G S), 0);
    assert_true(m.counter.state == K && m.counter.milli == 2000);
}

/* Where Prometheus would fail the scrape, nothing of it counts. */
static const struct { const char *text; enum metrics_state state; uint32_t line; } REFUSED[] = {
    {"a 1\n" G S "b", METRICS_CUT, 4},
    {"a 1\n" G "start 5", METRICS_CUT, 3},
    {"a 1\n" G S "# EOF", METRICS_CUT, 4},
    {"a 12", METRICS_CUT, 1},
    {"<html><body>404</body></html>\n", METRICS_MALFORMED, 1},
    {"{\"server_load\":0}\n", METRICS_MALFORMED, 1},
    {"a 1\n" G S "b\n", METRICS_MALFORMED, 4},
    {"a\n" G S, METRICS_MALFORMED, 1},
    {"a=1\n" G S, METRICS_MALFORMED, 1},
    {"a one\n" G S, METRICS_MALFORMED, 1},
    {"a 1 2 3\n" G S, METRICS_MALFORMED, 1},
    {"a 1 soon\n" G S, METRICS_MALFORMED, 1},
    {"1a 1\n" G S, METRICS_MALFORMED, 1},
    {"a{ 1\n" G S, METRICS_MALFORMED, 1},
    {"a{x} 1\n" G S, METRICS_MALFORMED, 1},
    {"a{x=1} 1\n" G S, METRICS_MALFORMED, 1},
    {"a{x=\"1} 1\n" G S, METRICS_MALFORMED, 1},
    {"a{x=\"\\t\"} 1\n" G S, METRICS_MALFORMED, 1},
    {"a{x=\"1\\", METRICS_CUT, 1},
    {"a{x=\"1\\\n" G S, METRICS_MALFORMED, 1},
    {"a{x=\"1\" y=\"2\"} 1\n" G S, METRICS_MALFORMED, 1},
    {"a{x=\"1\",,} 1\n" G S, METRICS_MALFORMED, 1},
    {"a{x=\"1\"}\n" G S, METRICS_MALFORMED, 1},
    {"other NaN?\na 1\n" G S, METRICS_MALFORMED, 1},
};

static void refused_whole(void **state)
{
    (void)state;
    struct metrics_profile p = profile();
    for (size_t i = 0; i < ARRAY_LEN(REFUSED); i++) {
        struct metrics m = metrics_read(&p, str_of(REFUSED[i].text), 77);
        enum metrics_state want = REFUSED[i].state;
        if (m.counter.state != want || m.gauge.state != want || m.start.state != want ||
            m.line != REFUSED[i].line) {
            fail_msg("%s: %d %d %d line %u", REFUSED[i].text, (int)m.counter.state,
                     (int)m.gauge.state, (int)m.start.state, m.line);
        }
        assert_int_equal(metrics_busy(&m), FACT_UNKNOWN);
        assert_true(metrics_sample(&m, READING(1), 9).failed);
    }
    struct metrics empty = metrics_read(&p, (struct str){0}, 77);
    assert_int_equal(empty.counter.state, METRICS_ABSENT);
    assert_int_equal(empty.gauge.state, METRICS_ABSENT);
    AUTO_FREE char *big = mem_alloc(METRICS_ANSWER_MAX + 1);
    memset(big, '\n', METRICS_ANSWER_MAX + 1);
    struct metrics m = metrics_read(&p, str_n(big, METRICS_ANSWER_MAX + 1), 77);
    assert_int_equal(m.counter.state, METRICS_TOO_LONG);
    m = metrics_read(&p, str_n(big, METRICS_ANSWER_MAX), 77);
    assert_int_equal(m.counter.state, METRICS_ABSENT);
}

/* An engine with six digits: a million may be a million and three. */
static void rounded_counters_do_not_count(void **state)
{
    (void)state;
    static const struct { uint32_t digits; const char *text; enum metrics_state state; } rows[] = {
        {6, "a 999999\n" G S, K},
        {6, "a 1e+06\n" G S, METRICS_ROUNDED},
        {6, "a 1.00301e+06\n" G S, METRICS_ROUNDED},
        {7, "a 1.00301e+06\n" G S, K},
        {16, "a 1e+06\n" G S, K},
        {1, "a 9\n" G S, K},
        {1, "a 10\n" G S, METRICS_ROUNDED},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct metrics_profile p = profile();
        p.digits = rows[i].digits;
        struct metrics m = metrics_read(&p, str_of(rows[i].text), 0);
        if (m.counter.state != rows[i].state) fail_msg("row %zu: %d", i, (int)m.counter.state);
        assert_int_equal(m.gauge.state, K);
    }
}

static void who_tells_one_process_from_the_next(void **state)
{
    (void)state;
    static const struct { enum metrics_identity by; const char *text; int64_t node_ms;
                          struct metrics_value start; } rows[] = {
        {METRICS_BY_METRIC, "a 1\n" G S, 77, {K, 5000}},
        {METRICS_BY_METRIC, "a 1\n" G, 77, {METRICS_ABSENT, 0}},
        {METRICS_BY_METRIC, "a 1\n" G "start NaN\n", 77, {METRICS_NAN, 0}},
        {METRICS_BY_EITHER, "a 1\n" G S, 77, {K, 5000}},
        {METRICS_BY_EITHER, "a 1\n" G, 77, {K, 77}},
        {METRICS_BY_EITHER, "a 1\n" G, 0, {METRICS_ABSENT, 0}},
        {METRICS_BY_EITHER, "a 1\n" G "start -1\n", 77, {METRICS_NEGATIVE, 0}},
        {METRICS_BY_PROCESS, "a 1\n" G S, 77, {K, 77}},
        {METRICS_BY_PROCESS, "a 1\n" G S, 0, {METRICS_ABSENT, 0}},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct metrics_profile p = profile();
        p.identity = rows[i].by;
        struct metrics m = metrics_read(&p, str_of(rows[i].text), rows[i].node_ms);
        if (m.start.state != rows[i].start.state || m.start.milli != rows[i].start.milli) {
            fail_msg("row %zu: %d %lld", i, (int)m.start.state, (long long)m.start.milli);
        }
    }
}

static void what_the_clock_takes(void **state)
{
    (void)state;
    static const struct reading unknown, bytes = {true, 6};
    struct metrics_profile p = profile();
    struct metrics m = metrics_read(&p, STR("a 1\n" G S), 0);
    struct quiet_sample s = metrics_sample(&m, bytes, 42);
    assert_false(s.failed);
    assert_int_equal(s.at_ms, 42);
    assert_true(s.counter.known && s.counter.v == 1000);
    assert_true(s.gauge.known && s.gauge.v == 0);
    assert_true(s.start.known && s.start.v == 5000);
    m = metrics_read(&p, STR("b 1\ng{kind=\"run\"} -2\n"), 0);
    s = metrics_sample(&m, bytes, 43); /* bytes do not stand in for a counter that is missing */
    assert_false(s.counter.known || s.gauge.known || s.start.known);
    struct metrics nothing = {0};
    assert_true(metrics_sample(&nothing, bytes, 1).failed);
    assert_int_equal(metrics_busy(&nothing), FACT_UNKNOWN);
    assert_true(metrics_promises(&p, false).counter && metrics_promises(&p, false).gauge);

    p.n_counters = 0;
    assert_true(!metrics_promises(&p, false).counter && metrics_promises(&p, false).gauge);
    assert_true(metrics_promises(&p, true).counter);
    m = metrics_read(&p, STR(G S), 0);
    assert_int_equal(m.counter.state, METRICS_UNNAMED);
    s = metrics_sample(&m, bytes, 44);
    assert_true(s.counter.known && s.counter.v == 6);
    assert_false(metrics_sample(&m, unknown, 44).counter.known);

    p = (struct metrics_profile){.format = METRICS_NONE};
    assert_true(metrics_promises(&p, true).counter && !metrics_promises(&p, true).gauge);
    assert_false(metrics_promises(&p, false).counter);
    m = metrics_unasked(78);
    s = metrics_sample(&m, bytes, 45);
    assert_true(!s.failed && s.counter.v == 6 && s.start.v == 78 && !s.gauge.known);
    assert_int_equal(metrics_busy(&m), FACT_NO);
    assert_false(metrics_sample(&(struct metrics){.start = {K, 1}}, bytes, 46).counter.known);
}

/* ---- laws ---- */

static const char *const NOISE[] = {
    "# HELP a of a\n", "\n", "other{kind=\"run\"} 9\n", "a_bucket{le=\"+Inf\"} 3\n", "bb -4e-2\n",
    "g{kind=\"\"} 5\n", "g{kind=\"running\"} 5\n", "g{kind=\"ru\"} 5\n", "g NaN\n",
};

/* Series in any order and with any labels give the sum that was put in; whatever is cut off in
 * the middle of a line gives nothing at all. */
static void sums_of_random_answers(void **state)
{
    (void)state;
    struct metrics_profile p = profile();
    struct rng rng = {4711};
    for (int round = 0; round < 3000; round++) {
        AUTO_STRBUF struct strbuf text;
        strbuf_init(&text, 1 << 16);
        int64_t sum = 0, gauges = 0;
        bool a = false, g = false;
        for (uint64_t n = rng_below(&rng, 12); n > 0; n--) {
            int64_t milli = (int64_t)(rng_next(&rng) >> (20 + rng_below(&rng, 44)));
            const char *form = rng_below(&rng, 2) ? "%s{%sz=\"}\",w=\"%u\"} %llu.%03llu\n"
                                                  : "%s{w=\"\\\"\",%sv=\"%u\",} %llu.%03llue0 17\n";
            uint64_t kind = rng_below(&rng, 4);
            const char *name = kind == 0 ? "a" : kind == 1 ? "b" : kind == 2 ? "g" : NULL;
            if (!name) {
                strbuf_puts(&text, NOISE[rng_below(&rng, ARRAY_LEN(NOISE))]);
                continue;
            }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            strbuf_fmt(&text, form, name, kind == 2 ? "kind=\"run\"," : "", (unsigned)n,
                       (unsigned long long)milli / 1000, (unsigned long long)milli % 1000);
#pragma GCC diagnostic pop
            if (kind < 2) sum += milli;
            else gauges += milli;
            a = a || kind == 0;
            g = g || kind == 2;
        }
        struct metrics m = metrics_read(&p, strbuf_str(&text), 0);
        assert_int_equal(m.counter.state, a ? K : METRICS_ABSENT);
        assert_int_equal(m.counter.milli, a ? sum : 0);
        assert_int_equal(m.gauge.state, g ? K : METRICS_ABSENT);
        assert_int_equal(m.gauge.milli, g ? gauges : 0);
        assert_int_equal(m.start.state, METRICS_ABSENT);
        if (text.n < 2) continue;
        size_t cut = 1 + rng_below(&rng, text.n - 1);
        m = metrics_read(&p, str_n(text.p, cut), 0);
        if (text.p[cut - 1] != '\n') assert_int_equal(m.counter.state, METRICS_CUT);
    }
}

static void a_text_for_every_state(void **state)
{
    (void)state;
    for (enum metrics_state s = METRICS_UNREAD; s < METRICS_STATES; s++) {
        assert_true(strlen(metrics_state_text(s)) > 3);
        for (enum metrics_state t = METRICS_UNREAD; t < s; t++) {
            assert_string_not_equal(metrics_state_text(s), metrics_state_text(t));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(notations_agree),
        cmocka_unit_test(answers),
        cmocka_unit_test(all_optional_and_none_there),
        cmocka_unit_test(refused_whole),
        cmocka_unit_test(rounded_counters_do_not_count),
        cmocka_unit_test(who_tells_one_process_from_the_next),
        cmocka_unit_test(what_the_clock_takes),
        cmocka_unit_test(sums_of_random_answers),
        cmocka_unit_test(a_text_for_every_state),
    };
    return RUN(tests);
}
