/* What a rotor's log keeps: changes and counts, never a row per tick. */
#include "harness.h"

#include "base/rng.h"
#include "core/rotate/journal.h"

static struct journal_headline branch(int b)
{
    struct rotate_verdict v = {.branch = (enum rotate_branch)b};
    return journal_headline(&v, NULL);
}

static struct journal_headline check(int c)
{
    struct rotate_verdict v = {.branch = ROTATE_STAY_HANDOVER};
    struct gate_verdict g = {GATE_REFUSE, (enum gate_check)c, UINT32_C(1) << c};
    return journal_headline(&v, &g);
}

static void test_headline(void **state)
{
    (void)state;
    for (int b = 0; b < ROTATE_BRANCHES; b++) {
        assert_string_equal(journal_name(branch(b)), rotate_branch_name((enum rotate_branch)b));
        assert_string_equal(journal_text(branch(b)), rotate_branch_text((enum rotate_branch)b));
    }
    for (int c = 1; c < GATE_CHECKS; c++) {
        assert_string_equal(journal_name(check(c)), gate_check_name((enum gate_check)c));
        assert_string_equal(journal_text(check(c)), gate_check_text((enum gate_check)c));
    }
    for (int a = 0; a < GATE_ANSWERS; a++) { /* only a refusal has a check */
        struct rotate_verdict v = {.branch = ROTATE_STAY_HANDOVER};
        struct gate_verdict g = {.answer = (enum gate_answer)a, .headline = GATE_QUEUED};
        assert_int_equal(journal_headline(&v, &g).check, a == GATE_REFUSE ? GATE_QUEUED : 0);
    }
}

/* A day of ticks with three reasons gives as many rows as there are changes. */
static void test_no_row_per_tick(void **state)
{
    (void)state;
    struct journal j = {.repeats = 0};
    int rows = 0;
    for (int64_t t = 0; t < 17280; t++) {
        struct journal_headline h = t < 5000 ? branch(2) : t < 9000 ? check(7) : branch(6);
        rows += journal_note(&j, h, 1000 + t * 5000);
    }
    assert_int_equal(rows, 3);
    assert_string_equal(journal_name(j.now), "not_idle");
    assert_int_equal(j.since_ms, 1000 + 9000 * 5000);
    assert_int_equal(j.repeats, 17280 - 9000);
    assert_int_equal(j.counted_ms, 1000);
    struct journal_sum s = journal_refusals(&j);
    assert_int_equal(s.refused, 17280);
    assert_int_equal(s.most_times, 8280);
    assert_string_equal(journal_name(s.most), "not_idle");
}

/* The gate's reasons are apart from the loop's, also where they share a name. */
static void test_same_name_is_not_the_same(void **state)
{
    (void)state;
    struct journal j = {.repeats = 0};
    assert_true(journal_note(&j, branch(4), 1));
    assert_true(journal_note(&j, check(1), 2));
    assert_false(journal_note(&j, check(1), 3));
    assert_true(journal_note(&j, branch(4), 4));
    assert_int_equal(j.by_branch[4], 2);
    assert_int_equal(j.by_check[1], 2);
}

static void test_restart_keeps_the_headline(void **state)
{
    (void)state;
    struct journal j = {.repeats = 0};
    for (int t = 1; t <= 10; t++) (void)journal_note(&j, check(6), t);
    journal_restart(&j, 10);
    assert_int_equal(journal_refusals(&j).refused, 0);
    assert_int_equal(j.counted_ms, 10);
    assert_int_equal(j.since_ms, 1);
    assert_int_equal(j.repeats, 10);
    assert_false(journal_note(&j, check(6), 11));
    assert_int_equal(journal_refusals(&j).refused, 1);
    assert_int_equal(journal_refusals(&j).most.check, GATE_QUEUED);
}

static void test_earlier_reason_of_two(void **state)
{
    (void)state;
    struct journal j = {.repeats = 0};
    for (int t = 0; t < 8; t++) (void)journal_note(&j, t % 2 ? branch(2) : check(1), t);
    assert_int_equal(journal_refusals(&j).most_times, 4);
    assert_string_equal(journal_name(journal_refusals(&j).most), "in_flight");
}

/* Against the whole list of ticks: rows are its changes, refusals all that stayed; a move, a
 * record and a drain are none. */
static void test_against_the_whole_list(void **state)
{
    (void)state;
    struct rng r = {5};
    for (int round = 0; round < 500; round++) {
        struct journal j = {.repeats = 0};
        uint64_t refused = 0, changes = 0, most = 0;
        struct journal_headline last = {.branch = ROTATE_NONE};
        for (int t = 0; t < 100; t++) {
            bool gate = rng_below(&r, 2) == 0;
            int n = (int)rng_below(&r, gate ? GATE_CHECKS - 1 : ROTATE_BRANCHES);
            struct journal_headline h = gate ? check(n + 1) : branch(n);
            bool differs = t == 0 || h.branch != last.branch || h.check != last.check;
            assert_int_equal(journal_note(&j, h, t), differs);
            changes += differs;
            refused += gate || (n != 0 && n != 3 && n != 8 && n != 9);
            last = h;
        }
        for (int c = 1; c < GATE_CHECKS; c++) most = j.by_check[c] > most ? j.by_check[c] : most;
        for (int b = 1; b < 8; b++) {
            if (b != 3 && j.by_branch[b] > most) most = j.by_branch[b];
        }
        assert_true(changes > 10);
        assert_int_equal(journal_refusals(&j).refused, refused);
        assert_int_equal(journal_refusals(&j).most_times, most);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headline),
        cmocka_unit_test(test_no_row_per_tick),
        cmocka_unit_test(test_same_name_is_not_the_same),
        cmocka_unit_test(test_restart_keeps_the_headline),
        cmocka_unit_test(test_earlier_reason_of_two),
        cmocka_unit_test(test_against_the_whole_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
