/* One Xid, told by two. */
#include "test.h"

#include "probe/twice.h"

static struct probe_event event(const char *pci, uint32_t xid, int64_t at_ms)
{
    struct probe_event e = {.xid = xid, .at_ms = at_ms};
    TEXT_CLIP(e.pci, str_of(pci));
    return e;
}

/* a, b: 1 library, 2 log.  Every pair of sources, distances, devices and numbers. */
static void every_pair(void **state)
{
    (void)state;
    static const int64_t apart[] = {-6000, -5000, -1, 0, 1, 5000, 5001};
    for (int a = 1; a <= 2; a++) for (int b = 1; b <= 2; b++)
    for (int same_device = 0; same_device < 2; same_device++)
    for (int same_xid = 0; same_xid < 2; same_xid++)
    for (size_t i = 0; i < ARRAY_LEN(apart); i++) {
        struct twice t = {0};
        struct probe_event x = event("0000:01:00.0", 79, 100000);
        struct probe_event y = event(same_device ? "0000:01:00.0" : "0000:02:00.0",
                                     same_xid ? 79 : 48, 100000 + apart[i]);
        bool near = apart[i] >= -TWICE_MS && apart[i] <= TWICE_MS;
        assert_false(twice_told(&t, (enum twice_source)a, &x));
        assert_int_equal(twice_told(&t, (enum twice_source)b, &y),
                         a != b && same_device && same_xid && near);
    }
}

static void two_are_two(void **state)
{
    (void)state;
    struct twice t = {0};
    struct probe_event e = event("0000:01:00.0", 31, 5);
    assert_false(twice_told(&t, TWICE_KMSG, &e));
    assert_false(twice_told(&t, TWICE_KMSG, &e));
    assert_true(twice_told(&t, TWICE_NVML, &e));
    assert_true(twice_told(&t, TWICE_NVML, &e));
    assert_false(twice_told(&t, TWICE_NVML, &e)); /* a third */
}

static void a_number_the_library_does_not_know(void **state)
{
    (void)state;
    struct twice t = {0};
    struct probe_event log = event("0000:01:00.0", 171, 5), lib = event("0000:01:00.0", 999, 6);
    assert_false(twice_told(&t, TWICE_KMSG, &log));
    assert_true(twice_told(&t, TWICE_NVML, &lib));
    t = (struct twice){0};
    assert_false(twice_told(&t, TWICE_NVML, &lib)); /* not known yet to be the same */
    assert_false(twice_told(&t, TWICE_KMSG, &log));
}

static void names(void **state)
{
    (void)state;
    struct probe_event e = event("0000:01:00.0", 1, 1);
    assert_true(twice_same_device("", "0000:01:00.0", &e));
    assert_false(twice_same_device("", "", &e));
    assert_false(twice_same_device("GPU-a", "", &e));
    TEXT_CLIP(e.uuid, STR("GPU-a"));
    assert_true(twice_same_device("GPU-a", "", &e));
    assert_false(twice_same_device("GPU-a", "0000:02:00.0", &e));
}

static void many(void **state)
{
    (void)state;
    struct twice t = {0};
    for (int64_t i = 0; i < 1000; i++) {
        struct probe_event e = event("0000:01:00.0", (uint32_t)(i % 100 + 1), i);
        assert_false(twice_told(&t, TWICE_KMSG, &e));
        assert_true(t.n <= TWICE_MAX);
        if (i % 3 == 0) assert_true(twice_told(&t, TWICE_NVML, &e));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair), cmocka_unit_test(two_are_two),
        cmocka_unit_test(a_number_the_library_does_not_know), cmocka_unit_test(names),
        cmocka_unit_test(many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
