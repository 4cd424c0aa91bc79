/*
 * portrait_picture.h: a trace's portrait, or two next to each other, drawn by gnuplot with the
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

/* Writes FOLDER/portrait-NAME.csv and draws it as .svg and .png, of one trace or of two; NAME is
 * the trace's without its folder and ending, NAME-beside-NAME of two. The folder is made if need
 * be. `stem` gets the three files' common beginning. False with `error` set if the table cannot be
 * written, or if gnuplot or the script is missing or fails: the table is then left, and there are
 * no pictures. */
bool portrait_picture(const struct trace_portrait *portraits, const char *const *trace_paths,
                      size_t count, const char *folder, char stem[PATH_MAX], struct error *error);

#endif
