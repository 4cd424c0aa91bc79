/*
 * The machine's own limits, measured in the same run as the structures: what memory, calls and
 * clocks cost where nothing else is done. The footprint is that of n records.
 */
#include "clock.h"
#include "memory.h"
#include "stretch.h"

#include <stdlib.h>
#include <string.h>

enum {
    LINE_BYTES = 64,
    BATCH_STEPS = 100000, /* between two readings of the clock, at least */
    CALLS = 1000000,
    READINGS = 100000,
};

/* Memory of n records, and random orders of them. */
struct record_field {
    unsigned char *bytes;
    size_t record_bytes;
    size_t total_bytes;
    uint32_t n;
    uint32_t *order;
    uint32_t *other; /* a second order */
};

/* --- pieces ---------------------------------------------------------------------------------- */

static uint32_t *random_order(uint32_t n, uint64_t what)
{
    uint32_t *order = memory_new(n, sizeof *order);
    uint64_t state = workload_seed(what);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = workload_random_below(&state, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    return order;
}

static void free_field(struct record_field *field)
{
    tl_free(tl_system_allocator(), field->bytes, field->total_bytes, LINE_BYTES);
    free(field->order);
    free(field->other);
}

static void make_field(const struct fixture *fixture, struct record_field *field)
{
    const struct bench_row *row = fixture->row;
    *field = (struct record_field){.record_bytes = row->shape.at[AXIS_FIELD], .n = row->n};
    field->total_bytes = field->n * field->record_bytes;
    field->bytes = memory_made(tl_alloc(tl_system_allocator(), field->total_bytes, LINE_BYTES));
    field->order = random_order(field->n, 1);
    field->other = random_order(field->n, 2);
    memset(field->bytes, 0, field->total_bytes);
}

/* Repeats passes over all records, once to warm up and then until they have lasted long enough. */
static void repeat(struct fixture *fixture, struct bench_measured *out, struct record_field *field,
                   uint64_t (*pass)(const struct record_field *))
{
    uint64_t operations = field->n;
    uint64_t sum = pass(field);
    do {
        uint64_t rounds = (BATCH_STEPS + operations - 1) / operations;
        struct stretch stretch;
        stretch_begin(&stretch, out);
        for (uint64_t i = 0; i < rounds; i++) {
            sum += pass(field);
        }
        (void)stretch_end(&stretch);
        out->operations += operations * rounds;
        out->batches++;
    } while (out->elapsed_ns < suite_min_time_ns());
    fixture->answers = sum;
}

static inline uint64_t *record_at(const struct record_field *field, uint32_t index)
{
    return (uint64_t *)(void *)(field->bytes + index * field->record_bytes);
}

static bool measure_passes(struct fixture *fixture, struct bench_measured *out,
                           uint64_t (*pass)(const struct record_field *))
{
    struct record_field field;
    make_field(fixture, &field);
    repeat(fixture, out, &field, pass);
    free_field(&field);
    return true;
}

/* --- memory ---------------------------------------------------------------------------------- */

/* From record to record along one cycle through all: each address is known only when the load
 * before it has come back. */
static uint64_t chase(const struct record_field *field)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < field->n; i++) {
        at = *record_at(field, (uint32_t)at);
    }
    return at;
}

static bool measure_dependent_load(struct fixture *fixture, struct bench_measured *out)
{
    struct record_field field;
    make_field(fixture, &field);
    for (uint32_t i = 0; i < field.n; i++) {
        *record_at(&field, field.order[i]) = field.order[i + 1 < field.n ? i + 1 : 0];
    }
    repeat(fixture, out, &field, chase);
    free_field(&field);
    return true;
}

static uint64_t update_one(const struct record_field *field)
{
    for (uint32_t i = 0; i < field->n; i++) {
        *record_at(field, field->order[i]) += 1;
    }
    return *record_at(field, 0);
}

static uint64_t update_two(const struct record_field *field)
{
    for (uint32_t i = 0; i < field->n; i++) {
        *record_at(field, field->order[i]) += 1;
        *record_at(field, field->other[i]) += 1;
    }
    return *record_at(field, 0);
}

static uint64_t stream_all(const struct record_field *field)
{
    for (uint32_t i = 0; i < field->n; i++) {
        *record_at(field, i) += 1;
    }
    return *record_at(field, 0);
}

#define PASSES(name, pass)                                                                         \
    static bool name(struct fixture *fixture, struct bench_measured *out)                          \
    {                                                                                              \
        return measure_passes(fixture, out, pass);                                                 \
    }
PASSES(measure_random_update, update_one)
PASSES(measure_random_update_two, update_two)
PASSES(measure_sequential, stream_all)

/* --- the processor --------------------------------------------------------------------------- */

static __attribute__((noinline)) uint64_t count_call(void *ctx, uint64_t now)
{
    uint64_t *calls = ctx;
    return ++*calls + now;
}

static bool measure_indirect_call(struct fixture *fixture, struct bench_measured *out)
{
    uint64_t (*volatile unknown)(void *, uint64_t) = count_call;
    uint64_t (*call)(void *, uint64_t) = unknown;
    uint64_t calls = 0;
    (void)fixture;
    do {
        struct stretch stretch;
        stretch_begin(&stretch, out);
        for (uint64_t i = 0; i < CALLS; i++) {
            (void)call(&calls, i);
        }
        (void)stretch_end(&stretch);
        out->operations += CALLS;
        out->batches++;
    } while (out->elapsed_ns < suite_min_time_ns());
    return true;
}

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_nsec;
}

static bool measure_clock(struct fixture *fixture, struct bench_measured *out)
{
    uint64_t which = fixture->row->shape.at[AXIS_CLOCK];
    uint64_t sum = 0;
    do {
        struct stretch stretch;
        stretch_begin(&stretch, out);
        for (int i = 0; i < READINGS; i++) {
            if (which == CLOCK_CYCLES) {
                sum += clock_cycles();
            } else {
                sum +=
                    read_clock(which == CLOCK_THREAD ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC);
            }
        }
        (void)stretch_end(&stretch);
        out->operations += READINGS;
        out->batches++;
    } while (out->elapsed_ns < suite_min_time_ns());
    fixture->answers = sum;
    return true;
}

/* --- the table ------------------------------------------------------------------------------- */

extern const struct suite suites_limits[];
const struct suite suites_limits[] = {
    {.text = {.name = "limit/dependent-load",
              .what = "loads from n records in random order, each address known only when the "
                      "load before has come back",
              .why = "what following a link, or looking at a record in a heap, costs at this size",
              .per = "load"},
     .axes = 1 << AXIS_FIELD,
     .measure = measure_dependent_load},
    {.text = {.name = "limit/random-update",
              .what = "n records read and written in random order, the addresses known beforehand",
              .why = "the least that an operation upon a random timer costs at this size",
              .per = "update"},
     .axes = 1 << AXIS_FIELD,
     .measure = measure_random_update},
    {.text = {.name = "limit/random-update-two",
              .what = "the same with two records each time",
              .why = "an operation that touches a timer and one neighbour",
              .per = "update of both"},
     .axes = 1 << AXIS_FIELD,
     .measure = measure_random_update_two},
    {.text = {.name = "limit/sequential",
              .what = "n records read and written in their order",
              .why = "what walking an array costs: the memory's bandwidth",
              .per = "record"},
     .axes = 1 << AXIS_FIELD,
     .measure = measure_sequential},
    {.text = {.name = "limit/indirect-call",
              .what = "calls through a pointer, of a function that counts",
              .why = "the least that any hook of a structure costs",
              .per = "call"},
     .fixed_n = 1,
     .measure = measure_indirect_call},
    {.text = {.name = "limit/clock",
              .what = "readings of a clock",
              .why = "what measuring a single operation adds to it",
              .per = "reading"},
     .axes = 1 << AXIS_CLOCK,
     .fixed_n = 1,
     .measure = measure_clock},
    {.text = {.name = NULL}},
};
