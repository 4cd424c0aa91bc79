/* chunk-wheel */
#include "timerlab.h"

#include "check.h"
#include "walk.h"

#include <inttypes.h>
#include <stdalign.h>
#include <string.h>

/* --- timers, slots, chunks ------------------------------------------------------------------- */

/* What is kept of a timer, in the caller's record or in an array. All zero: never started. */
struct node {
    uint64_t rest; /* ~deadline; 0: not pending */
    union {
        struct {            /* with chunks */
            uint32_t filed; /* COUNTED, and the mark of the entry that comes by first; 0: none */
            uint32_t later; /* the mark of another that comes by after it; 0: none is known */
        };
        struct { /* with lists, while it is pending */
            uint32_t next;
            uint32_t prev;
        };
    };
};

/* What is due when it is started has a serial in place of a deadline: the number of the last
 * advance before the one that is to fire it. */
#define SERIALS      (TL_DEADLINE_MAX + 1)

/* A mark is what an entry's slot stands for: the low bits of its first tick, or one of these. */
#define COUNTED      (UINT32_C(1) << 31) /* the timer is in `count` */
#define SEEN         (UINT32_C(1) << 31) /* of `later`, during a walk or check */
#define MARKS        (COUNTED - 1)
#define MARK_FAR     MARKS
#define MARK_LATE    (MARKS - 1)

#define COARSE       256u         /* slots of the second level, of a block each */
#define FINE_BLOCKS  4u           /* the first level reaches so far */
#define COARSE_REACH (COARSE + 1) /* so many blocks ahead, the second */
#define CHUNK_BITS   4u
#define CHUNK_WORDS  (1u << CHUNK_BITS) /* a link and ids */
#define CHUNK_IDS    (CHUNK_WORDS - 1)
#define BATCH        256u /* starts that wait to be looked at */
#define BATCH_SHORT  32u  /* while chunks are scarce */
#define IN_SEQUENCE  16u  /* starts of ids in sequence, before none waits */
#define DEBT         5u   /* chunks to be cleaned for each that is taken while they are scarce */
#define PAYMENT      12u  /* chunks cleaned at once */
#define PORTION      8u   /* nodes of a list moved at once, at least */
#define CAPACITY_MAX (UINT32_C(1) << 30)
#define HEAD         (UINT32_C(1) << 31) /* of a link: to a slot's head; otherwise to a timer */
#define NO_ID        UINT32_MAX
#define ALIGN        64u

/* Slots behind those of the two levels. */
enum {
    SLOT_FAR,    /* beyond the second level */
    SLOT_LATE,   /* started when due already: for the next advance */
    SLOT_DUE,    /* what of those an advance is to fire, or its budget left */
    SLOT_SOUGHT, /* what of FAR is still to be looked at */
    SLOTS_APART
};

struct links {
    uint32_t next;
    uint32_t prev;
};

enum option { OPTION_LISTS };

struct chunk_wheel {
    uint64_t clock;
    uint64_t quiet;     /* an advance to before this has nothing to do */
    uint64_t batch_due; /* no start that waits is due before; in callbacks none may: TL_NEVER */
    unsigned char *nodes;
    size_t stride;
    uint32_t batched;
    uint32_t batch_limit;
    uint32_t sequel;   /* the id that goes on a sequence, or NO_ID */
    bool chunked;      /* or lists */
    bool firing;       /* callbacks are being called */
    uint64_t serial;   /* advances that had something to do */
    bool unfinished;   /* the slot of `position` is still to be worked off */
    uint64_t count;    /* timers pending, but for those in the batch that are not COUNTED */
    uint64_t position; /* the tick up to which slots have been worked off; behind the clock only if
                          a budget ran out */
    uint32_t fine_mask;
    uint32_t block_bits;
    uint64_t coarse_at;    /* when the next slot of the second level is to be moved down */
    uint64_t far_at;       /* when FAR is to be looked through */
    uint64_t far_first;    /* no deadline in FAR is before */
    uint64_t sought_first; /* nor one in SOUGHT before this; TL_NEVER: it is empty */
    uint64_t *occupied;    /* a bit for each fine slot, then one for each of those words */
    uint64_t coarse_occupied[COARSE / 64];
    uint32_t held[COARSE + SLOTS_APART]; /* chunks, or at most so many nodes, in a slot behind the
                                            fine ones */
    /* Lists. */
    struct links *heads;
    /* Chunks. */
    uint32_t *tails; /* of a slot: where in `pool` its next id goes; 0: it has no chunk */
    uint32_t *pool;  /* chunks, the first of which is not used */
    uint32_t *free;  /* a stack of chunks */
    uint32_t free_count;
    uint32_t chunks;
    uint32_t scarce;     /* fewer free chunks than this are */
    uint32_t late_first; /* the oldest chunk in LATE */
    uint32_t debt;       /* chunks to be cleaned */
    uint32_t clean_slot; /* the slot that is being cleaned, */
    uint32_t cleaned;    /* and the tail of what of it is still to be; 0: nothing */
    bool fetching;       /* the nodes do not fit in the caches */
    uint32_t lists_up_to;
    uint32_t capacity;
    bool embedded; /* in the caller's records */
    size_t occupied_bytes;
    size_t slot_bytes; /* of heads, or tails */
    size_t pool_bytes;
    size_t free_bytes;
    const struct tl_allocator *allocator;
    struct tl_counters counters;
    uint32_t batch[BATCH];
};

static inline struct node *node_of(const struct chunk_wheel *wheel, uint32_t id)
{
    return (struct node *)(void *)(wheel->nodes + (size_t)id * wheel->stride);
}

static inline uint64_t due_of(const struct node *node)
{
    return ~node->rest;
}

static inline uint32_t fine_slots(const struct chunk_wheel *wheel)
{
    return wheel->fine_mask + 1;
}

static inline uint32_t apart(const struct chunk_wheel *wheel, uint32_t which)
{
    return fine_slots(wheel) + COARSE + which;
}

static inline uint32_t *held_in(struct chunk_wheel *wheel, uint32_t slot)
{
    return &wheel->held[slot - fine_slots(wheel)];
}

static inline uint64_t block_of(const struct chunk_wheel *wheel, uint64_t tick)
{
    return tick >> wheel->block_bits;
}

static inline uint32_t coarse_slot(const struct chunk_wheel *wheel, uint64_t block)
{
    return fine_slots(wheel) + ((uint32_t)block & (COARSE - 1));
}

static inline void lower(uint64_t *bound, uint64_t tick)
{
    *bound = tick < *bound ? tick : *bound;
}

/* --- which slots hold anything --------------------------------------------------------------- */

static inline void set_occupied(struct chunk_wheel *wheel, uint32_t slot)
{
    uint64_t *words = wheel->occupied;
    words[slot / 64] |= UINT64_C(1) << slot % 64;
    words[fine_slots(wheel) / 64 + slot / 4096] |= UINT64_C(1) << slot / 64 % 64;
}

static inline void clear_occupied(struct chunk_wheel *wheel, uint32_t slot)
{
    uint64_t *words = wheel->occupied;
    words[slot / 64] &= ~(UINT64_C(1) << slot % 64);
    if (words[slot / 64] == 0) {
        words[fine_slots(wheel) / 64 + slot / 4096] &= ~(UINT64_C(1) << slot / 64 % 64);
    }
}

static inline bool is_occupied(const struct chunk_wheel *wheel, uint32_t slot)
{
    return (wheel->occupied[slot / 64] >> slot % 64 & 1) != 0;
}

/* The first tick from `from` on, less than a turn ahead, whose slot is occupied; or TL_NEVER. */
static inline uint64_t first_fine(const struct chunk_wheel *wheel, uint64_t from)
{
    const uint64_t *words = wheel->occupied;
    uint32_t slot = (uint32_t)from & wheel->fine_mask;
    uint64_t bits = words[slot / 64] >> slot % 64;
    if (bits != 0) {
        return from + (uint32_t)__builtin_ctzll(bits);
    }
    uint32_t count = fine_slots(wheel) / 64;
    uint32_t sums = (count + 63) / 64;
    uint32_t at = (slot / 64 + 1) % count;
    for (uint32_t i = 0; i <= sums; i++) {
        bits = words[count + at / 64] >> at % 64;
        if (bits != 0) {
            at += (uint32_t)__builtin_ctzll(bits);
            uint32_t first = at * 64 + (uint32_t)__builtin_ctzll(words[at]);
            return from + ((first - slot) & wheel->fine_mask);
        }
        at = (at / 64 + 1) * 64 % count;
        at = count < 64 ? 0 : at;
    }
    return TL_NEVER;
}

/* The first block that has anything on the second level, or TL_NEVER. */
static uint64_t first_coarse(const struct chunk_wheel *wheel)
{
    uint64_t block = block_of(wheel, wheel->position) + FINE_BLOCKS - 1;
    for (uint32_t ahead = 0; ahead < COARSE;) {
        uint32_t slot = (uint32_t)(block + ahead) & (COARSE - 1);
        uint64_t bits = wheel->coarse_occupied[slot / 64] >> slot % 64;
        if (bits != 0) {
            ahead += (uint32_t)__builtin_ctzll(bits);
            return ahead < COARSE ? block + ahead : TL_NEVER;
        }
        ahead += 64 - slot % 64;
    }
    return TL_NEVER;
}

static void set_coarse_at(struct chunk_wheel *wheel)
{
    uint64_t block = first_coarse(wheel);
    wheel->coarse_at =
        block == TL_NEVER ? TL_NEVER : (block - (FINE_BLOCKS - 1)) << wheel->block_bits;
}

/* --- where a deadline belongs ---------------------------------------------------------------- */

static inline uint32_t mark_of(uint64_t tick)
{
    uint32_t mark = (uint32_t)tick & MARKS;
    return mark == 0 ? 1 : mark < MARK_LATE ? mark : MARK_LATE - 1;
}

/* Whether the second level does not reach to a deadline. */
static inline bool is_far(const struct chunk_wheel *wheel, uint64_t due)
{
    return block_of(wheel, due) > block_of(wheel, wheel->position) + COARSE_REACH;
}

/* FAR is to be looked through as soon as the second level reaches to its first. */
static void note_far(struct chunk_wheel *wheel, uint64_t due)
{
    lower(&wheel->far_first, due);
    uint64_t at = (block_of(wheel, due) - COARSE_REACH) << wheel->block_bits;
    lower(&wheel->far_at, at);
    lower(&wheel->quiet, at);
}

static __attribute__((noinline)) uint32_t upper_slot_for(struct chunk_wheel *wheel, uint64_t due,
                                                         uint32_t *mark)
{
    uint32_t slot;
    if (is_far(wheel, due)) {
        note_far(wheel, due);
        *mark = MARK_FAR;
        slot = apart(wheel, SLOT_FAR);
    } else {
        uint64_t block = block_of(wheel, due);
        uint64_t at = (block - (FINE_BLOCKS - 1)) << wheel->block_bits;
        lower(&wheel->coarse_at, at);
        lower(&wheel->quiet, at);
        *mark = mark_of(block << wheel->block_bits);
        slot = coarse_slot(wheel, block);
        uint32_t index = (uint32_t)block & (COARSE - 1);
        wheel->coarse_occupied[index / 64] |= UINT64_C(1) << index % 64;
    }
    return slot;
}

/* The slot for a deadline behind `position`, which is about to have an entry or a node more, and
 * its mark. */
static inline uint32_t slot_for(struct chunk_wheel *wheel, uint64_t due, uint32_t *mark)
{
    if (due - wheel->position > wheel->fine_mask) {
        return upper_slot_for(wheel, due, mark);
    }
    lower(&wheel->quiet, due);
    uint32_t slot = (uint32_t)due & wheel->fine_mask;
    *mark = mark_of(due);
    return slot;
}

/* --- lists ----------------------------------------------------------------------------------- */

static inline struct links *links_of(const struct chunk_wheel *wheel, uint32_t link)
{
    const void *head = &wheel->heads[link & ~HEAD];
    const void *node = &node_of(wheel, link)->next;
    return (struct links *)(link >= HEAD ? head : node);
}

static inline void list_link(struct chunk_wheel *wheel, uint32_t slot, uint32_t id)
{
    struct links *head = &wheel->heads[slot];
    struct node *node = node_of(wheel, id);
    uint32_t last = head->prev;
    node->next = HEAD | slot;
    node->prev = last;
    head->prev = id;
    links_of(wheel, last)->next = id;
    TL_COUNT(wheel, moves, 1);
}

static inline void list_unlink(struct chunk_wheel *wheel, const struct node *node)
{
    uint32_t next = node->next;
    uint32_t prev = node->prev;
    links_of(wheel, prev)->next = next;
    links_of(wheel, next)->prev = prev;
}

static inline void list_file(struct chunk_wheel *wheel, uint32_t id, uint64_t due)
{
    uint32_t mark;
    uint32_t slot = slot_for(wheel, due, &mark);
    if (slot < fine_slots(wheel)) {
        set_occupied(wheel, slot);
    } else {
        (*held_in(wheel, slot))++;
    }
    list_link(wheel, slot, id);
}

static inline bool list_is_empty(const struct chunk_wheel *wheel, uint32_t slot)
{
    return wheel->heads[slot].next == (HEAD | slot);
}

static inline void list_clear(struct chunk_wheel *wheel, uint32_t slot)
{
    wheel->heads[slot] = (struct links){HEAD | slot, HEAD | slot};
}

/* Takes the first node out of a list that has one, and fetches the next. */
static inline uint32_t list_take(struct chunk_wheel *wheel, uint32_t slot)
{
    uint32_t id = wheel->heads[slot].next;
    uint32_t next = node_of(wheel, id)->next;
    struct links *behind = links_of(wheel, next);
    __builtin_prefetch(behind, 1);
    wheel->heads[slot].next = next;
    behind->prev = HEAD | slot;
    return id;
}

/* Moves a whole list to the end of another. */
static void list_splice(struct chunk_wheel *wheel, uint32_t from, uint32_t to)
{
    if (list_is_empty(wheel, from)) {
        return;
    }
    struct links *source = &wheel->heads[from];
    struct links *target = &wheel->heads[to];
    links_of(wheel, source->next)->prev = target->prev;
    links_of(wheel, target->prev)->next = source->next;
    links_of(wheel, source->prev)->next = HEAD | to;
    target->prev = source->prev;
    list_clear(wheel, from);
}

static inline enum tl_status list_start(struct chunk_wheel *wheel, uint32_t id, uint64_t deadline)
{
    struct node *node = node_of(wheel, id);
    if (node->rest != 0) {
        list_unlink(wheel, node);
        TL_COUNT(wheel, moves, 1);
    } else {
        wheel->count++;
    }
    if (deadline > wheel->clock) {
        node->rest = ~deadline;
        list_file(wheel, id, deadline);
    } else {
        node->rest = ~wheel->clock;
        wheel->quiet = 0;
        list_link(wheel, apart(wheel, SLOT_LATE), id);
    }
    return TL_OK;
}

/* --- chunks ---------------------------------------------------------------------------------- */

static inline uint32_t *chunk_at(const struct chunk_wheel *wheel, uint32_t chunk)
{
    return &wheel->pool[(size_t)chunk << CHUNK_BITS];
}

/* Of a tail that is not 0: its chunk, and how many ids that has. */
static inline uint32_t chunk_of(uint32_t tail)
{
    return (tail - 1) >> CHUNK_BITS;
}

static inline uint32_t ids_before(uint32_t tail)
{
    return (tail - 1) & (CHUNK_WORDS - 1);
}

/* The tail without its last chunk. */
static inline uint32_t tail_before(const struct chunk_wheel *wheel, uint32_t tail)
{
    uint32_t before = *chunk_at(wheel, chunk_of(tail));
    return before == 0 ? 0 : (before + 1) << CHUNK_BITS;
}

static void clean(struct chunk_wheel *wheel, uint32_t chunks);
static void file_anew(struct chunk_wheel *wheel);

static __attribute__((noinline)) uint32_t add_chunk(struct chunk_wheel *wheel, uint32_t slot,
                                                    uint32_t tail)
{
    if (wheel->free_count < wheel->scarce) {
        wheel->debt += DEBT;
        wheel->batch_limit = BATCH_SHORT;
        if (wheel->free_count == 0) {
            file_anew(wheel);
        }
        tail = wheel->tails[slot]; /* that slot may just have been cleaned */
        if ((tail & (CHUNK_WORDS - 1)) != 0) {
            return tail;
        }
    }
    uint32_t chunk = wheel->free[--wheel->free_count];
    if (wheel->fetching) {
        uint32_t soon = wheel->free[wheel->free_count >= 4 ? wheel->free_count - 4 : 0];
        __builtin_prefetch(chunk_at(wheel, soon), 1);
    }
    *chunk_at(wheel, chunk) = tail == 0 ? 0 : chunk_of(tail);
    if (slot >= fine_slots(wheel)) {
        (*held_in(wheel, slot))++;
        if (tail == 0 && slot == apart(wheel, SLOT_LATE)) {
            wheel->late_first = chunk;
        }
    } else if (tail == 0) {
        set_occupied(wheel, slot);
    }
    return (chunk << CHUNK_BITS) + 1;
}

static inline void append(struct chunk_wheel *wheel, uint32_t slot, uint32_t id)
{
    uint32_t tail = wheel->tails[slot];
    if ((tail & (CHUNK_WORDS - 1)) == 0) {
        tail = add_chunk(wheel, slot, tail);
    }
    wheel->pool[tail] = id;
    wheel->tails[slot] = tail + 1;
    TL_COUNT(wheel, moves, 1);
}

/* Fetches the nodes of a chunk that ends at `tail`. */
static inline void fetch_nodes(const struct chunk_wheel *wheel, uint32_t tail)
{
    const uint32_t *ids = chunk_at(wheel, chunk_of(tail)) + 1;
    uint32_t count = ids_before(tail);
    for (uint32_t i = 0; i < count; i++) {
        __builtin_prefetch(node_of(wheel, ids[i]), 1);
    }
}

static inline void fetch_chunk(const struct chunk_wheel *wheel, uint32_t tail)
{
    if (tail != 0) {
        __builtin_prefetch(chunk_at(wheel, chunk_of(tail)));
    }
}

/* Takes the last chunk out of a chain: copies its ids and frees it. Those of the chunk before are
 * fetched. */
static inline uint32_t take_chunk(struct chunk_wheel *wheel, uint32_t *tail,
                                  uint32_t ids[CHUNK_IDS])
{
    uint32_t count = ids_before(*tail);
    uint32_t chunk = chunk_of(*tail);
    uint32_t before = tail_before(wheel, *tail);
    if (wheel->fetching && before != 0) {
        fetch_nodes(wheel, before);
        fetch_chunk(wheel, tail_before(wheel, before));
    }
    memcpy(ids, chunk_at(wheel, chunk) + 1, CHUNK_IDS * sizeof *ids);
    wheel->free[wheel->free_count++] = chunk;
    *tail = before;
    return count;
}

/* The node has no entry that comes by in time: files one. The one it had comes by later. */
static inline void file(struct chunk_wheel *wheel, struct node *node, uint32_t id)
{
    uint32_t old = node->filed & MARKS;
    if (old != 0 && node->later == 0) {
        node->later = old;
    }
    uint32_t mark;
    uint32_t slot = slot_for(wheel, due_of(node), &mark);
    node->filed = mark | COUNTED;
    append(wheel, slot, id);
}

/* Whether an entry with a mark comes by too late for a deadline. */
static inline bool comes_late(const struct chunk_wheel *wheel, uint32_t mark, uint64_t due)
{
    if (mark == MARK_FAR) {
        return !is_far(wheel, due);
    }
    return due - wheel->position < ((mark - (uint32_t)wheel->position) & MARKS);
}

static __attribute__((noinline)) void look_closer(struct chunk_wheel *wheel, struct node *node,
                                                  uint32_t id)
{
    uint32_t mark = node->filed & MARKS;
    if (node->rest == 0) {
        return;
    }
    wheel->count += (node->filed & COUNTED) == 0;
    node->filed |= COUNTED;
    if (mark == 0 || (mark != MARK_LATE && comes_late(wheel, mark, due_of(node)))) {
        file(wheel, node, id);
    } else if (mark == MARK_FAR) {
        note_far(wheel, due_of(node));
    }
}

/* After a start: counts the timer, and sees to it that an entry comes by in time. Mostly one does,
 * and one comparison says so. */
static inline void look(struct chunk_wheel *wheel, uint32_t id)
{
    struct node *node = node_of(wheel, id);
    uint32_t filed = node->filed;
    TL_COUNT(wheel, compares, 1);
    bool plain = (int32_t)filed < (int32_t)(COUNTED | MARK_LATE);
    if (!plain || due_of(node) - wheel->position < ((filed - (uint32_t)wheel->position) & MARKS)) {
        look_closer(wheel, node, id);
    }
}

static void pay(struct chunk_wheel *wheel)
{
    if (wheel->debt > 0) {
        uint32_t chunks = wheel->debt < PAYMENT ? wheel->debt : PAYMENT;
        wheel->debt -= chunks;
        clean(wheel, chunks);
    } else if (wheel->free_count >= wheel->scarce) {
        wheel->batch_limit = BATCH;
    }
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
    if (wheel->batch_limit != BATCH && !wheel->firing) {
        pay(wheel);
    }
}

static void start_late(struct chunk_wheel *wheel, struct node *node, uint32_t id)
{
    uint32_t mark = node->filed & MARKS;
    node->rest = ~(SERIALS + wheel->serial);
    wheel->count += (node->filed & COUNTED) == 0;
    if (mark != MARK_LATE) {
        if (mark != 0 && node->later == 0) {
            node->later = mark;
        }
        node->filed = MARK_LATE;
        append(wheel, apart(wheel, SLOT_LATE), id);
    }
    node->filed |= COUNTED;
    wheel->quiet = 0;
}

/* A start that is due before all that wait, or in a callback. */
static __attribute__((noinline)) enum tl_status start_soon(struct chunk_wheel *wheel, uint32_t id,
                                                           struct node *node)
{
    uint64_t due = due_of(node);
    if (due <= wheel->clock) {
        start_late(wheel, node, id);
    } else if (wheel->firing) {
        look(wheel, id);
    } else {
        wheel->batch_due = due;
        lower(&wheel->quiet, due);
        wheel->batch[wheel->batched++] = id;
        if (wheel->batched >= wheel->batch_limit) {
            look_at_batch(wheel);
        }
    }
    return TL_OK;
}

/* The lines of ids in sequence come by themselves: nothing is gained by waiting. */
static __attribute__((noinline)) enum tl_status start_in_sequence(struct chunk_wheel *wheel,
                                                                  uint32_t id, struct node *node)
{
    wheel->sequel = id + 1;
    if (node->filed == 0) {
        wheel->count++;
        file(wheel, node, id);
    } else {
        look(wheel, id);
    }
    if (wheel->batch_limit != BATCH) {
        pay(wheel);
    }
    return TL_OK;
}

/* An entry under `mark` has gone whose timer is not to fire; the next best takes its place. */
static inline void settle(struct chunk_wheel *wheel, struct node *node, uint32_t id, uint32_t mark)
{
    if ((node->filed & MARKS) != mark) {
        if (node->later == mark) {
            node->later = 0;
        }
        return;
    }
    uint32_t next = node->later;
    node->later = 0;
    if (node->rest == 0) {
        node->filed = next;
        return;
    }
    TL_COUNT(wheel, cascades, 1);
    wheel->count += (node->filed & COUNTED) == 0;
    node->filed = next | COUNTED;
    if (next == 0 || comes_late(wheel, next, due_of(node))) {
        file(wheel, node, id);
    } else if (next == MARK_FAR) {
        note_far(wheel, due_of(node));
    }
}

/* The tick that a slot stands for, its first. */
static uint64_t slot_tick(const struct chunk_wheel *wheel, uint32_t slot)
{
    uint64_t position = wheel->position;
    if (slot < fine_slots(wheel)) {
        return position + ((slot - (uint32_t)position) & wheel->fine_mask);
    }
    uint64_t first = block_of(wheel, position) + FINE_BLOCKS - 1;
    uint32_t ahead = (slot - fine_slots(wheel) - (uint32_t)first) & (COARSE - 1);
    return (first + ahead) << wheel->block_bits;
}

static void begin_search(struct chunk_wheel *wheel)
{
    uint32_t far = apart(wheel, SLOT_FAR);
    uint32_t sought = apart(wheel, SLOT_SOUGHT);
    if (wheel->chunked) {
        wheel->tails[sought] = wheel->tails[far];
        wheel->tails[far] = 0;
    } else {
        list_splice(wheel, far, sought);
    }
    *held_in(wheel, sought) = *held_in(wheel, far);
    *held_in(wheel, far) = 0;
    wheel->sought_first = wheel->far_first;
    wheel->far_first = TL_NEVER;
    wheel->far_at = 0; /* until it is through */
}

/* Looks at so many chunks, or nodes, of FAR. */
static void search(struct chunk_wheel *wheel, uint32_t portion)
{
    uint32_t sought = apart(wheel, SLOT_SOUGHT);
    uint32_t *left = held_in(wheel, sought);
    bool more;
    if (wheel->chunked) {
        for (; portion > 0 && wheel->tails[sought] != 0; portion--) {
            uint32_t ids[CHUNK_IDS];
            uint32_t count = take_chunk(wheel, &wheel->tails[sought], ids);
            (*left)--;
            for (uint32_t i = 0; i < count; i++) {
                settle(wheel, node_of(wheel, ids[i]), ids[i], MARK_FAR);
            }
        }
        more = wheel->tails[sought] != 0;
    } else {
        for (; portion > 0 && !list_is_empty(wheel, sought); portion--) {
            uint32_t id = list_take(wheel, sought);
            *left -= *left > 0;
            list_file(wheel, id, due_of(node_of(wheel, id)));
            TL_COUNT(wheel, cascades, 1);
        }
        more = !list_is_empty(wheel, sought);
    }
    if (!more) {
        *left = 0;
        wheel->sought_first = TL_NEVER;
        wheel->far_at = TL_NEVER;
        if (wheel->far_first != TL_NEVER) {
            note_far(wheel, wheel->far_first);
        }
    }
}

/* --- cleaning -------------------------------------------------------------------------------- */

/* The next slot that has chunks, from `clean_slot` on; not the one that is being moved down, nor
 * what is looked through anyway. False: there is none, or it is FAR's turn. */
static bool find_unclean(struct chunk_wheel *wheel)
{
    uint32_t fine = fine_slots(wheel);
    uint32_t slot = wheel->clean_slot;
    if (slot < fine) {
        uint64_t first = first_fine(wheel, slot);
        if (first != TL_NEVER && first < fine) {
            wheel->clean_slot = (uint32_t)first;
            return true;
        }
        slot = fine;
    }
    uint32_t moved = coarse_slot(wheel, block_of(wheel, wheel->position) + FINE_BLOCKS - 1);
    while (slot < fine + COARSE && (wheel->tails[slot] == 0 || slot == moved)) {
        slot++;
    }
    wheel->clean_slot = slot;
    return slot < fine + COARSE;
}

/* Drops superseded entries, a chunk a step, slot after slot: what is live of a chunk is appended to
 * its slot anew. */
static __attribute__((noinline)) void clean(struct chunk_wheel *wheel, uint32_t chunks)
{
    uint32_t rounds = 0;
    while (chunks > 0 && rounds < 2) {
        if (wheel->cleaned == 0) {
            if (wheel->sought_first != TL_NEVER) {
                search(wheel, 1);
                chunks--;
                continue;
            }
            if (!find_unclean(wheel)) {
                wheel->clean_slot = 0;
                rounds++;
                if (wheel->tails[apart(wheel, SLOT_FAR)] != 0) {
                    begin_search(wheel);
                }
                continue;
            }
            wheel->cleaned = wheel->tails[wheel->clean_slot];
            wheel->tails[wheel->clean_slot] = 0;
        }
        uint32_t slot = wheel->clean_slot;
        uint32_t mark = mark_of(slot_tick(wheel, slot));
        uint32_t ids[CHUNK_IDS];
        uint32_t count = take_chunk(wheel, &wheel->cleaned, ids);
        if (slot >= fine_slots(wheel)) {
            (*held_in(wheel, slot))--;
        }
        for (uint32_t i = 0; i < count; i++) {
            struct node *node = node_of(wheel, ids[i]);
            if ((node->filed & MARKS) == mark && node->rest != 0) {
                append(wheel, slot, ids[i]);
            } else {
                settle(wheel, node, ids[i], mark);
            }
        }
        chunks--;
        if (wheel->cleaned == 0) {
            if (slot < fine_slots(wheel) && wheel->tails[slot] == 0) {
                clear_occupied(wheel, slot);
            }
            wheel->clean_slot = slot + 1;
        }
    }
}

/* A slot that is worked off takes back what is just being cleaned of it. */
static inline bool take_back(struct chunk_wheel *wheel, uint32_t slot)
{
    if (wheel->cleaned == 0 || wheel->clean_slot != slot || wheel->tails[slot] != 0) {
        return false;
    }
    wheel->tails[slot] = wheel->cleaned;
    wheel->cleaned = 0;
    return true;
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
    node->rest = 0;
    firing->left--;
    TL_COUNT(wheel, moves, 1);
    firing->expire(firing->ctx, id, wheel->clock);
}

static inline void hand_over_counted(struct chunk_wheel *wheel, struct firing *firing,
                                     struct node *node, uint32_t id)
{
    wheel->count -= node->filed >> 31;
    node->filed = node->later;
    node->later = 0;
    hand_over(wheel, firing, node, id);
}

/* An entry comes by: the node says what has become of the timer. */
static inline void visit(struct chunk_wheel *wheel, struct firing *firing, uint32_t id,
                         uint32_t mark)
{
    struct node *node = node_of(wheel, id);
    TL_COUNT(wheel, compares, 1);
    if ((node->filed & MARKS) == mark && due_of(node) <= wheel->position) {
        hand_over_counted(wheel, firing, node, id);
    } else if (mark == MARK_LATE && due_of(node) >= SERIALS && node->rest != 0) {
        if (due_of(node) < SERIALS + wheel->serial) {
            hand_over_counted(wheel, firing, node, id);
        } else { /* by a callback of this advance */
            append(wheel, apart(wheel, SLOT_LATE), id);
        }
    } else {
        settle(wheel, node, id, mark);
    }
}

/* Works off a chain. False: the budget is used up, and something is left. */
static bool fire_chunks(struct chunk_wheel *wheel, uint32_t slot, uint32_t mark,
                        struct firing *firing)
{
    uint32_t *tail = &wheel->tails[slot];
    uint32_t ids[CHUNK_IDS];
    do {
        while (*tail != 0) {
            uint32_t count = ids_before(*tail);
            if (firing->left >= count) {
                (void)take_chunk(wheel, tail, ids);
                for (uint32_t i = 0; i < count; i++) {
                    visit(wheel, firing, ids[i], mark);
                }
            } else if (firing->left == 0) {
                return false;
            } else { /* one by one */
                uint32_t id = wheel->pool[*tail - 1];
                if (count == 1) {
                    (void)take_chunk(wheel, tail, ids);
                } else {
                    (*tail)--;
                }
                visit(wheel, firing, id, mark);
            }
        }
    } while (take_back(wheel, slot));
    return true;
}

static bool fire_list(struct chunk_wheel *wheel, uint32_t slot, struct firing *firing)
{
    while (!list_is_empty(wheel, slot)) {
        if (firing->left == 0) {
            return false;
        }
        uint32_t id = list_take(wheel, slot);
        wheel->count--;
        hand_over(wheel, firing, node_of(wheel, id), id);
    }
    return true;
}

/* Fetches what the next ticks need: the nodes of the next, the chunks of those behind it. */
static void fetch_ahead(const struct chunk_wheel *wheel, uint64_t tick)
{
    uint32_t tail = wheel->tails[tick & wheel->fine_mask];
    for (uint32_t i = 0; tail != 0 && i < 4; i++) {
        fetch_nodes(wheel, tail);
        tail = tail_before(wheel, tail);
    }
    tail = wheel->tails[(tick + 1) & wheel->fine_mask];
    if (tail != 0) {
        fetch_chunk(wheel, tail_before(wheel, tail));
    }
    fetch_chunk(wheel, wheel->tails[(tick + 2) & wheel->fine_mask]);
}

/* Works off the fine slot of `position`. */
static bool work_off(struct chunk_wheel *wheel, struct firing *firing)
{
    uint32_t slot = (uint32_t)wheel->position & wheel->fine_mask;
    bool all;
    TL_COUNT(wheel, slots, 1);
    if (wheel->chunked) {
        if (wheel->fetching) {
            fetch_ahead(wheel, wheel->position + 1);
        }
        all = fire_chunks(wheel, slot, mark_of(wheel->position), firing);
    } else {
        all = fire_list(wheel, slot, firing);
    }
    if (all) {
        clear_occupied(wheel, slot);
    }
    wheel->unfinished = !all;
    return all;
}

/* What was started when due already: what callbacks start so is for the next advance. */
static bool fire_late(struct chunk_wheel *wheel, struct firing *firing)
{
    uint32_t late = apart(wheel, SLOT_LATE);
    uint32_t due = apart(wheel, SLOT_DUE);
    if (!wheel->chunked) {
        list_splice(wheel, late, due);
        return fire_list(wheel, due, firing);
    }
    uint32_t *left = &wheel->tails[due];
    if (wheel->tails[late] != 0) {
        while (*left != 0 && ids_before(*left) < CHUNK_IDS) { /* only a last chunk is not full */
            uint32_t id = wheel->pool[*left - 1];
            uint32_t ids[CHUNK_IDS];
            if (ids_before(*left) == 1) {
                (void)take_chunk(wheel, left, ids);
                append(wheel, late, id);
                break;
            }
            (*left)--;
            append(wheel, late, id);
        }
        *chunk_at(wheel, wheel->late_first) = *left == 0 ? 0 : chunk_of(*left);
        *left = wheel->tails[late];
        wheel->tails[late] = 0;
    }
    return fire_chunks(wheel, due, MARK_LATE, firing);
}

/* --- moving down ----------------------------------------------------------------------------- */

/* Of `left`, what is to be done between `from` and `now` so that all is by `end`. */
static uint32_t portion_of(uint32_t left, uint64_t from, uint64_t now, uint64_t end)
{
    if (now >= end) {
        return UINT32_MAX;
    }
    uint64_t ticks = end - from;
    return (uint32_t)(((uint64_t)left * (now - from) + ticks - 1) / ticks);
}

/* During a block the slot of the one that the fine slots are just about to reach is moved down. */
static void move_down(struct chunk_wheel *wheel, uint64_t now)
{
    uint64_t block = block_of(wheel, wheel->position);
    uint32_t slot = coarse_slot(wheel, block + FINE_BLOCKS - 1);
    uint32_t *left = held_in(wheel, slot);
    uint32_t portion = portion_of(*left, wheel->position, now, (block + 1) << wheel->block_bits);
    TL_COUNT(wheel, slots, 1);
    bool more;
    if (wheel->chunked) {
        uint32_t mark = mark_of((block + FINE_BLOCKS - 1) << wheel->block_bits);
        uint32_t *tail = &wheel->tails[slot];
        while (portion > 0 && (*tail != 0 || take_back(wheel, slot))) {
            uint32_t ids[CHUNK_IDS];
            uint32_t count = take_chunk(wheel, tail, ids);
            (*left)--;
            portion--;
            for (uint32_t i = 0; i < count; i++) {
                settle(wheel, node_of(wheel, ids[i]), ids[i], mark);
            }
        }
        more = *tail != 0 || (wheel->cleaned != 0 && wheel->clean_slot == slot);
    } else {
        portion = portion < PORTION ? PORTION : portion;
        for (; portion > 0 && !list_is_empty(wheel, slot); portion--) {
            uint32_t id = list_take(wheel, slot);
            *left -= *left > 0;
            list_file(wheel, id, due_of(node_of(wheel, id)));
            TL_COUNT(wheel, cascades, 1);
        }
        more = !list_is_empty(wheel, slot);
    }
    if (!more) {
        uint32_t index = (uint32_t)(block + FINE_BLOCKS - 1) & (COARSE - 1);
        wheel->coarse_occupied[index / 64] &= ~(UINT64_C(1) << index % 64);
        *left = 0;
        set_coarse_at(wheel);
    }
}

/* Looks through FAR, so that what the second level reaches to is there before it is moved down. */
static void search_far(struct chunk_wheel *wheel, uint64_t now)
{
    if (wheel->sought_first == TL_NEVER) {
        begin_search(wheel);
    }
    uint64_t end = (block_of(wheel, wheel->sought_first) - FINE_BLOCKS) << wheel->block_bits;
    uint32_t left = *held_in(wheel, apart(wheel, SLOT_SOUGHT));
    uint32_t portion = portion_of(left, wheel->position, now, end);
    search(wheel, wheel->chunked || portion > PORTION ? portion : PORTION);
}

/* --- hooks ----------------------------------------------------------------------------------- */

static enum tl_status wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct chunk_wheel *wheel = self;
    if (!wheel->chunked) {
        return list_start(wheel, id, deadline);
    }
    struct node *node = node_of(wheel, id);
    node->rest = ~deadline; /* nothing waits for it */
    if (deadline < wheel->batch_due) {
        return start_soon(wheel, id, node);
    }
    if (id == wheel->sequel) {
        return start_in_sequence(wheel, id, node);
    }
    uint32_t batched = wheel->batched;
    wheel->batch[batched++] = id;
    wheel->batched = batched;
    if (batched >= wheel->batch_limit) {
        uint64_t due = wheel->batch_due;
        look_at_batch(wheel);
        wheel->batch_due = due; /* low already: the next is most likely not before it */
    }
    return TL_OK;
}

static enum tl_status wheel_stop(void *self, uint32_t id)
{
    struct chunk_wheel *wheel = self;
    struct node *node = node_of(wheel, id);
    if (node->rest == 0) {
        return TL_IDLE;
    }
    node->rest = 0;
    if (wheel->chunked) {
        wheel->count -= node->filed >> 31;
        node->filed &= ~COUNTED;
    } else {
        list_unlink(wheel, node);
        TL_COUNT(wheel, moves, 1);
        wheel->count--;
    }
    return TL_OK;
}

/* Goes from event to event: a fine slot that is occupied, a coarse one to be moved down, FAR to be
 * looked through. */
static void advance_to(struct chunk_wheel *wheel, uint64_t now, struct firing *firing)
{
    bool moved = false;
    bool searched = false;
    uint64_t event;
    for (;;) {
        uint64_t position = wheel->position;
        if (wheel->coarse_at <= position && !moved) {
            move_down(wheel, now);
            moved = wheel->coarse_at <= position; /* a portion, and no other in this advance */
        }
        if (wheel->far_at <= position && !searched) {
            do { /* at once again, if what was kept has come within reach meanwhile */
                search_far(wheel, now);
                searched = wheel->sought_first != TL_NEVER;
            } while (wheel->far_at <= position && !searched);
        }
        uint64_t tick = first_fine(wheel, position + 1);
        event = tick;
        if (!moved) {
            lower(&event, wheel->coarse_at);
        }
        if (!searched) {
            lower(&event, wheel->far_at);
        }
        if (event > now) {
            break;
        }
        wheel->position = event;
        if (event == tick && !work_off(wheel, firing)) {
            return;
        }
    }
    wheel->position = now;
    lower(&event, wheel->coarse_at);
    lower(&event, wheel->far_at);
    wheel->quiet = event;
}

static __attribute__((noinline)) uint64_t advance_awake(struct chunk_wheel *wheel, uint64_t now,
                                                        uint64_t budget, tl_fire_fn fire, void *ctx)
{
    if (wheel->batch_due <= now) {
        look_at_batch(wheel);
    }
    struct firing firing = {fire, ctx, budget};
    uint64_t batch_due = wheel->batch_due;
    wheel->batch_due = TL_NEVER;
    wheel->firing = true;
    wheel->serial++;
    wheel->quiet = 0;
    if (fire_late(wheel, &firing) && (!wheel->unfinished || work_off(wheel, &firing))) {
        advance_to(wheel, now, &firing);
    }
    wheel->firing = false;
    wheel->batch_due = batch_due;
    lower(&wheel->quiet, batch_due);
    uint32_t late = apart(wheel, SLOT_LATE);
    if (wheel->chunked) {
        wheel->quiet = wheel->tails[late] != 0 ? 0 : wheel->quiet;
        if (wheel->batch_limit != BATCH) {
            pay(wheel);
        }
    } else if (!list_is_empty(wheel, late)) {
        wheel->quiet = 0;
    }
    return budget - firing.left;
}

static uint64_t wheel_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct chunk_wheel *wheel = self;
    wheel->clock = now;
    if (now < wheel->quiet) {
        wheel->position = now;
        return 0;
    }
    return advance_awake(wheel, now, budget, fire, ctx);
}

static uint64_t wheel_count(const void *self)
{
    struct chunk_wheel *wheel = (struct chunk_wheel *)self;
    if (wheel->batched > 0) { /* which nobody sees from outside */
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
    uint32_t late = apart(wheel, SLOT_LATE);
    uint32_t due = apart(wheel, SLOT_DUE);
    bool waiting = wheel->chunked ? wheel->tails[late] != 0 || wheel->tails[due] != 0
                                  : !list_is_empty(wheel, late) || !list_is_empty(wheel, due);
    if (waiting || wheel->unfinished) {
        return wheel->clock;
    }
    uint64_t next = first_fine(wheel, wheel->position + 1);
    uint64_t block = first_coarse(wheel);
    if (block != TL_NEVER) {
        lower(&next, block << wheel->block_bits);
    }
    lower(&next, wheel->far_first);
    lower(&next, wheel->sought_first);
    lower(&next, wheel->batch_due);
    return next;
}

static void wheel_counters(const void *self, struct tl_counters *out)
{
    *out = ((const struct chunk_wheel *)self)->counters;
}

/* --- storage --------------------------------------------------------------------------------- */

#define BITS_FEW    10u /* log2 of the fine slots: with few timers, */
#define BITS_MORE   16u /* with more, but still lists, */
#define BITS_CHUNKS 12u /* with chunks */
#define FEW         32768u

static uint32_t all_slots(const struct chunk_wheel *wheel)
{
    return apart(wheel, SLOTS_APART);
}

/* Chunks for one that is not full in every slot that may have one, for two and a half entries a
 * timer, and some. */
static uint32_t chunks_for(const struct chunk_wheel *wheel, uint32_t capacity)
{
    uint64_t entries = (uint64_t)capacity * 5 / 2 + 64;
    uint64_t slots = all_slots(wheel);
    uint64_t chunks = (entries < slots ? entries : slots) + entries / CHUNK_IDS + 64;
    return (uint32_t)chunks;
}

static size_t pool_bytes(uint32_t chunks)
{
    return ((size_t)chunks + 1) * CHUNK_WORDS * sizeof(uint32_t);
}

static void *resize(const struct chunk_wheel *wheel, void *block, size_t old, size_t bytes)
{
    return wheel->allocator->resize(wheel->allocator->ctx, block, old, bytes, ALIGN);
}

/* Of a wheel that nothing is filed in. */
static void empty_slots(struct chunk_wheel *wheel)
{
    wheel->position = wheel->clock;
    wheel->quiet = wheel->coarse_at = wheel->far_at = TL_NEVER;
    wheel->far_first = wheel->sought_first = TL_NEVER;
    wheel->unfinished = false;
    memset(wheel->occupied, 0, wheel->occupied_bytes);
    memset(wheel->coarse_occupied, 0, sizeof wheel->coarse_occupied);
    memset(wheel->held, 0, sizeof wheel->held);
    if (wheel->chunked) {
        memset(wheel->tails, 0, wheel->slot_bytes);
    } else {
        for (uint32_t slot = 0; slot < all_slots(wheel); slot++) {
            list_clear(wheel, slot);
        }
    }
}

/* Starts all that is pending anew, in slots that are empty. */
static void start_all(struct chunk_wheel *wheel)
{
    wheel->count = 0;
    for (uint32_t id = 0; id < wheel->capacity; id++) {
        struct node *node = node_of(wheel, id);
        uint64_t due = due_of(node);
        bool pending = node->rest != 0;
        *node = (struct node){0};
        if (pending) {
            (void)wheel_start(wheel, id, due);
        }
    }
}

static void free_chain(struct chunk_wheel *wheel, uint32_t *tail)
{
    uint32_t ids[CHUNK_IDS];
    while (*tail != 0) {
        (void)take_chunk(wheel, tail, ids);
    }
}

/* Files everything anew but what is due already, so that each timer has one entry. Only where
 * cleaning frees nothing: where timers have the same entry many times. */
static __attribute__((noinline)) void file_anew(struct chunk_wheel *wheel)
{
    uint32_t late = apart(wheel, SLOT_LATE);
    uint32_t due = apart(wheel, SLOT_DUE);
    for (uint32_t slot = 0; slot < all_slots(wheel); slot++) {
        if (slot != late && slot != due) {
            free_chain(wheel, &wheel->tails[slot]);
        }
    }
    free_chain(wheel, &wheel->cleaned);
    memset(wheel->occupied, 0, wheel->occupied_bytes);
    memset(wheel->coarse_occupied, 0, sizeof wheel->coarse_occupied);
    memset(wheel->held, 0, sizeof wheel->held);
    wheel->coarse_at = wheel->far_at = wheel->far_first = wheel->sought_first = TL_NEVER;
    wheel->debt = 0;
    for (uint32_t id = 0; id < wheel->capacity; id++) {
        struct node *node = node_of(wheel, id);
        node->later = 0;
        if (node->rest == 0) {
            node->filed = 0;
        } else if ((node->filed & MARKS) != MARK_LATE) {
            wheel->count += (node->filed & COUNTED) == 0;
            node->filed = 0;
            file(wheel, node, id);
        }
    }
}

static void free_slots(const struct chunk_wheel *wheel)
{
    tl_free(wheel->allocator, wheel->occupied, wheel->occupied_bytes, ALIGN);
    tl_free(wheel->allocator, wheel->heads, wheel->heads != NULL ? wheel->slot_bytes : 0, ALIGN);
    tl_free(wheel->allocator, wheel->tails, wheel->tails != NULL ? wheel->slot_bytes : 0, ALIGN);
}

/* Room for so many chunks. What has grown by the time that memory is refused stays grown. */
static bool grow_pool(struct chunk_wheel *wheel, uint32_t chunks)
{
    uint32_t *pool = resize(wheel, wheel->pool, wheel->pool_bytes, pool_bytes(chunks));
    if (pool == NULL) {
        return false;
    }
    wheel->pool = pool;
    wheel->pool_bytes = pool_bytes(chunks);
    size_t free_bytes = chunks * sizeof(uint32_t);
    uint32_t *free = resize(wheel, wheel->free, wheel->free_bytes, free_bytes);
    if (free == NULL) {
        return false;
    }
    wheel->free = free;
    wheel->free_bytes = free_bytes;
    return true;
}

static void add_chunks(struct chunk_wheel *wheel, uint32_t chunks)
{
    size_t old = pool_bytes(wheel->chunks);
    memset((unsigned char *)wheel->pool + old, 0, pool_bytes(chunks) - old); /* pages are there */
    for (uint32_t chunk = chunks; chunk > wheel->chunks; chunk--) {
        wheel->free[wheel->free_count++] = chunk;
    }
    wheel->chunks = chunks;
    wheel->scarce = chunks / 8 + 2;
}

/* The slots for another number of timers, while the old ones are still there. */
static enum tl_status make_slots(struct chunk_wheel *made, bool chunked, uint32_t bits)
{
    made->chunked = chunked;
    made->fine_mask = (UINT32_C(1) << bits) - 1;
    made->block_bits = bits - 2; /* FINE_BLOCKS */
    uint32_t words = fine_slots(made) / 64;
    made->occupied_bytes = (words + (words + 63) / 64) * sizeof(uint64_t);
    made->slot_bytes = all_slots(made) * (chunked ? sizeof *made->tails : sizeof *made->heads);
    made->occupied = resize(made, NULL, 0, made->occupied_bytes);
    void *slots = made->occupied != NULL ? resize(made, NULL, 0, made->slot_bytes) : NULL;
    if (slots == NULL) {
        tl_free(made->allocator, made->occupied, made->occupied_bytes, ALIGN);
        return TL_ERR_NOMEM;
    }
    made->tails = chunked ? slots : NULL;
    made->heads = chunked ? NULL : slots;
    return TL_OK;
}

static bool grow_nodes(struct chunk_wheel *wheel, uint32_t capacity)
{
    if (wheel->embedded || capacity <= wheel->capacity) {
        return true;
    }
    size_t old = wheel->capacity * sizeof(struct node);
    size_t bytes = capacity * sizeof(struct node);
    unsigned char *nodes = resize(wheel, wheel->nodes, old, bytes);
    if (nodes == NULL) {
        return false;
    }
    memset(nodes + old, 0, bytes - old);
    wheel->nodes = nodes;
    return true;
}

static enum tl_status wheel_reserve(void *self, uint32_t capacity)
{
    struct chunk_wheel *wheel = self;
    if (capacity <= wheel->capacity && wheel->occupied != NULL) {
        return TL_OK;
    }
    if (capacity > CAPACITY_MAX) {
        return TL_ERR_CAPACITY;
    }
    bool chunked = wheel->chunked || capacity > wheel->lists_up_to;
    uint32_t bits = chunked ? BITS_CHUNKS : capacity > FEW ? BITS_MORE : BITS_FEW;
    bool anew = wheel->occupied == NULL || chunked != wheel->chunked ||
                fine_slots(wheel) != UINT32_C(1) << bits;
    struct chunk_wheel made = *wheel;
    if (anew && make_slots(&made, chunked, bits) != TL_OK) {
        return TL_ERR_NOMEM;
    }
    uint32_t chunks = chunked ? chunks_for(&made, capacity) : 0;
    if ((chunked && !grow_pool(wheel, chunks)) || !grow_nodes(wheel, capacity)) {
        if (anew) {
            free_slots(&made);
        }
        return TL_ERR_NOMEM;
    }
    wheel->capacity = capacity;
    wheel->fetching = capacity > FEW;
    if (chunked) {
        add_chunks(wheel, chunks);
    }
    if (anew) {
        free_slots(wheel);
        wheel->chunked = chunked;
        wheel->fine_mask = made.fine_mask;
        wheel->block_bits = made.block_bits;
        wheel->occupied = made.occupied;
        wheel->occupied_bytes = made.occupied_bytes;
        wheel->slot_bytes = made.slot_bytes;
        wheel->heads = made.heads;
        wheel->tails = made.tails;
        empty_slots(wheel);
        start_all(wheel);
    }
    return TL_OK;
}

static void wheel_moved(void *self, const struct tl_records *records)
{
    struct chunk_wheel *wheel = self;
    wheel->nodes = (unsigned char *)records->base + records->offset_bytes;
    wheel->stride = records->stride_bytes;
}

static void wheel_destroy(void *self)
{
    struct chunk_wheel *wheel = self;
    const struct tl_allocator *allocator = wheel->allocator;
    if (wheel->occupied != NULL) {
        free_slots(wheel);
    }
    tl_free(allocator, wheel->pool, wheel->pool_bytes, ALIGN);
    tl_free(allocator, wheel->free, wheel->free_bytes, ALIGN);
    if (!wheel->embedded) {
        tl_free(allocator, wheel->nodes, wheel->capacity * sizeof(struct node), ALIGN);
    }
    tl_free(allocator, wheel, sizeof *wheel, ALIGN);
}

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    struct chunk_wheel *wheel = tl_alloc(config->allocator, sizeof *wheel, ALIGN);
    if (wheel == NULL) {
        return TL_ERR_NOMEM;
    }
    *wheel = (struct chunk_wheel){
        .clock = config->now,
        .batch_due = TL_NEVER,
        .batch_limit = BATCH,
        .sequel = NO_ID,
        .stride = sizeof(struct node),
        .embedded = config->records != NULL,
        .lists_up_to = (uint32_t)config->options[OPTION_LISTS],
        .allocator = config->allocator,
    };
    if (wheel->embedded) {
        wheel_moved(wheel, config->records);
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

/* What an entry in a slot is to its timer. */
static bool is_live(const struct node *node, uint32_t mark)
{
    return node->rest != 0 && (node->filed & MARKS) == mark;
}

static uint32_t slot_mark(const struct chunk_wheel *wheel, uint32_t slot)
{
    uint32_t far = apart(wheel, SLOT_FAR);
    if (slot < far) {
        return mark_of(slot_tick(wheel, slot));
    }
    return slot == far || slot == apart(wheel, SLOT_SOUGHT) ? MARK_FAR : MARK_LATE;
}

/* A chain of a slot; each live timer of it is marked as seen, once. */
static const char *check_chain(const struct chunk_wheel *wheel, uint32_t slot, uint32_t tail,
                               uint64_t *chunks)
{
    uint32_t mark = slot_mark(wheel, slot);
    bool levels = slot < apart(wheel, SLOT_FAR);
    for (; tail != 0; tail = tail_before(wheel, tail)) {
        uint32_t chunk = chunk_of(tail);
        if (chunk == 0 || chunk > wheel->chunks || ++*chunks > wheel->chunks) {
            return "a slot's chunks are not a chain";
        }
        for (uint32_t i = 1; i <= ids_before(tail); i++) {
            uint32_t id = chunk_at(wheel, chunk)[i];
            if (id >= wheel->capacity) {
                return "an entry names a timer that there is not";
            }
            struct node *node = node_of(wheel, id);
            if (is_live(node, mark)) {
                node->later |= SEEN;
                if (levels && due_of(node) < slot_tick(wheel, slot)) {
                    return "an entry comes by after its timer is due";
                }
            }
        }
    }
    return NULL;
}

static const char *check_chunks(const struct chunk_wheel *wheel)
{
    uint64_t chunks = 0;
    const char *wrong = NULL;
    for (uint32_t slot = 0; wrong == NULL && slot < all_slots(wheel); slot++) {
        uint32_t tail = wheel->tails[slot];
        wrong = check_chain(wheel, slot, tail, &chunks);
        if (wrong == NULL && slot < fine_slots(wheel) && tail != 0 && !is_occupied(wheel, slot)) {
            wrong = "a slot's bit lies";
        }
    }
    if (wrong == NULL) {
        wrong = check_chain(wheel, wheel->clean_slot, wheel->cleaned, &chunks);
    }
    uint64_t pending = 0;
    for (uint32_t id = 0; id < wheel->capacity; id++) {
        struct node *node = node_of(wheel, id);
        bool seen = (node->later & SEEN) != 0;
        node->later &= ~SEEN;
        pending += node->rest != 0;
        if (wrong == NULL && node->rest != 0 && !seen) {
            wrong = "a pending timer has no entry";
        } else if (wrong == NULL && (node->rest != 0) != ((node->filed & COUNTED) != 0)) {
            wrong = "a timer is counted that is not pending, or the other way round";
        }
    }
    if (wrong == NULL && chunks + wheel->free_count != wheel->chunks) {
        wrong = "chunks are missing";
    }
    return wrong != NULL || pending == wheel->count ? wrong : "the timers pending are miscounted";
}

static const char *check_lists(const struct chunk_wheel *wheel)
{
    uint64_t found = 0;
    for (uint32_t slot = 0; slot < all_slots(wheel); slot++) {
        bool levels = slot < apart(wheel, SLOT_FAR);
        uint32_t before = HEAD | slot;
        for (uint32_t id = wheel->heads[slot].next; id != (HEAD | slot); found++) {
            if (id >= wheel->capacity || found > wheel->count) {
                return "a slot's list does not end";
            }
            const struct node *node = node_of(wheel, id);
            if (node->rest == 0 || node->prev != before) {
                return "two neighbours in a list do not agree";
            }
            uint64_t late = due_of(node) - slot_tick(wheel, slot);
            if (levels && late >> (slot < fine_slots(wheel) ? 0 : wheel->block_bits) != 0) {
                return "a timer is in the wrong slot";
            }
            before = id;
            id = node->next;
        }
        if (wheel->heads[slot].prev != before) {
            return "a list's end is not its last";
        }
        if (slot < fine_slots(wheel) && !list_is_empty(wheel, slot) && !is_occupied(wheel, slot)) {
            return "a slot's bit lies";
        }
    }
    uint64_t pending = 0;
    for (uint32_t id = 0; id < wheel->capacity; id++) {
        pending += node_of(wheel, id)->rest != 0;
    }
    return pending == found && found == wheel->count ? NULL : "the timers pending are miscounted";
}

static enum tl_status wheel_check(const void *self, char *why, size_t why_bytes)
{
    const struct chunk_wheel *wheel = self;
    (void)wheel_count(self);
    const char *wrong = wheel->chunked ? check_chunks(wheel) : check_lists(wheel);
    uint64_t first = wheel->unfinished ? 0 : first_fine(wheel, wheel->position + 1);
    if (wrong == NULL && wheel->quiet > first) {
        wrong = "it sleeps past a slot";
    }
    return wrong == NULL ? TL_OK : corrupt(why, why_bytes, "%s", wrong);
}

/* --- showing --------------------------------------------------------------------------------- */

/* Of two entries that match a node the first is shown as the timer. */
static void walk_chain(const struct chunk_wheel *wheel, uint32_t slot, uint32_t tail,
                       const struct tl_visitor *visitor)
{
    uint32_t mark = slot_mark(wheel, slot);
    bool levels = slot < apart(wheel, SLOT_FAR);
    for (; tail != 0; tail = tail_before(wheel, tail)) {
        for (uint32_t i = 1; i <= ids_before(tail); i++) {
            uint32_t id = chunk_at(wheel, chunk_of(tail))[i];
            struct node *node = node_of(wheel, id);
            if (is_live(node, mark) && (node->later & SEEN) == 0) {
                node->later |= SEEN;
                walk_timer(visitor, id, due_of(node) < SERIALS ? due_of(node) : TL_NEVER, 0);
            } else if (levels) {
                walk_stale(visitor, id, slot_tick(wheel, slot));
            }
        }
    }
}

static void walk_list(const struct chunk_wheel *wheel, uint32_t slot,
                      const struct tl_visitor *visitor)
{
    for (uint32_t id = wheel->heads[slot].next; id != (HEAD | slot);) {
        const struct node *node = node_of(wheel, id);
        walk_timer(visitor, id, due_of(node), 0);
        id = node->next;
    }
}

static void walk_entries(const struct chunk_wheel *wheel, uint32_t slot,
                         const struct tl_visitor *visitor)
{
    if (!wheel->chunked) {
        walk_list(wheel, slot, visitor);
        return;
    }
    walk_chain(wheel, slot, wheel->tails[slot], visitor);
    if (wheel->cleaned != 0 && wheel->clean_slot == slot) {
        walk_chain(wheel, slot, wheel->cleaned, visitor);
    }
}

static bool slot_is_empty(const struct chunk_wheel *wheel, uint32_t slot)
{
    if (!wheel->chunked) {
        return list_is_empty(wheel, slot);
    }
    return wheel->tails[slot] == 0 && (wheel->cleaned == 0 || wheel->clean_slot != slot);
}

static void walk_slots(const struct chunk_wheel *wheel, uint32_t number, uint32_t first,
                       uint32_t count, uint32_t bits, const struct tl_visitor *visitor)
{
    uint64_t hand = wheel->position >> bits;
    walk_level(visitor, number, UINT64_C(1) << bits);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t from = slot_tick(wheel, first + i);
        uint64_t width = UINT64_C(1) << bits;
        bool at_hand = ((uint32_t)hand & (count - 1)) == i;
        walk_span(visitor, i, from, from + (width - 1),
                  (at_hand ? TL_MARK_HAND : 0u) |
                      (slot_is_empty(wheel, first + i) ? 0u : TL_MARK_FLAGGED));
        walk_entries(wheel, first + i, visitor);
    }
}

/* Two slots that stand for no ticks, shown as one where they hold anything. */
static void walk_apart(const struct chunk_wheel *wheel, const char *name, uint32_t first,
                       uint32_t second, const struct tl_visitor *visitor)
{
    if (!slot_is_empty(wheel, first) || !slot_is_empty(wheel, second)) {
        walk_part(visitor, name, TL_FORM_LIST, 0);
        walk_node(visitor, 0, TL_NEVER);
        walk_entries(wheel, first, visitor);
        walk_entries(wheel, second, visitor);
    }
}

/* Leaves the wheel as it was: working off the batch is not seen from outside. */
static void wheel_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct chunk_wheel *wheel = self;
    (void)wheel_count(self);
    walk_apart(wheel, "due now", apart(wheel, SLOT_DUE), apart(wheel, SLOT_LATE), visitor);
    walk_slots(wheel, 1, 0, fine_slots(wheel), 0, visitor);
    walk_slots(wheel, 2, fine_slots(wheel), COARSE, wheel->block_bits, visitor);
    walk_apart(wheel, "far", apart(wheel, SLOT_SOUGHT), apart(wheel, SLOT_FAR), visitor);
    for (uint32_t id = 0; wheel->chunked && id < wheel->capacity; id++) {
        node_of(wheel, id)->later &= ~SEEN;
    }
}

static const struct tl_option wheel_options[] = {
    [OPTION_LISTS] = {"lists", 200000, 0, CAPACITY_MAX, NULL,
                      "with up to so many timers, lists take the place of chunks; 0: never"},
    {NULL, 0, 0, 0, NULL, NULL},
};

TL_ALGO(chunk_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "chunk-wheel",
    .summary = "a hierarchical wheel of chunked slots that looks at restarts and stops late",
    .origin = "our own; after Varghese and Lauck 1987, scheme 7, and Erlang/OTP",
    .description = "TODO",
    .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(1)", .expire = "O(1)"},
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
    .embedded_bytes = sizeof(struct node),
    .moved = wheel_moved,
};
