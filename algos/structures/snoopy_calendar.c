/*
 * snoopy-calendar: a calendar queue that chooses the length of its days by their cost.
 *
 *   days too short                             days too long
 *   page   0    1    2    3    4    5          page   0                    1
 *          37   -    -    -    49   -                 37, 38, 40, 49, 52   -
 *   an expiry turns four pages to the next     a start passes the later timers of its page
 *
 * Its pages are those of calendar-queue, and their number doubles and halves with the timers in the
 * same way. On the left, advance(49) turns four pages to fire one timer; on the right, start(a, 41)
 * passes two timers on its page. Longer days turn fewer pages and pass more timers, shorter days
 * the reverse, and the sum is least where the two are equal. So both are counted:
 *
 *   searched   pages turned to find the first timer, and one for each that fires
 *   entered    timers passed on a page by starts
 *
 * Brown's calendar measures the distances of the first few timers, and only when the number of days
 * changes. That fails if the first timers are not typical, or if distances change and the number
 * does not.
 *
 * A round is as many expiries as there are timers. After more than `rounds` rounds, if one count is
 * more than twice the other, the length of a day is multiplied by the square root of searched /
 * entered, and both counts begin again; after five times as many rounds this happens in any case.
 * When the number of days changes, a day becomes four times the average distance of the expiries of
 * the last round; before the first round, Brown's length. Lengths are powers of two.
 *
 * Invariants: those of calendar-queue, with four days at least.
 *
 * Complexity: start, stop, expiry O(1) once the days suit the timers; a tick O(1); a rebuild O(n),
 * amortised O(1). Use it instead of calendar-queue where the traffic changes. Bad at: the first
 * `rounds` rounds, before it has learned; timers that are stopped and rarely fire, from which it
 * learns nothing; two very different delays; the pause of a rebuild.
 *
 * Source: K. L. Tan and L.-J. Thng, "SNOOPy calendar queue", Winter Simulation Conference 2000, for
 * the use of performance statistics; the rules are those of the calendar scheduler of ns-2.35
 * (common/scheduler.cc).
 */
#include "timerlab.h"

/* --- data ------------------------------------------------------------------------------------- */

struct day_cost {
    uint64_t searched;
    uint64_t entered;
    uint64_t rounds_max;
    uint64_t rounds;
    uint64_t expiries;      /* of this round, after that at `since` */
    uint64_t since;         /* TL_NEVER: none has fired */
    uint64_t last_ticks;    /* that the last round took, */
    uint64_t last_expiries; /* and its expiries; 0: there was none */
};

#define DAYS_MIN      4u
#define CALENDAR_COST struct day_cost
#include "calendar.h"

/* --- advance and next ------------------------------------------------------------------------- */

static void calendar_forget(struct calendar *queue)
{
    queue->cost.searched = 0;
    queue->cost.entered = 0;
    queue->cost.rounds = 0;
}

static inline void calendar_entered(struct calendar *queue, uint32_t seen)
{
    queue->cost.entered += seen;
}

static inline void calendar_turned(struct calendar *queue, uint32_t pages)
{
    queue->cost.searched += pages;
}

/* --- advance and next: the length of a day ---------------------------------------------------- */

/* The shift by which a day is to be longer (or shorter): half the logarithm of the quotient. */
static uint32_t root_shift(uint64_t more, uint64_t less)
{
    uint64_t quotient = more / (less > 0 ? less : 1);
    return (uint32_t)(64 - __builtin_clzll(quotient | 1)) / 2;
}

/* Make days longer or shorter by their cost. */
static void adjust(struct calendar *queue)
{
    const struct day_cost *cost = &queue->cost;
    uint32_t shift = queue->shift;
    if (cost->searched > cost->entered) {
        shift += root_shift(cost->searched, cost->entered);
        shift = shift < SHIFT_MAX ? shift : SHIFT_MAX;
    } else {
        uint32_t down = root_shift(cost->entered, cost->searched);
        shift = shift > down ? shift - down : 0;
    }
    if (shift != queue->shift) {
        uint32_t chain = SLOT_NONE;
        chain_pages(queue, &chain);
        refill(queue, queue->days, shift, chain);
    }
    calendar_forget(queue);
}

/* Four times the average distance of the expiries of the last round. */
static uint32_t calendar_day(struct calendar *queue, uint32_t **end)
{
    uint64_t ticks = queue->cost.last_ticks;
    uint64_t by = queue->cost.last_expiries;
    if (by == 0 || ticks == 0) {
        return sample_day(queue, end);
    }
    uint64_t average = ticks / by;
    return day_shift(average < UINT64_MAX / 8 ? 4 * average + 4 * (ticks % by) / by : UINT64_MAX);
}

/* Count an expiry, which may end a round. */
static inline void calendar_fires(struct calendar *queue, uint32_t id)
{
    struct day_cost *cost = &queue->cost;
    uint64_t due = timer_at(queue, id)->due;
    cost->searched++; /* its page */
    if (cost->since == TL_NEVER) {
        cost->since = due;
        return;
    }
    if (++cost->expiries < queue->paged) {
        return;
    }
    cost->last_ticks = due - cost->since;
    cost->last_expiries = cost->expiries;
    cost->since = due;
    cost->expiries = 0;
    cost->rounds++;
    if (cost->rounds > cost->rounds_max &&
        (cost->searched > 2 * cost->entered || cost->entered > 2 * cost->searched)) {
        adjust(queue);
    } else if (cost->rounds > 5 * cost->rounds_max) {
        calendar_forget(queue);
    }
}

/* --- create and options ----------------------------------------------------------------------- */

struct queue_options {
    uint64_t rounds;
};

static const struct tl_option queue_option_table[] = {
    {"rounds", TL_U64(struct queue_options, rounds), 20, 0, 1000000, NULL,
     "rounds, each of as many expiries as there are timers, before days are made longer or "
     "shorter"},
    {0},
};

static enum tl_status queue_create(const struct tl_config *config, void **self)
{
    const struct queue_options *options = config->options;
    struct calendar empty = {.cost = {.rounds_max = options->rounds, .since = TL_NEVER}};
    return calendar_create(config, empty, self);
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(snoopy_calendar) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_ORDERED | TL_CAP_FIFO | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET |
                    TL_CAP_UNLIMITED,
    .name = "snoopy-calendar",
    .summary = "a calendar queue that sets the length of its days by their measured cost",
    .origin = "Tan and Thng 2000; ns-2's calendar scheduler",
    .description =
        "A calendar queue that counts the pages that it turns to fire and the timers that it "
        "passes to start. Every few rounds, if one is more than twice the other, its days are made "
        "longer or shorter by the square root of their quotient, so that no sample of the timers "
        "decides. Bad at: getting there, which takes many rounds of expiries; timers that are "
        "mostly stopped; delays of very different lengths; the tick in which it is rebuilt.",
    .differs =
        "the length of a day is a power of two ticks, and no less than one; counts timers, not "
        "different ticks, for the number of days; a start that is due before all of its page is "
        "looked for from the end as any other; before the first round is over a day is measured as "
        "by Brown, where ns-2 takes the fullest page; a stop shrinks the calendar, too; a timer "
        "due at its start waits on a list of its own for the next advance.",
    .cost = {.start = "O(1) expected, O(n) worst",
             .stop = "O(1) amortised",
             .tick = "O(1)",
             .expire = "O(1) expected, O(n) worst"},
    OPTIONS(queue_option_table, struct queue_options),
    QUEUE_HOOKS,
    QUEUE_MEMORY_HOOKS,
};
