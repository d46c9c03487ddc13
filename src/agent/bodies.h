/* agent/bodies.h - what the manager said about each session that this node holds.
 *
 * The lists of a sync only name sessions; their bodies (command, environment,
 * limits) come once and are kept here, in memory and one small file each, so that
 * a restarted agent can go on without asking.  Losing a file loses nothing: the
 * manager is asked again.  docs/spec/node.md, "Bodies" */
#ifndef AGENT_BODIES_H
#define AGENT_BODIES_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "wire/objects.h"
#include "wire/sync.h"

struct body {
    struct sync_body sync;
    struct session_spec spec;
    bool wanted; /* mark of a sweep */
};

struct bodies;

/* dir: where files are kept, made if need be; NULL: in memory alone. */
int bodies_open(const char *dir, struct bodies **ret, struct err *err);
void bodies_free(struct bodies *b); /* NULL is fine */

/* Keeps a copy.  An attempt lower than the one known is ignored; the same again
 * changes nothing.  ERR_INVALID: its specification is malformed. */
int bodies_put(struct bodies *b, const struct sync_body *body, struct err *err);
/* NULL: not here, or of another attempt. */
const struct body *bodies_get(const struct bodies *b, uint64_t session, uint32_t attempt);
uint32_t bodies_count(const struct bodies *b);

/* Sweep: mark all that are still of use, then drop the rest with their files. */
void bodies_sweep_begin(struct bodies *b);
void bodies_mark(struct bodies *b, uint64_t session);
void bodies_sweep_end(struct bodies *b);

#endif
