/*
 * replay_steps.h: the loop of the timed passes over the codes of step_codes.h. Parameters that
 * differ between passes are compile-time constants, so that each pass has a loop of its own.
 */
#ifndef SIM_REPLAY_STEPS_H
#define SIM_REPLAY_STEPS_H

#include "clock.h"
#include "replay_drive.h"

#include <assert.h>

/* Let time pass up to a group's tick. If operations are timed, return the reading of the
 * processor's counter from which the next one counts. */
typedef uint64_t let_pass_fn(struct replay *replay, const struct trace_group *group);

/* The position of a timed loop; local variables that fit in registers. */
struct cursor {
    struct replay *replay;
    void *self;
    enum tl_status (*start)(void *self, uint32_t id, uint64_t deadline);
    enum tl_status (*stop)(void *self, uint32_t id);
    const struct trace_record *record; /* the next one */
    const struct trace_group *group;   /* the next one */
    uint32_t *op_cycles;               /* if operations are timed: of the next record */
    uint64_t last_cycles;              /* the previous reading of the counter */
};

static inline uint32_t saturate(uint64_t cycles)
{
    return cycles < UINT32_MAX ? (uint32_t)cycles : UINT32_MAX;
}

/* Do one step; all parameters but the cursor are constants. False if the structure refused it. */
static inline __attribute__((always_inline)) bool take_step(struct cursor *at, enum step step,
                                                            let_pass_fn *let_pass, bool timed)
{
    if (step == STEP_TIME) {
        at->last_cycles = let_pass(at->replay, at->group++);
        return true;
    }
    const struct trace_record *record = at->record++;
    enum tl_status status = step == STEP_START ? at->start(at->self, record->id, record->deadline)
                                               : at->stop(at->self, record->id);
    if (timed) {
        uint64_t cycles = clock_cycles();
        *at->op_cycles++ = saturate(cycles - at->last_cycles);
        at->last_cycles = cycles;
    }
    if (__builtin_expect(status > TL_IDLE, false)) {
        replay_refuse(
            at->replay,
            stream_event(at->replay->block, (size_t)(record - at->replay->block->records)),
            record->deadline, status);
        return false;
    }
    return true;
}

static_assert(STEPS_A_CODE == 4, "take_steps takes all of a code's");
static_assert(STEP_CODES == 3 * 27, "apply_steps has a case for each code");

static inline __attribute__((always_inline)) bool take_steps(struct cursor *at, unsigned code,
                                                             let_pass_fn *let_pass, bool timed)
{
    return take_step(at, step_of_code(code, 0), let_pass, timed) &&
           take_step(at, step_of_code(code, 1), let_pass, timed) &&
           take_step(at, step_of_code(code, 2), let_pass, timed) &&
           take_step(at, step_of_code(code, 3), let_pass, timed);
}

/* Apply the groups from `from` on, by the prepared step codes. */
static inline __attribute__((always_inline)) bool apply_steps(struct replay *replay, size_t from,
                                                              let_pass_fn *let_pass, bool timed)
{
    const struct stream_block *block = replay->block;
    const struct trace_group *group = block->groups + from;
    struct cursor at = {.replay = replay,
                        .self = replay->self,
                        .start = replay->algo->start,
                        .stop = replay->algo->stop,
                        .record = block->records + group->first,
                        .group = group};
    if (timed) {
        at.op_cycles = replay->op_cycles + group->first;
    }
    const uint8_t *code = replay->steps.codes;
    bool taken = true;
    for (const uint8_t *end = code + replay->steps.code_count; code < end && taken; code++) {
        switch (*code) {
#define TAKE_CODE(code)                                                                            \
    case (code):                                                                                   \
        taken = take_steps(&at, (code), let_pass, timed);                                          \
        break;
#define TAKE_3(code)  TAKE_CODE(code) TAKE_CODE((code) + 1) TAKE_CODE((code) + 2)
#define TAKE_9(code)  TAKE_3(code) TAKE_3((code) + 3) TAKE_3((code) + 6)
#define TAKE_27(code) TAKE_9(code) TAKE_9((code) + 9) TAKE_9((code) + 18)
            TAKE_27(0)
            TAKE_27(27)
            TAKE_27(54)
#undef TAKE_27
#undef TAKE_9
#undef TAKE_3
#undef TAKE_CODE
        default:
            __builtin_unreachable();
        }
    }
    for (const uint8_t *end = code + replay->steps.rest_count; code < end && taken; code++) {
        taken = *code == STEP_START  ? take_step(&at, STEP_START, let_pass, timed)
                : *code == STEP_STOP ? take_step(&at, STEP_STOP, let_pass, timed)
                                     : take_step(&at, STEP_TIME, let_pass, timed);
    }
    return taken;
}

#endif
