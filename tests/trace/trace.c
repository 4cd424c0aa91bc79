/* trace.c: traces written, read back, damaged, and refused. */
#include "test.h"

#include "trace.h"
#include "trace_block.h"
#include "trace_format.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

struct operation {
    uint64_t tick;
    uint64_t delay;
    uint32_t id;
    enum trace_op op;
    struct trace_cause cause;
};

static char folder[] = "/tmp/timerlab-trace-XXXXXX";
static char path[64];
static char copy[64];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    (void)snprintf(path, sizeof path, "%s/a.trace", folder);
    (void)snprintf(copy, sizeof copy, "%s/b.trace", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(path);
    (void)unlink(copy);
    return rmdir(folder);
}

static void write_trace(const struct operation *operations, size_t n, uint64_t warmup_end_tick,
                        uint64_t end_tick, const char *origin)
{
    struct error error;
    struct trace_writer *writer = trace_writer_open(path, 1000000, &error);
    assert_non_null(writer);
    for (size_t i = 0; i < n; i++) {
        assert_true(trace_writer_add_reaction(writer, operations[i].tick, operations[i].id,
                                              operations[i].op, operations[i].delay,
                                              operations[i].cause, &error));
    }
    assert_int_equal(trace_writer_events(writer), n);
    assert_true(trace_writer_commit(writer, warmup_end_tick, end_tick, 0, origin, &error));
}

/* Compare the results of a pass over the file with the operations written. */
static void expect_operations(struct trace_reader *reader, const struct operation *operations,
                              size_t n)
{
    struct error error;
    struct trace_block block;
    size_t seen = 0;
    uint64_t blocks = 0;
    uint64_t last_tick = 0;
    uint64_t reactions = 0;
    uint32_t max_slack = 0;
    int got;
    while ((got = trace_reader_next(reader, &block, &error)) == 1) {
        assert_int_equal(block.index, blocks);
        assert_int_equal(block.first_event, seen);
        assert_in_range(block.record_count, 1, TRACE_BLOCK_RECORDS);
        size_t record = 0;
        for (size_t g = 0; g < block.group_count; g++) {
            const struct trace_group *group = &block.groups[g];
            assert_int_equal(group->first, record);
            assert_true(group->count > 0);
            assert_true(group->tick > last_tick || (g == 0 && group->tick == last_tick));
            last_tick = group->tick;
            for (; record < group->first + group->count; record++, seen++) {
                assert_true(seen < n);
                const struct operation *want = &operations[seen];
                const struct trace_record *have = &block.records[record];
                assert_int_equal(group->tick, want->tick);
                assert_int_equal(have->id, want->id);
                assert_int_equal(have->op, want->op);
                assert_int_equal(have->deadline,
                                 want->op == TRACE_START ? want->tick + want->delay : 0);
                struct trace_cause cause = {0};
                if (block.causes != NULL) {
                    cause = block.causes[record];
                }
                assert_int_equal(cause.basis, want->cause.basis);
                assert_int_equal(cause.id, want->cause.id);
                assert_int_equal(cause.slack_ticks, want->cause.slack_ticks);
                max_slack = max_slack > cause.slack_ticks ? max_slack : cause.slack_ticks;
                reactions += cause.basis != TRACE_EXTERNAL;
            }
        }
        assert_int_equal(record, block.record_count);
        blocks++;
    }
    assert_int_equal(got, 0);
    assert_int_equal(seen, n);
    assert_int_equal(reactions, trace_reader_header(reader)->reactions);
    assert_int_equal(max_slack, trace_reader_header(reader)->max_slack_ticks);
    assert_int_equal(blocks, (n + TRACE_BLOCK_RECORDS - 1) / TRACE_BLOCK_RECORDS);
}

static void expect_round_trip(const struct operation *operations, size_t n)
{
    struct error error;
    struct trace_reader *reader = trace_reader_open(path, &error);
    assert_non_null(reader);
    expect_operations(reader, operations, n);
    trace_reader_rewind(reader);
    expect_operations(reader, operations, n);
    trace_reader_close(reader);
}

/* A small generator of the tests' own. */
static uint64_t random_state = 1;

/* None, or in one of `one_in` cases one, a timer below `ids`; likewise a start's slack. */
static struct trace_cause random_cause(enum trace_op op, uint32_t ids, unsigned one_in)
{
    struct trace_cause cause = {0};
    if (one_in > 0 && test_draw(&random_state) % one_in == 0) {
        cause.id = (uint32_t)(test_draw(&random_state) % ids);
        cause.basis =
            op == TRACE_STOP ? TRACE_FIXED_DELAY : 1 + (uint32_t)(test_draw(&random_state) % 3);
    }
    if (one_in > 1 && op == TRACE_START && test_draw(&random_state) % one_in == 0) {
        cause.slack_ticks =
            (uint32_t)(test_draw(&random_state) >> (32 + test_draw(&random_state) % 32));
    }
    return cause;
}

static struct operation *random_operations(size_t n, uint64_t max_step, uint32_t ids,
                                           uint64_t max_delay)
{
    struct operation *operations = calloc(n, sizeof *operations);
    assert_non_null(operations);
    uint64_t tick = 0;
    for (size_t i = 0; i < n; i++) {
        tick += test_draw(&random_state) % (max_step + 1);
        operations[i].tick = tick;
        operations[i].id = (uint32_t)(test_draw(&random_state) % ids);
        operations[i].op = test_draw(&random_state) % 3 == 0 ? TRACE_STOP : TRACE_START;
        operations[i].delay =
            operations[i].op == TRACE_START ? test_draw(&random_state) % (max_delay + 1) : 0;
        /* The first block has none. */
        operations[i].cause =
            random_cause(operations[i].op, operations[i].id + 1, i < TRACE_BLOCK_RECORDS ? 0 : 3);
        operations[i].delay += operations[i].cause.basis == TRACE_FIXED_RATE;
    }
    return operations;
}

static void test_empty(void **state)
{
    (void)state;
    struct error error;
    write_trace(NULL, 0, 0, 0, NULL);
    expect_round_trip(NULL, 0);
    struct trace_reader *reader = trace_reader_open(path, &error);
    assert_non_null(reader);
    const struct trace_header *header = trace_reader_header(reader);
    assert_int_equal(header->tick_ns, 1000000);
    assert_int_equal(header->events, 0);
    assert_int_equal(header->ids, 0);
    assert_int_equal(header->end_tick, 0);
    assert_string_equal(header->origin, "{}");
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(header->file_bytes, status.st_size);
    trace_reader_close(reader);
}

static void test_one(void **state)
{
    (void)state;
    struct error error;
    const struct operation one = {.tick = 7, .delay = 0, .id = 5, .op = TRACE_START};
    write_trace(&one, 1, 3, 0, "{\"from\":\n\t\"a \\n test\"}\n");
    expect_round_trip(&one, 1);
    struct trace_reader *reader = trace_reader_open(path, &error);
    assert_non_null(reader);
    const struct trace_header *header = trace_reader_header(reader);
    assert_int_equal(header->events, 1);
    assert_int_equal(header->starts, 1);
    assert_int_equal(header->stops, 0);
    assert_int_equal(header->ids, 6);
    assert_int_equal(header->warmup_end_tick, 3);
    assert_int_equal(header->end_tick, 8); /* raised to the tick after the operation */
    assert_int_equal(header->max_delay_ticks, 0);
    assert_string_equal(header->origin, "{\"from\":  \"a \\n test\"} ");
    trace_reader_close(reader);
}

static void test_header_counts(void **state)
{
    (void)state;
    struct error error;
    struct trace_writer *writer = trace_writer_open(path, 250, &error);
    assert_non_null(writer);
    assert_true(trace_writer_add_reaction(writer, 0, 3, TRACE_START, 90,
                                          (struct trace_cause){.slack_ticks = 8}, &error));
    assert_true(trace_writer_add_reaction(writer, 1, 3, TRACE_STOP, 1000,
                                          (struct trace_cause){.slack_ticks = 9}, &error));
    assert_true(trace_writer_add(writer, 1, 3, TRACE_STOP, 0, &error));
    assert_true(trace_writer_commit(writer, 1, 500, 40, "{}", &error));
    struct trace_reader *reader = trace_reader_open(path, &error);
    assert_non_null(reader);
    const struct trace_header *header = trace_reader_header(reader);
    assert_int_equal(header->tick_ns, 250);
    assert_int_equal(header->events, 3);
    assert_int_equal(header->starts, 1);
    assert_int_equal(header->stops, 2);
    assert_int_equal(header->ids, 40);
    assert_int_equal(header->end_tick, 500);
    assert_int_equal(header->max_delay_ticks, 90); /* a stop's delay does not count */
    assert_int_equal(header->max_slack_ticks, 8);
    assert_false(header->causes_known);
    trace_reader_close(reader);
}

static void test_tick_over_blocks(void **state)
{
    (void)state;
    size_t n = 2 * TRACE_BLOCK_RECORDS + 1;
    struct operation *operations = random_operations(n, 0, 1000, 60000);
    write_trace(operations, n, 0, 1, "{}");
    expect_round_trip(operations, n);
    free(operations);
}

static void test_exactly_full_blocks(void **state)
{
    (void)state;
    for (size_t n = TRACE_BLOCK_RECORDS - 1; n <= TRACE_BLOCK_RECORDS + 1; n++) {
        struct operation *operations = random_operations(n, 3, 1000, 60000);
        write_trace(operations, n, 0, 0, "{}");
        expect_round_trip(operations, n);
        free(operations);
    }
}

static void test_widths(void **state)
{
    (void)state;
    /* Every width of every column, and all at their widest. */
    for (unsigned bits = 0; bits <= 62; bits += 2) {
        uint64_t ids = UINT64_C(1) << (bits < 32 ? bits : 32);
        struct operation *operations =
            random_operations(1000, bits <= 50 ? (UINT64_C(1) << bits) - 1 : bits,
                              (uint32_t)(ids < UINT32_MAX ? ids : UINT32_MAX), UINT64_C(1) << bits);
        write_trace(operations, 1000, 0, 0, "{}");
        expect_round_trip(operations, 1000);
        free(operations);
    }
    struct operation *operations =
        random_operations(TRACE_BLOCK_RECORDS, UINT64_C(1) << 46, UINT32_MAX, TRACE_TICK_MAX);
    write_trace(operations, TRACE_BLOCK_RECORDS, 0, 0, "{}");
    expect_round_trip(operations, TRACE_BLOCK_RECORDS);
    free(operations);
}

static void test_limits(void **state)
{
    (void)state;
    struct error error;
    const struct operation furthest[] = {
        {.tick = 0, .delay = 1, .id = UINT32_MAX - 1, .op = TRACE_START},
        {.tick = TRACE_TICK_MAX, .delay = TRACE_TICK_MAX, .id = 0, .op = TRACE_START},
        {.tick = TRACE_TICK_MAX, .delay = 0, .id = UINT32_MAX - 1, .op = TRACE_STOP},
    };
    write_trace(furthest, 3, TRACE_TICK_MAX, TRACE_TICK_MAX, "{}");
    expect_round_trip(furthest, 3);

    assert_null(trace_writer_open(copy, 0, &error));
    assert_null(trace_writer_open(copy, TRACE_TICK_NS_MAX + 1, &error));
    struct trace_writer *writer = trace_writer_open(copy, TRACE_TICK_NS_MAX, &error);
    assert_non_null(writer);
    assert_true(trace_writer_add(writer, 10, 1, TRACE_START, 5, &error));
    assert_false(trace_writer_add(writer, 9, 1, TRACE_START, 5, &error));
    assert_non_null(strstr(error.text, "operation 1"));
    assert_false(trace_writer_add(writer, TRACE_TICK_MAX + 1, 1, TRACE_START, 5, &error));
    assert_false(trace_writer_add(writer, 10, UINT32_MAX, TRACE_START, 5, &error));
    assert_false(trace_writer_add(writer, 10, 1, TRACE_START, TRACE_TICK_MAX + 1, &error));
    assert_int_equal(trace_writer_events(writer), 1);
    assert_false(trace_writer_commit(writer, 12, 11, 0, "{}", &error));
    assert_int_equal(access(copy, F_OK), -1);
    assert_int_equal(test_files_in(folder), 1);
}

static void test_bad_origins(void **state)
{
    (void)state;
    const char *bad[] = {
        "", "[]", "{", "{} {}", "null", "{\"a\": 01}", "{\"a\":\"\n\"}", "{\"a\":1,\"a\":2}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct error error;
        struct trace_writer *writer = trace_writer_open(copy, 1, &error);
        assert_non_null(writer);
        assert_false(trace_writer_commit(writer, 0, 0, 0, bad[i], &error));
        assert_non_null(strstr(error.text, copy));
    }
    assert_int_equal(access(copy, F_OK), -1);
}

static void test_nothing_before_commit(void **state)
{
    (void)state;
    struct error error;
    unsigned before = test_files_in(folder);
    struct trace_writer *writer = trace_writer_open(copy, 1, &error);
    assert_non_null(writer);
    for (unsigned i = 0; i < 3 * TRACE_BLOCK_RECORDS; i++) {
        assert_true(trace_writer_add(writer, i, i, TRACE_START, i, &error));
    }
    assert_int_equal(access(copy, F_OK), -1);
    trace_writer_abort(writer);
    trace_writer_abort(NULL);
    assert_int_equal(test_files_in(folder), before);
    assert_null(trace_writer_open("/nowhere/at/all.trace", 1, &error));
    assert_non_null(strstr(error.text, "/nowhere/at/all.trace"));
}

/* A file of limited size stands for a full disk. In a child, because the limit stays. */
static void test_full_disk(void **state)
{
    (void)state;
    unsigned before = test_files_in(folder);
    for (rlim_t limit = 64; limit < 200000; limit = limit * 2 + 1) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            (void)signal(SIGXFSZ, SIG_IGN);
            const struct rlimit bytes = {.rlim_cur = limit, .rlim_max = limit};
            struct error error = {""};
            bool good = setrlimit(RLIMIT_FSIZE, &bytes) == 0;
            struct trace_writer *writer = trace_writer_open(copy, 1, &error);
            for (unsigned i = 0; good && writer != NULL && i < 2 * TRACE_BLOCK_RECORDS; i++) {
                good = trace_writer_add(writer, i, (uint32_t)(test_draw(&random_state) >> 40),
                                        TRACE_START, test_draw(&random_state) >> 40, &error);
            }
            bool done = writer != NULL && trace_writer_commit(writer, 0, 0, 0, "{}", &error);
            /* Refused, with the file and a reason. */
            _exit(!done && strstr(error.text, copy) != NULL ? 0 : 1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        assert_int_equal(test_files_in(folder), before);
    }
}

/* --- damage ---------------------------------------------------------------------------------- */

static uint8_t *read_file(size_t *bytes)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    *bytes = (size_t)status.st_size;
    uint8_t *content = malloc(*bytes + 1);
    assert_non_null(content);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(content, 1, *bytes, file), *bytes);
    (void)fclose(file);
    return content;
}

static void write_copy(const uint8_t *content, size_t bytes)
{
    FILE *file = fopen(copy, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* Reads the copy to its end. Returns the number of its operations, or -1 with the error. */
static int64_t read_copy(struct error *error)
{
    struct trace_reader *reader = trace_reader_open(copy, error);
    if (reader == NULL) {
        return -1;
    }
    struct trace_block block;
    int64_t events = 0;
    int got;
    while ((got = trace_reader_next(reader, &block, error)) == 1) {
        events += (int64_t)block.record_count;
    }
    trace_reader_close(reader);
    return got == 0 ? events : -1;
}

static void expect_refused(const char *place)
{
    struct error error = {""};
    assert_int_equal(read_copy(&error), -1);
    assert_non_null(strstr(error.text, copy));
    if (strstr(error.text, place) == NULL) {
        fail_msg("'%s' does not name '%s'", error.text, place);
    }
}

static void test_every_byte(void **state)
{
    (void)state;
    struct operation *operations = random_operations(60, 5, 40, 60000);
    write_trace(operations, 60, 10, 0, "{\"workload\":\"test\"}");
    free(operations);
    size_t bytes;
    uint8_t *content = read_file(&bytes);
    struct error error;
    write_copy(content, bytes);
    assert_int_equal(read_copy(&error), 60);
    for (size_t i = 0; i < bytes; i++) {
        const uint8_t flips[] = {0x01, 0x80, 0xff};
        for (size_t k = 0; k < sizeof flips; k++) {
            content[i] ^= flips[k];
            write_copy(content, bytes);
            expect_refused("");
            content[i] ^= flips[k];
        }
    }
    for (size_t n = 0; n < bytes; n++) {
        write_copy(content, n);
        expect_refused(n < TRACE_MAGIC_BYTES ? "not a timerlab trace" : "truncated");
    }
    content[bytes] = 0;
    write_copy(content, bytes + 1);
    expect_refused("1 bytes too many");
    free(content);
}

static void test_damage_names_the_block(void **state)
{
    (void)state;
    size_t n = 3 * TRACE_BLOCK_RECORDS;
    struct operation *operations = random_operations(n, 2, 100000, 60000);
    write_trace(operations, n, 0, 0, "{}");
    free(operations);
    size_t bytes;
    uint8_t *content = read_file(&bytes);
    size_t at = TRACE_HEADER_BYTES;
    for (unsigned block = 0; block < 3; block++) {
        char place[32];
        (void)snprintf(place, sizeof place, ": block %u: ", block);
        size_t stored = trace_get_u32(content + at + TRACE_SECTION_AT_STORED);
        /* Cut before the block: a whole number of blocks is there, and yet too few. */
        write_copy(content, at);
        expect_refused(place);
        write_copy(content, at + TRACE_SECTION_BYTES + stored - 1);
        expect_refused(place);
        content[at + TRACE_SECTION_BYTES + stored / 2] ^= 4;
        write_copy(content, bytes);
        expect_refused(place);
        content[at + TRACE_SECTION_BYTES + stored / 2] ^= 4;
        at += TRACE_SECTION_BYTES + stored;
    }
    write_copy(content, at);
    expect_refused("after the last block, 3");
    free(content);
}

/* Correct the checksums of a deliberately changed header. */
static void seal_header(uint8_t *content)
{
    trace_put_u64(content + TRACE_AT_CHECKSUM, XXH3_64bits(content, TRACE_AT_CHECKSUM));
}

static void test_lying_headers(void **state)
{
    (void)state;
    const struct operation operations[] = {
        {.tick = 10, .delay = 100, .id = 8, .op = TRACE_START},
        {.tick = 20, .delay = 0, .id = 8, .op = TRACE_STOP},
    };
    write_trace(operations, 2, 10, 30, "{}");
    size_t bytes;
    uint8_t *content = read_file(&bytes);
    const struct {
        unsigned at;
        uint64_t value;
        const char *place;
    } lies[] = {
        {TRACE_AT_EVENTS, 3, "header"},
        {TRACE_AT_STARTS, 2, "header"},
        {TRACE_AT_BLOCKS, 3, "header"},
        {TRACE_AT_BLOCKS, 2, "origin"},
        {TRACE_AT_BLOCKS, 0, "origin"},
        {TRACE_AT_TICK_NS, 0, "header"},
        {TRACE_AT_WARMUP_END, 31, "header"},
        {TRACE_AT_END, TRACE_TICK_MAX + 2, "header"},
        {TRACE_AT_IDS, UINT64_C(1) << 32, "header"},
        {TRACE_AT_MAX_DELAY, TRACE_TICK_MAX + 1, "header"},
        {TRACE_AT_MAX_DELAY, 99, "block 0"},
        {TRACE_AT_MAX_DELAY, 101, "sums contradict"},
        {TRACE_AT_IDS, 8, "block 0"},
        {TRACE_AT_END, 20, "block 0"},
        {TRACE_AT_ORIGIN, 0, "origin"},
        {TRACE_AT_ORIGIN, UINT64_MAX, "header"},
        {TRACE_AT_FILE_BYTES, UINT64_MAX, "truncated"},
        {TRACE_AT_VERSION, TRACE_FORMAT_VERSION + 1, "version"},
        {TRACE_AT_VERSION, 1, "version"},
        {TRACE_AT_CAUSES_KNOWN, 2, "header"},
        {TRACE_AT_CAUSES_KNOWN, UINT64_C(6) << 32, "sums contradict"},
    };
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        uint8_t kept[8];
        (void)memcpy(kept, content + lies[i].at, sizeof kept);
        if (lies[i].at == TRACE_AT_VERSION) {
            trace_put_u32(content + lies[i].at, (uint32_t)lies[i].value);
        } else {
            trace_put_u64(content + lies[i].at, lies[i].value);
        }
        seal_header(content);
        write_copy(content, bytes);
        expect_refused(lies[i].place);
        (void)memcpy(content + lies[i].at, kept, sizeof kept);
    }
    /* The sums detect one start and one stop turned into two stops. */
    trace_put_u64(content + TRACE_AT_STARTS, 0);
    trace_put_u64(content + TRACE_AT_STOPS, 2);
    seal_header(content);
    write_copy(content, bytes);
    expect_refused("sums contradict");
    free(content);
}

static void test_not_a_trace(void **state)
{
    (void)state;
    struct error error;
    const char text[] = "tick,id,op,delay\n1,0,start,5\n";
    write_copy((const uint8_t *)text, sizeof text - 1);
    expect_refused("not a timerlab trace");
    assert_null(trace_reader_open(folder, &error));
    assert_non_null(strstr(error.text, "not a regular file"));
    assert_null(trace_reader_open("/nowhere.trace", &error));
    assert_non_null(strstr(error.text, "/nowhere.trace"));
}

/* A caller has room for as many operations as the header names, and is given no more. */
static void test_excess(void **state)
{
    (void)state;
    struct error error;
    size_t n = TRACE_BLOCK_RECORDS + 10;
    struct operation *operations = random_operations(n, 3, 1000, 60000);
    write_trace(operations, n, 0, 0, "{}");
    free(operations);
    size_t bytes;
    uint8_t *content = read_file(&bytes);
    trace_put_u64(content + TRACE_AT_EVENTS, TRACE_BLOCK_RECORDS);
    trace_put_u64(content + TRACE_AT_STARTS, TRACE_BLOCK_RECORDS);
    trace_put_u64(content + TRACE_AT_STOPS, 0);
    /* The first block has no reactions. With one in the header there is no room for it either. */
    for (uint64_t reactions = 0; reactions < 2; reactions++) {
        trace_put_u64(content + TRACE_AT_REACTIONS, reactions);
        seal_header(content);
        write_copy(content, bytes);
        struct trace_reader *reader = trace_reader_open(copy, &error);
        assert_non_null(reader);
        struct trace_block block;
        if (reactions == 0) {
            assert_int_equal(trace_reader_next(reader, &block, &error), 1);
            assert_int_equal(block.record_count, TRACE_BLOCK_RECORDS);
        }
        assert_int_equal(trace_reader_next(reader, &block, &error), -1);
        assert_non_null(strstr(error.text, "sums contradict"));
        trace_reader_close(reader);
    }
    free(content);
}

/* All decoded operations keep to the limits below. */
static void expect_within_limits(const struct trace_decoded *decoded, uint32_t n)
{
    uint32_t records = 0;
    for (uint32_t g = 0; g < decoded->group_count; g++) {
        const struct trace_group *group = &decoded->groups[g];
        assert_in_range(group->tick, g > 0 ? group[-1].tick + 1 : 100, 1999);
        assert_int_equal(group->first, records);
        for (; records < group->first + group->count; records++) {
            const struct trace_record *record = &decoded->records[records];
            assert_true(record->id < 50);
            if (record->op == TRACE_START) {
                assert_in_range(record->deadline, group->tick, group->tick + 300);
            } else {
                assert_int_equal(record->op, TRACE_STOP);
                assert_int_equal(record->deadline, 0);
            }
            if (decoded->has_causes) {
                assert_true(decoded->causes[records].slack_ticks <= decoded->max_slack_ticks);
                assert_true(decoded->causes[records].id < 50);
                assert_in_range(decoded->causes[records].basis, TRACE_EXTERNAL,
                                record->op == TRACE_STOP ? TRACE_FIXED_DELAY : TRACE_ABSOLUTE);
            }
        }
    }
    assert_int_equal(records, n);
}

/* Not detectable by a checksum: a block made to deceive. The decoder accepts only blocks within the
 * limits; the sanitizers watch the rest. */
static void test_hostile_blocks(void **state)
{
    (void)state;
    struct trace_columns *columns = malloc(sizeof *columns);
    struct trace_decoded *decoded = calloc(1, sizeof *decoded);
    uint8_t *raw = malloc(TRACE_BLOCK_RAW_MAX);
    assert_non_null(columns);
    assert_non_null(decoded);
    assert_non_null(raw);
    const struct trace_header limits = {
        .end_tick = 2000, .max_delay_ticks = 300, .max_slack_ticks = UINT32_MAX, .ids = 50};
    unsigned accepted = 0;
    unsigned refused = 0;
    for (unsigned round = 0; round < 20000; round++) {
        trace_columns_clear(columns);
        uint32_t n = 1 + (uint32_t)(test_draw(&random_state) % 40);
        uint64_t tick = 100;
        for (uint32_t i = 0; i < n; i++) {
            tick += test_draw(&random_state) % 3;
            enum trace_op op = test_draw(&random_state) % 2 != 0 ? TRACE_STOP : TRACE_START;
            trace_columns_add(columns, tick, (uint32_t)(test_draw(&random_state) % 50), op,
                              test_draw(&random_state) % 301, random_cause(op, 50, round % 3));
        }
        size_t bytes = trace_columns_encode(columns, raw);
        assert_null(trace_block_decode(raw, bytes, n, 100, &limits, decoded));
        for (unsigned k = (unsigned)(test_draw(&random_state) % 3) + 1; k > 0; k--) {
            raw[test_draw(&random_state) %
                (test_draw(&random_state) % 2 != 0 ? bytes : TRACE_BLOCK_PREFIX_BYTES)] =
                (uint8_t)test_draw(&random_state);
        }
        size_t cut =
            test_draw(&random_state) % 8 == 0 ? test_draw(&random_state) % (bytes + 1) : bytes;
        /* Exactly as much memory as the decoder may read. */
        uint8_t *exact = malloc(cut > 0 ? cut : 1);
        assert_non_null(exact);
        (void)memcpy(exact, raw, cut);
        if (test_draw(&random_state) % 8 == 0) {
            n = (uint32_t)(test_draw(&random_state) % 64);
        }
        if (trace_block_decode(exact, cut, n, 100, &limits, decoded) != NULL) {
            refused++;
        } else {
            accepted++;
            expect_within_limits(decoded, n);
        }
        free(exact);
    }
    /* Both happen, or the test tests nothing. */
    assert_true(accepted > 100);
    assert_true(refused > 100);
    free(raw);
    free(decoded);
    free(columns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_one),
        cmocka_unit_test(test_header_counts),
        cmocka_unit_test(test_tick_over_blocks),
        cmocka_unit_test(test_exactly_full_blocks),
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_bad_origins),
        cmocka_unit_test(test_nothing_before_commit),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_every_byte),
        cmocka_unit_test(test_damage_names_the_block),
        cmocka_unit_test(test_lying_headers),
        cmocka_unit_test(test_excess),
        cmocka_unit_test(test_not_a_trace),
        cmocka_unit_test(test_hostile_blocks),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
