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

#define FEW_TIMERS       64u
#define TIMERS           300u /* the most */
#define EVENTS           (1u << 19)
#define RUN_SECONDS      60.0
#define SHORT_HISTORY    400u
#define TRACE_BYTES      ((size_t)512 << 20)

#define FAR              (UINT64_C(1) << 40) /* ticks, of some delays */

/* Most delays are shorter, so that half of the timers are pending. */
#define DELAY(timers)    ((timers)*UINT64_C(5) / 8)

/* The number of an event that has none yet. */
#define NOT_YET          UINT64_MAX

/* The number of a failed operation: it may be on the disk, and is never acknowledged. */
#define IN_DOUBT         (UINT64_MAX - 1)

/* A failure of the shim: a short write, and an error of the next call. */
#define SHORT_THEN_ERROR (SHIM_SHORT - 1)

enum doing { DOING_NOTHING, DOING_START, DOING_STOP };

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
    struct known base[TIMERS];  /* at the beginning of this run */
    struct known now[TIMERS];
    uint64_t points;
    struct random random;
    bool had_failures; /* calls failed, so expiries may be on record */
    struct event events[EVENTS];
};

struct crash_life {
    const struct tl_algo *algo;
    const struct crash_plan *plan;
    TL_OPTION_VALUES(options);
    struct journal *journal;
    void *self;
    bool at_most;
    bool may_fail;     /* calls to the disk fail */
    bool may_not_open; /* a loss of power may leave a folder that cannot be opened */
    uint32_t timers;
    uint64_t early_ticks;
    uint64_t late_ticks;
    /* of this life */
    uint64_t kill_at; /* a point; 0: none */
    uint32_t steps;
    bool drains;
    int failure; /* of the call */
    uint64_t fail_at;
    uint64_t calls;
    struct crash_trace *trace; /* NULL: none is kept */
    uint32_t firing;
    const char *folder;
    unsigned char payload[TL_PAYLOAD_MAX];
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

/* A place at which the process may end. */
static void point(struct crash_life *life)
{
    if (++life->journal->points == life->kill_at) {
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

static void note(struct crash_life *life, uint32_t id, struct known then, uint64_t sequence,
                 bool fired)
{
    struct journal *journal = life->journal;
    journal->now[id] = then;
    journal->events[journal->moment.events] =
        (struct event){.then = then, .sequence = sequence, .id = id, .fired = fired};
    journal->moment.events++;
}

/* The process may end before, after and during each operation. */
static void begin_doing(struct crash_life *life, enum doing doing, uint32_t id, uint64_t deadline)
{
    life->journal->moment.doing = doing;
    life->journal->moment.id = id;
    life->journal->moment.deadline = deadline;
    point(life);
}

static void end_doing(struct crash_life *life)
{
    life->journal->moment.doing = DOING_NOTHING;
    note_durable(life);
    point(life);
}

/* --- calls ----------------------------------------------------------------------------------- */

/* Make the call of a number: one of 64 has no payload, one the largest. */
static struct tl_call make_call(uint64_t number, char name[24], unsigned char payload[])
{
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
    (void)snprintf(name, 24, "%016" PRIx64, number);
    return (struct tl_call){name, payload, bytes};
}

/* Return the number of a timer's call, after comparing it with the one given. */
static uint64_t read_call(struct crash_life *life, uint32_t id)
{
    char name[24];
    struct tl_call found;
    enum tl_status status =
        life->algo->call != NULL ? life->algo->call(life->self, id, &found) : TL_IDLE;
    if (status == TL_ERR_STORE && life->may_fail) {
        return life->journal->now[id].call;
    }
    if (status != TL_OK) {
        if (status != TL_IDLE) {
            COMPLAIN(life, "the call of timer %" PRIu32 ": %s", id, tl_status_text(status));
        }
        return 0;
    }
    uint64_t number = strtoull(found.service, NULL, 16);
    struct tl_call given = make_call(number, name, life->payload);
    if (strcmp(name, found.service) != 0 || given.bytes != found.bytes ||
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
    struct known at = journal->base[id];
    bool good = same(at, found);
    bool fired_since = false;
    *latest = at;
    for (uint64_t i = 0; i < moment->events; i++) {
        const struct event *event = &journal->events[i];
        if (event->id != id) {
            continue;
        }
        if (event->sequence <= moment->acknowledged ||
            (life->at_most && event->fired && !life->may_not_open)) {
            good = false; /* it replaced the earlier states */
            fired_since = false;
        }
        fired_since |= event->fired && event->sequence > moment->acknowledged;
        if (same(event->then, found)) { /* started after that, if it is pending */
            good = true;
            fired_since = false;
        }
        *latest = event->then;
    }
    *repeats = good && fired_since && found.deadline != TL_NEVER;
    bool is_it = moment->id == id;
    if (moment->doing == DOING_START && is_it && found.deadline == moment->deadline) {
        good = true;
    }
    if (moment->doing == DOING_STOP && is_it && found.deadline == TL_NEVER) {
        good = true;
    }
    bool due = latest->deadline != TL_NEVER && latest->deadline <= journal->moment.clock;
    if (life->at_most && (moment->advancing || journal->had_failures) && due &&
        found.deadline == TL_NEVER) {
        good = true;
    }
    return good;
}

/* Add a line about a state of a timer. */
static void add_line(struct crash_report *report, const char *what, struct known then,
                     const char *how)
{
    size_t used = strlen(report->history);
    char *text = report->history + used;
    size_t room = sizeof report->history - used;
    if (then.deadline == TL_NEVER) {
        (void)snprintf(text, room, "%s: not pending%s\n", what, how);
    } else {
        (void)snprintf(text, room, "%s: pending for tick %" PRIu64 ", start number %" PRIu64 "%s\n",
                       what, then.deadline, then.generation, how);
    }
}

/* Write the history of a timer: its state at the beginning of this run, and its last operations. */
static void write_history(struct crash_life *life, uint32_t id)
{
    enum { LAST = 12 };
    static const char *const doings[] = {"", "a start", "a stop"};
    struct journal *journal = life->journal;
    const struct crash_moment *moment = &journal->moment;
    uint64_t first = moment->events;
    for (unsigned n = 0; first > 0 && n < LAST; first--) {
        n += journal->events[first - 1].id == id;
    }
    add_line(&journal->report, "at the beginning", journal->base[id], "");
    for (uint64_t i = first; i < moment->events; i++) {
        const struct event *event = &journal->events[i];
        char what[64];
        (void)snprintf(what, sizeof what, "operation %" PRIu64 "%s", i + 1,
                       event->fired ? ", expiry" : "");
        if (event->id == id) {
            add_line(&journal->report, what, event->then,
                     event->sequence == IN_DOUBT               ? " (it failed)"
                     : event->sequence <= moment->acknowledged ? " (acknowledged)"
                                                               : "");
        }
    }
    if (moment->doing != DOING_NOTHING && moment->id == id) {
        add_line(
            &journal->report, doings[moment->doing],
            (struct known){.deadline = moment->doing == DOING_STOP ? TL_NEVER : moment->deadline},
            " (under way)");
    }
}

static void compare_recovered(struct crash_life *life, const struct known found[TIMERS])
{
    struct journal *journal = life->journal;
    journal->report.recoveries++;
    for (uint32_t id = 0; id < life->timers; id++) {
        struct known latest;
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
    if (!life->may_fail || (status != TL_ERR_STORE && status != TL_ERR_DISK_FULL)) {
        COMPLAIN(life, "%s answered %s", what, tl_status_name(status));
    }
}

/* Open the folder, recover, and compare the result with the journal, which then continues from it.
 * False: this run cannot continue. */
static bool recover_folder(struct crash_life *life)
{
    struct journal *journal = life->journal;
    /* `recover` makes room for the ids of its timers, `reserve` for the others. */
    struct tl_config config = {.capacity = draw(life, 2) == 0 ? life->timers : 1,
                               .now = journal->moment.clock,
                               .options = life->options,
                               .allocator = tl_system_allocator()};
    struct known found[TIMERS];
    for (uint32_t id = 0; id < life->timers; id++) {
        found[id].deadline = TL_NEVER;
    }
    enum tl_status status = life->algo->create(&config, &life->self);
    if (status != TL_OK) {
        if (!life->may_not_open && !life->may_fail) {
            COMPLAIN(life, "create: %s", tl_status_text(status));
        }
        return false;
    }
    status = life->algo->recover(life->self, adopt, found);
    if (status != TL_OK) {
        struct tl_durability out = durability_of(life);
        if (!life->may_not_open && !life->may_fail) {
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
    memcpy(journal->base, found, sizeof found);
    memcpy(journal->now, found, sizeof found);
    journal->moment = (struct crash_moment){.clock = journal->moment.clock,
                                            .named = journal->moment.named,
                                            .acknowledged = durability_of(life).sequence};
    return true;
}

/* --- operations ------------------------------------------------------------------------------ */

/* A failed operation may be on the disk. */
static void note_doubt(struct crash_life *life, uint32_t id, uint64_t deadline, uint64_t call)
{
    struct known before = life->journal->now[id];
    uint64_t sequence = durability_of(life).sequence;
    note(life, id, (struct known){deadline, sequence + 1, call}, IN_DOUBT, false);
    note(life, id, before, IN_DOUBT, false);
}

static void start_one(struct crash_life *life, uint32_t id, uint64_t deadline)
{
    char name[24];
    uint64_t number = life->algo->start_call != NULL && draw(life, 2) == 0
                          ? random_bits(&life->journal->random) | 1
                          : 0;
    struct tl_call call = make_call(number, name, life->payload);
    begin_doing(life, DOING_START, id, deadline);
    enum tl_status status = number != 0 ? life->algo->start_call(life->self, id, deadline, &call)
                                        : life->algo->start(life->self, id, deadline);
    if (status == TL_OK) {
        uint64_t sequence = durability_of(life).sequence;
        if (sequence <= life->journal->moment.named) {
            COMPLAIN(life,
                     "named twice: timer %" PRIu32 " is started as number %" PRIu64
                     ", and numbers up to %" PRIu64 " had been given",
                     id, sequence, life->journal->moment.named);
        }
        life->journal->moment.named = sequence;
        note(life, id, (struct known){deadline, sequence, number}, sequence, false);
    } else {
        check_refusal(life, "start", status);
        note_doubt(life, id, deadline, number);
    }
    end_doing(life);
}

static void stop_one(struct crash_life *life, uint32_t id)
{
    bool pending = life->journal->now[id].deadline != TL_NEVER;
    begin_doing(life, DOING_STOP, id, 0);
    enum tl_status status = life->algo->stop(life->self, id);
    if (status == TL_OK && pending) {
        note(life, id, (struct known){.deadline = TL_NEVER}, durability_of(life).sequence, false);
    } else if (status != TL_OK && (pending || status != TL_IDLE)) {
        check_refusal(life, "stop", status);
        note_doubt(life, id, TL_NEVER, 0);
    }
    end_doing(life);
}

static void fired(void *ctx, uint32_t id, uint64_t now)
{
    struct crash_life *life = ctx;
    note_durable(life);
    struct known it = life->journal->now[id];
    if (it.deadline == TL_NEVER) {
        COMPLAIN(life, "timer %" PRIu32 " fired at %" PRIu64 " and was not pending", id, now);
        return;
    }
    if (it.deadline > now + life->early_ticks) {
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
        note(life, id, (struct known){.deadline = TL_NEVER}, NOT_YET, true);
    }
    point(life);
    uint64_t events = life->journal->moment.events;
    uint64_t what = life->drains ? 2 : draw(life, 3);
    if (what == 0) {
        start_one(life, id, now + 1 + draw(life, 30));
    } else if (what == 1) {
        uint32_t other = (uint32_t)draw(life, life->timers);
        if (other != id) {
            stop_one(life, other);
        }
    }
    point(life);
    bool again = false;
    for (uint64_t i = events; i < life->journal->moment.events; i++) {
        const struct event *event = &life->journal->events[i];
        again |= event->id == id && event->sequence != IN_DOUBT;
    }
    if (!life->at_most && !again) {
        note(life, id, (struct known){.deadline = TL_NEVER}, NOT_YET, true);
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
    end_doing(life);
    for (uint32_t id = 0; id < life->timers && !life->may_fail; id++) {
        uint64_t deadline = journal->now[id].deadline;
        if (deadline != TL_NEVER && deadline + life->late_ticks < now) {
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
    end_doing(life);
}

static void run_history(struct crash_life *life)
{
    struct journal *journal = life->journal;
    for (uint32_t i = 0; i < life->steps && !journal->report.fault; i++) {
        uint32_t id = (uint32_t)draw(life, life->timers);
        uint64_t what = draw(life, 16);
        if (journal->moment.events + 4 * life->timers > EVENTS) {
            break;
        }
        if (what < 2) {
            stop_one(life, id);
        } else if (what < 4) {
            advance_to(life, journal->moment.clock + draw(life, 5));
        } else if (what == 4) {
            sync_now(life);
        } else {
            bool far = what == 5 && (life->algo->capabilities & TL_CAP_UNLIMITED) != 0;
            start_one(life, id,
                      journal->moment.clock + draw(life, DELAY(life->timers)) + (far ? FAR : 0));
        }
    }
    if (life->drains) {
        for (unsigned i = 0; i < 100; i++) {
            advance_to(life, journal->moment.clock + (i < 99 ? 1 : 2 * FAR));
        }
        sync_now(life);
    }
}

/* --- the shim's ------------------------------------------------------------------------------- */

static int before_call(const struct shim_call *call)
{
    struct crash_life *life = current_life;
    bool writes = call->kind == SHIM_WRITE;
    if (writes || call->kind == SHIM_SYNC || call->kind == SHIM_SYNC_FOLDER) {
        life->calls++;
    }
    point(life);
    if (life->fail_at == 0) {
        return 0;
    }
    if (life->failure == SHORT_THEN_ERROR && life->calls == life->fail_at + 1) {
        return EIO;
    }
    bool is_short = life->failure == SHIM_SHORT || life->failure == SHORT_THEN_ERROR;
    if (life->calls != life->fail_at || (is_short && !writes)) {
        return 0;
    }
    return is_short ? SHIM_SHORT : life->failure == ENOSPC && !writes ? EIO : life->failure;
}

static void after_call(const struct shim_call *call)
{
    if (current_life->trace != NULL) {
        crash_trace_add(current_life->trace, call, &current_life->journal->moment);
    }
    point(current_life);
}

static bool run_in_child(void *ctx, void *result, struct error *error)
{
    struct crash_life *life = ctx;
    struct crash_shim *shim = shim_of();
    (void)result;
    (void)error;
    current_life = life;
    life->journal->points = 0;
    if (shim != NULL) {
        shim->before = before_call;
        shim->after = after_call;
        shim->folder = life->folder;
    }
    if (recover_folder(life)) {
        run_history(life);
        life->algo->destroy(life->self);
    }
    if (life->trace != NULL) {
        crash_trace_end(life->trace, &life->journal->moment);
    }
    return true;
}

/* One process; true: it went as was asked for. */
static bool run_process(struct crash_life *life, struct error *error)
{
    struct child_request request = {
        .run = run_in_child, .ctx = life, .result_bytes = 1, .timeout_seconds = RUN_SECONDS};
    struct child_outcome outcome;
    char nothing;
    if (!plug_in_run(life->algo, &request, &nothing, &outcome, error)) {
        return false;
    }
    bool killed = outcome.end == CHILD_CRASHED && outcome.signal == SIGKILL && life->kill_at > 0;
    life->journal->report.kills += killed;
    if (life->plan->progress != NULL) {
        life->plan->progress(life->plan->progress_ctx, life->journal->report.recoveries);
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
    life->timers = timers;
    for (uint32_t id = 0; id < timers; id++) {
        journal->base[id] = (struct known){.deadline = TL_NEVER};
        journal->now[id] = journal->base[id];
    }
    journal->moment = (struct crash_moment){0};
    random_seed(&journal->random, seed);
    journal->had_failures = false;
    life->kill_at = 0;
    life->fail_at = 0;
    life->drains = false;
    life->may_fail = false;
    life->trace = NULL;
    empty_folder(life);
}

/* The last process of a trial: nothing happens to it, and all timers fire. */
static bool drain(struct crash_life *life, struct error *error)
{
    life->kill_at = 0;
    life->fail_at = 0;
    life->may_fail = false;
    life->drains = true;
    return run_process(life, error);
}

/* Kill the process at that point, and once or several times again; then all timers fire; and at times
 * the folder, which was closed, is opened once more. */
static bool kill_at(struct crash_life *life, uint64_t seed, uint64_t at, uint32_t steps,
                    struct error *error)
{
    BEGIN_TRIAL(life, "the process was killed at point %" PRIu64 " of the history of seed %" PRIu64,
                at, seed);
    life->kill_at = at;
    life->steps = steps;
    bool done = run_process(life, error);
    life->steps = SHORT_HISTORY / 8;
    for (unsigned crashes = at % 4 == 3 ? 4 : 1; done && crashes > 0; crashes--) {
        life->kill_at = 1 + (at + crashes) % 61;
        done = run_process(life, error);
    }
    return done && drain(life, error) && (at % 4 != 1 || run_process(life, error));
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

static void copy_journal(struct journal *to, const struct journal *from)
{
    memcpy(to, from, offsetof(struct journal, events));
    memcpy(to->events, from->events, from->moment.events * sizeof *to->events);
}

/* Record the calls of one long history, and make images of it. */
static bool try_power(struct crash_life *life, struct error *error)
{
    const struct crash_plan *plan = life->plan;
    const struct crash_report *report = &life->journal->report;
    struct crash_trace *trace = crash_trace_new(TRACE_BYTES);
    struct journal *lived = memory_bytes(sizeof *lived);
    forget(life, plan->seed, FEW_TIMERS);
    BEGIN_TRIAL(life, "the process ran to its end");
    life->trace = trace;
    life->steps = CRASH_STEPS / 2;
    bool done = run_process(life, error);
    life->trace = NULL;
    life->steps = 8;
    copy_journal(lived, life->journal);
    struct random random;
    random_seed(&random, plan->seed);
    for (uint32_t k = 0; done && k < 2 * plan->images && !report->fault; k++) {
        struct crash_report so_far = *report;
        copy_journal(life->journal, lived);
        life->journal->report = so_far;
        uint64_t cut = random_bits(&random) % crash_trace_calls(trace);
        empty_folder(life);
        done = crash_image_make(trace, cut, k % 2 == 1, random_bits(&random), life->folder,
                                &life->journal->moment, error);
        life->journal->report.images++;
        if (life->may_not_open) {
            life->journal->moment.acknowledged = 0;
            life->journal->moment.named = 0;
        }
        BEGIN_TRIAL(life, "power lost after call %" PRIu64 " to the disk, %s", cut,
                    k % 2 == 1 ? "half of the unsynced bytes remain"
                               : "nothing that was not synced is left");
        done = done && run_process(life, error);
    }
    crash_trace_free(trace);
    free(lived);
    return done;
}

/* The first calls in turn, which open the store, and any other in between. */
static bool try_failures(struct crash_life *life, struct error *error)
{
    const struct crash_plan *plan = life->plan;
    static const int failures[] = {EIO, ENOSPC, SHIM_SHORT, SHORT_THEN_ERROR};
    const struct crash_report *report = &life->journal->report;
    struct random random;
    random_seed(&random, plan->seed);
    for (uint32_t k = 0; k < 3 * plan->images && !report->fault; k++) {
        forget(life, plan->seed, FEW_TIMERS);
        life->may_fail = true;
        life->journal->had_failures = true;
        life->fail_at = 1 + (k / 4 % 2 == 0 ? k / 8 : random_bits(&random) % (SHORT_HISTORY / 2));
        life->failure = failures[k % 4];
        BEGIN_TRIAL(life, "call %" PRIu64 " to the disk failed: %s", life->fail_at,
                    life->failure > 0             ? strerror(life->failure)
                    : life->failure == SHIM_SHORT ? "half of the bytes were written"
                                                  : "half of the bytes, then an error");
        life->calls = 0;
        life->steps = SHORT_HISTORY;
        if (!run_process(life, error)) {
            return false;
        }
        life->journal->report.failures++;
        if (!drain(life, error)) {
            return false;
        }
    }
    return true;
}

static bool has_word(const struct tl_algo *algo, const void *options, const char *name,
                     const char *word)
{
    char text[64];
    const struct tl_option *option = tl_option_find(algo->options, name);
    return option != NULL && tl_option_format(option, options, text, sizeof text) > 0 &&
           strcmp(text, word) == 0;
}

/* The folder that the structure keeps its timers in. */
static bool set_path(struct crash_life *life, struct error *error)
{
    return tl_option_read(tl_option_find(life->algo->options, "path"), life->options,
                          life->folder) ||
           error_set(error, "%s: the name of a temporary folder is too long", life->folder);
}

bool crash_check(const struct tl_algo *algo, const void *options, const struct crash_plan *plan,
                 struct crash_report *report, struct error *error)
{
    struct journal *journal = child_memory_new(sizeof *journal);
    struct temporary temporary = {0};
    struct crash_life life = {
        .algo = algo, .plan = plan, .journal = journal, .folder = temporary.file};
    memcpy(life.options, options, sizeof life.options);
    static const uint64_t delays[] = {DELAY(TIMERS)};
    struct tl_precision precision;
    if (!plug_in_precision(algo, options, delays, 1, &precision, error)) {
        child_memory_free(journal, sizeof *journal);
        return false;
    }
    life.early_ticks = precision.early_ticks;
    life.late_ticks = precision.late_ticks;
    life.at_most = has_word(algo, options, "delivery", "at-most");
    bool done =
        temporary_make(&temporary, error) && set_path(&life, error) && try_kills(&life, error);
    if (done && crash_is_shimmed() && !journal->report.fault) {
        life.may_not_open = has_word(algo, options, "sync", "none");
        done = try_power(&life, error);
        life.may_not_open = false;
        done = done && try_failures(&life, error);
    }
    *report = journal->report;
    temporary_remove(&temporary);
    child_memory_free(journal, sizeof *journal);
    return done;
}
