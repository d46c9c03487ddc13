/* When a session could start, by named cases. */
#include "harness.h"

#include "core/sched/plan.h"

#define MINUTE INT64_C(60000)

/* On the way to the moment that is asked about: what runs. */
struct held { const char *on; int cpu, gpu, minutes; };
static const struct {
    const char *name;
    struct { const char *name; int cpu, gpu; } nodes[3];
    struct held held[4];
    struct { const char *on; int cpu, gpu, at, minutes; uint32_t devices; } promised[2];
    struct { int count, cpu, gpu; } roles[2];
    bool one_node;
    int minutes;          /* of the request; 0: no limit */
    int expected;         /* minutes from now; -1: it has no date */
    const char *where;    /* "n1:0x3 n2:0x1" */
    int blocker;          /* place in `held` from 1 */
} CASES[] = {
    {.name = "free now", .nodes = {{"n1", 4, 2}}, .roles = {{1, 1, 1}}, .minutes = 10,
     .expected = 0, .where = "n1:0x1"},
    {.name = "at the end of what holds it", .nodes = {{"n1", 4, 2}}, .held = {{"n1", 1, 2, 30}},
     .roles = {{1, 1, 1}}, .minutes = 10, .expected = 30, .where = "n1:0x1"},
    {.name = "the earlier of two", .nodes = {{"n1", 4, 1}, {"n2", 4, 1}},
     .held = {{"n1", 1, 1, 30}, {"n2", 1, 1, 20}}, .roles = {{1, 1, 1}}, .minutes = 10,
     .expected = 20, .where = "n2:0x1"},
    {.name = "no limit, no end", .nodes = {{"n1", 4, 1}}, .held = {{"n1", 1, 1, 0}},
     .roles = {{1, 1, 1}}, .minutes = 10, .expected = -1, .blocker = 1},
    {.name = "the fewest in the way", .nodes = {{"n1", 4, 2}, {"n2", 4, 2}},
     .held = {{"n1", 1, 1, 0}, {"n1", 1, 1, 0}, {"n2", 1, 1, 0}},
     .roles = {{1, 1, 2}}, .minutes = 10, .expected = -1, .blocker = 3},
    {.name = "no set of nodes", .nodes = {{"n1", 4, 2}}, .held = {{"n1", 1, 2, 0}},
     .roles = {{1, 9, 0}}, .minutes = 10, .expected = -1},
    {.name = "a gang needs the latest of them", .nodes = {{"n1", 4, 1}, {"n2", 4, 1}},
     .held = {{"n1", 1, 1, 30}, {"n2", 1, 1, 20}}, .roles = {{2, 1, 1}}, .minutes = 10,
     .expected = 30, .where = "n1:0x1 n2:0x1"},
    {.name = "what does not fit now first", .nodes = {{"n1", 4, 2}, {"n2", 4, 1}, {"n3", 4, 1}},
     .held = {{"n2", 1, 1, 20}, {"n3", 1, 1, 20}}, .roles = {{3, 1, 1}}, .minutes = 10,
     .expected = 20, .where = "n2:0x1 n3:0x1 n1:0x1"},
    {.name = "beside a promise", .nodes = {{"n1", 4, 2}}, .held = {{"n1", 1, 2, 30}},
     .promised = {{"n1", 1, 2, 30, 15, 3}}, .roles = {{1, 1, 1}}, .minutes = 10, .expected = 45,
     .where = "n1:0x1"},
    {.name = "before a promise", .nodes = {{"n1", 4, 2}}, .held = {{"n1", 1, 2, 30}},
     .promised = {{"n1", 1, 2, 40, 15, 3}}, .roles = {{1, 1, 1}}, .minutes = 10, .expected = 30,
     .where = "n1:0x1"},
    {.name = "too long to go before it", .nodes = {{"n1", 4, 2}}, .held = {{"n1", 1, 2, 30}},
     .promised = {{"n1", 1, 2, 40, 15, 3}}, .roles = {{1, 1, 1}}, .minutes = 11, .expected = 55,
     .where = "n1:0x1"},
    {.name = "on the devices that are not promised", .nodes = {{"n1", 4, 2}},
     .held = {{"n1", 1, 2, 30}}, .promised = {{"n1", 1, 1, 30, 0, 1}}, .roles = {{1, 1, 1}},
     .expected = 30, .where = "n1:0x2"},
    {.name = "one node: the sum", .nodes = {{"n1", 4, 0}, {"n2", 8, 0}},
     .held = {{"n2", 5, 0, 20}}, .roles = {{3, 2, 0}}, .one_node = true, .minutes = 1,
     .expected = 20, .where = "n2:0x0 n2:0x0 n2:0x0"},
    {.name = "roles: the large one first", .nodes = {{"n1", 4, 0}, {"n2", 3, 0}},
     .held = {{"n1", 4, 0, 20}}, .roles = {{1, 2, 0}, {1, 4, 0}}, .minutes = 1, .expected = 20,
     .where = "n2:0x0 n1:0x0"},
};

static uint32_t node_named(const struct lab *l, const char *name)
{
    return world_node_named(l->w, str_of(name))->id;
}

/* The session runs on the node that is named: `where` of a request says so. */
static uint64_t run_on(struct lab *l, const struct held *h)
{
    struct session req = lab_request(1, h->cpu, 1, h->gpu);
    req.time_limit_ms = h->minutes * MINUTE;
    req.where.node = node_named(l, h->on);
    uint64_t id = lab_run(l, &req);
    struct alloc *a = world_allocs_of_session(l->w, world_session(l->w, id));
    assert_non_null(a);
    assert_int_equal(a->node, req.where.node);
    return id;
}

static void promise_on(struct lab *l, size_t row, size_t i)
{
    struct session req = lab_request(1, CASES[row].promised[i].cpu, 1, CASES[row].promised[i].gpu);
    req.hold = true; /* it is not asked about: the promise is made by hand */
    struct promise p = {.session = lab_run(l, &req)};
    p.at_ms = p.first_ms = l->now_ms + CASES[row].promised[i].at * MINUTE;
    p.end_ms = CASES[row].promised[i].minutes > 0
                   ? p.at_ms + CASES[row].promised[i].minutes * MINUTE
                   : PLAN_NEVER;
    struct place_pick pick = {node_named(l, CASES[row].promised[i].on),
                              CASES[row].promised[i].devices};
    VEC_PUSH(&p.picks, pick);
    plan_keep(l->w, &p);
    assert_non_null(plan_of(l->w, p.session));
    assert_true(plan_promised(l->w, pick.node));
}

static struct session request_of(size_t row)
{
    struct session s = lab_request(1, 1, 1, 0);
    s.n_roles = s.members = 0;
    s.one_node = CASES[row].one_node;
    s.time_limit_ms = CASES[row].minutes * MINUTE;
    for (size_t i = 0; i < 2 && CASES[row].roles[i].count > 0; i++) {
        s.roles[i].count = (uint32_t)CASES[row].roles[i].count;
        s.roles[i].slots = lab_slots(CASES[row].roles[i].cpu, 0, CASES[row].roles[i].gpu);
        s.members += s.roles[i].count;
        s.n_roles++;
    }
    return s;
}

static void expect_where(const struct lab *l, const struct promise *p, const char *expected)
{
    char text[256] = "";
    size_t n = 0;
    VEC_EACH(pick, &p->picks) {
        n += (size_t)text_fmt(text + n, sizeof(text) - n, "%s%s:0x%x", n > 0 ? " " : "",
                              world_node(l->w, pick->node)->name, pick->devices);
    }
    assert_string_equal(text, expected);
}

static void run_case(size_t row)
{
    struct lab *l = lab_new(BLOCKED_SKIP);
    uint64_t ids[4] = {0}, blocked_by = 0;
    for (size_t i = 0; i < 3 && CASES[row].nodes[i].name; i++) {
        lab_join(l, CASES[row].nodes[i].name, CASES[row].nodes[i].cpu, 64,
                 CASES[row].nodes[i].gpu);
    }
    for (size_t i = 0; i < 4 && CASES[row].held[i].on; i++) ids[i] = run_on(l, &CASES[row].held[i]);
    for (size_t i = 0; i < 2 && CASES[row].promised[i].on; i++) promise_on(l, row, i);
    struct session s = request_of(row);
    struct promise p = {0};
    bool dated = plan_earliest(l->w, &s, &p, &blocked_by);
    assert_int_equal(dated, CASES[row].expected >= 0);
    if (dated) {
        assert_int_equal(p.at_ms, l->now_ms + CASES[row].expected * MINUTE);
        assert_int_equal(p.end_ms, s.time_limit_ms > 0 ? p.at_ms + s.time_limit_ms : PLAN_NEVER);
        expect_where(l, &p, CASES[row].where);
    } else {
        assert_int_equal(blocked_by, CASES[row].blocker > 0 ? ids[CASES[row].blocker - 1] : 0);
    }
    VEC_DONE(&p.picks);
    lab_free(l);
}

static void cases(void **state)
{
    (void)state;
    for (size_t row = 0; row < ARRAY_LEN(CASES); row++) {
        print_message("case: %s\n", CASES[row].name);
        run_case(row);
    }
}

/* What is held ends with the limit of what runs, with the grace of what stops, and at the
 * next instant when it should be over. */
static void expect_at(const struct lab *l, int64_t at_ms)
{
    struct session s = lab_request(1, 1, 1, 1);
    struct promise p = {0};
    uint64_t blocker;
    s.members = 1;
    assert_true(plan_earliest(l->w, &s, &p, &blocker));
    assert_int_equal(p.at_ms, at_ms);
    VEC_DONE(&p.picks);
}

static void ends(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    struct session req = lab_request(1, 1, 1, 1);
    uint32_t node = lab_join(l, "n1", 4, 8, 1);
    req.time_limit_ms = 60 * MINUTE;
    req.grace_ms = 5 * MINUTE;
    uint64_t id = lab_run(l, &req);
    int64_t began_ms = l->now_ms;
    expect_at(l, began_ms + 60 * MINUTE);
    lab_tick(l, 1000);
    lab_say(l, node, id, 0, MEMBER_RUNNING);
    expect_at(l, began_ms + 1000 + 60 * MINUTE);
    lab_stop(l, id, -1);
    int64_t stopped_ms = l->now_ms;
    expect_at(l, stopped_ms + 5 * MINUTE);
    lab_stop(l, id, 2 * MINUTE); /* a second stop shortens the grace */
    expect_at(l, stopped_ms + 2 * MINUTE);
    lab_tick(l, 3 * MINUTE);
    lab_report(l, node);
    expect_at(l, l->now_ms + 1);
    lab_exit(l, node, id, 0, 143);
    expect_at(l, l->now_ms);
    lab_free(l);
}

/* A promise goes with the node that it stands on, and with its session's turn. */
static void voids(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    struct session req = lab_request(1, 1, 1, 1);
    uint32_t node = lab_join(l, "n1", 4, 8, 1);
    lab_run(l, &req);
    for (int round = 0; round < 3; round++) {
        struct promise p = {.session = lab_run(l, &req), .at_ms = 90000000, .end_ms = PLAN_NEVER};
        uint64_t id = p.session;
        VEC_PUSH(&p.picks, ((struct place_pick){l->nodes[node].id, 1}));
        plan_keep(l->w, &p);
        assert_int_equal(plan_next_ms(l->w), 90000000);
        assert_int_equal(plan_of(l->w, id)->first_ms, 90000000);
        lab_tick(l, 1);
        assert_non_null(plan_of(l->w, id));
        if (round == 0) lab_stop(l, id, -1);
        if (round == 1) lab_step(l, &(struct event){.kind = EVENT_NODE_CORDON,
                                                    .u.cordon = {l->nodes[node].id, true}});
        if (round == 2) assert_true(plan_drop(l->w, id));
        assert_null(plan_of(l->w, id));
        assert_false(plan_promised(l->w, l->nodes[node].id));
        assert_false(plan_drop(l->w, id));
        assert_int_equal(plan_next_ms(l->w), PLAN_NEVER);
        lab_step(l, &(struct event){.kind = EVENT_NODE_CORDON,
                                    .u.cordon = {l->nodes[node].id, false}});
    }
    lab_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cases), cmocka_unit_test(ends),
                                       cmocka_unit_test(voids)};
    return RUN(tests);
}
