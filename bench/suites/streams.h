/*
 * streams.h: hooks of streams, for several tables of suites.
 */
#ifndef BENCH_STREAMS_H
#define BENCH_STREAMS_H

#include "suite.h"

/* For a suite's `plan`: restarts of random timers; requests of connections with three timers; all
 * started at once; copies of the recording. */
bool streams_plan_steady(struct fixture *fixture);
bool streams_plan_requests(struct fixture *fixture);
bool streams_plan_fill(struct fixture *fixture);
bool streams_plan_recorded(struct fixture *fixture);

/* For its `measure`: a steady state; a fill and its drain. */
bool streams_measure_steady(struct fixture *fixture, struct bench_measured *out);
bool streams_measure_fill(struct fixture *fixture, struct bench_measured *out);

#endif
