/* The account of a run: timers that are lost, early, fired after a confirmed stop, or called again,
 * and the cause. */
#include "journal.h"
#include "temporary_file.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct trial {
    struct temporary temporary;
    struct run_plan plan;
    struct run_result result;
    struct error error;
};

static const struct cluster_protocol lease = {
    .execute = {CLUSTER_LEASE, CLUSTER_CALL, CLUSTER_LATER, CLUSTER_ACK, CLUSTER_END}};

static void begin(struct trial *trial)
{
    *trial = (struct trial){.plan = {.roles = {1, 1, 2, 1}, .protocol = &lease}};
    assert_true(temporary_make(&trial->temporary, &trial->error));
}

static void add(struct trial *trial, enum run_role role, struct journal_record record)
{
    record.role = record.what == JOURNAL_FAULT ? record.role : (uint8_t)role;
    int journal = journal_open(trial->temporary.folder, role,
                               role == RUN_ENGINE ? 0 : record.member, &trial->error);
    assert_true(journal >= 0);
    assert_true(journal_add(journal, &record, 1, &trial->error));
    (void)close(journal);
}

static void start(struct trial *trial, uint64_t id, uint32_t generation, uint64_t at_ms,
                  uint64_t now_ms)
{
    struct journal_record record = {
        .id = id, .generation = generation, .at_ms = at_ms, .now_ms = now_ms};
    record.what = JOURNAL_START_SENT;
    add(trial, RUN_PLANNER, record);
    record.what = JOURNAL_STARTED;
    record.answer = ANSWER_YES;
    add(trial, RUN_PLANNER, record);
}

static void stop(struct trial *trial, uint64_t id, enum engine_answer answer)
{
    struct journal_record record = {.id = id, .generation = 1, .what = JOURNAL_STOP_SENT};
    add(trial, RUN_PLANNER, record);
    record.what = JOURNAL_STOPPED;
    record.answer = (uint8_t)answer;
    add(trial, RUN_PLANNER, record);
}

/* An attempt of executor `member`: taken, called, and its last report; 0: none. */
static void attempt(struct trial *trial, uint64_t id, uint64_t token, unsigned member,
                    uint64_t now_ms, enum journal_answer outcome, enum journal_what last,
                    enum engine_answer answer)
{
    struct journal_record record = {.id = id,
                                    .generation = 1,
                                    .token = token,
                                    .now_ms = now_ms,
                                    .member = (uint8_t)member,
                                    .what = JOURNAL_TAKEN};
    add(trial, RUN_EXECUTOR, record);
    record.what = JOURNAL_CALLED;
    record.answer = (uint8_t)outcome;
    int journal = journal_open(trial->temporary.folder, RUN_RECEIVER, 0, &trial->error);
    record.role = RUN_EXECUTOR;
    assert_true(journal_add(journal, &record, 1, &trial->error));
    (void)close(journal);
    if (last == JOURNAL_ACKED || last == JOURNAL_NACKED) {
        record.what = (uint8_t)last;
        record.answer = (uint8_t)answer;
        add(trial, RUN_EXECUTOR, record);
    }
}

/* One that did not come to the service, which was gone. */
static void attempt_unreached(struct trial *trial, uint64_t id, uint64_t token)
{
    struct journal_record record = {
        .id = id, .generation = 1, .token = token, .what = JOURNAL_TAKEN};
    add(trial, RUN_EXECUTOR, record);
    record.what = JOURNAL_NACKED;
    record.answer = ANSWER_YES;
    add(trial, RUN_EXECUTOR, record);
}

static void fault(struct trial *trial, enum run_role role, unsigned member,
                  enum journal_answer what, uint64_t now_ms)
{
    add(trial, RUN_ENGINE,
        (struct journal_record){.role = (uint8_t)role,
                                .member = (uint8_t)member,
                                .now_ms = now_ms,
                                .what = JOURNAL_FAULT,
                                .answer = (uint8_t)what});
}

static void judge(struct trial *trial)
{
    assert_true(account_run(&trial->plan, trial->temporary.folder, &trial->result, &trial->error));
}

static void end(struct trial *trial)
{
    temporary_remove(&trial->temporary);
}

static void all_is_well(void **state)
{
    (void)state;
    struct trial trial;
    begin(&trial);
    start(&trial, 1, 1, 100, 5);
    attempt(&trial, 1, 1, 0, 103, CALL_DONE, JOURNAL_ACKED, ANSWER_YES);
    start(&trial, 2, 1, 100, 5);
    stop(&trial, 2, ANSWER_YES);
    start(&trial, 3, 1, 100, 5);
    attempt(&trial, 3, 2, 0, 104, CALL_REFUSED, JOURNAL_NACKED, ANSWER_YES);
    attempt(&trial, 3, 3, 1, 150, CALL_DONE, JOURNAL_ACKED, ANSWER_YES);
    start(&trial, 4, 1, 100, 5);
    attempt_unreached(&trial, 4, 4);
    attempt(&trial, 4, 5, 1, 140, CALL_DONE, JOURNAL_ACKED, ANSWER_YES);
    judge(&trial);
    assert_true(run_is_right(&trial.result));
    assert_int_equal(trial.result.started, 4);
    assert_int_equal(trial.result.fired, 3);
    assert_int_equal(trial.result.unreached, 1);
    assert_int_equal(trial.result.stopped, 1);
    assert_int_equal(trial.result.errors, 1);
    assert_int_equal(trial.result.lateness[PATH_FIRST].max_ms, 3);
    assert_int_equal(trial.result.lateness[PATH_RETRIED].max_ms, 50);
    assert_int_equal(trial.result.lateness[PATH_RETRIED].count, 2);
    assert_int_equal(trial.result.lateness[PATH_ALL].count, 3);
    end(&trial);
}

/* A call with another service or payload than its timer's is a fault of the engine. */
static void a_garbled_call_is_a_fault(void **state)
{
    (void)state;
    struct trial trial;
    begin(&trial);
    start(&trial, 1, 1, 100, 5);
    attempt(&trial, 1, 1, 0, 103, CALL_GARBLED, JOURNAL_NACKED, ANSWER_YES);
    attempt(&trial, 1, 2, 0, 203, CALL_DONE, JOURNAL_ACKED, ANSWER_YES);
    judge(&trial);
    assert_false(run_is_right(&trial.result));
    assert_int_equal(trial.result.garbled, 1);
    end(&trial);
}

/* Taken by who was killed before it could say so: the engine has counted it. */
static void taken_unseen(void **state)
{
    (void)state;
    struct trial trial;
    begin(&trial);
    start(&trial, 1, 1, 100, 5);
    struct journal_record record = {.id = 1,
                                    .generation = 1,
                                    .token = 2,
                                    .attempt = 2,
                                    .now_ms = 520,
                                    .what = JOURNAL_CALLED,
                                    .answer = CALL_DONE};
    add(&trial, RUN_RECEIVER, record);
    judge(&trial);
    assert_int_equal(trial.result.lateness[PATH_RECOVERED].count, 1);
    assert_int_equal(trial.result.lateness[PATH_FIRST].count, 0);
    end(&trial);
}

static void what_nobody_called_is_lost(void **state)
{
    (void)state;
    struct trial trial;
    begin(&trial);
    start(&trial, 7, 1, 100, 5);
    start(&trial, 8, 1, 100, 5);
    add(&trial, RUN_ENGINE,
        (struct journal_record){.id = 8, .generation = 1, .what = JOURNAL_DEAD});
    start(&trial, 9, 1, 100, 5);
    stop(&trial, 9, ANSWER_NO); /* it was reported to be gone, and was not called */
    judge(&trial);
    assert_int_equal(trial.result.lost, 2);
    assert_int_equal(trial.result.dead, 1);
    assert_false(run_is_right(&trial.result));
    end(&trial);
}

static void a_restart_takes_the_place_of_what_was(void **state)
{
    (void)state;
    struct trial trial;
    begin(&trial);
    start(&trial, 1, 1, 100, 5);
    start(&trial, 1, 2, 300, 50);
    judge(&trial);
    assert_int_equal(trial.result.lost, 1); /* the second generation, once */
    end(&trial);

    begin(&trial);
    start(&trial, 1, 1, 100, 5);
    start(&trial, 1, 2, 300, 50);
    attempt(&trial, 1, 1, 0, 103, CALL_DONE, JOURNAL_ACKED, ANSWER_NO); /* of the first */
    judge(&trial);
    assert_int_equal(trial.result.after_stop, 1);
    end(&trial);
}

/* It is called at the time that it has asked for, and not before, if that was accepted. */
static void called_later(void **state)
{
    (void)state;
    for (unsigned too_soon = 0; too_soon < 2; too_soon++) {
        struct trial trial;
        begin(&trial);
        start(&trial, 1, 1, 100, 5);
        struct journal_record record = {
            .id = 1, .generation = 1, .token = 1, .now_ms = 101, .what = JOURNAL_TAKEN};
        add(&trial, RUN_EXECUTOR, record);
        record.what = JOURNAL_CALLED;
        record.answer = CALL_LATER;
        record.at_ms = 400;
        add(&trial, RUN_RECEIVER, record);
        record.what = JOURNAL_NACKED;
        record.answer = ANSWER_YES;
        add(&trial, RUN_EXECUTOR, record);
        attempt(&trial, 1, 2, 1, too_soon > 0 ? 399 : 400, CALL_DONE, JOURNAL_ACKED, ANSWER_YES);
        judge(&trial);
        assert_int_equal(trial.result.laters, 1);
        assert_int_equal(trial.result.errors, 0);
        assert_int_equal(trial.result.fired, 1);
        assert_int_equal(trial.result.early, too_soon);
        end(&trial);
    }
}

static void early_and_after_a_stop(void **state)
{
    (void)state;
    struct trial trial;
    begin(&trial);
    start(&trial, 1, 1, 100, 5);
    attempt(&trial, 1, 1, 0, 99, CALL_DONE, JOURNAL_ACKED, ANSWER_YES);
    start(&trial, 2, 1, 100, 5);
    stop(&trial, 2, ANSWER_YES);
    attempt(&trial, 2, 2, 0, 101, CALL_DONE, JOURNAL_ACKED, ANSWER_NO);
    start(&trial, 3, 1, 100, 5);
    stop(&trial, 3, ANSWER_MAYBE);
    attempt(&trial, 3, 3, 0, 100, CALL_DONE, JOURNAL_ACKED, ANSWER_NO);
    judge(&trial);
    assert_int_equal(trial.result.early, 1);
    assert_int_equal(trial.result.after_stop, 1);
    assert_int_equal(trial.result.stale, 2);
    end(&trial);
}

/* The first attempt ends so, and a second one has its effect too. */
static struct run_result twice(enum journal_answer outcome, enum journal_what last,
                               enum engine_answer answer, enum run_role victim, unsigned member,
                               enum journal_answer what, uint64_t fault_ms)
{
    struct trial trial;
    begin(&trial);
    start(&trial, 1, 1, 100, 5);
    attempt(&trial, 1, 1, 0, 101, outcome, last, answer);
    attempt(&trial, 1, 2, 1, 900, CALL_DONE, JOURNAL_ACKED, ANSWER_YES);
    if (victim != RUN_ROLES) {
        fault(&trial, victim, member, what, fault_ms);
    }
    judge(&trial);
    end(&trial);
    return trial.result;
}

static void a_second_call_has_its_cause(void **state)
{
    (void)state;
    const enum journal_what nothing = JOURNAL_FAULT;
    struct run_result result =
        twice(CALL_UNHEARD, JOURNAL_NACKED, ANSWER_YES, RUN_ROLES, 0, FAULT_KILL, 500);
    assert_int_equal(result.duplicates[CLUSTER_CAUSE_REPLY], 1);
    assert_true(run_is_right(&result));
    result = twice(CALL_DONE, nothing, ANSWER_NO, RUN_EXECUTOR, 0, FAULT_KILL, 500);
    assert_int_equal(result.duplicates[CLUSTER_CAUSE_CRASH], 1);
    result = twice(CALL_DONE, JOURNAL_NACKED, ANSWER_YES, RUN_RECEIVER, 0, FAULT_KILL, 500);
    assert_int_equal(result.duplicates[CLUSTER_CAUSE_CRASH], 1);
    result = twice(CALL_DONE, nothing, ANSWER_NO, RUN_ENGINE, 0, FAULT_KILL, 500);
    assert_int_equal(result.duplicates[CLUSTER_CAUSE_CRASH], 1);
    result = twice(CALL_DONE, JOURNAL_ACKED, ANSWER_NO, RUN_EXECUTOR, 0, FAULT_PAUSE, 500);
    assert_int_equal(result.duplicates[CLUSTER_CAUSE_OUTRUN], 1);
    result = twice(CALL_DONE, JOURNAL_ACKED, ANSWER_NO, RUN_ROLES, 0, FAULT_PAUSE, 500);
    assert_int_equal(result.duplicates[CLUSTER_CAUSE_OUTRUN], 1); /* it was only slow */
    assert_int_equal(result.lateness[PATH_FIRST].count, 1);

    /* Another executor's death explains nothing, and after an accepted acknowledgement nothing
     * does. */
    result = twice(CALL_DONE, nothing, ANSWER_NO, RUN_EXECUTOR, 1, FAULT_KILL, 500);
    assert_int_equal(result.duplicates[CLUSTER_CAUSE_OTHER], 1);
    assert_false(run_is_right(&result));
    result = twice(CALL_DONE, JOURNAL_ACKED, ANSWER_YES, RUN_EXECUTOR, 0, FAULT_KILL, 500);
    assert_int_equal(result.duplicates[CLUSTER_CAUSE_OTHER], 1);
    assert_int_equal(result.twice_done, 1);

    /* Nor does the kill of the engine before or after both calls. */
    result = twice(CALL_DONE, nothing, ANSWER_NO, RUN_ENGINE, 0, FAULT_KILL, 100);
    assert_int_equal(result.duplicates[CLUSTER_CAUSE_OTHER], 1);
    result = twice(CALL_DONE, nothing, ANSWER_NO, RUN_ENGINE, 0, FAULT_KILL, 901);
    assert_int_equal(result.duplicates[CLUSTER_CAUSE_OTHER], 1);
    result = twice(CALL_DONE, JOURNAL_NACKED, ANSWER_YES, RUN_RECEIVER, 0, FAULT_KILL, 100);
    assert_int_equal(result.duplicates[CLUSTER_CAUSE_OTHER], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_well),
        cmocka_unit_test(a_garbled_call_is_a_fault),
        cmocka_unit_test(taken_unseen),
        cmocka_unit_test(what_nobody_called_is_lost),
        cmocka_unit_test(a_restart_takes_the_place_of_what_was),
        cmocka_unit_test(called_later),
        cmocka_unit_test(early_and_after_a_stop),
        cmocka_unit_test(a_second_call_has_its_cause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
