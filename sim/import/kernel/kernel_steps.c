#include "kernel_steps.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>

/* --- the clocks ------------------------------------------------------------------------------- */

/* How far the counter must have moved for an estimate, and for a final one. */
#define HZ_SPAN_LEAST   20u
#define HZ_SPAN_JIFFIES 1000u

/* Every CONFIG_HZ of Linux's architectures. */
static const unsigned known_hz[] = {24,  32,  48,  64,  100, 128,  200,
                                    250, 256, 300, 500, 512, 1000, 1024};

static bool moved(const struct kernel_clock *clock, uint64_t jiffies)
{
    return clock->jiffies_seen && clock->last_jiffies > clock->first_jiffies &&
           clock->last_jiffies - clock->first_jiffies >= jiffies;
}

bool kernel_clock_hz_is_sure(const struct kernel_clock *clock)
{
    return moved(clock, HZ_SPAN_JIFFIES);
}

uint64_t kernel_clock_hz(const struct kernel_clock *clock)
{
    if (!moved(clock, HZ_SPAN_LEAST) || clock->last_jiffies_ns <= clock->first_jiffies_ns) {
        return 0;
    }
    double measured = (double)(clock->last_jiffies - clock->first_jiffies) * 1e9 /
                      (double)(clock->last_jiffies_ns - clock->first_jiffies_ns);
    uint64_t nearest = 0;
    double nearest_ratio = 1.10; /* the greatest accepted error */
    for (size_t i = 0; i < sizeof known_hz / sizeof known_hz[0]; i++) {
        double hz = known_hz[i];
        double ratio = measured > hz ? measured / hz : hz / measured;
        if (ratio < nearest_ratio) {
            nearest = known_hz[i];
            nearest_ratio = ratio;
        }
    }
    return nearest;
}

/* Clocks within a second of each other are one: different clocks are much further apart. */
void kernel_clock_observe_hrtimer(struct kernel_clock *clock, const struct kernel_event *event)
{
    kernel_wide offset = (kernel_wide)event->now - event->time_ns;
    for (size_t i = 0; i < clock->count; i++) {
        kernel_wide difference = clock->clocks[i] - offset;
        if (difference > -(kernel_wide)NS_PER_SECOND && difference < (kernel_wide)NS_PER_SECOND) {
            clock->clocks[i] = offset;
            return;
        }
    }
    if (clock->count < KERNEL_CLOCKS_MAX) {
        clock->clocks[clock->count++] = offset;
    }
}

/* Return the time from `time_ns` to an hrtimer's absolute deadline, by the clock that brings it
 * nearest, because the recording does not name the timer's clock. */
static kernel_wide delay_ns_of(const struct kernel_clock *clock, int64_t deadline, uint64_t time_ns)
{
    kernel_wide nearest = 0;
    for (size_t i = 0; i < clock->count; i++) {
        kernel_wide delay = deadline - (time_ns + clock->clocks[i]);
        if (i == 0 || (delay < 0 ? -delay : delay) < (nearest < 0 ? -nearest : nearest)) {
            nearest = delay;
        }
    }
    return nearest;
}

/* --- the recording's order -------------------------------------------------------------------- */

static void add_expiry(struct kernel_steps *steps, const struct kernel_event *event, uint32_t ends)
{
    /* Another CPU may have run the wheel that holds it. */
    steps->ran[event->cpu] = event->now;
    if (ends != KERNEL_NO_STEP) {
        struct kernel_step *start = &steps->steps[ends];
        start->expired = event->bucket;
        start->expired_line = event->line;
        steps->ran[start->cpu] = event->now;
    }
}

uint32_t kernel_steps_add(struct kernel_steps *steps, uint32_t id,
                          const struct kernel_operation *operation, uint32_t cause, uint32_t ends)
{
    const struct kernel_event *event = operation->event;
    bool wheel = event->kind < KERNEL_HRTIMER_START;
    steps->high_resolution = !wheel;
    MEMORY_REACH(steps->steps, steps->room, steps->count);
    if (steps->ran == NULL) {
        steps->ran = memory_new(KERNEL_CPUS_MAX, sizeof *steps->ran);
    }
    if (wheel && event->kind != KERNEL_TIMER_CANCEL && event->now > steps->jiffies) {
        steps->jiffies = event->now;
        steps->jiffies_ns = event->time_ns;
    }
    if (operation->verdict == KERNEL_EXPIRY) {
        add_expiry(steps, event, ends);
        return 0;
    }
    bool stop = operation->verdict == KERNEL_TRUE_CANCEL;
    struct kernel_step step = {
        .now = !wheel ? event->time_ns
               : stop ? steps->jiffies
                      : event->now,
        .deadline = wheel ? (int64_t)(event->now + (uint64_t)event->timeout)
                          : event->timeout - (int64_t)event->slack_ns,
        .slack_ns = event->slack_ns,
        .bucket = event->bucket,
        .expired = KERNEL_NEVER,
        .line = event->line,
        .id = id,
        .function = operation->function,
        .cause = cause,
        /* Where events were lost, it may have ended long before. */
        .ends = operation->verdict == KERNEL_START_ON_ARMED ? KERNEL_NO_STEP : ends,
        .cpu =
            (uint16_t)(stop && ends != KERNEL_NO_STEP ? steps->steps[ends].cpu : event->base_cpu),
        .op = stop ? TRACE_STOP : TRACE_START,
        .deferrable = event->deferrable,
    };
    if (wheel && stop && event->time_ns > steps->jiffies_ns) {
        step.unread_ns = event->time_ns - steps->jiffies_ns;
    }
    /* Once the wheel has run in this jiffy, it is the next one's turn. */
    step.clock = step.now + (steps->ran[step.cpu] >= step.now);
    steps->steps[steps->count] = step;
    return steps->count++;
}

/* --- fixed delay or absolute ------------------------------------------------------------------ */

struct reaction_delay {
    int64_t delay;
    uint32_t function;
    uint32_t step;
};

static int by_function_and_delay(const void *a, const void *b)
{
    const struct reaction_delay *one = a;
    const struct reaction_delay *other = b;
    if (one->function != other->function) {
        return one->function < other->function ? -1 : 1;
    }
    return (one->delay > other->delay) - (one->delay < other->delay);
}

/* The reactions of one function, in the order of their delays. */
static void settle_function(struct kernel_steps *steps, const struct reaction_delay *delays,
                            size_t count)
{
    size_t most = 0;
    size_t same = 0;
    for (size_t i = 0; i < count; i++) {
        same = i > 0 && delays[i].delay == delays[i - 1].delay ? same + 1 : 1;
        most = same > most ? same : most;
    }
    bool absolute = steps->high_resolution || most * 4 < count;
    uint8_t basis = absolute ? TRACE_ABSOLUTE : TRACE_FIXED_DELAY;
    for (size_t i = 0; i < count; i++) {
        steps->steps[delays[i].step].basis = basis;
    }
}

void kernel_steps_settle(struct kernel_steps *steps)
{
    struct reaction_delay *delays = memory_new((size_t)steps->count + 1, sizeof *delays);
    size_t count = 0;
    for (uint32_t i = 0; i < steps->count; i++) {
        struct kernel_step *step = &steps->steps[i];
        if (step->cause == KERNEL_NO_STEP) {
            continue;
        }
        step->basis = TRACE_FIXED_DELAY;
        if (step->op == TRACE_START) {
            uint64_t fired = steps->steps[step->cause].expired;
            delays[count++] =
                (struct reaction_delay){.delay = (int64_t)((uint64_t)step->deadline - fired),
                                        .function = step->function,
                                        .step = i};
        }
    }
    qsort(delays, count, sizeof *delays, by_function_and_delay);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from; to < count && delays[to].function == delays[from].function; to++) {
        }
        settle_function(steps, &delays[from], to - from);
    }
    free(delays);
}

/* --- a trace's order -------------------------------------------------------------------------- */

/* Jiffies in ticks, rounded up on request; 0 for less than none. */
static uint64_t jiffies_in_ticks(const struct kernel_ticks *ticks, kernel_wide jiffies, bool up)
{
    if (jiffies <= 0) {
        return 0;
    }
    if (ticks->tick_ns != NS_PER_SECOND / ticks->hz) {
        kernel_wide divisor = (kernel_wide)ticks->hz * ticks->tick_ns;
        jiffies = (jiffies * NS_PER_SECOND + (up ? divisor - 1 : 0)) / divisor;
    }
    return jiffies < (kernel_wide)TRACE_TICK_MAX ? (uint64_t)jiffies : TRACE_TICK_MAX;
}

/* Return the tick of a step that no expiry causes. */
static uint64_t external_tick(const struct kernel_ticks *ticks, const struct kernel_step *step)
{
    if (ticks->hz == 0) {
        return step->now > ticks->origin ? (step->now - ticks->origin) / ticks->tick_ns : 0;
    }
    kernel_wide unread = (kernel_wide)step->unread_ns * ticks->hz / NS_PER_SECOND;
    return jiffies_in_ticks(ticks, (kernel_wide)step->now - ticks->origin + unread, false);
}

/* Return the deadline of a start, as a tick, rounded up. */
static uint64_t deadline_tick(const struct kernel_ticks *ticks, const struct kernel_step *step)
{
    if (ticks->hz > 0) {
        return jiffies_in_ticks(ticks, (kernel_wide)step->deadline + 1 - ticks->origin, true);
    }
    kernel_wide delay = delay_ns_of(ticks->clock, step->deadline, step->now);
    delay = delay > 0 ? (delay + ticks->tick_ns - 1) / ticks->tick_ns : 0;
    return delay < (kernel_wide)TRACE_TICK_MAX ? external_tick(ticks, step) + (uint64_t)delay
                                               : TRACE_TICK_MAX;
}

struct placing {
    const struct kernel_steps *steps;
    const struct kernel_ticks *ticks;
    struct kernel_placed *placed; /* in the recording's order */
    uint64_t *touched;            /* by id: the tick of its latest operation */
};

/* Return the tick at which an exact structure fires a placed start. */
static uint64_t due_tick_of(const struct placing *placing, uint32_t start)
{
    const struct kernel_placed *placed = &placing->placed[start];
    uint64_t due = placed->tick + (placed->delay_ticks > 0 ? placed->delay_ticks : 1);
    return due < TRACE_TICK_MAX ? due : TRACE_TICK_MAX;
}

/* Return the jiffy of a start or stop by the clock of the kernel's wheel. */
static uint64_t wheel_jiffy(const struct kernel_steps *steps, const struct kernel_step *step)
{
    uint64_t jiffy = step->clock;
    if (step->op == TRACE_START) {
        /* Before it can fire. */
        uint64_t expires = (uint64_t)step->deadline;
        jiffy = step->clock < expires ? step->clock + 1 : expires;
    }
    if (step->ends != KERNEL_NO_STEP) {
        /* Before the start that it ends is due, unless it came after that. */
        uint64_t expires = (uint64_t)steps->steps[step->ends].deadline;
        jiffy = step->now <= expires && jiffy > expires ? expires : jiffy;
    }
    return jiffy;
}

/* Return the tick of a step that no expiry causes, without regard to its timer's other steps. */
static uint64_t own_tick(const struct kernel_steps *steps, const struct kernel_ticks *ticks,
                         const struct kernel_step *step)
{
    kernel_wide jiffy = ticks->wheel_clock ? wheel_jiffy(steps, step) : 0;
    uint64_t tick = ticks->wheel_clock ? jiffies_in_ticks(ticks, jiffy - ticks->origin, false)
                                       : external_tick(ticks, step);
    if (step->ends != KERNEL_NO_STEP && steps->steps[step->ends].bucket > 0) {
        kernel_wide before = (kernel_wide)steps->steps[step->ends].bucket - 1;
        uint64_t last = jiffies_in_ticks(ticks, before - ticks->origin, false);
        tick = tick < last ? tick : last;
    }
    return tick;
}

/* Give each step its own tick, but a start at most the tick of the next start of its timer: a start
 * is placed up to two jiffies late, and would push a shorter one that follows within these two past
 * its due tick. `next` is scratch, by id. */
static void place_apart(struct placing *placing, uint64_t *next)
{
    for (uint32_t i = placing->steps->count; i-- > 0;) {
        const struct kernel_step *step = &placing->steps->steps[i];
        struct kernel_placed *to = &placing->placed[i];
        to->step = i;
        to->tick = own_tick(placing->steps, placing->ticks, step);
        if (step->op == TRACE_START && step->cause == KERNEL_NO_STEP) {
            to->tick = to->tick < next[step->id] ? to->tick : next[step->id];
            next[step->id] = to->tick;
        }
    }
}

static void place_external(struct placing *placing, const struct kernel_step *step,
                           struct kernel_placed *to)
{
    uint64_t tick = to->tick > placing->touched[step->id] ? to->tick : placing->touched[step->id];
    uint64_t deadline = step->op == TRACE_START ? deadline_tick(placing->ticks, step) : 0;
    to->tick = tick;
    to->delay_ticks = deadline > tick ? deadline - tick : 0;
}

static void place_reaction(struct placing *placing, const struct kernel_step *step,
                           struct kernel_placed *to)
{
    const struct kernel_ticks *ticks = placing->ticks;
    to->reaction = true;
    to->tick = due_tick_of(placing, step->cause);
    if (step->op == TRACE_STOP) {
        to->delay_ticks = 0;
    } else if (step->basis == TRACE_ABSOLUTE) {
        uint64_t deadline = deadline_tick(ticks, step);
        to->delay_ticks = deadline > to->tick ? deadline - to->tick : 0;
    } else {
        kernel_wide fired = placing->steps->steps[step->cause].expired;
        to->delay_ticks = jiffies_in_ticks(ticks, (kernel_wide)step->deadline + 1 - fired, true);
    }
}

static int by_tick(const void *a, const void *b)
{
    const struct kernel_placed *one = a;
    const struct kernel_placed *other = b;
    if (one->tick != other->tick) {
        return one->tick < other->tick ? -1 : 1;
    }
    return one->step < other->step ? -1 : 1;
}

struct kernel_placed *kernel_steps_place(const struct kernel_steps *steps,
                                         const struct kernel_ticks *ticks, uint32_t ids)
{
    struct placing placing = {
        .steps = steps,
        .ticks = ticks,
        .placed = memory_new((size_t)steps->count + 1, sizeof *placing.placed),
        .touched = memory_new((size_t)ids + 1, sizeof *placing.touched),
    };
    memset(placing.touched, 0xff, ids * sizeof *placing.touched);
    place_apart(&placing, placing.touched);
    memset(placing.touched, 0, ids * sizeof *placing.touched);
    for (uint32_t i = 0; i < steps->count; i++) {
        const struct kernel_step *step = &steps->steps[i];
        struct kernel_placed *to = &placing.placed[i];
        if (step->cause != KERNEL_NO_STEP &&
            due_tick_of(&placing, step->cause) >= placing.touched[step->id]) {
            place_reaction(&placing, step, to);
        } else {
            place_external(&placing, step, to);
        }
        placing.touched[step->id] = to->tick;
    }
    free(placing.touched);
    qsort(placing.placed, steps->count, sizeof *placing.placed, by_tick);
    return placing.placed;
}

void kernel_steps_free(struct kernel_steps *steps)
{
    free(steps->steps);
    free(steps->ran);
    *steps = (struct kernel_steps){0};
}
