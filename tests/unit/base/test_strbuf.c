/* Growing text: the cap holds, nothing is cut in half, JSON strings are valid. */
#include "test.h"

#include "base/rng.h"
#include "base/strbuf.h"

static void grows(void **state)
{
    (void)state;
    struct strbuf b;
    strbuf_init(&b, 100000);
    assert_string_equal(b.p, "");
    for (int i = 0; i < 10000; i++) {
        strbuf_putc(&b, (char)('a' + i % 26));
        assert_int_equal(b.p[b.n], 0);
    }
    for (int i = 0; i < 10000; i++) assert_int_equal(b.p[i], 'a' + i % 26);
    assert_false(b.full);
    strbuf_reset(&b);
    assert_string_equal(b.p, "");
    strbuf_put(&b, str_n(NULL, 0));
    assert_int_equal(b.n, 0);
    strbuf_done(&b);
    strbuf_done(&b);
}

/* Every way to append, against every cap around its own length. */
static void caps(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "abcdef", "x", "18446744073709551615", "-9223372036854775808", "7 and seven",
        "\"a\\n\\u0001\"",
    };
    for (uint32_t way = 0; way < ARRAY_LEN(expected); way++) {
        size_t len = strlen(expected[way]);
        for (size_t max = 0; max < len + 2; max++) {
            struct strbuf b;
            strbuf_init(&b, max);
            switch (way) {
            case 0: strbuf_puts(&b, "abcdef"); break;
            case 1: strbuf_putc(&b, 'x'); break;
            case 2: strbuf_u64(&b, UINT64_MAX); break;
            case 3: strbuf_i64(&b, INT64_MIN); break;
            case 4: strbuf_fmt(&b, "%d and %s", 7, "seven"); break;
            default: strbuf_json(&b, STR("a\n\x01"));
            }
            bool fits = max >= len;
            assert_int_equal(b.full, !fits);
            assert_string_equal(b.p, fits ? expected[way] : "");
            strbuf_puts(&b, ""); /* nothing more */
            strbuf_putc(&b, '!');
            assert_int_equal(b.full, max < len + 1);
            assert_int_equal(b.n, fits ? (max > len ? len + 1 : len) : 0);
            strbuf_done(&b);
        }
    }
}

static void full_for_good(void **state)
{
    (void)state;
    struct strbuf b;
    strbuf_init(&b, 5);
    strbuf_puts(&b, "1234");
    strbuf_puts(&b, "too long");
    strbuf_putc(&b, '5'); /* would fit, but what came before is missing */
    strbuf_fmt(&b, "%s", "");
    assert_string_equal(b.p, "1234");
    assert_true(b.full);
    strbuf_reset(&b);
    strbuf_puts(&b, "12345");
    assert_false(b.full);
    assert_string_equal(b.p, "12345");
    strbuf_done(&b);
}

static void numbers(void **state)
{
    (void)state;
    static const struct { int64_t v; const char *text; } rows[] = {
        {0, "0"}, {7, "7"}, {10, "10"}, {-1, "-1"}, {INT64_MAX, "9223372036854775807"},
        {INT64_MIN, "-9223372036854775808"},
    };
    struct strbuf b;
    strbuf_init(&b, 1000);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        strbuf_reset(&b);
        strbuf_i64(&b, rows[i].v);
        assert_string_equal(b.p, rows[i].text);
    }
    strbuf_done(&b);
}

static void formats_longer_than_the_room(void **state)
{
    (void)state;
    char *text = mem_alloc(5001);
    memset(text, 'y', 5000);
    struct strbuf b;
    strbuf_init(&b, 5010);
    strbuf_puts(&b, "head ");
    strbuf_fmt(&b, "%s %d", text, 42);
    assert_int_equal(b.n, 5008);
    assert_string_equal(b.p + 5004, "y 42");
    strbuf_fmt(&b, "%s", text);
    assert_true(b.full);
    assert_int_equal(b.n, 5008);
    assert_string_equal(b.p + 5004, "y 42");
    strbuf_done(&b);
    mem_free(text);
}

static void json(void **state)
{
    (void)state;
    static const struct { const char *p; size_t n; const char *json; } rows[] = {
        {"", 0, "\"\""}, {"a c!", 4, "\"a c!\""}, {"a\"b\\c/", 6, "\"a\\\"b\\\\c/\""},
        {"\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\""}, {"\x01\x1f\x7f", 3, "\"\\u0001\\u001f\x7f\""},
        {"\0", 1, "\"\\u0000\""}, {"é😀", 6, "\"é😀\""}, {"a\xff", 2, "\"a\xef\xbf\xbd\""},
        {"\xc3", 1, "\"\xef\xbf\xbd\""}, {"\xe2\x82", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xed\xa0\x80x", 4, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx\""},
    };
    struct strbuf b;
    strbuf_init(&b, 1000);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        strbuf_reset(&b);
        strbuf_json(&b, str_n(rows[i].p, rows[i].n));
        assert_string_equal(b.p, rows[i].json);
    }
    strbuf_done(&b);
}

/* Whatever goes in, a valid UTF-8 text without bare control characters comes out. */
static void json_of_anything(void **state)
{
    (void)state;
    struct rng r = {5};
    struct strbuf b;
    strbuf_init(&b, 10000);
    for (int i = 0; i < 20000; i++) {
        char p[24];
        size_t n = rng_below(&r, sizeof(p));
        for (size_t k = 0; k < n; k++) p[k] = (char)rng_next(&r);
        strbuf_reset(&b);
        strbuf_json(&b, str_n(p, n));
        assert_true(str_is_utf8(strbuf_str(&b)));
        for (size_t k = 0; k < b.n; k++) assert_true((unsigned char)b.p[k] >= 0x20);
        assert_true(b.n >= 2 && b.p[0] == '"' && b.p[b.n - 1] == '"');
    }
    strbuf_done(&b);
}

static void drops_and_hands_over(void **state)
{
    (void)state;
    struct strbuf b;
    strbuf_init(&b, 1000);
    strbuf_puts(&b, "0123456789");
    strbuf_drop(&b, 3);
    assert_string_equal(b.p, "3456789");
    strbuf_drop(&b, 0);
    strbuf_drop(&b, 7);
    assert_string_equal(b.p, "");
    strbuf_puts(&b, "mine");
    char *mine = strbuf_steal(&b), *none = strbuf_steal(&b);
    assert_string_equal(mine, "mine");
    assert_string_equal(none, "");
    mem_free(mine);
    mem_free(none);
    assert_int_equal(strbuf_str(&b).n, 0);
    strbuf_puts(&b, "again");
    assert_string_equal(b.p, "again");
    strbuf_done(&b);
}

static void drop_too_much(void)
{
    struct strbuf b;
    strbuf_init(&b, 10);
    strbuf_drop(&b, 1);
}

static void dropping_more_than_there_is(void **state)
{
    (void)state;
    assert_true(test_aborts(drop_too_much, NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows),             cmocka_unit_test(caps),
        cmocka_unit_test(full_for_good),     cmocka_unit_test(numbers),
        cmocka_unit_test(json),              cmocka_unit_test(formats_longer_than_the_room),
        cmocka_unit_test(json_of_anything),  cmocka_unit_test(drops_and_hands_over),
        cmocka_unit_test(dropping_more_than_there_is),
    };
    return RUN(tests);
}
