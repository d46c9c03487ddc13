/* Two worlds, one history. */
#include "twins.h"

#include "core/draft.h"
#include "core/model/order.h"
#include "core/sched/plan.h"
#include "core/sched/reserve.h"

static uint64_t below(struct twins *t, uint64_t n) { return rng_below(&t->rng, n); }

static void limits_of(struct twins *t, struct limits *l)
{
    static const enum limit_kind kinds[] = {LIMIT_CPU, LIMIT_GPU, LIMIT_RUNNING};
    for (size_t i = 0; t->limits && i < ARRAY_LEN(kinds); i++) {
        if (below(t, 2)) continue;
        l->set |= UINT32_C(1) << kinds[i];
        l->max[kinds[i]] = 1 + (int64_t)below(t, 8);
        if (kinds[i] == LIMIT_CPU) l->max[kinds[i]] *= 4000;
    }
}

static struct group group_of(struct twins *t, uint32_t id)
{
    static const uint32_t depths[] = {1, 2, 3, 8, GROUP_RESERVE_ALL};
    struct group g = group_make(id, id == 1 ? "g1" : "g2", (enum on_blocked)(1 + below(t, 3)));
    if (below(t, 2)) g.on_blocked = BLOCKED_BACKFILL;
    g.reserve_depth = depths[below(t, ARRAY_LEN(depths))];
    g.order = below(t, 4) == 0 ? ORDER_LIFO : below(t, 6) == 0 ? ORDER_SHORTEST : ORDER_FIFO;
    g.lower_after = 0; /* what fails is counted where tests of its own say so */
    g.undated_ms = INT64_C(300000000000);
    for (int k = 0; k < SESSION_KINDS; k++) g.time_limit_ms[k] = 0;
    return g;
}

static struct world *world_of(const struct twins *t, const struct project projects[3],
                              const struct user users[3], const struct group groups[TWIN_GROUPS])
{
    const char *why = NULL;
    struct world *w = world_new();
    assert_true(world_put_domain(w, &(struct domain){.id = 1, .name = "d"}));
    for (int i = 0; i < 3; i++) assert_true(world_put_project(w, &projects[i]));
    for (int i = 0; i < 3; i++) assert_true(world_put_user(w, &users[i]));
    for (uint32_t i = 0; i < t->n_groups; i++) assert_true(world_put_group(w, &groups[i]));
    if (!world_ready(w, &why)) fail_msg("%s", why);
    w->turn = 1;
    return w;
}

/* Any map: what devices are given must not depend on who asks. */
static void links_of(struct twins *t, struct node *n)
{
    linkmap_clear(n->links, n->n_devices);
    for (uint32_t b = 1; b < n->n_devices; b++) {
        for (uint32_t a = 0; a < b; a++) {
            linkmap_set(n->links, a, b, (enum link_path)below(t, LINK_PATHS));
        }
    }
}

static void join(struct twins *t, uint32_t i)
{
    struct event ev = {.kind = EVENT_NODE_JOIN};
    struct node *n = &ev.u.join.node;
    static const int64_t devices[] = {0, 2, 4, 8};
    n->group = 1 + i % t->n_groups;
    n->n_devices = (uint32_t)devices[below(t, 4)];
    n->capacity = lab_slots(4 + (int64_t)below(t, 3) * 4, 64, n->n_devices);
    for (uint32_t d = 0; d < n->n_devices; d++) n->devices[d].health = DEVICE_HEALTHY;
    if (below(t, 3) > 0) links_of(t, n);
    text_fmt(n->name, sizeof(n->name), "n%u", i + 1);
    twins_step(t, ev);
}

struct twins *twins_new(uint64_t seed, uint32_t nodes)
{
    struct twins *t = mem_alloc(sizeof(*t));
    struct project projects[3] = {{0}};
    struct user users[3] = {{0}};
    struct group groups[TWIN_GROUPS];
    t->rng.state = seed;
    t->now_ms = 1;
    t->n_nodes = nodes;
    t->n_groups = 1 + (uint32_t)below(t, TWIN_GROUPS);
    t->limits = below(t, 2) == 0;
    for (uint32_t i = 0; i < 3; i++) {
        projects[i].id = users[i].id = i + 1;
        projects[i].domain = users[i].domain = 1;
        text_fmt(projects[i].name, sizeof(projects[i].name), "p%u", i);
        text_fmt(users[i].name, sizeof(users[i].name), "u%u", i);
        limits_of(t, &projects[i].limits);
        if (below(t, 3) == 0) limits_of(t, &users[i].limits);
    }
    for (uint32_t i = 0; i < TWIN_GROUPS; i++) groups[i] = group_of(t, i + 1);
    t->fast = world_of(t, projects, users, groups);
    t->naive = world_of(t, projects, users, groups);
    for (uint32_t i = 0; i < nodes; i++) join(t, i);
    return t;
}

void twins_free(struct twins *t)
{
    world_free(t->fast);
    world_free(t->naive);
    effects_done(&t->fx);
    effects_done(&t->fx_naive);
    VEC_DONE(&t->ends);
    mem_free(t);
}

/* ---- one event */

static void naive_step(struct twins *t, struct event ev)
{
    bool pass = !ev.more_coming;
    ev.more_coming = true;
    step(t->naive, &ev, &t->fx_naive);
    if (ev.kind == EVENT_UPDATE) plan_drop(t->naive, ev.u.update.session);
    if (!pass) return;
    struct draft d = {.w = t->naive, .ev = &ev, .out = &t->fx_naive};
    twins_naive_pass(&d);
    draft_finish(&d);
}

void twins_step(struct twins *t, struct event ev)
{
    ev.now_ms = t->now_ms;
    step(t->fast, &ev, &t->fx);
    naive_step(t, ev);
    if (ev.more_coming) return;
    for (int i = 0; t->fx.more || t->fast->pass_due; i++) {
        struct event tick = {.kind = EVENT_TICK, .now_ms = t->now_ms};
        step(t->fast, &tick, &t->fx);
        naive_step(t, tick);
        assert_true(i < 100);
    }
    twins_compare(t);
}

static void compare_promise(struct twins *t, const struct session *s)
{
    const struct promise *a = plan_of(t->fast, s->id), *b = plan_of(t->naive, s->id);
    unsigned long long id = s->id;
    if (!a != !b) fail_msg("s%llu is promised by one alone (%s)", id, a ? "fast" : "naive");
    if (!a) return;
    t->promised++;
    t->moved += a->at_ms != a->first_ms;
    if (a->at_ms != b->at_ms || a->end_ms != b->end_ms || a->first_ms != b->first_ms)
        fail_msg("s%llu: %lld and %lld", id, (long long)a->at_ms, (long long)b->at_ms);
    assert_int_equal(a->picks.n, b->picks.n);
    for (uint32_t i = 0; i < a->picks.n; i++) {
        if (a->picks.v[i].node != b->picks.v[i].node ||
            a->picks.v[i].devices != b->picks.v[i].devices)
            fail_msg("s%llu: promised elsewhere", id);
    }
    if (a->at_ms <= t->now_ms) fail_msg("s%llu is due and does not start", id);
}

void twins_compare(struct twins *t)
{
    const struct world *w = t->fast;
    const char *bad = world_audit(w);
    if (bad) fail_msg("audit: %s", bad);
    assert_int_equal(w->sessions.n, t->naive->sessions.n);
    for (uint32_t i = 0; i < w->sessions.n; i++) {
        const struct session *a = &w->sessions.v[i], *b = &t->naive->sessions.v[i];
        if (a->id != b->id || a->state != b->state || a->attempt != b->attempt)
            fail_msg("s%llu is %d, naively %d", (unsigned long long)a->id, a->state, b->state);
        if (a->id == 0) continue;
        t->seen++;
        if (a->state == SESSION_PENDING) compare_promise(t, a);
        const struct alloc *x = world_allocs_of_session(w, a);
        const struct alloc *y = world_allocs_of_session(t->naive, b);
        for (; x && y; x = world_next_of_session(w, x), y = world_next_of_session(t->naive, y)) {
            if (x->node != y->node || x->devices != y->devices)
                fail_msg("s%llu runs elsewhere", (unsigned long long)a->id);
        }
        assert_true(!x && !y);
    }
    assert_true(w->sched == NULL || reserve_pass(t->fast)->surprises == 0);
}

/* ---- what happens by itself */

static int64_t end_of(struct twins *t, const struct session *s)
{
    VEC_EACH(e, &t->ends) if (e->session == s->id) return e->at_ms;
    int64_t most = s->time_limit_ms > 0 ? s->time_limit_ms : 200000;
    int64_t runs = below(t, 3) == 0 ? most : 1000 * (1 + (int64_t)below(t, (uint64_t)most / 1000));
    VEC_PUSH(&t->ends, ((struct twin_end){s->id, t->now_ms + runs}));
    t->placed++;
    return t->now_ms + runs;
}

static int cmp_members(const void *a, const void *b)
{
    return member_ref_cmp(((const struct member_report *)a)->ref,
                          ((const struct member_report *)b)->ref);
}

/* What the node says of itself: what should be there runs, or is over; true if that is new. */
static bool say(struct twins *t, const struct node *n, bool more)
{
    VEC(struct member_report) list = {0};
    bool news = false;
    for (struct alloc *a = world_allocs_of_node(t->fast, n); a;
         a = world_next_of_node(t->fast, a)) {
        const struct session *s = world_session(t->fast, a->ref.session);
        if (a->revoked || !s || s->state == SESSION_STOPPING) {
            news = true; /* gone */
            continue;
        }
        struct member_report m = {.ref = a->ref, .phase = MEMBER_RUNNING};
        if (s->state == SESSION_RUNNING && end_of(t, s) <= t->now_ms) m.phase = MEMBER_EXITED;
        news = news || m.phase != a->phase;
        VEC_PUSH(&list, m);
    }
    order_sort(list.v, list.n, sizeof(*list.v), cmp_members);
    struct event ev = {.kind = EVENT_NODE_REPORT, .more_coming = more};
    ev.u.report = (struct event_report){.node = n->id, .seq = ++t->seq, .members = list.v,
                                        .n_members = list.n, .turn = t->fast->turn};
    bool beat = t->now_ms - n->heard_ms >= 5000;
    if (news || beat || n->report_seq == 0) twins_step(t, ev);
    VEC_DONE(&list);
    return news;
}

static void report_all(struct twins *t)
{
    for (bool news = true; news;) {
        news = false;
        for (uint32_t i = 0; i < t->fast->nodes.n; i++) {
            if (say(t, &t->fast->nodes.v[i], true)) news = true;
        }
        twins_step(t, (struct event){.kind = EVENT_TICK});
    }
}

/* All that happens at one instant happens before the pass of that instant. */
void twins_run(struct twins *t, int64_t until_ms)
{
    report_all(t);
    while (t->now_ms < until_ms) {
        int64_t next = t->now_ms + 5000, due = step_next_deadline(t->fast);
        if (until_ms < next) next = until_ms;
        if (due < next) next = due;
        VEC_EACH(s, &t->fast->sessions) {
            if (s->state == SESSION_RUNNING && end_of(t, s) < next) next = end_of(t, s);
        }
        t->now_ms = next > t->now_ms ? next : t->now_ms + 1;
        report_all(t);
    }
}
