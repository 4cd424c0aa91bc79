/* Cases: in which order timers fire, how many in one advance, and what `next` returns. */
#include "kit_script.h"

#include <inttypes.h>

void case_order(struct kit_run *run)
{
    static const uint64_t spans[] = {3, 40, 700, 9000, UINT64_C(1) << 22};
    script_each(run, 120, 17, spans, LENGTH(spans),
                "5 times (start all; 12 times draw; advance by A/2; advance by A budget 30; "
                "advance by A*2)");
}

/* One due tick; the starts are at different times and so on different levels of a wheel. */
void case_fifo(struct kit_run *run)
{
    enum { FEW = 40 };
    struct kit_subject subject;
    for (size_t i = 0; i < SCRIPT_DELAYS && script_open(run, &subject, FEW, 5); i++) {
        uint64_t due = subject.clock + script_delays[i];
        for (uint32_t k = 0; k < FEW; k++) {
            uint64_t left = due - subject.clock;
            script_do(&subject,
                      k % 5 == 4   ? "start A in C; start B in C; advance by D"
                      : k % 9 == 3 ? "start A in C; stop A; start A in C; advance by D"
                                   : "start A in C; advance by D",
                      (const uint64_t[]){k * 7 % FEW, k * 3 % FEW, left, left > 1 ? left / 8 : 0});
        }
        if (i % 2 == 0) {
            (void)subject_advance(&subject, due + i, FEW / 3);
        }
        script_advance(&subject, due + i);
        script_close(&subject);
    }
}

void case_next(struct kit_run *run)
{
    script_each(run, 2, 0, script_delays, SCRIPT_DELAYS,
                "start 0 in A; next; start 1 in A*2; next; stop 0; next; settle; next");
    script_each(run, 16, 0, &script_powers[12], 1,
                "1000 times (draw; next; advance by 1; draw; next; draw; next)");
}

/* Advance to the tick of `next` only: a bounded number of wakeups. */
static void drive_by_next(struct kit_subject *subject)
{
    script_do(subject, "400 times (draw; advance to next)", NULL);
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
    static const uint64_t spans[] = {50, 5000, UINT64_C(1) << 20, UINT64_C(1) << 33};
    for (size_t i = 0; i < LENGTH(spans); i++) {
        script_play(run, 20, 7, spans[i], i, drive_by_next);
    }
}

/* When the lowest level of a wheel turns, timers may descend several levels at once. Ask shortly
 * before the turn, with another timer due shortly after it. */
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
            uint64_t ticks = (subject.clock / turn + 2) * turn - subject.clock;
            script_do(&subject, "start 0 in A; advance by B; next; start 1 in C; next; settle",
                      (const uint64_t[]){ticks, ticks - short_of[i], short_of[i] + 1});
        }
    }
    script_close(&subject);
}

/* Together, apart, and used up exactly again and again. The last budget has more than 32 bits. */
void case_budget(struct kit_run *run)
{
    static const uint64_t budgets[] = {0, 1, 2, 3,  4,  5,  6,
                                       7, 8, 9, 10, 11, 12, UINT64_C(1) << 32 | 2};
    script_each(run, 12, 3, budgets, LENGTH(budgets),
                "start 0-11 in 40; advance by 640 budget A; inspect; "
                "2 times (advance by 0 budget A; advance by 1 budget A); settle");
    script_each(run, 12, 3, budgets, LENGTH(budgets),
                "start 0-11 every 4 in 40; start 1-11 every 4 in 60; start 2-11 every 4 in 120; "
                "start 3-11 every 4 in 1000; advance by 1100 budget A; inspect; "
                "2 times (advance by 0 budget A; advance by 1 budget A); settle");
    script_each(run, 3, 0, budgets, 1, "400 times (start 0-2 in 1; advance by 1 budget 3)");
}

#define LEAVE_OVER                                                                                 \
    "start 0-8 every 3 in A; start 1-8 every 3 in A+1; start 2-8 every 3 in A+2; "                 \
    "advance by A+700 budget 4; "
#define FIRE_REST "; advance by 0 budget 1; advance by 1 budget 2; settle"

/* Stop, move, restart and destroy the timers that a budget left over. */
void case_budget_left_over(struct kit_run *run)
{
    static const char *const lists[] = {
        LEAVE_OVER "stop 0-8 every 2" FIRE_REST,
        LEAVE_OVER "start 0-8 in A; start 0-8 every 4 in 0" FIRE_REST,
        LEAVE_OVER "start 0-8 in 0" FIRE_REST,
    };
    struct kit_subject subject;
    for (size_t i = 0; i < SCRIPT_DELAYS && script_open(run, &subject, 9, 0); i += 3) {
        script_do(&subject, LEAVE_OVER, &script_delays[i]);
        subject_destroy(&subject);
        for (size_t k = 0; k < LENGTH(lists); k++) {
            script_each(run, 9, 0, &script_delays[i], 1, lists[k]);
        }
    }
}
