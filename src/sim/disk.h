/* sim/disk.h - what the simulated store remembers: rows, applied a turn at a time.
 *
 * A turn is applied whole or not at all.  Ended sessions stay, for the oracles. */
#ifndef SIM_DISK_H
#define SIM_DISK_H
#include "core/step.h"

struct disk_key { uint64_t key, session; }; /* a client's idempotency key and what it made */

struct disk {
    uint64_t turn;
    int64_t core_ms;
    VEC(struct session_row) live;
    VEC(struct session) ended;
    VEC(struct alloc) allocs;
    VEC(struct node) nodes;
    VEC(struct group) groups;
    VEC(struct reservation) reservations;
    VEC(struct disk_key) keys;
};

struct turn {
    uint64_t no;
    int64_t core_ms;
    VEC(struct change) changes;
    VEC(struct disk_key) keys;
};

void disk_init(struct disk *d);
void disk_done(struct disk *d);
void disk_apply(struct disk *d, const struct turn *t);
/* A new world with all that is stored; CHECKs that it fits together. */
struct world *disk_load(const struct disk *d);
/* The session a key made; 0: none yet. */
uint64_t disk_session_of_key(const struct disk *d, uint64_t key);
const struct session *disk_ended(const struct disk *d, uint64_t session);
const struct session *disk_live(const struct disk *d, uint64_t session);

#endif
