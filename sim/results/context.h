/*
 * context.h: what has to be known of the circumstances of a measurement: the program's version and
 * commit, compiler and flags, processor, governor, the clock's own cost, command line, date.
 */
#ifndef SIM_CONTEXT_H
#define SIM_CONTEXT_H

#include <jansson.h>

/* A new JSON object. Takes some milliseconds for the clock. */
json_t *context_json(int argc, char *const *argv);

/* The words as an array. */
json_t *context_command_line(int argc, char *const *argv);

/* What a context says of a trace of its results, by the name that rows have: {tick_ns, ...}; NULL
 * if nothing. */
const json_t *context_trace(const json_t *context, const char *name);

#endif
