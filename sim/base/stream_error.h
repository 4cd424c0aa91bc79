/*
 * stream_error.h: why a stream could not be written. stdio remembers that a write failed, not of
 * what.
 */
#ifndef SIM_STREAM_ERROR_H
#define SIM_STREAM_ERROR_H

#include <stdio.h>

/* Flush the stream. Return 0 if all of its output could be written, else an errno, for which one
 * more byte may be written to the incomplete file. */
int stream_error(FILE *stream);

/* The same; then wait until the content is on the disk, if the file system can do that. */
int stream_sync(FILE *stream);

#endif
