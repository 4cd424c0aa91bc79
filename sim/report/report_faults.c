/* What went wrong, or did not run; and whether exact structures agree. */
#include "report_work.h"

#include "result_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Faults are listed up to here; all of them are in faults.csv. */
#define FAULTS_LISTED 20

static const char *const fault_columns[] = {"early", "late_beyond", "lost", "duplicate",
                                            "misordered"};

static bool has_faults(const json_t *row)
{
    for (size_t i = 0; i < COUNT_OF(fault_columns); i++) {
        if (row_number(row, fault_columns[i]) > 0) {
            return true;
        }
    }
    return false;
}

bool row_is_wrong(const json_t *row)
{
    return strcmp(row_string(row, "status"), "ok") != 0 || has_faults(row);
}

/* "lost: 3, early: 1", what occurred. */
static const char *fault_counts(struct report *report, const json_t *row)
{
    struct text text = {.pool = &report->pool};
    bool any = false;
    for (size_t i = 0; i < COUNT_OF(fault_columns); i++) {
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
        wrong += row_is_wrong(row) &&
                 (has_faults(row) || strcmp(row_string(row, "status"), "unsupported") != 0);
    }
    json_array_foreach(report->data->bench, i, row)
    {
        wrong += op_is_missing(row) && result_left_out(row_string(row, "error")) == NULL;
    }
    return wrong;
}

/* What did not run, or was wrong. */
static void collect_wrong(struct report *report, struct page_list *list)
{
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(report->data->rows, i, row)
    {
        if (row_is_wrong(row)) {
            page_list_add(list, wrong_row(report, row));
        }
    }
    json_array_foreach(report->data->bench, i, row)
    {
        if (op_is_missing(row)) {
            page_list_add(list, missing_op(report, row));
        }
    }
}

void section_wrong_rows(struct report *report)
{
    struct page_list wrong_rows = {.report = report};
    collect_wrong(report, &wrong_rows);
    size_t listed = wrong_rows.count;
    free((void *)wrong_rows.items);
    if (listed == 0) {
        return;
    }
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
    report->page.form->paragraph(&report->page, text_end(&text));
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
    struct page_list list = {.report = report};
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
                page_list_add(&list, agreement(report, set, trace));
            }
        }
        json_decref(seen);
    }
    page_list_write(&list);
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
    table_column(&table, "structure", false, "");
    table_column(&table, "trace", false, "");
    table_column(&table, "fault", false, "");
    for (size_t c = 0; c < COUNT_OF(columns); c++) {
        table_column(&table, columns[c], true, "");
    }
    table_column(&table, "detail", false, "");
    for (size_t i = 0; i < all && i < FAULTS_LISTED; i++) {
        const json_t *row = json_array_get(report->data->faults, i);
        table_row(&table, ROW_FAILED);
        table_text(&table, row_name(report, row));
        table_text(&table, trace_base(row_string(row, "trace")));
        table_text(&table, row_string(row, "fault"));
        for (size_t c = 0; c < COUNT_OF(columns); c++) {
            table_cell(&table, row_string(row, columns[c]), row_number(row, columns[c]));
        }
        table_text(&table, row_string(row, "detail"));
    }
    table_write(&table, "fault-list", "What the oracle found", "");
    if (all > FAULTS_LISTED) {
        page->form->paragraph(page, pool_format(&report->pool,
                                                "These are the first %d of %zu; all are in "
                                                "faults.csv.",
                                                FAULTS_LISTED, all));
    }
}

void section_faults(struct report *report)
{
    struct page *page = &report->page;
    struct page_list list = {.report = report};
    page->form->heading(page, 2, "Faults, and what did not run", "faults");
    collect_wrong(report, &list);
    if (list.count == 0) {
        page->form->paragraph(
            page, "None: every structure ran everything, and every fired timer was checked.");
    }
    page_list_write(&list);
    write_fault_table(report);
    write_agreements(report);
}
