/*
 * Cases: many timers at once. What counts in 16 bits, fires in batches of 256 or 4,096, or keeps
 * ids in 20 bits is right as long as there are few.
 */
#include "clock.h"
#include "kit_cases.h"
#include "kit_script.h"

#include <inttypes.h>

/* More than 2^16, and, where the large cases are wanted, than 2^20. */
#define MANY       70000u
#define MANY_LARGE 1100000u

/* So often the time is looked at. */
#define STRIDE     1024u

/* A case whose structure may be slow: it does as much as its time allows. */
struct pace_of_work {
    uint64_t until_ns; /* of the processor's time */
    bool over;
};

static struct pace_of_work share_of(const struct kit_run *run, double share)
{
    double ns = run->patience_seconds * share * 1e9;
    return (struct pace_of_work){.until_ns = clock_processor_ns() + (uint64_t)ns};
}

/* Whether there is still time at the `i`th of many steps. */
static bool goes_on(struct pace_of_work *work, uint64_t i)
{
    if (i % STRIDE == STRIDE - 1 && !work->over) {
        work->over = clock_processor_ns() > work->until_ns;
    }
    return !work->over;
}

/* Draw a number of timers from MANY to a million; each octave is equally likely. */
static uint32_t drawn(const struct kit_run *run)
{
    uint64_t state = run->target->seed;
    uint32_t octave = MANY << kit_random(&state) % 3;
    uint32_t size = octave + (uint32_t)(kit_random(&state) % octave);
    return run->target->large ? MANY_LARGE : size < 1000000 ? size : 1000000;
}

static uint32_t many(const struct kit_run *run)
{
    return run->target->large ? MANY_LARGE : MANY;
}

/* Starts timers from 0 on, as many as time allows, for delays from `least` on that grow by `step`
 * from timer to timer, over and over again within `span`; returns how many. */
static uint32_t fill(const struct kit_run *run, struct kit_subject *subject, uint32_t count,
                     uint64_t least, uint64_t step, uint64_t span)
{
    struct pace_of_work work = share_of(run, 0.15);
    uint32_t id = 0;
    for (; id < count && goes_on(&work, id); id++) {
        script_start(subject, id, least + id * step % span);
    }
    return id;
}

static void tell(const struct kit_run *run, uint32_t done)
{
    if (done < many(run)) {
        kit_note(run->witness, "%" PRIu32 " timers at once, for %" PRIu32 " take too long here",
                 done, many(run));
    }
}

/* All due at one tick: each fires once, in one advance, or in as many as the budgets make it. */
void case_many_one_tick(struct kit_run *run)
{
    static const uint64_t budgets[] = {0, 1, 255, 256, 257, 4096, 1, 65535, 65536, 3};
    struct kit_subject subject;
    uint32_t most = drawn(run);
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
    for (size_t i = 0; i < LENGTH(budgets); i++) {
        (void)subject_advance(&subject, subject.clock + (i < 2 ? 1 : 0), budgets[i]);
    }
    for (unsigned i = 0; i < 300; i++) {
        (void)subject_advance(&subject, subject.clock + i % 2, 1);
    }
    script_advance(&subject, subject.clock);
    script_close(&subject);
    tell(run, count);
}

/* Just as many as a counter of 8, 12, 15 or 16 bits takes for none, or one more or less, all at one
 * tick and nothing else beside them; then half of them later. */
void case_many_exactly(struct kit_run *run)
{
    static const uint32_t powers[] = {1u << 8, 1u << 12, 1u << 15, 1u << 16, 1u << 20};
    for (size_t i = 0; i < LENGTH(powers) && powers[i] <= many(run); i++) {
        struct kit_subject subject;
        if (!script_open(run, &subject, powers[i] + 1, 0)) {
            return;
        }
        for (unsigned round = 0; round < 4; round++) {
            uint32_t wanted = powers[i] + (round == 1) - (round == 2);
            uint32_t count = fill(run, &subject, wanted, 70, round == 3, 2);
            script_advance(&subject, subject.clock + 70);
            script_advance(&subject, subject.clock + 1);
            if (count < wanted) {
                kit_note(run->witness,
                         "%" PRIu32 " timers at once, for %" PRIu32 " take too long here", count,
                         wanted);
                i = LENGTH(powers);
                break;
            }
        }
        script_close(&subject);
    }
}

/* All restarted, a third of them stopped, and what is left fires in its time. */
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
    struct pace_of_work work = share_of(run, 0.3);
    for (uint64_t k = 0; subject.pending > 0 && goes_on(&work, STRIDE * k - 1); k++) {
        script_advance(&subject, subject.clock + 1 + k % 97);
        script_stop(&subject, (uint32_t)(k * 31) % count);
    }
    script_close(&subject);
    tell(run, again < count / 2 ? again : count);
}

/* Many pending all the while, and next asked between any two operations. */
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
    struct pace_of_work work = share_of(run, 0.5);
    for (uint64_t i = 0; i < STEPS && goes_on(&work, 8 * i); i++) {
        uint64_t random = kit_random(&traffic.random);
        /* Now and then the one that is to fire first goes, or is put off. */
        uint32_t id = i % 4 == 0 ? kit_urgency_first(&subject.urgency) : KIT_NOBODY;
        id = id == KIT_NOBODY ? (uint32_t)(random >> 32) % count : id;
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
    if (count < PENDING) {
        kit_note(run->witness, "%" PRIu32 " timers at once, for %d take too long here", count,
                 PENDING);
    }
}

/* From one timer to many by reserve, each new id started at once, the old ones pending; at the end
 * some more, when there are many. */
static void grow_to_many(struct kit_run *run, bool is_destroyed_full)
{
    struct kit_subject subject;
    if (!script_open(run, &subject, 1, 3)) {
        return;
    }
    struct pace_of_work work = share_of(run, 0.2);
    uint32_t most = many(run);
    uint32_t had = 0;
    uint64_t random = 7;
    for (uint32_t capacity = 1; had < most + 2 && !work.over;) {
        if (!subject_reserve(&subject, capacity)) {
            break;
        }
        script_stop(&subject, capacity - 1);
        for (; had < capacity && goes_on(&work, had); had++) {
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
    /* Not all in one advance, which might then be taken for one that hangs. */
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

/* Destroyed full, with what restarts and stops have left behind. */
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

/* What each of many callbacks of one advance does. */
struct crowd {
    unsigned kind;
    uint64_t acted;
};

static void act_in_crowd(struct kit_subject *subject, uint32_t id)
{
    struct crowd *crowd = subject->on_fire_ctx;
    uint32_t half = subject->capacity / 2;
    uint64_t clock = subject->clock;
    crowd->acted++;
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
    static const uint32_t crowds[] = {100, 300, 1000, 5000};
    for (unsigned kind = 0; kind < 4; kind++) {
        struct pace_of_work work = share_of(run, 0.2);
        for (size_t i = 0; i < LENGTH(crowds) && !work.over; i++) {
            struct kit_subject subject;
            uint32_t count = crowds[i];
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
            (void)goes_on(&work, STRIDE - 1);
        }
    }
}
