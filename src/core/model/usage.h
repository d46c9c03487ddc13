/* core/model/usage.h - what users, projects and domains use, moved where rows and states move.
 *
 * Used = sum of rows that are not revoked, and of what RESERVED sessions are promised.
 * running counts sessions from RESERVED to STOPPING, pending those in PENDING.  Kept by
 * the functions below alone; world_audit counts everything anew. */
#ifndef CORE_MODEL_USAGE_H
#define CORE_MODEL_USAGE_H
#include "core/model/world.h"

/* A row that is not revoked came (ledger_add) ... */
void usage_take(struct world *w, const struct alloc *a);
/* ... or goes: it is released, or was just revoked.  Call before its session is dropped. */
void usage_give(struct world *w, const struct alloc *a);
/* The session moves between states; `from` is 0 for a new one. */
void usage_moved(struct world *w, const struct session *s, enum session_state from,
                 enum session_state to);
/* Loading: everything from the rows.  False: a sum overflows, nothing is changed. */
bool usage_recount(struct world *w);
/* NULL, or what is not the sum that it should be. */
const char *usage_audit(const struct world *w);

#endif
