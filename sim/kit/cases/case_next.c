/* Cases: when `next` says that there is work. */
#include "kit_cases.h"
#include "kit_script.h"

#include <inttypes.h>

/* Asked after every operation, it is never behind the next firing; exactly that if promised. */
static void ask_next(struct kit_subject *subject, struct traffic *traffic)
{
    for (size_t i = 0; i < SCRIPT_DELAYS; i++) {
        script_start(subject, 0, script_delays[i]);
        (void)subject_next(subject);
        script_start(subject, 1, script_delays[i] * 2);
        (void)subject_next(subject);
        script_stop(subject, 0);
        (void)subject_next(subject);
        script_settle(subject);
        (void)subject_next(subject);
    }
    for (unsigned i = 0; i < 3000; i++) {
        script_draw_operation(traffic, subject);
        (void)subject_next(subject);
        if (i % 3 == 0) {
            script_advance(subject, subject->clock + 1);
        }
    }
}

void case_next(struct kit_run *run)
{
    (void)script_play(run, 16, 0, 3000, 5, ask_next);
}

/* Driven by next alone, everything fires in its time, in a bounded number of wakeups. */
static void drive_by_next(struct kit_subject *subject, struct traffic *traffic)
{
    script_churn(traffic, subject, 400, BY_NEXT);
    unsigned wakeups = 0;
    for (uint64_t next = subject_next(subject); next != TL_NEVER; next = subject_next(subject)) {
        script_advance(subject, next);
        if (++wakeups > 200000) {
            kit_fail(subject->witness, FAULT_NEXT,
                     "after %u advances to what next says, %" PRIu64
                     " of 20 timers are still pending at clock %" PRIu64,
                     wakeups, subject->pending, subject->clock);
        }
    }
}

void case_next_drive(struct kit_run *run)
{
    static const uint64_t spans[] = {50, 5000, UINT64_C(1) << 20, UINT64_C(1) << 34};
    script_each_span(run, 20, 7, spans, LENGTH(spans), 0, drive_by_next);
}

/* When the lowest level of a wheel turns, timers may come down through several levels at once. They
 * are not overlooked shortly before, when something else is due shortly after. */
void case_next_turn(struct kit_run *run)
{
    static const uint64_t short_of[] = {1, 4, 100};
    struct kit_subject subject;
    if (!script_open(run, &subject, 2, 0)) {
        return;
    }
    for (unsigned bit = 2; bit <= 40; bit++) {
        uint64_t turn = UINT64_C(1) << bit;
        for (size_t i = 0; i < LENGTH(short_of) && short_of[i] < turn; i++) {
            uint64_t at = (subject.clock / turn + 2) * turn;
            script_start(&subject, 0, at - subject.clock);
            script_advance(&subject, at - short_of[i]);
            (void)subject_next(&subject);
            script_start(&subject, 1, short_of[i] + 1);
            (void)subject_next(&subject);
            script_settle(&subject);
        }
    }
    script_close(&subject);
}
