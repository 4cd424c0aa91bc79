/*
 * recordings.h: recordings made up for the benchmark of the importers: texts of the shape and size
 * that servers write, the same on every machine.
 */
#ifndef BENCH_RECORDINGS_H
#define BENCH_RECORDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sample_recording {
    const char *format; /* of `timerlab trace import` */
    const char *what;   /* for the help */
    void (*write)(FILE *stream, uint64_t lines);
};

/* Recording `index`; NULL after the last. */
const struct sample_recording *recording_at(size_t index);

#endif
