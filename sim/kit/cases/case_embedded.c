/* Cases: the timers are in records of the caller. */
#include "kit_cases.h"
#include "kit_script.h"

#include <string.h>

/* Select the build that takes records, and the layout of that number. */
static void lay_out(struct kit_run *run, size_t which)
{
    run->algo = run->target->embedded;
    run->layout = kit_layouts[which];
}

static void churn(struct kit_subject *subject, struct traffic *traffic)
{
    script_draw_starts(traffic, subject, subject->capacity);
    script_churn(traffic, subject, 150, IRREGULARLY);
    script_churn(traffic, subject, 150, BY_ONE);
    (void)subject_reserve(subject, subject->capacity + 7);
    script_churn(traffic, subject, 100, IRREGULARLY);
    script_settle(subject);
}

/* Two structures that have records of different layouts. */
static void churn_side_by_side(struct kit_run *run, size_t which)
{
    struct kit_subject one;
    struct kit_subject other;
    struct traffic traffic;
    script_traffic(&traffic, run, 500, which);
    lay_out(run, which);
    if (!script_open(run, &one, 9, 0)) {
        return;
    }
    lay_out(run, which - 1);
    if (script_open(run, &other, 5, 70)) {
        for (unsigned i = 0; i < 40; i++) {
            script_churn(&traffic, &one, 2, BY_ONE);
            script_churn(&traffic, &other, 3, IRREGULARLY);
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
        if (script_is_default(run)) {
            script_each_span(run, 20, 0, spans, LENGTH(spans), i, churn);
        } else {
            (void)script_play(run, 20, 0, spans[i % LENGTH(spans)], i, churn);
        }
    }
}

/* Move the records at any time: with timers pending, due, left over and refused, with and without
 * growth. */
static void churn_and_move(struct kit_subject *subject, struct traffic *traffic)
{
    for (unsigned i = 0; i < 40; i++) {
        if (i % 4 == 3) {
            (void)subject_reserve(subject, subject->capacity + 1 + i / 8);
        } else {
            subject_move(subject);
        }
        if (i % 8 == 5 && subject->capacity > 0) {
            script_start(subject, i % subject->capacity, 0);
            (void)subject_advance(subject, subject->clock + i, 1);
            subject_move(subject);
        }
        script_churn(traffic, subject, 1 + i % 12, i % 2 == 0 ? BY_ONE : IRREGULARLY);
        subject_inspect(subject);
    }
    subject_move(subject);
    script_settle(subject);
}

/* The former place is a protected page, so that any access is detected. */
static void move_between_pages(struct kit_run *run)
{
    struct kit_subject subject;
    if (!script_open_at(run, &subject, KIT_GUARD_PAGE_BEHIND, 5, 0)) {
        return;
    }
    struct traffic traffic;
    script_traffic(&traffic, run, 400, 2);
    for (unsigned i = 0; i < 12; i++) {
        script_churn(&traffic, &subject, 6, i % 2 == 0 ? BY_ONE : IRREGULARLY);
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
        (void)script_play(run, i % 2 == 0 ? 0 : 6, 0, spans[i % LENGTH(spans)], i, churn_and_move);
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
    script_each_span(run, 20, 0, spans, LENGTH(spans), 5, churn);
    script_each_span(run, 0, 0, spans, LENGTH(spans), 6, churn_and_move);
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
