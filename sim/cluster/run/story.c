/* What became of one timer: who said what of it to whom, and whom a fault came over. */
#include "books.h"
#include "sequence.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 16, NAME_BYTES = 32 };

struct story {
    struct books books; /* `records` of this timer only, faults among them, by time */
    size_t column_count;
    char names[COLUMNS_MAX][NAME_BYTES];
};

static const char *const said[JOURNAL_WHATS] = {"start", "started", "stop",      "stopped", "take",
                                                "call",  "ack",     "try again", "fault"};

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
    case FAULT_KILL:
        return "killed";
    case FAULT_PAUSE:
        return "stopped for a while";
    default:
        return "";
    }
}

static int compare_moments(const void *one, const void *other)
{
    const struct journal_record *a = one;
    const struct journal_record *b = other;
    int order = books_compare(a->now_ms, b->now_ms);
    return order != 0 ? order : books_compare(a->what, b->what);
}

/* Whether a fault came over who had the timer in hand: it was taken, and not yet seen through. */
static bool touches(const struct journal_record *fault, const struct journal_record *own,
                    size_t count)
{
    bool seen[JOURNAL_WHATS] = {false};
    for (size_t i = 0; i < count; i++) {
        const struct journal_record *record = &own[i];
        if (!books_is_attempt(record) || record->member != fault->member ||
            record->incarnation != fault->incarnation || record->now_ms > fault->now_ms) {
            continue;
        }
        if (record->what == JOURNAL_TAKEN) {
            memset(seen, 0, sizeof seen);
        }
        seen[record->what] = true;
    }
    return fault->role == RUN_EXECUTOR && seen[JOURNAL_TAKEN] && !seen[JOURNAL_NACKED] &&
           !(seen[JOURNAL_CALLED] && seen[JOURNAL_ACKED]);
}

static bool read_story(struct story *story, const struct run_plan *plan, const char *folder,
                       uint64_t id, struct error *error)
{
    struct books *books = &story->books;
    if (!books_read(books, plan, folder, error)) {
        return false;
    }
    size_t count = 0;
    for (size_t i = 0; i < books->count; i++) {
        if (books->records[i].id == id) {
            books->records[count++] = books->records[i];
        }
    }
    struct journal_record *all =
        realloc(books->records, (count + books->fault_count + 1) * sizeof *all);
    if (all == NULL) {
        return error_set(error, "out of memory for the story of a timer");
    }
    books->records = all;
    qsort(all, count, sizeof *all, compare_moments);
    size_t own = count;
    for (size_t i = 0; i < books->fault_count; i++) {
        const struct journal_record *fault = &books->faults[i];
        bool while_it_lived =
            own > 0 && fault->now_ms >= all[0].now_ms && fault->now_ms <= all[own - 1].now_ms;
        if (fault->role == RUN_ENGINE ? while_it_lived : touches(fault, all, own)) {
            all[count++] = *fault;
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
        name_of(record, name);
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
    size_t own = record->role == RUN_ENGINE ? table : column_of(story, name);
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
        (void)snprintf(row.word, sizeof row.word, "%s", answer_text(record));
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
    default:
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
    struct sequence_row *rows = done ? calloc(story.books.count + 1, sizeof *rows) : NULL;
    if (done && rows == NULL) {
        done = error_set(error, "out of memory for the story of a timer");
    }
    (void)column_of(&story, "planner 0");
    (void)column_of(&story, "table");
    for (size_t i = 0; done && i < story.books.count; i++) {
        if (story.books.records[i].what == JOURNAL_START_SENT) {
            name_of(&story.books.records[i], story.names[0]);
        }
    }
    for (size_t i = 0; done && i < story.books.count; i++) {
        rows[i] = row_of(&story, &story.books.records[i]);
    }
    const char *names[COLUMNS_MAX];
    for (size_t i = 0; i < story.column_count; i++) {
        names[i] = story.names[i];
    }
    done =
        done && sequence_write(names, story.column_count, rows, story.books.count, title,
                               "Who said what of one timer, from above to below.", stream, error);
    free(rows);
    books_free(&story.books);
    return done;
}
