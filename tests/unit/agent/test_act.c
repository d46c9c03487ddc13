/* Plan and act on the driver that pretends: what is wanted comes about, what is not
 * goes, and nothing moves before a first list has come. */
#include "test.h"

#include "agent/act.h"
#include "agent/hooks.h"
#include "net/loop.h"

struct fixture {
    struct net_loop *loop;
    struct driver real, d; /* d: real with its create replaced */
    struct driver_ops ops;
    struct bodies *bodies;
    struct act *act;
    uint64_t turn;
    bool stale; /* wishes are not fresh */
};

static int broken_create(void *self, const struct container_spec *spec, struct err *err)
{
    (void)self, (void)spec;
    return err_set(err, ERR_IO, "the disk is full");
}

static int full_create(void *self, const struct container_spec *spec, struct err *err)
{
    (void)self, (void)spec;
    return err_set(err, ERR_UNAVAILABLE, "no room");
}

static void fixture_init(struct fixture *f, bool broken)
{
    struct err err;
    memset(f, 0, sizeof(*f));
    f->loop = net_loop_new();
    struct driver_config c = {.state_dir = "/nonexistent"};
    assert_int_equal(fake_driver_new(f->loop, &c, &f->real, &err), 0);
    f->ops = *f->real.ops;
    if (broken) f->ops.create = broken_create;
    f->d = (struct driver){.ops = &f->ops, .self = f->real.self};
    assert_int_equal(bodies_open(NULL, &f->bodies, &err), 0);
    f->act = act_new(&f->d, f->bodies, "inc");
}

static void fixture_done(struct fixture *f)
{
    act_free(f->act);
    bodies_free(f->bodies);
    f->real.ops->free(f->real.self);
    net_loop_free(f->loop);
}

struct wish { uint64_t session; enum want_act act; const char *body; /* NULL: none sent */ };

static void answer(struct fixture *f, const struct wish *w, size_t n)
{
    struct sync_answer a = {.turn = ++f->turn};
    for (size_t i = 0; i < n; i++) {
        struct member_ref ref = {w[i].session, 1, 0};
        VEC_PUSH(&a.wants, ((struct member_want){.ref = ref, .act = w[i].act, .fresh = !f->stale,
                                                .grace_ms = 100}));
        if (w[i].body == NULL) continue;
        struct sync_body b = {.session = ref.session, .attempt = 1};
        b.spec = mem_strndup(w[i].body, strlen(w[i].body));
        VEC_PUSH(&a.bodies, b);
    }
    act_apply(f->act, &a);
    wire_free(&wire_sync_answer, &a);
    act_run(f->act); /* a change of the driver's list would do it */
    act_run(f->act);
}

static enum member_phase phase(struct fixture *f, uint64_t session)
{
    AUTO_FREE struct member_report *list = NULL;
    uint32_t n = act_list(f->act, &list);
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].ref.session == session) return list[i].phase;
    }
    return MEMBER_NONE;
}

#define SLEEP "{\"command\":[\"sleep:100000\"]}"

static void what_is_wanted_comes_about(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f, false);
    answer(&f, (struct wish[]){{1, WANT_HOLD, SLEEP}, {2, WANT_RUN, SLEEP}}, 2);
    assert_int_equal(phase(&f, 1), MEMBER_READY);
    assert_int_equal(phase(&f, 2), MEMBER_RUNNING);
    answer(&f, (struct wish[]){{1, WANT_RUN, NULL}, {2, WANT_STOP, NULL}}, 2);
    assert_int_equal(phase(&f, 1), MEMBER_RUNNING);
    assert_int_equal(phase(&f, 2), MEMBER_EXITED);
    answer(&f, (struct wish[]){{1, WANT_RUN, NULL}}, 1);
    assert_int_equal(phase(&f, 2), MEMBER_NONE);
    assert_int_equal(bodies_count(f.bodies), 1);
    struct member_report r;
    assert_true(act_find(f.act, (struct member_ref){2, 1, 0}, &r)); /* its end is remembered */
    assert_int_equal(r.end.signal, 15);
    assert_false(act_find(f.act, (struct member_ref){2, 2, 0}, &r));
    fixture_done(&f);
}

static void AGT2_an_empty_list_ends_everything(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f, false);
    struct wish all[150];
    for (uint64_t i = 0; i < 150; i++) all[i] = (struct wish){i + 1, WANT_RUN, SLEEP};
    answer(&f, all, 150);
    assert_int_equal(phase(&f, 150), MEMBER_RUNNING);
    answer(&f, all, 0);
    AUTO_FREE struct member_report *list = NULL;
    assert_int_equal(act_list(f.act, &list), 0);
    assert_int_equal(bodies_count(f.bodies), 0);
    fixture_done(&f);
}

static void nothing_moves_before_a_first_list(void **state)
{
    struct fixture f;
    struct err err;
    const char *argv[] = {"sleep:100000", NULL};
    struct container_spec s = {.ref = {9, 1, 0}, .argv = argv};
    (void)state;
    fixture_init(&f, false);
    assert_int_equal(f.real.ops->create(f.real.self, &s, &err), 0);
    act_run(f.act);
    assert_int_equal(phase(&f, 9), MEMBER_READY);
    assert_true(act_wanted(f.act, s.ref));
    answer(&f, NULL, 0);
    assert_int_equal(phase(&f, 9), MEMBER_NONE);
    assert_false(act_wanted(f.act, s.ref));
    /* And again after another store gave its name. */
    assert_int_equal(f.real.ops->create(f.real.self, &s, &err), 0);
    act_set_incarnation(f.act, "other");
    act_run(f.act);
    assert_int_equal(phase(&f, 9), MEMBER_READY);
    fixture_done(&f);
}

static void missing_bodies_are_asked_for_once_each(void **state)
{
    struct fixture f;
    uint32_t n;
    (void)state;
    fixture_init(&f, false);
    answer(&f, (struct wish[]){{1, WANT_RUN, NULL}, {2, WANT_RUN, SLEEP}, {3, WANT_RUN, NULL}}, 3);
    const struct sync_need *needs = act_needs(f.act, &n);
    assert_int_equal(n, 2);
    assert_int_equal(needs[0].session, 1);
    assert_int_equal(needs[1].session, 3);
    answer(&f, (struct wish[]){{1, WANT_RUN, SLEEP}, {2, WANT_RUN, NULL}, {3, WANT_RUN, SLEEP}}, 3);
    (void)act_needs(f.act, &n);
    assert_int_equal(n, 0);
    assert_int_equal(phase(&f, 3), MEMBER_RUNNING);
    fixture_done(&f);
}

static void what_the_driver_refuses_is_reported_as_a_failed_start(void **state)
{
    struct fixture f;
    struct member_report r;
    (void)state;
    fixture_init(&f, true);
    answer(&f, (struct wish[]){{1, WANT_RUN, SLEEP}}, 1);
    assert_true(act_find(f.act, (struct member_ref){1, 1, 0}, &r));
    assert_int_equal(r.phase, MEMBER_FAILED);
    assert_string_equal(r.end.detail, "the disk is full");
    assert_false(r.end.fatal);
    f.ops.create = f.real.ops->create; /* it would work now, but this attempt is over */
    act_run(f.act);
    assert_int_equal(phase(&f, 1), MEMBER_FAILED);
    answer(&f, NULL, 0);
    assert_int_equal(phase(&f, 1), MEMBER_NONE);
    fixture_done(&f);
}

static void AGT13_what_vanished_is_not_run_again(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f, false);
    answer(&f, (struct wish[]){{1, WANT_RUN, SLEEP}}, 1);
    f.real.ops->clean(f.real.self, (struct member_ref){1, 1, 0}); /* behind our back */
    act_run(f.act);
    act_run(f.act);
    assert_int_equal(phase(&f, 1), MEMBER_NONE);
    fixture_done(&f);
}

/* What is wished for and not in the list is gone for the manager: so what has to
 * wait is in the list, until it is made, or is to stop, or is wished for no more. */
static void what_must_wait_is_listed(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f, false);
    answer(&f, (struct wish[]){{1, WANT_RUN, NULL}, {2, WANT_RUN, NULL}, {3, WANT_RUN, NULL}}, 3);
    for (uint64_t i = 1; i <= 3; i++) assert_int_equal(phase(&f, i), MEMBER_PREPARING);
    f.stale = true; /* the manager has heard of them */
    answer(&f, (struct wish[]){{1, WANT_RUN, SLEEP}, {2, WANT_STOP, NULL}}, 2);
    assert_int_equal(phase(&f, 1), MEMBER_RUNNING);
    assert_int_equal(phase(&f, 2), MEMBER_NONE);
    assert_int_equal(phase(&f, 3), MEMBER_NONE);
    fixture_done(&f);
}

static void what_finds_no_room_waits_for_it(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f, false);
    f.ops.create = full_create;
    answer(&f, (struct wish[]){{1, WANT_RUN, SLEEP}}, 1);
    assert_int_equal(phase(&f, 1), MEMBER_PREPARING);
    f.ops.create = f.real.ops->create;
    f.stale = true;
    answer(&f, (struct wish[]){{1, WANT_RUN, NULL}}, 1);
    assert_int_equal(phase(&f, 1), MEMBER_RUNNING);
    fixture_done(&f);
}

/* An answer that left before the manager heard of the member still calls it fresh. */
static void nothing_is_made_twice(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f, false);
    answer(&f, (struct wish[]){{1, WANT_RUN, SLEEP}}, 1);
    f.real.ops->clean(f.real.self, (struct member_ref){1, 1, 0}); /* behind the agent's back */
    answer(&f, (struct wish[]){{1, WANT_RUN, SLEEP}}, 1);
    assert_int_equal(phase(&f, 1), MEMBER_NONE);
    fixture_done(&f);
}

static void a_malformed_body_is_a_fatal_failure(void **state)
{
    struct fixture f;
    struct member_report r;
    (void)state;
    fixture_init(&f, false);
    answer(&f, (struct wish[]){{1, WANT_RUN, "{\"comand\":[]}"}, {2, WANT_RUN, SLEEP}}, 2);
    assert_true(act_find(f.act, (struct member_ref){1, 1, 0}, &r));
    assert_int_equal(r.phase, MEMBER_FAILED);
    assert_true(r.end.fatal);
    assert_int_equal(phase(&f, 2), MEMBER_RUNNING);
    fixture_done(&f);
}

static uint32_t two_list(void *self, struct member_report **ret)
{
    (void)self;
    *ret = mem_array(2, sizeof(**ret));
    (*ret)[0] = (struct member_report){.ref = {5, 1, 0}, .phase = MEMBER_RUNNING, .orphan = true};
    (*ret)[1] = (struct member_report){.ref = {6, 1, 0}, .phase = MEMBER_RUNNING};
    return 2;
}

static uint32_t n_cleaned;
static uint64_t cleaned;

static void tape_clean(void *self, struct member_ref ref)
{
    (void)self;
    cleaned = ref.session;
    n_cleaned++;
}

/* An orphan is ended when somebody says so; what is none is left to its wishes. */
static void orphans_alone_are_ended_as_such(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f, false);
    f.ops.list = two_list;
    f.ops.clean = tape_clean;
    const struct member_ref refs[] = {{5, 1, 0}, {6, 1, 0}, {7, 1, 0}, {5, 2, 0}};
    act_end_orphans(f.act, refs, 0);
    assert_int_equal(n_cleaned, 0);
    act_end_orphans(f.act, refs, ARRAY_LEN(refs));
    assert_int_equal(n_cleaned, 1);
    assert_int_equal(cleaned, 5);
    fixture_done(&f);
}

static void tell(void *arg) { act_run(((struct fixture *)arg)->act); }

static void until(struct fixture *f, uint64_t session, enum member_phase wanted)
{
    static const bool never;
    int64_t end = net_now_ms() + 30000;
    while (phase(f, session) != wanted) {
        if (net_now_ms() > end) fail_msg("is %s", member_phase_name(phase(f, session)));
        (void)net_loop_run_until(f->loop, &never, 10);
        act_run(f->act); /* the fake driver's list moves by itself */
    }
}

/* Around the container, and for people it is what it is: preparing, then stopping. */
static void programs_run_before_and_after(void **state)
{
    struct fixture f;
    struct err err = {0};
    struct member_report r;
    char dir[64], prolog[96], epilog[96];
    static const char waits[] = "#!/bin/sh\nwhile [ ! -e $0.go ]; do sleep 0.02; done\n";
    (void)state;
    test_dir_new(dir);
    text_fmt(prolog, sizeof(prolog), "%s/prolog", dir);
    text_fmt(epilog, sizeof(epilog), "%s/epilog", dir);
    test_file(dir, "prolog", waits);
    test_file(dir, "epilog", waits);
    assert_int_equal(chmod(prolog, 0755) | chmod(epilog, 0755), 0);
    fixture_init(&f, false);
    struct hooks *h;
    struct hooks_opts o = {.dir = dir, .prolog = prolog, .epilog = epilog, .timeout_ms = 30000,
                           .on_change = tell, .arg = &f};
    assert_int_equal(hooks_open(f.loop, &o, &h, &err), 0);
    act_set_hooks(f.act, h);
    answer(&f, (struct wish[]){{1, WANT_RUN, SLEEP}}, 1);
    assert_int_equal(phase(&f, 1), MEMBER_PREPARING);
    assert_true(act_find(f.act, (struct member_ref){1, 1, 0}, &r));
    assert_string_equal(r.end.detail, "its prolog runs");
    test_file(dir, "prolog.go", "");
    until(&f, 1, MEMBER_RUNNING);
    answer(&f, (struct wish[]){{1, WANT_STOP, NULL}}, 1);
    until(&f, 1, MEMBER_STOPPING);
    answer(&f, NULL, 0); /* the manager has given it up: it stays until the devices are free */
    assert_int_equal(phase(&f, 1), MEMBER_STOPPING);
    test_file(dir, "epilog.go", "");
    until(&f, 1, MEMBER_NONE);
    test_file(dir, "prolog", "#!/bin/sh\necho no licence\nexit 1\n");
    answer(&f, (struct wish[]){{2, WANT_RUN, SLEEP}}, 1);
    until(&f, 2, MEMBER_FAILED);
    assert_true(act_find(f.act, (struct member_ref){2, 1, 0}, &r));
    assert_string_equal(r.end.detail, "prolog: no licence");
    assert_false(r.end.fatal); /* elsewhere it may be otherwise */
    hooks_free(h);
    act_set_hooks(f.act, NULL);
    fixture_done(&f);
    test_dir_free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orphans_alone_are_ended_as_such),
        cmocka_unit_test(what_is_wanted_comes_about),
        cmocka_unit_test(AGT2_an_empty_list_ends_everything),
        cmocka_unit_test(nothing_moves_before_a_first_list),
        cmocka_unit_test(missing_bodies_are_asked_for_once_each),
        cmocka_unit_test(what_the_driver_refuses_is_reported_as_a_failed_start),
        cmocka_unit_test(AGT13_what_vanished_is_not_run_again),
        cmocka_unit_test(what_must_wait_is_listed),
        cmocka_unit_test(what_finds_no_room_waits_for_it),
        cmocka_unit_test(nothing_is_made_twice),
        cmocka_unit_test(a_malformed_body_is_a_fatal_failure),
        cmocka_unit_test(programs_run_before_and_after),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
