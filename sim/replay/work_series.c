#include "work_series.h"

#include <string.h>

struct tl_counters work_since(const struct tl_counters *counted, const struct tl_counters *before)
{
    return (struct tl_counters){.compares = counted->compares - before->compares,
                                .moves = counted->moves - before->moves,
                                .slots = counted->slots - before->slots,
                                .cascades = counted->cascades - before->cascades};
}

uint64_t work_total(const struct tl_counters *counters)
{
    return counters->compares + counters->moves + counters->slots + counters->cascades;
}

void work_begin(struct work_series *series, uint64_t from_tick, uint64_t to_tick,
                const struct tl_counters *counted)
{
    memset(series, 0, sizeof *series);
    series->from_tick = from_tick;
    series->to_tick = to_tick;
    series->ticks = 1;
    series->counted = *counted;
    series->current.tick = from_tick;
    if (to_tick < from_tick) {
        return;
    }
    while ((to_tick - from_tick) / series->ticks >= WORK_STRETCHES_MAX) {
        series->ticks *= 2;
    }
    series->count = (uint32_t)((to_tick - from_tick) / series->ticks) + 1;
}

/* Return the counts since the last call. */
static struct tl_counters take_work(struct work_series *series, const struct tl_counters *counted)
{
    struct tl_counters since = work_since(counted, &series->counted);
    series->counted = *counted;
    return since;
}

/* Return the stretch of a tick, or the nearest one. */
static struct work_stretch *stretch_of(struct work_series *series, uint64_t tick)
{
    uint64_t at = tick > series->from_tick ? (tick - series->from_tick) / series->ticks : 0;
    return &series->stretches[at < series->count ? at : series->count - 1];
}

/* Close the current tick. */
static void file_current(struct work_series *series)
{
    const struct work_tick *current = &series->current;
    struct work_stretch *stretch = stretch_of(series, current->tick);
    uint64_t work = work_total(&current->work);
    tl_counters_add(&stretch->work, &current->work);
    stretch->fired += current->fired;
    if (work > work_total(&stretch->worst.work)) {
        stretch->worst = *current;
    }
}

void work_add_tick(struct work_series *series, uint64_t tick, uint64_t fired,
                   const struct tl_counters *counted)
{
    if (series->count == 0) {
        return;
    }
    if (tick != series->current.tick) {
        file_current(series);
        series->current = (struct work_tick){.tick = tick};
    }
    struct tl_counters since = take_work(series, counted);
    tl_counters_add(&series->current.work, &since);
    series->current.fired += fired;
}

void work_add_operations(struct work_series *series, uint64_t tick,
                         const struct tl_counters *counted)
{
    if (series->count == 0) {
        return;
    }
    struct tl_counters since = take_work(series, counted);
    stretch_of(series, tick)->operations += work_total(&since);
}

void work_end(struct work_series *series)
{
    if (series->count > 0) {
        file_current(series);
        series->current = (struct work_tick){0};
    }
}

void work_merge(struct work_series *series, const struct work_series *other)
{
    if (series->from_tick != other->from_tick || series->to_tick != other->to_tick ||
        series->count != other->count) {
        series->count = 0;
    }
    for (uint32_t k = 0; k < series->count; k++) {
        struct work_stretch *stretch = &series->stretches[k];
        const struct work_stretch *more = &other->stretches[k];
        tl_counters_add(&stretch->work, &more->work);
        stretch->operations += more->operations;
        stretch->fired += more->fired;
        if (work_total(&more->worst.work) > work_total(&stretch->worst.work)) {
            stretch->worst = more->worst;
        }
    }
}
