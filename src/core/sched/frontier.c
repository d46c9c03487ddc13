/* core/sched/frontier.c - small sets of points, none of which says what another does. */
#include "core/sched/frontier.h"

#include "base/check.h"
#include "core/model/order.h"

static struct family *family_at(const struct world *w, uint32_t id)
{
    CHECK(id < w->families.n);
    return &w->families.v[id];
}

static bool covers(const struct family_point *p, const struct queue_entry *e)
{
    return e->cpu >= p->cpu && e->mem >= p->mem && e->limit_ms >= p->limit_ms;
}

/* Whether so much could take a member at the corner; of several roles, any. */
static bool corner_fits(const struct family *f, const struct family_point *p,
                        const struct slots *have)
{
    for (uint32_t i = 0; i < f->n_demands; i++) {
        struct slots need = f->demands[i];
        need.v[SLOT_CPU] += p->cpu;
        need.v[SLOT_MEM] += p->mem;
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
        if (woken == 0 || f->listed) continue;
        f->listed = true;
        VEC_PUSH(&w->woken, id);
    }
}

static uint32_t drop_woken(struct family_point *v, uint32_t n)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!v[i].woken) v[kept++] = v[i];
    }
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
        f->n_now = drop_woken(f->now, f->n_now);
        f->n_ever = drop_woken(f->ever, f->n_ever);
        f->listed = false;
    }
    VEC_CLEAR(&w->woken);
    VEC_CLEAR(&w->opened);
    frontier_take(w);
}

/* ---- asking */

static bool still_true(const struct world *w, const struct family *f, const struct family_point *p)
{
    VEC_EACH(at, &w->opened) {
        const struct room *r = &w->rooms.v[*at];
        if (r->usable && r->group == f->group && corner_fits(f, p, &r->free)) return false;
    }
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

static bool ask(const struct world *w, const struct family *f, const struct queue_entry *e,
                const struct endless *ahead)
{
    bool now = !ahead;
    struct family *own = family_at(w, e->family);
    struct family_point *v = now ? own->now : own->ever;
    uint32_t *n = now ? &own->n_now : &own->n_ever;
    for (uint32_t i = 0; i < *n;) {
        if (!covers(&v[i], e) || (ahead && !is_ahead(ahead, v[i].after))) {
            i++;
            continue;
        }
        if (!v[i].woken) return true;
        if (now && still_true(w, f, &v[i])) {
            v[i].woken = false;
            return true;
        }
        v[i] = v[--*n];
    }
    return false;
}

bool frontier_now(struct world *w, const struct queue_entry *e)
{
    const struct family *f = family_at(w, e->family);
    return f->n_now > 0 && ask(w, f, e, NULL);
}

bool frontier_ever(struct world *w, const struct queue_entry *e, const struct endless *ahead)
{
    const struct family *f = family_at(w, e->family);
    return f->n_ever > 0 && ask(w, f, e, ahead);
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
    if (a->after != 0 && a->after != b->after) return false;
    return a->cpu <= b->cpu && a->mem <= b->mem && a->limit_ms <= b->limit_ms;
}

static void learn(struct family_point *v, uint32_t *n, const struct family_point *p)
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
    }
    v[kept++] = *p;
    CHECK(kept <= FAMILY_POINTS);
    *n = kept;
}

void frontier_add_now(struct world *w, const struct queue_entry *e, int64_t limit_ms)
{
    struct family *f = family_at(w, e->family);
    struct family_point p = {e->cpu, e->mem, limit_ms, false, 0};
    learn(f->now, &f->n_now, &p);
}

void frontier_add_ever(struct world *w, const struct queue_entry *e,
                       const struct endless *ahead)
{
    struct family *f = family_at(w, e->family);
    uint64_t after = ahead->v.n > 0 ? ahead->v.v[ahead->v.n - 1] : 0;
    /* Who ends could still come before what is promised for ever. */
    int64_t limit_ms = after != 0 ? e->limit_ms : 0;
    struct family_point p = {e->cpu, e->mem, limit_ms, false, after};
    learn(f->ever, &f->n_ever, &p);
}

void frontier_clear(struct world *w)
{
    VEC_EACH(f, &w->families) f->n_now = f->n_ever = 0;
}
