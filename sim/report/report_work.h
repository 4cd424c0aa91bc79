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
    bool several_ranks; /* some row is of a replay in shares */
};

#define COUNT_OF(array)   (sizeof(array) / sizeof(array)[0])

/* --- tables and lists ------------------------------------------------------------------------ */

/* The widest table has fewer columns. */
#define TABLE_COLUMNS_MAX 24

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

/* A column of a table in which each row is an object. */
struct shown_column {
    const char *heading;
    const char *name;                                  /* the object's member */
    const char *(*figure)(double, char[FIGURE_BYTES]); /* NULL: it holds words */
    const char *help;                                  /* NULL: what the results say of it */
    /* NULL: what the row has there. */
    struct page_cell (*cell)(struct report *report, const json_t *row);
};

/* All columns of such a table, but the folders' and the ranks' where there is only one; a row's
 * cells. */
void table_columns(struct table *table, const struct shown_column *columns, size_t count);
void table_cells(struct table *table, const json_t *row, const struct shown_column *columns,
                 size_t count);

/* Writes the table to the page, and ends it; without rows, `nothing` says so. */
void table_write(struct table *table, const char *id, const char *caption, const char *nothing);

/* What the results say of a column; "" if it is none of theirs. */
const char *column_help(const char *name);

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

/* Whether a row did not run to its end, or fired a timer wrongly. */
bool row_is_wrong(const json_t *row);

/* Plain, or a yardstick's. */
enum page_row_kind row_plain_kind(const struct report *report, const json_t *row);

/* The name of a row's series, in italics if it is a yardstick. */
const char *row_name(struct report *report, const json_t *row);

/* All rows of a contest's trace and folder, the fastest first; to be freed. */
const json_t **report_rows(struct report *report, const struct contest *contest, size_t *count);

/* The checksum of a contest's trace; "" if it is not known. */
const char *trace_checksum(const struct report *report, const struct contest *contest);

/* --- sections -------------------------------------------------------------------------------- */

/* In report_faults.c: "2 rows were wrong, and 3 could not be run: see ...", where there are any;
 * and what they are. */
void section_wrong_rows(struct report *report);
void section_faults(struct report *report);

/* In report_rows.c: everything in one table; and a trace's own tables. */
void section_table(struct report *report);
void section_trace(struct report *report, const struct contest *contest, size_t index);

/* In report_durable.c: what durable structures promise, if there are any. */
void section_durable(struct report *report);

/* In report_cluster.c: protocols for timers that many machines share, in a sentence and in tables;
 * nothing without any. */
const char *cluster_verdict(struct report *report);
void section_cluster(struct report *report);

/* In report_bench.c: single operations, as sentences and as a table; nothing without any. */
void section_bench_words(struct report *report);
void section_bench(struct report *report);

/* In report_how.c: what the structures are, and how it was measured. */
void section_structures(struct report *report);
void section_how(struct report *report);

#endif
