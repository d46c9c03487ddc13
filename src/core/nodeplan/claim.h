/* core/nodeplan/claim.h - a node's own guard against double booking.
 *
 * The manager plans so that this never refuses.  But what a node gives away is
 * a function of what lives on it, whatever it is told: a member is made only when
 * the claims of the living leave room for it, and tried again when they do. */
#ifndef CORE_NODEPLAN_CLAIM_H
#define CORE_NODEPLAN_CLAIM_H
#include <stdbool.h>
#include <stdint.h>

struct claim { /* of one living member */
    int64_t cpu_milli, mem_bytes;
    uint32_t devices; /* mask */
};

/* Sums of what is held; zeroed holds nothing. */
void claim_add(struct claim *held, const struct claim *one);
/* Whether `wanted` fits beside what is held.  An overflow does not fit. */
bool claim_fits(const struct claim *held, const struct claim *wanted,
                const struct claim *capacity);

#endif
