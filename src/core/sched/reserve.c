/* core/sched/reserve.c - lists of promises, one a group. */
#include "core/sched/reserve.h"

#include "base/check.h"
#include "core/model/pool.h"
#include "core/sched/pass.h"
#include "core/sched/promise.h"
#include "core/sched/sched.h"

struct pass *reserve_pass(struct world *w)
{
    struct sched *sched = sched_of(w);
    if (!sched->pass) {
        sched->pass = mem_alloc(sizeof(*sched->pass));
        sched->pass->full_every_ms = PASS_FULL_MS;
    }
    while (sched->pass->groups.n < w->groups.n) (void)VEC_ADD(&sched->pass->groups);
    return sched->pass;
}

struct reserve *reserve_of(struct world *w, uint32_t group)
{
    CHECK(group > 0);
    CHECK(group <= w->groups.n);
    return &reserve_pass(w)->groups.v[group - 1];
}

const struct reserve *reserve_read(const struct world *w, uint32_t group)
{
    const struct pass *pass = w->sched ? w->sched->pass : NULL;
    CHECK(group > 0);
    return pass && group <= pass->groups.n ? &pass->groups.v[group - 1] : NULL;
}

void reserve_free(struct world *w)
{
    if (!w->sched || !w->sched->pass) return;
    VEC_EACH(r, &w->sched->pass->groups) {
        VEC_DONE(&r->v);
        VEC_DONE(&r->closed);
        bounds_done(&r->bounds);
    }
    VEC_DONE(&w->sched->pass->groups);
    mem_free(w->sched->pass);
    w->sched->pass = NULL;
}

/* ---- who left */

void reserve_sync(struct world *w)
{
    for (uint32_t i = 0; i < w->left.n; i++) {
        struct pool_left left = w->left.v[i];
        struct reserve *r = reserve_of(w, left.group);
        for (uint32_t k = 0; k < r->v.n; k++) {
            if (r->v.v[k].session != left.session) continue;
            plan_drop(w, left.session); /* RESERVED has its room promised otherwise: vacate.h */
            VEC_REMOVE(&r->v, k);
            break;
        }
    }
    VEC_CLEAR(&w->left);
}

/* ---- who is to be looked at */

static void look_all(struct world *w, uint32_t group)
{
    VEC_EACH(one, &reserve_of(w, group)->v) one->look = true;
    pool_due(w, group);
}

/* By what is free now, without promises: then only a search can tell. */
static bool fits_now(const struct world *w, const struct session *s, uint32_t node)
{
    const struct slots *free = &w->rooms.v[node].free;
    struct slots total;
    if (s->one_node) return session_total(s, &total) && slots_fit(&total, free);
    for (uint32_t i = 0; i < s->n_roles; i++) {
        if (slots_fit(&s->roles[i].slots, free)) return true;
    }
    return false;
}

void reserve_freed(struct world *w)
{
    for (uint32_t i = 0; i < w->freed.n; i++) {
        const struct room *room = &w->rooms.v[w->freed.v[i]];
        if (room->group == 0 || !room->usable) continue;
        VEC_EACH(one, &reserve_of(w, room->group)->v) {
            if (one->look) continue;
            const struct session *s = world_session(w, one->session);
            CHECK(s != NULL);
            if (!place_hosts_at(w, s, w->freed.v[i])) continue;
            bool overdue = one->at_ms <= w->now_ms;
            /* Room that is kept there for somebody else counts in the plan, not in place. */
            one->look = overdue || fits_now(w, s, w->freed.v[i]) ||
                        plan_when(w, w->freed.v[i] + 1, s) < one->at_ms;
        }
    }
}

void reserve_begin(struct world *w)
{
    struct pass *pass = reserve_pass(w);
    for (uint32_t g = 1; g <= w->groups.n; g++) {
        struct reserve *r = &pass->groups.v[g - 1];
        bool due = false;
        VEC_EACH(one, &r->v) {
            bool ahead = r->sliced && one->look; /* the pass that goes on comes to it */
            if (one->at_ms <= w->now_ms && one->retry_ms <= w->now_ms) one->look = true;
            due = due || (one->look && !ahead);
        }
        if (due) pool_due(w, g);
        int64_t closes_ms = r->undated_ms + w->groups.v[g - 1].undated_ms;
        if (r->undated != 0 && r->closed.n == 0 && closes_ms <= w->now_ms) pool_due(w, g);
        if (w->relieved && w->queues.v[g - 1].over) pool_due(w, g);
        if (w->sched->voided) look_all(w, g);
    }
    w->sched->voided = false;
    w->relieved = false;
    reserve_freed(w);
}

/* ---- one by one */

void reserve_drop(struct world *w, struct reserve *r, uint32_t at)
{
    CHECK(at < r->v.n);
    plan_drop(w, r->v.v[at].session);
    VEC_REMOVE(&r->v, at);
}

void reserve_keep(struct world *w, struct reserve *r, uint32_t at, struct promise *p)
{
    struct reserved one = {.session = p->session, .at_ms = p->at_ms,
                           .endless = p->end_ms == PLAN_NEVER};
    /* At the next instant those should have left who are overdue: that is a guess. */
    if (p->at_ms <= w->now_ms + 1) one.retry_ms = w->now_ms + PASS_HUSH_MS;
    plan_keep(w, p);
    VEC_INSERT(&r->v, at, one);
}

void reserve_take(struct world *w, struct reserve *r, uint32_t at, struct reserve_taken *ret)
{
    CHECK(at <= r->v.n);
    ret->freed = w->freed.n;
    while (r->v.n > at) {
        struct reserved one = r->v.v[at];
        const struct promise *p = plan_of(w, one.session);
        if (p) {
            struct promise copy = *p;
            memset(&copy.picks, 0, sizeof(copy.picks));
            VEC_RESERVE(&copy.picks, p->picks.n);
            memcpy(copy.picks.v, p->picks.v, p->picks.n * sizeof(*p->picks.v));
            copy.picks.n = p->picks.n;
            VEC_PUSH(&ret->p, copy);
            VEC_PUSH(&ret->v, one);
        }
        reserve_drop(w, r, at);
    }
}

void reserve_put_back(struct world *w, struct reserve *r, struct reserve_taken *t)
{
    CHECK(t->v.n == t->p.n);
    CHECK(w->freed.n >= t->freed);
    w->freed.n = t->freed; /* nothing was freed, after all */
    for (uint32_t i = 0; i < t->v.n; i++) {
        plan_keep(w, &t->p.v[i]);
        VEC_PUSH(&r->v, t->v.v[i]);
    }
    reserve_taken_done(t);
}

void reserve_taken_done(struct reserve_taken *t)
{
    VEC_EACH(p, &t->p) promise_done(p);
    VEC_DONE(&t->p);
    VEC_DONE(&t->v);
}
