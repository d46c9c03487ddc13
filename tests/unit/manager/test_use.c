/* tests/unit/manager/test_use.c - summaries of nodes: kept, forgotten, and never guessed. */
#include "harness.h"
#include "manager/use.h"
#include "wire/objects.h"

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

/* After its end: in all, from the store. */
static void ends(struct rig *r, struct fake_node *n, struct member_report m)
{
    struct sync_answer a;
    struct session_view sv;
    struct session_use_view v;
    m.phase = MEMBER_EXITED;
    m.end = (struct member_end){.cpu_us = 7000000, .mem_peak_bytes = 4000};
    n->used_ms = 0;
    fake_node_beat(n, &m, 1, 10, &a);
    wire_free(&wire_sync_answer, &a);
    fake_node_beat(n, NULL, 0, 10, &a);
    wire_free(&wire_sync_answer, &a);
    rig_get(r, "/api/v1/sessions/1", &wire_session_view, &sv);
    assert_int_equal(sv.state, SESSION_ENDED);
    assert_int_equal(sv.cpu_us, 7000000);
    assert_int_equal(sv.mem_peak_bytes, 4000);
    wire_free(&wire_session_view, &sv);
    rig_get(r, "/api/v1/sessions/1/usage", &wire_session_use_view, &v);
    assert_int_equal(v.members.n, 0);
    wire_free(&wire_session_use_view, &v);
}

/* Seven summaries: the text of the world is the same before and after them. */
static void tells(struct rig *r, struct fake_node *n, const struct member_report *m,
                  struct use_row *row)
{
    struct sync_answer a;
    AUTO_STRBUF struct strbuf before, after;
    strbuf_init(&before, 1 << 20);
    strbuf_init(&after, 1 << 20);
    rig_dump(r, &before);
    for (int i = 0; i < 7; i++) {
        n->used_ms = 50000 + i * 10000;
        row->m.cpu_us = i * 1000000;
        fake_node_beat(n, m, 1, 10, &a);
        wire_free(&wire_sync_answer, &a);
    }
    rig_dump(r, &after);
    assert_true(str_eq(strbuf_str(&before), strbuf_str(&after)));
}

/* From a beat to what people read; what is not known is not there. */
static void test_what_people_read(void **state)
{
    (void)state;
    struct rig r;
    struct fake_node n;
    struct sync_answer a;
    struct session_use_view v;
    struct session_use_list list;
    struct session_view sv;
    struct node_use_view nv;
    rig_open(&r);
    fake_node_join(&r, "n1", 4, &n);
    fake_node_beat(&n, NULL, 0, 10, &a);
    wire_free(&wire_sync_answer, &a);
    uint64_t id = rig_submit(&r, "{\"command\":[\"true\"],\"name\":\"busy\"}");
    struct member_report m = {.ref = {id, 1, 0}, .phase = MEMBER_RUNNING, .end.exit_code = -1};
    fake_node_beat(&n, &m, 1, 10, &a);
    wire_free(&wire_sync_answer, &a);
    rig_get(&r, "/api/v1/sessions/busy/usage", &wire_session_use_view, &v);
    assert_int_equal(v.cpu_us, METER_UNKNOWN); /* not told yet: not zero */
    assert_int_equal(v.members.n, 0);
    wire_free(&wire_session_use_view, &v);
    struct use_row row = {.ref = m.ref, .m = METER_NONE, .cpu_peak_milli = 900};
    row.m.mem_bytes = 1000;
    row.m.mem_peak_bytes = 3000;
    n.used = &row;
    n.n_used = 1;
    tells(&r, &n, &m, &row);
    rig_get(&r, "/api/v1/sessions/busy/usage", &wire_session_use_view, &v);
    assert_int_equal(v.cpu_us, 6000000);
    assert_int_equal(v.cpu_milli, 100);
    assert_int_equal(v.mem_bytes, 1000);
    assert_int_equal(v.members.n, 1);
    assert_string_equal(v.members.v[0].node, "n1");
    assert_int_equal(v.members.v[0].cpu_peak_milli, 900);
    assert_int_equal(v.members.v[0].m.net_rx_bytes, METER_UNKNOWN);
    assert_int_equal(v.members.v[0].points.n, 7);
    assert_int_equal(v.members.v[0].points.v[0].cpu_milli, METER_UNKNOWN);
    assert_int_equal(v.members.v[0].points.v[6].cpu_milli, 100);
    wire_free(&wire_session_use_view, &v);
    rig_get(&r, "/api/v1/usage", &wire_session_use_list, &list);
    assert_int_equal(list.items.n, 1);
    assert_int_equal(list.items.v[0].members.v[0].points.n, 0);
    wire_free(&wire_session_use_list, &list);
    rig_get(&r, "/api/v1/nodes/n1/usage", &wire_node_use_view, &nv);
    assert_int_equal(nv.containers, 1);
    assert_int_equal(nv.mem_bytes, 1000);
    wire_free(&wire_node_use_view, &nv);
    rig_get(&r, "/api/v1/sessions/busy", &wire_session_view, &sv);
    assert_int_equal(sv.mem_used_bytes, 1000);
    wire_free(&wire_session_view, &sv);
    ends(&r, &n, m);
    fake_node_done(&n);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_not_told_again_is_as_it_was),
        cmocka_unit_test(test_idl5_silence_is_not_idleness),
        cmocka_unit_test(test_what_is_gone_is_forgotten),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_what_people_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
