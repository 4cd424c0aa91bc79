/* Cases: in which order timers fire. */
#include "kit_cases.h"
#include "kit_script.h"

enum { MANY = 120 };

static void fire_in_order(struct kit_subject *subject, struct traffic *traffic)
{
    for (unsigned round = 0; round < 5; round++) {
        for (uint32_t id = 0; id < MANY; id++) {
            script_start(subject, id, kit_random(&traffic->random) % (traffic->span + 1));
            if (id % 10 == 0) {
                script_draw_operation(traffic, subject);
            }
        }
        script_advance(subject, subject->clock + traffic->span / 2);
        (void)subject_advance(subject, subject->clock + traffic->span, 30);
        script_advance(subject, subject->clock + 2 * traffic->span);
    }
}

void case_order(struct kit_run *run)
{
    static const uint64_t spans[] = {3, 40, 700, 9000, UINT64_C(1) << 22};
    script_each_span(run, MANY, 17, spans, LENGTH(spans), 20, fire_in_order);
}

void case_fifo(struct kit_run *run)
{
    /* One due tick, started at different times and thus, in a wheel, on different levels. */
    enum { FEW = 40 };
    for (size_t i = 0; i < SCRIPT_DELAYS; i++) {
        struct kit_subject subject;
        if (!script_open(run, &subject, FEW, 5)) {
            return;
        }
        uint64_t due = subject.clock + script_delays[i];
        for (uint32_t k = 0; k < FEW; k++) {
            uint32_t id = k * 7 % FEW;
            (void)subject_start(&subject, id, due);
            if (k % 5 == 4) {
                (void)subject_start(&subject, k * 3 % FEW, due);
            }
            if (k % 9 == 3) {
                script_stop(&subject, id);
                (void)subject_start(&subject, id, due);
            }
            if (subject.clock + 1 < due) {
                script_advance(&subject, subject.clock + (due - subject.clock) / 8);
            }
        }
        if (i % 2 == 0) {
            (void)subject_advance(&subject, due + i, FEW / 3);
        }
        script_advance(&subject, due + i);
        script_close(&subject);
    }
}
