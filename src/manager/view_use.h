/* manager/view_use.h - what sessions and nodes use, as people read it. */
#ifndef MANAGER_VIEW_USE_H
#define MANAGER_VIEW_USE_H
#include "manager/manager.h"
#include "wire/objects.h"
#include "wire/use.h"

/* Of its present attempt, as far as nodes have told; `points`: with the way there. */
void view_session_use(const struct manager *m, const struct session *s, bool points,
                      struct session_use_view *ret);
void view_node_use(const struct manager *m, const struct node *n, struct node_use_view *ret);
/* The figures of a live session's own view. */
void view_add_use(const struct manager *m, const struct session *s, struct session_view *v);
/* What an ended one used in all, from the ends of all that ever ran for it. */
struct store_placements;
void view_add_totals(const struct store_placements *all, struct session_view *v);

#endif
