/*
 * side_by_side.h: calls of a function in several processes at once, for work that is not timed.
 */
#ifndef SIM_SIDE_BY_SIDE_H
#define SIM_SIDE_BY_SIDE_H

#include <stddef.h>

struct side_by_side {
    size_t count; /* items, from 0 on */
    unsigned processes;
    /* Process one item, in one of the processes. The caller sees only its writes to
     * child_memory_new. */
    void (*run)(void *ctx, size_t item);
    /* Here, after each item. */
    void (*done)(void *ctx);
    void *ctx;
};

/* Run all items. Those of a process that could not be made, or was killed, are not done. */
void side_by_side(const struct side_by_side *work);

#endif
