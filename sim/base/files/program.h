/* program.h: runs another program. */
#ifndef SIM_PROGRAM_H
#define SIM_PROGRAM_H

#include "error.h"

/* Run the program words[0] with these words, which NULL ends, and wait for it. Its standard output
 * goes to the file `out`. A name without a slash is looked for in $PATH. Returns the status, as
 * of waitpid; -1 with `error` set if it cannot be run. */
int program_run(const char *const *words, int out, struct error *error);

#endif
