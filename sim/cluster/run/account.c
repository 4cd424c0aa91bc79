#include "account.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>

const char *const run_path_names[RUN_PATHS] = {"first", "retried", "recovered", "all"};

/* The journals of a run, put together. */
struct books {
    struct journal_record *records; /* by timer and generation; first what planners say, then
                                       attempt by attempt */
    size_t count;
    size_t room;
    struct journal_record *faults; /* in the order in which they came */
    size_t fault_count;
};

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static bool is_attempt(const struct journal_record *record)
{
    return record->what >= JOURNAL_TAKEN && record->what <= JOURNAL_NACKED;
}

/* By timer and generation; what planners say first, then attempt by attempt. */
static int compare_records(const void *one, const void *other)
{
    const struct journal_record *a = one;
    const struct journal_record *b = other;
    int order = compare(a->id, b->id);
    order = order != 0 ? order : compare(a->generation, b->generation);
    order = order != 0 ? order : compare(is_attempt(a), is_attempt(b));
    if (order == 0 && is_attempt(a)) {
        order = compare(a->token, b->token);
    }
    order = order != 0 ? order : compare(a->what, b->what);
    return order != 0 ? order : compare(a->now_ms, b->now_ms);
}

static bool read_books(struct books *books, const struct run_plan *plan, const char *folder,
                       struct error *error)
{
    for (int role = 0; role < RUN_ENGINE; role++) {
        for (uint32_t member = 0; member < plan->roles[role]; member++) {
            struct journal_record *records;
            size_t count;
            if (!journal_read(folder, (enum run_role)role, member, &records, &count, error)) {
                return false;
            }
            if (count > 0) {
                MEMORY_REACH(books->records, books->room, books->count + count);
                memcpy(books->records + books->count, records, count * sizeof *records);
                books->count += count;
            }
            free(records);
        }
    }
    if (books->count > 0) {
        qsort(books->records, books->count, sizeof *books->records, compare_records);
    }
    return journal_read(folder, RUN_ENGINE, 0, &books->faults, &books->fault_count, error);
}

static void free_books(struct books *books)
{
    free(books->records);
    free(books->faults);
}

struct account {
    const struct run_plan *plan;
    struct books books;
    const struct account_dead *dead;
    size_t dead_count;
    uint64_t *lateness[RUN_PATHS];
    struct run_result *result;
};

/* One generation of a timer, as the journals have it. */
struct timeline {
    const struct journal_record *records;
    size_t count;
    uint64_t at_ms;
    bool started; /* acknowledged, */
    uint64_t started_ms;
    uint8_t start; /* how, */
    bool stop_sent;
    uint8_t stop; /* and how the stop was; 0: not at all */
    uint64_t calls;
    uint64_t effects;
    uint64_t laters;
    uint64_t garbled;
    const struct journal_record *later; /* the last call that was answered "later" */
    uint64_t asked_ms;                  /* by it, if that was accepted */
    uint64_t called_ms;                 /* the last time */
    bool is_early;
};

/* Whether that fault came over the executor of an attempt. */
static bool had_fault(const struct account *account, enum journal_answer which,
                      const struct journal_record *called)
{
    for (size_t i = 0; i < account->books.fault_count; i++) {
        const struct journal_record *fault = &account->books.faults[i];
        if (fault->answer == which && fault->role == RUN_EXECUTOR &&
            fault->member == called->member && fault->incarnation == called->incarnation) {
            return true;
        }
    }
    return false;
}

/* Whether that member of a role was killed between two moments. The conductor notes a kill before
 * it starts the successor. */
static bool was_killed(const struct account *account, enum run_role role, uint64_t member,
                       uint64_t from_ms, uint64_t to_ms)
{
    for (size_t i = 0; i < account->books.fault_count; i++) {
        const struct journal_record *fault = &account->books.faults[i];
        if (fault->answer == FAULT_KILL && fault->role == role && fault->member == member &&
            fault->now_ms >= from_ms && fault->now_ms <= to_ms) {
            return true;
        }
    }
    return false;
}

/* Why a timer was called `again` though the attempt of these records had an effect. A kill explains
 * it if it came between the two, and over the service or the engine. */
static enum cluster_cause cause_of(const struct account *account,
                                   const struct journal_record *attempt, size_t count,
                                   const struct journal_record *again)
{
    uint64_t from_ms = attempt->now_ms;
    const struct journal_record *called = attempt; /* one of them is the call */
    const struct journal_record *acked = NULL;
    const struct journal_record *nacked = NULL;
    for (size_t i = 0; i < count; i++) {
        called = attempt[i].what == JOURNAL_CALLED ? &attempt[i] : called;
        acked = attempt[i].what == JOURNAL_ACKED ? &attempt[i] : acked;
        nacked = attempt[i].what == JOURNAL_NACKED ? &attempt[i] : nacked;
    }
    if (called->answer == CALL_UNHEARD) {
        return CLUSTER_CAUSE_REPLY;
    }
    if (account->plan->scan_ms > 0) {
        return CLUSTER_CAUSE_SCAN;
    }
    if (acked != NULL && acked->answer == ANSWER_YES) {
        return CLUSTER_CAUSE_OTHER;
    }
    if (had_fault(account, FAULT_PAUSE, called)) {
        return CLUSTER_CAUSE_OUTRUN;
    }
    if ((acked == NULL && nacked == NULL && had_fault(account, FAULT_KILL, called)) ||
        (nacked != NULL && was_killed(account, RUN_RECEIVER, 0, from_ms, again->now_ms)) ||
        was_killed(account, RUN_ENGINE, 0, from_ms, again->now_ms)) {
        return CLUSTER_CAUSE_CRASH;
    }
    return acked != NULL ? CLUSTER_CAUSE_OUTRUN : CLUSTER_CAUSE_OTHER;
}

static bool has_effect(const struct journal_record *called)
{
    return called->answer == CALL_DONE || called->answer == CALL_UNHEARD;
}

static bool is_dead(const struct account *account, uint64_t id, uint32_t generation)
{
    size_t low = 0;
    size_t high = account->dead_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct account_dead *dead = &account->dead[middle];
        if (dead->id == id && dead->generation == generation) {
            return true;
        }
        if (dead->id < id || (dead->id == id && dead->generation < generation)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

static struct timeline timeline_of(const struct journal_record *records, size_t count)
{
    struct timeline timeline = {.records = records, .count = count};
    for (size_t i = 0; i < count; i++) {
        const struct journal_record *record = &records[i];
        switch ((enum journal_what)record->what) {
        case JOURNAL_START_SENT:
            timeline.at_ms = record->at_ms;
            break;
        case JOURNAL_STARTED:
            /* One that was known already had been started by the same words before. */
            timeline.start = record->answer == ANSWER_NO ? ANSWER_MAYBE : record->answer;
            timeline.started = true;
            timeline.started_ms = record->now_ms;
            break;
        case JOURNAL_STOP_SENT:
            timeline.stop_sent = true;
            break;
        case JOURNAL_STOPPED:
            timeline.stop = record->answer;
            break;
        case JOURNAL_CALLED:
            timeline.calls++;
            timeline.called_ms = record->now_ms;
            timeline.effects += has_effect(record);
            timeline.laters += record->answer == CALL_LATER;
            timeline.garbled += record->answer == CALL_GARBLED;
            timeline.is_early = timeline.is_early || record->now_ms < timeline.at_ms ||
                                record->now_ms < timeline.asked_ms;
            timeline.later = record->answer == CALL_LATER ? record : timeline.later;
            break;
        case JOURNAL_NACKED:
            /* Otherwise it was not heard, and this is for a retry. */
            if (timeline.later != NULL && timeline.later->token == record->token &&
                timeline.later->at_ms == record->at_ms && record->answer == ANSWER_YES) {
                timeline.asked_ms = timeline.later->at_ms;
            }
            break;
        default:
            break;
        }
    }
    return timeline;
}

static void note_lateness(struct account *account, enum run_path path, uint64_t now_ms,
                          uint64_t at_ms)
{
    struct run_lateness *lateness = account->result->lateness;
    uint64_t late = now_ms > at_ms ? now_ms - at_ms : 0;
    account->lateness[path][lateness[path].count++] = late;
    account->lateness[PATH_ALL][lateness[PATH_ALL].count++] = late;
}

/* An attempt, as the journals have it. */
struct attempt {
    const struct journal_record *called; /* NULL: it did not come to the service */
    bool answered;                       /* its executor has said how it went, */
    bool nacked;                         /* and that was not well */
    uint64_t accepted;                   /* acknowledgements */
    uint64_t stale;
};

static struct attempt attempt_of(const struct journal_record *records, size_t count)
{
    struct attempt attempt = {0};
    for (size_t k = 0; k < count; k++) {
        const struct journal_record *record = &records[k];
        attempt.called = record->what == JOURNAL_CALLED ? record : attempt.called;
        attempt.answered = attempt.answered || record->what > JOURNAL_CALLED;
        attempt.nacked = attempt.nacked || record->what == JOURNAL_NACKED;
        attempt.accepted += record->what == JOURNAL_ACKED && record->answer == ANSWER_YES;
        attempt.stale += record->what == JOURNAL_ACKED && record->answer == ANSWER_NO;
    }
    return attempt;
}

/* Attempt by attempt: causes, lateness, repeated acknowledgements. */
static void go_through_attempts(struct account *account, const struct timeline *timeline)
{
    struct run_result *result = account->result;
    const struct journal_record *effect = NULL; /* the latest attempt that had one */
    size_t effect_count = 0;
    bool unanswered = false;
    bool refused = false;
    uint32_t answered = 0; /* attempts */
    uint64_t accepted = 0;
    for (size_t i = 0; i < timeline->count;) {
        const struct journal_record *attempt = &timeline->records[i];
        size_t count = 1;
        while (i + count < timeline->count && is_attempt(attempt) && is_attempt(attempt + count) &&
               attempt[count].token == attempt->token) {
            count++;
        }
        i += count;
        if (!is_attempt(attempt)) {
            continue;
        }
        struct attempt known = attempt_of(attempt, count);
        const struct journal_record *called = known.called;
        bool had_effect = called != NULL && has_effect(called);
        result->stale += known.stale;
        accepted += known.accepted;
        result->unheard += had_effect && (called->answer == CALL_UNHEARD || known.nacked);
        result->unreached += called == NULL && known.nacked;
        if (had_effect) {
            if (effect == NULL) {
                /* Of some the engine alone knows: who took them was killed before it could say. */
                enum run_path path = unanswered || called->attempt > answered + 1 ? PATH_RECOVERED
                                     : refused                                    ? PATH_RETRIED
                                                                                  : PATH_FIRST;
                note_lateness(account, path, called->now_ms, timeline->at_ms);
            } else {
                enum cluster_cause cause = cause_of(account, effect, effect_count, called);
                result->duplicates[cause]++;
            }
            effect = attempt;
            effect_count = count;
        }
        refused = refused || (called != NULL ? !had_effect : known.nacked);
        answered += known.answered;
        unanswered =
            unanswered || (!known.answered && account->plan->protocol->execute[1] == CLUSTER_CALL);
    }
    result->twice_done += accepted > 1 ? accepted - 1 : 0;
}

/* One generation; `next` is the one after it, or NULL. */
static void judge_timer(struct account *account, const struct timeline *timeline,
                        const struct timeline *next)
{
    struct run_result *result = account->result;
    const struct journal_record *first = timeline->records;
    bool gone = is_dead(account, first->id, first->generation);
    result->started += timeline->started;
    result->restarted += timeline->started && first->generation > 1;
    result->stopped += timeline->stop == ANSWER_YES;
    result->fired += timeline->effects > 0;
    result->calls += timeline->calls;
    result->errors += timeline->calls - timeline->effects - timeline->laters;
    result->laters += timeline->laters;
    result->garbled += timeline->garbled;
    result->dead += gone && timeline->effects == 0;
    result->early += timeline->is_early;
    if (timeline->calls > timeline->laters &&
        (timeline->stop == ANSWER_YES ||
         (next != NULL && next->start == ANSWER_YES && timeline->called_ms > next->started_ms))) {
        result->after_stop++;
    }
    if (timeline->started && timeline->effects == 0 && !gone && next == NULL &&
        (!timeline->stop_sent || timeline->stop == ANSWER_NO)) {
        result->lost++;
    }
    go_through_attempts(account, timeline);
}

static void go_through_timers(struct account *account)
{
    const struct books *books = &account->books;
    struct timeline before = {0};
    for (size_t i = 0; i < books->count;) {
        const struct journal_record *first = &books->records[i];
        size_t count = 1;
        while (i + count < books->count && first[count].id == first->id &&
               first[count].generation == first->generation) {
            count++;
        }
        struct timeline timeline = timeline_of(first, count);
        if (before.count > 0) {
            judge_timer(account, &before, before.records->id == first->id ? &timeline : NULL);
        }
        before = timeline;
        i += count;
    }
    if (before.count > 0) {
        judge_timer(account, &before, NULL);
    }
}

static int compare_times(const void *a, const void *b)
{
    return compare(*(const uint64_t *)a, *(const uint64_t *)b);
}

static int compare_dead(const void *one, const void *other)
{
    const struct account_dead *a = one;
    const struct account_dead *b = other;
    int order = compare(a->id, b->id);
    return order != 0 ? order : compare(a->generation, b->generation);
}

static void sum_up_lateness(struct account *account)
{
    for (int path = 0; path < RUN_PATHS; path++) {
        struct run_lateness *lateness = &account->result->lateness[path];
        uint64_t *times = account->lateness[path];
        uint64_t count = lateness->count;
        if (count > 0) {
            qsort(times, count, sizeof *times, compare_times);
            lateness->p50_ms = times[(count - 1) / 2];
            lateness->p99_ms = times[(count - 1) * 99 / 100];
            lateness->max_ms = times[count - 1];
        }
    }
}

bool account_run(const struct run_plan *plan, const char *folder, struct account_dead *dead,
                 size_t dead_count, struct run_result *result, struct error *error)
{
    struct account account = {
        .plan = plan, .dead = dead, .dead_count = dead_count, .result = result};
    bool right = read_books(&account.books, plan, folder, error);
    if (dead_count > 0) {
        qsort(dead, dead_count, sizeof *dead, compare_dead);
    }
    for (int path = 0; right && path < RUN_PATHS; path++) {
        account.lateness[path] = memory_new(account.books.count + 1, sizeof(uint64_t));
    }
    if (right) {
        go_through_timers(&account);
        sum_up_lateness(&account);
    }
    for (int path = 0; path < RUN_PATHS; path++) {
        free(account.lateness[path]);
    }
    free_books(&account.books);
    return right;
}

bool run_is_right(const struct run_result *result)
{
    return result->lost == 0 && result->early == 0 && result->garbled == 0 &&
           result->after_stop == 0 && result->twice_done == 0 &&
           result->duplicates[CLUSTER_CAUSE_OTHER] == 0;
}
