/* report_html.c: the report as one self-contained HTML page: style, script, pictures and their data
 * are in it. */
#include "drawing.h"
#include "markup.h"
#include "report_page.h"
#include "report_text.h"

#include "memory.h"
#include "report_assets.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put(const struct page *page, const char *html)
{
    (void)fputs(html, page->stream);
}

/* A character of text, fit to stand between tags and inside quotes. */
static void write_character(FILE *stream, char c)
{
    if (c == '"') {
        (void)fputs("&quot;", stream);
    } else {
        markup_write_character(stream, c);
    }
}

static bool is_mark(char c)
{
    return c != '\0' && strchr(MARK_CODE MARK_BOLD MARK_ITALIC MARK_LINK, c) != NULL;
}

/* A text without its marks. */
static void write_plain(const struct page *page, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (!is_mark(*c)) {
            write_character(page->stream, *c);
        }
    }
}

/* A name as a part of an identifier. */
static void write_slug(const struct page *page, const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)name[i];
        (void)fputc(isalnum(c) || c == '-' ? c : '_', page->stream);
    }
}

/* Return the length of the structure's name at the beginning of a piece of code, if the page
 * describes it; else 0. Options and a folder's mark follow the name. */
static size_t structure_name_length(const struct page *page, const char *code, size_t length)
{
    char name[128];
    for (size_t n = length; n > 0; n--) {
        if ((n == length || code[n] == ':' || code[n] == '@') && n < sizeof name) {
            memcpy(name, code, n);
            name[n] = '\0';
            if (json_object_get(page->structures, name) != NULL) {
                return n;
            }
        }
    }
    return 0;
}

/* Write code up to its closing mark; return the position of that mark. */
static const char *write_code(const struct page *page, const char *code)
{
    size_t length = strcspn(code, MARK_CODE);
    size_t name = structure_name_length(page, code, length);
    if (name > 0) {
        put(page, "<a href=\"#structure-");
        write_slug(page, code, name);
        put(page, "\">");
    }
    put(page, "<code>");
    for (size_t i = 0; i < length; i++) {
        write_character(page->stream, code[i]);
    }
    put(page, "</code>");
    put(page, name > 0 ? "</a>" : "");
    return code[length] != '\0' ? code + length : code + length - 1;
}

/* Write the beginning of a link, up to the blank before its text; return the position of that
 * blank. */
static const char *write_link(const struct page *page, const char *target)
{
    size_t length = strcspn(target, " ");
    put(page, "<a href=\"#");
    write_slug(page, target, length);
    put(page, "\">");
    return target[length] != '\0' ? target + length : target + length - 1;
}

static void write_text(const struct page *page, const char *text)
{
    bool bold = false;
    bool italic = false;
    bool link = false;
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == MARK_CODE[0]) {
            c = write_code(page, c + 1);
        } else if (*c == MARK_BOLD[0]) {
            put(page, bold ? "</b>" : "<b>");
            bold = !bold;
        } else if (*c == MARK_ITALIC[0]) {
            put(page, italic ? "</i>" : "<i>");
            italic = !italic;
        } else if (*c == MARK_LINK[0]) {
            c = link ? c : write_link(page, c + 1);
            put(page, link ? "</a>" : "");
            link = !link;
        } else {
            write_character(page->stream, *c);
        }
    }
}

/* --- the page's parts ------------------------------------------------------------------------ */

static void html_begin(struct page *page, const char *title)
{
    put(page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
              "<meta name=\"color-scheme\" content=\"light dark\">\n"
              "<link rel=\"icon\" href=\"data:,\">\n<title>");
    write_plain(page, title);
    put(page, "</title>\n<style>\n");
    put(page, text_report_page_css);
    put(page, "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#table\">To the table</a>\n"
              "<header>\n<h1>");
    write_text(page, title);
    put(page, "</h1>\n<nav aria-label=\"Parts of this page\"></nav>\n"
              "<button type=\"button\" id=\"theme\" hidden></button>\n</header>\n<main>\n");
}

static void html_answer_begin(struct page *page, const char *trace)
{
    put(page, "<div class=\"answer\" data-trace=\"");
    write_plain(page, trace);
    put(page, "\">\n");
}

static void html_answer_end(struct page *page)
{
    put(page, "</div>\n");
}

static void html_verdict(struct page *page, const char *text)
{
    put(page, "<p class=\"verdict\">");
    write_text(page, text);
    put(page, "</p>\n");
}

static void end_section(struct page *page)
{
    put(page, page->section_end != NULL ? page->section_end : "");
    page->section_end = NULL;
}

static void write_heading(const struct page *page, unsigned level, const char *text, const char *id)
{
    (void)fprintf(page->stream, "<h%u id=\"%s\">", level, id);
    write_text(page, text);
    (void)fprintf(page->stream, "</h%u>\n", level);
}

static void html_heading(struct page *page, unsigned level, const char *text, const char *id)
{
    if (level == 2) {
        end_section(page);
        (void)fprintf(page->stream, "<section aria-labelledby=\"%s\">\n", id);
        page->section_end = "</section>\n";
    }
    write_heading(page, level, text, id);
}

static void html_background(struct page *page, const char *text, const char *id)
{
    end_section(page);
    put(page, "<details class=\"part\"><summary>");
    write_heading(page, 2, text, id);
    put(page, "</summary>\n");
    page->section_end = "</details>\n";
}

static void html_paragraph(struct page *page, const char *text)
{
    put(page, "<p>");
    write_text(page, text);
    put(page, "</p>\n");
}

static void html_list(struct page *page, const char *const *items, size_t count)
{
    put(page, "<ul>\n");
    for (size_t i = 0; i < count; i++) {
        put(page, "<li>");
        write_text(page, items[i]);
        put(page, "</li>\n");
    }
    put(page, "</ul>\n");
}

static void write_cell(const struct page *page, const struct page_column *column,
                       const struct page_cell *cell, bool names_row)
{
    put(page, names_row ? "<th scope=\"row\"" : "<td");
    if (column->figures) {
        put(page, " class=\"figure\"");
        if (!isnan(cell->key)) {
            (void)fprintf(page->stream, " data-sort=\"%.17g\"", cell->key);
        }
    }
    put(page, ">");
    write_text(page, cell->text);
    if (cell->bar > 0) {
        (void)fprintf(page->stream,
                      "<span class=\"bar\"><span style=\"width:%.0f%%\"></span></span>",
                      100 * cell->bar);
    }
    put(page, names_row ? "</th>" : "</td>");
}

static void html_table(struct page *page, const struct page_table *table)
{
    static const char *const classes[] = {
        [ROW_PLAIN] = "",
        [ROW_YARDSTICK] = " class=\"yardstick\"",
        [ROW_BEST] = " class=\"best\"",
        [ROW_FAILED] = " class=\"failed\"",
    };
    put(page, "<div class=\"table\">\n");
    if (table->filter) {
        (void)fprintf(page->stream,
                      "<p class=\"filter\" hidden><label>Only rows with <input type=\"search\" "
                      "data-filters=\"%s\" aria-controls=\"%s\" placeholder=\"name, trace, "
                      "status\"></label> <output></output></p>\n",
                      table->id, table->id);
    }
    (void)fprintf(page->stream,
                  "<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
                  "aria-labelledby=\"%s-caption\">\n<table id=\"%s\">\n<caption "
                  "id=\"%s-caption\"><span>",
                  table->id, table->id, table->id);
    write_text(page, table->caption);
    put(page, "</span></caption>\n<thead><tr>");
    for (size_t c = 0; c < table->column_count; c++) {
        const struct page_column *column = &table->columns[c];
        put(page, "<th scope=\"col\"");
        put(page, column->figures ? " class=\"figure\"" : "");
        put(page, "><button type=\"button\" title=\"");
        write_plain(page, column->help);
        put(page, "\">");
        write_text(page, column->heading);
        put(page, "</button></th>");
    }
    put(page, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < table->row_count; i++) {
        (void)fprintf(page->stream, "<tr%s>", classes[table->kinds[i]]);
        for (size_t c = 0; c < table->column_count; c++) {
            write_cell(page, &table->columns[c], &table->cells[i * table->column_count + c],
                       c == 0);
        }
        put(page, "</tr>\n");
    }
    put(page, "</tbody>\n</table>\n</div>\n</div>\n");
}

/* --- pictures -------------------------------------------------------------------------------- */

/* The whole file; NULL with `error` set. To be freed. */
static char *read_text(const char *path, struct error *error)
{
    FILE *file = memory_unless_short(fopen(path, "r"));
    char *text = NULL;
    size_t bytes = 0;
    if (file == NULL || memory_read_until(&text, &bytes, '\0', file) < 0) {
        (void)error_set(error, "%s: cannot be read: %s", path,
                        errno != 0 ? strerror(errno) : "there is nothing in it");
        free(text);
        text = NULL;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return text;
}

/* Return the length of the prefix of `text` that an identifier of the picture follows. */
static size_t identifier_follows(const char *text)
{
    static const char *const before[] = {"id=\"", "id='", "href=\"#", "href='#", "url(#"};
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        size_t length = strlen(before[i]);
        if (strncmp(text, before[i], length) == 0) {
            return length;
        }
    }
    return 0;
}

/* The picture as a part of the page: its identifiers become the page's own, and its size that of
 * the place where it stands. */
static void write_svg(const struct page *page, const char *svg, const struct page_picture *picture)
{
    const char *root_end = strchr(svg, '>');
    const char *box = strstr(svg, "viewBox=\"");
    put(page, "<svg xmlns=\"http://www.w3.org/2000/svg\" "
              "xmlns:xlink=\"http://www.w3.org/1999/xlink\" role=\"img\" aria-label=\"");
    write_plain(page, picture->title);
    put(page, ". ");
    write_plain(page, picture->about);
    put(page, "\"");
    if (box != NULL && root_end != NULL && box < root_end) {
        (void)fprintf(page->stream, " %.*s\"", (int)(strcspn(box + 9, "\"") + 9), box);
    }
    put(page, ">");
    for (const char *at = root_end != NULL ? root_end + 1 : svg; *at != '\0';) {
        size_t length = identifier_follows(at);
        if (length > 0) {
            (void)fprintf(page->stream, "%.*sp%zu-", (int)length, at, page->pictures);
            at += length;
        } else {
            (void)fputc(*at++, page->stream);
        }
    }
}

static void html_pictures_begin(struct page *page)
{
    put(page, "<div class=\"pictures\">\n");
}

static bool html_picture(struct page *page, const struct page_picture *picture, struct error *error)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/pictures/%s.svg", picture->folder, picture->name);
    char *svg = read_text(path, error);
    if (svg == NULL) {
        return false;
    }
    (void)snprintf(path, sizeof path, "%s/pictures/%s.csv", picture->folder, picture->name);
    char *data = read_text(path, error);
    if (data == NULL) {
        free(svg);
        return false;
    }
    const char *root = strstr(svg, "<svg");
    if (root == NULL || !drawing_is_plain(root)) {
        put(page, "<p>Not shown, for it holds more than a drawing: pictures/");
        write_plain(page, picture->name);
        put(page, ".svg</p>\n");
        free(svg);
        free(data);
        return true;
    }
    page->pictures++;
    (void)fprintf(page->stream, "<figure id=\"picture-%zu\">\n<div class=\"frame\">",
                  page->pictures);
    write_svg(page, root, picture);
    put(page, "</div>\n<figcaption><b>");
    write_text(page, picture->title);
    put(page, "</b> ");
    write_text(page, picture->about);
    put(page, " <button type=\"button\" class=\"enlarge\" hidden>Enlarge</button>\n"
              "<details class=\"data\"><summary>Its data</summary><pre tabindex=\"0\">");
    write_plain(page, data);
    put(page, "</pre></details></figcaption>\n</figure>\n");
    free(svg);
    free(data);
    return true;
}

static void html_pictures_end(struct page *page)
{
    put(page, "</div>\n");
}

/* --- the rest -------------------------------------------------------------------------------- */

static void html_commands(struct page *page, const char *lines)
{
    put(page, "<pre tabindex=\"0\">");
    write_plain(page, lines);
    put(page, "</pre>\n");
}

static void html_fold_begin(struct page *page, const char *text, const char *id)
{
    put(page, "<details id=\"");
    write_slug(page, id, strlen(id));
    put(page, "\"><summary>");
    write_text(page, text);
    put(page, "</summary>\n");
}

static void html_fold_end(struct page *page)
{
    put(page, "</details>\n");
}

static void html_end(struct page *page)
{
    end_section(page);
    put(page, "</main>\n<dialog id=\"enlarged\" aria-labelledby=\"enlarged-title\">\n"
              "<div class=\"bar\"><h2 id=\"enlarged-title\"></h2>"
              "<button type=\"button\" id=\"close\">Close</button></div>\n"
              "<p class=\"hint\">Move over the picture, or press the arrow keys, to read "
              "values.</p>\n<div class=\"frame\" tabindex=\"0\" role=\"group\" "
              "aria-labelledby=\"enlarged-title\"></div>\n"
              "<p id=\"value\" aria-live=\"polite\"></p>\n</dialog>\n"
              "<div id=\"tip\" role=\"tooltip\" hidden></div>\n<script>\n");
    put(page, text_report_page_js);
    put(page, "</script>\n</body>\n</html>\n");
}

const struct page_form page_html = {
    .answers_max = 1000,
    .begin = html_begin,
    .answer_begin = html_answer_begin,
    .answer_end = html_answer_end,
    .verdict = html_verdict,
    .heading = html_heading,
    .background = html_background,
    .paragraph = html_paragraph,
    .list = html_list,
    .table = html_table,
    .pictures_begin = html_pictures_begin,
    .picture = html_picture,
    .pictures_end = html_pictures_end,
    .commands = html_commands,
    .fold_begin = html_fold_begin,
    .fold_end = html_fold_end,
    .end = html_end,
};
