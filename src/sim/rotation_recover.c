/* sim/rotation_recover.c - what an agent does with the record it finds.
 *
 * core/rotate/wayback.h answers; every answer has its deed here.  What is not clear
 * yet is asked again, with nothing touched. */
#include "base/check.h"
#include "sim/rotation_fleet.h"

#define AGAIN_MS 2000
#define REAP_MS 600000
#define VERIFY_TRIES 5u
#define GOES_ROUND 100u   /* for one record, by one life of the agent */
#define OPERATOR_MS (2 * HOUR_MS)

static struct wayback_seen look(struct fleet *f, const struct rotor *r)
{
    const struct engine *e = &r->engine;
    const struct agent *a = &r->agent;
    bool starting = a->phase == WAYBACK_STARTING && r->disk.phase == WAYBACK_STARTING;
    bool ended = a->phase == WAYBACK_ENDED && r->disk.phase == WAYBACK_ENDED;
    return (struct wayback_seen){
        .phase = r->disk.corrupt ? WAYBACK_CORRUPT : r->disk.phase,
        .engine_alive = fleet_sees(f, r, e->alive),
        .engine_healthy = fleet_sees(f, r, fleet_engine_healthy(r)),
        .engine_same_start = fleet_sees(f, r, e->start == r->disk.start),
        .run_alive = fleet_sees(f, r, r->run.there || r->run.leftover),
        .rebooted = r->disk.boot != r->boot ? FACT_YES : FACT_NO,
        .refused = starting && a->acked == FACT_NO,
        .reap_late = ended && f->now_ms - a->phase_ms >= REAP_MS,
        .verify_spent = a->phase == WAYBACK_VERIFYING && a->tries >= VERIFY_TRIES};
}

static void again(struct fleet *f, struct rotor *r, int64_t pause_ms)
{
    r->agent.recovering = true;
    fleet_agent_later(f, r, pause_ms);
}

/* Nothing was torn down: as if the drain had never been. */
static void reopen(struct fleet *f, struct rotor *r)
{
    f->result->aborted_drains += r->truth.draining;
    fleet_engine_open(f, r);
    fleet_way_close(r);
}

static void reap(struct fleet *f, struct rotor *r)
{
    if (r->run.there) fleet_run_stop(f, r);
    r->disk.phase = WAYBACK_ENDED;
    fleet_way_from(f, r, WAYBACK_ENDED, true);
}

/* The pool's declared spec, flagged; the record stays, and with it no further drain. */
static void declare(struct fleet *f, struct rotor *r)
{
    r->disk.kept = true;
    r->agent.driving = r->agent.recovering = false;
    fleet_at(f, f->now_ms + OPERATOR_MS, EV_OPERATOR, r->index, 0);
    if (fleet_engine_healthy(r)) fleet_engine_open(f, r);
    else fleet_move_resume(f, r);
}

/* Everything was put back; should the engine be gone since, that is another matter. */
static void put_back(struct fleet *f, struct rotor *r)
{
    bool gone = !r->engine.alive && !r->engine.armed;
    f->result->restores++;
    if (!gone) fleet_engine_open(f, r);
    fleet_way_close(r);
    if (gone) fleet_move_resume(f, r);
}

/* Never a guess: what the manager has, or nothing until it answers.  That it has no
 * copy means that RECORDED was not acknowledged, so that nothing was torn down. */
static void set_aside(struct fleet *f, struct rotor *r)
{
    struct record copy;
    enum fact got = fleet_manager_copy(f, r, &copy);
    if (got == FACT_UNKNOWN) {
        again(f, r, AGAIN_MS);
        return;
    }
    if (got == FACT_NO)
        copy = (struct record){.phase = WAYBACK_RECORDED, .pool = r->note.bound, .run = NOBODY,
                               .boot = r->boot, .start = r->engine.start};
    r->disk = copy;
    again(f, r, 100);
}

static void quarantine(struct fleet *f, struct rotor *r)
{
    r->quarantined = true;
    r->agent.driving = r->agent.recovering = false;
    fleet_at(f, f->now_ms + OPERATOR_MS / 2 + (int64_t)fleet_below(f, OPERATOR_MS), EV_OPERATOR,
             r->index, 0);
}

static void keep_run(struct fleet *f, struct rotor *r)
{
    if (r->engine.alive) {
        r->engine.armed = false;
        fleet_engine_die(f, r);
    }
    fleet_way_from(f, r, r->disk.phase, true);
}

void fleet_recover(struct fleet *f, struct rotor *r)
{
    CHECK(r->agent.up);
    r->agent.recovering = false;
    if (fleet_agent_maybe_die(f, r)) return;
    struct wayback_seen seen = look(f, r);
    enum wayback_action a = wayback_recover(&seen);
    f->result->recoveries[seen.phase][a]++;
    bool waits = a == WAYBACK_WAIT || a == WAYBACK_QUARANTINE; /* for the driver, the manager */
    if (!waits && ++r->agent.recoveries > GOES_ROUND)
        fleet_broken(f, "r%u: its recovery goes round", r->index + 1);
    if (!waits)
        fleet_say(f, r, "recovers from %s: %s", wayback_phase_name(seen.phase),
                  wayback_action_name(a));
    switch (a) {
    case WAYBACK_WAIT: again(f, r, AGAIN_MS); break;
    case WAYBACK_NOTHING: break;
    case WAYBACK_DISCARD: fleet_way_close(r); fleet_move_resume(f, r); break;
    case WAYBACK_REOPEN: reopen(f, r); break;
    case WAYBACK_RESTORE: fleet_way_from(f, r, WAYBACK_RESTORING, false); break;
    case WAYBACK_ADOPT_RUN: fleet_way_from(f, r, r->disk.phase, true); break;
    case WAYBACK_STOP_ENGINE_ADOPT_RUN: keep_run(f, r); break;
    case WAYBACK_REAP_THEN_RESTORE: reap(f, r); break;
    case WAYBACK_VERIFY: fleet_way_from(f, r, WAYBACK_VERIFYING, false); break;
    case WAYBACK_RESTORE_DECLARED: declare(f, r); break;
    case WAYBACK_CLOSE: put_back(f, r); break;
    case WAYBACK_QUARANTINE: set_aside(f, r); break;
    case WAYBACK_QUARANTINE_ROTOR: quarantine(f, r); break;
    case WAYBACK_ACTIONS: UNREACHABLE();
    }
}
