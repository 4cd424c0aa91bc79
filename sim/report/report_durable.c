/* What outlives the process: what it promises, in the words of its structure's own options, and
 * that the others promise nothing of the kind. */
#include "report_words.h"
#include "report_work.h"

#include <math.h>
#include <string.h>

static bool is_durable(const struct report_data *data, const json_t *row)
{
    return row_promises(data, row, "durable");
}

/* --- the verdict ----------------------------------------------------------------------------- */

/* The fastest durable row among a contest's; NULL if there is none, or nothing else. */
static const json_t *fastest_durable(const struct report_data *data, const struct contest *contest)
{
    const json_t *fastest = NULL;
    size_t durable = 0;
    for (size_t i = 0; i < contest->count; i++) {
        if (is_durable(data, contest->rows[i])) {
            fastest = fastest != NULL ? fastest : contest->rows[i];
            durable++;
        }
    }
    return durable < contest->count ? fastest : NULL;
}

void add_durable(struct text *text, const struct report_data *data, const struct contest_list *list)
{
    size_t said = 0;
    for (size_t i = 0; i < list->count && said < CONTESTS_TOLD; i++) {
        const struct contest *contest = &list->items[i];
        const json_t *fastest = fastest_durable(data, contest);
        if (fastest == NULL) {
            continue;
        }
        text_add(text, "%s%s on %s (%s ns per event)",
                 said++ > 0 ? "; "
                            : " Some outlive the process, and the others do not: of those that do, "
                              "the fastest is ",
                 winner_text(text->pool, fastest), place_text(text->pool, contest),
                 figure_text(row_number(fastest, "ns_per_event"), FIGURE));
    }
    text_add(text, "%s", said > 0 ? "." : "");
}

/* --- what is promised ------------------------------------------------------------------------ */

/* The option's description, of the row's structure; NULL if it has none of that name. */
static const json_t *find_option(const struct report_data *data, const json_t *row,
                                 const char *name)
{
    const json_t *structure = json_object_get(data->structures, row_string(row, "algo"));
    size_t i = 0;
    const json_t *option = NULL;
    json_array_foreach(json_object_get(structure, "options"), i, option)
    {
        if (strcmp(row_string(option, "name"), name) == 0) {
            return option;
        }
    }
    return NULL;
}

/* The option's word in the row: as given in "name=word:name=word", or its default. */
static const char *option_word(struct pool *pool, const json_t *option, const json_t *row)
{
    const char *name = row_string(option, "name");
    size_t length = strlen(name);
    for (const char *at = row_string(row, "options"); *at != '\0';) {
        size_t bytes = strcspn(at, ":");
        if (strncmp(at, name, length) == 0 && at[length] == '=') {
            return pool_format(pool, "%.*s", (int)(bytes - length - 1), at + length + 1);
        }
        at += bytes + (at[bytes] == ':' ? 1 : 0);
    }
    return row_string(option, "default");
}

/* "sync=none: nobody waits". Without what the word means, where the results do not say it. */
static void add_option(struct text *text, const struct report_data *data, const json_t *row,
                       const char *name)
{
    const json_t *option = find_option(data, row, name);
    if (option == NULL) {
        return;
    }
    const char *word = option_word(text->pool, option, row);
    const json_t *words = json_object_get(option, "words");
    const json_t *meanings = json_object_get(option, "meanings");
    text_add(text, "; " MARK_CODE "%s=%s" MARK_CODE, name, word);
    for (size_t i = 0; i < json_array_size(words) && i < json_array_size(meanings); i++) {
        if (strcmp(json_string_value(json_array_get(words, i)), word) == 0) {
            text_add(text, ": %s", json_string_value(json_array_get(meanings, i)));
        }
    }
}

/* Whether a row before this one is of the same structure and options. */
static bool is_told(const struct report_data *data, size_t index)
{
    const json_t *row = json_array_get(data->rows, index);
    for (size_t i = 0; i < index; i++) {
        const json_t *other = json_array_get(data->rows, i);
        if (strcmp(row_string(row, "algo"), row_string(other, "algo")) == 0 &&
            strcmp(row_string(row, "options"), row_string(other, "options")) == 0) {
            return true;
        }
    }
    return false;
}

void section_durable(struct report *report)
{
    struct page *page = &report->page;
    struct page_list list = {.report = report};
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(report->data->rows, i, row)
    {
        if (!is_durable(report->data, row) || is_told(report->data, i)) {
            continue;
        }
        struct text text = {.pool = &report->pool};
        text_add(&text, "%s", series_text(&report->pool, row));
        add_option(&text, report->data, row, "sync");
        add_option(&text, report->data, row, "delivery");
        if (list.count == 0) {
            page->form->heading(page, 3, "What outlives the process", "durable");
            page->form->paragraph(
                page,
                "What is acknowledged survives the end of the process (kill -9), whatever the "
                "policy; what is not acknowledged yet is not promised at all, and of what was "
                "being fired the delivery decides. Whether it survives a loss of power too is the "
                "policy's to say. All times here are of a disk whose mood may move them tenfold "
                "within an hour: compare what was measured in the same run.");
        }
        page_list_add(&list, text_end(&text));
    }
    page_list_write(&list);
}
