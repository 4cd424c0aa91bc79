/* check_crash.h: `timerlab check --crash`. */
#ifndef SIM_CLI_CHECK_CRASH_H
#define SIM_CLI_CHECK_CRASH_H

#include "catalog.h"
#include "error.h"

/* The seed of a check without --seed. */
#define CHECK_SEED 1u

/* Print the option for that seed, unless it is the default. */
void check_print_seed(uint64_t seed);

/* Load the shim before everything else, by starting the program again with the same words, unless
 * it is loaded. Returns if it cannot be. */
void check_crash_load(int argc, char **argv);

/* Crash each structure, under each policy that it has unless its options are given, and print a
 * table. *faults: the number of policies that did not keep their promise. False, with `error`: one is not
 * durable, or could not be tried. */
bool check_crash(const struct contender_list *contenders, uint64_t seed, double share,
                 size_t *faults, struct error *error);

#endif
