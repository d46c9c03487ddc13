/* Rows of comma separated text: quotes, missing cells, ends of lines. */
#include "test.h"

#include "sim/csv.h"

static const struct {
    const char *name, *text;
    const char *cells; /* of all rows, of three cells each, as [a][b][c] */
} CASES[] = {
    {"nothing", "", ""},
    {"three", "a,b,c\n", "[a][b][c]"},
    {"no end of line", "a,b,c", "[a][b][c]"},
    {"missing cells are empty", "a\n", "[a][][]"},
    {"cells past the most are dropped", "a,b,c,d\ne,f,g\n", "[a][b][c][e][f][g]"},
    {"empty cells", ",,\n", "[][][]"},
    {"an empty line is a row", "\na\n", "[][][][a][][]"},
    {"carriage returns", "a,b,c\r\nd,e,f\r\n", "[a][b][c][d][e][f]"},
    {"quotes hide commas", "a,\"b, c\",d\n", "[a][b, c][d]"},
    {"quotes hide ends of lines", "\"a\nb\",c,d\n", "[a\nb][c][d]"},
    {"doubled quotes stay", "\"a\"\"b\",c,d\n", "[a\"\"b][c][d]"},
    {"quotes at the end", "a,b,\"c\"\r\n", "[a][b][c]"},
    {"a quote that does not end", "a,\"b\nc", "[a][\"b\nc][]"},
    {"a comma at the end", "a,b,", "[a][b][]"},
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_N(CASES); i++) {
        struct str rest = str_of(CASES[i].text), cells[3];
        struct strbuf b;
        strbuf_init(&b, 4096);
        while (csv_row(&rest, cells, 3)) {
            for (int c = 0; c < 3; c++) {
                strbuf_putc(&b, '[');
                strbuf_put(&b, cells[c]);
                strbuf_putc(&b, ']');
            }
        }
        if (!str_eq(strbuf_str(&b), str_of(CASES[i].cells))) {
            fail_msg("row \"%s\": %s", CASES[i].name, b.n ? b.p : "");
        }
        strbuf_done(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
