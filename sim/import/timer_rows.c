#include "timer_rows.h"

#include "key_table.h"
#include "memory.h"
#include "reorder.h"
#include "trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char cause_rule[] =
    "by its own firing is caused the start of a timer in the tick in which it was due and in which "
    "a row before says that it fired; all else is external";

/* A row while it waits for its turn. */
struct waiting {
    uint64_t delay_ns;
    uint32_t timer;
    enum timer_row_op op;
};

#define NEVER UINT64_MAX

struct timer {
    uint64_t due_tick;   /* NEVER: not started, or stopped */
    uint64_t fired_tick; /* when a row said so for the last time; NEVER */
    bool told;           /* its firing, since it was started */
};

struct timer_rows {
    struct import_tally tally;
    struct event_log_settings settings;
    struct key_table *keys;
    struct timer *timers; /* by key */
    uint32_t room;
    struct reorder *reorder;
    struct trace_writer *writer;
    struct error *error; /* of the call under way: what hands out rows cannot pass it on */
    bool begun;
    uint64_t origin_ns; /* of tick 0 */
    uint64_t tick;      /* of the row handed out last */
    uint64_t taken_ns;
    uint64_t gap_ns; /* the longest time without a row, and where it begins */
    uint64_t gap_from_ns;
    uint64_t rows[3]; /* by operation */
    uint64_t restarts;
    uint64_t reactions;
    uint64_t stops_of_idle;
    uint64_t fired_when_due;
    uint64_t fired_late;
    uint64_t fired_early;
    uint64_t fired_unknown;
    uint64_t starts_after_silence; /* of what was due, though no row says that it fired */
    uint64_t trace_stops;
    bool finished;
};

bool timer_row_op_read(const char *word, size_t length, enum timer_row_op *op)
{
    static const struct {
        const char *word;
        enum timer_row_op op;
    } words[] = {
        {"start", TIMER_ROW_START},    {"restart", TIMER_ROW_START},
        {"arm", TIMER_ROW_START},      {"rearm", TIMER_ROW_START},
        {"set", TIMER_ROW_START},      {"reset", TIMER_ROW_START},
        {"add", TIMER_ROW_START},      {"mod", TIMER_ROW_START},
        {"schedule", TIMER_ROW_START}, {"reschedule", TIMER_ROW_START},
        {"stop", TIMER_ROW_STOP},      {"cancel", TIMER_ROW_STOP},
        {"del", TIMER_ROW_STOP},       {"delete", TIMER_ROW_STOP},
        {"clear", TIMER_ROW_STOP},     {"disarm", TIMER_ROW_STOP},
        {"fire", TIMER_ROW_FIRE},      {"fired", TIMER_ROW_FIRE},
        {"expire", TIMER_ROW_FIRE},    {"expired", TIMER_ROW_FIRE},
        {"timeout", TIMER_ROW_FIRE},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i].word) == length && strncasecmp(words[i].word, word, length) == 0) {
            *op = words[i].op;
            return true;
        }
    }
    return false;
}

/* --- rows in order --------------------------------------------------------------------------- */

static bool take_start(struct timer_rows *rows, const struct waiting *row, uint64_t time_ns)
{
    struct timer *timer = &rows->timers[row->timer];
    uint64_t since_ns = time_ns - rows->origin_ns;
    uint64_t tick_ns = rows->settings.tick_ns;
    uint64_t due_tick = (since_ns + row->delay_ns + tick_ns - 1) / tick_ns;
    uint64_t delay_ticks = due_tick - rows->tick;
    bool due = timer->due_tick <= rows->tick;
    bool reaction = timer->due_tick == rows->tick && timer->fired_tick == rows->tick;
    rows->restarts += timer->due_tick != NEVER && !due;
    rows->starts_after_silence += timer->due_tick != NEVER && due && !timer->told;
    rows->reactions += reaction;
    *timer = (struct timer){.due_tick = due_tick, .fired_tick = NEVER};
    const struct trace_cause self = {.id = row->timer, .basis = TRACE_FIXED_DELAY};
    return reaction ? trace_writer_add_reaction(rows->writer, rows->tick, row->timer, TRACE_START,
                                                delay_ticks, self, rows->error)
                    : trace_writer_add(rows->writer, rows->tick, row->timer, TRACE_START,
                                       delay_ticks, rows->error);
}

static bool take_stop(struct timer_rows *rows, const struct waiting *row)
{
    struct timer *timer = &rows->timers[row->timer];
    if (timer->due_tick == NEVER || timer->due_tick <= rows->tick) {
        rows->stops_of_idle++;
        timer->due_tick = NEVER;
        return true;
    }
    timer->due_tick = NEVER;
    rows->trace_stops++;
    return trace_writer_add(rows->writer, rows->tick, row->timer, TRACE_STOP, 0, rows->error);
}

static void take_fire(struct timer_rows *rows, const struct waiting *row)
{
    struct timer *timer = &rows->timers[row->timer];
    timer->fired_tick = rows->tick;
    if (timer->due_tick == NEVER || timer->told) {
        rows->fired_unknown++;
    } else if (timer->due_tick > rows->tick) {
        rows->fired_early++;
    } else if (timer->due_tick < rows->tick) {
        rows->fired_late++;
    } else {
        rows->fired_when_due++;
    }
    timer->told = true;
}

/* The reorder's rows come here in order. */
static bool take(void *ctx, uint64_t time_ns, const void *event)
{
    struct timer_rows *rows = ctx;
    const struct waiting *row = event;
    if (!rows->begun) {
        rows->begun = true;
        rows->origin_ns = time_ns - time_ns % rows->settings.tick_ns;
    } else if (time_ns - rows->taken_ns > rows->gap_ns) {
        rows->gap_ns = time_ns - rows->taken_ns;
        rows->gap_from_ns = rows->taken_ns;
    }
    rows->taken_ns = time_ns;
    rows->tick = (time_ns - rows->origin_ns) / rows->settings.tick_ns;
    switch (row->op) {
    case TIMER_ROW_START:
        return take_start(rows, row, time_ns);
    case TIMER_ROW_STOP:
        return take_stop(rows, row);
    case TIMER_ROW_FIRE:
    default:
        take_fire(rows, row);
        return true;
    }
}

/* --- the calls ------------------------------------------------------------------------------- */

struct timer_rows *timer_rows_open(const struct import_job *job, const char *name,
                                   const struct event_log_settings *settings, struct error *error)
{
    struct timer_rows *rows = memory_new(1, sizeof *rows);
    rows->tally = (struct import_tally){
        .job = job, .name = name, .unit = "line", .max_malformed = settings->max_malformed};
    rows->settings = *settings;
    rows->keys = key_table_create();
    rows->reorder = reorder_create(settings->window_ns, sizeof(struct waiting), take, rows);
    rows->writer = trace_writer_open(job->output, settings->tick_ns, error);
    if (rows->writer == NULL) {
        timer_rows_close(rows);
        return NULL;
    }
    trace_writer_declare_causes(rows->writer);
    return rows;
}

struct import_tally *timer_rows_tally(struct timer_rows *rows)
{
    return &rows->tally;
}

bool timer_rows_add(struct timer_rows *rows, uint64_t time_ns, const void *key, size_t length,
                    enum timer_row_op op, uint64_t delay_ns, struct error *error)
{
    uint32_t known = key_table_count(rows->keys);
    struct waiting row = {
        .delay_ns = delay_ns, .op = op, .timer = key_table_number(rows->keys, key, length)};
    if (row.timer == known) {
        MEMORY_REACH(rows->timers, rows->room, row.timer);
        rows->timers[row.timer] = (struct timer){.due_tick = NEVER, .fired_tick = NEVER};
    }
    rows->rows[op]++;
    rows->error = error;
    return reorder_add(rows->reorder, time_ns, &row);
}

/* --- the end --------------------------------------------------------------------------------- */

#define COUNTS_MAX 20u

static size_t list_counts(const struct timer_rows *rows, struct import_count *counts)
{
    const struct reorder_counts *order = reorder_counts(rows->reorder);
    const struct import_count all[] = {
        {"lines", rows->tally.lines},
        {"blank_lines", rows->tally.blank},
        {"malformed_lines", rows->tally.malformed},
        {"out_of_order", order->out_of_order},
        {"too_late", order->too_late},
        {"timers", key_table_count(rows->keys)},
        {"starts", rows->rows[TIMER_ROW_START]},
        {"restarts", rows->restarts},
        {"stops", rows->rows[TIMER_ROW_STOP]},
        {"stops_of_idle", rows->stops_of_idle},
        {"fired", rows->rows[TIMER_ROW_FIRE]},
        {"fired_when_due", rows->fired_when_due},
        {"fired_late", rows->fired_late},
        {"fired_early", rows->fired_early},
        {"fired_unknown", rows->fired_unknown},
        {"due_and_not_told", rows->starts_after_silence},
        {"reactions", rows->reactions},
        {"trace_starts", rows->rows[TIMER_ROW_START]},
        {"trace_stops", rows->trace_stops},
    };
    _Static_assert(sizeof all / sizeof all[0] <= COUNTS_MAX, "counts must fit");
    memcpy(counts, all, sizeof all);
    return sizeof all / sizeof all[0];
}

static bool judge(const struct timer_rows *rows, struct error *error)
{
    const struct import_tally *tally = &rows->tally;
    const struct reorder_counts *order = reorder_counts(rows->reorder);
    if (!import_tally_bearable(tally, true, error)) {
        return false;
    }
    if (rows->rows[TIMER_ROW_START] == 0) {
        return error_set(error, "%s: none of its %" PRIu64 " lines starts a timer", tally->name,
                         tally->lines);
    }
    return (double)order->too_late <= tally->max_malformed * (double)order->events ||
           error_set(error,
                     "%s: %" PRIu64 " of %" PRIu64 " rows are more than %.9g s out of order; sort "
                     "the file by time, or raise --reorder-window",
                     tally->name, order->too_late, order->events,
                     (double)rows->settings.window_ns / 1e9);
}

static void doubt(struct timer_rows *rows)
{
    const struct reorder_counts *order = reorder_counts(rows->reorder);
    uint64_t told = rows->rows[TIMER_ROW_FIRE];
    uint64_t off = rows->fired_early + rows->fired_late;
    if (off > told / 10) {
        import_doubt(&rows->tally,
                     "%" PRIu64 " of %" PRIu64 " firings are not in the tick in which the timer "
                     "was due (%" PRIu64 " before it): the trace goes by the delays; is "
                     "--delay-unit right?",
                     off, told, rows->fired_early);
    }
    import_doubt_gap(&rows->tally, rows->gap_ns, rows->gap_from_ns - order->first_ns,
                     order->last_ns - order->first_ns);
}

bool timer_rows_finish(struct timer_rows *rows, struct error *error)
{
    struct import_count counts[COUNTS_MAX];
    struct import_tally *tally = &rows->tally;
    const struct reorder_counts *order = reorder_counts(rows->reorder);
    rows->error = error;
    if (!judge(rows, error) || !reorder_finish(rows->reorder)) {
        return false;
    }
    size_t count = list_counts(rows, counts);
    uint64_t span_ns = order->last_ns - order->first_ns;
    doubt(rows);
    json_t *origin = import_origin(tally, "events", counts, count);
    (void)json_object_set_new(origin, "duration_ns", import_json_count(span_ns));
    (void)json_object_set_new(origin, "causes", json_string(cause_rule));
    char *text = import_origin_text(origin);
    struct trace_writer *writer = rows->writer;
    rows->writer = NULL;
    bool good =
        trace_writer_commit(writer, 0, rows->tick + 1, key_table_count(rows->keys), text, error);
    free(text);
    if (good) {
        FILE *out = tally->job->report;
        import_tally_print(tally);
        (void)fprintf(out, "%s: %" PRIu64 " lines, %.6f s, tick %" PRIu64 " ns\n\n", tally->name,
                      tally->lines, (double)span_ns / 1e9, rows->settings.tick_ns);
        import_counts_print(out, counts, count);
        (void)fprintf(out, "\n%s: %" PRIu64 " starts and %" PRIu64 " stops of %" PRIu32 " timers\n",
                      tally->job->output, rows->rows[TIMER_ROW_START], rows->trace_stops,
                      key_table_count(rows->keys));
        import_causes_print(tally, rows->reactions, cause_rule);
        rows->finished = true;
    }
    return good;
}

void timer_rows_close(struct timer_rows *rows)
{
    if (rows == NULL) {
        return;
    }
    if (!rows->finished) {
        import_tally_print(&rows->tally);
    }
    import_tally_free(&rows->tally);
    if (rows->writer != NULL) {
        trace_writer_abort(rows->writer);
    }
    reorder_destroy(rows->reorder);
    key_table_destroy(rows->keys);
    free(rows->timers);
    free(rows);
}
