/* sim/post.h - the network between the parts: late, lost, doubled, out of order.
 *
 * Also carries everybody's timers, which are never lost.  Delivery order is
 * total: (time, number of posting). */
#ifndef SIM_POST_H
#define SIM_POST_H
#include "base/heap.h"
#include "base/rng.h"
#include "core/step.h"

enum letter_kind {
    LETTER_SUBMIT = 1, /* client to leader: job */
    LETTER_ACK,        /* leader to client: job, session */
    LETTER_STOP,       /* client to leader: session, grace_ms */
    LETTER_SIGNAL,
    LETTER_FORGET,     /* operator to leader: machine */
    LETTER_ACCEPT,     /* operator to leader: who is silent is down */
    LETTER_CORDON,     /* operator to leader: machine, n: on or off */
    LETTER_JOIN,       /* agent to leader */
    LETTER_SYNC,       /* agent to leader: full list */
    LETTER_ANSWER,     /* leader to agent: full list */
    LETTER_TIMER_CLIENT,
    LETTER_TIMER_AGENT,
    LETTER_TIMER_BOX,
    LETTER_TIMER_LEADER,
    LETTER_TIMER_HELD, /* a held poll's end */
    LETTER_COMMITTED,  /* the store's answer to the leader */
    LETTER_TIMER_CHAOS,
    LETTER_TIMER_HERMIT, /* a machine falls silent for more than a day, or is judged after it */
    LETTER_KINDS
};

/* What a node must know to create a member, with the wish. */
struct wish {
    struct member_want want;
    struct slots slots;
    uint32_t devices;
};

struct letter {
    enum letter_kind kind;
    uint32_t machine, life; /* life: of the process that a timer belongs to */
    uint64_t job, session, epoch, seq, turn;
    struct member_report *members; /* SYNC, owned */
    struct wish *wishes;           /* ANSWER, owned */
    uint32_t n;
    int64_t grace_ms;
    int64_t sent_ms;  /* SYNC; ANSWER: of the one that it answers */
};

#define POST_LATE_MS 30000 /* no letter is later */

struct post {
    struct rng rng;
    int64_t now_ms;
    uint64_t posted, delivered, lost, doubled;
    uint32_t loss_pct, double_pct, late_pct; /* of letters between parts */
    struct heap heap;
    VEC(struct letter) letters;
    VEC(uint32_t) free;
};

void post_init(struct post *p, uint64_t seed);
void post_done(struct post *p);
/* A timer: arrives exactly once, after delay_ms. */
void post_timer(struct post *p, struct letter l, int64_t delay_ms);
/* Takes over the letter's arrays.  May lose it, double it or be late. */
void post_send(struct post *p, struct letter l);
/* The next letter, with the time moved on; false when there is none. The
 * caller owns the arrays (letter_done). */
bool post_next(struct post *p, struct letter *ret);
void letter_done(struct letter *l);
static inline bool post_chance(struct post *p, uint32_t pct)
{
    return rng_below(&p->rng, 100) < pct;
}

#endif
