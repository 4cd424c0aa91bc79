/* timerlab report: results as a page in HTML and Markdown, with pictures. */
#include "command.h"
#include "command_drive.h"
#include "outfolder.h"
#include "pictures.h"
#include "plots_folder.h"
#include "program.h"
#include "report.h"
#include "standard_files.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIGURE_FORMATS "pdf|svg|png"
#define FIGURE_SIZE    "800x0"

struct report_arguments {
    struct word_list folders;
    const char *out;
    bool no_pictures;
    int figures; /* which of FIGURE_FORMATS; negative: none, but the page */
    const char *size;
    struct tolerance max_lateness;
};

/* "480x360": two numbers of three or four digits. */
static bool is_size(const char *text)
{
    size_t width = strspn(text, "0123456789");
    const char *second = text + width + (text[width] == 'x');
    size_t height = strspn(second, "0123456789");
    return width >= 3 && width <= 4 && height >= 3 && height <= 4 && text[0] != '0' &&
           second[0] != '0' && second[height] == '\0';
}

static void take_size(void *at, const struct option_row *row, const char *text,
                      struct argp_state *state)
{
    struct report_arguments *arguments = at;
    (void)row;
    if (!is_size(text)) {
        argp_error(state, "--size takes WIDTHxHEIGHT, from 100x100 to 9999x9999, not '%s'", text);
    }
    arguments->size = text;
}

static void complete(void *at, struct argp_state *state)
{
    const struct report_arguments *arguments = at;
    if (arguments->figures < 0 && arguments->size != NULL) {
        argp_error(state, "--size is that of --figures");
    }
    if (arguments->figures >= 0 && arguments->no_pictures) {
        argp_error(state, "either --figures or --no-pictures");
    }
    if (arguments->folders.count > 1 && arguments->out == NULL) {
        argp_error(state, "of several folders, -o must say where the report goes");
    }
}

static const struct option_row options[] = {
    {OPTION("output", 'o', "DIR",
            "Where report.html, report.md and pictures/ go (the folder of the results, if there is "
            "one)"),
     OPTION_TEXT, OPTION_AT(struct report_arguments, out)},
    {OPTION("no-pictures", 0, NULL, "Draw nothing; does without gnuplot"), OPTION_FLAG,
     OPTION_AT(struct report_arguments, no_pictures)},
    {OPTION("figures", 0, FIGURE_FORMATS,
            "Write DIR/figures/ for a paper instead of the page: each picture as one file of this "
            "format"),
     OPTION_WORD, OPTION_AT(struct report_arguments, figures)},
    {OPTION("size", 0, "WxH",
            "Size of the figures in pixels of 1/96 inch (800 wide, and as high as the picture "
            "needs); a figure of many panels is higher"),
     .take = take_size},
    OPTION_ROW_MAX_LATENESS(struct report_arguments, max_lateness),
    OPTION_ROW_END,
};

static const struct command_line syntax = {
    .options = options,
    .form = "DIR...",
    .text =
        "Writes results as a page: the recommended structure and its cost; a table to sort and "
        "filter, pictures with their values, faults, and how it was measured. report.html needs no "
        "other file; report.md has its pictures in pictures/.\vA DIR is what `timerlab sim -o` or "
        "scripts/run left: results.json, latency.csv, work.csv, faults.csv, bench.json or "
        "bench.csv, structures.json, commands.txt; what `timerlab cluster` left: check.json, "
        "sim.json, run.json, lateness.csv; or what `timerlab live` (live.csv, lateness.csv) or "
        "`timerlab threads --format csv` (threads.csv) wrote. Missing files are skipped. Results "
        "of several folders, as of two versions or machines, are side by side.\n\n"
        "Exit status: 0 done, 1 a file cannot be read or written, or pictures cannot be drawn, 2 "
        "usage.",
    .places = {{.kind = OPTION_LIST, OPTION_AT(struct report_arguments, folders)}},
    .needed = "which results? Give a folder that `timerlab sim -o` left",
    .complete = complete,
};

/* --- pictures -------------------------------------------------------------------------------- */

static bool draw(const struct report_arguments *arguments, const struct report_data *data,
                 struct outfolder *out, struct error *error)
{
    bool paper = arguments->figures >= 0;
    const char *place = paper ? "figures" : "pictures";
    const char *size = arguments->size != NULL ? arguments->size : FIGURE_SIZE;
    char program[PATH_MAX];
    char folder[PATH_MAX + sizeof "/pictures"];
    char form[32];
    (void)snprintf(form, sizeof form, "%.3s:%s",
                   &FIGURE_FORMATS[paper ? 4 * arguments->figures : 0], size);
    bool done = plots_find("draw", program, error) &&
                pictures_write(out, place, arguments->folders.items, arguments->folders.count,
                               data->structures, error);
    if (done) {
        (void)snprintf(folder, sizeof folder, "%s/%s", out->stage.folder, place);
        const char *words[] = {program, folder, paper ? form : NULL, NULL};
        int status = program_run(words, STDOUT_FILENO, error);
        done = status == 0 ||
               (status > 0 && error_set(error, "%s could not draw the pictures", program));
    }
    done = done && pictures_commit(out, place, error);
    if (!done) {
        temporary_remove(&out->stage);
    }
    return done;
}

/* --- the pages ------------------------------------------------------------------------------- */

struct wanted_page {
    const struct report_arguments *arguments;
    const struct report_data *data;
    const char *folder;
    const struct page_form *form;
    bool *good;
    struct error *error;
};

static void write_page(const void *ctx, FILE *stream)
{
    const struct wanted_page *page = ctx;
    *page->good = report_write(page->data, &page->arguments->max_lateness, page->folder, page->form,
                               stream, page->error);
}

static bool write_pages(const struct report_arguments *arguments, const struct report_data *data,
                        struct outfolder *out, struct error *error)
{
    static const char *const pages[] = {"report.html", "report.md", NULL};
    static const struct page_form *const forms[] = {&page_html, &page_markdown};
    bool good = true;
    for (size_t i = 0; good && pages[i] != NULL; i++) {
        const struct wanted_page page = {arguments, data, out->path, forms[i], &good, error};
        good = outfolder_write(out, pages[i], write_page, &page, error) && good;
    }
    return good && outfolder_commit(out, pages, error);
}

static int write_report(const struct report_arguments *arguments)
{
    struct error error;
    struct report_data data;
    const char *out = arguments->out != NULL ? arguments->out : arguments->folders.items[0];
    if (!report_data_read(&data, arguments->folders.items, arguments->folders.count, &error)) {
        return command_fail(&error);
    }
    struct outfolder folder;
    bool done = outfolder_open(&folder, out, &error);
    bool drawn = true;
    if (done && !arguments->no_pictures && !draw(arguments, &data, &folder, &error)) {
        /* The results are worth a page without pictures. */
        command_complain(&error);
        drawn = false;
    }
    bool paged = arguments->figures < 0;
    done = done && (!paged || write_pages(arguments, &data, &folder, &error));
    outfolder_close(&folder);
    report_data_free(&data);
    if (!done) {
        return command_fail(&error);
    }
    if (paged) {
        standard_files_tell("%s/report.html and report.md are written\n", out);
    }
    return drawn ? EXIT_OK : EXIT_FAULT;
}

int command_report(int argc, char **argv)
{
    struct report_arguments arguments = {.figures = -1};
    command_line_read(&syntax, argc, argv, &arguments);
    int status = write_report(&arguments);
    free((void *)arguments.folders.items);
    return status;
}
