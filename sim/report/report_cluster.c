/* Protocols for timers that many machines share: what `cluster check`, `sim` and `run` have found
 * of them, side by side. Causes, faults and paths are columns as they come: the rows name them. */
#include "report_words.h"
#include "report_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MATRIX_COLUMNS_MAX (TABLE_COLUMNS_MAX - 8)

/* --- rows ------------------------------------------------------------------------------------ */

/* The rows of a drive, one after the other: `at` is where the search begins; NULL: no more. */
static const json_t *next_row(const struct report *report, const char *drive, size_t *at)
{
    const json_t *rows = report->data->cluster;
    while (*at < json_array_size(rows)) {
        const json_t *row = json_array_get(rows, (*at)++);
        if (strcmp(row_string(row, "drive"), drive) == 0) {
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

/* "lease", "lease A" where there are several folders; with what else tells rows apart. */
static const char *protocol_name(struct report *report, const json_t *row)
{
    const char *mark = row_string(row, "set");
    const char *algo = row_string(row, "algo");
    const char *engine = row_string(row, "engine");
    bool searched = strcmp(row_string(row, "drive"), "check") == 0;
    const char *with = searched ? "" : algo[0] != '\0' ? algo : engine;
    return pool_format(&report->pool, MARK_CODE "%s" MARK_CODE "%s%s%s%s",
                       row_string(row, "protocol"), with[0] != '\0' ? ", " : "", with,
                       mark[0] != '\0' ? " " : "", mark);
}

/* Words, each once, in the order of their coming. */
struct words {
    const char *items[MATRIX_COLUMNS_MAX];
    size_t count;
};

static void add_word(struct words *words, const char *word)
{
    for (size_t i = 0; i < words->count; i++) {
        if (strcmp(words->items[i], word) == 0) {
            return;
        }
    }
    if (words->count < MATRIX_COLUMNS_MAX) {
        words->items[words->count++] = word;
    }
}

/* --- lost, early, again: by cause ------------------------------------------------------------ */

/* Of "crash 3, reply_lost 17", the count of one cause; NAN if it is not there. */
static double count_in_text(const char *text, const char *cause)
{
    size_t length = strlen(cause);
    for (const char *at = text; *at != '\0';) {
        if (strncmp(at, cause, length) == 0 && at[length] == ' ') {
            return strtod(at + length, NULL);
        }
        at += strcspn(at, ",");
        at += strspn(at, ", ");
    }
    return NAN;
}

/* How many of `what` ("lost", "duplicates") had this cause: in what is told in one text, or in a
 * column of its own. */
static double count_by_cause(struct report *report, const json_t *row, const char *what,
                             const char *cause)
{
    double count = count_in_text(row_string(row, pool_format(&report->pool, "%s_by", what)), cause);
    return isnan(count) ? row_number(row, pool_format(&report->pool, "%s_%s", what, cause)) : count;
}

static void add_causes(struct report *report, const json_t *row, const char *what,
                       struct words *causes)
{
    size_t length = strlen(what);
    for (const char *at = row_string(row, pool_format(&report->pool, "%s_by", what));
         *at != '\0';) {
        add_word(causes, pool_format(&report->pool, "%.*s", (int)strcspn(at, " ,"), at));
        at += strcspn(at, ",");
        at += strspn(at, ", ");
    }
    const char *name = NULL;
    const json_t *value = NULL;
    json_object_foreach((json_t *)row, name, value)
    {
        if (strncmp(name, what, length) == 0 && name[length] == '_' &&
            json_number_value(value) > 0) {
            add_word(causes, name + length + 1);
        }
    }
}

static bool is_wrong(const json_t *row)
{
    return row_number(row, "lost") > 0 || row_number(row, "early") > 0 ||
           row_number(row, "after_stop") > 0;
}

/* "17 lost, 94 again". */
static const char *cause_text(struct report *report, double lost, double again)
{
    struct text text = {.pool = &report->pool};
    if (lost > 0) {
        text_add(&text, "%s lost", grouped_text(lost, FIGURE));
    }
    if (again > 0) {
        text_add(&text, "%s%s again", lost > 0 ? ", " : "", grouped_text(again, FIGURE));
    }
    const char *said = text_end(&text);
    return said[0] != '\0' ? said : "0";
}

static void write_causes(struct report *report, const char *drive, const char *caption)
{
    struct table table = {.report = report};
    struct words causes = {0};
    size_t at = 0;
    bool stops = false;
    for (const json_t *row; (row = next_row(report, drive, &at)) != NULL;) {
        add_causes(report, row, "lost", &causes);
        add_causes(report, row, "duplicates", &causes);
        stops = stops || !isnan(row_number(row, "after_stop"));
    }
    table_column(&table, "protocol", false, "");
    table_column(&table, "started", true, "timers that were accepted");
    table_column(&table, "fired", true, "timers whose service was called");
    table_column(&table, "lost", true, "accepted, neither stopped nor given up, and never called");
    table_column(&table, "early", true, "called before their deadline");
    if (stops) {
        table_column(&table, "after stop", true, "called though a stop was confirmed");
    }
    table_column(&table, "again", true, "calls beyond a timer's first");
    for (size_t i = 0; i < causes.count; i++) {
        table_column(&table, pool_format(&report->pool, "by %s", causes.items[i]), true,
                     "what of lost and again had this cause");
    }
    at = 0;
    for (const json_t *row; (row = next_row(report, drive, &at)) != NULL;) {
        table_row(&table, is_wrong(row) ? ROW_FAILED : ROW_PLAIN);
        table_text(&table, protocol_name(report, row));
        table_figure(&table, row_number(row, "started"), grouped_text);
        table_figure(&table, row_number(row, "fired"), grouped_text);
        table_figure(&table, row_number(row, "lost"), grouped_text);
        table_figure(&table, row_number(row, "early"), grouped_text);
        if (stops) {
            table_figure(&table, row_number(row, "after_stop"), grouped_text);
        }
        table_figure(&table, row_number(row, "duplicates"), grouped_text);
        for (size_t i = 0; i < causes.count; i++) {
            double lost = count_by_cause(report, row, "lost", causes.items[i]);
            double again = count_by_cause(report, row, "duplicates", causes.items[i]);
            table_cell(&table, cause_text(report, lost, again),
                       (lost > 0 ? lost : 0) + (again > 0 ? again : 0));
        }
    }
    table_write(&table, pool_format(&report->pool, "cluster-%s", drive), caption, "");
}

/* --- everything that can happen -------------------------------------------------------------- */

/* The row of a protocol of a folder under these faults. */
static const json_t *find_checked(const struct report *report, const json_t *like,
                                  const char *faults)
{
    size_t at = 0;
    for (const json_t *row; (row = next_row(report, "check", &at)) != NULL;) {
        if (strcmp(row_string(row, "protocol"), row_string(like, "protocol")) == 0 &&
            strcmp(row_string(row, "set"), row_string(like, "set")) == 0 &&
            strcmp(row_string(row, "faults"), faults) == 0) {
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
    struct words told = {0};
    size_t at = 0;
    table_column(&table, "protocol", false, "");
    for (const json_t *row; (row = next_row(report, "check", &at)) != NULL;) {
        add_word(&faults, row_string(row, "faults"));
    }
    for (size_t i = 0; i < faults.count; i++) {
        table_column(&table, spaced(report, faults.items[i]), true, "");
    }
    at = 0;
    for (const json_t *row; (row = next_row(report, "check", &at)) != NULL;) {
        const char *name = protocol_name(report, row);
        size_t before = told.count;
        add_word(&told, name);
        if (told.count == before) {
            continue;
        }
        size_t kind = table.page.row_count;
        bool loses = false;
        table_row(&table, ROW_PLAIN);
        table_text(&table, name);
        for (size_t i = 0; i < faults.count; i++) {
            const json_t *checked = find_checked(report, row, faults.items[i]);
            double lost = row_number(checked, "lost_ends");
            loses = loses || lost > 0;
            table_cell(&table,
                       checked == NULL
                           ? "-"
                           : pool_format(&report->pool, "%s%s of %s%s; %s",
                                         lost > 0 ? MARK_BOLD : "", grouped_text(lost, FIGURE),
                                         grouped_text(row_number(checked, "ends"), FIGURE),
                                         lost > 0 ? MARK_BOLD : "",
                                         grouped_text(row_number(checked, "most_calls"), FIGURE)),
                       lost);
        }
        if (loses && table.kinds != NULL && kind < table.page.row_count) {
            table.kinds[kind] = ROW_FAILED;
        }
    }
    table_write(&table, "cluster-check", "Ends that lose a timer, of all ends; most calls of one",
                "");
}

/* --- how late, and at what cost -------------------------------------------------------------- */

static void add_lateness(struct report *report, struct table *table, const json_t *row,
                         const char *path, double count)
{
    const char *between = path[0] != '\0' ? "_" : "";
    double p50_ms = row_number(row, pool_format(&report->pool, "late_%s%sp50_ms", path, between));
    double p99_ms = row_number(row, pool_format(&report->pool, "late_%s%sp99_ms", path, between));
    double max_ms = row_number(row, pool_format(&report->pool, "late_%s%smax_ms", path, between));
    if (!(count > 0) || isnan(p99_ms)) {
        return;
    }
    table_row(table, ROW_PLAIN);
    table_text(table, strcmp(row_string(row, "drive"), "sim") == 0 ? "simulated" : "run");
    table_text(table, protocol_name(report, row));
    table_text(table, path[0] != '\0' ? path : "all");
    table_figure(table, count, grouped_text);
    table_figure(table, p50_ms * 1e6, duration_text);
    table_figure(table, p99_ms * 1e6, duration_text);
    table_figure(table, max_ms * 1e6, duration_text);
}

/* All paths that the row names: in a simulation's each has a count by its name, in a run's
 * late_PATH_count. */
static void add_paths(struct report *report, struct table *table, const json_t *row)
{
    const char *name = NULL;
    const json_t *value = NULL;
    bool simulated = strcmp(row_string(row, "drive"), "sim") == 0;
    if (simulated) {
        add_lateness(report, table, row, "", row_number(row, "fired"));
    }
    json_object_foreach((json_t *)row, name, value)
    {
        static const char ending[] = "_p50_ms";
        size_t length = strlen(name);
        size_t whole = strlen("late_") + strlen(ending);
        if (strncmp(name, "late_", 5) == 0 && length > whole &&
            strcmp(name + length - strlen(ending), ending) == 0) {
            const char *path =
                pool_format(&report->pool, "%.*s", (int)(length - whole), name + strlen("late_"));
            const char *count =
                simulated ? path : pool_format(&report->pool, "late_%s_count", path);
            add_lateness(report, table, row, path, row_number(row, count));
        }
    }
}

static void write_lateness(struct report *report)
{
    struct table table = {.report = report, .page.filter = true};
    table_column(&table, "drive", false, "");
    table_column(&table, "protocol", false, "");
    table_column(&table, "path", false, "how a timer came to its call");
    table_column(&table, "timers", true, "");
    table_column(&table, "50 %", true, "no later than this for so many of them");
    table_column(&table, "99 %", true, "no later than this for so many of them");
    table_column(&table, "most", true, "the latest");
    for (size_t i = 0; i < json_array_size(report->data->cluster); i++) {
        const json_t *row = json_array_get(report->data->cluster, i);
        if (strcmp(row_string(row, "drive"), "check") != 0) {
            add_paths(report, &table, row);
        }
    }
    table_write(&table, "cluster-lateness", "How late the service was called, by path",
                "No lateness was measured.");
}

static void write_cost(struct report *report)
{
    static const struct shown_column columns[] = {
        {"store operations per fired", "store_operations_per_fired", figure_text, "", NULL},
        {"syncs per fired", "syncs_per_fired", figure_text, "waits of the store for its disk",
         NULL},
        {"most in the queue", "queue_most", grouped_text, "", NULL},
        {"most live timers", "most_live", grouped_text, "", NULL},
        {"bytes per live timer", "bytes_per_live", figure_text, "of the model itself", NULL},
    };
    struct table table = {.report = report};
    size_t at = 0;
    table_column(&table, "protocol", false, "");
    table_columns(&table, columns, COUNT_OF(columns));
    for (const json_t *row; (row = next_row(report, "sim", &at)) != NULL;) {
        table_row(&table, ROW_PLAIN);
        table_text(&table, protocol_name(report, row));
        table_cells(&table, row, columns, COUNT_OF(columns));
    }
    table_write(&table, "cluster-cost", "What the store has to do, simulated", "");
}

static void write_rates(struct report *report)
{
    static const struct shown_column columns[] = {
        {"engines", "engines", grouped_text, "", NULL},
        {"clock", "clock", NULL, "steps: nobody ever waits; real: the machine's", NULL},
        {"fired per second", "fired_per_s", grouped_text, "", NULL},
        {"the engine's own writes per second", "floor_per_s", grouped_text,
         "plain writes, each on the disk", NULL},
    };
    struct table table = {.report = report};
    size_t at = 0;
    table_column(&table, "protocol", false, "");
    table_columns(&table, columns, COUNT_OF(columns));
    for (const json_t *row; (row = next_row(report, "run", &at)) != NULL;) {
        table_row(&table, ROW_PLAIN);
        table_text(&table, protocol_name(report, row));
        table_cells(&table, row, columns, COUNT_OF(columns));
    }
    table_write(&table, "cluster-rates", "How fast, run", "");
}

/* --- sentences and sections ------------------------------------------------------------------ */

/* Whether any row of the protocol has lost a timer. */
static bool loses(const struct report *report, const char *protocol)
{
    bool any = false;
    for (size_t i = 0; i < json_array_size(report->data->cluster); i++) {
        const json_t *row = json_array_get(report->data->cluster, i);
        any = any || (strcmp(row_string(row, "protocol"), protocol) == 0 &&
                      (row_number(row, "lost") > 0 || row_number(row, "lost_ends") > 0));
    }
    return any;
}

const char *cluster_verdict(struct report *report)
{
    struct words protocols = {0};
    struct text text = {.pool = &report->pool};
    size_t said = 0;
    for (size_t i = 0; i < json_array_size(report->data->cluster); i++) {
        add_word(&protocols, row_string(json_array_get(report->data->cluster, i), "protocol"));
    }
    for (int losing = 0; losing < 2; losing++) {
        said = 0;
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
             "Each under the faults that are told below; none but the search goes through all.");
    return text_end(&text);
}

void section_cluster(struct report *report)
{
    struct page *page = &report->page;
    if (json_array_size(report->data->cluster) == 0) {
        return;
    }
    page->form->heading(page, 2, "What is lost, early, or called again", "cluster-failures");
    if (has_rows(report, "check")) {
        page->form->heading(page, 3, "Everything that can happen to two timers", "cluster-checked");
        page->form->paragraph(page, "Under each set of faults: ends in which a timer was never "
                                    "called, of all ends; and the most calls of one timer.");
        write_checked(report);
    }
    if (has_rows(report, "sim")) {
        page->form->heading(page, 3, "Simulated", "cluster-simulated");
        write_causes(report, "sim", "Days of a cluster, with faults");
    }
    if (has_rows(report, "run")) {
        page->form->heading(page, 3, "Run", "cluster-run-for-real");
        write_causes(report, "run", "Processes on an engine, killed in the middle");
    }
    if (has_rows(report, "sim") || has_rows(report, "run")) {
        page->form->heading(page, 2, "How late, by path", "cluster-late");
        write_lateness(report);
        page->form->heading(page, 2, "At what cost", "cluster-costs");
    }
    if (has_rows(report, "sim")) {
        write_cost(report);
    }
    if (has_rows(report, "run")) {
        write_rates(report);
    }
}
