/*
 * chunk-wheel: a hierarchical wheel for hundreds of thousands of timers, which writes a timer down
 * once and looks at it late.
 *
 *   node    { ~deadline, filed, later }                    16 bytes, all zero: idle
 *   chunk   { the chunk before it in its slot, 127 ids }   512 bytes
 *   slot    { where its next id goes, chunks, first tick }
 *
 *   level   ticks a slot   slots   takes a deadline
 *     1                1     512   in this block of 256 ticks, or in the next
 *     2              256     512   in this block of 2^16 ticks, or in the next
 *     3             2^16     128   in this block of 2^22 ticks, or in the next
 *    10             2^58     128   any other
 *
 * At tick 0, start(a, 700) stores the deadline, which waits for no cache miss, and puts a in a
 * batch of 256. When that is full, all of it is looked at, many cache misses at once: a's id is
 * appended to slot 2 of level 2, and `filed` names the slot. start(a, 900) only stores the
 * deadline, because that entry comes up before. stop(a) stores 0. No entry is unlinked: when it
 * comes up, the node says whether it fires, is filed again, or is stale. start(a, 300) leaves the
 * entry in slot 2 and adds one; `later` keeps the old one in use and counts such restarts: after a
 * few an entry is put half of the way before the deadline. While the clock is in one block, the
 * next block's slot is moved down evenly.
 *
 * Stale entries take chunks. When fewer than an eighth are free, starts pay: five chunks are
 * cleaned for each that is taken, slot by slot, and each live timer keeps one entry; `filed` says
 * in which round that was, so that two entries in one slot become one. Let N be the timers and S
 * the slots, or N if that is less. After a round only live entries are left, and those appended
 * since: S + N/127 + A chunks, where a round over P chunks takes A <= P/4 new ones; the next round
 * adds A. So P >= 2 (S + N/127) never runs out.
 *
 * Invariants
 *   - a pending timer is in the batch, or has an entry in slot `filed`, which comes up at its
 *     deadline or before; no timer in the batch is due before `batch_due`
 *   - a slot that is being moved down gets no new entry; only a slot's last chunk is not full
 *   - a slot's bit is set if it has entries; `quiet` is not after the next tick with work
 *
 * Complexity (m levels): start, stop, restart, a tick O(1), of which a start may look at 256
 * others, and clean 128 entries and a chunk; expiry O(m) moves. With fewer timers linked-wheel is
 * faster. Bad at: timers of one tick that were all restarted shortly before it.
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
#include <stdint.h>
#include <string.h>

/* --- data ------------------------------------------------------------------------------------- */

/* The state of a timer. All zero: never started. */
struct node {
    uint64_t rest;  /* ~deadline; 0: not pending */
    uint32_t filed; /* the slot of the entry that comes up first; NOWHERE: none; and flags */
    uint32_t later; /* the slot of another that comes up after it; NOWHERE: none is known; flags */
};

/* A timer that was due when it was started has a serial instead of a deadline: the number of the
 * last advance before the one that is to fire it. */
#define SERIALS      (TL_DEADLINE_MAX + 1)

#define SLOT         ((UINT32_C(1) << 12) - 1)
/* Flags of `filed`. */
#define ROUNDS       (UINT32_C(3) << 29) /* 1 to 3: the round in which its entry was cleaned */
#define ROUND        (UINT32_C(1) << 29)
#define COUNTED      (UINT32_C(1) << 31) /* the timer is in `count` */
/* Of `later`: how often in succession a restart was to earlier, up to OFTEN; */
#define ONCE         (UINT32_C(1) << 29)
#define OFTEN        (UINT32_C(2) << 29)
/* and during a walk or check. */
#define SEEN         (UINT32_C(1) << 31)

#define CHUNK_BITS   7u /* log2 of a chunk's words */
#define CHUNK_WORDS  (1u << CHUNK_BITS)
#define CHUNK_BYTES  (CHUNK_WORDS * sizeof(uint32_t))
#define CHUNK_IDS    (CHUNK_WORDS - 1)
#define EMPTY        CHUNK_WORDS /* the tail of an empty slot: that of chunk 0, which is full */
#define FREE_AHEAD   4u          /* a chunk is fetched before it is taken, this many before, */
#define IDS_AHEAD    4u          /* and its next line this many ids before it is written to */
#define PORTION      32u         /* ids taken of a slot at once, at most; */
#define SHARE        15u         /* where it is moved down, so that no tick has a bulk to move */
#define SHARES       ((CHUNK_IDS + SHARE - 1) / SHARE) /* of a chunk */
#define BATCH        256u                              /* starts that wait to be looked at */
#define BATCH_SHORT  24u                               /* while chunks are scarce */
#define IN_SEQUENCE  16u  /* starts of ids in sequence, after which none waits */
#define DEBT         5u   /* chunks to be cleaned for each that is taken while they are scarce */
#define PAYMENT      128u /* entries cleaned at once, where a chunk counts as four more */
#define CAPACITY_MAX (UINT32_C(1) << 30)
#define NO_ID        UINT32_MAX
#define LINE_BYTES   64u

enum {
    NOWHERE, /* no slot: none comes up so late */
    LATE,    /* started when due already: for the next advance */
    DUE,     /* those that an advance fires, or its budget left */
    FIRST = 64,
    LEVELS = 10,
    LOW_SLOTS = 512,  /* of each of the first two levels */
    HIGH_SLOTS = 128, /* and of each above them */
    SLOTS = FIRST + 2 * LOW_SLOTS + (LEVELS - 2) * HIGH_SLOTS,
    LOW_BITS = 8,
    HIGH_BITS = 6,
};

struct slot {
    uint32_t tail; /* the word of a chunk to which its next id goes */
    uint32_t held; /* chunks */
    uint64_t tick; /* the first that it stands for, as long as it has entries */
};

struct chunk_wheel {
    alignas(LINE_BYTES) struct node *nodes AND_RECORDS;
    uint32_t *words; /* of all chunks; and after the last the words that may be read with its ids */
    uint32_t *free;  /* the chunks that are free, the next one last */
    uint64_t clock;
    uint64_t quiet;     /* an advance to before this has nothing to do */
    uint64_t batch_due; /* no start that waits is due before; TL_NEVER: none may wait, as in
                           callbacks */
    uint32_t batched;
    uint32_t batch_limit;
    uint32_t sequel; /* the id that continues a sequence, or NO_ID */
    bool firing;     /* callbacks are being called */
    tl_fire_fn expire;
    void *ctx;
    uint64_t left;     /* of the budget */
    bool unfinished;   /* the slot of `position` is still to be worked off */
    uint64_t position; /* the tick up to which slots have been worked off; before the clock only
                          inside an advance and if a budget ran out */
    uint64_t move_at[LEVELS]; /* when the next share of a slot is to be moved down; TL_NEVER: all
 of it has been, in this block */
    uint64_t move_first;      /* the first of those */
    uint64_t notice_at;       /* no slot that has to be moved down is the next one before this tick,
                                 but those of `move_at` */
    uint64_t count;           /* timers pending, but for those in the batch that are not COUNTED */
    uint64_t serial;          /* of this or the last advance that had something to do */
    uint64_t begins[LEVELS + 1]; /* the first deadline that a level takes; the end of all */
    uint32_t free_count;
    uint32_t chunks;
    uint32_t capacity;
    uint32_t debt;       /* chunks to be cleaned */
    uint32_t clean_slot; /* the slot that is being cleaned, */
    uint32_t cleaned;    /* the tail of the rest to be cleaned of it, */
    uint32_t round;      /* in which round, 1 to 3, as in `filed` */
    const struct tl_allocator *allocator;
    struct tl_counters counters;
    uint64_t filled; /* which words of `occupied` are not 0 */
    uint64_t occupied[SLOTS / 64];
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
    return level < 2 ? level * LOW_BITS : 2 * LOW_BITS + (level - 2) * HIGH_BITS;
}

static inline uint32_t slots_of(uint32_t level)
{
    return level < 2 ? LOW_SLOTS : HIGH_SLOTS;
}

static inline uint32_t first_slot(uint32_t level)
{
    return FIRST + (level < 2 ? level * LOW_SLOTS : 2 * LOW_SLOTS + (level - 2) * HIGH_SLOTS);
}

static inline uint32_t slot_on(uint32_t level, uint64_t tick)
{
    return first_slot(level) + ((uint32_t)(tick >> shift_of(level)) & (slots_of(level) - 1));
}

/* The level that takes a deadline after `position`. */
static inline uint32_t level_for(const struct chunk_wheel *wheel, uint64_t due)
{
    if (due < wheel->begins[2]) {
        return due >= wheel->begins[1];
    }
    uint32_t bit = 63 - (uint32_t)__builtin_clzll(due - wheel->position);
    uint32_t level = (bit - 2 * LOW_BITS) / HIGH_BITS + 2;
    return level - (due < wheel->begins[level]);
}

/* The first tick of the next block. */
static inline uint64_t block_end(const struct chunk_wheel *wheel)
{
    return wheel->begins[1] - (UINT64_C(1) << LOW_BITS);
}

/* The first tick after this one with an occupied slot on a level, of a wide slot its first tick;
 * TL_NEVER: none. */
static inline uint64_t first_on(const struct chunk_wheel *wheel, uint32_t level, uint64_t tick)
{
    uint64_t from = tick >> shift_of(level);
    uint64_t between = bitmap_filled_ahead(wheel->occupied, wheel->filled, first_slot(level) / 64,
                                           slots_of(level) / 64, from);
    return between != TL_NEVER ? (from + 1 + between) << shift_of(level) : TL_NEVER;
}

/* The first tick of the first occupied slot above the first level, or, with `notice`, the first at
 * which a slot is the one before an occupied one, which is then moved down; TL_NEVER: none. */
static NEVER_INLINE uint64_t first_above(const struct chunk_wheel *wheel, bool notice)
{
    uint64_t first = TL_NEVER;
    for (uint32_t level = 1; level < LEVELS; level++) {
        uint64_t width = UINT64_C(1) << shift_of(level);
        uint64_t next = ((wheel->position >> shift_of(level)) + 1) << shift_of(level);
        if (first <= next || wheel->filled >> first_slot(level) / 64 == 0) {
            break; /* no level from here on has a slot that begins before */
        }
        uint64_t tick = first_on(wheel, level, wheel->position);
        if (notice && tick != TL_NEVER) {
            tick = tick > next ? tick - width : next;
        }
        lower(&first, tick);
    }
    return first;
}

/* --- data: chunks ----------------------------------------------------------------------------- */

static uint32_t clean(struct chunk_wheel *wheel);

/* Of a tail: its chunk, and how many ids that has. */
static inline uint32_t chunk_of(uint32_t tail)
{
    return (tail - 1) >> CHUNK_BITS;
}

static inline uint32_t ids_in(uint32_t tail)
{
    return (tail - 1) & (CHUNK_WORDS - 1);
}

static inline bool is_full(uint32_t tail)
{
    return (tail & (CHUNK_WORDS - 1)) == 0;
}

/* The tail without its last chunk. */
static inline uint32_t tail_before(const struct chunk_wheel *wheel, uint32_t tail)
{
    return (wheel->words[(size_t)chunk_of(tail) << CHUNK_BITS] + 1) << CHUNK_BITS;
}

static inline bool scarce(const struct chunk_wheel *wheel)
{
    return wheel->free_count < wheel->chunks / 8 + 2;
}

/* Always inline: gcc takes a function that does nothing but fetch for one that does nothing. */
#define FETCHES static ALWAYS_INLINE void

FETCHES fetch_chunk(const struct chunk_wheel *wheel, uint32_t tail)
{
    const char *chunk = (const char *)&wheel->words[(size_t)chunk_of(tail) << CHUNK_BITS];
    for (uint32_t i = 0; i < CHUNK_BYTES; i += LINE_BYTES) {
        PREFETCH(chunk + i);
    }
}

/* Fetch the nodes of a chain's last portion. */
FETCHES fetch_nodes(const struct chunk_wheel *wheel, uint32_t tail)
{
    uint32_t count = tail == EMPTY ? 0 : ids_in(tail) < PORTION ? ids_in(tail) : PORTION;
    for (uint32_t i = 1; i <= count; i++) {
        PREFETCH(node_of(wheel, wheel->words[tail - i]));
    }
}

/* Append an id to a slot with a full last chunk. */
static NEVER_INLINE void append_apart(struct chunk_wheel *wheel, uint32_t slot, uint32_t id)
{
    struct slot *to = &wheel->slots[slot];
    if (scarce(wheel)) {
        wheel->debt += DEBT;
        wheel->batch_limit = BATCH_SHORT;
        while (wheel->free_count == 0) { /* not, if payments are right */
            (void)clean(wheel);
        }
    }
    if (is_full(to->tail)) { /* still, if it has just been cleaned */
        uint32_t chunk = wheel->free[--wheel->free_count];
        if (wheel->free_count >= FREE_AHEAD) {
            uint32_t ahead = wheel->free[wheel->free_count - FREE_AHEAD];
            PREFETCH(&wheel->words[(size_t)ahead << CHUNK_BITS]);
        }
        wheel->words[(size_t)chunk << CHUNK_BITS] = chunk_of(to->tail);
        to->tail = (chunk << CHUNK_BITS) + 1;
        to->held++;
        bitmap_mark(wheel->occupied, &wheel->filled, slot);
    }
    wheel->words[to->tail++] = id;
}

static inline void append(struct chunk_wheel *wheel, uint32_t slot, uint32_t id)
{
    uint32_t tail = wheel->slots[slot].tail;
    TL_COUNT(wheel, moves, 1);
    if (is_full(tail)) {
        append_apart(wheel, slot, id);
        return;
    }
    wheel->words[tail] = id;
    PREFETCH(&wheel->words[tail + IDS_AHEAD]);
    wheel->slots[slot].tail = tail + 1;
}

/* Take up to `most` ids, a portion or less, from the end of a chain of this slot's that has one,
 * and prefetch the next ones. */
static inline uint32_t take(struct chunk_wheel *wheel, uint32_t slot, uint32_t *tail,
                            uint32_t ids[PORTION], uint32_t most)
{
    uint32_t last = *tail;
    uint32_t count = ids_in(last) < most ? ids_in(last) : most;
    memcpy(ids, &wheel->words[last - count], sizeof(uint32_t[PORTION])); /* always: needs no loop */
    if (ids_in(last) > count) {
        *tail = last - count;
    } else {
        *tail = tail_before(wheel, last);
        wheel->free[wheel->free_count++] = chunk_of(last);
        wheel->slots[slot].held--;
        fetch_chunk(wheel, tail_before(wheel, *tail));
    }
    fetch_nodes(wheel, *tail);
    return count;
}

/* Whether a slot has no entries. It gets back the part that is being cleaned. */
static inline bool is_empty(struct chunk_wheel *wheel, uint32_t slot)
{
    struct slot *it = &wheel->slots[slot];
    if (it->tail != EMPTY) {
        return false;
    }
    if (wheel->cleaned != EMPTY && wheel->clean_slot == slot) {
        it->tail = wheel->cleaned;
        wheel->cleaned = EMPTY;
        return false;
    }
    bitmap_unmark(wheel->occupied, &wheel->filled, slot);
    return true;
}

/* Set where the levels begin, as `position` is now, in another block. The entries of their next
 * slots have to be moved down; no more come to them. */
static NEVER_INLINE void set_levels(struct chunk_wheel *wheel)
{
    for (uint32_t level = 1; level < LEVELS; level++) {
        uint64_t begin = ((wheel->position >> shift_of(level)) + 2) << shift_of(level);
        if (begin == wheel->begins[level]) {
            break; /* nor do those above change */
        }
        wheel->begins[level] = begin;
        wheel->move_at[level] = is_empty(wheel, slot_on(level, begin - 1)) ? TL_NEVER : 0;
        lower(&wheel->move_first, wheel->move_at[level]);
    }
}

/* --- data: entries that come up in time ------------------------------------------------------- */

/* Advances that have nothing to do leave the levels as they were. */
static inline void sync_levels(struct chunk_wheel *wheel)
{
    if (wheel->position >= block_end(wheel)) {
        set_levels(wheel);
    }
}

/* Advances have work at this tick, with a slot above the first level or of it. */
static NEVER_INLINE void note_work(struct chunk_wheel *wheel, bool above, uint64_t tick)
{
    lower(&wheel->quiet, tick);
    wheel->notice_at = above ? tick : wheel->notice_at;
}

/* Append a timer to the slot of a tick after `position`. Returns the slot. */
static inline uint32_t append_at(struct chunk_wheel *wheel, uint64_t tick, uint32_t id)
{
    sync_levels(wheel);
    uint32_t level = level_for(wheel, tick);
    uint32_t slot = slot_on(level, tick);
    uint64_t begin = tick >> shift_of(level) << shift_of(level);
    wheel->slots[slot].tick = begin;
    uint64_t work = level > 0 ? begin - (UINT64_C(1) << shift_of(level)) : begin;
    if (work < (level > 0 ? wheel->notice_at : wheel->quiet)) {
        note_work(wheel, level > 0, work);
    }
    append(wheel, slot, id);
    return slot;
}

/* File a node that has no entry in time. If it has one that comes up later, it was restarted to
 * earlier: after a few of those in succession, each of which left a stale entry, it is filed under
 * half of the way. */
static inline void file(struct chunk_wheel *wheel, struct node *node, uint32_t id)
{
    uint32_t old = node->filed & SLOT;
    uint64_t by = due_of(node);
    if (old != NOWHERE) {
        uint32_t later = node->later;
        later |= (later & SLOT) == NOWHERE ? old : 0;
        if (later >= OFTEN) {
            by -= (by - wheel->position) / 2;
        } else {
            later += ONCE;
        }
        node->later = later;
    }
    node->filed = append_at(wheel, by, id) | COUNTED;
}

/* Whether the entry in this slot comes up at a deadline, or before it. */
static inline bool is_in_time(const struct chunk_wheel *wheel, uint32_t filed, uint64_t due)
{
    return due >= wheel->slots[filed & SLOT].tick;
}

/* The timer is pending: count it, and see to it that an entry comes up in time. */
static inline void take_in(struct chunk_wheel *wheel, struct node *node, uint32_t id)
{
    wheel->count += (node->filed & COUNTED) == 0;
    node->filed |= COUNTED;
    if (!is_in_time(wheel, node->filed, due_of(node))) {
        file(wheel, node, id);
    }
}

/* After a start: mostly the timer is counted, and an entry comes up in time. */
static inline void look(struct chunk_wheel *wheel, uint32_t id)
{
    struct node *node = node_of(wheel, id);
    TL_COUNT(wheel, compares, 1);
    if (((node->filed & COUNTED) == 0 || !is_in_time(wheel, node->filed, due_of(node))) &&
        node->rest != 0) {
        take_in(wheel, node, id);
    }
}

/* An entry of a timer that does not fire has gone from this slot; the next best takes its place. */
static inline void settle(struct chunk_wheel *wheel, struct node *node, uint32_t id, uint32_t slot)
{
    if ((node->filed & SLOT) != slot) {
        if ((node->later & SLOT) == slot) {
            node->later &= ~SLOT;
        }
        return;
    }
    node->filed = (node->filed & COUNTED) | (node->later & SLOT);
    node->later = 0;
    if (node->rest != 0) {
        TL_COUNT(wheel, cascades, 1);
        take_in(wheel, node, id);
    }
}

/* --- start and stop --------------------------------------------------------------------------- */

/* With the status of a start that ends so, which then has nothing to save for a call. */
static NEVER_INLINE enum tl_status pay(struct chunk_wheel *wheel)
{
    if (wheel->debt > 0) {
        for (uint32_t work = 0; wheel->debt > 0 && work < PAYMENT; wheel->debt--) {
            work += 4 + clean(wheel);
        }
    } else if (!scarce(wheel)) {
        wheel->batch_limit = BATCH;
    }
    return TL_OK;
}

static inline enum tl_status pay_if_scarce(struct chunk_wheel *wheel)
{
    return wheel->batch_limit != BATCH ? pay(wheel) : TL_OK;
}

static NEVER_INLINE void look_at_batch(struct chunk_wheel *wheel)
{
    uint32_t count = wheel->batched;
    const uint32_t *ids = wheel->batch;
    wheel->batched = 0;
    wheel->batch_due = TL_NEVER;
    wheel->sequel = NO_ID;
    if (count > IN_SEQUENCE && ids[count - 1] - ids[count - 1 - IN_SEQUENCE] == IN_SEQUENCE &&
        ids[count - 1] - ids[count - 1 - IN_SEQUENCE / 2] == IN_SEQUENCE / 2) {
        wheel->sequel = ids[count - 1] + 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        look(wheel, ids[i]);
    }
    (void)pay_if_scarce(wheel);
}

static NEVER_INLINE enum tl_status look_at_full_batch(struct chunk_wheel *wheel)
{
    uint64_t due = wheel->batch_due;
    look_at_batch(wheel);
    wheel->batch_due = due; /* low already: the next is most likely not before it */
    return TL_OK;
}

/* A start with a node in the cache: in a callback, or of an id in sequence. */
static inline enum tl_status start_at_once(struct chunk_wheel *wheel, uint32_t id,
                                           struct node *node)
{
    if (node->filed == 0) {
        wheel->count++;
        node->filed = append_at(wheel, due_of(node), id) | COUNTED;
    } else {
        TL_COUNT(wheel, compares, 1);
        take_in(wheel, node, id);
    }
    return pay_if_scarce(wheel);
}

/* A start that is due already. */
static NEVER_INLINE enum tl_status start_late(struct chunk_wheel *wheel, uint32_t id,
                                              struct node *node)
{
    uint32_t old = node->filed & SLOT;
    node->rest = ~(SERIALS + wheel->serial);
    wheel->count += (node->filed & COUNTED) == 0;
    if (old != LATE) {
        if ((node->later & SLOT) == NOWHERE) {
            node->later |= old;
        }
        append(wheel, LATE, id);
    }
    node->filed = LATE | COUNTED;
    wheel->quiet = 0;
    return pay_if_scarce(wheel);
}

/* A start that is due before all that wait, or in a callback. */
static NEVER_INLINE enum tl_status start_soon(struct chunk_wheel *wheel, uint32_t id, uint64_t due)
{
    struct node *node = node_of(wheel, id);
    node->rest = ~due;
    if (due <= wheel->clock) {
        return start_late(wheel, id, node);
    }
    if (wheel->firing) {
        return start_at_once(wheel, id, node);
    }
    wheel->batch_due = due;
    lower(&wheel->quiet, due);
    wheel->batch[wheel->batched++] = id;
    return wheel->batched >= wheel->batch_limit ? look_at_full_batch(wheel) : TL_OK;
}

/* The nodes of ids in sequence come into the cache by themselves: they are looked at at once. */
static NEVER_INLINE enum tl_status start_sequel(struct chunk_wheel *wheel, uint32_t id)
{
    wheel->sequel = id + 1;
    return start_at_once(wheel, id, node_of(wheel, id));
}

static enum tl_status wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct chunk_wheel *wheel = self;
    if (deadline < wheel->batch_due) {
        return start_soon(wheel, id, deadline);
    }
    node_of(wheel, id)->rest = ~deadline; /* waits for no cache miss */
    if (id == wheel->sequel) {
        return start_sequel(wheel, id);
    }
    uint32_t batched = wheel->batched;
    wheel->batch[batched++] = id;
    wheel->batched = batched;
    return batched >= wheel->batch_limit ? look_at_full_batch(wheel) : TL_OK;
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

static inline void hand_over(struct chunk_wheel *wheel, struct node *node, uint32_t id)
{
    wheel->count -= (node->filed & COUNTED) != 0;
    *node = (struct node){.filed = node->later & SLOT};
    wheel->left--;
    TL_COUNT(wheel, moves, 1);
    wheel->expire(wheel->ctx, id, wheel->clock);
}

/* An entry of a slot comes up: the node has the timer's state. */
static inline void visit(struct chunk_wheel *wheel, uint32_t id, uint32_t slot)
{
    struct node *node = node_of(wheel, id);
    uint64_t due = due_of(node);
    if (due <= wheel->clock && (node->filed & SLOT) == slot && wheel->left > 0) {
        hand_over(wheel, node, id);
    } else if (slot == LATE && due >= SERIALS && node->rest != 0) {
        if (due < SERIALS + wheel->serial) {
            hand_over(wheel, node, id);
        } else { /* by a callback of this advance */
            append(wheel, LATE, id);
        }
    } else {
        settle(wheel, node, id, slot);
    }
}

/* Process a slot, or DUE, with its entries under LATE. False: the budget is used up, and entries
 * are left. */
static NEVER_INLINE bool fire(struct chunk_wheel *wheel, uint32_t slot)
{
    uint32_t ids[PORTION];
    uint32_t filed = slot == DUE ? LATE : slot;
    while (!is_empty(wheel, slot)) {
        uint32_t most = wheel->left < PORTION ? (uint32_t)wheel->left : PORTION;
        if (most == 0) {
            return false;
        }
        uint32_t count = take(wheel, slot, &wheel->slots[slot].tail, ids, most);
        TL_COUNT(wheel, compares, count);
        for (uint32_t i = 0; i < count; i++) {
            visit(wheel, ids[i], filed);
        }
    }
    return true;
}

/* Timers that were due when started; those that callbacks start so are for the next advance. */
static bool fire_late(struct chunk_wheel *wheel)
{
    if (wheel->slots[DUE].tail != EMPTY && !fire(wheel, DUE)) {
        return false;
    }
    if (wheel->slots[LATE].tail == EMPTY) {
        return true;
    }
    wheel->slots[DUE].tail = wheel->slots[LATE].tail;
    wheel->slots[DUE].held = wheel->slots[LATE].held;
    wheel->slots[LATE].tail = EMPTY;
    wheel->slots[LATE].held = 0;
    return fire(wheel, DUE);
}

/* Move this many shares of a slot to where they now belong, or fire the due ones. Return
 * the number left. */
static uint32_t sift(struct chunk_wheel *wheel, uint32_t slot, uint32_t shares)
{
    uint32_t ids[PORTION];
    for (; shares > 0 && !is_empty(wheel, slot); shares--) {
        uint32_t count = take(wheel, slot, &wheel->slots[slot].tail, ids, SHARE);
        for (uint32_t i = 0; i < count; i++) {
            visit(wheel, ids[i], slot);
        }
    }
    return is_empty(wheel, slot) ? 0 : wheel->slots[slot].held * SHARES;
}

/* Move the slots of the next blocks down, evenly: the shares until `to`, and all of those that
 * begin after it. */
static NEVER_INLINE void move_down(struct chunk_wheel *wheel, uint64_t to)
{
    wheel->move_first = TL_NEVER;
    for (uint32_t level = LEVELS - 1; level >= 1; level--) {
        uint64_t begin = wheel->begins[level] - (UINT64_C(1) << shift_of(level));
        uint64_t *at = &wheel->move_at[level];
        uint32_t slot = slot_on(level, begin);
        if (*at <= to && !is_empty(wheel, slot)) {
            uint32_t shares = UINT32_MAX;
            if (to + 1 < begin) {
                uint64_t from = *at > 0 ? *at : wheel->position;
                uint64_t calls = (begin - from) / (to + 1 - from);
                shares = (uint32_t)(wheel->slots[slot].held * SHARES / calls) + 1;
            }
            TL_COUNT(wheel, slots, 1);
            uint32_t left = sift(wheel, slot, shares);
            uint64_t wait = (begin - to) / (left + 1);
            *at = left == 0 ? TL_NEVER : to + (wait > 0 ? wait : 1);
        } else if (*at <= to) {
            *at = TL_NEVER;
        }
        lower(&wheel->move_first, *at);
    }
}

/* Prefetch for the next ticks: the nodes of the next, the chunk of the one after it. */
FETCHES fetch_ahead(const struct chunk_wheel *wheel, uint64_t tick)
{
    fetch_nodes(wheel, wheel->slots[slot_on(0, tick)].tail);
    fetch_chunk(wheel, wheel->slots[slot_on(0, tick + 1)].tail);
}

/* Work off the slot of `position` on level 1. */
static inline bool work_off(struct chunk_wheel *wheel)
{
    TL_COUNT(wheel, slots, 1);
    fetch_ahead(wheel, wheel->position + 1);
    wheel->unfinished = !fire(wheel, slot_on(0, wheel->position));
    return !wheel->unfinished;
}

/* Go from one occupied slot to the next. False: the budget is used up, and something is left. */
static inline bool advance_to(struct chunk_wheel *wheel, uint64_t now)
{
    for (;;) {
        uint64_t end = block_end(wheel);
        uint64_t last = now < end ? now : end - 1;
        if (wheel->move_first <= last) {
            move_down(wheel, last);
        }
        uint64_t tick = first_on(wheel, 0, wheel->position);
        for (; tick <= last; tick = first_on(wheel, 0, tick)) {
            wheel->position = tick;
            if (!work_off(wheel)) {
                return false;
            }
        }
        wheel->position = last;
        if (last == now) {
            if (wheel->notice_at <= now) {
                wheel->notice_at = first_above(wheel, true);
            }
            wheel->quiet = wheel->notice_at;
            lower(&wheel->quiet, tick);
            lower(&wheel->quiet, wheel->move_first);
            return true;
        }
        if (tick != TL_NEVER) { /* on the first level, in the next block */
            wheel->position = end;
            set_levels(wheel);
            if (tick == end && !work_off(wheel)) {
                return false;
            }
            continue;
        }
        uint64_t above = first_above(wheel, false);
        wheel->position = above <= now ? above - 1 : now; /* then it is the last of a block */
        set_levels(wheel);
    }
}

/* The serial is this advance's. */
static NEVER_INLINE uint64_t advance_awake(struct chunk_wheel *wheel, uint64_t now, uint64_t budget,
                                           tl_fire_fn expire, void *ctx)
{
    sync_levels(wheel);
    if (wheel->batch_due <= now) {
        look_at_batch(wheel);
    }
    wheel->expire = expire;
    wheel->ctx = ctx;
    wheel->left = budget;
    uint64_t batch_due = wheel->batch_due;
    wheel->batch_due = TL_NEVER;
    wheel->firing = true;
    wheel->quiet = TL_NEVER;
    bool all =
        fire_late(wheel) && (!wheel->unfinished || work_off(wheel)) && advance_to(wheel, now);
    wheel->firing = false;
    wheel->batch_due = batch_due;
    lower(&wheel->quiet, batch_due);
    if (!all || !is_empty(wheel, LATE)) {
        wheel->quiet = 0;
    }
    (void)pay_if_scarce(wheel);
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

/* --- advance and next: cleaning --------------------------------------------------------------- */

/* Find the next slot that has chunks, from `clean_slot` on. False: no slot of a level has. */
static bool find_unclean(struct chunk_wheel *wheel)
{
    uint32_t slot = wheel->clean_slot;
    while (slot < SLOTS && wheel->slots[slot].tail == EMPTY) {
        slot++;
    }
    wheel->clean_slot = slot;
    return slot < SLOTS;
}

/* Drop the stale entries of a chunk, slot after slot: its live entries are appended to their slot
 * again, each timer once. Returns how many entries it had. */
static NEVER_INLINE uint32_t clean(struct chunk_wheel *wheel)
{
    sync_levels(wheel); /* not in the middle */
    for (uint32_t rounds = 0; wheel->cleaned == EMPTY; rounds++) {
        if (find_unclean(wheel)) {
            wheel->cleaned = wheel->slots[wheel->clean_slot].tail;
            wheel->slots[wheel->clean_slot].tail = EMPTY;
        } else if (rounds > 1) {
            return 0; /* there is nothing anywhere */
        } else {
            wheel->clean_slot = FIRST;
            wheel->round = wheel->round == ROUNDS ? ROUND : wheel->round + ROUND;
        }
    }
    uint32_t slot = wheel->clean_slot;
    uint32_t chunk = chunk_of(wheel->cleaned);
    uint32_t looked_at = 0;
    while (chunk_of(wheel->cleaned) == chunk) {
        uint32_t ids[PORTION];
        uint32_t count = take(wheel, slot, &wheel->cleaned, ids, PORTION);
        looked_at += count;
        for (uint32_t i = 0; i < count; i++) {
            struct node *node = node_of(wheel, ids[i]);
            if ((node->filed & SLOT) != slot || node->rest == 0) {
                settle(wheel, node, ids[i], slot);
            } else if ((node->filed & ROUNDS) != wheel->round) {
                node->filed = (node->filed & ~ROUNDS) | wheel->round;
                append(wheel, slot, ids[i]);
            }
        }
    }
    if (wheel->cleaned == EMPTY && wheel->clean_slot == slot) {
        wheel->clean_slot++;
        (void)is_empty(wheel, slot);
    }
    return looked_at;
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
    if (wheel->unfinished || wheel->slots[LATE].tail != EMPTY || wheel->slots[DUE].tail != EMPTY) {
        return wheel->clock;
    }
    uint64_t next = first_on(wheel, 0, wheel->position);
    lower(&next, first_above(wheel, false));
    lower(&next, wheel->batch_due);
    return next;
}

/* --- create and options ----------------------------------------------------------------------- */

#define STRUCTURE struct chunk_wheel
#include "structure.h"

/* One block has the words of the chunks, and the words that may be read after the last of them,
 * then the free chunks, and then the nodes that are the wheel's own. */
static size_t word_bytes(uint32_t chunks)
{
    return chunks * CHUNK_BYTES + sizeof(uint32_t[PORTION]);
}

static size_t block_bytes(const struct chunk_wheel *wheel, uint32_t chunks, uint32_t capacity)
{
    (void)wheel; /* which says whether nodes are in records */
    return word_bytes(chunks) + chunks * sizeof *wheel->free +
           OWN_ENTRIES(wheel, capacity) * sizeof *wheel->nodes;
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
    uint32_t slots = capacity < SLOTS ? capacity : SLOTS;
    uint32_t chunks = (2 * (slots + capacity / CHUNK_IDS) + 64 + 15) / 16 * 16;
    size_t old_bytes = old > 0 ? block_bytes(wheel, old, wheel->capacity) : 0;
    char *block = wheel->allocator->resize(wheel->allocator->ctx, wheel->words, old_bytes,
                                           block_bytes(wheel, chunks, capacity), CHUNK_BYTES);
    if (block == NULL) {
        return TL_ERR_NOMEM;
    }
    wheel->words = (uint32_t *)(void *)block;
    wheel->free = (uint32_t *)(void *)(block + word_bytes(chunks));
    wheel->nodes = (struct node *)(void *)&wheel->free[chunks];
    if (old > 0) {
        size_t own = OWN_ENTRIES(wheel, wheel->capacity) * sizeof *wheel->nodes;
        char *old_free = block + word_bytes(old);
        memmove(wheel->nodes, old_free + old * sizeof *wheel->free, own);
        memmove(wheel->free, old_free, wheel->free_count * sizeof *wheel->free);
    } else { /* the kernel gives the memory now, not when a start is to be quick */
        memset(block, 0, word_bytes(chunks));
        old = 1;
    }
    for (uint32_t chunk = chunks - 1; chunk >= old; chunk--) {
        wheel->free[wheel->free_count++] = chunk;
    }
    memset(&wheel->nodes[OWN_ENTRIES(wheel, wheel->capacity)], 0,
           OWN_ENTRIES(wheel, capacity - wheel->capacity) * sizeof *wheel->nodes);
    OWN_ARRAY(wheel, wheel->nodes, sizeof *wheel->nodes);
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
        .batch_due = TL_NEVER,
        .move_first = TL_NEVER,
        .notice_at = TL_NEVER,
        .batch_limit = BATCH,
        .sequel = NO_ID,
        .serial = 1,
        .begins[LEVELS] = UINT64_MAX,
        .clean_slot = FIRST,
        .cleaned = EMPTY,
        .round = ROUND,
        .allocator = config->allocator,
        .slots[NOWHERE].tick = UINT64_MAX,
    };
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        empty.slots[slot].tail = EMPTY;
    }
    set_levels(&empty);
    return structure_create(config, &empty, wheel_reserve, wheel_destroy, self);
}

/* --- check and walk --------------------------------------------------------------------------- */

static void wheel_counters(const void *self, struct tl_counters *out)
{
    *out = ((const struct chunk_wheel *)self)->counters;
}

/* Go through the entries of a chain: `at` begins as its tail. */
static bool next_entry(const struct chunk_wheel *wheel, uint32_t *at, uint32_t *id)
{
    if (*at == EMPTY) {
        return false;
    }
    *id = wheel->words[*at - 1];
    *at = ids_in(*at) > 1 ? *at - 1 : tail_before(wheel, *at);
    return true;
}

/* Whether an entry of a slot is its timer's, for the first time. */
static bool see(struct chunk_wheel *wheel, uint32_t id, uint32_t slot)
{
    struct node *node = node_of(wheel, id);
    if (node->rest == 0 || (node->filed & SLOT) != (slot == DUE ? LATE : slot) ||
        (node->later & SEEN) != 0) {
        return false;
    }
    node->later |= SEEN;
    return true;
}

static void forget_seen(struct chunk_wheel *wheel)
{
    for (uint32_t id = 0; id < wheel->capacity; id++) {
        node_of(wheel, id)->later &= ~SEEN;
    }
}

/* Check a chain of a slot's, and count its chunks and the timers with an entry in it. */
static const char *check_chain(struct chunk_wheel *wheel, uint32_t slot, uint32_t tail,
                               uint64_t *timers, uint64_t *chunks)
{
    bool marked = (wheel->occupied[slot / 64] >> slot % 64 & 1) != 0;
    const char *wrong = slot >= FIRST && tail != EMPTY && !marked ? "a slot's bit lies" : NULL;
    uint32_t chunk = 0;
    uint32_t id;
    for (uint32_t at = tail; wrong == NULL && at != EMPTY;) {
        *chunks += chunk_of(at) != chunk;
        chunk = chunk_of(at);
        (void)next_entry(wheel, &at, &id);
        if (id >= wheel->capacity || *chunks > wheel->chunks) {
            return "a slot does not end";
        }
        if (see(wheel, id, slot)) {
            ++*timers;
            bool late = due_of(node_of(wheel, id)) < wheel->slots[slot].tick;
            wrong = late ? "a timer is in a slot that comes up too late" : NULL;
        }
    }
    return wrong;
}

static enum tl_status wheel_check(const void *self, char *why, size_t why_bytes)
{
    struct chunk_wheel *wheel = (struct chunk_wheel *)self;
    uint64_t count = wheel_count(wheel);
    uint64_t timers = 0;
    uint64_t pending = 0;
    uint64_t chunks = 1;
    const char *wrong = check_chain(wheel, wheel->clean_slot, wheel->cleaned, &timers, &chunks);
    for (uint32_t slot = 0; wrong == NULL && slot < SLOTS; slot++) {
        wrong = check_chain(wheel, slot, wheel->slots[slot].tail, &timers, &chunks);
    }
    forget_seen(wheel);
    for (uint32_t id = 0; id < wheel->capacity; id++) {
        const struct node *node = node_of(wheel, id);
        pending += node->rest != 0;
        count -= (node->rest != 0) != ((node->filed & COUNTED) != 0); /* which is wrong */
    }
    if (wrong == NULL && (timers != pending || pending != count)) {
        wrong = "the pending timers are miscounted";
    } else if (wrong == NULL && chunks + wheel->free_count != wheel->chunks) {
        wrong = "chunks are missing";
    } else if (wrong == NULL && !wheel->unfinished &&
               wheel->quiet > first_on(wheel, 0, wheel->position)) {
        wrong = "it sleeps past a slot";
    }
    return wrong == NULL ? TL_OK : corrupt(why, why_bytes, "%s", wrong);
}

/* `tick` is the slot's first; TL_NEVER: it stands for none. */
static void walk_entries(struct chunk_wheel *wheel, uint32_t slot, uint32_t tail, uint64_t tick,
                         const struct tl_visitor *visitor)
{
    uint32_t id;
    while (next_entry(wheel, &tail, &id)) {
        if (see(wheel, id, slot)) {
            uint64_t due = due_of(node_of(wheel, id));
            walk_timer(visitor, id, due < SERIALS ? due : TL_NEVER, 0);
        } else if (tick != TL_NEVER) {
            walk_stale(visitor, id, tick);
        }
    }
}

/* Leave the wheel as it was: looking at the batch is not seen from outside. */
static void wheel_walk(const void *self, const struct tl_visitor *visitor)
{
    struct chunk_wheel *wheel = (struct chunk_wheel *)self;
    (void)wheel_count(wheel);
    if (wheel->slots[LATE].tail != EMPTY || wheel->slots[DUE].tail != EMPTY) {
        walk_due_part(visitor);
        walk_node(visitor, 0, TL_NEVER);
        walk_entries(wheel, DUE, wheel->slots[DUE].tail, TL_NEVER, visitor);
        walk_entries(wheel, LATE, wheel->slots[LATE].tail, TL_NEVER, visitor);
    }
    for (uint32_t level = 0; level < LEVELS; level++) {
        uint64_t width = UINT64_C(1) << shift_of(level);
        uint64_t hand = wheel->position >> shift_of(level);
        walk_level(visitor, level + 1, width);
        for (uint32_t i = 0; i < slots_of(level); i++) {
            uint32_t slot = first_slot(level) + i;
            uint64_t ahead = (i - hand) & (slots_of(level) - 1);
            uint64_t from = (hand + ahead) << shift_of(level);
            bool flagged = wheel->slots[slot].tail != EMPTY;
            walk_span(visitor, i, from, from + (width - 1),
                      (ahead == 0 ? TL_MARK_HAND : 0u) | (flagged ? TL_MARK_FLAGGED : 0u));
            walk_entries(wheel, slot, wheel->slots[slot].tail, wheel->slots[slot].tick, visitor);
            if (slot == wheel->clean_slot) {
                walk_entries(wheel, slot, wheel->cleaned, wheel->slots[slot].tick, visitor);
            }
        }
    }
    forget_seen(wheel);
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(chunk_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "chunk-wheel",
    .summary = "a hierarchical wheel of chunked slots for hundreds of thousands of timers: starts "
               "wait in batches",
    .origin = "our own",
    .description = "Ten levels of slots; the slot of the next block is moved a level down ahead of "
                   "time, evenly. A slot is a chain of chunks of ids: a start stores the deadline "
                   "in the node, and is looked at later, with others; a stop or a restart to later "
                   "leaves the entry where it is, and when the entry is reached, the node shows "
                   "whether the timer is still pending, and for when. No call does at once what "
                   "others deferred. The node may be stored in the caller's record. Bad at: few "
                   "timers; very many timers of one tick, all restarted shortly before it.",
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
