#include "trace_scale.h"

#include "memory.h"
#include "progress.h"
#include "random.h"
#include "trace.h"
#include "trace_loop.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The position of a copy. Before its window begins it goes through the timers left by earlier
 * passes (`pass` is -2, -1), then through those pending in pass 0; from there on it plays whole
 * passes. */
struct copy {
    int64_t shift;      /* of pass 0, when the window begins */
    int64_t pass_begin; /* of the current pass, in ticks of the result */
    uint64_t at;        /* the next step, of `left` or of the steps */
    int32_t pass;
    uint32_t first_id;        /* of the current pass */
    uint32_t former_first_id; /* of the previous one */
};

struct due {
    int64_t tick;
    uint32_t copy;
};

struct scaler {
    const struct trace_scale_request *request;
    struct trace_scale_summary *summary;
    struct trace_loop loop;
    struct trace_writer *writer;
    struct error *error;
    struct copy *copies;
    struct due *heap; /* the copies with more operations */
    uint32_t heap_count;
    int64_t window_begin; /* ticks of the result */
    int64_t window_ticks;
    uint64_t window_events; /* expected, without takeovers */
    uint64_t ids;
};

/* --- how many connections -------------------------------------------------------------------- */

/* Return the connections in an origin; 0: unknown. */
static uint64_t connections_of(const json_t *origin)
{
    json_int_t all = json_integer_value(json_object_get(origin, "connections"));
    size_t i;
    const json_t *part;
    json_array_foreach(json_object_get(origin, "parts"), i, part)
    {
        all += json_integer_value(json_object_get(part, "connections"));
    }
    return all > 0 ? (uint64_t)all : 0;
}

static bool count_copies(struct scaler *scaler, const json_t *origin)
{
    const struct trace_scale_request *request = scaler->request;
    struct trace_scale_summary *summary = scaler->summary;
    uint64_t of = request->of > 0 ? request->of : connections_of(origin);
    if (of == 0) {
        return error_set(scaler->error,
                         "%s: it does not say how many connections it is of; say it with --of",
                         request->in_path);
    }
    if (of > request->connections) {
        return error_set(scaler->error,
                         "%s: it is of %" PRIu64 " connections, more than %" PRIu32
                         "; operations are not thinned out: take -n %" PRIu64 " or more",
                         request->in_path, of, request->connections, of);
    }
    summary->of = (uint32_t)of;
    summary->copies = (uint32_t)((request->connections + of - 1) / of);
    summary->connections = summary->copies * of;
    return true;
}

/* --- the plan -------------------------------------------------------------------------------- */

/* Return the tick of a pass at which it or the window ends; `begun` is the window's tick at which
 * the pass begins. */
static int64_t pass_end(const struct scaler *scaler, int64_t begun)
{
    int64_t rest = scaler->window_ticks - begun;
    return rest < scaler->loop.length_ticks ? rest : scaler->loop.length_ticks;
}

/* Return the number of ids of a pass of a copy. */
static uint32_t pass_ids(const struct scaler *scaler, int64_t shift, int32_t pass)
{
    const struct trace_loop *loop = &scaler->loop;
    int64_t begun = pass * loop->length_ticks - shift;
    return pass < 0    ? trace_loop_ids(&loop->by_left, -begun)
           : pass == 0 ? trace_loop_ids(&loop->by_last, shift)
                       : trace_loop_ids(&loop->by_first, pass_end(scaler, begun));
}

/* Return the number of ids of a copy, and add up the events of its window. */
static uint64_t plan_copy(struct scaler *scaler, int64_t shift)
{
    const struct trace_loop *loop = &scaler->loop;
    uint64_t ids = 0;
    int64_t begun = -shift;
    for (int32_t pass = -(int32_t)loop->left_passes; begun < scaler->window_ticks; pass++) {
        ids += pass_ids(scaler, shift, pass);
        if (pass >= 0) {
            scaler->window_events += trace_loop_step_at(loop, pass_end(scaler, begun)) -
                                     trace_loop_step_at(loop, begun < 0 ? shift : 0);
            begun += loop->length_ticks;
        }
    }
    return ids;
}

static int64_t draw_shift(const struct scaler *scaler, struct random *random)
{
    int64_t length = scaler->loop.length_ticks;
    int64_t shift = (int64_t)(random_unit(random) * (double)length);
    return shift < length ? shift : length - 1;
}

static bool plan_window(struct scaler *scaler, const struct trace_header *header)
{
    const struct trace_scale_request *request = scaler->request;
    const struct trace_loop *loop = &scaler->loop;
    const uint64_t most_ticks = TRACE_TICK_MAX / 2;
    scaler->window_begin = loop->length_ticks * (1 + (int64_t)loop->left_passes) + loop->age_ticks;
    double ticks = request->seconds > 0 ? rint(request->seconds * 1e9 / (double)header->tick_ns)
                                        : (double)loop->length_ticks;
    if (ticks < 1 || ticks > (double)most_ticks) {
        return error_set(scaler->error,
                         "%s: %g s are not from one of its ticks, %" PRIu64 " ns, to %" PRIu64
                         " of them",
                         request->in_path, request->seconds, header->tick_ns, most_ticks);
    }
    scaler->window_ticks = request->seconds > 0 ? (int64_t)ticks : loop->length_ticks;
    return true;
}

/* Draw the shifts, and check that the ids suffice. */
static bool plan_copies(struct scaler *scaler)
{
    const struct trace_scale_request *request = scaler->request;
    const uint32_t copies = scaler->summary->copies;
    scaler->copies = memory_new(copies, sizeof *scaler->copies);
    scaler->heap = memory_new(copies, sizeof *scaler->heap);
    const struct trace_loop *loop = &scaler->loop;
    struct random random;
    random_seed(&random, request->seed);
    for (uint32_t i = 0; i < copies; i++) {
        int64_t shift = draw_shift(scaler, &random);
        int32_t pass = -(int32_t)loop->left_passes;
        scaler->copies[i] = (struct copy){
            .shift = shift,
            .pass = pass,
            .pass_begin = scaler->window_begin - shift + pass * loop->length_ticks,
            .first_id = (uint32_t)scaler->ids,
        };
        scaler->ids += plan_copy(scaler, shift);
        if (scaler->ids > UINT32_MAX) {
            return error_set(scaler->error,
                             "%s: %" PRIu32 " of its copies have more timers than the %" PRIu32
                             " that a trace can name; ask for fewer connections, or a shorter "
                             "window (--seconds)",
                             request->in_path, copies, UINT32_MAX);
        }
    }
    scaler->summary->ids = (uint32_t)scaler->ids;
    return true;
}

/* --- a copy ---------------------------------------------------------------------------------- */

static bool is_played(const struct scaler *scaler, const struct copy *copy,
                      const struct loop_step *step)
{
    if (copy->pass > 0 || (copy->pass == 0 && step->tick >= copy->shift)) {
        return true;
    }
    /* Before the window only the timers pending when it begins. */
    return step->op == TRACE_START &&
           step->end >= copy->shift - copy->pass * scaler->loop.length_ticks;
}

/* Find the copy's next operation and its tick. False: none before the window's end. */
static bool find_next(const struct scaler *scaler, struct copy *copy, int64_t *tick)
{
    const struct trace_loop *loop = &scaler->loop;
    const int64_t end = scaler->window_begin + scaler->window_ticks;
    while (copy->pass_begin < end) {
        const struct loop_step *steps = copy->pass < 0 ? loop->left : loop->steps;
        const uint64_t count = copy->pass < 0 ? loop->left_count : loop->step_count;
        for (; copy->at < count; copy->at++) {
            if (is_played(scaler, copy, &steps[copy->at])) {
                *tick = copy->pass_begin + steps[copy->at].tick;
                return *tick < end;
            }
        }
        copy->former_first_id = copy->first_id;
        copy->first_id += pass_ids(scaler, copy->shift, copy->pass);
        copy->pass++;
        copy->pass_begin += loop->length_ticks;
        copy->at = copy->pass > 0 ? loop->first_step : 0;
    }
    return false;
}

static uint32_t rank_in(const struct trace_loop *loop, int32_t pass, uint32_t id)
{
    const struct loop_numbering *numbering = pass < 0    ? &loop->by_left
                                             : pass == 0 ? &loop->by_last
                                                         : &loop->by_first;
    return numbering->rank[id];
}

/* Write the current operation of a copy. */
static bool play(struct scaler *scaler, const struct copy *copy, int64_t tick)
{
    const struct trace_loop *loop = &scaler->loop;
    const struct loop_step *step = copy->pass < 0 ? &loop->left[copy->at] : &loop->steps[copy->at];
    const uint32_t id = copy->first_id + rank_in(loop, copy->pass, step->id);
    struct trace_cause cause = {.slack_ticks = step->slack_ticks};
    if (tick < scaler->window_begin) {
        scaler->summary->warmup_events++;
        return trace_writer_add_reaction(scaler->writer, (uint64_t)tick, id, TRACE_START,
                                         step->delay_ticks, cause, scaler->error);
    }
    if ((step->marks & LOOP_TAKES_OVER) != 0 && (copy->pass > 0 || loop->left_passes > 0)) {
        uint32_t former = copy->former_first_id + rank_in(loop, copy->pass - 1, step->id);
        scaler->summary->takeovers++;
        if (!trace_writer_add(scaler->writer, (uint64_t)tick, former, TRACE_STOP, 0,
                              scaler->error)) {
            return false;
        }
    }
    if (copy->pass > 0 && (step->marks & LOOP_CAUSED_BEFORE) != 0) {
        scaler->summary->freed++;
    } else if (step->basis != TRACE_EXTERNAL) {
        cause.id = copy->first_id + rank_in(loop, copy->pass, step->cause_id);
        cause.basis = step->basis;
    }
    return trace_writer_add_reaction(scaler->writer, (uint64_t)tick, id, (enum trace_op)step->op,
                                     step->delay_ticks, cause, scaler->error);
}

/* --- all copies, in the order of ticks; within a tick in that of the copies ------------------ */

static bool is_before(const struct due *a, const struct due *b)
{
    return a->tick < b->tick || (a->tick == b->tick && a->copy < b->copy);
}

/* Insert an entry at the heap's gap `at`, or below. */
static void sift_down(struct scaler *scaler, uint32_t at, struct due due)
{
    struct due *heap = scaler->heap;
    for (uint64_t child; (child = 2 * (uint64_t)at + 1) < scaler->heap_count;
         at = (uint32_t)child) {
        child += child + 1 < scaler->heap_count && is_before(&heap[child + 1], &heap[child]);
        if (!is_before(&heap[child], &due)) {
            break;
        }
        heap[at] = heap[child];
    }
    heap[at] = due;
}

static void begin_all(struct scaler *scaler)
{
    for (uint32_t i = 0; i < scaler->summary->copies; i++) {
        int64_t tick;
        if (find_next(scaler, &scaler->copies[i], &tick)) {
            scaler->heap[scaler->heap_count++] = (struct due){.tick = tick, .copy = i};
        }
    }
    for (uint32_t at = scaler->heap_count / 2; at-- > 0;) {
        sift_down(scaler, at, scaler->heap[at]);
    }
}

static bool play_all(struct scaler *scaler)
{
    struct progress progress;
    progress_begin(&progress, "superposing", "operations", scaler->window_events);
    begin_all(scaler);
    bool good = true;
    while (good && scaler->heap_count > 0) {
        struct due due = scaler->heap[0];
        struct copy *copy = &scaler->copies[due.copy];
        int64_t tick = due.tick;
        bool more = true;
        while (good && more && tick == due.tick) {
            good = play(scaler, copy, tick);
            copy->at++;
            more = find_next(scaler, copy, &tick);
        }
        due.tick = tick;
        if (!more) {
            due = scaler->heap[--scaler->heap_count];
        }
        if (scaler->heap_count > 0) {
            sift_down(scaler, 0, due);
        }
        progress_update(&progress, trace_writer_events(scaler->writer) -
                                       scaler->summary->warmup_events - scaler->summary->takeovers);
    }
    progress_end(&progress);
    scaler->summary->events = trace_writer_events(scaler->writer);
    return good;
}

/* --- the whole ------------------------------------------------------------------------------- */

static char *origin_text(const struct scaler *scaler, const json_t *recording)
{
    const struct trace_scale_summary *summary = scaler->summary;
    json_t *origin =
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:O}", "source", "timerlab trace scale",
                  "connections", (json_int_t)summary->connections, "copies",
                  (json_int_t)summary->copies, "connections_of_recording", (json_int_t)summary->of,
                  "seed", (json_int_t)scaler->request->seed, "pending_at_warmup_end",
                  (json_int_t)summary->warmup_events, "taken_over", (json_int_t)summary->takeovers,
                  "reactions_made_external", (json_int_t)summary->freed, "recording", recording);
    char *text = json_dumps(origin, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(origin);
    return text;
}

static bool write_result(struct scaler *scaler, const struct trace_header *header,
                         const json_t *origin)
{
    scaler->writer = trace_writer_open(scaler->request->out_path, header->tick_ns, scaler->error);
    if (scaler->writer == NULL) {
        return false;
    }
    if (header->causes_known) {
        trace_writer_declare_causes(scaler->writer);
    }
    if (!play_all(scaler)) {
        trace_writer_abort(scaler->writer);
        return false;
    }
    char *text = origin_text(scaler, origin);
    bool good = trace_writer_commit(scaler->writer, (uint64_t)scaler->window_begin,
                                    (uint64_t)(scaler->window_begin + scaler->window_ticks),
                                    scaler->summary->ids, text, scaler->error);
    free(text);
    return good;
}

bool trace_scale(const struct trace_scale_request *request, struct trace_scale_summary *summary,
                 struct error *error)
{
    *summary = (struct trace_scale_summary){0};
    struct scaler scaler = {.request = request, .summary = summary, .error = error};
    struct trace_reader *reader = trace_reader_open(request->in_path, error);
    if (reader == NULL) {
        return false;
    }
    const struct trace_header *header = trace_reader_header(reader);
    json_t *origin = json_loads(header->origin, 0, NULL);
    bool good = count_copies(&scaler, origin) && trace_writer_check(request->out_path, error) &&
                trace_loop_read(&scaler.loop, reader, request->in_path, request->out_path, error) &&
                plan_window(&scaler, header) && plan_copies(&scaler) &&
                write_result(&scaler, header, origin);
    json_decref(origin);
    free(scaler.copies);
    free(scaler.heap);
    trace_loop_release(&scaler.loop);
    trace_reader_close(reader);
    return good;
}
