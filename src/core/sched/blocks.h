/* core/sched/blocks.h - the inside of the index: sorted blocks, and searching them. */
#ifndef CORE_SCHED_BLOCKS_H
#define CORE_SCHED_BLOCKS_H
#include "core/sched/index.h"

struct index_entry { int64_t cpu, mem; uint32_t node; }; /* an index into w->nodes */
struct index_block {
    uint32_t n;
    int64_t mem_min, mem_max;
    struct index_entry e[INDEX_BLOCK]; /* by (cpu, mem, rank of the name) */
};
struct index_bucket { VEC(struct index_block *) blocks; };
struct index_class {
    uint32_t group, kinds; /* bit (1 << slot kind): the nodes have some */
    uint32_t n;            /* entries */
    uint32_t filled;       /* bit (1 << devices free): that bucket has entries */
    struct slots capacity; /* of the first node that ever was in it ... */
    bool known, mixed;     /* ... and others had another */
    struct index_bucket buckets[NODE_DEVICES_MAX + 1];
};
enum indexed { INDEXED_NOWHERE = 0, INDEXED_BLOCK, INDEXED_RESERVED };
struct index_node {
    enum indexed where;
    bool named, classed;
    uint32_t rank, class, stamp, gpu;
    int64_t cpu, mem; /* as it was entered */
};
struct place_index {
    VEC(struct index_node) nodes; /* by node index */
    VEC(struct index_class *) classes;
    VEC(uint32_t) names;    /* node indexes in natural order of names */
    VEC(uint32_t) reserved; /* node indexes */
    struct map_str class_by_key;
};

/* Where something stands: a block and an entry in it. */
struct index_spot { uint32_t block, entry; };

void blocks_add(const struct place_index *x, struct index_bucket *b, const struct index_entry *e);
void blocks_remove(const struct place_index *x, struct index_bucket *b,
                   const struct index_entry *e);
bool blocks_have(const struct place_index *x, const struct index_bucket *b,
                 const struct index_entry *e);
/* The first entry that is not before (cpu, mem); block == blocks.n: none. */
struct index_spot blocks_from(const struct index_bucket *b, int64_t cpu, int64_t mem);
void blocks_done(struct index_bucket *b);
const char *blocks_audit(const struct place_index *x, const struct index_bucket *b, uint32_t *n);

#endif
