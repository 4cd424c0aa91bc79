/*
 * report_text.h: what the report is made of: strings that live as long as it does.
 *
 * Texts may hold marks, which the page that they end up on turns into its own: text between two
 * MARK_CODE is code (a structure's name, a command), between two MARK_BOLD it is bold, between two
 * MARK_ITALIC in italics. MARK_LINK, an identifier of the page and a blank begin a link to it,
 * which ends at the next MARK_LINK. No text in UTF-8 holds these bytes, so that only the report
 * itself can mark.
 */
#ifndef SIM_REPORT_TEXT_H
#define SIM_REPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define MARK_CODE   "\xF8"
#define MARK_BOLD   "\xF9"
#define MARK_ITALIC "\xFA"
#define MARK_LINK   "\xFB"

/* Owns strings. Treat as opaque; zero is an empty pool. */
struct pool {
    struct pool_string *strings;
};

/* A new string, which lives until pool_free. */
const char *pool_format(struct pool *pool, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void pool_free(struct pool *pool);

/* A string that grows. Treat as opaque; start with {.pool = POOL}. */
struct text {
    struct pool *pool;
    char *bytes;
    size_t used;
    size_t room;
};

void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends the string, hands it to its pool, and returns it; `text` is empty again. */
const char *text_end(struct text *text);

#endif
