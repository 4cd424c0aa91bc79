/* Cases: what callbacks do to timers. */
#include "kit_script.h"

/* On which timers a callback acts: the one that fires, or all others that are or are not pending. */
enum whom { ITSELF, PENDING, NOT_PENDING };

/* The actions of callbacks. In the list, A is the timer acted on, B its neighbour, C are ticks, and D
 * are ticks that differ from timer to timer. */
struct acts {
    const char *list;
    enum whom whom;
    unsigned left;   /* callbacks that still act */
    uint32_t offset; /* of the neighbour */
    size_t variants; /* of `laters`, the first to try */
    uint64_t ticks;
};

static const uint64_t laters[] = {0, 1, 64, 2, 10, 512, 1000};

static void on_fire(struct kit_subject *subject, uint32_t id)
{
    struct acts *acts = subject->on_fire_ctx;
    uint32_t capacity = acts->left > 0 ? subject->capacity : 0;
    acts->left -= acts->left > 0;
    for (uint32_t other = 0; other < capacity; other++) {
        bool pending = subject->timers[other].state == KIT_TIMER_PENDING;
        enum whom whom = other == id ? ITSELF : pending ? PENDING : NOT_PENDING;
        if (whom == acts->whom) {
            script_do(subject, acts->list,
                      (const uint64_t[]){other, (other + acts->offset) % capacity, acts->ticks,
                                         other / 2 * acts->ticks});
        }
    }
}

static void let_act(struct kit_subject *subject, struct acts *acts)
{
    subject->on_fire = on_fire;
    subject->on_fire_ctx = acts;
}

/* Several timers due in one advance, at one tick or at several. */
static void callbacks(struct kit_run *run, const struct acts *rows, size_t count)
{
    enum { TOGETHER = 9 };
    for (size_t row = 0; row < count; row++) {
        for (size_t variant = 0; variant < rows[row].variants; variant++) {
            struct kit_subject subject;
            if (!script_open(run, &subject, TOGETHER, 100)) {
                return;
            }
            for (size_t i = 0; i < SCRIPT_DELAYS; i++) {
                struct acts acts = rows[row];
                acts.ticks = laters[variant];
                for (uint32_t id = 0; id < TOGETHER - 1; id++) {
                    script_start(&subject, id, script_delays[i] + (i % 2 == 1 ? id : 0));
                }
                let_act(&subject, &acts);
                script_do(&subject, "advance by A; advance by 0; advance by 1",
                          (const uint64_t[]){script_delays[i] + (i % 3 == 0 ? 0 : TOGETHER)});
                subject.on_fire = NULL;
                script_settle(&subject);
            }
            script_close(&subject);
        }
    }
}

void case_callback_self(struct kit_run *run)
{
    static const struct acts rows[] = {
        {"stop A", .left = 100, .variants = 1},
        {"start A in C", .left = 20, .variants = LENGTH(laters)},
        {"start A in -C", .left = 20, .variants = LENGTH(laters)},
    };
    callbacks(run, rows, LENGTH(rows));
}

void case_callback_others(struct kit_run *run)
{
    static const struct acts rows[] = {
        {"start A in C", .whom = NOT_PENDING, .left = 8, .variants = LENGTH(laters)},
        {"start A in -C", .whom = NOT_PENDING, .left = 8, .variants = LENGTH(laters)},
        {"stop A", .whom = PENDING, .left = 3, .variants = 1},
        {"start A in C", .whom = PENDING, .left = 3, .variants = LENGTH(laters)},
        {"start A in -C", .whom = PENDING, .left = 3, .variants = LENGTH(laters)},
    };
    callbacks(run, rows, LENGTH(rows));
}

/* The last list stops and restarts the neighbour between two starts of the timer itself. */
void case_callback_same_tick(struct kit_run *run)
{
    for (uint32_t offset = 1; offset <= 7; offset += 3) {
        const struct acts rows[] = {
            {"stop B", .left = 100, .offset = offset, .variants = 1},
            {"start B in C", .left = 100, .offset = offset, .variants = 3},
            {"start A in C; stop B; start B in C; start A in C", .left = 100, .offset = offset,
             .variants = 3},
        };
        callbacks(run, rows, LENGTH(rows));
    }
}

/* Each timer has its own period; most of them coincide again and again. */
void case_callback_again(struct kit_run *run)
{
    enum { TOGETHER = 7 };
    for (size_t h = 0; h < LENGTH(laters); h++) {
        struct kit_subject subject;
        if (!script_open(run, &subject, TOGETHER, 1)) {
            return;
        }
        struct acts acts = {"start A in D", .left = UINT32_MAX, .ticks = laters[h]};
        let_act(&subject, &acts);
        script_do(&subject,
                  "start 0-6 in 5; "
                  "6 times (4 times (advance by A; advance by 1); advance by A*3; advance by 1)",
                  &laters[h]);
        script_close(&subject);
    }
}

static void draw_operations(struct kit_subject *subject, uint32_t id)
{
    (void)id;
    script_draw_operation(subject);
    script_draw_operation(subject);
}

static void mix(struct kit_subject *subject)
{
    subject->on_fire = draw_operations;
    script_do(subject, "20 times (churn 50 by one; churn 50)", NULL);
}

void case_callback_mixed(struct kit_run *run)
{
    script_play(run, 24, 0, 700, 11, mix);
}

void case_budget_callback(struct kit_run *run)
{
    enum { TOGETHER = 8 };
    static const struct acts rows[] = {
        {"start A in C", .left = 20},
        {"stop B", .left = 20},
        {"start A in C", .whom = PENDING, .left = 20},
        {"start B in C", .left = 20},
        {"start A in C; stop B; start B in C; start A in C", .left = 20},
    };
    for (size_t i = 0; i < 2 * LENGTH(rows) * LENGTH(laters); i++) {
        size_t variant = i % LENGTH(laters);
        struct kit_subject subject;
        if (!script_open(run, &subject, TOGETHER, 50)) {
            return;
        }
        struct acts acts = rows[i / LENGTH(laters) % LENGTH(rows)];
        acts.ticks = laters[variant];
        acts.offset = 1 + i % 2;
        const uint64_t budget = 1 + i % (TOGETHER - 1);
        script_do(&subject, "start 0-2 in 5; start 3-5 in 6; start 6-7 in 7", NULL);
        let_act(&subject, &acts);
        script_do(&subject,
                  "13 times (advance by 0 budget A; advance by 5 budget A; advance by 10 budget A)",
                  &budget);
        script_close(&subject);
    }
}
