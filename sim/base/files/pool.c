#include "pool.h"

#include "memory.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Takes a string over. */
static const char *pool_keep(struct pool *pool, char *bytes)
{
    MEMORY_REACH(pool->strings, pool->room, pool->count);
    pool->strings[pool->count++] = bytes;
    return bytes;
}

const char *pool_format(struct pool *pool, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *bytes = memory_format_list(format, arguments);
    va_end(arguments);
    return pool_keep(pool, bytes);
}

void pool_free(struct pool *pool)
{
    for (size_t i = 0; i < pool->count; i++) {
        free(pool->strings[i]);
    }
    free((void *)pool->strings);
    *pool = (struct pool){0};
}

void text_add(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *added = memory_format_list(format, arguments);
    va_end(arguments);
    size_t length = strlen(added);
    MEMORY_REACH(text->bytes, text->room, text->used + length);
    memcpy(text->bytes + text->used, added, length + 1);
    text->used += length;
    free(added);
}

const char *text_end(struct text *text)
{
    const char *whole = text->bytes != NULL ? pool_keep(text->pool, text->bytes) : "";
    *text = (struct text){.pool = text->pool};
    return whole;
}
