/* core/sched/pass.c - the walk along a queue.
 *
 * Within a pass room only shrinks, so a shape that was refused stays refused:
 * 100,000 equal sessions cost one search.  Sessions that wait for a time of
 * their own are passed over and hold back nobody. */
#include "core/sched/pass.h"

#include "base/check.h"
#include "core/model/pool.h"
#include "core/model/wait.h"
#include "core/sched/fence.h"

struct walk {
    struct world *w;
    const struct pass_sink *sink;
    struct fence fence;
    struct place place;
    uint32_t group, searches;
    bool strict; /* a blocked session holds others back */
};

enum judgement { JUDGED_PLACED, JUDGED_PASSED_OVER, JUDGED_BLOCKED };

static enum judgement judge(struct walk *walk, const struct queue_entry *e)
{
    struct world *w = walk->w;
    struct shape *shape = &w->shapes.v[e->shape];
    struct session *s = &w->sessions.v[e->slot];
    CHECK(s->id == e->seq);
    CHECK(s->state == SESSION_PENDING);
    if (walk->strict && shape->fenced == w->walks) return JUDGED_PASSED_OVER;
    if (wait_of(w, s) != WAIT_NONE) return JUDGED_PASSED_OVER;
    if (walk->strict && shape->fence != w->walks && fence_holds(&walk->fence, w, s)) {
        shape->fenced = w->walks;
        return JUDGED_PASSED_OVER;
    }
    if (pool_refused(w, e->shape)) return JUDGED_BLOCKED;
    if (!pool_hopeless(w, e->shape)) {
        walk->searches += 1 + w->rooms.n / PASS_ROOMS;
        if (place_decide(w, s, PLACE_NOW, &walk->place)) {
            walk->sink->placed(walk->sink->arg, s, &walk->place);
            return JUDGED_PLACED;
        }
    }
    pool_refuse(w, e->shape);
    return JUDGED_BLOCKED;
}

/* What a blocked session does to the rest; true when nobody behind can start. */
static bool hold_back(struct walk *walk, const struct queue_entry *e)
{
    struct world *w = walk->w;
    if (!walk->strict) return w->queues.v[walk->group - 1].open == 0;
    struct shape *shape = &w->shapes.v[e->shape];
    if (shape->fence != w->walks) { /* equal sessions fence the same nodes */
        shape->fence = w->walks;
        fence_add(&walk->fence, w, &w->sessions.v[e->slot]);
    }
    return walk->fence.open == 0;
}

/* False when it stopped for its bound. */
static bool walk_queue(struct walk *walk)
{
    struct world *w = walk->w;
    struct pool_queue *q = &w->queues.v[walk->group - 1];
    w->walks++;
    q->shut = 0;
    if (walk->strict) fence_begin(&walk->fence, w, walk->group);
    else if (q->open == 0) return true; /* nothing was freed since all were refused */
    for (uint32_t i = 0; i < q->n;) {
        if (walk->searches >= PASS_SEARCHES) return false;
        struct queue_entry e = q->v[q->first + i];
        switch (judge(walk, &e)) {
        case JUDGED_PLACED: /* its entry is gone: the next one is at i now */
            CHECK(i == q->n || q->v[q->first + i].seq != e.seq);
            break;
        case JUDGED_PASSED_OVER: i++; break;
        case JUDGED_BLOCKED:
            if (hold_back(walk, &e)) {
                if (walk->strict) q->shut = i + 1;
                return true;
            }
            i++;
            break;
        }
    }
    return true;
}

bool pass_run(struct world *w, const struct pass_sink *sink)
{
    CHECK(w->ready);
    struct walk walk = {.w = w, .sink = sink};
    bool more = false;
    pool_reopen(w);
    for (uint32_t g = 1; w->pass_due && !more && g <= w->queues.n; g++) {
        struct pool_queue *q = &w->queues.v[g - 1];
        if (!q->due) continue;
        walk.group = g;
        walk.strict = w->groups.v[g - 1].on_blocked == BLOCKED_STOP;
        more = !walk_queue(&walk);
        q->due = more; /* placing set it again: this pass has seen that */
    }
    w->pass_due = more;
    fence_done(&walk.fence);
    place_done(&walk.place);
    return more;
}
