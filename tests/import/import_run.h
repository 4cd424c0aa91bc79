/* import_run.h: helpers for tests of imports: files in a folder of their own, an import into it,
 * and the counts of its trace. */
#ifndef TESTS_IMPORT_RUN_H
#define TESTS_IMPORT_RUN_H

#include "import.h"
#include "trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct import_run {
    enum import_result result;
    struct error error;
    char *report;               /* the summary */
    char *output;               /* the trace's path */
    struct trace_header header; /* without origin */
    json_t *origin;             /* NULL unless the import is done */
};

/* The path of `name` in the tests' temporary folder; valid until the next call but three. */
const char *temporary_path(const char *name);

/* Writes a file there, returns its path. */
const char *temporary_file(const char *name, const void *bytes, size_t count);

/* How many files the folder holds. */
size_t temporary_files(void);

/* Removes the folder and all in it. */
void temporary_files_remove(void);

/* Imports `input`; `settings` are name, value pairs, ended by NULL; NULL for none. */
struct import_run import_run(const char *format, const char *input, const char *const *settings);
void import_run_free(struct import_run *run);

/* A number of the origin, by its path, such as "counts.arm"; -1 if there is none. */
int64_t import_run_number(const struct import_run *run, const char *path);

/* Assert that every reaction is at the tick at which an exact structure fires its cause's last
 * start before that tick. */
void import_run_check_causes(const struct import_run *run);

/* Return the trace's operations as text, "tick,id,start,delay" or "tick,id,stop", one a line; after
 * a reaction " by CAUSE", with "r" or "a" as in a trace's text form. The caller frees it. */
char *import_run_operations(const struct import_run *run);

#endif
