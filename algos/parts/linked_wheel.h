/*
 * linked_wheel.h: the wheel that chunk-wheel is as long as its timers are few.
 *
 *   slot   head <-> node <-> node <-> head         doubly linked, circular
 *   node   { next, prev, due, filed }              16 bytes in one array, links being numbers;
 *                                                  24 in records, links being addresses
 *
 *   level   a slot's ticks   slots   takes a deadline
 *     1                  1    1024   in this block of 512 ticks, or in the next
 *     2                512     256   in this block of 65,536 ticks, or the next
 *     3             65,536     128   in this block of 2^22 ticks, or the next
 *     4               2^22     128   less than 2^28 ticks ahead
 *   FAR                  -       1   any other
 *
 * Where all nodes are in the cache, no line is waited for, and what an operation costs is its
 * instructions and the branches that the processor guesses wrong, some 20 cycles each. So what is
 * stopped is unlinked at once: an entry left behind would have to be looked at and dropped later,
 * each time a wrong guess. Linking and unlinking have no branches, and neither has unmarking a slot
 * that becomes empty, which is a byte: setting a bit would take six instructions more; only a
 * restart is late: if its deadline is not before the tick that the node is `filed` under, it sets
 * `due`, and the node is linked where it belongs when the wheel comes to it. Restarted timers
 * mostly go from one slot far ahead to another, once in several restarts. But where many are to
 * before that tick, and nobody can guess which, a wrong guess takes more than linking: there all
 * are linked at once; where nearly all are, half of the way ahead (linked_weigh). Most starts go to
 * the second level, by a branch that is guessed right; which other level takes one is no branch,
 * unless the last few were all short.
 *
 * As in the chunks, a level holds this block and the next, and while the clock is in one, the upper
 * slot of the next is moved down, some 16 nodes a tick: no tick has a bulk to move. At first only
 * ticks that fire anyway do so, since a tick with work costs more than moving these. The slot is
 * taken from both ends at once, so that two nodes are under way from memory. Where the nodes do not
 * fit in the nearest caches, a slot of the second level, through which nearly all timers come, is
 * four lists, by ids, 4,096 in sequence in one: eight nodes are under way.
 *
 * Ticks in nodes are the low 32 bits. A node's are near the clock, so that which is before which is
 * plain: deadlines of 2^28 ticks or more ahead wait in FAR, and their high bits apart; it is
 * searched, eight nodes a tick, when one of them comes near, and 2^29 ticks after the last time. An
 * advance by 2^28 ticks or more makes everything due that is not in FAR.
 *
 * DUE holds what an advance over several slots has collected, or its budget left; LATE what was
 * started when already due, for the next advance. `work_at` is the tick before which an advance has
 * nothing to do: it compares, and returns. It is never behind the end of the block, so that
 * where the levels begin can be kept for filing.
 *
 * Invariants
 *   - a pending timer is in one list, and is not due before the tick that it is filed under
 *   - that tick is the first of its slot; the slot of a level of width 2^s is (tick >> s) modulo
 *     the slots, and less than two blocks of the level ahead of the clock
 *   - a slot of a level is marked in `occupied` exactly if it has a node
 *   - first_at and upper_at are not behind the tick at which the first slot of level 1, or of those
 *     above, is to be looked at; work_at is behind neither, and 0, as is upper_at, if DUE or LATE
 *     hold any
 *   - no deadline in FAR is before far_first or, where it is yet to be searched, sought_first
 *
 * Complexity (m levels): start, stop, restart O(1); a tick O(1), beside what it fires: of the
 * second level 16 nodes, or a 12,288th of all timers, or in the second half of a block its share of
 * them, and of those above, and of FAR, eight; expiry O(m) moves; a jump the work of its ticks, of
 * empty ones O(slots / 32). Bad at: more timers than the cache has room for.
 *
 * Internal to chunk_wheel.c.
 */
#ifndef ALGOS_LINKED_WHEEL_H
#define ALGOS_LINKED_WHEEL_H

#include "check.h"
#include "records.h"
#include "slot_bitmap.h"
#include "timerlab.h"
#include "walk.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#define LINKED_ALIGN 64
#define LINKED_NEAR  (UINT64_C(1) << 28) /* deadlines this far ahead, or further, wait in FAR */

enum {
    LINKED_LEVELS = 4,
    LINKED_BLOCK_BITS = 9, /* of the first level */
    LINKED_SECOND_SLOTS = 256,
    LINKED_STRIPES = 4, /* lists of a slot of the second level, of which few timers use the first */
    LINKED_ROUND = 2 * LINKED_STRIPES, /* nodes of all ends of those */
    LINKED_STRIPED = 32768,            /* timers that use all */
    LINKED_SEQUENCE_BITS = 4, /* of 2^4 times LINKED_SECOND_SLOTS ids in sequence, all use one */
    LINKED_NOWHERE = 0,       /* a head whose list is never anything but empty */
    LINKED_DUE,
    LINKED_LATE,
    LINKED_FAR,
    LINKED_FIRST = 8, /* the first head of the first level, and so on */
    LINKED_SECOND = LINKED_FIRST + 1024,
    LINKED_THIRD = LINKED_SECOND + LINKED_STRIPES * LINKED_SECOND_SLOTS,
    LINKED_FOURTH = LINKED_THIRD + 128,
    LINKED_SLOTS = LINKED_FOURTH + 128, /* and as many heads; behind them, timers of its own */
    LINKED_PORTION = 16, /* nodes moved down from a slot of the second level in a tick, at least, */
    LINKED_SHARES = 12288, /* and one for each so many timers, which is a 48th in half a block; */
    LINKED_FEWER = 8,      /* from one of those above, or sought in FAR */
    LINKED_EAGER = 384,    /* ticks before a block's end; until then only those that fire do so */
    LINKED_COUNTED = 256,  /* restarts, at least, that decide whether the next are late; */
    LINKED_UNSEEN = 1024,  /* late ones to earlier before those, besides half of all timers */
    LINKED_AHEAD = 2,      /* so many ticks before its own a slot is fetched */
    LINKED_HALF = 1,       /* shifts of what is ahead */
    LINKED_SHORT = 16,     /* nodes in succession, after which the next is guessed to be, too */
    LINKED_NOTHING = 63,
};

static const struct {
    uint32_t shift; /* log2 of a slot's ticks */
    uint32_t slots; /* two blocks of the level, a power of two */
    uint32_t first; /* head of its slot 0 */
    uint32_t lists; /* of a slot; the heads of all first ones come before those of the second */
} linked_levels[LINKED_LEVELS] = {
    {0, 1024, LINKED_FIRST, 1},
    {LINKED_BLOCK_BITS, LINKED_SECOND_SLOTS, LINKED_SECOND, LINKED_STRIPES},
    {16, 128, LINKED_THIRD, 1},
    {22, 128, LINKED_FOURTH, 1},
};

/* To a head or a timer. */
#ifdef TL_EMBEDDED
typedef struct linked_links *linked_link;
#define LINKED_NONE NULL
#else
typedef uint32_t linked_link;
#define LINKED_NONE UINT32_MAX
#endif

struct linked_links {
    linked_link next; /* LINKED_NONE: the timer is not pending */
    linked_link prev;
};

struct linked_node {
    struct linked_links links;
    uint32_t due;
    uint32_t filed;
};

/* Where one array has heads and timers they are of one size. */
#ifdef TL_EMBEDDED
typedef struct linked_links linked_list;
#else
typedef struct linked_node linked_list;
#endif

struct linked_wheel {
    alignas(LINKED_ALIGN) uint64_t work_at; /* an advance to before this only sets the clock */
    uint64_t clock;
    uint64_t second;      /* deadlines from this on go to the second level, */
    uint64_t second_span; /* so many of them */
    uint64_t plain;      /* starts for fewer ticks ahead are plain; 0 while restarts are counted, */
    uint64_t plain_most; /* else this; 0 where this wheel has not all timers */
    linked_list *lists AND_RECORDS; /* and timers of the wheel's own behind them; NULL: this regime
                                       is not in use */
    uint64_t count;                 /* timers pending */
    int32_t
        late_from; /* a restart to so many ticks behind `filed` is late: 0; INT32_MAX: none is */
    uint32_t restarts; /* that were not late, or were counted, */
    uint32_t first;    /* timers before this one are in this wheel no more */
    uint32_t capacity;
    uint32_t earlier; /* and of all those to before the tick that the node was filed under, */
    uint32_t sooner;  /* which are filed sooner by the ticks they are ahead, shifted by this */
    const struct tl_allocator *allocator;
#ifdef TL_EMBEDDED
    uint32_t stride_shift;   /* a record's stride is odd but for so many bits, */
    uint32_t stride_inverse; /* and what is left times this is 1 modulo 2^32 */
#endif
    alignas(LINKED_ALIGN) uint64_t first_at; /* the first tick at which there may be something to do
                                                on the first level, */
    uint64_t upper_at;                       /* or above it */
    uint64_t fourth;                         /* deadlines from this on go to the fourth level */
    uint32_t in_first;     /* nodes filed on the first level since one was above the second */
    uint32_t stripe;       /* of an index of the second level's lists, the bits that tell those of a
                              slot apart */
    uint64_t far_at;       /* when FAR is to be searched */
    uint64_t far_first;    /* no deadline in FAR is before this, */
    uint64_t sought_first; /* or this, in what the search has not come to */
    uint32_t far_held;     /* at most so many have come into FAR since the search began */
    uint32_t sought;       /* at most so many are yet to be searched, from its beginning on */
    uint32_t moving;       /* the slot that alone is being moved down, of the second level; or 0 */
    uint64_t due_since;    /* the clock before which nothing in DUE was due */
    uint8_t occupied[LINKED_SLOTS]; /* 1: the list has a node */
    uint32_t *far_highs;            /* of a timer in FAR, the high half of its deadline */
    struct tl_counters counters;
};

/* --- where heads and timers lie -------------------------------------------------------------- */

#ifdef TL_EMBEDDED

static inline struct linked_links *linked_at(const struct linked_wheel *wheel, linked_link link)
{
    (void)wheel;
    return link;
}

static inline struct linked_node *linked_node(const struct linked_wheel *wheel, linked_link timer)
{
    (void)wheel;
    return (struct linked_node *)(void *)timer;
}

static inline linked_link linked_head(const struct linked_wheel *wheel, uint32_t slot)
{
    return &wheel->lists[slot];
}

static inline linked_link linked_timer(const struct linked_wheel *wheel, uint32_t id)
{
    return record_at(&wheel->records, id);
}

/* Without a division: the distance is a multiple of the stride. */
static inline uint32_t linked_id(const struct linked_wheel *wheel, linked_link timer)
{
    size_t distance = (size_t)((char *)timer - wheel->records.first);
    return (uint32_t)(distance >> wheel->stride_shift) * wheel->stride_inverse;
}

/* The slot of a head; of a timer, any number. */
static inline uint32_t linked_slot(const struct linked_wheel *wheel, linked_link head)
{
    return (uint32_t)(((uintptr_t)head - (uintptr_t)wheel->lists) / sizeof *head);
}

static inline uint64_t linked_differ(linked_link a, linked_link b)
{
    return (uintptr_t)a ^ (uintptr_t)b;
}

/* Where records lie has been said or has changed. */
static inline void linked_note_stride(struct linked_wheel *wheel)
{
    wheel->stride_shift = (uint32_t)__builtin_ctzll(wheel->records.stride);
    uint32_t odd = (uint32_t)(wheel->records.stride >> wheel->stride_shift);
    uint32_t inverse = odd; /* right in 3 bits, and by each round in twice as many */
    for (uint32_t bits = 3; bits < 32; bits *= 2) {
        inverse *= 2 - odd * inverse;
    }
    wheel->stride_inverse = inverse;
}

static inline linked_link linked_moved_link(const struct linked_wheel *wheel,
                                            const struct linked_wheel *old, linked_link link)
{
    uint64_t slot = ((uintptr_t)link - (uintptr_t)old->lists) / sizeof *link;
    return slot < LINKED_SLOTS ? linked_head(wheel, (uint32_t)slot)
                               : linked_timer(wheel, linked_id(old, link));
}

/* What was copied from where it lay in `old` links to where it is now. */
static inline void linked_relink(struct linked_wheel *wheel, const struct linked_wheel *old)
{
    uint32_t slots = old->lists != NULL ? LINKED_SLOTS : 0;
    for (uint32_t i = 0; i < slots + (old->capacity - old->first); i++) {
        linked_link link =
            i < slots ? linked_head(wheel, i) : linked_timer(wheel, old->first + (i - slots));
        if (link->next != LINKED_NONE) {
            link->next = linked_moved_link(wheel, old, link->next);
            link->prev = linked_moved_link(wheel, old, link->prev);
        }
    }
}

/* The hook `moved`. */
static inline void linked_moved(struct linked_wheel *wheel, const struct tl_records *records)
{
    struct linked_wheel old = *wheel;
    records_give(&wheel->records, records);
    linked_note_stride(wheel);
    linked_relink(wheel, &old);
}

#else

static inline void linked_note_stride(struct linked_wheel *wheel)
{
    (void)wheel;
}

static inline struct linked_links *linked_at(const struct linked_wheel *wheel, linked_link link)
{
    return &wheel->lists[link].links;
}

static inline struct linked_node *linked_node(const struct linked_wheel *wheel, linked_link timer)
{
    return &wheel->lists[timer];
}

static inline linked_link linked_head(const struct linked_wheel *wheel, uint32_t slot)
{
    (void)wheel;
    return slot;
}

static inline linked_link linked_timer(const struct linked_wheel *wheel, uint32_t id)
{
    (void)wheel;
    return id + LINKED_SLOTS;
}

static inline uint32_t linked_id(const struct linked_wheel *wheel, linked_link timer)
{
    (void)wheel;
    return timer - LINKED_SLOTS;
}

static inline uint32_t linked_slot(const struct linked_wheel *wheel, linked_link head)
{
    (void)wheel;
    return head;
}

static inline uint64_t linked_differ(linked_link a, linked_link b)
{
    return a ^ b;
}

static inline void linked_relink(struct linked_wheel *wheel, const struct linked_wheel *old)
{
    (void)wheel; /* numbers stay what they are */
    (void)old;
}

#endif

/* --- lists ----------------------------------------------------------------------------------- */

static inline struct linked_links *linked_ends(const struct linked_wheel *wheel, uint32_t slot)
{
    return linked_at(wheel, linked_head(wheel, slot));
}

static inline bool linked_is_empty(const struct linked_wheel *wheel, uint32_t slot)
{
    return linked_ends(wheel, slot)->next == linked_head(wheel, slot);
}

static inline void linked_clear(struct linked_wheel *wheel, uint32_t slot)
{
    linked_ends(wheel, slot)->next = linked_head(wheel, slot);
    linked_ends(wheel, slot)->prev = linked_head(wheel, slot);
    wheel->occupied[slot] = 0;
}

/* Puts a node that is in no list at the end of a slot's. */
static inline void linked_append(struct linked_wheel *wheel, uint32_t slot, linked_link link)
{
    linked_link last = linked_ends(wheel, slot)->prev;
    TL_COUNT(wheel, moves, 1);
    /* In this order: side by side, gcc joins the two by way of a vector's register. */
    linked_at(wheel, link)->next = linked_head(wheel, slot);
    linked_ends(wheel, slot)->prev = link;
    linked_at(wheel, link)->prev = last;
    linked_at(wheel, last)->next = link;
    wheel->occupied[slot] = 1;
}

/* Takes a node out of its list, and unmarks the slot if it was alone; whether it was is a coin
 * toss, so no branch asks: if not, what is unmarked is NOWHERE. */
static inline void linked_remove(struct linked_wheel *wheel, linked_link link)
{
    linked_link next = linked_at(wheel, link)->next;
    linked_link prev = linked_at(wheel, link)->prev;
    TL_COUNT(wheel, moves, 1);
    linked_at(wheel, next)->prev = prev;
    linked_at(wheel, prev)->next = next;
    uint64_t alone = (linked_differ(next, prev) - 1) >> 63; /* then both are the head */
    wheel->occupied[linked_slot(wheel, next) & (0 - (uint32_t)alone)] = 0;
}

/* Has a list begin with this. The slot's mark stays. */
static inline void linked_begin(struct linked_wheel *wheel, uint32_t slot, linked_link first)
{
    linked_ends(wheel, slot)->next = first;
    linked_at(wheel, first)->prev = linked_head(wheel, slot);
}

static inline void linked_end(struct linked_wheel *wheel, uint32_t slot, linked_link last)
{
    linked_ends(wheel, slot)->prev = last;
    linked_at(wheel, last)->next = linked_head(wheel, slot);
}

/* Moves all of a slot's nodes behind those of another. */
static inline void linked_splice(struct linked_wheel *wheel, uint32_t from, uint32_t to)
{
    if (linked_is_empty(wheel, from)) {
        return;
    }
    TL_COUNT(wheel, slots, 1);
    linked_link first = linked_ends(wheel, from)->next;
    linked_link end = linked_ends(wheel, to)->prev;
    linked_at(wheel, end)->next = first;
    linked_at(wheel, first)->prev = end;
    linked_end(wheel, to, linked_ends(wheel, from)->prev);
    wheel->occupied[to] = 1;
    linked_clear(wheel, from);
}

/* --- filing ---------------------------------------------------------------------------------- */

/* The due tick of a node that is not in FAR. */
static inline uint64_t linked_due(const struct linked_wheel *wheel, const struct linked_node *node)
{
    int32_t ahead = (int32_t)(node->due - (uint32_t)wheel->clock);
    return wheel->clock + (uint64_t)(int64_t)ahead;
}

/* Something is due on the first level before all that is. As filing it ends with the status of a
 * start, which then has nothing to save for a call. */
static __attribute__((noinline)) enum tl_status linked_wake(struct linked_wheel *wheel,
                                                            uint64_t due)
{
    wheel->first_at = due;
    wheel->work_at = due < wheel->work_at ? due : wheel->work_at;
    return TL_OK;
}

/* The slot of a tick of the first level. */
static inline uint32_t linked_tick_slot(uint64_t tick)
{
    return LINKED_FIRST + ((uint32_t)tick & (linked_levels[0].slots - 1));
}

/* Files a node on the first level, where it belongs. */
static inline enum tl_status linked_file_first(struct linked_wheel *wheel, linked_link link,
                                               uint64_t due)
{
    linked_node(wheel, link)->filed = (uint32_t)due;
    linked_append(wheel, linked_tick_slot(due), link);
    return __builtin_expect(due < wheel->first_at, 0) ? linked_wake(wheel, due) : TL_OK;
}

/* Files a node that does not go to the second level. Which of the others takes it is a coin toss
 * where delays are short or very long, so a table says what follows; nobody asks but where the last
 * few were all short (linked_file). Above the first level there is nothing to do with it in this
 * block, and at the end of that all is looked at. */
static __attribute__((noinline)) enum tl_status linked_file_apart(struct linked_wheel *wheel,
                                                                  linked_link link, uint64_t due)
{
    uint32_t above = due >= wheel->second;
    uint32_t level = above * 2 + (due >= wheel->fourth);
    wheel->in_first = (wheel->in_first + 1) & (above - 1);
    uint32_t shift = linked_levels[level].shift;
    uint64_t block = due >> shift;
    linked_node(wheel, link)->filed = (uint32_t)(block << shift);
    linked_append(wheel,
                  linked_levels[level].first + ((uint32_t)block & (linked_levels[level].slots - 1)),
                  link);
    return __builtin_expect(due < wheel->first_at, 0) ? linked_wake(wheel, due) : TL_OK;
}

/* Files a node under its due tick, after the clock and less than 2^28 ahead: most go to the second
 * level, and of its lists, timers with ids in sequence to one: that has fewer ends to write to. */
static inline enum tl_status linked_file(struct linked_wheel *wheel, linked_link link, uint32_t id,
                                         uint64_t due)
{
    if (__builtin_expect(due - wheel->second >= wheel->second_span, 0)) {
        return wheel->in_first >= LINKED_SHORT && due < wheel->second
                   ? linked_file_first(wheel, link, due)
                   : linked_file_apart(wheel, link, due);
    }
    uint32_t slot = ((uint32_t)(due >> LINKED_BLOCK_BITS) & (LINKED_SECOND_SLOTS - 1)) +
                    (id >> LINKED_SEQUENCE_BITS & wheel->stripe);
    linked_node(wheel, link)->filed = (uint32_t)due & ~((UINT32_C(1) << LINKED_BLOCK_BITS) - 1);
    linked_append(wheel, LINKED_SECOND + slot, link);
    return TL_OK;
}

/* --- FAR ------------------------------------------------------------------------------------- */

/* A node in FAR is filed under what no near deadline is ever found to be later than: not until FAR
 * is searched, at the latest 2^29 ticks from then. */
static inline bool linked_is_far(const struct linked_wheel *wheel, const struct linked_node *node)
{
    return (int32_t)(node->filed - (uint32_t)wheel->clock) > (int32_t)(2 * LINKED_NEAR);
}

static inline uint64_t linked_far_deadline(const struct linked_wheel *wheel, linked_link link)
{
    return (uint64_t)wheel->far_highs[linked_id(wheel, link)] << 32 | linked_node(wheel, link)->due;
}

/* When there is something to do about FAR. */
static inline uint64_t linked_far_wake(const struct linked_wheel *wheel)
{
    return wheel->sought > 0 ? wheel->clock + 1 : wheel->far_at;
}

/* Sets the deadline of a node that is in FAR, or about to be. */
static void linked_set_far(struct linked_wheel *wheel, linked_link link, uint64_t deadline)
{
    uint64_t near = deadline - LINKED_NEAR / 2;
    uint64_t latest = wheel->clock + 2 * LINKED_NEAR;
    uint64_t at = near < latest ? near : latest;
    linked_node(wheel, link)->due = (uint32_t)deadline;
    wheel->far_highs[linked_id(wheel, link)] = (uint32_t)(deadline >> 32);
    wheel->far_first = deadline < wheel->far_first ? deadline : wheel->far_first;
    wheel->far_at = at < wheel->far_at ? at : wheel->far_at;
    if (at < wheel->upper_at) {
        wheel->upper_at = at;
        wheel->work_at = at < wheel->work_at ? at : wheel->work_at;
    }
}

static void linked_file_far(struct linked_wheel *wheel, linked_link link, uint64_t deadline)
{
    linked_node(wheel, link)->filed = (uint32_t)wheel->clock + INT32_MAX;
    wheel->far_held += wheel->far_held < UINT32_MAX;
    linked_append(wheel, LINKED_FAR, link);
    linked_set_far(wheel, link, deadline);
}

/* DUE or LATE hold something, so that the next advance has work at once. */
static inline void linked_leave_work(struct linked_wheel *wheel)
{
    wheel->upper_at = 0;
    wheel->work_at = 0;
}

/* Puts what is due by now at the end of DUE or LATE. */
static void linked_file_due(struct linked_wheel *wheel, uint32_t slot, linked_link link)
{
    linked_node(wheel, link)->due = (uint32_t)wheel->clock;
    linked_node(wheel, link)->filed = (uint32_t)wheel->clock;
    linked_append(wheel, slot, link);
}

/* Looks at up to `most` nodes of FAR, whether they are still far. */
static void linked_search_far(struct linked_wheel *wheel, uint64_t most)
{
    if (wheel->sought == 0) {
        wheel->sought = wheel->far_held < wheel->count ? wheel->far_held : (uint32_t)wheel->count;
        wheel->sought_first = wheel->far_first;
        wheel->far_held = 0;
        wheel->far_first = TL_NEVER;
        wheel->far_at = TL_NEVER;
    }
    for (; most > 0 && wheel->sought > 0 && !linked_is_empty(wheel, LINKED_FAR); most--) {
        linked_link link = linked_ends(wheel, LINKED_FAR)->next;
        uint64_t deadline = linked_far_deadline(wheel, link);
        TL_COUNT(wheel, compares, 1);
        linked_begin(wheel, LINKED_FAR, linked_at(wheel, link)->next);
        wheel->sought--;
        if (deadline <= wheel->clock) {
            linked_file_due(wheel, LINKED_DUE, link);
        } else if (deadline - wheel->clock < LINKED_NEAR) {
            (void)linked_file(wheel, link, linked_id(wheel, link), deadline);
        } else {
            linked_file_far(wheel, link, deadline);
        }
    }
    if (linked_is_empty(wheel, LINKED_FAR)) {
        wheel->occupied[LINKED_FAR] = 0;
        wheel->sought = 0;
    }
    if (wheel->sought == 0) {
        wheel->sought_first = TL_NEVER;
    }
}

/* --- start and stop -------------------------------------------------------------------------- */

/* Decides, about once in a block, how restarts are done. Of plain ones those to earlier alone are
 * counted; after many of these, when timers' filed ticks are no longer those of their first starts,
 * all of a block are. What is linked anew each time is filed under a later tick than what is late,
 * so that more are to earlier. Where nearly all are, each is filed under half the way: the next few
 * are not to before that. */
static void linked_weigh(struct linked_wheel *wheel)
{
    bool eager = wheel->late_from != 0;
    if (!eager && wheel->plain != 0) {
        if (wheel->earlier < LINKED_UNSEEN + wheel->capacity / 2) {
            return;
        }
        wheel->plain = 0;
    } else if (wheel->restarts < LINKED_COUNTED) {
        return;
    } else {
        uint32_t eighth = wheel->restarts / 8;
        bool mostly = wheel->earlier > eighth * 6;
        eager = !mostly && wheel->earlier > eighth * (eager ? 3 : 2);
        wheel->late_from = eager ? INT32_MAX : 0;
        if (mostly || eager) { /* else few are, perhaps since they are filed so */
            wheel->sooner = mostly ? LINKED_HALF : LINKED_NOTHING;
        }
        wheel->plain = wheel->plain_most;
    }
    wheel->restarts = 0;
    wheel->earlier = 0;
}

/* How far behind the tick that a node is filed under a deadline is; much less than 0 if it is far.
 */
static inline int32_t linked_later(const struct linked_node *node, uint64_t deadline)
{
    return (int32_t)((uint32_t)deadline - node->filed);
}

/* A start for after the clock, and not far. */
static inline enum tl_status linked_start_near(struct linked_wheel *wheel, uint32_t id,
                                               uint64_t deadline)
{
    linked_link link = linked_timer(wheel, id);
    struct linked_node *node = linked_node(wheel, link);
    node->due = (uint32_t)deadline;
    if (node->links.next == LINKED_NONE) {
        wheel->count++;
        return linked_file(wheel, link, id, deadline);
    }
    int32_t later = linked_later(node, deadline);
    TL_COUNT(wheel, compares, 1);
    if (later >= wheel->late_from) {
        return TL_OK;
    }
    wheel->restarts++;
    wheel->earlier += (uint32_t)later >> 31;
    linked_remove(wheel, link);
    deadline -= (deadline - wheel->clock) >> wheel->sooner;
    return linked_file(wheel, link, id, deadline);
}

/* A start that is not plain: it is counted, or for now, the past, or a deadline that is far. */
static __attribute__((noinline)) enum tl_status linked_start_apart(struct linked_wheel *wheel,
                                                                   uint32_t id, uint64_t deadline)
{
    linked_link link = linked_timer(wheel, id);
    struct linked_node *node = linked_node(wheel, link);
    if (deadline - wheel->clock - 1 < LINKED_NEAR - 1) {
        wheel->restarts += node->links.next != LINKED_NONE && linked_later(node, deadline) >= 0;
        return linked_start_near(wheel, id, deadline);
    }
    bool far = deadline > wheel->clock;
    if (node->links.next == LINKED_NONE) {
        wheel->count++;
    } else if (far && linked_is_far(wheel, node)) {
        linked_set_far(wheel, link, deadline);
        return TL_OK;
    } else {
        linked_remove(wheel, link);
    }
    if (far) {
        linked_file_far(wheel, link, deadline);
    } else {
        linked_file_due(wheel, LINKED_LATE, link);
        linked_leave_work(wheel);
    }
    return TL_OK;
}

static inline bool linked_is_plain(const struct linked_wheel *wheel, uint64_t deadline)
{
    return deadline - wheel->clock - 1 < wheel->plain;
}

static inline enum tl_status linked_stop(struct linked_wheel *wheel, uint32_t id)
{
    linked_link link = linked_timer(wheel, id);
    if (linked_at(wheel, link)->next == LINKED_NONE) {
        return TL_IDLE;
    }
    linked_remove(wheel, link);
    linked_at(wheel, link)->next = LINKED_NONE;
    wheel->count--;
    return TL_OK;
}

/* --- advance --------------------------------------------------------------------------------- */

/* How many slots lie between position `from` and the first occupied one behind it, going round;
 * `slots` if none is. Requires a power of two of slots. */
static inline uint32_t linked_bytes_ahead(const uint8_t *occupied, uint32_t slots, uint64_t from)
{
    uint32_t begin = (uint32_t)(from + 1) & (slots - 1);
    uint64_t bytes = 0; /* the first few at once: mostly one of them is */
    if (begin + sizeof bytes <= slots) {
        memcpy(&bytes, &occupied[begin], sizeof bytes);
    }
    if (bytes != 0 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) {
        return bitmap_first(bytes) / 8;
    }
    const uint8_t *found = memchr(&occupied[begin], 1, slots - begin);
    found = found != NULL ? found : memchr(occupied, 1, begin);
    return found != NULL ? (uint32_t)(found - &occupied[begin]) & (slots - 1) : slots;
}

/* The first occupied slot behind position `from` of a level: how many further on, from 0; or the
 * level's number of slots. */
static inline uint32_t linked_to_occupied(const struct linked_wheel *wheel, uint32_t level,
                                          uint64_t from)
{
    uint32_t slots = linked_levels[level].slots;
    const uint8_t *lists = &wheel->occupied[linked_levels[level].first];
    uint32_t ahead = linked_bytes_ahead(lists, slots, from);
    if (level == 1 && wheel->stripe != 0) {
        for (uint32_t i = 1; i < LINKED_STRIPES; i++) {
            uint32_t found = linked_bytes_ahead(lists + (size_t)i * slots, slots, from);
            ahead = found < ahead ? found : ahead;
        }
    }
    return ahead;
}

/* The first tick after `from` of which the first level has an occupied slot; or where that level
 * ends. */
static inline uint64_t linked_next_tick(const struct linked_wheel *wheel, uint64_t from)
{
    uint32_t ahead = linked_to_occupied(wheel, 0, from);
    return ahead < linked_levels[0].slots ? from + 1 + ahead : wheel->second;
}

/* The first deadline that is too far for the levels below this one. */
static inline uint64_t linked_level_begins(const struct linked_wheel *wheel, uint32_t level)
{
    uint32_t shift = linked_levels[level].shift;
    return ((wheel->clock >> shift) + 2) << shift;
}

static inline void linked_set_ends(struct linked_wheel *wheel)
{
    uint64_t second = linked_level_begins(wheel, 1);
    wheel->first_at = wheel->first_at == wheel->second ? second : wheel->first_at;
    wheel->second = second;
    wheel->second_span = linked_level_begins(wheel, 2) - wheel->second;
    wheel->fourth = linked_level_begins(wheel, 3);
}

static inline uint64_t linked_block_end(const struct linked_wheel *wheel)
{
    return wheel->second - (UINT64_C(1) << LINKED_BLOCK_BITS);
}

/* Files a node that is being moved down where it now belongs, mostly to the first level. */
static inline void linked_move_node(struct linked_wheel *wheel, linked_link link)
{
    uint64_t due = linked_due(wheel, linked_node(wheel, link));
    TL_COUNT(wheel, cascades, 1);
    if (__builtin_expect(due >= wheel->second, 0)) {
        (void)linked_file(wheel, link, linked_id(wheel, link), due);
        return;
    }
    (void)linked_file_first(wheel, link, due);
}

/* A list that is being moved down, from both ends: what is left of it; both the head: nothing. */
struct linked_rest {
    linked_link ends[2];
    linked_link head;
};

static inline struct linked_rest linked_take_list(struct linked_wheel *wheel, uint32_t slot)
{
    const struct linked_links *ends = linked_ends(wheel, slot);
    __builtin_prefetch(linked_at(wheel, ends->next), 1);
    __builtin_prefetch(linked_at(wheel, ends->prev), 1);
    return (struct linked_rest){{ends->next, ends->prev}, linked_head(wheel, slot)};
}

static inline void linked_give_back(struct linked_wheel *wheel, uint32_t slot,
                                    const struct linked_rest *rest)
{
    if (rest->ends[0] == rest->head) {
        linked_clear(wheel, slot);
    } else {
        linked_begin(wheel, slot, rest->ends[0]);
        linked_end(wheel, slot, rest->ends[1]);
    }
}

/* Moves the node down that is at one end, 0 or 1, of a list, and fetches the one behind it. False:
 * there was none. */
static inline __attribute__((always_inline)) bool
linked_move_end(struct linked_wheel *wheel, struct linked_rest *rest, uint32_t end)
{
    linked_link link = rest->ends[end];
    if (link == rest->head) {
        return false;
    }
    const struct linked_links *links = linked_at(wheel, link);
    linked_link behind = end == 0 ? links->next : links->prev;
    __builtin_prefetch(linked_at(wheel, behind), 1);
    if (link == rest->ends[1 - end]) {
        rest->ends[1 - end] = behind = rest->head;
    }
    rest->ends[end] = behind;
    linked_move_node(wheel, link);
    return true;
}

/* Moves up to `most` of a slot's nodes down, or one more. */
static __attribute__((noinline)) void linked_move_slot(struct linked_wheel *wheel, uint32_t slot,
                                                       uint32_t most)
{
    struct linked_rest rest = linked_take_list(wheel, slot);
    TL_COUNT(wheel, slots, 1);
    for (uint32_t pairs = most / 2 + most % 2; pairs > 0 && linked_move_end(wheel, &rest, 0);
         pairs--) {
        (void)linked_move_end(wheel, &rest, 1);
    }
    linked_give_back(wheel, slot, &rest);
}

/* The same of a slot of the second level with several lists, of all by turns; at most as many as
 * that, a round at a time. */
static __attribute__((noinline)) void linked_move_stripes(struct linked_wheel *wheel, uint32_t slot,
                                                          uint32_t most)
{
    struct linked_rest rests[LINKED_STRIPES];
    TL_COUNT(wheel, slots, 1);
    for (uint32_t i = 0; i < LINKED_STRIPES; i++) {
        rests[i] = linked_take_list(wheel, slot + i * LINKED_SECOND_SLOTS);
    }
    for (uint32_t done = 0, moved = 1; moved > 0 && done + LINKED_ROUND <= most; done += moved) {
        moved = 0;
        for (uint32_t end = 0; end < 2; end++) {
            for (uint32_t i = 0; i < LINKED_STRIPES; i++) {
                moved += linked_move_end(wheel, &rests[i], end);
            }
        }
    }
    for (uint32_t i = 0; i < LINKED_STRIPES; i++) {
        linked_give_back(wheel, slot + i * LINKED_SECOND_SLOTS, &rests[i]);
    }
}

/* Whether a slot, of which the first list's head is given, has no nodes. */
static inline bool linked_slot_is_empty(const struct linked_wheel *wheel, uint32_t level,
                                        uint32_t slot)
{
    bool occupied = wheel->occupied[slot];
    if (level == 1 && wheel->stripe != 0) {
        for (uint32_t i = 1; i < LINKED_STRIPES; i++) {
            occupied |= wheel->occupied[slot + i * LINKED_SECOND_SLOTS];
        }
    }
    return !occupied;
}

/* How many nodes are moved down in so many ticks: on the last of a block all that is left, which is
 * none after ticks one by one, since the second half has enough for all timers. */
static inline uint32_t linked_portion(const struct linked_wheel *wheel, uint32_t level,
                                      uint64_t ticks)
{
    uint64_t now = wheel->clock;
    uint32_t shift = linked_levels[level].shift;
    uint64_t portion = LINKED_FEWER;
    if (level == 1) {
        portion = wheel->count / LINKED_SHARES;
        portion = portion > LINKED_PORTION ? portion : LINKED_PORTION;
    }
    if ((now >> (shift - 1) & 1) != 0) {
        uint64_t share = (wheel->count >> (shift - 1)) + LINKED_ROUND;
        portion = share > portion ? share : portion;
    }
    bool last = now + 1 == ((now >> shift) + 1) << shift;
    return last || ticks > UINT32_MAX / portion ? UINT32_MAX : (uint32_t)(portion * ticks);
}

/* Moves down what so many ticks have time for of a slot, and says whether any is left. */
static inline bool linked_move_portion(struct linked_wheel *wheel, uint32_t level, uint32_t slot,
                                       uint64_t ticks)
{
    if (linked_slot_is_empty(wheel, level, slot)) {
        return false;
    }
    uint32_t most = linked_portion(wheel, level, ticks);
    if (level == 1 && wheel->stripe != 0) {
        linked_move_stripes(wheel, slot, most);
    } else {
        linked_move_slot(wheel, slot, most);
    }
    return !linked_slot_is_empty(wheel, level, slot);
}

/* When there will be something to do above the first level. What alone is being moved down waits
 * for ticks that fire until the block has gone on for a while. */
static __attribute__((noinline)) void linked_set_upper_at(struct linked_wheel *wheel)
{
    uint64_t soon = wheel->clock + 1;
    uint64_t at = linked_block_end(wheel);
    if (wheel->moving != 0) {
        at -= LINKED_EAGER;
        wheel->upper_at = at > soon ? at : soon;
        return;
    }
    uint64_t far_wake = linked_far_wake(wheel);
    at = far_wake < at ? far_wake : at;
    for (uint32_t level = 1; level < LINKED_LEVELS; level++) {
        uint64_t from = wheel->clock >> linked_levels[level].shift;
        uint32_t ahead = linked_to_occupied(wheel, level, from);
        if (ahead < linked_levels[level].slots) {
            uint64_t begins = (from + ahead) << linked_levels[level].shift;
            uint64_t wake = ahead == 0 ? soon : begins;
            at = wake < at ? wake : at;
        }
    }
    wheel->upper_at = at;
}

/* Moves down what so many ticks have time for, of the slots of the next blocks. */
static __attribute__((noinline)) void linked_move_down(struct linked_wheel *wheel, uint64_t ticks)
{
    linked_weigh(wheel);
    uint32_t left = 0;
    for (uint32_t level = LINKED_LEVELS - 1; level >= 1; level--) {
        uint64_t block = (wheel->clock >> linked_levels[level].shift) + 1;
        uint32_t slot =
            linked_levels[level].first + ((uint32_t)block & (linked_levels[level].slots - 1));
        wheel->moving = 0;
        if (linked_move_portion(wheel, level, slot, ticks)) {
            wheel->moving = left == 0 ? slot : 0;
            left++;
        }
    }
    linked_set_upper_at(wheel);
}

/* The same within a block, where one slot of the second level is all that is left of them. */
static __attribute__((noinline)) void linked_move_on(struct linked_wheel *wheel, uint64_t ticks)
{
    bool left = linked_move_portion(wheel, 1, wheel->moving, ticks);
    wheel->moving = left ? wheel->moving : 0;
    if (!left || wheel->clock >= wheel->upper_at) {
        linked_set_upper_at(wheel);
    }
}

/* Moves the clock to `now`, and the slots that it passes or enters to DUE. */
static void linked_collect(struct linked_wheel *wheel, uint64_t now)
{
    uint64_t old = wheel->clock;
    wheel->clock = now;
    linked_set_ends(wheel);
    for (uint32_t level = 0; level < LINKED_LEVELS; level++) {
        uint32_t slots = linked_levels[level].slots;
        uint64_t from = old >> linked_levels[level].shift;
        uint64_t to = now >> linked_levels[level].shift;
        if (from == to) {
            break; /* nor has any level above moved */
        }
        uint64_t end = to - from < slots ? to : from + slots;
        while (from < end) {
            from += 1 + linked_to_occupied(wheel, level, from);
            if (from <= end) {
                uint32_t slot = linked_levels[level].first + ((uint32_t)from & (slots - 1));
                for (uint32_t i = 0; i < linked_levels[level].lists; i++) {
                    linked_splice(wheel, slot + i * slots, LINKED_DUE);
                }
            }
        }
    }
}

/* Has everything in DUE be due at the clock, whatever it was due at. */
static void linked_make_due(struct linked_wheel *wheel)
{
    linked_link link = linked_ends(wheel, LINKED_DUE)->next;
    for (; link != linked_head(wheel, LINKED_DUE); link = linked_at(wheel, link)->next) {
        linked_node(wheel, link)->due = (uint32_t)wheel->clock;
        linked_node(wheel, link)->filed = (uint32_t)wheel->clock;
    }
}

/* What a budget has left in DUE so long ago that 32 bits would soon not tell before from after:
 * what is due becomes so anew, and what was restarted meanwhile is filed. */
static void linked_settle(struct linked_wheel *wheel)
{
    linked_link link = linked_ends(wheel, LINKED_DUE)->next;
    linked_clear(wheel, LINKED_DUE);
    while (link != linked_head(wheel, LINKED_DUE)) {
        linked_link next = linked_at(wheel, link)->next;
        uint64_t due = linked_due(wheel, linked_node(wheel, link));
        if (due > wheel->clock) {
            (void)linked_file(wheel, link, linked_id(wheel, link), due);
        } else {
            linked_file_due(wheel, LINKED_DUE, link);
        }
        link = next;
    }
    wheel->due_since = wheel->clock;
}

/* Files a slot's first node anew, if it has been restarted to after the clock. */
static __attribute__((noinline)) bool linked_file_again(struct linked_wheel *wheel, uint32_t slot)
{
    linked_link link = linked_ends(wheel, slot)->next;
    uint64_t due = linked_due(wheel, linked_node(wheel, link));
    if (due <= wheel->clock) {
        return false;
    }
    TL_COUNT(wheel, cascades, 1);
    linked_begin(wheel, slot, linked_at(wheel, link)->next);
    (void)linked_file(wheel, link, linked_id(wheel, link), due);
    return true;
}

/* Fires what is due of a list that nothing is filed into meanwhile, and files again what is not.
 * Most is due at `tick`, or already was. False: the budget is used up before its end. */
static inline bool linked_fire_list(struct linked_wheel *wheel, uint32_t slot, uint64_t tick,
                                    uint64_t now, uint64_t *left, tl_fire_fn fire, void *ctx)
{
    linked_link head = linked_head(wheel, slot);
    linked_link link;
    while ((link = linked_at(wheel, head)->next) != head) {
        struct linked_node *node = linked_node(wheel, link);
        if (__builtin_expect(node->due != (uint32_t)tick, 0) && linked_file_again(wheel, slot)) {
            continue;
        }
        if (__builtin_sub_overflow(*left, 1, left)) {
            return false;
        }
        TL_COUNT(wheel, moves, 1);
        linked_at(wheel, head)->next = node->links.next;
        linked_at(wheel, node->links.next)->prev = head;
        node->links.next = LINKED_NONE;
        wheel->count--;
        fire(ctx, linked_id(wheel, link), now);
    }
    wheel->occupied[slot] = 0;
    return true;
}

/* The budget is used up: all that the first level has from this tick on, and is due, is left. */
static __attribute__((noinline)) void linked_put_off(struct linked_wheel *wheel, uint64_t tick)
{
    wheel->due_since = wheel->clock;
    for (; tick <= wheel->clock; tick = linked_next_tick(wheel, tick)) {
        linked_splice(wheel, linked_tick_slot(tick), LINKED_DUE);
    }
    wheel->first_at = tick;
    linked_leave_work(wheel);
}

static inline void linked_set_work_at(struct linked_wheel *wheel)
{
    wheel->work_at = wheel->first_at < wheel->upper_at ? wheel->first_at : wheel->upper_at;
}

/* An advance out of the block, or with something left by the one before, or to search FAR. */
static __attribute__((noinline)) uint64_t linked_advance_far(struct linked_wheel *wheel,
                                                             uint64_t now, uint64_t budget,
                                                             tl_fire_fn fire, void *ctx)
{
    uint64_t left = budget;
    uint64_t ticks = now - wheel->clock;
    if (linked_is_empty(wheel, LINKED_DUE)) {
        wheel->due_since = wheel->clock;
    } else if (now - wheel->due_since >= LINKED_NEAR) {
        linked_settle(wheel);
    }
    linked_splice(wheel, LINKED_LATE, LINKED_DUE);
    linked_collect(wheel, now);
    if (ticks >= LINKED_NEAR) {
        linked_make_due(wheel);
        wheel->due_since = now;
    }
    if (wheel->sought > 0 || now >= wheel->far_at) {
        linked_search_far(wheel, ticks < LINKED_NEAR / 2 ? LINKED_FEWER * ticks : UINT64_MAX);
    }
    bool all = linked_fire_list(wheel, LINKED_DUE, now, now, &left, fire, ctx);
    linked_move_down(wheel, ticks);
    wheel->first_at = linked_next_tick(wheel, now);
    linked_set_work_at(wheel);
    if (!all || !linked_is_empty(wheel, LINKED_LATE)) {
        linked_leave_work(wheel);
    }
    return all ? budget - left : budget;
}

/* What an advance to `now` has to do above the first level before that is fired. False: it is one
 * of those above. */
static __attribute__((noinline)) bool linked_prepare(struct linked_wheel *wheel, uint64_t now)
{
    uint64_t next = wheel->clock + 1;
    uint64_t ticks = now - wheel->clock;
    bool above = now >= wheel->upper_at;
    if (wheel->work_at == 0 || (above && (next >> LINKED_BLOCK_BITS != now >> LINKED_BLOCK_BITS ||
                                          now >= linked_far_wake(wheel)))) {
        return false;
    }
    wheel->clock = now;
    if (wheel->moving != 0 && now < linked_block_end(wheel)) {
        linked_move_on(wheel, ticks);
    } else if (above) {
        linked_set_ends(wheel);
        linked_move_down(wheel, ticks);
    }
    return true;
}

/* From `work_at` on. Within one block nothing is due but slots of the first level, which are fired
 * where they are: nothing that a callback files comes to lie in them. */
static __attribute__((noinline)) uint64_t linked_advance_awake(struct linked_wheel *wheel,
                                                               uint64_t now, uint64_t budget,
                                                               tl_fire_fn fire, void *ctx)
{
    if (__builtin_expect(now >= wheel->upper_at || wheel->moving != 0, 0) &&
        !linked_prepare(wheel, now)) {
        return linked_advance_far(wheel, now, budget, fire, ctx);
    }
    uint64_t left = budget;
    uint64_t tick = wheel->first_at;
    wheel->clock = now;
    wheel->first_at = 0; /* is looked up below */
    for (; tick <= now; tick = linked_next_tick(wheel, tick)) {
        TL_COUNT(wheel, slots, 1);
        if (!linked_fire_list(wheel, linked_tick_slot(tick), tick, now, &left, fire, ctx)) {
            linked_put_off(wheel, tick);
            return budget;
        }
    }
    wheel->first_at = tick;
    if (wheel->stripe != 0) {
        uint32_t ahead = linked_tick_slot(now + LINKED_AHEAD);
        __builtin_prefetch(linked_at(wheel, linked_ends(wheel, ahead)->next), 1);
        __builtin_prefetch(linked_at(wheel, linked_ends(wheel, ahead)->prev), 1);
    }
    linked_set_work_at(wheel);
    return budget - left;
}

/* Whether an advance has nothing to do but to set the clock, which this does. */
static inline bool linked_sleeps(struct linked_wheel *wheel, uint64_t now)
{
    if (now >= wheel->work_at) {
        return false;
    }
    wheel->clock = now;
    return true;
}

/* Whether the first level need not be searched for its first tick: there is none, or it is the one
 * that is kept, whose slot no stop has emptied since. Lowers `next` to it. */
static inline bool linked_first_is_known(const struct linked_wheel *wheel, uint64_t *next)
{
    uint64_t tick = wheel->first_at;
    if (tick == wheel->second) {
        return true;
    }
    uint32_t slot = linked_tick_slot(tick);
    if (wheel->occupied[slot] == 0) {
        return false;
    }
    *next = tick < *next ? tick : *next;
    return true;
}

static __attribute__((noinline)) uint64_t linked_look_for_next(const struct linked_wheel *wheel)
{
    if (wheel->count == 0) {
        return TL_NEVER;
    }
    if (!linked_is_empty(wheel, LINKED_DUE) || !linked_is_empty(wheel, LINKED_LATE)) {
        return wheel->clock;
    }
    /* When FAR is searched does not count: who goes there at once searches all of it. */
    uint64_t next = wheel->far_first < wheel->sought_first ? wheel->far_first : wheel->sought_first;
    for (uint32_t level = linked_first_is_known(wheel, &next) ? 1 : 0; level < LINKED_LEVELS;
         level++) {
        uint64_t from = wheel->clock >> linked_levels[level].shift;
        if (next <= (from + 1) << linked_levels[level].shift) {
            break; /* neither this level nor those above have a slot that begins before */
        }
        uint32_t ahead = linked_to_occupied(wheel, level, from);
        uint64_t at = (from + 1 + ahead) << linked_levels[level].shift;
        next = ahead < linked_levels[level].slots && at < next ? at : next;
    }
    return next;
}

/* Where ticks are busy, the first tick that is kept is the answer: if an advance wakes for it, no
 * level above the first, nor FAR, has anything before it. */
static inline uint64_t linked_next(const struct linked_wheel *wheel)
{
    uint64_t first = wheel->first_at;
    bool known = first == wheel->work_at && first > wheel->clock &&
                 wheel->occupied[linked_tick_slot(first)] != 0;
    return known ? first : linked_look_for_next(wheel);
}

/* The deadline of a timer that is pending; of what is due already, a tick that is not after the
 * clock. */
static inline uint64_t linked_deadline(const struct linked_wheel *wheel, linked_link link)
{
    const struct linked_node *node = linked_node(wheel, link);
    return linked_is_far(wheel, node) ? linked_far_deadline(wheel, link) : linked_due(wheel, node);
}

/* --- memory ---------------------------------------------------------------------------------- */

/* Of heads, and of so many timers where they are the wheel's own. */
static inline size_t linked_bytes(const struct linked_wheel *wheel, uint32_t capacity)
{
    (void)wheel; /* which says whether timers are in records */
    return LINKED_SLOTS * sizeof(linked_list) +
           (size_t)OWN_ENTRIES(wheel, capacity) * sizeof(struct linked_node);
}

/* Forgets all timers, so that an advance under way ends. Their nodes are left as they are. */
static inline void linked_empty(struct linked_wheel *wheel)
{
    wheel->count = 0;
    wheel->sooner = LINKED_NOTHING;
    wheel->moving = 0;
    wheel->far_at = wheel->far_first = wheel->sought_first = TL_NEVER;
    wheel->far_held = wheel->sought = 0;
    wheel->due_since = wheel->clock;
    linked_set_ends(wheel);
    wheel->first_at = wheel->second;
    wheel->upper_at = linked_block_end(wheel);
    wheel->work_at = wheel->upper_at;
    for (uint32_t slot = 0; wheel->lists != NULL && slot < LINKED_SLOTS; slot++) {
        linked_clear(wheel, slot);
    }
}

/* An empty wheel without memory. */
static inline void linked_init(struct linked_wheel *wheel, const struct tl_config *config)
{
    *wheel = (struct linked_wheel){.clock = config->now, .allocator = config->allocator};
    TAKE_RECORDS(wheel, config);
    linked_empty(wheel);
}

/* Grows to `capacity` timers, more than there are, or the first. Of timers in records none is
 * touched. TL_ERR_NOMEM: nothing changed. */
static inline enum tl_status linked_reserve(struct linked_wheel *wheel, uint32_t capacity)
{
    struct linked_wheel old = *wheel;
    bool stays = old.lists != NULL && OWN_ENTRIES(wheel, capacity) == 0;
    size_t highs_bytes = capacity * sizeof *wheel->far_highs;
    linked_list *lists =
        stays ? old.lists : tl_alloc(wheel->allocator, linked_bytes(wheel, capacity), LINKED_ALIGN);
    uint32_t *highs = tl_alloc(wheel->allocator, highs_bytes, LINKED_ALIGN);
    if (lists == NULL || (highs == NULL && highs_bytes > 0)) {
        tl_free(wheel->allocator, highs, highs_bytes, LINKED_ALIGN);
        if (!stays) {
            tl_free(wheel->allocator, lists, linked_bytes(wheel, capacity), LINKED_ALIGN);
        }
        return TL_ERR_NOMEM;
    }
    struct linked_node *nodes = (struct linked_node *)(void *)&lists[LINKED_SLOTS];
    size_t timers = OWN_ENTRIES(wheel, old.capacity);
    wheel->lists = lists;
    wheel->far_highs = highs;
    wheel->capacity = capacity;
    OWN_ARRAY(wheel, nodes, sizeof *nodes);
    linked_note_stride(wheel);
    if (old.lists == NULL) {
        wheel->plain = wheel->plain_most = LINKED_NEAR - 1;
        linked_empty(wheel);
    } else if (!stays) {
        memcpy(lists, old.lists, LINKED_SLOTS * sizeof *lists + timers * sizeof *nodes);
        linked_relink(wheel, &old);
        tl_free(wheel->allocator, old.lists, linked_bytes(&old, old.capacity), LINKED_ALIGN);
    }
    for (size_t i = timers; i < OWN_ENTRIES(wheel, capacity); i++) {
        nodes[i] = (struct linked_node){.links = {LINKED_NONE, LINKED_NONE}};
    }
    if (!linked_is_empty(wheel, LINKED_FAR)) {
        memcpy(highs, old.far_highs, old.capacity * sizeof *highs);
    }
    tl_free(wheel->allocator, old.far_highs, old.capacity * sizeof *highs, LINKED_ALIGN);
    if (capacity >= LINKED_STRIPED) {
        wheel->stripe = (LINKED_STRIPES - 1) * LINKED_SECOND_SLOTS;
    }
    return TL_OK;
}

static inline void linked_free(struct linked_wheel *wheel)
{
    if (wheel->lists != NULL) {
        tl_free(wheel->allocator, wheel->lists, linked_bytes(wheel, wheel->capacity), LINKED_ALIGN);
        tl_free(wheel->allocator, wheel->far_highs, wheel->capacity * sizeof *wheel->far_highs,
                LINKED_ALIGN);
        wheel->lists = NULL;
        wheel->far_highs = NULL;
    }
}

/* --- check ----------------------------------------------------------------------------------- */

static uint32_t linked_level_of_slot(uint32_t slot)
{
    uint32_t level = 0;
    while (level + 1 < LINKED_LEVELS && slot >= linked_levels[level + 1].first) {
        level++;
    }
    return level;
}

/* Whether a node of a slot of a level stands where it should. */
static const char *linked_check_node(const struct linked_wheel *wheel, uint32_t slot,
                                     const struct linked_node *node)
{
    uint32_t level = linked_level_of_slot(slot);
    uint32_t shift = linked_levels[level].shift;
    uint64_t due = linked_due(wheel, node);
    uint64_t filed =
        wheel->clock + (uint64_t)(int64_t)(int32_t)(node->filed - (uint32_t)wheel->clock);
    uint32_t mask = linked_levels[level].slots - 1;
    uint64_t at = (filed >> shift) & mask;
    uint64_t ahead = (filed >> shift) - (wheel->clock >> shift);
    if (at != ((slot - linked_levels[level].first) & mask) ||
        ahead - 1 >= linked_levels[level].slots) {
        return "a timer is in the wrong slot";
    }
    if (due < filed || due - wheel->clock >= LINKED_NEAR) {
        return "a timer is due before its slot, or too late for it";
    }
    uint64_t wake = level == 0 ? filed : filed - (UINT64_C(1) << shift);
    if (level == 1 && wheel->moving != 0 && (slot - wheel->moving) % LINKED_SECOND_SLOTS == 0) {
        wake += (UINT64_C(1) << shift) - LINKED_EAGER;
    }
    uint64_t by = level == 0 ? wheel->first_at : wheel->upper_at;
    if (wheel->work_at > by || (by > wake && by > wheel->clock + 1)) {
        return "a slot is looked at too late";
    }
    return NULL;
}

static const char *linked_check_far(const struct linked_wheel *wheel, linked_link link)
{
    uint64_t deadline = linked_far_deadline(wheel, link);
    bool late = deadline < wheel->far_first && deadline < wheel->sought_first;
    late |= wheel->sought == 0 && wheel->far_at > deadline - LINKED_NEAR / 2;
    late |= deadline <= wheel->clock || !linked_is_far(wheel, linked_node(wheel, link));
    return late ? "what is far is searched too late" : NULL;
}

/* Checks one list and counts its nodes. */
static const char *linked_check_list(const struct linked_wheel *wheel, uint32_t slot,
                                     uint64_t *seen)
{
    bool marked = wheel->occupied[slot] != 0;
    if (slot >= LINKED_FIRST && marked == linked_is_empty(wheel, slot)) {
        return "a slot's mark lies";
    }
    linked_link head = linked_head(wheel, slot);
    linked_link before = head;
    for (linked_link link = linked_ends(wheel, slot)->next; link != head;
         link = linked_at(wheel, link)->next) {
        uint32_t id = linked_id(wheel, link);
        if (id - wheel->first >= wheel->capacity - wheel->first ||
            linked_timer(wheel, id) != link || linked_at(wheel, link)->prev != before ||
            ++*seen > wheel->count) {
            return "the links do not agree";
        }
        const char *wrong = NULL;
        if (slot >= LINKED_FIRST) {
            wrong = linked_check_node(wheel, slot, linked_node(wheel, link));
        } else if (slot == LINKED_FAR) {
            wrong = linked_check_far(wheel, link);
        } else if (wheel->work_at != 0) {
            wrong = "what is due is not looked at";
        }
        if (wrong != NULL) {
            return wrong;
        }
        before = link;
    }
    return linked_ends(wheel, slot)->prev == before ? NULL : "the links do not agree";
}

static enum tl_status linked_check(const struct linked_wheel *wheel, char *why, size_t why_bytes)
{
    uint64_t seen = 0;
    const char *wrong = NULL;
    uint32_t slot = 0;
    for (; wrong == NULL && slot < LINKED_SLOTS; slot++) {
        wrong = linked_check_list(wheel, slot, &seen);
    }
    if (wrong != NULL) {
        return corrupt(why, why_bytes, "%s (slot %" PRIu32 ")", wrong, slot - 1);
    }
    uint64_t linked = 0;
    for (uint32_t id = wheel->first; id < wheel->capacity; id++) {
        linked += linked_at(wheel, linked_timer(wheel, id))->next != LINKED_NONE;
    }
    if (seen != wheel->count || linked != wheel->count) {
        return corrupt(why, why_bytes,
                       "%" PRIu64 " timers in lists, %" PRIu64 " with links, %" PRIu64 " counted",
                       seen, linked, wheel->count);
    }
    return TL_OK;
}

/* --- showing --------------------------------------------------------------------------------- */

/* The tick by which a timer is filed: its deadline, or, after a restart to beyond its slot, the
 * slot's first. */
static uint64_t linked_filed_by(const struct linked_wheel *wheel, uint32_t slot, linked_link link)
{
    const struct linked_node *node = linked_node(wheel, link);
    if (slot == LINKED_FAR) {
        return linked_far_deadline(wheel, link);
    }
    if (slot < LINKED_FIRST) {
        return TL_NEVER;
    }
    uint32_t shift = linked_levels[linked_level_of_slot(slot)].shift;
    uint64_t due = linked_due(wheel, node);
    uint32_t late = node->due - node->filed;
    return late >> shift == 0 ? due : due - late;
}

static void linked_walk_list(const struct linked_wheel *wheel, uint32_t slot,
                             const struct tl_visitor *visitor)
{
    for (linked_link link = linked_ends(wheel, slot)->next; link != linked_head(wheel, slot);
         link = linked_at(wheel, link)->next) {
        walk_timer(visitor, linked_id(wheel, link), linked_filed_by(wheel, slot, link), 0);
    }
}

static void linked_walk(const struct linked_wheel *wheel, const struct tl_visitor *visitor)
{
    if (!linked_is_empty(wheel, LINKED_DUE) || !linked_is_empty(wheel, LINKED_LATE)) {
        walk_due_part(visitor);
        walk_node(visitor, 0, TL_NEVER);
        linked_walk_list(wheel, LINKED_DUE, visitor);
        linked_walk_list(wheel, LINKED_LATE, visitor);
    }
    for (uint32_t level = 0; level < LINKED_LEVELS; level++) {
        uint32_t shift = linked_levels[level].shift;
        uint64_t hand = wheel->clock >> shift;
        walk_level(visitor, level + 1, UINT64_C(1) << shift);
        for (uint32_t i = 0; i < linked_levels[level].slots; i++) {
            uint32_t slot = linked_levels[level].first + i;
            uint64_t ahead = (i - hand) & (linked_levels[level].slots - 1);
            uint64_t from = (hand + ahead) << shift;
            walk_span(visitor, i, from, from + ((UINT64_C(1) << shift) - 1),
                      (ahead == 0 ? TL_MARK_HAND : 0u) |
                          (linked_slot_is_empty(wheel, level, slot) ? 0u : TL_MARK_FLAGGED));
            for (uint32_t k = 0; k < linked_levels[level].lists; k++) {
                linked_walk_list(wheel, slot + k * linked_levels[level].slots, visitor);
            }
        }
    }
    if (!linked_is_empty(wheel, LINKED_FAR)) {
        walk_part(visitor, "far", TL_FORM_LIST, 0);
        walk_node(visitor, 0, TL_NEVER);
        linked_walk_list(wheel, LINKED_FAR, visitor);
    }
}

#endif
