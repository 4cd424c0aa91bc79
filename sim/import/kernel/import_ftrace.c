/*
 * import ftrace: a trace from the Linux kernel's own timers, recorded through its tracepoints.
 *
 * kernel_timer_event.h takes the lines apart, kernel_timer_classifier.h finds out what was done to
 * the timers; here that becomes a trace. A start of any kind is a start, a true cancel a stop; an
 * expiry is nothing, because in a replay the structures do the expiring. A stop of a timer that
 * the trace does not hold as pending is counted and left out.
 *
 * How long a jiffy is and what a high-resolution timer's deadline means, kernel_clock.h learns from
 * the events. Operations wait in memory until it knows.
 */
#include "import.h"

#include "growing_array.h"
#include "import_settings.h"
#include "import_tally.h"
#include "kernel_clock.h"
#include "kernel_timer_classifier.h"
#include "line_reader.h"
#include "trace.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_SECOND        UINT64_C(1000000000)

/* HZ is estimated once this many operations wait, if not before. */
#define WAITING_MAX          (UINT32_C(1) << 20)

#define HRTIMER_TICK_NS      1000u
/* Which clocks there are is learned from so much of a recording. */
#define CLOCKS_SPAN_NS       NS_PER_SECOND

#define FUNCTIONS_IN_ORIGIN  256u
#define FUNCTIONS_IN_SUMMARY 20u

const struct import_option import_ftrace_options[] = {
    {"function", "NAME", true,
     "keep only timers of this callback function, such as tcp_write_timer (default: all)"},
    {"hz", "N", false, "the recorded kernel's jiffies per second (default: estimated)"},
    {"max-malformed", "SHARE", false,
     "refuse a file with a greater share of lines that are not understood (default: 1%)"},
    {"tick-ns", "NS", false,
     "what a tick of the trace lasts (default: one jiffy; for hrtimer 1000)"},
    {"timers", "KIND", false, "wheel (the kernel's timer wheel) or hrtimer (default: wheel)"},
    {NULL, NULL, false, NULL},
};

/* An operation of the trace, before HZ is known. */
struct waiting {
    uint64_t time_ns;
    int64_t timeout;
    uint32_t id;
    enum trace_op op;
};

struct traced_timer {
    uint32_t id_plus_1; /* 0: never started */
    bool pending;       /* in the trace */
};

/* What the lines were, beside the tally. */
struct line_counts {
    uint64_t lost_markers;
    uint64_t lost_events;
    uint64_t wheel[3];   /* start, cancel, expiry */
    uint64_t hrtimer[3]; /* likewise */
    uint64_t other_events;
    uint64_t time_goes_back;
};

struct ftrace_import {
    const struct import_job *job;
    const char *name; /* of the input, in messages */
    struct import_tally tally;

    bool hrtimer;
    bool hz_given;
    bool begun; /* an event was read: first_ns and latest_ns are set */
    uint32_t ids;
    uint64_t hz;      /* 0: not known yet */
    uint64_t tick_ns; /* 0: not known yet */

    struct line_counts lines;
    uint64_t first_ns;
    uint64_t latest_ns; /* latest so far */

    struct kernel_clock clock;

    struct kernel_classifier *classifier;
    struct traced_timer *timers; /* by the classifier's index */
    uint32_t timer_count;
    uint32_t timer_room;
    signed char *kept; /* by function: 1 kept, 0 not, -1 not looked at */
    uint32_t kept_count;
    uint32_t kept_room;

    struct waiting *waiting;
    uint32_t waiting_count;
    uint32_t waiting_room;

    struct trace_writer *writer;
    uint64_t emitted_ns; /* time of the last operation written */
    uint64_t starts;
    uint64_t stops;
    uint64_t left_out_stops;
    uint64_t left_out_starts;
};

/* --- options ---------------------------------------------------------------------------------- */

static bool read_settings(struct ftrace_import *import, struct error *error)
{
    const struct import_job *job = import->job;
    const char *timers = import_setting(job, "timers");
    import->tally.max_malformed = TALLY_MAX_MALFORMED;
    import->hz_given = import_setting(job, "hz") != NULL;
    import->hrtimer = timers != NULL && strcmp(timers, "hrtimer") == 0;
    if (timers != NULL && !import->hrtimer && strcmp(timers, "wheel") != 0) {
        return error_set(error, "--timers %s: not wheel or hrtimer", timers);
    }
    if (!import_setting_count(job, "hz", 1, 1000000, &import->hz, error) ||
        !import_setting_count(job, "tick-ns", 1, UINT64_C(3600) * NS_PER_SECOND, &import->tick_ns,
                              error) ||
        !import_setting_share(job, "max-malformed", &import->tally.max_malformed, error)) {
        return false;
    }
    if (import->hrtimer && import->tick_ns == 0) {
        import->tick_ns = HRTIMER_TICK_NS;
    }
    return true;
}

static bool function_is_kept(const struct import_job *job, const char *name)
{
    bool any = false;
    for (size_t i = 0; i < job->setting_count; i++) {
        if (strcmp(job->settings[i].name, "function") == 0) {
            any = true;
            if (strcmp(job->settings[i].value, name) == 0) {
                return true;
            }
        }
    }
    return !any;
}

/* --- calibration, operations out ---------------------------------------------------------------
 */

static bool calibrated(const struct ftrace_import *import)
{
    return import->writer != NULL;
}

static uint64_t delay_ticks(const struct ftrace_import *import, const struct waiting *operation)
{
    kernel_wide ticks = import->hrtimer ? kernel_clock_delay_ns(&import->clock, operation->timeout,
                                                                operation->time_ns)
                                        : operation->timeout;
    if (ticks <= 0) {
        return 0;
    }
    /* Rounded up: a timer must not become due earlier than it was. */
    if (import->hrtimer) {
        ticks = (ticks + import->tick_ns - 1) / import->tick_ns;
    } else if (import->tick_ns != NS_PER_SECOND / import->hz) {
        kernel_wide divisor = (kernel_wide)import->hz * import->tick_ns;
        ticks = (ticks * NS_PER_SECOND + divisor - 1) / divisor;
    }
    return ticks < (kernel_wide)TRACE_TICK_MAX ? (uint64_t)ticks : TRACE_TICK_MAX;
}

static bool write_operation(struct ftrace_import *import, const struct waiting *operation,
                            struct error *error)
{
    if (operation->time_ns > import->emitted_ns) {
        import->emitted_ns = operation->time_ns;
    }
    uint64_t tick = (import->emitted_ns - import->first_ns) / import->tick_ns;
    uint64_t delay = operation->op == TRACE_START ? delay_ticks(import, operation) : 0;
    return trace_writer_add(import->writer, tick, operation->id, operation->op, delay, error);
}

/* Settles the length of a tick, and writes what waited for it. */
static bool calibrate(struct ftrace_import *import, struct error *error)
{
    if (!import->hrtimer && import->hz == 0) {
        import->hz = kernel_clock_hz(&import->clock);
        if (import->hz == 0) {
            return error_set(error,
                             "%s: HZ (jiffies per second) cannot be told from this recording, "
                             "which is too short or has odd time stamps; give it with --hz",
                             import->name);
        }
    }
    if (import->tick_ns == 0) {
        import->tick_ns = NS_PER_SECOND / import->hz;
    }
    if (import->hrtimer && import->clock.count == 0 && import->waiting_count > 0) {
        return error_set(error,
                         "%s: no hrtimer_expire_entry event tells the timers' clock from the time "
                         "stamps; record that event too",
                         import->name);
    }
    import->writer = trace_writer_open(import->job->output, import->tick_ns, error);
    if (import->writer == NULL) {
        return false;
    }
    import->emitted_ns = import->first_ns;
    for (size_t i = 0; i < import->waiting_count; i++) {
        if (!write_operation(import, &import->waiting[i], error)) {
            return false;
        }
    }
    free(import->waiting);
    import->waiting = NULL;
    import->waiting_count = 0;
    return true;
}

static bool ready_to_calibrate(const struct ftrace_import *import)
{
    if (import->waiting_count == WAITING_MAX) {
        return true;
    }
    if (import->hrtimer) {
        return import->clock.count > 0 && import->latest_ns - import->first_ns >= CLOCKS_SPAN_NS;
    }
    return import->hz != 0 || kernel_clock_hz_is_sure(&import->clock);
}

static bool emit(struct ftrace_import *import, const struct kernel_operation *from, uint32_t id,
                 enum trace_op op, struct error *error)
{
    struct waiting operation = {
        .time_ns = from->time_ns, .timeout = from->timeout, .id = id, .op = op};
    if (op == TRACE_START) {
        import->starts++;
    } else {
        import->stops++;
    }
    if (!calibrated(import) && ready_to_calibrate(import) && !calibrate(import, error)) {
        return false;
    }
    if (calibrated(import)) {
        return write_operation(import, &operation, error);
    }
    struct waiting *waiting =
        array_reach(import->waiting, &import->waiting_room, import->waiting_count, sizeof *waiting);
    if (waiting == NULL) {
        return error_set(error, "%s: out of memory", import->name);
    }
    import->waiting = waiting;
    import->waiting[import->waiting_count++] = operation;
    return true;
}

/* Makes the two tables that follow the classifier's long enough. */
static bool follow(struct ftrace_import *import, const struct kernel_operation *operation,
                   struct error *error)
{
    if (operation->timer < import->timer_count && operation->function < import->kept_count) {
        return true;
    }
    struct traced_timer *timers =
        array_reach(import->timers, &import->timer_room, operation->timer, sizeof *timers);
    import->timers = timers != NULL ? timers : import->timers;
    signed char *kept =
        array_reach(import->kept, &import->kept_room, operation->function, sizeof *kept);
    import->kept = kept != NULL ? kept : import->kept;
    if (timers == NULL || kept == NULL) {
        return error_set(error, "%s: out of memory", import->name);
    }
    for (; import->timer_count <= operation->timer; import->timer_count++) {
        timers[import->timer_count] = (struct traced_timer){0};
    }
    for (; import->kept_count <= operation->function; import->kept_count++) {
        kept[import->kept_count] = -1;
    }
    return true;
}

static bool take_operation(void *ctx, const struct kernel_operation *operation, struct error *error)
{
    struct ftrace_import *import = ctx;
    if (!follow(import, operation, error)) {
        return false;
    }
    struct traced_timer *timer = &import->timers[operation->timer];
    bool pending = timer->pending;
    if (operation->verdict == KERNEL_EXPIRY) {
        timer->pending = false;
        return true;
    }
    if (operation->verdict == KERNEL_TRUE_CANCEL) {
        timer->pending = false;
        if (!pending) {
            import->left_out_stops++;
            return true;
        }
        return emit(import, operation, timer->id_plus_1 - 1, TRACE_STOP, error);
    }
    signed char *kept = &import->kept[operation->function];
    if (*kept < 0) {
        const struct kernel_function *function =
            kernel_classifier_function(import->classifier, operation->function);
        *kept = function_is_kept(import->job, function->name) ? 1 : 0;
    }
    if (*kept == 0) {
        /* Memory that held a timer of interest has become another one, unseen: that one is over. */
        timer->pending = false;
        import->left_out_starts++;
        return !pending || emit(import, operation, timer->id_plus_1 - 1, TRACE_STOP, error);
    }
    if (timer->id_plus_1 == 0) {
        timer->id_plus_1 = ++import->ids;
    }
    timer->pending = true;
    return emit(import, operation, timer->id_plus_1 - 1, TRACE_START, error);
}

/* --- lines in --------------------------------------------------------------------------------- */

static bool take_event(struct ftrace_import *import, const struct kernel_event *event,
                       struct error *error)
{
    switch (event->kind) {
    case KERNEL_TIMER_START:
    case KERNEL_TIMER_CANCEL:
    case KERNEL_TIMER_EXPIRE:
        import->lines.wheel[event->kind - KERNEL_TIMER_START]++;
        if (import->hrtimer) {
            return true;
        }
        if (event->kind != KERNEL_TIMER_CANCEL) {
            kernel_clock_observe_jiffies(&import->clock, event);
        }
        break;
    case KERNEL_HRTIMER_START:
    case KERNEL_HRTIMER_CANCEL:
    case KERNEL_HRTIMER_EXPIRE:
    default:
        import->lines.hrtimer[event->kind - KERNEL_HRTIMER_START]++;
        if (!import->hrtimer) {
            return true;
        }
        if (event->kind == KERNEL_HRTIMER_EXPIRE) {
            kernel_clock_observe_hrtimer(&import->clock, event);
        }
        break;
    }
    return kernel_classifier_add(import->classifier, event, error);
}

static void observe_time(struct ftrace_import *import, uint64_t time_ns)
{
    if (!import->begun) {
        import->begun = true;
        import->first_ns = time_ns;
        import->latest_ns = time_ns;
    } else if (time_ns < import->latest_ns) {
        import->lines.time_goes_back++;
    } else {
        import->latest_ns = time_ns;
    }
}

static bool take_line(void *ctx, const struct line *line, struct error *error)
{
    struct ftrace_import *import = ctx;
    struct line_counts *lines = &import->lines;
    struct kernel_line_result result;
    switch (kernel_line_parse(line->text, line->length, &result)) {
    case KERNEL_LINE_TIMER:
        observe_time(import, result.event.time_ns);
        return take_event(import, &result.event, error);
    case KERNEL_LINE_OTHER:
        observe_time(import, result.event.time_ns);
        lines->other_events++;
        return true;
    case KERNEL_LINE_LOST:
        lines->lost_markers++;
        lines->lost_events += result.lost_events;
        return true;
    case KERNEL_LINE_BLANK:
        import->tally.blank++;
        return true;
    case KERNEL_LINE_MALFORMED:
    default:
        import_tally_malformed(&import->tally, line->number, line->text, line->length, result.why);
        return true;
    }
}

/* --- what was counted ------------------------------------------------------------------------- */

static int by_starts(const void *a, const void *b)
{
    const struct kernel_function *one = a;
    const struct kernel_function *other = b;
    if (one->start != other->start) {
        return one->start > other->start ? -1 : 1;
    }
    return strcmp(one->name, other->name);
}

/* Copies of the functions, those with most starts first. Free it. */
static struct kernel_function *sorted_functions(const struct ftrace_import *import, size_t *count)
{
    *count = kernel_classifier_functions(import->classifier);
    struct kernel_function *functions = calloc(*count, sizeof *functions);
    if (functions != NULL) {
        for (size_t i = 0; i < *count; i++) {
            functions[i] = *kernel_classifier_function(import->classifier, i);
        }
        qsort(functions, *count, sizeof *functions, by_starts);
    }
    return functions;
}

#define COUNTS_MAX 40u

/* Everything that was counted, once for the summary and the origin alike. */
static size_t list_counts(const struct ftrace_import *import, struct import_count *counts)
{
    const struct line_counts *lines = &import->lines;
    const struct kernel_counts *kernel = kernel_classifier_counts(import->classifier);
    const struct import_count all[] = {
        {"lines", import->tally.lines},
        {"blank_lines", import->tally.blank},
        {"malformed_lines", import->tally.malformed},
        {"lost_markers", lines->lost_markers},
        {"lost_events", lines->lost_events},
        {"timer_start", lines->wheel[0]},
        {"timer_cancel", lines->wheel[1]},
        {"timer_expire_entry", lines->wheel[2]},
        {"hrtimer_start", lines->hrtimer[0]},
        {"hrtimer_cancel", lines->hrtimer[1]},
        {"hrtimer_expire_entry", lines->hrtimer[2]},
        {"other_events", lines->other_events},
        {"time_goes_back", lines->time_goes_back},
        {"timers", kernel->timers},
        {"starts", kernel->starts},
        {"arm", kernel->arm},
        {"rearm", kernel->rearm},
        {"start_on_armed", kernel->start_on_armed},
        {"cancels", kernel->cancels},
        {"true_cancel", kernel->true_cancel},
        {"expiry", kernel->expiry},
        {"expiry_bare", kernel->expiry_bare},
        {"cancel_on_idle", kernel->cancel_on_idle},
        {"armed_before_start", kernel->armed_before_start},
        {"armed_at_end", kernel->armed_at_end},
        {"max_armed", kernel->max_armed},
        {"trace_starts", import->starts},
        {"trace_stops", import->stops},
        {"left_out_starts", import->left_out_starts},
        {"left_out_stops", import->left_out_stops},
    };
    _Static_assert(sizeof all / sizeof all[0] <= COUNTS_MAX, "counts must fit");
    memcpy(counts, all, sizeof all);
    return sizeof all / sizeof all[0];
}

static void print_summary(const struct ftrace_import *import,
                          const struct kernel_function *functions, size_t function_count)
{
    FILE *out = import->job->report;
    const struct line_counts *lines = &import->lines;
    const struct kernel_counts *kernel = kernel_classifier_counts(import->classifier);
    import_tally_print(&import->tally);
    (void)fprintf(out, "%s: %" PRIu64 " lines, %.6f s", import->name, import->tally.lines,
                  (double)(import->latest_ns - import->first_ns) / 1e9);
    if (!import->hrtimer) {
        (void)fprintf(out, ", HZ %" PRIu64 " (%s)", import->hz,
                      import->hz_given ? "given" : "estimated");
    }
    (void)fprintf(out, ", tick %" PRIu64 " ns\n\n", import->tick_ns);

    struct import_count counts[COUNTS_MAX];
    size_t count = list_counts(import, counts);
    import_counts_print(out, counts, count);
    (void)fprintf(out, "\n  %-26s %9s %9s %9s %9s %9s %7s  %s\n", "function", "starts", "arm",
                  "rearm", "cancel", "expiry", "at end", import->hrtimer ? "" : "jiffies");
    for (size_t i = 0; i < function_count && i < FUNCTIONS_IN_SUMMARY; i++) {
        const struct kernel_function *f = &functions[i];
        (void)fprintf(
            out,
            "  %-26s %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %7" PRIu64,
            f->name, f->start, f->arm, f->rearm, f->true_cancel, f->expiry, f->armed_at_end);
        if (f->start > 0 && !import->hrtimer) {
            (void)fprintf(out, "  %" PRId64 "..%" PRId64, f->min_timeout, f->max_timeout);
        }
        (void)fputc('\n', out);
    }
    if (function_count > FUNCTIONS_IN_SUMMARY) {
        (void)fprintf(out, "  and %zu more\n", function_count - FUNCTIONS_IN_SUMMARY);
    }
    (void)fprintf(out, "\n%s: %" PRIu64 " starts and %" PRIu64 " stops of %" PRIu32 " timers\n",
                  import->job->output, import->starts, import->stops, import->ids);
    if (lines->lost_markers > 0) {
        (void)fprintf(out,
                      "%s: the recorder lost events in %" PRIu64
                      " places; a larger buffer would have kept them\n",
                      import->name, lines->lost_markers);
    }
    if (kernel->starts == 0) {
        (void)fprintf(out, "%s: no %s event, so the trace is empty\n", import->name,
                      import->hrtimer ? "hrtimer_start" : "timer_start");
    }
}

static json_t *function_rows(const struct kernel_function *functions, size_t count)
{
    json_t *rows = json_object();
    for (size_t i = 0; i < count && i < FUNCTIONS_IN_ORIGIN; i++) {
        const struct kernel_function *f = &functions[i];
        json_t *name = import_printable(f->name);
        json_t *row = json_object();
        (void)json_object_set_new(row, "start", import_json_count(f->start));
        (void)json_object_set_new(row, "arm", import_json_count(f->arm));
        (void)json_object_set_new(row, "rearm", import_json_count(f->rearm));
        (void)json_object_set_new(row, "start_on_armed", import_json_count(f->start_on_armed));
        (void)json_object_set_new(row, "true_cancel", import_json_count(f->true_cancel));
        (void)json_object_set_new(row, "expiry", import_json_count(f->expiry));
        (void)json_object_set_new(row, "armed_at_end", import_json_count(f->armed_at_end));
        (void)json_object_set_new(rows, name != NULL ? json_string_value(name) : "?", row);
        json_decref(name);
    }
    return rows;
}

/* The trace's origin: where it came from and what was counted. Free it. */
static char *describe_origin(const struct ftrace_import *import,
                             const struct kernel_function *functions, size_t function_count,
                             struct error *error)
{
    struct import_count counts[COUNTS_MAX];
    size_t count = list_counts(import, counts);
    json_t *origin = import_origin(&import->tally, "ftrace", counts, count);
    (void)json_object_set_new(origin, "timers", json_string(import->hrtimer ? "hrtimer" : "wheel"));
    if (!import->hrtimer) {
        (void)json_object_set_new(origin, "hz", import_json_count(import->hz));
        (void)json_object_set_new(origin, "hz_estimated", json_boolean(!import->hz_given));
    }
    (void)json_object_set_new(origin, "duration_ns",
                              import_json_count(import->latest_ns - import->first_ns));
    json_t *kept = json_array();
    for (size_t i = 0; i < import->job->setting_count; i++) {
        if (strcmp(import->job->settings[i].name, "function") == 0) {
            (void)json_array_append_new(kept, import_printable(import->job->settings[i].value));
        }
    }
    (void)json_object_set_new(origin, "kept_functions", kept);
    (void)json_object_set_new(origin, "functions", function_rows(functions, function_count));
    return import_origin_text(&import->tally, origin, error);
}

/* --- the whole -------------------------------------------------------------------------------- */

/* After the last line: is it a recording, and of one HZ? */
static bool judge(const struct ftrace_import *import, struct error *error)
{
    if (import->tally.lines == 0) {
        return error_set(error, "%s: is empty: no line to import", import->name);
    }
    if (!import_tally_bearable(&import->tally, true, error)) {
        return false;
    }
    const uint64_t *events = import->hrtimer ? import->lines.hrtimer : import->lines.wheel;
    if (events[0] + events[1] + events[2] == 0) {
        return error_set(error,
                         "%s: none of its %" PRIu64
                         " lines is a %s event; record %s, or choose the other kind with --timers",
                         import->name, import->tally.lines, import->hrtimer ? "hrtimer" : "timer",
                         import->hrtimer ? "hrtimer_start, hrtimer_cancel and hrtimer_expire_entry"
                                         : "timer_start, timer_cancel and timer_expire_entry");
    }
    return true;
}

static bool conclude(struct ftrace_import *import, struct error *error)
{
    if (!judge(import, error) || !kernel_classifier_finish(import->classifier, error) ||
        (!calibrated(import) && !calibrate(import, error))) {
        return false;
    }
    uint64_t hz =
        import->hrtimer || import->hz_given ? import->hz : kernel_clock_hz(&import->clock);
    if (hz != import->hz) {
        return error_set(error,
                         "%s: its beginning says HZ %" PRIu64
                         ", but not the whole of it: the time stamps jump, or several recordings "
                         "were joined; give --hz, or import them one by one",
                         import->name, import->hz);
    }
    size_t function_count;
    struct kernel_function *functions = sorted_functions(import, &function_count);
    if (functions != NULL && import->starts == 0 && import->left_out_starts > 0) {
        (void)error_set(error,
                        "%s: no timer of a --function was started; the one most often started is "
                        "%s",
                        import->name, functions[0].name);
        free(functions);
        return false;
    }
    char *origin = NULL;
    if (functions == NULL) {
        (void)error_set(error, "%s: out of memory", import->name);
    } else {
        origin = describe_origin(import, functions, function_count, error);
    }
    bool good = origin != NULL;
    if (good) {
        uint64_t end_tick = (import->latest_ns - import->first_ns) / import->tick_ns + 1;
        struct trace_writer *writer = import->writer;
        import->writer = NULL;
        good = trace_writer_commit(writer, 0, end_tick, 0, origin, error);
    }
    if (good) {
        print_summary(import, functions, function_count);
    }
    free(origin);
    free(functions);
    return good;
}

enum import_result import_ftrace(const struct import_job *job, struct error *error)
{
    struct ftrace_import import = {.job = job};
    if (!read_settings(&import, error)) {
        return IMPORT_USAGE;
    }
    struct line_reader *reader = line_reader_open(job->input, error);
    if (reader == NULL) {
        return IMPORT_FAILED;
    }
    import.name = line_reader_name(reader);
    import.tally.name = import.name;
    import.tally.job = job;
    import.tally.unit = "line";
    import.classifier = kernel_classifier_create(take_operation, &import);
    bool good = import.classifier != NULL;
    if (!good) {
        (void)error_set(error, "%s: out of memory", import.name);
    }
    good = good && import_tally_read(&import.tally, reader, take_line, &import, error) &&
           conclude(&import, error);
    if (!good) {
        import_tally_print(&import.tally);
    }
    trace_writer_abort(import.writer);
    kernel_classifier_destroy(import.classifier);
    line_reader_close(reader);
    free(import.timers);
    free(import.kept);
    free(import.waiting);
    return good ? IMPORT_DONE : IMPORT_FAILED;
}
