/*
 * led_calls.h: redirect the calls that a shared library makes of others, by its entries in the table
 * through which a shared library calls others. The rest of the process is not affected.
 *
 * Internal to the structures, and to `live`, which counts the system calls of libraries so.
 */
#ifndef ALGOS_LED_CALLS_H
#define ALGOS_LED_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct led_call {
    const char *name;
    uintptr_t target; /* the function that is called instead */
    bool required;    /* a library that does not call it is not taken */
};

/* Redirect calls of a shared library, a handle of dlopen (with RTLD_NOW), for the whole process. Each
 * `target` becomes the previous one, so that a second call restores them. False: a required call is
 * missing, or the table cannot be written to. */
bool tl_led_calls_swap(void *library, struct led_call *calls, size_t count);

#endif
