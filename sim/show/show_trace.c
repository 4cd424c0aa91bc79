/* A window of a trace. */
#include "show.h"

#include "child.h"
#include "closed_loop.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define INSIDE_BYTES 400

struct window_run {
    struct show *show;
    const struct show_window *window;
    struct closed_loop *loop; /* NULL: all operations are executed at their ticks */
    bool may_be_early;
    bool begun;                /* the first step has been recorded */
    uint64_t idle_from;        /* the first tick without effect; TL_NEVER: none */
    char inside[INSIDE_BYTES]; /* the operations in callbacks of the present advance */
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

/* Execute an operation, which is a step unless it is done in a callback. `ctx` is the run. */
static void operate(void *ctx, const struct stream_operation *operation)
{
    struct window_run *run = ctx;
    uint32_t id = operation->id;
    uint64_t deadline = operation->deadline;
    struct show *show = run->show;
    char caption[96];
    enum tl_status status;
    if (operation->op == TRACE_START) {
        bool pending = show->deadlines[id] != TL_NEVER;
        (void)snprintf(caption, sizeof caption, "%s %" PRIu32 " %" PRIu64,
                       pending ? "restart" : "start", id, deadline);
        status = show_start(show, id, deadline);
    } else {
        (void)snprintf(caption, sizeof caption, "stop %" PRIu32, id);
        status = show_stop(show, id);
    }
    if (!run->begun) {
        return;
    }
    if (operation->inside) {
        size_t used = strlen(run->inside);
        (void)snprintf(run->inside + used, sizeof run->inside - used, "%s%s",
                       used > 0 ? ", " : "in its callbacks: ", caption);
        return;
    }
    run->idle_from = TL_NEVER;
    show_end_step(show, pool_format(&show->pool, "%s", caption),
                  status != TL_OK ? tl_status_text(status) : NULL);
}

static void show_loop_fired(void *ctx, uint32_t id, uint64_t now)
{
    const struct window_run *run = ctx;
    closed_loop_fired(run->loop, id, now);
}

/* Advance once, which is a step if a timer fired or moved. */
static void advance_once(struct window_run *run, uint64_t now)
{
    struct show *show = run->show;
    uint64_t before = show_counted(show).cascades;
    run->inside[0] = '\0';
    if (run->loop != NULL) {
        closed_loop_advancing(run->loop, now);
    }
    uint64_t fired = show_advance(show, now, run->loop != NULL ? show_loop_fired : NULL, run);
    if (!run->begun) {
        /* not recorded */
    } else if (fired == 0 && show_counted(show).cascades == before) {
        run->idle_from = run->idle_from == TL_NEVER ? now : run->idle_from;
    } else {
        struct text caption = {.pool = &show->pool};
        text_add(&caption, "advance %" PRIu64, now);
        if (run->idle_from != TL_NEVER) {
            text_add(&caption, " (nothing to do from %" PRIu64 " on)", run->idle_from);
        }
        run->idle_from = TL_NEVER;
        show_end_step(show, text_end(&caption),
                      run->inside[0] != '\0' ? pool_format(&show->pool, "%s", run->inside) : NULL);
    }
    if (run->loop != NULL) {
        closed_loop_advanced(run->loop, now);
    }
}

/* Advance to `tick`. Before the window, and without reactions, one jump is enough. */
static void pass_until(struct window_run *run, uint64_t tick)
{
    struct show *show = run->show;
    bool jump = !run->begun && run->loop == NULL;
    while (show->clock < tick && !show->truncated) {
        uint64_t next = jump ? tick : show->clock + 1;
        if (!jump && show->algo->next != NULL) {
            next = show->algo->next(show->self);
            next = next <= show->clock ? show->clock + 1 : next < tick ? next : tick;
        }
        advance_once(run, next);
    }
}

static void begin(struct window_run *run)
{
    struct show *show = run->show;
    if (run->window->from_tick > 0) {
        pass_until(run, run->window->from_tick - 1);
    }
    show_set_quiet(show, false);
    run->begun = true;
    show_end_step(show, "before the window", NULL);
}

/* Execute the operations up to the window's end. Without a closed loop, reactions are executed at
 * their ticks as well. */
static void run_window(struct window_run *run, const struct stream *stream)
{
    const struct show_window *window = run->window;
    struct stream_walk walk = {.stream = stream};
    struct stream_operation operation;
    show_set_quiet(run->show, true);
    while (stream_walk_next(&walk, &operation) && operation.tick <= window->to_tick &&
           !run->show->truncated) {
        bool wanted = is_chosen(window, operation.id) && (run->loop == NULL || !operation.reaction);
        child_progress(operation.event);
        if (!run->begun && operation.tick >= window->from_tick) {
            begin(run);
        }
        if (wanted || run->may_be_early) {
            pass_until(run, operation.tick); /* also for a timer that it fired too early */
        }
        if (wanted && (run->loop == NULL || closed_loop_external(run->loop, &operation))) {
            operate(run, &operation);
        }
    }
    if (!run->begun) {
        begin(run);
    }
    pass_until(run, window->to_tick);
}

bool show_trace_run(const char *path, const struct show_window *window, struct show *show,
                    struct error *error)
{
    struct window_run run = {.show = show, .window = window, .idle_from = TL_NEVER};
    struct stream *stream = stream_open(path, error);
    if (stream == NULL) {
        return false;
    }
    const struct trace_header *header = &stream->header;
    const struct closed_loop_plan plan = {
        .stream = stream,
        .exact = tl_algo_is_exact(show->algo, show->options, header->max_delay_ticks),
        .carry = operate,
        .ctx = &run,
    };
    if (header->reactions > 0 && window->ids == NULL) {
        run.may_be_early = tl_algo_may_be_early(show->algo, show->options, header->max_delay_ticks);
        run.loop = closed_loop_open(&plan);
    }
    run_window(&run, stream);
    closed_loop_close(run.loop);
    stream_close(stream);
    return true;
}
