/*
 * kit_guard.h: an allocator that detects misuse. Each block is between two canaries, is filled with
 * one pattern when allocated and another when freed, never grows in place, and is not reused for a
 * while after it was freed. So writes outside a block or to a freed one, double frees and wrong sizes
 * are detected, and reads of uninitialized memory return senseless values. Under the address
 * sanitizer, reads outside a block end the process.
 *
 * Reads alone leave no trace in a canary, so blocks can also be placed between protected pages, where
 * an access raises a signal that is reported. That costs two pages and more for each block.
 */
#ifndef SIM_KIT_GUARD_H
#define SIM_KIT_GUARD_H

#include "timerlab.h"

#include <stddef.h>
#include <stdint.h>

/* Report a misuse, in words; must not return. */
typedef void (*kit_guard_report_fn)(void *ctx, const char *what);

struct kit_guard_block;

#define KIT_GUARD_QUARANTINE 64u

/* Where a block is. */
enum kit_guard_place {
    KIT_GUARD_CANARIES,    /* between canaries */
    KIT_GUARD_PAGE_BEHIND, /* a protected page follows it, as close as its alignment allows */
    KIT_GUARD_PAGE_BEFORE  /* a protected page is before it */
};

/* Treat as opaque but for the documented fields; initialise with kit_guard_init. */
struct kit_guard {
    struct tl_allocator allocator; /* hand this to create */
    uint64_t bytes;                /* given out now */
    uint64_t blocks;               /* given out now */
    uint64_t allocations;          /* calls that asked for new or more memory */
    uint64_t refused;              /* of those, how many were refused */
    uint64_t limit_bytes;          /* settable: a request that would pass it is refused */
    uint64_t largest_bytes;        /* settable: a larger request is refused */
    uint64_t grants;               /* settable: requests that are still granted; UINT64_MAX: all */
    uint8_t fresh;                 /* settable: the pattern in new memory */
    enum kit_guard_place place;    /* settable before anything is given out */
    uint64_t raw_bytes;            /* memory taken from malloc, or pages */
    const char *(*during)(void *report_ctx); /* settable: which hook asks; NULL: not known */
    const char *block_word;                  /* settable: the names of a block in a report */
    const char *freed_words;                 /* and of freed memory */
    struct kit_guard *beside; /* settable: a guard to watch together with this one; or NULL */
    kit_guard_report_fn report;
    void *report_ctx;
    struct kit_guard_block *first;                            /* of all, freed ones included */
    struct kit_guard_block *quarantine[KIT_GUARD_QUARANTINE]; /* freed ones, in turn */
    size_t quarantine_at;
};

/* Ready a guard that grants all requests. */
void kit_guard_init(struct kit_guard *guard, kit_guard_report_fn report, void *report_ctx);

/* Report signals raised by accesses to the protected pages of this guard and of the others in its
 * list. One guard at a time in a process. */
void kit_guard_watch(struct kit_guard *guard);

/* Check all canaries and the freed blocks that are still kept; report the first damage. */
void kit_guard_check(struct kit_guard *guard);

/* Return the index of the first byte of [at, at + bytes) that is not `pattern`, or `bytes`. */
size_t kit_guard_first_other(const unsigned char *at, unsigned char pattern, size_t bytes);

/* Free all blocks, also those in use. Checks nothing. */
void kit_guard_release(struct kit_guard *guard);

/* Return the memory that the process has from malloc. */
uint64_t kit_heap_bytes(void);

#endif
