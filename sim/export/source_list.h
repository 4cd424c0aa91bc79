/* source_list.h: files of algos/, which are embedded in the program, with all that they include. */
#ifndef SIM_EXPORT_SOURCE_LIST_H
#define SIM_EXPORT_SOURCE_LIST_H

#include "error.h"
#include "timerlab.h"

#include <stdbool.h>
#include <stddef.h>

enum { SOURCES_MAX = 64, SOURCE_NAME_BYTES = 80 };

struct source_list {
    char names[SOURCES_MAX][SOURCE_NAME_BYTES]; /* without folder, each once */
    size_t count;
};

/* Copy a structure's name with underscores instead of dashes, as its files and symbols have them.
 * `symbol` may be `name`. */
void symbol_of(const char *name, char *symbol, size_t bytes);

/* Set `file` to the name of the structure's source. False: it is not embedded in the program, or
 * needs another library. */
bool source_of(const char *structure, char file[SOURCE_NAME_BYTES]);

/* Add a file that is embedded in the program. Others are the system's, and are ignored. */
void source_list_add(struct source_list *list, const char *name);

/* Add all files that the listed ones include, but not `omitted`, and the .c file of the same name as
 * each of them. */
void source_list_add_included(struct source_list *list, const char *omitted);

/* List the files of a structure from which a plug-in can be compiled with timerlab.h alone: its
 * source, which comes first, and the parts that it includes; timerlab.h itself is omitted. False,
 * with the reason in `error`: the structure needs more than that. */
bool source_list_of_copy(const struct tl_algo *algo, struct source_list *list, struct error *error);

#endif
