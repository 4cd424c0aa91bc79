/* Step codes, four to a byte: decoded they are the stretch's groups and operations in order, with
 * any number of steps after the last code, and a full block has room. */
#include "test.h"

#include "random.h"
#include "stream.h"

#include <string.h>

static struct trace_record records[TRACE_BLOCK_RECORDS];
static struct trace_group groups[TRACE_BLOCK_RECORDS];
static struct step_codes codes;
static uint8_t room[STEP_BYTES(2 * TRACE_BLOCK_RECORDS)];

/* A block of `count` random operations, in groups of 1 to `longest`. */
static struct trace_block draw_block(struct random *random, uint32_t count, uint32_t longest)
{
    struct trace_block block = {.records = records, .groups = groups, .record_count = count};
    for (uint32_t first = 0; first < count; block.group_count++) {
        uint32_t length = 1 + (uint32_t)(random_bits(random) % longest);
        length = length < count - first ? length : count - first;
        groups[block.group_count] = (struct trace_group){.first = first, .count = length};
        first += length;
    }
    for (uint32_t i = 0; i < count; i++) {
        records[i].op = random_bits(random) % 2 == 0 ? TRACE_START : TRACE_STOP;
    }
    return block;
}

static size_t steps_made(void)
{
    return codes.code_count * STEPS_A_CODE + codes.rest_count;
}

static enum step step_made(size_t number)
{
    size_t code = number / STEPS_A_CODE;
    if (code < codes.code_count) {
        return step_of_code(codes.codes[code], number % STEPS_A_CODE);
    }
    return (enum step)codes.codes[codes.code_count + number - codes.code_count * STEPS_A_CODE];
}

static void assert_steps_of(const struct trace_block *block, size_t from, size_t to)
{
    memset(room, 0xff, sizeof room);
    step_codes_make(&codes, room, block->records, block->groups + from, to - from);
    assert_true(codes.rest_count < STEPS_A_CODE);
    size_t number = 0;
    for (size_t g = from; g < to; g++) {
        assert_true(number < steps_made());
        assert_int_equal(step_made(number++), STEP_TIME);
        for (uint32_t i = 0; i < groups[g].count; i++) {
            bool starts = records[groups[g].first + i].op == TRACE_START;
            assert_true(number < steps_made());
            assert_int_equal(step_made(number++), starts ? STEP_START : STEP_STOP);
        }
    }
    assert_int_equal(number, steps_made());
}

static void steps_read_back_are_the_stretch(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 1);
    for (uint32_t count = 1; count <= 40; count++) {
        struct trace_block block = draw_block(&random, count, 3);
        for (size_t from = 0; from < block.group_count; from++) {
            for (size_t to = from + 1; to <= block.group_count; to++) {
                assert_steps_of(&block, from, to);
            }
        }
    }
}

static void a_code_begins_in_its_lowest_place(void **state)
{
    (void)state;
    for (unsigned code = 0; code < STEP_CODES; code++) {
        unsigned made = 0;
        for (unsigned place = STEPS_A_CODE; place > 0; place--) {
            made = made * STEP_KINDS + step_of_code(code, place - 1);
        }
        assert_int_equal(made, code);
    }
}

/* The maximum of steps: every operation has its own tick. */
static void a_full_block_has_room(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 2);
    struct trace_block block = draw_block(&random, TRACE_BLOCK_RECORDS, 1);
    assert_int_equal(block.group_count, TRACE_BLOCK_RECORDS);
    assert_steps_of(&block, 0, block.group_count);
    assert_int_equal(steps_made(), 2 * TRACE_BLOCK_RECORDS);
    assert_in_range(codes.code_count + codes.rest_count, 1, STEP_BYTES(2 * TRACE_BLOCK_RECORDS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_read_back_are_the_stretch),
        cmocka_unit_test(a_code_begins_in_its_lowest_place),
        cmocka_unit_test(a_full_block_has_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
