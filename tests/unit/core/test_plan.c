/* The node's plan: every wish against every phase. */
#include "harness.h"

/* Phase as column: absent none preparing ready starting running stopping exited failed.
 * c create, g go, s signal, t stop, x clean, . nothing. */
#define COLUMNS 9
static const struct row {
    const char *name;
    enum want_act act;
    bool fresh;
    const char *steps;
} TABLE[] = {
    {"not wanted", 0, false, ".xxxxxxxx"},
    {"hold", WANT_HOLD, true, "c........"},
    {"hold, was there once", WANT_HOLD, false, "........."},
    {"run", WANT_RUN, true, "c..g.s..."},
    {"run, was there once", WANT_RUN, false, "...g.s..."},
    {"stop", WANT_STOP, true, ".tttttt.."},
    {"stop, was there once", WANT_STOP, false, ".tttttt.."},
};
static const char LETTERS[] = {[PLAN_CREATE] = 'c', [PLAN_GO] = 'g', [PLAN_SIGNAL] = 's',
                               [PLAN_STOP] = 't', [PLAN_CLEAN] = 'x'};

static char plan_one(const struct row *row, int column, bool orphan, uint32_t signal_done)
{
    struct member_ref ref = {.session = 5, .attempt = 2, .member = 1};
    struct member_want want = {.ref = ref, .act = row->act, .fresh = row->fresh,
                               .signal_no = 3, .signal = 15, .grace_ms = 700};
    struct member_report have = {.ref = ref, .phase = (enum member_phase)(column - 1),
                                 .orphan = orphan, .signal_done = signal_done};
    struct plan plan = {0};
    plan_node(&want, row->act != 0, &have, column > 0, &plan);
    char got = '.';
    assert_true(plan.steps.n <= 1);
    if (plan.steps.n == 1) {
        const struct plan_step *s = &plan.steps.v[0];
        got = LETTERS[s->act];
        assert_int_equal(member_ref_cmp(s->ref, ref), 0);
        assert_int_equal(s->signal_no, s->act == PLAN_SIGNAL ? 3 : 0);
        assert_int_equal(s->signal, s->act == PLAN_SIGNAL ? 15 : 0);
        assert_int_equal(s->grace_ms, s->act == PLAN_STOP ? 700 : 0);
    }
    plan_done(&plan);
    return got;
}

static void every_wish_and_phase(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(TABLE); i++) {
        for (int column = 0; column < COLUMNS; column++) {
            char wanted = TABLE[i].steps[column];
            if (plan_one(&TABLE[i], column, false, 2) != wanted) {
                fail_msg("%s, column %d", TABLE[i].name, column);
            }
            /* A signal is carried out once. */
            if (wanted == 's') assert_int_equal(plan_one(&TABLE[i], column, false, 3), '.');
            /* Nobody but a person touches an orphan. */
            if (column > 0) assert_int_equal(plan_one(&TABLE[i], column, true, 2), '.');
        }
    }
}

static void freeing_comes_first(void **state)
{
    (void)state;
    struct member_want want[] = {{.ref = {1, 1, 0}, .act = WANT_RUN, .fresh = true},
                                 {.ref = {2, 1, 0}, .act = WANT_STOP},
                                 {.ref = {3, 1, 0}, .act = WANT_RUN}};
    struct member_report have[] = {{.ref = {2, 1, 0}, .phase = MEMBER_RUNNING},
                                   {.ref = {3, 1, 0}, .phase = MEMBER_READY},
                                   {.ref = {9, 1, 0}, .phase = MEMBER_RUNNING}};
    static const struct { enum plan_act act; uint64_t session; } expected[] = {
        {PLAN_STOP, 2}, {PLAN_CLEAN, 9}, {PLAN_CREATE, 1}, {PLAN_GO, 3}};
    struct plan plan = {0};
    plan_node(want, 3, have, 3, &plan);
    assert_int_equal(plan.steps.n, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(plan.steps.v[i].act, expected[i].act);
        assert_int_equal(plan.steps.v[i].ref.session, expected[i].session);
    }
    plan_done(&plan);
}

/* AGT2: an empty list of wishes is not "nothing to do", and 150 are all seen. */
static void agt2_an_empty_list_counts(void **state)
{
    (void)state;
    static struct member_report have[150];
    static struct member_want want[150];
    struct plan plan = {0};
    for (uint32_t i = 0; i < 150; i++) {
        have[i] = (struct member_report){.ref = {i + 1, 1, 0}, .phase = MEMBER_RUNNING};
        want[i] = (struct member_want){.ref = have[i].ref, .act = WANT_RUN};
    }
    plan_node(NULL, 0, have, 150, &plan);
    assert_int_equal(plan.steps.n, 150);
    VEC_EACH(s, &plan.steps) assert_int_equal(s->act, PLAN_CLEAN);
    plan_node(want, 150, have, 150, &plan);
    assert_int_equal(plan.steps.n, 0);
    plan_node(NULL, 0, NULL, 0, &plan);
    assert_int_equal(plan.steps.n, 0);
    plan_done(&plan);
}

/* An attempt is another member altogether: the old one goes, the new one comes. */
static void attempts_are_apart(void **state)
{
    (void)state;
    struct member_want want = {.ref = {1, 2, 0}, .act = WANT_RUN, .fresh = true};
    struct member_report have = {.ref = {1, 1, 0}, .phase = MEMBER_RUNNING};
    struct plan plan = {0};
    plan_node(&want, 1, &have, 1, &plan);
    assert_int_equal(plan.steps.n, 2);
    assert_int_equal(plan.steps.v[0].act, PLAN_CLEAN);
    assert_int_equal(plan.steps.v[1].act, PLAN_CREATE);
    plan_done(&plan);
}

static void refs_are_ordered(void **state)
{
    (void)state;
    struct member_ref refs[27];
    for (uint32_t i = 0; i < 27; i++) {
        refs[i] = (struct member_ref){.session = i / 9, .attempt = i / 3 % 3, .member = i % 3};
    }
    for (int a = 0; a < 27; a++) {
        for (int b = 0; b < 27; b++) {
            assert_int_equal(member_ref_cmp(refs[a], refs[b]), (a > b) - (a < b));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_wish_and_phase), cmocka_unit_test(freeing_comes_first),
        cmocka_unit_test(agt2_an_empty_list_counts), cmocka_unit_test(attempts_are_apart),
        cmocka_unit_test(refs_are_ordered),
    };
    return RUN(tests);
}
