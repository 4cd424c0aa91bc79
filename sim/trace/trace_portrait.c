#include "trace_portrait.h"

#include "memory.h"
#include "outfile.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const series_words[] = {
#define PORTRAIT_SERIES_WORD(code, word) word,
    PORTRAIT_SERIES_MAP(PORTRAIT_SERIES_WORD)
#undef PORTRAIT_SERIES_WORD
};

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

void trace_portrait_delays(struct trace_portrait *portrait, const struct portrait_delay *delays,
                           size_t count)
{
    portrait->delays = memory_new(count, sizeof *delays);
    memcpy(portrait->delays, delays, count * sizeof *delays);
    portrait->delay_count = count;
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

bool trace_portrait_write(const struct trace_portrait *portraits, const char *const *names,
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

void trace_portrait_release(struct trace_portrait *portrait)
{
    free(portrait->delays);
    portrait->delays = NULL;
    portrait->delay_count = 0;
}
