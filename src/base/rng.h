/* base/rng.h - repeatable random numbers for simulation and jitter, never for
 * secrets.  SplitMix64 (Steele, Lea, Flood 2014). */
#ifndef BASE_RNG_H
#define BASE_RNG_H
#include <stdint.h>

struct rng { uint64_t state; };

static inline uint64_t rng_next(struct rng *r)
{
    uint64_t z = (r->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}
/* 0 <= result < below; below > 0.  The bias of the modulo is harmless here. */
static inline uint64_t rng_below(struct rng *r, uint64_t below) { return rng_next(r) % below; }

#endif
