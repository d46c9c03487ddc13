/* sim/rotation_way.c - a drain for a run and the way back, phase by phase.
 *
 * core/rotate/wayback.h says what comes next; this writes the phases, does their
 * actions and looks whether they are done.  The agent may die between any two steps. */
#include "base/check.h"
#include "sim/rotation_fleet.h"

#define STEP_MS 1000
#define DRAIN_MS 45000      /* then it was not as quiet as it seemed */
#define ROUTES_MS 3000
#define ACK_MS 60000        /* the manager has so long to answer */
#define STOP_MS 120000
#define KILL_MS 30000
#define FREE_MS 90000
#define REAP_MS 600000
#define VERIFY_TRIES 5u
#define VERIFY_FIRST_MS 10000
#define VERIFY_MOST_MS 600000

/* Until LIVE a full disk stops it; the room for the phases after that is kept ready,
 * since a restore waits for nobody. */
static bool persist(struct fleet *f, struct rotor *r, enum wayback_phase phase)
{
    if (phase < WAYBACK_LIVE && f->now_ms < r->fault.disk_ms) return false;
    r->disk.phase = phase;
    if (fleet_is_broken(f, BREAK_LOSE_RECORD) && phase == WAYBACK_LIVE)
        r->disk = (struct record){.run = NOBODY};
    fleet_say(f, r, "%s", wayback_phase_name(phase));
    return true;
}

void fleet_way_from(struct fleet *f, struct rotor *r, enum wayback_phase phase, bool durable)
{
    struct agent *a = &r->agent;
    a->driving = true;
    a->recovering = a->waits = false;
    a->phase = phase;
    a->durable = durable;
    a->acked = a->asked = FACT_UNKNOWN;
    a->phase_ms = f->now_ms;
    a->tries = 0;
    fleet_agent_later(f, r, STEP_MS / 10);
}

void fleet_way_close(struct rotor *r)
{
    r->truth.draining = false;
    r->disk = (struct record){.run = NOBODY};
    r->agent.driving = r->agent.recovering = false;
    r->agent.phase = WAYBACK_NONE;
    r->agent.recoveries = 0;
}

/* ---- the record ---- */

void fleet_way_try(struct fleet *f, struct rotor *r, struct gate_facts *facts)
{
    CHECK(r->note.bound < f->n_pools);
    if (r->disk.phase != WAYBACK_NONE) { /* kept from an earlier time: no further drain here */
        facts->way_back = FACT_NO;
        f->result->checks[gate_ask(&f->limits, facts).headline]++;
        return;
    }
    r->disk = (struct record){.phase = WAYBACK_TMP, .pool = r->note.bound, .boot = r->boot,
        .run = r->agent.next_run, .epoch = r->note.epoch, .start = r->engine.start};
    if (fleet_agent_maybe_die(f, r)) return;
    bool written = persist(f, r, WAYBACK_RECORDED);
    if (fleet_agent_maybe_die(f, r)) return;
    uint64_t fence = 0;
    enum rotate_claim c = written ? fleet_manager_claim_run(f, r, &fence) : CLAIM_UNKNOWN;
    if (fleet_agent_maybe_die(f, r)) return;
    if (written && c == CLAIM_UNKNOWN) r->agent.known = false;
    facts->way_back = c == CLAIM_GRANTED ? FACT_YES : FACT_NO;
    struct gate_verdict v = gate_ask(&f->limits, facts);
    bool go = v.answer == GATE_DRAIN ||
              (fleet_is_broken(f, BREAK_IGNORE_GATE) && c == CLAIM_GRANTED);
    if (!go) {
        if (v.answer == GATE_REFUSE) f->result->checks[v.headline]++;
        fleet_way_close(r);
        return;
    }
    r->disk.fence = fence;
    f->result->drains++;
    r->truth.draining = true;
    oracle_drain(f, r, facts);
    if (fleet_chance(f, 5))
        fleet_at(f, f->now_ms + (int64_t)fleet_below(f, 2 * ROUTES_MS), EV_LATE, r->index, 0);
    fleet_way_from(f, r, WAYBACK_RECORDED, true);
    r->agent.acked = FACT_YES;
}

/* ---- doing a phase ---- */

static void ask_again(struct fleet *f, struct rotor *r)
{
    r->engine.open = false;
    if (fleet_in_flight(f, r, false) + fleet_in_flight(f, r, true) > 0) return;
    struct snapshot s;
    fleet_facts(f, r, &s);
    bool drain = gate_again(&f->limits, &s.facts).answer == GATE_DRAIN;
    if (fleet_is_broken(f, BREAK_SKIP_SECOND_ASKING)) drain = true;
    r->agent.asked = drain ? FACT_YES : FACT_NO;
    if (drain) oracle_asked_again(f, r);
}

static void stop_engine(struct fleet *f, struct rotor *r)
{
    r->engine.armed = false;
    if (fleet_is_broken(f, BREAK_RUN_BESIDE_ENGINE)) return;
    if (r->engine.alive && f->now_ms - r->agent.phase_ms >= KILL_MS) fleet_engine_die(f, r);
    else fleet_engine_term(f, r);
}

static void start_run(struct fleet *f, struct rotor *r)
{
    bool free = fleet_memory_free(f, r) || fleet_is_broken(f, BREAK_RUN_BESIDE_ENGINE);
    if (!r->run.there && free) fleet_run_create(f, r, r->disk.run, r->disk.fence);
}

static void verify(struct fleet *f, struct rotor *r)
{
    if (!fleet_engine_healthy(r)) return;
    if (f->now_ms >= r->fault.verify_ms) r->agent.asked = FACT_YES;
    else r->agent.tries++;
}

static void start_engine(struct fleet *f, struct rotor *r)
{
    if (fleet_is_broken(f, BREAK_NO_RESTORE)) return;
    r->engine.open = r->engine.routed = false; /* not before it is verified */
    bool free = fleet_memory_free(f, r) || fleet_is_broken(f, BREAK_NO_MEASURE);
    if (!r->engine.alive && free) fleet_engine_start(f, r, r->disk.pool);
}

static void act(struct fleet *f, struct rotor *r)
{
    switch (r->agent.phase) {
    case WAYBACK_RECORDED: r->engine.routed = false; break;
    case WAYBACK_DRAINING: ask_again(f, r); break;
    case WAYBACK_STOPPING: stop_engine(f, r); break;
    case WAYBACK_STOPPED: break; /* it is waited for: the devices are measured */
    case WAYBACK_STARTING: start_run(f, r); break;
    case WAYBACK_LIVE: if (r->run.there) fleet_run_go(f, r); break;
    case WAYBACK_ENDED: fleet_run_reap(f, r); break;
    case WAYBACK_RESTORING: start_engine(f, r); break;
    case WAYBACK_VERIFYING: verify(f, r); break;
    case WAYBACK_RESTORED: fleet_engine_open(f, r); break;
    case WAYBACK_NONE: case WAYBACK_TMP: case WAYBACK_CORRUPT: case WAYBACK_PHASES: UNREACHABLE();
    }
}

/* ---- looking at it ---- */

static enum fact when(enum fact seen) { return seen == FACT_YES ? FACT_YES : FACT_UNKNOWN; }

/* Every proxy has heard of it. */
static bool is_withdrawn(const struct fleet *f, const struct rotor *r)
{
    return !r->engine.routed && f->now_ms - r->agent.phase_ms >= ROUTES_MS;
}

/* The exit file: the run was created, and is over already. */
static bool has_exited(const struct rotor *r)
{
    return r->run.exited && r->run.run == r->disk.run && r->run.fence == r->disk.fence;
}

static enum fact done(struct fleet *f, const struct rotor *r)
{
    const struct engine *e = &r->engine;
    bool beside = fleet_is_broken(f, BREAK_RUN_BESIDE_ENGINE);
    switch (r->agent.phase) {
    case WAYBACK_RECORDED: return when(is_withdrawn(f, r) ? FACT_YES : FACT_NO);
    case WAYBACK_DRAINING: return r->agent.asked;
    case WAYBACK_STOPPING: return when(fleet_sees(f, r, !e->alive || beside));
    case WAYBACK_STOPPED: return when(fleet_sees(f, r, fleet_memory_free(f, r) || beside));
    case WAYBACK_STARTING: return when(fleet_sees(f, r, r->run.there || has_exited(r)));
    case WAYBACK_LIVE: return when(fleet_sees(f, r, !r->run.there));
    case WAYBACK_ENDED: return when(fleet_sees(f, r, fleet_memory_free(f, r)));
    case WAYBACK_RESTORING: return when(fleet_sees(f, r, fleet_engine_healthy(r)));
    case WAYBACK_VERIFYING: return r->agent.asked;
    case WAYBACK_RESTORED: return when(e->routed && e->open ? FACT_YES : FACT_NO);
    case WAYBACK_NONE: case WAYBACK_TMP: case WAYBACK_CORRUPT: case WAYBACK_PHASES: break;
    }
    UNREACHABLE();
}

static bool is_late(const struct fleet *f, const struct rotor *r)
{
    static const int64_t most_ms[WAYBACK_PHASES] = {
        [WAYBACK_RECORDED] = ACK_MS, [WAYBACK_DRAINING] = DRAIN_MS, [WAYBACK_STOPPING] = STOP_MS,
        [WAYBACK_STOPPED] = FREE_MS, [WAYBACK_STARTING] = ACK_MS, [WAYBACK_ENDED] = REAP_MS};
    int64_t most = most_ms[r->agent.phase];
    if (r->agent.phase == WAYBACK_VERIFYING) return r->agent.tries >= VERIFY_TRIES;
    return most > 0 && f->now_ms - r->agent.phase_ms >= most;
}

static void closed(struct fleet *f, struct rotor *r)
{
    struct reading now = READING(f->now_ms);
    r->agent.at.bound_ms = r->agent.at.moved_ms = r->agent.at.event_ms = now;
    r->truth.moved_ms = f->now_ms;
    f->result->restores++;
    fleet_way_close(r);
}

static int64_t pause_of(const struct rotor *r)
{
    if (r->agent.phase == WAYBACK_LIVE) return STEP_MS * 5;
    if (r->agent.phase != WAYBACK_VERIFYING) return STEP_MS;
    return clocks_backoff_ms(r->agent.tries + 1, VERIFY_FIRST_MS, VERIFY_MOST_MS);
}

/* One step; true when there is more to do at once. */
static bool advance(struct fleet *f, struct rotor *r)
{
    struct agent *a = &r->agent;
    struct wayback_progress p = {.phase = a->phase, .durable = a->durable ? FACT_YES : FACT_NO,
        .acked = a->acked, .done = done(f, r), .late = is_late(f, r)};
    switch (wayback_advance(&p)) {
    case WAYBACK_PERSIST: return a->durable = persist(f, r, a->phase);
    case WAYBACK_HOLD:
        a->acked = fleet_manager_ack(f, r);
        return a->acked != FACT_UNKNOWN;
    case WAYBACK_ACT:
        act(f, r);
        return a->driving && done(f, r) != FACT_UNKNOWN;
    case WAYBACK_NEXT:
        fleet_way_from(f, r, wayback_next(a->phase), false);
        if (a->phase == WAYBACK_NONE) closed(f, r);
        return a->driving;
    case WAYBACK_BACK:
        a->driving = false;
        fleet_recover(f, r);
        return false;
    case WAYBACK_STEPS: break;
    }
    UNREACHABLE();
}

/* What is not in the plan: an engine came back beside a run, or did not come up after
 * all.  The table of recovery knows. */
static bool is_surprised(const struct fleet *f, const struct rotor *r)
{
    enum wayback_phase p = r->agent.phase;
    enum fact alive = fleet_sees(f, r, r->engine.alive);
    bool blind = fleet_is_broken(f, BREAK_RUN_BESIDE_ENGINE) ||
                 fleet_is_broken(f, BREAK_IGNORE_INTRUDER);
    if (p == WAYBACK_LIVE) return alive == FACT_YES && !blind;
    return (p == WAYBACK_VERIFYING || p == WAYBACK_RESTORED) && r->agent.durable &&
           alive == FACT_NO && !r->engine.armed;
}

void fleet_way_step(struct fleet *f, struct rotor *r)
{
    if (is_surprised(f, r)) {
        r->agent.driving = false;
        fleet_recover(f, r);
        return;
    }
    if (fleet_is_broken(f, BREAK_ENGINE_BESIDE_RUN) && r->agent.phase == WAYBACK_LIVE &&
        r->run.executing && !r->engine.alive)
        fleet_engine_start(f, r, r->disk.pool);
    do { /* to look again whether something is done is no step to die at */
        if (!r->agent.waits && fleet_agent_maybe_die(f, r)) return;
        r->agent.waits = false;
    } while (advance(f, r));
    if (!r->agent.up || !r->agent.driving || r->agent.recovering) return;
    r->agent.waits = true;
    fleet_agent_later(f, r, pause_of(r));
}
