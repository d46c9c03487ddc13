/* core/blame.h - where starts fail: what a session and its nodes remember of it.
 *
 * A session keeps off a node where it failed SESSION_START_TRIES times in a row; a
 * node where NODE_QUARANTINE_AFTER sessions in a row failed gets nothing new until an
 * operator says so.  Whoever runs is forgiven, and its nodes are. */
#ifndef CORE_BLAME_H
#define CORE_BLAME_H
#include "core/draft.h"

/* The session failed to start on the node, by no fault of its own request. */
void blame_node(struct draft *d, struct session *s, uint32_t node);
/* Its time is over: the nodes that have come least far are to blame, if they are heard. */
void blame_slowest(struct draft *d, struct session *s);
/* Something started on the node. */
void blame_forgive(struct draft *d, uint32_t node);
/* The session runs, on all its nodes. */
void blame_nobody(struct draft *d, struct session *s);

#endif
