/* Descriptions of the structures, and the conditions of the measurement. */
#include "report_work.h"

/* --- the structures -------------------------------------------------------------------------- */

static const char *cost_words(struct report *report, const json_t *structure)
{
    const json_t *cost = json_object_get(structure, "cost");
    return pool_format(&report->pool, "Cost: start %s, stop %s, tick %s, expire %s.",
                       json_word(cost, "start"), json_word(cost, "stop"), json_word(cost, "tick"),
                       json_word(cost, "expire"));
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
    static const struct shown_column columns[] = {
        {"option", "name", NULL, "", NULL},      {"default", "default", NULL, "", NULL},
        {"from", "min", grouped_text, "", NULL}, {"to", "max", grouped_text, "", NULL},
        {"action", "help", NULL, "", NULL},
    };
    struct table table = {.report = report};
    size_t i = 0;
    const json_t *option = NULL;
    table_columns(&table, columns, COUNT_OF(columns));
    json_array_foreach(json_object_get(structure, "options"), i, option)
    {
        table_row(&table, ROW_PLAIN);
        table_cells(&table, option, columns, COUNT_OF(columns));
    }
    table_write(&table, pool_format(&report->pool, "options-%s", name), "Options",
                "It has no options.");
}

void section_structures(struct report *report)
{
    struct page *page = &report->page;
    const char *name = NULL;
    json_t *structure = NULL;
    page_begin(page, PAGE_BACKGROUND, "The structures", "structures");
    json_object_foreach(report->data->structures, name, structure)
    {
        page_begin(page, PAGE_FOLD,
                   pool_format(&report->pool, MARK_BOLD "%s" MARK_BOLD ": %s", name,
                               json_word(structure, "summary")),
                   pool_format(&report->pool, "structure-%s", name));
        if (json_word(structure, "description")[0] != '\0') {
            page_text(page, PAGE_PARAGRAPH, json_word(structure, "description"));
        }
        page_text(page, PAGE_PARAGRAPH,
                  pool_format(&report->pool, "After: %s.", json_word(structure, "origin")));
        page_text(page, PAGE_PARAGRAPH, cost_words(report, structure));
        page_text(page, PAGE_PARAGRAPH, promise_words(report, structure));
        option_table(report, structure, name);
        page_end(page, PAGE_FOLD);
    }
}

/* --- how it was measured --------------------------------------------------------------------- */

/* Return a value of the context as text; NULL for one that is elsewhere on the page. */
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

static void write_context(struct report *report, const json_t *context, const char *id,
                          const char *caption)
{
    struct table table = {.report = report};
    const char *key = NULL;
    json_t *value = NULL;
    table_column(&table, "what", false, "");
    table_column(&table, "value", false, "");
    json_object_foreach((json_t *)context, key, value)
    {
        const char *text = context_text(report, value);
        if (text != NULL) {
            table_row(&table, ROW_PLAIN);
            table_text(&table, key);
            table_text(&table, text);
        }
    }
    table_write(&table, id, caption, "");
}

/* Write the traces with their checksums. */
static void write_trace_list(struct report *report)
{
    static const enum column counts[] = {COL_EVENTS, COL_STARTS, COL_RESTARTS, COL_STOPS};
    struct table table = {.report = report};
    table_column(&table, "trace", false, "");
    table_column(&table, "checksum", false,
                 "of the trace's content: the same operations have the same");
    table_column(&table, "tick", true, "how long a tick is");
    table_column(&table, "timers", true, "different timers that are used");
    for (size_t c = 0; c < COUNT_OF(counts); c++) {
        table_column(&table, result_columns[counts[c]].name, true, result_columns[counts[c]].help);
    }
    for (size_t i = 0; i < report->contests.count; i++) {
        const struct contest *contest = &report->contests.items[i];
        const char *checksum = contest_checksum(contest);
        table_row(&table, ROW_PLAIN);
        table_text(&table, place_text(&report->pool, contest));
        table_text(&table, checksum[0] != '\0' ? checksum : "-");
        table_figure(&table, json_figure(contest->known, "tick_ns"), duration_text);
        table_figure(&table, json_figure(contest->known, "timers"), grouped_text);
        for (size_t c = 0; c < COUNT_OF(counts); c++) {
            table_figure(&table, row_value(contest->rows[0], counts[c]), grouped_text);
        }
    }
    table_write(&table, "traces-used", "The traces", "There was no trace.");
}

void section_how(struct report *report)
{
    struct page *page = &report->page;
    page_begin(page, PAGE_BACKGROUND, "How it was measured", "context");
    for (size_t s = 0; s < report->data->set_count; s++) {
        const struct report_set *set = &report->data->sets[s];
        const char *colon = set->mark[0] != '\0' ? ": " : "";
        write_context(report, set->context, pool_format(&report->pool, "context-%zu", s),
                      pool_format(&report->pool, "%s%sWhat measured it", set->mark, colon));
        /* Files of one folder may be of different runs. */
        write_context(
            report, set->bench_context, pool_format(&report->pool, "bench-context-%zu", s),
            pool_format(&report->pool, "%s%sWhat measured single operations", set->mark, colon));
    }
    write_trace_list(report);
    list_agreements(report);
    page_text(page, PAGE_PARAGRAPH,
              "A difference counts as in " MARK_CODE "timerlab compare" MARK_CODE
              ": both sides have at least five runs, and a rank test of these finds a difference "
              "of more than 1 % where six rounds or more make pairs, else of more than 5 %, at a "
              "confidence of 95 %. Structures in italics are yardsticks, not contenders. Memory, "
              "pauses and wakeups have no such test.");
    bool headed = false;
    for (size_t s = 0; s < report->data->set_count; s++) {
        const struct report_set *set = &report->data->sets[s];
        if (set->commands[0] == '\0') {
            continue;
        }
        if (!headed) {
            page_begin(page, PAGE_BACKGROUND, "The same again", "again");
            headed = true;
        }
        if (set->mark[0] != '\0') {
            page_text(page, PAGE_PARAGRAPH,
                      pool_format(&report->pool, "%s: %s", set->mark, set->folder));
        }
        page_text(page, PAGE_COMMANDS, set->commands);
    }
}
