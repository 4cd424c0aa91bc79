/* A decoded trace has every operation of the trace once, in memory as in a file. */
#include "written_trace.h"

#include "replayed.h"

#include <string.h>

static void write_many(void)
{
    struct error error;
    struct trace_writer *writer = trace_writer_open(trace_path, 1000000, &error);
    assert_non_null(writer);
    for (uint32_t i = 0; i < 200000; i++) {
        const struct trace_cause cause = {.id = i % 900, .basis = TRACE_FIXED_DELAY};
        bool reaction = i > 900 && i % 3 == 0;
        assert_true(trace_writer_add_reaction(writer, i / 7, i % 1000,
                                              i % 5 == 0 ? TRACE_STOP : TRACE_START, i % 13,
                                              reaction ? cause : (struct trace_cause){0}, &error));
    }
    assert_true(trace_writer_commit(writer, 0, 0, 1000, "{}", &error));
}

static struct stream *decode(uint64_t limit_bytes)
{
    struct error error;
    struct trace_reader *reader = trace_reader_open(trace_path, &error);
    assert_non_null(reader);
    struct stream *stream = stream_decode(reader, limit_bytes, &error);
    trace_reader_close(reader);
    assert_non_null(stream);
    return stream;
}

/* Looks up operation `i` of a trace's block in the stream's. */
static void assert_is_there(const struct stream *stream, const struct stream_block *block,
                            const struct trace_block *from, const struct trace_group *group,
                            uint32_t i, size_t *external, size_t *reaction)
{
    const struct trace_record *record = &from->records[i];
    if (from->causes == NULL || from->causes[i].basis == TRACE_EXTERNAL) {
        assert_true(*external < block->record_count);
        assert_memory_equal(&block->records[*external], record, sizeof *record);
        assert_int_equal(stream_event(block, *external), from->first_event + i);
        (*external)++;
        return;
    }
    const struct stream_reaction *found = &stream->reactions[(*reaction)++];
    assert_int_equal(found->event, from->first_event + i + 1);
    assert_int_equal(found->tick, group->tick);
    assert_int_equal(found->id, record->id);
    assert_int_equal(found->op, record->op);
    assert_int_equal(found->cause, from->causes[i].id);
    assert_int_equal(found->basis, from->causes[i].basis);
    assert_true(found->arming < found->event);
}

static void each_operation_is_there_once(void **state)
{
    (void)state;
    write_many();
    struct error error;
    struct stream *stream = decode(STREAM_HALF_FREE);
    struct trace_reader *reader = trace_reader_open(trace_path, &error);
    struct trace_block from;
    size_t reaction = 0;
    size_t number = 0;
    for (; trace_reader_next(reader, &from, &error) == 1; number++) {
        const struct stream_block *block = &stream->blocks[number];
        size_t external = 0;
        assert_int_equal(block->reaction_begin, reaction);
        for (size_t g = 0; g < from.group_count; g++) {
            const struct trace_group *group = &from.groups[g];
            for (uint32_t i = group->first; i < group->first + group->count; i++) {
                assert_is_there(stream, block, &from, group, i, &external, &reaction);
            }
        }
        assert_int_equal(external, block->record_count);
        assert_int_equal(reaction, block->reaction_end);
    }
    assert_int_equal(number, stream->block_count);
    assert_true(number > 1);
    assert_int_equal(reaction, stream->header.reactions);
    trace_reader_close(reader);
    stream_close(stream);
}

static void a_file_holds_the_same(void **state)
{
    (void)state;
    write_many();
    struct stream *memory = decode(STREAM_HALF_FREE);
    struct stream *file = decode(0);
    assert_int_equal(memory->block_count, file->block_count);
    assert_int_equal(memory->reaction_count, file->reaction_count);
    assert_memory_equal(memory->reactions, file->reactions,
                        file->reaction_count * sizeof *file->reactions);
    for (size_t i = 0; i < file->block_count; i++) {
        const struct stream_block *one = &memory->blocks[i];
        const struct stream_block *other = &file->blocks[i];
        assert_int_equal(one->group_count, other->group_count);
        assert_memory_equal(one->groups, other->groups, one->group_count * sizeof *one->groups);
        assert_memory_equal(one->records, other->records, one->record_count * sizeof *one->records);
        assert_memory_equal(one->codes.codes, other->codes.codes, one->codes.code_count);
    }
    stream_close(memory);
    stream_close(file);
}

/* Timer 0 is started at ticks 0 and 5: of its reactions at tick 5 the first is the cause, of those
 * later the second. Timer 2 is touched by two causes at tick 5, timer 3 by one. */
static void a_reaction_belongs_to_a_start_before_its_tick(void **state)
{
    (void)state;
    write_trace("0,0,start,5,\n0,1,start,5,\n5,0,start,4,0\n5,2,start,9,0\n5,2,start,9,1\n"
                "5,3,start,9,1\n9,3,stop,,0\n");
    static const uint64_t armings[] = {1, 1, 2, 2, 3};
    static const bool contended[] = {false, true, true, false, false};
    struct stream *stream = decode(STREAM_HALF_FREE);
    assert_int_equal(stream->reaction_count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(stream->reactions[i].arming, armings[i]);
        assert_int_equal(stream->reactions[i].contended, contended[i]);
    }
    stream_close(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_operation_is_there_once),
        cmocka_unit_test(a_file_holds_the_same),
        cmocka_unit_test(a_reaction_belongs_to_a_start_before_its_tick),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
