/* Memory: zeroed, never NULL, and the process ends when there is none. */
#include "test.h"

static void zeroed(void **state)
{
    (void)state;
    for (size_t n = 0; n < 3000; n += 97) {
        unsigned char *p = n % 2 ? mem_alloc(n) : mem_array(n, 1);
        assert_non_null(p);
        for (size_t i = 0; i < n; i++) assert_int_equal(p[i], 0);
        memset(p, 0xaa, n);
        mem_free(p);
    }
    mem_free(NULL);
}

static void resized(void **state)
{
    (void)state;
    uint32_t *v = mem_resize(NULL, 2, sizeof(*v));
    v[0] = 1;
    v[1] = 2;
    v = mem_resize(v, 1000, sizeof(*v));
    v[999] = 3;
    assert_int_equal(v[0] + v[1], 3);
    v = mem_resize(v, 0, sizeof(*v));
    assert_non_null(v);
    mem_free(v);
}

static void copied(void **state)
{
    (void)state;
    AUTO_FREE char *a = mem_strndup("hello", 4), *b = mem_strndup(NULL, 0);
    assert_string_equal(a, "hell");
    assert_string_equal(b, "");
}

static void stolen(void **state)
{
    (void)state;
    AUTO_FREE char *mine = mem_strndup("x", 1);
    char *yours = STEAL(mine);
    assert_null(mine);
    assert_string_equal(yours, "x");
    mem_free(yours);
}

static void secret(void **state)
{
    (void)state;
    char key[] = "secret";
    mem_zero_secret(key, sizeof(key));
    for (size_t i = 0; i < sizeof(key); i++) assert_int_equal(key[i], 0);
    mem_zero_secret(NULL, 0);
}

static void array_overflow(void) { mem_array(SIZE_MAX / 2, 3); }

static void resize_overflow(void) { mem_resize(NULL, SIZE_MAX, 2); }

static void too_much(void) { mem_alloc((size_t)PTRDIFF_MAX + 1); }

static void overflow_is_a_bug(void **state)
{
    (void)state;
    assert_true(test_aborts(array_overflow, NULL, 0));
    assert_true(test_aborts(resize_overflow, NULL, 0));
    assert_true(test_aborts(too_much, NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeroed), cmocka_unit_test(resized), cmocka_unit_test(copied),
        cmocka_unit_test(stolen), cmocka_unit_test(secret),
        cmocka_unit_test(overflow_is_a_bug),
    };
    return RUN(tests);
}
