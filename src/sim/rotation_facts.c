/* sim/rotation_facts.c - one snapshot of what an agent knows, each fact as it may be read.
 *
 * What the agent cannot read is UNKNOWN; no fact is taken from the truth past its
 * signal.  docs/spec/rotation.md, "States and inputs" */
#include "base/check.h"
#include "sim/rotation_fleet.h"

#define BUSY_BYTES 100000     /* of a request on the port, within the window */
#define NOISE_BYTES 20000
#define BUSY_MILLI 600
#define NOISE_MILLI 150

enum fact fleet_sees(const struct fleet *f, const struct rotor *r, bool truth)
{
    if (f->now_ms < r->fault.driver_ms) return FACT_UNKNOWN;
    return truth ? FACT_YES : FACT_NO;
}

static enum fact fact(bool known, bool value)
{
    if (!known) return FACT_UNKNOWN;
    return value ? FACT_YES : FACT_NO;
}

static bool is_view_fresh(const struct fleet *f, const struct rotor *r)
{
    const struct agent *a = &r->agent;
    return a->known && clocks_fresh(&f->limits, FACT_YES, f->now_ms - a->view_ms) == FACT_YES;
}

static bool is_pool_fresh(const struct fleet *f, const struct rotor *r, uint32_t pool)
{
    int64_t age = f->now_ms - r->agent.view[pool].at_ms;
    return is_view_fresh(f, r) && clocks_fresh(&f->limits, FACT_YES, age) == FACT_YES;
}

static bool serves(const struct fleet *f, const struct rotor *r, uint32_t pool)
{
    return r->note.bound < f->n_pools && f->pools[pool].engine == f->pools[r->note.bound].engine;
}

/* ---- the loop's ---- */

static void add_state(const struct fleet *f, const struct rotor *r, struct rotate_facts *h)
{
    h->state = r->note.bound == NOBODY ? ROTATE_UNBOUND
               : r->note.bound == f->n_pools ? ROTATE_TRAINPOOL : ROTATE_SERVING;
    h->transition = r->agent.stage != MOVE_NONE;
    if (r->disk.phase == WAYBACK_NONE || r->disk.kept) return;
    h->transition = r->disk.corrupt || r->disk.phase != WAYBACK_LIVE;
    if (r->disk.phase == WAYBACK_LIVE) h->state = ROTATE_TRAINING;
}

static enum rotate_engine engine_of(const struct fleet *f, const struct rotor *r)
{
    enum fact alive = fleet_sees(f, r, r->engine.alive);
    if (alive == FACT_UNKNOWN) return ENGINE_UNKNOWN;
    if (alive == FACT_NO) return ENGINE_ABSENT;
    if (r->note.bound >= f->n_pools) return ENGINE_ACTIVE; /* a stray one */
    return rotate_engine_of(quiet_now(&f->limits, &r->agent.quiet, f->now_ms));
}

/* Of the bound pool, and of those that share its engine and have work here. */
static struct reading priority_of(const struct fleet *f, const struct rotor *r, bool readable)
{
    if (r->note.bound >= f->n_pools) return READING(r->note.bound == NOBODY ? 0 : -1);
    int32_t best = f->pools[r->note.bound].priority;
    for (uint32_t i = 0; i < f->n_pools; i++) {
        if (i == r->note.bound || !serves(f, r, i)) continue;
        if (!readable || !is_pool_fresh(f, r, i)) return (struct reading){0};
        bool work = fleet_in_flight(f, r, true) > 0 || r->agent.view[i].waiting > 0;
        if (work && f->pools[i].priority > best) best = f->pools[i].priority;
    }
    return READING(best);
}

/* Every third rotor is too small for the second pool, where there are faults at all. */
static bool fits(const struct fleet *f, const struct rotor *r, uint32_t pool)
{
    return !(f->options->faults && r->index % 3 == 2 && pool == 1);
}

static uint32_t add_candidates(const struct fleet *f, const struct rotor *r, struct snapshot *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i <= f->n_pools; i++) {
        if (i == r->note.bound) continue;
        const struct service *p = &f->pools[i];
        const struct pool_view *v = &r->agent.view[i];
        s->pools[n] = i;
        s->candidates[n++] = (struct rotate_candidate){
            .name = p->name, .priority = p->priority, .training = p->training,
            .waiting = v->waiting, .oldest_ms = f->now_ms - v->oldest_ms,
            .readable = fact(true, r->agent.known), .fresh = fact(true, is_pool_fresh(f, r, i)),
            .fits = fact(true, fits(f, r, i)), .co_resident = fact(true, serves(f, r, i)),
            .backed_off = fact(true, f->now_ms < r->agent.backed_until_ms[i])};
    }
    return n;
}

static void add_loop(struct fleet *f, struct rotor *r, struct snapshot *s)
{
    struct rotate_facts *h = &s->facts.here;
    struct agent *a = &r->agent;
    bool proxy = f->now_ms >= f->mute_until_ms, serving = r->note.bound < f->n_pools;
    add_state(f, r, h);
    h->run_live = fleet_sees(f, r, r->run.there || r->run.leftover);
    h->in_flight = fact(proxy || !serving, fleet_in_flight(f, r, false) > 0);
    h->co_in_flight = fact(proxy || !serving, fleet_in_flight(f, r, true) > 0);
    h->pinned = fact(is_view_fresh(f, r), a->pinned);
    h->reserved = fact(is_view_fresh(f, r), a->reserved);
    h->engine = engine_of(f, r);
    h->cur_prio = priority_of(f, r, proxy);
    a->at.engine_ms = serving ? quiet_anchor(&a->quiet) : a->at.bound_ms;
    h->idle_ms = h->state == ROTATE_TRAINPOOL ? clocks_release(&a->at, f->now_ms)
                                              : clocks_idle(&a->at, f->now_ms);
    h->dwell_ms = clocks_dwell(&a->at, f->now_ms);
    h->n_candidates = add_candidates(f, r, s);
    h->candidates = s->candidates;
}

/* ---- the gate's ---- */

static enum fact demand_here(struct fleet *f, const struct rotor *r, enum rotate_engine engine,
                             enum fact queued)
{
    bool lately = f->now_ms - r->engine.active_ms <= GATE_DEMAND_WINDOW_MS || r->running.n > 0;
    struct gate_demand d = {.queued = queued, .engine = engine};
    if (f->now_ms >= r->fault.port_ms) {
        int64_t noise = f->now_ms < r->fault.noise_ms ? NOISE_BYTES : 0;
        d.port_bytes = READING((lately ? BUSY_BYTES : 0) + noise);
    }
    if (f->now_ms >= r->fault.driver_ms) {
        int64_t noise = f->now_ms < r->fault.device_ms ? NOISE_MILLI : 0;
        d.device_milli = READING((lately ? BUSY_MILLI : 0) + noise);
    }
    return gate_node_demand(&d);
}

static void add_gate(struct fleet *f, struct rotor *r, struct gate_facts *g)
{
    bool fresh = true, asked = false, local = false;
    int64_t oldest;
    for (uint32_t i = 0; i < f->n_pools; i++) {
        if (!serves(f, r, i)) continue;
        fresh = fresh && is_pool_fresh(f, r, i);
        asked = asked || r->agent.view[i].waiting > 0;
        local = local || fleet_waiting(f, i, &oldest) > 0;
    }
    g->run_fits = fact(is_view_fresh(f, r), r->agent.next_run != NOBODY);
    g->queued = fact(f->now_ms >= f->mute_until_ms, local);
    g->demand_manager = fact(fresh && is_view_fresh(f, r), asked);
    g->demand_node = demand_here(f, r, g->here.engine, g->queued);
    g->epochs_agree = fact(r->agent.known, r->agent.view_epoch == r->note.epoch);
    if (r->note.bound < f->n_pools)
        g->quiet_ms = quiet_span(&f->limits, &r->agent.quiet, f->now_ms);
}

/* ---- what an agent that takes silence for consent would see ---- */

static void assume(enum fact *fact)
{
    if (*fact == FACT_UNKNOWN) *fact = FACT_NO;
}

static void assume_best(struct fleet *f, struct gate_facts *g)
{
    assume(&g->here.run_live);
    assume(&g->here.in_flight);
    assume(&g->here.co_in_flight);
    assume(&g->here.pinned);
    assume(&g->here.reserved);
    assume(&g->queued);
    assume(&g->demand_manager);
    assume(&g->demand_node);
    if (g->here.engine == ENGINE_UNKNOWN) g->here.engine = ENGINE_QUIET;
    if (!g->quiet_ms.known) g->quiet_ms = READING(f->limits.quiet_ms);
}

void fleet_facts(struct fleet *f, struct rotor *r, struct snapshot *ret)
{
    *ret = (struct snapshot){0};
    add_loop(f, r, ret);
    add_gate(f, r, &ret->facts);
    if (fleet_is_broken(f, BREAK_UNKNOWN_IS_FINE)) assume_best(f, &ret->facts);
    if (fleet_is_broken(f, BREAK_IGNORE_PIN)) ret->facts.here.pinned = FACT_NO;
    if (fleet_is_broken(f, BREAK_IGNORE_RESERVE)) ret->facts.here.reserved = FACT_NO;
    if (fleet_is_broken(f, BREAK_ANY_PRIORITY)) ret->facts.here.cur_prio = READING(-1);
    if (fleet_is_broken(f, BREAK_IGNORE_DWELL)) ret->facts.here.dwell_ms = READING(HOUR_MS);
}
