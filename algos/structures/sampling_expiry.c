/*
 * sampling-expiry: no order at all, and no look at every timer either: a cycle now and then looks
 * at a few timers and goes on only while many of them are due; as Redis and Valkey expire keys.
 *
 *   due by id   [ - ][ 3 ][ 90 ][ - ][ 5 ][ 8 ][ 70 ][ - ][ 60 ] ...
 *                      cursor ^
 *
 * A start writes the due tick into the timer's place, a stop clears it. At tick 100, with sample=4,
 * the cycle looks at the four timers from the cursor on, passing empty places: 90, 5, 8 and 70 are
 * all due, and fire. More than stale=10 percent of the sample were due, so the cycle samples again.
 * It ends with the first sample of which a tenth or less is due; the next cycle goes on from there,
 * `period` ticks later.
 *
 * So timers fire late by design, and memory and starts cost next to nothing. About a tenth of the
 * pending timers at most are due and not fired: with a share s of due timers, a sample of 20 ends
 * the cycle with the probability 0.92 for s = 5 %, 0.68 for 10 %, 0.21 for 20 %, 0.004 for 40 %. A
 * due timer is found within one turn of the cursor, capacity / sample cycles if few timers are due:
 * that is the declared lateness, for as many timers as an id can name.
 *
 * Invariants
 *   - due_of[id].due is IDLE unless the timer is pending
 *   - cycle_at, the tick of the next cycle, is a multiple of `period` after the clock
 *   - no pending timer is due before first_due, and none that this turn has passed before seen_due
 *
 * Complexity: start and stop O(1), a cycle O(sample) while few timers are due; an expiry O(1) while
 * more than a tenth of the timers are due, O(n/k) for the last k.
 *
 * Use it for deadlines that only limit memory, as a cache's. Bad at: precision.
 *
 * Source: redis/redis 7, expire.c (activeExpireCycle); valkey-io/valkey 8, the same; EXPIRE, "How
 * Redis expires keys".
 */
#include "timerlab.h"

#include "records.h"

/* --- data ------------------------------------------------------------------------------------- */

#define IDLE              UINT64_MAX

/* Empty places that a sample passes, for each timer that it may look at (Redis: max_buckets). */
#define PLACES_PER_SAMPLE 20u

struct sampling_options {
    uint64_t period;
    uint64_t sample;
    uint32_t stale;
};

struct node {
    uint64_t due;
    uint64_t advance; /* the number of the latest advance when it was started */
};

struct sampling_expiry {
    struct tl_counters counters;
    const struct tl_allocator *allocator;
    struct node *nodes AND_RECORDS;
    uint32_t capacity;
    uint32_t count;
    uint32_t cursor;
    uint32_t sample;
    uint32_t stale_percent;
    uint64_t period;
    uint64_t clock;
    uint64_t cycle_at;
    uint64_t advances;
    uint64_t first_due; /* no pending timer is due before */
    uint64_t seen_due;  /* the same of the timers that this turn has passed or that were started */
};

#define NODES_FIRST 0u
#define STRUCTURE   struct sampling_expiry
#include "node_array.h"

/* --- start and stop --------------------------------------------------------------------------- */

static enum tl_status sampling_start(void *self, uint32_t id, uint64_t deadline)
{
    struct sampling_expiry *sampling = self;
    struct node *node = node_at(sampling, id);
    sampling->count += node->due == IDLE;
    *node = (struct node){.due = deadline, .advance = sampling->advances};
    sampling->first_due = deadline < sampling->first_due ? deadline : sampling->first_due;
    sampling->seen_due = deadline < sampling->seen_due ? deadline : sampling->seen_due;
    TL_COUNT(sampling, moves, 1);
    return TL_OK;
}

static enum tl_status sampling_stop(void *self, uint32_t id)
{
    struct sampling_expiry *sampling = self;
    struct node *node = node_at(sampling, id);
    if (node->due == IDLE) {
        return TL_IDLE;
    }
    node->due = IDLE;
    sampling->count--;
    TL_COUNT(sampling, moves, 1);
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

/* The result of the samples of an advance. */
struct search {
    tl_fire_fn fire;
    void *ctx;
    uint64_t cycle; /* the tick of the latest one: later timers wait for the next */
    uint64_t fired;
    uint64_t quiet; /* places passed since a timer fired */
};

/* Goes on by one place. After a turn it is known which timer is due first. */
static void move_cursor(struct sampling_expiry *sampling)
{
    if (++sampling->cursor == sampling->capacity) {
        sampling->cursor = 0;
        sampling->first_due = sampling->seen_due;
        sampling->seen_due = IDLE;
    }
}

/* Looks at one sample. Return whether enough were due for another one. */
static bool take_sample(struct sampling_expiry *sampling, struct search *search)
{
    uint32_t looked_at = 0;
    uint32_t due = 0;
    uint32_t places = PLACES_PER_SAMPLE * sampling->sample;
    for (; places > 0 && looked_at < sampling->sample && search->quiet < sampling->capacity;
         places--) {
        uint32_t id = sampling->cursor;
        struct node *node = node_at(sampling, id);
        bool pending = node->due != IDLE;
        bool fires = node->due <= search->cycle && node->advance != sampling->advances;
        if (pending && !fires && node->due < sampling->seen_due) {
            sampling->seen_due = node->due;
        }
        move_cursor(sampling);
        search->quiet++;
        looked_at += pending;
        TL_COUNT(sampling, slots, 1);
        TL_COUNT(sampling, compares, pending);
        if (fires) {
            node->due = IDLE;
            sampling->count--;
            due++;
            search->quiet = 0;
            search->fired++;
            search->fire(search->ctx, id, sampling->clock);
        }
    }
    return looked_at > 0 && due * UINT64_C(100) / looked_at > sampling->stale_percent;
}

/* All cycles since the last advance. After a whole turn in which no timer was due, none will be. */
static uint64_t sampling_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                                 void *ctx)
{
    (void)budget;
    struct sampling_expiry *sampling = self;
    struct search search = {.fire = fire, .ctx = ctx};
    sampling->clock = now;
    if (now < sampling->cycle_at) {
        return 0;
    }
    sampling->advances++;
    uint64_t cycles = (now - sampling->cycle_at) / sampling->period + 1;
    sampling->cycle_at += cycles * sampling->period;
    search.cycle = sampling->cycle_at - sampling->period;
    while (cycles > 0 && sampling->count > 0 && search.quiet < sampling->capacity) {
        cycles -= !take_sample(sampling, &search);
    }
    return search.fired;
}

static uint64_t sampling_next(const void *self)
{
    const struct sampling_expiry *sampling = self;
    if (sampling->count == 0) {
        return TL_NEVER;
    }
    uint64_t at = sampling->cycle_at;
    uint64_t wait = sampling->first_due > at ? sampling->first_due - at : 0;
    return at + (wait + sampling->period - 1) / sampling->period * sampling->period;
}

/* --- create and options ----------------------------------------------------------------------- */

static const struct tl_option sampling_option_table[] = {
    {"period", TL_TICKS(struct sampling_options, period), 100, 1, 1000000, NULL,
     "ticks from cycle to cycle (hz 10)"},
    {"sample", TL_U64(struct sampling_options, sample), 20, 1, 100000, NULL,
     "timers of a sample (ACTIVE_EXPIRE_CYCLE_KEYS_PER_LOOP)"},
    {"stale", TL_U32(struct sampling_options, stale), 10, 0, 100, NULL,
     "percent of a sample: if more are due, the cycle goes on"},
    {0},
};

static struct tl_precision sampling_precision(const void *given, uint64_t delay_ticks)
{
    const struct sampling_options *options = given;
    (void)delay_ticks;
    /* A turn of the cursor over all ids, and the cycle that has begun. */
    uint64_t cycles = UINT32_MAX / options->sample + 2;
    return (struct tl_precision){.late_ticks = cycles * options->period};
}

static enum tl_status sampling_reserve(void *self, uint32_t capacity)
{
    return nodes_reserve(self, capacity, UINT32_MAX - 1, (struct node){.due = IDLE});
}

static enum tl_status sampling_create(const struct tl_config *config, void **self)
{
    const struct sampling_options *options = config->options;
    uint64_t period = options->period;
    struct sampling_expiry empty = {
        .allocator = config->allocator,
        .sample = (uint32_t)options->sample,
        .stale_percent = options->stale,
        .period = period,
        .first_due = IDLE,
        .seen_due = IDLE,
        .clock = config->now,
        .cycle_at = config->now - config->now % period + period,
    };
    return structure_create(config, &empty, sampling_reserve, nodes_destroy, self);
}

/* --- check and walk --------------------------------------------------------------------------- */

static enum tl_status sampling_check(const void *self, char *why, size_t why_bytes)
{
    const struct sampling_expiry *sampling = self;
    uint32_t pending = 0;
    for (uint32_t id = 0; id < sampling->capacity; id++) {
        uint64_t due = node_at(sampling, id)->due;
        pending += due != IDLE;
        if (due < sampling->first_due || (id < sampling->cursor && due < sampling->seen_due)) {
            return corrupt(why, why_bytes, "timer %" PRIu32 " is due before tick %" PRIu64, id,
                           sampling->first_due);
        }
    }
    if (pending != sampling->count || sampling->cycle_at <= sampling->clock ||
        sampling->cycle_at % sampling->period != 0) {
        return corrupt(why, why_bytes,
                       "%" PRIu32 " timers are pending, %" PRIu32
                       " counted; the next cycle is at tick %" PRIu64,
                       pending, sampling->count, sampling->cycle_at);
    }
    return TL_OK;
}

static void sampling_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct sampling_expiry *sampling = self;
    walk_part(visitor, "table", TL_FORM_LIST, 0);
    uint64_t index = 0;
    for (uint32_t id = 0; id < sampling->capacity; id++) {
        if (node_at(sampling, id)->due != IDLE) {
            walk_node(visitor, index++, TL_NEVER);
            walk_timer(visitor, id, node_at(sampling, id)->due, 0);
        }
    }
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(sampling_expiry) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_NEXT | TL_CAP_UNLIMITED,
    .name = "sampling-expiry",
    .summary = "looks at a few timers now and then: late by design",
    .origin = "Redis and Valkey",
    .description =
        "A table of due ticks by id, without any order. Ten times a second (of ticks of a "
        "millisecond) a cycle looks at 20 timers from a cursor on, fires those that are due, and "
        "goes on while more than a tenth of them were. So about a tenth of the pending timers at "
        "most are due and have not fired: a cycle ends with probability 0.92 if 5 % of the timers "
        "are due, 0.68 if 10 %, 0.21 if 20 % and 0.004 if 40 %. The last due timer is found within "
        "a turn of the cursor, capacity / 20 cycles. Bad at: expiry in time; it is for deadlines "
        "that only limit memory, as a cache's.",
    .differs = "no expiry on access, which Redis does as well, as nothing here is accessed; the "
               "cursor goes over ids, where Redis's goes over the buckets of a hash table; no "
               "limit to a cycle's time, which Redis ends after a quarter of its period; an "
               "advance over several periods does all their cycles; keys of one database; each "
               "turn of the cursor says which timer is due next, so that a driver may sleep.",
    .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(1)", .expire = "O(n/k)"},
    OPTIONS(sampling_option_table, struct sampling_options),
    .precision = sampling_precision,
    .create = sampling_create,
    .destroy = nodes_destroy,
    .reserve = sampling_reserve,
    .start = sampling_start,
    .stop = sampling_stop,
    .advance = sampling_advance,
    .next = sampling_next,
    NODES_HOOKS,
    .check = sampling_check,
    .walk = sampling_walk,
};
