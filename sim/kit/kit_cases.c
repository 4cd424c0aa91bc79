#include "kit_cases.h"

#include "kit_values.h"

#include <string.h>

static const struct kit_case cases[] = {
#define KIT_CASE_ROW(name, group, asserts, flags, function) {name, group, asserts, flags, function},
    KIT_CASE_MAP(KIT_CASE_ROW)
#undef KIT_CASE_ROW
};

const struct kit_case *kit_cases(size_t *count)
{
    *count = sizeof cases / sizeof cases[0];
    return cases;
}

const struct kit_case *kit_case_find(const char *name)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (strcmp(cases[i].name, name) == 0) {
            return &cases[i];
        }
    }
    return NULL;
}

static void run_under(struct kit_run *run, const void *options)
{
    memcpy(run->options, options, sizeof run->options);
    memcpy(run->witness->options, options, sizeof run->witness->options);
    run->algo = run->target->algo;
    run->layout = (struct kit_records_layout){.lodging = KIT_LODGING_OWN};
    run->contract_case->function(run);
}

void kit_run_case(struct kit_run *run)
{
    run_under(run, run->target->options);
    if ((run->contract_case->flags & KIT_ONCE) != 0 || run->target->pinned) {
        return;
    }
    /* One option at a time, through values small enough that boundaries come often. */
    for (size_t i = 0; i < tl_option_count(run->target->algo); i++) {
        uint64_t values[KIT_CANDIDATES_MAX];
        size_t count = kit_option_candidates(&run->target->algo->options[i], values);
        /* Of the larger values every third will do. */
        for (size_t k = 0; k < count && !run->witness->unavailable; k += k < 5 ? 1 : 3) {
            TL_OPTION_VALUES(options);
            memcpy(options, run->target->options, sizeof options);
            const struct tl_option *option = &run->target->algo->options[i];
            if (tl_option_number(option, options) != values[k]) {
                tl_option_set_number(option, options, values[k]);
                run_under(run, options);
            }
        }
    }
}
