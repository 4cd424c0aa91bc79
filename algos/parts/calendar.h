/*
 * calendar.h: a calendar with pages for the days of a year, used again every year: the queue of
 * calendar_queue.c, which explains it, except the length of a day.
 *
 * Internal, and a template. The including file first defines
 *
 *   DAYS_MIN        the least number of days, and the first: a power of two
 *   CALENDAR_COST   optional: a struct for the costs from which the file chooses the length of a
 *                   day. It then defines the functions that are declared below without a body
 */
#ifndef ALGOS_CALENDAR_H
#define ALGOS_CALENDAR_H

#include "records.h"

#define FIRST_PAGE  (HEAD_BIT + 1)
#define SHIFT_MAX   62u
#define SAMPLES_MAX 25u

struct calendar {
    struct timer *timers AND_RECORDS;
    struct node *heads; /* LATE and the pages, in one block after the timers */
    uint32_t capacity;
    uint32_t days;  /* of a year, a power of two */
    uint32_t shift; /* a day lasts 1 << shift ticks */
    uint64_t today; /* the day up to which pages are turned, counted from tick 0 */
    uint64_t bound; /* no timer on the pages is due before */
    uint64_t count;
    uint64_t paged; /* timers on the pages */
    uint64_t clock;
    const struct tl_allocator *allocator;
    struct tl_counters counters;
#ifdef CALENDAR_COST
    CALENDAR_COST cost;
#endif
};

#define STRUCTURE          struct calendar
/* There are fewer days than timers, or the least number of them. */
#define HEADS_OF(capacity) (1 + ((capacity) > DAYS_MIN ? (capacity) : DAYS_MIN))
#define QUEUE_SETTLE       shrink
#include "timer_lists.h"

static uint32_t sample_day(struct calendar *queue, uint32_t **end);

#ifdef CALENDAR_COST
/* Return the length of a day for another number of days, or sample_day(queue, end). */
static uint32_t calendar_day(struct calendar *queue, uint32_t **end);
/* The days have changed. */
static void calendar_forget(struct calendar *queue);
/* A start has passed `seen` timers on its page. */
static inline void calendar_entered(struct calendar *queue, uint32_t seen);
/* A search for the first timer has turned this many pages. */
static inline void calendar_turned(struct calendar *queue, uint32_t pages);
/* A timer is about to fire. */
static inline void calendar_fires(struct calendar *queue, uint32_t id);
#else
#define calendar_day                  sample_day
#define calendar_forget(queue)        ((void)0)
#define calendar_entered(queue, seen) ((void)(seen))
#define calendar_turned(queue, pages) ((void)0)
#define calendar_fires(queue, id)     ((void)0)
#endif

static inline uint32_t page_of(const struct calendar *queue, uint64_t day)
{
    return FIRST_PAGE + (uint32_t)(day & (queue->days - 1));
}

/* Write a timer that is in no list on its page, after the timers due by its tick. Return the number
 * of timers that it has compared. */
static uint32_t write_on_page(struct calendar *queue, uint32_t id)
{
    uint64_t due = timer_at(queue, id)->due;
    uint64_t day = due >> queue->shift;
    uint32_t page = page_of(queue, day);
    uint32_t after = page; /* the timer goes before it */
    uint32_t seen = 0;
    for (;;) {
        uint32_t last = slot_node(queue, after)->prev;
        if (last == page) {
            break;
        }
        seen++;
        TL_COUNT(queue, compares, 1);
        if (timer_at(queue, last)->due <= due) {
            break;
        }
        after = last;
    }
    slot_append(queue, after, id); /* to the end of the list that would begin there */
    TL_COUNT(queue, moves, 1);
    /* Stored only if they change. Unconditional, the two make one wide store, which the next load
     * of the pair may have to wait for, and then for every earlier cache miss. */
    if (day < queue->today) {
        queue->today = day;
    }
    if (due < queue->bound) {
        queue->bound = due;
    }
    return seen;
}

/* Turn pages to the first timer; there is one. Raise `today` and `bound` to it. */
static uint32_t find_first(struct calendar *queue)
{
    for (uint32_t turned = 0; turned < queue->days; turned++, queue->today++) {
        uint32_t page = page_of(queue, queue->today);
        uint32_t id = slot_node(queue, page)->next;
        TL_COUNT(queue, slots, 1);
        if (id != page && timer_at(queue, id)->due >> queue->shift == queue->today) {
            queue->bound = timer_at(queue, id)->due;
            calendar_turned(queue, turned);
            return id;
        }
    }
    calendar_turned(queue, queue->days - 1);
    uint32_t first = SLOT_NONE; /* nothing this year */
    for (uint32_t page = FIRST_PAGE; page < FIRST_PAGE + queue->days; page++) {
        uint32_t id = slot_node(queue, page)->next;
        TL_COUNT(queue, slots, 1);
        if (id != page &&
            (first == SLOT_NONE || timer_at(queue, id)->due < timer_at(queue, first)->due)) {
            first = id;
        }
    }
    queue->bound = timer_at(queue, first)->due;
    queue->today = queue->bound >> queue->shift;
    return first;
}

/* Return the nearest power of two, as a shift. */
static inline uint32_t day_shift(uint64_t ticks)
{
    uint32_t shift = 0;
    while (shift < SHIFT_MAX && ticks >> (shift + 1) > 0) {
        shift++;
    }
    return shift > 0 && (ticks >> (shift - 1) & 1) != 0 ? shift + 1 : shift;
}

/* Return Brown's length of a day, as a shift, for timers due at these ticks, in order. */
static inline uint32_t day_for(const uint64_t *due, uint32_t samples)
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
    return day_shift(width);
}

/* Return Brown's length of a day for the first timers. These leave their pages for a chain that
 * begins at **end; *end moves to the end of the chain. */
static uint32_t sample_day(struct calendar *queue, uint32_t **end)
{
    uint64_t due[SAMPLES_MAX];
    uint32_t samples = queue->paged <= 5    ? (uint32_t)queue->paged
                       : queue->paged < 200 ? 5 + (uint32_t)queue->paged / 10
                                            : SAMPLES_MAX;
    for (uint32_t i = 0; i < samples; i++) {
        uint32_t id = find_first(queue);
        due[i] = timer_at(queue, id)->due;
        slot_remove(queue, id);
        **end = id;
        *end = &timer_at(queue, id)->links.next;
    }
    return day_for(due, samples);
}

/* Move all timers from their pages to a chain that begins at *end. Equal ticks keep their order. */
static void chain_pages(struct calendar *queue, uint32_t *end)
{
    for (uint32_t page = FIRST_PAGE; page < FIRST_PAGE + queue->days; page++) {
        struct node *head = slot_node(queue, page);
        if (head->next != page) {
            *end = head->next;
            end = &slot_node(queue, head->prev)->next;
        }
    }
    *end = SLOT_NONE;
}

/* Write such a chain on the pages of a number of days of a length. */
static void refill(struct calendar *queue, uint32_t days, uint32_t shift, uint32_t chain)
{
    queue->shift = shift;
    queue->days = days;
    queue->today = UINT64_MAX;
    for (uint32_t page = FIRST_PAGE; page < FIRST_PAGE + days; page++) {
        slot_clear(queue, page);
    }
    TL_COUNT(queue, slots, days);
    while (chain != SLOT_NONE) {
        uint32_t id = chain;
        chain = timer_at(queue, id)->links.next;
        if (chain != SLOT_NONE) {
            PREFETCH(timer_at(queue, chain));
        }
        (void)write_on_page(queue, id);
    }
}

/* Rebuild the calendar with this number of days. */
static void remake(struct calendar *queue, uint32_t days)
{
    uint32_t chain = SLOT_NONE; /* of all timers: the first ones, and then page by page */
    uint32_t *end = &chain;
    uint32_t shift = calendar_day(queue, &end);
    chain_pages(queue, end);
    refill(queue, days, shift, chain);
    calendar_forget(queue);
}

/* Write a timer with a `due` on its page, and keep the days in proportion. */
static void queue_file(struct calendar *queue, uint32_t id)
{
    if (queue->paged++ == 0) {
        queue->today = UINT64_MAX;
        queue->bound = TL_NEVER;
    }
    calendar_entered(queue, write_on_page(queue, id));
    if (queue->paged > 2 * (uint64_t)queue->days) {
        remake(queue, 2 * queue->days);
    }
}

static void queue_take(struct calendar *queue, uint32_t id)
{
    queue->paged -= timer_at(queue, id)->due != TL_NEVER;
    slot_remove(queue, id);
    TL_COUNT(queue, moves, 1);
}

/* Whether half the days are enough. */
static inline bool is_sparse(const struct calendar *queue)
{
    return queue->paged + 2 < queue->days / 2;
}

static void shrink(struct calendar *queue)
{
    if (is_sparse(queue)) {
        remake(queue, queue->days / 2);
    }
}

static uint64_t queue_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct calendar *queue = self;
    queue_set_clock(queue, now);
    uint64_t fired = 0;
    while (fired < budget && queue->paged > 0 && queue->bound <= now) {
        uint32_t id = find_first(queue);
        TL_COUNT(queue, compares, 1);
        if (timer_at(queue, id)->due > now) {
            break;
        }
        calendar_fires(queue, id);
        queue_take(queue, id);
        queue->count--;
        shrink(queue);
        fired++;
        fire(ctx, id, now);
    }
    return fired;
}

static uint64_t queue_next(const void *self)
{
    const struct calendar *queue = self;
    if (queue->count == 0) {
        return TL_NEVER;
    }
    return queue->paged < queue->count ? queue->clock : queue->bound;
}

/* For the hook `create`, of a calendar that begins as `empty`. */
static enum tl_status calendar_create(const struct tl_config *config, struct calendar empty,
                                      void **self)
{
    empty.days = DAYS_MIN;
    empty.clock = config->now;
    empty.allocator = config->allocator;
    return structure_create(config, &empty, lists_reserve, lists_destroy, self);
}

/* Whether a page's timers belong there, in order. */
static bool page_is_right(const struct calendar *queue, uint32_t page)
{
    uint64_t last = 0;
    for (uint32_t id = slot_node(queue, page)->next; id != page;
         id = timer_at(queue, id)->links.next) {
        uint64_t due = timer_at(queue, id)->due;
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
    const struct calendar *queue = self;
    uint64_t seen = 0;
    uint64_t late = 0;
    bool linked_right = slot_walk(queue, LATE, queue->count, &late);
    for (uint32_t i = 0; linked_right && i < queue->days; i++) {
        linked_right = slot_walk(queue, FIRST_PAGE + i, queue->count, &seen);
        if (linked_right && !page_is_right(queue, FIRST_PAGE + i)) {
            return corrupt(why, why_bytes, "a timer on page %" PRIu32 " is out of place", i);
        }
    }
    if (!linked_right || seen != queue->paged) {
        return corrupt(why, why_bytes, "%" PRIu64 " timers are on pages, not %" PRIu64, seen,
                       queue->paged);
    }
    if (queue->paged > 2 * (uint64_t)queue->days || is_sparse(queue)) {
        return corrupt(why, why_bytes, "%" PRIu64 " timers on %" PRIu32 " pages", queue->paged,
                       queue->days);
    }
    return queue_check_count(queue, seen + late, why, why_bytes);
}

/* Return the first day of the year that is shown: the clock's, or an earlier one if a budget has
 * left timers of it. */
static uint64_t first_day(const struct calendar *queue)
{
    bool left_over = queue->paged > 0 && queue->bound < queue->clock;
    return (left_over ? queue->bound : queue->clock) >> queue->shift;
}

static void queue_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct calendar *queue = self;
    queue_walk_late(queue, visitor);
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
             id = timer_at(queue, id)->links.next) {
            uint64_t due = timer_at(queue, id)->due;
            walk_timer(visitor, id, due, ((due >> queue->shift) - first) / queue->days);
        }
    }
}

#endif
