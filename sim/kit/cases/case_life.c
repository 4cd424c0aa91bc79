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
    script_each(run, 8, 5, script_powers, 41, "stop 0-7; advance by A");
    script_each(run, 0, 5, script_powers, 41, "advance by A");
    script_each(run, 0, 5, script_powers, 1, "reserve 4; start 3 in 2; settle");
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

/* Return the run under another value of one of its options, unless they are pinned. */
static struct kit_run under_others(const struct kit_run *run, uint64_t seed)
{
    struct kit_run other = *run;
    uint64_t values[KIT_CANDIDATES_MAX];
    uint64_t random = kit_random(&seed);
    size_t options = run->target->pinned ? 0 : tl_option_count(run->algo);
    if (options > 0) {
        const struct tl_option *option = &run->algo->options[random % options];
        size_t count = kit_option_candidates(option, values);
        if (count > 0) {
            tl_option_set_number(option, other.options, values[(random >> 32) % count]);
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
    struct kit_run other = place > 0 ? under_others(run, SIDE_BY_SIDE * round + place) : *run;
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
    struct script_time time = script_time(run, 0.25);
    for (size_t round = 0; round < ROUNDS && script_has_time(&time); round++) {
        struct kit_subject subjects[SIDE_BY_SIDE];
        struct traffic traffics[SIDE_BY_SIDE];
        bool open[SIDE_BY_SIDE] = {false};
        unsigned destroyed[SIDE_BY_SIDE];
        for (unsigned i = 0; i < SIDE_BY_SIDE; i++) {
            unsigned place = (unsigned)(i * (round % 2 == 0 ? 1 : 5) + round) % SIDE_BY_SIDE;
            destroyed[(i * (round % 4 < 2 ? 5 : 1) + round / 2) % SIDE_BY_SIDE] = place;
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
