/*
 * bucket_hooks.h: the hooks of a structure that keeps its timers in buckets.
 *
 * Internal, and a template. The including file first includes timer_buckets.h and defines STRUCTURE,
 * its own struct, which begins with its buckets. It defines those of these names that apply, and
 * afterwards the functions that are declared below without a body:
 *
 *   WORK_AT       the struct has a member uint64_t work_at: before that tick an advance only sets the
 *                 clock
 *   FILE_TIMER    the file has file_timer
 *   TAKE_OUT      the function that takes a pending timer out of where it is; default: of its list
 *   OWN_ADVANCE   the file has its own hook `advance`, and no collect_due
 *   SCOUTED       the struct has a member `scouts` (slot_ring.h), which step while timers fire
 *   NEXT_WORK     the file has next_work
 *   TAKES_FROM    the file has bucket_takes, for the buckets from this one on
 */
#ifndef ALGOS_BUCKET_HOOKS_H
#define ALGOS_BUCKET_HOOKS_H

#include "structure.h"
#include "timer_buckets.h"

/* --- memory ---------------------------------------------------------------------------------- */

/* The hook `destroy` of a struct that has no other memory. */
static inline void buckets_destroy(void *self)
{
    STRUCTURE *structure = self;
    nodes_free(&structure->buckets);
    structure_free(structure, structure->buckets.allocator);
}

/* For the descriptor: the hooks destroy, reserve, stop, count, counters and moved, and embedded_bytes;
 * and without the first two, for a structure with other memory. */
#define BUCKETS_HOOKS                                                                              \
    .destroy = buckets_destroy, .reserve = buckets_reserve, .stop = buckets_stop,                  \
    .count = nodes_count, .counters = nodes_counters,                                              \
    .embedded_bytes = EMBEDDED_BYTES(sizeof(struct node)), .moved = EMBEDDED_HOOK(nodes_moved)
#define BUCKETS_OTHER_HOOKS                                                                        \
    .stop = buckets_stop, .count = nodes_count, .counters = nodes_counters,                        \
    .embedded_bytes = EMBEDDED_BYTES(sizeof(struct node)), .moved = EMBEDDED_HOOK(nodes_moved)

/* --- start and stop -------------------------------------------------------------------------- */

#ifdef TAKE_OUT
static inline void TAKE_OUT(STRUCTURE *structure, uint32_t index);
#else
#define TAKE_OUT take_out_of_list
static inline void take_out_of_list(STRUCTURE *structure, uint32_t index)
{
    slot_remove(&structure->buckets, index);
    TL_COUNT(&structure->buckets, moves, 1);
}
#endif

/* For the hook `start`: take the timer out of where it may be, and count it as pending. Return its
 * index. */
static inline uint32_t take_for_start(STRUCTURE *structure, uint32_t id)
{
    uint32_t index = timer_index(&structure->buckets, id);
    if (slot_is_linked(&structure->buckets, index)) {
        TAKE_OUT(structure, index);
    } else {
        structure->buckets.count++;
    }
    return index;
}

static inline enum tl_status buckets_stop(void *self, uint32_t id)
{
    STRUCTURE *structure = self;
    uint32_t index = timer_index(&structure->buckets, id);
    if (!slot_is_linked(&structure->buckets, index)) {
        return TL_IDLE;
    }
    TAKE_OUT(structure, index);
    structure->buckets.count--;
    return TL_OK;
}

#ifdef WORK_AT
#define FILED uint64_t
/* There is work at a tick. It is rarely before work_at: no start waits for the store of the last. */
static inline void work_before(STRUCTURE *structure, uint64_t at)
{
    if (at < structure->work_at) {
        structure->work_at = at;
    }
}
#else
#define FILED                         void
#define work_before(structure, filed) (filed)
#endif

/* File a timer that is due at its start. */
static inline void append_late(STRUCTURE *structure, uint32_t index)
{
    bucket_append(&structure->buckets, LATE, index);
#ifdef WORK_AT
    structure->work_at = 0;
#endif
}

#ifdef FILE_TIMER
/* File a timer that is in no list and due after the clock. With WORK_AT, return the tick at which there
 * is work for it. */
static inline FILED file_timer(STRUCTURE *structure, uint32_t index, uint64_t due);

/* The hook `start`. */
static inline enum tl_status buckets_start(void *self, uint32_t id, uint64_t deadline)
{
    STRUCTURE *structure = self;
    uint32_t index = take_for_start(structure, id);
#ifdef ALGOS_DUE_BUCKETS_H
    node_at(&structure->buckets, index)->due = deadline;
#endif
    if (deadline > structure->buckets.clock) {
        work_before(structure, file_timer(structure, index, deadline));
    } else {
        append_late(structure, index);
    }
    return TL_OK;
}

#ifdef ALGOS_DUE_BUCKETS_H
/* For slot_drain: append a timer of a slot that the clock has entered to DUE, or file it where the
 * clock now reaches it. */
static inline void file_again(void *self, uint32_t index)
{
    STRUCTURE *structure = self;
    uint64_t due = node_at(&structure->buckets, index)->due;
    TL_COUNT(&structure->buckets, compares, 1);
    if (due <= structure->buckets.clock) {
        bucket_append(&structure->buckets, DUE, index);
    } else {
        TL_COUNT(&structure->buckets, cascades, 1);
        (void)file_timer(structure, index, due);
    }
}
#endif
#endif

/* --- advance and next ------------------------------------------------------------------------ */

#ifndef OWN_ADVANCE
/* Move the clock to `now`, everything that is due by then to DUE, and work_at on. */
static void collect_due(STRUCTURE *structure, uint64_t now);

static inline uint64_t collect_and_fire(STRUCTURE *structure, uint64_t now, uint64_t budget,
                                        tl_fire_fn fire, void *ctx)
{
    collect_due(structure, now);
#ifdef SCOUTED
    return ring_fire(&structure->buckets, &structure->scouts, now, budget, fire, ctx);
#else
    return buckets_fire(&structure->buckets, now, budget, fire, ctx);
#endif
}

#ifdef WORK_AT
/* An advance at which there may be something to do. */
static NEVER_INLINE uint64_t work(STRUCTURE *structure, uint64_t now, uint64_t budget,
                                  tl_fire_fn fire, void *ctx)
{
    uint64_t fired = collect_and_fire(structure, now, budget, fire, ctx);
    if (fired == budget) {
        structure->work_at = 0; /* timers may be left */
    }
    return fired;
}
#endif

/* The hook `advance`. */
static inline uint64_t buckets_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                                       void *ctx)
{
    STRUCTURE *structure = self;
#ifdef WORK_AT
    if (TUNED && now < structure->work_at) {
        structure->buckets.clock = now;
        return 0;
    }
    return work(structure, now, budget, fire, ctx);
#else
    return collect_and_fire(structure, now, budget, fire, ctx);
#endif
}
#endif

#ifdef NEXT_WORK
/* Return the tick of the next work, if timers are pending, and none is due already. */
static uint64_t next_work(const STRUCTURE *structure);

/* The hook `next`. */
static inline uint64_t buckets_next(const void *self)
{
    const STRUCTURE *structure = self;
    if (structure->buckets.count == 0) {
        return TL_NEVER;
    }
    return buckets_are_due(&structure->buckets) ? structure->buckets.clock : next_work(structure);
}
#endif

/* --- check ----------------------------------------------------------------------------------- */

#ifdef TAKES_FROM
/* Return whether a timer belongs in a bucket. */
static bool bucket_takes(const STRUCTURE *structure, uint32_t bucket, const struct node *node);

/* For the hook `check`: buckets_check, and that each timer belongs in its bucket. */
static inline enum tl_status buckets_check_timers(const STRUCTURE *structure, uint64_t apart,
                                                  char *why, size_t why_bytes)
{
    const struct timer_buckets *buckets = &structure->buckets;
    enum tl_status status = buckets_check(buckets, apart, why, why_bytes);
    for (uint32_t bucket = TAKES_FROM; status == TL_OK && bucket < buckets->bucket_count;
         bucket++) {
        for (uint32_t i = bucket_first(buckets, bucket); i != SLOT_NONE;
             i = bucket_after(buckets, bucket, i)) {
            if (!bucket_takes(structure, bucket, node_at(buckets, i))) {
                return corrupt(why, why_bytes, "timer %" PRIu32 " is in bucket %" PRIu32,
                               timer_id(buckets, i), bucket);
            }
        }
    }
    return status;
}

/* The hook `check` of a structure with nothing else to verify. */
static inline enum tl_status buckets_checked(const void *self, char *why, size_t why_bytes)
{
    return buckets_check_timers(self, 0, why, why_bytes);
}
#endif

#endif
