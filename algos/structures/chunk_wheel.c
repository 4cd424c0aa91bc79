/*
 * chunk-wheel: a hierarchical wheel that writes timers down once and looks at them late; and, as
 * long as its timers are few enough for the cache, one of lists (linked_wheel.h).
 *
 *   slot   [chunk: 31 entries] -> [chunk: 31 entries] -> [chunk: 7 entries, room for 24]
 *   entry  { id, the tick it is filed under }          8 bytes
 *   node   { deadline, the tick of its live entry }    8 bytes, one an id
 *   state  idle, exact, loose, left, stale             4 bits, one an id
 *
 * What an operation on a million timers costs is the lines of memory that it waits for. A linked
 * node makes it wait for its own line and for both neighbours'. Here a slot is a chain of chunks,
 * and nothing is ever unlinked: start appends an entry to a chunk that is in the cache, stop
 * changes a state, a restart to a later deadline rewrites the node and leaves the entry where it
 * is. When the wheel comes to an entry, it says what has become of the timer: fire it, file it
 * again, or drop it.
 *
 * The states are few bits on purpose: those of a million timers stay in the cache, and most
 * questions end there, without a look at the node. A node says itself whether its timer is LOOSE,
 * so of one that is restarted again and again nobody asks the state: a stop takes that word back.
 *
 *   state   pending   entries in the wheel                     when the wheel comes to one
 *   IDLE    no        none                                     -
 *   EXACT   yes       one, filed under the deadline            it fires; the node is not looked at
 *   LEFT    no        one, what a stop left of an EXACT        it is dropped, without the node
 *   LOOSE   yes       one or more; the node says which counts  the node decides
 *   STALE   no        the same, after a stop                   the node decides
 *
 * Levels: slots of 1 tick, 256, 2^16 and 2^22 ticks. A level holds two blocks, this and the next
 * (a block is one slot of the level above), so a deadline is filed by its distance: on the first
 * level if it lies in this block or the next, else on the second, and so on. During a block the
 * slot of the next is moved down, a chunk at a time, evenly: no tick has a bulk to cascade. Moving
 * an entry that is not EXACT looks at its node, so a timer that was restarted meanwhile goes to
 * where it now belongs, and one that was stopped goes no further. A chunk of the second level whose
 * first timers are all EXACT is moved without a look at any: what is filed under its tick may be.
 *
 * A start needs two lines, its state's and its node's, and whether an entry must be appended
 * depends on what is read there: guessed wrong, the processor waits for memory with nothing else
 * under way. So with many timers starts stand in a short queue while their lines are fetched, and
 * are carried out in order, each when a younger one pushes it out. Whatever could tell the
 * difference carries out the rest first: a stop of a timer that waits, count, next, and an advance
 * that has something due. Where the nodes fit in the cache, in callbacks, and for ids in sequence,
 * whose lines come together, there is no queue.
 *
 * An entry that is looked at only to be dropped costs a branch or two that the processor guesses
 * wrong. Out of the cache that is little beside the lines that were not waited for; in the cache it
 * is dear. So up to `lists` timers there are no chunks: nodes of 16 bytes are linked into the slots
 * of the same levels, and taken out when they are stopped; but restarts are late there too. Room
 * for more timers than that, and all are moved to chunks, where they stay.
 *
 * Ticks in entries and nodes are 30 bits, relative to the clock, and reach 2^28 ticks ahead. What
 * is further has its whole deadline in the node and waits in the chain FAR, which is searched when
 * the first of them comes near. What is started when already due has a serial number in the node
 * and waits in LATE: an advance fires what has a lower number than the advance itself. An advance
 * by 2^28 ticks or more first turns everything that it passes into such timers, since their 30 bits
 * would mean nothing afterwards.
 *
 * `quiet` is the tick before which an advance has nothing to do: it compares, and returns. It is
 * not behind the block's end, so that the `ends` of the first two levels can be kept for filing.
 * `next` takes the first occupied slot of each level from bitmaps: exact on the first level, and
 * the start of the slot above it, so a lower bound; entries of timers that were stopped count too.
 *
 * Memory. Entries of timers that were stopped, or pulled forward, stay until the wheel comes to
 * them. Chunks for one entry a timer, and for one unfilled chunk in each slot, are there from the
 * start; when they are used up, more are allocated, until `stale` percent of the timers' number are
 * added; then, or if there is no more memory, one sweep over all chunks drops what is stale.
 *
 * Invariants
 *   - a pending timer has an entry that is visited at its deadline or before: EXACT: under the
 *     deadline; LOOSE: under what the node says, which is not later
 *   - IDLE has no entry of a tick; EXACT and LEFT one; otherwise the node counts those besides the
 *     live one, up to `many`, which is never counted down but by a sweep
 *   - a slot of a level whose slots are 2^s ticks wide, of a tick t, is (t >> s) modulo the slots;
 *     clock >> s < t >> s, and less than two blocks of that level lie between
 *   - a slot's bit is set exactly if it has a chunk; of a slot's chunks only the last is not full
 *   - between operations there is a free chunk
 *
 * Complexity (m: levels): start, stop and restart O(1), amortised over sweeps; a tick O(1); expiry
 * O(m) moves; a jump O(slots / 64). Bad at: timers that all fire, a little below `lists`, where
 * their nodes no longer fit in the cache; an advance over many ticks at once, which has their
 * chunks to move all at once; a sweep is one long operation; the search of FAR another, once in
 * 2^27 ticks.
 *
 * Source: our own, from parts: Varghese and Lauck 1987, section 6.2; Erlang/OTP erl_time (two
 * blocks of slots, moved ahead of time); Go, runtime/time.go (lazy stop, sweeps).
 */
#include "timerlab.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include "linked_wheel.h"
#include "slot_bitmap.h"
#include "walk.h"

/* --- entries, nodes, states ------------------------------------------------------------------ */

#define TICK_BITS        30u
#define TICK_MASK        ((UINT32_C(1) << TICK_BITS) - 1)
#define NEAR_TICKS       (UINT64_C(1) << 28) /* deadlines this far ahead, or further, wait in FAR */

/* An entry: the tick it is filed under, or a mark, above; the id below. */
#define MARK_LATE        (UINT32_C(1) << 30) /* and the low bits of the serial */
#define MARK_FAR         (UINT32_C(2) << 30)
#define MARK_DEAD        (UINT32_C(3) << 30)
#define MARKS            (UINT32_C(3) << 30)

/* A node, by its highest bits.
 *
 *   0 .. 6   that many entries besides the live one; its tick, 30 bits; the deadline, 30 bits
 *   7        in the next 3 bits, 0 .. 6: that number; below, a serial, or 0: no entry is live
 *   7, 7     parked: in the lowest bits that number, 3 bits, and the entry's tick, 30 bits
 *   8 .. 15  far: the deadline - 1
 *
 * What is below 7 is LOOSE, whatever its state says: so a restart of what is often restarted, and a
 * visit to it, need no look at the state. Any other with an entry is parked, by a shift; its
 * deadline is the entry's tick, or it has none.
 */
#define NODE_EXTRA_SHIFT 60u
#define NODE_LATE        (UINT64_C(7) << NODE_EXTRA_SHIFT)
#define NODE_FAR         (UINT64_C(1) << 63)
#define LATE_EXTRA_SHIFT 57u
#define SERIAL_MASK      ((UINT64_C(1) << LATE_EXTRA_SHIFT) - 1)
#define NODE_PARKED      (UINT64_C(63) << LATE_EXTRA_SHIFT)
#define NODE_NONE_BYTE   0x7f /* eight of them are parked */
#define EXTRA_MANY       6u

#define STATE_BITS       4u
#define STATES_A_BYTE    2u
#define STATE_MASK       15u
enum state {
    STATE_IDLE = 0,
    STATE_LEFT = 4,
    STATE_EXACT = 5, /* LEFT and pending */
    STATE_STALE = 6,
    STATE_LOOSE = 7, /* STALE and pending; contains the bits of all */
    STATE_PENDING = 1,
    STATE_SEEN = 15, /* during a sweep or a walk: a LOOSE that has come by */
};

/* --- slots and chunks ------------------------------------------------------------------------ */

#define LEVELS        4u
#define CHUNK_ENTRIES 31u
#define CHUNK_BYTES   256u
#define LINE_BYTES    64u
#define FREE_LATER    3u /* so many after the next a free chunk is fetched */
#define SAMPLE        4u
#define SEGMENT_BYTES ((size_t)64 << 10) /* by which the chunks grow */
#define CAPACITY_MAX  (UINT32_C(1) << 30)
#define TABLE_ALIGN   64

struct chunk {
    struct chunk *next; /* the last one's is the first: a slot points to the last */
    union {
        uint64_t entries[CHUNK_ENTRIES];
        struct chunk *later[FREE_LATER]; /* of a free one: those that follow the next */
    };
};

static const struct {
    uint32_t shift; /* log2 of a slot's ticks */
    uint32_t slots; /* two blocks of the level, a power of two */
    uint32_t first; /* number of its slot 0 */
    uint32_t first_word;
} levels[LEVELS] = {{0, 512, 0, 0}, {8, 512, 512, 8}, {16, 128, 1024, 16}, {22, 128, 1152, 18}};

#define LEVEL_SLOTS    1280u
#define SLOT_DUE       (LEVEL_SLOTS + 0) /* to be visited by this advance, or left by its budget */
#define SLOT_LATE      (LEVEL_SLOTS + 1) /* for the next advance */
#define SLOT_FAR       (LEVEL_SLOTS + 2)
#define SLOTS          (LEVEL_SLOTS + 3)
#define OCCUPIED_WORDS ((SLOTS + 63) / 64)

/* A chunk that is being worked off; it is in no slot. */
struct cursor {
    struct chunk *chunk; /* NULL: none */
    uint32_t at;
    uint32_t end;
};

struct segment {
    struct segment *next;
    size_t bytes;
};

#define LEFT_OVER        0u /* the next advance has to do with DUE or LATE */
#define QUEUE            16u
#define NO_ID            UINT32_MAX
#define QUEUE_KEPT_TICKS 256u /* without a stop, before advances leave the queue alone */

/* A start that waits in the queue. */
struct waiting {
    uint64_t deadline;
    uint32_t id; /* NO_ID: none does */
};

enum option { OPTION_STALE, OPTION_QUEUE, OPTION_LISTS };

struct chunk_wheel {
    struct linked_wheel linked; /* while it has nodes, the rest of this is not in use */
    uint32_t linked_up_to;      /* ids */
    uint64_t clock;
    uint64_t quiet;   /* an advance to before this has nothing to do; not behind the block's end */
    uint64_t ends[2]; /* deadlines before these go to the first level, or the second */
    uint64_t *nodes;
    uint8_t *states;
    uint64_t count; /* timers pending */
    uint64_t fence; /* serial from which on a timer does not fire in the running advance; 0: none */
    uint64_t serial;      /* the last one given */
    uint64_t looks;       /* entries whose node decided, in all */
    uint64_t queue_due;   /* no start that waits is due before; TL_NEVER: none waits */
    uint64_t stopped;     /* the clock at the last stop */
    uint32_t queue_at;    /* where the next one goes, and the oldest is */
    uint32_t last_id;     /* of the last start */
    uint32_t in_sequence; /* so many starts had the id behind the last one's */
    uint32_t sequel;      /* the id that goes on so, while nothing waits in the queue; or NO_ID */
    bool queued;          /* starts go through the queue */
    bool queueing;        /* and this is not a callback */
    bool sweeping;
    bool due_loose;              /* the last chunk that fired had entries whose nodes decide, */
    bool due_nodes;              /* or timers that were started again in their callbacks */
    struct waiting queue[QUEUE]; /* a ring */
    uint64_t upper_quiet;        /* the same as quiet, but for the first level; or LEFT_OVER */
    uint64_t far_quiet;          /* when FAR is to be searched */
    uint64_t due_since;          /* the clock before which nothing in DUE was due */
    struct chunk *free;
    uint64_t chunk_total;
    uint64_t chunk_limit; /* beyond this there is a sweep */
    uint32_t stale_percent;
    uint32_t queued_from; /* ids */
    uint32_t capacity;
    struct cursor due;           /* of DUE */
    struct cursor moved;         /* of what is moved down, or searched */
    const struct chunk *fetched; /* the nodes of this one have been fetched */
    uint64_t occupied[OCCUPIED_WORDS];
    uint64_t *tails[SLOTS]; /* where a slot's next entry goes, if that is inside a chunk; or NULL */
    uint32_t chunks[SLOTS]; /* how many; not kept for DUE */
    struct segment *segments;
    const struct tl_allocator *allocator;
    struct tl_counters counters;
};

/* How far ahead of the clock a tick of 30 bits is. */
static inline int32_t ticks_ahead(uint32_t tick, uint64_t clock)
{
    return (int32_t)((tick - (uint32_t)clock) << 2) >> 2;
}

static inline uint64_t make_entry(uint32_t id, uint32_t stamp)
{
    return (uint64_t)stamp << 32 | id;
}

static inline uint64_t make_near(uint64_t extra, uint64_t filed, uint64_t deadline)
{
    return extra << NODE_EXTRA_SHIFT | (filed & TICK_MASK) << TICK_BITS | (deadline & TICK_MASK);
}

/* The node of a timer that has one entry, under its deadline. */
static inline uint64_t make_exact(uint64_t deadline)
{
    return NODE_PARKED | (deadline & TICK_MASK);
}

static inline uint64_t make_late(uint64_t extra, uint64_t serial)
{
    return NODE_LATE | extra << LATE_EXTRA_SHIFT | serial;
}

static inline bool node_is_near(uint64_t node)
{
    return node < NODE_LATE;
}

static inline bool node_is_parked(uint64_t node)
{
    return node >> LATE_EXTRA_SHIFT == NODE_PARKED >> LATE_EXTRA_SHIFT;
}

/* Of a near one; its deadline is dropped. */
static inline uint64_t park(uint64_t node)
{
    return NODE_PARKED | node >> TICK_BITS;
}

/* A parked one as if it were near, with the deadline 0; any other as it is. */
static inline uint64_t unpark(uint64_t node)
{
    return node_is_parked(node) ? node << TICK_BITS : node;
}

static inline bool node_is_far(uint64_t node)
{
    return (node & NODE_FAR) != 0;
}

static inline uint32_t node_filed(uint64_t node)
{
    return (uint32_t)(node >> TICK_BITS) & TICK_MASK;
}

static inline uint32_t node_due(uint64_t node)
{
    return (uint32_t)node & TICK_MASK;
}

static inline uint64_t with_deadline(uint64_t node, uint64_t deadline)
{
    return (node & ~(uint64_t)TICK_MASK) | (deadline & TICK_MASK);
}

/* Entries of ticks besides the live one. Those of a far timer have not been counted. */
static inline uint64_t node_extra(uint64_t node)
{
    if (node_is_near(node)) {
        return node >> NODE_EXTRA_SHIFT;
    }
    return node_is_far(node) ? EXTRA_MANY : node >> LATE_EXTRA_SHIFT & 7;
}

/* The same once the live entry, if it is one of a tick, no longer counts. */
static inline uint64_t node_extra_superseded(uint64_t node)
{
    uint64_t extra = node_extra(node);
    return extra + (node_is_near(node) && extra < EXTRA_MANY);
}

/* States are read and written by bytes: in a word of many, a start in sequence would wait for the
 * store of the one before. */
static inline uint32_t state_shift(uint32_t id)
{
    return id % STATES_A_BYTE * STATE_BITS;
}

static inline uint32_t state_of(const struct chunk_wheel *wheel, uint32_t id)
{
    return (uint32_t)(wheel->states[id / STATES_A_BYTE] >> state_shift(id)) & STATE_MASK;
}

static inline void set_state(struct chunk_wheel *wheel, uint32_t id, uint32_t state)
{
    uint8_t *byte = &wheel->states[id / STATES_A_BYTE];
    *byte = (uint8_t)((*byte & ~(STATE_MASK << state_shift(id))) | state << state_shift(id));
}

/* --- chunks ---------------------------------------------------------------------------------- */

static inline bool is_chunk_end(const uint64_t *tail)
{
    return (uintptr_t)tail % CHUNK_BYTES == 0;
}

/* The chunk that a slot's tail is in, or at the end of. */
static inline struct chunk *chunk_of(uint64_t *tail)
{
    uint64_t *last = tail - 1;
    return (struct chunk *)(void *)(last - (uintptr_t)last % CHUNK_BYTES / sizeof(uint64_t));
}

/* Fetches a chunk that is soon to be written to, or read. */
static inline void fetch_chunk(const struct chunk *chunk)
{
    for (size_t line = 0; line < CHUNK_BYTES; line += LINE_BYTES) {
        __builtin_prefetch((const char *)chunk + line, 1);
    }
}

/* The free chunks are a stack. Each says which come after the next, since one that is fetched no
 * sooner than when it comes to be the next has not come when it is wanted. */
static inline void give_chunk(struct chunk_wheel *wheel, struct chunk *chunk)
{
    const struct chunk *next = wheel->free;
    chunk->next = wheel->free;
    if (next != NULL) {
        chunk->later[0] = next->next;
        for (uint32_t i = 1; i < FREE_LATER; i++) {
            chunk->later[i] = next->later[i - 1];
        }
    } else {
        memset(chunk->later, 0, sizeof chunk->later);
    }
    wheel->free = chunk;
}

/* Takes the next free chunk, of which there must be one, and fetches one that comes later. */
static inline struct chunk *take_free(struct chunk_wheel *wheel)
{
    struct chunk *chunk = wheel->free;
    wheel->free = chunk->next;
    if (chunk->later[FREE_LATER - 1] != NULL) {
        fetch_chunk(chunk->later[FREE_LATER - 1]);
    }
    return chunk;
}

/* Adds a segment of at least `count` chunks. */
static bool add_chunks(struct chunk_wheel *wheel, uint64_t count)
{
    size_t bytes = (size_t)(count + 1) * CHUNK_BYTES;
    struct segment *segment = tl_alloc(wheel->allocator, bytes, CHUNK_BYTES);
    if (segment == NULL) {
        return false;
    }
    segment->next = wheel->segments;
    segment->bytes = bytes;
    wheel->segments = segment;
    wheel->chunk_total += count;
    struct chunk *chunks = (struct chunk *)(void *)segment;
    for (uint64_t i = count; i > 0; i--) { /* the first is the segment's */
        give_chunk(wheel, &chunks[i]);
    }
    return true;
}

static __attribute__((noinline)) void make_room(struct chunk_wheel *wheel);

static uint32_t level_of_slot(uint32_t slot)
{
    uint32_t level = 0;
    while (level + 1 < LEVELS && slot >= levels[level + 1].first) {
        level++;
    }
    return level;
}

static inline void set_occupied(struct chunk_wheel *wheel, uint32_t slot)
{
    wheel->occupied[slot / 64] |= UINT64_C(1) << slot % 64;
}

static inline void clear_occupied(struct chunk_wheel *wheel, uint32_t slot)
{
    wheel->occupied[slot / 64] &= ~(UINT64_C(1) << slot % 64);
}

/* Appends where a chunk is missing. `wake` is the tick at which an advance has to do with the slot,
 * if nothing else was in it: an upper level's with moving it down. */
static __attribute__((noinline)) enum tl_status
append_chunk(struct chunk_wheel *wheel, uint32_t slot, uint64_t entry, uint64_t wake)
{
    struct chunk *chunk = take_free(wheel);
    uint64_t *tail = wheel->tails[slot];
    if (tail == NULL) {
        chunk->next = chunk;
        wheel->chunks[slot] = 1;
        set_occupied(wheel, slot);
        wheel->quiet = wake < wheel->quiet ? wake : wheel->quiet;
        if (slot >= levels[1].first && wake < wheel->upper_quiet) {
            wheel->upper_quiet = wake;
        }
    } else {
        struct chunk *last = chunk_of(tail);
        chunk->next = last->next;
        last->next = chunk;
        wheel->chunks[slot]++;
    }
    chunk->entries[0] = entry;
    wheel->tails[slot] = &chunk->entries[1];
    if (__builtin_expect(wheel->free == NULL, 0) && !wheel->sweeping) {
        make_room(wheel);
    }
    return TL_OK;
}

/* The last act of every operation that files: it may sweep, and finds states and nodes as they are
 * to be. */
static inline enum tl_status append(struct chunk_wheel *wheel, uint32_t slot, uint64_t entry,
                                    uint64_t wake)
{
    TL_COUNT(wheel, moves, 1);
    uint64_t *tail = wheel->tails[slot];
    if (__builtin_expect(is_chunk_end(tail), 0)) { /* NULL too */
        return append_chunk(wheel, slot, entry, wake);
    }
    *tail = entry;
    wheel->tails[slot] = tail + 1;
    return TL_OK;
}

/* A slot's first chunk, still in it. Requires one. */
static inline struct cursor first_chunk(const struct chunk_wheel *wheel, uint32_t slot)
{
    uint64_t *tail = wheel->tails[slot];
    struct chunk *last = chunk_of(tail);
    struct chunk *first = last->next;
    return (struct cursor){
        .chunk = first, .end = first == last ? (uint32_t)(tail - first->entries) : CHUNK_ENTRIES};
}

/* Takes a slot's first chunk out. Requires one. */
static inline struct cursor take_chunk(struct chunk_wheel *wheel, uint32_t slot)
{
    uint64_t *tail = wheel->tails[slot];
    struct chunk *last = chunk_of(tail);
    struct chunk *first = last->next;
    wheel->chunks[slot]--;
    if (first == last) {
        wheel->tails[slot] = NULL;
        clear_occupied(wheel, slot);
        return (struct cursor){.chunk = first, .end = (uint32_t)(tail - first->entries)};
    }
    last->next = first->next;
    return (struct cursor){.chunk = first, .end = CHUNK_ENTRIES};
}

/* Moves all of a slot's chunks behind those of DUE. */
static inline void put_due(struct chunk_wheel *wheel, uint32_t slot)
{
    uint64_t *tail = wheel->tails[slot];
    uint64_t *due = wheel->tails[SLOT_DUE];
    TL_COUNT(wheel, slots, 1);
    if (due != NULL) {
        struct chunk *last = chunk_of(due);
        while (!is_chunk_end(due)) { /* what is no longer the last must be full */
            *due++ = make_entry(0, MARK_DEAD);
        }
        struct chunk *behind = chunk_of(tail);
        struct chunk *first = behind->next;
        behind->next = last->next;
        last->next = first;
    }
    wheel->tails[SLOT_DUE] = tail;
    wheel->tails[slot] = NULL;
    clear_occupied(wheel, slot);
}

/* --- filing ---------------------------------------------------------------------------------- */

/* To be done whenever the clock has come to another block. */
static inline void set_ends(struct chunk_wheel *wheel)
{
    for (uint32_t level = 0; level < 2; level++) {
        uint32_t shift = levels[level + 1].shift;
        wheel->ends[level] = ((wheel->clock >> shift) + 2) << shift;
    }
}

/* The first tick of the next block: until then the ends hold. */
static inline uint64_t block_end(const struct chunk_wheel *wheel)
{
    return wheel->ends[0] - (UINT64_C(1) << levels[1].shift);
}

static __attribute__((noinline)) enum tl_status file_further(struct chunk_wheel *wheel, uint32_t id,
                                                             uint64_t tick)
{
    uint32_t level = 2 + ((tick >> levels[3].shift) - (wheel->clock >> levels[3].shift) > 1);
    uint64_t block = tick >> levels[level].shift;
    uint32_t slot = levels[level].first + ((uint32_t)block & (levels[level].slots - 1));
    return append(wheel, slot, make_entry(id, (uint32_t)tick & TICK_MASK),
                  (block - 1) << levels[level].shift);
}

/* Files a timer under a tick after the clock, less than 2^28 ahead. */
static inline enum tl_status file_timer(struct chunk_wheel *wheel, uint32_t id, uint64_t tick)
{
    uint64_t entry = make_entry(id, (uint32_t)tick & TICK_MASK);
    if (tick < wheel->ends[0]) {
        return append(wheel, (uint32_t)tick % levels[0].slots, entry, tick);
    }
    if (tick < wheel->ends[1]) {
        uint64_t block = tick >> levels[1].shift;
        return append(wheel, levels[1].first + (uint32_t)block % levels[1].slots, entry,
                      (block - 1) << levels[1].shift);
    }
    return file_further(wheel, id, tick);
}

/* Makes a timer, which has no live entry or whose live entry shall not count any more, fire in the
 * next advance. */
static void file_late(struct chunk_wheel *wheel, uint32_t id, uint64_t extra)
{
    wheel->serial++;
    wheel->nodes[id] = make_late(extra, wheel->serial);
    set_state(wheel, id, STATE_LOOSE);
    append(wheel, SLOT_LATE, make_entry(id, MARK_LATE | ((uint32_t)wheel->serial & TICK_MASK)),
           LEFT_OVER);
}

static void wake_for_far(struct chunk_wheel *wheel, uint64_t deadline)
{
    uint64_t at = deadline - NEAR_TICKS / 2;
    if (at < wheel->far_quiet) {
        wheel->far_quiet = at;
        wheel->upper_quiet = at < wheel->upper_quiet ? at : wheel->upper_quiet;
        wheel->quiet = at < wheel->quiet ? at : wheel->quiet;
    }
}

static __attribute__((noinline)) enum tl_status
refile_sooner(struct chunk_wheel *wheel, uint32_t id, uint64_t node, uint64_t deadline)
{
    wheel->nodes[id] = make_near(node_extra_superseded(node), deadline, deadline);
    return file_timer(wheel, id, deadline);
}

/* Whether a restart is to no earlier than the node's live entry, which it has. */
static inline bool is_later(uint64_t node, uint64_t deadline)
{
    return node_is_near(node) && ticks_ahead((uint32_t)deadline & TICK_MASK, node_filed(node)) >= 0;
}

/* A restart of a timer that may have entries, and is LOOSE by now. */
static inline enum tl_status refile(struct chunk_wheel *wheel, uint32_t id, uint64_t deadline)
{
    uint64_t node = unpark(wheel->nodes[id]);
    TL_COUNT(wheel, compares, 1);
    if (is_later(node, deadline)) {
        wheel->nodes[id] = with_deadline(node, deadline);
        return TL_OK;
    }
    return refile_sooner(wheel, id, node, deadline);
}

/* A start for a deadline that is near, of a timer that is not IDLE. */
static __attribute__((noinline)) enum tl_status start_filed(struct chunk_wheel *wheel, uint32_t id,
                                                            uint64_t deadline)
{
    uint8_t *byte = &wheel->states[id / STATES_A_BYTE];
    uint32_t pending = *byte >> state_shift(id) & STATE_PENDING;
    *byte = (uint8_t)(*byte | STATE_LOOSE << state_shift(id));
    wheel->count += pending ^ STATE_PENDING;
    return refile(wheel, id, deadline);
}

/* A start for a deadline that is near. */
static inline enum tl_status start_near(struct chunk_wheel *wheel, uint32_t id, uint64_t deadline)
{
    uint8_t *byte = &wheel->states[id / STATES_A_BYTE];
    uint32_t states = *byte;
    if ((states >> state_shift(id) & STATE_MASK) != STATE_IDLE) {
        return start_filed(wheel, id, deadline);
    }
    *byte = (uint8_t)(states | (uint32_t)STATE_EXACT << state_shift(id));
    wheel->nodes[id] = make_exact(deadline);
    wheel->count++;
    return file_timer(wheel, id, deadline);
}

/* The same where restarts to later deadlines are likely: they end with a look at the node. */
static inline enum tl_status restart_near(struct chunk_wheel *wheel, uint32_t id, uint64_t deadline)
{
    uint64_t node = wheel->nodes[id];
    if (is_later(node, deadline)) {
        TL_COUNT(wheel, compares, 1);
        wheel->nodes[id] = with_deadline(node, deadline);
        return TL_OK;
    }
    return start_near(wheel, id, deadline);
}

/* --- the queue ------------------------------------------------------------------------------- */

/* Starts all that wait, the oldest first. */
static __attribute__((noinline)) void work_off(struct chunk_wheel *wheel)
{
    for (uint32_t i = 0; i < QUEUE; i++) {
        uint32_t at = (wheel->queue_at + i) % QUEUE;
        struct waiting waiting = wheel->queue[at];
        if (waiting.id != NO_ID) {
            wheel->queue[at].id = NO_ID;
            restart_near(wheel, waiting.id, waiting.deadline);
        }
    }
    wheel->queue_due = TL_NEVER;
}

static inline void work_off_queue(struct chunk_wheel *wheel)
{
    if (wheel->queue_due != TL_NEVER) {
        work_off(wheel);
    }
}

static inline enum tl_status queue_start(struct chunk_wheel *wheel, uint32_t id, uint64_t deadline)
{
    __builtin_prefetch(&wheel->states[id / STATES_A_BYTE], 1);
    __builtin_prefetch(&wheel->nodes[id], 1);
    struct waiting *place = &wheel->queue[wheel->queue_at];
    struct waiting oldest = *place;
    place->id = id;
    place->deadline = deadline;
    wheel->queue_at = (wheel->queue_at + 1) % QUEUE;
    wheel->queue_due = deadline < wheel->queue_due ? deadline : wheel->queue_due;
    return oldest.id != NO_ID ? restart_near(wheel, oldest.id, oldest.deadline) : TL_OK;
}

static inline bool is_queued(const struct chunk_wheel *wheel, uint32_t id)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < QUEUE; i++) {
        found |= wheel->queue[i].id == id;
    }
    return found != 0;
}

/* --- start and stop -------------------------------------------------------------------------- */

/* A start for now, the past, or a deadline that is far. */
static __attribute__((noinline)) enum tl_status start_apart(struct chunk_wheel *wheel, uint32_t id,
                                                            uint64_t deadline)
{
    work_off_queue(wheel);
    uint32_t state = state_of(wheel, id);
    uint64_t node = state == STATE_IDLE ? make_late(0, 0) : unpark(wheel->nodes[id]);
    wheel->count += (state & STATE_PENDING) == 0;
    if (deadline <= wheel->clock) {
        bool filed = !node_is_near(node) && !node_is_far(node) && (node & SERIAL_MASK) != 0 &&
                     (node & SERIAL_MASK) >= wheel->fence;
        if (filed) {
            set_state(wheel, id, STATE_LOOSE);
        } else {
            file_late(wheel, id, node_extra_superseded(node));
        }
        return TL_OK;
    }
    set_state(wheel, id, STATE_LOOSE);
    wheel->nodes[id] = NODE_FAR | (deadline - 1);
    wake_for_far(wheel, deadline);
    if (!node_is_far(node)) {
        append(wheel, SLOT_FAR, make_entry(id, MARK_FAR), TL_NEVER);
    }
    return TL_OK;
}

/* A start of the id behind the last one's, so often that their lines come together: they are not
 * waited for, and nor are those of what goes on so. */
static __attribute__((noinline)) enum tl_status start_in_sequence(struct chunk_wheel *wheel,
                                                                  uint32_t id, uint64_t deadline)
{
    work_off_queue(wheel);
    wheel->sequel = id + 1;
    return start_near(wheel, id, deadline);
}

static inline enum tl_status start_queued(struct chunk_wheel *wheel, uint32_t id, uint64_t deadline)
{
    wheel->in_sequence = id == wheel->last_id + 1 ? wheel->in_sequence + 1 : 0;
    wheel->last_id = id;
    wheel->sequel = NO_ID;
    return wheel->in_sequence < QUEUE ? queue_start(wheel, id, deadline)
                                      : start_in_sequence(wheel, id, deadline);
}

static enum tl_status wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct chunk_wheel *wheel = self;
    if (wheel->linked.lists != NULL) {
        return linked_start(&wheel->linked, id, deadline);
    }
    if (__builtin_expect(deadline - wheel->clock - 1 >= NEAR_TICKS - 1, 0)) {
        return start_apart(wheel, id, deadline);
    }
    if (id == wheel->sequel) {
        wheel->sequel = id + 1;
        return start_near(wheel, id, deadline);
    }
    return wheel->queueing ? start_queued(wheel, id, deadline) : start_near(wheel, id, deadline);
}

/* A stop with chunks. */
static __attribute__((noinline)) enum tl_status stop_late(struct chunk_wheel *wheel, uint32_t id)
{
    if (wheel->queue_due != TL_NEVER && is_queued(wheel, id)) {
        work_off(wheel);
    }
    wheel->stopped = wheel->clock;
    uint8_t *byte = &wheel->states[id / STATES_A_BYTE];
    uint32_t state = (uint32_t)*byte >> state_shift(id) & STATE_MASK;
    uint32_t pending = state & STATE_PENDING;
    *byte = (uint8_t)(*byte & ~(STATE_PENDING << state_shift(id)));
    wheel->count -= pending;
    if (state == STATE_LOOSE) {
        uint64_t node = wheel->nodes[id];
        wheel->nodes[id] = node_is_near(node) ? park(node) : node;
    }
    return pending != 0 ? TL_OK : TL_IDLE;
}

static enum tl_status wheel_stop(void *self, uint32_t id)
{
    struct chunk_wheel *wheel = self;
    return wheel->linked.lists != NULL ? linked_stop(&wheel->linked, id) : stop_late(wheel, id);
}

/* --- visiting entries ------------------------------------------------------------------------ */

static inline void set_stopped(struct chunk_wheel *wheel, uint32_t id, uint64_t extra)
{
    wheel->nodes[id] = make_late(extra, 0);
    set_state(wheel, id, extra == 0 ? STATE_IDLE : STATE_STALE);
}

/* An entry of LATE. */
static bool visit_late(struct chunk_wheel *wheel, uint64_t entry, bool settling)
{
    uint32_t id = (uint32_t)entry;
    uint32_t stamp = (uint32_t)(entry >> 32);
    if ((stamp & MARKS) != MARK_LATE) {
        return false;
    }
    uint32_t state = state_of(wheel, id);
    uint64_t node = unpark(wheel->nodes[id]);
    if ((state != STATE_LOOSE && state != STATE_STALE) || node_is_near(node) || node_is_far(node) ||
        (((uint32_t)node ^ stamp) & TICK_MASK) != 0 || (node & SERIAL_MASK) == 0) {
        return false;
    }
    if (settling) {
        append(wheel, SLOT_LATE, entry, LEFT_OVER);
        return false;
    }
    if ((node & SERIAL_MASK) >= wheel->fence) {
        return false;
    }
    set_stopped(wheel, id, node_extra(node));
    wheel->count -= state & STATE_PENDING;
    return (state & STATE_PENDING) != 0;
}

/* An entry that its node decides about, but for the common case. */
static __attribute__((noinline)) bool visit_apart(struct chunk_wheel *wheel, uint64_t entry,
                                                  uint32_t state, bool settling)
{
    uint32_t id = (uint32_t)entry;
    uint64_t node = unpark(wheel->nodes[id]);
    uint64_t extra = node_extra(node);
    if (!node_is_near(node) || node_filed(node) != (uint32_t)(entry >> 32)) { /* superseded */
        if (extra < EXTRA_MANY && !node_is_far(node)) {
            bool near = node_is_near(node);
            node -= UINT64_C(1) << (near ? NODE_EXTRA_SHIFT : LATE_EXTRA_SHIFT);
            wheel->nodes[id] = near && state == STATE_STALE ? park(node) : node;
            if (state == STATE_STALE && node == make_late(0, 0)) {
                set_state(wheel, id, STATE_IDLE);
            }
        }
        return false;
    }
    if (state == STATE_STALE) {
        set_stopped(wheel, id, extra);
        return false;
    }
    if (settling) {
        file_late(wheel, id, extra);
        return false;
    }
    set_stopped(wheel, id, extra);
    wheel->count--;
    return true;
}

/* The common case of an entry that its node decides about: the timer was restarted, and is filed
 * again. It stays LOOSE, since it is likely to be restarted again. False: it is another case. */
static inline bool visit_restarted(struct chunk_wheel *wheel, uint64_t entry)
{
    uint32_t id = (uint32_t)entry;
    uint64_t node = wheel->nodes[id];
    int32_t ahead = ticks_ahead(node_due(node), wheel->clock);
    if (!node_is_near(node) || node_filed(node) != (uint32_t)(entry >> 32) || ahead <= 0) {
        return false;
    }
    wheel->looks++;
    TL_COUNT(wheel, compares, 1);
    TL_COUNT(wheel, cascades, 1);
    wheel->nodes[id] = (node & ~((uint64_t)TICK_MASK << TICK_BITS)) | (uint64_t)node_due(node)
                                                                          << TICK_BITS;
    (void)file_timer(wheel, id, wheel->clock + (uint64_t)ahead);
    return true;
}

/* Decides about an entry that is in no slot any more. True: its timer is no longer pending, and to
 * be fired. Otherwise it is filed where it belongs, or dropped. While settling, what is due goes to
 * LATE. Where restarted timers are likely, the node is looked at before the state. */
static inline bool visit(struct chunk_wheel *wheel, uint64_t entry, bool settling, bool restarted)
{
    uint32_t id = (uint32_t)entry;
    uint32_t stamp = (uint32_t)(entry >> 32);
    if (restarted && visit_restarted(wheel, entry)) {
        return false;
    }
    if (__builtin_expect((stamp & MARKS) != 0, 0)) {
        return visit_late(wheel, entry, settling);
    }
    uint32_t state = state_of(wheel, id);
    if (__builtin_expect(state == STATE_EXACT, 1)) {
        int32_t ahead = ticks_ahead(stamp, wheel->clock);
        if (ahead > 0) {
            TL_COUNT(wheel, cascades, 1);
            file_timer(wheel, id, wheel->clock + (uint64_t)ahead);
            return false;
        }
        if (settling) {
            file_late(wheel, id, 0);
            return false;
        }
        set_state(wheel, id, STATE_IDLE);
        wheel->count--;
        return true;
    }
    if (state == STATE_LEFT) {
        set_state(wheel, id, STATE_IDLE);
        return false;
    }
    if (!restarted && visit_restarted(wheel, entry)) {
        return false;
    }
    wheel->looks++;
    TL_COUNT(wheel, compares, 1);
    return visit_apart(wheel, entry, state, settling);
}

/* Fetches the node that visiting an entry is going to look at. */
static inline void fetch_node(const struct chunk_wheel *wheel, uint64_t entry)
{
    uint32_t id = (uint32_t)entry;
    __builtin_prefetch(&wheel->states[id / STATES_A_BYTE], 1);
    __builtin_prefetch(&wheel->nodes[id], 1);
}

static inline void fetch_nodes(const struct chunk_wheel *wheel, const struct cursor *cursor)
{
    for (uint32_t i = cursor->at; i < cursor->end; i++) {
        fetch_node(wheel, cursor->chunk->entries[i]);
    }
}

/* Whether the first timers of a chunk are all EXACT. */
static inline bool begins_exact(const struct chunk_wheel *wheel, const struct cursor *cursor)
{
    bool exact = true;
    for (uint32_t i = 0; i < SAMPLE; i++) {
        uint32_t at = i < cursor->end ? i : 0;
        exact &= state_of(wheel, (uint32_t)cursor->chunk->entries[at]) == STATE_EXACT;
    }
    return exact;
}

/* Moves the entries of the chunk at the cursor to the slots of the first level's next block,
 * without a look at their timers. */
static void move_unseen(struct chunk_wheel *wheel)
{
    uint64_t block = ((wheel->clock >> levels[1].shift) + 1) << levels[1].shift;
    while (wheel->moved.at < wheel->moved.end) {
        uint64_t entry = wheel->moved.chunk->entries[wheel->moved.at++];
        uint32_t stamp = (uint32_t)(entry >> 32);
        if ((stamp & MARKS) == 0) { /* a sweep may have come between */
            TL_COUNT(wheel, cascades, 1);
            append(wheel, stamp % levels[0].slots, entry, block + stamp % (levels[0].slots / 2));
        }
    }
}

/* Moves down, or drops, the entries of a slot's first chunk; none of them is due, or `settling`.
 * What is filed under its tick may be moved to there whatever has become of its timer: so where
 * timers are left alone, the chunks of the second level are moved without a look at the states. */
static void move_chunk(struct chunk_wheel *wheel, uint32_t slot, bool settling)
{
    wheel->moved = take_chunk(wheel, slot);
    if (slot - levels[1].first < levels[1].slots && begins_exact(wheel, &wheel->moved)) {
        move_unseen(wheel);
    } else {
        struct cursor ahead = {0};
        if (wheel->queued) {
            if (wheel->moved.chunk != wheel->fetched) {
                fetch_nodes(wheel, &wheel->moved);
            }
            if (wheel->tails[slot] != NULL) {
                ahead = first_chunk(wheel, slot);
                wheel->fetched = ahead.chunk;
            }
        }
        while (wheel->moved.at < wheel->moved.end) {
            if (wheel->moved.at < ahead.end) {
                fetch_node(wheel, ahead.chunk->entries[wheel->moved.at]);
            }
            (void)visit(wheel, wheel->moved.chunk->entries[wheel->moved.at++], settling, true);
        }
    }
    if (wheel->tails[slot] != NULL) {
        fetch_chunk(chunk_of(wheel->tails[slot])->next->next);
    }
    give_chunk(wheel, wheel->moved.chunk);
    wheel->moved.chunk = NULL;
}

/* --- sweeping -------------------------------------------------------------------------------- */

/* Whether an entry is still good for something. What is not kept is gone once the sweep is over:
 * nodes count no others any more, and timers that are not pending are IDLE. */
static bool outlives_sweep(struct chunk_wheel *wheel, uint64_t entry)
{
    uint32_t id = (uint32_t)entry;
    uint32_t stamp = (uint32_t)(entry >> 32);
    uint32_t mark = stamp & MARKS;
    if (mark == MARK_DEAD) {
        return false;
    }
    uint32_t state = state_of(wheel, id);
    if ((state & STATE_PENDING) == 0) {
        set_state(wheel, id, STATE_IDLE);
        return false;
    }
    if (state == STATE_EXACT) {
        return mark == 0;
    }
    uint64_t node = wheel->nodes[id];
    if (mark == MARK_LATE) {
        return !node_is_near(node) && !node_is_far(node) &&
               (((uint32_t)node ^ stamp) & TICK_MASK) == 0;
    }
    bool live =
        mark == MARK_FAR ? node_is_far(node) : node_is_near(node) && node_filed(node) == stamp;
    if (node_is_near(node)) {
        wheel->nodes[id] = make_near(0, node_filed(node), node_due(node));
    } else if (!node_is_far(node)) {
        wheel->nodes[id] = make_late(0, node & SERIAL_MASK);
    }
    live = live && state == STATE_LOOSE; /* not one that has come by already */
    if (live) {
        set_state(wheel, id, STATE_SEEN);
    }
    return live;
}

static void sweep_slot(struct chunk_wheel *wheel, uint32_t slot)
{
    if (wheel->tails[slot] == NULL) {
        return;
    }
    struct chunk *last = chunk_of(wheel->tails[slot]);
    struct chunk *chunk = last->next;
    size_t in_last = (size_t)(wheel->tails[slot] - last->entries);
    last->next = NULL;
    wheel->tails[slot] = NULL;
    clear_occupied(wheel, slot);
    while (chunk != NULL) {
        /* Given back before what is kept takes chunks: so one is always there. */
        struct chunk copy = *chunk;
        size_t end = chunk == last ? in_last : CHUNK_ENTRIES;
        give_chunk(wheel, chunk);
        for (size_t i = 0; i < end; i++) {
            if (outlives_sweep(wheel, copy.entries[i])) {
                append(wheel, slot, copy.entries[i], wheel->clock);
            }
        }
        chunk = copy.next;
    }
}

static void sweep_cursor(struct chunk_wheel *wheel, struct cursor *cursor)
{
    for (uint32_t i = cursor->at; cursor->chunk != NULL && i < cursor->end; i++) {
        uint64_t *entry = &cursor->chunk->entries[i];
        if (!outlives_sweep(wheel, *entry)) {
            *entry = make_entry(0, MARK_DEAD);
        }
    }
}

/* Drops every entry that is good for nothing. */
static void sweep(struct chunk_wheel *wheel)
{
    wheel->sweeping = true;
    sweep_cursor(wheel, &wheel->due);
    sweep_cursor(wheel, &wheel->moved);
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        sweep_slot(wheel, slot);
    }
    for (uint32_t id = 0; id < wheel->capacity; id++) {
        if (state_of(wheel, id) == STATE_SEEN) {
            set_state(wheel, id, STATE_LOOSE);
        }
    }
    wheel->sweeping = false;
}

/* There is no free chunk: gets one. */
static __attribute__((noinline)) void make_room(struct chunk_wheel *wheel)
{
    if (wheel->chunk_total < wheel->chunk_limit) {
        uint64_t missing = wheel->chunk_limit - wheel->chunk_total;
        uint64_t most = SEGMENT_BYTES / CHUNK_BYTES - 1;
        if (add_chunks(wheel, missing < most ? missing : most)) {
            return;
        }
    }
    sweep(wheel);
}

/* --- advance --------------------------------------------------------------------------------- */

/* The first occupied slot behind position `from` of a level: how many further on, from 0; or the
 * level's number of slots. */
static inline uint32_t slots_to_occupied(const struct chunk_wheel *wheel, uint32_t level,
                                         uint64_t from)
{
    return bitmap_words_ahead(&wheel->occupied[levels[level].first_word], levels[level].slots,
                              from);
}

/* Moves the clock to `now`, less than 2^28 ahead, and the slots that it passes or enters to DUE. */
static void collect(struct chunk_wheel *wheel, uint64_t now)
{
    uint64_t old = wheel->clock;
    wheel->clock = now;
    set_ends(wheel);
    for (uint32_t level = 0; level < LEVELS; level++) {
        uint64_t from = old >> levels[level].shift;
        uint64_t to = now >> levels[level].shift;
        if (from == to) {
            break; /* nor has any level above moved */
        }
        uint64_t end = to - from < levels[level].slots ? to : from + levels[level].slots;
        while (from < end) {
            from += 1 + slots_to_occupied(wheel, level, from);
            if (from <= end) {
                uint32_t slot = levels[level].first + ((uint32_t)from & (levels[level].slots - 1));
                put_due(wheel, slot);
            }
        }
    }
}

/* Searches FAR for what is no longer far. */
static void search_far(struct chunk_wheel *wheel)
{
    wheel->far_quiet = TL_NEVER;
    uint32_t chunks = wheel->tails[SLOT_FAR] != NULL ? wheel->chunks[SLOT_FAR] : 0;
    while (chunks-- > 0) {
        wheel->moved = take_chunk(wheel, SLOT_FAR);
        while (wheel->moved.at < wheel->moved.end) {
            uint64_t entry = wheel->moved.chunk->entries[wheel->moved.at++];
            uint32_t id = (uint32_t)entry;
            uint32_t state = state_of(wheel, id);
            uint64_t node = wheel->nodes[id];
            TL_COUNT(wheel, compares, 1);
            if ((state != STATE_LOOSE && state != STATE_STALE) || !node_is_far(node) ||
                (uint32_t)(entry >> 32) != MARK_FAR) {
                continue;
            }
            uint64_t deadline = (node & ~NODE_FAR) + 1;
            if (state == STATE_STALE) {
                wheel->nodes[id] = make_late(EXTRA_MANY, 0);
            } else if (deadline <= wheel->clock) {
                file_late(wheel, id, EXTRA_MANY);
            } else if (deadline - wheel->clock < NEAR_TICKS) {
                wheel->nodes[id] = make_near(EXTRA_MANY, deadline, deadline);
                file_timer(wheel, id, deadline);
            } else {
                wake_for_far(wheel, deadline);
                append(wheel, SLOT_FAR, entry, TL_NEVER);
            }
        }
        give_chunk(wheel, wheel->moved.chunk);
        wheel->moved.chunk = NULL;
    }
}

static bool is_due_left(const struct chunk_wheel *wheel)
{
    return wheel->due.chunk != NULL || wheel->tails[SLOT_DUE] != NULL;
}

/* Visits all of DUE; what is due goes to LATE, where its 30 bits no longer matter. */
static void settle(struct chunk_wheel *wheel)
{
    if (wheel->due.chunk != NULL) {
        while (wheel->due.at < wheel->due.end) {
            (void)visit(wheel, wheel->due.chunk->entries[wheel->due.at++], true, false);
        }
        give_chunk(wheel, wheel->due.chunk);
        wheel->due.chunk = NULL;
    }
    while (wheel->tails[SLOT_DUE] != NULL) {
        move_chunk(wheel, SLOT_DUE, true);
    }
}

/* An advance so long, or after a remainder so old, that ticks of 30 bits do not tell before from
 * after. */
static void leap(struct chunk_wheel *wheel, uint64_t now)
{
    settle(wheel);
    if (now - wheel->clock >= NEAR_TICKS) {
        /* Every deadline in a slot is less than that ahead: the slots are empty then. */
        collect(wheel, wheel->clock + NEAR_TICKS - 1);
        settle(wheel);
        wheel->clock = now;
    }
}

/* Moves down what the time has come for, of the slots of the next blocks. */
static void move_down(struct chunk_wheel *wheel)
{
    uint64_t now = wheel->clock;
    for (uint32_t level = 1; level < LEVELS; level++) {
        uint64_t block = (now >> levels[level].shift) + 1;
        uint32_t slot = levels[level].first + ((uint32_t)block & (levels[level].slots - 1));
        if (wheel->tails[slot] == NULL) {
            continue;
        }
        uint64_t ticks = (block << levels[level].shift) - now;
        uint64_t chunks = (wheel->chunks[slot] + ticks - 1) / ticks;
        TL_COUNT(wheel, slots, 1);
        while (chunks-- > 0 && wheel->tails[slot] != NULL) {
            move_chunk(wheel, slot, false);
        }
    }
    uint64_t end = block_end(wheel);
    wheel->upper_quiet = wheel->far_quiet < end ? wheel->far_quiet : end;
    for (uint32_t level = 1; level < LEVELS; level++) {
        uint64_t from = now >> levels[level].shift;
        uint32_t ahead = slots_to_occupied(wheel, level, from);
        uint64_t at = TL_NEVER;
        if (ahead == 0) {
            uint32_t slot =
                levels[level].first + ((uint32_t)(from + 1) & (levels[level].slots - 1));
            uint64_t ticks = ((from + 1) << levels[level].shift) - 1 - now;
            uint64_t pace = ticks / wheel->chunks[slot];
            at = now + (pace > 0 ? pace : 1);
        } else if (ahead < levels[level].slots) {
            at = (from + ahead) << levels[level].shift;
        }
        wheel->upper_quiet = at < wheel->upper_quiet ? at : wheel->upper_quiet;
    }
}

/* Fires what is due of the chunk at the cursor; `ahead` is what is likely to fire next. False: the
 * budget is used up before its end. Where entries are doubtful, since timers were restarted, their
 * nodes are going to be read, and where callbacks start again what fires, to be written: then they
 * are fetched, one with each visit to the chunk before. */
static inline bool fire_chunk(struct chunk_wheel *wheel, struct cursor ahead, uint64_t now,
                              uint64_t budget, uint64_t *fired, tl_fire_fn fire, void *ctx)
{
    bool loose = wheel->due_loose;
    if (wheel->due_nodes && wheel->due.chunk != wheel->fetched) {
        fetch_nodes(wheel, &wheel->due);
    }
    wheel->fetched = ahead.chunk;
    uint64_t looks = wheel->looks;
    uint64_t started = wheel->count + *fired;
    const struct chunk *chunk = wheel->due.chunk;
    uint32_t end = wheel->due.end;
    for (uint32_t at = wheel->due.at; at < end; at++) {
        if (*fired == budget) {
            return false;
        }
        uint64_t entry = chunk->entries[at];
        wheel->due.at = at + 1; /* a sweep must not look at what is decided here */
        if (at < ahead.end) {
            fetch_node(wheel, ahead.chunk->entries[at]);
        }
        if (visit(wheel, entry, false, loose)) {
            ++*fired;
            TL_COUNT(wheel, moves, 1);
            fire(ctx, (uint32_t)entry, now);
        }
    }
    looks = wheel->looks - looks;
    started = wheel->count + *fired - started; /* by the callbacks, less what they stopped */
    wheel->due_loose = wheel->queued && looks > end / 4;
    wheel->due_nodes = wheel->queued && (looks > end / 4 || (int64_t)started > end / 4);
    give_chunk(wheel, wheel->due.chunk);
    wheel->due.chunk = NULL;
    return true;
}

/* Fires from DUE. Returns how many. */
static uint64_t fire_due(struct chunk_wheel *wheel, uint64_t now, uint64_t budget, tl_fire_fn fire,
                         void *ctx)
{
    uint64_t fired = 0;
    do {
        if (wheel->due.chunk == NULL) {
            if (wheel->tails[SLOT_DUE] == NULL) {
                break;
            }
            wheel->due = take_chunk(wheel, SLOT_DUE);
        }
    } while (fire_chunk(wheel, (struct cursor){0}, now, budget, &fired, fire, ctx));
    return fired;
}

/* What is left for the next advance has it begin at once. */
static inline void set_quiet(struct chunk_wheel *wheel, uint64_t first_level)
{
    if (is_due_left(wheel) || wheel->tails[SLOT_LATE] != NULL) {
        wheel->upper_quiet = LEFT_OVER;
    }
    wheel->quiet = first_level < wheel->upper_quiet ? first_level : wheel->upper_quiet;
}

/* The first tick after `from` of which the first level has an occupied slot; or TL_NEVER. */
static inline uint64_t next_of_first_level(const struct chunk_wheel *wheel, uint64_t from)
{
    uint64_t ahead = slots_to_occupied(wheel, 0, from);
    return ahead < levels[0].slots ? from + 1 + ahead : TL_NEVER;
}

static __attribute__((noinline)) uint64_t advance_busy(struct chunk_wheel *wheel, uint64_t now,
                                                       uint64_t budget, tl_fire_fn fire, void *ctx)
{
    if (!is_due_left(wheel)) {
        wheel->due_since = wheel->clock;
    }
    if (now - wheel->due_since >= NEAR_TICKS) {
        leap(wheel, now);
        wheel->due_since = wheel->clock;
    }
    collect(wheel, now);
    if (now >= wheel->far_quiet) {
        search_far(wheel);
    }
    if (wheel->tails[SLOT_LATE] != NULL) {
        put_due(wheel, SLOT_LATE);
    }
    wheel->fence = wheel->serial + 1;
    wheel->queueing = false;
    uint64_t fired = fire_due(wheel, now, budget, fire, ctx);
    wheel->fence = 0;
    wheel->queueing = wheel->queued;
    if (now >= wheel->upper_quiet) {
        move_down(wheel);
    }
    set_quiet(wheel, next_of_first_level(wheel, now));
    return fired;
}

/* While the slot of `tick` fires: the chunk whose nodes are to be fetched, if any are. */
static inline struct cursor chunk_to_fetch(const struct chunk_wheel *wheel, uint64_t tick)
{
    if (!wheel->due_nodes) {
        return (struct cursor){0};
    }
    if (wheel->tails[tick % levels[0].slots] == NULL) {
        tick = next_of_first_level(wheel, tick);
    }
    return tick != TL_NEVER ? first_chunk(wheel, (uint32_t)tick % levels[0].slots)
                            : (struct cursor){0};
}

/* Fires the slots of the first level from `tick`'s to `now`'s, where they are: nothing that a
 * callback files comes to lie in them. Returns how many timers. */
static uint64_t fire_in_block(struct chunk_wheel *wheel, uint64_t tick, uint64_t now,
                              uint64_t budget, tl_fire_fn fire, void *ctx)
{
    uint64_t fired = 0;
    bool within = true;
    wheel->fence = wheel->serial + 1;
    wheel->queueing = false;
    while (tick <= now) {
        uint32_t slot = (uint32_t)tick % levels[0].slots;
        TL_COUNT(wheel, slots, 1);
        while (within && wheel->tails[slot] != NULL) {
            wheel->due = take_chunk(wheel, slot);
            within = fire_chunk(wheel, chunk_to_fetch(wheel, tick), now, budget, &fired, fire, ctx);
        }
        if (wheel->tails[slot] != NULL) {
            put_due(wheel, slot);
        }
        tick = next_of_first_level(wheel, tick);
    }
    wheel->fence = 0;
    wheel->queueing = wheel->queued;
    if (wheel->queued && tick != TL_NEVER) {
        /* Fetching nodes reads their chunk a tick earlier. */
        uint64_t then = wheel->due_nodes ? next_of_first_level(wheel, tick) : tick;
        then = then != TL_NEVER ? then : tick;
        fetch_chunk(chunk_of(wheel->tails[then % levels[0].slots])->next);
    }
    set_quiet(wheel, tick);
    return fired;
}

/* Within one block nothing is due but slots of the first level, and moving down comes before
 * firing: meanwhile what the queue fetches arrives. If nothing is due either, the queue may stay,
 * unless stops make it dear. */
static __attribute__((noinline)) uint64_t advance_awake(struct chunk_wheel *wheel, uint64_t now,
                                                        uint64_t budget, tl_fire_fn fire, void *ctx)
{
    uint64_t old = wheel->clock;
    bool moves = now >= wheel->upper_quiet;
    if ((old + 1) >> levels[1].shift != now >> levels[1].shift ||
        (moves && (wheel->upper_quiet == LEFT_OVER || now >= wheel->far_quiet))) {
        work_off_queue(wheel);
        return advance_busy(wheel, now, budget, fire, ctx);
    }
    if (now >= wheel->queue_due) {
        work_off(wheel);
    }
    wheel->due_since = old;
    wheel->clock = now;
    if (moves) {
        set_ends(wheel);
        move_down(wheel);
    }
    uint64_t tick = next_of_first_level(wheel, old);
    if (wheel->queue_due != TL_NEVER) {
        if (tick > now && now - wheel->stopped > QUEUE_KEPT_TICKS) {
            set_quiet(wheel, tick);
            return 0;
        }
        work_off(wheel);
        tick = next_of_first_level(wheel, old);
    }
    return fire_in_block(wheel, tick, now, budget, fire, ctx);
}

static uint64_t wheel_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct chunk_wheel *wheel = self;
    if (wheel->linked.lists != NULL) {
        return linked_advance(&wheel->linked, now, budget, fire, ctx);
    }
    if (now >= wheel->quiet || now >= wheel->queue_due) {
        return advance_awake(wheel, now, budget, fire, ctx);
    }
    wheel->clock = now;
    return 0;
}

/* What waits in the queue is not seen from outside, so working it off changes nothing. */
static uint64_t wheel_count(const void *self)
{
    struct chunk_wheel *wheel = (struct chunk_wheel *)self;
    if (wheel->linked.lists != NULL) {
        return wheel->linked.count;
    }
    work_off_queue(wheel);
    return wheel->count;
}

static uint64_t wheel_next(const void *self)
{
    const struct chunk_wheel *wheel = self;
    if (wheel->linked.lists != NULL) {
        return linked_next(&wheel->linked);
    }
    if (wheel_count(self) == 0) {
        return TL_NEVER;
    }
    if (is_due_left(wheel) || wheel->tails[SLOT_LATE] != NULL) {
        return wheel->clock;
    }
    uint64_t next = wheel->far_quiet;
    for (uint32_t level = 0; level < LEVELS; level++) {
        uint64_t from = wheel->clock >> levels[level].shift;
        uint32_t ahead = slots_to_occupied(wheel, level, from);
        uint64_t at = (from + 1 + ahead) << levels[level].shift;
        next = ahead < levels[level].slots && at < next ? at : next;
    }
    return next;
}

static void wheel_counters(const void *self, struct tl_counters *out)
{
    const struct chunk_wheel *wheel = self;
    (void)wheel_count(self);
    *out = wheel->linked.lists != NULL ? wheel->linked.counters : wheel->counters;
}

/* --- memory ---------------------------------------------------------------------------------- */

static size_t table_bytes(uint32_t capacity)
{
    return capacity * sizeof(uint64_t) + ((size_t)capacity + STATES_A_BYTE - 1) / STATES_A_BYTE;
}

/* Chunks without which `capacity` live entries may not fit: all full, and one that is not in every
 * slot; two at the cursors, and the one that must be free. */
static uint64_t least_chunks(uint32_t capacity)
{
    return capacity / CHUNK_ENTRIES + (capacity < SLOTS ? capacity : SLOTS) + 4;
}

static enum tl_status reserve_chunks(struct chunk_wheel *wheel, uint32_t capacity)
{
    if (capacity <= wheel->capacity && wheel->free != NULL) {
        return TL_OK;
    }
    if (capacity > CAPACITY_MAX) {
        return TL_ERR_CAPACITY;
    }
    uint64_t *nodes = NULL;
    if (capacity > 0) {
        nodes = tl_alloc(wheel->allocator, table_bytes(capacity), TABLE_ALIGN);
        if (nodes == NULL) {
            return TL_ERR_NOMEM;
        }
    }
    uint64_t least = least_chunks(capacity);
    if (least > wheel->chunk_total && !add_chunks(wheel, least - wheel->chunk_total)) {
        tl_free(wheel->allocator, nodes, table_bytes(capacity), TABLE_ALIGN);
        return TL_ERR_NOMEM;
    }
    if (nodes != NULL) {
        uint8_t *states = (uint8_t *)(nodes + capacity);
        memset(nodes, NODE_NONE_BYTE, capacity * sizeof *nodes); /* and the pages are there */
        memset(states, 0, table_bytes(capacity) - capacity * sizeof *nodes); /* all IDLE */
        if (wheel->capacity > 0) {
            size_t node_bytes = wheel->capacity * sizeof(uint64_t);
            memcpy(nodes, wheel->nodes, node_bytes);
            memcpy(states, wheel->states, table_bytes(wheel->capacity) - node_bytes);
            tl_free(wheel->allocator, wheel->nodes, table_bytes(wheel->capacity), TABLE_ALIGN);
        }
        wheel->nodes = nodes;
        wheel->states = states;
    }
    wheel->capacity = capacity;
    wheel->chunk_limit = least + (uint64_t)capacity * wheel->stale_percent / 100 / CHUNK_ENTRIES;
    wheel->queued = capacity >= wheel->queued_from;
    wheel->queueing = wheel->queued && wheel->fence == 0;
    return TL_OK;
}

/* Of a wheel without entries. */
static void begin_quiet(struct chunk_wheel *wheel)
{
    set_ends(wheel);
    wheel->quiet = block_end(wheel);
    wheel->upper_quiet = wheel->quiet;
    wheel->far_quiet = TL_NEVER;
}

/* From lists to chunks, which have been reserved. */
static void leave_lists(struct chunk_wheel *wheel)
{
    struct linked_wheel *linked = &wheel->linked;
    wheel->clock = linked->clock;
    begin_quiet(wheel);
    wheel->due_since = linked->clock;
    wheel->counters = linked->counters;
    for (uint32_t id = 0; id < linked->capacity; id++) {
        linked_link timer = linked_timer(linked, id);
        if (linked_at(linked, timer)->next != LINKED_NONE) {
            uint64_t deadline = linked_deadline(linked, timer);
            if (deadline - wheel->clock - 1 >= NEAR_TICKS - 1) {
                (void)start_apart(wheel, id, deadline);
            } else {
                (void)start_near(wheel, id, deadline);
            }
        }
    }
    linked_free(linked);
}

static enum tl_status wheel_reserve(void *self, uint32_t capacity)
{
    struct chunk_wheel *wheel = self;
    bool linked = wheel->linked.lists != NULL;
    bool few = wheel->linked_up_to > 0 && capacity <= wheel->linked_up_to;
    if (few && (linked || wheel->free == NULL)) {
        return linked && capacity <= wheel->linked.capacity
                   ? TL_OK
                   : linked_reserve(&wheel->linked, capacity);
    }
    enum tl_status status = reserve_chunks(wheel, capacity);
    if (status == TL_OK && linked) {
        leave_lists(wheel);
    }
    return status;
}

static void wheel_destroy(void *self)
{
    struct chunk_wheel *wheel = self;
    const struct tl_allocator *allocator = wheel->allocator;
    linked_free(&wheel->linked);
    while (wheel->segments != NULL) {
        struct segment *segment = wheel->segments;
        wheel->segments = segment->next;
        tl_free(allocator, segment, segment->bytes, CHUNK_BYTES);
    }
    if (wheel->capacity > 0) {
        tl_free(allocator, wheel->nodes, table_bytes(wheel->capacity), TABLE_ALIGN);
    }
    tl_free(allocator, wheel, sizeof *wheel, alignof(struct chunk_wheel));
}

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    struct chunk_wheel *wheel =
        tl_alloc(config->allocator, sizeof *wheel, alignof(struct chunk_wheel));
    if (wheel == NULL) {
        return TL_ERR_NOMEM;
    }
    *wheel = (struct chunk_wheel){
        .clock = config->now,
        .due_since = config->now,
        .queue_due = TL_NEVER,
        .last_id = NO_ID - 1,
        .sequel = NO_ID,
        .due_loose = true,
        .stale_percent = (uint32_t)config->options[OPTION_STALE],
        .queued_from = (uint32_t)config->options[OPTION_QUEUE],
        .linked_up_to = (uint32_t)config->options[OPTION_LISTS],
        .allocator = config->allocator,
    };
    begin_quiet(wheel);
    linked_init(&wheel->linked, config);
    for (uint32_t i = 0; i < QUEUE; i++) {
        wheel->queue[i].id = NO_ID;
    }
    enum tl_status status = wheel_reserve(wheel, config->capacity);
    if (status != TL_OK) {
        wheel_destroy(wheel);
        return status;
    }
    *self = wheel;
    return TL_OK;
}

/* --- check ----------------------------------------------------------------------------------- */

/* What there is, counted over all entries and all timers: both must come to the same. */
struct census {
    uint64_t chunks;
    uint64_t single; /* entries of timers that have one */
    uint64_t live;   /* entries that a node names */
    uint64_t entries;
};

static const char *check_entry(const struct chunk_wheel *wheel, struct census *seen, uint32_t slot,
                               uint64_t entry)
{
    uint32_t id = (uint32_t)entry;
    uint32_t stamp = (uint32_t)(entry >> 32);
    if ((stamp & MARKS) != 0) {
        return slot < LEVEL_SLOTS ? "a marked entry is in a slot of a level" : NULL;
    }
    if (id >= wheel->capacity) {
        return "an entry names a timer that there is not";
    }
    if (slot < LEVEL_SLOTS) {
        uint32_t level = level_of_slot(slot);
        int32_t ahead = ticks_ahead(stamp, wheel->clock);
        uint64_t tick = wheel->clock + (uint64_t)(int64_t)ahead;
        uint64_t at = (tick >> levels[level].shift) & (levels[level].slots - 1);
        if (ahead <= 0 || at != slot - levels[level].first) {
            return "an entry is in the wrong slot";
        }
    }
    uint32_t state = state_of(wheel, id);
    uint64_t node = wheel->nodes[id];
    seen->entries++;
    if (state == STATE_EXACT || state == STATE_LEFT) {
        seen->single++;
        return node == make_exact(stamp) ? NULL : "a timer's only entry is not what its node says";
    }
    node = unpark(node);
    bool named = node_is_near(node) && node_filed(node) == stamp;
    seen->live += named;
    return state != STATE_IDLE ? NULL : "an idle timer has an entry";
}

static const char *check_slot(const struct chunk_wheel *wheel, struct census *seen, uint32_t slot)
{
    uint64_t *tail = wheel->tails[slot];
    bool occupied =
        slot < LEVEL_SLOTS ? (wheel->occupied[slot / 64] >> slot % 64 & 1) != 0 : tail != NULL;
    if (occupied != (tail != NULL)) {
        return "a slot's bit lies";
    }
    if (tail == NULL) {
        return NULL;
    }
    const struct chunk *last = chunk_of(tail);
    const struct chunk *chunk = last;
    uint64_t chunks = 0;
    do {
        chunk = chunk->next;
        size_t end = chunk == last ? (size_t)(tail - last->entries) : CHUNK_ENTRIES;
        if (++chunks > wheel->chunk_total || end == 0) {
            return "a slot's chunks are not a chain";
        }
        for (size_t i = 0; i < end; i++) {
            const char *wrong = check_entry(wheel, seen, slot, chunk->entries[i]);
            if (wrong != NULL) {
                return wrong;
            }
        }
    } while (chunk != last);
    seen->chunks += chunks;
    bool counted = slot < LEVEL_SLOTS && slot >= levels[1].first;
    return counted && chunks != wheel->chunks[slot] ? "a slot's chunks are miscounted" : NULL;
}

/* What the states and nodes say that there is. */
static const char *check_timers(const struct chunk_wheel *wheel, struct census *due)
{
    uint64_t pending = 0;
    bool known = true;
    for (uint32_t id = 0; id < wheel->capacity; id++) {
        uint32_t state = state_of(wheel, id);
        uint64_t node = unpark(wheel->nodes[id]);
        pending += state & STATE_PENDING;
        if (node_is_near(wheel->nodes[id]) && state != STATE_LOOSE) {
            return "a node says that a timer is loose, and its state not";
        }
        switch (state) {
        case STATE_IDLE:
            break;
        case STATE_EXACT:
        case STATE_LEFT:
            due->single++;
            due->entries++;
            break;
        case STATE_LOOSE:
        case STATE_STALE:
            known &= node_extra(node) < EXTRA_MANY;
            due->live += node_is_near(node);
            due->entries += node_is_near(node) + node_extra(node);
            if (node == make_late(node_extra(node), 0) && state == STATE_LOOSE) {
                return "a pending timer has no entry";
            }
            break;
        default:
            return "a timer's state is none";
        }
    }
    due->entries = known ? due->entries : UINT64_MAX;
    return pending == wheel->count ? NULL : "the timers pending are miscounted";
}

static enum tl_status wheel_check(const void *self, char *why, size_t why_bytes)
{
    const struct chunk_wheel *wheel = self;
    if (wheel->linked.lists != NULL) {
        return linked_check(&wheel->linked, why, why_bytes);
    }
    struct census seen = {0};
    struct census due = {0};
    const char *wrong = check_timers(wheel, &due);
    uint32_t slot = 0;
    for (; wrong == NULL && slot < SLOTS; slot++) {
        wrong = check_slot(wheel, &seen, slot);
    }
    for (uint32_t i = wheel->due.at;
         wrong == NULL && wheel->due.chunk != NULL && i < wheel->due.end; i++) {
        wrong = check_entry(wheel, &seen, SLOT_DUE, wheel->due.chunk->entries[i]);
    }
    if (wrong != NULL) {
        (void)snprintf(why, why_bytes, "%s (slot %" PRIu32 ")", wrong, slot);
        return TL_ERR_CORRUPT;
    }
    uint64_t free_chunks = 0;
    for (const struct chunk *chunk = wheel->free; chunk != NULL; chunk = chunk->next) {
        free_chunks++;
    }
    uint64_t chunks = seen.chunks + free_chunks + (wheel->due.chunk != NULL);
    if (wheel->quiet > block_end(wheel) ||
        block_end(wheel) - wheel->clock - 1 >= levels[0].slots / 2) {
        (void)snprintf(why, why_bytes, "the block's end, %" PRIu64 ", is passed over from %" PRIu64,
                       block_end(wheel), wheel->clock);
        return TL_ERR_CORRUPT;
    }
    if (chunks != wheel->chunk_total || free_chunks == 0) {
        (void)snprintf(why, why_bytes, "%" PRIu64 " chunks in slots, %" PRIu64 " free, of %" PRIu64,
                       seen.chunks, free_chunks, wheel->chunk_total);
        return TL_ERR_CORRUPT;
    }
    /* An entry of the same tick may have been superseded and matched again: so at least. */
    if (seen.single != due.single || seen.live < due.live ||
        (due.entries != UINT64_MAX && seen.entries != due.entries)) {
        (void)snprintf(why, why_bytes,
                       "%" PRIu64 " entries, %" PRIu64 " alone, %" PRIu64
                       " named, where timers have %" PRIu64 ", %" PRIu64 ", %" PRIu64,
                       seen.entries, seen.single, seen.live, due.entries, due.single, due.live);
        return TL_ERR_CORRUPT;
    }
    return TL_OK;
}

/* --- showing --------------------------------------------------------------------------------- */

/* Whether an entry of a LOOSE timer is what its node speaks of. */
static bool is_live(uint64_t node, uint32_t stamp)
{
    switch (stamp & MARKS) {
    case 0:
        return node_is_near(node) && node_filed(node) == stamp;
    case MARK_LATE:
        return !node_is_near(node) && !node_is_far(node) && (node & SERIAL_MASK) != 0 &&
               (((uint32_t)node ^ stamp) & TICK_MASK) == 0;
    case MARK_FAR:
        return node_is_far(node);
    default:
        return false;
    }
}

/* Shows an entry: the timer, if it is the one that keeps it pending, with the tick that it is filed
 * under, which may be before the deadline; or what was left behind. Of two that match a node the
 * first counts, and has its state say so. What was left behind of what has no tick is not shown. */
static void walk_entry(struct chunk_wheel *wheel, uint64_t entry, const struct tl_visitor *visitor)
{
    uint32_t id = (uint32_t)entry;
    uint32_t stamp = (uint32_t)(entry >> 32);
    uint32_t mark = stamp & MARKS;
    if (mark == MARK_DEAD) {
        return;
    }
    uint32_t state = state_of(wheel, id);
    uint64_t node = wheel->nodes[id];
    uint64_t at = wheel->clock + (uint64_t)(int64_t)ticks_ahead(stamp & TICK_MASK, wheel->clock);
    if (mark != 0) {
        at = mark == MARK_FAR ? (node & ~NODE_FAR) + 1 : TL_NEVER;
    }
    if (state == STATE_EXACT && mark == 0) {
        walk_timer(visitor, id, at, 0);
    } else if (state == STATE_LOOSE && is_live(node, stamp)) {
        set_state(wheel, id, STATE_SEEN);
        walk_timer(visitor, id, at, 0);
    } else if (mark == 0) {
        walk_stale(visitor, id, at);
    }
}

static void walk_chain(struct chunk_wheel *wheel, uint32_t slot, const struct tl_visitor *visitor)
{
    uint64_t *tail = wheel->tails[slot];
    if (tail == NULL) {
        return;
    }
    const struct chunk *last = chunk_of(tail);
    const struct chunk *chunk = last;
    do {
        chunk = chunk->next;
        const uint64_t *end = chunk == last ? tail : &chunk->entries[CHUNK_ENTRIES];
        for (const uint64_t *entry = chunk->entries; entry < end; entry++) {
            walk_entry(wheel, *entry, visitor);
        }
    } while (chunk != last);
}

static void walk_levels(struct chunk_wheel *wheel, const struct tl_visitor *visitor)
{
    for (uint32_t level = 0; level < LEVELS; level++) {
        uint32_t shift = levels[level].shift;
        uint64_t hand = wheel->clock >> shift;
        walk_level(visitor, level + 1, UINT64_C(1) << shift);
        for (uint32_t i = 0; i < levels[level].slots; i++) {
            uint32_t slot = levels[level].first + i;
            uint64_t ahead = (i - hand) & (levels[level].slots - 1);
            uint64_t from = (hand + ahead) << shift;
            walk_span(visitor, i, from, from + ((UINT64_C(1) << shift) - 1),
                      (ahead == 0 ? TL_MARK_HAND : 0u) |
                          (wheel->tails[slot] != NULL ? TL_MARK_FLAGGED : 0u));
            walk_chain(wheel, slot, visitor);
        }
    }
}

/* Leaves the wheel as it was: working off the queue is not seen from outside, and states that say
 * SEEN are put back. */
static void wheel_walk(const void *self, const struct tl_visitor *visitor)
{
    struct chunk_wheel *wheel = (struct chunk_wheel *)self;
    if (wheel->linked.lists != NULL) {
        linked_walk(&wheel->linked, visitor);
        return;
    }
    work_off_queue(wheel);
    if (is_due_left(wheel) || wheel->tails[SLOT_LATE] != NULL) {
        walk_due_part(visitor);
        walk_node(visitor, 0, TL_NEVER);
        for (uint32_t i = wheel->due.at; wheel->due.chunk != NULL && i < wheel->due.end; i++) {
            walk_entry(wheel, wheel->due.chunk->entries[i], visitor);
        }
        walk_chain(wheel, SLOT_DUE, visitor);
        walk_chain(wheel, SLOT_LATE, visitor);
    }
    walk_levels(wheel, visitor);
    if (wheel->tails[SLOT_FAR] != NULL) {
        walk_part(visitor, "far", TL_FORM_LIST, 0);
        walk_node(visitor, 0, TL_NEVER);
        walk_chain(wheel, SLOT_FAR, visitor);
    }
    for (uint32_t id = 0; id < wheel->capacity; id++) {
        if (state_of(wheel, id) == STATE_SEEN) {
            set_state(wheel, id, STATE_LOOSE);
        }
    }
}

static const struct tl_option wheel_options[] = {
    [OPTION_STALE] = {"stale", 50, 5, 1000, NULL,
                      "entries left behind, in percent of the timers' number, before a sweep"},
    [OPTION_QUEUE] = {"queue", 262144, 0, CAPACITY_MAX, NULL,
                      "with so many timers or more, restarts wait while their nodes are fetched"},
    [OPTION_LISTS] = {"lists", 327680, 0, CAPACITY_MAX, NULL,
                      "with up to so many timers, lists take the place of chunks; 0: never"},
    {NULL, 0, 0, 0, NULL, NULL},
};

TL_ALGO(chunk_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED |
                    TL_CAP_ALLOCATES,
    .name = "chunk-wheel",
    .summary = "a hierarchical wheel of chunked slots that looks at restarts and stops late",
    .origin = "our own; after Varghese and Lauck 1987, scheme 7, and Erlang/OTP",
    .description =
        "A slot is a chain of chunks of 8-byte entries, a timer 8 bytes and 4 bits. Start appends "
        "an entry; stop changes the bits; a restart to a later deadline rewrites the 8 bytes; "
        "nothing is unlinked. When the wheel comes to an entry, the bits and, if need be, the 8 "
        "bytes say whether to fire, file again or drop it. Each level holds two blocks, and the "
        "next block's slot is moved down chunk by chunk, so that no tick has a bulk to move. "
        "Entries left behind are swept when they are more than `stale` percent of the timers. Up "
        "to "
        "`lists` timers are linked into the slots instead, and unlinked when they are stopped: "
        "in the cache that is quicker. Bad at: an advance over many ticks at once, and the sweep "
        "itself, one long operation.",
    .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(1)", .expire = "O(m)"},
    .options = wheel_options,
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
};
