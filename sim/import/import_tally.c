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

bool import_tally_bearable(const struct import_tally *tally, bool at_end, struct error *error)
{
    if (tally->malformed == 0 ||
        (double)tally->malformed <= tally->max_malformed * (double)(tally->lines - tally->blank)) {
        return true;
    }
    if (!at_end && (tally->lines < HOPELESS_LINES || tally->malformed <= tally->lines / 2)) {
        return true;
    }
    const struct tally_sample *first = &tally->samples[0];
    return error_set(error,
                     "%s: %" PRIu64 " of %" PRIu64 " %ss are not understood, first %s %" PRIu64
                     ": %s; if the file is right all the same, allow more of them with "
                     "--max-malformed",
                     tally->name, tally->malformed, tally->lines, tally->unit, tally->unit,
                     first->number, first->why);
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
            good = good && import_tally_bearable(tally, false, error);
        }
    }
    progress_end(&progress);
    return good && status == 0;
}

void import_doubt(struct import_tally *tally, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)fprintf(tally->job->report, "warning: %s: %s\n", tally->name, text);
    if (tally->doubts == NULL) {
        tally->doubts = json_array();
    }
    (void)json_array_append_new(tally->doubts, json_text(text));
}

void import_doubt_gap(struct import_tally *tally, uint64_t gap_ns, uint64_t at_ns, uint64_t span_ns)
{
    if (gap_ns > DAY_NS && gap_ns > span_ns / 2) {
        import_doubt(tally,
                     "nothing happens for %.1f days, from %.6f s after its beginning on: are two "
                     "recordings joined, or is a time stamp wrong? Pending timers expire in "
                     "between, and rates are those of the whole time; cut it there",
                     (double)gap_ns / (double)DAY_NS, (double)at_ns / 1e9);
    }
}

void import_doubt_seconds(struct import_tally *tally, uint64_t at_once)
{
    import_doubt(tally,
                 "its times are whole seconds, so that all of a second happens in one tick, up to "
                 "%" PRIu64 " events: the bursts and pauses of the trace are the clock's, not the "
                 "traffic's; record milliseconds, as nginx's $msec or Apache's %%{msec}t do",
                 at_once);
}

void import_tally_free(struct import_tally *tally)
{
    json_decref(tally->doubts);
    tally->doubts = NULL;
}

void import_tally_print(const struct import_tally *tally)
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

void import_counts_print(FILE *out, const struct import_count *counts, size_t count)
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

json_t *import_json_count(uint64_t count)
{
    return json_integer((json_int_t)count);
}

json_t *import_origin(const struct import_tally *tally, const char *format,
                      const struct import_count *counts, size_t count)
{
    const char *slash = strrchr(tally->name, '/');
    json_t *origin = json_object();
    (void)json_object_set_new(origin, "format", json_string(format));
    (void)json_object_set_new(origin, "file", json_text(slash != NULL ? slash + 1 : tally->name));
    json_t *numbers = json_object();
    for (size_t i = 0; i < count; i++) {
        (void)json_object_set_new(numbers, counts[i].name, import_json_count(counts[i].count));
    }
    (void)json_object_set_new(origin, "counts", numbers);
    if (tally->doubts != NULL) {
        (void)json_object_set(origin, "warnings", tally->doubts);
    }
    return origin;
}

char *import_origin_text(json_t *origin)
{
    char *text = json_dumps(origin, JSON_COMPACT);
    json_decref(origin);
    return text;
}
