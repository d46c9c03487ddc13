/* core/model/ledger.h - who holds what: one row per container.
 *
 * "Used", at every level, is the sum of live rows.  No counter is kept apart
 * from them: what node.h caches moves with a row where it comes and goes, here
 * and nowhere else, and is the sum again whenever the node itself changes.
 * Releasing twice changes nothing. */
#ifndef CORE_MODEL_LEDGER_H
#define CORE_MODEL_LEDGER_H
#include <stdbool.h>
#include <stdint.h>
#include "core/model/slots.h"
#include "core/nodeplan/plan.h"

struct alloc {
    struct member_ref ref;
    struct slots slots;
    uint32_t node;
    uint32_t devices;    /* mask on the node, as many bits as SLOT_GPU */
    uint64_t turn;       /* that made it: older reports know nothing of it */
    uint64_t revoked_turn;
    int64_t end_ms;      /* index: core time at which limits end it, ledger_date keeps it */
    bool revoked;        /* its attempt is over; held until its node proves it gone */
    bool live;           /* false: slot of the array is free */
    enum member_phase phase; /* last reported */
    uint32_t signal_done;
    uint32_t end;        /* inside a step: its number among those reported, draft_end_of; or 0 */
    uint32_t next_of_session, next_of_node; /* MAP_NONE ends a chain */
    uint32_t prev_of_node; /* a node may hold thousands; MAP_NONE: the first */
};
/* As it is stored, and leaves a step.  A row that is held has no end yet. */
struct alloc_row {
    struct alloc alloc;
    struct member_end end;
};

struct world;
struct session;
/* Puts a row into its node's chain and, unless the session has ended, into its
 * session's; then refreshes the node.  Pointers to rows end here. */
struct alloc *ledger_add(struct world *w, const struct alloc *row);
/* As ledger_add, before the chains exist: loading. */
void ledger_link(struct world *w, uint32_t slot);
/* Frees what the row held.  The row is gone afterwards. */
void ledger_release(struct world *w, struct alloc *a);
/* The session ends, its rows stay until their nodes prove them gone. */
void ledger_orphan(struct world *w, struct session *s);
/* Core time at which limits end a row of the session: INT64_MAX when none does, LEDGER_SOON
 * when only its node's proof is awaited.  May lie in the past: it then is overdue. */
#define LEDGER_SOON INT64_C(1)
int64_t ledger_end(const struct session *s, const struct alloc *a);
/* The session changed: brings the ends of its rows up to date. */
void ledger_date(struct world *w, const struct session *s);
uint32_t ledger_slot(const struct world *w, const struct alloc *a);
/* Whether the member's container is proved gone. */
static inline bool alloc_ended(const struct alloc *a)
{
    return a->phase == MEMBER_EXITED || a->phase == MEMBER_FAILED;
}

#endif
