/* core/on_stop.c - people end and signal sessions. */
#include "base/check.h"
#include "core/events.h"
#include "core/model/timers.h"
#include "core/transition.h"

#define SIGNAL_MAX 64

/* The live session, or a verdict: ended sessions have left the world, but their
 * ids were given. */
static bool may_be_cause(enum session_outcome o)
{
    return o == OUTCOME_CANCELLED || o == OUTCOME_TIMED_OUT || o == OUTCOME_PREEMPTED ||
           o == OUTCOME_IDLE;
}

/* Asked again while it stops: only the grace can change, and only to less. */
static void hurry(struct draft *d, struct session *s, int64_t grace_ms)
{
    if (grace_ms < 0 || grace_ms >= s->grace_ms) return;
    int64_t deadline = d->w->now_ms + grace_ms + SESSION_ALARM_AFTER_MS;
    s->grace_ms = grace_ms;
    if (!s->alarm && deadline < s->deadline_ms) s->deadline_ms = deadline;
    timers_arm_session(d->w, s);
    draft_session(d, s);
    draft_wants_of(d, s);
}

/* It was to wait again after its end: now it ends for good, of the newer cause. */
static void give_up(struct draft *d, struct session *s, enum session_outcome cause)
{
    s->requeue = false;
    s->outcome = cause;
    draft_session(d, s);
    (void)draft_session_history(d, HISTORY_STATE, s);
}

void on_stop(struct draft *d)
{
    const struct event_stop *e = &d->ev->u.stop;
    if (!may_be_cause(e->cause)) {
        draft_refuse(d, VERDICT_BAD_VALUE, "cause", "cause: %d ends no session", (int)e->cause);
        return;
    }
    if (e->grace_ms < -1 || e->grace_ms > EVENT_TIME_MAX_MS) {
        draft_refuse(d, VERDICT_BAD_VALUE, "grace_ms", "grace_ms: expected 0 to %lld, got %lld",
                     (long long)EVENT_TIME_MAX_MS, (long long)e->grace_ms);
        return;
    }
    struct session *s = draft_find(d, e->session, "");
    if (!s) return;
    d->out->session = s->id;
    if (s->state == SESSION_STOPPING) {
        if (s->requeue) give_up(d, s, e->cause);
        hurry(d, s, e->grace_ms);
        return;
    }
    if (e->grace_ms >= 0) s->grace_ms = e->grace_ms;
    transition_finish(d, s, e->cause, "");
}

void on_signal(struct draft *d)
{
    const struct event_signal *e = &d->ev->u.signal;
    if (e->signal < 1 || e->signal > SIGNAL_MAX) {
        draft_refuse(d, VERDICT_BAD_VALUE, "signal", "signal: expected 1 to %d, got %d", SIGNAL_MAX,
                     e->signal);
        return;
    }
    struct session *s = draft_find(d, e->session, "");
    if (!s) return;
    if (s->state != SESSION_RUNNING) {
        draft_refuse(d, VERDICT_NOT_RUNNING, "", "session s%llu is %s, not running",
                     (unsigned long long)s->id, session_state_name(s->state));
        return;
    }
    if (s->signal_no == UINT32_MAX) {
        draft_refuse(d, VERDICT_FULL, "", "session s%llu had too many signals",
                     (unsigned long long)s->id);
        return;
    }
    s->signal_no++;
    s->signal = e->signal;
    d->out->session = s->id;
    draft_session(d, s);
    draft_wants_of(d, s);
    struct history *h = draft_session_history(d, HISTORY_SIGNAL, s);
    text_fmt(h->text, sizeof(h->text), "signal %d", e->signal);
}
