/* core/sched/timeline.h - what one node holds, from when until when. */
#ifndef CORE_SCHED_TIMELINE_H
#define CORE_SCHED_TIMELINE_H
#include "core/model/world.h"

struct hold { /* [from, until): of a row, of a member that is promised a place */
    int64_t from_ms, until_ms;
    uint64_t session;
    uint32_t devices;
    struct slots slots;
};
struct timeline { VEC(struct hold) holds; }; /* in no order */

struct window { int64_t from_ms, until_ms; }; /* [from, until) */

/* `len_ms` after `at_ms`; 0, no limit: PLAN_NEVER. */
int64_t timeline_end(int64_t at_ms, int64_t len_ms);
/* When the row goes, as far as limits tell; PLAN_NEVER: nobody knows. */
int64_t timeline_row_end(const struct world *w, const struct alloc *a);
/* Everything that the node holds or promises, but for the promise of session `own`. */
void timeline_gather(const struct world *w, uint32_t node, uint64_t own, struct timeline *ret);
/* What is free throughout the window: devices; and of the rest the least at any instant. */
void timeline_window(const struct world *w, uint32_t node, const struct timeline *t,
                     const struct window *win, struct room *ret);
void timeline_done(struct timeline *t);

#endif
