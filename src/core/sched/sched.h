/* core/sched/sched.h - what the wing derives from the world, and keeps between steps.
 *
 * Built from the world at first use and brought up to date by sched_sync(); a world that
 * was loaded anew derives the same, but for promises, which begin anew.  Readers (explain,
 * checks at submission) see what the last step left in order. */
#ifndef CORE_SCHED_SCHED_H
#define CORE_SCHED_SCHED_H
#include "core/model/world.h"

struct place_index;
struct promises;
struct pass;
struct vacates;

struct sched {
    struct place_index *index; /* sched/index.c: nodes by what they can still fit */
    struct vacates *vacates;   /* sched/vacate.c: room that is being made for somebody */
    struct promises *promises; /* sched/promise.c: what is promised, and to whom */
    struct pass *pass;         /* sched/reserve.c: who waits for what was promised */
    bool voided;               /* a promise became void since the last pass */
};

/* The world's, made when there is none yet. */
struct sched *sched_of(struct world *w);
/* Takes in every node in w->changed: at the start of a pass, after each placement, and at
 * the end of a step. */
void sched_sync(struct world *w);

#endif
