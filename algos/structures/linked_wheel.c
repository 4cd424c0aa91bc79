/*
 * linked-wheel: a hierarchical wheel of linked lists, for every tick length and spread of
 * deadlines.
 *
 *   level   ticks a slot   slots   takes a deadline
 *     1                1   1,024   in this or the next 512 ticks, as one slot of level 2 has them
 *     2              512     256   in this or the next 65,536 ticks, as one slot of level 3 has them
 *     3           65,536     256   in this or the next 2^23 ticks
 *     9             2^58     256   any other
 *
 *   slot   4 lists: head <-> node <-> node <-> head
 *   node   { next, prev, due, filed }     24 bytes in one array, where links are numbers; 32 in
 *                                         the caller's records, where links are addresses
 *
 * At tick 0, start(a, 1100) puts a in slot 2 of level 2, which begins at tick 1,024: a is `filed`
 * under that tick. start(a, 1500) only sets `due`, because the slot comes up before tick 1,500
 * anyway; start(a, 300) moves a to slot 300 of level 1. stop(a) unlinks it at once.
 *
 * While the clock is in slot 1 of level 2, the timers of slot 2 are moved down: at least 16 in each
 * advance, and enough that none is left when the clock enters slot 2. No tick has a bulk to move.
 * Every level works this way, unless an advance passes whole slots of it. Those slots, and the one
 * that the advance enters, go to DUE unopened; of DUE the due timers fire, and the rest is filed
 * again. LATE has timers that were due when started; they fire in the next advance. An advance
 * before `work_at` only sets the clock.
 *
 * Among many timers a node's address says which of its slot's lists it is in. A list is taken down
 * from its front, and waits there for a cache line at each node; four lists, taken down by turns,
 * wait for four at once. Few timers use only the first list.
 *
 * Invariants
 *   - a pending timer is in one list, and is not due before the tick that it is filed under, the
 *     first of its slot; that slot is 1 to 1,024, or 1 to 256, after the clock's on its level
 *   - a slot's bit in `occupied` is set if it has a node, and, if only the first lists are used, not
 *     otherwise; a word's bit in `words` is set exactly if the word is not 0
 *   - near_at is not after the first occupied slot of level 1, far_at not after the next tick with
 *     work on another; work_at is after neither, and 0 if DUE or LATE have nodes
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

#include <assert.h>
#include <inttypes.h>
#include <stdalign.h>

/* --- data ------------------------------------------------------------------------------------- */

enum {
    LEVELS = 9,
    NEAR_BITS = 9, /* log2 of the ticks of a slot of level 2, which are half of level 1 */
    FAR_BITS = 7,  /* log2 of the ratio of two slots above, which is half of a level */
    NEAR_SLOTS = 2 << NEAR_BITS,
    FAR_SLOTS = 2 << FAR_BITS,
    NEAR_WORDS = NEAR_SLOTS / 64, /* of `occupied` */
    FAR_WORDS = FAR_SLOTS / 64,
    DUE =
        NEAR_SLOTS + (LEVELS - 1) * FAR_SLOTS, /* collected by an advance, or left by its budget */
    LATE,                                      /* started when already due */
    LISTS,                                     /* of a stripe: of each slot one */
    STRIPES = 4,
    HEADS = STRIPES * LISTS,
    WORDS = LISTS / 64 + 1,
    FAR_BYTES = 1 << 20,  /* with nodes of more bytes all stripes are used above level 1, */
    NEAR_BYTES = 1 << 22, /* and with more than this on level 1, */
    BULK = 1024,          /* or where an advance moves this many nodes down */
    PORTION = 16,         /* nodes moved down from a slot in one advance, at least */
    EVEN_BITS = 6, /* while the clock is in the first half of a slot, 2^-6 of all timers are moved
                    * down at least; in the second half all */
    AHEAD = 2,     /* ticks before its own a slot's first node is fetched */
    ALIGN = 64,
};
static_assert((LEVELS - 1) * FAR_WORDS == 32 && WORDS <= 64, "a word has a bit in `words`");
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

struct level {
    uint64_t begin;  /* the first deadline that it takes, */
    uint64_t span;   /* of this many */
    uint64_t notice; /* ticks before a slot begins that advances have work with it */
    uint32_t first;  /* its first slot */
    uint32_t mask;   /* its slots, less one */
    uint32_t shift;  /* log2 of the ticks of a slot */
};

struct linked_wheel {
    alignas(ALIGN) uint64_t work_at; /* an advance to before this only sets the clock */
    uint64_t clock;
    uint64_t levels_end; /* from this tick on the levels begin later; an advance that has nothing to
                          * do leaves that to the next start */
    const struct level *usual;       /* the level of the last start above the first */
    struct links *heads AND_RECORDS; /* and after them the wheel's own nodes */
    uint64_t words;                  /* which words of `occupied` are not 0 */
    uint64_t count;                  /* timers pending */
    uint64_t near_at;                /* nothing is on level 1 before this tick */
    uint64_t far_at;                 /* no other level has anything to do before */
    uint32_t stripes;                /* the last stripe in use, */
    uint32_t near_stripes;           /* and by filing on level 1 */
    uint64_t ticks;                  /* of the last advance with work above level 1 */
    uint32_t passed;                 /* levels above the first with slots that advances pass */
    uint32_t capacity;
#ifdef TL_EMBEDDED
    uint32_t stride_shift;   /* a node's stride is an odd number times 2^stride_shift; */
    uint32_t stride_inverse; /* that number times this is 1 modulo 2^32 */
#endif
    const struct tl_allocator *allocator;
    struct tl_counters counters;
    uint64_t occupied[WORDS]; /* one bit a slot */
    struct level levels[LEVELS];
};

/* --- data: links ------------------------------------------------------------------------------ */

#ifdef TL_EMBEDDED

#define at(wheel, to)         ((void)(wheel), (to))
#define head_at(wheel, index) (&(wheel)->heads[index])
#define head_index(wheel, head)                                                                    \
    (uint32_t)(((uintptr_t)(head) - (uintptr_t)(wheel)->heads) / sizeof *(head))
#define timer_of(wheel, id)              ((ref)record_at(&(wheel)->records, id))
/* A record's address is a multiple of 2^stride_shift after that of the first. */
#define stripe_of(wheel, timer, stripes) ((uintptr_t)(timer) >> (wheel)->stride_shift & (stripes))

/* The distance is a multiple of the stride, so a multiplication divides it. */
static inline uint32_t id_of(const struct linked_wheel *wheel, ref timer)
{
    size_t distance = (size_t)((char *)timer - wheel->records.first);
    return (uint32_t)(distance >> wheel->stride_shift) * wheel->stride_inverse;
}

#else

#define at(wheel, to)                    (&(wheel)->heads[to])
#define head_at(wheel, index)            (index)
#define head_index(wheel, head)          (head)
#define timer_of(wheel, id)              (HEADS + (id) * (uint32_t)NODE_LINKS)
#define id_of(wheel, timer)              (((timer)-HEADS) / (uint32_t)NODE_LINKS)
                      /* As well spread as ids, because NODE_LINKS is odd. */
#define stripe_of(wheel, timer, stripes) ((timer) & (stripes))

#endif

/* The head of one of a slot's lists. */
#define head_of(wheel, slot, stripe) head_at(wheel, (uint32_t)((slot) + (stripe)*LISTS))

static inline struct node *node_at(const struct linked_wheel *wheel, ref timer)
{
    return (struct node *)(void *)at(wheel, timer);
}

static inline void clear(struct linked_wheel *wheel, ref head)
{
    at(wheel, head)->next = head;
    at(wheel, head)->prev = head;
}

/* --- data: slots ------------------------------------------------------------------------------ */

static inline bool is_occupied(const struct linked_wheel *wheel, uint32_t slot)
{
    return (wheel->occupied[slot / 64] >> slot % 64 & 1) != 0;
}

static inline void clear_occupied(struct linked_wheel *wheel, uint32_t slot)
{
    bitmap_unmark(wheel->occupied, &wheel->words, slot);
}

/* Whether DUE or LATE has nodes: they alone have bits in the last word. */
static inline bool has_due(const struct linked_wheel *wheel)
{
    return wheel->occupied[WORDS - 1] != 0;
}

/* Put a node that is in no list at the end of one of a slot's. */
static inline void append(struct linked_wheel *wheel, uint32_t slot, uint32_t stripes, ref timer)
{
    ref head = head_of(wheel, slot, stripe_of(wheel, timer, stripes));
    ref last = at(wheel, head)->prev;
    TL_COUNT(wheel, moves, 1);
    /* In this order: side by side, gcc joins the two by way of a vector's register. */
    at(wheel, timer)->next = head;
    at(wheel, head)->prev = timer;
    at(wheel, timer)->prev = last;
    at(wheel, last)->next = timer;
    bitmap_mark(wheel->occupied, &wheel->words, slot);
}

static inline void unlink_timer(struct linked_wheel *wheel, ref timer)
{
    ref next = at(wheel, timer)->next;
    ref prev = at(wheel, timer)->prev;
    TL_COUNT(wheel, moves, 1);
    at(wheel, next)->prev = prev;
    at(wheel, prev)->next = next;
    if (next == prev && wheel->stripes == 0) { /* then both are the head */
        clear_occupied(wheel, head_index(wheel, next));
    }
}

/* Takes nodes from the fronts of a slot's lists: by turns, so that several are on their way from
 * memory at once, until a list is empty; then list by list, which is easier to predict. */
struct taker {
    ref head;
    uint32_t slot;
    uint32_t stripe;
    bool by_turns;
};

static inline struct taker take_from(const struct linked_wheel *wheel, uint32_t slot)
{
    return (struct taker){
        .head = head_of(wheel, slot, 0), .slot = slot, .by_turns = wheel->stripes != 0};
}

/* The next node; NONE: the slot is empty. */
static inline ref next_node(const struct linked_wheel *wheel, struct taker *from)
{
    for (;;) {
        ref timer = at(wheel, from->head)->next;
        if (timer != from->head) {
            return timer;
        }
        if (from->by_turns) {
            from->by_turns = false;
            from->stripe = 0;
        } else if (from->stripe++ == wheel->stripes) {
            return NONE;
        }
        from->head = head_of(wheel, from->slot, from->stripe);
    }
}

/* Unlink the node that next_node has returned. */
static inline void take(struct linked_wheel *wheel, struct taker *from, ref timer)
{
    ref next = at(wheel, timer)->next;
    PREFETCH(at(wheel, next));
    at(wheel, from->head)->next = next;
    at(wheel, next)->prev = from->head;
    if (from->by_turns) {
        from->stripe = (from->stripe + 1) & wheel->stripes;
        from->head = head_of(wheel, from->slot, from->stripe);
    }
}

/* Move all nodes of a slot to the end of DUE. */
static void move_to_due(struct linked_wheel *wheel, uint32_t slot)
{
    if (!is_occupied(wheel, slot)) {
        return;
    }
    TL_COUNT(wheel, slots, 1);
    clear_occupied(wheel, slot);
    bitmap_mark(wheel->occupied, &wheel->words, DUE);
    for (uint32_t stripe = 0; stripe <= wheel->stripes; stripe++) {
        ref head = head_of(wheel, slot, stripe);
        ref due = head_of(wheel, DUE, stripe);
        ref first = at(wheel, head)->next;
        ref last = at(wheel, head)->prev;
        ref end = at(wheel, due)->prev;
        if (first != head) {
            at(wheel, end)->next = first;
            at(wheel, first)->prev = end;
            at(wheel, last)->next = due;
            at(wheel, due)->prev = last;
            clear(wheel, head);
        }
    }
}

/* --- data: levels ----------------------------------------------------------------------------- */

/* Which slot of its level a tick is in, counted from tick 0. */
static inline uint64_t position(const struct level *level, uint64_t tick)
{
    return tick >> level->shift;
}

static inline uint32_t slot_on(const struct level *level, uint64_t tick)
{
    return level->first + ((uint32_t)position(level, tick) & level->mask);
}

/* The slot of level 1. */
static inline uint32_t near_slot(uint64_t tick)
{
    return (uint32_t)tick & (NEAR_SLOTS - 1);
}

/* The first tick of the clock's half of level 1. */
static inline uint64_t half_of(uint64_t clock)
{
    return clock >> NEAR_BITS << NEAR_BITS;
}

/* How many slots are between a position on a level above the first and the next occupied slot;
 * TL_NEVER: none is. */
static inline uint64_t slots_between(const struct linked_wheel *wheel, const struct level *level,
                                     uint64_t from)
{
    return bitmap_filled_ahead(wheel->occupied, wheel->words, level->first / 64, FAR_WORDS, from);
}

/* The first tick after this one with an occupied slot of level 1; TL_NEVER if there is none. */
static inline uint64_t next_near(const struct linked_wheel *wheel, uint64_t tick)
{
    uint64_t between = bitmap_filled_ahead(wheel->occupied, wheel->words, 0, NEAR_WORDS, tick);
    return between != TL_NEVER ? tick + 1 + between : TL_NEVER;
}

/* Which words of `occupied` are not 0 on the levels above the first, FAR_WORDS bits a level. */
static inline uint64_t far_words(const struct linked_wheel *wheel)
{
    return (uint32_t)(wheel->words >> NEAR_WORDS); /* without the one of DUE and LATE */
}

/* The first level with bits in `far`, which are cleared. */
static inline const struct level *take_level(const struct linked_wheel *wheel, uint64_t *far)
{
    uint32_t number = 1 + bitmap_first(*far) / FAR_WORDS;
    *far &= UINT64_MAX << number * FAR_WORDS;
    return &wheel->levels[number];
}

/* Set where the levels begin, as the clock stands. */
static NEVER_INLINE void set_levels(struct linked_wheel *wheel)
{
    struct level *levels = wheel->levels;
    for (uint32_t i = 1; i < LEVELS; i++) {
        uint64_t begin = (position(&levels[i], wheel->clock) + 2) << levels[i].shift;
        levels[i - 1].span = begin - levels[i - 1].begin;
        if (levels[i].begin == begin) {
            break; /* nor do those above change */
        }
        levels[i].begin = begin;
    }
    wheel->levels_end = half_of(wheel->clock) + (UINT64_C(1) << NEAR_BITS);
}

/* Advances have work at this tick, on level 1 or elsewhere. Return the status of a start, so that
 * starts end with a jump to this. */
static NEVER_INLINE enum tl_status note_work(struct linked_wheel *wheel, bool far, uint64_t tick)
{
    *(far ? &wheel->far_at : &wheel->near_at) = tick;
    wheel->work_at = tick < wheel->work_at ? tick : wheel->work_at;
    return TL_OK;
}

/* The level that takes a deadline after the clock. */
static inline const struct level *level_for(struct linked_wheel *wheel, uint64_t due)
{
    uint64_t ahead = (due - wheel->clock) | 1 << (NEAR_BITS - FAR_BITS);
    uint32_t number = (63 + FAR_BITS - NEAR_BITS - (uint32_t)__builtin_clzll(ahead)) / FAR_BITS;
    return &wheel->levels[number - (due < wheel->levels[number].begin)];
}

/* File a node that is in no list on a level above the first. */
static inline enum tl_status file_far(struct linked_wheel *wheel, const struct level *level,
                                      ref timer, uint64_t due)
{
    uint64_t filed = position(level, due) << level->shift;
    uint64_t work = filed - level->notice;
    node_at(wheel, timer)->filed = filed;
    append(wheel, slot_on(level, due), wheel->stripes, timer);
    return work < wheel->far_at ? note_work(wheel, true, work) : TL_OK;
}

/* File a node that is in no list on level 1. */
static inline enum tl_status file_near(struct linked_wheel *wheel, ref timer, uint64_t due)
{
    node_at(wheel, timer)->filed = due;
    append(wheel, near_slot(due), wheel->near_stripes, timer);
    return due < wheel->near_at ? note_work(wheel, false, due) : TL_OK;
}

/* File a node again that was filed too early, or on a level above. */
static inline void file_again(struct linked_wheel *wheel, ref timer)
{
    uint64_t due = node_at(wheel, timer)->due;
    TL_COUNT(wheel, cascades, 1);
    if (due < wheel->levels[1].begin) {
        (void)file_near(wheel, timer, due);
    } else {
        (void)file_far(wheel, level_for(wheel, due), timer, due);
    }
}

/* --- start and stop --------------------------------------------------------------------------- */

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
    append(wheel, LATE, wheel->stripes, timer);
    return note_work(wheel, true, 0);
}

/* A start on another level than the last one above the first, or after advances that have left the
 * levels as they were. */
static NEVER_INLINE enum tl_status start_unusual(struct linked_wheel *wheel, ref timer,
                                                 uint64_t deadline)
{
    if (wheel->clock >= wheel->levels_end) {
        set_levels(wheel);
    }
    if (deadline < wheel->levels[1].begin) {
        return file_near(wheel, timer, deadline);
    }
    wheel->usual = level_for(wheel, deadline);
    return file_far(wheel, wheel->usual, timer, deadline);
}

static enum tl_status wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct linked_wheel *wheel = self;
    ref timer = timer_of(wheel, id);
    struct node *node = node_at(wheel, timer);
    if (deadline <= wheel->clock) {
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
    const struct level *usual = wheel->usual;
    if (wheel->clock >= wheel->levels_end) {
        return start_unusual(wheel, timer, deadline);
    }
    if (deadline < wheel->levels[1].begin) {
        return file_near(wheel, timer, deadline);
    }
    if (deadline - usual->begin < usual->span) {
        return file_far(wheel, usual, timer, deadline);
    }
    return start_unusual(wheel, timer, deadline);
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

/* Fire the due timers of a slot that nothing is filed into meanwhile; file the rest again. False:
 * the budget is used up before its end. */
static inline bool fire_slot(struct linked_wheel *wheel, uint32_t slot, uint64_t *left,
                             tl_fire_fn fire, void *ctx)
{
    uint64_t now = wheel->clock;
    struct taker from = take_from(wheel, slot);
    for (ref timer; (timer = next_node(wheel, &from)) != NONE;) {
        struct node *node = node_at(wheel, timer);
        bool due = node->due <= now;
        if (due && *left == 0) {
            return false;
        }
        take(wheel, &from, timer);
        if (!due) {
            file_again(wheel, timer);
            continue;
        }
        TL_COUNT(wheel, moves, 1);
        node->links.next = NONE;
        wheel->count--;
        --*left;
        fire(ctx, id_of(wheel, timer), now);
    }
    clear_occupied(wheel, slot);
    return true;
}

/* --- advance and next: levels above the first ------------------------------------------------- */

/* How many nodes of the next slot to move down in an advance by this many ticks. Most slots have
 * few of all timers: they are empty when the clock is half through the slot before. From there on
 * the portions suffice for all timers, and the last tick moves all that is left. */
static uint32_t portion_of(const struct linked_wheel *wheel, const struct level *level,
                           uint64_t ticks)
{
    uint32_t half = level->shift - 1;
    uint32_t tick_bits = ticks > 1 ? 64 - (uint32_t)__builtin_clzll(ticks - 1) : 0;
    uint32_t advances = half > tick_bits ? half - tick_bits : 0; /* log2, in half a slot */
    if ((wheel->clock + 1) % (UINT64_C(2) << half) == 0) {
        return UINT32_MAX;
    }
    bool second = (wheel->clock >> half & 1) != 0;
    uint64_t share = wheel->count >> (second ? advances : advances + EVEN_BITS);
    return share > PORTION ? (uint32_t)share : PORTION;
}

/* Move up to `most` nodes of a slot down. Return whether any is left. */
static bool move_slot_down(struct linked_wheel *wheel, uint32_t slot, uint32_t most)
{
    struct taker from = take_from(wheel, slot);
    uint32_t near_stripes = wheel->near_stripes;
    ref timer;
    TL_COUNT(wheel, slots, 1);
    wheel->near_stripes = most >= BULK ? wheel->stripes : near_stripes;
    while ((timer = next_node(wheel, &from)) != NONE && most-- > 0) {
        take(wheel, &from, timer);
        file_again(wheel, timer);
    }
    wheel->near_stripes = near_stripes;
    if (timer == NONE) {
        clear_occupied(wheel, slot);
    }
    return timer != NONE;
}

/* Advances by this many ticks pass slots of the levels that have no wider ones, and move the next
 * slot of the others down. */
static NEVER_INLINE void set_passed(struct linked_wheel *wheel, uint64_t ticks)
{
    uint32_t passed = 0;
    wheel->ticks = ticks;
    while (passed + 1 < LEVELS && ticks >> wheel->levels[passed + 1].shift > 0) {
        passed++;
    }
    for (uint32_t i = 1; i < LEVELS; i++) {
        wheel->levels[i].notice = i <= passed ? 0 : UINT64_C(1) << wheel->levels[i].shift;
    }
    wheel->passed = passed;
}

/* Return whether any node of the next slots is left. */
static bool move_down(struct linked_wheel *wheel, uint64_t ticks)
{
    bool left = false;
    uint64_t far = far_words(wheel) & UINT64_MAX << wheel->passed * FAR_WORDS;
    while (far != 0) {
        const struct level *level = take_level(wheel, &far);
        uint32_t slot = slot_on(level, level->begin - 1);
        if (is_occupied(wheel, slot)) {
            left |= move_slot_down(wheel, slot, portion_of(wheel, level, ticks));
        }
    }
    return left;
}

/* The first tick after the clock at which a slot above the first level begins, or, with `notice`, at
 * which an advance has work with one; TL_NEVER: none. */
static uint64_t next_far(const struct linked_wheel *wheel, bool notice)
{
    uint64_t next = TL_NEVER;
    uint64_t far = far_words(wheel);
    while (far != 0) {
        const struct level *level = take_level(wheel, &far);
        uint64_t from = position(level, wheel->clock);
        if (next <= (from + 1) << level->shift) {
            break; /* neither this level nor those above have one before */
        }
        uint64_t between = slots_between(wheel, level, from);
        if (between != TL_NEVER) {
            uint64_t tick = (from + 1 + between) << level->shift;
            tick -= notice ? level->notice : 0;
            next = tick < next ? tick : next;
        }
    }
    return next;
}

/* Move to DUE the slots of level 1 before the clock's half, which callbacks may file into, and
 * those that the clock has entered or passed on levels above. */
static void collect_passed(struct linked_wheel *wheel, uint64_t old)
{
    uint64_t half = half_of(wheel->clock);
    if (wheel->near_at < half) {
        for (uint64_t tick = wheel->near_at; tick < half; tick = next_near(wheel, tick)) {
            move_to_due(wheel, near_slot(tick));
        }
        wheel->near_at = next_near(wheel, half - 1);
    }
    uint64_t far = far_words(wheel);
    while (far != 0) {
        const struct level *level = take_level(wheel, &far);
        uint64_t from = position(level, old);
        uint64_t to = position(level, wheel->clock);
        if (from == to) {
            break; /* nor has the clock entered a slot of the levels above */
        }
        uint64_t between = slots_between(wheel, level, from);
        while (between < to - from) {
            from += 1 + between;
            move_to_due(wheel, level->first + ((uint32_t)from & level->mask));
            between = slots_between(wheel, level, from);
        }
    }
}

/* The work of an advance from `old` with all but the clock's half of level 1. Return the rest of
 * the budget. */
static NEVER_INLINE uint64_t advance_far(struct linked_wheel *wheel, uint64_t old, uint64_t budget,
                                         tl_fire_fn fire, void *ctx)
{
    uint64_t ticks = wheel->clock - old;
    uint64_t left = budget;
    move_to_due(wheel, LATE);
    collect_passed(wheel, old);
    if (is_occupied(wheel, DUE)) {
        (void)fire_slot(wheel, DUE, &left, fire, ctx);
    }
    if (ticks != wheel->ticks) {
        set_passed(wheel, ticks);
    }
    wheel->far_at = move_down(wheel, ticks) ? wheel->clock + 1 : next_far(wheel, true);
    return left;
}

/* An advance to `work_at` or after it. The slots of level 1 in the clock's half are fired where
 * they are: nothing that a callback starts is filed there. */
static NEVER_INLINE uint64_t advance_awake(struct linked_wheel *wheel, uint64_t now,
                                           uint64_t budget, tl_fire_fn fire, void *ctx)
{
    uint64_t left = budget;
    uint64_t old = wheel->clock;
    wheel->clock = now;
    if (now >= wheel->levels_end) {
        set_levels(wheel);
    }
    if (now >= wheel->far_at || wheel->near_at < half_of(now)) {
        left = advance_far(wheel, old, budget, fire, ctx);
    }
    uint64_t tick = wheel->near_at;
    wheel->near_at = 0; /* is looked up below */
    for (bool all = true; all && tick <= now; tick = all ? next_near(wheel, tick) : tick) {
        TL_COUNT(wheel, slots, 1);
        all = fire_slot(wheel, near_slot(tick), &left, fire, ctx);
    }
    for (; tick <= now; tick = next_near(wheel, tick)) { /* the budget is used up */
        move_to_due(wheel, near_slot(tick));
    }
    wheel->near_at = tick;
    wheel->work_at = tick < wheel->far_at ? tick : wheel->far_at;
    if (has_due(wheel)) {
        (void)note_work(wheel, true, 0);
    }
    for (uint32_t stripe = 0; stripe <= wheel->stripes; stripe++) {
        ref head = head_of(wheel, near_slot(now + AHEAD), stripe);
        PREFETCH(at(wheel, at(wheel, head)->next));
    }
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
    if (wheel->count == 0) {
        return TL_NEVER;
    }
    if (has_due(wheel)) {
        return wheel->clock;
    }
    uint64_t near = next_near(wheel, wheel->clock);
    uint64_t far = next_far(wheel, false);
    return near < far ? near : far;
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
    uint64_t index = ((uintptr_t)to - (uintptr_t)old->heads) / sizeof *to;
    return index < HEADS ? head_at(wheel, (uint32_t)index) : timer_of(wheel, id_of(old, to));
}

/* Heads and timers have been copied from where they were in `old`: correct the links. */
static void relink(struct linked_wheel *wheel, const struct linked_wheel *old)
{
    for (uint32_t i = 0; i < HEADS + old->capacity; i++) {
        ref to = i < HEADS ? head_at(wheel, i) : timer_of(wheel, i - HEADS);
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
    size_t node_bytes = capacity * sizeof(struct node);
    wheel->stripes = TUNED && node_bytes > FAR_BYTES ? STRIPES - 1 : 0;
    wheel->near_stripes = TUNED && node_bytes > NEAR_BYTES ? STRIPES - 1 : 0;
    note_stride(wheel);
    for (uint32_t i = 0; fresh && i < HEADS; i++) {
        clear(wheel, head_at(wheel, i));
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
                                 .near_at = TL_NEVER,
                                 .far_at = TL_NEVER,
                                 .work_at = TL_NEVER,
                                 .levels[0].mask = NEAR_SLOTS - 1,
                                 .allocator = config->allocator};
    for (uint32_t i = 1; i < LEVELS; i++) {
        uint32_t shift = NEAR_BITS + (i - 1) * FAR_BITS;
        empty.levels[i] = (struct level){.span = UINT64_C(1) << 63, /* of the last level */
                                         .notice = UINT64_C(1) << shift,
                                         .first = NEAR_SLOTS + (i - 1) * FAR_SLOTS,
                                         .mask = FAR_SLOTS - 1,
                                         .shift = shift};
    }
    set_levels(&empty);
    enum tl_status status = structure_create(config, &empty, wheel_reserve, wheel_destroy, self);
    if (status == TL_OK) {
        struct linked_wheel *wheel = *self;
        wheel->usual = &wheel->levels[1];
    }
    return status;
}

/* --- check and walk --------------------------------------------------------------------------- */

/* Whether a node of a slot is where it should be. */
static const char *check_node(const struct linked_wheel *wheel, uint32_t slot,
                              const struct node *node)
{
    if (slot >= DUE) {
        return wheel->work_at != 0 ? "the due timers are not examined" : NULL;
    }
    uint32_t number = slot < NEAR_SLOTS ? 0 : 1 + (slot - NEAR_SLOTS) / FAR_SLOTS;
    const struct level *level = &wheel->levels[number];
    uint64_t ahead = position(level, node->filed) - position(level, wheel->clock);
    if (slot_on(level, node->filed) != slot || ahead - 1 > level->mask || node->due < node->filed) {
        return "a timer is in the wrong slot";
    }
    uint64_t work = node->filed - level->notice;
    uint64_t by = number == 0 ? wheel->near_at : wheel->far_at;
    bool asleep = wheel->work_at > by || (by > work && by > wheel->clock + 1);
    return asleep ? "a slot is looked at too late" : NULL;
}

/* Check a slot's lists and count their nodes. */
static const char *check_slot(const struct linked_wheel *wheel, uint32_t slot, uint64_t *seen)
{
    uint64_t before = *seen;
    for (uint32_t stripe = 0; stripe < STRIPES; stripe++) {
        ref head = head_of(wheel, slot, stripe);
        ref prev = head;
        for (ref timer = at(wheel, head)->next; timer != head; timer = at(wheel, timer)->next) {
            uint32_t id = id_of(wheel, timer);
            if (id >= wheel->capacity || timer_of(wheel, id) != timer ||
                at(wheel, timer)->prev != prev || ++*seen > wheel->count) {
                return "the links do not agree";
            }
            const char *wrong = check_node(wheel, slot, node_at(wheel, timer));
            if (wrong != NULL) {
                return wrong;
            }
            prev = timer;
        }
    }
    bool word = (wheel->words >> slot / 64 & 1) != 0;
    bool lies =
        is_occupied(wheel, slot) != (*seen > before) || word != (wheel->occupied[slot / 64] != 0);
    return lies ? "a slot's bit lies" : NULL;
}

static enum tl_status wheel_check(const void *self, char *why, size_t why_bytes)
{
    const struct linked_wheel *wheel = self;
    uint64_t seen = 0;
    for (uint32_t slot = 0; slot < LISTS; slot++) {
        const char *wrong = check_slot(wheel, slot, &seen);
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
static void walk_nodes(const struct linked_wheel *wheel, uint32_t slot, uint64_t width,
                       const struct tl_visitor *visitor)
{
    for (uint32_t stripe = 0; stripe <= wheel->stripes; stripe++) {
        ref head = head_of(wheel, slot, stripe);
        for (ref timer = at(wheel, head)->next; timer != head; timer = at(wheel, timer)->next) {
            const struct node *node = node_at(wheel, timer);
            uint64_t by = node->due - node->filed < width ? node->due : node->filed;
            walk_timer(visitor, id_of(wheel, timer), width == 0 ? TL_NEVER : by, 0);
        }
    }
}

static void wheel_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct linked_wheel *wheel = self;
    if (has_due(wheel)) {
        walk_due_part(visitor);
        walk_node(visitor, 0, TL_NEVER);
        walk_nodes(wheel, DUE, 0, visitor);
        walk_nodes(wheel, LATE, 0, visitor);
    }
    for (uint32_t number = 0; number < LEVELS; number++) {
        const struct level *level = &wheel->levels[number];
        uint64_t width = UINT64_C(1) << level->shift;
        uint64_t hand = position(level, wheel->clock);
        walk_level(visitor, number + 1, width);
        for (uint32_t i = 0; i <= level->mask; i++) {
            uint32_t slot = level->first + i;
            uint64_t ahead = (i - hand) & level->mask;
            uint64_t from = (hand + ahead) << level->shift;
            walk_span(visitor, i, from, from + (width - 1),
                      (ahead == 0 ? TL_MARK_HAND : 0u) |
                          (is_occupied(wheel, slot) ? TL_MARK_FLAGGED : 0u));
            walk_nodes(wheel, slot, width, visitor);
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
        "A level of 1,024 slots of a tick, and eight of 256 slots, each 128 times as wide as one "
        "of the level below, the first 512 ticks. A level takes the deadlines of the current and "
        "the next slot of the level above; while the clock is in one, the next one is moved a "
        "level down, a few nodes in each advance. A restart to a later tick stores only the "
        "deadline, and the node moves when its slot comes up. The node may be stored in the "
        "caller's record. Bad at: more timers than the caches hold.",
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
