/* Reasons: the right kind, and every number in them true. */
#include "harness.h"

static void every_state_says_something(void **state)
{
    (void)state;
    static const struct { enum member_phase phase; enum why_kind kind; const char *text; }
    CASES[] = {
        {MEMBER_NONE, WHY_PLACED, "placed, waits to be taken on n1, n1"},
        {MEMBER_PREPARING, WHY_STARTING, "preparing on n1, n1"},
        {MEMBER_READY, WHY_STARTING, "ready on n1, n1"},
        {MEMBER_STARTING, WHY_STARTING, "starting on n1, n1"},
        {MEMBER_RUNNING, WHY_RUNNING, "running on n1, n1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct lab *l = lab_new(BLOCKED_STOP);
        struct session req = lab_request(2, 1, 1, 0);
        lab_join(l, "n1", 4, 8, 0);
        uint64_t id = lab_run(l, &req);
        for (uint32_t m = 0; m < 2; m++) lab_set(l, 0, id, m, CASES[i].phase, NULL);
        lab_report(l, 0);
        lab_expect_why(l, id, CASES[i].kind, CASES[i].text);
        lab_stop(l, id, 0);
        lab_expect_why(l, id, WHY_STOPPING, "stopping on n1, n1");
        lab_tick(l, SESSION_ALARM_AFTER_MS);
        lab_expect_why(l, id, WHY_STOPPING,
                       "its grace is over and its end is not proved: on n1 (unreachable), n1 "
                       "(unreachable); node n1 is silent for 30 s: what runs there goes on, and "
                       "is held until the node is back or given up");
        lab_free(l);
    }
}

static void every_filter_is_counted(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 1, 8, 0);
    uint32_t n2 = lab_join(l, "n2", 4, 8, 0), n3 = lab_join(l, "n3", 4, 8, 0);
    lab_join(l, "n4", 4, 8, 0);
    struct session four = lab_request(1, 4, 1, 0), three = lab_request(1, 3, 1, 0);
    for (int i = 0; i < 3; i++) lab_run(l, &three);
    lab_settle(l);
    lab_step(l, &(struct event){.kind = EVENT_NODE_CORDON, .u.cordon = {l->nodes[n2].id, true}});
    l->now_ms += NODE_UNREACHABLE_MS;
    for (uint32_t i = 0; i < 4; i++) {
        if (i != n3) lab_report(l, i);
    }
    uint64_t id = lab_run(l, &four);
    struct why why;
    explain_session(l->w, world_session(l->w, id), &why);
    assert_int_equal(why.kind, WHY_NO_CAPACITY);
    assert_int_equal(why.nodes, 4);
    assert_int_equal(why.too_small, 1);
    assert_int_equal(why.cordoned, 1);
    assert_int_equal(why.unreachable, 1);
    assert_int_equal(why.busy, 1);
    assert_int_equal(why.nearest_node, 4);
    assert_int_equal(why.missing.v[SLOT_CPU], 3000);
    assert_int_equal(why.missing.v[SLOT_MEM], 0);
    assert_int_equal(why.place, 1);
    lab_expect_why(l, id, WHY_NO_CAPACITY,
                   "needs 3 more CPU: n4 has 1 of 4 free, 4 asked (4 nodes: 1 busy, 1 too small, "
                   "1 cordoned, 1 unreachable); place 1 of 1 in the queue");
    lab_free(l);
}

static void more_than_one_slot_is_short(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 4, 8, 4);
    struct session most = lab_request(1, 3, 6, 3), next = lab_request(1, 2, 4, 2);
    lab_run(l, &most);
    lab_expect_why(l, lab_run(l, &next), WHY_NO_CAPACITY,
                   "needs 1 more CPU and 2 GiB more memory and 1 more GPU: n1 has 1 of 4 free, "
                   "2 asked; 2 GiB of 8 GiB memory free, 4 GiB asked; 1 of 4 free, 2 asked "
                   "(1 node: 1 busy); place 1 of 1 in the queue");
    lab_free(l);
}

/* Of a gang, the first member that does not fit beside those before it. */
static void gangs(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 4, 8, 0);
    lab_join(l, "n2", 4, 8, 0);
    struct session hold = lab_request(1, 3, 1, 0), gang = lab_request(2, 3, 1, 0);
    lab_run(l, &hold);
    uint64_t id = lab_run(l, &gang);
    lab_expect_why(l, id, WHY_NO_CAPACITY,
                   "needs 2 more CPU: n1 has 1 of 4 free, 3 asked (2 nodes: 2 busy); "
                   "place 1 of 1 in the queue");
    gang.roles[0].slots = lab_slots(2, 1, 0);
    gang.one_node = true; /* all of it on one node: the sum is asked */
    lab_stop(l, id, -1);
    hold = lab_request(1, 1, 1, 0);
    lab_run(l, &hold); /* n1 is full now */
    hold = lab_request(1, 3, 1, 0);
    lab_run(l, &hold);
    lab_expect_why(l, lab_run(l, &gang), WHY_NO_CAPACITY,
                   "needs 3 more CPU: n2 has 1 of 4 free, 4 asked (2 nodes: 2 busy); "
                   "place 1 of 1 in the queue");
    lab_free(l);
}

/* PLC7: when what could take it is away, the reason says that, not "no room". */
static void plc7_all_away(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 4, 8, 0);
    lab_tick(l, NODE_UNREACHABLE_MS);
    struct session s = lab_request(1, 1, 1, 0);
    lab_expect_why(l, lab_run(l, &s), WHY_NO_CAPACITY,
                   "no node of group default takes new work now (1 node: 1 unreachable); "
                   "place 1 of 1 in the queue");
    lab_free(l);
}

static void waiting_after_a_failure(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 4, 8, 0);
    struct session s = lab_request(1, 1, 1, 0);
    uint64_t id = lab_run(l, &s);
    lab_set(l, 0, id, 0, MEMBER_FAILED, &(struct member_end){.detail = "disk full"});
    lab_report(l, 0);
    lab_tick(l, 4000);
    lab_expect_why(l, id, WHY_WAITING, "start 1 of 3 failed (disk full), next try in 6 s; "
                                       "place 1 of 1 in the queue");
    lab_free(l);
}

static void many_members_are_not_all_named(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 8, 8, 0);
    struct session s = lab_request(7, 1, 1, 0);
    lab_expect_why(l, lab_run(l, &s), WHY_PLACED,
                   "placed, waits to be taken on n1, n1, n1, n1 and 3 more");
    lab_free(l);
}

static void names(void **state)
{
    (void)state;
    for (enum why_kind k = WHY_NONE; k < WHY_KINDS; k++) assert_true(why_kind_name(k)[0] != '\0');
    assert_string_equal(why_kind_name(WHY_NO_CAPACITY), "no_capacity");
    /* A row that has ended, read back from the store. */
    struct lab *l = lab_new(BLOCKED_STOP);
    struct session ended = {.state = SESSION_ENDED, .since_ms = 5};
    struct why why;
    struct strbuf b;
    strbuf_init(&b, 100);
    explain_session(l->w, &ended, &why);
    explain_text(l->w, &ended, &why, &b);
    assert_int_equal(why.kind, WHY_NONE);
    assert_int_equal(why.since_ms, 5);
    assert_string_equal(b.p, "it has ended");
    strbuf_done(&b);
    lab_free(l);
}

/* Who may not read the blocker hears its kind, its size and since when. */
static void a_hidden_blocker(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    uint32_t other = lab_project(l, 1, "other");
    struct session req = lab_request(2, 1, 1, 1);
    (void)lab_join(l, "n1", 2, 4, 2);
    (void)lab_run(l, &req);
    uint64_t head = lab_run(l, &req);
    lab_settle(l);
    req = lab_request(1, 1, 1, 0);
    for (int near = 0; near < 2; near++) {
        struct strbuf b;
        struct why why;
        req.project = near ? 1 : other;
        const struct session *s = world_session(l->w, lab_run(l, &req));
        lab_tick(l, 60000);
        explain_session(l->w, s, &why);
        assert_int_equal(why.blocker, head);
        why.viewer = UINT32_MAX; /* somebody who is not there may read nothing */
        strbuf_init(&b, 1024);
        explain_text(l->w, s, &why, &b);
        const char *wanted = near ? "waits behind a batch session of another user (2 CPU, 2 GiB "
                                    "memory, 2 GPU, waiting for 2 min), which is ahead"
                                  : "waits behind a batch session of another project (2 CPU, 2 GiB "
                                    "memory, 2 GPU, waiting for 1 min), which is ahead";
        if (!str_starts(strbuf_str(&b), str_of(wanted))) fail_msg("%s", b.p);
        strbuf_done(&b);
    }
    lab_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_says_something),
        cmocka_unit_test(every_filter_is_counted),
        cmocka_unit_test(more_than_one_slot_is_short),
        cmocka_unit_test(gangs),
        cmocka_unit_test(plc7_all_away),
        cmocka_unit_test(waiting_after_a_failure),
        cmocka_unit_test(many_members_are_not_all_named),
        cmocka_unit_test(names),
        cmocka_unit_test(a_hidden_blocker),
    };
    return RUN(tests);
}
