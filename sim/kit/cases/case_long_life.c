/*
 * Cases: one instance that lives long. Numbers of 16 bits repeat after 65,536 starts; a free list
 * that loses an entry now and then becomes empty.
 */
#include "kit_cases.h"
#include "kit_script.h"

enum { FEW = 6, KEPT = FEW - 1 };

/* Start the last id for as long as the structure accepts: it is pending ever after. */
static void keep_one(struct kit_subject *subject)
{
    for (unsigned bit = 40; bit > 0; bit -= 4) {
        if (subject_start(subject, KEPT, due_deadline(subject->clock, UINT64_C(1) << bit)) ==
            TL_OK) {
            return;
        }
    }
}

static void start_and_fire(struct kit_subject *subject, uint32_t number)
{
    script_start(subject, number % KEPT, 1 + number % 4);
    script_advance(subject, subject->clock + 1);
}

/* An error in one start, restart, stop or advance shows at once. */
static void each_counts(struct kit_subject *subject, uint32_t number)
{
    uint32_t id = number % 2;
    script_start(subject, id, 1);
    script_start(subject, 2, 3);
    script_start(subject, 2, 1);
    script_start(subject, 3, 1);
    script_stop(subject, 3);
    script_advance(subject, subject->clock + 1);
}

/* More than a turn of wheels that are not large. */
static void turn(struct kit_subject *subject, uint32_t number)
{
    script_start(subject, number % KEPT, 601);
    script_advance(subject, subject->clock + 601);
}

static void start_and_stop(struct kit_subject *subject, uint32_t number)
{
    uint32_t id = number % KEPT;
    script_start(subject, id, 3 + number % 900);
    if (number % 5 != 0) {
        script_stop(subject, id);
    }
    if (number % 4 == 0) {
        script_advance(subject, subject->clock + 1);
    }
}

static void push_back(struct kit_subject *subject, uint32_t number)
{
    script_start(subject, number % 2, 400);
    if (number % 64 == 0) {
        script_advance(subject, subject->clock + 1);
    }
}

/* Execute the step more than 2^17 times, in the large cases 2^20 times, or until time is over. */
static void repeat_step(struct kit_run *run,
                        void (*step)(struct kit_subject *subject, uint32_t number))
{
    struct kit_subject subject;
    if (!script_open(run, &subject, FEW, 0)) {
        return;
    }
    uint32_t least = run->target->large ? 1u << 20 : 1u << 17;
    uint32_t steps = script_drawn(run, least + 300, 2 * least);
    struct script_time time = script_time(run, 0.25);
    uint32_t number = 0;
    keep_one(&subject);
    for (; number < steps && script_goes_on(&time, number); number++) {
        step(&subject, number);
    }
    if (number < steps) {
        kit_note(run->witness, "%u starts, for %u take too long here", number, steps);
    }
    script_close(&subject);
}

void case_long_life(struct kit_run *run)
{
    repeat_step(run, start_and_fire);
    repeat_step(run, each_counts);
    repeat_step(run, turn);
    repeat_step(run, start_and_stop);
    repeat_step(run, push_back);
}

/* A stale entry of an old start is met when the number of that start is used again. */
static void come_again(struct kit_run *run, uint32_t starts, unsigned how)
{
    struct kit_subject subject;
    if (!script_open(run, &subject, 3, 11)) {
        return;
    }
    script_start(&subject, 1, 40);
    script_start(&subject, 0, 50);
    for (uint32_t i = 0; i < starts; i++) {
        if (how == 1) {
            script_stop(&subject, 0);
        }
        script_start(&subject, how == 2 ? i % 2 * 2 : 0, 200);
    }
    script_stop(&subject, 2);
    script_settle(&subject);
    script_close(&subject);
}

void case_number_again(struct kit_run *run)
{
    struct script_time time = script_time(run, 0.7);
    for (unsigned how = 0; how < 3; how++) {
        for (uint32_t power = 1u << 8; power <= 1u << 17 && script_has_time(&time); power *= 2) {
            for (uint32_t near = 0; near < 3; near++) {
                come_again(run, power - 1 + near, how);
            }
        }
    }
}

/* Open a subject that may refuse: a slot for each tick of a long delay may be too much. */
static bool open_if_taken(struct kit_run *run, struct kit_subject *subject, uint64_t now,
                          uint64_t announced)
{
    script_init(run, subject);
    if (subject_create(subject, 8, now, announced) == KIT_OPENED) {
        return true;
    }
    subject_discard(subject);
    return false;
}

void case_announced(struct kit_run *run)
{
    static const uint64_t announced[] = {1,
                                         2,
                                         100,
                                         4096,
                                         65535,
                                         65536,
                                         1000000,
                                         1u << 20,
                                         7200000,
                                         1u << 24,
                                         UINT64_C(1) << 32,
                                         UINT64_C(1) << 40};
    static const uint64_t clocks[] = {0, 12345};
    for (size_t a = 0; a < LENGTH(announced); a++) {
        for (size_t c = 0; c < LENGTH(clocks); c++) {
            struct kit_subject subject;
            uint64_t longest = announced[a];
            if (!open_if_taken(run, &subject, clocks[c], longest)) {
                continue;
            }
            const uint64_t delays[] = {longest,     longest - 1, longest / 2, longest / 2 + 1,
                                       longest / 3, 1,           longest + 1, 2 * longest};
            for (unsigned round = 0; round < 2; round++) {
                for (uint32_t id = 0; id < 8; id++) {
                    script_start(&subject, id, delays[id]);
                }
                if (round == 1) {
                    script_advance(&subject, subject.clock + longest / 5);
                    script_start(&subject, 2, longest);
                    script_start(&subject, 5, longest);
                    script_stop(&subject, 1);
                }
                script_settle(&subject);
            }
            script_close(&subject);
        }
    }
}
