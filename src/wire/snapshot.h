/* wire/snapshot.h - the whole world as one JSON document: for `rota sim queue`.
 *
 * The rows are those of the store.  No document, token or other secret is in it. */
#ifndef WIRE_SNAPSHOT_H
#define WIRE_SNAPSHOT_H
#include "wire/rows.h"

#define SNAPSHOT_MAX ((size_t)1 << 30)

struct snapshot_rows {
    uint64_t turn;
    int64_t core_ms, wall_ms;
    VEC(struct domain) domains;
    VEC(struct project) projects;
    VEC(struct user) users;
    VEC(struct group) groups;
    VEC(struct node) nodes;
    VEC(struct session_row) sessions; /* live */
    VEC(struct alloc_row) allocs;
    VEC(struct reservation) reservations;
};
extern const struct wire_table wire_snapshot;

/* Everything that is in the world; the caller frees with wire_free. */
void snapshot_take(const struct world *w, int64_t wall_ms, struct snapshot_rows *ret);
/* Fills an empty world and makes it ready.  ERR_INVALID: its rows contradict each other. */
int snapshot_load(const struct snapshot_rows *s, struct world *w, struct err *err);

#endif
