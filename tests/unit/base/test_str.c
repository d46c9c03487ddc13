/* Slices of text.  UTF-8 is checked against a decoder written the other way
 * round, over every sequence of up to three bytes and the edges of four. */
#include "test.h"

static void compares(void **state)
{
    (void)state;
    static const struct { const char *a, *b; int plain, natural; } rows[] = {
        {"", "", 0, 0}, {"", "a", -1, -1}, {"a", "b", -1, -1}, {"a", "ab", -1, -1},
        {"n2", "n10", 1, -1}, {"n02", "n2", -1, -1}, {"n2", "n02a", 1, -1}, {"n10", "n10", 0, 0},
        {"a1b2", "a1b10", 1, -1}, {"a01b3", "a1b2", -1, 1}, {"1", "a", -1, -1}, {"2", "10", 1, -1},
        {"gpu9-x", "gpu10-a", 1, -1}, {"0", "00", -1, -1}, {"00", "0a", -1, -1}, {"é", "z", 1, 1},
        {"18446744073709551616", "18446744073709551615", 1, 1},
        {"99999999999999999999999", "100000000000000000000000", 1, -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str a = str_of(rows[i].a), b = str_of(rows[i].b);
        ROW_TRUE(rows[i].a, str_cmp(a, b) == rows[i].plain);
        ROW_TRUE(rows[i].a, str_cmp(b, a) == -rows[i].plain);
        ROW_TRUE(rows[i].a, str_natural_cmp(a, b) == rows[i].natural);
        ROW_TRUE(rows[i].a, str_natural_cmp(b, a) == -rows[i].natural);
        ROW_TRUE(rows[i].a, str_eq(a, b) == (rows[i].plain == 0));
        ROW_TRUE(rows[i].a, str_eq_secret(a, b) == (rows[i].plain == 0));
    }
    assert_true(str_eq(str_n(NULL, 0), STR("")));
    assert_int_equal(str_cmp(str_n(NULL, 0), str_n(NULL, 0)), 0);
    assert_int_equal(str_cmp(str_n("a\0b", 3), str_n("a\0c", 3)), -1);
    assert_true(str_eq_nocase(STR("Content-Length"), STR("content-LENGTH")));
    assert_false(str_eq_nocase(STR("a"), STR("b")));
    assert_false(str_eq_nocase(STR("@"), STR("`"))); /* 32 apart, but no letters */
    assert_false(str_eq_nocase(STR("["), STR("{")));
    assert_false(str_eq_nocase(STR("a"), STR("ab")));
}

/* A total order: over all texts of up to four of "0", "1", "a" and "-". */
static void natural_order_is_total(void **state)
{
    (void)state;
    static char texts[341][5];
    size_t n = 0;
    for (uint32_t len = 0; len <= 4; len++) {
        for (uint32_t code = 0; code < 1u << (2 * len); code++, n++) {
            for (uint32_t i = 0; i < len; i++) texts[n][i] = "01a-"[code >> (2 * i) & 3];
        }
    }
    assert_int_equal(n, ARRAY_LEN(texts));
    static signed char order[341][341];
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b < n; b++) {
            order[a][b] = (signed char)str_natural_cmp(str_of(texts[a]), str_of(texts[b]));
            if ((order[a][b] == 0) != (a == b)) fail_msg("%s and %s", texts[a], texts[b]);
            if (b < a) assert_int_equal(order[a][b], -order[b][a]);
        }
    }
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b < n; b++) {
            if (order[a][b] >= 0) continue;
            for (size_t c = 0; c < n; c++) {
                if (order[b][c] < 0 && order[a][c] >= 0) {
                    fail_msg("%s < %s < %s", texts[a], texts[b], texts[c]);
                }
            }
        }
    }
}

static void ends_and_trims(void **state)
{
    (void)state;
    static const struct { const char *s, *part; bool starts, ends; } rows[] = {
        {"", "", true, true}, {"a", "", true, true}, {"", "a", false, false},
        {"abc", "ab", true, false}, {"abc", "bc", false, true}, {"abc", "abc", true, true},
        {"abc", "abcd", false, false}, {"abc", "b", false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ROW_TRUE(rows[i].s, str_starts(str_of(rows[i].s), str_of(rows[i].part)) == rows[i].starts);
        ROW_TRUE(rows[i].s, str_ends(str_of(rows[i].s), str_of(rows[i].part)) == rows[i].ends);
    }
    assert_true(str_ends(str_n(NULL, 0), str_n(NULL, 0)));
    static const struct { const char *s, *trimmed; } trims[] = {
        {"", ""}, {" ", ""}, {" \t ", ""}, {"a", "a"}, {" a b\t", "a b"}, {"\na ", "\na"},
    };
    for (size_t i = 0; i < ARRAY_LEN(trims); i++) {
        ROW_TRUE(trims[i].s, str_eq(str_trim(str_of(trims[i].s)), str_of(trims[i].trimmed)));
    }
    assert_int_equal(str_trim(str_n(NULL, 0)).n, 0);
}

static void cuts(void **state)
{
    (void)state;
    static const struct { const char *s; bool found; const char *head, *rest; } rows[] = {
        {"", false, "", ""}, {"abc", false, "abc", ""}, {"a:b:c", true, "a", "b:c"},
        {":b", true, "", "b"}, {"a:", true, "a", ""}, {":", true, "", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str s = str_of(rows[i].s), head = STR("before");
        ROW_TRUE(rows[i].s, str_cut(&s, ':', &head) == rows[i].found);
        ROW_TRUE(rows[i].s, str_eq(head, str_of(rows[i].head)));
        ROW_TRUE(rows[i].s, str_eq(s, str_of(rows[i].rest)));
    }
    struct str none = {NULL, 0}, head;
    assert_false(str_cut(&none, ':', &head));
    assert_int_equal(head.n, 0);
}

static void reads_numbers(void **state)
{
    (void)state;
    static const struct { const char *s; bool fine; uint64_t u; bool fine_i; int64_t i; } rows[] = {
        {"0", true, 0, true, 0}, {"007", true, 7, true, 7}, {"-0", false, 0, true, 0},
        {"18446744073709551615", true, UINT64_MAX, false, 0},
        {"18446744073709551616", false, 0, false, 0}, {"18446744073709551620", false, 0, false, 0},
        {"99999999999999999999", false, 0, false, 0}, {"184467440737095516150", false, 0, false, 0},
        {"9223372036854775807", true, INT64_MAX, true, INT64_MAX},
        {"9223372036854775808", true, UINT64_C(1) << 63, false, 0},
        {"-9223372036854775808", false, 0, true, INT64_MIN},
        {"-9223372036854775809", false, 0, false, 0}, {"-1", false, 0, true, -1},
        {"", false, 0, false, 0}, {"-", false, 0, false, 0}, {"+1", false, 0, false, 0},
        {"--1", false, 0, false, 0}, {" 1", false, 0, false, 0}, {"1 ", false, 0, false, 0},
        {"1a", false, 0, false, 0}, {"0x1", false, 0, false, 0}, {"1.0", false, 0, false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint64_t u = 77;
        int64_t v = 77;
        ROW_TRUE(rows[i].s, str_to_u64(str_of(rows[i].s), &u) == rows[i].fine);
        ROW_TRUE(rows[i].s, u == (rows[i].fine ? rows[i].u : 77));
        ROW_TRUE(rows[i].s, str_to_i64(str_of(rows[i].s), &v) == rows[i].fine_i);
        ROW_TRUE(rows[i].s, v == (rows[i].fine_i ? rows[i].i : 77));
    }
    uint64_t u = 0;
    assert_false(str_to_u64(str_n("1\0", 2), &u));
}

/* The length of the character at p, or 0: by arithmetic on its code point. */
static size_t reference_len(const unsigned char *p, size_t n)
{
    size_t len = 0;
    if (p[0] < 0x80) len = 1;
    if (p[0] >> 5 == 6) len = 2;
    if (p[0] >> 4 == 14) len = 3;
    if (p[0] >> 3 == 30) len = 4;
    if (len == 0 || len > n) return 0;
    uint32_t point = len == 1 ? p[0] : p[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if (p[i] >> 6 != 2) return 0;
        point = point << 6 | (p[i] & 0x3fu);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (point < least[len] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return 0;
    return len;
}

static void utf8_of_three_bytes(void **state)
{
    (void)state;
    for (uint32_t code = 0; code < 1u << 24; code++) {
        unsigned char p[3] = {(unsigned char)(code >> 16), (unsigned char)(code >> 8),
                              (unsigned char)code};
        if (p[0] < 0x80 && code & 0xffff) continue; /* ASCII: one byte decides */
        size_t len = str_utf8_len(str_n((char *)p, 3));
        if (len != reference_len(p, 3)) fail_msg("%06x: %zu", code, len);
        if (str_utf8_len(str_n((char *)p, 2)) != reference_len(p, 2)) fail_msg("%04x", code >> 8);
    }
}

static void utf8_of_four_bytes(void **state)
{
    (void)state;
    static const unsigned char edges[] = {0, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff};
    for (uint32_t first = 0; first < 256; first++) {
        for (size_t i = 0; i < 1000; i++) {
            unsigned char p[4] = {(unsigned char)first, edges[i / 100], edges[i / 10 % 10],
                                  edges[i % 10]};
            assert_int_equal(str_utf8_len(str_n((char *)p, 4)), reference_len(p, 4));
        }
    }
    assert_int_equal(str_utf8_len(str_n(NULL, 0)), 0);
}

static void utf8_texts(void **state)
{
    (void)state;
    static const struct { const char *name, *p; size_t n; bool fine; } rows[] = {
        {"empty", "", 0, true}, {"ascii", "abc\n\x7f", 5, true}, {"mixed", "aé€😀z", 11, true},
        {"NUL", "a\0b", 3, false}, {"cut off", "aé", 2, false}, {"latin", "a\xe9z", 3, false},
        {"overlong", "\xc0\xaf", 2, false}, {"surrogate", "\xed\xa0\x80", 3, false},
        {"too high", "\xf4\x90\x80\x80", 4, false}, {"highest", "\xf4\x8f\xbf\xbf", 4, true},
        {"stray", "\x80", 1, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ROW_TRUE(rows[i].name, str_is_utf8(str_n(rows[i].p, rows[i].n)) == rows[i].fine);
    }
}

static void names(void **state)
{
    (void)state;
    static const struct { const char *s; bool fine; } rows[] = {
        {"a", true}, {"0", true}, {"train-7b.v2_x", true}, {"a--b", true}, {"exactly8", true},
        {"az09zb", true}, {"z", true}, {"9", true},
        {"`", false}, {"{", false}, {"/", false}, {":", false},
        {"", false}, {"-a", false}, {"a-", false}, {".", false}, {"a.", false}, {"_a", false},
        {"A", false}, {"a b", false}, {"a/b", false}, {"é", false}, {"..", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ROW_TRUE(rows[i].s, str_is_name(str_of(rows[i].s), 20) == rows[i].fine);
    }
    assert_true(str_is_name(STR("exactly8"), 8));
    assert_false(str_is_name(STR("exactly8"), 7));
    assert_false(str_is_name(str_n("a\0b", 3), 8));
}

static void secrets(void **state)
{
    (void)state;
    char a[32], b[32];
    memset(a, 'k', sizeof(a));
    for (size_t i = 0; i < sizeof(a); i++) { /* any one bit, at any place */
        for (uint32_t bit = 0; bit < 8; bit++) {
            memcpy(b, a, sizeof(b));
            b[i] = (char)(b[i] ^ (1 << bit));
            assert_false(str_eq_secret(str_n(a, sizeof(a)), str_n(b, sizeof(b))));
        }
    }
    assert_true(str_eq_secret(str_n(a, sizeof(a)), str_n(a, sizeof(a))));
    assert_false(str_eq_secret(str_n(a, 32), str_n(a, 31)));
    assert_true(str_eq_secret(str_n(NULL, 0), STR("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compares),            cmocka_unit_test(natural_order_is_total),
        cmocka_unit_test(ends_and_trims),      cmocka_unit_test(cuts),
        cmocka_unit_test(reads_numbers),       cmocka_unit_test(utf8_of_three_bytes),
        cmocka_unit_test(utf8_of_four_bytes),  cmocka_unit_test(utf8_texts),
        cmocka_unit_test(names),               cmocka_unit_test(secrets),
    };
    return RUN(tests);
}
