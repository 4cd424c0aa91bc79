/* Cases: the timers are in records of the caller. */
#include "kit_script.h"

#include <string.h>

/* Select the build that takes records, and the layout of that number. */
static void lay_out(struct kit_run *run, size_t which)
{
    run->algo = run->target->embedded;
    run->layout = kit_layouts[which];
    run->place = KIT_GUARD_CANARIES;
}

/* Fill it, and let it grow by seven timers each time. */
static const char churn_and_grow[] =
    "start all; churn 150; churn 150 by one; reserve C*7+27; churn 100; settle";

/* Two structures that have records of different layouts. */
static void churn_side_by_side(struct kit_run *run, size_t which)
{
    struct kit_subject one;
    struct kit_subject other;
    lay_out(run, which);
    if (!script_open(run, &one, 9, 0)) {
        return;
    }
    script_traffic(&one, 500, which);
    lay_out(run, which - 1);
    if (script_open(run, &other, 5, 70)) {
        script_traffic(&other, 500, 100 + which);
        for (unsigned i = 0; i < 40; i++) {
            script_churn(&one, 2, BY_ONE);
            script_churn(&other, 3, IRREGULARLY);
        }
        script_close(&other);
    }
    script_close(&one);
}

void case_records(struct kit_run *run)
{
    static const uint64_t spans[] = {40, 3000, UINT64_C(1) << 24};
    for (size_t i = 1; i < KIT_LAYOUTS; i++) {
        churn_side_by_side(run, i);
        lay_out(run, i);
        bool all = script_is_default(run);
        script_each(run, 20, 0, all ? spans : &spans[i % LENGTH(spans)], all ? LENGTH(spans) : 1,
                    churn_and_grow);
    }
}

/* Move the records at any time: with timers pending, due, left over and refused, with and without
 * growth. */
static const char churn_and_move[] =
    "move records; churn 3; inspect; reserve C*12+1; churn 6 by one; inspect; move records; "
    "start 0 in 0; advance by 5 budget 1; move records; churn 9; inspect; reserve C*12+4; "
    "4 times (move records; churn 12 by one; inspect; move records; churn 2; inspect); "
    "reserve C*12+9; churn 7; inspect; start 1 in 0; advance by 29 budget 1; move records; "
    "churn 10 by one; inspect; reserve C*12+12; move records; churn 5; inspect; move records; "
    "settle";

/* The former place is a protected page, so that any access is detected. */
static void move_between_pages(struct kit_run *run)
{
    struct kit_subject subject;
    run->place = KIT_GUARD_PAGE_BEHIND;
    if (!script_open(run, &subject, 5, 0)) {
        return;
    }
    script_traffic(&subject, 400, 2);
    for (unsigned i = 0; i < 12; i++) {
        script_churn(&subject, 6, i % 2 == 0 ? BY_ONE : IRREGULARLY);
        subject_move(&subject);
        (void)subject_reserve(&subject, 5 + i);
    }
    script_close(&subject);
}

void case_records_moved(struct kit_run *run)
{
    static const uint64_t spans[] = {9, 700, 90000};
    lay_out(run, KIT_LAYOUTS - 1);
    move_between_pages(run);
    for (size_t i = 1; i < KIT_LAYOUTS; i += script_is_default(run) ? 1 : 3) {
        lay_out(run, i);
        script_each(run, i % 2 == 0 ? 0 : 6, 0, spans, LENGTH(spans), churn_and_move);
    }
}

void case_records_beside(struct kit_run *run)
{
    for (size_t i = 1; i < KIT_LAYOUTS; i++) {
        lay_out(run, i);
        case_memory_guard(run);
        case_allocation_failure(run);
    }
    /* The first timer of a table follows a protected page, the last is followed by one. */
    lay_out(run, 1);
    case_memory_pages(run);
}

void case_records_none(struct kit_run *run)
{
    static const uint64_t spans[] = {40, 3000};
    lay_out(run, 0);
    script_each(run, 20, 0, spans, LENGTH(spans), churn_and_grow);
    script_each(run, 0, 0, spans, LENGTH(spans), churn_and_move);
}

/* Run the cases that are repeated under other options, each in one layout. Cases of the group
 * `inside` use other builds. */
void case_records_contract(struct kit_run *run)
{
    size_t count = 0;
    const struct kit_case *cases = kit_cases(&count);
    for (size_t i = 0; i < count && !run->witness->unavailable; i++) {
        bool meant = (cases[i].flags & KIT_ONCE) == 0 && strcmp(cases[i].group, "small") != 0 &&
                     strcmp(cases[i].group, "inside") != 0 &&
                     (cases[i].flags & ~run->target->algo->capabilities) == 0;
        if (meant) {
            lay_out(run, 1 + i % (KIT_LAYOUTS - 1));
            cases[i].function(run);
        }
    }
}
