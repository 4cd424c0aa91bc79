#include "import_run.h"

#include "test.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/timerlab-import-XXXXXX";
static bool made;

const char *temporary_path(const char *name)
{
    static char paths[4][320];
    static unsigned next;
    if (!made) {
        assert_non_null(mkdtemp(folder));
        made = true;
    }
    char *path = paths[next++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

const char *temporary_file(const char *name, const void *bytes, size_t count)
{
    const char *path = temporary_path(name);
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, count, stream), count);
    assert_int_equal(fclose(stream), 0);
    return path;
}

/* Counts the folder's files; removes them if asked to. */
static size_t visit(bool removing)
{
    DIR *directory = made ? opendir(folder) : NULL;
    size_t count = 0;
    struct dirent *entry;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] != '.') {
            count++;
            if (removing) {
                (void)unlink(temporary_path(entry->d_name));
            }
        }
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    return count;
}

size_t temporary_files(void)
{
    return visit(false);
}

void temporary_files_remove(void)
{
    (void)visit(true);
    if (made) {
        (void)rmdir(folder);
    }
}

struct import_run import_run(const char *format_name, const char *input,
                             const char *const *settings)
{
    struct import_run run = {0};
    run.output = strdup(temporary_path("out.trace"));
    assert_non_null(run.output);
    (void)unlink(run.output);
    struct import_setting list[16];
    size_t count = 0;
    for (; settings != NULL && settings[2 * count] != NULL; count++) {
        list[count] = (struct import_setting){settings[2 * count], settings[2 * count + 1]};
    }
    size_t report_bytes;
    FILE *report = open_memstream(&run.report, &report_bytes);
    assert_non_null(report);
    const struct import_job job = {.input = input,
                                   .output = run.output,
                                   .settings = list,
                                   .setting_count = count,
                                   .report = report};
    const struct import_format *format = import_format_find(format_name, &run.error);
    assert_non_null(format);
    for (size_t i = 0; i < count; i++) {
        if (import_option_find(format, list[i].name) == NULL) {
            fail_msg("%s has no option --%s", format_name, list[i].name);
        }
    }
    run.result = format->run(&job, &run.error);
    (void)fclose(report);
    if (run.result != IMPORT_DONE) {
        assert_int_not_equal(run.error.text[0], '\0');
        assert_int_not_equal(access(run.output, F_OK), 0);
        return run;
    }
    struct trace_reader *reader = trace_reader_open(run.output, &run.error);
    if (reader == NULL) {
        fail_msg("%s", run.error.text);
    }
    run.header = *trace_reader_header(reader);
    run.origin = json_loads(run.header.origin, 0, NULL);
    run.header.origin = NULL;
    assert_non_null(run.origin);
    trace_reader_close(reader);
    return run;
}

void import_run_free(struct import_run *run)
{
    json_decref(run->origin);
    free(run->report);
    free(run->output);
}

int64_t import_run_number(const struct import_run *run, const char *path)
{
    char copy[128];
    (void)snprintf(copy, sizeof copy, "%s", path);
    const json_t *value = run->origin;
    char *rest = NULL;
    for (char *key = strtok_r(copy, ".", &rest); key != NULL; key = strtok_r(NULL, ".", &rest)) {
        value = json_object_get(value, key);
    }
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : -1;
}

char *import_run_operations(const struct import_run *run)
{
    struct error error;
    struct trace_reader *reader = trace_reader_open(run->output, &error);
    assert_non_null(reader);
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    struct trace_block block;
    while (trace_reader_next(reader, &block, &error) == 1) {
        for (size_t g = 0; g < block.group_count; g++) {
            const struct trace_group *group = &block.groups[g];
            for (uint32_t i = group->first; i < group->first + group->count; i++) {
                const struct trace_record *record = &block.records[i];
                (void)fprintf(stream, "%" PRIu64 ",%" PRIu32, group->tick, record->id);
                if (record->op == TRACE_START) {
                    (void)fprintf(stream, ",start,%" PRIu64, record->deadline - group->tick);
                } else {
                    (void)fputs(",stop", stream);
                }
                if (block.causes != NULL && block.causes[i].basis != TRACE_EXTERNAL) {
                    static const char *const letters[] = {"", "", "r", "a"};
                    (void)fprintf(stream, " by %" PRIu32 "%s", block.causes[i].id,
                                  letters[block.causes[i].basis]);
                }
                if (block.causes != NULL && block.causes[i].slack_ticks > 0) {
                    (void)fprintf(stream, " slack %" PRIu32, block.causes[i].slack_ticks);
                }
                (void)fputc('\n', stream);
            }
        }
    }
    (void)fclose(stream);
    trace_reader_close(reader);
    return text;
}

/* Of a timer: when it is due by its last operation, and by the last of an earlier tick. */
struct due_ticks {
    uint64_t last_tick; /* of that last operation */
    uint64_t last;      /* UINT64_MAX: none, or a stop */
    uint64_t before;
};

static void check_cause(const struct due_ticks *cause, uint64_t tick, uint64_t event)
{
    uint64_t due = cause->last_tick < tick ? cause->last : cause->before;
    if (due != tick) {
        fail_msg("operation %" PRIu64 ", at tick %" PRIu64 ": its cause is due at tick %" PRIu64,
                 event, tick, due);
    }
}

static void check_block(const struct trace_block *block, struct due_ticks *timers)
{
    const struct trace_group *group = block->groups;
    for (uint32_t i = 0; i < block->record_count; i++) {
        group += i == group->first + group->count;
        const struct trace_record *record = &block->records[i];
        struct due_ticks *timer = &timers[record->id];
        uint64_t tick = group->tick;
        if (block->causes != NULL && block->causes[i].basis != TRACE_EXTERNAL) {
            check_cause(&timers[block->causes[i].id], tick, block->first_event + i);
        }
        timer->before = timer->last_tick < tick ? timer->last : timer->before;
        timer->last_tick = tick;
        timer->last = UINT64_MAX;
        if (record->op == TRACE_START) {
            timer->last = record->deadline > tick ? record->deadline : tick + 1;
        }
    }
}

void import_run_check_causes(const struct import_run *run)
{
    struct error error;
    struct trace_reader *reader = trace_reader_open(run->output, &error);
    assert_non_null(reader);
    struct due_ticks *timers = calloc((size_t)run->header.ids + 1, sizeof *timers);
    assert_non_null(timers);
    for (uint32_t i = 0; i < run->header.ids; i++) {
        timers[i] = (struct due_ticks){0, UINT64_MAX, UINT64_MAX};
    }
    struct trace_block block;
    int status;
    while ((status = trace_reader_next(reader, &block, &error)) == 1) {
        check_block(&block, timers);
    }
    assert_int_equal(status, 0);
    free(timers);
    trace_reader_close(reader);
}
