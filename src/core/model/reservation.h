/* core/model/reservation.h - devices kept for a user or a project in a window of time.
 *
 * Each part is on a node of its own.  From its beginning to its end others find it taken;
 * its owner finds it free.  What the owner's sessions hold of its devices counts as part
 * of it; of a reservation without devices, what was submitted after it and runs on its nodes.
 * What could be part of several counts for the first of those whose time it is.
 * Nobody is stopped for it: it is made only where nobody holds the room then.
 * docs/spec/scheduling.md, "Reservations" */
#ifndef CORE_MODEL_RESERVATION_H
#define CORE_MODEL_RESERVATION_H
#include <stdbool.h>
#include <stdint.h>

#include "core/model/slots.h"

#define RESERVATION_PARTS_MAX 64
#define RESERVATION_AHEAD_MAX_MS (INT64_C(366) * 24 * 60 * 60 * 1000) /* start, and length */
#define WORLD_RESERVATIONS_MAX 1000u

struct reservation_part { uint32_t node, devices; };

struct reservation {
    uint32_t id;            /* from 1: one more than the highest that there is */
    char name[64];          /* for people; may be empty */
    uint32_t group;
    uint32_t user, project; /* exactly one of them is set */
    uint64_t since;         /* the last session submitted before it was made */
    struct slots slots;     /* of each part */
    uint32_t n_parts;
    struct reservation_part parts[RESERVATION_PARTS_MAX]; /* by node name */
    int64_t start_ms, end_ms;           /* core time, [start, end) */
    int64_t start_wall_ms, end_wall_ms; /* for people only */
};

struct world;
struct session;
struct alloc;

struct reservation *world_reservation(const struct world *w, uint32_t id); /* NULL: none */
/* Loading, and on_reserve: keeps the order of ids.  False: double id, values out of range. */
bool world_put_reservation(struct world *w, const struct reservation *r);
void world_drop_reservation(struct world *w, uint32_t id);
/* May the session use what is reserved? */
bool reservation_admits(const struct reservation *r, const struct session *s);
/* Whether what the session holds on the part's node, with these devices, is part of it. */
bool reservation_covers(const struct reservation *r, const struct reservation_part *part,
                        const struct session *s, uint32_t devices);
/* Whether somebody else's reservation takes over what the row holds once it is gone. */
bool reservation_succeeds(const struct world *w, const struct alloc *a, const struct session *s);
/* Whether some reservation is there for this session: it then sees more room than others. */
bool reservation_favours(const struct world *w, const struct session *s);
/* The next instant after now at which one begins or ends; INT64_MAX: none. */
int64_t reservation_next_ms(const struct world *w);
/* NULL, or what refers to nothing. */
const char *reservation_audit(const struct world *w);

#endif
