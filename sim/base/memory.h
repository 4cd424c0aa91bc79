/*
 * memory.h: allocation that cannot fail, for everything in sim/ and bench/. If the system has no
 * memory left, the process ends: "PROGRAM: out of memory" on standard error, exit status 1. A child
 * of child.h ends with these words as its result. So no function here returns NULL.
 *
 * The caller frees the result with free(). A structure gets its memory from the allocator passed to
 * its `create`, not from here: for it, failure is a result.
 */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* `count` elements of `bytes` bytes each, all zero. Never NULL, even for none. */
void *memory_new(size_t count, size_t bytes) __attribute__((malloc, returns_nonnull));

/* The same for a table of which any element may be next: on huge pages where the system has any, so
 * that finding it costs no search for its page. Memory that was never written to is not taken. */
void *memory_table(size_t count, size_t bytes) __attribute__((returns_nonnull));

/* Give it back; harmless on NULL. */
void memory_table_free(void *table, size_t count, size_t bytes);

/* The same for a table of which few elements may be used: memory is taken page by page, as they are
 * written to. */
void *memory_sparse(size_t count, size_t bytes) __attribute__((returns_nonnull));
void memory_sparse_free(void *table, size_t count, size_t bytes);

/* Resize the array, which may move. Added bytes are not zeroed. */
void *memory_resize(void *array, size_t count, size_t bytes) __attribute__((returns_nonnull));

/* Return `bytes` bytes, not zeroed. Programs also give this function to jansson, which then fails
 * only for bad input, such as text that is not UTF-8. */
void *memory_bytes(size_t bytes) __attribute__((malloc, returns_nonnull));

/* Make room in `array`, which has room for `room` elements, for element `index`. The room at least
 * doubles, so that appending takes constant time on average. */
#define MEMORY_REACH(array, room, index)                                                           \
    do {                                                                                           \
        if ((index) >= (room)) {                                                                   \
            size_t reached = memory_room((index), (__typeof__(room))-1);                           \
            (array) = memory_resize((void *)(array), reached, sizeof *(array));                    \
            (room) = (__typeof__(room))reached;                                                    \
        }                                                                                          \
    } while (0)

/* For MEMORY_REACH: a room that has an element `index` and is at most `most`. */
size_t memory_room(size_t index, size_t most);

/* Copies of a text, and of the part of one that has at most `length` bytes. */
char *memory_copy(const char *text) __attribute__((malloc, returns_nonnull));
char *memory_copy_part(const char *text, size_t length) __attribute__((malloc, returns_nonnull));

/* A formatted text. */
char *memory_format(const char *format, ...)
    __attribute__((format(printf, 1, 2), malloc, returns_nonnull));
char *memory_format_list(const char *format, va_list arguments)
    __attribute__((format(printf, 1, 0), malloc, returns_nonnull));

/* A stream that writes into memory. After memory_stream_close, *text has all of it, with a NUL at
 * its end that *bytes does not count. */
FILE *memory_stream(char **text, size_t *bytes) __attribute__((returns_nonnull));
void memory_stream_close(FILE *stream);

/* getdelim, which does not say otherwise that memory was missing. */
ssize_t memory_read_until(char **text, size_t *room, int delimiter, FILE *stream);

/* For what other libraries allocate: returns `made`, or ends the process if it is NULL; the second
 * only if errno says that memory is short. */
void *memory_made(void *made) __attribute__((returns_nonnull));
void *memory_unless_short(void *made);

/* Return nine tenths of the machine's memory, or UINT64_MAX if the system does not say. */
uint64_t memory_default_limit(void);

/* Return the memory that is free now. */
uint64_t memory_free_bytes(void);

/* Ends the process, as above. */
void memory_end(void) __attribute__((__noreturn__));

/* Does what `end` does instead of printing and exiting; `end` must not return. */
void memory_set_end(void (*end)(void));

#endif
