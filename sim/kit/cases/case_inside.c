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
    script_init(run, &subject);
    subject.guard.limit_bytes = SCRIPT_VARIANT_BYTES;
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

/* It need not be in order: what happens is the structure's own doing each time. */
void case_records_alike(struct kit_run *run)
{
    struct tl_counters counters;
    uint64_t own = 0;
    if (!same_traffic(run, 0, &own, &counters)) {
        return;
    }
    run->algo = run->target->embedded;
    for (size_t i = 0; i < KIT_LAYOUTS; i++) {
        uint64_t hash = 0;
        run->layout = kit_layouts[i];
        if (same_traffic(run, 0, &hash, &counters) && hash != own) {
            kit_fail(run->witness, FAULT_RANDOM,
                     "the same operations fired timers in another order in the build for records, "
                     "with the timers in %s (%" PRIu32 " bytes before each, %" PRIu32 " after)",
                     i == 0 ? "its own memory" : "records", run->layout.before_bytes,
                     run->layout.behind_bytes);
        }
    }
}

/* --- looking changes nothing ----------------------------------------------------------------- */

enum { STEPS = 240, LOOKERS = 20 };

/* What was to be seen of a structure after each step of the same traffic. */
struct sightings {
    const char *how;
    uint64_t fired[STEPS]; /* what fired so far, and what is pending */
    uint64_t clock[STEPS];
    uint64_t places; /* a number that depends on where all was, where that was asked */
    struct tl_counters counters;
};

static void mix(uint64_t *hash, uint64_t value)
{
    *hash = (*hash ^ value) * UINT64_C(0x100000001b3);
}

static void mix_part(void *ctx, const struct tl_part *part)
{
    for (const char *c = part->name; *c != '\0'; c++) {
        mix(ctx, (unsigned char)*c);
    }
}

static void mix_cell(void *ctx, const struct tl_cell *cell)
{
    mix(ctx, cell->index ^ cell->from << 32);
}

static void mix_timer(void *ctx, const struct tl_held *held)
{
    mix(ctx, held->id ^ held->rounds << 32);
}

/* Of all that the walk shows. */
static uint64_t places_of(const struct kit_subject *subject)
{
    uint64_t hash = 0;
    const struct tl_visitor visitor = {
        .ctx = &hash, .part = mix_part, .cell = mix_cell, .timer = mix_timer};
    if (subject->algo->walk != NULL) {
        subject->algo->walk(subject->self, &visitor);
    }
    return hash;
}

static void look(struct kit_subject *subject, struct sightings *seen)
{
    subject->witness->inspections = 0; /* walk too */
    subject_inspect(subject);
    seen->places = seen->places * 31 + places_of(subject);
    if (subject->algo->counters != NULL) {
        subject->algo->counters(subject->self, &seen->counters);
    }
}

/* The same traffic each time; `looks`: everything that can be asked is asked after each step. */
static bool live(struct kit_run *run, const struct tl_algo *algo, bool looks,
                 struct sightings *seen)
{
    struct kit_subject subject;
    struct traffic traffic;
    run->algo = algo;
    script_traffic(&traffic, run, 700, 12);
    if (!script_open(run, &subject, LOOKERS, 3)) {
        return false;
    }
    unsigned seldom = script_thrift(&subject) * script_thrift(&subject);
    for (unsigned k = 0; k < STEPS; k++) {
        script_draw_operation(&traffic, &subject);
        if (k % 40 == 39) {
            (void)subject_reserve(&subject, LOOKERS + k / 40);
        }
        if (k % 5 == 2) {
            (void)subject_advance(&subject, subject.clock + k % 90, 1);
        } else {
            script_advance(&subject, subject.clock + (k % 7 == 0 ? 100 : k % 3));
        }
        if (looks && k % seldom == 0) {
            look(&subject, seen);
        }
        seen->fired[k] = subject.fired_hash + subject.pending;
        seen->clock[k] = subject.clock;
    }
    if (algo->counters != NULL) {
        algo->counters(subject.self, &seen->counters);
    }
    script_close(&subject);
    return true;
}

static void compare(struct kit_run *run, const struct sightings *one, const struct sightings *other)
{
    for (unsigned k = 0; k < STEPS; k++) {
        if (one->fired[k] != other->fired[k]) {
            kit_fail(run->witness, FAULT_RANDOM,
                     "the same operations, %s and %s, fire otherwise at clock %" PRIu64, one->how,
                     other->how, one->clock[k]);
        }
    }
}

void case_undisturbed(struct kit_run *run)
{
    const struct tl_algo *counted = run->target->counted;
    struct tl_algo silent = *counted; /* the judge does not ask its next */
    silent.capabilities &= ~(uint32_t)(TL_CAP_NEXT | TL_CAP_NEXT_EXACT);
    struct sightings alone = {.how = "with nothing asked between"};
    struct sightings asked = {.how = "with check, walk and counters asked between"};
    struct sightings asked_next = {.how = "with next asked between"};
    struct sightings timed = {.how = "in the build without counters"};
    if (!live(run, &silent, false, &alone) || !live(run, &silent, true, &asked) ||
        !live(run, counted, true, &asked_next) || !live(run, run->target->algo, true, &timed)) {
        return;
    }
    compare(run, &alone, &asked);
    compare(run, &alone, &asked_next);
    compare(run, &asked_next, &timed);
    if (memcmp(&alone.counters, &asked.counters, sizeof alone.counters) != 0) {
        kit_fail(run->witness, FAULT_COUNTERS,
                 "the same operations count other work when check, walk and counters are "
                 "asked between");
    }
    if (asked_next.places != timed.places) {
        kit_fail(run->witness, FAULT_WALK,
                 "walk shows other places in the build with counters than in that without");
    }
}

/* --- counters -------------------------------------------------------------------------------- */

static struct tl_counters read_counters(struct kit_subject *subject)
{
    struct tl_counters now = {0};
    kit_enter(subject, KIT_HOOK_COUNTERS, 0, subject->clock);
    subject->algo->counters(subject->self, &now);
    return now;
}

/* What was counted from one reading to the next. */
static void check_growth(struct kit_subject *subject, const char *during,
                         const struct tl_counters *last, const struct tl_counters *now)
{
    const struct {
        const char *name;
        uint64_t before;
        uint64_t after;
    } pairs[] = {{"compares", last->compares, now->compares},
                 {"moves", last->moves, now->moves},
                 {"slots", last->slots, now->slots},
                 {"cascades", last->cascades, now->cascades}};
    for (size_t k = 0; k < LENGTH(pairs); k++) {
        /* No operation of thirty timers does this much work. */
        if (pairs[k].after < pairs[k].before || pairs[k].after - pairs[k].before > UINT64_C(1)
                                                                                       << 32) {
            kit_fail(subject->witness, FAULT_COUNTERS,
                     "at clock %" PRIu64 ", the counter %s went from %" PRIu64 " to %" PRIu64
                     " in %s",
                     subject->clock, pairs[k].name, pairs[k].before, pairs[k].after, during);
        }
    }
    if (now->cascades - last->cascades > now->moves - last->moves) {
        kit_fail(subject->witness, FAULT_COUNTERS,
                 "at clock %" PRIu64 ", %s counts %" PRIu64 " cascades and only %" PRIu64
                 " moves: a cascade is a move",
                 subject->clock, during, now->cascades - last->cascades, now->moves - last->moves);
    }
}

static void check_equal(struct kit_subject *subject, const char *during,
                        const struct tl_counters *last)
{
    struct tl_counters now = read_counters(subject);
    if (memcmp(&now, last, sizeof now) != 0) {
        kit_fail(subject->witness, FAULT_COUNTERS,
                 "at clock %" PRIu64 ", %s changed the counters (compares %" PRIu64 " to %" PRIu64
                 ", moves %" PRIu64 " to %" PRIu64 ")",
                 subject->clock, during, last->compares, now.compares, last->moves, now.moves);
    }
}

/* One structure works, and another, which is asked nothing else, counts nothing. */
static void watch_counters(struct kit_subject *subject, struct kit_subject *other,
                           struct traffic *traffic)
{
    struct tl_counters last = read_counters(subject);
    struct tl_counters others = read_counters(other);
    uint64_t unmoved = 0; /* starts that count no move, by the end of the next advance */
    uint64_t clock_then = 0;
    for (unsigned i = 0; i < 500; i++) {
        uint64_t random = kit_random(&traffic->random);
        uint32_t id = (uint32_t)(random >> 32) % subject->capacity;
        /* What a stop left behind may serve the next start where it is. */
        enum kit_timer_state state = subject->timers[id].state;
        bool filed = false;
        if (random % 4 == 0) {
            script_stop(subject, id);
        } else {
            uint64_t starts = subject->serial;
            script_start(subject, id, script_draw_delay(traffic, subject->clock));
            filed =
                subject->serial > starts && (state == KIT_TIMER_NEW || state == KIT_TIMER_FIRED);
        }
        struct tl_counters now = read_counters(subject);
        uint64_t moves = last.moves;
        check_growth(subject, "a start or stop", &last, &now);
        last = now;
        uint64_t step = i % 2 == 0 ? 1 : kit_random(&traffic->random) % 64;
        script_advance(subject, subject->clock + (i % 16 == 5 ? 700 : step));
        now = read_counters(subject);
        check_growth(subject, "an advance", &last, &now);
        last = now;
        /* It may have waited for the advance. */
        if (filed && now.moves == moves) {
            clock_then = unmoved++ == 0 ? subject->clock : clock_then;
        }
        if (i % 50 == 7) {
            (void)subject_reserve(subject, subject->capacity + i / 50);
            now = read_counters(subject);
            check_growth(subject, "a reserve", &last, &now);
            last = now;
        }
        check_equal(subject, "reading them", &last);
        check_equal(other, "what another structure did", &others);
    }
    if (last.moves + last.compares + last.slots > 0 && unmoved > 0) {
        kit_fail(subject->witness, FAULT_COUNTERS,
                 "%" PRIu64
                 " starts of timers that were new or had fired count no move, nor does the "
                 "advance after them, the first at clock %" PRIu64,
                 unmoved, clock_then);
    }
}

void case_counters(struct kit_run *run)
{
    run->algo = run->target->counted;
    struct kit_subject subject;
    struct kit_subject other;
    struct traffic traffic;
    script_traffic(&traffic, run, 700, 6);
    if (run->algo->counters == NULL || !script_open(run, &subject, 30, 0)) {
        return;
    }
    if (script_open(run, &other, 30, 0)) {
        script_start(&other, 1, 20);
        watch_counters(&subject, &other, &traffic);
        script_close(&other);
    }
    script_close(&subject);
}
