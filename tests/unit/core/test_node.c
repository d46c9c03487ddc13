/* Nodes join, report, are closed and forgotten. */
#include "harness.h"

static uint64_t one(struct lab *l, int64_t gpu)
{
    struct session s = lab_request(1, 1, 1, gpu);
    return lab_run(l, &s);
}

static void reports_in_order_only(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 4, 8, 0);
    uint64_t id = one(l, 0);
    struct event ev = {.kind = EVENT_NODE_REPORT};
    static const struct { uint64_t epoch, seq; enum verdict verdict; } CASES[] = {
        {1, 5, VERDICT_OK},    {1, 5, VERDICT_STALE}, {1, 4, VERDICT_STALE}, {1, 6, VERDICT_OK},
        {0, 99, VERDICT_STALE}, {2, 1, VERDICT_OK},   {1, 99, VERDICT_STALE}, {2, 2, VERDICT_OK},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        ev.u.report = (struct event_report){.node = 1, .epoch = CASES[i].epoch,
                                            .seq = CASES[i].seq};
        assert_int_equal(lab_step(l, &ev), CASES[i].verdict);
        if (CASES[i].verdict != VERDICT_OK) assert_int_equal(l->fx.changes.n, 0);
    }
    assert_int_equal(world_node(l->w, 1)->epoch, 2);
    assert_int_equal(lab_state(l, id), SESSION_ALLOCATED);
    lab_free(l);
}

static void reports_that_make_no_sense(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 4, 8, 0);
    uint64_t id = one(l, 0);
    struct member_report two[] = {{.ref = {id, 1, 1}, .phase = MEMBER_RUNNING},
                                  {.ref = {id, 1, 0}, .phase = MEMBER_RUNNING}};
    struct event ev = {.kind = EVENT_NODE_REPORT};
    ev.u.report = (struct event_report){.node = 1, .epoch = 1, .seq = 9, .members = two,
                                        .n_members = 2};
    assert_int_equal(lab_step(l, &ev), VERDICT_BAD_VALUE); /* not in order */
    two[1] = two[0];
    assert_int_equal(lab_step(l, &ev), VERDICT_BAD_VALUE); /* twice */
    two[1].ref.member = 2;
    two[1].phase = MEMBER_PHASES;
    assert_int_equal(lab_step(l, &ev), VERDICT_BAD_VALUE); /* no such phase */
    ev.u.report.n_members = 0;
    ev.u.report.turn = l->w->turn + 100;
    assert_int_equal(lab_step(l, &ev), VERDICT_BAD_VALUE); /* a turn that never was */
    ev.u.report.turn = 0;
    ev.u.report.n_members = 65537;
    assert_int_equal(lab_step(l, &ev), VERDICT_BAD_VALUE); /* more than any node has */
    ev.u.report.node = 7;
    assert_int_equal(lab_step(l, &ev), VERDICT_NOT_FOUND);
    assert_int_equal(lab_state(l, id), SESSION_ALLOCATED);
    assert_int_equal(lab_rows(l), 1);
    lab_free(l);
}

/* What belongs to another store is not ours, and is not mistaken for ours. */
static void orphans_and_strangers(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 4, 8, 0);
    uint64_t id = one(l, 0);
    struct member_report list[] = {{.ref = {id, 1, 0}, .phase = MEMBER_RUNNING, .orphan = true},
                                   {.ref = {77, 1, 0}, .phase = MEMBER_RUNNING}};
    struct event ev = {.kind = EVENT_NODE_REPORT};
    ev.u.report = (struct event_report){.node = 1, .epoch = 1, .seq = 9, .members = list,
                                        .n_members = 2};
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    assert_int_equal(lab_state(l, id), SESSION_ALLOCATED);
    lab_free(l);
}

static const struct { const char *boot; int64_t gpu; } RETURNS[] = {
    {"boot-1", 2}, {"boot-2", 2}, {"boot-1", 0}, {"boot-2", 1}};

/* AGT14: an agent that joins anew, rebooted or with devices it cannot see yet,
 * takes nothing from anybody. */
static void agt14_joining_takes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(RETURNS); i++) {
        struct lab *l = lab_new(BLOCKED_STOP);
        uint32_t n1 = lab_join(l, "n1", 4, 8, 2);
        uint64_t id = one(l, 2);
        lab_settle(l);
        assert_int_equal(lab_state(l, id), SESSION_RUNNING);
        assert_int_equal(lab_rejoin(l, n1, RETURNS[i].gpu, RETURNS[i].boot), VERDICT_OK);
        assert_int_equal(lab_changes(l, CHANGE_NODE), 1);
        assert_int_equal(lab_rows(l), 1);
        assert_int_equal(world_node(l->w, 1)->used_devices, 3);
        lab_report_at(l, n1, 0); /* it has acted on nothing yet, and adopted it */
        assert_int_equal(lab_state(l, id), SESSION_RUNNING);
        struct session more = lab_request(1, 1, 1, 1);
        struct event ev = {.kind = EVENT_SUBMIT};
        ev.u.submit.session = more;
        ev.u.submit.allow_impossible = true;
        lab_step(l, &ev);
        assert_int_equal(lab_state(l, l->fx.session), SESSION_PENDING); /* none is free */
        lab_restart(l);
        lab_settle(l);
        assert_int_equal(lab_state(l, id), SESSION_RUNNING);
        lab_free(l);
    }
}

static void joining_again_unchanged_is_silent(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 1);
    struct event ev = {.kind = EVENT_NODE_JOIN};
    ev.u.join.node = *world_node(l->w, 1);
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    assert_int_equal(l->fx.changes.n, 0);
    ev.u.join.node.devices[0].health = DEVICE_QUARANTINED;
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    assert_int_equal(lab_changes(l, CHANGE_NODE), 1);
    assert_int_equal(lab_changes(l, CHANGE_HISTORY), 1); /* of the device; no new life */
    assert_int_equal(node_free_devices(world_node(l->w, 1)), 0);
    ev.u.join.node.devices[0].health = DEVICE_HEALTHY;
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    assert_int_equal(lab_rejoin(l, n1, 1, "boot-2"), VERDICT_OK);
    assert_string_equal(lab_change(l, CHANGE_HISTORY)->u.history.text, "n1, rebooted");
    ev.u.join.node.epoch = 1;
    assert_int_equal(lab_step(l, &ev), VERDICT_STALE);
    lab_free(l);
}

static void long_name(struct node *n) { memset(n->name, 'a', sizeof(n->name)); }
static void bad_name(struct node *n) { memcpy(n->name, "N 1", 4); }
static void no_name(struct node *n) { n->name[0] = '\0'; }
static void no_group(struct node *n) { n->group = 9; }
static void many_devices(struct node *n) { n->n_devices = NODE_DEVICES_MAX + 1; }
static void negative_cpu(struct node *n) { n->capacity.v[SLOT_CPU] = -1; }
static void huge_mem(struct node *n) { n->capacity.v[SLOT_MEM] = INT64_MAX; }
static void endless_boot(struct node *n) { memset(n->boot_id, 'a', sizeof(n->boot_id)); }
static void endless_uuid(struct node *n) { memset(n->devices[0].uuid, 'a', 48); }

static const struct {
    void (*change)(struct node *n);
    enum verdict verdict;
    const char *field;
} JOINS[] = {
    {long_name, VERDICT_BAD_VALUE, "node"},
    {bad_name, VERDICT_BAD_VALUE, "node"},
    {no_name, VERDICT_BAD_VALUE, "node"},
    {no_group, VERDICT_NOT_FOUND, "group"},
    {many_devices, VERDICT_BAD_VALUE, "devices"},
    {negative_cpu, VERDICT_BAD_VALUE, "cpu_milli"},
    {huge_mem, VERDICT_BAD_VALUE, "mem_bytes"},
    {endless_boot, VERDICT_BAD_VALUE, "devices"},
    {endless_uuid, VERDICT_BAD_VALUE, "devices"},
};

static void bad_joins(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(JOINS); i++) {
        struct lab *l = lab_new(BLOCKED_STOP);
        struct event ev = {.kind = EVENT_NODE_JOIN};
        ev.u.join.node = (struct node){.name = "n1", .group = 1, .n_devices = 1,
                                       .capacity = lab_slots(1, 1, 1)};
        JOINS[i].change(&ev.u.join.node);
        assert_int_equal(lab_step(l, &ev), JOINS[i].verdict);
        assert_string_equal(l->fx.field, JOINS[i].field);
        assert_int_equal(l->w->nodes.n, 0);
        lab_free(l);
    }
}

static void cordon(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 4, 8, 0);
    uint64_t running = one(l, 0);
    lab_settle(l);
    struct event ev = {.kind = EVENT_NODE_CORDON, .u.cordon = {1, true}};
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    assert_int_equal(lab_changes(l, CHANGE_NODE), 1);
    lab_step(l, &ev);
    assert_int_equal(l->fx.changes.n, 0);
    uint64_t waits = one(l, 0);
    assert_int_equal(lab_state(l, waits), SESSION_PENDING);
    assert_int_equal(lab_state(l, running), SESSION_RUNNING);
    lab_restart(l);
    lab_report(l, 0);
    assert_int_equal(lab_state(l, waits), SESSION_PENDING);
    ev.u.cordon.on = false;
    lab_step(l, &ev);
    assert_int_equal(lab_state(l, waits), SESSION_ALLOCATED);
    ev.u.cordon.node = 5;
    assert_int_equal(lab_step(l, &ev), VERDICT_NOT_FOUND);
    lab_free(l);
}

static void forget(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    struct session pair = lab_request(2, 4, 1, 0), single = lab_request(1, 4, 1, 0);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 0), n2 = lab_join(l, "n2", 4, 8, 0);
    uint64_t gang = lab_run(l, &pair);
    lab_settle(l);
    uint64_t waits = lab_run(l, &single);
    struct event ev = {.kind = EVENT_NODE_FORGET, .u.forget = {l->nodes[n1].id, false}};
    /* It is heard and holds something: only who insists. */
    assert_int_equal(lab_step(l, &ev), VERDICT_NOT_EMPTY);
    assert_int_equal(lab_changes(l, CHANGE_NODE_GONE), 0);
    assert_int_equal(lab_rows(l), 2);
    ev.u.forget.force = true;
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    assert_int_equal(lab_changes(l, CHANGE_NODE_GONE), 1);
    assert_int_equal(lab_changes(l, CHANGE_ALLOC_GONE), 1);
    assert_int_equal(lab_state(l, gang), SESSION_STOPPING);
    assert_null(world_node_named(l->w, STR("n1")));
    assert_int_equal(lab_step(l, &ev), VERDICT_NOT_FOUND);
    lab_restart(l);
    lab_exit(l, n2, gang, 1, 143);
    assert_int_equal(lab_outcome(l, gang), OUTCOME_LOST);
    assert_int_equal(lab_state(l, waits), SESSION_ALLOCATED);
    assert_int_equal(lab_rows(l), 1);
    /* The name may come again; the number does not. */
    lab_join(l, "n1", 4, 8, 0);
    assert_int_equal(world_node_named(l->w, STR("n1"))->id, 3);
    lab_free(l);
}

/* AGT16: lost, given up, and there again: usable like any other, with nothing left over. */
static void agt16_given_up_and_back(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 1);
    uint64_t lost = one(l, 1);
    lab_settle(l);
    lab_tick(l, NODE_LOST_MS);
    assert_int_equal(lab_outcome(l, lost), OUTCOME_LOST);
    lab_step(l, &(struct event){.kind = EVENT_NODE_FORGET, .u.forget = {l->nodes[n1].id, false}});
    assert_int_equal(lab_rows(l), 0);
    uint64_t next = one(l, 1);
    uint32_t again = lab_join(l, "n1", 4, 8, 1);
    lab_restart(l);
    lab_report_at(l, again, 0);
    for (int i = 0; i < 8; i++) (void)lab_act(l, again);
    assert_int_equal(lab_state(l, next), SESSION_RUNNING);
    assert_int_equal(lab_rows(l), 1);
    lab_free(l);
}

/* All on one node, and an attempt that was waiting to be proved gone. */
static void forget_frees_all(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    struct session pair = lab_request(2, 1, 1, 0);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 0);
    uint64_t runs = lab_run(l, &pair), revoked, stops;
    lab_settle(l);
    revoked = lab_run(l, &pair);
    lab_set(l, n1, revoked, 0, MEMBER_FAILED, &(struct member_end){.exit_code = -1});
    lab_say(l, n1, revoked, 1, MEMBER_READY);
    stops = one(l, 0);
    lab_stop(l, stops, -1);
    assert_int_equal(lab_rows(l), 4);
    lab_step(l, &(struct event){.kind = EVENT_NODE_FORGET, .u.forget = {1, true}});
    assert_int_equal(lab_rows(l), 0);
    assert_int_equal(lab_outcome(l, runs), OUTCOME_LOST);
    assert_int_equal(lab_outcome(l, stops), OUTCOME_LOST);
    assert_int_equal(lab_state(l, revoked), SESSION_PENDING);
    assert_int_equal(step_next_deadline(l->w), world_session(l->w, revoked)->not_before_ms);
    lab_free(l);
}

static void a_full_world(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    struct event join = {.kind = EVENT_NODE_JOIN}, put = {.kind = EVENT_GROUP_PUT};
    join.u.join.node = (struct node){.name = "n1", .group = 1};
    put.u.group = group_make(0, "g1", BLOCKED_SKIP);
    while (l->w->nodes.n < WORLD_NODES_MAX) (void)world_add_node(l->w);
    while (l->w->groups.n < WORLD_GROUPS_MAX) (void)world_add_group(l->w);
    assert_int_equal(lab_step(l, &join), VERDICT_FULL);
    assert_int_equal(lab_step(l, &put), VERDICT_FULL);
    lab_free(l);
}

static void groups(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    struct event ev = {.kind = EVENT_GROUP_PUT};
    ev.u.group = group_make(0, "gpu", BLOCKED_SKIP);
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    assert_int_equal(world_group_named(l->w, STR("gpu"))->id, 2);
    assert_int_equal(lab_changes(l, CHANGE_GROUP), 1);
    ev.u.group.on_blocked = BLOCKED_STOP;
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    assert_int_equal(l->w->groups.n, 2);
    lab_restart(l);
    assert_int_equal(world_group(l->w, 2)->on_blocked, BLOCKED_STOP);
    ev.u.group.id = 1;
    assert_int_equal(lab_step(l, &ev), VERDICT_NOT_FOUND);
    ev.u.group = group_make(0, "x", BLOCKED_KINDS);
    assert_int_equal(lab_step(l, &ev), VERDICT_BAD_VALUE);
    ev.u.group = group_make(0, "X", BLOCKED_STOP);
    assert_int_equal(lab_step(l, &ev), VERDICT_BAD_VALUE);
    ev.u.group = group_make(0, "x", BLOCKED_STOP);
    ev.u.group.time_limit_ms[KIND_SERVICE] = -1;
    assert_int_equal(lab_step(l, &ev), VERDICT_BAD_VALUE);
    assert_string_equal(l->fx.field, "time_limit_ms");
    /* A group's sessions go to its own nodes alone. */
    lab_join(l, "n1", 4, 8, 0);
    struct session s = lab_request(1, 1, 1, 0);
    s.group = 2;
    uint64_t id = lab_run(l, &s);
    assert_int_equal(lab_state(l, id), SESSION_PENDING);
    struct event move = {.kind = EVENT_NODE_JOIN};
    move.u.join.node = *world_node(l->w, 1);
    move.u.join.node.group = 2; /* AGT11: what the agent was told last counts */
    move.u.join.node.epoch++;
    assert_int_equal(lab_step(l, &move), VERDICT_OK);
    assert_int_equal(lab_state(l, id), SESSION_ALLOCATED);
    lab_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_in_order_only),
        cmocka_unit_test(reports_that_make_no_sense),
        cmocka_unit_test(orphans_and_strangers),
        cmocka_unit_test(agt14_joining_takes_nothing),
        cmocka_unit_test(joining_again_unchanged_is_silent),
        cmocka_unit_test(bad_joins),
        cmocka_unit_test(cordon),
        cmocka_unit_test(forget),
        cmocka_unit_test(agt16_given_up_and_back), cmocka_unit_test(forget_frees_all),
        cmocka_unit_test(a_full_world),
        cmocka_unit_test(groups),
    };
    return RUN(tests);
}
