/*
 * suite.h: suites and the code that runs them, for any structures; no suite or structure is known
 * by name here. First the harness for suites: rows, the measured structure, the callback, and the
 * checks that every suite makes outside its timed parts (fixture.c). Then the interface for main:
 * which rows there are, how they are run, and their results (suite.c).
 */
#ifndef BENCH_SUITE_H
#define BENCH_SUITE_H

#include "axes.h"
#include "bench_shim.h"
#include "floor.h"
#include "progress.h"
#include "registry.h"
#include "results.h"
#include "workload.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SUITE_N_MIN = 10,
    SUITE_N_MAX = 100000000,
    SUITE_SIZES_MAX = 32,
    SUITE_SLOW_N_MAX = 10000, /* a structure that declares itself slow is not run above */
};

/* A structure with its options. */
struct suite_subject {
    const struct tl_algo *algo;
    const struct tl_algo *in_records; /* to be used with records; NULL: it takes none */
    const void *options;
    char name[512];  /* the structure's, with the options that are not the default: name:opt=v */
    char fault[512]; /* of its plug-in in a row: no other row is run; "": none */
};

/* --- rows and suites ------------------------------------------------------------------------- */

/* A record's counters are touched, and a structure's own bytes begin after the first. */
enum { RECORD_NODE_AT = 8, RECORD_LINE_BYTES = 64 };

/* The watched hooks. */
enum watched { WATCHED_START, WATCHED_STOP, WATCHED_ADVANCE, WATCHED_RESERVE, WATCHED };

/* The calls of one kind that took longest in a row's first repetition: a heap, the shortest first. */
enum { LONGEST_KEPT_MAX = 1 << 14 };
struct longest {
    size_t count;
    struct longest_call {
        uint32_t index;
        uint32_t cycles; /* the least that this call has taken in any repetition */
    } calls[LONGEST_KEPT_MAX];
};

/* A row: one suite, one structure, one number of timers, one shape. */
struct bench_row {
    struct suite_rows *of;
    const struct suite *suite;
    struct suite_subject *subject; /* NULL: the suite measures the machine */
    char *name;                    /* as Google Benchmark has it */
    uint32_t n;
    struct shape shape;
    bool given_up;           /* it took too long once: not tried again */
    char remark[128];        /* is printed after its figures; "": none */
    struct longest *longest; /* of each kind, in child_memory_new's memory; NULL: none yet */
    struct fixture *kept;    /* warm, for the next round; NULL: each begins from nothing */
    bool grouped;            /* in a group of suite_measure */
    size_t run_count;
    struct bench_measured *runs; /* of its repetitions */
    double *times;               /* the same, in nanoseconds an operation */
    char error[256];             /* why it has no figures; "": it has, or was not run */
    bool left_out;               /* the error is no fault of the structure */
};

/* The expiries since `base`. */
struct fired {
    uint64_t base;
    uint64_t count;
    uint64_t ids;
    uint64_t checksum;
};

/* A structure under measurement. */
struct fixture {
    struct bench_row *row;
    const struct tl_algo *algo;
    void *self;
    struct tl_memory memory;
    uint32_t ids;           /* its capacity; set by the suite's plan */
    unsigned char *records; /* one for each timer, with its size in bytes; NULL: none */
    size_t record_bytes;
    bool node_in;        /* the structure's own bytes lie in them */
    unsigned char *cold; /* what other work writes; NULL: there is none */
    size_t cold_bytes;
    uint64_t max_delay_ticks; /* the longest delay in the suite; set by the plan */
    uint64_t scale;           /* ticks of the structure in one of the suite; 1 unless planned */
    uint64_t memory_limit_bytes;
    const void *operations;    /* the operations to play; set by the plan */
    struct workload *workload; /* the same, where a suite writes into it */
    uint32_t round;            /* of restarts, the next */
    uint64_t earliest;         /* deadline pending after the last round of restarts */
    uint64_t answers;          /* uses results of calls that are made only to be timed */
    uint64_t clock;
    bool fires;          /* not merely a floor */
    bool exact;          /* with these options and every delay that is used here */
    uint64_t late_ticks; /* the most that it may be late */
    bool slow;           /* declares an operation that is linear in the timers */
    struct fired fired;
    enum tl_status failure; /* the last status of a start that should not have been */
    uint64_t patience_end_ns;
    bool warm;     /* `measure` may be called again, and goes on where it was */
    bool left_out; /* `error` says why the row has no figures, and it is no fault */
    char error[256];
};

enum { SUITE_SETTINGS_MAX = 8 };

/* A number of timers of a frozen suite; a list of them ends with 0. */
struct frozen {
    uint32_t n;
    uint32_t warm_ticks;
    uint64_t checksum; /* of the operations */
};

/* One suite. A table of them ends with one that has no name. */
struct suite {
    struct {
        const char *name;
        const char *what; /* the operations of a row */
        const char *why;  /* its purpose */
        const char *per;  /* what ns_per_op is per; NULL: operation */
    } text;
    uint32_t axes;                            /* 1 << enum suite_axis: where its rows may differ */
    uint32_t flags_only;                      /* those of them that are not listed one by one */
    struct setting plain[SUITE_SETTINGS_MAX]; /* where its plain row differs from others' */
    uint32_t needs;       /* capabilities; where one is missing there is no row */
    const char *standard; /* the frozen suite that it is a part of, and of no other; NULL: none */
    const struct frozen *frozen; /* then its numbers of timers */
    uint32_t fixed_n;         /* it does not go by --n, but has this many timers; 0: goes by --n */
    bool has_floor;           /* what bounds any structure takes part, as limit rows */
    const char *limit;        /* the limit row that fits it, and its rows with records; NULL if */
    const char *limit_record; /* it is none for a structure */
    const char *floor_label;  /* the remark of a row with a structure that fires nothing, or NULL */
    /* Gets the operations, and sets ids, max_delay_ticks and operations. NULL: there is no
     * structure in it, but the machine alone. */
    bool (*plan)(struct fixture *fixture);
    uint32_t source; /* of the operations; for `plan` */
    /* Warms up, unless the fixture is warm, times, verifies. */
    bool (*measure)(struct fixture *fixture, struct bench_measured *out);
    /* For a `measure` that repeats batches. */
    bool (*warm_up)(struct fixture *fixture);
    bool (*batch)(struct fixture *fixture, struct bench_measured *out);
};

/* --- for suites ------------------------------------------------------------------------------ */

/* Return how long the timed parts of a row are to last, where a suite repeats itself for that. */
uint64_t min_time_ns(const struct fixture *fixture);

/* Write the row's error; return false, so that `return fail(...)` ends a function. */
bool fail(struct fixture *fixture, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for a row that is omitted for a reason that is no fault. */
bool leave_out(struct fixture *fixture, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether preparations have not yet lasted longer than --patience. */
bool has_patience(const struct fixture *fixture);

/* Return false, with the row given up, if preparations have lasted longer than --patience. */
bool still_patient(struct fixture *fixture);

/* Create the structure, for ids below `capacity`, in the fixture's records if it is to be there.
 * Without TL_OK there is none. */
enum tl_status fixture_create(struct fixture *fixture, uint32_t capacity,
                              const struct tl_allocator *allocator);

/* Return the number of repetitions of `operations` operations in a batch: one, where each operation
 * may look at all timers. */
uint64_t rounds_of(const struct fixture *fixture, uint64_t operations);

/* The callback that counts and sums up. `fired` is the fixture's. */
void on_fire(void *fired, uint32_t id, uint64_t now);

/* Reset the sums of expiries; ticks count from the present clock. */
void reset_fired(struct fixture *fixture);

/* Whether `pending` timers are, for a structure that keeps them. */
bool verify_pending(struct fixture *fixture, uint64_t pending);

/* Whether all starts so far were taken, and, of an exact structure, `pending` timers are. */
bool verify_started(struct fixture *fixture, uint64_t pending);

/* Return whether these timers fired at these ticks, for an exact structure. A structure that may be
 * early or late may fire others, too, where a timer is stopped or restarted around its deadline. */
bool verify_fired(struct fixture *fixture, const struct workload_expected *expected);

/* Whether these timers fired, where all have had the time to; and if exact, at these ticks. */
bool verify_drained(struct fixture *fixture, const struct workload_expected *expected);

/* Whether, from an exact structure, none did. */
bool verify_nothing_fired(struct fixture *fixture);

/* --- what main asks for ---------------------------------------------------------------------- */

/* Suite `index` of the tables, of which NULL ends the list; NULL after the last. */
const struct suite *suite_at(const struct suite *const *tables, size_t index);

/* Whether a suite is among those of a frozen one, or, where that is NULL, of none. */
bool suite_is_of(const struct suite *suite, const char *standard);

/* Whether the rows of a suite may differ on an axis; and whether its plain row has a setting. */
bool suite_has_axis(const struct suite *suite, enum suite_axis axis);
bool suite_is_plain(const struct suite *suite, const struct setting *setting);

/* Add a fact, with a formatted key, to the context of the results. */
void suite_note(json_t *context, const char *value, const char *key, ...)
    __attribute__((format(printf, 3, 4)));

/* The rows to register. */
struct suite_selection {
    const struct suite *const *suites; /* the tables, ended by NULL */
    struct suite_subject *subjects;    /* outlive the rows */
    size_t subject_count;
    uint32_t sizes[SUITE_SIZES_MAX]; /* none: all of a frozen suite */
    size_t size_count;
    const char *standard; /* only the parts of this frozen suite; NULL: only the others */
    struct setting settings[AXES + 1]; /* hold for all rows; suites that cannot follow have none */
    bool variants;                     /* in every form, not only in the plain one */
    json_t *context;                   /* gets facts about the suites */
    bool google;                       /* Google Benchmark runs the rows */
    bool list;                         /* their names are printed, and none is run */
    bool named;                        /* rows that lack a recording are kept, and report that */
    double min_time_s; /* how long the timed parts of a row last where a suite repeats itself; 0:
                        * as short as can be, to see that all works */
    double patience_s; /* a row with longer preparations is omitted */
};

/* All rows; zeroed but for the selection, and the progress where it is shown. */
struct suite_rows {
    const struct suite_selection *selection;
    struct bench_row **items;
    size_t count;
    size_t room;
    struct suite_subject floors[FLOORS];
    struct progress progress;
    uint64_t runs_done; /* of the progress */
    uint64_t failures;  /* runs that ended because a structure failed or fired wrongly; omitted
                         * rows, which would take too long or lack a library, do not count */
};

/* Add the rows of every suite with every structure and size that the filter selects, and what
 * bounds them. */
void suite_register(struct suite_rows *rows);

/* Measure all rows. Rows that differ only in the structure take turns, round by round: at least
 * `least` rounds; then until the order of the structures is known, but at most `most`, and not
 * longer than `seconds` for all (0: no limit). Warm fixtures are kept between rounds. */
void suite_measure(struct suite_rows *rows, uint64_t least, uint64_t most, double seconds);

/* Append a row of bench_kind for each row that was run, with its repetitions as samples. */
void suite_results(const struct suite_rows *rows, struct results *results);

/* Free everything that was registered. */
void suite_end(struct suite_rows *rows);

/* --- for rows -------------------------------------------------------------------------------- */

/* Make the operations of a row, and a fixture for it, which knows only them; a warm one stays. */
bool fixture_plan(struct fixture *fixture, struct bench_row *row);

/* The same with the structure. */
bool fixture_make(struct fixture *fixture, struct bench_row *row);

/* Free all that it has. */
void fixture_end(struct fixture *fixture);

#endif
