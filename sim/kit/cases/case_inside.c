/* Cases: what a structure shows of its inside, and that it depends on nothing else. */
#include "kit_cases.h"
#include "kit_script.h"

#include <inttypes.h>
#include <string.h>

static void inspect_often(struct kit_subject *subject, struct traffic *traffic)
{
    unsigned seldom = script_thrift(subject) * script_thrift(subject);
    for (unsigned k = 0; k < 300; k++) {
        script_churn(traffic, subject, 1, k % 3 == 0 ? IRREGULARLY : BY_ONE);
        if (k % seldom == 0) {
            subject_inspect(subject);
        }
    }
}

void case_invariants(struct kit_run *run)
{
    static const uint64_t spans[] = {6, 600, 40000};
    script_each_span(run, 24, 0, spans, LENGTH(spans), 0, inspect_often);
}

/* The same traffic over memory filled with `fresh`; false if the options are refused. */
static bool same_traffic(struct kit_run *run, uint8_t fresh, uint64_t *hash,
                         struct tl_counters *counters)
{
    struct traffic traffic;
    script_traffic(&traffic, run, 900, 99);
    struct kit_subject subject;
    subject_init(&subject, run->algo, run->options, SCRIPT_VARIANT_BYTES, run->witness);
    subject.guard.fresh = fresh;
    if (subject_create(&subject, 25, 0, 0) != KIT_OPENED) {
        subject_discard(&subject);
        return false;
    }
    script_churn(&traffic, &subject, 500, IRREGULARLY);
    (void)subject_reserve(&subject, 60);
    script_churn(&traffic, &subject, 500, BY_ONE);
    subject_drain(&subject);
    *counters = (struct tl_counters){0};
    if (run->algo->counters != NULL) {
        run->algo->counters(subject.self, counters);
    }
    *hash = subject.fired_hash;
    subject_destroy(&subject);
    return true;
}

void case_determinism(struct kit_run *run)
{
    static const uint8_t patterns[] = {0x00, 0xff, 0xa5, 0x01};
    run->algo = run->target->counted;
    uint64_t first = 0;
    struct tl_counters first_counters;
    for (size_t i = 0; i < LENGTH(patterns); i++) {
        uint64_t hash = 0;
        struct tl_counters counters;
        if (!same_traffic(run, patterns[i], &hash, &counters)) {
            return;
        }
        if (i > 0 && hash != first) {
            kit_fail(run->witness, FAULT_RANDOM,
                     "the same operations fired timers in another order when fresh memory held "
                     "0x%02x instead of 0x%02x",
                     patterns[i], patterns[0]);
        }
        if (i > 0 && memcmp(&counters, &first_counters, sizeof counters) != 0) {
            kit_fail(run->witness, FAULT_RANDOM,
                     "the same operations gave other counters when fresh memory held 0x%02x "
                     "instead of 0x%02x",
                     patterns[i], patterns[0]);
        }
        first = hash;
        first_counters = counters;
    }
}

static void watch_counters(struct kit_subject *subject, struct traffic *traffic)
{
    struct tl_counters last = {0};
    for (unsigned i = 0; i < 500; i++) {
        script_churn(traffic, subject, 1, i % 2 == 0 ? BY_ONE : IRREGULARLY);
        struct tl_counters now = {0};
        subject->witness->hook = KIT_HOOK_COUNTERS;
        subject->algo->counters(subject->self, &now);
        const struct {
            const char *name;
            uint64_t before;
            uint64_t after;
        } pairs[] = {{"compares", last.compares, now.compares},
                     {"moves", last.moves, now.moves},
                     {"slots", last.slots, now.slots},
                     {"cascades", last.cascades, now.cascades}};
        for (size_t k = 0; k < LENGTH(pairs); k++) {
            /* No operation of thirty timers does this much work. */
            if (pairs[k].after < pairs[k].before || pairs[k].after - pairs[k].before > UINT64_C(1)
                                                                                           << 32) {
                kit_fail(subject->witness, FAULT_COUNTERS,
                         "at clock %" PRIu64 ", the counter %s went from %" PRIu64 " to %" PRIu64
                         " in one operation and one advance",
                         subject->clock, pairs[k].name, pairs[k].before, pairs[k].after);
            }
        }
        last = now;
    }
}

void case_counters(struct kit_run *run)
{
    run->algo = run->target->counted;
    if (run->algo->counters != NULL) {
        (void)script_play(run, 30, 0, 700, 6, watch_counters);
    }
}
