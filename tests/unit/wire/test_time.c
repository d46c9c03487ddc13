/* Instants: known ones, ends of ranges, and a calendar against the C library's. */
#include <stdlib.h>
#include <time.h>

#include "test.h"

static void known_instants(void **state)
{
    (void)state;
    static const struct { const char *text; int64_t ms; const char *printed; } rows[] = {
        {"1970-01-01T00:00:00.001Z", 1, NULL},
        {"2026-12-01T08:46:54.123Z", 1796114814123, NULL},
        {"2000-02-29T23:59:59.999Z", 951868799999, NULL},
        {"9999-12-31T23:59:59.999Z", 253402300799999, NULL},
        {"2026-12-01T08:46:54Z", 1796114814000, "2026-12-01T08:46:54.000Z"},
        {"2026-12-01T08:46:54.5Z", 1796114814500, "2026-12-01T08:46:54.500Z"},
        {"2026-12-01T08:46:54.123456789Z", 1796114814123, "2026-12-01T08:46:54.123Z"},
        {"2026-12-01T10:46:54.123+02:00", 1796114814123, "2026-12-01T08:46:54.123Z"},
        {"2026-12-01T03:16:54.123-05:30", 1796114814123, "2026-12-01T08:46:54.123Z"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t ms = 0;
        char text[WIRE_TIME_TEXT];
        if (!wire_time_parse(str_of(rows[i].text), &ms)) fail_msg("%s", rows[i].text);
        assert_int_equal(ms, rows[i].ms);
        wire_time_format(ms, text);
        assert_string_equal(text, rows[i].printed ? rows[i].printed : rows[i].text);
    }
}

/* A machine somewhere else writes and reads the same. */
static void clk7_no_local_time(void **state)
{
    static const char *const zones[] = {"Asia/Seoul", "America/St_Johns", "XST-14"};
    for (size_t i = 0; i < ARRAY_LEN(zones); i++) {
        assert_int_equal(setenv("TZ", zones[i], 1), 0);
        tzset();
        known_instants(state);
    }
    assert_int_equal(unsetenv("TZ"), 0);
    tzset();
}

static void refused(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "", "2026", "2026-12-01", "2026-12-01T08:46:54", "2026-12-01 08:46:54Z",
        "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-12-00T00:00:00Z",
        "2026-12-01T24:00:00Z", "2026-12-01T00:60:00Z", "2026-12-01T00:00:60Z",
        "1969-12-31T23:59:59Z", "2026-12-01T00:00:00.Z", "2026-12-01T00:00:00+24:00",
        "2026-12-01T00:00:00+0200", "2026-12-01T00:00:00ZZ", "+026-12-01T00:00:00Z",
        "2026-12-01T00:00:00z ", "1970-01-01T00:00:00+01:00",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t ms = 55;
        if (wire_time_parse(str_of(rows[i]), &ms)) fail_msg("accepted: %s", rows[i]);
        assert_int_equal(ms, 55);
    }
    char text[WIRE_TIME_TEXT];
    static const int64_t outside[] = {0, -1, INT64_MIN, INT64_MAX, 253402300800000};
    for (size_t i = 0; i < ARRAY_LEN(outside); i++) {
        wire_time_format(outside[i], text);
        assert_string_equal(text, "");
    }
}

static void the_calendar_agrees_with_libc(void **state)
{
    (void)state;
    struct rng rng = {9};
    for (int i = 0; i < 20000; i++) {
        int64_t ms = 1 + (int64_t)rng_below(&rng, 253402300799999), back = 0;
        if (i % 2) ms %= INT64_C(4102444800000); /* half of them before 2100 */
        if (ms == 0) continue;
        char ours[WIRE_TIME_TEXT], theirs[WIRE_TIME_TEXT];
        struct tm tm;
        time_t s = (time_t)(ms / 1000);
        assert_non_null(gmtime_r(&s, &tm));
        size_t n = strftime(theirs, sizeof(theirs), "%Y-%m-%dT%H:%M:%S", &tm);
        text_fmt(theirs + n, sizeof(theirs) - n, ".%03dZ", (int)(ms % 1000));
        wire_time_format(ms, ours);
        assert_string_equal(ours, theirs);
        assert_true(wire_time_parse(str_of(ours), &back));
        assert_int_equal(back, ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_instants), cmocka_unit_test(clk7_no_local_time),
        cmocka_unit_test(refused),
        cmocka_unit_test(the_calendar_agrees_with_libc),
    };
    return RUN(tests);
}
