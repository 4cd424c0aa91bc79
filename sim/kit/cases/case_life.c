/* Cases: structures are made and destroyed, also several at the same time. */
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
        struct kit_subject subject;
        if (!script_open(run, &subject, 100, 0)) {
            return;
        }
        script_traffic(&subject, spans[i], i + 3);
        script_do(&subject, "churn 200; start all", NULL);
        subject_destroy(&subject);
    }
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
static void open_unlike(struct kit_run *run, struct kit_subject *all, size_t place, size_t round)
{
    static const uint32_t capacities[SIDE_BY_SIDE] = {20, 3, 50, 7, 9, 64};
    static const uint64_t clocks[SIDE_BY_SIDE] = {0, 77777, 1000, 5, 255, 4000};
    static const uint64_t announced[SIDE_BY_SIDE] = {0, 5000, 100, 0, 9, 700};
    static const uint64_t spans[SIDE_BY_SIDE] = {500, 3000, 90, 40, 9, 700};
    struct kit_run other = place > 0 ? under_others(run, SIDE_BY_SIDE * round + place) : *run;
    if (script_open_announced(&other, &all[place], capacities[place], clocks[place],
                              announced[place])) {
        script_traffic(&all[place], spans[place], round + place);
    }
}

static void churn_in_turns(struct kit_subject *all)
{
    for (unsigned i = 0; i < 40 * SIDE_BY_SIDE; i++) {
        struct kit_subject *one = &all[i % SIDE_BY_SIDE];
        if (one->self != NULL) {
            script_churn(one, 3, i / SIDE_BY_SIDE % 2 == 0 ? BY_ONE : IRREGULARLY);
        }
    }
}

/* Make some structures and destroy them in another order, both of which depend on the round. */
static void live_side_by_side(struct kit_run *run, unsigned count, size_t round)
{
    struct kit_subject all[SIDE_BY_SIDE] = {{.self = NULL}};
    struct kit_subject *destroyed[SIDE_BY_SIDE] = {NULL};
    for (unsigned i = 0; i < count; i++) {
        size_t place = (i * (round % 2 == 0 ? 1 : 5) + round) % count;
        destroyed[(i * (round % 4 < 2 ? 5 : 1) + round / 2) % count] = &all[place];
        open_unlike(run, all, place, round);
        churn_in_turns(all);
    }
    /* One is destroyed and made again while the others exist. */
    if (destroyed[1]->self != NULL) {
        subject_destroy(destroyed[1]);
        open_unlike(run, all, (size_t)(destroyed[1] - all), round);
    }
    for (unsigned i = 0; i < count; i++) {
        churn_in_turns(all);
        if (destroyed[i]->self != NULL) {
            script_close(destroyed[i]);
        }
    }
}

void case_two_instances(struct kit_run *run)
{
    live_side_by_side(run, 2, 0);
    live_side_by_side(run, 2, 3);
}

void case_several_instances(struct kit_run *run)
{
    struct script_time time = script_time(run, 0.25);
    for (size_t round = 0; round < 24 && script_has_time(&time); round++) {
        live_side_by_side(run, SIDE_BY_SIDE, round);
    }
}
