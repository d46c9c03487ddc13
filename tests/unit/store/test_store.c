/* Turns: what was committed is there again, word for word, after every kind of end. */
#include <signal.h>
#include <sys/wait.h>

#include "rig.h"

#include "base/mem.h"

static int commit_meta(struct rig *r, uint64_t no, const char *value)
{
    struct store_turn t = rig_turn(r);
    t.no = no;
    struct store_meta *m = &store_turn_op(&t, STORE_PUT_META)->u.meta;
    TEXT_CLIP(m->key, STR("probe"));
    TEXT_CLIP(m->value, str_of(value));
    int rc = store_commit(r->store, &t, &r->err);
    store_turn_done(&t);
    return rc;
}

static void the_first_start_makes_the_defaults(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    assert_int_equal(r.world->turn, 0);
    assert_non_null(world_group_named(r.world, STR("default")));
    assert_non_null(world_project_named(r.world, STR("default")));
    const struct user *admin = world_user_named(r.world, STR("admin"));
    assert_non_null(admin);
    assert_int_equal(admin->id, 1);
    assert_int_equal(admin->role, ROLE_ADMIN);
    assert_int_equal(admin->uid, user_own_id(1));
    assert_int_equal(strlen(store_cluster(r.store)), 32);
    assert_string_not_equal(store_cluster(r.store), store_incarnation(r.store));
    char cluster[33];
    TEXT_CLIP(cluster, str_of(store_cluster(r.store)));
    rig_close(&r);
    rig_open(&r);
    assert_string_equal(store_cluster(r.store), cluster);
    rig_done(&r);
}

static void a_taken_number_writes_nothing(void **state)
{
    (void)state;
    static const struct { uint64_t no; int expect; } rows[] = {
        {1, 0}, {1, ERR_CONFLICT}, {3, ERR_INVALID}, {2, 0}, {1, ERR_CONFLICT}, {2, ERR_CONFLICT},
        {4, ERR_INVALID}, {3, 0},
    };
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char value[16];
        text_fmt(value, sizeof(value), "row %zu", i);
        assert_int_equal(commit_meta(&r, rows[i].no, value), rows[i].expect);
        struct store_meta m = {0};
        int rc = store_read_meta(r.reader, "probe", &m, &r.err);
        if (rows[i].expect == 0) assert_string_equal(m.value, value);
        else assert_true(rc == 0 && strcmp(m.value, value) != 0);
    }
    uint64_t last = 0;
    OK(&r, store_last_turn(r.store, &last, &r.err));
    assert_int_equal(last, 3);
    rig_done(&r);
}

/* Every member of the node reports itself in the next phase. */
static void report_all(struct rig *r, const struct node *n, enum member_phase phase, uint64_t seq)
{
    struct member_report list[64];
    struct event ev = {.kind = EVENT_NODE_REPORT};
    struct member_want *wants = NULL;
    uint32_t n_wants = 0;
    step_wants(r->world, n, &wants, &n_wants);
    assert_true(n_wants <= ARRAY_LEN(list));
    for (uint32_t i = 0; i < n_wants; i++) {
        list[i] = (struct member_report){.ref = wants[i].ref, .phase = phase};
        if (phase == MEMBER_EXITED) list[i].end.exit_code = 3;
        if (phase == MEMBER_EXITED) TEXT_CLIP(list[i].end.detail, STR("t\xc3\xa9l\xc3\xa9"));
    }
    mem_free(wants);
    ev.u.report = (struct event_report){n->id, 1, seq, r->world->turn, list, n_wants};
    OK(r, rig_step(r, &ev));
    assert_int_equal(r->fx.verdict, VERDICT_OK);
}

/* The same text of the world before and after it was read back. */
static void expect_same(struct rig *r, const char *when)
{
    AUTO_FREE char *before = rig_dump(r);
    uint64_t last_session = r->world->last_session;
    int64_t now_ms = r->world->now_ms;
    rig_reload(r);
    AUTO_FREE char *after = rig_dump(r);
    if (strcmp(before, after) != 0) fail_msg("%s:\n%s\n---\n%s", when, before, after);
    assert_int_equal(r->world->last_session, last_session);
    assert_true(r->world->now_ms <= now_ms); /* of the last turn that wrote something */
}

static void MGR8_a_reloaded_world_is_the_same(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    struct event ev = rig_join("n1", 4);
    OK(&r, rig_step(&r, &ev));
    expect_same(&r, "joined");
    ev = rig_submit("gang", 3);
    ev.u.submit.session.roles[0].slots.v[SLOT_GPU] = 1;
    OK(&r, rig_step(&r, &ev));
    uint64_t gang = r.fx.session;
    expect_same(&r, "submitted");
    ev = rig_submit("waits", 100);
    ev.u.submit.allow_impossible = true;
    OK(&r, rig_step(&r, &ev));
    expect_same(&r, "pending");
    static const enum member_phase phases[] = {MEMBER_PREPARING, MEMBER_READY, MEMBER_RUNNING,
                                               MEMBER_STOPPING, MEMBER_EXITED};
    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        report_all(&r, world_node_named(r.world, STR("n1")), phases[i], i + 1);
        expect_same(&r, "reported");
        report_all(&r, world_node_named(r.world, STR("n1")), phases[i], i + 100);
        expect_same(&r, "reported again");
    }
    assert_null(world_session(r.world, gang));
    struct session_row ended;
    OK(&r, store_read_session(r.reader, gang, &ended, &r.err));
    assert_int_equal(ended.session.state, SESSION_ENDED);
    assert_int_equal(ended.end.exit_code, 3);
    assert_string_equal(ended.end.detail, "t\xc3\xa9l\xc3\xa9");
    rig_close(&r);
    rig_open(&r);
    assert_null(world_session(r.world, gang));
    assert_int_equal(r.world->last_session, gang + 1);
    rig_done(&r);
}

static void MGR1_ended_sessions_are_not_queued_again(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    for (int i = 0; i < 2; i++) {
        struct event ev = rig_submit(i ? "b" : "a", 1);
        ev.u.submit.allow_impossible = true;
        OK(&r, rig_step(&r, &ev));
        ev = rig_stop(r.fx.session);
        OK(&r, rig_step(&r, &ev));
    }
    rig_close(&r);
    rig_open(&r);
    assert_null(world_session(r.world, 1));
    assert_null(world_session(r.world, 2));
    assert_int_equal(r.world->last_session, 2);
    struct event ev = rig_submit("a", 1); /* the name is free again, the number is not */
    ev.u.submit.allow_impossible = true;
    OK(&r, rig_step(&r, &ev));
    assert_int_equal(r.fx.session, 3);
    rig_done(&r);
}

static void a_forgotten_node_keeps_its_number(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    struct event ev = rig_join("n1", 0);
    OK(&r, rig_step(&r, &ev));
    uint32_t first = r.fx.node;
    ev = (struct event){.kind = EVENT_NODE_FORGET, .u.forget = {first, true}};
    OK(&r, rig_step(&r, &ev));
    assert_int_equal(r.fx.verdict, VERDICT_OK);
    expect_same(&r, "forgotten");
    assert_null(world_node_named(r.world, STR("n1")));
    ev = rig_join("n1", 0);
    OK(&r, rig_step(&r, &ev));
    assert_true(r.fx.node > first);
    expect_same(&r, "joined again");
    rig_done(&r);
}

/* A process that dies leaves what was committed and nothing of what was not. */
static void a_kill_loses_nothing_committed(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    struct event ev = rig_join("n1", 2);
    OK(&r, rig_step(&r, &ev));
    rig_close(&r);
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        rig_open(&r);
        for (int i = 0; i < 5; i++) {
            char name[8];
            text_fmt(name, sizeof(name), "k%d", i);
            struct event submit = rig_submit(name, 1);
            OK(&r, rig_step(&r, &submit));
        }
        AUTO_FREE char *dump = rig_dump(&r);
        if (write(fds[1], dump, strlen(dump)) != (ssize_t)strlen(dump)) _exit(1);
        kill(getpid(), SIGKILL);
    }
    close(fds[1]);
    char text[65536];
    size_t n = 0;
    ssize_t got;
    while ((got = read(fds[0], text + n, sizeof(text) - 1 - n)) > 0) n += (size_t)got;
    text[n] = '\0';
    close(fds[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(n > 0);
    rig_open(&r);
    AUTO_FREE char *dump = rig_dump(&r);
    assert_string_equal(dump, text);
    rig_done(&r);
}

static void random_lives_reload_equal(void **state)
{
    (void)state;
    struct rng rng = {7};
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    for (uint32_t i = 0; i < 300; i++) {
        struct event ev = {.kind = EVENT_TICK};
        char name[16];
        text_fmt(name, sizeof(name), "r%u", i);
        uint64_t some = 1 + rng_below(&rng, r.world->last_session + 1);
        switch (rng_below(&rng, 6)) {
        case 0: ev = rig_join(i % 2 ? "n1" : "n2", (uint32_t)rng_below(&rng, 4)); break;
        case 1:
        case 2: ev = rig_submit(name, 1 + (uint32_t)rng_below(&rng, 4)); break;
        case 3: ev = rig_stop(some); break;
        case 4: r.now_ms += (int64_t)rng_below(&rng, 40000); break;
        default:
            ev = (struct event){.kind = EVENT_NODE_CORDON, .u.cordon = {
                                      .node = 1, .on = rng_below(&rng, 2) == 1}};
        }
        OK(&r, rig_step(&r, &ev));
        if (i % 10 == 9) expect_same(&r, name);
        const struct node *n = world_node(r.world, 1);
        if (n && i % 3 == 0) {
            enum member_phase p = (enum member_phase)(1 + rng_below(&rng, MEMBER_PHASES - 1));
            report_all(&r, n, p, 1000 + i);
        }
    }
    expect_same(&r, "the end");
    rig_done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_start_makes_the_defaults),
        cmocka_unit_test(a_taken_number_writes_nothing),
        cmocka_unit_test(MGR8_a_reloaded_world_is_the_same),
        cmocka_unit_test(MGR1_ended_sessions_are_not_queued_again),
        cmocka_unit_test(a_forgotten_node_keeps_its_number),
        cmocka_unit_test(a_kill_loses_nothing_committed),
        cmocka_unit_test(random_lives_reload_equal),
    };
    return RUN(tests);
}
