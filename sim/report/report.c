/* The page: its sections and their order. */
#include "report_work.h"

#include "csv_table.h"
#include "memory.h"
#include "standard_files.h"
#include "trace.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool write_pictures(struct report *report, struct error *error)
{
    /* As sim/pictures names them. */
    static const char picture_letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    struct page *page = &report->page;
    char path[4096];
    struct stat info;
    if (snprintf(path, sizeof path, "%s/pictures/pictures.csv", report->folder) >=
            (int)sizeof path ||
        stat(path, &info) != 0) {
        return true;
    }
    page_begin(page, PAGE_BACKGROUND, "Pictures", "pictures");
    json_t *pictures = csv_table_read(path, error);
    bool done = pictures != NULL;
    size_t i = 0;
    const json_t *row = NULL;
    page_begin(page, PAGE_PICTURES, "", "");
    json_array_foreach(pictures, i, row)
    {
        struct page_picture picture = {.name = json_word(row, "picture"),
                                       .title = json_word(row, "title"),
                                       .about = json_word(row, "about"),
                                       .folder = report->folder};
        if (done && picture.name[strspn(picture.name, picture_letters)] != '\0') {
            done = error_set(error, "%s: '%s' is no name of a picture", path, picture.name);
        }
        done = done && page->form->picture(page, &picture, error);
    }
    page_end(page, PAGE_PICTURES);
    json_decref(pictures);
    return done;
}

static const char *set_text(struct report *report, const struct report_set *set)
{
    const char *commit = json_word(set->context, "commit");
    char *folder = standard_files_line(set->folder); /* a path need not be text */
    const char *text =
        pool_format(&report->pool, MARK_BOLD "%s" MARK_BOLD ": %s: %s%s%s, %s, %s", set->mark,
                    folder, json_word(set->context, "version"), commit[0] != '\0' ? " " : "",
                    commit, json_word(set->context, "cpu"), json_word(set->context, "date"));
    free(folder);
    return text;
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
        page_text(
            page, PAGE_PARAGRAPH,
            pool_format(&report->pool, "They differ in: " MARK_BOLD "%s" MARK_BOLD ".", different));
    }
    struct page_list list = {.report = report};
    for (size_t i = 0; i < report->contests.count; i++) {
        const struct contest *contest = &report->contests.items[i];
        const char *checksum = contest_checksum(contest);
        for (size_t k = 0; k < i; k++) {
            const struct contest *other = &report->contests.items[k];
            const char *other_checksum = contest_checksum(other);
            if (strcmp(contest->trace, other->trace) == 0 && checksum[0] != '\0' &&
                other_checksum[0] != '\0' && strcmp(checksum, other_checksum) != 0) {
                page_list_add(&list, pool_format(&report->pool,
                                                 MARK_BOLD "%s is not the same trace" MARK_BOLD
                                                           " in %s and %s",
                                                 trace_base(contest->trace), other->set->mark,
                                                 contest->set->mark));
                break;
            }
        }
    }
    page_list_write(&list);
}

/* Which results these are, where there are several. */
static void write_sets(struct report *report)
{
    struct page *page = &report->page;
    if (report->data->set_count > 1) {
        struct page_list sets = {.report = report};
        page_text(page, PAGE_PARAGRAPH,
                  "Results of several folders are side by side, each with its "
                  "letter after the structure's name:");
        for (size_t s = 0; s < report->data->set_count; s++) {
            page_list_add(&sets, set_text(report, &report->data->sets[s]));
        }
        page_list_write(&sets);
        write_differences(report);
    }
}

/* The structure to take on a trace; NULL: there is none. */
static const struct row *pick_of(const struct contest *contest)
{
    return contest->answer.count > 0 ? contest->answer.entries[0].row : NULL;
}

/* A part of the answer as one of the report's texts. */
static const char *written(struct report *report, const struct contest *contest,
                           void (*write)(const struct answer *, const char *, FILE *))
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *stream = memory_stream(&bytes, &size);
    write(&contest->answer, MARK_CODE, stream);
    memory_stream_close(stream);
    const char *text =
        pool_format(&report->pool, "%.*s", (int)(size > 0 ? size - 1 : 0), bytes); /* no line end */
    free(bytes);
    return text;
}

/* "least memory: `NAME`, 1.00 MB instead of 2.00 MB". */
static const char *need_text(struct report *report, const struct contest *contest,
                             enum answer_need need)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *stream = memory_stream(&bytes, &size);
    answer_write_need(&contest->answer, need, MARK_CODE, stream);
    memory_stream_close(stream);
    const char *text = pool_format(&report->pool, "%s: %s", answer_need_words(need), bytes);
    free(bytes);
    return text;
}

/* Write the answer for a trace: the pick, the best with bars, other needs, and the structures that
 * are not ranked. */
static void write_answer(struct report *report, const struct contest *contest, const char *id)
{
    struct page *page = &report->page;
    struct page_list needs = {.report = report};
    page_begin(page, PAGE_ANSWER, trace_base(contest->trace), "");
    page_text(page, PAGE_VERDICT,
              pool_format(&report->pool, "%s: %s", place_text(&report->pool, contest),
                          written(report, contest, answer_write_pick)));
    table_best(report, contest, id);
    for (enum answer_need need = 0; need < ANSWER_NEEDS; need++) {
        if (contest->answer.for_need[need] != NULL) {
            page_list_add(&needs, need_text(report, contest, need));
        }
    }
    page_list_write(&needs);
    const char *notes = written(report, contest, answer_write_notes);
    if (notes[0] != '\0') {
        page_text(page, PAGE_PARAGRAPH, notes);
    }
    if (json_is_true(json_object_get(contest->known, "open_loop"))) {
        page_text(page, PAGE_PARAGRAPH, "This trace is " TRACE_OPEN_LOOP_NOTE ".");
    }
    page_end(page, PAGE_ANSWER);
}

/* "Other traces: `a` on x and y; `b` on z", or of many how often. */
static const char *other_picks(struct report *report)
{
    struct text text = {.pool = &report->pool};
    const struct contest_list *list = &report->contests;
    size_t named = 0;
    text_add(&text, "Picks on all %zu traces: ", list->count);
    for (size_t i = 0; i < list->count; i++) {
        const struct row *pick = pick_of(&list->items[i]);
        size_t same = 0;
        size_t before = 0;
        for (size_t k = 0; k < list->count && pick != NULL; k++) {
            const struct row *other = pick_of(&list->items[k]);
            bool equal = other != NULL && row_same_structure(pick, other);
            same += equal;
            before += equal && k < i;
        }
        if (pick != NULL && before == 0) {
            text_add(&text, "%s%s on %zu", named++ > 0 ? ", " : "",
                     series_text(&report->pool, row_text(pick, COL_ALGO),
                                 row_text(pick, COL_OPTIONS), NULL),
                     same);
        }
    }
    text_add(&text, "%s.", named > 0 ? "" : "none");
    return text_end(&text);
}

static void write_others(struct report *report)
{
    struct page *page = &report->page;
    if (report->contests.count < 2) {
        return;
    }
    page_begin(page, PAGE_BACKGROUND, "The other traces", "others");
    for (size_t c = 1; c < report->contests.count && c < page->form->answers_max; c++) {
        const struct contest *contest = &report->contests.items[c];
        page_begin(page, PAGE_SUBSECTION, place_text(&report->pool, contest),
                   pool_format(&report->pool, "answer-%zu", c));
        write_answer(report, contest, pool_format(&report->pool, "best-%zu", c));
    }
    if (report->contests.count > page->form->answers_max) {
        page_text(page, PAGE_PARAGRAPH, "The table has the traces after these.");
    }
}

static bool write_page(struct report *report, struct error *error)
{
    struct page *page = &report->page;
    bool replayed = report->contests.count > 0;
    bool timed = replayed || report_data_bench_rows(report->data) > 0;
    bool clustered = json_array_size(report->data->cluster) > 0;
    page->form->begin(page, clustered && !timed ? "Which protocol?" : "Which timer structure?");
    if (replayed) {
        write_answer(report, &report->contests.items[0], "best");
        if (report->contests.count > 1) {
            page_text(page, PAGE_PARAGRAPH, other_picks(report));
        }
    } else {
        page_text(page, PAGE_VERDICT,
                  timed       ? "There are no replays here, only single operations."
                  : clustered ? cluster_verdict(report)
                              : "There are no replays here, only pictures.");
    }
    write_sets(report);
    section_faults(report);
    write_others(report);
    if (replayed) {
        section_table(report);
    }
    section_cluster(report);
    if (!write_pictures(report, error)) {
        return false;
    }
    section_latencies(report);
    section_bench(report);
    if (timed) {
        section_structures(report);
    }
    section_how(report);
    page_end_section(page);
    page->form->end(page);
    return true;
}

bool report_write(const struct report_data *data, const struct tolerance *max_lateness,
                  const char *folder, const struct page_form *form, FILE *stream,
                  struct error *error)
{
    struct report report = {
        .page = {.form = form, .stream = stream, .structures = data->structures},
        .data = data,
        .folder = folder,
    };
    if (!contest_list_build(&report.contests, data, max_lateness, error)) {
        return false;
    }
    bool done = write_page(&report, error);
    contest_list_free(&report.contests);
    pool_free(&report.pool);
    return done;
}
