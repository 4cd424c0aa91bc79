/* Cases: a start moves a pending timer, a stopped timer does not fire, and neither changes others. */
#include "kit_cases.h"
#include "kit_script.h"

/* Move timer 1 from one delay to another, at once or after half of the first one. */
static void restart_once(struct kit_subject *subject, size_t i, size_t j)
{
    uint64_t first = script_delays[i];
    uint64_t second = script_delays[j];
    /* A neighbour with the old deadline, and at times one with the new. */
    script_start(subject, 0, first);
    script_start(subject, 1, first);
    if ((i + j) % 3 == 0) {
        script_start(subject, 2, second);
    }
    uint64_t until = first / 2;
    uint64_t deadline = subject->clock + second;
    if (j % 2 == 1 && until > 0 && until < second) {
        script_advance(subject, subject->clock + until);
    }
    (void)subject_start(subject, 1, deadline);
    (void)subject_start(subject, 1, deadline);
    script_settle(subject);
}

/* Three rounds with a structure of their own: to earlier, to later, and to equal deadlines. */
void case_restart(struct kit_run *run)
{
    for (int relation = -1; relation <= 1; relation++) {
        struct kit_subject subject;
        if (!script_open(run, &subject, 3, 0)) {
            return;
        }
        for (size_t i = 0; i < SCRIPT_DELAYS; i++) {
            for (size_t j = 0; j < SCRIPT_DELAYS; j++) {
                if ((j > i) - (j < i) == relation) {
                    restart_once(&subject, i, j);
                }
            }
        }
        script_close(&subject);
    }
}

/* Stop timers that were never started, that have fired, and that were stopped before. */
static void stop_idle(struct kit_subject *subject, size_t i)
{
    script_start(subject, 1, script_delays[i]);
    script_start(subject, 3, script_delays[i]);
    script_stop(subject, 0);
    script_stop(subject, 2);
    script_stop(subject, 4);
    script_settle(subject);
    script_start_all(subject, 3, script_delays[i]);
    script_stop(subject, 1);
    script_stop(subject, 1);
    script_stop(subject, 3);
    script_advance(subject, subject->clock + script_delays[i] - 1);
    script_stop(subject, 1);
    script_settle(subject);
}

void case_stop_idle(struct kit_run *run)
{
    script_each_delay(run, 5, 10, stop_idle);
}

enum { TOGETHER = 5 };

/* Of several timers in one slot, stop each in turn; the others fire. */
static void stop_pending(struct kit_subject *subject, size_t i)
{
    for (uint32_t victim = 0; victim < TOGETHER; victim++) {
        script_start_all(subject, TOGETHER, script_delays[i]);
        if (victim % 2 == 1) {
            script_advance(subject, subject->clock + script_delays[i] / 3);
        }
        script_stop(subject, victim);
        if (victim == 2) {
            script_stop(subject, 4);
        }
        script_settle(subject);
    }
}

void case_stop_pending(struct kit_run *run)
{
    script_each_delay(run, TOGETHER, 0, stop_pending);
}

/* Stale entries of an earlier start must not affect a later one. */
static void reuse_id(struct kit_subject *subject, size_t i)
{
    for (size_t j = 0; j < SCRIPT_DELAYS; j++) {
        script_start(subject, 0, script_delays[i]);
        script_start(subject, 1, script_delays[i]);
        script_stop(subject, 0);
        script_start(subject, 0, script_delays[j]);
        if (j % 3 == 1) {
            script_stop(subject, 0);
            script_start(subject, 2, script_delays[j]);
        }
        if (j % 3 == 2) {
            script_start(subject, 3, script_delays[i]);
            script_stop(subject, 1);
            script_start(subject, 1, script_delays[j]);
        }
        script_settle(subject);
    }
}

void case_reused_id(struct kit_run *run)
{
    script_each_delay(run, 4, 0, reuse_id);
}
