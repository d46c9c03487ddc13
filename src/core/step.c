/* core/step.c - one event after another.
 *
 * Order inside a step: the event, then what its time makes due, then the pass,
 * then the copies of all that changed.  A proof that arrives at the very instant
 * of a deadline therefore still counts. */
#include "core/step.h"

#include "base/check.h"
#include "core/draft.h"
#include "core/events.h"
#include "core/model/order.h"
#include "core/model/timers.h"
#include "core/sched/pass.h"
#include "core/sched/sched.h"
#include "core/transition.h"

static const char *const VERDICT_NAMES[] = {
    [VERDICT_OK] = "ok",
    [VERDICT_NOT_FOUND] = "not_found",
    [VERDICT_NAME_TAKEN] = "name_taken",
    [VERDICT_BAD_VALUE] = "invalid",
    [VERDICT_IMPOSSIBLE] = "impossible",
    [VERDICT_OVER_LIMIT] = "over_limit",
    [VERDICT_DENIED] = "denied",
    [VERDICT_ENDED] = "ended",
    [VERDICT_NOT_RUNNING] = "not_running",
    [VERDICT_NOT_EMPTY] = "not_empty",
    [VERDICT_TOO_LATE] = "too_late",
    [VERDICT_STALE] = "stale",
    [VERDICT_FULL] = "full",
};
_Static_assert(ARRAY_LEN(VERDICT_NAMES) == VERDICTS, "one name a verdict");

static const char *const HISTORY_NAMES[] = {
    [HISTORY_SUBMITTED] = "session.submitted",
    [HISTORY_STATE] = "session.state",
    [HISTORY_ATTEMPT_REVOKED] = "session.attempt_revoked",
    [HISTORY_ALARM] = "session.alarm",
    [HISTORY_SIGNAL] = "session.signal",
    [HISTORY_NODE_JOINED] = "node.joined",
    [HISTORY_NODE_UNREACHABLE] = "node.unreachable",
    [HISTORY_NODE_BACK] = "node.back",
    [HISTORY_NODE_CORDON] = "node.cordon",
    [HISTORY_NODE_QUARANTINED] = "node.quarantined",
    [HISTORY_NODE_FORGOTTEN] = "node.forgotten",
    [HISTORY_GROUP] = "group.changed",
    [HISTORY_ACCOUNT] = "account.changed",
    [HISTORY_RESERVED] = "reservation.made",
    [HISTORY_UNRESERVED] = "reservation.gone",
    [HISTORY_SILENCE_ACCEPTED] = "silence.accepted",
    [HISTORY_NODE_FENCED] = "node.fenced",
    [HISTORY_DEVICE] = "device.changed",
    [HISTORY_NODE_DRAIN] = "node.drain",
    [HISTORY_UPDATED] = "session.updated",
};
_Static_assert(ARRAY_LEN(HISTORY_NAMES) == HISTORY_KINDS, "one name a kind");

const char *verdict_name(enum verdict v)
{
    CHECK(v < VERDICTS);
    return VERDICT_NAMES[v];
}

const char *history_name(enum history_what what)
{
    CHECK(what >= HISTORY_SUBMITTED);
    CHECK(what < HISTORY_KINDS);
    return HISTORY_NAMES[what];
}

static void dispatch(struct draft *d)
{
    switch (d->ev->kind) {
    case EVENT_TICK: return;
    case EVENT_SUBMIT: on_submit(d); return;
    case EVENT_STOP: on_stop(d); return;
    case EVENT_SIGNAL: on_signal(d); return;
    case EVENT_NODE_JOIN: on_join(d); return;
    case EVENT_NODE_REPORT: on_report(d); return;
    case EVENT_NODE_CORDON: on_cordon(d); return;
    case EVENT_NODE_FORGET: on_forget(d); return;
    case EVENT_GROUP_PUT: on_group_put(d); return;
    case EVENT_DOMAIN_PUT: on_domain_put(d); return;
    case EVENT_PROJECT_PUT: on_project_put(d); return;
    case EVENT_USER_PUT: on_user_put(d); return;
    case EVENT_UPDATE: on_update(d); return;
    case EVENT_RESERVE: on_reserve(d); return;
    case EVENT_UNRESERVE: on_unreserve(d); return;
    case EVENT_REQUEUE: on_requeue(d); return;
    case EVENT_SILENCE_ACCEPT: on_silence_accept(d); return;
    case EVENT_NODE_FENCED: on_fenced(d); return;
    case EVENT_DEVICE: on_device_order(d); return;
    case EVENT_KINDS: break;
    }
    UNREACHABLE();
}

static void placed(void *arg, struct session *s, const struct place *where)
{
    transition_place(arg, s, where);
}

static void changed(void *arg, struct session *s)
{
    struct draft *d = arg;
    timers_arm_session(d->w, s);
    draft_session(d, s);
}

static bool preempt(void *arg, struct session *s)
{
    struct draft *d = arg;
    struct preempt found = {0};
    bool decided = preempt_decide(d->w, s, &found);
    if (decided) transition_reserve(d, s, &found);
    preempt_done(&found);
    return decided;
}

void effects_reset(struct effects *out)
{
    out->verdict = VERDICT_OK;
    out->text[0] = out->field[0] = '\0';
    out->session = 0;
    out->node = 0;
    out->account = 0;
    out->reservation = 0;
    out->accepted = 0;
    VEC_CLEAR(&out->changes);
    VEC_CLEAR(&out->nodes);
    out->more = false;
}

void step(struct world *w, const struct event *ev, struct effects *out)
{
    struct draft d = {.w = w, .ev = ev, .out = out, .actor = ev->actor};
    CHECK(w->ready);
    effects_reset(out);
    if (ev->now_ms > w->now_ms) w->now_ms = ev->now_ms;
    CHECK(w->now_ms >= 0);
    CHECK(w->now_ms < INT64_MAX / 2); /* any deadline can be added to it */
    if (!w->started) {
        on_start(&d);
        sched_sync(w);
    }
    dispatch(&d);
    d.actor = 0; /* who ends one session did not start the next */
    on_time(&d);
    on_ended(&d);
    struct pass_sink sink = {.placed = placed, .preempt = preempt, .changed = changed, .arg = &d};
    if (!ev->more_coming) on_reserved(&d);
    if (!ev->more_coming) out->more = pass_run(w, &sink);
    sched_sync(w);
    draft_finish(&d);
}

void effects_done(struct effects *e)
{
    VEC_DONE(&e->changes);
    VEC_DONE(&e->nodes);
}

/* ---- wishes */

static struct member_want want_of(const struct session *s, const struct alloc *a)
{
    struct member_want want = {
        .ref = a->ref, .act = WANT_HOLD, .signal_no = s->signal_no, .signal = s->signal,
        .fresh = a->phase == MEMBER_NONE};
    CHECK(a->ref.attempt == s->attempt);
    if (s->state == SESSION_STOPPING) {
        want.act = WANT_STOP;
        want.grace_ms = s->grace_ms;
        want.preempted = s->outcome == OUTCOME_PREEMPTED;
    } else if (s->members == 1 || s->state >= SESSION_READY) {
        want.act = WANT_RUN; /* who is alone waits for nobody */
    }
    return want;
}

static int cmp_wants(const void *a, const void *b)
{
    return member_ref_cmp(((const struct member_want *)a)->ref,
                          ((const struct member_want *)b)->ref);
}

void step_wants(const struct world *w, const struct node *n, struct member_want **ret,
                uint32_t *ret_n)
{
    VEC(struct member_want) wants = {0};
    for (struct alloc *a = world_allocs_of_node(w, n); a; a = world_next_of_node(w, a)) {
        const struct session *s = world_session(w, a->ref.session);
        if (a->revoked) continue; /* not wished for any more */
        CHECK(s != NULL);
        VEC_PUSH(&wants, want_of(s, a));
    }
    order_sort(wants.v, wants.n, sizeof(*wants.v), cmp_wants);
    *ret = wants.v;
    *ret_n = wants.n;
}

int64_t step_next_deadline(const struct world *w)
{
    int64_t timer = timers_next(w), pass = pass_next_ms(w);
    return timer < pass ? timer : pass;
}
