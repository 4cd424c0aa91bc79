/*
 * Time without timers: what passing over ticks costs in which nothing is due.
 */
#include "stretch.h"

#include <inttypes.h>

enum {
    FAR_TIMERS = 10,
    FAR_MEMORY_BYTES = 64 << 20, /* for ten timers */
    JUMPS_MAX = 1000,
    EMPTY_TICKS = 50000,
    EMPTY_ROUNDS = 4,
};

/* Ten timers, all further ahead than `ticks`. */
static bool start_far(struct fixture *fixture, uint64_t ticks)
{
    for (uint32_t id = 0; id < FAR_TIMERS; id++) {
        enum tl_status status =
            fixture->algo->start(fixture->self, id, fixture->clock + ticks + 1 + id);
        if (tl_status_is_refusal(status)) {
            return leave_out(fixture, "a delay of %" PRIu64 " ticks: %s", ticks + 1 + id,
                             tl_status_text(status));
        }
        if (status != TL_OK) {
            return fail(fixture, "start: %s (%s)", tl_status_text(status), tl_status_name(status));
        }
    }
    reset_fired(fixture);
    return true;
}

static bool plan_far_jump(struct fixture *fixture)
{
    fixture->ids = FAR_TIMERS;
    fixture->max_delay_ticks = fixture->row->shape.at[AXIS_JUMP] + FAR_TIMERS;
    fixture->memory_limit_bytes = FAR_MEMORY_BYTES;
    return true;
}

static bool measure_far_jump(struct fixture *fixture, struct bench_measured *out)
{
    uint64_t ticks = fixture->row->shape.at[AXIS_JUMP];
    do {
        if (!start_far(fixture, ticks)) {
            return false;
        }
        struct stretch stretch;
        stretch_begin(&stretch, out);
        (void)fixture->algo->advance(fixture->self, fixture->clock + ticks, TL_NO_BUDGET, on_fire,
                                     &fixture->fired);
        (void)stretch_end(&stretch);
        fixture->clock += ticks;
        out->operations++;
        out->batches++;
        if (!verify_nothing_fired(fixture)) {
            return false;
        }
    } while (out->elapsed_ns < suite_min_time_ns() && out->operations < JUMPS_MAX);
    return true;
}

static bool plan_empty_ticks(struct fixture *fixture)
{
    fixture->ids = FAR_TIMERS;
    fixture->max_delay_ticks = EMPTY_TICKS + FAR_TIMERS;
    return true;
}

static bool measure_empty_ticks(struct fixture *fixture, struct bench_measured *out)
{
    for (int round = 0; round < EMPTY_ROUNDS; round++) {
        if (!start_far(fixture, EMPTY_TICKS)) {
            return false;
        }
        uint64_t end = fixture->clock + EMPTY_TICKS;
        struct stretch stretch;
        stretch_begin(&stretch, out);
        for (uint64_t now = fixture->clock + 1; now <= end; now++) {
            (void)fixture->algo->advance(fixture->self, now, TL_NO_BUDGET, on_fire,
                                         &fixture->fired);
        }
        (void)stretch_end(&stretch);
        fixture->clock = end;
        out->operations += EMPTY_TICKS;
        out->batches++;
        if (!verify_nothing_fired(fixture)) {
            return false;
        }
    }
    return true;
}

/* --- the table ------------------------------------------------------------------------------- */

extern const struct suite suites_idle[];
const struct suite suites_idle[] = {
    {.text = {.name = "far-jump",
              .what = "ten timers far ahead, and one advance over many ticks in which none is due",
              .why = "a process that slept, or a simulation that skips idle time",
              .per = "jump"},
     .axes = 1 << AXIS_JUMP,
     .fixed_n = FAR_TIMERS,
     .limit = "indirect-call",
     .plan = plan_far_jump,
     .measure = measure_far_jump},
    {.text = {.name = "empty-ticks",
              .what = "ten timers far ahead, tick by tick",
              .why = "the cost that an idle server has a thousand times a second",
              .per = "tick"},
     .fixed_n = FAR_TIMERS,
     .limit = "indirect-call",
     .plan = plan_empty_ticks,
     .measure = measure_empty_ticks},
    {.text = {.name = NULL}},
};
