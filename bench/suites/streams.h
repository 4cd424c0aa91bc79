/*
 * streams.h: hooks of streams, for several tables of suites.
 */
#ifndef BENCH_STREAMS_H
#define BENCH_STREAMS_H

#include "suite.h"

/* The `source` of a suite: restarts of random timers; requests of connections with three timers;
 * the same with TCP's timers; all started at once; copies of the recording. */
enum stream_source_kind {
    STREAMS_RESTARTS,
    STREAMS_REQUESTS,
    STREAMS_SEGMENTS,
    STREAMS_FILL,
    STREAMS_RECORDING,
};

/* For its `plan`. */
bool streams_plan(struct fixture *fixture);

/* For its `measure`: a steady state; a fill and its drain. */
bool streams_measure_steady(struct fixture *fixture, struct bench_measured *out);
bool streams_measure_fill(struct fixture *fixture, struct bench_measured *out);

#endif
