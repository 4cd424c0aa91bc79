/*
 * slot_bitmap.h: which slots of a small wheel hold timers, one bit each, so that empty ones cost
 * nothing to pass over.
 *
 *   occupied    slot  7 6 5 4 3 2 1 0        seen from slot 4, the clock's:
 *                     . x . . x . . x        slots 5 6 7 0 1 2 3 4 are bits 0 to 7
 *
 * Internal to the structures. A wheel has at most 64 slots, or several words of 64.
 */
#ifndef ALGOS_SLOT_BITMAP_H
#define ALGOS_SLOT_BITMAP_H

#include "timerlab.h"

#include <stdint.h>

/* The lowest `count` bits; any count from 64 on means all. */
static inline uint64_t bitmap_low(uint64_t count)
{
    return count < 64 ? (UINT64_C(1) << count) - 1 : UINT64_MAX;
}

/* The bitmap turned so that bit 0 is the slot after `slot` and bit slots-1 is `slot` itself.
 * Requires slot < slots <= 64. */
static inline uint64_t bitmap_after(uint64_t occupied, uint32_t slot, uint32_t slots)
{
    uint32_t turn = slot + 1 < slots ? slot + 1 : 0;
    return (occupied >> turn | occupied << ((slots - turn) & 63)) & bitmap_low(slots);
}

/* The number of the lowest set bit. Requires one. */
static inline uint32_t bitmap_first(uint64_t bits)
{
    return (uint32_t)__builtin_ctzll(bits);
}

/* Of levels with a word each, a slot of one being 2^bits of the one below: the tick at which the
 * clock enters the first occupied slot of all, or TL_NEVER. */
static inline uint64_t bitmap_levels_next(const uint64_t *occupied, uint32_t level_count,
                                          uint32_t bits, uint32_t slots, uint64_t clock)
{
    uint64_t next = TL_NEVER;
    for (uint32_t level = 0; level < level_count; level++) {
        uint32_t shift = level * bits;
        uint64_t from = clock >> shift;
        if (next <= (from + 1) << shift) {
            break; /* neither this level nor those above have a slot that is entered before */
        }
        uint64_t after = bitmap_after(occupied[level], (uint32_t)from & (slots - 1), slots);
        if (after != 0) {
            uint64_t tick = (from + 1 + bitmap_first(after)) << shift;
            next = tick < next ? tick : next;
        }
    }
    return next;
}

/* Of a wheel of several words: the number of slots between position `from` and the first occupied
 * one after it, cyclically, the slot of `from` last; `slots` if none is. `from` counts modulo
 * the slots, so it may be a tick. Requires a power of two of slots, 64 or more. */
static inline uint32_t bitmap_words_ahead(const uint64_t *words, uint32_t slots, uint64_t from)
{
    uint32_t mask = slots - 1;
    uint32_t begin = (uint32_t)(from + 1) & mask;
    uint64_t bits = words[begin / 64] >> begin % 64;
    if (bits != 0) {
        return bitmap_first(bits);
    }
    /* At last the word of `begin` again, of which only lower bits are left. */
    for (uint32_t ahead = 64 - begin % 64; ahead <= mask; ahead += 64) {
        bits = words[((begin + ahead) & mask) / 64];
        if (bits != 0) {
            return ahead + bitmap_first(bits);
        }
    }
    return slots;
}

/* Of up to 64 words, `filled` says which are not 0, so that empty words cost nothing either: bit n is
 * word n's. Mark a slot, or unmark it. */
static inline void bitmap_mark(uint64_t *words, uint64_t *filled, uint32_t slot)
{
    uint64_t word = words[slot / 64];
    words[slot / 64] = word | UINT64_C(1) << slot % 64;
    if (word == 0) {
        *filled |= UINT64_C(1) << slot / 64;
    }
}

static inline void bitmap_unmark(uint64_t *words, uint64_t *filled, uint32_t slot)
{
    uint64_t word = words[slot / 64] & ~(UINT64_C(1) << slot % 64);
    words[slot / 64] = word;
    if (word == 0) {
        *filled &= ~(UINT64_C(1) << slot / 64);
    }
}

/* The same as bitmap_words_ahead for a level of `count` <= 32 of those words, from `first` on;
 * TL_NEVER if no slot is occupied. */
static inline uint64_t bitmap_filled_ahead(const uint64_t *words, uint64_t filled, uint32_t first,
                                           uint32_t count, uint64_t from)
{
    uint32_t begin = (uint32_t)(from + 1) & (count * 64 - 1);
    uint32_t word = begin / 64;
    uint64_t bits = words[first + word] >> begin % 64;
    if (bits != 0) {
        return bitmap_first(bits);
    }
    filled = filled >> first & bitmap_low(count);
    filled = (filled | filled << count) >> (word + 1) & bitmap_low(count);
    if (filled == 0) {
        return TL_NEVER;
    }
    uint32_t ahead = bitmap_first(filled) + 1; /* `count` is the word of `begin` again */
    bits = words[first + ((word + ahead) & (count - 1))];
    return ahead * 64 - begin % 64 + bitmap_first(bits);
}

#endif
