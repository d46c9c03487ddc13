/* sim/leader.h - the manager around step(): turns, a store that can fail, and
 * nothing leaving before its turn is durable. */
#ifndef SIM_LEADER_H
#define SIM_LEADER_H
#include "sim/disk.h"
#include "sim/post.h"

struct snapshot { /* the wishes for one machine as of a turn */
    uint32_t machine;
    uint32_t node; /* 0: it is not known then */
    bool news; /* they changed in it */
    struct wish *wishes;
    uint32_t n;
};

struct pending_turn {
    struct turn turn;
    VEC(struct letter) acks;
    VEC(struct snapshot) snapshots;
};

struct held_poll { /* the last sync of a machine that has not been answered */
    bool held, due; /* due: to be answered as soon as `turn` is stored */
    uint64_t epoch, seq, turn;
    int64_t sent_ms;
};

struct heard { /* of a machine, by this life of the leader */
    uint32_t node; /* 0: not yet */
    int64_t core_ms;
    uint64_t epoch, seq; /* the newest report */
};

#define LEADER_MACHINES_MAX 8

struct leader {
    bool up;
    uint32_t life;
    struct world *w;
    int64_t asleep_until_ms; /* its clock stands still */
    int64_t core_base, started_ms; /* core time = base + time since the start */
    struct pending_turn open, committing;
    bool busy; /* a commit is under way */
    uint64_t durable;
    struct snapshot published[LEADER_MACHINES_MAX];
    struct held_poll polls[LEADER_MACHINES_MAX];
    struct heard heard[LEADER_MACHINES_MAX];
    uint32_t fail_pct, unknown_pct; /* of commits */
    struct effects effects;
    int64_t timer_ms; /* core time that the pending timer is set for */
    uint64_t turns, reloads;
};

struct cluster;

void leader_init(struct leader *l);
void leader_done(struct leader *l);
void leader_start(struct cluster *c);
void leader_sleep(struct cluster *c, int64_t ms);
void leader_kill(struct cluster *c); /* a commit under way may or may not take */
void leader_letter(struct cluster *c, const struct letter *letter);
uint32_t leader_machine(const struct node *n); /* whose node it is */
struct node *leader_node(const struct leader *l, uint32_t machine); /* NULL: unknown */
/* The wishes for a node as the world has them now; the caller frees `wishes`. */
struct snapshot leader_snapshot(const struct leader *l, uint32_t machine, const struct node *n);
int64_t leader_core_now(const struct cluster *c);

#endif
