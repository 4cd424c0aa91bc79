/* Rows about texts and traces: scanning, importing, generating and decoding. */
#include "traces.h"

#include "clock.h"
#include "memory.h"
#include "statistics.h"
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCAN_BYTES = 1 << 17 };

bool rounds_go_on(const struct trace_row *row, const struct bench_measured *out)
{
    return out->batches == 0 ||
           (out->batches < ROUNDS_MAX && (double)out->elapsed_ns < row->settings->min_time_s * 1e9);
}

void rounds_add(struct rounds *rounds, const char *name, double value)
{
    struct round_figure *figure = rounds->figures;
    while (figure < rounds->figures + rounds->count && strcmp(figure->name, name) != 0) {
        figure++;
    }
    rounds->count += figure == rounds->figures + rounds->count;
    figure->name = name;
    figure->values[figure->count++] = value;
}

void rounds_report(const struct rounds *rounds, struct bench_measured *out)
{
    for (size_t i = 0; i < rounds->count; i++) {
        const struct round_figure *figure = &rounds->figures[i];
        bench_add_counter(out, figure->name, stats_median(figure->values, figure->count));
    }
}

static bool make_folder(struct trace_settings *settings, struct error *error)
{
    temporary_files_lie_in_memory(); /* so that no disk is measured */
    return settings->made.folder[0] != '\0' || temporary_make(&settings->made, error);
}

/* --- texts ----------------------------------------------------------------------------------- */

static bool scan_text(const struct import_file *text, uint64_t *lines, struct error *error)
{
    static char buffer[SCAN_BYTES];
    int file = open(text->path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return error_set(error, "%s: %s", text->path, strerror(errno));
    }
    ssize_t n;
    *lines = 0;
    while ((n = read(file, buffer, sizeof buffer)) > 0) {
        const char *end = buffer + n;
        for (const char *at = buffer; (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++) {
            ++*lines;
        }
    }
    (void)close(file);
    return n == 0 || error_set(error, "%s: %s", text->path, strerror(errno));
}

/* Make the text if it is one to be made, and count its bytes and lines. */
static bool prepare_text(struct trace_settings *settings, struct import_file *text,
                         struct error *error)
{
    if (text->lines > 0) {
        return true;
    }
    if (!make_folder(settings, error)) {
        return false;
    }
    if (text->recording != NULL) {
        (void)snprintf(text->path, sizeof text->path, "%.*s/%s", PATH_MAX - 64,
                       settings->made.folder, text->recording->format);
        FILE *stream = memory_unless_short(fopen(text->path, "w"));
        if (stream == NULL) {
            return error_set(error, "%s: %s", text->path, strerror(errno));
        }
        text->recording->write(stream, settings->lines);
        if (fclose(stream) != 0) {
            return error_set(error, "%s: %s", text->path, strerror(errno));
        }
    }
    struct stat status;
    if (stat(text->path, &status) != 0) {
        return error_set(error, "%s: %s", text->path, strerror(errno));
    }
    text->bytes = (uint64_t)status.st_size;
    return scan_text(text, &text->lines, error) &&
           (text->lines > 0 || error_set(error, "%s: has no line", text->path));
}

static bool import_text(const struct trace_row *row, struct error *error)
{
    FILE *nowhere = memory_unless_short(fopen("/dev/null", "w"));
    if (nowhere == NULL) {
        return error_set(error, "/dev/null: %s", strerror(errno));
    }
    const struct import_job job = {
        .input = row->text->path, .output = row->settings->made.file, .report = nowhere};
    enum import_result result = row->text->format->run(&job, error);
    (void)fclose(nowhere);
    return result == IMPORT_DONE;
}

bool rows_scan(const struct trace_row *row, struct bench_measured *out, struct error *error)
{
    if (!prepare_text(row->settings, row->text, error)) {
        return false;
    }
    while (rounds_go_on(row, out)) {
        uint64_t lines;
        uint64_t begun = clock_processor_ns();
        if (!scan_text(row->text, &lines, error)) {
            return false;
        }
        out->elapsed_ns += clock_processor_ns() - begun;
        out->operations += lines;
        out->batches++;
    }
    double bytes = (double)row->text->bytes * (double)out->batches;
    bench_add_counter(out, "bytes_per_second", bytes * 1e9 / (double)out->elapsed_ns);
    return true;
}

bool rows_import(const struct trace_row *row, struct bench_measured *out, struct error *error)
{
    struct rounds rounds = {0};
    const struct import_file *text = row->text;
    if (!prepare_text(row->settings, row->text, error)) {
        return false;
    }
    while (rounds_go_on(row, out)) {
        uint64_t lines;
        uint64_t begun = clock_processor_ns();
        if (!scan_text(text, &lines, error)) {
            return false;
        }
        uint64_t scanned = clock_processor_ns();
        if (!import_text(row, error)) {
            return false;
        }
        uint64_t import_ns = clock_processor_ns() - scanned;
        double scan_ns = (double)(scanned - begun);
        rounds_add(&rounds, "bytes_per_second", (double)text->bytes * 1e9 / (double)import_ns);
        rounds_add(&rounds, "limit_ns", scan_ns / (double)text->lines);
        rounds_add(&rounds, "times_scan", (double)import_ns / scan_ns);
        out->elapsed_ns += import_ns;
        out->operations += text->lines;
        out->batches++;
    }
    rounds_report(&rounds, out);
    return true;
}

/* --- traces ---------------------------------------------------------------------------------- */

static bool generate(struct trace_settings *settings, struct model *model,
                     struct gen_summary *summary, struct error *error)
{
    const struct gen_workload *workload = gen_find(model->workload, error);
    if (workload == NULL || !make_folder(settings, error)) {
        return false;
    }
    struct gen_part part = {.workload = workload, .connections = model->connections};
    gen_parameters_default(workload, part.parameters);
    const struct gen_request request = {
        .parts = &part, .part_count = 1, .seconds = model->seconds, .seed = 1};
    (void)snprintf(model->path, sizeof model->path, "%s/%s-%" PRIu32 "-%g.trace",
                   settings->made.folder, model->workload, model->connections, model->seconds);
    return gen_trace(&request, model->path, summary, error);
}

bool model_prepare(struct trace_settings *settings, struct model *model, struct error *error)
{
    struct gen_summary summary;
    return (model->path[0] != '\0' && access(model->path, R_OK) == 0) ||
           generate(settings, model, &summary, error);
}

bool rows_generate(const struct trace_row *row, struct bench_measured *out, struct error *error)
{
    struct gen_summary summary;
    struct stat status;
    uint64_t begun = clock_processor_ns();
    if (!generate(row->settings, row->model, &summary, error)) {
        return false;
    }
    out->elapsed_ns = clock_processor_ns() - begun;
    out->operations = summary.generated_events;
    out->batches = 1;
    if (stat(row->model->path, &status) != 0) {
        return error_set(error, "%s: %s", row->model->path, strerror(errno));
    }
    double recorded = (double)summary.recorded_events;
    bench_add_counter(out, "bytes_per_event", (double)status.st_size / recorded);
    bench_add_counter(out, "recorded_share", recorded / (double)summary.generated_events);
    return true;
}

bool rows_decode(const struct trace_row *row, struct bench_measured *out, struct error *error)
{
    struct trace_reader *reader = model_prepare(row->settings, row->model, error)
                                      ? trace_reader_open(row->model->path, error)
                                      : NULL;
    bool good = reader != NULL;
    while (good && rounds_go_on(row, out)) {
        struct trace_block block;
        int more = 0;
        uint64_t begun = clock_processor_ns();
        trace_reader_rewind(reader);
        while ((more = trace_reader_next(reader, &block, error)) == 1) {
            out->operations += block.record_count;
        }
        out->elapsed_ns += clock_processor_ns() - begun;
        out->batches++;
        good = good && more == 0;
    }
    trace_reader_close(reader);
    return good;
}
