/*
 * structure.h: making and freeing a structure.
 *
 * Internal, and a template: the including file first defines STRUCTURE, its own struct. What it has
 * included before may define STRUCTURE_MOVED: the hook `moved`, by which it is told of its records.
 */
#ifndef ALGOS_STRUCTURE_H
#define ALGOS_STRUCTURE_H

#include "timerlab.h"

#include <stdalign.h>

/* Frees the struct itself; what it points to is freed already. */
static inline void structure_free(STRUCTURE *structure, const struct tl_allocator *allocator)
{
    tl_free(allocator, structure, sizeof *structure, alignof(STRUCTURE));
}

/* For the hook `create`: makes a structure that begins as `empty`, in which `reserve` makes room
 * for the timers that are asked for. On failure nothing is left. */
static inline enum tl_status structure_create(const struct tl_config *config,
                                              const STRUCTURE *empty,
                                              enum tl_status (*reserve)(void *, uint32_t),
                                              void **self)
{
    STRUCTURE *structure = tl_alloc(config->allocator, sizeof *structure, alignof(STRUCTURE));
    if (structure == NULL) {
        return TL_ERR_NOMEM;
    }
    *structure = *empty;
#if defined(TL_EMBEDDED) && defined(STRUCTURE_MOVED)
    if (config->records != NULL) {
        STRUCTURE_MOVED(structure, config->records);
    }
#endif
    enum tl_status status = reserve(structure, config->capacity);
    if (status != TL_OK) {
        structure_free(structure, config->allocator);
        return status;
    }
    *self = structure;
    return TL_OK;
}

#endif
