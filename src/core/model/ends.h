/* core/model/ends.h - how the last attempt of a live session ended, where there is anything to say.
 *
 * Few live sessions have such a word (a start failed, or one is being stopped),
 * so it is kept beside them.  It is stored with the session. */
#ifndef CORE_MODEL_ENDS_H
#define CORE_MODEL_ENDS_H
#include "base/map.h"
#include "base/vec.h"
#include "core/nodeplan/plan.h"

struct world;
struct session;
struct end_index { /* zeroed is empty */
    struct map_u64 by_session; /* place in v */
    VEC(struct member_end) v;
    VEC(uint32_t) free;
};

/* All zero when nothing is known; valid until the next ends_put. */
const struct member_end *ends_of(const struct world *w, const struct session *s);
void ends_put(struct world *w, const struct session *s, const struct member_end *end);
void ends_drop(struct world *w, const struct session *s);
/* NULL, or what is broken. */
const char *ends_audit(const struct world *w);
void ends_done(struct end_index *x);

#endif
