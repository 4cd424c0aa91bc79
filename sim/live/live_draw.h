/* live_draw.h: random numbers for runs in real time: cheap, with little state. */
#ifndef SIM_LIVE_DRAW_H
#define SIM_LIVE_DRAW_H

#include <stdint.h>

/* Where the numbers of a seed begin. */
static inline uint64_t live_draw_seed(uint64_t seed)
{
    return (seed + 1) * UINT64_C(0x9E3779B97F4A7C15);
}

/* A number from 0 to bound - 1, and *state moves on: Marsaglia's xorshift64*, its high half. */
static inline uint32_t live_draw_below(uint64_t *state, uint32_t bound)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return (uint32_t)(((x * UINT64_C(0x2545F4914F6CDD1D)) >> 32) * bound >> 32);
}

#endif
