/* The plan on random worlds: the same answers as without any structure. */
#include "harness.h"

#include "base/rng.h"
#include "naive_plan.h"

#define MINUTE INT64_C(60000)

struct play {
    struct rng rng;
    struct lab *l;
    uint64_t seed, compared, dated, gangs_late, windows, promises, reserved;
};

static uint32_t below(struct play *p, uint32_t n) { return (uint32_t)rng_below(&p->rng, n); }

/* ---- comparing */

static void same_promise(const struct play *p, const struct promise *a, const struct promise *b)
{
    bool same = a->at_ms == b->at_ms && a->end_ms == b->end_ms && a->picks.n == b->picks.n;
    for (uint32_t m = 0; same && m < a->picks.n; m++) {
        same = a->picks.v[m].node == b->picks.v[m].node &&
               a->picks.v[m].devices == b->picks.v[m].devices;
    }
    if (!same) {
        fail_msg("seed %llu: at %lld on %u:%x, naively at %lld on %u:%x",
                 (unsigned long long)p->seed, (long long)a->at_ms, a->picks.v[0].node,
                 a->picks.v[0].devices, (long long)b->at_ms, b->picks.v[0].node,
                 b->picks.v[0].devices);
    }
}

static void compare(struct play *p, const struct session *s)
{
    struct promise fast = {0}, slow = {0};
    uint64_t fast_blocker = 0, slow_blocker = 0;
    bool a = plan_earliest(p->l->w, s, &fast, &fast_blocker);
    bool b = naive_earliest(p->l->w, s, &slow, &slow_blocker);
    if (a != b) {
        fail_msg("seed %llu: dated %d at %lld, naively %d at %lld", (unsigned long long)p->seed, a,
                 (long long)fast.at_ms, b, (long long)slow.at_ms);
    }
    if (fast_blocker != slow_blocker) {
        fail_msg("seed %llu: blocked by %llu, naively by %llu", (unsigned long long)p->seed,
                 (unsigned long long)fast_blocker, (unsigned long long)slow_blocker);
    }
    if (a) same_promise(p, &fast, &slow);
    p->compared++;
    p->dated += a;
    p->gangs_late += a && s->members > 1 && fast.at_ms > p->l->w->now_ms;
    VEC_DONE(&fast.picks);
    VEC_DONE(&slow.picks);
}

static void compare_windows(struct play *p, const struct session *s)
{
    const struct world *w = p->l->w;
    for (uint32_t node = 1; node <= w->nodes.n; node++) {
        struct room fast, slow;
        int64_t until_ms = below(p, 4) ? w->now_ms + 1 + below(p, 90) * MINUTE : PLAN_NEVER;
        if (!plan_promised(w, node)) continue;
        plan_window(w, node, s, until_ms, &fast);
        naive_window(w, node, s, until_ms, &slow);
        if (fast.devices != slow.devices || memcmp(&fast.free, &slow.free, sizeof(fast.free))) {
            fail_msg("seed %llu: node %u has %x until %lld, naively %x",
                     (unsigned long long)p->seed, node, fast.devices, (long long)until_ms,
                     slow.devices);
        }
        p->windows++;
    }
}

/* ---- playing */

static struct session any_request(struct play *p)
{
    struct session s = lab_request(1, 1, 1, 0);
    static const int limits[] = {0, 5, 10, 10, 20, 30, 60};
    s.user = 1 + below(p, 2);
    s.n_roles = 1 + (below(p, 4) == 0);
    s.members = 0;
    for (uint32_t i = 0; i < s.n_roles; i++) {
        s.roles[i].count = below(p, 3) ? 1 : 1 + below(p, 5);
        s.roles[i].slots = lab_slots(1 + below(p, 4), 1 + below(p, 4), below(p, 4));
        s.members += s.roles[i].count;
    }
    s.one_node = below(p, 5) == 0;
    s.time_limit_ms = limits[below(p, ARRAY_LEN(limits))] * MINUTE;
    s.grace_ms = MINUTE * (1 + below(p, 3));
    if (below(p, 8) == 0) {
        s.where.node = 1 + below(p, p->l->n_nodes);
        s.where.node_preferred = below(p, 2) == 0;
    }
    return s;
}

static struct session *any_session(struct play *p)
{
    struct world *w = p->l->w;
    if (w->sessions.n == 0) return NULL;
    struct session *s = &w->sessions.v[below(p, w->sessions.n)];
    return s->id > 0 ? s : NULL;
}

static void promise(struct play *p)
{
    struct session *s = any_session(p);
    struct promise made = {0};
    uint64_t blocker;
    if (!s || s->state != SESSION_PENDING) return;
    if (plan_of(p->l->w, s->id)) {
        if (below(p, 2)) plan_drop(p->l->w, s->id);
        return;
    }
    if (!plan_earliest(p->l->w, s, &made, &blocker)) return;
    if (below(p, 4) == 0) { /* as if it had been made under other circumstances */
        made.at_ms += below(p, 20) * MINUTE;
        made.end_ms = made.at_ms + (1 + below(p, 40)) * MINUTE;
    }
    plan_keep(p->l->w, &made);
    p->promises++;
}

static void reserve(struct play *p)
{
    struct lab *l = p->l;
    struct event ev = {.kind = EVENT_RESERVE, .actor = 1};
    struct reservation *r = &ev.u.reserve.reservation;
    if (l->w->reservations.n > 0 && below(p, 3) == 0) {
        uint32_t id = l->w->reservations.v[below(p, l->w->reservations.n)].id;
        lab_step(l, &(struct event){.kind = EVENT_UNRESERVE, .actor = 1, .u.unreserve = {id}});
        return;
    }
    *r = (struct reservation){.group = 1, .n_parts = 1 + below(p, 2),
                              .slots = lab_slots(below(p, 4), below(p, 3), below(p, 3)),
                              .start_ms = l->now_ms + below(p, 6) * 10 * MINUTE};
    if (below(p, 2)) r->user = 1 + below(p, 2);
    else r->project = 1;
    ev.u.reserve.length_ms = (1 + below(p, 6)) * 10 * MINUTE;
    p->reserved += lab_step(l, &ev) == VERDICT_OK;
}

static void node_changes(struct play *p)
{
    struct lab *l = p->l;
    uint32_t node = below(p, l->n_nodes);
    switch (below(p, 4)) {
    case 0:
        lab_step(l, &(struct event){.kind = EVENT_NODE_CORDON,
                                    .u.cordon = {l->nodes[node].id, below(p, 2) == 0}});
        return;
    case 1:
        if (below(p, 4) == 0) lab_rejoin(l, node, 1 + below(p, 4), "boot-1");
        return;
    case 2: lab_restart(l); return;
    default: return;
    }
}

static void play_one(struct play *p)
{
    struct lab *l = p->l;
    const struct session *s;
    switch (below(p, 10)) {
    case 0:
    case 1:
    case 2: {
        struct session req = any_request(p);
        lab_submit(l, &req);
        return;
    }
    case 3:
    case 4: promise(p); return;
    case 5: lab_act(l, below(p, l->n_nodes)); return;
    case 6:
        l->now_ms += below(p, 3) ? below(p, 10) * MINUTE : below(p, 5);
        for (uint32_t i = 0; i < l->n_nodes; i++) {
            if (below(p, 12)) lab_report(l, i);
        }
        return;
    case 8: reserve(p); return;
    case 7:
        s = any_session(p);
        if (s) lab_stop(l, s->id, -1);
        return;
    default: node_changes(p); return;
    }
}

static void world(struct play *p, uint32_t steps)
{
    uint32_t nodes = 1 + below(p, 6);
    p->l = lab_new(BLOCKED_SKIP);
    for (uint32_t i = 0; i < nodes; i++) {
        char name[8];
        text_fmt(name, sizeof(name), "n%u", 12 - i);
        lab_join(p->l, name, 4 + below(p, 9), 8, below(p, 5));
    }
    for (uint32_t i = 0; i < steps; i++) {
        play_one(p);
        for (uint32_t k = 0; k < 3; k++) {
            struct session *s = any_session(p);
            struct session req = any_request(p);
            req.id = s && s->state == SESSION_PENDING ? s->id : 0;
            if (req.id) req = *s;
            compare(p, &req);
            compare_windows(p, &req);
        }
    }
    lab_free(p->l);
}

static void random_worlds(void **state)
{
    (void)state;
    struct play p = {0};
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        p.rng.state = seed;
        p.seed = seed;
        world(&p, 60);
    }
    print_message("%llu compared, %llu dated, %llu gangs later, %llu windows, %llu promises, "
                  "%llu reservations\n",
                  (unsigned long long)p.compared, (unsigned long long)p.dated,
                  (unsigned long long)p.gangs_late, (unsigned long long)p.windows,
                  (unsigned long long)p.promises, (unsigned long long)p.reserved);
    assert_true(p.dated > p.compared / 4);
    assert_true(p.gangs_late > 1000);
    assert_true(p.windows > 1000);
    assert_true(p.reserved > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_worlds)};
    return RUN(tests);
}
