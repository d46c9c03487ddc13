/* core/sched/frontier.c - small sets of points, none of which says what another does. */
#include "core/sched/frontier.h"

#include "base/check.h"
#include "core/model/order.h"
#include "core/model/pool.h"
#include "core/sched/plan.h"

static struct family *family_at(const struct world *w, uint32_t id)
{
    CHECK(id < w->families.n);
    return &w->families.v[id];
}

/* Its points changed. */
static void refresh(struct world *w, uint32_t id)
{
    const struct family *f = family_at(w, id);
    bool woken = false;
    for (uint32_t i = 0; i < f->n_now; i++) woken = woken || f->now[i].woken;
    for (uint32_t i = 0; i < f->n_ever; i++) woken = woken || f->ever[i].woken;
    w->stamps.v[id] = woken ? 0 : (f->version + 2) << 3 | MARK_NOW | MARK_EVER;
}

uint32_t frontier_stamp(struct world *w, const struct queue_entry *e)
{
    static const struct endless nobody = {{0}};
    if (!frontier_now(w, e)) return MARK_NEW;
    uint32_t stamp = w->stamps.v[e->family] & ~MARK_EVER;
    if (stamp == 0) return MARK_NEW;
    return frontier_ever(w, e, &nobody) ? stamp | MARK_EVER : stamp;
}

static bool covers(const struct family_point *p, const struct queue_entry *e)
{
    return e->cpu >= p->cpu && e->mem >= p->mem && e->limit_ms >= p->limit_ms;
}

static struct slots corner_of(const struct family *f, const struct family_point *p, uint32_t demand)
{
    struct slots need = f->demands[demand];
    need.v[SLOT_CPU] += p->cpu;
    need.v[SLOT_MEM] += p->mem;
    return need;
}

/* Whether so much could take a member at the corner; of several roles, any. */
static bool corner_fits(const struct family *f, const struct family_point *p,
                        const struct slots *have)
{
    for (uint32_t i = 0; i < f->n_demands; i++) {
        struct slots need = corner_of(f, p, i);
        if (slots_fit(&need, have)) return true;
    }
    return false;
}

/* ---- waking */

static uint32_t wake(struct family *f, struct family_point *v, uint32_t n,
                     const struct slots *have)
{
    uint32_t woken = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!v[i].woken && corner_fits(f, &v[i], have)) v[i].woken = true;
        woken += v[i].woken;
    }
    return woken;
}

static void wake_by(struct world *w, uint32_t node)
{
    const struct room *r = &w->rooms.v[node];
    for (uint32_t id = 0; id < w->families.n; id++) {
        struct family *f = &w->families.v[id];
        if (f->pending == 0 || f->group != r->group || f->n_now + f->n_ever == 0) continue;
        uint32_t woken = wake(f, f->now, f->n_now, &r->free);
        woken += wake(f, f->ever, f->n_ever, &r->capacity); /* others there will end */
        if (woken == 0) continue;
        refresh(w, id);
        if (f->listed) continue;
        f->listed = true;
        VEC_PUSH(&w->woken, id);
    }
}

static uint32_t drop_woken(struct family *f, struct family_point *v, uint32_t n)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!v[i].woken) v[kept++] = v[i];
    }
    f->version += kept < n;
    return kept;
}

void frontier_take(struct world *w)
{
    w->freed.n = order_unique(w->freed.v, w->freed.n);
    VEC_EACH(at, &w->freed) {
        if (!w->rooms.v[*at].usable) continue;
        VEC_PUSH(&w->opened, *at);
        wake_by(w, *at);
    }
    w->opened.n = order_unique(w->opened.v, w->opened.n);
    VEC_CLEAR(&w->freed);
}

void frontier_begin(struct world *w)
{
    VEC_EACH(id, &w->woken) { /* nobody asked while it was known what had been freed */
        struct family *f = family_at(w, *id);
        f->n_now = drop_woken(f, f->now, f->n_now);
        f->n_ever = drop_woken(f, f->ever, f->n_ever);
        f->listed = false;
        refresh(w, *id);
    }
    VEC_CLEAR(&w->woken);
    VEC_CLEAR(&w->opened);
    frontier_take(w);
}

/* ---- asking */

/* How long a member at the corner would fit on the node from now on; 0: not at all. */
static int64_t fits_for(const struct world *w, const struct family *f,
                        const struct family_point *p, uint32_t at)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < f->n_demands; i++) {
        struct slots need = corner_of(f, p, i);
        if (!slots_fit(&need, &w->rooms.v[at].free)) continue;
        if (!plan_promised(w, at + 1)) return INT64_MAX;
        int64_t until_ms = plan_until(w, at + 1, &need);
        if (until_ms == PLAN_NEVER) return INT64_MAX;
        if (until_ms - w->now_ms > most) most = until_ms - w->now_ms;
    }
    return most;
}

static bool fits_some_day(const struct world *w, const struct family *f,
                          const struct family_point *p, uint32_t at)
{
    int64_t len_ms = p->limit_ms < INT64_MAX ? p->limit_ms : 0;
    for (uint32_t i = 0; i < f->n_demands; i++) {
        struct slots need = corner_of(f, p, i);
        if (slots_fit(&need, &w->rooms.v[at].capacity) && plan_ever(w, at + 1, &need, len_ms))
            return true;
    }
    return false;
}

/* What a woken point says in view of what was freed; false: nothing any more. */
static bool settle(const struct world *w, struct family *f, struct family_point *p, bool now)
{
    VEC_EACH(at, &w->opened) {
        const struct room *r = &w->rooms.v[*at];
        if (!r->usable || r->group != f->group) continue;
        if (!now && fits_some_day(w, f, p, *at)) return false;
        if (!now) continue;
        int64_t fits_ms = fits_for(w, f, p, *at);
        if (fits_ms == INT64_MAX) return false;
        if (fits_ms < p->limit_ms || fits_ms == 0) continue;
        p->limit_ms = fits_ms + 1;
        f->version++;
    }
    p->woken = false;
    return true;
}

static bool is_ahead(const struct endless *ahead, uint64_t session)
{
    if (session == 0) return true;
    for (uint32_t i = 0; i < ahead->v.n; i++) {
        if (ahead->v.v[i] == session) return true;
    }
    return false;
}

/* What was promised before the point's place is promised before the entry as well. */
static bool is_behind(const struct family_point *p, const struct queue_entry *e)
{
    struct queue_entry place = {.priority = p->priority, .rank = p->rank, .seq = p->seq};
    return p->after == 0 || !pool_before(e, &place);
}

static bool holds_for(const struct family_point *p, const struct queue_entry *e,
                      const struct endless *ahead)
{
    return covers(p, e) && (!ahead || (is_ahead(ahead, p->after) && is_behind(p, e)));
}

static void settle_all(struct world *w, struct family *f, bool now)
{
    struct family_point *v = now ? f->now : f->ever;
    uint32_t *n = now ? &f->n_now : &f->n_ever, kept = 0;
    for (uint32_t i = 0; i < *n; i++) {
        if (!v[i].woken || settle(w, f, &v[i], now)) v[kept++] = v[i];
    }
    f->version += kept < *n;
    *n = kept;
}

static bool ask(struct world *w, const struct queue_entry *e, const struct endless *ahead)
{
    struct family *f = family_at(w, e->family);
    if (w->stamps.v[e->family] == 0) {
        settle_all(w, f, true);
        settle_all(w, f, false);
        refresh(w, e->family);
    }
    const struct family_point *v = ahead ? f->ever : f->now;
    uint32_t n = ahead ? f->n_ever : f->n_now;
    for (uint32_t i = 0; i < n; i++) {
        if (holds_for(&v[i], e, ahead)) return true;
    }
    return false;
}

bool frontier_now(struct world *w, const struct queue_entry *e)
{
    const struct family *f = family_at(w, e->family);
    return f->n_now > 0 && ask(w, e, NULL);
}

bool frontier_ever(struct world *w, const struct queue_entry *e, const struct endless *ahead)
{
    const struct family *f = family_at(w, e->family);
    return f->n_ever > 0 && ask(w, e, ahead);
}

bool frontier_shut(const struct world *w, const struct queue_entry *e)
{
    const struct family *f = family_at(w, e->family);
    for (uint32_t i = 0; i < f->n_now; i++) {
        if (!f->now[i].woken && covers(&f->now[i], e)) return true;
    }
    return false;
}

/* ---- learning */

/* All that b says, a does. */
static bool says(const struct family_point *a, const struct family_point *b)
{
    struct queue_entry place = {.priority = b->priority, .rank = b->rank, .seq = b->seq};
    if (a->after != 0 && (a->after != b->after || !is_behind(a, &place))) return false;
    return a->cpu <= b->cpu && a->mem <= b->mem && a->limit_ms <= b->limit_ms;
}

static void learn(struct family *f, struct family_point *v, uint32_t *n,
                  const struct family_point *p)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *n; i++) {
        if (!v[i].woken && says(&v[i], p)) return;
    }
    for (uint32_t i = 0; i < *n; i++) {
        if (!says(p, &v[i])) v[kept++] = v[i];
    }
    if (kept == FAMILY_POINTS) { /* the oldest goes: it costs a search, no more */
        memmove(&v[0], &v[1], (FAMILY_POINTS - 1) * sizeof(*v));
        kept--;
        f->version++;
    }
    v[kept++] = *p;
    CHECK(kept <= FAMILY_POINTS);
    *n = kept;
}

void frontier_add_now(struct world *w, const struct queue_entry *e, int64_t limit_ms)
{
    struct family *f = family_at(w, e->family);
    struct family_point p = {.cpu = e->cpu, .mem = e->mem, .limit_ms = limit_ms};
    learn(f, f->now, &f->n_now, &p);
    refresh(w, e->family);
}

void frontier_add_ever(struct world *w, const struct queue_entry *e,
                       const struct endless *ahead)
{
    struct family *f = family_at(w, e->family);
    uint64_t after = ahead->v.n > 0 ? ahead->v.v[ahead->v.n - 1] : 0;
    /* Who ends could still come before what is promised for ever. */
    int64_t limit_ms = after != 0 ? e->limit_ms : 0;
    struct family_point p = {.cpu = e->cpu, .mem = e->mem, .limit_ms = limit_ms, .after = after,
                             .priority = e->priority, .rank = e->rank, .seq = e->seq};
    learn(f, f->ever, &f->n_ever, &p);
    refresh(w, e->family);
}

void frontier_clear(struct world *w)
{
    for (uint32_t id = 0; id < w->families.n; id++) {
        struct family *f = family_at(w, id);
        f->n_now = f->n_ever = 0;
        f->version++;
        refresh(w, id);
    }
}
