/* Cases: check, walk and counters agree with the operations, and results depend on nothing else. */
#include "kit_script.h"

#include <inttypes.h>
#include <string.h>

static void inspect_often(struct kit_subject *subject)
{
    unsigned seldom = script_thrift(subject) * script_thrift(subject);
    for (unsigned k = 0; k < 300; k++) {
        script_churn(subject, 1, k % 3 == 0 ? IRREGULARLY : BY_ONE);
        if (k % seldom == 0) {
            subject_inspect(subject);
        }
    }
}

void case_invariants(struct kit_run *run)
{
    static const uint64_t spans[] = {6, 600, 40000};
    for (size_t i = 0; i < LENGTH(spans); i++) {
        script_play(run, 24, 0, spans[i], i, inspect_often);
    }
}

/* --- the same traffic in several ways -------------------------------------------------------- */

enum { STEPS = 600, OBSERVED = 25 };

/* A way to execute the traffic. */
struct variant {
    const struct tl_algo *algo;
    struct kit_records_layout layout;
    uint8_t fresh;            /* in new memory */
    bool looks;               /* check, walk and counters are called between steps */
    bool same_places;         /* walk has the same output as in the first way */
    enum fault_kind counters; /* the fault if it counts other work; FAULT_NONE: it may */
    char how[100];
};

/* Observations after each step. */
struct sightings {
    uint64_t fired[STEPS]; /* a number that depends on all expiries, plus the number pending */
    uint64_t clock[STEPS];
    uint64_t places; /* a number that depends on the output of all walks */
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

static void look(struct kit_subject *subject, struct sightings *seen)
{
    const struct tl_visitor visitor = {
        .ctx = &seen->places, .part = mix_part, .cell = mix_cell, .timer = mix_timer};
    subject->witness->inspections = 0; /* walk too */
    subject_inspect(subject);
    if (subject->algo->walk != NULL) {
        subject->algo->walk(subject->self, &visitor);
    }
    if (subject->algo->counters != NULL) {
        subject->algo->counters(subject->self, &seen->counters);
    }
}

/* False if the options are refused. */
static bool observe(struct kit_run *run, const struct variant *variant, struct sightings *seen)
{
    struct kit_subject subject;
    run->algo = variant->algo;
    run->layout = variant->layout;
    *seen = (struct sightings){.places = 0};
    script_init(run, &subject);
    subject.guard.limit_bytes = SCRIPT_VARIANT_BYTES;
    subject.guard.fresh = variant->fresh;
    if (!subject_create(&subject, OBSERVED, 3, 0)) {
        return false;
    }
    script_traffic(&subject, 900, 12);
    unsigned seldom = script_thrift(&subject) * script_thrift(&subject);
    for (unsigned k = 0; k < STEPS; k++) {
        script_draw_operation(&subject);
        if (k % 40 == 39) {
            (void)subject_reserve(&subject, OBSERVED + k / 40);
        }
        if (k % 5 == 2) {
            (void)subject_advance(&subject, subject.clock + k % 90, 1);
        } else {
            script_advance(&subject, subject.clock + (k % 7 == 0 ? 100 : k % 3));
        }
        if (variant->looks && k % seldom == 0) {
            look(&subject, seen);
        }
        seen->fired[k] = subject.fired_hash + subject.pending;
        seen->clock[k] = subject.clock;
    }
    if (run->algo->counters != NULL) {
        run->algo->counters(subject.self, &seen->counters);
    }
    script_close(&subject);
    return true;
}

/* Fail if the traffic has other results in one of the ways than in the first one. */
static void compare_ways(struct kit_run *run, const struct variant *ways, size_t count)
{
    struct sightings first;
    struct sightings seen;
    bool is_first_seen = observe(run, &ways[0], &first);
    for (size_t i = 1; i < count && is_first_seen; i++) {
        if (!observe(run, &ways[i], &seen)) {
            continue;
        }
        for (unsigned k = 0; k < STEPS; k++) {
            if (first.fired[k] != seen.fired[k]) {
                kit_fail(run->witness, FAULT_RANDOM,
                         "the same operations, %s and %s, fire otherwise at clock %" PRIu64,
                         ways[0].how, ways[i].how, first.clock[k]);
            }
        }
        if (ways[i].counters != FAULT_NONE &&
            memcmp(&first.counters, &seen.counters, sizeof first.counters) != 0) {
            kit_fail(run->witness, ways[i].counters,
                     "the same operations, %s and %s, count other work", ways[0].how, ways[i].how);
        }
        if (ways[i].same_places && first.places != seen.places) {
            kit_fail(run->witness, FAULT_WALK,
                     "walk shows other places in the build with counters than in the one without");
        }
    }
}

void case_determinism(struct kit_run *run)
{
    static const uint8_t patterns[] = {0x00, 0xff, 0xa5, 0x01};
    struct variant ways[LENGTH(patterns)];
    for (size_t i = 0; i < LENGTH(patterns); i++) {
        ways[i] = (struct variant){
            .algo = run->target->counted, .fresh = patterns[i], .counters = FAULT_RANDOM};
        (void)snprintf(ways[i].how, sizeof ways[i].how, "where new memory holds 0x%02x",
                       patterns[i]);
    }
    compare_ways(run, ways, LENGTH(ways));
}

/* The order need not be a promise: it is the structure's own each time. */
void case_records_alike(struct kit_run *run)
{
    struct variant ways[KIT_LAYOUTS + 1] = {{.algo = run->algo, .how = "in the plain build"}};
    for (size_t i = 0; i < KIT_LAYOUTS; i++) {
        struct variant *way = &ways[i + 1];
        *way = (struct variant){.algo = run->target->embedded, .layout = kit_layouts[i]};
        (void)snprintf(way->how, sizeof way->how,
                       "with its timers in %s (%" PRIu32 " bytes before each, %" PRIu32 " after)",
                       i == 0 ? "memory of the build for records" : "records",
                       way->layout.before_bytes, way->layout.behind_bytes);
    }
    compare_ways(run, ways, LENGTH(ways));
}

/* Calls that only ask change nothing. */
void case_undisturbed(struct kit_run *run)
{
    const struct tl_algo *counted = run->target->counted;
    struct tl_algo silent = *counted; /* the judge does not call its next */
    silent.capabilities &= ~(uint32_t)(TL_CAP_NEXT | TL_CAP_NEXT_EXACT);
    const struct variant ways[] = {
        {.algo = &silent, .looks = true, .how = "with calls of check, walk and counters between"},
        {.algo = &silent, .counters = FAULT_COUNTERS, .how = "with no other calls between"},
        {.algo = counted, .looks = true, .how = "with calls of next between"},
        {.algo = run->target->algo,
         .looks = true,
         .same_places = true,
         .how = "in the build without counters"}};
    compare_ways(run, ways, LENGTH(ways));
}

/* --- counters -------------------------------------------------------------------------------- */

enum { COMPARES, MOVES, SLOTS, CASCADES, COUNTERS };

/* A structure, and its counters when they were read last. */
struct counted {
    struct kit_subject subject;
    uint64_t last[COUNTERS];
    uint64_t since[COUNTERS]; /* the work that was counted since the time before */
};

static void read_counters(struct counted *counted)
{
    struct tl_counters now = {0};
    kit_enter(&counted->subject, KIT_HOOK_COUNTERS, 0, counted->subject.clock);
    counted->subject.algo->counters(counted->subject.self, &now);
    const uint64_t counts[COUNTERS] = {now.compares, now.moves, now.slots, now.cascades};
    for (size_t k = 0; k < COUNTERS; k++) {
        counted->since[k] = counts[k] - counted->last[k];
        counted->last[k] = counts[k];
    }
}

/* Read the counters, and check the work counted since they were read last. */
static void check_growth(struct counted *counted, const char *during)
{
    static const char *const names[COUNTERS] = {"compares", "moves", "slots", "cascades"};
    struct kit_subject *subject = &counted->subject;
    const uint64_t *since = counted->since;
    read_counters(counted);
    for (size_t k = 0; k < COUNTERS; k++) {
        /* No operation of thirty timers does this much work. */
        if (since[k] > UINT64_C(1) << 32) {
            kit_fail(
                subject->witness, FAULT_COUNTERS,
                "at clock %" PRIu64 ", the counter %s went from %" PRIu64 " to %" PRIu64 " in %s",
                subject->clock, names[k], counted->last[k] - since[k], counted->last[k], during);
        }
    }
    if (since[CASCADES] > since[MOVES]) {
        kit_fail(subject->witness, FAULT_COUNTERS,
                 "at clock %" PRIu64 ", %s counts %" PRIu64 " cascades and only %" PRIu64
                 " moves: a cascade is a move",
                 subject->clock, during, since[CASCADES], since[MOVES]);
    }
}

static void check_equal(struct counted *counted, const char *during)
{
    const uint64_t *since = counted->since;
    const uint64_t *last = counted->last;
    read_counters(counted);
    if ((since[COMPARES] | since[MOVES] | since[SLOTS] | since[CASCADES]) != 0) {
        kit_fail(counted->subject.witness, FAULT_COUNTERS,
                 "at clock %" PRIu64 ", %s changed the counters (compares %" PRIu64 " to %" PRIu64
                 ", moves %" PRIu64 " to %" PRIu64 ")",
                 counted->subject.clock, during, last[COMPARES] - since[COMPARES], last[COMPARES],
                 last[MOVES] - since[MOVES], last[MOVES]);
    }
}

/* Start or stop a drawn timer; return whether it was filed again. After a stop, an entry may still be
 * in its place, and serve the next start. */
static bool start_or_stop(struct kit_subject *subject)
{
    uint64_t random = kit_random(&subject->traffic->random);
    uint32_t id = (uint32_t)(random >> 32) % subject->capacity;
    enum kit_timer_state state = subject->timers[id].state;
    uint64_t starts = subject->serial;
    if (random % 4 == 0) {
        script_stop(subject, id);
    } else {
        script_start(subject, id, script_draw_delay(subject));
    }
    return subject->serial > starts && (state == KIT_TIMER_NEW || state == KIT_TIMER_FIRED);
}

/* The counters of one structure grow with its work; those of an idle one do not change. */
static void watch_counters(struct counted *counted, struct counted *other)
{
    struct kit_subject *subject = &counted->subject;
    uint64_t unmoved = 0; /* starts without a move until the end of the next advance */
    uint64_t clock_then = 0;
    read_counters(counted);
    read_counters(other);
    for (unsigned i = 0; i < 500; i++) {
        uint64_t moves = counted->last[MOVES];
        bool filed = start_or_stop(subject);
        check_growth(counted, "a start or stop");
        uint64_t step = i % 2 == 0 ? 1 : kit_random(&subject->traffic->random) % 64;
        script_advance(subject, subject->clock + (i % 16 == 5 ? 700 : step));
        check_growth(counted, "an advance");
        /* The move may have been postponed to the advance. */
        if (filed && counted->last[MOVES] == moves) {
            clock_then = unmoved++ == 0 ? subject->clock : clock_then;
        }
        if (i % 50 == 7) {
            (void)subject_reserve(subject, subject->capacity + i / 50);
            check_growth(counted, "a reserve");
        }
        check_equal(counted, "reading them");
        check_equal(other, "what another structure did");
    }
    const uint64_t *last = counted->last;
    if (last[MOVES] + last[COMPARES] + last[SLOTS] > 0 && unmoved > 0) {
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
    struct counted one = {.last = {0}};
    struct counted other = {.last = {0}};
    if (run->algo->counters == NULL || !script_open(run, &one.subject, 30, 0)) {
        return;
    }
    script_traffic(&one.subject, 700, 6);
    if (script_open(run, &other.subject, 30, 0)) {
        script_start(&other.subject, 1, 20);
        watch_counters(&one, &other);
        script_close(&other.subject);
    }
    script_close(&one.subject);
}
