#include "step_codes.h"

void step_codes_make(struct step_codes *codes, const struct trace_block *block, size_t from,
                     size_t to)
{
    uint8_t *steps = codes->codes;
    size_t count = 0;
    for (size_t g = from; g < to; g++) {
        const struct trace_group *group = &block->groups[g];
        const struct trace_record *record = block->records + group->first;
        steps[count++] = STEP_TIME;
        for (uint32_t i = 0; i < group->count; i++) {
            steps[count++] = (uint8_t)record[i].op;
        }
    }
    /* In place: a code is written where its steps, or earlier ones, have been read. */
    codes->code_count = count / STEPS_A_CODE;
    codes->rest_count = count % STEPS_A_CODE;
    for (size_t i = 0; i < codes->code_count; i++) {
        const uint8_t *step = steps + i * STEPS_A_CODE;
        steps[i] =
            (uint8_t)(step[0] +
                      STEP_KINDS * (step[1] + STEP_KINDS * (step[2] + STEP_KINDS * step[3])));
    }
    for (size_t i = 0; i < codes->rest_count; i++) {
        steps[codes->code_count + i] = steps[codes->code_count * STEPS_A_CODE + i];
    }
}
