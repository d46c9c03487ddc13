/* core/explain.c - the pass's own questions, asked for one session.  The words are in
 * explain_text.c.  docs/spec/scheduling.md, "Explain" */
#include "core/explain.h"

#include "base/check.h"
#include "core/model/pool.h"
#include "core/sched/fence.h"
#include "core/sched/leaving.h"
#include "core/sched/place.h"
#include "core/sched/plan.h"
#include "core/sched/preempt.h"
#include "core/sched/reserve.h"
#include "core/sched/vacate.h"

static const char *const WHY_NAMES[] = {
    [WHY_NONE] = "none",
    [WHY_PLACED] = "placed",
    [WHY_WAITING] = "waiting",
    [WHY_OVER_QUOTA] = "over_quota",
    [WHY_NO_CAPACITY] = "no_capacity",
    [WHY_SKIPPED] = "skipped",
    [WHY_PREEMPTING] = "preempting",
    [WHY_STARTING] = "starting",
    [WHY_STOPPING] = "stopping",
    [WHY_RUNNING] = "running",
};
_Static_assert(ARRAY_LEN(WHY_NAMES) == WHY_KINDS, "one name a kind");
_Static_assert(WHY_FILTERS == FILTERS, "each filter is counted");

const char *why_kind_name(enum why_kind k)
{
    CHECK(k < WHY_KINDS);
    return WHY_NAMES[k];
}

/* ---- what is in its way: room, promises, or nodes that are kept free */

static void explain_miss(const struct world *w, const struct session *s, const struct place *failed,
                         struct why *why)
{
    struct place_miss miss;
    place_explain(w, s, PLACE_NOW, failed, &miss);
    why->kind = WHY_NO_CAPACITY;
    why->nodes = miss.nodes;
    why->unreachable = miss.unreachable;
    why->cordoned = miss.cordoned;
    why->quarantined = miss.quarantined;
    why->unhealthy = miss.unhealthy;
    memcpy(why->filtered, miss.filtered, sizeof(why->filtered));
    why->too_small = miss.too_small;
    why->busy = miss.busy;
    why->nearest_node = miss.nearest_node;
    why->asked = miss.asked;
    why->free = miss.free;
    why->missing = miss.missing;
}

static bool comes_before(const struct world *w, uint64_t ahead, const struct session *s)
{
    const struct session *other = world_session(w, ahead);
    if (!other || other->state != SESSION_PENDING) return false;
    struct queue_entry its = pool_entry_of(w, other), mine = pool_entry_of(w, s);
    return pool_before(&its, &mine);
}

/* Nodes that are kept free for a session ahead which cannot be dated; NULL: none. */
static const struct reserve *closed_to(const struct world *w, const struct session *s)
{
    const struct reserve *r = reserve_read(w, s->group);
    if (!r || r->closed.n == 0 || r->undated == s->id) return NULL;
    return comes_before(w, r->undated, s) ? r : NULL;
}

/* Rooms as they are, whatever is promised or closed. */
static void give_bare(const struct world *w, const struct session *s, struct place *p)
{
    for (uint32_t at = 0; at < w->rooms.n; at++) {
        if (w->rooms.v[at].group != s->group || !plan_promised(w, at + 1)) continue;
        VEC_PUSH(&p->given, ((struct place_room){at + 1, w->rooms.v[at]}));
    }
}

static void give_closed(const struct world *w, const struct reserve *r, struct place *p)
{
    VEC_EACH(node, &r->closed) {
        struct room shut = w->rooms.v[*node - 1];
        shut.usable = false;
        VEC_PUSH(&p->given, ((struct place_room){*node, shut}));
    }
}

static int64_t until_of(const struct world *w, const struct session *s)
{
    return s->time_limit_ms > 0 ? w->now_ms + s->time_limit_ms : PLAN_NEVER;
}

/* Whether what is promised on the node is in the way of the members that would be there. */
static bool promise_hurts(const struct world *w, const struct session *s, const struct place *bare,
                          uint32_t node)
{
    struct slots need = {{0}};
    struct room room;
    if (!plan_promised(w, node)) return false;
    for (uint32_t m = 0; m < bare->picks.n; m++) {
        if (bare->picks.v[m].node != node) continue;
        bool sane = slots_add(&need, &session_role_of(s, m)->slots, &need);
        CHECK(sane); /* they fit there together */
    }
    plan_window(w, node, s, until_of(w, s), &room);
    return !slots_fit(&need, &room.free);
}

static bool is_on(const struct promise *p, uint32_t node)
{
    VEC_EACH(pick, &p->picks) if (pick->node == node) return true;
    return false;
}

/* The first in the queue whose promise it would delay. */
static bool explain_promise(const struct world *w, const struct session *s,
                            const struct place *bare, struct why *why)
{
    const struct reserve *r = reserve_read(w, s->group);
    for (uint32_t i = 0; r && i < r->v.n; i++) {
        const struct promise *p = plan_of(w, r->v.v[i].session);
        if (!p || p->session == s->id || p->at_ms >= until_of(w, s)) continue;
        for (uint32_t m = 0; m < bare->picks.n; m++) {
            uint32_t node = bare->picks.v[m].node;
            if (!is_on(p, node) || !promise_hurts(w, s, bare, node)) continue;
            why->kind = WHY_SKIPPED;
            why->skip = SKIP_PROMISE;
            why->blocker = p->session;
            why->at_node = node;
            why->promised_ms = p->at_ms;
            return true;
        }
    }
    return false;
}

/* What is reserved for others on a node where it would be, in the time that it may take. */
static bool explain_reserved(const struct world *w, const struct session *s,
                             const struct place *bare, struct why *why)
{
    VEC_EACH(r, &w->reservations) {
        if (reservation_admits(r, s) || r->end_ms <= w->now_ms) continue;
        if (r->start_ms >= until_of(w, s)) continue;
        for (uint32_t m = 0; m < bare->picks.n; m++) {
            uint32_t node = bare->picks.v[m].node, part = 0;
            while (part < r->n_parts && r->parts[part].node != node) part++;
            if (part == r->n_parts || !promise_hurts(w, s, bare, node)) continue;
            why->kind = WHY_NO_CAPACITY;
            why->reservation = r->id;
            why->at_node = node;
            return true;
        }
    }
    return false;
}

static bool explain_closed(const struct reserve *r, const struct place *bare, struct why *why)
{
    VEC_EACH(node, &r->closed) {
        VEC_EACH(pick, &bare->picks) {
            if (pick->node != *node) continue;
            why->kind = WHY_SKIPPED;
            why->skip = SKIP_CLOSED;
            why->blocker = r->undated;
            why->at_node = *node;
            return true;
        }
    }
    return false;
}

static void explain_room(const struct world *w, const struct session *s, struct why *why)
{
    const struct reserve *closed = closed_to(w, s);
    struct place now = {0}, bare = {0};
    why->kind = WHY_PLACED;
    if (closed) give_closed(w, closed, &now);
    if (place_decide(w, s, PLACE_NOW, &now)) {
        place_done(&now);
        return;
    }
    bool plain = !closed && !plan_any(w);
    if (!plain) give_bare(w, s, &bare);
    if (plain) {
        explain_miss(w, s, &now, why);
    } else if (!place_decide(w, s, PLACE_NOW, &bare)) {
        explain_miss(w, s, &bare, why);
    } else if (!(closed && explain_closed(closed, &bare, why)) &&
               !explain_promise(w, s, &bare, why) && !explain_reserved(w, s, &bare, why)) {
        explain_miss(w, s, &now, why);
    }
    place_done(&now);
    place_done(&bare);
}

/* ---- others make room for it */

static void add_leaving(struct why *why, uint64_t session)
{
    for (uint32_t i = 0; i < why->n_leaving && i < WHY_LEAVING; i++) {
        if (why->leaving[i] == session) return;
    }
    if (why->n_leaving < WHY_LEAVING) why->leaving[why->n_leaving] = session;
    why->n_leaving++;
}

static void explain_preempting(const struct world *w, const struct session *s, struct why *why)
{
    const struct vacate *v = vacate_of(w, s->id);
    why->kind = WHY_PREEMPTING;
    why->retry_ms = s->deadline_ms;
    if (!v || v->picks.n == 0) return; /* a manager that just started is still told by the nodes */
    why->at_node = v->picks.v[0].node;
    VEC_EACH(pick, &v->picks) {
        const struct node *n = world_node(w, pick->node);
        for (struct alloc *a = n ? world_allocs_of_node(w, n) : NULL; a;
             a = world_next_of_node(w, a)) {
            if (leaving_row(w, a)) add_leaving(why, a->ref.session);
        }
    }
}

static void would_preempt(const struct world *w, const struct session *s, struct why *why)
{
    struct preempt p = {0};
    if (preempt_decide(w, s, &p)) {
        why->kind = WHY_PREEMPTING;
        why->at_node = p.picks.v[0].node;
        VEC_EACH(id, &p.victims) add_leaving(why, *id);
    }
    preempt_done(&p);
}

/* ---- pending */

static uint32_t place_of(const struct world *w, const struct session *s, uint32_t *ret_n)
{
    const struct queue_entry *e = pool_entries(w, s->group, ret_n);
    if (world_session(w, s->id)) return pool_place(w, s);
    struct queue_entry mine = pool_entry_of(w, s);
    uint32_t at = 0;
    while (at < *ret_n && pool_before(&e[at], &mine)) at++;
    (*ret_n)++; /* it would be one more */
    return at + 1;
}

static void explain_wait(const struct world *w, const struct session *s, struct why *why)
{
    why->kind = WHY_WAITING;
    if (why->wait == WAIT_START) why->retry_ms = s->start_after_ms;
    if (why->wait == WAIT_BACKOFF) why->retry_ms = s->not_before_ms;
    if (why->wait == WAIT_ARRAY) why->array_active = wait_array_active(w, s);
}

static void explain_pending(const struct world *w, const struct session *s, struct why *why)
{
    why->place = place_of(w, s, &why->queue_length);
    CHECK(why->place <= why->queue_length);
    why->wait = wait_of(w, s);
    if (why->wait != WAIT_NONE) {
        explain_wait(w, s, why);
        return;
    }
    const struct session *blocker = NULL;
    if (world_group(w, s->group)->on_blocked == BLOCKED_STOP) blocker = fence_blocker(w, s);
    if (blocker) {
        why->kind = WHY_SKIPPED;
        why->skip = SKIP_ORDER;
        why->blocker = blocker->id;
        return;
    }
    why->n_excess = quota_excesses(w, s, why->excess);
    if (why->n_excess > 0) why->kind = WHY_OVER_QUOTA;
    else explain_room(w, s, why);
}

/* What becomes of it when one of its nodes is silent. */
static void explain_silence(const struct world *w, const struct session *s, struct why *why)
{
    const struct node *longest = NULL;
    for (struct alloc *a = world_allocs_of_session(w, s); a; a = world_next_of_session(w, a)) {
        const struct node *n = world_node(w, a->node);
        CHECK(n != NULL);
        if (!n->unreachable || (longest && longest->heard_ms <= n->heard_ms)) continue;
        longest = n;
    }
    if (!longest) return;
    why->silent_node = longest->id;
    why->heard_ms = longest->heard_ms;
    why->silence = silence_judge(w, longest, s, s->fence_ms > 0 && silence_of_many(w));
    if (s->fence_ms == 0) return;
    why->fence_end_ms = silence_end_ms(longest, s);
    why->release_ms = silence_release_ms(longest, s);
}

void explain_session(const struct world *w, const struct session *s, struct why *ret)
{
    struct why why = {.since_ms = s->since_ms};
    switch (s->state) {
    case SESSION_PENDING: explain_pending(w, s, &why); break;
    case SESSION_RESERVED: explain_preempting(w, s, &why); break;
    case SESSION_ALLOCATED: why.kind = WHY_PLACED; break;
    case SESSION_PREPARING:
    case SESSION_READY:
    case SESSION_STARTING: why.kind = WHY_STARTING; break;
    case SESSION_RUNNING: why.kind = WHY_RUNNING; break;
    case SESSION_STOPPING: why.kind = WHY_STOPPING; break;
    case SESSION_ENDED: why.kind = WHY_NONE; break;
    case SESSION_STATES: UNREACHABLE();
    }
    if (s->state != SESSION_PENDING && world_session(w, s->id) == s) explain_silence(w, s, &why);
    *ret = why;
}

void explain_expected(const struct world *w, const struct session *s, struct why *why)
{
    if (s->state != SESSION_PENDING) return;
    forecast_session(w, s, FORECAST_MOST, &why->expected);
    if (world_session(w, s->id)) return; /* a pass has judged it */
    bool blocked = why->kind == WHY_NO_CAPACITY || why->skip == SKIP_PROMISE;
    bool at_once = why->expected.kind == FORECAST_DATED && why->expected.at_ms <= w->now_ms;
    if (at_once) why->kind = WHY_PLACED;
    else if (blocked && world_group(w, s->group)->preempt.enabled) would_preempt(w, s, why);
}
