/* core/sched/forecast.h - when those who wait may expect to start, and what that rests on.
 *
 * Everybody who runs is taken to run to his limit, and nobody to come: a session starts as
 * early as it then can beside all who come before it in the queue, who are dated first.
 * Promises that a pass has made stay as they are.  Where a group skips its blocked sessions,
 * others may start before the date: there it is no more than a guess.
 *
 * Pure: made in a copy of the world that borrows everything but what it changes.
 * docs/spec/scheduling.md, "Expected starts" */
#ifndef CORE_SCHED_FORECAST_H
#define CORE_SCHED_FORECAST_H
#include "core/model/world.h"

#define FORECAST_MOST 200u /* sessions of a group that are dated; behind them it is too far */

enum forecast_kind {
    FORECAST_NONE = 0, /* too far back in the queue, or it does not wait */
    FORECAST_DATED,
    FORECAST_WAITS,    /* for something of its own */
    FORECAST_OVER,     /* a limit is in its way now, */
    FORECAST_LATER,    /* ... or will be, once those before it have started */
    FORECAST_UNDATED,  /* a session without a time limit is in its way, or nodes are away */
    FORECAST_BEHIND,   /* one ahead cannot be dated and holds it back */
    FORECAST_KINDS
};
const char *forecast_kind_name(enum forecast_kind k); /* "", "dated", "waits", ... */

struct forecast {
    uint64_t session;
    enum forecast_kind kind;
    int64_t at_ms;      /* DATED: core time, not before now */
    uint64_t rests_on;  /* DATED: who has to end before, 0: nobody.  UNDATED and BEHIND: who
                           stands in the way, 0: nobody in particular */
    uint32_t reservation; /* DATED: somebody else's that has to be over before; then 0 above */
    bool in_order;      /* DATED: that one need not end but start, for it is ahead */
    uint32_t node;      /* DATED: where its first member would be, ... */
    uint32_t n_nodes;   /* ... and on how many nodes all of them */
};
struct forecasts { VEC(struct forecast) v; }; /* zeroed is ready; in the order of the queue */

/* Of the first `most` of a group that could be dated, and of those among them. */
void forecast_group(const struct world *w, uint32_t group, uint32_t most, struct forecasts *ret);
/* Of one: pending, or as it would be if it were submitted now (then with a number that no
 * session has): what comes behind it plays no part. */
void forecast_session(const struct world *w, const struct session *s, uint32_t most,
                      struct forecast *ret);

#endif
