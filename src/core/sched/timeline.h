/* core/sched/timeline.h - what is free on one node from now on, piece by piece.
 *
 * Sorted segments; one begins where what is free changes, and lasts until the next.
 * Neighbours differ.  What is left may be below 0 where more is promised than there is:
 * it then counts as nothing.  docs/spec/scheduling.md, "The plan" */
#ifndef CORE_SCHED_TIMELINE_H
#define CORE_SCHED_TIMELINE_H
#include <stdbool.h>
#include <stdint.h>
#include "base/vec.h"
#include "core/model/slots.h"

#define TIMELINE_NEVER INT64_MAX

struct segment {
    int64_t at_ms;
    struct slots left; /* SLOT_GPU is kept at 0: the mask tells */
    uint32_t devices;  /* free ones */
};
struct timeline {
    VEC(struct segment) segs; /* the first begins at or before now */
    bool tangled;             /* a device is held twice somewhere: nothing can be released */
};

struct hold { /* [from, until) */
    int64_t from_ms, until_ms;
    uint32_t devices;
    struct slots slots;
};
struct window { int64_t from_ms, until_ms; }; /* [from, until) */

/* `len_ms` after `at_ms`; 0, no limit: TIMELINE_NEVER. */
int64_t timeline_end(int64_t at_ms, int64_t len_ms);
void timeline_begin(struct timeline *t, int64_t now_ms, const struct slots *left,
                    uint32_t devices);
/* While it is made: from there on so much more is free.  Called in the order of time. */
void timeline_free_from(struct timeline *t, int64_t at_ms, const struct slots *more,
                        uint32_t devices);
void timeline_hold(struct timeline *t, const struct hold *h);
/* What timeline_hold did is undone; the timeline is not tangled (CHECK). */
void timeline_release(struct timeline *t, const struct hold *h);
/* Forgets what lies wholly before `now_ms`. */
void timeline_trim(struct timeline *t, int64_t now_ms);
void timeline_done(struct timeline *t);

/* Free throughout the window: devices; and of the rest the least at any instant. */
void timeline_window(const struct timeline *t, const struct window *win, struct slots *ret_free,
                     uint32_t *ret_devices);
/* How many members of this shape fit throughout the window, at most `enough`. */
uint32_t timeline_times(const struct timeline *t, const struct window *win,
                        const struct slots *need, uint32_t enough);
/* The first instant >= from at which `need` fits for so long (0: for ever). */
int64_t timeline_earliest(const struct timeline *t, const struct slots *need, int64_t from_ms,
                          int64_t len_ms);
/* The first instant > after at which something comes free, or TIMELINE_NEVER. */
int64_t timeline_next_growth(const struct timeline *t, int64_t after_ms);

#endif
