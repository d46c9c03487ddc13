/* core/model/wait.h - whose turn has not come yet, and who is waited for.
 *
 * A waiting session is not judged and holds back nobody.  What it waits for is in its own
 * row, but for two indexes kept here: how many tasks of an array are at work, and which
 * sessions depend on one that is live.  docs/spec/scheduling.md, "One pass" */
#ifndef CORE_MODEL_WAIT_H
#define CORE_MODEL_WAIT_H
#include "core/model/world.h"

enum wait_kind {
    WAIT_NONE = 0,
    WAIT_HOLD,       /* until somebody releases it */
    WAIT_DEPENDENCY, /* until others end */
    WAIT_START,      /* until the instant that it asked for */
    WAIT_BACKOFF,    /* after a failed start, or before a restart */
    WAIT_PROOF,      /* until it is sure that an earlier attempt does not run any more */
    WAIT_ARRAY,      /* as many tasks of its array run as may */
    WAIT_KINDS
};
const char *wait_kind_name(enum wait_kind k); /* "", "hold", "dependency", ... */
/* Of a pending session; the first in this order. */
enum wait_kind wait_of(const struct world *w, const struct session *s);

/* The tasks of its array that are at work (RESERVED to STOPPING). */
uint32_t wait_array_active(const struct world *w, const struct session *s);

/* A new session, or one that was loaded, is among the others now. */
void wait_added(struct world *w, const struct session *s);
/* It moves between states; `from` is 0 for a new one, as in usage_moved. */
void wait_moved(struct world *w, const struct session *s, enum session_state from,
                enum session_state to);
/* Takes the sessions that depend on `id` out of the index, oldest first. */
void wait_take_dependents(struct world *w, uint64_t id, struct wait_ids *ret);
/* Whether the end of that kind meets the dependency. */
bool wait_met(enum depend_on on, enum session_outcome outcome);
void wait_free(struct world *w);
/* NULL, or what is not as the sessions say. */
const char *wait_audit(const struct world *w);

#endif
