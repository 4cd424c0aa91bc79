/*
 * What happened, from above to below, as a table and as a drawing: of a small instance's run, which
 * the search has found, and of one timer in a real run, by the journals.
 */
#include "timeline.h"

#include "books.h"
#include "memory.h"
#include "sequence.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- what both have in common ------------------------------------------------------------------ */

enum { COLUMNS_MAX = 16, NAME_BYTES = 32 };

struct event {
    uint64_t at; /* second or millisecond */
    char who[NAME_BYTES];
    const char *what;
    char timers[16];
    uint64_t token;  /* 0: none */
    uint64_t due_ms; /* 0: none */
    const char *answer;
    struct sequence_row row;
};

struct timeline {
    const char *unit; /* of `at`: the first column's name */
    size_t column_count;
    char names[COLUMNS_MAX][NAME_BYTES];
    struct event *events;
    size_t count;
};

/* The column of that name, made if it is not there. */
static size_t column_of(struct timeline *timeline, const char *name)
{
    for (size_t i = 0; i < timeline->column_count; i++) {
        if (strcmp(timeline->names[i], name) == 0) {
            return i;
        }
    }
    size_t column =
        timeline->column_count < COLUMNS_MAX ? timeline->column_count++ : COLUMNS_MAX - 1;
    (void)snprintf(timeline->names[column], NAME_BYTES, "%s", name);
    return column;
}

static void write_number(uint64_t number, FILE *stream)
{
    if (number > 0) {
        (void)fprintf(stream, "%" PRIu64, number);
    }
    (void)fputc(',', stream);
}

static void write_csv(const struct timeline *timeline, FILE *stream)
{
    (void)fprintf(stream, "%s,who,event,timers,token,due_ms,answer\n", timeline->unit);
    for (size_t i = 0; i < timeline->count; i++) {
        const struct event *event = &timeline->events[i];
        (void)fprintf(stream, "%" PRIu64 ",%s,%s,\"%s\",", event->at, event->who, event->what,
                      event->timers);
        write_number(event->token, stream);
        write_number(event->due_ms, stream);
        (void)fprintf(stream, "\"%s\"\n", event->answer);
    }
}

static void draw(const struct timeline *timeline, const char *title, const char *description,
                 FILE *stream)
{
    const char *names[COLUMNS_MAX];
    struct sequence_row *rows = memory_new(timeline->count + 1, sizeof *rows);
    for (size_t i = 0; i < timeline->column_count; i++) {
        names[i] = timeline->names[i];
    }
    for (size_t i = 0; i < timeline->count; i++) {
        rows[i] = timeline->events[i].row;
    }
    sequence_write(names, timeline->column_count, rows, timeline->count, title, description,
                   stream);
    free(rows);
}

/* --- a small instance -------------------------------------------------------------------------- */

enum lane {
    PLANNER,
    TABLE,
    SCHEDULER_1,
    SCHEDULER_2,
    QUEUE,
    EXECUTOR_1,
    EXECUTOR_2,
    SERVICE,
    LANES
};
static const char *const lane_names[LANES] = {"planner", "table",      "scheduler 1", "scheduler 2",
                                              "queue",   "executor 1", "executor 2",  "service"};

static enum lane lane_of(unsigned actor)
{
    static const enum lane lanes[CHECK_ACTORS] = {PLANNER,    TABLE,      SCHEDULER_1, SCHEDULER_2,
                                                  EXECUTOR_1, EXECUTOR_2, TABLE};
    return lanes[actor];
}

/* The two ends of a step's arrow; the same twice: it has none. */
static void ends_of(const struct check_step *step, enum lane *from, enum lane *to)
{
    *from = *to = lane_of(step->actor);
    switch ((int)step->action) {
    case CLUSTER_FETCH:
    case CLUSTER_POP:
    case CLUSTER_ACQUIRE:
        *from = TABLE;
        break;
    case CLUSTER_MOVE_CLOCK:
    case CLUSTER_MOVE_CURSOR:
    case CLUSTER_REMOVE:
    case CLUSTER_DELETE:
    case CLUSTER_ACK:
    case CLUSTER_JOIN:
    case CLUSTER_HAND_OUT:
    case CLUSTER_LATER:
    case CHECK_INSERT:
    case CHECK_SCAN:
        *to = TABLE;
        break;
    case CLUSTER_CLAIM:
    case CLUSTER_CLAIM_PART:
    case CLUSTER_CLAIM_OWN:
    case CLUSTER_LOAD:
        *from = TABLE;
        *to = QUEUE;
        break;
    case CLUSTER_PUSH:
        *to = QUEUE;
        break;
    case CLUSTER_TAKE:
    case CLUSTER_LEASE:
        *from = QUEUE;
        break;
    case CLUSTER_CALL:
    case CHECK_ASK_LATER:
        *to = SERVICE;
        break;
    case CHECK_RECOVER:
    case CHECK_OUTRUN:
        *to = QUEUE;
        break;
    default:
        break;
    }
}

static void timers_text(unsigned timers, char *text, size_t bytes)
{
    (void)snprintf(text, bytes, "%s",
                   timers == 3   ? "1, 2"
                   : timers == 1 ? "1"
                   : timers == 2 ? "2"
                                 : "");
}

void timeline_step_text(const struct check_step *step, char *text, size_t bytes)
{
    char timers[16];
    timers_text(step->timers, timers, sizeof timers);
    (void)snprintf(text, bytes, "%s: %s%s%s", check_actor_name((enum check_actor)step->actor),
                   check_action_word(step->action), timers[0] != '\0' ? " timer " : "", timers);
}

static struct timeline timeline_of_check(const struct check_step *run, size_t count)
{
    struct timeline timeline = {
        .unit = "second", .events = memory_new(count + 1, sizeof(struct event)), .count = count};
    for (size_t lane = 0; lane < LANES; lane++) {
        (void)column_of(&timeline, lane_names[lane]);
    }
    for (size_t i = 0; i < count; i++) {
        struct event *event = &timeline.events[i];
        enum lane from;
        enum lane to;
        bool tick = run[i].action == CHECK_TICK;
        ends_of(&run[i], &from, &to);
        *event = (struct event){
            .at = run[i].second,
            .what = check_action_word(run[i].action),
            .answer = "",
            .row = {.form = tick                           ? SEQUENCE_LINE
                            : run[i].action == CHECK_CRASH ? SEQUENCE_CRASH
                                                           : SEQUENCE_STEP,
                    .from = from,
                    .to = to,
                    .actor = lane_of(run[i].actor)},
        };
        (void)snprintf(event->who, NAME_BYTES, "%s",
                       check_actor_name((enum check_actor)run[i].actor));
        timers_text(run[i].timers, event->timers, sizeof event->timers);
        (void)snprintf(event->row.word, sizeof event->row.word, "%s%s%s", event->what,
                       event->timers[0] != '\0' ? " " : "", event->timers);
        if (tick) {
            (void)snprintf(event->row.left, sizeof event->row.left, "second %u", run[i].second);
        }
    }
    return timeline;
}

void timeline_write_check(const struct check_step *run, size_t count, FILE *stream)
{
    struct timeline timeline = timeline_of_check(run, count);
    write_csv(&timeline, stream);
    free(timeline.events);
}

void timeline_draw_check(const struct check_step *run, size_t count, const char *title,
                         FILE *stream)
{
    struct timeline timeline = timeline_of_check(run, count);
    draw(&timeline, title, "Who did what, from above to below, until a timer is lost.", stream);
    free(timeline.events);
}

/* --- one timer of a run ------------------------------------------------------------------------ */

/* What is in no journal, but follows from them: the deadline, and a lease that has ended. */
enum { DEDUCED_DUE = JOURNAL_WHATS, DEDUCED_LEASE_ENDS, DEDUCED_END };

static const char *const said[DEDUCED_END] = {"start", "started",   "stop",      "stopped",
                                              "take",  "call",      "ack",       "try again",
                                              "fault", "it is due", "lease ends"};

/* Who has written it, or over whom the fault came. */
static void name_of(const struct journal_record *record, char name[NAME_BYTES])
{
    (void)snprintf(name, NAME_BYTES, "%s %u", run_role_names[record->role], record->member);
}

static const char *answer_text(const struct journal_record *record)
{
    switch (record->answer) {
    case ANSWER_NO:
        return record->what == JOURNAL_STARTED ? "known already" : "no, not any more";
    case ANSWER_YES:
        return "yes";
    case ANSWER_MAYBE:
        return record->what == JOURNAL_NACKED ? "given up" : "yes, but it was under way";
    case CALL_DONE:
        return "done";
    case CALL_REFUSED:
        return "refused";
    case CALL_UNHEARD:
        return "done, reply lost";
    case CALL_LATER:
        return "call me later";
    case FAULT_KILL:
        return "killed, and replaced";
    case FAULT_PAUSE:
        return "stopped for a while";
    default:
        return "";
    }
}

static bool is_deduced(const struct journal_record *record)
{
    return record->what >= JOURNAL_WHATS;
}

static int compare_moments(const void *one, const void *other)
{
    const struct journal_record *a = one;
    const struct journal_record *b = other;
    int order = books_compare(a->now_ms, b->now_ms);
    order = order != 0 ? order : books_compare(is_deduced(b), is_deduced(a));
    return order != 0 ? order : books_compare(a->what, b->what);
}

/* The first record of an attempt, or of what a planner says, with `what`; NULL: there is none. */
static const struct journal_record *find(const struct journal_record *own, size_t count,
                                         const struct journal_record *of, enum journal_what what)
{
    for (size_t i = 0; i < count; i++) {
        if (own[i].what == what && own[i].token == of->token &&
            own[i].generation == of->generation) {
            return &own[i];
        }
    }
    return NULL;
}

static uint64_t time_of(const struct journal_record *record)
{
    return record != NULL ? record->now_ms : UINT64_MAX;
}

/* When what was begun there was seen through; UINT64_MAX: never, or nothing was begun. */
static uint64_t end_of(const struct journal_record *begun, const struct journal_record *own,
                       size_t count)
{
    if (begun->what == JOURNAL_START_SENT) {
        return time_of(find(own, count, begun, JOURNAL_STARTED));
    }
    if (begun->what == JOURNAL_STOP_SENT) {
        return time_of(find(own, count, begun, JOURNAL_STOPPED));
    }
    uint64_t called_ms = time_of(find(own, count, begun, JOURNAL_CALLED));
    uint64_t acked_ms = time_of(find(own, count, begun, JOURNAL_ACKED));
    uint64_t nacked_ms = time_of(find(own, count, begun, JOURNAL_NACKED));
    uint64_t well_ms = called_ms > acked_ms ? called_ms : acked_ms;
    return begun->what != JOURNAL_TAKEN ? UINT64_MAX : nacked_ms < well_ms ? nacked_ms : well_ms;
}

/* Whether a fault came over somebody who had to do with the timer just then. */
static bool touches(const struct journal_record *fault, const struct journal_record *own,
                    size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct journal_record *begun = &own[i];
        uint64_t end_ms = end_of(begun, own, count);
        bool own_fault = (begun->what <= JOURNAL_STOPPED ? RUN_PLANNER : RUN_EXECUTOR) ==
                             (enum run_role)fault->role &&
                         begun->member == fault->member && begun->incarnation == fault->incarnation;
        bool others_fault = fault->role == RUN_ENGINE ||
                            (fault->role == RUN_RECEIVER && begun->what == JOURNAL_TAKEN);
        if (((own_fault && (end_ms < UINT64_MAX || begun->what == JOURNAL_TAKEN)) ||
             (others_fault && end_ms < UINT64_MAX)) &&
            begun->now_ms <= fault->now_ms && fault->now_ms <= end_ms) {
            return true;
        }
    }
    return false;
}

/* What follows of a record: of a start its deadline, if anybody took it then; of a take that nobody
 * has answered for the end of its lease, if it was taken again. */
static bool deduce(const struct run_plan *plan, const struct journal_record *own, size_t count,
                   const struct journal_record *of, struct journal_record *what)
{
    *what = (struct journal_record){.generation = of->generation, .role = RUN_ENGINE};
    uint64_t ends_ms = of->now_ms + plan->steps.lease_ms;
    bool leased =
        !plan->steps.is_seed && of->what == JOURNAL_TAKEN && end_of(of, own, count) > ends_ms;
    for (size_t i = 0; i < count; i++) {
        if (own[i].what != JOURNAL_TAKEN || own[i].generation != of->generation) {
            continue;
        }
        if (of->what == JOURNAL_START_SENT) {
            what->what = DEDUCED_DUE;
            what->now_ms = of->at_ms;
            return true;
        }
        if (leased && own[i].now_ms >= ends_ms) {
            what->what = DEDUCED_LEASE_ENDS;
            what->now_ms = ends_ms;
            return true;
        }
    }
    return false;
}

/* The records of this timer only, with faults and what is deduced, by time. */
static bool read_timer(struct books *books, const struct run_plan *plan, const char *folder,
                       uint64_t id, struct error *error)
{
    if (!books_read(books, plan, folder, error)) {
        return false;
    }
    size_t own = 0;
    for (size_t i = 0; i < books->count; i++) {
        if (books->records[i].id == id) {
            books->records[own++] = books->records[i];
        }
    }
    books->records =
        memory_resize(books->records, 2 * own + books->fault_count + 1, sizeof *books->records);
    struct journal_record *all = books->records;
    size_t count = own;
    for (size_t i = 0; i < own; i++) {
        count += deduce(plan, all, own, &all[i], &all[count]);
    }
    for (size_t i = 0; i < books->fault_count; i++) {
        if (touches(&books->faults[i], all, own)) {
            all[count++] = books->faults[i];
        }
    }
    qsort(all, count, sizeof *all, compare_moments);
    books->count = count;
    return true;
}

static struct sequence_row row_of(struct timeline *timeline, const struct journal_record *record)
{
    struct sequence_row row = {.form = SEQUENCE_STEP};
    char name[NAME_BYTES];
    name_of(record, name);
    size_t table = column_of(timeline, "table");
    size_t own = record->role == RUN_ENGINE     ? table
                 : record->role == RUN_RECEIVER ? column_of(timeline, "service")
                                                : column_of(timeline, name);
    row.from = row.to = row.actor = own;
    (void)snprintf(row.left, sizeof row.left, "%" PRIu64 " ms", record->now_ms);
    (void)snprintf(row.word, sizeof row.word, "%s%s%s", said[record->what],
                   record->answer != 0 ? ": " : "", answer_text(record));
    switch ((enum journal_what)record->what) {
    case JOURNAL_START_SENT:
        (void)snprintf(row.word, sizeof row.word, "start, due at %" PRIu64, record->at_ms);
        row.to = table;
        break;
    case JOURNAL_STARTED:
    case JOURNAL_STOPPED:
        row.from = table;
        break;
    case JOURNAL_TAKEN:
        (void)snprintf(row.word, sizeof row.word, "take, token %" PRIu64, record->token);
        row.from = table;
        break;
    case JOURNAL_CALLED:
        row.to = column_of(timeline, "service");
        break;
    case JOURNAL_FAULT:
        row.form = SEQUENCE_CRASH;
        (void)snprintf(row.word, sizeof row.word, "%s", answer_text(record));
        break;
    default: /* what was deduced has no other end */
        row.to = table;
        break;
    }
    return row;
}

static bool timeline_of_run(struct timeline *timeline, const struct run_plan *plan,
                            const char *folder, uint64_t id, struct error *error)
{
    struct books books = {0};
    bool done = read_timer(&books, plan, folder, id, error);
    *timeline = (struct timeline){.unit = "ms",
                                  .events = memory_new(books.count + 1, sizeof(struct event))};
    /* The planners, the table, those who work on it, and the service. */
    for (int role = RUN_PLANNER; done && role <= RUN_EXECUTOR; role++) {
        for (size_t i = 0; i < books.count; i++) {
            char name[NAME_BYTES];
            name_of(&books.records[i], name);
            if (books.records[i].role == role) {
                (void)column_of(timeline, name);
            }
        }
        if (role == RUN_PLANNER) {
            (void)column_of(timeline, "table");
        }
    }
    for (size_t i = 0; done && i < books.count; i++) {
        const struct journal_record *record = &books.records[i];
        struct event *event = &timeline->events[timeline->count++];
        *event = (struct event){
            .at = record->now_ms,
            .what = said[record->what],
            .token = books_is_attempt(record) ? record->token : 0,
            .due_ms = record->what == JOURNAL_START_SENT ? record->at_ms : 0,
            .answer = answer_text(record),
            .row = row_of(timeline, record),
        };
        (void)snprintf(event->timers, sizeof event->timers, "%" PRIu32, record->generation);
        if (is_deduced(record)) {
            (void)snprintf(event->who, NAME_BYTES, "table");
        } else {
            name_of(record, event->who);
        }
    }
    books_free(&books);
    return done;
}

bool timeline_write_run(const struct run_plan *plan, const char *folder, uint64_t id, FILE *stream,
                        struct error *error)
{
    struct timeline timeline;
    bool done = timeline_of_run(&timeline, plan, folder, id, error);
    write_csv(&timeline, stream);
    free(timeline.events);
    return done;
}

bool timeline_draw_run(const struct run_plan *plan, const char *folder, uint64_t id,
                       const char *title, FILE *stream, struct error *error)
{
    struct timeline timeline;
    bool done = timeline_of_run(&timeline, plan, folder, id, error);
    if (done) {
        draw(&timeline, title, "Who said what of one timer, from above to below.", stream);
    }
    free(timeline.events);
    return done;
}
