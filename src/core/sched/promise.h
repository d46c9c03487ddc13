/* core/sched/promise.h - the inside of plan.h: promises by session, and the outlook of nodes.
 *
 * A promise is kept with the amounts that it was made for: what it holds does not change
 * when the session does.  Each node has a line: its rows by their end, what it is promised
 * for, and from these a timeline that is made when somebody asks and follows small changes.
 * Ready times lie by group, in the order of names: the instant at which k devices of a node
 * are free if no promise counted, hence a true lower bound. */
#ifndef CORE_SCHED_PROMISE_H
#define CORE_SCHED_PROMISE_H
#include "core/sched/plan.h"
#include "core/sched/timeline.h"

#define READY_FREE INT64_C(0) /* anything else at or before now is overdue: now + 1 */

struct line_row { int64_t end_ms; uint32_t slot; struct hold hold; };
struct line_promise { uint64_t session; struct hold hold; };
struct line { /* of a node */
    uint32_t group, pos;  /* where its ready times are; group 0: nowhere */
    bool anew;            /* the timeline must be made from the beginning */
    bool behind;          /* rows came, went, or end at another time */
    bool less;            /* since the last sync: what it can keep may have shrunk */
    bool kept;            /* room is kept there for RESERVED sessions: vacate.h */
    bool clamped;         /* something was overdue when it was made: it holds for that instant */
    int64_t made_ms;
    struct slots capacity; /* as last seen, */
    uint32_t healthy;      /* with these devices */
    VEC(struct line_row) rows; /* by end, then slot */
    VEC(struct line_promise) promised;
    VEC(uint32_t) reserved;  /* reservations that have a part here, by id */
    struct timeline timeline;
    uint32_t n_endless;      /* rows that no limit ends, */
    uint64_t first_endless;  /* and the first session among them */
};

struct outlook { /* of a group's nodes, by name */
    bool stale; /* nodes came or went */
    VEC(uint32_t) nodes;
    VEC(int64_t) ready[NODE_DEVICES_MAX + 1]; /* [k][position] */
    VEC(int64_t) first_end;                   /* when any row ends */
};

struct promises {
    VEC(struct promise) kept; /* slots; session 0 marks a free one */
    VEC(uint32_t) free_kept;
    struct map_u64 by_session;
    struct heap due;       /* of kept ones, with stale items: stamp is the low half of at_ms */
    VEC(struct line) lines;     /* by node index */
    VEC(struct outlook) groups; /* by group index */
    VEC(uint64_t) marks;        /* by row: the walk that knew it */
    uint64_t walks;
    uint32_t taken_in;          /* of w->changed, since it was cleared */
    uint64_t reservations_seen; /* w->reservation_changes */
    struct timeline scratch;
};

/* The book, made when there is none yet. */
struct promises *promises_of(struct world *w);
/* NULL when the world was never synced; else what has changed since is taken in. */
struct promises *promises_read(const struct world *w);
void promise_done(struct promise *p);

/* ---- outlook.c */
/* The node's rows, room or use changed. */
void outlook_changed(struct promises *book, const struct world *w, uint32_t node);
/* The group's ready times, up to date. */
struct outlook *outlook_of(struct promises *book, const struct world *w, uint32_t group);
/* The node's timeline as a session sees it: without its own promise and what is reserved for
 * it; NULL: as nobody's. */
const struct timeline *outlook_line(struct promises *book, const struct world *w, uint32_t node,
                                    const struct session *viewer);
/* The list of reservations changed. */
void outlook_reserved(struct promises *book, const struct world *w);
void outlook_promise(struct promises *book, const struct world *w, uint32_t node,
                     const struct line_promise *p);
void outlook_unpromise(struct promises *book, const struct world *w, uint32_t node,
                       uint64_t session);
/* Whether the node can do what it is promised for, were it not for others. */
bool outlook_keeps(const struct promises *book, const struct world *w, uint32_t node,
                   uint64_t session);
void outlook_done(struct promises *book);

/* ---- reserved.c */
/* Takes off what is reserved on a node and not for the viewer. */
void reserved_hold(const struct world *w, uint32_t node, const struct line *line,
                   const struct session *viewer, struct timeline *ret);
/* Whether something there is reserved for the session. */
bool reserved_for(const struct world *w, const struct line *line, const struct session *s);

#endif
