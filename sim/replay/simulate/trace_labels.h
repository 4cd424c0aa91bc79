/*
 * trace_labels.h: what each of several traces is called in results, where everything that is said
 * of a trace goes by its name.
 */
#ifndef SIM_TRACE_LABELS_H
#define SIM_TRACE_LABELS_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>

/* False, with `error` set, if two of the paths are one file, which would be
 * taken for two traces. */
bool trace_labels_check(const char *const *paths, size_t count, struct error *error);

/* The name of the path's file, before it as many of its folders, FOLDER:FILE, as tell it from the
 * others: UTF-8 that is nothing but text wherever it is shown, with %XX for each byte of it that
 * would be more, such as a control character, a backslash or a dash at its beginning. "-" is
 * "standard-input". To be freed. */
char *trace_label(const char *const *paths, size_t count, size_t index);

#endif
