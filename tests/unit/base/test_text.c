/* Fixed text arrays: all or nothing, or clipped between characters. */
#include "test.h"

static void set_or_untouched(void **state)
{
    (void)state;
    char a[6] = "old";
    assert_true(TEXT_SET(a, STR("12345")));
    assert_string_equal(a, "12345");
    assert_false(TEXT_SET(a, STR("123456")));
    assert_false(TEXT_SET(a, str_n("a\0b", 3)));
    assert_string_equal(a, "12345");
    assert_true(TEXT_SET(a, str_n(NULL, 0)));
    assert_string_equal(a, "");
    assert_false(text_set(a, 0, STR("")));
}

static void clips(void **state)
{
    (void)state;
    static const struct { const char *s; size_t cap; const char *text; } rows[] = {
        {"abc", 4, "abc"}, {"abc", 3, "ab"}, {"abc", 1, ""}, {"aé", 4, "aé"}, {"aé", 3, "a"},
        {"€€", 7, "€€"}, {"€€", 6, "€"}, {"€€", 5, "€"}, {"€€", 4, "€"}, {"€", 3, ""},
        {"\xe0\xa0\x80", 3, ""}, {"\xc2\x80", 2, ""}, {"x😀", 5, "x"}, {"x😀", 6, "x😀"},
        {"😀", 4, ""}, {"\xf0\x90\x80\x80", 4, ""},
        {"a\xff\xff\xff\xff\xff", 5, "a\xff\xff"}, /* looks like a beginning: goes */
        {"\x80\x80\x80\x80\x80", 4, "\x80\x80\x80"},  /* is no text: stays */
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char dst[16], same[16];
        text_clip(dst, rows[i].cap, str_of(rows[i].s));
        ROW_TRUE(rows[i].s, strcmp(dst, rows[i].text) == 0);
        int n = text_fmt(same, rows[i].cap, "%s", rows[i].s);
        ROW_TRUE(rows[i].s, strcmp(dst, same) == 0 && (size_t)n == strlen(dst));
    }
}

/* All caps, over a text with characters of every length. */
static void clips_to_the_longest_that_fits(void **state)
{
    (void)state;
    static const char all[] = "aé€😀é😀€a";
    for (size_t cap = 1; cap <= sizeof(all); cap++) {
        char dst[sizeof(all)];
        text_clip(dst, cap, str_of(all));
        size_t n = strlen(dst);
        assert_true(str_is_utf8(str_of(dst)) && str_starts(str_of(all), str_of(dst)));
        struct str rest = str_n(all + n, sizeof(all) - 1 - n);
        assert_true(rest.n == 0 || n + str_utf8_len(rest) > cap - 1);
    }
}

static void stops_at_nul(void **state)
{
    (void)state;
    char dst[8];
    text_clip(dst, sizeof(dst), str_n("ab\0cd", 5));
    assert_string_equal(dst, "ab");
    text_clip(dst, sizeof(dst), str_n(NULL, 0));
    assert_string_equal(dst, "");
    char own[8] = "abcdef";
    TEXT_CLIP(own, str_of(own + 2)); /* may overlap */
    assert_string_equal(own, "cdef");
}

static void no_room(void) { text_clip(NULL, 0, STR("")); }

static void no_room_at_all(void **state)
{
    (void)state;
    assert_true(test_aborts(no_room, NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_or_untouched), cmocka_unit_test(clips),
        cmocka_unit_test(stops_at_nul),     cmocka_unit_test(clips_to_the_longest_that_fits),
        cmocka_unit_test(no_room_at_all),
    };
    return RUN(tests);
}
