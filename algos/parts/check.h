/*
 * check.h: words for the hook `check`, when an invariant does not hold.
 *
 * Internal to the structures.
 */
#ifndef ALGOS_CHECK_H
#define ALGOS_CHECK_H

#include "timerlab.h"

#include <stdarg.h>
#include <stdio.h>

/* Write the fault to `why`, as printf does. Return TL_ERR_CORRUPT. */
static inline __attribute__((format(printf, 3, 4))) enum tl_status
corrupt(char *why, size_t why_bytes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why, why_bytes, format, arguments);
    va_end(arguments);
    return TL_ERR_CORRUPT;
}

#endif
