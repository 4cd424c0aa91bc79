/*
 * report_page.h: a page that is written from top to bottom, in one of two forms: HTML, or Markdown.
 * Texts are those of report_text.h, with its marks; nothing in them is markup of either form.
 */
#ifndef SIM_REPORT_PAGE_H
#define SIM_REPORT_PAGE_H

#include "error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct page_column {
    const char *heading;
    const char *help; /* explanation of the column; "" if its heading is enough */
    bool figures;     /* to the right, and sorted by number */
};

struct page_cell {
    const char *text;
    double key; /* sort key, in a column of figures; NaN: last */
    double bar; /* the length of a bar next to the text, as a share of the longest; 0: none */
};

enum page_row_kind {
    ROW_PLAIN,
    ROW_YARDSTICK, /* no contender */
    ROW_BEST,
    ROW_FAILED,
};

struct page_table {
    const char *id;      /* unique on the page; of letters, digits and dashes */
    const char *caption; /* caption */
    const struct page_column *columns;
    size_t column_count;
    const struct page_cell *cells; /* row by row */
    const enum page_row_kind *kinds;
    size_t row_count;
    bool filter; /* with a field that leaves only the rows in which a text occurs */
};

struct page_picture {
    const char *name; /* FOLDER/pictures/NAME.svg, .png, .csv */
    const char *title;
    const char *about;  /* description */
    const char *folder; /* where the page is */
};

struct page {
    const struct page_form *form;
    FILE *stream;
    const json_t *structures; /* those that are described on the page, by name */
    const char *section_end;  /* closes the part of the page that is open; NULL: none is */
    size_t pictures;
};

/* The functions of a page's format. */
struct page_form {
    size_t answers_max; /* traces with an answer of their own on a page */
    void (*begin)(struct page *page, const char *title);
    /* Around the answer of a trace, by the file name of the trace. */
    void (*answer_begin)(struct page *page, const char *trace);
    void (*answer_end)(struct page *page);
    /* The sentences at the beginning of an answer. */
    void (*verdict)(struct page *page, const char *text);
    /* Level 2 or 3; `id` is for links to it. */
    void (*heading)(struct page *page, unsigned level, const char *text, const char *id);
    void (*paragraph)(struct page *page, const char *text);
    void (*list)(struct page *page, const char *const *items, size_t count);
    void (*table)(struct page *page, const struct page_table *table);
    void (*pictures_begin)(struct page *page);
    /* False, with `error` set, if its file cannot be read. */
    bool (*picture)(struct page *page, const struct page_picture *picture, struct error *error);
    void (*pictures_end)(struct page *page);
    /* Lines for a shell. */
    void (*commands)(struct page *page, const char *lines);
    /* A heading of the second level, of what need not be read to decide: where the form can, all of
     * it is folded away, up to the next of that level. */
    void (*background)(struct page *page, const char *text, const char *id);
    /* Begin and end a section that can be folded; `id` is for links to it. */
    void (*fold_begin)(struct page *page, const char *text, const char *id);
    void (*fold_end)(struct page *page);
    void (*end)(struct page *page);
};

extern const struct page_form page_html;
extern const struct page_form page_markdown;

#endif
