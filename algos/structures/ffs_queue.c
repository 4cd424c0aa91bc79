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
 * each level: three for twenty thousand buckets. When the clock has passed the primary window, the
 * windows exchange roles, and the emptied one becomes the window after the next.
 *
 * Timers beyond both windows go to the last bucket of the secondary, the tail. The paper serves
 * them there at a wrong time: it expects windows as long as the longest delay. Here the tail is
 * filed again when the windows exchange roles; if there are no other timers, the windows jump to
 * the first of these.
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

/* --- data ------------------------------------------------------------------------------------- */

#define WORD_BITS      64u
#define LEVELS_MAX     4u
#define BUCKETS_MAX    (INT64_C(1) << 24)

#define BUCKET_STRIPES 1u
#include "due_buckets.h"
#include "slot_bitmap.h"

#define FLUSH        2u /* timers that are to be filed again */
#define FIRST_BUCKET 3u /* of window 0 */

struct window {
    uint64_t *bits[LEVELS_MAX]; /* [0]: a bit a bucket; the last level is one word */
    uint32_t first;             /* its first bucket */
};

struct ffs_queue {
    struct timer_buckets buckets;
    struct window windows[2];
    uint32_t primary; /* which of them; the other is the secondary */
    uint32_t levels;
    uint32_t width; /* buckets of one window */
    uint64_t base;  /* tick of the primary's first bucket */
    uint64_t tail_earliest;
    uint64_t words[]; /* the bitmaps of both windows */
};

/* The words of a window's bitmaps. */
static size_t window_words(uint32_t width)
{
    size_t words = 0;
    do {
        width = (width + WORD_BITS - 1) / WORD_BITS;
        words += width;
    } while (width > 1);
    return words;
}

#define STRUCTURE struct ffs_queue
#define STRUCTURE_BYTES(queue)                                                                     \
    (sizeof *(queue) + 2 * window_words((queue)->width) * sizeof *(queue)->words)
#define TAKE_OUT take_out
#define OWN_ADVANCE
#define NEXT_WORK
#define TAKES_FROM FLUSH
#include "bucket_hooks.h"

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
    if (offset < queue->width) {
        *bucket = (uint32_t)offset;
        return primary(queue);
    }
    offset -= queue->width;
    *bucket = offset < queue->width ? (uint32_t)offset : queue->width - 1;
    return secondary(queue);
}

/* Files a timer that is in no list. */
static void file_timer(struct ffs_queue *queue, uint32_t index)
{
    uint64_t due = node_at(&queue->buckets, index)->due;
    uint32_t number = 0;
    struct window *window = window_of(queue, due, &number);
    uint32_t bucket = window->first + number;
    bool was_empty = bucket_is_empty(&queue->buckets, bucket);
    if (was_empty) {
        set_bit(queue, window, number);
    }
    if (window == secondary(queue) && number == queue->width - 1 &&
        (was_empty || due < queue->tail_earliest)) {
        queue->tail_earliest = due;
    }
    bucket_append(&queue->buckets, bucket, index);
}

/* --- start and stop --------------------------------------------------------------------------- */

static inline void take_out(struct ffs_queue *queue, uint32_t index)
{
    uint32_t bucket = bucket_remove(&queue->buckets, index);
    if (bucket != BUCKET_NONE && bucket >= FIRST_BUCKET) {
        struct window *window = &queue->windows[bucket >= queue->windows[1].first];
        clear_bit(queue, window, bucket - window->first);
    }
}

static enum tl_status queue_start(void *self, uint32_t id, uint64_t deadline)
{
    struct ffs_queue *queue = self;
    uint32_t index = take_for_start(queue, id);
    if (deadline > queue->buckets.clock) {
        node_at(&queue->buckets, index)->due = deadline;
        file_timer(queue, index);
    } else {
        node_at(&queue->buckets, index)->due = queue->buckets.clock;
        bucket_append(&queue->buckets, LATE, index);
    }
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

/* The first bucket that holds timers, of a window that is not empty. */
static inline uint32_t first_bucket(const struct ffs_queue *queue, const struct window *window)
{
    uint32_t bucket = 0;
    for (uint32_t level = queue->levels; level-- > 0;) {
        bucket = bucket * WORD_BITS + bitmap_first(window->bits[level][bucket]);
    }
    return bucket;
}

static void file_again(void *self, uint32_t index)
{
    struct ffs_queue *queue = self;
    TL_COUNT(&queue->buckets, cascades, 1);
    file_timer(queue, index);
}

/* Time has passed the primary window, which is empty: the windows change places, or jump. */
static void turn_windows(struct ffs_queue *queue)
{
    struct window *window = secondary(queue);
    TL_COUNT(&queue->buckets, slots, 1);
    if (is_empty(queue, window)) {
        queue->base = queue->buckets.clock;
        return;
    }
    bool only_tail = first_bucket(queue, window) == queue->width - 1;
    uint32_t tail = window->first + queue->width - 1;
    if (!bucket_is_empty(&queue->buckets, tail)) {
        bucket_move_all(&queue->buckets, tail, FLUSH);
        clear_bit(queue, window, queue->width - 1);
    }
    if (only_tail) {
        uint64_t clock = queue->buckets.clock;
        queue->base = queue->tail_earliest < clock ? queue->tail_earliest : clock;
    } else {
        queue->base += queue->width;
        queue->primary ^= 1;
    }
    slots_drain(&queue->buckets, FLUSH, 1, 0, file_again, queue); /* in their order */
}

static uint64_t queue_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct ffs_queue *queue = self;
    struct timer_buckets *buckets = &queue->buckets;
    buckets->clock = now;
    slots_drain(buckets, LATE, 1, 0, file_again, queue);
    uint64_t fired = 0;
    for (;;) {
        while (is_empty(queue, primary(queue)) && now - queue->base >= queue->width) {
            turn_windows(queue);
        }
        if (fired >= budget || is_empty(queue, primary(queue))) {
            break;
        }
        uint32_t number = first_bucket(queue, primary(queue));
        TL_COUNT(buckets, slots, 1);
        if (queue->base + number > now) {
            break;
        }
        uint32_t index = bucket_first(buckets, primary(queue)->first + number);
        PREFETCH(node_at(buckets, node_at(buckets, index)->next));
        take_out(queue, index);
        buckets->count--;
        fired++;
        fire(ctx, timer_id(buckets, index), now);
    }
    return fired;
}

static uint64_t next_work(const struct ffs_queue *queue)
{
    const struct window *window = &queue->windows[queue->primary];
    if (!is_empty(queue, window)) {
        return queue->base + first_bucket(queue, window);
    }
    uint32_t bucket = first_bucket(queue, &queue->windows[queue->primary ^ 1]);
    return bucket < queue->width - 1 ? queue->base + queue->width + bucket : queue->tail_earliest;
}

/* --- create and options ----------------------------------------------------------------------- */

struct queue_options {
    uint32_t buckets;
};

/* Divide the words among the levels of both windows. */
static void make_windows(struct ffs_queue *queue)
{
    uint64_t *words = queue->words;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t count = queue->width;
        queue->windows[i].first = FIRST_BUCKET + i * queue->width;
        queue->levels = 0;
        do {
            count = (count + WORD_BITS - 1) / WORD_BITS;
            queue->windows[i].bits[queue->levels++] = words;
            words += count;
        } while (count > 1);
    }
}

static enum tl_status queue_reserve(void *self, uint32_t capacity)
{
    struct ffs_queue *queue = self;
    if (queue->levels == 0) {
        make_windows(queue);
    }
    return buckets_reserve(queue, capacity);
}

static enum tl_status queue_create(const struct tl_config *config, void **self)
{
    const struct queue_options *options = config->options;
    struct ffs_queue empty = {
        .buckets = buckets_empty(config, FIRST_BUCKET + 2 * options->buckets),
        .width = options->buckets,
        .base = config->now,
    };
    return structure_create(config, &empty, queue_reserve, buckets_destroy, self);
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
    uint32_t count = queue->width;
    for (uint32_t level = 0; level < queue->levels; level++) {
        for (uint32_t i = 0; i < count; i++) {
            bool bit = (window->bits[level][i / WORD_BITS] >> i % WORD_BITS & 1) != 0;
            bool filled = level == 0 ? !bucket_is_empty(&queue->buckets, window->first + i)
                                     : window->bits[level - 1][i] != 0;
            if (bit != filled) {
                return false;
            }
        }
        count = (count + WORD_BITS - 1) / WORD_BITS;
    }
    return true;
}

static bool bucket_takes(const struct ffs_queue *queue, uint32_t bucket, const struct node *node)
{
    if (bucket == FLUSH) {
        return false;
    }
    uint32_t window = bucket >= queue->windows[1].first;
    bool is_secondary = window != queue->primary;
    uint32_t number = bucket - queue->windows[window].first;
    uint64_t tick = queue->base + (is_secondary ? queue->width : 0) + number;
    bool is_tail = is_secondary && number == queue->width - 1;
    return is_tail ? node->due >= tick && node->due >= queue->tail_earliest : node->due == tick;
}

static enum tl_status queue_check(const void *self, char *why, size_t why_bytes)
{
    const struct ffs_queue *queue = self;
    if (queue->base > queue->buckets.clock || !bits_agree(queue, &queue->windows[0]) ||
        !bits_agree(queue, &queue->windows[1])) {
        return corrupt(why, why_bytes, "the base or a bitmap is wrong");
    }
    return buckets_check_timers(queue, 0, why, why_bytes);
}

static void queue_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct ffs_queue *queue = self;
    buckets_walk_due(&queue->buckets, visitor);
    for (uint32_t which = 0; which < 2; which++) {
        const struct window *window = &queue->windows[queue->primary ^ which];
        uint64_t base = queue->base + (uint64_t)which * queue->width;
        walk_part(visitor, which == 0 ? "level 1, primary" : "level 2, secondary", TL_FORM_WHEEL,
                  1);
        for (uint32_t bucket = 0; bucket < queue->width; bucket++) {
            bool tail = which == 1 && bucket + 1 == queue->width;
            bool set = (window->bits[0][bucket / WORD_BITS] >> bucket % WORD_BITS & 1) != 0;
            uint64_t tick = base + bucket;
            walk_span(visitor, bucket, tick, tail ? TL_DEADLINE_MAX : tick,
                      (tick == queue->buckets.clock ? TL_MARK_HAND : 0u) |
                          (set ? TL_MARK_FLAGGED : 0u));
            bucket_walk(&queue->buckets, window->first + bucket, keep_due, visitor);
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
    OPTIONS(queue_option_table, struct queue_options),
    .create = queue_create,
    .destroy = buckets_destroy,
    .reserve = queue_reserve,
    .start = queue_start,
    .advance = queue_advance,
    .next = buckets_next,
    BUCKETS_OTHER_HOOKS,
    .check = queue_check,
    .walk = queue_walk,
};
