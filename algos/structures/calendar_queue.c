/*
 * calendar-queue: a desk calendar with a page for each day of a year, used again every year.
 *
 *   8 days of 4 ticks, a year of 32      today: day 9, ticks 36..39
 *
 *   page   0        1          2        3        4        5        6        7
 *          -    due 37, 38     -     due 44      -     due 52      -     due 63
 *               due 70 (the year after)
 *
 * A timer is on the page of its day, in order of due tick; the next years use the same pages.
 * start(a, 50) writes a on page 4, because tick 50 is in day 12. advance(38) turns the pages from
 * today on and looks at the first entry of each: 37 and 38 are of this year and fire, 70 is not. If
 * a whole year has no entry, the earliest of all first entries is searched, and today jumps there.
 * stop(a) unlinks a.
 *
 * Each operation is constant if a page has few entries and few pages are empty. So the calendar is
 * rebuilt when there are more than twice as many timers as days, or fewer than half as many less
 * two. The new length of a day is three times the average distance of the first timers, up to 25 of
 * them, without distances of twice that average or more, as the paper says, rounded to a power of
 * two.
 *
 * A timer that is due at its start goes to the list LATE, and to its page in the next advance.
 * Stopping the first timer does not search the next one; `next` then returns a lower bound.
 *
 * Invariants
 *   - page p holds the timers of all days d with d mod days == p, in order of due tick, equal ticks
 *     in order of start
 *   - no timer in the pages is due before `bound`, nor before day `today`
 *   - days/2 - 2 <= timers in the pages <= 2 days, if there are more than two days
 *   - the pages and LATE together hold exactly the pending timers
 *
 * Complexity: start, stop and expiry O(1) if the distances are similar, a tick O(1), a rebuild
 * O(n), amortised O(1). Use it for simulations with one kind of delay. Bad at: delays of very
 * different lengths, because the first few timers decide the length of a day and the far ones share
 * pages: start is then O(n), or expiry turns all pages; distances that change while the number of
 * timers does not; the pause of a rebuild.
 *
 * Example: 1,000,000 connections arrive within 10,000 ticks, with timeouts of 30 to 60 s. The first
 * 25 timers are far apart, the others are dense. A page then holds hundreds of timers, and a
 * restart compares with 190 of them, a cache miss each. With 100,000 timers it is 20 comparisons.
 *
 * Source: R. Brown, "Calendar queues: a fast O(1) priority queue implementation for the simulation
 * event set problem", CACM 31(10), 1988.
 */
#include "timerlab.h"

/* --- data ------------------------------------------------------------------------------------- */

#define DAYS_MIN 2u
#include "calendar.h"

/* --- create and options ----------------------------------------------------------------------- */

static enum tl_status queue_create(const struct tl_config *config, void **self)
{
    return calendar_create(config, (struct calendar){0}, self);
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(calendar_queue) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_ORDERED | TL_CAP_FIFO | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET |
                    TL_CAP_UNLIMITED,
    .name = "calendar-queue",
    .summary = "a page a day, used again every year, rebuilt as the timers grow or shrink",
    .origin = "Brown 1988",
    .description =
        "Sorted lists for the days of a year; a timer goes to the page of its day, whatever the "
        "year, and the first one is found by turning pages from today. The days double or halve "
        "with the timers, and their length is taken from the first 25 of them. Constant while "
        "distances are of one kind. Bad at: timeouts of very different lengths, with which pages "
        "are long or empty and operations linear; the tick in which it is rebuilt.",
    .differs = "the length of a day is rounded to a power of two ticks, which changes the length "
               "of searches, not when the calendar is rebuilt or which timers fire; timers can be "
               "stopped, which shrinks the calendar as dequeuing does, and Brown's has no such "
               "operation; a timer due at its start waits on a list of its own for the next "
               "advance, in Brown's it is entered at once; timers that are all due at one tick "
               "make days of one tick, where Brown divides by zero.",
    .cost = {.start = "O(1) expected, O(n) worst",
             .stop = "O(1) amortised",
             .tick = "O(1)",
             .expire = "O(1) expected, O(n) worst"},
    QUEUE_HOOKS,
    QUEUE_MEMORY_HOOKS,
};
