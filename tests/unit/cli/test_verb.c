/* Verbs: each one is documented, and a mistyped one is understood. */
#include "test.h"

#include "cli/verb.h"

static void nearest_word(void **state)
{
    (void)state;
    static const char *const known[] = {"run", "ps", "show", "why", "queue", "logs", "stop", NULL};
    static const struct { const char *word, *near; } rows[] = {
        {"rnu", "run"}, {"runn", "run"}, {"log", "logs"}, {"lgos", "logs"}, {"quue", "queue"},
        {"sotp", "stop"}, {"shwo", "show"}, {"wh", "why"}, {"pss", "ps"}, {"kubernetes", NULL},
        {"", NULL}, {"xyz", NULL},
        {"averyveryveryverylongwordindeedthatnobodytypes", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *near = verb_nearest(rows[i].word, known);
        ROW_TRUE(rows[i].word, (near == NULL) == (rows[i].near == NULL));
        if (near && rows[i].near) assert_string_equal(near, rows[i].near);
    }
}

static void verbs_are_complete(void **state)
{
    (void)state;
    for (const struct verb *v = verb_table; v->name; v++) {
        assert_non_null(v->run);
        ROW_TRUE(v->name, strlen(v->summary) > 5);
        for (const struct verb *other = v + 1; other->name; other++)
            ROW_TRUE(v->name, strcmp(v->name, other->name) != 0);
    }
}

static void lists_are_json(void **state)
{
    (void)state;
    struct strbuf b;
    struct version_view v = {.version = "1", .protocol = 1, .cluster = "c", .incarnation = "i"};
    strbuf_init(&b, 4096);
    verb_list_item(&b, &wire_version_view, &v);
    verb_list_item(&b, &wire_version_view, &v);
    assert_int_equal(b.p[0], '[');
    assert_non_null(strstr(b.p, "},{"));
    strbuf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_word),
        cmocka_unit_test(verbs_are_complete),
        cmocka_unit_test(lists_are_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
