/* core/sched/vacate.h - the room that RESERVED sessions are promised, and who is vacating it.
 *
 * Each keeps named amounts and devices on named nodes: what of it is free already is shut to
 * everybody else, the rest comes when those who are leaving have left (leaving.h).  Nothing
 * of it is stored: after a start of the manager it is derived anew, like in each pass, from
 * who is reserved and who is leaving.  docs/spec/scheduling.md, "Preemption" */
#ifndef CORE_SCHED_VACATE_H
#define CORE_SCHED_VACATE_H
#include "core/sched/place.h"
#include "core/sched/timeline.h"

struct vacate { /* of one session; no picks: its room is not known (any more) */
    uint64_t session;
    VEC(struct place_pick) picks; /* by member */
};
struct vacates {
    VEC(struct vacate) v; /* in the order of the queue */
    bool due; /* something changed on some node since the rooms were derived */
};

/* A session is reserved now (or was, when it was loaded): room to be derived. */
void vacate_add(struct world *w, const struct session *s);
/* It is not any more. */
void vacate_remove(struct world *w, uint64_t session);
/* The i-th of those who are reserved; 0: no such. */
uint64_t vacate_at(const struct world *w, uint32_t i);

/* Whether rooms are to be derived again; asking ends it. */
bool vacate_take_due(struct world *w);
/* Takes what it is promised out of the books: what is left shows what it could have now. */
void vacate_open(struct world *w, uint64_t session);
/* Promises so much to a session that has nothing promised (CHECK). */
void vacate_keep(struct world *w, uint64_t session, const struct place_pick *picks, uint32_t n);
/* Promises again the very same to the session that was opened, or else what it will have once
 * all who leave have left.  False: there is no such place. */
bool vacate_derive(struct world *w, const struct session *s, const struct vacate *was);
/* What the session is promised; NULL: it is not reserved. */
const struct vacate *vacate_of(const struct world *w, uint64_t session);

/* What is left of promises where somebody left or came: part of sched_sync. */
void vacate_sync(struct world *w);
/* Takes what is promised on a node, but to session `own`, off its timeline: from now on, to the
 * latest end that its limit allows. */
void vacate_hold(const struct world *w, uint32_t node, uint64_t own, struct timeline *t);
void vacate_free(struct world *w);

#endif
