/* core/sched/walk.h - one walk along a queue; private to pass.c and backfill.c. */
#ifndef CORE_SCHED_WALK_H
#define CORE_SCHED_WALK_H
#include "core/sched/fence.h"
#include "core/sched/frontier.h"
#include "core/sched/pass.h"
#include "core/sched/reserve.h"

struct walk {
    struct world *w;
    const struct pass_sink *sink;
    const struct group *g;
    struct pool_queue *q;
    struct reserve *r;
    struct fence fence;
    struct place place;
    uint32_t at;         /* the entry that is judged */
    uint32_t ahead;      /* promised sessions before it: an index into r->v */
    struct endless endless; /* those of them without a limit */
    uint32_t next, next_ahead, next_n; /* index of the promised one that comes, found when */
    uint32_t depth;      /* how many may be promised room; 0 unless the group backfills */
    uint32_t searches, preempts;
    int32_t floor;       /* the least priority of those who might be made to go, ... */
    bool floor_known;    /* ... once somebody asked */
    bool strict;         /* a blocked session holds others back */
    bool later;          /* some were left for the next pass, ... */
    bool again;          /* ... which is to follow at once: room was opened, or a limit met */
    bool shut;           /* the nodes of r->closed are closed in this walk */
    uint64_t undated;    /* the first that cannot be dated, 0: none met yet */
    uint64_t head;       /* the first that is blocked, 0: none met yet */
};

enum judgement { JUDGED_PLACED, JUDGED_PASSED_OVER, JUDGED_BLOCKED };

/* Searches now, and starts it if there is room. */
bool walk_start(struct walk *walk, struct session *s);
/* The promised session at r->v[ahead] is dealt with. */
void walk_passed(struct walk *walk);

/* ---- backfill.c */

/* The session at r->v[ahead], which is to be looked at. */
enum judgement backfill_look(struct walk *walk, const struct queue_entry *e, struct session *s);
/* It is blocked, and fewer than the depth are promised room before it. */
enum judgement backfill_reserve(struct walk *walk, const struct queue_entry *e, struct session *s);
/* It cannot be dated. */
void backfill_undated(struct walk *walk, const struct session *s);
/* Opens again what is closed for the time of a walk, and ends what is over. */
void backfill_end(struct walk *walk, bool whole);
/* Tries the rest of the queue by time limit. */
void backfill_shortest(struct walk *walk);
enum judgement walk_judge(struct walk *walk, const struct queue_entry *e);

#endif
