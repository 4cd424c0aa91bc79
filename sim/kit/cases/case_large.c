/*
 * Cases: many timers at once, and many operations on one instance. A count in 16 bits, a batch of 4,096 or an id of 20 bits is right as
 * long as there are few. Most numbers are drawn, so that no structure is fitted to them.
 */
#include "kit_script.h"

#include <inttypes.h>

/* More than 2^16, and, in the large cases, than 2^20. */
#define MANY       70000u
#define MANY_LARGE 1100000u

static uint32_t many(const struct kit_run *run)
{
    return run->target->large ? MANY_LARGE : MANY;
}

/* Start timers from 0 on, as many as time allows, for delays from `least` on that grow by `step`
 * from timer to timer modulo `span`; return how many. */
static uint32_t fill(const struct kit_run *run, struct kit_subject *subject, uint32_t count,
                     uint64_t least, uint64_t step, uint64_t span)
{
    struct script_time time = script_time(run, 0.15);
    uint32_t id = 0;
    for (; id < count && script_goes_on(&time, id); id++) {
        script_start(subject, id, least + id * step % span);
    }
    return id;
}

static void note_fewer(const struct kit_run *run, uint32_t done, uint32_t wanted)
{
    if (done < wanted) {
        kit_note(run->witness, "%" PRIu32 " timers at once, for %" PRIu32 " take too long here",
                 done, wanted);
    }
}

/* All due at one tick: each fires once, in one advance or in as many as budgets require. */
void case_many_one_tick(struct kit_run *run)
{
    struct kit_subject subject;
    /* Each octave from MANY to a million is equally likely. */
    uint32_t octave = MANY << script_drawn(run, 0, 2);
    uint32_t size = script_drawn(run, octave, 2 * octave - 1);
    uint32_t most = run->target->large ? MANY_LARGE : size < 1000000 ? size : 1000000;
    if (!script_open(run, &subject, most, 5)) {
        return;
    }
    uint32_t count = fill(run, &subject, most, 100, 0, 1);
    script_do(&subject, "inspect; advance by 99; advance by 1; stop 0-A every 997",
              (const uint64_t[]){count});
    count = fill(run, &subject, count, 77, 0, 1);
    script_advance(&subject, subject.clock + 76);
    for (uint32_t bits = 0; bits < 14; bits++) {
        uint64_t budget = bits < 2 ? bits : script_drawn(run, 1u << bits, 2u << bits);
        (void)subject_advance(&subject, subject.clock + (bits < 2 ? 1 : 0), budget);
    }
    script_do(&subject, "A times (advance by 1 budget 1; advance by 0 budget 1); advance by 0",
              (const uint64_t[]){script_drawn(run, 150, 750)});
    script_close(&subject);
    note_fewer(run, count, many(run));
}

/* As many timers at one tick as a counter of some bits takes for none; the same number at two
 * ticks; and a drawn number up to the next power. */
void case_many_exactly(struct kit_run *run)
{
    for (uint32_t power = 1u << 7; power <= (run->target->large ? 1u << 20 : 1u << 17);
         power *= 2) {
        struct kit_subject subject;
        if (!script_open(run, &subject, 2 * power, 0)) {
            return;
        }
        uint32_t counts[] = {power, power, script_drawn(run, power, 2 * power)};
        for (unsigned round = 0; round < LENGTH(counts); round++) {
            uint32_t count = fill(run, &subject, counts[round], 70, round == 1, 2);
            script_do(&subject, "advance by 70; advance by 1", NULL);
            if (count < counts[round]) {
                note_fewer(run, count, counts[round]);
                script_close(&subject);
                return;
            }
        }
        script_close(&subject);
    }
}

/* Many are pending all the time, and next is called before each advance. */
void case_many_churn(struct kit_run *run)
{
    enum { PENDING = 20000, STEPS = 60000 };
    struct kit_subject subject;
    if (!script_open(run, &subject, PENDING, 0)) {
        return;
    }
    script_traffic(&subject, 30000, 5);
    uint32_t count = fill(run, &subject, PENDING, 1, 11, 20000);
    struct script_time time = script_time(run, 0.5);
    for (uint64_t i = 0; i < STEPS && script_goes_on(&time, 8 * i); i++) {
        uint64_t random = kit_random(&subject.traffic->random);
        /* At times the first timer to fire is stopped or postponed. */
        uint32_t id = i % 4 == 0 ? subject_first(&subject) : KIT_NO_TIMER;
        id = id == KIT_NO_TIMER ? (uint32_t)(random >> 32) % count : id;
        if (random % 5 == 0) {
            script_stop(&subject, id);
        } else {
            script_start(&subject, id, script_draw_delay(&subject));
        }
        if (i % 3 == 0) {
            script_advance(&subject, subject.clock + random % 2);
        }
    }
    subject_inspect(&subject);
    script_close(&subject);
    note_fewer(run, count, PENDING);
}

/* From one timer to many by reserve, with all ids pending: an array may be exactly full then. */
static void grow_to_many(struct kit_run *run, bool is_destroyed_full)
{
    struct kit_subject subject;
    if (!script_open(run, &subject, 1, 3)) {
        return;
    }
    struct script_time time = script_time(run, 0.2);
    uint32_t most = many(run);
    uint32_t had = 0;
    uint64_t random = 7;
    for (uint32_t capacity = 1; had < most + 2 && !time.is_over;) {
        if (!subject_reserve(&subject, capacity)) {
            break;
        }
        script_stop(&subject, capacity - 1);
        for (; had < capacity && script_goes_on(&time, had); had++) {
            script_start(&subject, had, 1 + kit_random(&random) % 20000);
        }
        script_advance(&subject, subject.clock + 1);
        uint32_t larger = capacity + 1 + capacity / 2;
        capacity = capacity >= most ? capacity + 1 : larger < most ? larger : most;
    }
    if (is_destroyed_full) {
        subject_destroy(&subject);
        return;
    }
    /* One advance for all might be taken for a hang. */
    script_do(&subject, "inspect; 45 times advance by 450", NULL);
    script_close(&subject);
}

void case_many_reserved(struct kit_run *run)
{
    grow_to_many(run, false);
    grow_to_many(run, true);
}

/* --- callbacks ------------------------------------------------------------------------------- */

/* The actions of each of many callbacks of one advance: A is its timer, B and C are timers that are
 * not due, D and E are due at the same tick. */
static const char *const crowd_lists[] = {
    "start A in 1; start B in 5",
    "start B in 0; stop D",
    "start E in 2; start B in 300; stop C",
    "start A in 0; start A in 64; stop A; start A in 65",
};

static void act_in_crowd(struct kit_subject *subject, uint32_t id)
{
    uint32_t half = subject->capacity / 2;
    const char *const *list = subject->on_fire_ctx;
    script_do(subject, *list,
              (const uint64_t[]){id, half + id % half, half + id / 2 % half, (id + 7) % half,
                                 (id + 1) % half});
}

void case_callback_crowd(struct kit_run *run)
{
    for (size_t kind = 0; kind < LENGTH(crowd_lists); kind++) {
        struct script_time time = script_time(run, 0.2);
        for (uint32_t least = 100; least <= 6400 && script_has_time(&time); least *= 4) {
            struct kit_subject subject;
            uint32_t count = script_drawn(run, least, 4 * least);
            if (!script_open(run, &subject, 2 * count, 9)) {
                return;
            }
            subject.on_fire = act_in_crowd;
            const char *list = crowd_lists[kind];
            subject.on_fire_ctx = &list;
            script_do(&subject,
                      "3 times (start 0-A in 20; advance by 20; advance by 0 budget B; "
                      "advance by 1 budget C; advance by 1; advance by 4)",
                      (const uint64_t[]){count - 1, count / 3, count / 2 + 1});
            script_close(&subject);
        }
    }
}

/* --- one instance that lives long ------------------------------------------------------------- */

/* Numbers of 16 bits repeat after 65,536 starts; a free list that loses an entry becomes empty. */
enum { FEW = 6, KEPT = FEW - 1 };

/* Steps of a long life: A is one of five timers, B one of two, C and D are ticks, E and F are 1 at
 * times and 0 else. */
static const char *const life_steps[] = {
    "start A in C; advance by 1 budget 1",
    /* an error in one start, restart, stop or advance shows at once */
    "start B in 1; start 2 in 3; start 2-3 in 1; stop 3; advance by 1",
    /* more than a turn of wheels that are not large */
    "start A in 601; advance by 601",
    "start A in D; stop A; start B in D; advance by E",
    "start B in 400; advance by F",
};

/* Execute the step more than 2^17 times, in the large cases 2^20 times, or until time is over. */
static void repeat_step(struct kit_run *run, const char *step)
{
    struct kit_subject subject;
    if (!script_open(run, &subject, FEW, 0)) {
        return;
    }
    uint32_t least = run->target->large ? 1u << 20 : 1u << 17;
    uint32_t steps = script_drawn(run, least + 300, 2 * least);
    struct script_time time = script_time(run, 0.25);
    uint32_t number = 0;
    /* The last id is pending ever after, for as long as the structure accepts. */
    for (unsigned bit = 4; bit <= 40; bit += 4) {
        script_start(&subject, KEPT, UINT64_C(1) << bit);
    }
    for (; number < steps && script_goes_on(&time, number); number++) {
        script_do(&subject, step,
                  (const uint64_t[]){number % KEPT, number % 2, 1 + number % 4, 3 + number % 900,
                                     number % 4 == 0, number % 64 == 0});
    }
    if (number < steps) {
        kit_note(run->witness, "%u starts, for %u take too long here", number, steps);
    }
    script_close(&subject);
}

void case_long_life(struct kit_run *run)
{
    for (size_t i = 0; i < LENGTH(life_steps); i++) {
        repeat_step(run, life_steps[i]);
    }
}

/* A stale entry of an old start is met when the number of that start is used again. */
void case_number_again(struct kit_run *run)
{
    static const char *const lists[] = {
        "start 1 in 40; start 0 in 50; A times start 0 in 200",
        "start 1 in 40; start 0 in 50; A times (stop 0; start 0 in 200)",
        "start 1 in 40; start 0 in 50; A/2 times (start 0 in 200; start 2 in 200); stop 2",
    };
    struct script_time time = script_time(run, 0.7);
    for (size_t i = 0; i < LENGTH(lists); i++) {
        for (uint64_t power = 1u << 8; power <= 1u << 17 && script_has_time(&time); power *= 2) {
            for (uint64_t starts = power - 1; starts <= power + 1; starts++) {
                script_each(run, 3, 11, &starts, 1, lists[i]);
            }
        }
    }
}
