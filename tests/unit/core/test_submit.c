/* What is refused at the door, and that a refusal leaves nothing behind. */
#include "harness.h"

static void no_change(struct session *s) { (void)s; }
static void bad_user(struct session *s) { s->user = 99; }
static void no_user(struct session *s) { s->user = 0; }
static void bad_project(struct session *s) { s->project = 99; }
static void bad_group(struct session *s) { s->group = 99; }
static void bad_kind(struct session *s) { s->kind = SESSION_KINDS; }
static void no_kind(struct session *s) { s->kind = 0; }
static void low_priority(struct session *s) { s->priority = -1; }
static void top_priority(struct session *s) { s->priority = 100; }
static void high_priority(struct session *s) { s->priority = 101; }
static void no_roles(struct session *s) { s->n_roles = 0; }
static void many_roles(struct session *s) { s->n_roles = SESSION_ROLES_MAX + 1; }
static void no_members(struct session *s) { s->roles[0].count = 0; }
static void many_members(struct session *s) { s->roles[0].count = SESSION_MEMBERS_MAX + 1; }
static void wrap_members(struct session *s) { s->roles[0].count = UINT32_MAX; }
static void no_cpu(struct session *s) { s->roles[0].slots.v[SLOT_CPU] = 0; }
static void no_mem(struct session *s) { s->roles[0].slots.v[SLOT_MEM] = 0; }
static void negative_cpu(struct session *s) { s->roles[0].slots.v[SLOT_CPU] = -5; }
static void huge_cpu(struct session *s) { s->roles[0].slots.v[SLOT_CPU] = INT64_MAX; }
static void huge_gpu(struct session *s)
{
    s->roles[0].slots.v[SLOT_GPU] = INT64_C(1) << 62;
    s->roles[0].count = 4;
}
static void negative_time(struct session *s) { s->time_limit_ms = -2; }
static void long_time(struct session *s) { s->time_limit_ms = INT64_MAX; }
static void negative_grace(struct session *s) { s->grace_ms = -1; }
static void long_timeout(struct session *s) { s->pending_timeout_ms = INT64_C(1) << 60; }
static void good_name(struct session *s) { memcpy(s->name, "train-7", 8); }
static void bad_name(struct session *s) { memcpy(s->name, "Train", 6); }
static void id_name(struct session *s) { memcpy(s->name, "s17", 4); }
static void almost_id_name(struct session *s) { memcpy(s->name, "s17a", 5); }
static void endless_name(struct session *s) { memset(s->name, 'a', sizeof(s->name)); }
static void taken_name(struct session *s) { memcpy(s->name, "taken", 6); }
static void bad_role_name(struct session *s) { memcpy(s->roles[0].name, "a b", 4); }
static void no_role_name(struct session *s) { s->roles[0].name[0] = '\0'; }
static void same_role_twice(struct session *s)
{
    s->n_roles = 2;
    s->roles[1] = s->roles[0];
}
static void too_much_cpu(struct session *s) { s->roles[0].slots.v[SLOT_CPU] = 5000; }
static void too_many_gpus(struct session *s) { s->roles[0].slots.v[SLOT_GPU] = 8; }
static void too_large_a_gang(struct session *s) { s->roles[0].count = 9; }
static void too_large_together(struct session *s)
{
    s->roles[0].count = 5;
    s->one_node = true;
}

static const struct {
    const char *name;
    void (*change)(struct session *s);
    enum verdict verdict;
    const char *field;
} CASES[] = {
    {"as it is", no_change, VERDICT_OK, ""},
    {"priority 100", top_priority, VERDICT_OK, ""},
    {"a name", good_name, VERDICT_OK, ""},
    {"almost an id", almost_id_name, VERDICT_OK, ""},
    {"unknown user", bad_user, VERDICT_NOT_FOUND, "user"},
    {"no user", no_user, VERDICT_NOT_FOUND, "user"},
    {"unknown project", bad_project, VERDICT_NOT_FOUND, "project"},
    {"unknown group", bad_group, VERDICT_NOT_FOUND, "group"},
    {"unknown kind", bad_kind, VERDICT_BAD_VALUE, "kind"},
    {"no kind", no_kind, VERDICT_BAD_VALUE, "kind"},
    {"priority -1", low_priority, VERDICT_BAD_VALUE, "priority"},
    {"priority 101", high_priority, VERDICT_BAD_VALUE, "priority"},
    {"no roles", no_roles, VERDICT_BAD_VALUE, "roles"},
    {"five roles", many_roles, VERDICT_BAD_VALUE, "roles"},
    {"no members", no_members, VERDICT_BAD_VALUE, "roles[0].count"},
    {"513 members", many_members, VERDICT_BAD_VALUE, "roles[0].count"},
    {"2^32 - 1 members", wrap_members, VERDICT_BAD_VALUE, "roles[0].count"},
    {"no cpu", no_cpu, VERDICT_BAD_VALUE, "roles[0].cpu"},
    {"no memory", no_mem, VERDICT_BAD_VALUE, "roles[0].mem"},
    {"negative cpu", negative_cpu, VERDICT_BAD_VALUE, "roles[0].cpu"},
    {"QTA7: cpu 2^63 - 1", huge_cpu, VERDICT_BAD_VALUE, "roles[0].cpu"},
    {"QTA7: 4 x 2^62 gpus", huge_gpu, VERDICT_BAD_VALUE, "roles[0].gpu"},
    {"time -2", negative_time, VERDICT_BAD_VALUE, "time_limit_ms"},
    {"time 2^63 - 1", long_time, VERDICT_BAD_VALUE, "time_limit_ms"},
    {"grace -1", negative_grace, VERDICT_BAD_VALUE, "grace_ms"},
    {"timeout 2^60", long_timeout, VERDICT_BAD_VALUE, "pending_timeout_ms"},
    {"capitals in a name", bad_name, VERDICT_BAD_VALUE, "name"},
    {"an id as name", id_name, VERDICT_BAD_VALUE, "name"},
    {"a name without end", endless_name, VERDICT_BAD_VALUE, "name"},
    {"QTA11: a name that is taken", taken_name, VERDICT_NAME_TAKEN, "name"},
    {"a space in a role", bad_role_name, VERDICT_BAD_VALUE, "roles[0].name"},
    {"a role without name", no_role_name, VERDICT_BAD_VALUE, "roles[0].name"},
    {"two roles of one name", same_role_twice, VERDICT_BAD_VALUE, "roles[1].name"},
    {"5 cpus of 4", too_much_cpu, VERDICT_IMPOSSIBLE, "roles"},
    {"PLC1: 8 gpus, on two nodes", too_many_gpus, VERDICT_IMPOSSIBLE, "roles"},
    {"9 members for 8 cpus", too_large_a_gang, VERDICT_IMPOSSIBLE, "roles"},
    {"5 members on one node", too_large_together, VERDICT_IMPOSSIBLE, "roles"},
};

static void qta11_a_refusal_changes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct lab *l = lab_new(BLOCKED_STOP);
        lab_join(l, "n1", 4, 8, 4);
        lab_join(l, "n2", 4, 8, 4);
        struct session taken = lab_request(1, 1, 1, 0), s = lab_request(1, 1, 1, 0);
        taken_name(&taken);
        uint64_t holder = lab_run(l, &taken);
        uint32_t rows = lab_rows(l);
        char *before = lab_dump(l->w);
        CASES[i].change(&s);
        enum verdict got = lab_submit(l, &s);
        if (got != CASES[i].verdict) fail_msg("%s: %s", CASES[i].name, l->fx.text);
        assert_string_equal(l->fx.field, CASES[i].field);
        if (got != VERDICT_OK) {
            char *after = lab_dump(l->w);
            assert_string_equal(before, after);
            mem_free(after);
            assert_int_equal(l->fx.changes.n, 0);
            assert_int_equal(l->fx.nodes.n, 0);
            assert_int_equal(lab_rows(l), rows);
            assert_true(l->fx.session == (got == VERDICT_NAME_TAKEN ? holder : 0));
        } else {
            assert_true(l->fx.session == holder + 1);
        }
        mem_free(before);
        lab_free(l);
    }
}

static void names(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    struct session s = lab_request(1, 1, 1, 0);
    uint64_t plain = lab_run(l, &s);
    assert_string_equal(world_session(l->w, plain)->name, "s1");
    taken_name(&s);
    uint64_t first = lab_run(l, &s);
    assert_int_equal(lab_submit(l, &s), VERDICT_NAME_TAKEN);
    s.user = 2; /* another's names are no concern */
    lab_run(l, &s);
    s.user = 1;
    assert_int_equal(lab_stop(l, first, -1), VERDICT_OK);
    lab_run(l, &s); /* free again once its holder has ended */
    assert_non_null(world_session_named(l->w, 2, STR("taken")));
    assert_null(world_session_named(l->w, 2, STR("s1")));
    lab_free(l);
}

static void impossible_says_both_numbers(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 4, 64, 0);
    struct session s = lab_request(1, 1, 512, 0);
    assert_int_equal(lab_submit(l, &s), VERDICT_IMPOSSIBLE); /* PLC10 */
    assert_string_equal(l->fx.text, "group default could never run this: n1 has at most 64 GiB "
                                    "of the 512 GiB memory asked");
    s = lab_request(1, 5, 512, 1);
    assert_int_equal(lab_submit(l, &s), VERDICT_IMPOSSIBLE);
    assert_string_equal(l->fx.text, "group default could never run this: n1 has at most 4 of the "
                                    "5 CPU asked, 64 GiB of the 512 GiB memory asked, 0 of the "
                                    "1 GPU asked");
    s = lab_request(3, 2, 1, 0);
    assert_int_equal(lab_submit(l, &s), VERDICT_IMPOSSIBLE);
    assert_string_equal(l->fx.text, "group default could never run this: n1 has at most 0 of the "
                                    "2 CPU asked, beside the other members");
    s.one_node = true;
    assert_int_equal(lab_submit(l, &s), VERDICT_IMPOSSIBLE);
    assert_string_equal(l->fx.text, "group default could never run this: n1 has at most 4 of the "
                                    "6 CPU asked, for all members on one node");
    lab_free(l);
}

/* Nodes that are silent or closed now may take it later. */
static void what_is_away_counts(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    struct session s = lab_request(1, 4, 1, 0);
    uint64_t early = lab_run(l, &s); /* a group without nodes: it waits for some */
    lab_expect_why(l, early, WHY_NO_CAPACITY,
                   "group default has no nodes; place 1 of 1 in the queue");
    lab_join(l, "n1", 4, 8, 0);
    assert_int_equal(lab_state(l, early), SESSION_ALLOCATED);
    lab_step(l, &(struct event){.kind = EVENT_NODE_CORDON, .u.cordon = {1, true}});
    lab_tick(l, NODE_UNREACHABLE_MS);
    lab_run(l, &s);
    struct event ev = {.kind = EVENT_SUBMIT, .u.submit = {.session = lab_request(1, 5, 1, 0)}};
    assert_int_equal(lab_step(l, &ev), VERDICT_IMPOSSIBLE);
    ev.u.submit.allow_impossible = true;
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    assert_int_equal(lab_state(l, l->fx.session), SESSION_PENDING);
    lab_free(l);
}

static void a_full_world(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    struct event ev = {.kind = EVENT_SUBMIT, .u.submit = {lab_request(1, 1, 1, 0), false}};
    struct effects fx = {0};
    l->w->n_sessions = WORLD_SESSIONS_MAX; /* as if */
    step(l->w, &ev, &fx);
    assert_int_equal(fx.verdict, VERDICT_FULL);
    assert_int_equal(fx.changes.n, 0);
    effects_done(&fx);
    lab_free(l);
}

/* Who asked is named; what follows from it for others is nobody's doing. */
static void actors(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 4, 8, 0);
    struct session s = lab_request(1, 4, 1, 0);
    s.user = 2;
    uint64_t first = lab_run(l, &s);
    static const struct { enum history_what what; uint32_t actor; } expected[] = {
        {HISTORY_SUBMITTED, 2}, {HISTORY_STATE, 0}};
    uint32_t at = 0;
    VEC_EACH(c, &l->fx.changes) {
        if (c->kind != CHANGE_HISTORY) continue;
        assert_int_equal(c->u.history.what, expected[at].what);
        assert_int_equal(c->u.history.actor, expected[at].actor);
        assert_true(c->u.history.session == first);
        at++;
    }
    assert_int_equal(at, 2);
    lab_stop(l, first, -1);
    assert_int_equal(lab_change(l, CHANGE_HISTORY)->u.history.actor, 1);
    lab_free(l);
}

static int64_t given_time(struct lab *l, enum session_kind kind, int64_t asked)
{
    struct session s = lab_request(1, 1, 1, 0);
    s.kind = kind;
    s.time_limit_ms = asked;
    if (lab_submit(l, &s) == VERDICT_OK) return world_session(l->w, l->fx.session)->time_limit_ms;
    assert_int_equal(l->fx.verdict, VERDICT_BAD_VALUE);
    assert_string_equal(l->fx.field, "time_limit_ms");
    return -1;
}

static void time_limits_by_group(void **state)
{
    (void)state;
    static const struct { int64_t most, asked, batch, service; } cases[] = {
        {0, -1, 5000, 0},  {0, 0, 0, 0},          {0, 9000, 9000, 9000},
        {8000, -1, 5000, 8000}, {8000, 0, -1, -1}, {8000, 8000, 8000, 8000},
        {8000, 8001, -1, -1},   {4000, -1, 4000, 4000},
    };
    struct lab *l = lab_new(BLOCKED_STOP);
    struct event ev = {.kind = EVENT_GROUP_PUT};
    ev.u.group = group_make(0, "default", BLOCKED_SKIP);
    ev.u.group.time_limit_ms[KIND_BATCH] = 5000;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        ev.u.group.time_max_ms = cases[i].most;
        assert_int_equal(lab_step(l, &ev), VERDICT_OK);
        assert_int_equal(given_time(l, KIND_BATCH, cases[i].asked), cases[i].batch);
        assert_int_equal(given_time(l, KIND_SERVICE, cases[i].asked), cases[i].service);
    }
    lab_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(qta11_a_refusal_changes_nothing),
        cmocka_unit_test(names),
        cmocka_unit_test(impossible_says_both_numbers),
        cmocka_unit_test(what_is_away_counts),
        cmocka_unit_test(a_full_world),
        cmocka_unit_test(actors),
        cmocka_unit_test(time_limits_by_group),
    };
    return RUN(tests);
}
