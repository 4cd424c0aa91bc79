/*
 * Cases: no advance fires more than its budget, and the rest follows. (With callbacks:
 * case_callbacks.c.)
 */
#include "kit_cases.h"
#include "kit_script.h"

void case_budget(struct kit_run *run)
{
    enum { TOGETHER = 12 };
    struct kit_subject subject;
    if (!script_open(run, &subject, TOGETHER, 3)) {
        return;
    }
    for (uint64_t budget = 0; budget <= TOGETHER + 1; budget++) {
        for (unsigned spread = 0; spread < 3; spread++) {
            for (uint32_t id = 0; id < TOGETHER; id++) {
                script_start(&subject, id, 40 + (uint64_t)id * spread * spread * 20);
            }
            uint64_t far = subject.clock + 40 + (uint64_t)TOGETHER * spread * spread * 20 + 600;
            /* The last one is beyond 32 bits. */
            (void)subject_advance(&subject, far,
                                  budget <= TOGETHER ? budget : UINT64_C(1) << 32 | 2);
            subject_inspect(&subject);
            for (unsigned k = 0; k < 4; k++) {
                (void)subject_advance(&subject, subject.clock + k % 2, budget);
            }
            script_settle(&subject);
        }
    }
    script_close(&subject);
}

void case_budget_left_over(struct kit_run *run)
{
    /* Timers that a budget left over are pending: they can be stopped, moved, and destroyed. */
    enum { TOGETHER = 9 };
    for (unsigned what = 0; what < 4; what++) {
        for (size_t i = 0; i < SCRIPT_DELAYS; i += 3) {
            struct kit_subject subject;
            if (!script_open(run, &subject, TOGETHER, 0)) {
                return;
            }
            for (uint32_t id = 0; id < TOGETHER; id++) {
                script_start(&subject, id, script_delays[i] + id % 3);
            }
            (void)subject_advance(&subject, script_delays[i] + 700, 4);
            for (uint32_t id = 0; id < TOGETHER; id++) {
                if (what == 0 && id % 2 == 0) {
                    script_stop(&subject, id);
                } else if (what == 1) {
                    script_start(&subject, id, id % 4 == 0 ? 0 : script_delays[i]);
                } else if (what == 2 && subject.timers[id].state == KIT_TIMER_FIRED) {
                    script_start(&subject, id, 0);
                }
            }
            if (what == 3) {
                subject_destroy(&subject);
                continue;
            }
            (void)subject_advance(&subject, subject.clock, 1);
            (void)subject_advance(&subject, subject.clock + 1, 2);
            script_settle(&subject);
            script_close(&subject);
        }
    }
}
