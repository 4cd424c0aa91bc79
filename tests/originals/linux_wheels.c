/*
 * The wheels of Linux, and the paper's that the older of them follows:
 *
 *   coarse-wheel      kernel/time/timer.c of Linux 5.10: calc_wheel_index, calc_index, __mod_timer,
 *                     forward_timer_base, __run_timers. Not modelled: other processors, deferrable
 *                     timers, idle ones.
 *   cascading-wheel   kernel/time/timer.c of Linux 4.7: internal_add_timer, mod_timer, apply_slack,
 *                     cascade, __run_timers. Not modelled: the same.
 *                     Varghese and Lauck 1987, section 6.2: days, hours, minutes and seconds, where
 *                     the coarsest unit in which deadline and clock differ names the array.
 */
#include "original.h"

enum habit {
    CLOCK_IS_AHEAD = 1,     /* of jiffies, by one, once timers of this jiffy have run */
    SAME_EXPIRES_STAYS = 2, /* a timer that is set to the deadline that it has is not filed again */
    FIRES_EARLY_BEYOND = 4, /* the cutoff */
    ROUNDS_UP_ALWAYS = 8,   /* to the next granule, even from a granule's beginning */
    APPLIES_SLACK = 16,     /* Linux 4.7 */
};

struct wheel {
    uint32_t habits;
    uint64_t jiffies;
    uint64_t clk; /* base->clk, or timer_jiffies */
    bool pending[ORIGINAL_IDS];
    uint64_t expires[ORIGINAL_IDS];
    uint32_t level[ORIGINAL_IDS];
    uint64_t slot[ORIGINAL_IDS];
    uint64_t bucket[ORIGINAL_IDS]; /* bucket_expiry */
};

static bool has(const struct wheel *wheel, enum habit habit)
{
    return (wheel->habits & (uint32_t)habit) != 0;
}

static void wheel_open(void *self, uint64_t now, uint32_t habits)
{
    struct wheel *wheel = self;
    *wheel = (struct wheel){.habits = habits, .jiffies = now, .clk = now};
}

static bool del_timer(void *self, uint32_t id)
{
    struct wheel *wheel = self;
    bool was = wheel->pending[id];
    wheel->pending[id] = false;
    return was;
}

/* Late timers are in no slot. */
static void place_of(const void *self, uint32_t id, struct place *place)
{
    const struct wheel *wheel = self;
    place->pending = wheel->pending[id];
    if (wheel->expires[id] > wheel->jiffies) {
        place->level = wheel->level[id] + 1;
        place->slot = wheel->slot[id];
    }
}

/* --- Linux 5.10 ------------------------------------------------------------------------------ */

enum { LVL_DEPTH = 9, LVL_CLK_SHIFT = 3, LVL_SIZE = 64 };

/* LVL_START */
static uint64_t lvl_start(uint32_t level)
{
    return (uint64_t)(LVL_SIZE - 1) << ((level - 1) * LVL_CLK_SHIFT);
}

static uint64_t next_expiry(const struct wheel *wheel)
{
    uint64_t next = UINT64_MAX;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        next = wheel->pending[id] && wheel->bucket[id] < next ? wheel->bucket[id] : next;
    }
    return next;
}

/* calc_wheel_index */
static void file_in_level(struct wheel *wheel, uint32_t id)
{
    uint64_t expires = wheel->expires[id];
    uint64_t delta = expires - wheel->clk;
    uint32_t level = 0;
    if ((int64_t)delta < 0 || (!has(wheel, CLOCK_IS_AHEAD) && delta == 0)) {
        wheel->bucket[id] = wheel->clk;
        wheel->level[id] = 0;
        wheel->slot[id] = wheel->clk % LVL_SIZE;
        return;
    }
    while (level + 1 < LVL_DEPTH && delta >= lvl_start(level + 1)) {
        level++;
    }
    if (delta >= lvl_start(LVL_DEPTH)) { /* WHEEL_TIMEOUT_CUTOFF, WHEEL_TIMEOUT_MAX */
        expires =
            wheel->clk + lvl_start(LVL_DEPTH) - (UINT64_C(1) << ((LVL_DEPTH - 1) * LVL_CLK_SHIFT));
    }
    uint32_t shift = level * LVL_CLK_SHIFT;
    uint64_t at = ((expires - !has(wheel, ROUNDS_UP_ALWAYS)) >> shift) + 1;
    wheel->bucket[id] = at << shift;
    wheel->level[id] = level;
    wheel->slot[id] = at % LVL_SIZE;
}

/* __mod_timer, with forward_timer_base */
static bool mod_timer(void *self, uint32_t id, uint64_t expires)
{
    struct wheel *wheel = self;
    if (wheel->pending[id] && wheel->expires[id] == expires && has(wheel, SAME_EXPIRES_STAYS)) {
        return true;
    }
    if (!has(wheel, CLOCK_IS_AHEAD)) {
        wheel->clk = wheel->jiffies;
    } else if (wheel->jiffies > wheel->clk) {
        uint64_t next = next_expiry(wheel);
        wheel->clk = next > wheel->jiffies ? wheel->jiffies : next;
    }
    wheel->pending[id] = true;
    wheel->expires[id] = expires;
    file_in_level(wheel, id);
    return true;
}

/* __run_timers, in each jiffy in which it has something to do */
static void run_timers(void *self, uint64_t jiffies, const struct original_fire *fire)
{
    struct wheel *wheel = self;
    bool expired[ORIGINAL_IDS] = {false};
    wheel->jiffies = jiffies;
    while (next_expiry(wheel) <= jiffies) {
        uint64_t clk = next_expiry(wheel);
        for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
            if (!wheel->pending[id] || wheel->bucket[id] != clk) {
                continue;
            }
            if (wheel->expires[id] > jiffies && !has(wheel, FIRES_EARLY_BEYOND)) {
                wheel->clk = jiffies; /* not in Linux */
                file_in_level(wheel, id);
            } else {
                expired[id] = true;
                wheel->pending[id] = false;
            }
        }
        wheel->clk = clk + 1;
    }
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (expired[id]) {
            fire->call(fire->ctx, id);
        }
    }
}

static const struct original linux_510 = {
    .follows = "Linux 5.10, kernel/time/timer.c",
    .bytes = sizeof(struct wheel),
    .open = wheel_open,
    .start = mod_timer,
    .stop = del_timer,
    .advance = run_timers,
    .place = place_of,
    .next = NULL,
};

static uint64_t wheel_next(void *self)
{
    return next_expiry(self);
}

static void the_wheel_of_linux_since_4_8(void **state)
{
    (void)state;
    struct original with_next = linux_510;
    with_next.next = wheel_next;
    struct original_case wheel_case = {
        .original = &with_next,
        .structure = "coarse-wheel",
        .options = "rounding=next",
        .habits = ROUNDS_UP_ALWAYS,
        .future_only = true,
        .next = ORIGINAL_NEXT_SAME,
        .delay_bits = 29,
        .clock = 4321,
    };
    original_agrees(&wheel_case);
    original_differs(&wheel_case, CLOCK_IS_AHEAD, "one jiffy ahead");
    original_differs(&wheel_case, SAME_EXPIRES_STAYS, "the deadline that it has");
    wheel_case.step_ticks = 1 << 20;
    wheel_case.future_only = false;
    wheel_case.next = ORIGINAL_NEXT_ANY;
    original_agrees(&wheel_case);
    wheel_case.delay_bits = 34; /* the cutoff is 63 << 24 */
    wheel_case.step_ticks = UINT64_C(1) << 32;
    original_agrees(&wheel_case);
    original_differs(&wheel_case, FIRES_EARLY_BEYOND, "fires at the furthest slot, early");
}

static void rounded_up_to_a_multiple_by_default(void **state)
{
    (void)state;
    struct original_case wheel_case = {
        .original = &linux_510,
        .structure = "coarse-wheel",
        .options = "",
        .delay_bits = 29,
        .step_ticks = 1 << 20,
        .clock = 4321,
    };
    original_agrees(&wheel_case);
    original_differs(&wheel_case, ROUNDS_UP_ALWAYS, "rounding=next is the kernel's");
}

/* --- Linux 4.7 ------------------------------------------------------------------------------- */

/* The levels, of 8, 6, 6, 6 and 6 bits, begin at these. */
static const uint32_t tv_shifts[] = {0, 8, 14, 20, 26, 32};

/* internal_add_timer */
static void internal_add_timer(struct wheel *wheel, uint32_t id)
{
    uint64_t expires = wheel->expires[id];
    uint64_t idx = expires - wheel->clk;
    uint32_t level = 0;
    if ((int64_t)idx < 0) {
        expires = wheel->clk;
    } else {
        while (level < 4 && idx >> tv_shifts[level + 1] != 0) {
            level++;
        }
        expires = idx > UINT32_MAX ? UINT32_MAX + wheel->clk : expires;
    }
    wheel->level[id] = level;
    wheel->slot[id] = expires >> tv_shifts[level] & (level > 0 ? 63 : 255);
}

/* apply_slack, with the slack of -1 that timers begin with */
static uint64_t apply_slack(const struct wheel *wheel, uint64_t expires)
{
    uint64_t delta = expires - wheel->jiffies;
    uint64_t limit = expires + delta / 256;
    if ((int64_t)delta < 256 || limit == expires) {
        return expires;
    }
    uint64_t mask = expires ^ limit;
    return limit & ~((UINT64_C(1) << (63 - __builtin_clzll(mask))) - 1);
}

static bool mod_timer_47(void *self, uint32_t id, uint64_t expires)
{
    struct wheel *wheel = self;
    wheel->pending[id] = true;
    wheel->expires[id] = has(wheel, APPLIES_SLACK) ? apply_slack(wheel, expires) : expires;
    internal_add_timer(wheel, id);
    return true;
}

/* cascade */
static bool cascade(struct wheel *wheel, uint32_t level)
{
    uint64_t index = wheel->clk >> tv_shifts[level] & 63;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (wheel->pending[id] && wheel->level[id] == level && wheel->slot[id] == index) {
            internal_add_timer(wheel, id);
        }
    }
    return index != 0;
}

/* __run_timers; what callbacks start sees timer_jiffies one ahead */
static void run_timers_47(void *self, uint64_t jiffies, const struct original_fire *fire)
{
    struct wheel *wheel = self;
    bool expired[ORIGINAL_IDS] = {false};
    wheel->jiffies = jiffies;
    while (wheel->clk <= jiffies) {
        if (wheel->clk % 256 == 0 && !cascade(wheel, 1) && !cascade(wheel, 2) &&
            !cascade(wheel, 3)) {
            (void)cascade(wheel, 4);
        }
        for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
            if (wheel->pending[id] && wheel->level[id] == 0 &&
                wheel->slot[id] == wheel->clk % 256) {
                expired[id] = true;
                wheel->pending[id] = false;
            }
        }
        wheel->clk++;
    }
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (expired[id]) {
            fire->call(fire->ctx, id);
        }
    }
}

static void open_47(void *self, uint64_t now, uint32_t habits)
{
    wheel_open(self, now + 1, habits); /* timer_jiffies is ahead by one */
    ((struct wheel *)self)->jiffies = now;
}

static const struct original linux_47 = {
    .follows = "Linux 4.7, kernel/time/timer.c",
    .bytes = sizeof(struct wheel),
    .open = open_47,
    .start = mod_timer_47,
    .stop = del_timer,
    .advance = run_timers_47,
    .place = place_of,
};

static void the_wheel_of_linux_before_4_8(void **state)
{
    (void)state;
    struct original_case wheel_case = {
        .original = &linux_47,
        .structure = "cascading-wheel",
        .options = "",
        .delay_bits = 16,
        .step_ticks = 300,
        .clock = 4321,
    };
    original_agrees(&wheel_case);
    original_differs(&wheel_case, APPLIES_SLACK, "1/256");
    wheel_case.delay_bits = 34;
    wheel_case.step_ticks = 3;
    original_agrees(&wheel_case);
}

/* --- the paper ------------------------------------------------------------------------------- */

/* Seconds, minutes, hours and days, in seconds. */
static const uint64_t units[] = {1, 60, 3600, 86400, 8640000};
enum { ARRAYS = 4 };

static void insert(struct wheel *wheel, uint32_t id)
{
    uint32_t array = ARRAYS - 1;
    while (array > 0 && wheel->expires[id] / units[array] == wheel->jiffies / units[array]) {
        array--;
    }
    wheel->level[id] = array;
    wheel->slot[id] = wheel->expires[id] / units[array] % (units[array + 1] / units[array]);
}

static bool start_timer(void *self, uint32_t id, uint64_t deadline)
{
    struct wheel *wheel = self;
    wheel->pending[id] = true;
    wheel->expires[id] = deadline;
    insert(wheel, id);
    return true;
}

/* A second: when a unit begins, its element is entered, and its timers go to a finer array. */
static void per_tick_bookkeeping(struct wheel *wheel)
{
    wheel->jiffies++;
    for (uint32_t array = ARRAYS - 1; array > 0; array--) {
        if (wheel->jiffies % units[array] != 0) {
            continue;
        }
        uint64_t element = wheel->jiffies / units[array] % (units[array + 1] / units[array]);
        for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
            if (wheel->pending[id] && wheel->level[id] == array && wheel->slot[id] == element) {
                insert(wheel, id);
            }
        }
    }
}

static void run_seconds(void *self, uint64_t now, const struct original_fire *fire)
{
    struct wheel *wheel = self;
    bool expired[ORIGINAL_IDS] = {false};
    while (wheel->jiffies < now) {
        per_tick_bookkeeping(wheel);
        for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
            if (wheel->pending[id] && wheel->level[id] == 0 &&
                wheel->slot[id] == wheel->jiffies % 60) {
                expired[id] = true;
                wheel->pending[id] = false;
            }
        }
    }
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (expired[id]) {
            fire->call(fire->ctx, id);
        }
    }
}

static const struct original scheme_7 = {
    .follows = "Varghese and Lauck 1987, section 6.2",
    .bytes = sizeof(struct wheel),
    .open = wheel_open,
    .start = start_timer,
    .stop = del_timer,
    .advance = run_seconds,
    .place = place_of,
};

static void the_clock_of_scheme_7(void **state)
{
    (void)state;
    struct original_case wheel_case = {
        .original = &scheme_7,
        .structure = "cascading-wheel",
        .options = "l1=60:l2=60:l3=24:l4=100:l5=0:level=digit",
        .future_only = true,
        .delay_bits = 22, /* 48 days of the 100 */
        .step_ticks = 2000,
        .clock = 987654,
    };
    original_agrees(&wheel_case);
    wheel_case.options = "l1=60:l2=60:l3=24:l4=100:l5=0";
    original_differs(&wheel_case, 0, "the paper's example is level=digit");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wheel_of_linux_since_4_8),
        cmocka_unit_test(rounded_up_to_a_multiple_by_default),
        cmocka_unit_test(the_wheel_of_linux_before_4_8),
        cmocka_unit_test(the_clock_of_scheme_7),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
