/*
 * spoke-wheel compared with Agrona's DeadlineTimerWheel.
 *
 * The model follows DeadlineTimerWheel.java of Agrona 2 (2025): scheduleTimer, increaseCapacity,
 * cancelTimer, poll. Not modelled: that a handler may keep a timer, currentTickTime(long) and
 * clear. A timer there is named by its place; here a table has the place of each id.
 */
#include "original.h"

enum habit {
    ONE_SPOKE_A_POLL = 1, /* else polls until the wheel has caught up with the time */
    SAME_POLL = 2,        /* a timer scheduled by a handler at or before now fires, if its slot is
                           * still to be visited */
    FROM_START_TIME = 4,  /* spokes count from the time at which the wheel was made */
};

enum { SPOKES = 16, RESOLUTION_SHIFT = 3, ALLOCATION = 2, PLACES_MAX = 64 };
#define EMPTY UINT32_MAX

struct wheel {
    uint32_t habits;
    uint64_t start_time;
    uint64_t current_tick;
    uint32_t allocation;
    uint32_t places[SPOKES][PLACES_MAX]; /* ids */
    bool pending[ORIGINAL_IDS];
    bool aside[ORIGINAL_IDS]; /* without the habit: timers scheduled by a handler for now */
    uint64_t polling;         /* now, while it polls; else 0 */
    uint64_t deadline[ORIGINAL_IDS];
    uint32_t spoke[ORIGINAL_IDS];
    uint32_t place[ORIGINAL_IDS];
};

static void wheel_open(void *self, uint64_t now, uint32_t habits)
{
    struct wheel *wheel = self;
    *wheel = (struct wheel){.habits = habits, .allocation = ALLOCATION};
    wheel->start_time = (habits & FROM_START_TIME) != 0 ? now : 0;
    wheel->current_tick = (now - wheel->start_time) >> RESOLUTION_SHIFT;
    for (uint32_t spoke = 0; spoke < SPOKES; spoke++) {
        for (uint32_t place = 0; place < PLACES_MAX; place++) {
            wheel->places[spoke][place] = EMPTY;
        }
    }
}

static bool cancel_timer(void *self, uint32_t id)
{
    struct wheel *wheel = self;
    if (!wheel->pending[id]) {
        return false;
    }
    wheel->pending[id] = false;
    if (!wheel->aside[id]) {
        wheel->places[wheel->spoke[id]][wheel->place[id]] = EMPTY;
    }
    wheel->aside[id] = false;
    return true;
}

static bool schedule_timer(void *self, uint32_t id, uint64_t deadline)
{
    struct wheel *wheel = self;
    (void)cancel_timer(wheel, id);
    wheel->pending[id] = true;
    wheel->deadline[id] = deadline;
    if (deadline <= wheel->polling && (wheel->habits & SAME_POLL) == 0) {
        wheel->aside[id] = true;
        return true;
    }
    uint64_t since = deadline > wheel->start_time ? deadline - wheel->start_time : 0;
    uint64_t tick = since >> RESOLUTION_SHIFT;
    tick = tick > wheel->current_tick ? tick : wheel->current_tick;
    uint32_t spoke = (uint32_t)(tick % SPOKES);
    uint32_t place = 0;
    while (place < wheel->allocation && wheel->places[spoke][place] != EMPTY) {
        place++;
    }
    if (place == wheel->allocation) {
        wheel->allocation *= 2; /* of every spoke */
    }
    wheel->places[spoke][place] = id;
    wheel->spoke[id] = spoke;
    wheel->place[id] = place;
    return true;
}

static void poll(struct wheel *wheel, uint64_t now, const struct original_fire *fire)
{
    uint32_t spoke = (uint32_t)(wheel->current_tick % SPOKES);
    for (uint32_t place = 0; place < wheel->allocation; place++) {
        uint32_t id = wheel->places[spoke][place];
        if (id != EMPTY && now >= wheel->deadline[id]) {
            (void)cancel_timer(wheel, id);
            fire->call(fire->ctx, id);
        }
    }
    uint64_t tick_ends = ((wheel->current_tick + 1) << RESOLUTION_SHIFT) + wheel->start_time;
    wheel->current_tick += now >= tick_ends;
}

static void poll_until(void *self, uint64_t now, const struct original_fire *fire)
{
    struct wheel *wheel = self;
    wheel->polling = now;
    for (;;) {
        uint64_t tick = wheel->current_tick;
        poll(wheel, now, fire);
        if (wheel->current_tick == tick || (wheel->habits & ONE_SPOKE_A_POLL) != 0) {
            break;
        }
    }
    wheel->polling = 0;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (wheel->aside[id]) {
            (void)schedule_timer(wheel, id, wheel->deadline[id]);
        }
    }
}

/* The spokes of timers that are still to come. */
static void place_of(const void *self, uint32_t id, struct place *place)
{
    const struct wheel *wheel = self;
    place->pending = wheel->pending[id];
    place->slot = place->level == 1 ? wheel->spoke[id] : place->slot;
}

static const struct original agrona = {
    .follows = "Agrona 2, DeadlineTimerWheel.java",
    .bytes = sizeof(struct wheel),
    .open = wheel_open,
    .start = schedule_timer,
    .stop = cancel_timer,
    .advance = poll_until,
    .place = place_of,
};

static const struct original_case agrona_case = {
    .original = &agrona,
    .structure = "spoke-wheel",
    .options = "spokes=16:tick=8:allocation=2",
    .delay_bits = 11,
    .step_ticks = 1000,
    .clock = 1001,
};

static void the_spokes_of_agrona(void **state)
{
    (void)state;
    original_agrees(&agrona_case);
    struct original_case slow = agrona_case;
    slow.step_ticks = 2;
    original_agrees(&slow);
}

static void but_for_its_polls(void **state)
{
    (void)state;
    struct original_case slow = agrona_case;
    slow.step_ticks = 2; /* it is polled often, as it wants to be */
    original_differs(&slow, ONE_SPOKE_A_POLL, "one spoke a call");
    original_differs(&agrona_case, SAME_POLL, "in the same poll");
    original_differs(&agrona_case, FROM_START_TIME, "startTime");
    struct original_case ordered = agrona_case;
    ordered.ordered = true;
    ordered.quiet = true;
    original_differs(&ordered, 0, "place by place");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_spokes_of_agrona),
        cmocka_unit_test(but_for_its_polls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
