/* sim/rotation_policy.c - what Rota is compared with.
 *
 * box: each pool has its box for good, all other boxes train.  No other split of the
 * same boxes that serves every pool works more hours.  eager: whoever is free takes the
 * most urgent backlog at once; a box without work in flight trains at once; when nobody
 * is free a run is stopped, or a lesser pool's requests are cut off.  hasty: the same,
 * but a run is left to its end.  Both are spared a herd: one box at a time goes to a pool. */
#include "base/check.h"
#include "sim/rotation_fleet.h"

static uint32_t boxes(const struct fleet *f)
{
    return f->n_pools < f->n_rotors ? f->n_pools : f->n_rotors - 1;
}

void fleet_policy_start(struct fleet *f)
{
    if (f->options->policy != ROTATION_BOX) return;
    for (uint32_t i = 0; i < boxes(f); i++) fleet_move_begin(f, &f->rotors[i], i, 1);
}

/* A run that ended is told; a free box without an engine takes the next. */
static void train(struct fleet *f, struct rotor *r)
{
    if (r->engine.alive || r->run.there || !fleet_memory_free(f, r)) return;
    uint32_t n = fleet_manager_take(f, r);
    if (n == NOBODY) return;
    r->note.run = n;
    r->note.fence = f->runs.v[n].fence;
    fleet_run_create(f, r, n, r->note.fence);
    fleet_run_go(f, r);
}

/* The most urgent pool with a backlog that nobody is on the way to, or NOBODY. */
static uint32_t wanted(struct fleet *f)
{
    for (uint32_t i = 0; i < f->n_pools; i++) { /* pools are in the order of priority */
        int64_t oldest;
        if (fleet_waiting(f, i, &oldest) == 0) continue;
        bool on_the_way = false;
        for (uint32_t k = 0; k < f->n_rotors; k++) {
            const struct rotor *r = &f->rotors[k];
            on_the_way = on_the_way || (r->agent.stage != MOVE_NONE && r->note.bound == i);
        }
        if (!on_the_way) return i;
    }
    return NOBODY;
}

static bool is_free(const struct fleet *f, const struct rotor *r)
{
    return r->agent.stage == MOVE_NONE && !r->run.there && fleet_in_flight(f, r, false) == 0;
}

static bool anyone_free(const struct fleet *f, uint32_t pool)
{
    for (uint32_t i = 0; i < f->n_rotors; i++)
        if (is_free(f, &f->rotors[i]) && f->rotors[i].note.bound != pool) return true;
    return false;
}

/* Whether this box is the one to go; what it does is then stopped. */
static bool let_go(struct fleet *f, struct rotor *r, uint32_t pool)
{
    if (is_free(f, r)) return true;
    if (anyone_free(f, pool)) return false;
    if (r->run.there) {
        if (f->options->policy == ROTATION_HASTY) return false;
        fleet_run_stop(f, r);
        return true;
    }
    if (f->pools[r->note.bound].priority >= f->pools[pool].priority) return false;
    r->engine.open = false;
    fleet_abort(f, r);
    return true;
}

static void drain(struct fleet *f, struct rotor *r)
{
    r->engine.armed = r->engine.open = r->engine.routed = false;
    fleet_engine_term(f, r);
    r->note.bound = NOBODY;
    f->result->drains++;
}

static void eager(struct fleet *f, struct rotor *r)
{
    if (r->agent.stage != MOVE_NONE) return;
    uint32_t pool = wanted(f);
    if (pool != NOBODY && r->note.bound != pool && let_go(f, r, pool)) {
        r->note.run = NOBODY;
        fleet_move_begin(f, r, pool, r->note.epoch + 1);
        return;
    }
    int64_t oldest;
    bool serving = r->note.bound != NOBODY;
    bool queued = f->n_queued > 0 && !f->resting;
    if (serving && queued && is_free(f, r) && fleet_waiting(f, r->note.bound, &oldest) == 0)
        drain(f, r);
    else if (!serving)
        train(f, r);
}

void fleet_policy_tick(struct fleet *f, struct rotor *r)
{
    if (!r->run.there) r->note.run = NOBODY;
    fleet_manager_report(f, r);
    if (f->options->policy != ROTATION_BOX) eager(f, r);
    else if (r->index >= boxes(f)) train(f, r);
}
