/* What became of one timer: who said what of it to whom, and whom a fault came over. */
#include "books.h"
#include "memory.h"
#include "sequence.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 16, NAME_BYTES = 32 };

/* What nobody has written down, but comes of what was: the deadline, and a lease that has ended. */
enum { STORY_DUE = JOURNAL_WHATS, STORY_LEASE_ENDS, STORY_WHATS };

struct story {
    struct books books; /* `records` of this timer only, with faults and the like, by time */
    size_t column_count;
    char names[COLUMNS_MAX][NAME_BYTES];
};

static const char *const said[STORY_WHATS] = {"start", "started",   "stop",      "stopped",
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
            what->what = STORY_DUE;
            what->now_ms = of->at_ms;
            return true;
        }
        if (leased && own[i].now_ms >= ends_ms) {
            what->what = STORY_LEASE_ENDS;
            what->now_ms = ends_ms;
            return true;
        }
    }
    return false;
}

static bool read_story(struct story *story, const struct run_plan *plan, const char *folder,
                       uint64_t id, struct error *error)
{
    struct books *books = &story->books;
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

bool run_tell(const struct run_plan *plan, const char *folder, uint64_t id, FILE *stream,
              struct error *error)
{
    struct story story = {0};
    bool done = read_story(&story, plan, folder, id, error);
    (void)fputs("ms,who,generation,token,event,due_ms,answer\n", stream);
    for (size_t i = 0; done && i < story.books.count; i++) {
        const struct journal_record *record = &story.books.records[i];
        char name[NAME_BYTES];
        if (is_deduced(record)) {
            (void)snprintf(name, sizeof name, "table");
        } else {
            name_of(record, name);
        }
        (void)fprintf(stream, "%" PRIu64 ",%s,%u,%" PRIu64 ",%s,", record->now_ms, name,
                      record->generation, books_is_attempt(record) ? record->token : 0,
                      said[record->what]);
        if (record->what == JOURNAL_START_SENT) {
            (void)fprintf(stream, "%" PRIu64, record->at_ms);
        }
        (void)fprintf(stream, ",\"%s\"\n", answer_text(record));
    }
    books_free(&story.books);
    return done;
}

/* The column of that name, made if it is not there. */
static size_t column_of(struct story *story, const char *name)
{
    for (size_t i = 0; i < story->column_count; i++) {
        if (strcmp(story->names[i], name) == 0) {
            return i;
        }
    }
    size_t column = story->column_count < COLUMNS_MAX ? story->column_count++ : COLUMNS_MAX - 1;
    (void)snprintf(story->names[column], NAME_BYTES, "%s", name);
    return column;
}

static struct sequence_row row_of(struct story *story, const struct journal_record *record)
{
    struct sequence_row row = {.form = SEQUENCE_STEP};
    char name[NAME_BYTES];
    name_of(record, name);
    size_t table = column_of(story, "table");
    size_t own = record->role == RUN_ENGINE     ? table
                 : record->role == RUN_RECEIVER ? column_of(story, "service")
                                                : column_of(story, name);
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
        row.to = column_of(story, "service");
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

bool run_draw(const struct run_plan *plan, const char *folder, uint64_t id, const char *title,
              FILE *stream, struct error *error)
{
    struct story story = {0};
    bool done = read_story(&story, plan, folder, id, error);
    struct sequence_row *rows = done ? memory_new(story.books.count + 1, sizeof *rows) : NULL;
    /* Who asks, the table, who works on it, and whom they call. */
    for (int role = RUN_PLANNER; done && role <= RUN_EXECUTOR; role++) {
        for (size_t i = 0; i < story.books.count; i++) {
            char name[NAME_BYTES];
            name_of(&story.books.records[i], name);
            if (story.books.records[i].role == role) {
                (void)column_of(&story, name);
            }
        }
        if (role == RUN_PLANNER) {
            (void)column_of(&story, "table");
        }
    }
    for (size_t i = 0; done && i < story.books.count; i++) {
        rows[i] = row_of(&story, &story.books.records[i]);
    }
    const char *names[COLUMNS_MAX];
    for (size_t i = 0; i < story.column_count; i++) {
        names[i] = story.names[i];
    }
    if (done) {
        sequence_write(names, story.column_count, rows, story.books.count, title,
                       "Who said what of one timer, from above to below.", stream);
    }
    free(rows);
    books_free(&story.books);
    return done;
}
