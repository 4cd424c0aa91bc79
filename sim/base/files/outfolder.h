/*
 * outfolder.h: the files of one run in a folder, replaced as a whole or not at all. They are
 * written into a folder of their own within it, and come to their places together, when all are
 * complete; what an earlier run has left of the same kind goes. Whatever else lies in the folder
 * stays.
 *
 * A crash of the machine can end the moment in which they change places. So that it is seen, one of
 * the files, the last to be written, should hold what outfolder_sums says of the others; who reads
 * them asks outfolder_agrees.
 */
#ifndef SIM_OUTFOLDER_H
#define SIM_OUTFOLDER_H

#include "error.h"
#include "outfile.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Treat as opaque. */
struct outfolder {
    struct folder folder;
    char stage[4096]; /* "" until something is written */
    json_t *sums;
};

/* Makes a folder, with its parents, or sees that it is there and can be written to; best done
 * before long work, so that a wrong name costs no time. */
bool outfolder_open(struct outfolder *out, const char *path, struct error *error);

/* Writes a file; `write` puts its content into the stream. The name may have one folder in front of
 * it. False, with `error` set, if that fails, as on a full disk; nothing has changed then, and
 * outfolder_abort is to follow. */
typedef void (*outfolder_writer)(const void *ctx, FILE *stream);
bool outfolder_write(struct outfolder *out, const char *name, outfolder_writer write,
                     const void *ctx, struct error *error);

/* The checksum of a file's content, as text; false if it cannot be read. */
#define OUTFOLDER_SUM_BYTES 17
bool outfolder_sum(const char *path, char text[OUTFOLDER_SUM_BYTES]);

/* The checksums of what was written so far, in the folder itself: {name: text}. The caller owns
 * it. */
json_t *outfolder_sums(const struct outfolder *out);

/* Puts all in its place. Of `kinds`, names of files and folders, or FOLDER/FILE, up to a NULL, what
 * was not written now is removed. On failure all is as it was before. Ends the outfolder either
 * way. */
bool outfolder_commit(struct outfolder *out, const char *const *kinds, struct error *error);

/* Removes what was written, and the folder if it was made for this. Harmless on one that is ended
 * or zeroed. */
void outfolder_abort(struct outfolder *out);

/* Whether a folder's files are those of one run, by what outfolder_sums said of them, which stands
 * in the file `from`: each that is named there is unchanged, and of `kinds` there is no table
 * (.csv) in the folder itself that is not. Without sums (NULL) nothing can be said, and it is true.
 */
bool outfolder_agrees(const char *path, const char *from, const json_t *sums,
                      const char *const *kinds, struct error *error);

#endif
