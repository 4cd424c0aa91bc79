/* check_crash.h: `timerlab check --crash`. */
#ifndef SIM_CLI_CHECK_CRASH_H
#define SIM_CLI_CHECK_CRASH_H

#include "catalog.h"
#include "error.h"

/* Loads the shim before everything else, by starting the program again with the same words, unless
 * it is loaded. Returns if it cannot be. */
void check_crash_load(int argc, char **argv);

/* Crashes each structure, under each policy that it has unless its options are given, and prints a
 * table. *faults: how many policies did not keep their promise. False, with `error`: one is not
 * durable, or could not be tried. */
bool check_crash(const struct contender_list *contenders, uint64_t seed, double share,
                 size_t *faults, struct error *error);

#endif
