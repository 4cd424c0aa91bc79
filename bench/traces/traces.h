/*
 * traces.h: the rows of timerlab-bench-traces. The sides of a comparison are measured in turn, round
 * by round; figures are medians over the rounds.
 */
#ifndef BENCH_TRACES_H
#define BENCH_TRACES_H

#include "bench_shim.h"
#include "catalog.h"
#include "gen.h"
#include "import.h"
#include "replay.h"
#include "temporary_file.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A text of the shape and size that servers write, the same on every machine. */
struct sample_recording {
    const char *format; /* of `timerlab trace import` */
    void (*write)(FILE *stream, uint64_t lines);
};

enum { SAMPLE_RECORDINGS = 2 };
extern const struct sample_recording sample_recordings[SAMPLE_RECORDINGS];

/* A text that importers read. */
struct import_file {
    const struct import_format *format;
    const struct sample_recording *recording; /* NULL: the user's own file */
    char path[4096];
    uint64_t bytes;
    uint64_t lines; /* 0 until it is made and counted */
};

/* A generated trace: a workload, its number of connections, and its length. */
struct model {
    const char *workload;
    uint32_t connections;
    double seconds;
    char path[PATH_MAX + 96]; /* "" until it is made */
};

/* Shared by all rows. */
struct trace_settings {
    struct temporary made; /* for all files that are made; none until it is needed */
    uint64_t lines;        /* of the texts that are made */
    double min_time_s;     /* how long a row is measured at least */
};

struct trace_row {
    bool (*measure)(const struct trace_row *row, struct bench_measured *out, struct error *error);
    struct trace_settings *settings;
    struct import_file *text;          /* of an import or a scan */
    struct model *model;               /* of the others */
    struct model *longer;              /* of replays_memory: the same timers for longer */
    const struct contender *contender; /* of a replay */
    enum replay_pass pass;             /* of replays_memory */
};

/* Return whether another round follows: until the row has lasted long enough. */
bool rounds_go_on(const struct trace_row *row, const struct bench_measured *out);

/* The figures of a row, each measured in every round; zeroed: none yet. */
enum { ROUNDS_MAX = 1001, ROUND_FIGURES_MAX = 5 };
struct rounds {
    size_t count;
    struct round_figure {
        const char *name;
        size_t count;
        double values[ROUNDS_MAX];
    } figures[ROUND_FIGURES_MAX];
};

/* Add the value of a round to a figure. */
void rounds_add(struct rounds *rounds, const char *name, double value);

/* Add the median of each figure to the row. */
void rounds_report(const struct rounds *rounds, struct bench_measured *out);

/* Make the model's trace, unless it is there. Return false with `error` set. */
bool model_prepare(struct trace_settings *settings, struct model *model, struct error *error);

/* Count the line ends of a text: the least work of any reader. Counter: bytes_per_second. */
bool rows_scan(const struct trace_row *row, struct bench_measured *out, struct error *error);

/* Import a text. Counters: bytes_per_second; limit_ns, a scan of a line; times_scan, the ratio. */
bool rows_import(const struct trace_row *row, struct bench_measured *out, struct error *error);

/* Simulate the workload. Counters: bytes_per_event of the file; recorded_share of the operations. */
bool rows_generate(const struct trace_row *row, struct bench_measured *out, struct error *error);

/* Read the trace. */
bool rows_decode(const struct trace_row *row, struct bench_measured *out, struct error *error);

/* Measure the throughput pass, in nanoseconds an operation of its window, compared with a plain
 * loop: the same operations as records of 16 bytes {tick, id, delay, operation} in memory, each a
 * call of `start` or `stop` through the structure's pointers, without advance, blocks and checks.
 * The structure must fire nothing. Counters: limit_ns, the plain loop's time; times_plain, the
 * ratio; times_ticking, the ratio to the same loop with the calls of `next` and `advance` that the
 * replay must make when the tick changes; decoded_ns, the whole pass with opening, reading and
 * decoding the trace, an operation of the whole trace. */
bool replays_throughput(const struct trace_row *row, struct bench_measured *out,
                        struct error *error);

/* Measure the latency pass, in nanoseconds an operation of its window, compared with the throughput
 * pass of the same trace. Counters: plain_ns, that pass's time; adds_ns, the difference; clock_ns,
 * a reading of the processor's counter; limit_ns, the throughput pass with such a reading before
 * each operation; filing_ns, the latency pass's additional time outside its timed part, for
 * distinguishing starts from restarts and for filing latencies. */
bool replays_latency(const struct trace_row *row, struct bench_measured *out, struct error *error);

/* Measure the replay's own memory: the peak of a process that only replays, less its memory before,
 * with a structure that fires nothing and needs no memory. The time is that of the whole pass, an
 * operation of the trace. Counters: own_bytes; longer_own_bytes, for the longer trace;
 * times_longer, the ratio of the operations; times_own, the ratio of the memory. */
bool replays_memory(const struct trace_row *row, struct bench_measured *out, struct error *error);

#endif
