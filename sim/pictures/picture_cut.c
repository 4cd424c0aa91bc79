/* Pictures that are cut out of one table: which rows, in which order, with which looks. */
#include "pictures_work.h"

#include "memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More lines cannot be distinguished; the others get the style MUTED (plots/style.gp). */
#define LINES_DRAWN      10
#define STYLE_MUTED      (-99)

/* A longer picture is more than gnuplot can draw. */
#define CONTENDERS_DRAWN 60

/* A line or bar, and the figures by which it is sorted. */
struct series {
    const char *name;
    json_t *rows;
    double at; /* the greatest, */
    double log_sum;
    size_t count; /* and the values there */
};

static double mean_of(const struct series *series)
{
    return series->count > 0 ? series->log_sum / (double)series->count : INFINITY;
}

static void measure(struct series *series, const struct picture *picture)
{
    for (size_t i = 0; i < json_array_size(series->rows); i++) {
        const json_t *row = json_array_get(series->rows, i);
        double value = json_figure(row, picture->by);
        double at = picture->at != NULL ? json_figure(row, picture->at) : 0;
        if (value >= 0 && (series->count == 0 || at > series->at)) {
            series->count = 0;
            series->log_sum = 0;
            series->at = at;
        }
        if (value >= 0 && at == series->at) {
            series->count++;
            series->log_sum += log(value);
        }
    }
}

/* By value of `per`: true if it has several values of `at`. The caller owns it. */
static json_t *find_several(const json_t *rows, const struct picture *picture)
{
    json_t *several = json_object();
    for (size_t i = 0; i < json_array_size(rows) && picture->per != NULL; i++) {
        const json_t *row = json_array_get(rows, i);
        const char *per = json_word(row, picture->per);
        const json_t *known = json_object_get(several, per);
        json_t *at = json_object_get(row, picture->at);
        (void)json_object_set(several, per,
                              known == NULL || json_equal(known, at) ? at : json_true());
    }
    return several;
}

static bool is_shown(const struct pictures *all, const json_t *row, const struct picture *picture)
{
    bool on_time = !(fabs(json_figure(row, "lateness_min")) > 0) &&
                   !(fabs(json_figure(row, "lateness_max")) > 0);
    return json_object_get(all->looks, json_word(row, "series")) != NULL &&
           !(picture->not_on_time && on_time) &&
           (!picture->lines || json_figure(row, picture->by) > 0);
}

/* Put a series into its place; equals keep their order. */
static void insert(struct series *list, size_t count, const struct series *series)
{
    size_t at = count;
    for (; at > 0 && mean_of(series) < mean_of(&list[at - 1]); at--) {
        list[at] = list[at - 1];
    }
    list[at] = *series;
}

/* Returns whether the row has any value of the picture's columns but for its status. */
static bool write_row(struct pictures *all, const json_t *row, const struct picture *picture,
                      int style)
{
    const char *at = picture->columns;
    bool valued = false;
    picture_field(all, true, json_word(row, "series"), "");
    picture_field(all, false, picture_series(all, row, ""), "");
    picture_field(all, false, json_word(row, "options"), "");
    (void)fprintf(all->csv, ",%d", style);
    for (size_t length = 0; *at != '\0'; at += length + (at[length] == ',')) {
        length = strcspn(at, ",");
        const char *text = json_string_value(json_object_getn(row, at, length));
        picture_field(all, false, text != NULL ? text : "", "nan");
        valued = valued || (text != NULL && text[0] != '\0' && strncmp(at, "status", length) != 0);
    }
    picture_end_row(all);
    return valued;
}

/* Write the series in their order, no row if none has a value. Returns how many are omitted. */
static size_t write_series(struct pictures *all, const struct series *list, size_t count,
                           const struct picture *picture, const json_t *several)
{
    size_t contenders = 0;
    bool valued = false;
    for (size_t s = 0; s < count; s++) {
        int style = (int)json_integer_value(json_object_get(all->looks, list[s].name));
        contenders += style > 0;
        if (style > 0 && contenders > CONTENDERS_DRAWN) {
            continue;
        }
        style = style > 0 && picture->lines && contenders > LINES_DRAWN ? STYLE_MUTED : style;
        for (size_t i = 0; i < json_array_size(list[s].rows); i++) {
            const json_t *row = json_array_get(list[s].rows, i);
            if (picture->per == NULL ||
                json_is_true(json_object_get(several, json_word(row, picture->per)))) {
                valued = write_row(all, row, picture, style) || valued;
            }
        }
    }
    all->csv_rows = valued ? all->csv_rows : 0;
    return contenders > CONTENDERS_DRAWN ? contenders - CONTENDERS_DRAWN : 0;
}

void picture_cut(struct pictures *all, const json_t *rows, const struct picture *picture)
{
    json_t *shown = picture_table(all);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        if (is_shown(all, json_array_get(rows, i), picture)) {
            (void)json_array_append(shown, json_array_get(rows, i));
        }
    }
    json_t *several = find_several(shown, picture);
    json_t *names = picture_distinct(all, shown, "series");
    size_t count = json_array_size(names);
    struct series *list = memory_new(count, sizeof *list);
    for (size_t i = 0; i < count; i++) {
        struct series series = {.name = json_string_value(json_array_get(names, i))};
        series.rows = picture_where(all, shown, "series", series.name);
        measure(&series, picture);
        insert(list, i, &series);
    }
    picture_begin(all, pool_format(&all->pool, "series,algo,options,style,%s", picture->columns));
    size_t omitted = write_series(all, list, count, picture, several);
    struct picture drawn = *picture;
    if (omitted > 0) {
        drawn.about = pool_format(&all->pool,
                                  "%s The %d best of %zu structures are drawn; the table has all.",
                                  picture->about, CONTENDERS_DRAWN, CONTENDERS_DRAWN + omitted);
    }
    picture_finish(all, &drawn);
    json_decref(several);
    free(list);
}
