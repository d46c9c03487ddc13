/* What would become of a queue: worked out by hand. */
#include "test.h"

#include "base/check.h"
#include "core/step.h"
#include "sim/whatif.h"

#define MINUTE INT64_C(60000)

/* Two nodes of four CPU; sessions 1.. as added. */
struct lab { struct world *w; uint64_t n; };

static struct node machine(uint32_t id)
{
    struct node n = {.id = id, .group = 1};
    text_fmt(n.name, sizeof(n.name), "n%u", id);
    n.capacity = (struct slots){{4000, 1000, 0}};
    return n;
}

static struct lab lab_open(enum on_blocked blocked)
{
    struct lab l = {.w = world_new()};
    struct group g = group_make(1, "g", blocked);
    struct node a = machine(1), b = machine(2);
    assert_true(world_put_domain(l.w, &(struct domain){.id = 1, .name = "d"}));
    assert_true(world_put_project(l.w, &(struct project){.id = 1, .domain = 1, .name = "p"}));
    assert_true(world_put_user(l.w, &(struct user){.id = 1, .domain = 1, .name = "u"}));
    assert_true(world_put_group(l.w, &g));
    assert_true(world_put_node(l.w, &a));
    assert_true(world_put_node(l.w, &b));
    l.w->now_ms = 10 * MINUTE;
    return l;
}

static struct session asked(struct lab *l, int64_t cpu, int64_t limit_min)
{
    struct session s = {.id = ++l->n, .user = 1, .project = 1, .group = 1, .kind = KIND_BATCH,
                        .state = SESSION_PENDING, .priority = 10, .n_roles = 1, .members = 1,
                        .time_limit_ms = limit_min * MINUTE, .grace_ms = 1000};
    text_fmt(s.name, sizeof(s.name), "j%llu", (unsigned long long)s.id);
    s.roles[0] = (struct role){.name = "main", .count = 1};
    s.roles[0].slots = (struct slots){{cpu * 1000, 1, 0}};
    return s;
}

static void wait(struct lab *l, int64_t cpu, int64_t limit_min)
{
    struct session s = asked(l, cpu, limit_min);
    assert_true(world_put_session(l->w, &s));
}

/* It runs since the minute `since` of core time. */
static void running(struct lab *l, uint32_t node, int64_t cpu, int64_t limit_min, int64_t since)
{
    struct session s = asked(l, cpu, limit_min);
    s.state = SESSION_RUNNING;
    s.attempt = 1;
    s.started_ms = s.since_ms = since * MINUTE;
    s.deadline_ms = limit_min ? s.started_ms + s.time_limit_ms : 0;
    struct alloc a = {.ref = {s.id, 1, 0}, .node = node, .slots = s.roles[0].slots, .turn = 1,
                      .phase = MEMBER_RUNNING};
    assert_true(world_put_session(l->w, &s));
    assert_true(world_put_alloc(l->w, &a));
}

static void expect(struct lab *l, const struct whatif_change *c, const int64_t *minutes, uint32_t n)
{
    const char *why = NULL;
    struct whatif r;
    struct err err = {0};
    l->w->turn = 7;
    if (!world_ready(l->w, &why)) fail_msg("%s", why);
    if (whatif_run(l->w, c, &r, &err) != 0) fail_msg("%s", err.text);
    assert_int_equal(r.starts.n, n);
    for (uint32_t i = 0; i < n; i++) {
        int64_t want = minutes[i] < 0 ? WHATIF_NEVER : minutes[i] * MINUTE;
        if (r.starts.v[i].start_ms != want)
            fail_msg("s%llu starts in %lld ms, not %lld", (unsigned long long)r.starts.v[i].session,
                     (long long)r.starts.v[i].start_ms, (long long)want);
    }
    assert_null(world_audit(l->w));
    whatif_done(&r);
    world_free(l->w);
}

/* n1 is free at minute 20 of the future, n2 never. */
static struct lab queue(enum on_blocked blocked)
{
    struct lab l = lab_open(blocked);
    running(&l, 1, 4, 25, 5);
    running(&l, 2, 3, 0, 1);
    wait(&l, 4, 60);
    wait(&l, 1, 10);
    wait(&l, 2, 10);
    return l;
}

static void today(void **state)
{
    (void)state;
    struct whatif_change c = {.use_percent = 0};
    struct lab l = queue(BLOCKED_SKIP);
    expect(&l, &c, (int64_t[]){20, 0, 80}, 3);
    l = queue(BLOCKED_STOP);
    expect(&l, &c, (int64_t[]){20, 20, 80}, 3); /* until the first starts, all is fenced */
}

static void with_a_change(void **state)
{
    (void)state;
    struct lab l = queue(BLOCKED_STOP);
    struct whatif_change c = {.on_blocked = BLOCKED_SKIP};
    expect(&l, &c, (int64_t[]){20, 0, 80}, 3);
    l = queue(BLOCKED_STOP);
    c = (struct whatif_change){.add_nodes = 1, .like = "n1"};
    expect(&l, &c, (int64_t[]){0, 0, 20}, 3); /* the new one takes the first, n2 the second */
    l = queue(BLOCKED_SKIP);
    c = (struct whatif_change){.n_drains = 1};
    c.drains[0] = (struct whatif_drain){"n1", 10 * MINUTE};
    expect(&l, &c, (int64_t[]){-1, 0, -1}, 3);
    l = queue(BLOCKED_SKIP);
    c = (struct whatif_change){.use_percent = 80}; /* 20 of 25 minutes, then 48 of 60 */
    expect(&l, &c, (int64_t[]){15, 0, 63}, 3);
}

static void what_is_not_there(void **state)
{
    (void)state;
    struct whatif_change cases[] = {
        {.group = "x"}, {.like = "n9", .add_nodes = 1}, {.n_drains = 1, .drains = {{"n9", 0}}}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct lab l = queue(BLOCKED_SKIP);
        const char *why = NULL;
        struct whatif r;
        struct err err = {0};
        assert_true(world_ready(l.w, &why));
        assert_int_equal(whatif_run(l.w, &cases[i], &r, &err), ERR_NOT_FOUND);
        world_free(l.w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(today),
        cmocka_unit_test(with_a_change),
        cmocka_unit_test(what_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
