/* core/rotate/claim.h - who may move: the manager's side of a rotation.
 *
 * No central scheduler, yet no herd.  A rotor that wants to bind claims one item of
 * the pool's backlog by compare-and-swap; a rotor that recorded its way back claims
 * the run.  The claim is the allocation: one turn writes it, the ledger's rows and
 * the binding epoch.  Unknown facts refuse.
 * docs/spec/rotation.md, "Words", rulings (e) and check 11 */
#ifndef CORE_ROTATE_CLAIM_H
#define CORE_ROTATE_CLAIM_H
#include "base/fact.h"

enum rotate_claim {
    CLAIM_UNKNOWN = 0,  /* a fact is missing: refused */
    CLAIM_GRANTED,
    CLAIM_OLD_EPOCH,    /* the rotor has a newer binding than the asker knows of */
    CLAIM_HELD,         /* pinned or reserved: cannot be pulled away */
    CLAIM_CHANGED,      /* the pool's claims are not those that were seen: look again */
    CLAIM_COVERED,      /* every waiting item has a rotor on its way */
    CLAIM_NO_RUN,       /* the run is not queued any more */
    CLAIM_TAKEN,        /* another rotor has the run */
    CLAIM_KEEP,         /* fewer rotors than the pool keeps would stay bound */
    CLAIM_ANSWERS
};

struct rotate_claimant { /* the rotor that asks, as it says and as the manager has it */
    uint64_t epoch_asked;   /* the node's binding epoch */
    uint64_t epoch_known;   /* the manager's; a lower one is an older backup's, and gives way */
    enum fact pinned, reserved;
};

struct pool_claim { /* on one item of a pool's backlog */
    struct rotate_claimant who;
    bool mine;              /* this rotor holds a claim of this pool and epoch: asked again */
    struct reading waiting; /* the pool's backlog */
    uint32_t claimed;       /* claims on it by other rotors that are not bound yet */
    uint64_t version_seen;  /* of the pool's claims, when the rotor decided */
    uint64_t version;       /* now: every grant and release adds one */
};
enum rotate_claim rotate_claim_pool(const struct pool_claim *c);

struct run_claim { /* on a queued training run; the acknowledgement of RECORDED */
    struct rotate_claimant who;
    bool mine;              /* this rotor holds the run already: asked again */
    enum fact queued;       /* the run still waits */
    enum fact taken;        /* another rotor has it */
    struct reading bound;   /* rotors bound to the pool now, this one among them */
    uint32_t keep;          /* how many must stay bound */
};
enum rotate_claim rotate_claim_run(const struct run_claim *c);

/* The epoch that counts: the higher one, whichever side has it. */
uint64_t rotate_epoch(uint64_t node, uint64_t manager);

const char *rotate_claim_name(enum rotate_claim c);
const char *rotate_claim_text(enum rotate_claim c);

#endif
