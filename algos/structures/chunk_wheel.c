/*
 * chunk-wheel: a hierarchical wheel that writes timers down once and looks at them late; and, as
 * long as its timers are few enough for the caches, one of lists (linked_wheel.h).
 *
 *   node    { ~deadline, filed, later }      16 bytes, all zero: idle
 *   chunk   { the chunk before, 126 ids }    512 bytes
 *   slots   [fine: 512, a tick each] [coarse: 1,024, a block of 256 ticks each]
 *           FAR SOUGHT LATE DUE CLEANED
 *
 * A start stores the deadline and nothing waits for its line: the id goes into a batch, and when
 * that is full, all of it is looked at, one line after another. If an entry of the timer comes by
 * in time (`filed` says when), that is all. Otherwise its id is appended to a slot. A stop writes
 * 0. Nothing is unlinked: when an entry comes by, the node says whether it is to fire, to be filed
 * again, or is superseded. `later` keeps the entry that a restart to earlier has left behind in
 * use, and counts such restarts: after a few an entry is put before the deadline, so that the next
 * needs none.
 *
 * During a block the coarse slot of the block that the fine slots are about to reach is moved down,
 * evenly. What is beyond the coarse slots is in FAR, which is searched evenly, in half a turn of
 * the coarse slots, as soon as they reach to its first deadline. There are as few slots as that
 * allows: their last lines are what a start writes to. Of each chunk the next line is fetched some
 * ids before: stores are done in order, and all wait for one that misses the cache.
 *
 * Superseded entries take chunks. When fewer than an eighth are free, starts pay: five chunks are
 * cleaned for each that is taken, slot by slot, and each live timer keeps one entry; the round in
 * which that was is in `filed`, so that two entries in one slot become one.
 *
 * The pool. Let N be the timers and S the slots, or N if that is less. After a round only live
 * entries are left, and those appended since: S + N/126 + A chunks, where a round over P chunks
 * takes A <= P/4 new ones, as five are cleaned for one; the next round adds A. So P >= 2 (S +
 * N/126) never runs out, and there are 2 S + N/63, and some. Chunks are linked by their addresses,
 * so that room for more timers is a block of them more, or a few.
 *
 * Up to `lists` timers there are no chunks: nodes are linked into slots, and unlinked by stops and
 * restarts to earlier. With room for up to twice as many, too, while no more than `lists` are
 * pending. Then each call moves a few timers to chunks, in the order of their ids, until the lists
 * are empty and given up. Meanwhile a timer's id says where it is.
 *
 * Invariants
 *   - a pending timer with chunks is in the batch, or has an entry under the mark `filed`, which
 *     comes by at its deadline or before; what is in the batch is not due before `batch_due`
 *   - a slot being moved down gets no new entry: what is beyond the fine slots is further
 *   - only a slot's last chunk is not full; a fine slot that holds anything has its bit set
 *   - FAR holds no deadline before `far_first`, SOUGHT none before `sought_first`
 *
 * No call allocates but create and reserve, and no call does more than this, beside what fires and
 * the entries of its own tick: a start looks at 256 others and cleans 128 and a chunk, or with
 * lists links one node; an advance of a tick moves of the next block's slot and of FAR what is due
 * for a tick; any of them moves 8 timers from lists to chunks. An advance of many ticks does the
 * work of as many. A reserve touches no timer in a record; nodes of the wheel's own are copied.
 *
 * Complexity: start, stop, restart, tick O(1); expiry O(m) moves. Bad at: timers of one tick that
 * were all restarted shortly before it: all are visited in it.
 *
 * Source: our own, from parts: Varghese and Lauck 1987, section 6.2; Erlang/OTP erl_time (slots
 * moved ahead of time); Go, runtime/time.go (lazy stop).
 */
#include "timerlab.h"

#include "check.h"
#include "linked_wheel.h"
#include "records.h"
#include "slot_bitmap.h"
#include "walk.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

/* --- timers, marks, slots -------------------------------------------------------------------- */

/* What is kept of a timer, with chunks. All zero: never started. */
struct node {
    uint64_t rest;  /* ~deadline; 0: not pending */
    uint32_t filed; /* the mark of the entry that comes by first; 0: none; and flags */
    uint32_t later; /* the mark of another that comes by after it; 0: none is known; and flags */
};

/* What was due when it was started has a serial in place of a deadline: the number of the last
 * advance before the one that is to fire it. */
#define SERIALS      (TL_DEADLINE_MAX + 1)

/* A mark is what an entry's slot stands for: HELD and its first tick's low bits, or one of two. */
#define TICKS        ((UINT32_C(1) << 27) - 1)
#define HELD         (UINT32_C(1) << 27)
#define APART        (UINT32_C(1) << 28)
#define MARKS        (APART | HELD | TICKS)
#define MARK_FAR     (APART | 1)
#define MARK_LATE    (APART | 2)
/* Flags of `filed`. */
#define ROUNDS       (UINT32_C(3) << 29) /* 1 to 3: in which round its entry was cleaned; 0: not yet */
#define ROUND        (UINT32_C(1) << 29)
#define COUNTED      (UINT32_C(1) << 31) /* the timer is in `count` */
/* Of `later`: how often in succession a restart was to earlier, up to OFTEN; */
#define ONCE         (UINT32_C(1) << 29)
#define OFTEN        (UINT32_C(2) << 29)
/* and during a walk or check. */
#define SEEN         (UINT32_C(1) << 31)

#define FINE         512u                 /* slots of a tick each */
#define BLOCK_BITS   8u                   /* log2 of the ticks of a block */
#define FINE_BLOCKS  (FINE >> BLOCK_BITS) /* that the fine slots reach ahead */
#define COARSE       1024u                /* slots of a block each */
#define CHUNK_BYTES  512u
#define CHUNK_IDS    126u
#define CHUNK_FREE   (CHUNK_IDS / 2) /* or so many addresses */
#define FREE_AHEAD   4u              /* a chunk is fetched so many before it is taken, */
#define IDS_AHEAD    4u              /* and its next line so many ids before it is written to */
#define PORTION      32u             /* ids taken of a slot at once, at most; */
#define SHARE        15u /* where it is moved down or searched, so that no tick has a bulk */
#define SHARES       ((CHUNK_IDS + SHARE - 1) / SHARE) /* of a chunk */
#define BATCH        256u                              /* starts that wait to be looked at */
#define BATCH_SHORT  24u                               /* while chunks are scarce */
#define IN_SEQUENCE  16u  /* starts of ids in sequence, before none waits */
#define DEBT         5u   /* chunks to be cleaned for each that is taken while they are scarce */
#define MOVED        8u   /* timers taken from the lists at once */
#define IDLE         2u   /* times `lists` there may be in lists, if no more are pending */
#define PAYMENT      128u /* entries cleaned at once, where a chunk counts as four more */
#define CAPACITY_MAX (UINT32_C(1) << 30)
#define NO_ID        UINT32_MAX
#define LINE_BYTES   64u

/* Slots behind the fine and the coarse ones. */
enum {
    SLOT_FAR = FINE + COARSE, /* beyond the coarse ones */
    SLOT_SOUGHT,              /* what of FAR is still to be looked at */
    SLOT_LATE,                /* started when due already: for the next advance */
    SLOT_DUE,                 /* what of those an advance is to fire, or its budget left */
    SLOT_CLEANED,             /* what of `clean_slot` is still to be cleaned */
    SLOTS
};

struct wheel_options {
    uint32_t lists;
};

/* Where timers are. */
enum regime {
    LISTS,  /* all in `linked` */
    MOVING, /* those before `linked.first`, and those it never had room for, in chunks */
    CHUNKS
};

/* A wheel in use gets blocks of at most so many chunks: less than a huge page, which the kernel
 * would clear in the midst of a start. */
#define BLOCK_CHUNKS 4000u

struct chunk {
    struct chunk *before; /* in its slot; or of those that say which are free */
    union {
        uint32_t ids[CHUNK_IDS];
        struct chunk *free[CHUNK_FREE];
    };
};

/* Chunks, and behind the last one what may be read with its ids. */
struct chunk_block {
    struct chunk_block *next;
    struct chunk *chunks;
    uint32_t count;
    uint32_t unused[PORTION];
};

/* What an empty slot ends with: a full chunk, so that nobody has to ask. */
static const alignas(CHUNK_BYTES) struct chunk nothing;
#define EMPTY ((uint32_t *)&nothing.ids[CHUNK_IDS])

struct slots {
    uint32_t *tails[SLOTS];      /* where a slot's next id goes: behind its last */
    uint32_t held[SLOTS - FINE]; /* chunks in a slot behind the fine ones */
};

struct chunk_wheel {
    struct linked_wheel linked; /* until all is in chunks */
    struct node *nodes AND_RECORDS;
    uint64_t clock;
    uint64_t quiet;     /* an advance to before this has nothing to do */
    uint64_t batch_due; /* no start that waits is due before; TL_NEVER: none may wait, as in
                           callbacks, or with lists */
    uint32_t batched;
    uint32_t batch_limit;
    uint32_t sequel;     /* the id that goes on a sequence, or NO_ID */
    uint64_t plain_from; /* deadlines from here on go to the coarse slots, and nobody need know, */
    uint64_t plain_span; /* so many of them */
    enum regime regime;
    bool firing;           /* callbacks are being called */
    bool unfinished;       /* the slot of `position` is still to be worked off */
    bool late;             /* LATE or DUE may hold something */
    uint64_t position;     /* the tick up to which slots have been worked off; behind the clock only
                              inside an advance and if a budget ran out */
    uint64_t count;        /* timers pending, but for those in the batch that are not COUNTED */
    uint64_t serial;       /* of this or the last advance that had something to do */
    uint64_t coarse_first; /* no coarse slot begins before, that holds anything; TL_NEVER: none */
    uint64_t coarse_at;    /* when that one is to be moved down */
    uint64_t far_first;    /* no deadline in FAR is before */
    uint64_t sought_first; /* nor one in SOUGHT before this; TL_NEVER: nothing is sought */
    uint64_t search_at;    /* when the next share of SOUGHT is to be looked at, */
    uint64_t search_end;   /* and all to have been */
    uint64_t far_at;       /* when FAR or SOUGHT is to be looked at */
    struct slots *slots;   /* NULL: only lists so far */
    struct chunk *free;    /* free itself, it says which others are; NULL: only fresh ones are */
    uint32_t free_listed;  /* so many others; and all that it can, those before it */
    struct chunk *fresh;   /* this one, and all behind it, have never been taken */
    struct chunk_block *fresh_of;
    struct chunk_block *blocks; /* the first, */
    struct chunk_block *last;   /* and the last */
    uint32_t free_count;
    uint32_t chunks;
    uint32_t debt;                /* chunks to be cleaned */
    uint32_t clean_slot;          /* the slot that is being cleaned, */
    uint32_t round;               /* in which round, 1 to 3, as in `filed` */
    uint64_t occupied[FINE / 64]; /* a bit for each fine slot, */
    uint64_t words;               /* and one for each of those words */
    uint32_t lists_up_to;
    uint32_t capacity;
    const struct tl_allocator *allocator;
    struct tl_counters counters;
    uint32_t batch[BATCH];
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

static inline uint32_t *held_in(struct chunk_wheel *wheel, uint32_t slot)
{
    return &wheel->slots->held[slot - FINE];
}

static inline uint64_t block_of(uint64_t tick)
{
    return tick >> BLOCK_BITS;
}

/* The block whose coarse slot is moved down in this one. */
static inline uint64_t next_block(const struct chunk_wheel *wheel)
{
    return block_of(wheel->position) + FINE_BLOCKS - 1;
}

static inline uint32_t coarse_slot(uint64_t block)
{
    return FINE + ((uint32_t)block & (COARSE - 1));
}

/* The tick that a fine or coarse slot stands for, its first. */
static uint64_t slot_tick(const struct chunk_wheel *wheel, uint32_t slot)
{
    uint64_t position = wheel->position;
    if (slot < FINE) {
        return position + ((slot - (uint32_t)position) & (FINE - 1));
    }
    uint64_t first = next_block(wheel);
    return (first + ((slot - FINE - (uint32_t)first) & (COARSE - 1))) << BLOCK_BITS;
}

static inline uint32_t mark_of(uint64_t tick)
{
    return HELD | ((uint32_t)tick & TICKS);
}

static uint32_t slot_mark(const struct chunk_wheel *wheel, uint32_t slot)
{
    slot = slot == SLOT_CLEANED ? wheel->clean_slot : slot;
    if (slot < SLOT_FAR) {
        return mark_of(slot_tick(wheel, slot));
    }
    return slot <= SLOT_SOUGHT ? MARK_FAR : MARK_LATE;
}

static inline void lower(uint64_t *bound, uint64_t tick)
{
    *bound = tick < *bound ? tick : *bound;
}

/* --- which slots hold anything --------------------------------------------------------------- */

static inline void set_occupied(struct chunk_wheel *wheel, uint32_t slot)
{
    wheel->occupied[slot / 64] |= UINT64_C(1) << slot % 64;
    wheel->words |= UINT64_C(1) << slot / 64;
}

static inline void clear_occupied(struct chunk_wheel *wheel, uint32_t slot)
{
    uint64_t *word = &wheel->occupied[slot / 64];
    *word &= ~(UINT64_C(1) << slot % 64);
    if (*word == 0) {
        wheel->words &= ~(UINT64_C(1) << slot / 64);
    }
}

/* The first tick from `from` on, less than a turn ahead, whose slot is occupied; or TL_NEVER. */
static inline uint64_t first_fine(const struct chunk_wheel *wheel, uint64_t from)
{
    uint32_t slot = (uint32_t)from % FINE;
    uint64_t bits = wheel->occupied[slot / 64] >> slot % 64;
    if (bits != 0) {
        return from + bitmap_first(bits);
    }
    uint64_t after = bitmap_after(wheel->words, slot / 64, FINE / 64);
    if (after == 0) {
        return TL_NEVER;
    }
    uint32_t at = (slot / 64 + 1 + bitmap_first(after)) % (FINE / 64);
    uint32_t first = at * 64 + bitmap_first(wheel->occupied[at]);
    return from + ((first - slot) & (FINE - 1));
}

/* --- where a deadline belongs ---------------------------------------------------------------- */

/* This block's coarse slot is the first that holds anything. It begins to be moved down so that all
 * of it is in time. */
static void set_coarse_first(struct chunk_wheel *wheel, uint64_t block)
{
    wheel->coarse_first = block << BLOCK_BITS;
    wheel->coarse_at = (block - (FINE_BLOCKS - 1)) << BLOCK_BITS;
}

static inline bool is_far(const struct chunk_wheel *wheel, uint64_t due)
{
    return due - wheel->position >= COARSE << BLOCK_BITS;
}

/* FAR is looked through as soon as the coarse slots reach to its first deadline. */
static void set_far_at(struct chunk_wheel *wheel)
{
    if (wheel->sought_first != TL_NEVER) {
        wheel->far_at = wheel->search_at; /* it is being */
    } else if (wheel->far_first == TL_NEVER) {
        wheel->far_at = TL_NEVER;
    } else {
        wheel->far_at = (block_of(wheel->far_first) - (COARSE - 1)) << BLOCK_BITS;
    }
}

/* There may be this deadline in FAR. */
static inline void note_far(struct chunk_wheel *wheel, uint64_t due)
{
    if (due < wheel->far_first) {
        wheel->far_first = due;
        set_far_at(wheel);
        lower(&wheel->quiet, wheel->far_at);
    }
}

/* The slot for a deadline behind `position`, which is about to have an entry more, and its mark. */
static inline uint32_t slot_for(struct chunk_wheel *wheel, uint64_t due, uint32_t *mark)
{
    if (due - wheel->position < FINE) {
        lower(&wheel->quiet, due);
        *mark = mark_of(due);
        return (uint32_t)due % FINE;
    }
    if (is_far(wheel, due)) {
        note_far(wheel, due);
        *mark = MARK_FAR;
        return SLOT_FAR;
    }
    uint64_t block = block_of(due);
    if (due < wheel->coarse_first) { /* seldom */
        set_coarse_first(wheel, block);
        lower(&wheel->quiet, wheel->coarse_at);
    }
    *mark = mark_of(block << BLOCK_BITS);
    return coarse_slot(block);
}

/* --- chunks ---------------------------------------------------------------------------------- */

/* Of a tail: its chunk, and how many ids that has. */
static inline struct chunk *chunk_of(const uint32_t *tail)
{
    const char *last = (const char *)tail - 1;
    return (struct chunk *)(last - ((uintptr_t)last & (CHUNK_BYTES - 1)));
}

static inline uint32_t ids_in(const uint32_t *tail)
{
    return (uint32_t)(tail - chunk_of(tail)->ids);
}

static inline bool is_full(const uint32_t *tail)
{
    return ((uintptr_t)tail & (CHUNK_BYTES - 1)) == 0;
}

/* The tail without its last chunk. */
static inline uint32_t *tail_before(const uint32_t *tail)
{
    return chunk_of(tail)->before->ids + CHUNK_IDS;
}

static uint32_t clean(struct chunk_wheel *wheel);

static inline bool scarce(const struct chunk_wheel *wheel)
{
    return wheel->free_count < wheel->chunks / 8 + 2;
}

/* Always inline: gcc takes a function that does nothing but fetch for one that does nothing. */
#define FETCHES static inline __attribute__((always_inline)) void

/* Fetches a chunk, which may be none. */
FETCHES fetch_chunk(const struct chunk *chunk)
{
    for (uint32_t i = 0; i < CHUNK_BYTES; i += LINE_BYTES) {
        __builtin_prefetch((const char *)chunk + i, 1);
    }
}

static inline struct chunk *take_fresh(struct chunk_wheel *wheel)
{
    const struct chunk_block *block = wheel->fresh_of;
    if (wheel->fresh == block->chunks + block->count) {
        wheel->fresh_of = block->next;
        wheel->fresh = block->next->chunks;
    }
    __builtin_prefetch(wheel->fresh + 1, 1); /* its first line: append fetches the others */
    return wheel->fresh++;
}

static inline struct chunk *take_free(struct chunk_wheel *wheel)
{
    struct chunk *list = wheel->free;
    wheel->free_count--;
    if (list == NULL) {
        return take_fresh(wheel);
    }
    if (wheel->free_listed == 0) {
        wheel->free = list->before;
        wheel->free_listed = CHUNK_FREE;
        if (list->before != NULL) { /* by when this one is used up, the next is there to be read */
            fetch_chunk(list->before->before);
        }
        return list;
    }
    uint32_t at = --wheel->free_listed;
    if (at >= FREE_AHEAD) {
        __builtin_prefetch(list->free[at - FREE_AHEAD], 1);
    }
    return list->free[at];
}

static inline void give_back(struct chunk_wheel *wheel, struct chunk *chunk)
{
    wheel->free_count++;
    if (wheel->free != NULL && wheel->free_listed < CHUNK_FREE) {
        wheel->free->free[wheel->free_listed++] = chunk;
        return;
    }
    chunk->before = wheel->free;
    wheel->free = chunk;
    wheel->free_listed = 0;
}

/* A free chunk goes on a slot's chain, whose tail is full. Returns the new tail. */
static inline uint32_t *add_free(struct chunk_wheel *wheel, uint32_t slot, uint32_t *tail)
{
    struct chunk *chunk = take_free(wheel);
    chunk->before = chunk_of(tail);
    if (slot >= FINE) {
        (*held_in(wheel, slot))++;
    } else if (tail == EMPTY) {
        set_occupied(wheel, slot);
    }
    return chunk->ids;
}

static __attribute__((noinline)) uint32_t *add_scarce_chunk(struct chunk_wheel *wheel,
                                                            uint32_t slot)
{
    wheel->debt += DEBT;
    wheel->batch_limit = BATCH_SHORT;
    while (wheel->free_count == 0) { /* not, if payments are right */
        (void)clean(wheel);
    }
    uint32_t *tail = wheel->slots->tails[slot];
    return is_full(tail) ? add_free(wheel, slot, tail) : tail; /* it has just been cleaned */
}

static __attribute__((noinline)) void append_apart(struct chunk_wheel *wheel, uint32_t slot,
                                                   uint32_t id)
{
    uint32_t *tail = scarce(wheel) ? add_scarce_chunk(wheel, slot)
                                   : add_free(wheel, slot, wheel->slots->tails[slot]);
    *tail = id;
    wheel->slots->tails[slot] = tail + 1;
}

/* Appends an id if the slot's last chunk has room. */
static inline bool append_here(struct chunk_wheel *wheel, uint32_t slot, uint32_t id)
{
    uint32_t *tail = wheel->slots->tails[slot];
    TL_COUNT(wheel, moves, 1);
    if (is_full(tail)) {
        return false;
    }
    *tail = id;
    __builtin_prefetch(tail + IDS_AHEAD, 1);
    wheel->slots->tails[slot] = tail + 1;
    return true;
}

static inline void append(struct chunk_wheel *wheel, uint32_t slot, uint32_t id)
{
    if (!append_here(wheel, slot, id)) {
        append_apart(wheel, slot, id);
    }
}

/* Fetches the nodes of a chain's last portion. */
FETCHES fetch_nodes(const struct chunk_wheel *wheel, const uint32_t *tail)
{
    uint32_t count = ids_in(tail) < PORTION ? ids_in(tail) : PORTION;
    for (uint32_t i = 1; i <= count; i++) {
        __builtin_prefetch(node_of(wheel, *(tail - i)), 1);
    }
}

/* Takes up to `most` ids, a portion or less, from the end of a slot's chain that has one, and
 * fetches what comes next. */
static inline uint32_t take(struct chunk_wheel *wheel, uint32_t slot, uint32_t **tail,
                            uint32_t ids[PORTION], uint32_t most)
{
    uint32_t *last = *tail;
    uint32_t count = ids_in(last) < most ? ids_in(last) : most;
    memcpy(ids, last - count, sizeof(uint32_t[PORTION])); /* as many always: that takes no loop */
    if (ids_in(last) > count) {
        *tail = last - count;
    } else {
        *tail = tail_before(last);
        give_back(wheel, chunk_of(last));
        if (slot >= FINE) {
            (*held_in(wheel, slot))--;
        }
        if (*tail == EMPTY) {
            return count;
        }
        fetch_chunk(chunk_of(*tail)->before);
    }
    fetch_nodes(wheel, *tail);
    return count;
}

/* --- entries that come by in time ------------------------------------------------------------ */

/* The node has none: files one. The one it had comes by later: who was restarted to earlier a few
 * times in succession, and so left an entry behind each time, is filed under half the way. */
static inline void file(struct chunk_wheel *wheel, struct node *node, uint32_t id)
{
    uint32_t old = node->filed & MARKS;
    uint64_t by = due_of(node);
    if (old != 0) {
        uint32_t later = node->later;
        later |= (later & MARKS) == 0 ? old : 0;
        if (later >= OFTEN) {
            by -= (by - wheel->position) / 2;
        } else {
            later += ONCE;
        }
        node->later = later;
    }
    uint32_t mark;
    uint32_t slot = slot_for(wheel, by, &mark);
    node->filed = mark | COUNTED;
    append(wheel, slot, id);
}

/* Whether an entry with this mark of a tick comes by at a deadline, or before it. */
static inline bool is_in_time(const struct chunk_wheel *wheel, uint32_t mark, uint64_t due)
{
    return due - wheel->position >= ((mark - (uint32_t)wheel->position) & TICKS);
}

/* The timer is pending and in the count: sees to it that an entry comes by in time. */
static inline void see_to(struct chunk_wheel *wheel, struct node *node, uint32_t id)
{
    uint32_t mark = node->filed & MARKS;
    uint64_t due = due_of(node);
    if (mark == MARK_FAR ? !is_far(wheel, due) : mark < APART && !is_in_time(wheel, mark, due)) {
        mark = 0;
    }
    if (mark == 0) {
        file(wheel, node, id);
    } else if (mark == MARK_FAR) {
        note_far(wheel, due);
    }
}

/* The same of one that is pending, and perhaps not in the count. */
static inline void take_in(struct chunk_wheel *wheel, struct node *node, uint32_t id)
{
    wheel->count += (node->filed & COUNTED) == 0;
    node->filed |= COUNTED;
    see_to(wheel, node, id);
}

static __attribute__((noinline)) void look_closer(struct chunk_wheel *wheel, struct node *node,
                                                  uint32_t id)
{
    if (node->rest != 0) {
        take_in(wheel, node, id);
    }
}

/* Whether a timer is counted, and an entry comes by in time: mostly, and a comparison or two say
 * so.
 */
static inline bool is_seen_to(struct chunk_wheel *wheel, const struct node *node, uint64_t due)
{
    uint32_t filed = node->filed;
    TL_COUNT(wheel, compares, 1);
    if ((filed & (COUNTED | APART)) == COUNTED) {
        return is_in_time(wheel, filed, due);
    }
    return (filed & (COUNTED | MARKS)) == (COUNTED | MARK_FAR) && due >= wheel->far_first &&
           is_far(wheel, due);
}

/* After a start: counts the timer, and sees to it that an entry comes by in time. */
static inline void look(struct chunk_wheel *wheel, uint32_t id)
{
    struct node *node = node_of(wheel, id);
    if (!is_seen_to(wheel, node, due_of(node))) {
        look_closer(wheel, node, id);
    }
}

/* An entry under `mark` has gone whose timer is not to fire; the next best takes its place. */
static inline void settle(struct chunk_wheel *wheel, struct node *node, uint32_t id, uint32_t mark)
{
    if ((node->filed & MARKS) != mark) {
        if ((node->later & MARKS) == mark) {
            node->later &= ~MARKS;
        }
        return;
    }
    uint32_t next = node->later & MARKS;
    node->later = 0;
    if (node->rest == 0) {
        node->filed = next;
        return;
    }
    TL_COUNT(wheel, cascades, 1);
    wheel->count += (node->filed & COUNTED) == 0;
    node->filed = next | COUNTED;
    see_to(wheel, node, id);
}

/* --- from lists to chunks -------------------------------------------------------------------- */

/* Whether a timer is still in the lists. */
static inline bool is_listed(const struct chunk_wheel *wheel, uint32_t id)
{
    const struct linked_wheel *linked = &wheel->linked;
    return id - linked->first < linked->capacity - linked->first;
}

/* From now on timers are in chunks, for which there is room. */
static void leave_lists(struct chunk_wheel *wheel)
{
    wheel->regime = wheel->linked.lists != NULL ? MOVING : CHUNKS;
    wheel->clock = wheel->position = wheel->linked.clock;
    wheel->linked.plain = wheel->linked.plain_most = 0;
}

/* Moves the next few timers to chunks, but none that is due: that is about to fire. Any call may be
 * under way, and going through a list: it finds one less, as after a stop. */
static void move_some(struct chunk_wheel *wheel)
{
    struct linked_wheel *linked = &wheel->linked;
    for (uint32_t i = 0; i < MOVED && linked->first < linked->capacity; i++) {
        uint32_t id = linked->first;
        linked_link link = linked_timer(linked, id);
        bool pending = linked_at(linked, link)->next != LINKED_NONE;
        uint64_t due = pending ? linked_deadline(linked, link) : 0;
        if (pending && due <= linked->clock) {
            break;
        }
        if (pending) {
            (void)linked_stop(linked, id);
        }
        linked->first++;
        struct node *node = node_of(wheel, id);
        *node = (struct node){0};
        if (pending) {
            node->rest = ~due;
            wheel->count++;
            file(wheel, node, id);
        }
    }
}

/* --- starts ---------------------------------------------------------------------------------- */

/* Both with the status of a start that ends so, which then has nothing to save for a call. */
static __attribute__((noinline)) enum tl_status pay(struct chunk_wheel *wheel)
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

static __attribute__((noinline)) void look_at_batch(struct chunk_wheel *wheel)
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

/* Apart, and with the status of the start that filled it: so that has nothing to save for a call.
 */
static __attribute__((noinline)) enum tl_status look_at_full_batch(struct chunk_wheel *wheel)
{
    uint64_t due = wheel->batch_due;
    look_at_batch(wheel);
    wheel->batch_due = due; /* low already: the next is most likely not before it */
    return TL_OK;
}

static __attribute__((noinline)) enum tl_status append_apart_of_start(struct chunk_wheel *wheel,
                                                                      uint32_t slot, uint32_t id)
{
    append_apart(wheel, slot, id);
    return pay_if_scarce(wheel);
}

/* The same of a timer that has an entry, which comes by too late. */
static __attribute__((noinline)) enum tl_status start_again(struct chunk_wheel *wheel, uint32_t id,
                                                            struct node *node)
{
    take_in(wheel, node, id);
    return pay_if_scarce(wheel);
}

/* A start whose node is at hand: in a callback, or of an id in sequence. */
static __attribute__((noinline)) enum tl_status
start_at_once(struct chunk_wheel *wheel, uint32_t id, struct node *node, uint64_t due)
{
    if (node->filed != 0) {
        return is_seen_to(wheel, node, due) ? TL_OK : start_again(wheel, id, node);
    }
    uint32_t mark;
    uint32_t slot = slot_for(wheel, due, &mark);
    wheel->count++;
    node->filed = mark | COUNTED;
    return append_here(wheel, slot, id) ? pay_if_scarce(wheel)
                                        : append_apart_of_start(wheel, slot, id);
}

/* A start that is due already. */
static __attribute__((noinline)) enum tl_status start_late(struct chunk_wheel *wheel, uint32_t id,
                                                           struct node *node)
{
    uint32_t mark = node->filed & MARKS;
    node->rest = ~(SERIALS + wheel->serial);
    wheel->count += (node->filed & COUNTED) == 0;
    if (mark != MARK_LATE) {
        if (mark != 0 && (node->later & MARKS) == 0) {
            node->later = mark;
        }
        append(wheel, SLOT_LATE, id);
    }
    node->filed = MARK_LATE | COUNTED;
    wheel->quiet = 0;
    wheel->late = true;
    return pay_if_scarce(wheel);
}

/* The lines of ids in sequence come by themselves: nothing is gained by waiting. What is plain goes
 * to a coarse slot, and nobody need know. */
static inline bool is_plain(const struct chunk_wheel *wheel, const struct node *node,
                            uint64_t deadline)
{
    return deadline - wheel->plain_from < wheel->plain_span && node->filed == 0;
}

static inline enum tl_status start_plain(struct chunk_wheel *wheel, uint32_t id, struct node *node,
                                         uint64_t deadline)
{
    uint64_t block = block_of(deadline);
    uint32_t slot = coarse_slot(block);
    wheel->sequel = id + 1;
    wheel->count++;
    node->filed = mark_of(block << BLOCK_BITS) | COUNTED;
    return append_here(wheel, slot, id) ? TL_OK : append_apart_of_start(wheel, slot, id);
}

/* A start that is due before all that wait, or in a callback. Where all is in lists, or is being
 * moved, none waits, so that this one is. */
static __attribute__((noinline)) enum tl_status start_soon(struct chunk_wheel *wheel, uint32_t id,
                                                           uint64_t due)
{
    if (wheel->regime != CHUNKS) {
        if (wheel->regime == MOVING) {
            move_some(wheel);
        }
        if (is_listed(wheel, id)) {
            return linked_start_apart(&wheel->linked, id, due);
        }
    }
    struct node *node = node_of(wheel, id);
    node->rest = ~due;
    if (due <= wheel->clock) {
        return start_late(wheel, id, node);
    }
    if (wheel->firing || wheel->regime == MOVING) {
        return start_at_once(wheel, id, node, due);
    }
    if (id == wheel->sequel && is_plain(wheel, node, due)) {
        return start_plain(wheel, id, node, due);
    }
    wheel->batch_due = due;
    lower(&wheel->quiet, due);
    wheel->batch[wheel->batched++] = id;
    return wheel->batched >= wheel->batch_limit ? look_at_full_batch(wheel) : TL_OK;
}

/* A start of an id in sequence that is not plain, or the first such after an advance. */
static __attribute__((noinline)) enum tl_status start_unplain(struct chunk_wheel *wheel,
                                                              uint32_t id, struct node *node)
{
    wheel->sequel = id + 1;
    (void)start_at_once(wheel, id, node, due_of(node));
    uint64_t from = wheel->position + FINE;
    uint64_t end = wheel->position + (COARSE << BLOCK_BITS);
    from = wheel->coarse_first > from ? wheel->coarse_first : from;
    wheel->plain_from = from;
    wheel->plain_span = wheel->unfinished || from > end ? 0 : end - from;
    return TL_OK;
}

/* --- what time brings ------------------------------------------------------------------------ */

/* A slot gets back what is just being cleaned of it. */
static inline bool take_back(struct chunk_wheel *wheel, uint32_t slot)
{
    uint32_t **cleaned = &wheel->slots->tails[SLOT_CLEANED];
    if (*cleaned == EMPTY || wheel->clean_slot != slot) {
        return false;
    }
    wheel->slots->tails[slot] = *cleaned;
    *cleaned = EMPTY;
    return true;
}

static inline bool is_empty(struct chunk_wheel *wheel, uint32_t slot)
{
    return wheel->slots->tails[slot] == EMPTY && !take_back(wheel, slot);
}

/* Moves all of a slot to another that is empty; neither is a fine one. */
static void move_all(struct chunk_wheel *wheel, uint32_t from, uint32_t to)
{
    wheel->slots->tails[to] = wheel->slots->tails[from];
    wheel->slots->tails[from] = EMPTY;
    *held_in(wheel, to) = *held_in(wheel, from);
    *held_in(wheel, from) = 0;
}

/* Of what a slot holds, how many shares are to be moved between `position` and `now` so that all is
 * by `end`. */
static uint32_t shares_of(struct chunk_wheel *wheel, uint32_t slot, uint64_t now, uint64_t end)
{
    if (now >= end) {
        return UINT32_MAX;
    }
    uint64_t ticks = end - wheel->position;
    uint64_t done = *held_in(wheel, slot) * SHARES * (now - wheel->position);
    return (uint32_t)((done + ticks - 1) / ticks);
}

/* Files so many shares of a slot where they now belong. Returns whether that is all. */
static bool sift(struct chunk_wheel *wheel, uint32_t slot, uint32_t mark, uint32_t shares)
{
    uint32_t ids[PORTION];
    for (; shares > 0 && !is_empty(wheel, slot); shares--) {
        uint32_t count = take(wheel, slot, &wheel->slots->tails[slot], ids, SHARE);
        for (uint32_t i = 0; i < count; i++) {
            settle(wheel, node_of(wheel, ids[i]), ids[i], mark);
        }
    }
    return is_empty(wheel, slot);
}

/* During a block the slot of the one that the fine slots are just about to reach is moved down. */
static void move_down(struct chunk_wheel *wheel, uint64_t now)
{
    uint64_t block = next_block(wheel);
    uint32_t slot = coarse_slot(block);
    uint64_t end = (block_of(wheel->position) + 1) << BLOCK_BITS;
    TL_COUNT(wheel, slots, 1);
    if (sift(wheel, slot, slot_mark(wheel, slot), shares_of(wheel, slot, now, end))) {
        uint32_t ahead = 1;
        while (ahead < COARSE && *held_in(wheel, coarse_slot(block + ahead)) == 0) {
            ahead++;
        }
        if (ahead < COARSE) {
            set_coarse_first(wheel, block + ahead);
        } else {
            wheel->coarse_first = wheel->coarse_at = TL_NEVER;
        }
    }
}

static void begin_search(struct chunk_wheel *wheel)
{
    move_all(wheel, SLOT_FAR, SLOT_SOUGHT);
    wheel->sought_first = wheel->far_first;
    wheel->far_first = TL_NEVER;
    wheel->search_at = 0;
    /* Half a turn at most, so that the next search has as long. */
    uint64_t half = block_of(wheel->position) + COARSE / 2;
    uint64_t first = block_of(wheel->sought_first) - FINE_BLOCKS;
    wheel->search_end = (first < half ? first : half) << BLOCK_BITS;
    set_far_at(wheel);
}

static void search(struct chunk_wheel *wheel, uint32_t shares)
{
    if (sift(wheel, SLOT_SOUGHT, MARK_FAR, shares)) {
        wheel->sought_first = TL_NEVER;
        set_far_at(wheel);
    }
}

/* Looks at a share of FAR, so that what the coarse slots reach to is there before it is moved
 * down, and says when the next is to follow. */
static void search_far(struct chunk_wheel *wheel, uint64_t now)
{
    if (wheel->sought_first == TL_NEVER) {
        begin_search(wheel);
    }
    uint32_t sought = SLOT_SOUGHT;
    uint64_t end = wheel->search_end;
    search(wheel, shares_of(wheel, sought, now + 1, end)); /* this tick's, too */
    if (wheel->sought_first != TL_NEVER) {
        uint32_t left = *held_in(wheel, sought) * SHARES;
        uint64_t ticks = (end - now) / left;
        wheel->search_at = now + (ticks > 0 ? ticks : 1);
        set_far_at(wheel);
    }
}

/* --- cleaning -------------------------------------------------------------------------------- */

/* The next slot that has chunks, from `clean_slot` on. False: no fine or coarse one has. */
static bool find_unclean(struct chunk_wheel *wheel)
{
    uint32_t slot = wheel->clean_slot;
    if (slot < FINE) {
        uint64_t first = first_fine(wheel, slot);
        slot = first < FINE ? (uint32_t)first : FINE;
    }
    while (slot >= FINE && slot < SLOT_FAR && wheel->slots->tails[slot] == EMPTY) {
        slot++;
    }
    wheel->clean_slot = slot;
    return slot < SLOT_FAR;
}

/* Drops the superseded entries of a chunk, slot after slot, and of FAR at last: what is live of it
 * is appended to its slot anew, each timer once. Returns how many entries it had. */
static __attribute__((noinline)) uint32_t clean(struct chunk_wheel *wheel)
{
    uint32_t **left = &wheel->slots->tails[SLOT_CLEANED];
    for (uint32_t rounds = 0; *left == EMPTY; rounds++) {
        if (wheel->sought_first != TL_NEVER) {
            search(wheel, SHARES);
            return CHUNK_IDS;
        }
        if (find_unclean(wheel)) {
            *left = wheel->slots->tails[wheel->clean_slot];
            wheel->slots->tails[wheel->clean_slot] = EMPTY;
            break;
        }
        wheel->clean_slot = 0;
        wheel->round = wheel->round == ROUNDS ? ROUND : wheel->round + ROUND;
        if (wheel->slots->tails[SLOT_FAR] != EMPTY) {
            begin_search(wheel);
        } else if (rounds > 0) {
            return 0; /* there is nothing anywhere */
        }
    }
    uint32_t slot = wheel->clean_slot;
    uint32_t mark = slot_mark(wheel, slot);
    const struct chunk *chunk = chunk_of(*left);
    uint32_t looked_at = 0;
    while (chunk_of(*left) == chunk) {
        uint32_t ids[PORTION];
        uint32_t count = take(wheel, slot, left, ids, PORTION);
        looked_at += count;
        for (uint32_t i = 0; i < count; i++) {
            struct node *node = node_of(wheel, ids[i]);
            if ((node->filed & MARKS) != mark || node->rest == 0) {
                settle(wheel, node, ids[i], mark);
            } else if ((node->filed & ROUNDS) != wheel->round) {
                node->filed = (node->filed & ~ROUNDS) | wheel->round;
                append(wheel, slot, ids[i]);
            }
        }
    }
    if (*left == EMPTY && wheel->clean_slot == slot) {
        if (slot < FINE && wheel->slots->tails[slot] == EMPTY) {
            clear_occupied(wheel, slot);
        }
        wheel->clean_slot++;
    }
    return looked_at;
}

/* --- firing ---------------------------------------------------------------------------------- */

struct firing {
    tl_fire_fn expire;
    void *ctx;
    uint64_t left; /* of the budget */
};

static inline void hand_over(struct chunk_wheel *wheel, struct firing *firing, struct node *node,
                             uint32_t id)
{
    wheel->count -= (node->filed & COUNTED) != 0;
    *node = (struct node){.filed = node->later & MARKS};
    firing->left--;
    TL_COUNT(wheel, moves, 1);
    firing->expire(firing->ctx, id, wheel->clock);
}

/* An entry comes by: the node says what has become of the timer. */
static inline void visit(struct chunk_wheel *wheel, struct firing *firing, uint32_t id,
                         uint32_t mark)
{
    struct node *node = node_of(wheel, id);
    uint64_t due = due_of(node);
    TL_COUNT(wheel, compares, 1);
    if ((node->filed & MARKS) == mark && due <= wheel->position) {
        hand_over(wheel, firing, node, id);
    } else if (mark == MARK_LATE && due >= SERIALS && node->rest != 0) {
        if (due < SERIALS + wheel->serial) {
            hand_over(wheel, firing, node, id);
        } else { /* by a callback of this advance */
            append(wheel, SLOT_LATE, id);
        }
    } else {
        settle(wheel, node, id, mark);
    }
}

/* Works off a slot. False: the budget is used up, and something is left. */
static __attribute__((noinline)) bool fire(struct chunk_wheel *wheel, uint32_t slot, uint32_t mark,
                                           struct firing *firing)
{
    uint32_t ids[PORTION];
    while (!is_empty(wheel, slot)) {
        uint32_t most = firing->left < PORTION ? (uint32_t)firing->left : PORTION;
        if (most == 0) {
            return false;
        }
        uint32_t count = take(wheel, slot, &wheel->slots->tails[slot], ids, most);
        for (uint32_t i = 0; i < count; i++) {
            visit(wheel, firing, ids[i], mark);
        }
    }
    return true;
}

/* What was started when due already; and what callbacks start so is for the next advance. */
static __attribute__((noinline)) bool fire_late(struct chunk_wheel *wheel, struct firing *firing)
{
    uint32_t due = SLOT_DUE;
    bool all = fire(wheel, due, MARK_LATE, firing);
    if (all) {
        move_all(wheel, SLOT_LATE, due);
        all = fire(wheel, due, MARK_LATE, firing);
    }
    wheel->late = !all || !is_empty(wheel, SLOT_LATE);
    return all;
}

/* Fetches what the next ticks need: the nodes of the next, the chunks of those behind it. */
FETCHES fetch_ahead(const struct chunk_wheel *wheel, uint64_t tick)
{
    const uint32_t *tail = wheel->slots->tails[tick % FINE];
    if (tail != EMPTY) {
        fetch_nodes(wheel, tail);
        fetch_chunk(chunk_of(tail)->before);
    }
    tail = wheel->slots->tails[(tick + 1) % FINE];
    if (tail != EMPTY) {
        fetch_chunk(chunk_of(tail)->before);
    }
    tail = wheel->slots->tails[(tick + 2) % FINE];
    if (tail != EMPTY) {
        fetch_chunk(chunk_of(tail));
    }
}

/* Works off the fine slot of `position`. */
static inline bool work_off(struct chunk_wheel *wheel, struct firing *firing)
{
    uint32_t slot = (uint32_t)wheel->position % FINE;
    TL_COUNT(wheel, slots, 1);
    fetch_ahead(wheel, wheel->position + 1);
    wheel->unfinished = true;
    if (!fire(wheel, slot, mark_of(wheel->position), firing)) {
        return false;
    }
    clear_occupied(wheel, slot);
    wheel->unfinished = false;
    return true;
}

/* Goes from event to event: a fine slot that is occupied, a coarse one to be moved down, FAR to be
 * looked through. */
static inline bool advance_to(struct chunk_wheel *wheel, uint64_t now, struct firing *firing)
{
    bool moved = false;
    uint64_t event;
    for (;;) {
        uint64_t position = wheel->position;
        if (wheel->coarse_at <= position && !moved) {
            move_down(wheel, now);
            moved = wheel->coarse_at <= position; /* its share, and no more in this advance */
        }
        while (wheel->far_at <= position) {
            search_far(wheel, now);
        }
        uint64_t tick = first_fine(wheel, position + 1);
        event = tick;
        if (!moved) {
            lower(&event, wheel->coarse_at);
        }
        lower(&event, wheel->far_at);
        if (event > now) {
            break;
        }
        wheel->position = event;
        if (event == tick && !work_off(wheel, firing)) {
            return false;
        }
    }
    wheel->position = now;
    lower(&event, wheel->coarse_at);
    wheel->quiet = event;
    return true;
}

/* --- in chunks ------------------------------------------------------------------------------- */

static inline enum tl_status stop_in_chunks(struct chunk_wheel *wheel, uint32_t id)
{
    struct node *node = node_of(wheel, id);
    if (node->rest == 0) {
        return TL_IDLE;
    }
    node->rest = 0;
    wheel->count -= (node->filed & COUNTED) != 0;
    node->filed &= ~COUNTED;
    return TL_OK;
}

/* The serial is this advance's. */
static __attribute__((noinline)) uint64_t advance_awake(struct chunk_wheel *wheel, uint64_t now,
                                                        uint64_t budget, tl_fire_fn expire,
                                                        void *ctx)
{
    if (wheel->batch_due <= now) {
        look_at_batch(wheel);
    }
    struct firing firing = {expire, ctx, budget};
    uint64_t batch_due = wheel->batch_due;
    wheel->batch_due = TL_NEVER;
    wheel->firing = true;
    wheel->quiet = TL_NEVER;
    bool all = (!wheel->late || fire_late(wheel, &firing)) &&
               (!wheel->unfinished || work_off(wheel, &firing)) && advance_to(wheel, now, &firing);
    wheel->firing = false;
    wheel->batch_due = batch_due;
    lower(&wheel->quiet, batch_due);
    if (!all || wheel->late) {
        wheel->quiet = 0;
    }
    (void)pay_if_scarce(wheel);
    return budget - firing.left;
}

static inline uint64_t advance_chunks(struct chunk_wheel *wheel, uint64_t now, uint64_t budget,
                                      tl_fire_fn expire, void *ctx)
{
    wheel->clock = now;
    wheel->plain_span = 0;
    if (now < wheel->quiet) {
        wheel->position = now;
        return 0;
    }
    wheel->serial++;
    return advance_awake(wheel, now, budget, expire, ctx);
}

static uint64_t count_chunks(struct chunk_wheel *wheel)
{
    if (wheel->batched > 0) { /* which nobody sees from outside */
        look_at_batch(wheel);
    }
    return wheel->count;
}

/* While timers are moved, of the lists, too. */
static __attribute__((noinline)) uint64_t next_of_chunks(struct chunk_wheel *wheel)
{
    uint64_t next = wheel->regime == MOVING ? linked_next(&wheel->linked) : TL_NEVER;
    if (wheel->count == 0 && count_chunks(wheel) == 0) {
        return next;
    }
    if (wheel->unfinished || wheel->late) {
        return wheel->clock;
    }
    lower(&next, first_fine(wheel, wheel->position + 1));
    lower(&next, wheel->coarse_first);
    lower(&next, wheel->far_first);
    lower(&next, wheel->sought_first);
    lower(&next, wheel->batch_due);
    return next;
}

/* --- while timers are moved ------------------------------------------------------------------ */

static __attribute__((noinline)) enum tl_status stop_moving(struct chunk_wheel *wheel, uint32_t id)
{
    move_some(wheel);
    return is_listed(wheel, id) ? linked_stop(&wheel->linked, id) : stop_in_chunks(wheel, id);
}

/* Here alone the lists are given up, where no call is under way. What callbacks of theirs start
 * when due is not for this advance: so the serial comes first. */
static __attribute__((noinline)) uint64_t advance_moving(struct chunk_wheel *wheel, uint64_t now,
                                                         uint64_t budget, tl_fire_fn expire,
                                                         void *ctx)
{
    move_some(wheel);
    wheel->clock = now;
    wheel->serial++;
    uint64_t fired = linked_sleeps(&wheel->linked, now)
                         ? 0
                         : linked_advance_awake(&wheel->linked, now, budget, expire, ctx);
    wheel->plain_span = 0;
    fired += advance_awake(wheel, now, budget - fired, expire, ctx);
    if (wheel->linked.first == wheel->linked.capacity) {
        linked_free(&wheel->linked);
        wheel->regime = CHUNKS;
    }
    return fired;
}

/* --- hooks ----------------------------------------------------------------------------------- */

static inline enum tl_status wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct chunk_wheel *wheel = self;
    if (deadline < wheel->batch_due) { /* as all are while all is in lists */
        return linked_is_plain(&wheel->linked, deadline)
                   ? linked_start_near(&wheel->linked, id, deadline)
                   : start_soon(wheel, id, deadline);
    }
    struct node *node = node_of(wheel, id);
    node->rest = ~deadline; /* nothing waits for it */
    if (id == wheel->sequel) {
        return is_plain(wheel, node, deadline) ? start_plain(wheel, id, node, deadline)
                                               : start_unplain(wheel, id, node);
    }
    uint32_t batched = wheel->batched;
    wheel->batch[batched++] = id;
    wheel->batched = batched;
    return batched >= wheel->batch_limit ? look_at_full_batch(wheel) : TL_OK;
}

static enum tl_status wheel_stop(void *self, uint32_t id)
{
    struct chunk_wheel *wheel = self;
    if (wheel->regime < MOVING) {
        return linked_stop(&wheel->linked, id);
    }
    return wheel->regime == MOVING ? stop_moving(wheel, id) : stop_in_chunks(wheel, id);
}

static uint64_t wheel_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn expire,
                              void *ctx)
{
    struct chunk_wheel *wheel = self;
    if (wheel->regime < MOVING) {
        if (linked_sleeps(&wheel->linked, now)) {
            return 0;
        }
        if (__builtin_expect(wheel->linked.count <= wheel->lists_up_to, 1)) {
            return linked_advance_awake(&wheel->linked, now, budget, expire, ctx);
        }
        leave_lists(wheel);
    }
    return wheel->regime == MOVING ? advance_moving(wheel, now, budget, expire, ctx)
                                   : advance_chunks(wheel, now, budget, expire, ctx);
}

static uint64_t wheel_count(const void *self)
{
    struct chunk_wheel *wheel = (struct chunk_wheel *)self;
    return wheel->linked.count + (wheel->regime == LISTS ? 0 : count_chunks(wheel));
}

static uint64_t wheel_next(const void *self)
{
    struct chunk_wheel *wheel = (struct chunk_wheel *)self;
    return wheel->regime == LISTS ? linked_next(&wheel->linked) : next_of_chunks(wheel);
}

static void wheel_counters(const void *self, struct tl_counters *out)
{
    const struct chunk_wheel *wheel = self;
    *out = wheel->counters;
    tl_counters_add(out, &wheel->linked.counters);
}

/* --- storage --------------------------------------------------------------------------------- */

static size_t block_bytes(uint32_t chunks)
{
    return chunks * sizeof(struct chunk) + sizeof(struct chunk_block);
}

/* Frees the blocks behind this one, of which no chunk has been taken, or all. */
static void drop_blocks(struct chunk_wheel *wheel, struct chunk_block *last)
{
    struct chunk_block *block = last != NULL ? last->next : wheel->blocks;
    while (block != NULL) {
        struct chunk_block *next = block->next;
        wheel->chunks -= block->count;
        wheel->free_count -= block->count;
        tl_free(wheel->allocator, block->chunks, block_bytes(block->count), CHUNK_BYTES);
        block = next;
    }
    *(last != NULL ? &last->next : &wheel->blocks) = NULL;
    wheel->last = last;
}

/* Adds so many chunks. An empty wheel's are touched here; one in use is not stopped for that. */
static bool add_chunks(struct chunk_wheel *wheel, uint32_t count)
{
    bool in_use = wheel->blocks != NULL || wheel->linked.lists != NULL;
    while (count > 0) {
        uint32_t some = in_use && count > BLOCK_CHUNKS ? BLOCK_CHUNKS : count;
        struct chunk *chunks = tl_alloc(wheel->allocator, block_bytes(some), CHUNK_BYTES);
        if (chunks == NULL) {
            return false;
        }
        if (!in_use) {
            memset(chunks, 0, some * sizeof *chunks);
        }
        struct chunk_block *block = (struct chunk_block *)(void *)&chunks[some];
        *block = (struct chunk_block){.chunks = chunks, .count = some};
        if (wheel->last != NULL) {
            wheel->last->next = block;
        } else {
            wheel->blocks = wheel->fresh_of = block;
            wheel->fresh = chunks;
        }
        wheel->last = block;
        wheel->chunks += some;
        wheel->free_count += some;
        count -= some;
    }
    return true;
}

/* Makes room for the nodes of timers that are not in records. */
static bool grow_nodes(struct chunk_wheel *wheel, uint32_t capacity)
{
    size_t old_bytes = OWN_ENTRIES(wheel, wheel->capacity) * sizeof *wheel->nodes;
    size_t bytes = OWN_ENTRIES(wheel, capacity) * sizeof *wheel->nodes;
    if (bytes == 0) {
        return true;
    }
    const struct tl_allocator *allocator = wheel->allocator;
    struct node *nodes =
        allocator->resize(allocator->ctx, wheel->nodes, old_bytes, bytes, LINE_BYTES);
    if (nodes == NULL) {
        return false;
    }
    memset((char *)nodes + old_bytes, 0, bytes - old_bytes);
    wheel->nodes = nodes;
    OWN_ARRAY(wheel, nodes, sizeof *nodes);
    return true;
}

static bool make_slots(struct chunk_wheel *wheel)
{
    wheel->slots = tl_alloc(wheel->allocator, sizeof *wheel->slots, LINE_BYTES);
    if (wheel->slots == NULL) {
        return false;
    }
    memset(wheel->slots, 0, sizeof *wheel->slots);
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        wheel->slots->tails[slot] = EMPTY;
    }
    return true;
}

/* Makes room in chunks; no timer is moved. What there was room for already has stayed in place. */
static enum tl_status reserve_chunks(struct chunk_wheel *wheel, uint32_t capacity)
{
    struct chunk_block *last = wheel->last;
    uint32_t slots = capacity < SLOTS ? capacity : SLOTS;
    uint32_t chunks = 2 * slots + capacity / (CHUNK_IDS / 2) + 64;
    if ((wheel->slots == NULL && !make_slots(wheel)) ||
        !add_chunks(wheel, chunks - wheel->chunks) || !grow_nodes(wheel, capacity)) {
        drop_blocks(wheel, last);
        return TL_ERR_NOMEM;
    }
    wheel->capacity = capacity;
    return TL_OK;
}

static enum tl_status wheel_reserve(void *self, uint32_t capacity)
{
    struct chunk_wheel *wheel = self;
    if (capacity > CAPACITY_MAX) {
        return TL_ERR_CAPACITY;
    }
    if (wheel->regime != LISTS) {
        return capacity <= wheel->capacity ? TL_OK : reserve_chunks(wheel, capacity);
    }
    if (wheel->linked.lists != NULL && capacity <= wheel->linked.capacity) {
        return TL_OK;
    }
    uint64_t few = wheel->lists_up_to;
    enum tl_status status = capacity > few || few == 0 ? reserve_chunks(wheel, capacity) : TL_OK;
    if (status != TL_OK) {
        return status;
    }
    if (capacity <= IDLE * few && few > 0) {
        return linked_reserve(&wheel->linked, capacity);
    }
    leave_lists(wheel);
    return TL_OK;
}

static void wheel_destroy(void *self)
{
    struct chunk_wheel *wheel = self;
    linked_free(&wheel->linked);
    drop_blocks(wheel, NULL);
    size_t node_bytes = OWN_ENTRIES(wheel, wheel->capacity) * sizeof *wheel->nodes;
    tl_free(wheel->allocator, wheel->nodes, node_bytes, LINE_BYTES);
    tl_free(wheel->allocator, wheel->slots, sizeof *wheel->slots, LINE_BYTES);
    tl_free(wheel->allocator, wheel, sizeof *wheel, LINE_BYTES);
}

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    const struct wheel_options *options = config->options;
    struct chunk_wheel *wheel = tl_alloc(config->allocator, sizeof *wheel, LINE_BYTES);
    if (wheel == NULL) {
        return TL_ERR_NOMEM;
    }
    *wheel = (struct chunk_wheel){
        .clock = config->now,
        .batch_due = TL_NEVER,
        .batch_limit = BATCH,
        .sequel = NO_ID,
        .coarse_first = TL_NEVER,
        .coarse_at = TL_NEVER,
        .far_first = TL_NEVER,
        .sought_first = TL_NEVER,
        .far_at = TL_NEVER,
        .serial = 1,
        .round = ROUND,
        .lists_up_to = options->lists,
        .allocator = config->allocator,
    };
    TAKE_RECORDS(wheel, config);
    linked_init(&wheel->linked, config);
    enum tl_status status = wheel_reserve(wheel, config->capacity);
    if (status != TL_OK) {
        wheel_destroy(wheel);
        return status;
    }
    *self = wheel;
    return TL_OK;
}

#ifdef TL_EMBEDDED
static void wheel_moved(void *self, const struct tl_records *records)
{
    struct chunk_wheel *wheel = self;
    records_give(&wheel->records, records);
    linked_moved(&wheel->linked, records);
}
#endif

/* --- inside ---------------------------------------------------------------------------------- */

/* Goes through the entries of a slot: `at` begins as its tail. */
static bool next_entry(const uint32_t **at, uint32_t *id)
{
    if (*at == EMPTY) {
        return false;
    }
    *id = *(*at - 1);
    *at = ids_in(*at) > 1 ? *at - 1 : tail_before(*at);
    return true;
}

/* Whether an entry is its timer's, for the first time. */
static bool see(struct chunk_wheel *wheel, uint32_t id, uint32_t mark)
{
    struct node *node = node_of(wheel, id);
    if (node->rest == 0 || (node->filed & MARKS) != mark || (node->later & SEEN) != 0) {
        return false;
    }
    node->later |= SEEN;
    return true;
}

static void forget_seen(struct chunk_wheel *wheel)
{
    for (uint32_t id = 0; id < wheel->capacity; id++) {
        if (!is_listed(wheel, id)) {
            node_of(wheel, id)->later &= ~SEEN;
        }
    }
}

static const char *check_slot(struct chunk_wheel *wheel, uint32_t slot, uint64_t *timers,
                              uint64_t *entries)
{
    uint32_t mark = slot_mark(wheel, slot);
    const uint32_t *at = wheel->slots->tails[slot];
    uint32_t id;
    while (next_entry(&at, &id)) {
        if (id >= wheel->capacity || ++*entries > wheel->capacity * UINT64_C(64) + 4096) {
            return "a slot does not end";
        }
        if (!see(wheel, id, mark)) {
            continue;
        }
        ++*timers;
        if (slot < SLOT_FAR &&
            due_of(node_of(wheel, id)) - slot_tick(wheel, slot) >= TL_DEADLINE_MAX) {
            return "a timer is in a slot that comes by too late";
        }
    }
    if (slot < FINE && wheel->slots->tails[slot] != EMPTY &&
        (wheel->occupied[slot / 64] >> slot % 64 & 1) == 0) {
        return "a slot's bit lies";
    }
    return NULL;
}

static enum tl_status wheel_check(const void *self, char *why, size_t why_bytes)
{
    struct chunk_wheel *wheel = (struct chunk_wheel *)self;
    enum tl_status status =
        wheel->regime != CHUNKS ? linked_check(&wheel->linked, why, why_bytes) : TL_OK;
    if (wheel->regime == LISTS || status != TL_OK) {
        return status;
    }
    uint64_t count = count_chunks(wheel);
    uint64_t timers = 0;
    uint64_t entries = 0;
    uint64_t pending = 0;
    uint64_t chunks = 0;
    const char *wrong = NULL;
    for (uint32_t slot = 0; wrong == NULL && slot < SLOTS; slot++) {
        wrong = check_slot(wheel, slot, &timers, &entries);
        for (const uint32_t *tail = wheel->slots->tails[slot]; wrong == NULL && tail != EMPTY;
             tail = tail_before(tail)) {
            chunks++;
        }
    }
    forget_seen(wheel);
    for (uint32_t id = 0; id < wheel->capacity; id++) {
        const struct node *node = node_of(wheel, id);
        if (is_listed(wheel, id)) {
            continue;
        }
        pending += node->rest != 0;
        if ((node->rest != 0) != ((node->filed & COUNTED) != 0)) {
            wrong = "a timer is counted that is not pending, or the other way round";
        }
    }
    if (wrong == NULL && (timers != pending || pending != count)) {
        wrong = "the timers pending are miscounted";
    } else if (wrong == NULL && chunks + wheel->free_count != wheel->chunks) {
        wrong = "chunks are missing";
    } else if (wrong == NULL && !wheel->unfinished &&
               wheel->quiet > first_fine(wheel, wheel->position + 1)) {
        wrong = "it sleeps past a slot";
    }
    return wrong == NULL ? TL_OK : corrupt(why, why_bytes, "%s", wrong);
}

static void walk_entries(struct chunk_wheel *wheel, uint32_t slot, const struct tl_visitor *visitor)
{
    uint32_t mark = slot_mark(wheel, slot);
    uint32_t id;
    for (const uint32_t *at = wheel->slots->tails[slot]; next_entry(&at, &id);) {
        if (see(wheel, id, mark)) {
            uint64_t due = due_of(node_of(wheel, id));
            walk_timer(visitor, id, due < SERIALS ? due : TL_NEVER, 0);
        } else if (slot < SLOT_FAR) {
            walk_stale(visitor, id, slot_tick(wheel, slot));
        }
    }
    if (slot == wheel->clean_slot) {
        walk_entries(wheel, SLOT_CLEANED, visitor);
    }
}

static void walk_slots(struct chunk_wheel *wheel, uint32_t number, uint32_t first, uint32_t count,
                       uint32_t bits, const struct tl_visitor *visitor)
{
    uint64_t width = UINT64_C(1) << bits;
    uint64_t hand = wheel->position >> bits;
    walk_level(visitor, number, width);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t from = slot_tick(wheel, first + i);
        uint32_t marks = (hand & (count - 1)) == i ? TL_MARK_HAND : 0u;
        marks |= is_empty(wheel, first + i) ? 0u : TL_MARK_FLAGGED;
        walk_span(visitor, i, from, from + (width - 1), marks);
        walk_entries(wheel, first + i, visitor);
    }
}

/* Two slots that stand for no ticks, shown as one where they hold anything. */
static void walk_apart(struct chunk_wheel *wheel, const char *name, uint32_t first,
                       const struct tl_visitor *visitor)
{
    if (!is_empty(wheel, first) || !is_empty(wheel, first + 1)) {
        walk_part(visitor, name, TL_FORM_LIST, 0);
        walk_node(visitor, 0, TL_NEVER);
        walk_entries(wheel, first, visitor);
        walk_entries(wheel, first + 1, visitor);
    }
}

/* Leaves the wheel as it was: what the batch and cleaning do is not seen from outside. */
static void wheel_walk(const void *self, const struct tl_visitor *visitor)
{
    struct chunk_wheel *wheel = (struct chunk_wheel *)self;
    if (wheel->regime != CHUNKS) {
        linked_walk(&wheel->linked, visitor);
    }
    if (wheel->regime == LISTS) {
        return;
    }
    (void)count_chunks(wheel);
    walk_apart(wheel, "due now", SLOT_LATE, visitor);
    walk_slots(wheel, 1, 0, FINE, 0, visitor);
    walk_slots(wheel, 2, FINE, COARSE, BLOCK_BITS, visitor);
    walk_apart(wheel, "far", SLOT_FAR, visitor);
    forget_seen(wheel);
}

static const struct tl_option wheel_option_table[] = {
    {"lists", TL_U32(struct wheel_options, lists), 200000, 0, CAPACITY_MAX, NULL,
     "with up to so many timers pending, and room for twice as many, "
     "lists take the place of chunks; 0: never"},
    {0},
};

TL_ALGO(chunk_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "chunk-wheel",
    .summary = "a hierarchical wheel of chunked slots for very many timers in records: starts wait "
               "in batches",
    .origin = "our own; after Varghese and Lauck 1987, scheme 7, and Erlang/OTP",
    .description =
        "Slots of one tick, and of a block of ticks, which are moved down ahead of time, evenly. "
        "With many timers a slot is a chain of chunks of ids: a start stores the deadline in the "
        "node, and is looked at later, with others; a stop or a restart to later leaves the entry "
        "where it is, and when the wheel comes to it, the node says what has become of the timer. "
        "No call does what is put off at once. With few timers slots are lists. Made for timers "
        "that lie in the caller's records. Bad at very many timers of one tick, all restarted "
        "shortly before it.",
    .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(1)", .expire = "O(m)"},
    .options = wheel_option_table,
    .options_bytes = sizeof(struct wheel_options),
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
    .embedded_bytes = EMBEDDED_BYTES(sizeof(struct linked_node)),
    .moved = EMBEDDED_HOOK(wheel_moved),
};
