/* Two worlds that hear the same: one by step(), one whose pass remembers nothing.
 *
 * The naive pass walks every queue from its beginning, searches for everybody, and looks
 * at each promise each time.  After every event both must hold the same. */
#ifndef TESTS_CORE_TWINS_H
#define TESTS_CORE_TWINS_H
#include "harness.h"

#include "base/rng.h"

#define TWIN_NODES_MAX 128
#define TWIN_GROUPS 2

struct twin_end { uint64_t session; int64_t at_ms; };
struct twins {
    struct world *fast, *naive;
    struct effects fx, fx_naive;
    struct rng rng;
    int64_t now_ms;
    uint64_t seq;
    uint32_t n_nodes, n_groups;
    bool limits;                 /* projects and users have some */
    VEC(struct twin_end) ends;   /* when what runs will end */
    uint64_t placed, promised, moved, seen; /* how lively it was */
};

struct twins *twins_new(uint64_t seed, uint32_t nodes);
void twins_free(struct twins *t);
/* To both, and whatever either wants to go on with; then they are compared. */
void twins_step(struct twins *t, struct event ev);
void twins_compare(struct twins *t);
/* What happens next by itself: ends, reports, time. */
void twins_run(struct twins *t, int64_t until_ms);
/* twins_naive.c */
struct draft;
void twins_naive_pass(struct draft *d);

#endif
