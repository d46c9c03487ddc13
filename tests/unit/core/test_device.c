/* Devices go bad, go missing and come back, under sessions and beside them. */
#include "harness.h"

struct rig {
    struct lab *l;
    uint32_t node;
    struct event ev; /* what the node says of itself */
    uint64_t a, b;   /* on GPU 0 and GPU 1 */
};

static void rejoin(struct rig *g) { assert_int_equal(lab_step(g->l, &g->ev), VERDICT_OK); }

static void begin(struct rig *g, enum on_device_fault policy)
{
    *g = (struct rig){.l = lab_new(BLOCKED_STOP)};
    g->node = lab_join(g->l, "n1", 8, 8, 3);
    g->ev = (struct event){.kind = EVENT_NODE_JOIN};
    g->ev.u.join.node = *world_node(g->l->w, 1);
    for (uint32_t i = 0; i < 3; i++) {
        struct device *d = &g->ev.u.join.node.devices[i];
        text_fmt(d->uuid, sizeof(d->uuid), "GPU-%u", i);
    }
    rejoin(g);
    struct session one = lab_request(1, 1, 1, 1);
    one.on_device_fault = policy;
    g->a = lab_run(g->l, &one);
    g->b = lab_run(g->l, &one);
    lab_settle(g->l);
    assert_int_equal(lab_state(g->l, g->a), SESSION_RUNNING);
    assert_int_equal(lab_state(g->l, g->b), SESSION_RUNNING);
}

static struct device *device(struct rig *g, uint32_t i) { return &g->ev.u.join.node.devices[i]; }

static void turns(struct rig *g, uint32_t i, enum device_health health, const char *why)
{
    device(g, i)->health = health;
    TEXT_CLIP(device(g, i)->why, str_of(why));
    rejoin(g);
}

static bool told(const struct rig *g, uint64_t session, const char *text)
{
    VEC_EACH(c, &g->l->fx.changes) {
        bool its = c->kind == CHANGE_HISTORY && c->u.history.session == session;
        if (its && c->u.history.what == HISTORY_DEVICE && strstr(c->u.history.text, text))
            return true;
    }
    return false;
}

/* GPU14, GPU7: its session is told and goes on; the other two devices stay in use. */
static void kept_on_a_bad_device(void **state)
{
    (void)state;
    struct rig g;
    begin(&g, DEVICE_FAULT_KEEP);
    turns(&g, 0, DEVICE_QUARANTINED, "Xid 79");
    assert_true(told(&g, g.a, "GPU 0 of n1 is quarantined: Xid 79"));
    assert_true(told(&g, 0, "is quarantined"));
    assert_false(told(&g, g.b, ""));
    assert_int_equal(lab_state(g.l, g.a), SESSION_RUNNING);
    struct session one = lab_request(1, 1, 1, 1);
    uint64_t c = lab_run(g.l, &one);
    lab_settle(g.l);
    assert_int_equal(lab_state(g.l, c), SESSION_RUNNING); /* on GPU 2 */
    lab_exit(g.l, g.node, g.a, 0, 0);
    assert_int_equal(node_free_devices(world_node(g.l->w, 1)), 0); /* free and bad: not given */
    turns(&g, 0, DEVICE_HEALTHY, "");
    assert_true(told(&g, 0, "healthy again"));
    assert_int_equal(node_free_devices(world_node(g.l->w, 1)), 1);
    lab_free(g.l);
}

static void requeued_from_a_bad_device(void **state)
{
    (void)state;
    struct rig g;
    begin(&g, DEVICE_FAULT_REQUEUE);
    turns(&g, 0, DEVICE_QUARANTINED, "uncorrected memory errors");
    assert_int_equal(lab_state(g.l, g.a), SESSION_STOPPING);
    lab_settle(g.l);
    assert_int_equal(lab_state(g.l, g.a), SESSION_RUNNING); /* again, elsewhere */
    assert_int_equal(world_session(g.l->w, g.a)->restarts, 1);
    assert_int_equal(world_session(g.l->w, g.b)->restarts, 0);
    const struct alloc *row = world_allocs_of_session(g.l->w, world_session(g.l->w, g.a));
    assert_int_equal(row->devices, 4);
    lab_free(g.l);
}

/* AGT10, GPU8: who held what is gone fails, and nobody else; every index stays. */
static void gone_under_a_session(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++) {
        struct rig g;
        begin(&g, DEVICE_FAULT_KEEP);
        if (way == 0) device(&g, 1)->health = DEVICE_GONE;
        else TEXT_CLIP(device(&g, 1)->uuid, STR("GPU-another"));
        rejoin(&g);
        assert_true(told(&g, g.b, "GPU 1 of n1 is gone"));
        assert_int_equal(lab_state(g.l, g.b), SESSION_STOPPING);
        assert_int_equal(lab_state(g.l, g.a), SESSION_RUNNING);
        lab_settle(g.l);
        assert_int_equal(lab_outcome(g.l, g.b), OUTCOME_FAILED);
        assert_int_equal(lab_state(g.l, g.a), SESSION_RUNNING);
        lab_restart(g.l);
        rejoin(&g); /* said again, it is no news */
        assert_int_equal(lab_state(g.l, g.a), SESSION_RUNNING);
        lab_free(g.l);
    }
}

/* AGT14: an agent that lists less than it knew has not looked yet. */
static void not_listed_is_not_gone(void **state)
{
    (void)state;
    struct rig g;
    begin(&g, DEVICE_FAULT_REQUEUE);
    g.ev.u.join.node.n_devices = 0;
    rejoin(&g);
    assert_int_equal(lab_state(g.l, g.a), SESSION_RUNNING);
    assert_int_equal(lab_state(g.l, g.b), SESSION_RUNNING);
    lab_free(g.l);
}

/* GPU10: what cannot be read holds everything, and gives nothing. */
static void unreadable_holds(void **state)
{
    (void)state;
    struct rig g;
    begin(&g, DEVICE_FAULT_REQUEUE);
    for (uint32_t i = 0; i < 3; i++) device(&g, i)->health = DEVICE_UNREADABLE;
    rejoin(&g);
    assert_int_equal(lab_state(g.l, g.a), SESSION_RUNNING);
    assert_int_equal(lab_state(g.l, g.b), SESSION_RUNNING);
    assert_int_equal(lab_changes(g.l, CHANGE_HISTORY), 0);
    assert_int_equal(node_free_devices(world_node(g.l->w, 1)), 0);
    turns(&g, 0, DEVICE_QUARANTINED, "Xid 79"); /* it was that, then */
    assert_int_equal(lab_state(g.l, g.a), SESSION_STOPPING);
    lab_free(g.l);
}

static void xid(struct rig *g, uint32_t i, uint64_t session, bool kill)
{
    struct device *d = device(g, i);
    d->xid_no++;
    g->ev.u.join.errors[i] = (struct device_error){kill ? 94 : 13, session, kill};
    rejoin(g);
}

static void an_error_is_charged(void **state)
{
    (void)state;
    struct rig g;
    begin(&g, DEVICE_FAULT_KEEP);
    xid(&g, 0, g.a, false);
    assert_true(told(&g, g.a, "GPU 0 of n1 had Xid 13"));
    assert_int_equal(lab_state(g.l, g.a), SESSION_RUNNING);
    rejoin(&g);
    assert_int_equal(lab_changes(g.l, CHANGE_HISTORY), 0); /* once */
    xid(&g, 0, g.b + 100, true); /* of somebody who has left meanwhile */
    assert_int_equal(lab_state(g.l, g.a), SESSION_RUNNING);
    xid(&g, 1, g.b, true);
    assert_int_equal(lab_state(g.l, g.b), SESSION_STOPPING);
    lab_settle(g.l);
    assert_int_equal(lab_outcome(g.l, g.b), OUTCOME_FAILED);
    assert_int_equal(lab_state(g.l, g.a), SESSION_RUNNING);
    lab_free(g.l);
}

static enum verdict order(struct rig *g, uint32_t node, uint32_t index, enum device_order what)
{
    struct event ev = {.kind = EVENT_DEVICE, .actor = 1};
    ev.u.device = (struct event_device){.node = node, .index = index, .order = what,
                                        .why = "fan is loud"};
    return lab_step(g->l, &ev);
}

static void orders_are_kept_until_done(void **state)
{
    (void)state;
    struct rig g;
    begin(&g, DEVICE_FAULT_KEEP);
    assert_int_equal(order(&g, 9, 0, DEVICE_ORDER_RETURN), VERDICT_NOT_FOUND);
    assert_int_equal(order(&g, 1, 3, DEVICE_ORDER_RETURN), VERDICT_NOT_FOUND);
    assert_int_equal(order(&g, 1, 0, DEVICE_ORDER_NONE), VERDICT_BAD_VALUE);
    for (uint32_t i = 0; i < NODE_ORDERS_MAX; i++) {
        assert_int_equal(order(&g, 1, i % 3, DEVICE_ORDER_QUARANTINE), VERDICT_OK);
        assert_int_equal(g.l->fx.nodes.n, 1); /* it hears of it now */
    }
    assert_int_equal(order(&g, 1, 0, DEVICE_ORDER_RETURN), VERDICT_FULL);
    lab_restart(g.l);
    const struct node *n = world_node(g.l->w, 1);
    assert_int_equal(n->n_orders, NODE_ORDERS_MAX);
    assert_string_equal(n->orders[1].uuid, "GPU-1");
    g.ev.u.join.orders_done = 2;
    rejoin(&g);
    n = world_node(g.l->w, 1);
    assert_int_equal(n->n_orders, NODE_ORDERS_MAX - 2);
    assert_int_equal(n->orders[0].no, 3);
    g.ev.u.join.orders_done = 40; /* it has heard more from a manager whose store is lost */
    rejoin(&g);
    assert_int_equal(order(&g, 1, 0, DEVICE_ORDER_RETURN), VERDICT_OK);
    assert_int_equal(world_node(g.l->w, 1)->orders[0].no, 41);
    lab_free(g.l);
}

/* Who waits hears which are out, and why; who holds one hears of it as long as it is so. */
static void reasons_name_what_is_out(void **state)
{
    (void)state;
    struct rig g;
    begin(&g, DEVICE_FAULT_KEEP);
    struct session one = lab_request(1, 1, 1, 1), cpu = lab_request(1, 8, 1, 0);
    turns(&g, 0, DEVICE_QUARANTINED, "Xid 79");
    lab_expect_why(g.l, g.a, WHY_RUNNING, "running on n1; its GPU 0 of n1 is quarantined: Xid 79");
    lab_expect_why(g.l, g.b, WHY_RUNNING, "running on n1");
    turns(&g, 2, DEVICE_QUARANTINED, "Xid 79");
    uint64_t no_gpu = lab_run(g.l, &cpu);
    lab_expect_why(g.l, no_gpu, WHY_NO_CAPACITY,
                   "needs 2 more CPU: n1 has 6 of 8 free, 8 asked (1 node: 1 busy); place 1 of 1 "
                   "in the queue");
    lab_stop(g.l, no_gpu, 0);
    uint64_t waits = lab_run(g.l, &one);
    lab_expect_why(g.l, waits, WHY_NO_CAPACITY,
                   "needs 1 more GPU: n1 has 0 of 3 free, 1 asked (1 node: 1 busy); 2 of 3 GPUs of "
                   "n1 are quarantined: Xid 79; place 1 of 1 in the queue");
    turns(&g, 2, DEVICE_SUSPECT, "Xid 9");
    turns(&g, 1, DEVICE_UNREADABLE, "");
    lab_expect_why(g.l, waits, WHY_NO_CAPACITY,
                   "needs 1 more GPU: n1 has 0 of 3 free, 1 asked (1 node: 1 busy); 1 of 3 GPUs of "
                   "n1 is quarantined: Xid 79; 1 of 3 GPUs of n1 is unreadable; 1 of 3 GPUs of n1 "
                   "is suspect: Xid 9; place 1 of 1 in the queue");
    lab_free(g.l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_on_a_bad_device),
        cmocka_unit_test(requeued_from_a_bad_device),
        cmocka_unit_test(gone_under_a_session),
        cmocka_unit_test(not_listed_is_not_gone),
        cmocka_unit_test(unreadable_holds),
        cmocka_unit_test(an_error_is_charged),
        cmocka_unit_test(orders_are_kept_until_done),
        cmocka_unit_test(reasons_name_what_is_out),
    };
    return RUN(tests);
}
