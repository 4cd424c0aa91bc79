/*
 * results.h: rows of a comparison, and how they are written. One table of columns feeds the CSV,
 * the JSON and the printed tables; a cell that was not measured is empty (CSV), null (JSON) or "-".
 *
 * A cell that sums up several runs can have their single values beside it, its samples: they stand
 * in the JSON only, as `samples` of the row, by the column's name. Value k of every row comes from
 * round k, in which all structures took their turn, so that values at the same place are pairs.
 */
#ifndef SIM_RESULTS_H
#define SIM_RESULTS_H

#include "csv_table.h" /* csv_write_field, for tables beside the results */
#include "error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Of the JSON. Goes up when a name changes its meaning or goes away; what is added leaves it. */
#define RESULTS_SCHEMA 1

/* What a run of timerlab leaves in a folder of results, and what is made of that, up to a NULL; of
 * the pictures their list, without which they are nobody's. It is replaced as a whole
 * (outfolder.h), and the context of results.json has the checksums of the others as `files`. */
extern const char *const result_files[];

/* The same of `timerlab live`, with the sums in live.json. */
extern const char *const live_files[];

/* X(code, name, digits behind the point, span, what it is) */
#define COLUMN_MAP(X)                                                                              \
    X(COL_TRACE, "trace", 0, NONE, "file name of the trace")                                       \
    X(COL_ALGO, "algo", 0, NONE, "structure")                                                      \
    X(COL_OPTIONS, "options", 0, NONE, "its options, where they differ from the defaults")         \
    X(COL_STATUS, "status", 0, NONE, "ok, fault, crashed, timeout or unsupported")                 \
    X(COL_EVENTS, "events", 0, TRACE, "operations carried out")                                    \
    X(COL_STARTS, "starts", 0, TRACE, "starts of timers that were not pending")                    \
    X(COL_RESTARTS, "restarts", 0, TRACE, "starts of timers that were")                            \
    X(COL_STOPS, "stops", 0, TRACE, "stops")                                                       \
    X(COL_REACTIONS, "reactions", 0, TRACE, "of all these, what a firing caused")                  \
    X(COL_NOT_REACHED, "not_reached", 0, TRACE,                                                    \
      "the trace's reactions that no firing came to cause")                                        \
    X(COL_FIRED, "fired", 0, TRACE, "timers fired up to the trace's end tick")                     \
    X(COL_DRAINED, "drained", 0, AFTER, "timers fired after it")                                   \
    X(COL_AVERTED, "averted", 0, TRACE,                                                            \
      "external stops and restarts after the due tick, no firing")                                 \
    X(COL_EARLY, "early", 0, WHOLE, "fired earlier than declared")                                 \
    X(COL_LATE_BEYOND, "late_beyond", 0, WHOLE, "fired later than declared")                       \
    X(COL_LOST, "lost", 0, WHOLE, "never fired")                                                   \
    X(COL_DUPLICATE, "duplicate", 0, WHOLE, "fired though not pending")                            \
    X(COL_MISORDERED, "misordered", 0, WHOLE, "fired out of promised order")                       \
    X(COL_LATENESS_MIN, "lateness_min", 0, WHOLE, "ticks; negative: early")                        \
    X(COL_LATENESS_P50, "lateness_p50", 0, WHOLE, "ticks")                                         \
    X(COL_LATENESS_P99, "lateness_p99", 0, WHOLE, "ticks")                                         \
    X(COL_LATENESS_MAX, "lateness_max", 0, WHOLE, "ticks")                                         \
    X(COL_DECLARED_EARLY, "declared_early", 0, NONE,                                               \
      "ticks; its promise, at worst, for these delays")                                            \
    X(COL_DECLARED_LATE, "declared_late", 0, NONE,                                                 \
      "ticks; its promise, at worst, for these delays")                                            \
    X(COL_NS_PER_EVENT, "ns_per_event", 2, WINDOW,                                                 \
      "processor time per operation, median of the runs; of a durable structure wall time")        \
    X(COL_NS_PER_EVENT_MAD, "ns_per_event_mad", 2, WINDOW,                                         \
      "median absolute deviation over the runs")                                                   \
    X(COL_WALL_NS, "wall_ns_per_event", 2, WINDOW, "the same by the wall clock")                   \
    X(COL_EVENTS_PER_S, "events_per_s", 0, WINDOW, "operations per second")                        \
    X(COL_FLOOR_NS, "floor_ns_per_event", 2, WINDOW, "the same of null: the harness itself")       \
    X(COL_RUNS, "runs", 0, NONE, "throughput runs")                                                \
    X(COL_RANKS, "ranks", 0, NONE,                                                                 \
      "processes that had a share of the timers each; 1: there was one")                           \
    X(COL_TIMES, "times", 0, NONE,                                                                 \
      "measured, or projected: of shares measured in turn, not together")                          \
    X(COL_START_P50, "start_p50_ns", 0, WINDOW, "time of a single start, percentile 50")           \
    X(COL_START_P90, "start_p90_ns", 0, WINDOW, "time of a single start, percentile 90")           \
    X(COL_START_P99, "start_p99_ns", 0, WINDOW, "time of a single start, percentile 99")           \
    X(COL_START_P999, "start_p999_ns", 0, WINDOW, "time of a single start, percentile 99.9")       \
    X(COL_START_P9999, "start_p9999_ns", 0, WINDOW, "time of a single start, percentile 99.99")    \
    X(COL_START_MAX, "start_max_ns", 0, WINDOW, "longest single start")                            \
    X(COL_RESTART_P50, "restart_p50_ns", 0, WINDOW, "time of a single restart, percentile 50")     \
    X(COL_RESTART_P90, "restart_p90_ns", 0, WINDOW, "time of a single restart, percentile 90")     \
    X(COL_RESTART_P99, "restart_p99_ns", 0, WINDOW, "time of a single restart, percentile 99")     \
    X(COL_RESTART_P999, "restart_p999_ns", 0, WINDOW, "time of a single restart, percentile 99.9") \
    X(COL_RESTART_P9999, "restart_p9999_ns", 0, WINDOW,                                            \
      "time of a single restart, percentile 99.99")                                                \
    X(COL_RESTART_MAX, "restart_max_ns", 0, WINDOW, "longest single restart")                      \
    X(COL_STOP_P50, "stop_p50_ns", 0, WINDOW, "time of a single stop, percentile 50")              \
    X(COL_STOP_P90, "stop_p90_ns", 0, WINDOW, "time of a single stop, percentile 90")              \
    X(COL_STOP_P99, "stop_p99_ns", 0, WINDOW, "time of a single stop, percentile 99")              \
    X(COL_STOP_P999, "stop_p999_ns", 0, WINDOW, "time of a single stop, percentile 99.9")          \
    X(COL_STOP_P9999, "stop_p9999_ns", 0, WINDOW, "time of a single stop, percentile 99.99")       \
    X(COL_STOP_MAX, "stop_max_ns", 0, WINDOW, "longest single stop")                               \
    X(COL_ADVANCE_P50, "advance_p50_ns", 0, WINDOW, "time of a single advance, percentile 50")     \
    X(COL_ADVANCE_P90, "advance_p90_ns", 0, WINDOW, "time of a single advance, percentile 90")     \
    X(COL_ADVANCE_P99, "advance_p99_ns", 0, WINDOW, "time of a single advance, percentile 99")     \
    X(COL_ADVANCE_P999, "advance_p999_ns", 0, WINDOW, "time of a single advance, percentile 99.9") \
    X(COL_ADVANCE_P9999, "advance_p9999_ns", 0, WINDOW,                                            \
      "time of a single advance, percentile 99.99")                                                \
    X(COL_ADVANCE_MAX, "advance_max_ns", 0, WINDOW, "longest single advance of all runs")          \
    X(COL_STALL, "stall_ns", 0, WINDOW, "the longest single advance, median of the runs")          \
    X(COL_WINDOW_EVENTS, "window_events", 0, WINDOW, "operations carried out in the window")       \
    X(COL_WINDOW_FIRED, "window_fired", 0, WINDOW, "timers fired in the window")                   \
    X(COL_WAKEUPS, "wakeups", 0, WINDOW, "advances that the timers themselves asked for")          \
    X(COL_IDLE_WAKEUPS, "idle_wakeups", 0, WINDOW, "those that fired nothing")                     \
    X(COL_WAKEUPS_PER_FIRED, "wakeups_per_fired", 3, WINDOW, "wakeups per timer fired")            \
    X(COL_BYTES_FIXED, "bytes_fixed", 0, NONE, "an instance for no timers")                        \
    X(COL_BYTES_PER_TIMER, "bytes_per_timer", 1, WHOLE, "peak less fixed, per timer of the trace") \
    X(COL_BYTES_PEAK, "bytes_peak", 0, WHOLE, "the most at any time")                              \
    X(COL_BYTES_DRAINED, "bytes_drained", 0, AFTER, "after the last timer has gone")               \
    X(COL_N_COMPARES, "n_compares", 0, WINDOW, "compares in the window")                           \
    X(COL_N_MOVES, "n_moves", 0, WINDOW, "moves in the window")                                    \
    X(COL_N_SLOTS, "n_slots", 0, WINDOW, "slots visited in the window")                            \
    X(COL_N_CASCADES, "n_cascades", 0, WINDOW, "timers cascaded in the window")                    \
    X(COL_N_ALLOCS, "n_allocs", 0, WINDOW, "allocations in the window")                            \
    X(COL_BYTES_DURABLE, "bytes_durable", 0, WINDOW,                                               \
      "of its files at the window's end, if it is durable")                                        \
    X(COL_SYNCS_PER_FIRED, "syncs_per_fired", 3, WINDOW,                                           \
      "waits for the disk per timer fired, in the window")                                         \
    X(COL_ACKNOWLEDGED_MAX, "acknowledged_lateness_max", 0, WHOLE,                                 \
      "ticks from an operation until it is durable")                                               \
    X(COL_RECOVERY, "recovery_s_per_million", 3, AFTER,                                            \
      "to bring back what was pending at the end tick")                                            \
    X(COL_REASON, "reason", 0, NONE, "why the status is not ok")

enum column {
#define COLUMN_ENUM(code, name, digits, span, help) code,
    COLUMN_MAP(COLUMN_ENUM)
#undef COLUMN_ENUM
        COLUMNS
};

/* Of which part of the trace a column is; only columns of one part make a ratio. */
enum column_span {
    SPAN_NONE,
    SPAN_TRACE,  /* up to end_tick, the warm-up included */
    SPAN_WINDOW, /* the timed part: from warmup_end_tick to end_tick */
    SPAN_AFTER,  /* after end_tick */
    SPAN_WHOLE,  /* all three */
};

struct column_info {
    const char *name;
    int digits; /* behind the point */
    enum column_span span;
    const char *help;
};
extern const struct column_info result_columns[COLUMNS];

/* The percentiles of a latency, in the order of its columns; the last is the maximum. */
#define LATENCY_PERCENTILES  6

/* A checksum of 64 bits in hexadecimal. */
#define TRACE_CHECKSUM_CHARS 16

enum cell_kind { CELL_NONE, CELL_TEXT, CELL_INTEGER, CELL_REAL };

struct cell {
    enum cell_kind kind;
    union {
        char *text;
        int64_t integer;
        double real;
    } value;
};

struct samples {
    double *values;
    size_t count;
};

struct row {
    struct cell cells[COLUMNS];
    struct samples samples[COLUMNS];
    uint64_t window_events; /* operations carried out in the window, and timers fired */
    uint64_t window_fired;
    uint32_t capabilities;                         /* of the structure: enum tl_capability, or-ed */
    char trace_checksum[TRACE_CHECKSUM_CHARS + 1]; /* of the trace's content; "" if unknown */
};

struct results {
    struct row *rows;
    size_t count;
};

/* Appends an empty row. Valid until the next call. */
struct row *results_add(struct results *results);
void results_free(struct results *results);

void row_set_text(struct row *row, enum column column, const char *text);
void row_set_integer(struct row *row, enum column column, uint64_t value);
void row_set_signed(struct row *row, enum column column, int64_t value);
void row_set_real(struct row *row, enum column column, double value);

/* Copies what the single runs gave, in the order of the rounds. */
void samples_set(struct samples *samples, const double *values, size_t count);
void row_set_samples(struct row *row, enum column column, const double *values, size_t count);

/* The number in a cell; NAN if it has none. */
double row_value(const struct row *row, enum column column);

/* The text of a cell, "" if it has none. */
const char *row_text(const struct row *row, enum column column);

/* One header line with the columns' names, then a line a row (RFC 4180). */
void results_write_csv(const struct results *results, FILE *stream);

/* An array with an object for each row: its columns, and beside them `trace_checksum` and
 * `samples`. The caller owns it. */
json_t *results_json_rows(const struct results *results);

/* {schema, context, rows}, of such an array or of results; takes no reference to either. With
 * `spans`, if the rows have the columns above, also the span of each of them. */
void results_write_rows(json_t *rows, const json_t *context, bool spans, FILE *stream);
void results_write_json(const struct results *results, const json_t *context, FILE *stream);

/* null for what no number of JSON is. */
json_t *json_real_or_null(double value);

/* One line a column: its name, its span, and its meaning. */
void results_write_columns(FILE *stream);

/* For people: the columns that matter most, aligned, one table for each trace and theme; with the
 * latencies if they were measured. The rows of a trace follow one another. */
void results_write_tables(const struct results *results, FILE *stream);

/* Why rows are not ok, a line each; nothing if all are. */
void results_write_reasons(const struct results *results, FILE *stream);

#endif
