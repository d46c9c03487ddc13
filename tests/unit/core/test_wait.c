/* Dependencies, start times, holds, arrays, and changes while a session waits. */
#include "harness.h"

#include "core/model/wait.h"

static struct lab *one_node(void)
{
    struct lab *l = lab_new(BLOCKED_SKIP);
    lab_join(l, "n1", 8, 16, 0);
    return l;
}

static struct event after(const struct session *req, uint64_t id, enum depend_on on)
{
    struct event ev = {.kind = EVENT_SUBMIT};
    ev.u.submit.session = *req;
    ev.u.submit.session.n_depends = 1;
    ev.u.submit.session.depends[0] = (struct dependency){id, on};
    return ev;
}

static enum wait_kind waits(const struct lab *l, uint64_t id)
{
    return wait_of(l->w, world_session(l->w, id));
}

static void ends(struct lab *l, uint64_t id, int code)
{
    lab_settle(l);
    lab_exit(l, 0, id, 0, code);
    lab_settle(l);
}

/* One row for each kind of dependency and each way to end. */
static void dependencies(void **state)
{
    (void)state;
    static const struct { enum depend_on on; int code; bool runs; } cases[] = {
        {DEPEND_SUCCESS, 0, true}, {DEPEND_SUCCESS, 3, false}, {DEPEND_END, 0, true},
        {DEPEND_END, 3, true},     {DEPEND_FAILURE, 0, false}, {DEPEND_FAILURE, 3, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct lab *l = one_node();
        struct session req = lab_request(1, 1, 1, 0);
        uint64_t first = lab_run(l, &req);
        struct event ev = after(&req, first, cases[i].on);
        assert_int_equal(lab_step(l, &ev), VERDICT_OK);
        uint64_t second = l->fx.session;
        lab_settle(l);
        assert_int_equal(lab_state(l, second), SESSION_PENDING); /* although there is room */
        assert_int_equal(waits(l, second), WAIT_DEPENDENCY);
        lab_restart(l);
        lab_settle(l);
        ends(l, first, cases[i].code);
        if (cases[i].runs) assert_int_equal(lab_state(l, second), SESSION_RUNNING);
        else assert_int_equal(lab_outcome(l, second), OUTCOME_FAILED);
        lab_free(l);
    }
}

/* What cannot run any more takes along what waits for it, however long the chain. */
static void a_chain_falls(void **state)
{
    (void)state;
    struct lab *l = one_node();
    struct session req = lab_request(1, 1, 1, 0);
    uint64_t ids[20] = {lab_run(l, &req)};
    for (int i = 1; i < 20; i++) {
        struct event ev = after(&req, ids[i - 1], DEPEND_SUCCESS);
        assert_int_equal(lab_step(l, &ev), VERDICT_OK);
        ids[i] = l->fx.session;
    }
    ends(l, ids[0], 1);
    for (int i = 1; i < 20; i++) assert_int_equal(lab_outcome(l, ids[i]), OUTCOME_FAILED);
    assert_string_equal(lab_end(l, ids[7])->detail,
                        "it waited for the success of s7, which did not succeed");
    lab_free(l);
}

static void dependencies_are_judged(void **state)
{
    (void)state;
    struct lab *l = one_node();
    struct session req = lab_request(1, 1, 1, 0);
    struct event ev = after(&req, 77, DEPEND_END);
    assert_int_equal(lab_step(l, &ev), VERDICT_NOT_FOUND);
    assert_string_equal(l->fx.field, "after");
    ev.u.submit.depend_outcome[0] = OUTCOME_FAILED; /* the caller knows how it ended */
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    lab_settle(l);
    assert_int_equal(lab_state(l, l->fx.session ? l->fx.session : 1), SESSION_RUNNING);
    ev.u.submit.session.depends[0].on = DEPEND_SUCCESS;
    assert_int_equal(lab_step(l, &ev), VERDICT_IMPOSSIBLE);
    ev.u.submit.session.n_depends = 2;
    ev.u.submit.session.depends[0] = ev.u.submit.session.depends[1] =
        (struct dependency){1, DEPEND_END};
    assert_int_equal(lab_step(l, &ev), VERDICT_BAD_VALUE);
    ev.u.submit.session.depends[1].on = DEPEND_KINDS;
    assert_int_equal(lab_step(l, &ev), VERDICT_BAD_VALUE);
    ev.u.submit.session.n_depends = SESSION_DEPENDS_MAX + 1;
    assert_int_equal(lab_step(l, &ev), VERDICT_BAD_VALUE);
    lab_free(l);
}

static void start_times(void **state)
{
    (void)state;
    struct lab *l = one_node();
    struct session req = lab_request(1, 1, 1, 0);
    req.start_after_ms = l->now_ms + 60000;
    uint64_t id = lab_run(l, &req);
    assert_int_equal(lab_state(l, id), SESSION_PENDING);
    assert_int_equal(waits(l, id), WAIT_START);
    assert_true(step_next_deadline(l->w) <= req.start_after_ms); /* nobody has to ask */
    lab_tick(l, req.start_after_ms - l->now_ms - 1);
    assert_int_equal(lab_state(l, id), SESSION_PENDING);
    lab_report(l, 0);
    lab_tick(l, 1);
    assert_int_equal(lab_state(l, id), SESSION_ALLOCATED);
    lab_free(l);
}

static struct event update(uint64_t id, uint32_t fields)
{
    struct event ev = {.kind = EVENT_UPDATE};
    ev.u.update = (struct event_update){.session = id, .fields = fields};
    return ev;
}

static void held_and_released(void **state)
{
    (void)state;
    struct lab *l = one_node();
    struct session req = lab_request(1, 1, 1, 0);
    req.hold = true;
    uint64_t id = lab_run(l, &req);
    lab_settle(l);
    assert_int_equal(waits(l, id), WAIT_HOLD);
    lab_restart(l);
    lab_settle(l);
    assert_int_equal(lab_state(l, id), SESSION_PENDING);
    struct event ev = update(id, UPDATE_HOLD);
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    assert_int_equal(lab_state(l, id), SESSION_ALLOCATED);
    ev.u.update.hold = true;
    assert_int_equal(lab_step(l, &ev), VERDICT_TOO_LATE);
    assert_string_equal(l->fx.field, "hold");
    lab_free(l);
}

/* PRI5: what a person sets stays set, and counts at once. */
static void pri5_a_priority_is_a_persons(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 4, 16, 0);
    struct session req = lab_request(1, 4, 1, 0);
    uint64_t runs = lab_run(l, &req), a = lab_run(l, &req), b = lab_run(l, &req);
    world_session(l->w, b)->lowered = 10; /* by the scheduler, earlier */
    struct event ev = update(b, UPDATE_PRIORITY | UPDATE_TIME_LIMIT);
    ev.u.update.priority = 50;
    ev.u.update.time_limit_ms = 5000;
    world_session(l->w, b)->lowered = 0;
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    assert_int_equal(lab_changes(l, CHANGE_SESSION), 2); /* and the head that it displaces */
    lab_restart(l);
    assert_int_equal(world_session(l->w, b)->priority, 50);
    assert_int_equal(world_session(l->w, b)->time_limit_ms, 5000);
    lab_settle(l);
    ends(l, runs, 0);
    assert_int_equal(lab_state(l, b), SESSION_RUNNING);
    assert_int_equal(lab_state(l, a), SESSION_PENDING);
    ev.u.update.priority = 101;
    assert_int_equal(lab_step(l, &ev), VERDICT_BAD_VALUE);
    ev.u.update.priority = 5;
    assert_int_equal(lab_step(l, &ev), VERDICT_TOO_LATE); /* its time limit is its node's now */
    ev.u.update.session = 99;
    assert_int_equal(lab_step(l, &ev), VERDICT_NOT_FOUND);
    lab_free(l);
}

static struct event array(const char *name, uint32_t count, uint32_t limit)
{
    struct event ev = {.kind = EVENT_SUBMIT};
    ev.u.submit.session = lab_request(1, 1, 1, 0);
    bool fits = TEXT_SET(ev.u.submit.session.name, str_of(name));
    assert_true(fits);
    ev.u.submit.session.array_index = 10;
    ev.u.submit.session.array_limit = limit;
    ev.u.submit.array_count = count;
    ev.u.submit.array_step = 5;
    return ev;
}

static uint32_t at_work(const struct lab *l)
{
    uint32_t n = 0;
    VEC_EACH(s, &l->w->sessions) n += s->state > SESSION_PENDING && s->state < SESSION_ENDED;
    return n;
}

static void arrays(void **state)
{
    (void)state;
    struct lab *l = one_node();
    struct event ev = array("train", 6, 2);
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    uint64_t first = l->fx.session;
    assert_int_equal(lab_changes(l, CHANGE_SESSION), 6);
    assert_string_equal(world_session(l->w, first + 3)->name, "train-25");
    assert_int_equal(world_session(l->w, first + 3)->array_index, 25);
    assert_int_equal(at_work(l), 2); /* although eight would fit */
    assert_int_equal(waits(l, first + 2), WAIT_ARRAY);
    lab_restart(l);
    lab_settle(l);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(at_work(l), 6 - i < 2 ? 6 - i : 2);
        ends(l, first + i, 0);
        assert_int_equal(lab_outcome(l, first + i), OUTCOME_SUCCEEDED);
    }
    assert_int_equal(l->w->n_sessions, 0);
    lab_free(l);
}

static void arrays_are_judged(void **state)
{
    (void)state;
    struct lab *l = one_node();
    struct event ev = array("a", SESSION_ARRAY_MAX + 1, 0);
    assert_int_equal(lab_step(l, &ev), VERDICT_BAD_VALUE);
    assert_string_equal(l->fx.field, "array");
    ev = array("a", 3, 0);
    ev.u.submit.array_step = 0;
    assert_int_equal(lab_step(l, &ev), VERDICT_BAD_VALUE);
    ev.u.submit.array_step = INT32_MAX;
    assert_int_equal(lab_step(l, &ev), VERDICT_BAD_VALUE); /* the last index would not fit */
    struct session req = lab_request(1, 1, 1, 0);
    bool fits = TEXT_SET(req.name, STR("a-20"));
    assert_true(fits);
    lab_run(l, &req);
    ev = array("a", 3, 0); /* a-10, a-15, a-20: all or nothing */
    assert_int_equal(lab_step(l, &ev), VERDICT_NAME_TAKEN);
    assert_int_equal(l->w->n_sessions, 1);
    ev = array("b", SESSION_ARRAY_MAX, 0);
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    assert_int_equal(l->w->n_sessions, 1 + SESSION_ARRAY_MAX);
    lab_free(l);
}

static void a_service_is_never_preemptible(void **state)
{
    (void)state;
    struct lab *l = one_node();
    struct session req = lab_request(1, 1, 1, 0);
    req.kind = KIND_SERVICE;
    req.preemptible = true;
    assert_int_equal(lab_submit(l, &req), VERDICT_BAD_VALUE);
    assert_string_equal(l->fx.field, "preemptible");
    req.preemptible = false;
    struct event ev = update(lab_run(l, &req), UPDATE_PREEMPTIBLE);
    ev.u.update.preemptible = true;
    assert_int_equal(lab_step(l, &ev), VERDICT_BAD_VALUE);
    lab_free(l);
}

/* ---- restarts */

static void restarts_after_failures(void **state)
{
    (void)state;
    struct lab *l = one_node();
    struct session req = lab_request(1, 1, 1, 0);
    req.restart_max = 2;
    uint64_t id = lab_run(l, &req);
    for (uint32_t i = 1; i <= 2; i++) {
        ends(l, id, 3);
        assert_int_equal(lab_state(l, id), SESSION_PENDING);
        assert_int_equal(waits(l, id), WAIT_BACKOFF); /* 10 s, then 20 s */
        const struct session *s = world_session(l->w, id);
        assert_int_equal(s->restarts, i);
        assert_true(s->not_before_ms == l->now_ms + 10000 * (int64_t)i);
        lab_restart(l);
        lab_settle(l);
        assert_int_equal(lab_state(l, id), SESSION_PENDING);
        lab_report(l, 0);
        lab_tick(l, 10000 * (int64_t)i);
        lab_settle(l);
        assert_int_equal(lab_state(l, id), SESSION_RUNNING);
        assert_int_equal(world_session(l->w, id)->attempt, i + 1);
    }
    ends(l, id, 3); /* no more */
    assert_int_equal(lab_outcome(l, id), OUTCOME_FAILED);
    lab_free(l);
}

/* Success, a person's stop, and the time limit are no failures. */
static void what_is_no_failure(void **state)
{
    (void)state;
    struct lab *l = one_node();
    struct session req = lab_request(1, 1, 1, 0);
    req.restart_max = 5;
    req.time_limit_ms = 1000;
    uint64_t a = lab_run(l, &req), b = lab_run(l, &req), c = lab_run(l, &req);
    ends(l, a, 0);
    assert_int_equal(lab_outcome(l, a), OUTCOME_SUCCEEDED);
    lab_stop(l, b, -1);
    lab_settle(l);
    assert_int_equal(lab_outcome(l, b), OUTCOME_CANCELLED);
    lab_tick(l, 1000);
    lab_settle(l);
    assert_int_equal(lab_outcome(l, c), OUTCOME_TIMED_OUT);
    lab_free(l);
}

/* A stop while it ends ends it for good; QTA14: all that it held is given back once. */
static void stopped_between(void **state)
{
    (void)state;
    struct lab *l = one_node();
    struct session req = lab_request(2, 1, 1, 0);
    req.restart_max = 5;
    req.stop_on_member = true;
    uint64_t id = lab_run(l, &req);
    lab_settle(l);
    lab_exit(l, 0, id, 0, 1); /* the other member still runs */
    assert_int_equal(lab_state(l, id), SESSION_STOPPING);
    assert_true(world_session(l->w, id)->requeue);
    lab_stop(l, id, -1);
    lab_settle(l);
    assert_int_equal(lab_outcome(l, id), OUTCOME_CANCELLED);
    assert_int_equal(lab_rows(l), 0);
    lab_free(l);
}

static void sent_back(void **state)
{
    (void)state;
    struct lab *l = one_node();
    struct session req = lab_request(1, 1, 1, 0);
    uint64_t id = lab_run(l, &req);
    struct event ev = {.kind = EVENT_REQUEUE};
    ev.u.requeue = id;
    assert_int_equal(lab_state(l, id), SESSION_ALLOCATED);
    assert_int_equal(lab_step(l, &ev), VERDICT_OK); /* not running yet: at once, and again */
    lab_settle(l);
    assert_int_equal(lab_state(l, id), SESSION_RUNNING);
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    assert_int_equal(lab_state(l, id), SESSION_STOPPING);
    assert_int_equal(lab_step(l, &ev), VERDICT_TOO_LATE);
    lab_settle(l);
    assert_int_equal(lab_state(l, id), SESSION_RUNNING);
    assert_int_equal(world_session(l->w, id)->restarts, 1);
    ev.u.requeue = 77;
    assert_int_equal(lab_step(l, &ev), VERDICT_NOT_FOUND);
    lab_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dependencies),
        cmocka_unit_test(a_chain_falls),
        cmocka_unit_test(dependencies_are_judged),
        cmocka_unit_test(start_times),
        cmocka_unit_test(held_and_released),
        cmocka_unit_test(pri5_a_priority_is_a_persons),
        cmocka_unit_test(arrays),
        cmocka_unit_test(arrays_are_judged),
        cmocka_unit_test(a_service_is_never_preemptible),
        cmocka_unit_test(restarts_after_failures),
        cmocka_unit_test(what_is_no_failure),
        cmocka_unit_test(stopped_between),
        cmocka_unit_test(sent_back),
    };
    return RUN(tests);
}
