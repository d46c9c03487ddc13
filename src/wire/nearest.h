/* wire/nearest.h - "did you mean": the word of a list that a mistyped one is closest to. */
#ifndef WIRE_NEAREST_H
#define WIRE_NEAREST_H
#include "base/str.h"

struct nearest { struct str word; const char *best; uint32_t distance; };

static inline struct nearest nearest_to(struct str word) { return (struct nearest){word, 0, 0}; }
/* Offers one candidate; the first of equally close ones stays. */
void nearest_offer(struct nearest *n, const char *candidate);
/* NULL when nothing is close enough to be what was meant. */
const char *nearest_best(const struct nearest *n);

#endif
