/* A trace divided: every timer is in one partition, what causes join is together, in the trace's order,
 * and a partition's timers and operations are found again in the whole. */
#include "test.h"

#include "trace.h"
#include "trace_partition.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TIMERS = 60, KINDS = 3, EVENTS_MAX = 1000, PARTITIONS = 4 };

struct operation {
    uint64_t tick;
    uint64_t deadline;
    uint32_t id;
    uint32_t op;
    struct trace_cause cause;
};

static struct operation whole[EVENTS_MAX];
static uint64_t whole_count;

/* Reads a trace's operations. */
static uint64_t read_all(const char *path, struct operation *operations,
                         struct trace_header *header)
{
    struct error error;
    struct trace_reader *reader = trace_reader_open(path, &error);
    struct trace_block block;
    uint64_t count = 0;
    assert_non_null(reader);
    *header = *trace_reader_header(reader);
    header->origin = NULL;
    while (trace_reader_next(reader, &block, &error) == 1) {
        for (size_t g = 0; g < block.group_count; g++) {
            for (uint32_t i = 0; i < block.groups[g].count; i++) {
                uint32_t at = block.groups[g].first + i;
                assert_true(count < EVENTS_MAX);
                operations[count] = (struct operation){.tick = block.groups[g].tick,
                                                       .deadline = block.records[at].deadline,
                                                       .id = block.records[at].id,
                                                       .op = block.records[at].op};
                if (block.causes != NULL) {
                    operations[count].cause = block.causes[at];
                }
                count++;
            }
        }
    }
    trace_reader_close(reader);
    return count;
}

/* Timers of which each third rearms another, far away, when it expires, and one is never used. */
static void write_whole(const char *path)
{
    struct error error;
    struct trace_writer *writer = trace_writer_open(path, 1000, &error);
    assert_non_null(writer);
    for (uint32_t id = 0; id < TIMERS - 1; id++) {
        struct trace_cause cause = {.slack_ticks = id};
        assert_true(trace_writer_add_reaction(writer, id, id, TRACE_START, 100, cause, &error));
    }
    for (uint32_t id = 0; id < TIMERS / 2; id += 3) {
        struct trace_cause cause = {.id = id, .basis = TRACE_FIXED_DELAY, .slack_ticks = 7};
        assert_true(trace_writer_add_reaction(writer, 100 + id, TIMERS / 2 + id / 2, TRACE_START,
                                              50, cause, &error));
    }
    for (uint32_t id = 1; id < TIMERS / 2; id += 3) {
        assert_true(trace_writer_add(writer, 300 + id, id, TRACE_STOP, 0, &error));
    }
    assert_true(trace_writer_commit(writer, 5, 1000, TIMERS, NULL, &error));
    struct trace_header header;
    whole_count = read_all(path, whole, &header);
}

static void check_partition(const char *path, const struct trace_partition *partition,
                            unsigned *taken, uint64_t *events)
{
    static struct operation own[EVENTS_MAX];
    struct trace_header header;
    uint64_t count = read_all(path, own, &header);
    assert_int_equal(header.ids, partition->ids);
    assert_int_equal(header.end_tick, 1000);
    assert_int_equal(header.warmup_end_tick, 5);
    for (uint32_t id = 0; id < partition->ids; id++) {
        assert_true(id == 0 || partition->names[id - 1] < partition->names[id]);
        taken[partition->names[id]]++;
    }
    uint64_t before = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t event = trace_partition_event(partition->kept, partition->kept_words, i);
        assert_true(event < whole_count && (i == 0 || event > before));
        const struct operation *expected = &whole[event];
        assert_int_equal(own[i].tick, expected->tick);
        assert_int_equal(own[i].deadline, expected->deadline);
        assert_int_equal(own[i].op, expected->op);
        assert_int_equal(partition->names[own[i].id], expected->id);
        assert_int_equal(own[i].cause.basis, expected->cause.basis);
        assert_int_equal(own[i].cause.slack_ticks, expected->cause.slack_ticks);
        if (own[i].cause.basis != TRACE_EXTERNAL) {
            assert_int_equal(partition->names[own[i].cause.id], expected->cause.id);
        }
        before = event;
    }
    assert_true(trace_partition_event(partition->kept, partition->kept_words, count) == UINT64_MAX);
    *events += count;
}

/* Set the paths, and write the whole trace. */
static void begin(char in[64], char out[64])
{
    (void)snprintf(in, 64, "/tmp/timerlab-whole-%d", (int)getpid());
    (void)snprintf(out, 64, "/tmp/timerlab-partition-%d", (int)getpid());
    write_whole(in);
}

static void all_is_in_one_partition(void **state)
{
    (void)state;
    char in[64];
    char out[64];
    begin(in, out);
    for (uint32_t block_ids = 1; block_ids <= KINDS; block_ids += KINDS - 1) {
        unsigned taken[TIMERS] = {0};
        uint32_t partition_of[TIMERS];
        uint64_t count = 0;
        uint64_t most = 0;
        for (uint32_t i = 0; i < PARTITIONS; i++) {
            struct error error;
            struct trace_partition partition;
            const struct trace_partition_plan plan = {
                .path = in, .partitions = PARTITIONS, .partition = i, .block_ids = block_ids};
            assert_true(trace_partition_write(&plan, out, &partition, &error));
            uint64_t before = count;
            check_partition(out, &partition, taken, &count);
            most = count - before > most ? count - before : most;
            for (uint32_t id = 0; id < partition.ids; id++) {
                partition_of[partition.names[id]] = i;
            }
            trace_partition_free(&partition);
        }
        assert_int_equal(count, whole_count);
        for (uint32_t id = 0; id < TIMERS; id++) {
            assert_int_equal(taken[id], 1);
            assert_int_equal(partition_of[id], partition_of[id - id % block_ids]);
        }
        for (uint64_t i = 0; i < whole_count; i++) {
            if (whole[i].cause.basis != TRACE_EXTERNAL) {
                assert_int_equal(partition_of[whole[i].id], partition_of[whole[i].cause.id]);
            }
        }
        /* The groups are small, so the partitions are balanced. */
        assert_true(most <= whole_count / PARTITIONS + 8);
    }
    (void)unlink(in);
    (void)unlink(out);
}

static void too_few_groups_are_refused(void **state)
{
    (void)state;
    char in[64];
    char out[64];
    begin(in, out);
    struct error error;
    struct trace_partition partition;
    const struct trace_partition_plan plan = {
        .path = in, .partitions = 51, .partition = 0, .block_ids = 1};
    assert_false(trace_partition_write(&plan, out, &partition, &error));
    assert_non_null(strstr(error.text, "join its 60 timers into 50 groups"));
    assert_int_not_equal(access(out, F_OK), 0);
    trace_partition_free(&partition);
    (void)unlink(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_in_one_partition),
        cmocka_unit_test(too_few_groups_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
