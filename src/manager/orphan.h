/* manager/orphan.h - containers that were made for another store: shown, and ended when somebody
 * says so.
 *
 * The manager knows nothing of them but what their nodes list.  Who is to be ended
 * is kept in memory, and told with every answer until the node lists it no more; a
 * manager that is restarted has forgotten it, and is told again.
 * docs/spec/node.md, "Orphans" */
#ifndef MANAGER_ORPHAN_H
#define MANAGER_ORPHAN_H
#include "wire/sync.h"

struct manager;

struct orphan_end {
    char node[NODE_NAME_MAX + 1];
    struct member_ref ref;
};
struct orphans { VEC(struct orphan_end) ending; };

/* Adds to the answer what the node is to end of what it lists; the list may be NULL. */
void orphan_answer(struct manager *m, const char *node, const struct sync_request *list,
                   struct sync_answer *a);
void orphans_done(struct manager *m);

#endif
