/* A node's own guard: what fits beside the living. */
#include "harness.h"

#include "core/nodeplan/claim.h"

static const struct {
    const char *name;
    struct claim held, wanted;
    bool fits;
} CASES[] = { /* of 4,000 milli, 100 bytes, devices 0 and 1 */
    {"all of an empty node", {0, 0, 0}, {4000, 100, 3}, true},
    {"one milli too much", {0, 0, 0}, {4001, 1, 0}, false},
    {"one byte too much", {0, 0, 0}, {1, 101, 0}, false},
    {"no such device", {0, 0, 0}, {1, 1, 4}, false},
    {"just beside", {1000, 40, 1}, {3000, 60, 2}, true},
    {"cpu is held", {1001, 0, 0}, {3000, 1, 0}, false},
    {"memory is held", {0, 41, 0}, {1, 60, 0}, false},
    {"the device is held", {0, 0, 1}, {1, 1, 1}, false},
    {"nothing wanted of an overfull node", {9000, 0, 0}, {0, 0, 0}, false},
    {"a negative wish", {0, 0, 0}, {-1, 1, 0}, false},
    {"a sum that overflows", {4000, 1, 0}, {INT64_MAX, 1, 0}, false},
};

static void beside_the_living(void **state)
{
    (void)state;
    struct claim capacity = {4000, 100, 3};
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        bool got = claim_fits(&CASES[i].held, &CASES[i].wanted, &capacity);
        if (got != CASES[i].fits) fail_msg("%s", CASES[i].name);
    }
}

static void sums_saturate(void **state)
{
    (void)state;
    struct claim held = {INT64_MAX - 1, 5, 1}, one = {7, 5, 4};
    claim_add(&held, &one);
    assert_true(held.cpu_milli == INT64_MAX);
    assert_int_equal(held.mem_bytes, 10);
    assert_int_equal(held.devices, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beside_the_living),
        cmocka_unit_test(sums_saturate),
    };
    return RUN(tests);
}
