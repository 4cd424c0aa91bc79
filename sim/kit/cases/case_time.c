/* Cases: however the clock moves, every timer fires in its time. */
#include "kit_cases.h"
#include "kit_script.h"

static const uint64_t spans[] = {8, 100, 1100, 30000};

static void go_by_one(struct kit_subject *subject, struct traffic *traffic)
{
    script_churn(traffic, subject, 1500, BY_ONE);
}

void case_advance_by_one(struct kit_run *run)
{
    script_each_span(run, 40, 0, spans, LENGTH(spans), 1, go_by_one);
}

static void go_irregularly(struct kit_subject *subject, struct traffic *traffic)
{
    script_churn(traffic, subject, 1500, IRREGULARLY);
}

void case_advance_irregular(struct kit_run *run)
{
    script_each_span(run, 40, 0, spans, LENGTH(spans), 1, go_irregularly);
}

static void stay(struct kit_subject *subject, size_t i)
{
    for (uint32_t id = 0; id < 4; id++) {
        script_start(subject, id, script_delays[i] * id);
    }
    for (unsigned k = 0; k < 6; k++) {
        script_advance(subject, subject->clock);
        script_advance(subject, subject->clock);
        script_advance(subject, subject->clock + script_delays[i] * (k + 1) / 3);
    }
    script_settle(subject);
}

void case_advance_stay(struct kit_run *run)
{
    script_each_delay(run, 4, 0, stay);
}

void case_advance_jump(struct kit_run *run)
{
    for (unsigned bit = 10; bit <= 40; bit++) {
        struct kit_subject subject;
        if (!script_open(run, &subject, 12, bit)) {
            return;
        }
        uint64_t jump = UINT64_C(1) << bit;
        for (unsigned round = 0; round < 3; round++) {
            const uint64_t spread[12] = {1,        2,    9,        511,      513,        jump / 2,
                                         jump - 1, jump, jump + 1, jump + 2, jump + 600, jump * 2};
            for (uint32_t id = 0; id < 12; id++) {
                script_start(&subject, id, spread[(id + round) % 12]);
            }
            script_advance(&subject, subject.clock + jump);
            script_advance(&subject, subject.clock + 1);
            script_settle(&subject);
        }
        script_close(&subject);
    }
}

void case_long_idle(struct kit_run *run)
{
    struct kit_subject subject;
    if (!script_open(run, &subject, 8, 0)) {
        return;
    }
    for (unsigned bit = 4; bit <= 40; bit += 4) {
        /* Time passes with nothing to do, in one jump and tick by tick; then all is as ever. */
        script_advance(&subject, subject.clock + (UINT64_C(1) << bit) + bit);
        for (unsigned k = 0; k < 300; k++) {
            script_advance(&subject, subject.clock + 1);
        }
        for (uint32_t id = 0; id < 8; id++) {
            script_start(&subject, id, script_delays[(id * 4 + bit) % SCRIPT_DELAYS]);
        }
        script_settle(&subject);
    }
    script_close(&subject);
}

void case_wrap(struct kit_run *run)
{
    /* One timer is always pending with a boundary's delay, for many turns of the smaller wheels. */
    uint64_t values[KIT_BOUNDARIES_MAX];
    size_t count = kit_boundaries(run->algo, run->options, 5000, values);
    struct kit_subject subject;
    if (!script_open(run, &subject, 16, 0)) {
        return;
    }
    for (unsigned tick = 0; tick < 9000; tick++) {
        uint32_t id = tick % 16;
        if (subject.timers[id].state != KIT_TIMER_PENDING) {
            script_start(&subject, id, values[(size_t)tick * 7 % count]);
        }
        script_advance(&subject, subject.clock + (tick % 8 == 7 ? 9 : 1));
    }
    script_close(&subject);
}

void case_precision(struct kit_run *run)
{
    /* Tick by tick, so that each firing is seen at the tick at which it comes. */
    enum { MANY = 400, LONGEST = 6000 };
    uint64_t values[KIT_BOUNDARIES_MAX];
    size_t count = kit_boundaries(run->algo, run->options, LONGEST, values);
    static const uint64_t clocks[] = {0, 1, 37, 1023};
    for (size_t k = 0; k < (script_is_default(run) ? LENGTH(clocks) : 2); k++) {
        struct kit_subject subject;
        if (!script_open(run, &subject, MANY, clocks[k])) {
            return;
        }
        for (uint32_t id = 0; id < MANY; id++) {
            script_start(&subject, id, id < 130 ? id : values[(id - 130) % count]);
        }
        for (uint64_t tick = 0; tick < LONGEST && subject.pending > 0; tick++) {
            script_advance(&subject, subject.clock + 1);
        }
        script_close(&subject);
    }
}
