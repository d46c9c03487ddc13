/* core/on_update.c - what people change of a session, and what its end means for others. */
#include "base/check.h"
#include "core/events.h"
#include "core/model/pool.h"
#include "core/model/timers.h"
#include "core/model/wait.h"
#include "core/transition.h"

static bool refuse_late(struct draft *d, const struct session *s, const char *field,
                        const char *text)
{
    draft_refuse(d, VERDICT_TOO_LATE, field, "%s: session s%llu is %s; %s", field,
                 (unsigned long long)s->id, session_state_name(s->state), text);
    return false;
}

static bool may_change(struct draft *d, const struct session *s, const struct event_update *e)
{
    bool pending = s->state == SESSION_PENDING;
    if ((e->fields & UPDATE_PRIORITY) && (e->priority < 0 || e->priority > SESSION_PRIORITY_MAX)) {
        draft_refuse(d, VERDICT_BAD_VALUE, "priority", "priority: expected 0 to %d, got %d",
                     SESSION_PRIORITY_MAX, e->priority);
        return false;
    }
    if ((e->fields & UPDATE_TIME_LIMIT) &&
        (e->time_limit_ms < 0 || e->time_limit_ms > SESSION_TIME_MAX_MS)) {
        draft_refuse(d, VERDICT_BAD_VALUE, "time_limit_ms", "time_limit_ms: expected 0 to %lld, "
                     "got %lld", (long long)SESSION_TIME_MAX_MS, (long long)e->time_limit_ms);
        return false;
    }
    int64_t most = world_group(d->w, s->group)->time_max_ms;
    if ((e->fields & UPDATE_TIME_LIMIT) && most > 0 &&
        (e->time_limit_ms == 0 || e->time_limit_ms > most)) {
        draft_refuse(d, VERDICT_BAD_VALUE, "time_limit_ms",
                     "time_limit_ms: the group allows at most %lld, got %lld", (long long)most,
                     (long long)e->time_limit_ms);
        return false;
    }
    if ((e->fields & UPDATE_PREEMPTIBLE) && e->preemptible && s->kind == KIND_SERVICE) {
        draft_refuse(d, VERDICT_BAD_VALUE, "preemptible", "preemptible: a service never is");
        return false;
    }
    if ((e->fields & UPDATE_HOLD) && !pending)
        return refuse_late(d, s, "hold", "only what waits can be held or released");
    if ((e->fields & UPDATE_TIME_LIMIT) && !pending)
        return refuse_late(d, s, "time_limit_ms", "its node keeps the limit that it started with");
    return true;
}

static void say_change(struct draft *d, const struct session *s, const struct event_update *e)
{
    struct history *h = draft_session_history(d, HISTORY_UPDATED, s);
    struct strbuf b;
    strbuf_init(&b, 512);
    if (e->fields & UPDATE_PRIORITY) strbuf_fmt(&b, "priority %d ", s->priority);
    if (e->fields & UPDATE_TIME_LIMIT)
        strbuf_fmt(&b, "time limit %lld ms ", (long long)s->time_limit_ms);
    if (e->fields & UPDATE_HOLD) strbuf_puts(&b, s->hold ? "held " : "released ");
    if (e->fields & UPDATE_PREEMPTIBLE)
        strbuf_puts(&b, s->preemptible ? "preemptible " : "not preemptible ");
    if (b.n > 0) TEXT_CLIP(h->text, str_n(b.p, b.n - 1));
    strbuf_done(&b);
}

static void apply(struct session *s, const struct event_update *e)
{
    if (e->fields & UPDATE_PRIORITY) {
        s->priority = e->priority;
        s->lowered = 0; /* what a person says now counts */
        s->blocked_tries = 0;
    }
    if (e->fields & UPDATE_TIME_LIMIT) s->time_limit_ms = e->time_limit_ms;
    if (e->fields & UPDATE_HOLD) s->hold = e->hold;
    if (e->fields & UPDATE_PREEMPTIBLE) s->preemptible = e->preemptible;
}

void on_update(struct draft *d)
{
    const struct event_update *e = &d->ev->u.update;
    struct session *s = draft_find(d, e->session, "session");
    if (!s || !may_change(d, s, e)) return;
    bool pending = s->state == SESSION_PENDING;
    if (pending) pool_remove(d->w, s); /* its place is found by what may change now */
    apply(s, e);
    if (pending) pool_add(d->w, s);
    else draft_ends_sooner(d, s); /* or later: then a promise is overdue */
    timers_arm_session(d->w, s);
    d->out->session = s->id;
    draft_session(d, s);
    say_change(d, s, e);
}

void on_requeue(struct draft *d)
{
    struct session *s = draft_find(d, d->ev->u.requeue, "session");
    if (!s) return;
    d->out->session = s->id;
    if (s->state == SESSION_RUNNING) {
        s->requeue = true;
        transition_finish(d, s, OUTCOME_PREEMPTED, "sent back to the queue");
    } else if (session_row(s->state)->holds == HOLDS_DEVICES && s->state < SESSION_RUNNING) {
        transition_revoke(d, s, "sent back to the queue");
    } else {
        draft_refuse(d, VERDICT_TOO_LATE, "", "session s%llu is %s; only what holds a place can "
                     "be sent back", (unsigned long long)s->id, session_state_name(s->state));
    }
}

/* ---- ends */

static void drop_dependency(struct session *s, uint64_t on)
{
    for (uint32_t i = 0; i < s->n_depends; i++) {
        if (s->depends[i].session != on) continue;
        s->depends[i] = s->depends[--s->n_depends];
        s->depends[s->n_depends] = (struct dependency){0};
        return;
    }
    UNREACHABLE();
}

static const struct dependency *dependency_on(const struct session *s, uint64_t on)
{
    for (uint32_t i = 0; i < s->n_depends; i++) {
        if (s->depends[i].session == on) return &s->depends[i];
    }
    return NULL;
}

static void tell_dependent(struct draft *d, struct session *s, struct draft_end end)
{
    const struct dependency *dep = dependency_on(s, end.session);
    CHECK(dep != NULL);
    CHECK(s->state == SESSION_PENDING);
    if (wait_met(dep->on, end.outcome)) {
        pool_remove(d->w, s);
        drop_dependency(s, end.session);
        pool_add(d->w, s);
        draft_session(d, s);
        return;
    }
    char text[128];
    text_fmt(text, sizeof(text), "it waited for the %s of s%llu, which %s",
             depend_on_name(dep->on), (unsigned long long)end.session,
             end.outcome == OUTCOME_SUCCEEDED ? "succeeded" : "did not succeed");
    struct member_end why = *ends_of(d->w, s);
    TEXT_CLIP(why.detail, str_of(text));
    ends_put(d->w, s, &why);
    s->n_depends = 0; /* nothing is waited for any more */
    memset(s->depends, 0, sizeof(s->depends));
    transition_finish(d, s, OUTCOME_FAILED, text);
}

/* Tasks that waited for a place among those of their array. */
static void wake_array(struct draft *d, const struct session *task)
{
    if (task->array_limit == 0) return;
    uint32_t active = wait_array_active(d->w, task);
    bool room = active < task->array_limit;
    for (uint32_t i = 0; room && i < task->array_count; i++) {
        struct session *s = world_session(d->w, task->array + i);
        if (!s || s->state != SESSION_PENDING || session_waits(s, d->w->now_ms)) continue;
        pool_wake(d->w, s); /* each: the next one may find no room */
    }
}

void on_ended(struct draft *d)
{
    struct wait_ids ids = {{0}};
    for (uint32_t at = 0; at < d->ended.n; at++) { /* telling may end others, which are added */
        struct draft_end end = d->ended.v[at];
        const struct session *s = world_session(d->w, end.session);
        CHECK(s != NULL);
        CHECK(s->state == SESSION_ENDED);
        if (s->array != 0) wake_array(d, s);
        wait_take_dependents(d->w, end.session, &ids);
        VEC_EACH(id, &ids.v) {
            struct session *dependent = world_session(d->w, *id);
            if (dependent && session_live(dependent) && dependency_on(dependent, end.session))
                tell_dependent(d, dependent, end);
        }
    }
    VEC_CLEAR(&d->ended);
    VEC_DONE(&ids.v);
}
