/* core/sched/fence.c - sets of nodes, one flag each. */
#include "core/sched/fence.h"

#include "base/check.h"
#include "core/model/pool.h"
#include "core/sched/frontier.h"
#include "core/sched/quota.h"
#include "core/model/wait.h"

void fence_begin(struct fence *f, const struct world *w, uint32_t group)
{
    VEC_CLEAR(&f->nodes);
    f->open = 0;
    VEC_EACH(r, &w->rooms) {
        VEC_PUSH(&f->nodes, false);
        if (r->group == group) f->open++;
    }
    CHECK(f->nodes.n == w->rooms.n);
}

void fence_add(struct fence *f, const struct world *w, const struct session *blocked)
{
    CHECK(f->nodes.n == w->rooms.n);
    if (!place_possible(w, blocked, &f->scratch)) return;
    for (uint32_t i = 0; i < w->rooms.n; i++) {
        const struct room *r = &w->rooms.v[i];
        if (f->nodes.v[i] || r->group != blocked->group) continue;
        if (!place_hosts_at(w, blocked, i)) continue;
        f->nodes.v[i] = true;
        CHECK(f->open > 0);
        f->open--;
    }
}

bool fence_holds(const struct fence *f, const struct world *w, const struct session *s)
{
    CHECK(f->nodes.n == w->rooms.n);
    for (uint32_t i = 0; i < w->rooms.n; i++) {
        if (f->nodes.v[i] && place_hosts_at(w, s, i)) return true;
    }
    return false;
}

void fence_done(struct fence *f)
{
    VEC_DONE(&f->nodes);
    place_done(&f->scratch);
}

const struct session *fence_blocker(const struct world *w, const struct session *s)
{
    uint32_t n;
    const struct queue_entry *e = pool_entries(w, s->group, &n);
    const struct session *found = NULL;
    struct fence fence = {0};
    struct queue_entry mine = pool_entry_of(w, s);
    CHECK(s->state == SESSION_PENDING);
    fence_begin(&fence, w, s->group);
    /* Where no node is left to fence, nobody blocks anybody: no need to walk the queue. */
    for (uint32_t i = 0; i < n && !found && fence.open > 0 && pool_before(&e[i], &mine); i++) {
        const struct session *ahead = &w->sessions.v[e[i].slot];
        if (wait_of(w, ahead) != WAIT_NONE || fence_holds(&fence, w, ahead)) continue;
        if (!quota_allows(w, ahead, NULL)) continue;
        if (!frontier_shut(w, &e[i]) && place_decide(w, ahead, PLACE_NOW, &fence.scratch)) continue;
        fence_add(&fence, w, ahead);
        if (fence_holds(&fence, w, s)) found = ahead;
    }
    fence_done(&fence);
    return found;
}
