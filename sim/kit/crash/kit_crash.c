#include "kit_crash.h"

#include "crash_image.h"
#include "crash_shim.h"
#include "memory.h"
#include "plug_in.h"
#include "random.h"
#include "temporary_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FEW_TIMERS    64u
#define TIMERS        300u /* the most */
#define EVENTS        (1u << 19)
#define RUN_SECONDS   60.0
#define SHORT_HISTORY 400u

#define FAR           (UINT64_C(1) << 40) /* ticks, of some delays */

/* Most delays are shorter, so that half of the timers are pending. */
#define DELAY(timers) ((timers)*UINT64_C(5) / 8)

/* Sequence numbers of events that have none: of an expiry that has one by the next acknowledgement,
 * of a failed operation, which may be on the disk, and of one that has not returned. The latter two
 * are never acknowledged. */
#define NOT_YET       UINT64_MAX
#define IN_DOUBT      (UINT64_MAX - 1)
#define UNDER_WAY     (UINT64_MAX - 2)

struct known {
    uint64_t deadline; /* TL_NEVER: not pending */
    uint64_t generation;
    uint64_t call; /* the name of its service as a number, which determines the payload; 0: none */
};

struct event {
    struct known then; /* the timer after it */
    uint64_t sequence;
    uint32_t id;
    bool fired;
};

/* Shared with the processes that are ended. */
struct journal {
    struct crash_report report;
    struct crash_moment moment; /* the valid part of the journal */
    struct known now[TIMERS];
    uint64_t points;
    struct random random;
    uint64_t calls_before; /* calls in the trace when this run began */
    bool had_failures;     /* calls failed, so expiries may be on record */
    /* First, for each timer, its state at the beginning of this run, under number 0. */
    struct event events[EVENTS];
};

/* How a call to the disk fails: the results of a write, of other calls, and of the next call. */
struct failure {
    int write;
    int other;
    int next;
    const char *text;
};

/* The life and the end of one process. */
struct crash_process {
    uint32_t steps;            /* of its history */
    bool drains;               /* at the end, all timers fire */
    uint64_t kill_at;          /* a point; 0: none */
    uint64_t fail_at;          /* a call to the disk; 0: none */
    struct failure failure;    /* of that call */
    uint64_t kill_after;       /* a call to the disk; 0: none */
    struct crash_trace *trace; /* to add its calls to; NULL: none */
    bool may_not_open;         /* its folder, after a loss of power */
};

struct crash_life {
    const struct tl_algo *algo;
    const struct crash_plan *plan;
    TL_OPTION_VALUES(options);
    struct journal *journal;
    const char *folder;
    bool at_most;
    bool never_syncs;
    uint32_t timers;
    /* the process under way */
    struct crash_process process;
    struct tl_precision precision;
    void *self;
    uint64_t calls; /* to the disk */
};

/* Static, since the callbacks of the shim have no context. */
static struct crash_life *current_life;

static struct crash_shim *shim_of(void)
{
    return dlsym(RTLD_DEFAULT, CRASH_SHIM_SYMBOL);
}

bool crash_is_shimmed(void)
{
    return shim_of() != NULL;
}

static uint64_t draw(struct crash_life *life, uint64_t bound)
{
    return random_bits(&life->journal->random) % bound;
}

/* Whether a hook may return an error of the store. */
static bool may_fail(const struct crash_life *life)
{
    return life->process.fail_at > 0;
}

/* A place at which the process may end. */
static void point(struct crash_life *life)
{
    if (++life->journal->points == life->process.kill_at) {
        (void)raise(SIGKILL);
    }
}

/* Report a fault; only the first counts. */
#define COMPLAIN(life, ...)                                                                        \
    do {                                                                                           \
        struct crash_report *report_ = &(life)->journal->report;                                   \
        if (!report_->fault) {                                                                     \
            (void)snprintf(report_->message, sizeof report_->message, __VA_ARGS__);                \
            report_->fault = true;                                                                 \
        }                                                                                          \
    } while (0)

/* Describe the trial under way. */
#define BEGIN_TRIAL(life, ...)                                                                     \
    (void)snprintf((life)->journal->report.trial, sizeof(life)->journal->report.trial, __VA_ARGS__)

/* --- the journal ----------------------------------------------------------------------------- */

static struct tl_durability durability_of(const struct crash_life *life)
{
    struct tl_durability out;
    life->algo->durability(life->self, &out);
    return out;
}

/* Note the number up to which everything is durable. The number of an expiry is at most the last
 * one given by then. */
static void note_durable(struct crash_life *life)
{
    struct journal *journal = life->journal;
    struct tl_durability out = durability_of(life);
    for (uint64_t i = journal->moment.events; i > 0; i--) {
        struct event *event = &journal->events[i - 1];
        if (event->sequence == NOT_YET) {
            event->sequence = out.sequence;
        } else if (event->sequence != IN_DOUBT) {
            break;
        }
    }
    journal->moment.acknowledged = out.durable_sequence;
}

static struct event *note(struct journal *journal, uint32_t id, struct known then,
                          uint64_t sequence)
{
    struct event *event = &journal->events[journal->moment.events++];
    *event = (struct event){.then = then, .sequence = sequence, .id = id};
    return event;
}

static void note_expiry(struct journal *journal, uint32_t id)
{
    const struct known idle = {.deadline = TL_NEVER};
    journal->now[id] = idle;
    note(journal, id, idle, NOT_YET)->fired = true;
}

/* Begin a run with the known states, all of which are durable. */
static void begin_journal(struct journal *journal, uint32_t timers)
{
    journal->moment.events = 0;
    for (uint32_t id = 0; id < timers; id++) {
        (void)note(journal, id, journal->now[id], 0);
    }
}

/* --- calls ----------------------------------------------------------------------------------- */

/* Make the call of a number: one of 64 has no payload, one the largest. It is there until the next
 * is made. */
static struct tl_call make_call(uint64_t number)
{
    static char name[24];
    static unsigned char payload[TL_PAYLOAD_MAX];
    struct random random;
    uint64_t kind = number >> 8 & 63;
    size_t bytes = kind == 0   ? 0
                   : kind == 1 ? TL_PAYLOAD_MAX
                   : kind == 2 ? (number >> 16) % TL_PAYLOAD_MAX
                               : (number >> 16) % 200;
    random_seed(&random, number);
    for (size_t i = 0; i < bytes; i++) {
        payload[i] = (unsigned char)random_bits(&random);
    }
    (void)snprintf(name, sizeof name, "%016" PRIx64, number);
    return (struct tl_call){name, payload, bytes};
}

/* Return the number of a timer's call, after comparing it with the one given. */
static uint64_t read_call(struct crash_life *life, uint32_t id)
{
    struct tl_call found;
    enum tl_status status =
        life->algo->call != NULL ? life->algo->call(life->self, id, &found) : TL_IDLE;
    if (status == TL_ERR_STORE && may_fail(life)) {
        return life->journal->now[id].call;
    }
    if (status != TL_OK && status != TL_IDLE) {
        COMPLAIN(life, "the call of timer %" PRIu32 ": %s", id, tl_status_text(status));
    }
    if (status != TL_OK) {
        return 0;
    }
    uint64_t number = strtoull(found.service, NULL, 16);
    struct tl_call given = make_call(number);
    if (strcmp(given.service, found.service) != 0 || given.bytes != found.bytes ||
        memcmp(given.payload, found.payload, found.bytes) != 0) {
        COMPLAIN(life, "damaged: timer %" PRIu32 " has a call to '%.20s' with %zu bytes, not %zu",
                 id, found.service, found.bytes, given.bytes);
    }
    return number;
}

/* --- recovery -------------------------------------------------------------------------------- */

static bool same(struct known a, struct known b)
{
    return a.deadline == b.deadline &&
           (a.deadline == TL_NEVER || (a.generation == b.generation && a.call == b.call));
}

/* Whether a recovery may find this state of a timer: the last acknowledged one or any later one. */
static bool may_be(const struct crash_life *life, uint32_t id, struct known found,
                   struct known *latest, bool *repeats)
{
    const struct journal *journal = life->journal;
    const struct crash_moment *moment = &journal->moment;
    bool good = false;
    bool fired_since = false;
    for (uint64_t i = 0; i < moment->events; i++) {
        const struct event *event = &journal->events[i];
        if (event->id != id) {
            continue;
        }
        if (event->sequence <= moment->acknowledged ||
            (life->at_most && event->fired && !life->process.may_not_open)) {
            good = false; /* it replaced the earlier states */
            fired_since = false;
        }
        fired_since |= event->fired && event->sequence > moment->acknowledged;
        if (same(event->then, found)) { /* started after that, if it is pending */
            good = true;
            fired_since = false;
        }
        *latest = event->sequence != UNDER_WAY ? event->then : *latest;
    }
    *repeats = good && fired_since && found.deadline != TL_NEVER;
    bool due = latest->deadline != TL_NEVER && latest->deadline <= moment->clock;
    return good || (life->at_most && (moment->advancing || journal->had_failures) && due &&
                    found.deadline == TL_NEVER);
}

/* Write the history of a timer: its state at the beginning of this run, and its last operations. */
static void write_history(struct crash_life *life, uint32_t id)
{
    enum { LAST = 12 };
    struct journal *journal = life->journal;
    const struct crash_moment *moment = &journal->moment;
    FILE *out = memory_made(fmemopen(journal->report.history, sizeof journal->report.history, "w"));
    uint64_t first = moment->events;
    for (unsigned n = 0; first > life->timers && n < LAST; first--) {
        n += journal->events[first - 1].id == id;
    }
    for (uint64_t i = id; i < moment->events; i = i < first ? first : i + 1) {
        const struct event *event = &journal->events[i];
        bool is_first = i < life->timers;
        if (event->id != id) {
            continue;
        }
        if (is_first) {
            (void)fputs("at the beginning", out);
        } else {
            (void)fprintf(out, "operation %" PRIu64 "%s", i + 1 - life->timers,
                          event->fired ? ", expiry" : "");
        }
        if (event->then.deadline == TL_NEVER) {
            (void)fputs(": not pending", out);
        } else {
            (void)fprintf(out, ": pending for tick %" PRIu64 ", start number %" PRIu64,
                          event->then.deadline, event->then.generation);
        }
        (void)fprintf(out, "%s\n",
                      event->sequence == IN_DOUBT                            ? " (it failed)"
                      : event->sequence == UNDER_WAY                         ? " (under way)"
                      : !is_first && event->sequence <= moment->acknowledged ? " (acknowledged)"
                                                                             : "");
    }
    (void)fclose(out);
}

static void compare_recovered(struct crash_life *life, const struct known found[TIMERS])
{
    struct journal *journal = life->journal;
    journal->report.recoveries++;
    for (uint32_t id = 0; id < life->timers; id++) {
        struct known latest = {.deadline = TL_NEVER};
        bool repeats;
        journal->report.timers++;
        if (may_be(life, id, found[id], &latest, &repeats)) {
            journal->report.repeats += repeats;
            continue;
        }
        if (!journal->report.fault) {
            write_history(life, id);
        }
        if (found[id].deadline == TL_NEVER) {
            COMPLAIN(life,
                     "lost: timer %" PRIu32 " with deadline %" PRIu64 " (start number %" PRIu64
                     ") was acknowledged (up to %" PRIu64 "), and is not there",
                     id, latest.deadline, latest.generation, journal->moment.acknowledged);
        } else if (latest.deadline == TL_NEVER) {
            COMPLAIN(life,
                     "after its end: timer %" PRIu32 " with deadline %" PRIu64
                     " (start number %" PRIu64 ") was stopped or had fired%s, and is there",
                     id, found[id].deadline, found[id].generation,
                     life->at_most ? "" : ", which was acknowledged");
        } else {
            COMPLAIN(life,
                     "wrong: timer %" PRIu32 " has deadline %" PRIu64 " (start number %" PRIu64
                     ", call %" PRIx64 ") where the last known is %" PRIu64 " (%" PRIu64
                     ", %" PRIx64 ")",
                     id, found[id].deadline, found[id].generation, found[id].call, latest.deadline,
                     latest.generation, latest.call);
        }
    }
}

static void adopt(void *ctx, uint32_t id, uint64_t deadline, uint64_t generation)
{
    struct known *found = ctx;
    if (id < TIMERS) {
        found[id] = (struct known){deadline, generation, 0};
    }
}

static void check_refusal(struct crash_life *life, const char *what, enum tl_status status)
{
    if (!may_fail(life) || (status != TL_ERR_STORE && status != TL_ERR_DISK_FULL)) {
        COMPLAIN(life, "%s answered %s", what, tl_status_name(status));
    }
}

/* Open the folder, recover, and compare the result with the journal, which then continues from it.
 * False: this run cannot continue. */
static bool recover_folder(struct crash_life *life)
{
    struct journal *journal = life->journal;
    bool must_open = !life->process.may_not_open && !may_fail(life);
    /* `recover` makes room for the ids of its timers, `reserve` for the others. */
    struct tl_config config = {.capacity = draw(life, 2) == 0 ? life->timers : 1,
                               .now = journal->moment.clock,
                               .options = life->options,
                               .allocator = tl_system_allocator()};
    struct known found[TIMERS];
    for (uint32_t id = 0; id < life->timers; id++) {
        found[id] = (struct known){.deadline = TL_NEVER};
    }
    enum tl_status status = life->algo->create(&config, &life->self);
    if (status != TL_OK) {
        if (must_open) {
            COMPLAIN(life, "create: %s", tl_status_text(status));
        }
        return false;
    }
    status = life->algo->recover(life->self, adopt, found);
    if (status != TL_OK) {
        struct tl_durability out = durability_of(life);
        if (must_open) {
            COMPLAIN(life, "recover: %s (%s)", tl_status_text(status),
                     out.failure != NULL ? out.failure : "it does not say why");
        }
        life->algo->destroy(life->self);
        return false;
    }
    uint64_t pending = 0;
    for (uint32_t id = 0; id < life->timers; id++) {
        found[id].call = found[id].deadline != TL_NEVER ? read_call(life, id) : 0;
        pending += found[id].deadline != TL_NEVER;
    }
    compare_recovered(life, found);
    uint64_t count = life->algo->count(life->self);
    if (count != pending) {
        COMPLAIN(life, "count is %" PRIu64 " after %" PRIu64 " timers were recovered", count,
                 pending);
    }
    status = life->algo->reserve(life->self, life->timers);
    if (status != TL_OK) {
        check_refusal(life, "reserve", status);
        life->algo->destroy(life->self);
        return false;
    }
    memcpy(journal->now, found, sizeof found);
    begin_journal(journal, life->timers);
    journal->moment.advancing = false;
    journal->moment.acknowledged = durability_of(life).sequence;
    if (life->process.trace != NULL) {
        journal->calls_before = crash_trace_calls(life->process.trace);
    }
    return true;
}

/* --- operations ------------------------------------------------------------------------------ */

static void end_operation(struct crash_life *life)
{
    note_durable(life);
    point(life);
}

/* Start a timer or, with TL_NEVER, stop it. The process may end before, in and after it. */
static void set_timer(struct crash_life *life, uint32_t id, uint64_t deadline)
{
    const struct tl_algo *algo = life->algo;
    struct journal *journal = life->journal;
    struct known before = journal->now[id];
    bool starts = deadline != TL_NEVER;
    const char *what = starts ? "start" : "stop";
    uint64_t number = starts && algo->start_call != NULL && draw(life, 2) == 0
                          ? random_bits(&journal->random) | 1
                          : 0;
    struct tl_call call = make_call(number);
    uint64_t next = durability_of(life).sequence + 1;
    struct event *event = note(journal, id, (struct known){deadline, next, number}, UNDER_WAY);
    point(life);
    enum tl_status status = !starts       ? algo->stop(life->self, id)
                            : number != 0 ? algo->start_call(life->self, id, deadline, &call)
                                          : algo->start(life->self, id, deadline);
    if (status == TL_OK) {
        event->sequence = durability_of(life).sequence;
        event->then.generation = event->sequence;
        journal->now[id] = event->then;
    } else if (status == TL_IDLE && before.deadline == TL_NEVER && !starts) {
        journal->moment.events--;
    } else {
        check_refusal(life, what, status);
        event->sequence = IN_DOUBT;
        (void)note(journal, id, before, IN_DOUBT);
    }
    if (status == TL_OK && starts) {
        if (event->sequence <= journal->moment.named) {
            COMPLAIN(life,
                     "named twice: timer %" PRIu32 " is started as number %" PRIu64
                     ", and numbers up to %" PRIu64 " had been given",
                     id, event->sequence, journal->moment.named);
        }
        journal->moment.named = event->sequence;
    }
    end_operation(life);
}

static void fired(void *ctx, uint32_t id, uint64_t now)
{
    struct crash_life *life = ctx;
    struct journal *journal = life->journal;
    note_durable(life);
    struct known it = journal->now[id];
    if (it.deadline == TL_NEVER) {
        COMPLAIN(life, "timer %" PRIu32 " fired at %" PRIu64 " and was not pending", id, now);
        return;
    }
    if (it.deadline > now + life->precision.early_ticks) {
        COMPLAIN(life, "early: timer %" PRIu32 " with deadline %" PRIu64 " fired at %" PRIu64, id,
                 it.deadline, now);
    }
    uint64_t call = read_call(life, id);
    if (call != it.call) {
        COMPLAIN(life,
                 "timer %" PRIu32 " fired with call %" PRIx64 ", and was started with %" PRIx64, id,
                 call, it.call);
    }
    if (life->at_most) {
        note_expiry(journal, id);
    }
    point(life);
    uint64_t what = life->process.drains ? 2 : draw(life, 3);
    uint32_t other = what == 1 ? (uint32_t)draw(life, life->timers) : id;
    if (what == 0) {
        set_timer(life, id, now + 1 + draw(life, 30));
    } else if (other != id) {
        set_timer(life, other, TL_NEVER);
    }
    point(life);
    if (!life->at_most && same(journal->now[id], it)) { /* it was not started again */
        note_expiry(journal, id);
    }
}

static void advance_to(struct crash_life *life, uint64_t now)
{
    struct journal *journal = life->journal;
    journal->moment.clock = now;
    journal->moment.advancing = true;
    point(life);
    (void)life->algo->advance(life->self, now, TL_NO_BUDGET, fired, life);
    journal->moment.advancing = false;
    end_operation(life);
    for (uint32_t id = 0; id < life->timers && !may_fail(life); id++) {
        uint64_t deadline = journal->now[id].deadline;
        if (deadline != TL_NEVER && deadline + life->precision.late_ticks < now) {
            COMPLAIN(life,
                     "late: timer %" PRIu32 " with deadline %" PRIu64 " has not fired by %" PRIu64,
                     id, deadline, now);
        }
    }
}

static void sync_now(struct crash_life *life)
{
    uint64_t sequence = 0;
    point(life);
    enum tl_status status = life->algo->sync(life->self, &sequence);
    if (status != TL_OK) {
        check_refusal(life, "sync", status);
    } else if (sequence < durability_of(life).sequence) {
        COMPLAIN(life, "sync said that all is durable up to %" PRIu64 ", and %" PRIu64 " was given",
                 sequence, durability_of(life).sequence);
    }
    end_operation(life);
}

static void run_history(struct crash_life *life)
{
    struct journal *journal = life->journal;
    for (uint32_t i = 0; i < life->process.steps && !journal->report.fault; i++) {
        uint32_t id = (uint32_t)draw(life, life->timers);
        uint64_t what = draw(life, 16);
        if (journal->moment.events + 4 * life->timers > EVENTS) {
            break;
        }
        if (what < 2) {
            set_timer(life, id, TL_NEVER);
        } else if (what < 4) {
            advance_to(life, journal->moment.clock + draw(life, 5));
        } else if (what == 4) {
            sync_now(life);
        } else {
            bool far = what == 5 && (life->algo->capabilities & TL_CAP_UNLIMITED) != 0;
            set_timer(life, id,
                      journal->moment.clock + draw(life, DELAY(life->timers)) + (far ? FAR : 0));
        }
    }
    if (life->process.drains) {
        for (unsigned i = 0; i < 100; i++) {
            advance_to(life, journal->moment.clock + (i < 99 ? 1 : 2 * FAR));
        }
        sync_now(life);
    }
}

/* --- a process ------------------------------------------------------------------------------- */

static int before_call(const struct shim_call *call)
{
    struct crash_life *life = current_life;
    const struct failure *failure = &life->process.failure;
    bool writes = call->kind == SHIM_WRITE;
    life->calls += writes || call->kind == SHIM_SYNC || call->kind == SHIM_SYNC_FOLDER;
    point(life);
    if (!may_fail(life) || life->calls < life->process.fail_at ||
        life->calls > life->process.fail_at + 1) {
        return 0;
    }
    return life->calls > life->process.fail_at ? failure->next
           : writes                            ? failure->write
                                               : failure->other;
}

static void after_call(const struct shim_call *call)
{
    struct crash_life *life = current_life;
    if (life->process.trace != NULL) {
        crash_trace_add(life->process.trace, call, &life->journal->moment);
    }
    if (life->process.kill_after > 0 && life->calls >= life->process.kill_after) {
        (void)raise(SIGKILL);
    }
    point(life);
}

static bool run_in_child(void *ctx, void *result, struct error *error)
{
    struct crash_life *life = ctx;
    struct crash_shim *shim = shim_of();
    (void)result;
    (void)error;
    current_life = life;
    life->precision = tl_algo_precision(life->algo, life->options, DELAY(TIMERS));
    if (shim != NULL) {
        shim->before = before_call;
        shim->after = after_call;
        shim->folder = life->folder;
    }
    if (recover_folder(life)) {
        run_history(life);
        life->algo->destroy(life->self);
    }
    return true;
}

/* False, with `error`, if there was no process. */
static bool run_process(struct crash_life *life, struct crash_process process, struct error *error)
{
    const struct child_request request = {
        .run = run_in_child, .ctx = life, .timeout_seconds = RUN_SECONDS};
    struct child_outcome outcome;
    struct crash_report *report = &life->journal->report;
    life->process = process;
    life->calls = 0;
    life->journal->points = 0;
    if (!plug_in_run(life->algo, &request, NULL, &outcome, error)) {
        return false;
    }
    bool killed = outcome.end == CHILD_CRASHED && outcome.signal == SIGKILL &&
                  (process.kill_at > 0 || process.kill_after > 0);
    report->kills += killed;
    if (life->plan->progress != NULL) {
        life->plan->progress(life->plan->progress_ctx, report->recoveries);
    }
    if (outcome.end != CHILD_DONE && !killed) {
        COMPLAIN(life, "the process %s", outcome.reason);
    }
    return true;
}

/* --- the trials ------------------------------------------------------------------------------ */

static void empty_folder(const struct crash_life *life)
{
    folder_remove(life->folder);
    (void)mkdir(life->folder, 0700);
}

/* Begin with an empty folder and journal. */
static void forget(struct crash_life *life, uint64_t seed, uint32_t timers)
{
    struct journal *journal = life->journal;
    for (uint32_t id = 0; id < timers; id++) {
        journal->now[id] = (struct known){.deadline = TL_NEVER};
    }
    life->timers = timers;
    journal->moment = (struct crash_moment){0};
    begin_journal(journal, timers);
    random_seed(&journal->random, seed);
    journal->had_failures = false;
    empty_folder(life);
}

/* Kill the process at that point, and once or several times again; then all timers fire; and at times
 * the folder, which was closed, is opened once more. */
static bool kill_at(struct crash_life *life, uint64_t seed, uint64_t at, uint32_t steps,
                    struct error *error)
{
    struct crash_process process = {.kill_at = at, .steps = steps};
    BEGIN_TRIAL(life, "the process was killed at point %" PRIu64 " of the history of seed %" PRIu64,
                at, seed);
    bool done = run_process(life, process, error);
    process.steps = SHORT_HISTORY / 8;
    for (unsigned crashes = at % 4 == 3 ? 4 : 1; done && crashes > 0; crashes--) {
        process.kill_at = 1 + (at + crashes) % 61;
        done = run_process(life, process, error);
    }
    process.kill_at = 0;
    process.drains = true;
    return done && run_process(life, process, error) &&
           (at % 4 != 1 || run_process(life, process, error));
}

/* The first points of one history, and others in long histories. */
static bool try_kills(struct crash_life *life, struct error *error)
{
    const struct crash_plan *plan = life->plan;
    struct random random;
    random_seed(&random, plan->seed);
    bool done = true;
    for (uint32_t k = 0; done && k < plan->points + plan->random && !life->journal->report.fault;
         k++) {
        bool is_long = k >= plan->points;
        uint64_t seed = is_long ? random_bits(&random) : plan->seed;
        uint64_t at = is_long ? 1 + random_bits(&random) % (4 * (uint64_t)plan->steps) : k + 1;
        uint32_t more = is_long ? (uint32_t)random_bits(&random) % (TIMERS - FEW_TIMERS + 1) : 0;
        more = is_long && k % 2 == 0 ? TIMERS - FEW_TIMERS : more;
        if (is_long && plan->steps != CRASH_STEPS) { /* an operation has about two points */
            at = plan->steps + at / 4;
            more = 0;
        }
        forget(life, seed, FEW_TIMERS + more);
        done = kill_at(life, seed, at, is_long ? plan->steps : SHORT_HISTORY, error);
    }
    return done;
}

/* Copy a journal without its report. */
static void copy_journal(struct journal *to, const struct journal *from)
{
    memcpy(&to->moment, &from->moment,
           offsetof(struct journal, events) - offsetof(struct journal, moment));
    memcpy(to->events, from->events, from->moment.events * sizeof *to->events);
}

/* Lose the power after that call. The process that finds the folder is killed at some point, and
 * the next one finds the files of that. */
static bool lose_power(struct crash_life *life, const struct crash_trace *trace, uint64_t cut,
                       bool keeps_half, struct random *random, struct error *error)
{
    struct crash_process process = {.steps = 8, .may_not_open = life->never_syncs};
    struct journal *journal = life->journal;
    empty_folder(life);
    journal->report.images++;
    bool done = crash_image_make(trace, cut, keeps_half, random_bits(random), life->folder,
                                 &journal->moment, error);
    if (life->never_syncs) {
        journal->moment.acknowledged = 0;
        journal->moment.named = 0;
    }
    process.kill_at = 1 + random_bits(random) % 40;
    done = done && run_process(life, process, error);
    process.kill_at = 0;
    return done && run_process(life, process, error);
}

/* Record the calls of a history to the disk, and lose the power after some of them. With
 * `kill_after`, a process is killed after that call, and these are the calls of the next process. */
static bool try_power(struct crash_life *life, uint64_t seed, uint64_t kill_after, uint32_t steps,
                      uint32_t cuts, struct error *error)
{
    struct journal *journal = life->journal;
    struct crash_trace *trace = crash_trace_new();
    struct crash_process process = {.steps = steps, .kill_after = kill_after, .trace = trace};
    struct journal *lived = memory_bytes(sizeof *lived);
    struct random random;
    char before[80] = "";
    random_seed(&random, seed);
    forget(life, seed, FEW_TIMERS);
    BEGIN_TRIAL(life, "the process ran to its end");
    bool done = run_process(life, process, error);
    if (kill_after > 0) {
        (void)snprintf(before, sizeof before,
                       "the process was killed after call %" PRIu64 " to the disk, then ",
                       kill_after);
        process.kill_after = 0;
        process.steps = 8;
        done = done && run_process(life, process, error);
    }
    copy_journal(lived, journal);
    uint64_t first = kill_after > 0 ? journal->calls_before : 0;
    uint64_t calls = crash_trace_calls(trace);
    cuts = calls > first ? cuts : 0; /* it need not write by calls */
    for (uint32_t k = 0; done && k < cuts && !journal->report.fault; k++) {
        uint64_t cut = first + random_bits(&random) % (calls - first);
        bool keeps_half = k % 4 > 0;
        if (keeps_half && lived->calls_before < calls) { /* of a folder that has been made */
            cut = crash_trace_torn(trace, cut > lived->calls_before ? cut : lived->calls_before);
        }
        copy_journal(journal, lived);
        BEGIN_TRIAL(life, "%spower lost after call %" PRIu64 " to the disk, %s", before, cut,
                    keeps_half ? "half of the unsynced bytes remain"
                               : "nothing that was not synced is left");
        done = lose_power(life, trace, cut, keeps_half, &random, error);
    }
    crash_trace_free(trace);
    free(lived);
    return done;
}

/* One long history, and for each of its places, another one that is killed first. */
static bool try_powers(struct crash_life *life, struct error *error)
{
    const struct crash_plan *plan = life->plan;
    struct random random;
    random_seed(&random, plan->seed);
    bool done = try_power(life, plan->seed, 0, CRASH_STEPS / 2, 4 * plan->images, error);
    for (uint32_t k = 0;
         done && k < plan->images && !life->never_syncs && !life->journal->report.fault; k++) {
        done = try_power(life, plan->seed + k, 1 + random_bits(&random) % (SHORT_HISTORY / 4),
                         SHORT_HISTORY, 2, error);
    }
    return done;
}

/* The first calls in turn, which open the store, and any other in between. */
static bool try_failures(struct crash_life *life, struct error *error)
{
    static const struct failure failures[] = {
        {EIO, EIO, 0, "Input/output error"},
        {ENOSPC, EIO, 0, "No space left on device"},
        {SHIM_SHORT, 0, 0, "half of the bytes were written"},
        {SHIM_SHORT, 0, EIO, "half of the bytes, then an error"},
    };
    const struct crash_plan *plan = life->plan;
    struct crash_report *report = &life->journal->report;
    struct random random;
    random_seed(&random, plan->seed);
    bool done = true;
    for (uint32_t k = 0; done && k < 3 * plan->images && !report->fault; k++) {
        struct crash_process process = {
            .steps = SHORT_HISTORY,
            .fail_at = 1 + (k / 4 % 2 == 0 ? k / 8 : random_bits(&random) % (SHORT_HISTORY / 2)),
            .failure = failures[k % 4]};
        forget(life, plan->seed, FEW_TIMERS);
        life->journal->had_failures = true;
        BEGIN_TRIAL(life, "call %" PRIu64 " to the disk failed: %s", process.fail_at,
                    process.failure.text);
        report->failures++;
        done = run_process(life, process, error) &&
               run_process(life, (struct crash_process){.steps = SHORT_HISTORY, .drains = true},
                           error);
    }
    return done;
}

static bool has_word(const struct tl_algo *algo, const void *options, const char *name,
                     const char *word)
{
    char text[64];
    const struct tl_option *option = tl_option_find(algo->options, name);
    return option != NULL && tl_option_format(option, options, text, sizeof text) > 0 &&
           strcmp(text, word) == 0;
}

bool crash_check(const struct tl_algo *algo, const void *options, const struct crash_plan *plan,
                 struct crash_report *report, struct error *error)
{
    struct journal *journal = child_memory_new(sizeof *journal);
    struct temporary temporary = {0};
    struct crash_life life = {
        .algo = algo,
        .plan = plan,
        .journal = journal,
        .folder = temporary.file,
        .at_most = has_word(algo, options, "delivery", "at-most"),
        .never_syncs = has_word(algo, options, "sync", "none"),
    };
    memcpy(life.options, options, sizeof life.options);
    bool done = temporary_make(&temporary, error) &&
                (tl_option_read(tl_option_find(algo->options, "path"), life.options, life.folder) ||
                 error_set(error, "%s: the name of a temporary folder is too long", life.folder));
    done = done && try_kills(&life, error) &&
           (journal->report.fault || !crash_is_shimmed() ||
            (try_powers(&life, error) && try_failures(&life, error)));
    *report = journal->report;
    temporary_remove(&temporary);
    child_memory_free(journal, sizeof *journal);
    return done;
}
