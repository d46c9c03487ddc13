/* core/model/slots.h - countable capacity, integers with checked arithmetic.
 *
 * An overflow is a refusal, never a wrap.  0 means none; "no limit" is another
 * thing and never stored here.  docs/spec/scheduling.md */
#ifndef CORE_MODEL_SLOTS_H
#define CORE_MODEL_SLOTS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

enum slot_kind {
    SLOT_CPU = 0, /* milli-cores */
    SLOT_MEM,     /* bytes */
    SLOT_GPU,     /* whole devices */
    SLOT_KINDS
};
#define SLOT_MAX (INT64_C(1) << 52) /* larger amounts are refused at the door */

struct slots { int64_t v[SLOT_KINDS]; }; /* all >= 0 */

const char *slot_name(enum slot_kind k); /* "cpu", "mem", "gpu" */
const char *slot_label(enum slot_kind k); /* "CPU", "memory", "GPU": in sentences */
void slot_print(struct strbuf *b, enum slot_kind k, int64_t amount); /* "0.5", "2 GiB", "3" */
bool slots_valid(const struct slots *s);                    /* every 0 <= v <= SLOT_MAX */
/* False when the result overflows, or would be below 0. */
bool slots_add(const struct slots *a, const struct slots *b, struct slots *ret);
bool slots_sub(const struct slots *a, const struct slots *b, struct slots *ret);
bool slots_mul(const struct slots *a, uint32_t times, struct slots *ret);
bool slots_fit(const struct slots *need, const struct slots *room);              /* need <= room */
bool slots_zero(const struct slots *s);

#endif
