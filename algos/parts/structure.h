/*
 * structure.h: create and destroy a structure, and its smallest hooks.
 *
 * Internal, and a template: the including file first defines STRUCTURE, its own struct, and
 * includes the parts that the struct is made of. These, or the file, may define STRUCTURE_MOVED,
 * the hook `moved`; else the struct has a member `records` if records.h is included. A struct that
 * ends with an array defines STRUCTURE_BYTES, its size by its other members. A struct of buckets may
 * define COLLECTS_DUE.
 */
#ifndef ALGOS_STRUCTURE_H
#define ALGOS_STRUCTURE_H

#include "timerlab.h"

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

#ifdef TIMER_BUCKETS
/* The hook `destroy` of a struct that begins with its buckets and has no other memory. */
static inline void buckets_destroy(void *self)
{
    STRUCTURE *structure = self;
    nodes_free(&structure->buckets);
    structure_free(structure, structure->buckets.allocator);
}

/* For the descriptor: the hooks destroy and reserve of such a struct. */
#define BUCKETS_MEMORY_HOOKS .destroy = buckets_destroy, .reserve = buckets_reserve

#ifdef COLLECTS_DUE
/* Move the clock to `now`, and all timers that are due by then to DUE. The including file's. */
static void collect_due(STRUCTURE *structure, uint64_t now);

/* The hook `advance`. */
static inline uint64_t buckets_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                                       void *ctx)
{
    collect_due(self, now);
    return buckets_fire(self, now, budget, fire, ctx);
}
#endif
#endif

/* For the descriptor: the table of options, and the struct that it fills in. */
#define OPTIONS(table, type) .options = (table), .options_bytes = sizeof(type)

#endif
