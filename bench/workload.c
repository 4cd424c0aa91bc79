/* Generation of the operations. */
#include "workload.h"

#include <stdlib.h>

#define SEED UINT64_C(0x7469636B6C697374)

/* Steele, Lea and Flood's SplitMix64: small, fast, and every seed is a good one. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

uint64_t workload_seed(uint64_t what)
{
    return SEED ^ what;
}

uint32_t workload_random_below(uint64_t *state, uint32_t bound)
{
    return (uint32_t)((next_random(state) >> 32) * bound >> 32);
}

static uint64_t batch_operations = WORKLOAD_BATCH_OPERATIONS;

void workload_shorten(void)
{
    batch_operations = 1;
}

uint64_t workload_rounds(uint64_t operations)
{
    return operations < batch_operations ? (batch_operations + operations - 1) / operations : 1;
}

static void shuffle(uint32_t *ids, uint32_t n, uint64_t *state)
{
    for (uint32_t i = 0; i < n; i++) {
        ids[i] = i;
    }
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = workload_random_below(state, i);
        uint32_t swapped = ids[i - 1];
        ids[i - 1] = ids[j];
        ids[j] = swapped;
    }
}

/* Puts what the starts fire in order of tick, by counting. */
static bool sort_expiries(struct workload *workload)
{
    uint32_t *first = calloc(WORKLOAD_SPAN_TICKS + 2, sizeof *first);
    workload->expiries = calloc(workload->n, sizeof *workload->expiries);
    if (first == NULL || workload->expiries == NULL) {
        free(first);
        return false;
    }
    for (uint32_t i = 0; i < workload->n; i++) {
        first[workload->starts[i].delay_ticks + 1]++;
    }
    for (uint32_t tick = 0; tick < WORKLOAD_SPAN_TICKS; tick++) {
        first[tick + 1] += first[tick];
    }
    for (uint32_t i = 0; i < workload->n; i++) {
        uint32_t tick = workload->starts[i].delay_ticks;
        workload->expiries[first[tick]++] =
            (struct workload_expiry){.tick = tick, .id = workload->starts[i].id};
    }
    free(first);
    return true;
}

static void destroy(struct workload *workload)
{
    free(workload->starts);
    free(workload->delays);
    free(workload->stops);
    free(workload->order);
    free(workload->restarts);
    free(workload->expiries);
    *workload = (struct workload){0};
}

static bool create(struct workload *workload, uint32_t n)
{
    uint32_t rounds = (uint32_t)workload_rounds(n);
    *workload = (struct workload){
        .n = n,
        .rounds = rounds,
        .starts = calloc(n, sizeof *workload->starts),
        .delays = calloc(n, sizeof *workload->delays),
        .stops = calloc(n, sizeof *workload->stops),
        .order = calloc(n, sizeof *workload->order),
        .restarts = calloc((size_t)n * rounds, sizeof *workload->restarts),
    };
    if (workload->starts == NULL || workload->delays == NULL || workload->stops == NULL ||
        workload->order == NULL || workload->restarts == NULL) {
        return false;
    }
    uint64_t state = workload_seed(n);
    shuffle(workload->order, n, &state);
    for (uint32_t i = 0; i < n; i++) {
        struct workload_start *start = &workload->starts[i];
        start->id = workload->order[i];
        start->delay_ticks = 1 + workload_random_below(&state, WORKLOAD_SPAN_TICKS);
        workload->delays[start->id] = start->delay_ticks;
        workload->expected.count++;
        workload->expected.ids += start->id;
        workload->expected.checksum += workload_mix(start->id, start->delay_ticks);
    }
    shuffle(workload->stops, n, &state);
    return sort_expiries(workload);
}

struct kept_workload {
    struct kept_workload *below;
    struct workload workload;
};

static struct kept_workload *workloads;

struct workload *workload_get(uint32_t n)
{
    for (struct kept_workload *kept = workloads; kept != NULL; kept = kept->below) {
        if (kept->workload.n == n) {
            return &kept->workload;
        }
    }
    struct kept_workload *kept = calloc(1, sizeof *kept);
    if (kept == NULL || !create(&kept->workload, n)) {
        if (kept != NULL) {
            destroy(&kept->workload);
        }
        free(kept);
        return NULL;
    }
    kept->below = workloads;
    workloads = kept;
    return &kept->workload;
}

void workload_forget(void)
{
    while (workloads != NULL) {
        struct kept_workload *kept = workloads;
        workloads = kept->below;
        destroy(&kept->workload);
        free(kept);
    }
}

uint32_t workload_restart_rounds(struct workload *workload, uint32_t first, uint32_t count)
{
    uint32_t earliest = UINT32_MAX;
    uint32_t n = workload->n;
    for (uint32_t round = 0; round < count; round++) {
        struct workload_restart *restarts = workload->restarts + (size_t)round * n;
        uint64_t state = workload_seed((uint64_t)(first + round + 1) << 32 ^ n);
        shuffle(workload->order, n, &state);
        earliest = UINT32_MAX;
        for (uint32_t i = 0; i < n; i++) {
            struct workload_restart *restart = &restarts[i];
            restart->id = workload->order[i];
            restart->tick = round * WORKLOAD_ROUND_TICKS + 1 +
                            (uint32_t)((uint64_t)i * WORKLOAD_ROUND_TICKS / n);
            restart->delay_ticks =
                WORKLOAD_IDLE_MIN_TICKS +
                workload_random_below(&state, WORKLOAD_SPAN_TICKS - WORKLOAD_IDLE_MIN_TICKS + 1);
            if (restart->tick + restart->delay_ticks < earliest) {
                earliest = restart->tick + restart->delay_ticks;
            }
        }
    }
    return earliest;
}
