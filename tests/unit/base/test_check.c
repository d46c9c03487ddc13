/* A broken invariant says where, in one line, and ends the process. */
#include "test.h"

#include "base/check.h"

static void broken(void) { CHECK(1 + 1 == 3); }

static void unreachable(void) { UNREACHABLE(); }

static void long_name(void)
{
    static char what[2000];
    memset(what, 'x', sizeof(what) - 1);
    check_fail("f.c", 7, what);
}

static void says_where(void **state)
{
    (void)state;
    char said[1024];
    assert_true(test_aborts(broken, said, sizeof(said)));
    assert_non_null(strstr(said, "test_check.c:6: check failed: 1 + 1 == 3\n"));
    assert_true(test_aborts(unreachable, said, sizeof(said)));
    assert_non_null(strstr(said, "unreachable\n"));
}

static void clips_to_one_line(void **state)
{
    (void)state;
    char said[1024];
    assert_true(test_aborts(long_name, said, sizeof(said)));
    assert_true(str_starts(str_of(said), STR("f.c:7: check failed: xxx")));
    assert_int_equal(strlen(said), 512);
    assert_ptr_equal(strchr(said, '\n'), said + 511);
}

static void holds(void **state)
{
    (void)state;
    int evaluated = 0;
    CHECK(++evaluated == 1);
    assert_int_equal(evaluated, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_where),
        cmocka_unit_test(clips_to_one_line),
        cmocka_unit_test(holds),
    };
    return RUN(tests);
}
