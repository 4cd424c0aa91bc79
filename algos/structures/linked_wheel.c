/*
 * linked-wheel: a hierarchical wheel of linked lists, for every tick length and spread of
 * deadlines.
 *
 *   level   ticks a slot   a block   takes a deadline
 *     1                1       512   in this block of 512 ticks, or in the next
 *     2              128    65,536   in this block of 65,536 ticks, or in the next
 *     9             2^56         -   any other
 *
 *   slot   head <-> node <-> node <-> head       1,024 a level; occupied: one byte each
 *   node   { next, prev, due, filed }            24 bytes in one array, links being numbers;
 *                                                32 in the caller's records, links being addresses
 *
 * At tick 0, start(a, 1100) puts a in slot 8 of level 2, which begins at tick 1,024: a is `filed`
 * under that tick. start(a, 1500) only sets `due`, because the slot comes up before tick 1,500
 * anyway; start(a, 300) moves a to slot 300 of level 1. stop(a) unlinks it at once.
 *
 * While the clock is in a block of level 1, the four slots of level 2 that make the next block are
 * moved down, one node of each by turns: at least 16 nodes an advance, and enough that all are
 * moved when the clock enters the block. Every level works this way. No tick has a bulk to move,
 * and several nodes are on their way from memory at once. An advance over several blocks takes the
 * slots that it passes or enters to DUE, fires the due timers and files the rest again. Advances
 * before work_at only set the clock. LATE has timers that were due when started; they fire in the
 * next advance.
 *
 * It differs from a plain hierarchical wheel in three ways: a restart to a later tick only stores
 * the deadline, slots are moved down ahead of time and by turns, and a start first tries the level
 * of most starts before; docs/internals/chunk-wheel.md has the gains.
 *
 * Invariants
 *   - a pending timer is in one list, and is not due before the tick that it is filed under, the
 *     first of its slot; that slot is 1 to 1,024 slots after the clock's on its level
 *   - a list is marked in `occupied` exactly if it has a node
 *   - first_at is not after the first occupied slot of level 1, upper_at not after the tick at
 *     which a slot is to be moved down; work_at is after neither, and 0 if DUE or LATE have nodes
 *
 * Complexity (m levels): start, stop, restart, a tick O(1); expiry O(m) moves; a jump over empty
 * ticks O(m). Good where nothing is known of the traffic. From some 300,000 timers on, chunk-wheel
 * has fewer cache misses.
 *
 * Source: our own; after Varghese and Lauck 1987, scheme 7, and Erlang/OTP erl_time.
 */
#include "timerlab.h"

#include "check.h"
#include "records.h"
#include "slot_bitmap.h"
#include "tuning.h"
#include "walk.h"

#include <inttypes.h>
#include <stdalign.h>
#include <string.h>

/* --- data ------------------------------------------------------------------------------------- */

enum {
    BITS = 7,       /* log2 of the ratio of two levels' slots */
    LISTS_BITS = 2, /* log2 of the slots of a block, which are moved down by turns */
    LISTS = 1 << LISTS_BITS,
    SLOTS = 2 << (BITS + LISTS_BITS), /* of each level: two blocks of the next */
    LEVELS = 9,
    DUE = 0,   /* collected by an advance over several slots, or left by its budget */
    LATE,      /* started when already due */
    FIRST = 8, /* the first head of level 1 */
    HEADS = FIRST + LEVELS * SLOTS,
    PORTION = 16, /* nodes moved down from a slot in one advance, at least */
    EVEN_BITS =
        6,       /* in half a block, 2^-6 of all timers are moved at least; in the other half all */
    STEADY = 16, /* starts in succession that make a level the usual one */
    AHEAD = 2,   /* ticks before its own a slot's first node is fetched */
    ALIGN = 64,
};
#define CAPACITY_MAX (UINT32_C(1) << 30)

/* To a head or a node. */
#ifdef TL_EMBEDDED
typedef struct links *ref;
#define NONE NULL
#else
typedef uint32_t ref; /* counts struct links from `heads` on */
#define NONE UINT32_MAX
#endif

struct links {
    ref next; /* NONE: the timer is not pending */
    ref prev;
};

struct node {
    struct links links;
    uint64_t due;
    uint64_t filed;
};
#define NODE_LINKS (sizeof(struct node) / sizeof(struct links))

struct linked_wheel {
    alignas(ALIGN) uint64_t work_at; /* an advance to before this only sets the clock */
    uint64_t clock;
    uint64_t levels_end; /* from this tick on the levels begin later; an advance that has nothing to
                          * do leaves that to the next start */
    uint64_t usual_from; /* the usual level takes deadlines from here on, */
    uint64_t usual_span; /* this many */
    uint32_t usual_shift;
    uint32_t usual_first;            /* its first head */
    struct links *heads AND_RECORDS; /* and after them the wheel's own nodes */
    uint64_t count;                  /* timers pending */
    uint64_t first_at;               /* nothing is on level 1 before this tick */
    uint64_t upper_at;               /* no other level has anything to do before */
    uint64_t begins[LEVELS + 1];     /* the first deadline that a level takes; the end of all */
    uint32_t usual;
    bool passes;   /* slots of a next block stay where they are: advances pass over whole blocks */
    uint32_t last; /* the level of the last start that was not usual, */
    uint32_t same; /* and how many before it had the same */
    uint32_t capacity;
    const struct tl_allocator *allocator;
#ifdef TL_EMBEDDED
    uint32_t stride_shift;   /* a record's stride is an odd number times 2^stride_shift; */
    uint32_t stride_inverse; /* that number times this is 1 modulo 2^32 */
#endif
    struct tl_counters counters;
    uint8_t occupied[HEADS]; /* 1: the list has a node */
};

/* --- data: links ------------------------------------------------------------------------------ */

#ifdef TL_EMBEDDED

static inline struct links *at(const struct linked_wheel *wheel, ref to)
{
    (void)wheel;
    return to;
}

static inline ref head_of(const struct linked_wheel *wheel, uint32_t slot)
{
    return &wheel->heads[slot];
}

static inline ref timer_of(const struct linked_wheel *wheel, uint32_t id)
{
    return record_at(&wheel->records, id);
}

/* Without a division: the distance is a multiple of the stride. */
static inline uint32_t id_of(const struct linked_wheel *wheel, ref timer)
{
    size_t distance = (size_t)((char *)timer - wheel->records.first);
    return (uint32_t)(distance >> wheel->stride_shift) * wheel->stride_inverse;
}

/* The slot of a head. */
static inline uint32_t slot_of(const struct linked_wheel *wheel, ref head)
{
    return (uint32_t)(((uintptr_t)head - (uintptr_t)wheel->heads) / sizeof *head);
}

#else

static inline struct links *at(const struct linked_wheel *wheel, ref to)
{
    return &wheel->heads[to];
}

static inline ref head_of(const struct linked_wheel *wheel, uint32_t slot)
{
    (void)wheel;
    return slot;
}

static inline ref timer_of(const struct linked_wheel *wheel, uint32_t id)
{
    (void)wheel;
    return HEADS + id * (uint32_t)NODE_LINKS;
}

static inline uint32_t id_of(const struct linked_wheel *wheel, ref timer)
{
    (void)wheel;
    return (timer - HEADS) / (uint32_t)NODE_LINKS;
}

static inline uint32_t slot_of(const struct linked_wheel *wheel, ref head)
{
    (void)wheel;
    return head;
}

#endif

static inline struct node *node_at(const struct linked_wheel *wheel, ref timer)
{
    return (struct node *)(void *)at(wheel, timer);
}

static inline struct links *ends_of(const struct linked_wheel *wheel, uint32_t slot)
{
    return at(wheel, head_of(wheel, slot));
}

static inline bool is_empty(const struct linked_wheel *wheel, uint32_t slot)
{
    return ends_of(wheel, slot)->next == head_of(wheel, slot);
}

static inline void clear(struct linked_wheel *wheel, uint32_t slot)
{
    ends_of(wheel, slot)->next = head_of(wheel, slot);
    ends_of(wheel, slot)->prev = head_of(wheel, slot);
    wheel->occupied[slot] = 0;
}

/* Put a node that is in no list at the end of a slot's. */
static inline void append(struct linked_wheel *wheel, uint32_t slot, ref timer)
{
    ref last = ends_of(wheel, slot)->prev;
    TL_COUNT(wheel, moves, 1);
    /* In this order: side by side, gcc joins the two by way of a vector's register. */
    at(wheel, timer)->next = head_of(wheel, slot);
    ends_of(wheel, slot)->prev = timer;
    at(wheel, timer)->prev = last;
    at(wheel, last)->next = timer;
    wheel->occupied[slot] = 1;
}

/* Unlink a node, and unmark the slot if it was alone. */
static inline void unlink_timer(struct linked_wheel *wheel, ref timer)
{
    ref next = at(wheel, timer)->next;
    ref prev = at(wheel, timer)->prev;
    TL_COUNT(wheel, moves, 1);
    at(wheel, next)->prev = prev;
    at(wheel, prev)->next = next;
    if (next == prev) { /* then both are the head */
        wheel->occupied[slot_of(wheel, next)] = 0;
    }
}

/* Make a list begin with this node; the head itself: make it empty. */
static inline void begin_with(struct linked_wheel *wheel, uint32_t slot, ref first)
{
    ends_of(wheel, slot)->next = first;
    at(wheel, first)->prev = head_of(wheel, slot);
    wheel->occupied[slot] = first != head_of(wheel, slot);
}

/* Move all nodes of a slot to the end of DUE. */
static void splice_to_due(struct linked_wheel *wheel, uint32_t slot)
{
    if (is_empty(wheel, slot)) {
        return;
    }
    TL_COUNT(wheel, slots, 1);
    ref first = ends_of(wheel, slot)->next;
    ref last = ends_of(wheel, slot)->prev;
    ref end = ends_of(wheel, DUE)->prev;
    at(wheel, end)->next = first;
    at(wheel, first)->prev = end;
    at(wheel, last)->next = head_of(wheel, DUE);
    ends_of(wheel, DUE)->prev = last;
    wheel->occupied[DUE] = 1;
    clear(wheel, slot);
}

/* --- data: filing ----------------------------------------------------------------------------- */

static inline uint32_t shift_of(uint32_t level)
{
    return level * BITS;
}

static inline uint32_t first_head(uint32_t level)
{
    return FIRST + level * SLOTS;
}

/* Log2 of the ticks of a block. */
static inline uint32_t block_shift(uint32_t level)
{
    return level * BITS + LISTS_BITS;
}

/* The slot of a tick on a level, counted from 0. */
static inline uint32_t slot_on(uint32_t level, uint64_t tick)
{
    return first_head(level) + ((uint32_t)(tick >> shift_of(level)) & (SLOTS - 1));
}

static inline void file_on(struct linked_wheel *wheel, uint32_t shift, uint32_t first, ref timer,
                           uint64_t due)
{
    uint64_t slot = due >> shift;
    node_at(wheel, timer)->filed = slot << shift;
    append(wheel, first + ((uint32_t)slot & (SLOTS - 1)), timer);
    if (UNLIKELY(due < wheel->first_at)) { /* it may be on level 1 */
        wheel->first_at = due;
        wheel->work_at = due < wheel->work_at ? due : wheel->work_at;
    }
}

/* A level above the first has to be looked at from this tick on. */
static void look_from(struct linked_wheel *wheel, uint64_t tick)
{
    wheel->upper_at = tick < wheel->upper_at ? tick : wheel->upper_at;
    wheel->work_at = tick < wheel->work_at ? tick : wheel->work_at;
}

/* When a slot's block is to be moved down: while the clock is in the block before. */
static inline uint64_t move_at(uint32_t level, uint64_t tick)
{
    return ((tick >> block_shift(level)) - 1) << block_shift(level);
}

/* The end of the block in which the clock was when the levels were set. */
static inline uint64_t end_of_block(const struct linked_wheel *wheel, uint32_t level)
{
    return wheel->begins[level] - (UINT64_C(1) << block_shift(level));
}

/* The level that takes a deadline after the clock. */
static inline uint32_t level_for(const struct linked_wheel *wheel, uint64_t due)
{
    uint64_t ahead = (due - wheel->clock) | 1 << LISTS_BITS;
    uint32_t level = (63 - LISTS_BITS - (uint32_t)__builtin_clzll(ahead)) / BITS;
    return level - (due < wheel->begins[level]);
}

/* File a node again that was filed too early, or on a level above. */
static inline void file_again(struct linked_wheel *wheel, ref timer, uint64_t due)
{
    uint32_t level = due < wheel->begins[1] ? 0 : level_for(wheel, due);
    TL_COUNT(wheel, cascades, 1);
    file_on(wheel, shift_of(level), first_head(level), timer, due);
    if (level > 0) {
        look_from(wheel, move_at(level, due));
    }
}

static void set_usual(struct linked_wheel *wheel, uint32_t level)
{
    wheel->usual = level;
    wheel->usual_from = wheel->begins[level];
    wheel->usual_span = wheel->begins[level + 1] - wheel->begins[level];
    wheel->usual_shift = shift_of(level);
    wheel->usual_first = first_head(level);
}

static NEVER_INLINE void file_unusual(struct linked_wheel *wheel, ref timer, uint64_t due)
{
    uint32_t level = level_for(wheel, due);
    wheel->same = level == wheel->last ? wheel->same + 1 : 0;
    wheel->last = level;
    if (wheel->same >= STEADY) {
        set_usual(wheel, level);
        wheel->same = 0;
    }
    file_on(wheel, shift_of(level), first_head(level), timer, due);
    if (level > 0) {
        look_from(wheel, level == wheel->usual ? end_of_block(wheel, level) : move_at(level, due));
    }
}

/* Set where the levels begin, as the clock stands. */
static void set_levels(struct linked_wheel *wheel)
{
    for (uint32_t level = 1; level < LEVELS; level++) {
        uint64_t begin = ((wheel->clock >> block_shift(level)) + 2) << block_shift(level);
        if (wheel->begins[level] == begin) {
            break; /* nor do those above change */
        }
        wheel->begins[level] = begin;
    }
    wheel->levels_end = end_of_block(wheel, 1);
    set_usual(wheel, wheel->usual);
}

/* --- start and stop --------------------------------------------------------------------------- */

/* DUE or LATE holds something, so that the next advance has work at once. */
static inline void leave_work(struct linked_wheel *wheel)
{
    wheel->upper_at = 0;
    wheel->work_at = 0;
}

static NEVER_INLINE enum tl_status start_late(struct linked_wheel *wheel, ref timer)
{
    struct node *node = node_at(wheel, timer);
    if (node->links.next == NONE) {
        wheel->count++;
    } else {
        unlink_timer(wheel, timer);
    }
    node->due = wheel->clock;
    node->filed = wheel->clock;
    append(wheel, LATE, timer);
    leave_work(wheel);
    return TL_OK;
}

static inline enum tl_status file_start(struct linked_wheel *wheel, ref timer, uint64_t deadline)
{
    if (LIKELY(deadline - wheel->usual_from < wheel->usual_span)) {
        file_on(wheel, wheel->usual_shift, wheel->usual_first, timer, deadline);
    } else {
        file_unusual(wheel, timer, deadline);
    }
    return TL_OK;
}

/* The first start after advances that have left the levels as they were. */
static NEVER_INLINE enum tl_status start_after_jump(struct linked_wheel *wheel, ref timer,
                                                    uint64_t deadline)
{
    set_levels(wheel);
    return file_start(wheel, timer, deadline);
}

static enum tl_status wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct linked_wheel *wheel = self;
    ref timer = timer_of(wheel, id);
    struct node *node = node_at(wheel, timer);
    if (UNLIKELY(deadline <= wheel->clock)) {
        return start_late(wheel, timer);
    }
    node->due = deadline;
    if (node->links.next == NONE) {
        wheel->count++;
    } else {
        TL_COUNT(wheel, compares, 1);
        if (deadline >= node->filed) {
            return TL_OK;
        }
        unlink_timer(wheel, timer);
    }
    if (UNLIKELY(wheel->clock >= wheel->levels_end)) {
        return start_after_jump(wheel, timer, deadline);
    }
    return file_start(wheel, timer, deadline);
}

static enum tl_status wheel_stop(void *self, uint32_t id)
{
    struct linked_wheel *wheel = self;
    ref timer = timer_of(wheel, id);
    if (at(wheel, timer)->next == NONE) {
        return TL_IDLE;
    }
    unlink_timer(wheel, timer);
    at(wheel, timer)->next = NONE;
    wheel->count--;
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

/* How many slots are between that of `tick` on a level and the first occupied one of the next
 * `most`, going round; SLOTS if none is. */
static inline uint32_t to_occupied(const struct linked_wheel *wheel, uint32_t level, uint64_t tick,
                                   uint64_t most)
{
    const uint8_t *occupied = &wheel->occupied[first_head(level)];
    uint32_t begin = (uint32_t)((tick >> shift_of(level)) + 1) & (SLOTS - 1);
    uint64_t bytes = 0; /* the first few at once: mostly one of them is */
    if (begin + sizeof bytes <= SLOTS) {
        memcpy(&bytes, &occupied[begin], sizeof bytes);
    }
    if (bytes != 0 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) {
        return bitmap_first(bytes) / 8;
    }
    size_t up = most < SLOTS - begin ? (size_t)most : SLOTS - begin;
    size_t down = most - up < begin ? (size_t)(most - up) : begin;
    const uint8_t *found = memchr(&occupied[begin], 1, up);
    found = found != NULL ? found : memchr(occupied, 1, down);
    return found != NULL ? (uint32_t)(found - &occupied[begin]) & (SLOTS - 1) : SLOTS;
}

/* The first tick after this one with an occupied slot of level 1; TL_NEVER if there is none. */
static inline uint64_t next_tick(const struct linked_wheel *wheel, uint64_t tick)
{
    uint32_t ahead = to_occupied(wheel, 0, tick, SLOTS);
    return ahead < SLOTS ? tick + 1 + ahead : TL_NEVER;
}

/* When a level above the first has to be looked at next, if nothing is in the blocks that are moved
 * down now. Starts on the usual level do not lower `upper_at`, so the end of its block counts. */
static uint64_t next_move(struct linked_wheel *wheel)
{
    uint64_t first = TL_NEVER;
    for (uint32_t level = 1; level < LEVELS && end_of_block(wheel, level) < first; level++) {
        uint32_t ahead = to_occupied(wheel, level, wheel->clock, SLOTS);
        if (ahead < SLOTS && level == wheel->usual) {
            first = end_of_block(wheel, level);
        } else if (ahead < SLOTS) {
            uint64_t slot = (wheel->clock >> shift_of(level)) + 1 + ahead;
            uint64_t tick = move_at(level, slot << shift_of(level));
            tick = tick > wheel->clock ? tick : end_of_block(wheel, level);
            first = tick < first ? tick : first;
        } else if (level == wheel->usual) {
            set_usual(wheel, 0);
        }
    }
    return first;
}

/* --- advance and next: moving slots down ------------------------------------------------------ */

/* How many nodes of the next block's slot to move down in an advance by this many ticks. Most slots
 * have few of all timers: they are empty after half of the block. In the second half the portions
 * suffice for all timers, and the last tick moves all that is left. */
static uint32_t portion_of(const struct linked_wheel *wheel, uint32_t level, uint64_t ticks)
{
    uint32_t half = block_shift(level) - 1;
    uint32_t tick_bits = ticks > 1 ? 64 - (uint32_t)__builtin_clzll(ticks - 1) : 0;
    uint32_t advances = half > tick_bits ? half - tick_bits : 0; /* log2, in half a block */
    if ((wheel->clock + 1) % (UINT64_C(2) << half) == 0) {
        return UINT32_MAX;
    }
    bool second = (wheel->clock >> half & 1) != 0;
    uint64_t share = wheel->count >> (second ? advances : advances + EVEN_BITS);
    return share > PORTION ? (uint32_t)share : PORTION;
}

/* Move down up to `most` nodes of a block's slots, of which the first is given. They
 * are taken by turns, so that several nodes are on their way from memory at once. Returns whether
 * any is left. */
static inline bool move_block(struct linked_wheel *wheel, uint32_t slot, uint32_t most)
{
    ref timers[LISTS];
    for (uint32_t i = 0; i < LISTS; i++) {
        timers[i] = ends_of(wheel, slot + i)->next;
        PREFETCH(at(wheel, timers[i]));
    }
    uint32_t done = 0;
    for (uint32_t moved = 1; moved > 0 && done + LISTS <= most; done += moved) {
        moved = 0;
        for (uint32_t i = 0; i < LISTS; i++) {
            ref timer = timers[i];
            if (timer != head_of(wheel, slot + i)) {
                timers[i] = at(wheel, timer)->next;
                PREFETCH(at(wheel, timers[i]));
                file_again(wheel, timer, node_at(wheel, timer)->due);
                moved++;
            }
        }
    }
    bool left = false;
    for (uint32_t i = 0; i < LISTS; i++) {
        begin_with(wheel, slot + i, timers[i]);
        left |= wheel->occupied[slot + i] != 0;
    }
    return left;
}

/* Move down the share of the next blocks that is due for this many ticks. */
static NEVER_INLINE void move_down(struct linked_wheel *wheel, uint64_t ticks)
{
    bool left = false;
    wheel->passes = false;
    for (uint32_t level = LEVELS - 1; level >= 1; level--) {
        uint64_t next = (wheel->clock >> block_shift(level)) + 1;
        uint32_t slot = slot_on(level, next << block_shift(level));
        uint32_t occupied;
        memcpy(&occupied, &wheel->occupied[slot], LISTS);
        if (occupied != 0 && ticks >> block_shift(level) > 0) {
            wheel->passes = true;
        } else if (occupied != 0) {
            TL_COUNT(wheel, slots, 1);
            left |= move_block(wheel, slot, portion_of(wheel, level, ticks));
        }
    }
    wheel->upper_at = left ? wheel->clock + 1 : next_move(wheel);
}

/* Move the clock to `now`, and to DUE the slots that it passes, and the rest of the blocks that it
 * enters, from a level up. */
static void collect(struct linked_wheel *wheel, uint32_t level, uint64_t now)
{
    uint64_t old = wheel->clock;
    wheel->clock = now;
    set_levels(wheel);
    for (; level < LEVELS; level++) {
        uint64_t block = level > 0 ? UINT64_C(1) << block_shift(level) : 1;
        uint64_t slots = ((now | (block - 1)) >> shift_of(level)) - (old >> shift_of(level));
        if (old / block == now / block) {
            break; /* nor has any level above moved */
        }
        uint64_t tick = old;
        uint32_t ahead = to_occupied(wheel, level, tick, slots);
        while (ahead < SLOTS && ahead < slots) {
            slots -= ahead + 1;
            tick += (uint64_t)(ahead + 1) << shift_of(level);
            splice_to_due(wheel, slot_on(level, tick));
            ahead = to_occupied(wheel, level, tick, slots);
        }
    }
}

/* Fire the due timers of a list that nothing is filed into meanwhile; file the rest again. False:
 * the budget is used up before its end. */
static inline bool fire_list(struct linked_wheel *wheel, uint32_t slot, uint64_t *left,
                             tl_fire_fn fire, void *ctx)
{
    uint64_t now = wheel->clock;
    ref head = head_of(wheel, slot);
    ref timer;
    while ((timer = at(wheel, head)->next) != head) {
        struct node *node = node_at(wheel, timer);
        ref next = node->links.next;
        bool due = node->due <= now;
        if (LIKELY(due) && __builtin_sub_overflow(*left, 1, left)) {
            return false;
        }
        at(wheel, head)->next = next;
        at(wheel, next)->prev = head;
        if (UNLIKELY(!due)) {
            file_again(wheel, timer, node->due);
            continue;
        }
        TL_COUNT(wheel, moves, 1);
        node->links.next = NONE;
        wheel->count--;
        fire(ctx, id_of(wheel, timer), now);
    }
    wheel->occupied[slot] = 0;
    return true;
}

static inline void set_work_at(struct linked_wheel *wheel, uint64_t first_at)
{
    wheel->first_at = first_at;
    wheel->work_at = first_at < wheel->upper_at ? first_at : wheel->upper_at;
}

/* An advance out of the block, or with something left by the one before. */
static NEVER_INLINE uint64_t advance_far(struct linked_wheel *wheel, uint64_t now, uint64_t budget,
                                         tl_fire_fn fire, void *ctx)
{
    uint64_t left = budget;
    uint64_t ticks = now - wheel->clock;
    splice_to_due(wheel, LATE);
    bool first = wheel->first_at <= now;
    collect(wheel, first ? 0 : 1, now);
    bool all = fire_list(wheel, DUE, &left, fire, ctx);
    if (wheel->upper_at <= now) {
        move_down(wheel, ticks);
    }
    set_work_at(wheel, first ? next_tick(wheel, now) : wheel->first_at);
    if (!all || !is_empty(wheel, LATE)) {
        leave_work(wheel);
    }
    return all ? budget - left : budget;
}

/* The budget is used up: all slots of level 1 from this tick on that are due are left in DUE. */
static NEVER_INLINE void defer(struct linked_wheel *wheel, uint64_t tick)
{
    for (; tick <= wheel->clock; tick = next_tick(wheel, tick)) {
        splice_to_due(wheel, slot_on(0, tick));
    }
    wheel->first_at = tick;
    leave_work(wheel);
}

/* From `work_at` on. Within one block only slots of level 1 are due, and are fired where they are:
 * nothing that a callback starts is filed there. */
static NEVER_INLINE uint64_t advance_awake(struct linked_wheel *wheel, uint64_t now,
                                           uint64_t budget, tl_fire_fn fire, void *ctx)
{
    if (UNLIKELY(now >= wheel->upper_at || now >= wheel->levels_end)) {
        uint64_t ticks = now - wheel->clock;
        if (wheel->upper_at == 0 || wheel->passes ||
            (wheel->clock + 1) >> block_shift(1) != now >> block_shift(1)) {
            return advance_far(wheel, now, budget, fire, ctx);
        }
        wheel->clock = now;
        set_levels(wheel);
        if (now >= wheel->upper_at) {
            move_down(wheel, ticks);
        }
    }
    uint64_t left = budget;
    uint64_t tick = wheel->first_at;
    wheel->clock = now;
    wheel->first_at = 0; /* is looked up below */
    for (; tick <= now; tick = next_tick(wheel, tick)) {
        TL_COUNT(wheel, slots, 1);
        if (!fire_list(wheel, slot_on(0, tick), &left, fire, ctx)) {
            defer(wheel, tick);
            return budget;
        }
    }
    set_work_at(wheel, tick);
    PREFETCH(at(wheel, ends_of(wheel, slot_on(0, now + AHEAD))->next));
    return budget - left;
}

static uint64_t wheel_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct linked_wheel *wheel = self;
    if (now < wheel->work_at) {
        wheel->clock = now;
        return 0;
    }
    return advance_awake(wheel, now, budget, fire, ctx);
}

static uint64_t wheel_next(const void *self)
{
    const struct linked_wheel *wheel = self;
    uint64_t next = TL_NEVER;
    if (wheel->count == 0) {
        return next;
    }
    if (!is_empty(wheel, DUE) || !is_empty(wheel, LATE)) {
        return wheel->clock;
    }
    for (uint32_t level = 0; level < LEVELS; level++) {
        uint64_t from = wheel->clock >> shift_of(level);
        if (next <= (from + 1) << shift_of(level)) {
            break; /* neither this level nor those above have a slot that begins before */
        }
        uint32_t ahead = to_occupied(wheel, level, wheel->clock, SLOTS);
        uint64_t begin = (from + 1 + ahead) << shift_of(level);
        next = ahead < SLOTS && begin < next ? begin : next;
    }
    return next;
}

/* --- create and options ----------------------------------------------------------------------- */

#ifdef TL_EMBEDDED

static void note_stride(struct linked_wheel *wheel)
{
    wheel->stride_shift = (uint32_t)__builtin_ctzll(wheel->records.stride);
    uint32_t odd = (uint32_t)(wheel->records.stride >> wheel->stride_shift);
    uint32_t inverse = odd; /* right in 3 bits, and by each round in twice as many */
    for (uint32_t bits = 3; bits < 32; bits *= 2) {
        inverse *= 2 - odd * inverse;
    }
    wheel->stride_inverse = inverse;
}

static ref moved_link(const struct linked_wheel *wheel, const struct linked_wheel *old, ref to)
{
    uint64_t slot = ((uintptr_t)to - (uintptr_t)old->heads) / sizeof *to;
    return slot < HEADS ? head_of(wheel, (uint32_t)slot) : timer_of(wheel, id_of(old, to));
}

/* Heads and timers have been copied from where they were in `old`: correct the links. */
static void relink(struct linked_wheel *wheel, const struct linked_wheel *old)
{
    for (uint32_t i = 0; i < HEADS + old->capacity; i++) {
        ref to = i < HEADS ? head_of(wheel, i) : timer_of(wheel, i - HEADS);
        if (to->next != NONE) {
            to->next = moved_link(wheel, old, to->next);
            to->prev = moved_link(wheel, old, to->prev);
        }
    }
}

static void wheel_moved(void *self, const struct tl_records *records)
{
    struct linked_wheel *wheel = self;
    struct linked_wheel old = *wheel;
    records_give(&wheel->records, records);
    note_stride(wheel);
    if (wheel->heads != NULL) {
        relink(wheel, &old);
    }
}
#define STRUCTURE_MOVED wheel_moved

#else
#define note_stride(wheel) ((void)0)
#define relink(wheel, old) ((void)(old)) /* numbers do not change */
#endif
#define STRUCTURE struct linked_wheel
#include "counted.h"
#include "structure.h"

/* Of heads, and of the nodes that are the wheel's own. */
static size_t list_bytes(const struct linked_wheel *wheel, uint32_t capacity)
{
    (void)wheel; /* which says whether timers are in records */
    return HEADS * sizeof(struct links) +
           (size_t)OWN_ENTRIES(wheel, capacity) * sizeof(struct node);
}

static enum tl_status wheel_reserve(void *self, uint32_t capacity)
{
    struct linked_wheel *wheel = self;
    if (capacity > CAPACITY_MAX) {
        return TL_ERR_CAPACITY;
    }
    bool fresh = wheel->heads == NULL;
    if (capacity <= wheel->capacity && !fresh) {
        return TL_OK;
    }
    struct linked_wheel old = *wheel;
    size_t old_bytes = fresh ? 0 : list_bytes(wheel, wheel->capacity);
    size_t bytes = list_bytes(wheel, capacity);
    if (bytes > old_bytes) {
        struct links *heads =
            wheel->allocator->resize(wheel->allocator->ctx, wheel->heads, old_bytes, bytes, ALIGN);
        if (heads == NULL) {
            return TL_ERR_NOMEM;
        }
        wheel->heads = heads;
        OWN_ARRAY(wheel, &heads[HEADS], sizeof(struct node));
    }
    wheel->capacity = capacity;
    note_stride(wheel);
    for (uint32_t slot = 0; fresh && slot < HEADS; slot++) {
        clear(wheel, slot);
    }
    if (!fresh && wheel->heads != old.heads) {
        relink(wheel, &old);
    }
    for (uint32_t id = old.capacity; id < capacity; id++) {
        at(wheel, timer_of(wheel, id))->next = NONE;
    }
    return TL_OK;
}

static void wheel_destroy(void *self)
{
    struct linked_wheel *wheel = self;
    tl_free(wheel->allocator, wheel->heads, list_bytes(wheel, wheel->capacity), ALIGN);
    structure_free(wheel, wheel->allocator);
}

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    struct linked_wheel empty = {.clock = config->now,
                                 .first_at = TL_NEVER,
                                 .begins[LEVELS] = UINT64_MAX,
                                 .allocator = config->allocator};
    set_levels(&empty);
    empty.upper_at = empty.work_at = TL_NEVER;
    return structure_create(config, &empty, wheel_reserve, wheel_destroy, self);
}

/* --- check and walk --------------------------------------------------------------------------- */

/* Whether a node of a slot is where it should be. */
static const char *check_node(const struct linked_wheel *wheel, uint32_t slot,
                              const struct node *node)
{
    if (slot < FIRST) {
        return wheel->work_at != 0 ? "the due timers are not examined" : NULL;
    }
    uint32_t level = (slot - FIRST) / SLOTS;
    uint64_t block = level == 0 ? 1 : UINT64_C(1) << block_shift(level);
    uint64_t ahead = (node->filed >> shift_of(level)) - (wheel->clock >> shift_of(level));
    if (slot_on(level, node->filed) != slot || ahead - 1 >= SLOTS || node->due < node->filed) {
        return "a timer is in the wrong slot";
    }
    uint64_t before = level == 0 || wheel->passes ? 0 : block;
    uint64_t wake = level == 0 ? node->filed : node->filed / block * block - before;
    uint64_t by = level == 0 ? wheel->first_at : wheel->upper_at;
    bool asleep = wheel->work_at > by || (by > wake && by > wheel->clock + 1);
    return asleep ? "a slot is looked at too late" : NULL;
}

/* Check one list and count its nodes. */
static const char *check_list(const struct linked_wheel *wheel, uint32_t slot, uint64_t *seen)
{
    if ((wheel->occupied[slot] != 0) == is_empty(wheel, slot)) {
        return "a slot's mark lies";
    }
    const char *wrong = NULL;
    ref before = head_of(wheel, slot);
    ref timer = ends_of(wheel, slot)->next;
    for (; wrong == NULL && timer != head_of(wheel, slot); timer = at(wheel, timer)->next) {
        uint32_t id = id_of(wheel, timer);
        if (id >= wheel->capacity || timer_of(wheel, id) != timer ||
            at(wheel, timer)->prev != before || ++*seen > wheel->count) {
            return "the links do not agree";
        }
        wrong = check_node(wheel, slot, node_at(wheel, timer));
        before = timer;
    }
    return wrong;
}

static enum tl_status wheel_check(const void *self, char *why, size_t why_bytes)
{
    const struct linked_wheel *wheel = self;
    uint64_t seen = 0;
    for (uint32_t slot = 0; slot < HEADS; slot++) {
        const char *wrong = check_list(wheel, slot, &seen);
        if (wrong != NULL) {
            return corrupt(why, why_bytes, "%s (slot %" PRIu32 ")", wrong, slot);
        }
    }
    uint64_t pending = 0;
    for (uint32_t id = 0; id < wheel->capacity; id++) {
        pending += at(wheel, timer_of(wheel, id))->next != NONE;
    }
    if (seen != wheel->count || pending != wheel->count) {
        return corrupt(why, why_bytes,
                       "%" PRIu64 " timers in lists, %" PRIu64 " with links, %" PRIu64 " counted",
                       seen, pending, wheel->count);
    }
    return TL_OK;
}

/* With each timer goes the tick by which it is filed: its deadline, or, after a restart to beyond
 * its slot, the slot's first. */
static void walk_list(const struct linked_wheel *wheel, uint32_t slot, uint64_t width,
                      const struct tl_visitor *visitor)
{
    for (ref timer = ends_of(wheel, slot)->next; timer != head_of(wheel, slot);
         timer = at(wheel, timer)->next) {
        const struct node *node = node_at(wheel, timer);
        uint64_t by = node->due - node->filed < width ? node->due : node->filed;
        walk_timer(visitor, id_of(wheel, timer), width == 0 ? TL_NEVER : by, 0);
    }
}

static void wheel_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct linked_wheel *wheel = self;
    if (!is_empty(wheel, DUE) || !is_empty(wheel, LATE)) {
        walk_due_part(visitor);
        walk_node(visitor, 0, TL_NEVER);
        walk_list(wheel, DUE, 0, visitor);
        walk_list(wheel, LATE, 0, visitor);
    }
    for (uint32_t level = 0; level < LEVELS; level++) {
        uint64_t width = UINT64_C(1) << shift_of(level);
        uint64_t hand = wheel->clock >> shift_of(level);
        walk_level(visitor, level + 1, width);
        for (uint32_t i = 0; i < SLOTS; i++) {
            uint32_t slot = first_head(level) + i;
            uint64_t ahead = (i - hand) & (SLOTS - 1);
            uint64_t from = (hand + ahead) << shift_of(level);
            walk_span(visitor, i, from, from + (width - 1),
                      (ahead == 0 ? TL_MARK_HAND : 0u) |
                          (wheel->occupied[slot] != 0 ? TL_MARK_FLAGGED : 0u));
            walk_list(wheel, slot, width, visitor);
        }
    }
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(linked_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "linked-wheel",
    .summary = "a hierarchical wheel of linked lists for every tick length: late restarts, slots "
               "moved down ahead of time",
    .origin = "our own",
    .description =
        "Nine levels of 1,024 slots; a slot is 128 times as wide as one of the level below. "
        "A level takes the deadlines of its current block of 512 slots and of the next; while the "
        "clock is in one, the slots of the next are moved a level down, a few nodes in each "
        "advance. A restart to a later tick stores only the deadline, and the node moves when its "
        "slot comes up. The node may be stored in the caller's record. Bad at: more timers than "
        "the caches hold.",
    .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(1)", .expire = "O(m)"},
    .create = wheel_create,
    .destroy = wheel_destroy,
    .reserve = wheel_reserve,
    .start = wheel_start,
    .stop = wheel_stop,
    .advance = wheel_advance,
    .next = wheel_next,
    .count = structure_count,
    .counters = structure_counters,
    .check = wheel_check,
    .walk = wheel_walk,
    .embedded_bytes = EMBEDDED_BYTES(sizeof(struct node)),
    .moved = EMBEDDED_HOOK(wheel_moved),
};
