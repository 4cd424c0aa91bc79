/*
 * Time without timers: what passing over ticks costs in which nothing is due.
 */
#include "stretch.h"
#include "suites.h"

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

/* The ticks that are passed over; a suite that does not fix them has an axis for them, and passes
 * over them in one advance. */
static uint64_t span_of(const struct fixture *fixture)
{
    uint32_t fixed = fixture->row->suite->source;
    return fixed > 0 ? fixed : fixture->row->shape.at[AXIS_JUMP];
}

static bool plan_idle(struct fixture *fixture)
{
    fixture->ids = FAR_TIMERS;
    fixture->max_delay_ticks = span_of(fixture) + FAR_TIMERS;
    if (fixture->row->suite->source == 0) {
        fixture->memory_limit_bytes = FAR_MEMORY_BYTES;
    }
    return true;
}

static bool measure_idle(struct fixture *fixture, struct bench_measured *out)
{
    bool jumps = fixture->row->suite->source == 0;
    uint64_t span = span_of(fixture);
    uint64_t step = jumps ? span : 1;
    do {
        if (!start_far(fixture, span)) {
            return false;
        }
        uint64_t end = fixture->clock + span;
        struct stretch stretch;
        stretch_begin(&stretch, out);
        for (uint64_t now = fixture->clock + step; now <= end; now += step) {
            (void)fixture->algo->advance(fixture->self, now, TL_NO_BUDGET, on_fire,
                                         &fixture->fired);
        }
        (void)stretch_end(&stretch);
        fixture->clock = end;
        out->operations += span / step;
        out->batches++;
        if (!verify_nothing_fired(fixture)) {
            return false;
        }
    } while (jumps ? out->elapsed_ns < min_time_ns(fixture) && out->operations < JUMPS_MAX
                   : out->batches < EMPTY_ROUNDS);
    return true;
}

/* --- the table ------------------------------------------------------------------------------- */

const struct suite suites_idle[] = {
    {.text = {.name = "far-jump",
              .what = "ten timers far ahead, and one advance over many ticks in which none is due",
              .why = "a process that slept, or a simulation that skips idle time",
              .per = "jump"},
     .axes = 1 << AXIS_JUMP,
     .fixed_n = FAR_TIMERS,
     .limit = "indirect-call",
     .plan = plan_idle,
     .measure = measure_idle},
    {.text = {.name = "empty-ticks",
              .what = "ten timers far ahead, tick by tick",
              .why = "the cost that an idle server has a thousand times a second",
              .per = "tick"},
     .fixed_n = FAR_TIMERS,
     .limit = "indirect-call",
     .source = EMPTY_TICKS,
     .plan = plan_idle,
     .measure = measure_idle},
    {.text = {.name = NULL}},
};
