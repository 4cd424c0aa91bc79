/*
 * outfile.h: a file that appears whole or not at all. It is written in a temporary folder in
 * the same folder, synced, and renamed when it is complete; on any failure the temporary file is
 * removed.
 */
#ifndef SIM_OUTFILE_H
#define SIM_OUTFILE_H

#include "temporary_file.h"

#include <stdbool.h>
#include <stdio.h>

/* Opaque except for `stream`, which takes the content, and `temporary.file`, the file's name until
 * it is complete. */
struct outfile {
    FILE *stream;
    char path[PATH_MAX];
    struct temporary temporary; /* none for standard output */
};

/* Open the temporary file for reading and writing. A symbolic link stands for the file that it
 * leads to. A folder, a device or a pipe is refused: a file cannot replace it. */
bool outfile_open(struct outfile *file, const char *path, struct error *error);

/* The same, but "-" is standard output, to which outfile_commit then writes the complete file. */
bool outfile_open_or_stream(struct outfile *file, const char *path, struct error *error);

/* Check that outfile_open would succeed; to be called before long work, so that a wrong name costs
 * no time. */
bool outfile_check(const char *path, struct error *error);

/* Flush, sync and rename. On failure nothing is left. Ends the outfile either way. */
bool outfile_commit(struct outfile *file, struct error *error);

/* Report that `path` could not be written, with the cause, an errno; the remains on disk; and the
 * remedy, if there is one. Always false. */
#define OUTFILE_NOTHING_LEFT "no partial file remains"
bool outfile_fail(const char *path, int cause, const char *left, struct error *error);

/* Remove the temporary file. Harmless on an outfile that is ended or zeroed. */
void outfile_abort(struct outfile *file);

/* Make a folder, with its parents, or check that it is there and can be written to; to be called
 * before long work. Those that are still empty at the program's end are removed. */
bool folder_make(const char *path, struct error *error);

#endif
