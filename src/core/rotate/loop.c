/* core/rotate/loop.c - nine branches; seven of them say stay.
 *
 * One function per branch, each citing its number; the first that matches decides,
 * and all that match are recorded.  docs/spec/rotation.md, "The loop" */
#include "core/rotate/loop.h"
#include <stddef.h>
#include <string.h>
#include "base/check.h"

struct view { /* of one snapshot */
    const struct rotate_limits *lim;
    const struct rotate_facts *f;
    const struct rotate_candidate *best; /* NULL: nobody has work for this rotor */
};

/* Uncertainty is never permission: only a plain "no" clears a reason to stay. */
static bool may_be(enum fact f) { return f != FACT_NO; }

static bool is_bound(const struct rotate_facts *f) { return f->state != ROTATE_UNBOUND; }

/* ---- who has work ---- */

/* From SERVING the gate is the only road to training, so a training pool counts for
 * unbound rotors alone. */
static bool is_candidate(const struct rotate_facts *f, const struct rotate_candidate *c)
{
    if (c->lost || c->waiting == 0) return false;
    if (c->readable != FACT_YES || c->fresh != FACT_YES) return false;
    if (c->fits != FACT_YES) return false;
    if (c->co_resident != FACT_NO || c->backed_off != FACT_NO) return false;
    return !c->training || !is_bound(f);
}

/* Priority down, oldest wait down, name up, so that every tick says the same;
 * training pools after every serving pool. */
static bool goes_before(const struct rotate_candidate *a, const struct rotate_candidate *b)
{
    if (a->training != b->training) return b->training;
    if (a->priority != b->priority) return a->priority > b->priority;
    if (a->oldest_ms != b->oldest_ms) return a->oldest_ms > b->oldest_ms;
    CHECK(a->name != NULL);
    CHECK(b->name != NULL);
    return strcmp(a->name, b->name) < 0;
}

static const struct rotate_candidate *best_candidate(const struct rotate_facts *f)
{
    const struct rotate_candidate *best = NULL;
    for (uint32_t i = 0; i < f->n_candidates; i++) {
        const struct rotate_candidate *c = &f->candidates[i];
        if (!is_candidate(f, c)) continue;
        if (best == NULL || goes_before(c, best)) best = c;
    }
    return best;
}

/* ---- the branches ---- */

/* 1: a training run is live here; nothing preempts it. */
static bool run_is_live(const struct view *v) { return may_be(v->f->run_live); }

/* 3: a strictly higher priority has a backlog, and the last move is long enough ago.
 * A pin or a reservation also means "cannot be pulled away", although both come later. */
static bool is_preempted(const struct view *v)
{
    const struct rotate_facts *f = v->f;
    if (!is_bound(f) || may_be(f->pinned) || may_be(f->reserved)) return false;
    if (!clocks_pass(f->dwell_ms, v->lim->dwell_ms)) return false;
    return v->best != NULL && f->cur_prio.known && v->best->priority > f->cur_prio.v;
}

/* 2: work in flight, of this pool or of a co-resident one; 3 is its one exception. */
static bool work_is_in_flight(const struct view *v)
{
    if (!is_bound(v->f) || is_preempted(v)) return false;
    return may_be(v->f->in_flight) || may_be(v->f->co_in_flight);
}

/* 4: an operator pinned this machine. */
static bool is_pinned(const struct view *v) { return may_be(v->f->pinned); }

/* 5: a batch reserved it. */
static bool is_reserved(const struct view *v) { return may_be(v->f->reserved); }

/* 6: under five minutes of silence is a gap between requests; a training pool has a
 * window of its own. */
static bool is_not_idle(const struct view *v)
{
    bool training = v->f->state == ROTATE_TRAINPOOL;
    int64_t window_ms = training ? v->lim->release_ms : v->lim->idle_ms;
    return is_bound(v->f) && !clocks_pass(v->f->idle_ms, window_ms);
}

/* 7: direct traffic bypasses the platform, so the engine itself is asked. */
static bool engine_is_busy(const struct view *v)
{
    return v->f->engine == ENGINE_ACTIVE || v->f->engine == ENGINE_UNKNOWN;
}

/* 8: another pool has pending work. */
static bool work_is_elsewhere(const struct view *v) { return v->best != NULL; }

/* 9: nothing to serve anywhere; training is the gate's decision. */
static bool is_handed_over(const struct view *v) { return v->f != NULL; }

static bool (*const BRANCHES[ROTATE_BRANCHES])(const struct view *) = {
    [ROTATE_STAY_TRAINING] = run_is_live,
    [ROTATE_STAY_IN_FLIGHT] = work_is_in_flight,
    [ROTATE_MOVE_PREEMPT] = is_preempted,
    [ROTATE_STAY_PINNED] = is_pinned,
    [ROTATE_STAY_RESERVED] = is_reserved,
    [ROTATE_STAY_NOT_IDLE] = is_not_idle,
    [ROTATE_STAY_ENGINE_BUSY] = engine_is_busy,
    [ROTATE_MOVE_IDLE] = work_is_elsewhere,
    [ROTATE_STAY_HANDOVER] = is_handed_over,
};

static enum rotate_action action_of(enum rotate_branch b, enum rotate_state s)
{
    bool moves = b == ROTATE_MOVE_PREEMPT || b == ROTATE_MOVE_IDLE;
    if (moves) return s == ROTATE_UNBOUND ? ROTATE_BIND : ROTATE_MOVE;
    bool released = b == ROTATE_STAY_HANDOVER && s == ROTATE_TRAINPOOL;
    return released ? ROTATE_RELEASE : ROTATE_STAY;
}

struct rotate_verdict rotate_decide(const struct rotate_limits *lim, const struct rotate_facts *f)
{
    CHECK(rotate_limits_wrong(lim) == NULL);
    CHECK(f->state < ROTATE_STATES);
    CHECK(f->engine < ENGINE_STATES);
    CHECK(f->n_candidates == 0 || f->candidates != NULL);

    struct rotate_verdict r = {.target = ROTATE_NO_TARGET};
    if (f->transition) {
        r.action = ROTATE_WAIT;
        return r;
    }
    if (f->state == ROTATE_TRAINING && f->run_live == FACT_NO) {
        r.action = ROTATE_RESTORE;
        return r;
    }
    struct view v = {lim, f, best_candidate(f)};
    for (enum rotate_branch b = ROTATE_STAY_TRAINING; b < ROTATE_BRANCHES; b++) {
        if (!BRANCHES[b](&v)) continue;
        if (r.branch == ROTATE_NONE) r.branch = b;
        r.matched |= UINT32_C(1) << b;
    }
    CHECK(r.branch != ROTATE_NONE);
    r.action = action_of(r.branch, f->state);
    if (r.action == ROTATE_MOVE || r.action == ROTATE_BIND) {
        CHECK(v.best != NULL);
        r.target = (uint32_t)(v.best - f->candidates);
    }
    return r;
}

enum rotate_engine rotate_engine_of(enum fact quiet)
{
    if (quiet == FACT_UNKNOWN) return ENGINE_UNKNOWN;
    return quiet == FACT_YES ? ENGINE_QUIET : ENGINE_ACTIVE;
}

/* ---- words ---- */

static const char *const STATE_NAMES[] = {"UNBOUND", "SERVING", "TRAINING", "TRAINPOOL"};
_Static_assert(sizeof(STATE_NAMES) / sizeof(*STATE_NAMES) == ROTATE_STATES, "one per state");

static const char *const ENGINE_NAMES[] = {"unknown", "quiet", "active", "absent"};
_Static_assert(sizeof(ENGINE_NAMES) / sizeof(*ENGINE_NAMES) == ENGINE_STATES, "one per state");

static const char *const ACTION_NAMES[] = {"stay", "wait", "move", "bind", "release", "restore"};
_Static_assert(sizeof(ACTION_NAMES) / sizeof(*ACTION_NAMES) == ROTATE_ACTIONS, "one per action");

static const struct words { const char *name, *text; } WORDS[] = {
    {"none", "a move or a restore is under way; nothing is decided inside it"},
    {"run_live", "a training run is live here, and nothing preempts it"},
    {"in_flight", "work of this pool, or of one that shares its engine, is in flight"},
    {"preempt", "a pool of strictly higher priority has a backlog"},
    {"pin", "an operator pinned this machine"},
    {"reservation", "a batch reserved this machine"},
    {"not_idle", "it has not been idle long enough; this is a gap between requests"},
    {"engine_active", "the engine reports active inference, or cannot be read"},
    {"work_elsewhere", "another pool has pending work"},
    {"handover", "nothing to serve anywhere; whether to train is the gate's decision"},
};
_Static_assert(sizeof(WORDS) / sizeof(*WORDS) == ROTATE_BRANCHES, "one per branch");

const char *rotate_state_name(enum rotate_state s)
{
    CHECK(s < ROTATE_STATES);
    return STATE_NAMES[s];
}

const char *rotate_engine_name(enum rotate_engine e)
{
    CHECK(e < ENGINE_STATES);
    return ENGINE_NAMES[e];
}

const char *rotate_action_name(enum rotate_action a)
{
    CHECK(a < ROTATE_ACTIONS);
    return ACTION_NAMES[a];
}

const char *rotate_branch_name(enum rotate_branch b)
{
    CHECK(b < ROTATE_BRANCHES);
    return WORDS[b].name;
}

const char *rotate_branch_text(enum rotate_branch b)
{
    CHECK(b < ROTATE_BRANCHES);
    return WORDS[b].text;
}
