/*
 * latency_report.h: the results of the latency passes as files and as text: curves, distributions,
 * and the longest calls with their places in the trace.
 */
#ifndef SIM_LATENCY_REPORT_H
#define SIM_LATENCY_REPORT_H

#include "error.h"
#include "outfolder.h"
#include "simulate.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* The two times of a call: see replay.h. */
enum latency_time { LATENCY_SERVICE, LATENCY_RESPONSE, LATENCY_TIMES };

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

#endif
