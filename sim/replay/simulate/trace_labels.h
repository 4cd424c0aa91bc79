/*
 * trace_labels.h: the names of traces in results.
 */
#ifndef SIM_TRACE_LABELS_H
#define SIM_TRACE_LABELS_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>

/* Return false with `error` set if two of the paths are the same file. */
bool trace_labels_check(const char *const *paths, size_t count, struct error *error);

/* Return the name of a path: its file, preceded by as many of its folders, FOLDER:FILE, as
 * distinguish it from the others. It is UTF-8 without control characters or characters special to
 * shells and pages, which become %XX. "-" is "standard-input". To be freed. */
char *trace_label(const char *const *paths, size_t count, size_t index);

#endif
