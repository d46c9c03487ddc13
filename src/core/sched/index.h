/* core/sched/index.h - the nodes that take new work, sorted by what they have free.
 *
 * Nodes of one class say the same about themselves (group, arch, labels, models, kinds
 * of slot); in a class, those with as many devices free stand sorted by (cpu, mem,
 * name) in blocks of at most INDEX_BLOCK, with each block's largest memory.  A node is
 * in a block or, carrying a promise, in the reserved list, never in both; one that
 * takes nothing new is in neither.
 *
 * Answers as looking at every node does: tests/unit/core/test_index.c.
 * Structure and figures: the spec's page on algorithms, section 2. */
#ifndef CORE_SCHED_INDEX_H
#define CORE_SCHED_INDEX_H
#include "core/model/world.h"
#include "core/sched/strategy.h"

#define INDEX_BLOCK 64

struct place_index;

struct index_query {
    const struct session *s;
    struct slots need;
    enum place_strategy by;
    const uint64_t *marks; /* a bit for each node: those that are set are left out */
    uint32_t after;        /* round_robin: the node (by number) chosen last, 0: none */
};

/* Takes in the nodes of w->changed; made at the first call. */
void index_sync(struct world *w);
void index_free(struct place_index *x);
/* The best of the nodes that are in blocks; as an index into w->nodes.  False: none fits. */
bool index_best(const struct world *w, const struct index_query *q, uint32_t *ret_at);
/* The nodes that carry promises, as indexes into w->nodes. */
const uint32_t *index_reserved(const struct place_index *x, uint32_t *ret_n);
/* Place of a node in the natural order of names. */
uint32_t index_rank(const struct place_index *x, uint32_t at);
/* The order of two nodes by name; false: one of them is not known here yet. */
bool index_cmp_names(const struct place_index *x, uint32_t a, uint32_t b, int *ret);
/* NULL, or what is not as the world says it should be. */
const char *index_audit(const struct world *w);

#endif
