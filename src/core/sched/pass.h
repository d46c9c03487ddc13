/* core/sched/pass.h - one pass over the pending sessions of the groups that are due.
 *
 * In order, each session is placed, or waits, or is over a limit, or is blocked, or is
 * held back by one that is blocked; what a blocked one does to the rest is the group's to
 * say.  A pass makes at most PASS_SEARCHES searches a step, where one over more than
 * PASS_ROOMS nodes counts for several; the next step goes on where it stopped.
 * docs/spec/scheduling.md, "One pass" */
#ifndef CORE_SCHED_PASS_H
#define CORE_SCHED_PASS_H
#include "core/model/world.h"
#include "core/sched/place.h"

#define PASS_SEARCHES 1000u
#define PASS_ROOMS 1000u
#define PASS_FULL_MS 60000    /* so often one pass believes nothing that is remembered */
#define PASS_ATTEMPT_MS 60000 /* a blocked head fails once in so long */
#define PASS_PREEMPTS 64u     /* blocked sessions of a group that are tried, in a pass */
#define PASS_HUSH_MS 1000     /* a promise that is due and cannot be kept is tried again then */

struct pass_sink {
    /* For each session that is placed, before the search goes on: it must take the
     * session out of its queue and put the rows into the ledger. */
    void (*placed)(void *arg, struct session *s, const struct place *where);
    /* A blocked session of a group with preemption: true when it is RESERVED now, with a
     * promise in place of the one that it had.  May be NULL. */
    bool (*preempt)(void *arg, struct session *s);
    /* Its row changed, but nothing else.  May be NULL. */
    void (*changed)(void *arg, struct session *s);
    void *arg;
};
/* True when it stopped for its bound and wants to go on. */
bool pass_run(struct world *w, const struct pass_sink *sink);
/* When a pass is due although nothing happens; INT64_MAX: never. */
int64_t pass_next_ms(const struct world *w);
/* All that is remembered is forgotten, and each pending session judged anew. */
void pass_forget(struct world *w);

#endif
