/* report_markdown.c: the report as Markdown, with pictures in files of their own. */
#include "report_work.h"
#include "text_table.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* Characters of the longest bar. */
#define BAR_BLOCKS 10

/* Write code up to its closing mark; return the position of that mark. Characters that a code span
 * cannot contain are escaped. */
static const char *write_code(const struct page *page, const char *code, bool cell)
{
    size_t length = strcspn(code, MARK_CODE);
    bool span = length > 0 && strcspn(code, MARK_CODE "`\\") == length;
    (void)fputs(span ? "`" : "<code>", page->stream);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)code[i];
        if (!span && c < 0x80 && !isalnum(c)) {
            (void)fprintf(page->stream, "&#%d;", c < ' ' ? ' ' : c);
        } else {
            (void)fputs(cell && c == '|' ? "\\" : "", page->stream);
            (void)fputc(c < ' ' ? ' ' : c, page->stream);
        }
    }
    (void)fputs(span ? "`" : "</code>", page->stream);
    return code[length] != '\0' ? code + length : code + length - 1;
}

/* A text with its marks, perhaps as a cell of a table. */
static void write_text(const struct page *page, const char *text, bool cell)
{
    bool link = false;
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == MARK_CODE[0]) {
            c = write_code(page, c + 1, cell);
        } else if (*c == MARK_BOLD[0]) {
            (void)fputs("**", page->stream);
        } else if (*c == MARK_ITALIC[0]) {
            (void)fputc('*', page->stream);
        } else if (*c == MARK_LINK[0]) {
            /* Only its text: what identifies a heading in Markdown depends on who shows it. */
            link = !link;
            c += link ? strcspn(c, " ") : 0;
        } else if (*c == '_' && c > text && isalnum((unsigned char)c[-1]) &&
                   isalnum((unsigned char)c[1])) {
            (void)fputc('_', page->stream); /* inside a word it marks nothing */
        } else {
            text_write_markdown_character(*c, page->stream);
        }
    }
}

static const struct block_form markdown_blocks[PAGE_BLOCKS] = {
    [PAGE_SECTION] = {"\n## ", "\n", ""},
    /* Between blank lines a summary can hold a heading, to which others can link. */
    [PAGE_BACKGROUND] = {"\n<details>\n<summary>\n\n## ", "\n\n</summary>\n", "\n</details>\n"},
    [PAGE_SUBSECTION] = {"\n### ", "\n", ""},
    [PAGE_FOLD] = {"\n### ", "\n", ""},
    [PAGE_ANSWER] = {"", "", ""},
    [PAGE_PICTURES] = {"", "", ""},
    [PAGE_LIST] = {"\n", "", ""},
    [PAGE_ITEM] = {"- ", "\n", ""},
    [PAGE_PARAGRAPH] = {"\n", "\n", ""},
    [PAGE_VERDICT] = {"\n", "\n", ""},
    [PAGE_COMMANDS] = {"\n    ", "\n", ""},
};

/* Indented, so that no line can end the block. */
static void write_commands(const struct page *page, const char *lines)
{
    for (const char *c = lines; *c != '\0'; c++) {
        (void)fputc((unsigned char)*c >= ' ' || *c == '\t' || *c == '\n' ? *c : '?', page->stream);
        (void)fputs(*c == '\n' ? "    " : "", page->stream);
    }
}

static void markdown_text(const struct page *page, enum page_block block, const char *text)
{
    if (block == PAGE_COMMANDS) {
        write_commands(page, text);
    } else if (block != PAGE_ANSWER) {
        write_text(page, text, false);
    }
}

static void markdown_begin(struct page *page, const char *title)
{
    (void)fputs("# ", page->stream);
    write_text(page, title, false);
    (void)fputc('\n', page->stream);
}

static void markdown_table(struct page *page, const struct table *table)
{
    (void)fputs("\n|", page->stream);
    for (size_t c = 0; c < table->column_count; c++) {
        (void)fputc(' ', page->stream);
        write_text(page, table->columns[c].heading, true);
        (void)fputs(" |", page->stream);
    }
    (void)fputs("\n|", page->stream);
    for (size_t c = 0; c < table->column_count; c++) {
        (void)fputs(table->columns[c].figures ? "--:|" : "---|", page->stream);
    }
    for (size_t i = 0; i < table->cell_count; i++) {
        (void)fputs(i % table->column_count == 0 ? "\n| " : " ", page->stream);
        write_text(page, table->cells[i].text, true);
        for (long block = 0; block < lround(BAR_BLOCKS * table->cells[i].bar); block++) {
            (void)fputs(block > 0 ? "█" : " █", page->stream);
        }
        (void)fputs(" |", page->stream);
    }
    (void)fputc('\n', page->stream);
}

static bool markdown_picture(struct page *page, const struct page_picture *picture,
                             struct error *error)
{
    (void)error;
    /* A run's own picture is only SVG. */
    char path[4096];
    bool drawn = snprintf(path, sizeof path, "%s/pictures/%s.png", picture->folder, picture->name) <
                     (int)sizeof path &&
                 access(path, R_OK) == 0;
    (void)fputs("\n![", page->stream);
    write_text(page, picture->title, false);
    (void)fprintf(page->stream, "](pictures/%s.%s)\n\n", picture->name, drawn ? "png" : "svg");
    write_text(page, picture->about, false);
    (void)fprintf(page->stream, " [SVG](pictures/%s.svg), [data](pictures/%s.csv)\n", picture->name,
                  picture->name);
    return true;
}

static void markdown_end(struct page *page)
{
    (void)page;
}

const struct page_form page_markdown = {
    .answers_max = 12,
    .blocks = markdown_blocks,
    .begin = markdown_begin,
    .text = markdown_text,
    .table = markdown_table,
    .picture = markdown_picture,
    .end = markdown_end,
};
