/* What accounts use: booked where rows and states move, and counted anew by the audit. */
#include "harness.h"

#include "core/model/usage.h"

static const struct usage *of_user(const struct lab *l, uint32_t id)
{
    return &world_user(l->w, id)->usage;
}

static void expect(const struct usage *u, int64_t gpu, uint32_t running, uint32_t pending)
{
    assert_int_equal(u->used.v[SLOT_GPU], gpu);
    assert_int_equal(u->running, running);
    assert_int_equal(u->pending, pending);
}

static void expect_all(const struct lab *l, int64_t gpu, uint32_t running, uint32_t pending)
{
    expect(of_user(l, 1), gpu, running, pending);
    expect(&world_project(l->w, 1)->usage, gpu, running, pending);
    expect(&world_domain(l->w, 1)->usage, gpu, running, pending);
}

static void follows_a_session(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    struct session one = lab_request(1, 1, 1, 1), two = lab_request(2, 1, 1, 1);
    uint64_t waits = lab_run(l, &two);
    expect_all(l, 0, 0, 1);
    uint32_t n = lab_join(l, "n1", 8, 8, 2);
    expect_all(l, 2, 1, 0);
    lab_settle(l);
    assert_int_equal(lab_state(l, waits), SESSION_RUNNING);
    uint64_t behind = lab_run(l, &one);
    expect_all(l, 2, 1, 1);
    /* A member that is proved gone gives back its part, while the other still stops. */
    lab_exit(l, n, waits, 1, 1);
    assert_int_equal(lab_state(l, waits), SESSION_STOPPING);
    assert_int_equal(lab_state(l, behind), SESSION_ALLOCATED);
    expect_all(l, 2, 2, 0);
    lab_settle(l); /* the other ends, and the one behind starts */
    expect_all(l, 1, 1, 0);
    lab_stop(l, behind, 0);
    lab_settle(l);
    expect_all(l, 0, 0, 0);
    lab_free(l);
}

/* QTA5: a revoked attempt holds its devices, and no more of the quota; a manager that is
 * killed right then counts the same. */
static void qta5_revoked_is_not_used(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    struct session one = lab_request(1, 1, 1, 1);
    (void)lab_join(l, "n1", 8, 8, 1);
    (void)lab_run(l, &one);
    expect_all(l, 1, 1, 0);
    lab_tick(l, 60000); /* nobody took it */
    expect_all(l, 0, 0, 1);
    assert_int_equal(lab_rows(l), 1);
    lab_restart(l); /* audited: counted anew it is the same */
    expect_all(l, 0, 0, 1);
    lab_free(l);
}

/* QTA4: a gang of which one has ended already starts anew, and uses all three again. */
static void qta4_a_restart_counts_all(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    struct session three = lab_request(3, 1, 1, 1);
    uint32_t n = lab_join(l, "n1", 8, 8, 3);
    uint64_t id = lab_run(l, &three);
    expect_all(l, 3, 1, 0);
    for (uint32_t m = 0; m < 3; m++) lab_set(l, n, id, m, MEMBER_STARTING, NULL);
    lab_report(l, n);
    lab_exit(l, n, id, 1, 0); /* it was quick */
    expect_all(l, 2, 1, 0);
    lab_say(l, n, id, 2, MEMBER_FAILED);
    expect_all(l, 0, 0, 1);
    lab_settle(l); /* what is left of the first attempt goes */
    lab_tick(l, SESSION_BACKOFF_FIRST_MS);
    lab_settle(l);
    assert_int_equal(lab_state(l, id), SESSION_RUNNING);
    expect_all(l, 3, 1, 0);
    lab_free(l);
}

/* Each of the three has its own sum. */
static void levels_differ(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    struct session one = lab_request(1, 1, 1, 1);
    uint32_t project = lab_project(l, 1, "second");
    uint32_t domain = lab_domain(l, "far"), theirs = lab_project(l, domain, "theirs");
    uint32_t user = lab_user(l, domain, "carol");
    (void)lab_join(l, "n1", 8, 8, 8);
    (void)lab_run(l, &one);
    one.project = project;
    (void)lab_run(l, &one);
    one.user = 2;
    (void)lab_run(l, &one);
    one.user = user;
    one.project = theirs;
    (void)lab_run(l, &one);
    expect(of_user(l, 1), 2, 2, 0);
    expect(of_user(l, 2), 1, 1, 0);
    expect(of_user(l, user), 1, 1, 0);
    expect(&world_project(l->w, 1)->usage, 1, 1, 0);
    expect(&world_project(l->w, project)->usage, 2, 2, 0);
    expect(&world_project(l->w, theirs)->usage, 1, 1, 0);
    expect(&world_domain(l->w, 1)->usage, 3, 3, 0);
    expect(&world_domain(l->w, domain)->usage, 1, 1, 0);
    lab_restart(l);
    expect(&world_domain(l->w, 1)->usage, 3, 3, 0);
    lab_free(l);
}

/* What is promised counts as soon as it is promised, and no longer. */
static void reserved(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    struct session two = lab_request(2, 1, 1, 1);
    struct session *s = world_session(l->w, lab_run(l, &two));
    usage_moved(l->w, s, SESSION_PENDING, SESSION_RESERVED);
    expect_all(l, 2, 1, 0);
    usage_moved(l->w, s, SESSION_RESERVED, SESSION_PENDING);
    expect_all(l, 0, 0, 1);
    lab_free(l);
}

static void the_audit_sees(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    struct usage *books[] = {&world_user(l->w, 1)->usage, &world_project(l->w, 1)->usage,
                             &world_domain(l->w, 1)->usage};
    for (size_t i = 0; i < ARRAY_LEN(books); i++) {
        books[i]->pending++;
        assert_non_null(usage_audit(l->w));
        assert_ptr_equal(world_audit(l->w), usage_audit(l->w));
        books[i]->pending--;
        books[i]->used.v[SLOT_MEM]++;
        assert_non_null(usage_audit(l->w));
        books[i]->used.v[SLOT_MEM]--;
        assert_null(usage_audit(l->w));
    }
    lab_free(l);
}

/* A store whose rows add up to more than there are numbers is corrupt. */
static void a_sum_that_overflows(void **state)
{
    (void)state;
    struct world *w = world_new();
    const char *why = NULL;
    struct group g = group_make(1, "g", BLOCKED_SKIP);
    assert_true(world_put_domain(w, &(struct domain){.id = 1, .name = "d"}));
    assert_true(world_put_project(w, &(struct project){.id = 1, .domain = 1, .name = "p"}));
    assert_true(world_put_user(w, &(struct user){.id = 1, .domain = 1, .name = "u"}));
    assert_true(world_put_group(w, &g));
    for (uint32_t i = 1; i <= 5; i++) { /* 5 x 512 x 2^52 */
        struct session s = lab_request(SESSION_MEMBERS_MAX, 1, 1, 0);
        s.id = i;
        s.members = SESSION_MEMBERS_MAX;
        s.state = SESSION_RESERVED;
        s.deadline_ms = 1;
        s.roles[0].slots.v[SLOT_MEM] = SLOT_MAX;
        text_fmt(s.name, sizeof(s.name), "s%u", i);
        assert_true(world_put_session(w, &s));
    }
    assert_false(world_ready(w, &why));
    assert_string_equal(why, "what an account uses overflows");
    world_free(w);
}

static void a_project_of_no_domain(void **state)
{
    (void)state;
    for (int user = 0; user < 2; user++) {
        struct world *w = world_new();
        const char *why = NULL;
        if (user) assert_true(world_put_user(w, &(struct user){.id = 1, .domain = 3, .name = "u"}));
        else {
            struct project p = {.id = 1, .domain = 3, .name = "p"};
            assert_true(world_put_project(w, &p));
        }
        assert_false(world_ready(w, &why));
        assert_string_equal(why, user ? "a user's domain is unknown"
                                      : "a project's domain is unknown");
        world_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_a_session),
        cmocka_unit_test(qta5_revoked_is_not_used),
        cmocka_unit_test(qta4_a_restart_counts_all),
        cmocka_unit_test(levels_differ),
        cmocka_unit_test(reserved),
        cmocka_unit_test(the_audit_sees),
        cmocka_unit_test(a_sum_that_overflows),
        cmocka_unit_test(a_project_of_no_domain),
    };
    return RUN(tests);
}
