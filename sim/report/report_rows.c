/* The rows of the results: all in one table, and trace by trace in tables of their own. */
#include "report_work.h"

#include "report_words.h"
#include "results.h"
#include "trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- cells ----------------------------------------------------------------------------------- */

static struct page_cell name_cell(struct report *report, const json_t *row)
{
    return (struct page_cell){row_name(report, row), NAN};
}

static struct page_cell trace_cell(struct report *report, const json_t *row)
{
    (void)report;
    return (struct page_cell){trace_base(row_string(row, "trace")), NAN};
}

/* The time per event, by that of the fastest of the row's trace and folder. */
static struct page_cell times_fastest(struct report *report, const json_t *row)
{
    const struct contest *contest = contest_find(&report->contests, row);
    const json_t *fastest = contest != NULL && contest->count > 0 ? contest->rows[0] : NULL;
    double times = row_number(row, "ns_per_event") / row_number(fastest, "ns_per_event");
    return (struct page_cell){pool_format(&report->pool, "%s", figure_text(times, FIGURE)), times};
}

static struct page_cell lateness_range(struct report *report, const json_t *row)
{
    double least = row_number(row, "lateness_min");
    double most = row_number(row, "lateness_max");
    const char *text = isnan(least) ? "-"
                       : least == 0 && most == 0
                           ? "0"
                           : pool_format(&report->pool, "%s to %s", grouped_text(least, FIGURE),
                                         grouped_text(most, FIGURE));
    return (struct page_cell){text, most};
}

static struct page_cell lateness_quantiles(struct report *report, const json_t *row)
{
    static const char *const columns[] = {"lateness_min", "lateness_p50", "lateness_p99",
                                          "lateness_max"};
    struct text text = {.pool = &report->pool};
    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        text_add(&text, "%s%s", i > 0 ? " / " : "",
                 grouped_text(row_number(row, columns[i]), FIGURE));
    }
    return (struct page_cell){text_end(&text), row_number(row, "lateness_max")};
}

static struct page_cell promised_lateness(struct report *report, const json_t *row)
{
    struct firing firing = firing_of_json(row);
    const char *text =
        isnan(firing.declared_late) ? "-"
        : firing.declared_early > 0
            ? pool_format(&report->pool, "%s to %s", grouped_text(-firing.declared_early, FIGURE),
                          grouped_text(firing.declared_late, FIGURE))
            : pool_format(&report->pool, "%s", grouped_text(firing.declared_late, FIGURE));
    return (struct page_cell){text, firing.declared_late};
}

/* "1,161 (1.75 %)". */
static struct page_cell averted_share(struct report *report, const json_t *row)
{
    const struct contest *contest = contest_find(&report->contests, row);
    struct firing firing = firing_of_json(row);
    double share = firing_averted_share(&firing, contest->frame.exact_fired);
    const char *text = firing.averted > 0
                           ? pool_format(&report->pool, "%s (%.3g %%)",
                                         grouped_text(firing.averted, FIGURE), 100 * share)
                       : isnan(firing.averted) ? "-"
                                               : "0";
    return (struct page_cell){text, share};
}

/* "4", or "4, projected" of shares that were measured in turn. */
static struct page_cell ranks_cell(struct report *report, const json_t *row)
{
    double ranks = row_number(row, "ranks");
    bool projected = strcmp(row_string(row, "times"), "projected") == 0;
    return (struct page_cell){pool_format(&report->pool, "%s%s", grouped_text(ranks, FIGURE),
                                          projected ? ", projected" : ""),
                              ranks};
}

static enum page_row_kind row_kind(const struct report *report, const json_t *row)
{
    const struct contest *contest = contest_find(&report->contests, row);
    if (row_is_wrong(row)) {
        return ROW_FAILED;
    }
    for (size_t i = 0; contest != NULL && i < contest->count; i++) {
        if (contest->tied[i] && contest->rows[i] == row) {
            return ROW_BEST;
        }
    }
    return row_plain_kind(report, row);
}

#define AVERTED_COLUMNS                                                                            \
    {"averted", "averted", grouped_text,                                                           \
     "stops and restarts from outside after the due tick, where a late structure had not fired; "  \
     "and their share of what exact structures fire",                                              \
     averted_share},                                                                               \
    {                                                                                              \
        "not reached", "not_reached", grouped_text, NULL, NULL                                     \
    }

/* --- all in one ------------------------------------------------------------------------------ */

void section_table(struct report *report)
{
    static const struct shown_column columns[] = {
        {"structure", "algo", NULL,
         "A structure, and its options where they are not the defaults; follow the link to "
         "what it is",
         name_cell},
        {"results", "set", NULL, "The folder of results, as listed above", NULL},
        {"trace", "trace", NULL, NULL, trace_cell},
        {"status", "status", NULL, NULL, NULL},
        {"ns per event", "ns_per_event", figure_text, NULL, NULL},
        {"MAD", "ns_per_event_mad", figure_text, NULL, NULL},
        {"× fastest", "ns_per_event", figure_text,
         "time per event, by that of the fastest on the same trace, of those that are punctual",
         times_fastest},
        {"stall", "stall_ns", duration_text, NULL, NULL},
        {"bytes per timer", "bytes_per_timer", figure_text, NULL, NULL},
        {"bytes at peak", "bytes_peak", size_text, NULL, NULL},
        {"wakeups per fired", "wakeups_per_fired", figure_text, NULL, NULL},
        {"lateness, ticks", "lateness_max", grouped_text,
         "firing tick less due tick, least to most; negative: early. Sorted by the most",
         lateness_range},
        AVERTED_COLUMNS,
        {"runs", "runs", grouped_text, NULL, NULL},
        {"ranks", "ranks", grouped_text, NULL, ranks_cell},
    };
    struct page *page = &report->page;
    struct table table = {.report = report, .page.filter = true};
    page->form->heading(page, 2, "The table", "table");
    table_columns(&table, columns, COUNT_OF(columns));
    for (size_t c = 0; c < report->contests.count; c++) {
        size_t count = 0;
        const json_t **rows = report_rows(report, &report->contests.items[c], &count);
        for (size_t i = 0; i < count; i++) {
            table_row(&table, row_kind(report, rows[i]));
            table_cells(&table, rows[i], columns, COUNT_OF(columns));
        }
        free((void *)rows);
    }
    table_write(
        &table, "all",
        "Every structure on every trace. Marked: the fastest, and those that cannot be told "
        "from it; and what did not run or was wrong.",
        "There is no replay of a trace here.");
}

/* --- trace by trace -------------------------------------------------------------------------- */

#define STRUCTURE_COLUMN                                                                           \
    {                                                                                              \
        "structure", "algo", NULL, "", name_cell                                                   \
    }

static const struct shown_column throughput_columns[] = {
    STRUCTURE_COLUMN,
    {"status", "status", NULL, NULL, NULL},
    {"ns per event", "ns_per_event", figure_text, NULL, NULL},
    {"MAD", "ns_per_event_mad", figure_text, NULL, NULL},
    {"× fastest", "ns_per_event", figure_text, "", times_fastest},
    {"events per second", "events_per_s", grouped_text, NULL, NULL},
    {"runs", "runs", grouped_text, NULL, NULL},
    {"ranks", "ranks", grouped_text, NULL, ranks_cell},
};

static const struct shown_column memory_columns[] = {
    STRUCTURE_COLUMN,
    {"bytes per timer", "bytes_per_timer", figure_text, NULL, NULL},
    {"fixed", "bytes_fixed", size_text, NULL, NULL},
    {"peak", "bytes_peak", size_text, NULL, NULL},
    {"after draining", "bytes_drained", size_text, NULL, NULL},
    {"allocations", "n_allocs", grouped_text, NULL, NULL},
};

static const struct shown_column wakeups_columns[] = {
    STRUCTURE_COLUMN,
    {"stall", "stall_ns", duration_text, NULL, NULL},
    {"wakeups", "wakeups", grouped_text, NULL, NULL},
    {"idle", "idle_wakeups", grouped_text, NULL, NULL},
    {"per fired timer", "wakeups_per_fired", figure_text, NULL, NULL},
    {"lateness in ticks: least / 50 % / 99 % / most", "lateness_max", grouped_text,
     "negative: early. Sorted by the most", lateness_quantiles},
    {"promised", "declared_late", grouped_text, "its lateness at worst, for these delays",
     promised_lateness},
    AVERTED_COLUMNS,
};

static const struct shown_column durable_columns[] = {
    STRUCTURE_COLUMN,
    {"bytes on the disk", "bytes_durable", size_text, NULL, NULL},
    {"waits for the disk per fired timer", "syncs_per_fired", figure_text, NULL, NULL},
    {"ticks until acknowledged, most", "acknowledged_lateness_max", grouped_text, NULL, NULL},
    {"recovery, s a million timers", "recovery_s_per_million", figure_text, NULL, NULL},
};

static const struct shown_column work_columns[] = {
    STRUCTURE_COLUMN,
    {"fired", "fired", grouped_text, NULL, NULL},
    {"drained", "drained", grouped_text, NULL, NULL},
    {"compares", "n_compares", grouped_text, NULL, NULL},
    {"moves", "n_moves", grouped_text, NULL, NULL},
    {"slots", "n_slots", grouped_text, NULL, NULL},
    {"cascades", "n_cascades", grouped_text, NULL, NULL},
};

/* A table of a trace's rows. */
struct trace_table {
    const char *caption;
    const char *nothing; /* NULL: there is no table without rows */
    const struct shown_column *columns;
    size_t column_count;
    const char *needed; /* a row without a value in this column is left out; NULL: none is, and
                           the fastest are marked */
};

/* The latencies stand behind the first. */
static const struct trace_table trace_tables[] = {
    {"Throughput", "Nothing ran.", throughput_columns, COUNT_OF(throughput_columns), NULL},
    {"Memory", "Memory was not measured.", memory_columns, COUNT_OF(memory_columns),
     "bytes_per_timer"},
    {"Stall, wakeups, lateness", "Wakeups were not counted.", wakeups_columns,
     COUNT_OF(wakeups_columns), "wakeups"},
    {"What outlives the process", NULL, durable_columns, COUNT_OF(durable_columns),
     "bytes_durable"},
    {"Work, counted: the same on any machine", "Work was not counted.", work_columns,
     COUNT_OF(work_columns), "n_moves"},
};

static void write_trace_table(struct report *report, const struct trace_table *what,
                              const json_t *const *rows, size_t count, const char *id)
{
    struct table table = {.report = report};
    table_columns(&table, what->columns, what->column_count);
    for (size_t i = 0; i < count; i++) {
        if (what->needed == NULL || !isnan(row_number(rows[i], what->needed))) {
            table_row(&table, what->needed == NULL ? row_kind(report, rows[i])
                                                   : row_plain_kind(report, rows[i]));
            table_cells(&table, rows[i], what->columns, what->column_count);
        }
    }
    if (table.page.row_count > 0 || what->nothing != NULL) {
        table_write(&table, id, what->caption, what->nothing);
    }
}

static void write_latencies(struct report *report, const json_t *const *rows, size_t count,
                            const char *id)
{
    static const char *const ops[] = {"start", "restart", "stop", "advance"};
    static const struct {
        const char *ending;
        const char *heading;
    } percentiles[LATENCY_PERCENTILES] = {{"p50", "50 %"},      {"p90", "90 %"},
                                          {"p99", "99 %"},      {"p999", "99.9 %"},
                                          {"p9999", "99.99 %"}, {"max", "longest"}};
    struct table table = {.report = report};
    table_column(&table, "structure", false, "");
    table_column(&table, "operation", false, "");
    for (size_t p = 0; p < LATENCY_PERCENTILES; p++) {
        table_column(&table, percentiles[p].heading, true,
                     p + 1 < LATENCY_PERCENTILES ? "no more than this for so many of the operations"
                                                 : "the longest single one");
    }
    for (size_t op = 0; op < COUNT_OF(ops); op++) {
        for (size_t i = 0; i < count; i++) {
            char column[64];
            (void)snprintf(column, sizeof column, "%s_p50_ns", ops[op]);
            if (isnan(row_number(rows[i], column))) {
                continue;
            }
            table_row(&table, row_plain_kind(report, rows[i]));
            table_text(&table, row_name(report, rows[i]));
            table_text(&table, ops[op]);
            for (size_t p = 0; p < LATENCY_PERCENTILES; p++) {
                (void)snprintf(column, sizeof column, "%s_%s_ns", ops[op], percentiles[p].ending);
                table_figure(&table, row_number(rows[i], column), duration_text);
            }
        }
    }
    table_write(&table, id, "Latency of single operations",
                "The latency of single operations was not measured.");
}

/* Where in the trace the longest single calls were; nothing, where that was not noted. */
static void write_worst(struct report *report, const struct contest *contest, const char *id)
{
    static const struct shown_column columns[] = {
        STRUCTURE_COLUMN,
        {"operation", "op", NULL, "", NULL},
        {"time", "ns", duration_text, "the longest single call of all runs", NULL},
        {"at tick", "tick", grouped_text, "", NULL},
        {"before event", "event", grouped_text, "its place among the operations of the trace",
         NULL},
        {"timer", "timer", grouped_text, "", NULL},
        {"fired", "fired", grouped_text, "the timers that this advance fired", NULL},
    };
    const struct report_set *set = report_data_set(report->data, contest->mark);
    struct table table = {.report = report};
    size_t i = 0;
    const json_t *worst = NULL;
    table_columns(&table, columns, COUNT_OF(columns));
    json_array_foreach(json_object_get(set->context, "worst"), i, worst)
    {
        if (strcmp(row_string(worst, "trace"), contest->trace) != 0) {
            continue;
        }
        table_row(&table, ROW_PLAIN);
        table_text(&table, pool_format(&report->pool, "%s%s%s", series_text(&report->pool, worst),
                                       contest->mark[0] != '\0' ? " " : "", contest->mark));
        table_cells(&table, worst, columns + 1, COUNT_OF(columns) - 1);
    }
    if (table.page.row_count > 0) {
        table_write(&table, id, "The longest single calls, and where they were", "");
    }
}

void section_trace(struct report *report, const struct contest *contest, size_t index)
{
    struct page *page = &report->page;
    struct pool *pool = &report->pool;
    size_t count = 0;
    const json_t **rows = report_rows(report, contest, &count);
    if (rows == NULL) {
        return;
    }
    page->form->fold_begin(page, place_text(pool, contest), pool_format(pool, "trace-%zu", index));
    page->form->paragraph(page,
                          pool_format(pool, "%s operations: %s starts, %s restarts, %s stops.",
                                      grouped_text(row_number(rows[0], "events"), FIGURE),
                                      grouped_text(row_number(rows[0], "starts"), FIGURE),
                                      grouped_text(row_number(rows[0], "restarts"), FIGURE),
                                      grouped_text(row_number(rows[0], "stops"), FIGURE)));
    if (contest_is_open_loop(contest)) {
        page->form->paragraph(page, "It is " TRACE_OPEN_LOOP_NOTE ".");
    }
    write_trace_table(report, &trace_tables[0], rows, count,
                      pool_format(pool, "trace-%zu-0", index));
    write_latencies(report, rows, count, pool_format(pool, "trace-%zu-1", index));
    for (size_t t = 1; t < COUNT_OF(trace_tables); t++) {
        write_trace_table(report, &trace_tables[t], rows, count,
                          pool_format(pool, "trace-%zu-%zu", index, t + 1));
    }
    write_worst(report, contest, pool_format(pool, "trace-%zu-worst", index));
    page->form->fold_end(page);
    free((void *)rows);
}
