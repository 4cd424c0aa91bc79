/*
 * results.h: typed rows, their tables of columns, and how they are read and written. All CSV and
 * JSON of results passes through this room. A cell that was not measured is empty (CSV), null
 * (JSON) or "-".
 *
 * Each kind of row has one table of columns, which CSV, JSON and printed tables share. The kinds
 * that are read again begin with the workload (a trace or a benchmark), the structure and its
 * options.
 *
 * A cell that sums up several runs can have their single values next to it, its samples. They are
 * in the JSON only, as `samples` of the row, by the column's name. Value k of every row comes from
 * round k, in which all structures took their turn, so that values at the same place are pairs.
 */
#ifndef SIM_RESULTS_H
#define SIM_RESULTS_H

#include "csv_table.h" /* csv_write_field, for tables beside the results */
#include "error.h"
#include "outfolder.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Of the JSON. Raised when a name changes its meaning or is removed, not when one is added. */
#define RESULTS_SCHEMA 1

/* The files of a run in a folder of results, and those derived from it, up to a NULL; of the
 * pictures only their list, without which they belong to no run. The folder is replaced as a whole
 * (outfolder.h). */
extern const char *const result_files[];

/* The same of `timerlab live`. */
extern const char *const live_files[];

/* Instead of the number of digits after the point: a column of text, and one with n significant
 * digits. */
#define TEXT                (-1)
#define SIGNIFICANT(n)      (100 + (n))

/* The percentiles of a latency, in the order of its columns; the last is the maximum. */
#define LATENCY_PERCENTILES 6
#define LATENCY_MAP(X, OP, op, longest)                                                            \
    X(COL_##OP##_P50, op "_p50_ns", 0, WINDOW, "time of a single " op ", percentile 50")           \
    X(COL_##OP##_P90, op "_p90_ns", 0, WINDOW, "time of a single " op ", percentile 90")           \
    X(COL_##OP##_P99, op "_p99_ns", 0, WINDOW, "time of a single " op ", percentile 99")           \
    X(COL_##OP##_P999, op "_p999_ns", 0, WINDOW, "time of a single " op ", percentile 99.9")       \
    X(COL_##OP##_P9999, op "_p9999_ns", 0, WINDOW, "time of a single " op ", percentile 99.99")    \
    X(COL_##OP##_MAX, op "_max_ns", 0, WINDOW, longest)

/* The rows of `timerlab sim`: X(code, name, digits after the point, span, help) */
#define COLUMN_MAP(X)                                                                              \
    X(COL_TRACE, "trace", TEXT, NONE, "file name of the trace")                                    \
    X(COL_ALGO, "algo", TEXT, NONE, "structure")                                                   \
    X(COL_OPTIONS, "options", TEXT, NONE, "its options, where they differ from the defaults")      \
    X(COL_STATUS, "status", TEXT, NONE, "ok, fault, crashed, timeout or unsupported")              \
    X(COL_EVENTS, "events", 0, TRACE, "operations carried out")                                    \
    X(COL_STARTS, "starts", 0, TRACE, "starts of timers that were not pending")                    \
    X(COL_RESTARTS, "restarts", 0, TRACE, "starts of timers that were")                            \
    X(COL_STOPS, "stops", 0, TRACE, "stops")                                                       \
    X(COL_REACTIONS, "reactions", 0, TRACE, "of all these, the reactions to expiries")             \
    X(COL_NOT_REACHED, "not_reached", 0, TRACE,                                                    \
      "the trace's reactions that no expiry came to cause")                                        \
    X(COL_FIRED, "fired", 0, TRACE, "timers fired up to the trace's end tick")                     \
    X(COL_DRAINED, "drained", 0, AFTER, "timers fired after it")                                   \
    X(COL_AVERTED, "averted", 0, TRACE,                                                            \
      "external stops and restarts after the due tick, without an expiry")                         \
    X(COL_EARLY, "early", 0, WHOLE, "fired earlier than declared")                                 \
    X(COL_LATE_BEYOND, "late_beyond", 0, WHOLE, "fired later than declared")                       \
    X(COL_LOST, "lost", 0, WHOLE, "never fired")                                                   \
    X(COL_DUPLICATE, "duplicate", 0, WHOLE, "fired though not pending")                            \
    X(COL_MISORDERED, "misordered", 0, WHOLE, "fired out of promised order")                       \
    X(COL_LATENESS_MIN, "lateness_min", 0, WHOLE, "ticks; negative: early")                        \
    X(COL_LATENESS_P50, "lateness_p50", 0, WHOLE, "ticks; half of the expiries were no later")     \
    X(COL_LATENESS_P99, "lateness_p99", 0, WHOLE, "ticks; 99 % of the expiries were no later")     \
    X(COL_LATENESS_MAX, "lateness_max", 0, WHOLE, "ticks; the latest expiry")                      \
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
    X(COL_TIMES, "times", TEXT, NONE,                                                              \
      "measured, or projected: of shares measured in turn, not together")                          \
    LATENCY_MAP(X, START, "start", "longest single start")                                         \
    LATENCY_MAP(X, RESTART, "restart", "longest single restart")                                   \
    LATENCY_MAP(X, STOP, "stop", "longest single stop")                                            \
    LATENCY_MAP(X, ADVANCE, "advance", "longest single advance of all runs")                       \
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
      "to restore the timers that were pending at the end tick")                                   \
    X(COL_REASON, "reason", TEXT, NONE, "why the status is not ok")

/* The rows of timerlab-bench. `start_ns` to `branch_misses_per_op` are medians of the repetitions,
 * the longest calls the least of them. */
#define BENCH_COLUMN_MAP(X)                                                                        \
    X(BENCH_COL_NAME, "benchmark", TEXT, NONE, "suite, number of timers, and the row's form")      \
    X(BENCH_COL_ALGO, "algo", TEXT, NONE, "structure")                                             \
    X(BENCH_COL_OPTIONS, "options", TEXT, NONE,                                                    \
      "its options, where they differ from the defaults")                                          \
    X(BENCH_COL_STATUS, "status", TEXT, NONE, "ok, error or unsupported")                          \
    X(BENCH_COL_OP, "op", TEXT, NONE, "suite, and the row's form")                                 \
    X(BENCH_COL_N, "n", 0, NONE, "timers")                                                         \
    X(BENCH_COL_NS, "ns_per_op", 3, NONE, "time per operation, median of the repetitions")         \
    X(BENCH_COL_NS_MAD, "ns_per_op_mad", 3, NONE,                                                  \
      "median absolute deviation over the repetitions")                                            \
    X(BENCH_COL_RATE, "items_per_second", 0, NONE, "operations per second")                        \
    X(BENCH_COL_REAL, "real_time", 3, NONE, "wall time of an iteration, ns")                       \
    X(BENCH_COL_CPU, "cpu_time", 3, NONE, "processor time of an iteration, ns")                    \
    X(BENCH_COL_BYTES_PER_TIMER, "bytes_per_timer", 3, NONE, "peak memory per timer")              \
    X(BENCH_COL_START_NS, "start_ns", 3, NONE, "time per start")                                   \
    X(BENCH_COL_EXPIRE_NS, "expire_ns", 3, NONE, "time per expiry")                                \
    X(BENCH_COL_LONGEST_START, "longest_start_ns", 0, NONE, "longest single start")                \
    X(BENCH_COL_LONGEST_STOP, "longest_stop_ns", 0, NONE, "longest single stop")                   \
    X(BENCH_COL_LONGEST_ADVANCE, "longest_advance_ns", 0, NONE, "longest single advance")          \
    X(BENCH_COL_LONGEST_RESERVE, "longest_reserve_ns", 0, NONE, "longest single reserve")          \
    X(BENCH_COL_NULL_NS, "null_ns", 3, NONE, "ns_per_op of the structure that fires nothing")      \
    X(BENCH_COL_X_NULL, "x_null", 3, NONE, "ns_per_op as a multiple of null_ns")                   \
    X(BENCH_COL_LIMIT, "limit", TEXT, NONE, "the limit that fits the suite")                       \
    X(BENCH_COL_LIMIT_NS, "limit_ns", 3, NONE, "lower bound for every structure")                  \
    X(BENCH_COL_X_LIMIT, "x_limit", 3, NONE, "ns_per_op as a multiple of limit_ns")                \
    X(BENCH_COL_INSTRUCTIONS, "instructions_per_op", 3, NONE, "counted by the processor")          \
    X(BENCH_COL_CYCLES, "cycles_per_op", 3, NONE, "counted by the processor")                      \
    X(BENCH_COL_CACHE_MISSES, "cache_misses_per_op", 3, NONE, "counted by the processor")          \
    X(BENCH_COL_BRANCH_MISSES, "branch_misses_per_op", 3, NONE, "counted by the processor")        \
    X(BENCH_COL_RUNS, "runs", 0, NONE, "repetitions")                                              \
    X(BENCH_COL_REASON, "error", TEXT, NONE, "why the status is not ok")

/* The oracle's faults. */
#define FAULT_COLUMN_MAP(X)                                                                        \
    X(FAULT_TRACE, "trace", TEXT, NONE, "file name of the trace")                                  \
    X(FAULT_ALGO, "algo", TEXT, NONE, "structure")                                                 \
    X(FAULT_OPTIONS, "options", TEXT, NONE, "its options")                                         \
    X(FAULT_KIND, "fault", TEXT, NONE, "kind of fault")                                            \
    X(FAULT_TIMER, "timer", 0, NONE, "id of the timer")                                            \
    X(FAULT_TICK, "tick", 0, NONE, "tick of the fault")                                            \
    X(FAULT_DUE, "due", 0, NONE, "tick at which the timer was due")                                \
    X(FAULT_EVENT, "event", 0, NONE, "operation of the trace before which it occurred")            \
    X(FAULT_DETAIL, "detail", TEXT, NONE, "explanation")

/* Work over the ticks, one row per stretch of ticks; the worst tick of each stretch. */
#define WORK_COLUMN_MAP(X)                                                                         \
    X(WORK_TRACE, "trace", TEXT, NONE, "file name of the trace")                                   \
    X(WORK_ALGO, "algo", TEXT, NONE, "structure")                                                  \
    X(WORK_OPTIONS, "options", TEXT, NONE, "its options")                                          \
    X(WORK_FROM, "from_tick", 0, NONE, "first tick of the stretch")                                \
    X(WORK_TO, "to_tick", 0, NONE, "last tick of the stretch")                                     \
    X(WORK_FIRED, "fired", 0, NONE, "expired timers")                                              \
    X(WORK_COMPARES, "n_compares", 0, NONE, "compares of the advances")                            \
    X(WORK_MOVES, "n_moves", 0, NONE, "moves")                                                     \
    X(WORK_SLOTS, "n_slots", 0, NONE, "slots visited")                                             \
    X(WORK_CASCADES, "n_cascades", 0, NONE, "timers cascaded")                                     \
    X(WORK_PER_TICK, "work_per_tick", 3, NONE, "sum of the four counts, per tick")                 \
    X(WORK_OPERATIONS, "operations_work", 0, NONE, "the same of the operations")                   \
    X(WORK_WORST_TICK, "worst_tick", 0, NONE, "tick with the most work")                           \
    X(WORK_WORST, "worst_work", 0, NONE, "its work")                                               \
    X(WORK_WORST_CASCADES, "worst_cascades", 0, NONE, "its cascades")                              \
    X(WORK_WORST_FIRED, "worst_fired", 0, NONE, "timers that expired at it")

/* Curves of the latency of single operations. */
#define CURVE_COLUMN_MAP(X)                                                                        \
    X(CURVE_TRACE, "trace", TEXT, NONE, "file name of the trace")                                  \
    X(CURVE_ALGO, "algo", TEXT, NONE, "structure")                                                 \
    X(CURVE_OPTIONS, "options", TEXT, NONE, "its options")                                         \
    X(CURVE_OP, "op", TEXT, NONE, "operation")                                                     \
    X(CURVE_PERCENTILE, "percentile", 6, NONE, "share of the operations, in percent")              \
    X(CURVE_NS, "latency_ns", 0, NONE, "no operation of that share took longer")                   \
    X(CURVE_COUNT, "count", 0, NONE, "operations measured")

/* The ranks of a replay. */
#define RANK_COLUMN_MAP(X)                                                                         \
    X(RANK_TRACE, "trace", TEXT, NONE, "file name of the trace")                                   \
    X(RANK_ALGO, "algo", TEXT, NONE, "structure")                                                  \
    X(RANK_OPTIONS, "options", TEXT, NONE, "its options")                                          \
    X(RANK_RANK, "rank", 0, NONE, "number of the process")                                         \
    X(RANK_HOST, "host", TEXT, NONE, "machine that it ran on")                                     \
    X(RANK_TIMERS, "timers", 0, NONE, "timers of its share")                                       \
    X(RANK_EVENTS, "events", 0, NONE, "operations carried out")                                    \
    X(RANK_FIRED, "fired", 0, NONE, "timers fired up to the end tick")                             \
    X(RANK_BYTES_PEAK, "bytes_peak", 0, NONE, "most memory of the structure at any time")          \
    X(RANK_WINDOW_EVENTS, "window_events", 0, NONE, "operations of all timed runs")                \
    X(RANK_WINDOW_NS, "window_ns", 0, NONE, "time of all timed runs")                              \
    X(RANK_NS, "ns_per_event", SIGNIFICANT(4), NONE, "time per operation")

/* The rows of `timerlab live`. Times are empty where no timer fired. */
#define LIVE_COLUMN_MAP(X)                                                                         \
    X(LIVE_COL_ALGO, "algo", TEXT, NONE, "structure, or the kernel's or a library's own timers")   \
    X(LIVE_COL_OPTIONS, "options", TEXT, NONE, "its options")                                      \
    X(LIVE_COL_DRIVE, "drive", TEXT, NONE, "sleep, poll, epoll-ms or own")                         \
    X(LIVE_COL_CONNECTIONS, "connections", 0, NONE, "connections with a timeout each")             \
    X(LIVE_COL_SECONDS, "seconds", SIGNIFICANT(6), NONE, "duration of the run")                    \
    X(LIVE_COL_RESTARTS, "restarts_per_second", SIGNIFICANT(6), NONE, "restarts of timeouts")      \
    X(LIVE_COL_FIRED, "fired_per_second", SIGNIFICANT(6), NONE, "expired timers")                  \
    X(LIVE_COL_WAKEUPS, "timer_wakeups_per_second", SIGNIFICANT(6), NONE, "wakeups for timers")    \
    X(LIVE_COL_IDLE, "idle_wakeups_per_second", SIGNIFICANT(6), NONE, "those that fired nothing")  \
    X(LIVE_COL_TRAFFIC, "traffic_wakeups_per_second", SIGNIFICANT(6), NONE, "wakeups for traffic") \
    X(LIVE_COL_SETS, "timer_sets_per_second", SIGNIFICANT(6), NONE,                                \
      "times that the alarm was set")                                                              \
    X(LIVE_COL_CPU, "cpu_percent", SIGNIFICANT(6), NONE, "processor time, in percent of the run")  \
    X(LIVE_COL_P50, "lateness_us_p50", SIGNIFICANT(6), NONE, "from due time to callback, median")  \
    X(LIVE_COL_P99, "lateness_us_p99", SIGNIFICANT(6), NONE, "the same, percentile 99")            \
    X(LIVE_COL_P999, "lateness_us_p999", SIGNIFICANT(6), NONE, "the same, percentile 99.9")        \
    X(LIVE_COL_MAX, "lateness_us_max", SIGNIFICANT(6), NONE, "the latest callback")                \
    X(LIVE_COL_STALL, "stall_us", SIGNIFICANT(6), NONE, "longest single advance")                  \
    X(LIVE_COL_EARLY, "early", SIGNIFICANT(6), NONE, "timers that fired before their due time")    \
    X(LIVE_COL_COMMITS, "commits_per_second", SIGNIFICANT(6), NONE,                                \
      "waits for the disk, of a durable structure")                                                \
    X(LIVE_COL_WAITED, "waited_percent", SIGNIFICANT(6), NONE,                                     \
      "expiries that waited for the disk")                                                         \
    X(LIVE_COL_WAITED_P99, "waited_us_p99", SIGNIFICANT(6), NONE, "their lateness, percentile 99") \
    X(LIVE_COL_STATUS, "status", TEXT, NONE, "ok, a fault, or why it was not driven")              \
    X(LIVE_COL_CALLS, "system_calls_per_expiry", SIGNIFICANT(6), NONE, "system calls per expiry")  \
    X(LIVE_COL_USER_BYTES, "user_bytes_per_timer", SIGNIFICANT(6), NONE, "memory of the process")  \
    X(LIVE_COL_KERNEL_BYTES, "kernel_bytes_per_timer", SIGNIFICANT(6), NONE, "memory of the kernel")

/* The distribution of the lateness of `timerlab live`. */
#define LATENESS_COLUMN_MAP(X)                                                                     \
    X(LATENESS_ALGO, "algo", TEXT, NONE, "structure")                                              \
    X(LATENESS_OPTIONS, "options", TEXT, NONE, "its options")                                      \
    X(LATENESS_DRIVE, "drive", TEXT, NONE, "sleep, poll, epoll-ms or own")                         \
    X(LATENESS_SHARE, "share", SIGNIFICANT(6), NONE, "share of the expiries")                      \
    X(LATENESS_US, "lateness_us", SIGNIFICANT(6), NONE, "that share was no later")

/* The rows of `timerlab threads`. */
#define THREADS_COLUMN_MAP(X)                                                                      \
    X(THREADS_ALGO, "algo", TEXT, NONE, "structure with its front end")                            \
    X(THREADS_OPTIONS, "options", TEXT, NONE, "its options")                                       \
    X(THREADS_THREADS, "threads", 0, NONE, "threads that start and stop")                          \
    X(THREADS_CANCELLED, "cancelled_percent", 0, NONE, "timers that are stopped")                  \
    X(THREADS_RATE, "operations_per_second", SIGNIFICANT(6), NONE, "operations of all threads")    \
    X(THREADS_P50, "call_ns_p50", SIGNIFICANT(6), NONE, "time of a call, median")                  \
    X(THREADS_P99, "call_ns_p99", SIGNIFICANT(6), NONE, "time of a call, percentile 99")           \
    X(THREADS_P999, "call_ns_p999", SIGNIFICANT(6), NONE, "time of a call, percentile 99.9")       \
    X(THREADS_MAX, "call_ns_max", SIGNIFICANT(6), NONE, "longest call")                            \
    X(THREADS_STARTED, "started", 0, NONE, "starts of timers that were not pending")               \
    X(THREADS_RESTARTED, "restarted", 0, NONE, "starts of pending timers")                         \
    X(THREADS_STOPPED, "stopped", 0, NONE, "stops of pending timers")                              \
    X(THREADS_FIRED, "fired", 0, NONE, "expired timers")                                           \
    X(THREADS_INSIDE, "inside", 0, NONE, "operations of callbacks")                                \
    X(THREADS_TICKS, "ticks", 0, NONE, "advances while the threads worked")                        \
    X(THREADS_STATUS, "status", TEXT, NONE, "ok, or a fault")

/* The rows of `timerlab predict`. */
#define PREDICT_COLUMN_MAP(X)                                                                      \
    X(PREDICT_RECORDING, "recording", TEXT, NONE, "file name of the recording")                    \
    X(PREDICT_ALGO, "algo", TEXT, NONE, "structure with its options")                              \
    X(PREDICT_EXPIRIES, "expiries", 0, NONE, "recorded expiries")                                  \
    X(PREDICT_SAME_TICK, "same_tick", 6, NONE, "share that the structure fires at the same tick")  \
    X(PREDICT_WITHIN_1, "within_1", 6, NONE, "share within one tick")                              \
    X(PREDICT_WITHIN_2, "within_2", 6, NONE, "share within two ticks")                             \
    X(PREDICT_MISSED, "missed", 0, NONE, "recorded expiries that the structure never fires")       \
    X(PREDICT_EXTRA, "extra", 0, NONE, "expiries that the recording does not have")

#define COLUMN_ENUM(code, name, digits, span, help) code,
enum column { COLUMN_MAP(COLUMN_ENUM) COLUMNS };
enum bench_column { BENCH_COLUMN_MAP(COLUMN_ENUM) BENCH_COLUMNS };
enum fault_column { FAULT_COLUMN_MAP(COLUMN_ENUM) FAULT_COLUMNS };
enum work_column { WORK_COLUMN_MAP(COLUMN_ENUM) WORK_COLUMNS };
enum curve_column { CURVE_COLUMN_MAP(COLUMN_ENUM) CURVE_COLUMNS };
enum rank_column { RANK_COLUMN_MAP(COLUMN_ENUM) RANK_COLUMNS };
enum live_column { LIVE_COLUMN_MAP(COLUMN_ENUM) LIVE_COLUMNS };
enum lateness_column { LATENESS_COLUMN_MAP(COLUMN_ENUM) LATENESS_COLUMNS };
enum threads_column { THREADS_COLUMN_MAP(COLUMN_ENUM) THREADS_COLUMNS };
enum predict_column { PREDICT_COLUMN_MAP(COLUMN_ENUM) PREDICT_COLUMNS };
#undef COLUMN_ENUM

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
    int digits; /* after the point, or SIGNIFICANT(n), or TEXT */
    enum column_span span;
    const char *help;
};

/* A kind of row. */
struct row_kind {
    const struct column_info *columns;
    unsigned count; /* at most COLUMNS */
    unsigned time;  /* the column to compare by; 0: rows are not compared, and have no samples */
    unsigned reason;
};
extern const struct row_kind replay_kind, bench_kind, fault_kind, work_kind, latency_kind;
extern const struct row_kind rank_kind, live_kind, lateness_kind, threads_kind, predict_kind;
extern const struct column_info result_columns[COLUMNS]; /* of replay_kind */

/* The column of this name; -1 if the kind has none. */
int row_kind_column(const struct row_kind *kind, const char *name);

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

/* Columns are those of the row's kind. */
struct row {
    struct cell cells[COLUMNS];
    struct samples samples[COLUMNS];
    uint64_t window_events; /* operations carried out in the window, and timers fired */
    uint64_t window_fired;
    uint32_t capabilities;                         /* of the structure: enum tl_capability, or-ed */
    char trace_checksum[TRACE_CHECKSUM_CHARS + 1]; /* of the trace's content; "" if unknown */
    const char *mark; /* of the folder that it was read from, where there are several; or NULL */
};

struct results {
    const struct row_kind *kind; /* NULL: replay_kind */
    struct row *rows;
    size_t count;
};

/* Append an empty row. Valid until the next call. */
struct row *results_add(struct results *results);
void results_free(struct results *results);

void row_set_text(struct row *row, unsigned column, const char *text);
void row_set_integer(struct row *row, unsigned column, uint64_t value);
void row_set_signed(struct row *row, unsigned column, int64_t value);

/* A value that is not finite is none. */
void row_set_real(struct row *row, unsigned column, double value);

/* Set the three columns that all kinds begin with. */
void row_set_key(struct row *row, const char *workload, const char *algo, const char *options);

/* Copy the values of the single runs, in the order of the rounds. */
void row_set_samples(struct row *row, unsigned column, const double *values, size_t count);

/* Free the cells and samples of a row that is in no results. */
void row_clear(struct row *row);

/* The number in a cell; NAN if it has none. */
double row_value(const struct row *row, unsigned column);

/* The text of a cell, "" if it has none. */
const char *row_text(const struct row *row, unsigned column);

/* NAME[:options], as in structure_text(algo, options, STRUCTURE). */
#define STRUCTURE_BYTES 640
#define STRUCTURE                                                                                  \
    (char[STRUCTURE_BYTES])                                                                        \
    {                                                                                              \
        0                                                                                          \
    }
const char *structure_text(const char *algo, const char *options, char text[STRUCTURE_BYTES]);

/* The same of a row. */
const char *row_structure(const struct row *row, char text[STRUCTURE_BYTES]);

/* Whether both are of one structure with the same options. */
bool row_same_structure(const struct row *a, const struct row *b);

/* Whether the row ran to its end without a fault. */
bool row_is_ok(const struct row *row);

/* Whether the structure did not run for a reason that is no fault. */
bool row_is_unsupported(const struct row *row);

/* --- reading --------------------------------------------------------------------------------- */

/* Append the rows of a CSV file with column names in its first line; unknown columns are ignored.
 * False, with `error` set, if the file cannot be understood. */
bool results_read_csv(struct results *results, const char *path, struct error *error);

/* Append the rows of a JSON array of objects. False, with `error` set, if a row has no workload or
 * no structure. `source` is named in errors. */
bool results_read_rows(struct results *results, const json_t *rows, const char *source,
                       struct error *error);

/* Capabilities from their words, an array of strings. */
uint32_t results_read_capabilities(const json_t *words);

/* Complete rows of bench_kind from their samples: medians, spreads, the number of runs; and the
 * multiples of the structure `floor` and of the limits that `context` names for their suite. Rows
 * of the suite `limit` are limits, and are removed. */
void bench_rows_complete(struct results *results, const json_t *context);

/* --- writing --------------------------------------------------------------------------------- */

/* Write one header line, and one line for a row. */
void row_kind_write_header(const struct row_kind *kind, FILE *stream);
void row_write_csv(const struct row_kind *kind, const struct row *row, FILE *stream);

/* One header line with the columns' names, then a line a row (RFC 4180). */
void results_write_csv(const struct results *results, FILE *stream);

/* All rows and columns in one table, aligned. */
void results_write_table(const struct results *results, FILE *stream);

/* Return an array with an object for each row: its columns, and in addition `trace_checksum` and
 * `samples`. The caller owns it. */
json_t *results_json_rows(const struct results *results);

/* {schema, context, rows}, of such an array or of results; takes no reference to either. With
 * `spans`, if the rows have the columns above, also the span of each of them. */
void results_write_rows(json_t *rows, const json_t *context, bool spans, FILE *stream);
void results_write_json(const struct results *results, const json_t *context, FILE *stream);

/* Write NAME.csv and NAME.json into a folder. */
bool results_write_files(const struct results *results, const json_t *context, const char *name,
                         struct outfolder *folder, struct error *error);

/* The same of rows that are objects of such an array, to which columns `more` have been added. */
void results_write_objects_csv(const json_t *rows, const struct column_info *more, size_t count,
                               FILE *stream);

/* The text of a value of such a row, "" if there is none; a number in `text`. */
const char *results_object_text(const json_t *value, int digits, char *text, size_t text_bytes);

/* A number, or null if the value is not finite. */
json_t *json_real_or_null(double value);

/* One line a column: its name, its span, and its meaning. */
void results_write_columns(FILE *stream);

/* For people: the columns that matter most, aligned, one table for each trace and theme; with the
 * latencies if they were measured. The rows of a trace follow one another. */
void results_write_tables(const struct results *results, FILE *stream);

/* Why rows are not ok, a line each; nothing if all are. */
void results_write_reasons(const struct results *results, FILE *stream);

#endif
