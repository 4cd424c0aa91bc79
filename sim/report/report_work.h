/*
 * report_work.h: a report while it is written, for the room's own files: tables and lists that
 * grow, the rows of the results as the page shows them, and the sections of the page.
 */
#ifndef SIM_REPORT_WORK_H
#define SIM_REPORT_WORK_H

#include "figures.h"
#include "report.h"
#include "report_contest.h"
#include "report_text.h"

/* A report while it is written. */
struct report {
    struct page page;
    struct pool pool;
    const struct report_data *data;
    struct contest_list contests;
    const char *folder;
};

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* "NAME:option=value@MARK", as code; without `mark`, or "", no mark. */
const char *series_text(struct pool *pool, const char *algo, const char *options, const char *mark);

/* A trace, and the folder of its results where there are several. */
const char *place_text(struct pool *pool, const struct contest *contest);

/* --- tables and lists ------------------------------------------------------------------------ */

/* The widest table has fewer columns. */
#define TABLE_COLUMNS_MAX 32

/* A table that grows by cells; start with {.report = REPORT}. */
struct table {
    struct report *report;
    struct page_table page;
    struct page_column columns[TABLE_COLUMNS_MAX];
    struct page_cell *cells;
    enum page_row_kind *kinds;
    size_t cell_count;
    size_t cell_room;
};

/* First all columns; then row by row, cell by cell. */
void table_column(struct table *table, const char *heading, bool figures, const char *help);
void table_row(struct table *table, enum page_row_kind kind);
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
    struct page_cell (*cell)(struct report *report, const json_t *object); /* NULL: the member */
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

/* Whether a row failed, or fired a timer wrongly. An unsupported trace is no fault. */
bool row_is_wrong(const struct row *row);

/* Plain, or a yardstick's. */
enum page_row_kind row_plain_kind(const struct row *row);

/* The name of a row's series, in italics if it is a yardstick. */
const char *row_name(struct report *report, const struct row *row);

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
