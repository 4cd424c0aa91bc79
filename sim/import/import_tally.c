#include "import_tally.h"

#include "json_text.h"
#include "memory.h"
#include "progress.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* If more than half is malformed after this number of lines, the file has another format: no
 * need to read the rest. */
#define HOPELESS_LINES 10000u

#define DAY_NS         (UINT64_C(86400) * 1000000000)

void import_tally_malformed(struct import_tally *tally, uint64_t number, const char *text,
                            size_t length, const char *why)
{
    uint64_t n = tally->malformed++;
    if (n >= TALLY_SAMPLES) {
        return;
    }
    struct tally_sample *sample = &tally->samples[n];
    sample->number = number;
    sample->why = why;
    if (length > TALLY_SAMPLE_BYTES) {
        length = TALLY_SAMPLE_BYTES;
    }
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        sample->text[i] = (char)(c >= ' ' && c <= '~' ? c : '.');
    }
    sample->text[length] = '\0';
}

bool import_tally_accept(const struct import_tally *tally, bool at_end, struct error *error)
{
    if (tally->malformed == 0 ||
        (double)tally->malformed <= tally->max_malformed * (double)(tally->lines - tally->blank)) {
        return true;
    }
    if (!at_end && (tally->lines < HOPELESS_LINES || tally->malformed <= tally->lines / 2)) {
        return true;
    }
    const struct tally_sample *first = &tally->samples[0];
    bool none = tally->malformed == tally->lines - tally->blank;
    return error_set(error,
                     "%s: %" PRIu64 " of %" PRIu64 " %ss are not understood, first %s %" PRIu64
                     ": %s; %s",
                     tally->name, tally->malformed, tally->lines, tally->unit, tally->unit,
                     first->number, first->why,
                     none ? "is it of another format? `timerlab trace import --list` shows all"
                          : "if the file is right all the same, allow more of them with "
                            "--max-malformed");
}

bool import_tally_end(const struct import_tally *tally, uint64_t found, const char *expected,
                      struct error *error)
{
    if (tally->lines == 0) {
        return error_set(error, "%s: is empty: no %s to import", tally->name, tally->unit);
    }
    return import_tally_accept(tally, true, error) &&
           (found > 0 || error_set(error, "%s: none of its %" PRIu64 " %ss %s", tally->name,
                                   tally->lines, tally->unit, expected));
}

bool import_tally_forward(const struct import_tally *tally, uint64_t earlier, struct error *error)
{
    return earlier <= tally->lines / 2 ||
           error_set(error,
                     "%s: most of its %ss are earlier than one before them: it runs backwards; "
                     "turn it round with tac, or sort it by time",
                     tally->name, tally->unit);
}

bool import_tally_read(struct import_tally *tally, struct line_reader *reader, tally_line_fn take,
                       void *ctx, struct error *error)
{
    struct progress progress;
    progress_begin(&progress, "import", "bytes", line_reader_bytes_total(reader));
    struct line line;
    int status;
    bool good = true;
    while (good && (status = line_reader_next(reader, &line, error)) == 1) {
        tally->lines++;
        good = take(ctx, &line, error);
        if ((tally->lines & 4095) == 0) {
            progress_update(&progress, line_reader_bytes_done(reader));
            good = good && import_tally_accept(tally, false, error);
        }
    }
    progress_end(&progress);
    return good && status == 0;
}

void import_warn(struct import_tally *tally, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = memory_format_list(format, arguments);
    va_end(arguments);
    (void)fprintf(tally->job->report, "warning: %s: %s\n", tally->name, text);
    if (tally->warnings == NULL) {
        tally->warnings = json_array();
    }
    (void)json_array_append_new(tally->warnings, json_text(text));
    free(text);
}

void import_warn_gap(struct import_tally *tally, const struct import_times *times)
{
    if (times->gap_ns > DAY_NS && times->gap_ns > import_times_span_ns(times) / 2) {
        import_warn(tally,
                    "nothing happens for %.1f days, from %.6f s after its beginning on: are two "
                    "recordings joined, or is a time stamp wrong? Pending timers expire in "
                    "between, and rates are those of the whole time; cut it there",
                    (double)times->gap_ns / (double)DAY_NS,
                    (double)(times->gap_from_ns - times->first_ns) / 1e9);
    }
}

void import_warn_seconds(struct import_tally *tally, const struct import_times *times,
                         uint64_t tick_ns)
{
    if (!times->finer_than_seconds && tick_ns < 1000000000 && import_times_span_ns(times) > 0) {
        import_warn(tally,
                    "its times are whole seconds, so that all of a second happens in one tick, up "
                    "to %" PRIu64 " events: the bursts and pauses of the trace are the clock's, "
                    "not the traffic's; record milliseconds, as nginx's $msec or Apache's "
                    "%%{msec}t do",
                    times->most_at_once);
    }
}

static void print_samples(const struct import_tally *tally)
{
    FILE *out = tally->job->report;
    for (uint64_t i = 0; i < tally->malformed && i < TALLY_SAMPLES; i++) {
        const struct tally_sample *sample = &tally->samples[i];
        (void)fprintf(out, "%s: %s %" PRIu64 ": %s", tally->name, tally->unit, sample->number,
                      sample->why);
        if (sample->text[0] != '\0') {
            (void)fprintf(out, ": \"%s\"", sample->text);
        }
        (void)fputc('\n', out);
    }
    if (tally->malformed > TALLY_SAMPLES) {
        (void)fprintf(out, "%s: %" PRIu64 " more %ss are not understood\n", tally->name,
                      tally->malformed - TALLY_SAMPLES, tally->unit);
    }
}

void import_tally_close(struct import_tally *tally, bool done)
{
    if (!done) {
        print_samples(tally);
    }
    json_decref(tally->warnings);
}

static void print_counts(FILE *out, const struct import_count *counts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(out, "  %-22s %12" PRIu64 "%s", counts[i].name, counts[i].count,
                      i % 2 == 1 || i + 1 == count ? "\n" : "    ");
    }
}

void import_causes_print(const struct import_tally *tally, uint64_t reactions, const char *rule)
{
    (void)fprintf(tally->job->report, "%s: reactions %" PRIu64 ": %s\n", tally->job->output,
                  reactions, rule);
}

json_t *import_counts_json(const struct import_count *counts, size_t count)
{
    json_t *numbers = json_object();
    for (size_t i = 0; i < count; i++) {
        (void)json_object_set_new(numbers, counts[i].name,
                                  json_integer((json_int_t)counts[i].count));
    }
    return numbers;
}

static char *origin_text(const struct import_tally *tally, const struct import_summary *summary)
{
    const char *slash = strrchr(tally->name, '/');
    json_t *origin = json_object();
    (void)json_object_set_new(origin, "format", json_string(summary->format));
    (void)json_object_set_new(origin, "file", json_text(slash != NULL ? slash + 1 : tally->name));
    (void)json_object_set_new(origin, "counts",
                              import_counts_json(summary->counts, summary->count_count));
    (void)json_object_set(origin, "warnings", tally->warnings);
    (void)json_object_set_new(origin, "duration_ns", json_integer((json_int_t)summary->span_ns));
    (void)json_object_set_new(origin, "causes", json_string(summary->causes));
    (void)json_object_update_missing(origin, summary->details);
    char *text = json_dumps(origin, JSON_COMPACT);
    json_decref(origin);
    return text;
}

static void print_summary(const struct import_tally *tally, const struct import_summary *summary)
{
    FILE *out = tally->job->report;
    print_samples(tally);
    (void)fprintf(out, "%s: %" PRIu64 " %ss, %.6f s%s, tick %" PRIu64 " ns\n\n", tally->name,
                  tally->lines, tally->unit, (double)summary->span_ns / 1e9,
                  summary->clock != NULL ? summary->clock : "", summary->tick_ns);
    print_counts(out, summary->counts, summary->count_count);
    (void)fprintf(out, "\n%s: %" PRIu64 " starts and %" PRIu64 " stops of %" PRIu64 " timers\n",
                  tally->job->output, summary->starts, summary->stops, summary->timers);
    import_causes_print(tally, summary->reactions, summary->causes);
}

bool import_finish(struct import_tally *tally, const struct import_summary *summary,
                   struct error *error)
{
    char *text = origin_text(tally, summary);
    bool good = trace_writer_commit(summary->writer, 0, summary->end_tick, 0, text, error);
    free(text);
    if (good) {
        print_summary(tally, summary);
    }
    json_decref(summary->details);
    return good;
}
