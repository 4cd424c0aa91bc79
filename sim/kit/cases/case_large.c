/*
 * Cases: many timers at once. A count in 16 bits, a batch of 4,096 or an id of 20 bits is right as
 * long as there are few. Most numbers are drawn, so that no structure is fitted to them.
 */
#include "clock.h"
#include "kit_cases.h"
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
    subject_inspect(&subject);
    script_advance(&subject, subject.clock + 99);
    script_advance(&subject, subject.clock + 1);
    for (uint32_t id = 0; id < count; id += 997) {
        script_stop(&subject, id);
    }
    count = fill(run, &subject, count, 77, 0, 1);
    script_advance(&subject, subject.clock + 76);
    for (uint32_t bits = 0; bits < 14; bits++) {
        uint64_t budget = bits < 2 ? bits : script_drawn(run, 1u << bits, 2u << bits);
        (void)subject_advance(&subject, subject.clock + (bits < 2 ? 1 : 0), budget);
    }
    for (uint32_t i = script_drawn(run, 300, 1500); i > 0; i--) {
        (void)subject_advance(&subject, subject.clock + i % 2, 1);
    }
    script_advance(&subject, subject.clock);
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
            script_advance(&subject, subject.clock + 70);
            script_advance(&subject, subject.clock + 1);
            if (count < counts[round]) {
                note_fewer(run, count, counts[round]);
                script_close(&subject);
                return;
            }
        }
        script_close(&subject);
    }
}

/* All are restarted, a third of them stopped, and the others fire in their time. */
void case_many_restarted(struct kit_run *run)
{
    struct kit_subject subject;
    if (!script_open(run, &subject, many(run), 0)) {
        return;
    }
    uint32_t count = fill(run, &subject, many(run), 10, 1, 3000);
    count = fill(run, &subject, count, 500, 7, 5000);
    for (uint32_t id = 0; id < count; id += 3) {
        script_stop(&subject, id);
    }
    subject_inspect(&subject);
    uint32_t again = fill(run, &subject, count / 2, 40, 0, 1);
    struct script_time time = script_time(run, 0.3);
    for (uint64_t k = 0; subject.pending > 0 && script_has_time(&time); k++) {
        script_advance(&subject, subject.clock + 1 + k % 97);
        script_stop(&subject, (uint32_t)(k * 31) % count);
    }
    script_close(&subject);
    note_fewer(run, again < count / 2 ? again : count, many(run));
}

/* Many are pending all the time, and next is called before each advance. */
void case_many_churn(struct kit_run *run)
{
    enum { PENDING = 20000, STEPS = 60000 };
    struct kit_subject subject;
    if (!script_open(run, &subject, PENDING, 0)) {
        return;
    }
    struct traffic traffic;
    script_traffic(&traffic, run, 30000, 5);
    uint32_t count = fill(run, &subject, PENDING, 1, 11, 20000);
    struct script_time time = script_time(run, 0.5);
    for (uint64_t i = 0; i < STEPS && script_goes_on(&time, 8 * i); i++) {
        uint64_t random = kit_random(&traffic.random);
        /* At times the first timer to fire is stopped or postponed. */
        uint32_t id = i % 4 == 0 ? kit_urgency_first(&subject.urgency) : KIT_NO_TIMER;
        id = id == KIT_NO_TIMER ? (uint32_t)(random >> 32) % count : id;
        if (random % 5 == 0) {
            script_stop(&subject, id);
        } else {
            script_start(&subject, id, script_draw_delay(&traffic, subject.clock));
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
    subject_inspect(&subject);
    /* One advance for all might be taken for a hang. */
    for (unsigned i = 0; i < 45; i++) {
        script_advance(&subject, subject.clock + 450);
    }
    script_close(&subject);
}

void case_many_reserved(struct kit_run *run)
{
    grow_to_many(run, false);
    grow_to_many(run, true);
}

/* Destroyed full, with stale entries of restarts and stops. */
void case_many_destroyed(struct kit_run *run)
{
    static const uint32_t counts[] = {300, 1000, 5000, 0};
    for (size_t i = 0; i < LENGTH(counts); i++) {
        uint32_t wanted = counts[i] > 0 ? counts[i] : many(run);
        struct kit_subject subject;
        if (!script_open(run, &subject, wanted, 0)) {
            return;
        }
        uint32_t count = fill(run, &subject, wanted, 1, 13, 100000);
        for (uint32_t id = 0; id < count; id += 5) {
            script_stop(&subject, id);
            script_start(&subject, id / 2, 30);
        }
        script_advance(&subject, subject.clock + 25);
        subject_destroy(&subject);
    }
}

/* --- callbacks ------------------------------------------------------------------------------- */

/* The action of each of many callbacks of one advance. */
struct crowd {
    unsigned kind;
};

static void act_in_crowd(struct kit_subject *subject, uint32_t id)
{
    struct crowd *crowd = subject->on_fire_ctx;
    uint32_t half = subject->capacity / 2;
    uint64_t clock = subject->clock;
    switch (crowd->kind) {
    case 0: /* each starts itself again, and another one */
        (void)subject_start(subject, id, due_deadline(clock, 1 + id % 3));
        (void)subject_start(subject, half + id % half, due_deadline(clock, 5));
        break;
    case 1: /* each starts another one for now, and stops one that is due as it is */
        (void)subject_start(subject, half + id % half, clock);
        (void)subject_stop(subject, (id + 7) % half);
        break;
    case 2: /* each moves one that is due as it is, and stops one that an earlier one started */
        (void)subject_start(subject, (id + 1) % half, due_deadline(clock, 2));
        (void)subject_start(subject, half + id % half, due_deadline(clock, 300));
        (void)subject_stop(subject, half + (id / 2) % half);
        break;
    default: /* each starts itself for now, then later, then stops itself, then starts again */
        (void)subject_start(subject, id, clock);
        (void)subject_start(subject, id, due_deadline(clock, 64));
        (void)subject_stop(subject, id);
        (void)subject_start(subject, id, due_deadline(clock, 65));
        break;
    }
}

void case_callback_crowd(struct kit_run *run)
{
    for (unsigned kind = 0; kind < 4; kind++) {
        struct script_time time = script_time(run, 0.2);
        for (uint32_t least = 100; least <= 6400 && script_has_time(&time); least *= 4) {
            struct kit_subject subject;
            uint32_t count = script_drawn(run, least, 4 * least);
            if (!script_open(run, &subject, 2 * count, 9)) {
                return;
            }
            struct crowd crowd = {.kind = kind};
            subject.on_fire = act_in_crowd;
            subject.on_fire_ctx = &crowd;
            for (unsigned round = 0; round < 3; round++) {
                script_start_all(&subject, count, 20 + round);
                script_advance(&subject, subject.clock + 20 + round);
                (void)subject_advance(&subject, subject.clock, count / 3);
                (void)subject_advance(&subject, subject.clock + 1, count / 2 + 1);
                script_advance(&subject, subject.clock + 1);
                script_advance(&subject, subject.clock + 4);
            }
            script_close(&subject);
        }
    }
}
