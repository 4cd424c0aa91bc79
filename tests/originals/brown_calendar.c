/*
 * calendar-queue compared with Brown's calendar queue.
 *
 * The model follows R. Brown, "Calendar queues", CACM 31(10), 1988: when the calendar is resized
 * (twice the days above two timers a day, half below one in two days and two less), how many
 * events newwidth takes for a sample, and the width it concludes. It omits the pages
 * themselves: events are in order of priority, equal ones in order of their entry, and the search
 * changes nothing of that. The paper knows no removal but that of the first; one from the midst is
 * taken to resize as that does.
 */
#include "original.h"

#include <stdio.h>

enum habit {
    ENTERS_WHAT_IS_DUE = 1, /* at once, where it counts for the number of days */
    EXACT_WIDTH = 2,        /* of a day */
};

enum where { NOWHERE, ASIDE, ENTERED };

struct calendar {
    uint32_t habits;
    uint64_t clock;
    uint64_t order; /* of entries */
    uint32_t days;
    uint32_t size;
    double width;
    enum where where[ORIGINAL_IDS];
    uint64_t due[ORIGINAL_IDS];
    uint64_t entry[ORIGINAL_IDS];
};

static void calendar_open(void *self, uint64_t now, uint32_t habits)
{
    struct calendar *calendar = self;
    *calendar = (struct calendar){.habits = habits, .clock = now, .days = 2, .width = 1};
}

/* The first of the timers there, but for those in `taken`; ORIGINAL_IDS: none. */
static uint32_t first_of(const struct calendar *calendar, enum where where, const bool *taken)
{
    uint32_t first = ORIGINAL_IDS;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (calendar->where[id] != where || taken[id]) {
            continue;
        }
        bool earlier = first == ORIGINAL_IDS || calendar->due[id] < calendar->due[first] ||
                       (calendar->due[id] == calendar->due[first] &&
                        calendar->entry[id] < calendar->entry[first]);
        first = earlier ? id : first;
    }
    return first;
}

/* newwidth */
static double new_width(const struct calendar *calendar)
{
    bool taken[ORIGINAL_IDS] = {false};
    double due[25];
    uint32_t samples = calendar->size <= 5 ? calendar->size : 5 + calendar->size / 10;
    samples = samples > 25 ? 25 : samples;
    if (calendar->size < 2) {
        return 1;
    }
    for (uint32_t i = 0; i < samples; i++) {
        uint32_t id = first_of(calendar, ENTERED, taken);
        taken[id] = true;
        due[i] = (double)calendar->due[id];
    }
    double average = (due[samples - 1] - due[0]) / (samples - 1);
    double sum = 0;
    uint32_t used = 0;
    for (uint32_t i = 1; i < samples; i++) {
        if (due[i] - due[i - 1] < 2 * average) {
            sum += due[i] - due[i - 1];
            used++;
        }
    }
    return used > 0 ? 3 * sum / used : 1; /* the paper does not say; all are due at one tick */
}

static void resize(struct calendar *calendar, uint32_t days)
{
    calendar->width = new_width(calendar);
    calendar->days = days;
}

static void enter(struct calendar *calendar, uint32_t id)
{
    calendar->where[id] = ENTERED;
    calendar->entry[id] = calendar->order++;
    calendar->size++;
    if (calendar->size > 2 * calendar->days) {
        resize(calendar, 2 * calendar->days);
    }
}

/* The end of dequeue */
static void shrink(struct calendar *calendar)
{
    if ((int64_t)calendar->size < (int64_t)calendar->days / 2 - 2) {
        resize(calendar, calendar->days / 2);
    }
}

static bool take(struct calendar *calendar, uint32_t id)
{
    bool was = calendar->where[id] != NOWHERE;
    calendar->size -= calendar->where[id] == ENTERED;
    calendar->where[id] = NOWHERE;
    return was;
}

static bool calendar_start(void *self, uint32_t id, uint64_t deadline)
{
    struct calendar *calendar = self;
    (void)take(calendar, id);
    calendar->due[id] = deadline > calendar->clock ? deadline : calendar->clock;
    if (deadline > calendar->clock || (calendar->habits & ENTERS_WHAT_IS_DUE) != 0) {
        enter(calendar, id);
        return true;
    }
    calendar->where[id] = ASIDE;
    calendar->entry[id] = calendar->order++;
    shrink(calendar);
    return true;
}

static bool calendar_stop(void *self, uint32_t id)
{
    bool was = take(self, id);
    if (was) {
        shrink(self);
    }
    return was;
}

static void calendar_advance(void *self, uint64_t now, const struct original_fire *fire)
{
    struct calendar *calendar = self;
    bool taken[ORIGINAL_IDS] = {false};
    for (;;) {
        /* All of them were due at the clock, so the first is that which came first. */
        uint32_t id = first_of(calendar, ASIDE, taken);
        if (id == ORIGINAL_IDS) {
            break;
        }
        enter(calendar, id);
    }
    calendar->clock = now;
    uint64_t before = calendar->order;
    for (;;) {
        uint32_t id = first_of(calendar, ENTERED, taken);
        if (id == ORIGINAL_IDS || calendar->due[id] > now) {
            return;
        }
        if (calendar->entry[id] >= before) { /* with the habit: of a callback */
            taken[id] = true;
            continue;
        }
        (void)take(calendar, id);
        shrink(calendar);
        fire->call(fire->ctx, id);
    }
}

/* The number of days, and their length: the power of two nearest to the original's. */
static bool same_days(void *self, const struct tl_algo *algo, const void *structure, char *why,
                      size_t why_bytes)
{
    const struct calendar *calendar = self;
    struct year year = year_of(algo, structure);
    double whole = calendar->width < 1 ? 1 : (double)(uint64_t)calendar->width;
    bool near = (double)year.day_ticks <= 4 * whole / 3 && (double)year.day_ticks >= 2 * whole / 3;
    bool exact = (double)year.day_ticks == calendar->width;
    if (year.days != calendar->days || !((calendar->habits & EXACT_WIDTH) != 0 ? exact : near)) {
        (void)snprintf(why, why_bytes, "%u days of %u ticks; in the original %u of %.2f", year.days,
                       (unsigned)year.day_ticks, calendar->days, calendar->width);
        return false;
    }
    return true;
}

static const struct original brown = {
    .follows = "Brown 1988",
    .bytes = sizeof(struct calendar),
    .open = calendar_open,
    .start = calendar_start,
    .stop = calendar_stop,
    .advance = calendar_advance,
    .inside = same_days,
};

static const struct original_case brown_case = {
    .original = &brown,
    .structure = "calendar-queue",
    .options = "",
    .ordered = true,
    .ids = ORIGINAL_IDS,
    .operations = 1000,
    .clock = 1000,
};

static void the_calendar_of_brown(void **state)
{
    (void)state;
    original_agrees(&brown_case);
    struct original_case near_case = brown_case; /* with many at one tick */
    near_case.delay_bits = 6;
    original_agrees(&near_case);
    struct original_case far_case = brown_case;
    far_case.delay_bits = 40;
    original_agrees(&far_case);
}

static void but_for_its_days(void **state)
{
    (void)state;
    original_differs(&brown_case, ENTERS_WHAT_IS_DUE, "entered at once");
    original_differs(&brown_case, EXACT_WIDTH, "power of two");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_calendar_of_brown),
        cmocka_unit_test(but_for_its_days),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
