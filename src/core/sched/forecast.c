/* core/sched/forecast.c - the queue played forward on the plan of a shadow.
 *
 * A shadow is the world with a plan of its own: it begins with the promises that are kept
 * and gets one more for each session that is dated.  A second one, whose present only goes
 * forward, dates sessions that may not start before others.
 * docs/spec/scheduling.md, "Expected starts" */
#include "core/sched/forecast.h"

#include "base/check.h"
#include "core/model/pool.h"
#include "core/model/wait.h"
#include "core/sched/fence.h"
#include "core/sched/plan.h"
#include "core/sched/promise.h"
#include "core/sched/quota.h"
#include "core/sched/reserve.h"
#include "core/sched/sched.h"

static const char *const NAMES[] = {
    [FORECAST_NONE] = "",       [FORECAST_DATED] = "dated",     [FORECAST_WAITS] = "waits",
    [FORECAST_OVER] = "over",   [FORECAST_LATER] = "later",     [FORECAST_UNDATED] = "undated",
    [FORECAST_BEHIND] = "behind",
};
_Static_assert(ARRAY_LEN(NAMES) == FORECAST_KINDS, "one name a kind");

const char *forecast_kind_name(enum forecast_kind k)
{
    CHECK(k < FORECAST_KINDS);
    return NAMES[k];
}

/* What those dated so far will use of an account, or of an array. */
struct drawn {
    enum account_level level; /* 0: an array */
    uint64_t id;
    struct slots slots;
    uint32_t running;
};

struct dated { /* one of those, for whom it may be in the way */
    uint64_t session;
    int64_t end_ms;
    uint32_t first, n; /* its nodes in `nodes` */
};

struct run {
    const struct world *w;
    const struct group *g;
    struct world near, far; /* shadows; far only in strict groups */
    bool strict;
    uint32_t blocked;       /* dated, but not now */
    int64_t floor_ms;       /* strict: nobody who is held back starts before, ... */
    uint64_t floor_by;      /* ... since this one does not */
    uint64_t no_date;       /* strict: one that holds others back has none */
    struct fence fence;
    uint64_t closed_for;    /* nodes are closed to all behind this one, 0: none */
    bool closed;            /* and they are, from here on */
    VEC(struct drawn) drawn;
    VEC(struct dated) dated;
    VEC(uint32_t) nodes;
};

/* ---- shadows */

static void shadow_begin(struct world *ret, const struct world *w)
{
    *ret = *w;
    ret->sched = NULL;
    memset(&ret->changed, 0, sizeof(ret->changed));
    memset(&ret->freed, 0, sizeof(ret->freed));
    ret->rooms.v = mem_array(w->rooms.n, sizeof(struct room));
    ret->rooms.cap = w->rooms.n;
    if (w->rooms.n > 0) memcpy(ret->rooms.v, w->rooms.v, w->rooms.n * sizeof(struct room));
    sched_of(ret)->vacates = w->sched ? w->sched->vacates : NULL; /* lent */
    plan_sync(ret);
}

static void shadow_end(struct world *shadow)
{
    shadow->sched->vacates = NULL;
    shadow->sched_free(shadow);
    CHECK(shadow->freed.n == 0); /* it only promises */
    VEC_DONE(&shadow->changed);
    mem_free(shadow->rooms.v);
}

static void shadow_keep(struct world *shadow, const struct promise *p)
{
    struct promise copy = *p;
    memset(&copy.picks, 0, sizeof(copy.picks));
    VEC_EACH(pick, &p->picks) VEC_PUSH(&copy.picks, *pick);
    plan_keep(shadow, &copy);
}

static void keep(struct run *x, const struct promise *p)
{
    shadow_keep(&x->near, p);
    if (x->strict) shadow_keep(&x->far, p);
}

/* Whose turn comes before `last`'s; NULL: all. */
static void keep_promises(struct run *x, const struct queue_entry *last)
{
    const struct reserve *r = reserve_read(x->w, x->g->id);
    for (uint32_t i = 0; r && i < r->v.n; i++) {
        const struct session *s = world_session(x->w, r->v.v[i].session);
        const struct promise *p = plan_of(x->w, r->v.v[i].session);
        if (!s || !p) continue;
        struct queue_entry e = pool_entry_of(x->w, s);
        if (last && !pool_before(&e, last) && e.seq != last->seq) continue;
        keep(x, p);
    }
}

static void begin(struct run *x, const struct world *w, uint32_t group,
                  const struct queue_entry *last)
{
    const struct reserve *r = reserve_read(w, group);
    *x = (struct run){.w = w, .g = world_group(w, group), .floor_ms = w->now_ms};
    CHECK(x->g != NULL);
    x->strict = x->g->on_blocked == BLOCKED_STOP;
    shadow_begin(&x->near, w);
    if (x->strict) shadow_begin(&x->far, w);
    if (r && r->closed.n > 0) x->closed_for = r->undated;
    if (x->strict) fence_begin(&x->fence, w, group);
    keep_promises(x, last);
}

static void end(struct run *x)
{
    shadow_end(&x->near);
    if (x->strict) shadow_end(&x->far);
    fence_done(&x->fence);
    VEC_DONE(&x->drawn);
    VEC_DONE(&x->dated);
    VEC_DONE(&x->nodes);
}

/* Only backfilling closes nodes: there is no far shadow then. */
static void close_nodes(struct run *x)
{
    const struct reserve *r = reserve_read(x->w, x->g->id);
    VEC_EACH(node, &r->closed) {
        x->near.rooms.v[*node - 1].usable = false;
        VEC_PUSH(&x->near.changed, *node - 1);
    }
    x->closed = true;
}

/* ---- limits */

static struct drawn *drawn_of(struct run *x, enum account_level level, uint64_t id)
{
    VEC_EACH(d, &x->drawn) if (d->level == level && d->id == id) return d;
    struct drawn *d = VEC_ADD(&x->drawn);
    d->level = level;
    d->id = id;
    return d;
}

static uint32_t domain_of(const struct world *w, const struct session *s)
{
    const struct project *p = world_project(w, s->project);
    CHECK(p != NULL);
    return p->domain;
}

static uint32_t level_id(const struct world *w, const struct session *s, enum account_level l)
{
    if (l == LEVEL_USER) return s->user;
    return l == LEVEL_PROJECT ? s->project : domain_of(w, s);
}

static void level_left(const struct world *w, const struct session *s, enum account_level l,
                       struct quota_left *ret)
{
    if (l == LEVEL_USER) quota_user_left(w, s->user, ret);
    else if (l == LEVEL_PROJECT) quota_project_left(w, s->project, ret);
    else quota_domain_left(w, domain_of(w, s), ret);
}

/* Beside all who are dated before it, as if none of them ended. */
static bool limits_last(struct run *x, const struct session *s, const struct slots *total)
{
    for (enum account_level l = LEVEL_USER; l < ACCOUNT_LEVELS; l++) {
        struct quota_left left;
        level_left(x->w, s, l, &left);
        const struct drawn *d = drawn_of(x, l, level_id(x->w, s, l));
        for (int k = 0; k < SLOT_KINDS; k++) left.left[k] -= d->slots.v[k];
        left.left[LIMIT_RUNNING] -= d->running;
        if (!quota_fits(&left, total)) return false;
    }
    if (s->array == 0 || s->array_limit == 0) return true;
    uint32_t ahead = drawn_of(x, 0, s->array)->running;
    return wait_array_active(x->w, s) + ahead < s->array_limit;
}

static void draw(struct run *x, const struct session *s, const struct slots *total)
{
    for (enum account_level l = LEVEL_USER; l < ACCOUNT_LEVELS; l++) {
        struct drawn *d = drawn_of(x, l, level_id(x->w, s, l));
        bool sane = slots_add(&d->slots, total, &d->slots);
        CHECK(sane); /* each is within what is left there */
        d->running++;
    }
    if (s->array != 0) drawn_of(x, 0, s->array)->running++;
}

/* ---- what a date rests on */

static bool uses(const struct run *x, const struct dated *d, uint32_t node)
{
    for (uint32_t i = 0; i < d->n; i++) {
        if (x->nodes.v[d->first + i] == node) return true;
    }
    return false;
}

struct rest { int64_t end_ms; uint64_t session; };

static void rest_on(struct rest *best, int64_t end_ms, uint64_t session)
{
    if (end_ms < best->end_ms || (end_ms == best->end_ms && session >= best->session)) return;
    *best = (struct rest){end_ms, session};
}

/* Somebody else's reservation that is over just then. */
static uint32_t reserved_until(const struct run *x, const struct dated *mine, int64_t at_ms)
{
    const struct session *s = world_session(x->w, mine->session);
    VEC_EACH(r, &x->w->reservations) {
        if (r->end_ms != at_ms || (s && reservation_admits(r, s))) continue;
        for (uint32_t i = 0; i < r->n_parts; i++) {
            if (uses(x, mine, r->parts[i].node)) return r->id;
        }
    }
    return 0;
}

/* What the promise takes of a node, and what rows that go later than it starts hold there. */
static struct slots taken(const struct run *x, const struct promise *p, const struct session *s,
                          const struct node *n)
{
    struct slots sum = {{0}};
    bool sane = true;
    for (uint32_t i = 0; i < p->picks.n; i++) {
        if (p->picks.v[i].node != n->id) continue;
        sane = sane && slots_add(&sum, &session_role_of(s, i)->slots, &sum);
    }
    for (struct alloc *a = world_allocs_of_node(x->w, n); a; a = world_next_of_node(x->w, a)) {
        if (a->end_ms > p->at_ms) sane = sane && slots_add(&sum, &a->slots, &sum);
    }
    CHECK(sane); /* twice the node at most */
    return sum;
}

static bool collides(const struct alloc *a, const struct node *n, const struct slots *sum,
                     uint32_t devices)
{
    if ((a->devices & devices) != 0) return true;
    for (enum slot_kind k = SLOT_CPU; k < SLOT_GPU; k++) {
        if (a->slots.v[k] > 0 && sum->v[k] > n->capacity.v[k]) return true;
    }
    return false;
}

/* Who has to go a little later than it starts, because his command began after the promise
 * was made: the first to end of those beside whom it does not fit.  0: nobody. */
static uint64_t overruns(const struct run *x, const struct promise *p)
{
    const struct session *s = world_session(x->w, p->session);
    struct rest first = {INT64_MAX, 0};
    for (uint32_t i = 0; s && i < p->picks.n; i++) {
        const struct node *n = world_node(x->w, p->picks.v[i].node);
        CHECK(n != NULL);
        struct slots sum = taken(x, p, s, n);
        for (struct alloc *a = world_allocs_of_node(x->w, n); a; a = world_next_of_node(x->w, a)) {
            if (a->end_ms <= p->at_ms || a->end_ms >= first.end_ms) continue;
            if (collides(a, n, &sum, p->picks.v[i].devices))
                first = (struct rest){a->end_ms, a->ref.session};
        }
    }
    return first.session;
}

/* Of all that hold something where it will be, until it starts: who holds on for longest. */
static uint64_t rests_on(const struct run *x, const struct dated *mine, int64_t at_ms)
{
    struct rest best = {0, 0};
    int64_t now_ms = x->w->now_ms;
    for (uint32_t i = 0; i < mine->n; i++) {
        uint32_t node = x->nodes.v[mine->first + i];
        const struct node *n = world_node(x->w, node);
        CHECK(n != NULL);
        for (struct alloc *a = world_allocs_of_node(x->w, n); a; a = world_next_of_node(x->w, a)) {
            int64_t end_ms = a->end_ms > now_ms ? a->end_ms : now_ms + 1;
            if (end_ms <= at_ms) rest_on(&best, end_ms, a->ref.session);
        }
        VEC_EACH(d, &x->dated) {
            if (d->end_ms <= at_ms && uses(x, d, node)) rest_on(&best, d->end_ms, d->session);
        }
    }
    return best.session;
}

static void note(struct run *x, const struct promise *p, struct forecast *f)
{
    struct dated d = {.session = p->session, .end_ms = p->end_ms, .first = x->nodes.n};
    VEC_EACH(pick, &p->picks) {
        if (uses(x, &d, pick->node)) continue;
        VEC_PUSH(&x->nodes, pick->node);
        d.n++;
    }
    CHECK(d.n > 0);
    f->kind = FORECAST_DATED;
    f->at_ms = p->at_ms > x->w->now_ms ? p->at_ms : x->w->now_ms;
    if (p->at_ms > x->w->now_ms) {
        f->rests_on = overruns(x, p);
        if (f->rests_on == 0) f->reservation = reserved_until(x, &d, p->at_ms);
        if (f->rests_on == 0 && f->reservation == 0) f->rests_on = rests_on(x, &d, p->at_ms);
    }
    f->node = p->picks.v[0].node;
    f->n_nodes = d.n;
    VEC_PUSH(&x->dated, d);
}

/* ---- one session */

/* The very search of the pass names the nodes of who starts now: beside all promises first,
 * then without those behind it. */
static void place_now(struct run *x, const struct session *s, struct promise *p)
{
    struct place place = {0};
    if (p->at_ms > x->w->now_ms) return;
    bool found = !x->closed && !world_session(x->w, s->id) &&
                 place_decide(x->w, s, PLACE_NOW, &place);
    if (found || place_decide(&x->near, s, PLACE_NOW, &place)) {
        VEC_CLEAR(&p->picks);
        VEC_EACH(pick, &place.picks) VEC_PUSH(&p->picks, *pick);
    }
    place_done(&place);
}

static void undated(struct run *x, const struct session *s, uint64_t blocker, struct forecast *f)
{
    f->kind = blocker == 0 && x->closed ? FORECAST_BEHIND : FORECAST_UNDATED;
    f->rests_on = f->kind == FORECAST_BEHIND ? x->closed_for : blocker;
    if (x->strict && x->no_date == 0) x->no_date = s->id;
}

/* In strict groups a session that is held back starts after those that hold it. */
static struct world *shadow_for(struct run *x, const struct session *s)
{
    if (!x->strict || x->floor_ms <= x->w->now_ms) return &x->near;
    if (!fence_holds(&x->fence, x->w, s)) return &x->near;
    /* One earlier: what ends at the floor is not overdue then. */
    if (x->far.now_ms < x->floor_ms - 1) x->far.now_ms = x->floor_ms - 1;
    return &x->far;
}

static void not_before(struct promise *p, int64_t floor_ms)
{
    int64_t late_ms = floor_ms - p->at_ms;
    if (late_ms <= 0) return;
    p->at_ms += late_ms;
    if (p->end_ms < PLAN_NEVER) p->end_ms += late_ms;
}

static void fence(struct run *x, const struct session *s, const struct forecast *f)
{
    if (!x->strict || (f->kind == FORECAST_DATED && f->at_ms <= x->w->now_ms)) return;
    if (x->fence.open > 0) fence_add(&x->fence, x->w, s);
    if (f->kind != FORECAST_DATED || f->at_ms <= x->floor_ms) return;
    x->floor_ms = f->at_ms;
    x->floor_by = s->id;
}

/* Among the first that are blocked: the pass promises it room, and limits are judged then. */
static bool gets_promise(const struct run *x)
{
    return x->g->on_blocked == BLOCKED_BACKFILL && x->blocked < x->g->reserve_depth;
}

/* `lasts`: its limits still allow it once all who are dated before it have started. */
static void date(struct run *x, const struct session *s, bool lasts, struct forecast *f)
{
    const struct promise *kept = plan_of(&x->near, s->id);
    struct promise p = {0};
    uint64_t blocker = 0;
    if (kept) {
        note(x, kept, f);
        return;
    }
    struct world *shadow = shadow_for(x, s);
    if (!plan_earliest(shadow, s, &p, &blocker)) {
        undated(x, s, blocker, f);
        return;
    }
    if (!lasts && p.at_ms > x->w->now_ms && !gets_promise(x)) {
        f->kind = FORECAST_LATER;
        promise_done(&p);
        return;
    }
    if (shadow == &x->far) not_before(&p, x->floor_ms);
    place_now(x, s, &p);
    note(x, &p, f);
    if (shadow == &x->far && f->at_ms == x->floor_ms) {
        f->in_order = true;
        f->rests_on = x->floor_by;
        f->reservation = 0;
    }
    if (world_session(x->w, s->id)) keep(x, &p); /* else nobody comes behind it */
    promise_done(&p);
}

/* True when it took part in the dating. */
static bool look(struct run *x, const struct session *s, struct forecast *f)
{
    struct slots total;
    *f = (struct forecast){.session = s->id};
    if (x->closed_for != 0 && !x->closed) {
        const struct session *head = world_session(x->w, x->closed_for);
        struct queue_entry mine = pool_entry_of(x->w, s), its;
        if (head) its = pool_entry_of(x->w, head);
        if (head && pool_before(&its, &mine)) close_nodes(x);
    }
    if (wait_of(x->w, s) != WAIT_NONE) {
        f->kind = FORECAST_WAITS;
        return false;
    }
    if (!quota_allows(x->w, s, NULL)) {
        f->kind = FORECAST_OVER;
        return false;
    }
    bool sane = session_total(s, &total);
    CHECK(sane); /* it was submitted */
    if (x->no_date != 0 && fence_holds(&x->fence, x->w, s)) {
        f->kind = FORECAST_BEHIND;
        f->rests_on = x->no_date;
        return true;
    }
    date(x, s, limits_last(x, s, &total), f);
    if (f->kind == FORECAST_DATED) draw(x, s, &total);
    if (f->kind == FORECAST_DATED && f->at_ms > x->w->now_ms) x->blocked++;
    fence(x, s, f);
    return true;
}

/* ---- */

void forecast_group(const struct world *w, uint32_t group, uint32_t most, struct forecasts *ret)
{
    struct run x;
    uint32_t n, done = 0;
    VEC_CLEAR(&ret->v);
    const struct queue_entry *e = pool_entries(w, group, &n);
    if (n == 0) return;
    begin(&x, w, group, NULL);
    for (uint32_t i = 0; i < n && done < most; i++) {
        done += look(&x, &w->sessions.v[e[i].slot], VEC_ADD(&ret->v));
    }
    end(&x);
}

void forecast_session(const struct world *w, const struct session *s, uint32_t most,
                      struct forecast *ret)
{
    struct run x;
    uint32_t n, done = 0;
    bool queued = world_session(w, s->id) != NULL;
    struct queue_entry mine = pool_entry_of(w, s);
    struct forecast f;
    CHECK(s->state == SESSION_PENDING);
    const struct queue_entry *e = pool_entries(w, s->group, &n);
    *ret = (struct forecast){.session = s->id};
    begin(&x, w, s->group, queued ? NULL : &mine);
    for (uint32_t i = 0; i < n && done < most && pool_before(&e[i], &mine); i++) {
        done += look(&x, &w->sessions.v[e[i].slot], &f);
    }
    if (done < most) (void)look(&x, s, ret);
    end(&x);
}
