#include "journal.h"

#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const run_path_names[RUN_PATHS] = {"first", "retried", "recovered", "all"};

static void path_of(const char *folder, enum run_role role, unsigned member, char path[4096])
{
    (void)snprintf(path, 4096, "%s/%s-%u.journal", folder, run_role_names[role], member);
}

int journal_open(const char *folder, enum run_role role, unsigned member, struct error *error)
{
    char path[4096];
    path_of(folder, role, member, path);
    int journal = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (journal < 0) {
        (void)error_set(error, "%s: cannot be made: %s", path, strerror(errno));
    }
    return journal;
}

bool journal_add(int journal, const struct journal_record *records, size_t count,
                 struct error *error)
{
    size_t bytes = count * sizeof *records;
    ssize_t written = bytes > 0 ? write(journal, records, bytes) : 0;
    if (written == (ssize_t)bytes) {
        return true;
    }
    return error_set(error, "a journal of the run cannot be written: %s",
                     written < 0 ? strerror(errno) : "the disk is full");
}

bool journal_read(const char *folder, enum run_role role, unsigned member,
                  struct journal_record **records, size_t *count, struct error *error)
{
    char path[4096];
    struct journal_record record;
    size_t room = *count;
    path_of(folder, role, member, path);
    FILE *journal = memory_unless_short(fopen(path, "rbe"));
    if (journal == NULL) {
        return errno == ENOENT || error_set(error, "%s: cannot be read: %s", path, strerror(errno));
    }
    while (fread(&record, sizeof record, 1, journal) == 1) {
        MEMORY_REACH(*records, room, *count);
        (*records)[(*count)++] = record;
    }
    bool good =
        !ferror(journal) || error_set(error, "%s: cannot be read: %s", path, strerror(errno));
    (void)fclose(journal);
    return good;
}

/* --- the account ------------------------------------------------------------------------------ */

struct account {
    const struct run_plan *plan;
    struct journal_record *records; /* of all journals: the faults, which are of no generation; then
                                       timer by timer and generation by generation what planners
                                       and the engine say, and attempt by attempt */
    size_t count;
    size_t fault_count;
    uint64_t *lateness[RUN_PATHS];
    struct run_result *result;
};

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static bool is_attempt(const struct journal_record *record)
{
    return record->what >= JOURNAL_TAKEN && record->what <= JOURNAL_NACKED;
}

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

static bool read_journals(struct account *account, const char *folder, struct error *error)
{
    for (int role = 0; role < RUN_ROLES; role++) {
        uint32_t members = role == RUN_ENGINE ? 1 : account->plan->roles[role];
        for (uint32_t member = 0; member < members; member++) {
            if (!journal_read(folder, (enum run_role)role, member, &account->records,
                              &account->count, error)) {
                return false;
            }
        }
    }
    if (account->count > 0) {
        qsort(account->records, account->count, sizeof *account->records, compare_records);
    }
    while (account->fault_count < account->count &&
           account->records[account->fault_count].what == JOURNAL_FAULT) {
        account->fault_count++;
    }
    return true;
}

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
    bool is_dead; /* the engine has given it up */
};

/* An attempt, as the journals have it; of its reports the last ones. */
struct attempt {
    const struct journal_record *records;
    size_t count;
    const struct journal_record *called; /* NULL: it did not come to the service */
    const struct journal_record *acked;
    const struct journal_record *nacked;
    uint64_t accepted; /* acknowledgements */
    uint64_t stale;
};

/* The first attempt of these records, which are of attempts alone. */
static struct attempt attempt_of(const struct journal_record *records, size_t left)
{
    struct attempt attempt = {.records = records};
    while (attempt.count < left && records[attempt.count].token == records->token) {
        const struct journal_record *record = &records[attempt.count++];
        attempt.called = record->what == JOURNAL_CALLED ? record : attempt.called;
        attempt.acked = record->what == JOURNAL_ACKED ? record : attempt.acked;
        attempt.nacked = record->what == JOURNAL_NACKED ? record : attempt.nacked;
        attempt.accepted += record->what == JOURNAL_ACKED && record->answer == ANSWER_YES;
        attempt.stale += record->what == JOURNAL_ACKED && record->answer == ANSWER_NO;
    }
    return attempt;
}

/* Whether that fault came over the executor of an attempt. */
static bool had_fault(const struct account *account, enum journal_answer which,
                      const struct journal_record *called)
{
    for (size_t i = 0; i < account->fault_count; i++) {
        const struct journal_record *fault = &account->records[i];
        if (fault->answer == which && fault->role == RUN_EXECUTOR &&
            fault->member == called->member && fault->incarnation == called->incarnation) {
            return true;
        }
    }
    return false;
}

/* Whether the service or the engine was killed between two moments. The conductor notes a kill
 * before it starts the successor. */
static bool was_killed(const struct account *account, enum run_role role, uint64_t from_ms,
                       uint64_t to_ms)
{
    for (size_t i = 0; i < account->fault_count; i++) {
        const struct journal_record *fault = &account->records[i];
        if (fault->answer == FAULT_KILL && fault->role == role && fault->now_ms >= from_ms &&
            fault->now_ms <= to_ms) {
            return true;
        }
    }
    return false;
}

/* Why a timer was called `again` though this attempt had an effect. A kill explains it if it came
 * between the two, and over the service or the engine. */
static enum cluster_cause cause_of(const struct account *account, const struct attempt *attempt,
                                   const struct journal_record *again)
{
    const struct journal_record *called = attempt->called;
    uint64_t from_ms = attempt->records->now_ms;
    if (called->answer == CALL_UNHEARD) {
        return CLUSTER_CAUSE_REPLY;
    }
    if (account->plan->scan_ms > 0) {
        return CLUSTER_CAUSE_SCAN;
    }
    if (attempt->acked != NULL && attempt->acked->answer == ANSWER_YES) {
        return CLUSTER_CAUSE_OTHER;
    }
    if (had_fault(account, FAULT_PAUSE, called)) {
        return CLUSTER_CAUSE_OUTRUN;
    }
    if ((attempt->acked == NULL && attempt->nacked == NULL &&
         had_fault(account, FAULT_KILL, called)) ||
        (attempt->nacked != NULL && was_killed(account, RUN_RECEIVER, from_ms, again->now_ms)) ||
        was_killed(account, RUN_ENGINE, from_ms, again->now_ms)) {
        return CLUSTER_CAUSE_CRASH;
    }
    return attempt->acked != NULL ? CLUSTER_CAUSE_OUTRUN : CLUSTER_CAUSE_OTHER;
}

static bool has_effect(const struct journal_record *called)
{
    return called->answer == CALL_DONE || called->answer == CALL_UNHEARD;
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
        case JOURNAL_DEAD:
            timeline.is_dead = true;
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

/* Attempt by attempt: causes, lateness, repeated acknowledgements. */
static void go_through_attempts(struct account *account, const struct timeline *timeline)
{
    struct run_result *result = account->result;
    struct attempt effect = {0}; /* the latest attempt that had one */
    bool unanswered = false;
    bool refused = false;
    uint32_t answered = 0; /* attempts */
    uint64_t accepted = 0;
    size_t i = 0;
    while (i < timeline->count && !is_attempt(&timeline->records[i])) {
        i++;
    }
    while (i < timeline->count) {
        struct attempt attempt = attempt_of(&timeline->records[i], timeline->count - i);
        const struct journal_record *called = attempt.called;
        bool had_effect = called != NULL && has_effect(called);
        bool has_answer = attempt.acked != NULL || attempt.nacked != NULL;
        bool nacked = attempt.nacked != NULL;
        i += attempt.count;
        result->stale += attempt.stale;
        accepted += attempt.accepted;
        result->unheard += had_effect && (called->answer == CALL_UNHEARD || nacked);
        result->unreached += called == NULL && nacked;
        if (had_effect && effect.called == NULL) {
            /* Of some the engine alone knows: who took them was killed before it could say. */
            enum run_path path = unanswered || called->attempt > answered + 1 ? PATH_RECOVERED
                                 : refused                                    ? PATH_RETRIED
                                                                              : PATH_FIRST;
            note_lateness(account, path, called->now_ms, timeline->at_ms);
        } else if (had_effect) {
            result->duplicates[cause_of(account, &effect, called)]++;
        }
        effect = had_effect ? attempt : effect;
        refused = refused || (called != NULL ? !had_effect : nacked);
        answered += has_answer;
        unanswered =
            unanswered || (!has_answer && account->plan->protocol->execute[1] == CLUSTER_CALL);
    }
    result->twice_done += accepted > 1 ? accepted - 1 : 0;
}

/* One generation; `next` is the one after it, or NULL. */
static void judge_timer(struct account *account, const struct timeline *timeline,
                        const struct timeline *next)
{
    struct run_result *result = account->result;
    const struct journal_record *first = timeline->records;
    result->started += timeline->started;
    result->restarted += timeline->started && first->generation > 1;
    result->stopped += timeline->stop == ANSWER_YES;
    result->fired += timeline->effects > 0;
    result->calls += timeline->calls;
    result->errors += timeline->calls - timeline->effects - timeline->laters;
    result->laters += timeline->laters;
    result->garbled += timeline->garbled;
    result->dead += timeline->is_dead && timeline->effects == 0;
    result->early += timeline->is_early;
    if (timeline->calls > timeline->laters &&
        (timeline->stop == ANSWER_YES ||
         (next != NULL && next->start == ANSWER_YES && timeline->called_ms > next->started_ms))) {
        result->after_stop++;
    }
    if (timeline->started && timeline->effects == 0 && !timeline->is_dead && next == NULL &&
        (!timeline->stop_sent || timeline->stop == ANSWER_NO)) {
        result->lost++;
    }
    go_through_attempts(account, timeline);
}

static void go_through_timers(struct account *account)
{
    struct timeline before = {0};
    for (size_t i = account->fault_count; i < account->count;) {
        const struct journal_record *first = &account->records[i];
        size_t count = 1;
        while (i + count < account->count && first[count].id == first->id &&
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

bool account_run(const struct run_plan *plan, const char *folder, struct run_result *result,
                 struct error *error)
{
    struct account account = {.plan = plan, .result = result};
    bool right = read_journals(&account, folder, error);
    for (int path = 0; right && path < RUN_PATHS; path++) {
        account.lateness[path] = memory_new(account.count + 1, sizeof(uint64_t));
    }
    if (right) {
        go_through_timers(&account);
        sum_up_lateness(&account);
    }
    for (int path = 0; path < RUN_PATHS; path++) {
        free(account.lateness[path]);
    }
    free(account.records);
    return right;
}

bool run_is_right(const struct run_result *result)
{
    return result->lost == 0 && result->early == 0 && result->garbled == 0 &&
           result->after_stop == 0 && result->twice_done == 0 &&
           result->duplicates[CLUSTER_CAUSE_OTHER] == 0;
}
