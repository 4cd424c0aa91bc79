/*
 * standard_files.h: a program's input, output and errors, as the parent process has set them up,
 * and why a stream could not be written.
 */
#ifndef SIM_STANDARD_FILES_H
#define SIM_STANDARD_FILES_H

#include <stdio.h>

/* Open /dev/null for closed standard files, so that no other file takes their place: input is then
 * empty, and writing fails. Also make writes beyond a limit of file sizes (ulimit -f) fail with
 * EFBIG instead of ending the process. Call this first. */
void standard_files_fill(void);

/* How many bytes of UTF-8 the character takes with which the text begins; 0: it is a control
 * character, of terminals or of the text's direction, or none. */
size_t standard_files_plain(const char *text);

/* Write a line with arbitrary bytes, such as a file's name, so that it stays one line and is
 * harmless for a terminal: characters that are not plain become \xHH, except tabs, and a line end
 * at its end. */
void standard_files_say(FILE *stream, const char *text);

/* The same as a text of its own, to be freed. */
char *standard_files_line(const char *text);

/* The same of a formatted line to standard error. On a terminal it is broken between words. */
void standard_files_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For on_exit, so that it comes at the very end, since help, for one, ends a program without coming
 * back to main. Write out what standard output has in its buffer, where a full disk shows; if any of
 * it could not be written, report why under the name `program`, and make a status of 0 one of 1. */
void standard_files_check(int status, void *program);

/* Flush a stream. Return 0 if all of its output could be written, else an errno, for which one more
 * byte may be written to the incomplete file: stdio remembers that a write failed, not of what. */
int stream_error(FILE *stream);

/* The same; then wait until the content is on the disk, if the file system can do that. */
int stream_sync(FILE *stream);

#endif
