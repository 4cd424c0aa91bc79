/*
 * report_work.h: a report while it is written from top to bottom, for the room's own files: the
 * parts of a page and the two forms of each, the rows of the results as the page shows them, and the
 * sections.
 */
#ifndef SIM_REPORT_WORK_H
#define SIM_REPORT_WORK_H

#include "answer.h"
#include "figures.h"
#include "json_text.h"
#include "pool.h"
#include "report.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/*
 * Texts of a report live in its pool. They may hold marks, which a form turns into its own: text
 * between two MARK_CODE is code (a structure's name, a command), between two MARK_BOLD it is bold,
 * between two MARK_ITALIC in italics. MARK_LINK, an identifier of the page and a blank begin a link
 * to it, which ends at the next MARK_LINK. No text in UTF-8 holds these bytes, so that only the
 * report itself can mark; nothing else in a text is markup of either form.
 */
#define MARK_CODE       "\xF8"
#define MARK_BOLD       "\xF9"
#define MARK_ITALIC     "\xFA"
#define MARK_LINK       "\xFB"

/* --- pages ----------------------------------------------------------------------------------- */

struct page {
    const struct page_form *form;
    FILE *stream;
    const json_t *structures; /* those that are described on the page, by name */
    const char *section_end;  /* closes the section that is open; NULL: none is */
    size_t pictures;
};

/* The parts of a page. */
enum page_block {
    PAGE_SECTION,    /* up to the next of its level */
    PAGE_BACKGROUND, /* the same, of what need not be read to decide: folded, where a form can */
    PAGE_SUBSECTION, /* only its heading */
    PAGE_FOLD,       /* can be folded */
    PAGE_ANSWER,     /* the answer of the trace with that file name */
    PAGE_PICTURES,
    PAGE_LIST,
    PAGE_ITEM, /* of a list */
    PAGE_PARAGRAPH,
    PAGE_VERDICT,  /* the sentences at the beginning of an answer */
    PAGE_COMMANDS, /* lines for a shell */
    PAGE_BLOCKS
};

/* The text around that of a block; each @ is its identifier. */
struct block_form {
    const char *before;
    const char *after;
    const char *end;
};

struct page_picture {
    const char *name; /* FOLDER/pictures/NAME.svg, .png, .csv */
    const char *title;
    const char *about;  /* description */
    const char *folder; /* where the page is */
};

struct table;

struct page_form {
    size_t answers_max; /* traces with an answer of their own on a page */
    const struct block_form *blocks;
    void (*begin)(struct page *page, const char *title);
    void (*text)(const struct page *page, enum page_block block, const char *text);
    void (*table)(struct page *page, const struct table *table);
    /* False, with `error` set, if its file cannot be read. */
    bool (*picture)(struct page *page, const struct page_picture *picture, struct error *error);
    void (*end)(struct page *page);
};

/* Begin a part, and its text; `id` is for links to it, "" if there are none. */
void page_begin(struct page *page, enum page_block block, const char *text, const char *id);

/* End a part that is no section. */
void page_end(struct page *page, enum page_block block);

/* End the section that is open, if one is. */
void page_end_section(struct page *page);

/* Write a part that is only a text. */
void page_text(struct page *page, enum page_block block, const char *text);

/* Write a name as a part of an identifier. */
void page_write_id(const struct page *page, const char *name, size_t length);

/* --- contests -------------------------------------------------------------------------------- */

/* The rows of one trace in one folder, and the answer for them. */
struct contest {
    const struct report_set *set;
    const char *trace;
    const json_t *known;     /* the trace's context; NULL: none */
    double exact_fired;      /* timers that an exact structure fires; NAN: not known */
    const struct row **rows; /* all, the fastest first */
    size_t count;
    struct answer answer;
};

struct contest_list {
    struct contest *items;
    size_t count;
};

/* All traces of all folders, in the order of their rows. The data must outlive the list. False,
 * with `error` set, if the tolerance is a time and some results do not say how long a tick is;
 * nothing is left to free then. */
bool contest_list_build(struct contest_list *list, const struct report_data *data,
                        const struct tolerance *max_lateness, struct error *error);
void contest_list_free(struct contest_list *list);

/* The checksum of its trace; "" if it is not known. */
const char *contest_checksum(const struct contest *contest);

/* A report while it is written. */
struct report {
    struct page page;
    struct pool pool;
    const struct report_data *data;
    struct contest_list contests;
    const char *folder;
};

/* --- tables and lists ------------------------------------------------------------------------ */

enum table_row_kind {
    ROW_PLAIN,
    ROW_YARDSTICK, /* no contender */
    ROW_BEST,
    ROW_FAILED,
};

struct table_column {
    const char *heading;
    const char *help; /* explanation of the column; "" if its heading is enough */
    bool figures;     /* to the right, and sorted by number */
};

struct table_cell {
    const char *text;
    double key; /* sort key, in a column of figures; NaN: last */
    double bar; /* the length of a bar next to the text, as a share of the longest; 0: none */
    enum table_row_kind kind; /* of its row */
};

/* The widest table has fewer columns. */
#define TABLE_COLUMNS_MAX 32

/* A table that grows by cells; start with {.report = REPORT}, and perhaps `filter`. */
struct table {
    struct report *report;
    bool filter;         /* with a field that leaves only the rows in which a text occurs */
    const char *id;      /* unique on the page; of letters, digits and dashes */
    const char *caption; /* caption */
    struct table_column columns[TABLE_COLUMNS_MAX];
    size_t column_count;
    struct table_cell *cells; /* row by row */
    size_t cell_count;
    size_t cell_room;
    enum table_row_kind kind; /* of the row that is being added */
};

/* First all columns; then row by row, cell by cell. */
void table_column(struct table *table, const char *heading, bool figures, const char *help);
void table_row(struct table *table, enum table_row_kind kind);
void table_cell(struct table *table, const char *text, double key);
void table_text(struct table *table, const char *text);
void table_figure(struct table *table, double value,
                  const char *(*figure)(double, char[FIGURE_BYTES]));

/* A column of a table in which each row is a JSON object. */
struct shown_column {
    const char *heading;
    const char *name;                                  /* the object's member */
    const char *(*figure)(double, char[FIGURE_BYTES]); /* NULL: it holds words */
    const char *help;
    const char *(*words)(struct report *report, const json_t *object); /* NULL: the member */
};

/* All columns of such a table; an object's cells. */
void table_columns(struct table *table, const struct shown_column *columns, size_t count);
void table_cells(struct table *table, const json_t *object, const struct shown_column *columns,
                 size_t count);

/* Writes the table to the page, and ends it; without rows, `nothing` says so. */
void table_write(struct table *table, const char *id, const char *caption, const char *nothing);

/* A list under way; start with {.report = REPORT}. */
struct page_list {
    struct report *report;
    const char **items;
    size_t count;
    size_t room;
};

void page_list_add(struct page_list *list, const char *text);

/* Writes the list, if there is anything in it, and ends it. */
void page_list_write(struct page_list *list);

/* --- rows ------------------------------------------------------------------------------------ */

/* "NAME:option=value@MARK", as code; without `mark`, or "", no mark. */
const char *series_text(struct pool *pool, const char *algo, const char *options, const char *mark);

/* The last part of a trace's path; and with the folder of its results where there are several. */
const char *trace_base(const char *trace);
const char *place_text(struct pool *pool, const struct contest *contest);

/* Whether a row failed, or fired a timer wrongly. An unsupported trace is no fault. */
bool row_is_wrong(const struct row *row);

/* Plain, or a yardstick's. */
enum table_row_kind row_plain_kind(const struct row *row);

/* The name of a row's series, in italics if it is a yardstick. */
const char *row_name(struct report *report, const struct row *row);

/* How many rows of benchmarks there are. */
size_t report_data_bench_rows(const struct report_data *data);

/* --- sections -------------------------------------------------------------------------------- */

/* In report_rows.c: the best of a trace, with bars; everything in one table; latencies. */
void table_best(struct report *report, const struct contest *contest, const char *id);
void section_table(struct report *report);
void section_latencies(struct report *report);

/* In report_faults.c: faults, if any; and whether exact structures agree. */
void section_faults(struct report *report);
void list_agreements(struct report *report);

/* In report_cluster.c: protocols for timers that many machines share, in a sentence and in tables;
 * nothing without any. */
const char *cluster_verdict(struct report *report);
void section_cluster(struct report *report);

/* In report_bench.c: single operations; nothing without any. */
void section_bench(struct report *report);

/* In report_how.c: descriptions of the structures, and the conditions of the measurement. */
void section_structures(struct report *report);
void section_how(struct report *report);

#endif
