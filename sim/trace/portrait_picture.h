/*
 * portrait_picture.h: the portrait of one trace, or of two side by side, drawn by gnuplot with the
 * script plots/portrait.gp.
 */
#ifndef SIM_PORTRAIT_PICTURE_H
#define SIM_PORTRAIT_PICTURE_H

#include "error.h"
#include "trace_portrait.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define PORTRAITS_MAX 2

/* Write FOLDER/portrait-NAME.csv and draw it as .svg and .png, for one trace or two; NAME is the
 * trace's without its folder and ending, NAME-beside-NAME for two. The folder is made if necessary.
 * `stem` gets the three files' common beginning. False with `error` set if the table cannot be
 * written, or if gnuplot or the script is missing or fails; then the table is kept, without
 * pictures. */
bool portrait_picture(const struct trace_portrait *portraits, const char *const *trace_paths,
                      size_t count, const char *folder, char stem[PATH_MAX], struct error *error);

#endif
