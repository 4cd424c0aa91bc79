/* Cases: a timer fires in its time, wherever its deadline is, however the clock moves, and whatever is
 * restarted and stopped. */
#include "kit_script.h"

void case_deadline_near(struct kit_run *run)
{
    for (size_t i = 0; i < SCRIPT_EPOCHS; i++) {
        script_each(run, 3, script_epochs[i], &script_epochs[i], 1,
                    "4 times (start 0-2 in 0; advance by 0; advance by 1; start 0-2 in 0; "
                    "advance by 8); "
                    "4 times (start 0-2 in -1; advance by 0; advance by 1; start 0-2 in -A/2; "
                    "advance by 8); "
                    "4 times (start 0-2 in 1; advance by 0; advance by 1; start 0-2 in 1; "
                    "advance by 8)");
    }
}

void case_boundaries(struct kit_run *run)
{
    uint64_t values[KIT_BOUNDARIES_MAX];
    size_t count = kit_boundaries(run->algo, run->options, UINT64_C(1) << 24, values);
    /* The clock moves on, so that each boundary is relative to another position. */
    script_each(run, 1, 0, values, count, "start 0 in A; settle");
    /* From zero: deadlines at the boundaries themselves. */
    struct kit_subject subject;
    size_t stride = 1;
    for (size_t i = 0; i < count && script_open(run, &subject, 1, 0); i += stride) {
        stride = script_is_default(run) ? script_thrift(&subject) : 3 * script_thrift(&subject);
        script_do(&subject, "start 0 in A; advance by A/2; settle", &values[i]);
        script_close(&subject);
    }
}

void case_boundaries_together(struct kit_run *run)
{
    uint64_t values[KIT_BOUNDARIES_MAX];
    size_t count = kit_boundaries(run->algo, run->options, UINT64_C(1) << 20, values);
    static const uint64_t clocks[] = {0, 1, 63, 1023, 99999};
    for (size_t k = 0; k < LENGTH(clocks); k++) {
        script_each(run, (uint32_t)count, clocks[k], values, count,
                    k % 2 == 0 ? "start D in A" : "start C in A");
    }
}

void case_deadline_far(struct kit_run *run)
{
    static const uint64_t clocks[] = {0, 12345, UINT64_C(1) << 33, (UINT64_C(1) << 62) - 1,
                                      TL_DEADLINE_MAX - 3};
    for (size_t k = 0; k < LENGTH(clocks); k++) {
        script_each(run, 200, clocks[k], &script_powers[20], 44,
                    "start C in A-1; start C+50 in A; start C+100 in A+1");
    }
    for (size_t bit = 20; bit < 64; bit++) {
        script_each(run, 1, 3, &script_powers[bit], 1, "start 0 in A");
    }
}

/* A slot for each tick of a long delay may be too much, so a structure may refuse. */
void case_announced(struct kit_run *run)
{
    static const uint64_t announced[] = {1,
                                         2,
                                         100,
                                         4096,
                                         65535,
                                         65536,
                                         1000000,
                                         1048576,
                                         7200000,
                                         16777216,
                                         UINT64_C(0x100000000),
                                         UINT64_C(0x10000000000)};
    for (size_t i = 0; i < 2 * LENGTH(announced); i++) {
        struct kit_subject subject;
        const uint64_t *longest = &announced[i / 2];
        script_init(run, &subject);
        if (subject_create(&subject, 8, i % 2 * 12345, *longest)) {
            static const char starts[] =
                "start 0 in A; start 1 in A-1; start 2 in A/2; start 3 in A/2+1; start 4 in A/3; "
                "start 5 in 1; start 6 in A+1; start 7 in A*2";
            script_do(&subject, starts, longest);
            script_settle(&subject);
            script_do(&subject, starts, longest);
            script_do(&subject, "advance by A/5; start 2 in A; start 5 in A; stop 1; settle",
                      longest);
            script_close(&subject);
        }
    }
}

void case_advance_mixed(struct kit_run *run)
{
    static const uint64_t spans[] = {8, 100, 1100, 30000};
    script_each(run, 40, 0, spans, LENGTH(spans), "churn 1500 by one; churn 1500");
}

void case_advance_jump(struct kit_run *run)
{
    for (size_t bit = 10; bit <= 40; bit++) {
        script_each(run, 12, bit, &script_powers[bit], 1,
                    "3 times (start 0 in 1; start 1 in 2; start 2 in 9; start 3 in 511; "
                    "start 4 in 513; start 5 in A/2; start 6 in A-1; start 7 in A; "
                    "start 8 in A+1; start 9 in A+2; start 10 in A+600; start 11 in A*2; "
                    "advance by A; advance by 1; settle)");
    }
}

/* Time passes with nothing pending, in one jump and tick by tick. */
void case_long_idle(struct kit_run *run)
{
    script_each(run, 8, 0, &script_powers[4], 37,
                "advance by A; advance by C; 80 times advance by 1; start 0 in 1; start 1 in 10; "
                "start 2 in 63; start 3 in 256; start 4 in 512; start 5 in 1000; start 6 in 4096; "
                "start 7 in 70000; settle");
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

/* --- restarts and stops ----------------------------------------------------------------------- */

/* Of three timers with one deadline, one is moved at once and one after half of its delay. */
void case_restart(struct kit_run *run)
{
    script_each(
        run, 3, 0, script_delays, SCRIPT_DELAYS,
        "start 0-2 in A; 2 times start 1 in B; advance by A/2; 2 times start 2 in B; settle");
}

/* Timers that were never started, that have fired, and that were stopped before. */
void case_stop_idle(struct kit_run *run)
{
    script_each(run, 5, 10, script_delays, SCRIPT_DELAYS,
                "start 1 in A; start 3 in A; stop 0; stop 2; stop 4; settle; start 0-2 in A; "
                "2 times stop 1; stop 3; advance by A-1; stop 1; settle");
}

/* Of several timers in one slot, each in turn; the others fire. */
void case_stop_pending(struct kit_run *run)
{
    script_each(run, 5, 0, script_delays, SCRIPT_DELAYS,
                "start 0-4 in A; stop 0; settle; start 0-4 in A; advance by A/3; stop 1; settle; "
                "start 0-4 in A; stop 2; stop 4; settle; start 0-4 in A; advance by A/3; stop 3; "
                "settle; start 0-4 in A; stop 4; settle");
}

/* Stale entries of an earlier start must not affect a later one. */
void case_reused_id(struct kit_run *run)
{
    script_each(run, 4, 0, script_delays, SCRIPT_DELAYS,
                "start 0-1 in A; stop 0; start 0 in B; start 3 in A; stop 1; start 1 in B; stop 3; "
                "start 2 in B; settle");
}
