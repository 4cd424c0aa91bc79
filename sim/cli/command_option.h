/*
 * command_option.h: what the commands' options have in common. Each function reads one argument of
 * a command line; what it cannot be is said on standard error, with the option and what it takes,
 * and ends the program with the status of argp_err_exit_status (EXIT_USAGE). So they are for argp's
 * parsers only.
 */
#ifndef SIM_COMMAND_OPTION_H
#define SIM_COMMAND_OPTION_H

#include "catalog.h"

#include <argp.h>
#include <stddef.h>
#include <stdint.h>

/* A number from `min` to `max`, without a suffix; `unit` says of what, such as "seconds". */
double option_number(const char *option, const char *unit, const char *text, double min, double max,
                     struct argp_state *state);

/* Bytes: "4096", "800M", "1.5G"; K, M, G are powers of 1024. At least one, below 2^62. */
uint64_t option_bytes(const char *option, const char *text, struct argp_state *state);

/* Which of `words`, which NULL ends; counted from 0. */
int option_word(const char *option, const char *text, const char *const *words,
                struct argp_state *state);

/* Appends `text`, which has to live as long as the list. The caller frees the list. */
void option_remember(const char ***list, size_t *count, const char *text, struct argp_state *state);

/* --plugin: "FILE[,NAME]". */
void option_plugin(struct catalog *catalog, const char *text, struct argp_state *state);

/* What -a chose, once all plug-ins are loaded: appends it to `list`. */
void option_structures(struct catalog *catalog, const char *const *selections, size_t count,
                       struct contender_list *list, struct argp_state *state);

#endif
