#include "predict.h"

#include "child.h"
#include "closed_loop.h"
#include "memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEVER UINT64_MAX

/* A start: an operation of the trace. */
struct known {
    const struct recorded_expiry *expiry; /* NULL: it did not expire */
    uint64_t fired;                       /* when the structure fires it, or NEVER */
};

/* The latest start of a timer. */
struct holding {
    uint64_t event; /* NEVER: it has fired */
    uint32_t system;
};

struct predict_run {
    const struct recording *recording;
    const struct stream *stream;
    struct known *known; /* by event */
    uint64_t last_tick;  /* of an expiry */
    const struct tl_algo *algo;
    struct closed_loop *loop;
    void **systems; /* a structure for each system */
    uint32_t system_count;
    struct holding *holdings; /* by id */
    uint64_t now;
    struct prediction *prediction;
    bool refused; /* the structure refused a start */
};

/* --- the recording --------------------------------------------------------------------------- */

/* Join the recording's expiries with the starts of the expired timers. */
static void join_expiries(struct predict_run *run)
{
    const struct recording *recording = run->recording;
    uint64_t lines = 0;
    for (uint32_t i = 0; i < recording->operation_count; i++) {
        uint64_t line = recording->operations[i].line;
        lines = line >= lines ? line + 1 : lines;
    }
    struct known **starts = memory_new(lines + 1, sizeof *starts); /* by line */
    for (uint32_t i = 0; i < recording->operation_count; i++) {
        starts[recording->operations[i].line] = &run->known[i];
    }
    for (uint32_t i = 0; i < recording->expiry_count; i++) {
        const struct recorded_expiry *expiry = &recording->expiries[i];
        if (expiry->start_line < lines && starts[expiry->start_line] != NULL) {
            starts[expiry->start_line]->expiry = expiry;
        }
        run->last_tick = expiry->tick > run->last_tick ? expiry->tick : run->last_tick;
    }
    free((void *)starts);
    /* Ticks after the trace's end are not in this recording. */
    uint64_t end_tick = run->stream->header.end_tick;
    run->last_tick = run->last_tick < end_tick ? run->last_tick : end_tick;
}

/* --- the replay ------------------------------------------------------------------------------- */

static void predict_fired(void *ctx, uint32_t id, uint64_t now)
{
    struct predict_run *run = ctx;
    if (id >= run->stream->header.ids || run->holdings[id].event == NEVER) {
        return; /* a fault of the structure, which `check` and `sim` report */
    }
    run->known[run->holdings[id].event].fired = now;
    run->holdings[id].event = NEVER;
    closed_loop_fired(run->loop, id, now);
}

static void do_operation(struct predict_run *run, const struct stream_operation *operation)
{
    uint32_t id = operation->id;
    struct holding *holding = &run->holdings[id];
    uint32_t system = run->recording->operations[operation->event].system;
    if (operation->op == TRACE_STOP || holding->system != system) {
        (void)run->algo->stop(run->systems[holding->system], id);
    }
    if (operation->op == TRACE_STOP || run->refused) {
        return;
    }
    *holding = (struct holding){.event = operation->event, .system = system};
    enum tl_status status = run->algo->start(run->systems[system], id, operation->deadline);
    if (status > TL_IDLE) {
        run->refused = true;
        (void)snprintf(run->prediction->refusal, sizeof run->prediction->refusal,
                       "%s: the timer started at line %" PRIu64 ": %s", run->algo->name,
                       run->recording->operations[operation->event].line, tl_status_text(status));
    }
}

static void predict_carry(void *ctx, const struct stream_operation *operation)
{
    struct stream_operation later = *operation;
    /* The structure of another system may not be at this tick yet. */
    later.deadline = later.deadline > later.tick ? later.deadline : later.tick + 1;
    do_operation(ctx, &later);
}

static void advance_all(struct predict_run *run, uint64_t tick)
{
    for (uint32_t i = 0; i < run->system_count; i++) {
        (void)run->algo->advance(run->systems[i], tick, TL_NO_BUDGET, predict_fired, run);
    }
}

static void advance_to(struct predict_run *run, uint64_t tick)
{
    closed_loop_advancing(run->loop, tick);
    if (run->system_count > 1 && tick > run->now + 1) {
        /* Nothing is due before, but an expiry at the tick may start a timer in another
         * structure. */
        advance_all(run, tick - 1);
    }
    advance_all(run, tick);
    closed_loop_advanced(run->loop, tick);
    run->now = tick;
}

/* Return the next tick, after now, at which one of the structures must be advanced. */
static uint64_t next_wake(const struct predict_run *run)
{
    uint64_t wake = (run->algo->capabilities & TL_CAP_NEXT) != 0 ? NEVER : 0;
    for (uint32_t i = 0; i < run->system_count && wake > 0; i++) {
        uint64_t next = run->algo->next(run->systems[i]);
        wake = next < wake ? next : wake;
    }
    return wake > run->now ? wake : run->now + 1;
}

static void predict_until(struct predict_run *run, uint64_t tick)
{
    while (run->now < tick && !run->refused) {
        uint64_t wake = next_wake(run);
        advance_to(run, wake < tick ? wake : tick);
    }
}

static enum tl_status create_structures(struct predict_run *run, const struct contender *contender)
{
    const struct trace_header *header = &run->stream->header;
    struct tl_config config = {.capacity = header->ids,
                               .now = run->now,
                               .max_delay_ticks = header->max_delay_ticks,
                               .options = contender->options,
                               .allocator = tl_system_allocator()};
    while (run->system_count < run->recording->systems) {
        enum tl_status status = run->algo->create(&config, &run->systems[run->system_count]);
        if (status != TL_OK) {
            return status;
        }
        run->system_count++;
    }
    return TL_OK;
}

/* Replay the trace, and then up to the last expiry. */
static void replay_recording(struct predict_run *run)
{
    struct stream_walk walk = {.stream = run->stream};
    struct stream_operation operation;
    while (stream_walk_next(&walk, &operation)) {
        if (operation.tick > run->now) {
            child_alive();
            predict_until(run, operation.tick);
        }
        if (!operation.reaction && closed_loop_external(run->loop, &operation)) {
            do_operation(run, &operation);
        }
    }
    predict_until(run, run->last_tick);
}

/* --- the comparison --------------------------------------------------------------------------- */

static uint64_t badness(const struct prediction_place *place)
{
    return place->kind == PREDICTION_OFF ? (uint64_t)llabs(place->off_steps) : NEVER;
}

/* Keep the worst; of equals, the first. */
static void keep_place(struct prediction *prediction, struct prediction_place place)
{
    size_t at = prediction->worst_count;
    while (at > 0 && badness(&prediction->worst[at - 1]) < badness(&place)) {
        at--;
    }
    if (at == PREDICT_WORST) {
        return;
    }
    prediction->worst_count += prediction->worst_count < PREDICT_WORST;
    memmove(&prediction->worst[at + 1], &prediction->worst[at],
            (prediction->worst_count - at - 1) * sizeof place);
    prediction->worst[at] = place;
}

static void compare_start(const struct predict_run *run, uint64_t event)
{
    struct prediction *prediction = run->prediction;
    const struct recorded_operation *operation = &run->recording->operations[event];
    const struct known *known = &run->known[event];
    uint64_t grain = run->recording->grain_ticks;
    struct prediction_place place = {.start_line = operation->line,
                                     .deferrable = operation->deferrable};
    if (known->expiry == NULL) {
        if (known->fired == NEVER || known->fired > run->last_tick) {
            return;
        }
        prediction->extra++;
        place.kind = PREDICTION_EXTRA;
        keep_place(prediction, place);
        return;
    }
    prediction->expiries++;
    prediction->deferrable += operation->deferrable;
    place.line = known->expiry->line;
    if (known->fired == NEVER) {
        prediction->missed++;
        place.kind = PREDICTION_MISSED;
    } else {
        place.off_steps = (int64_t)(known->fired / grain) - (int64_t)(known->expiry->tick / grain);
        prediction->same_tick += place.off_steps == 0;
        prediction->within_1 += llabs(place.off_steps) <= 1;
        prediction->within_2 += llabs(place.off_steps) <= 2;
    }
    if (badness(&place) > 0) {
        prediction->deferrable_off += operation->deferrable;
        keep_place(prediction, place);
    }
}

void predict(const struct stream *stream, const struct recording *recording,
             const struct contender *contender, struct prediction *prediction)
{
    const struct trace_header *header = &stream->header;
    uint32_t operations = recording->operation_count;
    struct stream_walk walk = {.stream = stream};
    struct stream_operation first = {0};
    (void)stream_walk_next(&walk, &first);
    struct predict_run run = {
        .recording = recording,
        .stream = stream,
        .known = memory_new((size_t)operations + 1, sizeof *run.known),
        .algo = contender->timed,
        .systems = memory_new((size_t)recording->systems + 1, sizeof *run.systems),
        .holdings = memory_new((size_t)header->ids + 1, sizeof *run.holdings),
        .now = first.tick > 0 ? first.tick - 1 : 0, /* the clock may have run for long before */
        .prediction = prediction,
    };
    const struct closed_loop_plan plan = {
        .stream = stream,
        .exact = tl_algo_is_exact(run.algo, contender->options, header->max_delay_ticks),
        .carry = predict_carry,
        .ctx = &run,
    };
    *prediction = (struct prediction){0};
    join_expiries(&run);
    for (uint32_t i = 0; i < operations; i++) {
        run.known[i].fired = NEVER;
    }
    for (uint32_t id = 0; id < header->ids; id++) {
        run.holdings[id].event = NEVER;
    }
    enum tl_status status = create_structures(&run, contender);
    if (status != TL_OK) {
        (void)snprintf(prediction->refusal, sizeof prediction->refusal,
                       "%s for %" PRIu32 " timers: %s", run.algo->name, header->ids,
                       tl_status_text(status));
    } else {
        run.loop = closed_loop_open(&plan);
        replay_recording(&run);
        for (uint32_t i = 0; !run.refused && i < operations; i++) {
            compare_start(&run, i);
        }
    }
    closed_loop_close(run.loop);
    for (uint32_t i = 0; i < run.system_count; i++) {
        run.algo->destroy(run.systems[i]);
    }
    free((void *)run.systems);
    free(run.holdings);
    free(run.known);
}
