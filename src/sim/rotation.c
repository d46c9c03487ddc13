/* sim/rotation.c - one history: events in the order of time, an account of every hour.
 *
 * Invariant: each event is handled whole before the next, time never goes back, and
 * after every event the oracles look at all rotors. */
#include "sim/rotation.h"
#include <stdarg.h>
#include <stdlib.h>
#include "base/check.h"
#include "base/fmt.h"
#include "sim/rotation_fleet.h"

#define REST_MS (14 * HOUR_MS)       /* the longest run, and then some */
#define DIRECT_FIRST_MS HOUR_MS
#define RUN_FIRST_MS 1000
#define FAULT_FIRST_MS 600000

void fleet_broken(struct fleet *f, const char *fmt, ...)
{
    if (!f->result->ok) return; /* the first is what matters */
    va_list ap;
    va_start(ap, fmt);
    struct strbuf b;
    strbuf_init(&b, sizeof(f->result->why));
    strbuf_vfmt(&b, fmt, ap);
    va_end(ap);
    text_clip(f->result->why, sizeof(f->result->why), strbuf_str(&b));
    strbuf_done(&b);
    f->result->ok = false;
    f->result->at_ms = f->now_ms;
}

void fleet_say(struct fleet *f, const struct rotor *r, const char *fmt, ...)
{
    if (!f->options->say) return;
    struct strbuf b;
    strbuf_init(&b, 1024);
    strbuf_fmt(&b, "%11lld ", (long long)f->now_ms);
    if (r) strbuf_fmt(&b, "r%u ", r->index + 1);
    va_list ap;
    va_start(ap, fmt);
    strbuf_vfmt(&b, fmt, ap);
    va_end(ap);
    f->options->say(b.p);
    strbuf_done(&b);
}

void fleet_at(struct fleet *f, int64_t at_ms, enum fleet_event kind, uint32_t slot, uint32_t stamp)
{
    CHECK(at_ms >= f->now_ms);
    CHECK(kind < FLEET_EVENTS);
    uint64_t tie = f->seq++ << 8 | (uint64_t)kind;
    heap_push(&f->events, (struct heap_item){.key = at_ms, .tie = tie, .slot = slot,
                                             .stamp = stamp});
}

uint64_t fleet_below(struct fleet *f, uint64_t n) { return rng_below(&f->rng, n); }

bool fleet_chance(struct fleet *f, uint32_t one_in)
{
    return f->options->faults && !f->resting && fleet_below(f, one_in) == 0;
}

/* ---- setting up ---- */

static void make_pool(struct fleet *f, uint32_t i)
{
    static const int64_t loads_s[] = {180, 90, 120, 60, 240, 75, 150, 100};
    struct service *p = &f->pools[i];
    p->engine = i;
    bool equal = f->options->faults && i == 1 && f->options->seed % 2 == 0; /* to the first */
    p->priority = (int32_t)(f->n_pools - (equal ? 0 : i)) * 2;
    p->load_ms = loads_s[i] * 1000;
    p->keep = i < f->options->keep ? 1 : 0;
    p->batch = f->n_pools > 1 && i == f->n_pools - 1;
    text_fmt(p->name, sizeof(p->name), "pool%u", i + 1);
    if (f->options->co_resident && f->n_pools > 1 && i == f->n_pools - 1) p->engine = 0;
}

static void set_up(struct fleet *f, const struct rotation_trace *trace)
{
    const struct rotation_options *o = f->options;
    f->rng.state = o->seed * UINT64_C(0x2545f4914f6cdd1d) + 11;
    f->demand.state = o->seed * UINT64_C(0x9e3779b97f4a7c15) + 5;
    f->limits = ROTATE_LIMITS_DEFAULT;
    f->n_rotors = o->rotors;
    f->n_pools = o->pools;
    f->direct_rotor = NOBODY;
    for (uint32_t i = 0; i < f->n_pools; i++) make_pool(f, i);
    struct service *t = &f->pools[f->n_pools];
    *t = (struct service){.name = "training", .training = true, .engine = NOBODY, .priority = -1};
    rotation_arrivals_init(&f->arrivals, trace, f->n_pools, o->seed ^ 0x5eed, o->clock_ms);
    f->coming = rotation_arrivals_next(&f->arrivals);
    fleet_at(f, f->coming.at_ms, EV_ARRIVE, 0, 0);
    fleet_at(f, DIRECT_FIRST_MS, EV_DIRECT, 0, 0);
    fleet_at(f, RUN_FIRST_MS, EV_RUN_ARRIVE, 0, 0);
    if (o->faults) fleet_at(f, FAULT_FIRST_MS, EV_FAULT, 0, 0);
    for (uint32_t i = 0; i < f->n_rotors; i++) {
        struct rotor *r = &f->rotors[i];
        r->index = i;
        r->note.bound = r->note.run = r->disk.run = r->run.run = NOBODY;
        r->engine.pool = NOBODY;
        f->binding[i].bound = f->backup[i].bound = NOBODY;
        f->binding[i].run = f->backup[i].run = NOBODY;
        fleet_agent_start(f, r);
    }
    if (o->policy != ROTATION_ROTA) fleet_policy_start(f);
}

/* ---- the account ---- */

static enum rotation_use use_of(const struct rotor *r)
{
    const struct engine *e = &r->engine;
    if (r->down || r->quarantined) return USE_DOWN;
    if (r->run.executing) return USE_TRAINING;
    if (r->running.n > 0) return USE_SERVING;
    enum wayback_phase p = r->disk.phase;
    if (p >= WAYBACK_ENDED && p <= WAYBACK_RESTORED) return USE_RESTORING;
    if (p != WAYBACK_NONE && !r->disk.kept) return USE_DRAINING;
    if (r->agent.stage == MOVE_DRAIN || r->agent.stage == MOVE_STOP) return USE_DRAINING;
    if (r->agent.stage == MOVE_LOAD || e->loading) return USE_LOADING;
    return e->alive || r->note.bound != NOBODY ? USE_IDLE : USE_UNBOUND;
}

static void account(struct fleet *f, int64_t until_ms)
{
    int64_t end = until_ms < f->options->span_ms ? until_ms : f->options->span_ms;
    if (end <= f->now_ms) return;
    for (uint32_t i = 0; i < f->n_rotors; i++)
        f->result->use_ms[f->rotors[i].use] += end - f->now_ms;
}

/* ---- events ---- */

static bool is_agents(const struct fleet *f, const struct heap_item *e)
{
    const struct agent *a = &f->rotors[e->slot].agent;
    return a->up && a->life == e->stamp;
}

static void tick(struct fleet *f, struct rotor *r)
{
    f->result->ticks++;
    if (f->options->policy == ROTATION_ROTA) fleet_agent_tick(f, r);
    else fleet_policy_tick(f, r);
    if (!r->agent.up) return;
    int64_t jitter = (int64_t)fleet_below(f, 500);
    fleet_at(f, f->now_ms + FLEET_TICK_MS - 250 + jitter, EV_TICK, r->index, r->agent.life);
}

static void handle_rotor(struct fleet *f, enum fleet_event kind, const struct heap_item *e)
{
    struct rotor *r = &f->rotors[e->slot];
    switch (kind) {
    case EV_TICK: if (is_agents(f, e)) tick(f, r); break;
    case EV_STEP: if (r->agent.up && r->step == e->stamp) fleet_agent_step(f, r); break;
    case EV_LOADED: fleet_engine_loaded(f, r, e->stamp); break;
    case EV_ENGINE_GONE:
        if (r->engine.alive && r->engine.serial == e->stamp) fleet_engine_die(f, r);
        break;
    case EV_ENGINE_BACK: fleet_engine_back(f, r, e->stamp); break;
    case EV_RUN_END: fleet_run_ended(f, r, e->stamp); break;
    case EV_AGENT_UP: if (!r->agent.up && r->agent.life == e->stamp) fleet_agent_start(f, r); break;
    case EV_OPERATOR: fleet_operator(f, r); break;
    case EV_LATE: fleet_late(f, r); break;
    case EV_ARRIVE: case EV_DIRECT: case EV_DONE: case EV_HOLD_OUT: case EV_RETRY:
    case EV_RUN_ARRIVE: case EV_FAULT: case FLEET_EVENTS: UNREACHABLE();
    }
}

static void handle(struct fleet *f, const struct heap_item *e)
{
    enum fleet_event kind = (enum fleet_event)(e->tie & 0xff);
    switch (kind) {
    case EV_ARRIVE: if (!f->resting) fleet_arrive(f); break;
    case EV_DIRECT: if (!f->resting) fleet_direct(f); break;
    case EV_DONE: fleet_done(f, e->slot, e->stamp); break;
    case EV_HOLD_OUT: fleet_hold_out(f, e->slot, e->stamp); break;
    case EV_RETRY: fleet_retry(f, e->slot, e->stamp); break;
    case EV_RUN_ARRIVE: if (!f->resting) fleet_run_arrive(f); break;
    case EV_FAULT: if (!f->resting) fleet_fault(f); break;
    case EV_TICK: case EV_STEP: case EV_LOADED: case EV_ENGINE_GONE: case EV_ENGINE_BACK:
    case EV_RUN_END: case EV_AGENT_UP: case EV_OPERATOR: case EV_LATE:
        handle_rotor(f, kind, e);
        break;
    case FLEET_EVENTS: UNREACHABLE();
    }
    f->result->events++;
    uint64_t mixed = (uint64_t)e->key ^ (uint64_t)kind << 56 ^ (uint64_t)e->slot << 32;
    f->result->hash = (f->result->hash ^ mixed) * UINT64_C(0x100000001b3);
}

/* Faults end, traffic ends; queued runs that nobody has are not begun any more. */
static void rest(struct fleet *f)
{
    f->resting = true;
    f->away_until_ms = f->mute_until_ms = f->lossy_until_ms = 0;
    for (uint32_t i = 0; i < f->n_rotors; i++) {
        f->rotors[i].fault = (struct machine_faults){0};
        f->rotors[i].pin_until_ms = f->rotors[i].reserve_until_ms = 0;
    }
    for (uint32_t i = 0; i <= f->n_pools; i++) f->pools[i].fails_until_ms = 0;
}

static void play(struct fleet *f)
{
    int64_t end = f->options->span_ms + REST_MS;
    struct heap_item e;
    while (f->result->ok && heap_pop(&f->events, &e) && e.key <= end) {
        CHECK(e.key >= f->now_ms);
        account(f, e.key);
        f->now_ms = e.key;
        if (!f->resting && f->now_ms >= f->options->span_ms) rest(f);
        handle(f, &e);
        for (uint32_t i = 0; i < f->n_rotors; i++) f->rotors[i].use = use_of(&f->rotors[i]);
        oracle_event(f);
    }
    if (f->result->ok) oracle_rest(f);
}

/* ---- the end ---- */

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static struct rotation_wait wait_of(uint32_t *v, uint32_t n)
{
    if (n == 0) return (struct rotation_wait){0};
    qsort(v, n, sizeof(*v), by_size);
    int64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += v[i];
    return (struct rotation_wait){.mean_ms = sum / n, .p50_ms = v[n / 2],
        .p99_ms = v[(uint64_t)n * 99 / 100], .most_ms = v[n - 1], .requests = n};
}

static void count_waits(struct fleet *f)
{
    VEC(uint32_t) all = {0};
    for (uint32_t i = 0; i < f->n_pools; i++) {
        struct service *p = &f->pools[i];
        VEC_EACH(w, &p->waits) VEC_PUSH(&all, *w);
        f->result->pool_wait[i] = wait_of(p->waits.v, p->waits.n);
    }
    f->result->wait = wait_of(all.v, all.n);
    VEC_DONE(&all);
}

static void tear_down(struct fleet *f)
{
    for (uint32_t i = 0; i <= f->n_pools; i++) {
        VEC_DONE(&f->pools[i].queue);
        VEC_DONE(&f->pools[i].refusals);
        VEC_DONE(&f->pools[i].waits);
    }
    for (uint32_t i = 0; i < f->n_rotors; i++) VEC_DONE(&f->rotors[i].running);
    VEC_DONE(&f->requests);
    VEC_DONE(&f->spare);
    VEC_DONE(&f->runs);
    heap_done(&f->events);
}

void rotation_run(const struct rotation_options *options, const struct rotation_trace *trace,
                  struct rotation_result *ret)
{
    CHECK(options->span_ms > 0);
    CHECK(options->rotors > 0 && options->rotors <= ROTATION_ROTORS_MAX);
    CHECK(options->pools > 0 && options->pools <= ROTATION_POOLS_MAX);
    CHECK(options->policy < ROTATION_POLICIES);
    *ret = (struct rotation_result){.ok = true, .hash = UINT64_C(0xcbf29ce484222325)};
    struct fleet *f = mem_alloc(sizeof(*f));
    f->options = options;
    f->result = ret;
    set_up(f, trace);
    play(f);
    count_waits(f);
    tear_down(f);
    mem_free(f);
}
