/*
 * linked_wheel.h: the wheel that chunk-wheel is as long as its timers are few.
 *
 *   slot   head <-> node <-> node <-> head         doubly linked, circular, in one array
 *   node   { next, prev, due, filed }              16 bytes, one an id
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
 * each time a wrong guess. Linking and unlinking have no branches, and neither has clearing the bit
 * of a slot that becomes empty; only a restart is late: if its deadline is not before the tick that
 * the node is `filed` under, it sets `due`, and the node is linked where it belongs when the wheel
 * comes to it. Restarted timers mostly go from one slot far ahead to another, once in several
 * restarts.
 *
 * As in the chunks, a level holds this block and the next, and while the clock is in one, the upper
 * slot of the next is moved down, some 32 nodes an advance: no tick has a bulk to move. It is taken
 * from both ends at once, so that two nodes are under way from memory. Where the nodes do not fit
 * in the nearest caches, a slot of the second level, through which nearly all timers come, is four
 * lists, by ids, and taken from the beginning of each.
 *
 * Ticks in nodes are the low 32 bits. A node's are near the clock, so that which is before which is
 * plain: deadlines of 2^28 ticks or more ahead wait in FAR, and their high bits apart; it is
 * searched when one of them comes near, and by an advance 2^29 ticks or more after the last. An
 * advance by 2^28 ticks or more makes everything due that is not in FAR.
 *
 * DUE holds what an advance over several slots has collected, or its budget left; LATE what was
 * started when already due, for the next advance. `work_at` is the tick before which an advance has
 * nothing to do: it compares, and returns. It is never behind the end of the block, so that the
 * ends of the first two levels, `ends`, can be kept for filing.
 *
 * Invariants
 *   - a pending timer is in one list, and is not due before the tick that it is filed under
 *   - that tick is the first of its slot; the slot of a level of width 2^s is (tick >> s) modulo
 *     the slots, and less than two blocks of the level ahead of the clock
 *   - a list's bit is set exactly if it has a node
 *   - lower[0].at and lower[1].at are not behind the tick at which the first slot of level 1, or of
 *     those above, is to be looked at; work_at is behind neither, and 0 if DUE or LATE hold any
 *
 * Complexity (m levels): start, stop, restart O(1); a tick O(1); expiry O(m) moves; a jump
 * O(slots / 64). Bad at: more timers than the cache has room for.
 *
 * Internal to chunk_wheel.c.
 */
#ifndef ALGOS_LINKED_WHEEL_H
#define ALGOS_LINKED_WHEEL_H

#include "slot_bitmap.h"
#include "timerlab.h"
#include "walk.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#define LINKED_NONE  UINT32_MAX
#define LINKED_ALIGN 64
#define LINKED_NEAR  (UINT64_C(1) << 28) /* deadlines this far ahead, or further, wait in FAR */

enum {
    LINKED_LEVELS = 4,
    LINKED_BLOCK_BITS = 9, /* of the first level */
    LINKED_SECOND_SLOTS = 256,
    LINKED_STRIPES = 4, /* lists of a slot of the second level, of which few timers use the first */
    LINKED_STRIPED = 32768, /* timers that use all */
    LINKED_SECOND = 1024,   /* the first head of the second level, and so on */
    LINKED_THIRD = LINKED_SECOND + LINKED_STRIPES * LINKED_SECOND_SLOTS,
    LINKED_FOURTH = LINKED_THIRD + 128,
    LINKED_LEVEL_SLOTS = LINKED_FOURTH + 128,
    LINKED_DUE = LINKED_LEVEL_SLOTS,
    LINKED_LATE,
    LINKED_FAR,
    LINKED_SLOTS, /* and as many heads; timer 0 is the node behind them */
    LINKED_WORDS = (LINKED_SLOTS + 63) / 64,
    LINKED_PORTION = 32, /* nodes that one advance moves down from a slot; doubled when an eighth of
                            the time for it is over, and another, so that few may be left at last */
    LINKED_AHEAD = 2,    /* so many ticks before its own a slot is fetched */
};

static const struct {
    uint32_t shift; /* log2 of a slot's ticks */
    uint32_t slots; /* two blocks of the level, a power of two */
    uint32_t first; /* head of its slot 0 */
    uint32_t lists; /* of a slot; the heads of all first ones come before those of the second */
} linked_levels[LINKED_LEVELS] = {
    {0, 1024, 0, 1},
    {LINKED_BLOCK_BITS, LINKED_SECOND_SLOTS, LINKED_SECOND, LINKED_STRIPES},
    {16, 128, LINKED_THIRD, 1},
    {22, 128, LINKED_FOURTH, 1},
};

struct linked_node {
    uint32_t next; /* LINKED_NONE: the timer is not pending */
    uint32_t prev;
    uint32_t due;
    uint32_t filed;
};

struct linked_wheel {
    alignas(LINKED_ALIGN) uint64_t work_at; /* an advance to before this only sets the clock */
    uint64_t clock;
    uint64_t ends[2];          /* deadlines before these go to the first level, or the second */
    struct linked_node *nodes; /* heads, then timers; NULL: this regime is not in use */
    uint64_t count;            /* timers pending */
    const struct tl_allocator *allocator;
    uint32_t capacity;
    alignas(LINKED_ALIGN) struct {
        uint64_t at; /* first tick at which there may be something to do on this level, or, on the
                        second, on any but the first */
        uint32_t first;
        uint16_t shift;
        uint16_t mask;
        uint32_t width;  /* so many ticks before a slot begins it is moved down */
        uint32_t stripe; /* of an index, the bits that make the difference between lists' heads */
    } lower[2];          /* the first two levels, as filing needs them */
    uint64_t far_at;     /* when FAR is to be searched */
    uint64_t far_near;   /* when the first of FAR comes near, or before */
    uint64_t due_since;  /* the clock before which nothing in DUE was due */
    uint64_t occupied[LINKED_WORDS];
    uint32_t *far_highs; /* of a timer in FAR, the high half of its deadline */
    struct tl_counters counters;
};

/* --- lists ----------------------------------------------------------------------------------- */

static inline bool linked_is_empty(const struct linked_wheel *wheel, uint32_t head)
{
    return wheel->nodes[head].next == head;
}

static inline void linked_mark(struct linked_wheel *wheel, uint32_t slot)
{
    wheel->occupied[slot / 64] |= UINT64_C(1) << slot % 64;
}

static inline void linked_unmark(struct linked_wheel *wheel, uint32_t slot)
{
    wheel->occupied[slot / 64] &= ~(UINT64_C(1) << slot % 64);
}

static inline void linked_clear(struct linked_wheel *wheel, uint32_t head)
{
    wheel->nodes[head].next = head;
    wheel->nodes[head].prev = head;
    linked_unmark(wheel, head);
}

/* Puts a node that is in no list at the end of a slot's. */
static inline void linked_append(struct linked_wheel *wheel, uint32_t slot, uint32_t index)
{
    struct linked_node *nodes = wheel->nodes;
    uint32_t last = nodes[slot].prev;
    TL_COUNT(wheel, moves, 1);
    nodes[index].next = slot;
    nodes[index].prev = last;
    nodes[slot].prev = index;
    nodes[last].next = index;
    linked_mark(wheel, slot);
}

/* Takes a node out of its list, and clears the slot's bit if it was alone; whether it was is a coin
 * toss, so no branch asks. */
static inline void linked_remove(struct linked_wheel *wheel, uint32_t index)
{
    struct linked_node *nodes = wheel->nodes;
    uint32_t next = nodes[index].next;
    uint32_t prev = nodes[index].prev;
    TL_COUNT(wheel, moves, 1);
    nodes[next].prev = prev;
    nodes[prev].next = next;
    uint64_t alone = ((uint64_t)(next ^ prev) - 1) >> 63; /* then both are the head */
    uint32_t slot = next & (0 - (uint32_t)alone);
    wheel->occupied[slot / 64] &= ~(alone << slot % 64);
}

/* Takes the first node out. The slot's bit stays. */
static inline void linked_pop(struct linked_wheel *wheel, uint32_t head, uint32_t index)
{
    uint32_t next = wheel->nodes[index].next;
    wheel->nodes[head].next = next;
    wheel->nodes[next].prev = head;
}

/* Moves all of a slot's nodes behind those of another. */
static inline void linked_splice(struct linked_wheel *wheel, uint32_t from, uint32_t to)
{
    struct linked_node *nodes = wheel->nodes;
    if (linked_is_empty(wheel, from)) {
        return;
    }
    TL_COUNT(wheel, slots, 1);
    uint32_t first = nodes[from].next;
    uint32_t last = nodes[from].prev;
    uint32_t end = nodes[to].prev;
    nodes[end].next = first;
    nodes[first].prev = end;
    nodes[last].next = to;
    nodes[to].prev = last;
    linked_mark(wheel, to);
    linked_clear(wheel, from);
}

/* --- filing ---------------------------------------------------------------------------------- */

/* The due tick of a node that is not in FAR. */
static inline uint64_t linked_due(const struct linked_wheel *wheel, const struct linked_node *node)
{
    int32_t ahead = (int32_t)(node->due - (uint32_t)wheel->clock);
    return wheel->clock + (uint64_t)(int64_t)ahead;
}

/* Something has to be looked at sooner: `upper` is 0 for the first level and 1 for those above. */
static __attribute__((noinline)) void linked_wake(struct linked_wheel *wheel, uint32_t upper,
                                                  uint64_t at)
{
    wheel->lower[upper].at = at;
    wheel->work_at = at < wheel->work_at ? at : wheel->work_at;
}

static __attribute__((noinline)) void linked_file_further(struct linked_wheel *wheel,
                                                          uint32_t index, uint64_t due)
{
    uint32_t shift = linked_levels[3].shift;
    uint32_t level = 2 + ((due >> shift) - (wheel->clock >> shift) > 1);
    shift = linked_levels[level].shift;
    uint64_t block = due >> shift;
    uint32_t slot =
        linked_levels[level].first + ((uint32_t)block & (linked_levels[level].slots - 1));
    wheel->nodes[index].filed = (uint32_t)(block << shift);
    uint64_t at = (block - 1) << shift;
    if (at < wheel->lower[1].at) {
        linked_wake(wheel, 1, at);
    }
    linked_append(wheel, slot, index);
}

/* Files a node under its due tick, after the clock and less than 2^28 ahead. Which of the first two
 * levels takes it is a coin toss too, so a table says what follows. */
static inline void linked_file(struct linked_wheel *wheel, uint32_t index, uint64_t due)
{
    if (__builtin_expect(due >= wheel->ends[1], 0)) {
        linked_file_further(wheel, index, due);
        return;
    }
    uint32_t upper = due >= wheel->ends[0];
    uint32_t shift = wheel->lower[upper].shift;
    uint64_t block = due >> shift;
    uint32_t slot = wheel->lower[upper].first + ((uint32_t)block & wheel->lower[upper].mask) +
                    (index & wheel->lower[upper].stripe);
    uint64_t at = block << shift;
    wheel->nodes[index].filed = (uint32_t)at;
    at -= wheel->lower[upper].width;
    if (__builtin_expect(at < wheel->lower[upper].at, 0)) {
        linked_wake(wheel, upper, at);
    }
    linked_append(wheel, slot, index);
}

/* Puts a node into FAR. Under what it is filed there no near deadline is ever found to be later:
 * not until FAR is searched, at the latest 2^29 ticks from now. */
static void linked_file_far(struct linked_wheel *wheel, uint32_t index, uint64_t deadline)
{
    wheel->nodes[index].due = (uint32_t)deadline;
    wheel->nodes[index].filed = (uint32_t)wheel->clock + INT32_MAX;
    wheel->far_highs[index - LINKED_SLOTS] = (uint32_t)(deadline >> 32);
    linked_append(wheel, LINKED_FAR, index);
    uint64_t near = deadline - LINKED_NEAR / 2;
    uint64_t latest = wheel->clock + 2 * LINKED_NEAR;
    wheel->far_near = near < wheel->far_near ? near : wheel->far_near;
    uint64_t at = near < latest ? near : latest;
    if (at < wheel->far_at) {
        wheel->far_at = at;
        if (at < wheel->lower[1].at) {
            linked_wake(wheel, 1, at);
        }
    }
}

static inline uint64_t linked_far_deadline(const struct linked_wheel *wheel, uint32_t index)
{
    return (uint64_t)wheel->far_highs[index - LINKED_SLOTS] << 32 | wheel->nodes[index].due;
}

/* --- start and stop -------------------------------------------------------------------------- */

/* A start for now, the past, or a deadline that is far. */
static __attribute__((noinline)) enum tl_status linked_start_apart(struct linked_wheel *wheel,
                                                                   uint32_t id, uint64_t deadline)
{
    uint32_t index = id + LINKED_SLOTS;
    struct linked_node *node = &wheel->nodes[index];
    if (node->next != LINKED_NONE) {
        linked_remove(wheel, index);
    } else {
        wheel->count++;
    }
    if (deadline > wheel->clock) {
        linked_file_far(wheel, index, deadline);
    } else {
        node->due = (uint32_t)wheel->clock;
        node->filed = (uint32_t)wheel->clock;
        linked_append(wheel, LINKED_LATE, index);
        wheel->work_at = 0;
    }
    return TL_OK;
}

static inline enum tl_status linked_start(struct linked_wheel *wheel, uint32_t id,
                                          uint64_t deadline)
{
    if (__builtin_expect(deadline - wheel->clock - 1 >= LINKED_NEAR - 1, 0)) {
        return linked_start_apart(wheel, id, deadline);
    }
    uint32_t index = id + LINKED_SLOTS;
    struct linked_node *node = &wheel->nodes[index];
    node->due = (uint32_t)deadline;
    if (node->next != LINKED_NONE) {
        TL_COUNT(wheel, compares, 1);
        if ((int32_t)((uint32_t)deadline - node->filed) >= 0) {
            return TL_OK;
        }
        linked_remove(wheel, index);
    } else {
        wheel->count++;
    }
    linked_file(wheel, index, deadline);
    return TL_OK;
}

static inline enum tl_status linked_stop(struct linked_wheel *wheel, uint32_t id)
{
    uint32_t index = id + LINKED_SLOTS;
    if (wheel->nodes[index].next == LINKED_NONE) {
        return TL_IDLE;
    }
    linked_remove(wheel, index);
    wheel->nodes[index].next = LINKED_NONE;
    wheel->count--;
    return TL_OK;
}

/* --- advance --------------------------------------------------------------------------------- */

/* The first occupied slot behind position `from` of a level: how many further on, from 0; or the
 * level's number of slots. */
static inline uint32_t linked_to_occupied(const struct linked_wheel *wheel, uint32_t level,
                                          uint64_t from)
{
    uint32_t slots = linked_levels[level].slots;
    const uint64_t *words = &wheel->occupied[linked_levels[level].first / 64];
    uint32_t ahead = bitmap_words_ahead(words, slots, from);
    if (level == 1 && wheel->lower[1].stripe != 0) {
        for (uint32_t i = 1; i < LINKED_STRIPES; i++) {
            uint32_t found = bitmap_words_ahead(words + i * slots / 64, slots, from);
            ahead = found < ahead ? found : ahead;
        }
    }
    return ahead;
}

/* The first tick after `from` of which the first level has an occupied slot; or TL_NEVER. */
static inline uint64_t linked_next_tick(const struct linked_wheel *wheel, uint64_t from)
{
    uint32_t ahead = linked_to_occupied(wheel, 0, from);
    return ahead < linked_levels[0].slots ? from + 1 + ahead : TL_NEVER;
}

static inline void linked_set_ends(struct linked_wheel *wheel)
{
    for (uint32_t level = 0; level < 2; level++) {
        uint32_t shift = linked_levels[level + 1].shift;
        wheel->ends[level] = ((wheel->clock >> shift) + 2) << shift;
    }
}

static inline uint64_t linked_block_end(const struct linked_wheel *wheel)
{
    return wheel->ends[0] - (UINT64_C(1) << LINKED_BLOCK_BITS);
}

/* Files again up to `most` of a slot's nodes, from both ends. */
static __attribute__((noinline)) void linked_move_slot(struct linked_wheel *wheel, uint32_t head,
                                                       uint32_t most)
{
    struct linked_node *nodes = wheel->nodes;
    uint32_t first = nodes[head].next;
    uint32_t last = nodes[head].prev;
    TL_COUNT(wheel, slots, 1);
    for (uint32_t pairs = most / 2; pairs > 0; pairs--) {
        uint32_t next = nodes[first].next;
        uint32_t prev = nodes[last].prev;
        __builtin_prefetch(&nodes[next], 1);
        __builtin_prefetch(&nodes[prev], 1);
        TL_COUNT(wheel, cascades, 1);
        linked_file(wheel, first, linked_due(wheel, &nodes[first]));
        if (first != last) {
            TL_COUNT(wheel, cascades, 1);
            linked_file(wheel, last, linked_due(wheel, &nodes[last]));
        }
        if (first == last || next == last) {
            linked_clear(wheel, head);
            return;
        }
        first = next;
        last = prev;
    }
    nodes[head].next = first;
    nodes[first].prev = head;
    nodes[head].prev = last;
    nodes[last].next = head;
}

/* The same of a slot of the second level with several lists, from the beginnings of all. */
static __attribute__((noinline)) void linked_move_stripes(struct linked_wheel *wheel, uint32_t slot,
                                                          uint32_t most)
{
    struct linked_node *nodes = wheel->nodes;
    uint32_t firsts[LINKED_STRIPES];
    TL_COUNT(wheel, slots, 1);
    for (uint32_t i = 0; i < LINKED_STRIPES; i++) {
        firsts[i] = nodes[slot + i * LINKED_SECOND_SLOTS].next;
        __builtin_prefetch(&nodes[firsts[i]], 1);
    }
    bool left = true;
    for (uint32_t rounds = most / LINKED_STRIPES; left && rounds > 0; rounds--) {
        left = false;
        for (uint32_t i = 0; i < LINKED_STRIPES; i++) {
            uint32_t index = firsts[i];
            if (index != slot + i * LINKED_SECOND_SLOTS) {
                firsts[i] = nodes[index].next;
                __builtin_prefetch(&nodes[firsts[i]], 1);
                TL_COUNT(wheel, cascades, 1);
                linked_file(wheel, index, linked_due(wheel, &nodes[index]));
                left = true;
            }
        }
    }
    for (uint32_t i = 0; i < LINKED_STRIPES; i++) {
        uint32_t head = slot + i * LINKED_SECOND_SLOTS;
        if (firsts[i] == head) {
            linked_clear(wheel, head);
        } else {
            nodes[head].next = firsts[i];
            nodes[firsts[i]].prev = head;
        }
    }
}

/* Whether a slot, of which the first list's head is given, has no nodes. */
static inline bool linked_slot_is_empty(const struct linked_wheel *wheel, uint32_t level,
                                        uint32_t slot)
{
    bool empty = linked_is_empty(wheel, slot);
    for (uint32_t i = 1; i < linked_levels[level].lists; i++) {
        empty &= linked_is_empty(wheel, slot + i * linked_levels[level].slots);
    }
    return empty;
}

/* Moves down what the time has come for, of the slots of the next blocks: on the last tick of a
 * block all that is left. */
static __attribute__((noinline)) void linked_move_down(struct linked_wheel *wheel)
{
    uint64_t now = wheel->clock;
    wheel->lower[1].at = TL_NEVER;
    for (uint32_t level = LINKED_LEVELS - 1; level >= 1; level--) {
        uint32_t shift = linked_levels[level].shift;
        uint64_t block = (now >> shift) + 1;
        uint32_t slot =
            linked_levels[level].first + ((uint32_t)block & (linked_levels[level].slots - 1));
        if (linked_slot_is_empty(wheel, level, slot)) {
            continue;
        }
        bool last = now + 1 == block << shift;
        uint32_t eighths = (uint32_t)(now >> (shift - 3)) & 7;
        uint32_t most = last ? UINT32_MAX : (uint32_t)LINKED_PORTION << eighths;
        if (level == 1 && wheel->lower[1].stripe != 0) {
            linked_move_stripes(wheel, slot, most);
        } else {
            linked_move_slot(wheel, slot, most);
        }
    }
    uint64_t at = linked_block_end(wheel);
    at = wheel->far_at < at ? wheel->far_at : at;
    for (uint32_t level = 1; level < LINKED_LEVELS; level++) {
        uint64_t from = now >> linked_levels[level].shift;
        uint32_t ahead = linked_to_occupied(wheel, level, from);
        if (ahead < linked_levels[level].slots) {
            uint64_t begins = (from + ahead) << linked_levels[level].shift;
            uint64_t wake = ahead == 0 ? now + 1 : begins;
            at = wake < at ? wake : at;
        }
    }
    wheel->lower[1].at = at;
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
    struct linked_node *nodes = wheel->nodes;
    for (uint32_t index = nodes[LINKED_DUE].next; index != LINKED_DUE; index = nodes[index].next) {
        nodes[index].due = (uint32_t)wheel->clock;
        nodes[index].filed = (uint32_t)wheel->clock;
    }
}

/* What a budget has left in DUE so long ago that 32 bits would soon not tell before from after:
 * what is due becomes so anew, and what was restarted meanwhile is filed. */
static void linked_settle(struct linked_wheel *wheel)
{
    struct linked_node *nodes = wheel->nodes;
    uint32_t index = nodes[LINKED_DUE].next;
    linked_clear(wheel, LINKED_DUE);
    while (index != LINKED_DUE) {
        uint32_t next = nodes[index].next;
        uint64_t due = linked_due(wheel, &nodes[index]);
        if (due > wheel->clock) {
            linked_file(wheel, index, due);
        } else {
            nodes[index].due = (uint32_t)wheel->clock;
            nodes[index].filed = (uint32_t)wheel->clock;
            linked_append(wheel, LINKED_DUE, index);
        }
        index = next;
    }
    wheel->due_since = wheel->clock;
}

/* Searches FAR for what is no longer far. */
static void linked_search_far(struct linked_wheel *wheel)
{
    struct linked_node *nodes = wheel->nodes;
    uint32_t index = nodes[LINKED_FAR].next;
    linked_clear(wheel, LINKED_FAR);
    wheel->far_at = TL_NEVER;
    wheel->far_near = TL_NEVER;
    while (index != LINKED_FAR) {
        uint32_t next = nodes[index].next;
        uint64_t deadline = linked_far_deadline(wheel, index);
        TL_COUNT(wheel, compares, 1);
        if (deadline <= wheel->clock) {
            nodes[index].due = (uint32_t)wheel->clock;
            nodes[index].filed = (uint32_t)wheel->clock;
            linked_append(wheel, LINKED_DUE, index);
        } else if (deadline - wheel->clock < LINKED_NEAR) {
            linked_file(wheel, index, deadline);
        } else {
            linked_file_far(wheel, index, deadline);
        }
        index = next;
    }
}

/* Fires what is due of a list that nothing is filed into meanwhile, and files again what is not.
 * False: the budget is used up before its end. */
static inline bool linked_fire_list(struct linked_wheel *wheel, uint32_t head, uint64_t now,
                                    uint64_t budget, uint64_t *fired, tl_fire_fn fire, void *ctx)
{
    uint32_t index = wheel->nodes[head].next;
    while (index != head) {
        struct linked_node *node = &wheel->nodes[index];
        if (__builtin_expect((int32_t)(node->due - (uint32_t)now) > 0, 0)) {
            TL_COUNT(wheel, cascades, 1);
            linked_pop(wheel, head, index);
            linked_file(wheel, index, linked_due(wheel, node));
        } else if (*fired == budget) {
            return false;
        } else {
            TL_COUNT(wheel, moves, 1);
            linked_pop(wheel, head, index);
            node->next = LINKED_NONE;
            wheel->count--;
            ++*fired;
            fire(ctx, index - LINKED_SLOTS, now);
        }
        index = wheel->nodes[head].next; /* whatever the callback has stopped */
    }
    linked_unmark(wheel, head);
    return true;
}

/* What is left for the next advance has it begin at once. */
static inline void linked_set_work_at(struct linked_wheel *wheel)
{
    uint64_t at = wheel->lower[0].at < wheel->lower[1].at ? wheel->lower[0].at : wheel->lower[1].at;
    bool left = !linked_is_empty(wheel, LINKED_DUE) || !linked_is_empty(wheel, LINKED_LATE);
    wheel->work_at = left ? 0 : at;
}

/* An advance out of the block, or with something left by the one before, or to search FAR. */
static __attribute__((noinline)) uint64_t linked_advance_far(struct linked_wheel *wheel,
                                                             uint64_t now, uint64_t budget,
                                                             tl_fire_fn fire, void *ctx)
{
    uint64_t fired = 0;
    bool leap = now - wheel->clock >= LINKED_NEAR;
    if (linked_is_empty(wheel, LINKED_DUE)) {
        wheel->due_since = wheel->clock;
    } else if (now - wheel->due_since >= LINKED_NEAR) {
        linked_settle(wheel);
    }
    linked_splice(wheel, LINKED_LATE, LINKED_DUE);
    linked_collect(wheel, now);
    if (leap) {
        linked_make_due(wheel);
        wheel->due_since = now;
    }
    if (now >= wheel->far_at) {
        linked_search_far(wheel);
    }
    (void)linked_fire_list(wheel, LINKED_DUE, now, budget, &fired, fire, ctx);
    linked_move_down(wheel);
    wheel->lower[0].at = linked_next_tick(wheel, now);
    linked_set_work_at(wheel);
    return fired;
}

/* Within one block nothing is due but slots of the first level, which are fired where they are:
 * nothing that a callback files comes to lie in them. */
static __attribute__((noinline)) uint64_t linked_advance_awake(struct linked_wheel *wheel,
                                                               uint64_t now, uint64_t budget,
                                                               tl_fire_fn fire, void *ctx)
{
    uint64_t next = wheel->clock + 1;
    if (wheel->work_at == 0 || next >> LINKED_BLOCK_BITS != now >> LINKED_BLOCK_BITS ||
        now >= wheel->far_at) {
        return linked_advance_far(wheel, now, budget, fire, ctx);
    }
    uint64_t fired = 0;
    bool within = true;
    wheel->clock = now;
    if (now >= wheel->lower[1].at) {
        linked_set_ends(wheel);
        linked_move_down(wheel);
    }
    while (wheel->lower[0].at <= now) {
        uint64_t tick = wheel->lower[0].at;
        uint32_t slot = (uint32_t)tick & (linked_levels[0].slots - 1);
        TL_COUNT(wheel, slots, 1);
        wheel->lower[0].at = TL_NEVER;
        if (within) {
            within = linked_fire_list(wheel, slot, now, budget, &fired, fire, ctx);
        }
        if (!within) {
            wheel->due_since = now;
            linked_splice(wheel, slot, LINKED_DUE);
        }
        wheel->lower[0].at = linked_next_tick(wheel, tick);
    }
    uint32_t ahead = (uint32_t)(now + LINKED_AHEAD) & (linked_levels[0].slots - 1);
    __builtin_prefetch(&wheel->nodes[wheel->nodes[ahead].next], 1);
    __builtin_prefetch(&wheel->nodes[wheel->nodes[ahead].prev], 1);
    linked_set_work_at(wheel);
    return fired;
}

static inline uint64_t linked_advance(struct linked_wheel *wheel, uint64_t now, uint64_t budget,
                                      tl_fire_fn fire, void *ctx)
{
    if (now < wheel->work_at) {
        wheel->clock = now;
        return 0;
    }
    return linked_advance_awake(wheel, now, budget, fire, ctx);
}

/* Whether the first level need not be searched for its first tick: there is none, or it is the one
 * that is kept, whose slot no stop has emptied since. Lowers `next` to it. */
static inline bool linked_first_is_known(const struct linked_wheel *wheel, uint64_t *next)
{
    uint64_t tick = wheel->lower[0].at;
    if (tick == TL_NEVER) {
        return true;
    }
    uint32_t slot = (uint32_t)tick & (linked_levels[0].slots - 1);
    if ((wheel->occupied[slot / 64] >> slot % 64 & 1) == 0) {
        return false;
    }
    *next = tick < *next ? tick : *next;
    return true;
}

static uint64_t linked_next(const struct linked_wheel *wheel)
{
    if (wheel->count == 0) {
        return TL_NEVER;
    }
    if (!linked_is_empty(wheel, LINKED_DUE) || !linked_is_empty(wheel, LINKED_LATE)) {
        return wheel->clock;
    }
    /* That FAR is searched every so often is for the clock's sake: while that stands, nobody need.
     */
    uint64_t next = wheel->far_near;
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

/* The deadline of a timer that is pending; of what is due already, a tick that is not after the
 * clock. */
static inline uint64_t linked_deadline(const struct linked_wheel *wheel, uint32_t id)
{
    const struct linked_node *node = &wheel->nodes[id + LINKED_SLOTS];
    bool far = (int32_t)(node->filed - (uint32_t)wheel->clock) > (int32_t)(2 * LINKED_NEAR);
    return far ? linked_far_deadline(wheel, id + LINKED_SLOTS) : linked_due(wheel, node);
}

/* --- memory ---------------------------------------------------------------------------------- */

static inline size_t linked_bytes(uint32_t capacity)
{
    return (LINKED_SLOTS + (size_t)capacity) * sizeof(struct linked_node) +
           (size_t)capacity * sizeof(uint32_t);
}

/* An empty wheel without memory. */
static inline void linked_init(struct linked_wheel *wheel, uint64_t now,
                               const struct tl_allocator *allocator)
{
    *wheel = (struct linked_wheel){
        .clock = now,
        .far_at = TL_NEVER,
        .far_near = TL_NEVER,
        .due_since = now,
        .allocator = allocator,
    };
    linked_set_ends(wheel);
    for (uint32_t level = 0; level < 2; level++) {
        wheel->lower[level].at = TL_NEVER;
        wheel->lower[level].shift = (uint16_t)linked_levels[level].shift;
        wheel->lower[level].mask = (uint16_t)(linked_levels[level].slots - 1);
        wheel->lower[level].first = linked_levels[level].first;
    }
    wheel->lower[1].width = UINT32_C(1) << LINKED_BLOCK_BITS;
    wheel->lower[1].at = linked_block_end(wheel);
    wheel->work_at = wheel->lower[1].at;
}

/* Grows to `capacity` timers, more than there are, or the first. TL_ERR_NOMEM: nothing changed. */
static inline enum tl_status linked_reserve(struct linked_wheel *wheel, uint32_t capacity)
{
    struct linked_node *nodes = tl_alloc(wheel->allocator, linked_bytes(capacity), LINKED_ALIGN);
    if (nodes == NULL) {
        return TL_ERR_NOMEM;
    }
    uint32_t *far_highs = (uint32_t *)(void *)&nodes[LINKED_SLOTS + (size_t)capacity];
    uint32_t old = wheel->capacity;
    if (wheel->nodes != NULL) {
        memcpy(nodes, wheel->nodes, (LINKED_SLOTS + (size_t)old) * sizeof *nodes);
        memcpy(far_highs, wheel->far_highs, old * sizeof *far_highs);
        tl_free(wheel->allocator, wheel->nodes, linked_bytes(old), LINKED_ALIGN);
        wheel->nodes = nodes;
    } else {
        wheel->nodes = nodes;
        for (uint32_t head = 0; head < LINKED_SLOTS; head++) {
            linked_clear(wheel, head);
        }
    }
    for (uint32_t id = old; id < capacity; id++) {
        nodes[id + LINKED_SLOTS] = (struct linked_node){.next = LINKED_NONE, .prev = LINKED_NONE};
        far_highs[id] = 0;
    }
    wheel->far_highs = far_highs;
    wheel->capacity = capacity;
    if (capacity >= LINKED_STRIPED) {
        wheel->lower[1].stripe = (LINKED_STRIPES - 1) * LINKED_SECOND_SLOTS;
    }
    return TL_OK;
}

static inline void linked_free(struct linked_wheel *wheel)
{
    if (wheel->nodes != NULL) {
        tl_free(wheel->allocator, wheel->nodes, linked_bytes(wheel->capacity), LINKED_ALIGN);
        wheel->nodes = NULL;
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
    uint64_t by = wheel->lower[level > 0].at;
    if (wheel->work_at > by || (by > wake && by > wheel->clock + 1)) {
        return "a slot is looked at too late";
    }
    return NULL;
}

/* Checks one list and counts its nodes. */
static const char *linked_check_list(const struct linked_wheel *wheel, uint32_t slot,
                                     uint64_t *seen)
{
    bool marked = (wheel->occupied[slot / 64] >> slot % 64 & 1) != 0;
    if (slot < LINKED_LEVEL_SLOTS && marked == linked_is_empty(wheel, slot)) {
        return "a slot's bit lies";
    }
    uint32_t before = slot;
    for (uint32_t index = wheel->nodes[slot].next; index != slot;
         index = wheel->nodes[index].next) {
        if (index - LINKED_SLOTS >= wheel->capacity || wheel->nodes[index].prev != before ||
            ++*seen > wheel->count) {
            return "the links do not agree";
        }
        const char *wrong = NULL;
        if (slot < LINKED_LEVEL_SLOTS) {
            wrong = linked_check_node(wheel, slot, &wheel->nodes[index]);
        } else if (slot == LINKED_FAR) {
            uint64_t deadline = linked_far_deadline(wheel, index);
            wrong = deadline <= wheel->clock || wheel->far_at > wheel->far_near ||
                            wheel->far_near > deadline - LINKED_NEAR / 2
                        ? "what is far is searched too late"
                        : NULL;
        } else if (wheel->work_at != 0) {
            wrong = "what is due is not looked at";
        }
        if (wrong != NULL) {
            return wrong;
        }
        before = index;
    }
    return wheel->nodes[slot].prev == before ? NULL : "the links do not agree";
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
        (void)snprintf(why, why_bytes, "%s (slot %" PRIu32 ")", wrong, slot - 1);
        return TL_ERR_CORRUPT;
    }
    uint64_t linked = 0;
    for (uint32_t id = 0; id < wheel->capacity; id++) {
        linked += wheel->nodes[id + LINKED_SLOTS].next != LINKED_NONE;
    }
    if (seen != wheel->count || linked != wheel->count) {
        (void)snprintf(why, why_bytes,
                       "%" PRIu64 " timers in lists, %" PRIu64 " with links, %" PRIu64 " counted",
                       seen, linked, wheel->count);
        return TL_ERR_CORRUPT;
    }
    return TL_OK;
}

/* --- showing --------------------------------------------------------------------------------- */

/* The tick by which a timer is filed: its deadline, or, after a restart to beyond its slot, the
 * slot's first. */
static uint64_t linked_filed_by(const struct linked_wheel *wheel, uint32_t head, uint32_t index)
{
    const struct linked_node *node = &wheel->nodes[index];
    if (head == LINKED_FAR) {
        return linked_far_deadline(wheel, index);
    }
    if (head >= LINKED_LEVEL_SLOTS) {
        return TL_NEVER;
    }
    uint32_t shift = linked_levels[linked_level_of_slot(head)].shift;
    uint64_t due = linked_due(wheel, node);
    uint32_t late = node->due - node->filed;
    return late >> shift == 0 ? due : due - late;
}

static void linked_walk_list(const struct linked_wheel *wheel, uint32_t head,
                             const struct tl_visitor *visitor)
{
    for (uint32_t index = wheel->nodes[head].next; index != head;
         index = wheel->nodes[index].next) {
        walk_timer(visitor, index - LINKED_SLOTS, linked_filed_by(wheel, head, index), 0);
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
