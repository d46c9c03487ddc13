/* tests/unit/manager/test_turn.c - the turn pipeline on a real store that fails on purpose. */
#include "harness.h"
#include "manager/turn.h"

struct bench {
    char dir[64], path[96];
    struct net_loop *loop;
    struct store *store;
    struct turns *turns;
    uint32_t loads, losses, durables, deposed;
    uint64_t durable_no; /* of the last durable call */
    bool loaded, drained;
};

static void on_closing(void *arg, struct turn_batch *b)
{
    (void)arg;
    (void)b;
}
static void on_durable(void *arg, struct turn_batch *b)
{
    struct bench *k = arg;
    assert_true(b->turn.no > k->durable_no);
    k->durable_no = b->turn.no;
    k->durables++;
}
static void on_lost(void *arg, const struct err *why)
{
    struct bench *k = arg;
    assert_true(why->text[0] != '\0');
    k->losses++;
    k->loaded = false;
}
static void on_loaded(void *arg, struct world *w)
{
    struct bench *k = arg;
    assert_null(world_audit(w));
    k->loads++;
    k->loaded = true;
}
static void on_deposed(void *arg, const struct err *why)
{
    struct bench *k = arg;
    (void)why;
    k->deposed++;
    k->loaded = true; /* ends the wait */
}

static void bench_wait(struct bench *k, const bool *done)
{
    assert_true(net_loop_run_until(k->loop, done, RIG_WAIT_MS));
}

static const struct turns_ops BENCH_OPS = {on_closing, on_durable, on_lost, on_loaded, on_deposed};

static void bench_open(struct bench *k)
{
    struct err err = {0};
    memset(k, 0, sizeof(*k));
    dir_make(k->dir);
    text_fmt(k->path, sizeof(k->path), "%s/store.db", k->dir);
    struct store_options o = {.path = k->path, .wall_ms = 1};
    if (store_open(&o, &k->store, &err) != 0) fail_msg("%s", err.text);
    k->loop = net_loop_new();
    k->turns = turns_new(k->loop, k->store, "test", &BENCH_OPS, k);
    bench_wait(k, &k->loaded);
}

static void bench_close(struct bench *k)
{
    turns_free(k->turns);
    net_loop_free(k->loop);
    store_close(k->store);
    dir_remove(k->dir);
}

/* ---- events and waits ---- */

static struct event submit_event(const char *name)
{
    struct event ev = {.kind = EVENT_SUBMIT, .actor = 1};
    struct session *s = &ev.u.submit.session;
    s->user = s->project = s->group = 1;
    assert_true(TEXT_SET(s->name, str_of(name)));
    s->kind = KIND_BATCH;
    s->priority = 10;
    s->grace_ms = 1000;
    s->n_roles = s->members = 1;
    s->roles[0] = (struct role){.name = "main", .count = 1};
    s->roles[0].slots.v[SLOT_CPU] = 1000;
    s->roles[0].slots.v[SLOT_MEM] = 1 << 20;
    return ev;
}

static enum verdict submit(struct bench *k, const char *name)
{
    struct event ev = submit_event(name);
    return turns_step(k->turns, &ev)->verdict;
}

struct mark {
    struct turn_wait wait;
    struct bench *k;
    bool done;
    enum turn_end end;
    uint64_t store_turn; /* what the store held when it was called */
    uint32_t durables;
};

static void marked(struct turn_wait *w, enum turn_end end)
{
    struct mark *m = (struct mark *)w;
    struct store_reader *r = NULL;
    struct err err = {0};
    assert_false(m->done);
    m->done = true;
    m->end = end;
    m->durables = m->k->durables;
    assert_int_equal(store_reader_open(m->k->path, &r, &err), 0);
    assert_int_equal(store_read_last_turn(r, &m->store_turn, &err), 0);
    store_reader_close(r);
}

static void mark_now(struct bench *k, struct mark *m)
{
    *m = (struct mark){.wait = {.fn = marked}, .k = k};
    turns_after(k->turns, &m->wait);
}

/* ---- cases ---- */

static void test_nothing_leaves_before_its_turn_is_stored(void **state)
{
    (void)state;
    struct bench k;
    struct mark m;
    bench_open(&k);
    assert_int_equal(submit(&k, "a"), VERDICT_OK);
    mark_now(&k, &m);
    assert_false(m.done);
    uint64_t no = turns_newest(k.turns);
    bench_wait(&k, &m.done);
    assert_int_equal(m.end, TURN_DURABLE);
    assert_true(m.store_turn >= no);
    assert_int_equal(m.durables, 1); /* published before it was released */
    assert_int_equal(turns_durable(k.turns), no);
    bench_close(&k);
}

static void test_a_turn_without_changes_writes_nothing(void **state)
{
    (void)state;
    struct bench k;
    struct mark m;
    bench_open(&k);
    uint64_t before = turns_newest(k.turns);
    struct event ev = {.kind = EVENT_TICK};
    turns_step(k.turns, &ev);
    mark_now(&k, &m);
    assert_true(m.done); /* nothing to wait for: at once */
    assert_int_equal(m.end, TURN_DURABLE);
    assert_int_equal(m.store_turn, before);
    assert_int_equal(turns_world(k.turns)->turn, before);
    assert_int_equal(turns_stats(k.turns)->turns, 0);
    bench_close(&k);
}

/* Quiet time is kept, or what waits for an instant would wait anew after a restart. */
static void test_quiet_time_survives_a_kill(void **state)
{
    (void)state;
    struct bench k;
    struct mark m;
    bench_open(&k);
    turns_mark(k.turns); /* nobody is there who could wait for anything */
    assert_false(turns_is_open(k.turns));
    assert_int_equal(submit(&k, "one"), VERDICT_OK);
    mark_now(&k, &m);
    bench_wait(&k, &m.done);
    int64_t stored_ms = turns_core_ms(k.turns);
    bool never = false;
    while (turns_core_ms(k.turns) < stored_ms + 300) (void)net_loop_run_until(k.loop, &never, 5);
    int64_t quiet_ms = turns_core_ms(k.turns);
    turns_mark(k.turns);
    mark_now(&k, &m);
    bench_wait(&k, &m.done);
    assert_int_equal(m.end, TURN_DURABLE);
    assert_int_equal(m.store_turn, turns_durable(k.turns));
    turns_free(k.turns); /* as a kill: nothing is finished */
    k.loaded = false;
    k.turns = turns_new(k.loop, k.store, "next", &BENCH_OPS, &k);
    bench_wait(&k, &k.loaded);
    assert_true(turns_core_ms(k.turns) >= quiet_ms);
    bench_close(&k);
}

static void test_a_refused_event_leaves_no_row(void **state)
{
    (void)state;
    struct bench k;
    struct mark m;
    bench_open(&k);
    assert_int_equal(submit(&k, "twice"), VERDICT_OK);
    mark_now(&k, &m);
    bench_wait(&k, &m.done);
    uint64_t no = turns_newest(k.turns);
    assert_int_equal(submit(&k, "twice"), VERDICT_NAME_TAKEN);
    assert_int_equal(turns_newest(k.turns), no);
    bench_close(&k);
}

static void test_events_of_one_loop_turn_share_a_commit(void **state)
{
    (void)state;
    struct bench k;
    struct mark m;
    bench_open(&k);
    for (int i = 0; i < 50; i++) {
        char name[16];
        text_fmt(name, sizeof(name), "n%d", i);
        assert_int_equal(submit(&k, name), VERDICT_OK);
    }
    mark_now(&k, &m);
    bench_wait(&k, &m.done);
    assert_int_equal(turns_stats(k.turns)->turns, 1);
    bench_close(&k);
}

static void test_a_read_waits_for_the_turn_under_way(void **state)
{
    (void)state;
    struct bench k;
    struct mark m, read;
    bench_open(&k);
    submit(&k, "a");
    mark_now(&k, &m);
    bool now = true;
    net_loop_run_until(k.loop, &now, 0);
    mark_now(&k, &read); /* the world already shows it */
    bench_wait(&k, &read.done);
    assert_true(m.done);
    assert_int_equal(read.end, TURN_DURABLE);
    bench_close(&k);
}

/* QTA10, MGR10: booking and storing are one; whatever statement fails. */
static void fault_case(enum store_fault_kind kind, uint32_t n, bool stored)
{
    struct bench k;
    struct mark first, second, later;
    bench_open(&k);
    submit(&k, "before");
    mark_now(&k, &first);
    bench_wait(&k, &first.done);
    store_fault(k.store, n, kind); /* the store's thread is idle now */
    submit(&k, "lost");
    mark_now(&k, &second);
    k.loaded = false;
    bench_wait(&k, &second.done);
    assert_int_equal(second.end, TURN_LOST);
    assert_null(turns_world(k.turns)); /* nobody decides on what may not be */
    assert_false(turns_accepting(k.turns));
    bench_wait(&k, &k.loaded);
    struct world *w = turns_world(k.turns);
    assert_non_null(world_session_named(w, 1, STR("before")));
    assert_int_equal(world_session_named(w, 1, STR("lost")) != NULL, stored);
    assert_int_equal(turns_stats(k.turns)->failed, 1);
    /* And it goes on. */
    assert_int_equal(submit(&k, "after"), VERDICT_OK);
    mark_now(&k, &later);
    bench_wait(&k, &later.done);
    assert_int_equal(later.end, TURN_DURABLE);
    bench_close(&k);
}

static void test_every_statement_may_fail(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 4; n++) fault_case(STORE_FAULT_FAIL, n, false);
}
static void test_unknown_but_stored_is_found_again(void **state)
{
    (void)state;
    fault_case(STORE_FAULT_UNKNOWN_STORED, 1, true);
}
static void test_unknown_and_not_stored_is_gone(void **state)
{
    (void)state;
    fault_case(STORE_FAULT_UNKNOWN_LOST, 1, false);
}

static void test_turns_behind_a_lost_one_are_lost_too(void **state)
{
    (void)state;
    struct bench k;
    struct mark a, b;
    bench_open(&k);
    store_fault(k.store, 1, STORE_FAULT_FAIL);
    submit(&k, "a");
    mark_now(&k, &a);
    bool now = true;
    net_loop_run_until(k.loop, &now, 0);
    if (turns_world(k.turns)) { /* the next one gathers while that one is being written */
        submit(&k, "b");
        mark_now(&k, &b);
        bench_wait(&k, &b.done);
        assert_int_equal(b.end, TURN_LOST);
    }
    bench_wait(&k, &a.done);
    assert_int_equal(a.end, TURN_LOST);
    if (!turns_world(k.turns)) {
        k.loaded = false;
        bench_wait(&k, &k.loaded);
    }
    assert_int_equal(turns_world(k.turns)->n_sessions, 0);
    bench_close(&k);
}

/* Another manager that took our number: we are not the leader. */
static void test_a_taken_number_deposes(void **state)
{
    (void)state;
    struct bench k;
    struct mark m;
    bench_open(&k);
    struct store_turn other = {.no = turns_newest(k.turns) + 1, .leader = "other"};
    store_turn_op(&other, STORE_PUT_META)->u.meta = (struct store_meta){"k", "v"};
    struct err err = {0};
    assert_int_equal(store_commit(k.store, &other, &err), 0);
    store_turn_done(&other);
    submit(&k, "a");
    mark_now(&k, &m);
    bench_wait(&k, &m.done);
    assert_int_equal(m.end, TURN_LOST);
    assert_int_equal(k.deposed, 1);
    assert_null(turns_world(k.turns));
    bench_close(&k);
}

static void set_true(void *arg) { *(bool *)arg = true; }

static void test_drain_finishes_the_open_turn(void **state)
{
    (void)state;
    struct bench k;
    struct mark m;
    bench_open(&k);
    submit(&k, "a");
    mark_now(&k, &m);
    turns_drain(k.turns, set_true, &k.drained);
    bench_wait(&k, &k.drained);
    assert_true(m.done);
    assert_int_equal(m.end, TURN_DURABLE);
    bench_close(&k);
}

static void test_end_tells_what_still_waits(void **state)
{
    (void)state;
    struct bench k;
    struct mark m;
    bench_open(&k);
    submit(&k, "a");
    mark_now(&k, &m);
    turns_free(k.turns);
    k.turns = NULL;
    assert_true(m.done);
    assert_int_equal(m.end, TURN_LOST);
    net_loop_free(k.loop);
    store_close(k.store);
    dir_remove(k.dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_leaves_before_its_turn_is_stored),
        cmocka_unit_test(test_a_turn_without_changes_writes_nothing),
        cmocka_unit_test(test_quiet_time_survives_a_kill),
        cmocka_unit_test(test_a_refused_event_leaves_no_row),
        cmocka_unit_test(test_events_of_one_loop_turn_share_a_commit),
        cmocka_unit_test(test_a_read_waits_for_the_turn_under_way),
        cmocka_unit_test(test_every_statement_may_fail),
        cmocka_unit_test(test_unknown_but_stored_is_found_again),
        cmocka_unit_test(test_unknown_and_not_stored_is_gone),
        cmocka_unit_test(test_turns_behind_a_lost_one_are_lost_too),
        cmocka_unit_test(test_a_taken_number_deposes),
        cmocka_unit_test(test_drain_finishes_the_open_turn),
        cmocka_unit_test(test_end_tells_what_still_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
