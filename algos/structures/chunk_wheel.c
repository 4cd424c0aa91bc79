/*
 * chunk-wheel: a hierarchical wheel for hundreds of thousands of timers, with arrays of ids as slots
 * and starts that wait for no cache miss.
 *
 *   node    { ~deadline, filed, place }                    16 bytes, all zero: idle
 *   chunk   { the chunk before it in its slot, 127 ids }   512 bytes
 *   slot    { where its next id goes, chunks, first tick }
 *
 *   level   ticks a slot   slots   takes a deadline
 *     1                1     512   in this block of 256 ticks, or in the next
 *     2              256     512   in this block of 2^16 ticks, or in the next
 *     3             2^16     512   in this block of 2^24 ticks, or in the next
 *     8             2^56     512   any other
 *
 * At tick 0, start(a, 700) stores the deadline and puts a in a batch of 256. When that is full, all
 * of it is looked at, many cache misses at once: a's id is appended to slot 2 of level 2; `filed`
 * names the slot, `place` the word of a chunk. start(a, 900) only stores the deadline, because that
 * entry comes up before. stop(a) stores 0. When the entry comes up, the node says whether it fires,
 * is filed again, or is stale. start(a, 300) moves the entry: the last id of slot 2 takes its place.
 *
 * While the clock is in one slot of a level, the next one is moved down, a few entries in each
 * advance, so that none is left when the clock enters it. No tick has a bulk to move, unless an
 * advance passes whole slots. An advance before `quiet` only sets the clock.
 *
 * Invariants
 *   - a pending timer is in the batch, or has an entry in slot `filed`, which comes up at its
 *     deadline or before; no timer has two; no timer in the batch is due before `batch_due`
 *   - only a slot's last chunk is not full; so N timers in S slots take up to S + N/127 chunks
 *   - a slot above level 1 gets no entry while the clock is in it or in the one before
 *   - a slot's bit is set exactly if it has entries; `far_at` is not after the next tick with work
 *     above level 1, `quiet` not after the next with any
 *
 * Complexity (m levels): start, stop, restart, a tick O(1), of which a start may look at 256
 * others; expiry O(m) moves. With fewer timers linked-wheel is faster. Bad at: timers of one tick
 * that were all restarted shortly before it.
 *
 * Source: our own, from parts: Varghese and Lauck 1987, section 6.2; Erlang/OTP erl_time (slots
 * moved ahead of time); Go, runtime/time.go (lazy stop). docs/internals/chunk-wheel.md has the
 * figures.
 */
#include "timerlab.h"

#include "records.h"
#include "slot_bitmap.h"
#include "tuning.h"
#include "walk.h"

#include <stdalign.h>
#include <string.h>

/* --- data ------------------------------------------------------------------------------------- */

/* The state of a timer. All zero: never started. */
struct node {
    uint64_t rest;  /* ~deadline; 0: not pending */
    uint32_t filed; /* the slot of its entry, or NOWHERE; and COUNTED */
    uint32_t place; /* the word of a chunk that is its entry */
};

/* A timer that was due when it was started has a serial instead of a deadline: the number of the
 * last advance before the one that is to fire it. */
#define SERIALS      (TL_DEADLINE_MAX + 1)

/* Of `filed`: the slot, and whether the timer is in `count`. */
#define SLOT         ((UINT32_C(1) << 13) - 1)
#define COUNTED      (UINT32_C(1) << 31)

#define CHUNK_BITS   7u /* log2 of a chunk's words */
#define CHUNK_WORDS  (1u << CHUNK_BITS)
#define CHUNK_BYTES  (CHUNK_WORDS * sizeof(uint32_t))
#define CHUNK_IDS    (CHUNK_WORDS - 1)
#define EMPTY        CHUNK_WORDS /* the tail of an empty slot: that of chunk 0, which is full */
#define IDS_AHEAD    4u   /* a chunk's line is fetched this many ids before it is written to, */
#define NODES_AHEAD  32u  /* and a node this many before it is looked at */
#define SHARE        15u  /* entries moved down at once, so that no tick has a bulk to move */
#define BATCH        256u /* starts that wait to be looked at */
#define IN_SEQUENCE  16u  /* starts of ids in sequence, after which none waits */
#define CAPACITY_MAX (UINT32_C(1) << 30)
#define NO_ID        UINT32_MAX
#define LINE_BYTES   64u

enum {
    NOWHERE, /* no slot: none comes up so late */
    LATE,    /* started when due already: of this and the next slot one is for the next advance, */
    LATE_TOO = 3 - LATE, /* the other has those that an advance fires, or its budget left */
    FIRST = 64,          /* of level 1 */
    LEVELS = 8,
    LEVEL_BITS = 8,
    LEVEL_SLOTS = 2 << LEVEL_BITS,
    LEVEL_WORDS = LEVEL_SLOTS / 64, /* of `occupied` */
    SLOTS = FIRST + LEVELS * LEVEL_SLOTS,
};

struct slot {
    uint32_t tail; /* the word of a chunk to which its next id goes */
    uint32_t held; /* chunks */
    uint64_t tick; /* the first that it stands for, as long as it has entries */
};

struct chunk_wheel {
    alignas(LINE_BYTES) struct node *nodes AND_RECORDS;
    uint32_t *words; /* of all chunks */
    uint64_t clock;
    uint64_t position;  /* the tick up to which slots have been worked off; before the clock only
                           inside an advance and if a budget ran out */
    uint64_t quiet;     /* an advance to before this has nothing to do; 0: timers are due */
    uint64_t far_at;    /* levels above the first have nothing to do before this */
    uint64_t batch_due; /* no start that waits is due before; TL_NEVER: none may wait, as in
                           callbacks */
    uint64_t count;     /* timers pending, but for those in the batch that are not COUNTED */
    uint64_t serial;    /* of this or the last advance that had something to do */
    uint64_t left;      /* of the budget */
    tl_fire_fn expire;  /* NULL: no advance is under way */
    void *ctx;
    uint32_t batched;
    uint32_t sequel; /* the id that continues a sequence, or NO_ID */
    uint32_t late;   /* the slot for timers that are due when started */
    uint32_t free;   /* the first free chunk; in each the first word names the next */
    uint32_t chunks;
    uint32_t capacity;
    const struct tl_allocator *allocator;
    struct tl_counters counters;
    uint64_t filled; /* which words of `occupied` are not 0; no deadline reaches the */
    uint64_t occupied[SLOTS / 64]; /* last words, which have no bit there */
    uint32_t batch[BATCH];
    struct slot slots[SLOTS];
};

static inline struct node *node_of(const struct chunk_wheel *wheel, uint32_t id)
{
#ifdef TL_EMBEDDED
    return record_at(&wheel->records, id);
#else
    return &wheel->nodes[id];
#endif
}

static inline uint64_t due_of(const struct node *node)
{
    return ~node->rest;
}

static inline void lower(uint64_t *bound, uint64_t tick)
{
    *bound = tick < *bound ? tick : *bound;
}

/* --- data: levels ----------------------------------------------------------------------------- */

static inline uint32_t shift_of(uint32_t level)
{
    return level * LEVEL_BITS;
}

static inline uint64_t width_of(uint32_t level)
{
    return UINT64_C(1) << shift_of(level);
}

static inline uint32_t first_slot(uint32_t level)
{
    return FIRST + level * LEVEL_SLOTS;
}

static inline uint32_t slot_on(uint32_t level, uint64_t tick)
{
    return first_slot(level) + ((uint32_t)(tick >> shift_of(level)) & (LEVEL_SLOTS - 1));
}

/* The level that takes a deadline, which is not before `position`: the highest where it is two
 * slots ahead, or the first. */
static inline uint32_t level_for(const struct chunk_wheel *wheel, uint64_t due)
{
    uint32_t bit = 63 - (uint32_t)__builtin_clzll((due - wheel->position) | width_of(1));
    uint32_t level = bit / LEVEL_BITS;
    return level - ((due >> shift_of(level)) - (wheel->position >> shift_of(level)) < 2);
}

/* The first tick after `position` with an occupied slot on a level, of a wide slot its first tick;
 * TL_NEVER: none. */
static inline uint64_t first_on(const struct chunk_wheel *wheel, uint32_t level)
{
    uint64_t from = wheel->position >> shift_of(level);
    uint64_t between = bitmap_filled_ahead(wheel->occupied, wheel->filled, first_slot(level) / 64,
                                           LEVEL_WORDS, from);
    return between != TL_NEVER ? (from + 1 + between) << shift_of(level) : TL_NEVER;
}

/* Whether this level or one above it has entries. */
static inline bool reaches(const struct chunk_wheel *wheel, uint32_t level)
{
    return level < LEVELS && wheel->filled >> first_slot(level) / 64 != 0;
}

/* The first tick of the first occupied slot above the first level; TL_NEVER: none. */
static NEVER_INLINE uint64_t first_above(const struct chunk_wheel *wheel)
{
    uint64_t first = TL_NEVER;
    for (uint32_t level = 1; reaches(wheel, level); level++) {
        lower(&first, first_on(wheel, level));
    }
    return first;
}

/* --- data: chunks ----------------------------------------------------------------------------- */

/* Of a tail: its chunk, and how many ids that has. */
static inline uint32_t chunk_of(uint32_t tail)
{
    return (tail - 1) >> CHUNK_BITS;
}

static inline uint32_t ids_in(uint32_t tail)
{
    return (tail - 1) & (CHUNK_WORDS - 1);
}

/* A chunk's first word: the chunk before it. */
static inline uint32_t *link_of(const struct chunk_wheel *wheel, uint32_t chunk)
{
    return &wheel->words[(size_t)chunk << CHUNK_BITS];
}

/* The tail without its last chunk. */
static inline uint32_t tail_before(const struct chunk_wheel *wheel, uint32_t tail)
{
    return (*link_of(wheel, chunk_of(tail)) + 1) << CHUNK_BITS;
}

/* Always inline: gcc takes a function that does nothing but fetch for one that does nothing. */
#define FETCHES static ALWAYS_INLINE void

FETCHES fetch_chunk(const struct chunk_wheel *wheel, uint32_t tail)
{
    const char *chunk = (const char *)link_of(wheel, chunk_of(tail));
    for (uint32_t i = 0; i < CHUNK_BYTES; i += LINE_BYTES) {
        PREFETCH(chunk + i);
    }
}

/* Fetch the nodes of the last entries of a slot's chunk. */
FETCHES fetch_nodes(const struct chunk_wheel *wheel, uint32_t tail)
{
    uint32_t ids = tail == EMPTY ? 0 : ids_in(tail);
    for (uint32_t i = 1; i <= (ids < NODES_AHEAD ? ids : NODES_AHEAD); i++) {
        PREFETCH(node_of(wheel, wheel->words[tail - i]));
    }
}

/* Give a slot that stands for this tick one more chunk. Returns its tail. */
static NEVER_INLINE uint32_t add_chunk(struct chunk_wheel *wheel, uint32_t slot, uint64_t tick)
{
    struct slot *to = &wheel->slots[slot];
    uint32_t chunk = wheel->free;
    wheel->free = *link_of(wheel, chunk);
    PREFETCH(link_of(wheel, wheel->free));
    *link_of(wheel, chunk) = chunk_of(to->tail);
    to->held++;
    bitmap_mark(wheel->occupied, &wheel->filled, slot);
    if (slot >= FIRST) {
        uint32_t level = (slot - FIRST) / LEVEL_SLOTS;
        to->tick = tick >> shift_of(level) << shift_of(level);
        lower(&wheel->quiet, level > 0 ? to->tick - width_of(level) : to->tick);
        lower(&wheel->far_at, level > 0 ? to->tick - width_of(level) : TL_NEVER);
    }
    return (chunk << CHUNK_BITS) + 1;
}

/* The slot's last chunk has no ids left. */
static NEVER_INLINE void drop_chunk(struct chunk_wheel *wheel, uint32_t slot)
{
    struct slot *from = &wheel->slots[slot];
    uint32_t chunk = chunk_of(from->tail);
    from->tail = tail_before(wheel, from->tail);
    from->held--;
    *link_of(wheel, chunk) = wheel->free;
    wheel->free = chunk;
    if (from->tail == EMPTY) {
        bitmap_unmark(wheel->occupied, &wheel->filled, slot);
    } else {
        fetch_chunk(wheel, tail_before(wheel, from->tail));
        fetch_nodes(wheel, from->tail);
    }
}

/* Append a timer that has no entry to a slot, which stands for this tick. */
static inline void append(struct chunk_wheel *wheel, uint32_t slot, uint64_t tick,
                          struct node *node, uint32_t id)
{
    uint32_t tail = wheel->slots[slot].tail;
    TL_COUNT(wheel, moves, 1);
    if ((tail & (CHUNK_WORDS - 1)) == 0) {
        tail = add_chunk(wheel, slot, tick);
    }
    wheel->words[tail] = id;
    PREFETCH(&wheel->words[tail + IDS_AHEAD]);
    wheel->slots[slot].tail = tail + 1;
    node->filed = slot | COUNTED;
    node->place = tail;
}

/* Take the last entry of a slot that has one. */
static inline uint32_t take(struct chunk_wheel *wheel, uint32_t slot)
{
    uint32_t tail = --wheel->slots[slot].tail;
    uint32_t id = wheel->words[tail];
    if (ids_in(tail) == 0) {
        drop_chunk(wheel, slot);
    }
    return id;
}

/* Remove a timer's entry: its slot's last one takes the place. */
static inline void take_out(struct chunk_wheel *wheel, const struct node *node)
{
    uint32_t last = take(wheel, node->filed & SLOT);
    TL_COUNT(wheel, moves, 1);
    wheel->words[node->place] = last;
    node_of(wheel, last)->place = node->place;
}

/* --- data: entries that come up in time ------------------------------------------------------- */

/* Append a timer to the slot of a tick that is not before `position`. */
static inline void append_at(struct chunk_wheel *wheel, uint64_t tick, struct node *node,
                             uint32_t id)
{
    append(wheel, slot_on(level_for(wheel, tick), tick), tick, node, id);
}

/* After a start: mostly the timer is counted, and its entry comes up in time. If that comes up
 * later, the restart was to earlier. */
static inline void look(struct chunk_wheel *wheel, struct node *node, uint32_t id)
{
    uint32_t filed = node->filed;
    bool in_time = due_of(node) >= wheel->slots[filed & SLOT].tick;
    TL_COUNT(wheel, compares, (filed & SLOT) != NOWHERE);
    if ((filed & COUNTED) == 0) {
        if (node->rest == 0) {
            return;
        }
        wheel->count++;
        node->filed |= COUNTED;
    }
    if (!in_time) {
        if ((filed & SLOT) != NOWHERE) {
            take_out(wheel, node);
        }
        append_at(wheel, due_of(node), node, id);
    }
}

/* --- start and stop --------------------------------------------------------------------------- */

static NEVER_INLINE void look_at_batch(struct chunk_wheel *wheel)
{
    uint32_t count = wheel->batched;
    const uint32_t *ids = wheel->batch;
    bool in_sequence =
        count > IN_SEQUENCE && ids[count - 1] - ids[count - 1 - IN_SEQUENCE] == IN_SEQUENCE;
    wheel->batched = 0;
    wheel->batch_due = TL_NEVER;
    wheel->sequel = in_sequence ? ids[count - 1] + 1 : NO_ID;
    for (uint32_t i = 0; i < count; i++) {
        look(wheel, node_of(wheel, ids[i]), ids[i]);
    }
}

/* With the status of a start that ends so, which then has nothing to save for a call. */
static NEVER_INLINE enum tl_status look_at_full_batch(struct chunk_wheel *wheel)
{
    uint64_t due = wheel->batch_due;
    look_at_batch(wheel);
    wheel->batch_due = due; /* low already: the next is most likely not before it */
    return TL_OK;
}

/* A start of an id in sequence: the processor fetches the nodes of a sequence ahead. */
static NEVER_INLINE enum tl_status start_at_once(struct chunk_wheel *wheel, uint32_t id)
{
    look(wheel, node_of(wheel, id), id);
    return TL_OK;
}

/* A start that is due already. */
static void start_late(struct chunk_wheel *wheel, struct node *node, uint32_t id)
{
    node->rest = ~(SERIALS + wheel->serial);
    wheel->count += (node->filed & COUNTED) == 0;
    node->filed |= COUNTED;
    wheel->quiet = 0;
    if ((node->filed & SLOT) != wheel->late) {
        if ((node->filed & SLOT) != NOWHERE) {
            take_out(wheel, node);
        }
        append(wheel, wheel->late, 0, node, id);
    }
}

/* A start that is due before all that wait, or in a callback. */
static NEVER_INLINE enum tl_status start_soon(struct chunk_wheel *wheel, uint32_t id, uint64_t due)
{
    struct node *node = node_of(wheel, id);
    node->rest = ~due;
    if (due <= wheel->clock) {
        start_late(wheel, node, id);
        return TL_OK;
    }
    if (wheel->expire != NULL) {
        look(wheel, node, id);
        return TL_OK;
    }
    wheel->batch_due = due;
    lower(&wheel->quiet, due);
    wheel->batch[wheel->batched++] = id;
    return wheel->batched >= BATCH ? look_at_full_batch(wheel) : TL_OK;
}

static enum tl_status wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct chunk_wheel *wheel = self;
    if (deadline < wheel->batch_due) {
        return start_soon(wheel, id, deadline);
    }
    node_of(wheel, id)->rest = ~deadline; /* waits for no cache miss */
    if (id == wheel->sequel) {
        wheel->sequel = id + 1;
        return start_at_once(wheel, id);
    }
    uint32_t batched = wheel->batched;
    wheel->batch[batched++] = id;
    wheel->batched = batched;
    return batched >= BATCH ? look_at_full_batch(wheel) : TL_OK;
}

static enum tl_status wheel_stop(void *self, uint32_t id)
{
    struct chunk_wheel *wheel = self;
    struct node *node = node_of(wheel, id);
    if (node->rest == 0) {
        return TL_IDLE;
    }
    node->rest = 0;
    wheel->count -= (node->filed & COUNTED) != 0;
    node->filed &= ~COUNTED;
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

/* A timer's entry has come up and is gone: the node has the timer's state. */
static inline void visit(struct chunk_wheel *wheel, uint32_t id)
{
    struct node *node = node_of(wheel, id);
    uint64_t due = due_of(node);
    TL_COUNT(wheel, compares, 1);
    if (due <= wheel->clock || due - SERIALS < wheel->serial) {
        wheel->count--;
        wheel->left--;
        TL_COUNT(wheel, moves, 1);
        *node = (struct node){0};
        wheel->expire(wheel->ctx, id, wheel->clock);
    } else if (node->rest == 0) {
        node->filed = NOWHERE;
    } else if (due >= SERIALS) { /* by a callback of this advance */
        append(wheel, wheel->late, 0, node, id);
    } else {
        TL_COUNT(wheel, cascades, 1);
        wheel->count += (node->filed & COUNTED) == 0;
        append_at(wheel, due, node, id);
    }
}

/* Visit up to this many entries of a slot. False: some are left; unless they were too many, the
 * budget is used up. */
static NEVER_INLINE bool work_off(struct chunk_wheel *wheel, uint32_t slot, uint64_t most)
{
    const uint32_t *tail = &wheel->slots[slot].tail;
    TL_COUNT(wheel, slots, *tail != EMPTY);
    for (; *tail != EMPTY && wheel->left > 0 && most > 0; most--) {
        if (ids_in(*tail) > NODES_AHEAD) {
            PREFETCH(node_of(wheel, wheel->words[*tail - 1 - NODES_AHEAD]));
        }
        visit(wheel, take(wheel, slot));
    }
    return *tail == EMPTY;
}

/* Fire timers that were due when started; those that callbacks start so are for the next advance. */
static bool fire_late(struct chunk_wheel *wheel)
{
    uint32_t late = wheel->late;
    if (!work_off(wheel, LATE + LATE_TOO - late, UINT64_MAX)) {
        return false;
    }
    wheel->late = LATE + LATE_TOO - late;
    return work_off(wheel, late, UINT64_MAX);
}

/* Work off the slots that `position` is in, of all levels. */
static bool open_slots(struct chunk_wheel *wheel)
{
    for (uint32_t level = LEVELS; level-- > 0;) {
        if (!work_off(wheel, slot_on(level, wheel->position), UINT64_MAX)) {
            return false;
        }
    }
    return true;
}

/* Go from one occupied slot to the next. False: the budget is used up, and something is left. */
static inline bool advance_to(struct chunk_wheel *wheel, uint64_t now)
{
    for (;;) {
        uint64_t end = wheel->position | (width_of(1) - 1); /* of the block */
        uint64_t last = now < end ? now : end;
        uint64_t tick;
        while ((tick = first_on(wheel, 0)) <= last) {
            wheel->position = tick;
            fetch_nodes(wheel, wheel->slots[slot_on(0, tick + 1)].tail);
            fetch_chunk(wheel, wheel->slots[slot_on(0, tick + 2)].tail);
            if (!work_off(wheel, slot_on(0, tick), UINT64_MAX)) {
                return false;
            }
        }
        if (last < now) {
            lower(&tick, first_above(wheel));
        }
        if (tick > now) {
            wheel->position = now;
            return true;
        }
        wheel->position = tick & ~(width_of(1) - 1);
        if (!open_slots(wheel)) {
            return false;
        }
    }
}

/* How many shares a slot has. */
static inline uint64_t shares_of(const struct slot *slot)
{
    return (slot->held * CHUNK_IDS - CHUNK_IDS + ids_in(slot->tail) + SHARE - 1) / SHARE;
}

/* Of each level, move shares of the slot after the clock's down: as late as it can be done with one
 * share in each advance, if those until it comes up are as long as this. */
static NEVER_INLINE void move_down(struct chunk_wheel *wheel, uint64_t now)
{
    uint64_t ticks = now + 1 - wheel->far_at;
    wheel->far_at = TL_NEVER;
    for (uint32_t level = 1; reaches(wheel, level); level++) {
        uint64_t next = ((now >> shift_of(level)) + 1) << shift_of(level);
        uint64_t advances = (next - 1 - now) / ticks + 1;
        const struct slot *slot = &wheel->slots[slot_on(level, next)];
        (void)work_off(wheel, slot_on(level, next), shares_of(slot) / advances * SHARE);
        uint64_t shares = shares_of(slot);
        if (shares == 0) {
            uint64_t first = first_on(wheel, level);
            lower(&wheel->far_at, first != TL_NEVER ? first - width_of(level) : TL_NEVER);
        } else {
            lower(&wheel->far_at, shares < advances ? next - shares * ticks : now + 1);
        }
    }
}

/* The serial is this advance's. */
static NEVER_INLINE uint64_t advance_awake(struct chunk_wheel *wheel, uint64_t now, uint64_t budget,
                                           tl_fire_fn expire, void *ctx)
{
    if (wheel->batch_due <= now) {
        look_at_batch(wheel);
    }
    uint64_t batch_due = wheel->batch_due;
    wheel->batch_due = TL_NEVER;
    wheel->expire = expire;
    wheel->ctx = ctx;
    wheel->left = budget;
    bool all =
        (wheel->quiet > 0 || (fire_late(wheel) && open_slots(wheel))) && advance_to(wheel, now);
    if (all && wheel->far_at <= now) {
        move_down(wheel, now);
    }
    wheel->expire = NULL;
    wheel->batch_due = batch_due;
    wheel->quiet = all && wheel->slots[wheel->late].tail == EMPTY ? first_on(wheel, 0) : 0;
    lower(&wheel->quiet, wheel->far_at);
    lower(&wheel->quiet, batch_due);
    return budget - wheel->left;
}

static uint64_t wheel_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn expire,
                              void *ctx)
{
    struct chunk_wheel *wheel = self;
    wheel->clock = now;
    if (now < wheel->quiet) {
        wheel->position = now;
        return 0;
    }
    wheel->serial++;
    return advance_awake(wheel, now, budget, expire, ctx);
}

static uint64_t wheel_count(const void *self)
{
    struct chunk_wheel *wheel = (struct chunk_wheel *)self;
    if (wheel->batched > 0) { /* which is not seen from outside */
        look_at_batch(wheel);
    }
    return wheel->count;
}

static uint64_t wheel_next(const void *self)
{
    const struct chunk_wheel *wheel = self;
    if (wheel->count == 0 && wheel_count(self) == 0) {
        return TL_NEVER;
    }
    if (wheel->quiet == 0) {
        return wheel->clock;
    }
    uint64_t next = first_on(wheel, 0);
    lower(&next, first_above(wheel));
    lower(&next, wheel->batch_due);
    return next;
}

/* --- create and options ----------------------------------------------------------------------- */

#define STRUCTURE struct chunk_wheel
#include "structure.h"

/* One block has the chunks, and then the nodes that are the wheel's own. */
static size_t block_bytes(const struct chunk_wheel *wheel, uint32_t chunks, uint32_t capacity)
{
    (void)wheel; /* which says whether nodes are in records */
    return chunks * CHUNK_BYTES + OWN_ENTRIES(wheel, capacity) * sizeof *wheel->nodes;
}

static enum tl_status wheel_reserve(void *self, uint32_t capacity)
{
    struct chunk_wheel *wheel = self;
    uint32_t old = wheel->chunks;
    if (capacity > CAPACITY_MAX) {
        return TL_ERR_CAPACITY;
    }
    if (capacity <= wheel->capacity && old > 0) {
        return TL_OK;
    }
    uint32_t chunks = 1 + (capacity < SLOTS ? capacity : SLOTS) + capacity / CHUNK_IDS;
    char *block = wheel->allocator->resize(wheel->allocator->ctx, wheel->words,
                                           old > 0 ? block_bytes(wheel, old, wheel->capacity) : 0,
                                           block_bytes(wheel, chunks, capacity), CHUNK_BYTES);
    if (block == NULL) {
        return TL_ERR_NOMEM;
    }
    wheel->words = (uint32_t *)(void *)block;
    wheel->nodes = (struct node *)(void *)(block + chunks * CHUNK_BYTES);
    size_t own = OWN_ENTRIES(wheel, wheel->capacity);
    memmove(wheel->nodes, block + old * CHUNK_BYTES, own * sizeof *wheel->nodes);
    memset(&wheel->nodes[own], 0, (OWN_ENTRIES(wheel, capacity) - own) * sizeof *wheel->nodes);
    OWN_ARRAY(wheel, wheel->nodes, sizeof *wheel->nodes);
    /* The kernel gives the memory now, not when a start is to be quick. */
    for (uint32_t chunk = chunks - 1; chunk > 0 && chunk >= old; chunk--) {
        *link_of(wheel, chunk) = wheel->free;
        wheel->free = chunk;
    }
    wheel->chunks = chunks;
    wheel->capacity = capacity;
    return TL_OK;
}

static void wheel_destroy(void *self)
{
    struct chunk_wheel *wheel = self;
    tl_free(wheel->allocator, wheel->words,
            wheel->chunks > 0 ? block_bytes(wheel, wheel->chunks, wheel->capacity) : 0,
            CHUNK_BYTES);
    structure_free(wheel, wheel->allocator);
}

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    struct chunk_wheel empty = {
        .clock = config->now,
        .position = config->now,
        .quiet = TL_NEVER,
        .far_at = TL_NEVER,
        .batch_due = TL_NEVER,
        .serial = 1,
        .sequel = NO_ID,
        .late = LATE,
        .allocator = config->allocator,
        .slots[NOWHERE].tick = UINT64_MAX,
    };
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        empty.slots[slot].tail = EMPTY;
    }
    return structure_create(config, &empty, wheel_reserve, wheel_destroy, self);
}

/* --- check and walk --------------------------------------------------------------------------- */

static void wheel_counters(const void *self, struct tl_counters *out)
{
    *out = ((const struct chunk_wheel *)self)->counters;
}

/* Go through the entries of a slot: `at` begins as its tail, and becomes the entry's word. */
static bool next_entry(const struct chunk_wheel *wheel, uint32_t *at)
{
    if (ids_in(*at) == 0) {
        *at = tail_before(wheel, *at);
    }
    *at -= *at != EMPTY;
    return *at != EMPTY;
}

/* Check a slot, and count its chunks and entries. */
static const char *check_slot(const struct chunk_wheel *wheel, uint32_t slot, uint64_t *chunks,
                              uint64_t *entries)
{
    const struct slot *it = &wheel->slots[slot];
    if ((wheel->occupied[slot / 64] >> slot % 64 & 1) != (it->tail != EMPTY)) {
        return "a slot's bit lies";
    }
    uint64_t before = *entries;
    for (uint32_t at = it->tail; next_entry(wheel, &at);) {
        uint32_t id = wheel->words[at];
        if (id >= wheel->capacity || ++*entries > wheel->capacity) {
            return "a slot does not end";
        }
        const struct node *node = node_of(wheel, id);
        if ((node->filed & SLOT) != slot || node->place != at) {
            return "an entry is not where its timer says";
        }
        if (due_of(node) < it->tick) {
            return "a timer is in a slot that comes up too late";
        }
    }
    *chunks += it->held;
    return it->held == (*entries - before + CHUNK_IDS - 1) / CHUNK_IDS ? NULL
                                                                       : "chunks are miscounted";
}

static enum tl_status wheel_check(const void *self, char *why, size_t why_bytes)
{
    const struct chunk_wheel *wheel = self;
    uint64_t count = wheel_count(self);
    uint64_t chunks = 1;
    uint64_t entries = 0;
    const char *wrong = NULL;
    for (uint32_t slot = 0; wrong == NULL && slot < SLOTS; slot++) {
        wrong = check_slot(wheel, slot, &chunks, &entries);
    }
    for (uint32_t id = 0; id < wheel->capacity; id++) {
        const struct node *node = node_of(wheel, id);
        entries -= (node->filed & SLOT) != NOWHERE;
        count -= node->rest != 0;
        if (wrong == NULL && (node->rest != 0) != ((node->filed & COUNTED) != 0)) {
            wrong = "a timer is pending without an entry";
        }
    }
    for (uint32_t free = wheel->free; wrong == NULL && free != 0 && chunks <= wheel->chunks;) {
        chunks++;
        free = *link_of(wheel, free);
    }
    if (wrong == NULL && (entries != 0 || count != 0)) {
        wrong = "the pending timers are miscounted";
    } else if (wrong == NULL && chunks != wheel->chunks) {
        wrong = "chunks are missing";
    } else if (wrong == NULL && wheel->quiet > first_on(wheel, 0)) {
        wrong = "it sleeps past a slot";
    }
    return wrong == NULL ? TL_OK : corrupt(why, why_bytes, "%s", wrong);
}

/* A stale entry is shown at its slot's first tick. */
static void walk_entries(const struct chunk_wheel *wheel, const struct slot *slot,
                         const struct tl_visitor *visitor)
{
    for (uint32_t at = slot->tail; next_entry(wheel, &at);) {
        uint32_t id = wheel->words[at];
        uint64_t due = due_of(node_of(wheel, id));
        if (due != UINT64_MAX) {
            walk_timer(visitor, id, due < SERIALS ? due : TL_NEVER, 0);
        } else if (slot >= &wheel->slots[FIRST]) {
            walk_stale(visitor, id, slot->tick);
        }
    }
}

/* Leave the wheel as it was: looking at the batch is not seen from outside. */
static void wheel_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct chunk_wheel *wheel = self;
    (void)wheel_count(self);
    if (wheel->slots[LATE].tail != EMPTY || wheel->slots[LATE_TOO].tail != EMPTY) {
        walk_due_part(visitor);
        walk_node(visitor, 0, TL_NEVER);
        walk_entries(wheel, &wheel->slots[LATE + LATE_TOO - wheel->late], visitor);
        walk_entries(wheel, &wheel->slots[wheel->late], visitor);
    }
    for (uint32_t level = 0; level < LEVELS; level++) {
        uint64_t hand = wheel->position >> shift_of(level);
        walk_level(visitor, level + 1, width_of(level));
        for (uint32_t i = 0; i < LEVEL_SLOTS; i++) {
            const struct slot *slot = &wheel->slots[first_slot(level) + i];
            uint64_t ahead = (i - hand) & (LEVEL_SLOTS - 1);
            uint64_t from = (hand + ahead) << shift_of(level);
            bool flagged = slot->tail != EMPTY;
            walk_span(visitor, i, from, from + (width_of(level) - 1),
                      (ahead == 0 ? TL_MARK_HAND : 0u) | (flagged ? TL_MARK_FLAGGED : 0u));
            walk_entries(wheel, slot, visitor);
        }
    }
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(chunk_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "chunk-wheel",
    .summary = "a hierarchical wheel of chunked slots for hundreds of thousands of timers: starts "
               "wait in batches",
    .origin = "our own",
    .description =
        "Eight levels of slots; the slot of the next block is moved a level down ahead of "
        "time, evenly. A slot is a chain of chunks of ids: a start stores the deadline "
        "in the node, and is looked at later, with others; a stop or a restart to later "
        "leaves the entry where it is, and when the entry is reached, the node shows "
        "whether the timer is still pending, and for when. A restart to earlier moves "
        "the entry. No call does at once what others deferred. The node may be stored "
        "in the caller's record. Bad at: few timers; very many timers of one tick, all "
        "restarted shortly before it.",
    .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(1)", .expire = "O(m)"},
    .create = wheel_create,
    .destroy = wheel_destroy,
    .reserve = wheel_reserve,
    .start = wheel_start,
    .stop = wheel_stop,
    .advance = wheel_advance,
    .next = wheel_next,
    .count = wheel_count,
    .counters = wheel_counters,
    .check = wheel_check,
    .walk = wheel_walk,
    .embedded_bytes = EMBEDDED_BYTES(sizeof(struct node)),
    .moved = EMBEDDED_HOOK(structure_moved),
};
