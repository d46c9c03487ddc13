/* "Did you mean": the nearest word, or none that is near. */
#include "test.h"

#include "wire/nearest.h"

static void the_nearest_word(void **state)
{
    (void)state;
    static const char *const words[] = {"command", "containers", "cpu", "env", "gpu", "name",
                                        "priority", "workdir"};
    static const struct { const char *word, *best; } rows[] = {
        {"comand", "command"}, {"commnad", "command"}, {"cpus", "cpu"},    {"gpus", "gpu"},
        {"prority", "priority"}, {"nmae", "name"},     {"workDir", "workdir"}, {"Env", "env"},
        {"zzz", NULL},         {"x", NULL},            {"", NULL},         {"image", NULL},
        {"pneumonoultramicroscopicsilicovolcanoconiosis", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct nearest n = nearest_to(str_of(rows[i].word));
        for (size_t j = 0; j < ARRAY_LEN(words); j++) nearest_offer(&n, words[j]);
        const char *best = nearest_best(&n);
        bool same = best && rows[i].best ? strcmp(best, rows[i].best) == 0 : best == rows[i].best;
        if (!same) fail_msg("%s: %s", rows[i].word, best ? best : "(none)");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_nearest_word)};
    return RUN(tests);
}
