#include "trace_portrait.h"

#include "outfile.h"
#include "plots_folder.h"
#include "program.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const series_words[] = {[PORTRAIT_START] = "start",
                                           [PORTRAIT_RESTART] = "restart",
                                           [PORTRAIT_STOP] = "stop",
                                           [PORTRAIT_EXPIRY] = "expiry"};

/* Bars of the delays for each power of ten. */
#define BARS_PER_DECADE 10.0

void trace_portrait_begin(struct trace_portrait *portrait, const struct trace_header *header)
{
    *portrait = (struct trace_portrait){.tick_ns = header->tick_ns,
                                        .first_tick = header->warmup_end_tick,
                                        .end_tick = header->end_tick};
    if (portrait->end_tick == portrait->first_tick) {
        portrait->end_tick++; /* an empty window is shown as one empty tick */
    }
    uint64_t ticks = portrait->end_tick - portrait->first_tick;
    portrait->stretch_ticks = (ticks - 1) / TRACE_PORTRAIT_STRETCHES + 1;
    portrait->stretches = (size_t)((ticks - 1) / portrait->stretch_ticks + 1);
}

/* Return the stretch of a tick in the window. */
static size_t stretch_of(const struct trace_portrait *portrait, uint64_t tick)
{
    return (size_t)((tick - portrait->first_tick) / portrait->stretch_ticks);
}

void trace_portrait_count(struct trace_portrait *portrait, enum portrait_series series,
                          uint64_t tick, int change)
{
    if (tick < portrait->first_tick) {
        portrait->pending_before += change;
    } else if (tick < portrait->end_tick) {
        size_t stretch = stretch_of(portrait, tick);
        portrait->counts[stretch][series]++;
        portrait->change[stretch] += change;
    }
}

void trace_portrait_pending(struct trace_portrait *portrait, uint64_t tick, uint64_t pending)
{
    if (tick >= portrait->first_tick && tick < portrait->end_tick) {
        uint64_t *most = &portrait->most_pending[stretch_of(portrait, tick)];
        *most = pending > *most ? pending : *most;
    }
}

/* --- the table -------------------------------------------------------------------------------- */

static double seconds(const struct trace_portrait *portrait, uint64_t ticks)
{
    return (double)ticks * (double)portrait->tick_ns / 1e9;
}

static uint64_t stretch_end(const struct trace_portrait *portrait, size_t stretch)
{
    uint64_t end = (stretch + 1) * portrait->stretch_ticks;
    uint64_t ticks = portrait->end_tick - portrait->first_tick;
    return end < ticks ? end : ticks;
}

/* A portrait being written to a table. */
struct portrait_writer {
    const struct trace_portrait *portrait;
    const char *name;
    FILE *stream;
};

static void write_row(const struct portrait_writer *writer, const char *panel, const char *series,
                      size_t stretch, double value)
{
    const struct trace_portrait *portrait = writer->portrait;
    (void)fprintf(writer->stream, "%s,%s,%.9g,%.9g,%.9g,%s\n", panel, series,
                  seconds(portrait, stretch * portrait->stretch_ticks),
                  seconds(portrait, stretch_end(portrait, stretch)), value, writer->name);
}

/* Omit series without any events. */
static void write_operations(const struct portrait_writer *writer)
{
    const struct trace_portrait *portrait = writer->portrait;
    for (int series = 0; series < PORTRAIT_SERIES; series++) {
        uint64_t total = 0;
        for (size_t i = 0; i < portrait->stretches; i++) {
            total += portrait->counts[i][series];
        }
        for (size_t i = 0; i < portrait->stretches && total > 0; i++) {
            uint64_t ticks = stretch_end(portrait, i) - i * portrait->stretch_ticks;
            write_row(writer, "operations", series_words[series], i,
                      (double)portrait->counts[i][series] / seconds(portrait, ticks));
        }
    }
}

static void write_pending(const struct portrait_writer *writer)
{
    const struct trace_portrait *portrait = writer->portrait;
    int64_t pending = portrait->pending_before;
    for (size_t i = 0; i < portrait->stretches; i++) {
        int64_t most = (int64_t)portrait->most_pending[i];
        write_row(writer, "pending", "pending", i, (double)(most > pending ? most : pending));
        pending += portrait->change[i];
    }
}

/* Return the number of a delay's bar, in tenths of a power of ten of a second. */
static long bar_of(const struct trace_portrait *portrait, uint64_t delay_ticks)
{
    /* Rounding errors must not move a delay of 1 s below the bar that begins with 1 s. */
    return lround(floor(log10(seconds(portrait, delay_ticks)) * BARS_PER_DECADE + 1e-9));
}

static void write_bar(const struct portrait_writer *writer, double from_s, double to_s,
                      uint64_t count, uint64_t total)
{
    (void)fprintf(writer->stream, "delays,starts,%.6g,%.6g,%.6g,%s\n", from_s, to_s,
                  100.0 * (double)count / (double)total, writer->name);
}

static void write_delays(const struct portrait_writer *writer)
{
    const struct trace_portrait *portrait = writer->portrait;
    uint64_t total = 0;
    for (size_t i = 0; i < portrait->delay_count; i++) {
        total += portrait->delays[i].count;
    }
    size_t i = 0;
    if (portrait->delay_count > 0 && portrait->delays[0].delay_ticks == 0) {
        write_bar(writer, 0, seconds(portrait, 1), portrait->delays[0].count, total);
        i = 1;
    }
    while (i < portrait->delay_count) {
        long bar = bar_of(portrait, portrait->delays[i].delay_ticks);
        uint64_t count = 0;
        for (;
             i < portrait->delay_count && bar_of(portrait, portrait->delays[i].delay_ticks) == bar;
             i++) {
            count += portrait->delays[i].count;
        }
        write_bar(writer, pow(10, (double)bar / BARS_PER_DECADE),
                  pow(10, (double)(bar + 1) / BARS_PER_DECADE), count, total);
    }
}

/* Write the table of `count` portraits as CSV. `operations` are per second, `pending` the maximum
 * within the stretch, `delays` the percentage of the starts, by tenths of a power of ten. Times
 * count from the window's begin. `names` of the traces must need no quoting in CSV. */
static bool write_table(const struct trace_portrait *portraits, const char *const *names,
                        size_t count, const char *path, struct error *error)
{
    struct outfile file;
    if (!outfile_open(&file, path, error)) {
        return false;
    }
    (void)fputs("panel,series,from_s,to_s,value,trace\n", file.stream);
    for (size_t i = 0; i < count; i++) {
        const struct portrait_writer writer = {
            .portrait = &portraits[i], .name = names[i], .stream = file.stream};
        write_operations(&writer);
        write_pending(&writer);
        write_delays(&writer);
    }
    return outfile_commit(&file, error);
}

/* --- the picture ------------------------------------------------------------------------------ */

#define SCRIPT "style.gp"
#define PREFIX "portrait-"

static const char *const endings[] = {".svg", ".png"};
#define ENDINGS (sizeof endings / sizeof endings[0])

/* FOLDER/portrait-NAME, with the names of all traces. */
static bool make_stem(const char *const *names, size_t count, const char *folder,
                      char stem[PATH_MAX], struct error *error)
{
    int length = snprintf(stem, PATH_MAX, "%s/" PREFIX "%s%s%s", folder, names[0],
                          count > 1 ? "-beside-" : "", count > 1 ? names[1] : "");
    return (length > 0 && length < PATH_MAX - 16) ||
           error_set(error, "%s: the name is too long", folder);
}

/* Draw in a temporary folder, and rename both pictures when they are complete. */
static bool draw(const char *stem, const char *script, struct error *error)
{
    struct temporary temporary = {0};
    char part[PATH_MAX];
    char data[PATH_MAX];
    (void)snprintf(part, sizeof part, "%.*s", (int)(strrchr(stem, '/') - stem), stem);
    if (!temporary_make_in(&temporary, part)) {
        return error_set(error, "%s.csv could not be drawn: %s", stem, strerror(errno));
    }
    /* With other beginnings gnuplot might take the first character for a pipe. */
    const char *here = stem[0] == '/' || stem[0] == '.' ? "" : "./";
    (void)snprintf(data, sizeof data, "%s%.*s.csv", here, PATH_MAX - 16, stem);
    (void)snprintf(part, sizeof part, "%s%.*s", here, PATH_MAX - 16, temporary.file);
    const char *caption = strrchr(stem, '/') + sizeof("/" PREFIX) - 1;
    const char *words[] = {"gnuplot", "-c", script, "portrait", data, part, caption, NULL};
    (void)setenv("LC_ALL", "C.UTF-8", 1); /* gnuplot warns of other locales */
    struct error why = {"gnuplot failed; it must have the terminals svg and pngcairo"};
    bool good = program_run(words, STDERR_FILENO, &why) == 0;
    for (size_t i = 0; i < ENDINGS; i++) {
        char from[PATH_MAX];
        char to[PATH_MAX];
        (void)snprintf(from, sizeof from, "%.*s%s", PATH_MAX - 8, part, endings[i]);
        (void)snprintf(to, sizeof to, "%.*s%s", PATH_MAX - 8, stem, endings[i]);
        good = good && rename(from, to) == 0;
    }
    temporary_remove(&temporary);
    return good || error_set(error, "%s.csv could not be drawn: %s; Debian has it as gnuplot-nox",
                             stem, why.text);
}

bool portrait_picture(const struct trace_portrait *portraits, const char *const *trace_paths,
                      size_t count, const char *folder, char stem[PATH_MAX], struct error *error)
{
    if (!folder_make(folder, error)) {
        return false;
    }
    char room[PORTRAITS_MAX][PLOTS_NAME_BYTES + 2];
    const char *names[PORTRAITS_MAX] = {room[0], room[1]};
    for (size_t i = 0; i < count && i < PORTRAITS_MAX; i++) {
        plots_name(trace_paths[i], room[i]);
        if (i > 0 && strcmp(names[i], names[0]) == 0) {
            (void)strcat(room[i], "-2");
        }
    }
    char data[PATH_MAX];
    if (!make_stem(names, count, folder, stem, error)) {
        return false;
    }
    (void)snprintf(data, sizeof data, "%.*s.csv", PATH_MAX - 8, stem);
    if (!write_table(portraits, names, count, data, error)) {
        return false;
    }
    char script[PATH_MAX];
    struct error why;
    if (!plots_find(SCRIPT, script, &why)) {
        return error_set(error, "%s could not be drawn: %s", data, why.text);
    }
    return draw(stem, script, error);
}

void trace_portrait_release(struct trace_portrait *portrait)
{
    free(portrait->delays);
    portrait->delays = NULL;
    portrait->delay_count = 0;
}
