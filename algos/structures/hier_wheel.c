/*
 * hier-wheel: hierarchical wheels with a delay queue of buckets, as in Kafka and its port to Go.
 *
 *   tick=1, slots=20, clock 0
 *   level   ticks a bucket   buckets   takes timers due within    bucket of due 30,123
 *     1              1          20                20
 *     2             20          20               400
 *     3            400          20             8,000
 *     4          8,000          20           160,000                24,000 .. 31,999 (slot 3)
 *
 *   delay queue (a heap):  8 (level 1)   40 (level 2)   24,000 (level 4)
 *
 * start(a, 30123) files a on the lowest level that reaches it, in bucket 3 of level 4, and adds
 * that bucket to the delay queue under tick 24,000. advance(24000) polls the bucket from the queue
 * and files a again, now on level 3; in the end a bucket of level 1 expires and fires a. So time
 * jumps from bucket to bucket, and a timer moves at most once for each level. stop(a) unlinks a;
 * its bucket stays queued.
 *
 * The names are Kafka's. Times are in units of `tick`. A level is allocated when the first timer
 * needs it: no horizon. If that fails, the timer waits in the furthest bucket of the highest level.
 * With `tick` above 1, rounding=floor is Kafka's rule: a bucket fires at its start, up to tick - 1
 * early. rounding=ceil is never early, and up to tick - 1 late. clock=bucket is Kafka's clock,
 * which stops at the last expired bucket: the longer no bucket expires, the higher the level of a
 * new timer. With clock=advance the clock follows every advance.
 *
 * Each bucket has four lists, chosen by id, that are walked side by side, so that four nodes are
 * fetched from memory at once (bucket_lists.h). Before `work_at`, the tick of the first bucket, an
 * advance only sets the clock. Expired timers move to the list DUE, and timers due at their start
 * to LATE.
 *
 * Invariants
 *   - a wheel's buckets hold the expirations current_time + tick .. current_time + (size-1) * tick
 *   - a bucket that holds timers is queued; if stops empty it, it stays, so `next` is a lower bound
 *   - a timer's due unit is inside its bucket, or beyond it if a level could not be allocated
 *   - no bucket expires before `work_at`, which is 0 if DUE or LATE holds timers
 *
 * Complexity (m levels, b occupied buckets): start O(m), O(log b) for an empty bucket; stop and a
 * tick O(1); expiry O(1) and a move for each level. Use it for any delays and a thread that sleeps.
 * Bad at: an upper bucket with very many timers; ticks in a row, since each pops a bucket from the
 * queue.
 *
 * Source: Varghese and Lauck 1987, section 6.2; apache/kafka, TimingWheel.java;
 * RussellLuo/timingwheel.
 */
#include "timerlab.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include "records.h"

/* --- data ------------------------------------------------------------------------------------- */

#define BLOCK_ALIGN  64
#define INNER_CACHES (UINT32_C(4) << 20) /* bytes of timers that fit there */
#define HEAD_BIT     (UINT32_C(1) << 31) /* an index with it names a list, without it a timer */
#define FIRST_BUCKET 2u                  /* slot 0 of level 1, after DUE and LATE */
#define WHEELS_MAX   64u                 /* of 2 slots each: 64 bits */
#define SLOTS_MAX    (INT64_C(1) << 24)
#define TICK_MAX     (INT64_C(1) << 32)
#define NOT_QUEUED   UINT64_MAX

enum part { TIMERS, HEADS };

#define BUCKET_STRIPES 4u
/* A timer, or the head of one of a bucket's lists. */
struct node {
    uint64_t at; /* timer: the unit in which it is due; a bucket's first list: in which the bucket
                    expires, or NOT_QUEUED */
    uint32_t next;
    uint32_t prev;
};

/* A bucket in the delay queue. */
struct delayed {
    uint64_t expiration; /* the unit in which it expires */
    uint32_t bucket;
    uint32_t level; /* from 0 */
};

struct timing_wheel {
    uint64_t limit;        /* the first unit that it does not reach */
    uint64_t current_time; /* the unit at which all wheels stand, floored to `tick` */
    uint64_t tick;         /* units of one bucket */
    uint64_t interval;     /* units of all of them; UINT64_MAX where 64 bits do not hold it */
    uint64_t inverse;      /* 2^64 / tick, rounded down; unused where the tick is 1 */
    uint32_t hand;         /* slot of `current_time` */
    uint32_t first;        /* bucket of slot 0 */
};

struct system_timer {
    /* TIMERS; HEADS of DUE, LATE, the wheels' buckets, with the delay queue after them in one
     * block. */
    struct node *parts[2] AND_RECORDS;
    struct delayed *delay_queue; /* binary heap of the buckets that are to expire, the first at 0 */
    uint32_t queued;
    uint32_t wheel_count;
    uint32_t wheel_size; /* buckets of a wheel */
    bool ceil;
    bool by_bucket;  /* clock=bucket: the wheels are at the last expired bucket */
    bool overfilled; /* a wheel could not be allocated: buckets may hold later timers */
    uint64_t clock;
    uint64_t work_at; /* before this tick an advance has nothing to do but to set the clock */
    uint64_t unit;    /* ticks of a unit: the option `tick` */
    uint64_t count;
    uint32_t capacity;
    uint32_t stripes; /* the bits of an id that say its list in a bucket; 0: the first */
    const struct tl_allocator *allocator;
    struct tl_counters counters;
    /* By how many zeros a delay begins with: the lowest wheel that may reach it, or the highest. */
    uint8_t wheel_of_zeros[64];
    struct timing_wheel wheels[WHEELS_MAX]; /* wheels[n + 1] is the overflow wheel of wheels[n] */
};

/* --- data: lists and buckets ------------------------------------------------------------------ */

#define SLOT_LISTS struct system_timer
#include "bucket_lists.h"
#define STRUCTURE struct system_timer
#include "structure.h"
#include "work_at.h"

/* Whether a link names a list or a timer is a toss-up, so there is no branch. */
#ifdef TL_EMBEDDED
static inline struct node *slot_node(const struct system_timer *timer, uint32_t index)
{
    bool head = index / HEAD_BIT != 0;
    char *first = head ? (char *)timer->parts[HEADS] : timer->records.first;
    size_t stride = head ? sizeof(struct node) : timer->records.stride;
    return (struct node *)(void *)(first + index % HEAD_BIT * stride);
}

static inline struct node *timer_at(const struct system_timer *timer, uint32_t id)
{
    return record_at(&timer->records, id);
}
#else
static inline struct node *slot_node(const struct system_timer *timer, uint32_t index)
{
    return &timer->parts[index / HEAD_BIT][index % HEAD_BIT];
}
#define timer_at(timer, id) (&(timer)->parts[TIMERS][id])
#endif

static inline bool slot_is_timer(const struct system_timer *timer, uint32_t index)
{
    (void)timer;
    return (index & HEAD_BIT) == 0;
}

static inline uint32_t timer_index(const struct system_timer *timer, uint32_t id)
{
    (void)timer;
    return id % HEAD_BIT; /* as it is: so that the compiler knows it for a timer's */
}

static inline uint32_t timer_id(const struct system_timer *timer, uint32_t index)
{
    (void)timer;
    return index;
}

static inline uint32_t bucket_head(const struct system_timer *timer, uint32_t bucket,
                                   uint32_t stripe)
{
    (void)timer;
    return HEAD_BIT | (bucket * BUCKET_STRIPES + stripe);
}

static inline uint32_t head_bucket(const struct system_timer *timer, uint32_t head)
{
    (void)timer;
    return (head ^ HEAD_BIT) / BUCKET_STRIPES;
}

static inline uint32_t stripe_bits(const struct system_timer *timer, bool near)
{
    (void)near;
    return timer->stripes;
}

/* The unit in which a bucket expires, or NOT_QUEUED. */
static inline uint64_t *bucket_expiration(const struct system_timer *timer, uint32_t bucket)
{
    return &timer->parts[HEADS][bucket * BUCKET_STRIPES].at;
}

/* --- data: the delay queue -------------------------------------------------------------------- */

/* Puts a bucket, which is not in the queue, in its place by its expiration. */
static NEVER_INLINE void delay_queue_offer(struct system_timer *timer, struct delayed added)
{
    struct delayed *queue = timer->delay_queue;
    uint32_t hole = timer->queued++;
    while (hole > 0) {
        uint32_t parent = (hole - 1) / 2;
        TL_COUNT(timer, compares, 1);
        if (queue[parent].expiration <= added.expiration) {
            break;
        }
        queue[hole] = queue[parent];
        hole = parent;
    }
    queue[hole] = added;
}

/* Takes the bucket that expires first, if it does by the unit `target`. */
static bool delay_queue_poll(struct system_timer *timer, uint64_t target, struct delayed *polled)
{
    struct delayed *queue = timer->delay_queue;
    if (timer->queued == 0 || queue[0].expiration > target) {
        return false;
    }
    *polled = queue[0];
    struct delayed last = queue[--timer->queued];
    uint32_t hole = 0;
    while (2 * hole + 1 < timer->queued) {
        uint32_t child = 2 * hole + 1;
        if (child + 1 < timer->queued) {
            TL_COUNT(timer, compares, 1);
            child += queue[child + 1].expiration < queue[child].expiration;
        }
        TL_COUNT(timer, compares, 1);
        if (last.expiration <= queue[child].expiration) {
            break;
        }
        queue[hole] = queue[child];
        hole = child;
    }
    queue[hole] = last;
    return true;
}

/* --- data: timing wheels ---------------------------------------------------------------------- */

/* How many ticks of a wheel go into `units`. Multiplying by the inverse finds as many, or one
 * less, in a fifth of the time that dividing takes. */
static inline uint64_t wheel_ticks(const struct timing_wheel *wheel, uint64_t units)
{
    if (wheel->tick == 1) {
        return units;
    }
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    uint64_t ticks = (uint64_t)((wide)units * wheel->inverse >> 64);
#else /* a processor of 32 bits */
    uint64_t ticks = units / wheel->tick;
#endif
    return ticks + (units - ticks * wheel->tick >= wheel->tick);
}

/* Puts a wheel at the bucket that starts in the unit `start`. */
static inline void wheel_set(struct timing_wheel *wheel, uint64_t start, uint32_t hand)
{
    wheel->current_time = start;
    wheel->hand = hand;
    wheel->limit = start > UINT64_MAX - wheel->interval ? UINT64_MAX : start + wheel->interval;
}

/* Set a wheel to its position in the unit `now`. */
static void wheel_stand_at(struct timing_wheel *wheel, uint64_t now, uint32_t wheel_size)
{
    uint64_t bucket = wheel_ticks(wheel, now);
    wheel_set(wheel, bucket * wheel->tick, (uint32_t)(bucket % wheel_size));
}

static size_t bucket_count(const struct system_timer *timer, uint32_t wheel_count)
{
    return FIRST_BUCKET + (size_t)wheel_count * timer->wheel_size;
}

static size_t block_bytes(const struct system_timer *timer, uint32_t wheel_count)
{
    return bucket_count(timer, wheel_count) *
           (BUCKET_STRIPES * sizeof(struct node) + sizeof(struct delayed));
}

/* Makes the overflow wheel of the highest so far, which has an interval below UINT64_MAX; or the
 * first wheel. False, and nothing changed, if there is no memory. */
static NEVER_INLINE bool add_overflow_wheel(struct system_timer *timer, uint64_t now)
{
    uint32_t count = timer->wheel_count;
    size_t old_heads = count > 0 ? bucket_count(timer, count) * BUCKET_STRIPES : 0;
    size_t new_heads = bucket_count(timer, count + 1) * BUCKET_STRIPES;
    if (new_heads > HEAD_BIT) {
        return false;
    }
    struct node *heads = tl_alloc(timer->allocator, block_bytes(timer, count + 1), BLOCK_ALIGN);
    if (heads == NULL) {
        return false;
    }
    struct delayed *queue = (struct delayed *)(void *)(heads + new_heads);
    if (count > 0) {
        memcpy(heads, timer->parts[HEADS], old_heads * sizeof *heads);
        memcpy(queue, timer->delay_queue, timer->queued * sizeof *queue);
        tl_free(timer->allocator, timer->parts[HEADS], block_bytes(timer, count), BLOCK_ALIGN);
    }
    for (size_t i = old_heads; i < new_heads; i++) {
        uint32_t head = HEAD_BIT | (uint32_t)i;
        heads[i] = (struct node){.at = NOT_QUEUED, .next = head, .prev = head};
    }
    timer->parts[HEADS] = heads;
    timer->delay_queue = queue;
    struct timing_wheel *wheel = &timer->wheels[count];
    wheel->tick = count > 0 ? wheel[-1].interval : 1;
    wheel->interval =
        wheel->tick > UINT64_MAX / timer->wheel_size ? UINT64_MAX : wheel->tick * timer->wheel_size;
    wheel->inverse = UINT64_MAX / wheel->tick;
    wheel->first = FIRST_BUCKET + count * timer->wheel_size;
    wheel_stand_at(wheel, now, timer->wheel_size);
    timer->wheel_count = count + 1;
    for (uint32_t zeros = 0; zeros < 64; zeros++) {
        uint64_t delay_units = UINT64_C(1) << (63 - zeros);
        uint32_t n = 0;
        while (n < count && delay_units >= timer->wheels[n].interval) {
            n++;
        }
        timer->wheel_of_zeros[zeros] = (uint8_t)n;
    }
    return true;
}

/* Moves the current time of all wheels to the unit `now`. A bucket of a wheel is several whole
 * buckets of the one below, so the first wheel that stays where it is ends it. */
static void timing_wheels_advance_clock(struct system_timer *timer, uint64_t now)
{
    for (uint32_t i = 0; i < timer->wheel_count; i++) {
        struct timing_wheel *wheel = &timer->wheels[i];
        uint64_t passed = now - wheel->current_time;
        if (passed < wheel->tick) {
            break;
        }
        uint64_t steps = passed - wheel->tick < wheel->tick ? 1 : wheel_ticks(wheel, passed);
        if (steps < timer->wheel_size) { /* without a division */
            uint32_t hand = wheel->hand + (uint32_t)steps;
            wheel_set(wheel, wheel->current_time + steps * wheel->tick,
                      hand < timer->wheel_size ? hand : hand - timer->wheel_size);
        } else {
            wheel_stand_at(wheel, now, timer->wheel_size);
        }
    }
}

/* Adds a timer that is in no list to the bucket of a wheel for a due unit, the furthest bucket
 * if that is out of its reach, and the bucket, if it held none, to the delay queue. */
static inline void bucket_add(struct system_timer *timer, uint32_t n, uint32_t index, uint64_t due)
{
    const struct timing_wheel *wheel = &timer->wheels[n];
    uint64_t ahead = due < wheel->limit ? due - wheel->current_time : wheel->interval - wheel->tick;
    ahead = wheel_ticks(wheel, ahead);
    uint64_t slot = wheel->hand + ahead;
    /* A branch would be a toss-up. */
    slot -= timer->wheel_size & (0 - (uint64_t)(slot >= timer->wheel_size));
    uint32_t bucket = wheel->first + (uint32_t)slot;
    timer_at(timer, index)->at = due;
    bucket_append(timer, bucket, index % HEAD_BIT);
    if (UNLIKELY(*bucket_expiration(timer, bucket) == NOT_QUEUED)) {
        uint64_t at = wheel->current_time + ahead * wheel->tick;
        *bucket_expiration(timer, bucket) = at;
        if (at * timer->unit < timer->work_at) {
            timer->work_at = at * timer->unit;
        }
        delay_queue_offer(timer, (struct delayed){.expiration = at, .bucket = bucket, .level = n});
    }
}

/* Adds a timer to the lowest overflow wheel of wheel `n` that reaches it; made if there is none. */
static NEVER_INLINE void overflow_wheel_add(struct system_timer *timer, uint32_t n, uint32_t index,
                                            uint64_t due)
{
    do {
        if (++n == timer->wheel_count &&
            !add_overflow_wheel(timer, timer->wheels[0].current_time)) {
            n--;
            timer->overfilled = true;
            break;
        }
        TL_COUNT(timer, compares, 1);
    } while (due >= timer->wheels[n].limit);
    bucket_add(timer, n, index, due);
}

/* The lowest wheel that may reach a timer due this many units ahead, or the highest. */
static inline uint32_t wheel_for(const struct system_timer *timer, uint64_t units)
{
    return timer->wheel_of_zeros[__builtin_clzll(units)];
}

/* Adds a timer that is in no list and due after the wheels' current time. */
static inline void timing_wheel_add(struct system_timer *timer, uint32_t index, uint64_t due)
{
    uint32_t n = wheel_for(timer, due - timer->wheels[0].current_time);
    TL_COUNT(timer, compares, 1);
    if (UNLIKELY(due >= timer->wheels[n].limit)) {
        overflow_wheel_add(timer, n, index, due);
    } else {
        bucket_add(timer, n, index, due);
    }
}

/* --- start and stop --------------------------------------------------------------------------- */

/* The unit in which a deadline is due, on the side of it that the option says. */
static inline uint64_t due_unit(const struct system_timer *timer, uint64_t deadline)
{
    return (timer->ceil ? deadline + timer->unit - 1 : deadline) / timer->unit;
}

/* Adds a timer that is in no list where the wheels stand, however long they have. */
static NEVER_INLINE void add_by_bucket(struct system_timer *timer, uint32_t index,
                                       uint64_t deadline)
{
    uint64_t due = due_unit(timer, deadline);
    if (due <= timer->wheels[0].current_time || (timer->ceil && deadline <= timer->clock)) {
        slot_append(timer, bucket_head(timer, LATE, 0), index);
        timer->work_at = 0;
        TL_COUNT(timer, moves, 1);
    } else {
        timing_wheel_add(timer, index, due);
    }
}

/* Add a timer; the wheels must be at the unit `now` for it. */
static NEVER_INLINE void advance_and_add(struct system_timer *timer, uint32_t index, uint64_t due,
                                         uint64_t now)
{
    timing_wheels_advance_clock(timer, now);
    timing_wheel_add(timer, index, due);
}

static enum tl_status timer_start(void *self, uint32_t id, uint64_t deadline)
{
    struct system_timer *timer = self;
    bool whole = timer->unit == 1; /* without a division */
    uint64_t now = whole ? timer->clock : timer->wheels[0].current_time;
    uint64_t due = whole ? deadline : due_unit(timer, deadline);
    uint32_t index = timer_index(timer, id);
    (void)buckets_take(timer, index);
    if (timer->by_bucket) {
        add_by_bucket(timer, index, deadline);
        return TL_OK;
    }
    if (deadline <= timer->clock || due <= now) {
        slot_append(timer, bucket_head(timer, LATE, 0), index);
        timer->work_at = 0;
        TL_COUNT(timer, moves, 1);
        return TL_OK;
    }
    /* Wherever the wheels are, the right one can take the timer if it reaches it: none of its
     * buckets is wider than the delay, so the timer's bucket expires after the clock. */
    uint32_t n = wheel_for(timer, due - now);
    TL_COUNT(timer, compares, 1);
    if (LIKELY(due < timer->wheels[n].limit)) {
        bucket_add(timer, n, index, due);
    } else if (timer->wheels[0].current_time == now) {
        overflow_wheel_add(timer, n, index, due);
    } else {
        advance_and_add(timer, index, due, now);
    }
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

/* A bucket that is flushed at an advance to the unit `target`. */
struct flush {
    struct system_timer *timer;
    uint64_t target;
};

/* A timer of a bucket that has expired: under DUE if it is due by the target, else added where it
 * is now reached. */
static inline void reinsert_or_expire(void *ctx, uint32_t index)
{
    const struct flush *flush = ctx;
    struct system_timer *timer = flush->timer;
    uint64_t due = timer_at(timer, index)->at;
    TL_COUNT(timer, compares, 1);
    if (due <= flush->target) {
        bucket_append(timer, DUE, index);
    } else {
        timing_wheel_add(timer, index, due);
        TL_COUNT(timer, cascades, 1);
    }
}

/* Empties a bucket that has expired, at which unit the wheels stand. */
static void bucket_flush(struct system_timer *timer, uint32_t bucket, uint64_t target)
{
    struct flush flush = {.timer = timer, .target = target};
    bucket_empty(timer, bucket, reinsert_or_expire, &flush);
}

/* Moves the wheels to the unit `target`, which none of them reaches, in one step: every bucket has
 * expired by then. Step by step, timers beyond the highest wheel (if the next could not be
 * allocated) would be added again every turn of it: a long jump would hardly end. Requires that
 * LATE is empty. */
static void jump_past_wheels(struct system_timer *timer, uint64_t target)
{
    while (timer->queued > 0) {
        uint32_t bucket = timer->delay_queue[--timer->queued].bucket;
        *bucket_expiration(timer, bucket) = NOT_QUEUED;
        bucket_move_all(timer, bucket, LATE);
        TL_COUNT(timer, slots, 1);
    }
    timing_wheels_advance_clock(timer, target);
    timer->overfilled = false; /* until a timer that is added again meets the same refusal */
    bucket_flush(timer, LATE, target);
}

/* The first tick after the clock at which a bucket expires; where a tick is not a unit, at which
 * the next unit begins, if that is sooner. */
static uint64_t first_work(const struct system_timer *timer)
{
    uint64_t unit =
        timer->unit == 1 || timer->by_bucket ? TL_NEVER : timer->wheels[0].current_time + 1;
    if (timer->queued > 0 && timer->delay_queue[0].expiration < unit) {
        unit = timer->delay_queue[0].expiration;
    }
    return unit == TL_NEVER ? TL_NEVER : unit * timer->unit;
}

/* Moves the clock to `now`, and all timers due by then to DUE: SystemTimer.advanceClock. From
 * bucket to bucket, as the delay queue yields them by their expiration, so that timers added again
 * meet no bucket of an earlier turn. */
static void collect_due(struct system_timer *timer, uint64_t now)
{
    if (timer->work_at == 0) {
        slot_move_all(timer, bucket_head(timer, LATE, 0), bucket_head(timer, DUE, 0));
    }
    uint64_t target = timer->unit == 1 ? now : now / timer->unit;
    if (timer->overfilled && target >= timer->wheels[timer->wheel_count - 1].limit) {
        jump_past_wheels(timer, target);
    }
    struct delayed polled;
    while (delay_queue_poll(timer, target, &polled)) {
        *bucket_expiration(timer, polled.bucket) = NOT_QUEUED;
        timing_wheels_advance_clock(timer, polled.expiration);
        TL_COUNT(timer, slots, 1);
        /* Where only buckets move the clock, it goes through all those of the lower levels. */
        uint64_t reached = timer->by_bucket ? polled.expiration : target;
        if (reached - polled.expiration >= timer->wheels[polled.level].tick - 1 &&
            !timer->overfilled) {
            bucket_move_all(timer, polled.bucket, DUE);
        } else {
            bucket_flush(timer, polled.bucket, reached);
        }
    }
    if (!timer->by_bucket) {
        timing_wheels_advance_clock(timer, target);
    }
    timer->clock = now;
    timer->work_at = first_work(timer);
}

static uint64_t timer_next(const void *self)
{
    const struct system_timer *timer = self;
    if (timer->count == 0) {
        return TL_NEVER;
    }
    return buckets_are_due(timer) ? timer->clock : timer->delay_queue[0].expiration * timer->unit;
}

/* --- create and options ----------------------------------------------------------------------- */

static enum tl_status timer_reserve(void *self, uint32_t capacity)
{
    struct system_timer *timer = self;
    if (timer->wheel_count == 0 && !add_overflow_wheel(timer, timer->clock / timer->unit)) {
        return TL_ERR_NOMEM;
    }
    if (capacity <= timer->capacity) {
        return TL_OK;
    }
    if (capacity > HEAD_BIT) {
        return TL_ERR_CAPACITY;
    }
    if (OWN_ENTRIES(timer, capacity) > 0) {
        struct node *nodes = timer->allocator->resize(timer->allocator->ctx, timer->parts[TIMERS],
                                                      timer->capacity * sizeof *nodes,
                                                      capacity * sizeof *nodes, BLOCK_ALIGN);
        if (nodes == NULL) {
            return TL_ERR_NOMEM;
        }
        timer->parts[TIMERS] = nodes;
        OWN_ARRAY(timer, nodes, sizeof *nodes);
    }
    for (uint32_t id = timer->capacity; id < capacity; id++) {
        *timer_at(timer, id) = (struct node){.next = SLOT_NONE, .prev = SLOT_NONE};
    }
    timer->capacity = capacity;
    timer->stripes =
        TUNED && capacity * sizeof(struct node) > INNER_CACHES ? BUCKET_STRIPES - 1 : 0;
    return TL_OK;
}

static void timer_destroy(void *self)
{
    struct system_timer *timer = self;
    tl_free(timer->allocator, timer->parts[TIMERS], timer->capacity * sizeof(struct node),
            BLOCK_ALIGN);
    tl_free(timer->allocator, timer->parts[HEADS], block_bytes(timer, timer->wheel_count),
            BLOCK_ALIGN);
    structure_free(timer, timer->allocator);
}

struct timer_options {
    uint64_t tick;
    uint32_t slots;
    uint32_t rounding;
    uint32_t clock;
};
enum rounding { ROUNDING_FLOOR, ROUNDING_CEIL };
enum clock { CLOCK_ADVANCE, CLOCK_BUCKET };

static enum tl_status timer_create(const struct tl_config *config, void **self)
{
    const struct timer_options *options = config->options;
    struct system_timer empty = {
        .wheel_size = options->slots,
        .ceil = options->rounding == ROUNDING_CEIL,
        .by_bucket = options->clock == CLOCK_BUCKET,
        .clock = config->now,
        .unit = options->tick,
        .allocator = config->allocator,
    };
    return structure_create(config, &empty, timer_reserve, timer_destroy, self);
}

static const struct tl_choice rounding_choices[] = {
    {"floor", ROUNDING_FLOOR, "a bucket fires at its start: early by up to tick - 1"},
    {"ceil", ROUNDING_CEIL, "deadlines are rounded up: never early, late by up to tick - 1"},
    {NULL, 0, NULL},
};

static const struct tl_choice clock_choices[] = {
    {"advance", CLOCK_ADVANCE, "the wheels follow every advance: a level by the timer's delay"},
    {"bucket", CLOCK_BUCKET, "they are at the last bucket that expired, as in Kafka"},
    {NULL, 0, NULL},
};

static const struct tl_option timer_option_table[] = {
    {"tick", TL_TICKS(struct timer_options, tick), 1, 1, TICK_MAX, NULL,
     "ticks per bucket of the lowest level (tickMs)"},
    {"slots", TL_U32(struct timer_options, slots), 20, 2, SLOTS_MAX, NULL,
     "buckets per level (wheelSize)"},
    {"rounding", TL_CHOICE(struct timer_options, rounding), ROUNDING_FLOOR, 0, 0, rounding_choices,
     "which way a deadline inside a bucket goes"},
    {"clock", TL_CHOICE(struct timer_options, clock), CLOCK_ADVANCE, 0, 0, clock_choices,
     "what moves the wheels"},
    {0},
};

static struct tl_precision timer_precision(const void *given, uint64_t delay_ticks)
{
    const struct timer_options *options = given;
    (void)delay_ticks;
    uint64_t most = options->tick - 1;
    return options->rounding == ROUNDING_CEIL ? (struct tl_precision){.late_ticks = most}
                                              : (struct tl_precision){.early_ticks = most};
}

/* --- check and walk --------------------------------------------------------------------------- */

/* The unit at which buckets are shown: the clock's, which the wheels may not have followed yet, or
 * theirs. */
static uint64_t stand_of(const struct system_timer *timer)
{
    return timer->by_bucket ? timer->wheels[0].current_time : timer->clock / timer->unit;
}

static enum tl_status check_bucket(const struct system_timer *timer,
                                   const struct timing_wheel *wheel, uint32_t slot, char *why,
                                   size_t why_bytes)
{
    uint32_t bucket = wheel->first + slot;
    uint64_t at = *bucket_expiration(timer, bucket);
    if (at == NOT_QUEUED) {
        return bucket_is_empty(timer, bucket)
                   ? TL_OK
                   : corrupt(why, why_bytes, "bucket %" PRIu32 " holds timers and is not queued",
                             bucket);
    }
    if (at <= wheel->current_time || at >= wheel->limit || at % wheel->tick != 0 ||
        at / wheel->tick % timer->wheel_size != slot) {
        return corrupt(why, why_bytes, "bucket %" PRIu32 " cannot expire in unit %" PRIu64, bucket,
                       at);
    }
    for (uint32_t i = bucket_first(timer, bucket); i != SLOT_NONE;
         i = bucket_after(timer, bucket, i)) {
        uint64_t due = timer_at(timer, i)->at;
        if (due < at || (due - at >= wheel->tick && !timer->overfilled)) {
            return corrupt(why, why_bytes, "timer %" PRIu32 " is not due within its bucket", i);
        }
    }
    return TL_OK;
}

static enum tl_status check_delay_queue(const struct system_timer *timer, char *why,
                                        size_t why_bytes)
{
    uint64_t marked = 0;
    for (size_t i = FIRST_BUCKET; i < bucket_count(timer, timer->wheel_count); i++) {
        marked += *bucket_expiration(timer, (uint32_t)i) != NOT_QUEUED;
    }
    if (marked != timer->queued) {
        return corrupt(why, why_bytes, "%" PRIu64 " buckets expire, %" PRIu32 " are queued", marked,
                       timer->queued);
    }
    const struct delayed *queue = timer->delay_queue;
    for (uint32_t i = 0; i < timer->queued; i++) {
        uint64_t at = queue[i].expiration;
        if (at < timer->work_at / timer->unit || at != *bucket_expiration(timer, queue[i].bucket) ||
            at < queue[i > 0 ? (i - 1) / 2 : 0].expiration) {
            return corrupt(why, why_bytes, "entry %" PRIu32 " of the queue is out of order", i);
        }
    }
    return TL_OK;
}

static enum tl_status timer_check(const void *self, char *why, size_t why_bytes)
{
    const struct system_timer *timer = self;
    enum tl_status status = bucket_lists_check(
        timer, (uint32_t)bucket_count(timer, timer->wheel_count), 0, why, why_bytes);
    uint64_t stand = timer->wheels[0].current_time;
    for (uint32_t n = 0; status == TL_OK && n < timer->wheel_count; n++) {
        struct timing_wheel wheel = timer->wheels[n];
        wheel_stand_at(&wheel, stand, timer->wheel_size);
        if (stand > timer->clock / timer->unit ||
            wheel.current_time != timer->wheels[n].current_time ||
            wheel.hand != timer->wheels[n].hand) {
            return corrupt(why, why_bytes, "level %" PRIu32 " is at unit %" PRIu64, n + 1,
                           timer->wheels[n].current_time);
        }
        wheel_stand_at(&wheel, stand_of(timer), timer->wheel_size);
        for (uint32_t slot = 0; status == TL_OK && slot < timer->wheel_size; slot++) {
            status = check_bucket(timer, &wheel, slot, why, why_bytes);
        }
    }
    if (status == TL_OK && buckets_are_due(timer) && timer->work_at != 0) {
        return corrupt(why, why_bytes, "timers are due before tick %" PRIu64, timer->work_at);
    }
    return status == TL_OK ? check_delay_queue(timer, why, why_bytes) : status;
}

/* The unit in which a timer is due is its deadline for a unit of 1. */
static void keep_due(const struct system_timer *timer, uint32_t index, struct tl_held *held)
{
    held->at = timer->unit == 1 ? timer_at(timer, index)->at : TL_NEVER;
}

static void timer_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct system_timer *timer = self;
    buckets_walk_due(timer, visitor);
    for (uint32_t n = 0; n < timer->wheel_count; n++) {
        struct timing_wheel wheel = timer->wheels[n];
        wheel_stand_at(&wheel, stand_of(timer), timer->wheel_size);
        uint64_t bucket_ticks = wheel.tick * timer->unit;
        walk_level(visitor, n + 1, bucket_ticks);
        for (uint32_t slot = 0; slot < timer->wheel_size; slot++) {
            uint32_t ahead = slots_ahead(wheel.hand, slot, timer->wheel_size) % timer->wheel_size;
            uint64_t from = (wheel.current_time + ahead * wheel.tick) * timer->unit;
            bool queued = *bucket_expiration(timer, wheel.first + slot) != NOT_QUEUED;
            walk_slot(visitor, slot, from + bucket_ticks - (timer->ceil ? timer->unit : 1),
                      bucket_ticks,
                      (ahead == 0 ? TL_MARK_HAND : 0u) | (queued ? TL_MARK_QUEUED : 0u));
            bucket_walk(timer, wheel.first + slot, keep_due, visitor);
        }
    }
    walk_part(visitor, "delay queue", TL_FORM_TREE, 0);
    for (uint32_t i = 0; i < timer->queued; i++) {
        uint32_t bucket = timer->delay_queue[i].bucket - FIRST_BUCKET;
        char refers[48];
        (void)snprintf(refers, sizeof refers, "level %" PRIu32 ", slot %" PRIu32,
                       bucket / timer->wheel_size + 1, bucket % timer->wheel_size);
        walk_reference(visitor, i, i > 0 ? (i - 1) / 2 : TL_NEVER,
                       timer->delay_queue[i].expiration * timer->unit, refers);
    }
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(hier_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED | TL_CAP_ALLOCATES,
    .name = "hier-wheel",
    .summary = "wheels of wheels, made on demand, and a queue of buckets",
    .origin =
        "Varghese and Lauck 1987, scheme 7; Kafka's TimingWheel.java and RussellLuo/timingwheel",
    .description =
        "Levels of wheels, each as wide as a bucket of the next; a timer is filed on the lowest "
        "level that reaches it and moves down a level when its bucket expires. The occupied "
        "buckets are in a delay queue, so an idle structure sleeps until the next of them. "
        "Overflow wheels are allocated when first needed. With clock=bucket levels are chosen by "
        "where the last bucket expired, as in Kafka, and timers move down more levels. Bad at: a "
        "far bucket with very many timers, all filed again in the one advance that opens it.",
    .cost = {.start = "O(m)", .stop = "O(1)", .tick = "O(1)", .expire = "O(m)"},
    .options = timer_option_table,
    .options_bytes = sizeof(struct timer_options),
    .precision = timer_precision,
    .create = timer_create,
    .destroy = timer_destroy,
    .reserve = timer_reserve,
    .start = timer_start,
    .stop = buckets_stop,
    .advance = work_advance,
    .next = timer_next,
    .count = buckets_count,
    .counters = buckets_counters,
    .check = timer_check,
    .walk = timer_walk,
    .differs =
        "the clock follows every advance, unless clock=bucket; a timer that is already due fires "
        "at the next advance, where the original runs it when it is added; timers of one advance "
        "fire in another order; stop of a timer that has expired and not fired yet is in time; "
        "where a level cannot be allocated, its timers wait on the one below; no thread, no locks.",
    .embedded_bytes = EMBEDDED_BYTES(sizeof(struct node)),
    .moved = EMBEDDED_HOOK(structure_moved),
};
