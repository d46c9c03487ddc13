/* core/sched/sched.c - one place for what the wing keeps. */
#include "core/sched/sched.h"

#include "base/check.h"
#include "core/sched/index.h"
#include "core/sched/plan.h"
#include "core/sched/reserve.h"
#include "core/sched/vacate.h"

static void done(struct world *w)
{
    index_free(w->sched->index);
    reserve_free(w);
    plan_free(w);
    vacate_free(w);
    mem_free(w->sched);
    w->sched = NULL;
}

struct sched *sched_of(struct world *w)
{
    if (!w->sched) {
        w->sched = mem_alloc(sizeof(*w->sched));
        w->sched_free = done;
    }
    return w->sched;
}

void sched_sync(struct world *w)
{
    CHECK(w->ready);
    vacate_sync(w); /* before all who read rooms */
    reserve_sync(w);
    plan_sync(w);
    index_sync(w); /* after the plan: a node with promises is not in the index */
    VEC_CLEAR(&w->changed);
}
