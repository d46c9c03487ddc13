/* The nine branches: every combination of the finite inputs against a naive reading of
 * the page, laws over the same inputs, and candidates against a sorted list. */
#include "harness.h"

#include <stdlib.h>
#include <time.h>
#include "base/rng.h"
#include "core/rotate/loop.h"

static const struct rotate_limits LIM = {300000, 60000, 1200000, 900000, 30000, 60000, 600000};
#define NONE ROTATE_NO_TARGET

static const struct rotate_candidate POOLS[] = {
    {.name = "even", .priority = 5, .waiting = 1, .readable = FACT_YES, .fresh = FACT_YES,
     .fits = FACT_YES, .co_resident = FACT_NO, .backed_off = FACT_NO},
    {.name = "high", .priority = 6, .waiting = 1, .readable = FACT_YES, .fresh = FACT_YES,
     .fits = FACT_YES, .co_resident = FACT_NO, .backed_off = FACT_NO},
    {.name = "train", .priority = 9, .training = true, .waiting = 1, .readable = FACT_YES,
     .fresh = FACT_YES, .fits = FACT_YES, .co_resident = FACT_NO, .backed_off = FACT_NO},
    {.name = "empty", .priority = 9, .readable = FACT_YES, .fresh = FACT_YES, .fits = FACT_YES,
     .co_resident = FACT_NO, .backed_off = FACT_NO},
};

/* ---- every input ---- */

enum { FACTS = 5 };
static enum fact *fact_at(struct rotate_facts *f, int i)
{
    enum fact *all[FACTS] = {&f->run_live, &f->in_flight, &f->co_in_flight, &f->pinned,
                             &f->reserved};
    return all[i];
}

static const struct reading PRIOS[] = {{0}, {true, 4}, {true, 5}, {true, 6}};
static const struct reading IDLES[] = {{0}, {true, 299999}, {true, 300000}, {true, 899999},
                                       {true, 900000}};
static const struct reading DWELLS[] = {{0}, {true, 59999}, {true, 60000}};

typedef void visit(struct rotate_facts *f, void *arg);

static void each_number(struct rotate_facts *f, visit *see, void *arg)
{
    for (size_t p = 0; p < 4; p++) {
        for (size_t i = 0; i < 5; i++) {
            for (size_t d = 0; d < 3; d++) {
                for (uint32_t c = 0; c < 5; c++) {
                    f->cur_prio = PRIOS[p];
                    f->idle_ms = IDLES[i];
                    f->dwell_ms = DWELLS[d];
                    f->candidates = c == 0 ? NULL : &POOLS[c - 1];
                    f->n_candidates = c == 0 ? 0 : 1;
                    see(f, arg);
                }
            }
        }
    }
}

static void each_input(visit *see, void *arg)
{
    for (int s = 0; s < ROTATE_STATES; s++) {
        for (int e = 0; e < ENGINE_STATES; e++) {
            for (int n = 0; n < 243; n++) {
                struct rotate_facts f = {.state = (enum rotate_state)s,
                                         .engine = (enum rotate_engine)e};
                for (int i = 0, rest = n; i < FACTS; i++, rest /= 3) {
                    *fact_at(&f, i) = (enum fact)(rest % 3);
                }
                each_number(&f, see, arg);
            }
        }
    }
}

/* The page, read by somebody who never heard of three values: what is not known is first
 * given its worst value.  The branch, or 0 where none is asked. */
static int naive_branch(struct rotate_facts f)
{
    if (f.state == ROTATE_TRAINING && f.run_live == FACT_NO) return 0;
    for (int i = 0; i < FACTS; i++) {
        if (*fact_at(&f, i) == FACT_UNKNOWN) *fact_at(&f, i) = FACT_YES;
    }
    bool bound = f.state != ROTATE_UNBOUND;
    const struct rotate_candidate *c = f.n_candidates ? f.candidates : NULL;
    bool work = c && c->waiting >= 1 && (!c->training || !bound);
    bool higher = work && f.cur_prio.known && c->priority > f.cur_prio.v;
    bool p3 = bound && higher && f.dwell_ms.known && f.dwell_ms.v >= 60000 &&
              f.pinned == FACT_NO && f.reserved == FACT_NO;
    int64_t idle = f.idle_ms.known ? f.idle_ms.v : 0;
    int64_t window = f.state == ROTATE_TRAINPOOL ? 900000 : 300000;
    if (f.run_live == FACT_YES) return 1;
    if (bound && (f.in_flight == FACT_YES || f.co_in_flight == FACT_YES) && !p3) return 2;
    if (p3) return 3;
    if (f.pinned == FACT_YES) return 4;
    if (f.reserved == FACT_YES) return 5;
    if (bound && idle < window) return 6;
    if (f.engine == ENGINE_ACTIVE || f.engine == ENGINE_UNKNOWN) return 7;
    return work ? 8 : 9;
}

static enum rotate_action naive_action(int branch, enum rotate_state s)
{
    if (branch == 0) return ROTATE_RESTORE;
    if (branch == 3 || branch == 8) return s == ROTATE_UNBOUND ? ROTATE_BIND : ROTATE_MOVE;
    return branch == 9 && s == ROTATE_TRAINPOOL ? ROTATE_RELEASE : ROTATE_STAY;
}

struct tally { uint64_t branch[ROTATE_BRANCHES], action[ROTATE_ACTIONS], all; };

static void see_naive(struct rotate_facts *f, void *arg)
{
    struct tally *t = arg;
    struct rotate_verdict v = rotate_decide(&LIM, f);
    int branch = naive_branch(*f);
    assert_int_equal(v.branch, branch);
    assert_int_equal(v.action, naive_action(branch, f->state));
    if (branch > 0) assert_int_equal(__builtin_ctz(v.matched), branch); /* the first of all */
    else assert_int_equal(v.matched, 0);
    t->branch[v.branch]++;
    t->action[v.action]++;
    t->all++;
}

static void test_every_input(void **state)
{
    (void)state;
    struct tally t = {.all = 0};
    each_input(see_naive, &t);
    assert_int_equal(t.all, 4 * 4 * 243 * 4 * 5 * 3 * 5);
    for (int b = 0; b < ROTATE_BRANCHES; b++) assert_true(t.branch[b] > 0);
    for (int a = 0; a < ROTATE_ACTIONS; a++) {
        if (a != ROTATE_WAIT) assert_true(t.action[a] > 0);
    }
}

/* ---- laws, without the naive reading ---- */

static bool same(struct rotate_verdict a, struct rotate_verdict b)
{
    return a.branch == b.branch && a.action == b.action && a.matched == b.matched &&
           a.target == b.target;
}

static void see_unknown(struct rotate_facts *f, void *arg)
{
    (void)arg;
    struct rotate_verdict v = rotate_decide(&LIM, f);
    for (int i = 0; i < FACTS; i++) {
        struct rotate_facts worst = *f;
        if (*fact_at(f, i) != FACT_UNKNOWN) continue;
        *fact_at(&worst, i) = FACT_YES;
        assert_true(same(v, rotate_decide(&LIM, &worst)));
    }
    struct rotate_facts worst = *f;
    if (f->engine == ENGINE_UNKNOWN) worst.engine = ENGINE_ACTIVE;
    if (!f->cur_prio.known) worst.cur_prio = READING(INT32_MAX);
    if (!f->idle_ms.known) worst.idle_ms = READING(0);
    if (!f->dwell_ms.known) worst.dwell_ms = READING(0);
    assert_true(same(v, rotate_decide(&LIM, &worst)));
}

static void test_unknown_is_worst(void **state)
{
    (void)state;
    each_input(see_unknown, NULL);
}

static void see_hold(struct rotate_facts *f, void *arg)
{
    (void)arg;
    struct rotate_verdict v = rotate_decide(&LIM, f);
    bool acts = v.action == ROTATE_MOVE || v.action == ROTATE_BIND;
    assert_true(acts == (v.target != NONE));
    assert_true(acts == (v.branch == ROTATE_MOVE_PREEMPT || v.branch == ROTATE_MOVE_IDLE));
    if (!acts && v.action != ROTATE_RELEASE) return;
    assert_int_equal(f->run_live, FACT_NO);
    assert_int_equal(f->pinned, FACT_NO);
    assert_int_equal(f->reserved, FACT_NO);
    if (v.branch == ROTATE_MOVE_PREEMPT) return;
    assert_true(f->engine == ENGINE_QUIET || f->engine == ENGINE_ABSENT);
    if (f->state == ROTATE_UNBOUND) return;
    assert_int_equal(f->in_flight, FACT_NO);
    assert_int_equal(f->co_in_flight, FACT_NO);
}

static void test_no_act_against_a_hold(void **state)
{
    (void)state;
    each_input(see_hold, NULL);
}

/* Between two moves lies the dwell: branch 3 asks for it, the idle window is longer. */
static void see_dwell(struct rotate_facts *f, void *arg)
{
    (void)arg;
    struct rotate_verdict v = rotate_decide(&LIM, f);
    if (v.action != ROTATE_MOVE) return;
    if (v.branch == ROTATE_MOVE_PREEMPT) {
        assert_true(f->dwell_ms.known && f->dwell_ms.v >= LIM.dwell_ms);
        assert_true(f->cur_prio.known);
        assert_true(f->candidates[v.target].priority > f->cur_prio.v); /* strictly */
        assert_true(f->candidates[v.target].waiting >= 1);
    } else {
        assert_true(f->idle_ms.known && f->idle_ms.v >= LIM.dwell_ms);
    }
}

static void test_dwell_and_strict_priority(void **state)
{
    (void)state;
    each_input(see_dwell, NULL);
}

static void see_transition(struct rotate_facts *f, void *arg)
{
    (void)arg;
    struct rotate_facts in = *f;
    in.transition = true;
    struct rotate_verdict v = rotate_decide(&LIM, &in);
    assert_true(same(v, (struct rotate_verdict){ROTATE_NONE, ROTATE_WAIT, 0, NONE}));
}

static void test_no_decision_in_transition(void **state)
{
    (void)state;
    each_input(see_transition, NULL);
}

/* ---- named ---- */

#define FREE .run_live = FACT_NO, .in_flight = FACT_NO, .co_in_flight = FACT_NO, \
    .pinned = FACT_NO, .reserved = FACT_NO, .engine = ENGINE_QUIET, .cur_prio = {true, 5}, \
    .idle_ms = {true, 900000}, .dwell_ms = {true, 900000}
#define WITH(i) .candidates = &POOLS[i], .n_candidates = 1
#define B(n) (UINT32_C(1) << (n))

static const struct {
    const char *name;
    struct rotate_facts f;
    enum rotate_branch branch;
    enum rotate_action action;
    uint32_t matched;
} CASES[] = {
    {"nothing known", {.state = ROTATE_UNBOUND}, 1, ROTATE_STAY, B(1) | B(4) | B(5) | B(7) | B(9)},
    {"nothing known, bound", {.state = ROTATE_SERVING}, 1, ROTATE_STAY,
     B(1) | B(2) | B(4) | B(5) | B(6) | B(7) | B(9)},
    {"nothing to do", {FREE, .state = ROTATE_SERVING}, 9, ROTATE_STAY, B(9)},
    {"an ordinary move", {FREE, .state = ROTATE_SERVING, WITH(0)}, 8, ROTATE_MOVE, B(8) | B(9)},
    {"a higher backlog", {FREE, .state = ROTATE_SERVING, WITH(1)}, 3, ROTATE_MOVE,
     B(3) | B(8) | B(9)},
    {"no higher backlog for an unbound one", {FREE, .state = ROTATE_UNBOUND, WITH(1)}, 8,
     ROTATE_BIND, B(8) | B(9)},
    {"no way to training from serving", {FREE, .state = ROTATE_SERVING, WITH(2)}, 9, ROTATE_STAY,
     B(9)},
    {"a training pool for an unbound one", {FREE, .state = ROTATE_UNBOUND, WITH(2)}, 8,
     ROTATE_BIND, B(8) | B(9)},
    {"none from one training pool to another", {FREE, .state = ROTATE_TRAINPOOL, WITH(2)}, 9,
     ROTATE_RELEASE, B(9)},
    {"a higher backlog takes a training pool", {FREE, .state = ROTATE_TRAINPOOL, WITH(1)}, 3,
     ROTATE_MOVE, B(3) | B(8) | B(9)},
    {"nothing waits", {FREE, .state = ROTATE_SERVING, WITH(3)}, 9, ROTATE_STAY, B(9)},
    {"the run has ended", {FREE, .state = ROTATE_TRAINING, WITH(1)}, 0, ROTATE_RESTORE, 0},
};

static void test_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
        struct rotate_verdict v = rotate_decide(&LIM, &CASES[i].f);
        if (v.branch != CASES[i].branch || v.action != CASES[i].action ||
            v.matched != CASES[i].matched) {
            fail_msg("%s: branch %d, %s, matched %x", CASES[i].name, v.branch,
                     rotate_action_name(v.action), v.matched);
        }
    }
}

/* A live run holds at every tick, and the hold is gone with the run, however it ended. */
static void test_run_holds_until_it_ends(void **state)
{
    (void)state;
    struct rotate_facts f = {FREE, .state = ROTATE_TRAINING, WITH(1)};
    for (int tick = 0; tick < 100; tick++) {
        f.run_live = tick % 2 ? FACT_YES : FACT_UNKNOWN;
        assert_int_equal(rotate_decide(&LIM, &f).branch, ROTATE_STAY_TRAINING);
    }
    f.run_live = FACT_NO;
    assert_int_equal(rotate_decide(&LIM, &f).action, ROTATE_RESTORE);
    f.pinned = f.reserved = FACT_YES; /* set meanwhile: never blocks a restore */
    assert_int_equal(rotate_decide(&LIM, &f).action, ROTATE_RESTORE);
    f.state = ROTATE_TRAINPOOL; /* without a record there is nothing to restore */
    assert_int_equal(rotate_decide(&LIM, &f).action, ROTATE_STAY);
}

/* ---- candidates ---- */

static enum fact any_fact(struct rng *r, int permits_in)
{
    enum fact odd[] = {FACT_UNKNOWN, FACT_NO, FACT_YES};
    return rng_below(r, 8) < 6 ? (enum fact)permits_in : odd[rng_below(r, 3)];
}

static bool counts(const struct rotate_candidate *c, bool unbound)
{
    return c->readable == FACT_YES && c->fresh == FACT_YES && c->fits == FACT_YES &&
           c->co_resident == FACT_NO && c->backed_off == FACT_NO && !c->lost && c->waiting > 0 &&
           (unbound || !c->training);
}

static int by_rank(const void *a, const void *b)
{
    const struct rotate_candidate *x = a, *y = b;
    if (x->training != y->training) return x->training ? 1 : -1;
    if (x->priority != y->priority) return x->priority > y->priority ? -1 : 1;
    if (x->oldest_ms != y->oldest_ms) return x->oldest_ms > y->oldest_ms ? -1 : 1;
    return strcmp(x->name, y->name);
}

#define MOST 8u
static uint32_t make_candidates(struct rng *r, struct rotate_candidate *c)
{
    static const char *const names[MOST] = {"a", "ab", "b", "c", "d", "e", "f", "g"};
    uint32_t n = (uint32_t)rng_below(r, MOST + 1);
    for (uint32_t i = 0; i < n; i++) {
        c[i] = (struct rotate_candidate){
            .name = names[(i * 3 + 1) % MOST], .priority = (int32_t)rng_below(r, 3) - 1,
            .training = rng_below(r, 4) == 0, .waiting = (uint32_t)rng_below(r, 3),
            .oldest_ms = (int64_t)rng_below(r, 3), .readable = any_fact(r, FACT_YES),
            .fresh = any_fact(r, FACT_YES), .fits = any_fact(r, FACT_YES),
            .co_resident = any_fact(r, FACT_NO), .backed_off = any_fact(r, FACT_NO)};
    }
    return n;
}

/* Claims lost one after the other: the targets come in the order of a sorted list, each
 * once, and then nothing moves. */
static void test_candidates_in_order(void **state)
{
    (void)state;
    struct rng r = {7};
    uint64_t moved = 0;
    for (int round = 0; round < 20000; round++) {
        struct rotate_candidate c[MOST], sorted[MOST];
        bool unbound = round % 2 == 0;
        uint32_t n = make_candidates(&r, c), left = 0;
        for (uint32_t i = 0; i < n; i++) {
            if (counts(&c[i], unbound)) sorted[left++] = c[i];
        }
        qsort(sorted, left, sizeof(*sorted), by_rank);
        struct rotate_facts f = {FREE, .state = unbound ? ROTATE_UNBOUND : ROTATE_SERVING,
                                 .candidates = c, .n_candidates = n};
        for (uint32_t i = 0; i < left; i++, moved++) {
            struct rotate_verdict v = rotate_decide(&LIM, &f);
            assert_int_equal(v.branch, ROTATE_MOVE_IDLE);
            assert_string_equal(c[v.target].name, sorted[i].name);
            c[v.target].lost = true;
        }
        assert_int_equal(rotate_decide(&LIM, &f).branch, ROTATE_STAY_HANDOVER);
    }
    assert_true(moved > 10000);
}

/* ---- words ---- */

static void test_words(void **state)
{
    (void)state;
    for (int a = 0; a < ROTATE_BRANCHES; a++) {
        assert_true(strlen(rotate_branch_text((enum rotate_branch)a)) > 10);
        for (int b = 0; b < a; b++) {
            assert_string_not_equal(rotate_branch_name((enum rotate_branch)a),
                                    rotate_branch_name((enum rotate_branch)b));
            assert_string_not_equal(rotate_branch_text((enum rotate_branch)a),
                                    rotate_branch_text((enum rotate_branch)b));
        }
    }
    assert_string_equal(rotate_state_name(ROTATE_TRAINPOOL), "TRAINPOOL");
    assert_string_equal(rotate_action_name(ROTATE_RESTORE), "restore");
    assert_int_equal(rotate_engine_of(FACT_UNKNOWN), ENGINE_UNKNOWN);
    assert_int_equal(rotate_engine_of(FACT_YES), ENGINE_QUIET);
    assert_int_equal(rotate_engine_of(FACT_NO), ENGINE_ACTIVE);
    assert_string_equal(rotate_engine_name(ENGINE_ABSENT), "absent");
}

/* ---- time ---- */

/* A guard, no benchmark (that is bench/rotate): ten times what is promised. */
static void test_is_quick(void **state)
{
    (void)state;
    struct rotate_candidate c[16];
    for (int i = 0; i < 16; i++) c[i] = POOLS[i % 2];
    struct rotate_facts f = {FREE, .state = ROTATE_SERVING, .candidates = c, .n_candidates = 16};
    uint64_t moves = 0;
    clock_t began = clock();
    for (int i = 0; i < 100000; i++) {
        f.idle_ms.v = i;
        moves += rotate_decide(&LIM, &f).action == ROTATE_MOVE;
    }
    assert_int_equal(moves, 100000);
    assert_true((clock() - began) / (CLOCKS_PER_SEC / 1000) < 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_input),
        cmocka_unit_test(test_unknown_is_worst),
        cmocka_unit_test(test_no_act_against_a_hold),
        cmocka_unit_test(test_dwell_and_strict_priority),
        cmocka_unit_test(test_no_decision_in_transition),
        cmocka_unit_test(test_named),
        cmocka_unit_test(test_run_holds_until_it_ends),
        cmocka_unit_test(test_candidates_in_order),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_is_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
