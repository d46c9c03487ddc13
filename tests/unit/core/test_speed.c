/* Guards against work that grows with what did not change.
 *
 * Not a benchmark: the bounds are many times what a slow machine needs, and a
 * scan of all pending sessions per event would miss them by far. */
#include "harness.h"

#include <time.h>

#define PENDING 100000
#define NODES 1000
#define EVENTS 2000
#if defined(__SANITIZE_ADDRESS__)
#define SLOWER 6 /* what a sanitizer costs */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLOWER 6
#endif
#endif
#ifndef SLOWER
#define SLOWER 1
#endif
#define ROWS 40000

static int64_t cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct bulk { struct world *w; struct effects fx; };

static void bulk_step(struct bulk *b, const struct event *ev)
{
    b->w->turn++;
    step(b->w, ev, &b->fx);
    assert_int_equal(b->fx.verdict, VERDICT_OK);
}

static struct bulk cluster(enum on_blocked blocked, int nodes)
{
    struct bulk b = {.w = world_new()};
    const char *why = NULL;
    world_put_domain(b.w, &(struct domain){.id = 1, .name = "d"});
    world_put_project(b.w, &(struct project){.id = 1, .domain = 1, .name = "p"});
    world_put_user(b.w, &(struct user){.id = 1, .domain = 1, .name = "u"});
    struct group g = group_make(1, "g", blocked);
    world_put_group(b.w, &g);
    assert_true(world_ready(b.w, &why));
    for (int i = 0; i < nodes; i++) {
        struct event ev = {.kind = EVENT_NODE_JOIN, .now_ms = 1};
        ev.u.join.node = (struct node){.group = 1, .capacity = lab_slots(4, 8, 0)};
        text_fmt(ev.u.join.node.name, sizeof(ev.u.join.node.name), "n%d", i);
        bulk_step(&b, &ev);
    }
    return b;
}

static void submit(struct bulk *b, uint32_t shapes, int i)
{
    struct event ev = {.kind = EVENT_SUBMIT, .now_ms = 2};
    ev.u.submit.session = lab_request(1, 4, 1, 0);
    ev.u.submit.session.roles[0].slots.v[SLOT_MEM] += i % (int)shapes;
    bulk_step(b, &ev);
}

/* Whatever runs on the node ends; then the next start there. */
static void complete(struct bulk *b, uint32_t node, uint64_t seq)
{
    const struct alloc *a = world_allocs_of_node(b->w, world_node(b->w, node));
    assert_non_null(a);
    struct member_report gone = {.ref = a->ref, .phase = MEMBER_EXITED};
    struct event ev = {.kind = EVENT_NODE_REPORT, .now_ms = 3};
    ev.u.report = (struct event_report){.node = node, .seq = seq, .members = &gone,
                                        .n_members = 1};
    bulk_step(b, &ev);
    assert_non_null(world_allocs_of_node(b->w, world_node(b->w, node)));
}

static void events_stay_cheap(void **state)
{
    (void)state;
    static const struct { enum on_blocked blocked; uint32_t shapes; } CASES[] = {
        {BLOCKED_STOP, 1}, {BLOCKED_SKIP, 1}, {BLOCKED_SKIP, 50}};
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct bulk b = cluster(CASES[i].blocked, NODES);
        int64_t start = cpu_ms();
        for (int k = 0; k < PENDING + NODES; k++) submit(&b, CASES[i].shapes, k);
        int64_t submitted = cpu_ms();
        assert_int_equal(b.w->queues.v[0].n, PENDING);
        for (uint32_t k = 0; k < EVENTS; k++) complete(&b, 1 + k % NODES, 1 + k);
        int64_t completed = cpu_ms();
        assert_null(world_audit(b.w));
        print_message("%s, %u shapes: %lld us a submit, %lld us a completion\n",
                      on_blocked_name(CASES[i].blocked), CASES[i].shapes,
                      (long long)((submitted - start) * 1000 / (PENDING + NODES)),
                      (long long)((completed - submitted) * 1000 / EVENTS));
        assert_true(submitted - start < 20000 * SLOWER);   /* 200 us each */
        assert_true(completed - submitted < 8000 * SLOWER); /* 4 ms each */
        world_free(b.w);
        effects_done(&b.fx);
    }
}

/* 100,000 pending with back-off or without: a beat looks at none of them. */
static void beats_are_free(void **state)
{
    (void)state;
    struct bulk b = cluster(BLOCKED_SKIP, NODES);
    for (int k = 0; k < PENDING; k++) submit(&b, 1, k);
    int64_t start = cpu_ms();
    for (uint64_t seq = 1; seq <= 20; seq++) {
        for (uint32_t node = 1; node <= NODES; node++) {
            struct event ev = {.kind = EVENT_NODE_REPORT, .now_ms = (int64_t)seq * 2000};
            ev.u.report = (struct event_report){.node = node, .seq = seq};
            bulk_step(&b, &ev);
            assert_int_equal(b.fx.changes.n, 0);
        }
    }
    assert_true(cpu_ms() - start < 2000 * SLOWER); /* 100 us each */
    world_free(b.w);
    effects_done(&b.fx);
}

/* What one comes to, or leaves, is not counted anew for each: 40,000 on one node. */
static void rows_of_one_node(void **state)
{
    (void)state;
    struct bulk b = cluster(BLOCKED_STOP, 0);
    struct event ev = {.kind = EVENT_NODE_JOIN, .now_ms = 1};
    ev.u.join.node = (struct node){.name = "big", .group = 1,
                                   .capacity = lab_slots(ROWS, ROWS, 0)};
    bulk_step(&b, &ev);
    int64_t start = cpu_ms();
    for (int k = 0; k < ROWS; k++) {
        ev = (struct event){.kind = EVENT_SUBMIT, .now_ms = 2};
        ev.u.submit.session = lab_request(1, 1, 1, 0);
        bulk_step(&b, &ev);
    }
    assert_int_equal(b.w->queues.v[0].n, 0);
    ev = (struct event){.kind = EVENT_NODE_REPORT, .now_ms = 3};
    ev.u.report = (struct event_report){.node = 1, .seq = 1, .turn = b.w->turn};
    bulk_step(&b, &ev); /* it has none of them any more: all wait for their next start */
    int64_t took = cpu_ms() - start;
    assert_int_equal(b.w->queues.v[0].n, ROWS);
    assert_true(slots_zero(&world_node(b.w, 1)->used));
    assert_null(world_audit(b.w));
    print_message("one node: %lld us a row\n", (long long)(took * 1000 / ROWS));
    assert_true(took < 6000 * SLOWER); /* 150 us each; most of it is the memory of changes */
    world_free(b.w);
    effects_done(&b.fx);
}

/* A pass over many nodes is cut into more steps: 300 shapes, each searched for on 10,000. */
static void slices_count_nodes(void **state)
{
    (void)state;
    struct bulk b = cluster(BLOCKED_SKIP, 9999);
    for (int k = 0; k < 9999; k++) submit(&b, 1, k);
    for (uint32_t k = 0; k < 300; k++) { /* two nodes each, and all but one are taken */
        struct event ev = {.kind = EVENT_SUBMIT, .now_ms = 2};
        ev.u.submit.session = lab_request(2, 4, 1, 0);
        /* Each asks less than all before: what is known of those says nothing of it. */
        ev.u.submit.session.roles[0].slots.v[SLOT_MEM] += 300 - k;
        bulk_step(&b, &ev);
    }
    struct event ev = {.kind = EVENT_NODE_JOIN, .now_ms = 3};
    ev.u.join.node = (struct node){.name = "one-more", .group = 1,
                                   .capacity = lab_slots(4, 8, 0)};
    uint32_t steps = 1;
    for (bulk_step(&b, &ev); b.fx.more; steps++) {
        bulk_step(&b, &(struct event){.kind = EVENT_TICK, .now_ms = 3});
    }
    assert_int_equal(b.w->queues.v[0].n, 300);
    assert_in_range(steps, 3, 5);
    world_free(b.w);
    effects_done(&b.fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_stay_cheap),
        cmocka_unit_test(beats_are_free),
        cmocka_unit_test(rows_of_one_node),
        cmocka_unit_test(slices_count_nodes),
    };
    return RUN(tests);
}
