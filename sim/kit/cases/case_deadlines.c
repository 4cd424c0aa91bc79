/* Cases: a timer fires in its time, wherever its deadline is and however the clock moves. */
#include "kit_cases.h"
#include "kit_script.h"

/* The nearest deadlines that there are: now, one of three in the past, the next tick. */
static uint64_t near_deadline(size_t kind, uint64_t clock)
{
    uint64_t past = clock % 3 == 0 ? 0 : clock % 3 == 1 ? clock - 1 : clock / 2;
    return kind == 0 ? clock : kind == 1 ? past : clock + 1;
}

static void start_near(struct kit_subject *subject, size_t kind)
{
    for (uint32_t id = 0; id < 3; id++) {
        (void)subject_start(subject, id, near_deadline(kind, subject->clock));
    }
}

void case_deadline_near(struct kit_run *run)
{
    for (size_t i = 0; i < 3 * SCRIPT_EPOCHS; i++) {
        struct kit_subject subject;
        if (!script_open(run, &subject, 3, script_epochs[i / 3])) {
            continue;
        }
        for (unsigned round = 0; round < 4; round++) {
            start_near(&subject, i % 3);
            script_advance(&subject, subject.clock);
            script_advance(&subject, subject.clock + 1);
            start_near(&subject, i % 3);
            script_advance(&subject, subject.clock + 1 + 7 * round);
        }
        script_close(&subject);
    }
}

void case_boundaries(struct kit_run *run)
{
    uint64_t values[KIT_BOUNDARIES_MAX];
    size_t count = kit_boundaries(run->algo, run->options, UINT64_C(1) << 24, values);
    struct kit_subject subject;
    /* The clock moves on, so that each boundary is relative to another position. */
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
    /* One at a time. */
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

/* Open a subject that may refuse: a slot for each tick of a long delay may be too much. */
static bool open_if_taken(struct kit_run *run, struct kit_subject *subject, uint64_t now,
                          uint64_t announced)
{
    script_init(run, subject);
    if (subject_create(subject, 8, now, announced) == KIT_OPENED) {
        return true;
    }
    subject_discard(subject);
    return false;
}

void case_announced(struct kit_run *run)
{
    static const uint64_t announced[] = {1,
                                         2,
                                         100,
                                         4096,
                                         65535,
                                         65536,
                                         1000000,
                                         1u << 20,
                                         7200000,
                                         1u << 24,
                                         UINT64_C(1) << 32,
                                         UINT64_C(1) << 40};
    static const uint64_t clocks[] = {0, 12345};
    for (size_t a = 0; a < LENGTH(announced); a++) {
        for (size_t c = 0; c < LENGTH(clocks); c++) {
            struct kit_subject subject;
            uint64_t longest = announced[a];
            if (!open_if_taken(run, &subject, clocks[c], longest)) {
                continue;
            }
            const uint64_t delays[] = {longest,     longest - 1, longest / 2, longest / 2 + 1,
                                       longest / 3, 1,           longest + 1, 2 * longest};
            for (unsigned round = 0; round < 2; round++) {
                for (uint32_t id = 0; id < 8; id++) {
                    script_start(&subject, id, delays[id]);
                }
                if (round == 1) {
                    script_advance(&subject, subject.clock + longest / 5);
                    script_start(&subject, 2, longest);
                    script_start(&subject, 5, longest);
                    script_stop(&subject, 1);
                }
                script_settle(&subject);
            }
            script_close(&subject);
        }
    }
}

static void advance_both_ways(struct kit_subject *subject, struct traffic *traffic)
{
    script_churn(traffic, subject, 1500, BY_ONE);
    script_churn(traffic, subject, 1500, IRREGULARLY);
}

void case_advance_mixed(struct kit_run *run)
{
    static const uint64_t spans[] = {8, 100, 1100, 30000};
    script_each_span(run, 40, 0, spans, LENGTH(spans), 1, advance_both_ways);
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
        /* Time passes with nothing pending, in one jump and tick by tick. */
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

void case_precision(struct kit_run *run)
{
    /* Advance tick by tick, so that the tick of each expiry is known. */
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
