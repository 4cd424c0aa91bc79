/*
 * heap_entry.h: the entries of heaps in arrays: one number of 128 bits for each timer.
 *
 *   bits 127..64   due tick
 *   bits  63..32   serial of the start
 *   bits  31..0    id
 *
 * A heap's order is (due, serial): the order of these numbers, which a 64-bit processor compares with
 * two instructions and no branch. The processor cannot predict which of two timers is due first, and
 * a wrong guess costs more than the rest of a level. So such choices are made by arithmetic; compilers
 * make branches of `?:` again.
 *
 * Internal to the structures.
 */
#ifndef ALGOS_HEAP_ENTRY_H
#define ALGOS_HEAP_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAP_ENTRY_LINE 64 /* a cache line: four entries */

#ifdef __SIZEOF_INT128__

__extension__ typedef unsigned __int128 heap_entry;

static inline heap_entry heap_entry_make(uint64_t due, uint32_t serial, uint32_t id)
{
    return (heap_entry)due << 64 | (uint64_t)serial << 32 | id;
}

static inline uint64_t heap_entry_due(heap_entry entry)
{
    return (uint64_t)(entry >> 64);
}

static inline uint32_t heap_entry_id(heap_entry entry)
{
    return (uint32_t)entry;
}

/* Not a function: compilers generate slower loops with one. */
#define heap_entry_before(entry, other) ((entry) < (other))

#else /* a processor of 32 bits, where all this is slower, and branches do not matter as much */

typedef struct {
    uint64_t due;
    uint64_t rest;
} heap_entry;

static inline heap_entry heap_entry_make(uint64_t due, uint32_t serial, uint32_t id)
{
    return (heap_entry){due, (uint64_t)serial << 32 | id};
}

static inline uint64_t heap_entry_due(heap_entry entry)
{
    return entry.due;
}

static inline uint32_t heap_entry_id(heap_entry entry)
{
    return (uint32_t)entry.rest;
}

static inline bool heap_entry_before(heap_entry entry, heap_entry other)
{
    return entry.due != other.due ? entry.due < other.due : entry.rest < other.rest;
}

#endif

/* Return `a` if `first`, else `b`, without a branch. */
static inline size_t heap_entry_choose_index(bool first, size_t a, size_t b)
{
    return b ^ ((a ^ b) & -(size_t)first);
}

#endif
