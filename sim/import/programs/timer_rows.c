#include "timer_rows.h"

#include "memory.h"
#include "sorted_events.h"
#include "timer_calls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char cause_rule[] =
    "a start that follows the same timer's own expiry, before any other operation on it, is a "
    "reaction to that expiry; so is the start that a repeating timer's expiry brings; all else is "
    "external";

/* A row in the reorder. */
struct sorted_row {
    struct timer_row row;
    uint32_t timer;
};

struct row_timer {
    bool fired;    /* its last row is an expiry */
    bool repeats;  /* its last start was to repeat */
    bool reported; /* it has an expiry in the file since then */
};

struct timer_rows {
    struct sorted_events sorted; /* a key's value is a row_timer */
    struct timer_calls *calls;
    uint64_t rows[TIMER_ROW_OPS];
    uint64_t fired_when_due;
    uint64_t fired_late;
    uint64_t fired_early;
    uint64_t fired_far_off; /* of these two, so far that the unit of the delays may be wrong */
    uint64_t late_most_ns;
    uint64_t starts_after_silence; /* of due timers that have no expiry in the file */
    uint64_t repeats_silent;       /* repeating timers that have no expiry in the file */
};

bool timer_row_op_read(const char *word, size_t length, enum timer_row_op *op)
{
    static const char *const words[TIMER_ROW_OPS] = {
        [TIMER_ROW_START] = ("start restart arm rearm set reset add mod schedule reschedule "
                             "replace cas settimeout"),
        [TIMER_ROW_STOP] = "stop cancel del delete clear disarm clearinterval cleartimeout",
        [TIMER_ROW_FIRE] = "fire fired expire expired timeout",
        [TIMER_ROW_REPEAT] = "repeat interval setinterval",
        [TIMER_ROW_OTHER] = "get gets incr decr append prepend",
    };
    for (unsigned i = 0; i < TIMER_ROW_OPS; i++) {
        for (const char *at = words[i]; *at != '\0'; at += strspn(at, " ")) {
            size_t known = strcspn(at, " ");
            if (known == length && strncasecmp(at, word, length) == 0) {
                *op = (enum timer_row_op)i;
                return true;
            }
            at += known;
        }
    }
    return false;
}

/* --- rows in order --------------------------------------------------------------------------- */

/* Count how far an expiry is from its deadline. */
static void count_lateness(struct timer_rows *rows, uint32_t timer, uint64_t time_ns)
{
    uint64_t deadline_ns = timer_calls_deadline_ns(rows->calls, timer);
    if (deadline_ns == UINT64_MAX) {
        return;
    }
    uint64_t delay_ns = timer_calls_delay_ns(rows->calls, timer);
    uint64_t tick_ns = rows->sorted.settings.tick_ns;
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

static bool take_fire(struct timer_rows *rows, const struct sorted_row *sorted, uint64_t time_ns,
                      struct error *error)
{
    struct row_timer *timer = key_table_value(rows->sorted.keys, sorted->timer);
    count_lateness(rows, sorted->timer, time_ns);
    timer->fired = true;
    timer->reported = true;
    const struct timer_call call = {.op = TIMER_RECORD_FIRE,
                                    .timer = sorted->timer,
                                    .cause = TIMER_CALLS_NO_TIMER,
                                    .time_ns = time_ns,
                                    .line = sorted->row.line,
                                    .timeout = true,
                                    .repeats = timer->repeats};
    return timer_calls_add(rows->calls, &call, error);
}

/* A start, of whatever kind, or a stop. */
static bool take_call(struct timer_rows *rows, const struct sorted_row *sorted, uint64_t time_ns,
                      struct error *error)
{
    struct row_timer *timer = key_table_value(rows->sorted.keys, sorted->timer);
    const struct timer_row *row = &sorted->row;
    bool start = row->op != TIMER_ROW_STOP;
    rows->starts_after_silence +=
        timer_calls_pass(rows->calls, sorted->timer, time_ns) && start && !timer->repeats;
    rows->repeats_silent += timer->repeats && !timer->reported;
    const struct timer_call call = {.op = start ? TIMER_RECORD_START : TIMER_RECORD_STOP,
                                    .timer = sorted->timer,
                                    .cause = start && timer->fired ? sorted->timer
                                                                   : TIMER_CALLS_NO_TIMER,
                                    .time_ns = time_ns,
                                    .delay_ns = row->delay_ns,
                                    .slack_ns = row->slack_ns,
                                    .line = row->line};
    *timer = (struct row_timer){.repeats = row->op == TIMER_ROW_REPEAT};
    return timer_calls_add(rows->calls, &call, error);
}

static bool take_row(void *ctx, uint64_t time_ns, const void *event, struct error *error)
{
    struct timer_rows *rows = ctx;
    const struct sorted_row *sorted = event;
    import_times_add(&rows->sorted.times, time_ns);
    if (sorted->row.op == TIMER_ROW_OTHER) {
        (void)timer_calls_pass(rows->calls, sorted->timer, time_ns);
        return true;
    }
    return sorted->row.op == TIMER_ROW_FIRE ? take_fire(rows, sorted, time_ns, error)
                                            : take_call(rows, sorted, time_ns, error);
}

/* --- the calls ------------------------------------------------------------------------------- */

struct timer_rows *timer_rows_open(struct import_tally *tally,
                                   const struct event_log_settings *settings, struct error *error)
{
    struct timer_rows *rows = memory_new(1, sizeof *rows);
    sorted_events_open(&rows->sorted, tally, settings, sizeof(struct row_timer),
                       sizeof(struct sorted_row), take_row, rows);
    const struct timer_calls_settings how = {
        .tick_ns = settings->tick_ns, .clock_ns = 1, .follows_record = true};
    rows->calls = timer_calls_open(tally->job, &how, error);
    if (rows->calls == NULL) {
        timer_rows_close(rows);
        return NULL;
    }
    return rows;
}

bool timer_rows_add(struct timer_rows *rows, const struct timer_row *row, const void *key,
                    size_t length, struct error *error)
{
    const struct sorted_row sorted = {.row = *row,
                                      .timer = key_table_number(rows->sorted.keys, key, length)};
    rows->rows[row->op]++;
    return reorder_add(rows->sorted.reorder, row->time_ns, &sorted, error);
}

/* --- the end --------------------------------------------------------------------------------- */

static void warn_of_rows(struct timer_rows *rows)
{
    struct import_tally *tally = rows->sorted.tally;
    uint64_t expiries = rows->rows[TIMER_ROW_FIRE];
    if (rows->fired_far_off > expiries / 10) {
        import_warn(
            tally,
            "%" PRIu64 " of %" PRIu64 " expiries are far from the deadline (%" PRIu64
            " before it): the trace goes by the delays; are --delay-unit and --time-unit right?",
            rows->fired_far_off, expiries, rows->fired_early);
    } else if (rows->fired_late > expiries / 10) {
        import_warn(tally,
                    "%" PRIu64 " of %" PRIu64 " expiries are a tick or more late, up to %.6g s: "
                    "the program was busy or its clock is coarse; in the trace they are due at "
                    "their deadlines",
                    rows->fired_late, expiries, (double)rows->late_most_ns / 1e9);
    }
    if (rows->repeats_silent > 0) {
        import_warn(tally,
                    "%" PRIu64 " timers that repeat never fire in the file: in the trace they "
                    "fire once; log their expiries, too",
                    rows->repeats_silent);
    }
}

static bool write_rows(struct timer_rows *rows, struct error *error)
{
    const struct import_tally *tally = rows->sorted.tally;
    const struct reorder_counts *order = reorder_counts(rows->sorted.reorder);
    const struct timer_calls_counts *calls = timer_calls_counts(rows->calls);
    const struct import_count counts[] = {
        {"lines", tally->lines},
        {"blank_lines", tally->blank},
        {"malformed_lines", tally->malformed},
        {"out_of_order", order->out_of_order},
        {"too_late", order->too_late},
        {"timers", key_table_count(rows->sorted.keys)},
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
    struct import_summary summary = {.format = "events", .causes = cause_rule};
    IMPORT_COUNTS(&summary, counts);
    timer_calls_end(rows->calls, &summary);
    return sorted_events_finish(&rows->sorted, &summary, error);
}

bool timer_rows_finish(struct timer_rows *rows, struct error *error)
{
    uint64_t starts = rows->rows[TIMER_ROW_START] + rows->rows[TIMER_ROW_REPEAT];
    if (!sorted_events_end(&rows->sorted, starts, "starts a timer", error) ||
        !timer_calls_finish(rows->calls, error)) {
        return false;
    }
    for (uint32_t i = 0; i < key_table_count(rows->sorted.keys); i++) {
        const struct row_timer *timer = key_table_value(rows->sorted.keys, i);
        rows->repeats_silent += timer->repeats && !timer->reported;
    }
    warn_of_rows(rows);
    return write_rows(rows, error);
}

void timer_rows_close(struct timer_rows *rows)
{
    if (rows == NULL) {
        return;
    }
    sorted_events_close(&rows->sorted);
    timer_calls_close(rows->calls);
    free(rows);
}
