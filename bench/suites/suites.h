/*
 * suites.h: what the suites share: how a row is described, the structure that it measures, the
 * clock, the callback, the checks that every suite makes outside its timed parts.
 */
#ifndef BENCH_SUITES_H
#define BENCH_SUITES_H

#include "bench_shim.h"
#include "suite.h"
#include "workload.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* What a row may differ in from its suite's plain form, one at a time. X(code, word, what) */
#define SUITE_AXIS_MAP(X)                                                                          \
    X(AXIS_JUMP, "jump", "ticks that one advance passes over")                                     \
    X(AXIS_ORDER, "order", "in which order timers are started")                                    \
    X(AXIS_DELAYS, "delays", "the longest delay")                                                  \
    X(AXIS_DURATIONS, "durations", "how many different delays there are")                          \
    X(AXIS_CANCELLED, "cancelled", "timers that are stopped before they can fire, in percent")     \
    X(AXIS_POPULATION, "population", "how the timers that are pending came to be so")              \
    X(AXIS_TOUCH, "touch", "what of a connection is touched beside its timer")                     \
    X(AXIS_PAGES, "pages", "what backs the structure's memory")                                    \
    X(AXIS_RECORD, "record", "the size of a record in bytes")                                      \
    X(AXIS_CLOCK, "clock", "which clock")                                                          \
    X(AXIS_INCREMENTS, "increments", "the distribution of hold's delays, mean 6,000")

enum suite_axis {
#define SUITE_AXIS_ENUM(code, word, what) code,
    SUITE_AXIS_MAP(SUITE_AXIS_ENUM)
#undef SUITE_AXIS_ENUM
        AXES
};

enum population { POPULATION_STAGGERED, POPULATION_LOADED };
enum touch { TOUCH_TIMER, TOUCH_CONNECTION };
enum clock { CLOCK_THREAD, CLOCK_WALL, CLOCK_CYCLES };
enum pages { PAGES_HUGE, PAGES_SMALL };

/* A row's place on each axis. */
struct shape {
    uint64_t at[AXES];
};

struct suite;

enum { ROW_ADVANCES_MAX = 1 << 17 };

/* A row: one suite, one structure, one number of timers, one shape. */
struct row {
    const struct suite *suite;
    const struct suite_subject *subject; /* NULL: the suite measures the machine */
    uint32_t n;
    struct shape shape;
    bool given_up;      /* it took too long once: not tried again */
    uint32_t *least_ns; /* of each of its first advances that a suite has timed singly, the least
                         * over the repetitions; NULL before the first */
};

/* A connection's own cache line, beside its timers. */
struct connection {
    uint64_t operations;
    uint64_t rest[7];
};

/* What the callback has seen since `base`. */
struct fired {
    uint64_t base;
    uint64_t count;
    uint64_t ids;
    uint64_t checksum;
    struct connection *connections; /* where they are touched; else NULL */
    uint32_t timers;                /* each one's */
    uint32_t connection_count;
};

/* A structure under measurement. */
struct fixture {
    struct row *row;
    const struct tl_algo *algo;
    void *self;
    struct tl_memory memory;
    uint32_t ids;             /* its capacity; set by the suite's plan */
    uint32_t timers;          /* each connection's; 1 unless the plan says more */
    uint64_t max_delay_ticks; /* the longest delay in the suite; set by the plan */
    uint64_t memory_limit_bytes;
    const void *operations;    /* the plan's: what is to be played */
    struct workload *workload; /* the same, where a suite writes into it */
    uint32_t round;            /* of restarts, the next */
    uint64_t earliest;         /* deadline pending after the last round of restarts */
    uint64_t answers;          /* keeps what was asked for only to be timed alive */
    uint64_t clock;
    bool fires;          /* not merely a floor */
    bool exact;          /* with these options and every delay that is used here */
    uint64_t late_ticks; /* the most that it may be late */
    bool slow;           /* declares an operation that is linear in the timers */
    struct fired fired;
    enum tl_status failure; /* the last status of a start that should not have been */
    uint64_t patience_end_ns;
    bool left_out; /* `error` says why the row has no figures, and it is nobody's failure */
    char error[256];
};

/* One suite. */
struct suite {
    struct suite_text text;
    uint32_t axes;           /* 1 << enum suite_axis: what its rows may differ in */
    uint32_t needs;          /* capabilities; where one is missing there is no row */
    uint32_t fixed_n;        /* it does not go by --n, but has this many timers; 0: goes by --n */
    bool has_floor;          /* what bounds any structure takes part, as limit rows */
    const char *limit;       /* the limit row that fits it, and of its rows that touch */
    const char *limit_touch; /* connections; NULL if it is none for a structure */
    const char *floor_label; /* what a row means for a structure that fires nothing, or NULL */
    /* Gets the operations, and sets ids, max_delay_ticks and operations. NULL: there is no
     * structure in it, but the machine alone. */
    bool (*plan)(struct fixture *fixture);
    /* Warms up, times, verifies. */
    bool (*measure)(struct fixture *fixture, struct bench_measured *out);
};

extern const struct suite suites_operations[];
extern const size_t suites_operations_count;
extern const struct suite suites_limits[];
extern const size_t suites_limits_count;
extern const struct suite suites_steady[];
extern const size_t suites_steady_count;

/* Nanoseconds for which this thread has had a processor. What the scheduler gives to others in the
 * midst of a stretch does not count, and on a busy machine that is most of what disturbs. */
static inline uint64_t cpu_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* The processor's own counter; elsewhere nanoseconds. */
static inline uint64_t cycles_now(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
#endif
}

/* What has passed since an earlier reading, less what a reading costs. */
static inline uint64_t cpu_since_ns(uint64_t begun)
{
    uint64_t passed = cpu_now_ns() - begun;
    uint64_t overhead = suite_clock_overhead_ns();
    return passed > overhead ? passed - overhead : 0;
}

/* How long the timed parts of a row are to last, where a suite repeats itself for that. */
uint64_t suite_min_time_ns(void);

/* Writes the row's error; returns false, so that `return fail(...)` ends a function. */
bool fail(struct fixture *fixture, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for a row that is left out for a reason that is no fault. */
bool leave_out(struct fixture *fixture, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether preparations have not yet lasted longer than --patience. */
bool has_patience(const struct fixture *fixture);

/* False, with the row given up, if preparations have lasted longer than --patience. */
bool still_patient(struct fixture *fixture);

/* How many repetitions of so many operations make up a batch: one, where each operation may look at
 * all timers. */
uint64_t rounds_of(const struct fixture *fixture, uint64_t operations);

/* The callback that counts and sums up. `fired` is the fixture's. */
void on_fire(void *fired, uint32_t id, uint64_t now);

/* The same for rows that touch the connections. */
void on_fire_touching(void *fired, uint32_t id, uint64_t now);

/* Which of the two the row wants. */
tl_fire_fn fire_of(const struct fixture *fixture);

/* Forgets what has fired; ticks count from the present clock. */
void reset_fired(struct fixture *fixture);

/* Whether all starts so far were taken, and, of an exact structure, `pending` timers are. */
bool verify_started(struct fixture *fixture, uint64_t pending);

/* Whether, from an exact structure, these timers fired at these ticks. What may be early or late
 * may fire others too, where a timer is stopped or restarted around its deadline. */
bool verify_fired(struct fixture *fixture, const struct workload_expected *expected);

/* Whether these timers fired, where all have had the time to; and if exact, at these ticks. */
bool verify_drained(struct fixture *fixture, const struct workload_expected *expected);

/* Whether, from an exact structure, none did. */
bool verify_nothing_fired(struct fixture *fixture);

#endif
