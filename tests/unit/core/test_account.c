/* Domains, projects and users: what may be put, and what that means for sessions. */
#include "harness.h"

static struct event put_user(const char *name, uint32_t id)
{
    struct event ev = {.kind = EVENT_USER_PUT, .actor = 1};
    ev.u.user = (struct user){.id = id, .domain = 1, .role = ROLE_MEMBER,
                               .uid = 7 + id, .gid = 8};
    text_fmt(ev.u.user.name, sizeof(ev.u.user.name), "%s", name);
    return ev;
}

static void keep(struct event *ev) { (void)ev; }
static void u_name(struct event *ev) { ev->u.user.name[0] = '_'; }
static void u_no_name(struct event *ev) { ev->u.user.name[0] = '\0'; }
static void u_endless(struct event *ev) { memset(ev->u.user.name, 'a', 64); }
static void u_taken(struct event *ev) { memcpy(ev->u.user.name, "alice", 6); }
static void u_id(struct event *ev) { ev->u.user.id = 9; }
static void u_domain(struct event *ev) { ev->u.user.domain = 2; }
static void u_role(struct event *ev) { ev->u.user.role = ROLE_NONE; }
static void u_role_far(struct event *ev) { ev->u.user.role = ACCOUNT_ROLES; }
static void u_own(struct event *ev) { ev->u.user.uid = ev->u.user.gid = 0; }
static void u_shared(struct event *ev) { ev->u.user.uid = 1000; }
static void u_shared_group(struct event *ev) { ev->u.user.gid = 1000; }
static void u_allotted(struct event *ev) { ev->u.user.uid = USER_UID_FIRST + 4; }
static void u_allotted_group(struct event *ev) { ev->u.user.gid = USER_UID_FIRST; }
static void u_far_uid(struct event *ev) { ev->u.user.uid = UINT32_MAX; }
static void u_limit(struct event *ev)
{
    ev->u.user.limits = (struct limits){.set = 1u << LIMIT_GPU, .max = {[LIMIT_GPU] = -1}};
}
static void u_limit_kind(struct event *ev) { ev->u.user.limits.set = 1u << LIMIT_KINDS; }
static void u_unset(struct event *ev) { ev->u.user.limits.max[LIMIT_GPU] = -1; }

static const struct {
    const char *name;
    void (*change)(struct event *ev);
    enum verdict verdict;
    const char *field;
} USERS[] = {
    {"sane", keep, VERDICT_OK, ""},
    {"a value of no limit", u_unset, VERDICT_OK, ""},
    {"name", u_name, VERDICT_BAD_VALUE, "name"},
    {"no name", u_no_name, VERDICT_BAD_VALUE, "name"},
    {"a name without end", u_endless, VERDICT_BAD_VALUE, "name"},
    {"a name that is taken", u_taken, VERDICT_NAME_TAKEN, "name"},
    {"a number that is not", u_id, VERDICT_NOT_FOUND, ""},
    {"domain", u_domain, VERDICT_NOT_FOUND, "domain"},
    {"no role", u_role, VERDICT_BAD_VALUE, "role"},
    {"a role that is not", u_role_far, VERDICT_BAD_VALUE, "role"},
    {"ids of its own", u_own, VERDICT_OK, ""},
    {"a uid that alice has", u_shared, VERDICT_BAD_VALUE, "uid"},
    {"a group that alice has", u_shared_group, VERDICT_OK, ""},
    {"a uid that is for another", u_allotted, VERDICT_BAD_VALUE, "uid"},
    {"a group that is for another", u_allotted_group, VERDICT_BAD_VALUE, "gid"},
    {"uid -1", u_far_uid, VERDICT_BAD_VALUE, "uid"},
    {"a limit below 0", u_limit, VERDICT_BAD_VALUE, "limits"},
    {"a limit of nothing", u_limit_kind, VERDICT_BAD_VALUE, "limits"},
};

static void users(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(USERS); i++) {
        struct lab *l = lab_new(BLOCKED_SKIP);
        struct event ev = put_user("carol", 0);
        USERS[i].change(&ev);
        char *before = lab_dump(l->w);
        enum verdict v = lab_step(l, &ev);
        if (v != USERS[i].verdict || strcmp(l->fx.field, USERS[i].field) != 0) {
            fail_msg("%s: %s, %s", USERS[i].name, verdict_name(v), l->fx.text);
        }
        if (v == VERDICT_OK) {
            assert_int_equal(l->fx.account, 3);
            assert_int_equal(lab_changes(l, CHANGE_USER), 1);
            assert_int_equal(lab_change(l, CHANGE_HISTORY)->u.history.actor, 1);
            assert_string_equal(lab_change(l, CHANGE_HISTORY)->u.history.text, "user carol added");
            lab_restart(l);
            const struct user *u = world_user_named(l->w, STR("carol"));
            assert_int_equal(u->uid, ev.u.user.uid ? ev.u.user.uid : user_own_id(3));
            assert_int_equal(u->gid, ev.u.user.gid ? ev.u.user.gid : user_own_id(3));
        } else {
            char *after = lab_dump(l->w);
            assert_string_equal(before, after);
            assert_int_equal(l->fx.changes.n, 0);
            mem_free(after);
        }
        mem_free(before);
        lab_free(l);
    }
}

/* Somebody can always administrate. */
static void the_last_administrator(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    struct event ev = {.kind = EVENT_USER_PUT};
    ev.u.user = *world_user(l->w, 1);
    ev.u.user.role = ROLE_MEMBER;
    assert_int_equal(lab_step(l, &ev), VERDICT_OK); /* bob is left */
    assert_string_equal(lab_change(l, CHANGE_HISTORY)->u.history.text, "user alice changed");
    ev.u.user = *world_user(l->w, 2);
    ev.u.user.role = ROLE_MEMBER;
    assert_int_equal(lab_step(l, &ev), VERDICT_BAD_VALUE);
    assert_string_equal(l->fx.field, "role");
    ev.u.user.role = ROLE_ADMIN;
    ev.u.user.disabled = true;
    assert_int_equal(lab_step(l, &ev), VERDICT_BAD_VALUE);
    assert_string_equal(l->fx.field, "disabled");
    ev.u.user = *world_user(l->w, 1);
    ev.u.user.disabled = true; /* who is no administrator may go */
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    lab_free(l);
}

static void projects_and_domains(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    uint32_t far = lab_domain(l, "far");
    uint32_t vision = lab_project(l, far, "vision");
    struct event ev = {.kind = EVENT_PROJECT_PUT};
    ev.u.project = *world_project(l->w, vision);
    ev.u.project.domain = 1;
    assert_int_equal(lab_step(l, &ev), VERDICT_BAD_VALUE);
    assert_string_equal(l->fx.text, "domain: a project stays in its domain");
    ev.u.project.domain = 7;
    assert_int_equal(lab_step(l, &ev), VERDICT_NOT_FOUND);
    ev.u.project.domain = far;
    memcpy(ev.u.project.name, "default", 8);
    assert_int_equal(lab_step(l, &ev), VERDICT_NAME_TAKEN);
    memcpy(ev.u.project.name, "sight", 6);
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    assert_int_equal(l->fx.account, vision);
    assert_int_equal(world_project_named(l->w, STR("sight"))->id, vision);
    assert_null(world_project_named(l->w, STR("vision")));
    struct event again = {.kind = EVENT_DOMAIN_PUT};
    memcpy(again.u.domain.name, "far", 4);
    assert_int_equal(lab_step(l, &again), VERDICT_NAME_TAKEN);
    again.u.domain.id = 9;
    assert_int_equal(lab_step(l, &again), VERDICT_NOT_FOUND);
    /* Who belongs to one domain has no business in another's projects. */
    struct session s = lab_request(1, 1, 1, 0);
    s.project = vision;
    assert_int_equal(lab_submit(l, &s), VERDICT_NOT_FOUND);
    assert_string_equal(l->fx.field, "project");
    lab_restart(l);
    lab_free(l);
}

/* What is used stays what it was, whatever is said of its account. */
static void usage_is_kept(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    struct session s = lab_request(1, 1, 1, 1);
    (void)lab_join(l, "n1", 8, 8, 2);
    (void)lab_run(l, &s);
    for (enum account_level level = LEVEL_USER; level < ACCOUNT_LEVELS; level++) {
        lab_limit(l, level, 1, LIMIT_GPU, 0);
    }
    assert_int_equal(world_user(l->w, 1)->usage.used.v[SLOT_GPU], 1);
    assert_int_equal(world_project(l->w, 1)->usage.running, 1);
    assert_int_equal(world_domain(l->w, 1)->usage.used.v[SLOT_GPU], 1);
    lab_free(l);
}

/* ---- at submission */

static void limits_that_could_never_be_met(void **state)
{
    (void)state;
    static const struct {
        enum account_level level;
        enum limit_kind k;
        int64_t max;
        const char *text;
    } cases[] = {
        {LEVEL_PROJECT, LIMIT_GPU, 3, "over a limit: project default uses 0 of 3 GPU, 4 asked"},
        {LEVEL_USER, LIMIT_MEM, INT64_C(1) << 30,
         "over a limit: user alice uses 0 B of 1 GiB memory, 2 GiB asked"},
        {LEVEL_DOMAIN, LIMIT_CPU, 0, "over a limit: domain default uses 0 of 0 CPU, 2 asked"},
        {LEVEL_USER, LIMIT_RUNNING, 0,
         "over a limit: user alice uses 0 of 0 running sessions, 1 asked"},
        {LEVEL_USER, LIMIT_PENDING, 0,
         "over a limit: user alice uses 0 of 0 waiting sessions, 1 asked"},
        {LEVEL_DOMAIN, LIMIT_CONTAINERS, 1,
         "over a limit: domain default may have 1 containers a session, 2 asked"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct lab *l = lab_new(BLOCKED_SKIP);
        struct session s = lab_request(2, 1, 1, 2);
        lab_limit(l, cases[i].level, 1, cases[i].k, cases[i].max);
        assert_int_equal(lab_submit(l, &s), VERDICT_OVER_LIMIT);
        assert_string_equal(l->fx.text, cases[i].text);
        assert_int_equal(world_user(l->w, 1)->usage.pending, 0);
        lab_limit(l, cases[i].level, 1, cases[i].k, INT64_C(1) << 40);
        assert_int_equal(lab_submit(l, &s), VERDICT_OK);
        lab_free(l);
    }
}

static void an_array_waits_as_a_whole(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    struct event ev = {.kind = EVENT_SUBMIT, .actor = 1};
    ev.u.submit.session = lab_request(1, 1, 1, 0);
    ev.u.submit.array_count = 10;
    ev.u.submit.array_step = 1;
    lab_limit(l, LEVEL_PROJECT, 1, LIMIT_PENDING, 9);
    assert_int_equal(lab_step(l, &ev), VERDICT_OVER_LIMIT);
    lab_limit(l, LEVEL_PROJECT, 1, LIMIT_PENDING, 10);
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    assert_int_equal(world_project(l->w, 1)->usage.pending, 10);
    ev.u.submit.array_count = 0;
    assert_int_equal(lab_step(l, &ev), VERDICT_OVER_LIMIT);
    lab_free(l);
}

static void groups_of_projects(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    uint32_t vision = lab_project(l, 1, "vision");
    struct event ev = {.kind = EVENT_GROUP_PUT};
    struct session s = lab_request(1, 1, 1, 0);
    ev.u.group = *world_group(l->w, 1);
    ev.u.group.n_projects = 2;
    ev.u.group.projects[0] = vision;
    ev.u.group.projects[1] = 9;
    assert_int_equal(lab_step(l, &ev), VERDICT_NOT_FOUND);
    ev.u.group.projects[1] = vision;
    assert_int_equal(lab_step(l, &ev), VERDICT_BAD_VALUE);
    assert_string_equal(l->fx.text, "projects: vision is named twice");
    ev.u.group.n_projects = 1;
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    lab_restart(l);
    assert_int_equal(lab_submit(l, &s), VERDICT_DENIED);
    assert_string_equal(l->fx.text, "group: default is not open to project default");
    s.project = vision;
    assert_int_equal(lab_submit(l, &s), VERDICT_OK);
    lab_free(l);
}

/* A store that holds what could not be put. */
static void rows_that_do_not_fit(void **state)
{
    (void)state;
    struct limits bad = {.set = 1u << LIMIT_CPU, .max = {[LIMIT_CPU] = -1}};
    struct world *w = world_new();
    const char *why = NULL;
    assert_false(world_put_domain(w, &(struct domain){.id = 1, .name = "d", .limits = bad}));
    assert_false(world_put_project(w, &(struct project){.id = 1, .name = "p", .limits = bad}));
    assert_false(world_put_user(w, &(struct user){.id = 1, .name = "u", .limits = bad}));
    assert_true(world_put_domain(w, &(struct domain){.id = 1, .name = "d"}));
    assert_true(world_put_user(w, &(struct user){.id = 1, .domain = 1, .name = "u"}));
    assert_true(world_put_user(w, &(struct user){.id = 2, .domain = 1, .name = "u"}));
    assert_false(world_ready(w, &why));
    assert_string_equal(why, "two users of one name");
    world_free(w);
    w = world_new();
    struct group g = group_make(1, "g", BLOCKED_SKIP);
    g.n_projects = 1;
    g.projects[0] = 4;
    assert_true(world_put_group(w, &g));
    assert_false(world_ready(w, &why));
    assert_string_equal(why, "a group's project is unknown");
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users),
        cmocka_unit_test(the_last_administrator),
        cmocka_unit_test(projects_and_domains),
        cmocka_unit_test(usage_is_kept),
        cmocka_unit_test(limits_that_could_never_be_met),
        cmocka_unit_test(an_array_waits_as_a_whole),
        cmocka_unit_test(groups_of_projects),
        cmocka_unit_test(rows_that_do_not_fit),
    };
    return RUN(tests);
}
