/* Expected starts: told cases, and on random worlds what then happens. */
#include "harness.h"

#include "base/rng.h"
#include "core/model/pool.h"
#include "core/model/wait.h"
#include "core/sched/place.h"
#include "core/sched/plan.h"
#include "core/sched/reserve.h"

#define MIN INT64_C(60000)

static void set_group(struct lab *l, uint32_t depth)
{
    struct group g = l->w->groups.v[0];
    g.reserve_depth = depth;
    g.lower_after = 0; /* the order stays */
    assert_int_equal(lab_step(l, &(struct event){.kind = EVENT_GROUP_PUT, .u.group = g}),
                     VERDICT_OK);
}

static uint64_t run_for(struct lab *l, int64_t cpu, int64_t limit_ms)
{
    struct session s = lab_request(1, cpu, 1, 0);
    s.time_limit_ms = limit_ms;
    s.grace_ms = 0;
    uint64_t id = lab_run(l, &s);
    lab_settle(l);
    return id;
}

static struct forecast of(const struct lab *l, uint64_t id)
{
    struct forecast f;
    forecast_session(l->w, world_session(l->w, id), FORECAST_MOST, &f);
    return f;
}

static void expect_date(const struct lab *l, uint64_t id, int64_t in_ms, uint64_t rests_on)
{
    struct forecast f = of(l, id);
    assert_int_equal(f.kind, FORECAST_DATED);
    assert_int_equal(f.at_ms - l->w->now_ms, in_ms);
    assert_int_equal(f.rests_on, rests_on);
}

static void expect_text(const struct lab *l, uint64_t id, const char *text)
{
    const struct session *s = world_session(l->w, id);
    struct why why;
    struct strbuf b;
    strbuf_init(&b, 1000);
    explain_session(l->w, s, &why);
    explain_expected(l->w, s, &why);
    explain_expected_text(l->w, s, &why, &b);
    assert_string_equal(b.n ? b.p : "", text);
    strbuf_done(&b);
}

/* Time goes by, and the nodes are heard on. */
static void pass_ms(struct lab *l, int64_t ms)
{
    while (ms > 0) {
        int64_t next_ms = step_next_deadline(l->w), bit = ms < 14000 ? ms : 14000;
        if (next_ms > l->now_ms && next_ms - l->now_ms < bit) bit = next_ms - l->now_ms;
        for (uint32_t i = 0; i < l->n_nodes; i++) lab_report(l, i);
        l->more_coming = true; /* who ends now has ended before anybody is judged */
        lab_tick(l, bit);
        lab_settle(l);
        l->more_coming = false;
        lab_tick(l, 0);
        lab_settle(l);
        ms -= bit;
    }
}

/* ---- told */

static void one_after_the_other(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_BACKFILL);
    lab_join(l, "n1", 4, 64, 0);
    uint64_t a = run_for(l, 3, 10 * MIN);
    uint64_t b = run_for(l, 4, 20 * MIN), c = run_for(l, 4, 5 * MIN), d = run_for(l, 1, 20 * MIN);
    expect_date(l, b, 10 * MIN, a);
    expect_date(l, c, 30 * MIN, b);
    expect_date(l, d, 35 * MIN, c); /* free now, but not for as long as it may take */
    expect_text(l, b, "in 10 min on n1, when s1 has to end");
    pass_ms(l, 4 * MIN);
    expect_text(l, c, "in 26 min on n1, when s2 has to end");
    lab_stop(l, a, 0);
    lab_settle(l);
    assert_int_equal(lab_state(l, b), SESSION_RUNNING);
    expect_date(l, c, 20 * MIN, b);
    lab_free(l);
}

/* Those behind the depth have no promise, and are dated behind those that have. */
static void behind_the_depth(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_BACKFILL);
    lab_join(l, "n1", 4, 64, 0);
    set_group(l, 1);
    uint64_t a = run_for(l, 3, 10 * MIN);
    uint64_t b = run_for(l, 4, 20 * MIN), c = run_for(l, 4, 5 * MIN), d = run_for(l, 3, 5 * MIN);
    uint64_t e = run_for(l, 1, 5 * MIN);
    assert_int_equal(lab_state(l, e), SESSION_RUNNING); /* it delays nobody */
    assert_null(plan_of(l->w, c));
    expect_date(l, b, 10 * MIN, a);
    expect_date(l, c, 30 * MIN, b);
    expect_date(l, d, 35 * MIN, c);
    lab_free(l);
}

/* A promise is made from the limit as it is before the command begins: who began a little
 * later is still the one that it waits for, not one that ends long before. */
static void who_began_later(void **state)
{
    (void)state;
    for (int gpu = 0; gpu < 2; gpu++) {
        struct lab *l = lab_new(BLOCKED_BACKFILL);
        lab_join(l, "n1", 8, 64, 8);
        struct session s = lab_request(1, gpu ? 1 : 6, 1, gpu ? 6 : 0);
        s.time_limit_ms = 10 * MIN;
        uint64_t a = lab_run(l, &s);
        s = lab_request(1, gpu ? 1 : 8, 1, gpu ? 8 : 0);
        s.time_limit_ms = MIN;
        uint64_t b = lab_run(l, &s);
        assert_true(plan_of(l->w, b) != NULL);
        lab_tick(l, 500);
        lab_settle(l); /* now the command of a begins */
        assert_int_equal(lab_state(l, a), SESSION_RUNNING);
        uint64_t c = run_for(l, 1, MIN);
        assert_int_equal(lab_state(l, c), SESSION_RUNNING);
        expect_date(l, b, 10 * MIN - 500, a);
        lab_free(l);
    }
}

static void until_a_reservation_is_over(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_BACKFILL);
    lab_join(l, "n1", 8, 64, 0);
    struct event ev = {.kind = EVENT_RESERVE, .actor = 1};
    ev.u.reserve.reservation =
        (struct reservation){.group = 1, .user = 2, .n_parts = 1, .slots = lab_slots(6, 1, 0),
                             .start_ms = l->now_ms + 20 * MIN};
    ev.u.reserve.length_ms = 10 * MIN;
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    uint64_t a = run_for(l, 8, 10 * MIN), b = run_for(l, 4, 15 * MIN);
    assert_int_equal(lab_state(l, a), SESSION_RUNNING);
    expect_date(l, b, 30 * MIN, 0); /* a ends before, and is not what it waits for */
    expect_text(l, b, "in 30 min on n1, when reservation r1 is over");
    lab_free(l);
}

/* What runs without a limit is never promised: the reason says who. */
static void without_a_limit(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_BACKFILL);
    lab_join(l, "n1", 4, 64, 0);
    uint64_t a = run_for(l, 3, 0), b = run_for(l, 2, MIN), c = run_for(l, 1, MIN);
    assert_int_equal(of(l, b).kind, FORECAST_UNDATED);
    assert_int_equal(of(l, b).rests_on, a);
    expect_text(l, b, "not known: s1 has no time limit");
    assert_int_equal(lab_state(l, c), SESSION_RUNNING);
    /* Later the node is kept free for it, and that is said. */
    pass_ms(l, GROUP_UNDATED_MS + MIN);
    uint64_t d = run_for(l, 1, MIN);
    lab_expect_why(l, d, WHY_SKIPPED,
                   "waits behind s2, for which nobody can say when it starts: n1 is kept free "
                   "for it; place 2 of 2 in the queue");
    expect_text(l, d, "not known: nor is that of s2 ahead of it");
    lab_free(l);
}

static void nothing_could_hold_it(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_BACKFILL);
    uint32_t n1 = lab_join(l, "n1", 4, 64, 0);
    lab_step(l, &(struct event){.kind = EVENT_NODE_CORDON, .u.cordon = {l->nodes[n1].id, true}});
    uint64_t a = run_for(l, 1, MIN);
    assert_int_equal(of(l, a).kind, FORECAST_UNDATED);
    assert_int_equal(of(l, a).rests_on, 0);
    expect_text(l, a, "not known: the nodes that take new work could not hold it even if empty");
    lab_free(l);
}

static void in_strict_order(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 4, 64, 0);
    uint64_t a = run_for(l, 3, 10 * MIN);
    uint64_t b = run_for(l, 4, 20 * MIN), c = run_for(l, 1, MIN), d = run_for(l, 4, 0);
    uint64_t e = run_for(l, 1, MIN);
    expect_date(l, b, 10 * MIN, a);
    expect_date(l, c, 30 * MIN, b); /* there is room now, and nobody would mind */
    expect_date(l, d, 31 * MIN, c);
    assert_int_equal(of(l, e).kind, FORECAST_UNDATED);
    assert_int_equal(of(l, e).rests_on, d);
    assert_int_equal(of(l, run_for(l, 1, MIN)).kind, FORECAST_BEHIND);
    lab_expect_why(l, c, WHY_SKIPPED, "waits behind s2, which is ahead in the queue and does not "
                                      "fit yet; place 2 of 5 in the queue");
    lab_free(l);
}

/* One that fits beside them starts with the one ahead of it, not before. */
static void together_with_the_one_ahead(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 4, 64, 0);
    (void)run_for(l, 3, 10 * MIN);
    uint64_t b = run_for(l, 3, 20 * MIN), c = run_for(l, 1, MIN);
    expect_date(l, c, 10 * MIN, b);
    expect_text(l, c, "in 10 min on n1, not before s2 ahead of it starts");
    lab_free(l);
}

static void who_is_not_dated(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_BACKFILL);
    lab_join(l, "n1", 4, 64, 0);
    uint64_t a = run_for(l, 4, 10 * MIN);
    struct session held = lab_request(1, 1, 1, 0);
    held.hold = true;
    uint64_t h = lab_run(l, &held);
    lab_limit(l, LEVEL_USER, 1, LIMIT_RUNNING, 2);
    set_group(l, 1);
    uint64_t b = run_for(l, 4, MIN), c = run_for(l, 4, MIN);
    assert_int_equal(of(l, h).kind, FORECAST_WAITS);
    expect_text(l, h, "");
    expect_date(l, b, 10 * MIN, a);
    assert_int_equal(of(l, c).kind, FORECAST_LATER); /* two run when its turn comes */
    expect_text(l, c, "not known: those ahead of it will have reached the limits first");
    lab_limit(l, LEVEL_USER, 1, LIMIT_RUNNING, 1);
    assert_int_equal(of(l, b).kind, FORECAST_OVER);
    struct forecast f;
    lab_limit(l, LEVEL_USER, 1, LIMIT_RUNNING, 9);
    forecast_session(l->w, world_session(l->w, c), 1, &f);
    assert_int_equal(f.kind, FORECAST_NONE); /* too far back */
    lab_free(l);
}

/* ---- random worlds */

#define WORLDS 120

static uint32_t below(struct rng *r, uint32_t n) { return (uint32_t)rng_below(r, n); }

static struct session drawn(struct rng *r)
{
    uint32_t members = below(r, 4) == 0 ? 1 + below(r, 3) : 1;
    struct session s = lab_request(members, 1 + below(r, 4), 1, below(r, 3));
    s.priority = (int32_t)below(r, 3) * 10;
    s.user = 1 + below(r, 2);
    s.grace_ms = 0;
    s.one_node = below(r, 3) == 0;
    s.time_limit_ms = below(r, 8) == 0 ? 0 : (1 + below(r, 30)) * MIN;
    s.hold = below(r, 20) == 0;
    if (below(r, 20) == 0) s.start_after_ms = (1 + below(r, 50)) * MIN;
    return s;
}

static struct lab *drawn_lab(struct rng *r, enum on_blocked blocked, uint32_t nodes)
{
    struct lab *l = lab_new(blocked);
    for (uint32_t i = 0; i < nodes; i++) {
        char name[8];
        text_fmt(name, sizeof(name), "n%u", i);
        lab_join(l, name, 2 + below(r, 5), 64, below(r, 5));
    }
    set_group(l, GROUP_RESERVE_ALL);
    return l;
}

static void draw_limits(struct lab *l, struct rng *r)
{
    if (below(r, 3) == 0) lab_limit(l, LEVEL_USER, 1, LIMIT_RUNNING, 1 + below(r, 4));
    if (below(r, 3) == 0) lab_limit(l, LEVEL_PROJECT, 1, LIMIT_GPU, 1 + below(r, 6));
}

static void end_some(struct lab *l, struct rng *r)
{
    VEC_EACH(s, &l->w->sessions) {
        if (s->state != SESSION_RUNNING || below(r, 4) != 0) continue;
        lab_stop(l, s->id, 0);
        break;
    }
    lab_settle(l);
}

/* Everything up to a moment; then nobody comes any more. */
static void history(struct lab *l, struct rng *r, uint32_t events)
{
    for (uint32_t i = 0; i < events; i++) {
        struct session s = drawn(r);
        struct event ev = {.kind = EVENT_SUBMIT, .u.submit = {.session = s}};
        if (below(r, 3) != 0) lab_step(l, &ev);
        lab_settle(l);
        if (below(r, 3) == 0) end_some(l, r);
        if (below(r, 2) == 0) {
            pass_ms(l, below(r, 5) * MIN / 2);
        }
        while (l->fx.more) lab_tick(l, 0);
    }
}

/* ---- the reason is true of the present world */

/* Could it start now, if nothing were promised to anybody? */
static bool fits_bare(const struct world *w, const struct session *s)
{
    struct world bare = *w;
    struct place place = {0};
    bare.sched = NULL;
    bool fits = place_decide(&bare, s, PLACE_NOW, &place);
    place_done(&place);
    return fits;
}

static bool is_ahead(const struct world *w, const struct session *a, const struct session *b)
{
    return a && a->state == SESSION_PENDING && pool_place(w, a) < pool_place(w, b);
}

static void check_skip(const struct lab *l, const struct session *s, const struct why *why)
{
    const struct session *b = world_session(l->w, why->blocker);
    struct why its;
    assert_true(is_ahead(l->w, b, s));
    explain_session(l->w, b, &its);
    switch (why->skip) {
    case SKIP_ORDER:
        assert_int_equal(l->w->groups.v[0].on_blocked, BLOCKED_STOP);
        assert_int_equal(its.kind, WHY_NO_CAPACITY);
        return;
    case SKIP_PROMISE: {
        const struct promise *p = plan_of(l->w, b->id);
        assert_non_null(p);
        bool there = false;
        VEC_EACH(pick, &p->picks) there = there || pick->node == why->at_node;
        assert_true(there);
        assert_int_equal(p->at_ms, why->promised_ms);
        assert_true(s->time_limit_ms == 0 || p->at_ms < l->w->now_ms + s->time_limit_ms);
        assert_true(fits_bare(l->w, s));
        return;
    }
    case SKIP_CLOSED:
        assert_null(plan_of(l->w, b->id));
        assert_int_equal(of(l, b->id).kind, FORECAST_UNDATED);
        return;
    case SKIP_NONE:
    case WHY_SKIPS: break;
    }
    fail_msg("s%llu is skipped for no reason", (unsigned long long)s->id);
}

static void check_reason(const struct lab *l, const struct session *s, uint32_t counts[WHY_KINDS])
{
    struct why why;
    explain_session(l->w, s, &why);
    counts[why.kind]++;
    assert_int_equal(why.kind == WHY_WAITING, wait_of(l->w, s) != WAIT_NONE);
    if (why.kind == WHY_WAITING) return;
    if (why.kind == WHY_OVER_QUOTA) {
        assert_false(quota_allows(l->w, s, NULL));
        assert_true(why.n_excess > 0);
    } else if (why.kind == WHY_NO_CAPACITY) {
        assert_true(quota_allows(l->w, s, NULL));
        assert_false(fits_bare(l->w, s));
    } else if (why.kind == WHY_SKIPPED) {
        check_skip(l, s, &why);
    } else {
        fail_msg("s%llu: %s", (unsigned long long)s->id, why_kind_name(why.kind));
    }
}

static void reasons_are_true(void **state)
{
    (void)state;
    uint32_t counts[WHY_KINDS] = {0};
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct rng r = {seed};
        enum on_blocked blocked = (enum on_blocked)(1 + below(&r, BLOCKED_KINDS - 1));
        struct lab *l = drawn_lab(&r, blocked, 1 + below(&r, 4));
        if (blocked == BLOCKED_BACKFILL) set_group(l, 1 + below(&r, 4));
        draw_limits(l, &r);
        for (uint32_t i = 0; i < 12; i++) {
            history(l, &r, 3);
            VEC_EACH(s, &l->w->sessions) {
                if (s->state == SESSION_PENDING) check_reason(l, s, counts);
            }
        }
        lab_free(l);
    }
    /* Each was met often enough to mean something. */
    assert_true(counts[WHY_WAITING] > 100);
    assert_true(counts[WHY_OVER_QUOTA] > 100);
    assert_true(counts[WHY_NO_CAPACITY] > 1000);
    assert_true(counts[WHY_SKIPPED] > 1000);
}

/* ---- dates hold when everybody runs to his limit, and nobody comes or reaches a limit */

static void check_dates(struct lab *l, const struct forecasts *f)
{
    int64_t last_ms = l->now_ms;
    VEC_EACH(one, &f->v) {
        if (one->kind == FORECAST_DATED && one->at_ms > last_ms) last_ms = one->at_ms;
    }
    while (l->now_ms <= last_ms) {
        VEC_EACH(one, &f->v) {
            if (one->kind != FORECAST_DATED || l->now_ms <= one->at_ms) continue;
            if (lab_state(l, one->session) == SESSION_PENDING)
                fail_msg("s%llu was expected at %lld, and waits at %lld",
                         (unsigned long long)one->session, (long long)one->at_ms,
                         (long long)l->now_ms);
        }
        pass_ms(l, 5000);
    }
}

static void dates_hold(enum on_blocked blocked, uint32_t nodes)
{
    uint32_t dated = 0, ahead = 0;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct rng r = {seed};
        struct lab *l = drawn_lab(&r, blocked, nodes ? nodes : 1 + below(&r, 4));
        struct forecasts f = {0};
        history(l, &r, 20);
        forecast_group(l->w, 1, FORECAST_MOST, &f);
        VEC_EACH(one, &f.v) { /* nobody comes: nor is anybody let go */
            struct event ev = {.kind = EVENT_UPDATE,
                               .u.update = {one->session, UPDATE_HOLD, .hold = true}};
            if (one->kind != FORECAST_DATED) lab_step(l, &ev);
        }
        forecast_group(l->w, 1, FORECAST_MOST, &f);
        VEC_EACH(one, &f.v) {
            dated += one->kind == FORECAST_DATED;
            ahead += one->kind == FORECAST_DATED && one->at_ms > l->now_ms;
            struct forecast alone = of(l, one->session);
            assert_memory_equal(&alone, one, sizeof(alone));
        }
        check_dates(l, &f);
        VEC_DONE(&f.v);
        lab_free(l);
    }
    assert_true(ahead > 100);
    assert_true(ahead <= dated);
}

static void dates_hold_with_promises(void **state)
{
    (void)state;
    dates_hold(BLOCKED_BACKFILL, 0);
}

static void dates_hold_in_strict_order(void **state)
{
    (void)state;
    dates_hold(BLOCKED_STOP, 1);
}

/* ---- what a submission is told is what then happens */

static void check_one(struct lab *l, struct rng *r, uint32_t counts[3])
{
    struct session s = drawn(r), as;
    struct event ev = {.kind = EVENT_SUBMIT, .now_ms = l->now_ms, .u.submit = {.session = s}};
    struct effects fx = {0};
    struct why why;
    char *before = lab_dump(l->w);
    enum verdict told = step_check(l->w, &ev, &fx, &as);
    if (told == VERDICT_OK) {
        explain_session(l->w, &as, &why);
        explain_expected(l->w, &as, &why);
    }
    char *after = lab_dump(l->w);
    assert_string_equal(before, after);
    assert_int_equal(lab_step(l, &ev), told);
    if (told != VERDICT_OK) {
        assert_string_equal(fx.text, l->fx.text);
        counts[2]++;
    } else {
        const struct session *now = world_session(l->w, l->fx.session);
        assert_int_equal(now->id, as.id);
        assert_string_equal(now->name, as.name);
        assert_int_equal(why.kind == WHY_PLACED, now->state != SESSION_PENDING);
        counts[now->state == SESSION_PENDING]++;
        if (why.kind == WHY_PLACED) {
            const struct alloc *a = world_allocs_of_session(l->w, now);
            while (a && a->ref.member != 0) a = world_next_of_session(l->w, a);
            assert_non_null(a);
            assert_int_equal(a->node, why.expected.node);
        } else {
            struct forecast f = of(l, now->id);
            assert_int_equal(f.kind, why.expected.kind);
            if (f.kind == FORECAST_DATED) assert_int_equal(f.at_ms, why.expected.at_ms);
        }
    }
    effects_done(&fx);
    mem_free(before);
    mem_free(after);
    while (l->fx.more) lab_tick(l, 0);
    lab_settle(l);
}

static void checks_come_true(void **state)
{
    (void)state;
    uint32_t counts[3] = {0};
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct rng r = {seed};
        struct lab *l = drawn_lab(&r, BLOCKED_BACKFILL, 1 + below(&r, 4));
        draw_limits(l, &r);
        for (uint32_t i = 0; i < 10; i++) {
            history(l, &r, 2);
            check_one(l, &r, counts);
        }
        lab_free(l);
    }
    assert_true(counts[0] > 100);  /* started at once */
    assert_true(counts[1] > 300);  /* waits */
    assert_true(counts[2] > 100);  /* refused */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(behind_the_depth),
        cmocka_unit_test(who_began_later),
        cmocka_unit_test(until_a_reservation_is_over),
        cmocka_unit_test(without_a_limit),
        cmocka_unit_test(nothing_could_hold_it),
        cmocka_unit_test(in_strict_order),
        cmocka_unit_test(together_with_the_one_ahead),
        cmocka_unit_test(who_is_not_dated),
        cmocka_unit_test(reasons_are_true),
        cmocka_unit_test(dates_hold_with_promises),
        cmocka_unit_test(dates_hold_in_strict_order),
        cmocka_unit_test(checks_come_true),
    };
    return RUN(tests);
}
