#include "report_text.h"

#include <math.h>
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

/* --- figures --------------------------------------------------------------------------------- */

const char *grouped_text(double value, char text[FIGURE_BYTES])
{
    if (isnan(value)) {
        return "-";
    }
    char digits[FIGURE_BYTES];
    int length = snprintf(digits, sizeof digits, "%.0f", fabs(value));
    if (length < 0 || length > 24) {
        (void)snprintf(text, FIGURE_BYTES, "%.3g", value);
        return text;
    }
    size_t used = 0;
    if (value < 0 && strcmp(digits, "0") != 0) {
        text[used++] = '-';
    }
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            text[used++] = ',';
        }
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}

const char *figure_text(double value, char text[FIGURE_BYTES])
{
    double size = fabs(value);
    if (isnan(value) || size >= 99.95) {
        return grouped_text(value, text);
    }
    if (size > 0) {
        (void)snprintf(text, FIGURE_BYTES, "%.*f", size >= 9.995 ? 1 : 2, value);
        return text;
    }
    return "0";
}

/* A value and its unit, of units that are 1,000 times the one before each. */
static const char *scaled_text(double value, const char *const units[], size_t unit_count,
                               char text[FIGURE_BYTES])
{
    if (isnan(value)) {
        return "-";
    }
    size_t unit = 0;
    while (unit + 1 < unit_count && fabs(value) >= 1000) {
        value /= 1000;
        unit++;
    }
    (void)snprintf(text, FIGURE_BYTES, "%s%s", figure_text(value, FIGURE), units[unit]);
    return text;
}

const char *duration_text(double value_ns, char text[FIGURE_BYTES])
{
    static const char *const units[] = {" ns", " µs", " ms", " s"};
    return scaled_text(value_ns, units, sizeof units / sizeof units[0], text);
}

const char *size_text(double value_bytes, char text[FIGURE_BYTES])
{
    static const char *const units[] = {" B", " kB", " MB", " GB"};
    return scaled_text(value_bytes, units, sizeof units / sizeof units[0], text);
}

const char *rate_text(double value, char text[FIGURE_BYTES])
{
    static const char *const units[] = {"", " thousand", " million"};
    return scaled_text(value, units, sizeof units / sizeof units[0], text);
}

const char *ticks_text(double value_ticks, char text[FIGURE_BYTES])
{
    (void)snprintf(text, FIGURE_BYTES, "%s %s", grouped_text(value_ticks, FIGURE),
                   value_ticks == 1 ? "tick" : "ticks");
    return text;
}
