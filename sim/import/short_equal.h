/*
 * short_equal.h: whether two short pieces of memory are equal, without a call and without asking
 * for their length more closely than twice. For names and keys, of which millions are compared.
 */
#ifndef SIM_SHORT_EQUAL_H
#define SIM_SHORT_EQUAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The bits in which eight bytes of `a` and of `b` differ. */
static inline uint64_t short_difference(const char *a, const char *b)
{
    uint64_t one;
    uint64_t other;
    memcpy(&one, a, sizeof one);
    memcpy(&other, b, sizeof other);
    return one ^ other;
}

/* Whether `length` bytes at `a` and at `b` are equal; reads no others. Quick for 8 to 32 bytes. */
static inline bool short_equal(const void *a, const void *b, size_t length)
{
    const char *one = a;
    const char *other = b;
    if (length < 8 || length > 32) {
        return length == 0 || memcmp(one, other, length) == 0;
    }
    uint64_t difference =
        short_difference(one, other) | short_difference(one + length - 8, other + length - 8);
    if (length > 16) {
        difference |= short_difference(one + 8, other + 8) |
                      short_difference(one + length - 16, other + length - 16);
    }
    return difference == 0;
}

#endif
