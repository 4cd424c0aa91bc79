/* plots_folder.h: where the files of plots/ lie: in the source tree of a build, or installed. */
#ifndef SIM_PLOTS_FOLDER_H
#define SIM_PLOTS_FOLDER_H

#include "error.h"

#include <limits.h>
#include <stdbool.h>

/* The path of the file `name` of plots/, found from where the program lies. */
bool plots_find(const char *name, char path[PATH_MAX], struct error *error);

/* Write the last part of `path` without its ending, in letters that are harmless everywhere. Two such
 * names, and what else is in the name of a file, fit 255 bytes. */
#define PLOTS_NAME_BYTES 101
void plots_name(const char *path, char name[PLOTS_NAME_BYTES]);

#endif
