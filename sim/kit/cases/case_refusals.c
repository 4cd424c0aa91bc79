/* Cases: starts and options that are refused, and those that must not be. */
#include "kit_script.h"

#include <inttypes.h>
#include <string.h>

/* Return the shortest delay beyond the horizon; 0 if there is none, or the structure is full. Timer
 * 0 is idle. */
static uint64_t first_refused(struct kit_subject *subject)
{
    uint64_t longest = TL_DEADLINE_MAX - subject->clock;
    uint64_t taken = 0;
    uint64_t refused = longest + 1;
    for (uint64_t delay = longest; refused - taken > 1; delay = taken + (refused - taken) / 2) {
        enum tl_status status = subject_start(subject, 0, subject->clock + delay);
        if (status == TL_ERR_HORIZON) {
            refused = delay;
            continue;
        }
        if (status == TL_OK) {
            (void)subject_stop(subject, 0);
        }
        if (status != TL_OK || delay == longest) {
            return 0;
        }
        taken = delay;
    }
    return refused;
}

/* An idle timer stays idle; a pending one keeps its deadline. */
void case_refused(struct kit_run *run)
{
    struct kit_subject subject;
    if (!script_open(run, &subject, 3, 20)) {
        return;
    }
    uint64_t beyond = first_refused(&subject);
    for (uint64_t round = 0; round < 40 && beyond != 0; round++) {
        uint64_t delay = 1 + round * (beyond / 64);
        script_do(&subject,
                  "start 1 in A; start 0-1 in B; stop 0; inspect; settle; start 0 in B; stop 0; "
                  "advance by C",
                  (const uint64_t[]){delay < beyond ? delay : beyond - 1, TL_DEADLINE_MAX, round});
    }
    script_close(&subject);
}

static void fill_again_and_again(struct kit_run *run, uint32_t timers, unsigned rounds)
{
    struct kit_subject subject;
    if (!script_open(run, &subject, timers, 20)) {
        return;
    }
    for (unsigned round = 0; round < rounds; round++) {
        /* A refused restart leaves the old deadline, a refused start an idle timer. */
        script_do(&subject,
                  "start 0-A in B; start 0-A in B+2; stop C-A every 3; start C-A every 3 in 0; "
                  "inspect; settle",
                  (const uint64_t[]){timers - 1, 1 + round * 7, round % 3});
        /* By then every timer that was started would have fired. */
        uint64_t longest = 3 + round * 7;
        struct tl_precision precision = tl_algo_precision(run->algo, run->options, longest);
        script_advance(&subject, due_add(subject.clock, due_add(longest, precision.late_ticks)));
        if (subject_start(&subject, 0, due_deadline(subject.clock, longest)) == TL_ERR_FULL) {
            kit_fail(run->witness, FAULT_STATUS,
                     "at clock %" PRIu64 " a timer was refused with TL_ERR_FULL, where nothing was "
                     "pending and all that was stopped would have fired",
                     subject.clock);
        }
        script_settle(&subject);
    }
    script_close(&subject);
}

/* The second size is drawn. */
void case_full(struct kit_run *run)
{
    fill_again_and_again(run, 64, 20);
    fill_again_and_again(run, script_drawn(run, 300, 3300), 2);
}

void case_horizon(struct kit_run *run)
{
    enum { IDS = 8 };
    for (size_t i = 0; i < SCRIPT_EPOCHS; i++) {
        struct kit_subject subject;
        if (!script_open(run, &subject, IDS, script_epochs[i])) {
            return;
        }
        uint64_t refused = first_refused(&subject);
        uint64_t random = i;
        for (unsigned k = 0; k < 64 && refused != 0; k++) {
            uint32_t id = k % IDS;
            uint64_t shorter = kit_random(&random) % refused;
            uint64_t longer = due_add(refused, kit_random(&random) >> k);
            if (subject_start(&subject, id, subject.clock + shorter) == TL_ERR_HORIZON) {
                kit_fail(run->witness, FAULT_STATUS,
                         "at clock %" PRIu64 " a delay of %" PRIu64
                         " was taken, and one of %" PRIu64 " refused",
                         subject.clock, refused - 1, shorter);
            }
            (void)subject_stop(&subject, id);
            if (longer <= TL_DEADLINE_MAX - subject.clock &&
                subject_start(&subject, id, subject.clock + longer) == TL_OK) {
                kit_fail(run->witness, FAULT_STATUS,
                         "at clock %" PRIu64 " a delay of %" PRIu64
                         " was refused, and one of %" PRIu64 " taken",
                         subject.clock, refused, longer);
            }
        }
        if (refused > 1) {
            script_start(&subject, 1, refused - 1);
            script_settle(&subject);
        }
        /* Time that passes may move the horizon by a slot, not take it away. */
        for (unsigned bit = 8; bit <= 40 && refused != 0; bit += 8) {
            script_advance(&subject, subject.clock + (UINT64_C(1) << bit));
            uint64_t then = first_refused(&subject);
            if (then != 0 && then < refused / 2) {
                kit_fail(run->witness, FAULT_STATUS,
                         "the horizon was %" PRIu64 " ticks away at clock %" PRIu64
                         ", and at clock %" PRIu64 ", nothing having been pending, is %" PRIu64,
                         refused - 1, script_epochs[i], subject.clock, then - 1);
            }
        }
        script_close(&subject);
    }
}

void case_options_ends(struct kit_run *run)
{
    size_t count = tl_option_count(run->algo);
    TL_OPTION_VALUES(defaults);
    memcpy(defaults, run->target->options, sizeof defaults);
    /* Each option at either end with the others as they are; then all at one end. */
    for (size_t i = 0; i <= count && !run->target->pinned; i++) {
        for (unsigned end = 0; end < 2; end++) {
            memcpy(run->options, defaults, sizeof run->options);
            for (size_t k = 0; k < count; k++) {
                const struct tl_option *option = &run->algo->options[k];
                if ((i == k || i == count) && tl_option_is_number(option)) {
                    tl_option_set_number(option, run->options,
                                         (uint64_t)(end == 0 ? option->min : option->max));
                } else if (i == k && option->kind == TL_OPTION_TEXT && end == 1 &&
                           (run->algo->capabilities & TL_CAP_DURABLE) == 0) {
                    (void)tl_option_read(option, run->options, "a text, no path");
                }
            }
            script_each(run, 20, 0, &script_powers[12], 1, "churn 60; churn 60 by one");
        }
    }
}
