#include "report.h"

#include "csv_table.h"
#include "figures.h"
#include "report_text.h"
#include "report_verdict.h"
#include "result_set.h"
#include "results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Faults are listed up to here; all of them are in faults.csv. */
#define FAULTS_LISTED 20

/* A report while it is written. */
struct report {
    struct page page;
    struct pool pool;
    const struct report_data *data;
    struct contest_list contests;
    const char *folder;
};

/* --- tables under way ------------------------------------------------------------------------ */

/* The widest table has fewer columns. */
#define TABLE_COLUMNS_MAX 24

/* A table that grows by cells. */
struct table {
    struct report *report;
    struct page_table page;
    struct page_column columns[TABLE_COLUMNS_MAX];
    struct page_cell *cells;
    enum page_row_kind *kinds;
    size_t cell_count;
    size_t cell_room;
};

/* What the results say of a column; "" if it is none of theirs. */
static const char *column_help(const char *name)
{
    static const struct {
        const char *name;
        const char *help;
    } columns[] = {
#define COLUMN_HELP(code, column_name, digits, column_help) {column_name, column_help},
        COLUMN_MAP(COLUMN_HELP)
#undef COLUMN_HELP
    };
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        if (strcmp(columns[i].name, name) == 0) {
            return columns[i].help;
        }
    }
    return "";
}

static void add_column(struct table *table, const char *heading, bool figures, const char *help)
{
    if (table->page.column_count < TABLE_COLUMNS_MAX) {
        table->columns[table->page.column_count++] = (struct page_column){heading, help, figures};
    }
}

static void add_row(struct table *table, enum page_row_kind kind)
{
    size_t needed = table->cell_count + TABLE_COLUMNS_MAX;
    if (needed > table->cell_room) {
        size_t room = 2 * needed;
        struct page_cell *cells = realloc(table->cells, room * sizeof *cells);
        if (cells == NULL) {
            table->report->pool.failed = true;
            return;
        }
        table->cells = cells;
        enum page_row_kind *kinds = realloc(table->kinds, room * sizeof *kinds);
        if (kinds == NULL) {
            table->report->pool.failed = true;
            return;
        }
        table->kinds = kinds;
        table->cell_room = room;
    }
    table->kinds[table->page.row_count++] = kind;
}

static void add_cell(struct table *table, const char *text, double key)
{
    if (table->cell_count < table->cell_room) {
        table->cells[table->cell_count++] = (struct page_cell){text, key};
    }
}

static void add_text(struct table *table, const char *text)
{
    add_cell(table, text, NAN);
}

static void add_figure(struct table *table, double value,
                       const char *(*figure)(double, char[FIGURE_BYTES]))
{
    add_cell(table, pool_format(&table->report->pool, "%s", figure(value, FIGURE)), value);
}

/* Writes the table to the page, and ends it; without rows, `nothing` says so. */
static void write_table(struct table *table, const char *id, const char *caption,
                        const char *nothing)
{
    struct page *page = &table->report->page;
    table->page.id = id;
    table->page.caption = caption;
    table->page.columns = table->columns;
    table->page.cells = table->cells;
    table->page.kinds = table->kinds;
    if (table->page.row_count == 0) {
        page->form->paragraph(page, nothing);
    } else if (!table->report->pool.failed) {
        page->form->table(page, &table->page);
    }
    free(table->cells);
    free(table->kinds);
}

/* --- rows ------------------------------------------------------------------------------------ */

static const char *const fault_columns[] = {"early", "late_beyond", "lost", "duplicate",
                                            "misordered"};
#define FAULT_COLUMNS (sizeof fault_columns / sizeof fault_columns[0])

static bool has_faults(const json_t *row)
{
    for (size_t i = 0; i < FAULT_COLUMNS; i++) {
        if (row_number(row, fault_columns[i]) > 0) {
            return true;
        }
    }
    return false;
}

static bool is_wrong(const json_t *row)
{
    return strcmp(row_string(row, "status"), "ok") != 0 || has_faults(row);
}

static bool is_yardstick(const struct report *report, const json_t *row)
{
    return row_promises(report->data, row, "baseline");
}

/* The name of a row's series, in italics if it is a yardstick. */
static const char *row_name(struct report *report, const json_t *row)
{
    const char *name = series_text(&report->pool, row);
    return is_yardstick(report, row)
               ? pool_format(&report->pool, MARK_ITALIC "%s" MARK_ITALIC, name)
               : name;
}

/* The fastest of a row's trace and folder; NULL if there is none. */
static const json_t *fastest_beside(const struct report *report, const json_t *row)
{
    const struct contest *contest = contest_find(&report->contests, row);
    return contest != NULL && contest->count > 0 ? contest->rows[0] : NULL;
}

static enum page_row_kind row_kind(const struct report *report, const json_t *row)
{
    const struct contest *contest = contest_find(&report->contests, row);
    if (is_wrong(row)) {
        return ROW_FAILED;
    }
    for (size_t i = 0; contest != NULL && i < contest->count; i++) {
        if (contest->tied[i] && contest->rows[i] == row) {
            return ROW_BEST;
        }
    }
    return is_yardstick(report, row) ? ROW_YARDSTICK : ROW_PLAIN;
}

static double times_fastest(const struct report *report, const json_t *row)
{
    const json_t *fastest = fastest_beside(report, row);
    return fastest != NULL ? row_number(row, "ns_per_event") / row_number(fastest, "ns_per_event")
                           : NAN;
}

static bool in_contest(const json_t *row, const struct contest *contest)
{
    return strcmp(row_string(row, "trace"), contest->trace) == 0 &&
           strcmp(row_string(row, "set"), contest->mark) == 0;
}

static int by_speed(const void *a, const void *b)
{
    double left = row_number(*(const json_t *const *)a, "ns_per_event");
    double right = row_number(*(const json_t *const *)b, "ns_per_event");
    if (isnan(left) || isnan(right)) {
        return isnan(left) - isnan(right);
    }
    return (left > right) - (left < right);
}

/* All rows of a contest's trace and folder, the fastest first; to be freed. */
static const json_t **rows_of(struct report *report, const struct contest *contest, size_t *count)
{
    const json_t **rows = calloc(json_array_size(report->data->rows) + 1, sizeof *rows);
    *count = 0;
    if (rows == NULL) {
        report->pool.failed = true;
        return NULL;
    }
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(report->data->rows, i, row)
    {
        if (in_contest(row, contest)) {
            rows[(*count)++] = row;
        }
    }
    qsort(rows, *count, sizeof rows[0], by_speed);
    return rows;
}

/* A contest's trace, and its folder where there are several. */
static const char *contest_title(struct report *report, const struct contest *contest)
{
    return contest->mark[0] == '\0'
               ? trace_base(contest->trace)
               : pool_format(&report->pool, "%s (%s)", trace_base(contest->trace), contest->mark);
}

/* --- the table ------------------------------------------------------------------------------- */

static const char *lateness_range(struct report *report, const json_t *row)
{
    double least = row_number(row, "lateness_min");
    double most = row_number(row, "lateness_max");
    if (isnan(least)) {
        return "-";
    }
    if (least == 0 && most == 0) {
        return "0";
    }
    return pool_format(&report->pool, "%s to %s", grouped_text(least, FIGURE),
                       grouped_text(most, FIGURE));
}

static void main_columns(struct table *table, bool sets)
{
    add_column(table, "structure", false,
               "A structure, and its options where they are not the defaults; follow the link to "
               "what it is");
    if (sets) {
        add_column(table, "results", false, "The folder of results, as listed above");
    }
    add_column(table, "trace", false, column_help("trace"));
    add_column(table, "status", false, column_help("status"));
    add_column(table, "ns per event", true, column_help("ns_per_event"));
    add_column(table, "MAD", true, column_help("ns_per_event_mad"));
    add_column(table, "× fastest", true,
               "time per event, by that of the fastest on the same trace, of those that fire every "
               "timer on its due tick");
    add_column(table, "stall", true, column_help("stall_ns"));
    add_column(table, "bytes per timer", true, column_help("bytes_per_timer"));
    add_column(table, "bytes at peak", true, column_help("bytes_peak"));
    add_column(table, "wakeups per fired", true, column_help("wakeups_per_fired"));
    add_column(table, "lateness, ticks", true,
               "firing tick less due tick, least to most; negative: early. Sorted by the most");
    add_column(table, "runs", true, column_help("runs"));
}

static void main_row(struct table *table, const json_t *row, bool sets)
{
    struct report *report = table->report;
    add_row(table, row_kind(report, row));
    add_text(table, row_name(report, row));
    if (sets) {
        add_text(table, row_string(row, "set"));
    }
    add_text(table, trace_base(row_string(row, "trace")));
    add_text(table, row_string(row, "status"));
    add_figure(table, row_number(row, "ns_per_event"), figure_text);
    add_figure(table, row_number(row, "ns_per_event_mad"), figure_text);
    add_figure(table, times_fastest(report, row), figure_text);
    add_figure(table, row_number(row, "stall_ns"), duration_text);
    add_figure(table, row_number(row, "bytes_per_timer"), figure_text);
    add_figure(table, row_number(row, "bytes_peak"), size_text);
    add_figure(table, row_number(row, "wakeups_per_fired"), figure_text);
    add_cell(table, lateness_range(report, row), row_number(row, "lateness_max"));
    add_figure(table, row_number(row, "runs"), grouped_text);
}

static void write_main_table(struct report *report)
{
    struct page *page = &report->page;
    bool sets = report->data->set_count > 1;
    struct table table = {.report = report, .page.filter = true};
    page->form->heading(page, 2, "The table", "table");
    main_columns(&table, sets);
    for (size_t c = 0; c < report->contests.count; c++) {
        size_t count = 0;
        const json_t **rows = rows_of(report, &report->contests.items[c], &count);
        for (size_t i = 0; rows != NULL && i < count; i++) {
            main_row(&table, rows[i], sets);
        }
        free((void *)rows);
    }
    write_table(
        &table, "all",
        "Every structure on every trace. Marked: the fastest, and those that cannot be told "
        "from it; and what did not run or was wrong.",
        "There is no replay of a trace here.");
}

/* --- faults ---------------------------------------------------------------------------------- */

/* "lost: 3, early: 1", what occurred. */
static const char *fault_counts(struct report *report, const json_t *row)
{
    struct text text = {.pool = &report->pool};
    bool any = false;
    for (size_t i = 0; i < FAULT_COLUMNS; i++) {
        double count = row_number(row, fault_columns[i]);
        if (count > 0) {
            text_add(&text, "%s", any ? ", " : "");
            for (const char *c = fault_columns[i]; *c != '\0'; c++) {
                text_add(&text, "%c", *c == '_' ? ' ' : *c);
            }
            text_add(&text, ": %s", grouped_text(count, FIGURE));
            any = true;
        }
    }
    return text_end(&text);
}

/* A list under way. */
struct list {
    struct report *report;
    const char **items;
    size_t count;
    size_t room;
};

static void list_add(void *context, const char *text)
{
    struct list *list = context;
    if (list->count == list->room) {
        size_t room = 2 * list->room + 16;
        const char **items = realloc((void *)list->items, room * sizeof *items);
        if (items == NULL) {
            list->report->pool.failed = true;
            return;
        }
        list->items = items;
        list->room = room;
    }
    list->items[list->count++] = text;
}

/* Writes the list, if there is anything in it, and ends it. */
static void list_write(struct list *list)
{
    struct page *page = &list->report->page;
    if (list->count > 0) {
        page->form->list(page, list->items, list->count);
    }
    free((void *)list->items);
    *list = (struct list){.report = list->report};
}

static const char *wrong_row(struct report *report, const json_t *row)
{
    struct text text = {.pool = &report->pool};
    text_add(&text, "%s: %s: " MARK_BOLD "%s" MARK_BOLD, trace_base(row_string(row, "trace")),
             row_name(report, row), row_string(row, "status"));
    if (row_string(row, "reason")[0] != '\0') {
        text_add(&text, ": %s", row_string(row, "reason"));
    }
    if (has_faults(row)) {
        text_add(&text, " (%s)", fault_counts(report, row));
    }
    return text_end(&text);
}

static bool op_is_missing(const json_t *row)
{
    return isnan(row_number(row, "ns_per_op")) || row_string(row, "error")[0] != '\0';
}

static const char *missing_op(struct report *report, const json_t *row)
{
    const char *why = row_string(row, "error");
    return pool_format(&report->pool,
                       "single operations: %s, %s with %s timers: " MARK_BOLD
                       "not measured" MARK_BOLD "%s%s",
                       row_name(report, row), row_string(row, "op"),
                       grouped_text(row_number(row, "n"), FIGURE), why[0] != '\0' ? ": " : "", why);
}

/* How many rows of what is listed were wrong; the others could not be run: a structure does not
 * support what the row asks of it, or it was left out. */
static size_t count_wrong(const struct report *report)
{
    size_t wrong = 0;
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(report->data->rows, i, row)
    {
        wrong += is_wrong(row) &&
                 (has_faults(row) || strcmp(row_string(row, "status"), "unsupported") != 0);
    }
    json_array_foreach(report->data->bench, i, row)
    {
        wrong += op_is_missing(row) && result_left_out(row_string(row, "error")) == NULL;
    }
    return wrong;
}

/* What did not run, or was wrong. */
static void collect_wrong(struct report *report, struct list *list)
{
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(report->data->rows, i, row)
    {
        if (is_wrong(row)) {
            list_add(list, wrong_row(report, row));
        }
    }
    json_array_foreach(report->data->bench, i, row)
    {
        if (op_is_missing(row)) {
            list_add(list, missing_op(report, row));
        }
    }
}

/* Exact structures have to fire the same timers at the same ticks: a sentence for a trace of a
 * folder. */
static const char *agreement(struct report *report, const struct report_set *set, const char *trace)
{
    size_t exact = 0;
    size_t different = 0;
    const json_t *sets = json_object_get(set->context, "fired_sets");
    size_t i = 0;
    const json_t *fired = NULL;
    json_array_foreach(sets, i, fired)
    {
        if (!json_is_true(json_object_get(fired, "exact")) ||
            strcmp(row_string(fired, "trace"), trace) != 0) {
            continue;
        }
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++) {
            const json_t *other = json_array_get(sets, k);
            seen = json_is_true(json_object_get(other, "exact")) &&
                   strcmp(row_string(other, "trace"), trace) == 0 &&
                   strcmp(row_string(other, "digest"), row_string(fired, "digest")) == 0;
        }
        exact++;
        different += !seen;
    }
    const char *mark = set->mark[0] != '\0' ? pool_format(&report->pool, " (%s)", set->mark) : "";
    if (exact == 1) {
        return pool_format(&report->pool, "%s%s: one exact structure, and none to compare it with",
                           trace_base(trace), mark);
    }
    if (different == 1) {
        return pool_format(&report->pool,
                           "%s%s: %zu exact structures fired the same timers at the same ticks",
                           trace_base(trace), mark, exact);
    }
    return pool_format(&report->pool,
                       "%s%s: " MARK_BOLD
                       "%zu exact structures fired %zu different sets of timers" MARK_BOLD,
                       trace_base(trace), mark, exact, different);
}

static void write_agreements(struct report *report)
{
    struct list list = {.report = report};
    for (size_t s = 0; s < report->data->set_count; s++) {
        const struct report_set *set = &report->data->sets[s];
        const json_t *sets = json_object_get(set->context, "fired_sets");
        json_t *seen = json_object();
        size_t i = 0;
        const json_t *fired = NULL;
        json_array_foreach(sets, i, fired)
        {
            const char *trace = row_string(fired, "trace");
            if (json_is_true(json_object_get(fired, "exact")) &&
                json_object_get(seen, trace) == NULL) {
                (void)json_object_set_new(seen, trace, json_true());
                list_add(&list, agreement(report, set, trace));
            }
        }
        json_decref(seen);
    }
    list_write(&list);
}

static void write_fault_table(struct report *report)
{
    static const char *const columns[] = {"timer", "tick", "due", "event"};
    size_t all = json_array_size(report->data->faults);
    struct page *page = &report->page;
    struct table table = {.report = report};
    if (all == 0) {
        return;
    }
    add_column(&table, "structure", false, "");
    add_column(&table, "trace", false, "");
    add_column(&table, "fault", false, "");
    for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) {
        add_column(&table, columns[c], true, "");
    }
    add_column(&table, "detail", false, "");
    for (size_t i = 0; i < all && i < FAULTS_LISTED; i++) {
        const json_t *row = json_array_get(report->data->faults, i);
        add_row(&table, ROW_FAILED);
        add_text(&table, row_name(report, row));
        add_text(&table, trace_base(row_string(row, "trace")));
        add_text(&table, row_string(row, "fault"));
        for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) {
            add_cell(&table, row_string(row, columns[c]), row_number(row, columns[c]));
        }
        add_text(&table, row_string(row, "detail"));
    }
    write_table(&table, "fault-list", "What the oracle found", "");
    if (all > FAULTS_LISTED) {
        page->form->paragraph(page, pool_format(&report->pool,
                                                "These are the first %d of %zu; all are in "
                                                "faults.csv.",
                                                FAULTS_LISTED, all));
    }
}

static void write_faults(struct report *report)
{
    struct page *page = &report->page;
    struct list list = {.report = report};
    page->form->heading(page, 2, "Faults, and what did not run", "faults");
    collect_wrong(report, &list);
    if (list.count == 0) {
        page->form->paragraph(
            page, "None: every structure ran everything, and every fired timer was checked.");
    }
    list_write(&list);
    write_fault_table(report);
    write_agreements(report);
}

/* --- trace by trace -------------------------------------------------------------------------- */

static void write_words(struct report *report)
{
    struct page *page = &report->page;
    page->form->heading(page, 2, "In words", "words");
    if (report->contests.count > CONTESTS_TOLD) {
        page->form->paragraph(page,
                              "There are too many traces to tell of each; the table marks who "
                              "is the fastest.");
    }
    for (size_t c = 0; c < report->contests.count && report->contests.count <= CONTESTS_TOLD; c++) {
        const struct contest *contest = &report->contests.items[c];
        page->form->heading(page, 3, contest_title(report, contest),
                            pool_format(&report->pool, "words-%zu", c));
        page->form->paragraph(page, contest_text(&report->pool, contest));
        if (contest->count > 0) {
            const char *items[CONTEST_COSTS];
            contest_costs(&report->pool, report->data, contest, items);
            page->form->paragraph(page, pool_format(&report->pool, "What %s costs:",
                                                    series_text(&report->pool, contest->rows[0])));
            page->form->list(page, items, CONTEST_COSTS);
        }
    }
    if (json_array_size(report->data->bench) > 0) {
        struct list list = {.report = report};
        page->form->heading(page, 3, "One operation at a time", "words-bench");
        bench_texts(&report->pool, report->data, list_add, &list);
        page->form->paragraph(page, list.count > 0 ? "The fastest, by operation:"
                                                   : "Cannot tell: it takes five runs.");
        list_write(&list);
    }
    page->form->paragraph(page, rule_text());
}

static void throughput_table(struct report *report, const json_t *const *rows, size_t count,
                             const char *id)
{
    struct table table = {.report = report};
    add_column(&table, "structure", false, "");
    add_column(&table, "status", false, column_help("status"));
    add_column(&table, "ns per event", true, column_help("ns_per_event"));
    add_column(&table, "MAD", true, column_help("ns_per_event_mad"));
    add_column(&table, "× fastest", true, "");
    add_column(&table, "events per second", true, column_help("events_per_s"));
    add_column(&table, "runs", true, column_help("runs"));
    for (size_t i = 0; i < count; i++) {
        add_row(&table, row_kind(report, rows[i]));
        add_text(&table, row_name(report, rows[i]));
        add_text(&table, row_string(rows[i], "status"));
        add_figure(&table, row_number(rows[i], "ns_per_event"), figure_text);
        add_figure(&table, row_number(rows[i], "ns_per_event_mad"), figure_text);
        add_figure(&table, times_fastest(report, rows[i]), figure_text);
        add_figure(&table, row_number(rows[i], "events_per_s"), grouped_text);
        add_figure(&table, row_number(rows[i], "runs"), grouped_text);
    }
    write_table(&table, id, "Throughput", "Nothing ran.");
}

static void latency_table(struct report *report, const json_t *const *rows, size_t count,
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
    add_column(&table, "structure", false, "");
    add_column(&table, "operation", false, "");
    for (size_t p = 0; p < LATENCY_PERCENTILES; p++) {
        add_column(&table, percentiles[p].heading, true,
                   p + 1 < LATENCY_PERCENTILES ? "no more than this for so many of the operations"
                                               : "the longest single one");
    }
    for (size_t op = 0; op < sizeof ops / sizeof ops[0]; op++) {
        for (size_t i = 0; i < count; i++) {
            char column[64];
            (void)snprintf(column, sizeof column, "%s_p50_ns", ops[op]);
            if (isnan(row_number(rows[i], column))) {
                continue;
            }
            add_row(&table, is_yardstick(report, rows[i]) ? ROW_YARDSTICK : ROW_PLAIN);
            add_text(&table, row_name(report, rows[i]));
            add_text(&table, ops[op]);
            for (size_t p = 0; p < LATENCY_PERCENTILES; p++) {
                (void)snprintf(column, sizeof column, "%s_%s_ns", ops[op], percentiles[p].ending);
                add_figure(&table, row_number(rows[i], column), duration_text);
            }
        }
    }
    write_table(&table, id, "Latency of single operations",
                "The latency of single operations was not measured.");
}

static void memory_table(struct report *report, const json_t *const *rows, size_t count,
                         const char *id)
{
    struct table table = {.report = report};
    add_column(&table, "structure", false, "");
    add_column(&table, "bytes per timer", true, column_help("bytes_per_timer"));
    add_column(&table, "fixed", true, column_help("bytes_fixed"));
    add_column(&table, "peak", true, column_help("bytes_peak"));
    add_column(&table, "after draining", true, column_help("bytes_drained"));
    add_column(&table, "allocations", true, column_help("n_allocs"));
    for (size_t i = 0; i < count; i++) {
        if (isnan(row_number(rows[i], "bytes_per_timer"))) {
            continue;
        }
        add_row(&table, is_yardstick(report, rows[i]) ? ROW_YARDSTICK : ROW_PLAIN);
        add_text(&table, row_name(report, rows[i]));
        add_figure(&table, row_number(rows[i], "bytes_per_timer"), figure_text);
        add_figure(&table, row_number(rows[i], "bytes_fixed"), size_text);
        add_figure(&table, row_number(rows[i], "bytes_peak"), size_text);
        add_figure(&table, row_number(rows[i], "bytes_drained"), size_text);
        add_figure(&table, row_number(rows[i], "n_allocs"), grouped_text);
    }
    write_table(&table, id, "Memory", "Memory was not measured.");
}

static const char *lateness_quantiles(struct report *report, const json_t *row)
{
    static const char *const columns[] = {"lateness_min", "lateness_p50", "lateness_p99",
                                          "lateness_max"};
    struct text text = {.pool = &report->pool};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        text_add(&text, "%s%s", i > 0 ? " / " : "",
                 grouped_text(row_number(row, columns[i]), FIGURE));
    }
    return text_end(&text);
}

static void wakeups_table(struct report *report, const json_t *const *rows, size_t count,
                          const char *id)
{
    struct table table = {.report = report};
    add_column(&table, "structure", false, "");
    add_column(&table, "stall", true, column_help("stall_ns"));
    add_column(&table, "wakeups", true, column_help("wakeups"));
    add_column(&table, "idle", true, column_help("idle_wakeups"));
    add_column(&table, "per fired timer", true, column_help("wakeups_per_fired"));
    add_column(&table, "lateness in ticks: least / 50 % / 99 % / most", true,
               "negative: early. Sorted by the most");
    add_column(&table, "averted", true, column_help("averted"));
    for (size_t i = 0; i < count; i++) {
        if (isnan(row_number(rows[i], "wakeups"))) {
            continue;
        }
        add_row(&table, is_yardstick(report, rows[i]) ? ROW_YARDSTICK : ROW_PLAIN);
        add_text(&table, row_name(report, rows[i]));
        add_figure(&table, row_number(rows[i], "stall_ns"), duration_text);
        add_figure(&table, row_number(rows[i], "wakeups"), grouped_text);
        add_figure(&table, row_number(rows[i], "idle_wakeups"), grouped_text);
        add_figure(&table, row_number(rows[i], "wakeups_per_fired"), figure_text);
        add_cell(&table, lateness_quantiles(report, rows[i]), row_number(rows[i], "lateness_max"));
        add_figure(&table, row_number(rows[i], "averted"), grouped_text);
    }
    write_table(&table, id, "Stall, wakeups, lateness", "Wakeups were not counted.");
}

static void work_table(struct report *report, const json_t *const *rows, size_t count,
                       const char *id)
{
    static const struct {
        const char *column;
        const char *heading;
    } counts[] = {{"fired", "fired"},   {"drained", "drained"}, {"n_compares", "compares"},
                  {"n_moves", "moves"}, {"n_slots", "slots"},   {"n_cascades", "cascades"}};
    struct table table = {.report = report};
    add_column(&table, "structure", false, "");
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        add_column(&table, counts[c].heading, true, column_help(counts[c].column));
    }
    for (size_t i = 0; i < count; i++) {
        if (isnan(row_number(rows[i], "n_moves"))) {
            continue;
        }
        add_row(&table, is_yardstick(report, rows[i]) ? ROW_YARDSTICK : ROW_PLAIN);
        add_text(&table, row_name(report, rows[i]));
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            add_figure(&table, row_number(rows[i], counts[c].column), grouped_text);
        }
    }
    write_table(&table, id, "Work, counted: the same on any machine", "Work was not counted.");
}

/* The folder of a contest. */
static const struct report_set *set_of(const struct report *report, const struct contest *contest)
{
    const struct report_data *data = report->data;
    for (size_t s = 0; s < data->set_count; s++) {
        if (strcmp(data->sets[s].mark, contest->mark) == 0) {
            return &data->sets[s];
        }
    }
    return &data->sets[0];
}

/* Where in the trace the longest single calls were; nothing, where that was not noted. */
static void write_worst(struct report *report, const struct contest *contest, const char *id)
{
    static const char *const places[] = {"tick", "event", "timer", "fired"};
    const struct report_set *set = set_of(report, contest);
    struct table table = {.report = report};
    size_t i = 0;
    const json_t *worst = NULL;
    add_column(&table, "structure", false, "");
    add_column(&table, "operation", false, "");
    add_column(&table, "time", true, "the longest single call of all runs");
    add_column(&table, "at tick", true, "");
    add_column(&table, "before event", true, "its place among the operations of the trace");
    add_column(&table, "timer", true, "");
    add_column(&table, "fired", true, "the timers that this advance fired");
    json_array_foreach(json_object_get(set->context, "worst"), i, worst)
    {
        if (strcmp(row_string(worst, "trace"), contest->trace) != 0) {
            continue;
        }
        add_row(&table, ROW_PLAIN);
        add_text(&table, pool_format(&report->pool, "%s%s%s", series_text(&report->pool, worst),
                                     contest->mark[0] != '\0' ? " " : "", contest->mark));
        add_text(&table, row_string(worst, "op"));
        add_figure(&table, row_number(worst, "ns"), duration_text);
        for (size_t p = 0; p < sizeof places / sizeof places[0]; p++) {
            add_figure(&table, row_number(worst, places[p]), grouped_text);
        }
    }
    if (table.page.row_count > 0) {
        write_table(&table, id, "The longest single calls, and where they were", "");
    }
}

static void write_trace(struct report *report, const struct contest *contest, size_t index)
{
    static void (*const tables[])(struct report *, const json_t *const *, size_t, const char *) = {
        throughput_table, latency_table, memory_table, wakeups_table, work_table};
    struct page *page = &report->page;
    size_t count = 0;
    const json_t **rows = rows_of(report, contest, &count);
    if (rows == NULL) {
        return;
    }
    page->form->fold_begin(page, contest_title(report, contest),
                           pool_format(&report->pool, "trace-%zu", index));
    page->form->paragraph(page, pool_format(&report->pool,
                                            "%s operations: %s starts, %s restarts, %s stops.",
                                            grouped_text(row_number(rows[0], "events"), FIGURE),
                                            grouped_text(row_number(rows[0], "starts"), FIGURE),
                                            grouped_text(row_number(rows[0], "restarts"), FIGURE),
                                            grouped_text(row_number(rows[0], "stops"), FIGURE)));
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        tables[t](report, rows, count, pool_format(&report->pool, "trace-%zu-%zu", index, t));
    }
    write_worst(report, contest, pool_format(&report->pool, "trace-%zu-worst", index));
    page->form->fold_end(page);
    free((void *)rows);
}

/* --- single operations ----------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The distinct numbers of timers, rising; to be freed. */
static double *bench_sizes(struct report *report, size_t *count)
{
    const json_t *bench = report->data->bench;
    double *sizes = calloc(json_array_size(bench) + 1, sizeof *sizes);
    *count = 0;
    if (sizes == NULL) {
        report->pool.failed = true;
        return NULL;
    }
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(bench, i, row)
    {
        double n = row_number(row, "n");
        bool seen = isnan(n);
        for (size_t k = 0; k < *count && !seen; k++) {
            seen = sizes[k] == n;
        }
        if (!seen) {
            sizes[(*count)++] = n;
        }
    }
    qsort(sizes, *count, sizeof sizes[0], by_number);
    return sizes;
}

static bool same_line(const json_t *a, const json_t *b)
{
    return strcmp(row_string(a, "op"), row_string(b, "op")) == 0 &&
           strcmp(row_string(a, "algo"), row_string(b, "algo")) == 0 &&
           strcmp(row_string(a, "set"), row_string(b, "set")) == 0;
}

/* A line of the table: an operation of a structure, with each number of timers. */
static void bench_line(struct table *table, const json_t *like, const double *sizes,
                       size_t size_count)
{
    struct report *report = table->report;
    add_row(table, is_yardstick(report, like) ? ROW_YARDSTICK : ROW_PLAIN);
    add_text(table, row_name(report, like));
    add_text(table, row_string(like, "op"));
    for (size_t n = 0; n < size_count; n++) {
        double value = NAN;
        double spread = NAN;
        size_t i = 0;
        const json_t *row = NULL;
        json_array_foreach(report->data->bench, i, row)
        {
            if (same_line(row, like) && row_number(row, "n") == sizes[n]) {
                value = row_number(row, "ns_per_op");
                spread = row_number(row, "ns_per_op_mad");
                break;
            }
        }
        const char *text = isnan(value)
                               ? "-"
                               : pool_format(&report->pool, "%s ± %s", figure_text(value, FIGURE),
                                             figure_text(spread, FIGURE));
        add_cell(table, text, value);
    }
}

static void write_bench(struct report *report)
{
    struct page *page = &report->page;
    const json_t *bench = report->data->bench;
    size_t size_count = 0;
    if (json_array_size(bench) == 0) {
        return;
    }
    page->form->heading(page, 2, "One operation at a time", "operations");
    double *sizes = bench_sizes(report, &size_count);
    struct table table = {.report = report, .page.filter = true};
    add_column(&table, "structure", false, "");
    add_column(&table, "operation", false, "");
    for (size_t n = 0; n < size_count; n++) {
        add_column(&table, pool_format(&report->pool, "%s timers", grouped_text(sizes[n], FIGURE)),
                   true, "ns per operation, median and MAD");
    }
    for (size_t i = 0; sizes != NULL && i < json_array_size(bench); i++) {
        bool first = true;
        for (size_t k = 0; k < i && first; k++) {
            first = !same_line(json_array_get(bench, k), json_array_get(bench, i));
        }
        if (first) {
            bench_line(&table, json_array_get(bench, i), sizes, size_count);
        }
    }
    free(sizes);
    write_table(&table, "bench", "ns per operation, median and MAD", "Nothing was measured.");
}

/* --- pictures -------------------------------------------------------------------------------- */

static bool write_pictures(struct report *report, struct error *error)
{
    struct page *page = &report->page;
    char path[4096];
    struct stat info;
    page->form->heading(page, 2, "Pictures", "pictures");
    if (snprintf(path, sizeof path, "%s/pictures/pictures.csv", report->folder) >=
            (int)sizeof path ||
        stat(path, &info) != 0) {
        page->form->paragraph(page, "None were drawn.");
        return true;
    }
    json_t *pictures = csv_table_read(path, error);
    bool done = pictures != NULL;
    size_t i = 0;
    const json_t *row = NULL;
    page->form->pictures_begin(page);
    json_array_foreach(pictures, i, row)
    {
        struct page_picture picture = {.name = row_string(row, "picture"),
                                       .title = row_string(row, "title"),
                                       .about = row_string(row, "about"),
                                       .folder = report->folder};
        done = done && page->form->picture(page, &picture, error);
    }
    page->form->pictures_end(page);
    json_decref(pictures);
    return done;
}

/* --- the structures -------------------------------------------------------------------------- */

static const char *cost_words(struct report *report, const json_t *structure)
{
    const json_t *cost = json_object_get(structure, "cost");
    return pool_format(&report->pool, "Cost: start %s, stop %s, tick %s, expire %s.",
                       row_string(cost, "start"), row_string(cost, "stop"),
                       row_string(cost, "tick"), row_string(cost, "expire"));
}

static const char *promise_words(struct report *report, const json_t *structure)
{
    struct text text = {.pool = &report->pool};
    size_t i = 0;
    const json_t *word = NULL;
    text_add(&text, "Promises:");
    json_array_foreach(json_object_get(structure, "capabilities"), i, word)
    {
        text_add(&text, "%s %s", i > 0 ? "," : "", json_string_value(word));
    }
    text_add(&text, "%s.", i > 0 ? "" : " none");
    return text_end(&text);
}

static void option_table(struct report *report, const json_t *structure, const char *name)
{
    struct table table = {.report = report};
    add_column(&table, "option", false, "");
    add_column(&table, "default", false, "");
    add_column(&table, "from", true, "");
    add_column(&table, "to", true, "");
    add_column(&table, "what it does", false, "");
    size_t i = 0;
    const json_t *option = NULL;
    json_array_foreach(json_object_get(structure, "options"), i, option)
    {
        add_row(&table, ROW_PLAIN);
        add_text(&table, row_string(option, "name"));
        add_text(&table, row_string(option, "default"));
        add_figure(&table, row_number(option, "min"), grouped_text);
        add_figure(&table, row_number(option, "max"), grouped_text);
        add_text(&table, row_string(option, "help"));
    }
    write_table(&table, pool_format(&report->pool, "options-%s", name), "Options",
                "It has no options.");
}

static void write_structures(struct report *report)
{
    struct page *page = &report->page;
    const char *name = NULL;
    json_t *structure = NULL;
    page->form->heading(page, 2, "The structures", "structures");
    json_object_foreach(report->data->structures, name, structure)
    {
        page->form->fold_begin(page,
                               pool_format(&report->pool, MARK_BOLD "%s" MARK_BOLD ": %s", name,
                                           row_string(structure, "summary")),
                               pool_format(&report->pool, "structure-%s", name));
        if (row_string(structure, "description")[0] != '\0') {
            page->form->paragraph(page, row_string(structure, "description"));
        }
        page->form->paragraph(
            page, pool_format(&report->pool, "After: %s.", row_string(structure, "origin")));
        page->form->paragraph(page, cost_words(report, structure));
        page->form->paragraph(page, promise_words(report, structure));
        option_table(report, structure, name);
        page->form->fold_end(page);
    }
}

/* --- how it was measured --------------------------------------------------------------------- */

/* A value of the context as text; NULL for one that is told elsewhere. */
static const char *context_text(struct report *report, const json_t *value)
{
    struct text text = {.pool = &report->pool};
    size_t i = 0;
    const json_t *item = NULL;
    if (json_is_string(value)) {
        return json_string_value(value);
    }
    if (json_is_number(value)) {
        return pool_format(&report->pool, "%.6g", json_number_value(value));
    }
    if (json_is_boolean(value)) {
        return json_is_true(value) ? "yes" : "no";
    }
    json_array_foreach(value, i, item)
    {
        if (!json_is_string(item)) {
            (void)text_end(&text);
            return NULL;
        }
        text_add(&text, "%s%s", i > 0 ? " " : "", json_string_value(item));
    }
    return json_is_array(value) ? text_end(&text) : NULL;
}

static void write_context(struct report *report, const struct report_set *set, size_t index)
{
    struct table table = {.report = report};
    const char *key = NULL;
    json_t *value = NULL;
    add_column(&table, "what", false, "");
    add_column(&table, "value", false, "");
    json_object_foreach(set->context, key, value)
    {
        const char *text = context_text(report, value);
        if (text != NULL) {
            add_row(&table, ROW_PLAIN);
            add_text(&table, key);
            add_text(&table, text);
        }
    }
    write_table(&table, pool_format(&report->pool, "context-%zu", index),
                set->mark[0] == '\0' ? "What measured it"
                                     : pool_format(&report->pool, "%s: %s", set->mark, set->folder),
                "Nothing is known of what measured it.");
}

/* The checksum of a contest's trace; "" if it is not known. */
static const char *trace_checksum(const struct report *report, const struct contest *contest)
{
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(report->data->rows, i, row)
    {
        if (in_contest(row, contest) && row_string(row, "trace_checksum")[0] != '\0') {
            return row_string(row, "trace_checksum");
        }
    }
    return "";
}

/* What the context says of a contest's trace; NULL if nothing. */
static const json_t *known_trace(const struct report *report, const struct contest *contest)
{
    size_t i = 0;
    const json_t *trace = NULL;
    json_array_foreach(json_object_get(set_of(report, contest)->context, "traces"), i, trace)
    {
        if (strcmp(row_string(trace, "name"), contest->trace) == 0) {
            return trace;
        }
    }
    return NULL;
}

/* The traces, and by what to recognise them. */
static void write_trace_list(struct report *report)
{
    static const char *const counts[] = {"events", "starts", "restarts", "stops"};
    bool sets = report->data->set_count > 1;
    struct table table = {.report = report};
    add_column(&table, "trace", false, column_help("trace"));
    if (sets) {
        add_column(&table, "results", false, "");
    }
    add_column(&table, "checksum", false,
               "of the trace's content: the same operations have the same");
    add_column(&table, "tick", true, "how long a tick is");
    add_column(&table, "timers", true, "different timers that are used");
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        add_column(&table, counts[c], true, column_help(counts[c]));
    }
    for (size_t i = 0; i < report->contests.count; i++) {
        size_t count = 0;
        const json_t **rows = rows_of(report, &report->contests.items[i], &count);
        if (rows == NULL) {
            return;
        }
        add_row(&table, ROW_PLAIN);
        add_text(&table, trace_base(row_string(rows[0], "trace")));
        if (sets) {
            add_text(&table, row_string(rows[0], "set"));
        }
        const char *checksum = trace_checksum(report, &report->contests.items[i]);
        const json_t *known = known_trace(report, &report->contests.items[i]);
        add_text(&table, checksum[0] != '\0' ? checksum : "-");
        add_figure(&table, row_number(known, "tick_ns"), duration_text);
        add_figure(&table, row_number(known, "timers"), grouped_text);
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            add_figure(&table, row_number(rows[0], counts[c]), grouped_text);
        }
        free((void *)rows);
    }
    write_table(&table, "traces-used", "The traces", "There was no trace.");
}

static void write_how(struct report *report)
{
    struct page *page = &report->page;
    page->form->heading(page, 2, "How it was measured", "context");
    for (size_t s = 0; s < report->data->set_count; s++) {
        write_context(report, &report->data->sets[s], s);
    }
    write_trace_list(report);
    bool headed = false;
    for (size_t s = 0; s < report->data->set_count; s++) {
        const struct report_set *set = &report->data->sets[s];
        if (set->commands[0] == '\0') {
            continue;
        }
        if (!headed) {
            page->form->heading(page, 2, "The same again", "again");
            headed = true;
        }
        if (set->mark[0] != '\0') {
            page->form->paragraph(page,
                                  pool_format(&report->pool, "%s: %s", set->mark, set->folder));
        }
        page->form->commands(page, set->commands);
    }
}

/* --- the page -------------------------------------------------------------------------------- */

static const char *set_text(struct report *report, const struct report_set *set)
{
    const char *commit = row_string(set->context, "commit");
    return pool_format(&report->pool, MARK_BOLD "%s" MARK_BOLD ": %s: %s%s%s, %s, %s", set->mark,
                       set->folder, row_string(set->context, "version"),
                       commit[0] != '\0' ? " " : "", commit, row_string(set->context, "cpu"),
                       row_string(set->context, "date"));
}

/* What makes results of several folders hard to compare: what their contexts have different, and
 * traces of one name with other content. */
static void write_differences(struct report *report)
{
    static const char *const keys[] = {"version", "commit",     "compiler",  "flags",
                                       "cpu",     "cpus",       "kernel",    "governor",
                                       "drive",   "huge_pages", "build_type"};
    struct page *page = &report->page;
    const struct report_data *data = report->data;
    struct text text = {.pool = &report->pool};
    size_t said = 0;
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        for (size_t s = 1; s < data->set_count; s++) {
            const json_t *first = json_object_get(data->sets[0].context, keys[k]);
            const json_t *other = json_object_get(data->sets[s].context, keys[k]);
            if (first != other && !json_equal(first, other)) {
                text_add(&text, "%s%s", said++ > 0 ? ", " : "", keys[k]);
                break;
            }
        }
    }
    const char *different = text_end(&text);
    if (said > 0) {
        page->form->paragraph(
            page,
            pool_format(&report->pool, "They differ in: " MARK_BOLD "%s" MARK_BOLD ".", different));
    }
    struct list list = {.report = report};
    for (size_t i = 0; i < report->contests.count; i++) {
        const struct contest *contest = &report->contests.items[i];
        const char *checksum = trace_checksum(report, contest);
        for (size_t k = 0; k < i; k++) {
            const struct contest *other = &report->contests.items[k];
            const char *other_checksum = trace_checksum(report, other);
            if (strcmp(contest->trace, other->trace) == 0 && checksum[0] != '\0' &&
                other_checksum[0] != '\0' && strcmp(checksum, other_checksum) != 0) {
                list_add(&list,
                         pool_format(&report->pool,
                                     MARK_BOLD "%s is not the same trace" MARK_BOLD " in %s and %s",
                                     trace_base(contest->trace), other->mark, contest->mark));
                break;
            }
        }
    }
    list_write(&list);
}

/* "2 rows were wrong, and 3 could not be run: see ..." */
static const char *wrong_rows(struct report *report, size_t listed)
{
    size_t wrong = count_wrong(report);
    size_t left = listed - wrong;
    struct text text = {.pool = &report->pool};
    if (wrong > 0) {
        text_add(&text, MARK_BOLD "%zu %s wrong" MARK_BOLD, wrong,
                 wrong == 1 ? "row was" : "rows were");
    } else {
        text_add(&text, "Nothing was wrong");
    }
    if (left > 0) {
        text_add(&text, "; %zu %s could not be run", left, left == 1 ? "row" : "rows");
    }
    text_add(&text, ": see " MARK_LINK "faults Faults, and what did not run" MARK_LINK ".");
    return text_end(&text);
}

/* Who won, at what cost; what went wrong; and which results these are, where there are several. */
static void write_beginning(struct report *report)
{
    struct page *page = &report->page;
    struct list wrong = {.report = report};
    page->form->verdict(page, verdict_text(&report->pool, report->data, &report->contests));
    collect_wrong(report, &wrong);
    if (wrong.count > 0) {
        page->form->paragraph(page, wrong_rows(report, wrong.count));
    }
    free((void *)wrong.items);
    if (report->data->set_count > 1) {
        struct list sets = {.report = report};
        page->form->paragraph(page, "Results of several folders stand side by side, each with its "
                                    "letter behind the structure's name:");
        for (size_t s = 0; s < report->data->set_count; s++) {
            list_add(&sets, set_text(report, &report->data->sets[s]));
        }
        list_write(&sets);
        write_differences(report);
    }
}

static bool write_page(struct report *report, struct error *error)
{
    struct page *page = &report->page;
    page->form->begin(page, "Which timer structure?");
    write_beginning(report);
    if (report->contests.count > 0) {
        write_main_table(report);
    }
    write_faults(report);
    write_words(report);
    if (!write_pictures(report, error)) {
        return false;
    }
    if (report->contests.count > 0) {
        page->form->heading(page, 2, "Trace by trace", "traces");
    }
    for (size_t c = 0; c < report->contests.count; c++) {
        write_trace(report, &report->contests.items[c], c);
    }
    write_bench(report);
    write_structures(report);
    write_how(report);
    page->form->end(page);
    return true;
}

bool report_write(const struct report_data *data, const char *folder, const struct page_form *form,
                  FILE *stream, struct error *error)
{
    struct report report = {
        .page = {.form = form, .stream = stream, .structures = data->structures},
        .data = data,
        .folder = folder,
    };
    if (!contest_list_build(&report.contests, data)) {
        return error_set(error, "out of memory");
    }
    bool done = write_page(&report, error);
    if (done && report.pool.failed) {
        done = error_set(error, "out of memory");
    }
    contest_list_free(&report.contests);
    pool_free(&report.pool);
    return done;
}
