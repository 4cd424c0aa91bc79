/*
 * callout-wheel compared with FreeBSD's callout(9).
 *
 * The model follows sys/kern/kern_timeout.c of FreeBSD 10: callout_hash, callout_process,
 * callout_cc_add, callout_reset_sbt_on, softclock; and cpu_new_callout of kern_clocksource.c, for
 * the times at which callout_process is called. Buckets are of 2^bucket_bits ticks instead of 1/256
 * second. Not modelled: processors, locks, direct execution and the alignment to hardclock.
 */
#include "original.h"

#include <string.h>

enum habit {
    EVERY_INTERRUPT = 1,  /* callout_process is called from the first timer's time on */
    LOOKS_AS_FAR = 2,     /* after a look ahead in vain as before it */
    HIDDEN_BY_TURNS = 4,  /* a timer of a later turn ends the look ahead */
    NOW_HAS_A_WINDOW = 8, /* timers that are due at their start, too */
};

enum where { NOWHERE, WHEEL, EXPIREQ };

struct wheel {
    uint32_t habits;
    uint32_t callwheelsize;
    uint32_t bucket_bits;
    uint64_t precision;
    uint32_t tc_precexp;
    uint64_t clock;
    uint64_t lastscan;
    uint64_t firstevent;
    uint64_t first; /* of the timers seen, or a time in between */
    uint64_t ahead;
    uint64_t inserts;
    enum where where[ORIGINAL_IDS];
    uint64_t c_time[ORIGINAL_IDS];
    uint64_t c_precision[ORIGINAL_IDS];
    uint64_t inserted[ORIGINAL_IDS];
};

static void open_wheel(void *self, uint64_t now, struct wheel as)
{
    struct wheel *wheel = self;
    *wheel = as;
    wheel->clock = now;
    wheel->lastscan = now;
    wheel->firstevent = UINT64_MAX;
    wheel->first = UINT64_MAX;
}

static void open_default(void *self, uint64_t now, uint32_t habits)
{
    open_wheel(self, now,
               (struct wheel){
                   .habits = habits, .callwheelsize = 32768, .bucket_bits = 2, .tc_precexp = 4});
}

static void open_exact(void *self, uint64_t now, uint32_t habits)
{
    open_wheel(
        self, now,
        (struct wheel){.habits = habits, .callwheelsize = 256, .bucket_bits = 2, .tc_precexp = 63});
}

static void open_small(void *self, uint64_t now, uint32_t habits)
{
    open_wheel(self, now,
               (struct wheel){.habits = habits,
                              .callwheelsize = 64,
                              .bucket_bits = 0,
                              .precision = 5,
                              .tc_precexp = 2});
}

static bool wheel_stop(void *self, uint32_t id)
{
    struct wheel *wheel = self;
    bool was = wheel->where[id] != NOWHERE;
    wheel->where[id] = NOWHERE;
    return was;
}

static bool wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct wheel *wheel = self;
    uint64_t delay = deadline > wheel->clock ? deadline - wheel->clock : 0;
    uint64_t precision = delay >> wheel->tc_precexp;
    if (wheel->precision > precision) {
        precision = wheel->precision;
    }
    if (delay == 0 && (wheel->habits & NOW_HAS_A_WINDOW) == 0) {
        precision = 0;
    }
    (void)wheel_stop(wheel, id);
    wheel->where[id] = WHEEL;
    wheel->c_time[id] = deadline < wheel->lastscan ? wheel->lastscan : deadline;
    wheel->c_precision[id] = precision;
    wheel->inserted[id] = wheel->inserts++;
    uint64_t end = wheel->c_time[id] + precision;
    if (end < wheel->firstevent) {
        wheel->firstevent = end;
        wheel->first = wheel->c_time[id];
    }
    return true;
}

/* The ids in the wheel, from the one inserted last. */
static uint32_t newest_first(const struct wheel *wheel, uint32_t *ids)
{
    uint32_t count = 0;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (wheel->where[id] == WHEEL) {
            uint32_t at = count++;
            for (; at > 0 && wheel->inserted[ids[at - 1]] < wheel->inserted[id]; at--) {
                ids[at] = ids[at - 1];
            }
            ids[at] = id;
        }
    }
    return count;
}

/* callout_process. Returns how many were put into `expireq`. */
static uint32_t process(struct wheel *wheel, uint64_t now, uint32_t *expireq)
{
    uint32_t ids[ORIGINAL_IDS];
    uint32_t count = newest_first(wheel, ids);
    uint32_t expired = 0;
    uint64_t firstb = wheel->lastscan >> wheel->bucket_bits;
    uint64_t nowb = now >> wheel->bucket_bits;
    uint64_t lookahead = nowb == firstb ? 16 : nowb - firstb == 1 ? 32 : 128;
    if ((wheel->habits & LOOKS_AS_FAR) == 0 && wheel->ahead > lookahead) {
        lookahead = wheel->ahead;
    }
    uint64_t max = (nowb + lookahead) << wheel->bucket_bits;
    uint64_t lastb = nowb + lookahead - 1;
    uint64_t last = max;
    uint64_t first = now + (lookahead << wheel->bucket_bits) / 2;
    wheel->lastscan = now;
    if (lastb - firstb >= wheel->callwheelsize) {
        lastb = firstb + wheel->callwheelsize - 1;
        if (nowb - firstb >= wheel->callwheelsize) {
            nowb = lastb;
        }
    }
    do {
        for (uint32_t i = 0; i < count; i++) {
            uint32_t id = ids[i];
            uint64_t own = wheel->c_time[id] >> wheel->bucket_bits;
            if (wheel->where[id] != WHEEL || (own ^ firstb) % wheel->callwheelsize != 0) {
                continue;
            }
            uint64_t end = wheel->c_time[id] + wheel->c_precision[id];
            if (wheel->c_time[id] <= now) {
                wheel->where[id] = EXPIREQ;
                expireq[expired++] = id;
            } else if (wheel->c_time[id] >= max) {
                continue;
            } else if (wheel->c_time[id] > last) {
                if (own == firstb || (wheel->habits & HIDDEN_BY_TURNS) != 0) {
                    lastb = nowb;
                }
            } else {
                first = wheel->c_time[id] < first ? wheel->c_time[id] : first;
                last = end < last ? end : last;
            }
        }
        firstb++;
    } while (firstb <= lastb);
    wheel->firstevent = last;
    wheel->first = first;
    wheel->ahead = last == max && expired == 0 ? 2 * lookahead : 0;
    return expired;
}

static void wheel_advance(void *self, uint64_t now, const struct original_fire *fire)
{
    struct wheel *wheel = self;
    uint32_t expireq[ORIGINAL_IDS];
    bool every = (wheel->habits & EVERY_INTERRUPT) != 0;
    wheel->clock = now;
    if (now < (every ? wheel->first : wheel->firstevent)) {
        return;
    }
    uint32_t expired = process(wheel, now, expireq);
    for (uint32_t i = 0; i < expired; i++) {
        if (wheel->where[expireq[i]] == EXPIREQ) {
            wheel->where[expireq[i]] = NOWHERE;
            fire->call(fire->ctx, expireq[i]);
        }
    }
}

static uint64_t wheel_next(void *self)
{
    const struct wheel *wheel = self;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (wheel->where[id] != NOWHERE) {
            return wheel->firstevent;
        }
    }
    return TL_NEVER;
}

static void place_of(const void *self, uint32_t id, struct place *place)
{
    const struct wheel *wheel = self;
    place->pending = wheel->where[id] != NOWHERE;
    place->slot = (wheel->c_time[id] >> wheel->bucket_bits) % wheel->callwheelsize;
}

#define MODEL(how)                                                                                 \
    {                                                                                              \
        .follows = "FreeBSD 10, kern_timeout.c", .bytes = sizeof(struct wheel),                    \
        .open = open_##how, .start = wheel_start, .stop = wheel_stop, .advance = wheel_advance,    \
        .next = wheel_next, .place = place_of,                                                     \
    }

static const struct original as_released = MODEL(default);
static const struct original exact = MODEL(exact);
static const struct original small = MODEL(small);

static const struct original_case default_case = {
    .original = &as_released,
    .structure = "callout-wheel",
    .options = "",
    .ordered = true,
    .next = ORIGINAL_NEXT_SAME,
    .clock = 5000,
    .step_ticks = 2000,
};

static const struct original_case exact_case = {
    .original = &exact,
    .structure = "callout-wheel",
    .options = "bits=8:deviation=none",
    .ordered = true,
    .next = ORIGINAL_NEXT_SAME,
    .clock = 77,
    .delay_bits = 13,
};

static const struct original_case small_case = {
    .original = &small,
    .structure = "callout-wheel",
    .options = "bits=6:bucket-bits=0:precision=5:deviation=2",
    .ordered = true,
    .next = ORIGINAL_NEXT_SAME,
    .delay_bits = 10,
};

static void windows_of_freebsd(void **state)
{
    (void)state;
    original_agrees(&default_case);
    original_agrees(&exact_case);
    original_agrees(&small_case);
}

static void but_for_four_habits(void **state)
{
    (void)state;
    original_differs(&default_case, EVERY_INTERRUPT, "an interrupt that comes anyway");
    original_differs(&default_case, LOOKS_AS_FAR, "twice as far as the last");
    original_differs(&small_case, HIDDEN_BY_TURNS, "those of a later turn may hide them");
    original_differs(&small_case, NOW_HAS_A_WINDOW, "whatever `precision`");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_of_freebsd),
        cmocka_unit_test(but_for_four_habits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
