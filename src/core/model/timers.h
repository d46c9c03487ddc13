/* core/model/timers.h - when the world must be looked at although nothing came.
 *
 * One heap of (core time, whom).  A session has at most one valid item, the
 * earlier of its deadline and the end of its back-off; older items are known by
 * their stamp and dropped when they surface, or all at once when most are old.
 * A node's item is only moved on when it surfaces: a beat costs nothing here. */
#ifndef CORE_MODEL_TIMERS_H
#define CORE_MODEL_TIMERS_H
#include "core/model/world.h"

/* Exactly one of them is set. */
struct timer_due { struct session *session; struct node *node; };

void timers_arm_session(struct world *w, struct session *s);
void timers_arm_node(struct world *w, struct node *n, int64_t at_ms);
/* Takes the next item that is due at w->now_ms; false when there is none. */
bool timers_pop(struct world *w, struct timer_due *ret);
int64_t timers_next(const struct world *w); /* INT64_MAX: none */

#endif
