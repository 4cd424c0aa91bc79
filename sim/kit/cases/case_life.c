/* Cases: structures are made and destroyed, also several at the same time. */
#include "kit_cases.h"
#include "kit_script.h"

#include <string.h>

void case_create(struct kit_run *run)
{
    static const uint32_t capacities[] = {0, 1, 2, 3, 64, 1000, 20000};
    for (size_t i = 0; i < LENGTH(capacities); i++) {
        struct kit_subject subject;
        if (script_open_announced(run, &subject, capacities[i], script_epochs[i],
                                  i % 2 == 0 ? 0 : 4096)) {
            subject_inspect(&subject);
            subject_destroy(&subject);
        }
    }
}

void case_empty(struct kit_run *run)
{
    static const uint32_t capacities[] = {0, 8};
    for (size_t i = 0; i < LENGTH(capacities); i++) {
        struct kit_subject subject;
        if (!script_open(run, &subject, capacities[i], 5)) {
            continue;
        }
        for (uint32_t id = 0; id < capacities[i]; id++) {
            script_stop(&subject, id);
        }
        for (unsigned k = 0; k <= 40; k += 8) {
            script_advance(&subject, subject.clock + (UINT64_C(1) << k));
        }
        if (capacities[i] == 0 && subject_reserve(&subject, 4)) {
            script_start(&subject, 3, 2);
            script_settle(&subject);
        }
        script_close(&subject);
    }
}

void case_destroy_pending(struct kit_run *run)
{
    static const uint64_t spans[] = {4, 1000, UINT64_C(1) << 20, UINT64_C(1) << 40};
    for (size_t i = 0; i < LENGTH(spans); i++) {
        struct traffic traffic;
        script_traffic(&traffic, run, spans[i], i + 3);
        struct kit_subject subject;
        if (!script_open(run, &subject, 100, 0)) {
            return;
        }
        script_churn(&traffic, &subject, 200, IRREGULARLY);
        script_draw_starts(&traffic, &subject, 100);
        subject_destroy(&subject);
    }
}

void case_two_instances(struct kit_run *run)
{
    struct traffic here;
    struct traffic there;
    script_traffic(&here, run, 500, 1);
    script_traffic(&there, run, 3000, 2);
    struct kit_subject one;
    struct kit_subject two;
    if (!script_open(run, &one, 20, 0)) {
        return;
    }
    if (!script_open(run, &two, 30, 1000)) {
        subject_destroy(&one);
        return;
    }
    for (unsigned i = 0; i < 200; i++) {
        script_churn(&here, &one, 4, IRREGULARLY);
        script_churn(&there, &two, 5, i % 2 == 0 ? BY_ONE : IRREGULARLY);
    }
    script_close(&two);
    script_churn(&here, &one, 100, BY_ONE);
    script_close(&one);
}

/* The run under another value of one option: value `which` of all candidates of all options, modulo
 * their number. Under its own values where there are no others. */
static struct kit_run under_others(const struct kit_run *run, size_t which)
{
    struct kit_run other = *run;
    size_t total = 0;
    for (unsigned pass = 0; pass < 2 && !run->target->pinned; pass++) {
        size_t at = 0;
        for (size_t i = 0; i < tl_option_count(run->algo); i++) {
            uint64_t values[KIT_CANDIDATES_MAX];
            size_t count = kit_option_candidates(&run->algo->options[i], values);
            if (pass == 1 && which % total >= at && which % total - at < count) {
                tl_option_set_number(&run->algo->options[i], other.options,
                                     values[which % total - at]);
                return other;
            }
            at += count;
        }
        total = at;
        if (total == 0) {
            break;
        }
    }
    return other;
}

enum { SIDE_BY_SIDE = 6 };

/* Open a structure that differs from the others in all arguments of create. */
static bool open_unlike(struct kit_run *run, struct kit_subject *subject, struct traffic *traffic,
                        unsigned place, size_t round)
{
    static const uint32_t capacities[SIDE_BY_SIDE] = {20, 3, 50, 7, 9, 64};
    static const uint64_t clocks[SIDE_BY_SIDE] = {0, 77777, 1000, 5, 255, 4000};
    static const uint64_t announced[SIDE_BY_SIDE] = {0, 5000, 100, 0, 9, 700};
    static const uint64_t spans[SIDE_BY_SIDE] = {500, 3000, 90, 40, 9, 700};
    struct kit_run other = place > 0 ? under_others(run, round + 3 * place - 3) : *run;
    script_traffic(traffic, &other, spans[place], round + place);
    return script_open_announced(&other, subject, capacities[place], clocks[place],
                                 announced[place]);
}

static void churn_in_turns(struct kit_subject *subjects, struct traffic *traffics, const bool *open)
{
    for (unsigned i = 0; i < 40; i++) {
        for (unsigned place = 0; place < SIDE_BY_SIDE; place++) {
            if (open[place]) {
                script_churn(&traffics[place], &subjects[place], 3,
                             i % 2 == 0 ? BY_ONE : IRREGULARLY);
            }
        }
    }
}

void case_several_instances(struct kit_run *run)
{
    enum { ROUNDS = 24 };
    static const unsigned orders[][SIDE_BY_SIDE] = {{0, 1, 2, 3, 4, 5}, {5, 2, 4, 1, 3, 0},
                                                    {1, 3, 2, 5, 0, 4}, {0, 2, 4, 5, 3, 1},
                                                    {2, 0, 5, 1, 4, 3}, {4, 1, 0, 3, 5, 2}};
    struct script_time time = script_time(run, 0.25);
    for (size_t round = 0; round < ROUNDS && script_has_time(&time); round++) {
        const unsigned *made = orders[round % LENGTH(orders)];
        const unsigned *destroyed = orders[round / 2 % LENGTH(orders)];
        struct kit_subject subjects[SIDE_BY_SIDE];
        struct traffic traffics[SIDE_BY_SIDE];
        bool open[SIDE_BY_SIDE] = {false};
        for (unsigned i = 0; i < SIDE_BY_SIDE; i++) {
            unsigned place = made[i];
            open[place] = open_unlike(run, &subjects[place], &traffics[place], place, round);
            churn_in_turns(subjects, traffics, open);
        }
        /* One is destroyed and made again while the others exist. */
        unsigned again = destroyed[1];
        if (open[again]) {
            subject_destroy(&subjects[again]);
            open[again] = open_unlike(run, &subjects[again], &traffics[again], again, round);
        }
        for (unsigned i = 0; i < SIDE_BY_SIDE; i++) {
            churn_in_turns(subjects, traffics, open);
            if (open[destroyed[i]]) {
                script_close(&subjects[destroyed[i]]);
                open[destroyed[i]] = false;
            }
        }
    }
}
