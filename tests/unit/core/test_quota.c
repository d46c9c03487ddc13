/* Limits: named cases, every pair of level and kind, and random worlds against a plain sum. */
#include "harness.h"

#include "base/rng.h"
#include "core/model/usage.h"

#define GIB (INT64_C(1) << 30)

static const struct session *at(const struct lab *l, uint64_t id)
{
    return world_session(l->w, id);
}

static bool starts(const struct lab *l, uint64_t id) { return quota_allows(l->w, at(l, id), NULL); }

/* Whose limit, when all three are numbered 1. */
static void every_level_and_kind(void **state)
{
    (void)state;
    static const int64_t asked[] = {[LIMIT_CPU] = 2000, [LIMIT_MEM] = 2 * GIB, [LIMIT_GPU] = 2,
                                    [LIMIT_RUNNING] = 1};
    for (enum account_level level = LEVEL_USER; level < ACCOUNT_LEVELS; level++) {
        for (enum limit_kind k = LIMIT_CPU; k <= LIMIT_RUNNING; k++) {
            struct lab *l = lab_new(BLOCKED_SKIP);
            struct quota_excess e[QUOTA_EXCESSES_MAX], never;
            struct session two = lab_request(2, 1, 1, 1);
            (void)lab_join(l, "n1", 8, 8, 2);
            (void)lab_run(l, &two);              /* uses as much as it asks */
            uint64_t id = lab_run(l, &two);
            for (int64_t more = 0; more <= 1; more++) {
                int64_t limit = 2 * asked[k] - 1 + more;
                lab_limit(l, level, 1, k, limit);
                assert_int_equal(starts(l, id), more == 1);
                assert_int_equal(quota_excesses(l->w, at(l, id), e), 1 - more);
                if (more) continue;
                assert_int_equal(e[0].level, level);
                assert_int_equal(e[0].id, 1);
                assert_int_equal(e[0].kind, k);
                assert_int_equal(e[0].used, asked[k]);
                assert_int_equal(e[0].asked, asked[k]);
                assert_int_equal(e[0].limit, limit);
                assert_false(asked[k] > 1 && quota_never(l->w, at(l, id), &never));
            }
            /* Below what it asks it can never start; 0 is a limit as any other. */
            static const int64_t below[] = {1, 0};
            for (size_t i = 0; i < ARRAY_LEN(below); i++) {
                if (below[i] >= asked[k]) continue;
                lab_limit(l, level, 1, k, below[i]);
                assert_true(quota_never(l->w, at(l, id), &never));
                assert_int_equal(never.level, level);
                assert_int_equal(never.kind, k);
                assert_int_equal(never.used, 0);
                assert_int_equal(never.asked, asked[k]);
                assert_int_equal(never.limit, below[i]);
            }
            lab_free(l);
        }
    }
}

static void at_submission(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    struct quota_excess e;
    struct session three = lab_request(3, 1, 1, 0);
    const struct session *s = at(l, lab_run(l, &three));
    assert_false(quota_never(l->w, s, &e));
    lab_limit(l, LEVEL_PROJECT, 1, LIMIT_CONTAINERS, 3);
    assert_false(quota_never(l->w, s, &e));
    lab_limit(l, LEVEL_PROJECT, 1, LIMIT_CONTAINERS, 2);
    assert_true(quota_never(l->w, s, &e));
    assert_int_equal(e.kind, LIMIT_CONTAINERS);
    assert_int_equal(e.asked, 3);
    lab_limit(l, LEVEL_PROJECT, 1, LIMIT_CONTAINERS, 9);
    lab_limit(l, LEVEL_USER, 1, LIMIT_PENDING, 2); /* one waits: one more */
    assert_false(quota_never(l->w, s, &e));
    lab_limit(l, LEVEL_USER, 1, LIMIT_PENDING, 1);
    assert_true(quota_never(l->w, s, &e));
    assert_int_equal(e.kind, LIMIT_PENDING);
    assert_int_equal(e.used, 1);
    assert_int_equal(e.limit, 1);
    lab_free(l);
}

/* QTA8: a limit of 0 forbids, and forbids nobody who does not ask. */
static void qta8_none_and_unlimited(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    struct session gpu = lab_request(1, 1, 1, 1), cpu = lab_request(1, 1, 1, 0);
    uint64_t with = lab_run(l, &gpu), without = lab_run(l, &cpu);
    assert_true(starts(l, with));
    lab_limit(l, LEVEL_PROJECT, 1, LIMIT_GPU, 0);
    assert_false(starts(l, with));
    assert_true(starts(l, without));
    lab_free(l);
}

/* A limit that was lowered below what is used holds back only who asks for more of it. */
static void lowered(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    struct quota_left left;
    struct session gpu = lab_request(1, 1, 1, 2), cpu = lab_request(1, 1, 1, 0);
    (void)lab_join(l, "n1", 2, 8, 2);
    (void)lab_run(l, &gpu);
    lab_limit(l, LEVEL_USER, 1, LIMIT_GPU, 1);
    quota_user_left(l->w, 1, &left);
    assert_int_equal(left.left[LIMIT_GPU], -1);
    lab_limit(l, LEVEL_USER, 1, LIMIT_CPU, 1000);
    uint64_t id = lab_run(l, &cpu);
    assert_false(starts(l, id)); /* cpu: 1 used, 1 asked, 1 allowed */
    lab_limit(l, LEVEL_USER, 1, LIMIT_CPU, 2000);
    assert_true(starts(l, id));
    lab_free(l);
}

/* QTA7: sums near the greatest number refuse, and never wrap. */
static void sums_do_not_wrap(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    struct quota_excess e[QUOTA_EXCESSES_MAX];
    struct session big = lab_request(SESSION_MEMBERS_MAX, 1, 1, 0);
    big.roles[0].slots.v[SLOT_MEM] = SLOT_MAX;
    uint64_t id = lab_run(l, &big);
    struct usage *u = &world_user(l->w, 1)->usage;
    u->used.v[SLOT_MEM] = INT64_MAX - (INT64_C(1) << 61);
    assert_true(starts(l, id)); /* to the last byte */
    u->used.v[SLOT_MEM]++;
    assert_false(starts(l, id));
    assert_int_equal(quota_excesses(l->w, at(l, id), e), 1);
    assert_int_equal(e[0].kind, LIMIT_MEM);
    assert_int_equal(e[0].limit, INT64_MAX);
    u->used.v[SLOT_MEM] = 0;
    lab_free(l);
}

/* All that is exceeded is listed: user before project before domain. */
static void all_are_listed(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    struct quota_excess e[QUOTA_EXCESSES_MAX];
    struct session two = lab_request(2, 1, 1, 1);
    uint64_t id = lab_run(l, &two);
    for (enum account_level level = LEVEL_USER; level < ACCOUNT_LEVELS; level++) {
        for (enum limit_kind k = LIMIT_CPU; k < LIMIT_KINDS; k++) lab_limit(l, level, 1, k, 0);
    }
    uint32_t n = quota_excesses(l->w, at(l, id), e);
    assert_int_equal(n, 3 * (LIMIT_RUNNING + 1)); /* what was judged at submission is not again */
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(e[i].level, LEVEL_USER + i / (LIMIT_RUNNING + 1));
        assert_int_equal(e[i].kind, i % (LIMIT_RUNNING + 1));
    }
    lab_free(l);
}

/* PRE8: limits are judged as if those who will end were gone. */
static void freed(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    struct session two = lab_request(1, 1, 1, 2);
    uint32_t other = lab_project(l, 1, "other");
    (void)lab_join(l, "n1", 8, 8, 4);
    uint64_t low = lab_run(l, &two);
    two.project = other;
    uint64_t elsewhere = lab_run(l, &two);
    two.project = 1;
    uint64_t high = lab_run(l, &two);
    const struct session *mine[] = {at(l, low)}, *theirs[] = {at(l, elsewhere)};
    struct quota_freed gone = {1, mine}, useless = {1, theirs};
    lab_limit(l, LEVEL_PROJECT, 1, LIMIT_GPU, 2);
    lab_limit(l, LEVEL_PROJECT, 1, LIMIT_RUNNING, 1);
    assert_false(quota_allows(l->w, at(l, high), NULL));
    assert_false(quota_allows(l->w, at(l, high), &useless));
    assert_true(quota_allows(l->w, at(l, high), &gone));
    lab_limit(l, LEVEL_DOMAIN, 1, LIMIT_GPU, 4);
    assert_true(quota_allows(l->w, at(l, high), &gone));
    assert_true(quota_allows(l->w, at(l, low), NULL)); /* it is not judged against itself */
    lab_free(l);
}

/* QTA13: devices of any model count for the limit on devices. */
static void qta13_models_count_as_devices(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    static const char *const models[] = {"a100", "h100"};
    uint64_t ids[2];
    lab_limit(l, LEVEL_PROJECT, 1, LIMIT_GPU, 4);
    for (size_t i = 0; i < 2; i++) {
        struct session s = lab_request(1, 1, 1, 3);
        assert_true(TEXT_SET(s.where.gpu_models, str_of(models[i])));
        ids[i] = lab_run(l, &s);
    }
    usage_moved(l->w, at(l, ids[0]), SESSION_PENDING, SESSION_RESERVED);
    assert_false(starts(l, ids[1]));
    usage_moved(l->w, at(l, ids[0]), SESSION_RESERVED, SESSION_PENDING);
    assert_true(starts(l, ids[1]));
    lab_free(l);
}

/* GNG2: the whole gang at once. */
static void gng2_a_gang_is_one(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    struct session gang = lab_request(2, 1, 1, 1);
    (void)lab_join(l, "n1", 8, 8, 4);
    lab_limit(l, LEVEL_PROJECT, 1, LIMIT_GPU, 3);
    (void)lab_run(l, &gang);
    uint64_t second = lab_run(l, &gang);
    assert_false(starts(l, second)); /* one of its members would fit */
    lab_free(l);
}

/* ---- random worlds against a sum over everything */

static int64_t amount(const struct world *w, const struct session *s, enum limit_kind k)
{
    int64_t sum = 0;
    if (k == LIMIT_RUNNING) return 1;
    for (struct alloc *a = world_allocs_of_session(w, s); a; a = world_next_of_session(w, a)) {
        if (!a->revoked) sum += a->slots.v[k];
    }
    return sum;
}

static bool counts_for(const struct world *w, const struct session *s, enum account_level l,
                       uint32_t id)
{
    if (s->id == 0 || s->state == SESSION_PENDING) return false;
    if (l == LEVEL_USER) return s->user == id;
    if (l == LEVEL_PROJECT) return s->project == id;
    return world_project(w, s->project)->domain == id;
}

static bool naive(const struct world *w, const struct session *s)
{
    struct slots total;
    assert_true(session_total(s, &total));
    for (enum account_level l = LEVEL_USER; l < ACCOUNT_LEVELS; l++) {
        uint32_t id = l == LEVEL_USER      ? s->user
                      : l == LEVEL_PROJECT ? s->project
                                           : world_project(w, s->project)->domain;
        const struct limits *limits = l == LEVEL_USER      ? &world_user(w, id)->limits
                                      : l == LEVEL_PROJECT ? &world_project(w, id)->limits
                                                           : &world_domain(w, id)->limits;
        for (enum limit_kind k = LIMIT_CPU; k <= LIMIT_RUNNING; k++) {
            int64_t sum = k < LIMIT_RUNNING ? total.v[k] : 1;
            if (sum == 0 || !limit_has(limits, k)) continue;
            VEC_EACH(other, &w->sessions) {
                if (counts_for(w, other, l, id)) sum += amount(w, other, k);
            }
            if (sum > limits->max[k]) return false;
        }
    }
    return true;
}

static void check_world(const struct lab *l)
{
    VEC_EACH(s, &l->w->sessions) {
        struct slots total;
        struct quota_left user, lane;
        struct quota_excess e[QUOTA_EXCESSES_MAX];
        if (s->state != SESSION_PENDING) continue;
        bool wanted = naive(l->w, s);
        assert_int_equal(quota_allows(l->w, s, NULL), wanted);
        assert_int_equal(quota_excesses(l->w, s, e) == 0, wanted);
        assert_true(session_total(s, &total));
        quota_user_left(l->w, s->user, &user);
        quota_lane_left(l->w, s->project, &lane);
        assert_int_equal(quota_fits(&user, &total) && quota_fits(&lane, &total), wanted);
    }
}

static int64_t between(struct rng *r, int64_t low, int64_t high)
{
    return low + (int64_t)rng_below(r, (uint64_t)(high - low + 1));
}

static void random_worlds(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct rng r = {seed};
        struct lab *l = lab_new(BLOCKED_SKIP);
        uint32_t far = lab_domain(l, "far");
        uint32_t projects[] = {1, lab_project(l, 1, "a"), lab_project(l, far, "b")};
        uint32_t users[] = {1, 2, lab_user(l, far, "carol")};
        for (int n = 0; n < 3; n++) {
            char name[8];
            text_fmt(name, sizeof(name), "n%d", n);
            (void)lab_join(l, name, 8, 8, 4);
        }
        for (int turn = 0; turn < 60; turn++) {
            uint32_t p = (uint32_t)rng_below(&r, 3), u = p == 2 ? 2 : (uint32_t)rng_below(&r, 2);
            struct session s = lab_request((uint32_t)between(&r, 1, 3), 1, 1,
                                           between(&r, 0, 2));
            s.user = users[u];
            s.project = projects[p];
            if (rng_below(&r, 3) > 0) {
                enum verdict v = lab_submit(l, &s);
                assert_true(v == VERDICT_OK || v == VERDICT_OVER_LIMIT);
            }
            if (rng_below(&r, 4) == 0) {
                enum account_level level = (enum account_level)between(&r, 1, 3);
                uint32_t id = (uint32_t)between(&r, 1, level == LEVEL_DOMAIN ? 2 : 3);
                enum limit_kind k = (enum limit_kind)rng_below(&r, LIMIT_RUNNING + 1);
                int64_t unit = k == LIMIT_CPU ? 1000 : k == LIMIT_MEM ? GIB : 1;
                lab_limit(l, level, id, k, between(&r, 0, 9) * unit);
            }
            if (rng_below(&r, 3) == 0 && l->w->last_session > 0) {
                uint64_t id = (uint64_t)between(&r, 1, (int64_t)l->w->last_session);
                if (world_session(l->w, id)) (void)lab_stop(l, id, 0);
            }
            if (rng_below(&r, 4) == 0) lab_settle(l);
            check_world(l);
        }
        lab_free(l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_level_and_kind), cmocka_unit_test(at_submission),
        cmocka_unit_test(qta8_none_and_unlimited),   cmocka_unit_test(lowered),
        cmocka_unit_test(sums_do_not_wrap),     cmocka_unit_test(all_are_listed),
        cmocka_unit_test(freed),                cmocka_unit_test(gng2_a_gang_is_one),
        cmocka_unit_test(qta13_models_count_as_devices),
        cmocka_unit_test(random_worlds),
    };
    return RUN(tests);
}
