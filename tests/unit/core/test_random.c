/* Random worlds: after every step the audit, sometimes a restart, at the end rest.
 *
 * The harness audits each step and compares the reloaded world with the old one;
 * here the events are drawn, and what only a whole history can show is checked. */
#include "harness.h"

#include "base/rng.h"
#include "core/sched/leaving.h"
#include "core/sched/place.h"
#include "core/sched/reserve.h"
#include "core/sched/vacate.h"

#define SEEDS 2000
#define EVENTS 200

static void random_submit(struct lab *l, struct rng *r)
{
    struct session s = lab_request(1 + (uint32_t)rng_below(r, 3), 1 + (int64_t)rng_below(r, 3), 1,
                                   (int64_t)rng_below(r, 4) / 2);
    s.priority = (int32_t)rng_below(r, 3) * 10;
    s.user = 1 + (uint32_t)rng_below(r, 2);
    s.one_node = rng_below(r, 4) == 0;
    s.preemptible = rng_below(r, 3) != 0;
    s.stop_on_member = rng_below(r, 4) != 0;
    s.grace_ms = (int64_t)rng_below(r, 2) * 30000;
    if (rng_below(r, 4) == 0) s.time_limit_ms = 20000;
    if (rng_below(r, 4) == 0) s.pending_timeout_ms = 15000;
    if (rng_below(r, 5) == 0) memcpy(s.name, "same", 5);
    if (rng_below(r, 2)) s.strategy = (enum place_strategy)rng_below(r, PLACE_STRATEGIES);
    if (rng_below(r, 6) == 0)
        text_fmt(s.where.labels, sizeof(s.where.labels), "rack=%d", (int)rng_below(r, 2));
    if (rng_below(r, 6) == 0) s.where.node = 1 + (uint32_t)rng_below(r, l->n_nodes);
    s.where.node_preferred = rng_below(r, 2) == 0;
    struct event ev = {.kind = EVENT_SUBMIT, .u.submit = {s, rng_below(r, 8) == 0}};
    lab_step(l, &ev);
}

/* Nothing that is set lasts: also sessions that are reserved, or leave, see it change. */
static void random_policy(struct lab *l, struct rng *r)
{
    struct event ev = {.kind = EVENT_GROUP_PUT, .u.group = l->w->groups.v[0]};
    ev.u.group.preempt = (struct preempt_policy){
        .enabled = rng_below(r, 4) != 0,
        .mode = (enum preempt_mode)(1 + rng_below(r, PREEMPT_MODES - 1)),
        .scope = (enum preempt_scope)(1 + rng_below(r, PREEMPT_SCOPES - 1)),
        .order = (enum preempt_order)(1 + rng_below(r, PREEMPT_ORDERS - 1)),
        .min_runtime_ms = (int64_t)rng_below(r, 3) * 3000};
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
}

static uint64_t some_session(const struct lab *l, struct rng *r)
{
    return l->w->last_session > 0 ? 1 + rng_below(r, l->w->last_session + 1) : 1;
}

/* Something happens on the node by itself: progress, an end, a loss. */
static void random_fate(struct lab_node *n, struct rng *r)
{
    if (n->list.n == 0) return;
    uint32_t at = (uint32_t)rng_below(r, n->list.n);
    struct member_report *m = &n->list.v[at];
    switch (rng_below(r, 5)) {
    case 0:
        if (m->phase == MEMBER_EXITED || m->phase == MEMBER_FAILED) return;
        m->end = (struct member_end){.exit_code = (int32_t)rng_below(r, 3) - 1};
        m->phase = m->phase < MEMBER_STARTING ? MEMBER_FAILED : MEMBER_EXITED;
        m->end.fatal = m->phase == MEMBER_FAILED && rng_below(r, 5) == 0;
        return;
    case 1: VEC_REMOVE(&n->list, at); return; /* deleted behind the agent's back */
    default:
        if (m->phase < MEMBER_READY) m->phase = (enum member_phase)(m->phase + 1);
    }
}

static uint32_t usable_node(const struct lab *l, struct rng *r)
{
    uint32_t at = (uint32_t)rng_below(r, l->n_nodes);
    for (uint32_t i = 0; i < l->n_nodes; i++) {
        uint32_t k = (at + i) % l->n_nodes;
        if (world_node(l->w, l->nodes[k].id)) return k;
    }
    return LAB_NODES;
}

static void random_node_event(struct lab *l, struct rng *r)
{
    uint32_t k = usable_node(l, r);
    if (k == LAB_NODES) return;
    struct lab_node *n = &l->nodes[k];
    switch (rng_below(r, 24)) {
    case 0:
        lab_step(l, &(struct event){.kind = EVENT_NODE_CORDON,
                                    .u.cordon = {n->id, rng_below(r, 2) == 0}});
        return;
    case 1: lab_rejoin(l, k, world_node(l->w, n->id)->n_devices, "boot-1"); return;
    case 2: /* rebooted: all its containers are gone, and it says so once it has acted */
        VEC_CLEAR(&n->list);
        lab_rejoin(l, k, world_node(l->w, n->id)->n_devices, "boot-2");
        return;
    case 3:
        if (rng_below(r, 8) == 0) {
            lab_step(l, &(struct event){.kind = EVENT_NODE_FORGET, .u.forget = {n->id, true}});
            VEC_CLEAR(&n->list);
        }
        return;
    case 4: case 5: case 6:
        random_fate(n, r);
        lab_report(l, k);
        return;
    case 7: case 8: lab_report_at(l, k, n->turn); return; /* late: acted on nothing new */
    case 9: n->seq--; (void)lab_report_at(l, k, n->turn); return; /* doubled: stale */
    default: lab_act(l, k);
    }
}

static void random_event(struct lab *l, struct rng *r)
{
    switch (rng_below(r, 12)) {
    case 0: case 1: case 2: random_submit(l, r); return;
    case 3: lab_stop(l, some_session(l, r), (int64_t)rng_below(r, 3) * 5000 - 1); return;
    case 4:
        lab_step(l, &(struct event){.kind = EVENT_SIGNAL,
                                    .u.signal = {some_session(l, r), (int32_t)rng_below(r, 66)}});
        return;
    case 5: lab_tick(l, (int64_t)rng_below(r, rng_below(r, 100) ? 4000 : 2 * NODE_LOST_MS)); return;
    case 6:
        if (rng_below(r, 3) == 0) lab_restart(l);
        else if (rng_below(r, 3) == 0) random_policy(l, r);
        return;
    default: random_node_event(l, r);
    }
}

/* An operator who opens what is quarantined. */
static void open_again(struct lab *l)
{
    for (uint32_t k = 0; k < l->n_nodes; k++) {
        const struct node *n = world_node(l->w, l->nodes[k].id);
        struct event ev = {.kind = EVENT_NODE_CORDON, .u.cordon = {l->nodes[k].id, false}};
        if (n && n->quarantined) lab_step(l, &ev);
    }
}

/* Nothing holds more than there is: no join of this test shrinks a node. */
static void check_capacity(const struct lab *l)
{
    VEC_EACH(n, &l->w->nodes) {
        if (n->name[0] != '\0' && !slots_fit(&n->used, &n->capacity)) fail_msg("over capacity");
    }
    VEC_EACH(a, &l->w->allocs) { /* and everybody is where it wants to be */
        const struct session *s = a->live ? world_session(l->w, a->ref.session) : NULL;
        if (!s || a->revoked) continue;
        const struct constraint *c = &s->where;
        const char *labels = l->w->nodes.v[a->node - 1].labels;
        if (c->labels[0] && strcmp(c->labels, labels) != 0) fail_msg("on another rack");
        if (c->node && !c->node_preferred && c->node != a->node) fail_msg("on another node");
    }
}

/* What is promised can come true: once all who leave have left, it is there. */
static void check_promises(const struct lab *l, uint32_t *ret_reserved)
{
    struct world *w = l->w;
    if (!w->started) return; /* what was promised is derived in the first step */
    VEC_EACH(n, &w->nodes) {
        struct slots sum = {{0}};
        uint32_t devices = 0;
        VEC_EACH(s, &w->sessions) {
            const struct vacate *v = s->id != 0 ? vacate_of(w, s->id) : NULL;
            assert_int_equal(v != NULL, s->id != 0 && s->state == SESSION_RESERVED);
            for (uint32_t m = 0; v && m < v->picks.n; m++) {
                if (v->picks.v[m].node != n->id) continue;
                assert_true(slots_add(&sum, &session_role_of(s, m)->slots, &sum));
                assert_int_equal(devices & v->picks.v[m].devices, 0);
                devices |= v->picks.v[m].devices;
                (*ret_reserved)++;
            }
        }
        assert_memory_equal(&sum, &n->kept, sizeof(sum));
        assert_int_equal(devices, n->kept_devices);
        for (struct alloc *a = world_allocs_of_node(w, n); a; a = world_next_of_node(w, a)) {
            if (leaving_row(w, a)) continue;
            assert_int_equal(devices & a->devices, 0);
            assert_true(slots_add(&sum, &a->slots, &sum));
        }
        if (!slots_zero(&n->kept) && !slots_fit(&sum, &n->capacity)) fail_msg("promised twice");
    }
}

struct eviction { uint64_t victim, by; };
struct evictions { VEC(struct eviction) v; };

/* Whoever is made to go goes for somebody who has its room promised, and never did that to
 * the other: no two make each other go in turn. */
static void check_evictions(const struct lab *l, struct evictions *log)
{
    VEC_EACH(c, &l->fx.changes) {
        struct str text = str_of(c->u.history.text), prefix = STR("it makes room for s");
        if (c->kind != CHANGE_HISTORY || c->u.history.what != HISTORY_STATE) continue;
        if (c->u.history.state != SESSION_STOPPING || !str_starts(text, prefix)) continue;
        struct eviction e = {.victim = c->u.history.session};
        assert_true(str_to_u64(str_n(text.p + prefix.n, text.n - prefix.n), &e.by));
        const struct session *by = world_session(l->w, e.by), *v = world_session(l->w, e.victim);
        assert_non_null(by);
        assert_non_null(v);
        assert_int_equal(by->state, SESSION_RESERVED);
        assert_true(v->preemptible);
        assert_true(v->priority < by->priority);
        VEC_EACH(old, &log->v) assert_false(old->victim == e.by && old->by == e.victim);
        VEC_PUSH(&log->v, e);
    }
}

/* Every pending session has a reason that is true: none could start. */
static void check_reasons(const struct lab *l)
{
    if (l->fx.more) return;
    assert_true(reserve_pass(l->w)->surprises == 0); /* nothing was missed for a minute */
    VEC_EACH(s, &l->w->sessions) {
        struct why why;
        if (s->id == 0) continue;
        explain_session(l->w, s, &why);
        if (s->state == SESSION_PENDING && why.kind == WHY_PLACED) {
            fail_msg("s%llu could run and does not", (unsigned long long)s->id);
        }
        if (why.kind == WHY_SKIPPED) assert_non_null(world_session(l->w, why.blocker));
    }
}

static struct lab *random_lab(struct rng *r)
{
    struct lab *l = lab_new((enum on_blocked)(BLOCKED_STOP + (int)rng_below(r, 3)));
    uint32_t nodes = 1 + (uint32_t)rng_below(r, 4);
    for (uint32_t i = 0; i < nodes; i++) {
        char name[8];
        text_fmt(name, sizeof(name), "n%u", i);
        lab_join(l, name, 3 + (int64_t)rng_below(r, 5), 16, (int64_t)rng_below(r, 4));
    }
    return l;
}

static void audits_hold(void **state)
{
    (void)state;
    uint64_t placed = 0, ended = 0, restarts = 0;
    uint32_t reserved = 0, evicted = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct rng r = {seed};
        struct lab *l = random_lab(&r);
        struct evictions log = {0};
        for (int i = 0; i < EVENTS; i++) {
            random_event(l, &r);
            check_capacity(l);
            check_evictions(l, &log);
            check_promises(l, &reserved);
            if (i % 16 == 0) {
                l->now_ms += 1;
                lab_tick(l, 0);
                open_again(l);
                if (l->w->started) check_reasons(l);
            }
        }
        evicted += log.v.n;
        VEC_DONE(&log.v);
        lab_restart(l);
        VEC_EACH(row, &l->store.sessions) {
            const struct session *s = &row->session;
            placed += s->attempt;
            restarts += s->restarts;
            ended += s->state == SESSION_ENDED;
        }
        lab_free(l);
    }
    print_message("%llu attempts, %llu ends, %llu restarts, %u evictions, %u promises seen\n",
                  (unsigned long long)placed, (unsigned long long)ended,
                  (unsigned long long)restarts, evicted, reserved);
    assert_true(restarts > 0);
    assert_true(reserved > SEEDS);
    assert_true(evicted > SEEDS / 2);
    assert_true(placed > 12 * SEEDS); /* the worlds are lively, or this proves little */
    assert_true(ended > 10 * SEEDS);
}

/* All nodes do as they are wished, and all commands come to their end. */
static void quiet_round(struct lab *l)
{
    l->now_ms += 9000;
    for (uint32_t k = 0; k < l->n_nodes; k++) {
        if (!world_node(l->w, l->nodes[k].id)) continue;
        lab_act(l, k);
        VEC_EACH(m, &l->nodes[k].list) {
            if (m->phase != MEMBER_RUNNING) continue;
            m->phase = MEMBER_EXITED;
            m->end = (struct member_end){0};
        }
        lab_report(l, k);
    }
    open_again(l);
    lab_tick(l, 0);
}

/* Once faults stop, all that can run runs to its end and nothing stays held. */
static void comes_to_rest(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct rng r = {seed * 7919 + 1};
        struct lab *l = random_lab(&r);
        for (int i = 0; i < EVENTS; i++) random_event(l, &r);
        for (uint32_t k = 0; k < l->n_nodes; k++) {
            struct event ev = {.kind = EVENT_NODE_CORDON, .u.cordon = {l->nodes[k].id, false}};
            if (world_node(l->w, l->nodes[k].id)) lab_step(l, &ev);
        }
        for (int round = 0; round < 300 && l->w->n_sessions > 0; round++) quiet_round(l);
        VEC_EACH(s, &l->w->sessions) { /* what is left could never run on what is left */
            struct place p = {0};
            if (s->id == 0) continue;
            assert_int_equal(s->state, SESSION_PENDING);
            if (place_possible(l->w, s, &p)) {
                fail_msg("seed %llu: s%llu", (unsigned long long)seed, (unsigned long long)s->id);
            }
            place_done(&p);
        }
        assert_int_equal(lab_rows(l), 0);
        lab_free(l);
    }
}

/* Rows of the ledger have gaps between their members, which say nothing. */
static bool same_row(const struct alloc *a, const struct alloc *b)
{
    return member_ref_cmp(a->ref, b->ref) == 0 && a->node == b->node && a->devices == b->devices &&
           memcmp(&a->slots, &b->slots, sizeof(a->slots)) == 0 && a->turn == b->turn &&
           a->revoked == b->revoked && a->revoked_turn == b->revoked_turn &&
           a->phase == b->phase && a->signal_done == b->signal_done;
}

static bool same_session(const struct session *a, const struct session *b)
{
    return a->id == b->id && a->state == b->state && a->outcome == b->outcome &&
           a->attempt == b->attempt && a->priority == b->priority && a->lowered == b->lowered &&
           a->restarts == b->restarts && a->since_ms == b->since_ms &&
           a->deadline_ms == b->deadline_ms && a->not_before_ms == b->not_before_ms &&
           a->started_ms == b->started_ms && a->blocked_ms == b->blocked_ms;
}

static bool same_change(const struct change *a, const struct change *b)
{
    if (a->kind != b->kind) return false;
    bool row = a->kind == CHANGE_ALLOC || a->kind == CHANGE_ALLOC_GONE;
    if (a->kind == CHANGE_SESSION) return same_session(&a->u.session, &b->u.session);
    return row ? same_row(&a->u.alloc, &b->u.alloc) : memcmp(a, b, sizeof(*a)) == 0;
}

/* The same inputs give the same outputs, byte for byte, reloaded or not. */
static void steps_are_functions(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct rng r = {seed}, twin = {seed};
        struct lab *a = random_lab(&r), *b = random_lab(&twin);
        for (int i = 0; i < EVENTS; i++) {
            random_event(a, &r);
            random_event(b, &twin);
            assert_int_equal(a->fx.changes.n, b->fx.changes.n);
            for (uint32_t k = 0; k < a->fx.changes.n; k++)
                assert_true(same_change(&a->fx.changes.v[k], &b->fx.changes.v[k]));
            assert_string_equal(a->fx.text, b->fx.text);
        }
        char *one = lab_dump(a->w), *two = lab_dump(b->w);
        assert_string_equal(one, two);
        mem_free(one);
        mem_free(two);
        lab_free(a);
        lab_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(audits_hold),
        cmocka_unit_test(comes_to_rest),
        cmocka_unit_test(steps_are_functions),
    };
    return RUN(tests);
}
