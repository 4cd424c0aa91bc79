/*
 * loaded_library.h: functions of a shared library that is loaded when a structure first needs it,
 * so that a program that links to timerlab depends on no library that it does not use.
 *
 *     #define FUNCTIONS(X) X(ev_run) X(ev_loop_new)
 *     LOADED_LIBRARY(FUNCTIONS, "libev.so.4");
 *
 *     if (tl_library_load(&library) == NULL) { return tl_library_missing(); }
 *     lib.ev_run(loop, 0);
 *
 * The pointers have the types that the library's header declares. The file is named with the number
 * of the binary interface to which the headers at build time belong.
 *
 * Internal to the structures.
 */
#ifndef ALGOS_LOADED_LIBRARY_H
#define ALGOS_LOADED_LIBRARY_H

#include "timerlab.h"

#include <errno.h>
#include <stddef.h>

struct loaded_function {
    const char *name;
    void *pointer; /* to the pointer that is to be set */
};

struct loaded_library {
    const char *files[3];                    /* the first that is there is taken; NULL ends them */
    const struct loaded_function *functions; /* ended by one without a name */
    void *handle;                            /* NULL: not loaded yet */
};

/* Declare `lib` with the pointers, and `library` with their source. */
#define LOADED_LIBRARY(FUNCTIONS, ...)                                                             \
    static struct {                                                                                \
        FUNCTIONS(LOADED_POINTER)                                                                  \
    } lib;                                                                                         \
    static struct loaded_library library = {                                                       \
        .files = {__VA_ARGS__},                                                                    \
        .functions = (const struct loaded_function[]){FUNCTIONS(LOADED_ROW){NULL, NULL}}}
#define LOADED_POINTER(function) __typeof__(function)(*(function));
#define LOADED_ROW(function)     {#function, &lib.function},

/* Load the library, for good, and set the pointers, unless that is done. Return its handle; NULL if
 * it is not installed, or lacks one of the functions, or with errno ENOMEM. */
void *tl_library_load(struct loaded_library *library);

/* The status for a NULL of it. */
static inline enum tl_status tl_library_missing(void)
{
    return errno == ENOMEM ? TL_ERR_NOMEM : TL_ERR_UNAVAILABLE;
}

#endif
