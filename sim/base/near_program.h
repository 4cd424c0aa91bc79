/* near_program.h: files that lie where the program's own place says: in a build, or installed. */
#ifndef SIM_NEAR_PROGRAM_H
#define SIM_NEAR_PROGRAM_H

#include "error.h"

#include <limits.h>
#include <stdbool.h>

/* The path of the file `name` in the first of two folders, seen from the program's, that has it:
 * that of a build, and that of an installation. */
bool near_program_find(const char *const places[2], const char *name, char path[PATH_MAX],
                       struct error *error);

#endif
