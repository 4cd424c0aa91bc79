/*
 * The machine's own limits, measured in the same run as the structures: what memory, calls and
 * clocks cost where nothing else is done. The footprint is that of n records.
 */
#include "clock.h"
#include "memory.h"
#include "stretch.h"
#include "suites.h"

#include <stdlib.h>

enum {
    BATCH_STEPS = 100000, /* between two readings of the clock, at least */
    CALLS = 1000000,
    READINGS = 100000,
};

static inline uint64_t *record_at(const struct fixture *fixture, uint32_t index)
{
    return (uint64_t *)(void *)(fixture->records + index * fixture->record_bytes);
}

/* Make n records, linked to one cycle through all in random order. Return that order, and after it
 * another one. */
static uint32_t *make_cycle(struct fixture *fixture)
{
    uint32_t n = fixture->row->n;
    uint32_t *orders = memory_new(2 * (size_t)n, sizeof *orders);
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t state = workload_seed(i + 1);
        workload_order(orders + (size_t)i * n, n, &state);
    }
    fixture->ids = n;
    fixture->record_bytes = fixture->row->shape.at[AXIS_FIELD];
    fixture->records =
        memory_made(tl_alloc(tl_system_allocator(), n * fixture->record_bytes, RECORD_LINE_BYTES));
    for (uint32_t i = 0; i < n; i++) {
        *record_at(fixture, orders[i]) = orders[i + 1 < n ? i + 1 : 0];
    }
    return orders;
}

/* Repeat the suite's batch, once to warm up and then until it has lasted long enough. */
static bool measure_limit(struct fixture *fixture, struct bench_measured *out)
{
    bool (*batch)(struct fixture *, struct bench_measured *) = fixture->row->suite->batch;
    uint32_t *orders = make_cycle(fixture);
    fixture->operations = orders;
    (void)batch(fixture, &(struct bench_measured){0});
    do {
        uint64_t end = out->operations + BATCH_STEPS;
        struct stretch stretch;
        stretch_begin(&stretch, out);
        while (out->operations < end) {
            (void)batch(fixture, out);
        }
        (void)stretch_end(&stretch);
        out->batches++;
    } while (out->elapsed_ns < min_time_ns(fixture));
    free(orders);
    return true;
}

/* --- memory ---------------------------------------------------------------------------------- */

/* From record to record along the cycle: each address is known only when the load before it has
 * come back. */
static bool chase(struct fixture *fixture, struct bench_measured *out)
{
    uint32_t n = fixture->ids;
    uint64_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        at = *record_at(fixture, (uint32_t)at);
    }
    fixture->answers += at;
    out->operations += n;
    return true;
}

/* The `source` of suites with updates: the records that are updated. */
enum { UPDATE_ONE, UPDATE_TWO, UPDATE_ALL };

static bool update(struct fixture *fixture, struct bench_measured *out)
{
    uint32_t n = fixture->ids;
    const uint32_t *order = fixture->operations;
    const uint32_t *other = order + n;
    switch (fixture->row->suite->source) {
    case UPDATE_ONE:
        for (uint32_t i = 0; i < n; i++) {
            *record_at(fixture, order[i]) += 1;
        }
        break;
    case UPDATE_TWO:
        for (uint32_t i = 0; i < n; i++) {
            *record_at(fixture, order[i]) += 1;
            *record_at(fixture, other[i]) += 1;
        }
        break;
    default:
        for (uint32_t i = 0; i < n; i++) {
            *record_at(fixture, i) += 1;
        }
    }
    out->operations += n;
    return true;
}

/* --- the processor --------------------------------------------------------------------------- */

static __attribute__((noinline)) uint64_t count_call(void *ctx, uint64_t now)
{
    uint64_t *calls = ctx;
    return ++*calls + now;
}

static bool call_indirectly(struct fixture *fixture, struct bench_measured *out)
{
    uint64_t (*volatile unknown)(void *, uint64_t) = count_call;
    uint64_t (*call)(void *, uint64_t) = unknown;
    for (uint64_t i = 0; i < CALLS; i++) {
        (void)call(&fixture->answers, i);
    }
    out->operations += CALLS;
    return true;
}

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_nsec;
}

static bool read_clocks(struct fixture *fixture, struct bench_measured *out)
{
    uint64_t which = fixture->row->shape.at[AXIS_CLOCK];
    clockid_t clock = which == CLOCK_THREAD ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    for (int i = 0; i < READINGS; i++) {
        fixture->answers += which == CLOCK_CYCLES ? clock_cycles() : read_clock(clock);
    }
    out->operations += READINGS;
    return true;
}

/* --- the table ------------------------------------------------------------------------------- */

#define FIELD_BATCH(one) .axes = 1 << AXIS_FIELD, .measure = measure_limit, .batch = (one)

const struct suite suites_limits[] = {
    {.text = {.name = "limit/dependent-load",
              .what = "loads from n records in random order, each address known only when the "
                      "load before has come back",
              .why = "what following a link, or looking at a record in a heap, costs at this size",
              .per = "load"},
     FIELD_BATCH(chase)},
    {.text = {.name = "limit/random-update",
              .what = "n records read and written in random order, the addresses known beforehand",
              .why = "the least that an operation upon a random timer costs at this size",
              .per = "update"},
     .source = UPDATE_ONE,
     FIELD_BATCH(update)},
    {.text = {.name = "limit/random-update-two",
              .what = "the same with two records each time",
              .why = "an operation that touches a timer and one neighbour",
              .per = "update of both"},
     .source = UPDATE_TWO,
     FIELD_BATCH(update)},
    {.text = {.name = "limit/sequential",
              .what = "n records read and written in their order",
              .why = "what walking an array costs: the memory's bandwidth",
              .per = "record"},
     .source = UPDATE_ALL,
     FIELD_BATCH(update)},
    {.text = {.name = "limit/indirect-call",
              .what = "calls through a pointer, of a function that counts",
              .why = "the least that any hook of a structure costs",
              .per = "call"},
     .fixed_n = 1,
     .measure = measure_limit,
     .batch = call_indirectly},
    {.text = {.name = "limit/clock",
              .what = "readings of a clock",
              .why = "what measuring a single operation adds to it",
              .per = "reading"},
     .axes = 1 << AXIS_CLOCK,
     .fixed_n = 1,
     .measure = measure_limit,
     .batch = read_clocks},
    {.text = {.name = NULL}},
};
