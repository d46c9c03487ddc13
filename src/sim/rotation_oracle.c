/* sim/rotation_oracle.c - the promises of docs/spec/rotation.md, checked against what is.
 *
 * An oracle reads the truth, never an agent's facts or the core's verdicts: it is the
 * naive second opinion.  The baselines promise nothing but to answer their requests. */
#include "base/check.h"
#include "sim/rotation_fleet.h"

#define INTRUDER_MOST_MS HOUR_MS

static bool promised(const struct fleet *f) { return f->options->policy == ROTATION_ROTA; }

/* ---- what may begin ---- */

void oracle_engine_start(struct fleet *f, const struct rotor *r)
{
    if (r->run.there || r->run.leftover)
        fleet_broken(f, "r%u: an engine starts beside a run", r->index + 1);
    if (f->now_ms < r->memory_free_ms || f->now_ms < r->fault.memory_ms)
        fleet_broken(f, "r%u: an engine starts on devices that are not free", r->index + 1);
    if (r->quarantined) fleet_broken(f, "r%u: an engine starts in quarantine", r->index + 1);
}

void oracle_run_start(struct fleet *f, const struct rotor *r)
{
    if (r->engine.alive) fleet_broken(f, "r%u: a run starts beside an engine", r->index + 1);
    if (f->now_ms < r->memory_free_ms || f->now_ms < r->fault.memory_ms)
        fleet_broken(f, "r%u: a run starts on devices that are not free", r->index + 1);
    for (uint32_t i = 0; i < f->n_rotors; i++) {
        const struct box_run *other = &f->rotors[i].run;
        if (i != r->index && other->there && other->run == r->run.run)
            fleet_broken(f, "run %u is on r%u and r%u", r->run.run + 1, i + 1, r->index + 1);
    }
    if (!promised(f)) return;
    const struct run *run = &f->runs.v[r->run.run];
    if (run->fence != r->run.fence || run->rotor != r->index)
        fleet_broken(f, "r%u: run %u starts without its claim", r->index + 1, r->run.run + 1);
}

void oracle_run_stopped(struct fleet *f, const struct rotor *r)
{
    if (promised(f)) fleet_broken(f, "r%u: a live run is stopped", r->index + 1);
}

void oracle_term(struct fleet *f, const struct rotor *r)
{
    struct rotor *mine = &f->rotors[r->index];
    if (promised(f) && r->disk.phase == WAYBACK_STOPPING) mine->truth.torn_down = true;
    if (promised(f) && fleet_in_flight(f, r, false) + fleet_in_flight(f, r, true) > 0)
        fleet_broken(f, "r%u: an engine is stopped over requests in flight", r->index + 1);
}

static uint32_t on_the_way(const struct fleet *f, uint32_t pool)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n_rotors; i++)
        n += f->rotors[i].truth.moving && f->rotors[i].note.bound == pool;
    return n;
}

static void moves_rightly(struct fleet *f, const struct rotor *r, uint32_t pool)
{
    bool bound = r->note.bound != NOBODY;
    if (bound && f->now_ms - r->truth.moved_ms < f->limits.dwell_ms)
        fleet_broken(f, "r%u: moves within the dwell", r->index + 1);
    if (f->now_ms < r->pin_until_ms) fleet_broken(f, "r%u: moves although pinned", r->index + 1);
    if (f->now_ms < r->reserve_until_ms)
        fleet_broken(f, "r%u: moves although reserved", r->index + 1);
    if (r->run.there || r->disk.phase == WAYBACK_LIVE)
        fleet_broken(f, "r%u: moves away from a run", r->index + 1);
    bool work = fleet_in_flight(f, r, false) + fleet_in_flight(f, r, true) > 0;
    int32_t mine = bound ? f->pools[r->note.bound].priority : 0;
    if (bound && work && f->pools[pool].priority <= mine)
        fleet_broken(f, "r%u: leaves work for what is no more urgent", r->index + 1);
}

void oracle_move(struct fleet *f, const struct rotor *r, uint32_t pool)
{
    if (!promised(f)) return;
    moves_rightly(f, r, pool);
    const struct service *p = &f->pools[pool];
    if (p->training) return;
    if (on_the_way(f, pool) + 1 > p->seen_waiting) /* seen by the manager as it granted this */
        fleet_broken(f, "%u rotors move to %s for %u items", on_the_way(f, pool) + 1, p->name,
                     p->seen_waiting);
    if (f->now_ms - p->seen_at_ms > f->limits.stale_ms)
        fleet_broken(f, "r%u: moves for a backlog nobody has seen", r->index + 1);
}

/* ---- the drain ---- */

/* The eleven, each in its plainest form, over the facts of the one snapshot. */
static const char *refusal(const struct fleet *f, const struct gate_facts *g)
{
    const struct rotate_facts *h = &g->here;
    if (h->pinned != FACT_NO) return "pinned";
    if (h->reserved != FACT_NO) return "reserved";
    if (h->run_live != FACT_NO) return "a run is live";
    if (h->in_flight != FACT_NO || h->co_in_flight != FACT_NO) return "work in flight";
    if (h->engine != ENGINE_QUIET) return "the engine is not quiet";
    if (g->queued != FACT_NO) return "work is queued";
    if (!g->quiet_ms.known || g->quiet_ms.v < f->limits.quiet_ms) return "not quiet for long";
    if (h->state != ROTATE_SERVING) return "no pool is bound";
    if (g->demand_manager == FACT_UNKNOWN || g->demand_node == FACT_UNKNOWN) return "unreadable";
    if (g->demand_manager != g->demand_node || g->epochs_agree != FACT_YES) return "disagree";
    return g->way_back == FACT_YES ? NULL : "no way back";
}

/* Work may have come after the last sample, but not in the window before it; what an
 * engine without a counter did between two samples, its port saw for a minute. */
static bool was_quiet(const struct fleet *f, const struct rotor *r)
{
    int64_t active = r->engine.active_ms, last = r->agent.quiet.last_ms;
    bool counts = fleet_engine_profile(f, r->note.bound).counter;
    int64_t window = counts ? f->limits.quiet_ms : GATE_DEMAND_WINDOW_MS;
    return active > last || last - active >= window;
}

static uint32_t stay_bound(const struct fleet *f, uint32_t pool)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n_rotors; i++) {
        const struct rotor *r = &f->rotors[i];
        bool here = r->note.bound == pool && !r->truth.moving;
        n += here && (r->disk.phase <= WAYBACK_TMP || r->disk.kept);
    }
    return n;
}

void oracle_drain(struct fleet *f, const struct rotor *r, const struct gate_facts *facts)
{
    const char *why = refusal(f, facts);
    uint32_t n = r->index + 1;
    if (why) fleet_broken(f, "r%u: drains although %s", n, why);
    if (f->now_ms < r->pin_until_ms || f->now_ms < r->reserve_until_ms)
        fleet_broken(f, "r%u: drains although held", n);
    if (r->running.n > 0 && fleet_in_flight(f, r, false) + fleet_in_flight(f, r, true) > 0)
        fleet_broken(f, "r%u: drains with a request in flight", n);
    if (!r->engine.alive || r->engine.loading) fleet_broken(f, "r%u: drains without an engine", n);
    if (!was_quiet(f, r)) fleet_broken(f, "r%u: drains an engine that was active", n);
    if (r->disk.phase != WAYBACK_RECORDED || r->disk.corrupt || r->disk.pool != r->note.bound)
        fleet_broken(f, "r%u: drains without a record", n);
    if (stay_bound(f, r->note.bound) < f->pools[r->note.bound].keep)
        fleet_broken(f, "r%u: drains although %s keeps its rotors", n,
                     f->pools[r->note.bound].name);
}

void oracle_asked_again(struct fleet *f, const struct rotor *r)
{
    int64_t oldest;
    for (uint32_t i = 0; i < f->n_pools; i++)
        if (fleet_serves(f, r, i) && fleet_waiting(f, i, &oldest) > 0)
            fleet_broken(f, "r%u: is drained over a backlog", r->index + 1);
    if (fleet_in_flight(f, r, false) + fleet_in_flight(f, r, true) > 0)
        fleet_broken(f, "r%u: is drained with a request in flight", r->index + 1);
    if (!was_quiet(f, r)) fleet_broken(f, "r%u: is drained while active", r->index + 1);
}

/* ---- after every event ---- */

static void never_both(struct fleet *f, const struct rotor *r)
{
    if (!r->engine.alive || !r->run.there) return;
    if (!r->engine.intruder)
        fleet_broken(f, "r%u: engine and run together", r->index + 1);
    else if (f->now_ms - r->truth.intruded_ms > INTRUDER_MOST_MS)
        fleet_broken(f, "r%u: an engine stays beside a run", r->index + 1);
}

static void never_neither(struct fleet *f, struct rotor *r)
{
    if (!r->truth.torn_down) return;
    const struct engine *e = &r->engine;
    if (e->alive && e->routed && !e->loading && e->pool == r->note.bound && !r->run.there) {
        r->truth.torn_down = false; /* it is back */
        return;
    }
    bool mine = r->disk.phase > WAYBACK_TMP && !r->disk.corrupt;
    bool copy = f->binding[r->index].copy.phase != WAYBACK_NONE;
    if (!mine && !copy && !e->alive)
        fleet_broken(f, "r%u: an engine is gone and so is its way back", r->index + 1);
}

static void nothing_forgotten(struct fleet *f)
{
    const struct rotation_result *r = f->result;
    uint64_t live = f->n_held + f->n_running + f->n_away;
    if (r->requests != r->done + live)
        fleet_broken(f, "%llu requests came, %llu are done and %llu live",
                     (unsigned long long)r->requests, (unsigned long long)r->done,
                     (unsigned long long)live);
}

static void engines_answer(struct fleet *f, uint64_t *running)
{
    for (uint32_t i = 0; i < f->n_rotors; i++) {
        const struct rotor *r = &f->rotors[i];
        *running += r->running.n;
        if (r->running.n > 0 && (!r->engine.alive || r->engine.loading))
            fleet_broken(f, "r%u: requests run in no engine", i + 1);
    }
}

void oracle_event(struct fleet *f)
{
    uint64_t running = 0;
    nothing_forgotten(f);
    engines_answer(f, &running);
    if (running != f->n_running + f->n_direct) fleet_broken(f, "a request runs nowhere");
    for (uint32_t i = 0; i < f->n_rotors; i++) {
        never_both(f, &f->rotors[i]);
        never_neither(f, &f->rotors[i]);
    }
}

/* ---- at rest ---- */

static void rotor_rests(struct fleet *f, const struct rotor *r)
{
    uint32_t n = r->index + 1;
    const struct binding *b = &f->binding[r->index];
    if (!r->agent.up || r->quarantined || r->down) fleet_broken(f, "r%u is not back", n);
    if (r->disk.phase != WAYBACK_NONE)
        fleet_broken(f, "r%u: its record is at %s", n, wayback_phase_name(r->disk.phase));
    if (r->agent.stage != MOVE_NONE) fleet_broken(f, "r%u: its move does not end", n);
    if (r->run.there || r->run.leftover) fleet_broken(f, "r%u: its run does not end", n);
    if (r->note.bound < f->n_pools && !(fleet_engine_healthy(r) && r->engine.routed))
        fleet_broken(f, "r%u: serves %s without an engine", n, f->pools[r->note.bound].name);
    if (r->note.bound >= f->n_pools && r->engine.alive)
        fleet_broken(f, "r%u: a stray engine", n);
    if (r->truth.torn_down) fleet_broken(f, "r%u: its engine is not back", n);
    if (b->bound != r->note.bound || b->epoch != r->note.epoch || b->claim || b->run != NOBODY)
        fleet_broken(f, "r%u: the manager and the node do not agree", n);
}

void oracle_rest(struct fleet *f)
{
    f->result->lost = f->n_held + f->n_running + f->n_away;
    if (!promised(f)) return;
    if (f->result->lost > 0)
        fleet_broken(f, "%llu requests have no answer", (unsigned long long)f->result->lost);
    for (uint32_t i = 0; i < f->n_rotors; i++) rotor_rests(f, &f->rotors[i]);
    for (uint32_t i = 0; i < f->runs.n; i++)
        if (f->runs.v[i].state == RUN_CLAIMED) fleet_broken(f, "run %u is with nobody", i + 1);
}
