/* Cases: a timer fires in its time, wherever its deadline lies. */
#include "kit_cases.h"
#include "kit_script.h"

/* Starts one timer at each epoch, fresh and after some time, with what `deadline_of` makes of the
 * clock; then advances without moving, and by one. */
static void near_deadlines(struct kit_run *run, uint64_t (*deadline_of)(uint64_t clock))
{
    for (size_t i = 0; i < SCRIPT_EPOCHS; i++) {
        struct kit_subject subject;
        if (!script_open(run, &subject, 3, script_epochs[i])) {
            continue;
        }
        for (unsigned round = 0; round < 4; round++) {
            for (uint32_t id = 0; id < 3; id++) {
                (void)subject_start(&subject, id, deadline_of(subject.clock));
            }
            script_advance(&subject, subject.clock);
            script_advance(&subject, subject.clock + 1);
            for (uint32_t id = 0; id < 3; id++) {
                (void)subject_start(&subject, id, deadline_of(subject.clock));
            }
            script_advance(&subject, subject.clock + 1 + 7 * round);
        }
        script_close(&subject);
    }
}

static uint64_t deadline_now(uint64_t clock)
{
    return clock;
}

static uint64_t deadline_past(uint64_t clock)
{
    return clock % 3 == 0 ? 0 : clock % 3 == 1 ? clock - 1 : clock / 2;
}

static uint64_t deadline_next(uint64_t clock)
{
    return clock + 1;
}

void case_deadline_now(struct kit_run *run)
{
    near_deadlines(run, deadline_now);
}

void case_deadline_past(struct kit_run *run)
{
    near_deadlines(run, deadline_past);
}

void case_deadline_next(struct kit_run *run)
{
    near_deadlines(run, deadline_next);
}

void case_boundaries(struct kit_run *run)
{
    uint64_t values[KIT_BOUNDARIES_MAX];
    size_t count = kit_boundaries(run->algo, run->options, UINT64_C(1) << 24, values);
    struct kit_subject subject;
    /* The clock moves on, so the boundaries are met from many sides. */
    if (!script_open(run, &subject, 1, 0)) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        script_start(&subject, 0, values[i]);
        script_settle(&subject);
    }
    script_close(&subject);
    /* From zero: deadlines at the boundaries themselves. */
    size_t stride = 1;
    for (size_t i = 0; i < count; i += stride) {
        if (!script_open(run, &subject, 1, 0)) {
            return;
        }
        stride = script_is_default(run) ? script_thrift(&subject) : 3 * script_thrift(&subject);
        script_start(&subject, 0, values[i]);
        if (values[i] > 1) {
            script_advance(&subject, values[i] / 2);
        }
        script_settle(&subject);
        script_close(&subject);
    }
}

void case_boundaries_together(struct kit_run *run)
{
    uint64_t values[KIT_BOUNDARIES_MAX];
    size_t count = kit_boundaries(run->algo, run->options, UINT64_C(1) << 20, values);
    static const uint64_t clocks[] = {0, 1, 63, 1023, 99999};
    for (size_t k = 0; k < LENGTH(clocks); k++) {
        struct kit_subject subject;
        if (!script_open(run, &subject, (uint32_t)count, clocks[k])) {
            return;
        }
        for (size_t i = 0; i < count; i++) {
            script_start(&subject, (uint32_t)(k % 2 == 0 ? count - 1 - i : i), values[i]);
        }
        script_settle(&subject);
        script_close(&subject);
    }
}

void case_deadline_far(struct kit_run *run)
{
    static const uint64_t clocks[] = {0, 12345, UINT64_C(1) << 33, (UINT64_C(1) << 62) - 1,
                                      TL_DEADLINE_MAX - 3};
    for (size_t k = 0; k < LENGTH(clocks); k++) {
        struct kit_subject subject;
        if (!script_open(run, &subject, 200, clocks[k])) {
            return;
        }
        uint32_t id = 0;
        for (unsigned bit = 20; bit <= 63; bit++) {
            for (uint64_t near = (UINT64_C(1) << bit) - 1; near <= (UINT64_C(1) << bit) + 1;
                 near++) {
                if (near <= TL_DEADLINE_MAX) {
                    (void)subject_start(&subject, id++, near);
                }
            }
        }
        script_settle(&subject);
        script_close(&subject);
    }
    /* One at a time, with nothing else in the way. */
    for (unsigned bit = 20; bit <= 63; bit++) {
        struct kit_subject subject;
        if (!script_open(run, &subject, 1, 3)) {
            return;
        }
        (void)subject_start(&subject, 0, UINT64_C(1) << bit);
        script_settle(&subject);
        script_close(&subject);
    }
}
