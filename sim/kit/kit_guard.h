/*
 * kit_guard.h: an allocator that watches its user. Each block lies between two canaries, is filled
 * with a pattern when it is given out and another when it is given back, never grows in place, and
 * stays out of use for a while after it was freed: writing outside a block, writing to a freed
 * one, freeing one twice or with the wrong size are noticed, and reading what was never written
 * gives values that make no sense. Under the address sanitizer, reading there ends the process.
 *
 * Reading alone leaves no trace in a canary. So blocks can be given out between protected pages:
 * then it ends in a signal, which is told as what it was. That takes two pages and more a block.
 */
#ifndef SIM_KIT_GUARD_H
#define SIM_KIT_GUARD_H

#include "timerlab.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Told what the user did wrong, in words; does not return. */
typedef void (*kit_guard_report_fn)(void *ctx, const char *what);

struct kit_guard_block;

#define KIT_GUARD_QUARANTINE 64u

/* Where a block lies. */
enum kit_guard_place {
    KIT_GUARD_CANARIES,    /* between canaries */
    KIT_GUARD_PAGE_BEHIND, /* a protected page is behind it, as near as its alignment allows */
    KIT_GUARD_PAGE_BEFORE  /* a protected page is before it */
};

/* Treat as opaque but for the documented fields; initialise with kit_guard_init. */
struct kit_guard {
    struct tl_allocator allocator; /* hand this to create */
    uint64_t bytes;                /* given out now */
    uint64_t peak_bytes;           /* the most at any time */
    uint64_t blocks;               /* given out now */
    uint64_t allocations;          /* calls that asked for new or more memory */
    uint64_t refused;              /* of those, how many were refused */
    uint64_t limit_bytes;          /* settable: a request that would pass it is refused */
    uint64_t grants;               /* settable: so many more requests succeed; UINT64_MAX: all */
    uint8_t fresh;                 /* settable: the pattern in new memory */
    enum kit_guard_place place;    /* settable before anything is given out */
    uint64_t raw_bytes;            /* what all this has taken by way of malloc */
    const char *(*during)(void *report_ctx); /* settable: which hook asks; NULL: not known */
    const char *block_word;                  /* settable: what a block is called in a report, */
    const char *freed_words;                 /* and memory that was given back */
    struct kit_guard *beside;                /* settable: watched along with this one; NULL: none */
    kit_guard_report_fn report;
    void *report_ctx;
    struct kit_guard_block *first;
    struct kit_guard_block *quarantine[KIT_GUARD_QUARANTINE];
    size_t quarantine_at;
};

void kit_guard_init(struct kit_guard *guard, kit_guard_report_fn report, void *report_ctx);

/* From now on, a signal because of memory is told as what was done to which block of this guard, or
 * of those beside it, if it was one. For a process that is about these alone. */
void kit_guard_watch(struct kit_guard *guard);

/* Looks at every canary, and at the freed blocks that are still at hand; reports what is broken. */
void kit_guard_check(struct kit_guard *guard);

/* The first byte of [at, at + bytes) that is not `pattern`; `bytes` if there is none. */
size_t kit_guard_first_other(const unsigned char *at, unsigned char pattern, size_t bytes);

/* Gives everything back to the system, blocks still given out included. Checks nothing. */
void kit_guard_release(struct kit_guard *guard);

/* What the whole process has by way of malloc. */
uint64_t kit_heap_bytes(void);

#endif
