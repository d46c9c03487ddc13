/* Who may move: every combination of what the manager looks at, and herds of rotors. */
#include "harness.h"

#include "base/rng.h"
#include "core/rotate/claim.h"

/* ---- every input ---- */

static enum rotate_claim naive_rotor(const struct rotate_claimant *w)
{
    if (w->epoch_asked < w->epoch_known) return CLAIM_OLD_EPOCH;
    if (w->pinned == FACT_YES || w->reserved == FACT_YES) return CLAIM_HELD;
    if (w->pinned == FACT_UNKNOWN || w->reserved == FACT_UNKNOWN) return CLAIM_UNKNOWN;
    return CLAIM_GRANTED;
}

static struct rotate_claimant claimant(int n)
{
    return (struct rotate_claimant){.epoch_asked = 4 + (uint64_t)(n % 3), .epoch_known = 5,
                                    .pinned = (enum fact)(n / 3 % 3),
                                    .reserved = (enum fact)(n / 9 % 3)};
}

static void test_every_pool_claim(void **state)
{
    (void)state;
    uint64_t tally[CLAIM_ANSWERS] = {0};
    for (int n = 0; n < 27; n++) {
        for (int m = 0; m < 2 * 4 * 3 * 3; m++) {
            struct pool_claim c = {.who = claimant(n), .mine = m % 2, .claimed = 2,
                                   .version = 7, .version_seen = 6 + (uint64_t)(m / 8 % 3)};
            if (m / 2 % 4 > 0) c.waiting = READING(m / 2 % 4);
            enum rotate_claim got = rotate_claim_pool(&c), want = naive_rotor(&c.who);
            if (want == CLAIM_GRANTED && !c.waiting.known) want = CLAIM_UNKNOWN;
            if (want == CLAIM_GRANTED && c.version_seen != 7) want = CLAIM_CHANGED;
            if (want == CLAIM_GRANTED && c.waiting.v < 3) want = CLAIM_COVERED;
            if (c.mine && c.who.epoch_asked >= 5) want = CLAIM_GRANTED;
            assert_int_equal(got, want);
            tally[got]++;
        }
    }
    assert_true(tally[CLAIM_GRANTED] && tally[CLAIM_CHANGED] && tally[CLAIM_COVERED] &&
                tally[CLAIM_UNKNOWN] && tally[CLAIM_HELD] && tally[CLAIM_OLD_EPOCH]);
}

static void test_every_run_claim(void **state)
{
    (void)state;
    uint64_t tally[CLAIM_ANSWERS] = {0};
    for (int n = 0; n < 27; n++) {
        for (int m = 0; m < 2 * 3 * 3 * 4; m++) {
            struct run_claim c = {.who = claimant(n), .mine = m % 2, .keep = 2,
                                  .queued = (enum fact)(m / 2 % 3),
                                  .taken = (enum fact)(m / 6 % 3)};
            if (m / 18 % 4 > 0) c.bound = READING(m / 18 % 4);
            enum rotate_claim got = rotate_claim_run(&c), want = naive_rotor(&c.who);
            if (want == CLAIM_GRANTED && c.taken == FACT_YES) want = CLAIM_TAKEN;
            if (want == CLAIM_GRANTED && c.queued == FACT_NO) want = CLAIM_NO_RUN;
            bool all = c.taken == FACT_NO && c.queued == FACT_YES && c.bound.known;
            if (want == CLAIM_GRANTED && !all) want = CLAIM_UNKNOWN;
            if (want == CLAIM_GRANTED && c.bound.v - 1 < 2) want = CLAIM_KEEP;
            if (c.mine && c.who.epoch_asked >= 5) want = CLAIM_GRANTED;
            assert_int_equal(got, want);
            tally[got]++;
        }
    }
    assert_true(tally[CLAIM_GRANTED] && tally[CLAIM_TAKEN] && tally[CLAIM_NO_RUN] &&
                tally[CLAIM_KEEP] && tally[CLAIM_UNKNOWN] && tally[CLAIM_HELD]);
}

static void test_nothing_known_is_refused(void **state)
{
    (void)state;
    assert_int_equal(rotate_claim_pool(&(struct pool_claim){.claimed = 0}), CLAIM_UNKNOWN);
    assert_int_equal(rotate_claim_run(&(struct run_claim){.keep = 0}), CLAIM_UNKNOWN);
}

/* ---- herds ---- */

static struct rotate_claimant free_rotor(void)
{
    return (struct rotate_claimant){.epoch_asked = 1, .epoch_known = 1, .pinned = FACT_NO,
                                    .reserved = FACT_NO};
}

/* All rotors see the same backlog and ask at once, again and again: as many move as there
 * are items, no more and, if there are rotors enough, no fewer. */
static void test_one_rotor_for_one_item(void **state)
{
    (void)state;
    struct rng r = {3};
    for (int round = 0; round < 2000; round++) {
        uint32_t rotors = 1 + (uint32_t)rng_below(&r, 12), items = (uint32_t)rng_below(&r, 6);
        uint64_t version = 1, seen[12];
        uint32_t moved = 0, turn = 0;
        bool mine[12] = {false};
        for (uint32_t i = 0; i < rotors; i++) seen[i] = version;
        for (; turn < 400; turn++) {
            uint32_t i = (uint32_t)rng_below(&r, rotors);
            struct pool_claim c = {.who = free_rotor(), .mine = mine[i], .waiting = READING(items),
                                   .claimed = moved, .version = version, .version_seen = seen[i]};
            enum rotate_claim got = rotate_claim_pool(&c);
            if (mine[i]) assert_int_equal(got, CLAIM_GRANTED); /* asked again */
            if (got == CLAIM_GRANTED && !mine[i]) {
                mine[i] = true;
                moved++;
                version++;
            }
            seen[i] = version;
            assert_true(moved <= items);
        }
        assert_int_equal(moved, items < rotors ? items : rotors);
    }
}

/* One rotor per run, and a pool keeps what it is told to keep. */
static void test_one_rotor_for_one_run(void **state)
{
    (void)state;
    for (uint32_t keep = 0; keep < 5; keep++) {
        uint32_t bound = 4, moved = 0;
        for (int i = 0; i < 4; i++) { /* four rotors, a run for each */
            struct run_claim c = {.who = free_rotor(), .queued = FACT_YES, .taken = FACT_NO,
                                  .bound = READING(bound), .keep = keep};
            if (rotate_claim_run(&c) != CLAIM_GRANTED) continue;
            c.taken = FACT_YES; /* the others now ask for the same */
            assert_int_equal(rotate_claim_run(&c), CLAIM_TAKEN);
            c.mine = true;
            assert_int_equal(rotate_claim_run(&c), CLAIM_GRANTED);
            bound--;
            moved++;
        }
        assert_int_equal(bound, keep > 4 ? 4 : keep);
        assert_int_equal(moved, keep > 4 ? 0 : 4 - keep);
    }
}

/* ---- epochs and words ---- */

static void test_higher_epoch_wins(void **state)
{
    (void)state;
    assert_int_equal(rotate_epoch(3, 7), 7); /* two agents: the one bound later */
    assert_int_equal(rotate_epoch(7, 3), 7); /* a manager from an older backup */
    assert_int_equal(rotate_epoch(5, 5), 5);
}

static void test_words(void **state)
{
    (void)state;
    for (int a = 0; a < CLAIM_ANSWERS; a++) {
        assert_true(strlen(rotate_claim_text((enum rotate_claim)a)) > 10);
        for (int b = 0; b < a; b++) {
            assert_string_not_equal(rotate_claim_name((enum rotate_claim)a),
                                    rotate_claim_name((enum rotate_claim)b));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pool_claim),
        cmocka_unit_test(test_every_run_claim),
        cmocka_unit_test(test_nothing_known_is_refused),
        cmocka_unit_test(test_one_rotor_for_one_item),
        cmocka_unit_test(test_one_rotor_for_one_run),
        cmocka_unit_test(test_higher_epoch_wins),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
