/*
 * command_examples.h: for each command, lines that a user can copy and run. --help ends with them,
 * and so do the manual pages.
 */
#ifndef SIM_COMMAND_EXAMPLES_H
#define SIM_COMMAND_EXAMPLES_H

/* The lines for the command with this full name, such as "timerlab sim", each indented and ended by a newline; NULL if
 * there are none. */
const char *command_examples(const char *command);

#endif
