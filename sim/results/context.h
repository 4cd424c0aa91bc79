/*
 * context.h: the conditions of a measurement: the program's version and commit, compiler and flags,
 * processor, governor, the clock's own cost, command line, date.
 */
#ifndef SIM_CONTEXT_H
#define SIM_CONTEXT_H

#include <jansson.h>

/* A new JSON object. Takes some milliseconds for the clock. */
json_t *context_json(int argc, char *const *argv);

/* The words as an array. */
json_t *context_command_line(int argc, char *const *argv);

/* Return the context of a trace by its name in the rows: {tick_ns, ...}; NULL if there is none. */
const json_t *context_trace(const json_t *context, const char *name);

#endif
