/* Who must go for whom: named cases, then laws on random worlds against every subset. */
#include "harness.h"

#include "base/rng.h"
#include "core/sched/place.h"
#include "core/sched/preempt.h"
#include "core/sched/quota.h"

#define HELD_MAX 12

struct held { /* runs already; empty node: the end */
    const char *on;
    int gpu, priority;
    uint32_t user, members;
    bool fixed;  /* not preemptible */
    int age_s;   /* how long it has run */
    int cpu;     /* 0: 1 */
    enum session_kind kind;
};

struct fixture {
    const char *name;
    struct { const char *name; int gpu; } nodes[4]; /* 16 CPUs each */
    struct held held[HELD_MAX];
    struct preempt_policy policy; /* enabled, unless `off` */
    bool off;
    struct { int gpu, priority; uint32_t user, members; int cpu; bool one_node; } ask;
    int64_t project_gpus; /* limit; 0: none */
    const char *expected; /* "0 2": indexes of victims, in any order; "": nobody */
};

static const struct fixture CASES[] = {
    {.name = "off by default", .nodes = {{"n1", 1}}, .held = {{"n1", 1, 0, 1}}, .off = true,
     .ask = {1, 10, 1}, .expected = ""},
    {.name = "one for one", .nodes = {{"n1", 1}}, .held = {{"n1", 1, 0, 1}}, .ask = {1, 10, 1},
     .expected = "0"},
    {.name = "of equal priority nobody", .nodes = {{"n1", 1}}, .held = {{"n1", 1, 10, 1}},
     .ask = {1, 10, 1}, .expected = ""},
    {.name = "nobody where there is room elsewhere", .nodes = {{"n1", 1}, {"n2", 1}},
     .held = {{"n1", 1, 0, 1}}, .ask = {1, 10, 1}, .expected = ""},
    {.name = "nobody where it would not help", .nodes = {{"n1", 2}, {"n2", 2}},
     .held = {{"n1", 1, 0, 1}, {"n2", 1, 20, 1}, {"n1", 1, 20, 1}, {"n2", 1, 0, 1}},
     .ask = {2, 10, 1}, .expected = ""},
    {.name = "not what says that it may not", .nodes = {{"n1", 1}},
     .held = {{"n1", 1, 0, 1, .fixed = true}}, .ask = {1, 10, 1}, .expected = ""},
    {.name = "a service never", .nodes = {{"n1", 1}},
     .held = {{"n1", 1, 0, 1, .fixed = true, .kind = KIND_SERVICE}}, .ask = {1, 10, 1},
     .expected = ""},
    {.name = "an interactive one that says it may", .nodes = {{"n1", 1}},
     .held = {{"n1", 1, 0, 1, .kind = KIND_INTERACTIVE}}, .ask = {1, 10, 1}, .expected = "0"},
    {.name = "of the same user alone", .nodes = {{"n1", 1}}, .held = {{"n1", 1, 0, 2}},
     .ask = {1, 10, 1}, .expected = ""},
    {.name = "of the project when the group says so", .nodes = {{"n1", 1}},
     .held = {{"n1", 1, 0, 2}}, .policy = {.scope = SCOPE_PROJECT}, .ask = {1, 10, 1},
     .expected = "0"},
    {.name = "not of another project", .nodes = {{"n1", 1}}, .held = {{"n1", 1, 0, 3}},
     .policy = {.scope = SCOPE_PROJECT}, .ask = {1, 10, 1}, .expected = ""},
    {.name = "of the domain", .nodes = {{"n1", 1}}, .held = {{"n1", 1, 0, 3}},
     .policy = {.scope = SCOPE_DOMAIN}, .ask = {1, 10, 1}, .expected = "0"},
    {.name = "not of another domain", .nodes = {{"n1", 1}}, .held = {{"n1", 1, 0, 4}},
     .policy = {.scope = SCOPE_DOMAIN}, .ask = {1, 10, 1}, .expected = ""},
    {.name = "of anybody in the group", .nodes = {{"n1", 1}}, .held = {{"n1", 1, 0, 4}},
     .policy = {.scope = SCOPE_GROUP}, .ask = {1, 10, 1}, .expected = "0"},
    {.name = "not before the minimum runtime", .nodes = {{"n1", 1}},
     .held = {{"n1", 1, 0, 1, .age_s = 59}}, .policy = {.min_runtime_ms = 60000},
     .ask = {1, 10, 1}, .expected = ""},
    {.name = "after it", .nodes = {{"n1", 1}}, .held = {{"n1", 1, 0, 1, .age_s = 60}},
     .policy = {.min_runtime_ms = 60000}, .ask = {1, 10, 1}, .expected = "0"},
    {.name = "the lowest priority first", .nodes = {{"n1", 2}},
     .held = {{"n1", 1, 5, 1, .age_s = 1}, {"n1", 1, 0, 1, .age_s = 9}}, .ask = {1, 10, 1},
     .expected = "1"},
    {.name = "PRE1: 1, 1, 4 for one", .nodes = {{"n1", 6}},
     .held = {{"n1", 1, 0, 1, .age_s = 9}, {"n1", 1, 0, 1, .age_s = 8}, {"n1", 4, 0, 1}},
     .ask = {1, 10, 1}, .expected = "1"},
    {.name = "PRE1 over nodes", .nodes = {{"n1", 1}, {"n2", 1}, {"n3", 4}},
     .held = {{"n1", 1, 0, 1, .age_s = 9}, {"n2", 1, 0, 1, .age_s = 9}, {"n3", 4, 0, 1}},
     .ask = {1, 10, 1}, .expected = "0"},
    {.name = "two of one rather than one of four", .nodes = {{"n1", 6}},
     .held = {{"n1", 1, 0, 1}, {"n1", 1, 0, 1}, {"n1", 4, 0, 1}}, .ask = {2, 10, 1},
     .expected = "0 1"},
    {.name = "fewest: one of four", .nodes = {{"n1", 6}},
     .held = {{"n1", 1, 0, 1}, {"n1", 1, 0, 1}, {"n1", 4, 0, 1}},
     .policy = {.order = VICTIM_FEWEST}, .ask = {2, 10, 1}, .expected = "2"},
    {.name = "the newest", .nodes = {{"n1", 3}},
     .held = {{"n1", 1, 0, 1, .age_s = 9}, {"n1", 1, 0, 1, .age_s = 1},
              {"n1", 1, 0, 1, .age_s = 5}},
     .ask = {1, 10, 1}, .expected = "1"},
    {.name = "the oldest", .nodes = {{"n1", 3}},
     .held = {{"n1", 1, 0, 1, .age_s = 5}, {"n1", 1, 0, 1, .age_s = 9},
              {"n1", 1, 0, 1, .age_s = 1}},
     .policy = {.order = VICTIM_OLDEST}, .ask = {1, 10, 1}, .expected = "1"},
    {.name = "the smallest", .nodes = {{"n1", 3}},
     .held = {{"n1", 1, 0, 1, .cpu = 3}, {"n1", 1, 0, 1, .cpu = 2}, {"n1", 1, 0, 1, .cpu = 4}},
     .policy = {.order = VICTIM_SMALLEST}, .ask = {1, 10, 1}, .expected = "1"},
    {.name = "PRI4: the youngest of equal priority", .nodes = {{"n1", 2}},
     .held = {{"n1", 1, 30, 1, .age_s = 20}, {"n1", 1, 30, 1, .age_s = 10}}, .ask = {1, 40, 1},
     .expected = "1"},
    {.name = "PRE4: scattered small ones do not make eight",
     .nodes = {{"n1", 8}, {"n2", 8}},
     .held = {{"n1", 6, 20, 1}, {"n2", 6, 20, 1}, {"n1", 2, 0, 1}, {"n2", 2, 0, 1}},
     .ask = {8, 10, 1}, .expected = ""},
    {.name = "the node whose victims matter least", .nodes = {{"n1", 1}, {"n2", 1}},
     .held = {{"n1", 1, 5, 1}, {"n2", 1, 0, 1}}, .ask = {1, 10, 1}, .expected = "1"},
    {.name = "what is free there counts", .nodes = {{"n1", 4}, {"n2", 4}},
     .held = {{"n1", 4, 0, 1}, {"n2", 2, 0, 1}}, .ask = {3, 10, 1}, .expected = "1"},
    {.name = "PRE10: a device here, CPUs there, both need it", .nodes = {{"n1", 1}},
     .held = {{"n1", 1, 0, 1}, {"n1", 0, 0, 1, .cpu = 12}}, .ask = {1, 10, 1, .cpu = 14},
     .expected = "0 1"},
    {.name = "a device alone leaves the other be", .nodes = {{"n1", 1}},
     .held = {{"n1", 1, 0, 1}, {"n1", 0, 0, 1, .cpu = 12}}, .ask = {1, 10, 1, .cpu = 2},
     .expected = "0"},
    {.name = "a gang over two nodes", .nodes = {{"n1", 2}, {"n2", 2}},
     .held = {{"n1", 1, 0, 1}, {"n1", 1, 5, 1}, {"n2", 1, 0, 1}, {"n2", 1, 5, 1}},
     .ask = {1, 10, 1, .members = 2}, .expected = "0 2"},
    {.name = "a gang on one node", .nodes = {{"n1", 2}, {"n2", 2}},
     .held = {{"n1", 1, 0, 1}, {"n1", 1, 5, 1}, {"n2", 1, 0, 1}, {"n2", 1, 0, 1}},
     .ask = {1, 10, 1, .members = 2, .one_node = true}, .expected = "2 3"},
    {.name = "a gang is whole or nobody goes", .nodes = {{"n1", 1}, {"n2", 1}},
     .held = {{"n1", 1, 0, 1}, {"n2", 1, 20, 1}}, .ask = {1, 10, 1, .members = 2},
     .expected = ""},
    {.name = "a gang goes whole, and counts whole", .nodes = {{"n1", 2}, {"n2", 1}},
     .held = {{"n1", 1, 0, 1, .members = 2}, {"n2", 1, 0, 1}}, .ask = {1, 10, 1},
     .expected = "1"},
    {.name = "PRE8: its own limit is judged as if they were gone", .nodes = {{"n1", 2}},
     .held = {{"n1", 2, 0, 1}}, .ask = {2, 10, 1}, .project_gpus = 2, .expected = "0"},
    {.name = "PRE8 with room to spare", .nodes = {{"n1", 8}}, .held = {{"n1", 2, 0, 1}},
     .ask = {2, 10, 1}, .project_gpus = 2, .expected = "0"},
    {.name = "a limit that those in scope do not hold", .nodes = {{"n1", 8}},
     .held = {{"n1", 2, 20, 1}, {"n1", 2, 0, 1}}, .ask = {2, 10, 1}, .project_gpus = 3,
     .expected = ""},
};

/* Everybody runs on the node that the case names: all others are closed meanwhile. */
static uint64_t put(struct lab *l, const char *on, const struct session *req)
{
    for (uint32_t i = 0; i < l->n_nodes; i++) {
        const struct node *n = world_node(l->w, l->nodes[i].id);
        lab_step(l, &(struct event){.kind = EVENT_NODE_CORDON,
                                    .u.cordon = {n->id, strcmp(n->name, on) != 0}});
    }
    uint64_t id = lab_run(l, req);
    lab_settle(l);
    assert_int_equal(lab_state(l, id), SESSION_RUNNING);
    for (uint32_t i = 0; i < l->n_nodes; i++) {
        lab_step(l, &(struct event){.kind = EVENT_NODE_CORDON, .u.cordon = {l->nodes[i].id}});
    }
    return id;
}

static struct lab *case_lab(void)
{
    struct lab *l = lab_new(BLOCKED_SKIP);
    uint32_t lone = lab_project(l, 1, "lone"), other = lab_domain(l, "other");
    assert_int_equal(lone, 2);
    assert_int_equal(lab_project(l, other, "far"), 3);
    assert_int_equal(lab_user(l, 1, "carol"), 3);
    assert_int_equal(lab_user(l, other, "dan"), 4);
    return l;
}

static uint32_t project_of(uint32_t user) { return user == 3 ? 2 : user == 4 ? 3 : 1; }

static struct session held_request(const struct held *h)
{
    struct session s = lab_request(h->members ? h->members : 1, h->cpu ? h->cpu : 1, 1, h->gpu);
    s.priority = h->priority;
    s.user = h->user;
    s.project = project_of(h->user);
    s.preemptible = !h->fixed;
    if (h->kind != 0) s.kind = h->kind;
    return s;
}

static void set_policy(struct lab *l, struct preempt_policy policy, bool on)
{
    policy.enabled = on;
    if (policy.mode == 0) policy.mode = PREEMPT_TERMINATE;
    if (policy.scope == 0) policy.scope = SCOPE_USER;
    if (policy.order == 0) policy.order = VICTIM_NEWEST;
    l->w->groups.v[0].preempt = policy;
}

static void check_case(const struct fixture *c)
{
    struct lab *l = case_lab();
    struct preempt found = {0};
    char text[64] = "";
    uint64_t ids[HELD_MAX];
    print_message("%s\n", c->name);
    for (uint32_t i = 0; i < 4 && c->nodes[i].name; i++) {
        lab_join(l, c->nodes[i].name, 16, 64, c->nodes[i].gpu);
    }
    for (uint32_t i = 0; i < HELD_MAX && c->held[i].on; i++) {
        struct session s = held_request(&c->held[i]);
        ids[i] = put(l, c->held[i].on, &s);
    }
    l->now_ms += 100000;
    for (uint32_t i = 0; i < l->n_nodes; i++) lab_report(l, i); /* a silent one is no place */
    for (uint32_t i = 0; i < HELD_MAX && c->held[i].on; i++) {
        world_session(l->w, ids[i])->started_ms = l->now_ms - c->held[i].age_s * 1000;
    }
    if (c->project_gpus > 0) lab_limit(l, LEVEL_PROJECT, 1, LIMIT_GPU, c->project_gpus);
    struct session ask = lab_request(c->ask.members ? c->ask.members : 1,
                                     c->ask.cpu ? c->ask.cpu : 1, 1, c->ask.gpu);
    ask.priority = c->ask.priority;
    ask.user = c->ask.user;
    ask.one_node = c->ask.one_node;
    ask.hold = true; /* it waits for the decision, whatever the pass would do */
    uint64_t id = lab_run(l, &ask);
    set_policy(l, c->policy, !c->off);
    bool decided = preempt_decide(l->w, world_session(l->w, id), &found);
    assert_int_equal(decided, found.victims.n > 0);
    size_t n = 0;
    for (uint32_t i = 0; i < HELD_MAX && c->held[i].on; i++) {
        VEC_EACH(v, &found.victims) {
            if (*v != ids[i]) continue;
            n += (size_t)text_fmt(text + n, sizeof(text) - n, "%s%u", n ? " " : "", i);
        }
    }
    assert_string_equal(text, c->expected);
    preempt_done(&found);
    lab_free(l);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) check_case(&CASES[i]);
}

/* ---- laws */

#define WORLDS 4000

static bool eligible(const struct world *w, const struct session *s, const struct session *v)
{
    const struct preempt_policy *p = &w->groups.v[0].preempt;
    bool near = p->scope == SCOPE_GROUP || (p->scope == SCOPE_USER && v->user == s->user) ||
                (p->scope == SCOPE_PROJECT && v->project == s->project) ||
                (p->scope == SCOPE_DOMAIN && (v->project == 3) == (s->project == 3));
    return v->id != 0 && v->state == SESSION_RUNNING && v->preemptible &&
           v->kind != KIND_SERVICE && v->priority < s->priority && near &&
           w->now_ms - v->started_ms >= p->min_runtime_ms;
}

struct reference { /* every eligible session has a bit */
    const struct world *w;
    const struct session *s;
    const struct session *v[HELD_MAX];
    uint32_t n;
};

static uint32_t bit_of(const struct reference *r, uint64_t session)
{
    for (uint32_t i = 0; i < r->n; i++) {
        if (r->v[i]->id == session) return UINT32_C(1) << i;
    }
    return 0;
}

/* Whether it fits when those of the mask, and whoever leaves anyway, are gone. */
static bool fits_without(const struct reference *r, uint32_t mask)
{
    struct world dry = *r->w;
    struct place place = {0};
    const struct session *gone[2 * HELD_MAX];
    struct quota_freed freed = {.sessions = gone};
    dry.sched = NULL;
    dry.rooms.v = mem_array(r->w->rooms.n, sizeof(struct room));
    memcpy(dry.rooms.v, r->w->rooms.v, r->w->rooms.n * sizeof(struct room));
    for (uint32_t i = 0; i < dry.nodes.n; i++) {
        struct room *room = &dry.rooms.v[i];
        const struct node *n = &dry.nodes.v[i];
        room->free = room->capacity;
        room->devices = node_healthy_devices(n);
        for (struct alloc *a = world_allocs_of_node(r->w, n); a; a = world_next_of_node(r->w, a)) {
            const struct session *v = world_session(r->w, a->ref.session);
            if (bit_of(r, v->id) & mask || v->state == SESSION_STOPPING) continue;
            for (int k = 0; k < SLOT_KINDS; k++) room->free.v[k] -= a->slots.v[k];
            room->devices &= ~a->devices;
        }
    }
    VEC_EACH(v, &r->w->sessions) {
        if (v->state == SESSION_STOPPING || bit_of(r, v->id) & mask) gone[freed.n++] = v;
    }
    bool fits = quota_allows(r->w, r->s, &freed) && place_decide(&dry, r->s, PLACE_NOW, &place);
    mem_free(dry.rooms.v);
    place_done(&place);
    return fits;
}

struct price { int32_t priority; int64_t devices, heads; };

static struct price price_of(const struct reference *r, uint32_t mask)
{
    struct price p = {0};
    for (uint32_t i = 0; i < r->n; i++) {
        struct slots total;
        if (!(mask >> i & 1)) continue;
        assert_true(session_total(r->v[i], &total));
        if (r->v[i]->priority > p.priority) p.priority = r->v[i]->priority;
        p.devices += total.v[SLOT_GPU];
        p.heads++;
    }
    return p;
}

static bool cheaper(const struct price *a, const struct price *b, bool fewest)
{
    if (a->priority != b->priority) return a->priority < b->priority;
    int64_t first = fewest ? a->heads - b->heads : a->devices - b->devices;
    int64_t second = fewest ? a->devices - b->devices : a->heads - b->heads;
    return first != 0 ? first < 0 : second < 0;
}

/* For a request in one place, with room as the only question, the best there is. */
static void check_best(const struct reference *r, uint32_t chosen, bool alike)
{
    bool fewest = r->w->groups.v[0].preempt.order == VICTIM_FEWEST;
    struct price got = price_of(r, chosen);
    for (uint32_t mask = 1; mask < UINT32_C(1) << r->n; mask++) {
        struct price other = price_of(r, mask);
        if (!alike) other.devices = other.heads = got.devices = got.heads = 0;
        if (cheaper(&other, &got, fewest) && fits_without(r, mask)) {
            fail_msg("%x is better than %x", mask, chosen);
        }
    }
}

static void check_decision(const struct world *w, const struct session *s, bool limited,
                           uint32_t *ret_decided)
{
    struct preempt found = {0};
    struct reference r = {.w = w, .s = s};
    uint32_t chosen = 0;
    bool alike = true;
    VEC_EACH(v, &w->sessions) {
        if (!eligible(w, s, v)) continue;
        assert_true(r.n < HELD_MAX);
        r.v[r.n++] = v;
        alike = alike && v->priority == r.v[0]->priority;
    }
    uint32_t all = (UINT32_C(1) << r.n) - 1;
    bool decided = preempt_decide(w, s, &found), in_one = s->one_node || s->members == 1;
    if (decided != (!fits_without(&r, 0) && fits_without(&r, all))) {
        fail_msg("decided %d, without any %d, without all %d", decided, fits_without(&r, 0),
                 fits_without(&r, all));
    }
    VEC_EACH(v, &found.victims) {
        uint32_t bit = bit_of(&r, *v);
        if (bit == 0 || chosen & bit) fail_msg("s%u is no victim", (unsigned)*v);
        chosen |= bit;
    }
    if (decided) {
        assert_true(fits_without(&r, chosen));
        assert_int_equal(found.picks.n, s->members);
        for (uint32_t i = 0; i < r.n; i++) {
            uint32_t less = chosen & ~(UINT32_C(1) << i);
            if (less != chosen && fits_without(&r, less)) fail_msg("%u need not go", i);
        }
        if (in_one && !limited) check_best(&r, chosen, alike);
        (*ret_decided)++;
    }
    preempt_done(&found);
}

static void random_world(struct lab *l, struct rng *r)
{
    uint32_t n = 2 + (uint32_t)rng_below(r, HELD_MAX - 3);
    int32_t bands = 1 + (int32_t)rng_below(r, 3);
    for (uint32_t i = 0; i < 1 + rng_below(r, 4); i++) {
        char name[8];
        text_fmt(name, sizeof(name), "n%u", i);
        lab_join(l, name, 16, 64, (int64_t)rng_below(r, 7));
    }
    for (uint32_t i = 0; i < n; i++) {
        struct held h = {.gpu = (int)rng_below(r, 4),
                         .priority = (int)rng_below(r, (uint32_t)bands) * 5,
                         .user = 1 + (uint32_t)rng_below(r, 4), .fixed = rng_below(r, 8) == 0,
                         .members = rng_below(r, 3) ? 1 : 1 + (uint32_t)rng_below(r, 3),
                         .cpu = 1 + (int)rng_below(r, 8)};
        struct session s = held_request(&h);
        (void)lab_submit(l, &s);
    }
    lab_settle(l);
    l->now_ms += 10000; /* no node is silent for so long */
    for (uint32_t i = 0; i < l->w->sessions.n; i++) {
        struct session *s = &l->w->sessions.v[i];
        if (s->id == 0) continue;
        if (s->state == SESSION_PENDING || rng_below(r, 10) == 0) lab_stop(l, s->id, -1);
        else s->started_ms = l->now_ms - (int64_t)rng_below(r, 10) * 1000;
    }
}

static void test_random(void **state)
{
    (void)state;
    uint32_t decided = 0;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct rng r = {seed};
        struct lab *l = case_lab();
        random_world(l, &r);
        bool limited = rng_below(&r, 4) == 0;
        if (limited) lab_limit(l, LEVEL_PROJECT, 1, LIMIT_GPU, (int64_t)rng_below(&r, 8));
        struct session ask = lab_request(rng_below(&r, 2) ? 1 : 1 + (uint32_t)rng_below(&r, 4),
                                         1 + (int64_t)rng_below(&r, 10), 1,
                                         (int64_t)rng_below(&r, 5));
        ask.priority = 10;
        ask.one_node = rng_below(&r, 4) == 0;
        ask.hold = true;
        if (lab_submit(l, &ask) == VERDICT_OK) {
            set_policy(l, (struct preempt_policy){
                .scope = (enum preempt_scope)(1 + rng_below(&r, PREEMPT_SCOPES - 1)),
                .order = (enum preempt_order)(1 + rng_below(&r, PREEMPT_ORDERS - 1)),
                .min_runtime_ms = (int64_t)rng_below(&r, 2) * 3000}, true);
            check_decision(l->w, world_session(l->w, l->fx.session), limited, &decided);
        }
        lab_free(l);
    }
    print_message("%u of %d worlds had victims\n", decided, WORLDS);
    assert_true(decided > WORLDS / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases),
                                       cmocka_unit_test(test_random)};
    return RUN(tests);
}
