/* Errors are filled once, prefixed on the way up, and never look like success. */
#include "test.h"

#include <errno.h>

#include "base/err.h"

static void filled_once(void **state)
{
    (void)state;
    struct err err = {.field = "left over"};
    assert_int_equal(err_set(&err, ERR_LIMIT, "at most %d, got %s", 3, "four"), ERR_LIMIT);
    assert_int_equal(err.code, ERR_LIMIT);
    assert_string_equal(err.text, "at most 3, got four");
    assert_string_equal(err.field, "");
    assert_int_equal(err_sys(&err, ERR_IO, ENOENT, "opening %s", "/x"), ERR_IO);
    assert_string_equal(err.text, "opening /x: No such file or directory");
}

static void prefixed(void **state)
{
    (void)state;
    struct err err;
    err_set(&err, ERR_CORRUPT, "bad row");
    assert_int_equal(err_prefix(&err, "table %s", "turn"), ERR_CORRUPT);
    assert_int_equal(err_prefix(&err, "store"), ERR_CORRUPT);
    assert_string_equal(err.text, "store: table turn: bad row");
    err_set(&err, ERR_INVALID, "%s!", err.text); /* the arguments may be its own */
    assert_string_equal(err.text, "store: table turn: bad row!");
}

static void fields_nest(void **state)
{
    (void)state;
    struct err err;
    err_set(&err, ERR_INVALID, "expected a number");
    err_field(&err, "cpu");
    err_field(&err, "slots");
    assert_string_equal(err.field, "slots.cpu");
    for (int i = 0; i < 30; i++) err_field(&err, "outer");
    assert_int_equal(strlen(err.field), sizeof(err.field) - 1);
    assert_true(str_starts(str_of(err.field), STR("outer.outer.")));
}

static void nobody_asked(void **state)
{
    (void)state;
    assert_int_equal(err_set(NULL, ERR_DENIED, "x"), ERR_DENIED);
    assert_int_equal(err_sys(NULL, ERR_TIMEOUT, EIO, "x"), ERR_TIMEOUT);
    assert_int_equal(err_prefix(NULL, "x"), ERR_IO);
    err_field(NULL, "x");
    struct err untouched = {0};
    assert_int_equal(err_prefix(&untouched, "x"), ERR_IO); /* not 0 */
}

static void clipped_between_characters(void **state)
{
    (void)state;
    char many[600];
    for (size_t i = 0; i + 1 < sizeof(many); i++) many[i] = i % 2 ? '\xa9' : '\xc3'; /* é */
    many[sizeof(many) - 1] = '\0';
    struct err err;
    err_set(&err, ERR_INVALID, "%s", many);
    assert_int_equal(strlen(err.text), 254); /* 255 would end in half an é */
    assert_true(str_is_utf8(str_of(err.text)));
    for (int i = 0; i < 3; i++) {
        err_prefix(&err, "%s", "a");
        assert_true(str_is_utf8(str_of(err.text)));
        assert_in_range(strlen(err.text), 254, 255);
    }
    err_sys(&err, ERR_IO, EIO, "%s", many);
    assert_true(str_is_utf8(str_of(err.text)));
}

static void names(void **state)
{
    (void)state;
    static const struct { int code; const char *name; } rows[] = {
        {0, "ok"}, {ERR_INVALID, "invalid"}, {ERR_NOT_FOUND, "not_found"},
        {ERR_CONFLICT, "conflict"}, {ERR_LIMIT, "limit"}, {ERR_DENIED, "denied"}, {ERR_IO, "io"},
        {ERR_UNKNOWN, "unknown"}, {ERR_UNAVAILABLE, "unavailable"}, {ERR_TIMEOUT, "timeout"},
        {ERR_CORRUPT, "corrupt"}, {ERR_UNSUPPORTED, "unsupported"}, {-12, "unrecognised"},
        {1, "unrecognised"}, {INT32_MIN, "unrecognised"}, {INT32_MAX, "unrecognised"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_string_equal(err_code_name(rows[i].code), rows[i].name);
    }
}

static void success(void) { err_set(NULL, 0, "no error has code 0"); }

static void zero_is_no_error(void **state)
{
    (void)state;
    assert_true(test_aborts(success, NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filled_once),    cmocka_unit_test(prefixed),
        cmocka_unit_test(fields_nest),    cmocka_unit_test(nobody_asked),
        cmocka_unit_test(names),          cmocka_unit_test(clipped_between_characters),
        cmocka_unit_test(zero_is_no_error),
    };
    return RUN(tests);
}
