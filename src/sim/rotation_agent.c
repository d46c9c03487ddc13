/* sim/rotation_agent.c - an agent: its tick, its deaths, and what it finds at its start.
 *
 * The tick asks core/rotate and does what it says; there is no second decider here.
 * What an agent knows dies with it, but for what is on disk and the quiet clock, which
 * is kept for the same boot (quiet_resume). */
#include "base/check.h"
#include "sim/rotation_fleet.h"

#define DEATH_MOST_MS 60000
#define BOOT_LEAST_MS 60000
#define DIES_ONE_IN 40    /* at a step, with faults */
#define CORRUPT_ONE_IN 10 /* records, when the agent dies */

void fleet_agent_later(struct fleet *f, struct rotor *r, int64_t pause_ms)
{
    CHECK(r->agent.up);
    fleet_at(f, f->now_ms + pause_ms, EV_STEP, r->index, ++r->step);
}

void fleet_agent_step(struct fleet *f, struct rotor *r)
{
    CHECK(r->agent.up);
    if (r->agent.recovering) fleet_recover(f, r);
    else if (r->agent.driving) fleet_way_step(f, r);
    else if (r->agent.stage != MOVE_NONE) fleet_move_step(f, r);
}

/* ---- birth and death ---- */

void fleet_agent_die(struct fleet *f, struct rotor *r)
{
    CHECK(r->agent.up);
    fleet_say(f, r, "the agent dies at %s", wayback_phase_name(r->disk.phase));
    r->agent.up = false;
    if (r->disk.phase > WAYBACK_TMP && !r->disk.kept && fleet_chance(f, CORRUPT_ONE_IN)) {
        f->result->faults[FAULT_RECORD_CORRUPT]++; /* a living agent would write it anew */
        r->disk.corrupt = true;
    }
    int64_t pause = 1000 + (int64_t)fleet_below(f, DEATH_MOST_MS);
    fleet_at(f, f->now_ms + pause, EV_AGENT_UP, r->index, r->agent.life);
}

bool fleet_agent_maybe_die(struct fleet *f, struct rotor *r)
{
    if (!r->agent.up) return true;
    f->result->steps++;
    bool now = f->options->kill_at_step == f->result->steps;
    if (!now && !fleet_chance(f, DIES_ONE_IN)) return false;
    f->result->faults[FAULT_STEP_KILL]++;
    fleet_agent_die(f, r);
    return true;
}

void fleet_reboot(struct fleet *f, struct rotor *r)
{
    fleet_say(f, r, "reboots");
    r->down = true;
    r->boot++;
    r->engine.armed = false;
    if (r->engine.alive) fleet_engine_die(f, r);
    r->run = (struct box_run){.run = r->run.run, .serial = r->run.serial + 1, .fence = r->run.fence,
                              .exited = r->run.exited, .well = r->run.well};
    r->fault.memory_ms = 0;
    r->memory_free_ms = f->now_ms;
    if (r->agent.up) r->agent.up = false;
    int64_t pause = BOOT_LEAST_MS + (int64_t)fleet_below(f, 120000);
    fleet_at(f, f->now_ms + pause, EV_AGENT_UP, r->index, ++r->agent.life);
}

/* A run of the training pool that is noted but not there ended, or was never created. */
static void settle_run(struct fleet *f, struct rotor *r)
{
    if (r->note.run == NOBODY || f->now_ms < r->fault.driver_ms) return;
    if (r->run.there) {
        CHECK(r->run.run == r->note.run);
        fleet_run_go(f, r); /* if the agent died before it could */
        return;
    }
    r->note.run = NOBODY;
    r->agent.at.run_end_ms = READING(f->now_ms);
}

void fleet_agent_start(struct fleet *f, struct rotor *r)
{
    struct quiet quiet = r->agent.boot == r->boot ? r->agent.quiet : (struct quiet){0};
    quiet_resume(&quiet);
    struct reading now = READING(f->now_ms); /* what is not known any more was just now */
    r->agent = (struct agent){.up = true, .life = r->agent.life + 1, .boot = r->boot,
        .quiet = quiet, .view_ms = -1, .next_run = NOBODY,
        .at = {.bound_ms = now, .event_ms = now, .engine_ms = now, .moved_ms = now,
               .run_end_ms = now}};
    r->down = false;
    int64_t first = 1 + (int64_t)fleet_below(f, FLEET_TICK_MS);
    fleet_at(f, f->now_ms + first, EV_TICK, r->index, r->agent.life);
    if (f->options->policy != ROTATION_ROTA) return;
    if (r->disk.phase != WAYBACK_NONE && !r->disk.kept) fleet_recover(f, r);
    else fleet_move_resume(f, r);
}

/* ---- what a decision leads to ---- */

/* Asks for what the core says, until it is granted or the core says something else. */
static bool try_to_move(struct fleet *f, struct rotor *r, struct snapshot *s,
                        struct rotate_verdict *v)
{
    while (v->action == ROTATE_MOVE || v->action == ROTATE_BIND) {
        CHECK(v->target < s->facts.here.n_candidates);
        uint32_t pool = s->pools[v->target];
        bool interrupts = v->branch == ROTATE_MOVE_PREEMPT;
        uint64_t epoch = 0;
        enum rotate_claim c = fleet_manager_claim(f, r, pool, &epoch);
        if (fleet_agent_maybe_die(f, r)) return true;
        if (c == CLAIM_GRANTED) {
            f->result->interrupts += interrupts;
            fleet_move_begin(f, r, pool, epoch);
            return true;
        }
        if (c == CLAIM_UNKNOWN) r->agent.known = false; /* perhaps it was granted */
        s->candidates[v->target].lost = true;
        *v = rotate_decide(&f->limits, &s->facts.here);
    }
    return false;
}

static void try_to_drain(struct fleet *f, struct rotor *r, struct snapshot *s)
{
    struct gate_verdict v = gate_ask(&f->limits, &s->facts);
    if (v.answer == GATE_REFUSE) f->result->checks[v.headline]++;
    if (v.answer == GATE_RECORD) fleet_way_try(f, r, &s->facts);
}

/* In a training pool a run begins as soon as there is one: no record, nothing to drain. */
static bool try_to_train(struct fleet *f, struct rotor *r, const struct snapshot *s,
                         const struct rotate_verdict *v)
{
    bool still = v->branch == ROTATE_STAY_NOT_IDLE || v->branch == ROTATE_STAY_HANDOVER;
    if (s->facts.here.state != ROTATE_TRAINPOOL || !still || r->note.run != NOBODY) return false;
    if (s->facts.run_fits != FACT_YES || !fleet_memory_free(f, r)) return false;
    uint64_t fence = 0;
    enum rotate_claim c = fleet_manager_claim_run(f, r, &fence);
    if (fleet_agent_maybe_die(f, r)) return true;
    if (c == CLAIM_UNKNOWN) r->agent.known = false;
    if (c != CLAIM_GRANTED) return false;
    r->note.run = r->agent.next_run;
    r->note.fence = fence;
    if (fleet_agent_maybe_die(f, r)) return true;
    fleet_run_create(f, r, r->note.run, fence);
    if (fleet_agent_maybe_die(f, r)) return true;
    fleet_run_go(f, r);
    return true;
}

static void sabotage(struct fleet *f, struct rotor *r, struct snapshot *s,
                     const struct rotate_verdict *v)
{
    bool serves = s->facts.here.state == ROTATE_SERVING && !s->facts.here.transition;
    bool ready = serves && r->engine.alive && r->disk.phase == WAYBACK_NONE;
    if (fleet_is_broken(f, BREAK_IGNORE_GATE) && ready && v->action == ROTATE_STAY)
        fleet_way_try(f, r, &s->facts);
    if (fleet_is_broken(f, BREAK_KILL_RUN) && r->run.executing && r->agent.view[0].waiting > 0)
        fleet_run_stop(f, r);
}

static void decide(struct fleet *f, struct rotor *r)
{
    struct snapshot s;
    fleet_facts(f, r, &s);
    struct rotate_verdict v = rotate_decide(&f->limits, &s.facts.here);
    f->result->branches[v.branch]++;
    if (try_to_move(f, r, &s, &v) || !r->agent.up) return;
    if (try_to_train(f, r, &s, &v)) return;
    if (v.action == ROTATE_RELEASE) fleet_move_release(f, r);
    if (v.action == ROTATE_STAY && v.branch == ROTATE_STAY_HANDOVER) try_to_drain(f, r, &s);
    sabotage(f, r, &s, &v);
}

/* An engine that failed, and that no restart policy brings back, is loaded anew. */
static void repair(struct fleet *f, struct rotor *r)
{
    bool at_rest = r->agent.stage == MOVE_NONE &&
                   (r->disk.phase == WAYBACK_NONE || r->disk.kept);
    if (!at_rest || r->note.bound >= f->n_pools || r->engine.armed) return;
    if (fleet_sees(f, r, r->engine.alive) == FACT_NO) fleet_move_resume(f, r);
}

static void sample(struct fleet *f, struct rotor *r)
{
    if (r->note.bound >= f->n_pools) return;
    struct quiet_profile p = fleet_engine_profile(f, r->note.bound);
    struct quiet_sample s = fleet_engine_sample(f, r);
    quiet_add(&f->limits, &p, &r->agent.quiet, &s);
}

void fleet_agent_tick(struct fleet *f, struct rotor *r)
{
    CHECK(r->agent.up);
    if (!r->quarantined) {
        sample(f, r);
        settle_run(f, r);
        if (!r->agent.driving) fleet_run_reap(f, r);
        decide(f, r);
        if (r->agent.up) repair(f, r);
    }
    if (r->agent.up) fleet_manager_report(f, r);
}
