/*
 * linked-wheel: a hierarchical wheel of linked lists, for any tick length and spread of deadlines.
 *
 *   level   ticks a slot   slots   takes delays from .. to
 *     1                1   1,024           1 ..     1,023
 *     2              512     256       1,024 ..   131,071
 *     3           65,536     256     131,072 ..    2^24-1
 *     9             2^58     256        2^59 .. and longer
 *
 *   slot   8 lists: head <-> node <-> node <-> head
 *   node   { next, prev, due, filed }     24 bytes in one array, where links are numbers; 32 in
 *                                         the caller's records, where links are addresses
 *
 * The highest bit of a delay names its level. At tick 0, start(a, 1100) puts a in slot 2 of level 2,
 * which begins at tick 1,024: a is `filed` under that tick. start(a, 1500) only sets `due`, because
 * the slot comes up anyway before tick 1,500; start(a, 300) moves a to slot 300 of level 1. stop(a)
 * unlinks it at once.
 *
 * While the clock is in slot 1 of level 2, no start files under slot 2, and the timers of slot 2 are
 * moved down: at least 16 in each advance, and enough that none is left when the clock enters slot
 * 2. No tick has a bulk to move. Every level works this way, unless an advance passes whole slots of
 * it. Slots that the clock passes or enters go to DUE unopened: of DUE the due timers fire, and the
 * rest is filed again. LATE has timers that were due when started; they fire in the next advance. An
 * advance before `work_at[NEAR]` only sets the clock.
 *
 * A slot of many timers has several lists: to empty one list is a cache miss at each node, one after
 * another; emptying eight lists in turn has eight misses at once. The node's address selects the
 * list. Up to 1 MiB of nodes, which the caches hold, only the first lists are used, and the others
 * have no heads. Up to 4 MiB, restarts to later are deferred only if most recent restarts were to
 * later, because a mispredicted branch costs more than moving a node that is in the caches.
 *
 * Invariants
 *   - a pending timer is in one list, and is not due before the tick that it is filed under, the
 *     first of its slot; that slot is 1 to 1,023, or 1 to 256, after the clock's on its level
 *   - a slot's bit in `occupied` is set if it has a node, and, if only the first lists are used, not
 *     otherwise; a word's bit in `words` is set exactly if the word is not 0
 *   - work_at[FAR] is not after the next tick with work above level 1, nor after the clock if DUE or
 *     LATE have nodes; work_at[NEAR] is not after it, nor after the first occupied slot of level 1
 *
 * Complexity (m levels): start, stop, restart, a tick O(1); expiry O(m) moves; a jump over empty
 * ticks O(m). Good where nothing is known of the traffic. From some 300,000 timers on, chunk-wheel
 * has fewer cache misses.
 *
 * Source: our own; after Varghese and Lauck 1987, scheme 7, and Erlang/OTP erl_time.
 */
#include "timerlab.h"

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
    NEAR_BITS = 10,                    /* log2 of the slots of level 1 */
    FAR_BITS = 8,                      /* and of each level above it */
    STEP_BITS = 7,                     /* log2 of the ratio of two slots above level 1 */
    FIRST_BIT = NEAR_BITS - STEP_BITS, /* levels end before bits FIRST_BIT + n * STEP_BITS */
    NEAR_SLOTS = 1 << NEAR_BITS,
    FAR_SLOTS = 1 << FAR_BITS,
    SLOTS = NEAR_SLOTS + (LEVELS - 1) * FAR_SLOTS,
    DUE = SLOTS, /* a slot of no level: collected by an advance, or left by its budget */
    LATE,        /* started when already due */
    LISTS,       /* of a stripe: of each slot one */
    WORDS = LISTS / 64 + 1,
    STRIPES = 8, /* lists of a slot, at most: see set_capacity */
    HEADS = STRIPES * LISTS,
    STRIPE_BYTES = 1 << 20,
    TRUST_BYTES = 1 << 22, /* `trust` decides up to that many bytes of nodes */
    TRUST = 14,            /* is reached if about 78 of 100 restarts are to later */
    PORTION = 16,          /* nodes moved down from a slot in one advance, at least */
    AHEAD = 2,             /* ticks before its own a slot's first nodes are fetched */
    ALIGN = 64,
};
static_assert(WORDS <= 64, "a word has a bit in `words`");
/* Level 1, and those above it. */
enum { NEAR, FAR };
#define CAPACITY_MAX (UINT32_C(1) << 30)

/* To a head or a node. */
#ifdef TL_EMBEDDED
typedef struct links *ref;
#define NONE NULL
#else
typedef uint32_t ref; /* counts struct links: first come HEADS heads, then the nodes */
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
    uint64_t notice;  /* ticks before a slot begins that advances have work with it */
    uint16_t first;   /* its first slot */
    uint16_t mask;    /* its slots, less one */
    uint16_t stripes; /* the last stripe in use */
    uint8_t shift;    /* log2 of the ticks of a slot */
    uint8_t far;      /* 0: level 1; 1: any other */
};

struct linked_wheel {
    alignas(ALIGN) uint64_t clock;
    uint64_t work_at[2]; /* an advance to before [NEAR] only sets the clock; one to before [FAR]
                          * has no work above level 1 */
    uint64_t step;       /* ticks of the last advance with work above level 1 */
    uint64_t count;      /* timers pending */
    uint64_t words;      /* which words of `occupied` are not 0 */
    struct links *block AND_RECORDS; /* the heads in use, and after them the wheel's own nodes */
    uintptr_t origin;                /* the address of the first of HEADS heads, were all in use */
    uint32_t stripes[2];             /* the last stripe in use on level 1, and elsewhere */
    uint32_t trust;       /* 1 more by each restart to later, a quarter less by any other */
    uint32_t trust_least; /* from here on a restart to later only sets `due` */
    uint32_t capacity;
    uint32_t heads; /* of all stripes in use */
    const struct tl_allocator *allocator;
    struct tl_counters counters;
    struct level levels[64];  /* by the highest bit of a delay */
    uint64_t occupied[WORDS]; /* one bit a slot */
};

/* --- data: links ------------------------------------------------------------------------------ */

/* An address as a number, because `origin` may be before the block. */
static inline struct links *links_at(const struct linked_wheel *wheel, size_t index)
{
    uintptr_t address = wheel->origin + index * sizeof(struct links);
    return (struct links *)address; /* NOLINT(performance-no-int-to-ptr) */
}

/* Lists are chosen by 64 KiB of nodes: starts in the order of the timers then use one list of each
 * slot for long, and the last nodes of these lists stay in the cache. */
#ifdef TL_EMBEDDED

#define at(wheel, to)             ((void)(wheel), (to))
#define head_at(wheel, index)     links_at(wheel, index)
#define head_index(wheel, head)   (uint32_t)(((uintptr_t)(head) - (wheel)->origin) / sizeof *(head))
#define timer_of(wheel, id)       ((ref)record_at(&(wheel)->records, id))
#define id_of(wheel, timer)       record_id(&(wheel)->records, timer)
#define stripe_of(timer, stripes) ((uintptr_t)(timer) >> 16 & (stripes))

#else

#define at(wheel, to)             links_at(wheel, to)
#define head_at(wheel, index)     (index)
#define head_index(wheel, head)   (head)
#define timer_of(wheel, id)       (HEADS + (id) * (uint32_t)NODE_LINKS)
#define id_of(wheel, timer)       (((timer)-HEADS) / (uint32_t)NODE_LINKS)
#define stripe_of(timer, stripes) ((timer) >> 13 & (stripes))

#endif

/* The head of one of a slot's lists. The first stripe's heads are the last. */
#define head_of(wheel, slot, stripe)                                                               \
    head_at(wheel, (uint32_t)((slot) + (HEADS - LISTS) - (stripe)*LISTS))

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
    ref head = head_of(wheel, slot, stripe_of(timer, stripes));
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
    if (next == prev && wheel->stripes[FAR] == 0) { /* then both are the head */
        clear_occupied(wheel, head_index(wheel, next) - (HEADS - LISTS));
    }
}

/* The head of the next of a slot's lists that has nodes, in turn; NONE: the slot is empty. Callers
 * have a branch for one list, stripes = 0, which the compiler reduces to a comparison. */
static inline ref next_list(const struct linked_wheel *wheel, uint32_t slot, uint32_t stripes,
                            uint32_t *stripe)
{
    for (uint32_t i = 0; i <= stripes; i++) {
        ref head = head_of(wheel, slot, *stripe);
        *stripe = (*stripe + 1) & stripes;
        if (at(wheel, head)->next != head) {
            return head;
        }
    }
    return NONE;
}

/* Unlink the first node of a list. Those of other lists are on their way from memory meanwhile. */
static inline void take_first(struct linked_wheel *wheel, ref head)
{
    ref next = at(wheel, at(wheel, head)->next)->next;
    PREFETCH(at(wheel, next));
    at(wheel, head)->next = next;
    at(wheel, next)->prev = head;
}

/* Move all nodes of an occupied slot to the end of DUE. */
static void move_to_due(struct linked_wheel *wheel, uint32_t slot)
{
    TL_COUNT(wheel, slots, 1);
    clear_occupied(wheel, slot);
    bitmap_mark(wheel->occupied, &wheel->words, DUE);
    for (uint32_t stripe = 0; stripe <= wheel->stripes[slot >= NEAR_SLOTS]; stripe++) {
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

/* The level of that number, from 0. */
static inline const struct level *level_at(const struct linked_wheel *wheel, uint32_t number)
{
    return &wheel->levels[FIRST_BIT + number * STEP_BITS];
}

/* Which slot of its level a tick is in, counted from tick 0. */
static inline uint64_t position(const struct level *level, uint64_t tick)
{
    return tick >> level->shift;
}

static inline uint32_t slot_at(const struct level *level, uint64_t position)
{
    return level->first + ((uint32_t)position & level->mask);
}

/* How many slots of a level of `slots` are between a position and the next occupied slot; TL_NEVER:
 * none is occupied. */
static inline uint64_t slots_between(const struct linked_wheel *wheel, const struct level *level,
                                     uint32_t slots, uint64_t from)
{
    return bitmap_filled_ahead(wheel->occupied, wheel->words, level->first / 64, slots / 64, from);
}

/* The slot of level 1. */
static inline uint32_t near_slot(uint64_t tick)
{
    return (uint32_t)tick & (NEAR_SLOTS - 1);
}

/* The first tick after this one with an occupied slot of level 1; TL_NEVER if there is none. */
static inline uint64_t next_near(const struct linked_wheel *wheel, uint64_t tick)
{
    uint64_t between = slots_between(wheel, level_at(wheel, 0), NEAR_SLOTS, tick);
    return between != TL_NEVER ? tick + 1 + between : TL_NEVER;
}

/* The tick at which the next occupied slot of a level above level 1 begins; TL_NEVER: none does. */
static inline uint64_t next_on(const struct linked_wheel *wheel, const struct level *level)
{
    uint64_t from = position(level, wheel->clock);
    uint64_t between = slots_between(wheel, level, FAR_SLOTS, from);
    return between != TL_NEVER ? (from + 1 + between) << level->shift : TL_NEVER;
}

/* Whether a level or one above it has nodes. */
static inline bool reaches(const struct linked_wheel *wheel, const struct level *level)
{
    return wheel->words >> level->first / 64 != 0;
}

static inline void lower(uint64_t *bound, uint64_t tick)
{
    *bound = tick < *bound ? tick : *bound;
}

/* Advances have work at this tick. Return the status of a start, so that starts end with a jump to
 * this. */
static NEVER_INLINE enum tl_status note_work(struct linked_wheel *wheel, uint32_t far,
                                             uint64_t tick)
{
    wheel->work_at[far] = tick;
    lower(&wheel->work_at[NEAR], tick);
    return TL_OK;
}

/* File a node that is in no list, and due after the clock. */
static inline enum tl_status file(struct linked_wheel *wheel, ref timer, uint64_t due)
{
    uint64_t delay = due - wheel->clock;
    const struct level *level = &wheel->levels[63u ^ (unsigned)__builtin_clzll(delay)];
    uint64_t place = position(level, due);
    uint64_t filed = place << level->shift;
    node_at(wheel, timer)->filed = filed;
    append(wheel, slot_at(level, place), level->stripes, timer);
    uint64_t work = filed - level->notice;
    return work < wheel->work_at[level->far] ? note_work(wheel, level->far, work) : TL_OK;
}

/* File a node again that was filed too early, or on a level above. */
static inline void file_again(struct linked_wheel *wheel, ref timer)
{
    TL_COUNT(wheel, cascades, 1);
    (void)file(wheel, timer, node_at(wheel, timer)->due);
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
    append(wheel, LATE, wheel->stripes[FAR], timer);
    return note_work(wheel, FAR, wheel->clock);
}

static NEVER_INLINE enum tl_status refile(struct linked_wheel *wheel, ref timer, uint64_t deadline)
{
    unlink_timer(wheel, timer);
    return file(wheel, timer, deadline);
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
        return file(wheel, timer, deadline);
    }
    TL_COUNT(wheel, compares, 1);
    /* One branch, and only for a restart that is as usual. */
    uint32_t later = deadline >= node->filed;
    if (later & (wheel->trust >= wheel->trust_least)) {
        wheel->trust++;
        return TL_OK;
    }
    wheel->trust = later ? wheel->trust + 1 : wheel->trust - wheel->trust / 4;
    return refile(wheel, timer, deadline);
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

/* Move to DUE the slots of a level of `slots` that the clock has entered or passed since it was at
 * `old`. Return whether it has. */
static inline bool collect_level(struct linked_wheel *wheel, const struct level *level,
                                 uint32_t slots, uint64_t old)
{
    uint64_t from = position(level, old);
    uint64_t to = position(level, wheel->clock);
    bool entered = from != to;
    uint64_t between;
    while (from != to && (between = slots_between(wheel, level, slots, from)) < to - from) {
        from += 1 + between;
        move_to_due(wheel, slot_at(level, from));
    }
    return entered;
}

/* The same for all levels, before any timer fires, because callbacks may file into a slot that is a
 * turn later. */
static inline void collect(struct linked_wheel *wheel, uint64_t old)
{
    if (is_occupied(wheel, LATE)) {
        move_to_due(wheel, LATE);
    }
    bool entered = collect_level(wheel, level_at(wheel, 0), NEAR_SLOTS, old);
    for (uint32_t number = 1; number < LEVELS && entered; number++) {
        entered = collect_level(wheel, level_at(wheel, number), FAR_SLOTS, old);
    }
}

/* Fire the due timers of a slot that nothing is filed into meanwhile; file the rest again. Return
 * false, and leave the slot occupied, if the budget is used up before its end. */
static inline bool fire_slot(struct linked_wheel *wheel, uint32_t slot, uint32_t stripes,
                             uint64_t *left, tl_fire_fn fire, void *ctx)
{
    uint64_t now = wheel->clock;
    uint32_t stripe = 0;
    for (ref head; (head = next_list(wheel, slot, stripes, &stripe)) != NONE;) {
        ref timer = at(wheel, head)->next;
        struct node *node = node_at(wheel, timer);
        bool due = node->due <= now;
        if (due && *left == 0) {
            return false;
        }
        take_first(wheel, head);
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

/* How many nodes of the next slot to move down in an advance. Most slots have few of all timers; how
 * few is not known. So the portions grow in the first eight of 16 parts of the time before the slot.
 * Those of the last eight suffice for all timers. */
static uint32_t portion_of(const struct linked_wheel *wheel, const struct level *level)
{
    uint32_t part_bits = level->shift - 4u;
    uint32_t step_bits = wheel->step > 1 ? 64 - (uint32_t)__builtin_clzll(wheel->step - 1) : 0;
    uint32_t advances = part_bits > step_bits ? part_bits - step_bits : 0; /* log2, in a part */
    uint32_t part = wheel->clock >> part_bits & 15;
    uint64_t share = wheel->count >> (advances + 3 + (part < 8 ? 6 - part * 3 / 4 : 0));
    return share > PORTION ? (uint32_t)share : PORTION;
}

/* Move a portion of a slot down. Return whether any node is left. */
static inline bool move_down(struct linked_wheel *wheel, uint32_t slot, uint32_t stripes,
                             uint32_t most)
{
    uint32_t stripe = 0;
    ref head;
    TL_COUNT(wheel, slots, 1);
    while ((head = next_list(wheel, slot, stripes, &stripe)) != NONE && most-- > 0) {
        ref timer = at(wheel, head)->next;
        take_first(wheel, head);
        file_again(wheel, timer);
    }
    if (head == NONE) {
        clear_occupied(wheel, slot);
    }
    return head != NONE;
}

/* Ticks before a slot begins that advances have work with it: they move it down, unless they pass it
 * as a whole. */
static inline uint64_t notice_of(const struct linked_wheel *wheel, const struct level *level)
{
    return level->notice > wheel->step ? level->notice : 0;
}

/* After an advance by this many ticks: move the next slots above level 1 down, and set when there is
 * work with them again. */
static NEVER_INLINE void work_far(struct linked_wheel *wheel, uint64_t ticks)
{
    uint64_t clock = wheel->clock;
    wheel->step = ticks | 1;
    wheel->work_at[FAR] = TL_NEVER;
    for (uint32_t number = 1; number < LEVELS; number++) {
        const struct level *level = level_at(wheel, number);
        if (!reaches(wheel, level)) {
            break;
        }
        uint64_t notice = notice_of(wheel, level);
        uint64_t work = next_on(wheel, level) - notice;
        if (work <= clock) {
            uint32_t slot = slot_at(level, position(level, clock) + 1);
            uint32_t most = portion_of(wheel, level);
            bool left = level->stripes == 0 ? move_down(wheel, slot, 0, most)
                                            : move_down(wheel, slot, level->stripes, most);
            work = left ? clock + 1 : next_on(wheel, level) - notice;
        }
        lower(&wheel->work_at[FAR], work);
    }
}

static inline void note_next(struct linked_wheel *wheel, uint32_t stripes)
{
    wheel->work_at[NEAR] = next_near(wheel, wheel->clock);
    lower(&wheel->work_at[NEAR], wheel->work_at[FAR]);
    for (uint32_t stripe = 0; stripe <= stripes; stripe++) {
        ref head = head_of(wheel, near_slot(wheel->clock + AHEAD), stripe);
        PREFETCH(at(wheel, at(wheel, head)->next));
    }
}

/* An advance with work above level 1, or past the next occupied slot of level 1. */
static NEVER_INLINE uint64_t advance_far(struct linked_wheel *wheel, uint64_t now, uint64_t budget,
                                         tl_fire_fn fire, void *ctx)
{
    uint64_t left = budget;
    uint64_t old = wheel->clock;
    wheel->clock = now;
    collect(wheel, old);
    (void)fire_slot(wheel, DUE, wheel->stripes[FAR], &left, fire, ctx);
    if (now >= wheel->work_at[FAR]) {
        work_far(wheel, now - old);
    }
    if (has_due(wheel)) {
        wheel->work_at[FAR] = now;
    }
    note_next(wheel, wheel->stripes[NEAR]);
    return budget - left;
}

/* An advance to the next occupied slot of level 1, with no other work: the slot is fired in place,
 * and the rest that the budget leaves goes to DUE. */
static inline uint64_t advance_near(struct linked_wheel *wheel, uint32_t stripes, uint64_t now,
                                    uint64_t budget, tl_fire_fn fire, void *ctx)
{
    uint64_t left = budget;
    wheel->clock = now;
    if (!fire_slot(wheel, near_slot(now), stripes, &left, fire, ctx)) {
        move_to_due(wheel, near_slot(now));
        wheel->work_at[FAR] = now;
    }
    note_next(wheel, stripes);
    return budget - left;
}

static NEVER_INLINE uint64_t advance_awake(struct linked_wheel *wheel, uint64_t now,
                                           uint64_t budget, tl_fire_fn fire, void *ctx)
{
    if (now > wheel->work_at[NEAR] || now >= wheel->work_at[FAR]) {
        return advance_far(wheel, now, budget, fire, ctx);
    }
    uint32_t stripes = wheel->stripes[NEAR];
    return stripes == 0 ? advance_near(wheel, 0, now, budget, fire, ctx)
                        : advance_near(wheel, stripes, now, budget, fire, ctx);
}

static uint64_t wheel_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct linked_wheel *wheel = self;
    if (now < wheel->work_at[NEAR]) {
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
    uint64_t next = next_near(wheel, wheel->clock);
    for (uint32_t number = 1; number < LEVELS; number++) {
        const struct level *level = level_at(wheel, number);
        if (next <= (position(level, wheel->clock) + 1) << level->shift || !reaches(wheel, level)) {
            break; /* neither this level nor those above have a slot that begins before */
        }
        lower(&next, next_on(wheel, level));
    }
    return next;
}

/* --- create and options ----------------------------------------------------------------------- */

#ifdef TL_EMBEDDED

static ref moved_link(const struct linked_wheel *wheel, const struct linked_wheel *old, ref to)
{
    size_t index = ((uintptr_t)to - old->origin) / sizeof *to;
    bool is_head = index < HEADS && index >= HEADS - old->heads;
    return is_head ? head_at(wheel, index) : timer_of(wheel, id_of(old, to));
}

/* Heads and timers have been copied from where they were in `old`: correct the links. */
static void relink(struct linked_wheel *wheel, const struct linked_wheel *old)
{
    for (uint32_t i = HEADS - old->heads; i < HEADS + old->capacity; i++) {
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
    if (wheel->block != NULL) {
        relink(wheel, &old);
    }
}
#define STRUCTURE_MOVED wheel_moved

#else
#define relink(wheel, old) ((void)(old)) /* numbers do not change */
#endif
#define STRUCTURE struct linked_wheel
#include "counted.h"
#include "structure.h"

/* The bytes of the heads, and of the nodes that are the wheel's own; 0 before the first reserve. */
static size_t block_bytes(const struct linked_wheel *wheel)
{
    return wheel->heads * sizeof(struct links) +
           (size_t)OWN_ENTRIES(wheel, wheel->capacity) * sizeof(struct node);
}

/* Set what depends on the number of timers. Slots of level 1 have fewer nodes, so fewer lists. */
static void set_capacity(struct linked_wheel *wheel, uint32_t capacity)
{
    size_t node_bytes = capacity * sizeof(struct node);
    wheel->capacity = capacity;
    size_t mib = TUNED ? node_bytes / STRIPE_BYTES : 0;
    wheel->stripes[NEAR] = mib >= 4 ? 3 : mib >= 2;
    wheel->stripes[FAR] = mib >= 1 ? STRIPES - 1 : 0;
    wheel->trust_least = node_bytes <= TRUST_BYTES ? TRUST : 0;
    wheel->heads = (wheel->stripes[FAR] + 1) * LISTS;
    for (uint32_t bit = 0; bit < 64; bit++) {
        struct level *level = &wheel->levels[bit];
        level->stripes = (uint16_t)wheel->stripes[level->far];
    }
}

static enum tl_status wheel_reserve(void *self, uint32_t capacity)
{
    struct linked_wheel *wheel = self;
    if (capacity > CAPACITY_MAX) {
        return TL_ERR_CAPACITY;
    }
    if (capacity <= wheel->capacity && wheel->block != NULL) {
        return TL_OK;
    }
    struct linked_wheel old = *wheel;
    struct linked_wheel larger = *wheel;
    set_capacity(&larger, capacity);
    size_t old_bytes = block_bytes(&old);
    size_t bytes = block_bytes(&larger);
    if (bytes > old_bytes) {
        struct links *block =
            wheel->allocator->resize(wheel->allocator->ctx, old.block, old_bytes, bytes, ALIGN);
        if (block == NULL) {
            return TL_ERR_NOMEM;
        }
        larger.block = block;
        larger.origin = (uintptr_t)block - (HEADS - larger.heads) * sizeof *block;
        memmove(block + (larger.heads - old.heads), block, old_bytes);
        OWN_ARRAY(&larger, &block[larger.heads], sizeof(struct node));
    }
    *wheel = larger;
    if (wheel->origin != old.origin) {
        relink(wheel, &old);
    }
    for (uint32_t i = HEADS - wheel->heads; i < HEADS - old.heads; i++) {
        clear(wheel, head_at(wheel, i));
    }
    for (uint32_t id = old.capacity; id < capacity; id++) {
        at(wheel, timer_of(wheel, id))->next = NONE;
    }
    return TL_OK;
}

static void wheel_destroy(void *self)
{
    struct linked_wheel *wheel = self;
    tl_free(wheel->allocator, wheel->block, block_bytes(wheel), ALIGN);
    structure_free(wheel, wheel->allocator);
}

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    struct linked_wheel empty = {.clock = config->now,
                                 .work_at = {TL_NEVER, TL_NEVER},
                                 .trust = TRUST,
                                 .step = 1,
                                 .allocator = config->allocator};
    for (uint32_t bit = 0; bit < 64; bit++) {
        uint32_t far = bit < NEAR_BITS ? 0 : (bit - FIRST_BIT) / STEP_BITS;
        empty.levels[bit] = (struct level){.mask = NEAR_SLOTS - 1};
        if (far > 0) {
            empty.levels[bit] =
                (struct level){.first = (uint16_t)(NEAR_SLOTS + (far - 1) * FAR_SLOTS),
                               .mask = FAR_SLOTS - 1,
                               .shift = (uint8_t)(FIRST_BIT - 1 + far * STEP_BITS),
                               .notice = UINT64_C(1) << (FIRST_BIT - 1 + far * STEP_BITS),
                               .far = FAR};
        }
    }
    return structure_create(config, &empty, wheel_reserve, wheel_destroy, self);
}

/* --- check and walk --------------------------------------------------------------------------- */

/* Whether a node of a slot is where it should be. */
static const char *check_node(const struct linked_wheel *wheel, uint32_t slot,
                              const struct node *node)
{
    if (slot >= DUE) {
        return wheel->work_at[NEAR] > wheel->clock ? "the due timers are not examined" : NULL;
    }
    const struct level *level =
        level_at(wheel, slot < NEAR_SLOTS ? 0 : 1 + (slot - NEAR_SLOTS) / FAR_SLOTS);
    uint64_t ahead = position(level, node->filed) - position(level, wheel->clock) - 1;
    if (slot_at(level, position(level, node->filed)) != slot || ahead > level->mask ||
        node->due < node->filed) {
        return "a timer is in the wrong slot";
    }
    uint64_t work = node->filed - notice_of(wheel, level);
    uint64_t by = wheel->work_at[level->far];
    bool asleep = wheel->work_at[NEAR] > by || (by > work && by > wheel->clock + 1);
    return asleep ? "a slot is looked at too late" : NULL;
}

/* Check a slot's lists and count their nodes. */
static const char *check_slot(const struct linked_wheel *wheel, uint32_t slot, uint64_t *seen)
{
    uint64_t before = *seen;
    for (uint32_t stripe = 0; stripe <= wheel->stripes[FAR]; stripe++) {
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
    bool filled = *seen > before;
    bool lies = is_occupied(wheel, slot) != filled && (filled || wheel->stripes[FAR] == 0);
    return lies || word != (wheel->occupied[slot / 64] != 0) ? "a slot's bit lies" : NULL;
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
    for (uint32_t stripe = 0; stripe <= wheel->stripes[slot >= NEAR_SLOTS]; stripe++) {
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
        const struct level *level = level_at(wheel, number);
        uint64_t width = UINT64_C(1) << level->shift;
        uint64_t hand = position(level, wheel->clock);
        walk_level(visitor, number + 1, width);
        for (uint32_t i = 0; i <= level->mask; i++) {
            uint32_t slot = level->first + i;
            uint64_t from = (hand + 1 + ((i - hand - 1) & level->mask)) << level->shift;
            walk_span(visitor, i, from, from + (width - 1),
                      (slot == slot_at(level, hand) ? TL_MARK_HAND : 0u) |
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
        "of the level below, the first 512 ticks. The highest bit of a delay names its level. "
        "While the clock is in one slot, the next one is moved a level down, a few nodes in each "
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
