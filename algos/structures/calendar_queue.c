/*
 * calendar-queue: a desk calendar, with a page for each day of a year, used again every year.
 *
 *   8 days of 4 ticks, a year of 32      today: day 9, ticks 36..39
 *
 *   page   0        1          2        3        4        5        6        7
 *          -    due 37, 38     -     due 44      -     due 52      -     due 63
 *               due 70 (the year after)
 *
 * A timer is written on the page of its day, in order of due tick; next year's days are on the same
 * pages. What is due first is found by turning pages from today on and looking at the first entry
 * of each: if it is of this year, that is it. After a whole year without one, the earliest of all
 * first entries is looked up directly, and today jumps there.
 *
 * All is constant if a page has few entries and few pages are empty, so the calendar is remade when
 * the timers become more than twice the days (twice as many days), or fewer than half of the days
 * and two less (half as many days). The new length of a day is three times the average distance of
 * the first timers, up to 25 of them, leaving out distances of twice their average or more, as the
 * paper says; and then rounded to a power of two, so that a page is found by a shift instead of a
 * division.
 *
 * What is due at its start goes to the list LATE, and to its page with the next advance. Stopping
 * the first timer does not look for the next first one; it leaves a lower bound, which `next`
 * gives.
 *
 * Invariants
 *   - page p holds what is due on days d with d mod days == p; in order of due tick, equal ticks in
 *     order of start
 *   - no timer in the pages is due before `bound`, nor before day `today`
 *   - days/2 - 2 <= timers in the pages <= 2 days, once there are more than two days
 *   - the pages and LATE together hold exactly the pending timers
 *
 * Complexity: start, stop, expiry O(1) if distances are of one kind; a tick O(1); making it anew
 * O(n), amortised O(1). Bad at: timeouts of very different lengths, since the first few decide the
 * day's length and the many far ones share pages or leave most of them empty: then start is O(n),
 * or expiry turns all the pages. Bad at: distances that change while the number of timers does not,
 * since only a change of the number has days measured again. Bad at: the tick of making it anew.
 *
 * Timeouts of 30 to 60 s on connections that came one after the other show the first two: what is
 * due first is what came first and drew a short timeout, so the first 25 timers lie far apart,
 * while the bulk behind them is dense. Of 1,000,000 such timers, arrived within 10,000 ticks, a
 * page holds hundreds, and a restart compares with 190 of them on its way from the page's end, a
 * cache miss each: tens of microseconds where timers that are all started at once, whose first 25
 * are as close as the rest, take one comparison. With 100,000 it is 20 comparisons.
 *
 * Source: R. Brown, "Calendar queues: a fast O(1) priority queue implementation for the simulation
 * event set problem", CACM 31(10), 1988.
 */
#include "timerlab.h"

#include <inttypes.h>

#include "check.h"
#include "walk.h"

#define FIRST_PAGE  (HEAD_BIT + 1)
#define DAYS_MIN    2u
#define SAMPLES_MAX 25u

struct calendar_queue {
    struct timer *timers;
    struct node *heads; /* LATE and the pages, in one block behind the timers */
    uint32_t capacity;
    uint32_t days;  /* of a year, a power of two */
    uint32_t shift; /* a day lasts 1 << shift ticks */
    uint64_t today; /* the day up to which pages are turned, counted from tick 0 */
    uint64_t bound;
    uint64_t count;
    uint64_t paged; /* timers in the pages */
    uint64_t clock;
    const struct tl_allocator *allocator;
    struct tl_counters counters;
};

#define SLOT_LISTS struct calendar_queue
#include "timer_lists.h"
#define STRUCTURE struct calendar_queue
#include "structure.h"

static inline uint32_t page_of(const struct calendar_queue *queue, uint64_t day)
{
    return FIRST_PAGE + (uint32_t)(day & (queue->days - 1));
}

/* Writes a timer that is in no list on its page, behind what is due by its tick. */
static void file(struct calendar_queue *queue, uint32_t id)
{
    uint64_t due = queue->timers[id].due;
    uint64_t day = due >> queue->shift;
    uint32_t page = page_of(queue, day);
    uint32_t after = page; /* what the timer goes before */
    for (;;) {
        uint32_t last = slot_node(queue, after)->prev;
        if (last == page) {
            break;
        }
        TL_COUNT(queue, compares, 1);
        if (queue->timers[last].due <= due) {
            break;
        }
        after = last;
    }
    slot_append(queue, after, id); /* to the end of the list that would begin there */
    TL_COUNT(queue, moves, 1);
    /* Stored only if they change. Unconditional, the two make one wide store, which the next load
     * of the pair may have to wait for, and behind it for every miss that came before. */
    if (day < queue->today) {
        queue->today = day;
    }
    if (due < queue->bound) {
        queue->bound = due;
    }
}

/* Turns pages to the first timer; there is one. Raises `today` and `bound` to it. */
static uint32_t find_first(struct calendar_queue *queue)
{
    for (uint32_t turned = 0; turned < queue->days; turned++, queue->today++) {
        uint32_t page = page_of(queue, queue->today);
        uint32_t id = slot_node(queue, page)->next;
        TL_COUNT(queue, slots, 1);
        if (id != page && queue->timers[id].due >> queue->shift == queue->today) {
            queue->bound = queue->timers[id].due;
            return id;
        }
    }
    uint32_t first = SLOT_NONE; /* nothing this year */
    for (uint32_t page = FIRST_PAGE; page < FIRST_PAGE + queue->days; page++) {
        uint32_t id = slot_node(queue, page)->next;
        TL_COUNT(queue, slots, 1);
        if (id != page &&
            (first == SLOT_NONE || queue->timers[id].due < queue->timers[first].due)) {
            first = id;
        }
    }
    queue->bound = queue->timers[first].due;
    queue->today = queue->bound >> queue->shift;
    return first;
}

/* The length of a day, as a shift, that suits timers due at these ticks, in order. */
static uint32_t day_for(const uint64_t *due, uint32_t samples)
{
    if (samples < 2) {
        return 0; /* says nothing about distances */
    }
    uint64_t all = due[samples - 1] - due[0];
    uint64_t rest = all % (samples - 1);
    uint64_t twice = all / (samples - 1) * 2 + (2 * rest + samples - 2) / (samples - 1);
    uint64_t sum = 0;
    uint64_t used = 0;
    for (uint32_t i = 1; i < samples; i++) {
        uint64_t distance = due[i] - due[i - 1];
        if (distance < twice) { /* twice the average, rounded up: the same for whole numbers */
            sum += distance;
            used++;
        }
    }
    uint64_t width = used > 0 ? 3 * (sum / used) + 3 * (sum % used) / used : 0;
    uint32_t shift = 0;
    while (shift < 62 && width >> (shift + 1) > 0) { /* the nearest power of two, about */
        shift++;
    }
    return shift > 0 && (width >> (shift - 1) & 1) != 0 ? shift + 1 : shift;
}

/* Makes the calendar anew, with so many days. Equal ticks keep their order. */
static void remake(struct calendar_queue *queue, uint32_t days)
{
    uint64_t due[SAMPLES_MAX];
    uint32_t samples = queue->paged <= 5    ? (uint32_t)queue->paged
                       : queue->paged < 200 ? 5 + (uint32_t)queue->paged / 10
                                            : SAMPLES_MAX;
    uint32_t chain = SLOT_NONE; /* of all timers: the samples, and then page by page */
    uint32_t *end = &chain;
    for (uint32_t i = 0; i < samples; i++) {
        uint32_t id = find_first(queue);
        due[i] = queue->timers[id].due;
        slot_remove(queue, id);
        *end = id;
        end = &queue->timers[id].links.next;
    }
    for (uint32_t page = FIRST_PAGE; page < FIRST_PAGE + queue->days; page++) {
        struct node *head = slot_node(queue, page);
        if (head->next != page) {
            *end = head->next;
            end = &slot_node(queue, head->prev)->next;
        }
    }
    *end = SLOT_NONE;
    queue->shift = day_for(due, samples);
    queue->days = days;
    queue->today = UINT64_MAX;
    for (uint32_t page = FIRST_PAGE; page < FIRST_PAGE + days; page++) {
        slot_clear(queue, page);
    }
    TL_COUNT(queue, slots, days);
    while (chain != SLOT_NONE) {
        uint32_t id = chain;
        chain = queue->timers[id].links.next;
        if (chain != SLOT_NONE) {
            __builtin_prefetch(&queue->timers[chain], 1);
        }
        file(queue, id);
    }
}

/* Puts a timer, whose `due` is set, on its page, and keeps the days in proportion. */
static void add(struct calendar_queue *queue, uint32_t id)
{
    if (queue->paged++ == 0) {
        queue->today = UINT64_MAX;
        queue->bound = TL_NEVER;
    }
    file(queue, id);
    if (queue->paged > 2 * (uint64_t)queue->days) {
        remake(queue, 2 * queue->days);
    }
}

/* Takes a pending timer out of its list. */
static void take(struct calendar_queue *queue, uint32_t id)
{
    bool late = queue->timers[id].due == TL_NEVER;
    slot_remove(queue, id);
    queue->count--;
    queue->paged -= !late;
    TL_COUNT(queue, moves, 1);
}

/* Whether there are so few timers that half the days will do. */
static inline bool is_sparse(const struct calendar_queue *queue)
{
    return queue->paged + 2 < queue->days / 2;
}

static void shrink(struct calendar_queue *queue)
{
    if (is_sparse(queue)) {
        remake(queue, queue->days / 2);
    }
}

static enum tl_status queue_start(void *self, uint32_t id, uint64_t deadline)
{
    struct calendar_queue *queue = self;
    if (slot_is_linked(queue, id)) {
        take(queue, id);
    }
    queue->count++;
    if (deadline > queue->clock) {
        queue->timers[id].due = deadline;
        add(queue, id);
    } else {
        queue->timers[id].due = TL_NEVER; /* marks it as in LATE; due at the clock */
        slot_append(queue, LATE, id);
        TL_COUNT(queue, moves, 1);
        shrink(queue);
    }
    return TL_OK;
}

static enum tl_status queue_stop(void *self, uint32_t id)
{
    struct calendar_queue *queue = self;
    if (!slot_is_linked(queue, id)) {
        return TL_IDLE;
    }
    take(queue, id);
    shrink(queue);
    return TL_OK;
}

static uint64_t queue_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct calendar_queue *queue = self;
    while (!slot_is_empty(queue, LATE)) {
        uint32_t id = slot_node(queue, LATE)->next;
        slot_remove(queue, id);
        queue->timers[id].due = queue->clock;
        TL_COUNT(queue, cascades, 1);
        add(queue, id);
    }
    queue->clock = now;
    uint64_t fired = 0;
    while (fired < budget && queue->paged > 0 && queue->bound <= now) {
        uint32_t id = find_first(queue);
        TL_COUNT(queue, compares, 1);
        if (queue->timers[id].due > now) {
            break;
        }
        take(queue, id);
        shrink(queue);
        fired++;
        fire(ctx, id, now);
    }
    return fired;
}

static uint64_t queue_next(const void *self)
{
    const struct calendar_queue *queue = self;
    if (queue->count == 0) {
        return TL_NEVER;
    }
    return queue->paged < queue->count ? queue->clock : queue->bound;
}

/* There are fewer days than timers, or the least number of them. */
static size_t heads_of(uint32_t capacity)
{
    return 1 + (size_t)(capacity > DAYS_MIN ? capacity : DAYS_MIN);
}

static enum tl_status queue_reserve(void *self, uint32_t capacity)
{
    struct calendar_queue *queue = self;
    return lists_reserve(queue, capacity, HEAD_BIT - 2, heads_of, 1 + (size_t)queue->days);
}

static enum tl_status queue_create(const struct tl_config *config, void **self)
{
    struct calendar_queue empty = {
        .days = DAYS_MIN, .clock = config->now, .allocator = config->allocator};
    enum tl_status status = structure_create(config, &empty, queue_reserve, self);
    for (uint32_t i = 0; status == TL_OK && i < 1 + DAYS_MIN; i++) {
        slot_clear(*self, HEAD_BIT | i);
    }
    return status;
}

static void queue_destroy(void *self)
{
    struct calendar_queue *queue = self;
    tl_free(queue->allocator, queue->timers,
            lists_bytes(queue->capacity, heads_of(queue->capacity)), BLOCK_ALIGN);
    structure_free(queue, queue->allocator);
}

/* Whether a page's timers belong there, in order. */
static bool page_is_right(const struct calendar_queue *queue, uint32_t page)
{
    uint64_t last = 0;
    for (uint32_t id = slot_node(queue, page)->next; id != page;
         id = queue->timers[id].links.next) {
        uint64_t due = queue->timers[id].due;
        if (due < last || due < queue->bound || due >> queue->shift < queue->today ||
            page_of(queue, due >> queue->shift) != page) {
            return false;
        }
        last = due;
    }
    return true;
}

static enum tl_status queue_check(const void *self, char *why, size_t why_bytes)
{
    const struct calendar_queue *queue = self;
    uint64_t seen = 0;
    uint64_t late = 0;
    bool linked_right = slot_walk(queue, LATE, queue->count, &late);
    for (uint32_t i = 0; linked_right && i < queue->days; i++) {
        linked_right = slot_walk(queue, FIRST_PAGE + i, queue->count, &seen);
        if (linked_right && !page_is_right(queue, FIRST_PAGE + i)) {
            return corrupt(why, why_bytes, "a timer on page %" PRIu32 " is out of place", i);
        }
    }
    uint64_t linked = lists_linked(queue);
    if (!linked_right || seen != queue->paged || seen + late != queue->count ||
        linked != queue->count) {
        return corrupt(why, why_bytes,
                       "%" PRIu64 " timers on pages, %" PRIu64 " with links, %" PRIu64 " counted",
                       seen, linked, queue->count);
    }
    if (queue->paged > 2 * (uint64_t)queue->days || is_sparse(queue)) {
        return corrupt(why, why_bytes, "%" PRIu64 " timers on %" PRIu32 " pages", queue->paged,
                       queue->days);
    }
    return TL_OK;
}

/* The day that the year begins with as it is shown: the clock's, or an earlier one of which a
 * budget has left timers. */
static uint64_t first_day(const struct calendar_queue *queue)
{
    bool left_over = queue->paged > 0 && queue->bound < queue->clock;
    return (left_over ? queue->bound : queue->clock) >> queue->shift;
}

static void queue_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct calendar_queue *queue = self;
    lists_walk_late(queue, visitor);
    uint64_t first = first_day(queue);
    uint64_t hand = queue->clock >> queue->shift;
    uint64_t day_ticks = UINT64_C(1) << queue->shift;
    walk_part(visitor, "year", TL_FORM_WHEEL, day_ticks);
    for (uint32_t i = 0; i < queue->days; i++) {
        uint64_t day = first + ((i - first) & (queue->days - 1));
        uint32_t page = FIRST_PAGE + i;
        uint64_t from = day <= TL_DEADLINE_MAX >> queue->shift ? day << queue->shift : TL_NEVER;
        walk_span(visitor, i, from, from + (day_ticks - 1),
                  page == page_of(queue, hand) ? TL_MARK_HAND : 0u);
        for (uint32_t id = slot_node(queue, page)->next; id != page;
             id = queue->timers[id].links.next) {
            uint64_t due = queue->timers[id].due;
            walk_timer(visitor, id, due, ((due >> queue->shift) - first) / queue->days);
        }
    }
}

/* The slot is the page, the bucket the first tick of the day. */
static enum tl_status queue_place(const void *self, uint32_t id, struct tl_place *out)
{
    const struct calendar_queue *queue = self;
    if (!slot_is_linked(queue, id)) {
        return TL_IDLE;
    }
    uint64_t due = queue->timers[id].due;
    if (due == TL_NEVER) {
        *out = (struct tl_place){.bucket = queue->clock};
        return TL_OK;
    }
    uint64_t day = due >> queue->shift;
    *out = (struct tl_place){
        .level = 1,
        .slot = day & (queue->days - 1),
        .rounds = (day - first_day(queue)) / queue->days,
        .bucket = day << queue->shift,
    };
    return TL_OK;
}

TL_ALGO(calendar_queue) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_ORDERED | TL_CAP_FIFO | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET |
                    TL_CAP_UNLIMITED,
    .name = "calendar-queue",
    .summary = "a page a day, used again every year, made anew as the timers grow or shrink",
    .origin = "Brown 1988",
    .description =
        "Sorted lists for the days of a year; a timer goes to the page of its day, whatever the "
        "year, and the first one is found by turning pages from today. The days double or halve "
        "with the timers, and their length is taken from the first 25 of them. Constant while "
        "distances are of one kind. Bad at: timeouts of very different lengths, with which pages "
        "are long or empty and operations linear; the tick in which it is made anew.",
    .differs =
        "the length of a day is rounded to a power of two ticks, which changes what a search "
        "passes, not when the calendar is made anew or what fires; timers can be stopped, which "
        "shrinks the calendar as dequeuing does, in Brown's there is no such operation; what is "
        "due at its start waits on a list of its own for the next advance, in Brown's it is "
        "entered at once; timers that are all due at one tick make days of one tick, where Brown "
        "divides by zero.",
    .cost = {.start = "O(1) expected, O(n) worst",
             .stop = "O(1) amortised",
             .tick = "O(1)",
             .expire = "O(1) expected, O(n) worst"},
    .create = queue_create,
    .destroy = queue_destroy,
    .reserve = queue_reserve,
    .start = queue_start,
    .stop = queue_stop,
    .advance = queue_advance,
    .next = queue_next,
    .count = lists_count,
    .counters = lists_counters,
    .check = queue_check,
    .place = queue_place,
    .walk = queue_walk,
};
