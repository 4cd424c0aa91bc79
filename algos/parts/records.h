/*
 * records.h: where the bytes that a structure keeps of each timer lie: in an array of its own, or,
 * with tl_config.records, in the caller's records.
 *
 *   record 0             record 1             record 2
 *   ....[timer 0].....   ....[timer 1].....   ....[timer 2].....      base, stride, offset
 *
 * In an array the size of an entry is a constant, and its address one instruction; in records both
 * are known at run time only. So that neither pays for the other, a structure with embeddable
 * timers is compiled once more, with TL_EMBEDDED: only that build takes records, and it asks for
 * the address of each timer here. It takes memory of its own, too, in the same way.
 *
 * Internal to the structures.
 */
#ifndef ALGOS_RECORDS_H
#define ALGOS_RECORDS_H

#include "timerlab.h"

/* Members of a struct with an array of nodes by id in the order of due tick and start
 * (ordered_nodes.h). */
#define ORDERED_NODES                                                                              \
    struct node *nodes AND_RECORDS;                                                                \
    uint64_t count;                                                                                \
    uint64_t clock;                                                                                \
    uint64_t serial; /* of the next start */                                                       \
    const struct tl_allocator *allocator;                                                          \
    struct tl_counters counters;                                                                   \
    uint32_t capacity

struct timer_records {
    char *first;           /* the bytes of timer 0 */
    size_t stride;         /* an odd number times 2^stride_shift; */
    uint32_t stride_shift; /* that number times stride_inverse is 1 modulo 2^32 */
    uint32_t stride_inverse;
    bool given; /* they are the caller's */
};

#ifdef TL_EMBEDDED

/* Written after the name of the member that holds the array, in the structure's struct. */
#define AND_RECORDS                                                                                \
    ;                                                                                              \
    struct timer_records records

/* For the descriptor: the bytes of a timer, so that another's may follow, and the hook `moved`. */
#define EMBEDDED_BYTES(bytes) (((bytes) + 7) / 8 * 8)
#define EMBEDDED_HOOK(hook)   hook

static inline void *record_at(const struct timer_records *records, uint32_t id)
{
    return records->first + (size_t)id * records->stride;
}

/* Return the id of the timer at this address. Its distance from timer 0 is a multiple of the stride,
 * so a multiplication divides it. */
static inline uint32_t record_id(const struct timer_records *records, const void *timer)
{
    size_t distance = (size_t)((const char *)timer - records->first);
    return (uint32_t)(distance >> records->stride_shift) * records->stride_inverse;
}

static inline struct timer_records records_from(void *first, size_t stride, bool given)
{
    uint32_t shift = (uint32_t)__builtin_ctzll(stride);
    uint32_t odd = (uint32_t)(stride >> shift);
    uint32_t inverse = odd; /* right in 3 bits, and by each round in twice as many */
    for (uint32_t bits = 3; bits < 32; bits *= 2) {
        inverse *= 2 - odd * inverse;
    }
    return (struct timer_records){first, stride, shift, inverse, given};
}

/* They are the caller's: for create, and for the hook `moved`. */
static inline void records_give(struct timer_records *records, const struct tl_records *given)
{
    *records = records_from((char *)given->base + given->offset_bytes, given->stride_bytes, true);
}

/* Unless they are the caller's, they are an array that has come to lie at `first`. */
static inline void records_own(struct timer_records *records, void *first, size_t entry_bytes)
{
    if (!records->given) {
        *records = records_from(first, entry_bytes, false);
    }
}

/* How many entries the structure's own array has, for that many timers. */
#define OWN_ENTRIES(array, capacity) ((array)->records.given ? 0 : (capacity))
#define OWN_ARRAY(array, first_entry, entry_bytes)                                                 \
    records_own(&(array)->records, first_entry, entry_bytes)

#else

#define AND_RECORDS
#define EMBEDDED_BYTES(bytes)                      0
#define EMBEDDED_HOOK(hook)                        NULL
#define OWN_ENTRIES(array, capacity)               (capacity)
#define OWN_ARRAY(array, first_entry, entry_bytes) ((void)0)

#endif

#endif
