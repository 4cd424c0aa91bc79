/*
 * import process: the timer calls of a process, as `timerlab record` writes them; or as lines of
 * text, `TIME_NS PROCESS add|del|fire|assign POINTER ...`, which other recorders of libevent write.
 *
 * libuv and libev stop a timer that is due: such a stop comes at or after the deadline, and is an
 * expiry. The recorder, or the order of the lines, determines the callback that makes a call;
 * timer_calls.h determines causes from that.
 */
#include "import.h"

#include "import_tally.h"
#include "key_table.h"
#include "packed_file.h"
#include "progress.h"
#include "timer_calls.h"
#include "timer_record.h"
#include "trace.h"

#include <inttypes.h>
#include <string.h>

#define BATCH           4096u

/* The number of processes that are distinguished in text. */
#define RUNNING         64u

/* In text, the timeout of an event that has none. */
#define WITHOUT_TIMEOUT "timeout_us=-"

/* How causes are determined; for summaries and origins. */
#define CAUSES_OF_RECORDS                                                                          \
    "operations within a callback are reactions to its timer's expiry, as recorded"
#define CAUSES_OF_TEXT                                                                             \
    "operations of a process between the line of a timeout's expiry and its next event are "       \
    "reactions to that expiry"

const struct import_option import_process_options[] = {
    {"clock-ns", "NS", false,
     "the steps of the clock that the library counts its deadlines from (default: 1)"},
    {"max-malformed", "SHARE", false,
     "refuse a file with a greater share of records that are not understood (default: 1%)"},
    {"tick-ns", "NS", false, "length of a tick of the trace (default: 1000000)"},
    {NULL, NULL, false, NULL},
};

/* The callback that a process runs. */
struct running {
    uint64_t timer; /* 0: not a timeout's */
    uint64_t since_ns;
    uint32_t process;
};

struct process_import {
    const struct import_job *job;
    struct import_tally tally;
    struct timer_calls_settings settings;
    const char *causes;              /* the rule that determines them */
    struct running running[RUNNING]; /* text only; by process */
    struct key_table *keys;
    struct timer_calls *calls;
    uint64_t without_timeout; /* events added without one; text only */
    uint64_t assigned;        /* likewise */
    uint64_t by_library[TIMER_RECORD_LIBRARIES];
};

/* --- calls ------------------------------------------------------------------------------------ */

/* Return the number of a timer, of which process, library and address are the name. */
static uint32_t find_timer(struct process_import *import, const struct timer_record *call,
                           uint64_t address)
{
    const struct {
        uint64_t timer;
        uint32_t process;
        uint32_t library;
    } key = {address, call->process, call->library};
    return key_table_number(import->keys, &key, sizeof key);
}

/* `round_ns` is the begin of the callback that makes the call; 0: not known. */
static bool take_call(struct process_import *import, const struct timer_record *call,
                      uint64_t round_ns, struct error *error)
{
    const struct timer_call made = {
        .op = (enum timer_record_op)call->op,
        .timer = find_timer(import, call, call->timer),
        .cause = call->cause != 0 ? find_timer(import, call, call->cause) : TIMER_CALLS_NO_TIMER,
        .time_ns = call->time_ns,
        .delay_ns = call->delay_ns,
        .line = import->tally.lines,
        .round_ns = round_ns,
        .timeout = (call->flags & TIMER_RECORD_TIMEOUT) != 0,
        .repeats = (call->flags & TIMER_RECORD_REPEATS) != 0,
        .late_at_once = call->library == TIMER_RECORD_LIBEV,
    };
    import->by_library[call->library]++;
    return timer_calls_add(import->calls, &made, error);
}

/* --- records ---------------------------------------------------------------------------------- */

static void malformed(struct process_import *import, const char *why)
{
    import_tally_malformed(&import->tally, import->tally.lines, "", 0, why);
}

static bool take_record(struct process_import *import, const struct timer_record *record,
                        struct error *error)
{
    import->tally.lines++;
    if (record->op == TIMER_RECORD_NOTHING) {
        import->tally.blank++;
        return true;
    }
    if (record->op > TIMER_RECORD_INIT || record->library < TIMER_RECORD_LIBEVENT ||
        record->library >= TIMER_RECORD_LIBRARIES) {
        malformed(import, "an unknown operation or library");
        return true;
    }
    if (record->time_ns > TIMER_CALLS_TIME_MAX_NS || record->delay_ns > TIMER_CALLS_DELAY_MAX_NS) {
        malformed(import, "an impossible time");
        return true;
    }
    return take_call(import, record, 0, error);
}

/* Read `bytes`, or fewer at the file's end. Negative: failure. */
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

/* After the magic number. */
static bool read_records(struct process_import *import, struct packed_file *file,
                         struct error *error)
{
    static struct timer_record records[BATCH];
    static union {
        char bytes[TIMER_RECORD_HEADER_BYTES];
        struct timer_record_header header;
    } first;
    const struct timer_record_header *header = &first.header;
    const char *why = NULL;
    ssize_t n = read_fully(file, first.bytes + TIMER_RECORD_MAGIC_BYTES,
                           sizeof first - TIMER_RECORD_MAGIC_BYTES, &why);
    if (n == (ssize_t)(sizeof first - TIMER_RECORD_MAGIC_BYTES) &&
        (header->version != TIMER_RECORD_VERSION ||
         header->record_bytes != sizeof(struct timer_record))) {
        return error_set(error,
                         "%s: its version %" PRIu32 " is not %u, or it was recorded on a machine "
                         "of another kind; record again with this timerlab",
                         import->tally.name, header->version, TIMER_RECORD_VERSION);
    }
    /* A file that the program still writes, or could not finish, ends with gigabytes of zeros. */
    uint64_t left = header->claimed < header->room ? header->claimed : header->room;
    struct progress progress;
    progress_begin(&progress, "import", "bytes", packed_file_bytes_total(file));
    bool good = true;
    while (good && n > 0 && left > 0) {
        n = read_fully(file, records, (left < BATCH ? (size_t)left : BATCH) * sizeof records[0],
                       &why);
        size_t count = n > 0 ? (size_t)n / sizeof records[0] : 0;
        left -= count;
        for (size_t i = 0; good && i < count; i++) {
            good = take_record(import, &records[i], error);
        }
        if (n > 0 && (size_t)n % sizeof records[0] != 0) {
            import->tally.lines++;
            malformed(import, "cut off");
        }
        progress_update(&progress, packed_file_bytes_done(file));
        good = good && import_tally_accept(&import->tally, false, error);
    }
    progress_end(&progress);
    if (good && n < 0) {
        good = error_set(error, "%s: %s after record %" PRIu64 "; copy or record the file again",
                         import->tally.name, why, import->tally.lines);
    }
    return good;
}

/* --- lines of text ---------------------------------------------------------------------------- */

/* Take a call within the callback that its process's last expiry began. */
static bool take_running(struct process_import *import, struct timer_record *call,
                         struct error *error)
{
    struct running *running = &import->running[call->process % RUNNING];
    uint64_t round_ns = 0;
    if (call->op == TIMER_RECORD_FIRE) {
        bool timeout = (call->flags & TIMER_RECORD_TIMEOUT) != 0;
        *running = (struct running){.process = call->process,
                                    .timer = timeout ? call->timer : 0,
                                    .since_ns = call->time_ns};
    } else if (running->process == call->process) {
        call->cause = running->timer;
        round_ns = running->since_ns;
    }
    return take_call(import, call, round_ns, error);
}

/* Complete a call with the fields of its line after the pointer. Returns why they are not
 * understood, or NULL. */
static const char *take_fields(struct timer_record *call, const char *op, const char *first,
                               const char *second)
{
    unsigned mask = 0;
    unsigned what;
    uint64_t us;
    if (strcmp(op, "del") == 0) {
        call->op = TIMER_RECORD_STOP;
        return NULL;
    }
    if (sscanf(strcmp(op, "assign") == 0 ? first : second, "events=%x", &mask) != 1) {
        return "no events=";
    }
    if (strcmp(op, "assign") == 0) {
        call->op = TIMER_RECORD_INIT;
    } else if (strcmp(op, "add") == 0) {
        call->op = TIMER_RECORD_START;
        if (strcmp(first, WITHOUT_TIMEOUT) == 0) {
            return NULL;
        }
        if (sscanf(first, "timeout_us=%" SCNu64, &us) != 1 ||
            us > TIMER_CALLS_DELAY_MAX_NS / 1000) {
            return "no timeout_us=";
        }
        call->delay_ns = us * 1000;
    } else if (strcmp(op, "fire") == 0) {
        call->op = TIMER_RECORD_FIRE;
        if (sscanf(first, "what=%x", &what) != 1) {
            return "no what=";
        }
        call->flags = (uint8_t)(((what & 0x01) != 0 ? TIMER_RECORD_TIMEOUT : 0) |
                                ((mask & 0x10) != 0 ? TIMER_RECORD_REPEATS : 0));
    } else {
        return "none of add, del, fire and assign";
    }
    return NULL;
}

static bool take_line(void *ctx, const struct line *line, struct error *error)
{
    struct process_import *import = ctx;
    struct timer_record call = {.library = TIMER_RECORD_LIBEVENT};
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
    const char *why = fields < 4 || call.time_ns > TIMER_CALLS_TIME_MAX_NS
                          ? "no time, process, operation and pointer"
                          : take_fields(&call, op, first, second);
    if (why != NULL) {
        import_tally_malformed(&import->tally, line->number, line->text, line->length, why);
        return true;
    }
    if (call.op == TIMER_RECORD_START && strcmp(first, WITHOUT_TIMEOUT) == 0) {
        import->without_timeout++;
        (void)find_timer(import, &call, call.timer);
        return true;
    }
    import->assigned += call.op == TIMER_RECORD_INIT;
    return take_running(import, &call, error);
}

/* --- the whole -------------------------------------------------------------------------------- */

static bool conclude(struct process_import *import, struct error *error)
{
    const struct import_tally *tally = &import->tally;
    const struct timer_calls_counts *counts = timer_calls_counts(import->calls);
    if (!import_tally_end(tally, counts->arm, "starts a timer", error) ||
        !import_tally_forward(tally, counts->time_goes_back, error) ||
        !timer_calls_finish(import->calls, error)) {
        return false;
    }
    const struct import_count all[] = {
        {"records", tally->lines},
        {"blank_records", tally->blank},
        {"malformed_records", tally->malformed},
        {"libevent", import->by_library[TIMER_RECORD_LIBEVENT]},
        {"libev", import->by_library[TIMER_RECORD_LIBEV]},
        {"libuv", import->by_library[TIMER_RECORD_LIBUV]},
        {"exported", import->by_library[TIMER_RECORD_EXPORTED]},
        {"pointers", key_table_count(import->keys)},
        {"timers", counts->ids},
        {"addresses", counts->addresses},
        {"arm", counts->arm},
        {"rearm", counts->rearm},
        {"persist_rearm", counts->persist_rearm},
        {"cancel", counts->cancel},
        {"cancel_by_io", counts->cancel_by_io},
        {"stop_not_armed", counts->stop_not_armed},
        {"expiry", counts->expiry},
        {"expiry_unknown", counts->expiry_unknown},
        {"expiry_on_time", counts->expiry_on_time},
        {"expiry_early", counts->expiry_early},
        {"expiry_moved_too_far", counts->expiry_moved_too_far},
        {"armed_at_end", counts->armed},
        {"max_armed", counts->max_armed},
        {"assigned", import->assigned},
        {"without_timeout", import->without_timeout},
        {"time_goes_back", counts->time_goes_back},
        {"reactions", counts->reactions},
        {"cause_unknown", counts->cause_unknown},
        {"cause_crossed", counts->cause_crossed},
    };
    struct import_summary summary = {.format = "process", .causes = import->causes};
    IMPORT_COUNTS(&summary, all);
    timer_calls_end(import->calls, &summary);
    return import_finish(&import->tally, &summary, error);
}

/* Distinguish the two forms by their begin, and read the rest. */
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
        good = error_set(error, "%s: %s at its beginning; copy or record the file again",
                         import->tally.name, why);
    } else if (n == (ssize_t)sizeof magic && memcmp(magic, TIMER_RECORD_MAGIC, sizeof magic) == 0) {
        import->tally.unit = "record";
        import->causes = CAUSES_OF_RECORDS;
        good = read_records(import, file, error);
    } else {
        struct line_reader *reader = line_reader_continue(file, magic, (size_t)n);
        import->tally.unit = "line";
        import->causes = CAUSES_OF_TEXT;
        good = import_tally_read(&import->tally, reader, take_line, import, error);
        line_reader_close(reader);
        return good;
    }
    packed_file_close(file);
    return good;
}

enum import_result import_process(const struct import_job *job, struct error *error)
{
    struct process_import import = {
        .job = job,
        .settings = {.tick_ns = 1000000, .clock_ns = 1},
        .tally = {.job = job, .name = job->input, .max_malformed = TALLY_MAX_MALFORMED}};
    if (!import_setting_share(job, "max-malformed", &import.tally.max_malformed, error) ||
        !import_setting_count(job, "clock-ns", 1, TRACE_TICK_NS_MAX, &import.settings.clock_ns,
                              error) ||
        !import_setting_count(job, "tick-ns", 1, TRACE_TICK_NS_MAX, &import.settings.tick_ns,
                              error)) {
        return IMPORT_USAGE;
    }
    import.keys = key_table_create(0);
    import.calls = timer_calls_open(job, &import.settings, error);
    bool good = import.calls != NULL && read_input(&import, error) && conclude(&import, error);
    import_tally_close(&import.tally, good);
    timer_calls_close(import.calls);
    key_table_destroy(import.keys);
    return good ? IMPORT_DONE : IMPORT_FAILED;
}
