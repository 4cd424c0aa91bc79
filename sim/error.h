/*
 * error.h: how the simulator's parts tell their caller what went wrong. A function that can fail
 * returns false (or a negative number) and has written one sentence, which names the file, the
 * place in it, and the remedy where there is one. Only `main` prints it.
 */
#ifndef SIM_ERROR_H
#define SIM_ERROR_H

#include <stdbool.h>
#include <stdio.h>

struct error {
    char text[1024];
};

/* Writes the sentence; returns false, so that `return error_set(...)` ends a function. */
#define error_set(error, ...)                                                                      \
    ((void)snprintf((error)->text, sizeof(error)->text, __VA_ARGS__), false)

#endif
