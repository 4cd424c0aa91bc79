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

#include <inttypes.h>
#include <stdalign.h>
#include <string.h>

#include "check.h"
#include "tuning.h"
#include "walk.h"

/* --- data ------------------------------------------------------------------------------------- */

#define BLOCK_ALIGN      64
#define IDLE             UINT32_MAX       /* not pending */
#define LISTED           (UINT32_MAX - 1) /* in DUE or LATE */
#define PLACES_SHIFT_MAX 31u              /* log2 of the places there can be */
#define SPREAD_MAX       16u /* places for each timer, at most, that growing leads to */
#define PLACES_FREE      (UINT64_C(1) << 18) /* this many, 3 MB, are always granted */
#define SPOKES_MAX       (INT64_C(1) << 20)
#define TICK_MAX         (INT64_C(1) << 32)

struct link {
    uint32_t next;
    uint32_t prev;
};

struct spoke_wheel {
    struct tl_counters counters;
    const struct tl_allocator *allocator;
    uint64_t *deadlines; /* by place: spoke << allocation_shift, and on; the ids follow */
    uint32_t *ids;
    uint32_t *used;     /* places taken of each spoke */
    uint32_t *where;    /* by id: place, IDLE or LISTED */
    struct link *links; /* by id, after `where`: neighbours in DUE and LATE; the last is the head */
    uint32_t spokes;    /* a power of two */
    uint32_t allocation_shift;
    uint32_t tick_shift;
    uint32_t capacity;
    uint32_t late_first; /* first of LATE in the list, or the head */
    uint32_t astray;     /* timers in a spoke that is not theirs */
    uint64_t astray_due; /* none of them is due before */
    uint64_t clock;
    uint64_t count;
};

#define STRUCTURE struct spoke_wheel
#include "counted.h"
#include "structure.h"

/* --- data: DUE and LATE ----------------------------------------------------------------------- */

static void list_append(struct spoke_wheel *wheel, uint32_t id)
{
    struct link *links = wheel->links;
    uint32_t head = wheel->capacity;
    uint32_t last = links[head].prev;
    links[id] = (struct link){.next = head, .prev = last};
    links[last].next = id;
    links[head].prev = id;
    wheel->where[id] = LISTED;
    TL_COUNT(wheel, moves, 1);
}

static void list_remove(struct spoke_wheel *wheel, uint32_t id)
{
    struct link link = wheel->links[id];
    wheel->links[link.prev].next = link.next;
    wheel->links[link.next].prev = link.prev;
    wheel->where[id] = IDLE;
    if (wheel->late_first == id) {
        wheel->late_first = link.next;
    }
    TL_COUNT(wheel, moves, 1);
}

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
    wheel->where[id] = place;
    TL_COUNT(wheel, moves, 1);
}

static bool is_astray(const struct spoke_wheel *wheel, uint32_t place)
{
    return place >> wheel->allocation_shift != spoke_of(wheel, wheel->deadlines[place]);
}

/* Takes the timer at a place out of the wheel; the last of the spoke fills the gap. */
static void place_clear(struct spoke_wheel *wheel, uint32_t place)
{
    uint32_t spoke = place >> wheel->allocation_shift;
    uint32_t last = (spoke << wheel->allocation_shift) + --wheel->used[spoke];
    wheel->astray -= is_astray(wheel, place);
    wheel->where[wheel->ids[place]] = IDLE;
    TL_COUNT(wheel, moves, 1);
    if (place != last) {
        place_put(wheel, place, wheel->deadlines[last], wheel->ids[last]);
    }
}

static size_t places_bytes(const struct spoke_wheel *wheel, uint32_t allocation_shift)
{
    return ((size_t)wheel->spokes << allocation_shift) * (sizeof(uint64_t) + sizeof(uint32_t));
}

/* Makes all spokes longer. False, and nothing changed, for want of memory or of places. */
static bool grow(struct spoke_wheel *wheel, uint32_t shift)
{
    if (((uint64_t)wheel->spokes << shift) > UINT64_C(1) << PLACES_SHIFT_MAX) {
        return false;
    }
    uint64_t *deadlines = tl_alloc(wheel->allocator, places_bytes(wheel, shift), BLOCK_ALIGN);
    if (deadlines == NULL) {
        return false;
    }
    uint32_t *ids = (uint32_t *)(void *)(deadlines + ((size_t)wheel->spokes << shift));
    for (uint32_t spoke = 0; wheel->deadlines != NULL && spoke < wheel->spokes; spoke++) {
        size_t from = (size_t)spoke << wheel->allocation_shift;
        size_t to = (size_t)spoke << shift;
        for (uint32_t i = 0; i < wheel->used[spoke]; i++) {
            deadlines[to + i] = wheel->deadlines[from + i];
            ids[to + i] = wheel->ids[from + i];
            wheel->where[ids[to + i]] = (uint32_t)(to + i);
        }
    }
    tl_free(wheel->allocator, wheel->deadlines, places_bytes(wheel, wheel->allocation_shift),
            BLOCK_ALIGN);
    wheel->deadlines = deadlines;
    wheel->ids = ids;
    wheel->allocation_shift = shift;
    return true;
}

/* --- start and stop --------------------------------------------------------------------------- */

/* The next spoke with a place left. `reserve` has seen to it that there is one. */
static uint32_t spoke_with_room(const struct spoke_wheel *wheel, uint32_t spoke)
{
    while (wheel->used[spoke] >> wheel->allocation_shift != 0) {
        spoke = (spoke + 1) & (wheel->spokes - 1);
    }
    return spoke;
}

/* Files a timer that is nowhere and due after the clock. */
static void file_timer(struct spoke_wheel *wheel, uint32_t id, uint64_t deadline)
{
    uint32_t own = spoke_of(wheel, deadline);
    uint32_t spoke = own;
    if (wheel->used[own] >> wheel->allocation_shift != 0) {
        uint64_t doubled = (uint64_t)wheel->spokes << (wheel->allocation_shift + 1);
        uint64_t granted = (uint64_t)SPREAD_MAX * wheel->capacity;
        granted = granted > PLACES_FREE ? granted : PLACES_FREE;
        if (doubled > granted || !grow(wheel, wheel->allocation_shift + 1)) {
            spoke = spoke_with_room(wheel, own);
            if (wheel->astray++ == 0 || deadline < wheel->astray_due) {
                wheel->astray_due = deadline;
            }
        }
    }
    place_put(wheel, (spoke << wheel->allocation_shift) + wheel->used[spoke]++, deadline, id);
}

static inline void take_out(struct spoke_wheel *wheel, uint32_t id)
{
    if (wheel->where[id] == LISTED) {
        list_remove(wheel, id);
    } else {
        place_clear(wheel, wheel->where[id]);
    }
}

static enum tl_status wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct spoke_wheel *wheel = self;
    if (wheel->where[id] != IDLE) {
        take_out(wheel, id);
    } else {
        wheel->count++;
    }
    if (deadline > wheel->clock) {
        file_timer(wheel, id, deadline);
        return TL_OK;
    }
    list_append(wheel, id);
    if (wheel->late_first == wheel->capacity) {
        wheel->late_first = id;
    }
    return TL_OK;
}

static enum tl_status wheel_stop(void *self, uint32_t id)
{
    struct spoke_wheel *wheel = self;
    if (wheel->where[id] == IDLE) {
        return TL_IDLE;
    }
    take_out(wheel, id);
    wheel->count--;
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

/* Look through a spoke, and move timers due by `now` to the list. */
static void visit_spoke(struct spoke_wheel *wheel, uint32_t spoke, uint64_t now)
{
    uint32_t first = spoke << wheel->allocation_shift;
    TL_COUNT(wheel, slots, 1);
    TL_COUNT(wheel, compares, wheel->used[spoke]);
    /* From the end, so that what fills a gap has been looked at. */
    for (uint32_t i = wheel->used[spoke]; i-- > 0;) {
        if (wheel->deadlines[first + i] <= now) {
            uint32_t id = wheel->ids[first + i];
            place_clear(wheel, first + i);
            list_append(wheel, id);
        }
    }
}

/* Look through all spokes for due astray timers, and find the due tick of the next one. */
static void visit_astray(struct spoke_wheel *wheel, uint64_t now)
{
    uint64_t due = TL_NEVER;
    for (uint32_t spoke = 0; spoke < wheel->spokes; spoke++) {
        visit_spoke(wheel, spoke, now);
        uint32_t first = spoke << wheel->allocation_shift;
        for (uint32_t i = 0; i < wheel->used[spoke]; i++) {
            uint64_t deadline = wheel->deadlines[first + i];
            if (spoke_of(wheel, deadline) != spoke && deadline < due) {
                due = deadline;
            }
        }
    }
    wheel->astray_due = due;
}

/* Moves the clock to `now`, and everything that is due by then to the list. */
static void collect_due(struct spoke_wheel *wheel, uint64_t now)
{
    uint64_t from = wheel->clock >> wheel->tick_shift;
    uint64_t steps = (now >> wheel->tick_shift) - from;
    /* The hand's own spoke again, for the deadlines in the rest of its tick, and all it passes. */
    uint64_t visits = steps < wheel->spokes ? steps + 1 : wheel->spokes;
    visits -= wheel->tick_shift == 0 && steps < wheel->spokes; /* there is no rest */
    uint64_t first = from + (wheel->tick_shift == 0 && steps < wheel->spokes);
    for (uint64_t i = 0; i < visits; i++) {
        uint32_t spoke = (uint32_t)(first + i) & (wheel->spokes - 1);
        uint32_t ahead = (spoke + 2) & (wheel->spokes - 1);
        PREFETCH(&wheel->deadlines[(size_t)ahead << wheel->allocation_shift]);
        visit_spoke(wheel, spoke, now);
    }
    if (wheel->astray > 0 && wheel->astray_due <= now) {
        visit_astray(wheel, now);
    }
    wheel->late_first = wheel->capacity; /* late timers are due */
    wheel->clock = now;
}

static uint64_t wheel_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct spoke_wheel *wheel = self;
    collect_due(wheel, now);
    uint64_t fired = 0;
    while (fired < budget && wheel->links[wheel->capacity].next != wheel->late_first) {
        uint32_t id = wheel->links[wheel->capacity].next;
        list_remove(wheel, id);
        wheel->count--;
        fired++;
        fire(ctx, id, now);
    }
    return fired;
}

/* --- create and options ----------------------------------------------------------------------- */

static size_t timers_bytes(uint32_t capacity)
{
    return capacity * sizeof(uint32_t) + ((size_t)capacity + 1) * sizeof(struct link);
}

static enum tl_status wheel_reserve(void *self, uint32_t capacity)
{
    struct spoke_wheel *wheel = self;
    size_t used_bytes = wheel->spokes * sizeof *wheel->used;
    if (wheel->used == NULL) {
        wheel->used = tl_alloc(wheel->allocator, used_bytes, BLOCK_ALIGN);
        if (wheel->used == NULL) {
            return TL_ERR_NOMEM;
        }
        memset(wheel->used, 0, used_bytes);
    }
    if (capacity <= wheel->capacity && wheel->where != NULL) {
        return TL_OK;
    }
    uint32_t shift = wheel->allocation_shift;
    while (((uint64_t)wheel->spokes << shift) < capacity) {
        shift++;
    }
    if (((uint64_t)wheel->spokes << shift) > UINT64_C(1) << PLACES_SHIFT_MAX) {
        return TL_ERR_CAPACITY;
    }
    uint32_t *where = tl_alloc(wheel->allocator, timers_bytes(capacity), BLOCK_ALIGN);
    if (where == NULL) {
        return TL_ERR_NOMEM;
    }
    if ((wheel->deadlines == NULL || shift > wheel->allocation_shift) && !grow(wheel, shift)) {
        tl_free(wheel->allocator, where, timers_bytes(capacity), BLOCK_ALIGN);
        return TL_ERR_NOMEM;
    }
    struct link *links = (struct link *)(void *)(where + capacity);
    uint32_t old = wheel->capacity;
    memset(where, 0xff, capacity * sizeof *where);
    links[capacity] = (struct link){.next = capacity, .prev = capacity};
    if (wheel->where != NULL) {
        memcpy(where, wheel->where, old * sizeof *where);
        memcpy(links, wheel->links, old * sizeof *links);
        struct link head = wheel->links[old];
        if (head.next != old) { /* the head has moved */
            links[capacity] = head;
            links[head.next].prev = capacity;
            links[head.prev].next = capacity;
        }
        tl_free(wheel->allocator, wheel->where, timers_bytes(old), BLOCK_ALIGN);
    }
    wheel->late_first = wheel->late_first == old ? capacity : wheel->late_first;
    wheel->where = where;
    wheel->links = links;
    wheel->capacity = capacity;
    return TL_OK;
}

static void wheel_destroy(void *self)
{
    struct spoke_wheel *wheel = self;
    if (wheel->deadlines != NULL) {
        tl_free(wheel->allocator, wheel->deadlines, places_bytes(wheel, wheel->allocation_shift),
                BLOCK_ALIGN);
    }
    tl_free(wheel->allocator, wheel->where, timers_bytes(wheel->capacity), BLOCK_ALIGN);
    tl_free(wheel->allocator, wheel->used, wheel->spokes * sizeof *wheel->used, BLOCK_ALIGN);
    structure_free(wheel, wheel->allocator);
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
    uint32_t shift = log2_up(options->spokes) + log2_up(options->allocation);
    if (shift > PLACES_SHIFT_MAX) {
        return TL_ERR_OPTION; /* more places than have numbers */
    }
    struct spoke_wheel empty = {
        .allocator = config->allocator,
        .spokes = UINT32_C(1) << log2_up(options->spokes),
        .allocation_shift = log2_up(options->allocation),
        .tick_shift = log2_up(options->tick),
        .clock = config->now,
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

static enum tl_status check_spokes(const struct spoke_wheel *wheel, uint64_t *seen, char *why,
                                   size_t why_bytes)
{
    uint32_t astray = 0;
    for (uint32_t spoke = 0; spoke < wheel->spokes; spoke++) {
        for (uint32_t i = 0; i < wheel->used[spoke]; i++) {
            uint32_t place = (spoke << wheel->allocation_shift) + i;
            uint64_t deadline = wheel->deadlines[place];
            bool strange = spoke_of(wheel, deadline) != spoke;
            astray += strange;
            if (wheel->ids[place] >= wheel->capacity || wheel->where[wheel->ids[place]] != place ||
                deadline <= wheel->clock || (strange && deadline < wheel->astray_due)) {
                return corrupt(why, why_bytes, "timer %" PRIu32 " is in the wrong place",
                               wheel->ids[place]);
            }
            ++*seen;
        }
    }
    if (astray != wheel->astray) {
        return corrupt(why, why_bytes, "%" PRIu32 " timers are astray, %" PRIu32 " counted", astray,
                       wheel->astray);
    }
    return TL_OK;
}

static enum tl_status wheel_check(const void *self, char *why, size_t why_bytes)
{
    const struct spoke_wheel *wheel = self;
    uint64_t seen = 0;
    if (check_spokes(wheel, &seen, why, why_bytes) != TL_OK) {
        return TL_ERR_CORRUPT;
    }
    uint32_t id = wheel->capacity;
    do {
        uint32_t next = wheel->links[id].next;
        if (wheel->links[next].prev != id || seen > wheel->count) {
            return corrupt(why, why_bytes, "the links of the due timers do not agree");
        }
        id = next;
        seen += id != wheel->capacity;
    } while (id != wheel->capacity);
    uint64_t pending = 0;
    for (id = 0; id < wheel->capacity; id++) {
        pending += wheel->where[id] != IDLE;
    }
    if (seen != wheel->count || pending != wheel->count) {
        return corrupt(why, why_bytes, "%" PRIu64 " timers found, %" PRIu64 " counted", seen,
                       wheel->count);
    }
    return TL_OK;
}

/* How many full turns of the hand a deadline in the wheel is away. */
static uint64_t rounds_of(const struct spoke_wheel *wheel, uint64_t deadline)
{
    uint64_t ticks = (deadline >> wheel->tick_shift) - (wheel->clock >> wheel->tick_shift);
    return ticks / wheel->spokes;
}

/* A spoke's timers: its own, or those that have gone astray to it. */
static void walk_spoke(const struct spoke_wheel *wheel, const struct tl_visitor *visitor,
                       uint32_t spoke, bool astray)
{
    uint32_t first = spoke << wheel->allocation_shift;
    for (uint32_t place = first; place < first + wheel->used[spoke]; place++) {
        uint64_t deadline = wheel->deadlines[place];
        if (is_astray(wheel, place) == astray) {
            walk_timer(visitor, wheel->ids[place], deadline, rounds_of(wheel, deadline));
        }
    }
}

static void wheel_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct spoke_wheel *wheel = self;
    uint32_t head = wheel->capacity;
    if (wheel->links[head].next != head) {
        walk_due_part(visitor);
        walk_node(visitor, 0, TL_NEVER);
        for (uint32_t id = wheel->links[head].next; id != head; id = wheel->links[id].next) {
            walk_timer(visitor, id, TL_NEVER, 0);
        }
    }
    uint64_t spoke_ticks = UINT64_C(1) << wheel->tick_shift;
    uint64_t now = wheel->clock >> wheel->tick_shift;
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
    .options = wheel_option_table,
    .options_bytes = sizeof(struct wheel_options),
    .create = wheel_create,
    .destroy = wheel_destroy,
    .reserve = wheel_reserve,
    .start = wheel_start,
    .stop = wheel_stop,
    .advance = wheel_advance,
    .count = structure_count,
    .counters = structure_counters,
    .check = wheel_check,
    .walk = wheel_walk,
};
