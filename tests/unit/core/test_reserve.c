/* Reservations: who gets which devices, what is refused, what others then find. */
#include "harness.h"

#include "core/sched/plan.h"

#define MINUTE INT64_C(60000)

static struct event asks(const struct lab *l, int start, int minutes, int64_t gpu)
{
    struct event ev = {.kind = EVENT_RESERVE, .actor = 1};
    ev.u.reserve.reservation =
        (struct reservation){.group = 1, .user = 2, .n_parts = 1, .slots = lab_slots(1, 1, gpu),
                             .start_ms = start == 0 ? 0 : l->now_ms + start * MINUTE};
    ev.u.reserve.length_ms = minutes * MINUTE;
    return ev;
}

static uint32_t reserved(struct lab *l, const struct event *ev)
{
    if (lab_step(l, ev) != VERDICT_OK) fail_msg("reserve: %s", l->fx.text);
    assert_true(l->fx.reservation > 0);
    assert_int_equal(lab_changes(l, CHANGE_RESERVATION), 1);
    return l->fx.reservation;
}

static uint64_t runs(struct lab *l, uint32_t user, int64_t gpu, int minutes)
{
    struct session req = lab_request(1, 1, 1, gpu);
    req.user = user;
    req.time_limit_ms = minutes * MINUTE;
    return lab_run(l, &req);
}

/* ---- what is refused */

static const struct {
    const char *name;
    int start, minutes, gpu;
    uint32_t nodes, node, user, project, group;
    enum verdict verdict;
    const char *field, *text; /* text: part of it */
} REFUSED[] = {
    {"for nobody", 1, 1, 1, 1, 0, 0, 0, 1, VERDICT_BAD_VALUE, "user", "either"},
    {"for two", 1, 1, 1, 1, 0, 1, 1, 1, VERDICT_BAD_VALUE, "user", "either"},
    {"unknown group", 1, 1, 1, 1, 0, 1, 0, 9, VERDICT_NOT_FOUND, "group", "no such group"},
    {"unknown user", 1, 1, 1, 1, 0, 9, 0, 1, VERDICT_NOT_FOUND, "user", "no such user"},
    {"unknown project", 1, 1, 1, 1, 0, 0, 9, 1, VERDICT_NOT_FOUND, "project", "no such"},
    {"unknown node", 1, 1, 1, 1, 9, 1, 0, 1, VERDICT_NOT_FOUND, "node", "no such node"},
    {"no nodes", 1, 1, 1, 0, 0, 1, 0, 1, VERDICT_BAD_VALUE, "nodes", "1 to 64"},
    {"too many nodes", 1, 1, 1, 65, 0, 1, 0, 1, VERDICT_BAD_VALUE, "nodes", "1 to 64"},
    {"one node twice", 1, 1, 1, 2, 1, 1, 0, 1, VERDICT_BAD_VALUE, "nodes", "named"},
    {"in the past", -1, 5, 1, 1, 0, 1, 0, 1, VERDICT_BAD_VALUE, "start", "past"},
    {"far ahead", 600000, 5, 1, 1, 0, 1, 0, 1, VERDICT_BAD_VALUE, "start", "year"},
    {"of no length", 1, 0, 1, 1, 0, 1, 0, 1, VERDICT_BAD_VALUE, "for", "year"},
    {"too long", 1, 600000, 1, 1, 0, 1, 0, 1, VERDICT_BAD_VALUE, "for", "year"},
    {"too large", 1, 5, 5, 1, 0, 1, 0, 1, VERDICT_IMPOSSIBLE, "",
     "of the 2 that may be used 0 are large enough and 0 free"},
    {"held without a limit", 1, 5, 2, 1, 0, 1, 0, 1, VERDICT_IMPOSSIBLE, "",
     "1 is large enough and 0 free in all that time; on n1 s1 runs without a time limit"},
    {"held for too long", 20, 5, 1, 1, 2, 1, 0, 1, VERDICT_IMPOSSIBLE, "",
     "it needs 1 node, and of the 1 that may be used 1 is large enough and 0 free in all that "
     "time; on n2 s2 may still run for 30 min"},
    {"one is free, two are not", 40, 5, 1, 2, 0, 1, 0, 1, VERDICT_OK, "", ""},
    {"one of two", 5, 5, 1, 2, 0, 1, 0, 1, VERDICT_IMPOSSIBLE, "", "and 1 free in all"},
};

static void refusals(void **state)
{
    (void)state;
    for (size_t row = 0; row < ARRAY_LEN(REFUSED); row++) {
        struct lab *l = lab_new(BLOCKED_SKIP);
        lab_join(l, "n1", 8, 8, 2);
        runs(l, 1, 1, 0);
        lab_join(l, "n2", 8, 8, 1);
        struct session req = lab_request(1, 1, 1, 1);
        req.time_limit_ms = 30 * MINUTE;
        req.where.node = 2;
        lab_run(l, &req);
        struct event ev = asks(l, REFUSED[row].start, REFUSED[row].minutes, REFUSED[row].gpu);
        struct reservation *r = &ev.u.reserve.reservation;
        r->n_parts = REFUSED[row].nodes;
        r->user = REFUSED[row].user;
        r->project = REFUSED[row].project;
        r->group = REFUSED[row].group;
        ev.u.reserve.node = REFUSED[row].node;
        print_message("case: %s\n", REFUSED[row].name);
        assert_int_equal(lab_step(l, &ev), REFUSED[row].verdict);
        assert_string_equal(l->fx.field, REFUSED[row].field);
        if (!strstr(l->fx.text, REFUSED[row].text)) fail_msg("it says: %s", l->fx.text);
        assert_int_equal(l->w->reservations.n, REFUSED[row].verdict == VERDICT_OK);
        lab_free(l);
    }
}

/* ---- what is kept */

static void others_keep_off(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    uint32_t node = lab_join(l, "n1", 8, 8, 2);
    struct event ev = asks(l, 60, 30, 2);
    uint32_t id = reserved(l, &ev);
    assert_int_equal(world_reservation(l->w, id)->parts[0].node, l->nodes[node].id);
    assert_int_equal(world_reservation(l->w, id)->parts[0].devices, 3);
    assert_int_equal(plan_next_ms(l->w), l->now_ms + 60 * MINUTE);
    uint64_t brief = runs(l, 1, 1, 60), lengthy = runs(l, 1, 1, 61);
    uint64_t owner = runs(l, 2, 1, 0);
    assert_int_equal(lab_state(l, brief), SESSION_ALLOCATED);
    assert_int_equal(lab_state(l, lengthy), SESSION_PENDING);
    assert_int_equal(lab_state(l, owner), SESSION_ALLOCATED);
    lab_expect_why(l, lengthy, WHY_NO_CAPACITY,
                   "needs 1 more GPU: n1 has 0 of 2 free, 1 asked; r1 keeps room there for others "
                   "in 1 h (1 node: 1 busy); place 1 of 1 in the queue");
    lab_restart(l);
    lab_report(l, node);
    lab_tick(l, MINUTE);
    assert_int_equal(lab_state(l, lengthy), SESSION_PENDING);
    assert_int_equal(world_reservation(l->w, id)->parts[0].devices, 3);
    lab_stop(l, brief, 0);
    lab_settle(l);
    assert_int_equal(lab_state(l, lengthy), SESSION_PENDING); /* it would run into it */
    lab_step(l, &(struct event){.kind = EVENT_UNRESERVE, .actor = 1, .u.unreserve = {id}});
    assert_int_equal(l->fx.verdict, VERDICT_OK);
    assert_int_equal(lab_changes(l, CHANGE_RESERVATION_GONE), 1);
    assert_int_equal(lab_state(l, lengthy), SESSION_ALLOCATED);
    lab_step(l, &(struct event){.kind = EVENT_UNRESERVE, .actor = 1, .u.unreserve = {id}});
    assert_int_equal(l->fx.verdict, VERDICT_NOT_FOUND);
    lab_free(l);
}

static void over_by_time(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    uint32_t node = lab_join(l, "n1", 8, 8, 1);
    struct event ev = asks(l, 0, 30, 1);
    uint32_t id = reserved(l, &ev);
    uint64_t other = runs(l, 1, 1, 5);
    assert_int_equal(lab_state(l, other), SESSION_PENDING);
    assert_int_equal(plan_next_ms(l->w), l->now_ms + 30 * MINUTE);
    lab_report(l, node);
    l->now_ms += 30 * MINUTE - 1;
    lab_report(l, node);
    assert_non_null(world_reservation(l->w, id));
    assert_int_equal(lab_state(l, other), SESSION_PENDING);
    l->now_ms += 1;
    lab_report(l, node);
    assert_null(world_reservation(l->w, id));
    assert_int_equal(lab_changes(l, CHANGE_RESERVATION_GONE), 1);
    assert_int_equal(lab_state(l, other), SESSION_ALLOCATED);
    lab_restart(l);
    assert_int_equal(l->w->reservations.n, 0);
    lab_free(l);
}

/* Of the same shape as one that is refused, but for its owner. */
static void the_owner_finds_it(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    lab_join(l, "n1", 8, 8, 1);
    struct event ev = asks(l, 0, 30, 1);
    uint64_t early = runs(l, 1, 1, 0);
    lab_stop(l, early, 0);
    lab_settle(l);
    (void)reserved(l, &ev);
    uint64_t other = runs(l, 1, 1, 5), owner = runs(l, 2, 1, 5), second = runs(l, 2, 1, 5);
    assert_int_equal(lab_state(l, other), SESSION_PENDING);
    assert_int_equal(lab_state(l, owner), SESSION_ALLOCATED);
    assert_int_equal(lab_state(l, second), SESSION_PENDING);
    lab_stop(l, owner, 0);
    lab_settle(l);
    assert_int_equal(lab_state(l, second), SESSION_RUNNING);
    assert_int_equal(lab_state(l, other), SESSION_PENDING);
    lab_free(l);
}

/* To make the owner's sessions leave would help nobody else: what they held is kept. */
static void nobody_is_evicted_for_it(void **state)
{
    (void)state;
    for (int reserve = 0; reserve < 2; reserve++) {
        struct lab *l = lab_new(BLOCKED_SKIP);
        struct event put = {.kind = EVENT_GROUP_PUT, .actor = 1};
        put.u.group = *world_group(l->w, 1);
        put.u.group.preempt = (struct preempt_policy){.enabled = true, .mode = PREEMPT_TERMINATE,
                                                      .scope = SCOPE_GROUP,
                                                      .order = VICTIM_NEWEST};
        assert_int_equal(lab_step(l, &put), VERDICT_OK);
        uint32_t node = lab_join(l, "n1", 8, 8, 0);
        struct event ev = asks(l, 0, 60, 0);
        ev.u.reserve.reservation.slots = lab_slots(6, 4, 0);
        if (reserve) (void)reserved(l, &ev);
        struct session req = lab_request(1, 6, 1, 0);
        req.user = 2;
        req.preemptible = true;
        uint64_t owner = lab_run(l, &req);
        lab_say(l, node, owner, 0, MEMBER_RUNNING);
        req.user = 1;
        req.priority = 90;
        uint64_t other = lab_run(l, &req);
        assert_int_equal(lab_state(l, owner), reserve ? SESSION_RUNNING : SESSION_STOPPING);
        assert_int_equal(lab_state(l, other), reserve ? SESSION_PENDING : SESSION_RESERVED);
        lab_free(l);
    }
}

/* They wait side by side when it is made, and again when it is removed. */
static void who_waits_already(void **state)
{
    (void)state;
    for (int removed = 0; removed < 2; removed++) {
        struct lab *l = lab_new(BLOCKED_SKIP);
        lab_join(l, "n1", 8, 8, 1);
        uint64_t first = runs(l, 1, 1, 5), other = runs(l, 1, 1, 100), owner = runs(l, 2, 1, 0);
        struct event ev = asks(l, 10, 30, 1);
        uint32_t id = reserved(l, &ev);
        if (removed) {
            lab_step(l, &(struct event){.kind = EVENT_UNRESERVE, .actor = 1,
                                        .u.unreserve = {id}});
        }
        lab_stop(l, first, 0);
        lab_settle(l);
        assert_int_equal(lab_state(l, other), removed ? SESSION_RUNNING : SESSION_PENDING);
        assert_int_equal(lab_state(l, owner), removed ? SESSION_PENDING : SESSION_RUNNING);
        lab_free(l);
    }
}

static void who_ends_before_it_passes(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    lab_join(l, "n1", 8, 8, 1);
    struct event ev = asks(l, 60, 30, 1);
    (void)reserved(l, &ev);
    uint64_t lengthy = runs(l, 1, 1, 61), brief = runs(l, 1, 1, 60);
    assert_int_equal(lab_state(l, lengthy), SESSION_PENDING);
    assert_int_equal(lab_state(l, brief), SESSION_ALLOCATED);
    lab_free(l);
}

static void what_is_free_stays_usable(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    lab_join(l, "n1", 8, 8, 1);
    uint32_t busy = lab_join(l, "n2", 8, 8, 1);
    struct session req = lab_request(1, 1, 1, 1);
    req.time_limit_ms = 10 * MINUTE;
    req.where.node = l->nodes[busy].id;
    lab_run(l, &req);
    struct event ev = asks(l, 10, 30, 1);
    uint32_t id = reserved(l, &ev);
    assert_int_equal(world_reservation(l->w, id)->parts[0].node, l->nodes[busy].id);
    id = reserved(l, &ev);
    assert_int_equal(world_reservation(l->w, id)->parts[0].node, l->nodes[0].id);
    assert_int_equal(lab_step(l, &ev), VERDICT_IMPOSSIBLE);
    lab_free(l);
}

/* What the owner runs there is part of what is reserved, not beside it. */
static void what_the_owner_holds_counts(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    lab_join(l, "n1", 8, 8, 2);
    struct event ev = asks(l, 0, 60, 0);
    ev.u.reserve.reservation.slots = lab_slots(4, 4, 0);
    (void)reserved(l, &ev);
    struct session req = lab_request(1, 3, 1, 0);
    req.time_limit_ms = MINUTE;
    req.user = 2;
    uint64_t owner = lab_run(l, &req);
    req.user = 1;
    req.roles[0].slots = lab_slots(4, 1, 0);
    uint64_t other = lab_run(l, &req);
    assert_int_equal(lab_state(l, owner), SESSION_ALLOCATED);
    assert_int_equal(lab_state(l, other), SESSION_ALLOCATED); /* 4 are kept, 3 of them in use */
    req.roles[0].slots = lab_slots(1, 1, 0);
    uint64_t third = lab_run(l, &req);
    assert_int_equal(lab_state(l, third), SESSION_PENDING);
    lab_free(l);
}

/* Promises and reservations make room for each other. */
static void beside_promises(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    lab_join(l, "n1", 8, 8, 2);
    runs(l, 1, 2, 10);
    struct session req = lab_request(1, 1, 1, 2);
    req.time_limit_ms = 20 * MINUTE;
    uint64_t waits = lab_run(l, &req), blocker;
    struct promise p = {0};
    assert_true(plan_earliest(l->w, world_session(l->w, waits), &p, &blocker));
    assert_int_equal(p.at_ms, l->now_ms + 10 * MINUTE);
    plan_keep(l->w, &p);
    struct event ev = asks(l, 15, 5, 1);
    assert_int_equal(lab_step(l, &ev), VERDICT_IMPOSSIBLE);
    assert_non_null(strstr(l->fx.text, "on n1 it is promised or reserved"));
    ev = asks(l, 30, 5, 1);
    (void)reserved(l, &ev);
    assert_non_null(plan_of(l->w, waits));
    req.id = 0;
    req.members = 1;
    req.time_limit_ms = MINUTE;
    assert_true(plan_earliest(l->w, &req, &p, &blocker));
    assert_int_equal(p.at_ms, l->now_ms + 35 * MINUTE);
    VEC_DONE(&p.picks);
    lab_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals),         cmocka_unit_test(others_keep_off),
        cmocka_unit_test(over_by_time),     cmocka_unit_test(the_owner_finds_it),
        cmocka_unit_test(what_the_owner_holds_counts), cmocka_unit_test(beside_promises),
        cmocka_unit_test(who_waits_already), cmocka_unit_test(who_ends_before_it_passes),
        cmocka_unit_test(what_is_free_stays_usable),
        cmocka_unit_test(nobody_is_evicted_for_it),
    };
    return RUN(tests);
}
