#include "report_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pool_string {
    struct pool_string *next;
    char *bytes;
};

/* Takes a string that malloc made; NULL counts as memory that ran out. */
static const char *pool_keep(struct pool *pool, char *bytes)
{
    struct pool_string *string = malloc(sizeof *string);
    if (bytes == NULL || string == NULL) {
        free(bytes);
        free(string);
        pool->failed = true;
        return "";
    }
    string->bytes = bytes;
    string->next = pool->strings;
    pool->strings = string;
    return bytes;
}

const char *pool_format(struct pool *pool, const char *format, ...)
{
    char *bytes = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&bytes, format, arguments) < 0) {
        bytes = NULL;
    }
    va_end(arguments);
    return pool_keep(pool, bytes);
}

void pool_free(struct pool *pool)
{
    while (pool->strings != NULL) {
        struct pool_string *string = pool->strings;
        pool->strings = string->next;
        free(string->bytes);
        free(string);
    }
}

void text_add(struct text *text, const char *format, ...)
{
    char *added = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&added, format, arguments);
    va_end(arguments);
    if (length < 0) {
        text->pool->failed = true;
        return;
    }
    size_t needed = text->used + (size_t)length + 1;
    if (needed > text->room) {
        size_t room = needed > 2 * text->room ? needed : 2 * text->room;
        char *bytes = realloc(text->bytes, room);
        if (bytes == NULL) {
            free(added);
            text->pool->failed = true;
            return;
        }
        text->bytes = bytes;
        text->room = room;
    }
    memcpy(text->bytes + text->used, added, (size_t)length + 1);
    text->used += (size_t)length;
    free(added);
}

void text_add_joint(struct text *text, size_t index, size_t count)
{
    if (index > 0) {
        text_add(text, "%s", index + 1 < count ? ", " : " and ");
    }
}

const char *text_end(struct text *text)
{
    const char *whole = text->bytes != NULL ? pool_keep(text->pool, text->bytes) : "";
    *text = (struct text){.pool = text->pool};
    return whole;
}
