/* Protocols for timers that many machines share: the results of `cluster check`, `sim` and `run`. */
#include "report_work.h"

#include <string.h>

#define WORDS_MAX (TABLE_COLUMNS_MAX - 8)

/* The rows of a drive, one after the other: `at` is where the search begins; NULL: no more. */
static const json_t *next_row(const struct report *report, const char *drive, size_t *at)
{
    const json_t *rows = report->data->cluster;
    while (*at < json_array_size(rows)) {
        const json_t *row = json_array_get(rows, (*at)++);
        if (strcmp(json_word(row, "drive"), drive) == 0) {
            return row;
        }
    }
    return NULL;
}

static bool has_rows(const struct report *report, const char *drive)
{
    size_t at = 0;
    return next_row(report, drive, &at) != NULL;
}

/* "lease", "lease, redis", "lease A" where there are several folders. */
static const char *protocol_name(struct report *report, const json_t *row)
{
    const char *mark = json_word(row, "set");
    const char *engine = json_word(row, "engine");
    return pool_format(&report->pool, MARK_CODE "%s" MARK_CODE "%s%s%s%s",
                       json_word(row, "protocol"), engine[0] != '\0' ? ", " : "", engine,
                       mark[0] != '\0' ? " " : "", mark);
}

#define PROTOCOL_COLUMN                                                                            \
    {                                                                                              \
        "protocol", "protocol", NULL, "", protocol_name                                            \
    }

/* Words, each once, in the order of their coming. */
struct words {
    const char *items[WORDS_MAX];
    size_t count;
};

/* False: it is there already. */
static bool add_word(struct words *words, const char *word)
{
    for (size_t i = 0; i < words->count; i++) {
        if (strcmp(words->items[i], word) == 0) {
            return false;
        }
    }
    if (words->count < WORDS_MAX) {
        words->items[words->count++] = word;
    }
    return true;
}

static bool is_wrong(const json_t *row)
{
    return json_figure(row, "lost") > 0 || json_figure(row, "early") > 0 ||
           json_figure(row, "after_stop") > 0;
}

/* A table with a row for each row of a drive. */
static void write_rows(struct report *report, const char *drive, const char *id,
                       const struct shown_column *columns, size_t count, const char *caption)
{
    struct table table = {.report = report};
    size_t at = 0;
    table_columns(&table, columns, count);
    for (const json_t *row; (row = next_row(report, drive, &at)) != NULL;) {
        table_row(&table, is_wrong(row) ? ROW_FAILED : ROW_PLAIN);
        table_cells(&table, row, columns, count);
    }
    table_write(&table, id, caption, "");
}

/* --- everything that can happen -------------------------------------------------------------- */

/* The row of a protocol of a folder under these faults. */
static const json_t *find_checked(const struct report *report, const json_t *like,
                                  const char *faults)
{
    size_t at = 0;
    for (const json_t *row; (row = next_row(report, "check", &at)) != NULL;) {
        if (strcmp(json_word(row, "protocol"), json_word(like, "protocol")) == 0 &&
            strcmp(json_word(row, "set"), json_word(like, "set")) == 0 &&
            strcmp(json_word(row, "faults"), faults) == 0) {
            return row;
        }
    }
    return NULL;
}

/* "crash + late": where a heading may be broken. */
static const char *spaced(struct report *report, const char *faults)
{
    struct text text = {.pool = &report->pool};
    for (const char *at = faults; *at != '\0'; at++) {
        text_add(&text, "%.*s%s", *at != '+', at, *at == '+' ? " + " : "");
    }
    return text_end(&text);
}

static void write_checked(struct report *report)
{
    struct table table = {.report = report};
    struct words faults = {0};
    struct words protocols = {0};
    size_t at = 0;
    table_column(&table, "protocol", false, "");
    for (const json_t *row; (row = next_row(report, "check", &at)) != NULL;) {
        (void)add_word(&faults, json_word(row, "faults"));
    }
    for (size_t i = 0; i < faults.count; i++) {
        table_column(&table, spaced(report, faults.items[i]), true, "");
    }
    at = 0;
    for (const json_t *row; (row = next_row(report, "check", &at)) != NULL;) {
        const char *name = protocol_name(report, row);
        if (!add_word(&protocols, name)) {
            continue;
        }
        size_t first = table.cell_count;
        table_row(&table, ROW_PLAIN);
        table_text(&table, name);
        for (size_t i = 0; i < faults.count; i++) {
            const json_t *checked = find_checked(report, row, faults.items[i]);
            double lost = json_figure(checked, "lost_ends");
            const char *bold = lost > 0 ? MARK_BOLD : "";
            table_cell(&table,
                       checked == NULL
                           ? "-"
                           : pool_format(&report->pool, "%s%s of %s%s; %s", bold,
                                         grouped_text(lost, FIGURE),
                                         grouped_text(json_figure(checked, "ends"), FIGURE), bold,
                                         grouped_text(json_figure(checked, "most_calls"), FIGURE)),
                       lost);
            if (lost > 0) {
                table.cells[first].kind = ROW_FAILED;
            }
        }
    }
    table_write(&table, "cluster-check", "Ends that lose a timer, of all ends; most calls of one",
                "");
}

/* --- simulated and run ----------------------------------------------------------------------- */

static const struct shown_column failure_columns[] = {
    PROTOCOL_COLUMN,
    {"started", "started", grouped_text, "timers that were accepted", NULL},
    {"fired", "fired", grouped_text, "timers with a call of the service", NULL},
    {"lost", "lost", grouped_text, "accepted, neither stopped nor given up, and never called",
     NULL},
    {"lost by", "lost_by", NULL, "the causes", NULL},
    {"early", "early", grouped_text, "called before their deadline", NULL},
    {"after stop", "after_stop", grouped_text, "called after a confirmed stop", NULL},
    {"again", "duplicates", grouped_text, "calls beyond a timer's first", NULL},
    {"again by", "duplicates_by", NULL, "the causes", NULL},
    {"late: 50 %, ms", "late_p50_ms", figure_text, "half of the timers were no later", NULL},
    {"99 %", "late_p99_ms", figure_text, "", NULL},
    {"most", "late_max_ms", figure_text, "", NULL},
};

static const struct shown_column cost_columns[] = {
    PROTOCOL_COLUMN,
    {"store operations per fired", "store_operations_per_fired", figure_text, "", NULL},
    {"syncs per fired", "syncs_per_fired", figure_text, "waits of the store for its disk", NULL},
    {"most in the queue", "queue_most", grouped_text, "", NULL},
    {"most live timers", "most_live", grouped_text, "", NULL},
    {"bytes per live timer", "bytes_per_live", figure_text, "of the model itself", NULL},
};

static const struct shown_column rate_columns[] = {
    PROTOCOL_COLUMN,
    {"clock", "clock", NULL, "steps: no process ever waits; real: the machine's", NULL},
    {"fired per second", "fired_per_s", grouped_text, "", NULL},
};

/* --- sentences and sections ------------------------------------------------------------------ */

/* Whether any row of the protocol has lost a timer. */
static bool loses(const struct report *report, const char *protocol)
{
    bool any = false;
    for (size_t i = 0; i < json_array_size(report->data->cluster); i++) {
        const json_t *row = json_array_get(report->data->cluster, i);
        any = any || (strcmp(json_word(row, "protocol"), protocol) == 0 &&
                      (json_figure(row, "lost") > 0 || json_figure(row, "lost_ends") > 0));
    }
    return any;
}

const char *cluster_verdict(struct report *report)
{
    struct words protocols = {0};
    struct text text = {.pool = &report->pool};
    for (size_t i = 0; i < json_array_size(report->data->cluster); i++) {
        (void)add_word(&protocols, json_word(json_array_get(report->data->cluster, i), "protocol"));
    }
    for (int losing = 0; losing < 2; losing++) {
        size_t said = 0;
        for (size_t i = 0; i < protocols.count; i++) {
            if (loses(report, protocols.items[i]) == (losing > 0)) {
                text_add(&text, "%s" MARK_CODE "%s" MARK_CODE,
                         said++ > 0    ? ", "
                         : losing == 0 ? "No timer was lost by "
                                       : "Timers were lost by ",
                         protocols.items[i]);
            }
        }
        text_add(&text, "%s", said > 0 ? ". " : "");
    }
    text_add(&text, "%s",
             "The faults of each are listed below; only the search tries all of them.");
    return text_end(&text);
}

void section_cluster(struct report *report)
{
    struct page *page = &report->page;
    if (json_array_size(report->data->cluster) == 0) {
        return;
    }
    page_begin(page, PAGE_SECTION, "Lost, early, or called again", "cluster-failures");
    if (has_rows(report, "check")) {
        page_begin(page, PAGE_SUBSECTION, "Everything that can happen to two timers",
                   "cluster-checked");
        page_text(page, PAGE_PARAGRAPH,
                  "Under each set of faults: ends in which a timer was never "
                  "called, of all ends; and the most calls of one timer.");
        write_checked(report);
    }
    if (has_rows(report, "sim")) {
        page_begin(page, PAGE_SUBSECTION, "Simulated", "cluster-simulated");
        write_rows(report, "sim", "cluster-sim", failure_columns, COUNT_OF(failure_columns),
                   "Days of a cluster, with faults");
    }
    if (has_rows(report, "run")) {
        page_begin(page, PAGE_SUBSECTION, "Run", "cluster-run-for-real");
        write_rows(report, "run", "cluster-run", failure_columns, COUNT_OF(failure_columns),
                   "Processes on an engine, killed at random");
    }
    if (has_rows(report, "sim") || has_rows(report, "run")) {
        page_begin(page, PAGE_SECTION, "Cost", "cluster-costs");
    }
    if (has_rows(report, "sim")) {
        write_rows(report, "sim", "cluster-cost", cost_columns, COUNT_OF(cost_columns),
                   "Work of the store, simulated");
    }
    if (has_rows(report, "run")) {
        write_rows(report, "run", "cluster-rates", rate_columns, COUNT_OF(rate_columns),
                   "Speed, run");
    }
}
