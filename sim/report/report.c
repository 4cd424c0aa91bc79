/* The page: which sections it has, and what stands first. */
#include "report_work.h"

#include "csv_table.h"
#include "report_words.h"
#include "standard_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool write_pictures(struct report *report, struct error *error)
{
    /* Of which plots/draw makes names. */
    static const char picture_letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
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
        if (done && picture.name[strspn(picture.name, picture_letters)] != '\0') {
            done = error_set(error, "%s: '%s' is no name of a picture", path, picture.name);
        }
        done = done && page->form->picture(page, &picture, error);
    }
    page->form->pictures_end(page);
    json_decref(pictures);
    return done;
}

static const char *set_text(struct report *report, const struct report_set *set)
{
    const char *commit = row_string(set->context, "commit");
    char *folder = standard_files_line(set->folder); /* a path need not be text */
    const char *text =
        pool_format(&report->pool, MARK_BOLD "%s" MARK_BOLD ": %s: %s%s%s, %s, %s", set->mark,
                    folder, row_string(set->context, "version"), commit[0] != '\0' ? " " : "",
                    commit, row_string(set->context, "cpu"), row_string(set->context, "date"));
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
        page->form->paragraph(
            page,
            pool_format(&report->pool, "They differ in: " MARK_BOLD "%s" MARK_BOLD ".", different));
    }
    struct page_list list = {.report = report};
    for (size_t i = 0; i < report->contests.count; i++) {
        const struct contest *contest = &report->contests.items[i];
        const char *checksum = trace_checksum(report, contest);
        for (size_t k = 0; k < i; k++) {
            const struct contest *other = &report->contests.items[k];
            const char *other_checksum = trace_checksum(report, other);
            if (strcmp(contest->trace, other->trace) == 0 && checksum[0] != '\0' &&
                other_checksum[0] != '\0' && strcmp(checksum, other_checksum) != 0) {
                page_list_add(&list,
                              pool_format(&report->pool,
                                          MARK_BOLD "%s is not the same trace" MARK_BOLD
                                                    " in %s and %s",
                                          trace_base(contest->trace), other->mark, contest->mark));
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
        page->form->paragraph(page, "Results of several folders stand side by side, each with its "
                                    "letter behind the structure's name:");
        for (size_t s = 0; s < report->data->set_count; s++) {
            page_list_add(&sets, set_text(report, &report->data->sets[s]));
        }
        page_list_write(&sets);
        write_differences(report);
    }
}

/* Who won, at what cost; what went wrong; and which results these are. */
static void write_beginning(struct report *report)
{
    struct page *page = &report->page;
    page->form->verdict(page, verdict_text(&report->pool, report->data, &report->contests));
    section_wrong_rows(report);
    write_sets(report);
}

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
        page->form->heading(page, 3, place_text(&report->pool, contest),
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
    section_durable(report);
    section_bench_words(report);
    page->form->paragraph(page, rule_text(&report->pool, report->data, &report->contests));
}

static bool write_page(struct report *report, struct error *error)
{
    struct page *page = &report->page;
    bool timed = json_array_size(report->data->rows) + json_array_size(report->data->bench) > 0;
    page->form->begin(page, timed ? "Which timer structure?" : "Which protocol?");
    if (timed) {
        write_beginning(report);
    } else {
        page->form->verdict(page, cluster_verdict(report));
        write_sets(report);
    }
    if (report->contests.count > 0) {
        section_table(report);
    }
    if (timed) {
        section_faults(report);
    }
    section_cluster(report);
    if (timed) {
        write_words(report);
    }
    if (!write_pictures(report, error)) {
        return false;
    }
    if (report->contests.count > 0) {
        page->form->background(page, "Trace by trace", "traces");
    }
    for (size_t c = 0; c < report->contests.count; c++) {
        section_trace(report, &report->contests.items[c], c);
    }
    section_bench(report);
    if (timed) {
        section_structures(report);
    }
    section_how(report);
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
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(data->rows, i, row)
    {
        report.several_ranks = report.several_ranks || row_number(row, "ranks") > 1;
    }
    if (!contest_list_build(&report.contests, data, max_lateness, error)) {
        return false;
    }
    bool done = write_page(&report, error);
    contest_list_free(&report.contests);
    pool_free(&report.pool);
    return done;
}
