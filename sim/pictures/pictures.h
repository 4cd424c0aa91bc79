/*
 * pictures.h: the data of all pictures that can be drawn from folders of results: one tidy CSV for
 * each picture, and a list of them, which plots/draw follows.
 */
#ifndef SIM_PICTURES_H
#define SIM_PICTURES_H

#include "error.h"
#include "outfolder.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Write into folder `place` of `out` NAME.csv for each picture, and pictures.csv: its columns are
 * `picture` (NAME), `script` (plots/SCRIPT.gp), `trace`, `setting_1` to `setting_3` (of the script),
 * `title` and `about`; all but the last two consist of letters, digits and "._-".
 *
 * Read are results.csv, latency.csv, response.csv, work.csv, bench.csv, threads.csv, live.csv,
 * lateness.csv (of `timerlab live` or `cluster sim`) of each folder; missing files are skipped.
 * Results of several folders are next to each other, marked A, B, ... `structures`, by name as
 * `timerlab list --format json` describes them, says which are baselines, drawn in grey, or slow ones,
 * which are omitted. Return
 * false, with `error` set, if a file cannot be read or written. */
bool pictures_write(struct outfolder *out, const char *place, const char *const *folders,
                    size_t count, const json_t *structures, struct error *error);

/* Commit the written and drawn files; pictures that an earlier list names and the new one does not are
 * removed. Return false, with `error` set, if that fails. */
bool pictures_commit(struct outfolder *out, const char *place, struct error *error);

#endif
