/* The eleven checks: every combination of what they look at, against the page's words;
 * and that the gate is asked only where the loop hands over. */
#include "harness.h"

#include "core/rotate/gate.h"

static const struct rotate_limits LIM = {300000, 60000, 1200000, 900000, 30000, 60000, 600000};
#define B(n) (UINT32_C(1) << (n))

enum { FACTS = 9 };
static enum fact *fact_at(struct gate_facts *f, int i)
{
    enum fact *all[FACTS] = {&f->here.pinned, &f->here.reserved, &f->here.run_live,
                             &f->here.in_flight, &f->here.co_in_flight, &f->queued,
                             &f->demand_manager, &f->demand_node, &f->epochs_agree};
    return all[i];
}

static const struct reading QUIETS[] = {{0}, {true, 1199999}, {true, 1200000}};

/* All pass, and the record is written. */
static struct gate_facts passing(void)
{
    return (struct gate_facts){
        .here = {.state = ROTATE_SERVING, .run_live = FACT_NO, .in_flight = FACT_NO,
                 .co_in_flight = FACT_NO, .pinned = FACT_NO, .reserved = FACT_NO,
                 .engine = ENGINE_QUIET, .cur_prio = {true, 5}, .idle_ms = {true, 1200000},
                 .dwell_ms = {true, 1200000}},
        .run_fits = FACT_YES, .queued = FACT_NO, .quiet_ms = {true, 1200000},
        .demand_manager = FACT_NO, .demand_node = FACT_NO, .epochs_agree = FACT_YES,
        .way_back = FACT_YES};
}

typedef void visit(const struct gate_facts *f, void *arg);

static void each_record(struct gate_facts *f, visit *see, void *arg)
{
    for (int q = 0; q < 3; q++) {
        for (int w = 0; w < 3; w++) {
            f->quiet_ms = QUIETS[q];
            f->way_back = (enum fact)w;
            see(f, arg);
        }
    }
}

static void each_input(visit *see, void *arg)
{
    for (int s = 0; s < ROTATE_STATES; s++) {
        for (int e = 0; e < ENGINE_STATES; e++) {
            for (int n = 0; n < 19683; n++) {
                struct gate_facts f = passing();
                f.here.state = (enum rotate_state)s;
                f.here.engine = (enum rotate_engine)e;
                for (int i = 0, rest = n; i < FACTS; i++, rest /= 3) {
                    *fact_at(&f, i) = (enum fact)(rest % 3);
                }
                each_record(&f, see, arg);
            }
        }
    }
}

/* The page's list, one line each; what is unknown is check 9's alone. */
static uint32_t naive_refusals(const struct gate_facts *f)
{
    uint32_t r = 0;
    bool unknown = !f->quiet_ms.known || f->here.engine == ENGINE_UNKNOWN ||
                   f->here.engine == ENGINE_ABSENT;
    for (int i = 0; i < FACTS; i++) {
        unknown |= *fact_at((struct gate_facts *)(uintptr_t)f, i) == FACT_UNKNOWN;
    }
    if (f->here.pinned == FACT_YES) r |= B(1);
    if (f->here.reserved == FACT_YES) r |= B(2);
    if (f->here.run_live == FACT_YES) r |= B(3);
    if (f->here.in_flight == FACT_YES || f->here.co_in_flight == FACT_YES) r |= B(4);
    if (f->here.engine == ENGINE_ACTIVE) r |= B(5);
    if (f->queued == FACT_YES) r |= B(6);
    if (f->quiet_ms.known && f->quiet_ms.v < 1200000) r |= B(7);
    if (f->here.state != ROTATE_SERVING) r |= B(8);
    if (unknown) r |= B(9);
    if (f->demand_manager + f->demand_node == FACT_NO + FACT_YES &&
        f->demand_manager != FACT_UNKNOWN && f->demand_node != FACT_UNKNOWN) r |= B(10);
    if (f->epochs_agree == FACT_NO) r |= B(10);
    if (r == 0 && f->way_back == FACT_NO) r |= B(11);
    return r;
}

struct tally { uint64_t headline[GATE_CHECKS], answer[GATE_ANSWERS], all; };

static void see_naive(const struct gate_facts *f, void *arg)
{
    struct tally *t = arg;
    struct gate_verdict v = gate_decide(&LIM, f);
    uint32_t refused = naive_refusals(f);
    assert_int_equal(v.refused, refused);
    if (refused != 0) {
        assert_int_equal(v.answer, GATE_REFUSE);
        assert_int_equal(v.headline, __builtin_ctz(refused));
    } else {
        assert_int_equal(v.answer, f->way_back == FACT_YES ? GATE_DRAIN : GATE_RECORD);
        assert_int_equal(v.headline, 0);
    }
    t->headline[v.headline]++;
    t->answer[v.answer]++;
    t->all++;
}

static void test_every_input(void **state)
{
    (void)state;
    struct tally t = {.all = 0};
    each_input(see_naive, &t);
    assert_int_equal(t.all, 4 * 4 * 19683 * 9);
    for (int c = 1; c < GATE_CHECKS; c++) assert_true(t.headline[c] > 0);
    /* Of all these, what drains has every fact at its one permitting value; both views of
     * demand may agree on "some" as well as on "none". */
    assert_int_equal(t.answer[GATE_DRAIN], 2);
    assert_int_equal(t.answer[GATE_RECORD], 2);
}

/* ---- one at a time ---- */

static void spoil(struct gate_facts *f, int check)
{
    switch (check) {
    case 1: f->here.pinned = FACT_YES; break;
    case 2: f->here.reserved = FACT_YES; break;
    case 3: f->here.run_live = FACT_YES; break;
    case 4: f->here.co_in_flight = FACT_YES; break;
    case 5: f->here.engine = ENGINE_ACTIVE; break;
    case 6: f->queued = FACT_YES; break;
    case 7: f->quiet_ms = READING(1199999); break;
    case 8: f->here.state = ROTATE_UNBOUND; break;
    case 9: f->here.engine = ENGINE_ABSENT; break;
    case 10: f->epochs_agree = FACT_NO; break;
    default: f->way_back = FACT_NO; break;
    }
}

/* Any single one ends it, and only it is named. */
static void test_any_one_refuses(void **state)
{
    (void)state;
    struct gate_facts f = passing();
    assert_int_equal(gate_decide(&LIM, &f).answer, GATE_DRAIN);
    for (int c = 1; c < GATE_CHECKS; c++) {
        f = passing();
        spoil(&f, c);
        struct gate_verdict v = gate_decide(&LIM, &f);
        assert_int_equal(v.answer, GATE_REFUSE);
        assert_int_equal(v.refused, B(c));
    }
}

/* All that refuse are recorded, the first is the headline; the record is not even tried. */
static void test_all_are_recorded(void **state)
{
    (void)state;
    for (int a = 1; a < GATE_CHECKS; a++) {
        for (int b = a + 1; b < GATE_CHECKS; b++) {
            if (a == 5 && b == 9) continue; /* one input, two values */
            struct gate_facts f = passing();
            spoil(&f, a);
            spoil(&f, b);
            struct gate_verdict v = gate_decide(&LIM, &f);
            assert_int_equal(v.headline, a);
            assert_int_equal(v.refused, b == GATE_NO_WAY_BACK ? B(a) : B(a) | B(b));
        }
    }
}

/* Uncertainty is never permission: each input alone, unknown. */
static void test_any_unknown_refuses(void **state)
{
    (void)state;
    for (int i = 0; i < FACTS + 2; i++) {
        struct gate_facts f = passing();
        if (i < FACTS) *fact_at(&f, i) = FACT_UNKNOWN;
        else if (i == FACTS) f.here.engine = ENGINE_UNKNOWN;
        else f.quiet_ms.known = false;
        struct gate_verdict v = gate_decide(&LIM, &f);
        assert_int_equal(v.answer, GATE_REFUSE);
        assert_int_equal(v.refused, B(GATE_UNREADABLE));
    }
    struct gate_verdict v = gate_decide(&LIM, &(struct gate_facts){.queued = FACT_UNKNOWN});
    assert_int_equal(v.answer, GATE_REFUSE); /* {0} knows nothing */
}

/* Ten pass: the record is asked for; on the same snapshot it then decides alone. */
static void test_record_comes_last(void **state)
{
    (void)state;
    struct gate_facts f = passing();
    f.way_back = FACT_UNKNOWN;
    assert_int_equal(gate_ask(&LIM, &f).answer, GATE_RECORD);
    f.way_back = FACT_NO;
    struct gate_verdict v = gate_ask(&LIM, &f);
    assert_int_equal(v.answer, GATE_REFUSE);
    assert_int_equal(v.headline, GATE_NO_WAY_BACK);
    f.way_back = FACT_YES;
    assert_int_equal(gate_ask(&LIM, &f).answer, GATE_DRAIN);
}

/* ---- the loop first ---- */

static void see_asked(const struct gate_facts *f, void *arg)
{
    uint64_t *reached = arg;
    struct gate_verdict asked = gate_ask(&LIM, f), alone = gate_decide(&LIM, f);
    struct rotate_verdict loop = rotate_decide(&LIM, &f->here);
    bool handed_over = loop.branch == ROTATE_STAY_HANDOVER && loop.action == ROTATE_STAY;
    if (!handed_over) {
        assert_int_equal(asked.answer, GATE_NOT_REACHED);
        assert_int_equal(asked.refused, 0);
        return;
    }
    assert_int_equal(asked.answer, alone.answer);
    assert_int_equal(asked.refused, alone.refused);
    ++*reached;
}

static void test_asked_only_at_branch_nine(void **state)
{
    (void)state;
    uint64_t reached = 0;
    each_input(see_asked, &reached);
    assert_true(reached > 0);
}

static const struct rotate_candidate POOL = {
    .name = "other", .priority = 1, .waiting = 1, .readable = FACT_YES, .fresh = FACT_YES,
    .fits = FACT_YES, .co_resident = FACT_NO, .backed_off = FACT_NO};

typedef void spoiler(struct rotate_candidate *c);
static void not_readable(struct rotate_candidate *c) { c->readable = FACT_NO; }
static void maybe_readable(struct rotate_candidate *c) { c->readable = FACT_UNKNOWN; }
static void stale(struct rotate_candidate *c) { c->fresh = FACT_NO; }
static void maybe_stale(struct rotate_candidate *c) { c->fresh = FACT_UNKNOWN; }
static void maybe_fits(struct rotate_candidate *c) { c->fits = FACT_UNKNOWN; }
static void maybe_beside(struct rotate_candidate *c) { c->co_resident = FACT_UNKNOWN; }
static void maybe_off(struct rotate_candidate *c) { c->backed_off = FACT_UNKNOWN; }
static void claim_lost(struct rotate_candidate *c) { c->lost = true; }
static void does_not_fit(struct rotate_candidate *c) { c->fits = FACT_NO; }
static void beside(struct rotate_candidate *c) { c->co_resident = FACT_YES; }
static void backed_off(struct rotate_candidate *c) { c->backed_off = FACT_YES; }
static void training(struct rotate_candidate *c) { c->training = true; }

static const struct { const char *name; spoiler *spoil; } HIDDEN[] = {
    {"not readable", not_readable}, {"readable unknown", maybe_readable},
    {"stale", stale}, {"age unknown", maybe_stale}, {"fit unknown", maybe_fits},
    {"co-residence unknown", maybe_beside}, {"back-off unknown", maybe_off},
    {"claim lost", claim_lost},
}, APART[] = {
    {"does not fit", does_not_fit}, {"co-resident", beside}, {"backed off", backed_off},
    {"training pool", training},
};

/* Serving outranks a queued run: with work anywhere the gate is not reached; with work
 * that cannot be read it refuses, and only what is known to be none of ours passes. */
static void test_serving_comes_first(void **state)
{
    (void)state;
    struct rotate_candidate c = POOL;
    struct gate_facts f = passing();
    f.here.candidates = &c;
    f.here.n_candidates = 1;
    assert_int_equal(gate_ask(&LIM, &f).answer, GATE_NOT_REACHED);

    for (size_t i = 0; i < sizeof(HIDDEN) / sizeof(*HIDDEN); i++) {
        c = POOL;
        HIDDEN[i].spoil(&c);
        struct gate_verdict v = gate_ask(&LIM, &f);
        if (v.answer != GATE_REFUSE) fail_msg("%s: passes", HIDDEN[i].name);
        assert_int_equal(v.refused, B(GATE_UNREADABLE));
        assert_int_equal(gate_again(&LIM, &f).refused, B(GATE_UNREADABLE));
    }
    for (size_t i = 0; i < sizeof(APART) / sizeof(*APART); i++) {
        c = POOL;
        c.readable = FACT_NO;
        APART[i].spoil(&c);
        if (gate_ask(&LIM, &f).answer != GATE_DRAIN) fail_msg("%s: refuses", APART[i].name);
    }
    c = POOL;
    maybe_fits(&c);
    c.waiting = 0; /* whether it fits does not matter */
    assert_int_equal(gate_ask(&LIM, &f).answer, GATE_DRAIN);
}

static void test_needs_a_run_that_fits(void **state)
{
    (void)state;
    for (int fits = 0; fits < 3; fits++) {
        struct gate_facts f = passing();
        f.run_fits = (enum fact)fits;
        enum gate_answer want = fits == FACT_YES ? GATE_DRAIN : GATE_NOT_REACHED;
        assert_int_equal(gate_ask(&LIM, &f).answer, want);
        assert_int_equal(gate_decide(&LIM, &f).answer, GATE_DRAIN); /* by itself */
        f.here.transition = true;
        assert_int_equal(gate_ask(&LIM, &f).answer, GATE_NOT_REACHED);
        assert_int_equal(gate_decide(&LIM, &f).answer, GATE_NOT_REACHED);
    }
}

/* ---- in DRAINING ---- */

static void test_asked_a_second_time(void **state)
{
    (void)state;
    for (int c = 1; c < GATE_CHECKS; c++) {
        struct gate_facts f = passing();
        f.here.transition = true;
        assert_int_equal(gate_again(&LIM, &f).answer, GATE_DRAIN);
        spoil(&f, c);
        bool asked = (c >= 4 && c <= 7) || c == 9 || c == 10;
        struct gate_verdict v = gate_again(&LIM, &f);
        assert_int_equal(v.answer, asked ? GATE_REFUSE : GATE_DRAIN);
        assert_int_equal(v.refused, asked ? B(c) : 0);
    }
}

/* ---- the node's own view ---- */

static void test_node_demand(void **state)
{
    (void)state;
    const struct reading bytes[] = {{0}, {true, 4096}, {true, 4097}};
    const struct reading device[] = {{0}, {true, 20}, {true, 21}};
    for (int n = 0; n < 3 * ENGINE_STATES * 9; n++) {
        int q = n % 3, e = n / 3 % ENGINE_STATES, b = n / 3 / ENGINE_STATES % 3;
        int d = n / 3 / ENGINE_STATES / 3;
        struct gate_demand g = {.queued = (enum fact)q, .engine = (enum rotate_engine)e,
                                .port_bytes = bytes[b], .device_milli = device[d]};
        bool some = q == FACT_YES || e == ENGINE_ACTIVE || b == 2 || d == 2;
        bool all_known = q != FACT_UNKNOWN && e != ENGINE_UNKNOWN && b != 0 && d != 0;
        enum fact want = some ? FACT_YES : all_known ? FACT_NO : FACT_UNKNOWN;
        assert_int_equal(gate_node_demand(&g), want);
    }
}

/* ---- words ---- */

static void test_words(void **state)
{
    (void)state;
    for (int a = 0; a < GATE_CHECKS; a++) {
        assert_true(strlen(gate_check_text((enum gate_check)a)) > 10);
        for (int b = 0; b < a; b++) {
            assert_string_not_equal(gate_check_name((enum gate_check)a),
                                    gate_check_name((enum gate_check)b));
            assert_string_not_equal(gate_check_text((enum gate_check)a),
                                    gate_check_text((enum gate_check)b));
        }
    }
    assert_string_equal(gate_answer_name(GATE_DRAIN), "drain");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_input),
        cmocka_unit_test(test_any_one_refuses),
        cmocka_unit_test(test_all_are_recorded),
        cmocka_unit_test(test_any_unknown_refuses),
        cmocka_unit_test(test_record_comes_last),
        cmocka_unit_test(test_asked_only_at_branch_nine),
        cmocka_unit_test(test_serving_comes_first),
        cmocka_unit_test(test_needs_a_run_that_fits),
        cmocka_unit_test(test_asked_a_second_time),
        cmocka_unit_test(test_node_demand),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
