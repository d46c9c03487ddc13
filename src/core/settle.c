/* core/settle.c - from what the members do to what the session is.
 *
 * A session's state is derived from its rows: it is as far as its slowest
 * member.  A gang ends with its main member; a member that fails ends it too if
 * it says so.  Rows whose containers are proved gone are released here, before
 * anything else follows. */
#include "base/check.h"
#include "core/blame.h"
#include "core/events.h"
#include "core/model/pool.h"
#include "core/model/silence.h"
#include "core/transition.h"

/* What the released rows of the current attempt said. */
struct ends {
    bool main, unborn, failing; /* which of these are there */
    bool fenced; /* some ended because their node was cut off */
    struct member_end main_end, unborn_end, failing_end, fenced_end;
    uint32_t unborn_node;
    uint32_t unborn_member, failing_member; /* the lowest, so that order does not matter */
};

static bool end_fails(const struct member_end *e)
{
    return e->exit_code != 0 || e->signal != 0 || e->oom || e->timed_out;
}

static void note_end(struct ends *ends, const struct alloc *a, const struct member_end *end)
{
    uint32_t member = a->ref.member;
    CHECK(alloc_ended(a));
    CHECK(!a->revoked);
    if (end->fenced) {
        ends->fenced = true;
        ends->fenced_end = *end;
        return;
    }
    if (a->phase == MEMBER_FAILED && (!ends->unborn || member < ends->unborn_member)) {
        ends->unborn = true;
        ends->unborn_member = member;
        ends->unborn_node = a->node;
        ends->unborn_end = *end;
    }
    if (a->phase == MEMBER_EXITED && member == 0) {
        ends->main = true;
        ends->main_end = *end;
    }
    bool fails = a->phase == MEMBER_FAILED || end_fails(end);
    if (fails && (!ends->failing || member < ends->failing_member)) {
        ends->failing = true;
        ends->failing_member = member;
        ends->failing_end = *end;
    }
}

static struct ends release_ended(struct draft *d, struct session *s)
{
    struct ends ends = {0};
    struct alloc *next;
    for (struct alloc *a = world_allocs_of_session(d->w, s); a; a = next) {
        next = world_next_of_session(d->w, a);
        if (!alloc_ended(a)) continue;
        if (!a->revoked) note_end(&ends, a, draft_end_of(d, a));
        bool began = a->phase == MEMBER_EXITED && !a->revoked && s->state < SESSION_RUNNING;
        if (began) blame_forgive(d, a->node); /* it came and went between two reports */
        draft_release(d, a);
    }
    return ends;
}

static enum session_outcome outcome_of(const struct member_end *e)
{
    if (e->timed_out) return OUTCOME_TIMED_OUT;
    return end_fails(e) ? OUTCOME_FAILED : OUTCOME_SUCCEEDED;
}

static void finish(struct draft *d, struct session *s, const struct member_end *end)
{
    /* A single container that came and went between two reports did run. */
    if (s->state < SESSION_RUNNING && s->members == 1) transition(d, s, SESSION_RUNNING, "");
    if (s->started_ms == 0) {
        s->started_ms = d->w->now_ms;
        s->started_wall_ms = d->ev->wall_ms;
    }
    enum session_outcome outcome = outcome_of(end);
    ends_put(d->w, s, end);
    if (outcome == OUTCOME_FAILED && s->failures < s->restart_max) { /* its restart policy */
        s->failures++;
        s->requeue = true;
    }
    transition_finish(d, s, outcome, end->detail);
}

/* No fault of its own: all of it waits again, at its place.  One that did not ask for it has
 * failed: its node does what nobody wanted. */
static void cut_off(struct draft *d, struct session *s, const struct member_end *end)
{
    if (s->fence_ms == 0) {
        finish(d, s, end);
        return;
    }
    ends_put(d->w, s, end);
    s->requeue = true;
    transition_finish(d, s, OUTCOME_LOST, end->detail);
}

/* The cause of the stop stands whatever the code; the main member's end is kept. */
static void settle_stopping(struct draft *d, struct session *s, const struct ends *ends)
{
    bool by_itself = s->outcome == OUTCOME_FAILED || s->outcome == OUTCOME_SUCCEEDED;
    if (ends->main && !by_itself && s->outcome != OUTCOME_LOST) {
        ends_put(d->w, s, &ends->main_end);
        draft_session(d, s);
    }
    transition_try_end(d, s);
}

/* As far as the slowest: members that are released already ran. */
static enum session_state state_of(const struct world *w, const struct session *s)
{
    uint32_t current = 0;
    enum member_phase slowest = MEMBER_RUNNING, fastest = MEMBER_NONE;
    for (struct alloc *a = world_allocs_of_session(w, s); a; a = world_next_of_session(w, a)) {
        if (a->revoked) continue;
        CHECK(!alloc_ended(a));
        current++;
        if (a->phase < slowest) slowest = a->phase;
        if (a->phase > fastest) fastest = a->phase;
    }
    if (current < s->members) fastest = MEMBER_RUNNING;
    switch (slowest) {
    case MEMBER_NONE: return SESSION_ALLOCATED;
    case MEMBER_PREPARING: return SESSION_PREPARING;
    case MEMBER_READY: return fastest > MEMBER_READY ? SESSION_STARTING : SESSION_READY;
    case MEMBER_STARTING: return SESSION_STARTING;
    case MEMBER_RUNNING:
    case MEMBER_STOPPING: /* its own time limit may be ending it: it ran */
    case MEMBER_EXITED:
    case MEMBER_FAILED:
    case MEMBER_PHASES: return SESSION_RUNNING;
    }
    UNREACHABLE();
}

static void advance(struct draft *d, struct session *s)
{
    enum session_state to = state_of(d->w, s);
    if (to <= s->state) return; /* an agent that starts over does not take us back */
    transition(d, s, to, "");
    if (to == SESSION_READY && s->members > 1) draft_wants_of(d, s); /* the barrier opens */
}

void settle_proved(struct draft *d, struct session *s)
{
    if (!s->unproved || silence_unproved(d->w, s, 0)) return;
    s->unproved = false;
    draft_session(d, s);
    pool_wake(d->w, s);
}

void settle_session(struct draft *d, struct session *s)
{
    CHECK(session_live(s));
    struct ends ends = release_ended(d, s);
    if (s->state == SESSION_STOPPING) {
        settle_stopping(d, s, &ends);
    } else if (session_row(s->state)->holds != HOLDS_DEVICES) {
        settle_proved(d, s);
        /* Only rows of attempts that are over. */
        CHECK(!ends.main && !ends.failing && !ends.fenced);
    } else if (ends.main) {
        finish(d, s, &ends.main_end);
    } else if (ends.unborn && s->state < SESSION_RUNNING) {
        bool said = !ends.unborn_end.fatal && !ends.unborn_end.vanished;
        if (said) blame_node(d, s, ends.unborn_node);
        transition_start_failed(d, s, &ends.unborn_end);
    } else if (ends.failing && (s->stop_on_member || ends.failing_member == 0)) {
        finish(d, s, &ends.failing_end);
    } else if (ends.fenced) { /* what failed by itself counts more */
        cut_off(d, s, &ends.fenced_end);
    } else {
        advance(d, s);
    }
}
