/*
 * import ftrace: a trace from the Linux kernel's own timers, recorded through its tracepoints.
 *
 * kernel_timer_event.h parses the lines, kernel_timer_classifier.h determines operations and their
 * causes, kernel_steps.h their place in a trace, the length of a jiffy and the clocks of
 * high-resolution timers. A start of any kind is a start, a true cancel a stop; an expiry
 * is no operation, because in a replay the structures expire timers. A stop of a timer that is not
 * pending in the trace is counted and omitted.
 */
#include "import.h"

#include "import_tally.h"
#include "json_text.h"
#include "kernel_steps.h"
#include "kernel_timer_classifier.h"
#include "line_reader.h"
#include "memory.h"
#include "trace.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define HRTIMER_TICK_NS      1000u
#define DOUBTFUL_SHARE       0.01 /* of lines or starts that should not be there */

#define FUNCTIONS_IN_ORIGIN  256u
#define FUNCTIONS_IN_SUMMARY 20u

/* Every TCP socket has one such timer, for retransmissions. */
#define SOCKET_FUNCTION      "tcp_write_timer"

const struct import_option import_ftrace_options[] = {
    {"function", "NAME", true,
     "keep only timers of this callback function, such as tcp_write_timer, or 'name [module]' "
     "(default: all)"},
    {"hz", "N", false, "the recorded kernel's jiffies per second (default: estimated)"},
    {"max-malformed", "SHARE", false,
     "refuse a file with a greater share of lines that are not understood (default: 1%)"},
    {"tick-ns", "NS", false,
     "length of a tick of the trace (default: one jiffy; for hrtimer 1000)"},
    {"timers", "KIND", false, "wheel (the kernel's timer wheel) or hrtimer (default: wheel)"},
    {NULL, NULL, false, NULL},
};

/* The rule of reactions, for the summary and the origin. */
static const char cause_rule[] =
    "an expiry causes the operations that follow timer_expire_entry of the same timer on its CPU, "
    "by the same task, within 50 us, with no other event of that CPU between, in softirq where "
    "that is recorded; with timer_expire_exit, those of that task on that CPU until then, except "
    "for delayed work";
static const char cause_rule_hrtimer[] =
    "an expiry causes the operations that follow hrtimer_expire_entry of the same timer on its "
    "CPU, by the same task, within 50 us, with no other event of that CPU between, in an interrupt "
    "where that is recorded";

struct traced_timer {
    uint32_t id_plus_1; /* 0: never started */
    uint32_t armed;     /* the start that is pending in the trace, or KERNEL_NO_STEP */
    uint32_t fired;     /* the start that expired last, likewise */
};

struct ftrace_import {
    const struct import_job *job;
    struct import_tally tally;

    bool hrtimer;
    bool hz_given;
    uint32_t ids;
    uint64_t hz;      /* 0: not known yet */
    uint64_t tick_ns; /* 0: not known yet */

    /* Lines, in addition to the tally. */
    uint64_t lost_markers;
    uint64_t lost_events;
    uint64_t events[KERNEL_EVENT_KINDS];
    uint64_t other_events;
    uint64_t time_goes_back;

    struct import_times times;

    struct kernel_clock clock;

    struct kernel_classifier *classifier;
    struct traced_timer *timers; /* by the classifier's index */
    uint32_t timer_count;
    uint32_t timer_room;

    struct kernel_steps steps;
    uint64_t reactions; /* in the trace; of these, starts of either basis: */
    uint64_t fixed_delay;
    uint64_t absolute;
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
            const char *kept = job->settings[i].value;
            size_t length = strlen(kept);
            if (strncmp(kept, name, length) == 0 &&
                (name[length] == '\0' || strncmp(name + length, " [", 2) == 0)) {
                return true;
            }
        }
    }
    return !any;
}

/* --- operations ------------------------------------------------------------------------------- */

/* Grow the table of timers to the size of the classifier's. */
static void reach_timer(struct ftrace_import *import, uint32_t timer)
{
    MEMORY_REACH(import->timers, import->timer_room, timer);
    for (; import->timer_count <= timer; import->timer_count++) {
        import->timers[import->timer_count] =
            (struct traced_timer){.armed = KERNEL_NO_STEP, .fired = KERNEL_NO_STEP};
    }
}

static void add_step(struct ftrace_import *import, struct traced_timer *timer,
                     const struct kernel_operation *operation)
{
    uint32_t cause = operation->cause != KERNEL_NO_TIMER ? import->timers[operation->cause].fired
                                                         : KERNEL_NO_STEP;
    uint32_t step =
        kernel_steps_add(&import->steps, timer->id_plus_1 - 1, operation, cause, timer->armed);
    bool start = operation->verdict != KERNEL_EXPIRY && operation->verdict != KERNEL_TRUE_CANCEL;
    timer->fired = operation->verdict == KERNEL_EXPIRY ? timer->armed : timer->fired;
    timer->armed = start ? step : KERNEL_NO_STEP;
    import->starts += start;
    import->stops += operation->verdict == KERNEL_TRUE_CANCEL;
}

static void take_operation(void *ctx, const struct kernel_operation *operation)
{
    struct ftrace_import *import = ctx;
    reach_timer(import, operation->timer);
    struct traced_timer *timer = &import->timers[operation->timer];
    bool pending = timer->armed != KERNEL_NO_STEP;
    if (operation->verdict == KERNEL_TRUE_CANCEL && !pending) {
        import->left_out_stops++;
        return;
    }
    if (operation->verdict == KERNEL_EXPIRY || operation->verdict == KERNEL_TRUE_CANCEL) {
        add_step(import, timer, operation);
        return;
    }
    const struct kernel_function *function =
        kernel_classifier_function(import->classifier, operation->function);
    if (!function_is_kept(import->job, function->name)) {
        /* The memory of a kept timer has become another one, which ends the kept one. */
        struct kernel_operation stop = *operation;
        stop.verdict = KERNEL_TRUE_CANCEL;
        import->left_out_starts++;
        if (pending) {
            add_step(import, timer, &stop);
        }
        return;
    }
    if (timer->id_plus_1 == 0) {
        timer->id_plus_1 = ++import->ids;
    }
    add_step(import, timer, operation);
}

/* --- lines in --------------------------------------------------------------------------------- */

/* Whether an event is of the kind of timers that are imported. */
static bool is_imported(const struct ftrace_import *import, const struct kernel_event *event)
{
    return (event->kind >= KERNEL_HRTIMER_START) == import->hrtimer;
}

static void take_event(struct ftrace_import *import, const struct kernel_event *event)
{
    import->events[event->kind]++;
    if (!is_imported(import, event)) {
        return;
    }
    if (event->kind == KERNEL_TIMER_START || event->kind == KERNEL_TIMER_EXPIRE) {
        kernel_clock_observe_jiffies(&import->clock, event);
        /* The HZ of the beginning must be that of the whole recording. */
        if (import->hz == 0 && kernel_clock_hz_is_sure(&import->clock)) {
            import->hz = kernel_clock_hz(&import->clock);
        }
    } else if (event->kind == KERNEL_HRTIMER_EXPIRE) {
        kernel_clock_observe_hrtimer(&import->clock, event);
    }
    kernel_classifier_add(import->classifier, event);
}

static void observe_time(struct ftrace_import *import, uint64_t time_ns)
{
    if (time_ns < import->times.latest_ns) {
        import->time_goes_back++;
    } else {
        import_times_add(&import->times, time_ns);
    }
}

static bool take_line(void *ctx, const struct line *line, struct error *error)
{
    (void)error;
    struct ftrace_import *import = ctx;
    struct kernel_line_result result;
    switch (kernel_line_parse(line->text, line->length, &result)) {
    case KERNEL_LINE_TIMER:
        observe_time(import, result.event.time_ns);
        result.event.line = line->number;
        /* Without another reason to wake up, the kernel waits for the end of the slack. */
        result.event.slack_ns = import->job->recording != NULL ? 0 : result.event.slack_ns;
        take_event(import, &result.event);
        return true;
    case KERNEL_LINE_OTHER:
        observe_time(import, result.event.time_ns);
        import->other_events++;
        return true;
    case KERNEL_LINE_LOST:
        import->lost_markers++;
        import->lost_events += result.lost_events;
        return true;
    case KERNEL_LINE_BLANK:
        import->tally.blank++;
        return true;
    case KERNEL_LINE_MALFORMED:
    default:
        if (result.named && !is_imported(import, &result.event)) {
            observe_time(import, result.event.time_ns);
            import->other_events++;
            return true;
        }
        import_tally_malformed(&import->tally, line->number, line->text, line->length, result.why);
        return true;
    }
}

/* --- counts ----------------------------------------------------------------------------------- */

static int by_starts(const void *a, const void *b)
{
    const struct kernel_function *one = a;
    const struct kernel_function *other = b;
    if (one->start != other->start) {
        return one->start > other->start ? -1 : 1;
    }
    return strcmp(one->name, other->name);
}

/* Return copies of the functions, most starts first; the caller frees them. */
static struct kernel_function *sorted_functions(const struct ftrace_import *import, size_t *count)
{
    *count = kernel_classifier_functions(import->classifier);
    struct kernel_function *functions = memory_new(*count, sizeof *functions);
    for (size_t i = 0; i < *count; i++) {
        functions[i] = *kernel_classifier_function(import->classifier, i);
    }
    qsort(functions, *count, sizeof *functions, by_starts);
    return functions;
}

static void print_functions(const struct ftrace_import *import,
                            const struct kernel_function *functions, size_t count)
{
    FILE *out = import->job->report;
    (void)fprintf(out, "\n  %-26s %9s %9s %9s %9s %9s %9s %7s  %s\n", "function", "starts", "arm",
                  "rearm", "cancel", "expiry", "caused", "at end",
                  import->hrtimer ? "" : "jiffies");
    for (size_t i = 0; i < count && i < FUNCTIONS_IN_SUMMARY; i++) {
        const struct kernel_function *f = &functions[i];
        (void)fprintf(out,
                      "  %-26s %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64
                      " %9" PRIu64 " %7" PRIu64,
                      f->name, f->start, f->verdicts[KERNEL_ARM], f->verdicts[KERNEL_REARM],
                      f->verdicts[KERNEL_TRUE_CANCEL], f->verdicts[KERNEL_EXPIRY], f->caused,
                      f->armed_at_end);
        if (f->start > 0 && !import->hrtimer) {
            (void)fprintf(out, "  %" PRId64 "..%" PRId64, f->min_timeout, f->max_timeout);
        }
        (void)fputc('\n', out);
    }
    if (count > FUNCTIONS_IN_SUMMARY) {
        (void)fprintf(out, "  and %zu more\n", count - FUNCTIONS_IN_SUMMARY);
    }
}

static json_t *describe_functions(const struct kernel_function *functions, size_t count)
{
    json_t *rows = json_object();
    for (size_t i = 0; i < count && i < FUNCTIONS_IN_ORIGIN; i++) {
        const struct kernel_function *f = &functions[i];
        const struct import_count counts[] = {
            {"start", f->start},
            {"arm", f->verdicts[KERNEL_ARM]},
            {"rearm", f->verdicts[KERNEL_REARM]},
            {"start_on_armed", f->verdicts[KERNEL_START_ON_ARMED]},
            {"true_cancel", f->verdicts[KERNEL_TRUE_CANCEL]},
            {"expiry", f->verdicts[KERNEL_EXPIRY]},
            {"caused", f->caused},
            {"armed_at_end", f->armed_at_end},
            {"timers", f->timers},
        };
        json_t *name = json_text(f->name);
        (void)json_object_set_new(rows, name != NULL ? json_string_value(name) : "?",
                                  import_counts_json(counts, sizeof counts / sizeof counts[0]));
        json_decref(name);
    }
    return rows;
}

/* Return the members of the origin that only this format has. */
static json_t *describe_recording(const struct ftrace_import *import,
                                  const struct kernel_function *functions, size_t function_count)
{
    json_t *details = json_object();
    (void)json_object_set_new(details, "timers",
                              json_string(import->hrtimer ? "hrtimer" : "wheel"));
    if (!import->hrtimer) {
        (void)json_object_set_new(details, "hz", json_integer((json_int_t)import->hz));
        (void)json_object_set_new(details, "hz_estimated", json_boolean(!import->hz_given));
    }
    json_t *kept = json_array();
    for (size_t i = 0; i < import->job->setting_count; i++) {
        if (strcmp(import->job->settings[i].name, "function") == 0) {
            (void)json_array_append_new(kept, json_text(import->job->settings[i].value));
        }
    }
    (void)json_object_set_new(details, "kept_functions", kept);
    for (size_t i = 0; i < function_count; i++) {
        if (strcmp(functions[i].name, SOCKET_FUNCTION) == 0) {
            (void)json_object_set_new(details, "connections",
                                      json_integer((json_int_t)functions[i].timers));
        }
    }
    (void)json_object_set_new(details, "functions", describe_functions(functions, function_count));
    return details;
}

/* Complete the trace, and report. */
static bool finish(struct ftrace_import *import, struct trace_writer *writer, uint64_t end_tick,
                   const struct kernel_function *functions, size_t function_count,
                   struct error *error)
{
    const struct kernel_counts *kernel = kernel_classifier_counts(import->classifier);
    const struct import_count all[] = {
        {"lines", import->tally.lines},
        {"blank_lines", import->tally.blank},
        {"malformed_lines", import->tally.malformed},
        {"lost_markers", import->lost_markers},
        {"lost_events", import->lost_events},
        {"timer_start", import->events[KERNEL_TIMER_START]},
        {"timer_cancel", import->events[KERNEL_TIMER_CANCEL]},
        {"timer_expire_entry", import->events[KERNEL_TIMER_EXPIRE]},
        {"timer_expire_exit", import->events[KERNEL_TIMER_EXIT]},
        {"hrtimer_start", import->events[KERNEL_HRTIMER_START]},
        {"hrtimer_cancel", import->events[KERNEL_HRTIMER_CANCEL]},
        {"hrtimer_expire_entry", import->events[KERNEL_HRTIMER_EXPIRE]},
        {"other_events", import->other_events},
        {"time_goes_back", import->time_goes_back},
        {"timers", kernel->all.timers},
        {"starts", kernel->all.start},
        {"arm", kernel->all.verdicts[KERNEL_ARM]},
        {"rearm", kernel->all.verdicts[KERNEL_REARM]},
        {"start_on_armed", kernel->all.verdicts[KERNEL_START_ON_ARMED]},
        {"cancels", kernel->cancels},
        {"true_cancel", kernel->all.verdicts[KERNEL_TRUE_CANCEL]},
        {"expiry", kernel->all.verdicts[KERNEL_EXPIRY]},
        {"expiry_bare", kernel->expiry_bare},
        {"cancel_on_idle", kernel->cancel_on_idle},
        {"armed_before_start", kernel->armed_before_start},
        {"armed_at_end", kernel->all.armed_at_end},
        {"max_armed", kernel->max_armed},
        {"caused", kernel->all.caused},
        {"reactions", import->reactions},
        {"reactions_fixed_delay", import->fixed_delay},
        {"reactions_absolute", import->absolute},
        {"trace_starts", import->starts},
        {"trace_stops", import->stops},
        {"left_out_starts", import->left_out_starts},
        {"left_out_stops", import->left_out_stops},
    };
    char clock[64] = "";
    if (!import->hrtimer) {
        (void)snprintf(clock, sizeof clock, ", HZ %" PRIu64 " (%s)", import->hz,
                       import->hz_given ? "given" : "estimated");
    }
    struct import_summary summary = {.writer = writer,
                                     .end_tick = end_tick,
                                     .format = "ftrace",
                                     .span_ns = import_times_span_ns(&import->times),
                                     .tick_ns = import->tick_ns,
                                     .clock = clock,
                                     .causes = import->hrtimer ? cause_rule_hrtimer : cause_rule,
                                     .reactions = import->reactions,
                                     .starts = import->starts,
                                     .stops = import->stops,
                                     .timers = import->ids,
                                     .details =
                                         describe_recording(import, functions, function_count)};
    IMPORT_COUNTS(&summary, all);
    if (!import_finish(&import->tally, &summary, error)) {
        return false;
    }
    print_functions(import, functions, function_count);
    if (kernel->all.start == 0) {
        (void)fprintf(import->job->report, "%s: no %s event, so the trace is empty\n",
                      import->tally.name, import->hrtimer ? "hrtimer_start" : "timer_start");
    }
    return true;
}

/* --- the whole -------------------------------------------------------------------------------- */

static void warn_of_recording(struct ftrace_import *import)
{
    const struct kernel_counts *kernel = kernel_classifier_counts(import->classifier);
    if (import->lost_markers > 0) {
        import_warn(&import->tally,
                    "events were lost in %" PRIu64 " places, %" PRIu64
                    " of them at least: timers without a recorded end count as restarted or never "
                    "expire. Record with a larger buffer",
                    import->lost_markers, import->lost_events);
    }
    if ((double)kernel->all.verdicts[KERNEL_START_ON_ARMED] >
        DOUBTFUL_SHARE * (double)kernel->all.start) {
        import_warn(&import->tally,
                    "%" PRIu64 " of %" PRIu64 " starts find the timer armed, which the kernel "
                    "does not do: events were lost%s; timers that were cancelled or expired "
                    "count as restarted, and fire late or never. Record with a larger buffer",
                    kernel->all.verdicts[KERNEL_START_ON_ARMED], kernel->all.start,
                    import->lost_markers > 0 ? ", as the recording says itself" : "");
    }
    if ((double)import->time_goes_back > DOUBTFUL_SHARE * (double)import->tally.lines) {
        import_warn(&import->tally,
                    "%" PRIu64 " of %" PRIu64 " lines are earlier than one before them, and are "
                    "taken to be at that one's time; sort it by time",
                    import->time_goes_back, import->tally.lines);
    }
    import_warn_gap(&import->tally, &import->times);
}

/* After the last line: check that it is a recording of timers. */
static bool check_recording(const struct ftrace_import *import, struct error *error)
{
    if (!import_tally_end(&import->tally, import->tally.lines, "", error) ||
        !import_tally_forward(&import->tally, import->time_goes_back, error)) {
        return false;
    }
    const uint64_t *events =
        &import->events[import->hrtimer ? KERNEL_HRTIMER_START : KERNEL_TIMER_START];
    if (events[0] + events[1] + events[2] == 0) {
        return error_set(error,
                         "%s: none of its %" PRIu64
                         " lines is a %s event; record %s, or choose the other kind with --timers",
                         import->tally.name, import->tally.lines,
                         import->hrtimer ? "hrtimer" : "timer",
                         import->hrtimer ? "hrtimer_start, hrtimer_cancel and hrtimer_expire_entry"
                                         : "timer_start, timer_cancel and timer_expire_entry");
    }
    return true;
}

/* Determine the length of a tick. */
static bool calibrate(struct ftrace_import *import, struct error *error)
{
    uint64_t hz =
        import->hrtimer || import->hz_given ? import->hz : kernel_clock_hz(&import->clock);
    if (import->hz != 0 && hz != import->hz) {
        return error_set(error,
                         "%s: its beginning says HZ %" PRIu64
                         ", but not the whole of it: the time stamps jump, or several recordings "
                         "were joined; give --hz, or import them one by one",
                         import->tally.name, import->hz);
    }
    import->hz = hz;
    if (!import->hrtimer && hz == 0) {
        return error_set(error,
                         "%s: HZ (jiffies per second) cannot be derived from this recording, which "
                         "is too short or has odd time stamps; give it with --hz",
                         import->tally.name);
    }
    if (import->hrtimer && import->clock.count == 0 && import->steps.count > 0) {
        return error_set(error,
                         "%s: without an hrtimer_expire_entry event the offset of the timers' "
                         "clock from the time stamps is unknown; record that event too",
                         import->tally.name);
    }
    if (import->tick_ns == 0) {
        import->tick_ns = NS_PER_SECOND / hz;
    }
    return true;
}

static bool read_recording(struct ftrace_import *import, struct line_reader *reader,
                           struct error *error)
{
    import->tally.name = line_reader_name(reader);
    import->tally.job = import->job;
    import->tally.unit = "line";
    import->classifier = kernel_classifier_create(take_operation, import);
    bool good = import_tally_read(&import->tally, reader, take_line, import, error) &&
                check_recording(import, error);
    if (!good) {
        return false;
    }
    kernel_classifier_finish(import->classifier);
    kernel_steps_settle(&import->steps);
    return calibrate(import, error);
}

/* Tick 0 is before the first event, at a multiple of this number of jiffies, so that a structure
 * that rounds deadlines to at most that rounds them as the kernel did. A trace for a comparison
 * with the recording is in phase with all levels of the kernel's wheel; its idle ticks are not
 * shown. */
#define PHASE_OF_TRACE  (UINT64_C(1) << 6)
#define PHASE_OF_KERNEL (UINT64_C(1) << 24)

static struct kernel_ticks ticks_of(const struct ftrace_import *import)
{
    uint64_t jiffies = import->clock.first_jiffies;
    bool jiffy_is_tick = !import->hrtimer && import->tick_ns == NS_PER_SECOND / import->hz;
    uint64_t phase = import->job->recording != NULL ? PHASE_OF_KERNEL : PHASE_OF_TRACE;
    return (struct kernel_ticks){
        .clock = &import->clock,
        .origin = import->hrtimer ? import->times.first_ns
                  : jiffy_is_tick ? jiffies - jiffies % phase
                                  : jiffies,
        .hz = import->hrtimer ? 0 : import->hz,
        .tick_ns = import->tick_ns,
        .wheel_clock = import->job->recording != NULL && jiffy_is_tick,
    };
}

static bool write_step(struct ftrace_import *import, struct trace_writer *writer,
                       const struct kernel_placed *placed, struct error *error)
{
    const struct kernel_step *steps = import->steps.steps;
    const struct kernel_step *step = &steps[placed->step];
    enum trace_op op = (enum trace_op)step->op;
    if (import->job->recording != NULL) {
        const struct recorded_operation operation = {
            .line = step->line, .system = step->cpu, .deferrable = step->deferrable};
        recording_add_operation(import->job->recording, operation);
    }
    uint64_t slack = step->slack_ns / import->tick_ns;
    struct trace_cause cause = {.slack_ticks = slack < UINT32_MAX ? (uint32_t)slack : UINT32_MAX};
    if (placed->reaction) {
        cause.id = steps[step->cause].id;
        cause.basis = step->basis;
        import->reactions++;
        import->fixed_delay += op == TRACE_START && step->basis == TRACE_FIXED_DELAY;
        import->absolute += op == TRACE_START && step->basis == TRACE_ABSOLUTE;
    }
    return trace_writer_add_reaction(writer, placed->tick, step->id, op, placed->delay_ticks, cause,
                                     error);
}

/* Add the recorded expiry of each start to the recording. */
static void keep_expiries(struct ftrace_import *import, const struct kernel_ticks *ticks)
{
    struct recording *recording = import->job->recording;
    recording->grain_ticks = 1;
    for (uint32_t i = 0; i < import->steps.count; i++) {
        const struct kernel_step *step = &import->steps.steps[i];
        struct recorded_expiry expiry = {.tick = step->expired - ticks->origin,
                                         .line = step->expired_line,
                                         .start_line = step->line};
        if (step->expired != KERNEL_NEVER) {
            recording_add_expiry(recording, expiry);
        }
    }
}

/* Write the trace's operations; sets *end_tick. */
static bool write_steps(struct ftrace_import *import, struct trace_writer *writer,
                        uint64_t *end_tick, struct error *error)
{
    const struct kernel_ticks ticks = ticks_of(import);
    struct kernel_placed *placed = kernel_steps_place(&import->steps, &ticks, import->ids);
    bool good = true;
    for (uint32_t i = 0; good && i < import->steps.count; i++) {
        good = write_step(import, writer, &placed[i], error);
    }
    free(placed);
    uint64_t before = import->hrtimer ? 0 : import->clock.first_jiffies - ticks.origin;
    *end_tick = before + import_times_span_ns(&import->times) / import->tick_ns + 1;
    if (import->job->recording != NULL) {
        keep_expiries(import, &ticks);
    }
    return good;
}

static bool write_trace(struct ftrace_import *import, struct error *error)
{
    size_t function_count;
    struct kernel_function *functions = sorted_functions(import, &function_count);
    if (import->starts == 0 && import->left_out_starts > 0) {
        (void)error_set(error,
                        "%s: no timer of a --function was started; the one most often started is "
                        "%s",
                        import->tally.name, functions[0].name);
        free(functions);
        return false;
    }
    struct trace_writer *writer = trace_writer_open(import->job->output, import->tick_ns, error);
    if (writer != NULL) {
        trace_writer_declare_causes(writer);
    }
    uint64_t end_tick = 0;
    warn_of_recording(import);
    bool good = writer != NULL && write_steps(import, writer, &end_tick, error);
    if (good) {
        good = finish(import, writer, end_tick, functions, function_count, error);
    } else {
        trace_writer_abort(writer);
    }
    free(functions);
    return good;
}

static void release_import(struct ftrace_import *import)
{
    kernel_classifier_destroy(import->classifier);
    kernel_steps_free(&import->steps);
    free(import->timers);
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
    bool good = read_recording(&import, reader, error) && write_trace(&import, error);
    import_tally_close(&import.tally, good);
    line_reader_close(reader);
    release_import(&import);
    return good ? IMPORT_DONE : IMPORT_FAILED;
}
