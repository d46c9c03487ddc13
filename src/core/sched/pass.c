/* core/sched/pass.c - the walk along a queue.
 *
 * Within a pass room only shrinks and use only grows, so what was refused stays refused:
 * 100,000 sessions of a few families cost a few searches.  Sessions that wait for a time
 * of their own, or are over a limit, are passed over and hold back nobody. */
#include "core/sched/pass.h"

#include "base/check.h"
#include "core/model/pool.h"
#include "core/model/wait.h"
#include "core/sched/frontier.h"
#include "core/sched/preempt.h"
#include "core/sched/quota.h"
#include "core/sched/sched.h"
#include "core/sched/walk.h"

/* Whether both count towards one limit. */
static bool share_limit(const struct world *w, const struct session *a, const struct session *b)
{
    const struct project *p = world_project(w, a->project), *q = world_project(w, b->project);
    if (a->array != 0 && a->array == b->array && a->array_limit > 0) return true;
    if (a->user == b->user && world_user(w, a->user)->limits.set != 0) return true;
    if (p == q && p->limits.set != 0) return true;
    return p->domain == q->domain && world_domain(w, p->domain)->limits.set != 0;
}

static bool is_limited(const struct world *w, const struct session *s)
{
    return share_limit(w, s, s);
}

/* What starts may take what others would need to start: a blocked one that is over its
 * limit now holds nobody back any more, and keeps no promise. */
static void use_grew(struct walk *walk, const struct session *s)
{
    struct world *w = walk->w;
    if (!is_limited(w, s)) return;
    for (uint32_t g = 1; g <= w->groups.n; g++) {
        bool strict = w->groups.v[g - 1].on_blocked == BLOCKED_STOP;
        bool concerned = strict && w->queues.v[g - 1].n > 0;
        VEC_EACH(one, &reserve_of(w, g)->v) {
            concerned = concerned || share_limit(w, s, world_session(w, one->session));
        }
        if (concerned && g == walk->g->id) walk->later = true;
        else if (concerned) pool_due(w, g);
        walk->again = walk->again || concerned;
    }
}

bool walk_start(struct walk *walk, struct session *s)
{
    struct world *w = walk->w;
    walk->searches += 1 + w->rooms.n / PASS_ROOMS;
    if (!place_decide(w, s, PLACE_NOW, &walk->place)) return false;
    walk->sink->placed(walk->sink->arg, s, &walk->place);
    CHECK(s->state != SESSION_PENDING);
    sched_sync(w);
    use_grew(walk, s);
    if (w->freed.n > 0) { /* it had a promise, and starts before that was due */
        reserve_freed(w);
        frontier_take(w);
    }
    return true;
}

void walk_passed(struct walk *walk)
{
    CHECK(walk->ahead < walk->r->v.n);
    const struct reserved *one = &walk->r->v.v[walk->ahead++];
    if (one->endless) VEC_PUSH(&walk->endless.v, one->session);
}

/* What a search would find in vain, by what the nodes have at most. */
static bool is_hopeless(struct walk *walk, const struct queue_entry *e, const struct session *s)
{
    struct world *w = walk->w;
    uint32_t choices = s->one_node ? 1 : s->members;
    struct queue_entry corner = *e;
    struct slots at_least;
    if (w->families.v[e->family].n_demands > 1) return false;
    if (bounds_allow(w, &walk->r->bounds, e, choices, &at_least)) return false;
    corner.cpu = at_least.v[SLOT_CPU];
    corner.mem = at_least.v[SLOT_MEM];
    frontier_add_now(w, &corner, 0);
    return true;
}

/* The search for e failed: what that says of its family. */
static void learn(struct walk *walk, const struct queue_entry *e, const struct session *s)
{
    struct world *w = walk->w;
    uint32_t choices = s->one_node ? 1 : s->members;
    if (s->n_failed_on > 0) return; /* nodes are passed over for it that others may use */
    bool bare = !plan_any(w);
    if (!bare && w->families.v[e->family].n_demands == 1)
        bare = !bounds_fit(w, &walk->r->bounds, e, choices);
    frontier_add_now(w, e, bare ? 0 : e->limit_ms);
}

/* Whether anybody at all could be made to go for an entry of this priority. */
static bool may_preempt(struct walk *walk, int32_t priority)
{
    if (!walk->g->preempt.enabled || !walk->sink->preempt) return false;
    if (walk->preempts >= PASS_PREEMPTS) return false;
    if (!walk->floor_known) walk->floor = preempt_floor(walk->w, walk->g->id);
    walk->floor_known = true;
    return priority > walk->floor;
}

static bool preempts(struct walk *walk, struct session *s)
{
    struct world *w = walk->w;
    if (!may_preempt(walk, session_order_priority(s))) return false;
    walk->preempts++;
    walk->searches += 10;
    if (!walk->sink->preempt(walk->sink->arg, s)) return false;
    CHECK(s->state == SESSION_RESERVED);
    sched_sync(w);
    use_grew(walk, s);
    if (w->freed.n > 0) { /* the promise that it had */
        reserve_freed(w);
        frontier_take(w);
    }
    return true;
}

static bool is_promised(const struct walk *walk, const struct queue_entry *e)
{
    return walk->ahead < walk->r->v.n && walk->r->v.v[walk->ahead].session == e->seq;
}

/* Of most that come now nobody needs to know more than that they cannot start. */
static bool is_plain(struct walk *walk, int32_t priority)
{
    if (walk->strict) return false;
    if (may_preempt(walk, priority)) return false;
    if (walk->undated != 0) return true;
    return walk->ahead >= walk->depth && walk->r->closed.n == 0;
}

static bool plainly_blocked(struct walk *walk, const struct queue_entry *e)
{
    if (!is_plain(walk, e->priority) || !frontier_now(walk->w, e)) return false;
    return walk->ahead >= walk->depth || frontier_ever(walk->w, e, &walk->endless);
}

static bool is_held_back(struct walk *walk, const struct queue_entry *e, const struct session *s)
{
    struct family *f = &walk->w->families.v[e->family];
    uint64_t now = walk->w->walks;
    if (f->fenced == now && e->cpu <= f->fenced_cpu && e->mem <= f->fenced_mem) return true;
    if (f->fence == now && e->cpu == f->fence_cpu && e->mem == f->fence_mem) return false;
    if (!fence_holds(&walk->fence, walk->w, s)) return false;
    f->fenced = now;
    f->fenced_cpu = e->cpu;
    f->fenced_mem = e->mem;
    return true;
}

static void give_up_promise(struct walk *walk)
{
    reserve_drop(walk->w, walk->r, walk->ahead);
    reserve_freed(walk->w);
    frontier_take(walk->w);
}

/* The same, as if nobody behind the promises before `behind` were promised anything: they
 * are made again when their turn comes. */
static bool preempts_over(struct walk *walk, struct session *s, uint32_t behind)
{
    struct world *w = walk->w;
    struct reserve_taken taken = {.freed = 0};
    if (!may_preempt(walk, session_order_priority(s))) return false;
    reserve_take(w, walk->r, behind, &taken);
    if (preempts(walk, s)) {
        reserve_taken_done(&taken);
        return true;
    }
    reserve_put_back(w, walk->r, &taken);
    return false;
}

/* Not promised anything; the limits allow it. */
static enum judgement judge_plain(struct walk *walk, const struct queue_entry *e,
                                  struct session *s)
{
    /* Who comes before the session that nodes are closed for may use them: what is
     * remembered may not say so. */
    bool believe = walk->r->closed.n == 0 || walk->undated != 0;
    if (!believe || !frontier_now(walk->w, e)) {
        bool behind = walk->depth > 0 && walk->ahead >= walk->depth;
        if (behind && walk->r->tested >= walk->g->test_depth) return JUDGED_PASSED_OVER;
        if (!is_hopeless(walk, e, s)) {
            walk->r->tested += behind;
            if (walk_start(walk, s)) return JUDGED_PLACED;
            learn(walk, e, s);
        }
    }
    if (preempts_over(walk, s, walk->ahead)) return JUDGED_PLACED;
    if (walk->ahead >= walk->depth) return JUDGED_BLOCKED;
    if (believe && frontier_ever(walk->w, e, &walk->endless)) {
        backfill_undated(walk, s);
        return JUDGED_BLOCKED;
    }
    return backfill_reserve(walk, e, s);
}

enum judgement walk_judge(struct walk *walk, const struct queue_entry *e)
{
    struct world *w = walk->w;
    bool promised = is_promised(walk, e);
    if (!promised && (e->parked || plainly_blocked(walk, e))) return JUDGED_PASSED_OVER;
    struct session *s = &w->sessions.v[e->slot];
    CHECK(s->id == e->seq);
    CHECK(s->state == SESSION_PENDING);
    bool waits = wait_of(w, s) != WAIT_NONE;
    if (waits) pool_park(w, s);
    if (!waits && walk->strict && is_held_back(walk, e, s)) return JUDGED_PASSED_OVER;
    if (waits || !quota_allows(w, s, NULL)) {
        if (!waits) walk->q->over = true;
        if (promised) give_up_promise(walk);
        /* Its limit may be full of those who would go for it. */
        bool goes = !waits && preempts_over(walk, s, walk->ahead);
        return goes ? JUDGED_PLACED : JUDGED_PASSED_OVER;
    }
    if (!promised) return judge_plain(walk, e, s);
    if (preempts_over(walk, s, walk->ahead + 1)) return JUDGED_PLACED;
    bool too_many = walk->ahead >= walk->depth; /* the depth became less */
    if (too_many || walk->r->v.v[walk->ahead].look) return backfill_look(walk, e, s);
    walk_passed(walk);
    return JUDGED_BLOCKED;
}

/* What a blocked session does to the rest; true when nobody behind can start. */
static bool hold_back(struct walk *walk, const struct queue_entry *e)
{
    struct world *w = walk->w;
    if (!walk->strict) return false;
    struct family *f = &w->families.v[e->family];
    bool covered = f->fence == w->walks && e->cpu >= f->fence_cpu && e->mem >= f->fence_mem;
    if (!covered) { /* larger ones of the family fence no other nodes */
        f->fence = w->walks;
        f->fence_cpu = e->cpu;
        f->fence_mem = e->mem;
        fence_add(&walk->fence, w, &w->sessions.v[e->slot]);
    }
    return walk->fence.open == 0;
}

/* ---- failed attempts of a blocked head */

static void changed(struct walk *walk, struct session *s)
{
    if (walk->sink->changed) walk->sink->changed(walk->sink->arg, s);
}

static void not_head(struct walk *walk, uint64_t id)
{
    struct session *s = id != 0 ? world_session(walk->w, id) : NULL;
    if (!s || s->state != SESSION_PENDING || s->blocked_ms == 0) return;
    s->blocked_ms = 0;
    changed(walk, s);
}

/* The next failure after so many lowers it; it queues again with the number that it has. */
static void lower(struct walk *walk, struct session *s)
{
    int32_t left = s->priority - s->lowered;
    s->blocked_tries = 0;
    if (left <= 0 || walk->g->lower_by == 0) return;
    pool_remove(walk->w, s);
    s->lowered += left < walk->g->lower_by ? left : walk->g->lower_by;
    pool_add(walk->w, s);
    CHECK(s->lowered <= s->priority);
}

static void count_attempt(struct walk *walk)
{
    struct world *w = walk->w;
    struct session *s = walk->head != 0 ? world_session(w, walk->head) : NULL;
    if (walk->r->head != walk->head) not_head(walk, walk->r->head);
    walk->r->head = walk->head;
    if (!s || walk->g->lower_after == 0 || s->blocked_ms > w->now_ms) return;
    s->blocked_ms = w->now_ms + PASS_ATTEMPT_MS;
    s->blocked_tries++;
    if (s->blocked_tries > walk->g->lower_after) lower(walk, s);
    changed(walk, s);
}

/* ---- the walk */

/* 0 is nobody, who never leaves. */
static bool still_waits(const struct world *w, uint64_t session)
{
    if (session == 0) return true;
    const struct session *s = world_session(w, session);
    return s && s->state == SESSION_PENDING;
}

static void begin(struct walk *walk)
{
    struct world *w = walk->w;
    struct pool_queue *q = walk->q;
    uint32_t from = q->from;
    bool anew = walk->strict || walk->r->closed.n > 0 || walk->g->backfill_shortest;
    if (anew || walk->r->resuming) from = 0;
    w->walks++;
    q->shut = 0;
    if (from == 0) q->over = false;
    if (!walk->r->sliced) walk->r->tested = 0;
    if (q->unpark) {
        for (uint32_t i = 0; i < q->n; i++) {
            if (q->v[q->first + i].parked) q->marks[q->first + i].stamp = MARK_NEW;
            q->v[q->first + i].parked = false;
        }
        q->unpark = false;
        from = 0;
    }
    if (walk->strict) fence_begin(&walk->fence, w, walk->g->id);
    if (walk->depth == 0 && walk->r->v.n > 0) {
        while (walk->r->v.n > 0) reserve_drop(w, walk->r, 0);
        frontier_take(w);
        from = 0;
    }
    if (!still_waits(w, walk->r->undated)) from = 0; /* what was kept for it is open again */
    if (from > q->n) from = q->n;
    walk->at = from;
    walk->ahead = 0;
    if (from == 0) return;
    walk->undated = walk->r->undated; /* or it comes later */
    while (walk->ahead < walk->r->v.n && from < q->n) {
        const struct session *s = world_session(w, walk->r->v.v[walk->ahead].session);
        struct queue_entry mine = pool_entry_of(w, s);
        if (!pool_before(&mine, &q->v[q->first + from])) break;
        walk_passed(walk);
    }
}

/* Passed over in this pass, because the last one was cut behind it. */
static bool was_tested(const struct walk *walk, const struct queue_entry *e)
{
    return walk->r->resuming && walk->ahead >= walk->depth && !is_promised(walk, e) &&
           pool_before(e, &walk->r->resume);
}

/* True when that is all there is to know of it; it is remembered. */
static bool note(struct walk *walk, const struct queue_entry *e)
{
    struct queue_mark *mark = &walk->q->marks[walk->q->first + walk->at];
    if (!is_plain(walk, e->priority) || is_promised(walk, e)) return false;
    mark->stamp = frontier_stamp(walk->w, e);
    if (e->parked) mark->stamp = walk->w->stamps.v[e->family];
    bool never = walk->ahead >= walk->depth || (mark->stamp & MARK_EVER) != 0;
    return e->parked || ((mark->stamp & MARK_NOW) != 0 && never);
}

static bool step_on(struct walk *walk) /* false: it is over */
{
    struct pool_queue *q = walk->q;
    struct queue_entry e = q->v[q->first + walk->at];
    if (was_tested(walk, &e)) {
        walk->later = true;
        walk->at++;
        return true;
    }
    if (note(walk, &e)) {
        walk->at++;
        return true;
    }
    switch (walk_judge(walk, &e)) {
    case JUDGED_PLACED: /* its entry is gone: the next one is here now */
        CHECK(walk->at == q->n || q->v[q->first + walk->at].seq != e.seq);
        return true;
    case JUDGED_BLOCKED:
        if (walk->head == 0) walk->head = e.seq;
        if (hold_back(walk, &e)) {
            q->shut = walk->at + 1;
            return false;
        }
        break;
    case JUDGED_PASSED_OVER: break;
    }
    walk->at++;
    return true;
}

/* Index of the promised session that comes next. */
static uint32_t next_promised(struct walk *walk)
{
    const struct pool_queue *q = walk->q;
    if (walk->ahead >= walk->r->v.n) return q->n;
    if (walk->next_ahead != walk->ahead + 1 || walk->next_n != q->n) {
        const struct session *s = world_session(walk->w, walk->r->v.v[walk->ahead].session);
        walk->next = pool_place(walk->w, s) - 1;
        walk->next_ahead = walk->ahead + 1;
        walk->next_n = q->n;
    }
    return walk->next;
}

/* Over those of whom nobody needs to know more than was found before. */
static void skip_known(struct walk *walk)
{
    const struct pool_queue *q = walk->q;
    uint32_t mask = walk->ahead < walk->depth ? UINT32_MAX : ~MARK_EVER;
    if (walk->at >= q->n || !is_plain(walk, q->v[q->first + walk->at].priority)) return;
    const struct queue_mark *marks = &q->marks[q->first];
    const uint32_t *stamps = walk->w->stamps.v;
    uint32_t at = walk->at, end = next_promised(walk);
    while (at < end && ((marks[at].stamp ^ stamps[marks[at].family]) & mask) == 0) at++;
    walk->at = at;
}

static bool cut_by_depth(const struct walk *walk)
{
    return walk->depth > 0 && walk->r->tested >= walk->g->test_depth;
}

/* False when it stopped for its bound. */
static bool go_on(struct walk *walk)
{
    struct pool_queue *q = walk->q;
    while (walk->at < q->n) {
        if (walk->searches >= PASS_SEARCHES) return false;
        if (walk->g->backfill_shortest && walk->depth > 0 && walk->ahead >= walk->depth) {
            backfill_shortest(walk);
            break;
        }
        skip_known(walk);
        if (walk->at >= q->n || !step_on(walk)) break;
        if (!cut_by_depth(walk) || walk->at >= q->n) continue;
        walk->r->resuming = true;
        walk->r->resume = q->v[q->first + walk->at];
        return true;
    }
    walk->r->resuming = false;
    return true;
}

static bool looks_pending(const struct walk *walk)
{
    VEC_EACH(one, &walk->r->v) if (one->look && one->at_ms > walk->w->now_ms) return true;
    return false;
}

/* False when it wants to go on. */
static bool walk_queue(struct walk *walk)
{
    struct pool_queue *q = walk->q;
    begin(walk);
    bool whole = go_on(walk);
    uint32_t stopped = walk->at;
    backfill_end(walk, whole);
    walk->r->sliced = !whole;
    q->due = walk->later || walk->r->resuming; /* what placing set, this pass has seen */
    q->from = 0;
    bool due = q->due;
    if (whole && walk->strict) count_attempt(walk); /* which may make it due */
    if (whole) return q->due == due && !walk->again && !looks_pending(walk);
    q->due = true;
    q->from = stopped;
    return false;
}

static bool pass_group(struct world *w, const struct pass_sink *sink, uint32_t group)
{
    struct walk walk = {.w = w, .sink = sink, .g = &w->groups.v[group - 1]};
    walk.q = &w->queues.v[group - 1];
    walk.r = reserve_of(w, group);
    walk.strict = walk.g->on_blocked == BLOCKED_STOP;
    if (walk.g->on_blocked == BLOCKED_BACKFILL) walk.depth = walk.g->reserve_depth;
    bool done = walk_queue(&walk);
    if (!done) walk.q->due = true;
    reserve_pass(w)->searches += walk.searches;
    VEC_DONE(&walk.endless.v);
    fence_done(&walk.fence);
    place_done(&walk.place);
    return done;
}

static bool pass_groups(struct world *w, const struct pass_sink *sink)
{
    bool more = false;
    for (uint32_t g = 1; w->pass_due && !more && g <= w->queues.n; g++) {
        if (w->queues.v[g - 1].due) more = !pass_group(w, sink, g);
    }
    bool due = more;
    for (uint32_t g = 1; g <= w->queues.n; g++) due = due || w->queues.v[g - 1].due;
    w->pass_due = due;
    return more;
}

void pass_forget(struct world *w)
{
    frontier_clear(w);
    for (uint32_t g = 1; g <= w->queues.n; g++) {
        struct pool_queue *q = &w->queues.v[g - 1];
        q->unpark = true;
        VEC_EACH(one, &reserve_of(w, g)->v) one->look = true;
        if (q->n > 0) pool_due(w, g);
    }
}

/* Every minute: what would be found if nothing were remembered? */
static bool full_is_due(struct world *w)
{
    struct pass *pass = reserve_pass(w);
    bool any = false;
    if (pass->full_every_ms == 0) return false;
    if (pass->full_ms == 0) pass->full_ms = w->now_ms + pass->full_every_ms;
    if (pass->full_ms > w->now_ms || w->pass_due) return false;
    pass->full_ms = w->now_ms + pass->full_every_ms;
    for (uint32_t g = 1; g <= w->queues.n; g++) any = any || w->queues.v[g - 1].n > 0;
    return any;
}

bool pass_run(struct world *w, const struct pass_sink *sink)
{
    CHECK(w->ready);
    sched_sync(w);
    reserve_begin(w);
    frontier_begin(w);
    bool more = pass_groups(w, sink);
    if (more || !full_is_due(w)) return more;
    uint32_t pending = 0, left = 0;
    for (uint32_t g = 0; g < w->queues.n; g++) pending += w->queues.v[g].n;
    pass_forget(w);
    more = pass_groups(w, sink);
    for (uint32_t g = 0; g < w->queues.n; g++) left += w->queues.v[g].n;
    if (left != pending) reserve_pass(w)->surprises++;
    return more;
}

int64_t pass_next_ms(const struct world *w)
{
    const struct pass *pass = w->sched ? w->sched->pass : NULL;
    int64_t next = reservation_next_ms(w);
    bool pending = false;
    if (!pass) return plan_next_ms(w);
    for (uint32_t g = 0; g < pass->groups.n; g++) {
        const struct reserve *r = &pass->groups.v[g];
        pending = pending || w->queues.v[g].n > 0;
        int64_t closes_ms = r->undated_ms + w->groups.v[g].undated_ms;
        if (r->undated != 0 && r->closed.n == 0 && closes_ms < next) next = closes_ms;
        VEC_EACH(one, &r->v) {
            int64_t at_ms = one->at_ms > one->retry_ms ? one->at_ms : one->retry_ms;
            if (at_ms < next) next = at_ms;
        }
    }
    if (pending && pass->full_ms > 0 && pass->full_ms < next) next = pass->full_ms;
    return next > w->now_ms ? next : w->now_ms + 1;
}
