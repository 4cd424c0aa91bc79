#include "timer_rows.h"

#include "key_table.h"
#include "memory.h"
#include "reorder.h"
#include "timer_calls.h"
#include "trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char cause_rule[] =
    "a start that follows the same timer's own expiry, before any other operation on it, is a "
    "reaction to that expiry; so is the start that a repeating timer's expiry brings; all else is "
    "external";

/* A row while it waits for its turn. */
struct waiting {
    struct timer_row row;
    uint32_t timer;
};

struct row_timer {
    bool fired;   /* its last row says that it fired */
    bool repeats; /* it was started to repeat */
    bool told;    /* a row said that it fired, since it was started to repeat */
};

struct timer_rows {
    struct import_tally tally;
    struct event_log_settings settings;
    struct key_table *keys;
    struct row_timer *timers; /* by key */
    uint32_t room;
    struct reorder *reorder;
    struct timer_calls *calls;
    struct error *error; /* of the call under way: the reorder's callback cannot pass it on */
    bool begun;
    bool finer_than_seconds; /* a time is not of a whole second */
    uint64_t at_once;        /* rows at the latest time, and the most at any */
    uint64_t most_at_once;
    uint64_t taken_ns;
    uint64_t gap_ns; /* the longest time without a row, and where it begins */
    uint64_t gap_from_ns;
    uint64_t rows[TIMER_ROW_OPS];
    uint64_t fired_when_due;
    uint64_t fired_late;
    uint64_t fired_early;
    uint64_t fired_far_off; /* of these two, so far that the unit of the delays may be wrong */
    uint64_t late_most_ns;
    uint64_t starts_after_silence; /* of timers that were due, though no row says that they fired */
    uint64_t repeats_silent;       /* timers that repeat, and never fire in the file */
    bool finished;
};

bool timer_row_op_read(const char *word, size_t length, enum timer_row_op *op)
{
    static const struct {
        const char *word;
        enum timer_row_op op;
    } words[] = {
        {"start", TIMER_ROW_START},       {"restart", TIMER_ROW_START},
        {"arm", TIMER_ROW_START},         {"rearm", TIMER_ROW_START},
        {"set", TIMER_ROW_START},         {"reset", TIMER_ROW_START},
        {"add", TIMER_ROW_START},         {"mod", TIMER_ROW_START},
        {"schedule", TIMER_ROW_START},    {"reschedule", TIMER_ROW_START},
        {"stop", TIMER_ROW_STOP},         {"cancel", TIMER_ROW_STOP},
        {"del", TIMER_ROW_STOP},          {"delete", TIMER_ROW_STOP},
        {"clear", TIMER_ROW_STOP},        {"disarm", TIMER_ROW_STOP},
        {"fire", TIMER_ROW_FIRE},         {"fired", TIMER_ROW_FIRE},
        {"expire", TIMER_ROW_FIRE},       {"expired", TIMER_ROW_FIRE},
        {"replace", TIMER_ROW_START},     {"cas", TIMER_ROW_START},
        {"get", TIMER_ROW_OTHER},         {"gets", TIMER_ROW_OTHER},
        {"incr", TIMER_ROW_OTHER},        {"decr", TIMER_ROW_OTHER},
        {"append", TIMER_ROW_OTHER},      {"prepend", TIMER_ROW_OTHER},
        {"timeout", TIMER_ROW_FIRE},      {"repeat", TIMER_ROW_REPEAT},
        {"interval", TIMER_ROW_REPEAT},   {"setinterval", TIMER_ROW_REPEAT},
        {"settimeout", TIMER_ROW_START},  {"clearinterval", TIMER_ROW_STOP},
        {"cleartimeout", TIMER_ROW_STOP},
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

/* How far an expiry is from its deadline. */
static void judge_expiry(struct timer_rows *rows, uint32_t timer, uint64_t time_ns)
{
    uint64_t deadline_ns = timer_calls_deadline_ns(rows->calls, timer);
    if (deadline_ns == UINT64_MAX) {
        return;
    }
    uint64_t delay_ns = timer_calls_delay_ns(rows->calls, timer);
    uint64_t tick_ns = rows->settings.tick_ns;
    if (time_ns < deadline_ns) {
        uint64_t early_ns = deadline_ns - time_ns;
        rows->fired_early++;
        rows->fired_far_off += early_ns > delay_ns / 2 && early_ns >= tick_ns;
    } else if (time_ns - deadline_ns >= tick_ns) {
        uint64_t late_ns = time_ns - deadline_ns;
        rows->fired_late++;
        rows->late_most_ns = late_ns > rows->late_most_ns ? late_ns : rows->late_most_ns;
        rows->fired_far_off += late_ns > delay_ns * 3;
    } else {
        rows->fired_when_due++;
    }
}

static bool take_fire(struct timer_rows *rows, const struct waiting *waiting, uint64_t time_ns)
{
    struct row_timer *timer = &rows->timers[waiting->timer];
    judge_expiry(rows, waiting->timer, time_ns);
    timer->fired = true;
    timer->told = true;
    const struct timer_call call = {.op = TIMER_CALL_FIRE,
                                    .timer = waiting->timer,
                                    .cause = TIMER_CALLS_NO_TIMER,
                                    .time_ns = time_ns,
                                    .line = waiting->row.line,
                                    .timeout = true,
                                    .repeats = timer->repeats};
    return timer_calls_add(rows->calls, &call, rows->error);
}

/* A start, of whatever kind, or a stop. */
static bool take_call(struct timer_rows *rows, const struct waiting *waiting, uint64_t time_ns)
{
    struct row_timer *timer = &rows->timers[waiting->timer];
    const struct timer_row *row = &waiting->row;
    bool start = row->op != TIMER_ROW_STOP;
    rows->starts_after_silence +=
        timer_calls_pass(rows->calls, waiting->timer, time_ns) && start && !timer->repeats;
    rows->repeats_silent += timer->repeats && !timer->told;
    const struct timer_call call = {.op = start ? TIMER_CALL_START : TIMER_CALL_STOP,
                                    .timer = waiting->timer,
                                    .cause = start && timer->fired ? waiting->timer
                                                                   : TIMER_CALLS_NO_TIMER,
                                    .time_ns = time_ns,
                                    .delay_ns = row->delay_ns,
                                    .slack_ns = row->slack_ns,
                                    .line = row->line};
    *timer = (struct row_timer){.repeats = row->op == TIMER_ROW_REPEAT};
    return timer_calls_add(rows->calls, &call, rows->error);
}

/* The reorder's rows come here in order. */
static bool take(void *ctx, uint64_t time_ns, const void *event)
{
    struct timer_rows *rows = ctx;
    const struct waiting *waiting = event;
    if (rows->begun && time_ns - rows->taken_ns > rows->gap_ns) {
        rows->gap_ns = time_ns - rows->taken_ns;
        rows->gap_from_ns = rows->taken_ns;
    }
    rows->at_once = rows->begun && time_ns == rows->taken_ns ? rows->at_once + 1 : 1;
    rows->most_at_once = rows->at_once > rows->most_at_once ? rows->at_once : rows->most_at_once;
    rows->finer_than_seconds = rows->finer_than_seconds || time_ns % UINT64_C(1000000000) != 0;
    rows->begun = true;
    rows->taken_ns = time_ns;
    if (waiting->row.op == TIMER_ROW_OTHER) {
        (void)timer_calls_pass(rows->calls, waiting->timer, time_ns);
        return true;
    }
    return waiting->row.op == TIMER_ROW_FIRE ? take_fire(rows, waiting, time_ns)
                                             : take_call(rows, waiting, time_ns);
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
    const struct timer_calls_settings how = {
        .tick_ns = settings->tick_ns, .clock_ns = 1, .follows_record = true};
    rows->calls = timer_calls_open(job, &how, error);
    if (rows->calls == NULL) {
        timer_rows_close(rows);
        return NULL;
    }
    return rows;
}

struct import_tally *timer_rows_tally(struct timer_rows *rows)
{
    return &rows->tally;
}

bool timer_rows_add(struct timer_rows *rows, const struct timer_row *row, const void *key,
                    size_t length, struct error *error)
{
    uint32_t known = key_table_count(rows->keys);
    struct waiting waiting = {.row = *row, .timer = key_table_number(rows->keys, key, length)};
    if (waiting.timer == known) {
        MEMORY_REACH(rows->timers, rows->room, waiting.timer);
        rows->timers[waiting.timer] = (struct row_timer){0};
    }
    rows->rows[row->op]++;
    rows->error = error;
    return reorder_add(rows->reorder, row->time_ns, &waiting);
}

/* --- the end --------------------------------------------------------------------------------- */

#define COUNTS_MAX 32u

static size_t list_counts(const struct timer_rows *rows, struct import_count *counts)
{
    const struct reorder_counts *order = reorder_counts(rows->reorder);
    const struct timer_calls_counts *calls = timer_calls_counts(rows->calls);
    const struct import_count all[] = {
        {"lines", rows->tally.lines},
        {"blank_lines", rows->tally.blank},
        {"malformed_lines", rows->tally.malformed},
        {"out_of_order", order->out_of_order},
        {"too_late", order->too_late},
        {"timers", key_table_count(rows->keys)},
        {"starts", rows->rows[TIMER_ROW_START]},
        {"repeats", rows->rows[TIMER_ROW_REPEAT]},
        {"restarts", calls->rearm},
        {"stops", rows->rows[TIMER_ROW_STOP]},
        {"stops_of_idle", calls->stop_not_armed},
        {"other_operations", rows->rows[TIMER_ROW_OTHER]},
        {"fired", rows->rows[TIMER_ROW_FIRE]},
        {"fired_when_due", rows->fired_when_due},
        {"fired_late", rows->fired_late},
        {"fired_early", rows->fired_early},
        {"fired_unknown", calls->expiry_unknown},
        {"due_and_not_told", rows->starts_after_silence},
        {"armed_at_end", calls->armed},
        {"max_armed", calls->max_armed},
        {"reactions", calls->reactions},
        {"cause_unknown", calls->cause_unknown},
        {"cause_crossed", calls->cause_crossed},
        {"trace_starts", calls->starts},
        {"trace_stops", calls->stops},
    };
    _Static_assert(sizeof all / sizeof all[0] <= COUNTS_MAX, "counts must fit");
    memcpy(counts, all, sizeof all);
    return sizeof all / sizeof all[0];
}

static bool judge_rows(const struct timer_rows *rows, struct error *error)
{
    const struct import_tally *tally = &rows->tally;
    const struct reorder_counts *order = reorder_counts(rows->reorder);
    if (!import_tally_bearable(tally, true, error)) {
        return false;
    }
    if (rows->rows[TIMER_ROW_START] + rows->rows[TIMER_ROW_REPEAT] == 0) {
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
    if (rows->fired_far_off > told / 10) {
        import_doubt(
            &rows->tally,
            "%" PRIu64 " of %" PRIu64 " expiries are far from the deadline (%" PRIu64
            " before it): the trace goes by the delays; are --delay-unit and --time-unit right?",
            rows->fired_far_off, told, rows->fired_early);
    } else if (rows->fired_late > told / 10) {
        import_doubt(&rows->tally,
                     "%" PRIu64 " of %" PRIu64 " expiries are a tick or more late, up to %.6g s: "
                     "the program was busy or its clock is coarse; in the trace they are due at "
                     "their deadlines",
                     rows->fired_late, told, (double)rows->late_most_ns / 1e9);
    }
    if (!rows->finer_than_seconds && rows->settings.tick_ns < UINT64_C(1000000000) &&
        order->last_ns > order->first_ns) {
        import_doubt_seconds(&rows->tally, rows->most_at_once);
    }
    if (rows->repeats_silent > 0) {
        import_doubt(&rows->tally,
                     "%" PRIu64 " timers that repeat never fire in the file: in the trace they "
                     "fire once; log their expiries, too",
                     rows->repeats_silent);
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
    if (!judge_rows(rows, error) || !reorder_finish(rows->reorder) ||
        !timer_calls_finish(rows->calls, error)) {
        return false;
    }
    for (uint32_t i = 0; i < key_table_count(rows->keys); i++) {
        rows->repeats_silent += rows->timers[i].repeats && !rows->timers[i].told;
    }
    size_t count = list_counts(rows, counts);
    const struct timer_calls_counts *calls = timer_calls_counts(rows->calls);
    uint64_t span_ns = order->last_ns - order->first_ns;
    doubt(rows);
    json_t *origin = import_origin(tally, "events", counts, count);
    (void)json_object_set_new(origin, "duration_ns", import_json_count(span_ns));
    (void)json_object_set_new(origin, "causes", json_string(cause_rule));
    char *text = import_origin_text(origin);
    bool good = timer_calls_commit(rows->calls, text, error);
    free(text);
    if (good) {
        FILE *out = tally->job->report;
        import_tally_print(tally);
        (void)fprintf(out, "%s: %" PRIu64 " lines, %.6f s, tick %" PRIu64 " ns\n\n", tally->name,
                      tally->lines, (double)span_ns / 1e9, rows->settings.tick_ns);
        import_counts_print(out, counts, count);
        (void)fprintf(out, "\n%s: %" PRIu64 " starts and %" PRIu64 " stops of %" PRIu64 " timers\n",
                      tally->job->output, calls->starts, calls->stops, calls->ids);
        import_causes_print(tally, calls->reactions, cause_rule);
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
    timer_calls_close(rows->calls);
    reorder_destroy(rows->reorder);
    key_table_destroy(rows->keys);
    free(rows->timers);
    free(rows);
}
