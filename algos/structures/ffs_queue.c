/*
 * ffs-queue: Eiffel's cFFS: two windows of one-tick buckets, found by bitmaps, that take turns.
 *
 *   buckets=8, base 40               bitmaps (of 64 bits)    root
 *   primary    40 41 42 43 44 45 46 47                        word 0  word 1 ...
 *                  ^bucket of tick 41                           bit per word that is not zero
 *   secondary  48 49 50 51 52 53 54 55+                        word: bit per bucket with timers
 *                                   ^ all timers from 55 on, in no order
 *
 * A bucket holds the timers of one tick. start(a, 50) appends a to bucket 2 of the secondary window
 * and sets its bit in each level of the bitmaps. stop(a) unlinks it and clears bits that have
 * become stale. advance finds the first occupied bucket with one find-first-set instruction for
 * each level: three for twenty thousand buckets, however many timers there are. When the clock has
 * passed the primary window, the windows exchange roles, and the emptied one becomes the window
 * after the next.
 *
 * Timers beyond both windows go to the last bucket of the secondary, the tail. The paper leaves
 * them there, to be served at a wrong time: it expects windows as long as the longest delay. Here
 * the tail is filed again when the windows exchange roles. If there are no timers but the tail's,
 * the windows jump to the first of those. With delays of many windows each exchange moves all of
 * these timers, so choose `buckets` by the delays.
 *
 * A timer that is due at its start goes to the list LATE, and to the bucket of its tick in the next
 * advance.
 *
 * Invariants
 *   - base <= clock; every timer is due at `base` or later
 *   - the i-th bucket of both windows holds the timers due at base + i, the last all later ones too
 *   - a bit is set exactly if the bucket, or the word, below it is not empty
 *   - no timer in the tail is due before tail_earliest
 *   - the primary window is not empty, or ends after the clock; each bucket is in order of start
 *   - buckets and LATE together hold exactly the pending timers
 *
 * Complexity: start, stop, expiry O(1) (a step for each level of bitmaps), a tick O(1); an exchange
 * of windows O(timers in the tail). Use it for packets or timers with a short, bounded delay. Bad
 * at: delays of many windows; memory, if windows are wide.
 *
 * Source: A. Saeed et al., "Eiffel: efficient and flexible software packet scheduling", NSDI 2019,
 * section 3.1.1 (circular hierarchical FFS; 20,000 buckets in its kernel module).
 */
#include "timerlab.h"

#include <inttypes.h>

#include "check.h"
#include "records.h"
#include "walk.h"

/* --- data ------------------------------------------------------------------------------------- */

#define FIRST_BUCKET (HEAD_BIT + 1) /* of window 0 */
#define WORD_BITS    64u
#define LEVELS_MAX   4u
#define BUCKETS_MAX  (INT64_C(1) << 24)

struct queue_options {
    uint32_t buckets;
};

struct window {
    uint64_t *bits[LEVELS_MAX]; /* [0]: a bit a bucket; the last level is one word */
    uint32_t first;             /* list of its first bucket */
};

struct ffs_queue {
    struct timer *timers AND_RECORDS;
    struct node *heads; /* LATE, the buckets of both windows */
    uint64_t *words;    /* the bitmaps of both, in one block with the heads */
    struct window windows[2];
    uint32_t primary; /* which of them; the other is the secondary */
    uint32_t levels;
    uint32_t buckets; /* of one window */
    uint32_t capacity;
    uint64_t base; /* tick of the primary's first bucket */
    uint64_t tail_earliest;
    uint64_t count;
    uint64_t clock;
    const struct tl_allocator *allocator;
    struct tl_counters counters;
};

#define SLOT_LISTS struct ffs_queue
#include "timer_lists.h"
#define STRUCTURE struct ffs_queue
#include "structure.h"

/* --- data: windows ---------------------------------------------------------------------------- */

static inline struct window *primary(struct ffs_queue *queue)
{
    return &queue->windows[queue->primary];
}

static inline struct window *secondary(struct ffs_queue *queue)
{
    return &queue->windows[queue->primary ^ 1];
}

static inline void set_bit(const struct ffs_queue *queue, struct window *window, uint32_t bucket)
{
    for (uint32_t level = 0; level < queue->levels; level++, bucket /= WORD_BITS) {
        uint64_t *word = &window->bits[level][bucket / WORD_BITS];
        bool was_empty = *word == 0;
        *word |= UINT64_C(1) << bucket % WORD_BITS;
        if (!was_empty) {
            break;
        }
    }
}

static inline void clear_bit(const struct ffs_queue *queue, struct window *window, uint32_t bucket)
{
    for (uint32_t level = 0; level < queue->levels; level++, bucket /= WORD_BITS) {
        uint64_t *word = &window->bits[level][bucket / WORD_BITS];
        *word &= ~(UINT64_C(1) << bucket % WORD_BITS);
        if (*word != 0) {
            break;
        }
    }
}

static inline bool is_empty(const struct ffs_queue *queue, const struct window *window)
{
    return window->bits[queue->levels - 1][0] == 0;
}

/* The window and the bucket that a tick belongs to. */
static inline struct window *window_of(struct ffs_queue *queue, uint64_t due, uint32_t *bucket)
{
    uint64_t offset = due - queue->base;
    if (offset < queue->buckets) {
        *bucket = (uint32_t)offset;
        return primary(queue);
    }
    offset -= queue->buckets;
    *bucket = offset < queue->buckets ? (uint32_t)offset : queue->buckets - 1;
    return secondary(queue);
}

/* Put a timer with a `due`, which is in no list, into its bucket. */
static void file(struct ffs_queue *queue, uint32_t id)
{
    uint64_t due = timer_at(queue, id)->due;
    uint32_t bucket = 0;
    struct window *window = window_of(queue, due, &bucket);
    uint32_t list = window->first + bucket;
    bool was_empty = slot_is_empty(queue, list);
    if (was_empty) {
        set_bit(queue, window, bucket);
    }
    if (window == secondary(queue) && bucket == queue->buckets - 1 &&
        (was_empty || due < queue->tail_earliest)) {
        queue->tail_earliest = due;
    }
    slot_append(queue, list, id);
    TL_COUNT(queue, moves, 1);
}

/* Takes a pending timer out of its list. */
static void take(struct ffs_queue *queue, uint32_t id)
{
    struct node links = timer_at(queue, id)->links;
    slot_remove(queue, id);
    queue->count--;
    TL_COUNT(queue, moves, 1);
    if (links.next == links.prev && links.next != LATE && (links.next & HEAD_BIT) != 0) {
        uint32_t bucket = 0; /* it was alone there */
        struct window *window = window_of(queue, timer_at(queue, id)->due, &bucket);
        clear_bit(queue, window, bucket);
    }
}

/* --- start and stop --------------------------------------------------------------------------- */

static enum tl_status queue_start(void *self, uint32_t id, uint64_t deadline)
{
    struct ffs_queue *queue = self;
    if (slot_is_linked(queue, id)) {
        take(queue, id);
    }
    queue->count++;
    if (deadline > queue->clock) {
        timer_at(queue, id)->due = deadline;
        file(queue, id);
    } else {
        timer_at(queue, id)->due = queue->clock;
        slot_append(queue, LATE, id);
        TL_COUNT(queue, moves, 1);
    }
    return TL_OK;
}

static enum tl_status queue_stop(void *self, uint32_t id)
{
    struct ffs_queue *queue = self;
    if (!slot_is_linked(queue, id)) {
        return TL_IDLE;
    }
    take(queue, id);
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

/* The first bucket that holds timers, of a window that is not empty. */
static inline uint32_t first_bucket(const struct ffs_queue *queue, const struct window *window)
{
    uint32_t bucket = 0;
    for (uint32_t level = queue->levels; level-- > 0;) {
        bucket = bucket * WORD_BITS + (uint32_t)__builtin_ctzll(window->bits[level][bucket]);
    }
    return bucket;
}

/* Files the timers of a chain, which ends at a list's head, in their order. */
static void file_chain(struct ffs_queue *queue, uint32_t first)
{
    for (uint32_t id = first; (id & HEAD_BIT) == 0;) {
        uint32_t next = timer_next(queue, id);
        TL_COUNT(queue, cascades, 1);
        file(queue, id);
        id = next;
    }
}

/* Time has passed the primary window, which is empty: the windows change places, or jump. */
static void turn(struct ffs_queue *queue)
{
    struct window *window = secondary(queue);
    TL_COUNT(queue, slots, 1);
    if (is_empty(queue, window)) {
        queue->base = queue->clock;
        return;
    }
    bool only_tail = first_bucket(queue, window) == queue->buckets - 1;
    uint32_t tail = window->first + queue->buckets - 1;
    uint32_t chain = slot_node(queue, tail)->next;
    if (chain != tail) {
        slot_clear(queue, tail);
        clear_bit(queue, window, queue->buckets - 1);
    }
    if (only_tail) {
        queue->base = queue->tail_earliest < queue->clock ? queue->tail_earliest : queue->clock;
    } else {
        queue->base += queue->buckets;
        queue->primary ^= 1;
    }
    file_chain(queue, chain);
}

static uint64_t queue_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct ffs_queue *queue = self;
    queue->clock = now;
    uint32_t late = slot_node(queue, LATE)->next;
    slot_clear(queue, LATE);
    file_chain(queue, late);
    uint64_t fired = 0;
    for (;;) {
        while (is_empty(queue, primary(queue)) && now - queue->base >= queue->buckets) {
            turn(queue);
        }
        if (fired >= budget || is_empty(queue, primary(queue))) {
            break;
        }
        uint32_t bucket = first_bucket(queue, primary(queue));
        TL_COUNT(queue, slots, 1);
        if (queue->base + bucket > now) {
            break;
        }
        uint32_t id = slot_node(queue, primary(queue)->first + bucket)->next;
        (void)timer_next(queue, id); /* asks for its memory */
        take(queue, id);
        fired++;
        fire(ctx, id, now);
    }
    return fired;
}

static uint64_t queue_next(const void *self)
{
    const struct ffs_queue *queue = self;
    const struct window *window = &queue->windows[queue->primary];
    if (queue->count == 0) {
        return TL_NEVER;
    }
    if (!slot_is_empty(queue, LATE)) {
        return queue->clock;
    }
    if (!is_empty(queue, window)) {
        return queue->base + first_bucket(queue, window);
    }
    uint32_t bucket = first_bucket(queue, &queue->windows[queue->primary ^ 1]);
    return bucket < queue->buckets - 1 ? queue->base + queue->buckets + bucket
                                       : queue->tail_earliest;
}

/* --- create and options ----------------------------------------------------------------------- */

/* Words of one window's bitmap at a level. */
static size_t level_words(uint32_t buckets, uint32_t level)
{
    size_t words = buckets;
    for (uint32_t i = 0; i <= level; i++) {
        words = (words + WORD_BITS - 1) / WORD_BITS;
    }
    return words;
}

static size_t words_of(const struct ffs_queue *queue)
{
    size_t words = 0;
    for (uint32_t level = 0; level < queue->levels; level++) {
        words += level_words(queue->buckets, level);
    }
    return 2 * words;
}

static size_t heads_of(const struct ffs_queue *queue)
{
    return 1 + 2 * (size_t)queue->buckets;
}

static size_t block_bytes(const struct ffs_queue *queue)
{
    return words_of(queue) * sizeof(uint64_t) + heads_of(queue) * sizeof(struct node);
}

static size_t timers_bytes(const struct ffs_queue *queue, uint32_t capacity)
{
    (void)queue;
    return ((size_t)OWN_ENTRIES(queue, capacity) + 1) * sizeof(struct timer); /* never nothing */
}

static enum tl_status queue_reserve(void *self, uint32_t capacity)
{
    struct ffs_queue *queue = self;
    if (capacity <= queue->capacity && queue->timers != NULL) {
        return TL_OK;
    }
    if (capacity >= HEAD_BIT) {
        return TL_ERR_CAPACITY;
    }
    struct timer *timers =
        queue->allocator->resize(queue->allocator->ctx, queue->timers,
                                 queue->timers != NULL ? timers_bytes(queue, queue->capacity) : 0,
                                 timers_bytes(queue, capacity), BLOCK_ALIGN);
    if (timers == NULL) {
        return TL_ERR_NOMEM;
    }
    queue->timers = timers;
    OWN_ARRAY(queue, timers, sizeof *timers);
    for (uint32_t id = queue->capacity; id < capacity; id++) {
        *timer_at(queue, id) = (struct timer){.links = {.next = SLOT_NONE, .prev = SLOT_NONE}};
    }
    queue->capacity = capacity;
    return TL_OK;
}

static void queue_destroy(void *self)
{
    struct ffs_queue *queue = self;
    tl_free(queue->allocator, queue->timers, timers_bytes(queue, queue->capacity), BLOCK_ALIGN);
    tl_free(queue->allocator, queue->words, block_bytes(queue), BLOCK_ALIGN);
    structure_free(queue, queue->allocator);
}

static enum tl_status queue_create(const struct tl_config *config, void **self)
{
    const struct queue_options *options = config->options;
    struct ffs_queue *queue = tl_alloc(config->allocator, sizeof *queue, alignof(struct ffs_queue));
    if (queue == NULL) {
        return TL_ERR_NOMEM;
    }
    *queue = (struct ffs_queue){
        .levels = 1,
        .buckets = options->buckets,
        .base = config->now,
        .clock = config->now,
        .allocator = config->allocator,
    };
    TAKE_RECORDS(queue, config);
    while (level_words(queue->buckets, queue->levels - 1) > 1) {
        queue->levels++;
    }
    queue->words = tl_alloc(config->allocator, block_bytes(queue), BLOCK_ALIGN);
    enum tl_status status =
        queue->words != NULL ? queue_reserve(queue, config->capacity) : TL_ERR_NOMEM;
    if (status != TL_OK) {
        queue_destroy(queue);
        return status;
    }
    memset(queue->words, 0, words_of(queue) * sizeof *queue->words);
    uint64_t *words = queue->words;
    for (uint32_t i = 0; i < 2; i++) {
        queue->windows[i].first = FIRST_BUCKET + i * queue->buckets;
        for (uint32_t level = 0; level < queue->levels; level++) {
            queue->windows[i].bits[level] = words;
            words += level_words(queue->buckets, level);
        }
    }
    queue->heads = (struct node *)(void *)words;
    for (size_t i = 0; i < heads_of(queue); i++) {
        slot_clear(queue, HEAD_BIT | (uint32_t)i);
    }
    *self = queue;
    return TL_OK;
}

static const struct tl_option queue_option_table[] = {
    {"buckets", TL_U32(struct queue_options, buckets), 20000, 1, BUCKETS_MAX, NULL,
     "buckets of a tick each in either of the two windows"},
    {0},
};

/* --- check and walk --------------------------------------------------------------------------- */

/* Whether every bit of a window's bitmap is right. */
static bool bits_agree(const struct ffs_queue *queue, const struct window *window)
{
    for (uint32_t bucket = 0; bucket < queue->buckets; bucket++) {
        bool bit = (window->bits[0][bucket / WORD_BITS] >> bucket % WORD_BITS & 1) != 0;
        if (bit == slot_is_empty(queue, window->first + bucket)) {
            return false;
        }
    }
    for (uint32_t level = 1; level < queue->levels; level++) {
        for (size_t i = 0; i < level_words(queue->buckets, level - 1); i++) {
            bool bit = (window->bits[level][i / WORD_BITS] >> i % WORD_BITS & 1) != 0;
            if (bit != (window->bits[level - 1][i] != 0)) {
                return false;
            }
        }
    }
    return true;
}

/* Whether each timer of a bucket belongs there. */
static bool dues_agree(const struct ffs_queue *queue, uint32_t which, uint32_t bucket)
{
    uint32_t list = queue->windows[queue->primary ^ which].first + bucket;
    uint64_t tick = queue->base + (uint64_t)which * queue->buckets + bucket;
    bool is_tail = which == 1 && bucket == queue->buckets - 1;
    for (uint32_t id = slot_node(queue, list)->next; id != list;
         id = timer_at(queue, id)->links.next) {
        uint64_t due = timer_at(queue, id)->due;
        if (is_tail ? due < tick || due < queue->tail_earliest : due != tick) {
            return false;
        }
    }
    return true;
}

static enum tl_status queue_check(const void *self, char *why, size_t why_bytes)
{
    const struct ffs_queue *queue = self;
    uint64_t seen = 0;
    for (size_t i = 0; i < heads_of(queue); i++) {
        if (!slot_walk(queue, HEAD_BIT | (uint32_t)i, queue->count, &seen)) {
            return corrupt(why, why_bytes, "the links of list %zu do not agree", i);
        }
    }
    for (uint32_t which = 0; which < 2; which++) {
        if (!bits_agree(queue, &queue->windows[which])) {
            return corrupt(why, why_bytes, "the bitmap of window %" PRIu32 " is wrong", which);
        }
        for (uint32_t bucket = 0; bucket < queue->buckets; bucket++) {
            if (!dues_agree(queue, which, bucket)) {
                return corrupt(why, why_bytes,
                               "a timer in bucket %" PRIu32 " does not belong there", bucket);
            }
        }
    }
    uint64_t linked = lists_linked(queue);
    if (seen != queue->count || linked != queue->count || queue->base > queue->clock) {
        return corrupt(why, why_bytes,
                       "%" PRIu64 " timers in lists, %" PRIu64 " with links, %" PRIu64 " counted",
                       seen, linked, queue->count);
    }
    return TL_OK;
}

static void queue_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct ffs_queue *queue = self;
    lists_walk_late(queue, visitor);
    for (uint32_t which = 0; which < 2; which++) {
        const struct window *window = &queue->windows[queue->primary ^ which];
        uint64_t base = queue->base + (uint64_t)which * queue->buckets;
        walk_part(visitor, which == 0 ? "level 1, primary" : "level 2, secondary", TL_FORM_WHEEL,
                  1);
        for (uint32_t bucket = 0; bucket < queue->buckets; bucket++) {
            bool tail = which == 1 && bucket + 1 == queue->buckets;
            bool set = (window->bits[0][bucket / WORD_BITS] >> bucket % WORD_BITS & 1) != 0;
            uint64_t tick = base + bucket;
            walk_span(visitor, bucket, tick, tail ? TL_DEADLINE_MAX : tick,
                      (tick == queue->clock ? TL_MARK_HAND : 0u) | (set ? TL_MARK_FLAGGED : 0u));
            lists_walk(queue, window->first + bucket, visitor);
        }
    }
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(ffs_queue) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_ORDERED | TL_CAP_FIFO | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET |
                    TL_CAP_UNLIMITED,
    .name = "ffs-queue",
    .summary = "two windows of one-tick buckets under bitmaps, found by find-first-set",
    .origin = "Eiffel's cFFS (Saeed et al. 2019)",
    .description =
        "A bucket a tick in two windows that take turns; a tree of bitmaps finds the first bucket "
        "that is not empty with one find-first-set instruction a level. Timers beyond both are "
        "kept in the last bucket and filed again at each turn (the paper serves it at the wrong "
        "time). Ordered, and constant in everything while delays stay within the windows. Bad at: "
        "delays of many windows, all of which every turn moves; memory for wide windows.",
    .differs =
        "timers beyond both windows wait in the last bucket and are filed again when the windows "
        "take turns, where Eiffel serves them with that bucket, early, as its windows are as long "
        "as the longest delay; if all pending timers are there, the windows jump to them; timers "
        "can be stopped and moved, Eiffel dequeues only; a bucket is one tick.",
    .cost = {.start = "O(1)",
             .stop = "O(1)",
             .tick = "O(1)",
             .expire = "O(1) and delay / buckets moves"},
    .options = queue_option_table,
    .options_bytes = sizeof(struct queue_options),
    .create = queue_create,
    .destroy = queue_destroy,
    .reserve = queue_reserve,
    .start = queue_start,
    .stop = queue_stop,
    .advance = queue_advance,
    .next = queue_next,
    LISTS_HOOKS,
    .check = queue_check,
    .walk = queue_walk,
};
