#include "step_codes.h"

void step_codes_make(struct step_codes *codes, uint8_t *room, const struct trace_record *records,
                     const struct trace_group *groups, size_t count)
{
    size_t steps = 0;
    for (size_t g = 0; g < count; g++) {
        const struct trace_record *record = records + groups[g].first;
        room[steps++] = STEP_TIME;
        for (uint32_t i = 0; i < groups[g].count; i++) {
            room[steps++] = (uint8_t)record[i].op;
        }
    }
    /* In place: a code never overtakes the steps that are still to be read. */
    *codes = (struct step_codes){
        .codes = room, .code_count = steps / STEPS_A_CODE, .rest_count = steps % STEPS_A_CODE};
    for (size_t i = 0; i < codes->code_count; i++) {
        const uint8_t *step = room + i * STEPS_A_CODE;
        room[i] = (uint8_t)(step[0] +
                            STEP_KINDS * (step[1] + STEP_KINDS * (step[2] + STEP_KINDS * step[3])));
    }
    for (size_t i = 0; i < codes->rest_count; i++) {
        room[codes->code_count + i] = room[codes->code_count * STEPS_A_CODE + i];
    }
}
