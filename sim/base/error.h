/*
 * error.h: how the simulator's parts report errors to their caller. A function that can fail
 * returns false (or a negative number) and has written one sentence, which names the file, the
 * place in it, and the remedy where there is one. Only `main` prints it.
 */
#ifndef SIM_ERROR_H
#define SIM_ERROR_H

#include <stdbool.h>

struct error {
    char text[1024];
};

/* Writes the sentence, cut where it is too long; always returns false, so that
 * `return error_set(...)` ends a function. */
bool error_set(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
