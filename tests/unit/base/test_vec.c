/* Dense arrays: what the macros promise, and that they cannot wrap around. */
#include "test.h"

#include "base/vec.h"

static void adds_and_removes(void **state)
{
    (void)state;
    VEC(int) v = {0};
    for (int i = 0; i < 1000; i++) VEC_PUSH(&v, i);
    assert_int_equal(v.n, 1000);
    assert_true(v.cap >= 1000 && v.cap < 2100);
    int sum = 0;
    VEC_EACH(item, &v) sum += *item;
    assert_int_equal(sum, 499500);
    VEC_REMOVE(&v, 0);
    VEC_REMOVE(&v, 998);
    VEC_REMOVE(&v, 500);
    assert_int_equal(v.v[0], 1);
    assert_int_equal(v.v[499], 500);
    assert_int_equal(v.v[500], 502);
    assert_int_equal(v.v[v.n - 1], 998);
    assert_int_equal(VEC_POP(&v), 998);
    VEC_INSERT(&v, 0, -1);
    VEC_INSERT(&v, v.n, -2);
    VEC_INSERT(&v, 2, -3);
    assert_int_equal(v.v[0], -1);
    assert_int_equal(v.v[1], 1);
    assert_int_equal(v.v[2], -3);
    assert_int_equal(v.v[v.n - 1], -2);
    VEC_CLEAR(&v);
    VEC_EACH(item, &v) fail();
    VEC_DONE(&v);
    assert_true(v.v == NULL && v.n == 0 && v.cap == 0);
}

static void added_items_are_zero(void **state)
{
    (void)state;
    struct pair { uint64_t a, b; };
    VEC(struct pair) v = {0};
    for (int i = 0; i < 100; i++) {
        VEC_ADD(&v)->a = UINT64_MAX;
        v.v[v.n - 1].b = UINT64_MAX;
    }
    VEC_CLEAR(&v); /* the memory is used again */
    for (int i = 0; i < 100; i++) {
        assert_true(VEC_ADD(&v)->b == 0);
        assert_true(v.v[i].a == 0);
    }
    VEC_DONE(&v);
}

static void remove_beyond(void)
{
    VEC(int) v = {0};
    VEC_PUSH(&v, 1);
    VEC_REMOVE(&v, 1);
}

static void insert_beyond(void)
{
    VEC(int) v = {0};
    VEC_INSERT(&v, 1, 7);
}

static void too_many(void)
{
    VEC(char) v = {0};
    VEC_RESERVE(&v, (UINT32_C(1) << 31) + 1);
}

static void bounds(void **state)
{
    (void)state;
    assert_true(test_aborts(remove_beyond, NULL, 0));
    assert_true(test_aborts(insert_beyond, NULL, 0));
    assert_true(test_aborts(too_many, NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_and_removes),
        cmocka_unit_test(added_items_are_zero),
        cmocka_unit_test(bounds),
    };
    return RUN(tests);
}
