/* core/on_time.c - deadlines: what happens when nobody did anything.
 *
 * What then happens is the table's to say (model/session.c); here it is done. */
#include "base/check.h"
#include "core/blame.h"
#include "core/events.h"
#include "core/model/pool.h"
#include "core/model/timers.h"
#include "core/transition.h"

static void alarm_set(struct draft *d, struct session *s)
{
    s->alarm = true;
    s->deadline_ms = 0; /* said once; everything stays held */
    draft_session(d, s);
    struct history *h = draft_session_history(d, HISTORY_ALARM, s);
    TEXT_CLIP(h->text, STR("its grace is over and its end is not proved"));
}

static void late_start(struct draft *d, struct session *s)
{
    struct member_end end = {.exit_code = -1};
    text_fmt(end.detail, sizeof(end.detail), "it was %s for too long",
             session_state_name(s->state));
    blame_slowest(d, s);
    transition_start_failed(d, s, &end);
}

static void not_taken(struct draft *d, struct session *s)
{
    blame_slowest(d, s);
    transition_revoke(d, s, "its node did not take it in time");
}

static void deadline_missed(struct draft *d, struct session *s)
{
    switch (session_row(s->state)->then) {
    case THEN_NOTHING: break;
    case THEN_END: transition_finish(d, s, OUTCOME_TIMED_OUT, "it waited for too long"); return;
    case THEN_PENDING: transition(d, s, SESSION_PENDING, "the promised room did not come"); return;
    case THEN_REVOKE: not_taken(d, s); return;
    case THEN_FAIL: late_start(d, s); return;
    case THEN_STOP: transition_finish(d, s, OUTCOME_TIMED_OUT, "time limit"); return;
    case THEN_ALARM: alarm_set(d, s); return;
    case DEADLINE_THENS: break;
    }
    UNREACHABLE();
}

static void session_due(struct draft *d, struct session *s)
{
    struct world *w = d->w;
    if (s->deadline_ms > 0 && s->deadline_ms <= w->now_ms) deadline_missed(d, s);
    else if (s->state == SESSION_PENDING) pool_wake(w, s); /* what it waited for is over */
    else if (s->state == SESSION_RUNNING) pool_due(w, s->group); /* it ran for long enough to go */
    if (session_live(s)) timers_arm_session(w, s);
}

void on_time(struct draft *d)
{
    struct timer_due due;
    on_reservations_due(d);
    while (timers_pop(d->w, &due)) {
        if (due.session) session_due(d, due.session);
        else on_silence(d, due.node);
    }
}
