/* Faults, and whether exact structures agree. */
#include "report_work.h"

#include <string.h>

/* Faults are listed up to here; all of them are in faults.csv. */
#define FAULTS_LISTED 20

static const enum column fault_columns[] = {COL_EARLY, COL_LATE_BEYOND, COL_LOST, COL_DUPLICATE,
                                            COL_MISORDERED};

static bool has_faults(const struct row *row)
{
    for (size_t i = 0; i < COUNT_OF(fault_columns); i++) {
        if (row_value(row, fault_columns[i]) > 0) {
            return true;
        }
    }
    return false;
}

bool row_is_wrong(const struct row *row)
{
    return (!row_is_ok(row) && !row_is_unsupported(row)) || has_faults(row);
}

/* "TRACE: NAME: crashed: signal 11 (lost: 3, early: 1)". */
static const char *wrong_row(struct report *report, const struct row *row)
{
    struct text text = {.pool = &report->pool};
    const char *reason = row_text(row, COL_REASON);
    const char *joint = " (";
    text_add(&text, "%s: %s: " MARK_BOLD "%s" MARK_BOLD "%s%s",
             trace_base(row_text(row, COL_TRACE)), row_name(report, row), row_text(row, COL_STATUS),
             reason[0] != '\0' ? ": " : "", reason);
    for (size_t i = 0; i < COUNT_OF(fault_columns); i++) {
        double count = row_value(row, fault_columns[i]);
        if (count > 0) {
            text_add(&text, "%s%s: %s", joint, result_columns[fault_columns[i]].name,
                     grouped_text(count, FIGURE));
            joint = ", ";
        }
    }
    text_add(&text, "%s", joint[0] == ',' ? ")" : "");
    return text_end(&text);
}

static void list_wrong(struct report *report, struct page_list *list)
{
    for (size_t s = 0; s < report->data->set_count; s++) {
        const struct report_set *set = &report->data->sets[s];
        for (size_t i = 0; i < set->rows.count; i++) {
            if (row_is_wrong(&set->rows.rows[i])) {
                page_list_add(list, wrong_row(report, &set->rows.rows[i]));
            }
        }
        for (size_t i = 0; i < set->bench.count; i++) {
            const struct row *row = &set->bench.rows[i];
            if (strcmp(row_text(row, COL_STATUS), "error") == 0) {
                page_list_add(list, pool_format(&report->pool,
                                                "%s: %s with %s timers: " MARK_BOLD
                                                "error" MARK_BOLD ": %s",
                                                row_name(report, row), row_text(row, BENCH_COL_OP),
                                                grouped_text(row_value(row, BENCH_COL_N), FIGURE),
                                                row_text(row, BENCH_COL_REASON)));
            }
        }
    }
}

/* Exact structures have to fire the same timers at the same ticks: a sentence for a trace of a
 * folder. *different: how many sets of timers they fired. */
static const char *agreement(struct report *report, const struct report_set *set, const char *trace,
                             size_t *different)
{
    size_t exact = 0;
    *different = 0;
    const json_t *sets = json_object_get(set->context, "fired_sets");
    size_t i = 0;
    const json_t *fired = NULL;
    json_array_foreach(sets, i, fired)
    {
        if (!json_is_true(json_object_get(fired, "exact")) ||
            strcmp(json_word(fired, "trace"), trace) != 0) {
            continue;
        }
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++) {
            const json_t *other = json_array_get(sets, k);
            seen = json_is_true(json_object_get(other, "exact")) &&
                   strcmp(json_word(other, "trace"), trace) == 0 &&
                   strcmp(json_word(other, "digest"), json_word(fired, "digest")) == 0;
        }
        exact++;
        *different += !seen;
    }
    const char *mark = set->mark[0] != '\0' ? pool_format(&report->pool, " (%s)", set->mark) : "";
    if (exact == 1) {
        return pool_format(&report->pool, "%s%s: one exact structure, and none to compare it with",
                           trace_base(trace), mark);
    }
    if (*different == 1) {
        return pool_format(&report->pool,
                           "%s%s: %zu exact structures fired the same timers at the same ticks",
                           trace_base(trace), mark, exact);
    }
    return pool_format(&report->pool,
                       "%s%s: " MARK_BOLD
                       "%zu exact structures fired %zu different sets of timers" MARK_BOLD,
                       trace_base(trace), mark, exact, *different);
}

/* Sentences on the traces on which exact structures agree, or on the others. */
static void add_agreements(struct report *report, struct page_list *list, bool agreeing)
{
    for (size_t c = 0; c < report->contests.count; c++) {
        const struct contest *contest = &report->contests.items[c];
        size_t different = 0;
        const char *sentence = agreement(report, contest->set, contest->trace, &different);
        if (different > 0 && (different == 1) == agreeing) {
            page_list_add(list, sentence);
        }
    }
}

void list_agreements(struct report *report)
{
    struct page_list list = {.report = report};
    add_agreements(report, &list, true);
    page_list_write(&list);
}

static void write_fault_table(struct report *report)
{
    struct page *page = &report->page;
    struct table table = {.report = report};
    size_t all = 0;
    table_column(&table, "structure", false, "");
    for (unsigned c = FAULT_TRACE; c < FAULT_COLUMNS; c++) {
        if (c != FAULT_ALGO && c != FAULT_OPTIONS) {
            const struct column_info *column = &fault_kind.columns[c];
            table_column(&table, column->name, column->digits >= 0, column->help);
        }
    }
    for (size_t s = 0; s < report->data->set_count; s++) {
        const struct results *faults = &report->data->sets[s].faults;
        for (size_t i = 0; i < faults->count; i++) {
            const struct row *row = &faults->rows[i];
            if (all++ >= FAULTS_LISTED) {
                continue;
            }
            table_row(&table, ROW_FAILED);
            table_text(&table, row_name(report, row));
            table_text(&table, trace_base(row_text(row, FAULT_TRACE)));
            table_text(&table, row_text(row, FAULT_KIND));
            for (unsigned c = FAULT_TIMER; c <= FAULT_EVENT; c++) {
                table_figure(&table, row_value(row, c), grouped_text);
            }
            table_text(&table, row_text(row, FAULT_DETAIL));
        }
    }
    table_write(&table, "fault-list", "Faults found by the oracle", "");
    if (all > FAULTS_LISTED) {
        page_text(page, PAGE_PARAGRAPH,
                  pool_format(&report->pool,
                              "These are the first %d of %zu; all are in "
                              "faults.csv.",
                              FAULTS_LISTED, all));
    }
}

void section_faults(struct report *report)
{
    struct page_list list = {.report = report};
    list_wrong(report, &list);
    add_agreements(report, &list, false);
    if (list.count == 0) {
        return;
    }
    page_begin(&report->page, PAGE_SECTION, "Faults", "faults");
    page_list_write(&list);
    write_fault_table(report);
}
