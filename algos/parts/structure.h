/*
 * structure.h: create and destroy a structure, and its smallest hooks.
 *
 * Internal, and a template: the including file first defines STRUCTURE, its own struct, and
 * includes the parts that the struct is made of. These, or the file, may define STRUCTURE_MOVED,
 * the hook `moved`; else the struct has a member `records` if records.h is included. A struct that
 * ends with an array defines STRUCTURE_BYTES, its size by its other members.
 */
#ifndef ALGOS_STRUCTURE_H
#define ALGOS_STRUCTURE_H

#include "tuning.h"
#include "walk.h"

#include <stdalign.h>
#include <string.h>

#ifndef STRUCTURE_BYTES
#define STRUCTURE_BYTES(structure) sizeof(*(structure))
#endif

#ifndef STRUCTURE_MOVED
#if defined(TL_EMBEDDED) && defined(ALGOS_RECORDS_H)
static inline void structure_moved(void *self, const struct tl_records *records)
{
    records_give(&((STRUCTURE *)self)->records, records);
}
#define STRUCTURE_MOVED structure_moved
#endif
#endif

/* Free the struct itself; its memory is freed already. */
static inline void structure_free(STRUCTURE *structure, const struct tl_allocator *allocator)
{
    tl_free(allocator, structure, STRUCTURE_BYTES(structure), alignof(STRUCTURE));
}

/* For the hook `create`: create a structure that begins as `empty`, which has no memory of its own,
 * and with zeros in the array at its end; `reserve` for the configured capacity. On failure
 * `destroy` frees what `reserve` has allocated. */
static inline enum tl_status structure_create(const struct tl_config *config,
                                              const STRUCTURE *empty,
                                              enum tl_status (*reserve)(void *, uint32_t),
                                              void (*destroy)(void *), void **self)
{
    size_t bytes = STRUCTURE_BYTES(empty);
    STRUCTURE *structure = tl_alloc(config->allocator, bytes, alignof(STRUCTURE));
    if (structure == NULL) {
        return TL_ERR_NOMEM;
    }
    memset(structure, 0, bytes);
    *structure = *empty;
#if defined(TL_EMBEDDED) && defined(STRUCTURE_MOVED)
    if (config->records != NULL) {
        STRUCTURE_MOVED(structure, config->records);
    }
#endif
    enum tl_status status = reserve(structure, config->capacity);
    if (status != TL_OK) {
        destroy(structure);
        return status;
    }
    *self = structure;
    return TL_OK;
}

/* For the descriptor: the table of options, and the struct that it fills in. */
#define OPTIONS(table, type) .options = (table), .options_bytes = sizeof(type)

#endif
