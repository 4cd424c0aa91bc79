/*
 * import process: the timer calls of a process, as `timerlab record` writes them; or as lines of
 * text, `TIME_NS PROCESS add|del|fire|assign POINTER ...`, which other recorders of libevent write.
 *
 * Starts and stops become those of the trace. An expiry is nothing, because in a replay the
 * structures do the expiring; but it says whether a timer is still pending when it is stopped.
 * libuv and libev stop a timer that is due: such a stop comes at or after the deadline, and is an
 * expiry.
 */
#include "import.h"

#include "growing_array.h"
#include "import_settings.h"
#include "import_tally.h"
#include "key_table.h"
#include "packed_file.h"
#include "progress.h"
#include "timer_record.h"
#include "trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NO_ID UINT32_MAX
#define BATCH 4096u

const struct import_option import_process_options[] = {
    {"max-malformed", "SHARE", false,
     "refuse a file with a greater share of records that are not understood (default: 1%)"},
    {"tick-ns", "NS", false, "what a tick of the trace lasts (default: 1000000)"},
    {NULL, NULL, false, NULL},
};

/* One call, of either form of recording. */
struct call {
    uint64_t time_ns;
    uint64_t timer;
    uint64_t delay_ns;
    uint32_t process;
    enum timer_record_op op;
    enum timer_record_library library;
    unsigned flags;
};

struct process_timer {
    uint64_t delay_ns;
    uint32_t id; /* NO_ID: never started */
    bool pending;
};

struct process_counts {
    uint64_t arm;
    uint64_t rearm;
    uint64_t cancel;
    uint64_t cancel_by_io; /* a descriptor was ready before the timeout */
    uint64_t expiry;
    uint64_t expiry_unknown; /* of a timer that was not pending */
    uint64_t persist_rearm;  /* libevent started a persistent event's timeout again */
    uint64_t stop_not_armed;
    uint64_t without_timeout; /* events added without one; text only */
    uint64_t assigned;        /* likewise */
    uint64_t by_library[4];
    uint64_t repeating; /* starts of libev's that repeat: what follows is not recorded */
    uint64_t time_goes_back;
    uint64_t armed;
    uint64_t max_armed;
};

struct process_import {
    const struct import_job *job;
    struct import_tally tally;
    uint64_t tick_ns;
    struct key_table *keys;
    struct process_timer *timers;
    uint32_t timers_room;
    uint32_t ids;
    struct trace_writer *writer;
    bool begun;
    uint64_t first_ns;
    uint64_t latest_ns;
    struct process_counts counts;
};

/* --- calls ------------------------------------------------------------------------------------ */

static bool find_timer(struct process_import *import, const struct call *call,
                       struct process_timer **timer, struct error *error)
{
    const struct {
        uint64_t timer;
        uint32_t process;
        uint32_t library;
    } key = {call->timer, call->process, call->library};
    uint32_t known = key_table_count(import->keys);
    uint32_t number;
    if (!key_table_number(import->keys, &key, sizeof key, &number)) {
        return error_set(error, "%s: out of memory: too many timers", import->tally.name);
    }
    struct process_timer *timers =
        array_reach(import->timers, &import->timers_room, number, sizeof *timers);
    if (timers == NULL) {
        return error_set(error, "%s: out of memory: too many timers", import->tally.name);
    }
    import->timers = timers;
    if (number == known) {
        import->timers[number] = (struct process_timer){.id = NO_ID};
    }
    *timer = &import->timers[number];
    return true;
}

static uint64_t tick_now(const struct process_import *import)
{
    return (import->latest_ns - import->first_ns) / import->tick_ns;
}

static bool start(struct process_import *import, struct process_timer *timer, uint64_t delay_ns,
                  struct error *error)
{
    struct process_counts *counts = &import->counts;
    if (timer->id == NO_ID) {
        timer->id = import->ids++;
    }
    if (!timer->pending && ++counts->armed > counts->max_armed) {
        counts->max_armed = counts->armed;
    }
    timer->pending = true;
    timer->delay_ns = delay_ns;
    /* Never early: the first tick that is not before the deadline. */
    uint64_t due_ns = import->latest_ns - import->first_ns + delay_ns;
    uint64_t due_tick = due_ns / import->tick_ns + (due_ns % import->tick_ns != 0);
    return trace_writer_add(import->writer, tick_now(import), timer->id, TRACE_START,
                            due_tick - tick_now(import), error);
}

static void end(struct process_import *import, struct process_timer *timer)
{
    timer->pending = false;
    import->counts.armed--;
}

static bool stop(struct process_import *import, struct process_timer *timer, struct error *error)
{
    end(import, timer);
    return trace_writer_add(import->writer, tick_now(import), timer->id, TRACE_STOP, 0, error);
}

static bool take_stop(struct process_import *import, struct process_timer *timer,
                      struct error *error)
{
    if (!timer->pending) {
        import->counts.stop_not_armed++;
        return true;
    }
    import->counts.cancel++;
    return stop(import, timer, error);
}

static bool take_firing(struct process_import *import, const struct call *call,
                        struct process_timer *timer, struct error *error)
{
    bool timeout = (call->flags & TIMER_RECORD_TIMEOUT) != 0;
    if (!timer->pending) {
        import->counts.expiry_unknown += timeout;
        return true;
    }
    if (timeout) {
        import->counts.expiry++;
    }
    if ((call->flags & TIMER_RECORD_REPEATS) != 0) {
        import->counts.persist_rearm++;
        return start(import, timer, timer->delay_ns, error);
    }
    if (timeout) {
        end(import, timer);
        return true;
    }
    import->counts.cancel_by_io++;
    return stop(import, timer, error);
}

static bool take_call(struct process_import *import, const struct call *call, struct error *error)
{
    struct process_timer *timer = NULL;
    if (!import->begun) {
        import->begun = true;
        import->first_ns = call->time_ns;
        import->latest_ns = call->time_ns;
    }
    if (call->time_ns < import->latest_ns) {
        import->counts.time_goes_back++;
    } else {
        import->latest_ns = call->time_ns;
    }
    if (!find_timer(import, call, &timer, error)) {
        return false;
    }
    import->counts.by_library[call->library]++;
    switch (call->op) {
    case TIMER_RECORD_START:
        if (timer->pending) {
            import->counts.rearm++;
        } else {
            import->counts.arm++;
        }
        import->counts.repeating +=
            call->library == TIMER_RECORD_LIBEV && (call->flags & TIMER_RECORD_REPEATS) != 0;
        return start(import, timer, call->delay_ns, error);
    case TIMER_RECORD_STOP:
        return take_stop(import, timer, error);
    case TIMER_RECORD_FIRE:
        return take_firing(import, call, timer, error);
    case TIMER_RECORD_NOTHING:
    default:
        return true;
    }
}

/* --- records ---------------------------------------------------------------------------------- */

static void malformed(struct process_import *import, const char *why)
{
    import_tally_malformed(&import->tally, import->tally.lines, "", 0, why);
}

static bool take_record(struct process_import *import, const struct timer_record *record,
                        struct error *error)
{
    uint8_t op = atomic_load_explicit(&record->op, memory_order_relaxed);
    import->tally.lines++;
    if (op == TIMER_RECORD_NOTHING) {
        import->tally.blank++;
        return true;
    }
    if (op > TIMER_RECORD_FIRE || record->library < TIMER_RECORD_LIBEVENT ||
        record->library > TIMER_RECORD_LIBUV) {
        malformed(import, "an operation or a library that there is not");
        return true;
    }
    if (record->time_ns > INT64_MAX || record->delay_ns > UINT64_C(1000000000000000000)) {
        malformed(import, "an impossible time");
        return true;
    }
    const struct call call = {.time_ns = record->time_ns,
                              .timer = record->timer,
                              .delay_ns = record->delay_ns,
                              .process = record->process,
                              .op = (enum timer_record_op)op,
                              .library = (enum timer_record_library)record->library,
                              .flags = record->flags};
    return take_call(import, &call, error);
}

/* Reads until `bytes` are there, or the end. Negative on failure. */
static ssize_t read_fully(struct packed_file *file, void *to, size_t bytes, const char **why)
{
    size_t have = 0;
    while (have < bytes) {
        ssize_t n = packed_file_read(file, (char *)to + have, bytes - have, why);
        if (n < 0) {
            return n;
        }
        if (n == 0) {
            break;
        }
        have += (size_t)n;
    }
    return (ssize_t)have;
}

/* Behind the magic number. */
static bool read_records(struct process_import *import, struct packed_file *file,
                         struct error *error)
{
    static struct timer_record records[BATCH];
    uint32_t numbers[(TIMER_RECORD_HEADER_BYTES - TIMER_RECORD_MAGIC_BYTES) / sizeof(uint32_t)];
    const char *why = NULL;
    ssize_t n = read_fully(file, numbers, sizeof numbers, &why);
    if (n == (ssize_t)sizeof numbers &&
        (numbers[0] != TIMER_RECORD_VERSION || numbers[1] != sizeof(struct timer_record))) {
        return error_set(error,
                         "%s: its version %" PRIu32 " is not %u, or it was recorded on a machine "
                         "of another kind; record again with this timerlab",
                         import->tally.name, numbers[0], TIMER_RECORD_VERSION);
    }
    struct progress progress;
    progress_begin(&progress, "import", "bytes", packed_file_bytes_total(file));
    bool good = true;
    while (good && n > 0 && (n = read_fully(file, records, sizeof records, &why)) > 0) {
        size_t count = (size_t)n / sizeof records[0];
        for (size_t i = 0; good && i < count; i++) {
            good = take_record(import, &records[i], error);
        }
        if ((size_t)n % sizeof records[0] != 0) {
            import->tally.lines++;
            malformed(import, "cut off");
        }
        progress_update(&progress, packed_file_bytes_done(file));
        good = good && import_tally_bearable(&import->tally, false, error);
    }
    progress_end(&progress);
    if (good && n < 0) {
        good = error_set(error, "%s: %s after record %" PRIu64 "; copy or record the file again",
                         import->tally.name, why, import->tally.lines);
    }
    return good;
}

/* --- lines of text ---------------------------------------------------------------------------- */

static bool take_line(void *ctx, const struct line *line, struct error *error)
{
    struct process_import *import = ctx;
    struct call call = {.library = TIMER_RECORD_LIBEVENT};
    char text[256];
    char op[8];
    char first[40] = "";
    char second[40] = "";
    if (line->length == 0 || line->text[0] == '#') {
        import->tally.blank++;
        return true;
    }
    size_t length = line->length < sizeof text ? line->length : sizeof text - 1;
    memcpy(text, line->text, length);
    text[length] = '\0';
    int fields = sscanf(text, "%" SCNu64 " %" SCNu32 " %7s %" SCNx64 " %39s %39s", &call.time_ns,
                        &call.process, op, &call.timer, first, second);
    const char *why =
        fields < 4 || call.time_ns > INT64_MAX ? "no time, process, operation and pointer" : NULL;
    const char *events = strcmp(op, "assign") == 0 ? first : second;
    unsigned mask = 0;
    if (why == NULL && strcmp(op, "del") != 0 && sscanf(events, "events=%x", &mask) != 1) {
        why = "no events=";
    }
    if (why == NULL && strcmp(op, "assign") == 0) {
        import->counts.assigned++;
        struct process_timer *timer;
        return find_timer(import, &call, &timer, error);
    }
    uint64_t us;
    unsigned what;
    if (why == NULL && strcmp(op, "add") == 0) {
        call.op = TIMER_RECORD_START;
        if (strcmp(first, "timeout_us=-") == 0) {
            import->counts.without_timeout++;
            struct process_timer *timer;
            return find_timer(import, &call, &timer, error);
        }
        if (sscanf(first, "timeout_us=%" SCNu64, &us) != 1 || us > UINT64_C(1000000000000000)) {
            why = "no timeout_us=";
        } else {
            call.delay_ns = us * 1000;
        }
    } else if (why == NULL && strcmp(op, "del") == 0) {
        call.op = TIMER_RECORD_STOP;
    } else if (why == NULL && strcmp(op, "fire") == 0) {
        call.op = TIMER_RECORD_FIRE;
        if (sscanf(first, "what=%x", &what) != 1) {
            why = "no what=";
        } else {
            call.flags = ((what & 0x01) != 0 ? TIMER_RECORD_TIMEOUT : 0) |
                         ((mask & 0x10) != 0 ? TIMER_RECORD_REPEATS : 0);
        }
    } else if (why == NULL) {
        why = "none of add, del, fire and assign";
    }
    if (why != NULL) {
        import_tally_malformed(&import->tally, line->number, line->text, line->length, why);
        return true;
    }
    return take_call(import, &call, error);
}

/* --- the whole -------------------------------------------------------------------------------- */

static bool conclude(struct process_import *import, struct error *error)
{
    const struct import_tally *tally = &import->tally;
    const struct process_counts *counts = &import->counts;
    if (!import_tally_bearable(tally, true, error)) {
        return false;
    }
    if (counts->arm == 0) {
        return error_set(error, "%s: none of its %" PRIu64 " %ss starts a timer", tally->name,
                         tally->lines, tally->unit);
    }
    const struct import_count all[] = {
        {"records", tally->lines},
        {"blank_records", tally->blank},
        {"malformed_records", tally->malformed},
        {"libevent", counts->by_library[TIMER_RECORD_LIBEVENT]},
        {"libev", counts->by_library[TIMER_RECORD_LIBEV]},
        {"libuv", counts->by_library[TIMER_RECORD_LIBUV]},
        {"pointers", key_table_count(import->keys)},
        {"timers", import->ids},
        {"arm", counts->arm},
        {"rearm", counts->rearm},
        {"persist_rearm", counts->persist_rearm},
        {"cancel", counts->cancel},
        {"cancel_by_io", counts->cancel_by_io},
        {"stop_not_armed", counts->stop_not_armed},
        {"expiry", counts->expiry},
        {"expiry_unknown", counts->expiry_unknown},
        {"armed_at_end", counts->armed},
        {"max_armed", counts->max_armed},
        {"assigned", counts->assigned},
        {"without_timeout", counts->without_timeout},
        {"libev_repeating", counts->repeating},
        {"time_goes_back", counts->time_goes_back},
    };
    size_t count = sizeof all / sizeof all[0];
    json_t *origin = import_origin(tally, "process", all, count);
    (void)json_object_set_new(origin, "duration_ns",
                              import_json_count(import->latest_ns - import->first_ns));
    char *text = import_origin_text(tally, origin, error);
    struct trace_writer *writer = import->writer;
    import->writer = NULL;
    bool good =
        text != NULL && trace_writer_commit(writer, 0, tick_now(import) + 1, 0, text, error);
    free(text);
    if (good) {
        import_tally_print(tally);
        (void)fprintf(import->job->report, "%s: %" PRIu64 " %ss, %.6f s, tick %" PRIu64 " ns\n\n",
                      tally->name, tally->lines, tally->unit,
                      (double)(import->latest_ns - import->first_ns) / 1e9, import->tick_ns);
        import_counts_print(import->job->report, all, count);
    }
    return good;
}

/* Tells the two forms apart by their beginning, and reads the rest. */
static bool read_input(struct process_import *import, struct error *error)
{
    struct packed_file *file = packed_file_open(import->job->input, error);
    if (file == NULL) {
        return false;
    }
    import->tally.name = packed_file_name(file);
    char magic[TIMER_RECORD_MAGIC_BYTES];
    const char *why = NULL;
    ssize_t n = read_fully(file, magic, sizeof magic, &why);
    bool good;
    if (n < 0) {
        good = error_set(error, "%s: %s at its beginning", import->tally.name, why);
    } else if (n == (ssize_t)sizeof magic && memcmp(magic, TIMER_RECORD_MAGIC, sizeof magic) == 0) {
        import->tally.unit = "record";
        good = read_records(import, file, error);
    } else {
        struct line_reader *reader = line_reader_continue(file, magic, (size_t)n, error);
        import->tally.unit = "line";
        good =
            reader != NULL && import_tally_read(&import->tally, reader, take_line, import, error);
        if (reader != NULL) {
            good = good && conclude(import, error);
            line_reader_close(reader);
            return good;
        }
    }
    good = good && conclude(import, error);
    packed_file_close(file);
    return good;
}

enum import_result import_process(const struct import_job *job, struct error *error)
{
    struct process_import import = {
        .job = job,
        .tick_ns = 1000000,
        .tally = {.job = job, .name = job->input, .max_malformed = TALLY_MAX_MALFORMED}};
    if (!import_setting_share(job, "max-malformed", &import.tally.max_malformed, error) ||
        !import_setting_count(job, "tick-ns", 1, TRACE_TICK_NS_MAX, &import.tick_ns, error)) {
        return IMPORT_USAGE;
    }
    import.keys = key_table_create();
    import.writer =
        import.keys != NULL ? trace_writer_open(job->output, import.tick_ns, error) : NULL;
    bool good = import.writer != NULL;
    if (import.keys == NULL) {
        (void)error_set(error, "%s: out of memory", job->input);
    }
    good = good && read_input(&import, error);
    if (!good) {
        import_tally_print(&import.tally);
    }
    trace_writer_abort(import.writer);
    key_table_destroy(import.keys);
    free(import.timers);
    return good ? IMPORT_DONE : IMPORT_FAILED;
}
