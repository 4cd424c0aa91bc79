/* The fastest structure over two parameters of a sweep. */
#include "pictures_work.h"

#include "tolerance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A structure at one point of the map; `ns` is infinite if it did not run there. */
struct candidate {
    const char *series;
    double ns;
    double spread;
};

/* Whether a row may win. */
static bool is_candidate(const struct pictures *all, const json_t *row)
{
    const struct firing firing = {
        .declared_early = json_figure(row, "declared_early"),
        .declared_late = json_figure(row, "declared_late"),
        .lateness_min = json_figure(row, "lateness_min"),
        .lateness_max = json_figure(row, "lateness_max"),
        .averted = json_figure(row, "averted"),
    };
    return json_integer_value(json_object_get(all->looks, json_word(row, "series"))) > 0 &&
           strcmp(json_word(row, "status"), "ok") == 0 && json_figure(row, "ns_per_event") > 0 &&
           firing_is_exact(&firing);
}

/* How many values the parameters other than `x` and `y` have together. */
static size_t count_points(struct pictures *all, const json_t *rows, const char *x, const char *y)
{
    json_t *seen = json_object();
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const char *name = NULL;
        const json_t *value = NULL;
        struct text others = {.pool = &all->pool};
        json_object_foreach(json_array_get(rows, i), name, value)
        {
            if (strncmp(name, "p_", 2) == 0 && strcmp(name, x) != 0 && strcmp(name, y) != 0) {
                text_add(&others, "%s,", json_string_value(value));
            }
        }
        (void)json_object_set_new(seen, text_end(&others), json_true());
    }
    size_t count = json_object_size(seen);
    json_decref(seen);
    return count;
}

static struct candidate candidate_of(struct pictures *all, const json_t *here, const char *series,
                                     size_t points)
{
    const json_t *rows = picture_where(all, here, "series", series);
    struct candidate candidate = {.series = series, .ns = INFINITY};
    double logs = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        logs += log(json_figure(row, "ns_per_event"));
        candidate.spread += json_figure(row, "ns_per_event_mad") / (double)points;
    }
    candidate.ns = json_array_size(rows) >= points ? exp(logs / (double)points) : INFINITY;
    return candidate;
}

/* Write the fastest at a point; `at` has the point's columns. Of equals, the first in the tables wins. */
static void write_point(struct pictures *all, const json_t *here, size_t points, const char *at)
{
    struct candidate best = {.ns = INFINITY};
    struct candidate next = {.series = "nothing", .ns = INFINITY};
    const char *series = NULL;
    const json_t *style = NULL;
    json_object_foreach(all->looks, series, style)
    {
        struct candidate other = candidate_of(all, here, series, points);
        if (other.ns < best.ns) {
            next = best.series != NULL ? best : next;
            best = other;
        } else if (other.ns < next.ns) {
            next = other;
        }
    }
    if (points == 0 || best.series == NULL) {
        return;
    }
    bool certain = next.ns - best.ns > 3 * (best.spread + next.spread);
    picture_field(all, true, best.series, "");
    (void)fprintf(all->csv, ",%d,%s,%.2f",
                  (int)json_integer_value(json_object_get(all->looks, best.series)), at, best.ns);
    picture_field(all, false, next.series, "");
    (void)fprintf(all->csv, ",%.2f,%d", isinf(next.ns) ? 1 : next.ns / best.ns, certain);
    picture_end_row(all);
}

/* The texts of a column, by rising numbers. */
static json_t *sorted(struct pictures *all, const json_t *rows, const char *column)
{
    json_t *texts = picture_distinct(all, rows, column);
    json_t *rising = picture_table(all);
    for (size_t i = 0; i < json_array_size(texts); i++) {
        json_t *text = json_array_get(texts, i);
        size_t at = json_array_size(rising);
        while (at > 0 && strtod(json_string_value(text), NULL) <
                             strtod(json_string_value(json_array_get(rising, at - 1)), NULL)) {
            at--;
        }
        (void)json_array_insert(rising, at, text);
    }
    return rising;
}

void picture_regime(struct pictures *all, const json_t *rows, const char *x, const char *y)
{
    json_t *chosen = picture_table(all);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        if (is_candidate(all, json_array_get(rows, i))) {
            (void)json_array_append(chosen, json_array_get(rows, i));
        }
    }
    const json_t *xs = sorted(all, chosen, x);
    const json_t *ys = sorted(all, chosen, y);
    picture_begin(all, "series,style,column,row,x,y,ns_per_event,next,times,certain");
    for (size_t i = 0; i < json_array_size(xs); i++) {
        const char *x_text = json_string_value(json_array_get(xs, i));
        const json_t *column = picture_where(all, chosen, x, x_text);
        for (size_t k = 0; k < json_array_size(ys); k++) {
            const char *y_text = json_string_value(json_array_get(ys, k));
            const json_t *here = picture_where(all, column, y, y_text);
            write_point(all, here, count_points(all, here, x, y),
                        pool_format(&all->pool, "%zu,%zu,%s,%s", i + 1, k + 1, x_text, y_text));
        }
    }
    const char *x_name = picture_word(all, x + strlen("p_"));
    const char *y_name = picture_word(all, y + strlen("p_"));
    picture_finish(
        all, &(struct picture){
                 .name = pool_format(&all->pool, "regime-%s-%s", x_name, y_name),
                 .script = "regime",
                 .settings = {x_name, y_name},
                 .title = pool_format(&all->pool, "The fastest, by %s and %s", x_name, y_name),
                 .about = "Among structures that fire every timer on its due tick.",
             });
}
