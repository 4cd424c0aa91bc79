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
 * start(a, 30123) adds a to the lowest level that reaches it, in bucket 3 of level 4, and that
 * bucket to the delay queue under tick 24,000. advance(24000) polls the bucket and adds a again,
 * now to level 3; in the end a bucket of level 1 expires and a fires. stop(a) unlinks a; its bucket
 * stays queued. Overflow wheels are used from the first timer on that needs one.
 *
 * With `tick` above 1, rounding=floor is Kafka's rule: a bucket fires at its start, up to tick - 1
 * early; rounding=ceil is late instead. clock=bucket is Kafka's clock, which stops at the last
 * expired bucket, so that new timers begin on higher levels; clock=advance follows every advance.
 *
 * Invariants
 *   - a wheel's buckets hold the expirations current_time + tick .. current_time + (size-1) * tick
 *   - a bucket that holds timers is queued; an emptied one stays, so `next` is a lower bound
 *
 * Complexity (m levels, b occupied buckets): start O(m), O(log b) for an empty bucket; stop and a
 * tick O(1); expiry O(1) and a move for each level. Use it for any delays and a thread that sleeps.
 * Bad at: an upper bucket with very many timers; many ticks in a row.
 *
 * Source: Varghese and Lauck 1987, section 6.2; Kafka, TimingWheel.java; RussellLuo/timingwheel.
 */
#include "timerlab.h"

/* --- data ------------------------------------------------------------------------------------- */

#define WHEELS_MAX     64u /* of 2 slots each: 64 bits */
#define SLOTS_MAX      (INT64_C(1) << 20)
#define TICK_MAX       (INT64_C(1) << 32)
#define NOT_QUEUED     0
#define FIRST_BUCKET   2u /* slot 0 of level 1, after DUE and LATE */

/* `due`: of a timer its unit; of a bucket's first head the expiration, or NOT_QUEUED. */
#define BUCKET_STRIPES 4u
#include "due_buckets.h"

/* Times are in units. */
struct timing_wheel {
    uint64_t tick;         /* of one bucket */
    uint64_t interval;     /* of all of them; UINT64_MAX if 64 bits do not hold it */
    uint64_t current_time; /* floored to `tick` */
};

struct system_timer {
    struct timer_buckets buckets;
    uint32_t *heap; /* the delay queue: occupied buckets, the first to expire at 0 */
    uint32_t heap_count;
    uint32_t wheel_size;  /* buckets of a wheel */
    uint32_t wheel_count; /* that were needed so far */
    bool by_bucket;       /* clock=bucket: the wheels are at the last expired bucket */
    uint64_t unit;        /* ticks of a unit: the option `tick` */
    uint64_t round_up;    /* ticks added to a deadline before it is divided by the unit */
    uint64_t reached;     /* timers of expired buckets due by then fire */
    uint64_t work_at; /* the tick at which the first bucket expires; 0 if DUE or LATE holds any */
    struct timing_wheel wheels[WHEELS_MAX]; /* each the overflow wheel of the one before */
};

#define STRUCTURE struct system_timer
#define WORK_AT
#define NEXT_WORK
#define TAKES_FROM FIRST_BUCKET
#include "bucket_hooks.h"

#define HEAP_OTHERS(self) (self)->buckets.bucket_count
#include "index_heap.h"

static inline void heap_put(struct system_timer *timer, uint32_t place, uint32_t bucket)
{
    timer->heap[place] = bucket;
}

/* --- data: timing wheels ---------------------------------------------------------------------- */

static inline uint32_t bucket_at(const struct system_timer *timer, uint32_t n, uint64_t slot)
{
    return FIRST_BUCKET + n * timer->wheel_size + (uint32_t)slot;
}

/* Add a timer that is in no list and due after the current time of the lowest wheel. */
static void timing_wheel_add(struct system_timer *timer, uint32_t index, uint64_t due)
{
    struct timing_wheel *wheel = timer->wheels;
    uint32_t n = 0;
    while (due - wheel->current_time >= wheel->interval) {
        wheel++;
        if (++n == timer->wheel_count) {
            wheel->current_time = wheel[-1].current_time - wheel[-1].current_time % wheel->tick;
            timer->wheel_count++;
        }
    }
    TL_COUNT(&timer->buckets, compares, n + 1);
    uint64_t virtual_id = due / wheel->tick;
    uint32_t bucket = bucket_at(timer, n, virtual_id % timer->wheel_size);
    node_at(&timer->buckets, index)->due = due;
    bucket_append(&timer->buckets, bucket, index);
    if (heap_key(timer, bucket) == NOT_QUEUED) {
        uint64_t expiration = virtual_id * wheel->tick;
        node_at(&timer->buckets, bucket)->due = expiration;
        heap_sift(timer, timer->heap_count++, bucket);
        timer->work_at =
            expiration < timer->work_at / timer->unit ? expiration * timer->unit : timer->work_at;
    }
}

/* A bucket of a wheel is several whole buckets of the one below, so the first wheel that does not
 * move ends it. */
static void timing_wheels_advance_clock(struct system_timer *timer, uint64_t time)
{
    for (uint32_t n = 0; n < timer->wheel_count; n++) {
        struct timing_wheel *wheel = &timer->wheels[n];
        if (time - wheel->current_time < wheel->tick) {
            return;
        }
        wheel->current_time = time - time % wheel->tick;
    }
}

/* --- start and stop --------------------------------------------------------------------------- */

static enum tl_status timer_start(void *self, uint32_t id, uint64_t deadline)
{
    struct system_timer *timer = self;
    uint64_t due = (deadline + timer->round_up) / timer->unit;
    uint32_t index = take_for_start(timer, id);
    if (!timer->by_bucket) {
        timing_wheels_advance_clock(timer, timer->buckets.clock / timer->unit);
    }
    if (due <= timer->wheels[0].current_time ||
        (timer->round_up > 0 && deadline <= timer->buckets.clock)) {
        append_late(timer, index);
    } else {
        timing_wheel_add(timer, index, due);
    }
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

static inline void add_or_expire(void *ctx, uint32_t index)
{
    struct system_timer *timer = ctx;
    uint64_t due = node_at(&timer->buckets, index)->due;
    TL_COUNT(&timer->buckets, compares, 1);
    if (due <= timer->reached) {
        bucket_append(&timer->buckets, DUE, index);
    } else {
        timing_wheel_add(timer, index, due);
        TL_COUNT(&timer->buckets, cascades, 1);
    }
}

/* Poll the bucket that expires first, and add its timers again. */
static void bucket_flush(struct system_timer *timer)
{
    uint32_t bucket = timer->heap[0];
    uint32_t last = timer->heap[--timer->heap_count];
    if (timer->heap_count > 0) {
        heap_sift(timer, 0, last);
    }
    node_at(&timer->buckets, bucket)->due = NOT_QUEUED;
    TL_COUNT(&timer->buckets, slots, 1);
    if (bucket < bucket_at(timer, 1, 0)) { /* of level 1, a unit wide: all are due */
        bucket_move_all(&timer->buckets, bucket, DUE);
    } else {
        bucket_empty(&timer->buckets, bucket, add_or_expire, timer);
    }
}

/* SystemTimer.advanceClock, with the timers due in DUE. Buckets expire in the order of the delay
 * queue, so that timers added again meet no bucket of an earlier turn. */
static void collect_due(struct system_timer *timer, uint64_t now)
{
    uint64_t target = now / timer->unit;
    bucket_move_all(&timer->buckets, LATE, DUE);
    while (timer->heap_count > 0 && heap_due(timer, 0) <= target) {
        timing_wheels_advance_clock(timer, heap_due(timer, 0));
        timer->reached = timer->by_bucket ? heap_due(timer, 0) : target;
        bucket_flush(timer);
    }
    timer->work_at = timer->heap_count > 0 ? heap_due(timer, 0) * timer->unit : TL_NEVER;
    timer->buckets.clock = now;
}

static uint64_t next_work(const struct system_timer *timer)
{
    return heap_due(timer, 0) * timer->unit;
}

/* --- create and options ----------------------------------------------------------------------- */

static size_t heap_bytes(const struct system_timer *timer)
{
    return timer->buckets.bucket_count * sizeof *timer->heap;
}

static enum tl_status timer_reserve(void *self, uint32_t capacity)
{
    struct system_timer *timer = self;
    if (timer->heap == NULL) {
        timer->heap = tl_alloc(timer->buckets.allocator, heap_bytes(timer), HEAP_ALIGN);
    }
    return timer->heap == NULL ? TL_ERR_NOMEM : buckets_reserve(timer, capacity);
}

static void timer_destroy(void *self)
{
    struct system_timer *timer = self;
    tl_free(timer->buckets.allocator, timer->heap, heap_bytes(timer), HEAP_ALIGN);
    buckets_destroy(timer);
}

struct timer_options {
    uint64_t tick;
    uint32_t slots;
    uint32_t ceil;
    uint32_t by_bucket;
};

static enum tl_status timer_create(const struct tl_config *config, void **self)
{
    const struct timer_options *options = config->options;
    struct system_timer empty = {
        .wheel_size = options->slots,
        .wheel_count = 1,
        .by_bucket = options->by_bucket != 0,
        .unit = options->tick,
        .round_up = options->ceil != 0 ? options->tick - 1 : 0,
        .work_at = TL_NEVER,
        .wheels = {{.current_time = config->now / options->tick}},
    };
    uint32_t levels = 0;
    for (uint64_t tick = 1; tick <= TL_DEADLINE_MAX; tick = empty.wheels[levels++].interval) {
        empty.wheels[levels].tick = tick;
        empty.wheels[levels].interval =
            tick > UINT64_MAX / options->slots ? UINT64_MAX : tick * options->slots;
    }
    empty.buckets = buckets_empty(config, bucket_at(&empty, levels, 0));
    return structure_create(config, &empty, timer_reserve, timer_destroy, self);
}

static const struct tl_choice rounding_choices[] = {
    {"floor", 0, "a bucket fires at its start: early by up to tick - 1"},
    {"ceil", 1, "deadlines are rounded up: never early, late by up to tick - 1"},
    {NULL, 0, NULL},
};

static const struct tl_choice clock_choices[] = {
    {"advance", 0, "the wheels follow every advance: a level by the timer's delay"},
    {"bucket", 1, "they are at the last bucket that expired, as in Kafka"},
    {NULL, 0, NULL},
};

static const struct tl_option timer_option_table[] = {
    {"tick", TL_TICKS(struct timer_options, tick), 1, 1, TICK_MAX, NULL,
     "ticks per bucket of the lowest level (tickMs)"},
    {"slots", TL_U32(struct timer_options, slots), 20, 2, SLOTS_MAX, NULL,
     "buckets per level (wheelSize)"},
    {"rounding", TL_CHOICE(struct timer_options, ceil), 0, 0, 0, rounding_choices,
     "which way a deadline inside a bucket goes"},
    {"clock", TL_CHOICE(struct timer_options, by_bucket), 0, 0, 0, clock_choices,
     "what moves the wheels"},
    {0},
};

static struct tl_precision timer_precision(const void *given, uint64_t delay_ticks)
{
    const struct timer_options *options = given;
    (void)delay_ticks;
    return options->ceil != 0 ? (struct tl_precision){.late_ticks = options->tick - 1}
                              : (struct tl_precision){.early_ticks = options->tick - 1};
}

/* --- check and walk --------------------------------------------------------------------------- */

static bool bucket_takes(const struct system_timer *timer, uint32_t bucket, const struct node *node)
{
    uint32_t n = (bucket - FIRST_BUCKET) / timer->wheel_size;
    return node->due - heap_key(timer, bucket) < timer->wheels[n].tick;
}

static enum tl_status timer_check(const void *self, char *why, size_t why_bytes)
{
    const struct system_timer *timer = self;
    uint64_t time = timer->wheels[0].current_time;
    uint32_t queued = 0;
    for (uint32_t i = 0; i < timer->wheel_count * timer->wheel_size; i++) {
        const struct timing_wheel *wheel = &timer->wheels[i / timer->wheel_size];
        uint64_t at = heap_key(timer, FIRST_BUCKET + i);
        queued += at != NOT_QUEUED;
        if (wheel->current_time != time - time % wheel->tick ||
            (at == NOT_QUEUED ? !bucket_is_empty(&timer->buckets, FIRST_BUCKET + i)
                              : at % wheel->tick != 0 || at <= wheel->current_time ||
                                    at - wheel->current_time >= wheel->interval)) {
            return corrupt(why, why_bytes, "bucket %" PRIu32 " cannot expire in unit %" PRIu64, i,
                           at);
        }
    }
    bool ordered = queued == timer->heap_count &&
                   (queued == 0 || heap_due(timer, 0) >= timer->work_at / timer->unit);
    for (uint32_t i = 1; ordered && i < queued; i++) {
        ordered = heap_due(timer, (i - 1) / 2) <= heap_due(timer, i);
    }
    return ordered ? buckets_check_timers(timer, 0, why, why_bytes)
                   : corrupt(why, why_bytes, "the delay queue is out of order");
}

/* With a unit of 1 the unit in which a timer is due is its deadline. */
static void keep_deadline(const struct timer_buckets *buckets, uint32_t index, struct tl_held *held)
{
    const struct system_timer *timer = (const void *)buckets;
    held->at = timer->unit == 1 ? node_at(buckets, index)->due : TL_NEVER;
}

static void timer_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct system_timer *timer = self;
    buckets_walk_due(&timer->buckets, visitor);
    uint64_t time =
        timer->by_bucket ? timer->wheels[0].current_time : timer->buckets.clock / timer->unit;
    for (uint32_t n = 0; n < timer->wheel_count; n++) {
        const struct timing_wheel *wheel = &timer->wheels[n];
        uint64_t bucket_ticks = wheel->tick * timer->unit;
        uint64_t hand = time / wheel->tick % timer->wheel_size;
        walk_level(visitor, n + 1, bucket_ticks);
        for (uint32_t slot = 0; slot < timer->wheel_size; slot++) {
            uint32_t bucket = bucket_at(timer, n, slot);
            uint64_t ahead = (slot + timer->wheel_size - hand) % timer->wheel_size;
            uint64_t from = (time / wheel->tick + ahead) * bucket_ticks;
            bool queued = heap_key(timer, bucket) != NOT_QUEUED;
            walk_slot(visitor, slot, from + bucket_ticks - 1 - timer->round_up, bucket_ticks,
                      (ahead == 0 ? TL_MARK_HAND : 0u) | (queued ? TL_MARK_QUEUED : 0u));
            bucket_walk(&timer->buckets, bucket, keep_deadline, visitor);
        }
    }
    walk_part(visitor, "delay queue", TL_FORM_TREE, 0);
    for (uint32_t i = 0; i < timer->heap_count; i++) {
        uint32_t bucket = timer->heap[i] - FIRST_BUCKET;
        char refers[48];
        (void)snprintf(refers, sizeof refers, "level %" PRIu32 ", slot %" PRIu32,
                       bucket / timer->wheel_size + 1, bucket % timer->wheel_size);
        walk_reference(visitor, i, i > 0 ? (i - 1) / 2 : TL_NEVER, heap_due(timer, i) * timer->unit,
                       refers);
    }
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(hier_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "hier-wheel",
    .summary = "wheels of wheels, made on demand, and a queue of buckets",
    .origin = "Varghese and Lauck 1987, scheme 7; Kafka, TimingWheel.java; RussellLuo/timingwheel",
    .description =
        "Levels of wheels, each as wide as a bucket of the next; a timer is filed on the lowest "
        "level that reaches it and moves down a level when its bucket expires. The occupied "
        "buckets are in a delay queue. Bad at: a far bucket with very many timers, all filed "
        "again in the one advance that opens it.",
    .cost = {.start = "O(m)", .stop = "O(1)", .tick = "O(1)", .expire = "O(m)"},
    OPTIONS(timer_option_table, struct timer_options),
    .precision = timer_precision,
    .create = timer_create,
    .destroy = timer_destroy,
    .reserve = timer_reserve,
    .start = timer_start,
    .advance = buckets_advance,
    .next = buckets_next,
    BUCKETS_OTHER_HOOKS,
    .check = timer_check,
    .walk = timer_walk,
    .differs =
        "the clock follows every advance, unless clock=bucket; a timer that is already due fires "
        "at the next advance, not when it is added; timers of one advance fire in another order; "
        "a timer that has expired and not fired yet can be stopped; create allocates the memory of "
        "all overflow wheels; no thread, no locks.",
};
