/* Generation of the operations. */
#include "workload.h"

#include <stdlib.h>

/* Arbitrary, and the same for ever: figures of two runs are about the same operations. */
#define SEED UINT64_C(0x7469636B6C697374)

/* Steele, Lea and Flood's SplitMix64: small, fast, and every seed is a good one. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* Uniform over 0..bound-1 but for a bias below bound/2^32. */
static uint32_t random_below(uint64_t *state, uint32_t bound)
{
    return (uint32_t)((next_random(state) >> 32) * bound >> 32);
}

static void shuffle(uint32_t *ids, uint32_t n, uint64_t *state)
{
    for (uint32_t i = 0; i < n; i++) {
        ids[i] = i;
    }
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = random_below(state, i);
        uint32_t swapped = ids[i - 1];
        ids[i - 1] = ids[j];
        ids[j] = swapped;
    }
}

bool workload_create(struct workload *workload, uint32_t n)
{
    uint32_t rounds = (WORKLOAD_BATCH_OPERATIONS + n - 1) / n;
    *workload = (struct workload){
        .n = n,
        .rounds = rounds,
        .starts = calloc(n, sizeof *workload->starts),
        .stops = calloc(n, sizeof *workload->stops),
        .order = calloc(n, sizeof *workload->order),
        .restarts = calloc((size_t)n * rounds, sizeof *workload->restarts),
    };
    if (workload->starts == NULL || workload->stops == NULL || workload->order == NULL ||
        workload->restarts == NULL) {
        workload_destroy(workload);
        return false;
    }
    uint64_t state = SEED ^ n;
    shuffle(workload->order, n, &state);
    for (uint32_t i = 0; i < n; i++) {
        struct workload_start *start = &workload->starts[i];
        start->id = workload->order[i];
        start->delay_ticks = 1 + random_below(&state, WORKLOAD_SPAN_TICKS);
        workload->expected.ids += start->id;
        workload->expected.checksum += workload_mix(start->id, start->delay_ticks);
    }
    shuffle(workload->stops, n, &state);
    return true;
}

void workload_destroy(struct workload *workload)
{
    free(workload->starts);
    free(workload->stops);
    free(workload->order);
    free(workload->restarts);
    *workload = (struct workload){0};
}

uint32_t workload_restart_rounds(struct workload *workload, uint32_t first, uint32_t count)
{
    uint32_t earliest = UINT32_MAX;
    uint32_t n = workload->n;
    for (uint32_t round = 0; round < count; round++) {
        struct workload_restart *restarts = workload->restarts + (size_t)round * n;
        uint64_t state = SEED ^ (uint64_t)(first + round + 1) << 32 ^ n;
        shuffle(workload->order, n, &state);
        earliest = UINT32_MAX;
        for (uint32_t i = 0; i < n; i++) {
            struct workload_restart *restart = &restarts[i];
            restart->id = workload->order[i];
            restart->tick = round * WORKLOAD_ROUND_TICKS + 1 +
                            (uint32_t)((uint64_t)i * WORKLOAD_ROUND_TICKS / n);
            restart->delay_ticks =
                WORKLOAD_IDLE_MIN_TICKS +
                random_below(&state, WORKLOAD_SPAN_TICKS - WORKLOAD_IDLE_MIN_TICKS + 1);
            if (restart->tick + restart->delay_ticks < earliest) {
                earliest = restart->tick + restart->delay_ticks;
            }
        }
    }
    return earliest;
}
