/* The way-back record: the page's table row by row, every phase with every observation,
 * and a machine that is killed at every step, twice. */
#include "harness.h"

#include "core/rotate/wayback.h"

#define N(a) (sizeof(a) / sizeof(*(a)))

/* ---- the table, as the page has it ---- */

enum { ANY = 3 }; /* beside the three values of a fact: each of them */
#define YES FACT_YES
#define NO FACT_NO

static const struct {
    enum wayback_phase phase;
    int engine, healthy, same, run, rebooted;
    enum wayback_action action;
} TABLE[] = {
    {WAYBACK_NONE, ANY, ANY, ANY, ANY, ANY, WAYBACK_NOTHING},
    {WAYBACK_TMP, ANY, ANY, ANY, ANY, ANY, WAYBACK_DISCARD},
    {WAYBACK_RECORDED, YES, ANY, ANY, NO, ANY, WAYBACK_REOPEN},
    {WAYBACK_RECORDED, NO, ANY, ANY, NO, ANY, WAYBACK_RESTORE},
    {WAYBACK_RECORDED, ANY, ANY, ANY, YES, ANY, WAYBACK_QUARANTINE},
    {WAYBACK_DRAINING, YES, ANY, ANY, NO, ANY, WAYBACK_REOPEN},
    {WAYBACK_DRAINING, NO, ANY, ANY, NO, ANY, WAYBACK_RESTORE},
    {WAYBACK_DRAINING, ANY, ANY, ANY, YES, ANY, WAYBACK_QUARANTINE},
    {WAYBACK_STOPPING, YES, YES, YES, NO, ANY, WAYBACK_REOPEN},
    {WAYBACK_STOPPING, NO, ANY, ANY, NO, ANY, WAYBACK_RESTORE},
    {WAYBACK_STOPPING, ANY, NO, ANY, NO, ANY, WAYBACK_RESTORE},
    {WAYBACK_STOPPING, ANY, ANY, NO, NO, ANY, WAYBACK_RESTORE},
    {WAYBACK_STOPPING, ANY, ANY, ANY, YES, ANY, WAYBACK_QUARANTINE},
    {WAYBACK_STOPPED, ANY, ANY, ANY, NO, ANY, WAYBACK_RESTORE},
    {WAYBACK_STOPPED, ANY, ANY, ANY, YES, ANY, WAYBACK_QUARANTINE},
    {WAYBACK_STARTING, NO, ANY, ANY, YES, NO, WAYBACK_ADOPT_RUN},
    {WAYBACK_STARTING, YES, ANY, ANY, YES, NO, WAYBACK_STOP_ENGINE_ADOPT_RUN},
    {WAYBACK_STARTING, ANY, ANY, ANY, NO, ANY, WAYBACK_RESTORE},
    {WAYBACK_STARTING, ANY, ANY, ANY, YES, YES, WAYBACK_REAP_THEN_RESTORE},
    {WAYBACK_LIVE, NO, ANY, ANY, YES, NO, WAYBACK_ADOPT_RUN},
    {WAYBACK_LIVE, YES, ANY, ANY, YES, NO, WAYBACK_STOP_ENGINE_ADOPT_RUN},
    {WAYBACK_LIVE, ANY, ANY, ANY, NO, ANY, WAYBACK_RESTORE},
    {WAYBACK_LIVE, ANY, ANY, ANY, YES, YES, WAYBACK_REAP_THEN_RESTORE},
    {WAYBACK_ENDED, ANY, ANY, ANY, NO, ANY, WAYBACK_RESTORE},
    {WAYBACK_ENDED, ANY, ANY, ANY, YES, ANY, WAYBACK_REAP_THEN_RESTORE},
    {WAYBACK_RESTORING, YES, ANY, ANY, NO, ANY, WAYBACK_VERIFY},
    {WAYBACK_RESTORING, NO, ANY, ANY, NO, ANY, WAYBACK_RESTORE},
    {WAYBACK_RESTORING, ANY, ANY, ANY, YES, ANY, WAYBACK_REAP_THEN_RESTORE},
    {WAYBACK_VERIFYING, YES, ANY, ANY, NO, ANY, WAYBACK_VERIFY},
    {WAYBACK_VERIFYING, NO, ANY, ANY, NO, ANY, WAYBACK_RESTORE},
    {WAYBACK_VERIFYING, ANY, ANY, ANY, YES, ANY, WAYBACK_REAP_THEN_RESTORE},
    {WAYBACK_RESTORED, ANY, ANY, ANY, NO, ANY, WAYBACK_CLOSE},
    {WAYBACK_RESTORED, ANY, ANY, ANY, YES, ANY, WAYBACK_REAP_THEN_RESTORE},
    {WAYBACK_CORRUPT, ANY, ANY, ANY, ANY, ANY, WAYBACK_QUARANTINE},
};

static bool is(int want, enum fact f) { return want == ANY || want == (int)f; }

/* The one row for these observations, all known; fails when there are two that differ. */
static enum wayback_action by_table(const struct wayback_seen *s)
{
    int found = -1;
    for (size_t i = 0; i < N(TABLE); i++) {
        bool fits = TABLE[i].phase == s->phase && is(TABLE[i].engine, s->engine_alive) &&
                    is(TABLE[i].healthy, s->engine_healthy) &&
                    is(TABLE[i].same, s->engine_same_start) && is(TABLE[i].run, s->run_alive) &&
                    is(TABLE[i].rebooted, s->rebooted);
        if (!fits) continue;
        if (found >= 0) assert_int_equal(TABLE[i].action, found);
        found = (int)TABLE[i].action;
    }
    assert_true(found >= 0); /* total */
    if (s->refused && s->phase == WAYBACK_STARTING && s->run_alive == FACT_YES)
        found = WAYBACK_REAP_THEN_RESTORE; /* it is not this rotor's run */
    if (found == WAYBACK_REAP_THEN_RESTORE && s->reap_late) return WAYBACK_QUARANTINE_ROTOR;
    bool spent = s->verify_spent && s->phase == WAYBACK_VERIFYING && s->run_alive == FACT_NO;
    return spent ? WAYBACK_RESTORE_DECLARED : (enum wayback_action)found;
}

/* ---- every observation ---- */

enum { FACTS = 5 };
static enum fact *fact_at(struct wayback_seen *s, int i)
{
    enum fact *all[FACTS] = {&s->engine_alive, &s->engine_healthy, &s->engine_same_start,
                             &s->run_alive, &s->rebooted};
    return all[i];
}

/* Whatever the open facts turn out to be: their common answer, else WAIT. */
static enum wayback_action by_completion(struct wayback_seen s, int from)
{
    for (int i = from; i < FACTS; i++) {
        if (*fact_at(&s, i) != FACT_UNKNOWN) continue;
        *fact_at(&s, i) = FACT_NO;
        enum wayback_action no = by_completion(s, i + 1);
        *fact_at(&s, i) = FACT_YES;
        enum wayback_action yes = by_completion(s, i + 1);
        return no == yes ? no : WAYBACK_WAIT;
    }
    return by_table(&s);
}

typedef void visit(const struct wayback_seen *s, void *arg);
static void each_observation(visit *see, void *arg)
{
    for (int p = 0; p < WAYBACK_PHASES; p++) {
        for (int n = 0; n < 243 * 8; n++) {
            struct wayback_seen s = {.phase = (enum wayback_phase)p, .reap_late = n % 2,
                                     .verify_spent = n / 2 % 2, .refused = n / 4 % 2};
            for (int i = 0, rest = n / 8; i < FACTS; i++, rest /= 3) {
                *fact_at(&s, i) = (enum fact)(rest % 3);
            }
            see(&s, arg);
        }
    }
}

static void see_table(const struct wayback_seen *s, void *arg)
{
    uint64_t *tally = arg;
    enum wayback_action a = wayback_recover(s);
    assert_int_equal(a, by_completion(*s, 0));
    tally[a]++;
}

static void test_recovery_is_total(void **state)
{
    (void)state;
    uint64_t tally[WAYBACK_ACTIONS] = {0};
    each_observation(see_table, tally);
    for (int a = 0; a < WAYBACK_ACTIONS; a++) assert_true(tally[a] > 0);
}

/* None starts or reopens an engine beside a run that lives, or may live. */
static void see_beside(const struct wayback_seen *s, void *arg)
{
    (void)arg;
    enum wayback_action a = wayback_recover(s);
    bool serves = a == WAYBACK_RESTORE || a == WAYBACK_RESTORE_DECLARED || a == WAYBACK_REOPEN ||
                  a == WAYBACK_VERIFY || a == WAYBACK_CLOSE;
    if (serves) assert_int_equal(s->run_alive, FACT_NO);
    bool keeps = a == WAYBACK_ADOPT_RUN || a == WAYBACK_STOP_ENGINE_ADOPT_RUN;
    if (keeps) assert_int_equal(s->run_alive, FACT_YES);
    if (a == WAYBACK_ADOPT_RUN) assert_int_equal(s->engine_alive, FACT_NO);
}

static void test_never_an_engine_beside_a_run(void **state)
{
    (void)state;
    each_observation(see_beside, NULL);
}

/* A record leaves the disk only where nothing was torn down or all is back. */
static void see_kept(const struct wayback_seen *s, void *arg)
{
    (void)arg;
    enum wayback_action a = wayback_recover(s);
    if (a == WAYBACK_DISCARD) assert_int_equal(s->phase, WAYBACK_TMP);
    if (a == WAYBACK_NOTHING) assert_int_equal(s->phase, WAYBACK_NONE);
    if (a == WAYBACK_CLOSE) assert_int_equal(s->phase, WAYBACK_RESTORED);
    if (a == WAYBACK_REOPEN) assert_int_equal(s->engine_alive, FACT_YES);
    if (s->phase == WAYBACK_CORRUPT) assert_int_equal(a, WAYBACK_QUARANTINE);
}

static void test_no_record_is_lost(void **state)
{
    (void)state;
    each_observation(see_kept, NULL);
}

static void test_requeues(void **state)
{
    (void)state;
    for (int p = 0; p < WAYBACK_PHASES; p++) {
        for (int a = 0; a < WAYBACK_ACTIONS; a++) {
            bool want = p >= WAYBACK_RECORDED && p <= WAYBACK_STARTING &&
                        (a == WAYBACK_REOPEN || a == WAYBACK_RESTORE);
            assert_int_equal(wayback_requeues((enum wayback_phase)p, (enum wayback_action)a), want);
        }
    }
}

/* ---- forward ---- */

static void test_every_advance(void **state)
{
    (void)state;
    uint64_t tally[WAYBACK_STEPS] = {0};
    for (int n = 0; n < WAYBACK_PHASES * 54; n++) {
        struct wayback_progress p = {.phase = (enum wayback_phase)(n / 54), .late = n % 2,
                                     .durable = (enum fact)(n / 2 % 3),
                                     .acked = (enum fact)(n / 6 % 3),
                                     .done = (enum fact)(n / 18 % 3)};
        enum wayback_step s = wayback_advance(&p);
        bool moving = p.phase >= WAYBACK_RECORDED && p.phase <= WAYBACK_RESTORED;
        bool asks = p.phase >= WAYBACK_RECORDED && p.phase <= WAYBACK_STARTING;
        assert_int_equal(asks, wayback_needs_ack(p.phase));
        if (!moving) assert_int_equal(s, WAYBACK_HOLD);
        /* Durable, and through STARTING acknowledged, before its action and what follows. */
        if (s == WAYBACK_ACT || s == WAYBACK_NEXT) {
            assert_int_equal(p.durable, FACT_YES);
            if (asks) assert_int_equal(p.acked, FACT_YES);
        }
        if (s == WAYBACK_NEXT) assert_int_equal(p.done, FACT_YES);
        if (s == WAYBACK_ACT) assert_int_not_equal(p.done, FACT_YES);
        if (s == WAYBACK_HOLD && moving) assert_true(asks && p.acked == FACT_UNKNOWN);
        /* A live run is left alone: neither lateness nor a manager that is away ends it. */
        if (p.phase == WAYBACK_LIVE) assert_int_not_equal(s, WAYBACK_BACK);
        if (moving && p.late && p.phase != WAYBACK_LIVE) assert_int_equal(s, WAYBACK_BACK);
        if (asks && p.acked == FACT_NO) assert_int_equal(s, WAYBACK_BACK);
        bool go = p.durable == FACT_YES && (p.acked == FACT_YES || !asks) && !p.late;
        if (moving && go && p.done == FACT_NO) {
            assert_int_equal(s, p.phase == WAYBACK_DRAINING ? WAYBACK_BACK : WAYBACK_ACT);
        }
        tally[s]++;
    }
    for (int s = 0; s < WAYBACK_STEPS; s++) assert_true(tally[s] > 0);
}

static void test_phases_in_order(void **state)
{
    (void)state;
    int n = 0;
    for (enum wayback_phase p = WAYBACK_TMP; p != WAYBACK_NONE; p = wayback_next(p)) {
        assert_int_equal(p, WAYBACK_TMP + n++);
    }
    assert_int_equal(n, 11);
}

/* ---- a machine that is killed ---- */

struct box {
    enum wayback_phase disk; /* the record's durable phase */
    bool engine, same, run, routes, rebooted;
    bool claimed, requeued, ran;
};

/* What the agent does in a phase; every action may be done again. */
static void act(struct box *b)
{
    switch ((int)b->disk) {
    case WAYBACK_RECORDED: b->routes = false; break;
    case WAYBACK_STOPPING: b->engine = false; break;
    case WAYBACK_STARTING: assert_false(b->engine); b->run = b->ran = true; break;
    case WAYBACK_LIVE: b->run = false; break; /* it ends by itself */
    case WAYBACK_ENDED: b->run = false; break;
    case WAYBACK_RESTORING: assert_false(b->run); b->engine = true; b->same = false; break;
    case WAYBACK_RESTORED: b->routes = true; break;
    default: break;
    }
}

static bool is_done(const struct box *b)
{
    switch ((int)b->disk) {
    case WAYBACK_RECORDED: return !b->routes;
    case WAYBACK_STOPPING: return !b->engine;
    case WAYBACK_STARTING: return b->run;
    case WAYBACK_LIVE: return !b->run;
    case WAYBACK_ENDED: return !b->run;
    case WAYBACK_RESTORING: return b->engine;
    case WAYBACK_RESTORED: return b->routes;
    default: return true;
    }
}

/* One step of an agent that is not disturbed; false when the record is closed. */
static bool forward(struct box *b)
{
    struct wayback_progress p = {.phase = b->disk, .durable = FACT_YES, .acked = FACT_YES,
                                 .done = is_done(b) ? FACT_YES : FACT_UNKNOWN};
    if (b->disk == WAYBACK_NONE) return false;
    if (b->disk == WAYBACK_TMP) {
        b->disk = WAYBACK_RECORDED; /* the rename */
        b->claimed = true;
        return true;
    }
    switch (wayback_advance(&p)) {
    case WAYBACK_ACT: act(b); break;
    case WAYBACK_NEXT: b->disk = wayback_next(b->disk); break;
    case WAYBACK_HOLD: case WAYBACK_PERSIST: case WAYBACK_BACK: case WAYBACK_STEPS:
        fail_msg("stuck in %s", wayback_phase_name(b->disk));
    }
    assert_false(b->engine && b->run);
    return true;
}

/* What the agent's death lets happen: its restart finds something else. */
static void crash(struct box *b, int env)
{
    if (env & 1) b->engine = false;
    if (env & 2) b->run = false;
    if (env & 4 && !b->engine && b->disk >= WAYBACK_STOPPING) { /* it came back by itself */
        b->engine = true;
        b->same = false;
    }
    b->rebooted = env & 8;
    if (b->rebooted) b->run = false;
}

static void recover(struct box *b)
{
    struct wayback_seen s = {.phase = b->disk, .engine_alive = b->engine ? FACT_YES : FACT_NO,
                             .engine_healthy = b->engine ? FACT_YES : FACT_NO,
                             .engine_same_start = b->same ? FACT_YES : FACT_NO,
                             .run_alive = b->run ? FACT_YES : FACT_NO,
                             .rebooted = b->rebooted ? FACT_YES : FACT_NO};
    enum wayback_action a = wayback_recover(&s);
    b->requeued |= wayback_requeues(b->disk, a);
    switch ((int)a) {
    case WAYBACK_NOTHING: break;
    case WAYBACK_DISCARD: b->disk = WAYBACK_NONE; break;
    case WAYBACK_REOPEN: assert_true(b->engine); b->routes = true; b->disk = WAYBACK_NONE; break;
    case WAYBACK_RESTORE: assert_false(b->run); b->disk = WAYBACK_RESTORING; break;
    case WAYBACK_ADOPT_RUN: b->disk = WAYBACK_LIVE; break;
    case WAYBACK_STOP_ENGINE_ADOPT_RUN: b->engine = false; b->disk = WAYBACK_LIVE; break;
    case WAYBACK_REAP_THEN_RESTORE: b->run = false; b->disk = WAYBACK_RESTORING; break;
    case WAYBACK_VERIFY: b->disk = WAYBACK_VERIFYING; break;
    case WAYBACK_CLOSE: b->routes = true; b->disk = WAYBACK_NONE; break;
    default: fail_msg("%s: %s", wayback_phase_name(s.phase), wayback_action_name(a));
    }
    assert_false(b->engine && b->run);
}

/* Killed after `steps`, with whatever happens meanwhile; false: it was through before. */
static bool killed_after(struct box *b, int steps, int env)
{
    while (steps-- > 0) {
        if (!forward(b)) return false;
    }
    crash(b, env);
    recover(b);
    return true;
}

/* Whenever it is killed, twice, and whatever dies or comes back meanwhile: engine and run
 * never stand side by side, and in the end the record is closed, routes are back, and the
 * run has run or is queued again. */
static void test_killed_at_every_step(void **state)
{
    (void)state;
    uint64_t kills = 0;
    for (int n = 0; n < 40 * 16 * 40 * 16; n++) {
        struct box b = {.disk = WAYBACK_TMP, .engine = true, .same = true, .routes = true};
        if (!killed_after(&b, n / 16 % 40, n % 16)) continue;
        if (b.disk != WAYBACK_NONE) (void)killed_after(&b, n / 640 / 16, n / 640 % 16);
        kills++;
        bool engine_lost = b.disk == WAYBACK_NONE && !b.engine; /* not by us: by its own death */
        while (forward(&b)) { }
        assert_int_equal(b.disk, WAYBACK_NONE);
        assert_true(b.engine || engine_lost);
        assert_true(b.routes);
        assert_false(b.run);
        assert_true(!b.claimed || b.ran || b.requeued);
    }
    assert_true(kills > 10000);
}

/* ---- words ---- */

static void test_words(void **state)
{
    (void)state;
    for (int p = 0; p < WAYBACK_PHASES; p++) {
        assert_true(strlen(wayback_phase_action((enum wayback_phase)p)) > 5);
        for (int q = 0; q < p; q++) {
            assert_string_not_equal(wayback_phase_name((enum wayback_phase)p),
                                    wayback_phase_name((enum wayback_phase)q));
        }
    }
    for (int a = 0; a < WAYBACK_ACTIONS; a++) {
        assert_true(strlen(wayback_action_text((enum wayback_action)a)) > 5);
        for (int b = 0; b < a; b++) {
            assert_string_not_equal(wayback_action_name((enum wayback_action)a),
                                    wayback_action_name((enum wayback_action)b));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recovery_is_total),
        cmocka_unit_test(test_never_an_engine_beside_a_run),
        cmocka_unit_test(test_no_record_is_lost),
        cmocka_unit_test(test_requeues),
        cmocka_unit_test(test_every_advance),
        cmocka_unit_test(test_phases_in_order),
        cmocka_unit_test(test_killed_at_every_step),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
