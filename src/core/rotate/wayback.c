/* core/rotate/wayback.c - what a phase on disk means, whatever else is seen.
 *
 * Two rules shape every answer.  An engine is started only when it is known that no
 * run lives: what is unknown makes the answer WAIT, unless every possible value gives
 * the same one.  A record that reality contradicts is not followed but set aside.
 * docs/spec/rotation.md, "The way-back record and its order" */
#include "core/rotate/wayback.h"
#include "base/check.h"

/* Not asked while a fact is open: each caller says what to do in each of three cases. */
static enum wayback_action by(enum fact f, enum wayback_action yes, enum wayback_action no)
{
    if (f == FACT_UNKNOWN) return WAYBACK_WAIT;
    return f == FACT_YES ? yes : no;
}

static enum fact both(enum fact a, enum fact b)
{
    if (a == FACT_NO || b == FACT_NO) return FACT_NO;
    return a == FACT_YES ? b : FACT_UNKNOWN;
}

/* Up to STOPPED no run can have been started: one that is there contradicts the record. */
static enum wayback_action before_start(const struct wayback_seen *seen, enum wayback_action a)
{
    return by(seen->run_alive, WAYBACK_QUARANTINE, a);
}

/* RECORDED, DRAINING.  A drain is never resumed: the evidence of quiet is void. */
static enum wayback_action from_drain(const struct wayback_seen *seen)
{
    return before_start(seen, by(seen->engine_alive, WAYBACK_REOPEN, WAYBACK_RESTORE));
}

/* STOPPING.  The engine may be half dead: only the same process, healthy, is reopened. */
static enum wayback_action from_stop(const struct wayback_seen *seen)
{
    enum fact same = both(seen->engine_alive, both(seen->engine_healthy, seen->engine_same_start));
    return before_start(seen, by(same, WAYBACK_REOPEN, WAYBACK_RESTORE));
}

/* The run is over, or is not the one that was started: nothing of it may stay. */
static enum wayback_action reap(const struct wayback_seen *seen)
{
    return seen->reap_late ? WAYBACK_QUARANTINE_ROTOR : WAYBACK_REAP_THEN_RESTORE;
}

/* STARTING, LIVE.  The run is kept, and no engine beside it.  What bears its name
 * after a reboot is not the run; nor is a container that the manager refused, for
 * adopting it would only ask the manager again, and leave the rotor there for ever. */
static enum wayback_action from_run(const struct wayback_seen *seen)
{
    if (seen->refused && wayback_needs_ack(seen->phase))
        return by(seen->run_alive, reap(seen), WAYBACK_RESTORE);
    enum wayback_action keep = by(seen->engine_alive, WAYBACK_STOP_ENGINE_ADOPT_RUN,
                                  WAYBACK_ADOPT_RUN);
    return by(seen->run_alive, by(seen->rebooted, reap(seen), keep), WAYBACK_RESTORE);
}

static enum wayback_action after_run(const struct wayback_seen *seen, enum wayback_action a)
{
    return by(seen->run_alive, reap(seen), a);
}

static enum wayback_action from_verify(const struct wayback_seen *seen)
{
    if (seen->verify_spent) return WAYBACK_RESTORE_DECLARED;
    return by(seen->engine_alive, WAYBACK_VERIFY, WAYBACK_RESTORE);
}

enum wayback_action wayback_recover(const struct wayback_seen *seen)
{
    CHECK(seen->phase < WAYBACK_PHASES);
    switch (seen->phase) {
    case WAYBACK_NONE: return WAYBACK_NOTHING;
    case WAYBACK_TMP: return WAYBACK_DISCARD;
    case WAYBACK_RECORDED: return from_drain(seen);
    case WAYBACK_DRAINING: return from_drain(seen);
    case WAYBACK_STOPPING: return from_stop(seen);
    case WAYBACK_STOPPED: return before_start(seen, WAYBACK_RESTORE);
    case WAYBACK_STARTING: return from_run(seen);
    case WAYBACK_LIVE: return from_run(seen);
    case WAYBACK_ENDED: return after_run(seen, WAYBACK_RESTORE);
    case WAYBACK_RESTORING:
        return after_run(seen, by(seen->engine_alive, WAYBACK_VERIFY, WAYBACK_RESTORE));
    case WAYBACK_VERIFYING: return after_run(seen, from_verify(seen));
    case WAYBACK_RESTORED: return after_run(seen, WAYBACK_CLOSE);
    case WAYBACK_CORRUPT: return WAYBACK_QUARANTINE;
    case WAYBACK_PHASES: break;
    }
    UNREACHABLE();
}

bool wayback_requeues(enum wayback_phase phase, enum wayback_action a)
{
    bool claimed = phase >= WAYBACK_RECORDED && phase <= WAYBACK_STARTING;
    return claimed && (a == WAYBACK_REOPEN || a == WAYBACK_RESTORE);
}

/* ---- forward ---- */

bool wayback_needs_ack(enum wayback_phase phase)
{
    CHECK(phase < WAYBACK_PHASES);
    return phase >= WAYBACK_RECORDED && phase <= WAYBACK_STARTING;
}

enum wayback_phase wayback_next(enum wayback_phase phase)
{
    CHECK(phase >= WAYBACK_TMP);
    CHECK(phase <= WAYBACK_RESTORED);
    return phase == WAYBACK_RESTORED ? WAYBACK_NONE : phase + 1;
}

enum wayback_step wayback_advance(const struct wayback_progress *p)
{
    CHECK(p->phase < WAYBACK_PHASES);
    if (p->phase < WAYBACK_RECORDED || p->phase > WAYBACK_RESTORED) return WAYBACK_HOLD;
    bool late = p->late && p->phase != WAYBACK_LIVE; /* a run has its own time limit */
    bool refused = wayback_needs_ack(p->phase) && p->acked == FACT_NO;
    if (late || refused) return WAYBACK_BACK;
    if (p->durable != FACT_YES) return WAYBACK_PERSIST;
    if (wayback_needs_ack(p->phase) && p->acked != FACT_YES) return WAYBACK_HOLD;
    if (p->done == FACT_YES) return WAYBACK_NEXT;
    bool again_refused = p->phase == WAYBACK_DRAINING && p->done == FACT_NO;
    return again_refused ? WAYBACK_BACK : WAYBACK_ACT;
}

/* ---- words ---- */

static const struct phase_words { const char *name, *action; } PHASES[] = {
    {"NONE", "nothing is recorded"},
    {"TMP", "nothing yet"},
    {"RECORDED", "routes withdrawn"},
    {"DRAINING", "admission closed, checks asked a second time"},
    {"STOPPING", "restart policy disarmed, engine told to end"},
    {"STOPPED", "engine gone, device memory measured free"},
    {"STARTING", "container of the run created"},
    {"LIVE", "the run executes"},
    {"ENDED", "the run is reaped until device memory is free"},
    {"RESTORING", "engine started from its record"},
    {"VERIFYING", "models, adapters and one answer are checked"},
    {"RESTORED", "routes back"},
    {"CORRUPT", "the record does not read back"},
};
_Static_assert(sizeof(PHASES) / sizeof(*PHASES) == WAYBACK_PHASES, "one per phase");

static const struct action_words { const char *name, *text; } ACTIONS[] = {
    {"wait", "not enough is known: observe again, touch nothing"},
    {"nothing", "no record, nothing to put back"},
    {"discard", "remove the temporary file: nothing was torn down"},
    {"reopen", "put the routes back and close the record as aborted"},
    {"restore", "start the engine from its record"},
    {"adopt_run", "the run goes on"},
    {"stop_engine_adopt_run", "stop the engine that came back, the run goes on"},
    {"reap_then_restore", "end what is left of the run, then start the engine"},
    {"verify", "check models, adapters and one answer"},
    {"restore_declared", "start the engine as its pool declares it; the record is kept"},
    {"close", "close the record: the engine is back"},
    {"quarantine", "set the record aside and use the manager's copy"},
    {"quarantine_rotor", "what is left of the run cannot be ended: keep the devices aside"},
};
_Static_assert(sizeof(ACTIONS) / sizeof(*ACTIONS) == WAYBACK_ACTIONS, "one per action");

const char *wayback_phase_name(enum wayback_phase p)
{
    CHECK(p < WAYBACK_PHASES);
    return PHASES[p].name;
}

const char *wayback_phase_action(enum wayback_phase p)
{
    CHECK(p < WAYBACK_PHASES);
    return PHASES[p].action;
}

const char *wayback_action_name(enum wayback_action a)
{
    CHECK(a < WAYBACK_ACTIONS);
    return ACTIONS[a].name;
}

const char *wayback_action_text(enum wayback_action a)
{
    CHECK(a < WAYBACK_ACTIONS);
    return ACTIONS[a].text;
}
