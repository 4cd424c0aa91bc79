/*
 * tokio-wheel: tokio's hierarchy, with levels that are blocks of time instead of distances.
 *
 *   clock 000001 000010 000111 (4231)              level   a slot's ticks   holds deadlines in
 *                       001010 (4234)  is on         1                  1   the clock's block of 64
 *                011111 001010 (6090)  is on         2                 64   its block of 4096
 *         000011 000000 000000 (12288) is on         3               4096   its block of 2^18
 *                                                   ... 6            2^30   all others
 *
 * The highest bit in which clock and deadline differ names the level, and the deadline's six bits
 * there the slot. start(a, 6090) files a in slot 31 of level 2. Every slot of a level comes before
 * all slots of the level above, so the first occupied slot of the lowest occupied level expires
 * next. advance goes from slot to slot: at tick 6080 the clock enters slot 31, and a is filed
 * again, in slot 10 of level 1; at tick 6090 it fires. stop(a) unlinks a.
 *
 * A deadline outside the last level's block of 2^36 ticks is in the slot of the last level that its
 * bits name, and is filed there again at every turn. The lists keep the order of starts, so that
 * all timers fire in the order of deadlines.
 *
 * restart=lazy: a restart to a later deadline, as for an idle timeout with every packet, only notes
 * it. The timer stays filed under `when`, and is filed again at that tick. restart=move files it at
 * once.
 *
 * Invariants
 *   - a timer filed under `when` on a level with slots of 2^s ticks is in slot (when >> s) modulo
 *     64; unless the level is the last, clock and `when` differ in no bit from s + 6 on
 *   - clock < when <= due; with restart=move, when is due
 *   - a slot's bit is set exactly if it holds timers
 *   - no slot expires before `work_at`, which is 0 if DUE or LATE holds timers
 *
 * Complexity (m levels): start, restart, stop and a tick O(1), expiry up to m moves, `next` O(m).
 * Use it for idle timeouts that every packet postpones. Bad at: an upper slot with very many
 * timers, which one advance files again; with restart=lazy, timers that are postponed and then
 * stopped.
 *
 * Source: tokio-rs/tokio 1.x, tokio/src/runtime/time/wheel/ (mod.rs, level.rs), entry.rs.
 */
#include "timerlab.h"

/* --- data ------------------------------------------------------------------------------------- */

#define SLOT_BITS      6u
#define SLOTS          64u
#define LEVELS_MIN     3
#define LEVELS_MAX     10u

#define BUCKET_STRIPES 1u /* the lists keep the order of the starts */
struct node {
    uint64_t due;
    uint64_t when; /* the tick that it is filed under */
    uint32_t next;
    uint32_t prev;
};
#include "timer_buckets.h"

#define FLUSH        2u /* timers to file again */
#define FIRST_BUCKET 3u /* slot 0 of level 1 */

struct tokio_wheel {
    struct timer_buckets buckets;
    uint64_t work_at; /* before this tick an advance has nothing to do but to set the clock */
    uint32_t level_count;
    bool lazy; /* restart=lazy */
    uint64_t occupied[LEVELS_MAX];
};
#define STRUCTURE        struct tokio_wheel
#define LEVEL_BITS       SLOT_BITS
#define LEVEL_STEP       SLOT_BITS
#define LEVEL_TICK(node) ((node)->when)
#define SLOT_FROM        slot_turn
#define WORK_AT
#include "slot_levels.h"

/* --- start and stop --------------------------------------------------------------------------- */

/* Files a timer that is in no list and due after the clock. Returns when its slot expires. */
static inline uint64_t file_timer(struct tokio_wheel *wheel, uint32_t index)
{
    struct node *node = node_at(&wheel->buckets, index);
    uint64_t differs = (wheel->buckets.clock ^ node->due) | (SLOTS - 1);
    uint32_t level = (63 - (uint32_t)__builtin_clzll(differs)) / SLOT_BITS;
    level = level < wheel->level_count ? level : wheel->level_count - 1;
    uint32_t slot = (uint32_t)(node->due >> (level * SLOT_BITS)) % SLOTS;
    node->when = node->due;
    wheel->occupied[level] |= UINT64_C(1) << slot;
    bucket_append(&wheel->buckets, FIRST_BUCKET + level * SLOTS + slot, index);
    return slot_entered(wheel, level, slot);
}

static enum tl_status wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct tokio_wheel *wheel = self;
    struct timer_buckets *buckets = &wheel->buckets;
    struct node *node = node_at(buckets, timer_index(buckets, id));
    TL_COUNT(buckets, compares, wheel->lazy);
    /* In DUE and LATE a timer is due, and is to be taken out. */
    if (wheel->lazy && node->next != SLOT_NONE && node->when > buckets->clock &&
        deadline >= node->due) {
        node->due = deadline;
        return TL_OK;
    }
    uint32_t index = take_for_start(wheel, id);
    node->due = deadline;
    if (deadline > buckets->clock) {
        work_before(wheel, file_timer(wheel, index));
    } else {
        node->when = deadline;
        append_late(wheel, index);
    }
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

/* The lowest level that has timers, or how many levels there are. */
static uint32_t lowest_occupied(const struct tokio_wheel *wheel)
{
    uint32_t level = 0;
    while (level < wheel->level_count && wheel->occupied[level] == 0) {
        level++;
    }
    return level;
}

static void empty_slot(struct tokio_wheel *wheel, uint32_t level, uint32_t slot)
{
    bucket_move_all(&wheel->buckets, FIRST_BUCKET + level * SLOTS + slot, FLUSH);
    wheel->occupied[level] &= ~(UINT64_C(1) << slot);
    TL_COUNT(&wheel->buckets, slots, 1);
}

/* Empty FLUSH, in order: due timers go to DUE, the rest to where the clock
 * reaches them. */
static void file_again(struct tokio_wheel *wheel)
{
    struct timer_buckets *buckets = &wheel->buckets;
    uint32_t index = bucket_first(buckets, FLUSH);
    uint32_t head = bucket_head(buckets, FLUSH, 0);
    slot_clear(buckets, head);
    while (index != SLOT_NONE && index != head) {
        uint32_t next = node_at(buckets, index)->next;
        PREFETCH(node_at(buckets, next));
        TL_COUNT(buckets, compares, 1);
        if (node_at(buckets, index)->due <= buckets->clock) {
            node_at(buckets, index)->when = buckets->clock;
            bucket_append(buckets, DUE, index);
        } else {
            TL_COUNT(buckets, cascades, 1);
            (void)file_timer(wheel, index);
        }
        index = next;
    }
}

/* Where only the last level has timers: moves the clock to the first deadline of these, or to `now`
 * if that is before, without going round and round. */
static void leap(struct tokio_wheel *wheel, uint64_t now)
{
    struct timer_buckets *buckets = &wheel->buckets;
    uint32_t last = wheel->level_count - 1;
    for (uint64_t left = wheel->occupied[last]; left != 0; left &= left - 1) {
        empty_slot(wheel, last, bitmap_first(left));
    }
    uint64_t target = now;
    for (uint32_t i = bucket_first(buckets, FLUSH); i != SLOT_NONE;
         i = bucket_after(buckets, FLUSH, i)) {
        target = node_at(buckets, i)->due < target ? node_at(buckets, i)->due : target;
    }
    buckets->clock = target;
    file_again(wheel);
}

/* Moves the clock to `now`, everything that is due by then to DUE, and work_at on. */
static void collect_due(struct tokio_wheel *wheel, uint64_t now)
{
    struct timer_buckets *buckets = &wheel->buckets;
    uint64_t turn = UINT64_C(1) << (wheel->level_count * SLOT_BITS);
    bucket_move_all(buckets, LATE, DUE);
    for (uint32_t level = lowest_occupied(wheel); level < wheel->level_count;
         level = lowest_occupied(wheel)) {
        if (level + 1 == wheel->level_count && now - buckets->clock > turn) {
            leap(wheel, now);
            continue;
        }
        uint32_t shift = level * SLOT_BITS;
        uint32_t hand = (uint32_t)(buckets->clock >> shift) % SLOTS;
        uint32_t ahead = bitmap_first(bitmap_after(wheel->occupied[level], hand, SLOTS)) + 1;
        uint64_t expires = ((buckets->clock >> shift) + ahead) << shift;
        if (expires > now) {
            break;
        }
        buckets->clock = expires;
        empty_slot(wheel, level, (hand + ahead) % SLOTS);
        file_again(wheel);
    }
    buckets->clock = now;
    wheel->work_at = next_work(wheel);
}

/* --- create and options ----------------------------------------------------------------------- */

struct wheel_options {
    uint32_t levels;
    uint32_t restart;
};
enum restart { RESTART_LAZY, RESTART_MOVE };

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    const struct wheel_options *options = config->options;
    uint32_t levels = options->levels;
    struct tokio_wheel empty = {
        .buckets = buckets_empty(config, FIRST_BUCKET + levels * SLOTS),
        .work_at = TL_NEVER,
        .level_count = levels,
        .lazy = options->restart == RESTART_LAZY,
    };
    return structure_create(config, &empty, buckets_reserve, buckets_destroy, self);
}

static const struct tl_choice restart_choices[] = {
    {"lazy", RESTART_LAZY, "a later deadline is noted, and looked at when the old one comes"},
    {"move", RESTART_MOVE, "the timer is filed again at once"},
    {NULL, 0, NULL},
};

static const struct tl_option wheel_option_table[] = {
    {"levels", TL_U32(struct wheel_options, levels), 6, LEVELS_MIN, LEVELS_MAX, NULL,
     "levels of 64 slots (NUM_LEVELS); timers beyond wait in the last"},
    {"restart", TL_CHOICE(struct wheel_options, restart), RESTART_LAZY, 0, 0, restart_choices,
     "effect of a restart to a later deadline (extend_expiration)"},
    {0},
};

/* --- check and walk --------------------------------------------------------------------------- */

static bool slot_takes(const struct tokio_wheel *wheel, uint32_t level, uint32_t slot,
                       const struct node *node)
{
    uint64_t clock = wheel->buckets.clock;
    uint64_t turns = (node->when ^ clock) >> LEVEL_SHIFT(level) >> SLOT_BITS;
    return (node->when >> LEVEL_SHIFT(level)) % SLOTS == slot &&
           (turns == 0 || level + 1 == wheel->level_count) && node->when > clock &&
           (wheel->lazy ? node->when <= node->due : node->when == node->due);
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(tokio_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_ORDERED | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "tokio-wheel",
    .summary = "a hierarchy of blocks that only notes restarts to later",
    .origin = "tokio, runtime/time/wheel",
    .description =
        "Six levels of 64 slots, each slot as wide as the whole level below. The highest bit in "
        "which clock and deadline differ names the level, so all that the lowest occupied level "
        "holds comes first. A slot is filed again, lower, when the clock reaches it; then the due "
        "timers fire in order of deadlines. A pending timer that gets a later deadline notes it "
        "and stays where it is until its old one comes. Bad at: an upper slot with very many "
        "timers, all filed again in the one advance that enters it.",
    .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(1)", .expire = "O(m)"},
    OPTIONS(wheel_option_table, struct wheel_options),
    .create = wheel_create,
    .start = wheel_start,
    .advance = buckets_advance,
    .next = buckets_next,
    BUCKETS_HOOKS,
    .check = levels_check,
    .walk = levels_walk,
    .differs =
        "a deadline that is not ahead fires in the next advance, where the wheel refuses it and "
        "the caller fires it at once. A timer that a callback stops no longer fires, where all "
        "timers that a turn of the driver finds have fired before any task runs. One thread and no "
        "wakers; deadlines are ticks already, where they are rounded up to a millisecond.",
};
