/* core/sched/pass.h - one pass over the pending sessions of the groups that are due.
 *
 * In order, each session is placed, or blocked, or held back by one that is
 * blocked.  A pass makes at most PASS_SEARCHES searches a step, where one over
 * more than PASS_ROOMS nodes counts for several; what it found is remembered by
 * shape, so the next step goes on instead of beginning again. */
#ifndef CORE_SCHED_PASS_H
#define CORE_SCHED_PASS_H
#include "core/model/world.h"
#include "core/sched/place.h"

#define PASS_SEARCHES 1000u
#define PASS_ROOMS 1000u

/* Called for each session that is placed, before the search goes on: it must
 * take the session out of its queue and put the rows into the ledger. */
struct pass_sink {
    void (*placed)(void *arg, struct session *s, const struct place *where);
    void *arg;
};
/* True when it stopped for its bound and wants to go on. */
bool pass_run(struct world *w, const struct pass_sink *sink);

#endif
