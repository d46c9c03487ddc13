/* Where members go: named cases, then laws against a slow search. */
#include "harness.h"

#include "base/bitset.h"
#include "base/rng.h"
#include "core/sched/devmap.h"
#include "core/sched/place.h"

/* Nodes as "cpu/gib/gpu", separated by spaces; before the session comes, each
 * `held` "node:cpu/gib/gpu" is placed there.  The answer: nodes by member. */
static const struct {
    const char *name;
    struct { const char *name; int cpu, gib, gpu; } nodes[4];
    struct { const char *on; int cpu, gib, gpu; } held[3];
    struct { int count, cpu, gib, gpu; } roles[3];
    bool one_node;
    enum place_strategy by;
    const char *expected; /* "n1 n2", or "" when it does not fit */
} CASES[] = {
    {.name = "the only one", .nodes = {{"n1", 4, 8, 0}}, .roles = {{1, 4, 8, 0}}, .expected = "n1"},
    {.name = "too large", .nodes = {{"n1", 4, 8, 0}}, .roles = {{1, 5, 1, 0}}, .expected = ""},
    {.name = "no node", .roles = {{1, 1, 1, 0}}, .expected = ""},
    {.name = "least remaining cpu", .nodes = {{"n1", 8, 8, 0}, {"n2", 4, 8, 0}},
     .roles = {{1, 2, 1, 0}}, .expected = "n2"},
    {.name = "cpu counts before memory", .nodes = {{"n1", 8, 4, 0}, {"n2", 4, 8, 0}},
     .roles = {{1, 2, 1, 0}}, .expected = "n2"},
    {.name = "gpu counts before cpu", .nodes = {{"n1", 2, 8, 4}, {"n2", 8, 8, 2}},
     .roles = {{1, 1, 1, 1}}, .expected = "n2"},
    {.name = "what is held counts", .nodes = {{"n1", 4, 8, 0}, {"n2", 4, 8, 0}},
     .held = {{"n2", 1, 1, 0}}, .roles = {{1, 2, 1, 0}}, .expected = "n2"},
    {.name = "gpu nodes are spared", .nodes = {{"n1", 2, 4, 1}, {"n2", 64, 64, 0}},
     .roles = {{1, 1, 1, 0}}, .expected = "n2"},
    {.name = "natural order breaks ties", .nodes = {{"n10", 4, 8, 0}, {"n2", 4, 8, 0}},
     .roles = {{1, 1, 1, 0}}, .expected = "n2"},
    {.name = "PLC2: the smallest that fits", .nodes = {{"n1", 1, 8, 0}, {"n2", 2, 8, 0}},
     .roles = {{1, 2, 1, 0}}, .expected = "n2"},
    {.name = "seed 2: 1, 3, then 4", .nodes = {{"n1", 4, 8, 0}, {"n2", 4, 8, 0}},
     .held = {{"n1", 1, 1, 0}, {"n1", 3, 1, 0}}, .roles = {{1, 4, 1, 0}}, .expected = "n2"},
    {.name = "a gang fills a node first", .nodes = {{"n1", 4, 8, 0}, {"n2", 4, 8, 0}},
     .roles = {{3, 2, 1, 0}}, .expected = "n1 n1 n2"},
    {.name = "a gang is whole or nothing", .nodes = {{"n1", 4, 8, 0}, {"n2", 4, 8, 0}},
     .roles = {{5, 2, 1, 0}}, .expected = ""},
    {.name = "one node: the sum", .nodes = {{"n1", 4, 8, 0}, {"n2", 8, 8, 0}},
     .roles = {{3, 2, 1, 0}}, .one_node = true, .expected = "n2 n2 n2"},
    {.name = "one node: no sum", .nodes = {{"n1", 4, 8, 0}, {"n2", 4, 8, 0}},
     .roles = {{3, 2, 1, 0}}, .one_node = true, .expected = ""},
    {.name = "roles: the large one first", .nodes = {{"n1", 4, 8, 0}, {"n2", 3, 8, 0}},
     .roles = {{1, 1, 1, 0}, {1, 3, 1, 0}, {1, 3, 1, 0}}, .expected = "n1 n2 n1"},
    {.name = "roles: where the large one first leads astray",
     .nodes = {{"n1", 2, 8, 0}, {"n2", 3, 2, 0}}, .roles = {{1, 1, 6, 0}, {1, 2, 1, 0}},
     .expected = "n1 n2"},
    {.name = "roles: in no order", .nodes = {{"n1", 2, 8, 0}, {"n2", 3, 2, 0}},
     .roles = {{1, 1, 6, 0}, {1, 2, 1, 0}, {1, 2, 1, 0}}, .expected = ""},
    {.name = "PLC1: two times four gpus are not eight",
     .nodes = {{"n1", 8, 8, 4}, {"n2", 8, 8, 4}}, .roles = {{1, 1, 1, 8}}, .expected = ""},
    {.name = "seed: 32 free of 64 beats 4 of 4", .by = STRATEGY_DISPERSED,
     .nodes = {{"large", 64, 256, 0}, {"small", 4, 256, 0}}, .held = {{"large", 32, 1, 0}},
     .roles = {{1, 1, 1, 0}}, .expected = "large"},
    {.name = "seed: by shares the small one is emptier", .by = STRATEGY_LEAST_ALLOCATED,
     .nodes = {{"large", 64, 256, 0}, {"small", 4, 256, 0}}, .held = {{"large", 32, 1, 0}},
     .roles = {{1, 1, 1, 0}}, .expected = "small"},
    {.name = "by shares the large one is fuller", .by = STRATEGY_MOST_ALLOCATED,
     .nodes = {{"large", 64, 256, 0}, {"small", 4, 256, 0}}, .held = {{"large", 32, 1, 0}},
     .roles = {{1, 1, 1, 0}}, .expected = "large"},
    {.name = "dispersed spares gpu nodes too", .by = STRATEGY_DISPERSED,
     .nodes = {{"n1", 64, 64, 4}, {"n2", 8, 8, 0}}, .roles = {{1, 1, 1, 0}}, .expected = "n2"},
    {.name = "dispersed goes by what is left, not by size", .by = STRATEGY_DISPERSED,
     .nodes = {{"n1", 8, 8, 0}, {"n2", 6, 8, 0}}, .held = {{"n1", 3, 1, 0}},
     .roles = {{1, 1, 1, 0}}, .expected = "n2"},
    {.name = "dispersed: a gang sees its own members", .by = STRATEGY_DISPERSED,
     .nodes = {{"n1", 4, 8, 0}, {"n2", 4, 8, 0}}, .roles = {{3, 1, 1, 0}}, .expected = "n1 n2 n1"},
    {.name = "dispersed: ties go by name", .by = STRATEGY_DISPERSED,
     .nodes = {{"n10", 4, 8, 0}, {"n9", 4, 8, 0}}, .roles = {{1, 1, 1, 0}}, .expected = "n9"},
    {.name = "fragmentation, dispersed: 1, 3, then 4 finds no place", .by = STRATEGY_DISPERSED,
     .nodes = {{"n1", 4, 8, 0}, {"n2", 4, 8, 0}}, .held = {{"n1", 1, 1, 0}, {"n2", 3, 1, 0}},
     .roles = {{1, 4, 1, 0}}, .expected = ""},
    {.name = "round robin: one after the other, and again", .by = STRATEGY_ROUND_ROBIN,
     .nodes = {{"n2", 8, 8, 0}, {"n1", 8, 8, 0}, {"n3", 8, 8, 0}}, .roles = {{5, 1, 1, 0}},
     .expected = "n1 n2 n3 n1 n2"},
    {.name = "round robin passes over what is full", .by = STRATEGY_ROUND_ROBIN,
     .nodes = {{"n1", 2, 8, 0}, {"n2", 1, 8, 0}, {"n3", 2, 8, 0}}, .roles = {{2, 2, 1, 0}},
     .expected = "n1 n3"},
    {.name = "best fit: a device weighs as 16 CPU", .by = STRATEGY_BEST_FIT,
     .nodes = {{"n1", 20, 8, 1}, {"n2", 4, 8, 2}}, .roles = {{1, 2, 1, 1}}, .expected = "n1"},
    {.name = "best fit: more CPU than a device weighs", .by = STRATEGY_BEST_FIT,
     .nodes = {{"n1", 21, 8, 1}, {"n2", 4, 8, 2}}, .roles = {{1, 2, 1, 1}}, .expected = "n2"},
    {.name = "best fit does not spare gpu nodes", .by = STRATEGY_BEST_FIT,
     .nodes = {{"n1", 2, 8, 1}, {"n2", 64, 8, 0}}, .roles = {{1, 1, 1, 0}}, .expected = "n1"},
    {.name = "gpus of a gang", .nodes = {{"n1", 8, 8, 2}, {"n2", 8, 8, 4}},
     .roles = {{3, 1, 1, 2}}, .expected = "n1 n2 n2"},
};

static uint32_t node_index(const struct lab *l, const char *name)
{
    return world_node_named(l->w, str_of(name))->id - 1;
}

static void hold(struct lab *l, const char *on, int cpu, int gib, int gpu)
{
    struct node *n = &l->w->nodes.v[node_index(l, on)];
    struct alloc a = {.ref = {.session = 1000 + l->w->allocs.n, .attempt = 1}, .node = n->id,
                      .slots = lab_slots(cpu, gib, gpu), .revoked = true};
    a.devices = devmap_pick(n->links, node_free_devices(n), (uint32_t)gpu);
    (void)ledger_add(l->w, &a);
}

static struct session request_of(size_t row)
{
    struct session s = lab_request(1, 1, 1, 0);
    s.n_roles = s.members = 0;
    s.one_node = CASES[row].one_node;
    s.strategy = CASES[row].by;
    for (size_t i = 0; i < 3 && CASES[row].roles[i].count > 0; i++) {
        s.roles[i].count = (uint32_t)CASES[row].roles[i].count;
        s.roles[i].slots = lab_slots(CASES[row].roles[i].cpu, CASES[row].roles[i].gib,
                                     CASES[row].roles[i].gpu);
        s.members += s.roles[i].count;
        s.n_roles++;
    }
    return s;
}

static void cases(void **state)
{
    (void)state;
    for (size_t row = 0; row < ARRAY_LEN(CASES); row++) {
        struct lab *l = lab_new(BLOCKED_STOP);
        struct place p = {0};
        struct strbuf got;
        strbuf_init(&got, 1000);
        for (size_t i = 0; i < 4 && CASES[row].nodes[i].name; i++) {
            lab_join(l, CASES[row].nodes[i].name, CASES[row].nodes[i].cpu,
                     CASES[row].nodes[i].gib, CASES[row].nodes[i].gpu);
        }
        for (size_t i = 0; i < 3 && CASES[row].held[i].on; i++) {
            hold(l, CASES[row].held[i].on, CASES[row].held[i].cpu, CASES[row].held[i].gib,
                 CASES[row].held[i].gpu);
        }
        struct session s = request_of(row);
        if (place_decide(l->w, &s, PLACE_NOW, &p)) {
            VEC_EACH(pick, &p.picks) {
                if (got.n > 0) strbuf_putc(&got, ' ');
                strbuf_puts(&got, world_node(l->w, pick->node)->name);
            }
        }
        strbuf_puts(&got, "");
        if (strcmp(got.p ? got.p : "", CASES[row].expected) != 0) {
            fail_msg("%s: %s, expected %s", CASES[row].name, got.p, CASES[row].expected);
        }
        strbuf_done(&got);
        place_done(&p);
        lab_free(l);
    }
}

/* What keeps a session off n1, which has two a100 and says "disk=ssd,zone=a", x86_64. */
static const struct {
    const char *name, *models, *labels, *arch, *node;
    bool preferred;
    uint32_t gpus, failures;
    enum filter expected;
} FILTER_CASES[] = {
    {.name = "nothing asked"},
    {.name = "its model", .models = "a100", .gpus = 1},
    {.name = "one of two models", .models = "h100|a100", .gpus = 2},
    {.name = "another model", .models = "h100", .gpus = 1, .expected = FILTER_MODEL},
    {.name = "a model without a device", .models = "h100"},
    {.name = "its label", .labels = "disk=ssd"},
    {.name = "both labels", .labels = "disk=ssd,zone=a"},
    {.name = "another value", .labels = "disk=hdd", .expected = FILTER_LABELS},
    {.name = "PLC8: a label that it does not have", .labels = "gpu=a100",
     .expected = FILTER_LABELS},
    {.name = "its arch", .arch = "x86_64"},
    {.name = "another arch", .arch = "aarch64", .expected = FILTER_ARCH},
    {.name = "it is designated", .node = "n1"},
    {.name = "another is designated", .node = "n2", .expected = FILTER_NODE},
    {.name = "another is preferred", .node = "n2", .preferred = true},
    {.name = "it failed there twice", .failures = 2},
    {.name = "it failed there three times", .failures = 3, .expected = FILTER_FAILED},
    {.name = "three times, and no other node would do", .failures = 3, .gpus = 1},
    {.name = "three times, and it is designated", .failures = 3, .node = "n1"},
};

static void filters(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_STOP);
    lab_join(l, "n1", 8, 8, 2);
    lab_join(l, "n2", 8, 8, 0);
    struct node *n = &l->w->nodes.v[0];
    TEXT_SET(n->labels, STR("disk=ssd,zone=a"));
    TEXT_SET(n->arch, STR("x86_64"));
    for (int i = 0; i < 2; i++) TEXT_SET(n->devices[i].model, STR("NVIDIA A100"));
    for (size_t i = 0; i < ARRAY_LEN(FILTER_CASES); i++) {
        struct session s = lab_request(1, 1, 1, FILTER_CASES[i].gpus);
        struct constraint *c = &s.where;
        s.members = 1;
        if (FILTER_CASES[i].models) TEXT_SET(c->gpu_models, str_of(FILTER_CASES[i].models));
        if (FILTER_CASES[i].labels) TEXT_SET(c->labels, str_of(FILTER_CASES[i].labels));
        if (FILTER_CASES[i].arch) TEXT_SET(c->arch, str_of(FILTER_CASES[i].arch));
        if (FILTER_CASES[i].node) c->node = node_index(l, FILTER_CASES[i].node) + 1;
        c->node_preferred = FILTER_CASES[i].preferred;
        if (FILTER_CASES[i].failures > 0) {
            s.n_failed_on = 1;
            s.failed_on[0] = (struct failed_start){1, FILTER_CASES[i].failures};
        }
        enum filter got = filter_node(l->w, &s, &s.roles[0].slots, 0);
        if (got == FILTER_CASES[i].expected) continue;
        fail_msg("%s: %s", FILTER_CASES[i].name, filter_name(got));
    }
    lab_free(l);
}

/* PLC5: the answer does not depend on the order in which nodes came. */
static void plc5_order_of_joining_is_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"n1", "n2", "n3", "n4"};
    for (uint32_t first = 0; first < 4; first++) {
        struct lab *l = lab_new(BLOCKED_STOP);
        for (uint32_t i = 0; i < 4; i++) lab_join(l, names[(first + i) % 4], 4, 8, 0);
        struct session s = lab_request(6, 2, 1, 0);
        s.members = 6;
        struct place p = {0};
        assert_true(place_decide(l->w, &s, PLACE_NOW, &p));
        for (uint32_t m = 0; m < 6; m++) {
            assert_string_equal(world_node(l->w, p.picks.v[m].node)->name, names[m / 2]);
        }
        place_done(&p);
        lab_free(l);
    }
}

static void devices(void **state)
{
    (void)state;
    for (uint32_t mask = 0; mask < 256; mask++) {
        for (uint32_t n = 0; n <= bits_count(mask); n++) {
            uint32_t got = devmap_pick("", mask, n);
            assert_int_equal(bits_count(got), n);
            assert_int_equal(got & ~mask, 0);
            /* The lowest: nothing left in the mask lies below what was taken. */
            if (n > 0) assert_true((mask & ~got & ((1u << (31 - __builtin_clz(got))) - 1)) == 0);
        }
    }
}

/* A plain second opinion for one member: look at all nodes, keep the best. */
static uint32_t slow_choice(const struct world *w, const struct slots *need)
{
    static const int ranking[] = {SLOT_GPU, SLOT_CPU, SLOT_MEM};
    const struct node *best = NULL;
    int64_t best_key[5] = {0};
    VEC_EACH(n, &w->nodes) {
        int64_t key[5] = {0}, free[SLOT_KINDS];
        bool fits = node_usable(n);
        for (int k = 0; k < SLOT_KINDS; k++) {
            free[k] = n->capacity.v[k] - n->used.v[k];
            if (k == SLOT_GPU) free[k] = bits_count(node_free_devices(n));
            fits = fits && free[k] >= need->v[k];
            key[0] += n->capacity.v[k] > 0 && need->v[k] == 0;
        }
        if (!fits) continue;
        for (int i = 0; i < 3; i++) key[i + 1] = free[ranking[i]];
        int order = 0;
        for (int i = 0; best && i < 4 && order == 0; i++) {
            order = key[i] < best_key[i] ? -1 : key[i] > best_key[i];
        }
        if (best && order == 0) order = str_natural_cmp(str_of(n->name), str_of(best->name));
        if (best && order > 0) continue;
        best = n;
        memcpy(best_key, key, sizeof(key));
    }
    return best ? best->id : 0;
}

static void agrees_with_a_slow_search(void **state)
{
    (void)state;
    uint32_t fitted = 0, refused = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct rng r = {seed};
        struct lab *l = lab_new(BLOCKED_SKIP);
        struct place p = {0};
        for (uint32_t i = 0; i < 6; i++) {
            char name[8];
            text_fmt(name, sizeof(name), "n%u", i * 3 % 7);
            lab_join(l, name, 1 + (int64_t)rng_below(&r, 4), 1 + (int64_t)rng_below(&r, 4),
                     (int64_t)rng_below(&r, 3));
        }
        l->w->nodes.v[0].cordoned = true;
        node_refresh(l->w, &l->w->nodes.v[0]);
        for (uint32_t i = 0; i < 30; i++) {
            struct session s = lab_request(1, 1 + (int64_t)rng_below(&r, 3),
                                           1 + (int64_t)rng_below(&r, 2),
                                           (int64_t)rng_below(&r, 2));
            s.members = 1;
            uint32_t slow = slow_choice(l->w, &s.roles[0].slots);
            bool fits = place_decide(l->w, &s, PLACE_NOW, &p);
            assert_int_equal(fits, slow != 0);
            fitted += fits;
            refused += !fits;
            if (!fits) continue;
            assert_int_equal(p.picks.v[0].node, slow);
            hold(l, world_node(l->w, slow)->name, (int)(s.roles[0].slots.v[SLOT_CPU] / 1000),
                 (int)(s.roles[0].slots.v[SLOT_MEM] >> 30), (int)s.roles[0].slots.v[SLOT_GPU]);
        }
        place_done(&p);
        lab_free(l);
    }
    assert_true(fitted > 100);
    assert_true(refused > 100);
}

/* What can be said without a search is what the search says, for all small requests. */
static void possible_is_what_a_search_finds(void **state)
{
    (void)state;
    static const int64_t SHAPES[][3] = {{1, 1, 0}, {2, 1, 0}, {1, 3, 1}, {3, 1, 2}, {0, 1, 1}};
    struct lab *l = lab_new(BLOCKED_STOP);
    struct place p = {0};
    uint32_t yes = 0, no = 0;
    lab_join(l, "n1", 4, 3, 2);
    lab_join(l, "n2", 2, 8, 0);
    lab_join(l, "n3", 1, 1, 1);
    for (uint32_t code = 0; code < 5 * 5 * 8 * 3 * 2; code++) {
        const int64_t *a = SHAPES[code % 5], *b = SHAPES[code / 5 % 5];
        uint32_t first = 1 + code / 25 % 8, second = code / 200 % 3;
        struct session s = lab_request(first, a[0], a[1], a[2]);
        s.one_node = code / 600 == 1;
        s.members = first + second;
        if (second > 0) {
            s.n_roles = 2;
            s.roles[1] = s.roles[0];
            s.roles[1].count = second;
            s.roles[1].slots = lab_slots(b[0], b[1], b[2]);
        }
        bool found = place_decide(l->w, &s, PLACE_EVER, &p);
        if (place_possible(l->w, &s, &p) != found) fail_msg("request %u", code);
        if (found) yes++;
        else no++;
    }
    assert_true(yes > 100 && no > 100);
    place_done(&p);
    lab_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases),
        cmocka_unit_test(filters),
        cmocka_unit_test(plc5_order_of_joining_is_nothing),
        cmocka_unit_test(devices),
        cmocka_unit_test(agrees_with_a_slow_search),
        cmocka_unit_test(possible_is_what_a_search_finds),
    };
    return RUN(tests);
}
