/* joined_text.h: a text that is built up piece by piece and may be cut short by its buffer.
 * Internal to core. */
#ifndef ALGOS_JOINED_TEXT_H
#define ALGOS_JOINED_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

struct text {
    char *begin;
    size_t bytes;
    size_t used; /* of a buffer that were long enough, without the end's zero */
};

/* An empty text in a buffer of `bytes`, which may be none. */
static inline struct text text_in(char *buffer, size_t bytes)
{
    if (bytes > 0) {
        buffer[0] = '\0';
    }
    return (struct text){.begin = buffer, .bytes = bytes};
}

/* Append, as printf does. */
static inline __attribute__((format(printf, 2, 3))) void text_add(struct text *text,
                                                                  const char *format, ...)
{
    size_t left = text->used < text->bytes ? text->bytes - text->used : 0;
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(left > 0 ? text->begin + text->used : NULL, left, format, arguments);
    va_end(arguments);
    text->used += n > 0 ? (size_t)n : 0;
}

#endif
