/* The rows of the results: the best of a trace, all in one table, and latencies. */
#include "report_work.h"

#include <math.h>
#include <string.h>

/* --- the best of a trace --------------------------------------------------------------------- */

void table_best(struct report *report, const struct contest *contest, const char *id)
{
    const struct answer *answer = &contest->answer;
    struct table table = {.report = report};
    double most = 0;
    bool pauses = false;
    for (size_t i = 0; i < answer->count && i < ANSWER_ENTRIES_SHOWN; i++) {
        most = fmax(most, answer->entries[i].ns);
        pauses = pauses || !isnan(row_value(answer->entries[i].row, COL_STALL));
    }
    table_column(&table, "structure", false, "");
    table_column(&table, "ns per operation", true, "processor time, median of the runs");
    table_column(&table, "memory", true, "the most at any time");
    if (pauses) {
        table_column(&table, "longest pause", true,
                     "the longest single advance, median of the runs");
    }
    for (size_t i = 0; i < answer->count && i < ANSWER_ENTRIES_SHOWN; i++) {
        const struct answer_entry *entry = &answer->entries[i];
        table_row(&table, entry->tied ? ROW_BEST : ROW_PLAIN);
        table_text(&table, row_name(report, entry->row));
        table_figure(&table, entry->ns, figure_text);
        table.cells[table.cell_count - 1].bar = entry->ns / most;
        table_figure(&table, row_value(entry->row, COL_BYTES_PEAK), size_text);
        if (pauses) {
            table_figure(&table, row_value(entry->row, COL_STALL), duration_text);
        }
    }
    if (table.cell_count > 0) {
        table_write(&table, id,
                    pool_format(&report->pool, "%s: the best of %zu",
                                place_text(&report->pool, contest), answer->count),
                    "");
    }
}

/* --- all in one ------------------------------------------------------------------------------ */

/* A column of the table of everything. */
struct row_column {
    const char *heading;
    unsigned column;
    const char *(*figure)(double, char[FIGURE_BYTES]); /* NULL: it holds words */
    enum { VALUE, WORDS, TIMES_FASTEST } shown;        /* the row's value, or words_of it */
};

static const char *range_text(struct report *report, double least, double most)
{
    return isnan(most) ? "-"
           : least == 0 && most == 0
               ? "0"
               : pool_format(&report->pool, "%s to %s", grouped_text(least, FIGURE),
                             grouped_text(most, FIGURE));
}

/* Return a cell of WORDS; *key is the number by which the column is sorted. */
static const char *words_of(struct report *report, const struct contest *contest,
                            const struct row *row, unsigned column, double *key)
{
    const char *reason = row_text(row, COL_REASON);
    const struct firing firing = firing_of_row(row);
    *key = row_value(row, column);
    switch (column) {
    case COL_ALGO:
        return row_name(report, row);
    case COL_TRACE:
        return place_text(&report->pool, contest);
    case COL_STATUS: /* with the reason, if it is unsupported or failed */
        return pool_format(&report->pool, "%s%s%s", row_text(row, COL_STATUS),
                           reason[0] != '\0' ? ": " : "", reason);
    case COL_LATENESS_MAX:
        return range_text(report, row_value(row, COL_LATENESS_MIN), *key);
    case COL_DECLARED_LATE:
        return range_text(report, 0 - row_value(row, COL_DECLARED_EARLY), *key);
    default: /* averted: "1,161 (1.75 %)" */
        *key = firing_averted_share(&firing, contest->exact_fired);
        return firing.averted > 0      ? pool_format(&report->pool, "%s (%.3g %%)",
                                                     grouped_text(firing.averted, FIGURE), 100 * *key)
               : isnan(firing.averted) ? "-"
                                       : "0";
    }
}

static const struct row_column columns[] = {
    {"structure", COL_ALGO, NULL, WORDS},
    {"ns per operation", COL_NS_PER_EVENT, figure_text, VALUE},
    {"× fastest", COL_NS_PER_EVENT, figure_text, TIMES_FASTEST},
    {"MAD", COL_NS_PER_EVENT_MAD, figure_text, VALUE},
    {"memory", COL_BYTES_PEAK, size_text, VALUE},
    {"bytes per timer", COL_BYTES_PER_TIMER, figure_text, VALUE},
    {"longest pause", COL_STALL, duration_text, VALUE},
    {"wakeups", COL_WAKEUPS, grouped_text, VALUE},
    {"idle wakeups", COL_IDLE_WAKEUPS, grouped_text, VALUE},
    {"lateness, ticks", COL_LATENESS_MAX, grouped_text, WORDS},
    {"promised, ticks", COL_DECLARED_LATE, grouped_text, WORDS},
    {"averted", COL_AVERTED, grouped_text, WORDS},
    {"not reached", COL_NOT_REACHED, grouped_text, VALUE},
    {"compares", COL_N_COMPARES, grouped_text, VALUE},
    {"moves", COL_N_MOVES, grouped_text, VALUE},
    {"slots", COL_N_SLOTS, grouped_text, VALUE},
    {"cascades", COL_N_CASCADES, grouped_text, VALUE},
    {"allocations", COL_N_ALLOCS, grouped_text, VALUE},
    {"bytes on the disk", COL_BYTES_DURABLE, size_text, VALUE},
    {"syncs per fired timer", COL_SYNCS_PER_FIRED, figure_text, VALUE},
    {"ticks until acknowledged", COL_ACKNOWLEDGED_MAX, grouped_text, VALUE},
    {"recovery, s a million", COL_RECOVERY, figure_text, VALUE},
    {"runs", COL_RUNS, grouped_text, VALUE},
    {"ranks", COL_RANKS, grouped_text, VALUE},
    {"times", COL_TIMES, NULL, VALUE},
    {"trace", COL_TRACE, NULL, WORDS},
    {"status", COL_STATUS, NULL, WORDS},
};

/* Whether some row has a value in the column. That one process measured is not said. */
static bool has_values(const struct report *report, unsigned column)
{
    column = column == COL_TIMES ? COL_RANKS : column;
    for (size_t s = 0; s < report->data->set_count; s++) {
        const struct results *results = &report->data->sets[s].rows;
        for (size_t i = 0; i < results->count; i++) {
            const struct row *row = &results->rows[i];
            if (row->cells[column].kind != CELL_NONE &&
                (column != COL_RANKS || row_value(row, column) > 1)) {
                return true;
            }
        }
    }
    return false;
}

static enum table_row_kind row_kind(const struct contest *contest, const struct row *row)
{
    if (row_is_wrong(row)) {
        return ROW_FAILED;
    }
    for (size_t i = 0; i < contest->answer.tied; i++) {
        if (contest->answer.entries[i].row == row) {
            return ROW_BEST;
        }
    }
    return row_plain_kind(row);
}

static void add_row(struct table *table, const struct contest *contest, const struct row *row,
                    const bool *shown)
{
    struct report *report = table->report;
    double fastest = NAN; /* that competes */
    for (size_t i = 0; i < contest->answer.count; i++) {
        fastest = fmin(fastest, contest->answer.entries[i].ns);
    }
    table_row(table, row_kind(contest, row));
    for (size_t c = 0; c < COUNT_OF(columns); c++) {
        if (!shown[c]) {
            continue;
        }
        double value = row_value(row, columns[c].column);
        if (columns[c].shown == WORDS) {
            const char *words = words_of(report, contest, row, columns[c].column, &value);
            table_cell(table, words, value);
        } else if (columns[c].figure == NULL) {
            table_text(table, row_text(row, columns[c].column));
        } else {
            value /= columns[c].shown == TIMES_FASTEST ? fastest : 1;
            table_figure(table, value, columns[c].figure);
        }
    }
}

void section_table(struct report *report)
{
    bool shown[COUNT_OF(columns)];
    struct table table = {.report = report, .filter = true};
    page_begin(&report->page, PAGE_BACKGROUND, "All structures", "table");
    for (size_t c = 0; c < COUNT_OF(columns); c++) {
        shown[c] = has_values(report, columns[c].column);
        if (shown[c]) {
            table_column(&table, columns[c].heading, columns[c].figure != NULL,
                         result_columns[columns[c].column].help);
        }
    }
    for (size_t c = 0; c < report->contests.count; c++) {
        const struct contest *contest = &report->contests.items[c];
        for (size_t i = 0; i < contest->count; i++) {
            add_row(&table, contest, contest->rows[i], shown);
        }
    }
    table_write(&table, "all",
                pool_format(&report->pool,
                            "Every structure on every trace; scroll sideways for all %zu columns. "
                            "Marked: the fastest, those tied with it, and what failed.",
                            table.column_count),
                "");
}

/* --- latencies ------------------------------------------------------------------------------- */

static void write_latencies(struct report *report, const struct contest *contest, const char *id)
{
    static const char *const ops[] = {"start", "restart", "stop", "advance"};
    static const char *const headings[LATENCY_PERCENTILES] = {"50 %",   "90 %",    "99 %",
                                                              "99.9 %", "99.99 %", "longest"};
    struct table table = {.report = report};
    table_column(&table, "structure", false, "");
    table_column(&table, "operation", false, "");
    for (unsigned p = 0; p < LATENCY_PERCENTILES; p++) {
        table_column(&table, headings[p], true,
                     p + 1 < LATENCY_PERCENTILES ? "this share of the operations took no longer"
                                                 : "the longest single one");
    }
    for (unsigned op = 0; op < COUNT_OF(ops); op++) {
        unsigned first = COL_START_P50 + op * LATENCY_PERCENTILES;
        for (size_t i = 0; i < contest->count; i++) {
            const struct row *row = contest->rows[i];
            if (isnan(row_value(row, first))) {
                continue;
            }
            table_row(&table, row_plain_kind(row));
            table_text(&table, row_name(report, row));
            table_text(&table, ops[op]);
            for (unsigned p = 0; p < LATENCY_PERCENTILES; p++) {
                table_figure(&table, row_value(row, first + p), duration_text);
            }
        }
    }
    table_write(&table, id, place_text(&report->pool, contest), "");
}

/* Where in the trace the longest single calls were; nothing, where that was not noted. */
static void write_worst(struct report *report, const struct contest *contest, const char *id)
{
    static const struct shown_column worst_columns[] = {
        {"operation", "op", NULL, "", NULL},
        {"time", "ns", duration_text, "the longest single call of all runs", NULL},
        {"at tick", "tick", grouped_text, "", NULL},
        {"before event", "event", grouped_text, "its place among the operations of the trace",
         NULL},
        {"timer", "timer", grouped_text, "", NULL},
        {"fired", "fired", grouped_text, "the timers that this advance fired", NULL},
    };
    struct table table = {.report = report};
    size_t i = 0;
    const json_t *worst = NULL;
    table_column(&table, "structure", false, "");
    table_columns(&table, worst_columns, COUNT_OF(worst_columns));
    json_array_foreach(json_object_get(contest->set->context, "worst"), i, worst)
    {
        if (strcmp(json_word(worst, "trace"), contest->trace) == 0) {
            table_row(&table, ROW_PLAIN);
            table_text(&table, series_text(&report->pool, json_word(worst, "algo"),
                                           json_word(worst, "options"), contest->set->mark));
            table_cells(&table, worst, worst_columns, COUNT_OF(worst_columns));
        }
    }
    if (table.cell_count > 0) {
        table_write(&table, id, "The longest single calls, and where they were", "");
    }
}

void section_latencies(struct report *report)
{
    if (!has_values(report, COL_START_P50) && !has_values(report, COL_ADVANCE_P50)) {
        return;
    }
    page_begin(&report->page, PAGE_BACKGROUND, "Latency of single operations", "latencies");
    for (size_t c = 0; c < report->contests.count; c++) {
        const struct contest *contest = &report->contests.items[c];
        write_latencies(report, contest, pool_format(&report->pool, "latency-%zu", c));
        write_worst(report, contest, pool_format(&report->pool, "worst-%zu", c));
    }
}
