/* growing_array.h: arrays of which nobody knows beforehand how long they get. */
#ifndef SIM_GROWING_ARRAY_H
#define SIM_GROWING_ARRAY_H

#include <stdint.h>
#include <stdlib.h>

/* The array, which has room for *room elements of so many bytes, or a larger one in its place: with
 * room for element `index`. NULL if memory is short; then the old one remains. */
static inline void *array_reach(void *array, uint32_t *room, uint32_t index, size_t element_bytes)
{
    if (index < *room) {
        return array;
    }
    uint64_t larger = (uint64_t)index < 1024 ? 1024 : (uint64_t)index * 2;
    void *moved = larger <= UINT32_MAX ? realloc(array, (size_t)larger * element_bytes) : NULL;
    if (moved != NULL) {
        *room = (uint32_t)larger;
    }
    return moved;
}

#endif
