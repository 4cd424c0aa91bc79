/* pool.h: strings that live as long as the page or table that they are made for. */
#ifndef SIM_POOL_H
#define SIM_POOL_H

#include <stddef.h>

/* Owns strings. Treat as opaque; zero is an empty pool. */
struct pool {
    char **strings;
    size_t count;
    size_t room;
};

/* Return a new string, which lives until pool_free. */
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

/* End the string, hand it to its pool, and return it; `text` is empty again. */
const char *text_end(struct text *text);

#endif
