/*
 * pictures_work.h: pictures under way, for the room's own files. pictures.c says which there are; the
 * data of each is cut out of one table (picture_cut.c), or computed from one (picture_regime.c,
 * picture_work.c), and written by picture_data.c.
 *
 * A table is an array of rows, a row an object of texts by the names of columns, so that tables with
 * more columns or fewer can be drawn; a missing column is an empty text. Each row also has `series`,
 * the name of its line or bar, and `set`, the mark of its folder, if there are several. Arrays that
 * functions return live as long as the pictures.
 */
#ifndef SIM_PICTURES_WORK_H
#define SIM_PICTURES_WORK_H

#include "pictures.h"

#include "json_text.h"
#include "pool.h"

#include <stdio.h>

/* In the order in which their series get their looks. */
enum table { RESULTS, LATENCY, RESPONSE, WORK, BENCH, THREADS, CLUSTER, LIVE, LATE, TABLES };

struct pictures {
    struct outfolder *out;
    const char *place; /* the folder in `out` */
    struct error *error;
    bool failed; /* `error` is set; nothing more is written */
    struct pool pool;
    json_t *kept; /* arrays that functions have returned */
    json_t *tables[TABLES];
    json_t *looks; /* by series, in the order of the tables: its style (plots/style.gp) */
    FILE *list;    /* pictures.csv */
    FILE *csv;     /* the picture that is being written */
    char *csv_text;
    size_t csv_bytes;
    size_t csv_rows;
};

/* A picture and, if it is cut out of one table, how. */
struct picture {
    enum table table;
    const char *name;
    const char *script;
    const char *settings[3];
    const char *title;
    const char *about;
    const char *columns; /* those of its data, after series, algo, options and style */
    const char *by;      /* series are sorted by the geometric mean of this column, */
    const char *at;      /* over the rows with the greatest value of this one, or over all */
    const char *per;     /* only rows of values of this column for which `at` has several */
    bool lines;          /* lines, not bars: only rows with a value of `by`, some lines muted */
    bool not_on_time;    /* only rows of which a timer expired early or late */
    const char *trace;   /* as it is shown; NULL: of no single trace */
};

/* --- tables ---------------------------------------------------------------------------------- */

/* Read NAME.csv of all folders that have it into one table. */
json_t *picture_table_read(struct pictures *all, const char *const *folders, size_t count,
                           const char *name);

/* Return an empty table, and add a row, of which this takes the reference, after naming it. */
json_t *picture_table(struct pictures *all);
void picture_table_add(struct pictures *all, json_t *table, json_t *row);

/* Return the rows that have this text in `column`. */
json_t *picture_where(struct pictures *all, const json_t *rows, const char *column,
                      const char *text);

/* Return the texts in `column`, each once, in the order of the rows. */
json_t *picture_distinct(struct pictures *all, const json_t *rows, const char *column);

/* Return the name of a structure in pictures: NAME[:options][@set]. */
const char *picture_series(struct pictures *all, const json_t *row, const char *options);

/* --- one picture ----------------------------------------------------------------------------- */

/* Begin the data. `columns` is their first line. */
void picture_begin(struct pictures *all, const char *columns);

/* Write a field, after a comma unless it is the first; an empty text as `empty`. */
void picture_field(struct pictures *all, bool first, const char *text, const char *empty);
void picture_end_row(struct pictures *all);

/* Write and list the picture that was begun, unless it has no rows. */
void picture_finish(struct pictures *all, const struct picture *picture);

/* Return the name of a trace or parameter as a word (plots_name). */
const char *picture_word(struct pictures *all, const char *text);

/* Write a picture that is cut out of these rows of its table, unless they have no value that it shows. */
void picture_cut(struct pictures *all, const json_t *rows, const struct picture *picture);

/* Write a map of the fastest exact structure at each point of two parameters of a sweep. Where other
 * parameters vary, the geometric mean over their values decides, among those that ran with all. */
void picture_regime(struct pictures *all, const json_t *rows, const char *x, const char *y);

/* Return a table made of work.csv: the worst tick and the mean of each stretch of ticks; stretches are
 * joined until a picture has room for them. Columns: see plots/work.gp. */
json_t *picture_work(struct pictures *all, const json_t *rows);

#endif
