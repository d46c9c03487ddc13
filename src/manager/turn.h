/* manager/turn.h - from events to durable turns, and what may leave afterwards.
 *
 *     event -> step() -> rows gather in the open turn, with all that waits for it
 *           -> closed and handed to the store's thread -> durable -> released
 *
 * While one turn is being written the loop gathers the next; the batch grows by
 * itself.  Nothing leaves before its turn is durable: whatever wants to leave is
 * a turn_wait of the turn that it rests on.  When a commit fails, or nobody knows
 * whether it took, the world is dropped, all that waited is told so, and the
 * world is loaded again from what the store holds.  A turn without rows is never
 * written.  docs/spec/api.md, "Turns" */
#ifndef MANAGER_TURN_H
#define MANAGER_TURN_H
#include <stdbool.h>
#include <stdint.h>
#include "base/vec.h"
#include "core/step.h"
#include "manager/committer.h"

#define TURNS_IN_FLIGHT_MAX 4
#define TURN_ROWS_CAP 1000     /* then it is closed as soon as a place is free */
#define TURN_ROWS_MAX 50000    /* then new work is refused until the store has caught up */
#define TURN_RETRY_MS 500      /* between attempts to load the world again */
#define TURN_FULL_MS 500       /* no new work after a turn for which the disk had no room */

enum turn_end { TURN_DURABLE = 1, TURN_LOST };

/* Something that must not happen before the store holds what it rests on.
 * Embedded in its owner; fn is called once, on the loop's thread. */
struct turn_wait {
    void (*fn)(struct turn_wait *w, enum turn_end end);
    struct turn_wait *next;
};

struct turn_batch {
    struct commit_job job;
    struct store_turn turn;
    struct turn_wait *waits, **waits_last;
    VEC(uint32_t) nodes;       /* whose wishes change with this turn; may repeat */
    bool mark;                 /* written although it has no rows: for its core time */
};

struct turns;

struct turns_ops {
    /* The turn is complete and about to be written: make of the world, which is
     * exactly as of this turn, what shall leave with it.  No events here. */
    void (*closing)(void *arg, struct turn_batch *b);
    /* The turn is stored: publish what it carries.  Before the waits are called. */
    void (*durable)(void *arg, struct turn_batch *b);
    /* The world is gone: forget all that was derived from it. */
    void (*lost)(void *arg, const struct err *why);
    /* A world is there (again), equal to what the store holds. */
    void (*loaded)(void *arg, struct world *w);
    /* Another manager leads: the process has to end. */
    void (*deposed)(void *arg, const struct err *why);
};

struct turn_stats {
    uint64_t turns, rows, failed, loads, steps;
    int64_t commit_us_sum, commit_us_max; /* of the store's work alone */
};

/* Takes the loop's turn hook.  The first load begins at once; until `loaded`
 * comes there is no world.  `leader` names this process in the turn rows. */
struct turns *turns_new(struct net_loop *loop, struct store *store, const char *leader,
                        const struct turns_ops *ops, void *arg);
/* What still waits is told TURN_LOST; turns already handed over are finished.
 * The loop must not run any more afterwards. */
void turns_free(struct turns *t);
/* Calls done once nothing is open or in flight any more. */
void turns_drain(struct turns *t, void (*done)(void *arg), void *arg);

struct world *turns_world(const struct turns *t); /* NULL: being loaded */
/* May new work come in?  False while loading, draining, far behind, or while the
 * disk is full: each try would cost the world, which reads can go on with. */
bool turns_accepting(const struct turns *t);
int64_t turns_core_ms(const struct turns *t);
/* Stores the core time, in a turn without rows, if anybody is there who may wait for an
 * instant; by itself every TURN_MARK_MS. */
#define TURN_MARK_MS 60000
void turns_mark(struct turns *t);
uint64_t turns_durable(const struct turns *t); /* the last turn that is stored */
/* The newest turn that changed anything: the world is as of this one. */
uint64_t turns_newest(const struct turns *t);
bool turns_is_open(const struct turns *t);     /* turns_newest may still grow */

/* Sets the event's times, steps, and keeps what it changed in the open turn.  The
 * effects are valid until the next call.  There must be a world. */
const struct effects *turns_step(struct turns *t, struct event *ev);
/* The open turn, for rows that belong to no step (documents, keys, tokens). */
struct store_turn *turns_open(struct turns *t);
/* fn(DURABLE) once everything decided so far is stored: at once, before this call
 * returns, when it is already. */
void turns_after(struct turns *t, struct turn_wait *w);
/* Gives back memory that only a burst needed. */
void turns_trim(struct turns *t);
const struct turn_stats *turns_stats(const struct turns *t);

#endif
