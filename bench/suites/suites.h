/*
 * suites.h: the tables of suites, and the hooks of streams, which two tables use.
 */
#ifndef BENCH_SUITES_H
#define BENCH_SUITES_H

#include "error.h"
#include "stream.h"
#include "suite.h"

extern const struct suite suites_operations[], suites_streams[], suites_durable[];
extern const struct suite suites_idle[], suites_limits[], suites_standard[];

/* The `source` of a suite: restarts of random timers; requests of connections with three timers;
 * the same with TCP's timers; all started at once; copies of the recording. */
enum stream_source_kind {
    STREAMS_RESTARTS = STREAM_TIMER,
    STREAMS_REQUESTS = STREAM_REQUESTS,
    STREAMS_SEGMENTS = STREAM_SEGMENTS,
    STREAMS_FILL,
    STREAMS_RECORDING,
};

/* For its `plan`. */
bool streams_plan(struct fixture *fixture);

/* For its `measure`: a steady state; a fill and its drain, or only drains where the callbacks fill
 * it again. */
bool streams_measure_steady(struct fixture *fixture, struct bench_measured *out);
bool streams_measure_fill(struct fixture *fixture, struct bench_measured *out);

/* Read the trace at `path` for streams; its ticks and delays must be below 2^30. Return false with
 * `error` set. */
bool recording_read(const char *path, struct stream_recording *recording, struct error *error);
void recording_free(struct stream_recording *recording);

/* Write where durable structures have their files, and whether that is a disk. */
void durable_describe_files(char *text, size_t text_bytes);

#endif
