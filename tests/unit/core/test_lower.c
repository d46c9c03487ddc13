/* The blocked head of a strict group: what counts as a failed attempt, and what many of them
 * do to its place.  Seed experiment 1, "Queue order".  docs/spec/scheduling.md */
#include "harness.h"

#include "core/sched/pass.h"

#define PRIORITY 15

static uint64_t ask(struct lab *l, int64_t cpu, int32_t priority)
{
    struct session s = lab_request(1, cpu, 1, 0);
    s.priority = priority;
    return lab_run(l, &s);
}

static const struct session *of(const struct lab *l, uint64_t id)
{
    const struct session *s = world_session(l->w, id);
    assert_non_null(s);
    return s;
}

static void policy(struct lab *l, enum on_blocked blocked, uint32_t after, int32_t by)
{
    struct event ev = {.kind = EVENT_GROUP_PUT};
    ev.u.group = l->w->groups.v[0];
    ev.u.group.on_blocked = blocked;
    ev.u.group.lower_after = after;
    ev.u.group.lower_by = by;
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
}

/* Until its next attempt, which a timer fires: nothing else happens. */
static void next_minute(struct lab *l, uint64_t id)
{
    int64_t at = of(l, id)->blocked_ms;
    assert_true(at > l->now_ms);
    assert_true(at <= l->now_ms + PASS_ATTEMPT_MS);
    while (l->now_ms < at) {
        for (uint32_t i = 0; i < l->n_nodes; i++) lab_report(l, i); /* nobody falls silent */
        assert_true(step_next_deadline(l->w) <= at);
        lab_tick(l, at - l->now_ms < 5000 ? at - l->now_ms : 5000);
    }
    while (l->fx.more) lab_tick(l, 0);
}

struct seed { struct lab *l; uint32_t n1; uint64_t current, alice, bob; };

/* 2 of 4 are taken; Alice needs 4, Bob 1.  Alice has failed once. */
static struct seed seed(enum on_blocked blocked)
{
    struct seed s = {.l = lab_new(blocked)};
    struct group *g = &s.l->w->groups.v[0];
    policy(s.l, blocked, GROUP_LOWER_AFTER, GROUP_LOWER_BY);
    assert_int_equal(g->lower_after, 5);
    assert_int_equal(g->lower_by, 10);
    s.n1 = lab_join(s.l, "n1", 4, 8, 0);
    s.current = ask(s.l, 2, PRIORITY);
    lab_settle(s.l);
    s.alice = ask(s.l, 4, PRIORITY);
    s.bob = ask(s.l, 1, PRIORITY);
    return s;
}

/* Five failed attempts change nothing, the sixth lowers by ten: Bob, whose skips do not
 * count, is tried first and runs.  She keeps her number: of her new priority she is first. */
static void the_sixth_lowers(void **state)
{
    (void)state;
    struct seed s = seed(BLOCKED_STOP);
    for (uint32_t tries = 1; tries <= 5; tries++) {
        if (tries > 1) next_minute(s.l, s.alice);
        assert_int_equal(of(s.l, s.alice)->blocked_tries, tries);
        assert_int_equal(of(s.l, s.alice)->lowered, 0);
        assert_int_equal(lab_state(s.l, s.bob), SESSION_PENDING);
        assert_int_equal(of(s.l, s.bob)->blocked_tries, 0);
    }
    uint64_t late = ask(s.l, 4, PRIORITY - 10); /* of that priority, but younger */
    next_minute(s.l, s.alice);
    assert_int_equal(of(s.l, s.alice)->lowered, 10);
    assert_int_equal(of(s.l, s.alice)->priority, PRIORITY); /* what people set stays */
    assert_int_equal(lab_state(s.l, s.bob), SESSION_ALLOCATED);
    assert_int_equal(of(s.l, s.bob)->lowered, 0);
    lab_settle(s.l);
    lab_exit(s.l, s.n1, s.bob, 0, 0);
    lab_exit(s.l, s.n1, s.current, 0, 0);
    assert_int_equal(lab_state(s.l, s.alice), SESSION_ALLOCATED);
    assert_int_equal(lab_state(s.l, late), SESSION_PENDING);
    lab_free(s.l);
}

/* Whatever else happens meanwhile, a minute counts once; and a restart neither. */
static void once_a_minute(void **state)
{
    (void)state;
    struct seed s = seed(BLOCKED_STOP);
    for (int i = 0; i < 20; i++) ask(s.l, 4, PRIORITY);
    lab_report(s.l, s.n1);
    assert_int_equal(of(s.l, s.alice)->blocked_tries, 1);
    lab_restart(s.l);
    lab_report(s.l, s.n1);
    ask(s.l, 4, PRIORITY);
    assert_int_equal(of(s.l, s.alice)->blocked_tries, 1);
    next_minute(s.l, s.alice);
    assert_int_equal(of(s.l, s.alice)->blocked_tries, 2);
    lab_free(s.l);
}

/* Lowered again and again, but not below zero; then nothing is left to lower. */
static void never_below_zero(void **state)
{
    (void)state;
    struct seed s = seed(BLOCKED_STOP);
    int32_t seen = 0;
    policy(s.l, BLOCKED_STOP, 1, 10);
    lab_stop(s.l, s.bob, 0);
    for (int i = 0; i < 8; i++) {
        next_minute(s.l, s.alice);
        int32_t lowered = of(s.l, s.alice)->lowered;
        assert_true(lowered >= seen);
        assert_true(session_order_priority(of(s.l, s.alice)) >= 0);
        seen = lowered;
    }
    assert_int_equal(seen, PRIORITY);
    lab_free(s.l);
}

/* Either number 0 turns it off; the other policies do not know it. */
static void turned_off(void **state)
{
    (void)state;
    static const struct { enum on_blocked blocked; uint32_t after; int32_t by; } cases[] = {
        {BLOCKED_STOP, 0, 10}, {BLOCKED_STOP, 1, 0}, {BLOCKED_SKIP, 1, 10},
        {BLOCKED_BACKFILL, 1, 10},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct seed s = seed(BLOCKED_STOP);
        policy(s.l, cases[i].blocked, cases[i].after, cases[i].by);
        for (int k = 0; k < 40; k++) {
            lab_report(s.l, s.n1);
            lab_tick(s.l, 10000);
        }
        assert_int_equal(of(s.l, s.alice)->lowered, 0);
        lab_free(s.l);
    }
}

/* A priority that a person sets counts, and counting begins anew. */
static void a_person_ends_it(void **state)
{
    (void)state;
    struct seed s = seed(BLOCKED_STOP);
    policy(s.l, BLOCKED_STOP, 1, 10);
    next_minute(s.l, s.alice);
    assert_int_equal(of(s.l, s.alice)->lowered, 10);
    assert_int_equal(lab_state(s.l, s.bob), SESSION_ALLOCATED);
    struct event ev = {.kind = EVENT_UPDATE};
    ev.u.update = (struct event_update){.session = s.alice, .fields = UPDATE_PRIORITY,
                                        .priority = 20};
    assert_int_equal(lab_step(s.l, &ev), VERDICT_OK);
    assert_int_equal(of(s.l, s.alice)->lowered, 0);
    assert_int_equal(session_order_priority(of(s.l, s.alice)), 20);
    assert_true(of(s.l, s.alice)->blocked_tries <= 1);
    lab_free(s.l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sixth_lowers), cmocka_unit_test(once_a_minute),
        cmocka_unit_test(never_below_zero), cmocka_unit_test(turned_off),
        cmocka_unit_test(a_person_ends_it),
    };
    return RUN(tests);
}
