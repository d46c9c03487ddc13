/* sim/rotation_engine.c - engines: loading, serving, ending, and what can be read of them.
 *
 * Invariant: what runs in an engine that ends is answered visibly before it is gone. */
#include "base/check.h"
#include "sim/rotation_fleet.h"

#define END_MOST_MS 8000         /* from SIGTERM to the end of the process */
#define FREE_MOST_MS 5000        /* from there until the devices are free */
#define DOCKER_BACK_MS 2000      /* a restart policy at work */
#define STUCK_GAUGE 3

bool fleet_memory_free(const struct fleet *f, const struct rotor *r)
{
    return !r->engine.alive && !r->run.there && !r->run.leftover &&
           f->now_ms >= r->memory_free_ms && f->now_ms >= r->fault.memory_ms;
}

bool fleet_engine_healthy(const struct rotor *r)
{
    return r->engine.alive && !r->engine.loading && !r->engine.terming;
}

void fleet_engine_start(struct fleet *f, struct rotor *r, uint32_t pool)
{
    CHECK(pool < f->n_pools);
    CHECK(!r->engine.alive);
    oracle_engine_start(f, r);
    struct engine *e = &r->engine;
    uint32_t serial = e->serial + 1;
    *e = (struct engine){.alive = true, .loading = true, .armed = true, .pool = pool,
                         .serial = serial, .start = ++f->starts, .active_ms = f->now_ms};
    int64_t most = f->pools[pool].load_ms;
    fleet_at(f, f->now_ms + most * 3 / 4 + (int64_t)fleet_below(f, (uint64_t)most / 2), EV_LOADED,
             r->index, serial);
    fleet_say(f, r, "engine of %s starts", f->pools[pool].name);
}

void fleet_engine_loaded(struct fleet *f, struct rotor *r, uint32_t serial)
{
    struct engine *e = &r->engine;
    if (!e->alive || !e->loading || e->serial != serial) return;
    if (f->now_ms < f->pools[e->pool].fails_until_ms) {
        e->armed = false;
        fleet_engine_die(f, r);
        return;
    }
    e->loading = false;
    e->active_ms = f->now_ms;
    e->counter++;
    if (r->agent.up) fleet_agent_step(f, r);
    fleet_pump(f, f->pools[e->pool].engine); /* after a crash its routes were never gone */
}

void fleet_engine_term(struct fleet *f, struct rotor *r)
{
    struct engine *e = &r->engine;
    if (!e->alive || e->terming) return;
    oracle_term(f, r);
    e->terming = true;
    fleet_at(f, f->now_ms + 500 + (int64_t)fleet_below(f, END_MOST_MS), EV_ENGINE_GONE, r->index,
             e->serial);
}

void fleet_engine_die(struct fleet *f, struct rotor *r)
{
    struct engine *e = &r->engine;
    CHECK(e->alive);
    fleet_say(f, r, "engine of %s is gone, %u in flight", f->pools[e->pool].name, r->running.n);
    e->alive = e->loading = e->terming = e->intruder = false;
    if (!fleet_is_broken(f, BREAK_SILENT_DEATH)) fleet_abort(f, r);
    r->memory_free_ms = f->now_ms + 500 + (int64_t)fleet_below(f, FREE_MOST_MS);
    if (fleet_chance(f, 40)) {
        f->result->faults[FAULT_MEMORY_STUCK]++;
        r->fault.memory_ms = f->now_ms + 20000 + (int64_t)fleet_below(f, 200000);
    }
    if (!e->armed) return;
    e->serial++;
    fleet_at(f, f->now_ms + DOCKER_BACK_MS + (int64_t)fleet_below(f, 5000), EV_ENGINE_BACK,
             r->index, e->serial);
}

/* The restart policy: nobody of ours is asked.  Its routes are as they were. */
void fleet_engine_back(struct fleet *f, struct rotor *r, uint32_t serial)
{
    struct engine was = r->engine;
    if (was.alive || !was.armed || was.serial != serial || r->down) return;
    if (!fleet_memory_free(f, r)) { /* it fails for want of memory, and is tried again */
        fleet_at(f, f->now_ms + 10000, EV_ENGINE_BACK, r->index, serial);
        return;
    }
    fleet_engine_start(f, r, was.pool);
    r->engine.open = was.open;
    r->engine.routed = was.routed;
}

void fleet_engine_open(struct fleet *f, struct rotor *r)
{
    r->engine.armed = r->engine.open = r->engine.routed = true;
    fleet_pump(f, f->pools[r->engine.pool].engine);
}

/* ---- what is read of it ---- */

/* Some engines have counters, one has gauges alone, one is seen by its port alone. */
struct quiet_profile fleet_engine_profile(const struct fleet *f, uint32_t pool)
{
    CHECK(pool < f->n_pools);
    uint32_t kind = f->pools[pool].engine % 4;
    return (struct quiet_profile){.counter = kind != 1, .gauge = kind != 3};
}

struct quiet_sample fleet_engine_sample(struct fleet *f, const struct rotor *r)
{
    const struct engine *e = &r->engine;
    struct quiet_sample s = {.at_ms = f->now_ms};
    s.failed = !e->alive || f->now_ms < r->fault.metrics_ms;
    if (s.failed) return s;
    s.loading = e->loading;
    s.start = READING((int64_t)e->start);
    s.counter = READING((int64_t)e->counter);
    s.gauge = READING((int64_t)r->running.n);
    if (f->now_ms < r->fault.stuck_ms) s.gauge.v += STUCK_GAUGE;
    return s;
}
