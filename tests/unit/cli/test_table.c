/* Tables: columns as wide as their content, cut only where it is allowed. */
#include "test.h"

#include "cli/table.h"

static const struct table_column columns[] = {
    {"ID", 0}, {"NAME", COL_FLEX}, {"NUMBER", COL_RIGHT}, {"MORE", COL_WIDE},
    {"WHY", COL_FLEX}, {NULL, 0},
};

static void fill(struct table *t)
{
    table_init(t, columns);
    table_put(t, STR("s1"));
    table_put(t, STR("a-long-name-of-a-session"));
    table_putf(t, "%d", 7);
    table_put(t, STR("hidden"));
    table_put(t, STR("needs 2 more CPU on n1 (4 asked, 2 free)"));
    table_put(t, STR("s200"));
    table_put(t, STR(""));
    table_putf(t, "%d", 1234567);
    table_put(t, STR(""));
    table_put(t, STR("x"));
}

static void print(uint32_t width, bool wide, bool color, const char *expected)
{
    struct table t;
    fill(&t);
    struct strbuf out;
    strbuf_init(&out, 65536);
    table_print(&t, width, wide, color, &out);
    assert_string_equal(out.p, expected);
    strbuf_done(&out);
    table_done(&t);
}

static void whole_without_a_width(void **state)
{
    (void)state;
    print(0, false, false,
          "ID    NAME                       NUMBER  WHY\n"
          "s1    a-long-name-of-a-session        7  needs 2 more CPU on n1 (4 asked, 2 free)\n"
          "s200  -                         1234567  x\n");
}

static void wide_shows_all_columns(void **state)
{
    (void)state;
    print(0, true, false,
          "ID    NAME                       NUMBER  MORE    WHY\n"
          "s1    a-long-name-of-a-session        7  hidden  "
          "needs 2 more CPU on n1 (4 asked, 2 free)\n"
          "s200  -                         1234567  -       x\n");
}

/* The law of fitting: no line is wider than asked, and what may not be cut stands whole. */
static void fits_every_width(void **state)
{
    (void)state;
    for (uint32_t width = 36; width <= 120; width++) {
        struct table t;
        fill(&t);
        struct strbuf out;
        strbuf_init(&out, 65536);
        table_print(&t, width, false, false, &out);
        struct str rest = strbuf_str(&out), line;
        while (str_cut(&rest, '\n', &line)) ROW_TRUE("line", term_columns(line) <= width);
        assert_non_null(strstr(out.p, "1234567"));
        assert_non_null(strstr(out.p, "s200"));
        strbuf_done(&out);
        table_done(&t);
    }
}

static void narrower_than_possible_keeps_a_stump(void **state)
{
    (void)state;
    struct table t;
    fill(&t);
    struct strbuf out;
    strbuf_init(&out, 65536);
    table_print(&t, 10, false, false, &out);
    assert_non_null(strstr(out.p, "a-long.."));
    strbuf_done(&out);
    table_done(&t);
}

static void color_only_where_asked(void **state)
{
    (void)state;
    static const struct table_column one[] = {{"S", 0}, {"T", 0}, {NULL, 0}};
    struct table t;
    struct strbuf out;
    for (int color = 0; color <= 1; color++) {
        table_init(&t, one);
        table_put_color(&t, STR("run"), TERM_GREEN);
        table_put(&t, STR("x"));
        strbuf_init(&out, 65536);
        table_print(&t, 0, false, color, &out);
        assert_int_equal(strchr(out.p, 27) != NULL, color);
        if (color) assert_non_null(strstr(out.p, "\033[32mrun\033[0m  x\n"));
        strbuf_done(&out);
        table_done(&t);
    }
}

static void hostile_text_is_tamed(void **state)
{
    (void)state;
    static const struct { const char *text, *shown; } rows[] = {
        {"plain", "plain"}, {"a\033[2Jb", "a?[2Jb"}, {"tab\there", "tab?here"},
        {"line\nbreak", "line?break"}, {"\x7f", "?"}, {"\xc2\x9b", "?"},
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"}, {"bad\xff utf", "bad? utf"},
        {"cut\xc3", "cut?"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct strbuf b;
        strbuf_init(&b, 1024);
        term_safe(&b, str_of(rows[i].text));
        ROW_TRUE(rows[i].text, strcmp(b.p, rows[i].shown) == 0);
        strbuf_done(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_without_a_width),
        cmocka_unit_test(wide_shows_all_columns),
        cmocka_unit_test(fits_every_width),
        cmocka_unit_test(narrower_than_possible_keeps_a_stump),
        cmocka_unit_test(color_only_where_asked),
        cmocka_unit_test(hostile_text_is_tamed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
