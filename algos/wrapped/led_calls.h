/*
 * led_calls.h: what a shared library calls of others, led elsewhere, in that library alone: its
 * entries in the table through which a shared library calls others are overwritten. Nothing else in
 * the process notices.
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

/* Leads calls of a shared library, by what dlopen returned for it (with RTLD_NOW), for the whole
 * process, and puts into each `target` where they went before: with these, a second time, all is as
 * it was. False if the library is not taken, or its table cannot be written to. */
bool tl_led_calls_swap(void *library, struct led_call *calls, size_t count);

#endif
