/* The driver that pretends: each script, each way to end. */
#include "test.h"

#include "agent/driver.h"
#include "net/loop.h"

struct fixture {
    char dir[64];
    struct net_loop *loop;
    struct driver d;
    uint32_t changes;
    bool changed;
};

static void on_change(void *arg)
{
    struct fixture *f = arg;
    f->changes++;
    f->changed = true;
}

static void fixture_init(struct fixture *f)
{
    struct err err;
    memset(f, 0, sizeof(*f));
    test_dir_new(f->dir);
    f->loop = net_loop_new();
    struct driver_config c = {.state_dir = f->dir, .on_change = on_change, .arg = f};
    assert_int_equal(fake_driver_new(f->loop, &c, &f->d, &err), 0);
}

static void fixture_done(struct fixture *f)
{
    f->d.ops->free(f->d.self);
    net_loop_free(f->loop);
    test_dir_free(f->dir);
}

static void create(struct fixture *f, uint64_t session, const char *cmd, int64_t limit_ms)
{
    struct err err;
    const char *argv[] = {cmd, NULL};
    struct container_spec s = {.ref = {session, 1, 0}, .argv = argv, .limit_ms = limit_ms};
    assert_int_equal(f->d.ops->create(f->d.self, &s, &err), 0);
}

static struct member_report get(struct fixture *f, uint64_t session)
{
    AUTO_FREE struct member_report *list = NULL;
    uint32_t n = f->d.ops->list(f->d.self, &list);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0) assert_true(member_ref_cmp(list[i - 1].ref, list[i].ref) < 0);
        if (list[i].ref.session == session) return list[i];
    }
    return (struct member_report){0};
}

static bool wait_phase(struct fixture *f, uint64_t session, enum member_phase phase)
{
    for (int i = 0; i < 100 && get(f, session).phase != phase; i++) {
        f->changed = false;
        net_loop_run_until(f->loop, &f->changed, 50);
    }
    return get(f, session).phase == phase;
}

static void scripts(void **state)
{
    static const struct {
        const char *cmd;
        enum member_phase held, ended;
        int32_t code;
        bool fatal;
    } cases[] = {
        {"true", MEMBER_READY, MEMBER_EXITED, 0, false},
        {"exit:7", MEMBER_READY, MEMBER_EXITED, 7, false},
        {"sleep:5", MEMBER_READY, MEMBER_EXITED, 0, false},
        {"fail", MEMBER_FAILED, MEMBER_FAILED, -1, false},
        {"fatal", MEMBER_FAILED, MEMBER_FAILED, -1, true},
    };
    struct fixture f;
    (void)state;
    fixture_init(&f);
    for (uint64_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct member_ref ref = {i + 1, 1, 0};
        create(&f, ref.session, cases[i].cmd, 0);
        assert_int_equal(get(&f, ref.session).phase, cases[i].held);
        f.d.ops->go(f.d.self, ref);
        f.d.ops->go(f.d.self, ref); /* again: nothing */
        assert_true(wait_phase(&f, ref.session, cases[i].ended));
        struct member_report r = get(&f, ref.session);
        assert_int_equal(r.end.exit_code, cases[i].code);
        assert_int_equal(r.end.fatal, cases[i].fatal);
        f.d.ops->clean(f.d.self, ref);
        f.d.ops->clean(f.d.self, ref);
        assert_int_equal(get(&f, ref.session).phase, MEMBER_NONE);
    }
    assert_true(f.changes > 0);
    fixture_done(&f);
}

static void stop_and_signal(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    create(&f, 1, "sleep:100000", 0);
    f.d.ops->stop(f.d.self, (struct member_ref){1, 1, 0}, 0, false);
    assert_int_equal(get(&f, 1).phase, MEMBER_FAILED); /* it never ran */
    create(&f, 2, "sleep:100000", 0);
    f.d.ops->go(f.d.self, (struct member_ref){2, 1, 0});
    assert_int_equal(get(&f, 2).phase, MEMBER_RUNNING);
    f.d.ops->signal(f.d.self, (struct member_ref){2, 1, 0}, 1, 10);
    f.d.ops->signal(f.d.self, (struct member_ref){2, 1, 0}, 1, 9); /* the same number: done */
    assert_int_equal(get(&f, 2).phase, MEMBER_RUNNING);
    assert_int_equal(get(&f, 2).signal_done, 1);
    f.d.ops->stop(f.d.self, (struct member_ref){2, 1, 0}, 1000, false);
    assert_int_equal(get(&f, 2).end.signal, 15);
    create(&f, 3, "sleep:100000", 3); /* a time limit */
    f.d.ops->go(f.d.self, (struct member_ref){3, 1, 0});
    assert_true(wait_phase(&f, 3, MEMBER_EXITED));
    assert_true(get(&f, 3).end.timed_out);
    fixture_done(&f);
}

static void thousands(void **state)
{
    enum { N = 5000 };
    struct fixture f;
    AUTO_FREE struct member_report *list = NULL;
    (void)state;
    fixture_init(&f);
    for (uint64_t i = 1; i <= N; i++) create(&f, i, "sleep:1", 0);
    for (uint64_t i = 1; i <= N; i++) f.d.ops->go(f.d.self, (struct member_ref){i, 1, 0});
    assert_true(wait_phase(&f, N, MEMBER_EXITED));
    assert_int_equal(f.d.ops->list(f.d.self, &list), N);
    for (uint32_t i = 0; i < N; i++) assert_int_equal(list[i].phase, MEMBER_EXITED);
    assert_true(f.changes < 200); /* many changes are told at once */
    fixture_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scripts),
        cmocka_unit_test(stop_and_signal),
        cmocka_unit_test(thousands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
