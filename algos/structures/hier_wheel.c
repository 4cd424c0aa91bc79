/*
 * hier-wheel: hierarchical wheels with a delay queue of buckets, as in Kafka and its port to Go.
 *
 *   tick=1, slots=20, clock 0
 *   level   ticks a bucket   buckets   takes what is due within     bucket of due 30,123
 *     1              1          20                20
 *     2             20          20               400
 *     3            400          20             8,000
 *     4          8,000          20           160,000                24,000 .. 31,999 (slot 3)
 *
 *   delay queue (a heap):  8 (level 1)   40 (level 2)   24,000 (level 4)
 *
 * A timer goes to the lowest level that reaches its due tick; the highest bit of its delay says
 * from which level on to look. The buckets that hold timers stand in a small binary heap by the
 * tick at which they expire, so that time jumps from bucket to bucket instead of ticking: nothing
 * is visited that is empty. A bucket of level 1 that expires fires its timers; one of an upper
 * level has them filed again, now that a lower level reaches them, so a timer moves once a level at
 * most, and only if it lives so long.
 *
 * A level is made when the first timer needs it, each as wide as all below: no horizon. That is the
 * one allocation outside create and reserve. If it fails, the timer is filed in the furthest bucket
 * of the highest level and filed again when that expires: no start ever fails for want of memory. A
 * jump past the highest level then has everything filed again at once, instead of once every turn
 * of it.
 *
 * With `tick` above 1, rounding=floor is Kafka's rule: a bucket fires at its start, so up to
 * tick - 1 early, and what is due before the end of the clock's own bucket is due at once.
 * rounding=ceil rounds deadlines up first: never early, up to tick - 1 late. With tick=1 both are
 * exact.
 *
 * Unlike Kafka's, whose clock stands at the last bucket that expired, the clock here follows every
 * advance, and a timer goes to the level that its delay asks for. The levels may stand where they
 * did when a bucket last expired, as long as that level reaches the timer from there; otherwise
 * they follow first. Kafka's own expiry is by a thread that sleeps on the queue, and here `next`
 * says how long.
 *
 * A list gives the address of its next node only when a node has arrived from memory, and an upper
 * bucket's timers lie everywhere. So a bucket deals its timers, by id, to four lists, and they are
 * walked side by side when it expires: four fetches are under way instead of one. As long as all
 * timers fit into the inner caches, a bucket uses but its first list, which is moved more quickly,
 * and walked from both ends.
 *
 * The tick at which the first bucket expires is kept as `work_at`: until then an advance only sets
 * the clock. (With `tick` above 1 the levels move with every unit, so that no start has to divide
 * the clock.)
 *
 * Times are counted in units of `tick` inside. Expired timers are first moved to the list DUE and
 * fire from there; what is started when already due goes to the list LATE, which the next advance
 * puts behind DUE.
 *
 * Invariants
 *   - a level's buckets hold the expirations start + width .. start + (slots-1) * width, one each
 *     (`start`: the unit at which the levels stand, floored to the level's width), so a bucket is
 *     never asked for two
 *   - a bucket that holds timers is in the queue; one emptied by stops stays there until it
 *     expires, as in Kafka, so `next` is a lower bound
 *   - a timer's due unit is inside its bucket, or beyond it if a level could not be allocated
 *   - the levels stand where they did in one unit, the clock's or an earlier one
 *   - no bucket expires before `work_at`, which is 0 if DUE or LATE holds timers
 *   - the buckets, DUE and LATE together hold exactly the pending timers
 *
 * Complexity (m levels, b occupied buckets): start O(m), and O(log b) where the bucket was empty;
 * stop O(1); a tick O(1), expiry O(1) and one more filing a level. Bad at: an upper bucket that
 * expires with very many timers, all filed again within that one advance; short ticks in a row,
 * each of which costs a pop from the queue.
 *
 * Source: G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987, section
 * 6.2; apache/kafka, server-common, TimingWheel.java; RussellLuo/timingwheel.
 */
#include "timerlab.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include "walk.h"

#define BLOCK_ALIGN  64
#define INNER_CACHES (UINT32_C(4) << 20) /* bytes of timers that fit there */
#define HEAD_BIT     (UINT32_C(1) << 31) /* an index with it names a list, without it a timer */
#define STRIPES      4u                  /* lists of a bucket; a power of two */
#define DUE          0u                  /* the bucket of what the next advance fires first */
#define LATE         1u                  /* the bucket of what was started when already due */
#define FIRST_BUCKET 2u                  /* slot 0 of level 1 */
#define LEVELS_MAX   64u                 /* of 2 slots each: 64 bits */
#define SLOTS_MAX    (INT64_C(1) << 24)
#define TICK_MAX     (INT64_C(1) << 32)
#define NOT_QUEUED   UINT64_MAX

enum part { TIMERS, HEADS };
enum option { OPTION_TICK, OPTION_SLOTS, OPTION_ROUNDING };
enum rounding { ROUNDING_FLOOR, ROUNDING_CEIL };

/* A timer, or the head of one of a bucket's lists. */
struct node {
    uint64_t at; /* timer: the unit in which it is due; a bucket's first list: in which the bucket
                    expires, or NOT_QUEUED */
    uint32_t next;
    uint32_t prev;
};

/* A bucket in the delay queue. */
struct entry {
    uint64_t expires; /* the unit in which it does */
    uint32_t bucket;
    uint32_t level;
};

#define SLOT_LISTS struct hier_wheel
#include "slot_list.h"

__extension__ typedef unsigned __int128 wide;

struct level {
    uint64_t limit;    /* the first unit that it does not reach */
    uint64_t start;    /* the unit at which all levels stand, floored to `width` */
    uint64_t width;    /* units of one bucket */
    uint64_t interval; /* units of all of them; UINT64_MAX where 64 bits do not hold it */
    uint64_t inverse;  /* 2^64 / width, rounded down; unused where the width is 1 */
    uint32_t hand;     /* slot of `start` */
    uint32_t first;    /* bucket of slot 0 */
};

struct hier_wheel {
    struct node *parts[2]; /* TIMERS; HEADS of DUE, LATE, the levels' buckets, with the queue behind
                              them in one block */
    struct entry *queue;   /* binary heap of the buckets that are to expire, the first at 0 */
    uint32_t queued;
    uint32_t level_count;
    uint32_t slots;
    bool ceil;
    bool overfilled; /* a level could not be allocated: buckets may hold what is due after them */
    uint64_t clock;
    uint64_t work_at; /* before this tick an advance has nothing to do but to set the clock */
    uint64_t tick;
    uint64_t count;
    uint32_t capacity;
    uint32_t stripes; /* the bits of an id that say its list in a bucket; 0: the first */
    const struct tl_allocator *allocator;
    struct tl_counters counters;
    /* By how many zeros a delay begins with: the lowest level that may reach it, or the highest. */
    uint8_t level_of_zeros[64];
    struct level levels[LEVELS_MAX];
};

/* Whether a link names a list or a timer is a toss-up, so there is no branch. */
static inline struct node *slot_node(const struct hier_wheel *wheel, uint32_t index)
{
    return &wheel->parts[index / HEAD_BIT][index % HEAD_BIT];
}

/* The list of a bucket that a timer goes to, by its id; or one of all STRIPES, by their number. */
static inline uint32_t stripe_of(uint32_t bucket, uint32_t number)
{
    return HEAD_BIT | (bucket * STRIPES + number % STRIPES);
}

static bool bucket_is_empty(const struct hier_wheel *wheel, uint32_t bucket)
{
    bool empty = true;
    for (uint32_t i = 0; i < STRIPES; i++) {
        empty &= slot_is_empty(wheel, stripe_of(bucket, i));
    }
    return empty;
}

static void bucket_move_all(struct hier_wheel *wheel, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i <= wheel->stripes; i++) {
        slot_move_all(wheel, stripe_of(from, i), stripe_of(to, i));
    }
}

/* --- the delay queue ------------------------------------------------------------------------- */

static inline uint64_t *expires(const struct hier_wheel *wheel, uint32_t bucket)
{
    return &wheel->parts[HEADS][bucket * STRIPES].at;
}

static inline uint64_t expiration(const struct hier_wheel *wheel, uint32_t bucket)
{
    return *expires(wheel, bucket);
}

/* Puts a bucket, which is not in the queue, in its place by its expiration. */
static __attribute__((noinline)) void queue_push(struct hier_wheel *wheel, struct entry added)
{
    uint32_t hole = wheel->queued++;
    while (hole > 0) {
        uint32_t parent = (hole - 1) / 2;
        TL_COUNT(wheel, compares, 1);
        if (wheel->queue[parent].expires <= added.expires) {
            break;
        }
        wheel->queue[hole] = wheel->queue[parent];
        hole = parent;
    }
    wheel->queue[hole] = added;
}

/* Takes the bucket that expires first out of a queue that is not empty. */
static struct entry queue_pop(struct hier_wheel *wheel)
{
    struct entry first = wheel->queue[0];
    struct entry last = wheel->queue[--wheel->queued];
    uint32_t hole = 0;
    while (2 * hole + 1 < wheel->queued) {
        uint32_t child = 2 * hole + 1;
        if (child + 1 < wheel->queued) {
            TL_COUNT(wheel, compares, 1);
            child += wheel->queue[child + 1].expires < wheel->queue[child].expires;
        }
        TL_COUNT(wheel, compares, 1);
        if (last.expires <= wheel->queue[child].expires) {
            break;
        }
        wheel->queue[hole] = wheel->queue[child];
        hole = child;
    }
    wheel->queue[hole] = last;
    return first;
}

/* --- levels ---------------------------------------------------------------------------------- */

static size_t bucket_count(const struct hier_wheel *wheel, uint32_t level_count)
{
    return FIRST_BUCKET + (size_t)level_count * wheel->slots;
}

static size_t block_bytes(const struct hier_wheel *wheel, uint32_t level_count)
{
    return bucket_count(wheel, level_count) *
           (STRIPES * sizeof(struct node) + sizeof(struct entry));
}

/* How many widths of a level go into `units`. Multiplying by the inverse finds as many, or one
 * less, in a fifth of the time that dividing takes. */
static inline uint64_t widths_of(const struct level *level, uint64_t units)
{
    if (level->width == 1) {
        return units;
    }
    uint64_t widths = (uint64_t)((wide)units * level->inverse >> 64);
    return widths + (units - widths * level->width >= level->width);
}

/* Puts a level at the bucket that starts in the unit `start`. */
static inline void level_set(struct level *level, uint64_t start, uint32_t hand)
{
    level->start = start;
    level->hand = hand;
    level->limit = start > UINT64_MAX - level->interval ? UINT64_MAX : start + level->interval;
}

/* Puts a level where it stands in the unit `now`. */
static void level_place(struct level *level, uint64_t now, uint32_t slots)
{
    uint64_t bucket = widths_of(level, now);
    level_set(level, bucket * level->width, (uint32_t)(bucket % slots));
}

/* Makes the next level. Requires that the highest so far has an interval below UINT64_MAX, or that
 * there is none. False, and nothing changed, if there is no memory. */
static __attribute__((noinline)) bool level_add(struct hier_wheel *wheel, uint64_t now)
{
    uint32_t count = wheel->level_count;
    size_t old_buckets = count > 0 ? bucket_count(wheel, count) : 0;
    size_t new_buckets = bucket_count(wheel, count + 1);
    if (new_buckets > HEAD_BIT / STRIPES) {
        return false;
    }
    struct node *heads = tl_alloc(wheel->allocator, block_bytes(wheel, count + 1), BLOCK_ALIGN);
    if (heads == NULL) {
        return false;
    }
    struct entry *queue = (struct entry *)(void *)(heads + new_buckets * STRIPES);
    if (count > 0) {
        memcpy(heads, wheel->parts[HEADS], old_buckets * STRIPES * sizeof *heads);
        memcpy(queue, wheel->queue, wheel->queued * sizeof *queue);
        tl_free(wheel->allocator, wheel->parts[HEADS], block_bytes(wheel, count), BLOCK_ALIGN);
    }
    for (size_t i = old_buckets * STRIPES; i < new_buckets * STRIPES; i++) {
        uint32_t head = HEAD_BIT | (uint32_t)i;
        heads[i] = (struct node){.at = NOT_QUEUED, .next = head, .prev = head};
    }
    wheel->parts[HEADS] = heads;
    wheel->queue = queue;
    struct level *level = &wheel->levels[count];
    level->width = count > 0 ? wheel->levels[count - 1].interval : 1;
    level->interval =
        level->width > UINT64_MAX / wheel->slots ? UINT64_MAX : level->width * wheel->slots;
    level->inverse = UINT64_MAX / level->width;
    level->first = FIRST_BUCKET + count * wheel->slots;
    level_place(level, now, wheel->slots);
    wheel->level_count = count + 1;
    for (uint32_t zeros = 0; zeros < 64; zeros++) {
        uint64_t delay_units = UINT64_C(1) << (63 - zeros);
        uint32_t n = 0;
        while (n < count && delay_units >= wheel->levels[n].interval) {
            n++;
        }
        wheel->level_of_zeros[zeros] = (uint8_t)n;
    }
    return true;
}

/* Moves all levels to the unit `now`. A bucket of a level is several whole buckets of the one
 * below, so the first level that stays where it is ends it. */
static void levels_move(struct hier_wheel *wheel, uint64_t now)
{
    for (uint32_t i = 0; i < wheel->level_count; i++) {
        struct level *level = &wheel->levels[i];
        uint64_t passed = now - level->start;
        if (passed < level->width) {
            break;
        }
        uint64_t steps = passed - level->width < level->width ? 1 : widths_of(level, passed);
        if (steps < wheel->slots) { /* without a division */
            uint32_t hand = level->hand + (uint32_t)steps;
            level_set(level, level->start + steps * level->width,
                      hand < wheel->slots ? hand : hand - wheel->slots);
        } else {
            level_place(level, now, wheel->slots);
        }
    }
}

/* Files a timer that is in no list in the bucket of a level for what is due in a unit: the furthest
 * if that is out of its reach. */
static inline void file_in_level(struct hier_wheel *wheel, uint32_t n, uint32_t index, uint64_t due)
{
    const struct level *level = &wheel->levels[n];
    uint64_t ahead = due < level->limit ? due - level->start : level->interval - level->width;
    ahead = widths_of(level, ahead);
    uint64_t slot = level->hand + ahead;
    slot -= wheel->slots & (0 - (uint64_t)(slot >= wheel->slots)); /* a branch would be a toss-up */
    uint32_t bucket = level->first + (uint32_t)slot;
    wheel->parts[TIMERS][index].at = due;
    slot_append(wheel, stripe_of(bucket, index & wheel->stripes), index % HEAD_BIT);
    TL_COUNT(wheel, moves, 1);
    if (__builtin_expect(*expires(wheel, bucket) == NOT_QUEUED, 0)) {
        uint64_t at = level->start + ahead * level->width;
        *expires(wheel, bucket) = at;
        if (at * wheel->tick < wheel->work_at) {
            wheel->work_at = at * wheel->tick;
        }
        queue_push(wheel, (struct entry){.expires = at, .bucket = bucket, .level = n});
    }
}

/* The same on the lowest level above this one that reaches it, which is made if there is none. */
static __attribute__((noinline)) void file_above(struct hier_wheel *wheel, uint32_t n,
                                                 uint32_t index, uint64_t due)
{
    do {
        if (++n == wheel->level_count && !level_add(wheel, wheel->levels[0].start)) {
            n--;
            wheel->overfilled = true;
            break;
        }
        TL_COUNT(wheel, compares, 1);
    } while (due >= wheel->levels[n].limit);
    file_in_level(wheel, n, index, due);
}

/* The lowest level that may reach what is due so many units ahead, or the highest. */
static inline uint32_t level_for(const struct hier_wheel *wheel, uint64_t units)
{
    return wheel->level_of_zeros[__builtin_clzll(units)];
}

/* Files a timer that is in no list and due after the unit at which the levels stand. */
static inline void file_timer(struct hier_wheel *wheel, uint32_t index, uint64_t due)
{
    uint32_t n = level_for(wheel, due - wheel->levels[0].start);
    TL_COUNT(wheel, compares, 1);
    if (__builtin_expect(due >= wheel->levels[n].limit, 0)) {
        file_above(wheel, n, index, due);
    } else {
        file_in_level(wheel, n, index, due);
    }
}

/* --- hooks ----------------------------------------------------------------------------------- */

static enum tl_status wheel_reserve(void *self, uint32_t capacity)
{
    struct hier_wheel *wheel = self;
    if (capacity <= wheel->capacity) {
        return TL_OK;
    }
    if (capacity > HEAD_BIT) {
        return TL_ERR_CAPACITY;
    }
    struct node *nodes = wheel->allocator->resize(wheel->allocator->ctx, wheel->parts[TIMERS],
                                                  wheel->capacity * sizeof *nodes,
                                                  capacity * sizeof *nodes, BLOCK_ALIGN);
    if (nodes == NULL) {
        return TL_ERR_NOMEM;
    }
    for (uint32_t id = wheel->capacity; id < capacity; id++) {
        nodes[id] = (struct node){.next = SLOT_NONE, .prev = SLOT_NONE};
    }
    wheel->parts[TIMERS] = nodes;
    wheel->capacity = capacity;
    wheel->stripes = capacity * sizeof *nodes > INNER_CACHES ? STRIPES - 1 : 0;
    return TL_OK;
}

static void wheel_destroy(void *self)
{
    struct hier_wheel *wheel = self;
    tl_free(wheel->allocator, wheel->parts[TIMERS], wheel->capacity * sizeof *wheel->parts[TIMERS],
            BLOCK_ALIGN);
    if (wheel->level_count > 0) {
        tl_free(wheel->allocator, wheel->parts[HEADS], block_bytes(wheel, wheel->level_count),
                BLOCK_ALIGN);
    }
    tl_free(wheel->allocator, wheel, sizeof *wheel, alignof(struct hier_wheel));
}

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    struct hier_wheel *wheel =
        tl_alloc(config->allocator, sizeof *wheel, alignof(struct hier_wheel));
    if (wheel == NULL) {
        return TL_ERR_NOMEM;
    }
    *wheel = (struct hier_wheel){
        .slots = (uint32_t)config->options[OPTION_SLOTS],
        .ceil = config->options[OPTION_ROUNDING] == ROUNDING_CEIL,
        .clock = config->now,
        .work_at = 0,
        .tick = (uint64_t)config->options[OPTION_TICK],
        .allocator = config->allocator,
    };
    enum tl_status status = level_add(wheel, config->now / wheel->tick) ? TL_OK : TL_ERR_NOMEM;
    if (status == TL_OK) {
        status = wheel_reserve(wheel, config->capacity);
    }
    if (status != TL_OK) {
        wheel_destroy(wheel);
        return status;
    }
    *self = wheel;
    return TL_OK;
}

/* The unit in which a deadline is due, on the side of it that the option says. */
static inline uint64_t due_unit(const struct hier_wheel *wheel, uint64_t deadline)
{
    return (wheel->ceil ? deadline + wheel->tick - 1 : deadline) / wheel->tick;
}

/* Files a timer for which the levels must stand at the unit `now`. */
static __attribute__((noinline)) void move_and_file(struct hier_wheel *wheel, uint32_t index,
                                                    uint64_t due, uint64_t now)
{
    levels_move(wheel, now);
    file_timer(wheel, index, due);
}

static enum tl_status wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct hier_wheel *wheel = self;
    bool whole = wheel->tick == 1; /* without a division */
    uint64_t now = whole ? wheel->clock : wheel->levels[0].start;
    uint64_t due = whole ? deadline : due_unit(wheel, deadline);
    id %= HEAD_BIT; /* as it is: so that the compiler knows it for a timer's */
    if (slot_is_linked(wheel, id)) {
        slot_remove(wheel, id);
        TL_COUNT(wheel, moves, 1);
    } else {
        wheel->count++;
    }
    if (deadline <= wheel->clock || due <= now) {
        slot_append(wheel, stripe_of(LATE, 0), id);
        wheel->work_at = 0;
        TL_COUNT(wheel, moves, 1);
        return TL_OK;
    }
    /* Wherever the levels stand, what the right one reaches can be filed: none of its buckets is
     * wider than the delay, so the timer's expires after the clock. */
    uint32_t n = level_for(wheel, due - now);
    TL_COUNT(wheel, compares, 1);
    if (__builtin_expect(due < wheel->levels[n].limit, 1)) {
        file_in_level(wheel, n, id, due);
    } else if (wheel->levels[0].start == now) {
        file_above(wheel, n, id, due);
    } else {
        move_and_file(wheel, id, due, now);
    }
    return TL_OK;
}

static enum tl_status wheel_stop(void *self, uint32_t id)
{
    struct hier_wheel *wheel = self;
    id %= HEAD_BIT; /* as in a start */
    if (!slot_is_linked(wheel, id)) {
        return TL_IDLE;
    }
    slot_remove(wheel, id);
    wheel->count--;
    TL_COUNT(wheel, moves, 1);
    return TL_OK;
}

/* A bucket that is emptied at an advance to the unit `target`. */
struct flush {
    struct hier_wheel *wheel;
    uint64_t target;
};

/* Files a timer of a bucket that has expired: under DUE if it is due by the target, else where it
 * is now reached. */
static inline void file_again(void *ctx, uint32_t index)
{
    const struct flush *flush = ctx;
    struct hier_wheel *wheel = flush->wheel;
    uint64_t due = wheel->parts[TIMERS][index].at;
    TL_COUNT(wheel, compares, 1);
    if (due <= flush->target) {
        slot_append(wheel, stripe_of(DUE, index & wheel->stripes), index);
        TL_COUNT(wheel, moves, 1);
    } else {
        file_timer(wheel, index, due);
        TL_COUNT(wheel, cascades, 1);
    }
}

/* Empties a bucket that has expired, at which unit the levels stand. */
static void flush_bucket(struct hier_wheel *wheel, uint32_t bucket, uint64_t target)
{
    struct flush flush = {.wheel = wheel, .target = target};
    if (wheel->stripes == 0) {
        slot_drain(wheel, stripe_of(bucket, 0), file_again, &flush);
    } else {
        slots_drain(wheel, stripe_of(bucket, 0), STRIPES, 1, file_again, &flush);
    }
}

/* Moves the levels to the unit `target`, which none of them reaches, in one step: every bucket has
 * expired by then. Step by step, what is due beyond the highest level, for want of memory for the
 * next, would be filed again every turn of it: a long jump would hardly end. Requires that LATE is
 * empty. */
static void jump_past_levels(struct hier_wheel *wheel, uint64_t target)
{
    while (wheel->queued > 0) {
        uint32_t bucket = wheel->queue[--wheel->queued].bucket;
        *expires(wheel, bucket) = NOT_QUEUED;
        bucket_move_all(wheel, bucket, LATE);
        TL_COUNT(wheel, slots, 1);
    }
    levels_move(wheel, target);
    wheel->overfilled = false; /* until a timer that is filed again meets the same refusal */
    flush_bucket(wheel, LATE, target);
}

/* The first tick after the clock at which a bucket expires; where a tick is not a unit, at which
 * the next unit begins, if that is sooner. */
static uint64_t first_work(const struct hier_wheel *wheel)
{
    uint64_t unit = wheel->tick == 1 ? TL_NEVER : wheel->levels[0].start + 1;
    if (wheel->queued > 0 && wheel->queue[0].expires < unit) {
        unit = wheel->queue[0].expires;
    }
    return unit * wheel->tick;
}

/* Moves the clock to `now`, and everything that is due by then to DUE. From bucket to bucket, in
 * the order of their expiration: so what is filed again meets no bucket of an earlier turn. */
static void collect_due(struct hier_wheel *wheel, uint64_t now)
{
    if (wheel->work_at == 0) {
        slot_move_all(wheel, stripe_of(LATE, 0), stripe_of(DUE, 0));
    }
    uint64_t target = wheel->tick == 1 ? now : now / wheel->tick;
    if (wheel->overfilled && target >= wheel->levels[wheel->level_count - 1].limit) {
        jump_past_levels(wheel, target);
    }
    while (wheel->queued > 0 && wheel->queue[0].expires <= target) {
        struct entry popped = queue_pop(wheel);
        uint32_t bucket = popped.bucket;
        uint64_t expired = popped.expires;
        uint64_t width = wheel->levels[popped.level].width;
        *expires(wheel, bucket) = NOT_QUEUED;
        levels_move(wheel, expired);
        TL_COUNT(wheel, slots, 1);
        if (target - expired >= width - 1 && !wheel->overfilled) {
            bucket_move_all(wheel, bucket, DUE);
        } else {
            flush_bucket(wheel, bucket, target);
        }
    }
    levels_move(wheel, target);
    wheel->clock = now;
    wheel->work_at = first_work(wheel);
}

/* Fires the first timer of one of DUE's lists, which has one. */
static inline void fire_one(struct hier_wheel *wheel, uint32_t head, uint64_t now, tl_fire_fn fire,
                            void *ctx)
{
    uint32_t id = slot_node(wheel, head)->next;
    slot_remove(wheel, id);
    wheel->count--;
    TL_COUNT(wheel, moves, 1);
    fire(ctx, id, now);
}

/* Fires from DUE, from each of the lists in use in turn, so that a node's line is under way while
 * the others' fire. Returns how many. */
static uint64_t fire_due(struct hier_wheel *wheel, uint64_t now, uint64_t budget, tl_fire_fn fire,
                         void *ctx)
{
    uint64_t fired = 0;
    bool more = true;
    while (more) {
        more = false;
        for (uint32_t i = 0; i <= wheel->stripes; i++) {
            uint32_t head = stripe_of(DUE, i);
            if (slot_is_empty(wheel, head)) {
                continue;
            }
            if (fired == budget) {
                return fired;
            }
            fired++;
            fire_one(wheel, head, now, fire, ctx);
            more = true;
        }
    }
    return fired;
}

/* An advance at which a bucket may expire. */
static __attribute__((noinline)) uint64_t work(struct hier_wheel *wheel, uint64_t now,
                                               uint64_t budget, tl_fire_fn fire, void *ctx)
{
    collect_due(wheel, now);
    uint64_t fired = fire_due(wheel, now, budget, fire, ctx);
    if (fired == budget) {
        wheel->work_at = 0; /* for what may be left */
    }
    return fired;
}

static uint64_t wheel_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct hier_wheel *wheel = self;
    if (now < wheel->work_at) {
        wheel->clock = now;
        return 0;
    }
    return work(wheel, now, budget, fire, ctx);
}

static uint64_t wheel_next(const void *self)
{
    const struct hier_wheel *wheel = self;
    if (wheel->count == 0) {
        return TL_NEVER;
    }
    if (!bucket_is_empty(wheel, DUE) || !bucket_is_empty(wheel, LATE)) {
        return wheel->clock;
    }
    return wheel->queue[0].expires * wheel->tick;
}

static uint64_t wheel_count(const void *self)
{
    return ((const struct hier_wheel *)self)->count;
}

static void wheel_counters(const void *self, struct tl_counters *out)
{
    *out = ((const struct hier_wheel *)self)->counters;
}

static enum tl_status check_bucket(const struct hier_wheel *wheel, const struct level *level,
                                   uint32_t slot, char *why, size_t why_bytes)
{
    uint32_t bucket = level->first + slot;
    uint64_t at = expiration(wheel, bucket);
    if (at == NOT_QUEUED) {
        if (!bucket_is_empty(wheel, bucket)) {
            (void)snprintf(why, why_bytes, "bucket %" PRIu32 " holds timers and is not queued",
                           bucket);
            return TL_ERR_CORRUPT;
        }
        return TL_OK;
    }
    if (at <= level->start || at >= level->limit || at % level->width != 0 ||
        at / level->width % wheel->slots != slot) {
        (void)snprintf(why, why_bytes, "bucket %" PRIu32 " cannot expire in unit %" PRIu64, bucket,
                       at);
        return TL_ERR_CORRUPT;
    }
    for (uint32_t n = 0; n < STRIPES; n++) {
        uint32_t i = slot_node(wheel, stripe_of(bucket, n))->next;
        for (; (i & HEAD_BIT) == 0; i = wheel->parts[TIMERS][i].next) {
            uint64_t due = wheel->parts[TIMERS][i].at;
            if (due < at || (due - at >= level->width && !wheel->overfilled)) {
                (void)snprintf(why, why_bytes, "timer %" PRIu32 " is not due within its bucket", i);
                return TL_ERR_CORRUPT;
            }
        }
    }
    return TL_OK;
}

static enum tl_status check_queue(const struct hier_wheel *wheel, char *why, size_t why_bytes)
{
    uint64_t marked = 0;
    for (size_t i = FIRST_BUCKET; i < bucket_count(wheel, wheel->level_count); i++) {
        marked += expiration(wheel, (uint32_t)i) != NOT_QUEUED;
    }
    if (marked != wheel->queued) {
        (void)snprintf(why, why_bytes, "%" PRIu64 " buckets expire, %" PRIu32 " are queued", marked,
                       wheel->queued);
        return TL_ERR_CORRUPT;
    }
    for (uint32_t i = 0; i < wheel->queued; i++) {
        uint64_t at = wheel->queue[i].expires;
        if (at < wheel->work_at / wheel->tick || at != expiration(wheel, wheel->queue[i].bucket) ||
            at < wheel->queue[i > 0 ? (i - 1) / 2 : 0].expires) {
            (void)snprintf(why, why_bytes, "entry %" PRIu32 " of the queue is out of order", i);
            return TL_ERR_CORRUPT;
        }
    }
    return TL_OK;
}

static enum tl_status wheel_check(const void *self, char *why, size_t why_bytes)
{
    const struct hier_wheel *wheel = self;
    uint64_t seen = 0;
    for (size_t i = 0; i < bucket_count(wheel, wheel->level_count) * STRIPES; i++) {
        if (!slot_walk(wheel, HEAD_BIT | (uint32_t)i, wheel->count, &seen)) {
            (void)snprintf(why, why_bytes, "the links of bucket %zu do not agree", i / STRIPES);
            return TL_ERR_CORRUPT;
        }
    }
    uint64_t linked = 0;
    for (uint32_t id = 0; id < wheel->capacity; id++) {
        linked += slot_is_linked(wheel, id);
    }
    if (seen != wheel->count || linked != wheel->count) {
        (void)snprintf(why, why_bytes,
                       "%" PRIu64 " timers in lists, %" PRIu64 " with links, %" PRIu64 " counted",
                       seen, linked, wheel->count);
        return TL_ERR_CORRUPT;
    }
    uint64_t stand = wheel->levels[0].start;
    for (uint32_t n = 0; n < wheel->level_count; n++) {
        struct level level = wheel->levels[n];
        level_place(&level, stand, wheel->slots);
        if (stand > wheel->clock / wheel->tick || level.start != wheel->levels[n].start ||
            level.hand != wheel->levels[n].hand) {
            (void)snprintf(why, why_bytes, "level %" PRIu32 " stands at unit %" PRIu64, n + 1,
                           wheel->levels[n].start);
            return TL_ERR_CORRUPT;
        }
        level_place(&level, wheel->clock / wheel->tick, wheel->slots);
        for (uint32_t slot = 0; slot < wheel->slots; slot++) {
            enum tl_status status = check_bucket(wheel, &level, slot, why, why_bytes);
            if (status != TL_OK) {
                return status;
            }
        }
    }
    bool due = !bucket_is_empty(wheel, DUE) || !bucket_is_empty(wheel, LATE);
    if (due && wheel->work_at != 0) {
        (void)snprintf(why, why_bytes, "timers are due before tick %" PRIu64, wheel->work_at);
        return TL_ERR_CORRUPT;
    }
    return check_queue(wheel, why, why_bytes);
}

static enum tl_status wheel_place(const void *self, uint32_t id, struct tl_place *out)
{
    const struct hier_wheel *wheel = self;
    if (!slot_is_linked(wheel, id)) {
        return TL_IDLE;
    }
    uint32_t index = id;
    while ((index & HEAD_BIT) == 0) {
        index = wheel->parts[TIMERS][index].next;
    }
    uint32_t bucket = (index ^ HEAD_BIT) / STRIPES;
    if (bucket < FIRST_BUCKET) {
        *out = (struct tl_place){.level = 0, .bucket = wheel->clock};
        return TL_OK;
    }
    *out = (struct tl_place){
        .level = (bucket - FIRST_BUCKET) / wheel->slots + 1,
        .slot = (bucket - FIRST_BUCKET) % wheel->slots,
        .bucket = expiration(wheel, bucket) * wheel->tick,
    };
    return TL_OK;
}

static void walk_bucket(const struct hier_wheel *wheel, uint32_t bucket,
                        const struct tl_visitor *visitor)
{
    for (uint32_t n = 0; n < STRIPES; n++) {
        uint32_t i = slot_node(wheel, stripe_of(bucket, n))->next;
        for (; (i & HEAD_BIT) == 0; i = wheel->parts[TIMERS][i].next) {
            /* What is due already keeps no time, and the unit is the deadline for a tick of 1. */
            bool kept = bucket >= FIRST_BUCKET && wheel->tick == 1;
            walk_timer(visitor, i, kept ? wheel->parts[TIMERS][i].at : TL_NEVER, 0);
        }
    }
}

static void walk_queue(const struct hier_wheel *wheel, const struct tl_visitor *visitor)
{
    walk_part(visitor, "delay queue", TL_FORM_TREE, 0);
    for (uint32_t i = 0; i < wheel->queued; i++) {
        uint32_t bucket = wheel->queue[i].bucket;
        char refers[48];
        (void)snprintf(refers, sizeof refers, "level %" PRIu32 ", slot %" PRIu32,
                       (bucket - FIRST_BUCKET) / wheel->slots + 1,
                       (bucket - FIRST_BUCKET) % wheel->slots);
        walk_reference(visitor, i, i > 0 ? (i - 1) / 2 : TL_NEVER,
                       expiration(wheel, bucket) * wheel->tick, refers);
    }
}

static void wheel_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct hier_wheel *wheel = self;
    if (!bucket_is_empty(wheel, DUE) || !bucket_is_empty(wheel, LATE)) {
        walk_due_part(visitor);
        walk_node(visitor, 0, TL_NEVER);
        walk_bucket(wheel, DUE, visitor);
        walk_bucket(wheel, LATE, visitor);
    }
    for (uint32_t n = 0; n < wheel->level_count; n++) {
        struct level now = wheel->levels[n];
        const struct level *level = &now;
        level_place(&now, wheel->clock / wheel->tick, wheel->slots);
        walk_level(visitor, n + 1, level->width * wheel->tick);
        for (uint32_t slot = 0; slot < wheel->slots; slot++) {
            uint32_t ahead =
                slot >= level->hand ? slot - level->hand : slot + wheel->slots - level->hand;
            uint64_t last = level->start + (ahead + 1) * level->width - 1;
            bool queued = expiration(wheel, level->first + slot) != NOT_QUEUED;
            walk_slot(visitor, slot,
                      wheel->ceil ? last * wheel->tick : last * wheel->tick + wheel->tick - 1,
                      level->width * wheel->tick,
                      (ahead == 0 ? TL_MARK_HAND : 0u) | (queued ? TL_MARK_QUEUED : 0u));
            walk_bucket(wheel, level->first + slot, visitor);
        }
    }
    walk_queue(wheel, visitor);
}

static struct tl_precision wheel_precision(const int64_t *options, uint64_t delay_ticks)
{
    (void)delay_ticks;
    uint64_t most = (uint64_t)options[OPTION_TICK] - 1;
    return options[OPTION_ROUNDING] == ROUNDING_CEIL ? (struct tl_precision){.late_ticks = most}
                                                     : (struct tl_precision){.early_ticks = most};
}

static const struct tl_choice rounding_choices[] = {
    {"floor", ROUNDING_FLOOR, "a bucket fires at its start: early by up to tick - 1"},
    {"ceil", ROUNDING_CEIL, "deadlines are rounded up: never early, late by up to tick - 1"},
    {NULL, 0, NULL},
};

static const struct tl_option wheel_options[] = {
    [OPTION_TICK] = {"tick", 1, 1, TICK_MAX, NULL, "ticks per bucket of the lowest level (tickMs)"},
    [OPTION_SLOTS] = {"slots", 20, 2, SLOTS_MAX, NULL, "buckets per level (wheelSize)"},
    [OPTION_ROUNDING] = {"rounding", ROUNDING_FLOOR, 1, 0, rounding_choices,
                         "which way a deadline inside a bucket goes"},
    {NULL, 0, 0, 0, NULL, NULL},
};

TL_ALGO(hier_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED | TL_CAP_ALLOCATES,
    .name = "hier-wheel",
    .summary = "wheels of wheels, made on demand, and a queue of buckets",
    .origin = "Varghese and Lauck 1987, scheme 7; Kafka, RussellLuo",
    .description =
        "Levels of wheels, each as wide as a bucket of the next; a timer is filed on the lowest "
        "level that reaches it and moves down a level when its bucket expires. The occupied "
        "buckets stand in a delay queue, so an idle structure sleeps until the next of them. "
        "Overflow wheels are allocated when first needed. Bad at: a far bucket with very many "
        "timers, all filed again in the one advance that opens it.",
    .cost = {.start = "O(m)", .stop = "O(1)", .tick = "O(1)", .expire = "O(m)"},
    .options = wheel_options,
    .precision = wheel_precision,
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
    .place = wheel_place,
    .walk = wheel_walk,
};
