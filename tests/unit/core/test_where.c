/* Where sessions may run, from the door to the reason; and where starts fail. */
#include "harness.h"

static uint32_t join(struct lab *l, const char *name, const char *model, const char *labels,
                     const char *arch)
{
    struct event ev = {.kind = EVENT_NODE_JOIN};
    struct node *n = &ev.u.join.node;
    assert_true(TEXT_SET(n->name, str_of(name)));
    n->group = 1;
    n->epoch = 1;
    n->capacity = lab_slots(8, 16, 0);
    n->n_devices = model ? 2 : 0;
    for (uint32_t i = 0; i < n->n_devices; i++) {
        text_fmt(n->devices[i].uuid, sizeof(n->devices[i].uuid), "%s-%u", name, i);
        assert_true(TEXT_SET(n->devices[i].model, str_of(model)));
        n->devices[i].health = DEVICE_HEALTHY;
    }
    TEXT_SET(n->labels, str_of(labels));
    TEXT_SET(n->arch, str_of(arch));
    if (lab_step(l, &ev) != VERDICT_OK) fail_msg("join: %s", l->fx.text);
    l->nodes[l->n_nodes] = (struct lab_node){.id = l->fx.node, .epoch = 1};
    assert_int_equal(lab_report_at(l, l->n_nodes, 0), VERDICT_OK);
    return l->n_nodes++;
}

static const char *node_of(const struct lab *l, uint64_t session)
{
    const struct session *s = world_session(l->w, session);
    const struct alloc *a = world_allocs_of_session(l->w, s);
    return a ? world_node(l->w, a->node)->name : "";
}

/* n1: h100, ssd, x86_64; n2: a100, hdd, x86_64; n3: no GPU, ssd, aarch64. */
static struct lab *three(void)
{
    struct lab *l = lab_new(BLOCKED_SKIP);
    join(l, "n1", "NVIDIA H100", "zone=a,disk=ssd", "x86_64");
    join(l, "n2", "NVIDIA A100", "disk=hdd,zone=a", "x86_64");
    join(l, "n3", NULL, "disk=ssd", "aarch64");
    return l;
}

static const struct {
    const char *name, *models, *labels, *arch;
    uint32_t gpus, node;
    bool preferred;
    enum place_strategy by;
    enum verdict verdict;
    const char *expected; /* the node, or the refusal */
} CASES[] = {
    {.name = "a model", .models = "a100", .gpus = 1, .expected = "n2"},
    {.name = "one of two", .models = "h100|a100", .gpus = 1, .expected = "n1"},
    {.name = "labels in any order", .labels = "zone=a,disk=hdd", .expected = "n2"},
    {.name = "an arch", .arch = "aarch64", .expected = "n3"},
    {.name = "a node", .node = 2, .expected = "n2"},
    {.name = "a preferred node that fits", .node = 2, .preferred = true, .expected = "n2"},
    {.name = "a preferred node that cannot", .node = 3, .preferred = true, .gpus = 1,
     .expected = "n1"},
    {.name = "no such model", .models = "l4", .gpus = 1, .verdict = VERDICT_IMPOSSIBLE,
     .expected = "group default could never run this: 3 nodes without GPU model l4"},
    {.name = "a model that has too few", .models = "h100", .gpus = 3,
     .verdict = VERDICT_IMPOSSIBLE,
     .expected = "group default could never run this: n1 has at most 2 of the 3 GPU asked; "
                 "2 nodes without GPU model h100"},
    {.name = "PLC8: a label that no node of the group has", .labels = "gpu=a100",
     .verdict = VERDICT_IMPOSSIBLE,
     .expected = "group default could never run this: 3 nodes without label gpu=a100"},
    {.name = "each keeps some off", .labels = "disk=ssd", .arch = "x86_64", .node = 2,
     .verdict = VERDICT_IMPOSSIBLE,
     .expected = "group default could never run this: 2 nodes other than n2, 1 node without "
                 "label disk=ssd"},
    {.name = "no such node", .node = 9, .verdict = VERDICT_NOT_FOUND,
     .expected = "there is no such node"},
    {.name = "no labels", .labels = "disk", .verdict = VERDICT_BAD_VALUE,
     .expected = "node_labels: expected key=value pairs separated by ',', each key once"},
    {.name = "no model", .models = "a100|", .verdict = VERDICT_BAD_VALUE,
     .expected = "gpu_models: expected names of models separated by '|', such as h100|a100"},
    {.name = "no arch", .arch = "X 86", .verdict = VERDICT_BAD_VALUE,
     .expected = "arch: expected the name of an architecture, such as x86_64"},
    {.name = "no strategy", .by = PLACE_STRATEGIES, .verdict = VERDICT_BAD_VALUE,
     .expected = "strategy: expected a strategy of placement"},
};

static void cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct lab *l = three();
        struct session s = lab_request(1, 1, 1, CASES[i].gpus);
        struct constraint *c = &s.where;
        if (CASES[i].models) TEXT_SET(c->gpu_models, str_of(CASES[i].models));
        if (CASES[i].labels) TEXT_SET(c->labels, str_of(CASES[i].labels));
        if (CASES[i].arch) TEXT_SET(c->arch, str_of(CASES[i].arch));
        c->node = CASES[i].node;
        c->node_preferred = CASES[i].preferred;
        s.strategy = CASES[i].by;
        if (lab_submit(l, &s) != CASES[i].verdict) fail_msg("%s: %s", CASES[i].name, l->fx.text);
        bool ok = CASES[i].verdict == VERDICT_OK;
        assert_string_equal(ok ? node_of(l, l->fx.session) : l->fx.text, CASES[i].expected);
        lab_free(l);
    }
}

/* PLC7: a hard pin is never relaxed, and the reason names the host. */
static void plc7_a_designated_node_is_away(void **state)
{
    (void)state;
    struct lab *l = three();
    struct session s = lab_request(1, 1, 1, 1);
    s.where.node = 2;
    lab_tick(l, NODE_UNREACHABLE_MS / 2);
    lab_report(l, 0);
    lab_report(l, 2);
    lab_tick(l, NODE_UNREACHABLE_MS / 2);
    assert_true(world_node(l->w, 2)->unreachable);
    uint64_t id = lab_run(l, &s);
    assert_int_equal(lab_state(l, id), SESSION_PENDING);
    lab_expect_why(l, id, WHY_NO_CAPACITY,
                   "no node that it asks for takes new work now (3 nodes: 1 unreachable, 2 other "
                   "than n2); place 1 of 1 in the queue");
    lab_report(l, 1);
    assert_string_equal(node_of(l, id), "n2");
    lab_free(l);
}

/* PLC8: what one group's nodes say is nothing to another's. */
static void plc8_labels_of_another_group(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    struct event ev = {.kind = EVENT_GROUP_PUT, .u.group = group_make(0, "second", BLOCKED_STOP)};
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    join(l, "n1", NULL, "gpu=a100", "x86_64");
    lab_join(l, "n2", 8, 16, 0);
    struct node *n = world_node(l->w, 2);
    struct event again = {.kind = EVENT_NODE_JOIN, .u.join.node = *n};
    again.u.join.node.group = 2;
    assert_int_equal(lab_step(l, &again), VERDICT_OK);
    struct session s = lab_request(1, 1, 1, 0);
    s.group = 2;
    assert_string_equal(node_of(l, lab_run(l, &s)), "n2");
    TEXT_SET(s.where.labels, STR("gpu=a100")); /* asked of a group that has no such key */
    assert_int_equal(lab_submit(l, &s), VERDICT_IMPOSSIBLE);
    s.group = 1;
    assert_string_equal(node_of(l, lab_run(l, &s)), "n1");
    lab_free(l);
}

/* PLC10: the reason names the resource and both numbers. */
static void plc10_more_memory_than_the_host(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 8, 64, 0);
    struct session s = lab_request(1, 1, 512, 0);
    assert_int_equal(lab_submit(l, &s), VERDICT_IMPOSSIBLE);
    assert_string_equal(l->fx.text, "group default could never run this: n1 has at most 64 GiB of "
                                    "the 512 GiB memory asked");
    lab_free(l);
}

/* PLC11: limits of two projects cut no host in two. */
static void plc11_a_limit_is_no_part_of_a_host(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 8, 64, 8);
    world_project(l->w, 1)->limits = (struct limits){.set = 1u << LIMIT_GPU, .max[LIMIT_GPU] = 4};
    struct session s = lab_request(1, 1, 1, 3);
    lab_run(l, &s);
    s = lab_request(1, 1, 1, 1);
    uint64_t id = lab_run(l, &s);
    assert_string_equal(node_of(l, id), "n1");
    lab_free(l);
}

/* A node says something else: what was kept off may come. */
static void a_node_changes_its_labels(void **state)
{
    (void)state;
    struct lab *l = three();
    struct event ev = {.kind = EVENT_SUBMIT, .u.submit.session = lab_request(1, 1, 1, 0)};
    TEXT_SET(ev.u.submit.session.where.labels, STR("zone=b"));
    assert_int_equal(lab_step(l, &ev), VERDICT_IMPOSSIBLE);
    ev.u.submit.allow_impossible = true;
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    uint64_t id = l->fx.session;
    lab_expect_why(l, id, WHY_NO_CAPACITY,
                   "no node of group default is what it asks (3 nodes: 3 without label zone=b); "
                   "place 1 of 1 in the queue");
    struct event again = {.kind = EVENT_NODE_JOIN, .u.join.node = *world_node(l->w, 3)};
    TEXT_SET(again.u.join.node.labels, STR("zone=b,disk=ssd"));
    assert_int_equal(lab_step(l, &again), VERDICT_OK);
    assert_string_equal(world_node(l->w, 3)->labels, "disk=ssd,zone=b");
    assert_string_equal(node_of(l, id), "n3");
    TEXT_SET(again.u.join.node.labels, STR("zone"));
    assert_int_equal(lab_step(l, &again), VERDICT_BAD_VALUE);
    lab_free(l);
}

/* ---- round robin goes on where it was */

static void round_robin_over_sessions(void **state)
{
    (void)state;
    struct lab *l = three();
    static const char *const expected[] = {"n1", "n2", "n3", "n1", "n2"};
    struct session s = lab_request(1, 1, 1, 0);
    s.strategy = STRATEGY_ROUND_ROBIN;
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        assert_string_equal(node_of(l, lab_run(l, &s)), expected[i]);
        if (i == 2) lab_restart(l); /* also in the next manager */
        for (uint32_t n = 0; i == 2 && n < 3; n++) lab_report(l, n);
    }
    lab_free(l);
}

/* ---- failed starts */

static void fails(struct lab *l, uint32_t node, uint64_t id, bool fatal)
{
    struct member_end end = {.exit_code = -1, .fatal = fatal};
    TEXT_SET(end.detail, STR("no such thing"));
    lab_set(l, node, id, 0, MEMBER_FAILED, &end);
    lab_report(l, node);
    lab_forget(l, node, id);
    lab_report(l, node);
}

static void another_node_after_a_failure(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 0), n2 = lab_join(l, "n2", 4, 8, 0);
    struct session s = lab_request(1, 1, 1, 0);
    uint64_t id = lab_run(l, &s);
    assert_string_equal(node_of(l, id), "n1");
    fails(l, n1, id, false);
    assert_int_equal(world_session(l->w, id)->n_failed_on, 1);
    lab_restart(l); /* it is remembered */
    lab_report(l, n1);
    lab_report(l, n2);
    lab_tick(l, SESSION_BACKOFF_FIRST_MS);
    assert_string_equal(node_of(l, id), "n2"); /* equal, but it has not failed there */
    lab_say(l, n2, id, 0, MEMBER_RUNNING);
    assert_int_equal(world_session(l->w, id)->n_failed_on, 0);
    lab_free(l);
}

static void three_sessions_close_a_node(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 0);
    struct session s = lab_request(1, 1, 1, 0);
    for (int i = 0; i < 3; i++) {
        assert_false(world_node(l->w, 1)->quarantined);
        uint64_t id = lab_run(l, &s);
        fails(l, n1, id, false);
        fails(l, n1, id, false); /* the same session again is no other */
        lab_stop(l, id, 0);
    }
    assert_true(world_node(l->w, 1)->quarantined);
    uint64_t waits = lab_run(l, &s);
    lab_expect_why(l, waits, WHY_NO_CAPACITY,
                   "no node of group default takes new work now (1 node: 1 quarantined); place 1 "
                   "of 1 in the queue");
    lab_restart(l);
    lab_report(l, n1);
    assert_true(world_node(l->w, 1)->quarantined);
    lab_step(l, &(struct event){.kind = EVENT_NODE_CORDON, .u.cordon = {1, false}});
    assert_false(world_node(l->w, 1)->quarantined);
    assert_string_equal(node_of(l, waits), "n1");
    lab_free(l);
}

/* A success in between, or a request that is itself at fault, counts nothing. */
static void what_does_not_close_a_node(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    uint32_t n1 = lab_join(l, "n1", 4, 8, 0);
    struct session s = lab_request(1, 1, 1, 0);
    for (int i = 0; i < 2; i++) fails(l, n1, lab_run(l, &s), false);
    assert_int_equal(world_node(l->w, 1)->failed_row, 2);
    uint64_t quick = lab_run(l, &s);
    lab_exit(l, n1, quick, 0, 0); /* so fast that nobody saw it run */
    assert_int_equal(world_node(l->w, 1)->failed_row, 0);
    for (int i = 0; i < 2; i++) fails(l, n1, lab_run(l, &s), false);
    lab_say(l, n1, lab_run(l, &s), 0, MEMBER_RUNNING);
    assert_int_equal(world_node(l->w, 1)->failed_row, 0);
    for (int i = 0; i < 4; i++) {
        uint64_t id = lab_run(l, &s); /* a reboot while it was made is no failed start */
        lab_say(l, n1, id, 0, MEMBER_PREPARING);
        lab_forget(l, n1, id);
        lab_report(l, n1);
        assert_int_equal(world_session(l->w, id)->failed_starts, 1);
        lab_stop(l, id, 0);
    }
    assert_int_equal(world_node(l->w, 1)->failed_row, 0);
    for (int i = 0; i < 4; i++) fails(l, n1, lab_run(l, &s), true);
    assert_int_equal(world_node(l->w, 1)->failed_row, 0);
    lab_free(l);
}

/* A node that hears nothing is silent, not at fault; one that does nothing is. */
static void who_does_not_take_it(void **state)
{
    (void)state;
    for (int silent = 0; silent < 2; silent++) {
        struct lab *l = lab_new(BLOCKED_SKIP);
        uint32_t n1 = lab_join(l, "n1", 4, 8, 0);
        struct session s = lab_request(1, 1, 1, 0);
        uint64_t id = lab_run(l, &s);
        for (int64_t ms = 0; ms < 60000; ms += 10000) {
            lab_tick(l, 10000);
            if (!silent) lab_report_at(l, n1, 0);
        }
        assert_int_equal(world_node(l->w, 1)->failed_row, silent ? 0 : 1);
        assert_int_equal(world_session(l->w, id)->n_failed_on, silent ? 0 : 1);
        lab_free(l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases),
        cmocka_unit_test(plc7_a_designated_node_is_away),
        cmocka_unit_test(plc8_labels_of_another_group),
        cmocka_unit_test(plc10_more_memory_than_the_host),
        cmocka_unit_test(plc11_a_limit_is_no_part_of_a_host),
        cmocka_unit_test(a_node_changes_its_labels),
        cmocka_unit_test(round_robin_over_sessions),
        cmocka_unit_test(another_node_after_a_failure),
        cmocka_unit_test(three_sessions_close_a_node),
        cmocka_unit_test(what_does_not_close_a_node),
        cmocka_unit_test(who_does_not_take_it),
    };
    return RUN(tests);
}
