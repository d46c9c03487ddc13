/* wire/array.h - "0-99:2%10": the tasks of an array, as people write them. */
#ifndef WIRE_ARRAY_H
#define WIRE_ARRAY_H
#include <stdbool.h>
#include <stdint.h>
#include "base/str.h"

struct array_range { uint32_t first, count, step, limit; }; /* limit 0: no bound */

/* "FIRST-LAST", "FIRST-LAST:STEP", each with "%LIMIT" at the end or without; indexes up to
 * INT32_MAX, 1 to SESSION_ARRAY_MAX tasks.  False on anything else. */
bool array_parse(struct str text, struct array_range *ret);

#endif
