/* Rows that contradict themselves or each other are refused, whatever the order. */
#include "harness.h"

static struct session stored_session(enum session_state state)
{
    struct session s = lab_request(2, 1, 1, 1);
    s.id = 7;
    memcpy(s.name, "x", 2);
    s.members = 2;
    s.state = state;
    s.attempt = 3;
    if (state == SESSION_STOPPING) s.outcome = OUTCOME_CANCELLED;
    s.deadline_ms = session_row(state)->deadline == DEADLINE_FIXED ? 90000 : 0;
    return s;
}

static struct alloc stored_alloc(uint32_t member)
{
    return (struct alloc){.ref = {7, 3, member}, .node = 1, .slots = lab_slots(1, 1, 1),
                          .devices = 1u << member, .turn = 4, .phase = MEMBER_RUNNING};
}

static struct node stored_node(uint32_t id, const char *name)
{
    struct node n = {.id = id, .group = 1, .capacity = lab_slots(8, 8, 2), .n_devices = 2};
    text_fmt(n.name, sizeof(n.name), "%s", name);
    return n;
}

struct rows { struct session s; struct alloc a, b; struct node n; struct group g; };

static struct rows sane(void)
{
    return (struct rows){stored_session(SESSION_RUNNING), stored_alloc(0), stored_alloc(1),
                         stored_node(1, "n1"), group_make(1, "g", BLOCKED_STOP)};
}

static void keep(struct rows *r) { (void)r; }
static void s_no_id(struct rows *r) { r->s.id = 0; }
static void s_no_name(struct rows *r) { r->s.name[0] = '\0'; }
static void s_ended(struct rows *r) { r->s.state = SESSION_ENDED; }
static void s_state(struct rows *r) { r->s.state = 77; }
static void s_kind(struct rows *r) { r->s.kind = 0; }
static void s_outcome(struct rows *r) { r->s.outcome = OUTCOME_FAILED; }
static void s_members(struct rows *r) { r->s.members = 3; }
static void s_roles(struct rows *r) { r->s.n_roles = 9; }
static void s_slots(struct rows *r) { r->s.roles[0].slots.v[0] = -1; }
static void s_deadline(struct rows *r) { r->s.deadline_ms = -1; }
static void s_time_limit(struct rows *r) { r->s.time_limit_ms = INT64_MAX; }
static void s_since(struct rows *r) { r->s.since_ms = INT64_MAX; }
static void s_grace(struct rows *r) { r->s.grace_ms = 4 * SESSION_TIME_MAX_MS + 1; }
static void s_user(struct rows *r) { r->s.user = 9; }
static void s_project(struct rows *r) { r->s.project = 9; }
static void s_group(struct rows *r) { r->s.group = 9; }
static void s_pending(struct rows *r) { r->s.state = SESSION_PENDING; }
static void a_attempt(struct rows *r) { r->a.ref.attempt = 0; }
static void a_old(struct rows *r) { r->a.ref.attempt = 2; }
static void a_late(struct rows *r) { r->a.ref.attempt = 4; }
static void revoke(struct rows *r)
{
    r->a.revoked = true;
    r->a.revoked_turn = r->a.turn;
}
static void a_late_revoked(struct rows *r) { a_late(r); revoke(r); }
static void a_early_revoked(struct rows *r)
{
    a_old(r);
    revoke(r);
    r->a.revoked_turn--;
}
static void a_old_revoked(struct rows *r) { a_old(r); revoke(r); }
static void a_member(struct rows *r) { r->a.ref.member = 2; }
static void a_double(struct rows *r) { r->a.ref.member = 1; }
static void a_device(struct rows *r) { r->a.devices = 2; }
static void a_devices(struct rows *r) { r->a.devices = 3; }
static void a_far_device(struct rows *r) { r->a.devices = 1u << 20; }
static void a_ended(struct rows *r) { r->a.phase = MEMBER_EXITED; }
static void a_node(struct rows *r) { r->a.node = 2; }
static void a_no_node(struct rows *r) { r->a.node = 0; }
static void a_session(struct rows *r) { r->a.ref.session = 8; }
static void a_session_revoked(struct rows *r) { a_session(r); revoke(r); }
static void n_id(struct rows *r) { r->n.id = 0; }
static void n_far(struct rows *r) { r->n.id = WORLD_NODES_MAX + 1; }
static void n_group(struct rows *r) { r->n.group = 2; }
static void n_gpus(struct rows *r) { r->n.capacity.v[SLOT_GPU] = 3; }
static void n_devices(struct rows *r) { r->n.n_devices = NODE_DEVICES_MAX + 1; }
static void g_id(struct rows *r) { r->g.id = 0; }
static void g_blocked(struct rows *r) { r->g.on_blocked = 0; }

static const struct { const char *name; void (*change)(struct rows *r); bool ok; } CASES[] = {
    {"sane", keep, true},
    {"a revoked row of an old attempt", a_old_revoked, true},
    {"a revoked row of nobody", a_session_revoked, true},
    {"session: no id", s_no_id, false},
    {"session: no name", s_no_name, false},
    {"session: ended", s_ended, false},
    {"session: state", s_state, false},
    {"session: kind", s_kind, false},
    {"session: outcome while it runs", s_outcome, false},
    {"session: member count", s_members, false},
    {"session: role count", s_roles, false},
    {"session: slots", s_slots, false},
    {"session: deadline", s_deadline, false},
    {"session: time limit beyond all sums", s_time_limit, false},
    {"session: instant beyond all sums", s_since, false},
    {"session: grace beyond all sums", s_grace, false},
    {"session: user", s_user, false},
    {"session: project", s_project, false},
    {"session: group", s_group, false},
    {"session: pending and holds", s_pending, false},
    {"row: attempt 0", a_attempt, false},
    {"row: old attempt", a_old, false},
    {"row: attempt to come", a_late, false},
    {"row: attempt to come, revoked", a_late_revoked, false},
    {"row: revoked before it was", a_early_revoked, false},
    {"row: member", a_member, false},
    {"row: twice", a_double, false},
    {"row: device held twice", a_device, false},
    {"row: devices miscounted", a_devices, false},
    {"row: device that cannot be", a_far_device, false},
    {"row: proved gone", a_ended, false},
    {"row: unknown node", a_node, false},
    {"row: no node", a_no_node, false},
    {"row: unknown session", a_session, false},
    {"node: no id", n_id, false},
    {"node: id too far", n_far, false},
    {"node: group", n_group, false},
    {"node: gpu count", n_gpus, false},
    {"node: too many devices", n_devices, false},
    {"group: no id", g_id, false},
    {"group: policy", g_blocked, false},
};

static bool load(struct world *w, const struct rows *r, const char **ret_why)
{
    return world_put_alloc(w, &r->a) && world_put_alloc(w, &r->b) && world_put_session(w, &r->s) &&
           world_put_node(w, &r->n) && world_put_group(w, &r->g) &&
           world_put_domain(w, &(struct domain){.id = 1, .name = "d"}) &&
           world_put_project(w, &(struct project){.id = 1, .domain = 1, .name = "p"}) &&
           world_put_user(w, &(struct user){.id = 1, .domain = 1, .name = "u"}) &&
           world_ready(w, ret_why);
}

static void rows_that_do_not_fit(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct world *w = world_new();
        struct rows r = sane();
        const char *why = NULL;
        CASES[i].change(&r);
        if (load(w, &r, &why) != CASES[i].ok) fail_msg("%s: %s", CASES[i].name, why ? why : "");
        if (CASES[i].ok) assert_null(world_audit(w));
        world_free(w);
    }
}

/* On nodes by its state, and nowhere by the rows: also when it is the second. */
static void nothing_held(void **state)
{
    (void)state;
    for (enum session_state s = SESSION_PENDING; s < SESSION_ENDED; s++) {
        struct world *w = world_new();
        struct rows r = sane();
        const char *why = NULL;
        struct session second = stored_session(s);
        second.id = 8;
        memcpy(second.name, "y", 2);
        assert_true(world_put_session(w, &second));
        bool ok = load(w, &r, &why);
        assert_int_equal(ok, session_row(s)->holds != HOLDS_DEVICES);
        if (!ok) assert_string_equal(why, "a session on nodes has no allocation");
        world_free(w);
    }
}

static void doubles(void **state)
{
    (void)state;
    struct world *w = world_new();
    struct rows r = sane();
    const char *why = NULL;
    assert_true(load(w, &r, &why));
    w->ready = false; /* to be asked again */
    assert_false(world_put_session(w, &r.s));
    r.s.id = 8;
    assert_false(world_put_session(w, &r.s)); /* the name */
    assert_false(world_put_node(w, &r.n));
    r.n.id = 2;
    assert_false(world_put_node(w, &r.n));
    assert_false(world_put_group(w, &r.g));
    r.g.id = 2;
    assert_false(world_put_group(w, &r.g));
    assert_false(world_put_user(w, &(struct user){.id = 1, .name = "v"}));
    assert_false(world_put_user(w, &(struct user){.id = 2, .name = ""}));
    assert_false(world_put_user(w, &(struct user){.id = 2, .name = "v", .role = ACCOUNT_ROLES}));
    assert_false(world_put_project(w, &(struct project){.id = 1, .name = "q"}));
    assert_false(world_put_domain(w, &(struct domain){.id = 1, .name = "e"}));
    world_free(w);
}

/* The number of a forgotten node is not given again. */
static void gaps(void **state)
{
    (void)state;
    struct world *w = world_new();
    const char *why = NULL;
    struct node n3 = stored_node(3, "n3"), gone = {.id = 4};
    struct group g = group_make(2, "g", BLOCKED_SKIP);
    assert_true(world_put_group(w, &g));
    n3.group = 2;
    assert_true(world_put_node(w, &gone));
    assert_true(world_put_node(w, &n3));
    assert_true(world_ready(w, &why));
    assert_null(world_audit(w));
    assert_null(world_node(w, 1));
    assert_null(world_node(w, 4));
    assert_null(world_group(w, 1));
    assert_null(world_group_named(w, STR("")));
    assert_ptr_equal(world_node_named(w, STR("n3")), world_node(w, 3));
    struct event ev = {.kind = EVENT_NODE_JOIN};
    ev.u.join.node = stored_node(0, "n5");
    ev.u.join.node.group = 2;
    struct effects fx = {0};
    step(w, &ev, &fx);
    assert_int_equal(fx.node, 5);
    effects_done(&fx);
    world_free(w);
}

static void lookups(void **state)
{
    (void)state;
    struct world *w = world_new();
    /* Numbers with gaps and out of order are found as well. */
    static const uint32_t ids[] = {1, 900, 3};
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        struct user u = {.id = ids[i], .domain = 1};
        struct project p = {.id = ids[i], .domain = 1};
        text_fmt(u.name, sizeof(u.name), "u%u", ids[i]);
        text_fmt(p.name, sizeof(p.name), "p%u", ids[i]);
        assert_true(world_put_user(w, &u));
        assert_true(world_put_project(w, &p));
    }
    assert_int_equal(world_user(w, 900)->id, 900);
    assert_int_equal(world_project(w, 3)->id, 3);
    assert_null(world_user(w, 2));
    assert_null(world_user(w, 0));
    assert_int_equal(world_user_named(w, STR("u3"))->id, 3);
    assert_int_equal(world_project_named(w, STR("p900"))->id, 900);
    assert_null(world_user_named(w, STR("u2")));
    world_free(w);
}

/* The audit is worth nothing if it cannot find anything. */
static void the_audit_sees(void **state)
{
    (void)state;
    for (int broken = 0; broken < 10; broken++) {
        struct world *w = world_new();
        struct rows r = sane();
        const char *why = NULL;
        r.s = stored_session(SESSION_ALLOCATED);
        assert_true(load(w, &r, &why));
        assert_null(world_audit(w));
        struct session *s = world_session(w, 7);
        struct node *n = world_node(w, 1);
        switch (broken) {
        case 0: n->used.v[SLOT_CPU]++; break;
        case 1: n->used_devices = 0; break;
        case 2: w->allocs.v[0].devices = w->allocs.v[1].devices; break;
        case 3: s->state = SESSION_PENDING; break;
        case 4: s->deadline_ms = 0; break;
        case 5: s->outcome = OUTCOME_FAILED; break;
        case 6: w->rooms.v[0].free.v[SLOT_CPU]--; break;
        case 7: w->allocs.v[0].ref.attempt++; break;
        case 8: s->first_alloc = MAP_NONE; break;
        case 9: w->last_session = 3; break;
        default: fail();
        }
        if (!world_audit(w)) fail_msg("number %d is not seen", broken);
        world_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_do_not_fit), cmocka_unit_test(nothing_held),
        cmocka_unit_test(doubles),              cmocka_unit_test(gaps),
        cmocka_unit_test(lookups),              cmocka_unit_test(the_audit_sees),
    };
    return RUN(tests);
}
