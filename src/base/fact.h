/* base/fact.h - what was read from outside has three values.
 *
 * {0} knows nothing, and UNKNOWN never permits a destructive move. */
#ifndef BASE_FACT_H
#define BASE_FACT_H

enum fact { FACT_UNKNOWN = 0, FACT_NO, FACT_YES };

#endif
