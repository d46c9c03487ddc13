/* tests/unit/manager/test_use.c - summaries of nodes: kept, forgotten, and never guessed. */
#include "harness.h"
#include "manager/use.h"

static const struct member_report three[] = {
    {.ref = {1, 1, 0}, .phase = MEMBER_RUNNING},
    {.ref = {2, 1, 0}, .phase = MEMBER_RUNNING},
    {.ref = {2, 1, 1}, .phase = MEMBER_RUNNING},
};

static void take(struct use_node *u, int64_t at_ms, uint64_t session, int64_t cpu_us,
                 uint32_t members)
{
    struct sync_request rq;
    wire_init(&wire_sync_request, &rq);
    rq.used_ms = 1000000 + at_ms; /* another clock than ours */
    if (session > 0) {
        struct use_row row = {.ref = {session, 1, 0}, .m = METER_NONE, .cpu_peak_milli = -1};
        row.m.cpu_us = cpu_us;
        row.m.mem_bytes = 4096;
        VEC_PUSH(&rq.used, row);
    }
    use_take(u, &rq, three, members, 5000 + at_ms);
    wire_free(&wire_sync_request, &rq);
}

static void test_what_is_not_told_again_is_as_it_was(void **state)
{
    (void)state;
    struct use_node u = {0};
    const struct member_ref one = {1, 1, 0};
    take(&u, 0, 1, 0, 3);
    assert_null(use_find(&u, (struct member_ref){2, 1, 0})); /* never told of */
    for (int i = 1; i <= 6; i++) take(&u, i * 10000, i % 2 ? 1 : 0, i * 1000000, 3);
    const struct use_entry *e = use_find(&u, one);
    assert_non_null(e);
    assert_int_equal(e->row.m.cpu_us, 5000000);
    assert_int_equal(e->ring.n, 7);
    struct reading r = use_cpu_milli(&u, e, 60000, 65000);
    assert_true(r.known);
    assert_int_equal(r.v, 5000000 / 60000);
    assert_int_equal(use_idle(&u, e, 60000, 100, 65000), FACT_YES);
    assert_int_equal(use_idle(&u, e, 60000, 50, 65000), FACT_NO);
    assert_int_equal(use_idle(&u, e, 61000, 100, 65000), FACT_UNKNOWN); /* younger */
    use_done(&u);
}

/* IDL5: a node that says nothing proves nothing. */
static void test_idl5_silence_is_not_idleness(void **state)
{
    (void)state;
    struct use_node u = {0};
    for (int i = 0; i <= 6; i++) take(&u, i * 10000, 1, 0, 3);
    const struct use_entry *e = use_find(&u, (struct member_ref){1, 1, 0});
    assert_int_equal(use_idle(&u, e, 60000, 100, 65000), FACT_YES);
    assert_int_equal(use_idle(&u, e, 60000, 100, 65000 + USE_GAP_MS + 1), FACT_UNKNOWN);
    use_done(&u);
}

static void test_what_is_gone_is_forgotten(void **state)
{
    (void)state;
    struct use_node u = {0};
    take(&u, 0, 1, 7, 3);
    take(&u, 10000, 2, 7, 3);
    assert_int_equal(u.entries.n, 2);
    take(&u, 20000, 9, 7, 3); /* not in the node's list: nothing of ours */
    assert_int_equal(u.entries.n, 2);
    take(&u, 30000, 0, 0, 1);
    assert_int_equal(u.entries.n, 1);
    assert_non_null(use_find(&u, (struct member_ref){1, 1, 0}));
    take(&u, 40000, 0, 0, 0);
    assert_int_equal(u.entries.n, 0);
    use_done(&u);
}

static void test_memory_is_bounded(void **state)
{
    (void)state;
    struct use_node u = {0};
    for (int i = 0; i < 3 * USE_POINTS; i++) {
        take(&u, i * 10000, 1, i, 3);
        const struct meter_ring *r = &use_find(&u, (struct member_ref){1, 1, 0})->ring;
        assert_true(r->n <= USE_POINTS && r->cap <= USE_POINTS);
        assert_int_equal(r->n, i + 1 < USE_POINTS ? i + 1 : USE_POINTS);
        assert_int_equal(meter_at(r, r->n - 1).cpu_us, i);
        assert_int_equal(meter_at(r, 0).cpu_us, i + 1 < USE_POINTS ? 0 : i - USE_POINTS + 1);
    }
    use_done(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_not_told_again_is_as_it_was),
        cmocka_unit_test(test_idl5_silence_is_not_idleness),
        cmocka_unit_test(test_what_is_gone_is_forgotten),
        cmocka_unit_test(test_memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
