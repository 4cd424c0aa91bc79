#include "show_trace.h"

#include "progress.h"

#include <inttypes.h>
#include <stdio.h>

struct window_run {
    struct show *show;
    const struct show_window *window;
    bool begun;         /* the first step has been taken */
    uint64_t idle_from; /* the first of the ticks at which nothing happened; TL_NEVER: none */
};

static bool is_chosen(const struct show_window *window, uint32_t id)
{
    for (size_t i = 0; i < window->id_count; i++) {
        if (window->ids[i] == id) {
            return true;
        }
    }
    return window->ids == NULL;
}

static uint64_t cascades_of(const struct show *show)
{
    struct tl_counters counters = {0};
    if (show->algo->counters != NULL) {
        show->algo->counters(show->self, &counters);
    }
    return counters.cascades;
}

/* One advance, which is a step if something fired or moved. */
static bool advance_once(struct window_run *run, uint64_t now, struct error *error)
{
    struct show *show = run->show;
    uint64_t before = cascades_of(show);
    uint64_t fired = show_advance(show, now);
    if (fired == 0 && cascades_of(show) == before) {
        run->idle_from = run->idle_from == TL_NEVER ? now : run->idle_from;
        return true;
    }
    char caption[96];
    if (run->idle_from != TL_NEVER) {
        (void)snprintf(caption, sizeof caption,
                       "advance %" PRIu64 " (nothing to do from %" PRIu64 " on)", now,
                       run->idle_from);
    } else {
        (void)snprintf(caption, sizeof caption, "advance %" PRIu64, now);
    }
    run->idle_from = TL_NEVER;
    return show_end_step(show, caption, NULL, error);
}

/* Lets time pass up to `tick`, which comes after the clock. */
static bool pass_until(struct window_run *run, uint64_t tick, struct error *error)
{
    struct show *show = run->show;
    bool good = true;
    while (good && show->clock < tick && !show->truncated) {
        uint64_t next = show->clock + 1;
        if (show->algo->next != NULL) {
            next = show->algo->next(show->self);
            next = next <= show->clock ? show->clock + 1 : next < tick ? next : tick;
        }
        good = advance_once(run, next, error);
    }
    return good;
}

/* Lets time pass unseen: nobody watches when a timer fires, so one jump does. */
static void pass_unseen(struct show *show, uint64_t tick)
{
    if (tick > show->clock) {
        (void)show_advance(show, tick);
    }
}

static bool begin(struct window_run *run, struct error *error)
{
    struct show *show = run->show;
    if (run->window->from_tick > 0) {
        pass_unseen(show, run->window->from_tick - 1);
    }
    show_set_quiet(show, false);
    run->begun = true;
    return show_end_step(show, "before the window", NULL, error);
}

static bool apply(struct window_run *run, const struct trace_record *record, struct error *error)
{
    struct show *show = run->show;
    char caption[96];
    const char *outcome = NULL;
    enum tl_status status;
    if (record->op == TRACE_START) {
        bool pending = show->deadlines[record->id] != TL_NEVER;
        (void)snprintf(caption, sizeof caption, "%s %" PRIu32 " %" PRIu64,
                       pending ? "restart" : "start", record->id, record->deadline);
        status = show_start(show, record->id, record->deadline);
    } else {
        (void)snprintf(caption, sizeof caption, "stop %" PRIu32, record->id);
        status = show_stop(show, record->id);
    }
    if (!run->begun) {
        return true;
    }
    run->idle_from = TL_NEVER;
    outcome = status != TL_OK ? tl_status_text(status) : NULL;
    return show_end_step(show, caption, outcome, error);
}

/* The operations of a block, up to the window's end. *over: that was reached. */
static bool apply_block(struct window_run *run, const struct trace_block *block, bool *over,
                        struct error *error)
{
    struct show *show = run->show;
    bool good = true;
    for (size_t g = 0; good && !*over && g < block->group_count; g++) {
        const struct trace_group *group = &block->groups[g];
        *over = group->tick > run->window->to_tick || show->truncated;
        if (*over) {
            break;
        }
        if (!run->begun && group->tick >= run->window->from_tick) {
            good = begin(run, error);
        }
        bool passed = false;
        for (uint32_t i = 0; good && i < group->count; i++) {
            const struct trace_record *record = &block->records[group->first + i];
            if (!is_chosen(run->window, record->id)) {
                continue;
            }
            if (!passed && run->begun) {
                good = pass_until(run, group->tick, error);
            } else if (!passed) {
                pass_unseen(show, group->tick);
            }
            passed = true;
            good = good && apply(run, record, error);
        }
    }
    return good;
}

bool show_trace_run(struct trace_reader *reader, const struct show_window *window,
                    struct show *show, struct error *error)
{
    struct window_run run = {.show = show, .window = window, .idle_from = TL_NEVER};
    struct progress progress;
    struct trace_block block;
    bool over = false;
    int got = 0;
    progress_begin(&progress, "replaying up to the window", "operations",
                   trace_reader_header(reader)->events);
    show_set_quiet(show, true);
    bool good = true;
    while (good && !over && (got = trace_reader_next(reader, &block, error)) == 1) {
        good = apply_block(&run, &block, &over, error);
        progress_update(&progress, block.first_event + block.record_count);
    }
    good = good && got >= 0;
    if (good && !run.begun) {
        good = begin(&run, error);
    }
    if (good) {
        good = pass_until(&run, window->to_tick, error);
    }
    progress_end(&progress);
    return good;
}
