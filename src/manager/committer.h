/* manager/committer.h - the store's own thread.
 *
 * Jobs go in from the loop's thread, in order, and come back in the same order
 * by `done` on the loop's thread.  After a commit that failed, or whose outcome
 * is not known, nothing more is written: every commit behind it comes back
 * ERR_UNAVAILABLE untried, until a load has succeeded. */
#ifndef MANAGER_COMMITTER_H
#define MANAGER_COMMITTER_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "core/model/world.h"
#include "net/loop.h"
#include "store/store.h"

enum commit_job_kind { JOB_COMMIT = 1, JOB_LOAD };

struct commit_job { /* embedded in what the owner hands over */
    enum commit_job_kind kind;
    struct store_turn *turn;   /* JOB_COMMIT: borrowed until the job is back */
    struct world *world;       /* JOB_LOAD: filled, the owner's when code is 0 */
    int code;                  /* result */
    struct err err;
    int64_t took_us;
    struct commit_job *next;
};

struct committer;

/* The store is used by the committer's thread alone from now on. */
struct committer *committer_new(struct net_loop *loop, struct store *store,
                                void (*done)(void *arg, struct commit_job *job), void *arg);
void committer_push(struct committer *c, struct commit_job *job);
/* Ends the thread when the jobs already pushed are through; their `done` is not
 * called any more.  NULL is fine. */
void committer_free(struct committer *c);

#endif
