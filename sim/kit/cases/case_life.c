/* Cases: a structure is made, is there, and goes. */
#include "kit_cases.h"
#include "kit_script.h"

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

/* Long enough that what is written, and how a process ends, has a chance to show. */
static void behave(struct kit_subject *subject, struct traffic *traffic)
{
    script_churn(traffic, subject, 1000, IRREGULARLY);
    script_churn(traffic, subject, 1000, BY_ONE);
}

void case_behaved(struct kit_run *run)
{
    (void)script_play(run, 50, 0, 2500, 13, behave);
}
