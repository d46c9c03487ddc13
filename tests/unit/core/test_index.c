/* The index against looking at every node: random worlds, every strategy, constraints,
 * gangs, nodes that come, go and change between the searches.
 *
 * The slow search below is written from docs/spec/scheduling.md and shares nothing with
 * the fast one but the arithmetic of slots. */
#include "harness.h"

#include "base/bitset.h"
#include "base/rng.h"
#include "core/sched/devmap.h"
#include "core/sched/index.h"
#include "core/sched/place.h"
#include "core/sched/plan.h"
#include "core/sched/sched.h"

#define MEMBERS_MAX 24

/* ---- the slow search */

struct slow {
    const struct world *w;
    const struct session *s;
    VEC(struct room) rooms;
    uint32_t after;
    struct place_pick picks[MEMBERS_MAX];
};

static bool has_word(const char *list, char sep, const char *word)
{
    struct str rest = str_of(list);
    while (rest.n > 0) {
        struct str one;
        (void)str_cut(&rest, sep, &one);
        if (str_eq(one, str_of(word))) return true;
    }
    return false;
}

static bool admitted(const struct slow *x, uint32_t at, const struct slots *need, bool again);

static bool failed_thrice(const struct slow *x, uint32_t at)
{
    for (uint32_t i = 0; i < x->s->n_failed_on; i++) {
        if (x->s->failed_on[i].node == at + 1) return x->s->failed_on[i].times >= 3;
    }
    return false;
}

/* Could the others hold it, if they were empty? */
static bool others_hold(const struct slow *x)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < x->w->rooms.n; i++) {
        const struct room *r = &x->w->rooms.v[i];
        struct slots left = r->capacity, need = x->s->roles[0].slots;
        for (int k = 0; x->s->one_node && k < SLOT_KINDS; k++) need.v[k] *= x->s->members;
        if (r->group != x->s->group || !r->usable || failed_thrice(x, i)) continue;
        if (!admitted(x, i, &need, true)) continue;
        while (found < MEMBERS_MAX && slots_sub(&left, &need, &left)) found++;
    }
    return found >= (x->s->one_node ? 1 : x->s->members);
}

static bool admitted(const struct slow *x, uint32_t at, const struct slots *need, bool again)
{
    const struct constraint *c = &x->s->where;
    const struct node *n = &x->w->nodes.v[at];
    if (c->node != 0 && !c->node_preferred && n->id != c->node) return false;
    if (c->arch[0] != '\0' && strcmp(c->arch, n->arch) != 0) return false;
    struct str rest = str_of(c->labels);
    while (rest.n > 0) {
        struct str pair;
        char word[64];
        (void)str_cut(&rest, ',', &pair);
        text_fmt(word, sizeof(word), "%.*s", (int)pair.n, pair.p);
        if (!has_word(n->labels, ',', word)) return false;
    }
    for (uint32_t i = 0; c->gpu_models[0] != '\0' && need->v[SLOT_GPU] > 0 && i < n->n_devices;
         i++) {
        if (!has_word(c->gpu_models, '|', n->devices[i].model)) return false;
    }
    return again || !failed_thrice(x, at) || !others_hold(x);
}

static bool slow_takes(const struct slow *x, uint32_t at, const struct slots *need)
{
    const struct room *r = &x->rooms.v[at];
    if (r->group != x->s->group || !r->usable) return false;
    for (int k = 0; k < SLOT_KINDS; k++) {
        if (need->v[k] > r->free.v[k]) return false;
    }
    return admitted(x, at, need, false);
}

static bool slow_failed(const struct slow *x, uint32_t at)
{
    for (uint32_t i = 0; i < x->s->n_failed_on; i++) {
        if (x->s->failed_on[i].node == at + 1) return true;
    }
    return false;
}

static int by_name(const struct slow *x, uint32_t a, uint32_t b)
{
    return str_natural_cmp(str_of(x->w->nodes.v[a].name), str_of(x->w->nodes.v[b].name));
}

/* Smaller is better, from the left. */
static void slow_key(const struct slow *x, uint32_t at, const struct slots *need, int64_t key[6])
{
    const struct room *r = &x->rooms.v[at];
    const int64_t *cap = r->capacity.v, *free = r->free.v;
    int64_t sum = 0, named = 0, unused = 0;
    memset(key, 0, 6 * sizeof(*key));
    key[5] = slow_failed(x, at);
    for (int k = 0; k < SLOT_KINDS; k++) unused += cap[k] > 0 && need->v[k] == 0;
    switch (x->s->strategy) {
    case STRATEGY_CONCENTRATED:
    case STRATEGY_DISPERSED: {
        int64_t sign = x->s->strategy == STRATEGY_DISPERSED ? -1 : 1;
        key[0] = unused;
        key[1] = sign * free[SLOT_GPU];
        key[2] = sign * free[SLOT_CPU];
        key[3] = sign * free[SLOT_MEM];
        return;
    }
    case STRATEGY_ROUND_ROBIN:
        key[0] = key[5];
        key[1] = x->after != 0 && by_name(x, at, x->after - 1) <= 0;
        return;
    case STRATEGY_LEAST_ALLOCATED:
    case STRATEGY_MOST_ALLOCATED:
        for (int k = 0; k < SLOT_KINDS; k++) {
            int64_t requested = cap[k] - free[k] + need->v[k];
            if (need->v[k] == 0) continue;
            named++;
            if (x->s->strategy == STRATEGY_LEAST_ALLOCATED)
                sum += (cap[k] - requested) * 100 / cap[k];
            else sum += (requested < cap[k] ? requested : cap[k]) * 100 / cap[k];
        }
        key[0] = named > 0 ? -(sum / named) : 0;
        return;
    case STRATEGY_BEST_FIT:
        key[0] = free[SLOT_CPU] - need->v[SLOT_CPU] + 16000 * (free[SLOT_GPU] - need->v[SLOT_GPU]);
        key[1] = free[SLOT_MEM] - need->v[SLOT_MEM];
        return;
    case PLACE_STRATEGIES: break;
    }
    fail_msg("no such strategy");
}

static bool slow_choice(struct slow *x, const struct slots *need, uint32_t *ret)
{
    bool found = false;
    int64_t best[6] = {0};
    uint32_t named = x->s->where.node;
    if (named != 0 && slow_takes(x, named - 1, need)) {
        *ret = named - 1;
        return true;
    }
    for (uint32_t i = 0; i < x->rooms.n; i++) {
        int64_t key[6];
        int order = 0;
        if (!slow_takes(x, i, need)) continue;
        slow_key(x, i, need, key);
        for (int k = 0; found && k < 6 && order == 0; k++)
            order = (key[k] > best[k]) - (key[k] < best[k]);
        if (found && order == 0) order = by_name(x, i, *ret);
        if (found && order > 0) continue;
        found = true;
        *ret = i;
        memcpy(best, key, sizeof(best));
    }
    return found;
}

/* Members one by one, each on a copy that knows the ones before. */
static bool slow_place(struct slow *x)
{
    const struct session *s = x->s;
    struct slots total = {{0}};
    VEC_CLEAR(&x->rooms);
    VEC_EACH(r, &x->w->rooms) VEC_PUSH(&x->rooms, *r);
    for (uint32_t i = 0; i < x->rooms.n; i++) { /* beside promises: free until its own limit */
        int64_t until_ms = s->time_limit_ms ? x->w->now_ms + s->time_limit_ms : PLAN_NEVER;
        struct room *r = &x->rooms.v[i];
        if (r->usable && plan_promised(x->w, i + 1)) plan_window(x->w, i + 1, s, until_ms, r);
    }
    x->after = world_group(x->w, s->group)->round_robin_node;
    uint32_t on = 0;
    for (uint32_t m = 0; m < s->members; m++) {
        for (int k = 0; k < SLOT_KINDS; k++) total.v[k] += s->roles[0].slots.v[k];
    }
    if (s->one_node && !slow_choice(x, &total, &on)) return false;
    for (uint32_t m = 0; m < s->members; m++) {
        const struct slots *need = &s->roles[0].slots;
        if (!s->one_node && !slow_choice(x, need, &on)) return false;
        struct room *r = &x->rooms.v[on];
        uint32_t devices = bits_take_low(r->devices, (uint32_t)need->v[SLOT_GPU]);
        for (int k = 0; k < SLOT_KINDS; k++) r->free.v[k] -= need->v[k];
        r->devices &= ~devices;
        x->picks[m] = (struct place_pick){on + 1, devices};
        x->after = on + 1;
    }
    return true;
}

/* ---- random worlds */

static const char *const MODELS[] = {"a10", "v100", "h100", "l4"};
static const char *const LABELS[] = {"", "disk=ssd", "disk=hdd", "disk=ssd,zone=a", "zone=b"};
static const char *const ARCHS[] = {"x86_64", "aarch64"};

static void say(struct rng *r, struct node *n)
{
    TEXT_SET(n->labels, str_of(LABELS[rng_below(r, ARRAY_LEN(LABELS))]));
    TEXT_SET(n->arch, str_of(ARCHS[rng_below(r, 8) == 0]));
}

static struct node random_node(struct rng *r, uint32_t id, bool alike)
{
    struct node n = {.id = id, .group = 1 + (rng_below(r, 10) == 0)};
    const char *model = MODELS[rng_below(r, ARRAY_LEN(MODELS))];
    text_fmt(n.name, sizeof(n.name), "n%u", id * 7919u % 100003u);
    n.n_devices = alike ? 8 : (uint32_t)(rng_below(r, 3) * 4);
    for (uint32_t i = 0; i < n.n_devices; i++) {
        bool odd = rng_below(r, 40) == 0;
        TEXT_SET(n.devices[i].model, str_of(odd ? "odd" : model));
        n.devices[i].health =
            rng_below(r, 50) > 0 ? DEVICE_HEALTHY
                                 : (enum device_health)rng_below(r, DEVICE_HEALTHS);
    }
    n.capacity = lab_slots(alike ? 64 : 8 << rng_below(r, 4), alike ? 256 : 16 << rng_below(r, 4),
                           n.n_devices);
    say(r, &n);
    return n;
}

static void hold(struct world *w, uint32_t at, struct slots amount, uint32_t devices)
{
    (void)ledger_add(w, &(struct alloc){.ref = {.session = 100000 + w->allocs.n, .attempt = 1},
                                        .node = at + 1,
                                        .slots = amount,
                                        .devices = devices,
                                        .revoked = true});
}

/* `load` in percent: how much of each node is taken, about. */
static struct world *random_world(struct rng *r, uint32_t nodes, uint32_t load, bool alike)
{
    struct world *w = world_new();
    const char *why = NULL;
    struct group a = group_make(1, "a", BLOCKED_SKIP), b = group_make(2, "b", BLOCKED_SKIP);
    assert_true(world_put_group(w, &a) && world_put_group(w, &b));
    for (uint32_t i = 1; i <= nodes; i++) {
        struct node n = random_node(r, i, alike);
        assert_true(world_put_node(w, &n));
    }
    assert_true(world_ready(w, &why));
    VEC_EACH(n, &w->nodes) {
        n->heard = rng_below(r, 30) > 0;
        n->cordoned = rng_below(r, 30) == 0;
        node_refresh(w, n);
    }
    sched_sync(w);
    for (uint32_t i = 0; i < nodes; i++) {
        const struct room *room = &w->rooms.v[i];
        if (rng_below(r, 100) >= load) continue;
        uint32_t gpus = bits_count(room->devices);
        gpus = rng_below(r, 100) < load ? gpus : (uint32_t)rng_below(r, gpus + 1);
        struct slots taken = lab_slots(
            (int64_t)rng_below(r, (uint64_t)room->free.v[SLOT_CPU] / 1000),
            (int64_t)rng_below(r, (uint64_t)room->free.v[SLOT_MEM] >> 30), gpus);
        hold(w, i, taken, bits_take_low(room->devices, gpus));
    }
    sched_sync(w);
    return w;
}

static struct session random_request(struct rng *r, const struct world *w)
{
    struct session s = {.n_roles = 1, .group = 1 + (rng_below(r, 10) == 0)};
    s.strategy = STRATEGY_CONCENTRATED + (enum place_strategy)rng_below(r, PLACE_STRATEGIES - 1);
    s.members = rng_below(r, 3) == 0 ? 1 + (uint32_t)rng_below(r, MEMBERS_MAX) : 1;
    s.one_node = rng_below(r, 4) == 0;
    s.roles[0].count = s.members;
    s.roles[0].slots = lab_slots(1 + (int64_t)rng_below(r, 12), 1 + (int64_t)rng_below(r, 24),
                                 rng_below(r, 3) == 0 ? 0 : (int64_t)rng_below(r, 9));
    if (rng_below(r, 4) == 0) {
        TEXT_SET(s.where.gpu_models, rng_below(r, 2) ? STR("h100") : STR("a10|v100"));
    }
    if (rng_below(r, 4) == 0) TEXT_SET(s.where.labels, str_of(LABELS[rng_below(r, 5)]));
    if (rng_below(r, 6) == 0) TEXT_SET(s.where.arch, str_of(ARCHS[rng_below(r, 2)]));
    s.time_limit_ms = 1000 * (int64_t)rng_below(r, 4);
    if (rng_below(r, 8) == 0) {
        s.where.node = 1 + (uint32_t)rng_below(r, w->nodes.n);
        s.where.node_preferred = rng_below(r, 2) == 0;
    }
    return s;
}

/* It failed where it would go: the ways around that are taken as well. */
static void fail_there(struct rng *r, struct session *s, uint32_t node)
{
    if (s->n_failed_on == SESSION_FAILED_NODES || filter_failures(s, node) > 0) return;
    s->failed_on[s->n_failed_on++] = (struct failed_start){node, 1 + (uint32_t)rng_below(r, 3)};
}

struct tally {
    uint32_t placed, refused;
};

static void compare(const struct world *w, const struct session *s, struct slow *slow,
                    struct place *p, struct tally *tally)
{
    slow->w = w;
    slow->s = s;
    bool expected = slow_place(slow);
    bool got = place_decide(w, s, PLACE_NOW, p);
    if (got != expected) {
        fail_msg("%s: %d, expected %d", place_strategy_name(s->strategy), got, expected);
    }
    for (uint32_t m = 0; got && m < s->members; m++) {
        if (p->picks.v[m].node == slow->picks[m].node &&
            p->picks.v[m].devices == slow->picks[m].devices)
            continue;
        fail_msg("%s: member %u of %u on node %u, expected %u", place_strategy_name(s->strategy), m,
                 s->members, p->picks.v[m].node, slow->picks[m].node);
    }
    if (got) tally->placed++;
    else tally->refused++;
}

/* Somebody is promised room, or what was promised is given up. */
static void promise(struct rng *r, struct world *w)
{
    if (rng_below(r, 2) == 0 && w->last_session > 0) {
        (void)plan_drop(w, 1 + rng_below(r, w->last_session));
        return;
    }
    struct promise p = {0};
    uint64_t blocker;
    struct session *s = world_add_session(w);
    uint32_t first = s->first_alloc;
    *s = random_request(r, w);
    s->first_alloc = first;
    s->id = ++w->last_session;
    s->state = SESSION_PENDING;
    s->time_limit_ms = 1000 * (1 + (int64_t)rng_below(r, 5));
    text_fmt(s->name, sizeof(s->name), "w%llu", (unsigned long long)s->id);
    world_index_session(w, s);
    if (!plan_earliest(w, s, &p, &blocker)) return;
    if (rng_below(r, 2) == 0) p.at_ms += 2000; /* there is time before it */
    p.end_ms = p.at_ms + s->time_limit_ms;
    plan_keep(w, &p);
}

static void join(struct rng *r, struct world *w)
{
    struct node *n = world_add_node(w);
    uint32_t id = n->id, first = n->first_alloc;
    *n = random_node(r, id, false);
    n->first_alloc = first;
    n->heard = true;
    node_refresh(w, n);
}

/* One of the things that happen to nodes. */
static void disturb(struct rng *r, struct world *w)
{
    if (rng_below(r, 20) == 0) join(r, w);
    if (rng_below(r, w->nodes.n > 100 ? 10 : 3) == 0) promise(r, w);
    struct node *n = &w->nodes.v[rng_below(r, w->nodes.n)];
    if (n->name[0] == '\0') return;
    switch (rng_below(r, 8)) {
    case 0: n->cordoned = !n->cordoned; break;
    case 1: n->heard = !n->heard; break;
    case 2: say(r, n); break;
    case 3: n->group = 3 - n->group; break;
    case 4:
        if (n->n_devices > 0) {
            n->devices[0].health =
                n->devices[0].health == DEVICE_HEALTHY ? DEVICE_QUARANTINED : DEVICE_HEALTHY;
        }
        break;
    case 5:
        if (n->first_alloc == MAP_NONE) n->name[0] = '\0';
        break;
    default:
        while (n->first_alloc != MAP_NONE) ledger_release(w, world_allocs_of_node(w, n));
        return;
    }
    node_refresh(w, n);
}

static void search_and_take(struct rng *r, struct world *w, struct slow *slow, struct place *p,
                            struct tally *tally)
{
    struct session s = random_request(r, w);
    compare(w, &s, slow, p, tally);
    while (p->picks.n > 0 && rng_below(r, 3) == 0 && slow->picks[0].node != 0) {
        fail_there(r, &s, slow->picks[0].node);
        compare(w, &s, slow, p, tally);
    }
    if (!place_decide(w, &s, PLACE_NOW, p) || rng_below(r, 2) == 0) return;
    VEC_EACH(pick, &p->picks) hold(w, pick->node - 1, s.roles[0].slots, pick->devices);
    if (rng_below(r, 5) == 0) w->now_ms += 500;
    world_group(w, s.group)->round_robin_node = p->picks.v[s.members - 1].node;
}

static struct tally run_world(uint64_t seed, uint32_t nodes, uint32_t load, uint32_t searches)
{
    struct rng r = {seed};
    struct world *w = random_world(&r, nodes, load, seed % 3 == 0);
    struct slow slow = {0};
    struct place p = {0};
    struct tally tally = {0};
    for (uint32_t i = 0; i < searches; i++) {
        search_and_take(&r, w, &slow, &p, &tally);
        disturb(&r, w);
        if (rng_below(&r, 4) > 0) sched_sync(w); /* else the changes wait, and are seen as well */
        const char *why = nodes < 100 || i % 50 == 0 ? index_audit(w) : NULL;
        if (why) fail_msg("seed %llu: %s", (unsigned long long)seed, why);
    }
    VEC_DONE(&slow.rooms);
    place_done(&p);
    world_free(w);
    return tally;
}

static void small_worlds(void **state)
{
    (void)state;
    struct tally all = {0};
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        struct tally t = run_world(seed, 1 + (uint32_t)(seed % 40), (uint32_t)(seed * 37 % 101),
                                   12);
        all.placed += t.placed;
        all.refused += t.refused;
    }
    assert_true(all.placed > 5000 && all.refused > 5000);
}

static void ten_thousand_nodes(void **state)
{
    (void)state;
    static const uint32_t LOADS[] = {0, 60, 97};
    struct tally all = {0};
    for (uint64_t i = 0; i < ARRAY_LEN(LOADS); i++) {
        struct tally t = run_world(9000 + i, 10000, LOADS[i], 1000);
        all.placed += t.placed;
        all.refused += t.refused;
    }
    assert_true(all.placed + all.refused > 4100);
    assert_true(all.placed > 1000 && all.refused > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_worlds),
        cmocka_unit_test(ten_thousand_nodes),
    };
    return RUN(tests);
}
