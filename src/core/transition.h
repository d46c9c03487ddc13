/* core/transition.h - how sessions move from state to state; private to the step.
 *
 * transition() is the one place that writes session.state.  The functions below
 * it are the moves that several events share. */
#ifndef CORE_TRANSITION_H
#define CORE_TRANSITION_H
#include "core/draft.h"
#include "core/sched/place.h"
#include "core/sched/preempt.h"

/* `text` tells people why, "" when the state says it all. */
void transition(struct draft *d, struct session *s, enum session_state to, const char *text);

/* A new attempt on the chosen nodes. */
void transition_place(struct draft *d, struct session *s, const struct place *where);
/* Its work is over, whatever the reason: ENDED when no container is left, else
 * STOPPING until each is proved gone.  The first cause stands. */
void transition_finish(struct draft *d, struct session *s, enum session_outcome outcome,
                       const char *text);
/* The attempt is over and the session waits again; its rows stay held until
 * their nodes prove them gone. */
void transition_revoke(struct draft *d, struct session *s, const char *text);
/* A failed start: another try after a pause, or the end. */
void transition_start_failed(struct draft *d, struct session *s, const struct member_end *end);
/* Its victims are told to stop, with its room promised to it. */
void transition_reserve(struct draft *d, struct session *s, const struct preempt *p);
/* STOPPING: ENDED, or PENDING again with `requeue`, once nothing is held.  Rows on a node that
 * is lost do not count: they stay held, and nobody waits for them. */
void transition_try_end(struct draft *d, struct session *s);

#endif
