/*
 * walk.h: words for the hooks `check` and `walk`, in one line each.
 *
 * Internal to the structures.
 */
#ifndef ALGOS_WALK_H
#define ALGOS_WALK_H

#include "timerlab.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* For `check`: write the fault to `why`, as printf does. Return TL_ERR_CORRUPT. */
static inline __attribute__((format(printf, 3, 4))) enum tl_status
corrupt(char *why, size_t why_bytes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why, why_bytes, format, arguments);
    va_end(arguments);
    return TL_ERR_CORRUPT;
}

static inline void walk_part(const struct tl_visitor *visitor, const char *name, enum tl_form form,
                             uint64_t cell_ticks)
{
    visitor->part(visitor->ctx,
                  &(struct tl_part){.name = name, .form = form, .cell_ticks = cell_ticks});
}

/* Level `number` of wheels, from 1. */
static inline void walk_level(const struct tl_visitor *visitor, uint32_t number,
                              uint64_t cell_ticks)
{
    char name[24];
    (void)snprintf(name, sizeof name, "level %" PRIu32, number);
    walk_part(visitor, name, TL_FORM_WHEEL, cell_ticks);
}

/* A slot, which stands for `cell_ticks` ticks, the last of them `to`. */
static inline void walk_slot(const struct tl_visitor *visitor, uint64_t index, uint64_t to,
                             uint64_t cell_ticks, uint32_t marks)
{
    visitor->cell(visitor->ctx,
                  &(struct tl_cell){.index = index,
                                    .parent = TL_NEVER,
                                    .from = to >= cell_ticks - 1 ? to - (cell_ticks - 1) : 0,
                                    .to = to,
                                    .marks = marks});
}

/* How many slots the hand has to go until it comes to one: all of a turn, if it is there. */
static inline uint32_t slots_ahead(uint32_t hand, uint32_t slot, uint32_t slots)
{
    return slot > hand ? slot - hand : slot + slots - hand;
}

/* A slot of the ticks `from` to `to`, cut at the largest deadline; beyond that, of none. A slot that
 * begins before tick 0, where `from` wraps around, is shown from tick 0. */
static inline void walk_span(const struct tl_visitor *visitor, uint64_t index, uint64_t from,
                             uint64_t to, uint32_t marks)
{
    from = from > to ? 0 : from;
    bool beyond = from > TL_DEADLINE_MAX;
    uint64_t last = to < TL_DEADLINE_MAX ? to : TL_DEADLINE_MAX;
    visitor->cell(visitor->ctx, &(struct tl_cell){.index = index,
                                                  .parent = TL_NEVER,
                                                  .from = beyond ? TL_NEVER : from,
                                                  .to = beyond ? TL_NEVER : last,
                                                  .marks = marks});
}

/* A cell of a list or tree, which stands for no ticks; `parent` is TL_NEVER in a list. */
static inline void walk_node(const struct tl_visitor *visitor, uint64_t index, uint64_t parent)
{
    visitor->cell(
        visitor->ctx,
        &(struct tl_cell){.index = index, .parent = parent, .from = TL_NEVER, .to = TL_NEVER});
}

/* A cell that stands for the cell of another part, which is due at the tick `at`. */
static inline void walk_reference(const struct tl_visitor *visitor, uint64_t index, uint64_t parent,
                                  uint64_t at, const char *refers)
{
    visitor->cell(visitor->ctx,
                  &(struct tl_cell){
                      .index = index, .parent = parent, .from = at, .to = at, .refers = refers});
}

/* A timer that is pending; `at` is TL_NEVER where no tick is kept with it. */
static inline void walk_timer(const struct tl_visitor *visitor, uint32_t id, uint64_t at,
                              uint64_t rounds)
{
    visitor->timer(visitor->ctx, &(struct tl_held){.id = id, .at = at, .rounds = rounds});
}

/* A stale entry, the remains of a stop or restart. */
static inline void walk_stale(const struct tl_visitor *visitor, uint32_t id, uint64_t at)
{
    visitor->timer(visitor->ctx, &(struct tl_held){.id = id, .marks = TL_MARK_STALE, .at = at});
}

/* The part of the lists DUE and LATE, shown where they hold anything. */
static inline void walk_due_part(const struct tl_visitor *visitor)
{
    walk_part(visitor, "due now", TL_FORM_LIST, 0);
}

#endif
