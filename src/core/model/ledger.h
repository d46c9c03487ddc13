/* core/model/ledger.h - who holds what: one row per container.
 *
 * "Used", at every level, is the sum of live rows.  No counter is kept apart
 * from them: what node.h caches is recomputed from the rows that changed it.
 * Releasing twice changes nothing. */
#ifndef CORE_MODEL_LEDGER_H
#define CORE_MODEL_LEDGER_H
#include <stdbool.h>
#include <stdint.h>
#include "core/model/slots.h"
#include "core/nodeplan/plan.h"

struct alloc {
    struct member_ref ref;
    uint32_t node;
    struct slots slots;
    uint32_t devices;    /* mask on the node, as many bits as SLOT_GPU */
    uint64_t turn;       /* that made it: older reports know nothing of it */
    bool revoked;        /* its attempt is over; held until its node proves it gone */
    uint64_t revoked_turn;
    enum member_phase phase; /* last reported */
    uint32_t signal_done;
    struct member_end end;
    bool live;           /* false: slot of the array is free */
    uint32_t next_of_session, next_of_node; /* MAP_NONE ends a chain */
};

#endif
