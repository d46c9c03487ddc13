/* core/model/names.h - finds a live session by its owner and name.
 *
 * A table of slots alone: the sessions themselves are the keys, so a name is kept
 * once.  Whoever enters a slot takes it out before user, name or slot change. */
#ifndef CORE_MODEL_NAMES_H
#define CORE_MODEL_NAMES_H
#include <stdbool.h>
#include <stdint.h>
#include "base/str.h"

struct world;
struct name_place { uint32_t hash, taken; }; /* taken: slot + 1, 0 while free */
struct name_index { /* zeroed is empty */
    struct name_place *v;
    uint32_t n, cap; /* cap is 0 or a power of two */
};

uint32_t names_find(const struct world *w, uint32_t user, struct str name); /* MAP_NONE: none */
/* The session in that slot; CHECKs that nobody else has its name. */
void names_add(struct world *w, uint32_t slot);
bool names_remove(struct world *w, uint32_t slot); /* false: it was not there */
void names_done(struct name_index *x);

#endif
