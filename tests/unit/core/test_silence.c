/* What silence permits: the decision by enumeration, then in a small cluster. */
#include "harness.h"
#include "core/model/silence.h"

#define FENCE INT64_C(600000)
#define RELEASE (FENCE + FENCE_MARGIN_MS)

/* Every combination, against the page's own words. */
static void every_decision(void **state)
{
    (void)state;
    static const int64_t SILENT[] = {0, 1, FENCE - 1, FENCE, RELEASE - 1, RELEASE, RELEASE + 1};
    uint32_t released = 0;
    for (uint32_t bits = 0; bits < 32; bits++) {
        for (size_t i = 0; i < ARRAY_LEN(SILENT); i++) {
            struct silence_facts f = {
                .opted_in = bits & 1, .unreachable = bits & 2, .many = bits & 4,
                .command = bits & 8, .confirmed = bits & 16, .silent_ms = SILENT[i],
                .fence_ms = bits & 1 ? FENCE : 0};
            enum silence_verdict v = silence_decide(&f);
            bool may = f.opted_in && f.unreachable && SILENT[i] >= RELEASE && !f.many &&
                       (!f.command || f.confirmed);
            assert_int_equal(v == SILENCE_RELEASE, may);
            assert_int_equal(v == SILENCE_KEEP, !f.opted_in);
            if (v == SILENCE_WAIT) assert_true(SILENT[i] < RELEASE);
            if (v == SILENCE_MANY) assert_true(f.many);
            if (v == SILENCE_COMMAND) assert_true(f.command && !f.confirmed);
            released += may;
        }
    }
    assert_int_equal(released, 2 * 3); /* two instants; no command, or it has succeeded */
}

/* By brute force: every window that begins with a silent node. */
static bool shared_naively(const struct silence_node *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t inside = 0, alive = 0;
        if (!v[i].silent) continue;
        for (uint32_t k = 0; k < n; k++) {
            int64_t later = v[k].heard_ms - v[i].heard_ms;
            alive += later >= 0;
            inside += v[k].silent && later >= 0 && later <= SILENCE_WINDOW_MS;
        }
        if (alive >= SILENCE_LEAST && 2 * inside >= alive) return true;
    }
    return false;
}

static void many_at_once(void **state)
{
    (void)state;
    static const int64_t AT[] = {0, 1, SILENCE_WINDOW_MS, SILENCE_WINDOW_MS + 1,
                                 3 * SILENCE_WINDOW_MS};
    enum { MOST = 5, KINDS = 2 * ARRAY_LEN(AT) };
    struct silence_node v[MOST], sorted[MOST];
    for (uint32_t n = 0; n <= MOST; n++) {
        uint32_t all = 1;
        for (uint32_t i = 0; i < n; i++) all *= KINDS;
        for (uint32_t at = 0; at < all; at++) {
            uint32_t rest = at;
            for (uint32_t i = 0; i < n; i++, rest /= KINDS)
                v[i] = (struct silence_node){AT[rest % KINDS / 2], rest & 1};
            memcpy(sorted, v, sizeof(v));
            if (silence_is_shared(sorted, n) != shared_naively(v, n)) fail_msg("%u: %u", n, at);
        }
    }
}

static const struct { const char *nodes; bool shared; } SHARES[] = {
    {"", false}, {"s", false}, {"ss", false}, /* of two nobody can tell */
    {"ssh", true}, {"shh", false}, {"sshh", true}, {"shhh", false}, {"sshhh", false},
    {"ossh", true},  /* one that is long dead does not count */
    {"oshh", false}, {"ooooshh", false}, /* nor four, one after the other */
};

static void some_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(SHARES); i++) {
        struct silence_node v[8];
        uint32_t n = 0;
        for (const char *p = SHARES[i].nodes; *p; p++)
            v[n++] = (struct silence_node){
                *p == 'o' ? n * INT64_C(100000) : *p == 's' ? 500000 : 900000, *p != 'h'};
        assert_int_equal(silence_is_shared(v, n), SHARES[i].shared);
    }
}

/* ---- in a cluster */

static struct session fenced_request(uint32_t members)
{
    struct session req = lab_request(members, 4, 1, 0);
    req.fence_ms = -1;
    return req;
}

/* All but the first go on beating, until the instant. */
static void pass_to(struct lab *l, int64_t at_ms, uint32_t silent)
{
    while (l->now_ms < at_ms) {
        l->now_ms = l->now_ms + 5000 < at_ms ? l->now_ms + 5000 : at_ms;
        for (uint32_t i = silent; i < l->n_nodes; i++) lab_report(l, i);
        lab_tick(l, 0);
    }
}

struct cut { struct lab *l; uint64_t id; int64_t heard_ms; };

/* Runs on n1, which falls silent; two more are there and go on. */
static struct cut cut_off(bool opted_in)
{
    struct cut c = {.l = lab_new(BLOCKED_STOP)};
    struct session req = fenced_request(1);
    if (!opted_in) req.fence_ms = 0;
    lab_join(c.l, "n1", 4, 8, 0);
    c.id = lab_run(c.l, &req);
    lab_settle(c.l);
    lab_join(c.l, "n2", 4, 8, 0);
    lab_join(c.l, "n3", 1, 8, 0);
    lab_report(c.l, 0);
    c.heard_ms = c.l->now_ms;
    return c;
}

static void released_at_its_instant(void **state)
{
    (void)state;
    struct cut c = cut_off(true);
    struct lab *l = c.l;
    assert_int_equal(lab_stored(l, c.id)->fence_ms, GROUP_FENCE_MS);
    pass_to(l, c.heard_ms + RELEASE - 1, 1);
    assert_int_equal(lab_state(l, c.id), SESSION_RUNNING);
    assert_int_equal(lab_stored(l, c.id)->attempt, 1);
    pass_to(l, c.heard_ms + RELEASE, 1);
    assert_int_equal(lab_state(l, c.id), SESSION_ALLOCATED); /* on n2, in the same step */
    assert_int_equal(lab_stored(l, c.id)->attempt, 2);
    assert_int_equal(lab_stored(l, c.id)->restarts, 1);
    assert_int_equal(lab_stored(l, c.id)->failed_starts, 0);
    assert_int_equal(lab_rows(l), 1);
    /* Back, it still has the old one: that is nobody's wish, and it is told so. */
    lab_report(l, 0);
    assert_int_equal(lab_rows(l), 1);
    struct member_want *want;
    uint32_t n;
    step_wants(l->w, world_node(l->w, 1), &want, &n);
    assert_int_equal(n, 0);
    mem_free(want);
    lab_free(l);
}

/* Nobody who did not ask for it is touched: not before it is given up, a day later. */
static void keep_is_kept(void **state)
{
    (void)state;
    struct cut c = cut_off(false);
    pass_to(c.l, c.heard_ms + NODE_LOST_MS - 1, 1);
    assert_int_equal(lab_state(c.l, c.id), SESSION_RUNNING);
    assert_int_equal(lab_stored(c.l, c.id)->attempt, 1);
    lab_expect_why(c.l, c.id, WHY_RUNNING,
                   "running on n1 (unreachable); node n1 is silent for 23 h 59 min: what runs "
                   "there goes on, and is held until the node is back or given up");
    lab_free(c.l);
}

static void back_before_that(void **state)
{
    (void)state;
    struct cut c = cut_off(true);
    pass_to(c.l, c.heard_ms + FENCE - 1000, 1);
    lab_report(c.l, 0); /* it was the manager that did not hear */
    pass_to(c.l, c.heard_ms + RELEASE + 10000, 1);
    assert_int_equal(lab_state(c.l, c.id), SESSION_RUNNING);
    assert_int_equal(lab_stored(c.l, c.id)->attempt, 1);
    lab_free(c.l);
}

/* Its own report that it ended for this says the same. */
static void the_node_tells_it_itself(void **state)
{
    (void)state;
    struct cut c = cut_off(true);
    pass_to(c.l, c.heard_ms + FENCE + 1000, 1);
    struct member_end end = {.exit_code = -1, .fenced = true};
    lab_set(c.l, 0, c.id, 0, MEMBER_EXITED, &end);
    lab_report(c.l, 0);
    assert_int_equal(lab_state(c.l, c.id), SESSION_ALLOCATED);
    assert_int_equal(lab_stored(c.l, c.id)->attempt, 2);
    assert_int_equal(lab_stored(c.l, c.id)->restarts, 1);
    lab_free(c.l);
}

static void a_new_manager_counts_from_its_start(void **state)
{
    (void)state;
    struct cut c = cut_off(true);
    struct lab *l = c.l;
    pass_to(l, c.heard_ms + RELEASE - 5000, 1);
    lab_restart(l);
    lab_tick(l, 1);
    int64_t began_ms = l->now_ms;
    pass_to(l, began_ms + RELEASE - 1, 1);
    assert_int_equal(lab_stored(l, c.id)->attempt, 1);
    pass_to(l, began_ms + RELEASE, 1);
    assert_int_equal(lab_stored(l, c.id)->attempt, 2);
    lab_free(l);
}

/* Two of three at once: it may be us.  Until they return, or somebody decides. */
static void many_are_held(void **state)
{
    (void)state;
    for (int accepted = 0; accepted < 2; accepted++) {
        struct cut c = cut_off(true);
        struct lab *l = c.l;
        lab_report(l, 1);
        pass_to(l, c.heard_ms + RELEASE + 3600000, 2);
        assert_int_equal(lab_stored(l, c.id)->attempt, 1);
        lab_expect_why(l, c.id, WHY_RUNNING,
                       "running on n1 (unreachable); node n1 is silent for 1 h 11 min: so many "
                       "nodes fell silent at once that it is held until they return or an "
                       "operator accepts it (rota admin silence accept)");
        if (accepted) {
            struct event ev = {.kind = EVENT_SILENCE_ACCEPT, .actor = 1};
            lab_step(l, &ev);
            assert_int_equal(l->fx.accepted, 2);
            assert_int_equal(lab_change(l, CHANGE_HISTORY)->u.history.what,
                             HISTORY_SILENCE_ACCEPTED);
            assert_true(world_node(l->w, 1)->silence_accepted);
            lab_tick(l, 1);
            assert_int_equal(lab_state(l, c.id), SESSION_PENDING); /* n2 is silent, too */
            lab_report(l, 1);
            assert_false(world_node(l->w, 2)->silence_accepted);
        } else {
            lab_report(l, 1); /* one of them is back: it was not us */
            lab_tick(l, SILENCE_AGAIN_MS);
        }
        assert_int_equal(lab_stored(l, c.id)->attempt, 2);
        lab_free(l);
    }
}

static void the_command_must_succeed(void **state)
{
    (void)state;
    struct cut c = cut_off(true);
    struct lab *l = c.l;
    l->w->fence_command = true;
    pass_to(l, c.heard_ms + RELEASE - 1, 1);
    assert_false(world_node(l->w, 1)->fence_asked);
    pass_to(l, c.heard_ms + RELEASE, 1);
    assert_true(world_node(l->w, 1)->fence_asked);
    pass_to(l, c.heard_ms + RELEASE + 60000, 1);
    assert_int_equal(lab_stored(l, c.id)->attempt, 1);
    struct event ev = {.kind = EVENT_NODE_FENCED};
    ev.u.fenced = (struct event_fenced){1, c.heard_ms - 1}; /* of another silence */
    assert_int_equal(lab_step(l, &ev), VERDICT_STALE);
    ev.u.fenced.node = 77;
    assert_int_equal(lab_step(l, &ev), VERDICT_NOT_FOUND);
    ev.u.fenced = (struct event_fenced){1, world_node(l->w, 1)->heard_ms};
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    lab_tick(l, 1);
    assert_int_equal(lab_stored(l, c.id)->attempt, 2);
    lab_report(l, 0);
    assert_false(world_node(l->w, 1)->fence_confirmed); /* it counted for that silence alone */
    lab_free(l);
}

/* A gang: the part on the silent node is released, the rest is stopped and proved. */
static void a_gang_is_one(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    struct session pair = fenced_request(2);
    lab_join(l, "n1", 4, 8, 0);
    lab_join(l, "n2", 4, 8, 0);
    uint64_t id = lab_run(l, &pair);
    lab_settle(l);
    int64_t heard_ms = l->now_ms;
    pass_to(l, heard_ms + RELEASE, 1);
    assert_int_equal(lab_state(l, id), SESSION_STOPPING);
    assert_int_equal(lab_rows(l), 1);
    assert_int_equal(lab_want(l, 1, id, 1), WANT_STOP);
    lab_expect_why(l, id, WHY_STOPPING, "stopping on n2");
    lab_exit(l, 1, id, 1, 143);
    assert_int_equal(lab_state(l, id), SESSION_PENDING);
    assert_int_equal(lab_rows(l), 0);
    lab_free(l);
}

/* Stopped by its owner while its node is silent: it ends, and does not wait again. */
static void stopped_meanwhile(void **state)
{
    (void)state;
    struct cut c = cut_off(true);
    pass_to(c.l, c.heard_ms + 60000, 1);
    lab_stop(c.l, c.id, -1);
    assert_int_equal(lab_state(c.l, c.id), SESSION_STOPPING);
    pass_to(c.l, c.heard_ms + RELEASE, 1);
    assert_int_equal(lab_outcome(c.l, c.id), OUTCOME_CANCELLED);
    assert_int_equal(lab_rows(c.l), 0);
    lab_free(c.l);
}

/* An attempt that was given up for another reason: its rows are released, too. */
static void revoked_rows_as_well(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    struct session req = fenced_request(1);
    lab_join(l, "n1", 4, 8, 0);
    uint64_t id = lab_run(l, &req);
    int64_t heard_ms = l->now_ms;
    pass_to(l, heard_ms + 60000, 1);
    assert_int_equal(lab_state(l, id), SESSION_PENDING);
    assert_int_equal(lab_rows(l), 1);
    pass_to(l, heard_ms + RELEASE, 1);
    assert_int_equal(lab_rows(l), 0);
    assert_int_equal(lab_stored(l, id)->restarts, 0);
    lab_free(l);
}

/* AGT5: told to run, then cut off before it said that it does: it may run there, so it does not
 * run elsewhere before that is sure, whether it asked for a fence or not. */
static void agt5_an_order_that_may_be_obeyed(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        struct lab *l = lab_new(BLOCKED_STOP);
        struct session req = fenced_request(1);
        if (!asked) req.fence_ms = 0;
        lab_join(l, "n1", 4, 8, 0);
        uint64_t id = lab_run(l, &req);
        int64_t heard_ms = l->now_ms;
        lab_join(l, "n2", 4, 8, 0); /* room elsewhere */
        pass_to(l, heard_ms + 60000, 1);
        assert_int_equal(lab_state(l, id), SESSION_PENDING);
        assert_true(lab_stored(l, id)->unproved);
        lab_expect_why(l, id, WHY_WAITING,
                       asked ? "attempt 1 may still run on n1, which is cut off: that ends by "
                               "itself, and is sure in 10 min; place 1 of 1 in the queue"
                             : "attempt 1 may still run on n1, which is cut off; place 1 of 1 in "
                               "the queue");
        lab_restart(l);
        lab_tick(l, 1);
        assert_int_equal(lab_state(l, id), SESSION_PENDING);
        if (asked) {
            pass_to(l, l->now_ms + RELEASE, 1);
        } else {
            pass_to(l, heard_ms + RELEASE, 1);
            assert_int_equal(lab_state(l, id), SESSION_PENDING);
            lab_report(l, 0); /* nothing of it there */
        }
        assert_int_equal(lab_stored(l, id)->attempt, 2);
        assert_false(lab_stored(l, id)->unproved);
        lab_free(l);
    }
}

/* A gang of two, one on the node and one on the next: it has just passed its barrier. */
static void start_on(struct lab *l, uint64_t id, uint32_t node)
{
    for (uint32_t round = 0; lab_state(l, id) != SESSION_STARTING; round++) {
        if (round == 10) fail_msg("it does not start");
        lab_act(l, node);
        lab_act(l, node + 1);
    }
}

/* One of a gang that passed its barrier fails before it runs, on n2.  The other one runs on n1,
 * which is heard at that moment and is not again: nobody has told it to end.  The simulation
 * found that the next attempt began meanwhile (seed 856). */
static void agt5_heard_but_not_told_yet(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    struct session req = lab_request(2, 4, 1, 0);
    lab_join(l, "n1", 4, 8, 0);
    lab_join(l, "n2", 4, 8, 0);
    uint64_t id = lab_run(l, &req);
    start_on(l, id, 0);
    lab_join(l, "n3", 4, 8, 0); /* room for another attempt beside n1 */
    lab_say(l, 0, id, 0, MEMBER_RUNNING);
    lab_set(l, 1, id, 1, MEMBER_FAILED, &(struct member_end){.exit_code = -1});
    lab_report(l, 1);
    assert_int_equal(lab_state(l, id), SESSION_PENDING);
    assert_true(lab_stored(l, id)->unproved);
    int64_t retry_ms = lab_stored(l, id)->not_before_ms;
    assert_true(retry_ms < l->now_ms + NODE_UNREACHABLE_MS);
    lab_forget(l, 1, id);
    pass_to(l, retry_ms, 1);
    lab_expect_why(l, id, WHY_WAITING,
                   "attempt 1 may still run on n1, which is told to end it; place 1 of 1 in the "
                   "queue");
    pass_to(l, retry_ms + RELEASE, 1);
    assert_int_equal(lab_stored(l, id)->attempt, 1);
    lab_expect_why(l, id, WHY_WAITING, "attempt 1 may still run on n1, which is cut off; place 1 "
                                       "of 1 in the queue");
    lab_report(l, 0); /* back, and it still runs there */
    assert_int_equal(lab_stored(l, id)->attempt, 1);
    lab_forget(l, 0, id);
    lab_report(l, 0);
    assert_int_equal(lab_state(l, id), SESSION_ALLOCATED);
    assert_int_equal(lab_stored(l, id)->attempt, 2);
    lab_free(l);
}

/* Sent back to the queue while both of its members may begin; n3 and n4 have room. */
static uint64_t sent_back(struct lab *l)
{
    struct session req = lab_request(2, 4, 1, 0);
    lab_join(l, "n1", 4, 8, 0);
    lab_join(l, "n2", 4, 8, 0);
    uint64_t id = lab_run(l, &req);
    start_on(l, id, 0);
    lab_join(l, "n3", 4, 8, 0);
    lab_join(l, "n4", 4, 8, 0);
    struct event ev = {.kind = EVENT_REQUEUE, .actor = 1, .u.requeue = id};
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    assert_true(lab_stored(l, id)->unproved);
    return id;
}

/* Giving up one of its nodes says nothing about the other. */
static void one_given_up_is_not_both(void **state)
{
    (void)state;
    for (int forgotten = 0; forgotten < 2; forgotten++) {
        struct lab *l = lab_new(BLOCKED_STOP);
        uint64_t id = sent_back(l);
        int64_t heard_ms = world_node(l->w, 1)->heard_ms;
        if (forgotten) {
            struct event ev = {.kind = EVENT_NODE_FORGET, .actor = 1};
            ev.u.forget = (struct event_forget){1, true};
            assert_int_equal(lab_step(l, &ev), VERDICT_OK);
        } else {
            pass_to(l, heard_ms + NODE_LOST_MS, 1);
        }
        assert_true(lab_stored(l, id)->unproved);
        assert_int_equal(lab_stored(l, id)->attempt, 1);
        lab_forget(l, 1, id);
        lab_report(l, 1);
        assert_false(lab_stored(l, id)->unproved);
        assert_int_equal(lab_stored(l, id)->attempt, 2);
        lab_free(l);
    }
}

/* The other way round: the last that is waited for is given up. */
static void the_last_is_given_up(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    uint64_t id = sent_back(l);
    int64_t heard_ms = world_node(l->w, 1)->heard_ms;
    lab_forget(l, 1, id);
    lab_report(l, 1);
    pass_to(l, heard_ms + NODE_LOST_MS - 1, 1);
    assert_int_equal(lab_stored(l, id)->attempt, 1);
    pass_to(l, heard_ms + NODE_LOST_MS, 1);
    assert_int_equal(lab_stored(l, id)->attempt, 2);
    lab_free(l);
}

/* A row of an attempt that never passed its barrier stays on a silent node: nothing runs there. */
static void what_never_began_is_not_waited_for(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    struct session req = lab_request(2, 4, 1, 0);
    lab_join(l, "n1", 4, 8, 0);
    lab_join(l, "n2", 4, 8, 0);
    uint64_t id = lab_run(l, &req);
    lab_join(l, "n3", 4, 8, 0);
    lab_join(l, "n4", 4, 8, 0);
    lab_act(l, 1); /* held at the barrier there; n1 says nothing any more */
    assert_int_equal(lab_state(l, id), SESSION_ALLOCATED);
    pass_to(l, lab_stored(l, id)->deadline_ms - 1, 1);
    lab_tick(l, 1);
    assert_int_equal(lab_stored(l, id)->attempt, 2);
    start_on(l, id, 2);
    struct event ev = {.kind = EVENT_REQUEUE, .actor = 1, .u.requeue = id};
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    for (uint32_t node = 2; node < 4; node++) {
        assert_true(lab_stored(l, id)->unproved);
        lab_forget(l, node, id);
        lab_report(l, node);
    }
    assert_int_equal(lab_stored(l, id)->attempt, 3);
    lab_free(l);
}

static void only_batch_may_ask(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 4, 8, 0);
    struct session req = fenced_request(1);
    req.kind = KIND_INTERACTIVE;
    assert_int_equal(lab_submit(l, &req), VERDICT_BAD_VALUE);
    assert_string_equal(l->fx.field, "on_disconnect");
    assert_string_equal(l->fx.text, "on_disconnect: only a batch session may be ended and run "
                                    "again when its node is cut off, this is an interactive one");
    req.kind = KIND_SERVICE;
    assert_int_equal(lab_submit(l, &req), VERDICT_BAD_VALUE);
    lab_free(l);
}

static void it_is_said(void **state)
{
    (void)state;
    struct cut c = cut_off(true);
    pass_to(c.l, c.heard_ms + 120000, 1);
    lab_expect_why(c.l, c.id, WHY_RUNNING,
                   "running on n1 (unreachable); node n1 is silent for 2 min: its containers end "
                   "by themselves in 8 min, it waits again in 9 min");
    pass_to(c.l, c.heard_ms + FENCE + 30000, 1);
    lab_expect_why(c.l, c.id, WHY_RUNNING,
                   "running on n1 (unreachable); node n1 is silent for 10 min 30 s: its "
                   "containers have ended by themselves, it waits again in 30 s");
    lab_free(c.l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_decision),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(some_cases),
        cmocka_unit_test(released_at_its_instant),
        cmocka_unit_test(keep_is_kept),
        cmocka_unit_test(back_before_that),
        cmocka_unit_test(the_node_tells_it_itself),
        cmocka_unit_test(a_new_manager_counts_from_its_start),
        cmocka_unit_test(many_are_held),
        cmocka_unit_test(the_command_must_succeed),
        cmocka_unit_test(a_gang_is_one),
        cmocka_unit_test(stopped_meanwhile),
        cmocka_unit_test(revoked_rows_as_well),
        cmocka_unit_test(agt5_an_order_that_may_be_obeyed),
        cmocka_unit_test(agt5_heard_but_not_told_yet),
        cmocka_unit_test(one_given_up_is_not_both),
        cmocka_unit_test(the_last_is_given_up),
        cmocka_unit_test(what_never_began_is_not_waited_for),
        cmocka_unit_test(only_batch_may_ask),
        cmocka_unit_test(it_is_said),
    };
    return RUN(tests);
}
