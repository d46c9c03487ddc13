/* core/transition.c - every move of a session.
 *
 * Invariants kept here: pending sessions and no others are queued; the deadline
 * is that of the table; from STOPPING on the outcome is set and stays, unless
 * the node is lost. */
#include "core/transition.h"

#include "base/check.h"
#include "core/blame.h"
#include "core/model/pool.h"
#include "core/model/silence.h"
#include "core/model/timers.h"
#include "core/sched/plan.h"
#include "core/model/usage.h"
#include "core/model/wait.h"
#include "core/sched/strategy.h"
#include "core/sched/vacate.h"

void transition(struct draft *d, struct session *s, enum session_state to, const char *text)
{
    struct world *w = d->w;
    enum session_state before = s->state;
    CHECK(session_may_follow(before, to));
    CHECK((s->outcome != OUTCOME_NONE) == (to == SESSION_STOPPING || to == SESSION_ENDED));
    if (before == SESSION_PENDING) {
        pool_remove(w, s);
        s->not_before_ms = 0;
        s->blocked_ms = 0;
    }
    if (before == SESSION_PENDING) s->unproved = false;
    if (before == SESSION_RESERVED) vacate_remove(w, s->id);
    usage_moved(w, s, before, to);
    s->state = to;
    wait_moved(w, s, before, to);
    if (to != SESSION_PENDING && to != SESSION_RESERVED) (void)plan_drop(w, s->id);
    s->since_ms = w->now_ms;
    s->deadline_ms = session_deadline(s, before, w->now_ms);
    s->alarm = false;
    if (to == SESSION_PENDING) pool_add(w, s);
    if (to == SESSION_RUNNING) {
        s->started_ms = w->now_ms;
        s->started_wall_ms = d->ev->wall_ms;
        s->failed_starts = 0;
        blame_nobody(d, s);
        /* Somebody may need its room. */
        if (world_group(w, s->group)->preempt.enabled) pool_due(w, s->group);
    }
    if (to == SESSION_ENDED) {
        s->ended_ms = w->now_ms;
        s->ended_wall_ms = d->ev->wall_ms;
        VEC_PUSH(&d->ended, ((struct draft_end){s->id, s->outcome}));
    }
    timers_arm_session(w, s);
    draft_session(d, s);
    struct history *h = draft_session_history(d, HISTORY_STATE, s);
    TEXT_CLIP(h->text, str_of(text));
}

/* "on n1, n2, n3": as many as the line holds. */
static void where_text(const struct world *w, const struct place *where, char *ret, size_t cap)
{
    size_t n = (size_t)text_fmt(ret, cap, "on");
    uint32_t last = 0;
    for (uint32_t i = 0; i < where->picks.n && n + 2 < cap; i++) {
        uint32_t node = where->picks.v[i].node;
        if (node == last) continue;
        n += (size_t)text_fmt(ret + n, cap - n, "%s%s", last ? ", " : " ",
                              world_node(w, node)->name);
        last = node;
    }
}

void transition_place(struct draft *d, struct session *s, const struct place *where)
{
    char text[160];
    CHECK(where->picks.n == s->members);
    s->attempt++;
    s->signal_no = 0; /* wishes are of an attempt: a new container must not get old ones */
    s->signal = 0;
    ends_drop(d->w, s);
    for (uint32_t m = 0; m < s->members; m++) {
        struct alloc *a = ledger_add(d->w, &(struct alloc){
            .ref = {.session = s->id, .attempt = s->attempt, .member = m},
            .node = where->picks.v[m].node,
            .slots = session_role_of(s, m)->slots,
            .devices = where->picks.v[m].devices,
            .turn = d->w->turn,
        });
        draft_alloc(d, a);
        draft_wants(d, a->node);
    }
    if (where->last != 0 && strategy_of(d->w, s) == STRATEGY_ROUND_ROBIN) {
        struct group *g = world_group(d->w, s->group);
        g->round_robin_node = where->last;
        draft_group(d, g);
    }
    where_text(d->w, where, text, sizeof(text));
    transition(d, s, SESSION_ALLOCATED, text);
}

/* ---- ends */

static bool still_held(const struct world *w, const struct session *s)
{
    for (struct alloc *a = world_allocs_of_session(w, s); a; a = world_next_of_session(w, a)) {
        if (!a->revoked || (s->outcome != OUTCOME_LOST && !s->requeue)) return true;
    }
    return false;
}

static int64_t backoff_ms(uint32_t failures)
{
    int64_t pause = SESSION_BACKOFF_FIRST_MS;
    CHECK(failures >= 1);
    for (; failures > 1 && pause < SESSION_BACKOFF_MAX_MS; failures--) pause *= 2;
    return pause < SESSION_BACKOFF_MAX_MS ? pause : SESSION_BACKOFF_MAX_MS;
}

/* Its id, its request and its place in the order stay; it is as if it had never run. */
static void queue_again(struct draft *d, struct session *s)
{
    /* Set before it is queued: it must not be tried again in this very step. */
    if (s->outcome == OUTCOME_FAILED) s->not_before_ms = d->w->now_ms + backoff_ms(s->failures);
    s->requeue = false;
    s->outcome = OUTCOME_NONE;
    s->started_ms = s->started_wall_ms = 0;
    s->failed_starts = 0;
    s->restarts++;
    ends_drop(d->w, s);
    transition(d, s, SESSION_PENDING, "it waits again");
}

void transition_try_end(struct draft *d, struct session *s)
{
    CHECK(s->state == SESSION_STOPPING);
    if (still_held(d->w, s)) return;
    if (s->requeue) queue_again(d, s);
    else transition(d, s, SESSION_ENDED, ends_of(d->w, s)->detail);
}

/* ---- preemption */

static void evict(struct draft *d, struct session *v, const struct session *for_whom, bool requeue)
{
    char text[64];
    CHECK(v->state == SESSION_RUNNING);
    v->requeue = requeue;
    text_fmt(text, sizeof(text), "it makes room for s%llu", (unsigned long long)for_whom->id);
    transition_finish(d, v, OUTCOME_PREEMPTED, text);
    CHECK(v->state == SESSION_STOPPING);
}

/* "s3, s4 make room for it": as many as the line holds. */
static void victims_text(const struct preempt *p, char *ret, size_t cap)
{
    size_t n = 0;
    for (uint32_t i = 0; i < p->victims.n && n + 48 < cap; i++) {
        n += (size_t)text_fmt(ret + n, cap - n, "%ss%llu", i ? ", " : "",
                              (unsigned long long)p->victims.v[i]);
        if (i + 1 < p->victims.n && n + 48 >= cap) {
            n += (size_t)text_fmt(ret + n, cap - n, " and %u more", p->victims.n - i - 1);
        }
    }
    text_fmt(ret + n, cap - n, " make%s room for it", p->victims.n > 1 ? "" : "s");
}

void transition_reserve(struct draft *d, struct session *s, const struct preempt *p)
{
    const struct group *g = world_group(d->w, s->group);
    int64_t longest_ms = 0;
    char text[160];
    CHECK(g != NULL);
    CHECK(p->victims.n > 0);
    VEC_EACH(id, &p->victims) {
        struct session *v = world_session(d->w, *id);
        CHECK(v != NULL);
        if (v->grace_ms > longest_ms) longest_ms = v->grace_ms;
        evict(d, v, s, g->preempt.mode == PREEMPT_REQUEUE);
    }
    victims_text(p, text, sizeof(text));
    transition(d, s, SESSION_RESERVED, text);
    s->deadline_ms = d->w->now_ms + longest_ms + SESSION_ALARM_AFTER_MS;
    timers_arm_session(d->w, s);
    vacate_add(d->w, s);
    vacate_keep(d->w, s->id, p->picks.v, p->picks.n);
}

/* ---- the end of an attempt */

void transition_finish(struct draft *d, struct session *s, enum session_outcome outcome,
                       const char *text)
{
    CHECK(s->state != SESSION_STOPPING);
    CHECK(outcome != OUTCOME_NONE);
    s->outcome = outcome;
    if (!s->requeue && !still_held(d->w, s)) {
        transition(d, s, SESSION_ENDED, text);
        return;
    }
    transition(d, s, SESSION_STOPPING, text);
    draft_wants_of(d, s);
    draft_ends_sooner(d, s);
    if (s->requeue) transition_try_end(d, s); /* at once when nothing is left */
}

/* Members that were told to run may do so at any moment, and until they are told otherwise: a
 * node that is heard now may fall silent before that.  So what is heard makes no difference. */
static bool may_go_on(const struct world *w, const struct session *s)
{
    if (s->members > 1 && s->state < SESSION_READY) return false; /* held at the barrier */
    return silence_unproved(w, s, 0) != NULL;
}

void transition_revoke(struct draft *d, struct session *s, const char *text)
{
    CHECK(session_row(s->state)->holds == HOLDS_DEVICES);
    s->unproved = may_go_on(d->w, s);
    for (struct alloc *a = world_allocs_of_session(d->w, s); a;
         a = world_next_of_session(d->w, a)) {
        if (a->revoked) continue;
        CHECK(a->ref.attempt == s->attempt);
        usage_give(d->w, a);
        a->revoked = true;
        a->revoked_turn = d->w->turn;
        draft_alloc(d, a);
        draft_wants(d, a->node);
    }
    draft_ends_sooner(d, s);
    struct history *h = draft_session_history(d, HISTORY_ATTEMPT_REVOKED, s);
    TEXT_CLIP(h->text, str_of(text));
    transition(d, s, SESSION_PENDING, text);
}

void transition_start_failed(struct draft *d, struct session *s, const struct member_end *end)
{
    CHECK(s->state >= SESSION_ALLOCATED);
    CHECK(s->state < SESSION_RUNNING);
    ends_put(d->w, s, end);
    s->failed_starts++;
    if (end->fatal || s->failed_starts >= SESSION_START_TRIES) {
        transition_finish(d, s, OUTCOME_FAILED, end->detail);
        return;
    }
    /* Set before it is queued: it must not be tried again in this very step. */
    s->not_before_ms = d->w->now_ms + backoff_ms(s->failed_starts);
    transition_revoke(d, s, end->detail);
    CHECK(session_waits(s, d->w->now_ms));
}
