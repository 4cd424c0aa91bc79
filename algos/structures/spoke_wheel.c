/*
 * spoke-wheel: Agrona's DeadlineTimerWheel: a ring of spokes, each a short array of deadlines.
 *
 *   spokes=4, tick=8, allocation=4                  spoke = (deadline >> log2(tick)) & (spokes-1)
 *
 *                           hand (clock 17)
 *                           v
 *   spoke   0       1       2       3       ids are next to the deadlines; `used` counts them
 *           due 35  -       due 19  due 24
 *           due 34  -       due 83  -
 *           -       -       -       -
 *           -       -       -       -
 *
 * start(a, 50) appends the deadline 50 to spoke 2, whatever turn it is for. advance(19) looks at
 * each deadline of spoke 2: 19 fires, 83 and 50 stay. stop(a) moves the last deadline of the spoke
 * into the gap, so that a spoke has no gaps. There are no links and no rounds, and a spoke is read
 * from front to back at the speed of memory. Agrona searches a gap at each start instead.
 *
 * The hand stays at a spoke for `tick` ticks and looks through it in each. Agrona polls one spoke a
 * call, up to a tick late or more. Here an advance visits every spoke that the clock passed, once:
 * exact.
 *
 * When a spoke is full, all spokes double, and never shrink, as in Agrona: one crowded tick makes
 * every spoke as long as its own. This is the one allocation outside create and reserve. If it
 * fails, or would make more than SPREAD_MAX places for each timer, the timer goes astray: to any
 * spoke with a free place. `reserve` makes sure that there is one. An advance that reaches the
 * earliest astray deadline looks through all spokes.
 *
 * Expired timers go to a list of ids, DUE, and fire from there. A timer that is due at its start
 * goes to the list LATE, which the next advance appends to DUE. Both are one doubly linked list in
 * `links`, with a mark at the beginning of LATE.
 *
 * Invariants
 *   - where[id] is the place of a timer in the wheel, and ids[where[id]] == id; or a mark
 *   - a spoke's places 0 .. used-1 are taken
 *   - timers in the wheel are due after the clock; those not in their own spoke, at `astray_due` or
 *     later
 *
 * Complexity: start and stop O(1), a tick O(n / spokes), expiry O(1) and a look in every turn
 * before. Use it for few timers of spread deadlines. Bad at: many timers of one tick, which cost
 * memory in every spoke; delays of many turns; sleeping, since it must be driven at every tick.
 *
 * Source: aeron-io/agrona, DeadlineTimerWheel.java.
 */
#include "timerlab.h"

/* --- data ------------------------------------------------------------------------------------- */

#define BLOCK_ALIGN      64
#define PLACES_SHIFT_MAX 31u /* log2 of the largest number of places */
#define SPREAD_MAX       16u /* growing leads to at most this many places for each timer */
#define PLACES_FREE      (UINT64_C(1) << 18) /* this many, 3 MB, are always granted */
#define SPOKES_MAX       (INT64_C(1) << 20)
#define TICK_MAX         (INT64_C(1) << 32)

#define BUCKET_STRIPES   1u
/* In DUE or LATE; or in a spoke, with IN_SPOKE in `next` and the place in `prev`. */
struct node {
    uint32_t next;
    uint32_t prev;
};
#include "timer_buckets.h"

#define IN_SPOKE (SLOT_NONE - 1)

struct spoke_wheel {
    struct timer_buckets buckets; /* DUE and LATE */
    uint64_t *deadlines;          /* by place: spoke << allocation_shift, and on */
    uint32_t *ids;                /* by place, after the deadlines */
    uint32_t spokes;              /* a power of two */
    uint32_t allocation_shift;
    uint32_t tick_shift;
    uint32_t astray;     /* timers in a spoke that is not theirs */
    uint64_t astray_due; /* none of them is due before */
    uint32_t used[];     /* places taken of each spoke */
};

#define STRUCTURE              struct spoke_wheel
#define STRUCTURE_BYTES(wheel) (sizeof *(wheel) + (wheel)->spokes * sizeof(uint32_t))
#define FILE_TIMER
#define TAKE_OUT take_out
#include "bucket_hooks.h"

/* --- data: places ----------------------------------------------------------------------------- */

static inline uint32_t spoke_of(const struct spoke_wheel *wheel, uint64_t deadline)
{
    return (uint32_t)(deadline >> wheel->tick_shift) & (wheel->spokes - 1);
}

static inline void place_put(struct spoke_wheel *wheel, uint32_t place, uint64_t deadline,
                             uint32_t id)
{
    wheel->deadlines[place] = deadline;
    wheel->ids[place] = id;
    *node_at(&wheel->buckets, timer_index(&wheel->buckets, id)) =
        (struct node){.next = IN_SPOKE, .prev = place};
    TL_COUNT(&wheel->buckets, moves, 1);
}

static bool is_astray(const struct spoke_wheel *wheel, uint32_t place)
{
    return place >> wheel->allocation_shift != spoke_of(wheel, wheel->deadlines[place]);
}

/* Remove the timer at a place from the wheel. The last of the spoke fills the gap. */
static void place_clear(struct spoke_wheel *wheel, uint32_t place)
{
    uint32_t spoke = place >> wheel->allocation_shift;
    uint32_t last = (spoke << wheel->allocation_shift) + --wheel->used[spoke];
    uint32_t index = timer_index(&wheel->buckets, wheel->ids[place]);
    wheel->astray -= is_astray(wheel, place);
    node_at(&wheel->buckets, index)->next = SLOT_NONE;
    TL_COUNT(&wheel->buckets, moves, 1);
    if (place != last) {
        place_put(wheel, place, wheel->deadlines[last], wheel->ids[last]);
    }
}

static size_t places_bytes(const struct spoke_wheel *wheel, uint32_t allocation_shift)
{
    return ((size_t)wheel->spokes << allocation_shift) * (sizeof(uint64_t) + sizeof(uint32_t));
}

/* Return memory for larger spokes; NULL if it is missing, or if there are too many places. */
static uint64_t *new_places(const struct spoke_wheel *wheel, uint32_t shift)
{
    return ((uint64_t)wheel->spokes << shift) > UINT64_C(1) << PLACES_SHIFT_MAX
               ? NULL
               : tl_alloc(wheel->buckets.allocator, places_bytes(wheel, shift), BLOCK_ALIGN);
}

/* Move all spokes to the memory of new_places. Return false, and change nothing, if it is NULL. */
static bool use_places(struct spoke_wheel *wheel, uint64_t *deadlines, uint32_t shift)
{
    if (deadlines == NULL) {
        return false;
    }
    uint32_t *ids = (uint32_t *)(void *)(deadlines + ((size_t)wheel->spokes << shift));
    for (uint32_t spoke = 0; spoke < wheel->spokes; spoke++) {
        size_t from = (size_t)spoke << wheel->allocation_shift;
        size_t to = (size_t)spoke << shift;
        for (uint32_t i = 0; i < wheel->used[spoke]; i++) {
            deadlines[to + i] = wheel->deadlines[from + i];
            ids[to + i] = wheel->ids[from + i];
            node_at(&wheel->buckets, timer_index(&wheel->buckets, ids[to + i]))->prev =
                (uint32_t)(to + i);
        }
    }
    tl_free(wheel->buckets.allocator, wheel->deadlines,
            places_bytes(wheel, wheel->allocation_shift), BLOCK_ALIGN);
    wheel->deadlines = deadlines;
    wheel->ids = ids;
    wheel->allocation_shift = shift;
    return true;
}

/* --- start and stop --------------------------------------------------------------------------- */

/* The next spoke with a place left: `reserve` makes sure that there is one. */
static uint32_t spoke_with_room(const struct spoke_wheel *wheel, uint32_t spoke)
{
    while (wheel->used[spoke] >> wheel->allocation_shift != 0) {
        spoke = (spoke + 1) & (wheel->spokes - 1);
    }
    return spoke;
}

/* File a timer that is due after the clock. */
static inline void file_timer(struct spoke_wheel *wheel, uint32_t index, uint64_t deadline)
{
    uint32_t id = timer_id(&wheel->buckets, index);
    uint32_t spoke = spoke_of(wheel, deadline);
    if (wheel->used[spoke] >> wheel->allocation_shift != 0) {
        uint64_t doubled = (uint64_t)wheel->spokes << (wheel->allocation_shift + 1);
        uint64_t granted = (uint64_t)SPREAD_MAX * wheel->buckets.capacity;
        granted = granted > PLACES_FREE ? granted : PLACES_FREE;
        if (doubled > granted || !use_places(wheel, new_places(wheel, wheel->allocation_shift + 1),
                                             wheel->allocation_shift + 1)) {
            spoke = spoke_with_room(wheel, spoke);
            if (wheel->astray++ == 0 || deadline < wheel->astray_due) {
                wheel->astray_due = deadline;
            }
        }
    }
    place_put(wheel, (spoke << wheel->allocation_shift) + wheel->used[spoke]++, deadline, id);
}

static inline void take_out(struct spoke_wheel *wheel, uint32_t index)
{
    const struct node *node = node_at(&wheel->buckets, index);
    if (node->next == IN_SPOKE) {
        place_clear(wheel, node->prev);
    } else {
        (void)bucket_remove(&wheel->buckets, index);
    }
}

/* --- advance and next ------------------------------------------------------------------------- */

/* Look through a spoke, and move timers due by `now` to DUE. */
static void visit_spoke(struct spoke_wheel *wheel, uint32_t spoke, uint64_t now)
{
    uint32_t first = spoke << wheel->allocation_shift;
    TL_COUNT(&wheel->buckets, slots, 1);
    TL_COUNT(&wheel->buckets, compares, wheel->used[spoke]);
    /* From the end: a gap is filled with a timer that has been looked at. */
    for (uint32_t i = wheel->used[spoke]; i-- > 0;) {
        if (wheel->deadlines[first + i] <= now) {
            uint32_t index = timer_index(&wheel->buckets, wheel->ids[first + i]);
            place_clear(wheel, first + i);
            bucket_append(&wheel->buckets, DUE, index);
        }
    }
}

/* Look through all spokes for due astray timers, and find the due tick of the next one. */
static void visit_astray(struct spoke_wheel *wheel, uint64_t now)
{
    wheel->astray_due = TL_NEVER;
    for (uint32_t spoke = 0; spoke < wheel->spokes; spoke++) {
        visit_spoke(wheel, spoke, now);
        uint32_t first = spoke << wheel->allocation_shift;
        for (uint32_t place = first; place < first + wheel->used[spoke]; place++) {
            if (is_astray(wheel, place) && wheel->deadlines[place] < wheel->astray_due) {
                wheel->astray_due = wheel->deadlines[place];
            }
        }
    }
}

static void collect_due(struct spoke_wheel *wheel, uint64_t now)
{
    bucket_move_all(&wheel->buckets, LATE, DUE);
    uint64_t from = wheel->buckets.clock >> wheel->tick_shift;
    uint64_t steps = (now >> wheel->tick_shift) - from;
    /* All spokes that the hand passes, and its own for the deadlines in the rest of its tick. With
     * a tick of 1 there is no rest. */
    uint64_t first = from + (wheel->tick_shift == 0 && steps < wheel->spokes);
    uint64_t last = from + (steps < wheel->spokes ? steps : wheel->spokes - 1);
    for (uint64_t at = first; at <= last; at++) {
        visit_spoke(wheel, (uint32_t)at & (wheel->spokes - 1), now);
    }
    if (wheel->astray > 0 && wheel->astray_due <= now) {
        visit_astray(wheel, now);
    }
    wheel->buckets.clock = now;
}

/* --- create and options ----------------------------------------------------------------------- */

static enum tl_status wheel_reserve(void *self, uint32_t capacity)
{
    struct spoke_wheel *wheel = self;
    uint32_t shift = wheel->allocation_shift;
    while (((uint64_t)wheel->spokes << shift) < capacity) {
        shift++;
    }
    if (((uint64_t)wheel->spokes << shift) > UINT64_C(1) << PLACES_SHIFT_MAX) {
        return TL_ERR_CAPACITY;
    }
    bool grows = wheel->deadlines == NULL || shift > wheel->allocation_shift;
    uint64_t *places = grows ? new_places(wheel, shift) : NULL;
    if (grows && places == NULL) {
        return TL_ERR_NOMEM;
    }
    enum tl_status status = buckets_reserve(self, capacity);
    if (status != TL_OK) {
        tl_free(wheel->buckets.allocator, places, places_bytes(wheel, shift), BLOCK_ALIGN);
    } else if (grows) {
        (void)use_places(wheel, places, shift);
    }
    return status;
}

static void wheel_destroy(void *self)
{
    struct spoke_wheel *wheel = self;
    tl_free(wheel->buckets.allocator, wheel->deadlines,
            places_bytes(wheel, wheel->allocation_shift), BLOCK_ALIGN);
    buckets_destroy(wheel);
}

static uint32_t log2_up(uint64_t number)
{
    uint32_t shift = 0;
    while ((UINT64_C(1) << shift) < number) {
        shift++;
    }
    return shift;
}

struct wheel_options {
    uint32_t spokes;
    uint64_t tick;
    uint64_t allocation;
};

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    const struct wheel_options *options = config->options;
    if (log2_up(options->spokes) + log2_up(options->allocation) > PLACES_SHIFT_MAX) {
        return TL_ERR_OPTION; /* more places than have numbers */
    }
    struct spoke_wheel empty = {
        .buckets = buckets_empty(config, LATE + 1),
        .spokes = UINT32_C(1) << log2_up(options->spokes),
        .allocation_shift = log2_up(options->allocation),
        .tick_shift = log2_up(options->tick),
    };
    return structure_create(config, &empty, wheel_reserve, wheel_destroy, self);
}

static const struct tl_option wheel_option_table[] = {
    {"spokes", TL_U32(struct wheel_options, spokes), 4096, 1, SPOKES_MAX, NULL,
     "spokes (ticksPerWheel), rounded up to a power of two"},
    {"tick", TL_TICKS(struct wheel_options, tick), 1, 1, TICK_MAX, NULL,
     "ticks per spoke (tickResolution), rounded up to a power of two"},
    {"allocation", TL_U64(struct wheel_options, allocation), 16, 1, 1 << 20, NULL,
     "places of a spoke at first (initialTickAllocation), a power of two"},
    {0},
};

/* --- check and walk --------------------------------------------------------------------------- */

static enum tl_status wheel_check(const void *self, char *why, size_t why_bytes)
{
    const struct spoke_wheel *wheel = self;
    const struct timer_buckets *buckets = &wheel->buckets;
    uint64_t seen = 0;
    uint32_t astray = 0;
    for (uint32_t spoke = 0; spoke < wheel->spokes; spoke++) {
        uint32_t first = spoke << wheel->allocation_shift;
        for (uint32_t place = first; place < first + wheel->used[spoke]; place++) {
            uint32_t id = wheel->ids[place];
            uint64_t deadline = wheel->deadlines[place];
            astray += is_astray(wheel, place);
            if (id >= buckets->capacity ||
                node_at(buckets, timer_index(buckets, id))->next != IN_SPOKE ||
                node_at(buckets, timer_index(buckets, id))->prev != place ||
                deadline <= buckets->clock ||
                (is_astray(wheel, place) && deadline < wheel->astray_due)) {
                return corrupt(why, why_bytes, "timer %" PRIu32 " is in the wrong place", id);
            }
            seen++;
        }
    }
    return astray == wheel->astray
               ? buckets_check(buckets, seen, why, why_bytes)
               : corrupt(why, why_bytes, "%" PRIu32 " timers are astray", astray);
}

/* Show a spoke's timers: its own, or the astray ones. */
static void walk_spoke(const struct spoke_wheel *wheel, const struct tl_visitor *visitor,
                       uint32_t spoke, bool astray)
{
    uint64_t now = wheel->buckets.clock >> wheel->tick_shift;
    uint32_t first = spoke << wheel->allocation_shift;
    for (uint32_t place = first; place < first + wheel->used[spoke]; place++) {
        uint64_t deadline = wheel->deadlines[place];
        if (is_astray(wheel, place) == astray) {
            walk_timer(visitor, wheel->ids[place], deadline,
                       ((deadline >> wheel->tick_shift) - now) / wheel->spokes);
        }
    }
}

static void wheel_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct spoke_wheel *wheel = self;
    uint64_t spoke_ticks = UINT64_C(1) << wheel->tick_shift;
    uint64_t now = wheel->buckets.clock >> wheel->tick_shift;
    buckets_walk_due(&wheel->buckets, visitor);
    walk_part(visitor, "wheel", TL_FORM_WHEEL, spoke_ticks);
    for (uint32_t spoke = 0; spoke < wheel->spokes; spoke++) {
        uint64_t ahead = (spoke - now) & (wheel->spokes - 1);
        walk_slot(visitor, spoke, ((now + ahead) << wheel->tick_shift) + (spoke_ticks - 1),
                  spoke_ticks, ahead == 0 ? TL_MARK_HAND : 0u);
        walk_spoke(wheel, visitor, spoke, false);
    }
    if (wheel->astray > 0) {
        walk_part(visitor, "astray", TL_FORM_LIST, 0);
        for (uint32_t spoke = 0; spoke < wheel->spokes; spoke++) {
            walk_node(visitor, spoke, TL_NEVER);
            walk_spoke(wheel, visitor, spoke, true);
        }
    }
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(spoke_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_BUDGET | TL_CAP_UNLIMITED | TL_CAP_ALLOCATES,
    .name = "spoke-wheel",
    .summary = "a ring of arrays of deadlines",
    .origin = "Agrona, DeadlineTimerWheel.java",
    .description =
        "One wheel, each slot of which is an array of deadlines instead of a list; the hand reads "
        "through the arrays, fires the due timers and leaves the rest for another turn. A full "
        "array doubles all of them, and they never shrink. Where memory is refused, or a large "
        "wheel would have more than 16 places for each timer, timers go to other spokes and are "
        "looked for. Bad at: many timers of one tick, which every spoke pays for in memory, delays "
        "of many turns, and idle times, since it must be driven every tick.",
    .differs = "an advance looks through every spoke that the clock has passed and the one that it "
               "is in, where Agrona polls one spoke a call and goes on when that tick is over: so "
               "there a timer fires a tick late if polled once a tick, and it catches up after a "
               "pause at one spoke a call; a timer that a handler schedules at or before now waits "
               "for the next advance, where it may fire in the same poll; a spoke's timers fire in "
               "no order, in Agrona place by place; spokes count from tick 0, not from startTime; "
               "a timer is the caller's id, where Agrona names it by its place and cancelTimer may "
               "hit another that has taken it; a handler cannot keep its timer by returning false; "
               "with 2^30 places Agrona throws, here timers go to other spokes.",
    .cost = {.start = "O(1); O(spokes) if its spoke is full",
             .stop = "O(1)",
             .tick = "O(n/spokes)",
             .expire = "O(1)"},
    OPTIONS(wheel_option_table, struct wheel_options),
    .create = wheel_create,
    .destroy = wheel_destroy,
    .reserve = wheel_reserve,
    .start = buckets_start,
    .advance = buckets_advance,
    BUCKETS_OTHER_HOOKS,
    .check = wheel_check,
    .walk = wheel_walk,
};
