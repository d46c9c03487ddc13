/* base/bitset.h - small sets of devices as bit masks: at most 16 on a node. */
#ifndef BASE_BITSET_H
#define BASE_BITSET_H
#include <stdint.h>

static inline uint32_t bits_count(uint32_t mask) { return (uint32_t)__builtin_popcount(mask); }
/* The lowest bit that is set; mask != 0. */
static inline uint32_t bits_low(uint32_t mask) { return (uint32_t)__builtin_ctz(mask); }
/* The n lowest bits that are set in mask, or 0 if there are fewer. */
uint32_t bits_take_low(uint32_t mask, uint32_t n);

#endif
