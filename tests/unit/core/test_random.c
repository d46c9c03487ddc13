/* Random worlds: after every step the audit, sometimes a restart, at the end rest.
 *
 * The harness audits each step and compares the reloaded world with the old one;
 * here the events are drawn, and what only a whole history can show is checked. */
#include "harness.h"

#include "base/rng.h"
#include "core/sched/place.h"

#define SEEDS 2000
#define EVENTS 200

static void random_submit(struct lab *l, struct rng *r)
{
    struct session s = lab_request(1 + (uint32_t)rng_below(r, 3), 1 + (int64_t)rng_below(r, 3), 1,
                                   (int64_t)rng_below(r, 4) / 2);
    s.priority = (int32_t)rng_below(r, 3) * 10;
    s.user = 1 + (uint32_t)rng_below(r, 2);
    s.one_node = rng_below(r, 4) == 0;
    s.stop_on_member = rng_below(r, 4) != 0;
    s.grace_ms = (int64_t)rng_below(r, 2) * 30000;
    if (rng_below(r, 4) == 0) s.time_limit_ms = 20000;
    if (rng_below(r, 4) == 0) s.pending_timeout_ms = 15000;
    if (rng_below(r, 5) == 0) memcpy(s.name, "same", 5);
    struct event ev = {.kind = EVENT_SUBMIT, .u.submit = {s, rng_below(r, 8) == 0}};
    lab_step(l, &ev);
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
}

/* Every pending session has a reason that is true: none could start. */
static void check_reasons(const struct lab *l)
{
    if (l->fx.more) return;
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
    struct lab *l = lab_new(rng_below(r, 2) ? BLOCKED_STOP : BLOCKED_SKIP);
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
    uint64_t placed = 0, ended = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct rng r = {seed};
        struct lab *l = random_lab(&r);
        for (int i = 0; i < EVENTS; i++) {
            random_event(l, &r);
            check_capacity(l);
            if (i % 16 == 0) {
                l->now_ms += 1;
                lab_tick(l, 0);
                open_again(l);
                if (l->w->started) check_reasons(l);
            }
        }
        lab_restart(l);
        VEC_EACH(s, &l->store.sessions) {
            placed += s->attempt;
            ended += s->state == SESSION_ENDED;
        }
        lab_free(l);
    }
    print_message("%llu attempts, %llu ends\n", (unsigned long long)placed,
                  (unsigned long long)ended);
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
            size_t bytes = a->fx.changes.n * sizeof(*a->fx.changes.v);
            if (bytes > 0) assert_memory_equal(a->fx.changes.v, b->fx.changes.v, bytes);
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
