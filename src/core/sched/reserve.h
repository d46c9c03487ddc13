/* core/sched/reserve.h - whom a group has promised room, in the order of its queue.
 *
 * The promises themselves are in the plan; here is who is to be looked at again.  A
 * promise whose session left the queue is dropped; one that the plan found void is made
 * again in the next pass. */
#ifndef CORE_SCHED_RESERVE_H
#define CORE_SCHED_RESERVE_H
#include "core/sched/bounds.h"
#include "core/sched/plan.h"

struct reserved {
    uint64_t session;
    int64_t at_ms;
    int64_t retry_ms; /* it was due and could not start: not looked at before, for that alone */
    bool endless; /* it has no limit */
    bool look;    /* it is due, or something was freed that could bring it forward */
};
struct reserve { /* of one group */
    VEC(struct reserved) v;
    uint64_t undated;      /* the first that cannot be dated, 0: none, ... */
    int64_t undated_ms;    /* ... and since when */
    VEC(uint32_t) closed;  /* nodes that are kept for it, shut to all behind */
    struct bounds bounds;
    uint64_t head;         /* stop: the first that is blocked, 0: none */
    uint32_t tested;       /* searches for those behind in this pass, over its steps */
    bool sliced;           /* the pass goes on */
    bool resuming;         /* the last pass was cut by test_depth before this entry: */
    struct queue_entry resume;
};
struct pass { /* of a world */
    VEC(struct reserve) groups; /* by group index */
    int64_t full_ms;       /* when the next pass that believes nothing is due; 0: not known */
    int64_t full_every_ms; /* 0: never */
    uint64_t surprises;    /* such a pass found what others had missed: a bug */
    uint64_t searches;     /* for room, now or later, as they count for slices */
};

struct pass *reserve_pass(struct world *w);
struct reserve *reserve_of(struct world *w, uint32_t group);
const struct reserve *reserve_read(const struct world *w, uint32_t group); /* NULL: no pass yet */
/* Drops the promises of sessions that left their queues.  Part of sched_sync. */
void reserve_sync(struct world *w);
/* Marks who is to be looked at: due, void, or where something was freed (w->freed). */
void reserve_begin(struct world *w);
void reserve_freed(struct world *w);
void reserve_free(struct world *w);

/* By index; the promise is dropped as well. */
void reserve_drop(struct world *w, struct reserve *r, uint32_t at);
/* Keeps the promise and lists its session at that index. */
void reserve_keep(struct world *w, struct reserve *r, uint32_t at, struct promise *p);

/* Those from index `at` on, taken out together with their promises. */
struct reserve_taken {
    VEC(struct reserved) v;
    VEC(struct promise) p;
    uint32_t freed; /* of w->freed when they were taken: giving back ends there again */
};
void reserve_take(struct world *w, struct reserve *r, uint32_t at, struct reserve_taken *ret);
/* Exactly as they were. */
void reserve_put_back(struct world *w, struct reserve *r, struct reserve_taken *t);
void reserve_taken_done(struct reserve_taken *t);

#endif
