/* report_html.c: the report as one self-contained HTML page: style, script, pictures and their data
 * are in it. */
#include "drawing.h"
#include "memory.h"
#include "report_assets.h"
#include "report_work.h"

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
        page_write_id(page, code, name);
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
    page_write_id(page, target, length);
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

static const struct block_form html_blocks[PAGE_BLOCKS] = {
    [PAGE_SECTION] = {"<section aria-labelledby=\"@\">\n<h2 id=\"@\">", "</h2>\n", "</section>\n"},
    [PAGE_BACKGROUND] = {"<details class=\"part\"><summary><h2 id=\"@\">", "</h2>\n</summary>\n",
                         "</details>\n"},
    [PAGE_SUBSECTION] = {"<h3 id=\"@\">", "</h3>\n", ""},
    [PAGE_FOLD] = {"<details id=\"@\"><summary>", "</summary>\n", "</details>\n"},
    [PAGE_ANSWER] = {"<div class=\"answer\" data-trace=\"", "\">\n", "</div>\n"},
    [PAGE_PICTURES] = {"<div class=\"pictures\">\n", "", "</div>\n"},
    [PAGE_LIST] = {"<ul>\n", "", "</ul>\n"},
    [PAGE_ITEM] = {"<li>", "</li>\n", ""},
    [PAGE_PARAGRAPH] = {"<p>", "</p>\n", ""},
    [PAGE_VERDICT] = {"<p class=\"verdict\">", "</p>\n", ""},
    [PAGE_COMMANDS] = {"<pre tabindex=\"0\">", "</pre>\n", ""},
};

static void html_text(const struct page *page, enum page_block block, const char *text)
{
    if (block == PAGE_ANSWER || block == PAGE_COMMANDS) {
        write_plain(page, text);
    } else {
        write_text(page, text);
    }
}

static void html_begin(struct page *page, const char *title)
{
    put(page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
              "<meta name=\"color-scheme\" content=\"light dark\">\n"
              "<link rel=\"icon\" href=\"data:,\">\n<title>");
    write_plain(page, title);
    put(page, "</title>\n<style>\n");
    put(page, text_report_page_css);
    put(page, "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#answer\">To the answer</a>\n"
              "<header>\n<h1>");
    write_text(page, title);
    put(page,
        "</h1>\n<nav aria-label=\"Parts of this page\"></nav>\n"
        "<button type=\"button\" id=\"theme\" hidden></button>\n</header>\n<main id=\"answer\">\n");
}

static void write_cell(const struct page *page, const struct table_column *column,
                       const struct table_cell *cell, bool names_row)
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

static void html_table(struct page *page, const struct table *table)
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
        const struct table_column *column = &table->columns[c];
        put(page, "<th scope=\"col\"");
        put(page, column->figures ? " class=\"figure\"" : "");
        put(page, "><button type=\"button\" title=\"");
        write_plain(page, column->help);
        put(page, "\">");
        write_text(page, column->heading);
        put(page, "</button></th>");
    }
    put(page, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < table->cell_count; i += table->column_count) {
        (void)fprintf(page->stream, "<tr%s>", classes[table->cells[i].kind]);
        for (size_t c = 0; c < table->column_count; c++) {
            write_cell(page, &table->columns[c], &table->cells[i + c], c == 0);
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

static void html_end(struct page *page)
{
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
    .blocks = html_blocks,
    .begin = html_begin,
    .text = html_text,
    .table = html_table,
    .picture = html_picture,
    .end = html_end,
};
