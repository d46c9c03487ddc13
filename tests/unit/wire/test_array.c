/* Ranges of tasks, and what a submission says about its turn. */
#include "test.h"

#include "wire/array.h"
#include "wire/objects.h"

static void ranges(void **state)
{
    (void)state;
    static const struct { const char *text; struct array_range range; } good[] = {
        {"0-99%10", {0, 100, 1, 10}},      {"0-99", {0, 100, 1, 0}},
        {"5-5", {5, 1, 1, 0}},             {"0-10:3", {0, 4, 3, 0}},
        {"1-9:4%2", {1, 3, 4, 2}},         {"0-2147483647:2147483647", {0, 2, INT32_MAX, 0}},
    };
    static const char *const bad[] = {
        "", "-", "5", "5-", "-5", "9-1", "0-1000", "a-b", "0-9:0", "0-9:", "0-9%0", "0-9%", "0-9%x",
        "0-9%1%2", "0-9:2:3", "0--9", "0-2147483648:2147483648", " 0-9", "0-9 ", "+0-9", "0-9-10",
    };
    struct array_range got;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_true(array_parse(str_of(good[i].text), &got));
        assert_memory_equal(&got, &good[i].range, sizeof(got));
    }
    struct array_range kept = {1, 2, 3, 4};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_false(array_parse(str_of(bad[i]), &kept));
        assert_int_equal(kept.limit, 4);
    }
}

static void dependencies(void **state)
{
    (void)state;
    struct str session;
    enum depend_on on;
    assert_true(wire_dependency_parse(STR("s17"), &session, &on));
    assert_int_equal(on, DEPEND_SUCCESS);
    assert_true(wire_dependency_parse(STR("train:end"), &session, &on));
    assert_true(str_eq(session, STR("train")));
    assert_int_equal(on, DEPEND_END);
    assert_true(wire_dependency_parse(STR("s1:failure"), &session, &on));
    assert_int_equal(on, DEPEND_FAILURE);
    assert_false(wire_dependency_parse(STR("s1:after"), &session, &on));
    assert_false(wire_dependency_parse(STR(":end"), &session, &on));
    assert_false(wire_dependency_parse(STR("s1:"), &session, &on));
}

static void a_submission_is_judged_whole(void **state)
{
    (void)state;
    static const struct { const char *json, *field; } bad[] = {
        {"{\"command\":[\"x\"],\"array\":\"9-1\"}", "array"},
        {"{\"command\":[\"x\"],\"start_at\":\"tomorrow\"}", "start_at"},
        {"{\"command\":[\"x\"],\"start_at\":\"2026-12-01T18:00:00Z\",\"start_in\":\"2h\"}",
         "start_at"},
        {"{\"command\":[\"x\"],\"after\":[\"s1:maybe\"]}", "after"},
        {"{\"command\":[\"x\"],\"kind\":\"service\",\"preemptible\":\"yes\"}", "preemptible"},
        {"{\"command\":[\"x\"],\"restart_max\":1001}", "restart_max"},
    };
    struct session_spec spec;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = {0};
        assert_int_equal(wire_parse_input(&wire_session_spec, str_of(bad[i].json), &spec, &err),
                         ERR_INVALID);
        assert_string_equal(err.field, bad[i].field);
    }
}

/* Batch sessions are preemptible unless they say no, others only if they say yes. */
static void who_is_preemptible(void **state)
{
    (void)state;
    static const struct { enum session_kind kind; enum choice choice; bool is; } cases[] = {
        {KIND_BATCH, CHOICE_DEFAULT, true},        {KIND_BATCH, CHOICE_NO, false},
        {KIND_INTERACTIVE, CHOICE_DEFAULT, false}, {KIND_INTERACTIVE, CHOICE_YES, true},
        {KIND_SERVICE, CHOICE_DEFAULT, false},     {KIND_SERVICE, CHOICE_NO, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct session_spec spec = {.kind = cases[i].kind, .preemptible = cases[i].choice,
                                    .n_roles = 1};
        struct session s;
        session_spec_shape(&spec, &s);
        assert_int_equal(s.preemptible, cases[i].is);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges),
        cmocka_unit_test(dependencies),
        cmocka_unit_test(a_submission_is_judged_whole),
        cmocka_unit_test(who_is_preemptible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
