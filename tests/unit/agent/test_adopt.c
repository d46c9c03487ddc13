/* tests/unit/agent/test_adopt.c - every combination of facts about a container that
 * has no known supervisor. */
#include "test.h"
#include "agent/adopt.h"

static void every_combination_has_its_verdict(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 128; bits++) {
        struct adopt_facts f = {.claim = bits & 1, .this_boot = bits & 2, .exit = bits & 4,
                                .locked = bits & 8, .silent = bits & 16, .went = bits & 32,
                                .spent = bits & 64};
        enum adopt_verdict v = adopt_decide(&f);
        /* the laws, each on its own, in words other than the table's */
        assert_in_range(v, ADOPT_REMOVE, ADOPT_RESUME);
        if (v == ADOPT_REMOVE) assert_false(f.claim); /* only what was never begun goes unasked */
        if (!f.claim) assert_int_equal(v, ADOPT_REMOVE);
        if (f.claim && f.exit) assert_int_equal(v, ADOPT_ENDED); /* a record is never overruled */
        if (v == ADOPT_AGAIN) assert_true(!f.went && !f.exit && !f.locked && f.this_boot);
        if (f.claim && f.went) assert_int_not_equal(v, ADOPT_AGAIN); /* never run twice */
        if (v == ADOPT_CONNECT) assert_true(f.locked && !f.silent);
        if (v == ADOPT_KILL) assert_true((f.locked && f.silent) || (!f.locked && f.spent));
        if (v == ADOPT_RESUME) assert_true(!f.locked && f.went && !f.spent && f.this_boot);
        if (f.claim && !f.exit && !f.this_boot) assert_int_equal(v, ADOPT_REBOOTED);
    }
}

static void rows_of_the_crash_table(void **state)
{
    static const struct {
        const char *name;
        struct adopt_facts f;
        enum adopt_verdict want;
    } cases[] = {
        {"directory alone", {0}, ADOPT_REMOVE},
        {"being born", {.claim = true, .this_boot = true, .locked = true}, ADOPT_CONNECT},
        {"runs", {.claim = true, .this_boot = true, .locked = true, .went = true}, ADOPT_CONNECT},
        {"hangs", {.claim = true, .this_boot = true, .locked = true, .silent = true}, ADOPT_KILL},
        {"claimed only", {.claim = true, .this_boot = true}, ADOPT_AGAIN},
        {"orphaned job", {.claim = true, .this_boot = true, .went = true}, ADOPT_RESUME},
        {"beyond help",
         {.claim = true, .this_boot = true, .went = true, .spent = true},
         ADOPT_KILL},
        {"ended", {.claim = true, .this_boot = true, .exit = true, .went = true}, ADOPT_ENDED},
        {"ended before a restart", {.claim = true, .exit = true, .went = true}, ADOPT_ENDED},
        {"machine restarted", {.claim = true, .went = true}, ADOPT_REBOOTED},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (adopt_decide(&cases[i].f) != cases[i].want)
            fail_msg("%s: verdict %d", cases[i].name, adopt_decide(&cases[i].f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination_has_its_verdict),
        cmocka_unit_test(rows_of_the_crash_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
