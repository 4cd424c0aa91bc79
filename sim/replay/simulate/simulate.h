/*
 * simulate.h: replay traces through structures. Every pass runs in a process of its own. First each
 * structure is checked; then those without a fault are timed in rounds, in another order each time,
 * so that a machine that slows down favors none. `null` takes part in every comparison as the
 * floor, and is a row only on request.
 */
#ifndef SIM_SIMULATE_H
#define SIM_SIMULATE_H

#include "catalog.h"
#include "child.h"
#include "error.h"
#include "outfolder.h"
#include "replay.h"
#include "results.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Structures with linear operations run traces of more timers only on request. */
#define SIMULATE_SLOW_IDS_MAX UINT32_C(50000)

/* Of a partitioned replay: each rank, a process on this machine or another, has a partition of the
 * timers and a structure of its own; the merged results are those of a normal pass. These are the
 * results of a rank in the passes of one structure. */
struct rank_figures {
    char host[64];
    uint32_t timers;        /* of its partition */
    uint64_t events;        /* operations carried out */
    uint64_t fired;         /* up to the end tick */
    uint64_t bytes_peak;    /* of the structure */
    uint64_t window_events; /* of the throughput runs so far */
    uint64_t window_ns;     /* of all of them */
};

/* The ranks, one for each partition. */
struct simulate_ranks {
    uint32_t ranks;
    bool in_turn; /* one after the other: the time of all is projected, not measured */

    /* The traces are not files, but described by `open`. */
    bool generated;

    /* Make the partitions of trace number `trace` of the request. A generated trace is described in
     * *whole, which lives until the next call, and by a checksum of its parameters. */
    bool (*open)(void *ctx, size_t trace, struct trace_header *whole, uint64_t *checksum,
                 struct error *error);

    /* Run a pass of an entrant, as simulate_entrant numbers them, on each rank, and merge the
     * results (rank_merge). `by_rank` gets an element for each rank. */
    bool (*pass)(void *ctx, size_t entrant, enum replay_pass pass, struct replay_result *result,
                 struct child_outcome *outcome, struct rank_figures *by_rank, struct error *error);

    void *ctx;
};

struct simulate_request {
    const char *const *traces;
    size_t trace_count;
    const struct contender_list *contenders;
    const struct tl_algo *floor; /* fires nothing; NULL: no floor is measured */
    struct replay_drive drive;
    struct replay_window window;
    unsigned runs;        /* throughput runs; 0: only the check */
    uint64_t last_run_ns; /* after this time of clock_now_ns, no round begins once there are
                             JUDGE_RUNS_MIN; 0: no limit */
    bool latency;
    bool slow;              /* also run structures with linear operations through large traces */
    double timeout_seconds; /* of one pass */
    uint64_t memory_limit_bytes;
    const struct simulate_ranks *ranks; /* NULL: all of it runs here */
};

/* Return a contender's name for files. NULL is the floor. */
const char *contender_name(const struct contender *contender);

/* Return its options that differ from the defaults, as text; "" for the floor. */
const char *contender_options(const struct contender *contender);

/* The results of an entrant, in memory that child processes share. */
struct found;

/* A trace that was replayed. */
struct trace_row {
    char *name; /* in the rows */
    char *path; /* as given */
    char checksum[TRACE_CHECKSUM_CHARS + 1];
    struct trace_header header; /* without its origin */
    double window_seconds;      /* length of the timed window in the trace's time */
    uint64_t empty_ticks;       /* skipped by structures without `next`, with nothing pending */
    struct found *found;        /* of each entrant */
    size_t found_bytes;
};

/* A contender, or the floor, on one trace. */
struct entrant {
    const struct trace_row *trace;
    const struct contender *contender; /* NULL: the floor */
    size_t number;                     /* of the trace's: as simulate_entrant numbers them */
    const struct tl_algo *timed;
    const struct tl_algo *counted;
    const void *options;
    bool judged;   /* it fires timers, so the oracle checks it */
    bool right;    /* no fault or failure so far */
    bool compared; /* its digests are compared: it is right, and there is no budget, with which each
                      structure chooses which timers wait */
    const char *status;
    char reason[1024];
    struct tape *tape;                   /* its reactions; NULL: the trace has none */
    const struct replay_result *check;   /* NULL until that pass is done */
    const struct replay_result *latency; /* only its latencies are set: of all runs, merged; or
                                            NULL */
    double *samples;                     /* of each run */
    unsigned runs;
    unsigned latency_runs;
    uint64_t recovery_ns; /* of this many timers; 0: it was not timed, or none was pending */
    uint64_t recovered;
    struct rank_figures *by_rank; /* NULL: there are no ranks */
};

struct simulation {
    struct results results;
    struct trace_row *traces;
    size_t trace_count;
    struct entrant *entrants; /* trace by trace */
    size_t entrant_count;
    uint32_t ranks; /* 0: it is not partitioned */
};

/* Return which of `count` entrants is next in round `round`, after `at` of them: every second round
 * goes backwards, and each pair of rounds begins with another one. */
size_t simulate_turn(unsigned round, size_t at, size_t count);

/* Run a pass over a trace, or a partition of one, in a child process, with the polling policy and
 * limits of `request`. False with `error` set only if no process could be made. */
bool simulate_pass(const struct simulate_request *request, struct replay_request *pass,
                   struct replay_result *result, struct child_outcome *outcome,
                   struct error *error);

/* Return the algorithm that a pass runs for an entrant, and its options: a contender's by number,
 * or after the last contender the floor's. */
const struct tl_algo *simulate_entrant(const struct simulate_request *request, size_t entrant,
                                       enum replay_pass pass, const void **options);

/* Run everything. False with `error` set if a trace cannot be read or memory or processes fail; a
 * structure's failure is a row. *all_right: every row is ok or unsupported. */
bool simulate(const struct simulate_request *request, struct simulation *simulation,
              bool *all_right, struct error *error);

/* Return an entrant's work over the window's ticks; NULL: it has a fault, or does not count it. */
const struct work_series *entrant_work(const struct entrant *entrant);

/* Return the next fault, and its entrant; *at begins at 0. NULL: there is none. */
const struct fault *simulation_next_fault(const struct simulation *simulation, size_t *at,
                                          const struct entrant **entrant);

/* Add `traces` to the context of the results: name, path, checksum, tick_ns, events and timers of
 * each. */
void simulation_describe_traces(const struct simulation *simulation, json_t *context);

/* Harmless on a zeroed one. */
void simulation_free(struct simulation *simulation);

/* --- latencies as files and as text: latency_report.c ----------------------------------------- */

/* The two times of a call: see replay.h. */
enum latency_time { LATENCY_SERVICE, LATENCY_RESPONSE };

/* Write the curve of each structure and operation as CSV: the quantiles 1 - 2^-(k/4), down to
 * single values. */
void latency_write_csv(const struct simulation *simulation, enum latency_time time, FILE *stream);

/* Write latency/TRACE.STRUCTURE.OPERATION.TIME.hgrm, in HdrHistogram's percentile format and in
 * nanoseconds, for all measurements. False with `error` set if a file cannot be written. */
bool latency_write_histograms(const struct simulation *simulation, struct outfolder *folder,
                              struct error *error);

/* Return the longest call of each structure and operation, as an array of objects with trace, algo,
 * options, op, ns, event, tick, and timer or, for advance, fired. */
json_t *latency_worst(const struct simulation *simulation);

/* Write them as a table, with a hint how to look at one again. Nothing if no latency was
 * measured. */
void latency_write_worst(const struct simulation *simulation, FILE *stream);

/* --- the names of traces in results ----------------------------------------------------------- */

/* Return false with `error` set if two of the paths are the same file. */
bool trace_labels_check(const char *const *paths, size_t count, struct error *error);

/* Return the name of a path: its file, preceded by as many of its folders, FOLDER:FILE, as
 * distinguish it from the others. It is UTF-8 without control characters or characters special to
 * shells and pages, which become %XX. "-" is "standard-input". To be freed. */
char *trace_label(const char *const *paths, size_t count, size_t index);

#endif
