/* base/fact.h - what was read from outside may be unknown.
 *
 * {0} knows nothing, and UNKNOWN never permits a destructive move. */
#ifndef BASE_FACT_H
#define BASE_FACT_H
#include <stdbool.h>
#include <stdint.h>

enum fact { FACT_UNKNOWN = 0, FACT_NO, FACT_YES };

struct reading { /* of a number; v means nothing unless known */
    bool known;
    int64_t v;
};
#define READING(value) ((struct reading){.known = true, .v = (value)})

#endif
