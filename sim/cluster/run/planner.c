/*
 * A planner: starts timers, moves some, stops some. It logs each message, repeats it until it is
 * answered, and logs the answer; its successor reads that, and repeats messages without an answer.
 * That is harmless: a start of a known generation has no effect.
 *
 * It works in rounds of three steps, which are numbered: a batch of starts, restarts of some timers
 * of the round before, stops of some of the round before that.
 */
#include "part.h"

#include "memory.h"

#include <stdlib.h>

enum { STEP_START, STEP_RESTART, STEP_STOP, STEPS };

enum draw { DRAW_DELAY, DRAW_RESTARTED, DRAW_STOPPED, DRAW_SECOND_DELAY };

static double chance(const struct part *part, uint64_t id, enum draw draw)
{
    return part_chance(part->plan->seed, 1, id, draw);
}

static bool is_restarted(const struct part *part, uint64_t id)
{
    return chance(part, id, DRAW_RESTARTED) < part->plan->restarted;
}

/* The timers of a step, which may be none. */
static size_t timers_of(const struct part *part, uint64_t step, struct engine_timer *timers)
{
    const struct run_plan *plan = part->plan;
    uint64_t kind = step % STEPS;
    uint64_t round = step / STEPS;
    uint64_t now_ms = part_now_ms(part->shared, plan);
    size_t count = 0;
    if (round < kind) {
        return 0;
    }
    for (uint32_t i = 0; i < plan->batch; i++) {
        uint64_t index = (round - kind) * plan->batch + i;
        uint64_t id = index * plan->roles[RUN_PLANNER] + part->member;
        bool again = is_restarted(part, id);
        struct engine_timer timer = {.id = id, .generation = 1};
        if (kind == STEP_STOP) {
            if (chance(part, id, DRAW_STOPPED) >= plan->stopped) {
                continue;
            }
            timer.generation = again ? 2 : 1;
        } else if (kind == STEP_RESTART) {
            if (!again) {
                continue;
            }
            timer.generation = 2;
        }
        double share = chance(part, id, kind == STEP_RESTART ? DRAW_SECOND_DELAY : DRAW_DELAY);
        timer.at_ms = now_ms + 1 + (uint64_t)(share * plan->delay_ms);
        timer.token = step;
        timers[count++] = timer;
    }
    return count;
}

static bool add_records(struct part *part, enum journal_what what,
                        const struct engine_timer *timers, const char *answers, size_t count)
{
    struct journal_record records[ENGINE_BATCH_MAX];
    for (size_t i = 0; i < count; i++) {
        records[i] = part_record(part, what, &timers[i]);
        records[i].answer = answers != NULL ? (uint8_t)answers[i] : 0;
    }
    return journal_add(part->journal, records, count, &part->error);
}

/* Say a step to the engine until it is answered. */
static bool say_step(struct part *part, uint64_t step, struct engine_timer *timers, size_t count)
{
    const struct engine_kind *kind = part->plan->engine;
    bool stops = step % STEPS == STEP_STOP;
    char answers[ENGINE_BATCH_MAX];
    enum part_go go = PART_AGAIN;
    unsigned char *calls = stops ? NULL : memory_bytes(count * PART_CALL_BYTES);
    for (size_t i = 0; i < count && !stops; i++) {
        unsigned char *call = calls + i * PART_CALL_BYTES;
        timers[i].call = call;
        timers[i].call_bytes = part_make_call(part->plan, timers[i].id, timers[i].generation, call);
    }
    while (go == PART_AGAIN) {
        struct engine *engine = part_engine(part);
        if (engine == NULL) {
            go = PART_END;
            break;
        }
        part_point(part);
        go = part_judge(part, kind->say(engine, stops ? SAY_STOP : SAY_START, timers, count,
                                        answers, &part->error));
        part_point(part);
    }
    free(calls);
    return go == PART_DONE &&
           add_records(part, stops ? JOURNAL_STOPPED : JOURNAL_STARTED, timers, answers, count);
}

static void note_deadlines(struct part *part, const struct engine_timer *timers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned long long last = atomic_load(&part->shared->last_deadline_ms);
        while (last < timers[i].at_ms &&
               !atomic_compare_exchange_weak(&part->shared->last_deadline_ms, &last,
                                             timers[i].at_ms)) {
        }
    }
}

/* Goes on where the one before was ended: *step is the first that is still to be said. */
static bool resume(struct part *part, uint64_t *step)
{
    struct journal_record *records = NULL;
    size_t count = 0;
    *step = 0;
    if (!journal_read(part->folder, RUN_PLANNER, part->member, &records, &count, &part->error)) {
        return false;
    }
    size_t sent = count; /* the last step's first */
    size_t answered = 0;
    while (sent > 0 && (sent == count || records[sent - 1].token == records[count - 1].token)) {
        sent--;
        answered += records[sent].what == JOURNAL_STARTED || records[sent].what == JOURNAL_STOPPED;
    }
    bool done = true;
    if (count > 0) {
        struct engine_timer timers[ENGINE_BATCH_MAX];
        size_t left = 0;
        *step = records[count - 1].token;
        for (size_t i = sent; i < count; i++) {
            if (records[i].what == JOURNAL_START_SENT || records[i].what == JOURNAL_STOP_SENT) {
                timers[left++] = (struct engine_timer){.id = records[i].id,
                                                       .at_ms = records[i].at_ms,
                                                       .token = records[i].token,
                                                       .generation = records[i].generation};
            }
        }
        done = answered >= left || say_step(part, *step, timers, left);
        ++*step;
    }
    free(records);
    return done;
}

/* Whether there is room for more. */
static bool may_go_on(struct part *part, bool *go)
{
    const struct run_plan *plan = part->plan;
    enum part_go asked = PART_AGAIN;
    int64_t count = 0;
    while (asked == PART_AGAIN) {
        struct engine *engine = part_engine(part);
        if (engine == NULL) {
            return false;
        }
        asked =
            part_judge(part, plan->engine->step(engine, STEP_WAITING, 0, 0, &count, &part->error));
    }
    *go = (uint64_t)count < plan->waiting_max || plan->steps.is_seed;
    return asked == PART_DONE;
}

bool part_plan(struct part *part)
{
    const struct run_plan *plan = part->plan;
    struct engine_timer timers[ENGINE_BATCH_MAX];
    uint64_t share = plan->timers / plan->roles[RUN_PLANNER];
    uint64_t step;
    if (!resume(part, &step)) {
        return part_is_over(part);
    }
    while (!part_is_over(part) &&
           (step / STEPS * plan->batch < share || !atomic_load(&part->shared->faults_over))) {
        bool go = true;
        if (step % STEPS == STEP_START && !may_go_on(part, &go)) {
            return part_is_over(part);
        }
        if (!go) {
            part_rest(part);
            continue;
        }
        size_t count = timers_of(part, step, timers);
        bool stops = step % STEPS == STEP_STOP;
        if (!stops) {
            note_deadlines(part, timers, count);
        }
        if (!add_records(part, stops ? JOURNAL_STOP_SENT : JOURNAL_START_SENT, timers, NULL,
                         count) ||
            !(count == 0 || say_step(part, step, timers, count))) {
            return part_is_over(part) && part->error.text[0] == '\0';
        }
        step++;
    }
    return true;
}
