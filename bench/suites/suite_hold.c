/*
 * Hold: what a firing causes happens inside its callback. So a structure that is late starts late,
 * and is spared nothing: it is timed until as many timers have fired as an exact one fires.
 *
 * The next delay is looked up by what the callback sums up in any case, a mixture of the timer and
 * its tick: exact structures get the same delays, whatever their order within a tick; late ones
 * others, from the same table.
 */
#include "stream.h"
#include "stretch.h"
#include "watched.h"

#include <inttypes.h>
#include <stdio.h>

/* Beyond what lateness explains, a structure is not waited for. */
#define EXTRA_TICKS_MAX (UINT64_C(1) << 20)

static bool plan_hold(struct fixture *fixture)
{
    const struct hold *hold =
        hold_get((enum hold_increments)fixture->row->shape.at[AXIS_INCREMENTS], fixture->row->n);
    if (hold == NULL) {
        return fail(fixture, "no memory for the operations");
    }
    fixture->operations = hold;
    fixture->ids = hold->n;
    fixture->max_delay_ticks = hold->max_delay_ticks;
    return true;
}

/* --- the callback ---------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void
fire_and_hold(struct fixture *fixture, uint32_t id, uint64_t now, bool touch)
{
    struct fired *fired = &fixture->fired;
    uint64_t mixed = workload_mix(id, now - fired->base);
    fired->count++;
    fired->ids += id;
    fired->checksum += mixed;
    if (id >= fixture->ids) { /* the checks will tell */
        return;
    }
    if (touch) {
        fired->connections[id].operations++;
    }
    enum tl_status status =
        fixture->algo->start(fixture->self, id, now + hold_delay(fixture->operations, mixed));
    if (status != TL_OK) {
        fixture->failure = status;
    }
}

static void on_hold(void *ctx, uint32_t id, uint64_t now)
{
    fire_and_hold(ctx, id, now, false);
}

static void on_hold_touching(void *ctx, uint32_t id, uint64_t now)
{
    fire_and_hold(ctx, id, now, true);
}

/* --- the loop -------------------------------------------------------------------------------- */

/* How far to go: until the ticks have passed, and then on until so many have fired. */
struct way {
    uint64_t ticks;
    uint64_t fired;
    uint64_t ticks_max;
};

/* `listed` and `stall` are constants in each caller. */
static inline __attribute__((always_inline)) void go(struct fixture *fixture, const struct way *way,
                                                     bool listed, struct stall *stall)
{
    const struct hold *hold = fixture->operations;
    const struct workload_expiry *expiry = hold->expiries + fixture->listed;
    const struct workload_expiry *end_of_list = hold->expiries + hold->expiry_count;
    tl_fire_fn fire = touches(fixture) ? on_hold_touching : on_hold;
    uint64_t now = fixture->clock;
    uint64_t end = now + way->ticks;
    uint64_t last = now + way->ticks_max;
    while (now < end || (fixture->fired.count < way->fired && now < last)) {
        now++;
        advance_once(fixture, now, fire, fixture, stall);
        while (listed && expiry < end_of_list && expiry->tick <= now - fixture->fired.base) {
            fire(fixture, expiry->id, now);
            expiry++;
        }
    }
    fixture->clock = now;
    fixture->listed = (size_t)(expiry - hold->expiries);
}

/* What fires nothing is called back for by the list of what an exact structure fires, so that its
 * floor has the same starts in it. */
static void hold_way(struct fixture *fixture, const struct way *way, struct stall *stall)
{
    if (!fixture->fires) {
        if (stall != NULL) {
            go(fixture, way, true, stall);
        } else {
            go(fixture, way, true, NULL);
        }
    } else if (stall != NULL) {
        go(fixture, way, false, stall);
    } else {
        go(fixture, way, false, NULL);
    }
}

/* As long as there is patience: true if all ticks went by. */
static bool hold_untimed(struct fixture *fixture, uint64_t ticks, struct stall *stall)
{
    while (ticks > 0 && has_patience(fixture)) {
        struct way slice = {.ticks = ticks < SLICE_TICKS ? ticks : SLICE_TICKS};
        hold_way(fixture, &slice, stall);
        ticks -= slice.ticks;
    }
    return ticks == 0;
}

/* The ticks of an exact structure; for what may be late so many more as it needs to fire as often,
 * if each time were the latest possible. The delays that it meets differ, hence an eighth more. */
static struct way timed_way(const struct fixture *fixture, const struct hold_stretch *stretch)
{
    struct way way = {.ticks = stretch->ticks, .ticks_max = stretch->ticks};
    if (fixture->fires && !fixture->exact) {
        uint64_t late =
            fixture->late_ticks < EXTRA_TICKS_MAX ? fixture->late_ticks : EXTRA_TICKS_MAX;
        uint64_t most = 8 * way.ticks + EXTRA_TICKS_MAX;
        uint64_t times = 2 + way.ticks / HOLD_MEAN_TICKS;
        uint64_t extra = way.ticks / 8 + HOLD_MEAN_TICKS + times * late;
        way.fired = stretch->expected.count;
        way.ticks_max += extra < most ? extra : most;
    }
    return way;
}

/* --- the suite ------------------------------------------------------------------------------- */

/* Forgets what has fired; ticks count on from the hold's beginning. */
static void begin_stretch(struct fixture *fixture)
{
    uint64_t base = fixture->fired.base;
    reset_fired(fixture);
    fixture->fired.base = base;
}

static bool start_all(struct fixture *fixture)
{
    const struct hold *hold = fixture->operations;
    for (uint32_t id = 0; id < hold->n; id++) {
        enum tl_status status =
            fixture->algo->start(fixture->self, id, fixture->clock + hold->initial[id]);
        fixture->failure = status != TL_OK ? status : fixture->failure;
        if (id % SLICE_STARTS == 0 && !still_patient(fixture)) {
            return false;
        }
    }
    reset_fired(fixture);
    if (is_floor(fixture)) {
        floor_schedule(fixture->self, hold->expiries, hold->expiry_count, fixture->clock);
    }
    return verify_started(fixture, hold->n);
}

/* Exact or late, each timer that has fired is pending again. */
static bool verify_stretch(struct fixture *fixture, const struct hold_stretch *stretch)
{
    const struct hold *hold = fixture->operations;
    return verify_started(fixture, hold->n) && verify_pending(fixture, hold->n) &&
           verify_fired(fixture, &stretch->expected);
}

static void remark_lateness(struct fixture *fixture, const struct hold_stretch *stretch,
                            uint64_t ticks)
{
    char *remark = fixture->row->remark;
    size_t bytes = sizeof fixture->row->remark;
    if (fixture->fired.count < stretch->expected.count) {
        (void)snprintf(
            remark, bytes,
            "late: %" PRIu64 " of %" PRIu64 " expiries were not reached in %" PRIu64 " ticks",
            stretch->expected.count - fixture->fired.count, stretch->expected.count, ticks);
    } else {
        (void)snprintf(remark, bytes,
                       "as many expiries as an exact structure has in %" PRIu32
                       " ticks took %" PRIu64,
                       stretch->ticks, ticks);
    }
}

static bool measure_hold(struct fixture *fixture, struct bench_measured *out)
{
    const struct hold *hold = fixture->operations;
    struct stall stall;
    if (!begin_stall(fixture, &stall) || !start_all(fixture)) {
        return false;
    }
    if (!hold_untimed(fixture, hold->warm_up.ticks, NULL)) {
        return still_patient(fixture);
    }
    if (!verify_stretch(fixture, &hold->warm_up)) {
        return false;
    }
    begin_stretch(fixture);
    struct way way = timed_way(fixture, &hold->timed);
    uint64_t from = fixture->clock;
    struct stretch stretch;
    stretch_begin(&stretch, out);
    hold_way(fixture, &way, NULL);
    (void)stretch_end(&stretch);
    out->operations = fixture->fired.count;
    out->batches = 1;
    if (fixture->fires && !fixture->exact) {
        remark_lateness(fixture, &hold->timed, fixture->clock - from);
        if (out->operations == 0) {
            return leave_out(fixture, "%s", fixture->row->remark);
        }
    }
    if (!verify_stretch(fixture, &hold->timed)) {
        return false;
    }
    begin_stretch(fixture);
    if (hold_untimed(fixture, hold->stall.ticks, &stall) &&
        !verify_stretch(fixture, &hold->stall)) {
        return false;
    }
    report_stall(&stall, out);
    return true;
}

extern const struct suite suites_hold[];
const struct suite suites_hold[] = {
    {.text = {.name = "hold",
              .what = "n timers; each expiry starts its timer again, in its callback, after 6,000 "
                      "ticks in the mean; tick by tick, until as many have fired as an exact "
                      "structure fires",
              .why = "the classic test of event lists, and the life of a retry or heartbeat timer",
              .per = "expiry with its start"},
     .axes = 1 << AXIS_INCREMENTS | 1 << AXIS_TOUCH | 1 << AXIS_PAGES,
     .has_floor = true,
     .limit = "record-16",
     .limit_touch = "record-64",
     .floor_label = "fires nothing: called back by a list of what is due",
     .plan = plan_hold,
     .measure = measure_hold},
    {.text = {.name = NULL}},
};
