/* Every outcome of a waiting session in words, with its numbers; and what a check is told. */
#include "harness.h"

#define MIN INT64_C(60000)

/* Time goes by, and the nodes are heard on. */
static void pass_ms(struct lab *l, int64_t ms)
{
    for (; ms > 0; ms -= 10000) {
        for (uint32_t i = 0; i < l->n_nodes; i++) lab_report(l, i);
        lab_tick(l, ms < 10000 ? ms : 10000);
        lab_settle(l);
    }
}

static struct session request(int64_t cpu, int64_t limit_ms)
{
    struct session s = lab_request(1, cpu, 1, 0);
    s.time_limit_ms = limit_ms;
    s.grace_ms = 0;
    return s;
}

static uint64_t runs(struct lab *l, int64_t cpu, int64_t limit_ms)
{
    struct session s = request(cpu, limit_ms);
    uint64_t id = lab_run(l, &s);
    lab_settle(l);
    return id;
}

static struct lab *one_node(enum on_blocked blocked)
{
    struct lab *l = lab_new(blocked);
    lab_join(l, "n1", 4, 64, 0);
    return l;
}

/* ---- its turn has not come */

static void waits_for_others(void **state)
{
    (void)state;
    struct lab *l = one_node(BLOCKED_BACKFILL);
    struct event ev = {.kind = EVENT_SUBMIT};
    struct session prep = request(1, 0);
    memcpy(prep.name, "prep", 5);
    uint64_t a = lab_run(l, &prep), b = runs(l, 1, 0);
    struct session *s = &ev.u.submit.session;
    *s = request(1, 0);
    s->n_depends = 2;
    s->depends[0] = (struct dependency){a, DEPEND_SUCCESS};
    s->depends[1] = (struct dependency){b, DEPEND_END};
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    lab_expect_why(l, l->fx.session, WHY_WAITING,
                   "waits for s1 (prep) to succeed, which is running and for s2 to end, which is "
                   "running; place 1 of 1 in the queue");
    lab_free(l);
}

static void waits_for_its_time(void **state)
{
    (void)state;
    struct lab *l = one_node(BLOCKED_BACKFILL);
    struct session s = request(1, 0);
    s.start_after_ms = l->now_ms + 90 * MIN;
    uint64_t id = lab_run(l, &s);
    lab_expect_why(l, id, WHY_WAITING, "may not start before its time, in 1 h 30 min; place 1 of "
                                       "1 in the queue");
    s = request(1, 0);
    s.hold = true;
    lab_expect_why(l, lab_run(l, &s), WHY_WAITING,
                   "held until `rota release s2`; place 2 of 2 in the queue");
    lab_free(l);
}

static void waits_for_its_array(void **state)
{
    (void)state;
    struct lab *l = one_node(BLOCKED_BACKFILL);
    struct event ev = {.kind = EVENT_SUBMIT};
    ev.u.submit.session = request(1, 0);
    ev.u.submit.session.array_limit = 2;
    ev.u.submit.array_count = 4;
    ev.u.submit.array_step = 1;
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    lab_expect_why(l, 3, WHY_WAITING, "2 of 2 tasks of its array run, and no more may at once; "
                                      "place 1 of 2 in the queue");
    lab_free(l);
}

static void over_all_limits(void **state)
{
    (void)state;
    struct lab *l = one_node(BLOCKED_BACKFILL);
    runs(l, 2, 0);
    lab_limit(l, LEVEL_USER, 1, LIMIT_RUNNING, 1);
    lab_limit(l, LEVEL_PROJECT, 1, LIMIT_CPU, 3000);
    lab_limit(l, LEVEL_DOMAIN, 1, LIMIT_MEM, INT64_C(2) << 30);
    struct session s = request(2, 0);
    uint64_t id = lab_run(l, &s);
    lab_expect_why(l, id, WHY_OVER_QUOTA,
                   "over a limit: user alice uses 1 of 1 running sessions, 1 asked; project "
                   "default uses 2 of 3 CPU, 2 asked; place 1 of 1 in the queue");
    lab_free(l);
}

/* ---- others are in its way */

static void would_delay_a_promise(void **state)
{
    (void)state;
    struct lab *l = one_node(BLOCKED_BACKFILL);
    runs(l, 3, 10 * MIN);
    struct session s = request(4, 20 * MIN);
    memcpy(s.name, "train", 6);
    lab_run(l, &s);
    lab_expect_why(l, runs(l, 1, 30 * MIN), WHY_SKIPPED,
                   "would delay s2 (train), which is ahead and is promised n1 in 10 min: it may "
                   "take 30 min; place 2 of 2 in the queue");
    lab_expect_why(l, runs(l, 1, 0), WHY_SKIPPED,
                   "would delay s2 (train), which is ahead and is promised n1 in 10 min: it has no "
                   "time limit; place 3 of 3 in the queue");
    lab_free(l);
}

/* Who may not read the one ahead hears neither its name nor its number. */
static void names_are_for_those_who_may_read(void **state)
{
    (void)state;
    struct lab *l = one_node(BLOCKED_BACKFILL);
    struct session ahead = request(4, 20 * MIN), mine = request(1, 30 * MIN);
    uint32_t bob = lab_user(l, 1, "carol");
    l->w->users.v[bob - 1].role = ROLE_MEMBER; /* as it would be, had it been put so */
    runs(l, 3, 10 * MIN);
    lab_run(l, &ahead);
    mine.user = bob;
    const struct session *s = world_session(l->w, lab_run(l, &mine));
    struct why why;
    struct strbuf b;
    strbuf_init(&b, 1000);
    explain_session(l->w, s, &why);
    explain_expected(l->w, s, &why);
    why.viewer = bob;
    explain_text(l->w, s, &why, &b);
    assert_string_equal(b.p, "would delay a batch session of another user (4 CPU, 1 GiB memory, "
                             "waiting for 0 ms), which is ahead and is promised n1 in 10 min: it "
                             "may take 30 min; place 2 of 2 in the queue");
    strbuf_reset(&b);
    explain_expected_text(l->w, s, &why, &b);
    assert_string_equal(b.p, "in 30 min on n1, when a batch session of another user (4 CPU, 1 GiB "
                             "memory, waiting for 0 ms) has to end");
    assert_true(explain_hides(l->w, &why, world_session(l->w, 2)));
    assert_false(explain_hides(l->w, &why, s));
    strbuf_done(&b);
    lab_free(l);
}

static void may_wait_for_long(void **state)
{
    (void)state;
    struct lab *l = one_node(BLOCKED_SKIP);
    runs(l, 2, 0);
    uint64_t head = runs(l, 4, 0);
    runs(l, 4, 0);
    lab_expect_why(l, head, WHY_NO_CAPACITY,
                   "needs 2 more CPU: n1 has 2 of 4 free, 4 asked (1 node: 1 busy); group default "
                   "lets those behind it go first, so it may wait for long; place 1 of 2 in the "
                   "queue");
    lab_free(l);
}

static void lowered_at_the_head(void **state)
{
    (void)state;
    struct lab *l = one_node(BLOCKED_STOP);
    struct session s = request(4, 0);
    runs(l, 2, 0);
    s.priority = 10;
    uint64_t head = lab_run(l, &s);
    pass_ms(l, 2 * MIN);
    lab_expect_why(l, head, WHY_NO_CAPACITY,
                   "needs 2 more CPU: n1 has 2 of 4 free, 4 asked (1 node: 1 busy); place 1 of 1 "
                   "in the queue; it was at the head and did not fit 3 times: after 5 its priority "
                   "goes down by 10");
    pass_ms(l, 3 * MIN);
    lab_expect_why(l, head, WHY_NO_CAPACITY,
                   "needs 2 more CPU: n1 has 2 of 4 free, 4 asked (1 node: 1 busy); place 1 of 1 "
                   "in the queue, its priority lowered by 10 to 0");
    lab_free(l);
}

static void reserved_for_others(void **state)
{
    (void)state;
    struct lab *l = one_node(BLOCKED_BACKFILL);
    struct event ev = {.kind = EVENT_RESERVE};
    ev.u.reserve.reservation = (struct reservation){
        .group = 1, .user = 2, .slots = lab_slots(4, 1, 0), .n_parts = 1,
        .start_ms = l->now_ms + 40 * MIN};
    ev.u.reserve.length_ms = 20 * MIN;
    if (lab_step(l, &ev) != VERDICT_OK) fail_msg("%s", l->fx.text);
    uint64_t id = runs(l, 1, 50 * MIN);
    lab_expect_why(l, id, WHY_NO_CAPACITY, "n1 is reserved for others (r1) in 40 min, and it may "
                                           "take 50 min; place 1 of 1 in the queue");
    pass_ms(l, 45 * MIN);
    lab_expect_why(l, id, WHY_NO_CAPACITY, "n1 is reserved for others (r1) for 15 min more; place "
                                           "1 of 1 in the queue");
    lab_free(l);
}

/* ---- room is made for it */

static struct lab *evicting(void)
{
    struct lab *l = one_node(BLOCKED_SKIP);
    struct event ev = {.kind = EVENT_GROUP_PUT, .u.group = l->w->groups.v[0]};
    ev.u.group.preempt.enabled = true;
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    struct session low = request(2, 0);
    low.priority = 0;
    low.preemptible = true;
    low.grace_ms = 10000;
    lab_run(l, &low);
    lab_run(l, &low);
    lab_settle(l);
    return l;
}

static void others_leave_for_it(void **state)
{
    (void)state;
    struct lab *l = evicting();
    struct session s = request(4, 0), as;
    struct event ev = {.kind = EVENT_SUBMIT, .now_ms = l->now_ms, .u.submit = {.session = s}};
    struct effects fx = {0};
    struct why why;
    struct strbuf b;
    strbuf_init(&b, 1000);
    assert_int_equal(step_check(l->w, &ev, &fx, &as), VERDICT_OK);
    explain_session(l->w, &as, &why);
    explain_expected(l->w, &as, &why);
    explain_text(l->w, &as, &why, &b);
    assert_int_equal(why.kind, WHY_PREEMPTING);
    assert_string_equal(b.p, "s2 and s1 would be stopped to make room for it on n1");
    uint64_t id = lab_run(l, &s);
    lab_expect_why(l, id, WHY_PREEMPTING, "gets room on n1 when s2 and s1 have left; after 40 s "
                                          "without it, it waits again");
    strbuf_done(&b);
    effects_done(&fx);
    lab_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_for_others),
        cmocka_unit_test(waits_for_its_time),
        cmocka_unit_test(waits_for_its_array),
        cmocka_unit_test(over_all_limits),
        cmocka_unit_test(would_delay_a_promise),
        cmocka_unit_test(names_are_for_those_who_may_read),
        cmocka_unit_test(may_wait_for_long),
        cmocka_unit_test(lowered_at_the_head),
        cmocka_unit_test(reserved_for_others),
        cmocka_unit_test(others_leave_for_it),
    };
    return RUN(tests);
}
