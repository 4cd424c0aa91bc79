/*
 * outfolder.h: the files of one run in a folder, replaced as a whole or not at all. They are
 * written into a hidden folder within it, and renamed when all are complete; files of the same
 * kinds from an earlier run are removed. Other files in the folder stay. While it is open, no other
 * process can open it.
 *
 * A process that is killed while it renames leaves files of two runs. To detect that, one of the
 * files holds what outfolder_sums returns for the others, and readers call outfolder_agrees.
 */
#ifndef SIM_OUTFOLDER_H
#define SIM_OUTFOLDER_H

#include "error.h"
#include "outfile.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Opaque. One that is zeroed is closed. */
struct outfolder {
    char path[PATH_MAX]; /* "" if it is closed */
    int lock;            /* the open folder */
    struct temporary stage;
    json_t *sums;
};

/* Make a folder, with its parents, or check that it can be written to, and lock it. To be called
 * before long work, so that a wrong name costs no time. `error` names the process that holds the
 * lock, if one does. */
bool outfolder_open(struct outfolder *out, const char *path, struct error *error);

/* Write a file; `write` puts its content into the stream. The name may have one folder in front of
 * it. On failure, as on a full disk, nothing has changed in the folder. */
typedef void (*outfolder_writer)(const void *ctx, FILE *stream);
bool outfolder_write(struct outfolder *out, const char *name, outfolder_writer write,
                     const void *ctx, struct error *error);

/* The checksum of a file's content, as text; false if it cannot be read. */
#define OUTFOLDER_SUM_BYTES 17
bool outfolder_sum(const char *path, char text[OUTFOLDER_SUM_BYTES]);

/* The checksums of the files written since the last commit, those in folders of their own excepted:
 * {name: text}. The caller owns it. */
json_t *outfolder_sums(const struct outfolder *out);

/* Rename all that was written to its place. Of `kinds`, names of files and folders, or FOLDER/FILE,
 * up to a NULL, remove those that were not written. On failure all is as it was before. The folder
 * stays open for more. */
bool outfolder_commit(struct outfolder *out, const char *const *kinds, struct error *error);

/* Remove what was written since the last commit, and end the lock. */
void outfolder_close(struct outfolder *out);

/* Whether a folder's files are those of one run, by what outfolder_sums returned for them, as the
 * file `from` has it: each file named there is unchanged, and no table (.csv) of `kinds` is there
 * that is not named. Without sums (NULL) nothing is known, and it is true. */
bool outfolder_agrees(const char *path, const char *from, const json_t *sums,
                      const char *const *kinds, struct error *error);

#endif
