/*
 * import process: the timer calls of a process, as `timerlab record` writes them; or as lines of
 * text, `TIME_NS PROCESS add|del|fire|assign POINTER ...`, which other recorders of libevent write.
 *
 * Starts and stops become those of the trace. An expiry is nothing, because in a replay the
 * structures do the expiring; but it says whether a timer is still pending when it is stopped.
 * libuv and libev stop a timer that is due: such a stop comes at or after the deadline, and is an
 * expiry.
 *
 * What a callback does is a reaction of the timer that fired, and stands in the trace at the tick
 * at which an exact structure fires it; it was recorded a little later, or earlier by a library
 * whose clock lags. So operations wait for a while, and go out in the order of their ticks. Those
 * on one timer stay in the order in which they were recorded: a reaction that belongs before one
 * that came before it counts as external.
 */
#include "import.h"

#include "import_settings.h"
#include "import_tally.h"
#include "key_table.h"
#include "memory.h"
#include "packed_file.h"
#include "progress.h"
#include "reorder.h"
#include "timer_record.h"
#include "trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NO_ID        UINT32_MAX
#define BATCH        4096u

/* A firing that was recorded further away from its deadline is not taken for an exact one's. */
#define MOVED_MAX_NS UINT64_C(10000000000)

/* Latest time and longest delay: every deadline is a tick that a trace holds. */
#define TIME_MAX_NS  (UINT64_C(1) << 60)
#define DELAY_MAX_NS UINT64_C(1000000000000000000)

/* As many processes are kept apart in text. */
#define RUNNING      64u

/* How causes are told; for summaries and origins. */
#define CAUSES_OF_RECORDS                                                                          \
    "what a callback does is a reaction of its timer's firing, as the recorder saw them"
#define CAUSES_OF_TEXT                                                                             \
    "what a process does from the line of a timeout's firing to its next firing, of whatever "     \
    "event, is a reaction of the former"

const struct import_option import_process_options[] = {
    {"clock-ns", "NS", false,
     "the steps of the clock that the library counts its deadlines from (default: 1)"},
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
    uint64_t cause; /* the timer whose callback makes the call; 0: none */
    uint32_t process;
    enum timer_record_op op;
    enum timer_record_library library;
    unsigned flags;
};

/* As an exact structure makes it. */
struct firing {
    uint64_t tick;
    uint64_t deadline_ns;
    uint64_t deadline_tick;
    uint32_t id; /* NO_ID: of a timer that was not armed, or not at that time */
};

/* What lies at an address. */
struct process_timer {
    uint64_t delay_ns;
    uint64_t deadline_ns; /* of its last start, from the trace's tick 0 on */
    uint64_t due_tick;    /* at which an exact structure fires it then */
    uint64_t last_tick;   /* of its last operation or firing */
    uint64_t start_line;  /* where it was last started */
    struct firing firing; /* the last */
    uint32_t id;          /* NO_ID: never started */
    bool pending;
    bool renewed; /* the memory has become another timer */
    bool stopped; /* from outside: no structure holds it any more */
};

/* Whose callback a process runs; 0: that of no timeout. */
struct running {
    uint64_t timer;
    uint32_t process;
};

/* What waits for its turn. */
struct operation {
    uint64_t deadline_tick;
    uint64_t line; /* or record */
    struct trace_cause cause;
    uint32_t id;
    enum trace_op op;
};

struct process_counts {
    uint64_t arm;
    uint64_t rearm;
    uint64_t cancel;
    uint64_t cancel_by_io; /* a descriptor was ready before the timeout */
    uint64_t expiry;
    uint64_t expiry_unknown;       /* of a timer that was not pending */
    uint64_t expiry_on_time;       /* when an exact structure fires */
    uint64_t expiry_early;         /* before its deadline, by the recorder's clock */
    uint64_t expiry_moved_too_far; /* further than MOVED_MAX_NS from the deadline */
    uint64_t persist_rearm;        /* the library started it again: libevent, libev */
    uint64_t stop_not_armed;
    uint64_t without_timeout; /* events added without one; text only */
    uint64_t assigned;        /* likewise */
    uint64_t by_library[TIMER_RECORD_LIBRARIES];
    uint64_t time_goes_back;
    uint64_t armed;
    uint64_t max_armed;
    uint64_t addresses; /* that had a timer */
    uint64_t reactions;
    uint64_t cause_unknown; /* in a callback, but external: its timer's firing has no tick */
    uint64_t cause_crossed; /* likewise: another operation on the same timer is in between */
};

struct process_import {
    const struct import_job *job;
    struct import_tally tally;
    uint64_t tick_ns;
    uint64_t clock_ns;
    const char *causes;              /* the rule by which they are told */
    struct running running[RUNNING]; /* text only; by process */
    struct key_table *keys;
    struct process_timer *timers;
    uint32_t timers_room;
    uint32_t ids;
    struct trace_writer *writer;
    struct reorder *reorder;
    struct error *error; /* of the call under way: what hands out operations cannot pass it on */
    bool begun;
    uint64_t first_ns;
    uint64_t base_ns; /* of the trace's tick 0 */
    uint64_t latest_ns;
    struct process_counts counts;
};

/* --- operations out --------------------------------------------------------------------------- */

static uint64_t now_ns(const struct process_import *import)
{
    return import->latest_ns - import->base_ns;
}

/* By the library's clock, which goes in steps. */
static uint64_t clock_now_ns(const struct process_import *import)
{
    return now_ns(import) - import->latest_ns % import->clock_ns;
}

/* A delay after a time of that clock, by the same clock. */
static uint64_t deadline_ns(const struct process_import *import, uint64_t from_ns,
                            uint64_t delay_ns)
{
    uint64_t deadline = from_ns + delay_ns;
    uint64_t over_ns = (import->base_ns + deadline) % import->clock_ns;
    return over_ns == 0 ? deadline : deadline + (import->clock_ns - over_ns);
}

static uint64_t tick_now(const struct process_import *import)
{
    return now_ns(import) / import->tick_ns;
}

/* The first tick that is not before a time. */
static uint64_t tick_after(const struct process_import *import, uint64_t time_ns)
{
    return time_ns / import->tick_ns + (time_ns % import->tick_ns != 0);
}

static uint64_t moved_max_ticks(const struct process_import *import)
{
    return tick_after(import, MOVED_MAX_NS);
}

/* What has been put in order comes here. */
static bool write_operation(void *ctx, uint64_t tick, const void *event)
{
    struct process_import *import = ctx;
    const struct operation *operation = event;
    uint64_t delay = operation->deadline_tick > tick ? operation->deadline_tick - tick : 0;
    struct recording *recording = import->job->recording;
    if (recording != NULL) {
        recording_add_operation(recording, (struct recorded_operation){.line = operation->line});
    }
    return trace_writer_add_reaction(import->writer, tick, operation->id, operation->op, delay,
                                     operation->cause, import->error);
}

/* The tick of the last operation that was written: none goes before it. */
static uint64_t reached(const struct process_import *import)
{
    const struct reorder_counts *order = reorder_counts(import->reorder);
    return order->first_ns == UINT64_MAX ? 0 : order->last_ns;
}

/* The firing that an operation on the timer can be put down to; NULL: it counts as external,
 * because it is, or because others that have to precede it come after that. */
static const struct firing *caused(struct process_import *import, const struct process_timer *timer,
                                   const struct firing *firing)
{
    if (firing == NULL) {
        return NULL;
    }
    if (firing->id == NO_ID) {
        import->counts.cause_unknown++;
        return NULL;
    }
    if (firing->tick < timer->last_tick || firing->tick < reached(import)) {
        import->counts.cause_crossed++;
        return NULL;
    }
    import->counts.reactions++;
    return firing;
}

/* Puts an operation on a timer to the firing that causes it, or to now if there is none. */
static bool put(struct process_import *import, struct process_timer *timer,
                const struct firing *firing, struct operation operation, struct error *error)
{
    if (firing != NULL) {
        operation.cause.id = firing->id;
        timer->last_tick = firing->tick;
    } else {
        operation.cause = (struct trace_cause){0};
        uint64_t tick = tick_now(import) > reached(import) ? tick_now(import) : reached(import);
        timer->last_tick = timer->last_tick > tick ? timer->last_tick : tick;
    }
    operation.id = timer->id;
    operation.line = import->tally.lines;
    import->error = error;
    return reorder_add(import->reorder, timer->last_tick, &operation);
}

/* --- calls ------------------------------------------------------------------------------------ */

static uint32_t find_timer(struct process_import *import, const struct call *call, uint64_t address)
{
    const struct {
        uint64_t timer;
        uint32_t process;
        uint32_t library;
    } key = {address, call->process, call->library};
    uint32_t known = key_table_count(import->keys);
    uint32_t number = key_table_number(import->keys, &key, sizeof key);
    MEMORY_REACH(import->timers, import->timers_room, number);
    if (number == known) {
        import->timers[number] = (struct process_timer){.id = NO_ID, .firing.id = NO_ID};
    }
    return number;
}

/* Whether what is started is another timer, in the memory of one that a late structure may still
 * hold, or that was still in use when an exact one begins this one. */
static bool needs_new_id(const struct process_timer *timer, const struct firing *firing)
{
    if (!timer->renewed || timer->pending) {
        return false;
    }
    if (firing == NULL || firing->id == NO_ID) {
        return !timer->stopped;
    }
    return firing->id != timer->id && (!timer->stopped || firing->tick <= timer->last_tick);
}

/* `firing` is that of the callback that makes the call; NULL: of none. The delay counts from
 * there, and without one from now; an absolute one from now in any case. */
static bool start(struct process_import *import, struct process_timer *timer,
                  const struct firing *firing, uint64_t delay_ns, enum trace_basis basis,
                  struct error *error)
{
    struct process_counts *counts = &import->counts;
    counts->addresses += timer->id == NO_ID;
    if (timer->id == NO_ID || needs_new_id(timer, firing)) {
        timer->id = import->ids++;
        timer->last_tick = 0;
    }
    if (!timer->pending && ++counts->armed > counts->max_armed) {
        counts->max_armed = counts->armed;
    }
    timer->renewed = false;
    timer->stopped = false;
    timer->pending = true;
    timer->delay_ns = delay_ns;
    timer->start_line = import->tally.lines;
    firing = caused(import, timer, firing);
    timer->deadline_ns = deadline_ns(
        import,
        firing == NULL || basis == TRACE_ABSOLUTE ? clock_now_ns(import) : firing->deadline_ns,
        delay_ns);
    struct operation operation = {.op = TRACE_START,
                                  .cause.basis = basis,
                                  .deadline_tick = tick_after(import, timer->deadline_ns)};
    if (firing != NULL && basis == TRACE_FIXED_RATE &&
        (firing->tick != firing->deadline_tick || operation.deadline_tick <= firing->tick)) {
        operation.cause.basis = TRACE_FIXED_DELAY; /* periods of less than a tick */
    }
    if (!put(import, timer, firing, operation, error)) {
        return false;
    }
    timer->due_tick =
        operation.deadline_tick > timer->last_tick ? operation.deadline_tick : timer->last_tick + 1;
    return true;
}

static void end(struct process_import *import, struct process_timer *timer)
{
    timer->pending = false;
    import->counts.armed--;
}

static bool stop(struct process_import *import, struct process_timer *timer,
                 const struct firing *firing, struct error *error)
{
    end(import, timer);
    firing = caused(import, timer, firing);
    timer->stopped = firing == NULL;
    return put(import, timer, firing,
               (struct operation){.op = TRACE_STOP, .cause.basis = TRACE_FIXED_DELAY}, error);
}

static bool take_stop(struct process_import *import, struct process_timer *timer,
                      const struct firing *firing, struct error *error)
{
    if (!timer->pending) {
        import->counts.stop_not_armed++;
        return true;
    }
    import->counts.cancel++;
    return stop(import, timer, firing, error);
}

/* Whether now is when an exact structure fires the timer, as far as tick and clock tell. */
static bool on_time(const struct process_import *import, const struct process_timer *timer)
{
    uint64_t grain_ns = import->clock_ns > import->tick_ns ? import->clock_ns : import->tick_ns;
    uint64_t due_ns = import->base_ns + timer->due_tick * import->tick_ns;
    return due_ns / grain_ns == import->latest_ns / grain_ns;
}

/* The timer's timeout has passed: what its callback does belongs to the tick at which an exact
 * structure fires it. `period_ns` is 0 if its library does not start it again. */
static bool take_expiry(struct process_import *import, const struct call *call,
                        struct process_timer *timer, uint64_t period_ns, struct error *error)
{
    struct process_counts *counts = &import->counts;
    uint64_t tick = tick_now(import);
    uint64_t away = timer->due_tick > tick ? timer->due_tick - tick : tick - timer->due_tick;
    bool near = away <= moved_max_ticks(import);
    struct recording *recording = import->job->recording;
    const struct recorded_expiry expiry = {
        .tick = tick, .line = import->tally.lines, .start_line = timer->start_line};
    if (recording != NULL) {
        recording_add_expiry(recording, expiry);
    }
    counts->expiry++;
    counts->expiry_on_time += on_time(import, timer);
    counts->expiry_early += now_ns(import) < timer->deadline_ns;
    counts->expiry_moved_too_far += !near;
    if (!near && timer->due_tick > tick && period_ns == 0) {
        /* The program called it by hand. */
        return stop(import, timer, NULL, error);
    }
    if (near || timer->due_tick <= tick) {
        timer->last_tick = timer->due_tick;
    }
    if (near) {
        timer->firing = (struct firing){.tick = timer->due_tick,
                                        .deadline_ns = timer->deadline_ns,
                                        .deadline_tick = tick_after(import, timer->deadline_ns),
                                        .id = timer->id};
    }
    if (period_ns == 0) {
        end(import, timer);
        return true;
    }
    /* It is due again a period after its last deadline. If that has passed too: libevent's after
     * now, libev's now. */
    struct firing firing = timer->firing;
    counts->persist_rearm++;
    if (timer->deadline_ns + period_ns >= now_ns(import)) {
        return start(import, timer, &firing, period_ns, TRACE_FIXED_RATE, error);
    }
    return start(import, timer, &firing, call->library == TIMER_RECORD_LIBEV ? 0 : period_ns,
                 TRACE_ABSOLUTE, error);
}

static bool take_firing(struct process_import *import, const struct call *call,
                        struct process_timer *timer, struct error *error)
{
    bool timeout = (call->flags & TIMER_RECORD_TIMEOUT) != 0;
    bool persists = (call->flags & TIMER_RECORD_REPEATS) != 0;
    uint64_t period_ns = call->delay_ns > 0 ? call->delay_ns : timer->delay_ns;
    bool repeats = persists && period_ns > 0;
    timer->firing.id = NO_ID;
    if (!timer->pending) {
        import->counts.expiry_unknown += timeout;
        return true;
    }
    if (timeout) {
        return take_expiry(import, call, timer, repeats ? period_ns : 0, error);
    }
    if (persists && !repeats) {
        return true; /* libevent lets a timeout of nothing run */
    }
    if (repeats) {
        import->counts.persist_rearm++;
        return start(import, timer, NULL, period_ns, TRACE_FIXED_DELAY, error);
    }
    import->counts.cancel_by_io++;
    return stop(import, timer, NULL, error);
}

static void take_time(struct process_import *import, uint64_t time_ns)
{
    if (!import->begun) {
        import->begun = true;
        import->first_ns = time_ns;
        import->base_ns = time_ns - time_ns % import->clock_ns;
        import->base_ns -= import->base_ns % import->tick_ns;
        import->latest_ns = time_ns;
    }
    if (time_ns < import->latest_ns) {
        import->counts.time_goes_back++;
    } else {
        import->latest_ns = time_ns;
    }
}

static bool take_call(struct process_import *import, const struct call *call, struct error *error)
{
    take_time(import, call->time_ns);
    const uint32_t number = find_timer(import, call, call->timer);
    struct firing firing;
    if (call->cause != 0) {
        firing = import->timers[find_timer(import, call, call->cause)].firing;
    }
    struct process_timer *timer = &import->timers[number];
    const struct firing *by = call->cause != 0 ? &firing : NULL;
    import->counts.by_library[call->library]++;
    switch (call->op) {
    case TIMER_RECORD_START:
        if (timer->pending) {
            import->counts.rearm++;
        } else {
            import->counts.arm++;
        }
        return start(import, timer, by, call->delay_ns, TRACE_FIXED_DELAY, error);
    case TIMER_RECORD_STOP:
        return take_stop(import, timer, by, error);
    case TIMER_RECORD_FIRE:
        return take_firing(import, call, timer, error);
    case TIMER_RECORD_INIT:
        timer->renewed = true;
        return true;
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
    if (op > TIMER_RECORD_INIT || record->library < TIMER_RECORD_LIBEVENT ||
        record->library >= TIMER_RECORD_LIBRARIES) {
        malformed(import, "an operation or a library that there is not");
        return true;
    }
    if (record->time_ns > TIME_MAX_NS || record->delay_ns > DELAY_MAX_NS) {
        malformed(import, "an impossible time");
        return true;
    }
    const struct call call = {.time_ns = record->time_ns,
                              .timer = record->timer,
                              .delay_ns = record->delay_ns,
                              .cause = record->cause,
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
    /* A file that the program still has, or that could not be saved, goes on with gigabytes of
     * nothing. */
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

/* Says whose callback makes the call, by the process's last firing. */
static void take_running(struct process_import *import, struct call *call)
{
    struct running *running = &import->running[call->process % RUNNING];
    if (call->op == TIMER_RECORD_FIRE) {
        bool timeout = (call->flags & TIMER_RECORD_TIMEOUT) != 0;
        *running = (struct running){.process = call->process, .timer = timeout ? call->timer : 0};
    } else if (running->process == call->process) {
        call->cause = running->timer;
    }
}

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
        fields < 4 || call.time_ns > TIME_MAX_NS ? "no time, process, operation and pointer" : NULL;
    const char *events = strcmp(op, "assign") == 0 ? first : second;
    unsigned mask = 0;
    if (why == NULL && strcmp(op, "del") != 0 && sscanf(events, "events=%x", &mask) != 1) {
        why = "no events=";
    }
    if (why == NULL && strcmp(op, "assign") == 0) {
        import->counts.assigned++;
        call.op = TIMER_RECORD_INIT;
        return take_call(import, &call, error);
    }
    uint64_t us;
    unsigned what;
    if (why == NULL && strcmp(op, "add") == 0) {
        call.op = TIMER_RECORD_START;
        if (strcmp(first, "timeout_us=-") == 0) {
            import->counts.without_timeout++;
            (void)find_timer(import, &call, call.timer);
            return true;
        }
        if (sscanf(first, "timeout_us=%" SCNu64, &us) != 1 || us > DELAY_MAX_NS / 1000) {
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
    take_running(import, &call);
    return take_call(import, &call, error);
}

/* --- the whole -------------------------------------------------------------------------------- */

static bool conclude(struct process_import *import, struct error *error)
{
    const struct import_tally *tally = &import->tally;
    const struct process_counts *counts = &import->counts;
    import->error = error;
    if (!import_tally_bearable(tally, true, error) || !reorder_finish(import->reorder)) {
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
        {"exported", counts->by_library[TIMER_RECORD_EXPORTED]},
        {"pointers", key_table_count(import->keys)},
        {"timers", import->ids},
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
        {"assigned", counts->assigned},
        {"without_timeout", counts->without_timeout},
        {"time_goes_back", counts->time_goes_back},
        {"reactions", counts->reactions},
        {"cause_unknown", counts->cause_unknown},
        {"cause_crossed", counts->cause_crossed},
    };
    size_t count = sizeof all / sizeof all[0];
    json_t *origin = import_origin(tally, "process", all, count);
    (void)json_object_set_new(origin, "duration_ns",
                              import_json_count(import->latest_ns - import->first_ns));
    (void)json_object_set_new(origin, "causes", json_string(import->causes));
    char *text = import_origin_text(origin);
    struct trace_writer *writer = import->writer;
    import->writer = NULL;
    bool good = trace_writer_commit(writer, 0, tick_now(import) + 1, 0, text, error);
    free(text);
    if (good) {
        import_tally_print(tally);
        (void)fprintf(import->job->report,
                      "%s: %" PRIu64 " %ss, %.6f s from the first timer's on, tick %" PRIu64
                      " ns\n\n",
                      tally->name, tally->lines, tally->unit,
                      (double)(import->latest_ns - import->first_ns) / 1e9, import->tick_ns);
        import_counts_print(import->job->report, all, count);
        import_causes_print(tally, counts->reactions, import->causes);
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
        import->causes = CAUSES_OF_RECORDS;
        good = read_records(import, file, error);
    } else {
        struct line_reader *reader = line_reader_continue(file, magic, (size_t)n, error);
        import->tally.unit = "line";
        import->causes = CAUSES_OF_TEXT;
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
        .clock_ns = 1,
        .tally = {.job = job, .name = job->input, .max_malformed = TALLY_MAX_MALFORMED}};
    if (!import_setting_share(job, "max-malformed", &import.tally.max_malformed, error) ||
        !import_setting_count(job, "clock-ns", 1, TRACE_TICK_NS_MAX, &import.clock_ns, error) ||
        !import_setting_count(job, "tick-ns", 1, TRACE_TICK_NS_MAX, &import.tick_ns, error)) {
        return IMPORT_USAGE;
    }
    if (job->recording != NULL) {
        job->recording->grain_ticks =
            import.clock_ns > import.tick_ns ? import.clock_ns / import.tick_ns : 1;
    }
    import.keys = key_table_create();
    import.writer = trace_writer_open(job->output, import.tick_ns, error);
    import.reorder = reorder_create(2 * (moved_max_ticks(&import) + 1), sizeof(struct operation),
                                    write_operation, &import);
    bool good = import.writer != NULL;
    if (good) {
        trace_writer_declare_causes(import.writer);
        good = read_input(&import, error);
    }
    if (!good) {
        import_tally_print(&import.tally);
    }
    trace_writer_abort(import.writer);
    reorder_destroy(import.reorder);
    key_table_destroy(import.keys);
    free(import.timers);
    return good ? IMPORT_DONE : IMPORT_FAILED;
}
