/*
 * recording.h: a trace as streams want it. Where a timer is operated upon more than once in a tick,
 * the last operation counts.
 */
#ifndef BENCH_RECORDING_H
#define BENCH_RECORDING_H

#include "error.h"
#include "stream.h"

#include <stdbool.h>

/* Read the trace at `path`; its ticks and delays must be below 2^30. Returns false with `error`
 * set. */
bool recording_read(const char *path, struct stream_recording *recording, struct error *error);

void recording_free(struct stream_recording *recording);

#endif
