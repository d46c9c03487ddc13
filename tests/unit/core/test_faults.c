/* Faults of others that cross several files here.  Ids are those of docs/faults.md. */
#include "harness.h"

static void policy(struct lab *l, int64_t min_runtime_ms)
{
    struct event ev = {.kind = EVENT_GROUP_PUT, .u.group = l->w->groups.v[0]};
    ev.u.group.preempt = (struct preempt_policy){
        .enabled = true, .mode = PREEMPT_TERMINATE, .scope = SCOPE_GROUP, .order = VICTIM_NEWEST,
        .min_runtime_ms = min_runtime_ms};
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
}

/* A node whose devices are all of one model. */
static uint32_t join(struct lab *l, const char *name, const char *model, int64_t gpus)
{
    uint32_t at = lab_join(l, name, 16, 64, gpus);
    struct event ev = {.kind = EVENT_NODE_JOIN};
    ev.u.join.node = *world_node(l->w, l->nodes[at].id);
    for (uint32_t i = 0; i < ev.u.join.node.n_devices; i++)
        assert_true(TEXT_SET(ev.u.join.node.devices[i].model, str_of(model)));
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    return at;
}

static struct session request(int64_t gpus, int32_t priority)
{
    struct session s = lab_request(1, 1, 1, gpus);
    s.priority = priority;
    s.preemptible = true;
    return s;
}

static uint64_t ask(struct lab *l, int64_t gpus, int32_t priority)
{
    struct session s = request(gpus, priority);
    return lab_run(l, &s);
}

static uint64_t runs(struct lab *l, int64_t gpus, int32_t priority)
{
    uint64_t id = ask(l, gpus, priority);
    lab_settle(l);
    assert_int_equal(lab_state(l, id), SESSION_RUNNING);
    return id;
}

static uint64_t ask_model(struct lab *l, int64_t gpus, int32_t priority, const char *models)
{
    struct session s = request(gpus, priority);
    assert_true(TEXT_SET(s.where.gpu_models, str_of(models)));
    return lab_run(l, &s);
}

static uint32_t stopping(const struct lab *l)
{
    uint32_t n = 0;
    VEC_EACH(s, &l->w->sessions) n += s->state == SESSION_STOPPING;
    return n;
}

/* A strict queue's stuck head is nothing to another group's. */
static void pri2_a_head_of_another_group(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    struct event ev = {.kind = EVENT_GROUP_PUT, .u.group = group_make(0, "second", BLOCKED_STOP)};
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    lab_join(l, "n1", 4, 8, 0);
    uint32_t n2 = lab_join(l, "n2", 4, 8, 0);
    ev = (struct event){.kind = EVENT_NODE_JOIN};
    ev.u.join.node = *world_node(l->w, l->nodes[n2].id);
    ev.u.join.node.group = 2;
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    struct session s = lab_request(1, 3, 1, 0);
    s.priority = 0;
    lab_run(l, &s);
    uint64_t stuck = lab_run(l, &s);
    assert_int_equal(lab_state(l, stuck), SESSION_PENDING);
    s.priority = 10;
    s.group = 2;
    assert_int_equal(lab_state(l, lab_run(l, &s)), SESSION_ALLOCATED);
    lab_free(l);
}

/* What was found for one priority is not believed of another: the same shape, and only the
 * second may make room. */
static void pri7_the_same_shape_twice(void **state)
{
    (void)state;
    static const int32_t priorities[] = {0, 1, 10};
    for (size_t i = 0; i < ARRAY_LEN(priorities); i++) {
        struct lab *l = lab_new(BLOCKED_SKIP);
        policy(l, 0);
        lab_join(l, "n1", 16, 64, 1);
        uint64_t low = runs(l, 1, 10);
        uint64_t first = ask(l, 1, priorities[i]), second = ask(l, 1, 100);
        assert_int_equal(lab_state(l, first), SESSION_PENDING);
        assert_int_equal(lab_state(l, second), SESSION_RESERVED);
        assert_int_equal(lab_state(l, low), SESSION_STOPPING);
        lab_free(l);
    }
}

/* Victims there are, but not where it may run: nobody goes. */
static void pre2_evicted_for_nothing(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    policy(l, 0);
    uint32_t n1 = lab_join(l, "n1", 16, 64, 1);
    struct session s = request(1, 0);
    s.where.node = l->nodes[n1].id;
    uint64_t low = lab_run(l, &s);
    uint32_t n2 = lab_join(l, "n2", 16, 64, 1);
    s.where.node = l->nodes[n2].id;
    s.preemptible = false;
    uint64_t fixed = lab_run(l, &s);
    lab_settle(l);
    s.priority = 50; /* it has to run on n2, where nobody may be ended */
    uint64_t high = lab_run(l, &s);
    assert_int_equal(lab_state(l, high), SESSION_PENDING);
    assert_int_equal(lab_state(l, low), SESSION_RUNNING);
    assert_int_equal(lab_state(l, fixed), SESSION_RUNNING);
    lab_free(l);
}

/* Four nodes of eight, on each 6 of a higher and 2 of a lower priority.  Nobody's end makes
 * eight in one place, so nobody is ended; and two of them that are free are not fenced. */
static void pre4_scattered_victims(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    policy(l, 0);
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = {"n1", "n2", "n3", "n4"};
        uint32_t at = lab_join(l, names[i], 16, 64, 8);
        struct session s = request(6, 50);
        s.where.node = l->nodes[at].id;
        lab_run(l, &s);
        s = request(1, 0);
        s.where.node = l->nodes[at].id;
        lab_run(l, &s);
    }
    lab_settle(l);
    uint64_t eight = ask(l, 8, 40);
    assert_int_equal(lab_state(l, eight), SESSION_PENDING);
    assert_int_equal(stopping(l), 0);
    uint64_t one = ask(l, 1, 30);
    assert_int_equal(lab_state(l, one), SESSION_ALLOCATED);
    assert_int_equal(stopping(l), 0);
    lab_free(l);
}

/* The devices of the victims must be those that were asked for. */
static void pre5_victims_of_another_model(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    policy(l, 0);
    join(l, "n1", "NVIDIA L40S", 1);
    uint64_t l40s = runs(l, 1, 0);
    join(l, "n2", "NVIDIA H20", 1);
    uint64_t h20 = runs(l, 1, 5);
    uint64_t high = ask_model(l, 1, 50, "h20");
    assert_int_equal(lab_state(l, high), SESSION_RESERVED);
    assert_int_equal(lab_state(l, h20), SESSION_STOPPING);   /* although its priority is higher */
    assert_int_equal(lab_state(l, l40s), SESSION_RUNNING);
    uint64_t second = ask_model(l, 1, 40, "h20");
    assert_int_equal(lab_state(l, second), SESSION_PENDING); /* nobody is left there */
    assert_int_equal(lab_state(l, l40s), SESSION_RUNNING);
    lab_free(l);
}

/* Of several that it may have, the free one: nobody goes. */
static void pre7_an_alternative_is_free(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    policy(l, 0);
    join(l, "n1", "NVIDIA A100", 1);
    uint64_t low = runs(l, 1, 0);
    join(l, "n2", "NVIDIA L4", 1);
    uint64_t high = ask_model(l, 1, 50, "a100|l4");
    assert_int_equal(lab_state(l, high), SESSION_ALLOCATED);
    assert_int_equal(lab_state(l, low), SESSION_RUNNING);
    lab_free(l);
}

/* The first in order of the victims may not be ended: those behind it are still found. */
static void pre11_the_first_may_not_go(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    policy(l, 60000);
    lab_join(l, "n1", 16, 64, 3);
    uint64_t old = runs(l, 1, 0);
    for (int i = 0; i < 6; i++) {
        lab_tick(l, 10000);
        lab_report(l, 0);
    }
    struct session fixed = request(1, 0); /* newer, and not preemptible */
    fixed.preemptible = false;
    uint64_t held = lab_run(l, &fixed);
    uint64_t young = runs(l, 1, 0); /* newest, and not long enough at work */
    uint64_t high = ask(l, 1, 50);
    assert_int_equal(lab_state(l, high), SESSION_RESERVED);
    assert_int_equal(lab_state(l, old), SESSION_STOPPING);
    assert_int_equal(lab_state(l, held), SESSION_RUNNING);
    assert_int_equal(lab_state(l, young), SESSION_RUNNING);
    lab_free(l);
}

/* Its node is lost and it was being stopped as well: the day's silence still ends it. */
static void gng8_lost_while_it_stops(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    lab_join(l, "n1", 4, 8, 1);
    uint32_t n2 = lab_join(l, "n2", 4, 8, 1);
    struct session gang = lab_request(2, 1, 1, 1);
    uint64_t id = lab_run(l, &gang);
    lab_settle(l);
    assert_int_equal(lab_state(l, id), SESSION_RUNNING);
    lab_stop(l, id, 1000);
    lab_act(l, 0); /* one member ends; the node of the other is never heard again */
    assert_int_equal(lab_state(l, id), SESSION_STOPPING);
    for (int h = 0; h < 25 && lab_state(l, id) != SESSION_ENDED; h++) {
        lab_report(l, 0);
        lab_tick(l, 3600000);
    }
    assert_int_equal(lab_state(l, id), SESSION_ENDED);
    assert_true(world_node(l->w, l->nodes[n2].id)->unreachable);
    lab_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pri2_a_head_of_another_group),
        cmocka_unit_test(pri7_the_same_shape_twice),
        cmocka_unit_test(pre2_evicted_for_nothing),
        cmocka_unit_test(pre4_scattered_victims),
        cmocka_unit_test(pre5_victims_of_another_model),
        cmocka_unit_test(pre7_an_alternative_is_free),
        cmocka_unit_test(pre11_the_first_may_not_go),
        cmocka_unit_test(gng8_lost_while_it_stops),
    };
    return RUN(tests);
}
