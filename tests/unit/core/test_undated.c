/* A blocked session that cannot be dated wakes nobody in vain. */
#include "harness.h"

/* All nodes are closed: after `undated_ms` there is nothing that could be kept for it, and
 * nothing to do until something happens. */
static void no_node_to_close(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_BACKFILL);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 0);
    struct event ev = {.kind = EVENT_NODE_CORDON, .u.cordon = {l->nodes[n1].id, true}};
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    struct session s = lab_request(1, 2, 1, 0);
    uint64_t id = lab_run(l, &s);
    int64_t end = l->now_ms + 2 * GROUP_UNDATED_MS;
    uint32_t ticks = 0;
    while (l->now_ms < end && ticks < 10000) {
        int64_t next = step_next_deadline(l->w);
        assert_true(next > l->now_ms);
        lab_report(l, n1); /* it does not fall silent */
        int64_t wait = next - l->now_ms < 5000 ? next - l->now_ms : 5000;
        lab_tick(l, wait);
        ticks++;
    }
    assert_int_equal(lab_state(l, id), SESSION_PENDING);
    assert_true(ticks < 1000);
    lab_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_node_to_close)};
    return RUN(tests);
}
