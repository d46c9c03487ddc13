/* tests/unit/manager/test_doc_cache.c */
#include "harness.h"
#include "manager/doc_cache.h"

static bool holds(struct doc_cache *c, uint64_t id, const char *text)
{
    struct str got = doc_cache_get(c, id);
    return text ? str_eq(got, str_of(text)) : got.p == NULL;
}

static void test_the_least_used_leaves_first(void **state)
{
    (void)state;
    struct doc_cache c;
    doc_cache_init(&c, 9);
    doc_cache_put(&c, 1, STR("aaa"));
    doc_cache_put(&c, 2, STR("bbb"));
    doc_cache_put(&c, 3, STR("ccc"));
    assert_true(holds(&c, 1, "aaa")); /* used: 2 is the oldest now */
    doc_cache_put(&c, 4, STR("dd"));
    assert_true(holds(&c, 2, NULL));
    assert_true(holds(&c, 1, "aaa"));
    assert_true(holds(&c, 3, "ccc"));
    assert_true(holds(&c, 4, "dd"));
    doc_cache_done(&c);
}

static void test_bounds_and_replacement(void **state)
{
    (void)state;
    struct doc_cache c;
    doc_cache_init(&c, 8);
    doc_cache_put(&c, 1, STR("123456789"));
    assert_true(holds(&c, 1, NULL)); /* larger than all */
    doc_cache_put(&c, 1, STR("12345678"));
    doc_cache_put(&c, 1, STR("x"));
    assert_true(holds(&c, 1, "x"));
    assert_int_equal(c.bytes, 1);
    doc_cache_clear(&c);
    assert_true(holds(&c, 1, NULL));
    doc_cache_put(&c, 2, STR("y"));
    assert_true(holds(&c, 2, "y"));
    doc_cache_done(&c);
}

/* Against a plain array: what is found is what was put last, and bytes never pass the bound. */
static void test_random_use_against_an_array(void **state)
{
    (void)state;
    struct doc_cache c;
    char last[16][8] = {{0}};
    uint64_t seed = 7;
    doc_cache_init(&c, 40);
    for (int i = 0; i < 20000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint32_t id = (uint32_t)(seed >> 33) % 16;
        if (seed >> 62 == 0) {
            struct str got = doc_cache_get(&c, id);
            if (got.p) assert_true(str_eq(got, str_of(last[id])));
        } else {
            text_fmt(last[id], sizeof(last[id]), "%u", (unsigned)(seed >> 40) % 1000000);
            doc_cache_put(&c, id, str_of(last[id]));
            assert_true(holds(&c, id, last[id]));
        }
        assert_true(c.bytes <= 40);
    }
    doc_cache_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_least_used_leaves_first),
        cmocka_unit_test(test_bounds_and_replacement),
        cmocka_unit_test(test_random_use_against_an_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
