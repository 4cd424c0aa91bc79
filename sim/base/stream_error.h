/*
 * stream_error.h: why a stream could not be written. stdio remembers that a write failed, not of
 * what.
 */
#ifndef SIM_STREAM_ERROR_H
#define SIM_STREAM_ERROR_H

#include <stdio.h>

/* Writes out what the stream has in its buffer. 0 if all that it was given could be written; if
 * not, the errno of it, for which one more byte may be written to what is incomplete already. */
int stream_error(FILE *stream);

/* The same; then wait until the content is on the disk, if the file system can do that. */
int stream_sync(FILE *stream);

#endif
