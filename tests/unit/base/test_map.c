/* The maps against the simplest thing that could be right: an array. */
#include "test.h"

#include "base/map.h"
#include "base/rng.h"

#define KEYS 400

static void numbers(void **state)
{
    (void)state;
    struct map_u64 m = {0};
    uint32_t naive[KEYS], n = 0;
    struct rng r = {3};
    for (int i = 0; i < KEYS; i++) naive[i] = MAP_NONE;
    for (int i = 0; i < 60000; i++) {
        uint64_t key = rng_below(&r, KEYS);
        uint64_t spread = key * UINT64_C(0x100000000); /* low bits all alike */
        switch (rng_below(&r, 3)) {
        case 0: {
            uint32_t val = (uint32_t)rng_below(&r, MAP_NONE);
            n += naive[key] == MAP_NONE;
            naive[key] = val;
            map_u64_put(&m, spread, val);
            break;
        }
        case 1:
            assert_int_equal(map_u64_del(&m, spread), naive[key] != MAP_NONE);
            n -= naive[key] != MAP_NONE;
            naive[key] = MAP_NONE;
            break;
        default: assert_int_equal(map_u64_get(&m, spread), naive[key]);
        }
        assert_int_equal(m.n, n);
    }
    for (uint64_t key = 0; key < KEYS; key++) {
        assert_int_equal(map_u64_get(&m, key << 32), naive[key]);
    }
    map_u64_done(&m);
    assert_int_equal(m.cap, 0);
}

static void texts(void **state)
{
    (void)state;
    struct map_str m = {0};
    uint32_t naive[KEYS], n = 0;
    struct rng r = {4};
    for (int i = 0; i < KEYS; i++) naive[i] = MAP_NONE;
    for (int i = 0; i < 60000; i++) {
        uint32_t key = (uint32_t)rng_below(&r, KEYS);
        char text[64]; /* reused: the map must keep its own copy */
        int len = text_fmt(text, sizeof(text), "%.*s%u", (int)(key % 20), "a longer name in front",
                           key);
        struct str name = str_n(text, (size_t)len);
        switch (rng_below(&r, 3)) {
        case 0: {
            uint32_t val = (uint32_t)rng_below(&r, MAP_NONE);
            n += naive[key] == MAP_NONE;
            naive[key] = val;
            map_str_put(&m, name, val);
            break;
        }
        case 1:
            assert_int_equal(map_str_del(&m, name), naive[key] != MAP_NONE);
            n -= naive[key] != MAP_NONE;
            naive[key] = MAP_NONE;
            break;
        default: assert_int_equal(map_str_get(&m, name), naive[key]);
        }
        assert_int_equal(m.n, n);
    }
    map_str_done(&m);
    assert_null(m.e);
}

static void empty(void **state)
{
    (void)state;
    struct map_u64 m = {0};
    struct map_str t = {0};
    assert_int_equal(map_u64_get(&m, 0), MAP_NONE);
    assert_false(map_u64_del(&m, 0));
    assert_int_equal(map_str_get(&t, STR("")), MAP_NONE);
    assert_false(map_str_del(&t, STR("")));
    map_u64_put(&m, 0, 7);
    map_u64_put(&m, UINT64_MAX, 8);
    assert_int_equal(map_u64_get(&m, 0), 7);
    assert_int_equal(map_u64_get(&m, UINT64_MAX), 8);
    map_str_put(&t, str_n(NULL, 0), 9); /* the empty text is a key like any other */
    map_str_put(&t, str_n("a\0b", 3), 10);
    assert_int_equal(map_str_get(&t, STR("")), 9);
    assert_int_equal(map_str_get(&t, str_n("a\0b", 3)), 10);
    assert_int_equal(map_str_get(&t, STR("a")), MAP_NONE);
    map_u64_done(&m);
    map_str_done(&t);
    map_u64_done(&m); /* twice is fine */
    map_str_done(&t);
}

/* A table that is filled and emptied for ever stays as large as it was. */
static void breathes(void **state)
{
    (void)state;
    struct map_u64 m = {0};
    for (uint64_t i = 0; i < 100000; i++) {
        map_u64_put(&m, i, 1);
        if (i >= 10) assert_true(map_u64_del(&m, i - 10));
    }
    assert_int_equal(m.n, 10);
    assert_int_equal(m.cap, 16);
    map_u64_done(&m);
}

static void put_none(void)
{
    struct map_u64 m = {0};
    map_u64_put(&m, 1, MAP_NONE);
}

static void put_none_text(void)
{
    struct map_str m = {0};
    map_str_put(&m, STR("a"), MAP_NONE);
}

static void none_is_no_value(void **state)
{
    (void)state;
    assert_true(test_aborts(put_none, NULL, 0));
    assert_true(test_aborts(put_none_text, NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),  cmocka_unit_test(texts),
        cmocka_unit_test(empty),    cmocka_unit_test(breathes),
        cmocka_unit_test(none_is_no_value),
    };
    return RUN(tests);
}
