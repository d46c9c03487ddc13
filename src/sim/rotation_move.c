/* sim/rotation_move.c - a move from one pool to another, and what a restart makes of half a one.
 *
 * Invariant: the note names where the rotor goes before anything is touched, so that a
 * restarted agent compares what is with what is noted, and goes on from there. */
#include "base/check.h"
#include "sim/rotation_fleet.h"

#define DRAIN_MS 30000      /* ruling (f) */
#define KILL_MS 30000       /* after SIGTERM */
#define STEP_MS 1000

static void enter(struct fleet *f, struct rotor *r, enum move_stage stage)
{
    r->agent.stage = stage;
    r->agent.stage_ms = f->now_ms;
    if (stage != MOVE_NONE) fleet_agent_later(f, r, STEP_MS / 4);
}

static void over(struct fleet *f, struct rotor *r)
{
    struct reading now = READING(f->now_ms);
    r->truth.moving = false;
    r->truth.moved_ms = f->now_ms;
    r->agent.at.moved_ms = now;
    enter(f, r, MOVE_NONE);
}

static void ready(struct fleet *f, struct rotor *r)
{
    struct reading now = READING(f->now_ms);
    r->agent.at.bound_ms = r->agent.at.event_ms = now;
    r->agent.fails[r->note.bound] = 0;
    over(f, r);
}

static void failed(struct fleet *f, struct rotor *r)
{
    uint32_t pool = r->note.bound;
    uint32_t n = ++r->agent.fails[pool];
    r->agent.backed_until_ms[pool] = f->now_ms + clocks_backoff_ms(
        n, CLOCKS_BIND_BACKOFF_FIRST_MS, CLOCKS_BIND_BACKOFF_MOST_MS);
    f->result->failed_binds++;
    fleet_say(f, r, "bind to %s failed, %u in a row", f->pools[pool].name, n);
    r->engine.armed = false; /* or it would come back by itself, bound to nothing */
    r->note.bound = NOBODY;
    r->note.epoch++;
    over(f, r);
}

static void close_admission(struct fleet *f, struct rotor *r)
{
    r->engine.open = r->engine.routed = r->engine.armed = false;
    enter(f, r, MOVE_DRAIN);
}

void fleet_move_begin(struct fleet *f, struct rotor *r, uint32_t pool, uint64_t epoch)
{
    CHECK(r->agent.stage == MOVE_NONE);
    oracle_move(f, r, pool);
    if (r->note.bound == NOBODY) f->result->binds++;
    else f->result->moves++;
    fleet_say(f, r, "moves to %s", f->pools[pool].name);
    r->note.bound = pool;
    r->note.epoch = r->agent.view_epoch = epoch;
    r->truth.moving = pool < f->n_pools;
    if (pool == f->n_pools) {
        ready(f, r);
        return;
    }
    if (fleet_agent_maybe_die(f, r)) return;
    close_admission(f, r);
}

void fleet_move_release(struct fleet *f, struct rotor *r)
{
    CHECK(r->note.bound == f->n_pools);
    fleet_say(f, r, "is released");
    r->note.bound = NOBODY;
    r->note.epoch++;
}

static void drain(struct fleet *f, struct rotor *r)
{
    bool late = f->now_ms - r->agent.stage_ms >= DRAIN_MS;
    if (r->running.n > 0 && !late) {
        fleet_agent_later(f, r, STEP_MS);
        return;
    }
    uint32_t engine = r->engine.pool == NOBODY ? NOBODY : f->pools[r->engine.pool].engine;
    fleet_interrupt(f, r);
    if (engine != NOBODY) fleet_pump(f, engine);
    r->engine.armed = false;
    fleet_engine_term(f, r);
    enter(f, r, MOVE_STOP);
}

static void stop(struct fleet *f, struct rotor *r)
{
    bool late = f->now_ms - r->agent.stage_ms >= KILL_MS;
    if (r->engine.alive && late) fleet_engine_die(f, r);
    bool unmeasured = fleet_is_broken(f, BREAK_NO_MEASURE) && !r->engine.alive;
    bool free = fleet_memory_free(f, r) || unmeasured;
    if (!free || fleet_sees(f, r, true) == FACT_UNKNOWN) {
        fleet_run_reap(f, r);
        fleet_agent_later(f, r, STEP_MS);
        return;
    }
    r->agent.quiet = (struct quiet){0};
    fleet_engine_start(f, r, r->note.bound);
    enter(f, r, MOVE_LOAD);
}

static void load(struct fleet *f, struct rotor *r)
{
    if (!r->engine.alive) {
        failed(f, r);
    } else if (r->engine.loading) {
        fleet_agent_later(f, r, STEP_MS * 5);
    } else {
        fleet_engine_open(f, r);
        ready(f, r);
    }
}

void fleet_move_step(struct fleet *f, struct rotor *r)
{
    CHECK(r->note.bound < f->n_pools);
    if (fleet_agent_maybe_die(f, r)) return;
    switch (r->agent.stage) {
    case MOVE_DRAIN: drain(f, r); break;
    case MOVE_STOP: stop(f, r); break;
    case MOVE_LOAD: load(f, r); break;
    case MOVE_NONE: UNREACHABLE();
    }
}

void fleet_move_resume(struct fleet *f, struct rotor *r)
{
    const struct engine *e = &r->engine;
    if (r->note.bound >= f->n_pools) {
        r->truth.moving = false;
        return;
    }
    if (e->alive && !e->terming && e->pool == r->note.bound) {
        bool done = !e->loading && e->routed && e->open;
        if (done) r->truth.moving = false;
        else enter(f, r, MOVE_LOAD);
        return;
    }
    bool served = e->open && e->routed;
    if (!e->alive && e->armed && served && e->pool == r->note.bound) return; /* it comes back */
    close_admission(f, r); /* perhaps again */
}
