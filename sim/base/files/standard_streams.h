/*
 * standard_streams.h: "-" instead of a file's name: standard input where a file is read from any
 * place in it, and standard output where a file is completed before it is written out.
 */
#ifndef SIM_STANDARD_STREAMS_H
#define SIM_STANDARD_STREAMS_H

#include "error.h"

#include <stdbool.h>
#include <stdio.h>

bool is_standard_stream(const char *path);

/* Make standard input a regular file that can be read from any place in it, for this process and
 * those that it starts from now on. A pipe is read to its end into a temporary file first; only
 * its beginning, if that is not the `magic_bytes` of `magic`, for the caller to refuse. False with
 * `error` set: it is a terminal, or could not be read or stored. */
bool standard_input_seekable(const void *magic, size_t magic_bytes, struct error *error);

/* False with `error` set if standard output is a terminal, which binary data would upset. */
bool standard_output_takes_binary(struct error *error);

/* Write all of `from`, from its beginning, to standard output. A closed pipe is an error, not a
 * signal. */
bool standard_output_send(FILE *from, struct error *error);

#endif
