/*
 * Case: an advance over very many ticks costs no more counted work than one that passes every slot
 * of a large wheel. A wheel may visit each of its slots once, not once for each turn, block or tick.
 */
#include "kit_cases.h"
#include "kit_script.h"

#include <inttypes.h>
#include <string.h>

/* The base-2 logarithms of the ticks of the advances: of the first, with which the others are
 * compared, and of those. The cost c of the first may become 4 * c + MORE in a longer one, which
 * passes more levels, and fires timers of more levels. */
enum { SHORT = 24, LONGER = 36, LONGEST = 48, TIMERS = 8, MORE = 2000 };

static uint64_t work_of(const struct kit_subject *subject)
{
    struct tl_counters now = {0};
    if (subject->algo->counters != NULL) {
        subject->algo->counters(subject->self, &now);
    }
    return now.compares + now.moves + now.slots;
}

/* Return the work of an advance over 2^bits ticks. Half of the timers fire in it, and half are
 * later. */
static uint64_t measure(struct kit_subject *subject, unsigned bits)
{
    uint64_t span = UINT64_C(1) << bits;
    for (uint32_t id = 0; id < TIMERS; id++) {
        script_start(subject, id, id % 2 == 0 ? span / (id + 2) : UINT64_C(1) << (bits + 2 + id));
    }
    script_advance(subject, subject->clock + 1); /* with what starts deferred */
    uint64_t before = work_of(subject);
    script_advance(subject, subject->clock + span);
    return work_of(subject) - before;
}

void case_span(struct kit_run *run)
{
    struct kit_subject subject;
    run->algo = run->target->counted;
    const char *tick = run->algo->cost.tick;
    tl_options_default(run->algo, run->options); /* the words are about the defaults */
    if (strstr(tick, "O(") == NULL || strstr(tick, "tick") != NULL ||
        !script_open(run, &subject, TIMERS, 0)) {
        return; /* a cost that grows with the ticks is for structures that say so */
    }
    uint64_t usual = measure(&subject, SHORT);
    for (unsigned bits = LONGER; bits <= LONGEST; bits += LONGEST - LONGER) {
        uint64_t work = measure(&subject, bits);
        if (work > 4 * usual + MORE) {
            kit_fail(run->witness, FAULT_COST,
                     "an advance over 2^%u ticks takes %" PRIu64
                     " compares, moves and slots, and one over 2^%u ticks %" PRIu64
                     ", against the stated cost `%s` of a tick",
                     bits, work, (unsigned)SHORT, usual, tick);
        }
    }
    script_close(&subject);
}
