/*
 * workload.h: the operations that every structure is given, generated before any timing from a
 * fixed seed, and equal for all. A tick is thought of as a millisecond.
 */
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WORKLOAD_SPAN_TICKS = 60000,        /* the longest delay by default */
    WORKLOAD_IDLE_MIN_TICKS = 30000,    /* an idle timeout is between this and the span */
    WORKLOAD_ROUND_TICKS = 10000,       /* in one round each connection restarts its timer once */
    WORKLOAD_BATCH_OPERATIONS = 100000, /* a batch has at least this number, by repetition */
};

/* The start of a timer with this delay, or the expiry of a timer this many ticks after the stream's
 * first tick. */
struct workload_start {
    uint32_t id;
    uint32_t delay_ticks;
};

struct workload_restart {
    uint32_t tick; /* after the clock at the beginning of the first generated round */
    uint32_t id;
    uint32_t delay_ticks;
};

/* The expiries of an exact structure, in any order. */
struct workload_expected {
    uint64_t count;
    uint64_t ids;      /* the sum of the ids */
    uint64_t checksum; /* the sum of workload_mix over (id, tick after the starts) */
};

/* Number of repetitions of `operations` operations in a batch. */
uint64_t workload_rounds(uint64_t operations);

/* From now on, and before anything is generated: one repetition is enough, because the figures are
 * not wanted. */
void workload_shorten(void);

/* In which order timers are started, as to their deadlines; axes.c has the words. */
enum workload_arrival { ARRIVAL_RANDOM, ARRIVAL_SORTED, ARRIVAL_REVERSE, ARRIVAL_SAME };

struct workload_key {
    uint32_t n;
    uint32_t span_ticks;        /* delays are uniform from 1 to this */
    uint32_t durations;         /* how many different ones there are; 0: all */
    uint32_t arrival;           /* enum workload_arrival */
    uint32_t cancelled_percent; /* share of timers that are stopped before they can fire */
};

/* Treat as read-only. */
struct workload {
    struct workload_key key;
    uint32_t n;
    uint32_t span_ticks;
    uint32_t cancelled;
    struct workload_start *starts;     /* n, random order of ids */
    uint32_t *stops;                   /* the ids in another random order, the cancelled first */
    uint32_t *order;                   /* scratch, for the order of a round */
    struct workload_restart *restarts; /* room for workload_rounds(n) rounds of n */
    struct workload_start *expiries;   /* of those that are not cancelled, by tick */
    struct workload_expected expected; /* the same in sum */
};

/* The workload, from the cache. */
struct workload *workload_get(const struct workload_key *key);

/*
 * Generates `count` <= workload_rounds(n) rounds of restarts, the first of which has the number
 * `first` (equal numbers, equal rounds). In a round every connection restarts its timer once, in
 * random order, evenly over WORKLOAD_ROUND_TICKS: about every 10 s, never more than 20 s apart.
 * Returns the earliest deadline pending after the last round, in ticks after the beginning.
 */
uint32_t workload_restart_rounds(struct workload *workload, uint32_t first, uint32_t count);

/* A kind of operations, generated once for all rows that play them, and cached up to a quarter of
 * the machine's memory. The least recently used entry is dropped first. */
struct cache_kind {
    size_t key_bytes; /* keys are compared byte by byte: no padding in them */
    /* Make the entry for a key; sets *bytes to its size. */
    void *(*make)(const void *key, size_t *bytes);
    void (*destroy)(void *value);
};

/* Return the entry for a key, made if it is not there. Valid until the next call. */
void *cache_get(const struct cache_kind *kind, const void *key);

/* Free everything. */
void cache_forget(void);

/* The beginning of a sequence of random numbers: arbitrary, and the same for ever, so that figures
 * of two runs are about the same operations. Equal `what`, equal sequences. */
uint64_t workload_seed(uint64_t what);

/* The next number of the sequence: uniform over 0..bound-1 but for a bias below bound/2^32. */
uint32_t workload_random_below(uint64_t *state, uint32_t bound);

/* Put elements of at most 16 bytes into random order. */
void workload_shuffle(void *items, size_t bytes, uint32_t count, uint64_t *state);

/* Put the ids from 0 to n - 1 into random order. */
void workload_order(uint32_t *ids, uint32_t n, uint64_t *state);

/* Write starts or expiries to `sorted` in order of their delays, which are between `from` and `to`;
 * equal ones keep their order. */
void workload_sort(const struct workload_start *items, size_t count, uint32_t from, uint32_t to,
                   struct workload_start *sorted);

/* One timer's share of a checksum that does not depend on order. */
static inline uint64_t workload_mix(uint32_t id, uint64_t tick)
{
    uint64_t mixed = ((uint64_t)id << 32 ^ tick) * UINT64_C(0x9E3779B97F4A7C15);
    return mixed ^ mixed >> 32;
}

#endif
