/* The pass as it is written down, without anything remembered but the promises. */
#include "twins.h"

#include "core/draft.h"
#include "core/model/order.h"
#include "core/model/wait.h"
#include "core/sched/place.h"
#include "core/sched/plan.h"
#include "core/sched/promise.h"
#include "core/sched/quota.h"
#include "core/sched/sched.h"
#include "core/transition.h"

struct waiter { uint64_t id; int32_t priority; int64_t rank; };
struct naive {
    struct draft *d;
    struct world *w;
    const struct group *g;
    VEC(struct waiter) line;
    VEC(uint64_t) blocked;
    struct place place;
};

static int cmp_lines(const void *a, const void *b)
{
    const struct waiter *x = a, *y = b;
    if (x->priority != y->priority) return x->priority > y->priority ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int64_t limit_of(const struct session *s)
{
    return s->time_limit_ms > 0 ? s->time_limit_ms : INT64_MAX;
}

static void line_up(struct naive *n)
{
    VEC_CLEAR(&n->line);
    VEC_EACH(s, &n->w->sessions) {
        if (s->state != SESSION_PENDING || s->group != n->g->id) continue;
        struct waiter l = {.id = s->id, .priority = session_order_priority(s)};
        if (n->g->order == ORDER_LIFO) l.rank = -(int64_t)s->id;
        if (n->g->order == ORDER_SHORTEST) l.rank = limit_of(s);
        VEC_PUSH(&n->line, l);
    }
    order_sort(n->line.v, n->line.n, sizeof(*n->line.v), cmp_lines);
}

static bool start(struct naive *n, struct session *s)
{
    uint64_t id = s->id;
    if (!place_decide(n->w, s, PLACE_NOW, &n->place)) return false;
    transition_place(n->d, s, &n->place);
    plan_drop(n->w, id);
    sched_sync(n->w);
    return true;
}

/* A node that both could use holds it back. */
static bool held_back(struct naive *n, const struct session *s)
{
    VEC_EACH(id, &n->blocked) {
        const struct session *b = world_session(n->w, *id);
        if (!place_possible(n->w, b, &n->place)) continue;
        for (uint32_t i = 0; i < n->w->rooms.n; i++) {
            if (n->w->rooms.v[i].group != n->g->id) continue;
            if (place_hosts_at(n->w, b, i) && place_hosts_at(n->w, s, i)) return true;
        }
    }
    return false;
}

struct kept_list { VEC(struct promise) p; };

static struct promise copy_of(const struct promise *p)
{
    struct promise c = *p;
    memset(&c.picks, 0, sizeof(c.picks));
    VEC_EACH(pick, &p->picks) VEC_PUSH(&c.picks, *pick);
    return c;
}

static void take_behind(struct naive *n, uint32_t at, struct kept_list *ret)
{
    for (uint32_t i = at + 1; i < n->line.n; i++) {
        const struct promise *p = plan_of(n->w, n->line.v[i].id);
        if (!p) continue;
        VEC_PUSH(&ret->p, copy_of(p));
        plan_drop(n->w, n->line.v[i].id);
    }
}

static void put_back(struct naive *n, struct kept_list *l, bool keep)
{
    VEC_EACH(p, &l->p) {
        if (keep) plan_keep(n->w, p);
        else promise_done(p);
    }
    VEC_DONE(&l->p);
}

/* True when it holds a promise afterwards; *ret_started when it runs instead. */
static bool look(struct naive *n, uint32_t at, struct session *s, bool *ret_started)
{
    const struct promise *p = plan_of(n->w, s->id);
    int64_t at_ms = p->at_ms, first_ms = p->first_ms;
    bool due = at_ms <= n->w->now_ms;
    *ret_started = start(n, s);
    if (*ret_started) return false;
    if (due) {
        struct kept_list behind = {{0}};
        take_behind(n, at, &behind);
        if (behind.p.n > 0) *ret_started = start(n, s);
        put_back(n, &behind, false);
        if (*ret_started) return false;
    }
    struct promise next = {0};
    uint64_t blocker;
    bool dated = plan_earliest(n->w, s, &next, &blocker);
    if (dated && !due && next.at_ms >= at_ms) {
        promise_done(&next);
        return true;
    }
    if (!dated && !due) return true;
    plan_drop(n->w, s->id);
    if (!dated) return false;
    next.first_ms = first_ms;
    plan_keep(n->w, &next);
    return true;
}

static bool reserve(struct naive *n, uint32_t at, struct session *s)
{
    struct kept_list behind = {{0}};
    struct promise p = {0};
    uint64_t blocker;
    take_behind(n, at, &behind);
    if (behind.p.n > 0 && start(n, s)) {
        put_back(n, &behind, false);
        return false;
    }
    bool dated = plan_earliest(n->w, s, &p, &blocker);
    put_back(n, &behind, !dated);
    if (dated) plan_keep(n->w, &p);
    return dated;
}

static void judge(struct naive *n, uint32_t at, uint32_t depth, uint32_t *ahead)
{
    struct session *s = world_session(n->w, n->line.v[at].id);
    bool strict = n->g->on_blocked == BLOCKED_STOP, started;
    if (!s || s->state != SESSION_PENDING) return;
    if (wait_of(n->w, s) != WAIT_NONE) {
        plan_drop(n->w, s->id);
        return;
    }
    if (strict && held_back(n, s)) return;
    if (!quota_allows(n->w, s, NULL)) {
        plan_drop(n->w, s->id);
        return;
    }
    if (*ahead >= depth) plan_drop(n->w, s->id);
    if (plan_of(n->w, s->id)) {
        *ahead += look(n, at, s, &started);
        return;
    }
    if (start(n, s)) return;
    if (strict) VEC_PUSH(&n->blocked, s->id);
    if (*ahead < depth) *ahead += reserve(n, at, s);
}

void twins_naive_pass(struct draft *d)
{
    struct naive n = {.d = d, .w = d->w};
    sched_sync(n.w);
    for (uint32_t g = 0; g < n.w->groups.n; g++) {
        n.g = &n.w->groups.v[g];
        uint32_t ahead = 0;
        uint32_t depth = n.g->on_blocked == BLOCKED_BACKFILL ? n.g->reserve_depth : 0;
        VEC_CLEAR(&n.blocked);
        line_up(&n);
        for (uint32_t i = 0; i < n.line.n; i++) judge(&n, i, depth, &ahead);
    }
    sched_sync(n.w);
    VEC_DONE(&n.line);
    VEC_DONE(&n.blocked);
    place_done(&n.place);
}
