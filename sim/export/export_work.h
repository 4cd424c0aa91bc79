/*
 * export_work.h: files under way, for the room's own files: how templates are filled, and written.
 */
#ifndef SIM_EXPORT_EXPORT_WORK_H
#define SIM_EXPORT_EXPORT_WORK_H

#include "export.h"
#include "pool.h"

/* The replacement of @name@ in a template. */
struct value {
    const char *name;
    const char *text;
};

/* Return a template with each @name@ replaced. The lines from `@if name` to `@end` are for a value
 * that is not empty, those from `@ifnot name` on for others; not nested. */
const char *template_fill(struct pool *pool, const char *template, const struct value *values,
                          size_t count);

/* Copy a text in upper case. */
const char *upper_case(struct pool *pool, const char *text);

struct export_file {
    const char *name; /* NULL ends a list */
    const char *text;
};

/* Write all files into the folder, made if it is missing; on failure it is as it was. */
bool export_files_write(const char *folder, const struct export_file *files, struct error *error);

/* Write the sources of a durable structure, PREFIX.h, PREFIX.c and example.c. `symbol` is that of
 * its descriptor, or of the structure in the front end. */
bool export_write_durable(const struct export_request *request, const char *symbol,
                          struct error *error);

#endif
